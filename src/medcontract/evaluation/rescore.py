"""Scores an existing result again, without a truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medcontract.evaluation.inputs import Files, HeaderOverrides, Settings, read
from medcontract.evaluation.loading import Truth
from medcontract.evaluation.plugin_checks import check_result
from medcontract.evaluation.score import Scored, input_file, set_by_caller, teams_of
from medcontract.problems import plural
from medcontract.results.score import in_file
from medcontract.scoring.processing_gate import Verdict
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track
from medcontract.validation.parts import Part, base_name


def rescore(track: Track, scorer: Scorer, files: Files, settings: Settings, given: HeaderOverrides) -> Scored:
    """Score the result among the files again, as the scorer defines it. Raises `CallError`."""
    used = (track.roles.result, *track.roles.auxiliaries())
    parts = [part for name in used for part in files.groups.get(name, [])]
    documents = {name: _read(files.groups[name]) for name in used if name in files.groups}
    result = documents.pop(track.roles.result)
    reasons = [f"{part.name} has {plural(part.collector.errors, 'error')}" for part in parts if part.collector.errors]
    reasons += [f"{base_name(report.path)} cannot be read" for report in files.unread]
    verdict = Verdict(valid=False, processing=None, reasons=tuple(reasons))
    if not reasons:
        known = {name: getattr(result, name) for name in track.result_fields.settable}
        fields = set_by_caller(track, given, known)
        verdict = check_result(track, scorer, scorer.rescore(parts[0].name, result, documents, fields))
    given.check()
    others = [part for name, group in files.groups.items() if name not in used for part in group]
    verdict.warnings += (
        *_without_effect(track, scorer),
        *(f"{part.name} ({part.contract.id}) is not needed" for part in others),
        *files.notes,
    )
    return _assembled(track, scorer, parts, files, verdict, settings)


def _read(parts: list[Part]) -> Any:
    read(parts)
    return parts[0].validator.header if parts[0].validator else None


def _without_effect(track: Track, scorer: Scorer) -> Iterator[str]:
    """Warnings about options that need records."""
    options = scorer.options
    idle = ["--breakdown"] if options.breakdown else []
    idle += [each.on_command_line for each in track.options if each.measuring and each.name in options.options]
    if not idle and scorer.protocol.fingerprint != track.protocol.fingerprint:
        idle = ["--parameter"]
    return (f"{name} has no effect on an existing result" for name in idle)


def _assembled(
    track: Track, scorer: Scorer, parts: list[Part], files: Files, verdict: Verdict, settings: Settings
) -> Scored:
    nothing = Truth(track=track, scorer=scorer, parts=[], expected={}, headers={}, content={})
    reports = [(part.name, part.report) for part in parts]
    reports += [(base_name(report.path), report) for report in files.unread]
    result = parts[0].validator.header if parts[0].validator else None
    header = {name: getattr(result, name, None) for name in ("team_name", "model_id")}
    return Scored(
        track=track.id,
        protocol=scorer.protocol,
        inputs=tuple(input_file(part, nothing) for part in parts),
        verdict=verdict,
        problems=tuple(in_file(name, problem) for name, each in reports for problem in each.problems),
        found=sum(each.errors + each.warnings for _, each in reports),
        errors=sum(each.errors for _, each in reports),
        participant=settings.participant,
        team=next(iter(teams_of({track.roles.result: header}, {})), None),
        figures=track.figures,
        headline=verdict.headline_name or track.headline,
        second=track.second,
    )
