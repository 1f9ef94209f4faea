"""From the errors of jsonschema to findings: our codes, our words, and one problem for one wrong value.

The messages of jsonschema are not used, because they quote the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from jsonschema.exceptions import ValidationError

from medcontract.definitions.forms import FORMS, NON_BLANK
from medcontract.definitions.suggest import nearest
from medcontract.foreign import words
from medcontract.foreign.branches import Verdict, weigh
from medcontract.foreign.keywords import Named
from medcontract.foreign.words import Made
from medcontract.problems import Finding, Path, is_plain, shorten

KnownKeys = Callable[[Any], set[str]]
"""From the schema of an object to the keys that it names."""

_WEIGHT = {code: weight for weight, code in enumerate(("MC103", "MC104", "MC106", "MC107", "MC105", "MC108", "MC110"))}


class _Told(NamedTuple):
    """A finding, and what decides whether it is told beside others."""

    finding: Finding
    plain: bool
    """It is about a value that is neither a list nor an object."""
    doubtful: bool = False
    """It is about a key that the schema knows, but in a part that failed: most likely for another reason."""
    unknown_to: ValidationError | None = None
    """The error, where it is about a key that the schema does not know."""


def explain(errors: Iterable[ValidationError], known_keys: KnownKeys) -> list[Finding]:
    """The findings that stand for these errors. Offsets are not worked out."""
    found: dict[tuple[Path, bool], dict[str, _Told]] = {}
    doubtful: dict[Path, Finding] = {}
    for told in (told for error in errors for told in _findings(error, known_keys)):
        finding = told.finding
        if told.doubtful:
            doubtful[finding.path] = finding
            continue
        found.setdefault((finding.path, finding.at_key), {}).setdefault(finding.message, told)
    around = {path[:length] for path, _ in found for length in range(len(path) + 1)}
    fewest = [told for alike in found.values() for told in _fewest(list(alike.values()))]
    hinted = [_hinted(told, known_keys) for told in fewest[:_MOST_HINTS]] + [t.finding for t in fewest[_MOST_HINTS:]]
    return hinted + [finding for path, finding in doubtful.items() if path[:-1] not in around]


def _fewest(alike: list[_Told]) -> list[_Told]:
    """One finding for a plain value or a value of the wrong type; a container may lack several things at once."""
    heaviest = min(alike, key=lambda told: _WEIGHT.get(told.finding.code, len(_WEIGHT)))
    one = heaviest.finding.at_key or heaviest.finding.code in ("MC103", "MC104") or any(told.plain for told in alike)
    return [heaviest] if one else alike


_MOST_HINTS = 100
"""Looking for the nearest key takes as long as there are keys: not for each of thousands of unknown ones."""


def _hinted(told: _Told, known_keys: KnownKeys) -> Finding:
    """An unknown key, with the nearest known one."""
    finding, error = told.finding, told.unknown_to
    if error is None:
        return finding
    key, known = str(finding.path[-1]), known_keys(error.schema)
    guess = nearest(key, sorted(known - _keys(error.instance))) or nearest(key, sorted(known))
    return finding._replace(hint=f"did you mean '{guess}'?") if guess else finding


def _findings(error: ValidationError, known_keys: KnownKeys) -> Iterator[_Told]:
    if error.validator not in ("anyOf", "oneOf") or not error.context:
        finding = _finding(error)
        doubtful = error.validator == "unevaluatedProperties" and _is_known(finding, known_keys(error.schema))
        unknown_to = error if finding.code == "MC102" else None
        yield _Told(finding, not isinstance(error.instance, dict | list), doubtful, unknown_to)
        return
    verdict = weigh(error)
    if isinstance(verdict, Verdict):
        path: Path = (*error.absolute_path, *verdict.path)
        message = f"{words.name(path)} {verdict.message}"
        finding = Finding(verdict.code, message, verdict.hint, path=path, value=words.shown(verdict.given))
        yield _Told(finding, not isinstance(verdict.given, dict | list))
        return
    for inner in verdict:
        yield from _findings(inner, known_keys)


def _finding(error: ValidationError) -> Finding:
    path: Path = tuple(error.absolute_path)
    names = error.cause.args if isinstance(error.cause, Named) else ()
    keyword = str(error.validator)
    if keyword == "required" and names:
        return Finding("MC101", f"'{names[0]}' is missing", path=path)
    if keyword in ("additionalProperties", "unevaluatedProperties") and names:
        return _unknown_key(path)
    if keyword == "propertyNames" and names:
        what = f"'{names[0]}' is" if is_plain(names[0]) else "this is"
        message = f"{what} no key that 'propertyNames' allows"
        return Finding("MC110", message, path=path, at_key=True, value=shorten(names[0]))
    make: Callable[[Any, Any, Any], Made] = _BY_KEYWORD.get(keyword, _other)
    code, phrase, hint = make(error.validator_value, error.instance, error)
    return Finding(code, f"{words.name(path)} {phrase}", hint, path=path, value=words.shown(error.instance))


def _unknown_key(path: Path) -> Finding:
    key = str(path[-1])
    message = f"'{key}' is not in the schema" if is_plain(key) else "a key that is not in the schema"
    return Finding("MC102", message, path=path, at_key=True, value=shorten(key))


def _is_known(finding: Finding, known: set[str]) -> bool:
    return finding.at_key and finding.path[-1] in known


def _keys(instance: Any) -> set[str]:
    return set(instance) if isinstance(instance, dict) else set()


def _bound(phrase: str) -> Callable[[Any, Any, Any], Made]:
    return lambda limit, given, error: ("MC105", f"must be {phrase} {words.json_text(limit)}", None)


def _too_short(limit: Any, given: str, error: Any) -> Made:
    if not given.strip():
        return "MC106", "must not be blank" if given else "must not be empty", None
    return "MC107", f"must have at least {words.count(limit, 'character')}, not {len(given)}", None


def _too_long(limit: Any, given: str, error: Any) -> Made:
    return "MC107", f"must have at most {words.count(limit, 'character')}, not {len(given)}", None


def _pattern(pattern: str, given: str, error: Any) -> Made:
    if pattern == NON_BLANK:
        return "MC106", "must not be blank", None
    wanted = FORMS.get(pattern) or f"of the form {shorten(pattern)}"
    return "MC107", f"must be {wanted}", words.form_hint(given)


def _amount(phrase: str, noun: str) -> Callable[[Any, Any, Any], Made]:
    return lambda limit, given, error: (
        "MC108", f"must have {phrase} {words.count(limit, noun)}, not {len(given)}", None
    )  # fmt: skip


def _surplus_items(allowed: Any, given: list[Any], error: ValidationError) -> Made:
    schema = error.schema if isinstance(error.schema, dict) else {}
    first = schema.get("prefixItems" if error.validator == "items" else "items", [])
    return "MC108", f"must have at most {words.count(len(first), 'item')}, not {len(given)}", None


def _equal_items(unique: Any, given: list[Any], error: ValidationError) -> Made:
    which = (
        f": items {error.cause.args[0]} and {error.cause.args[1]} are equal" if isinstance(error.cause, Named) else ""
    )
    return "MC110", f"must have no equal items ('uniqueItems'){which}", None


def _lacks_companion(needed: Any, given: Any, error: ValidationError) -> Made:
    if not isinstance(error.cause, Named):
        return _other(needed, given, error)
    missing, present = error.cause.args
    return "MC110", f"lacks '{missing}', which must stand beside '{present}' ('{error.validator}')", None


def _excluded(schema: Any, given: Any, error: Any) -> Made:
    if schema in ({}, True, None):  # a schema that is false is read as {"not": {}}
        return "MC110", "is not allowed here: the schema for it is false", None
    return "MC110", "is of a form that 'not' excludes", None


def _several_forms(schemas: Any, given: Any, error: Any) -> Made:
    if isinstance(error.cause, Named):  # cut short, see `keywords.Memory`
        return _other(schemas, given, error)
    return "MC110", "is of more than one of the forms in 'oneOf', of which exactly one must fit", None


def _contains(schema: Any, given: Any, error: ValidationError) -> Made:
    word = {"minContains": "too few items", "maxContains": "too many items"}.get(str(error.validator), "no item")
    return "MC110", f"has {word} of the form that 'contains' asks for", None


def _other(value: Any, given: Any, error: ValidationError) -> Made:
    return "MC110", f"does not keep '{error.validator}' of the schema", None


_BY_KEYWORD: dict[str, Callable[[Any, Any, Any], Made]] = {
    "type": lambda allowed, given, error: words.wrong_type(allowed, given),
    "enum": lambda allowed, given, error: words.wrong_choice(allowed, given),
    "const": lambda value, given, error: words.wrong_choice([value], given),
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("above"),
    "exclusiveMaximum": _bound("below"),
    "minLength": _too_short,
    "maxLength": _too_long,
    "pattern": _pattern,
    "minItems": _amount("at least", "item"),
    "maxItems": _amount("at most", "item"),
    "minProperties": _amount("at least", "key"),
    "maxProperties": _amount("at most", "key"),
    "items": _surplus_items,
    "additionalItems": _surplus_items,
    "uniqueItems": _equal_items,
    "dependentRequired": _lacks_companion,
    "dependencies": _lacks_companion,
    "not": _excluded,
    "None": _excluded,
    "oneOf": _several_forms,
    "contains": _contains,
    "minContains": _contains,
    "maxContains": _contains,
    "multipleOf": lambda value, given, error: (
        "MC110", f"must be a multiple of {words.json_text(value)} ('multipleOf')", None
    ),
}  # fmt: skip
