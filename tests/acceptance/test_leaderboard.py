"""`medcontract leaderboard`: the ranking, what is not ranked, teams, times of the competition, the same bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.commands import (
    HEADLINES,
    KEYS,
    SENT,
    TRACKS,
    TRUTH,
    Call,
    all_files,
    beside_files,
    coarse,
    keeps,
    put,
    sent_file,
    truth_file,
)
from tests.scoring_files import CONTRACTS, Record, answer, document, drug, guess, model, report, telemetry, write
from tests.scoring_files import run as run_of


@pytest.fixture
def rank(call: Call) -> Call:
    """`medcontract leaderboard`."""
    return partial(call, "leaderboard")


@pytest.fixture
def board(rank: Call) -> Call:
    """`medcontract leaderboard` as JSON."""
    return partial(rank, "--format", "json")


def wrong(track: str, count: int) -> list[Record]:
    """Answers of which that many are wrong."""
    changes: dict[str, Record] = {
        "reports": {"specialty": "Other"}, "triage": {"model_predictions": []},
        "lesions": {"probabilities": [0.1] * 10}, "extraction": {"medicamentos": [drug("Losartán")]},
        "benchmark": {"prediction": {"answer": "gout"}},
    }  # fmt: skip
    return [{**record, **(changes[track] if n % 10 and n <= count else {})} for n, record in enumerate(SENT[track])]


def entry(
    folder: Path, track: str, records: Sequence[Record] | None = None, team: str | None = None, referenced: bool = True
) -> Path:
    """The folder of one participant."""
    team = team or folder.name
    header = {"benchmark": {"model_id": team}, "extraction": {}}.get(track, {"team_name": team})
    sent_file(folder, track, records, **header)
    if referenced:
        beside_files(folder, track, team_name=team)
    return folder


def names(envelope: Any) -> list[tuple[int | None, str]]:
    return [(found["rank"], found["name"]) for found in envelope["submissions"]]


def only(envelope: Any) -> Any:
    (found,) = envelope["submissions"]
    return found


# --- the ranking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_ranking(rank: Call, board: Call, tmp_path: Path, track: str) -> None:
    """By the headline figure, the best first; invalid ones last, with reasons."""
    truth = truth_file(tmp_path, track)
    folders = [
        entry(tmp_path / "bad", track, SENT[track][:10]),
        entry(tmp_path / "good", track, wrong(track, 2)),
        entry(tmp_path / "best", track),
        entry(tmp_path / "fair", track, wrong(track, 9)),
    ]
    ran = board(truth, *folders)
    assert (ran.code, ran.err) == (0, "")
    envelope = keeps(ran.out, "medcontract/leaderboard")
    assert names(envelope) == [(1, "best"), (2, "good"), (3, "fair"), (None, "bad")]
    figures = [found["headline"] for found in envelope["submissions"]]
    assert figures[0] == HEADLINES[track][1] > figures[1] > figures[2]
    assert figures[3] is None
    assert envelope["headline"] == HEADLINES[track][0].split()[0]
    last = envelope["submissions"][3]
    assert (last["valid"], last["processing"]["processed"]) == (False, 10)
    assert "50 % processed" in last["reasons"][0]
    text = rank(truth, *folders)
    assert text.code == 0
    assert text.out.index("1. best") < text.out.index("2. good") < text.out.index("3. fair")
    assert text.out.index("3. fair") < text.out.index("bad")
    assert "50 % processed" in text.out
    assert text.out.endswith(f"4 submissions, 3 valid, ranked by {envelope['headline']}.\n")


def test_envelope(board: Call, tmp_path: Path) -> None:
    """The JSON has these keys, and says what everything was scored against and with."""
    truth = truth_file(tmp_path, "lesions")
    envelope = board(truth, entry(tmp_path / "a", "lesions")).json
    assert list(envelope) == [
        "track", "protocol", "truth", "headline", "submissions", "warnings", "medcontract_version", "environment",
    ]  # fmt: skip
    (of_truth,) = envelope["truth"]
    assert of_truth["sha256"] == hashlib.sha256(truth.read_bytes()).hexdigest()
    assert (of_truth["name"], of_truth["records"]) == ("truth.json", 20)
    found = only(envelope)
    assert list(found) == [
        "rank", "name", "team_name", "valid", "headline", "figures", "processing", "reasons", "warnings", "inputs",
    ]  # fmt: skip
    assert {file["name"]: file["sha256"] for file in found["inputs"]} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "a").glob("*.json")
    }
    assert found["figures"]["points"] == 100.0


@pytest.mark.parametrize("track", TRACKS)
def test_figures_are_those_of_a_score(board: Call, call: Call, tmp_path: Path, track: str) -> None:
    """A submission by itself has the figures that `score` gives it."""
    truth, folder = truth_file(tmp_path, track), entry(tmp_path / "a", track, wrong(track, 7))
    figures = only(board(truth, folder, "--participant").json)["figures"]
    result = call("score", truth, folder, "--format", "json", "--participant").json["result"]
    assert figures
    assert figures == {name: coarse(result)[name] for name in figures}


def test_no_fine_figures(rank: Call, tmp_path: Path) -> None:
    """A ranking has no figures by class, participant or not."""
    truth, folder = truth_file(tmp_path, "lesions"), entry(tmp_path / "a", "lesions")
    for format_ in ("text", "json", "markdown"):
        for extra in ((), ("--participant",)):
            out = rank(truth, folder, "--format", format_, *extra).out
            assert [name for name in ("f1_by_class", "confusion", "f1_malignant", "BCC") if name in out] == []


def test_exact_ties(board: Call, tmp_path: Path) -> None:
    """Equal figures are ranked by the name of the team, not of the folder."""
    truth = truth_file(tmp_path, "lesions")
    folders = [
        entry(tmp_path / "1", "lesions", team="Gamma"),
        entry(tmp_path / "2", "lesions", team="Alpha"),
        entry(tmp_path / "3", "lesions", team="Beta"),
    ]
    for order in (folders, folders[::-1], [folders[1], folders[0], folders[2]]):
        envelope = board(truth, *order).json
        assert [found["team_name"] for found in envelope["submissions"]] == ["Alpha", "Beta", "Gamma"]


def test_ties_are_exact(board: Call, tmp_path: Path) -> None:
    """Figures that are one double but two numbers are no tie: 60.00…01 comes before 60."""
    truth = [report(f"R-{n}", "Oncology", "Emergency", True) for n in range(3)]
    seconds = {"Alpha": [2.0, 2.0, 2.0], "Beta": [2.0, 2.0, 1.9999999999999998]}
    folders = []
    for team, times in seconds.items():
        folder = tmp_path / team
        sent = [answer(true, time) for true, time in zip(truth, times, strict=True)]
        sent_file(folder, "reports", sent, team_name=team)
        document(folder, "telemetry", {**telemetry(), "team_name": team})
        folders.append(folder)
    envelope = board(truth_file(tmp_path, "reports", truth), *folders).json
    first, second = envelope["submissions"]
    assert first["headline"] == second["headline"]
    assert [first["team_name"], second["team_name"]] == ["Beta", "Alpha"]


@pytest.mark.parametrize(("track", "second"), [("reports", "accuracy_score"), ("lesions", "prediction_score")])
def test_without_auxiliary_files(board: Call, tmp_path: Path, track: str, second: str) -> None:
    """Where no submission has the headline figure, all are ranked by the second one."""
    truth = truth_file(tmp_path, track)
    folders = [
        entry(tmp_path / "a", track, wrong(track, 5), referenced=False),
        entry(tmp_path / "b", track, referenced=False),
    ]
    envelope = board(truth, *folders).json
    assert envelope["headline"] == second
    assert names(envelope) == [(1, "b"), (2, "a")]


def test_one_ranking_compares_one_figure(rank: Call, board: Call, tmp_path: Path) -> None:
    """A valid submission that lacks the figure of the others has no rank, and that is said."""
    truth = truth_file(tmp_path, "lesions")
    folders = [
        entry(tmp_path / "a", "lesions", wrong("lesions", 9)),
        entry(tmp_path / "b", "lesions", referenced=False),
        entry(tmp_path / "c", "lesions", SENT["lesions"][:1]),
    ]
    envelope = keeps(board(truth, *folders).out, "medcontract/leaderboard")
    assert names(envelope) == [(1, "a"), (None, "b"), (None, "c")]
    assert [found["valid"] for found in envelope["submissions"]] == [True, True, False]
    assert "model" in " ".join(envelope["submissions"][1]["warnings"])
    assert "not ranked  b" in rank(truth, *folders).out


def test_beyond_a_limit(board: Call, tmp_path: Path) -> None:
    """A submission beyond a limit is not valid, though it has figures."""
    folder = tmp_path / "a"
    sent_file(folder, "reports")
    document(folder, "telemetry", telemetry(run_of("1", cpu=95)))
    found = only(board(truth_file(tmp_path, "reports"), folder).json)
    assert (found["rank"], found["valid"], found["headline"]) == (None, False, None)
    assert "CPU" in found["reasons"][0]
    assert found["figures"]["total_score"] is None


# --- times of the competition --------------------------------------------------------------------


def _timed(folder: Path, time: float, records: Sequence[Record] | None = None) -> Path:
    sent_file(folder, "lesions", records, team_name=folder.name)
    document(folder, "model", {**model(time=time), "team_name": folder.name})
    return folder


def test_times_of_valid_submissions(board: Call, tmp_path: Path) -> None:
    """T_min and T_max come from the valid submissions; a refused one does not stretch them."""
    truth = truth_file(tmp_path, "lesions")
    folders = [
        _timed(tmp_path / "quick", 100.0),
        _timed(tmp_path / "half", 150.0),
        _timed(tmp_path / "slow", 200.0),
        _timed(tmp_path / "refused-quick", 1.0, SENT["lesions"][:1]),
        _timed(tmp_path / "refused-slow", 9999.0, SENT["lesions"][:1]),
    ]
    envelope = board(truth, *folders).json
    parameters = envelope["protocol"]["parameters"]
    assert (parameters["t_min_ms"], parameters["t_max_ms"]) == (100, 200)
    figures = {found["name"]: found["figures"].get("efficiency_score") for found in envelope["submissions"]}
    assert figures == {"quick": 1.0, "half": 0.75, "slow": 0.5, "refused-quick": None, "refused-slow": None}


def test_the_fingerprint_has_the_times(board: Call, call: Call, tmp_path: Path) -> None:
    """The protocol of the ranking is the one that `score` has with these times."""
    truth = truth_file(tmp_path, "lesions")
    folders = [_timed(tmp_path / "quick", 100.25), _timed(tmp_path / "slow", 200.1)]
    envelope = board(truth, *folders).json
    times = ("--t-min-ms", "100.25", "--t-max-ms", "200.1")
    alone = call("score", truth, folders[1], *times, "--format", "json").json
    assert envelope["protocol"] == alone["protocol"]
    assert envelope["submissions"][1]["headline"] == alone["result"]["final_score"]


def test_given_times(board: Call, tmp_path: Path) -> None:
    """Times that the caller gives win over times of the submissions."""
    folder = _timed(tmp_path / "a", 150.0)
    ran = board(truth_file(tmp_path, "lesions"), folder, "--t-min-ms", "100", "--t-max-ms", "200")
    assert only(ran.json)["figures"]["efficiency_score"] == 0.75


# --- teams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("track", "other"), [("lesions", "model"), ("reports", "telemetry")])
def test_team_of_the_answers(board: Call, tmp_path: Path, track: str, other: str) -> None:
    """The file with the answers says whose they are; a difference is a warning."""
    folder = tmp_path / "folder"
    sent_file(folder, track, team_name="Header")
    document(folder, other, {**(model() if other == "model" else telemetry()), "team_name": "Other"})
    found = only(board(truth_file(tmp_path, track), folder).json)
    assert found["team_name"] == "Header"
    assert any("team" in warning for warning in found["warnings"])


def test_team_of_the_header(board: Call, tmp_path: Path) -> None:
    """Without a model file the header says who it is."""
    folder = entry(tmp_path / "folder", "lesions", team="Header", referenced=False)
    found = only(board(truth_file(tmp_path, "lesions"), folder).json)
    assert (found["team_name"], found["name"]) == ("Header", "folder")
    assert not any("team" in warning for warning in found["warnings"])


def test_team_of_the_folder(board: Call, rank: Call, tmp_path: Path) -> None:
    """Without either, the folder names it, also for ties."""
    truth = truth_file(tmp_path, "lesions")
    for name in ("b", "c"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "lesions/predictions", SENT["lesions"], "csv")
    entry(tmp_path / "x", "lesions", team="bb", referenced=False)
    envelope = keeps(board(truth, "c", "x", "b").out, "medcontract/leaderboard")
    assert [(found["name"], found["team_name"]) for found in envelope["submissions"]] == [
        ("b", None), ("x", "bb"), ("c", None),
    ]  # fmt: skip
    assert "1. b" in rank(truth, "b").out


# --- submissions that are not as they should be --------------------------------------------------


def _file(folder: Path, content: bytes, name: str = "sent.json") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)


def _model_of_no_size(folder: Path) -> None:
    entry(folder, "lesions")
    document(folder, "model", {**model(), "model_size_mb": 0})


def _of_two_teams(folder: Path) -> None:
    entry(folder, "lesions")
    sent_file(folder, "lesions", name="second.json", team_name="Other")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "an empty folder": (Path.mkdir, "no data files"),
    "broken": (lambda folder: _file(folder, b"{"), "cannot be read"),
    "cut off": (lambda folder: _file(folder, b'{"predictions": ['), "cannot be read"),
    "not text": (lambda folder: _file(folder, b"\xff\xff"), "cannot be read"),
    "a truth alone": (lambda folder: put(folder / "mine.json", "lesions/truth", TRUTH["lesions"]), "no submission"),
    "another track": (lambda folder: entry(folder, "triage"), "triage"),
    "files of two teams": (_of_two_teams, "team_name"),
    "a model file with errors": (_model_of_no_size, "model.json"),
}
"""What makes a submission to lesions, and the reason why it is not valid."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused(board: Call, tmp_path: Path, name: str) -> None:
    """It is listed with a reason, without a path, and changes nothing for the others."""
    make, words = REFUSED[name]
    make(tmp_path / "bad")
    ran = board(truth_file(tmp_path, "lesions"), tmp_path / "bad", entry(tmp_path / "a", "lesions"))
    assert (ran.code, str(tmp_path) in ran.out) == (0, False)
    envelope = keeps(ran.out, "medcontract/leaderboard")
    assert names(envelope) == [(1, "a"), (None, "bad")]
    refused = envelope["submissions"][1]
    assert (refused["valid"], refused["headline"], refused["figures"]) == (False, None, {})
    assert words in refused["reasons"][0]


@pytest.mark.parametrize("track", TRACKS)
def test_a_truncated_submission(board: Call, tmp_path: Path, track: str) -> None:
    """One that breaks off has processed nothing."""
    sent = sent_file(tmp_path / "a", track)
    sent.write_bytes(sent.read_bytes()[:-20])
    found = only(board(truth_file(tmp_path, track), tmp_path / "a").json)
    assert (found["valid"], found["processing"]["processed"]) == (False, 0)


def test_event_differs(board: Call, tmp_path: Path) -> None:
    """A submission to another event is refused, and the others are ranked."""
    sent_file(tmp_path / "a", "triage", event="Other")
    ran = board(truth_file(tmp_path, "triage"), tmp_path / "a", entry(tmp_path / "b", "triage"))
    assert names(ran.json) == [(1, "b"), (None, "a")]
    refused = ran.json["submissions"][1]
    assert (refused["processing"], "event" in refused["reasons"][0]) == (None, True)


def test_an_unknown_file(board: Call, tmp_path: Path) -> None:
    """A file of no contract in a folder: what is said of it names no path."""
    folder = entry(tmp_path / "a", "lesions")
    (folder / "config.json").write_text('{"colour": "green"}')
    ran = board(truth_file(tmp_path, "lesions"), folder)
    keeps(ran.out, "medcontract/leaderboard")
    assert "config.json" in ran.out
    assert str(tmp_path) not in ran.out


def test_no_such_folder(rank: Call, tmp_path: Path) -> None:
    """A folder that is not there is a usage error, as a file would be."""
    ran = rank(truth_file(tmp_path, "lesions"), entry(tmp_path / "a", "lesions"), "no-such-folder")
    assert ran.code == 2
    assert "no-such-folder" in ran.err


def test_a_submission_with_its_own_truth(board: Call, tmp_path: Path) -> None:
    """A truth that a submission brings along is not used, but told."""
    folder = entry(tmp_path / "a", "lesions", [guess(true["image_id"], "NV") for true in TRUTH["lesions"]])
    own = [{**true, "label": "NV"} for true in TRUTH["lesions"]]
    put(folder / "mine.json", "lesions/truth", own)
    truth = truth_file(tmp_path, "lesions")
    envelope = board(truth, folder).json
    assert only(envelope)["figures"]["accuracy"] == 0.1
    assert "mine.json" not in [file["name"] for file in only(envelope)["inputs"]]
    assert [file["name"] for file in envelope["truth"]] == ["truth.json"]
    assert any("mine.json" in warning for warning in only(envelope)["warnings"])


def test_a_file_is_a_submission(board: Call, tmp_path: Path) -> None:
    """A file by itself is a submission too."""
    sent = sent_file(tmp_path, "lesions")
    assert names(board(truth_file(tmp_path, "lesions"), sent).json) == [(1, "sent.json")]


# --- the truth -----------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_truth_in_a_folder(board: Call, tmp_path: Path, track: str) -> None:
    """The truth may be a folder, in parts."""
    folder = entry(tmp_path / "a", track)
    for n in range(2):
        put(tmp_path / "truth" / f"{n}.json", CONTRACTS[track][0], TRUTH[track][n::2])
    whole, parts = board(truth_file(tmp_path, track), folder).json, board(tmp_path / "truth", folder).json
    assert parts["submissions"] == whole["submissions"]
    assert [file["name"] for file in parts["truth"]] == ["0.json", "1.json"]
    assert {file["content_sha256"] for file in parts["truth"] + whole["truth"]} == {whole["truth"][0]["content_sha256"]}


@pytest.mark.parametrize("track", TRACKS)
def test_a_truth_with_errors(rank: Call, tmp_path: Path, track: str) -> None:
    """Nothing is ranked against a broken truth: exit 1."""
    truth = truth_file(tmp_path, track, [*TRUTH[track], {**TRUTH[track][0]}])
    code, out, err = rank(truth, entry(tmp_path / "a", track))
    assert (code, out) == (1, "")
    assert "truth.json" in err


WRONG_TRUTHS: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda folder: put(folder / "a.json", "lesions/truth", []), "empty"),
    "broken": (lambda folder: _file(folder, b"{", "a.json"), "a.json"),
    "cut off": (lambda folder: _file(folder, b'{"labels": [', "a.json"), "a.json"),
    "a part of it is broken": (
        lambda folder: _file(put(folder / "a.json", "lesions/truth", TRUTH["lesions"]).parent, b"{", "b.json"),
        "b.json",
    ),
}


@pytest.mark.parametrize("name", WRONG_TRUTHS)
def test_a_truth_that_nothing_can_be_ranked_against(rank: Call, tmp_path: Path, name: str) -> None:
    """It is wrong data, not a usage error; no part of it must get lost."""
    make, words = WRONG_TRUTHS[name]
    make(tmp_path / "truth")
    code, out, err = rank("truth", entry(tmp_path / "a", "lesions"))
    assert (code, out) == (1, "")
    assert words in err


@pytest.mark.parametrize("track", TRACKS)
def test_swapped(rank: Call, tmp_path: Path, track: str) -> None:
    """Truth and submissions swapped are a usage error that says so."""
    code, out, err = rank(sent_file(tmp_path, track), truth_file(tmp_path, track))
    assert (code, out) == (2, "")
    assert "swapped" in err
    assert f"sent.json is {CONTRACTS[track][1]}" in err


def test_truths_whose_headers_differ(rank: Call, tmp_path: Path) -> None:
    """Two truths of two events in one folder are a usage error."""
    put(tmp_path / "truth" / "a.json", "triage/ground-truth", TRUTH["triage"][:10])
    put(tmp_path / "truth" / "b.json", "triage/ground-truth", TRUTH["triage"][10:], event="Other")
    code, out, err = rank("truth", entry(tmp_path / "a", "triage"))
    assert (code, out) == (2, "")
    assert "event" in err


def test_a_set_that_breaks_the_contract(rank: Call, tmp_path: Path) -> None:
    """A value that no file could hold is a usage error here too, not a fault of all submissions."""
    (tmp_path / "a").mkdir()
    write(tmp_path / "a", "triage/response", SENT["triage"], "jsonl")
    others = ("--set", "team_name=A", "--set", "event=Abendstern")
    code, out, err = rank(truth_file(tmp_path, "triage"), "a", *others, "--set", "evaluation_date=yesterday")
    assert (code, out) == (2, "")
    assert "evaluation_date" in err


def test_set(board: Call, tmp_path: Path) -> None:
    """Header fields that the containers lack can be given for all."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "triage/response", SENT["triage"], "jsonl")
    sets = ("--set", "team_name=A", "--set", "event=Abendstern", "--set", "evaluation_date=2025-05-20")
    ran = board(truth_file(tmp_path, "triage"), "a", "b", *sets)
    assert [found["valid"] for found in ran.json["submissions"]] == [True, True]
    lacking = only(board(truth_file(tmp_path, "triage"), "a", *sets[:4]).json)
    assert "evaluation_date" in lacking["reasons"][0]


# --- output --------------------------------------------------------------------------------------


def _many(folder: Path) -> list[Path]:
    """Submissions of all sorts."""
    (folder / "empty").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "x.json").write_bytes(b"{")
    return [
        entry(folder / "a", "lesions", wrong("lesions", 4)),
        _timed(folder / "b", 90.0),
        _timed(folder / "c", 300.0),
        entry(folder / "d", "lesions", SENT["lesions"][:15]),
        folder / "empty",
        folder / "broken",
    ]


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_same_bytes(rank: Call, tmp_path: Path, format_: str) -> None:
    """The same files give the same bytes, in any order, from any folder."""
    truth, folders = truth_file(tmp_path, "lesions"), _many(tmp_path)
    first = rank(truth, *folders, "--format", format_)
    assert first.code == 0
    assert rank(truth, *reversed(folders), "--format", format_) == first
    elsewhere = tmp_path / "else"
    elsewhere.mkdir()
    for folder in folders:
        shutil.copytree(folder, elsewhere / folder.name)
    assert rank("truth.json", *(f"else/{folder.name}/" for folder in folders), "--format", format_) == first
    assert str(tmp_path) not in first.out


def test_jobs(rank: Call, tmp_path: Path) -> None:
    """Two processes give the same bytes as one."""
    truth, folders = truth_file(tmp_path, "lesions"), _many(tmp_path)
    alone = rank(truth, *folders, "--format", "json")
    assert rank(truth, *folders, "--format", "json", "--jobs", "2") == alone


def test_same_bytes_of_folders_of_one_name(board: Call, tmp_path: Path) -> None:
    """Folders whose base names are equal, of one team, in a tie: the order of the call does not show."""
    truth = truth_file(tmp_path, "lesions")
    folders = [entry(tmp_path / "x" / "a", "lesions"), entry(tmp_path / "y" / "a", "lesions", SENT["lesions"][::-1])]
    assert board(truth, *folders).out == board(truth, *reversed(folders)).out


def test_markdown(rank: Call, tmp_path: Path) -> None:
    """Markdown has the ranking as a table, then what is not ranked, and names that stay text."""
    truth, folders = truth_file(tmp_path, "lesions"), _many(tmp_path)
    folders.append(entry(tmp_path / "e", "lesions", team="a|b <i> `x`"))
    out = rank(truth, *folders, "--format", "markdown").out
    lines = out.splitlines()
    assert lines[0] == "# Leaderboard: lesions"
    rows = [line for line in lines if line.startswith("| ")]
    widths = {row.replace("\\|", "").count("|") for row in rows}
    assert len(widths) == 2
    assert "<i>" not in out.replace("\\<i", "")
    assert out.index("Not ranked") < out.index("empty")
    assert out.count("fingerprint `") == 1


def test_shared_warnings_are_said_once(rank: Call, board: Call, tmp_path: Path) -> None:
    """What is true of all submissions is one warning."""
    records = [true for true in TRUTH["lesions"] if true["label"] != "MEL"]
    truth = truth_file(tmp_path, "lesions", records)
    sent = [record for record, true in zip(SENT["lesions"], TRUTH["lesions"], strict=True) if true in records]
    folders = [entry(tmp_path / name, "lesions", sent) for name in "abc"]
    envelope = board(truth, *folders).json
    assert [warning for warning in envelope["warnings"] if "MEL" in warning]
    assert [found["warnings"] for found in envelope["submissions"]] == [[], [], []]
    assert rank(truth, *folders).out.count("MEL") == 1


def _strange(folder: Path, track: str) -> list[Path]:
    """A truth and a submission with ids that differ in case only, and others that are unknown."""
    key = KEYS[track]
    sent = [dict(record) for record in SENT[track]]
    sent[0][key] = sent[0][key].lower()
    sent[1][key] = "Juan Pérez"
    sent[2]["Ana López"] = "María"
    return [truth_file(folder, track), entry(folder / "a", track, sent)]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_participants_see_no_near_misses(rank: Call, tmp_path: Path, track: str, format_: str) -> None:
    """With --participant nothing tells of the truth; counts of the gate stay."""
    files = _strange(tmp_path, track)
    assert "from an id of the truth only in case" in rank(*files, "--format", format_).out
    ran = rank(*files, "--format", format_, "--participant")
    assert ran.code == 1  # the only submission is not valid
    assert "only in" not in ran.out
    assert "85 % processed" in ran.out
    if format_ == "json":
        keeps(ran.out, "medcontract/leaderboard")


def test_files_of_a_participant(rank: Call, call: Call, tmp_path: Path) -> None:
    """What `score` says of a folder and what the ranking says of it is one verdict."""
    truth, sent, *referenced = all_files(tmp_path, "reports")
    folder = tmp_path / "a"
    folder.mkdir()
    for path in (sent, *referenced):
        shutil.copy(path, folder)
    assert beside_files(tmp_path, "reports") == referenced
    alone = call("score", truth, folder, "--format", "json").json
    found = only(json.loads(rank(truth, folder, "--format", "json").out))
    assert found["headline"] == alone["result"]["total_score"]
    assert found["processing"] == alone["processing"]
    assert found["inputs"] == [file for file in alone["inputs"] if not file["content_sha256"]]


# --- contracts


def _provenance(text: str) -> list[str]:
    """The lines about the submissions."""
    return text.split(", content ")[1].splitlines()[1:-2]


def test_contracts_of_submissions_that_agree(rank: Call, tmp_path: Path) -> None:
    """One line names the contracts of all submissions, and how they were chosen."""
    truth = truth_file(tmp_path, "lesions")
    folders = [entry(tmp_path / name, "lesions") for name in ("ant", "bee")]
    own = "lesions/model (recognized by its keys), lesions/predictions (recognized by its keys)"
    assert _provenance(rank(truth, *folders).out) == [f"submissions: {own}"]
    markdown = rank(truth, *folders, "--format", "markdown").out
    assert f"- submissions: {own}" in markdown
    assert own in rank(truth, *folders, "--format", "html").out
    assert rank(truth, *folders, "--jobs", 2).out == rank(truth, *folders).out


def test_contracts_of_submissions_that_differ(rank: Call, tmp_path: Path) -> None:
    """Contracts of most submissions first, then by name; another container is not another contract."""
    truth = truth_file(tmp_path, "lesions")
    same = [entry(tmp_path / name, "lesions") for name in ("ant", "bee")]
    table, lone, nothing = (tmp_path / name for name in ("table", "lone", "nothing"))
    for folder in (table, lone, nothing):
        folder.mkdir()
    write(table, "lesions/predictions", SENT["lesions"], "csv")
    document(table, "model", model())
    sent_file(lone, "lesions")
    (nothing / "x.csv").write_text("a,b\n1,2\n")
    folders = [*same, table, lone, nothing]
    predictions = "lesions/predictions (recognized by its columns or by its keys)"
    assert _provenance(rank(truth, *folders).out) == [
        f"submissions: lesions/model (recognized by its keys), {predictions}",
        "Żuraw (lone): lesions/predictions (recognized by its keys)",
        "nothing: no contract recognized",
    ]
    quiet = rank(truth, *folders, "--quiet").out.splitlines()
    assert (
        "contracts: lesions/truth; submissions: lesions/model, lesions/predictions; "
        "Żuraw (lone): lesions/predictions; nothing: no contract recognized" in quiet
    )


def test_contract_that_was_specified(rank: Call, tmp_path: Path) -> None:
    """It is named as such."""
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")
    assert "submissions: lesions/predictions (given)\n" in rank(truth, f"lesions/predictions={sent}").out
