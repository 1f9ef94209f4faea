"""What was probably meant by a wrong value: a unit, a scale, a name instead of its number, an empty answer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from medcontract.contracts.registry import known_keys, schemas_at, value_at, variants_of
from medcontract.contracts.string_patterns import AS_DATE, DATE, GUID
from medcontract.contracts.wrong_values import (
    ERROR_FIELDS,
    LEAVE_EMPTY,
    PRINTED_NUMBERS,
    decimal,
    means_no_error,
    meant_boolean,
    quantity,
    unit_of,
)
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Path

Spread = Mapping[str, Sequence[str]]
"""The columns of list fields that have one item per name."""

_DECIMAL_COMMA = lazy_pattern(r"\s*-?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?\s*")
_PLAIN_NUMBER = lazy_pattern(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_AMBIGUOUS = lazy_pattern(r"\s*-?[1-9][0-9]{0,2},[0-9]{3}\s*")
"""A decimal comma, or a thousands separator."""
_PERCENT = lazy_pattern(r"\s*[0-9]+([.,][0-9]+)?\s*%\s*")
_CLOCK = lazy_pattern(r"\s*[0-9]+(:[0-9]{2}){1,2}([.,][0-9]+)?\s*")
_DATE_LIKE = lazy_pattern(r"\s*([0-9]{4}([-./])[0-9]{2}\2[0-9]{2}.*|[0-9]{1,2}([-./])[0-9]{1,2}\3[0-9]{4}.*)\s*")
_NUMBER_HINTS = (
    (lazy_pattern(r"\s*-?[0-9]{1,3}([,.' ][0-9]{3})+([.,][0-9]+)?\s*"),
     "write the number without thousands separators"),
    (lazy_pattern(r"\s*(nan|n/?a|null|none|#?n/?a!?|-|inf|infinity|#[a-z0-9/]+[!?]?)\s*", re.IGNORECASE),
     "write a number; if there is none, use null or an empty cell where that is allowed"),
    (lazy_pattern(r"\s*[<>≤≥~]\s*-?[0-9]+([.,][0-9]+)?\s*"), "write only the number"),
    (lazy_pattern(r"\s*"), "write a number; it must not be empty"),
)  # fmt: skip
"""For strings that were meant as a number: the first pattern that matches."""
_UNIX_TIMES = frozenset({"message_sent_time", "message_received_time"})
"""Fields in seconds since 1970."""
_NAMED = {"location": ("arm", "feet", "genitalia", "hand", "head", "leg", "torso")}
"""The names of the values 1, 2, … of a field."""
_LONGEST_NUMBER = 200
_MOST_LISTED = 8
_NOTHING = lazy_pattern(r'null|"\s*(?:n/?a|nan|null|none|nil|unknown|error|failed|-|\?)?\s*"', re.IGNORECASE)
"""Values, as JSON, that mean that there is no answer."""
_WITHOUT_ANSWER = "if there is no answer, write the reason into 'error', without the answers"
NOT_A_STRING = "write the list itself, not a string: do not call json.dumps on a part of the data"


def value_hint(finding: Finding, parsed: Any, schema: dict[str, Any], in_table: bool = False) -> str | None:
    """Return the hint about a wrong value, which may complete the hint that the finding has."""
    given = value_at(parsed, finding.path)
    nodes = schemas_at(schema, finding.path)
    if finding.path and finding.path[-1] in ERROR_FIELDS and means_no_error(given):
        return f"this means that there was no error: {LEAVE_EMPTY}"
    hint = finding.hint or _named_hint(finding, given, schema)
    hint = hint or type_hint(finding.expected, given, in_table, finding.path, nodes)
    if finding.expected == ("array",) and isinstance(given, dict | str):
        hint = _list_hint(given, _expects_names(finding.path, schema))
    if finding.code not in ("MC103", "MC104", "MC105", "MC106"):
        return hint
    if _may_be_failed(finding, schema):
        meant = next((name for node in nodes for name in node.get("enum", ()) if str(name).lower() == "none"), None)
        quoted = f'if the answer is {meant}, write "{meant}" in quotes; ' if meant and given is None else ""
        return f"{quoted}{_WITHOUT_ANSWER}"
    if hint:
        return hint
    if finding.expected == ("object",):
        return _object_hint(finding.path, schema)
    if finding.got == "null" and all(node == {"type": "string"} for node in nodes):
        return 'if there is none, write an empty string: ""'
    is_number = finding.code == "MC105" and finding.path
    return _range_hint(finding.path, given, schema, parsed) if is_number else None


def _named_hint(finding: Finding, given: Any, schema: dict[str, Any]) -> str | None:
    """Return the hint about a name where its number is expected."""
    names = _NAMED.get(str(finding.path[-1])) if finding.path and isinstance(given, str) else None
    nodes = [(node.get("minimum"), node.get("maximum")) for node in schemas_at(schema, finding.path)] if names else []
    if not names or nodes != [(1, len(names))] or not given.strip().isalpha():
        return None
    numbers = {name: number for number, name in enumerate(names, 1)}
    number = numbers.get(given.strip().lower(), "its number")
    return f"write {number}: {', '.join(f'{number} is {name}' for name, number in numbers.items())}"


def spread_hint(finding: Finding, spread: Spread) -> str | None:
    """Return the hint about a list that has one item per name, which is written with the names as keys."""
    for field, names in spread.items():
        if finding.code == "MC101" and finding.field == field and not finding.hint and not finding.path:
            return f"write a list of {len(names)} numbers, in this order: {', '.join(names)}"
        as_object = finding.path == (field,) and finding.expected == ("array",) and finding.got == "object"
        if as_object or (finding.code == "MC102" and len(finding.path) == 1 and finding.path[0] in names):
            return f"write a list under '{field}', in this order: {', '.join(names)}"
    return finding.hint


def type_hint(
    expected: Sequence[str], given: Any, in_table: bool = False, path: Path = (), nodes: Sequence[Any] = ()
) -> str | None:
    """Return how to write a value as one of the expected JSON types. `nodes`: the schemas of the value."""
    wants_number = "number" in expected or "integer" in expected
    if isinstance(given, bool) and any(node.get("enum") == [0, 1] for node in nodes):
        return f"write {int(given)}"
    field = next((token for token in reversed(path) if isinstance(token, str)), "")
    hint = number_hint(given, in_table, field, nodes) if wants_number else None
    if hint is None and "boolean" in expected and not wants_number:
        hint = boolean_hint(given, in_table)
    if hint is None and "string" in expected:
        hint = _string_hint(given, in_table, path, nodes)
    return _list_hint(given) if hint is None and tuple(expected) == ("array",) else hint


def number_hint(given: Any, in_table: bool = False, field: str = "", nodes: Sequence[Any] = ()) -> str | None:
    """Return how to write the value as a number. Cells of tables have no quotes."""
    text = given.strip() if isinstance(given, str) else None
    if text is None or len(text) > _LONGEST_NUMBER:
        return None
    if _AMBIGUOUS.fullmatch(text):
        return "write the number with a dot before its decimals, and without thousands separators"
    if _DECIMAL_COMMA.fullmatch(text):
        comma = "write the number with a dot, not a comma: 0.5"
        return comma if in_table else "write the number without quotes and with a dot"
    if _PLAIN_NUMBER.fullmatch(text):
        return "write the number as in JSON, such as 0.5" if in_table else "write the number without quotes"
    if _PERCENT.fullmatch(text):
        if any(node.get("maximum") == 1 for node in nodes):
            return "write the share as a number from 0 to 1: 25 % is 0.25"
        known = unit_of(field) == "percent"
        return f"write the number without %{'' if known else '; where 0 to 1 is expected, 25 % is 0.25'}"
    if _CLOCK.fullmatch(text) or _DATE_LIKE.fullmatch(text):
        return _time_hint(field, is_clock=_CLOCK.fullmatch(text) is not None)
    return _unit_hint(text, field) or next((hint for pattern, hint in _NUMBER_HINTS if pattern.fullmatch(text)), None)


def _time_hint(field: str, is_clock: bool) -> str:
    """Return the hint about a date or a time of day where a number is expected."""
    if field in _UNIX_TIMES:
        return "write the time as a number of seconds since 1970 (UNIX time)"
    unit = unit_of(field)
    if is_clock and unit in ("seconds", "milliseconds"):
        return f"write a number of {unit}: 00:01:30 is {90 if unit == 'seconds' else 90_000}"
    return "write a number, not a date or a time of day"


def _unit_hint(text: str, field: str) -> str | None:
    """Return the hint about a number with a unit: what one such unit is in that of the field."""
    found = quantity(text, field)
    if found is None:
        return None
    expected, factor = unit_of(field), found.factor
    if factor == 1:
        return "write only the number, without the unit"
    if factor is None or expected is None:
        return (
            f"convert it to {expected}, and write only the number"
            if expected
            else "write only the number, without a unit"
        )
    small = decimal(factor)
    one = found.unit.removesuffix("s") if len(found.unit) > 2 else found.unit  # ms is not a plural
    relation = f"1 {one} is {small} {expected}"
    if small is None:
        relation = f"{decimal(1 / factor)} {found.unit} are 1 {expected.removesuffix('s')}"
    return f"write the number of {expected}, without a unit: {relation}"


def boolean_hint(given: Any, in_table: bool = False) -> str | None:
    """Return how to write the value as true or false: which of the two, if that is clear."""
    if not isinstance(given, str | int | float):
        return None
    wanted = meant_boolean(given)
    if isinstance(given, str):
        return f"write {wanted or 'true or false'}{'' if in_table else ' without quotes'}"
    return f"write {wanted}" if wanted else None


def _string_hint(given: Any, in_table: bool, path: Path, nodes: Sequence[Any]) -> str | None:
    """Return what to write instead of a number: quotes alone are rarely right."""
    if given is True and path and path[-1] in ERROR_FIELDS:
        return "write the reason as text"
    if isinstance(given, bool) or not isinstance(given, int | float):
        return "write the text itself, without brackets" if isinstance(given, list) and len(given) == 1 else None
    if path and isinstance(path[-1], int):
        return "write the names of those that apply, not their numbers, nor a number for each name"
    field = next((token for token in reversed(path) if isinstance(token, str)), "")
    patterns = {node.get("pattern") for node in nodes}
    if DATE in patterns:
        return AS_DATE
    if GUID in patterns:
        return "write a GUID (in Python: str(uuid.uuid4()))"
    if field in ERROR_FIELDS:
        return "write the reason as text"
    how = "store the column as text" if in_table else "write it in quotes"
    if field in PRINTED_NUMBERS:
        return f"{how}, as it is printed"
    if field.lower().endswith("id"):
        return f"{how}, as the id was given, with its prefix and leading zeros (in pandas: read it with dtype=str)"
    return "write the text itself in quotes, not an index or a class number"


def _list_hint(given: Any, of_names: bool = False) -> str | None:
    if isinstance(given, dict):
        if not given or not all(isinstance(value, int | float) for value in given.values()):
            return "write a list: [ … ] instead of { … }, without keys"
        if of_names:
            return "write a list of the names that apply: [name for name, value in data.items() if value]"
        return "write a list: [ … ] instead of { … }, with the values only"
    if isinstance(given, str) and given.lstrip().startswith("["):
        return NOT_A_STRING
    if isinstance(given, str) and (of_names or re.search(r"[,;|]", given)):
        return 'write a list of strings: ["…", "…"]'
    return None if given is None else "put the value into a list: [ … ]"


def _expects_names(path: Path, schema: dict[str, Any]) -> bool:
    """Return whether a list of strings is expected."""
    lists = [node for node in schemas_at(schema, path) if node.get("type") == "array"]
    items = [item for node in lists for item in variants_of(node.get("items", {}), schema)]
    return bool(items) and all(item.get("type") == "string" for item in items)


def _may_be_failed(finding: Finding, schema: dict[str, Any]) -> bool:
    """Return whether an answer lacks a value, in a contract with records that say why there is no answer."""
    if len(finding.path) != 1 or not finding.value or not _NOTHING.fullmatch(finding.value):
        return False
    variants = variants_of(schema)
    name = finding.path[0]
    return len(variants) > 1 and any("error" in v.get("required", ()) and name not in v["required"] for v in variants)


def _object_hint(path: Path, schema: dict[str, Any]) -> str | None:
    """Name the keys of an object, where another value is."""
    keys = known_keys(schema, path) if path else []
    if not keys:
        return None
    more = ", …" if len(keys) > _MOST_LISTED else ""
    return f"write an object {{ … }}; its keys are {', '.join(keys[:_MOST_LISTED])}{more}"


def _range_hint(path: Path, given: Any, schema: dict[str, Any], parsed: Any) -> str | None:
    """Return the hint about a number outside 0 to 1. A unit or scale is named only if the values look like it."""
    nodes = [node for node in schemas_at(schema, path) if node and node.get("type") != "null"]
    if not nodes or not all(node.get("minimum") == 0 and node.get("maximum") == 1 for node in nodes):
        return None
    items = value_at(parsed, path[:-1]) if isinstance(path[-1], int) else None
    if isinstance(items, list):
        return _scale_of(items)
    if isinstance(given, int | float) and _PERCENT_FROM < given <= 100:
        return "if it is a percentage, divide it by 100: 25 % is 0.25"
    return "the scale is 0 to 1: rescale all values in the same way"


_PERCENT_FROM = 10
"""Smaller single numbers may be of another scale, such as 1 to 5 or 0 to 10."""


def _scale_of(items: list[Any]) -> str | None:
    """Return how to make probabilities of the numbers of a list; None if that is not clear."""
    numbers = [float(item) for item in items if isinstance(item, int | float) and not isinstance(item, bool)]
    if len(numbers) < max(2, len(items)) or len(set(numbers)) == 1:
        return None
    low, high = min(numbers), max(numbers)
    if low < 0:
        if high <= 0 and abs(math.fsum(map(math.exp, numbers)) - 1) < _ROUNDED:
            return "these are logarithms of probabilities: apply exp"
        is_whole = all(number.is_integer() for number in numbers)
        return None if is_whole or high - low <= 1 else _LOGITS
    total = math.fsum(numbers)
    if abs(total - 100) < 100 * _ROUNDED:
        return "these are percentages: divide them by 100"
    if all(number.is_integer() for number in numbers):
        return "if these are numbers of votes, divide each by their sum"
    return None


_LOGITS = "if these are logits, apply softmax: expected numbers from 0 to 1"
_ROUNDED = 0.02
"""The relative difference of a sum that rounding explains."""
