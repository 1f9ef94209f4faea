"""From answers to a verdict, the same way for every track.

A track measures each processed record where it meets its expected item (`Pair.measure`), the sheets of marks are
merged (`gate.merge`), `count` makes small exact numbers of a sheet, and `finish` makes figures of these numbers
and a protocol. Only `measure` sees records; nothing depends on their order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

from msgspec import Struct

from medcontract.scoring.exact import TooLarge
from medcontract.scoring.gate import Pair, Pairing, Processing, Unscored, processed
from medcontract.scoring.protocol import Protocol


class Figure(Struct, frozen=True, kw_only=True):
    """One number of a result: what it is, and what is always true of it."""

    name: str
    about: str
    """The formula in words."""
    low: int | None = 0
    high: int | None = 1
    perfect: int | None = None
    """What a perfect submission gets, where that is one number."""
    leaving_out: Literal["never helps", "a right one never helps"] | None = None
    """What leaving a record out can do to it."""
    by: Literal["submission", "class", "case", "document", "task"] = "submission"
    """Figures finer than a submission are not for participants."""
    unit: str = ""


class Answers(Struct, kw_only=True):
    """What streaming left of a submission, for a track to count."""

    pairings: dict[str, Pairing[Any, Any]]
    """By the contract of the truth."""
    documents: dict[str, Any]
    """Values of auxiliary files, by contract."""
    headers: dict[str, dict[str, Any]]
    """By contract."""
    names: dict[str, tuple[str, ...]]
    """The base names of the files of each contract, sorted."""

    def pairing(self) -> Pairing[Any, Any]:
        """Of a track that has just one."""
        (only,) = self.pairings.values()
        return only


class Counts(Struct, kw_only=True):
    """Everything that figures are made of: small, exact, fit to be kept by the thousand."""

    expected: int
    processed: dict[str, int]
    """By run; "" where a track has none."""
    data: Any
    """What the track itself needs."""
    warnings: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()
    """Warnings that are not for participants."""


class Finished(Struct, kw_only=True):
    """The figures of a submission that passed the gate."""

    result: dict[str, Any]
    headline: Fraction | None
    """What submissions are ranked by."""
    second: Fraction | None = None
    """What they are ranked by where none has a headline."""
    reasons: tuple[str, ...] = ()
    """Why it is not valid all the same."""
    warnings: tuple[str, ...] = ()


class Verdict(Struct, kw_only=True):
    """What became of a submission."""

    valid: bool
    processing: Processing | None
    result: dict[str, Any] | None = None
    headline: Fraction | None = None
    second: Fraction | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Limit(Struct, frozen=True, kw_only=True):
    """Something that a submission may not exceed, as far as its files tell."""

    id: str
    title: str
    contract: str
    """The contract of the files that tell."""
    passed: bool | None
    """None: they are not there."""
    detail: str


class Track(ABC):
    """A track: what it reads, and how it counts."""

    id: ClassVar[str]
    result_contract: ClassVar[str]
    pairs: ClassVar[tuple[Pair[Any, Any], ...]]
    auxiliary: ClassVar[tuple[str, ...]] = ()
    """Contracts of files that a score uses where they are given."""
    expecting: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(contract, contract of a truth): files that list the expected ids, for those who have no such truth."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Header fields that the result holds."""
    protocol: ClassVar[Protocol]
    figures: ClassVar[tuple[Figure, ...]]
    headline: ClassVar[str]
    """The name of the figure that submissions are ranked by."""
    second: ClassVar[str] = ""
    """The name of the figure that they are ranked by where none has that one."""

    @abstractmethod
    def count(self, answers: Answers) -> Counts: ...

    @abstractmethod
    def finish(self, counts: Counts, protocol: Protocol) -> Finished: ...

    @abstractmethod
    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        """The result without figures by class, case or document."""

    def check(self, protocol: Protocol) -> None:
        """Whether the parameters fit each other. Raises `CallError`."""
        return

    def probe(self, record: Any) -> Any:
        """What can be measured of a record without a truth."""
        return True

    def limits(
        self, pairings: Mapping[str, Pairing[Any, Any]], documents: Mapping[str, Any], protocol: Protocol
    ) -> Iterator[Limit]:
        """The limits of the track, on records that were probed."""
        return iter(())

    def for_competition(self, protocol: Protocol, valid: Sequence[Counts]) -> Protocol:
        """The protocol with what only all valid submissions together say."""
        return protocol

    def runs(self, documents: dict[str, Any]) -> tuple[str, ...] | None:
        """The runs that count, where an auxiliary file says so."""
        return None


def counts_of_sheets(pairing: Pairing[Any, Any]) -> dict[str, int]:
    return {run: processed(sheet) for run, sheet in pairing.runs().items()}


def marks(pairing: Pairing[Any, Any], run: str) -> list[Any]:
    """For each expected item its mark, or None when it is not processed."""
    sheet = pairing.runs()[run]
    found = (sheet.get(number) for number in range(len(pairing.expected.items)))
    return [None if type(mark) is Unscored else mark for mark in found]


def judge_counts(track: Track, counts: Counts, protocol: Protocol) -> Verdict:
    """The gate first; above it, what was not processed counts as wrong."""
    minimum = protocol["min_processed"]
    worst_run, least = min(counts.processed.items(), key=lambda run: (run[1], run[0]))
    gate = Processing(counts.expected, least, minimum)
    if not gate.passed:
        return Verdict(
            valid=False, processing=gate, reasons=(below_the_gate(gate, worst_run),), warnings=counts.warnings
        )
    try:
        finished = track.finish(counts, protocol)
    except TooLarge:
        why = "a figure is too large for a double: check the numbers in the submission"
        return Verdict(valid=False, processing=gate, reasons=(why,), warnings=counts.warnings)
    return Verdict(
        valid=not finished.reasons,
        processing=gate,
        result=finished.result,
        headline=finished.headline,
        second=finished.second,
        reasons=finished.reasons,
        warnings=counts.warnings + finished.warnings,
    )


def below_the_gate(gate: Processing, run: str) -> str:
    more = f"{gate.needed:,} more record{'s' * (gate.needed != 1)} needed"
    where = f"run {run}: " if run else ""
    counted = f"{gate.processed:,} of {gate.expected:,}"
    return f"{where}{gate.share} processed ({counted}), at least {gate.asked} asked for: {more}"
