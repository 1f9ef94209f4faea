"""One document of `extraction`: its items, its labels, and what scoring keeps of its prediction."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.text import normalize
from medcontract.scoring.extraction.differences import FieldMiss

if TYPE_CHECKING:
    from medcontract.contracts.extraction import Labeled, PipelineRun, Read

MEDICATION_FIELDS = ("dosis", "frecuencia", "duracion", "instrucciones")
LAB_FIELDS = ("valor", "unidad", "rango_referencia", "estado")


Item = tuple[str, ...]
"""A medication or a test as printed: its fields, then its name, in the order of the contracts."""
NAME = -1
"""The position of the name."""
Items = tuple[Item, ...]


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
    optional: str | None = None
    """A field that counts only if its label is not empty."""

    def counted(self, item: Item) -> int:
        """Return the number of fields of a labeled item that count."""
        if self.optional is None or normalize(item[self.fields.index(self.optional)]):
            return len(self.fields)
        return len(self.fields) - 1

    def items_of(self, listed: str) -> Callable[[Labeled | Read], Items]:
        """Return a function that returns the items in a record, of which `listed` is the field."""
        listed_in, item_of = attrgetter(listed), attrgetter(*self.fields, self.name)
        return lambda record: tuple(map(item_of, listed_in(record)))


PRESCRIPTION = Kind(
    "prescription", "extraction/prescription-labels", "extraction/prescription-predictions", "medications",
    "medicamentos", MEDICATION_FIELDS, "nombre_medicamento",
)  # fmt: skip
LAB = Kind(
    "lab", "extraction/lab-labels", "extraction/lab-predictions", "results", "resultados", LAB_FIELDS, "nombre_prueba",
    "rango_referencia",
)  # fmt: skip


Label = tuple[Items, int]
"""The labels of a document: its items, and the number of fields that count.

That is 0 if the normalized name of an item is empty, so that it is never paired, or repeated, so that it may be paired
with several. Equal items of many labels are one object, and a label is a plain tuple: both make many labels quick to
send to another process.
"""


def label_reader(kind: Kind) -> Callable[[Labeled], Label]:
    """Return a function that returns the label in a record."""
    items_of = kind.items_of(kind.labeled)

    @lru_cache(maxsize=1 << 16)
    def known(item: Item) -> tuple[Item, int]:
        return tuple(map(intern, item)), kind.counted(item)

    def label_of(record: Labeled) -> Label:
        found = [known(item) for item in items_of(record)]
        names = {normalize(item[NAME]) for item, _ in found}
        is_clear = len(names) == len(found) and "" not in names
        return tuple([item for item, _ in found]), sum([counted for _, counted in found]) if is_clear else 0

    return label_of


def failed(record: Read | PipelineRun) -> bool:
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
    """Return the mark of a document without any difference."""
    return DocMark(items, items, fields, fields, True, items)


@lru_cache(maxsize=1 << 10)
def nothing_right(items: int, state: Literal["failed", "no record"]) -> DocMark:
    """Return the mark of a document without items to compare."""
    return DocMark(items, 0, 0, 0, False, 0, (), state)
