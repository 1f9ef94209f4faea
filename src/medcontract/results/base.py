"""The base classes of all results: conversion to plain data, a `repr` of one line, and a truth value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from medcontract.errors import CallError
from medcontract.extras import DataFrame, require
from medcontract.problems import printable

Data: TypeAlias = "str | int | float | Sequence[Data] | Mapping[str, Data] | None"
"""What can be written as JSON."""
Row = dict[str, object]

# The types of fields. Each marker is the name of a type in `contracts.base`, which defines the valid values:
# `schemas.result_models` derives models and published schemas from the Structs, so that Pydantic is not imported here.

Str = Annotated[str, "Str"]
"""Not blank."""
Count = Annotated[int, "Count"]
Position = Annotated[int, "Position"]
"""1-based."""
NonNegative = Annotated[float, "NonNegative"]
Unit = Annotated[float, "Unit"]
"""From 0 to 1."""
RelativePath = Annotated[str, "RelativePath"]
Code = Annotated[str, "Code"]
"""The code of a problem, such as MC104; codes of plugins have another prefix."""
Sha256 = Annotated[str, "Sha256"]
TrackResult = Annotated[dict[str, Any], "TrackResult"]
"""A document of the result contract of the track in the field `track`."""


class ResultItem(Struct, frozen=True, kw_only=True):
    """A part of a result.

    Its fields are in the JSON output. A field whose name starts with `_` is for renderers: it may contain values
    of records, so it is neither in the output nor in the `repr`.
    """

    _optional: ClassVar[frozenset[str]] = frozenset()
    """Fields that are omitted from the output if they are None."""
    _values: ClassVar[frozenset[str]] = frozenset()
    """Fields that contain values of records: they are in the output only if values are shown."""

    def to_dict(self, show_values: bool = False) -> Any:
        """Convert to plain dicts and lists, without values of records unless `show_values` is set."""
        return self._data(show_values)

    def _data(self, show_values: bool) -> Any:
        """Return the output as plain data."""
        data = {}
        for name in public_fields(type(self)):
            value = getattr(self, name)
            if name in self._values:
                if show_values:
                    data[name] = plain(value, show_values)
            elif value is not None or name not in self._optional:
                data[name] = plain(value, show_values)
        return data

    def _summary(self) -> str:
        """Return the text of the `repr`. It must not contain values of records."""
        return ""

    def __repr__(self) -> str:
        return f"<{' '.join(filter(None, (type(self).__name__, self._summary())))}>"


class Result(ResultItem, frozen=True, kw_only=True):
    """What a function of `medcontract.api` returns: the document that the command prints with `--format json`."""

    _columns: ClassVar[tuple[str, ...]] = ()
    """The columns that a frame has even if there are no rows."""

    def to_json(self, show_values: bool = False) -> str:
        """Exactly what the command prints with `--format json`."""
        return dumps(self.to_dict(show_values))

    def to_text(self, show_values: bool = False) -> str:
        """Return what the command prints on a terminal without colors."""
        return self._rendered("text", show_values)

    def to_html(self, show_values: bool = False) -> str:
        """Return a page, like `--format html`. Raises `CallError` for results without pages."""
        return self._rendered("html", show_values)

    def to_markdown(self, show_values: bool = False) -> str:
        """Return a page, like `--format markdown`. Raises `CallError` for results without pages."""
        return self._rendered("markdown", show_values)

    def _rendered(self, format_name: str, show_values: bool) -> str:
        from medcontract.rendering import formats_of, render
        from medcontract.rendering.page import View

        name = type(self).__name__
        if format_name not in formats_of(name):
            raise CallError(f"a {name} has no format {format_name}", f"it has {', '.join(formats_of(name)) or 'none'}")
        return render(self, format_name, View(show_values=show_values))

    def _repr_html_(self) -> str:
        """Return the display of notebooks, without values of records."""
        from medcontract.rendering.html import notebook

        return notebook(self)

    def to_frame(self, show_values: bool = False) -> DataFrame:
        """Return the rows of the result as a pandas DataFrame, such as problems, figures or submissions.

        Raises `CallError` without the extra `pandas`.
        """
        require("pandas", "pandas")
        from pandas import DataFrame

        rows = plain(self._rows(show_values))
        return DataFrame(rows, columns=self._head(rows))

    def _head(self, rows: Sequence[Row]) -> list[str]:
        """Return the names of all columns of these rows."""
        return list(dict.fromkeys([*self._columns, *(name for row in rows for name in row)]))

    def _rows(self, show_values: bool) -> list[Row]:
        """Return the rows of `to_frame`."""
        return []

    def __bool__(self) -> bool:
        """Return whether the result is a success."""
        return True


T = TypeVar("T", bound=ResultItem)


class ResultList(Result, Generic[T], frozen=True, kw_only=True):
    """A result that is a list: it has a length, and it can be iterated."""

    _listed: ClassVar[str]
    """The name of the field that has the items."""

    def __iter__(self) -> Iterator[T]:
        return iter(getattr(self, self._listed))

    def __len__(self) -> int:
        return len(getattr(self, self._listed))

    def _rows(self, show_values: bool) -> list[Row]:
        return [item.to_dict(show_values) for item in self]


@cache
def public_fields(kind: type[Struct]) -> tuple[str, ...]:
    """Return the names of the fields in the output, in order."""
    return tuple(name for name in kind.__struct_fields__ if not name.startswith("_"))


def plain(value: object, show_values: bool = False) -> Any:
    """Convert the value of a field to dicts, lists, strings and numbers."""
    if isinstance(value, str):
        return str(value) if value.isascii() else printable(value)  # a `Wording` becomes a plain string
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, ResultItem):
        return value._data(show_values)
    if isinstance(value, tuple | list):
        return [plain(each, show_values) for each in value]
    if isinstance(value, dict):
        return {
            name: each if type(each) in _NUMBERS else plain(each, show_values)  # large results have many numbers
            for name, each in value.items()
        }
    return value


_NUMBERS = frozenset({int, float, bool, type(None)})


_UNPRINTABLE = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Control characters, invisible characters and direction marks: valid in JSON, but a terminal may act on them."""


def dumps(data: Data) -> str:
    """Convert to JSON, with invisible characters, and characters that a terminal may act on, escaped."""
    import json  # slow to import

    text = json.dumps(data, ensure_ascii=False)
    try:
        text = msgspec.json.format(text, indent=2)  # three times as fast as an indent of the standard library
    except (UnicodeEncodeError, msgspec.DecodeError):  # a lone surrogate; NaN
        text = json.dumps(data, ensure_ascii=False, indent=2)
    text = text.replace("##[", "#\\u0023[")  # in a log, GitHub Actions would run it
    harmless = text.isascii() and "\x7f" not in text
    return f"{text}\n" if harmless else _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", f"{text}\n")
