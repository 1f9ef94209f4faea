"""JSON with indentation, like `json.dumps(data, ensure_ascii=False, indent=2)`, but faster for long lists of rows.

With an indent, the standard library does not use its encoder in C.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

_INDENT = 2
_SCALARS = frozenset({str, int, float, bool, type(None)})
_ROWS = 10_000
"""Rows that are encoded at a time, to save memory."""


def indented(data: Any) -> str:
    """The text, with a line break at its end."""
    return "".join(chain(_pieces(data, "\n"), "\n"))


def _pieces(value: Any, line_break: str) -> Iterator[str]:
    """The text of a value whose first line is already indented. `line_break` includes the indentation."""
    inner = line_break + " " * _INDENT
    if type(value) is dict and value and all(type(name) is str for name in value):
        for number, (name, item) in enumerate(value.items()):
            yield f"{',' if number else '{'}{inner}{json.dumps(name, ensure_ascii=False)}: "
            yield from _pieces(item, inner)
        yield f"{line_break}}}"
    elif type(value) is list and len(value) > _ROWS:
        for at in range(0, len(value), _ROWS):
            text = _list_text(value[at : at + _ROWS]).replace("\n", line_break)
            yield f"{',' if at else '['}{text[1 : -len(line_break) - 1]}"
        yield f"{line_break}]"
    else:  # line breaks in strings are escaped, so that only the indentation is replaced
        text = _list_text(value) if type(value) is list else json.dumps(value, ensure_ascii=False, indent=_INDENT)
        yield text.replace("\n", line_break)


def _list_text(values: list[Any]) -> str:
    try:
        if _are_simple_rows(values):
            return msgspec.json.format(msgspec.json.encode(values), indent=_INDENT).decode()
    except UnicodeEncodeError:  # a lone surrogate
        pass
    return json.dumps(values, ensure_ascii=False, indent=_INDENT)


def _are_simple_rows(values: Sequence[Any]) -> bool:
    """Whether all values are objects that msgspec encodes like the standard library, without any inside them."""
    if set(map(type, values)) != {dict} or set(map(type, chain.from_iterable(values))) != {str}:
        return False
    numbers = {value for value in chain.from_iterable(map(dict.values, values)) if type(value) is float}
    kinds = set(map(type, chain.from_iterable(map(dict.values, values))))
    return kinds <= _SCALARS and _are_plain(numbers)


def _are_plain(numbers: Iterable[float]) -> bool:
    """Whether the numbers are written without an exponent."""
    return all(number == 0 or 1e-4 <= abs(number) < 1e15 for number in numbers)
