"""One document of `extraction`: its labels, the prediction of a model, and the differences between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.names import near_misses, pair_exact, pair_fuzzy, pair_rest, too_many_to_compare
from medcontract.normalizers.numbers import close
from medcontract.normalizers.text import equal, normalize, tight

MEDICATION_FIELDS = ("dosis", "frecuencia", "duracion", "instrucciones")
LAB_FIELDS = ("valor", "unidad", "rango_referencia", "estado")


class Kind(NamedTuple):
    """A kind of document: its contracts and the fields of its items."""

    doc_type: str
    labels: str
    predictions: str
    labeled: str
    """The field of a label that lists its items."""
    predicted: str
    """The field of a prediction that lists its items."""
    name: str
    fields: tuple[str, ...]

    def items(self, records: Iterable[Any]) -> tuple[Item, ...]:
        return tuple(map(attrgetter(self.name, *self.fields), records))


PRESCRIPTION = Kind(
    "prescription", "extraction/prescription-labels", "extraction/prescription-predictions", "medications",
    "medicamentos", "nombre_medicamento", MEDICATION_FIELDS,
)  # fmt: skip
LAB = Kind(
    "lab", "extraction/lab-labels", "extraction/lab-predictions", "results", "resultados", "nombre_prueba", LAB_FIELDS
)
_PLACES = (1, 2, 3, 4)
"""The positions of the fields in an item."""
_RANGE = 1 + LAB_FIELDS.index("rango_referencia")


Item = tuple[str, ...]
"""A medication or a test as printed: its name, then its fields."""


class Label(Struct, frozen=True, gc=False):
    """The labels of a document."""

    doc_id: str
    items: tuple[Item, ...]
    names: tuple[str, ...]
    """The normalized names of the items."""
    counted: tuple[tuple[int, ...], ...]
    """For each item the positions of the fields that count."""


class FieldMiss(Struct, frozen=True, gc=False):
    """A wrong field of a paired item."""

    field: str
    difference: str
    """The kind of difference."""
    expected: str
    got: str


class ItemReport(Struct, frozen=True, gc=False):
    """The result for one labeled item."""

    number: int
    """Its position in the label."""
    name: str
    paired: str | None
    """The name of its prediction."""
    nearest: tuple[str, float] | None
    """If it was not paired: the most similar prediction, and its score."""
    misses: tuple[FieldMiss, ...]


class DocMark(Struct, frozen=True, gc=False):
    """What scoring needs from the prediction of one document."""

    matched: int
    correct: int
    total: int
    succeeded: bool
    """Whether its run succeeded."""
    failed: bool
    """Whether it was not parsed, or ended in an exception."""
    items: tuple[ItemReport, ...]
    """The items that are not entirely right, or whose name is spelled differently."""
    predicted: int
    """The number of predicted items."""
    not_compared: bool = False
    """Fuzzy pairing was requested, but there were too many names to compare."""


FAILED = DocMark(0, 0, 0, False, True, (), 0)


class Options(NamedTuple):
    """The parameters that decide which items are paired, and which fields are right."""

    tolerance: Fraction
    fuzzy: float | None
    """The threshold of fuzzy pairing; None if only equal names are paired."""


class _KnownItem(NamedTuple):
    """An item of labels. Equal items of many labels are computed and stored only once."""

    item: Item
    name: str
    """Its normalized name."""
    counted: tuple[int, ...]
    """The positions of the fields that count."""


_MOST_KNOWN = 1 << 16
_known_items: dict[str, dict[Item, _KnownItem]] = {}
"""By kind. A dictionary is much faster here than a cache that records the order of use."""


def label_of(kind: Kind, record: Any) -> Label:
    known = _known_items.setdefault(kind.doc_type, {})
    found = [known.get(item) or _remember(kind, known, item) for item in kind.items(getattr(record, kind.labeled))]
    items, names, counted = zip(*found, strict=True)
    return Label(record.doc_id, items, names, counted)


def _remember(kind: Kind, known: dict[Item, _KnownItem], item: Item) -> _KnownItem:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    interned = tuple(map(intern, item))
    known[interned] = _KnownItem(interned, normalize(item[0]), _counted(kind, item))
    return known[interned]


def _counted(kind: Kind, item: Item) -> tuple[int, ...]:
    """The positions of the fields that count: a reference range counts only if the label has one."""
    if kind.doc_type == LAB.doc_type and not normalize(item[_RANGE]):
        return tuple(place for place in _PLACES if place != _RANGE)
    return _PLACES


def failed(record: Any) -> bool:
    return not record.parse_success or bool(record.exception and record.exception.strip(BLANKS))


def measure(kind: Kind, options: Options, label: Label, record: Any) -> DocMark:
    if failed(record):
        return FAILED
    predicted = kind.items(getattr(record, kind.predicted))
    if predicted == label.items and "" not in label.names:
        fields = sum(map(len, label.counted))
        return DocMark(len(predicted), fields, fields, True, False, (), len(predicted))
    names = [normalize(item[0]) for item in predicted]
    pairs = _pair_items(label, predicted, names, options)
    near = near_misses(label.names, names, pairs) if None in pairs else ()
    nearest = {i: (predicted[j][0], score) for i, j, score in near}
    correct = total = 0
    reports: list[ItemReport] = []
    for number, (item, places, pair) in enumerate(zip(label.items, label.counted, pairs, strict=True)):
        if pair is None:
            reports.append(ItemReport(number, item[0], None, nearest.get(number), ()))
            continue
        found = predicted[pair]
        total += len(places)
        correct += len(places)
        if found == item:
            continue
        misses = _misses(kind, item, found, places, options.tolerance)
        correct -= len(misses)
        if misses or item[0] != found[0]:
            reports.append(ItemReport(number, item[0], found[0], None, misses))
    valid = any(names) or any(item[0].strip(BLANKS) for item in predicted)
    matched = len(pairs) - pairs.count(None)
    not_compared = options.fuzzy is not None and _too_many(label, predicted, names)
    return DocMark(matched, correct, total, valid, False, tuple(reports), len(predicted), not_compared)


def _pair_equal(label: Label, predicted: Sequence[Item], names: Sequence[str]) -> list[int | None]:
    """Items with equal normalized names, then the rest by equal tight names."""
    pairs = pair_exact(label.names, names)
    unpaired = pairs.count(None)
    if not unpaired or len(predicted) == len(pairs) - unpaired:
        return pairs
    return pair_rest([tight(item[0]) for item in label.items], [tight(item[0]) for item in predicted], pairs)


def _pair_items(label: Label, predicted: Sequence[Item], names: Sequence[str], options: Options) -> list[int | None]:
    """For each labeled item the index of its prediction."""
    pairs = _pair_equal(label, predicted, names)
    return pairs if options.fuzzy is None else pair_fuzzy(label.names, names, options.fuzzy, pairs)


def _too_many(label: Label, predicted: Sequence[Item], names: Sequence[str]) -> bool:
    return too_many_to_compare(label.names, names, _pair_equal(label, predicted, names))


def _misses(kind: Kind, label: Item, found: Item, places: Iterable[int], tolerance: Fraction) -> tuple[FieldMiss, ...]:
    """The wrong fields."""
    misses: list[FieldMiss] = []
    for place in places:
        expected, got = label[place], found[place]
        if expected == got or equal(expected, got):
            continue
        field = kind.fields[place - 1]
        if field != "valor" or not close(got, expected, tolerance):
            misses.append(FieldMiss(field, difference(expected, got), expected, got))
    return tuple(misses)


def difference(expected: str, got: str) -> str:
    """The kind of difference between two texts that are not equal after normalization."""
    want, have = normalize(expected), normalize(got)
    return _cached_difference(want, have) if len(want) + len(have) <= _LONGEST_CACHED else _difference(want, have)


def _difference(want: str, have: str) -> str:
    if not have:
        return "missing"
    if not want:
        return "expected to be empty"
    if want.replace(" ", "") == have.replace(" ", ""):
        return "spaces only"
    numbers = _digits(want) != _digits(have)
    words = _letters(want) != _letters(have)
    if numbers and not words:
        return "number"
    if words and not numbers and _digits(want):
        units = set(_WORDS.findall(want)) ^ set(_WORDS.findall(have))
        return "different unit, same number" if units <= _UNITS else "different words, same number"
    if not words and not numbers:
        return "comparison sign"
    if want in have or have in want:
        return "too much" if want in have else "too little"
    return "different text"


_LONGEST_CACHED = 400
_cached_difference = lru_cache(maxsize=1 << 14)(_difference)
_WORDS = re.compile(r"[A-Z]+|%")
_UNITS = frozenset((
    "MG", "MCG", "UG", "NG", "PG", "KG", "G", "ML", "DL", "UL", "FL", "L", "UI", "IU", "U", "MEQ", "MMOL", "MM",
    "CM", "%",
))  # fmt: skip


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit() or c in ".-/:^")


def _letters(text: str) -> str:
    return "".join(c for c in text if c.isalpha() or c == "%")
