"""Recognizes tables that are not arranged as one row per record, or whose columns for a list have other names."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from medcontract.contracts.recognition import eligible, half_present
from medcontract.contracts.registry import CompiledContract, compiled
from medcontract.problems import Finding, is_plain
from medcontract.reading.source import Source
from medcontract.validation.csv_diagnosis import read_start

_MOST_COLUMNS = 20
_FEWEST_NAMES = 2


class _Table(NamedTuple):
    """The start of a table."""

    header: Sequence[str]
    rows: list[list[str]]

    def cells(self, name: str) -> list[str]:
        number = self.header.index(name)
        return [row[number].strip() for row in self.rows if number < len(row)]


def matches_exactly(header: Sequence[str], contract: CompiledContract) -> bool:
    """Whether the contract knows all columns, and none is missing."""
    names = frozenset(header)
    required = any(form <= names for form in contract.column_forms)
    return required and names <= {column.name for column in contract.columns}


def other_arrangement(source: Source, header: Sequence[str], renamed: Collection[str] = ()) -> Finding | None:
    """Why a table whose columns match no contract exactly cannot be read as it is, if that is clear.

    `renamed`: columns that count as those of the recognized contract under another name.
    """
    contracts = [contract for contract in compiled().values() if contract.columns and not contract.open]
    known = {column.name for contract in compiled().values() for column in contract.columns}
    unknown = [name for name in header[:_MOST_COLUMNS] if name not in known]
    table = _Table(header, _rows(source))
    found = next((doubt for contract in contracts for doubt in _arrangements(contract, table, unknown)), None)
    unnamed = [name for name in unknown if name not in renamed]
    return found or next((doubt for contract in contracts for doubt in _other_names(contract, header, unnamed)), None)


def _rows(source: Source) -> list[list[str]]:
    try:
        return list(csv.reader(read_start(source).lines))[1:]
    except csv.Error:  # a very long cell
        return []


def _arrangements(contract: CompiledContract, table: _Table, unknown: Sequence[str]) -> Iterator[Finding]:
    if table.header and _are_names(table.cells(table.header[0]), contract, table):
        yield Finding(
            "MC005",
            f"the cells of the first column are column names of {contract.id}",
            "the table is transposed: write one row per record (in pandas: pd.read_csv(old, index_col=0, dtype=str)"
            f".T.rename_axis('{_shown(table.header[0])}').to_csv(new))",
        )
    keys = [name for name in table.header if name not in unknown]
    repeated = any(2 * len(set(cells)) <= len(cells) for cells in map(table.cells, keys[:1]))
    for name in unknown if repeated and len(unknown) > 1 else ():
        if _are_names(table.cells(name), contract, table):
            values = next(other for other in reversed(unknown) if other != name)
            pivot = f"df.pivot(index='{keys[0]}', columns='{_shown(name)}', values='{_shown(values)}')"
            yield Finding(
                "MC005",
                f"the cells of column '{_shown(name)}' are column names of {contract.id}",
                f"write one row per record, with a column for each of them (in pandas: {pivot}.to_csv(new))",
            )


def _are_names(cells: Sequence[str], contract: CompiledContract, table: _Table) -> bool:
    """Whether the cells include the names of most columns of a contract that the table lacks."""
    values = frozenset(cells)
    for form in eligible(values, contract.column_forms):
        lacking = form - frozenset(table.header)
        if len(lacking & values) >= _FEWEST_NAMES and half_present(values, lacking):
            return True
    return False


def _other_names(contract: CompiledContract, header: Sequence[str], unknown: Sequence[str]) -> Iterator[Finding]:
    """As many unknown columns as a list field has, and all other columns of the contract: `class_0` to `class_9`."""
    names = frozenset(header)
    for group in contract.spread.values():
        others = any(form - set(group) <= names for form in eligible(names, contract.column_forms))
        if others and names.isdisjoint(group) and len(unknown) == len(group):
            yield Finding(
                "MC005",
                f"{len(group)} columns have other names than those of {contract.id}",
                f"name each of them after its class: {', '.join(group)}",
            )


def _shown(name: str) -> str:
    return name if is_plain(name) else "…"
