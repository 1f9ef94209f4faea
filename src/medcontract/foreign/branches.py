"""`anyOf` and `oneOf`: of several forms that a value fails, the one that was meant.

A value that fails all forms has one problem, not one for each. If the form that was meant is clear (by type, by a
key with a fixed value, or because it fits much better), what it says is told; else that none fits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jsonschema.exceptions import ValidationError

from medcontract.foreign.words import wrong_choice, wrong_type
from medcontract.problems import Path

Branch = list[ValidationError]


class Verdict(NamedTuple):
    """What to say of the value as a whole."""

    code: str
    message: str
    hint: str | None
    given: Any
    path: Path = ()
    """From the value down to the one inside it that is wrong."""


def weigh(error: ValidationError) -> Branch | Verdict:
    """The errors of the form that was meant, or one verdict for all forms."""
    branches: dict[Any, Branch] = {}
    for inner in error.context:
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    by_type = [branch for branch in branches.values() if not _of_other_type(branch)]
    if not by_type:
        return _no_type(list(branches.values()), error.instance)
    if len(by_type) == 1:
        return by_type[0]
    if all(len(branch) == 1 and _lists_values(branch[0], 0) for branch in by_type):
        return _no_choice([branch[0] for branch in by_type])
    if isinstance(error.instance, dict):
        return _of_object(by_type, error)
    if isinstance(error.instance, list):
        return _nearest(by_type, error)
    return _none(error)


def _of_other_type(branch: Branch) -> bool:
    return any(error.validator == "type" and not error.relative_path for error in branch)


def _no_type(branches: list[Branch], given: Any) -> Verdict:
    allowed: list[str] = []
    for error in (error for branch in branches for error in branch):
        if error.validator == "type" and not error.relative_path:
            value: Any = error.validator_value
            allowed += [value] if isinstance(value, str) else value
    return Verdict(*wrong_type(allowed, given), given)


def _lists_values(error: ValidationError, depth: int) -> bool:
    return error.validator in ("const", "enum") and len(error.relative_path) == depth


def _no_choice(errors: list[ValidationError]) -> Verdict:
    given = errors[0].instance
    return Verdict(*wrong_choice(_choices(errors), given), given, tuple(errors[0].relative_path))


def _choices(errors: list[ValidationError]) -> list[Any]:
    allowed: list[Any] = []
    for error in errors:
        value: Any = error.validator_value
        allowed += [v for v in (value if error.validator == "enum" else [value]) if v not in allowed]
    return allowed


def _of_object(branches: list[Branch], error: ValidationError) -> Branch | Verdict:
    """Forms of an object are told apart by keys with fixed values, such as "kind": one fits, or all differ."""
    for key in dict.fromkeys(e.relative_path[0] for branch in branches for e in branch if _lists_values(e, 1)):
        told_apart = _by_key(key, branches, error)
        if told_apart is not None:
            return told_apart
    return _nearest(branches, error)


def _by_key(key: Any, branches: list[Branch], error: ValidationError) -> Branch | Verdict | None:
    """What the value of one key says about the form that was meant; None where it says nothing."""
    at_key = [[e for e in branch if list(e.relative_path) == [key]] for branch in branches]
    if not all(_lists_values(e, 1) for errors in at_key for e in errors):
        return None
    fitting = [branch for branch, errors in zip(branches, at_key, strict=True) if not errors]
    if fitting:
        return fitting[0] if len(fitting) == 1 else _nearest(fitting, error)
    first = [errors[0] for errors in at_key]
    return _no_choice(first) if _differ(first) else None


def _differ(errors: list[ValidationError]) -> bool:
    """Whether no value is allowed by two of these."""
    return len(_choices(errors)) == sum(len(_choices([error])) for error in errors)


def _nearest(branches: list[Branch], error: ValidationError) -> Branch | Verdict:
    """The form with the fewest missing and unknown keys, then the fewest faults, if it is one."""
    keys = {str(e.cause.args[0]) for branch in branches for e in branch if _lacks_key(e) and e.cause}
    if all(_lacks_key(e) for branch in branches for e in branch):
        names = " or ".join(f"'{key}'" for key in sorted(keys))
        return Verdict("MC110", f"lacks {names} ('{error.validator}')", None, error.instance)
    ranked = sorted(branches, key=_distance)
    return ranked[0] if _distance(ranked[0]) < _distance(ranked[1]) else _none(error)


def _lacks_key(error: ValidationError) -> bool:
    return error.validator == "required" and not error.relative_path


def _distance(branch: Branch) -> tuple[int, int]:
    keys = sum(_lacks_key(e) or (_is_unknown_key(e) and len(e.relative_path) == 1) for e in branch)
    return keys, len({tuple(e.relative_path) for e in branch}) + keys


def _is_unknown_key(error: ValidationError) -> bool:
    return error.validator in ("additionalProperties", "unevaluatedProperties")


def _none(error: ValidationError) -> Verdict:
    return Verdict("MC110", f"is of none of the forms that '{error.validator}' allows", None, error.instance)
