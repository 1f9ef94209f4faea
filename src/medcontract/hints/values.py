"""Hints about wrong values: how to write what was probably meant, given what the contract expects there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from medcontract.contracts.schema_nodes import known_keys, schemas_at, variants_of
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Path

Spread = Mapping[str, Sequence[str]]
"""The columns of list fields that have one item per name."""

LOCAL_BOOLEANS = {
    "verdadero": "true", "verdadeiro": "true", "vrai": "true", "vero": "true", "wahr": "true",
    "falso": "false", "faux": "false", "falsch": "false",
}  # fmt: skip
"""What spreadsheets in other languages write for true and false."""
_BOOLEANS = {
    "true": "true", "yes": "true", "y": "true", "t": "true", "1": "true", "sí": "true", "si": "true", "s": "true",
    "false": "false", "no": "false", "n": "false", "f": "false", "0": "false", **LOCAL_BOOLEANS,
}  # fmt: skip
_DECIMAL_COMMA = lazy_pattern(r"\s*-?[0-9]+,[0-9]+\s*")
_PLAIN_NUMBER = lazy_pattern(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_NUMBER_HINTS = (
    (lazy_pattern(r"\s*[0-9]+([.,][0-9]+)?\s*%\s*"),
     "write the number without %; where 0 to 1 is expected, 25 % is 0.25"),
    (lazy_pattern(r"\s*-?[0-9]{1,3}([,.' ][0-9]{3})+([.,][0-9]+)?\s*"),
     "write the number without thousands separators"),
    (lazy_pattern(r"\s*(nan|n/?a|null|none|#?n/?a!?|-|inf|infinity|#[a-z0-9/]+[!?]?)\s*", re.IGNORECASE),
     "write a number; if there is none, use null or an empty cell where that is allowed"),
    (lazy_pattern(r"\s*([0-9]{4}([-./])[0-9]{2}\2[0-9]{2}.*|[0-9]+(:[0-9]{2}){1,2}([.,][0-9]+)?)\s*"),
     "write a number of seconds, not a date or a time of day"),
    (lazy_pattern(r"\s*[<>≤≥~]?\s*-?[0-9]+([.,][0-9]+)?\s*[a-zA-Zµμ°/]{1,10}\s*"),
     "write only the number, without a unit"),
    (lazy_pattern(r"\s*"), "write a number; it must not be empty"),
)  # fmt: skip
"""For strings that were meant as a number: the first pattern that matches."""
_NAMED = {"location": ("arm", "feet", "genitalia", "hand", "head", "leg", "torso")}
"""The names of the values 1, 2, … of a field."""
_LONGEST_NUMBER = 200
_MOST_KEYS = 8
_NOTHING = lazy_pattern(r'null|"\s*(?:n/?a|nan|null|none|nil|unknown|error|failed|-|\?)?\s*"', re.IGNORECASE)
"""Values, as JSON, that mean that there is no answer."""
_WITHOUT_ANSWER = "if there is no answer, write the reason into 'error', without the answers"
NOT_A_STRING = "write the list itself, not a string: do not call json.dumps on a part of the data"


def value_hint(finding: Finding, given: Any, schema: dict[str, Any], in_table: bool = False) -> str | None:
    """Return the hint about a wrong value, which may complete the hint that the finding has."""
    hint = finding.hint or _named_hint(finding, given, schema) or type_hint(finding.expected, given, in_table)
    if finding.expected == ("array",) and finding.got == "object":
        hint = _list_hint(given, _expects_names(finding.path, schema))
    if finding.code not in ("MC103", "MC104", "MC105", "MC106"):
        return hint
    if _may_be_failed(finding, schema):
        return f"{hint}; {_WITHOUT_ANSWER}" if hint else _WITHOUT_ANSWER
    if hint:
        return hint
    if finding.expected == ("object",):
        return _object_hint(finding.path, schema)
    if finding.got == "null" and all(node == {"type": "string"} for node in schemas_at(schema, finding.path)):
        return 'if there is none, write an empty string: ""'
    return _share_hint(finding.path, schema) if finding.code == "MC105" else None


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


def type_hint(expected: Sequence[str], given: Any, in_table: bool = False) -> str | None:
    """Return how to write a value as one of the expected JSON types."""
    wants_number = "number" in expected or "integer" in expected
    hint = number_hint(given, in_table) if wants_number else None
    if hint is None and "boolean" in expected and not wants_number:
        hint = boolean_hint(given, in_table)
    if hint is None and "string" in expected:
        hint = _string_hint(given, in_table)
    return _list_hint(given) if hint is None and tuple(expected) == ("array",) else hint


def number_hint(given: Any, in_table: bool = False) -> str | None:
    """Return how to write the value as a number. Cells of tables have no quotes."""
    text = given.strip() if isinstance(given, str) else None
    if text is None or len(text) > _LONGEST_NUMBER:
        return None
    if _DECIMAL_COMMA.fullmatch(text):
        comma = "write the number with a dot, not a comma: 0.5"
        return comma if in_table else "write the number without quotes and with a dot"
    if _PLAIN_NUMBER.fullmatch(text):
        return "write the number as in JSON, such as 0.5" if in_table else "write the number without quotes"
    return next((hint for pattern, hint in _NUMBER_HINTS if pattern.fullmatch(text)), None)


def boolean_hint(given: Any, in_table: bool = False) -> str | None:
    """Return how to write the value as true or false: which of the two, if that is clear."""
    if not isinstance(given, str | int | float):
        return None
    wanted = _BOOLEANS.get(str(given).strip().lower().removesuffix(".0"))
    if isinstance(given, str):
        return f"write {wanted or 'true or false'}{'' if in_table else ' without quotes'}"
    return f"write {wanted}" if wanted else None


def _string_hint(given: Any, in_table: bool) -> str | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return "write the text itself, without brackets" if isinstance(given, list) and len(given) == 1 else None
    how = "store the column as text" if in_table else "write it in quotes"
    return f"{how}, with any leading zeros (in pandas: read it with dtype=str)"


def _list_hint(given: Any, of_names: bool = False) -> str | None:
    if isinstance(given, dict):
        if not given or not all(isinstance(value, int | float) for value in given.values()):
            return "write a list: [ … ] instead of { … }, without keys"
        if of_names:
            return "write a list of the names that apply: [name for name, value in data.items() if value]"
        return "write a list: [ … ] instead of { … }, with the values only"
    if isinstance(given, str) and given.lstrip().startswith("["):
        return NOT_A_STRING
    if isinstance(given, str) and re.search(r"[,;|]", given):
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
    more = ", …" if len(keys) > _MOST_KEYS else ""
    return f"write an object {{ … }}; its keys are {', '.join(keys[:_MOST_KEYS])}{more}"


def _share_hint(path: Path, schema: dict[str, Any]) -> str | None:
    """Return the hint about a negative item of a list of numbers from 0 to 1."""
    nodes = [node for node in schemas_at(schema, path) if node]
    in_range = nodes and all(node.get("minimum") == 0 and node.get("maximum") == 1 for node in nodes)
    is_item = path and isinstance(path[-1], int)
    return "if these are logits, apply softmax: expected numbers from 0 to 1" if in_range and is_item else None
