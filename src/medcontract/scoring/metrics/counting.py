"""What metrics count, from a column of the truth and a column of the predictions.

Counts are exact, picklable, and independent of order. Counts of parts of the data add up (`sums`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from operator import eq, itemgetter
from typing import Any

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import BrokenPlugin, CallError, option, words
from medcontract.normalizers import text
from medcontract.normalizers.terms import built_in_terms
from medcontract.scoring.custom_metrics import custom_metrics
from medcontract.scoring.folding import fold_text, longest_common_subsequence
from medcontract.scoring.metrics.kinds import Counted
from medcontract.scoring.rational import ZERO

Column = Sequence[Any]
Class = str | bool | int | float
"""A class, or a number, as it is in records."""
Overlap = tuple[int, int, int]
"""The numbers of elements in common, of predicted elements, and of true elements."""
_WORD = re.compile(f"[^{BLANKS}]+")
_MARGIN, _TINY = 1e-15, 1e-300
"""More than the rounding error of a difference of doubles, relative and for tiny numbers."""


class ClassCounts(Struct, frozen=True, dict=True):
    """How often each (true, predicted) pair of values occurs; None: null or unprocessed."""

    pairs: Counter[tuple[Class | None, Class | None]]

    @cached_property
    def true(self) -> Counter[Class]:
        """The number of cases of each true class."""
        return self._sums(lambda y, p: y)

    @cached_property
    def predicted(self) -> Counter[Class]:
        """How often each class was predicted."""
        return self._sums(lambda y, p: p)

    @cached_property
    def right(self) -> Counter[Class]:
        """How often each class was predicted correctly."""
        return self._sums(lambda y, p: y if y == p else None)

    @cached_property
    def unprocessed(self) -> Counter[Class]:
        """The number of unprocessed cases of each true class."""
        return self._sums(lambda y, p: y if p is None else None)

    @property
    def cases(self) -> int:
        return self.true.total()

    @property
    def left_out(self) -> int:
        return sum(times for (y, _), times in self.pairs.items() if y is None)

    def _sums(self, key: Callable[[Class, Class | None], Class | None]) -> Counter[Class]:
        """Return the counts by a key of each pair; pairs whose key is None do not count."""
        found: Counter[Class] = Counter()
        for (y, p), times in self.pairs.items():
            if y is not None and (group := key(y, p)) is not None:
                found[group] += times
        return found


class MatchCounts(Struct, frozen=True):
    """How many cases match."""

    matches: int
    cases: int
    left_out: int


class OverlapCounts(Struct, frozen=True):
    """How two sets or multisets overlap, in each case."""

    overlaps: Counter[Overlap]
    unprocessed: Counter[int]
    """The number of unprocessed cases, by the number of true elements."""
    left_out: int

    @property
    def cases(self) -> int:
        return self.overlaps.total() + self.unprocessed.total()


class RankCounts(Struct, frozen=True):
    """How often each score occurs; None: unprocessed."""

    positives: Counter[float | None]
    negatives: Counter[float | None]
    left_out: int

    @property
    def cases(self) -> int:
        return self.positives.total() + self.negatives.total()


class SurvivalCounts(Struct, frozen=True):
    """How often each (time, event, score) occurs. A score is None if the case is unprocessed."""

    times: Counter[tuple[float, bool, float | None]]
    left_out: int

    @property
    def cases(self) -> int:
        return self.times.total()


class ErrorCounts(Struct, frozen=True):
    """The exact sum of a power of errors. Errors of doubles have powers of two as denominators, so there are few."""

    sums: Counter[int]
    """By the denominator of the error: the sum of the powers of the numerators."""
    processed: int
    unprocessed: int
    left_out: int

    @property
    def cases(self) -> int:
        return self.processed + self.unprocessed

    def total(self, power: int) -> Fraction:
        """Return the sum over the processed cases, of errors to this power."""
        return sum((Fraction(n, d**power) for d, n in self.sums.items()), ZERO)


Counts = ClassCounts | MatchCounts | OverlapCounts | RankCounts | SurvivalCounts | ErrorCounts


class Counting(Struct, frozen=True, kw_only=True):
    """What is counted for a metric. Hashable: metrics that count the same share their counts."""

    what: Counted
    truth: str
    """The name of the field of the truth."""
    prediction: str
    """The name of the field of the prediction."""
    event: str | None = None
    """The name of another field of the truth. Then a truth is a pair of values, for a time and an event."""
    positive: str | bool | int | None = None
    """The value of the truth that is positive. For errors: the truth is 1 for this value, and 0 otherwise."""
    function: str = ""
    """The name of a custom metric."""
    normalize: str = "none"
    power: int = 1
    """The power of the errors that is summed."""
    tolerance: Fraction = Fraction(0)
    relative: bool = False
    """The tolerance is a share of the truth."""

    def column(self, truths: Mapping[str, Column]) -> Column:
        """Return the column of the truth; for a time, with the event of each case."""
        times = truths[self.truth]
        return times if self.event is None else list(zip(times, truths[self.event], strict=True))

    def count(self, truths: Column, predictions: Column) -> Counts:
        """Return the counts of some cases; counts of several parts of the data can be added (`sums.added`).

        Both columns have one value per expected case, as validated records have them. A null truth is None; a
        prediction is None if the case is unprocessed or its field is null.
        """
        if len(truths) != len(predictions):
            raise ValueError("the columns must have equal lengths")
        return _COUNT[self.what](self, truths, predictions)


def columns(rows: Iterable[Sequence[object] | None], fields: Sequence[str]) -> dict[str, Column]:
    """Rows of values, None for an unprocessed case, as columns by field."""
    missing = (None,) * len(fields)
    filled = [missing if row is None else row for row in rows]
    return {field: list(map(itemgetter(place), filled)) for place, field in enumerate(fields)}


def count_all(
    countings: Iterable[Counting], truths: Mapping[str, Column], predictions: Mapping[str, Column]
) -> dict[Counting, Counts]:
    """Return the counts of each, once for equal ones, from columns by field."""
    return {each: each.count(each.column(truths), predictions[each.prediction]) for each in dict.fromkeys(countings)}


def _classes(counting: Counting, truths: Column, predictions: Column) -> ClassCounts:
    return ClassCounts(Counter(zip(truths, predictions, strict=True)))


def _numbers(counting: Counting, truths: Column, predictions: Column) -> ClassCounts:
    return ClassCounts(Counter(zip(_doubles(truths), _doubles(predictions), strict=True)))


def _equal(counting: Counting, truths: Column, predictions: Column) -> MatchCounts:
    both_null = 0
    left_out = truths.count(None)
    if left_out:
        both_null = sum(y is None and p is None for y, p in zip(truths, predictions, strict=True))
    matches = sum(map(eq, truths, predictions)) - both_null
    return MatchCounts(matches, len(truths) - left_out, left_out)


def _doubles(column: Column) -> list[float | None]:
    """Numbers of records are the doubles nearest to them."""
    return [None if value is None else float(value) for value in column]


def _matching(truths: Column, predictions: Column, matches: Callable[[Any, Any], bool]) -> MatchCounts:
    found = left_out = 0
    for y, p in zip(truths, predictions, strict=True):
        if y is None:
            left_out += 1
        elif p is not None and matches(y, p):
            found += 1
    return MatchCounts(found, len(truths) - left_out, left_out)


def within(tolerance: Fraction, *, relative: bool) -> Callable[[float, float], bool]:
    """Return whether a truth and a prediction differ by at most a tolerance, as a function of the two.

    The shortest decimals of the doubles are compared exactly: 1.02 is within 2 % of 1.00. Doubles decide if the
    difference is clearly smaller or larger.
    """
    try:
        about = float(tolerance)
    except OverflowError:
        about = float("inf")

    def matches(y: float, p: float) -> bool:
        y, p = float(y), float(p)
        difference = abs(p - y)
        limit = about * abs(y) if relative else about
        margin = (abs(p) + abs(y) + limit) * _MARGIN + _TINY
        if difference < limit - margin:
            return True
        if difference > limit + margin:
            return False
        exact_y, exact_p = Fraction(repr(y)), Fraction(repr(p))
        return abs(exact_p - exact_y) <= (tolerance * abs(exact_y) if relative else tolerance)

    return matches


def _texts(counting: Counting, truths: Column, predictions: Column) -> MatchCounts:
    if counting.normalize == "clinical":
        return _matching(truths, predictions, text.equal)
    if counting.normalize == "fold":
        terms = built_in_terms()
        return _matching(truths, predictions, lambda y, p: y == p or fold_text(terms, y) == fold_text(terms, p))
    return _equal(counting, truths, predictions)


def _tokens(counting: Counting, truths: Column, predictions: Column) -> OverlapCounts:
    tokens = tokenizer(counting.normalize)
    in_common = _in_common if counting.what == "tokens" else longest_common_subsequence

    def overlap(y: str, p: str) -> Overlap:
        true, predicted = tokens(y), tokens(p)
        return in_common(true, predicted), len(predicted), len(true)

    return _overlaps(truths, predictions, overlap, lambda y: len(tokens(y)))


def _in_common(one: Iterable[str], other: Iterable[str]) -> int:
    """Return the size of the intersection of two multisets; several times as fast as with `Counter` for short texts."""
    left: dict[str, int] = {}
    for token in one:
        left[token] = left.get(token, 0) + 1
    found = 0
    for token in other:
        if left.get(token):
            left[token] -= 1
            found += 1
    return found


def tokenizer(normalize: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into tokens, after normalization."""
    if normalize == "clinical":
        return lambda value: text.normalize(value).split()
    if normalize == "fold":
        terms = built_in_terms()
        return lambda value: fold_text(terms, value).tokens()
    return _WORD.findall


def _sets(counting: Counting, truths: Column, predictions: Column) -> OverlapCounts:
    def overlap(y: Iterable[object], p: Iterable[object]) -> Overlap:
        true, predicted = frozenset(y), frozenset(p)
        return len(true & predicted), len(predicted), len(true)

    return _overlaps(truths, predictions, overlap, lambda y: len(frozenset(y)))


def _overlaps(
    truths: Column, predictions: Column, overlap: Callable[[Any, Any], Overlap], size: Callable[[Any], int]
) -> OverlapCounts:
    overlaps: Counter[Overlap] = Counter()
    unprocessed: Counter[int] = Counter()
    for y, p in zip(truths, predictions, strict=True):
        if y is None:
            continue
        if p is None:
            unprocessed[size(y)] += 1
        else:
            overlaps[overlap(y, p)] += 1
    return OverlapCounts(overlaps, unprocessed, truths.count(None))


def _ranks(counting: Counting, truths: Column, predictions: Column) -> RankCounts:
    positive = counting.positive
    positives: list[float | None] = []
    negatives: list[float | None] = []
    for y, score in zip(truths, _doubles(predictions), strict=True):
        if y == positive:
            positives.append(score)
        elif y is not None:
            negatives.append(score)
    return RankCounts(Counter(positives), Counter(negatives), truths.count(None))


def _survival(counting: Counting, truths: Column, predictions: Column) -> SurvivalCounts:
    """A case is left out if its time or its event is null."""
    found: Counter[tuple[float, bool, float | None]] = Counter()
    for truth, score in zip(truths, _doubles(predictions), strict=True):
        time, event = truth or (None, None)
        if time is not None and event is not None:
            found[float(time), event == counting.positive, score] += 1
    return SurvivalCounts(found, len(truths) - found.total())


def _errors(counting: Counting, truths: Column, predictions: Column) -> ErrorCounts:
    if counting.positive is not None:
        truths = [None if y is None else float(y == counting.positive) for y in truths]
    sums: Counter[int] = Counter()
    unprocessed = left_out = 0
    squared = counting.power == 2
    for y, p in zip(truths, predictions, strict=True):
        if y is None:
            left_out += 1
        elif p is None:
            unprocessed += 1
        else:
            error, denominator = exact_difference(float(p), float(y))
            sums[denominator] += error * error if squared else abs(error)
    return ErrorCounts(sums, len(truths) - unprocessed - left_out, unprocessed, left_out)


def _custom(counting: Counting, truths: Column, predictions: Column) -> ErrorCounts:
    """Return the sum of what the function of a plugin returns. Its error may quote a record, so it is not shown."""
    name = counting.function
    function = custom_metrics().get(name)
    if function is None:
        raise CallError(f"no plugin has the metric '{name}'", words("pass it with ", option("--plugin", "FILE")))
    sums: Counter[int] = Counter()
    unprocessed = left_out = 0
    for y, p in zip(truths, predictions, strict=True):
        if y is None:
            left_out += 1
        elif p is None:
            unprocessed += 1
        else:
            try:
                value = float(function(y, p))
            except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it does
                raise BrokenPlugin(f"the metric '{name}' failed for a case: {type(error).__name__}") from None
            if not 0 <= value <= 1:
                raise BrokenPlugin(f"the metric '{name}' returned a number that is not between 0 and 1")
            numerator, denominator = value.as_integer_ratio()
            sums[denominator] += numerator
    return ErrorCounts(sums, len(truths) - unprocessed - left_out, unprocessed, left_out)


def exact_difference(one: float, other: float) -> tuple[int, int]:
    """Return the exact difference of two doubles: an integer and a power of two."""
    n, d = one.as_integer_ratio()
    m, e = other.as_integer_ratio()
    if d == e:
        return n - m, d
    return (n - m * (d // e), d) if d > e else (n * (e // d) - m, e)


_COUNT: dict[Counted, Callable[[Counting, Column, Column], Counts]] = {
    "classes": _classes,
    "numbers": _numbers,
    "equal": _equal,
    "equal numbers": lambda counting, y, p: _equal(counting, _doubles(y), _doubles(p)),
    "within": lambda counting, y, p: _matching(y, p, within(counting.tolerance, relative=counting.relative)),
    "texts": _texts,
    "tokens": _tokens,
    "sequences": _tokens,
    "sets": _sets,
    "ranks": _ranks,
    "survival": _survival,
    "errors": _errors,
    "custom": _custom,
}
