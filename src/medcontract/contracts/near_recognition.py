"""Recognizes the contract of a file whose keys match none exactly: similar names count as the same.

It is loaded only if `medcontract.contracts.recognition` finds no contract, or several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from medcontract.contracts.recognition import (
    NO_RENAMES,
    Recognized,
    eligible,
    half_present,
    header_cost,
    key_cost,
    may_be_file,
)
from medcontract.contracts.registry import CompiledContract, all_keys, candidates, compiled, scope, variants_of
from medcontract.contracts.rules import Covers
from medcontract.contracts.suggestions import folded, is_part_of, join_names, pair_similar, renames_text
from medcontract.errors import LIST_CONTRACTS, NotRecognized, option, words
from medcontract.problems import is_plain
from medcontract.types import Outline

Renames = dict[str, str]
Entries = Sequence[CompiledContract]
_Forms = tuple[frozenset[str], ...]
_MOST_KEYS = 1000
_MOST_SHARED = 100
_FEWEST_SHARED = 2
"""A contract that shares fewer keys with a file is not mentioned, unless the file has hardly more."""
_WORD = re.compile(r"[^\W_]+")
_PREDICTED = frozenset((
    "pred", "preds", "predicted", "prediction", "predictions", "prob", "probs", "proba", "probability",
    "probabilities", "conf", "confidence", "predicho", "predicha", "prediccion", "predicciones", "probabilidad",
    "confianza",
))  # fmt: skip
_ANYWHERE = frozenset(("$schema", "error"))
"""Keys that files of any kind have."""
_START = ("predicted", "prediction", "predicha", "predicho", "prediccion", "confidence")


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


def of_columns(columns: frozenset[str]) -> Recognized | NotRecognized:
    """Return the contract that a table is most likely of."""
    entries, some = _entries(), _some(columns)
    matches = _sorted((_table_match(some, entry) for entry in entries), some, entries)
    return _choose(matches, columns, len(columns), "its columns", "its columns")


def of_record(keys: frozenset[str], seen: str) -> Recognized | NotRecognized:
    """Return the contract that a record is most likely of."""
    entries, some = _entries(), _some(keys)
    fits = ((entry, _fit(_gathered(some, entry), entry.forms, entry.record)) for entry in entries)
    matches = (Match(entry.id, fit.cost, fit.renames) if fit else None for entry, fit in fits)
    return _choose(_sorted(matches, some, entries), keys, len(keys), seen, "its keys")


def of_outline(outline: Outline) -> Recognized | NotRecognized:
    """Return the contract that a `.json` file is most likely of."""
    if outline.outer == "other":
        return NotRecognized("it is a single value, without keys", "write an object { … }")
    inside = frozenset(key for keys in outline.items.values() for key in keys)
    return _choose(_file_matches(outline), outline.keys | inside, len(outline.keys), "its keys", "its keys")


def _file_matches(outline: Outline) -> list[Match]:
    """Return the contracts that a `.json` file may be of, best first."""
    entries = _entries()
    outline = outline._replace(
        keys=_some(outline.keys),
        items={name: _some(keys) for name, keys in islice(outline.items.items(), _MOST_KEYS)},
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


def _is_likely(match: Match, keys: frozenset[str], count: int) -> bool:
    """Return whether the keys include a specific one or all required ones, or half of the `count` are similar ones."""
    entry = compiled()[match.contract_id]
    known = entry.record | entry.header | _column_names(entry)
    named = frozenset(match.renames.get(key, key) for key in keys)
    complete = any(form <= named for form in (*entry.forms, *entry.column_forms) if form)
    return complete or bool((keys & known) - _ANYWHERE) or 2 * len(match.renames) >= count


def _choose(found: list[Match], keys: frozenset[str], count: int, seen: str, by: str) -> Recognized | NotRecognized:
    """Return the contract of the best match."""
    if not any(_is_likely(match, keys, count) for match in found if match.order[:2] == found[0].order[:2]):
        return _none(keys, seen)
    left = _without_truths(found, keys, seen)
    if isinstance(left, NotRecognized):
        return left
    found = left
    first = found[0]
    equal = [match for match in found if match.order[:2] == first.order[:2]]
    if len(equal) > 1 and (with_list := _with_list(found, keys)):
        first, equal = with_list, [with_list]
    if len(equal) > 1:
        return several([match.contract_id for match in equal], seen, first.renames)
    if first.doubts:
        return _in_doubt(first, seen)
    return Recognized(first.contract_id, by, first.renames)


def _with_list(found: list[Match], keys: frozenset[str]) -> Match | None:
    """Return the only candidate whose list of records is present with an id of a record, if none of the best is.

    A header alone matches many files.
    """
    entries = {match.contract_id: compiled()[match.contract_id] for match in found}
    lists = [match for match in found if entries[match.contract_id].list_key in keys]
    known = [match for match in lists if any(k.endswith("_id") for k in keys & entries[match.contract_id].record)]
    best = {match.contract_id for match in found if match.order[:2] == found[0].order[:2]}
    return known[0] if len(known) == 1 and known[0].contract_id not in best else None


def _without_truths(found: list[Match], keys: frozenset[str], seen: str) -> list[Match] | NotRecognized:
    """Return the candidates; without the best ones if these are truths, but a key says that it was predicted.

    `predicted_class` is not another spelling of a true `label`, unless all keys have such names.
    """
    predicted = _predicted_names(keys)
    best = [match for match in found if match.order[:2] == found[0].order[:2]]
    submissions: dict[str, list[CompiledContract]] = {}
    for match in best if predicted else ():
        truth = compiled()[match.contract_id]
        known = truth.record | truth.header | {column.name for column in truth.columns}
        if truth.list_key not in keys and not known.issuperset(predicted):
            submissions[truth.id] = _submissions_for(truth.id)
    truths = {name for name, others in submissions.items() if others}
    if not truths:
        return found
    wanted = {entry.id for name in truths for entry in submissions[name]}
    left = [match for match in best if match.contract_id not in truths]
    left = left or [match for match in found if match.contract_id in wanted]
    if not left:
        truth_id = min(truths)
        return _predicted(truth_id, predicted, submissions[truth_id][0], seen)
    return left


def _predicted(truth: str, names: list[str], submission: CompiledContract, seen: str) -> NotRecognized:
    """Return a truth whose name says that it was predicted, and what predictions must have."""
    form = eligible(frozenset(), submission.column_forms if seen == "its columns" else submission.forms)
    columns = [column.name for column in submission.columns]
    fields = sorted(form[0], key=lambda field: columns.index(field) if field in columns else -1) if form else []
    shown = next((f"'{name}'" for name in names if is_plain(name)), "one of them")
    return NotRecognized(
        f"{seen} match {truth}, but {shown} belongs to predictions",
        words(f"for {submission.id}, write {join_names(fields)}; or specify ", option("--contract", truth)),
    )


def _predicted_names(names: frozenset[str]) -> list[str]:
    """Return the names that say that something was predicted; none if all do, because then it says nothing."""
    found = sorted(name for name in names if _is_predicted(name))
    return found if len(found) < len(names) else []


def _is_predicted(name: str) -> bool:
    return folded(name).startswith(_START) or not _PREDICTED.isdisjoint(map(folded, _WORD.findall(name[:100])))


def submission_instead_of(contract: CompiledContract) -> CompiledContract | None:
    """Return the contract of the submissions for a truth, or for a list of its cases; None for any other contract."""
    submissions = _submissions_for(contract.id)
    if contract.open and contract.list_key and not submissions:
        return submission_of(contract.id.partition("/")[0])
    return submissions[0] if submissions else None


def submission_of(track: str) -> CompiledContract | None:
    """Return the first contract of the submissions of a track."""
    mine = [entry for entry in _entries() if entry.id.partition("/")[0] == track]
    return next((entry for entry in mine if any(isinstance(rule, Covers) for rule in entry.file_rules)), None)


def what_it_needs(submission: CompiledContract, in_table: bool) -> str:
    """Return the fields, or the columns, of a record of a submission, as a phrase."""
    if in_table and submission.column_forms:
        form = eligible(frozenset(), submission.column_forms)[0]
        return join_names(column.name for column in submission.columns if column.name in form)
    required: list[str] = variants_of(submission.record_schema)[0].get("required") or []
    return join_names(required)


def _submissions_for(truth: str) -> list[CompiledContract]:
    """Return the contracts of submissions that are scored against a truth and have to cover its ids."""
    return [entry for entry in _entries() if any(isinstance(r, Covers) and r.other == truth for r in entry.file_rules)]


def several(best: list[str], seen: str, renames: Mapping[str, str] = NO_RENAMES) -> NotRecognized:
    if scope() is None:
        hint = words("specify one: ", option("--contract", best[0]), f", or {best[0]}=PATH")
    else:  # the truth first
        hint = words(f"specify it: {', or '.join(f'{each}=PATH' for each in sorted(best, reverse=True))}")
    if seen == "its columns" and not any(compiled()[name].columns for name in best):
        hint = words(hint, f"; {_no_table(best[0])}")
    elif renames:
        hint = words(hint, f"; rename {renames_text(renames)}")
    doubt = NotRecognized(f"{seen} match {join_names(best[:8])} equally well", hint)
    doubt.candidates = tuple(best)
    return doubt


def _none(keys: frozenset[str], seen: str) -> NotRecognized:
    if not keys:
        what = "its first record" if seen == "the keys of its first record" else "it"
        return NotRecognized(f"{what} is empty", "check that the data was written")
    are_records = seen != "its keys"  # and so no output of medcontract
    near = _closest(keys, [each for each in _entries() if not are_records or not each.id.startswith("medcontract/")])
    hint = words("specify ", option("--contract", "ID"))
    if near:
        is_table = seen == "its columns" and not compiled()[near[0]].columns
        use = _no_table(near[0]) if is_table else words("try ", option("--contract", near[0]))
        hint = words(f"closest: {join_names(near)}; ", use)
    return NotRecognized(f"no contract matches {seen}", words(hint, "; ", LIST_CONTRACTS))


def _in_doubt(match: Match, seen: str) -> NotRecognized:
    """Return an open contract, and others whose fields are there too."""
    others = [other for other, _ in match.doubts]
    renames = {name: field for _, pairs in match.doubts for name, field in pairs.items()}
    fix = f"rename {renames_text(renames)} for {join_names(others)}; or " if renames else ""
    return NotRecognized(
        f"{seen} match {match.contract_id}, which allows any other, but also most of {join_names(others)}",
        words(f"{fix}specify one: ", option("--contract", others[0]), f", or {others[0]}=PATH"),
    )


def _no_table(contract_id: str) -> str:
    formats = " or ".join(f".{name}" for name in compiled()[contract_id].containers)
    return f"{contract_id} has no table form: write {formats}"


def _entries() -> list[CompiledContract]:
    """Return the contracts that a file can be of."""
    return list(candidates().values())


def _closest(keys: frozenset[str], entries: Entries) -> list[str]:
    """Return the contracts that share most keys with a file, counting similar ones slightly less; at most three."""
    some = frozenset(sorted(_some(keys) - _ANYWHERE)[:_MOST_SHARED])
    shared = [(-_shared(some, entry), entry.id) for entry in entries]
    return [
        contract_id for count, contract_id in sorted(shared)[:3] if -count >= _FEWEST_SHARED or -2 * count > len(some)
    ]


def _some(keys: frozenset[str]) -> frozenset[str]:
    """Return all keys or, of very many, known keys and the first others, at equal cost for all contracts."""
    if len(keys) <= _MOST_KEYS:
        return keys
    known = frozenset[str]().union(*(entry.header | entry.record | _column_names(entry) for entry in _entries()))
    return (keys & known) | frozenset(sorted(keys - known)[:_MOST_KEYS])


def _shared(keys: frozenset[str], entry: CompiledContract) -> float:
    known = entry.header | entry.record | _column_names(entry)
    inside = (all_keys(entry.schema) | all_keys(entry.record_schema)) - known  # keys of objects in its records
    return len(keys & known) + 0.9 * len(pair_similar(keys - known, known - keys)) + 0.8 * len(keys & inside)


def _sorted(matches: Iterable[Match | None], keys: frozenset[str], entries: Entries) -> list[Match]:
    found = [_with_doubts(match, keys, entries) for match in matches if match]
    return sorted(found, key=lambda match: match.order)


def _column_names(entry: CompiledContract) -> frozenset[str]:
    return frozenset(column.name for column in entry.columns)


def _track(entry: CompiledContract, entries: Entries) -> list[CompiledContract]:
    track = entry.id.partition("/")[0]
    return [other for other in entries if other.id.partition("/")[0] == track]


def _fit(keys: frozenset[str], forms: _Forms, known: frozenset[str]) -> _Fit | None:
    """Return the fit of the best variant, or None if the keys are less than half of the required ones of each."""
    renames = pair_similar(keys - known, known - keys)
    named = frozenset(renames.get(key, key) for key in keys)
    fits = [
        _Fit(key_cost(named, form, known), len(form - named), renames)
        for form in eligible(named, forms)
        if half_present(named, form)
    ]
    return min(fits, key=lambda fit: fit.cost, default=None)


def _gathered(keys: frozenset[str], entry: CompiledContract) -> frozenset[str]:
    """Return the keys of a record; most of the names that the items of a list have in a table count as that list."""
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
    """Return the columns of a flattened export with the nested fields that they are parts of."""
    return frozenset(
        column if column in fields else next((field for field in fields if is_part_of(column, field)), column)
        for column in columns
    )


def _file_match(outline: Outline, entry: CompiledContract, list_keys: frozenset[str | None]) -> Match | None:
    keys = outline.keys - {"$schema"}
    renames = pair_similar(keys - entry.header - list_keys, entry.header - keys)
    if entry.list_key and entry.list_key not in {*keys, *renames.values()}:
        renames.update(_list_by_records(outline, entry, list_keys | renames.keys()))
    named = frozenset(renames.get(key, key) for key in keys)
    if not may_be_file(named, entry):
        return None
    cost = header_cost(named, entry)
    first = _list_in(outline, entry, renames)
    if first:
        first = _gathered(first, entry)
        inside = pair_similar(first - entry.record, entry.record - first)
        record = frozenset(inside.get(key, key) for key in first)
        cost += min(key_cost(record, form, entry.record) for form in eligible(record, entry.forms))
        renames = {**renames, **inside}
    return Match(entry.id, cost, renames)


def _list_in(outline: Outline, entry: CompiledContract, renames: Renames) -> frozenset[str]:
    """Return the keys of the first record, under whichever name the list has."""
    names = [entry.list_key or "", *(name for name, field in renames.items() if field == entry.list_key)]
    return next((outline.items[name] for name in names if outline.items.get(name)), frozenset())


def _list_by_records(outline: Outline, entry: CompiledContract, taken: Iterable[str | None]) -> Renames:
    """Return the list whose records match the records of the contract, unless its name is `taken`."""
    best: tuple[int, str] | None = None
    for name, keys in sorted(outline.items.items()):
        if name in entry.header or name in set(taken):
            continue
        fit = _fit(keys, entry.forms, entry.record)
        if fit and (best is None or fit.cost < best[0]):
            best = fit.cost, name
    return {best[1]: entry.list_key or ""} if best else {}


def _with_doubts(match: Match, keys: frozenset[str], entries: Entries) -> Match:
    """Return the match of an open contract with the contracts that its unknown keys may belong to."""
    entry = next(entry for entry in entries if entry.id == match.contract_id)
    if not entry.open:
        return match
    others = [other for other in _track(entry, entries) if other.list_key and other.id != entry.id]
    unknown = frozenset(key for key in keys - entry.record if key not in match.renames)
    doubts = tuple((other.id, renames) for other in others if (renames := _doubt(unknown, other, entry)) is not None)
    return match._replace(doubts=doubts)


def _doubt(extra: frozenset[str], other: CompiledContract, entry: CompiledContract) -> Renames | None:
    """Return what to rename, if half or more of the other contract's remaining required fields are extra keys."""
    for forms, known in ((other.column_forms, _column_names(other)), (other.forms, other.record)):
        keys = extra if known is not other.record else _unflattened(extra, known)
        renames = pair_similar(keys - known, known - keys - entry.record)
        named = frozenset(renames.get(key, key) for key in keys)
        if any(half_present(named, form - entry.record) for form in eligible(named, forms)):
            return renames
    return None
