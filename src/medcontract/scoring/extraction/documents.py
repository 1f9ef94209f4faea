"""One document of `extraction`: its labels, the prediction of a model, and the differences between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from operator import attrgetter, itemgetter
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

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
    fields: tuple[str, ...]
    name: str
    optional: int | None = None
    """The position of a field that counts only if its label is not empty."""

    def items(self, records: Sequence[Any]) -> Iterator[Item]:
        if not records:
            return iter(())
        kind: Any = type(records[0])
        return map(_reader(self.doc_type, kind), records)

    def counted(self, item: Item) -> int:
        """The number of fields of a labeled item that count."""
        is_short = self.optional is not None and not normalize(item[self.optional])
        return len(self.fields) - is_short


PRESCRIPTION = Kind(
    "prescription", "extraction/prescription-labels", "extraction/prescription-predictions", "medications",
    "medicamentos", MEDICATION_FIELDS, "nombre_medicamento",
)  # fmt: skip
LAB = Kind(
    "lab", "extraction/lab-labels", "extraction/lab-predictions", "results", "resultados", LAB_FIELDS, "nombre_prueba",
    LAB_FIELDS.index("rango_referencia"),
)  # fmt: skip


Item = tuple[str, ...]
"""A medication or a test as printed: its fields, then its name, in the order of the contracts."""
NAME = -1
"""The position of the name."""
_name = itemgetter(NAME)


@cache
def _reader(doc_type: str, record: type[Any]) -> Callable[[Any], Item]:
    """Returns the item in a record of this type: a Struct, which is much faster, or a Pydantic model."""
    kind = PRESCRIPTION if doc_type == PRESCRIPTION.doc_type else LAB
    fields = (*kind.fields, kind.name)
    return astuple if getattr(record, "__struct_fields__", ()) == fields else attrgetter(*fields)


class Label(Struct, frozen=True, gc=False):
    """The labels of a document."""

    doc_id: str
    items: tuple[Item, ...]
    fields: int
    """The number of fields that count; 0 if the normalized name of an item is empty, so that it is never paired."""


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

    find_miss: FindMiss
    fuzzy: float | None
    """The threshold of fuzzy pairing; None if only equal names are paired."""


_MOST_KNOWN = 1 << 16


class _KnownItems(dict[Item, Item]):
    """The items of labels, so that equal items of many labels are stored only once."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._kind = kind
        self.unusual: set[Item] = set()
        """Items with an empty normalized name, or with a field that does not count."""

    def __missing__(self, item: Item) -> Item:
        interned = tuple(map(intern, item))
        if not normalize(item[NAME]) or self._kind.counted(item) < len(self._kind.fields):
            self.unusual.add(interned)
        self[interned] = interned
        return interned


_known_items = {kind.doc_type: _KnownItems(kind) for kind in (PRESCRIPTION, LAB)}


def label_of(kind: Kind, record: Any) -> Label:
    known = _known_items[kind.doc_type]
    if len(known) >= _MOST_KNOWN:  # a new one: another thread may still use this one
        known = _known_items[kind.doc_type] = _KnownItems(kind)
    items = tuple(map(known.__getitem__, kind.items(getattr(record, kind.labeled))))
    fields = len(items) * len(kind.fields)
    if known.unusual and not known.unusual.isdisjoint(items):
        fields = sum(map(kind.counted, items)) if all(normalize(item[NAME]) for item in items) else 0
    return Label(record.doc_id, items, fields)


def failed(record: Any) -> bool:
    return not record.parse_success or bool(record.exception and record.exception.strip(BLANKS))


def measure(kind: Kind, options: Options, label: Label, record: Any) -> DocMark:
    if failed(record):
        return FAILED
    predicted = tuple(kind.items(getattr(record, kind.predicted)))
    if label.fields:
        if predicted == label.items:
            return _all_right(len(predicted), label.fields)
        if list(map(_name, predicted)) == list(map(_name, label.items)):
            return _compare(kind, options, label, predicted, range(len(predicted)))
    names = [normalize(item[NAME]) for item in label.items]
    other_names = [normalize(item[NAME]) for item in predicted]
    equal_pairs = _pair_equal(label, predicted, names, other_names)
    pairs = equal_pairs if options.fuzzy is None else pair_fuzzy(names, other_names, options.fuzzy, equal_pairs)
    nearest = {i: (predicted[j][NAME], score) for i, j, score in near_misses(names, other_names, pairs)}
    not_compared = options.fuzzy is not None and too_many_to_compare(names, other_names, equal_pairs)
    return _compare(kind, options, label, predicted, pairs, nearest, not_compared)


@lru_cache(maxsize=1 << 10)
def _all_right(items: int, fields: int) -> DocMark:
    """The mark of a document without any difference: one object for many documents."""
    return DocMark(items, fields, fields, True, False, (), items)


def _compare(
    kind: Kind,
    options: Options,
    label: Label,
    predicted: Sequence[Item],
    pairs: Sequence[int | None],
    nearest: Mapping[int, tuple[str, float]] = MappingProxyType({}),
    not_compared: bool = False,
) -> DocMark:
    """Compare the fields of paired items. `pairs` has the index of the prediction of each labeled item."""
    matched, total, wrong = len(pairs), label.fields, 0
    if None in pairs:
        paired = [item for item, pair in zip(label.items, pairs, strict=True) if pair is not None]
        matched, total = len(paired), sum(map(kind.counted, paired))
    reports: list[ItemReport] = []
    for number, (item, pair) in enumerate(zip(label.items, pairs, strict=True)):
        if pair is None:
            reports.append(ItemReport(number, item[NAME], None, nearest.get(number), ()))
            continue
        found = predicted[pair]
        if found == item:
            continue
        misses = _misses(kind, options, item, found)
        wrong += len(misses)
        if misses or item[NAME] != found[NAME]:
            reports.append(ItemReport(number, item[NAME], found[NAME], None, misses))
    valid = matched > 0 or any(item[NAME].strip(BLANKS) for item in predicted)
    return DocMark(matched, total - wrong, total, valid, False, tuple(reports), len(predicted), not_compared)


def _pair_equal(
    label: Label, predicted: Sequence[Item], names: Sequence[str], other_names: Sequence[str]
) -> list[int | None]:
    """Items with equal normalized names, then the rest by equal tight names."""
    pairs = pair_exact(names, other_names)
    unpaired = pairs.count(None)
    if not unpaired or len(predicted) == len(pairs) - unpaired:
        return pairs
    return pair_rest([tight(item[NAME]) for item in label.items], [tight(item[NAME]) for item in predicted], pairs)


def _misses(kind: Kind, options: Options, label: Item, found: Item) -> tuple[FieldMiss, ...]:
    """The wrong fields."""
    misses: list[FieldMiss] = []
    for place, field in enumerate(kind.fields):
        expected, got = label[place], found[place]
        if expected == got or (place == kind.optional and not normalize(expected)):
            continue
        miss = options.find_miss(field, expected, got)
        if miss:
            misses.append(miss)
    return tuple(misses)


FindMiss = Callable[[str, str, str], FieldMiss | None]
"""Compares the labeled and the predicted text of a field. None if they are equal."""


def miss_finder(tolerance: Fraction) -> FindMiss:
    """A function that compares fields and remembers the results for short texts. `tolerance` is that of numbers."""

    def find(field: str, expected: str, got: str) -> FieldMiss | None:
        if equal(expected, got) or (field == "valor" and close(got, expected, tolerance)):
            return None
        return FieldMiss(field, difference(expected, got), expected, got)

    cached = lru_cache(maxsize=1 << 14)(find)
    return lambda field, expected, got: (
        cached(field, expected, got) if len(expected) + len(got) <= _LONGEST_CACHED else find(field, expected, got)
    )


def difference(expected: str, got: str) -> str:
    """The kind of difference between two texts that are not equal after normalization."""
    want, have = normalize(expected), normalize(got)
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
_WORDS = re.compile(r"[A-Z]+|%")
_UNITS = frozenset((
    "MG", "MCG", "UG", "NG", "PG", "KG", "G", "ML", "DL", "UL", "FL", "L", "UI", "IU", "U", "MEQ", "MMOL", "MM",
    "CM", "%",
))  # fmt: skip


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit() or c in ".-/:^")


def _letters(text: str) -> str:
    return "".join(c for c in text if c.isalpha() or c == "%")
