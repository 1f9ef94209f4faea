"""Finds the only possible meaning of a wrong name or value. One that may mean several things is not repaired."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from medcontract.contracts.suggestions import LONGEST_NAME, certain_renames, folded
from medcontract.contracts.wrong_values import (
    ERROR_FIELDS,
    PRINTED_NUMBERS,
    means_no_error,
    meant_boolean,
    quantity,
)
from medcontract.types import BOOLEANS, Column

Schemas = Sequence[Mapping[str, Any]]
"""Patterns of one value, which must match one of them."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""A number in JSON."""
_DECIMAL_COMMA = re.compile(r"-?(?:0|[1-9][0-9]*),[0-9]+(?:[eE][+-]?[0-9]+)?")
_OR_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")
_PERCENT = re.compile(r"([0-9]+)(?:\.([0-9]+))? ?%")


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


def renamed(unknown: Iterable[str], absent: Collection[str], group: Sequence[str] = ()) -> dict[str, str]:
    """Return new names of unknown keys; `absent` are the known ones that are not there.

    `group`: columns of one list. Names that are these with the same words before or after all of them are certain, too.
    """
    unknown = list(unknown)
    found = certain_renames(unknown, absent)
    if group and set(group) <= set(absent):
        affixes = {
            (name[: -len(column)], "") if name.endswith(column) else ("", name[len(column) :])
            for name in unknown
            for column in group
            if len(name) > len(column) and (name.endswith(column) or name.startswith(column))
        }
        same = [(a, b) for a, b in affixes if all(f"{a}{column}{b}" in unknown for column in group)]
        if len(same) == 1:
            found |= {f"{same[0][0]}{column}{same[0][1]}": column for column in group}
    return found


# --- values


def decimal_commas(texts: Iterable[str]) -> bool:
    """Return whether commas in these numbers are decimal: `1,234` alone may have a thousands separator."""
    commas = [text for text in map(str.strip, texts) if "," in text]
    return any(_DECIMAL_COMMA.fullmatch(text) and not _OR_THOUSANDS.fullmatch(text) for text in commas)


def json_value(token: str, schemas: Schemas, field: str, commas: bool = False) -> str | None:
    """Return the only JSON text that a wrong value can mean under these schemas.

    `commas`: those in numbers are decimal.
    A number for an id is not repaired, as 7 may have been "7" or "007", nor is one for a name.
    """
    types = {str(each["type"]) for each in schemas if "type" in each}
    try:
        value = json.loads(token)
    except ValueError:
        return None
    if field in ERROR_FIELDS:
        return "null" if means_no_error(value) else None
    if "boolean" in types and types <= {"boolean", "null"}:
        meant = meant_boolean(value)
        return meant if all(each.get("const", meant == "true") is (meant == "true") for each in schemas) else None
    if isinstance(value, bool) and any(each.get("enum") == [0, 1] for each in schemas):
        return str(int(value))
    if NUMBER.fullmatch(token):
        return json.dumps(token) if field in PRINTED_NUMBERS and types - {"null"} == {"string"} else None  # as written
    if not isinstance(value, str):
        return None
    choice = same_but_for_spelling(value, _choices(schemas)) or _by_pattern(value, schemas)
    if choice is not None:
        return json.dumps(choice, ensure_ascii=False)
    is_number = types & {"number", "integer"} and "string" not in types
    return _number(value.strip(), schemas, field, commas) if is_number else None


def cell_value(cell: str, column: Column, schemas: Schemas, commas: bool) -> str:
    """Return the cell, or the only valid one that it can mean. `commas`: those in numbers are decimal."""
    if column.kind == "boolean":
        return cell if cell.lower() in BOOLEANS else meant_boolean(cell) or cell
    if column.kind == "number":
        return cell if NUMBER.fullmatch(cell) else _number(cell.strip(), schemas, column.name, commas) or cell
    choices = _choices(schemas)
    if cell in choices:
        return cell
    return same_but_for_spelling(cell, choices) or _by_pattern(cell, schemas) or cell


def _number(text: str, schemas: Schemas, field: str, commas: bool) -> str | None:
    """Return the number that a text means: with a decimal comma, a share in percent, or with the unit of the field."""
    if commas and _DECIMAL_COMMA.fullmatch(text.partition(" ")[0].rstrip("%")):
        text = text.replace(",", ".")
    if NUMBER.fullmatch(text):
        return text
    percent = _PERCENT.fullmatch(text)
    if percent and any(each.get("maximum") == 1 for each in schemas):
        digits, decimals = percent.group(1).lstrip("0").rjust(3, "0"), percent.group(2) or ""  # 95 % is 0.95
        return f"{digits[:-2]}.{digits[-2:]}{decimals}"
    found = quantity(text, field)
    return found.number if found and found.factor == 1 and NUMBER.fullmatch(found.number) else None


def _by_pattern(text: str, schemas: Schemas) -> str | None:
    """Return the text without blanks around it and with `/` for a backslash, if only then it has the right pattern."""
    patterns = [re.compile(each["pattern"]) for each in schemas if "pattern" in each]
    plain = text.strip()
    if not patterns or any(pattern.search(text) for pattern in patterns):
        return None
    for meant in (plain, plain.replace("\\", "/")):
        if any(pattern.search(meant) for pattern in patterns):
            return meant
    return None


def _choices(schemas: Schemas) -> list[str]:
    """Return the strings that an enumeration allows."""
    found = (value for each in schemas for value in (*each.get("enum", ()), each.get("const")))
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))
