"""Track `benchmark`: language models on medical tasks, several metrics, one combined score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.contract import Validated
from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import BrokenPlugin, CallError
from medcontract.normalizers.terms import CATEGORIES, VERSION, InvalidTerms, Terms, shipped
from medcontract.problems import Finding, plain_name
from medcontract.results.leaderboard import CombinedScore
from medcontract.results.score import Score
from medcontract.results.tables import Table
from medcontract.scoring.benchmark.combining import (
    COMBINED,
    Combined,
    Metrics,
    Weighting,
    combine,
    parse_weights,
    told_unused,
    used_by,
    weighting_of,
)
from medcontract.scoring.benchmark.comparing import figures_in, row_groups, weighed_differently
from medcontract.scoring.benchmark.metrics import (
    CLINICAL,
    DIAGNOSTIC,
    METRICS,
    REASONING,
    Side,
    asked,
    measured,
    side_of,
)
from medcontract.scoring.benchmark.rescoring import free_name, weighed, with_first
from medcontract.scoring.benchmark.tables import tables
from medcontract.scoring.canonical import record_text
from medcontract.scoring.comparison import Comparison
from medcontract.scoring.custom_metrics import custom_metrics
from medcontract.scoring.pairing import REPEATED, Expected, Pair, Unscored, read_field, validated
from medcontract.scoring.processing_gate import Verdict, processed, shown_id
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol, parameters
from medcontract.scoring.rational import ZERO, exact_sum, mean, rounded, total
from medcontract.scoring.scorer import Answers, Counts, Finished, Scorer, ScoringOptions
from medcontract.scoring.track import Auxiliary, ExpectedIds, Figure, Option, Ranking, ResultFields, Roles, Track

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"
WEIGHTS = "benchmark/weights"
_KEY = ("task_id", "sample_id")
_MOST_NAMED = 10
_MORE = "score --show-values tells more"
NEGATION = "terms are found as phrases, whatever stands around them: negation is not understood"
_CATEGORY_WEIGHTS = dict(zip(CATEGORIES, ("3", "2", "2", "1", "1"), strict=True))

Value = Fraction | float
"""A metric of a sample: computed exactly, or given as a double."""


class Item(NamedTuple):
    """What is right of one sample. Of one whose record is not valid, only its name is known."""

    task: str
    sample: str
    side: Side | None
    asks: frozenset[str]
    """The metrics that its reference asks for."""
    said: Any
    """The reference as it was read, where users' own metrics need it."""


class Mark(NamedTuple):
    """What scoring needs of one processed sample."""

    values: dict[str, Value]
    given: tuple[str, ...]
    """The metrics that the submission brought along."""
    parts: dict[str, Any] | None
    """What computed metrics are made of, where that was asked for."""
    ignored: bool = False
    """The submission brought metrics along that do not count."""


PROTOCOL = Protocol(
    id="benchmark",
    version=1,
    changes=(Change(1, "first version"),),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "SCORING.md, clinical_accuracy",
            **{f"weight_{name}": (value, f"weight of {name}") for name, value in _CATEGORY_WEIGHTS.items()},
        ),
        *parameters(
            "SCORING.md, reasoning_quality",
            weight_overlap=("0.40", "share of the words that both rationales have"),
            weight_structure=("0.15", "share of markers of structure"),
            weight_evidence=("0.20", "share of markers of evidence"),
            weight_factual=("0.25", "share of facts about the diagnosis"),
            markers_for_full=("3", "distinct markers that give the full share", {"above": True}),
            share_of_facts=("0.5", "share of the known facts that gives the full share", {"high": 1}),
            penalty=("0.15", "off for each distinct fallacy"),
            penalty_most=("0.40", "off for all fallacies together"),
        ),
        Parameter(
            name="given_scores", value="taken", choices=("taken", "ignored"),
            about="what becomes of metrics that a submission brings along", source="SCORING.md, benchmark",
        ),
        Parameter(
            name="normalization", value=str(VERSION), about="version of the normalization of texts",
            source="SCORING.md, benchmark", choices=(str(VERSION),),
        ),
        Parameter(
            name="lexicon", value=shipped().sha256, about="SHA-256 of the terms (--lexicon)",
            source="our own list", fixed=True,
        ),
        Parameter(
            name="own_metrics", value=None, about="names of the metrics of users (--plugin)", source="plugins",
            fixed=True,
        ),
    ),
)  # fmt: skip

_FIGURES = (
    Figure(name=COMBINED, about="weighted mean of metrics and categories; mean over tasks"),
    Figure(
        name=CLINICAL, about="weighted Jaccard index of entities, or equal answers; mean over samples, then over tasks",
        perfect=1, leaving_out="a right one never helps",
    ),
    Figure(
        name=REASONING, about="overlap, structure, evidence and facts of a rationale, less a penalty for fallacies",
        leaving_out="a right one never helps",
    ),
    Figure(
        name=DIAGNOSTIC, about="share of equal diagnoses; mean over samples, then over tasks", perfect=1,
        leaving_out="a right one never helps",
    ),
)  # fmt: skip


class _Row(NamedTuple):
    """One expected sample, and its metrics."""

    item: Item
    mark: Any
    values: dict[str, Value]


class _Task(Struct):
    """The exact sums of one task."""

    samples: int
    sums: dict[str, tuple[Fraction, int]]
    """Metric to sum and number of samples that have it."""


class _Data(Struct, kw_only=True):
    tasks: dict[str, _Task]
    header: dict[str, Any]
    weights: Weighting | None
    given: dict[str, int]
    """How many samples brought a metric along."""
    details: list[dict[str, Any]] | None


class BenchmarkScorer(Scorer):
    """Records are measured with the terms and the metrics of the caller."""

    explains = True
    rescores = True

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        super().__init__(protocol, options, contracts)
        if SAMPLES in contracts and PREDICTIONS in contracts:
            raise CallError(
                "there are both predictions and samples of a model", f"give {PREDICTIONS} or {SAMPLES}, not both"
            )
        submission = SAMPLES if SAMPLES in contracts else PREDICTIONS
        truth = SAMPLES if submission == SAMPLES and REFERENCES not in contracts else REFERENCES
        terms, own = _terms(options), custom_metrics()
        item = partial(_item, terms, bool(own))
        pair = Pair(
            truth=truth, submission=submission, key=_KEY, item=item,
            measure=partial(_measure, terms, protocol, own, options),
            own_truth=partial(OwnTruth, item) if truth == submission else None,
        )  # fmt: skip
        self.pairs = (pair,)

    def combined(self, documents: Mapping[str, Any]) -> dict[str, CombinedScore] | None:
        weights = weighting(documents.get(WEIGHTS), self.options.options)
        return {name: CombinedScore(**how) for name, how in weights.describe().items()} if weights else None

    def rescore(self, name: str, result: Any, documents: Mapping[str, Any], fields: Mapping[str, str]) -> Verdict:
        """Weigh the scores of a report; what it says besides stays as it is."""
        weights = weighting(documents.get(WEIGHTS), self.options.options)
        if weights is None:
            raise CallError(
                f"{name} is a report: it can be given a combined score, which needs weights",
                "give --weights or a file of benchmark/weights; to score a model, give references and predictions",
            )
        return weighed(result, weights, bool(self.options.options.get("replace")), fields)

    def count(self, answers: Answers) -> Counts:
        pairing = answers.pairing()
        sheet = pairing.runs()[""]
        marks = [(item, sheet.get(number)) for number, item in enumerate(pairing.expected.items)]
        given: dict[str, int] = defaultdict(int)
        for _, mark in marks:
            for name in mark.given if isinstance(mark, Mark) else ():
                given[name] += 1
        chosen = pairing.pair.truth == pairing.pair.submission
        rows = _rows(marks)
        data = _Data(
            tasks={name: _sums(each) for name, each in rows.items()}, header=_header(answers, pairing.pair.submission),
            weights=weighting(answers.documents.get(WEIGHTS), self.options.options), given=dict(sorted(given.items())),
            details=_details(rows) if self.options.breakdown else None,
        )  # fmt: skip
        warnings = ["there are no references: the submission itself chose what is expected"] * chosen
        ignored = sum(isinstance(mark, Mark) and mark.ignored for _, mark in marks)
        if ignored:
            much = f"{ignored:,} sample{'s' * (ignored != 1)}"
            warnings.append(f"scores that the submission gives itself are ignored: {much} (given_scores)")
        return Counts(expected=len(marks), processed={"": processed(sheet)}, data=data, warnings=tuple(warnings))

    def finish(self, counts: Counts) -> Finished:
        data: _Data = counts.data
        tasks = {
            name: {metric: amount / number for metric, (amount, number) in task.sums.items()}
            for name, task in data.tasks.items()
        }
        overall = _overall(tasks)
        warnings = list(_warnings(data))
        combined = None
        if data.weights is not None:
            name = data.weights.metric_name
            if not self.options.options.get("replace"):
                free_name(name, overall)
            found = combine(tasks, data.weights)
            warnings += _warnings_of_combining(data.weights, found, tasks, overall, data.given)
            combined = found.overall
            tasks = {task: with_first(name, found.by_task.get(task), metrics) for task, metrics in tasks.items()}
            overall = with_first(name, combined, overall)
        report: dict[str, Any] = {
            **{name: value for name, value in data.header.items() if value is not None},
            "overall_scores": _doubles(overall),
            "task_scores": {name: _doubles(metrics) for name, metrics in tasks.items()},
        }
        if data.details is not None:
            report["detailed_results"] = data.details
        if not overall:
            warnings.append("there is no figure: no reference asks for a metric, and none was given")
        report["metadata"] = {
            **({"combined_scores": data.weights.describe()} if data.weights else {}),
            "samples": {name: task.samples for name, task in data.tasks.items()},
            "notes": [NEGATION],
        }
        second = overall.get(CLINICAL)
        return Finished(
            result=report, headline=combined, second=second, warnings=tuple(warnings),
            headline_name=data.weights.metric_name if data.weights else None,
        )  # fmt: skip


_WEIGHTS = Option(
    name="weights", metavar="NAME=W,...", stands_for=WEIGHTS, parse=parse_weights, help="Weights of the combined score."
)
_ABOUT_WEIGHTS = (
    Option(name="metric_name", metavar="NAME", help="The combined score's name."),
    Option(
        name="renormalize_missing", flag="--keep-missing", sets=False,
        help="What a task lacks counts 0, with its weight.",
    ),
    Option(name="replace", sets=True, help="Replace a metric of the combined score's name."),
)  # fmt: skip
"""They need weights."""
_LEXICON = Option(
    name="lexicon", metavar="FILE", contract="benchmark/lexicon", measuring=True, help="Terms of your own."
)


class Benchmark(Track):
    id = "benchmark"
    roles = Roles(
        truths=(REFERENCES,),
        submissions=(PREDICTIONS, SAMPLES),
        result="benchmark/report",
        auxiliary=(Auxiliary(contract=WEIGHTS, about="competition"),),
        expected_ids=tuple(ExpectedIds(contract="benchmark/cases", truth=truth) for truth in (REFERENCES, SAMPLES)),
    )
    protocol = PROTOCOL
    figures = _FIGURES
    headline = COMBINED
    scorer = BenchmarkScorer

    second = CLINICAL
    options = (_WEIGHTS, *_ABOUT_WEIGHTS, _LEXICON)
    result_fields = ResultFields(needed=("model_id",), settable=("timestamp",))
    comparison = Comparison(groups=row_groups, figures=figures_in, warnings=weighed_differently)
    ranking = Ranking(parameters={"given_scores": "ignored"})

    def completed(self, protocol: Protocol, options: ScoringOptions) -> Protocol:
        """Terms and metrics of the caller's own make another fingerprint."""
        protocol = protocol.following("lexicon", _terms(options).sha256)
        own = _own_metrics()
        return protocol.following("own_metrics", ", ".join(own)) if own else protocol

    def tables(self, score: Score) -> Iterator[Table]:
        return tables(score)

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        """Without figures by task and sample."""
        metadata = {name: value for name, value in result.get("metadata", {}).items() if name != "samples"}
        return {"model_id": result.get("model_id"), "overall_scores": result["overall_scores"], "metadata": metadata}


def _warnings_of_combining(
    weights: Weighting, found: Combined, tasks: Mapping[str, Metrics], overall: Metrics, given: Mapping[str, int]
) -> Iterator[str]:
    if weights.metric_name in overall:
        yield f"the metric '{plain_name(weights.metric_name)}' was replaced by the combined score"
    yield from told_unused(found, tasks)
    used = [name for name in used_by(weights) if name in given]
    if used:
        yield f"the combined score rests in part on what the submission gave: {', '.join(map(plain_name, used))}"


def _own_metrics() -> dict[str, Callable[..., Any]]:
    """Those of users, by name. Raises `CallError` for one that would stand in for a metric of the protocol."""
    own = custom_metrics()
    taken = [name for name in METRICS if name in own]
    if taken:
        raise CallError(
            f"a plugin has a metric '{taken[0]}', which the protocol has already", "rename it in the plugin"
        )
    return own


def _terms(options: ScoringOptions) -> Terms:
    lexicon = options.options.get("lexicon")
    if lexicon is None:
        return shipped()
    try:
        return shipped().extended(lexicon)
    except InvalidTerms as error:
        raise CallError(f"the lexicon is not sound: {error.message}", error.hint) from None


class _Known(Struct):
    """What of a sample is truth: it is hashed as a record of references is."""

    task_id: str
    sample_id: str
    reference: Any


def _known(record: Any) -> _Known:
    reference = record.reference
    said = reference.model_dump() if hasattr(reference, "model_dump") else reference
    return _Known(record.task_id, record.sample_id, said)


class OwnTruth(Expected[Item]):
    """Samples are their own truth: each of their ids is expected, those of records that are not valid too."""

    def __init__(self, item: Callable[[Any], Item]) -> None:
        super().__init__(_KEY, item)
        self._before: tuple[dict[Any, int], list[Item], int] = {}, [], 0

    def begin(self) -> None:
        """Remember what is there: a file that cannot be read to its end has no records."""
        self._before = dict(self.index), list(self.items), len(self._texts)

    def end(self, complete: bool) -> None:
        if not complete:
            index, self.items, length = self._before
            self.index.clear()
            self.index.update(index)
            del self._texts[length:]

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        for record in validated(records):
            self._add(self._key(record), self._item(record))
            self._texts.append(record_text(_known(record)))
        return ()

    def reject(self, parsed: Any) -> Sequence[Finding]:
        task, sample = (read_field(parsed, name) for name in _KEY)
        if isinstance(task, str) and isinstance(sample, str):
            self._add((task, sample), Item(task, sample, None, frozenset(), None))
        return ()

    def _add(self, key: Any, item: Item) -> None:
        """A sample that stands there twice is not processed, whatever either record says."""
        number = self.index.setdefault(key, len(self.items))
        if number == len(self.items):
            self.items.append(item)
        else:
            one = self.items[number]
            self.items[number] = one._replace(side=None, asks=one.asks | item.asks)


def _item(terms: Terms, keep: bool, record: Any) -> Item:
    side = side_of(terms, record.reference)
    return Item(record.task_id, record.sample_id, side, frozenset(asked(side)), record.reference if keep else None)


def _measure(
    terms: Terms,
    protocol: Protocol,
    own: Mapping[str, Callable[..., Any]],
    options: ScoringOptions,
    item: Item,
    record: Any,
) -> Mark | Unscored:
    """Computed metrics, then users' own, then those that the record brings along: the later wins."""
    if item.side is None:  # there is another record of this sample
        return REPEATED
    computed = measured(terms, protocol, item.side, side_of(terms, record.prediction))
    values: dict[str, Value] = {name: each.value for name, each in computed.items()}
    for name, function in own.items():
        value = _called(name, function, item, record.prediction, options.plugin_errors)
        if value is not None:
            values[name] = value
    taken = protocol.word("given_scores") == "taken"
    given = record.scores or {} if taken else {}
    values.update(given)
    parts = None
    if options.breakdown:
        parts = {name: _shown(each.parts, options.values) for name, each in computed.items() if name not in given}
    return Mark(values, tuple(sorted(given)), parts, bool(record.scores) and not taken)


def _called(name: str, function: Callable[..., Any], item: Item, prediction: Any, tell: bool) -> float | None:
    """A user's own metric: a number in 0..1, or None where it says nothing."""
    where = f"the metric '{name}' failed for sample {shown_id(item.sample)} of task {shown_id(item.task)}"
    try:
        value = function(item.said, prediction)
        if value is None:
            return None
        number = float(value)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a user's function does
        said = f": {error}" if tell else f" ({_MORE})"  # it may quote a record
        raise BrokenPlugin(f"{where}: {type(error).__name__}{said}") from None
    if not 0 <= number <= 1:
        what = str(number) if tell or not isfinite(number) else f"a number ({_MORE})"  # it may be one of a record
        raise BrokenPlugin(f"{where}: {what} is not between 0 and 1")
    return number


def _shown(parts: Mapping[str, Any], values: bool) -> dict[str, Any]:
    """What a metric is made of, as JSON: numbers rounded; of terms their number where values are not told."""
    shown: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, Fraction):
            shown[name] = rounded(part)
        elif isinstance(part, Mapping):
            shown[name] = _shown(part, values)
        elif isinstance(part, list):
            shown[name] = part if values else len(part)
        else:
            shown[name] = part
    return shown


def _rows(marks: Sequence[tuple[Item, Any]]) -> dict[str, list[_Row]]:
    """By task, sorted. What is not processed is 0 in every metric that it, or a processed sample of its task, has."""
    by_task: dict[str, list[_Row]] = defaultdict(list)
    has: dict[str, set[str]] = defaultdict(set)
    for item, mark in marks:
        values = dict(mark.values) if isinstance(mark, Mark) else {}
        by_task[item.task].append(_Row(item, mark, values))
        has[item.task] |= values.keys()
    for name, rows in by_task.items():
        for row in rows:
            if not isinstance(row.mark, Mark):
                wanted = has[name] | row.item.asks
                row.values.update(dict.fromkeys(_in_order(wanted), ZERO))
    return {name: by_task[name] for name in sorted(by_task)}


def _in_order(names: Collection[str]) -> list[str]:
    """Computed metrics first."""
    return [*(name for name in METRICS if name in names), *sorted(set(names) - set(METRICS))]


def _sums(rows: Sequence[_Row]) -> _Task:
    found: dict[str, list[Value]] = defaultdict(list)
    for row in rows:
        for name, value in row.values.items():
            found[name].append(value)
    return _Task(len(rows), {name: (_sum(found[name]), len(found[name])) for name in _in_order(found)})


def _sum(values: Sequence[Value]) -> Fraction:
    exact = total(value for value in values if isinstance(value, Fraction))
    return exact + exact_sum(value for value in values if not isinstance(value, Fraction))


def _overall(tasks: Mapping[str, Mapping[str, Fraction]]) -> dict[str, Fraction]:
    """For each metric the mean over the tasks that have it."""
    names = _in_order({name for metrics in tasks.values() for name in metrics})
    return {name: mean(metrics[name] for metrics in tasks.values() if name in metrics) for name in names}


def _doubles(metrics: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: rounded(value) for name, value in metrics.items()}


def weighting(document: Any, options: Mapping[str, Any]) -> Weighting | None:
    """What a file and the options say of weights. Raises `CallError` where they disagree."""
    weights, name = options.get("weights"), options.get("metric_name")
    if name is not None and not name.strip(BLANKS):
        raise CallError("--metric-name is blank", "give the combined score a name")
    if document is not None and weights is not None:
        raise CallError("there are weights in a file and in --weights", "give one of them")
    if document is None and weights is None:
        lonely = [option.on_command_line for option in _ABOUT_WEIGHTS if option.name in options]
        if lonely:
            raise CallError(f"{lonely[0]} is about a combined score, which needs weights", "give --weights or a file")
        return None
    found = weighting_of(document) if document is not None else Weighting(weights or ())
    renormalize = options.get("renormalize_missing", found.renormalize)
    return Weighting(found.weights, name or found.metric_name, renormalize)


def _header(answers: Answers, submission: str) -> dict[str, Any]:
    header = answers.headers.get(submission, {})
    return {"model_id": header.get("model_id"), "timestamp": answers.settings.get("timestamp")}


def _warnings(data: _Data) -> Iterator[str]:
    for name in METRICS:
        times = data.given.get(name, 0)
        if times:
            much = f"{times:,} sample{'s' * (times != 1)}"
            yield f"{name} of {much} was not computed, but given by the submission (--parameter given_scores=ignored)"
    others = [name for name in data.given if name not in METRICS]
    if others:
        named = ", ".join(map(plain_name, others[:_MOST_NAMED])) + (", …" if len(others) > _MOST_NAMED else "")
        yield f"metrics that the submission gave were taken as they are: {named}"


def _details(tasks: Mapping[str, Sequence[_Row]]) -> list[dict[str, Any]]:
    """Every sample by task and name: its metrics, and what they are made of."""
    return [
        {
            "task_id": task,
            "sample_id": row.item.sample,
            "scores": {name: rounded(v) if isinstance(v, Fraction) else v for name, v in row.values.items()},
            "breakdown": _breakdown(row.mark),
        }
        for task, rows in tasks.items()
        for row in sorted(rows, key=lambda row: row.item.sample)
    ]


def _breakdown(mark: Any) -> dict[str, Any]:
    if isinstance(mark, Mark):
        return mark.parts or {}
    return {"unprocessed": mark.why if isinstance(mark, Unscored) else "no record"}


TRACK = Benchmark()
