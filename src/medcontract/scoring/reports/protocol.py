"""The parameters and figures of the track `reports`."""

from __future__ import annotations

from medcontract.scoring.protocol import MIN_PROCESSED, Change, Protocol, parameters
from medcontract.scoring.track import Figure

_POSITIVE = {"above": True}

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
            "docs/tracks/reports.md#accuracy",
            weight_specialty=("0.30", "share of specialty_accuracy in accuracy_score"),
            weight_urgency=("0.25", "share of urgency_f1 in accuracy_score"),
            weight_follow_up=("0.15", "share of follow_up_f1 in accuracy_score"),
            weight_emergency=("0.40", "weight of F1(Emergency) in urgency_f1"),
            weight_urgent=("0.35", "weight of F1(Urgent) in urgency_f1"),
            weight_routine=("0.25", "weight of F1(Routine) in urgency_f1"),
        ),
        *parameters(
            "docs/tracks/reports.md#performance",
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

FIGURES = (
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
        measured_in="reports/telemetry",
        lower_is_better=True,
    ),
    Figure(
        name="max_memory_usage",
        about="max_memory_mb of the telemetry",
        high=None,
        unit="MB",
        measured_in="reports/telemetry",
        lower_is_better=True,
    ),
    Figure(
        name="avg_cpu_usage",
        about="avg_cpu_percent of the telemetry",
        high=None,
        unit="%",
        measured_in="reports/telemetry",
        lower_is_better=True,
    ),
    Figure(
        name="time_penalty",
        about="max(0, avg_processing_time − time_target_sec)·time_penalty_per_sec",
        high=None,
        unit="points",
        measured_in="reports/telemetry",
        lower_is_better=True,
    ),
    Figure(
        name="memory_penalty",
        about="max(0, (max_memory_usage − memory_target_mb)/memory_mb_per_point)",
        high=None,
        unit="points",
        measured_in="reports/telemetry",
        lower_is_better=True,
    ),
    Figure(
        name="cpu_penalty",
        about="max(0, (avg_cpu_usage − cpu_target_percent)/cpu_percent_per_point)",
        high=None,
        unit="points",
        measured_in="reports/telemetry",
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
NAMES = tuple(figure.name for figure in FIGURES)
OF_RUNS = (
    Figure(name="success_rate", about="processed / expected reports of a run", perfect=1, leaving_out="never helps"),
)
