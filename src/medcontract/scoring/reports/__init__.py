"""Track `reports`: specialty, urgency and follow-up of clinical reports, and the resources that the model used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from medcontract.contracts import registry
from medcontract.problems import plural
from medcontract.results.score import Score
from medcontract.results.tables import (
    Table,
    by_class_table,
    class_table,
    figures_table,
    long_table,
    matrix_table,
    number,
)
from medcontract.scoring.pairing import Pair, Pairing, marks
from medcontract.scoring.plausibility import VALUE_CODE, Watch
from medcontract.scoring.rational import exact_sum, rounded
from medcontract.scoring.reports.protocol import FIGURES, OF_RUNS, PROTOCOL
from medcontract.scoring.reports.runs import (
    ENDED,
    URGENCIES,
    Labels,
    RunSums,
    average_time,
    figures_of,
    has_exception,
    labels_of,
    limit_check,
    mean_of_runs,
    reasons_of,
    row_of,
    sums_of,
)
from medcontract.scoring.scorer import (
    Answers,
    Documents,
    Finished,
    Limit,
    Notes,
    Remark,
    Scorer,
    Tally,
    processed_counts,
    shown_id,
)
from medcontract.scoring.track import Auxiliary, Comparison, ExpectedIds, Imitation, Result, Roles, Rows, Track
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import reports as contract
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling


def _measure(truth: Labels, record: contract.Prediction) -> tuple[Labels, float]:
    return labels_of(record), record.processing_time_sec


def _runs_by_id(telemetry: contract.Telemetry | None) -> dict[str, contract.Run]:
    return {} if telemetry is None else {run.run_id: run for run in telemetry.runs}


_WATCH = Watch(
    track="reports",
    columns={f"'{name}'": attrgetter(name) for name in Labels._fields},
    amounts={"'processing_time_sec'": attrgetter("processing_time_sec")},
)
_LEAST_MB = 5
"""No process that runs a model needs less memory."""
_BYTES = 1_000_000


class ReportsScorer(Scorer):
    pairs = (
        Pair(
            truth="reports/truth", submission="reports/predictions", key=("report_id",), run="run_id", default_run="1",
            item=labels_of, measure=_measure, watch=_WATCH,
        ),
    )  # fmt: skip

    def tally(self, answers: Answers) -> Tally:
        """Return the labels of the truth, and the sums of each run; the context is what was measured of each run."""
        pairing = answers.pairing()
        telemetry = answers.documents.get("reports/telemetry")
        items = pairing.expected.items
        limit = float(self.protocol["time_limit_sec"])
        return Tally(
            expected=len(items),
            processed=processed_counts(pairing),
            data=(Counter(items), {run: sums_of(items, marks(pairing, run), limit) for run in pairing.runs()}),
            context=None if telemetry is None else _runs_by_id(telemetry),
        )

    def notes(self, tally: Tally) -> Notes:
        truth, runs = tally.data
        single = ("there is a single run: the source averages several",) if len(tally.processed) == 1 else ()
        return Notes(
            warnings=single + tuple(_warnings(runs.values(), tally.context, float(self.protocol["time_limit_sec"]))),
            about_truth=tuple(_absent_classes(truth)),
        )

    def figures(self, tally: Tally) -> Finished:
        names, measured = sorted(tally.processed), tally.context or {}
        figures = [figures_of(run, tally, measured.get(run), self.protocol) for run in names]
        reasons = [
            reasons_of(measured.get(run), exact, self.protocol) for run, exact in zip(names, figures, strict=True)
        ]
        valid = not any(reasons)
        means = mean_of_runs(figures)
        rows = [
            {
                **row_of(exact, valid=not why),
                "run_id": run,
                "success_rate": rounded(Fraction(tally.processed[run], tally.expected)),
                "valid": not why,
                "reasons": why,
            }
            for run, exact, why in zip(names, figures, reasons, strict=True)
        ]
        return Finished(
            result={**row_of(means, valid=valid), "runs": rows},
            headline=means.figures["total_score"] if valid else None,
            second=means.figures["accuracy_score"],
            reasons=tuple(
                f"run {shown_id(run)}: {why}" for run, each in zip(names, reasons, strict=True) for why in each
            ),
        )

    def pictures(self, tally: Tally) -> Iterator[Table]:
        """Yield the confusion matrices of both classifications, and what follows from them, over all runs."""
        truth, runs = tally.data
        for field in ("specialty", "urgency"):
            of = attrgetter(field)
            classes = registry.find("reports/truth").record_schema["properties"][field]["enum"]
            counted = Counter[tuple[str, str]]()
            for labels in (each.labels for each in runs.values()):
                counted.update({(of(true), of(said)): 0 for true, said in labels})
                for (true, said), times in labels.items():
                    counted[of(true), of(said)] += times
            cases = Counter[str]()
            for item, times in truth.items():
                cases[of(item)] += times * len(runs)
            matrix = {true: {said: counted[true, said] for said in classes} for true in classes}
            for true, row in matrix.items():
                row["unprocessed"] = cases[true] - sum(row.values())
            yield matrix_table(f"Confusion matrix of {field}", matrix)
            yield class_table(f"Precision, recall and reports of {field} ", matrix)

    def resampled(self, answers: Answers, samples: Samples, result: Result) -> Resampling:
        from medcontract.scoring.reports.resampled import resampled

        return resampled(answers, samples, result, self.protocol)

    def probe(self, record: contract.Prediction) -> float:
        return record.processing_time_sec

    def remarks(self, pairings: Mapping[str, Pairing], documents: Documents) -> Iterator[Remark]:
        """Records that took too long, perhaps because their times are in milliseconds."""
        (pairing,) = pairings.values()
        times = [mark for marks in pairing.marks_by_run.values() for mark in marks.values() if type(mark) is float]
        limit = float(self.protocol["time_limit_sec"])
        slow = [seconds for seconds in times if seconds > limit]
        if slow:
            many = 2 * len(slow) > len(times)
            hint = "write 'processing_time_sec' in seconds: if it is in milliseconds, divide it by 1000"
            if len(times) > 2 and all(earlier < later for earlier, later in pairwise(times)):
                hint = "the times count up: write the time of each report alone, not since the start"
            yield Remark(
                contract="reports/predictions", message=_slow_records(len(slow), limit), hint=hint if many else None
            )

    def constant(self, items: Sequence[Labels]) -> tuple[Labels, float]:
        return Labels(*(Counter(values).most_common(1)[0][0] for values in zip(*items, strict=True))), 0.0

    def oddities(self, documents: Documents) -> Iterator[Remark]:
        """Memory and CPU that seem to be in another unit."""
        runs = list(_runs_by_id(documents.get("reports/telemetry")).values())
        odd = (
            (sum(run.max_memory_mb < _LEAST_MB for run in runs), f"'max_memory_mb' is below {_LEAST_MB}",
             "write MB: 0.5 GB are 512"),
            (sum(run.max_memory_mb >= _BYTES for run in runs), "'max_memory_mb' is more than 1 TB",
             "write MB: divide bytes by 1,000,000 (or 1,048,576), KB by 1000"),
            (sum(run.avg_cpu_percent <= 1 for run in runs), "'avg_cpu_percent' is at most 1",
             "write percent: a share of 0.48 is 48"),
        )  # fmt: skip
        for count, message, hint in odd:
            if count:
                where = f" in {plural(count, 'run')}" if len(runs) > 1 else ""
                yield Remark(contract="reports/telemetry", code=VALUE_CODE, message=f"{message}{where}", hint=hint)

    def limits(self, pairings: Mapping[str, Pairing], documents: Documents, result: Result | None) -> Iterator[Limit]:
        (pairing,) = pairings.values()
        protocol = self.protocol
        telemetry = documents.get("reports/telemetry")
        measured = _runs_by_id(telemetry)
        times = {run: [m for m in sheet.values() if type(m) is float] for run, sheet in pairing.runs().items()}
        seconds = {run: average_time(exact_sum(found), len(found), measured.get(run)) for run, found in times.items()}
        by_organizer = any(run.avg_processing_time_sec is not None for run in measured.values())
        yield limit_check("time", "reports/telemetry" if by_organizer else "reports/predictions", seconds, protocol)
        memory = {name: Fraction(run.max_memory_mb) for name, run in measured.items()}
        cpu = {name: Fraction(run.avg_cpu_percent) for name, run in measured.items()}
        yield limit_check("memory", "reports/telemetry", memory, protocol)
        yield limit_check("cpu", "reports/telemetry", cpu, protocol)
        ended = [f"run {shown_id(name)}: {ENDED}" for name, run in measured.items() if has_exception(run)]
        yield Limit(
            id="exceptions", title="No run ended with an exception", contract="reports/telemetry",
            passed=None if telemetry is None else not ended,
            detail="; ".join(ended) or ("needs a valid file of reports/telemetry" if telemetry is None else ""),
        )  # fmt: skip


def _tables(score: Score) -> Iterator[Table]:
    result = score.result or {}
    yield figures_table(score)
    if "urgency_f1_by_class" in result:
        yield by_class_table("Urgency", score, "urgency_f1_by_class")
    if "runs" in result:
        yield from _runs_table(score, result["runs"])


def _for_participants(result: JsonObject, headline: float | None) -> JsonObject:
    """Without the figures of runs: participants name the runs, so each could be used to probe the truth."""
    kept = {name: value for name, value in result.items() if name != "urgency_f1_by_class"}
    names = ("run_id", "success_rate", "valid", "reasons")
    return {**kept, "runs": [{name: run[name] for name in names} for run in result["runs"]]}


def _right_answers(records: Sequence[JsonObject]) -> list[JsonObject]:
    return [{name: record[name] for name in ("specialty", "urgency", "follow_up")} for record in records]


TRACK = Track(
    id="reports",
    roles=Roles(
        truths=("reports/truth",),
        submissions=("reports/predictions",),
        result="reports/score",
        auxiliary=(Auxiliary(contract="reports/telemetry", about="submission", names_team=True, ids=_runs_by_id),),
        expected_ids=(ExpectedIds(contract="reports/cases", truth="reports/truth"),),
    ),
    protocol=PROTOCOL,
    figures=FIGURES + OF_RUNS,
    headline="total_score",
    scorer=ReportsScorer,
    second="accuracy_score",
    imitations=(
        Imitation(
            truth="reports/truth",
            submission="reports/predictions",
            answers=_right_answers,
            fixed=lambda record: {"processing_time_sec": 1.0},
        ),
    ),
    comparison=Comparison(rows=(Rows(name="runs", id="run_id", decides="total_score", state="valid"),)),
    tables=_tables,
    for_participants=_for_participants,
)


def _runs_table(score: Score, runs: Sequence[JsonObject]) -> Iterator[Table]:
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


def _warnings(runs: Iterable[RunSums], telemetry: object, time_limit: float) -> Iterator[str]:
    if telemetry is None:
        yield "no telemetry (reports/telemetry), so no memory and CPU figures, performance_score and total_score"
    slow = sum(run.slow for run in runs)
    if slow:
        yield _slow_records(slow, time_limit)


def _slow_records(count: int, time_limit: float) -> str:
    return f"{plural(count, 'processed record')} took more than {time_limit:g} s"


def _absent_classes(items: Iterable[Labels]) -> list[str]:
    present = {item.urgency for item in items}
    warnings = [
        f"the truth has no report of urgency {name}: its F1 is 0 for every submission"
        for name in URGENCIES
        if name not in present
    ]
    if not any(item.follow_up for item in items):
        warnings.append("the truth has no report with a follow-up: follow_up_f1 is 0 for everybody")
    return warnings
