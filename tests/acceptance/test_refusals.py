"""Why a file in a folder was not used, and why a submission was refused: `validate`, `preflight`, `score`, rankings."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.commands import SENT, Call, keeps, sent_file, truth_file
from tests.scoring_files import as_csv, write

import medcontract
from medcontract.errors import CallError

PREDICTIONS = as_csv("lesions/predictions", SENT["lesions"])


def put(path: Path, content: bytes | str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return truth_file(tmp_path, "lesions")


@pytest.fixture
def board(call: Call) -> Call:
    """`medcontract leaderboard` as JSON."""
    return partial(call, "leaderboard", "--format", "json")


UNUSED: dict[str, tuple[str, bytes, str]] = {
    "semicolons": ("old.csv", PREDICTIONS.replace(b",", b";"), "separated by semicolons"),
    "other keys": ("old.json", b'{"whatever": 1}', "no contract matches its keys"),
    "archive": ("old.zip", b"PK", "an archive in a folder is not read; unpack it, or submit it alone"),
    "tar": ("old.tar.gz", b"\x1f\x8b", "an archive in a folder is not read"),
    "spreadsheet": ("old.xlsx", b"PK", "a spreadsheet is not read; save it as .csv"),
    "syntax": ("old.json", b'{"a": [1,]}', "line 1: a comma before the closing bracket"),
    "text": ("old.txt", b"a,b", "its extension is .txt; if it is data, convert it to"),
    "gzipped twice": ("old.csv.gz.gz", b"\x1f\x8b", "it is gzipped twice; decompress it once"),
    "copy": ("old.csv.bak", b"a,b", "its extension is .bak; if it is data, rename it to end in .csv"),
}


@pytest.mark.parametrize("kind", UNUSED)
@pytest.mark.parametrize("command", ["score", "leaderboard", "preflight"])
def test_a_file_next_to_the_submission(call: Call, tmp_path: Path, truth: Path, command: str, kind: str) -> None:
    """A file that is not used is listed with the reason, and does not make the submission invalid."""
    name, content, reason = UNUSED[kind]
    sent_file(tmp_path / "a", "lesions")
    put(tmp_path / "a" / name, content)
    ran = call(command, truth, tmp_path / "a", "--participant")
    assert ran.code == 0
    (line,) = [line for line in ran.out.splitlines() if reason in line]
    assert name in line
    assert "ignored" in line


@pytest.mark.parametrize("kind", UNUSED)
def test_a_submission_without_a_usable_file(board: Call, tmp_path: Path, truth: Path, kind: str) -> None:
    """The entry of a refused submission has the first problem: code, file, place, message."""
    name, content, reason = UNUSED[kind]
    put(tmp_path / "b" / name, content)
    ran = board(truth, sent_file(tmp_path / "a", "lesions").parent, tmp_path / "b")
    envelope = keeps(ran.out, "medcontract/leaderboard")
    found = envelope["submissions"][1]
    assert (ran.code, found["name"], found["valid"]) == (0, "b", False)
    assert "problem" not in envelope["submissions"][0]
    assert reason.removeprefix("line 1: ") in found["reasons"][0]
    assert found["problem"]["file"] == name
    assert found["problem"]["message"] in found["reasons"][0]
    if "cannot be read" not in found["reasons"][0]:
        assert (found["problem"]["hint"] or "") in found["reasons"][0]
    assert found["problem"]["code"] in ("MC005", "MC009", "MC012")
    assert str(tmp_path) not in ran.out


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_a_single_file_that_is_refused(board: Call, tmp_path: Path, truth: Path, suffix: str) -> None:
    """A submission that is one file and cannot be used keeps its entry, with the problem."""
    file = put(tmp_path / f"heron{suffix}", PREDICTIONS.replace(b",", b";"))
    ran = board(truth, file)
    (found,) = keeps(ran.out, "medcontract/leaderboard")["submissions"]
    assert (ran.code, found["valid"], found["problem"]["file"]) == (1, False, file.name)
    assert "semicolons" in found["reasons"][0]
    assert str(tmp_path) not in ran.out


def test_the_first_error_of_a_submission_below_the_gate(board: Call, call: Call, tmp_path: Path, truth: Path) -> None:
    """The problem is the first error in file order, not a warning, and without a value of a record."""
    records = [{**record} for record in SENT["lesions"]]
    for record in records[3:]:
        record["probabilities"] = "María"
    write(put(tmp_path / "a" / "x").parent, "lesions/predictions", records)
    ran = board(truth, tmp_path / "a")
    (found,) = keeps(ran.out, "medcontract/leaderboard")["submissions"]
    assert "15 % processed" in found["reasons"][0]
    problem = found["problem"]
    assert (problem["severity"], problem["record"], problem["pointer"]) == (
        "error", 3, "/predictions/3/probabilities",
    )  # fmt: skip
    assert (problem["line"], problem["column"]) > (0, 0)
    for format_ in ("text", "markdown"):
        text = call("leaderboard", truth, tmp_path / "a", "--format", format_).out
        assert f":{problem['line']}:{problem['column']}: {problem['code']} " in text.replace("\\", "")
        assert "María" not in text
    assert "María" not in ran.out


def test_scripts_and_readmes_are_no_warning(call: Call, tmp_path: Path, truth: Path) -> None:
    """Files that are not meant as data are listed by a preflight, and only if nothing else is there in a ranking."""
    sent_file(tmp_path / "a", "lesions")
    for name in ("README.md", "run.py", "model.onnx", "notes.txt", "LICENSE"):
        put(tmp_path / "a" / name)
        put(tmp_path / "b" / name)
    for command in ("score", "leaderboard"):
        assert "README.md" not in call(command, truth, tmp_path / "a").out
    ready = call("preflight", truth, tmp_path / "a").out
    assert "not data files: LICENSE, README.md, model.onnx and 2 others" in ready
    refused = call("leaderboard", truth, tmp_path / "b").out
    assert "no data files in this folder (not data files: LICENSE, README.md, model.onnx and 2 others)" in refused


def test_many_unused_files(call: Call, tmp_path: Path, truth: Path) -> None:
    """The first ones are listed, the others counted."""
    sent_file(tmp_path / "a", "lesions")
    for n in range(15):
        put(tmp_path / "a" / f"{n:02}.xlsx")
        put(tmp_path / "a" / f"{n:02}.csv", "a;b\n1;2\n")
    text = call("score", truth, tmp_path / "a").out
    assert text.count("is ignored: ") == 20
    assert "5 more files that match no contract ignored" in text
    assert "5 more files with other extensions ignored" in text


@pytest.mark.parametrize("participant", [False, True])
def test_participants_learn_nothing_about_files_next_to_the_truth(
    call: Call, tmp_path: Path, participant: bool
) -> None:
    """An unrecognized file in the folder of a truth is the organizer's: its reason is not shown to participants."""
    truth_file(put(tmp_path / "truth" / "secret.csv", "a;b\n1;2\n").parent, "lesions")
    put(tmp_path / "truth" / "labels.xlsx")
    sent_file(tmp_path / "a", "lesions")
    put(tmp_path / "a" / "own.csv", "a;b\n1;2\n")
    text = call("score", tmp_path / "truth", tmp_path / "a", *(["--participant"] * participant)).out
    assert "own.csv is ignored: no contract matches its columns" in text
    shown = "it matches no contract" if participant else "no contract matches its columns"
    assert f"secret.csv is ignored: {shown}" in text
    assert ("labels.xlsx" in text) != participant


# --- what is not a submission ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["README.md", "run.py", "LICENSE", ".DS_Store", "readme.txt"])
def test_a_file_that_is_not_a_submission(board: Call, tmp_path: Path, truth: Path, name: str) -> None:
    """A readme or a script among the submissions is not a team: a warning says that it is ignored."""
    ran = board(truth, put(tmp_path / "s" / name, "# Submissions\n"), sent_file(tmp_path / "a", "lesions").parent)
    envelope = keeps(ran.out, "medcontract/leaderboard")
    assert (ran.code, [found["name"] for found in envelope["submissions"]]) == (0, ["a"])
    assert f"{name} is not a submission: ignored (not a data file)" in envelope["warnings"]


def test_an_unknown_extension_with_known_content(board: Call, tmp_path: Path, truth: Path) -> None:
    """A file with any extension is a submission if its contract is recognized."""
    ran = board(truth, put(tmp_path / "heron.out", PREDICTIONS))
    (found,) = ran.json["submissions"]
    assert (ran.code, found["name"], found["valid"]) == (0, "heron.out", True)


def test_nothing_but_a_readme(call: Call, tmp_path: Path, truth: Path) -> None:
    """Without a submission the call is wrong."""
    ran = call("leaderboard", truth, put(tmp_path / "s" / "README.md"))
    assert (ran.code, ran.out) == (2, "")
    assert "there are no submissions to rank" in ran.err
    assert "README.md is not a submission" in ran.err


@pytest.mark.parametrize(("names", "code"), [(["bad"], 1), (["bad", "good"], 0), (["good"], 0)])
def test_exit_code_of_a_ranking(call: Call, tmp_path: Path, truth: Path, names: list[str], code: int) -> None:
    """1 if no submission is valid, as `bool(leaderboard(...))` says."""
    sent_file(tmp_path / "good", "lesions")
    sent_file(tmp_path / "bad", "lesions", SENT["lesions"][:3])
    assert call("leaderboard", truth, *names).code == code
    assert bool(medcontract.leaderboard(truth, *names)) == (code == 0)


# --- validate -------------------------------------------------------------------------------------


def test_validate_lists_what_it_skipped(call: Call, tmp_path: Path) -> None:
    """Files in a folder that are not checked are listed with the reason; they are neither errors nor warnings."""
    sent_file(tmp_path / "a", "lesions")
    for name in ("README.md", "b.zip", "deep/c.xlsx", ".hidden"):
        put(tmp_path / "a" / name)
    ran = call("validate", "a")
    assert ran.code == 0
    assert "skipped a/README.md: not a data file\n" in ran.out
    assert "skipped a/b.zip: an archive in a folder is not read; unpack it, or submit it alone\n" in ran.out
    assert "skipped a/deep/c.xlsx: a spreadsheet is not read; save it as .csv\n" in ran.out
    assert ran.out.endswith("No problems found in 1 file, 20 records.\n")
    found = keeps(call("validate", "--format", "json", "a").out, "medcontract/validation")
    assert [file["path"] for file in found["skipped"]] == ["a/README.md", "a/b.zip", "a/deep/c.xlsx"]
    assert "skipped" not in call("validate", "--format", "json", "a/lesions-predictions.json").json


def test_validate_groups_what_it_skipped(call: Call, tmp_path: Path) -> None:
    """Hundreds of files with the same reason are one line."""
    sent_file(tmp_path / "a", "lesions")
    for n in range(300):
        put(tmp_path / "a" / "images" / f"{n:03}.png")
    (line,) = [line for line in call("validate", "a").out.splitlines() if line.startswith("skipped")]
    assert line.endswith(" and 295 others: not a data file")


def test_a_file_that_is_skipped_and_named(call: Call, tmp_path: Path) -> None:
    """A file that is an argument is checked, so it is not listed as skipped."""
    sent_file(tmp_path / "a", "lesions")
    put(tmp_path / "a" / "b.txt", PREDICTIONS)
    ran = call("validate", "a", "a/b.txt")
    assert (ran.code, "skipped" in ran.out) == (0, False)


@pytest.mark.parametrize("names", [[], ["README.md"], ["b.xlsx", "c.zip"]])
def test_validate_a_folder_without_data(call: Call, tmp_path: Path, names: list[str]) -> None:
    """If nothing can be checked, the call is wrong: exit code 2, with what is in the folder."""
    (tmp_path / "a").mkdir()
    for name in names:
        put(tmp_path / "a" / name)
    ran = call("validate", "a")
    assert (ran.code, ran.out) == (2, "")
    assert "a: no data files in this folder" in ran.err
    assert all(name in ran.err for name in names)


def test_validate_no_files() -> None:
    """A validation of nothing is not a success."""
    with pytest.raises(CallError, match="there are no files to check"):
        medcontract.validate_files([])


def test_preflight_says_why_nothing_can_be_checked(call: Call, tmp_path: Path) -> None:
    """A folder in which no file is recognized is a usage error, with the reason for each file."""
    put(tmp_path / "a" / "predictions.csv", b"name,result\nI-1,MEL\n")
    put(tmp_path / "a" / "data.xlsx")
    ran = call("preflight", "a")
    assert (ran.code, ran.out) == (2, "")
    assert "predictions.csv is ignored: no contract matches its columns" in ran.err
    assert "data.xlsx is ignored: a spreadsheet is not read; save it as .csv" in ran.err


def test_preflight_with_a_truth_only(call: Call, tmp_path: Path, truth: Path) -> None:
    """A submission that is not recognized fails the first check, with the reason."""
    put(tmp_path / "a" / "predictions.csv", b"name,result\nI-1,MEL\n")
    ran = call("preflight", "a", truth, "--format", "json")
    (check,) = [check for check in ran.json["checks"] if check["id"] == "files"]
    assert (ran.code, check["status"]) == (1, "failed")
    assert "there is no submission among these files" in check["detail"]
    assert "expected a file of lesions/predictions with image_id, probabilities" in check["detail"]
    assert "no contract matches its columns" in check["detail"]


@pytest.mark.parametrize("with_truth", [False, True])
def test_preflight_of_another_format(call: Call, tmp_path: Path, truth: Path, with_truth: bool) -> None:
    """A submission in another format fails the first check, with the problem and its hint."""
    put(tmp_path / "a" / "predictions.csv", PREDICTIONS.replace(b",", b";"))
    ran = call("preflight", "a", *[truth] * with_truth, "--format", "json")
    (check,) = [check for check in ran.json["checks"] if check["id"] == "files"]
    assert (ran.code, check["status"]) == (1, "failed")
    assert "cannot be read: predictions.csv" in check["detail"]
    (problem,) = check["problems"]
    assert "separated by semicolons" in problem["message"]
    assert "separate the columns by commas" in problem["hint"]
