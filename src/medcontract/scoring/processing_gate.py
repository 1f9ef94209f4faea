"""The processing gate: whether enough of the expected items were processed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from msgspec import Struct

from medcontract.problems import plural
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import rounded


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
