"""One document of `extraction`: its items, its labels, and what scoring keeps of its prediction."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.text import normalize
from medcontract.scoring.extraction.differences import FieldMiss

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
Items = tuple[Item, ...]
Label = tuple[Items, int]
"""The labels of a document: its items, and the number of fields that count.

That is 0 if the normalized name of an item is empty, so that it is never paired, or repeated, so that it may be paired
with several. Equal items of many labels are one object, and a label is a plain tuple: both make many labels quick to
send to another process.
"""


class ItemReaders(dict[type[Any], Callable[[Any], Item]]):
    """Functions that return the item in a record, by the type of the record: a Struct, or a Pydantic model."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._fields = (*kind.fields, kind.name)

    def __missing__(self, record: type[Any]) -> Callable[[Any], Item]:
        is_struct = getattr(record, "__struct_fields__", ()) == self._fields
        self[record] = astuple if is_struct else attrgetter(*self._fields)  # the former is faster
        return self[record]


_MOST_KNOWN = 1 << 16


class _KnownItems(dict[Item, Item]):
    """The items of labels, so that equal items of many labels are stored only once."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._kind = kind
        self.unusual: dict[Item, int] = {}
        """The number of fields that count, for items of which not all do."""

    def __missing__(self, item: Item) -> Item:
        interned = tuple(map(intern, item))
        counted = self._kind.counted(item)
        if counted < len(self._kind.fields):
            self.unusual[interned] = counted
        self[interned] = interned
        return interned

    def fields(self, items: Items) -> int:
        """The number of fields that count; 0 if an item is never paired, or a name is repeated."""
        names = {normalize(item[NAME]) for item in items}
        if len(names) < len(items) or "" in names:
            return 0
        full = len(self._kind.fields)
        if self.unusual.keys().isdisjoint(items):
            return full * len(items)
        return sum([self.unusual.get(item, full) for item in items])


def label_reader(kind: Kind) -> Callable[[Any], Label]:
    """A function that returns the label in a record."""
    readers = ItemReaders(kind)
    records_of = attrgetter(kind.labeled)
    current = _KnownItems(kind)

    def label_of(record: Any) -> Label:
        nonlocal current
        known = current
        if len(known) >= _MOST_KNOWN:  # a new one: another thread may still use this one
            known = current = _KnownItems(kind)
        records = records_of(record)
        items = tuple(map(known.__getitem__, map(readers[type(records[0])], records))) if records else ()
        return items, known.fields(items)

    return label_of


def failed(record: Any) -> bool:
    return not record.parse_success or bool(record.exception and record.exception.strip(BLANKS))


class ItemReport(Struct, frozen=True, eq=False, gc=False):
    """The result for one labeled item. Equal ones are most often one object, which is compared and hashed as such."""

    name: str
    paired: str | None
    """The name of its prediction."""
    nearest: tuple[str, float] | None
    """If it was not paired: the most similar prediction, and its score."""
    misses: tuple[FieldMiss, ...]


class DocMark(Struct, frozen=True, gc=False):
    """What scoring needs from the prediction of one document. Equal ones are most often one object."""

    labeled: int
    """The number of labeled items."""
    matched: int
    correct: int
    total: int
    succeeded: bool
    """Whether its run succeeded."""
    predicted: int
    """The number of predicted items."""
    items: tuple[tuple[int, ItemReport], ...] = ()
    """The items that are not entirely right, or whose name is spelled differently, by their position in the label."""
    state: Literal["compared", "failed", "no record"] = "compared"
    """Failed: it was not parsed, or ended in an exception. It may also have no valid record."""
    not_compared: bool = False
    """Fuzzy pairing was requested, but there were too many names to compare."""
    in_order: bool = False
    """A name occurred so often that its items were paired in order of appearance."""


@lru_cache(maxsize=1 << 10)
def all_right(items: int, fields: int) -> DocMark:
    """The mark of a document without any difference."""
    return DocMark(items, items, fields, fields, True, items)


@lru_cache(maxsize=1 << 10)
def nothing_right(items: int, state: Literal["failed", "no record"]) -> DocMark:
    """The mark of a document without items to compare."""
    return DocMark(items, 0, 0, 0, False, 0, (), state)
