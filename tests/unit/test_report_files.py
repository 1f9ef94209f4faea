"""The folder of reports: file names, and folders with other files."""

from __future__ import annotations

import ntpath
import os
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from medcontract.errors import CallError
from medcontract.report_files import MARKER, ReportFolder, report_names

HOSTILE = [
    "..", ".", "", "../../etc/passwd", "a/b", "a\\b", "C:\\x", "/abs", "con", "NUL.txt", "com1", "COM¹", "a:b",
    "a*?<>|\"", "x\x00y", "x\ny", "\u202eevil", "-rf", ".hidden", "trailing.", "trailing ", "Ñandú", "नमस्ते", "团队",
    "😀", "ﬁ", "a" * 500, "團" * 500, "\udcff", "／etc／x", MARKER,
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
    assert {path.name for path in (tmp_path / "out").iterdir()} == {found, MARKER}
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


def test_reports_are_replaced(tmp_path: Path) -> None:
    """Reports of earlier calls are replaced; reports of other submissions, and any other file, stay as they are."""
    _write(tmp_path, "a", "b", text="first")
    (tmp_path / "notes.txt").write_text("mine")
    _write(tmp_path, "a", "c", text="second")
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"a.md": "second", "b.md": "first", "c.md": "second", "notes.txt": "mine", MARKER: ""}


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    """A folder with files that was not made for reports stops the call before it starts."""
    (tmp_path / "b.md").write_text("mine")
    with pytest.raises(CallError, match=r"already has b\.md"):
        ReportFolder(str(tmp_path), ["a", "b"], ".md", [], [])
    assert [path.name for path in tmp_path.iterdir()] == ["b.md"]


@pytest.mark.parametrize("name", ["b.md", MARKER])
@pytest.mark.parametrize("kind", ["link", "folder", "dangling"])
def test_links_and_folders_are_not_replaced(tmp_path: Path, kind: str, name: str) -> None:
    """A link or a folder with the name of a report, or of the marker, stops the call before it starts."""
    target, folder = tmp_path / "mine.txt", tmp_path / "out"
    target.write_text("mine")
    _write(folder, "a")
    path = folder / name
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target if kind == "link" else tmp_path / "nothing")
    with pytest.raises(CallError, match="is a link or a folder"):
        ReportFolder(str(folder), ["a", "b"], ".md", [], [])
    assert target.read_text() == "mine"
    assert not (tmp_path / "nothing").exists()


def test_a_link_that_appears_later(tmp_path: Path) -> None:
    """Nothing is written through a link with the name of a report."""
    reports = ReportFolder(str(tmp_path / "out"), ["a"], ".md", [], [])
    (tmp_path / "out" / "a.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CallError, match="is a link"):
        reports.write(0, "text")
    assert not (tmp_path / "elsewhere").exists()


def test_inputs(tmp_path: Path) -> None:
    """Reports are not written where they would be read as data, or taken for submissions, by the next call."""
    submission = tmp_path / "submissions" / "heron"
    submission.mkdir(parents=True)
    for folder, message in [
        (submission, "is an input"), (submission / "new", "is in .*heron/, which is an input"),
        (submission.parent, "contains inputs"),
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
    """A file in place of the folder is a usage error."""
    (tmp_path / "out").write_text("mine")
    for folder, message in (("out", "is not a folder"), ("out/deeper", "cannot write")):
        with pytest.raises(CallError, match=message):
            ReportFolder(str(tmp_path / folder), ["a"], ".md", [], [])
