"""The results of the functions for published schemas."""

from __future__ import annotations

from typing import Any, Literal

from medcontract.problems import plural
from medcontract.results.base import Position, RelativePath, Result, ResultItem, ResultList, Sha256, Str

Draft = Literal["2020-12", "draft-07"]


class IndexStandIn(ResultItem, frozen=True, kw_only=True):
    """A truth whose ids are listed by files of another contract."""

    contract: Str
    """The contract id of the truth."""
    where: dict[str, Str]
    """The records that apply: those with these values in these fields. If empty, all records apply."""


class IndexColumn(ResultItem, frozen=True, kw_only=True):
    """A column of a table."""

    column: Str
    """The name of the column."""
    pointer: Str
    """The location of its value in the record (RFC 6901), such as `/image_id` or `/probabilities/3`."""
    type: Literal["text", "number", "boolean"]
    """The type of its cells."""
    nullable: bool
    """Whether an empty cell means null; otherwise it means the empty string."""


class IndexEntry(ResultItem, frozen=True, kw_only=True):
    """The published schemas of one contract."""

    id: Str
    """The id of the contract."""
    version: Position
    """The major version of the contract."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: tuple[Str, ...]
    """The file formats that it can be stored in."""
    title: Str
    """A short description."""
    path: RelativePath
    """The schema of a whole file, relative to the index."""
    record_path: RelativePath | None
    """The schema of one record, relative to the index; null for documents."""
    sha256: Sha256
    """SHA-256 of the file at `path`."""
    record_sha256: Sha256 | None
    """SHA-256 of the file at `record_path`; null for documents."""
    list_key: Str | None = None
    """The key of the list of records in a whole `.json` file; null for documents."""
    reference_list: Str | None = None
    """Documents: the list whose objects are referred to by rules of other files; null if there is none."""
    stands_in_for: tuple[IndexStandIn, ...] | None = None
    """The truths whose ids it lists. Without such a truth, rules that refer to it are checked against this file."""
    columns: tuple[IndexColumn, ...] | None = None
    """How the columns of a table map to a record, in order; null if it cannot be stored as a table."""

    _optional = frozenset({"list_key", "reference_list", "stands_in_for", "columns"})


class SchemaIndex(Result, frozen=True, kw_only=True):
    """The `index.json` that `medcontract schema export` writes next to the schemas."""

    medcontract_version: Str
    """The version of medcontract that wrote this."""
    draft: Literal["2020-12", "draft-07"]
    """The JSON Schema draft of all schemas."""
    schemas: tuple[IndexEntry, ...]
    """All contracts of the export, sorted by id."""


class SchemaChange(ResultItem, frozen=True, kw_only=True):
    """A difference between two schemas."""

    path: str
    """The file or contract id as given, or the path relative to the folders."""
    pointer: str
    """RFC 6901 pointer into the new schema; into the old one for removals."""
    message: Str
    """What changed."""
    breaks: Literal["none", "readers", "writers", "both"]
    """`writers`: valid data may become invalid. `readers`: invalid data may become valid. `both`: both, or unknown."""


class SchemaDiff(ResultList[SchemaChange], frozen=True, kw_only=True):
    """The output of `medcontract schema diff`."""

    breaking: bool
    """Whether any change breaks readers or writers."""
    changes: tuple[SchemaChange, ...]
    """All changes, by file, in the order of the schema."""

    _listed = "changes"

    @classmethod
    def of(cls, changes: tuple[SchemaChange, ...]) -> SchemaDiff:
        return cls(breaking=any(change.breaks != "none" for change in changes), changes=changes)

    _columns = ("path", "pointer", "message", "breaks")

    def __bool__(self) -> bool:
        """Return whether nothing breaks."""
        return not self.breaking

    def _summary(self) -> str:
        return f"{plural(len(self.changes), 'change')}, {'breaking' if self.breaking else 'not breaking'}"


class SchemaFault(ResultItem, frozen=True, kw_only=True):
    """An invalid or stray file in a schema folder."""

    file: str
    """The path relative to the folder."""
    reason: str
    """What is wrong with it."""
    stray: bool = False
    """Whether it is missing from the index: it must be removed, because an export does not change it."""

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


class SchemaCheck(ResultList[SchemaFault], frozen=True, kw_only=True):
    """The result of `check_schemas`."""

    ok: bool
    """Whether every schema is valid and up to date."""
    schemas: int
    """The number of schemas."""
    faults: tuple[SchemaFault, ...]
    """The files that are wrong."""

    _folder: str = ""
    """The folder, as given."""
    _draft: Draft = "2020-12"
    _base_url: str | None = None
    _ids: tuple[str, ...] | None = None
    """The contracts of the export; None for all."""
    _unknown: tuple[str, ...] = ()
    """The contracts of the export that are unknown."""

    _listed = "faults"
    _columns = ("file", "reason")

    def __bool__(self) -> bool:
        return self.ok

    def _summary(self) -> str:
        return f"{plural(self.schemas, 'schema')}, {plural(len(self.faults), 'fault')}"


class SchemaExport(Result, frozen=True, kw_only=True):
    """The result of `export_schemas`."""

    folder: str
    files: tuple[str, ...]
    """The files written, relative to the folder; the index is last."""
    contracts: int
    """The number of contracts."""
    index_replaced: bool
    """Whether the index replaced one of an export with a different draft or base URL."""

    def __len__(self) -> int:
        return len(self.files)

    def _summary(self) -> str:
        return f"{plural(len(self.files), 'file')} of {plural(self.contracts, 'contract')}"


class DictionaryField(ResultItem, frozen=True, kw_only=True):
    """A field in a data dictionary."""

    name: Str
    """The key, or the column in a table."""
    type: Str
    """The type of its values, in words."""
    required: bool
    """Whether it must be present."""
    values: str
    """Allowed values and bounds, in words; empty if there are none."""
    description: str
    """What it means."""


class DictionarySection(ResultItem, frozen=True, kw_only=True):
    """The fields of an object."""

    title: Str
    """The name of the object."""
    description: str
    """What it is."""
    fields: tuple[DictionaryField, ...]
    """Its fields, in the order of the contract."""
    open: bool
    """Whether other fields are allowed."""


class DictionaryRule(ResultItem, frozen=True, kw_only=True):
    """A rule in a data dictionary."""

    code: Str
    """The code of the problem."""
    severity: Str
    """Whether a violation is an error or a warning."""
    message: Str
    """When it is violated."""
    hint: Str | None
    """How to fix it."""
    details: str
    """The kind of rule with its fields and bounds."""


class DataDictionary(Result, frozen=True, kw_only=True):
    """A contract as tables of fields, for people."""

    id: Str
    """The contract."""
    version: Position
    """Its version."""
    title: Str
    """What it is for."""
    description: str
    """What the file is."""
    kind: Literal["collection", "document"]
    """Whether it is a list of records or a single object."""
    list_key: Str | None
    """The key of the list of records in a .json file; null for documents."""
    containers: tuple[Str, ...]
    """The file formats."""
    columns: tuple[Str, ...]
    """The columns of a table; empty for contracts without a table form."""
    source: Str | None
    """The source document."""
    sections: tuple[DictionarySection, ...]
    """The file, its records, and the objects in them."""
    rules: tuple[DictionaryRule, ...]
    """What a schema cannot express."""
    examples: tuple[Any, ...]
    """Valid examples."""


class ContractSchema(Result, frozen=True, kw_only=True):
    """The output of `medcontract schema show`: a JSON Schema, or its data dictionary."""

    _schema: dict[str, Any]
    _dictionary: DataDictionary

    def _data(self, show_values: bool) -> Any:
        return self._schema
