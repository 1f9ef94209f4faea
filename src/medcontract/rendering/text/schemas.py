"""Differences between schemas, and checks of published ones, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from medcontract.problems import plural
from medcontract.rendering.view import Style, View, clean
from medcontract.results.schemas import SchemaChange, SchemaCheck, SchemaDiff

_ROLES = {"none": "dim", "readers": "warning", "writers": "error", "both": "error"}


def schema_diff(found: SchemaDiff, view: View) -> str:
    """The changes of each file, and a summary."""
    changes, style = found.changes, view.style
    lines: list[str] = []
    for path in dict.fromkeys(change.path for change in changes):
        lines.append(style(clean(path), "strong"))
        lines += _changes([change for change in changes if change.path == path], style)
        lines.append("")
    lines.append(diff_summary(changes, style))
    return "\n".join(lines) + "\n"


def _changes(changes: Sequence[SchemaChange], style: Style) -> Iterator[str]:
    pointers = [clean(change.pointer) for change in changes]
    width = max(map(len, pointers))
    for change, pointer in zip(changes, pointers, strict=True):
        breaks = style(change.breaks.ljust(7), _ROLES[change.breaks])
        yield f"  {breaks}  {pointer.ljust(width)}  {clean(change.message)}"


def diff_summary(changes: Sequence[SchemaChange], style: Style) -> str:
    if not changes:
        return style("No changes.", "good")
    total = plural(len(changes), "change")
    writers = sum(change.breaks in ("writers", "both") for change in changes)
    readers = sum(change.breaks in ("readers", "both") for change in changes)
    counts = [f"{n} break{'s' * (n == 1)} {who}" for n, who in ((writers, "writers"), (readers, "readers")) if n]
    return f"{total}: {style(', '.join(counts), 'error')}." if counts else f"{total}, {style('none breaking', 'good')}."


def schema_check(found: SchemaCheck, view: View) -> str:
    """One line per invalid file."""
    if found.ok:
        return f"All {found.schemas} schemas are up to date and valid.\n"
    return "".join(f"{clean(str(Path(found._folder, str(fault))))}\n" for fault in found.faults)
