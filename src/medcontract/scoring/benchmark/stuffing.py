"""Rationales that may be made for the metric, not for the case: one text for many samples, or mostly markers.

`docs/scoring.md` explains why no honest submission reaches these limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from hashlib import blake2b
from typing import NamedTuple

from medcontract.problems import plural
from medcontract.scoring.benchmark.metrics import Side
from medcontract.scoring.scorer import Remark

_FEWEST_MARKERS = 3
"""A repeated rationale with fewer markers, such as a refusal, gains next to nothing."""
_SAME, _SHARE_SAME = 5, Fraction(1, 2)
"""Samples with the same rationale, and the share of all rationales that such samples make up."""
_MANY_MARKERS, _DENSITY = 25, Fraction(1, 2)
"""Different markers in a rationale, and per word."""
_DENSE, _SHARE_DENSE = 3, Fraction(1, 10)
"""Samples with such rationales, and their share of all rationales."""


class Rationale(NamedTuple):
    """What is kept of a rationale."""

    digest: bytes
    """The same for the same normalized text; empty if it has too few markers to matter."""
    dense: bool
    """Whether it has an improbable density of markers."""


_PLAIN = Rationale(b"", False)


def rationale_of(side: Side) -> Rationale | None:
    """Return what is kept of a rationale; None if it is blank."""
    if side.rationale is None:
        return None
    markers = len(side.markers.structure) + len(side.markers.evidence)
    if markers < _FEWEST_MARKERS:
        return _PLAIN
    dense = markers >= _MANY_MARKERS and markers >= _DENSITY * len(side.rationale.split())
    return Rationale(blake2b(side.rationale.encode(), digest_size=8).digest(), dense)


def remarks(contract: str, rationales: Counter[Rationale]) -> Iterator[Remark]:
    """Warnings about all rationales of a submission. They do not depend on the truth."""
    total = rationales.total()
    groups = [times for each, times in rationales.items() if each.digest and times >= _SAME]
    same, dense = sum(groups), sum(times for each, times in rationales.items() if each.dense)
    of_all = f"of {plural(total, 'rationale')}"
    if groups and same >= _SHARE_SAME * total:
        yield Remark(
            contract=contract, code="MC506",
            message=f"{same:,} {of_all} are the same {'text' if len(groups) == 1 else f'{len(groups):,} texts'}",
            hint="reasoning_quality counts markers and facts, wherever they are",
        )  # fmt: skip
    if dense >= _DENSE and dense >= _SHARE_DENSE * total:
        yield Remark(
            contract=contract, code="MC506", message=f"{dense:,} {of_all} consist of markers to an improbable extent",
            hint="reasoning_quality counts markers and facts, wherever they are",
        )  # fmt: skip
