"""Ids of a submission that are written in another way than the expected ones: lost zeros, a prefix, blanks, case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from medcontract.contracts.contract import Validated
from medcontract.evaluation.near_misses import folded, near_pairs
from medcontract.problems import Finding

UNKNOWN_ID = "MC502"
"""The code of an id that differs from an expected one only in how it is written."""
Id = tuple[str, ...]


def right_ids(given: Iterable[Id | None], expected: Collection[Id]) -> dict[Id, Id]:
    """Return the expected id for each given one that can mean no other one, and that no other one means.

    A prefix or suffix counts only if it explains all ids that are not expected.
    """
    known, found = set(expected), list(dict.fromkeys(filter(None, given)))
    unknown = [each for each in found if each not in known]
    is_single = all(len(each) == 1 for each in known)
    pairs = near_pairs(map(_key, unknown), list(map(_key, known))) if unknown else []
    as_ids = {((mine,), (true,)) if is_single else (mine, true) for mine, true in pairs}
    forms = Counter(_form(each) for each in known)
    times = Counter(true for _, true in as_ids)
    complete = len(as_ids) == len(unknown)
    return {
        mine: true
        for mine, true in as_ids
        if times[true] == 1 and true not in found and forms[_form(true)] == 1
        and (complete or _form(mine) == _form(true))
    }  # fmt: skip


def _key(each: Id) -> Any:
    return each[0] if len(each) == 1 else each


def _form(each: Id) -> Any:
    """Return what an id is without case, accents, zeros at its start, blanks and separators."""
    return tuple("".join(char for char in folded(part) if char.isalnum()) for part in each)


class IdSink:
    """Collects the ids of all records in their order or, given the right or the expected ones, finds others."""

    def __init__(
        self, fields: Sequence[str], right: dict[Id, Id] | None = None, expected: Collection[Id] | None = None
    ) -> None:
        self.fields = fields
        self.right = right or {}
        self.expected = expected
        self.ids: list[Id | None] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        return [
            (position, finding)
            for position, record in enumerate(records.value)
            for finding in self._see([getattr(record, name, None) for name in self.fields])
        ]

    def reject(self, parsed: Any) -> Sequence[Finding]:
        return self._see([parsed.get(name) for name in self.fields] if isinstance(parsed, dict) else [])

    def end(self, complete: bool) -> None:
        """Nothing to do."""

    def _see(self, values: Sequence[Any]) -> list[Finding]:
        texts = [str(value) for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)]
        mine = tuple(texts) if texts and len(texts) == len(self.fields) else None
        self.ids.append(mine)
        if self.expected is not None and mine and mine not in self.expected:
            message = (
                f"this id is not among the {len(self.expected):,} expected ones, and it is not clear which one it is"
            )
            return [Finding("MC303", message, path=(self.fields[0],), severity="warning")]
        true = self.right.get(mine) if mine else None
        return [
            Finding(UNKNOWN_ID, "", path=(name,), severity="warning")
            for name, value, right in zip(self.fields, values, true or (), strict=bool(true))
            if value != right
        ]
