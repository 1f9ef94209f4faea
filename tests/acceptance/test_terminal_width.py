"""Text on a terminal: wrapped at its width; tables that are too wide lose columns, and say so."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tests.commands import SENT, Call, caller, on_a_terminal, sent_file, truth_file
from tests.support import ROOT

BAD = ROOT / "examples/bad/predictions.json"
STAY = ROOT / "examples/stay"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


@pytest.mark.parametrize("width", [50, 72, 100])
def test_text_is_wrapped(call: Call, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """No word is lost. Lines of the file, and words that are longer than a line, are not broken."""
    monkeypatch.setenv("NO_COLOR", "1")
    on_a_terminal(monkeypatch)
    whole = call("validate", BAD).out
    monkeypatch.setenv("COLUMNS", str(width))
    wrapped = call("validate", BAD).out
    assert wrapped.split() == whole.split()
    for line in wrapped.splitlines():
        assert len(line) <= width or " |" in line or len(line.split()) == 1 or str(BAD) in line
    assert any(line.startswith("    = hint:") for line in wrapped.splitlines())


def test_a_pipe_is_not_wrapped(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = call("validate", BAD).out
    monkeypatch.setenv("COLUMNS", "50")
    assert call("validate", BAD).out == whole


def test_checks_are_indented(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "60")
    lines = call(
        "preflight", sent_file(tmp_path, "lesions"), truth_file(tmp_path, "lesions"), "--no-color"
    ).out.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("pass  The submission is present"))
    assert lines[first + 1].startswith("      ")


def test_a_wide_ranking_loses_columns(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The headline stays; what is left out is named."""
    on_a_terminal(monkeypatch)
    files = STAY / "truth.csv", *sorted((STAY / "submissions").iterdir())
    call_it = ("leaderboard", "--challenge", STAY / "challenge.toml", *files, "--no-color")
    monkeypatch.setenv("COLUMNS", "200")
    assert "not shown" not in call(*call_it).out
    monkeypatch.setenv("COLUMNS", "60")
    narrow = call(*call_it).out
    assert "not shown, because the terminal is too narrow: readmission" in " ".join(narrow.split())
    (head,) = [line for line in narrow.splitlines() if "rmse" in line]
    assert "mae" in head
    assert "readmission" not in head


def test_help_groups_options(call: Call) -> None:
    text = call("score", "--help").out
    titles = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[0] == "Options:"
    assert titles[-2:] == ["Large files:", "Output:"]
    assert all(title.startswith("Options of ") for title in titles[1:-2])
    assert text.index("Large files:") < text.index("--jobs") < text.index("Output:") < text.index("--out FILE")


def test_source_lines_are_cut_around_the_caret(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal would break them, and the caret would point at nothing."""
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"image_id": "{"a" * 60}", "label": "NVX", "rest": "{"b" * 60}"}}\n', encoding="utf-8")
    on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "72")
    lines = call("validate", f"lesions/truth={path}", "--no-color").out.splitlines()
    carets = [(line, below) for line, below in pairwise(lines) if below.strip(" |") == "^"]
    assert [line[below.index("^") :][:5] for line, below in carets] == ['"NVX"', '"rest']
    assert max(len(line) for line, _ in carets) <= 72


def test_a_wide_text_is_wrapped_in_its_column(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed of a run is below its head; figures before it stay."""
    monkeypatch.chdir(tmp_path)
    truth = truth_file(tmp_path, "reports")
    for name, answers in (("a", SENT["reports"]), ("b", SENT["reports"][::-1][:19])):
        call("score", truth, sent_file(tmp_path, "reports", answers), "--out", f"{name}.json")
    on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("compare", "a.json", "b.json", "--no-color").out.splitlines()
    head = next(line for line in lines if "other changes" in line)
    row, more = lines[lines.index(head) + 1 :][:2]
    assert max(map(len, (head, row, more))) <= 80
    assert more.startswith(" " * head.index("other changes"))


def test_a_diff_is_not_wrapped(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sent_file(tmp_path, "reports", [{**SENT["reports"][0], "urgency": "urgent"}])
    on_a_terminal(monkeypatch)
    whole = call("fix", path, "--no-color").out
    monkeypatch.setenv("COLUMNS", "50")
    (line,) = [line for line in whole.splitlines() if line.startswith("+") and '"Urgent"' in line]
    assert line in call("fix", path, "--no-color").out.splitlines()
