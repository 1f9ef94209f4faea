"""What medcontract itself prints as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from medcontract.definitions.base import Count, Document, Many, Position, RelativePath, Str, Strictest, Text
from medcontract.definitions.contract import Contract

Code = Annotated[str, Field(pattern="^MC[0-5][0-9][0-9]$", max_length=5)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$", max_length=64)]


class ProblemModel(Strictest):
    """One thing that is wrong, and where."""

    code: Code
    """Stable; `medcontract explain CODE` says more."""
    severity: Literal["error", "warning"]
    """Only errors make a file invalid."""
    message: Str
    """What is wrong."""
    hint: Str | None
    """How to mend it."""
    pointer: Text
    """RFC 6901; in the document for .json, in the record for lines and tables. A key that may be data is shown as …."""
    record: Count | None
    """0-based index of the record."""
    line: Position | None
    """1-based."""
    column: Position | None
    """1-based, in code points."""
    field: Text | None
    """The column name, for tables."""


class FileModel(Strictest):
    """What was found in one file."""

    path: Text
    """As it was given."""
    contract: Str | None
    """The contract that it was judged by; null when that cannot be told."""
    ok: bool
    """No errors."""
    records: Count | None
    """Records read; null for documents and where nothing could be read."""
    errors: Count
    """How many, those left out too."""
    warnings: Count
    """How many, those left out too."""
    omitted: Count
    """Problems that were counted but are not listed."""
    problems: Many[ProblemModel]
    """In file order."""


class Validation(Document):
    """The outcome of `medcontract validate`."""

    ok: bool
    """No errors in any file."""
    files: Many[FileModel]
    """In the order in which they were given."""


class Listed(Strictest):
    """One contract."""

    id: Str
    """`<track>/<name>`."""
    version: Position
    """The major version."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: Many[Str]
    """The sorts of files that it may stand in."""
    title: Str
    """What it is, in a few words."""
    source: Str | None
    """The document that it comes from."""


class Listing(Document):
    """The outcome of `medcontract schema list`."""

    contracts: Many[Listed]
    """Sorted by id."""


class Explained(Strictest):
    """One code of the catalogue."""

    code: Code
    """The code; it never gets another meaning."""
    title: Str
    """What it is, in a few words."""
    meaning: Str
    """What it means, in full."""
    mistake: Str
    """An example of it."""
    mending: Str
    """The example, mended."""


class Explanation(Document):
    """The outcome of `medcontract explain`."""

    codes: Many[Explained]
    """Sorted by code."""


class IndexEntry(Strictest):
    """The published schemas of one contract."""

    id: Str
    """The contract's id."""
    version: Position
    """The contract's major version."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: Many[Str]
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


class Index(Document):
    """The `index.json` that `medcontract schema export` writes beside the schemas."""

    medcontract_version: Str
    """The medcontract that wrote it."""
    draft: Literal["2020-12", "draft-07"]
    """The draft of JSON Schema that all of them are in."""
    schemas: Many[IndexEntry]
    """Sorted by id."""


class SchemaChange(Strictest):
    """One difference between two schemas."""

    path: Text
    """The file, or the contract's id, as it was given; below the folder when folders are compared."""
    pointer: Text
    """RFC 6901, into the new schema; into the old one for what is gone."""
    message: Str
    """What changed."""
    breaks: Literal["none", "readers", "writers", "both"]
    """Writers: what was valid may no longer be. Readers: what was not valid may be now."""


class SchemaDiff(Document):
    """The outcome of `medcontract schema diff`."""

    breaking: bool
    """Some change breaks readers or writers."""
    changes: Many[SchemaChange]
    """By file, in the order of the schema."""


VALIDATION = Contract(id="medcontract/validation", model=Validation, title="Outcome of a validation", output=True)
LISTING = Contract(id="medcontract/listing", model=Listing, title="List of contracts", output=True)
EXPLANATION = Contract(id="medcontract/explanation", model=Explanation, title="Problem codes explained", output=True)
INDEX = Contract(id="medcontract/index", model=Index, title="Index of published schemas", output=True)
SCHEMA_DIFF = Contract(id="medcontract/schema-diff", model=SchemaDiff, title="Changes between schemas", output=True)

CONTRACTS = (EXPLANATION, INDEX, LISTING, SCHEMA_DIFF, VALIDATION)
