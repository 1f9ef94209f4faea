"""A folder with one report per submission: safe file names, and no file of somebody else is replaced."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence

from medcontract.addresses import require_local
from medcontract.atomic_write import write_file
from medcontract.errors import CallError

MANIFEST = ".medcontract-reports"
"""A file in the folder with the hash of each report (the format of `sha256sum`): any other file is not ours."""
_MOST_BYTES = 120
_EXTENSION = re.compile(r"(\.[A-Za-z0-9]{1,16}){1,2}")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"} | {f"{name}{n}" for name in ("com", "lpt") for n in range(10)}
)
"""Names of devices on Windows, with any extension."""


def report_names(names: Sequence[str], extension: str) -> list[str]:
    """A file name for each submission: portable, visible, and different from all others, also in upper case.

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
    """The name with letters, digits, `.`, `-` and `_` only, and without what a system gives a meaning to."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(c if unicodedata.category(c)[0] in "LMN" or c in ".-_" else "_" for c in text)
    text = text.lstrip(".-").encode()[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(".") or "submission"
    reserved = text.partition(".")[0].casefold() in _RESERVED
    return f"_{text}" if reserved else text


class ReportFolder:
    """Writes the reports of one call. Raises `CallError` if a report would replace a file that is not one."""

    def __init__(
        self, folder: str, names: Sequence[str], extension: str, inputs: Sequence[str], submissions: Sequence[str]
    ) -> None:
        require_local(folder, "--reports", "write the reports to a local folder, and copy it")
        self._folder = folder
        if not _EXTENSION.fullmatch(extension):
            raise CallError(f"'{extension}' is not a file extension", "pass one such as .html")
        self._names = report_names(names, extension)
        _refuse_inputs(folder, [*inputs, *submissions])
        _refuse_siblings(folder, submissions)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise _cannot_write(folder, error) from None
        self._known = _read_manifest(self._path(MANIFEST))
        for name in self._names:
            self._refuse_to_replace(name)

    def write(self, number: int, text: str) -> None:
        """Write the report of a submission. Its hash is saved first, so that a crash cannot make it somebody else's."""
        name = self._names[number]
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        self._refuse_to_replace(name)
        try:
            with open(self._path(MANIFEST), "a", encoding="utf-8", newline="\n") as stream:
                stream.write(f"{digest}  {name}\n")
        except OSError as error:
            raise _cannot_write(self._path(MANIFEST), error) from None
        write_file(text, self._path(name))
        self._known[name] = [digest]

    def finish(self) -> None:
        """Forget the hashes of reports that were replaced."""
        lines = [f"{digest}  {name}\n" for name, digests in sorted(self._known.items()) for digest in digests]
        write_file("".join(lines), self._path(MANIFEST))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _refuse_to_replace(self, name: str) -> None:
        path = self._path(name)
        if os.path.lexists(path) and not self._is_ours(name):
            raise CallError(
                f"--reports: {path} was not written as a report, or was changed since",
                "move it to another folder, or write the reports to a new one",
            )

    def _is_ours(self, name: str) -> bool:
        path = self._path(name)
        if os.path.islink(path) or not os.path.isfile(path):
            return False
        try:
            with open(path, "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest() in self._known.get(name, ())
        except OSError:
            return False


def _refuse_inputs(folder: str, inputs: Iterable[str]) -> None:
    """Raise `CallError` if the folder is an input of the call, or is in one: its reports would become data files."""
    target = os.path.join(os.path.realpath(folder), "")
    for name in inputs:
        if os.path.isdir(name) and target.startswith(os.path.join(os.path.realpath(name), "")):
            same = target == os.path.join(os.path.realpath(name), "")
            where = "is" if same else f"is in {name}, which is"
            raise CallError(f"--reports: {folder} {where} an input of this call", "write the reports to another folder")


def _refuse_siblings(folder: str, submissions: Iterable[str]) -> None:
    """Raise `CallError` if submissions are in the folder: the next call with `*` would take reports for submissions."""
    parents = {os.path.realpath(os.path.dirname(os.path.abspath(path))) for path in submissions}
    if os.path.realpath(folder) in parents:
        raise CallError(f"--reports: {folder} contains submissions of this call", "write the reports to another folder")


def _read_manifest(path: str) -> dict[str, list[str]]:
    """The hashes of the reports in the folder, by name; several if writing one was interrupted."""
    found: dict[str, list[str]] = {}
    if not os.path.lexists(path):
        return found
    if os.path.islink(path) or not os.path.isfile(path):
        raise CallError(f"--reports: {path} is not a file", "write the reports to a new folder")
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                digest, _, name = line.rstrip("\n").partition("  ")
                found.setdefault(name, []).append(digest)
    except OSError as error:
        raise _cannot_write(path, error) from None
    return found


def _cannot_write(path: str, error: OSError) -> CallError:
    return CallError(f"--reports: cannot write {path}: {(error.strerror or str(error)).lower()}")
