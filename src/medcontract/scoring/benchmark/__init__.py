"""Track `benchmark`: language models on medical tasks, several metrics, one combined score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import CallError
from medcontract.normalizers.terms import InvalidTerms, Terms, built_in_terms
from medcontract.problems import plain_name, plural
from medcontract.results.leaderboard import CombinedScore
from medcontract.results.score import Score
from medcontract.results.tables import Table
from medcontract.scoring.benchmark import stuffing
from medcontract.scoring.benchmark.combining import (
    COMBINED,
    Combined,
    Metrics,
    Weighting,
    combine,
    parse_categories,
    parse_weights,
    used_by,
    warn_unused,
    weighting_of,
)
from medcontract.scoring.benchmark.comparing import figures_in, row_groups, warn_different_weights
from medcontract.scoring.benchmark.metrics import CLINICAL, Settings
from medcontract.scoring.benchmark.protocol import FIGURES, PROTOCOL, in_one_order
from medcontract.scoring.benchmark.rescoring import add_combined, check_name_is_free, with_first
from medcontract.scoring.benchmark.samples import (
    KEY,
    Item,
    Mark,
    Measuring,
    OwnTruth,
    Value,
    checked_custom_metrics,
    has_answer,
    item_of,
)
from medcontract.scoring.benchmark.tables import tables
from medcontract.scoring.comparison import Comparison
from medcontract.scoring.custom_metrics import custom_metrics
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.processing_gate import Verdict
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, exact_sum, mean, rounded, total
from medcontract.scoring.scorer import Answers, Counts, Finished, Remark, Scorer, ScoringOptions
from medcontract.scoring.track import Auxiliary, ExpectedIds, Option, Ranking, ResultFields, Roles, Track

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"
WEIGHTS = "benchmark/weights"
_MOST_NAMED = 10
NEGATION = "terms are found as phrases, regardless of context: negation is not recognized"


class _Row(NamedTuple):
    """One expected sample and its metrics."""

    item: Item
    mark: Any
    values: dict[str, Value]


class _Task(Struct):
    """The exact sums of one task."""

    samples: int
    sums: dict[str, tuple[Fraction, int]]
    """For each metric, the sum and the number of samples that have it."""


class _Data(Struct, kw_only=True):
    tasks: dict[str, _Task]
    header: dict[str, Any]
    weights: Weighting | None
    given: dict[str, int]
    """For each metric, the number of samples that it is given for."""
    details: list[dict[str, Any]] | None


class BenchmarkScorer(Scorer):
    """Measures records with the terms and the custom metrics of the call."""

    explains = True
    rescores = True

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        super().__init__(protocol, options, contracts)
        if SAMPLES in contracts and PREDICTIONS in contracts:
            raise CallError(
                "there are both predictions and samples of a model", f"pass {PREDICTIONS} or {SAMPLES}, not both"
            )
        submission = SAMPLES if SAMPLES in contracts else PREDICTIONS
        truth = SAMPLES if submission == SAMPLES and REFERENCES not in contracts else REFERENCES
        terms, custom = terms_of(options), custom_metrics()
        settings, take_given = Settings.of(protocol), protocol.word("given_scores") == "taken"
        item = partial(item_of, terms, settings, bool(custom))
        measuring = Measuring(terms, settings, take_given, custom, options)
        pair = Pair(
            truth=truth, submission=submission, key=KEY, item=item,
            measure=measuring.measure, measure_all=measuring.measure_all,
            own_truth=partial(OwnTruth, item) if truth == submission else None,
        )  # fmt: skip
        self.pairs = (pair,)
        self._computed = settings.computed

    def combined(self, documents: Mapping[str, Any]) -> dict[str, CombinedScore] | None:
        weights = weighting(documents.get(WEIGHTS), self.options.options)
        return {name: CombinedScore(**how) for name, how in weights.describe().items()} if weights else None

    def rescore(self, name: str, result: Any, documents: Mapping[str, Any], fields: Mapping[str, str]) -> Verdict:
        """Add a combined score to a report; everything else in it stays unchanged."""
        weights = weighting(documents.get(WEIGHTS), self.options.options)
        if weights is None:
            raise CallError(
                f"{name} is a report: a combined score can be added to it, which needs weights",
                "pass --weights or a file of benchmark/weights; to score a model, pass references and predictions",
            )
        return add_combined(result, weights, bool(self.options.options.get("replace")), fields)

    def count(self, answers: Answers) -> Counts:
        pairing = answers.pairing()
        sheet = pairing.runs()[""]
        items = pairing.expected.items
        marks = list(zip(items, sheet.listed(len(items)), strict=True))
        given: dict[str, int] = defaultdict(int)
        for _, mark in marks:
            for name in mark.given if isinstance(mark, Mark) else ():
                given[name] += 1
        rows = self._rows(marks)
        data = _Data(
            tasks={name: self._sums(each) for name, each in rows.items()},
            header=_header(answers, pairing.pair.submission),
            weights=weighting(answers.documents.get(WEIGHTS), self.options.options), given=dict(sorted(given.items())),
            details=_details(rows) if self.options.breakdown else None,
        )  # fmt: skip
        warnings = []
        if pairing.pair.truth == pairing.pair.submission:
            warnings.append("there are no references: the submission itself chose what is expected")
        ignored = sum(isinstance(mark, Mark) and mark.ignored for _, mark in marks)
        if ignored:
            warnings.append(f"scores in the submission are ignored: {plural(ignored, 'sample')} (given_scores)")
        rationales = [mark.rationale for _, mark in marks if isinstance(mark, Mark) and mark.rationale]
        return Counts(
            expected=len(marks), processed={"": sheet.processed}, data=data, warnings=tuple(warnings),
            remarks=tuple(stuffing.remarks(pairing.pair.submission, rationales)),
        )  # fmt: skip

    def probe(self, record: Any) -> bool:
        return has_answer(record)

    def remarks(self, pairings: Mapping[str, Pairing[Any, Any]], documents: Mapping[str, Any]) -> Iterator[Remark]:
        """Records with nothing to score: an export without the texts of the model."""
        for pairing in pairings.values():
            probes = [mark for marks in pairing.marks_by_run.values() for mark in marks.values() if type(mark) is bool]
            empty = probes.count(False)
            if 2 * empty >= len(probes) > 0:
                yield Remark(
                    contract=pairing.pair.submission,
                    message=f"{empty:,} of {plural(len(probes), 'record')} without an answer: 'prediction' is blank",
                    hint="check that the answers were written into the records",
                    severity="error" if empty == len(probes) else "warning",
                )

    def finish(self, counts: Counts) -> Finished:
        data: _Data = counts.data
        tasks = {
            name: {metric: amount / number for metric, (amount, number) in task.sums.items()}
            for name, task in data.tasks.items()
        }
        overall = self._overall(tasks)
        warnings = list(self._warn_given(data))
        combined = None
        if data.weights is not None:
            name = data.weights.metric_name
            if not self.options.options.get("replace"):
                check_name_is_free(name, overall)
            found = combine(tasks, data.weights)
            warnings += _warn_combined(data.weights, found, tasks, overall, data.given)
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
            warnings.append("there are no figures: no reference requires a metric, and none is given")
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

    def _rows(self, marks: Sequence[tuple[Item, Any]]) -> dict[str, list[_Row]]:
        """By task, sorted. A sample that is not processed is 0 in every metric that its reference requires, and in
        every metric that a processed sample of its task has.
        """
        by_task: dict[str, list[_Row]] = defaultdict(list)
        has: dict[str, set[str]] = defaultdict(set)
        for item, mark in marks:
            values = mark.values if isinstance(mark, Mark) else {}
            by_task[item.task].append(_Row(item, mark, values))
            has[item.task] |= values.keys()
        for name, rows in by_task.items():
            for row in rows:
                if not isinstance(row.mark, Mark):
                    wanted = has[name].union(row.item.requires)
                    row.values.update(dict.fromkeys(self._in_order(wanted), ZERO))
        return {name: by_task[name] for name in sorted(by_task)}

    def _in_order(self, names: Collection[str]) -> list[str]:
        """Computed metrics first."""
        computed = self._computed
        return [*(name for name in computed if name in names), *sorted(set(names) - set(computed))]

    def _sums(self, rows: Sequence[_Row]) -> _Task:
        found: dict[str, list[Value]] = defaultdict(list)
        for row in rows:
            for name, value in row.values.items():
                found[name].append(value)
        return _Task(len(rows), {name: (_sum(found[name]), len(found[name])) for name in self._in_order(found)})

    def _overall(self, tasks: Mapping[str, Metrics]) -> dict[str, Fraction]:
        """For each metric, the mean over the tasks that have it."""
        names = self._in_order({name for metrics in tasks.values() for name in metrics})
        return {name: mean(metrics[name] for metrics in tasks.values() if name in metrics) for name in names}

    def _warn_given(self, data: _Data) -> Iterator[str]:
        for name in self._computed:
            times = data.given.get(name, 0)
            if times:
                samples = plural(times, "sample")
                yield f"{name} of {samples} is given by the submission, not computed (--parameter given_scores=ignored)"
        others = [name for name in data.given if name not in self._computed]
        if others:
            named = ", ".join(map(plain_name, others[:_MOST_NAMED])) + (", …" if len(others) > _MOST_NAMED else "")
            yield f"metrics given by the submission are used unchanged: {named}"


_WEIGHTS = Option(
    name="weights", metavar="NAME=W,...", stands_for=WEIGHTS, parse=parse_weights, help="Weights of the combined score."
)
_ABOUT_WEIGHTS = (
    Option(
        name="categories", flag="--category", metavar="NAME=METRIC,...", multiple=True, parse=parse_categories,
        help="Metrics of a category that weights refer to: a new one, or one that replaces a built-in one. Repeatable.",
    ),
    Option(name="metric_name", metavar="NAME", help="Name of the combined score."),
    Option(
        name="renormalize_missing", flag="--keep-missing", sets=False,
        help="Metrics that a task lacks count as 0, with their weight.",
    ),
    Option(name="replace", sets=True, help="Replace a metric that has the name of the combined score."),
)  # fmt: skip
"""They need weights."""
_LEXICON = Option(name="lexicon", metavar="FILE", contract="benchmark/lexicon", measuring=True, help="Custom lexicon.")


class Benchmark(Track):
    id = "benchmark"
    entrant = "model"
    roles = Roles(
        truths=(REFERENCES,),
        submissions=(PREDICTIONS, SAMPLES),
        result="benchmark/report",
        auxiliary=(Auxiliary(contract=WEIGHTS, about="competition"),),
        expected_ids=tuple(ExpectedIds(contract="benchmark/cases", truth=truth) for truth in (REFERENCES, SAMPLES)),
    )
    protocol = PROTOCOL
    figures = FIGURES
    headline = COMBINED
    scorer = BenchmarkScorer

    second = CLINICAL
    options = (_WEIGHTS, *_ABOUT_WEIGHTS, _LEXICON)
    result_fields = ResultFields(needed=("model_id",), settable=("timestamp",))
    comparison = Comparison(groups=row_groups, figures=figures_in, warnings=warn_different_weights)
    ranking = Ranking(parameters={"given_scores": "ignored"})

    def completed(self, protocol: Protocol, options: ScoringOptions) -> Protocol:
        """A custom lexicon and custom metrics change the fingerprint."""
        protocol = in_one_order(protocol).following("lexicon", terms_of(options).sha256)
        custom = checked_custom_metrics(protocol)
        return protocol.following("own_metrics", ", ".join(custom)) if custom else protocol

    def tables(self, score: Score) -> Iterator[Table]:
        return tables(score)

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        """Without figures by task and by sample."""
        metadata = {name: value for name, value in result.get("metadata", {}).items() if name != "samples"}
        return {"model_id": result.get("model_id"), "overall_scores": result["overall_scores"], "metadata": metadata}


def _warn_combined(
    weights: Weighting, found: Combined, tasks: Mapping[str, Metrics], overall: Metrics, given: Mapping[str, int]
) -> Iterator[str]:
    if weights.metric_name in overall:
        yield f"the metric '{plain_name(weights.metric_name)}' was replaced by the combined score"
    yield from warn_unused(found, tasks, weights)
    used = [name for name in used_by(weights) if name in given]
    if used:
        yield f"the combined score depends on metrics given by the submission: {', '.join(map(plain_name, used))}"


def terms_of(options: ScoringOptions) -> Terms:
    """The built-in terms, with those of a custom lexicon. Raises `CallError`."""
    lexicon = options.options.get("lexicon")
    if lexicon is None:
        return built_in_terms()
    try:
        return built_in_terms().extended(lexicon)
    except InvalidTerms as error:
        raise CallError(f"the lexicon is not valid: {error.message}", error.hint) from None


def _sum(values: Sequence[Value]) -> Fraction:
    exact = total(value for value in values if isinstance(value, Fraction))
    return exact + exact_sum(value for value in values if not isinstance(value, Fraction))


def _doubles(metrics: Metrics) -> dict[str, float]:
    return {name: rounded(value) for name, value in metrics.items()}


def weighting(document: Any, options: Mapping[str, Any]) -> Weighting | None:
    """The weighting in a file and in options. Raises `CallError` if they contradict each other."""
    weights, name = options.get("weights"), options.get("metric_name")
    if name is not None and not name.strip(BLANKS):
        raise CallError("--metric-name is blank", "give the combined score a name")
    if document is not None and weights is not None:
        raise CallError("there are weights in a file and in --weights", "pass only one of them")
    if document is None and weights is None:
        useless = [option.on_command_line for option in _ABOUT_WEIGHTS if option.name in options]
        if useless:
            raise CallError(f"{useless[0]} is about a combined score, which needs weights", "pass --weights or a file")
        return None
    found = weighting_of(document) if document is not None else Weighting(weights or ())
    renormalize = options.get("renormalize_missing", found.renormalize)
    custom = dict(found.custom) | dict(options.get("categories") or {})
    return Weighting(found.weights, name or found.metric_name, renormalize, tuple(custom.items()))


def _header(answers: Answers, submission: str) -> dict[str, Any]:
    header = answers.headers.get(submission, {})
    return {"model_id": header.get("model_id"), "timestamp": answers.settings.get("timestamp")}


def _details(tasks: Mapping[str, Sequence[_Row]]) -> list[dict[str, Any]]:
    """Every sample by task and id: its metrics and their components."""
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
