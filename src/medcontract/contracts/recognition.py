"""Recognizes the contract of a file from its keys, never from its name.

A file that matches exactly one contract exactly is decided by its keys alone. For all others, similar names
count as the same (`medcontract.contracts.near_recognition`, loaded only then), so that predictions with other
spellings are checked as predictions, and not accepted as something that allows any column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from medcontract.contracts.registry import CompiledContract, candidates, compiled, load_installed, scope
from medcontract.errors import NotRecognized, option, words
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Ref
from medcontract.types import Outline

Costs = list[tuple[int, str]]
"""The distance of each candidate (0: an exact match) and its id."""
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
    exact: bool = False
    """Whether its keys match the contract, without a missing or unknown one."""

    @property
    def how(self) -> str:
        """How it was recognized, in words."""
        return f"recognized by {self.by}"


def by_schema(schema: str | None) -> str | None:
    """Return the contract that a `$schema` refers to, if it is a known one."""
    match = _URN.match(schema) if schema else None
    if match is None:
        return None
    track, name, version = match.groups()
    found = candidates().get(f"{track}/{name}")
    if found is None or (version != "1" and (found.contract is None or version != str(found.contract.version))):
        return None
    return found.id


def of_outline(outline: Outline) -> Recognized | NotRecognized:
    """Recognize the contract of a `.json` file."""
    named = by_schema(outline.schema)
    if named:
        return Recognized(named, "its $schema")
    if outline.outer == "list":
        return _of_record(outline.items[""], "its records", outline.first.get(""))
    found = _exact(lambda: _file_costs(outline), "its keys", "its keys")
    if found is None:
        from medcontract.contracts import near_recognition

        found = near_recognition.of_outline(outline)
    if isinstance(found, NotRecognized):
        return found
    if not outline.complete and not _is_decided(outline, found):
        return NotRecognized(
            "the file ends before its contract can be recognized", words("specify ", option("--contract", "ID"))
        )
    list_key = compiled()[found.contract_id].list_key
    name = next((name for name in outline.first if found.renames.get(name, name) == list_key), "")
    return _with_extra(found, outline.items.get(name, frozenset()), outline.first.get(name))


def certain(outline: Outline) -> Recognized | None:
    """Recognize the contract from the keys read so far, if they are unambiguous: one contract matches exactly."""
    named = by_schema(outline.schema)
    if named:
        return Recognized(named, "its $schema")
    found = exact(outline)
    return Recognized(found, "its keys", exact=True) if found else None


def exact(outline: Outline) -> str | None:
    """Return the only contract that the keys match exactly, if there is one."""
    costs = sorted(_file_costs(outline))
    return costs[0][1] if _perfect(costs) else None


def _is_decided(outline: Outline, found: Recognized) -> bool:
    """Return whether the keys before a syntax error are enough.

    They are if they include the list of records, or if they belong to a document and to no collection: the header
    of a truncated submission may match the header of the truth.
    """
    entry = compiled()[found.contract_id]
    keys = {found.renames.get(key, key) for key in outline.keys}
    if entry.list_key:
        return entry.list_key in keys
    return not any(other.list_key and keys <= other.header for other in candidates().values())


def of_record(keys: frozenset[str], ref: Ref | None = None) -> Recognized | NotRecognized:
    """Recognize the contract of a line of JSONL."""
    return _of_record(keys, "the keys of its first record", ref)


def _of_record(keys: frozenset[str], seen: str, ref: Ref | None) -> Recognized | NotRecognized:
    found = _exact(lambda: _record_costs(keys), seen, "its keys")
    if found is None:
        from medcontract.contracts import near_recognition

        found = near_recognition.of_record(keys, seen)
    return found if isinstance(found, NotRecognized) else _with_extra(found, keys, ref)


def of_columns(columns: frozenset[str], ref: Ref | None = None) -> Recognized | NotRecognized:
    """Recognize the contract of a table."""
    found = _exact(lambda: _column_costs(columns), "its columns", "its columns")
    if found is None:
        from medcontract.contracts import near_recognition

        found = near_recognition.of_columns(columns)
    return found if isinstance(found, NotRecognized) else _with_extra(found, columns, ref)


def _perfect(costs: Costs) -> bool:
    return bool(costs) and costs[0][0] == 0 and (len(costs) == 1 or costs[1][0] > 0)


def _file_costs(outline: Outline) -> Costs:
    costs: Costs = []
    keys = outline.keys - {"$schema"}
    for entry in candidates().values():
        if may_be_file(keys, entry):
            cost = header_cost(keys, entry)
            if first := outline.items.get(entry.list_key or ""):
                cost += min(key_cost(first, form, entry.record) for form in eligible(first, entry.forms))
            costs.append((cost, entry.id))
    return costs


def may_be_file(keys: frozenset[str], entry: CompiledContract) -> bool:
    """Return whether a contract is a candidate for a file with these keys at the top level."""
    return entry.list_key in keys or half_present(keys, entry.header_required) or _mostly_known(keys, entry)


def header_cost(keys: frozenset[str], entry: CompiledContract) -> int:
    """Return the missing and unknown keys at the top level."""
    cost = key_cost(keys, entry.header_required, entry.header)
    # A document without required keys: a contract that requires these keys is closer.
    cost += not entry.header_required and not entry.list_key
    if entry.list_key and entry.list_key not in keys:
        cost += min(map(len, entry.forms))  # no list: the required keys of its records are missing too
    return cost


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


def eligible(keys: frozenset[str], forms: tuple[frozenset[str], ...]) -> list[frozenset[str]]:
    """Return the variants that a record with these keys may be: a failed one only if it has an `error`."""
    return [form for form in forms if "error" not in form or "error" in keys]


def _form_cost(keys: frozenset[str], forms: tuple[frozenset[str], ...], known: frozenset[str]) -> int | None:
    """Return the cost of the best variant, or None if the record has less than half of the keys of each."""
    costs = (key_cost(keys, form, known) for form in eligible(keys, forms) if half_present(keys, form))
    return min(costs, default=None)


def half_present(keys: frozenset[str], required: frozenset[str]) -> bool:
    """Return whether at least half of the required keys are present."""
    return bool(required) and 2 * len(keys & required) >= len(required)


def _mostly_known(keys: frozenset[str], entry: CompiledContract) -> bool:
    """Return whether a file may be a document without required keys: most of its keys are known to that contract."""
    requires_nothing = entry.kind == "document" and not entry.header_required
    return requires_nothing and 2 * len(keys & entry.header) > len(keys)


def key_cost(keys: frozenset[str], required: frozenset[str], known: frozenset[str]) -> int:
    """Missing plus unknown keys."""
    return len(required - keys) + len(keys - known)


def _exact(rate: Callable[[], Costs], seen: str, by: str) -> Recognized | NotRecognized | None:
    """Return the contract that matches exactly, if any. Installed plugins are loaded only if not exactly one does."""
    costs = sorted(rate())
    if not _perfect(costs) and scope() is None and load_installed():
        costs = sorted(rate())
    best = [contract_id for cost, contract_id in costs if cost == 0]
    if not best:
        return None
    built_in = [contract_id for contract_id in best if compiled()[contract_id].contract is None]
    if len(best) == 1 or len(built_in) == 1:
        return Recognized((built_in or best)[0], by, exact=True)
    from medcontract.contracts import near_recognition

    return near_recognition.several(best, seen)


def _with_extra(found: Recognized, keys: frozenset[str], ref: Ref | None) -> Recognized:
    """With the keys that an open contract does not know, and where they are."""
    entry = compiled()[found.contract_id]
    return found._replace(extra=tuple(sorted(keys - entry.record)) if entry.open else (), ref=ref)


_SENT_NAME = lazy_pattern(r"(?:[^-_.]+[-_.])?(?:my)?(?:pred|submi|entrega|response|respuestas|output|salida)")
_TRUE_NAME = lazy_pattern(r"tru[et]|label|gold|ground|referenc|verdad|etiqueta|solution|cases|casos|inventor|manifest")


def role_by_name(path: str) -> Literal["truth", "submission"] | None:
    """Return the role that the name of a file suggests."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if _TRUE_NAME.search(name):
        return "truth"
    return "submission" if _SENT_NAME.match(name) else None


def is_truth_or_submission(candidates: Collection[str]) -> bool:
    """Return whether a file that matches these contracts equally well is a truth or a submission of the challenge.

    If it may also be a list of cases, it is not clear that it is one of the two.
    """
    challenge = scope()
    return challenge is not None and {challenge.truth, challenge.submission} == set(candidates)


def other_role(contracts: Collection[str]) -> str | None:
    """Return the contract of files that match truth and submission equally well: the one that no other file has.

    None if both or neither are among the contracts of the other files.
    """
    challenge = scope()
    if challenge is None or (challenge.truth in contracts) == (challenge.submission in contracts):
        return None
    return challenge.submission if challenge.truth in contracts else challenge.truth
