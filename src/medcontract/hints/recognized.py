"""What to say about a file whose contract is recognized, but not by an exact match: renames and extra keys."""

from __future__ import annotations

from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.schema_nodes import known_keys
from medcontract.contracts.suggestions import renames_text
from medcontract.problems import Finding, is_plain, plural, shorten

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


def how_and_renames(recognized: Recognized, contract: CompiledContract) -> str:
    """Say how a contract was recognized, and which keys to rename.

    A key of an object in the record is not another name of that object: it belongs into it.
    """
    inside = {field: known_keys(contract.record_schema, (field,)) if contract.list_key else []
              for field in recognized.renames.values()}  # fmt: skip
    renames = {name: to for name, to in recognized.renames.items() if name not in inside[to]}
    return recognized.how + (f"; rename {renames_text(renames, 3)}" if renames else "")
