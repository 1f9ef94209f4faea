"""The pages of a comparison of two scores, and of a verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from medcontract.problems import plain_name, shorten
from medcontract.rendering.page import (
    Bullets,
    ChangeTable,
    Fact,
    Line,
    Page,
    Paragraph,
    Role,
    Section,
    ShownChange,
    Styled,
    View,
)
from medcontract.rendering.pages.score import (
    contract_names,
    p_value,
    reason_lines,
    versions,
    warnings,
    with_direction,
)
from medcontract.results.comparison import ComparedRow, Comparison, Delta
from medcontract.results.tables import MOST_ROWS, Table, long_table, number, parameter_text
from medcontract.results.verification import Difference, Verification

if TYPE_CHECKING:
    from medcontract.scoring.track import Figure

_ROW_AND_COLUMN = 3
"""The parts of the name of a cell of a matrix, such as `confusion_matrix.NV.MEL`."""


def comparison(compared: Comparison, view: View) -> Page:
    """Show the change of the headline, then of the other figures and of rows such as cases."""
    sure = next((figure for figure in compared.figures if figure.verdict), None)
    first = sure or next(iter(compared.figures), None)
    verdict, role = _verdict(compared, first)
    conclusion = [] if sure is None else [_conclusion(sure, compared)]
    facts = []
    if first is not None:
        name = with_direction(plain_name(first.name), first.name in compared._lower)
        before, after, change = _cells(first, _unit(first, compared))
        note = "no change" if not first.changed else f"change {change}" if first.delta is not None else ""
        facts = [Fact(name, f"{before} → {after}", note)]
    sections = [*_figures(compared), *_rows(compared)]
    before, after = (contract_names(contracts) for contracts in compared._contracts or ((), ()))
    contracts = f"contracts: {before}" if before == after else f"contracts: {before} before, {after} after"
    fingerprint = Styled(compared.fingerprint, "digest")
    sections += [
        warnings(compared.warnings),
        Section("Contracts", [Paragraph([contracts])]),
        Section("Protocol", [Paragraph(["protocol fingerprint ", fingerprint, " in both"])]),
    ]
    head: list[Line] = [[Styled(f"{compared.track}: {compared.before} before, {compared.after} after", "strong")]]
    names = " to ".join(map(shorten, compared._names))
    dim: list[Line] = [["  ", Styled(f"from {names}", "dim")]] if names else []
    return Page(
        title=f"Comparison: {compared.track}",
        verdict=verdict,
        role=role,
        lines=[*head, *([] if view.quiet else [*dim, *reason_lines(compared.reasons)]), *conclusion],
        about=[
            f"Before: {compared.before}. After: {compared.after}.",
            *([f"From {names}."] if names else []),
            *([f"{_change_text(sure, compared)}."] if sure else []),
        ],
        facts=facts,
        reasons=compared.reasons,
        sections=sections,
        contracts=contracts,
        version=versions(compared),
    )


def _verdict(compared: Comparison, headline: Delta | None) -> tuple[str, Role]:
    if headline is None or headline.delta is None:
        return "Compared", "neutral"
    if headline.verdict == "cannot tell":
        return "Cannot tell", "neutral"
    if headline.delta == 0:
        return "Unchanged", "neutral"
    if (headline.delta > 0) == (headline.name in compared._lower):
        return "Worse", "bad"
    counts = compared.after in ("valid", "GO")
    return ("Better", "good") if counts else (f"Better, but {compared.after}", "warning")


def _conclusion(figure: Delta, compared: Comparison) -> Line:
    roles = {"better": "good", "worse": "error", "cannot tell": "warning"}
    word = Styled(figure.verdict or "", roles.get(figure.verdict or "", "strong"))
    return [word, f": {_change_text(figure, compared)}"]


def _change_text(figure: Delta, compared: Comparison) -> str:
    """Describe the interval of the change."""
    change = number(figure.delta, _unit(figure, compared), figure.interval)
    sign = "+" if (figure.delta or 0) > 0 else ""
    p = f"p {'' if (figure.p or 0) < 0.001 else '= '}{p_value(figure.p or 0)}"
    why = "it may be chance" if figure.verdict == "cannot tell" else "hardly by chance"
    return f"{figure.name} changed by {sign}{change}, {why} ({p})"


# --- figures


def _figures(compared: Comparison) -> Iterator[Section]:
    """Figures of the whole submission, the headline first, then those by class, and the cells of matrices."""
    parts: dict[str, list[Delta]] = {"": []}
    for delta in compared.figures:
        group, dot, _ = delta.name.partition(".")
        known = any(figure.name == group for figure in compared._figures)
        parts.setdefault(group if dot and known else "", []).append(delta)
    headline = compared.figures[0] if compared.figures else None
    same = sum(not delta.changed for delta in compared.figures)
    unchanged = f"unchanged figures: {same:,}" if same else ""
    for group, deltas in parts.items():
        changed = [delta for delta in deltas if delta.changed]
        changed.sort(key=lambda delta: (delta != headline, -abs(delta.delta or 0)))
        note = "" if group else unchanged
        title = group or "Figures"
        if changed and all(delta.name.count(".") == _ROW_AND_COLUMN - 1 for delta in changed):
            yield Section(title, [_matrix(title, changed, note)])
        elif changed:
            yield Section(title, [_changes(title, changed, compared, note)], outcome=not group)
        elif note and not group:
            yield Section(title, [Paragraph([note], note=True)], outcome=True)


def _matrix(title: str, deltas: Sequence[Delta], note: str) -> Table:
    """Return the changes of the cells of a matrix; `·` is unchanged."""
    cells = {tuple(delta.name.split(".")[1:]): delta.delta for delta in deltas}
    rows, columns = ([*dict.fromkeys(name[side] for name in cells)] for side in (0, 1))
    columns = [name for name in rows if name in columns] + [name for name in columns if name not in rows]
    found = [(row, [cells.get((row, name)) for name in columns]) for row in rows]
    lines = [(row, *(f"{change:+,g}" if change else "·" for change in changes)) for row, changes in found]
    notes = "; ".join(["changes of the counts", *filter(None, [note])])
    return Table(title, ("true \\ predicted", *columns), lines, notes)


def _changes(title: str, deltas: Sequence[Delta], compared: Comparison, note: str) -> ChangeTable:
    rows = [(delta.name.removeprefix(f"{title}."), *_cells(delta, _unit(delta, compared))) for delta in deltas]
    table = Table(title, ("figure", "before", "after", "change"), rows, note)
    return ChangeTable(table, [_change(delta, compared) for delta in deltas])


def _change(delta: Delta, compared: Comparison) -> ShownChange:
    """Return whether the change is good, if it is known in which direction the figure is better."""
    figure = _figure_of(delta.name, compared)
    name = delta.name if figure is None else figure.name
    lower = name in compared._lower
    known = lower or delta == compared.figures[0] or (figure is not None and figure.perfect is not None)
    role: Role = "neutral"
    if known and delta.delta:
        role = "good" if (delta.delta > 0) != lower else "bad"
    before, after = delta.before, delta.after
    if figure is None or (figure.low, figure.high) != (0, 1) or before is None or after is None:
        return ShownChange(role)
    return ShownChange(role, (before, after))


def _figure_of(name: str, compared: Comparison) -> Figure | None:
    """Return the description of a figure; those by class have the name of the group."""
    names = (name, name.partition(".")[0])
    return next((figure for wanted in names for figure in compared._figures if figure.name == wanted), None)


def _unit(delta: Delta, compared: Comparison) -> str:
    figure = _figure_of(delta.name, compared)
    return figure.unit if figure is not None else ""


def _cells(delta: Delta, unit: str = "") -> tuple[str, str, str]:
    """Return the values before and after, and the change, which for percentages is not in percent of anything."""
    change = _shown(delta.delta, "" if unit == "%" else unit)
    return (
        _shown(delta.before, unit),
        _shown(delta.after, unit),
        f"+{change}" if delta.delta is not None and delta.delta > 0 else change,
    )


def _shown(value: float | None, unit: str = "") -> str:
    """With six digits; counts, which are integers in a result, with all."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g} {unit}".rstrip()


# --- rows


def _rows(compared: Comparison) -> Iterator[Section]:
    """Rows by what became of them, one line a row: the figure that decides, then the others that changed."""
    for kind in compared._kinds:
        own = [row for row in compared.rows if row.kind == kind.kind]
        if kind.judged:
            yield from [Section(kind.title.capitalize(), [_judged(kind.title, own)])] if own else []
            continue
        moved = [row for row in own if row.changed]
        for word, some in (
            ("worsened", [row for row in moved if row._trend < 0]),
            ("improved", [row for row in moved if row._trend > 0]),
            ("changed in other ways", [row for row in moved if not row._trend]),
        ):
            if some:
                title = f"{kind.title.capitalize()} that {word} ({len(some):,})"
                name = some[0]._main.name if some[0]._main else ""
                head = (kind.title[:-1], f"{name} before".strip(), "after", "change", "other changes")
                rows = [(row.id, *_cells(row._main or Delta.of("")), _others(row)) for row in some[:MOST_ROWS]]
                yield Section(title, [Table(title, head, rows, last_columns=1, total=len(some))])
        same = len(own) - len(moved)
        if same:
            yield Section("", [Paragraph([f"unchanged {kind.title}: {same:,}"], note=True)])


def _judged(title: str, rows: Iterable[ComparedRow]) -> Table:
    head = (title[:-1], "before", "after", "change", "state before", "state after", "reason")
    cells = [
        (row.id, *_cells(row._main or Delta.of("")), row.before or "–", row.after or "–", row.reason or "")
        for row in rows
    ]
    return Table(title.capitalize(), head, cells, numeric=False)


def _others(row: ComparedRow) -> str:
    """Return the other figures of a row that changed, and its state."""
    others = [figure for figure in row.figures if figure.changed and figure != row._main]
    cells = [(figure.name, *_cells(figure)) for figure in others]
    texts = [f"{name} {before} → {after} ({change})" for name, before, after, change in cells]
    if row.before != row.after:
        texts.append(f"valid {row.before or '–'} → {row.after or '–'}")
    return ", ".join(texts)


# --- verification


def verification(found: Verification, view: View) -> Page:
    """Show the outcome, the files, and the values that differ."""
    word, role = ("Verified", "good") if found.ok else ("Not verified", "error")
    names = [(file.name, file.state, file.contract) for file in found.files]
    sections = [Section("Files", [long_table(Table("Files", ("file", "state", "contract"), names, numeric=False))])]
    if found.differences:
        rows = [(each.pointer, *_both(each)) for each in found.differences]
        note = f"and {found.omitted:,} more" if found.omitted else ""
        table = Table("Differences", ("place", "stated", "computed"), rows, note)
        sections.append(Section("Differences", [long_table(table)]))
    ignored = [[f"{name} is not an input of the score: ignored"] for name in found.ignored]
    sections.append(Section("Other files", [Bullets(ignored)]))
    sections.append(warnings(found.warnings))
    outcome: Line = [Styled(word.upper(), role), f"  {found.track}: {found.outcome}"]
    return Page(
        title=f"Verification: {found.track}",
        verdict=word,
        role="good" if found.ok else "bad",
        lines=[outcome, *reason_lines(found.reasons)],
        about=[f"{found.outcome[0].upper()}{found.outcome[1:]}."],
        reasons=found.reasons,
        sections=sections,
        contracts=f"contracts: {contract_names(file.contract for file in found.files)}",
        version=versions(found),
    )


def _both(each: Difference) -> tuple[str, str]:
    """Both values with all digits; texts are not shown."""
    values = ((each.stated, each.kind != "not stated"), (each.computed, each.kind != "not computed"))
    if each.stated is None and each.computed is None and each.kind == "value":
        return "text", "another text"
    one, other = ((number(value) if isinstance(value, bool | None) else parameter_text(value)) if there else "absent"
                  for value, there in values)  # fmt: skip
    return one, other
