"""Scorers: how a track computes figures from answers, for a given protocol, options and set of files.

A scorer measures each processed record together with its expected item (`Pair.measure`). The resulting marks are merged
(`pairing.merge`), `count` reduces them to small exact numbers, and `finish` turns these into figures. Only `measure`
sees records, and nothing depends on their order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from msgspec import Struct

from medcontract.problems import Severity
from medcontract.results.leaderboard import CombinedScore
from medcontract.results.score import FailureMode, ItemBreakdown
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.processing_gate import Verdict
from medcontract.scoring.protocol import Protocol


class ScoringOptions(Struct, frozen=True, kw_only=True):
    """The caller's options for scoring, other than parameters of the protocol."""

    breakdown: bool = False
    """Explain each item or sample."""
    values: bool = False
    """Text from records may be shown."""
    plugin_errors: bool = False
    """Messages of exceptions in custom metrics may be shown; they may quote records and the truth."""
    options: Mapping[str, Any] = {}
    """Parsed values of the options that the track declares (`Track.options`), by name."""
    plugins: tuple[str, ...] = ()
    """Modules that worker processes must load."""
    challenge: tuple[str, bytes] | None = None
    """The name and content of the challenge file in use, which worker processes must load."""


NO_OPTIONS = ScoringOptions()


class Answers(Struct, kw_only=True):
    """A submission after reading, for a scorer to count."""

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
        """The pairing of a track that has only one."""
        (only,) = self.pairings.values()
        return only


class Counts(Struct, kw_only=True):
    """Everything that figures are computed from: exact, and small enough to keep thousands in memory."""

    expected: int
    processed: dict[str, int]
    """By run; "" for a track without runs."""
    data: Any
    """Data of the track."""
    warnings: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()
    """Warnings that participants do not see, since they reveal the truth."""
    remarks: tuple[Remark, ...] = ()
    """Warnings with a code, which `preflight` shows as problems."""


class Finished(Struct, kw_only=True):
    """The figures of a submission that passed the gate."""

    result: dict[str, Any]
    headline: Fraction | None
    """The figure that submissions are ranked by."""
    second: Fraction | None = None
    """The figure that they are ranked by if there is no headline."""
    headline_name: str | None = None
    """The name of the headline, if it differs from that of the track."""
    reasons: tuple[str, ...] = ()
    """Why the score is nevertheless not valid."""
    decision: str | None = None
    """GO or NO-GO, for tracks with a decision."""
    gates: tuple[tuple[str, bool | None], ...] = ()
    """The gates that the decision is based on, and whether each is passed."""
    warnings: tuple[str, ...] = ()


class Limit(Struct, frozen=True, kw_only=True):
    """A limit that a submission must not exceed, as checked by `preflight`."""

    id: str
    title: str
    contract: str
    """The contract of the files that contain the measured values."""
    passed: bool | None
    """None if these files are missing."""
    detail: str
    failure: tuple[str, str] = ("limit exceeded", "stay within the limit; otherwise there is no score")
    """Message and hint if it is not passed."""
    code: str = "MC402"
    """The code of the problem if it is not passed."""


class Remark(Struct, frozen=True, kw_only=True):
    """Something that looks like a mistake, as reported by `preflight` and, if it is counted, by `score`."""

    contract: str
    """The contract of the files that it is about."""
    message: str
    hint: str | None = None
    code: str = "MC503"
    severity: Severity = "warning"
    reveals_truth: bool = False
    """Participants do not see it."""


class Scorer(ABC):
    """How a track scores one submission. Required: `pairs`, `count`, `finish`."""

    pairs: tuple[Pair[Any, Any], ...]
    """How records of a truth and of a submission are paired, and what is measured."""

    result_below_gate: ClassVar[bool] = False
    """There is a result even below the processing gate."""
    explains: ClassVar[bool] = False
    """It can explain each item or sample (`--breakdown`)."""
    rescores: ClassVar[bool] = False
    """It can score an existing result again (`rescore`)."""

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        """`contracts` are those of the given files. Raises `CallError` if these do not form a submission."""
        self.protocol = protocol
        self.options = options

    @abstractmethod
    def count(self, answers: Answers) -> Counts:
        """Reduce everything that was measured to small exact numbers."""

    @abstractmethod
    def finish(self, counts: Counts) -> Finished:
        """Compute the figures under the protocol."""

    # Optional: what `preflight` checks.

    def probe(self, record: Any) -> Any:
        """Measure what can be measured without a truth."""
        return True

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        result: Mapping[str, Any] | None,
    ) -> Iterable[Limit]:
        """Check the limits of the track, on probed records and, if there is one, on the result."""
        return ()

    def remarks(self, pairings: Mapping[str, Pairing[Any, Any]], documents: Mapping[str, Any]) -> Iterable[Remark]:
        """What looks like a mistake, even without a truth: in probed records and auxiliary files."""
        return ()

    # Optional: explanations of a score.

    def remediation(self, counts: Counts) -> Sequence[FailureMode]:
        """What to fix first: how often each field was wrong, and in which way."""
        return ()

    def breakdown(self, counts: Counts) -> Sequence[ItemBreakdown]:
        """Explains each item, if that is not part of the result."""
        return ()

    def hints(self, counts: Counts) -> Iterable[str]:
        """Hints for users, which may contain values."""
        return ()

    # Optional: combined scores, and scoring existing results again.

    def combined(self, documents: Mapping[str, Any]) -> dict[str, CombinedScore] | None:
        """How metrics are combined into one figure, by its name. Raises `CallError` for contradictory weights."""
        return None

    def rescore(self, name: str, result: Any, documents: Mapping[str, Any], fields: Mapping[str, str]) -> Verdict:
        """The verdict on an existing result: a document of the result contract, from a file with this name.

        `documents` are auxiliary files, by contract; `fields` are fields of the result that the caller sets.
        """
        raise NotImplementedError
