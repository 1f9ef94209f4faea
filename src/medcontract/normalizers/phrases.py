"""Searches many phrases in a text at once: whole words, leftmost and longest first, without overlap.

Texts and phrases are *spaced* for this: with a space on both sides of each word, so that a phrase only matches whole
words, and phrases that follow each other do not share a space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

Match = tuple[int, int, int]
"""The number of a phrase, and where it starts and ends in a text."""


def spaced(text: str) -> str:
    """A normalized text with a space on both sides of each word, so that words can be searched; unchanged if it is."""
    return text if not text or text.startswith(" ") else f" {text.replace(' ', '  ')} "


class Phrases:
    """Phrases with values, searched in spaced texts."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._phrases = [spaced(phrase) for phrase in values]
        self._values = values

    @cached_property
    def _value_of(self) -> Callable[[str], str]:
        return dict(zip(self._phrases, self._values.values(), strict=True)).__getitem__

    @cached_property
    def _replacements(self) -> list[bytes | None]:
        """The values as UTF-8, except those of phrases that are their own value."""
        return [None if phrase == value else spaced(value).encode() for phrase, value in self._values.items()]

    @cached_property
    def _automaton(self) -> Any:
        from ahocorasick_rs import AhoCorasick, MatchKind

        return AhoCorasick(self._phrases, matchkind=MatchKind.LeftmostLongest, store_patterns=True)

    @cached_property
    def _find(self) -> Callable[[bytes], list[Match]]:
        """Finds the phrases in a spaced text as UTF-8: faster, because bytes need not be mapped to characters."""
        from ahocorasick_rs import BytesAhoCorasick, MatchKind

        phrases = [phrase.encode() for phrase in self._phrases]
        automaton = BytesAhoCorasick(phrases, matchkind=MatchKind.LeftmostLongest)
        find: Callable[[bytes], list[Match]] = automaton.find_matches_as_indexes
        return find

    def values(self, text: str) -> frozenset[str]:
        """The non-empty values of the phrases in a text. A phrase with an empty value hides the phrases inside it."""
        text = spaced(text)
        try:
            found = self._automaton.find_matches_as_strings(text)
        except UnicodeEncodeError:  # lone surrogates: the text is not normalized
            found = self._automaton.find_matches_as_strings(text.encode(errors="replace").decode())
        values = frozenset(map(self._value_of, found))
        return values - {""} if "" in values else values

    def replace(self, text: str) -> str:
        """The spaced text with each phrase replaced by its value."""
        raw = text.encode()
        pieces: list[bytes] = []
        done = 0
        replacements = self._replacements
        for number, start, end in self._find(raw):
            replacement = replacements[number]
            if replacement is not None:
                pieces.append(raw[done:start])
                pieces.append(replacement)
                done = end
        pieces.append(raw[done:])
        return b"".join(pieces).decode()
