"""`medcontract leaderboard TRUTH FOLDER` where the folder contains submissions instead of being one."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.commands import SENT, TRACKS, Call, sent_file, truth_file

CALL = "if each file or folder in it is a separate submission: medcontract leaderboard TRUTH teams/*"


@pytest.mark.parametrize("track", TRACKS)
def test_one_file_for_each_team(call: Call, tmp_path: Path, track: str) -> None:
    """The reasons say how to rank the files separately; this call ranks them."""
    folder = tmp_path / "teams"
    files = [sent_file(folder, track, name=f"{name}.json") for name in ("ana", "bob")]
    truth = truth_file(tmp_path, track)
    (found,) = call("leaderboard", "--format", "json", truth, folder).json["submissions"]
    assert CALL in found["reasons"]
    separately = call("leaderboard", "--format", "json", truth, *files).json["submissions"]
    assert [entry["reasons"] for entry in separately] == [[], []]


def test_teams_in_subfolders(call: Call, tmp_path: Path) -> None:
    """Files that name different teams are refused, with the same advice."""
    for name in ("ana", "bob"):
        sent_file(tmp_path / "teams" / name, "lesions", team_name=name)
    ran = call("leaderboard", truth_file(tmp_path, "lesions"), tmp_path / "teams")
    assert ran.code == 1
    assert "'team_name' differs between two files" in ran.out
    assert CALL in ran.out


def archive(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as file:
        file.write(sent_file(folder.parent / name.removesuffix(".zip"), "lesions"), "predictions.json")


def test_a_folder_of_archives(call: Call, tmp_path: Path) -> None:
    """Archives in a folder are not read: the advice says how to rank them."""
    for name in ("ana.zip", "bob.zip"):
        archive(tmp_path / "teams", name)
    ran = call("leaderboard", truth_file(tmp_path, "lesions"), tmp_path / "teams")
    assert ran.code == 1
    assert CALL in ran.out


def test_archives_next_to_a_valid_file(call: Call, tmp_path: Path) -> None:
    """The file is ranked as the submission of the folder, with a warning about the archive."""
    archive(tmp_path / "teams", "ana.zip")
    sent_file(tmp_path / "teams", "lesions")
    ran = call("leaderboard", truth_file(tmp_path, "lesions"), tmp_path / "teams")
    assert ran.code == 0
    assert f"{CALL}\n" in ran.out


def test_one_submission_in_parts(call: Call, tmp_path: Path) -> None:
    """No advice if the files of a folder are parts of one valid submission."""
    records = SENT["lesions"]
    sent_file(tmp_path / "teams", "lesions", records[:10], name="a.json")
    sent_file(tmp_path / "teams", "lesions", records[10:], name="b.json")
    ran = call("leaderboard", truth_file(tmp_path, "lesions"), tmp_path / "teams")
    assert (ran.code, "separate submission" in ran.out) == (0, False)
