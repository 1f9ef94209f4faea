"""The runs of a submission: what is counted of each, its exact figures, and whether it is within the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, exact_sum, f1, mean, mean_or_none, rounded, rounded_or_none
from medcontract.scoring.reports.protocol import NAMES
from medcontract.scoring.scorer import Limit, Tally, shown_id

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


class RunSums(NamedTuple):
    """What is added up over the processed reports of one run."""

    labels: Counter[tuple[Labels, Labels]]
    """How often each (true, predicted) occurs."""
    seconds: Fraction = ZERO
    slow: int = 0
    """Records that took longer than the limit."""


_NOTHING = RunSums(Counter())


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


def sums_of(items: Sequence[Labels], marked: Sequence[tuple[Labels, float] | None], time_limit: float) -> RunSums:
    labels = Counter((item, mark[0]) for item, mark in zip(items, marked, strict=True) if mark is not None)
    seconds = [mark[1] for mark in marked if mark is not None]
    return RunSums(labels, exact_sum(seconds), sum(each > time_limit for each in seconds))


def average_time(seconds: Fraction, processed: int, telemetry: Any) -> Fraction | None:
    """The time measured by the organizer, if there is one; otherwise the mean of the participant's times."""
    if not processed:
        return None
    if telemetry is not None and telemetry.avg_processing_time_sec is not None:
        return Fraction(telemetry.avg_processing_time_sec)
    return seconds / processed


def has_exception(run: Any) -> bool:
    return bool(run.exception and run.exception.strip(BLANKS))


def _f1_of(field: str, name: object, truth: Counter[Labels], labels: Counter[tuple[Labels, Labels]]) -> Fraction:
    """The F1 of a value of one field; a report that is not processed is a false negative."""
    of = attrgetter(field)
    true = sum(times for item, times in truth.items() if of(item) == name)
    predicted = sum(times for (_, said), times in labels.items() if of(said) == name)
    hits = sum(times for (item, said), times in labels.items() if of(item) == name == of(said))
    return f1(hits, predicted - hits, true - hits)


def figures_of(run: str, tally: Tally, telemetry: Any, protocol: Protocol) -> Run:
    """The figures of a run. `telemetry` is what was measured of it, if anything."""
    truth, runs = tally.data
    labels, total_seconds, _ = runs.get(run, _NOTHING)
    right = sum(times for (item, said), times in labels.items() if item.specialty == said.specialty)
    by_class = {name: _f1_of("urgency", name, truth, labels) for name in URGENCIES}
    specialty = Fraction(right, tally.expected)
    urgency = sum((protocol[f"weight_{name.lower()}"] * value for name, value in by_class.items()), ZERO)
    follow_up = _f1_of("follow_up", True, truth, labels)
    seconds = average_time(total_seconds, tally.processed[run], telemetry)
    memory = None if telemetry is None else Fraction(telemetry.max_memory_mb)
    cpu = None if telemetry is None else Fraction(telemetry.avg_cpu_percent)
    accuracy = 100 * (
        protocol["weight_specialty"] * specialty
        + protocol["weight_urgency"] * urgency
        + protocol["weight_follow_up"] * follow_up
    )
    penalties = (
        _penalty(seconds, protocol["time_target_sec"], protocol["time_penalty_per_sec"]),
        _penalty(memory, protocol["memory_target_mb"], 1 / protocol["memory_mb_per_point"]),
        _penalty(cpu, protocol["cpu_target_percent"], 1 / protocol["cpu_percent_per_point"]),
    )
    known = [penalty for penalty in penalties if penalty is not None]
    return Run(
        specialty_accuracy=specialty,
        by_class=by_class,
        urgency_f1=urgency,
        follow_up_f1=follow_up,
        seconds=seconds,
        memory=memory,
        cpu=cpu,
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


def reasons_of(telemetry: Any, exact: Run, protocol: Protocol) -> list[str]:
    """Why a run is invalid."""
    values = {"time": exact.seconds, "memory": exact.memory, "cpu": exact.cpu}
    exceeded = [_exceeds(value, name, protocol) for name, value in values.items()]
    return [why for why in exceeded if why] + [ENDED] * (telemetry is not None and has_exception(telemetry))


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
    means: dict[str, Any] = {
        name: mean_or_none(getattr(run, name) for run in runs) for name in Run._fields if name != "by_class"
    }
    return Run(by_class={name: mean(run.by_class[name] for run in runs) for name in URGENCIES}, **means)


def row_of(run: Run, total: Fraction | None) -> dict[str, Any]:
    by_class = {name: rounded(value) for name, value in run.by_class.items()}
    values = (
        rounded(run.specialty_accuracy), rounded(run.urgency_f1), by_class, rounded(run.follow_up_f1),
        rounded_or_none(run.seconds), rounded_or_none(run.memory), rounded_or_none(run.cpu),
        rounded_or_none(run.time_penalty), rounded_or_none(run.memory_penalty), rounded_or_none(run.cpu_penalty),
        rounded(run.accuracy), rounded_or_none(run.performance), rounded_or_none(total),
    )  # fmt: skip
    return dict(zip(NAMES, values, strict=True))
