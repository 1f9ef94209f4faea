"""Converts the errors of Pydantic to findings: what exactly is wrong with a value that the fast path rejected.

Messages never contain the data itself. Guesses what the user meant are left to `medcontract.hints`, except guesses that
depend on what Pydantic reports, such as the choices of a field.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from medcontract.contracts.messages import HINTS, MESSAGES
from medcontract.contracts.registry import value_at
from medcontract.contracts.string_patterns import (
    ANSWERED,
    AS_DATE,
    DATE,
    FAILED,
    NON_BLANK,
    PATTERN_DESCRIPTIONS,
    without_anchors,
)
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Path, Token, is_plain, json_type, plural, shorten, shown_value, value_name

T = TypeVar("T")


class Checked(NamedTuple, Generic[T]):
    """A value with the right structure, or the findings that say why it is not."""

    value: T | None
    findings: list[Finding]


def check_structure(adapter: TypeAdapter[T], value: object, names: frozenset[str] = frozenset()) -> Checked[T]:
    """Validate a parsed value. `names`: keys that are always checked, even if a huge object is checked in part."""
    part = cut_down(value, names)
    if part is not value:  # of millions of invalid items, the first ones are enough
        checked = _check(adapter, part)
        if checked.findings:
            return checked
    return _check(adapter, value)


def _check(adapter: TypeAdapter[T], value: object) -> Checked[T]:
    try:
        return Checked(adapter.validate_python(value), [])
    except ValidationError as error:
        findings: list[Finding] = []
        tagged = _has_variants(adapter)
        for item in error.errors(include_url=False):
            in_variant = tagged and item["loc"][:1] in ((ANSWERED,), (FAILED,))
            path: Path = item["loc"][1:] if in_variant else item["loc"]  # the chosen variant comes first
            given = item["input"]
            if item["type"] in _TYPES and path and given is not None and value_at(value, path[:-1]) is given:
                path = path[:-1]  # without the name of one of several types
            found = list(_findings(item, path))  # type: ignore[arg-type]  # a TypedDict
            if findings and findings[-1].expected and findings[-1].path == path:
                expected = findings.pop().expected
                found = [each._replace(expected=expected + each.expected) for each in found]
            findings += found
        return Checked(None, findings)
    except Exception as error:  # noqa: BLE001  # a custom validator
        message = f"a custom validator of the contract failed: {type(error).__name__}"
        return Checked(None, [Finding("MC110", message)])


_MOST_ITEMS = 1000


class _FirstItems(list[object]):
    """The first items of a long list."""

    whole = 0
    """How many items the list has."""


def cut_down(value: Any, names: frozenset[str]) -> Any:
    """Return the value itself or, if it has very long lists or objects, a copy with only their first members."""
    if isinstance(value, list):
        items = [cut_down(item, names) for item in value[:_MOST_ITEMS]]
        if len(value) <= _MOST_ITEMS:
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        part = _FirstItems(items)
        part.whole = len(value)
        return part
    if isinstance(value, dict):
        keys = list(value) if len(value) <= _MOST_ITEMS else [k for n, k in enumerate(value) if n < 100 or k in names]
        members = {key: cut_down(value[key], names) for key in keys}
        same = len(keys) == len(value) and all(members[key] is value[key] for key in keys)
        return value if same else members
    return value


def _has_variants(adapter: TypeAdapter[T]) -> bool:
    """Return whether records have two variants: then the variant is the first part of an error's path."""
    schema: Any = adapter.core_schema
    while schema["type"] == "definitions":
        schema = schema["schema"]
    return bool(schema["type"] == "tagged-union")


def _findings(error: dict[str, Any], path: Path) -> Iterator[Finding]:
    if path[-1:] == ("[key]",):  # of a dictionary
        path = path[:-1]
    given = error["input"]
    context = error.get("ctx") or {}
    if error["type"] == "extra_forbidden":
        yield unknown_key(path[-1])._replace(path=path, at_key=True, value=shorten(str(path[-1])))
    elif error["type"] == "missing":
        yield Finding("MC101", MESSAGES["missing"], path=path[:-1], field=str(path[-1]), name=f"'{path[-1]}'")
    elif error["type"] in _TYPES:
        expected = (_TYPES[error["type"]],)
        yield Finding("MC103", "", path=path, value=shown_value(given), name=value_name(path) if path else "",
                      expected=expected, got=json_type(given))  # fmt: skip
    elif error["type"] == "union_tag_not_found":
        key = ast.literal_eval(context["discriminator"])
        yield Finding("MC101", MESSAGES["missing"], path=path, field=key, name=f"'{key}'")
    elif error["type"] == "union_tag_invalid":
        key = ast.literal_eval(context["discriminator"])
        found = _unknown_value({"expected": context["expected_tags"]}, given[key])
        yield found._replace(path=(*path, key), value=shown_value(given[key]), name=f"'{key}'")
    elif error["type"].startswith("MC"):  # a validator of ours that names the code
        yield Finding(error["type"], error["msg"], context.get("hint"), path=path)
    elif error["type"] in ("value_error", "assertion_error"):  # a custom validator; its message may quote the value
        message = f"{value_name(path)}: {_without(str(error['ctx']['error']), given)}"
        yield Finding("MC110", message, path=path, value=shown_value(given))
    else:
        kind = error["type"]
        make = _BY_TYPE.get(kind, _invalid)
        finding = _beyond_limit(kind, context, given) if kind in _LIMITS else make(context, given)
        if finding:
            yield finding._replace(path=path, value=shown_value(given), name=value_name(path))


def unknown_key(key: Token) -> Finding:
    """Return the finding about a key that no object at its place may have."""
    if not is_plain(key):
        return Finding("MC102", MESSAGES["unknown, may be data"])
    return Finding("MC102", MESSAGES["unknown"], name=f"'{key}'")


_TYPES = {
    "string_type": "string",
    "float_type": "number",
    "int_type": "integer",
    "bool_type": "boolean",
    "tuple_type": "array",
    "list_type": "array",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
}
"""What Pydantic expected, by the type of its error."""

Context = dict[str, Any]


def _invalid(context: Context, given: object) -> Finding:
    return Finding("MC103", "is not valid")


def _unknown_value(context: Context, given: object) -> Finding:
    from medcontract.contracts.suggestions import did_you_mean

    choices = _choices(context["expected"])
    if not choices:  # numbers and booleans
        return Finding("MC104", MESSAGES["constant"].format(choices=context["expected"].lower()))
    message = MESSAGES["one of" if len(choices) > 1 else "constant"].format(choices=_listed(choices))
    if not isinstance(given, str):
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        hint = f"{'write the name, not its number: ' * is_number}one of {_listed(choices)}"
        return Finding("MC103", "", hint, expected=("string",), got=json_type(given))
    if given.strip() in choices:
        return Finding("MC104", message, HINTS["white space"])
    if re.fullmatch(r"\s*[0-9]+(?:\.0)?\s*", given) and not any(choice.isdigit() for choice in choices):
        return Finding("MC104", message, "write the name, not its number")
    return Finding("MC104", message, did_you_mean(given, choices))


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
"""A string as Pydantic lists it: a literal of Python."""
_MOST_LISTED = 50


@lru_cache(16)
def _choices(expected: str) -> tuple[str, ...]:
    """Return the strings that Pydantic lists; empty for other values."""
    return tuple(ast.literal_eval(each) for each in _QUOTED.findall(expected))


def _listed(choices: Sequence[str]) -> str:
    first = ", ".join(f'"{choice}"' if "," in choice else choice for choice in choices[:_MOST_LISTED])
    return first if len(choices) <= _MOST_LISTED else f"{first}, … ({len(choices):,} values)"


def _pattern(context: Context, given: str) -> Finding:
    if context["pattern"] == NON_BLANK:
        return Finding("MC106", MESSAGES["blank"])
    wanted = PATTERN_DESCRIPTIONS.get(context["pattern"])
    wanted = wanted or MESSAGES["other pattern"].format(pattern=without_anchors(context["pattern"]))
    message = MESSAGES["pattern"].format(wanted=wanted)
    is_number = context["pattern"] == DATE and re.fullmatch(r"\s*[0-9]{5,16}(\.[0-9]+)?\s*", given)
    return Finding("MC107", message, AS_DATE if is_number else _format_hint(given))


def _format_hint(given: str) -> str | None:
    if re.match(r"[A-Za-z]:|/", given):
        return HINTS["relative"]
    if "\\" in given:
        return HINTS["slashes"]
    if re.match(r"\s*[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}", given):
        return HINTS["year first"]
    if given != given.strip():
        return HINTS["white space"]
    return None


_LARGEST_WRITTEN = 1e16
"""Larger numbers are written with an exponent."""


def _number(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) and abs(bound) < _LARGEST_WRITTEN else repr(bound)


_LIMITS = {
    "greater_than_equal": ("MC105", "minimum", "ge", ""),
    "greater_than": ("MC105", "exclusiveMinimum", "gt", ""),
    "less_than_equal": ("MC105", "maximum", "le", ""),
    "less_than": ("MC105", "exclusiveMaximum", "lt", ""),
    "string_too_short": ("MC107", "minLength", "min_length", "character"),
    "string_too_long": ("MC107", "maxLength", "max_length", "character"),
    "too_short": ("MC108", "minItems", "min_length", "item"),
    "too_long": ("MC108", "maxItems", "max_length", "item"),
}
"""The code, the message, the name of the limit in the context, and what is counted, by the type of the error."""


def _beyond_limit(kind: str, context: Context, given: Any) -> Finding | None:
    code, message, key, unit = _LIMITS[kind]
    limit = context[key]
    if not unit:
        return Finding(code, MESSAGES[message].format(bound=_number(limit)))
    count = given.whole if isinstance(given, _FirstItems) else len(given)
    if kind == "too_short" and count >= limit:
        return None  # Pydantic counts only valid items; the invalid ones have separate findings
    return Finding(code, MESSAGES[message].format(count=plural(limit, unit), got=count))


def _not_here(context: Context, given: object) -> Finding:
    return Finding("MC109", MESSAGES["not here"], HINTS["not here"])


def _without(text: str, value: object) -> str:
    """Return the text with … in place of words that also occur in the value, except short words without a digit."""
    data = " ".join(_texts(value)).casefold()
    return _WORD.sub(lambda match: "…" if _may_be_data(match[0]) and match[0].casefold() in data else match[0], text)


def _texts(value: object) -> Iterator[str]:
    """Yield all values inside, without keys."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
    else:
        yield str(value)


_WORD = lazy_pattern(r"\w+(?:[.,-]\w+)*")
_SHORT = 2


def _may_be_data(word: str) -> bool:
    return len(word) > _SHORT or any(c.isdigit() for c in word)


_BY_TYPE: dict[str, Callable[[Context, Any], Finding]] = {
    "none_required": _not_here,
    "literal_error": _unknown_value,
    "string_pattern_mismatch": _pattern,
}
