"""Pairs names. All names must be normalized, except for `pair_rest`, which gets their tight forms.

The protocol uses exact pairing: equal normalized names first, then the rest by equal tight forms; items of one name so
that they have the most in common. Fuzzy pairing is a
variant with guards: a high score alone is not a match, since VITAMINA B1 and VITAMINA B12, or CITALOPRAM and
ESCITALOPRAM, are similar but not the same.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from medcontract.normalizers.text import TextCache, normalize

VERSION = 3
"""Incremented when the pairing changes; part of the protocols that use it."""
LOOK_ALIKES = Path(__file__).parent / "data" / "look_alikes.json"

InCommon = Callable[[int, int], int]
"""How much the items at a position of the labels and at one of the predictions have in common."""
MOST_STEPS = 125_000
"""The maximum of labels² · predictions (or labels³), summed over the repeated names of a document: 50 items of one."""
_MOST_HINTS = 100_000
"""The maximum number of comparisons for one document."""
_LONGEST_HINT = 200
MOST_COMPARISONS = 250_000
"""The maximum of fuzzy pairing, for one document."""
LONGEST_FUZZY = 500
"""The maximum length of a normalized name for fuzzy pairing, in characters."""
# Both patterns also match false starts: a search that started again at each of their characters would take quadratic
# time.
_DIGIT_GROUP = re.compile(r"([<>=-]*+[0-9]++(?:[./:^-]++[0-9]++)*+)|[<>=-]++")
_WORD = re.compile(r"[A-Z]+")
_DOSE = re.compile(r"([0-9]++(?:[./][0-9]++)*+)\s*+(?:(MG|MCG|UG|NG|KG|G|ML|DL|L|UI|U|MEQ|MMOL|%)(?![A-Z]))?")


def pair_exact(
    labels: Sequence[str], predictions: Sequence[str], in_common: InCommon | None = None
) -> list[int | None]:
    """For each label the index of the prediction with the same name, one to one. An empty name is never paired.

    Items of a name that occurs several times are paired so that they have the most in common; of several such pairings,
    and without `in_common`, in order of appearance.
    """
    once = {name: place for place, name in enumerate(predictions)}
    if len(once) == len(predictions) and len(set(labels)) == len(labels):  # without repeated names
        return [once.get(name) if name else None for name in labels]
    return pair_rest(labels, predictions, [None] * len(labels), in_common)


def pair_rest(
    labels: Sequence[str],
    predictions: Sequence[str],
    paired: Sequence[int | None],
    in_common: InCommon | None = None,
) -> list[int | None]:
    """Pairs the names that are still unpaired like `pair_exact`; `labels` and `predictions` are tight forms."""
    pairs = list(paired)
    wanted, offered = _unpaired(labels, predictions, paired)
    if in_common is not None and too_many_of_one_name(labels, predictions):
        in_common = None
    for name in wanted.keys() & offered.keys():
        for place, other in _of_one_name(list(wanted[name]), list(offered[name]), in_common):
            pairs[place] = other
    return pairs


def _of_one_name(places: list[int], others: list[int], in_common: InCommon | None) -> Iterable[tuple[int, int | None]]:
    if in_common is None or len(places) == len(others) == 1:
        return zip(places, others, strict=False)
    best = _best_pairs([[in_common(place, other) for other in others] for place in places])
    return zip(places, [None if column is None else others[column] for column in best], strict=True)


def _best_pairs(common: Sequence[Sequence[int]]) -> list[int | None]:
    """Return the column of each row such that as many as possible are paired, and the sum of `common` is largest.

    Of several such lists, the first one in the order of lists of numbers is returned; None, for a row that is left
    over, comes after all numbers.

    This is the Hungarian method with integers of any size: the cost of a pair contains, below what the two have in
    common, its digit in the number that the list of columns is. So one assignment is the best one, and the first.
    """
    rows, given = len(common), len(common[0])
    base = given + 1
    unit = base**rows  # more than all digits together
    columns = max(rows, given)
    costs = [
        [min(column, given) * base ** (rows - 1 - row) - (unit * values[column] if column < given else 0)
         for column in range(columns)]
        for row, values in enumerate(common)
    ]  # fmt: skip
    paired = _assignment(costs)
    return [column if column < given else None for column in paired]


def _assignment(costs: Sequence[Sequence[int]]) -> list[int]:
    """Return the column of each row with the smallest sum of costs; there are at least as many columns as rows."""
    rows, columns = len(costs), len(costs[0])
    of_row, of_column = [0] * rows, [0] * (columns + 1)  # the potentials; the last column is for a new row
    owner = [-1] * (columns + 1)
    for new in range(rows):
        owner[columns] = current = new
        column = columns
        free = list(range(columns))
        visited: list[int] = []
        distance: dict[int, int] = {}
        before: dict[int, int] = {}
        while current >= 0:
            visited.append(column)
            row, shift = costs[current], of_row[current]
            for each in free:
                cost = row[each] - shift - of_column[each]
                if each not in distance or cost < distance[each]:
                    distance[each], before[each] = cost, column
            nearest = min(free, key=distance.__getitem__)
            step = distance[nearest]
            for each in visited:
                of_row[owner[each]] += step
                of_column[each] -= step
            free.remove(nearest)
            for each in free:
                distance[each] -= step
            column, current = nearest, owner[nearest]
        while column != columns:
            owner[column] = owner[before[column]]
            column = before[column]
    found = [-1] * rows
    for column, row_number in enumerate(owner[:columns]):
        if row_number >= 0:
            found[row_number] = column
    return found


def too_many_of_one_name(labels: Sequence[str], predictions: Sequence[str]) -> bool:
    """Return whether names are repeated so often that items are paired in order of appearance, whatever is in them."""
    if len(labels) ** 2 * max(len(labels), len(predictions)) <= MOST_STEPS:
        return False
    others = Counter(predictions)
    both = [(times, others[name]) for name, times in Counter(labels).items() if name and others[name]]
    return sum(ours**2 * max(ours, theirs) for ours, theirs in both if ours + theirs > 2) > MOST_STEPS


def pair_fuzzy(
    labels: Sequence[str], predictions: Sequence[str], threshold: float, paired: Sequence[int | None] | None = None
) -> list[int | None]:
    """Pairs the rest by `token_sort_ratio` with a minimum score, one to one, best score first.

    The pairs in `paired` (by default from `pair_exact`) are kept.

    Names are never paired if their digit groups differ (including signs and comparisons), if the same number has
    different units, or if both contain look-alikes, but not the same ones.

    Pairs with the same score are decided together. Two names are paired if neither has another unpaired partner with
    this score. Otherwise it is a tie, and all its names stay unpaired, since a worse partner would not be a better
    guess. Copies of a name are not a tie: they are paired in order of appearance, as many as exist on both sides, and
    remaining copies stay available. So the order of the lists only matters for copies.

    To limit the time, very long names are only paired with equal ones, and so are all names if there are too many to
    compare (see `too_many_to_compare`).
    """
    paired = pair_exact(labels, predictions) if paired is None else list(paired)
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
    """(label, prediction, score) of each unpaired label and its most similar unpaired prediction, if above the floor.

    These are hints, so guards do not apply, and one prediction may be the most similar of several labels. Of equally
    similar names the first in alphabetical order is used; of its copies, the first. To limit the time, there are no
    hints for very long names, and none at all if very many names are unpaired on both sides.
    """
    wanted = [place for place, other in enumerate(paired) if other is None and 0 < len(labels[place]) <= _LONGEST_HINT]
    if not wanted or len(predictions) == len(paired) - paired.count(None):
        return []
    offered: dict[str, int] = {}
    for place in sorted(set(range(len(predictions))).difference(paired)):
        if 0 < len(predictions[place]) <= _LONGEST_HINT:
            offered.setdefault(predictions[place], place)
    names, others = tuple(dict.fromkeys(map(labels.__getitem__, wanted))), tuple(sorted(offered))
    if len(names) * len(others) > _MOST_HINTS:
        return []
    nearest = (_known_nearest if len(names) + len(others) <= _FEW_NAMES else _nearest)(names, others, floor)
    found = ((place, nearest.get(labels[place])) for place in wanted)
    return [(place, offered[best[0]], best[1]) for place, best in found if best]


def _nearest(names: tuple[str, ...], others: tuple[str, ...], floor: float) -> dict[str, tuple[str, float]]:
    """Return the most similar of the other names, and its score, for each name that has one above the floor."""
    from rapidfuzz import fuzz, process

    forms = [_sorted_words(other) for other in others]
    best = {
        name: process.extractOne(_sorted_words(name), forms, scorer=fuzz.ratio, score_cutoff=floor) for name in names
    }
    return {name: (others[found[2]], found[1]) for name, found in best.items() if found is not None}


_FEW_NAMES = 8
_known_nearest = lru_cache(maxsize=1 << 12)(_nearest)
"""Many documents have the same few unpaired names."""


def too_many_to_compare(
    labels: Sequence[str], predictions: Sequence[str], paired: Sequence[int | None] | None = None
) -> bool:
    """Return whether a document has too many unpaired names for `pair_fuzzy` to compare."""
    if len(labels) * len(predictions) <= MOST_COMPARISONS:
        return False
    paired = pair_exact(labels, predictions) if paired is None else paired
    return _comparisons(*_unpaired(labels, predictions, paired, LONGEST_FUZZY)) > MOST_COMPARISONS


def _comparisons(wanted: Iterable[str], offered: Iterable[str]) -> int:
    """Only names with the same digit groups are compared."""
    others = Counter(map(_digit_groups, offered))
    return sum(others[_digit_groups(name)] for name in wanted)


def _places(names: Sequence[str], among: Iterable[int], longest: int | None = None) -> dict[str, deque[int]]:
    """Return the positions of each name, except empty and too long ones."""
    found: dict[str, deque[int]] = {}
    for place in among:
        name = names[place]
        if name and (longest is None or len(name) <= longest):
            found.setdefault(name, deque()).append(place)
    return found


def _unpaired(
    labels: Sequence[str], predictions: Sequence[str], paired: Sequence[int | None], longest: int | None = None
) -> tuple[dict[str, deque[int]], dict[str, deque[int]]]:
    taken = set(paired)
    wanted = [place for place, other in enumerate(paired) if other is None]
    offered = [place for place in range(len(predictions)) if place not in taken]
    return _places(labels, wanted, longest), _places(predictions, offered, longest)


class _Block(NamedTuple):
    """Names with the same digit groups: only these are compared."""

    places: list[int]
    forms: list[str]


def _best_first(names: Sequence[str], others: Sequence[str], threshold: float) -> Iterator[Iterator[tuple[int, int]]]:
    """Return the possible pairs, grouped by score, highest score first."""
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
    levels: dict[float, array[int]] = defaultdict(
        lambda: array("Q")
    )  # a pair is stored as one number, because hostile input has many
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


@TextCache
def _sorted_words(name: str) -> str:
    """Makes `ratio` equivalent to `token_sort_ratio`, so that the words of a name are sorted only once."""
    return " ".join(sorted(name.split()))


def _doses_agree(one: str, other: str) -> bool:
    """Return whether each number that has a unit in both names has a common one: 100 MCG is not 100 MG."""
    first, second = _doses(one), _doses(other)
    return all(first[number] & second[number] for number in first.keys() & second.keys())


@TextCache
def _doses(name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for number, unit in _DOSE.findall(name):
        if not unit:
            continue
        found[number].add("MCG" if unit == "UG" else unit)
    return dict(found)


@TextCache
def _digit_groups(name: str) -> tuple[str, ...]:
    """Return the numbers in a name, in order: runs of digits, with signs before and inside them."""
    return tuple(filter(None, _DIGIT_GROUP.findall(name)))


@cache
def look_alikes() -> frozenset[str]:
    """Return the built-in list of names that are easily confused, normalized."""
    data = json.loads(LOOK_ALIKES.read_text(encoding="utf-8"))
    return frozenset(normalize(name) for group in data["groups"] for name in group)


@cache
def look_alikes_sha256() -> str:
    """Return the hash of the sorted names, one per line."""
    return sha256("\n".join(sorted(look_alikes())).encode()).hexdigest()


@cache
def _by_word() -> dict[str, list[tuple[str, frozenset[str]]]]:
    """Return the listed names and their words, by first word."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
    for name in look_alikes():
        found[name.split()[0]].append((name, frozenset(name.split())))
    return dict(found)


@TextCache
def _listed(name: str) -> frozenset[str]:
    """Return the look-alikes in a name: all their words occur in it, in any order, besides doses and dosage forms."""
    words = frozenset(name.split()).union(_WORD.findall(name))  # CITALOPRAM20MG contains a name, too
    known = _by_word()
    return frozenset(listed for word in words & known.keys() for listed, needed in known[word] if needed <= words)
