"""A valid file as one value. For those who want the data itself; everything else streams."""

from __future__ import annotations

from typing import Any

import msgspec

from medcontract.definitions.registry import Compiled
from medcontract.judging.start import container_for
from medcontract.reading import lines
from medcontract.reading.source import Source
from medcontract.reading.table import CsvFile


def read_whole(source: Source, contract: Compiled) -> Any:
    """The model of a `.json`; the tuple of records of a container without header."""
    container = container_for(source, contract)
    if container == "json":
        return contract.model.model.model_validate(msgspec.json.decode(source.read(source.start, -1)))
    adapter = contract.model.record_adapter()
    if container == "parquet":
        from medcontract.tables import parquet_records

        raws = parquet_records(source, contract)
    elif container == "jsonl":
        raws = (raw for raw, _, _ in lines.records(source, lambda raw: None))
    else:
        raws = (row.raw for row in CsvFile(source).rows(contract.columns, contract.open, lambda raw: None))
    return tuple(adapter.validate_python(msgspec.json.decode(raw)) for raw in raws)
