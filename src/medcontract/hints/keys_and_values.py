"""What was probably meant by the wrong keys and values of a record, a header or a document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from medcontract.contracts.registry import CompiledContract, compiled, known_keys, schemas_at, value_at, variants_of
from medcontract.contracts.string_patterns import AS_DATE, DATE, GUID
from medcontract.contracts.suggestions import certain_renames, did_you_mean, nearest
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
    meant = _meant_fields(findings[:_MOST_HINTS], parsed, schema, renames)
    unanswered = _is_unanswered(parsed, schema)
    explained = []
    for number, finding in enumerate(findings):
        if finding.code not in ("MC101", "MC102"):
            if number < _MOST_HINTS:
                hint = value_hint(finding, parsed, schema, in_table)
            else:
                given = value_at(parsed, finding.path)
                hint = finding.hint or type_hint(finding.expected, given, in_table, finding.path)
        elif number < _MOST_HINTS:
            hint = _into_object(finding, scattered) or _key_hint(finding, renames, schema, other, inner)
        else:
            hint = finding.hint
        if hint != finding.hint:
            finding = finding._replace(hint=hint)
        if finding.code == "MC102" and number < _MOST_HINTS:
            renamed = renames.get(finding.path[:-1], {}).get(str(finding.path[-1]), "")
            finding = finding._replace(renamed=renamed if finding.name else "")
        elif finding.code == "MC101":
            finding = finding._replace(merged=(finding.path, finding.field) in meant)
        elif finding.got == "null" or finding.value == '""':
            finding = finding._replace(unanswered="record" if unanswered else "value")
        if spread:
            finding = finding._replace(hint=spread_hint(finding, spread))
        explained.append(finding)
    return explained


def _meant_fields(
    findings: Sequence[Finding], parsed: Any, schema: dict[str, Any], renames: dict[Path, dict[str, str]]
) -> set[tuple[Path, str | None]]:
    """Return the fields that unknown keys probably are, by the path of their object. Adds certain ones to `renames`."""
    unknown: dict[Path, list[str]] = {}
    for finding in findings:
        if finding.code == "MC102":
            unknown.setdefault(finding.path[:-1], []).append(str(finding.path[-1]))
    meant: set[tuple[Path, str | None]] = set()
    for path, names in unknown.items():
        known, there = known_keys(schema, path), value_at(parsed, path)
        absent = [field for field in known if field not in there] if len(there) <= _MOST_KEYS else []
        pairs = renames[path] = {**certain_renames(names, absent), **renames.get(path, {})}
        meant |= {(path, pairs.get(name) or _in_unit(name, known) or nearest(name, known)) for name in names}
    return meant


def _is_unanswered(parsed: Any, schema: dict[str, Any]) -> bool:
    """Return whether a record has only ids, constants and empty values, as in a template that is not filled in."""
    if not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return False
    others = [name for name in parsed if not name.lower().endswith("id")]
    values = [parsed[name] for name in others if not any("const" in node for node in schemas_at(schema, (name,)))]
    lists = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return bool(values) and all(item is None or item == "" for item in lists)


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
    known = known_keys(schema, path)
    if field := _in_unit(key, known):
        return f"convert it: '{field}' is in {unit_of(field)}"
    return index_hint(key, _WITHOUT_INDEX) or did_you_mean(key, known)


def _in_unit(key: str, known: Sequence[str]) -> str | None:
    """Return the field that a key is but for its unit."""
    unit, start = unit_of(key), key.rpartition("_")[0]
    return next((field for field in known if unit and unit_of(field) not in (None, unit)
                 and field.rpartition("_")[0] == start), None)  # fmt: skip


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


def no_error(parsed: Any, errors: Sequence[Finding]) -> list[Finding]:
    """Return the finding about an `error` that says that there was none, next to answers; none if that is not so."""
    given = parsed.get("error") if isinstance(parsed, dict) else None
    if not isinstance(given, str) or not means_no_error(given) or all(each.code != "MC109" for each in errors):
        return []
    return [
        Finding("MC109", f"'{given.strip()}' in 'error' means that there was no error", LEAVE_EMPTY, path=("error",))
    ]


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
    if finding.expected == ("array",) and finding.got == "object":
        hint = _list_hint(given, _expects_names(finding.path, schema))
    if finding.code not in ("MC103", "MC104", "MC105", "MC106"):
        return hint
    if _may_be_failed(finding, schema):
        return _WITHOUT_ANSWER
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
