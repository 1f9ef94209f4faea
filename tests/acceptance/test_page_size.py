"""Reports on 10,000 documents stay small: long tables are cut, with a count; JSON has everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.scoring_files import drug, read, rx, write

import medcontract

MOST_BYTES = 5_000_000
DOCUMENTS = 10_000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Labels of 10,000 prescriptions, and predictions of which every third is wrong."""
    folder = tmp_path_factory.mktemp("many")
    labels = [rx(f"P-{n:05}", drug("Losartán", "50 mg"), drug("Insulina", f"{n} UI")) for n in range(DOCUMENTS)]
    wrong = [rx(f"P-{n:05}", drug("Losartán", "5 mg"), drug("Insulina", "0 UI")) for n in range(DOCUMENTS)]
    sent = [read(label if n % 3 else wrong[n]) for n, label in enumerate(labels)]
    return (
        write(folder, "extraction/prescription-labels", labels),
        write(folder, "extraction/prescription-predictions", sent),
    )


def test_a_score_of_10_000_documents(files: tuple[Path, Path]) -> None:
    score = medcontract.score(*files, breakdown=True)
    page = score.to_html(show_values=True)
    assert len(page.encode()) < MOST_BYTES
    assert f"and {DOCUMENTS - 200:,} more (--format json lists all)" in page
    assert len(score.to_dict()["result"]["documents"]) == DOCUMENTS


def test_10_000_problems(tmp_path: Path) -> None:
    """Each with another value, which is shown."""
    file = tmp_path / "truth.csv"
    file.write_text("image_id,label\n" + "".join(f"i{n},{'x' * 60}{n}\n" for n in range(DOCUMENTS)))
    report = medcontract.validate_files([f"lesions/truth={file}"])
    assert report.files[0].errors == DOCUMENTS
    shown = report.to_html(show_values=True)
    assert len(shown.encode()) < MOST_BYTES
    assert f"({DOCUMENTS:,} problems)" in shown
    assert "and 9,999 more records like this" in shown
    assert len(report.to_html().encode()) < MOST_BYTES
    assert len(report.to_dict()["files"][0]["problems"]) == DOCUMENTS
