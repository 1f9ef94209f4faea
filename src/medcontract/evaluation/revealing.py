"""Finds answers in the ids of a truth, and in the order of its cases: each field by itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Any

from medcontract.evaluation.imitating import Sheet

_STANDARD_ERRORS = 5
"""From how many standard errors on neighboring answers are no longer alike by chance."""
_WORD, _SHORT = (0.5, 2), (0.9, 4)
"""From which share of ids on, and from how many standard errors above chance, they contain the answers.

A word is hardly in an id by chance; a letter or a number often is.
"""
_MOST_ROTATIONS = 5
_MOST_VALUES = 20
"""Neighboring numbers of a field with more values are alike if both are above the median, or neither."""
_PART, _DECIMAL = re.compile(r"[^\W\d_]+|\d+"), re.compile(r"\d+\.\d+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_BOOLEANS = {True: {"yes", "positive", "pos", "y", "t", "1"}, False: {"no", "negative", "neg", "n", "f", "0"}}
Columns = Mapping[str, Sequence[Any]]
Contains = Callable[[int, Any], bool]


def in_ids(sheet: Sheet) -> Iterator[str]:
    """Yield the fields whose values are in the ids of their cases more often than in other ids."""
    ids = [" ".join(map(str, key.values())).casefold() for key in sheet.keys]
    parts = [{_plain(part) for part in (*_PART.findall(text), *_DECIMAL.findall(text))} for text in ids]

    def has_word(case: int, value: Any) -> bool:
        text = str(value).casefold()
        return len(text) > 1 and not _NUMBER.fullmatch(text) and text in ids[case]

    def has_part(case: int, value: Any) -> bool:
        if isinstance(value, bool):
            return not _BOOLEANS[value].isdisjoint(parts[case])
        return _plain(str(value).casefold()) in parts[case]

    order = sheet.order("ids")
    for name, values in sheet.columns.items():
        known = [case for case in order if isinstance(values[case], str | int | float)]
        if len({values[case] for case in known}) > 1:
            told = _told(known, values, has_word, *_WORD) or _told(known, values, has_part, *_SHORT)
            if told:
                yield f"ids contain {name} ({told:,} of {len(known):,})"


def _plain(text: str) -> str:
    """Return a number without sign and needless zeros, and another text as it is."""
    if not _NUMBER.fullmatch(text):
        return text
    whole, _, decimals = text.lstrip("-").partition(".")
    decimals = decimals.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else "")


def _told(cases: Sequence[int], values: Sequence[Any], contains: Contains, least: float, errors: float) -> int:
    """Return how many ids contain the value of their case; 0 if there are few, or as many with other cases' values."""
    count = len(cases)
    told = sum(contains(case, values[case]) for case in cases)
    if told <= least * count:
        return 0
    turns = range(1, min(_MOST_ROTATIONS, count - 1) + 1)
    others = sum(contains(case, values[cases[at - turn]]) for turn in turns for at, case in enumerate(cases))
    share = others / (count * len(turns))
    error = count * sqrt(share * (1 - share) / (count - 1))
    return told if told > share * count + errors * error else 0


def in_order(sheet: Sheet) -> Iterator[str]:
    """Yield the fields whose values are alike in neighboring cases, far more often than by chance."""
    count = len(sheet.keys)
    orders = {
        "in the order of their ids": sorted(
            range(count), key=lambda case: " ".join(map(str, sheet.keys[case].values()))
        ),
        "in the truth": range(count),
    }
    single = {name: _texts(values) for name, values in sheet.columns.items()}
    joint = {"answer": [json.dumps(answer, sort_keys=True) for answer in sheet.answers]}
    for what, order in orders.items():
        found = list(_alike(single, order)) or list(_alike(joint, order))
        yield from (f"cases next to each other {what} have the same {shares}" for shares in found)


def _texts(values: Sequence[Any]) -> list[str]:
    """Return texts that are equal if values are alike."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) == len(values) and len(set(numbers)) > _MOST_VALUES:
        middle = median(numbers)
        return [str(value > middle) for value in numbers]
    return [json.dumps(value, sort_keys=True) for value in values]


def _alike(columns: Columns, order: Sequence[int]) -> Iterator[str]:
    """Yield names with the share of neighbors that are alike. Of columns that agree in all cases, only the first."""
    count, patterns = len(order), set()
    for name, texts in columns.items():
        numbers: dict[str, int] = {}
        pattern = tuple(numbers.setdefault(text, len(numbers)) for text in texts)
        if count < 3 or len(numbers) < 2 or pattern in patterns:
            continue
        patterns.add(pattern)
        chance = sum(times * (times - 1) for times in Counter(texts).values()) / (count * (count - 1))
        error = sqrt(max(chance * (1 - chance) * (count - 1), 1)) / (
            count - 1
        )  # two of few equal ones may be neighbors
        alike = sum(texts[one] == texts[other] for one, other in pairwise(order)) / (count - 1)
        if alike > chance + _STANDARD_ERRORS * error:
            yield f"{name} in {alike:.0%}, by chance in {chance:.0%}"
