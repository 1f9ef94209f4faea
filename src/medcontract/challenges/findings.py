"""Collects what is wrong with a challenge file. Every message starts with the dotted path of the key."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

from medcontract.contracts.suggestions import did_you_mean
from medcontract.problems import Finding, Path, Severity, shorten

NAME = re.compile(r"[a-z][a-z0-9_]*")
LONGEST_NAME = 64
_TYPES = {
    str: "a string", bool: "a boolean", int: "an integer", Decimal: "a number", list: "a list", dict: "a table",
}  # fmt: skip
_LARGEST_EXACT = 2**53
_LONGEST_MESSAGE = 1000
_NOT_PRINTABLE = "contains a control character, or another one that cannot be displayed"
_LINE_BREAKS = str.maketrans("\r\n\t", "   ")
_LARGEST = Decimal("1e308")


def type_text(value: Any) -> str:
    """The type of a TOML value in words."""
    return _TYPES.get(type(value), "a date or time")


class Findings:
    """Findings about keys, by path."""

    def __init__(self) -> None:
        self.found: list[tuple[Path, Finding]] = []
        self._names: dict[Path, str] = {}

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for _, finding in self.found)

    def name(self, path: Path, name: str) -> None:
        """Use a name instead of the index of a table in an array."""
        self._names[path] = name

    def dotted(self, path: Path) -> str:
        text = ""
        for length, token in enumerate(path, 1):
            if isinstance(token, int):
                name = self._names.get(path[:length])
                text += f".{name}" if name else f"[{token}]"
            else:
                text += f".{token}" if NAME.fullmatch(token) else f'."{token[:LONGEST_NAME]}"'
        return text.removeprefix(".")

    def add(self, code: str, path: Path, message: str, hint: str | None = None, severity: Severity = "error") -> None:
        where = f"{self.dotted(path)}: " if path else ""
        shown = shorten(where + message, _LONGEST_MESSAGE)
        self.found.append((path, Finding(code, shown, hint and shorten(hint, _LONGEST_MESSAGE), severity, path)))

    # Common mistakes.

    def wrong_type(self, path: Path, wanted: str, value: Any, hint: str | None = None) -> None:
        self.add("MC103", path, f"expected {wanted}, got {type_text(value)}", hint)

    def missing(self, path: Path, hint: str | None = None) -> None:
        self.add("MC101", path, "missing", hint)

    def unknown_name(self, path: Path, message: str, name: str, known: Iterable[str]) -> None:
        known = tuple(known)
        listed = f"use one of: {', '.join(known[:20])}" if known else None
        self.add("MC221", path, message, did_you_mean(name, known) or listed)

    def unknown_keys(self, table: dict[str, Any], known: Collection[str], path: Path = ()) -> None:
        for key in table:
            if key not in known:
                hint = did_you_mean(key, known) or f"known keys: {', '.join(known)}"
                self.add("MC102", (*path, key), "unknown key", hint)

    # Values. Each returns None for a value that is wrong or absent.

    def table(self, parent: dict[str, Any], key: str, path: Path = ()) -> dict[str, Any] | None:
        value = parent.get(key)
        if value is None or isinstance(value, dict):
            return value
        hint = f"write [{key}]" if not path else None
        self.wrong_type((*path, key), "a table", value, hint)
        return None

    def text(self, parent: dict[str, Any], key: str, path: Path = ()) -> str | None:
        """A string that can be displayed; only descriptions may have several lines."""
        value = parent.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.wrong_type((*path, key), "a string", value)
            return None
        if not value.strip():
            self.add("MC106", (*path, key), "a blank string")
            return None
        if not (value.translate(_LINE_BREAKS) if key == "about" else value).isprintable():
            self.add("MC107", (*path, key), _NOT_PRINTABLE)
            return None
        return value

    def boolean(self, parent: dict[str, Any], key: str, path: Path = ()) -> bool | None:
        value = parent.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.wrong_type((*path, key), "true or false", value)
        return None

    def count(self, parent: dict[str, Any], key: str, path: Path = (), low: int = 0) -> int | None:
        """A whole number that is not too large."""
        value = parent.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong_type((*path, key), "an integer", value)
            return None
        if not low <= value <= 10**9:
            self.add("MC105", (*path, key), f"must be at least {low} and at most 1000000000")
            return None
        return value

    def number(
        self, parent: dict[str, Any], key: str, path: Path = (), low: int | None = None, high: int | None = None
    ) -> Decimal | None:
        """A number that is a double when written with as few digits as possible."""
        value = parent.get(key)
        if value is None:
            return None
        path = (*path, key)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            self.wrong_type(path, "a number", value)
            return None
        number = Decimal(value)
        if not number.is_finite() or number.copy_abs() > _LARGEST:
            self.add("MC105", path, "must be a finite number")
            return None
        if Decimal(repr(float(number))) != number:
            self.add("MC105", path, "has more digits than a double can represent", "use fewer digits")
            return None
        if (low is not None and number < low) or (high is not None and number > high):
            bounds = [f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
            self.add("MC105", path, f"must be {' and '.join(bounds)}")
            return None
        return number + 0  # not -0

    def bound(self, parent: dict[str, Any], key: str, path: Path, whole: bool) -> Decimal | None:
        """A bound of a field."""
        number = self.number(parent, key, path)
        if number is None:
            return None
        if whole and number != number.to_integral_value():
            self.add("MC105", (*path, key), "the bound of an integer must be an integer")
            return None
        if abs(number) >= _LARGEST_EXACT:
            self.add("MC105", (*path, key), "must be below 2**53")
            return None
        return number

    def strings(self, parent: dict[str, Any], key: str, path: Path = ()) -> tuple[str, ...] | None:
        """A list of different non-blank strings."""
        value = parent.get(key)
        if value is None:
            return None
        path = (*path, key)
        if not isinstance(value, list):
            self.wrong_type(path, "a list of strings", value)
            return None
        seen: set[str] = set()
        for index, item in enumerate(value):
            if not isinstance(item, str):
                self.wrong_type((*path, index), "a string", item)
                return None
            if not item.strip():
                self.add("MC106", (*path, index), "a blank string")
                return None
            if not item.isprintable():
                self.add("MC107", (*path, index), _NOT_PRINTABLE)
                return None
            if item in seen:
                self.add("MC225", (*path, index), "repeats an earlier value", "list each value once")
                return None
            seen.add(item)
        return tuple(value)

    def valid_name(self, name: str, path: Path) -> bool:
        """Whether a name of a field, metric or sum has the right form."""
        if NAME.fullmatch(name) and len(name) <= LONGEST_NAME:
            return True
        self.add("MC107", path, "invalid name", "use lower-case letters, digits and _, starting with a letter")
        return False
