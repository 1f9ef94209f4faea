"""Compares the keys of a file with all contracts, where names that are alike count as the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from medcontract.contracts.alike import pair_alike, stands_for
from medcontract.contracts.compile import all_keys
from medcontract.contracts.recognition import eligible, half_present, header_cost, key_cost, may_be_file
from medcontract.contracts.registry import CompiledContract
from medcontract.types import Outline

Renames = dict[str, str]
Entries = Sequence[CompiledContract]
_Forms = tuple[frozenset[str], ...]


class Match(NamedTuple):
    """How well a contract matches a file."""

    contract_id: str
    cost: int
    """Missing and unknown keys, after the renames."""
    renames: Renames
    """Keys of the file that count as keys of the contract."""
    doubts: tuple[tuple[str, Renames], ...] = ()
    """For an open contract: others whose fields are there too, and what to rename for each."""

    @property
    def order(self) -> tuple[int, int, str]:
        return self.cost, len(self.renames), self.contract_id


class _Fit(NamedTuple):
    """How well keys match one list of fields."""

    cost: int
    missing: int
    renames: Renames


def of_columns(columns: frozenset[str], entries: Entries) -> list[Match]:
    """The contracts that a table may be of, best first."""
    columns = _some(columns, entries)
    return _sorted((_table_match(columns, entry) for entry in entries), columns, entries)


def of_record(keys: frozenset[str], entries: Entries) -> list[Match]:
    """The contracts that a record may be of, best first."""
    keys = _some(keys, entries)
    fits = ((entry, _fit(_gathered(keys, entry), entry.forms, entry.record)) for entry in entries)
    return _sorted((Match(entry.id, fit.cost, fit.renames) if fit else None for entry, fit in fits), keys, entries)


def of_outline(outline: Outline, entries: Entries) -> list[Match]:
    """The contracts that a `.json` file may be of, best first."""
    outline = outline._replace(
        keys=_some(outline.keys, entries),
        items={name: _some(keys, entries) for name, keys in islice(outline.items.items(), _MOST_KEYS)},
    )
    found = []
    for entry in entries:
        list_keys = frozenset(other.list_key for other in _track(entry, entries))
        match = _file_match(outline, entry, list_keys)
        if match:
            first = _list_in(outline, entry, match.renames)
            shares = not first or any(match.renames.get(key, key) in entry.record for key in first)
            found.append((_with_doubts(match, first, entries), shares))
    # A list key alone is weak evidence: `predictions` occurs in several tracks.
    best = [match for match, shares in found if shares] or [match for match, _ in found]
    return sorted(best, key=lambda match: match.order)


def closest(keys: frozenset[str], entries: Entries) -> list[str]:
    """The contracts that share most keys with a file, counting alike ones slightly less; at most three."""
    some = frozenset(sorted(_some(keys, entries))[:_MOST_SHARED])
    shared = [(-_shared(some, entry), entry.id) for entry in entries]
    return [contract_id for count, contract_id in sorted(shared)[:3] if count]


_MOST_KEYS = 1000
_MOST_SHARED = 100


def _some(keys: frozenset[str], entries: Entries) -> frozenset[str]:
    """All keys or, of very many, those that a contract knows and the first others. It costs all contracts the same."""
    if len(keys) <= _MOST_KEYS:
        return keys
    known = frozenset[str]().union(*(entry.header | entry.record | _column_names(entry) for entry in entries))
    return (keys & known) | frozenset(sorted(keys - known)[:_MOST_KEYS])


def _shared(keys: frozenset[str], entry: CompiledContract) -> float:
    known = entry.header | entry.record | _column_names(entry)
    inside = (all_keys(entry.schema) | all_keys(entry.record_schema)) - known  # keys of objects in its records
    return len(keys & known) + 0.9 * len(pair_alike(keys - known, known - keys)) + 0.8 * len(keys & inside)


def _sorted(matches: Iterable[Match | None], keys: frozenset[str], entries: Entries) -> list[Match]:
    found = [_with_doubts(match, keys, entries) for match in matches if match]
    return sorted(found, key=lambda match: match.order)


def _column_names(entry: CompiledContract) -> frozenset[str]:
    return frozenset(column.name for column in entry.columns)


def _track(entry: CompiledContract, entries: Entries) -> list[CompiledContract]:
    track = entry.id.partition("/")[0]
    return [other for other in entries if other.id.partition("/")[0] == track]


def _fit(keys: frozenset[str], forms: _Forms, known: frozenset[str]) -> _Fit | None:
    """The fit of the best variant, or None if the keys are less than half of the required ones of each."""
    renames = pair_alike(keys - known, known - keys)
    named = frozenset(renames.get(key, key) for key in keys)
    fits = [
        _Fit(key_cost(named, form, known), len(form - named), renames)
        for form in eligible(named, forms)
        if half_present(named, form)
    ]
    return min(fits, key=lambda fit: fit.cost, default=None)


def _gathered(keys: frozenset[str], entry: CompiledContract) -> frozenset[str]:
    """The keys of a record; most of the names that the items of a list have in a table count as that list."""
    for field, group in entry.spread.items():
        if 2 * len(keys & frozenset(group)) > len(group):
            keys = (keys - frozenset(group)) | {field}
    return keys


def _table_match(columns: frozenset[str], entry: CompiledContract) -> Match | None:
    fits = [_fit(columns, entry.column_forms, _column_names(entry))] if entry.columns else []
    if entry.list_key and (entry.spread or not entry.columns):
        # A table whose columns are the keys of nested records cannot be valid, but what it is meant to be is clear.
        fits.append(_complete(_fit(_unflattened(columns, entry.record), entry.forms, entry.record)))
    found = [fit for fit in fits if fit]
    best = min(found, key=lambda fit: (fit.cost, len(fit.renames)), default=None)
    return Match(entry.id, best.cost, best.renames) if best else None


def _complete(fit: _Fit | None) -> _Fit | None:
    return fit if fit and not fit.missing else None


def _unflattened(columns: frozenset[str], fields: frozenset[str]) -> frozenset[str]:
    """The columns of a flattened export with the nested fields that they are parts of."""
    return frozenset(
        column if column in fields else next((field for field in fields if stands_for(column, field)), column)
        for column in columns
    )


def _file_match(outline: Outline, entry: CompiledContract, list_keys: frozenset[str | None]) -> Match | None:
    keys = outline.keys - {"$schema"}
    renames = pair_alike(keys - entry.header - list_keys, entry.header - keys)
    if entry.list_key and entry.list_key not in {*keys, *renames.values()}:
        renames.update(_list_by_records(outline, entry, list_keys | renames.keys()))
    named = frozenset(renames.get(key, key) for key in keys)
    if not may_be_file(named, entry):
        return None
    cost = header_cost(named, entry)
    first = _list_in(outline, entry, renames)
    if first:
        first = _gathered(first, entry)
        inside = pair_alike(first - entry.record, entry.record - first)
        record = frozenset(inside.get(key, key) for key in first)
        cost += min(key_cost(record, form, entry.record) for form in eligible(record, entry.forms))
        renames = {**renames, **inside}
    return Match(entry.id, cost, renames)


def _list_in(outline: Outline, entry: CompiledContract, renames: Renames) -> frozenset[str]:
    """The keys of the first record, under whichever name the list has."""
    names = [entry.list_key or "", *(name for name, field in renames.items() if field == entry.list_key)]
    return next((outline.items[name] for name in names if outline.items.get(name)), frozenset())


def _list_by_records(outline: Outline, entry: CompiledContract, taken: Iterable[str | None]) -> Renames:
    """The list whose records match those of the contract, unless its name is `taken`."""
    best: tuple[int, str] | None = None
    for name, keys in sorted(outline.items.items()):
        if name in entry.header or name in set(taken):
            continue
        fit = _fit(keys, entry.forms, entry.record)
        if fit and (best is None or fit.cost < best[0]):
            best = fit.cost, name
    return {best[1]: entry.list_key or ""} if best else {}


def _with_doubts(match: Match, keys: frozenset[str], entries: Entries) -> Match:
    """The match of an open contract with the contracts that its unknown keys may belong to."""
    entry = next(entry for entry in entries if entry.id == match.contract_id)
    if not entry.open:
        return match
    others = [other for other in _track(entry, entries) if other.list_key and other.id != entry.id]
    unknown = frozenset(key for key in keys - entry.record if key not in match.renames)
    doubts = tuple((other.id, renames) for other in others if (renames := _doubt(unknown, other, entry)) is not None)
    return match._replace(doubts=doubts)


def _doubt(extra: frozenset[str], other: CompiledContract, entry: CompiledContract) -> Renames | None:
    """What to rename, if half or more of the other contract's remaining required fields are among the extra keys."""
    for forms, known in ((other.column_forms, _column_names(other)), (other.forms, other.record)):
        keys = extra if known is not other.record else _unflattened(extra, known)
        renames = pair_alike(keys - known, known - keys - entry.record)
        named = frozenset(renames.get(key, key) for key in keys)
        if any(half_present(named, form - entry.record) for form in eligible(named, forms)):
            return renames
    return None
