"""Tables in memory, and files and tables that are given by the name of their contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from medcontract.containers import FRAME
from medcontract.contracts import registry
from medcontract.contracts.recognition import Recognized, of_columns
from medcontract.errors import CallError
from medcontract.extras import TableLike
from medcontract.reading.source import Source


def given_tables(tables: Iterable[TableLike], named: Mapping[str, TableLike]) -> list[tuple[Source, str | None]]:
    """Return the tables of a call, each with its contract.

    `named`: by the name of their contract, such as `truth`, or by its id. The contract of the others is recognized from
    their columns. Raises `CallError` for a table of another contract than its name says.
    """
    found = [table_source(table) for table in tables]
    for name, table in named.items():
        source, recognized = table_source(table, name)
        found.append((source, _contract_named(name, recognized)))
        require_table_form(source, found[-1][1])
    return found


def table_source(table: TableLike, name: str | None = None) -> tuple[Source, str | None]:
    """Return a table with its name (or the contract's), and the contract that is recognized from its columns."""
    from medcontract.reading.cells import FrameSource
    from medcontract.validation.frames import frame_source

    source = frame_source(table, name=name)
    if not isinstance(source, FrameSource):
        return source, None
    found = of_columns(frozenset(source.columns))
    contract_id = found.contract_id if isinstance(found, Recognized) else None
    source.name = name or (contract_id or "/<frame>").partition("/")[2]
    return source, contract_id


def require_table_form(source: Source, contract_id: str | None) -> None:
    """Raise `CallError` for a table in memory of a contract that is not flat."""
    if source.container is FRAME and contract_id is not None and not registry.find(contract_id).columns:
        flat = ", ".join(sorted(each.id for each in registry.compiled().values() if each.columns))
        raise CallError(f"{contract_id} has no table form", f"use one of: {flat}")


def contract_names() -> list[str]:
    """Return the names of contracts as arguments: `lab_labels` for extraction/lab-labels."""
    return [each.id.partition("/")[2].replace("-", "_") for track in registry.tracks().values() for each in track]


def contracts_named(name: str) -> list[str]:
    """Return the contracts that an argument can mean: `lab_labels` is the name of extraction/lab-labels."""
    name = name.replace("_", "-")
    known = (each.id for track in registry.tracks().values() for each in track)
    return [each for each in known if name in (each, each.partition("/")[2])]


def _contract_named(name: str, recognized: str | None) -> str | None:
    """Return the contract of a table that is given by name; None if its columns match no contract."""
    candidates = contracts_named(name)
    flat = [each for each in candidates if registry.find(each).columns]
    if len(flat) < 2:
        return (flat or candidates)[0]
    if recognized is None or recognized in flat:
        return recognized
    raise CallError(f"'{name}' has the columns of {recognized}", f"expected a table of {' or '.join(flat)}")
