"""A combined score for a report that was made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from medcontract.errors import CallError
from medcontract.evaluation.inputs import Files, Given, Part, Settings, base_name, read
from medcontract.evaluation.reading import Truth
from medcontract.evaluation.score import Scored, input_file, set_by_caller
from medcontract.results.score import in_file
from medcontract.scoring.benchmark import TRACK, WEIGHTS, free_name, weighting, with_first
from medcontract.scoring.benchmark.combining import Weighting, combine, told_unused
from medcontract.scoring.engine import Verdict
from medcontract.scoring.exact import rounded, rounded_or_none
from medcontract.scoring.protocol import Protocol

REPORT = "benchmark/report"


def combined_report(files: Files, protocol: Protocol, settings: Settings, given: Given) -> Scored:
    """Weigh the scores of the report among the files; what it says besides stays as it is. Raises `CallError`."""
    parts = [*files.groups[REPORT], *files.groups.get(WEIGHTS, [])]
    documents = {name: _read(files.groups[name]) for name in (REPORT, WEIGHTS) if name in files.groups}
    reasons = [f"{part.name} has {part.tally.errors:,} error{'s' * (part.tally.errors != 1)}" for part in parts
               if part.tally.errors]  # fmt: skip
    reasons += [f"{base_name(report.path)} cannot be read" for report in files.unread]
    verdict = Verdict(valid=False, processing=None, reasons=tuple(reasons))
    if not reasons:
        weights = weighting(documents.get(WEIGHTS), settings.wishes)
        if weights is None:
            raise CallError(
                f"{parts[0].name} is a report: it can be given a combined score, which needs weights",
                "give --weights or a file of benchmark/weights; to score a model, give references and predictions",
            )
        date = set_by_caller(TRACK, given, {"timestamp": documents[REPORT].timestamp})
        verdict = _weighed(documents[REPORT], weights, settings.wishes.replace, date)
    given.check()
    idle = [name for name, there in (("--breakdown", settings.wishes.breakdown), ("--lexicon", settings.wishes.lexicon))
            if there]  # fmt: skip
    idle += ["--parameter"] if protocol.fingerprint != TRACK.protocol.fingerprint and not idle else []
    verdict.warnings += tuple(f"{name} changes nothing in a report that is already made" for name in idle)
    others = [part for name, group in files.groups.items() if name not in (REPORT, WEIGHTS) for part in group]
    verdict.warnings += tuple(f"{part.name} ({part.contract.id}) is not needed" for part in others)
    verdict.warnings += tuple(files.notes)
    return _assembled(parts, files, protocol, verdict, settings)


def _read(parts: list[Part]) -> Any:
    read(parts)
    return parts[0].judge.header if parts[0].judge else None


def _weighed(report: Any, weights: Weighting, replace: bool, date: Mapping[str, str]) -> Verdict:
    said = {name: value for name, value in _plain(report).items() if value is not None}
    name = weights.metric_name
    tasks, overall = said["task_scores"], said["overall_scores"]
    if not replace:
        free_name(name, {*overall, *(metric for metrics in tasks.values() for metric in metrics)})
    exact = {task: {metric: Fraction(v) for metric, v in metrics.items()} for task, metrics in tasks.items()}
    found = combine(exact, weights)
    result = {
        **said,
        **date,
        "overall_scores": with_first(name, rounded(found.overall), overall),
        "task_scores": {
            task: with_first(name, rounded_or_none(found.by_task.get(task)), metrics) for task, metrics in tasks.items()
        },
        "metadata": _with_weights(said.get("metadata", {}), weights),
    }
    second = overall.get(TRACK.second)
    return Verdict(
        valid=True, processing=None, result=result, headline=found.overall, headline_name=name,
        second=None if second is None else Fraction(second), warnings=tuple(told_unused(found, exact)),
    )  # fmt: skip


def _with_weights(metadata: dict[str, Any], weights: Weighting) -> dict[str, Any]:
    """The weights of this score beside those of others."""
    known = metadata.get("combined_scores")
    return {**metadata, "combined_scores": {**(known if isinstance(known, dict) else {}), **weights.describe()}}


def _plain(report: Any) -> dict[str, Any]:
    data: dict[str, Any] = report.model_dump(by_alias=True)
    data.pop("$schema", None)
    return data


def _assembled(parts: list[Part], files: Files, protocol: Protocol, verdict: Verdict, settings: Settings) -> Scored:
    nothing = Truth(track=TRACK, parts=[], expected={}, headers={}, content={})
    reports = [(part.name, part.report) for part in parts]
    reports += [(base_name(report.path), report) for report in files.unread]
    report = parts[0].judge.header if parts[0].judge else None
    return Scored(
        track=TRACK.id,
        protocol=protocol,
        inputs=tuple(input_file(part, nothing) for part in parts),
        verdict=verdict,
        problems=tuple(in_file(name, problem) for name, each in reports for problem in each.problems),
        found=sum(each.errors + each.warnings for _, each in reports),
        errors=sum(each.errors for _, each in reports),
        participant=settings.participant,
        team=getattr(report, "model_id", None),
        figures=TRACK.figures,
        headline=verdict.headline_name or TRACK.headline,
        second=TRACK.second,
    )
