"""Track `reports`: specialty, urgency and follow-up of clinical reports, and the resources that the model used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.problems import plural
from medcontract.results.score import Score
from medcontract.results.tables import Table, by_class_table, figures_table, long_table, number
from medcontract.scoring.comparison import Comparison, Rows
from medcontract.scoring.pairing import Pair, Pairing, marks
from medcontract.scoring.processing_gate import processed_counts, shown_id
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Protocol, parameters
from medcontract.scoring.rational import ZERO, exact_sum, f1, mean, mean_or_none, rounded, rounded_or_none
from medcontract.scoring.scorer import Answers, Counts, Finished, Limit, Remark, Scorer
from medcontract.scoring.track import Auxiliary, ExpectedIds, Figure, Roles, Track

URGENCIES = ("Emergency", "Urgent", "Routine")
_POSITIVE = {"above": True}


class Labels(NamedTuple):
    """The labels of a report, true or predicted."""

    specialty: str
    urgency: str
    follow_up: bool


_INTERNED: dict[Labels, Labels] = {}


def _labels(record: Any) -> Labels:
    """Only 36 combinations exist, so each is kept in memory once."""
    labels = Labels(record.specialty, record.urgency, record.follow_up)
    return _INTERNED.setdefault(labels, labels)


def _measure(truth: Labels, record: Any) -> tuple[Labels, float]:
    return _labels(record), record.processing_time_sec


PROTOCOL = Protocol(
    id="reports",
    version=2,
    changes=(
        Change(1, "first version"),
        Change(
            2,
            "avg_processing_time_sec of the telemetry, measured by the organizer, takes precedence over the times in "
            "the predictions; the result contains the three penalties",
        ),
    ),
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
            time_target_sec=("1", "seconds per report without penalty"),
            time_penalty_per_sec=("2", "points lost per second above the target"),
            time_limit_sec=("5", "a run with a higher average is invalid"),
            memory_target_mb=("512", "MB without penalty"),
            memory_mb_per_point=("50", "MB above the target that cost one point", _POSITIVE),
            memory_limit_mb=("1024", "a run that uses more is invalid"),
            cpu_target_percent=("50", "average CPU utilization without penalty"),
            cpu_percent_per_point=("5", "percent above the target that cost one point", _POSITIVE),
            cpu_limit_percent=("90", "a run that uses more is invalid"),
        ),
    ),
)

_FIGURES = (
    Figure(
        name="specialty_accuracy",
        about="reports with the correct specialty / expected reports",
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
        about="2·TP / (2·TP + FP + FN) of each class; an unprocessed report is a FN of its true class",
        perfect=1,
        leaving_out="a right one never helps",
        by="class",
    ),
    Figure(
        name="follow_up_f1",
        about="F1 of the class true; an unprocessed report is a FN if the truth is true",
        perfect=1,
        leaving_out="a right one never helps",
    ),
    Figure(
        name="avg_processing_time",
        about="avg_processing_time_sec of the telemetry or, without it, the mean of processing_time_sec over processed "
        "records",
        high=None,
        unit="s",
        lower_is_better=True,
    ),
    Figure(name="max_memory_usage", about="max_memory_mb of the telemetry", high=None, unit="MB", lower_is_better=True),
    Figure(name="avg_cpu_usage", about="avg_cpu_percent of the telemetry", high=None, unit="%", lower_is_better=True),
    Figure(
        name="time_penalty",
        about="max(0, avg_processing_time − time_target_sec)·time_penalty_per_sec",
        high=None,
        unit="points",
        lower_is_better=True,
    ),
    Figure(
        name="memory_penalty",
        about="max(0, (max_memory_usage − memory_target_mb)/memory_mb_per_point)",
        high=None,
        unit="points",
        lower_is_better=True,
    ),
    Figure(
        name="cpu_penalty",
        about="max(0, (avg_cpu_usage − cpu_target_percent)/cpu_percent_per_point)",
        high=None,
        unit="points",
        lower_is_better=True,
    ),
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
        about="performance_points − time_penalty − memory_penalty − cpu_penalty",
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
    """The counts of one run, and exact sums of its numbers."""

    run_id: str
    processed: int
    correct_specialties: int
    urgencies: Counter[tuple[str, str | None]]
    """How often each (true, predicted or None) occurs."""
    follow_ups: Counter[tuple[bool, bool | None]]
    """How often each (true, predicted or None) occurs."""
    slow: int
    """Processed records that took longer than the limit."""
    seconds: Fraction | None
    """Average processing time; None if nothing was processed."""
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
    time_penalty: Fraction | None
    memory_penalty: Fraction | None
    cpu_penalty: Fraction | None
    accuracy: Fraction
    performance: Fraction | None


def _run_ids(telemetry: Any) -> list[str]:
    return [run.run_id for run in telemetry.runs]


def _runs_by_id(telemetry: Any) -> dict[str, Any]:
    return {} if telemetry is None else {run.run_id: run for run in telemetry.runs}


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
        measured = _runs_by_id(telemetry)
        items = pairing.expected.items
        limit = float(self.protocol["time_limit_sec"])
        runs = [_count_run(run, items, marks(pairing, run), measured.get(run), limit) for run in pairing.runs()]
        return Counts(
            expected=len(items),
            processed=processed_counts(pairing),
            data=tuple(runs),
            warnings=tuple(_warnings(runs, telemetry, limit)),
            about_truth=tuple(_absent_classes(items)),
        )

    def finish(self, counts: Counts) -> Finished:
        runs: tuple[RunCounts, ...] = counts.data
        figures = [_figures(run, counts.expected, self.protocol) for run in runs]
        reasons = [_reasons(run, exact, self.protocol) for run, exact in zip(runs, figures, strict=True)]
        valid = not any(reasons)
        means = _mean_of_runs(figures)
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
        all_reasons = tuple(
            f"run {shown_id(run.run_id)}: {why}" for run, each in zip(runs, reasons, strict=True) for why in each
        )
        return Finished(
            result={**_row(means, total), "runs": rows},
            headline=total,
            second=means.accuracy,
            reasons=all_reasons,
        )

    def probe(self, record: Any) -> float:
        seconds: float = record.processing_time_sec
        return seconds

    def remarks(self, pairings: Mapping[str, Pairing[Any, Any]], documents: Mapping[str, Any]) -> Iterator[Remark]:
        """Records that took too long, perhaps because their times are in milliseconds."""
        (pairing,) = pairings.values()
        times = [mark for marks in pairing.marks_by_run.values() for mark in marks.values() if type(mark) is float]
        limit = float(self.protocol["time_limit_sec"])
        slow = [seconds for seconds in times if seconds > limit]
        if slow:
            many = 2 * len(slow) > len(times)
            hint = "write 'processing_time_sec' in seconds: if it is in milliseconds, divide it by 1000"
            yield Remark(
                contract="reports/predictions",
                message=_slow_records(len(slow), limit),
                hint=hint if many else None,
            )

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        result: Mapping[str, Any] | None,
    ) -> Iterator[Limit]:
        (pairing,) = pairings.values()
        protocol = self.protocol
        telemetry = documents.get("reports/telemetry")
        measured = _runs_by_id(telemetry)
        times = {run: [m for m in sheet.values() if type(m) is float] for run, sheet in pairing.runs().items()}
        seconds = {run: _average_time(found, measured.get(run)) for run, found in times.items()}
        by_organizer = any(run.avg_processing_time_sec is not None for run in measured.values())
        yield _limit("time", "reports/telemetry" if by_organizer else "reports/predictions", seconds, protocol)
        memory = {name: Fraction(run.max_memory_mb) for name, run in measured.items()}
        cpu = {name: Fraction(run.avg_cpu_percent) for name, run in measured.items()}
        yield _limit("memory", "reports/telemetry", memory, protocol)
        yield _limit("cpu", "reports/telemetry", cpu, protocol)
        ended = [f"run {shown_id(name)}: {_ENDED}" for name, run in measured.items() if _has_exception(run)]
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
        """Without the figures of runs: participants name the runs, so each could be used to probe the truth."""
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
    yield long_table(Table("Runs", ("run", *columns, "valid"), rows))


def _count_run(
    run_id: str,
    items: Sequence[Labels],
    marked: Sequence[tuple[Labels, float] | None],
    telemetry: Any,
    time_limit: float,
) -> RunCounts:
    pairs = Counter((item, None if mark is None else mark[0]) for item, mark in zip(items, marked, strict=True))
    urgencies: Counter[tuple[str, str | None]] = Counter()
    follow_ups: Counter[tuple[bool, bool | None]] = Counter()
    correct = 0
    for (item, predicted), times in pairs.items():
        correct += times * (predicted is not None and predicted.specialty == item.specialty)
        urgencies[item.urgency, predicted and predicted.urgency] += times
        follow_ups[item.follow_up, None if predicted is None else predicted.follow_up] += times
    seconds = [mark[1] for mark in marked if mark is not None]
    return RunCounts(
        run_id=run_id,
        processed=len(seconds),
        correct_specialties=correct,
        urgencies=urgencies,
        follow_ups=follow_ups,
        slow=sum(each > time_limit for each in seconds),
        seconds=_average_time(seconds, telemetry),
        memory=None if telemetry is None else Fraction(telemetry.max_memory_mb),
        cpu=None if telemetry is None else Fraction(telemetry.avg_cpu_percent),
        exception=telemetry is not None and _has_exception(telemetry),
    )


def _average_time(seconds: Sequence[float], telemetry: Any) -> Fraction | None:
    """The time measured by the organizer, if there is one; otherwise the mean of the participant's times."""
    if not seconds:
        return None
    if telemetry is not None and telemetry.avg_processing_time_sec is not None:
        return Fraction(telemetry.avg_processing_time_sec)
    return exact_sum(seconds) / len(seconds)


def _has_exception(run: Any) -> bool:
    return bool(run.exception and run.exception.strip(BLANKS))


def _warnings(runs: Sequence[RunCounts], telemetry: Any, time_limit: float) -> Iterator[str]:
    if telemetry is None:
        yield "no telemetry (reports/telemetry), so no memory and CPU figures, performance_score and total_score"
    slow = sum(run.slow for run in runs)
    if slow:
        yield _slow_records(slow, time_limit)


def _slow_records(count: int, time_limit: float) -> str:
    return f"{plural(count, 'processed record')} took more than {time_limit:g} s"


def _absent_classes(items: Sequence[Labels]) -> list[str]:
    present = {item.urgency for item in items}
    warnings = [
        f"the truth has no report of urgency {name}: its F1 is 0 for every submission"
        for name in URGENCIES
        if name not in present
    ]
    if not any(item.follow_up for item in items):
        warnings.append("the truth has no report with a follow-up: follow_up_f1 is 0 for everybody")
    return warnings


def _f1_of(confusion: Counter[tuple[Any, Any]], name: object) -> Fraction:
    hits = confusion[name, name]
    predicted = sum(times for (_, answer), times in confusion.items() if answer == name)
    true = sum(times for (item, _), times in confusion.items() if item == name)
    return f1(hits, predicted - hits, true - hits)


def _figures(run: RunCounts, expected: int, protocol: Protocol) -> _Run:
    by_class = {name: _f1_of(run.urgencies, name) for name in URGENCIES}
    specialty = Fraction(run.correct_specialties, expected)
    urgency = sum((protocol[f"weight_{name.lower()}"] * value for name, value in by_class.items()), ZERO)
    follow_up = _f1_of(run.follow_ups, True)
    accuracy = 100 * (
        protocol["weight_specialty"] * specialty
        + protocol["weight_urgency"] * urgency
        + protocol["weight_follow_up"] * follow_up
    )
    penalties = (
        _penalty(run.seconds, protocol["time_target_sec"], protocol["time_penalty_per_sec"]),
        _penalty(run.memory, protocol["memory_target_mb"], 1 / protocol["memory_mb_per_point"]),
        _penalty(run.cpu, protocol["cpu_target_percent"], 1 / protocol["cpu_percent_per_point"]),
    )
    known = [penalty for penalty in penalties if penalty is not None]
    return _Run(
        specialty_accuracy=specialty,
        by_class=by_class,
        urgency_f1=urgency,
        follow_up_f1=follow_up,
        seconds=run.seconds,
        memory=run.memory,
        cpu=run.cpu,
        time_penalty=penalties[0],
        memory_penalty=penalties[1],
        cpu_penalty=penalties[2],
        accuracy=accuracy,
        performance=protocol["performance_points"] - sum(known, ZERO) if len(known) == len(penalties) else None,
    )


def _penalty(value: Fraction | None, target: Fraction, points_per_unit: Fraction) -> Fraction | None:
    return None if value is None else max(ZERO, value - target) * points_per_unit


def _total(run: _Run) -> Fraction | None:
    return None if run.performance is None else run.accuracy + run.performance


_LIMITS = {
    "time": ("time_limit_sec", "s per report on average"),
    "memory": ("memory_limit_mb", "MB of memory"),
    "cpu": ("cpu_limit_percent", "% of CPU on average"),
}
_ENDED = "it ended with an exception"


def _exceeds(value: Fraction | None, name: str, protocol: Protocol) -> str | None:
    """The reason if a value exceeds its limit. Limits apply to rounded figures, as they are printed."""
    parameter, what = _LIMITS[name]
    if value is None or Fraction(rounded(value)) <= protocol[parameter]:
        return None
    return f"{rounded(value):g} {what}, at most {float(protocol[parameter]):g} allowed"


def _reasons(run: RunCounts, exact: _Run, protocol: Protocol) -> list[str]:
    """Why a run is invalid."""
    values = {"time": exact.seconds, "memory": exact.memory, "cpu": exact.cpu}
    exceeded = [_exceeds(value, name, protocol) for name, value in values.items()]
    return [why for why in exceeded if why] + [_ENDED] * run.exception


def _limit(name: str, contract: str, values: Mapping[str, Fraction | None], protocol: Protocol) -> Limit:
    """One limit over all runs."""
    parameter, what = _LIMITS[name]
    known = {run: value for run, value in values.items() if value is not None}
    exceeded = [
        f"run {shown_id(run)}: {why}" for run, value in known.items() if (why := _exceeds(value, name, protocol))
    ]
    missing = "needs a processed record" if name == "time" else f"needs a valid file of {contract}"
    largest = f"largest: {rounded(max(known.values())):g}" if known else missing
    return Limit(
        id=name, title=f"No run takes more than {float(protocol[parameter]):g} {what}", contract=contract,
        passed=not exceeded if known else None, detail="; ".join(exceeded) or largest,
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
        time_penalty=mean_or_none(run.time_penalty for run in runs),
        memory_penalty=mean_or_none(run.memory_penalty for run in runs),
        cpu_penalty=mean_or_none(run.cpu_penalty for run in runs),
        accuracy=mean(run.accuracy for run in runs),
        performance=mean_or_none(run.performance for run in runs),
    )


def _row(run: _Run, total: Fraction | None) -> dict[str, Any]:
    by_class = {name: rounded(value) for name, value in run.by_class.items()}
    values = (
        rounded(run.specialty_accuracy), rounded(run.urgency_f1), by_class, rounded(run.follow_up_f1),
        rounded_or_none(run.seconds), rounded_or_none(run.memory), rounded_or_none(run.cpu),
        rounded_or_none(run.time_penalty), rounded_or_none(run.memory_penalty), rounded_or_none(run.cpu_penalty),
        rounded(run.accuracy), rounded_or_none(run.performance), rounded_or_none(total),
    )  # fmt: skip
    return dict(zip(NAMES, values, strict=True))


TRACK = Reports()
