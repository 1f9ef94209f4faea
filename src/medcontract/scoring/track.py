"""What a track is: the description that is registered. How it scores a submission is in its `Scorer`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from msgspec import Struct

from medcontract.results.score import Score
from medcontract.results.tables import Table, failure_modes_table, figures_table
from medcontract.scoring.comparison import Comparison
from medcontract.scoring.pairing import Pair
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import NO_OPTIONS, Counts, Scorer, ScoringOptions


class Figure(Struct, frozen=True, kw_only=True):
    """One number of a result: what it is, and what is always true of it."""

    name: str
    about: str
    """The formula in words."""
    low: int | None = 0
    high: int | None = 1
    perfect: int | None = None
    """What a perfect submission gets, where that is one number."""
    leaving_out: Literal["never helps", "a right one never helps"] | None = None
    """What leaving a record out can do to it."""
    by: Literal["submission", "class", "case", "document", "task"] = "submission"
    """Figures finer than a submission are not for participants."""
    unit: str = ""


class Auxiliary(Struct, frozen=True, kw_only=True):
    """A kind of file that a score uses where it is given, besides a truth and a submission."""

    contract: str
    about: Literal["competition", "submission"] | None = None
    """What it is about. One about the competition is the same for all submissions of a ranking, and given with the
    truth; in a ranking the organizer can give one about each submission (`--measured`)."""
    names_team: bool = False
    """It names the team that it is about: with the truth of a ranking it is about no submission."""
    keep: Callable[[Any], Any] | None = None
    """What is kept of each record of a collection."""
    ids: Callable[[Any], Iterable[str]] | None = None
    """The ids that rules of other files refer to, in a document or in what is kept of a collection."""


class ExpectedIds(Struct, frozen=True, kw_only=True):
    """A file that lists the expected ids, for those who do not have the truth."""

    contract: str
    truth: str
    """The contract of the truth that it stands for."""
    only: Callable[[Any], bool] | None = None
    """Which of its records stand for one of that truth, where not all do."""


class Roles(Struct, frozen=True, kw_only=True):
    """The contracts of a track, by what their files are for."""

    truths: tuple[str, ...]
    submissions: tuple[str, ...]
    """The contracts that a submission may be of."""
    result: str
    auxiliary: tuple[Auxiliary, ...] = ()
    expected_ids: tuple[ExpectedIds, ...] = ()

    def auxiliaries(self, about: Literal["competition", "submission"] | None = None) -> tuple[str, ...]:
        """The contracts of auxiliary files: all, or those about one thing."""
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
    """Something that a caller can ask of one track only: an argument in Python, an option of the commands."""

    name: str
    """Of the argument."""
    help: str
    metavar: str = ""
    """What stands for its value in the help of a command."""
    flag: str = ""
    """On the command line, where that is not its name."""
    sets: bool | None = None
    """It has no value on the command line, and stands for this one."""
    choices: tuple[str, ...] = ()
    parameter: bool = False
    """It sets the parameter of the protocol that has its name."""
    contract: str = ""
    """Its value is a file of this contract."""
    stands_for: str = ""
    """The contract of files that say the same."""
    parse: Callable[[Any], Any] | None = None
    """From what the caller gives. Raises `CallError`."""
    measuring: bool = False
    """It changes how records are measured."""

    @property
    def on_command_line(self) -> str:
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def in_python(self) -> str:
        return self.name if self.sets is None else f"{self.name}={self.sets}"


class ResultFields(Struct, frozen=True, kw_only=True):
    """Fields of a result that are no figures."""

    needed: tuple[str, ...] = ()
    """Those that come from the header of some file."""
    settable: tuple[str, ...] = ()
    """Those that no file of a submission has, and that the caller may set."""


class NamedFile(Struct, frozen=True, kw_only=True):
    """A file that a document names, beside it: preflight checks that it is there."""

    contract: str
    """Of the document."""
    field: str
    title: str
    """What is checked."""
    size_mb: str = ""
    """The field of the document that states its size in MB."""
    required: bool = False
    """Whether the check fails if the document names no such file."""


class LinkedFiles(Struct, frozen=True, kw_only=True):
    """Files of no contract that files of the track name."""

    images: tuple[str, str] | None = None
    """(contract, field) of records that name image files (`--images`)."""
    named: tuple[NamedFile, ...] = ()
    """Files that documents of a submission name."""


class Ranking(Struct, frozen=True, kw_only=True):
    """What is special about a leaderboard of the track."""

    parameters: Mapping[str, str] = {}
    """Parameters that have another value in a ranking, unless the caller gives them."""
    protocol: Callable[[Protocol, Sequence[Counts]], Protocol] | None = None
    """The protocol with what only all valid submissions together say."""
    warnings: Callable[[Protocol, Sequence[tuple[str, Counts]]], Iterable[str]] | None = None
    """What looks strange when the valid submissions, by name, are put beside each other."""


class Track:
    """A track: which files it reads, which figures it has, and what scores a submission.

    A subclass must have the first six attributes. Everything else has a default.
    """

    id: ClassVar[str]
    roles: ClassVar[Roles]
    protocol: ClassVar[Protocol]
    figures: ClassVar[tuple[Figure, ...]]
    headline: ClassVar[str]
    """The name of the figure that submissions are ranked by."""
    scorer: ClassVar[type[Scorer]]

    second: ClassVar[str] = ""
    """The name of the figure that they are ranked by where none has that one."""
    options: ClassVar[tuple[Option, ...]] = ()
    """What callers can ask of this track only."""
    result_fields: ClassVar[ResultFields] = ResultFields()
    linked_files: ClassVar[LinkedFiles] = LinkedFiles()
    classes: ClassVar[tuple[tuple[int, str, str, str], ...]] = ()
    """Number, symbol, name and type of each class of a classification, if they need an explanation."""
    comparison: ClassVar[Comparison] = Comparison()
    ranking: ClassVar[Ranking] = Ranking()

    def completed(self, protocol: Protocol, options: ScoringOptions) -> Protocol:
        """The protocol with what follows from its parameters and from the options of the caller.

        Raises `CallError` where parameters do not fit each other.
        """
        return protocol

    def tables(self, score: Score) -> Iterator[Table]:
        """The result as people read it: the figures, then finer ones. `score.result` is there."""
        yield figures_table(score)
        yield from failure_modes_table(score)

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        """The result without figures by class, case or document."""
        coarse = {figure.name for figure in self.figures if figure.by == "submission"}
        return {name: value for name, value in result.items() if name in coarse}

    def pairs(self, contracts: Collection[str]) -> tuple[Pair[Any, Any], ...]:
        """The pairs that files of these contracts make, as the track's own protocol has them. Raises `CallError`."""
        return self.scorer(self.protocol, NO_OPTIONS, contracts).pairs
