"""Pages as text for a terminal; with `--quiet`, only the outcome. Problems look like the messages of a compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from medcontract.problems import is_plain, plural
from medcontract.rendering import page_of
from medcontract.rendering.grouping import Grouped, grouped, left
from medcontract.rendering.page import (
    Block,
    Bullets,
    ChangeTable,
    FileProblems,
    Line,
    Outcome,
    Outcomes,
    Pairs,
    Preformatted,
    Problems,
    Style,
    View,
    clean,
    clipped,
)
from medcontract.results.base import Result
from medcontract.results.tables import MOST_CASES, Table
from medcontract.results.validation import Problem

_WORDS = {"failed": "FAIL", "warning": "WARN", "passed": "pass", "skipped": "skip"}
"""Words of items that are shorter on a terminal, so that they are aligned."""
_ITEM_ROLES = {"good": "good", "bad": "error", "warning": "warning", "neutral": "dim"}
_DIGEST = 16
"""The digits of a hash that identify it for people."""
_APART = (Table, ChangeTable, Outcomes, Preformatted)
"""Blocks with a blank line before and after them."""


def document(result: Result, view: View) -> str:
    page = page_of(result, view)
    outcome = [_line(line, view.style) for line in page.lines]
    contracts = [clean(page.contracts)] if view.quiet and page.contracts else []
    outcome = _fitted([*contracts, *outcome] if page.last else [*outcome, *(f"  {line}" for line in contracts)], view)
    parts = [] if page.last else [(outcome, not view.quiet)]
    for section in page.sections:
        if section.on == "pages" or (view.quiet and not section.outcome):
            continue
        for block in section.blocks:
            lines = list(_block(block, view, section.most or MOST_CASES))
            if isinstance(block, Outcomes) and not view.quiet:
                lines.insert(0, view.style(clean(f"{section.title}:"), "strong"))
            if not (isinstance(block, Preformatted) and block.language):
                lines = _fitted(lines, view)
            parts.append((lines, isinstance(block, _APART) and not view.quiet))
    parts += [(_fitted([clean(page.advice)], view), False)] if page.advice and not view.quiet else []
    parts += [(outcome, False)] if page.last else []
    return "\n".join(_spaced(parts)) + "\n"


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_EXCERPT = re.compile(r" *[0-9]* \|")
_LEAST_WIDTH = 40
_MARGIN = 10
"""What is left of a source line: its number and the indent of a check."""


def _fitted(lines: list[str], view: View) -> list[str]:
    return [part for line in lines for part in _wrapped(line, view.width)] if view.width else lines


def _wrapped(line: str, width: int) -> Iterator[str]:
    """Wrap a line that is too long, except a row of a table and the content of a file."""
    plain = _ESCAPES.sub("", line)
    if _width(plain) <= width or width < _LEAST_WIDTH or _EXCERPT.match(plain) or "   " in plain.strip():
        yield line
        return
    start = len(plain) - len(plain.lstrip())
    indent = " " * (start + (6 if plain[start : start + 4] in _WORDS.values() else 2))
    current, used = " " * start, start
    for word in re.split(r"(?<= )(?=\S)", line.lstrip(" ")):
        size = _width(_ESCAPES.sub("", word))
        if used > start and used + len(_ESCAPES.sub("", word).rstrip()) > width:
            yield current.rstrip()
            current, used = indent, len(indent)
        current, used = current + word, used + size
    yield current


def _spaced(parts: Sequence[tuple[Sequence[str], bool]]) -> list[str]:
    """Return the lines of all parts, with a blank line around parts that are apart."""
    lines: list[str] = []
    open_after = False
    for part, apart in parts:
        if part and lines and lines[-1] and (apart or open_after):
            lines.append("")
        lines += part
        open_after = apart if part else open_after
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _block(block: Block, view: View, most: int) -> Iterator[str]:
    style = view.style
    match block:
        case Problems():
            parts, some = block.parts, any(part.problems for part in block.parts)
            found = grouped(parts, view.show_values) if some else [[] for _ in parts]
            for part, groups in zip(parts, found, strict=True):
                yield from problem_lines(part, view, groups)
            yield from (f"{style('total:', 'dim')} {clean(line)}" for line in block.totals)
        case Table() | ChangeTable():
            yield from table_lines(block.table if isinstance(block, ChangeTable) else block, style, most, view.width)
        case Outcomes():
            for item in block.items:
                yield from _item(item, view)
        case Bullets(lines, label) if label:
            yield from (f"{style(f'{label}:', label)} {_line(line, style)}" for line in lines)
        case Bullets(lines):
            yield from (style(_line(line), "dim") for line in lines)
        case Preformatted(lines):
            yield from (_line(line, style) for line in lines)
        case Pairs(_, rows):
            yield from (f"  {clean(name)}  {clean(value)}" for name, value in rows)
        case _:
            yield style(_line(block.line), "dim")


def _line(line: Line, style: Style | None = None) -> str:
    texts = []
    for part in line:
        role = "" if isinstance(part, str) else part.role
        text = clean(part if isinstance(part, str) else part.text)
        text = text[:_DIGEST] if role == "digest" else text
        texts.append(style(text, role) if style and role not in ("", "code", "digest") else text)
    return "".join(texts)


def table_lines(table: Table, style: Style, most: int = MOST_CASES, width: int | None = None) -> Iterator[str]:
    """Yield the table in columns, with text aligned left and numbers aligned right; its head only if it has a title.

    If it is too wide, a text in its last column is wrapped, and the last columns of numbers are left out.
    """
    table = table.first(most)
    if not table.rows:
        return
    cells = [tuple(map(clean, clipped(row))) for row in ((table.head, *table.rows) if table.title else table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    kept, note = list(range(len(widths))), table.note
    if width and sum(widths) + 2 * len(widths) > width:
        if not table.right_aligned[-1]:
            widths[-1] = min(widths[-1], _LEAST_WIDTH)
        numbers = [n for n in kept if table.title and table.right_aligned[n]][1:]  # the first one matters most
        while numbers and 2 * len(kept) + sum(widths[n] for n in kept) > width:
            kept.remove(numbers.pop())
        widths[-1] += max(0, width - 2 * len(kept) - sum(widths[n] for n in kept))
        lost = [table.head[n] for n in range(len(widths)) if n not in kept]
        left_out = f"not shown, because the terminal is too narrow: {', '.join(lost)}" if lost else ""
        note = "; ".join(filter(None, [note.rstrip(".") if lost else note, left_out]))
    if table.title:
        yield style(clean(table.title), "strong")
    for position, row in enumerate(cells):
        shown = [row[n].rjust(widths[n]) if table.right_aligned[n] else row[n].ljust(widths[n]) for n in kept]
        first, *rest = wrap(shown[-1], widths[kept[-1]]) or [""] if len(shown[-1]) > widths[kept[-1]] else shown[-1:]
        line = "  " + "  ".join([*shown[:-1], first]).rstrip()
        yield style(line, "dim") if table.title and position == 0 else line
        yield from (" " * (2 + sum(len(each) + 2 for each in shown[:-1])) + each for each in rest)
        if table.line_after and position == table.line_after - (0 if table.title else 1) < len(cells) - 1:
            yield "  " + "-" * (sum(widths[n] for n in kept) + 2 * len(kept) - 2)
    if note:
        yield f"  {style(clean(note), 'dim')}"


def _item(item: Outcome, view: View) -> Iterator[str]:
    word = view.style(_WORDS.get(item.word, item.word), _ITEM_ROLES[item.role])
    yield f"{word}  {clean(f'{item.title}: {item.detail}' if item.detail else item.title)}"
    yield from (f"  {clean(reason)}" for reason in item.reasons)
    problems = [] if view.quiet else list(problem_lines(item.problems, view))
    if problems:
        yield from ("", *(f"      {line}" if line else "" for line in problems))


# --- problems


def problem_lines(part: FileProblems, view: View, groups: Sequence[Grouped] | None = None) -> Iterator[str]:
    """Yield the problems of a file, each with a blank line after it, the number of the others, and the outcome."""
    groups = grouped([part], view.show_values)[0] if groups is None and part.problems else groups or []
    shown = groups[: view.max_problems] if part.unreadable or not view.quiet else []
    for each in shown:
        yield from _problem(each, view)
    more = left(part, groups[len(shown) :]) if part.found or part.problems else 0
    if more > 0 and not view.quiet:
        others = f"… and {plural(more, 'more problem')}" if shown else plural(more, "problem")
        where = f"{clean(part.file)}: " if part.file else ""
        kinds = " of other kinds" if part.file and shown else ""
        yield f"{where}{view.style(f'{others}{kinds} (use --max-problems to show more)', 'dim')}"
        yield ""
    if part.outcome and not (view.quiet and part.unreadable):
        yield _line(part.outcome, view.style)


def _problem(group: Grouped, view: View) -> Iterator[str]:
    style, path, problem = view.style, clean(group.file), group.problem
    what = style(f"{problem.severity} {problem.code}", problem.severity)
    message = problem.message_with_value if view.show_values and not problem._excerpt else problem.message
    yield f"{style(path + problem._place, 'strong')}: {what} {clean(message)}{_column(problem)}"
    gutter = " " * len(str(problem.line or ""))
    if view.show_values and problem._excerpt is not None:
        excerpt, at = _around(problem._excerpt, problem._caret, (view.width or 0) - len(gutter) - _MARGIN)
        yield f" {style(f'{problem.line} |', 'dim')} {excerpt}"
        if at >= 0:
            caret = " " * _width(excerpt[:at]) + style("^", problem.severity)
            yield f" {style(f'{gutter} |', 'dim')} {caret}"
    if problem.hint:
        yield f" {gutter} {style('=', 'dim')} {style('hint:', 'hint')} {clean(problem.hint)}"
    if group.others:
        yield f" {gutter} {style(f'… {clean(group.others)}', 'dim')}"
    yield ""


def _around(excerpt: str, caret: int, room: int) -> tuple[str, int]:
    """Return the part of a source line around the caret that fits, and the caret in it."""
    if room < _LEAST_WIDTH or _width(excerpt) <= room:
        return excerpt, caret
    start = max(0, min(caret - room // 2, len(excerpt) - room))
    part = ("…" if start else excerpt[:1]) + excerpt[start + 1 : start + room]
    return (f"{part[:-1]}…" if start + room < len(excerpt) else part), caret - start


def _column(problem: Problem) -> str:
    """Return the column of a table: its letter in a CSV file, otherwise its name, unless the message has it."""
    if problem._letter:
        return f" (column {problem._letter})"
    field = problem.field
    if problem.line is not None or field is None or not is_plain(field) or f"'{field}'" in problem.message:
        return ""
    return f" (column '{field}')"


def _width(text: str) -> int:
    """Return the width on a terminal: wide characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
