"""Keywords that jsonschema does not report precisely enough, or does not check in bounded time.

- `required`, `additionalProperties`, `unevaluatedProperties`, `propertyNames`, `dependentRequired`, `dependencies`:
  jsonschema mentions the keys only in its message, several in one error.
- `pattern`, `patternProperties`: Python's `re` may backtrack exponentially.
- `uniqueItems`: jsonschema compares objects in quadratic time.
- `$ref`: alternatives and repeated references may apply the same schema to the same value exponentially often. So the
  errors of a schema for a value are cached, and the number of references that are followed is limited.
  Deeply nested values exceed the stack, so that some references are followed in a new thread, which has one of its own.
- `anyOf`, `oneOf`: see `alternatives`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing.jsonschema import lookup_recursive_ref

from medcontract.jsonschema_files.alternatives import Names, closest
from medcontract.jsonschema_files.patterns import matches

Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]
Result = TypeVar("Result")

MOST_STEPS, _MOST_STEPS_PER_VALUE = 50_000, 200
MOST_NESTED, _NESTED_PER_THREAD = 2_000, 20
"""References inside references; a new thread has room for some of them."""
_MOST_CACHED = 200_000
_MOST_AGAIN = 20
"""How many errors of a cached value are repeated: all were reported the first time."""


class TooMuchWork(Exception):
    """The schema takes far more steps than the size of the value justifies."""


class Memo:
    """Cached errors of schemas, for the value that is being checked and all values inside it."""

    def __init__(self, targets: dict[int, int]) -> None:
        self.targets = targets
        """Maps the id of a schema with a `$ref` to that of its target; empty if there are dynamic references."""
        self.begin(None)

    def begin(self, value: Any) -> None:
        """Start with a new value: clear the cache."""
        self.errors: dict[tuple[int, int], list[ValidationError]] = {}
        self.evaluated: dict[tuple[int, int], set[str]] = {}
        self._value, self._left, self._extended, self._nested = value, MOST_STEPS, False, 0

    def step(self) -> None:
        """Count a reference that is followed. Raises `TooMuchWork`."""
        self._left -= 1
        if self._left < 0 and not self._extended:
            self._left, self._extended = _size(self._value) * _MOST_STEPS_PER_VALUE, True
        if self._left < 0:
            raise TooMuchWork
        if len(self.errors) + len(self.evaluated) > _MOST_CACHED:
            self.errors.clear()
            self.evaluated.clear()

    def follow(self, errors: Callable[[], Errors]) -> list[ValidationError]:
        """The errors that following a reference yields. Raises `TooMuchWork`, and `RecursionError` if it is nested."""
        self.step()
        if self._nested > MOST_NESTED:
            raise RecursionError
        self._nested += 1
        try:
            if self._nested % _NESTED_PER_THREAD:
                return list(errors())
            return in_new_thread(lambda: list(errors()))
        finally:
            self._nested -= 1


def in_new_thread(work: Callable[[], Result]) -> Result:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def _size(value: Any) -> int:
    """The number of values inside a value, including itself."""
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        count += 1
        if isinstance(item, dict | list):
            stack += item.values() if isinstance(item, dict) else item
    return count


def validator_class(base: type[Validator], memo: Memo) -> type[Validator]:
    """The validator of a draft, with the keywords of this module."""
    ours: dict[str, Keyword] = {
        "required": _required, "propertyNames": _property_names, "uniqueItems": _unique_items, "pattern": _pattern,
        "patternProperties": _pattern_properties, "additionalProperties": _additional_properties,
        "dependencies": _dependencies, "dependentRequired": _dependencies, "anyOf": _any_of, "oneOf": _one_of,
        "unevaluatedProperties": _unevaluated_properties(memo),
        **{name: _reference(base.VALIDATORS.get(name), memo) for name in ("$ref", "$dynamicRef", "$recursiveRef")},
    }  # fmt: skip
    made: type[Validator] = extend(base, {name: ours[name] for name in ours.keys() & base.VALIDATORS.keys()})  # type: ignore[no-untyped-call]  # missing from the stubs
    return made


def _reference(original: Any, memo: Memo) -> Keyword:
    def keyword(validator: Any, ref: str, instance: Any, schema: Any) -> Errors:
        target = memo.targets.get(id(schema))
        key = None if target is None else (id(instance), target)
        if key in memo.errors:
            memo.step()
            yield from map(_copy, memo.errors[key][:_MOST_AGAIN])
            return
        errors = memo.follow(lambda: original(validator, ref, instance, schema))
        if key is not None:
            memo.errors[key] = errors
            errors = list(map(_copy, errors))
        yield from errors

    return keyword


def _copy(error: ValidationError) -> ValidationError:
    """A copy whose path jsonschema can extend."""
    return ValidationError(
        "", error.validator, error.relative_path, error.cause, (), error.validator_value, error.instance, error.schema
    )


def _error(*names: str | int, at: str | None = None) -> ValidationError:
    return ValidationError("", cause=Names(*names), path=() if at is None else (at,))


def _required(validator: Any, required: list[str], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        yield from (_error(key) for key in required if key not in instance)


def _property_names(validator: Any, names: Any, instance: Any, schema: Any) -> Errors:
    for key in instance if isinstance(instance, dict) else ():
        if not _is_valid(validator, key, names):
            yield _error(key, at=key)


def _unique_items(validator: Any, unique: bool, instance: Any, schema: Any) -> Errors:
    seen: dict[Any, int] = {}
    for index, item in enumerate(instance if unique and isinstance(instance, list) else ()):
        first = seen.setdefault(_hashable(item), index)
        if first != index:
            yield _error(first, index)
            return


def _hashable(value: Any) -> Any:
    """A key that is equal for two values if and only if JSON Schema considers them equal: 1 is 1.0, but not true."""
    if isinstance(value, list):
        return ("list", *map(_hashable, value))
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    return (bool, value) if isinstance(value, bool) else value


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError("")


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, schema: Any) -> Errors:
    for pattern, inner in patterns.items() if isinstance(instance, dict) else ():
        for key in _matching(instance, {pattern}):
            yield from validator.descend(instance[key], inner, path=key)


def _matching(instance: dict[str, Any], patterns: Any) -> list[str]:
    return [key for key in instance if any(matches(pattern, key) for pattern in patterns)]


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        known = {*schema.get("properties", ()), *_matching(instance, schema.get("patternProperties", ()))}
        yield from _others(validator, allowed, instance, known)


def _others(validator: Any, allowed: Any, instance: dict[str, Any], known: set[str]) -> Errors:
    """The errors of keys other than the known ones."""
    for key, value in instance.items():
        if key not in known:
            yield from [_error(key, at=key)] if allowed is False else validator.descend(value, allowed, path=key)


def _dependencies(validator: Any, dependencies: dict[str, Any], instance: Any, schema: Any) -> Errors:
    for key, needed in dependencies.items() if isinstance(instance, dict) else ():
        if key in instance and isinstance(needed, list):
            yield from (_error(other, key) for other in needed if other not in instance)
        elif key in instance:
            yield from validator.descend(instance, needed)


def _any_of(validator: Any, schemas: list[Any], instance: Any, schema: Any) -> Errors:
    branches = []
    for inner in schemas:
        branches.append(list(validator.descend(instance, inner)))
        if not branches[-1]:
            return
    yield from closest(branches, instance, "anyOf")


def _one_of(validator: Any, schemas: list[Any], instance: Any, schema: Any) -> Errors:
    branches = [list(validator.descend(instance, inner)) for inner in schemas]
    if all(branches):
        yield from closest(branches, instance, "oneOf")
    elif branches.count([]) > 1:
        yield ValidationError("")


def _unevaluated_properties(memo: Memo) -> Keyword:
    def keyword(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
        if isinstance(instance, dict):
            yield from _others(validator, allowed, instance, _evaluated(memo, validator, instance, schema))

    return keyword


def _evaluated(memo: Memo, validator: Any, instance: dict[str, Any], schema: Any) -> set[str]:
    """The keys of an object that a schema evaluates, directly or through schemas for the same object."""
    if not isinstance(schema, dict):
        return set()
    memo.step()
    ids = id(instance), id(schema)
    if ids in memo.evaluated:
        return memo.evaluated[ids]
    keys = {
        *(schema.get("properties", {}).keys() & instance),
        *_matching(instance, schema.get("patternProperties", ())),
    }
    for keyword in schema.keys() & {"additionalProperties", "unevaluatedProperties"}:
        keys |= {key for key in instance if _is_valid(validator, instance[key], schema[keyword])}
    for inner, within in _applied(validator, instance, schema):
        keys |= _evaluated(memo, within, instance, inner)
    if memo.targets:
        memo.evaluated[ids] = keys
    return keys


def _applied(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The schemas for the same object that it satisfies, each with its validator."""
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


def _is_valid(validator: Any, instance: Any, schema: Any) -> bool:
    return next(validator.descend(instance, schema), None) is None
