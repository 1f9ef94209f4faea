"""Searches many phrases in a text at once: whole words, leftmost and longest first, without overlap.

Texts and phrases are *spaced* for this: with a space on both sides of each word, so that a phrase only matches whole
words, and phrases that follow each other do not share a space.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

Match = tuple[int, int, int]
"""The number of a phrase, and where it starts and ends in a text."""


def spaced(text: str) -> str:
    """A normalized text with a space on both sides of each word, so that words can be searched; unchanged if it is."""
    return text if not text or text.startswith(" ") else f" {text.replace(' ', '  ')} "


class Phrases:
    """Phrases with values, searched in spaced texts."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = list(values.values())
        self._phrases = [spaced(phrase) for phrase in values]
        self._by_phrase = dict(zip(self._phrases, self._values, strict=True))
        self._replacements = [None if phrase == value else spaced(value) for phrase, value in values.items()]
        """The values, except those of phrases that are their own value."""

    @cached_property
    def _automaton(self) -> Any:
        from ahocorasick_rs import AhoCorasick, MatchKind

        return AhoCorasick(self._phrases, matchkind=MatchKind.LeftmostLongest, store_patterns=True)

    @cached_property
    def _find_in_ascii(self) -> Callable[[bytes], list[Match]]:
        """Like `find`, in a text that is ASCII: faster, because bytes need not be mapped to characters."""
        from ahocorasick_rs import BytesAhoCorasick, MatchKind

        phrases = [phrase.encode() for phrase in self._phrases]
        automaton = BytesAhoCorasick(phrases, matchkind=MatchKind.LeftmostLongest)
        find: Callable[[bytes], list[Match]] = automaton.find_matches_as_indexes
        return find

    def find(self, text: str) -> list[Match]:
        """The phrases in a spaced text."""
        if text.isascii():
            return self._find_in_ascii(text.encode())
        found: list[Match] = self._automaton.find_matches_as_indexes(text)
        return found

    def values(self, text: str) -> frozenset[str]:
        """The non-empty values of the phrases in a text. A phrase with an empty value hides the phrases inside it."""
        text = spaced(text)
        try:
            found = self._automaton.find_matches_as_strings(text)
        except UnicodeEncodeError:  # lone surrogates: the text is not normalized
            found = self._automaton.find_matches_as_strings(text.encode(errors="replace").decode())
        values = frozenset(map(self._by_phrase.__getitem__, found))
        return values - {""} if "" in values else values

    def values_of(self, found: Sequence[Match]) -> frozenset[str]:
        """The values of phrases that were found."""
        values = self._values
        return frozenset([values[number] for number, _, _ in found])

    def replace(self, text: str, found: Sequence[Match] | None = None) -> str:
        """The spaced text with each phrase replaced by its value. `found` are its phrases, if they are known."""
        pieces: list[str] = []
        done = 0
        for number, start, end in self.find(text) if found is None else found:
            replacement = self._replacements[number]
            if replacement is not None:
                pieces.append(text[done:start])
                pieces.append(replacement)
                done = end
        if not pieces:
            return text
        pieces.append(text[done:])
        return "".join(pieces)


class Joints:
    """Where a name that replaced a spelling may form another name with the words next to it.

    Without such a place in a text, the names in the text after replacement are those of the spellings that were found,
    and it need not be searched again: a name is a spelling of itself, so any other name in it would have been found
    before, unless it contains a part of a replaced spelling and a word next to it.
    """

    def __init__(self, spellings: Mapping[str, str]) -> None:
        """`spellings` has the name of each spelling, names included, in the order of the phrases to be found."""
        self._pairs = {pair for name in spellings.values() for pair in pairwise(name.split())}
        """Words that follow each other in a name."""
        before: dict[str, set[str]] = defaultdict(set)
        after: dict[str, set[str]] = defaultdict(set)
        for first, second in self._pairs:
            before[second].add(f" {first} ")
            after[first].add(f" {second} ")
        self._neighbors: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """For replaced spellings, by number, the words before and after their names that may belong to another name."""
        self._first: list[str] = []
        self._last: list[str] = []
        """The first and the last word of the name of each spelling."""
        for number, (spelling, name) in enumerate(spellings.items()):
            words = name.split()
            self._first.append(words[0])
            self._last.append(words[-1])
            near = tuple(sorted(before.get(words[0], ()))), tuple(sorted(after.get(words[-1], ())))
            if spelling != name and any(near):
                self._neighbors[number] = near

    def any_in(self, text: str, found: Sequence[Match]) -> bool:
        """Whether there is one in a spaced text with these spellings."""
        neighbors, end_before, number_before = self._neighbors, 0, -1
        for number, start, end in found:
            if start == end_before and self._are_pair(number_before, number):
                return True
            if number in neighbors:
                before, after = neighbors[number]
                if text.endswith(before, 0, start) or text.startswith(after, end):
                    return True
            end_before, number_before = end, number
        return False

    def _are_pair(self, one: int, other: int) -> bool:
        """Whether the last word of a name and the first one of another follow each other in some name."""
        return one >= 0 and (self._last[one], self._first[other]) in self._pairs
