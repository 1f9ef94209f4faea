"""What users probably meant: hints about files that are not as their contract requires.

    json_arrangements   records in a `.json` file that are not a list under its key
    table_arrangements  tables that are not one row per record
    csv_formats         the text of a `.csv` file: another delimiter, lines above the header, no header
    lines               `.jsonl` files that are not one record per line
    recognized          files whose keys are not exactly those of the contract that they were recognized as
    keys                missing and unknown keys of a record, and columns of a table
    values              wrong values

Nothing here is needed for a file without problems: modules are imported when something is wrong.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from medcontract.containers import CSV, FRAME, JSON, JSONL, PARQUET, Container

if TYPE_CHECKING:
    from medcontract.contracts.recognition import Recognized
    from medcontract.errors import NotRecognized
    from medcontract.problems import Finding
    from medcontract.reading.source import Source

_MODULES = {
    JSON: "json_arrangements", JSONL: "lines", CSV: "csv_formats", PARQUET: "table_arrangements",
    FRAME: "table_arrangements",
}  # fmt: skip


def explain_file(source: Source, container: Container, found: Recognized | NotRecognized) -> Finding | None:
    """Say what a file that matches no contract exactly probably is; None if that is not clear."""
    if container not in _MODULES:
        return None
    finding: Finding | None = import_module(f"medcontract.hints.{_MODULES[container]}").explain(source, found)
    return finding
