"""Finds the positions of many values in a JSON text; each object or list is scanned only once."""

from __future__ import annotations

import re

from medcontract.problems import Path, Token
from medcontract.reading.json_scanner import read_string, skip_container, skip_space, without_surrogates

_SCALAR = re.compile(rb"[^ \t\n\r,:\]}]*+")

Members = dict[Token, tuple[int, int]]
"""The offsets of the key (for a list item: of the item) and value of each member."""


class Locator:
    """Finds values by path in a text that is known to be JSON. Fastest for paths in file order."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._entered: list[_Container] = []

    def find(self, path: Path) -> tuple[int, int]:
        """The offsets of the value at `path` and of its key or, if there is none, of the longest existing part."""
        position = key_at = skip_space(self._raw, 0)
        for depth, token in enumerate(path):
            found = self._enter(depth, position).find(token)
            if found is None:
                break
            key_at, position = found
        return position, key_at

    def _enter(self, depth: int, position: int) -> _Container:
        if depth < len(self._entered) and self._entered[depth].start == position:
            return self._entered[depth]
        del self._entered[depth:]
        self._entered.append(_Container(self._raw, position))
        return self._entered[depth]


class _Container:
    """An object or a list, scanned as far as needed; a list remembers only its last item."""

    def __init__(self, raw: bytes, start: int) -> None:
        self.start = start
        self._raw = raw
        self._is_list = raw[start : start + 1] == b"["
        self._item, self._at = 0, skip_space(raw, start + 1)
        self._members = {} if self._is_list else _members(raw, start)

    def find(self, token: Token) -> tuple[int, int] | None:
        """The offsets of a member's key (for a list item: of the item) and value."""
        if not self._is_list or isinstance(token, str):
            return self._members.get(token)
        if token < self._item:
            self._item, self._at = 0, skip_space(self._raw, self.start + 1)
        while self._at < len(self._raw) and self._raw[self._at : self._at + 1] != b"]":
            if self._item == token:
                return self._at, self._at
            self._at = _next(self._raw, self._at)
            self._item += 1
        return None


def _members(raw: bytes, position: int) -> Members:
    """The members of the object that opens here. The last of repeated keys wins, as in the value."""
    members: Members = {}
    if raw[position : position + 1] != b"{":
        return members
    position = skip_space(raw, position + 1)
    while raw[position : position + 1] == b'"':
        key_at = position
        key, position = read_string(raw, position)
        position = skip_space(raw, skip_space(raw, position) + 1)
        members[without_surrogates(key)] = key_at, position
        position = _next(raw, position)
    return members


def _next(raw: bytes, position: int) -> int:
    """The offset after the value that starts here and the comma that follows it."""
    char = raw[position : position + 1]
    if char == b'"':
        position = read_string(raw, position)[1]
    elif char in (b"{", b"["):
        position = skip_container(raw, position) or len(raw)
    else:
        position = _SCALAR.match(raw, position).end()  # type: ignore[union-attr]  # the pattern matches anything
    position = skip_space(raw, position)
    return skip_space(raw, position + 1) if raw[position : position + 1] == b"," else position


def find(raw: bytes, path: Path) -> tuple[int, int]:
    """The offsets of one value and of its key."""
    return Locator(raw).find(path)
