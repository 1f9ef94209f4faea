"""What was probably meant by the wrong keys and values of a record, a header or a document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from medcontract.contracts.registry import CompiledContract, compiled, known_keys, schemas_at, value_at, variants_of
from medcontract.contracts.suggestions import did_you_mean
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Path, is_plain
from medcontract.reading.diagnosis import index_hint

_MOST_HINTS = 100
_MOST_KEYS = 1000
"""Objects with more keys get no hints about renamed ones."""
_LONGEST_KNOWN = 2000
_WITHOUT_INDEX = "df.reset_index(drop=True)"


def with_hints(
    findings: list[Finding],
    schema: dict[str, Any],
    parsed: Any,
    spread: Spread = MappingProxyType({}),
    in_table: bool = False,
) -> list[Finding]:
    """Return the findings about a record, a header or a document with hints. Beyond some of them, hints are simpler.

    `spread`: the columns of list fields. `in_table`: the record is a row of a table, whose cells have no quotes.
    """
    missing: dict[Path, set[str]] = {}
    for finding in findings[:_MOST_HINTS]:
        if finding.code == "MC101" and finding.field:
            missing.setdefault(finding.path, set()).add(finding.field)
    scattered = _scattered(parsed, missing.get((), set()), schema)
    renames = {path: _renames(value_at(parsed, path), path, fields, schema) for path, fields in missing.items()}
    other = other_contract(parsed) if () in renames else None
    inner = _nested(parsed, missing.get((), set()))
    explained = []
    for number, finding in enumerate(findings):
        if finding.code not in ("MC101", "MC102"):
            given = value_at(parsed, finding.path)
            if number < _MOST_HINTS:
                hint = value_hint(finding, given, schema, in_table)
            else:
                hint = finding.hint or type_hint(finding.expected, given, in_table)
        elif number < _MOST_HINTS:
            hint = _into_object(finding, scattered) or _key_hint(finding, renames, schema, other, inner)
        else:
            hint = finding.hint
        if hint != finding.hint:
            finding = finding._replace(hint=hint)
        if spread:
            finding = finding._replace(hint=spread_hint(finding, spread))
        explained.append(finding)
    return explained


def _scattered(parsed: Any, missing: set[str], schema: dict[str, Any]) -> dict[str, str]:
    """Unknown keys of a record that belong into an object which is missing, with the name of that object."""
    if not missing or not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return {}
    unknown = frozenset(parsed).difference(known_keys(schema, ()))
    objects = {field: known_keys(schema, (field,)) for field in sorted(missing)} if unknown else {}
    return {key: field for field, keys in reversed(objects.items()) for key in unknown.intersection(keys)}


def _into_object(finding: Finding, scattered: dict[str, str]) -> str | None:
    """Return the hint about keys that belong into an object, which is missing."""
    if finding.code == "MC101" and not finding.path and finding.field in scattered.values():
        inside = sorted(key for key, field in scattered.items() if field == finding.field)
        shown = ", ".join(f'"{key}": …' for key in inside)
        return f'write an object: "{finding.field}": {{{shown}}}'
    if finding.code == "MC102" and len(finding.path) == 1 and finding.path[0] in scattered:
        return f"move it into the object '{scattered[str(finding.path[0])]}'"
    return None


def _nested(parsed: Any, missing: set[str]) -> str | None:
    """The key of an object in a record that contains most of its missing fields."""
    if not missing or not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return None
    objects = ((key, value) for key, value in parsed.items() if isinstance(value, dict))
    return next((key for key, value in objects if 2 * len(missing & value.keys()) > len(missing)), None)


def _renames(parsed: Any, path: Path, missing: set[str], schema: dict[str, Any]) -> dict[str, str]:
    """The unknown keys of an object that mean one of its missing keys."""
    if not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return {}
    unknown = frozenset(parsed) - frozenset(known_keys(schema, path))
    if not unknown:
        return {}
    pair = _paired if sum(map(len, unknown)) <= _LONGEST_KNOWN else _paired.__wrapped__
    pairs = pair(unknown, frozenset(missing))
    return pairs if path else {**pairs, **_renamed_list(parsed, unknown - pairs.keys(), missing, schema)}


def _renamed_list(parsed: dict[str, Any], unknown: frozenset[str], missing: set[str], schema: Any) -> dict[str, str]:
    """The only list with an unknown key, if one list is missing."""
    given = [key for key in unknown if isinstance(parsed[key], list)] if other_contract(parsed) is None else []
    wanted = [key for key in missing if schema.get("properties", {}).get(key, {}).get("type") == "array"]
    return {given[0]: wanted[0]} if len(given) == len(wanted) == 1 else {}


def other_contract(parsed: Any) -> str | None:
    """The only contract that has all keys of a record, and whose required keys the record has."""
    if not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return None
    keys = frozenset(parsed)
    found = [
        entry.id
        for entry in compiled().values()
        if not entry.open and keys <= entry.record and any(form <= keys for form in entry.forms)
    ]
    return found[0] if len(found) == 1 else None


@lru_cache(1024)
def _paired(unknown: frozenset[str], missing: frozenset[str]) -> dict[str, str]:
    from medcontract.contracts.suggestions import pair_renamed

    return pair_renamed(unknown, missing)


def _key_hint(
    finding: Finding,
    renames: dict[Path, dict[str, str]],
    schema: dict[str, Any],
    other: str | None,
    inner: str | None,
) -> str | None:
    """Return the hint about a missing or an unknown key.

    `other`: another contract that the record satisfies. `inner`: the key of an object with most missing fields.
    """
    if finding.code == "MC101":
        pairs = renames.get(finding.path, {})
        return rename_hint(next((name for name, field in pairs.items() if field == finding.field), None))
    key, path = str(finding.path[-1]), finding.path[:-1]
    if field := renames.get(path, {}).get(key):
        return f"rename it to '{field}'"
    if inner == key and not path:
        return "write its fields into the record itself, not into an object in it"
    if other and not path:
        return f"the record is one of {other}: move it to a file of that contract"
    return index_hint(key, _WITHOUT_INDEX) or did_you_mean(key, known_keys(schema, path))


def column_hint(name: str, header: Sequence[str], renames: Mapping[str, str], contract: CompiledContract) -> str | None:
    """Return the hint about a column that the contract does not know; `renames` are columns that mean a missing one."""
    if name in renames:
        return f"rename it to '{renames[name]}'"
    if group := contract.spread.get(name):
        return f"use one column each: {', '.join(group)}"
    return did_you_mean(name, {column.name for column in contract.columns} - set(header))


def rename_hint(name: str | None) -> str | None:
    """The hint about a missing key or column that is there under another name. A name that may be data is not shown."""
    if name is None:
        return None
    return f"rename '{name}'" if is_plain(name) else "rename the one with the similar name"


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
