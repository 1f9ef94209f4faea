"""Rankings as a person reads them: in a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from medcontract.problems import plain_name, shorten
from medcontract.rendering.scores import aligned, escaped, markdown_table
from medcontract.rendering.tables import Table, number
from medcontract.rendering.text import Style, clean, plain

if TYPE_CHECKING:
    from medcontract.evaluation.leaderboard import Entry, Leaderboard

_MOST_REASONS = 3
_MOST_OTHERS = 4
"""Metrics that submissions bring along, in the table."""


def text(board: Leaderboard, style: Style = plain) -> str:
    lines = [*aligned(_ranking(board), style), ""] if _valid(board) else []
    for entry in _rest(board):
        word = style("not valid", "error") if not entry.verdict.valid else style("not ranked", "warning")
        lines.append(f"{word}  {_who(entry)}")
        lines += [f"  because {reason}" for reason in _reasons(entry)]
    lines += [""] * bool(_rest(board))
    lines += [f"{style('warning:', 'warning')} {warning}" for warning in _warnings(board)]
    lines += [style(line, "dim") for line in _provenance(board)]
    valid = sum(entry.verdict.valid for entry in board.entries)
    many = len(board.entries)
    lines.append(f"{many} submission{'s' * (many != 1)}, {valid} valid, ranked by {shorten(board.headline)}.")
    return "\n".join(lines) + "\n"


def _warnings(board: Leaderboard) -> list[str]:
    own = [f"{_who(entry)}: {clean(warning)}" for entry in board.entries for warning in entry.verdict.warnings]
    return own + [clean(warning) for warning in board.warnings]


def _valid(board: Leaderboard) -> list[Entry]:
    return [entry for entry in board.entries if entry.rank is not None]


def _rest(board: Leaderboard) -> list[Entry]:
    return [entry for entry in board.entries if entry.rank is None]


def _reasons(entry: Entry) -> list[str]:
    if entry.verdict.valid:
        return ["it lacks the figure that the others are ranked by"]
    reasons = [clean(reason) for reason in entry.verdict.reasons]
    left = len(reasons) - _MOST_REASONS
    return reasons[:_MOST_REASONS] + ([f"… and {left} more reasons"] if left > 0 else [])


def _who(entry: Entry) -> str:
    name = clean(entry.name)
    return f"{clean(entry.team)} ({name})" if entry.team and entry.team != entry.name else name


def _ranking(board: Leaderboard) -> Table:
    """Rank, team, the headline, then the other figures."""
    units = {figure.name: figure.unit for figure in board.figures}
    others = [f.name for f in board.figures if f.by == "submission" and f.name != board.headline]
    others = [name for name in others if any(name in entry.figures for entry in board.entries)]
    known = {board.headline, *(figure.name for figure in board.figures)}
    others += sorted({name for entry in board.entries for name in entry.figures if name not in known})[:_MOST_OTHERS]
    decided = any(entry.verdict.decision for entry in board.entries)
    rows = [
        (
            f"{entry.rank}. {_who(entry)}",
            *([entry.verdict.decision or "–"] if decided else []),
            number(entry.headline, units.get(board.headline, "")),
            *(number(entry.figures.get(name), units.get(name, "")) for name in others),
        )
        for entry in _valid(board)
    ]
    head = ("team", *(["decision"] if decided else []), board.headline, *map(plain_name, others))
    return Table("Ranking", head, rows)


def _weights(combined: dict[str, Any]) -> str:
    """How the figure that counts is made of others."""
    ((name, how),) = combined.items()
    weights = ", ".join(f"{shorten(metric)} {weight:g}" for metric, weight in how["weights"].items())
    kept = "" if how["renormalize_missing"] else "; what a task lacks counts 0"
    return f"{shorten(name)}: {weights}{kept}"


def _provenance(board: Leaderboard) -> Iterator[str]:
    protocol = board.protocol
    if board.combined:
        yield clean(_weights(board.combined))
    yield f"protocol {protocol.id} v{protocol.version}, fingerprint {protocol.fingerprint[:16]}"
    for file in board.truth:
        content = f", content {file.content_sha256[:16]}" if file.content_sha256 else ""
        yield f"{file.contract} {clean(file.name)}, sha256 {file.sha256[:16]}{content}"


def markdown(board: Leaderboard) -> str:
    lines = [f"# Leaderboard: {board.track}", "", *markdown_table(_ranking(board)._replace(title=""))]
    if board.combined:
        lines += ["", escaped(_weights(board.combined))]
    rest = _rest(board)
    if rest:
        rows = [(_who(entry), "; ".join(_reasons(entry))) for entry in rest]
        lines += ["", *markdown_table(Table("Not ranked", ("team", "reasons"), rows, numeric=False))]
    warnings = _warnings(board)
    if warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in warnings)]
    protocol = board.protocol
    lines += ["", f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."]
    for file in board.truth:
        content = f"content `{file.content_sha256}`" if file.content_sha256 else f"SHA-256 `{file.sha256}`"
        lines.append(f"{'Truth' if file.content_sha256 else 'With'} {escaped(file.name)}, {content}.")
    return "\n".join(lines) + "\n"
