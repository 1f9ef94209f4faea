"""Scorers: how a track computes figures from answers, for a given protocol, options and set of files.

A scorer measures each processed record together with its expected item (`Pair.measure`). The resulting marks are merged
(`Marks.merge`), `tally` adds them up over the cases, and `figures` turns that sum into figures. Only `measure` sees
records, and nothing depends on their order. Tallies of different cases can be added, and a case can have a weight.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from medcontract.problems import Severity, plural
from medcontract.results.leaderboard import CombinedScore
from medcontract.results.score import FailureMode, ItemBreakdown
from medcontract.results.tables import Table
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import rounded
from medcontract.scoring.sums import added, multiplied
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling


Documents = Mapping[str, Any]
"""Values of auxiliary files, by contract."""


class Processing(Struct, frozen=True):
    """How many of the expected items were processed, and whether that is enough."""

    expected: int
    processed: int
    minimum: Fraction

    @property
    def failed(self) -> int:
        return self.expected - self.processed

    @property
    def passed(self) -> bool:
        """Computed exactly: 19 of 20 are 95 %."""
        return self.expected > 0 and Fraction(self.processed, self.expected) >= self.minimum

    @property
    def needed(self) -> int:
        """How many more processed items would pass the gate."""
        return max(0, ceil(self.minimum * self.expected) - self.processed)

    @property
    def success_rate(self) -> float:
        return rounded(Fraction(self.processed, self.expected))

    @property
    def share(self) -> str:
        return percent(Fraction(self.processed, self.expected), self.minimum)

    @property
    def required(self) -> str:
        return percent(self.minimum)

    def describe(self) -> JsonObject:
        return {
            "expected": self.expected,
            "processed": self.processed,
            "failed": self.failed,
            "success_rate": self.success_rate,
            "minimum": rounded(self.minimum),
            "passed": self.passed,
        }


def processed_by_run(pairings: Iterable[Pairing]) -> dict[str, int]:
    """Return how many expected items were processed in each run, over all pairings."""
    runs: dict[str, int] = {}
    for pairing in pairings:
        for run, count in processed_counts(pairing).items():
            runs[run] = runs.get(run, 0) + count
    return runs


def gate_of(processed: Mapping[str, int], expected: int, protocol: Protocol) -> tuple[Processing, str]:
    """Return the gate of the worst run, and that run."""
    run, least = min(processed.items(), key=lambda item: (item[1], item[0]))
    return Processing(expected, least, protocol["min_processed"]), run


def below_the_gate(gate: Processing, run: str) -> str:
    more = f"{plural(gate.needed, 'more record')} needed"
    where = f"run {shown_id(run)}: " if run else ""
    counted = f"{gate.processed:,} of {gate.expected:,}"
    return f"{where}{gate.share} processed ({counted}), at least {gate.required} required: {more}"


def processed_counts(pairing: Pairing) -> dict[str, int]:
    """Return how many expected items were processed, by run."""
    return {run: marks.processed for run, marks in pairing.runs().items()}


def percent(share: Fraction, minimum: Fraction | None = None) -> str:
    """Return a share as text, with enough digits to show that it is below the minimum, if it is."""
    digits = 1
    while True:
        text = f"{float(share * 100):.{digits}f}"
        misleading = minimum is not None and Fraction(text) >= minimum * 100 and share < minimum
        if not misleading or digits > 12:
            return f"{text.rstrip('0').rstrip('.')} %"
        digits += 1


_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def shown_id(run: str) -> str:
    """Return the name of a run if it looks like an identifier; anything else may be data."""
    return run if _PLAIN_ID.fullmatch(run) else "…"


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


NO_OPTIONS = ScoringOptions()


class Answers(Struct, kw_only=True):
    """A submission after reading, for a scorer to tally."""

    pairings: dict[str, Pairing]
    """By the contract of the truth."""
    documents: Documents
    """Values of auxiliary files, by contract."""
    headers: dict[str, JsonObject]
    """By contract."""
    names: dict[str, tuple[str, ...]]
    """The base names of the files of each contract, sorted."""
    settings: dict[str, str] = {}
    """Fields of the result that the caller sets (`ResultFields.settable`)."""

    def pairing(self) -> Pairing:
        """Return the pairing of a track that has only one."""
        (only,) = self.pairings.values()
        return only

    def only(self, numbers: Mapping[str, Sequence[int]]) -> Answers:
        """Return the answers for some cases: the indexes of their items, by the contract of the truth."""
        pairings = {truth: pairing.only(numbers.get(truth, ())) for truth, pairing in self.pairings.items()}
        return replace(self, pairings=pairings)


class Tally(Struct, kw_only=True):
    """Everything that figures are computed from: an exact sum over cases, whether they have records or not."""

    expected: int
    processed: dict[str, int]
    """By run; "" for a track without runs. All tallies of a submission have all its runs."""
    data: Any
    """The sum that the track needs, made of what `sums.added` can add."""
    context: Any = None
    """What else the track needs, whatever the cases: a header, or auxiliary files."""

    def merge(self, other: Tally) -> Tally:
        """Return the tally of the cases of both; the context is the same."""
        return Tally(
            expected=self.expected + other.expected, processed=added(self.processed, other.processed),
            data=added(self.data, other.data), context=self.context,
        )  # fmt: skip

    def times(self, weight: int) -> Tally:
        """Return the tally if each case counts `weight` times; 0: as if it were in neither file."""
        processed = {run: count * weight for run, count in self.processed.items()}
        data = multiplied(self.data, weight)
        return Tally(expected=self.expected * weight, processed=processed, data=data, context=self.context)


class Notes(Struct, kw_only=True):
    """What a tally shows besides figures."""

    warnings: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()
    """Warnings that participants do not see, since they reveal the truth."""
    remarks: tuple[Remark, ...] = ()
    """Warnings with a code, which `preflight` shows as problems."""
    costly: tuple[Remark, ...] = ()
    """More of them, which take as long to find as the score: a ranking does not show them."""


class Finished(Struct, kw_only=True):
    """The figures of a submission, or why there are none. Without a reason against it, the score is valid."""

    result: JsonObject | None
    headline: Fraction | None
    """The figure that submissions are ranked by."""
    second: Fraction | None = None
    """The figure that they are ranked by if there is no headline."""
    tie_breakers: tuple[Fraction, ...] = ()
    """What equal headlines are compared by in a ranking; higher is better."""
    headline_name: str | None = None
    """The name of the headline, if the track has another one."""
    reasons: tuple[str, ...] = ()
    """Why the score is not valid."""
    decision: str | None = None
    """GO or NO-GO, for tracks with a decision."""
    gates: tuple[tuple[str, bool | None], ...] = ()
    """The gates that the decision is based on, and whether each is passed."""
    warnings: tuple[str, ...] = ()
    """About the figures: others under another protocol may not give them."""
    processing: Processing | None = None
    """The processing gate. medcontract fills it in."""

    @property
    def valid(self) -> bool:
        return not self.reasons


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
    """How a track scores one submission. Required: `pairs`, `tally`, `figures`."""

    pairs: tuple[Pair, ...]
    """How records of a truth and of a submission are paired, and what is measured."""

    result_below_gate: ClassVar[bool] = False
    """There is a result even below the processing gate."""
    explains: ClassVar[bool] = False
    """It can explain each item or sample (`--breakdown`)."""
    rescores: ClassVar[bool] = False
    """It can score an existing result again (`rescore`)."""

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        """`contracts`: of the given files. Raises `CallError` if these do not form a submission."""
        self.protocol = protocol
        self.options = options

    @abstractmethod
    def tally(self, answers: Answers) -> Tally:
        """Add up what was measured, for whatever cases the answers have."""

    @abstractmethod
    def figures(self, tally: Tally) -> Finished:
        """Compute the figures under the protocol."""

    def notes(self, tally: Tally) -> Notes:
        """Return what else the tally shows, also if a figure is too large."""
        return Notes()

    # Optional: what `preflight` checks.

    def probe(self, record: Any) -> Any:
        """Measure what can be measured without a truth."""
        return True

    def limits(
        self,
        pairings: Mapping[str, Pairing],
        documents: Documents,
        result: Mapping[str, Any] | None,
    ) -> Iterable[Limit]:
        """Check the limits of the track, on probed records and, if there is one, on the result."""
        return ()

    def remarks(self, pairings: Mapping[str, Pairing], documents: Documents) -> Iterable[Remark]:
        """Find what looks like a mistake, even without a truth: in probed records and auxiliary files."""
        return ()

    def constant(self, items: Sequence[Any]) -> Any:
        """Return the mark of the best answer that is the same for all these expected items; None: not known."""
        return None

    def oddities(self, documents: Documents) -> Iterable[Remark]:
        """Find what is valid, but improbable in auxiliary files: the same in `preflight` and `score`."""
        return ()

    # Optional: intervals, much faster than by weighted tallies.

    def resampled(self, answers: Answers, samples: Samples, result: Mapping[str, Any]) -> Resampling | None:
        """Compute the figures of a result that depend on cases in every replicate. Needs NumPy."""
        return None

    def judged(self, finished: Finished, intervals: Mapping[str, tuple[float, float] | None]) -> Finished:
        """Decide once there are intervals, which are given by the JSON pointer of their figure."""
        return finished

    # Optional: explanations of a score.

    def remediation(self, tally: Tally) -> Sequence[FailureMode]:
        """Return what to fix first: how often each field was wrong, and in which way."""
        return ()

    def breakdown(self, tally: Tally) -> Sequence[ItemBreakdown]:
        """Explains each item, if that is not part of the result."""
        return ()

    def pictures(self, tally: Tally) -> Iterable[Table]:
        """Tables and charts for pages, of what the result does not contain."""
        return ()

    def hints(self, tally: Tally) -> Iterable[str]:
        """Hints for users, which may contain values."""
        return ()

    # Optional: combined scores, and scoring existing results again.

    def combined(self, documents: Documents) -> dict[str, CombinedScore] | None:
        """Return how metrics are combined into a figure, by its name. Raises `CallError` for contradictory weights."""
        return None

    def rescore(self, name: str, result: Any, documents: Documents, fields: Mapping[str, str]) -> Finished:
        """Score an existing result again: a document of the result contract, from a file with this name.

        `documents` are auxiliary files, by contract; `fields` are fields of the result that the caller sets.
        """
        raise NotImplementedError


def weighted(scorer: Scorer, answers: Answers, weights: Mapping[str, Sequence[int]]) -> Tally:
    """Return the tally with a weight, 0 or more, for each item of each truth, by its contract."""
    different = {weight for each in weights.values() for weight in each} - {0} or {0}
    tallies = []
    for weight in sorted(different):
        numbers = {truth: [n for n, its in enumerate(each) if its == weight] for truth, each in weights.items()}
        tallies.append(scorer.tally(answers.only(numbers)).times(weight))
    return reduce(Tally.merge, tallies)
