"""Packages that only an extra installs, and the tables in memory that they work with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from medcontract.errors import CallError

if TYPE_CHECKING:
    from pandas import DataFrame
    from pandera.pandas import DataFrameSchema
else:
    DataFrame = DataFrameSchema = Any

__all__ = [
    "TABLES",
    "ArrowTable",
    "DataFrame",
    "DataFrameSchema",
    "TableLike",
    "is_arrow",
    "is_frame",
    "is_rows",
    "is_table",
    "require",
]


class ArrowTable(Protocol):
    """A table with the Arrow PyCapsule interface, such as one of polars, pyarrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


TableLike: TypeAlias = DataFrame | ArrowTable | Sequence[Mapping[str, Any]]
"""A table in memory: a pandas DataFrame, an Arrow table, or a list of rows, which are dicts."""


ARROW = ("pyarrow", "parquet")
"""The package that reads Arrow tables, and its extra."""


def require(package: str, extra: str) -> None:
    """Raise `CallError`, with the command that installs the extra, if a package cannot be imported."""
    try:
        import_module(package)
    except ImportError as error:
        raise CallError(f"{package} is not installed", f"pip install 'medcontract[{extra}]'") from error


TABLES = "pass a path, bytes, a pandas DataFrame, an Arrow table (polars, pyarrow, DuckDB), or a list of dicts"


def is_table(value: object) -> TypeGuard[TableLike]:
    """Check whether a value can only be meant as a table, without importing anything."""
    if isinstance(value, str | PathLike):  # almost always
        return False
    return is_frame(value) or is_arrow(value) or is_rows(value)


def is_frame(value: object) -> bool:
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_arrow(value: object) -> bool:
    return hasattr(value, "__arrow_c_stream__") and not is_frame(value)


def is_rows(value: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) for row in value)
