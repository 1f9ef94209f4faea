"""Markers of several kinds in a text, each kind searched independently of the others, but all in one pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from medcontract.normalizers.phrases import Phrases, spaced

_MOST_WORDS = 32
_MOST_FOLLOWING = 32
"""Only short phrases with few overlaps are searched in one pass, so that a lexicon takes linear memory."""
_NONE: frozenset[str] = frozenset()


class Found(NamedTuple):
    """The distinct markers in a text, by kind."""

    structure: frozenset[str]
    evidence: frozenset[str]
    fallacies: frozenset[str]


NOTHING = Found(_NONE, _NONE, _NONE)


class Markers:
    """Markers of each kind, with phrases that hide the markers in them, whose value is empty."""

    def __init__(self, structure: Mapping[str, str], evidence: Mapping[str, str], fallacies: Mapping[str, str]) -> None:
        """Normalized phrases with their values."""
        self._kinds = Phrases(structure), Phrases(evidence), Phrases(fallacies)
        self._phrases = sorted({*structure, *evidence, *fallacies})

    def structure(self, text: str) -> frozenset[str]:
        return self._kinds[0].values(text)

    def evidence(self, text: str) -> frozenset[str]:
        return self._kinds[1].values(text)

    def fallacies(self, text: str) -> frozenset[str]:
        return self._kinds[2].values(text)

    def all(self, text: str) -> Found:
        """The markers of all kinds in a normalized text."""
        found = self._together.find(spaced(text))
        return found if found is not None else Found(*[kind.values(text) for kind in self._kinds])

    @cached_property
    def _together(self) -> _OnePass:
        return _OnePass(self._kinds, self._phrases)


class _OnePass:
    """One search for the phrases of all kinds: leftmost and longest first, no overlap.

    Every phrase in a text starts inside a phrase that is found, or is found itself: what starts earlier is found
    earlier. So if none ends behind the phrase that it starts in, the markers of a kind in the text are those in the
    phrases found, each searched on its own. Otherwise, a phrase and the word after it are the beginning of such an
    overlap. These are searched as further phrases: as long as none of them is found, the others are found as without.
    """

    def __init__(self, kinds: Sequence[Phrases], phrases: Sequence[str]) -> None:
        self._markers: dict[str, Found | None] = {}
        """The markers in each phrase; None if another phrase may start in it and end behind it."""
        self._find: Callable[[str], list[str]] | None = None
        if all(len(phrase.split()) <= _MOST_WORDS for phrase in phrases):
            self._add(kinds, phrases)
            self._find = Phrases(dict.fromkeys(self._markers, "")).find_phrases

    def _add(self, kinds: Sequence[Phrases], phrases: Sequence[str]) -> None:
        self._markers = {spaced(phrase): Found(*[kind.values(phrase) for kind in kinds]) for phrase in phrases}
        next_words: dict[str, set[str]] = defaultdict(set)
        for phrase in phrases:
            words = phrase.split()
            for at in range(1, len(words)):
                next_words[" ".join(words[:at])].add(words[at])
        for phrase in map(spaced, phrases):
            words = phrase.split()
            ends = [" ".join(words[at:]) for at in range(1, len(words))]
            following = set().union(*[next_words[end] for end in ends if end in next_words])
            if len(following) > _MOST_FOLLOWING:
                self._markers[phrase] = None
            else:
                for word in following:
                    self._markers.setdefault(f"{phrase} {word} ", None)

    def find(self, text: str) -> Found | None:
        """The markers in a spaced text, or None if each kind has to be searched."""
        if self._find is None:
            return None
        found = [self._markers[phrase] for phrase in set(self._find(text))]
        if None in found:
            return None
        by_kind = zip(*found, strict=True)
        return Found(*[_NONE.union(*markers) for markers in by_kind]) if found else NOTHING
