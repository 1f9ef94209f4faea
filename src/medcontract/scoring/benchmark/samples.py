"""One sample of `benchmark`: what its reference requires, and the metrics of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.contract import Validated
from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import BrokenPlugin, CallError
from medcontract.normalizers.terms import CATEGORIES, Terms
from medcontract.problems import Finding, Path
from medcontract.scoring.benchmark.metrics import (
    Measured,
    Settings,
    Side,
    computed_metrics,
    measured,
    required_metrics,
    side_of,
)
from medcontract.scoring.benchmark.stuffing import Rationale, rationale_of
from medcontract.scoring.custom_metrics import custom_metrics
from medcontract.scoring.expected import Expected, read_field, validated
from medcontract.scoring.marks import REPEATED, Unscored
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import rounded
from medcontract.scoring.scorer import ScoringOptions, shown_id
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts.benchmark import Answer, Prediction, ReferenceRecord, Sample

KEY = ("task_id", "sample_id")
_MORE = "score --show-values shows more"

Value = Fraction | float
"""A metric of a sample: computed exactly, or given as a double."""
CustomMetric = Callable[..., Any]
"""A function of a reference and a prediction, which may return anything."""


class Item(Struct, gc=False):
    """The expected answer of one sample."""

    task: str
    sample: str
    requires: tuple[str, ...]
    """The metrics that its reference requires."""
    said: Answer | None
    """The reference as read, until it is normalized or as long as custom metrics need it.

    None for a sample with an invalid or repeated record.
    """
    side: Side | None = None
    """The normalized reference, once it is needed."""


class Mark(NamedTuple):
    """The metrics of one processed sample."""

    values: dict[str, Value]
    given: tuple[str, ...]
    """The metrics that are given in the submission."""
    parts: JsonObject | None
    """The components of computed metrics, if a breakdown was requested."""
    ignored: bool = False
    """Whether the submission has metrics that are ignored."""
    rationale: Rationale | None = None
    """None if it is blank."""


def item_of(settings: Settings, record: ReferenceRecord | Sample) -> Item:
    """Return the expected answer in a valid record."""
    said = record.reference
    return Item(record.task_id, record.sample_id, required_metrics(settings, said), said)


def has_answer(record: Prediction | Sample) -> bool:
    """Return whether a record of the submission has something to score: a text, entities (even none), or scores."""
    said = record.prediction
    texts = (said.answer, said.rationale, said.diagnosis)
    return bool(record.scores) or said.entities is not None or any(text and text.strip(BLANKS) for text in texts)


def texts_of(record: Prediction | Sample) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a record that are scored, with their paths."""
    said = record.prediction
    if said.answer:
        yield ("prediction", "answer"), said.answer
    if said.rationale:
        yield ("prediction", "rationale"), said.rationale
    if said.diagnosis:
        yield ("prediction", "diagnosis"), said.diagnosis
    if said.entities:
        for category in CATEGORIES:
            for at, name in enumerate(getattr(said.entities, category) or ()):
                yield ("prediction", "entities", category, at), name


def checked_custom_metrics(protocol: Protocol) -> dict[str, CustomMetric]:
    """Custom metrics by name. Raises `CallError` for one that has the name of a computed metric."""
    found = custom_metrics()
    taken = [name for name in computed_metrics(protocol) if name in found]
    if taken:
        raise CallError(
            f"a plugin has a metric '{taken[0]}', which is already a metric of the protocol", "rename it in the plugin"
        )
    return found


class Measuring(NamedTuple):
    """Measures the records of a submission."""

    terms: Terms
    settings: Settings
    take_given: bool
    """Whether metrics that are given in records count."""
    custom: Mapping[str, CustomMetric]
    options: ScoringOptions

    def measure(self, item: Item, record: Prediction | Sample) -> Mark | Unscored:
        """Computed metrics, then custom ones, then those given in the record: the later takes precedence."""
        wanted = self._reference(item)
        if wanted is None:  # there is another record of this sample
            return REPEATED
        side = side_of(self.terms, self.settings, record.prediction, markers=True)
        computed = measured(self.terms, self.settings, item.requires, wanted, side)
        values: dict[str, Value] = {name: each.value for name, each in computed.items()}
        for name, function in self.custom.items():
            value = _call_custom(name, function, item, record.prediction, self.options.plugin_errors)
            if value is not None:
                values[name] = value
        scores = record.scores or {}
        given = scores if self.take_given else {}
        values.update(given)
        parts = self._parts(computed, given) if self.options.breakdown else None
        return Mark(values, tuple(sorted(given)), parts, bool(scores) and not self.take_given, rationale_of(side))

    def _reference(self, item: Item) -> Side | None:
        """Return the normalized reference, which replaces the original unless custom metrics need it."""
        if item.side is None and item.said is not None:
            item.side = side_of(self.terms, self.settings, item.said, markers=False)
            item.said = item.said if self.custom else None
        return item.side

    def _parts(self, computed: Mapping[str, Measured], given: Mapping[str, float]) -> JsonObject:
        """Return the components of the metrics that were not given."""
        show = self.options.values
        return {name: shown_parts(each.parts, show) for name, each in computed.items() if name not in given}


def _call_custom(name: str, function: CustomMetric, item: Item, prediction: Answer, show_error: bool) -> float | None:
    """Call a custom metric: it returns a number from 0 to 1, or None if it does not apply."""
    where = f"the metric '{name}' failed for sample {shown_id(item.sample)} of task {shown_id(item.task)}"
    try:
        value = function(item.said, prediction)
        if value is None:
            return None
        number = float(value)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a custom function does
        said = f": {error}" if show_error else f" ({_MORE})"  # it may quote a record
        raise BrokenPlugin(f"{where}: {type(error).__name__}{said}") from None
    if not 0 <= number <= 1:
        what = str(number) if show_error or not isfinite(number) else f"a number ({_MORE})"  # it may be in a record
        raise BrokenPlugin(f"{where}: {what} is not between 0 and 1")
    return number


def shown_parts(parts: Mapping[str, object], values: bool) -> JsonObject:
    """Return the components of a metric as JSON: numbers rounded; terms, or only how many if values are not shown."""
    shown: JsonObject = {}
    for name, part in parts.items():
        if isinstance(part, Fraction):
            shown[name] = rounded(part)
        elif isinstance(part, Mapping):
            shown[name] = shown_parts(part, values)
        elif isinstance(part, list):
            shown[name] = part if values else len(part)
        else:
            shown[name] = part
    return shown


class _Known(Struct):
    """The part of a sample that is truth: it has the same hash as a record of `benchmark/references`."""

    task_id: str
    sample_id: str
    reference: Any  # its own type decides its canonical form, so the hints of this class are read


class OwnTruth(Expected):
    """Samples that are their own truth: each of their ids is expected, also of invalid records."""

    empty = "there are no samples"

    def __init__(self, item: partial[Item]) -> None:
        super().__init__(KEY, item)
        self._before: tuple[list[Any], list[Item], Any] = [], [], self._content.state()

    def begin(self) -> None:
        """Save the state: a file that cannot be read completely has no records."""
        self._before = list(self.keys), list(self.items), self._content.state()

    def end(self, complete: bool) -> None:
        if not complete:
            self.keys, self.items, content = self._before
            self._content.restore(content)
            self._index = {}

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        for record in validated(records):
            self._expect_sample(self._item(record), record.reference)
        return ()

    def reject(self, parsed: Any) -> Sequence[Finding]:
        """Take an invalid record: its reference still counts, if that is valid and the ids are known."""
        task, sample = (read_field(parsed, name) for name in KEY)
        if isinstance(task, str) and isinstance(sample, str):
            reference = _valid_answer(read_field(parsed, "reference"))
            if reference is None:
                self._add_sample(Item(task, sample, (), None))
            else:
                item = self._item(_Known(task, sample, reference))
                item.said = None
                self._expect_sample(item, reference)
        return ()

    def _expect_sample(self, item: Item, reference: Answer) -> None:
        said = reference.model_dump() if hasattr(reference, "model_dump") else reference
        self._add_sample(item)
        self._content.add([_Known(item.task, item.sample, said)])

    def _add_sample(self, item: Item) -> None:
        """Add a sample; a repeated one is not processed, whatever its records say."""
        number = self.add((item.task, item.sample), item)
        one = self.items[number]
        if one is not item:
            self.items[number] = Item(one.task, one.sample, (*one.requires, *item.requires), None)


def _valid_answer(value: Any) -> Answer | None:
    """Return the reference of an invalid record, if that part is valid; otherwise None."""
    from pydantic import ValidationError

    from medcontract.contracts.benchmark import Answer

    if not isinstance(value, dict):
        return value if hasattr(value, "answer") else None  # already validated: the record violates a rule
    try:
        return Answer.model_validate(value)
    except ValidationError:
        return None
