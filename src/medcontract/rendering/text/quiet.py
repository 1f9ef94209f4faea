"""Results as text with `--quiet`: the outcome, and what made it negative, without details."""

from __future__ import annotations

from collections.abc import Iterator

from medcontract.problems import plural
from medcontract.rendering import contracts_used
from medcontract.rendering.shared import comparison_tables
from medcontract.rendering.text import fix as full_fix
from medcontract.rendering.text import leaderboard as full_leaderboard
from medcontract.rendering.text import preflight as full_preflight
from medcontract.rendering.text import reference, schemas
from medcontract.rendering.text import score as full_score
from medcontract.rendering.text import validation as full_validation
from medcontract.rendering.view import View, clean
from medcontract.results.comparison import Comparison
from medcontract.results.fix import Fix
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Preflight
from medcontract.results.reference import ProtocolCheck
from medcontract.results.schemas import SchemaDiff
from medcontract.results.score import Score
from medcontract.results.validation import FileReport, Validation


def validation(report: Validation, view: View) -> str:
    """One line per file, and the count. A file that could not be checked is shown with its problem."""
    lines = [line for file in report.files for line in _file(file, view)]
    return "\n".join([*lines, full_validation.summary(report, view.style)]) + "\n"


def _file(file: FileReport, view: View) -> Iterator[str]:
    path = clean(file.path)
    if file.wrong_call:
        for problem in file.problems:
            yield from full_validation.one_problem(path, problem, view.style, view.show_values)
        return
    counts = [plural(n, word) for n, word in ((file.errors, "error"), (file.warnings, "warning")) if n]
    word = view.style("ok", "good") if file.ok else view.style("not ok", "error")
    contract = file.contract or ("contract unknown" if not file.ok else "JSON Schema")
    yield f"{path}: {word}  {view.style(', '.join([contract, *counts]), 'dim')}"


def fix(fixed: Fix, view: View) -> str:
    """How much was repaired, and whether the result is valid."""
    return "\n".join([full_fix.outcome(fixed), *_file(fixed.remaining, view)]) + "\n"


def preflight(checklist: Preflight, view: View) -> str:
    """The checks that failed, the contracts, and whether the submission is ready."""
    failed = [check for check in checklist.checks if check.status == "failed"]
    lines = [f"{view.style('FAIL', 'error')}  {full_preflight.title(check)}" for check in failed]
    lines.append(contracts_used.of_preflight(checklist))
    return "\n".join([*lines, full_preflight.last_line(checklist, view.style)]) + "\n"


def score(score: Score, view: View) -> str:
    """Whether it counts, with reasons, the headline, the processing gate and the contracts."""
    return "\n".join([*full_score.outcome(score, view.style), f"  {contracts_used.of_score(score)}"]) + "\n"


def leaderboard(board: Leaderboard, view: View) -> str:
    """The ranking, submissions that are not ranked, the contracts, and the count."""
    lines = [*full_leaderboard.standing(board, view.style), contracts_used.of_leaderboard(board)]
    return "\n".join([*lines, full_leaderboard.last_line(board)]) + "\n"


def comparison(comparison: Comparison, view: View) -> str:
    """The outcome of both, their contracts, and the figures of the whole submission that changed."""
    figures = next(comparison_tables(comparison))
    lines = [view.style(f"{comparison.track}: {comparison.before} before, {comparison.after} after", "strong")]
    lines.append(f"  {contracts_used.of_comparison(comparison)}")
    return "\n".join([*lines, *full_score.aligned(figures, view.style)]) + "\n"


def schema_diff(found: SchemaDiff, view: View) -> str:
    """The number of changes, and whom they break."""
    return schemas.diff_summary(found.changes, view.style) + "\n"


def protocol_check(check: ProtocolCheck, view: View) -> str:
    """Whether the protocol is the frozen one."""
    return reference.protocol_outcome(check, view.style) + "\n"
