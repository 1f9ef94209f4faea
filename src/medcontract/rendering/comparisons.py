"""Before and after, as a person reads it and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medcontract.rendering.json import dumps, versions
from medcontract.rendering.scores import aligned, escaped, markdown_table
from medcontract.rendering.tables import MOST_CASES, Table
from medcontract.rendering.text import Style, clean, plain

if TYPE_CHECKING:
    from medcontract.evaluation.compare import Comparison, Delta, Row

_TITLES = {
    "runs": "Runs", "metrics": "Cases", "documents": "Documents", "tasks": "Tasks", "samples": "Samples",
    "gates": "Gates",
}  # fmt: skip


def _number(value: float | None, sign: bool = False) -> str:
    if value is None:
        return "–"
    return f"{value:+.6g}" if sign else f"{value:.6g}"


def _cells(delta: Delta) -> tuple[str, ...]:
    return _number(delta.before), _number(delta.after), _number(delta.delta, sign=True)


def _tables(comparison: Comparison) -> list[Table]:
    rows = [(delta.name, *_cells(delta)) for delta in comparison.figures]
    found = [Table("Figures", ("figure", "before", "after", "change"), rows)]
    for kind, title in _TITLES.items():
        own = [row for row in comparison.rows if row.kind == kind]
        for word, some in (("improved", _changed(own, 1)), ("worsened", _changed(own, -1))):
            if some:
                cells = [(row.id, *_cells(row.main)) for row in some[:MOST_CASES]]
                note = f"and {len(some) - MOST_CASES:,} more (json has all)" if len(some) > MOST_CASES else ""
                found.append(
                    Table(f"{title} that {word}", (some[0].main.name, "before", "after", "change"), cells, note)
                )
        lonely = [row for row in own if (row.main.before is None) != (row.main.after is None)]
        if lonely:
            cells = [(row.id, *_cells(row.main)) for row in lonely[:MOST_CASES]]
            note = f"and {len(lonely) - MOST_CASES:,} more (json has all)" if len(lonely) > MOST_CASES else ""
            head = (lonely[0].main.name, "before", "after", "change")
            found.append(Table(f"{title} with a figure on one side only", head, cells, note))
        same = len(own) - len(_changed(own, 1)) - len(_changed(own, -1)) - len(lonely)
        if own and same:
            found.append(Table("", ("", ""), [(f"{title.lower()} without a change", f"{same:,}")]))
    return found


def _changed(rows: Sequence[Row], sign: int) -> list[Row]:
    return [row for row in rows if row.main.delta is not None and row.main.delta * sign > 0]


def text(comparison: Comparison, style: Style = plain) -> str:
    lines = [style(f"{comparison.track}: {comparison.before} before, {comparison.after} after", "strong"), ""]
    for table in _tables(comparison):
        lines += [*aligned(table, style), ""]
    lines += [f"{style('warning:', 'warning')} {clean(warning)}" for warning in comparison.warnings]
    lines.append(style(f"protocol fingerprint {comparison.fingerprint[:16]} in both", "dim"))
    return "\n".join(lines) + "\n"


def markdown(comparison: Comparison) -> str:
    lines = [f"# {comparison.track}: before and after", "", f"{comparison.before} before, {comparison.after} after."]
    for table in _tables(comparison):
        lines += ["", *markdown_table(table)]
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
        "figures": [_delta(delta) for delta in comparison.figures],
        "rows": [
            {"kind": row.kind, "id": row.id, "figures": [_delta(delta) for delta in row.figures]}
            for row in comparison.rows
        ],
        "warnings": list(comparison.warnings),
        **versions(),
    }
    return dumps(data)


def _delta(delta: Delta) -> dict[str, Any]:
    return {"name": delta.name, "before": delta.before, "after": delta.after, "delta": delta.delta}
