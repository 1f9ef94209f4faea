"""Counts the labels in a submission that also occur in the truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medcontract.evaluation.near_misses import near_pairs
from medcontract.scoring.pairing import Pair, Vocabulary

_MOST_KEPT = 1000


class LabelTally:
    """The predicted labels of one vocabulary. Only the first labels that are not in the truth are kept."""

    def __init__(self, pair: Pair[Any, Any], vocabulary: Vocabulary) -> None:
        self.pair = pair
        self.vocabulary = vocabulary
        self.total = 0
        """All predicted labels, including repeated ones."""
        self.matched = 0
        """Those that occur in the truth."""
        self.unknown: dict[str, None] = {}
        """The first labels that do not, in order."""
        self.expected: dict[str, None] = {}
        """The labels of the truth; empty without one."""
        self._forms: set[str] = set()

    def expect(self, items: Iterable[Any]) -> None:
        """Collect the labels of the truth, sorted: a track may list those of an item as a set."""
        self.expected = dict.fromkeys(sorted({label for item in items for label in self.vocabulary.expected(item)}))
        self._forms = {form for label in self.expected for form in self.vocabulary.forms(label)}

    def add(self, record: Any) -> None:
        self.count(self.vocabulary.predicted(record))

    def count(self, labels: Iterable[str]) -> None:
        """Count predicted labels."""
        for label in labels:
            self.total += 1
            if not self._forms.isdisjoint(self.vocabulary.forms(label)):
                self.matched += 1
            elif len(self.unknown) < _MOST_KEPT:
                self.unknown[label] = None

    def near(self) -> list[tuple[str, str]]:
        """Unknown labels that are similar to one of the truth, with that one."""
        return near_pairs(self.unknown, self.expected)
