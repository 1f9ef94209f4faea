"""Charts of pages: ROC and calibration, confusion matrices, figures by class and intervention; folded details."""

from __future__ import annotations

import re

import pytest
from tests.support import ROOT

import medcontract
from medcontract import Challenge
from medcontract.results.tables import class_table, curves

EXAMPLES = ROOT / "src/medcontract/examples"
STROKE = ROOT / "examples/stroke"


def test_curves_by_hand() -> None:
    """Positives have 0.9, 0.9, 0.4 and one failed, negatives 0.4 and 0.1: thresholds 0.9, 0.4, 0.1."""
    roc, calibration = curves("x", {0.9: 2, 0.4: 1, None: 1}, {0.4: 1, 0.1: 1}, is_share=True)
    assert list(roc.chart.points) == [(0, 0), (0, 0), (0, 0.5), (0.5, 0.75), (1, 0.75), (1, 0.75), (1, 1)]  # type: ignore[union-attr]
    assert list(calibration.rows) == [
        ("0.1000", "0.0000", "1"), ("0.4000", "0.5000", "2"), ("0.9000", "1.0000", "2"),
    ]  # fmt: skip
    assert [table.title for table in curves("x", {3.5: 1}, {1.0: 1}, is_share=False)] == ["ROC of x"]
    assert list(curves("x", {0.5: 1}, {}, is_share=True)) == []


def test_a_failed_negative_is_found_first() -> None:
    (roc,) = curves("x", {0.9: 1}, {None: 1, 0.1: 1}, is_share=False)
    assert list(roc.chart.points)[:3] == [(0, 0), (0.5, 0), (0.5, 1)]  # type: ignore[union-attr]


def test_classes_by_hand() -> None:
    """Of a, 3 of 4 are found, and 3 of 4 that are called a are; b has no predictions, and one case."""
    matrix = {"a": {"a": 3, "b": 0, "unprocessed": 1}, "b": {"a": 1, "b": 0, "unprocessed": 0}}
    table = class_table("Precision, recall and cases ", matrix, {"a": "one"})
    assert table.head == ("class", "meaning", "precision", "recall", "cases")
    assert list(table.rows) == [("a", "one", "0.7500", "0.7500", "4"), ("b", "", "–", "0.0000", "1")]


@pytest.mark.parametrize(
    ("files", "titles"),
    [
        (("reports/truth.json", "reports/predictions.json"),
         ("Confusion matrix of specialty", "Confusion matrix of urgency",
          "Precision, recall and reports of urgency by class")),
        (("triage/ground-truth.json", "triage/response.json"), ("Interventions", "Lead times")),
        (("lesions/truth.csv", "lesions/predictions.csv"), ("Precision, recall and images by class",)),
    ],
)  # fmt: skip
def test_pictures_of_tracks(files: tuple[str, ...], titles: tuple[str, ...]) -> None:
    """They are on pages, not on a terminal, and participants do not see them."""
    paths = [EXAMPLES / name for name in files]
    page = medcontract.score(*paths).to_html()
    for title in titles:
        assert f"<h2>{title}</h2>" in page
    private = medcontract.score(*paths, participant=True).to_html()
    assert not [title for title in titles if title in private]


def test_pictures_of_challenges() -> None:
    challenge = Challenge.load(STROKE / "challenge.toml")
    given = (STROKE / "truth.csv", STROKE / "submissions/heron")
    page = challenge.score(*given).to_html()
    for title in ("ROC", "Calibration"):
        assert f"<h2>{title} of probability: label is hemorrhagic</h2>" in page
    assert "<polyline" in page
    assert "<script" not in page
    assert "polyline points" not in challenge.score(*given, participant=True).to_html()


def test_what_verifies_a_page_is_folded() -> None:
    """Hashes and parameters are there, after what people read; the title, the event and the date are first."""
    score = medcontract.score(EXAMPLES / "reports/truth.json", EXAMPLES / "reports/predictions.json")
    page = score.to_html()
    folded = re.findall("<details><summary>(.*?)</summary>", page)
    assert [title for title in folded if title in ("Inputs", "Protocol", "Parameters")] == [
        "Inputs", "Protocol", "Parameters",
    ]  # fmt: skip
    places = [page.index(text) for text in ("<h1>", 'class="subtitle"', 'class="verdict')]
    assert places == sorted(places)
    assert re.search('class="subtitle">Jornada.*, 2025-03-10<', page)
    assert '<th scope="row">Urgency F1 <code class="field">urgency_f1</code>' in page


def test_readable_names_in_labels_of_cells() -> None:
    """The head of a column is repeated in narrow views, as words without markup."""
    challenge = Challenge.load(STROKE / "challenge.toml")
    page = challenge.leaderboard(STROKE / "truth.csv", *sorted((STROKE / "submissions").iterdir())).to_html()
    assert 'data-label="Macro F1"' in page
    assert not re.search('data-label="[^"]*<', page)
