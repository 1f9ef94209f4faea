"""What a wrong name or value can only mean. A name or value that may mean several things is not repaired."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from medcontract.contracts.suggestions import ALMOST_EQUAL, LONGEST_NAME, folded, nearest
from medcontract.reading.csv_rows import BOOLEANS
from medcontract.types import Column

Schemas = Sequence[Mapping[str, Any]]
"""Those of one value, of which it must match one."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""A number in JSON."""
_DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
_PERCENT = re.compile(r"([0-9]+)(?:\.([0-9]+))? ?%")
_BOOLEANS = {"true": "true", "false": "false", "verdadero": "true", "falso": "false"}
"""Of cells; in JSON, only the English ones are certain."""
_FAILURES = ("error", "exception")
"""Fields in which 0 may mean none, but "0" is a failure."""


class Repair(NamedTuple):
    """One kind of repair, without any value of a record."""

    what: str
    line: int | None = None


# --- names


def same_but_for_spelling(text: str, known: Iterable[str]) -> str | None:
    """Return the only known text that is equal without case, accents, spaces and punctuation."""
    plain = folded(text) if len(text) < LONGEST_NAME else ""  # it compares no more characters
    found = [each for each in known if folded(each) == plain]
    return found[0] if len(found) == 1 and plain else None


def renamed(unknown: Iterable[str], known: Iterable[str], missing: Iterable[str]) -> dict[str, str]:
    """Return new names of unknown keys. `missing` are the known ones that are required and not present.

    A name is changed only if one key can mean it: if they are equal but for spelling, or if the key is similar to a
    single missing one. Two keys that would get the same name stay as they are.
    """
    unknown, known, missing = list(unknown), list(known), list(missing)
    found = {name: same_but_for_spelling(name, known) or _similar(name, missing) for name in unknown}
    targets = list(found.values())
    return {name: new for name, new in found.items() if new is not None and targets.count(new) == 1}


def _similar(name: str, missing: list[str]) -> str | None:
    best = nearest(name, missing, ALMOST_EQUAL)
    rest = [each for each in missing if each != best]
    return best if best is not None and nearest(name, rest, ALMOST_EQUAL) is None else None


# --- values


def json_value(token: str, schemas: Schemas, field: str) -> str | None:
    """Return the only JSON text that a wrong value can mean under these schemas.

    A number for an id is not repaired: 7 may have been "7" or "007".
    """
    types = {str(each["type"]) for each in schemas if "type" in each}
    if NUMBER.fullmatch(token):
        may_be_any = types - {"null"} == {"string"} and not any(
            key in each for each in schemas for key in ("pattern", "enum", "const")
        )
        return json.dumps(token) if may_be_any and field not in _FAILURES else None  # the digits as written: "5.0"
    try:
        value = json.loads(token)
    except ValueError:
        return None
    if not isinstance(value, str):
        return None
    choice = same_but_for_spelling(value, _choices(schemas))
    if choice is not None:
        return json.dumps(choice, ensure_ascii=False)
    plain = value.strip()
    if "string" in types:
        return None
    if types & {"number", "integer"} and NUMBER.fullmatch(plain):
        return plain
    return plain.lower() if "boolean" in types and plain.lower() in ("true", "false") else None


def cell_value(cell: str, column: Column, schemas: Schemas, decimal_commas: bool) -> str:
    """Return the cell, or the only valid one that it can mean. `decimal_commas`: commas in numbers are decimal."""
    if column.kind == "boolean":
        return cell if cell.lower() in BOOLEANS else _BOOLEANS.get(cell.strip().lower(), cell)
    if column.kind == "number":
        return cell if NUMBER.fullmatch(cell) else _number(cell.strip(), schemas, decimal_commas) or cell
    choices = _choices(schemas)
    return cell if cell in choices else same_but_for_spelling(cell, choices) or cell


def _number(cell: str, schemas: Schemas, decimal_commas: bool) -> str | None:
    if NUMBER.fullmatch(cell):
        return cell
    if decimal_commas and _DECIMAL_COMMA.fullmatch(cell):
        return cell.replace(",", ".")
    percent = _PERCENT.fullmatch(cell.replace(",", ".") if decimal_commas else cell)
    if not percent or not any(each.get("maximum") == 1 for each in schemas):
        return None
    digits, decimals = percent.group(1).lstrip("0").rjust(3, "0"), percent.group(2) or ""  # a share: 95 % is 0.95
    return f"{digits[:-2]}.{digits[-2:]}{decimals}"


def _choices(schemas: Schemas) -> list[str]:
    """Return the strings that an enumeration allows."""
    found = (value for each in schemas for value in (*each.get("enum", ()), each.get("const")))
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))
