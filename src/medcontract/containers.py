"""The containers: the file formats in which the files of a contract can be stored.

This is the only list of them. It consists of plain values, so that any layer can use it; the reader of a container
has the code, and is imported when a file needs it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Container(NamedTuple):
    """A file format."""

    name: str
    """As in `Contract.containers`, messages and the published index."""
    endings: tuple[str, ...]
    """The file extensions, in lower case and without `.gz`."""
    collections: str
    """The reader of a collection: its module in `medcontract.validation`, and its class."""
    documents: str = ""
    """The reader of a document, likewise; empty if the container cannot store documents."""
    is_table: bool = False
    """Whether it stores rows and columns: only contracts with flat records have a table form."""
    magic: bytes = b""
    """The first four bytes of every file, if the container is binary. They count more than the extension."""
    split: Literal["records", "lines", "rows", "row groups"] | None = None
    """Where worker processes may split it: between records of a list in JSON, at line ends, at line ends with the
    first line repeated in each part, or between row groups."""


JSON = Container("json", (".json",), "json_objects:JsonReader", "json_objects:DocumentReader", split="records")
JSONL = Container("jsonl", (".jsonl", ".ndjson"), "json_lines:JsonLinesReader", split="lines")
CSV = Container("csv", (".csv",), "tables:CsvReader", is_table=True, split="rows")
PARQUET = Container("parquet", (".parquet",), "frames:ParquetReader", is_table=True, magic=b"PAR1", split="row groups")
FRAME = Container("frame", (), "frames:FrameReader", is_table=True)
"""A pandas DataFrame: not a file format, so it is not listed, but it can store every contract with a table form."""

CONTAINERS = (JSON, JSONL, CSV, PARQUET)
"""In the order in which they are listed for users."""
BY_ENDING = {ending: container for container in CONTAINERS for ending in container.endings}
BY_MAGIC = {container.magic: container for container in CONTAINERS if container.magic}


def names_for(is_document: bool, is_flat: bool) -> tuple[str, ...]:
    """Return the names of the containers of a document, or of a collection with flat records or with others."""
    return tuple(each.name for each in CONTAINERS if (each.documents if is_document else is_flat or not each.is_table))
