"""Checks the fields of the prediction and of the truth."""

from __future__ import annotations

from typing import Any

from medcontract.challenges.definition import Field
from medcontract.challenges.findings import Findings
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import CallError
from medcontract.problems import Path

TYPES = ("text", "str", "integer", "number", "boolean", "date", "set", "list")
ALLOWED = {
    "text": ("min_length", "max_length", "pattern"),
    "str": ("min_length", "max_length", "pattern"),
    "integer": ("min", "max"),
    "number": ("min", "max"),
    "set": ("of", "min_length", "max_length"),
    "list": ("of", "min_length", "max_length"),
}
"""The bounds that each type allows."""
_BOUNDS = ("of", "min", "max", "min_length", "max_length", "pattern")
KEYS = ("type", "one_of", *_BOUNDS, "optional", "about")
_ITEM_KEYS = tuple(key for key in KEYS if key not in ("of", "optional"))
MOST_FIELDS = 200
MOST_VALUES = 10_000
_LONGEST_VALUE = 200
_LONGEST_PATTERN = 500
Fields = dict[str, Field | None]
"""Fields by name; None for those with errors."""


def reserved_names() -> frozenset[str]:
    """Names that the models of records need for themselves."""
    from medcontract.contracts.base import OpenModel

    return frozenset(name for name in dir(OpenModel) if name.startswith("model_")) | {"schema_"}


def check_name(name: str, path: Path, findings: Findings) -> bool:
    """Whether a field may have this name."""
    if not findings.valid_name(name, path):
        return False
    if name == "error" or name in reserved_names():
        findings.add("MC225", path, f"'{name}' is a reserved name", "choose another name")
        return False
    return True


def check_fields(table: dict[str, Any] | None, part: str, key: tuple[str, ...], findings: Findings) -> Fields:
    """The fields of `[prediction]` or `[truth]`, by name."""
    if table is None:  # already reported
        return {}
    if not table:
        findings.add("MC108", (part,), "expected at least one field")
    if len(table) > MOST_FIELDS:
        findings.add("MC108", (part,), f"expected at most {MOST_FIELDS} fields")
        return {}
    found: Fields = {}
    for name, value in table.items():
        path = (part, name)
        if name in key:
            findings.add("MC225", path, "this is a key field", "key fields are added to both: remove it here")
            found[name] = None
        else:
            found[name] = check_field(name, value, path, findings) if check_name(name, path, findings) else None
    return found


def check_field(name: str, value: Any, path: Path, findings: Findings, item: bool = False) -> Field | None:
    """A field, or the items of one; None if it has errors."""
    if not isinstance(value, dict):
        hint = f'write {{ type = "{value}" }}' if value in TYPES else 'write { type = "…" } or { one_of = […] }'
        findings.wrong_type(path, "a table", value, hint)
        return None
    before = findings.errors
    findings.unknown_keys(value, _ITEM_KEYS if item else KEYS, path)
    kind = _check_type(value, path, findings, item)
    if kind is None:
        return None
    allowed = ALLOWED.get(kind, ())
    for key in _BOUNDS:
        if key in value and key not in allowed and not (item and key == "of"):
            findings.add("MC109", (*path, key), f"not allowed for the type {kind}")
    whole = kind == "integer"
    field = Field(
        name=name,
        type=kind,
        one_of=_check_values(value, path, findings) if kind == "one_of" else (),
        of=_check_items(value, path, findings) if kind in ("set", "list") else None,
        min=findings.bound(value, "min", path, whole),
        max=findings.bound(value, "max", path, whole),
        min_length=findings.count(value, "min_length", path),
        max_length=findings.count(value, "max_length", path),
        pattern=_check_pattern(value, path, findings),
        optional=findings.boolean(value, "optional", path) or False,
        about=findings.text(value, "about", path),
    )
    for low, high in (("min", "max"), ("min_length", "max_length")):
        smallest, largest = getattr(field, low), getattr(field, high)
        if smallest is not None and largest is not None and smallest > largest:
            findings.add("MC105", (*path, low), f"is larger than {high}")
    return field if findings.errors == before else None


def _check_type(value: dict[str, Any], path: Path, findings: Findings, item: bool) -> str | None:
    if ("type" in value) == ("one_of" in value):
        message = "type and one_of exclude each other" if "type" in value else "expected type or one_of"
        findings.add("MC224", path, message, f"use one of: {', '.join(TYPES)}; or one_of = […]")
        return None
    if "one_of" in value:
        return "one_of"
    kind = value["type"]
    known = tuple(name for name in TYPES if not item or name not in ("set", "list"))
    if not isinstance(kind, str):
        findings.wrong_type((*path, "type"), "a string", kind)
        return None
    if kind not in known:
        hint = "write one_of = […] instead of type" if kind in ("one_of", "enum") else did_you_mean(kind, known)
        findings.add("MC104", (*path, "type"), "unknown type", hint or f"use one of: {', '.join(known)}")
        return None
    return kind


def _check_values(value: dict[str, Any], path: Path, findings: Findings) -> tuple[str, ...]:
    values = findings.strings(value, "one_of", path)
    if values is None:
        return ()
    if not 1 <= len(values) <= MOST_VALUES:
        findings.add("MC108", (*path, "one_of"), f"expected 1 to {MOST_VALUES:,} values")
        return ()
    for index, each in enumerate(values):
        if len(each) > _LONGEST_VALUE:
            findings.add("MC107", (*path, "one_of", index), f"longer than {_LONGEST_VALUE} characters")
    return values


def _check_items(value: dict[str, Any], path: Path, findings: Findings) -> Field | None:
    if "of" not in value:
        findings.missing((*path, "of"), 'write of = { type = "str" } or of = { one_of = […] }')
        return None
    return check_field("of", value["of"], (*path, "of"), findings, item=True)


def _check_pattern(value: dict[str, Any], path: Path, findings: Findings) -> str | None:
    pattern = findings.text(value, "pattern", path)
    if pattern is None:
        return None
    path = (*path, "pattern")
    if len(pattern) > _LONGEST_PATTERN:
        findings.add("MC107", path, f"longer than {_LONGEST_PATTERN} characters")
        return None
    from medcontract.challenges.patterns import check_pattern

    try:
        check_pattern(pattern)
    except CallError as error:
        message, hint = error.as_options
        findings.add("MC107", path, message, hint)
        return None
    return pattern
