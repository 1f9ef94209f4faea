"""Results in which warnings count as failures (`strict`): severities and counts stay the same, the outcome changes."""

from __future__ import annotations

from msgspec.structs import replace

from medcontract.problems import plural
from medcontract.results.preflight import Check, Preflight
from medcontract.results.score import Score
from medcontract.results.validation import FileReport, Validation


def strict_file(report: FileReport) -> FileReport:
    return replace(report, ok=report.ok and not report.warnings)


def strict_validation(report: Validation) -> Validation:
    return Validation.of(tuple(map(strict_file, report.files)), report.skipped or ())


def strict_score(score: Score) -> Score:
    """A valid score with warnings is no longer valid, for this reason."""
    warnings = score.warning_count
    if not score.valid or not warnings:
        return score
    return replace(score, valid=False, reasons=(*score.reasons, _reason(warnings)))


def strict_preflight(checklist: Preflight) -> Preflight:
    """Checks that found warnings fail, including that of the score."""
    score = checklist.score and strict_score(checklist.score)
    refused = score is not None and checklist.score is not None and checklist.score.valid and not score.valid
    checks = tuple(_strict_check(check, score if refused else None) for check in checklist.checks)
    return replace(Preflight.of(checks, score), _contracts=checklist._contracts)


def _strict_check(check: Check, refused: Score | None) -> Check:
    if check.status != "passed":
        return check
    warnings = max(check._found, len(check.problems))  # errors would have failed it
    reason = _reason(warnings) if warnings else ""
    if check.id == "score" and refused is not None:
        reason = refused.reasons[-1]
    return replace(check, status="failed", detail="; ".join(filter(None, (check.detail, reason)))) if reason else check


def _reason(warnings: int) -> str:
    return f"{plural(warnings, 'warning')}, which {'fails' if warnings == 1 else 'fail'} with --strict"
