"""Convert errors of jsonschema to findings: one for each wrong value, also if it matches none of several schemas.

The messages of jsonschema are not used, because they quote the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from jsonschema.exceptions import ValidationError

from medcontract.contracts.string_patterns import NON_BLANK, PATTERN_DESCRIPTIONS
from medcontract.contracts.suggestions import did_you_mean
from medcontract.problems import (
    Finding,
    Path,
    is_plain,
    json_text,
    json_type,
    plural,
    shorten,
    shown_value,
    value_name,
)

KnownKeys = Callable[[object], set[str]]
"""Returns the keys that the schema of an object defines."""
_Found = tuple[Finding, ValidationError]

_WEIGHT = {code: weight for weight, code in enumerate(("MC103", "MC104", "MC106", "MC107", "MC105", "MC108", "MC110"))}
_MOST_HINTS = 100
"""Finding the most similar key is too slow to do it for thousands of unknown keys."""
_MOST_CHOICES = 12
_UNITS = {"Length": ("MC107", "character"), "Items": ("MC108", "item"), "Properties": ("MC108", "key")}
_BOUNDS = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}
_OTHERS = {
    "multipleOf": "must be a multiple of {0} ('multipleOf')",
    "uniqueItems": "must not have equal items ('uniqueItems'): items {1} and {2} are equal",
    "dependentRequired": "must have '{1}', because it has '{2}' ('dependentRequired')",
    "dependencies": "must have '{1}', because it has '{2}' ('dependencies')",
    "not": "must not match the schema of 'not'",
    "contains": "has no item that matches the schema of 'contains'",
    "minContains": "has too few items that match the schema of 'contains'",
    "maxContains": "has too many items that match the schema of 'contains'",
}
"""Messages of keywords with code MC110. {0} is the value of the keyword, {1} and {2} are the names in the error."""


class Names(Exception):
    """The keys or indexes that an error is about, as its `cause`."""


def explain(errors: Iterable[ValidationError], known_keys: KnownKeys) -> list[Finding]:
    """Return the findings for these errors, without offsets."""
    found: dict[tuple[Path, bool], dict[str, _Found]] = {}
    doubtful: dict[Path, Finding] = {}
    for error in errors:
        finding = _finding(error)
        is_key = error.validator == "unevaluatedProperties" and finding.at_key
        if is_key and finding.path[-1] in known_keys(error.schema):  # in a part that failed for another reason
            doubtful[finding.path] = finding
        else:
            similar = found.setdefault((finding.path, finding.at_key), {})
            similar.setdefault(finding.statement, (finding, error))
    around = {path[:length] for path, _ in found for length in range(len(path) + 1)}
    kept = [each for similar in found.values() for each in _most_relevant(list(similar.values()))]
    findings = [_with_hint(*each, known_keys) if n < _MOST_HINTS else each[0] for n, each in enumerate(kept)]
    return findings + [finding for path, finding in doubtful.items() if path[:-1] not in around]


def _most_relevant(similar: list[_Found]) -> list[_Found]:
    """Return one finding for a scalar or a value of the wrong type; lists and objects may violate several keywords."""
    first = min(similar, key=lambda each: _WEIGHT.get(each[0].code, len(_WEIGHT)))
    is_scalar = any(not isinstance(error.instance, dict | list) for _, error in similar)
    return [first] if is_scalar or first[0].at_key or first[0].code in ("MC103", "MC104") else similar


def _with_hint(finding: Finding, error: ValidationError, known_keys: KnownKeys) -> Finding:
    """Suggest the most similar key for an unknown one, preferably one that is not in use."""
    if finding.code != "MC102" or not isinstance(error.instance, dict):
        return finding
    key, known = str(finding.path[-1]), known_keys(error.schema)
    hint = did_you_mean(key, sorted(known - set(error.instance))) or did_you_mean(key, sorted(known))
    return finding._replace(hint=hint)


def _finding(error: ValidationError) -> Finding:
    path: Path = tuple(error.absolute_path)
    keyword, names = str(error.validator), error.cause.args if error.cause else ()
    if keyword == "required":
        return Finding("MC101", f"'{names[0]}' is missing", path=path)
    if names and keyword in ("additionalProperties", "unevaluatedProperties", "propertyNames"):
        key = f"'{names[0]}'" if is_plain(names[0]) else "this key"
        code, where = "MC102", "in the schema"
        if keyword == "propertyNames":
            code, where = "MC110", "allowed by 'propertyNames'"
        return Finding(code, f"{key} is not {where}", path=path, at_key=True, value=shorten(names[0]))
    found = _wrong_value(keyword, error.validator_value, error.instance, error)
    return found._replace(path=path, name=value_name(path), value=shown_value(error.instance))


def _wrong_value(keyword: str, value: Any, given: Any, error: ValidationError) -> Finding:
    """Return the finding without the place and the name of the value."""
    if keyword == "type":
        from medcontract.hints.values import type_hint

        expected = tuple(dict.fromkeys([value] if isinstance(value, str) else value))
        hint = None if expected == ("array",) else type_hint(expected, given)
        return Finding("MC103", "", hint, expected=expected, got=json_type(given))
    if keyword in ("enum", "const"):
        return _wrong_choice(value if keyword == "enum" else [value], given)
    if keyword in _BOUNDS:
        return Finding("MC105", f"must be {_BOUNDS[keyword]} {json_text(value)}")
    if keyword == "minLength" and not given.strip():
        return Finding("MC106", "must not be blank" if given else "must not be empty")
    if keyword == "pattern" and value == NON_BLANK:
        return Finding("MC106", "must not be blank")
    if keyword == "pattern":
        hint = "remove leading and trailing whitespace" if given != given.strip() else None
        return Finding("MC107", f"must be {PATTERN_DESCRIPTIONS.get(value) or f'of the form {shorten(value)}'}", hint)
    if keyword in ("items", "additionalItems"):  # no items are allowed after a tuple
        schema: Any = error.schema
        keyword, value = "maxItems", len(schema.get("prefixItems" if keyword == "items" else "items", ()))
    if keyword[:3] in ("min", "max") and keyword[3:] in _UNITS:
        code, unit = _UNITS[keyword[3:]]
        bound = "at least" if keyword.startswith("min") else "at most"
        return Finding(code, f"must have {bound} {plural(int(value), unit)}, not {len(given)}")
    return Finding("MC110", _other(keyword, value, error))


def _wrong_choice(allowed: list[object], given: object) -> Finding:
    texts = [
        value if isinstance(value, str) and value.isprintable() and value.strip() else json_text(value)
        for value in allowed[:_MOST_CHOICES]
    ]
    more = f" and {len(allowed) - _MOST_CHOICES} more" if len(allowed) > _MOST_CHOICES else ""
    message = f"must be {'one of ' * (len(allowed) > 1)}{', '.join(map(shorten, texts))}{more}"
    known = [value for value in allowed if isinstance(value, str)]
    return Finding("MC104", message, did_you_mean(given, known) if isinstance(given, str) else None)


def _other(keyword: str, value: object, error: ValidationError) -> str:
    names = error.cause.args if error.cause else ()
    if keyword in ("anyOf", "oneOf"):
        if error.cause is None:
            return "matches more than one schema of 'oneOf', but exactly one is allowed"
        missing = " or ".join(f"'{key}'" for key in names)
        return f"must have {missing} ('{keyword}')" if missing else f"matches no schema of '{keyword}'"
    if keyword == "None" or (keyword == "not" and value in ({}, True)):  # the loader turns false into {"not": {}}
        return "is not allowed here: the schema for it is false"
    text = _OTHERS.get(keyword, f"does not satisfy '{keyword}' of the schema")
    return text.format(json_text(value) if keyword == "multipleOf" else "", *names)


# --- anyOf and oneOf

Branch = list[ValidationError]


def closest(branches: list[Branch], instance: object, keyword: str) -> Branch:
    """Return the errors of the branch of `anyOf` or `oneOf` that was intended, or one error for all branches.

    A value that matches none of several schemas has one problem, not one per schema. `jsonschema.exceptions.best_match`
    finds a single error of a single branch; here all errors of that branch are reported, and none of them if it is
    unclear which branch was intended.
    """
    right_type = [branch for branch in branches if not _at(branch, (), "type")]
    if not right_type:
        return [_merged("type", [error for branch in branches for error in _at(branch, (), "type")])]
    if len(right_type) == 1:
        return right_type[0]
    if all(len(branch) == 1 and _at(branch, (), "const", "enum") for branch in right_type):
        return [_merged("enum", [branch[0] for branch in right_type])]
    if isinstance(instance, dict):
        right_type = _by_fixed_values(right_type)
    if len(right_type) > 1 and isinstance(instance, dict | list):
        return _most_similar(right_type, keyword)
    return right_type[0] if len(right_type) == 1 else [_none(keyword)]


def _at(branch: Branch, path: Path, *keywords: str) -> Branch:
    """Return the errors at this path, from these keywords or from all."""
    found = (error for error in branch if tuple(error.relative_path) == path)
    return [error for error in found if not keywords or error.validator in keywords]


def _allowed(error: ValidationError) -> list[object]:
    value: object = error.validator_value
    return value if isinstance(value, list) and error.validator != "const" else [value]


def _merged(keyword: str, errors: list[ValidationError]) -> ValidationError:
    """Return one error that allows what each of these allows."""
    allowed: list[object] = []
    for value in (value for error in errors for value in _allowed(error)):
        if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in allowed):
            allowed.append(value)
    first = errors[0]
    return ValidationError("", keyword, first.relative_path, validator_value=allowed, instance=first.instance)


def _none(keyword: str, *missing: str) -> ValidationError:
    return ValidationError("", keyword, cause=Names(*missing))


def _by_fixed_values(branches: list[Branch]) -> list[Branch]:
    """Keys with fixed values, such as "kind", distinguish schemas of objects: the branches that match, or all."""
    fixed = [error for error in chain.from_iterable(branches) if _fixes_value(error) and len(error.relative_path) == 1]
    for key in dict.fromkeys(error.relative_path[0] for error in fixed):
        errors = [_at(branch, (key,)) for branch in branches]
        if not all(map(_fixes_value, chain.from_iterable(errors))):
            continue
        if not all(errors):
            return [branch for branch, found in zip(branches, errors, strict=True) if not found]
        merged = _merged("enum", [found[0] for found in errors])
        if len(_allowed(merged)) == sum(len(_allowed(found[0])) for found in errors):  # no value is in two of them
            return [[merged]]
    return branches


def _fixes_value(error: ValidationError) -> bool:
    return error.validator in ("const", "enum")


def _most_similar(branches: list[Branch], keyword: str) -> Branch:
    """Return the branch with the fewest missing and unknown keys, then the fewest errors, if there is one."""
    missing = [_at(branch, (), "required") for branch in branches]
    if missing == branches:
        keys = {str(error.cause.args[0]) for branch in branches for error in branch if error.cause}
        return [_none(keyword, *sorted(keys))]
    first, second = sorted(branches, key=_distance)[:2]
    return first if _distance(first) < _distance(second) else [_none(keyword)]


def _distance(branch: Branch) -> tuple[int, int]:
    unknown = ("additionalProperties", "unevaluatedProperties")
    keys = len(_at(branch, (), "required")) + sum(e.validator in unknown and len(e.relative_path) == 1 for e in branch)
    return keys, len({tuple(error.relative_path) for error in branch}) + keys
