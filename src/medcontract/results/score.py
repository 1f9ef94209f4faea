"""The result of `score`: the figures, and everything that is needed to verify them.

Only one track uses `ItemBreakdown` and `FailureMode`, but they are defined here because the published schema of
`medcontract/score`, which all tracks share, includes them. A scorer creates them (`Scorer.breakdown`,
`Scorer.remediation`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from medcontract.problems import plural, pointer, pointer_tokens
from medcontract.results.base import Count, Position, ResultItem, ResultList, Row, Sha256, Str, TrackResult, Unit, plain
from medcontract.results.tables import Table
from medcontract.results.validation import Problem


class FileProblem(Problem, frozen=True, kw_only=True):
    """A problem in one of the files."""

    file: Str
    """The base name of the file."""

    _path: str | None = None
    """The path as given, for formats that open the file; it is never part of the output of a score."""


def in_file(name: str, problem: Problem, path: str | None = None) -> FileProblem:
    """Return the problem, with the name of its file."""
    return FileProblem(**asdict(problem), file=name, _path=path)


class ProtocolUsed(ResultItem, frozen=True, kw_only=True):
    """The frozen parameters that a score depends on."""

    id: Str
    """The track."""
    version: Position
    """The version; incremented when a formula changes."""
    fingerprint: Sha256
    """SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters."""
    parameters: dict[str, float | str | None]
    """The value of each parameter, by name."""


class InputFile(ResultItem, frozen=True, kw_only=True):
    """A file that a score was computed from."""

    contract: Str
    """The id of its contract."""
    name: Str
    """Its base name."""
    sha256: Sha256
    """SHA-256 of its bytes; for a DataFrame, of its rows as JSON Lines."""
    content_sha256: Sha256 | None
    """Truths: SHA-256 of the sorted canonical records of all files, independent of order, container and parts."""
    records: Count | None
    """The number of records; null for documents."""

    _how: str | None = None
    """How the contract is known, such as `recognized by its columns`."""


class Processing(ResultItem, frozen=True, kw_only=True):
    """The processing gate."""

    expected: Count
    """The number of items in the truth."""
    processed: Count
    """Items with exactly one record, which is valid and reports no error; in the worst run."""
    failed: Count
    """The other items."""
    success_rate: Unit
    """`processed / expected`."""
    minimum: Unit
    """The required success rate."""
    passed: bool
    """Whether the success rate is at least the minimum, compared exactly."""
    elsewhere: Count | None = None
    """With --phase: the cases of the other phase that have a record; they count nowhere."""

    _optional = frozenset({"elsewhere"})

    _share: str = ""
    """The success rate in percent, with enough digits to see on which side of the minimum it is."""
    _asked: str = ""
    """The minimum in percent."""


class Environment(ResultItem, frozen=True, kw_only=True):
    """The versions that text normalization depends on."""

    python: Str
    """The version of Python."""
    unicode: Str
    """The version of Python's Unicode data."""
    unidecode: Str
    """The version of Unidecode."""


class FieldDifference(ResultItem, frozen=True, kw_only=True):
    """A field that is wrong."""

    field: Str
    """The name of the field."""
    difference: Str
    """The kind of difference."""
    expected: str | None = None
    """The labeled value; only with --show-values."""
    got: str | None = None
    """The predicted value; only with --show-values."""
    expected_normalized: str | None = None
    """The labeled value as it was compared; only with --show-values."""
    got_normalized: str | None = None
    """The predicted value as it was compared; only with --show-values."""

    _values = frozenset({"expected", "got", "expected_normalized", "got_normalized"})


class ItemBreakdown(ResultItem, frozen=True, kw_only=True):
    """How an item of a document was scored."""

    doc_type: Str
    """The kind of document."""
    doc_id: Str
    """The document."""
    item: Count
    """Its 0-based index in the label."""
    state: Literal["right", "wrong fields", "not matched", "document failed", "no valid record"]
    """Whether it is right, or why it lost points."""
    nearest: float | None
    """The similarity of the closest prediction that was not paired, from 0 to 100."""
    fields: tuple[FieldDifference, ...]
    """The fields that are wrong."""
    name: str | None = None
    """The labeled name; only with --show-values."""
    paired_name: str | None = None
    """The name in its prediction; only with --show-values."""
    nearest_name: str | None = None
    """The name in the closest prediction, if it was not paired; only with --show-values."""

    _values = frozenset({"name", "paired_name", "nearest_name"})


class FailureMode(ResultItem, frozen=True, kw_only=True):
    """How often a kind of difference occurred in a field."""

    field: Str
    """The field, or the kind of document."""
    difference: Str
    """The kind of difference."""
    count: Position
    """The number of occurrences."""


class Replicates(ResultItem, frozen=True, kw_only=True):
    """The headline figure in each replicate."""

    figure: Str
    """Its name."""
    values: tuple[float | None, ...]
    """Rounded to 6 decimals; null where it is undefined."""


class RankedBy(Struct, frozen=True, kw_only=True):
    """A figure that submissions can be ranked by, in each replicate."""

    values: tuple[float | None, ...]
    """Rounded to 6 decimals; null where it is undefined."""
    bounds: tuple[float, float] | None
    """Its interval."""
    reason: str = ""
    """Why there is none."""
    scaled: bool = True
    """It has a smallest and a largest value."""


class Intervals(ResultItem, frozen=True, kw_only=True):
    """How sure the figures are: intervals from resamples of the expected cases."""

    level: Unit
    """The share of such intervals that contain the true value."""
    resamples: Position
    """The number of replicates."""
    unit: tuple[Str, ...]
    """The fields that identify what is drawn."""
    units: Count
    """The number of units."""
    groups: Count
    """The number of groups that units are drawn in."""
    figures: dict[str, tuple[float, float] | None]
    """The interval of each number of `result` that depends on cases, by JSON pointer; null if there is none."""
    undefined: dict[str, Str]
    """Why figures have no interval, by JSON pointer."""
    replicates: Replicates | None
    """The headline figure in each replicate, to compare scores; null for participants: it would reveal the truth."""

    _headline: tuple[float, float] | None = None
    """The interval of the headline figure, which need not be a number of `result`."""
    _ranked_by: dict[str, RankedBy] = field(default_factory=dict)
    """The headline figure and the second one, if they are defined."""


MIN_CELL = 10
"""The number of cases that a subgroup must have, or it is hidden."""


class Subgroup(ResultItem, frozen=True, kw_only=True):
    """The cases with one value of a field. Small groups, and others from which these would follow, are hidden."""

    field: Str
    """The field."""
    value: str | bool | None
    """The value that the cases have in common, or the name of a band; null if it is missing."""
    cases: Position | None
    """The number of cases; null if the group is hidden."""
    headline: float | None
    """The figure that submissions are ranked by; null if it is undefined or hidden."""
    figures: dict[str, float | None]
    """The figures that depend on cases, by JSON pointer to the result; empty if the group is hidden."""
    gap: float | None
    """The headline minus the headline of all other cases; null without other cases, or if hidden."""
    intervals: dict[str, tuple[float, float] | None] | None = None
    """The interval of each figure that is not null, by JSON pointer; null without one. Only with --intervals."""

    _optional = frozenset({"intervals"})

    _headline: tuple[float, float] | None = None
    """The interval of the headline, which need not be one of the figures."""


Subgroups = Annotated[tuple[Subgroup, ...], "Subgroups"]
"""Without small groups, and never in participant output."""


class Display(Struct, frozen=True, kw_only=True):
    """What people see in addition to the output."""

    headlines: dict[str, float | None] = {}
    """The figure that submissions are ranked by, then the one to show if that is undefined."""
    units: dict[str, str] = {}
    """The units of these figures."""
    lower_is_better: bool = False
    """Whether a lower headline is better."""
    decision: str | None = None
    gates: dict[str, bool | None] = {}
    """The gates of the decision, and whether each one passed; None if it could not be checked."""
    title: str = ""
    """The title of the challenge, if it has one."""
    occasion: str = ""
    """The event and the date."""
    rank: int | None = None
    """The rank in the leaderboard that this is feedback of."""
    board: str = ""
    """A link to that leaderboard."""
    team: str | None = None
    entrant: str = "team"
    """What the name of a submission refers to: a team or a model."""
    problems: int = 0
    """The number of problems, listed or not."""
    errors: int = 0
    violations: tuple[str, ...] = ()
    """How often each rule across files was violated, in words."""
    hints: tuple[str, ...] = ()
    """Hints for users. They contain ids, which are values of records."""
    misspelled: str = ""
    """What explains all unknown ids, if no id is right."""


class Score(ResultList[FileProblem], frozen=True, kw_only=True):
    """The output of `medcontract score`."""

    track: Str
    """The track."""
    participant: bool | None = None
    """True for participant output: `result` only contains headline figures. Absent otherwise."""
    protocol: ProtocolUsed
    """The protocol that the score was computed with."""
    inputs: tuple[InputFile, ...]
    """The files that the score was computed from, sorted by contract and name."""
    processing: Processing | None
    """The processing gate; null if the submission was refused before anything was counted."""
    valid: bool
    """Whether the score counts; with --strict, not if there are warnings."""
    reasons: tuple[Str, ...]
    """Why the score does not count."""
    warnings: tuple[Str, ...]
    """Warnings about the score."""
    problems: tuple[FileProblem, ...]
    """The problems in all files; by default, at most 100 are listed."""
    result: TrackResult | None
    """A document of the track's result contract; in participant output, its headline figures."""
    intervals: Intervals | None = None
    """How sure the figures are; only with --intervals, if there is a result."""
    failure_modes: tuple[FailureMode, ...] | None = None
    """What to fix first, in tracks that support it."""
    breakdown: tuple[ItemBreakdown, ...] | None = None
    """Why points were lost, item by item; only with --breakdown."""
    by: tuple[Str, ...] | None = None
    """The fields that cases are grouped by, with the bounds of bands; only with --by."""
    subgroups: Subgroups | None = None
    """The figures of the groups by each field; only with --by, and never in participant output."""
    medcontract_version: Str
    """The version of medcontract that wrote this."""
    environment: Environment
    """The environment that it was computed in."""

    _optional = frozenset({"breakdown", "by", "failure_modes", "intervals", "participant", "subgroups"})

    _display: Display = Display()
    _figures: tuple[Any, ...] = ()
    """While tables are made: the descriptions of the figures (`scoring.track.Figure`)."""
    _tables: tuple[Table, ...] = ()
    """The tables of the track, starting with the figures of the submission."""

    _listed = "problems"

    @property
    def headline(self) -> tuple[str, float | None]:
        """The name and value of the figure that submissions are ranked by."""
        return next(iter(self._display.headlines.items()), ("", None))

    def interval_of(self, *path: str | int) -> tuple[float, float] | None:
        """Return the interval of a number of the result, by its keys and indexes; None if it has none."""
        return self.intervals.figures.get(pointer(path)) if self.intervals else None

    @property
    def figures(self) -> dict[str, float | None]:
        """The figures by name, the headline first; names of nested ones are joined with dots (`f1_by_class.MEL`)."""
        name, value = self.headline
        figures = dict(_numbers(self.result or {}))
        if value is not None:  # first, whether it is in the result or derived from it
            figures = {name: figures.pop(name, value), **figures}
        return figures

    @property
    def decision(self) -> str | None:
        """GO or NO-GO, in tracks that have a decision."""
        return self._display.decision

    @property
    def team_name(self) -> str | None:
        """The name of the team according to the files."""
        return self._display.team

    @property
    def errors(self) -> int:
        """The number of errors in all files, listed or not."""
        return self._display.errors

    @property
    def warning_count(self) -> int:
        """The number of warnings: about the score, and in all files, listed or not."""
        own = [warning for warning in self.warnings if warning not in self._display.violations]
        listed = sum(problem.severity == "warning" for problem in self.problems)
        return len(own) + max(self._display.problems - self.errors, listed)

    def _data(self, show_values: bool) -> Row:
        data: Row = super()._data(show_values)
        listed = len(self.problems)
        found = self._display.problems
        if found > listed:
            more = f"{found:,} problems in total, of which {listed} are listed"
            data["warnings"] = plain((*self.warnings, more))
        return data

    _columns = ("figure", "value")

    def _rows(self, show_values: bool) -> list[Row]:
        rows: list[Row] = [{"figure": name, "value": value} for name, value in self.figures.items()]
        if self.intervals is None:
            return rows
        found = {".".join(pointer_tokens(place)): bounds for place, bounds in self.intervals.figures.items()}
        found[self.headline[0]] = self.intervals._headline
        for row in rows:
            row["low"], row["high"] = found.get(str(row["figure"])) or (None, None)
        return rows

    def _failing_on_warnings(self) -> Score:
        """Return the score for `strict`: with warnings it is no longer valid, for this reason."""
        if not self.valid or not self.warning_count:
            return self
        return replace(self, valid=False, reasons=(*self.reasons, failing_warnings(self.warning_count)))

    def __bool__(self) -> bool:
        """Return whether the score counts and the decision is not NO-GO."""
        return self.valid and self.decision != "NO-GO"

    def _summary(self) -> str:
        state = "valid" if self.valid else "not valid"
        decision = f", {self.decision}" if self.decision else ""
        return f"{self.track}: {state}{decision}, {plural(len(self.problems), 'problem')} listed"


def _numbers(result: dict[str, object], prefix: str = "") -> Iterator[tuple[str, float | None]]:
    """Yield the figures of a result; names of nested ones are joined with dots."""
    for name, value in result.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", value


def failing_warnings(count: int) -> str:
    """Return the reason why a result is not valid with `strict`."""
    return f"{plural(count, 'warning')}, which {'fails' if count == 1 else 'fail'} with --strict"
