"""What `score` returns: the figures, and everything that makes them defensible.

`ItemBreakdown` and `FailureMode` have the shape that one track needs, but they are here and not with it: the published
schema of `medcontract/score` describes them, and it is one for all tracks. A scorer makes them
(`Scorer.breakdown`, `Scorer.remediation`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import asdict

from medcontract.problems import plural
from medcontract.results.base import Item, Result, Row
from medcontract.results.types import Count, Position, Sha256, Str, TrackResult, Unit
from medcontract.results.validation import Problem


class FileProblem(Problem, frozen=True, kw_only=True):
    """One thing that is wrong in one of the files."""

    file: Str
    """The base name of the file."""


def in_file(name: str, problem: Problem) -> FileProblem:
    """A problem of the file of this name."""
    return FileProblem(**asdict(problem), file=name)


class ProtocolUsed(Item, frozen=True, kw_only=True):
    """The frozen parameters that a score depends on."""

    id: Str
    """The track."""
    version: Position
    """Counted up when a formula changes."""
    fingerprint: Sha256
    """Of the canonical JSON (RFC 8785) of id, version and parameters."""
    parameters: dict[str, float | str | None]
    """By name."""


class InputFile(Item, frozen=True, kw_only=True):
    """A file that a score was made from."""

    contract: Str
    """What it is."""
    name: Str
    """Its base name."""
    sha256: Sha256
    """Of its bytes."""
    content_sha256: Sha256 | None
    """Of a truth: of the sorted canonical records of all its files, whatever their order, container or split."""
    records: Count | None
    """Null for documents."""


class Processing(Item, frozen=True, kw_only=True):
    """The processing gate."""

    expected: Count
    """Items of the truth."""
    processed: Count
    """Those with exactly one record, which is valid and reports no error; of the worst run."""
    failed: Count
    """The others."""
    success_rate: Unit
    """processed / expected."""
    minimum: Unit
    """What is asked for."""
    passed: bool
    """Compared exactly."""

    _share: str = ""
    """The success rate in percent, with digits enough to see on which side of the minimum it is."""
    _asked: str = ""
    """The minimum in percent."""


class Environment(Item, frozen=True, kw_only=True):
    """Versions of what text normalization depends on."""

    python: Str
    """Of Python."""
    unicode: Str
    """Of Python's Unicode data."""
    unidecode: Str
    """Of Unidecode."""


class FieldDifference(Item, frozen=True, kw_only=True):
    """A field that is not right."""

    field: Str
    """Its name."""
    difference: Str
    """What sort of difference it is."""
    expected: str | None = None
    """As labeled; with --show-values."""
    got: str | None = None
    """As predicted; with --show-values."""
    expected_normalized: str | None = None
    """As it was compared; with --show-values."""
    got_normalized: str | None = None
    """As it was compared; with --show-values."""

    _values = frozenset({"expected", "got", "expected_normalized", "got_normalized"})


class ItemBreakdown(Item, frozen=True, kw_only=True):
    """What became of an item of a document."""

    doc_type: Str
    """The kind of document."""
    doc_id: Str
    """The document."""
    item: Count
    """Its place in the label, from 0."""
    state: Literal["right", "wrong fields", "not matched", "document failed", "no valid record"]
    """Right, or why it lost points."""
    nearest: float | None
    """How near the nearest prediction is that was not paired, from 0 to 100."""
    fields: tuple[FieldDifference, ...]
    """Those that are not right."""
    name: str | None = None
    """As labeled; with --show-values."""
    paired_name: str | None = None
    """Of its prediction; with --show-values."""
    nearest_name: str | None = None
    """Of the nearest prediction where it has none; with --show-values."""

    _values = frozenset({"name", "paired_name", "nearest_name"})


class FailureMode(Item, frozen=True, kw_only=True):
    """How often a field was wrong in one way."""

    field: Str
    """The field, or the kind of document."""
    difference: Str
    """What sort of difference it is."""
    count: Position
    """How often."""


class Score(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract score`."""

    track: Str
    """The track."""
    participant: bool | None = None
    """True: made for a participant, so that `result` holds headline figures only. Absent otherwise."""
    protocol: ProtocolUsed
    """What the score depends on, besides the files."""
    inputs: tuple[InputFile, ...]
    """Sorted by contract and name."""
    processing: Processing | None
    """Null when the score was refused before anything was counted."""
    valid: bool
    """Whether the score counts."""
    reasons: tuple[Str, ...]
    """Why it does not."""
    warnings: tuple[Str, ...]
    """What one should know."""
    problems: tuple[FileProblem, ...]
    """The first 100 of all files."""
    result: TrackResult | None
    """A document of the track's result contract; for participants its headline figures."""
    failure_modes: tuple[FailureMode, ...] | None = None
    """What to mend first; where the track says so."""
    breakdown: tuple[ItemBreakdown, ...] | None = None
    """With --breakdown: item by item, why points were lost."""
    medcontract_version: Str
    """The medcontract that wrote it."""
    environment: Environment
    """What it ran with."""

    _optional = frozenset({"breakdown", "failure_modes", "participant"})

    _decision: str | None = None
    _gates: tuple[tuple[str, bool | None], ...] = ()
    """The gates of the decision, and whether each is passed."""
    _team: str | None = None
    _found: int = 0
    """Problems in all, those that are not listed too."""
    _errors: int = 0
    _broken_rules: tuple[str, ...] = ()
    """How often each rule between files was broken, in words."""
    _hints: tuple[str, ...] = ()
    """What would help a person; they hold ids, which are values."""
    _figures: tuple[Any, ...] = ()
    """What the figures of the result are (`scoring.track.Figure`)."""
    _headline: tuple[str, float | None] = ("", None)
    """The figure that submissions are ranked by."""
    _second: tuple[str, float | None] = ("", None)
    """The one that matters where there is no such figure."""
    _tables: Any = None
    """From the score to the tables that people read (`scoring.track.Track.tables`)."""
    _counted_here: bool = True
    """The figures were counted by medcontract, not found in a report that was made elsewhere."""

    @property
    def decision(self) -> str | None:
        """GO or NO-GO, where the track decides."""
        return self._decision

    @property
    def errors(self) -> int:
        """How many errors there are in all files, those that are not listed too."""
        return self._errors

    @property
    def team_name(self) -> str | None:
        """As the files say."""
        return self._team

    def _data(self, show_values: bool) -> dict[str, Any]:
        data: dict[str, Any] = super()._data(show_values)
        listed = len(self.problems)
        if self._found > listed:
            data["warnings"].append(f"{self._found:,} problems in all, of which {listed} are listed")
        return data

    def _columns(self) -> tuple[str, ...]:
        return ("figure", "value")

    def _rows(self, show_values: bool) -> list[Row]:
        name, value = self._headline
        figures = dict(_numbers(self.result or {}))
        if value is not None:  # first, whether it stands in the result or follows from it
            figures = {name: figures.pop(name, value), **figures}
        return [{"figure": name, "value": value} for name, value in figures.items()]

    def __bool__(self) -> bool:
        """It counts, and the decision is not NO-GO."""
        return self.valid and self._decision != "NO-GO"

    def __iter__(self) -> Iterator[FileProblem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def _summary(self) -> str:
        state = "valid" if self.valid else "not valid"
        decision = f", {self._decision}" if self._decision else ""
        return f"{self.track}: {state}{decision}, {plural(len(self.problems), 'problem')} listed"


def _numbers(result: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float | None]]:
    """The figures of a result, those by class with their class."""
    for name, value in result.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", value
