"""Figures for the cases of each value of a field: of the truth, a list of cases, or a table of groups.

Small groups are hidden, so that nothing can be said about few patients: neither directly, nor by subtraction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from medcontract.errors import CallError, MedcontractError, option, words
from medcontract.evaluation.loading import Readings, no_field, values_in_lists
from medcontract.problems import plain_name, pointer
from medcontract.reading.source import Source
from medcontract.results.score import InputFile, Subgroup
from medcontract.scoring.pairing import Pair
from medcontract.scoring.rational import FigureTooLarge, rounded_or_none
from medcontract.scoring.scorer import Answers, Finished, Scorer
from medcontract.scoring.scorer_checks import tally_of
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import base_name
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples

CONTRACT = "groups"
"""What the inputs of a score call the table of groups, which has no contract."""
_LIST_KEY = "groups"
Value = str | bool | None


class By(NamedTuple):
    """A field to group by. The bands of a number are from one bound to below the next."""

    field: str
    bounds: tuple[Decimal, ...] = ()

    @classmethod
    def parse(cls, text: str) -> By:
        """Parse FIELD or FIELD=BOUND,BOUND. Raises `CallError`."""
        field, equals, bounds = text.partition("=")
        if not field.strip():
            raise CallError(words(option("--by"), f": '{text}' names no field"), "write FIELD, or FIELD=0,40,65")
        texts = bounds.split(",") if equals else []
        found = tuple(number for number in map(_number, texts) if number is not None)
        if len(found) < len(texts) or any(one >= other for one, other in pairwise(found)):
            hint = "write ascending numbers, as in age=0,40,65"
            raise CallError(words(option("--by"), f": '{bounds}' are not the bounds of bands"), hint)
        return cls(field.strip(), found)

    @property
    def text(self) -> str:
        """What `parse` parses."""
        return self.field + ("=" + ",".join(f"{bound:f}" for bound in self.bounds) if self.bounds else "")

    def group(self, value: object) -> Value:
        """Return the group of a value, or the name of its band. Raises `CallError` for a value without a group."""
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if not self.bounds:
            if isinstance(value, str | bool):
                return value
            kind = "a number" if isinstance(value, int | float) else "a list or an object"
            hint = f"give the bounds of bands, as in {self.field}=0,40,65" if kind == "a number" else None
            raise CallError(words(option("--by"), f": '{plain_name(self.field)}' is {kind}"), hint)
        number = _number(str(value)) if not isinstance(value, bool) else None
        if number is None:
            raise CallError(words(option("--by"), f": '{plain_name(self.field)}' has values that are not numbers"))
        return self.bands[sum(number >= bound for bound in self.bounds)]

    @property
    def bands(self) -> list[str]:
        """The names of the bands, the numbers below the first bound among them."""
        names = [f"{bound:f}" for bound in self.bounds]
        return [f"below {names[0]}", *(f"{low} to below {high}" for low, high in pairwise(names)), f"from {names[-1]}"]


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def parse_by(texts: Iterable[str]) -> tuple[By, ...]:
    """Parse the fields of a call. Two groupings by one field could be subtracted. Raises `CallError`."""
    found: dict[str, By] = {}
    for by in map(By.parse, texts):
        if by.field in found:
            raise CallError(words(option("--by"), f": '{by.field}' is given twice"), "group by a field once")
        found[by.field] = by
    return tuple(found.values())


# --- the values of cases


class GroupTable(NamedTuple):
    """A table that gives the groups of cases (`--groups`)."""

    source: Source
    columns: Mapping[str, Sequence[object]]
    rows: int

    @classmethod
    def read(cls, source: Source) -> GroupTable:
        """Read a table of any structure. Raises `InvalidData`, and `CallError` if there is no such file."""
        from medcontract.challenges.new.read import load_table

        source.watched = True
        table = load_table(source, ProblemCollector(1), _LIST_KEY)
        return cls(source, table.columns, table.rows)

    @property
    def name(self) -> str:
        return base_name(self.source.name)

    def described(self) -> InputFile:
        """Describe it as an input of a score. It has no contract."""
        return InputFile(
            contract=CONTRACT, name=self.name, sha256=self.source.sha256(), content_sha256=None, records=self.rows
        )

    def lookup(self, field: str, key: Sequence[str]) -> Mapping[Any, object]:
        """Return the values of a field, by the ids of cases. Raises `MedcontractError`."""
        lacking = [name for name in key if name not in self.columns]
        if lacking:
            raise MedcontractError(f"{self.name}: there is no column '{lacking[0]}', which identifies a case")
        parts = [[each if each is None else str(each) for each in self.columns[name]] for name in key]
        ids = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
        found = dict(zip(ids, self.columns[field], strict=True))
        if len(found) < len(ids):
            raise MedcontractError(f"{self.name}: a case is in more than one row")
        return found


Column = Mapping[str, Sequence[Value]]
"""The group of each expected item, by the contract of its truth."""


def columns_of(readings: Readings, wanted: Sequence[By], table: GroupTable | None) -> list[Column]:
    """Return the groups by each field. Raises `CallError` and `MedcontractError`."""
    expected = readings.truth.expected
    pairs = [pair for pair in readings.truth.scorer.pairs if pair.truth in expected]
    found: list[Column] = []
    for by in wanted:
        values = {pair.truth: _values(by.field, pair, readings, table) for pair in pairs}
        if all(each is None for each in values.values()):
            raise no_field("--by", by.field, readings.truth, pairs, table.columns if table else ())
        found.append({
            name: [by.group(each) for each in column or [None] * expected[name].total]
            for name, column in values.items()
        })  # fmt: skip
    return found


def _values(field: str, pair: Pair, readings: Readings, table: GroupTable | None) -> Sequence[object] | None:
    """Return the value of each expected item: from the table, the truth or a list of cases. None: there is no field."""
    expected = readings.truth.expected[pair.truth]
    known: Mapping[Any, object]
    if table and field in table.columns:
        known = table.lookup(field, pair.key)
    elif field in pair.key:
        place = pair.key.index(field)
        return [key[place] if isinstance(key, tuple) else key for key in expected.keys]
    elif field in expected.fields:
        return expected.fields[field]
    else:
        found = values_in_lists(field, pair, readings.truth, readings.files)
        if found is None:
            return None
        known, wrong = found
        readings.reasons += wrong
    return [known.get(key) for key in expected.keys]


# --- groups


def hidden(sizes: Mapping[Value, int], min_cell: int) -> set[Value]:
    """Return the groups to hide: small ones, then the smallest others until nothing can be subtracted."""
    ordered = sorted(sizes, key=lambda value: (sizes[value], _order(value)))
    found = {value for value in ordered if sizes[value] < min_cell}
    for value in ordered[len(found) :] if found else ():
        if len(found) >= 2 and sum(sizes[each] for each in found) >= min_cell:
            break
        found.add(value)
    return found


def _order(value: Value) -> tuple[bool, str]:
    return value is None, str(value)


def subgroups_of(
    readings: Readings, whole: Finished, by: Sequence[By], columns: Sequence[Column], intervals: bool
) -> tuple[Subgroup, ...]:
    """Compute the figures of the groups by each field, and their intervals."""
    truth = readings.truth
    measuring = _Measuring(truth.track, truth.scorer, readings.answers, whole, truth.drawn() if intervals else None)
    min_cell = int(truth.scorer.protocol["min_cell"])
    found: list[Subgroup] = []
    for each, column in zip(by, columns, strict=True):
        places: dict[Value, dict[str, list[int]]] = {}
        for name, values in column.items():
            for number, value in enumerate(values):
                places.setdefault(value, {}).setdefault(name, []).append(number)
        sizes = {value: measuring.cases_in(numbers) for value, numbers in places.items()}
        not_shown = hidden(sizes, min_cell)
        bands: Sequence[Value] = each.bands if each.bounds else ()
        for value in [*(band for band in bands if band in places), *sorted(places.keys() - {*bands}, key=_order)]:
            group = Subgroup(field=each.field, value=value, cases=None, headline=None, figures={}, gap=None)
            if value not in not_shown:
                group = replace(measuring.measured(group, places[value]), cases=sizes[value])
            found.append(group)
    return tuple(found)


class _Measuring(NamedTuple):
    """Computes the figures of groups."""

    track: Track
    scorer: Scorer
    answers: Answers
    whole: Finished
    samples: Samples | None
    """What is drawn for intervals, if they are wanted."""

    def cases_in(self, numbers: Mapping[str, Sequence[int]]) -> int:
        """Count cases: items, unless several of them are a case."""
        if not self.track.unit:
            return sum(map(len, numbers.values()))
        case, pairings = attrgetter(*self.track.unit), self.answers.pairings
        return len({case(pairings[truth].expected.items[n]) for truth, each in numbers.items() for n in each})

    def measured(self, group: Subgroup, numbers: Mapping[str, Sequence[int]]) -> Subgroup:
        """Return the figures of a group, and its distance from all other cases."""
        finished = self._figures(numbers)
        inside = {truth: set(each) for truth, each in numbers.items()}
        rest = {truth: [n for n in range(pairing.expected.total) if n not in inside.get(truth, ())]
                for truth, pairing in self.answers.pairings.items()}  # fmt: skip
        mine, theirs = map(self._headline, (finished, self._figures(rest) if any(rest.values()) else None))
        values = finished.result or {} if finished else {}
        places = list(_places(self.track, self.answers, self.whole.result or {}))
        group = replace(
            group, headline=rounded_or_none(mine), figures={pointer(path): _at(values, path) for path in places},
            gap=rounded_or_none(None if mine is None or theirs is None else mine - theirs),
        )  # fmt: skip
        if self.samples is None or finished is None or finished.result is None:
            return group
        from medcontract.scoring.resampling import intervals_of

        answers = self.answers.only(numbers)
        found = intervals_of(self.track, self.scorer, answers, finished, self.samples.only(numbers)).intervals
        bounds = {place: found.figures.get(place) for place, value in group.figures.items() if value is not None}
        return replace(group, intervals=bounds, _headline=found._headline)

    def _figures(self, numbers: Mapping[str, Sequence[int]]) -> Finished | None:
        """Return the figures for some cases, which need not pass the processing gate. None: there are none."""
        try:
            return self.scorer.figures(tally_of(self.track, self.scorer, self.answers.only(numbers)))
        except (FigureTooLarge, ZeroDivisionError):
            return None

    def _headline(self, found: Finished | None) -> Fraction | None:
        """Return the figure that the submission is ranked by."""
        if found is None:
            return None
        return found.second if self.whole.headline is None else found.headline


def _places(track: Track, answers: Answers, result: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """Return the places of the figures that depend on the cases: no counts, no single cases, nothing measured apart."""
    known = {figure.name: figure for figure in track.figures}

    def inside(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(value, dict):
            for name, each in value.items():
                figure = known.get(name)
                apart = figure and (figure.by in ("case", "document") or figure.measured_in in answers.documents)
                yield from () if apart else inside(each, (*path, name))
        elif isinstance(value, float):
            yield path

    return inside(result, ())


def _at(value: object, path: Sequence[str]) -> float | None:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, float) else None
