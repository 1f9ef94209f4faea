"""Rankings as text."""

from __future__ import annotations

from collections.abc import Iterator

from medcontract.problems import plural, shorten
from medcontract.rendering import contracts_used
from medcontract.rendering.shared import (
    entry_label,
    first_problem,
    not_ranked,
    ranked,
    ranking,
    ranking_warnings,
    reasons_of,
    weights,
)
from medcontract.rendering.text.score import aligned
from medcontract.rendering.view import Style, View, clean
from medcontract.results.leaderboard import Leaderboard


def leaderboard(board: Leaderboard, view: View) -> str:
    style = view.style
    lines = standing(board, style)
    lines += [f"{style('warning:', 'warning')} {warning}" for warning in ranking_warnings(board)]
    lines += [style(line, "dim") for line in _provenance(board)]
    return "\n".join([*lines, last_line(board)]) + "\n"


def standing(board: Leaderboard, style: Style) -> list[str]:
    """The ranking, then the submissions that are not ranked, with reasons."""
    lines = [*aligned(ranking(board), style), ""] if ranked(board) else []
    for entry in not_ranked(board):
        word = style("not valid", "error") if not entry.valid else style("not ranked", "warning")
        lines.append(f"{word}  {entry_label(entry)}")
        lines += [f"  reason: {reason}" for reason in reasons_of(entry)]
        lines += [f"  {problem}" for problem in first_problem(entry)]
    return lines + [""] * bool(not_ranked(board))


def last_line(board: Leaderboard) -> str:
    valid = sum(entry.valid for entry in board.submissions)
    many = plural(len(board.submissions), "submission")
    return f"{many}, {valid} valid, ranked by {shorten(board.headline)}."


def _provenance(board: Leaderboard) -> Iterator[str]:
    protocol = board.protocol
    if board.combined:
        yield clean(weights(board.combined))
    yield f"protocol {protocol.id} v{protocol.version}, fingerprint {protocol.fingerprint[:16]}"
    for file in board.truth:
        content = f", content {file.content_sha256[:16]}" if file.content_sha256 else ""
        how = f" ({file._how})" if file._how else ""
        yield f"{clean(file.name)}: {file.contract}{how}, sha256 {file.sha256[:16]}{content}"
    yield from (f"{who}: {what}" for who, what in contracts_used.of_submissions(board))
