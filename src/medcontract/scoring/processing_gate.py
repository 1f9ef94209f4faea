"""The processing gate: whether enough of the expected items were processed, and the resulting verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from medcontract.problems import plural
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import TooLarge, rounded

if TYPE_CHECKING:
    from medcontract.scoring.scorer import Answers, Finished, Scorer, Tally


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

    def describe(self) -> dict[str, Any]:
        return {
            "expected": self.expected,
            "processed": self.processed,
            "failed": self.failed,
            "success_rate": self.success_rate,
            "minimum": rounded(self.minimum),
            "passed": self.passed,
        }


class Verdict(Struct, kw_only=True):
    """The outcome for a submission."""

    valid: bool
    processing: Processing | None
    result: dict[str, Any] | None = None
    headline: Fraction | None = None
    second: Fraction | None = None
    headline_name: str | None = None
    decision: str | None = None
    gates: tuple[tuple[str, bool | None], ...] = ()
    """The gates that the decision is based on, and whether each is passed."""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    about_figures: tuple[str, ...] = ()
    """The warnings that the figures gave, which others under another protocol may not give."""

    @property
    def good(self) -> bool:
        """Valid, and the decision is not NO-GO."""
        return self.valid and self.decision != "NO-GO"


def refused_by_gate(scorer: Scorer, answers: Answers) -> Verdict | None:
    """The verdict on a submission that does not pass the gate, before the expensive tally."""
    pairings = answers.pairings.values()
    expected = sum(pairing.expected.total for pairing in pairings)
    gate, run = gate_of(processed_by_run(pairings), expected, scorer.protocol)
    if gate.passed or scorer.result_below_gate:
        return None
    return Verdict(valid=False, processing=gate, reasons=(below_the_gate(gate, run),))


def verdict_on(scorer: Scorer, tally: Tally, check: Callable[[Finished], object] | None = None) -> Verdict:
    """The verdict on a tally: the gate first; above it, items that are not processed count as wrong.

    `check` gets what the scorer returns, and may raise.
    """
    gate, worst_run = gate_of(tally.processed, tally.expected, scorer.protocol)
    gate_reasons = () if gate.passed else (below_the_gate(gate, worst_run),)
    if gate_reasons and not scorer.result_below_gate:
        return Verdict(valid=False, processing=gate, reasons=gate_reasons)
    try:
        finished = scorer.figures(tally)
        if check:
            check(finished)
    except TooLarge:
        reason = "a figure is too large for a double: check the numbers in the submission"
        return Verdict(valid=False, processing=gate, reasons=(reason,))
    return Verdict(
        valid=not finished.reasons and gate.passed,
        processing=gate,
        result=finished.result,
        headline=finished.headline,
        second=finished.second,
        headline_name=finished.headline_name,
        decision=finished.decision,
        gates=finished.gates,
        reasons=gate_reasons + finished.reasons,
        warnings=finished.warnings,
        about_figures=finished.warnings,
    )


def processed_by_run(pairings: Iterable[Pairing]) -> dict[str, int]:
    """How many expected items were processed in each run, over all pairings."""
    runs: dict[str, int] = {}
    for pairing in pairings:
        for run, count in processed_counts(pairing).items():
            runs[run] = runs.get(run, 0) + count
    return runs


def gate_of(processed: Mapping[str, int], expected: int, protocol: Protocol) -> tuple[Processing, str]:
    """The gate of the worst run, and that run."""
    run, least = min(processed.items(), key=lambda item: (item[1], item[0]))
    return Processing(expected, least, protocol["min_processed"]), run


def below_the_gate(gate: Processing, run: str) -> str:
    more = f"{plural(gate.needed, 'more record')} needed"
    where = f"run {shown_id(run)}: " if run else ""
    counted = f"{gate.processed:,} of {gate.expected:,}"
    return f"{where}{gate.share} processed ({counted}), at least {gate.required} required: {more}"


def processed_counts(pairing: Pairing) -> dict[str, int]:
    """How many expected items were processed, by run."""
    return {run: marks.processed for run, marks in pairing.runs().items()}


def percent(share: Fraction, minimum: Fraction | None = None) -> str:
    """A share as text, with enough digits to show that it is below the minimum, if it is."""
    digits = 1
    while True:
        text = f"{float(share * 100):.{digits}f}"
        misleading = minimum is not None and Fraction(text) >= minimum * 100 and share < minimum
        if not misleading or digits > 12:
            return f"{text.rstrip('0').rstrip('.')} %"
        digits += 1


_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def shown_id(run: str) -> str:
    """The name of a run if it looks like an identifier; anything else may be data."""
    return run if _PLAIN_ID.fullmatch(run) else "…"
