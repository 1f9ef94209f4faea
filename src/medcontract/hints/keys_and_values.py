"""What was probably meant by the wrong keys of a record, a header or a document; hints about its values are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from medcontract.contracts.registry import CompiledContract, compiled, known_keys, schemas_at, value_at
from medcontract.contracts.suggestions import certain_renames, did_you_mean, nearest
from medcontract.contracts.wrong_values import (
    LEAVE_EMPTY,
    means_no_error,
    unit_of,
)
from medcontract.hints.values import Spread, spread_hint, type_hint, value_hint
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
            if in_table and "boolean" in finding.expected and hint and not unanswered:
                finding = finding._replace(hint=f"if it means no, write false; {hint}")
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
