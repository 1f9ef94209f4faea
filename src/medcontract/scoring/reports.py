"""Track `reports`: specialty, urgency and follow-up of clinical reports, and what the model needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.results.score import Score
from medcontract.results.tables import Table, by_class_table, figures_table, first_rows, number
from medcontract.scoring.comparison import Comparison, Rows
from medcontract.scoring.pairing import Pair, Pairing, marks
from medcontract.scoring.processing_gate import processed_counts, shown_id
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Protocol, parameters
from medcontract.scoring.rational import ZERO, exact_sum, f1, mean, mean_or_none, rounded, rounded_or_none
from medcontract.scoring.scorer import Answers, Counts, Finished, Limit, Scorer
from medcontract.scoring.track import Auxiliary, ExpectedIds, Figure, Roles, Track

URGENCIES = ("Emergency", "Urgent", "Routine")
_POSITIVE = {"above": True}


class Labels(NamedTuple):
    """What is true of a report, or predicted."""

    specialty: str
    urgency: str
    follow_up: bool


_SHARED: dict[Labels, Labels] = {}


def _labels(record: Any) -> Labels:
    """There are 36 of them: each is kept once."""
    labels = Labels(record.specialty, record.urgency, record.follow_up)
    return _SHARED.setdefault(labels, labels)


def _measure(truth: Labels, record: Any) -> tuple[Labels, float]:
    return _labels(record), record.processing_time_sec


PROTOCOL = Protocol(
    id="reports",
    version=1,
    changes=(Change(1, "first version"),),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "reports.md, Accuracy Metrics",
            weight_specialty=("0.30", "share of specialty_accuracy in accuracy_score"),
            weight_urgency=("0.25", "share of urgency_f1 in accuracy_score"),
            weight_follow_up=("0.15", "share of follow_up_f1 in accuracy_score"),
            weight_emergency=("0.40", "weight of F1(Emergency) in urgency_f1"),
            weight_urgent=("0.35", "weight of F1(Urgent) in urgency_f1"),
            weight_routine=("0.25", "weight of F1(Routine) in urgency_f1"),
        ),
        *parameters(
            "reports.md, Performance Metrics",
            performance_points=("30", "performance_score without penalties"),
            time_target_sec=("1", "seconds a report without penalty"),
            time_penalty_per_sec=("2", "points lost for each second beyond"),
            time_limit_sec=("5", "a run that takes longer is invalid"),
            memory_target_mb=("512", "MB without penalty"),
            memory_mb_per_point=("50", "MB beyond that cost a point", _POSITIVE),
            memory_limit_mb=("1024", "a run that needs more is invalid"),
            cpu_target_percent=("50", "average CPU without penalty"),
            cpu_percent_per_point=("5", "percent beyond that cost a point", _POSITIVE),
            cpu_limit_percent=("90", "a run that needs more is invalid"),
        ),
    ),
)

_FIGURES = (
    Figure(
        name="specialty_accuracy",
        about="reports whose specialty is right / expected reports",
        perfect=1,
        leaving_out="never helps",
    ),
    Figure(
        name="urgency_f1",
        about="weight_emergency·F1(Emergency) + weight_urgent·F1(Urgent) + weight_routine·F1(Routine)",
        perfect=1,
        leaving_out="a right one never helps",
    ),
    Figure(
        name="urgency_f1_by_class",
        about="2·TP / (2·TP + FP + FN) of each class; a report that was not processed is a FN of its class",
        perfect=1,
        leaving_out="a right one never helps",
        by="class",
    ),
    Figure(
        name="follow_up_f1",
        about="F1 of the class true; a report that was not processed is a FN where the truth is true",
        perfect=1,
        leaving_out="a right one never helps",
    ),
    Figure(
        name="avg_processing_time",
        about="mean of processing_time_sec over processed records",
        high=None,
        unit="s",
    ),
    Figure(name="max_memory_usage", about="max_memory_mb of the telemetry", high=None, unit="MB"),
    Figure(name="avg_cpu_usage", about="avg_cpu_percent of the telemetry", high=None, unit="%"),
    Figure(
        name="accuracy_score",
        about="(weight_specialty·specialty_accuracy + weight_urgency·urgency_f1 + weight_follow_up·follow_up_f1)·100",
        high=70,
        perfect=70,
        leaving_out="a right one never helps",
        unit="points",
    ),
    Figure(
        name="performance_score",
        about="performance_points − max(0, t − time_target_sec)·time_penalty_per_sec"
        " − max(0, (m − memory_target_mb)/memory_mb_per_point)"
        " − max(0, (c − cpu_target_percent)/cpu_percent_per_point)",
        low=None,
        high=30,
        unit="points",
    ),
    Figure(name="total_score", about="accuracy_score + performance_score", low=None, high=100, unit="points"),
)
NAMES = tuple(figure.name for figure in _FIGURES)
_OF_RUNS = (
    Figure(name="success_rate", about="processed / expected reports of a run", perfect=1, leaving_out="never helps"),
)


class RunCounts(Struct, frozen=True, kw_only=True):
    """One run in integers, and sums of doubles."""

    run_id: str
    processed: int
    right_specialty: int
    urgencies: Counter[tuple[str, str | None]]
    """(true, predicted or None) → how many."""
    follow_ups: Counter[tuple[bool, bool | None]]
    seconds: Fraction
    memory: Fraction | None
    cpu: Fraction | None
    exception: bool


class _Run(NamedTuple):
    """The exact figures of one run."""

    specialty_accuracy: Fraction
    by_class: dict[str, Fraction]
    urgency_f1: Fraction
    follow_up_f1: Fraction
    seconds: Fraction | None
    memory: Fraction | None
    cpu: Fraction | None
    accuracy: Fraction
    performance: Fraction | None


def _run_ids(telemetry: Any) -> list[str]:
    return [run.run_id for run in telemetry.runs]


class ReportsScorer(Scorer):
    pairs = (
        Pair(
            truth="reports/truth", submission="reports/predictions", key=("report_id",), run="run_id", default_run="1",
            item=_labels, measure=_measure,
        ),
    )  # fmt: skip

    def count(self, answers: Answers) -> Counts:
        pairing = answers.pairing()
        telemetry = answers.documents.get("reports/telemetry")
        measured = {} if telemetry is None else {run.run_id: run for run in telemetry.runs}
        items = pairing.expected.items
        runs = [_count_run(run, items, marks(pairing, run), measured.get(run)) for run in pairing.runs()]
        warnings = []
        if telemetry is None:
            warnings.append("no telemetry (reports/telemetry): no memory, no CPU and so no performance_score")
        return Counts(
            expected=len(items),
            processed=processed_counts(pairing),
            data=tuple(runs),
            warnings=tuple(warnings),
            about_truth=tuple(_absent_classes(items)),
        )

    def finish(self, counts: Counts) -> Finished:
        runs: tuple[RunCounts, ...] = counts.data
        figures = [_figures(run, counts.expected, self.protocol) for run in runs]
        reasons = [_reasons(run, exact, self.protocol) for run, exact in zip(runs, figures, strict=True)]
        valid = not any(reasons)
        whole = _mean_of_runs(figures)
        totals = [_total(run) for run in figures]
        total = mean_or_none(totals) if valid else None
        rows = [
            {
                **_row(exact, total if not why else None),
                "run_id": run.run_id,
                "success_rate": rounded(Fraction(run.processed, counts.expected)),
                "valid": not why,
                "reasons": list(why),
            }
            for run, exact, total, why in zip(runs, figures, totals, reasons, strict=True)
        ]
        told = tuple(
            f"run {shown_id(run.run_id)}: {why}" for run, each in zip(runs, reasons, strict=True) for why in each
        )
        return Finished(
            result={**_row(whole, total), "runs": rows},
            headline=total,
            second=whole.accuracy,
            reasons=told,
        )

    def probe(self, record: Any) -> float:
        seconds: float = record.processing_time_sec
        return seconds

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        result: Mapping[str, Any] | None,
    ) -> Iterator[Limit]:
        (pairing,) = pairings.values()
        protocol = self.protocol
        times = {run: [m for m in sheet.values() if type(m) is float] for run, sheet in pairing.runs().items()}
        seconds = {run: exact_sum(found) / len(found) if found else None for run, found in times.items()}
        yield _limit("time", "reports/predictions", seconds, protocol)
        telemetry = documents.get("reports/telemetry")
        runs = [] if telemetry is None else telemetry.runs
        yield _limit("memory", "reports/telemetry", {r.run_id: Fraction(r.max_memory_mb) for r in runs}, protocol)
        yield _limit("cpu", "reports/telemetry", {r.run_id: Fraction(r.avg_cpu_percent) for r in runs}, protocol)
        ended = [f"run {shown_id(r.run_id)}: {_ENDED}" for r in runs if r.exception and r.exception.strip(BLANKS)]
        yield Limit(
            id="exceptions", title="No run ended with an exception", contract="reports/telemetry",
            passed=None if telemetry is None else not ended,
            detail="; ".join(ended) or ("needs a valid file of reports/telemetry" if telemetry is None else ""),
        )  # fmt: skip


class Reports(Track):
    id = "reports"
    roles = Roles(
        truths=("reports/truth",),
        submissions=("reports/predictions",),
        result="reports/score",
        auxiliary=(Auxiliary(contract="reports/telemetry", about="submission", names_team=True, ids=_run_ids),),
        expected_ids=(ExpectedIds(contract="reports/cases", truth="reports/truth"),),
    )
    protocol = PROTOCOL
    figures = _FIGURES + _OF_RUNS
    headline = "total_score"
    scorer = ReportsScorer

    second = "accuracy_score"
    comparison = Comparison(rows=(Rows(name="runs", id="run_id", decides="total_score", state="valid"),))

    def tables(self, score: Score) -> Iterator[Table]:
        result = score.result or {}
        yield figures_table(score)
        if "urgency_f1_by_class" in result:
            yield by_class_table("Urgency", result["urgency_f1_by_class"])
        if "runs" in result:
            yield from _runs_table(score, result["runs"])

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        """Of runs, no figures: who names the runs could ask a question with each of them."""
        kept = {name: value for name, value in result.items() if name != "urgency_f1_by_class"}
        names = ("run_id", "success_rate", "valid", "reasons")
        return {**kept, "runs": [{name: run[name] for name in names} for run in result["runs"]]}


def _runs_table(score: Score, runs: Sequence[dict[str, Any]]) -> Iterator[Table]:
    if len(runs) < 2 and all(run["valid"] for run in runs):
        return
    columns = {
        "processed": "success_rate", "time": "avg_processing_time", "memory": "max_memory_usage",
        "CPU": "avg_cpu_usage", "accuracy": "accuracy_score", "performance": "performance_score",
        "total": "total_score",
    }  # fmt: skip
    columns = {
        title: name for title, name in columns.items() if all(name in run for run in runs)
    }  # not for participants
    units = {figure.name: figure.unit for figure in score._figures}
    rows = [
        (
            run["run_id"],
            *(number(run[name], units.get(name, "")) for name in columns.values()),
            "yes" if run["valid"] else "no",
        )
        for run in runs
    ]
    yield first_rows(Table("Runs", ("run", *columns, "valid"), rows))


def _count_run(
    run_id: str, items: Sequence[Labels], marked: Sequence[tuple[Labels, float] | None], telemetry: Any
) -> RunCounts:
    pairs = Counter((item, None if mark is None else mark[0]) for item, mark in zip(items, marked, strict=True))
    urgencies: Counter[tuple[str, str | None]] = Counter()
    follow_ups: Counter[tuple[bool, bool | None]] = Counter()
    right = 0
    for (item, said), times in pairs.items():
        right += times * (said is not None and said.specialty == item.specialty)
        urgencies[item.urgency, said and said.urgency] += times
        follow_ups[item.follow_up, None if said is None else said.follow_up] += times
    exception = None if telemetry is None else telemetry.exception
    return RunCounts(
        run_id=run_id,
        processed=sum(times for (_, said), times in pairs.items() if said is not None),
        right_specialty=right,
        urgencies=urgencies,
        follow_ups=follow_ups,
        seconds=exact_sum(mark[1] for mark in marked if mark is not None),
        memory=None if telemetry is None else Fraction(telemetry.max_memory_mb),
        cpu=None if telemetry is None else Fraction(telemetry.avg_cpu_percent),
        exception=bool(exception and exception.strip(BLANKS)),
    )


def _absent_classes(items: Sequence[Labels]) -> list[str]:
    there = {item.urgency for item in items}
    warnings = [
        f"the truth has no report of urgency {name}: the weight of its F1 is lost to everybody"
        for name in URGENCIES
        if name not in there
    ]
    if not any(item.follow_up for item in items):
        warnings.append("the truth has no report with a follow-up: follow_up_f1 is 0 for everybody")
    return warnings


def _f1_of(confusion: Counter[tuple[Any, Any]], name: object) -> Fraction:
    hit = confusion[name, name]
    predicted = sum(times for (_, said), times in confusion.items() if said == name)
    true = sum(times for (item, _), times in confusion.items() if item == name)
    return f1(hit, predicted - hit, true - hit)


def _figures(run: RunCounts, expected: int, protocol: Protocol) -> _Run:
    by_class = {name: _f1_of(run.urgencies, name) for name in URGENCIES}
    specialty = Fraction(run.right_specialty, expected)
    urgency = sum((protocol[f"weight_{name.lower()}"] * value for name, value in by_class.items()), ZERO)
    follow_up = _f1_of(run.follow_ups, True)
    seconds = run.seconds / run.processed if run.processed else None
    accuracy = 100 * (
        protocol["weight_specialty"] * specialty
        + protocol["weight_urgency"] * urgency
        + protocol["weight_follow_up"] * follow_up
    )
    performance = _performance(seconds, run.memory, run.cpu, protocol)
    return _Run(specialty, by_class, urgency, follow_up, seconds, run.memory, run.cpu, accuracy, performance)


def _performance(
    seconds: Fraction | None, memory: Fraction | None, cpu: Fraction | None, protocol: Protocol
) -> Fraction | None:
    if seconds is None or memory is None or cpu is None:
        return None
    return (
        protocol["performance_points"]
        - max(ZERO, seconds - protocol["time_target_sec"]) * protocol["time_penalty_per_sec"]
        - max(ZERO, (memory - protocol["memory_target_mb"]) / protocol["memory_mb_per_point"])
        - max(ZERO, (cpu - protocol["cpu_target_percent"]) / protocol["cpu_percent_per_point"])
    )


def _total(run: _Run) -> Fraction | None:
    return None if run.performance is None else run.accuracy + run.performance


_LIMITS = {
    "time": ("time_limit_sec", "s a report on average"),
    "memory": ("memory_limit_mb", "MB of memory"),
    "cpu": ("cpu_limit_percent", "% of CPU on average"),
}
_ENDED = "it ended with an exception"


def _exceeds(value: Fraction | None, name: str, protocol: Protocol) -> str | None:
    """What is too much, if it is. Limits compare rounded figures, as they are printed."""
    parameter, what = _LIMITS[name]
    if value is None or Fraction(rounded(value)) <= protocol[parameter]:
        return None
    return f"{rounded(value):g} {what}, at most {float(protocol[parameter]):g} are allowed"


def _reasons(run: RunCounts, exact: _Run, protocol: Protocol) -> list[str]:
    """Why a run is invalid."""
    values = {"time": exact.seconds, "memory": exact.memory, "cpu": exact.cpu}
    found = [_exceeds(value, name, protocol) for name, value in values.items()]
    return [why for why in found if why] + [_ENDED] * run.exception


def _limit(name: str, contract: str, values: Mapping[str, Fraction | None], protocol: Protocol) -> Limit:
    """One limit over all runs."""
    parameter, what = _LIMITS[name]
    known = {run: value for run, value in values.items() if value is not None}
    bad = [f"run {shown_id(run)}: {why}" for run, value in known.items() if (why := _exceeds(value, name, protocol))]
    missing = "needs a processed record" if name == "time" else f"needs a valid file of {contract}"
    largest = f"largest: {rounded(max(known.values())):g}" if known else missing
    return Limit(
        id=name, title=f"No run takes more than {float(protocol[parameter]):g} {what}", contract=contract,
        passed=not bad if known else None, detail="; ".join(bad) or largest,
    )  # fmt: skip


def _mean_of_runs(runs: Sequence[_Run]) -> _Run:
    """Means of scores, not scores of means."""
    return _Run(
        specialty_accuracy=mean(run.specialty_accuracy for run in runs),
        by_class={name: mean(run.by_class[name] for run in runs) for name in URGENCIES},
        urgency_f1=mean(run.urgency_f1 for run in runs),
        follow_up_f1=mean(run.follow_up_f1 for run in runs),
        seconds=mean_or_none(run.seconds for run in runs),
        memory=mean_or_none(run.memory for run in runs),
        cpu=mean_or_none(run.cpu for run in runs),
        accuracy=mean(run.accuracy for run in runs),
        performance=mean_or_none(run.performance for run in runs),
    )


def _row(run: _Run, total: Fraction | None) -> dict[str, Any]:
    by_class = {name: rounded(value) for name, value in run.by_class.items()}
    values = (
        rounded(run.specialty_accuracy), rounded(run.urgency_f1), by_class, rounded(run.follow_up_f1),
        rounded_or_none(run.seconds), rounded_or_none(run.memory), rounded_or_none(run.cpu),
        rounded(run.accuracy), rounded_or_none(run.performance), rounded_or_none(total),
    )  # fmt: skip
    return dict(zip(NAMES, values, strict=True))


TRACK = Reports()
