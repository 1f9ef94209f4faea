"""What users probably meant: hints about files that are not as their contract requires.

    json_arrangements   records in a `.json` file that are not a list under its key
    table_arrangements  tables that are not one row per record
    csv_formats         the text of a `.csv` file: another delimiter, lines above the header, no header
    foreign_files       files of other programs, printed tables, logs
    lines               `.jsonl` files that are not one record per line
    values              wrong values of a record
    numbers             wrong numbers
    keys                wrong keys of a record, and wrong columns of a table

Nothing here is needed for a file without problems: modules are imported when something is wrong.
"""

from __future__ import annotations

from importlib import import_module

from medcontract.containers import CSV, FRAME, JSON, JSONL, PARQUET, Container
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract, known_keys
from medcontract.contracts.suggestions import renames_text
from medcontract.errors import NotRecognized
from medcontract.problems import Finding, is_plain, plural, shorten
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


_MOST_NAMED = 8


def extra_keys(recognized: Recognized) -> Finding:
    """Return the warning about keys that the contract allows, but does not know: the file may be something else."""
    what = "column" if recognized.by == "its columns" else "key"
    plain = [name for name in recognized.extra if is_plain(name)]
    hidden = [name for name in recognized.extra if not is_plain(name)]
    shown, left = plain[:_MOST_NAMED], len(recognized.extra) - len(plain[:_MOST_NAMED])
    names = f": {', '.join(shown)}" if shown else ""
    more = f" and {left:,} more" if shown and left else ""
    contract_id = recognized.contract_id
    renames = {name: field for name, field in recognized.renames.items() if name in recognized.extra}
    rename = f"rename {renames_text(renames)}, or " if renames else ""
    return Finding(
        "MC510",
        f"{plural(len(recognized.extra), what)} not in {contract_id}{names}{more}",
        f"{rename}check that the file is meant as {contract_id}; to accept it without this warning: {contract_id}=PATH",
        severity="warning",
        ref=recognized.ref,
        value=shorten(", ".join(hidden)) if hidden else None,
    )


def misnamed(recognized: Recognized, contract: CompiledContract) -> Finding | None:
    """Return the warning about a truth, or a list of cases, whose name says that it has predictions."""
    from medcontract.contracts.near_recognition import submission_instead_of, what_it_needs

    wanted = submission_instead_of(contract)
    if wanted is None:
        return None
    what = "columns" if recognized.by == "its columns" else "keys"
    needs = what_it_needs(wanted, what == "columns")
    return Finding(
        "MC513",
        f"the name says that these are predictions, but the {what} belong to {contract.id}",
        f"for {wanted.id}, write {needs}; if the name is wrong, specify {contract.id}=PATH",
        severity="warning",
        ref=recognized.ref,
    )


def how_and_renames(recognized: Recognized, contract: CompiledContract) -> str:
    """Say how a contract was recognized, and which keys to rename.

    A key of an object in the record is not another name of that object: it belongs into it.
    """
    inside = {field: known_keys(contract.record_schema, (field,)) if contract.list_key else []
              for field in recognized.renames.values()}  # fmt: skip
    renames = {name: to for name, to in recognized.renames.items() if name not in inside[to]}
    return recognized.how + (f"; rename {renames_text(renames, 3)}" if renames else "")
