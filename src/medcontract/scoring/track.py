"""The description of a track, as it is registered. How it scores a submission is defined by its `Scorer`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from medcontract.errors import BrokenPlugin, Wording
from medcontract.results.score import Score
from medcontract.results.tables import Table, failure_modes_table, figures_table
from medcontract.scoring.protocol import SUBGROUPS, UNCERTAINTY, Protocol
from medcontract.scoring.scorer import Scorer, ScoringOptions, Tally
from medcontract.types import JsonObject

Result = Mapping[str, Any]
"""A result read from a file. It may have been made elsewhere, and contain anything."""


class Rows(Struct, frozen=True, kw_only=True):
    """A list of a result whose rows are compared one by one."""

    name: str
    """The key of the list in the result."""
    id: str
    """The field that identifies a row."""
    also: str = ""
    """A second field that identifies it, shown in parentheses."""
    decides: str
    """The figure that shows whether a row improved."""
    title: str = ""
    """The name of the rows, in the plural; by default the name of the list."""
    state: str = ""
    """The boolean field that says whether a row passed."""
    judged: bool = False
    """The rows are gates: all are shown in one table, in their order, with state and reason."""

    def group(self, result: Result) -> RowGroup:
        """Return the rows of a result."""
        listed = result.get(self.name)
        rows = [row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, dict) and self.id in row]
        return RowGroup(
            kind=self.name, title=self.title or self.name, rows={self._name(row): row for row in rows},
            deciding=(self.decides,), state=self.state, judged=self.judged,
        )  # fmt: skip

    def _name(self, row: Result) -> str:
        also = row.get(self.also) if self.also else None
        return f"{row[self.id]} ({also})" if also else str(row[self.id])


class RowGroup(Struct, frozen=True, kw_only=True):
    """Rows of a result, by name, and how they are compared."""

    kind: str
    title: str
    """The name of the rows, in the plural."""
    rows: Result
    """By name; each is an object with figures."""
    deciding: tuple[str, ...]
    """The figures that show whether a row improved."""
    or_all: bool = False
    """If a row has none of the deciding figures, all of its figures are used."""
    state: str = ""
    judged: bool = False


class Comparison(Struct, frozen=True, kw_only=True):
    """What `compare` reads from a result, and the figures for `leaderboard`. Most tracks need only `rows`."""

    rows: tuple[Rows, ...] = ()
    """The lists of a result that are compared row by row, in the order in which they are shown."""
    groups: Callable[[Result], Iterable[RowGroup]] | None = None
    """Used instead of `rows` if the rows are not in lists."""
    figures: Callable[[Result], Result] | None = None
    """The figures of the whole submission, if the track does not know their names in advance."""
    headline: Callable[[Result], float | None] | None = None
    """The headline figure, if it is not a key of the result."""
    warnings: Callable[[Result, Result], Iterable[str]] | None = None
    """Why some figures of two results cannot be compared."""

    def row_groups(self, result: Result) -> Iterator[RowGroup]:
        """Return the rows of a result that are compared."""
        return iter(self.groups(result)) if self.groups else (rows.group(result) for rows in self.rows)

    def figures_in(self, result: Result) -> Result:
        """Return the figures of the whole submission, possibly with other keys."""
        return self.figures(result) if self.figures else without_metadata(result)


def without_metadata(result: Result) -> JsonObject:
    return {name: value for name, value in result.items() if name != "metadata"}


class Figure(Struct, frozen=True, kw_only=True):
    """A figure of a result, with its formula and invariants."""

    name: str
    about: str
    """The formula, as text."""
    low: int | None = 0
    high: int | None = 1
    perfect: int | None = None
    """The value for a perfect submission, if it is always the same."""
    leaving_out: Literal["never helps", "a right one never helps"] | None = None
    """How omitting a record can affect it."""
    by: Literal["submission", "class", "case", "document", "task"] = "submission"
    """What it is computed for. Participants see only figures of the whole submission."""
    unit: str = ""
    measured_in: str = ""
    """The contract of the file that it is measured in, if that is given. It is then the same for any cases."""
    inverted_below: float | None = None
    """A value below it is worse than chance: the answers are probably inverted."""
    rewards_constant: bool = False
    """The same answer for all items can get the best value by construction, so nothing is compared with it."""
    lower_is_better: bool = False
    """Of the headline, too: rankings, bundles and comparisons all use `Track.better_lower`."""


class Auxiliary(Struct, frozen=True, kw_only=True):
    """A kind of file that a score uses in addition to truth and submission, if given."""

    contract: str
    about: Literal["competition", "submission"] | None = None
    """What it describes. A file about the competition is the same for all submissions of a ranking, and passed with the
    truth; files about a submission can be provided by the organizer of a ranking (`--measured`)."""
    only_organizers: bool = False
    """One in the folder of a submission is ignored if there is a truth."""
    names_team: bool = False
    """It contains the name of its team, so that it cannot be used for all submissions of a ranking."""
    keep: Callable[[Any], Any] | None = None
    """Extracts what is kept of each record of a collection."""
    ids: Callable[[Any], Iterable[str]] | None = None
    """The ids that rules of other files refer to, from a document or from what is kept of a collection."""
    id_field: str = ""
    """The field of a collection with these ids: a reference to an invalid record is not reported again."""


class ExpectedIds(Struct, frozen=True, kw_only=True):
    """A file that lists the expected ids, for participants, who do not have the truth."""

    contract: str
    truth: str
    """The contract of the truth that it replaces."""
    only: Callable[[Any], bool] | None = None
    """Selects the records that correspond to that truth, if not all do."""
    item: Callable[[Any], Any] = lambda record: None
    """Extracts what rules across files compare with the submission: an object with fields of that truth. By default,
    only the id of the record is used."""


class Roles(Struct, frozen=True, kw_only=True):
    """The contracts of a track, by purpose."""

    truths: tuple[str, ...]
    submissions: tuple[str, ...]
    """The contracts of the files of a submission."""
    result: str
    auxiliary: tuple[Auxiliary, ...] = ()
    expected_ids: tuple[ExpectedIds, ...] = ()

    def auxiliaries(self, about: Literal["competition", "submission"] | None = None) -> tuple[str, ...]:
        """Return the contracts of auxiliary files: all, or only those about the competition or a submission."""
        return tuple(each.contract for each in self.auxiliary if about in (None, each.about))

    def find_auxiliary(self, contract: str) -> Auxiliary | None:
        return next((each for each in self.auxiliary if each.contract == contract), None)

    @property
    def id_lists(self) -> tuple[str, ...]:
        """The contracts of files that list expected ids."""
        return tuple(dict.fromkeys(each.contract for each in self.expected_ids))

    @property
    def all(self) -> frozenset[str]:
        return frozenset({*self.truths, *self.submissions, self.result, *self.auxiliaries(), *self.id_lists})


class Option(Struct, frozen=True, kw_only=True):
    """An option of a single track: an argument in Python, an option on the command line."""

    name: str
    """The name of the argument."""
    help: str
    metavar: str = ""
    """The placeholder for its value in the help of a command."""
    flag: str = ""
    """The option on the command line, if it is not derived from the name."""
    sets: bool | None = None
    """Makes it a flag on the command line, which sets this value."""
    multiple: bool = False
    """It can be given several times on the command line; its value is all of them."""
    choices: tuple[str, ...] = ()
    parameter: bool = False
    """It sets the parameter of the protocol with the same name."""
    contract: str = ""
    """Its value is a file of this contract."""
    stands_for: str = ""
    """The contract of files with the same content, which it replaces."""
    parse: Callable[[Any], Any] | None = None
    """Parses the value that the caller passes. Raises `CallError`."""
    measuring: bool = False
    """It affects how records are measured."""

    @property
    def on_command_line(self) -> str:
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def in_protocol(self) -> bool:
        """Whether it changes the protocol: it sets a parameter, or its content is hashed into one."""
        return self.parameter or self.measuring

    @property
    def wording(self) -> Wording:
        """Its name in messages: the option on the command line, the argument in Python."""
        return Wording(self.on_command_line, self.name if self.sets is None else f"{self.name}={self.sets}")


class ResultFields(Struct, frozen=True, kw_only=True):
    """Fields of a result that are not figures."""

    needed: tuple[str, ...] = ()
    """Fields taken from the header of a file."""
    settable: tuple[str, ...] = ()
    """Fields that are in no file of a submission, and that the caller may set."""
    options: Callable[[Result], Result] | None = None
    """Reads the options that a result states, so that `verify` computes it again with them."""


class NamedFile(Struct, frozen=True, kw_only=True):
    """A file that a document refers to, in its folder: `preflight` checks that it exists."""

    contract: str
    """The contract of the document."""
    field: str
    title: str
    """The title of the check."""
    size_mb: str = ""
    """The field of the document that states its size in MB."""
    required: bool = False
    """Whether the check fails if the document names no such file."""


class LinkedFiles(Struct, frozen=True, kw_only=True):
    """Files without a contract that files of the track refer to."""

    images: tuple[str, str] | None = None
    """(contract, field) of records that refer to image files (`--images`)."""
    named: tuple[NamedFile, ...] = ()
    """Files that documents of a submission refer to."""


class Ranking(Struct, frozen=True, kw_only=True):
    """How a leaderboard of the track differs from single scores."""

    parameters: Mapping[str, str] = {}
    """Parameters with a different default in a ranking."""
    protocol: Callable[[Protocol, Sequence[Tally]], Protocol] | None = None
    """The protocol with parameters that depend on all valid submissions."""
    warnings: Callable[[Protocol, Sequence[tuple[str, Tally]]], Iterable[str]] | None = None
    """Warnings that result from comparing the valid submissions, given by name."""


class Imitation(Struct, frozen=True, kw_only=True):
    """How a submission is made from a truth, to rehearse an evaluation. Records are plain dicts, as in JSON."""

    truth: str
    """The contract of the truth."""
    submission: str
    answers: Callable[[Sequence[JsonObject]], list[JsonObject]]
    """Returns what is right for each record of the truth, without its key."""
    failed: Result = MappingProxyType({"error": "no answer"})
    """The fields of a record that failed, without its key; empty if none can fail."""
    fixed: Callable[[JsonObject], JsonObject] = lambda record: {}
    """Returns the other fields that an answered record needs, which are not answers."""
    labels: tuple[str, ...] = ()
    """The fields of the truth that figures are computed from, and that may not be fields of an answer."""
    header: Mapping[str, str] = MappingProxyType({"team_name": "rehearsal"})
    """Header fields that the truth does not have."""
    describe: Callable[[Any], str] | None = None
    """Describes an answer, if it is the same for many cases. By default, only names of classes are shown."""
    tables: bool = False
    """Made as a table if the truth is one."""


def _keep(protocol: Protocol, options: ScoringOptions) -> Protocol:
    return protocol


def _general_tables(score: Score) -> Iterator[Table]:
    yield figures_table(score)
    yield from failure_modes_table(score)


class Track(Struct, frozen=True, kw_only=True, eq=False):
    """A track: the files it reads, its figures, and its scorer. It is not a base class."""

    id: str
    roles: Roles
    protocol: Protocol
    figures: tuple[Figure, ...]
    headline: str
    """The name of the figure that submissions are ranked by."""
    scorer: Callable[[Protocol, ScoringOptions, Collection[str]], Scorer]
    """A subclass of `Scorer`, or a function with its arguments."""

    entrant: Literal["team", "model"] = "team"
    """What is ranked: what a submission names in its header."""
    second: str = ""
    """The name of the figure that they are ranked by if there is no headline."""
    options: tuple[Option, ...] = ()
    """Options that only this track has."""
    result_fields: ResultFields = ResultFields()
    linked_files: LinkedFiles = LinkedFiles()
    unit: tuple[str, ...] = ()
    """The attributes of an expected item that identify what is drawn for intervals. By default the id of the item."""
    intervals: bool = False
    """Its scores have intervals even if the caller does not ask for them."""
    classes: tuple[tuple[int, str, str, str], ...] = ()
    """Number, symbol, name and type of each class of a classification, if they need an explanation."""
    comparison: Comparison = Comparison()
    ranking: Ranking = Ranking()
    imitations: tuple[Imitation, ...] = ()
    """How submissions are made for a rehearsal, one for each truth."""

    complete: Callable[[Protocol, ScoringOptions], Protocol] = _keep
    """Returns the protocol with everything that is derived from its parameters and the caller's options. Raises
    `CallError` if parameters contradict each other."""
    tables: Callable[[Score], Iterable[Table]] = _general_tables
    """Returns the result as tables for display: the figures, then details. `score.result` is not None."""
    for_participants: Callable[[JsonObject, float | None], JsonObject] | None = None
    """Returns the result, which also has the value of the headline, without what could reveal the truth. By default,
    the figures of the whole submission are kept."""

    def __init_subclass__(cls, **_: object) -> None:
        raise BrokenPlugin(
            f"{cls.__name__} is a subclass of Track, which is no longer a base class",
            "make an instance instead, with functions for methods: TRACKS = (Track(id=…, …),); "
            "see docs/your-own-track.md",
        )

    def __post_init__(self) -> None:
        """Add the parameters of intervals, which every protocol has."""
        if not isinstance(self.protocol, Protocol):
            return  # type: ignore[unreachable]  # reported when the track is registered
        known = {parameter.name for parameter in self.protocol.parameters}
        more = tuple(parameter for parameter in (*UNCERTAINTY, SUBGROUPS) if parameter.name not in known)
        protocol = replace(self.protocol, parameters=(*self.protocol.parameters, *more))
        force_setattr(self, "protocol", protocol)

    @property
    def explains(self) -> bool:
        """Whether it can explain each item or sample (`--breakdown`)."""
        return getattr(self.scorer, "explains", False)

    @property
    def better_lower(self) -> frozenset[str]:
        """The names of the figures that are better when lower."""
        return frozenset(figure.name for figure in self.figures if figure.lower_is_better)
