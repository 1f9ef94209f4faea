"""`medcontract leaderboard --reports`: a file for each submission that says what `score` says about it."""

from __future__ import annotations

import gc
import json
import re
import tracemalloc
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from tests.commands import KEYS, SENT, TRACKS, Call, beside_files, keeps, sent_file, truth_file
from tests.scoring_files import Record, as_json, model

import medcontract
from medcontract.report_files import MARKER

FORMATS = {"text": ".txt", "json": ".json", "markdown": ".md", "html": ".html"}


@pytest.fixture
def rank(call: Call) -> Call:
    """`medcontract leaderboard` for participants, with reports."""
    return partial(call, "leaderboard", "--participant", "--reports", "out")


def _submissions(folder: Path, track: str) -> list[Path]:
    """A complete submission, one with invalid and unknown records, one below the gate, and a broken one."""
    key = KEYS[track]
    some = [dict(record) for record in SENT[track]]
    some[0][key] = "Juan Pérez"
    few: Sequence[Record] = SENT[track][:7]
    for name, records in (("good", SENT[track]), ("some", some), ("few", few)):
        sent_file(folder / name, track, records)
    (folder / "broken").mkdir()
    (folder / "broken" / "sent.json").write_text('{"predictions": [1,]}')
    return [folder / name for name in ("good", "some", "few", "broken")]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("track", TRACKS)
def test_a_report_says_what_a_score_says(rank: Call, call: Call, tmp_path: Path, track: str, format_: str) -> None:
    """Every report is what `score --participant` prints for that submission, byte for byte, and the rank."""
    truth = truth_file(tmp_path, track)
    folders = _submissions(tmp_path, track)
    # the same defaults and times as in a ranking
    same = {"benchmark": ["--parameter", "given_scores=ignored"], "lesions": ["--t-min-ms", "1", "--t-max-ms", "2"]}
    ran = rank(truth, *folders, *same.get(track, []), "--format", format_)
    assert (ran.code, ran.err) == (0, "")
    names = {f"{folder.name}{FORMATS[format_]}" for folder in folders}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*names, MARKER}
    for folder in folders:
        report = (tmp_path / "out" / f"{folder.name}{FORMATS[format_]}").read_text(encoding="utf-8")
        scored = call("score", truth, folder, "--participant", *same.get(track, []), "--format", format_)
        assert re.sub(r", rank \d| Rank \d\.|<p>Rank \d\.</p>\n", "", report) == scored.out
        assert "Juan" not in report
        if format_ == "json":
            keeps(report, "medcontract/score")


def test_times_of_the_competition(rank: Call, tmp_path: Path) -> None:
    """In a track whose protocol depends on all valid submissions, a report has the figures of the ranking."""
    truth = truth_file(tmp_path, "lesions")
    for name, time in (("slow", 90.0), ("fast", 30.0)):
        sent_file(tmp_path / name, "lesions")
        (tmp_path / name / "model.json").write_text(json.dumps({**model(time=time), "team_name": name}))
    ran = rank(truth, "slow", "fast", "--format", "json")
    for found in ran.json["submissions"]:
        report = json.loads((tmp_path / "out" / f"{found['name']}.json").read_bytes())
        assert report["protocol"] == ran.json["protocol"]
        assert report["result"]["final_score"] == found["headline"]
        assert (report["valid"], report["inputs"]) == (True, found["inputs"])


@pytest.mark.parametrize("jobs", [1, 2])
def test_reports_agree_with_the_ranking(rank: Call, tmp_path: Path, jobs: int) -> None:
    """Validity, reasons, gate and figures equal the entry's, also with worker processes."""
    truth, folders = truth_file(tmp_path, "reports"), _submissions(tmp_path, "reports")
    (tmp_path / "empty").mkdir()
    ran = rank(truth, *folders, "empty", "--format", "json", "--jobs", jobs)
    assert len(ran.json["submissions"]) == 5
    for found in ran.json["submissions"]:
        report = json.loads((tmp_path / "out" / f"{found['name']}.json").read_bytes())
        keeps(json.dumps(report), "medcontract/score")
        for name in ("valid", "reasons", "processing", "inputs"):
            assert report[name] == found[name]
        if "problem" in found:
            assert found["problem"] in report["problems"]


def test_hints_and_places(rank: Call, tmp_path: Path) -> None:
    """A participant gets the place and the hint of every problem."""
    truth = truth_file(tmp_path, "reports")
    records = [{**SENT["reports"][0], "urgency": "urgent"}, *SENT["reports"][1:]]
    sent_file(tmp_path / "a", "reports", records)
    rank(truth, "a")
    report = (tmp_path / "out" / "a.md").read_text()
    (line,) = [line for line in report.splitlines() if "MC104" in line]
    assert "did you mean 'Urgent'?" in line
    assert line.split("|")[2].strip().count(":") == 1


def test_nothing_of_the_truth(rank: Call, call: Call, tmp_path: Path) -> None:
    """With --participant a report reveals nothing of the truth; without it, it is the organizer's view."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "a", "lesions", SENT["lesions"][:19])
    rank(truth, "a")
    report = (tmp_path / "out" / "a.md").read_text()
    assert "truth.json" not in report
    assert "MC302" in report  # only its number
    assert "| BCC |" not in report
    call("leaderboard", truth, "a", "--reports", "all")
    assert "| BCC |" in (tmp_path / "all" / "a.md").read_text()
    assert "truth.json" in (tmp_path / "all" / "a.md").read_text()


@pytest.mark.parametrize("terminal", [False, True])
def test_no_values_in_reports(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """Reports contain no values of records, also if the call is made on a terminal."""
    from medcontract.cli import output

    monkeypatch.setattr(output, "terminal", lambda: terminal)
    truth = truth_file(tmp_path, "reports")
    sent_file(tmp_path / "a", "reports", [{**SENT["reports"][0], "urgency": "María"}, *SENT["reports"][1:]])
    for format_, extension in FORMATS.items():
        call("leaderboard", truth, "a", "--reports", "out", "--format", format_)
        assert "María" not in (tmp_path / "out" / f"a{extension}").read_text()


def test_the_format(call: Call, tmp_path: Path) -> None:
    """Markdown, unless --format is given; the extension of --out is about the ranking only."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "a", "lesions")
    assert call("leaderboard", truth, "a", "--reports", "out", "--out", "ranking.json").code == 0
    assert (tmp_path / "out" / "a.md").read_text().startswith("# Score: lesions")
    keeps((tmp_path / "ranking.json").read_text(), "medcontract/leaderboard")


def test_out_in_the_folder_of_reports(call: Call, tmp_path: Path) -> None:
    """A ranking among the reports could be the report of a team called ranking."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "a", "lesions")
    ran = call("leaderboard", truth, "a", "--reports", "out", "--out", "out/ranking.md")
    assert (ran.code, ran.out, (tmp_path / "out").exists()) == (2, "", False)
    assert "is in the folder of --reports" in ran.err


def test_a_file_that_is_not_a_report(rank: Call, tmp_path: Path) -> None:
    """It is never replaced: the call stops before anything is scored or written."""
    truth = truth_file(tmp_path, "lesions")
    for name in "ab":
        sent_file(tmp_path / name, "lesions")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.md").write_text("mine")
    ran = rank(truth, "a", "b")
    assert (ran.code, ran.out) == (2, "")
    assert "out already has b.md" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.md"]


def test_again(rank: Call, tmp_path: Path) -> None:
    """A second call replaces the reports of the first, with the same bytes."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "a", "lesions")
    rank(truth, "a")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert rank(truth, "a").code == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_submissions_of_one_name(rank: Call, tmp_path: Path) -> None:
    """Each gets a report; the numbers follow the order of the call."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "x" / "heron", "lesions")
    sent_file(tmp_path / "y" / "heron", "lesions", SENT["lesions"][:5])
    (tmp_path / "Heron.json").write_bytes(as_json("lesions/predictions", SENT["lesions"]))
    rank(truth, "x/heron", "y/heron", "Heron.json")
    states = {path.name: "**Valid**" in path.read_text() for path in (tmp_path / "out").glob("*.md")}
    assert states == {"heron.md": True, "heron-2.md": False, "Heron-3.md": True}


def test_hostile_folder_names(rank: Call, tmp_path: Path) -> None:
    """A folder cannot choose where its report is written."""
    truth = truth_file(tmp_path, "lesions")
    names = ["..\\..\\evil", "con", "a\nb", "-rf"]
    for name in names:
        sent_file(tmp_path / "s" / name, "lesions")
    assert rank(truth, *(tmp_path / "s" / name for name in names)).code == 0
    found = {path.name for path in (tmp_path / "out").glob("*.md")}
    assert found == {"_.._evil.md", "_con.md", "a_b.md", "rf.md"}


def test_from_python(tmp_path: Path) -> None:
    """The same reports as JSON, or as any text that a function makes of a score."""
    truth = truth_file(tmp_path, "lesions")
    for name in "ab":
        beside_files(sent_file(tmp_path / name, "lesions").parent, "lesions")
    board = medcontract.leaderboard(truth, tmp_path / "a", tmp_path / "b", reports=tmp_path / "out", participant=True)
    for entry in board.submissions:
        report = json.loads((tmp_path / "out" / f"{entry.name}.json").read_bytes())
        assert report["result"]["final_score"] == entry.headline
    short = (".txt", lambda score: f"{score.valid} {len(score.problems)}\n")
    medcontract.leaderboard(truth, tmp_path / "a", reports=tmp_path / "out", report_as=short)
    assert (tmp_path / "out" / "a.txt").read_text() == "True 0\n"


@pytest.mark.slow
def test_memory(tmp_path: Path) -> None:
    """The problems of many submissions are not in memory at once."""
    truth = truth_file(tmp_path, "reports")
    bad = [{**record, "urgency": "x" * 40, "specialty": "y" * 40} for record in SENT["reports"] for _ in range(3)]
    peaks = []
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # the command line collects garbage less often
    gc.collect()
    gc.freeze()  # many objects of earlier tests would delay the collection of new ones
    for count in (4, 5, 80):  # the first fills caches
        names = [sent_file(tmp_path / f"{count}-{n}", "reports", bad).parent for n in range(count)]
        tracemalloc.start()
        medcontract.leaderboard(truth, *names, reports=tmp_path / f"out-{count}", jobs=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(list((tmp_path / f"out-{count}").glob("*.json"))) == count
    gc.unfreeze()
    gc.set_threshold(*before)
    assert peaks[2] - peaks[1] < 75 * 30_000
