"""Hints about wrong values: what was probably meant; hints about keys are added, if some are wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from medcontract.contracts.registry import known_keys, schemas_at, value_at, variants_of
from medcontract.contracts.string_patterns import AS_DATE, DATE, GUID
from medcontract.contracts.wrong_values import (
    ERROR_FIELDS,
    LEAVE_EMPTY,
    PRINTED_NUMBERS,
    means_no_error,
    meant_boolean,
)
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Path, is_plain

Spread = Mapping[str, Sequence[str]]
"""The columns of list fields that have one item per name."""

_DATE_HINTS = (
    (lazy_pattern(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"),
     "write it with hyphens: 2026-05-31"),
    (lazy_pattern(r"[0-9]{4}[/.][0-9]{2}[/.][0-9]{2}.*"), "write it with hyphens: 2026-05-31"),
    (lazy_pattern(r"[0-9]{4}-[0-9]{2}"), "add the day: 2026-05-31"),
    (lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+ ?[-+][0-9]{2}:?[0-9]{2}"),
     "write the offset as -05:00, without a blank before it"),
    (lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?:Z)?"), "add the seconds: 2026-05-31T09:00:00"),
    (lazy_pattern(r"[^\d].*|[0-9]{1,2}(?:\.|st|nd|rd|th)?[- ](?:de )?[^\W\d_]+.*"),
     "write the year first, and the month as a number: 2026-05-31"),
)  # fmt: skip
_NAMED = {"location": ("arm", "feet", "genitalia", "hand", "head", "leg", "torso")}
"""The names of the values 1, 2, … of a field."""
_LONGEST_TEXT = 200
_MOST_HINTS = 100
_MOST_KEYS = 1000
"""Objects with more keys are not examined."""
_MOST_LISTED = 8
_NOTHING = lazy_pattern(r'null|"\s*(?:n/?a|nan|null|none|nil|unknown|error|failed|-|\?)?\s*"', re.IGNORECASE)
"""Values, as JSON, that mean that there is no answer."""
_WITHOUT_ANSWER = "if there is no answer, write the reason into 'error', without the answers"
NOT_A_STRING = "write the list itself, not a string: do not call json.dumps on a part of the data"


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
    keys = None
    if any(finding.code in ("MC101", "MC102") for finding in findings[:_MOST_HINTS]):
        from medcontract.hints.keys import Keys

        keys = Keys.of(parsed, missing, findings[:_MOST_HINTS], schema)
    unanswered = _is_unanswered(parsed, schema)
    explained = []
    for number, finding in enumerate(findings):
        if finding.code in ("MC101", "MC102"):
            finding = keys.explain(finding) if keys and number < _MOST_HINTS else finding
        elif number < _MOST_HINTS:
            finding = _about_value(finding, parsed, schema, in_table, unanswered)
        else:
            given = value_at(parsed, finding.path)
            hint = finding.hint or type_hint(finding.expected, given, in_table, finding.path)
            finding = finding._replace(hint=hint)
        explained.append(finding._replace(hint=spread_hint(finding, spread)) if spread else finding)
    return explained


def _about_value(finding: Finding, parsed: Any, schema: dict[str, Any], in_table: bool, unanswered: bool) -> Finding:
    """Return the finding about a wrong value with a hint."""
    hint = value_hint(finding, parsed, schema, in_table)
    if finding.got != "null" and finding.value != '""':
        return finding._replace(hint=hint)
    if in_table and "boolean" in finding.expected and hint and not unanswered:
        hint = f"if it means no, write false; {hint}"
    return finding._replace(hint=hint, unanswered="record" if unanswered else "value")


def _is_unanswered(parsed: Any, schema: dict[str, Any]) -> bool:
    """Return whether a record has only ids, constants and empty values, as in a template that is not filled in."""
    if not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return False
    others = [name for name in parsed if not name.lower().endswith("id")]
    values = [parsed[name] for name in others if not any("const" in node for node in schemas_at(schema, (name,)))]
    lists = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return bool(values) and all(item is None or item == "" for item in lists)


def value_hint(finding: Finding, parsed: Any, schema: dict[str, Any], in_table: bool = False) -> str | None:
    """Return the hint about a wrong value, which may complete the hint that the finding has."""
    given = value_at(parsed, finding.path)
    nodes = schemas_at(schema, finding.path)
    if finding.path and finding.path[-1] in ERROR_FIELDS and means_no_error(given):
        return f"this means that there was no error: {LEAVE_EMPTY}"
    if in_table and isinstance(given, str) and given.startswith("="):
        return "the cell has a formula: export the values of the sheet"
    if isinstance(given, str) and _SHEET_ERROR.fullmatch(given):
        return "a spreadsheet found no value for the cell: correct its formula, or write the value itself"
    choice = _other_choice(finding, given, nodes, parsed, schema, in_table)
    hint = finding.hint if choice is None else choice
    hint = hint or _named_hint(finding, given, schema)
    hint = hint or type_hint(finding.expected, given, in_table, finding.path, nodes)
    if finding.expected == ("array",) and isinstance(given, dict | str):
        hint = _list_hint(given, _item_type(finding.path, schema))
    if finding.code == "MC107":
        return _format_hint(given, nodes) or hint
    if finding.code == "MC108" and _is_nested(given):
        return "write the inner list alone: [ … ] instead of [[ … ]]"
    if finding.code not in ("MC103", "MC104", "MC105", "MC106"):
        return hint
    if _may_be_failed(finding, schema):
        meant = next((name for node in nodes for name in node.get("enum", ()) if str(name).lower() == "none"), None)
        quoted = f'if the answer is {meant}, write "{meant}"{"" if in_table else " in quotes"}; ' if meant else ""
        return f"{quoted}{_WITHOUT_ANSWER}"
    return hint or _other_hint(finding, given, nodes, parsed, schema)


def _other_hint(finding: Finding, given: Any, nodes: Sequence[Any], parsed: Any, schema: dict[str, Any]) -> str | None:
    """Return the hint about a value for which nothing more exact is known."""
    if finding.expected == ("object",):
        is_list = not finding.path and isinstance(given, list) and all(isinstance(each, dict) for each in given)
        return "write its records into the outer list" if is_list else _object_hint(finding.path, schema)
    if finding.got == "null" and all(node == {"type": "string"} for node in nodes):
        return 'if there is none, write an empty string: ""'
    if finding.code == "MC106" and finding.path and isinstance(finding.path[-1], int):
        return "leave it out: an empty list says that there is none"
    if finding.code != "MC105" or not finding.path:
        return None
    if other := _swapped_with(finding.path, parsed, schema):
        return f"are the values of '{finding.path[-1]}' and '{other}' swapped?"
    from medcontract.hints.numbers import range_hint

    return range_hint(finding.path, given, schema, parsed, _WITHOUT_ANSWER)


def _is_nested(given: Any) -> bool:
    return isinstance(given, list) and len(given) == 1 and isinstance(given[0], list)


def _format_hint(given: Any, nodes: Sequence[Any]) -> str | None:
    """Return the hint about a text of another format."""
    patterns = {node.get("pattern") for node in nodes}
    text = given.strip() if isinstance(given, str) else ""
    if GUID in patterns and _ANY_GUID.fullmatch(text):
        return "write it as str(uuid.UUID(text)) does: without braces, and with hyphens"
    return next((hint for pattern, hint in _DATE_HINTS if DATE in patterns and pattern.fullmatch(text)), None)


_SHEET_ERROR = lazy_pattern(r"#(?:N/?A|NV|NAME\?|REF!|VALUE!|DIV/0!|NUM!|NULL!|SPILL!|WERT!|BEZUG!|¡[A-Z/0]+!)\s*")
_ANY_GUID = lazy_pattern(r"(?:urn:uuid:)?\{?(?:[0-9a-fA-F]{4}-?){8}\}?")
_LABEL_NUMBER = lazy_pattern(r"\s*(?:label|class|clase|klasse|cat|category)[ _-]?[0-9]+\s*", re.IGNORECASE)
_NEGATION = frozenset(("no", "not", "non", "without", "sin", "kein", "keine", "ohne", "negative", "except"))
_WORD = lazy_pattern(r"[^\W_]+")


def _other_choice(
    finding: Finding, given: Any, nodes: Sequence[Any], parsed: Any, schema: dict[str, Any], in_table: bool
) -> str | None:
    """Return the hint about a value of an enumeration: of another field, as one of several words, with its score.

    Empty: a similar name would be the opposite.
    """
    choices = [choice for node in nodes for choice in node.get("enum", ()) if isinstance(choice, str)]
    if not choices or finding.code not in ("MC103", "MC104"):
        return None
    in_list = bool(finding.path) and isinstance(finding.path[-1], int)
    if isinstance(given, dict | list) and not in_list:
        return _name_alone(given)
    if not isinstance(given, str) or len(given) > _LONGEST_TEXT or given.strip() in choices:
        return None
    if other := _swapped_with(finding.path, parsed, schema):
        return f"are the values of '{finding.path[-1]}' and '{other}' swapped?"
    if in_list and means_no_error(given) and given.strip().lower() not in choices:
        return "leave it empty: an empty list says that there is none"
    if _LABEL_NUMBER.fullmatch(given):
        return "write the name, not its number"
    words = [word.casefold() for word in _WORD.findall(given)]
    there = [choice for choice in choices if _is_among([w.casefold() for w in _WORD.findall(choice)], words)]
    there = [choice for choice in there if not any(choice != other and choice in other for other in there)]
    if len(there) > 1:
        several = "with the separator of the column between them" if in_table else "as an item of its own"
        return f"write each of them, {several}" if in_list else "write one of them"
    if len(there) == 1 and len(words) > len(_WORD.findall(there[0])):
        return f"write only '{there[0]}'" if _NEGATION.isdisjoint(words) else ""
    starts = [choice for choice in choices if len(given) > 2 and choice.casefold().startswith(given.strip().casefold())]
    return f"did you mean '{starts[0]}'?" if len(starts) == 1 else None


def _is_among(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether these words are there one after the other."""
    size = len(wanted)
    return bool(wanted) and any(list(words[at : at + size]) == list(wanted) for at in range(len(words) - size + 1))


def _name_alone(given: dict[str, Any] | list[Any]) -> str:
    """Return the hint about a name with its score, or about several names, where one name is expected."""
    if isinstance(given, list):
        return "write the name alone" if len(given) == 1 else "write one name: the first, if they are sorted by score"
    if given and all(isinstance(value, int | float) for value in given.values()):
        return "write the name with the highest number, without the numbers"
    texts = [key for key, value in given.items() if isinstance(value, str) and is_plain(key)]
    return f"write the name alone: the value of '{texts[0]}'" if len(texts) == 1 else "write the name alone"


def _swapped_with(path: Path, parsed: Any, schema: dict[str, Any]) -> str | None:
    """Return the field that has a value of this one, while this one has a value of that."""
    if len(path) != 1 or not isinstance(parsed, dict):
        return None
    name = str(path[0])
    others = [other for other in known_keys(schema, ()) if other != name and parsed.get(other) is not None]
    found = [other for other in others if _are_swapped(parsed[name], parsed[other], *_nodes(schema, name, other))]
    return found[0] if len(found) == 1 else None


def _nodes(schema: dict[str, Any], *fields: str) -> list[list[dict[str, Any]]]:
    return [[node for node in schemas_at(schema, (field,)) if node] for field in fields]


def _are_swapped(mine: Any, its: Any, my_nodes: list[dict[str, Any]], its_nodes: list[dict[str, Any]]) -> bool:
    """Return whether two values fit each other's field: names, or numbers of which one is a share."""
    if isinstance(mine, str) and isinstance(its, str):
        return all(
            any(text in node.get("enum", ()) for node in nodes) for text, nodes in ((mine, its_nodes), (its, my_nodes))
        )
    if not isinstance(mine, int | float) or not isinstance(its, float) or _range_of(my_nodes) != (0, 1):
        return False
    low, high = _range_of(its_nodes) or (0, 0)
    return 0 < its < 1 < high and low <= mine <= high


def _range_of(nodes: Sequence[dict[str, Any]]) -> tuple[float, float] | None:
    return next(((each["minimum"], each["maximum"]) for each in nodes if {"minimum", "maximum"} <= each.keys()), None)


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
    hint = None
    if wants_number:
        from medcontract.hints.numbers import number_hint

        hint = number_hint(given, in_table, field, nodes)
    if hint is None and "boolean" in expected and not wants_number:
        hint = boolean_hint(given, in_table)
    if hint is None and "string" in expected:
        hint = _string_hint(given, in_table, path, nodes)
    return _list_hint(given) if hint is None and tuple(expected) == ("array",) else hint


def boolean_hint(given: Any, in_table: bool = False) -> str | None:
    """Return how to write the value as true or false: which of the two, if that is clear."""
    if not isinstance(given, str | int | float):
        return None
    wanted = meant_boolean(given)
    if wanted is None and _SHARE.fullmatch(str(given).strip()):
        return "compare the number with a threshold, and write true or false"
    if isinstance(given, str):
        return f"write {wanted or 'true or false'}{'' if in_table else ' without quotes'}"
    return f"write {wanted}" if wanted else None


def _string_hint(given: Any, in_table: bool, path: Path, nodes: Sequence[Any]) -> str | None:
    """Return what to write instead of a number: quotes alone are rarely right."""
    if given is True and path and path[-1] in ERROR_FIELDS:
        return "write the reason as text"
    if isinstance(given, list | dict) and path and isinstance(path[-1], int):
        return "write the names alone, without their scores"
    if isinstance(given, dict):
        return "write the text itself, not an object with it"
    if isinstance(given, bool) or not isinstance(given, int | float):
        return "write the text itself, without brackets" if isinstance(given, list) and len(given) == 1 else None
    if path and isinstance(path[-1], int):
        return "write the names that apply, not their numbers, nor a number for each name"
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


_SHARE = lazy_pattern(r"0?\.[0-9]+(?:e-?[0-9]+)?")


def _list_hint(given: Any, items: str = "") -> str | None:
    """Return how to write a value as a list; `items`: the type of its items, if they have the same."""
    of_names = items == "string"
    if isinstance(given, dict):
        if items == "object" and all(isinstance(value, dict | list) for value in given.values()) and given:
            return "write a list with all of them: [ { … }, { … } ]"
        if items == "object":
            return "put the object into a list: [ { … } ]"
        if not given or not all(isinstance(value, int | float) for value in given.values()):
            return "write a list: [ … ] instead of { … }, without keys"
        if of_names:
            return "write a list of the names that apply: [name for name, value in data.items() if value]"
        return "write a list: [ … ] instead of { … }, with the values only"
    if isinstance(given, str) and given.lstrip().startswith("["):
        return NOT_A_STRING
    if isinstance(given, str) and items == "object":
        return "write a list of objects: [ { … }, { … } ]"
    if isinstance(given, str) and (of_names or re.search(r"[,;|]", given)):
        return 'write a list of strings: ["…", "…"]'
    return None if given is None else "put the value into a list: [ … ]"


def _item_type(path: Path, schema: dict[str, Any]) -> str:
    """Return the type of the items of a list, if they have the same."""
    lists = [node for node in schemas_at(schema, path) if node.get("type") == "array"]
    types = {item.get("type", "") for node in lists for item in variants_of(node.get("items", {}), schema)}
    return types.pop() if len(types) == 1 else ""


def _may_be_failed(finding: Finding, schema: dict[str, Any]) -> bool:
    """Return whether an answer lacks a value, in a contract with records that say why there is no answer."""
    is_there = not finding.value or not _NOTHING.fullmatch(finding.value)
    return len(finding.path) == 1 and not is_there and _is_answer(finding.path, schema)


def _is_answer(path: Path, schema: dict[str, Any]) -> bool:
    """Return whether a value is a part of the answer, which records that say why there is none do not have."""
    variants = variants_of(schema)
    return len(variants) > 1 and any(
        "error" in each.get("required", ()) and path[0] not in each["required"] for each in variants
    )


def not_a_number_hint(finding: Finding, schema: dict[str, Any]) -> str | None:
    """Return the hint about NaN or an infinite number."""
    if not finding.path or finding.path[-1] in ERROR_FIELDS:
        return LEAVE_EMPTY if finding.path else finding.hint
    return f"{finding.hint}; {_WITHOUT_ANSWER}" if _is_answer(finding.path, schema) else finding.hint


def _object_hint(path: Path, schema: dict[str, Any]) -> str | None:
    """Name the keys of an object, where another value is."""
    keys = known_keys(schema, path) if path else []
    if not keys:
        return "write an object: { name: value, … }" if path else None
    more = ", …" if len(keys) > _MOST_LISTED else ""
    return f"write an object {{ … }}; its keys are {', '.join(keys[:_MOST_LISTED])}{more}"


def no_error(parsed: Any, errors: Sequence[Finding]) -> list[Finding]:
    """Return the finding about an `error` that says that there was none, next to answers; none if that is not so."""
    given = parsed.get("error") if isinstance(parsed, dict) else None
    if not isinstance(given, str) or not means_no_error(given) or all(each.code != "MC109" for each in errors):
        return []
    return [
        Finding("MC109", f"'{given.strip()}' in 'error' means that there was no error", LEAVE_EMPTY, path=("error",))
    ]
