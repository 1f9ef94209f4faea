"""Behavior under a version never changes: the output of every versioned step over a fixed corpus is pinned."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.pinned.behavior import Step, digest, pinned, steps

from medcontract.normalizers import folding, names, terms, text

STEPS = {step.name: step for step in steps()}
HOW = "raise its version, with the reason, and run: python -m tests.pinned.behavior"


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_output_is_that_of_the_version(step: Step) -> None:
    """A change of behavior needs a new version, and a new version its own hash."""
    known = pinned().get(step.name, {})
    assert step.version in known, f"{step.name} {step.version} is new: run python -m tests.pinned.behavior"
    assert digest(step) == known[step.version], f"{step.name} behaves differently under version {step.version}: {HOW}"


NEVER = re.compile(r"(?!)")
CHANGES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "capital mu": ("normalization", lambda patch: patch.setattr(text, "_UPPER_CASE_MICRO", NEVER)),
    "tight forms": ("normalization", lambda patch: patch.setattr(text, "_DELETED_WHEN_TIGHT", text._INSIDE_WORD)),
    "decimal points": ("normalization", lambda patch: patch.setattr(text, "_BARE_POINT", NEVER)),
    "powers": ("normalization", lambda patch: patch.setattr(text, "_POWER", NEVER)),
    "units": ("pairing", lambda patch: patch.setattr(names, "_doses_agree", lambda one, other: True)),
    "digit groups": ("pairing", lambda patch: patch.setattr(names, "_digit_groups", lambda name: ())),
    "folding": ("terms", lambda patch: patch.setattr(folding, "_INDEX", NEVER)),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("name", "change"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_behavior_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """Without one of its rules, a step has another output."""
    before = digest(STEPS[name])
    change(monkeypatch)
    _forget()
    try:
        assert digest(STEPS[name]) != before
    finally:
        monkeypatch.undo()
        _forget()
    assert digest(STEPS[name]) == before


def _forget() -> None:
    for cached in (text._normalized, text._tightened, names._listed):
        cached.clear()
    terms.built_in_terms.cache_clear()
