"""Recognizes the contract of a file from its keys, never from its name.

A file that matches exactly one contract exactly is decided by its keys alone. For all others, names that are alike
count as the same (`medcontract.contracts.similar_contracts`, loaded only then), so that predictions with other
spellings are checked as predictions, and not accepted as something that allows any column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from medcontract.contracts.registry import CompiledContract, candidates, compiled, scope
from medcontract.errors import NotRecognized
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Ref, is_plain
from medcontract.types import Outline

if TYPE_CHECKING:
    from medcontract.contracts.similar_contracts import Match

Costs = list[tuple[int, str]]
"""The distance of each candidate (0: an exact match) and its id."""
_Matches = Callable[[], list["Match"]]
"""The candidates if alike names count as the same, best first."""

_URN = lazy_pattern(
    r"(?:urn:medcontract:|.*/)?([a-z0-9-]+)[:/]([a-z0-9-]+)[:/]v([0-9]{1,9})(?:[.:]draft-07)?(?:\.json)?\Z"
)
NO_RENAMES: Mapping[str, str] = MappingProxyType({})


class Recognized(NamedTuple):
    """The contract of a file, and what it was recognized by."""

    contract_id: str
    by: str
    """`its $schema`, `its keys` or `its columns`."""
    renames: Mapping[str, str] = NO_RENAMES
    """Keys of the file that count as keys of the contract."""
    extra: tuple[str, ...] = ()
    """Keys that the contract allows, but does not know."""
    ref: Ref | None = None
    """Where these keys are."""

    @property
    def how(self) -> str:
        """How it was recognized, in words."""
        return f"recognized by {self.by}"


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


def of_outline(outline: Outline) -> Recognized:
    """The contract of a `.json` file. Raises `NotRecognized`."""
    named = by_schema(outline.schema)
    if named:
        return Recognized(named, "its $schema")
    if outline.outer == "list":
        return _of_record(outline.items[""], "its records", outline.first.get(""))

    def matches() -> list[Match]:
        from medcontract.contracts import similar_contracts

        return similar_contracts.of_outline(outline, list(_candidates()))

    inside = frozenset(key for keys in outline.items.values() for key in keys)
    found = _choose(lambda: _file_costs(outline), matches, "its keys", "its keys", outline.keys | inside)
    if not outline.complete and not _is_decided(outline, found):
        raise NotRecognized("the file ends before its contract can be recognized", "specify --contract ID")
    list_key = compiled()[found.contract_id].list_key
    name = next((name for name in outline.first if found.renames.get(name, name) == list_key), "")
    return _with_extra(found, outline.items.get(name, frozenset()), outline.first.get(name))


def exact(outline: Outline) -> str | None:
    """The only contract that the keys match exactly, if there is one."""
    costs = sorted(_file_costs(outline))
    return costs[0][1] if _perfect(costs) else None


def certain(outline: Outline) -> bool:
    """Whether the keys read so far are unambiguous: exactly one contract matches them exactly."""
    return by_schema(outline.schema) is not None or exact(outline) is not None


def _is_decided(outline: Outline, found: Recognized) -> bool:
    """Whether the keys before a syntax error are enough.

    They are if they include the list of records, or if they are those of a document and of no collection: the header
    of a truncated submission may match that of the truth.
    """
    entry = compiled()[found.contract_id]
    keys = {found.renames.get(key, key) for key in outline.keys}
    if entry.list_key:
        return entry.list_key in keys
    return not any(other.list_key and keys <= other.header for other in _candidates())


def of_record(keys: frozenset[str], ref: Ref | None = None) -> Recognized:
    """The contract of a line of JSONL. Raises `NotRecognized`."""
    return _of_record(keys, "the keys of its first record", ref)


def _of_record(keys: frozenset[str], seen: str, ref: Ref | None) -> Recognized:
    def matches() -> list[Match]:
        from medcontract.contracts import similar_contracts

        return similar_contracts.of_record(keys, list(_candidates()))

    found = _choose(lambda: _record_costs(keys), matches, seen, "its keys", keys)
    return _with_extra(found, keys, ref)


def of_columns(columns: frozenset[str], ref: Ref | None = None) -> Recognized:
    """The contract of a table. Raises `NotRecognized`."""

    def matches() -> list[Match]:
        from medcontract.contracts import similar_contracts

        return similar_contracts.of_columns(columns, list(_candidates()))

    found = _choose(lambda: _column_costs(columns), matches, "its columns", "its columns", columns)
    return _with_extra(found, columns, ref)


def _candidates() -> Iterable[CompiledContract]:
    """The contracts that a file can be of."""
    return candidates().values()


def _perfect(costs: Costs) -> bool:
    return bool(costs) and costs[0][0] == 0 and (len(costs) == 1 or costs[1][0] > 0)


def _file_costs(outline: Outline) -> Costs:
    costs: Costs = []
    keys = outline.keys - {"$schema"}
    for entry in _candidates():
        if may_be_file(keys, entry):
            cost = header_cost(keys, entry)
            if first := outline.items.get(entry.list_key or ""):
                cost += min(key_cost(first, form, entry.record) for form in eligible(first, entry.forms))
            costs.append((cost, entry.id))
    return costs


def may_be_file(keys: frozenset[str], entry: CompiledContract) -> bool:
    """Whether a contract is a candidate for a file with these keys at the top level."""
    return entry.list_key in keys or half_present(keys, entry.header_required) or _mostly_known(keys, entry)


def header_cost(keys: frozenset[str], entry: CompiledContract) -> int:
    """The missing and unknown keys at the top level."""
    cost = key_cost(keys, entry.header_required, entry.header)
    # A document without required keys: a contract that requires these keys is closer.
    cost += not entry.header_required and not entry.list_key
    if entry.list_key and entry.list_key not in keys:
        cost += min(map(len, entry.forms))  # no list: the required keys of its records are missing too
    return cost


def _column_costs(columns: frozenset[str]) -> Costs:
    return [
        (cost, entry.id)
        for entry in _candidates()
        if (cost := _form_cost(columns, entry.column_forms, frozenset(column.name for column in entry.columns)))
        is not None
    ]


def _record_costs(keys: frozenset[str]) -> Costs:
    return [
        (cost, entry.id) for entry in _candidates() if (cost := _form_cost(keys, entry.forms, entry.record)) is not None
    ]


def eligible(keys: frozenset[str], forms: tuple[frozenset[str], ...]) -> list[frozenset[str]]:
    """The variants that a record with these keys may be: a failed one only if it has an `error`."""
    return [form for form in forms if "error" not in form or "error" in keys]


def _form_cost(keys: frozenset[str], forms: tuple[frozenset[str], ...], known: frozenset[str]) -> int | None:
    """The cost of the best variant, or None if the record has less than half of the keys of each."""
    costs = (key_cost(keys, form, known) for form in eligible(keys, forms) if half_present(keys, form))
    return min(costs, default=None)


def half_present(keys: frozenset[str], required: frozenset[str]) -> bool:
    """Whether at least half of the required keys are present."""
    return bool(required) and 2 * len(keys & required) >= len(required)


def _mostly_known(keys: frozenset[str], entry: CompiledContract) -> bool:
    """Whether a file may be a document without required keys: most of its keys are known to that contract."""
    requires_nothing = entry.kind == "document" and not entry.header_required
    return requires_nothing and 2 * len(keys & entry.header) > len(keys)


def key_cost(keys: frozenset[str], required: frozenset[str], known: frozenset[str]) -> int:
    """Missing plus unknown keys."""
    return len(required - keys) + len(keys - known)


def _load_installed() -> bool:
    if scope() is not None:
        return False
    from medcontract.contracts import plugins  # not needed to recognize most files

    return plugins.load_installed()


def _choose(rate: Callable[[], Costs], matches: _Matches, seen: str, by: str, keys: frozenset[str]) -> Recognized:
    """The contract with the lowest cost. Installed plugins are loaded only if no contract matches exactly."""
    costs = sorted(rate())
    if not _perfect(costs) and _load_installed():
        costs = sorted(rate())
    if costs and costs[0][0] == 0:
        best = [contract_id for cost, contract_id in costs if cost == 0]
        built_in = [contract_id for contract_id in best if compiled()[contract_id].contract is None]
        if len(best) == 1 or len(built_in) == 1:
            return Recognized((built_in or best)[0], by)
        raise _several(best, seen)
    found = matches()
    if not found:
        raise _none(keys, seen)
    found = _without_truths(found, keys, seen)
    first = found[0]
    equal = [match for match in found if match.order[:2] == first.order[:2]]
    if len(equal) > 1 and (with_list := _with_list(found, keys)):
        first, equal = with_list, [with_list]
    if len(equal) > 1:
        raise _several([match.contract_id for match in equal], seen, first.renames)
    if first.doubts:
        raise _in_doubt(first, seen)
    return Recognized(first.contract_id, by, first.renames)


def _with_list(found: list[Match], keys: frozenset[str]) -> Match | None:
    """The only candidate whose list of records is there under its name, with an id of a record, if none of the best is.

    A header alone matches many files.
    """
    entries = {match.contract_id: compiled()[match.contract_id] for match in found}
    lists = [match for match in found if entries[match.contract_id].list_key in keys]
    known = [match for match in lists if any(k.endswith("_id") for k in keys & entries[match.contract_id].record)]
    best = {match.contract_id for match in found if match.order[:2] == found[0].order[:2]}
    return known[0] if len(known) == 1 and known[0].contract_id not in best else None


def _without_truths(found: list[Match], keys: frozenset[str], seen: str) -> list[Match]:
    """The candidates; without the best ones if these are truths, but a key says that it was predicted.

    `predicted_class` is not another spelling of a true `label`, unless all keys have such names.
    """
    from medcontract.contracts.predicted_names import predicted_names, submissions_for

    predicted = predicted_names(keys)
    best = [match for match in found if match.order[:2] == found[0].order[:2]]
    submissions: dict[str, list[CompiledContract]] = {}
    for match in best if predicted else ():
        truth = compiled()[match.contract_id]
        known = truth.record | truth.header | {column.name for column in truth.columns}
        if truth.list_key not in keys and not known.issuperset(predicted):
            submissions[truth.id] = submissions_for(truth.id, list(_candidates()))
    truths = {name for name, others in submissions.items() if others}
    if not truths:
        return found
    wanted = {entry.id for name in truths for entry in submissions[name]}
    left = [match for match in best if match.contract_id not in truths]
    left = left or [match for match in found if match.contract_id in wanted]
    if not left:
        truth_id = min(truths)
        raise _predicted(truth_id, predicted, submissions[truth_id][0], seen)
    return left


def _predicted(truth: str, names: list[str], submission: CompiledContract, seen: str) -> NotRecognized:
    """A truth whose name says that it was predicted, and what predictions must have."""
    form = eligible(frozenset(), submission.column_forms if seen == "its columns" else submission.forms)
    columns = [column.name for column in submission.columns]
    fields = sorted(form[0], key=lambda field: columns.index(field) if field in columns else -1) if form else []
    shown = next((f"'{name}'" for name in names if is_plain(name)), "one of them")
    return NotRecognized(
        f"{seen} match {truth}, but {shown} belongs to predictions",
        f"for {submission.id}, write {_join(fields)}; or specify --contract {truth}",
    )


def _with_extra(found: Recognized, keys: frozenset[str], ref: Ref | None) -> Recognized:
    """With the keys that an open contract does not know, and where they are."""
    entry = compiled()[found.contract_id]
    return found._replace(extra=tuple(sorted(keys - entry.record)) if entry.open else (), ref=ref)


def _several(best: list[str], seen: str, renames: Mapping[str, str] = NO_RENAMES) -> NotRecognized:
    if scope() is None:
        hint = f"specify one: --contract {best[0]}, or {best[0]}=PATH"
    else:
        hint = f"specify it: {', or '.join(f'{each}=PATH' for each in sorted(best, reverse=True))}"  # the truth first
    if seen == "its columns" and not any(compiled()[name].columns for name in best):
        hint += f"; {_no_table(best[0])}"
    elif renames:
        hint += f"; rename {renames_text(renames)}"
    doubt = NotRecognized(f"{seen} match {_join(best[:8])} equally well", hint)
    doubt.candidates = tuple(best)
    return doubt


def is_truth_or_submission(candidates: Collection[str]) -> bool:
    """Whether a file that matches these contracts equally well is a truth or a submission of the challenge in use.

    If it may also be a list of cases, it is not clear that it is one of the two.
    """
    challenge = scope()
    return challenge is not None and {challenge.truth, challenge.submission} == set(candidates)


def other_role(contracts: Collection[str]) -> str | None:
    """The contract of the files that match truth and submission equally well: the one that no other file has.

    None if both or neither are among the contracts of the other files.
    """
    challenge = scope()
    if challenge is None or (challenge.truth in contracts) == (challenge.submission in contracts):
        return None
    return challenge.submission if challenge.truth in contracts else challenge.truth


def _none(keys: frozenset[str], seen: str) -> NotRecognized:
    from medcontract.contracts.similar_contracts import closest

    if not keys:
        what = "its first record" if seen == "the keys of its first record" else "it"
        return NotRecognized(f"{what} is empty", "check that the data was written")
    are_records = seen != "its keys"  # and so no output of medcontract
    near = closest(
        keys, [entry for entry in _candidates() if not are_records or not entry.id.startswith("medcontract/")]
    )
    hint = f"closest: {_join(near)}; try --contract {near[0]}" if near else "specify --contract ID"
    if near and seen == "its columns" and not compiled()[near[0]].columns:
        hint = f"closest: {_join(near)}; {_no_table(near[0])}"
    return NotRecognized(f"no contract matches {seen}", hint + "; see: medcontract schema list")


def _no_table(contract_id: str) -> str:
    formats = " or ".join(f".{name}" for name in compiled()[contract_id].containers)
    return f"{contract_id} has no table form: write {formats}"


def _in_doubt(match: Match, seen: str) -> NotRecognized:
    """An open contract, and others whose fields are there too."""
    others = [other for other, _ in match.doubts]
    renames = {name: field for _, pairs in match.doubts for name, field in pairs.items()}
    fix = f"rename {renames_text(renames)} for {_join(others)}; or " if renames else ""
    return NotRecognized(
        f"{seen} match {match.contract_id}, which allows any other, but also most of {_join(others)}",
        f"{fix}specify one: --contract {others[0]}, or {others[0]}=PATH",
    )


_MOST_RENAMES = 12


def renames_text(renames: Mapping[str, str], most: int = _MOST_RENAMES) -> str:
    """Which names to change. Those that may be data are only counted."""
    shown = [f"'{name}' to '{field}'" for name, field in sorted(renames.items()) if is_plain(name)][:most]
    left = len(renames) - len(shown)
    more = f"{left} more" if shown else f"{left} of them"
    return _join([*shown, more] if left else shown)


def _join(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
