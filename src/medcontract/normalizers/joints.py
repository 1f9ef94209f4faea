"""The names in a text whose known spellings are replaced by names, found without replacing them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import islice, pairwise

from medcontract.normalizers.phrases import Phrases, spaced

_MOST_NEIGHBORS = 32
"""A spelling with more neighbors is not searched with each of them, so that a lexicon takes linear memory."""


class Joints:
    """The names of the spellings in a text, unless a name may form another one with the words next to it.

    Without such a joint, the names in the text after replacement are those of the spellings that were found, and it
    need not be searched again: a name is a spelling of itself, so any other name in it would have been found before,
    unless it contains a part of a replaced spelling and a word next to it.

    Joints are searched as further phrases: a spelling with a word before or after it. As long as none of them is found,
    the others are found as without them: of the phrases that start at a word, the longest is found. The word before a
    spelling may also be the last one of the spelling before it. So pairs of spellings are checked on their own.
    """

    def __init__(self, spellings: Mapping[str, str]) -> None:
        """`spellings` has the name of each spelling, names included."""
        self._pairs = {pair for name in spellings.values() for pair in pairwise(name.split())}
        """Words that follow each other in a name."""
        self._names: dict[str, str | None] = {}
        """The name of each spelling; None for a joint."""
        self._first: dict[str, str] = {}
        self._last: dict[str, str] = {}
        """The first and the last word of the name of each spelling."""
        joints = self._add(spellings)
        for joint in joints:
            self._names.setdefault(joint, None)
        first_words = set(self._first.values())
        continued = {first for first, second in self._pairs if second in first_words}
        self._continued = {phrase for phrase, last in self._last.items() if last in continued}
        """The few spellings whose name may form another one with a name after it."""
        self._find = Phrases(dict.fromkeys(self._names, "")).find_phrases

    def _add(self, spellings: Mapping[str, str]) -> list[str]:
        """Returns the joints."""
        before: dict[str, list[str]] = defaultdict(list)
        after: dict[str, list[str]] = defaultdict(list)
        for first, second in self._pairs:
            before[second].append(f" {first} ")
            after[first].append(f" {second} ")
        joints: list[str] = []
        for spelling, name in spellings.items():
            phrase, words = spaced(spelling), name.split()
            self._names[phrase], self._first[phrase], self._last[phrase] = name, words[0], words[-1]
            if spelling == name:
                continue
            words_before, words_after = before.get(words[0], ()), after.get(words[-1], ())
            if len(words_before) + len(words_after) > _MOST_NEIGHBORS:
                self._names[phrase] = None
            else:
                joints += [word + phrase for word in words_before]
                joints += [phrase + word for word in words_after]
        return joints

    def names(self, text: str) -> frozenset[str] | None:
        """The names in a spaced text after replacement; None if there may be a joint."""
        found: list[str] = self._find(text)
        names = frozenset(map(self._names.get, found))
        if None in names or self._may_continue(found):
            return None
        return names  # type: ignore[return-value]  # without None

    def _may_continue(self, found: list[str]) -> bool:
        """Whether a name would form another one with the next name in the text, if they were next to each other."""
        if self._continued.isdisjoint(found):
            return False
        lasts = map(self._last.__getitem__, found)
        firsts = map(self._first.__getitem__, islice(found, 1, None))
        return not self._pairs.isdisjoint(zip(lasts, firsts))  # noqa: B905  # the last one has no next
