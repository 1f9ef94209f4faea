"""A schema with all that it refers to, ready to be applied to values."""

from __future__ import annotations

from typing import Any, NamedTuple

from jsonschema.protocols import Validator

from medcontract.foreign.explain import KnownKeys, explain
from medcontract.foreign.keywords import Memory
from medcontract.foreign.room import with_room
from medcontract.problems import Finding


class Checker(NamedTuple):
    """A schema that is ready for use."""

    validator: Validator
    memory: Memory
    known_keys: KnownKeys

    def findings(self, value: Any) -> list[Finding]:
        """What is wrong with a value. May raise `RecursionError`."""
        try:
            return with_room(lambda: explain(self.validator.iter_errors(value), self.known_keys))
        finally:
            self.memory.told.clear()
