"""Keywords that jsonschema does not report precisely enough, or does not check in bounded time.

- `required`, `additionalProperties`, `unevaluatedProperties`, `propertyNames`, `dependentRequired`, `dependencies`:
  jsonschema mentions the keys only in its message, several in one error.
- `pattern`, `patternProperties`, `unevaluatedProperties`: jsonschema searches with `re`, which may backtrack
  exponentially. Here the package `regex` searches, and gives up after a second. The syntax is as in `re`, with
  Unicode properties (`\\p{L}`) and named groups (`(?<name>…)`) of ECMA-262.
- `uniqueItems`: jsonschema compares objects in quadratic time.
- `$ref`: a small file with nested values takes exponential time if each alternative of a recursive schema checks the
  same inner values again. So each value is checked once by the schema of a reference.
- `anyOf`, `oneOf`: see `errors.closest`.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing.jsonschema import lookup_recursive_ref

from medcontract.jsonschema_files.errors import Names, closest
from medcontract.types import JsonObject, Schema

Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]
Checked = dict[tuple[int, int], list[ValidationError]]
"""The errors that a reference found in a value, by the id() of the schema with the reference and of the value."""
_REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}
_HEADROOM = 50


class Applies(Protocol):
    """A validator of jsonschema, as keywords use it."""

    VALIDATORS: Mapping[str, object]
    _resolver: Any

    def descend(self, instance: object, schema: object, path: str | None = None) -> Errors: ...
    def evolve(self, **changes: object) -> Applies: ...


def validator_class(base: type[Validator], checked: Checked | None) -> type[Validator]:
    """Return the validator of a draft with the keywords of this module.

    `checked` is cleared by the caller after each document. It must be None if there are dynamic references: then what
    a reference means depends on the references before it.
    """
    ours: dict[str, Keyword] = {
        "required": _required, "propertyNames": _property_names, "uniqueItems": _unique_items, "pattern": _pattern,
        "patternProperties": _pattern_properties, "additionalProperties": _additional_properties,
        "dependencies": _dependencies, "dependentRequired": _dependencies, "anyOf": _any_of, "oneOf": _one_of,
        "unevaluatedProperties": _unevaluated_properties,
    }  # fmt: skip
    for name in _REFERENCES & base.VALIDATORS.keys():
        ours[name] = _reference(base.VALIDATORS[name], checked)
    made: type[Validator] = extend(base, {name: ours[name] for name in ours.keys() & base.VALIDATORS.keys()})  # type: ignore[no-untyped-call]  # missing from the stubs
    return made


def _require_stack() -> None:
    """Raise `RecursionError` before Python does: code in Rust that looks up a reference would panic, and print that."""
    depth, frame = 0, sys._getframe().f_back
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    if depth > sys.getrecursionlimit() - _HEADROOM:
        raise RecursionError


def _error(*names: str | int, at: str | None = None) -> ValidationError:
    return ValidationError("", cause=Names(*names), path=() if at is None else (at,))


def _reference(original: Any, checked: Checked | None) -> Keyword:
    def keyword(validator: Applies, ref: str, instance: object, schema: Schema) -> Errors:
        _require_stack()
        if checked is None:
            yield from original(validator, ref, instance, schema)
            return
        key = id(schema), id(instance)
        if key not in checked:
            checked[key] = list(original(validator, ref, instance, schema))
        for error in checked[key]:  # jsonschema extends their paths: yield copies
            yield ValidationError(
                "", error.validator, error.relative_path, error.cause, (), error.validator_value, error.instance,
                error.schema,
            )  # fmt: skip

    return keyword


def _required(validator: Applies, required: list[str], instance: object, schema: Schema) -> Errors:
    if isinstance(instance, dict):
        yield from (_error(key) for key in required if key not in instance)


def _property_names(validator: Applies, names: object, instance: object, schema: Schema) -> Errors:
    for key in instance if isinstance(instance, dict) else ():
        if not _is_valid(validator, key, names):
            yield _error(key, at=key)


def _unique_items(validator: Applies, unique: bool, instance: object, schema: Schema) -> Errors:
    seen: dict[object, int] = {}
    for index, item in enumerate(instance if unique and isinstance(instance, list) else ()):
        first = seen.setdefault(_hashable(item), index)
        if first != index:
            yield _error(first, index)
            return


def _hashable(value: object) -> object:
    """Return a key that is equal for values that JSON Schema considers equal: 1 is 1.0, but not true."""
    if isinstance(value, list):
        return ("list", *map(_hashable, value))
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    return (bool, value) if isinstance(value, bool) else value


def _pattern(validator: Applies, pattern: str, instance: object, schema: Schema) -> Errors:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError("")


def _pattern_properties(validator: Applies, patterns: JsonObject, instance: object, schema: Schema) -> Errors:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for key in _matching(instance, {pattern}):
                yield from validator.descend(instance[key], inner, path=key)


def _matching(instance: JsonObject, patterns: Iterable[str]) -> list[str]:
    return [key for key in instance if any(matches(pattern, key) for pattern in patterns)]


def _additional_properties(validator: Applies, allowed: object, instance: object, schema: Schema) -> Errors:
    if isinstance(instance, dict):
        known = {*schema.get("properties", ()), *_matching(instance, schema.get("patternProperties", ()))}
        yield from _others(validator, allowed, instance, known)


def _others(validator: Applies, allowed: object, instance: JsonObject, known: set[str]) -> Errors:
    """Yield the errors of keys other than the known ones."""
    for key, value in instance.items():
        if key not in known:
            yield from [_error(key, at=key)] if allowed is False else validator.descend(value, allowed, path=key)


def _dependencies(validator: Applies, dependencies: JsonObject, instance: object, schema: Schema) -> Errors:
    if not isinstance(instance, dict):
        return
    for key, needed in dependencies.items():
        if key in instance and isinstance(needed, list):
            yield from (_error(other, key) for other in needed if other not in instance)
        elif key in instance:
            yield from validator.descend(instance, needed)


def _any_of(validator: Applies, schemas: list[object], instance: object, schema: Schema) -> Errors:
    branches = []
    for inner in schemas:
        branches.append(list(validator.descend(instance, inner)))
        if not branches[-1]:
            return
    yield from closest(branches, instance, "anyOf")


def _one_of(validator: Applies, schemas: list[object], instance: object, schema: Schema) -> Errors:
    branches = [list(validator.descend(instance, inner)) for inner in schemas]
    if all(branches):
        yield from closest(branches, instance, "oneOf")
    elif branches.count([]) > 1:
        yield ValidationError("")


def _unevaluated_properties(validator: Applies, allowed: object, instance: object, schema: Schema) -> Errors:
    if isinstance(instance, dict):
        yield from _others(validator, allowed, instance, _evaluated(validator, instance, schema))


def _evaluated(validator: Applies, instance: JsonObject, schema: object) -> set[str]:
    """Return the keys of an object that a schema evaluates, directly or through schemas for the same object."""
    if not isinstance(schema, dict):
        return set()
    keys = {*schema.get("properties", ()), *_matching(instance, schema.get("patternProperties", ()))}
    for keyword in schema.keys() & {"additionalProperties", "unevaluatedProperties"}:
        keys |= {key for key in instance if _is_valid(validator, instance[key], schema[keyword])}
    for inner, within in _applied(validator, instance, schema):
        keys |= _evaluated(within, instance, inner)
    return keys


def _applied(validator: Applies, instance: JsonObject, schema: Schema) -> Iterator[tuple[object, Applies]]:
    """Yield the schemas for the same object that it satisfies, each with its validator."""
    for keyword in schema.keys() & validator.VALIDATORS.keys() & {"$ref", "$dynamicRef", "$recursiveRef"}:
        resolver = validator._resolver
        found = lookup_recursive_ref(resolver) if keyword == "$recursiveRef" else resolver.lookup(schema[keyword])
        yield found.contents, validator.evolve(schema=found.contents, _resolver=found.resolver)
    yield from ((inner, validator) for key, inner in schema.get("dependentSchemas", {}).items() if key in instance)
    for inner in (inner for keyword in ("allOf", "oneOf", "anyOf") for inner in schema.get(keyword, ())):
        if _is_valid(validator, instance, inner):
            yield inner, validator
    if "if" in schema:
        matches = _is_valid(validator, instance, schema["if"])
        yield schema["if"] if matches else None, validator
        yield schema.get("then" if matches else "else"), validator


def _is_valid(validator: Applies, instance: object, schema: object) -> bool:
    return next(validator.descend(instance, schema), None) is None


# --- patterns

SECONDS = 1.0
"""The time limit of one search. On a busy computer a shorter one would reject harmless patterns."""
_MOST_COMPILED = 1_000_000
"""The maximum size of a compiled pattern, which takes about 100 MB."""
_UNKNOWN_TO_RE = re.compile(r"\\[pP](?:\{[^{}]*\}|[A-Z])|\(\?<(?=\w)|\\.", re.DOTALL)
"""Unicode properties and named groups, which `re` does not know or spells differently; and other escapes."""


class NoPattern(ValueError):
    """A pattern that cannot be compiled; the message says why."""


class TooSlow(Exception):
    """Matching the pattern takes too long."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern, without warnings. Raises `NoPattern`."""
    from re import _parser  # type: ignore[attr-defined]  # the only way to see repeats before they are compiled

    import regex

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _compiled_size(_parser.parse(_UNKNOWN_TO_RE.sub(_spelled_for_re, pattern))) > _MOST_COMPILED:
                raise NoPattern("too large")
            return regex.compile(pattern)
    except (re.error, regex.error) as error:
        raise NoPattern(error.msg) from None
    except (RecursionError, OverflowError):
        raise NoPattern("too large") from None


def _spelled_for_re(found: re.Match[str]) -> str:
    """Return something of the same size that `re` knows."""
    text = found.group()
    return r"\w" if text[:2] in (r"\p", r"\P") else "(?P<" if text == "(?<" else text


def _compiled_size(part: Any) -> int:
    """Return the size of a part of a parsed pattern. `regex` copies required repeats, also those inside repeats."""
    if not hasattr(part, "__len__"):
        return 1
    if isinstance(part, tuple) and str(part[0]).endswith("_REPEAT"):
        least: int = part[1][0]
        return max(1, least) * _compiled_size(part[1][2])
    if isinstance(part, tuple) and str(part[0]) == "IN":
        return len(part[1])
    return 1 + sum(map(_compiled_size, part))


def matches(pattern: str, text: str) -> bool:
    """Check whether the pattern is found in the text. Raises `NoPattern`, and `TooSlow` after a second."""
    try:
        return compile_pattern(pattern).search(text, timeout=SECONDS) is not None
    except (TimeoutError, MemoryError):
        raise TooSlow from None
