"""From answers to figures: what a track computes, bound to a protocol, to options and to the files that are there.

A scorer measures each processed record where it meets its expected item (`Pair.measure`), the sheets of marks are
merged (`pairing.merge`), `count` turns a sheet into small exact numbers, and `finish` turns these into figures. Only
`measure` sees records; nothing depends on their order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from msgspec import Struct

from medcontract.results.leaderboard import CombinedScore
from medcontract.results.score import FailureMode, ItemBreakdown
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.processing_gate import Verdict
from medcontract.scoring.protocol import Protocol


class ScoringOptions(Struct, frozen=True, kw_only=True):
    """What a caller asks of a score besides parameters of the protocol."""

    breakdown: bool = False
    """Say of each item or sample what became of it."""
    values: bool = False
    """Texts of records may be shown."""
    plugin_errors: bool = False
    """Messages of exceptions in custom metrics may be shown: they may quote a record, and the truth."""
    options: Mapping[str, Any] = {}
    """Values of the options that the track declares (`Track.options`), as they were parsed, by name."""
    plugins: tuple[str, ...] = ()
    """Modules that worker processes load, too."""


NO_OPTIONS = ScoringOptions()


class Answers(Struct, kw_only=True):
    """What streaming left of a submission, for a scorer to count."""

    pairings: dict[str, Pairing[Any, Any]]
    """By the contract of the truth."""
    documents: dict[str, Any]
    """Values of auxiliary files, by contract."""
    headers: dict[str, dict[str, Any]]
    """By contract."""
    names: dict[str, tuple[str, ...]]
    """The base names of the files of each contract, sorted."""
    settings: dict[str, str] = {}
    """Fields of the result that the caller sets (`ResultFields.settable`)."""

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
    headline_name: str | None = None
    """Where it is not that of the track."""
    reasons: tuple[str, ...] = ()
    """Why it is not valid all the same."""
    decision: str | None = None
    """GO or NO-GO, where the track decides."""
    gates: tuple[tuple[str, bool | None], ...] = ()
    """The gates that the decision rests on, and whether each is passed."""
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
    failure: tuple[str, str] = ("beyond a limit", "no score comes of it")
    """What it means not to pass, and what comes of it."""


class Scorer(ABC):
    """How a track scores one submission. Required: `pairs`, `count`, `finish`."""

    pairs: tuple[Pair[Any, Any], ...]
    """How records of a truth and of a submission find each other, and what is measured of them."""

    result_below_gate: ClassVar[bool] = False
    """There is a result below the processing gate, too."""
    explains: ClassVar[bool] = False
    """It can explain each item or sample (`--breakdown`)."""
    rescores: ClassVar[bool] = False
    """It can score a result that was made elsewhere (`rescore`)."""

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        """`contracts` are those of the files that are there. Raises `CallError` where these make no submission."""
        self.protocol = protocol
        self.options = options

    @abstractmethod
    def count(self, answers: Answers) -> Counts:
        """Small exact numbers of all that was measured."""

    @abstractmethod
    def finish(self, counts: Counts) -> Finished:
        """The figures, under the protocol."""

    # Optional: what `preflight` checks.

    def probe(self, record: Any) -> Any:
        """What can be measured of a record without a truth."""
        return True

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        result: Mapping[str, Any] | None,
    ) -> Iterable[Limit]:
        """The limits of the track, on records that were probed; on a result too, where there is one."""
        return ()

    # Optional: what explains a score to a person.

    def remediation(self, counts: Counts) -> Sequence[FailureMode]:
        """What to fix first: how often which field was wrong in which way."""
        return ()

    def breakdown(self, counts: Counts) -> Sequence[ItemBreakdown]:
        """What became of each item, where that is not a part of the result."""
        return ()

    def hints(self, counts: Counts) -> Iterable[str]:
        """What would help a person; they may hold values."""
        return ()

    # Optional: scores that are weighed, and results that were made elsewhere.

    def combined(self, documents: Mapping[str, Any]) -> dict[str, CombinedScore] | None:
        """How metrics are weighed into one figure, by its name. Raises `CallError` for weights that disagree."""
        return None

    def rescore(self, name: str, result: Any, documents: Mapping[str, Any], fields: Mapping[str, str]) -> Verdict:
        """The verdict on a result that was made elsewhere: a document of the result contract in a file of this name.

        `documents` are auxiliary files, by contract; `fields` are those of the result that the caller sets.
        """
        raise NotImplementedError
