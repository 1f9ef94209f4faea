"""The runs of a submission: what is counted of each, its exact figures, and whether it is within the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.scoring.processing_gate import shown_id
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, exact_sum, f1, mean, mean_or_none, rounded, rounded_or_none
from medcontract.scoring.reports.protocol import NAMES
from medcontract.scoring.scorer import Limit

URGENCIES = ("Emergency", "Urgent", "Routine")


class Labels(NamedTuple):
    """The labels of a report, true or predicted."""

    specialty: str
    urgency: str
    follow_up: bool


_INTERNED: dict[Labels, Labels] = {}


def labels_of(record: Any) -> Labels:
    """Only 36 combinations exist, so each is kept in memory once."""
    labels = Labels(record.specialty, record.urgency, record.follow_up)
    return _INTERNED.setdefault(labels, labels)


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


class Run(NamedTuple):
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


def count_run(
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
        seconds=average_time(seconds, telemetry),
        memory=None if telemetry is None else Fraction(telemetry.max_memory_mb),
        cpu=None if telemetry is None else Fraction(telemetry.avg_cpu_percent),
        exception=telemetry is not None and has_exception(telemetry),
    )


def average_time(seconds: Sequence[float], telemetry: Any) -> Fraction | None:
    """The time measured by the organizer, if there is one; otherwise the mean of the participant's times."""
    if not seconds:
        return None
    if telemetry is not None and telemetry.avg_processing_time_sec is not None:
        return Fraction(telemetry.avg_processing_time_sec)
    return exact_sum(seconds) / len(seconds)


def has_exception(run: Any) -> bool:
    return bool(run.exception and run.exception.strip(BLANKS))


def _f1_of(confusion: Counter[tuple[Any, Any]], name: object) -> Fraction:
    hits = confusion[name, name]
    predicted = sum(times for (_, answer), times in confusion.items() if answer == name)
    true = sum(times for (item, _), times in confusion.items() if item == name)
    return f1(hits, predicted - hits, true - hits)


def figures_of(run: RunCounts, expected: int, protocol: Protocol) -> Run:
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
    return Run(
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


def total_of(run: Run) -> Fraction | None:
    return None if run.performance is None else run.accuracy + run.performance


_LIMITS = {
    "time": ("time_limit_sec", "s per report on average"),
    "memory": ("memory_limit_mb", "MB of memory"),
    "cpu": ("cpu_limit_percent", "% of CPU on average"),
}
ENDED = "it ended with an exception"


def _exceeds(value: Fraction | None, name: str, protocol: Protocol) -> str | None:
    """The reason if a value exceeds its limit. Limits apply to rounded figures, as they are printed."""
    parameter, what = _LIMITS[name]
    if value is None or Fraction(rounded(value)) <= protocol[parameter]:
        return None
    return f"{rounded(value):g} {what}, at most {float(protocol[parameter]):g} allowed"


def reasons_of(run: RunCounts, exact: Run, protocol: Protocol) -> list[str]:
    """Why a run is invalid."""
    values = {"time": exact.seconds, "memory": exact.memory, "cpu": exact.cpu}
    exceeded = [_exceeds(value, name, protocol) for name, value in values.items()]
    return [why for why in exceeded if why] + [ENDED] * run.exception


def limit_check(name: str, contract: str, values: Mapping[str, Fraction | None], protocol: Protocol) -> Limit:
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


def mean_of_runs(runs: Sequence[Run]) -> Run:
    """Means of scores, not scores of means."""
    return Run(
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


def row_of(run: Run, total: Fraction | None) -> dict[str, Any]:
    by_class = {name: rounded(value) for name, value in run.by_class.items()}
    values = (
        rounded(run.specialty_accuracy), rounded(run.urgency_f1), by_class, rounded(run.follow_up_f1),
        rounded_or_none(run.seconds), rounded_or_none(run.memory), rounded_or_none(run.cpu),
        rounded_or_none(run.time_penalty), rounded_or_none(run.memory_penalty), rounded_or_none(run.cpu_penalty),
        rounded(run.accuracy), rounded_or_none(run.performance), rounded_or_none(total),
    )  # fmt: skip
    return dict(zip(NAMES, values, strict=True))
