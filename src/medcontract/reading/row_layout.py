"""The rows of a table as JSON records, in the same way for CSV, Parquet and DataFrames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import Any

from medcontract.problems import Finding
from medcontract.reading.limits import MAX_MEMBERS
from medcontract.types import Column

NOT_FINITE = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity", "-infinity": "-Infinity", "-inf": "-Infinity"}
BOOLEANS = {"true": "true", "false": "false", "1": "true", "0": "false"}
"""The cells of a CSV that are booleans, in lower case, as JSON."""
_EMPTY_CELLS = (b",,", b",\n", b"\n,")
_OUTER_SPACES = (b" ,", b", ", b" \n", b"\n ")
_count_commas = methodcaller("count", b",")


class Layout:
    """Converts the cells of a row to a JSON record."""

    def __init__(self, columns: Sequence[Column], header: Sequence[str], open_record: bool) -> None:
        index: dict[str, int] = {}
        for place, name in enumerate(header):
            index.setdefault(name, place)
        self._single: list[tuple[str, int, Column]] = []
        self._lists: dict[str, list[tuple[int | None, Column]]] = {}
        for column in columns:
            position = index.get(column.name)
            if len(column.path) > 1:
                self._lists.setdefault(str(column.path[0]), []).append((position, column))
            elif position is not None:
                self._single.append((json.dumps(column.name), position, column))
        self._lists = {name: group for name, group in self._lists.items() if any(p is not None for p, _ in group)}
        known = {column.name for column in columns}
        if open_record:
            self._single += [
                (json.dumps(name), position, Column(name, "text", False, (name,)))
                for name, position in index.items()
                if name not in known
            ]

        self._width = len(header)
        self._around_cells = self._pieces_of_row()
        self._only_text = not self._lists and all(column.kind == "text" for _, _, column in self._single)
        self._nothing_is_null = self._only_text and not any(column.nullable for _, _, column in self._single)

    def _pieces_of_row(self) -> list[bytes]:
        """The JSON before, between and after the cells of a row, in the order of the header.

        A list at the end of a row counts as one cell. Empty if the record does not consist of all cells of the row, or
        if the columns of a list are not next to each other.
        """
        cells = {place: f'{key}:"\0"' if column.kind == "text" else f"{key}:\0" for key, place, column in self._single}
        width = len(cells)
        for name, group in self._lists.items():
            places = [place for place, column in group if place is not None and column.kind == "number"]
            if len(places) < len(group) or places != [*range(places[0], places[0] + len(group))]:
                return []
            width += len(group)
            if places[-1] == self._width - 1:
                del places[1:]
            cells |= dict.fromkeys(places, "\0")
            cells[places[0]] = f"{json.dumps(name)}:[\0"
            cells[places[-1]] += "]"
        text = "{" + ",".join(cells[place] for place in sorted(cells)) + "}\n"
        return text.encode().split(b"\0") if width == self._width else []

    def json_lines(self, rows: bytes) -> bytes | None:
        """Plain rows as JSON, one record per line. None if they have to be converted one by one.

        Cells other than text are copied: decoding rejects what is not a number or boolean.
        """
        if not self._around_cells or not (self._only_text or _can_be_copied(rows)):
            return None
        if self._width == 2 and not self._lists:  # the most frequent table, an id and a label
            if rows.count(b",") != rows.count(b"\n"):
                return None
            before, between, after = self._around_cells
            text = before + rows[:-1].replace(b",", between).replace(b"\n", after + before) + after
        else:
            each = rows.splitlines()
            if set(map(_count_commas, each)) != {self._width - 1}:
                return None
            template = b"%b".join(piece.replace(b"%", b"%%") for piece in self._around_cells)
            splits = len(self._around_cells) - 2
            text = b"".join([template % tuple(row.split(b",", splits)) for row in each])
        if not self._nothing_is_null and _has(rows, _EMPTY_CELLS):  # plain rows have no quotes and no colons
            text = text.replace(b'""', b"null").replace(b":,", b":null,").replace(b":}", b":null}")
        return text

    def lines(self, columns: Sequence[Sequence[bytes]]) -> bytes | None:
        """Records, one per line, from the cells of each column as JSON. None if rows are to be converted one by one."""
        cell = "\0"
        places = [place for _, place, _ in self._single]
        parts = [f"{key}:{cell}" for key, _, _ in self._single]
        for name, group in self._lists.items():
            found = [place for place, _ in group if place is not None]
            if len(found) < len(group) or any(b"null" in columns[place] for place in found):
                return None
            places += found
            parts.append(f"{json.dumps(name)}:[{','.join([cell] * len(found))}]")
        template = ("{" + ",".join(parts) + "}\n").replace("%", "%%").replace(cell, "%b").encode()
        rows = zip(*[columns[place] for place in places], strict=True)
        return b"".join([template % row for row in rows]) if places else None

    def record(self, cells: Sequence[Any], write: Callable[[Any, Column], str]) -> bytes:
        """The record of a row; `write` converts a cell to JSON."""
        parts = [f"{key}:{write(cells[position], column)}" for key, position, column in self._single]
        for name, group in self._lists.items():
            items = ["null" if p is None else write(cells[p], column) for p, column in group]
            text = "null" if all(item == "null" for item in items) else "[" + ",".join(items) + "]"
            parts.append(f"{json.dumps(name)}:{text}")
        return ("{" + ",".join(parts) + "}").encode()


def too_wide(offset: int | None = None) -> Finding:
    """A table has more than `MAX_MEMBERS` columns: explaining each of them would take long."""
    hint = "remove the columns that the contract does not have"
    return Finding("MC020", f"the table has more than {MAX_MEMBERS:,} columns", hint, offset=offset)


def _can_be_copied(rows: bytes) -> bool:
    """Whether decoding rejects all cells that are not JSON numbers or booleans: not null, and not spaces around one."""
    return b"null" not in rows and not (b" " in rows and _has(rows, _OUTER_SPACES))


def _has(rows: bytes, texts: Iterable[bytes]) -> bool:
    """Whether one of the texts, which may start with the line break before the first row, occurs in the rows."""
    return any(text in rows or (text[:1] == b"\n" and rows.startswith(text[1:])) for text in texts)
