"""Recognizes tables that are not arranged as one row per record, or whose columns for a list have other names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from medcontract.contracts.recognition import Recognized, eligible, half_present
from medcontract.contracts.registry import CompiledContract, compiled
from medcontract.errors import NotRecognized
from medcontract.problems import Finding, Ref, is_plain
from medcontract.reading import parquet
from medcontract.reading.cells import FrameSource
from medcontract.reading.source import Source

_MOST_COLUMNS = 20
_MOST_ROWS = 50
_FEWEST_NAMES = 2

Rows = list[list[str]]


class Wording(NamedTuple):
    """How a container is described in messages and hints."""

    cells: str
    names: str
    what: str
    """What has a name, in the plural."""
    pivoted: str
    """What follows a pivot in pandas."""
    is_text: bool = False


IN_CSV = Wording("the cells of column", "column names", "columns", ".to_csv(new)", is_text=True)
IN_TABLE = Wording("the cells of column", "column names", "columns", ".reset_index()")
IN_RECORDS = Wording("the values of", "keys", "keys", ".reset_index()")


class _Table(NamedTuple):
    """The start of a table."""

    header: Sequence[str]
    rows: Rows
    wording: Wording

    def cells(self, name: str) -> list[str]:
        number = self.header.index(name)
        return [row[number].strip() for row in self.rows if number < len(row)]


def explain(source: Source, found: Recognized | NotRecognized) -> Finding | None:
    """Say how a DataFrame or a Parquet file that matches no contract exactly is arranged, if that is clear."""
    renamed = found.renames if isinstance(found, Recognized) else ()
    if isinstance(source, FrameSource):
        finding = other_arrangement(source.columns, lambda: first_rows(source.rows()), IN_TABLE, renamed)
    else:
        columns = parquet.layout(source).columns
        finding = other_arrangement(columns, lambda: first_rows(parquet.rows(source)), IN_TABLE, renamed)
    return finding and finding._replace(ref=Ref(-1, 0, None, (), 0))


def records_match_exactly(keys: Iterable[str], contract: CompiledContract) -> bool:
    """Return whether the contract knows all keys of a record, and none is missing."""
    names = frozenset(keys)
    return any(form <= names for form in contract.forms) and names <= contract.record


def other_arrangement(
    header: Sequence[str], rows: Callable[[], Rows], wording: Wording, renamed: Collection[str] = ()
) -> Finding | None:
    """Explain why a table whose columns match no contract exactly cannot be read as it is, if that is clear.

    `rows`: the first rows. `renamed`: columns that count as columns of the recognized contract under another name.
    """
    contracts = [contract for contract in compiled().values() if contract.columns and not contract.open]
    known = {column.name for contract in compiled().values() for column in contract.columns}
    unknown = [name for name in header[:_MOST_COLUMNS] if name not in known]
    table = _Table(header, rows(), wording)
    found = next((doubt for contract in contracts for doubt in _arrangements(contract, table, unknown)), None)
    unnamed = [name for name in unknown if name not in renamed]
    if found:
        return found
    return next((doubt for contract in contracts for doubt in _other_names(contract, table, unnamed)), None)


def first_rows(rows: Iterable[Sequence[Any] | None]) -> Rows:
    """Return the first rows of a table as text."""
    return [[_text(cell) for cell in row] for row in islice(rows, _MOST_ROWS) if row is not None]


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else str(cell) if isinstance(cell, int | float) else ""


def in_records(records: Sequence[Any], renamed: Collection[str] = ()) -> Finding | None:
    """Return the finding about the first records of a JSON file that are rows of a table in another arrangement."""
    found = [record for record in records[:_MOST_ROWS] if isinstance(record, Mapping)]
    if not found or any(isinstance(value, dict | list) for record in found for value in record.values()):
        return None
    header = list(found[0])
    return other_arrangement(
        header, lambda: first_rows([record.get(name) for name in header] for record in found), IN_RECORDS, renamed
    )


def _arrangements(contract: CompiledContract, table: _Table, unknown: Sequence[str]) -> Iterator[Finding]:
    if table.header and _are_names(table.cells(table.header[0]), contract, table):
        yield Finding(
            "MC005",
            f"{_first_cells(table)} are {table.wording.names} of {contract.id}",
            f"the table is transposed: write one row per record (in pandas: {_transposed(table)})",
        )
    keys = [name for name in table.header if name not in unknown]
    repeated = any(2 * len(set(cells)) <= len(cells) for cells in map(table.cells, keys[:1]))
    for name in unknown if len(unknown) > 1 else ():
        cells = table.cells(name)
        if (repeated and _are_names(cells, contract, table)) or _are_all_names(cells, contract, table):
            values = next(other for other in reversed(unknown) if other != name)
            pivot = f"df.pivot(index='{keys[0]}', columns='{_shown(name)}', values='{_shown(values)}')"
            yield Finding(
                "MC005",
                f"{table.wording.cells} '{_shown(name)}' are {table.wording.names} of {contract.id}",
                f"write one row per record, with a column for each of them (in pandas: {pivot}{table.wording.pivoted})",
            )


def _first_cells(table: _Table) -> str:
    is_record = table.wording is IN_RECORDS
    return f"{table.wording.cells} '{_shown(table.header[0])}'" if is_record else "the cells of the first column"


def _transposed(table: _Table) -> str:
    first = _shown(table.header[0])
    if table.wording.is_text:
        return f"pd.read_csv(old, index_col=0, dtype=str).T.rename_axis('{first}').to_csv(new)"
    return f"df.set_index('{first}').T"


def _are_names(cells: Sequence[str], contract: CompiledContract, table: _Table) -> bool:
    """Return whether the cells include the names of most columns of a contract that the table lacks."""
    values = frozenset(cells)
    for form in eligible(values, contract.column_forms):
        lacking = form - frozenset(table.header)
        if len(lacking & values) >= _FEWEST_NAMES and half_present(values, lacking):
            return True
    return False


def _are_all_names(cells: Sequence[str], contract: CompiledContract, table: _Table) -> bool:
    """Return whether all cells, of which many are equal, are names of columns of a contract that the table lacks."""
    values = frozenset(cells)
    return len(cells) > _FEWEST_CELLS * len(values) and any(
        values <= form - frozenset(table.header) for form in contract.column_forms
    )


_FEWEST_CELLS = 8
"""How often each name occurs at least, on average."""


def _other_names(contract: CompiledContract, table: _Table, unknown: Sequence[str]) -> Iterator[Finding]:
    """As many unknown columns as a list field has, and all other columns of the contract: `class_0` to `class_9`."""
    names = frozenset(table.header)
    for field, group in contract.spread.items():
        others = any(form - set(group) <= names for form in eligible(names, contract.column_forms))
        if others and names.isdisjoint(group) and len(unknown) == len(group):
            how = f"write a list under '{field}', in this order" if table.wording is IN_RECORDS else _NAME_THEM
            yield Finding(
                "MC005",
                f"{len(group)} {table.wording.what} have other names than in {contract.id}",
                f"{how}: {', '.join(group)}",
            )


_NAME_THEM = "name each of them after its class"


def _shown(name: str) -> str:
    return name if is_plain(name) else "…"
