"""Contracts, codes, protocols and normalization as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from medcontract.rendering.view import Style, View, clean
from medcontract.results.reference import (
    ContractList,
    ExplainedCode,
    Explanation,
    Normalization,
    Protocol,
    ProtocolCheck,
    ProtocolList,
)


def explanation(found: Explanation, view: View) -> str:
    """The explanation of each code, or a list of all codes if none was given."""
    if found._all:
        return "".join(f"{view.style(entry.code, 'strong')}  {entry.title}\n" for entry in found.codes)
    return "\n".join(_explained(entry, view.style) for entry in found.codes)


def _explained(entry: ExplainedCode, style: Style) -> str:
    parts = [
        style(f"{entry.code}  {entry.title}", "strong"),
        "",
        textwrap.fill(entry.meaning, 88),
        "",
        style("Wrong:", "error"),
        textwrap.indent(entry.mistake, "    "),
        style("Right:", "good"),
        textwrap.indent(entry.fix, "    "),
        "",
    ]
    return "\n".join(parts)


def contract_list(found: ContractList, view: View) -> str:
    rows = [("ID", "VERSION", "KIND", "CONTAINERS", "TITLE", "SOURCE")]
    rows += [(c.id, str(c.version), c.kind, " ".join(c.containers), c.title, c.source or "-") for c in found.contracts]
    return _table(rows, view.style)


def protocol_list(found: ProtocolList, view: View) -> str:
    rows = [("track", "version", "fingerprint"), *((p.id, str(p.version), p.fingerprint) for p in found.protocols)]
    return _table(rows, view.style)


def _table(rows: Sequence[tuple[str, ...]], style: Style) -> str:
    """Aligned columns; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([style(lines[0], "strong"), *lines[1:]]) + "\n"


def normalization(found: Normalization, view: View) -> str:
    """Each text, the steps that changed it, and its normalized and tight forms."""
    lines: list[str] = []
    for each in found.texts:
        lines.append(view.style(clean(each.text), "strong"))
        before = each.text
        for step in each.steps:
            if step.text != before:
                lines.append(f"  {clean(step.text)}  {view.style(f'{step.step}: {step._about}', 'dim')}")
            before = step.text
        lines.append(f"  = {view.style(clean(before), 'good')}")
        lines += [f"  tight: {view.style(clean(each.tight), 'good')}", ""]
    return "\n".join(lines)


def protocol_check(check: ProtocolCheck, view: View) -> str:
    """Whether the protocol is still the frozen one, and every difference."""
    style = view.style
    lines = [protocol_outcome(check, style)]
    lines += [f"  {clean(difference)}" for difference in check.differences]
    lines += [f"{style('warning:', 'warning')} {clean(warning)}" for warning in check.warnings]
    return "\n".join(lines) + "\n"


def protocol_outcome(check: ProtocolCheck, style: Style) -> str:
    name = f"{clean(check.id)} v{check.version}, fingerprint {check.fingerprint}"
    return f"{style('ok', 'good') if check.ok else style('differs', 'error')}: {name}"


def protocol(protocol: Protocol, view: View) -> str:
    """Parameters by source, formulas, and changes."""
    style = view.style
    lines = [style(f"{protocol.id} v{protocol.version}", "strong"), f"fingerprint {protocol.fingerprint}"]
    lines += [style("  SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters", "dim"), ""]
    width = max(len(parameter.name) for parameter in protocol.parameters)
    source = ""
    for parameter in protocol.parameters:
        if parameter.source != source:
            source = parameter.source
            lines.append(style(f"from {source}", "dim"))
        lines.append(f"  {parameter.name.ljust(width)}  {parameter._text.rjust(6)}  {parameter.about}")
    lines += ["", style("Figures", "strong")]
    for figure in protocol.figures:
        lines.append(f"  {figure.name}")
        lines += textwrap.wrap(figure.about, 100, initial_indent="      ", subsequent_indent="      ")
    if protocol.classes:
        rows = [(str(each.number), each.symbol, each.name, each.type) for each in protocol.classes]
        table = _table([("no.", "class", "name", "type"), *rows], style)
        lines += ["", style("Classes", "strong"), *(f"  {line}" for line in table.splitlines())]
    lines += ["", style("Changes", "strong")]
    lines += [f"  v{change.version}  {change.reason}" for change in protocol.changes]
    return "\n".join(lines) + "\n"
