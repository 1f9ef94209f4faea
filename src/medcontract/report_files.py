"""A folder with one report per submission: safe file names, and no folder that was made for something else."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence

from medcontract.addresses import require_local
from medcontract.atomic_write import refuse_input_folder, write_file
from medcontract.errors import CallError, option

MARKER = ".medcontract-reports"
"""An empty file in the folder: reports in it may be replaced."""
_MOST_BYTES = 120
_EXTENSION = re.compile(r"(\.[A-Za-z0-9]{1,16}){1,2}")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"} | {f"{name}{n}" for name in ("com", "lpt") for n in range(10)}
)
"""Names of devices on Windows, with any extension."""


def report_names(names: Sequence[str], extension: str) -> list[str]:
    """Return a file name for each submission: portable, visible, and different from all others, also in upper case.

    If several submissions have the same name, a number is added to all but the first.
    """
    found: list[str] = []
    used: set[str] = set()
    for name in names:
        stem = _safe(name)
        candidate, number = stem, 1
        while candidate.casefold() in used:
            number += 1
            candidate = f"{stem}-{number}"
        used.add(candidate.casefold())
        found.append(f"{candidate}{extension}")
    return found


def _safe(name: str) -> str:
    """Return the name with letters, digits, `.`, `-` and `_` only, and without what a system gives a meaning to."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(c if unicodedata.category(c)[0] in "LMN" or c in ".-_" else "_" for c in text)
    text = text.lstrip(".-").encode()[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(".") or "submission"
    reserved = text.partition(".")[0].casefold() in _RESERVED
    return f"_{text}" if reserved else text


class ReportFolder:
    """Writes the reports of one call. Raises `CallError` for a folder that was not made for reports."""

    def __init__(
        self, folder: str, names: Sequence[str], extension: str, inputs: Sequence[str], submissions: Sequence[str]
    ) -> None:
        require_local(folder, option("--reports"), "write the reports to a local folder, and copy it")
        if not _EXTENSION.fullmatch(extension):
            raise CallError(f"'{extension}' is not a file extension", "pass one such as .html")
        refuse_input_folder(folder, [*inputs, *submissions], "--reports", beside=submissions)
        self._paths = [os.path.join(folder, name) for name in report_names(names, extension)]
        try:
            os.makedirs(folder, exist_ok=True)
            there = sorted(os.listdir(folder))
        except OSError as error:
            raise CallError(
                f"cannot write {folder}: {(error.strerror or str(error)).lower()}", flag="--reports"
            ) from None
        if there and MARKER not in there:
            raise CallError(f"{folder} already has {there[0]}", "write the reports to a new folder", flag="--reports")
        marker = os.path.join(folder, MARKER)
        for path in (marker, *self._paths):
            _refuse_link(path)
        if not there:
            write_file("", marker)

    def links(self, page: str) -> tuple[str, list[str]]:
        """Return the link from a report to a page, and the links from that page to all reports."""
        from urllib.parse import quote

        def link(target: str, source: str) -> str:
            return quote(os.path.relpath(target, os.path.dirname(os.path.abspath(source))).replace(os.sep, "/"))

        return link(page, self._paths[0]), [link(path, page) for path in self._paths]

    def write(self, number: int, text: str) -> None:
        """Write the report of a submission."""
        _refuse_link(self._paths[number])
        write_file(text, self._paths[number])


def _refuse_link(path: str) -> None:
    if os.path.islink(path) or os.path.isdir(path):
        raise CallError(f"{path} is a link or a folder", "write the reports to a new folder", flag="--reports")
