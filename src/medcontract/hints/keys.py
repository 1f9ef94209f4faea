"""Hints about the wrong keys of a record, a header or a document; hints about its values are added."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from medcontract.contracts.registry import CompiledContract, compiled, known_keys, schemas_at, value_at
from medcontract.contracts.string_patterns import NON_BLANK
from medcontract.contracts.suggestions import certain_renames, did_you_mean, folded, join_names, nearest
from medcontract.contracts.wrong_values import (
    ERROR_FIELDS,
    unit_of,
)
from medcontract.hints.foreign_files import by_keys
from medcontract.problems import Finding, Path, is_plain
from medcontract.reading.diagnosis import index_hint

_MOST_HINTS = 100
_MOST_KEYS = 1000
_MOST_NAMED = 8
"""Objects with more keys get no hints about renamed ones."""
_LONGEST_KNOWN = 2000
_WITHOUT_INDEX = "df.reset_index(drop=True)"


class Keys(NamedTuple):
    """What was probably meant by the missing and unknown keys of a record."""

    parsed: Any
    schema: dict[str, Any]
    scattered: dict[str, str]
    """Keys that belong into an object, which is missing, with the name of that object."""
    renames: dict[Path, dict[str, str]]
    other: str | None
    """Another contract that the record satisfies."""
    inner: str | None
    """The key of an object with most missing fields."""
    meant: set[tuple[Path, str | None]]
    """Missing fields that are there otherwise."""
    complete: bool
    """Whether no key is missing."""

    @classmethod
    def of(cls, parsed: Any, missing: dict[Path, set[str]], findings: Sequence[Finding], schema: Any) -> Keys:
        renames = {path: _renames(value_at(parsed, path), path, fields, schema) for path, fields in missing.items()}
        other = other_contract(parsed) if () in renames else None
        lacking = missing.get((), set())
        inner = _nested(parsed, lacking)
        meant = _meant_fields(findings, parsed, schema, renames)
        meant |= {((), field) for field in lacking if other or (inner and field in parsed[inner])}
        scattered = _scattered(parsed, lacking, schema)
        return cls(parsed, schema, scattered, renames, other, inner, meant, not missing)

    def explain(self, finding: Finding) -> Finding:
        """Return the finding about a missing or an unknown key with a hint."""
        hint = _into_object(finding, self.scattered)
        if finding.code == "MC101":
            pairs = self.renames.get(finding.path, {})
            hint = hint or rename_hint(next((name for name, field in pairs.items() if field == finding.field), None))
            return finding._replace(hint=hint or finding.hint, merged=(finding.path, finding.field) in self.meant)
        renamed = self.renames.get(finding.path[:-1], {}).get(str(finding.path[-1]), "")
        hint = hint or self._unknown_hint(str(finding.path[-1]), finding.path[:-1])
        return finding._replace(hint=hint, renamed=renamed if finding.name else "")

    def _unknown_hint(self, key: str, path: Path) -> str | None:
        if field := self.renames.get(path, {}).get(key):
            return f"rename it to '{field}'"
        if self.inner == key and not path:
            return "write its fields into the record itself, not into an object in it"
        if self.other and not path:
            return f"the record is one of {self.other}: move it to a file of that contract"
        if foreign := by_keys(value_at(self.parsed, path)):
            return f"it is {foreign[0]}: {foreign[1]}"
        known = known_keys(self.schema, path)
        if field := _in_unit(key, known):
            return f"convert it: '{field}' is in {unit_of(field)}"
        there = value_at(self.parsed, path)
        absent = [name for name in known if name not in there] if isinstance(there, dict) else []
        if hint := index_hint(key, _WITHOUT_INDEX) or did_you_mean(key, known):
            return hint
        if path and absent == known and len(known) <= _MOST_NAMED:
            return f"use one of the keys {', '.join(known)}"
        return "remove it" if self.complete and known else None


def unneeded_hint(absent: Sequence[str]) -> str:
    """Return the hint about an unknown key of a record in which nothing that is required is missing."""
    absent = [name for name in absent if name not in (*ERROR_FIELDS, "$schema")]
    return f"remove it, or rename it if it is '{absent[0]}'" if len(absent) == 1 else "remove it"


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
    """Return the key of an object in a record that contains most of its missing fields."""
    if not missing or not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return None
    objects = ((key, value) for key, value in parsed.items() if isinstance(value, dict))
    return next((key for key, value in objects if 2 * len(missing & value.keys()) > len(missing)), None)


def _renames(parsed: Any, path: Path, missing: set[str], schema: dict[str, Any]) -> dict[str, str]:
    """Return the unknown keys of an object that mean one of its missing keys."""
    if not isinstance(parsed, dict) or len(parsed) > _MOST_KEYS:
        return {}
    unknown = frozenset(parsed) - frozenset(known_keys(schema, path))
    if not unknown:
        return {}
    pair = _paired if sum(map(len, unknown)) <= _LONGEST_KNOWN else _paired.__wrapped__
    pairs = pair(unknown, frozenset(missing))
    return pairs if path else {**pairs, **_renamed_list(parsed, unknown - pairs.keys(), missing, schema)}


def _renamed_list(parsed: dict[str, Any], unknown: frozenset[str], missing: set[str], schema: Any) -> dict[str, str]:
    """Return the only list with an unknown key, if one list is missing."""
    given = [key for key in unknown if isinstance(parsed[key], list)] if other_contract(parsed) is None else []
    wanted = [key for key in missing if schema.get("properties", {}).get(key, {}).get("type") == "array"]
    return {given[0]: wanted[0]} if len(given) == len(wanted) == 1 else {}


def other_contract(parsed: Any) -> str | None:
    """Return the only contract that has all keys of a record, and whose required keys the record has."""
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


def _in_unit(key: str, known: Sequence[str]) -> str | None:
    """Return the field that a key is but for its unit."""
    unit, start = unit_of(key), key.rpartition("_")[0]
    return next((field for field in known if unit and unit_of(field) not in (None, unit)
                 and field.rpartition("_")[0] == start), None)  # fmt: skip


def column_hint(name: str, header: Sequence[str], renames: Mapping[str, str], contract: CompiledContract) -> str | None:
    """Return the hint about a column that the contract does not know; `renames` are columns that mean a missing one."""
    if pair := _merged(name, header):
        kept = f", as '{pair[2]}'" if pair[2] not in header else ""
        return f"keep one of '{pair[0]}' and '{pair[1]}'{kept}: pd.merge wrote both"
    if name in renames:
        return f"rename it to '{renames[name]}'"
    if group := contract.spread.get(name):
        return f"use one column each: {', '.join(group)}"
    absent = [column for column in contract.columns if column.name not in header]
    if folded(name) == "id" and len(parts := key_parts(header, contract)) > 1:
        return f"write one column each: {join_names(parts)}"
    if field := _one_hot(name, [column.name for column in absent], contract):
        return f"write one column '{field}' with the name, instead of one column for each name"
    hint = did_you_mean(name, [column.name for column in absent])
    is_complete = all(column.nullable for column in absent)
    return hint or (unneeded_hint([column.name for column in absent]) if is_complete else None)


def key_parts(header: Collection[str], contract: CompiledContract) -> list[str]:
    """Return the missing columns that may be parts of a key: any text that is not blank."""
    absent = [column for column in contract.columns if not column.nullable and column.name not in header]
    nodes = {column.name: schemas_at(contract.record_schema, column.path) for column in absent}
    return [name for name, found in nodes.items() if all(node.get("pattern") == NON_BLANK for node in found)]


def meant_columns(header: Sequence[str], contract: CompiledContract) -> frozenset[str]:
    """Return the missing columns that other columns explain."""
    known = {column.name for column in contract.columns}
    absent = [column.name for column in contract.columns if column.name not in header]
    groups: list[Sequence[str]] = [contract.spread[name] for name in header if name in contract.spread]
    unknown = [name for name in header if name not in known]
    groups += [key_parts(header, contract)] if any(folded(name) == "id" for name in unknown) else []
    fields = [_one_hot(name, absent, contract) for name in unknown] + [
        pair[2] for name in unknown if (pair := _merged(name, header))
    ]
    return frozenset(name for group in groups for name in group).union(field for field in fields if field)


def _merged(name: str, header: Sequence[str]) -> tuple[str, str, str] | None:
    """Return two columns of one name that pd.merge wrote, and that name."""
    stem, end = name[:-2], name[-2:]
    pair = (f"{stem}_x", f"{stem}_y", stem)
    return pair if end in ("_x", "_y") and is_plain(name) and pair[0] in header and pair[1] in header else None


def _one_hot(name: str, absent: Sequence[str], contract: CompiledContract) -> str | None:
    """Return the missing column of names for a column about one of them: `specialty` for `specialty_Cardiology`."""
    for field in absent:
        choices = [each for node in schemas_at(contract.record_schema, (field,)) for each in node.get("enum", ())]
        if name.startswith(field) and folded(name[len(field) :]) in map(folded, filter(_is_text, choices)):
            return field
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def rename_hint(name: str | None) -> str | None:
    """Return the hint about a missing key or column with another name. A name that may be data is not shown."""
    if name is None:
        return None
    return f"rename '{name}'" if is_plain(name) else "rename the one with the similar name"
