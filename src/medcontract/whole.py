"""A valid file as one value. For those who want the data itself; everything else streams."""

from __future__ import annotations

from typing import Any

import msgspec

from medcontract.contracts import keys
from medcontract.contracts.contract import Contract
from medcontract.judge import container_of
from medcontract.reading import lines
from medcontract.reading.source import Source
from medcontract.reading.table import CsvFile


def read_whole(source: Source, contract: Contract[Any]) -> Any:
    """The model of a `.json`; the tuple of records of a container without header."""
    container = container_of(source)
    if container == "json":
        return contract.model.model_validate(msgspec.json.decode(source.read(source.start, source.size)))
    adapter = contract.record_adapter()
    if container == "jsonl":
        raws = (cut.raw for cut in lines.records(source, lambda raw: None))
    else:
        raws = (row.raw for row in CsvFile(source).rows(keys.table_columns(contract), keys.is_open(contract)))
    return tuple(adapter.validate_python(msgspec.json.decode(raw)) for raw in raws)
