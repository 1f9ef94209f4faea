"""The same problem in many records, several fields or files, as one, with counts. JSON lists all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from medcontract.problems import CODES_OF_MISSING_VALUES, plural
from medcontract.rendering.page import FileProblems
from medcontract.results.validation import Problem

_NUMBERS = re.compile(r"[0-9]+")
_INDEXES = re.compile(r"(?<=/)[0-9]+(?=/|\Z)")
_MANY_RENAMES, _MOST_RENAMES = 3, 12
"""From this number on, renames in a file are one problem."""
_MOST_NAMED = 4
"""Other fields and files that are named."""


class Grouped(NamedTuple):
    """A problem that represents all equal ones."""

    file: str
    problem: Problem
    total: int
    """How many there are, listed or not."""
    others: str
    """Says how often, and where, the others are."""


@dataclass
class _Kind:
    """The same problem in the same field of a file."""

    part: int
    file: str
    pattern: str
    """Where it is: the pointer without indexes, or the column."""
    problems: list[Problem]

    @property
    def first(self) -> Problem:
        return self.problems[0]

    @property
    def total(self) -> int:
        return sum(1 + problem._more for problem in self.problems)


def merged(problems: Iterable[Problem]) -> int:
    """Count the missing keys that are there under another name, which is a problem of its own."""
    return sum(1 + problem._more for problem in problems if problem._merged)


def grouped(parts: Sequence[FileProblems], show_values: bool = False, places: int = 2) -> list[list[Grouped]]:
    """Return the groups of each part, in the order of their first problem; problems of later parts may join one.

    `places`: how many places of others are named.
    """
    kinds: dict[tuple[object, ...], _Kind] = {}
    for number, part in enumerate(parts):
        for file, problem in part.problems:
            if not problem._merged:
                pattern = _INDEXES.sub("*", problem.pointer) if problem.field is None else problem.field
                key = (number, file, problem.code, problem.severity, _statement(problem), pattern)
                kinds.setdefault(key, _Kind(number, file, pattern, [])).problems.append(problem)
    empty = {kind.file for kind in kinds.values() if kind.first._unanswered == "record"}
    renamed = Counter(kind.part for kind in kinds.values() if kind.first._renamed)
    groups: dict[tuple[object, ...], list[_Kind]] = {}
    for kind in kinds.values():
        first = kind.first
        other = "" if first._subject else kind.pattern  # no name says that it is another field
        if kind.file in empty and (first._unanswered == "record" or (first._unanswered and first.record is None)):
            alike: tuple[object, ...] = (kind.file,)
        elif first._renamed and renamed[kind.part] >= _MANY_RENAMES:
            alike = (kind.file, "renames")
        else:
            alike = (
                first._unanswered or first.code,
                first.severity,
                _statement(first),
                _NUMBERS.sub("#", first.hint or ""),
                other,
            )
        groups.setdefault(alike, []).append(kind)
    found: list[list[Grouped]] = [[] for _ in parts]
    for some in groups.values():
        found[some[0].part].append(_group(some, parts[some[0].part].records, show_values, places))
    return found


def _statement(problem: Problem) -> str:
    """Return what is wrong, without the name of the field and without numbers."""
    return "no answer" if problem._unanswered else _NUMBERS.sub("#", problem._statement or problem.message)


def _group(kinds: list[_Kind], records: int | None, show_values: bool, places: int) -> Grouped:
    first, total = kinds[0].first, sum(kind.total for kind in kinds)
    names = list(dict.fromkeys(kind.first._subject for kind in kinds if kind.first._subject))
    counts = {kind.total for kind in kinds if kind.first._unanswered == "record" and kind.first.record is not None}
    if counts == {records} and names:
        which = f"none of the {records:,} records has an answer" if records != 1 else "its record has no answer"
        hints = {kind.first.hint for kind in kinds if kind.first.record is not None}
        hint = "; ".join(filter(None, [f"fill in {_listed(names, len(names))}", *(hints if len(hints) == 1 else ())]))
        filled = replace(first, message=f"the file is not filled in: {which}", hint=hint, _value=None)
        return Grouped(kinds[0].file, filled, total, "")
    if len(kinds) >= _MANY_RENAMES and first._renamed:
        what = "columns" if first._subject.startswith("column ") else "keys"
        pairs = [f"{kind.first._subject.removeprefix('column ')} to '{kind.first._renamed}'" for kind in kinds]
        message = f"{len(kinds)} {what} are not in this contract"
        hint = f"rename {_listed(pairs, _MOST_RENAMES)}"
        shown = replace(first, message=message, hint=hint, _value=None, _letter=None)
        return Grouped(kinds[0].file, shown, total, "" if total == len(kinds) else f"{plural(total, 'problem')} in all")
    texts = [_more(kinds[0], show_values, places)]
    others = [name for name in names if name != first._subject]
    texts += [f"the same for {_listed(others)}"] if others else []
    files = [file for file in dict.fromkeys(kind.file for kind in kinds) if file != kinds[0].file]
    texts += [f"the same in {_listed(files)}"] if files else []
    in_all = f": {plural(total, 'problem')} in all" if others or files else ""
    return Grouped(kinds[0].file, first, total, "; ".join(filter(None, texts)) + in_all)


def _more(kind: _Kind, show_values: bool, places: int) -> str:
    """Say how many more there are in the same field, and where the first of them are."""
    first, left = kind.first, kind.total - 1
    if not left:
        return ""
    records = {problem.record for problem in kind.problems}
    one_each = len(records) == len(kind.problems) and None not in records
    word = "record" if one_each and all(each._more_are == "record" for each in kind.problems) else "problem"
    unit = "line " if first.line is not None else "record "
    named: dict[str, None] = {}
    for each in kind.problems[1:]:
        number = each.record if each.line is None else each.line
        value = each._value if show_values and each._value != first._value else None
        if first.code in CODES_OF_MISSING_VALUES:  # they are in no record
            named[value or ""] = None
        elif number not in (None, first.record if first.line is None else first.line):
            named[f"{number:,} ({value})" if value else f"{number:,}"] = None
    named.pop("", None)
    unit = "" if first.code in CODES_OF_MISSING_VALUES else unit if left == 1 else unit.replace(" ", "s ")
    shown = ", ".join([*list(named)[:places], *["…"] * (left > min(places, len(named)))])
    return f"and {plural(left, f'more {word}')} like this{f' ({unit}{shown})' if named and places else ''}"


def _listed(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    left = len(names) - most
    *rest, last = [*names[:most], f"{left:,} more"] if left > 0 else names
    return f"{', '.join(rest)} and {last}" if rest else last


def left(part: FileProblems, hidden: Sequence[Grouped] = ()) -> int:
    """Count the problems that are neither listed nor like a listed one, also in groups that are not shown."""
    listed = sum(1 + problem._more for _, problem in part.problems)
    return max(0, part.found - listed) + sum(each.total for each in hidden)


def fix_first(problems: Sequence[tuple[str, Problem]], errors: int) -> str:
    """Name the error that explains most of the others, if there are several: of the syntax, then of the structure."""
    found = [each for each in grouped([FileProblems(problems, errors)])[0] if each.problem.severity == "error"]
    if len(found) < 2:
        return ""
    first = min(found, key=lambda each: each.problem.code[:3])
    hint = f" ({first.problem.hint})" if first.problem.hint else ""
    return f"Fix this first: {first.file}{first.problem._place}: {first.problem.message}{hint}"
