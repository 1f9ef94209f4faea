"""Figures in prose that can be computed: each is what the page says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial

import pytest
from benchmarks import results
from benchmarks.tables import ratio
from tests.support import ROOT, cases

from medcontract.conformance import LEVELS
from medcontract.normalizers.names import LOOK_ALIKES
from medcontract.scoring.metrics import KINDS


def _groups() -> list[list[str]]:
    found: list[list[str]] = json.loads(LOOK_ALIKES.read_bytes())["groups"]
    return found


def _validating() -> results.Result:
    found = results.load().get("validate-lesions")
    assert found
    return found


def _last(letter: str) -> int:
    """The number of the last sentence of the specification with this letter."""
    text = (ROOT / "schemas" / "README.md").read_text(encoding="utf-8")
    return max(int(number) for number in re.findall(rf"\[{letter}([0-9]+)\]", text))


def _lines(pattern: str) -> int:
    """The number of lines of these modules of the JavaScript implementation."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "js" / "src").glob(pattern))


FIGURES: dict[str, list[tuple[str, Callable[[], float], float]]] = {
    "README.md": [
        (r"about ([0-9.]+) times the time of a script", lambda: ratio(_validating(), "one") or 0, 0.15),
        (r"in about ([0-9]+) MB of memory", lambda: _validating().runs["one"].peak_mb or 0, 8),
        (r"([0-9]+) kinds of metrics and your own", lambda: len(KINDS) - 1, 0),
    ],
    "docs/another-language.md": [
        (r"about ([0-9,]+) cases", lambda: sum(len(cases(level)) for level in LEVELS), 50),
        (r"about ([0-9]+) lines \(`js/src/json.js`\)", partial(_lines, "json.js"), 25),
        *((rf"\[{each}1\] to \[{each}([0-9]+)\]", partial(_last, each), 0) for each in "JLSRT"),
    ],
    "docs/decisions/0020-javascript-without-dependencies.md": [
        (r"about ([0-9,]+) lines of JavaScript", partial(_lines, "*.js"), 250),
    ],
    "docs/normalization.md": [
        (r"has ([0-9]+) names", lambda: len({name for group in _groups() for name in group}), 0),
        (r"names in ([0-9]+) groups", lambda: len(_groups()), 0),
    ],
}
"""By page: a pattern, what it should say, and how far off it may be."""


@pytest.mark.parametrize(
    ("page", "pattern", "actual", "tolerance"),
    [(page, *figure) for page, figures in FIGURES.items() for figure in figures],
)
def test_figure(page: str, pattern: str, actual: Callable[[], float], tolerance: float) -> None:
    stated = re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"))
    assert stated, "the page does not have this figure any more"
    assert all(abs(float(each.replace(",", "")) - actual()) <= tolerance for each in stated), actual()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
