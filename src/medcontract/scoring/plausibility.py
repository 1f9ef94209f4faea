"""Finds what looks wrong in valid answers: texts that no model meant as an answer, and columns that never change.

Nothing is changed or refused. `text_patterns.json` has the patterns, with what they mistake and miss. All texts of a
batch are searched as one, and each of them again only if something is found, so that good answers cost little.
A column is compared until its values differ. What is kept can be merged, and does not depend on the chunks of a file.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path as File
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Path, plural, value_name

_FILE = File(__file__).with_name("text_patterns.json")
TEXT_CODE, VALUE_CODE = "MC507", "MC508"
_APART = "\x01"
"""Separates texts that are searched as one."""
_START = 80
"""The number of characters at the start of a text that are compared in any case."""
_ENOUGH = 8
"""Fewer answers may be the same by chance."""
_MOST_COMPARED = 500
"""The number of texts of a field whose lengths are compared."""
_LONGEST = 1000
"""The number of characters at the start of a text that are compared with others."""
_PREFIX = 25
_SHORTEST_CUT = 10
_SAME_ITEM = 10
_LONG_LOOP = 200
_TAIL = 20
"""The number of characters at the end of a long text that a model repeats if it loops."""
_LOOP = ("repeats itself", "check whether the model looped (a repetition penalty helps)")

Texts = Callable[[Any], Iterable[tuple[Path, str]]]
"""The texts of a record that are scored, with their paths."""


class Watch(Struct, frozen=True, kw_only=True):
    """What to look at in the records of a submission."""

    track: str
    texts: Texts | None = None
    columns: Mapping[str, Callable[[Any], Any]] = {}
    """Values that differ from case to case, by name. None does not count."""
    probabilities: Mapping[str, Callable[[Any], Any]] = {}
    """Numbers, or lists of them, that are not only 0 and 1."""
    amounts: Mapping[str, Callable[[Any], Any]] = {}
    """Numbers that are not only 0."""
    items: Callable[[Any], tuple[Path, Sequence[Any]]] | None = None
    """A list of items that a model may repeat without end."""
    check: Callable[[Any], Iterable[Finding]] | None = None
    """What else is wrong with a record."""


class _Pattern(NamedTuple):
    """One kind of wrong text, and what such texts contain."""

    says: str
    hint: str
    anywhere: tuple[bytes, ...]
    """With their case; between separators if they are a whole text."""
    start: tuple[bytes, ...]
    """In the first characters, in any case; after a separator if they are at the very start."""

    def is_in(self, text: str) -> bool:
        whole, start = _together([text])
        return any(part in whole for part in self.anywhere) or any(part in start for part in self.start)


class _Patterns:
    """All kinds of wrong texts, for searching many texts at once."""

    def __init__(self, track: str) -> None:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        data = json.loads(_FILE.read_text("utf-8"))
        self.all = [_pattern(each, each.get("except", {}).get(track, ())) for each in data.values()]
        parts = ([part for each in self.all for part in each.anywhere], [p for each in self.all for p in each.start])
        self._finders = [BytesAhoCorasick(each, implementation=Implementation.DFA) for each in parts]

    def found_in(self, texts: Sequence[str]) -> bool:
        """Return whether any of the texts looks wrong."""
        pairs = zip(self._finders, _together(texts), strict=True)
        return any(finder.find_matches_as_indexes(text) for finder, text in pairs)


def _pattern(data: dict[str, Any], omitted: Sequence[str]) -> _Pattern:
    whole, written = (
        [f"{_APART}{part}{_APART}" for part in data.get(name, ()) if part not in omitted]
        for name in ("whole", "whole_as_written")
    )
    start = [_APART + part for part in data.get("start", ())]
    parts = (*data.get("anywhere", ()), *written), (*start, *data.get("near_start", ()), *whole)
    anywhere, near_start = (tuple(part.encode() for part in each) for each in parts)
    return _Pattern(data["says"], data["hint"], anywhere, near_start)


def _together(texts: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the texts, and their first characters in lower case, as two texts that are searched at once."""
    starts = _APART.join([text[:_START] for text in texts]).replace("’", "'")
    whole, start = (f"{_APART}{each}{_APART}".encode(errors="replace") for each in (_APART.join(texts), starts))
    return whole, start.lower()


_patterns = cache(_Patterns)
_name = lru_cache(maxsize=1000)(value_name)


class _Constant(Struct):
    """Whether all values of a column are the same, so far."""

    value: Any = None
    count: int = 0
    differs: bool = False

    def see(self, values: Iterable[Any]) -> None:
        known = [value for value in values if value is not None]
        if known:
            value = self.value if self.count else known[0]
            self.absorb(_Constant(known[0], len(known), known.count(value) < len(known)))

    def absorb(self, other: _Constant) -> None:
        if not other.count:
            return
        self.differs = self.differs or other.differs or (self.count > 0 and self.value != other.value)
        self.value = other.value if not self.count else self.value
        self.count += other.count


class _Common(Struct):
    """What the texts of one field have in common."""

    count: int = 0
    start: str | None = None
    """What all of them start with, unless it is short."""
    first: list[str] = []
    """The first of them; only their first characters."""

    def see(self, texts: Sequence[str]) -> None:
        missing = _MOST_COMPARED - len(self.first)
        start = None if self.start == "" else _common([text[:_LONGEST] for text in texts])
        self.absorb(_Common(len(texts), start, [text[:_LONGEST] for text in texts[:missing]]))

    def absorb(self, other: _Common) -> None:
        if other.start is not None:
            self.start = other.start if self.start is None else _common([self.start, other.start])
        self.count += other.count
        self.first += other.first[: _MOST_COMPARED - len(self.first)]


def _common(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    start = first[:length]
    return start if len(start) >= _PREFIX or len(set(texts)) == 1 else ""


class Impression(Struct):
    """What the records of a submission have in common, so far."""

    columns: dict[str, _Constant] = {}
    narrow: dict[str, int | None] = {}
    """The number of values of a probability or an amount; None if one of them is not 0 (or, for probabilities, 1)."""
    texts: dict[str, _Common] = {}

    def absorb(self, other: Impression) -> None:
        """Merge what the records that follow have in common."""
        for name, column in other.columns.items():
            self.columns.setdefault(name, _Constant()).absorb(column)
        for name, theirs in other.narrow.items():
            mine = self.narrow.get(name, 0)
            self.narrow[name] = None if mine is None or theirs is None else mine + theirs
        for name, texts in other.texts.items():
            self.texts.setdefault(name, _Common()).absorb(texts)

    def is_settled(self, watch: Watch) -> bool:
        """Return whether more records cannot change anything."""
        wide = all(self.narrow.get(name, 0) is None for name in (*watch.probabilities, *watch.amounts))
        differ = all(name in self.columns and self.columns[name].differs for name in watch.columns)
        return wide and differ and not (watch.texts or watch.items or watch.check)

    def see(self, watch: Watch, rows: Sequence[Any]) -> Sequence[tuple[int, Finding]]:
        """Look at valid records without errors. Returns what is wrong with single ones, by their position."""
        for name, read in watch.columns.items():
            column = self.columns.setdefault(name, _Constant())
            if not column.differs:
                column.see(map(read, rows))
        for columns, known in ((watch.probabilities, (0, 1)), (watch.amounts, (0,))):
            for name, read in columns.items():
                if self.narrow.get(name, 0) is not None:
                    self._see_narrow(name, map(read, rows), known)
        found: list[tuple[int, Finding]] = []
        if watch.texts:
            found += self._see_texts(watch, watch.texts, rows)
        if watch.items:
            found += _repeated_items(watch.items, rows)
        if watch.check:
            found += [(at, finding) for at, record in enumerate(rows) for finding in watch.check(record)]
        return sorted(found, key=itemgetter(0))

    def _see_narrow(self, name: str, values: Iterable[Any], known: Sequence[int]) -> None:
        count = 0
        for value in values:
            numbers = value if isinstance(value, tuple | list) else (value,)
            if any(number not in known for number in numbers if number is not None):
                self.narrow[name] = None
                return
            count += value is not None
        self.narrow[name] = (self.narrow.get(name) or 0) + count

    def _see_texts(self, watch: Watch, read: Texts, rows: Sequence[Any]) -> Iterator[tuple[int, Finding]]:
        by_path: dict[Path, list[str]] = {}
        for record in rows:
            for path, text in read(record):
                by_path.setdefault(path, []).append(text.strip())
        for path, texts in by_path.items():
            known = [text for text in texts if text]
            if known and not any(type(token) is int for token in path):
                self.texts.setdefault(_name(path), _Common()).see(known)
        for at, record in enumerate(rows):
            loops = ((path, text) for path, text in read(record) if len(text) >= _LONG_LOOP)
            yield from ((at, _finding(path, *_LOOP)) for path, text in loops if text.count(text[-_TAIL:]) >= _SAME_ITEM)
        patterns = _patterns(watch.track)
        if patterns.found_in([text for texts in by_path.values() for text in texts]):
            for at, record in enumerate(rows):
                for path, text in read(record):
                    wrong = [pattern for pattern in patterns.all if pattern.is_in(text.strip())]
                    yield from ((at, _finding(path, each.says, each.hint)) for each in wrong)

    def remarks(self, watch: Watch) -> Iterator[tuple[str, str, str]]:
        """Say what all records have in common: code, message, hint."""
        same: dict[int, list[str]] = {}
        for name, column in self.columns.items():
            if not column.differs and column.count >= _ENOUGH and column.value != []:
                same.setdefault(column.count, []).append(name)
        for count, names in same.items():
            message = f"{', '.join(names)} {'are' if names[1:] else 'is'} the same in all {count:,} answers"
            yield VALUE_CODE, message, "check how the answers were computed"
        for name, numbers in self.narrow.items():
            if numbers is None or numbers < _ENOUGH:
                continue
            if name in watch.amounts:
                yield VALUE_CODE, f"{name} is 0 in all {numbers:,} answers", "measure it"
            elif name not in self.columns or self.columns[name].differs:
                message = f"{name} is only 0 and 1 in all {numbers:,} answers"
                yield VALUE_CODE, message, "write probabilities, not the predicted class"
        for name, texts in self.texts.items():
            yield from _about_texts(name, texts)


_BASE64 = lazy_pattern(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)\Z")
_OF_OBJECT = lazy_pattern(r"<[\w.]+ (?:object|.* at 0x)")


def _is_base64(text: str) -> bool:
    """Return whether the text is Base64 of a text. Few words are by chance, and no eight different ones."""
    if not _BASE64.match(text):
        return False
    try:
        return b64decode(text).decode().isprintable()
    except ValueError:
        return False


_SHAPES = (
    (lazy_pattern(r"[\[(]?[A-Ha-h][\])]?[.:]?\Z").match, "is a letter",
     "write the text of the option, if the references have texts"),
    (_is_base64, "looks like Base64", "decode it: base64.b64decode(text).decode()"),
    (lazy_pattern(r"\[(?:[0-9]+(?:, ?|\]\Z)){2,}").match, "is a list of numbers",
     "decode the tokens: tokenizer.decode(ids)"),
    (lazy_pattern(r"(?=.*%[0-9A-F]{2})[^\s]+\Z").match, "is encoded as in a URL",
     "decode it: urllib.parse.unquote(text)"),
)  # fmt: skip
"""What all answers look like, if none of them can be meant: a test, what to say, and what to do."""


def _about_texts(name: str, texts: _Common) -> Iterator[tuple[str, str, str]]:
    total, start = texts.count, texts.start or ""
    if total < _ENOUGH:
        return
    longest = max(map(len, texts.first))
    cut = [text for text in texts.first if len(text) == longest]
    spaced = len({text for text in cut if " " in text})  # codes have none
    if start and set(texts.first) == {start}:
        yield TEXT_CODE, f"{name} is the same text in all {total:,} answers", "check that each case was answered"
    elif len(start) >= _PREFIX:
        if not _OF_OBJECT.match(start):  # there is a warning about each
            message = f"{name} starts with the same {len(start):,} characters in all {total:,} answers"
            yield TEXT_CODE, message, "keep only what the model generated, without the prompt"
    elif shape := next((each for each in _SHAPES if all(map(each[0], texts.first))), None):
        yield TEXT_CODE, f"{name} {shape[1]} in all {total:,} answers", shape[2]
    elif _SHORTEST_CUT <= longest < _LONGEST and 2 * len(cut) >= len(texts.first) and spaced > 1:
        message = f"{name} has exactly {longest:,} characters in half of the answers or more, and never more"
        yield TEXT_CODE, message, "check whether the answers were cut off, such as by max_new_tokens"


def _repeated_items(read: Callable[[Any], tuple[Path, Sequence[Any]]], rows: Sequence[Any]) -> Iterator[Any]:
    for at, record in enumerate(rows):
        path, items = read(record)
        if len(items) >= _SAME_ITEM:
            most = max(Counter(map(repr, items)).values())
            if most >= _SAME_ITEM:
                yield at, _finding(path, f"has the same item {plural(most, 'time')}", "check whether the model looped")


def _finding(path: Path, says: str, hint: str, code: str = TEXT_CODE) -> Finding:
    return Finding(code, says, hint, "warning", path, name=value_name(path))


def implausible(path: Path, says: str, hint: str | None = None, value: str | None = None) -> Finding:
    """Return the warning about a number that is valid but improbable."""
    return Finding(VALUE_CODE, says, hint, "warning", path, name=value_name(path), value=value)
