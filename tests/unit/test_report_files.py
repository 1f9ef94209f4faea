"""The folder of reports: file names, and files that are not ours."""

from __future__ import annotations

import ntpath
import os
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from medcontract.errors import CallError
from medcontract.report_files import MANIFEST, ReportFolder, report_names

HOSTILE = [
    "..", ".", "", "../../etc/passwd", "a/b", "a\\b", "C:\\x", "/abs", "con", "NUL.txt", "com1", "COM¹", "a:b",
    "a*?<>|\"", "x\x00y", "x\ny", "\u202eevil", "-rf", ".hidden", "trailing.", "trailing ", "Ñandú", "नमस्ते", "团队",
    "😀", "ﬁ", "a" * 500, "團" * 500, "\udcff", "／etc／x", MANIFEST,
]  # fmt: skip


_is_reserved: Any = getattr(ntpath, "isreserved", lambda name: PureWindowsPath(name).is_reserved())  # Python 3.13


def test_windows_reserves_names() -> None:
    assert [name for name in ("con.md", "_con.md", "COM¹", "a.md") if _is_reserved(name)] == ["con.md", "COM¹"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_safe(tmp_path: Path, name: str) -> None:
    """Whatever the name of a submission, its report is a visible file in the folder, on any system."""
    (found,) = report_names([name], ".md")
    assert os.path.basename(found) == found == PureWindowsPath(found).name
    assert not _is_reserved(found)
    assert found[0] not in ".-"
    assert found.endswith(".md")
    assert found.isprintable()
    assert not set(found) & set('<>:"/\\|?* ')
    assert len(found.encode()) <= 130
    folder = ReportFolder(str(tmp_path / "out"), [name], ".md", [], [])
    folder.write(0, "text")
    folder.finish()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {found, MANIFEST}
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_readable_names_stay() -> None:
    """Letters of any language, digits, dots, hyphens and underscores are kept."""
    names = ["Equipo_Ñandú-2", "团队.v1", "नमस्ते"]
    assert report_names(names, ".md") == [f"{name}.md" for name in names]


def test_names_do_not_collide() -> None:
    """Names that are equal, differ in case only, or become equal get numbers, in the order of the call."""
    names = ["heron", "Heron", "heron", "heron-2", "a/b", "a_b", "ﬁ", "fi"]
    found = report_names(names, ".md")
    assert found == [
        "heron.md", "Heron-2.md", "heron-3.md", "heron-2-2.md", "a_b.md", "a_b-2.md", "fi.md", "fi-2.md",
    ]  # fmt: skip
    assert len({name.casefold() for name in report_names(HOSTILE, ".md")}) == len(HOSTILE)


def _write(folder: Path, *names: str, text: str = "text") -> None:
    reports = ReportFolder(str(folder), names, ".md", [], [])
    for number in range(len(names)):
        reports.write(number, text)
    reports.finish()


def test_reports_are_replaced(tmp_path: Path) -> None:
    """Reports of earlier calls are replaced; those of other submissions, and any other file, stay as they are."""
    (tmp_path / "notes.txt").write_text("mine")
    _write(tmp_path, "a", "b", text="first")
    _write(tmp_path, "a", "c", text="second")
    found = {path.name: path.read_text() for path in tmp_path.iterdir() if path.name != MANIFEST}
    assert found == {"a.md": "second", "b.md": "first", "c.md": "second", "notes.txt": "mine"}
    _write(tmp_path, "b", text="third")
    assert len((tmp_path / MANIFEST).read_text().splitlines()) == 3


def test_an_interrupted_call(tmp_path: Path) -> None:
    """Reports of a call that was stopped are ours, too."""
    for text in ("first", "second"):
        ReportFolder(str(tmp_path), ["a"], ".md", [], []).write(0, text)
    assert (tmp_path / "a.md").read_text() == "second"


@pytest.mark.parametrize("kind", ["other", "changed", "link", "folder", "dangling"])
def test_files_of_others_are_not_replaced(tmp_path: Path, kind: str) -> None:
    """A file that is not a report, a report that was edited, a link or a folder stops the call before it starts."""
    target, folder = tmp_path / "mine.txt", tmp_path / "out"
    target.write_text("mine")
    _write(folder, "a", *(["b"] if kind == "changed" else []))
    path = folder / "b.md"
    if kind == "folder":
        path.mkdir()
    elif kind in ("link", "dangling"):
        path.symlink_to(target if kind == "link" else tmp_path / "nothing")
    else:
        path.write_text("mine")
    with pytest.raises(CallError, match="was not written as a report, or was changed since"):
        ReportFolder(str(folder), ["a", "b"], ".md", [], [])
    assert target.read_text() == "mine"
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_manifest_that_is_not_a_file(tmp_path: Path, kind: str) -> None:
    """Nothing is written through a link with the name of the manifest."""
    path = tmp_path / MANIFEST
    path.mkdir() if kind == "folder" else path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CallError, match="is not a file"):
        ReportFolder(str(tmp_path), ["a"], ".md", [], [])
    assert not (tmp_path / "elsewhere").exists()


def test_a_manifest_of_something_else(tmp_path: Path) -> None:
    """A damaged manifest makes no file ours."""
    (tmp_path / MANIFEST).write_bytes(b"\xff\xfe nonsense\n\n  \n")
    (tmp_path / "a.md").write_text("mine")
    with pytest.raises(CallError, match="was not written"):
        ReportFolder(str(tmp_path), ["a"], ".md", [], [])


def test_inputs(tmp_path: Path) -> None:
    """Reports are not written where they would be read as data, or taken for submissions, by the next call."""
    submission = tmp_path / "submissions" / "heron"
    submission.mkdir(parents=True)
    for folder, message in [
        (submission, "is an input"), (submission / "new", "is in .*heron/, which is an input"),
        (submission.parent, "contains submissions"),
    ]:  # fmt: skip
        with pytest.raises(CallError, match=message):
            ReportFolder(str(folder), ["heron"], ".md", [], [f"{submission}/"])
    assert not (submission / "new").exists()
    with pytest.raises(CallError, match="is an input"):
        ReportFolder(str(tmp_path), ["heron"], ".md", [str(tmp_path)], [])


@pytest.mark.parametrize("extension", ["", "md", "./x", ".a/b", ".", ". md"])
def test_extensions(tmp_path: Path, extension: str) -> None:
    """An extension cannot lead out of the folder."""
    with pytest.raises(CallError, match="is not a file extension"):
        ReportFolder(str(tmp_path), ["a"], extension, [], [])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in place of the folder is a wrong call."""
    (tmp_path / "out").write_text("mine")
    for folder in ("out", "out/deeper"):
        with pytest.raises(CallError, match="cannot write"):
            ReportFolder(str(tmp_path / folder), ["a"], ".md", [], [])
