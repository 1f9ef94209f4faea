"""The result of `verify`."""

from __future__ import annotations

from typing import Literal

from medcontract.problems import plural
from medcontract.results.base import Count, Result, ResultItem, Row, Sha256, Str
from medcontract.results.score import Environment


class VerifiedFile(ResultItem, frozen=True, kw_only=True):
    """A file that a score states as an input."""

    contract: Str
    """The id of its contract."""
    name: Str
    """Its base name, as stated."""
    state: Literal["same", "differs", "missing"]
    """Whether a file with the stated hash was given, another file in its place, or none."""
    stated: Sha256
    """The stated SHA-256."""
    given: Sha256 | None
    """The SHA-256 of the given file; null if it is missing or cannot be read."""


class Difference(ResultItem, frozen=True, kw_only=True):
    """A value of the score that its files do not give."""

    pointer: str
    """Its place in the score, with … in place of keys that may be data."""
    kind: Literal["value", "not stated", "not computed"]
    """Whether both have a value, or only one."""
    stated: float | bool | None
    """The stated number or truth value; null for anything else."""
    computed: float | bool | None
    """The computed number or truth value; null for anything else."""


class Verification(Result, frozen=True, kw_only=True):
    """The output of `medcontract verify`."""

    ok: bool
    """Whether the files have the stated hashes, and give the stated score."""
    track: Str
    """The track of the score."""
    files: tuple[VerifiedFile, ...]
    """The inputs that the score states, in its order."""
    ignored: tuple[Str, ...]
    """The names of given files that the score does not state."""
    computed: bool
    """Whether the score was computed again."""
    reasons: tuple[Str, ...]
    """Why it was not."""
    differences: tuple[Difference, ...]
    """How the computed score differs from the stated one; at most 100."""
    omitted: Count
    """The number of differences that are not listed."""
    warnings: tuple[Str, ...]
    """Other versions, with which the same files may give another score."""
    medcontract_version: Str
    """The version of medcontract that wrote this."""
    environment: Environment
    """The environment that the score was computed again in."""

    _columns = ("pointer", "kind", "stated", "computed")

    def _rows(self, show_values: bool) -> list[Row]:
        return [each.to_dict() for each in self.differences]

    def __bool__(self) -> bool:
        return self.ok

    @property
    def outcome(self) -> str:
        """What was found, in words."""
        if self.ok:
            return "the files have the stated hashes, and give the stated score"
        states = [file.state for file in self.files]
        found = [f"{plural(states.count('missing'), 'file')} missing"] if "missing" in states else []
        changed = states.count("differs")
        found += [f"{plural(changed, 'file')} {'differs' if changed == 1 else 'differ'}"] if changed else []
        values = len(self.differences) + self.omitted
        if values:
            found.append(f"{plural(values, 'value')} of the score {'differs' if values == 1 else 'differ'}")
        elif self.computed:
            found.append("the files give the stated score")
        return ", ".join(found) or "; ".join(self.reasons)

    def _summary(self) -> str:
        return f"{self.track}: {'verified' if self.ok else 'not verified'}"
