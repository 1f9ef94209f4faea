"""The keys of a `.json` file, without its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from medcontract.problems import Ref
from medcontract.reading.json_scanner import Broken, read_string, scan
from medcontract.reading.json_stream import Window
from medcontract.reading.limits import MAX_MEMBERS
from medcontract.reading.located_records import TooLarge
from medcontract.reading.source import Source
from medcontract.types import Outline

Decided = TypeVar("Decided")

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def outline(source: Source, decide: Callable[[Outline], Decided | None]) -> tuple[Outline, Decided | None]:
    """Read only keys, until `decide` returns something or the file ends. Syntax errors end it silently."""
    keys: set[str] = set()
    items: dict[str, frozenset[str]] = {}
    places: dict[str, Ref] = {}
    schema: str | None = None
    complete = False
    window = Window(source)
    try:
        first = window.space()
        if first == b"[":
            return Outline(frozenset(), {"": _first_keys(window, "", places)}, None, "list", places), None
        if first != b"{":
            return Outline(frozenset(), {}, None, "other"), None
        window.at += 1
        for _ in range(MAX_MEMBERS):
            if window.space() != b'"':
                break
            key, _, _ = window.string()
            keys.add(key)
            if window.space() != b":":
                break
            window.at += 1
            if window.space() == b"[":
                early = Outline(frozenset(keys), items, schema, "object", places)
                items[key] = _first_keys(window, key, places)
                if (decided := decide(early)) is not None:
                    return early, decided
                _skip_items(window)
            else:
                raw = window.cut()
                if key == "$schema" and raw.startswith(b'"'):
                    schema = read_string(raw, 0)[0]
            if window.space() != b",":
                break
            window.at += 1
        complete = window.space() == b"}"
    except (Broken, TooLarge):
        pass
    finally:
        window.close()
    return Outline(frozenset(keys), items, schema, "object", places, complete), None


def _first_keys(window: Window, list_key: str, places: dict[str, Ref]) -> frozenset[str]:
    """Return the keys of the first item of the list that opens here; the window stays after that item."""
    window.at += 1
    if window.space() != b"{":
        return frozenset()
    offset = window.base + window.at
    raw = window.cut()
    places[list_key] = Ref(offset, len(raw), 0, (list_key, 0) if list_key else (0,))
    try:
        return frozenset(_decode_object(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = scan(raw).value
    return frozenset(value) if isinstance(value, dict) else frozenset()


def _skip_items(window: Window) -> None:
    """Skip to the end of the list; complete items in memory are skipped in one step."""
    while True:
        char = window.skip_run()
        if char == b"]":
            window.at += 1
            return
        if char:
            window.cut()
        elif not window.fill():
            return
