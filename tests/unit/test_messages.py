"""Sentences that several layers need are written in one place."""

from __future__ import annotations

import re

import pytest
from tests.support import ROOT

from medcontract.contracts.suggestions import did_you_mean
from medcontract.problems import Finding, empty_file, plural

PACKAGE = ROOT / "src" / "medcontract"
ONCE = {
    "MC004.*the file is empty": "problems.py",
    r"did you mean '\{": "contracts/messages.py",
    r"\{['\"]s['\"] \* \(": "problems.py",
}
"""A sentence, and where it is written. Layers that do not use these functions yet are not checked."""
SCORING = ("canonical", "custom_metrics", "expected", "pairing", "protocol",
           "rational", "scorer", "track", "tracks")  # fmt: skip
LAYERS = (
    "problems.py", "contracts", "evaluation", "images", "reading", "schemas", "validation",
    *(f"scoring/{name}.py" for name in SCORING),
)  # fmt: skip


@pytest.mark.parametrize("sentence", ONCE)
def test_written_once(sentence: str) -> None:
    """No other module spells the sentence out."""
    paths = [
        path for layer in LAYERS for path in ([PACKAGE / layer] if ".py" in layer else (PACKAGE / layer).rglob("*.py"))
    ]
    found = [path for path in paths if re.search(sentence, path.read_text(encoding="utf-8"))]
    assert found == [PACKAGE / ONCE[sentence]]


def test_plural() -> None:
    """One thing has no s; none and many have."""
    assert [plural(count, "record") for count in (0, 1, 2, 12_345)] == [
        "0 records", "1 record", "2 records", "12,345 records"
    ]  # fmt: skip


def test_did_you_mean() -> None:
    """The nearest known word is named; without a near one there is no hint."""
    assert did_you_mean("urgencia", ["specialty", "urgency"]) == "did you mean 'urgency'?"
    assert did_you_mean("zzz", ["specialty", "urgency"]) is None


def test_empty_file() -> None:
    """An empty file is one problem, with a place."""
    assert empty_file(3) == Finding("MC004", "the file is empty", "check that it was written completely", offset=3)
