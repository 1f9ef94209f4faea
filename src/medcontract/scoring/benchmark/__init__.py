"""Track `benchmark`: language models on medical tasks, several metrics, one combined score."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import CallError, option, words
from medcontract.normalizers.terms import InvalidTerms, Terms, built_in_terms
from medcontract.problems import plain_name, plural
from medcontract.results.leaderboard import CombinedScore
from medcontract.scoring.benchmark import stuffing
from medcontract.scoring.benchmark.combining import (
    COMBINED,
    Combined,
    Metrics,
    Weighting,
    combine,
    parse_categories,
    parse_weights,
    stated_options,
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
    Mark,
    Measuring,
    OwnTruth,
    Value,
    checked_custom_metrics,
    has_answer,
    item_of,
    texts_of,
)
from medcontract.scoring.benchmark.stuffing import Rationale
from medcontract.scoring.benchmark.tables import tables
from medcontract.scoring.custom_metrics import custom_metrics
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.plausibility import Watch
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, exact_sum, mean, rounded, total
from medcontract.scoring.scorer import Answers, Documents, Finished, Notes, Remark, Scorer, ScoringOptions, Tally
from medcontract.scoring.track import (
    Auxiliary,
    Comparison,
    ExpectedIds,
    Imitation,
    Option,
    Ranking,
    Result,
    ResultFields,
    Roles,
    Track,
)
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import benchmark as contract
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"
WEIGHTS = "benchmark/weights"
_MOST_NAMED = 10
NEGATION = "terms are found as phrases, regardless of context: negation is not recognized"


class _Row(NamedTuple):
    """One expected sample and its mark."""

    task: str
    sample: str
    requires: tuple[str, ...]
    mark: Mark | Unscored | None


class _Task(NamedTuple):
    """The exact sums of one task."""

    samples: int
    sums: dict[str, Fraction]
    """For each metric, the sum over the processed samples that have it."""
    having: Counter[str]
    """For each metric, the number of processed samples that have it."""
    unprocessed: Counter[tuple[str, ...]]
    """The samples that are not processed, by the metrics that they require."""

    def metrics(self, in_order: Callable[[Collection[str]], list[str]]) -> dict[str, Fraction]:
        """Return the mean of each metric. An unprocessed sample is 0 in every metric that its reference requires, and
        in every metric that a processed sample of its task has.
        """
        found = {}
        for name in in_order({*self.having, *chain.from_iterable(self.unprocessed)}):
            zeros = (times for requires, times in self.unprocessed.items() if name in self.having or name in requires)
            found[name] = self.sums.get(name, ZERO) / (self.having[name] + sum(zeros))
        return found


class _Data(NamedTuple):
    tasks: dict[str, _Task]
    given: Counter[str]
    """For each metric, the number of samples that it is given for."""
    ignored: int
    """The number of samples with metrics that are ignored."""
    rationales: Counter[Rationale]
    rows: list[_Row] | None
    """All samples, if a breakdown was requested."""


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
        item = partial(item_of, settings)
        measuring = Measuring(terms, settings, take_given, custom, options)
        pair = Pair(
            truth=truth, submission=submission, key=KEY, item=item,
            measure=measuring.measure, watch=Watch(track="benchmark", texts=texts_of),
            own_truth=partial(OwnTruth, item) if truth == submission else None,
        )  # fmt: skip
        self.pairs = (pair,)
        self._computed = settings.computed

    def combined(self, documents: Documents) -> dict[str, CombinedScore] | None:
        weights = weighting(documents.get(WEIGHTS), self.options.options)
        return {name: CombinedScore(**how) for name, how in weights.describe().items()} if weights else None

    def rescore(self, name: str, result: Any, documents: Documents, fields: Mapping[str, str]) -> Finished:
        """Add a combined score to a report; everything else in it stays unchanged."""
        weights = weighting(documents.get(WEIGHTS), self.options.options)
        if weights is None:
            raise CallError(
                f"{name} is a report: a combined score can be added to it, which needs weights",
                words(
                    "pass ",
                    option("--weights"),
                    " or a file of benchmark/weights; to score a model, pass references and predictions",
                ),
            )
        return add_combined(result, weights, bool(self.options.options.get("replace")), fields)

    def tally(self, answers: Answers) -> Tally:
        """Return the sums of each task; the context are the header and the weights."""
        pairing = answers.pairing()
        sheet = pairing.runs()[""]
        items = pairing.expected.items
        by_task: dict[str, list[_Row]] = defaultdict(list)
        for item, mark in zip(items, sheet.listed(len(items)), strict=True):
            by_task[item.task].append(_Row(item.task, item.sample, item.requires, mark))
        rows = [row for each in by_task.values() for row in each]
        marks = [row.mark for row in rows if isinstance(row.mark, Mark)]
        data = _Data(
            tasks={name: _sums(each) for name, each in by_task.items()},
            given=Counter(name for mark in marks for name in mark.given),
            ignored=sum(mark.ignored for mark in marks),
            rationales=Counter(mark.rationale for mark in marks if mark.rationale),
            rows=rows if self.options.breakdown else None,
        )
        weights = weighting(answers.documents.get(WEIGHTS), self.options.options)
        context = _header(answers, pairing.pair.submission), weights
        return Tally(expected=len(items), processed={"": sheet.processed}, data=data, context=context)

    def notes(self, tally: Tally) -> Notes:
        data: _Data = tally.data
        (pair,) = self.pairs
        warnings = []
        if pair.truth == pair.submission:
            warnings.append("there are no references: the submission itself chose what is expected")
        if data.ignored:
            warnings.append(f"scores in the submission are ignored: {plural(data.ignored, 'sample')} (given_scores)")
        return Notes(warnings=tuple(warnings), remarks=tuple(stuffing.remarks(pair.submission, data.rationales)))

    def probe(self, record: contract.Prediction | contract.Sample) -> bool:
        return has_answer(record)

    def remarks(self, pairings: Mapping[str, Pairing], documents: Documents) -> Iterator[Remark]:
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

    def figures(self, tally: Tally) -> Finished:
        data: _Data = tally.data
        header: JsonObject
        weights: Weighting | None
        header, weights = tally.context
        tasks = {name: task.metrics(self._in_order) for name, task in sorted(data.tasks.items())}
        details = None if data.rows is None else self._details(data.rows, data.tasks)
        overall = self._overall(tasks)
        warnings = list(self._warn_given(data.given))
        combined = None
        if weights is not None:
            name = weights.metric_name
            if not self.options.options.get("replace"):
                check_name_is_free(name, overall)
            found = combine(tasks, weights)
            warnings += _warn_combined(weights, found, tasks, overall, data.given)
            combined = found.overall
            tasks = {task: with_first(name, found.by_task.get(task), metrics) for task, metrics in tasks.items()}
            overall = with_first(name, combined, overall)
        report: JsonObject = {
            **{name: value for name, value in header.items() if value is not None},
            "overall_scores": _doubles(overall),
            "task_scores": {name: _doubles(metrics) for name, metrics in tasks.items()},
        }
        if details is not None:
            report["detailed_results"] = details
        if not overall:
            warnings.append("there are no figures: no reference requires a metric, and none is given")
        report["metadata"] = {
            **({"combined_scores": weights.describe()} if weights else {}),
            "samples": {name: data.tasks[name].samples for name in tasks},
            "notes": [NEGATION],
        }
        second = overall.get(CLINICAL)
        return Finished(
            result=report, headline=combined, second=second, warnings=tuple(warnings),
            headline_name=weights.metric_name if weights else None,
        )  # fmt: skip

    def resampled(self, answers: Answers, samples: Samples, result: Result) -> Resampling:
        from medcontract.scoring.benchmark.resampled import resampled

        weights = weighting(answers.documents.get(WEIGHTS), self.options.options)
        return resampled(answers, samples, result, weights)

    def _details(self, rows: Sequence[_Row], tasks: Mapping[str, _Task]) -> list[JsonObject]:
        """Every sample by task and id: its metrics and their components."""
        return [
            {
                "task_id": row.task,
                "sample_id": row.sample,
                "scores": {
                    name: rounded(value) if isinstance(value, Fraction) else value
                    for name, value in self._values(row, tasks[row.task].having).items()
                },
                "breakdown": _breakdown(row.mark),
            }
            for row in sorted(rows, key=itemgetter(0, 1))
        ]

    def _values(self, row: _Row, having: Collection[str]) -> dict[str, Value]:
        if isinstance(row.mark, Mark):
            return row.mark.values
        return dict.fromkeys(self._in_order({*having, *row.requires}), ZERO)

    def _in_order(self, names: Collection[str]) -> list[str]:
        """Computed metrics first."""
        computed = self._computed
        return [*(name for name in computed if name in names), *sorted(set(names) - set(computed))]

    def _overall(self, tasks: Mapping[str, Metrics]) -> dict[str, Fraction]:
        """For each metric, the mean over the tasks that have it."""
        names = self._in_order({name for metrics in tasks.values() for name in metrics})
        return {name: mean(metrics[name] for metrics in tasks.values() if name in metrics) for name in names}

    def _warn_given(self, given: Counter[str]) -> Iterator[str]:
        for name in self._computed:
            if given[name]:
                samples = plural(given[name], "sample")
                yield f"{name} of {samples} is given by the submission, not computed (--parameter given_scores=ignored)"
        others = [name for name in sorted(given) if name not in self._computed]
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


def _complete(protocol: Protocol, options: ScoringOptions) -> Protocol:
    """Add a custom lexicon and custom metrics, which change the fingerprint."""
    protocol = in_one_order(protocol).following("lexicon", terms_of(options).sha256)
    custom = checked_custom_metrics(protocol)
    return protocol.following("own_metrics", ", ".join(custom)) if custom else protocol


def _for_participants(result: JsonObject, headline: float | None) -> JsonObject:
    """Without figures by task and by sample."""
    metadata = {name: value for name, value in result.get("metadata", {}).items() if name != "samples"}
    return {"model_id": result.get("model_id"), "overall_scores": result["overall_scores"], "metadata": metadata}


def _right_answers(records: Sequence[JsonObject]) -> list[JsonObject]:
    return [{"prediction": record["reference"]} for record in records]


TRACK = Track(
    id="benchmark",
    entrant="model",
    roles=Roles(
        truths=(REFERENCES,),
        submissions=(PREDICTIONS, SAMPLES),
        result="benchmark/report",
        auxiliary=(Auxiliary(contract=WEIGHTS, about="competition"),),
        expected_ids=tuple(ExpectedIds(contract="benchmark/cases", truth=truth) for truth in (REFERENCES, SAMPLES)),
    ),
    protocol=PROTOCOL,
    figures=FIGURES,
    headline=COMBINED,
    scorer=BenchmarkScorer,
    second=CLINICAL,
    imitations=(
        Imitation(
            truth=REFERENCES,
            submission=PREDICTIONS,
            answers=_right_answers,
            header={"model_id": "rehearsal"},
            failed={"prediction": {}, "error": "no answer"},
        ),
    ),
    options=(_WEIGHTS, *_ABOUT_WEIGHTS, _LEXICON),
    result_fields=ResultFields(needed=("model_id",), settable=("timestamp",), options=stated_options),
    comparison=Comparison(groups=row_groups, figures=figures_in, warnings=warn_different_weights),
    ranking=Ranking(parameters={"given_scores": "ignored"}),
    complete=_complete,
    tables=tables,
    for_participants=_for_participants,
)


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
    """Return the built-in terms, with the terms of a custom lexicon. Raises `CallError`."""
    lexicon = options.options.get("lexicon")
    if lexicon is None:
        return built_in_terms()
    try:
        return built_in_terms().extended(lexicon)
    except InvalidTerms as error:
        raise CallError(f"the lexicon is not valid: {error.message}", error.hint) from None


def _sums(rows: Sequence[_Row]) -> _Task:
    found: dict[str, list[Value]] = defaultdict(list)
    unprocessed: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        if not isinstance(row.mark, Mark):
            unprocessed[row.requires] += 1
            continue
        for name, value in row.mark.values.items():
            found[name].append(value)
    having = Counter({name: len(values) for name, values in found.items()})
    return _Task(len(rows), {name: _sum(values) for name, values in found.items()}, having, unprocessed)


def _sum(values: Sequence[Value]) -> Fraction:
    exact = total(value for value in values if isinstance(value, Fraction))
    return exact + exact_sum(value for value in values if not isinstance(value, Fraction))


def _doubles(metrics: Metrics) -> dict[str, float]:
    return {name: rounded(value) for name, value in metrics.items()}


def weighting(document: contract.Weights | None, options: Mapping[str, Any]) -> Weighting | None:
    """Return the weighting in a file and in options. Raises `CallError` if they contradict each other."""
    weights, name = options.get("weights"), options.get("metric_name")
    if name is not None and not name.strip(BLANKS):
        raise CallError(words(option("--metric-name"), " is blank"), "give the combined score a name")
    if document is not None and weights is not None:
        raise CallError(words("there are weights in a file and in ", option("--weights")), "pass only one of them")
    if document is None and weights is None:
        useless = [each.wording for each in _ABOUT_WEIGHTS if each.name in options]
        if useless:
            raise CallError(
                words(useless[0], " is about a combined score, which needs weights"),
                words("pass ", option("--weights"), " or a file"),
            )
        return None
    found = weighting_of(document) if document is not None else Weighting(weights or ())
    renormalize = options.get("renormalize_missing", found.renormalize)
    custom = dict(found.custom) | dict(options.get("categories") or {})
    return Weighting(found.weights, name or found.metric_name, renormalize, tuple(custom.items()))


def _header(answers: Answers, submission: str) -> JsonObject:
    header = answers.headers.get(submission, {})
    return {"model_id": header.get("model_id"), "timestamp": answers.settings.get("timestamp")}


def _breakdown(mark: Mark | Unscored | None) -> JsonObject:
    if isinstance(mark, Mark):
        return mark.parts or {}
    return {"unprocessed": mark.why if isinstance(mark, Unscored) else "no record"}
