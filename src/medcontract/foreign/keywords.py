"""Keywords whose errors in jsonschema name the key only inside a sentence: here they name it as data.

The verdicts are jsonschema's own, but for `uniqueItems`, which is done in linear time and tells 1 from true
at any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing.jsonschema import lookup_recursive_ref

from medcontract.definitions.patterns import fits
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
    nesting. With what is remembered here, each value is checked once with each schema. The same goes for schemas that
    refer twice to one that refers twice to another, and so on; what these say is remembered when they turn out to take
    many steps.
    """

    def __init__(self) -> None:
        self.recursive: dict[int, int] = {}
        """From the id of a schema with a `$ref` to that of the recursive schema that it leads to."""
        self.targets: dict[int, int] = {}
        """The same of every `$ref`; empty where what it leads to depends on the way."""
        self.told: dict[tuple[int, int], list[ValidationError]] = {}
        self.evaluated: dict[tuple[int, int], set[str]] = {}
        """The keys of an object that a schema evaluates, by their ids."""
        self._everything = False
        self._left = 0

    def begin(self, steps: int, everything: bool) -> None:
        """Forget all. At most so many references are followed; `everything`: what each of them said is remembered."""
        self.told.clear()
        self.evaluated.clear()
        self._everything, self._left = everything, steps

    def step(self) -> None:
        """One more reference is followed. Raises `TooMuchWork`."""
        self._left -= 1
        if self._left < 0:
            raise TooMuchWork

    @property
    def remembers_keys(self) -> bool:
        return self._everything and bool(self.targets) and len(self.evaluated) < _MOST_REMEMBERED

    def target(self, schema: Any, instance: Any) -> int | None:
        """The schema whose verdict on a value is to be remembered, by its id."""
        if self._everything and len(self.told) < _MOST_REMEMBERED:
            return self.targets.get(id(schema))
        return self.recursive.get(id(schema)) if isinstance(instance, dict | list) else None


class TooMuchWork(Exception):
    """A schema that asks for far more steps than a value has members."""


_MOST_REMEMBERED = 500_000
_MOST_AGAIN = 20
"""Errors that are told once more when a value is met again: they have been told in full before."""
_MOST_INNER = 200
"""Alternatives inside alternatives: more than the levels of any value."""


def _ref(original: Keyword, memory: Memory) -> Keyword:
    def keyword(validator: Any, ref: str, instance: Any, schema: Any) -> Errors:
        memory.step()
        target = memory.target(schema, instance)
        if target is None:
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
        **{name: _ref(known[name], memory) for name in ("$ref", "$dynamicRef", "$recursiveRef") if name in known},
        "required": _required,
        "propertyNames": _property_names,
        "uniqueItems": _unique_items,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    if "dependencies" in known:
        changed["dependencies"] = _dependencies
    if "dependentRequired" in known:
        changed["dependentRequired"] = _dependent_required
    if "unevaluatedProperties" in known:
        changed["unevaluatedProperties"] = _unevaluated_properties(memory)
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


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, str) and not fits(pattern, instance):
        yield ValidationError("")


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for key, value in instance.items():
                if fits(pattern, key):
                    yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in known or any(fits(pattern, key) for pattern in patterns):
            continue
        if allowed is False:
            yield _error(key, at=key)
        elif allowed is not True:
            yield from validator.descend(value, allowed, path=key)


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


def _unevaluated_properties(memory: Memory) -> Keyword:
    def keyword(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
        if not isinstance(instance, dict):
            return
        evaluated = _evaluated(memory, validator, instance, schema)
        for key in instance:
            if key not in evaluated:
                errors = validator.descend(instance[key], allowed, path=key, schema_path=key)
                if allowed is not False:
                    yield from errors
                elif next(errors, None) is not None:
                    yield _error(key, at=key)

    return keyword


def _evaluated(memory: Memory, validator: Any, instance: dict[str, Any], schema: Any) -> set[str]:
    """The keys of an object that a schema, or one that it applies to the same object, has something to say about."""
    if not isinstance(schema, dict):
        return set()
    memory.step()
    ids = id(instance), id(schema)
    if ids in memory.evaluated:
        return memory.evaluated[ids]
    keys = set(schema.get("properties", {}).keys() & instance.keys())
    keys |= {key for key in instance if any(fits(pattern, key) for pattern in schema.get("patternProperties", ()))}
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            keys |= {key for key in instance if next(validator.descend(instance[key], schema[keyword]), None) is None}
    for inner, within in _applied(validator, instance, schema):
        keys |= _evaluated(memory, within, instance, inner)
    if memory.remembers_keys:
        memory.evaluated[ids] = keys
    return keys


def _applied(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The schemas that a schema applies to the same object, as far as that keeps them, each with its validator."""
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema and keyword in validator.VALIDATORS:
            yield _resolved(validator, validator._resolver.lookup(schema[keyword]))
    if "$recursiveRef" in schema and "$recursiveRef" in validator.VALIDATORS:
        yield _resolved(validator, lookup_recursive_ref(validator._resolver))
    for key, inner in schema.get("dependentSchemas", {}).items():
        if key in instance:
            yield inner, validator
    for keyword in ("allOf", "oneOf", "anyOf"):
        for inner in schema.get(keyword, ()):
            if next(validator.descend(instance, inner), None) is None:
                yield inner, validator
    if "if" in schema:
        kept = next(validator.descend(instance, schema["if"]), None) is None
        if kept:
            yield schema["if"], validator
        yield schema.get("then" if kept else "else"), validator


def _resolved(validator: Any, resolved: Any) -> tuple[Any, Any]:
    return resolved.contents, validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
