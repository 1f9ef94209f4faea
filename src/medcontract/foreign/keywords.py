"""Keywords whose errors in jsonschema name the key only inside a sentence: here they name it as data.

The verdicts are jsonschema's own, but for `uniqueItems`, which is done in linear time and tells 1 from true
at any depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from medcontract.foreign.branches import Verdict, weigh

Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]


class Named(Exception):
    """The keys or indexes that an error is about, as its `cause`."""


def _error(*names: str | int, at: str | None = None) -> ValidationError:
    return ValidationError("", cause=Named(*names), path=() if at is None else (at,))


class Memory:
    """What recursive schemas said of values that were met before.

    Alternatives (`anyOf` and the like) that each look at the same inner values double the work with each level of
    nesting. With what is remembered here, each value is checked once with each schema.
    """

    def __init__(self) -> None:
        self.recursive: dict[int, int] = {}
        """From the id of a schema with a `$ref` to that of the recursive schema that it leads to."""
        self.told: dict[tuple[int, int], list[ValidationError]] = {}


_MOST_AGAIN = 20
"""Errors that are told once more when a value is met again: they have been told in full before."""
_MOST_INNER = 200
"""Alternatives inside alternatives: more than the levels of any value."""


def _ref(original: Keyword, memory: Memory) -> Keyword:
    def keyword(validator: Any, ref: str, instance: Any, schema: Any) -> Errors:
        target = memory.recursive.get(id(schema))
        if target is None or not isinstance(instance, dict | list):
            yield from original(validator, ref, instance, schema) or ()
            return
        key = id(instance), target
        known = memory.told.get(key)
        if known is None:
            known = memory.told[key] = list(original(validator, ref, instance, schema) or ())
            yield from map(_copy, known)
        else:
            yield from map(_copy, known[:_MOST_AGAIN])

    return keyword


def _copy(error: ValidationError, depth: int = 0) -> ValidationError:
    """A copy that can be given another place. Of several forms that failed it keeps what is told of them in the end."""
    inner: list[ValidationError] = []
    if error.context and depth < _MOST_INNER:
        meant = weigh(error)
        told = error.context if isinstance(meant, Verdict) else meant
        inner = [_copy(each, _MOST_INNER if isinstance(meant, Verdict) else depth + 1) for each in told]
    return ValidationError(
        "", error.validator, error.relative_path, Named() if error.context and not inner else error.cause, inner,
        error.validator_value, error.instance, error.schema, error.relative_schema_path,
    )  # fmt: skip


def extended(base: type[Validator], memory: Memory) -> type[Validator]:
    """The validator of a draft, with the keywords of this module."""
    known: dict[str, Keyword] = dict(base.VALIDATORS)
    changed: dict[str, Keyword] = {
        "$ref": _ref(known["$ref"], memory),
        "required": _required,
        "propertyNames": _property_names,
        "uniqueItems": _unique_items,
        "additionalProperties": _additional_properties(known["additionalProperties"]),
    }
    if "dependencies" in known:
        changed["dependencies"] = _dependencies
    if "dependentRequired" in known:
        changed["dependentRequired"] = _dependent_required
    if "unevaluatedProperties" in known:
        changed["unevaluatedProperties"] = _unevaluated_properties(known["unevaluatedProperties"])
    made: type[Validator] = extend(base, changed)  # type: ignore[no-untyped-call]  # the stubs leave it out
    return made


def _required(validator: Any, required: list[str], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        for key in required:
            if key not in instance:
                yield _error(key)


def _property_names(validator: Any, names: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        for key in instance:
            if next(validator.descend(key, names), None) is not None:
                yield _error(key, at=key)


def _unique_items(validator: Any, unique: bool, instance: Any, schema: Any) -> Errors:
    if not unique or not isinstance(instance, list):
        return
    seen: dict[Any, int] = {}
    for index, item in enumerate(instance):
        first = seen.setdefault(_fingerprint(item), index)
        if first != index:
            yield _error(first, index)
            return


def _fingerprint(value: Any) -> Any:
    """Equal for two values if and only if JSON Schema calls them equal."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, list):
        return ("list", *map(_fingerprint, value))
    if isinstance(value, dict):
        return frozenset((key, _fingerprint(item)) for key, item in value.items())
    return value


def _additional_properties(original: Keyword) -> Keyword:
    def keyword(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
        if allowed is not False:
            yield from original(validator, allowed, instance, schema) or ()
        elif isinstance(instance, dict):
            known = schema.get("properties", {})
            patterns = schema.get("patternProperties", {})
            for key in instance:
                if key not in known and not any(re.search(pattern, key) for pattern in patterns):
                    yield _error(key, at=key)

    return keyword


def _dependencies(validator: Any, dependencies: dict[str, Any], instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict):
        return
    for key, needed in dependencies.items():
        if key not in instance:
            continue
        if isinstance(needed, list):
            yield from (_error(other, key) for other in needed if other not in instance)
        else:
            yield from validator.descend(instance, needed, schema_path=key)


def _dependent_required(validator: Any, dependencies: dict[str, list[str]], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        for key, needed in dependencies.items():
            if key in instance:
                yield from (_error(other, key) for other in needed if other not in instance)


def _unevaluated_properties(original: Keyword) -> Keyword:
    def keyword(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
        watch = _Watch(validator)
        failed = next(iter(original(watch, allowed, instance, schema) or ()), None)
        if failed is None:
            return
        for key, errors in watch.found.items():
            yield from [_error(key, at=key)] if allowed is False else errors
        if not watch.found:
            yield failed

    return keyword


class _Watch:
    """A validator that remembers which members were checked and failed: jsonschema tells them in prose only."""

    def __init__(self, validator: Any) -> None:
        self._validator = validator
        self.found: dict[str, list[ValidationError]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._validator, name)

    def descend(self, instance: Any, schema: Any, path: Any = None, schema_path: Any = None) -> Errors:
        errors = list(self._validator.descend(instance, schema, path=path, schema_path=schema_path))
        if path is not None and errors:
            self.found[path] = errors
        return iter(errors)
