"""The processing gate: whether enough of the expected items were processed, and the verdict that follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from medcontract.scoring.pairing import Pairing, Sheet, Unscored
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import TooLarge, rounded

if TYPE_CHECKING:
    from medcontract.scoring.scorer import Answers, Counts, Scorer


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
        """Exact: 19 of 20 are 95 %."""
        return self.expected > 0 and Fraction(self.processed, self.expected) >= self.minimum

    @property
    def needed(self) -> int:
        """How many more records would pass."""
        return max(0, ceil(self.minimum * self.expected) - self.processed)

    @property
    def success_rate(self) -> float:
        return rounded(Fraction(self.processed, self.expected))

    @property
    def share(self) -> str:
        return percent(Fraction(self.processed, self.expected), self.minimum)

    @property
    def asked(self) -> str:
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
    """What became of a submission."""

    valid: bool
    processing: Processing | None
    result: dict[str, Any] | None = None
    headline: Fraction | None = None
    second: Fraction | None = None
    headline_name: str | None = None
    decision: str | None = None
    gates: tuple[tuple[str, bool | None], ...] = ()
    """The gates that the decision rests on, and whether each is passed."""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Valid, and the decision is not NO-GO."""
        return self.valid and self.decision != "NO-GO"


def refused_by_gate(scorer: Scorer, answers: Answers) -> Verdict | None:
    """The verdict on a submission that processed too little, before anything is counted that takes time."""
    pairings = answers.pairings.values()
    expected = sum(len(pairing.expected.items) for pairing in pairings)
    gate, run = gate_of(processed_by_run(pairings), expected, scorer.protocol)
    if gate.passed or scorer.result_below_gate:
        return None
    return Verdict(valid=False, processing=gate, reasons=(below_the_gate(gate, run),))


def judge_counts(scorer: Scorer, counts: Counts) -> Verdict:
    """The gate first; above it, what was not processed counts as wrong."""
    gate, worst_run = gate_of(counts.processed, counts.expected, scorer.protocol)
    too_little = () if gate.passed else (below_the_gate(gate, worst_run),)
    if too_little and not scorer.result_below_gate:
        return Verdict(valid=False, processing=gate, reasons=too_little, warnings=counts.warnings)
    try:
        finished = scorer.finish(counts)
    except TooLarge:
        why = "a figure is too large for a double: check the numbers in the submission"
        return Verdict(valid=False, processing=gate, reasons=(why,), warnings=counts.warnings)
    return Verdict(
        valid=not finished.reasons and gate.passed,
        processing=gate,
        result=finished.result,
        headline=finished.headline,
        second=finished.second,
        headline_name=finished.headline_name,
        decision=finished.decision,
        gates=finished.gates,
        reasons=too_little + finished.reasons,
        warnings=counts.warnings + finished.warnings,
    )


def processed_by_run(pairings: Iterable[Pairing[Any, Any]]) -> dict[str, int]:
    """How many expected items were processed in each run, over all pairings."""
    runs: dict[str, int] = {}
    for pairing in pairings:
        for run, count in counts_of_sheets(pairing).items():
            runs[run] = runs.get(run, 0) + count
    return runs


def gate_of(processed: Mapping[str, int], expected: int, protocol: Protocol) -> tuple[Processing, str]:
    """The gate, and the worst run."""
    run, least = min(processed.items(), key=lambda item: (item[1], item[0]))
    return Processing(expected, least, protocol["min_processed"]), run


def below_the_gate(gate: Processing, run: str) -> str:
    more = f"{gate.needed:,} more record{'s' * (gate.needed != 1)} needed"
    where = f"run {shown_id(run)}: " if run else ""
    counted = f"{gate.processed:,} of {gate.expected:,}"
    return f"{where}{gate.share} processed ({counted}), at least {gate.asked} asked for: {more}"


def counts_of_sheets(pairing: Pairing[Any, Any]) -> dict[str, int]:
    """How many expected items were processed, by run."""
    return {run: processed(sheet) for run, sheet in pairing.runs().items()}


def processed(sheet: Sheet) -> int:
    return sum(type(mark) is not Unscored for mark in sheet.values())


def percent(share: Fraction, border: Fraction | None = None) -> str:
    """A share for people; with as many digits as it takes to show on which side of the border it is."""
    digits = 1
    while True:
        text = f"{float(share * 100):.{digits}f}"
        same = border is not None and Fraction(text) >= border * 100 and share < border
        if not same or digits > 12:
            return f"{text.rstrip('0').rstrip('.')} %"
        digits += 1


_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def shown_id(run: str) -> str:
    """The name of a run where it looks like one: anything else may be data."""
    return run if _PLAIN_ID.fullmatch(run) else "…"
