"""What `validate` finds: problems, file by file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from medcontract.problems import NO_CARET, is_plain, plural
from medcontract.results.base import Item, Result, Row
from medcontract.results.types import Code, Count, Position, Str


class Problem(Item, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    code: Code
    """Stable; `medcontract explain CODE` says more."""
    severity: Literal["error", "warning"]
    """Only errors make a file invalid."""
    message: Str
    """What is wrong."""
    hint: Str | None = None
    """How to mend it."""
    pointer: str = ""
    """RFC 6901; in the document for .json, in the record for lines and tables. A key that may be data is shown as …."""
    record: Count | None = None
    """0-based index of the record."""
    line: Position | None = None
    """1-based."""
    column: Position | None = None
    """1-based, in code points."""
    field: str | None = None
    """The column name, for tables."""

    _plain_pointer: str = ""
    """The pointer with … for keys that may be data."""
    _value: str | None = None
    """The offending value, shortened."""
    _excerpt: str | None = None
    """The source line around the place, shortened; `_caret` is the column of the place in it."""
    _caret: int = NO_CARET
    _more: int = 0
    """How many others like this one were found and are not listed; set on the last that is."""
    _more_are: str = "record"
    """What these others are: records with one such problem each, or problems."""

    @property
    def message_with_value(self) -> str:
        """The message and the value that it is about."""
        if not self._value:
            return self.message
        got = "" if self.code == "MC302" else "got "  # what is missing was not got
        return f"{self.message} ({got}{self._value})"

    def _data(self, show_values: bool) -> dict[str, Any]:
        data: dict[str, Any] = super()._data(show_values)
        if show_values:
            data["message"] = self.message_with_value
        else:
            data["pointer"] = self._plain_pointer
            data["field"] = self.field if self.field is None or is_plain(self.field) else "…"
        return data

    def _summary(self) -> str:
        place = "".join(f":{n}" for n in (self.line, self.column) if n is not None)
        return f"{self.code} {self.severity}{f' at {place[1:]}' if place else ''}"


PROBLEM_COLUMNS = (
    "file", "code", "severity", "message", "hint", "pointer", "record", "line", "column", "field",
)  # fmt: skip


class NamedFiles(NamedTuple):
    """How many of the files that the records name were checked, and how many are bad."""

    checked: int
    bad: int


class FileReport(Result, frozen=True, kw_only=True):
    """What was found in one file."""

    path: str
    """As it was given."""
    contract: Str | None
    """The contract that it was judged by; null when that cannot be told."""
    ok: bool
    """No errors."""
    records: Count | None
    """Records read; null for documents and where nothing could be read."""
    errors: Count
    """How many, those left out too."""
    warnings: Count
    """How many, those left out too."""
    omitted: Count
    """Problems that were counted but are not listed."""
    problems: tuple[Problem, ...]
    """In file order."""

    _wrong_call: bool = False
    _images: NamedFiles | None = None

    @property
    def wrong_call(self) -> bool:
        """The file could not be judged (no such file, not recognised): nothing is known to be wrong in it."""
        return self._wrong_call

    @property
    def images(self) -> NamedFiles | None:
        """Of the images that the records name, where a folder of images was given."""
        return self._images

    def to_dict(self, show_values: bool = False) -> Any:
        """A validation of this one file, as `medcontract validate --format json` prints it."""
        return Validation.of((self,)).to_dict(show_values)

    def _columns(self) -> tuple[str, ...]:
        return PROBLEM_COLUMNS

    def _rows(self, show_values: bool) -> list[Row]:
        return [{"file": self.path, **problem.to_dict(show_values)} for problem in self.problems]

    def __bool__(self) -> bool:
        """No errors."""
        return self.ok

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def _summary(self) -> str:
        records = "" if self.records is None else f", {plural(self.records, 'record')}"
        found = f"{plural(self.errors, 'error')}, {plural(self.warnings, 'warning')}"
        return f"{self.contract or 'no contract'}: {found}{records}"


class Validation(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract validate`."""

    ok: bool
    """No errors in any file."""
    files: tuple[FileReport, ...]
    """In the order in which they were given."""

    @classmethod
    def of(cls, files: tuple[FileReport, ...]) -> Validation:
        return cls(ok=all(file.ok for file in files), files=files)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those of all files."""
        return tuple(problem for file in self.files for problem in file.problems)

    def _columns(self) -> tuple[str, ...]:
        return PROBLEM_COLUMNS

    def _rows(self, show_values: bool) -> list[Row]:
        return [row for file in self.files for row in file._rows(show_values)]

    def __bool__(self) -> bool:
        """No errors in any file."""
        return self.ok

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def _summary(self) -> str:
        errors = sum(file.errors for file in self.files)
        return f"{'ok' if self.ok else 'not ok'}: {plural(len(self.files), 'file')}, {plural(errors, 'error')}"
