"""Reads a table of unknown structure, in any container: like a collection whose records may have any fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from pydantic import create_model

from medcontract.containers import CSV
from medcontract.contracts.base import Document, ListOf, OpenModel
from medcontract.contracts.contract import Contract, Validated
from medcontract.contracts.fast_decoder import RowDecoders
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import CallError, InvalidData
from medcontract.plugins.registration import compiled_form
from medcontract.problems import Finding, Ref
from medcontract.reading.source import Source, Unreadable
from medcontract.validation.dispatch import container_for, validator_for
from medcontract.validation.report import ProblemCollector, make_report
from medcontract.validation.tables import header_ref

LIST_KEY = "truth"
_MOST_CELLS = 20_000_000
_MOST_COLUMNS = 2_000
"""Reading stops beyond it; a challenge allows fewer."""


class TruthTable(NamedTuple):
    """The columns of a truth table, as lists of equal length. Absent and empty cells are None."""

    columns: dict[str, list[Any]]
    rows: int
    is_text: bool
    """All cells are strings, as in a CSV."""
    header: Ref | None = None
    """The header row, if there is one."""


class _AnyRecord(OpenModel):
    """A record with any fields."""


class _TooLarge(Exception):
    """The table is too large to be read: message and hint."""


class _Columns:
    """A sink for the records of the table."""

    def __init__(self, is_text: bool) -> None:
        self._is_text = is_text
        self.columns: dict[str, list[Any]] = {}
        self.rows = 0

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        for record in records.value:
            cells = record if isinstance(record, dict) else record.model_extra
            for name, value in cells.items():
                if name not in self.columns:
                    self.columns[name] = [None] * self.rows
                self.columns[name].append(None if self._is_text and not value else value)
            self.rows += 1
            if len(cells) < len(self.columns):
                for values in self.columns.values():
                    values.extend([None] * (self.rows - len(values)))
        if len(self.columns) > _MOST_COLUMNS:
            raise _TooLarge(f"the table has more than {_MOST_COLUMNS:,} columns", "keep the key and labels")
        if self.rows * len(self.columns) > _MOST_CELLS:
            hint = "pass the first rows, or only the key and the labels"
            raise _TooLarge(f"the table has more than {_MOST_CELLS:,} cells", hint)
        return ()

    def reject(self, parsed: object) -> Sequence[Finding]:
        """Nothing to do: a table with errors is not used."""
        return ()

    def end(self, complete: bool) -> None:
        """Like `reject`."""


_decode = msgspec.json.Decoder().decode


def _object(raw: bytes) -> dict[str, Any] | None:
    """Decode a record quickly; None if in doubt."""
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@lru_cache(maxsize=4)
def _any_collection(list_key: str) -> CompiledContract:
    fields: dict[str, Any] = {list_key: (ListOf[_AnyRecord], ...)}
    model = create_model("Table", __base__=Document, **fields)
    return compiled_form(
        Contract(
            id=f"table/{list_key}", version=1, title="A table", model=model, record=_AnyRecord, list_key=list_key,
            flat=True,
        )
    )  # fmt: skip


def load_table(source: Source, collector: ProblemCollector, list_key: str = LIST_KEY) -> TruthTable:
    """Return the table in a source. Raises `InvalidData`, and `CallError` if there is no file, or without pyarrow."""
    contract = _any_collection(list_key)
    try:
        source.prepare()
        is_text = container_for(source, contract) is CSV
        sink = _Columns(is_text)
        validator = validator_for(source, contract, collector, sink=sink)
        validator.decoders = RowDecoders(_object, lambda lines: None)
        validator.run()
    except Unreadable as unreadable:
        if unreadable.usage_error:
            raise CallError(f"{source.name}: {unreadable.finding.message}", unreadable.finding.hint) from None
        collector.add(unreadable.finding)
    except _TooLarge as large:
        collector.add(Finding("MC108", *large.args))
    if collector.errors:
        raise InvalidData(make_report(source, None, None, collector))
    return TruthTable(sink.columns, sink.rows, is_text, header_ref(source) if is_text else None)
