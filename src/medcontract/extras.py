"""Packages that only an extra installs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from medcontract.errors import CallError

if TYPE_CHECKING:
    from pandas import DataFrame
    from pandera.pandas import DataFrameSchema
else:
    DataFrame = DataFrameSchema = Any

__all__ = ["DataFrame", "DataFrameSchema", "require"]


def require(package: str, extra: str) -> None:
    """Raises `CallError`, with the command that installs the extra, if a package cannot be imported."""
    try:
        import_module(package)
    except ImportError as error:
        raise CallError(f"{package} is not installed", f"pip install 'medcontract[{extra}]'") from error
