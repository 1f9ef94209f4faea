"""Loads a valid file as one value, for callers that want the data; everything else streams."""

from __future__ import annotations

from typing import Any

import msgspec

from medcontract.contracts.registry import CompiledContract
from medcontract.reading import jsonl_file
from medcontract.reading.csv_file import CsvFile
from medcontract.reading.source import Source
from medcontract.validation.dispatch import container_for


def read_whole(source: Source, contract: CompiledContract) -> Any:
    """The model of a `.json`; the tuple of records of a container without header."""
    container = container_for(source, contract)
    if container == "json":
        return contract.definition.model.model_validate(msgspec.json.decode(source.read(source.start, -1)))
    adapter = contract.definition.record_adapter()
    if container == "parquet":
        from medcontract.validation.frames import parquet_records

        raws = parquet_records(source, contract)
    elif container == "jsonl":
        raws = (raw for raw, _, _ in jsonl_file.records(source, lambda raw: None))
    else:
        raws = (row.raw for row in CsvFile(source).rows(contract.columns, contract.open, lambda raw: None))
    return tuple(adapter.validate_python(msgspec.json.decode(raw)) for raw in raws)
