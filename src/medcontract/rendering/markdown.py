"""Pages as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from medcontract.problems import printable
from medcontract.rendering import page_of
from medcontract.rendering.grouping import Grouped, grouped, left
from medcontract.rendering.page import (
    LONGEST_CELL,
    Block,
    Bullets,
    ChangeTable,
    Code,
    FileProblems,
    Line,
    Link,
    Outcomes,
    Page,
    Pairs,
    Preformatted,
    Problems,
    Styled,
    View,
    clipped,
)
from medcontract.results.base import Result
from medcontract.results.tables import MOST_CASES, Table

_MOST_PROBLEMS = 200
"""The number of problems in a table."""


def document(result: Result, view: View) -> str:
    return write(page_of(result, view), view.show_values)


def write(page: Page, show_values: bool = False) -> str:
    """Return the title, the verdict with the facts and reasons, then the sections. Paragraphs are apart."""
    about = "".join(f" {_inline(line)}" for line in page.about)
    head = [f"**{escaped(page.verdict)}**.{about}"] if page.verdict else []
    facts = [
        f"- {escaped(fact.name)} **{escaped(fact.value)}**{f' ({escaped(fact.note)})' if fact.note else ''}"
        for fact in page.facts
    ]
    reasons = [f"- {escaped(reason)}" for reason in page.reasons]
    subtitle = [escaped(page.subtitle)] if page.subtitle else []
    parts = [[f"# {escaped(page.title)}"], subtitle, head, facts, reasons]
    for section in page.sections:
        if section.on == "terminal":
            continue
        found = [list(_block(block, show_values, section.most or MOST_CASES)) for block in section.blocks]
        parts += [[f"## {escaped(section.title)}"] if section.title and any(found) else [], *found]
    parts.append([escaped(page.version)] if page.version else [])
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _block(block: Block, show_values: bool, most: int) -> Iterator[str]:
    match block:
        case Table() | ChangeTable():
            yield from table_lines(block.table if isinstance(block, ChangeTable) else block, most)
        case Problems():
            yield from _problems(block.parts, show_values)
            yield from (["", f"Total: {escaped('; '.join(block.totals))}."] if block.totals else [])
        case Outcomes(head, items):
            rows = [(item.title, "; ".join(filter(None, [item.detail, *item.reasons]))) for item in items]
            yield from table_lines(Table("", head, rows, numeric=False), len(rows))
            problems = list(_problems([item.problems for item in items], show_values))
            yield from ["", *problems] if problems else []
        case Bullets(lines):
            yield from (f"- {_line(line)}" for line in lines)
        case Pairs(head, rows):
            yield from table_lines(Table("", head, rows))
        case Preformatted(lines, language):
            yield from [f"```{language}", *("".join(map(_plain, line)) for line in lines), "```"]
        case _:
            yield _line(block.line)


def table_lines(table: Table, most: int = MOST_CASES) -> Iterator[str]:
    table = table.first(most)
    if not table.rows:
        return
    yield _row(table.head)
    yield "|" + "".join("---:|" if right else "---|" for right in table.right_aligned)
    for count, row in enumerate(table.rows, 1):
        yield _row(row)
        if count == table.line_after < len(table.rows):
            yield f"|{' --- |' * len(row)}"
    if table.note:
        yield ""
        yield escaped(table.note)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_inline, clipped(cells, LONGEST_CELL)))} |"


def _inline(text: str) -> str:
    if isinstance(text, Link):
        return f"[{escaped(text)}]({text.target})"
    return _code(text) if isinstance(text, Code) else escaped(text)


def _problems(parts: Iterable[FileProblems], show_values: bool) -> Iterator[str]:
    """Yield a table of the problems; the same problem is listed once, with the number of times."""
    parts = list(parts)
    found = [each for groups in grouped(parts, show_values) for each in groups]
    shown = found[:_MOST_PROBLEMS]
    rows = [_problem(each, show_values) for each in shown]
    more = sum(map(left, parts)) + sum(each.total for each in found[_MOST_PROBLEMS:])
    note = f"and {more:,} more" if more > 0 else ""
    head = ("file", "place", "code", "problem", "hint")
    yield from table_lines(Table("", head, rows, note, numeric=False))


def _problem(group: Grouped, show_values: bool) -> tuple[str, ...]:
    problem = group.problem
    message = problem.message_with_value if show_values else problem.message
    others = f" ({group.others})" if group.others else ""
    return group.file, problem._place.lstrip(":, "), problem.code, f"{message}{others}", problem.hint or ""


def _line(line: Line) -> str:
    return "".join(
        _inline(part) if isinstance(part, str) else _code(part.text) if part.role in ("code", "digest")
        else f"**{escaped(part.text)}**"
        for part in line
    )  # fmt: skip


def _plain(part: str | Styled) -> str:
    return printable(part if isinstance(part, str) else part.text)


def _code(name: str) -> str:
    """Return a name in backticks, if possible."""
    return escaped(name) if set(name) & set("`|") or not name.isprintable() else f"`{name}`"


def escaped(text: str) -> str:
    """Escape text for Markdown, on one line."""
    flat = "".join(c if c.isprintable() else " " for c in printable(text))
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
