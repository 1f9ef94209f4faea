"""The slow path: finds out what exactly is wrong with a value that the fast path rejected."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from medcontract.contracts.messages import (
    boolean_hint,
    kind,
    list_hint,
    name,
    number_hint,
    shown,
    string_hint,
    unknown_key,
    without,
)
from medcontract.contracts.string_patterns import ANSWERED, FAILED, NON_BLANK, PATTERN_DESCRIPTIONS, without_anchors
from medcontract.problems import Finding, Path, plural, shorten


class Checked(NamedTuple):
    """A value with the right structure, or the findings that say why it is not."""

    value: Any
    findings: list[Finding]


def check_structure(adapter: TypeAdapter[Any], value: Any, names: frozenset[str] = frozenset()) -> Checked:
    """Validate a parsed value. `names`: keys that are always checked, even if a huge object is checked in part."""
    part = cut_down(value, names)
    if part is not value:  # of millions of invalid items, the first ones are enough
        checked = _check(adapter, part)
        if checked.findings:
            return checked
    return _check(adapter, value)


def _check(adapter: TypeAdapter[Any], value: Any) -> Checked:
    try:
        return Checked(adapter.validate_python(value), [])
    except ValidationError as error:
        findings: list[Finding] = []
        tagged = _has_variants(adapter)
        for item in error.errors(include_url=False):
            findings.extend(_findings(item, tagged and item["loc"][:1] in ((ANSWERED,), (FAILED,))))  # type: ignore[arg-type]  # a TypedDict
        return Checked(None, findings)
    except Exception as error:  # noqa: BLE001  # a custom validator
        message = f"a custom validator of the contract failed: {type(error).__name__}"
        return Checked(None, [Finding("MC110", message)])


_MOST_ITEMS = 1000


class _Part(list[Any]):
    """The first items of a long list."""

    whole = 0
    """How many items the list has."""


def cut_down(value: Any, names: frozenset[str]) -> Any:
    """The value itself or, if it has very long lists or objects, a copy with only their first members."""
    if isinstance(value, list):
        items = [cut_down(item, names) for item in value[:_MOST_ITEMS]]
        if len(value) <= _MOST_ITEMS:
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        part = _Part(items)
        part.whole = len(value)
        return part
    if isinstance(value, dict):
        keys = list(value) if len(value) <= _MOST_ITEMS else [k for n, k in enumerate(value) if n < 100 or k in names]
        members = {key: cut_down(value[key], names) for key in keys}
        same = len(keys) == len(value) and all(members[key] is value[key] for key in keys)
        return value if same else members
    return value


def _has_variants(adapter: TypeAdapter[Any]) -> bool:
    """Whether records have two variants: then the variant is the first part of an error's path."""
    schema: Any = adapter.core_schema
    while schema["type"] == "definitions":
        schema = schema["schema"]
    return bool(schema["type"] == "tagged-union")


def _findings(error: dict[str, Any], tagged: bool) -> Iterator[Finding]:
    path: Path = error["loc"]
    if tagged:  # the chosen variant comes first
        path = path[1:]
    if error["type"] == "extra_forbidden":
        yield Finding(*unknown_key(path[-1]), path=path, at_key=True, value=shorten(str(path[-1])))
        return
    context = error.get("ctx") or {}
    given = error["input"]
    make = _BY_TYPE.get(error["type"])
    if make is None:
        code, message, hint = "MC103", f"{name(path)} is not valid", None
    else:
        made = make(path, context, given)
        if made is None:
            return
        code, message, hint = made
    if error["type"] == "missing":
        yield Finding(code, message, hint, path=path[:-1], field=str(path[-1]))
    else:
        yield Finding(code, message, hint, path=path, value=shown(given))


Made = tuple[str, str, str | None]


def _wrong_type(wanted: str, schema_hint: Callable[[Any], str | None] = lambda value: None) -> Any:
    def make(path: Path, context: dict[str, Any], given: Any) -> Made:
        if path == ():
            return "MC103", f"expected {wanted}, got {kind(given)}", schema_hint(given)
        return "MC103", f"{name(path)} must be {wanted}, not {kind(given)}", schema_hint(given)

    return make


def _unknown_value(path: Path, context: dict[str, Any], given: Any) -> Made:
    from medcontract.contracts.suggestions import did_you_mean

    choices = _choices(context["expected"])
    if not choices:  # numbers and booleans
        return "MC104", f"{name(path)} must be {context['expected'].lower()}", None
    message = f"{name(path)} must be {'one of ' * (len(choices) > 1)}{_listed(choices)}"
    if not isinstance(given, str):
        return "MC103", f"{name(path)} must be a string, not {kind(given)}", f"one of {_listed(choices)}"
    if given.strip() in choices:
        return "MC104", message, "remove leading and trailing whitespace"
    if re.fullmatch(r"\s*[0-9]+(?:\.0)?\s*", given) and not any(choice.isdigit() for choice in choices):
        return "MC104", message, "write the name itself, not a number"
    return "MC104", message, did_you_mean(given, choices)


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
"""A string as Pydantic lists it: a literal of Python."""
_MOST_LISTED = 50


@lru_cache(16)
def _choices(expected: str) -> tuple[str, ...]:
    """The strings that Pydantic lists; empty for other values."""
    return tuple(ast.literal_eval(each) for each in _QUOTED.findall(expected))


def _listed(choices: Sequence[str]) -> str:
    first = ", ".join(f'"{choice}"' if "," in choice else choice for choice in choices[:_MOST_LISTED])
    return first if len(choices) <= _MOST_LISTED else f"{first}, … ({len(choices):,} values)"


def _pattern(path: Path, context: dict[str, Any], given: Any) -> Made:
    wanted = PATTERN_DESCRIPTIONS.get(context["pattern"])
    if context["pattern"] == NON_BLANK:
        return "MC106", f"{name(path)} must not be blank", None
    wanted = wanted or f"a string that matches {without_anchors(context['pattern'])}"
    return "MC107", f"{name(path)} must be {wanted}", _format_hint(given)


def _format_hint(given: str) -> str | None:
    if re.match(r"[A-Za-z]:|/", given):
        return "write the path relative to the folder of the data, with '/' between its parts"
    if "\\" in given:
        return "write '/' instead of '\\'"
    if re.match(r"\s*[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}", given):
        return "write the year first: 2026-05-31"
    if given != given.strip():
        return "remove leading and trailing whitespace"
    return None


_MOST_PERCENT = 100
_LARGEST_WRITTEN = 1e16
"""Larger numbers are written with an exponent."""
_SHARE = "if it is a percentage, divide it by 100: 25 % is 0.25"


def _bound(word: str, key: str) -> Any:
    def make(path: Path, context: dict[str, Any], given: Any) -> Made:
        is_percentage = key == "le" and context[key] == 1 and 1 < given <= _MOST_PERCENT
        return "MC105", f"{name(path)} must be {word} {_number(context[key])}", _SHARE if is_percentage else None

    return make


def _number(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) and abs(bound) < _LARGEST_WRITTEN else repr(bound)


def _count(given: Any) -> int:
    return given.whole if isinstance(given, _Part) else len(given)


def _too_few(path: Path, context: dict[str, Any], given: Any) -> Made | None:
    if _count(given) >= context["min_length"]:
        return None  # Pydantic counts only valid items; the invalid ones have separate findings
    return "MC108", _length(path, "at least", context["min_length"], _count(given)), None


def _too_many(path: Path, context: dict[str, Any], given: Any) -> Made:
    return "MC108", _length(path, "at most", context["max_length"], _count(given)), None


def _length(path: Path, word: str, limit: int, actual: int) -> str:
    return f"{name(path)} must have {word} {plural(limit, 'item')}, not {actual}"


def _text_length(word: str, key: str) -> Any:
    def make(path: Path, context: dict[str, Any], given: Any) -> Made:
        return "MC107", f"{name(path)} must have {word} {plural(context[key], 'character')}, not {len(given)}", None

    return make


def _missing(path: Path, context: dict[str, Any], given: Any) -> Made:
    return "MC101", f"'{path[-1]}' is missing", None


def _not_here(path: Path, context: dict[str, Any], given: Any) -> Made:
    return (
        "MC109",
        f"{name(path)} is not allowed together with 'error'",
        "remove it, or remove 'error' if there was none",
    )


def _custom_check(path: Path, context: dict[str, Any], given: Any) -> Made:
    """A custom validator of the contract; its message may quote the value."""
    return "MC110", f"{name(path)}: {without(str(context['error']), given)}", None


_BY_TYPE: dict[str, Callable[[Path, dict[str, Any], Any], Made | None]] = {
    "missing": _missing,
    "none_required": _not_here,
    "literal_error": _unknown_value,
    "string_pattern_mismatch": _pattern,
    "string_too_short": _text_length("at least", "min_length"),
    "string_too_long": _text_length("at most", "max_length"),
    "too_short": _too_few,
    "too_long": _too_many,
    "greater_than_equal": _bound("at least", "ge"),
    "greater_than": _bound("above", "gt"),
    "less_than_equal": _bound("at most", "le"),
    "less_than": _bound("below", "lt"),
    "value_error": _custom_check,
    "assertion_error": _custom_check,
    "string_type": _wrong_type("a string", string_hint),
    "float_type": _wrong_type("a number", number_hint),
    "int_type": _wrong_type("an integer", number_hint),
    "bool_type": _wrong_type("true or false", boolean_hint),
    "tuple_type": _wrong_type("a list", list_hint),
    "list_type": _wrong_type("a list", list_hint),
    "dict_type": _wrong_type("an object"),
    "model_type": _wrong_type("an object"),
    "model_attributes_type": _wrong_type("an object"),
}
