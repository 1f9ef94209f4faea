"""Types shared by several layers: JSON Schemas, the columns of a table, the keys of a file."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from medcontract.problems import Path, Ref

JsonObject = dict[str, Any]
"""A parsed JSON object of any kind."""
Schema = JsonObject
"""A JSON Schema, or a schema inside it, other than `true` and `false`."""
AnySchema = Schema | bool
"""A JSON Schema of any kind."""
BOOLEANS = {"true": "true", "false": "false", "1": "true", "0": "false"}
"""The texts of a table that are booleans, in lower case, as JSON."""
CellKind = Literal["text", "number", "boolean"]


class Column(NamedTuple):
    """One column of a contract's table."""

    name: str
    kind: CellKind
    nullable: bool
    """An empty cell is null, not the empty string."""
    path: Path
    """The path of the cell in the record: ("image_id",) or ("probabilities", 3)."""
    separator: str | None = None
    """What separates the items of a list that is one cell; None if it is not a list."""
    filled: bool = False
    """An empty cell of a CSV is the empty text or list, unless the record has an `error`."""


class Outline(NamedTuple):
    """The keys of a `.json` file, enough to recognize its contract."""

    keys: frozenset[str]
    items: dict[str, frozenset[str]]
    """For each list, the keys of its first object."""
    schema: str | None
    outer: Literal["object", "list", "other"]
    first: dict[str, Ref] = {}  # noqa: RUF012  # never changed
    """For each list, the position of its first object."""
    complete: bool = True
    """Whether the file was read to its end, or until its keys were enough; not if its syntax is broken before."""
