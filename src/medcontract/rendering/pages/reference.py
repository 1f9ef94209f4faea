"""Contracts, schemas, codes, protocols, normalization and the cache as pages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from medcontract.problems import plural
from medcontract.rendering.page import Bullets, Code, Line, Page, Paragraph, Preformatted, Section, Styled, View
from medcontract.rendering.pages.score import warnings
from medcontract.results.base import dumps
from medcontract.results.reference import (
    CacheInfo,
    ContractList,
    ExplainedCode,
    Explanation,
    Normalization,
    Protocol,
    ProtocolCheck,
    ProtocolList,
)
from medcontract.results.schemas import ContractSchema, DataDictionary, SchemaCheck, SchemaDiff
from medcontract.results.tables import Table


def explanation(found: Explanation, view: View) -> Page:
    """Show the explanation of each code, or a list of all codes if none was given."""
    if found._all:
        return _lines("Codes", [[Styled(entry.code, "strong"), f"  {entry.title}"] for entry in found.codes])
    explained = [_explained(entry) for entry in found.codes]
    return _lines("Codes", [line for position, each in enumerate(explained) for line in [[""]] * bool(position) + each])


def _lines(title: str, lines: Sequence[Line]) -> Page:
    return Page(title, sections=[Section("", [Preformatted(lines)], outcome=True)])


def _explained(entry: ExplainedCode) -> list[Line]:
    return [
        [Styled(f"{entry.code}  {entry.title}", "strong")],
        [""],
        *([line] for line in textwrap.wrap(entry.meaning, 88)),
        [""],
        [Styled("Wrong:", "error")],
        *([f"    {line}"] for line in entry.mistake.splitlines()),
        [Styled("Right:", "good")],
        *([f"    {line}"] for line in entry.fix.splitlines()),
    ]


def contract_list(found: ContractList, view: View) -> Page:
    rows = [("ID", "VERSION", "KIND", "CONTAINERS", "TITLE", "SOURCE")]
    rows += [(c.id, str(c.version), c.kind, " ".join(c.containers), c.title, c.source or "-") for c in found.contracts]
    return _lines("Contracts", _aligned(rows))


def protocol_list(found: ProtocolList, view: View) -> Page:
    rows = [("track", "version", "fingerprint"), *((p.id, str(p.version), p.fingerprint) for p in found.protocols)]
    return _lines("Protocols", _aligned(rows))


def _aligned(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[Line]:
    """Aligned columns; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [[indent, Styled(lines[0], "strong")], *([indent + line] for line in lines[1:])]


def normalization(found: Normalization, view: View) -> Page:
    """Show each text, the steps that changed it, and its normalized and tight forms."""
    lines: list[Line] = []
    for each in found.texts:
        lines += [[""]] * bool(lines) + [[Styled(each.text, "strong")]]
        before = each.text
        for step in each.steps:
            if step.text != before:
                lines.append([f"  {step.text}  ", Styled(f"{step.step}: {step._about}", "dim")])
            before = step.text
        lines += [["  = ", Styled(before, "good")], ["  tight: ", Styled(each.tight, "good")]]
    return _lines("Normalization", lines)


def protocol_check(check: ProtocolCheck, view: View) -> Page:
    """Return whether the protocol is still the frozen one, and every difference."""
    word = Styled("ok", "good") if check.ok else Styled("differs", "error")
    outcome: Line = [word, f": {check.id} v{check.version}, fingerprint {check.fingerprint}"]
    differences = [] if view.quiet else [[f"  {difference}"] for difference in check.differences]
    return Page("Protocol", lines=[outcome, *differences], sections=[warnings(check.warnings)])


def protocol(protocol: Protocol, view: View) -> Page:
    """Parameters by source, formulas, and changes."""
    lines: list[Line] = [
        [Styled(f"{protocol.id} v{protocol.version}", "strong")],
        [f"fingerprint {protocol.fingerprint}"],
        [Styled("  SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters", "dim")],
        [""],
    ]
    width = max(len(parameter.name) for parameter in protocol.parameters)
    source = ""
    for parameter in protocol.parameters:
        if parameter.source != source:
            source = parameter.source
            lines.append([Styled(f"from {source}", "dim")])
        lines.append([f"  {parameter.name.ljust(width)}  {parameter._text.rjust(6)}  {parameter.about}"])
    lines += [[""], [Styled("Figures", "strong")]]
    for figure in protocol.figures:
        about = textwrap.wrap(figure.about, 100, initial_indent="      ", subsequent_indent="      ")
        lines += [[f"  {figure.name}"], *([line] for line in about)]
    if protocol.classes:
        rows = [(str(each.number), each.symbol, each.name, each.type) for each in protocol.classes]
        lines += [[""], [Styled("Classes", "strong")]]
        lines += _aligned([("no.", "class", "name", "type"), *rows], indent="  ")
    lines += [[""], [Styled("Changes", "strong")]]
    lines += [[f"  v{change.version}  {change.reason}"] for change in protocol.changes]
    return _lines("Protocol", lines)


def cache_info(found: CacheInfo, view: View) -> Page:
    """Show how much a cache contains, or contained."""
    what = f"{plural(found.count, 'result')}, {found.size / 1e6:.1f} MB"
    kinds = [[f"  {each.kind}, medcontract {each.medcontract_version}: {each.count:,}"] for each in found.results]
    return _lines("Cache", [[f"{found.folder}: {f'removed {what}' if found._cleared else what}"], *kinds])


# --- schemas


_ROLES = {"none": "dim", "readers": "warning", "writers": "error", "both": "error"}


def schema_diff(found: SchemaDiff, view: View) -> Page:
    """Show the changes of each file, and a summary."""
    sections = []
    for path in dict.fromkeys(change.path for change in found.changes):
        own = [change for change in found.changes if change.path == path]
        width = max(len(change.pointer) for change in own)
        lines: list[Line] = [[Styled(path, "strong")]]
        for change in own:
            breaks = Styled(change.breaks.ljust(7), _ROLES[change.breaks])
            lines.append(["  ", breaks, f"  {change.pointer.ljust(width)}  {change.message}"])
        sections.append(Section("", [Preformatted(lines)]))
    writers = sum(change.breaks in ("writers", "both") for change in found.changes)
    readers = sum(change.breaks in ("readers", "both") for change in found.changes)
    counts = [f"{n} break{'s' * (n == 1)} {who}" for n, who in ((writers, "writers"), (readers, "readers")) if n]
    total = plural(len(found.changes), "change")
    last: Line = [f"{total}: ", Styled(", ".join(counts), "error"), "."]
    if not counts:
        last = (
            [f"{total}, ", Styled("none breaking", "good"), "."] if found.changes else [Styled("No changes.", "good")]
        )
    return Page("Changes", lines=[last], last=True, sections=sections)


def schema_check(found: SchemaCheck, view: View) -> Page:
    """Return one line per invalid file."""
    if found.ok:
        return Page("Schemas", lines=[[f"All {found.schemas} schemas are up to date and valid."]])
    return Page("Schemas", lines=[[str(Path(found._folder, str(fault)))] for fault in found.faults])


def contract_schema(schema: ContractSchema, view: View) -> Page:
    """Show the data dictionary of a contract."""
    found = schema._dictionary
    return Page(f"{found.id}, version {found.version}", sections=[_about(found), *_dictionary(found)])


def dictionary_sections(found: DataDictionary) -> list[Section]:
    """Return the data dictionary as part of a page for people who fill in the file."""
    found = replace(found, source=None)  # a path in the documentation of medcontract
    first, *others = (_about(found), *_dictionary(found, details=False))
    return [first._replace(title=found.id), *(each._replace(title=f"{found.id}: {each.title}") for each in others)]


def _about(found: DataDictionary) -> Section:
    return Section("", [Paragraph([found.description or found.title]), Bullets(list(_facts(found)))])


def _facts(found: DataDictionary) -> Iterator[Line]:
    if found.list_key:
        key = Styled(found.list_key, "code")
        yield ["A collection: one record per line or row, or a JSON object with the records under ", key, "."]
    else:
        yield ["A document: one JSON object."]
    yield ["Formats: ", *_codes(f".{name}" for name in found.containers), ", also gzipped where they are text."]
    if found.columns:
        yield ["Columns of a table: ", *_codes(found.columns), "."]
    if found.source:
        yield [f"Source: {found.source}"]


def _codes(names: Iterable[str]) -> Line:
    return [part for name in names for part in (", ", Styled(name, "code"))][1:]


def _dictionary(found: DataDictionary, details: bool = True) -> Iterator[Section]:
    for section in found.sections:
        rows = [
            (Code(field.name), field.type, "yes" if field.required else "no", field.values, field.description)
            for field in section.fields
        ]
        yield Section(
            section.title,
            [
                *([Paragraph([section.description])] if section.description else []),
                Table("", ("field", "type", "required", "values", "description"), rows, numeric=False),
                *([Paragraph(["Other fields are allowed."])] if section.open else []),
            ],
        )
    if found.rules:
        words = [(rule.code, rule.severity, rule.message, rule.hint or "", rule.details) for rule in found.rules]
        head = ("code", "severity", "message", "how to fix it", "rule")
        shown = len(head) if details else -1
        yield Section("Rules", [Table("", head[:shown], [row[:shown] for row in words], numeric=False)])
    for position, example in enumerate(found.examples, 1):
        title = "Example" if len(found.examples) == 1 else f"Example {position}"
        yield Section(title, [Preformatted([[line] for line in dumps(example).splitlines()], language="json")])
