"""What all repairs have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.suggestions import ALMOST_EQUAL, LONGEST_NAME, folded, nearest

Schema = dict[str, Any]
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""A number in JSON."""


class Repair(NamedTuple):
    """One kind of repair, without any value of a record."""

    what: str
    line: int | None = None


class Repaired(NamedTuple):
    """A text after some repairs."""

    text: str
    repairs: list[Repair]


def same_but_for_spelling(text: str, known: Iterable[str]) -> str | None:
    """The only known text that is equal without case, accents, spaces and punctuation."""
    plain = folded(text) if len(text) < LONGEST_NAME else ""  # it compares no more characters
    found = [each for each in known if folded(each) == plain]
    return found[0] if len(found) == 1 and plain else None


def renamed(unknown: Iterable[str], known: Iterable[str], missing: Iterable[str]) -> dict[str, str]:
    """New names of unknown keys. `missing` are the known ones that are required and not present.

    A name is changed only if one key can mean it: if they are equal but for spelling, or if the key is similar to a
    single missing one. Two keys that would get the same name stay as they are.
    """
    unknown, known, missing = list(unknown), list(known), list(missing)
    found = {name: same_but_for_spelling(name, known) or _similar(name, missing) for name in unknown}
    targets = list(found.values())
    return {name: new for name, new in found.items() if new is not None and targets.count(new) == 1}


def _similar(name: str, missing: list[str]) -> str | None:
    best = nearest(name, missing, ALMOST_EQUAL)
    rest = [each for each in missing if each != best]
    return best if best is not None and nearest(name, rest, ALMOST_EQUAL) is None else None


def types_of(schemas: Iterable[Schema]) -> set[str]:
    return {str(each["type"]) for each in schemas if "type" in each}


def choices_of(schemas: Iterable[Schema]) -> list[str]:
    """The strings that an enumeration allows."""
    found = (value for each in schemas for value in (*each.get("enum", ()), each.get("const")))
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))


def required_keys(contract: CompiledContract, is_record: bool) -> set[str]:
    """The keys that some variant of a record, or the header, requires."""
    return {key for form in contract.forms for key in form} if is_record else set(contract.header_required)
