"""The slow path: finds out what is wrong with a record or document that the fast path rejected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from medcontract.contracts.fast_decoder import quick_parse
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.string_patterns import NON_BLANK
from medcontract.problems import Finding, Path
from medcontract.reading.json_scanner import Fault, Scanned, scan
from medcontract.reading.limits import MAX_DEPTH

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_MOST_HINTS = 100
_MOST_KNOWN = 4096
_LONGEST_KNOWN = 2000
_PLAIN_TEXT = re.compile(r"[!-~][ -~]{0,63}")
_ANY_TEXT: tuple[dict[str, Any], ...] = ({"type": "string"}, {"type": "string", "pattern": NON_BLANK})


Rest = list[tuple[Finding, int]]
"""Findings that are only counted: one of each kind, and their number."""


class Examined(NamedTuple):
    """The outcome of the slow path for a record."""

    value: Any
    """None if the record is invalid."""
    findings: list[Finding]
    """Their offsets are relative to the start of the record."""
    parsed: Any = None
    """The parsed JSON, valid or not."""
    rest: Rest | tuple[()] = ()


class KnownMistakes:
    """A cache of findings about the structure of invalid records.

    A file of invalid records usually repeats the same few mistakes. The cache key is the record, except for short plain
    strings in fields that accept any string: whether an id is r1 or r2 makes no difference.
    """

    def __init__(self, contract: CompiledContract) -> None:
        self.spread = contract.spread
        self._free_text = _free_text(contract) if contract.schema_is_complete else None
        self._found: dict[bytes, list[Finding]] = {}

    def key(self, parsed: Any, faults: Sequence[Finding]) -> bytes | None:
        """The cache key of a record; None if there is none, or if it is too long."""
        if self._free_text is None or type(parsed) is not dict or len(parsed) > _MOST_HINTS or len(faults) > 100:
            return None
        outline = dict(parsed)
        for name in self._free_text:
            text = outline.get(name)
            if type(text) is str and _PLAIN_TEXT.fullmatch(text):
                outline[name] = "x"
        try:
            key = msgspec.msgpack.encode((outline, [(f.code, f.path, f.at_key) for f in faults]))
        except (OverflowError, UnicodeEncodeError):  # an integer beyond 64 bits, a lone surrogate
            return None
        return key if len(key) <= _LONGEST_KNOWN else None

    def get(self, key: bytes | None) -> list[Finding] | None:
        return None if key is None else self._found.get(key)

    def keep(self, key: bytes | None, findings: list[Finding]) -> None:
        if key is None:
            return
        if len(self._found) >= _MOST_KNOWN:
            self._found.clear()
        self._found[key] = findings


def _free_text(contract: CompiledContract) -> tuple[str, ...]:
    """The fields of a record that accept any string (or any that is not blank), in each variant that has them."""
    from medcontract.contracts.schema_nodes import variants_of

    variants = [variant.get("properties", {}) for variant in variants_of(contract.record_schema)]
    names = {name for fields in variants for name in fields}
    free = (name for name in names if all(fields.get(name, _ANY_TEXT[0]) in _ANY_TEXT for fields in variants))
    return tuple(sorted(free))


def examine(
    raw: bytes,
    adapter: TypeAdapter[Any],
    schema: dict[str, Any],
    depth: int,
    known: KnownMistakes | None = None,
    in_table: bool = False,
) -> Examined:
    """Check one record by the slow path. May raise `Broken`."""
    parsed = quick_parse(raw, MAX_DEPTH - depth)
    faults: list[Finding] = []
    rest: Rest = []
    if parsed is msgspec.UNSET:
        scanned = scan(raw, depth=depth)
        parsed, faults, rest = scanned.value, list(map(fault_finding, scanned.faults)), counted_only(scanned)
        if any(fault.code == "MC019" for fault in faults):
            return Examined(None, faults[:1], parsed)
    spread = known.spread if known else {}
    if known is None or rest:
        return _examine_structure(parsed, adapter, schema, faults, rest, spread, in_table)
    key = known.key(parsed, faults)
    errors = known.get(key)
    if errors is not None:
        return Examined(None, faults + errors if faults else errors, parsed)
    examined = _examine_structure(parsed, adapter, schema, faults, rest, spread, in_table)
    if examined.findings:
        known.keep(key, examined.findings[len(faults) :] if faults else examined.findings)
    return examined


def _examine_structure(
    parsed: Any,
    adapter: TypeAdapter[Any],
    schema: dict[str, Any],
    faults: list[Finding],
    rest: Rest,
    spread: Mapping[str, Sequence[str]],
    in_table: bool,
) -> Examined:
    """What Pydantic finds, besides faults of the text."""
    from medcontract.contracts.pydantic_errors import check_structure
    from medcontract.contracts.schema_nodes import all_keys

    value, errors = check_structure(adapter, parsed, all_keys(schema))
    if errors:
        from medcontract.hints.keys import with_hints

        errors = with_hints(_without_consequences(errors, faults, rest), schema, parsed, spread, in_table)
    findings = faults + errors if faults else errors
    return Examined(None if findings else value, findings, parsed, rest)


def fault_finding(fault: Fault) -> Finding:
    return Finding(fault.code, fault.message, fault.hint, path=fault.path, offset=fault.offset, at_key=fault.at_key)


def counted_only(scanned: Scanned) -> Rest:
    """The faults of a text that are counted, but not listed."""
    return [(fault_finding(fault), times) for fault, times in scanned.rest.items()]


def _is_inside(path: Path, others: set[Path]) -> bool:
    """Whether one of the other paths leads to the value at this path, or to one that contains it."""
    return bool(others) and any(path[:length] in others for length in range(len(path) + 1))


def _without_consequences(errors: list[Finding], faults: list[Finding], rest: Rest) -> list[Finding]:
    """The errors in the structure, except those that only result from a fault of the same value."""
    error_is_bad = any(finding.path == ("error",) for finding in errors)
    faulty = {fault.path for fault in faults if not fault.at_key}
    faulty_patterns = {fault.path for fault, _ in rest if not fault.at_key}
    bad_keys = {fault.path for fault in faults if fault.code == "MC018" and fault.at_key}

    def is_consequence(finding: Finding) -> bool:
        path = finding.path
        pattern = tuple("*" if isinstance(token, int) else token for token in path) if faulty_patterns else ()
        if _is_inside(path, faulty) or _is_inside(pattern, faulty_patterns):
            return True
        if finding.code == "MC109":
            return error_is_bad
        return finding.code == "MC102" and path[:-1] in bad_keys and "\ufffd" in str(path[-1])

    return [finding for finding in errors if not is_consequence(finding)]
