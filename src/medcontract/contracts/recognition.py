"""Recognizes the contract of a file from its keys, never from its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from medcontract.contracts.registry import CompiledContract, candidates, scope
from medcontract.contracts.suggestions import ALIKE, nearest
from medcontract.errors import NotRecognised
from medcontract.types import Outline

Costs = list[tuple[int, str]]
"""The distance of each candidate (0: an exact match) and its id."""

_URN = re.compile(
    r"(?:urn:medcontract:|.*/)?([a-z0-9-]+)[:/]([a-z0-9-]+)[:/]v([0-9]{1,9})(?:[.:]draft-07)?(?:\.json)?\Z"
)


def by_schema(schema: str | None) -> str | None:
    """The contract that a `$schema` refers to, if it is a known one."""
    match = _URN.match(schema) if schema else None
    if match is None:
        return None
    track, name, version = match.groups()
    found = candidates().get(f"{track}/{name}")
    if found is None or (version != "1" and (found.contract is None or version != str(found.contract.version))):
        return None
    return found.id


def of_outline(outline: Outline) -> str:
    """The contract of a `.json` file. Raises `NotRecognised`."""
    named = by_schema(outline.schema)
    if named:
        return named
    if outline.outer == "list":
        return _choose(lambda: _record_costs(outline.items[""]), "its records", outline.items[""])
    inside = frozenset(key for keys in outline.items.values() for key in keys)
    return _choose(lambda: _file_costs(outline), "its keys", outline.keys | inside)


def certain(outline: Outline) -> bool:
    """Whether the keys read so far are unambiguous: exactly one contract matches them exactly."""
    return by_schema(outline.schema) is not None or _perfect(sorted(_file_costs(outline)))


def _perfect(costs: Costs) -> bool:
    return bool(costs) and costs[0][0] == 0 and (len(costs) == 1 or costs[1][0] > 0)


def of_record(keys: frozenset[str]) -> str:
    """The contract of a line of JSONL. Raises `NotRecognised`."""
    return _choose(lambda: _record_costs(keys), "the keys of its first record", keys)


def of_columns(columns: frozenset[str]) -> str:
    """The contract of a table. Raises `NotRecognised`."""
    return _choose(lambda: _column_costs(columns), "its columns", columns)


def _file_costs(outline: Outline) -> Costs:
    costs: Costs = []
    keys = outline.keys - {"$schema"}
    for entry in candidates().values():
        if entry.list_key in keys or _half(keys, entry.header_required) or _mostly_known(keys, entry):
            cost = _cost(keys, entry.header_required, entry.header)
            # A document without required keys: a contract that requires these keys is closer.
            cost += not entry.header_required and not entry.list_key
            if entry.list_key and entry.list_key not in keys:
                cost += min(map(len, entry.forms))  # no list: the required keys of its records are missing too
            elif first := outline.items.get(entry.list_key or ""):
                cost += min(_cost(first, form, entry.record) for form in _eligible(first, entry.forms))
            costs.append((cost, entry.id))
    return costs


def _column_costs(columns: frozenset[str]) -> Costs:
    return [
        (cost, entry.id)
        for entry in candidates().values()
        if (cost := _form_cost(columns, entry.column_forms, frozenset(column.name for column in entry.columns)))
        is not None
    ]


def _record_costs(keys: frozenset[str]) -> Costs:
    return [
        (cost, entry.id)
        for entry in candidates().values()
        if (cost := _form_cost(keys, entry.forms, entry.record)) is not None
    ]


def _eligible(keys: frozenset[str], forms: tuple[frozenset[str], ...]) -> list[frozenset[str]]:
    """The variants that a record with these keys may be: a failed one only if it has an `error`."""
    return [form for form in forms if "error" not in form or "error" in keys]


def _form_cost(keys: frozenset[str], forms: tuple[frozenset[str], ...], known: frozenset[str]) -> int | None:
    """The cost of the best variant, or None if the record has less than half of the keys of each."""
    return min((_cost(keys, form, known) for form in _eligible(keys, forms) if _half(keys, form)), default=None)


def _half(keys: frozenset[str], required: frozenset[str]) -> bool:
    return bool(required) and 2 * len(keys & required) >= len(required)


def _mostly_known(keys: frozenset[str], entry: CompiledContract) -> bool:
    """Whether a file may be a document without required keys: most of its keys are known to that contract."""
    requires_nothing = entry.kind == "document" and not entry.header_required
    return requires_nothing and 2 * len(keys & entry.header) > len(keys)


def _cost(keys: frozenset[str], required: frozenset[str], known: frozenset[str]) -> int:
    """Missing plus unknown keys."""
    return len(required - keys) + len(keys - known)


def _load_installed() -> bool:
    if scope() is not None:
        return False
    from medcontract.contracts import plugins  # not needed to recognize most files

    return plugins.load_installed()


def _choose(rate: Callable[[], Costs], seen: str, keys: frozenset[str]) -> str:
    """The contract with the lowest cost. Installed plugins are loaded only if no contract matches exactly."""
    costs = sorted(rate())
    if not _perfect(costs) and _load_installed():
        costs = sorted(rate())
    if not costs:
        near = _nearest(keys)
        hint = f"closest: {_join(near)}; try --contract {near[0]}" if near else "specify --contract ID"
        raise NotRecognised(f"no contract matches {seen}", hint + "; see: medcontract schema list")
    best = [contract_id for cost, contract_id in costs if cost == costs[0][0]]
    built_in = [contract_id for contract_id in best if candidates()[contract_id].contract is None]
    if len(best) == 1 or (len(built_in) == 1 and costs[0][0] == 0):
        return (built_in or best)[0]
    challenge = scope()
    first = challenge.truth if challenge is not None and challenge.truth in best else best[0]
    doubt = NotRecognised(
        f"{seen} match {_join(best[:8])} equally well", f"specify one: --contract {first}, or {first}=PATH"
    )
    doubt.candidates = tuple(best)
    raise doubt


def is_truth_or_submission(candidates: Collection[str]) -> bool:
    """Whether a file that matches these contracts equally well is a truth or a submission of the challenge in use."""
    challenge = scope()
    return challenge is not None and {challenge.truth, challenge.submission} <= set(candidates)


def other_role(contracts: Collection[str]) -> str | None:
    """The contract of the files that match truth and submission equally well: the one that no other file has.

    None if both or neither are among the contracts of the other files.
    """
    challenge = scope()
    if challenge is None or (challenge.truth in contracts) == (challenge.submission in contracts):
        return None
    return challenge.submission if challenge.truth in contracts else challenge.truth


_MOST_KEYS = 100


def _nearest(keys: frozenset[str]) -> list[str]:
    """The contracts that share most keys with a file, or have similar keys; at most three."""
    some = sorted(keys)[:_MOST_KEYS]
    shared = [(-_shared(some, entry), entry.id) for entry in candidates().values()]
    return [contract_id for count, contract_id in sorted(shared)[:3] if count]


def _shared(keys: list[str], entry: CompiledContract) -> float:
    """How many of the keys a contract knows; a similar key counts slightly less."""
    known = sorted(entry.header | entry.record | {column.name for column in entry.columns})
    return sum(1 if key in known else 0.9 * (nearest(key, known, ALIKE) is not None) for key in keys)


def _join(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
