"""The runs of a submission: what is counted of each, its exact figures, and whether it is within the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, exact_sum, f1, mean, mean_or_none, rounded, rounded_or_none
from medcontract.scoring.reports.protocol import NAMES
from medcontract.scoring.scorer import Limit, Tally, shown_id
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import reports as contract

URGENCIES = ("Emergency", "Urgent", "Routine")


class Labels(NamedTuple):
    """The labels of a report, true or predicted."""

    specialty: str
    urgency: str
    follow_up: bool


def labels_of(record: contract.TruthRecord | contract.Prediction) -> Labels:
    return _labels(record.specialty, record.urgency, record.follow_up)


_labels = cache(Labels)
"""Only 36 combinations exist, so each is kept in memory once."""


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

    by_class: dict[str, Fraction]
    """The F1 of each urgency."""
    figures: dict[str, Fraction | None]
    """All others, by their names in the result."""


def sums_of(items: Sequence[Labels], marked: Sequence[tuple[Labels, float] | None], time_limit: float) -> RunSums:
    labels = Counter((item, mark[0]) for item, mark in zip(items, marked, strict=True) if mark is not None)
    seconds = [mark[1] for mark in marked if mark is not None]
    return RunSums(labels, exact_sum(seconds), sum(each > time_limit for each in seconds))


def average_time(seconds: Fraction, processed: int, telemetry: contract.Run | None) -> Fraction | None:
    """Return the time measured by the organizer, if there is one; otherwise the mean of the participant's times."""
    if not processed:
        return None
    if telemetry is not None and telemetry.avg_processing_time_sec is not None:
        return Fraction(telemetry.avg_processing_time_sec)
    return seconds / processed


def has_exception(run: contract.Run) -> bool:
    return bool(run.exception and run.exception.strip(BLANKS))


def _f1_of(field: str, name: object, truth: Counter[Labels], labels: Counter[tuple[Labels, Labels]]) -> Fraction:
    """Return the F1 of a value of one field; a report that is not processed is a false negative."""
    of = attrgetter(field)
    true = sum(times for item, times in truth.items() if of(item) == name)
    predicted = sum(times for (_, said), times in labels.items() if of(said) == name)
    hits = sum(times for (item, said), times in labels.items() if of(item) == name == of(said))
    return f1(hits, predicted - hits, true - hits)


def figures_of(run: str, tally: Tally, telemetry: contract.Run | None, protocol: Protocol) -> Run:
    """Return the figures of a run. `telemetry` is what was measured of it, if anything."""
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
    penalties = {
        "time_penalty": _penalty(seconds, protocol["time_target_sec"], protocol["time_penalty_per_sec"]),
        "memory_penalty": _penalty(memory, protocol["memory_target_mb"], 1 / protocol["memory_mb_per_point"]),
        "cpu_penalty": _penalty(cpu, protocol["cpu_target_percent"], 1 / protocol["cpu_percent_per_point"]),
    }
    known = [penalty for penalty in penalties.values() if penalty is not None]
    performance = protocol["performance_points"] - sum(known, ZERO) if len(known) == len(penalties) else None
    figures = {
        "specialty_accuracy": specialty,
        "urgency_f1": urgency,
        "follow_up_f1": follow_up,
        "avg_processing_time": seconds,
        "max_memory_usage": memory,
        "avg_cpu_usage": cpu,
        **penalties,
        "accuracy_score": accuracy,
        "performance_score": performance,
        "total_score": None if performance is None else accuracy + performance,
    }
    return Run(by_class, figures)


def _penalty(value: Fraction | None, target: Fraction, points_per_unit: Fraction) -> Fraction | None:
    return None if value is None else max(ZERO, value - target) * points_per_unit


_LIMITS = {
    "time": ("time_limit_sec", "s per report on average"),
    "memory": ("memory_limit_mb", "MB of memory"),
    "cpu": ("cpu_limit_percent", "% of CPU on average"),
}
_LIMITED = {"time": "avg_processing_time", "memory": "max_memory_usage", "cpu": "avg_cpu_usage"}
"""The figure of each limit."""
ENDED = "it ended with an exception"


def _exceeds(value: Fraction | None, name: str, protocol: Protocol) -> str | None:
    """Return the reason if a value exceeds its limit. Limits apply to rounded figures, as they are printed."""
    parameter, what = _LIMITS[name]
    if value is None or Fraction(rounded(value)) <= protocol[parameter]:
        return None
    return f"{rounded(value):g} {what}, at most {float(protocol[parameter]):g} allowed"


def reasons_of(telemetry: contract.Run | None, exact: Run, protocol: Protocol) -> list[str]:
    """Return why a run is invalid."""
    exceeded = [_exceeds(exact.figures[figure], name, protocol) for name, figure in _LIMITED.items()]
    return [why for why in exceeded if why] + [ENDED] * (telemetry is not None and has_exception(telemetry))


def limit_check(name: str, contract: str, values: Mapping[str, Fraction | None], protocol: Protocol) -> Limit:
    """Return one limit over all runs."""
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
        {name: mean(run.by_class[name] for run in runs) for name in URGENCIES},
        {name: mean_or_none(run.figures[name] for run in runs) for name in runs[0].figures},
    )


def row_of(run: Run, *, valid: bool) -> JsonObject:
    """Return the figures of a run, or their means, in the result; the total only if it is valid."""
    figures = run.figures if valid else {**run.figures, "total_score": None}
    by_class = {name: rounded(value) for name, value in run.by_class.items()}
    others = {name: rounded_or_none(value) for name, value in figures.items()}
    return {name: by_class if name == "urgency_f1_by_class" else others[name] for name in NAMES}
