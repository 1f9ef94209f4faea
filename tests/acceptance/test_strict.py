"""`--strict`, by which warnings fail, and `--exclude`, by which files in folders are skipped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.commands import SENT, Call, all_files, beside_files, keeps, sent_file, truth_file
from tests.support import VECTORS, lesion, lesions

import medcontract

WARNING = VECTORS / "lesions" / "model" / "valid" / "warn-size-150.json"


# --- --strict


def test_strict_validate(call: Call, tmp_path: Path) -> None:
    """A file with warnings is not ok; severities and counts stay."""
    code, out, _ = call("validate", "--strict", WARNING)
    assert code == 1
    assert "warning MC212" in out
    assert out.endswith("1 warning in 1 file. Warnings fail, because of --strict.\n")
    ran = call("validate", "--strict", "--format", "json", WARNING)
    found = keeps(ran.out, "medcontract/validation")
    assert ran.code == 1
    assert (found["ok"], found["files"][0]["ok"]) == (False, False)
    assert (found["files"][0]["errors"], found["files"][0]["warnings"]) == (0, 1)
    assert found["files"][0]["problems"][0]["severity"] == "warning"
    assert not medcontract.validate(WARNING, strict=True)
    assert not medcontract.validate_files([WARNING], strict=True)
    assert medcontract.validate(WARNING)


TIMES = ("--t-min-ms", "10", "--t-max-ms", "100")
"""Without them, the times of a single submission are a warning."""


def test_strict_without_warnings(call: Call, tmp_path: Path) -> None:
    """Without warnings nothing changes."""
    files = all_files(tmp_path / "files", "lesions")
    for command in (("validate",), ("score", *TIMES), ("preflight", *TIMES)):
        plain, strict = call(*command, *files), call(*command, "--strict", *files)
        assert (plain.code, plain.out) == (strict.code, strict.out)


def _with_warnings(folder: Path) -> list[Path]:
    """A valid submission whose model is so large that it has warnings."""
    return [
        truth_file(folder, "lesions"),
        sent_file(folder, "lesions"),
        *beside_files(folder, "lesions", model_size_mb=60.0),
    ]


def test_strict_score(call: Call, tmp_path: Path) -> None:
    """A score with warnings does not count, and says why; its figures are the same."""
    files = _with_warnings(tmp_path / "files")
    plain, strict = (call("score", *files, "--format", "json", *extra) for extra in ((), ("--strict",)))
    assert (plain.code, strict.code) == (0, 1)
    found = keeps(strict.out, "medcontract/score")
    assert found["valid"] is False
    assert "fail with --strict" in found["reasons"][-1] or "fails with --strict" in found["reasons"][-1]
    same = {"valid", "reasons"}
    assert {k: v for k, v in found.items() if k not in same} == {k: v for k, v in plain.json.items() if k not in same}
    text = call("score", *files, "--strict").out
    assert text.startswith("NOT VALID")
    assert "--strict" in text


def test_strict_preflight(call: Call, tmp_path: Path) -> None:
    """Checks with warnings fail, and so does the check of the score."""
    files = _with_warnings(tmp_path / "files")
    assert call("preflight", *files).code == 0
    ran = call("preflight", *files, "--strict", "--format", "json")
    found = keeps(ran.out, "medcontract/preflight")
    assert (ran.code, found["ready"], found["score"]["valid"]) == (1, False, False)
    failed = {check["id"]: check["detail"] for check in found["checks"] if check["status"] == "failed"}
    assert set(failed) == {"lesions/model", "score"}
    assert all("--strict" in detail for detail in failed.values())
    assert call("preflight", *files, "--strict").out.endswith("NOT READY: 2 checks failed.\n")
    assert call("preflight", *files, "--strict", "--max-problems", 0).code == 1
    assert not medcontract.preflight(*files, strict=True)


def test_strict_for_participants(call: Call, tmp_path: Path) -> None:
    """Records that the gate allows to fail are not warnings, in participant output either."""
    files = [
        truth_file(tmp_path, "lesions"),
        sent_file(tmp_path, "lesions", SENT["lesions"][1:]),
        *beside_files(tmp_path, "lesions"),
    ]
    for extra in ((), ("--participant",)):
        assert call("score", *files, *TIMES, *extra).code == 0
        assert call("score", *files, *TIMES, "--strict", *extra).code == 0


def test_strict_leaderboard(call: Call, tmp_path: Path) -> None:
    """Warnings, here about a submission without a model file, set the exit code; the ranking stays the same."""
    without = ["leaderboard", *all_files(tmp_path / "triage", "triage")]
    warned = ["leaderboard", *all_files(tmp_path / "lesions", "lesions")[:2]]
    assert [call(*each).code for each in (without, warned)] == [0, 0]
    assert [call(*each, "--strict").code for each in (without, warned)] == [0, 1]
    assert "warning:" in call(*warned).out
    assert call(*warned).out == call(*warned, "--strict").out
    files = list(map(str, warned[1:]))
    assert (bool(medcontract.leaderboard(*files)), bool(medcontract.leaderboard(*files, strict=True))) == (True, False)


def test_strict_compare(call: Call, tmp_path: Path) -> None:
    """Warnings about a comparison set the exit code."""
    files = all_files(tmp_path / "files", "lesions")
    for name, extra in (("a.json", ()), ("b.json", ("--participant",))):
        call("score", *files, "--format", "json", "--out", name, *extra)
    assert call("compare", "--strict", "a.json", "a.json").code == 0
    assert "warning:" in call("compare", "b.json", "b.json").out
    assert call("compare", "b.json", "b.json").code == 0
    assert call("compare", "--strict", "b.json", "b.json").code == 1
    for name, ok in (("a.json", True), ("b.json", False)):
        assert bool(medcontract.compare(name, name))
        assert bool(medcontract.compare(name, name, strict=True)) == ok


# --- --exclude


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two valid files, and two invalid ones in a subfolder."""
    data = tmp_path / "data"
    (data / "old").mkdir(parents=True)
    (data / "truth.jsonl").write_bytes(lesions(3))
    (data / "more.jsonl").write_bytes(lesions(2))
    for name in ("a.jsonl", "draft.jsonl"):
        (data / "old" / name).write_text(json.dumps(lesion(1, label="XX")) + "\n", encoding="utf-8")
    return data


@pytest.mark.parametrize(("patterns", "files"), [
    ([], 4),
    (["old"], 2),
    (["old/"], 2),
    (["old/**"], 2),
    (["data/old/*"], 2),
    (["draft*"], 3),
    (["draft*", "a.jsonl"], 2),
    (["*.jsonl/"], 4),
])  # fmt: skip
def test_exclude(call: Call, folder: Path, patterns: list[str], files: int) -> None:
    """Files and folders that match a pattern are not checked."""
    ran = call("validate", "data", "--format", "json", *(word for each in patterns for word in ("--exclude", each)))
    assert len(ran.json["files"]) == files
    assert ran.code == (0 if files == 2 else 1)
    assert len(medcontract.validate_files("data", exclude=patterns).files) == files


def test_exclude_that_matches_nothing(call: Call, folder: Path) -> None:
    """It is reported on standard error, unless with --quiet."""
    ran = call("validate", "data", "--exclude", "old", "--exclude", "olt")
    assert ran.err == "medcontract: --exclude olt: matches no file in the given folders\n"
    assert ran.code == 0
    assert call("validate", "data", "--exclude", "old", "--exclude", "olt", "--quiet").err == ""


def test_exclude_everything(call: Call, folder: Path) -> None:
    """A folder without any remaining file is a usage error that says why."""
    code, _, err = call("validate", "data", "--exclude", "*")
    assert code == 2
    assert "all data files in this folder are excluded" in err


def test_a_named_file_is_not_excluded(call: Call, folder: Path) -> None:
    """Patterns are for folders; a file that is an argument is checked."""
    ran = call("validate", "data/old/a.jsonl", "--exclude", "old")
    assert ran.code == 1
    assert "matches no file" in ran.err


@pytest.mark.parametrize("pattern", ["", "/", "a/[z-a]"])
def test_a_wrong_pattern(call: Call, folder: Path, pattern: str) -> None:
    """An empty or invalid pattern is a usage error."""
    assert call("validate", "data", "--exclude", pattern).code == 2


def test_exclude_in_scores_and_rankings(call: Call, tmp_path: Path) -> None:
    """A second predictions file with another header makes a submission ambiguous, until it is excluded."""
    truth, sent, model = all_files(tmp_path / "files", "lesions")
    team = tmp_path / "team"
    team.mkdir()
    for file in (sent, model, sent.parent / "infer.py"):
        shutil.copy(file, team)
    sent_file(team, "lesions", name="draft.json", team_name="Another")
    for command in ("score", "preflight"):
        assert call(command, truth, team).code == 2
        assert call(command, truth, team, "--exclude", "draft*").code == 0
    assert "1 valid" not in call("leaderboard", truth, team).out
    assert "1 valid" in call("leaderboard", truth, team, "--exclude", "draft*").out
