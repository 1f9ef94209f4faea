"""What the functions about published schemas return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from medcontract.problems import plural
from medcontract.results.base import Item, Result, Row
from medcontract.results.types import Position, RelativePath, Sha256, Str

Draft = Literal["2020-12", "draft-07"]


class IndexStandIn(Item, frozen=True, kw_only=True):
    """A truth whose ids are listed by files of another contract."""

    contract: Str
    """The id of the contract of the truth."""
    where: dict[str, Str]
    """Only records with these values in these fields are meant; all records when empty."""


class IndexColumn(Item, frozen=True, kw_only=True):
    """One column of a table."""

    column: Str
    """The name of the column."""
    pointer: Str
    """Where its value goes in the record (RFC 6901): `/image_id`, `/probabilities/3`."""
    type: Literal["text", "number", "boolean"]
    """How a cell is read."""
    nullable: bool
    """Whether an empty cell is null; otherwise it is the empty string."""


class IndexEntry(Item, frozen=True, kw_only=True):
    """The published schemas of one contract."""

    id: Str
    """The contract's id."""
    version: Position
    """The contract's major version."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: tuple[Str, ...]
    """The sorts of files that it may stand in."""
    title: Str
    """What it is, in a few words."""
    path: RelativePath
    """The schema of a whole file, seen from the index."""
    record_path: RelativePath | None
    """The schema of one record; null for documents."""
    sha256: Sha256
    """Of the bytes at `path`."""
    record_sha256: Sha256 | None
    """Of the bytes at `record_path`."""
    list_key: Str | None = None
    """The key of the list of records in a whole `.json` file; null for documents."""
    reference_list: Str | None = None
    """Of a document: the list whose objects a rule of another file refers to; null where none does."""
    stands_in_for: tuple[IndexStandIn, ...] | None = None
    """The truths whose ids it lists: where such a truth is not given, rules about it are checked against this file."""
    columns: tuple[IndexColumn, ...] | None = None
    """How the columns of a table become a record, in order; null when there is no table form."""

    _optional = frozenset({"list_key", "reference_list", "stands_in_for", "columns"})


class SchemaIndex(Result, frozen=True, kw_only=True):
    """The `index.json` that `medcontract schema export` writes beside the schemas."""

    medcontract_version: Str
    """The medcontract that wrote it."""
    draft: Literal["2020-12", "draft-07"]
    """The draft of JSON Schema that all of them are in."""
    schemas: tuple[IndexEntry, ...]
    """Sorted by id."""


class SchemaChange(Item, frozen=True, kw_only=True):
    """One difference between two schemas."""

    path: str
    """The file, or the contract's id, as it was given; below the folder when folders are compared."""
    pointer: str
    """RFC 6901, into the new schema; into the old one for what is gone."""
    message: Str
    """What changed."""
    breaks: Literal["none", "readers", "writers", "both"]
    """Writers: what was valid may no longer be. Readers: what was not valid may be now."""


class SchemaDiff(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract schema diff`."""

    breaking: bool
    """Some change breaks readers or writers."""
    changes: tuple[SchemaChange, ...]
    """By file, in the order of the schema."""

    @classmethod
    def of(cls, changes: tuple[SchemaChange, ...]) -> SchemaDiff:
        return cls(breaking=any(change.breaks != "none" for change in changes), changes=changes)

    def _columns(self) -> tuple[str, ...]:
        return ("path", "pointer", "message", "breaks")

    def _rows(self, show_values: bool) -> list[Row]:
        return [change.to_dict() for change in self.changes]

    def __bool__(self) -> bool:
        """Nothing breaks anyone."""
        return not self.breaking

    def __iter__(self) -> Iterator[SchemaChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def _summary(self) -> str:
        return f"{plural(len(self.changes), 'change')}, {'breaking' if self.breaking else 'breaking nothing'}"


class SchemaFault(Item, frozen=True, kw_only=True):
    """A file of a folder of schemas that is wrong."""

    file: str
    """Below the folder."""
    reason: str
    stray: bool = False
    """It is not in the index: it has to be removed, an export does not change it."""

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


class SchemaCheck(Result, frozen=True, kw_only=True):
    """What `check_schemas` found in a folder of published schemas."""

    ok: bool
    """Every schema is up to date and valid."""
    schemas: int
    """How many there are."""
    faults: tuple[SchemaFault, ...]
    """What is wrong."""

    _folder: str = ""
    """As it was given."""
    _draft: Draft = "2020-12"
    _base_url: str | None = None
    _ids: tuple[str, ...] | None = None
    """The contracts of the export; None: all that there are."""
    _unknown: tuple[str, ...] = ()
    """Those of them that are not known here."""

    def _columns(self) -> tuple[str, ...]:
        return ("file", "reason")

    def _rows(self, show_values: bool) -> list[Row]:
        return [fault.to_dict() for fault in self.faults]

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[SchemaFault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)

    def _summary(self) -> str:
        return f"{plural(self.schemas, 'schema')}, {plural(len(self.faults), 'fault')}"


class SchemaExport(Result, frozen=True, kw_only=True):
    """What `export_schemas` wrote."""

    folder: str
    files: tuple[str, ...]
    """Below the folder; the index last."""
    contracts: int
    """How many contracts they are of."""
    index_replaced: bool
    """The index that was there listed an export in another draft or with another base URL."""

    def __len__(self) -> int:
        return len(self.files)

    def _summary(self) -> str:
        return f"{plural(len(self.files), 'file')} of {plural(self.contracts, 'contract')}"
