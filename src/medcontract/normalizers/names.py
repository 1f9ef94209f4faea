"""Which names belong together. All names given here are normalized already.

Exact pairing is the protocol. Fuzzy pairing is a variant of it, with guards: a high score alone is no match, since
VITAMINA B1 and VITAMINA B12, or CITALOPRAM and ESCITALOPRAM, are near each other and are not the same.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from medcontract.normalizers.text import normalize

LOOK_ALIKES = Path(__file__).parent / "data" / "look_alikes.json"

_MOST_HINTS = 100_000
"""Comparisons for one document."""
_LONGEST_HINT = 200
MOST_COMPARISONS = 250_000
"""Of fuzzy pairing, for one document."""
LONGEST_FUZZY = 500
"""Characters of a normalized name that may be paired with one that is not equal."""
# Both patterns also match what begins like a find and is none: a search that starts again at each character of it takes
# time that grows with the square of its length.
_DIGIT_GROUP = re.compile(r"([<>=-]*+[0-9]++(?:[./:^-]++[0-9]++)*+)|[<>=-]++")
_WORD = re.compile(r"[A-Z]+")
_DOSE = re.compile(r"([0-9]++(?:[./][0-9]++)*+)\s*+(?:(MG|MCG|UG|NG|KG|G|ML|DL|L|UI|U|MEQ|MMOL|%)(?![A-Z]))?")


def pair_exact(labels: Sequence[str], predictions: Sequence[str]) -> list[int | None]:
    """For each label the index of the prediction of the same name; one to one, in order of appearance.

    An empty name is never paired.
    """
    once = {name: place for place, name in enumerate(predictions)}
    if len(once) == len(predictions) and len(set(labels)) == len(labels):  # no name is repeated
        return [once.get(name) if name else None for name in labels]
    offered = _places(predictions, range(len(predictions)))
    return [offered[name].popleft() if offered.get(name) else None for name in labels]


def pair_fuzzy(labels: Sequence[str], predictions: Sequence[str], threshold: float) -> list[int | None]:
    """As `pair_exact`; then what is left by `token_sort_ratio`, from the threshold on, one to one, best score first.

    Names are never paired when their digit groups differ (signs and comparisons are part of them), when the same number
    has another unit, or when both hold look-alikes that are not the same ones.

    Names of the same score are settled together. Two are paired when, among those still unpaired, neither has another
    partner of this score. Else it is a tie: all names in it are left unpaired for good, since a worse partner would be
    no better guess. Copies of one name are no tie: they are paired in order of appearance, as many as there are on
    both sides, and a copy that is left over goes on. So the order of the lists decides between copies only.

    Comparing must not take forever: very long names are paired with equal ones only, and where very many names would
    have to be compared (see `too_many_to_compare`), all are.
    """
    paired = pair_exact(labels, predictions)
    wanted, offered = _unpaired(labels, predictions, paired, LONGEST_FUZZY)
    if _comparisons(wanted, offered) > MOST_COMPARISONS:
        return paired
    names, others = list(wanted), list(offered)
    for edges in _best_first(names, others, threshold):
        live = [(a, b) for a, b in edges if wanted[names[a]] and offered[others[b]]]
        of_label, of_prediction = Counter(a for a, _ in live), Counter(b for _, b in live)
        for a, b in live:
            first, second = wanted[names[a]], offered[others[b]]
            if of_label[a] == 1 and of_prediction[b] == 1:
                while first and second:
                    paired[first.popleft()] = second.popleft()
            else:
                first.clear()
                second.clear()
    return paired


def near_misses(
    labels: Sequence[str], predictions: Sequence[str], paired: Sequence[int | None], floor: float = 80
) -> list[tuple[int, int, float]]:
    """(label, prediction, score) of each unpaired label and its nearest unpaired prediction, from the floor on.

    These are hints, so no guard holds, and one prediction may be the nearest of several labels. Of names that are
    equally near, the first in the alphabet is taken; of its copies, the first. They must not cost more than the score:
    very long names have none, and where very many names are left on both sides, none has.
    """
    if None not in paired:
        return []
    wanted, offered = _unpaired(labels, predictions, paired, _LONGEST_HINT)
    if not wanted or not offered or len(wanted) * len(offered) > _MOST_HINTS:
        return []
    from rapidfuzz import fuzz, process

    names = sorted(offered)
    forms = [_sorted_words(name) for name in names]
    found = []
    for name, places in wanted.items():
        best = process.extractOne(_sorted_words(name), forms, scorer=fuzz.ratio, score_cutoff=floor)
        if best is not None:
            found += [(place, offered[names[best[2]]][0], best[1]) for place in places]
    return sorted(found)


def too_many_to_compare(labels: Sequence[str], predictions: Sequence[str]) -> bool:
    """Whether a document has so many names without an equal one that `pair_fuzzy` compares none of them."""
    if len(labels) * len(predictions) <= MOST_COMPARISONS:
        return False
    unpaired = _unpaired(labels, predictions, pair_exact(labels, predictions), LONGEST_FUZZY)
    return _comparisons(*unpaired) > MOST_COMPARISONS


def _comparisons(wanted: Iterable[str], offered: Iterable[str]) -> int:
    """Only names with the same digit groups are compared."""
    others = Counter(map(_digit_groups, offered))
    return sum(others[_digit_groups(name)] for name in wanted)


def _places(names: Sequence[str], among: Iterable[int], longest: int | None = None) -> dict[str, deque[int]]:
    """Where each name stands. Empty names, and those that are too long, stand nowhere."""
    found: dict[str, deque[int]] = defaultdict(deque)
    for place in among:
        if names[place] and (longest is None or len(names[place]) <= longest):
            found[names[place]].append(place)
    return dict(found)


def _unpaired(
    labels: Sequence[str], predictions: Sequence[str], paired: Sequence[int | None], longest: int
) -> tuple[dict[str, deque[int]], dict[str, deque[int]]]:
    taken = set(paired)
    return (
        _places(labels, (place for place, other in enumerate(paired) if other is None), longest),
        _places(predictions, (place for place in range(len(predictions)) if place not in taken), longest),
    )


class _Block(NamedTuple):
    """Names with the same digit groups: only these are compared."""

    places: list[int]
    forms: list[str]


def _best_first(names: Sequence[str], others: Sequence[str], threshold: float) -> Iterator[Iterator[tuple[int, int]]]:
    """The pairs that may be, those of one score together, the highest score first."""
    if not names or not others:
        return
    from rapidfuzz import fuzz, process

    blocks: dict[tuple[str, ...], _Block] = defaultdict(lambda: _Block([], []))
    for place, other in enumerate(others):
        block = blocks[_digit_groups(other)]
        block.places.append(place)
        block.forms.append(_sorted_words(other))
    listed = [_listed(other) for other in others]
    width = len(others)
    levels: dict[float, array[int]] = defaultdict(lambda: array("Q"))  # a pair is one number: hostile input has many
    for row, name in enumerate(names):
        block = blocks.get(_digit_groups(name), _Block([], []))
        own = _listed(name)
        form = _sorted_words(name)
        for _, score, k in process.extract(form, block.forms, scorer=fuzz.ratio, score_cutoff=threshold, limit=None):
            place = block.places[k]
            if (not own or not listed[place] or own == listed[place]) and _doses_agree(name, others[place]):
                levels[score].append(row * width + place)
    for score in sorted(levels, reverse=True):
        yield (divmod(pair, width) for pair in levels.pop(score))


def _sorted_words(name: str) -> str:
    """With this, `ratio` is `token_sort_ratio`, and the words of a name are sorted once."""
    return " ".join(sorted(name.split()))


def _doses_agree(one: str, other: str) -> bool:
    """No number of both has a unit in each, and never the same: 100 MCG is not 100 MG."""
    first, second = _doses(one), _doses(other)
    return all(first[number] & second[number] for number in first.keys() & second.keys())


@lru_cache(maxsize=1 << 14)
def _doses(name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for number, unit in _DOSE.findall(name):
        if not unit:
            continue
        found[number].add("MCG" if unit == "UG" else unit)
    return dict(found)


@lru_cache(maxsize=1 << 14)
def _digit_groups(name: str) -> tuple[str, ...]:
    """The numbers in a name, in order: runs of digits, with the signs before them and inside them."""
    return tuple(filter(None, _DIGIT_GROUP.findall(name)))


@cache
def look_alikes() -> frozenset[str]:
    """The shipped names that are easily confused, normalized."""
    data = json.loads(LOOK_ALIKES.read_text(encoding="utf-8"))
    return frozenset(normalize(name) for group in data["groups"] for name in group)


@cache
def look_alikes_sha256() -> str:
    """Of the sorted names, one a line: the same as long as the names are."""
    return sha256("\n".join(sorted(look_alikes())).encode()).hexdigest()


@cache
def _by_word() -> dict[str, list[tuple[str, frozenset[str]]]]:
    """The listed names and their words, by the first of these."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
    for name in look_alikes():
        found[name.split()[0]].append((name, frozenset(name.split())))
    return dict(found)


@lru_cache(maxsize=1 << 14)
def _listed(name: str) -> frozenset[str]:
    """The look-alikes that a name holds: all their words stand in it, in any order, among doses and forms."""
    words = frozenset(name.split()).union(_WORD.findall(name))  # CITALOPRAM20MG holds a name, too
    known = _by_word()
    return frozenset(listed for word in words & known.keys() for listed, needed in known[word] if needed <= words)
