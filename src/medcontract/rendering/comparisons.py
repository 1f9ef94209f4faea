"""Before and after, as a person reads it and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from medcontract.problems import shorten
from medcontract.rendering.json import dumps, versions
from medcontract.rendering.scores import aligned, escaped, markdown_table
from medcontract.rendering.tables import MOST_CASES, Table
from medcontract.rendering.text import Style, clean, plain

if TYPE_CHECKING:
    from medcontract.evaluation.compare import Comparison, Delta, Row

_TITLES = {"documents": "documents", "metrics": "cases", "tasks": "tasks", "samples": "samples", "runs": "runs"}


def _number(value: float | None, sign: bool = False) -> str:
    if value is None:
        return "–"
    return f"{value:+.6g}" if sign else f"{value:.6g}"


def _cells(delta: Delta) -> tuple[str, ...]:
    return _number(delta.before), _number(delta.after), _number(delta.delta, sign=True)


def _tables(comparison: Comparison) -> Iterator[Table]:
    """What changed, the submission first; what did not change is counted."""
    changed = [delta for delta in comparison.figures if delta.changed]
    same = len(comparison.figures) - len(changed)
    rows = [(delta.name, *_cells(delta)) for delta in changed]
    yield _changes("Figures", "figure", rows, _unchanged("figures", same))
    for kind, title in _TITLES.items():
        own = [row for row in comparison.rows if row.kind == kind]
        moved = [row for row in own if row.changed]
        for word, some in (
            ("improved", [row for row in moved if row.trend > 0]),
            ("worsened", [row for row in moved if row.trend < 0]),
            ("changed otherwise", [row for row in moved if not row.trend]),
        ):
            lines = [line for row in some[:MOST_CASES] for line in _lines(row)]
            more = f"and {len(some) - MOST_CASES:,} more (json has all)" if len(some) > MOST_CASES else ""
            yield _changes(f"{title.capitalize()} that {word}", title[:-1], lines, more)
        yield Table("", ("",), [(note,)] if (note := _unchanged(title, len(own) - len(moved))) else [])
    gates = [row for row in comparison.rows if row.kind == "gates"]
    yield Table(
        "Gates", ("gate", "before", "after", "change", "then", "now", "reason"),
        [(row.id, *_cells(row.main), row.before or "–", row.after or "–", row.reason or "") for row in gates],
        numeric=False,
    )  # fmt: skip


def _changes(title: str, what: str, rows: list[tuple[str, ...]], note: str) -> Table:
    if not rows and note:
        return Table("", ("",), [(note,)])
    return Table(title, (what, "before", "after", "change"), rows, note)


def _unchanged(what: str, count: int) -> str:
    return f"{what} without a change: {count:,}" if count else ""


def _lines(row: Row) -> Iterator[tuple[str, ...]]:
    """Each figure that changed, and whether it passes."""
    for figure in row.figures:
        if figure.changed:
            yield (f"{row.id} {figure.name}", *_cells(figure))
    if row.before != row.after:
        yield f"{row.id} valid", row.before or "–", row.after or "–", ""


def text(comparison: Comparison, style: Style = plain, names: Sequence[str] = ()) -> str:
    lines = [style(f"{comparison.track}: {comparison.before} before, {comparison.after} after", "strong")]
    lines += [style(f"  from {' to '.join(shorten(name) for name in names)}", "dim")] if names else []
    lines += [f"  {style('because', 'error')} {clean(reason)}" for reason in comparison.reasons]
    lines.append("")
    for table in _tables(comparison):
        if table.rows:
            lines += [*aligned(table, style), ""]
    lines += [f"{style('warning:', 'warning')} {clean(warning)}" for warning in comparison.warnings]
    lines.append(style(f"protocol fingerprint {comparison.fingerprint[:16]} in both", "dim"))
    return "\n".join(lines) + "\n"


def markdown(comparison: Comparison, names: Sequence[str] = ()) -> str:
    lines = [f"# {comparison.track}: before and after", "", f"{comparison.before} before, {comparison.after} after."]
    lines += ["", f"From {' to '.join(escaped(shorten(name)) for name in names)}."] if names else []
    lines += ["", *(f"- {escaped(reason)}" for reason in comparison.reasons)] if comparison.reasons else []
    for table in _tables(comparison):
        if table.rows:
            lines += ["", *(markdown_table(table) if table.title else (escaped(table.rows[0][0]),))]
    if comparison.warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in comparison.warnings)]
    lines += ["", f"Protocol fingerprint `{comparison.fingerprint}` in both."]
    return "\n".join(lines) + "\n"


def json(comparison: Comparison) -> str:
    """`medcontract/comparison`."""
    data: dict[str, Any] = {
        "track": comparison.track,
        "fingerprint": comparison.fingerprint,
        "before": comparison.before,
        "after": comparison.after,
        "reasons": list(comparison.reasons),
        "figures": [_delta(delta) for delta in comparison.figures],
        "rows": [_row(row) for row in comparison.rows],
        "warnings": list(comparison.warnings),
        **versions(),
    }
    return dumps(data)


def _row(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": row.kind, "id": row.id, "figures": [_delta(delta) for delta in row.figures]}
    if row.before is not None or row.after is not None:
        data |= {"before": row.before, "after": row.after, "reason": row.reason}
    return data


def _delta(delta: Delta) -> dict[str, Any]:
    return {"name": delta.name, "before": delta.before, "after": delta.after, "delta": delta.delta}
