"""A schema with all that it refers to, ready to be applied to values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from jsonschema.protocols import Validator

from medcontract.foreign.explain import KnownKeys, explain
from medcontract.foreign.keywords import Memory, TooMuchWork
from medcontract.foreign.room import with_room
from medcontract.problems import Finding


class Checker(NamedTuple):
    """A schema that is ready for use."""

    validator: Validator
    memory: Memory
    known_keys: KnownKeys

    def findings(self, value: Any) -> list[Finding]:
        """What is wrong with a value. May raise `RecursionError`, `TooMuchWork` and `TooSlow`."""
        try:
            for steps, everything in _budgets(value):
                with suppress(TooMuchWork):
                    return with_room(lambda: self._explain(value, steps, everything))  # noqa: B023  # used at once
            raise TooMuchWork
        finally:
            self.memory.begin(0, False)

    def _explain(self, value: Any, steps: int, everything: bool) -> list[Finding]:
        self.memory.begin(steps, everything)
        return explain(self.validator.iter_errors(value), self.known_keys)


def _budgets(value: Any) -> Iterator[tuple[int, bool]]:
    """How many references may be followed, and whether what they say is remembered, which costs memory."""
    yield _FEW_STEPS, False
    size = _size(value)
    if size * _STEPS_A_MEMBER > _FEW_STEPS:
        yield size * _STEPS_A_MEMBER, False
    yield MOST_STEPS + size * _MOST_STEPS_A_MEMBER, True


_FEW_STEPS = 2_000
_STEPS_A_MEMBER = 20
_MOST_STEPS_A_MEMBER = 200
MOST_STEPS = 50_000
"""Some seconds."""


def _size(value: Any) -> int:
    """How many values there are inside a value, itself included."""
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        count += 1
        if isinstance(item, dict | list):
            stack += item.values() if isinstance(item, dict) else item
    return count
