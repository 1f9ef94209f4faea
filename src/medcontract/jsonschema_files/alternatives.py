"""`anyOf` and `oneOf`: if a value matches none of several schemas, the errors of the one that was intended.

Such a value has one problem, not one per schema. `jsonschema.exceptions.best_match` finds a single error of a single
branch; here all errors of that branch are reported, and none of them if it is unclear which branch was intended.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from jsonschema.exceptions import ValidationError

Branch = list[ValidationError]


class Names(Exception):
    """The keys or indexes that an error is about, as its `cause`."""


def closest(branches: list[Branch], instance: Any, keyword: str) -> Branch:
    """The errors of the branch that was intended, or one error for all branches."""
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


def _at(branch: Branch, path: tuple[Any, ...], *keywords: str) -> Branch:
    """The errors at this path, from these keywords or from all."""
    found = (error for error in branch if tuple(error.relative_path) == path)
    return [error for error in found if not keywords or error.validator in keywords]


def _allowed(error: ValidationError) -> list[Any]:
    value: Any = error.validator_value
    return value if isinstance(value, list) and error.validator != "const" else [value]


def _merged(keyword: str, errors: list[ValidationError]) -> ValidationError:
    """One error that allows what each of these allows."""
    allowed: list[Any] = []
    for value in (value for error in errors for value in _allowed(error)):
        if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in allowed):
            allowed.append(value)
    return ValidationError(
        "", keyword, errors[0].relative_path, validator_value=allowed, instance=errors[0].instance
    )  # fmt: skip


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
    """The branch with the fewest missing and unknown keys, then the fewest errors, if there is one."""
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
