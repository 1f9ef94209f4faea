"""Says why files in a folder are not read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from medcontract.containers import BY_ENDING
from medcontract.problems import plural
from medcontract.results.base import printable

MOST_LISTED = 10
_FEW = 3
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z", ".rar")
_COMPRESSED = (".bz2", ".xz", ".zst", ".lz4", ".z")
_OTHER_DATA = (
    ".tsv", ".tab", ".txt", ".dat", ".data", ".psv", ".xml", ".yaml", ".yml", ".json5", ".feather", ".arrow", ".orc",
    ".avro", ".db", ".sqlite", ".sqlite3", ".sav", ".rds", ".mat", "",
)  # fmt: skip
"""Extensions of files that may be meant as data."""
_ABOUT = frozenset(
    {
        "authors", "changelog", "changes", "citation", "copying", "dockerfile", "gemfile", "licence", "license",
        "makefile", "notes", "notice", "readme", "requirements",
    }
)  # fmt: skip
"""Names, without extension, of files that are not data."""


class SkippedFile(NamedTuple):
    """A file in a folder that is not read, because of its name."""

    path: str
    message: str = "not a data file"
    hint: str | None = None
    """What to do if it is meant as data; None if it is not, such as a readme, a script or an image."""

    @property
    def may_be_data(self) -> bool:
        return self.hint is not None

    @property
    def is_archive(self) -> bool:
        return self.path.lower().endswith(_ARCHIVES)

    @property
    def reason(self) -> str:
        return "; ".join(filter(None, (self.message, self.hint)))

    @property
    def name(self) -> str:
        return printable(os.path.basename(self.path))

    @property
    def note(self) -> str:
        return f"{self.name} is ignored: {self.reason}"


def skipped(path: str) -> SkippedFile:
    """Why a file that does not have the extension of a data file is not read."""
    name = os.path.basename(path).lower()
    stem, extension = os.path.splitext(name)
    inner = os.path.splitext(stem)[1]
    if name.endswith(_ARCHIVES):
        return SkippedFile(path, "an archive in a folder is not read", "unpack it, or submit it alone")
    if extension in _SPREADSHEETS:
        return SkippedFile(path, "a spreadsheet is not read", "save it as .csv")
    if extension in _COMPRESSED:
        hint = "decompress it, or use .gz" if inner in BY_ENDING else None
        return SkippedFile(path, f"{extension} is not supported", hint)
    if extension == inner == ".gz":
        return SkippedFile(path, "it is gzipped twice", "decompress it once")
    if inner in BY_ENDING:  # predictions.csv.txt, predictions.json.bak
        return SkippedFile(path, f"its extension is {extension}", f"if it is data, rename it to end in {inner}")
    if extension == ".gz" or extension not in _OTHER_DATA or stem in _ABOUT or name.startswith("."):
        return SkippedFile(path)
    message = f"its extension is {extension}" if extension else "it has no extension"
    return SkippedFile(path, message, f"if it is data, convert it to {_expected()}")


def _expected() -> str:
    *most, last = BY_ENDING
    return f"{', '.join(most)} or {last}"


def notes_on_skipped(files: Sequence[SkippedFile]) -> list[str]:
    """Warnings about skipped files that may be data; the first ones, and the number of the others."""
    notes = [file.note for file in files if file.may_be_data]
    left = len(notes) - MOST_LISTED
    return notes[:MOST_LISTED] + ([f"{plural(left, 'more file')} with other extensions ignored"] if left > 0 else [])


def describe_skipped(files: Sequence[SkippedFile]) -> str:
    """All skipped files in one line; those that are not data are grouped."""
    others = [file.name for file in files if not file.may_be_data]
    left = len(others) - _FEW
    listed = ", ".join(others[:_FEW]) + (f" and {plural(left, 'other')}" if left > 0 else "")
    grouped = [f"not {'data files' if others[1:] else 'a data file'}: {listed}"] if others else []
    return "; ".join([*notes_on_skipped(files), *grouped])
