"""The keys of a `.json` file, for recognizing its contract: records are skipped."""

from __future__ import annotations

from collections.abc import Callable

from medcontract.problems import Ref
from medcontract.reading.json_file import TooLarge, Window
from medcontract.reading.json_scanner import Broken, read_string, scan
from medcontract.reading.limits import MAX_MEMBERS
from medcontract.reading.source import Source
from medcontract.types import Outline


def outline(source: Source, enough: Callable[[Outline], bool]) -> Outline:
    """Read only keys, until `enough` returns true or the file ends. Syntax errors end it silently."""
    keys: set[str] = set()
    items: dict[str, frozenset[str]] = {}
    places: dict[str, Ref] = {}
    schema: str | None = None
    seen = 0
    complete = False
    window = Window(source)
    try:
        first = window.space()
        if first == b"[":
            return Outline(frozenset(), {"": _first_keys(window, "", places)}, None, "list", places)
        if first != b"{":
            return Outline(frozenset(), {}, None, "other")
        window.at += 1
        while window.space() == b'"':
            key, _ = window.string()
            keys.add(key)
            seen += 1
            if window.space() != b":" or seen > MAX_MEMBERS:
                break
            window.at += 1
            if window.space() == b"[":
                early = Outline(frozenset(keys), items, schema, "object", places)
                items[key] = _first_keys(window, key, places)
                if enough(early):
                    return early
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
    return Outline(frozenset(keys), items, schema, "object", places, complete)


def _first_keys(window: Window, list_key: str, places: dict[str, Ref]) -> frozenset[str]:
    """The keys of the first item of the list that opens here; the window stays after that item."""
    window.at += 1
    if window.space() != b"{":
        return frozenset()
    offset = window.base + window.at
    raw = window.cut()
    places[list_key] = Ref(offset, len(raw), 0, (list_key, 0) if list_key else (0,))
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
