"""The result of `validate`: the problems of each file."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from medcontract.problems import CODES_OF_MISSING_VALUES, NO_CARET, is_plain, plural
from medcontract.results.base import Code, Count, Position, ResultItem, ResultList, Row, Str


class Problem(ResultItem, frozen=True, kw_only=True):
    """Something wrong in a file, and its location."""

    code: Code
    """The code of the problem; `medcontract explain CODE` describes it."""
    severity: Literal["error", "warning"]
    """Only errors make a file invalid, warnings do not."""
    message: Str
    """What is wrong."""
    hint: Str | None = None
    """How to fix it."""
    pointer: str = ""
    """RFC 6901 pointer, into the document for .json, otherwise into the record. Keys that may be data become …."""
    record: Count | None = None
    """The 0-based index of the record."""
    line: Position | None = None
    """The 1-based line."""
    column: Position | None = None
    """The 1-based column, in code points."""
    field: str | None = None
    """The name of the column, for tables."""

    _plain_pointer: str = ""
    """The pointer with … for keys that may be data."""
    _value: str | None = None
    """The offending value, shortened."""
    _excerpt: str | None = None
    """The source line, shortened; `_caret` is the column of the problem in it."""
    _caret: int = NO_CARET
    _letter: str | None = None
    """The column as spreadsheets name it (C), for cells of a CSV file."""
    _more: int = 0
    """The number of similar problems that are not listed; set on the last one that is."""
    _more_are: str = "record"
    """What `_more` counts: records with one such problem each, or problems."""
    _statement: str = ""
    """What is wrong, without the name of the field."""
    _subject: str = ""
    """The name that the message starts with, if it has one."""
    _merged: bool = False
    """A missing key that is there under an unknown name, which is a problem of its own."""
    _renamed: str = ""
    """The field that the unknown key probably is."""
    _unanswered: str = ""
    """There is no answer: in this field (`value`), or in the whole record (`record`)."""

    @property
    def message_with_value(self) -> str:
        """The message, with the offending value."""
        if not self._value:
            return self.message
        got = "" if self.code in CODES_OF_MISSING_VALUES else "got "
        return f"{self.message} ({got}{self._value})"

    def _data(self, show_values: bool) -> Row:
        data: Row = super()._data(show_values)
        if show_values:
            data["message"] = self.message_with_value
        else:
            data["pointer"] = self._plain_pointer
            data["field"] = self.field if self.field is None or is_plain(self.field) else "…"
        return data

    @property
    def _place(self) -> str:
        """What follows the name of the file: line and column, or the record where there are no lines."""
        if self.line is not None:
            return f":{self.line}" if self.column is None else f":{self.line}:{self.column}"
        return "" if self.record is None else f", record {self.record}"

    def __str__(self) -> str:
        """Return the place, the code and the message, without values of records."""
        place = self._place.lstrip(":, ")
        place = ":".join(filter(None, (getattr(self, "file", None), place)))
        return f"{f'{place}: ' if place else ''}{self.severity} {self.code} {self.message}"

    def _summary(self) -> str:
        place = self._place.lstrip(":, ")
        return f"{self.code} {self.severity}{f' at {place}' if place else ''}"


PROBLEM_COLUMNS = (
    "file", "code", "severity", "message", "hint", "pointer", "record", "line", "column", "field",
)  # fmt: skip


class NamedFiles(NamedTuple):
    """How many of the files that the records refer to were checked, and how many are invalid."""

    checked: int
    bad: int


class FileReport(ResultList[Problem], frozen=True, kw_only=True):
    """The problems of one file."""

    path: str
    """The path as given."""
    contract: Str | None
    """The contract that the file was checked against; null if it is unknown."""
    ok: bool
    """Whether there are no errors; with --strict, no warnings either."""
    records: Count | None
    """The number of records; null for documents, and if nothing could be read."""
    errors: Count
    """The number of errors, including omitted ones."""
    warnings: Count
    """The number of warnings, including omitted ones."""
    omitted: Count
    """The number of problems that are counted but not listed."""
    problems: tuple[Problem, ...]
    """The problems, in file order."""

    _usage_error: bool = False
    _candidates: tuple[str, ...] = ()
    """The contracts that it matches equally well, if it is not recognized for that reason."""
    _how: str | None = None
    """How the contract is known, such as `recognized by its columns`."""
    _images: NamedFiles | None = None

    _listed = "problems"

    @property
    def usage_error(self) -> bool:
        """Whether the file could not be checked, such as a missing file or one whose contract is not recognized."""
        return self._usage_error

    @property
    def images(self) -> NamedFiles | None:
        """The images that the records refer to, if an image folder was given."""
        return self._images

    def to_dict(self, show_values: bool = False) -> Any:
        """Return what `medcontract validate --format json` prints for this file."""
        return Validation.of((self,)).to_dict(show_values)

    def _rendered(self, format_name: str, show_values: bool) -> str:
        return Validation.of((self,))._rendered(format_name, show_values)

    _columns = PROBLEM_COLUMNS

    def _rows(self, show_values: bool) -> list[Row]:
        return [{"file": self.path, **problem.to_dict(show_values)} for problem in self.problems]

    def _failing_on_warnings(self) -> FileReport:
        """Return the report for `strict`: severities and counts stay the same, the outcome changes."""
        return replace(self, ok=self.ok and not self.warnings)

    def __bool__(self) -> bool:
        """Return whether there are no errors."""
        return self.ok

    def _summary(self) -> str:
        records = "" if self.records is None else f", {plural(self.records, 'record')}"
        found = f"{plural(self.errors, 'error')}, {plural(self.warnings, 'warning')}"
        return f"{self.contract or 'no contract'}: {found}{records}"


class SkippedFile(ResultItem, frozen=True, kw_only=True):
    """A file in a folder that was not read."""

    path: str
    """Its path, starting with the folder as given."""
    reason: Str
    """Why it was not read."""

    def _summary(self) -> str:
        return self.reason


class Validation(ResultList[Problem], frozen=True, kw_only=True):
    """The output of `medcontract validate`."""

    ok: bool
    """Whether there are no errors in any file; with --strict, no warnings either."""
    files: tuple[FileReport, ...]
    """The files, in the order in which they were given."""
    skipped: tuple[SkippedFile, ...] | None = None
    """Files in folders that were not read, because they are not data files; absent if there are none."""

    _next: str = ""
    """What to do next."""

    _optional = frozenset({"skipped"})

    _listed = "problems"

    @classmethod
    def of(cls, files: tuple[FileReport, ...], skipped: tuple[SkippedFile, ...] = ()) -> Validation:
        return cls(ok=bool(files) and all(file.ok for file in files), files=files, skipped=skipped or None)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all files."""
        return tuple(problem for file in self.files for problem in file.problems)

    _columns = PROBLEM_COLUMNS

    def _rows(self, show_values: bool) -> list[Row]:
        return [row for file in self.files for row in file._rows(show_values)]

    def _failing_on_warnings(self) -> Validation:
        return Validation.of(tuple(file._failing_on_warnings() for file in self.files), self.skipped or ())

    def __bool__(self) -> bool:
        """Return whether there are no errors in any file."""
        return self.ok

    def _summary(self) -> str:
        errors = sum(file.errors for file in self.files)
        return f"{'ok' if self.ok else 'not ok'}: {plural(len(self.files), 'file')}, {plural(errors, 'error')}"
