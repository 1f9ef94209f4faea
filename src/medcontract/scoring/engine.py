"""From answers to a verdict, the same way for every track.

A track measures each processed record where it meets its expected item (`Pair.measure`), the sheets of marks are
merged (`gate.merge`), `count` makes small exact numbers of a sheet, and `finish` makes figures of these numbers
and a protocol. Only `measure` sees records; nothing depends on their order.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

from msgspec import Struct

from medcontract.results.score import Score
from medcontract.results.tables import Table, failure_modes_table, figures_table
from medcontract.scoring.exact import TooLarge
from medcontract.scoring.gate import Pair, Pairing, Processing, Unscored, processed
from medcontract.scoring.protocol import Protocol


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


class Answers(Struct, kw_only=True):
    """What streaming left of a submission, for a track to count."""

    pairings: dict[str, Pairing[Any, Any]]
    """By the contract of the truth."""
    documents: dict[str, Any]
    """Values of auxiliary files, by contract."""
    headers: dict[str, dict[str, Any]]
    """By contract."""
    names: dict[str, tuple[str, ...]]
    """The base names of the files of each contract, sorted."""
    settings: dict[str, str] = {}
    """What the caller sets of the result itself (`Track.settable`)."""

    def pairing(self) -> Pairing[Any, Any]:
        """Of a track that has just one."""
        (only,) = self.pairings.values()
        return only


class Counts(Struct, kw_only=True):
    """Everything that figures are made of: small, exact, fit to be kept by the thousand."""

    expected: int
    processed: dict[str, int]
    """By run; "" where a track has none."""
    data: Any
    """What the track itself needs."""
    warnings: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()
    """Warnings that are not for participants."""


class Finished(Struct, kw_only=True):
    """The figures of a submission that passed the gate."""

    result: dict[str, Any]
    headline: Fraction | None
    """What submissions are ranked by."""
    second: Fraction | None = None
    """What they are ranked by where none has a headline."""
    headline_name: str | None = None
    """Where it is not that of the track."""
    reasons: tuple[str, ...] = ()
    """Why it is not valid all the same."""
    decision: str | None = None
    """GO or NO-GO, where the track decides."""
    warnings: tuple[str, ...] = ()


class Verdict(Struct, kw_only=True):
    """What became of a submission."""

    valid: bool
    processing: Processing | None
    result: dict[str, Any] | None = None
    headline: Fraction | None = None
    second: Fraction | None = None
    headline_name: str | None = None
    decision: str | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Valid, and no NO-GO."""
        return self.valid and self.decision != "NO-GO"


class Explanation(Struct, frozen=True, kw_only=True):
    """What became of an item of a document. Names and values are as printed."""

    doc_type: str
    doc_id: str
    item: int
    """Its place in the label."""
    state: Literal["right", "wrong fields", "not matched", "document failed", "no valid record"]
    name: str
    paired: str | None
    """The name of its prediction; None: it has none."""
    nearest: tuple[str, float] | None
    """The nearest prediction that was not paired, and how near it is."""
    fields: tuple[tuple[str, str, str, str, str, str], ...]
    """(field, sort of difference, expected, got, and both normalized) of those that are not right."""


class Limit(Struct, frozen=True, kw_only=True):
    """Something that a submission may not exceed, as far as its files tell."""

    id: str
    title: str
    contract: str
    """The contract of the files that tell."""
    passed: bool | None
    """None: they are not there."""
    detail: str
    failure: tuple[str, str] = ("beyond a limit", "no score comes of it")
    """What it means not to pass, and what comes of it."""


class Rows(Struct, frozen=True, kw_only=True):
    """A list of a result whose rows are compared one by one."""

    name: str
    """The key of the list in the result."""
    id: str
    """The field that names a row."""
    also: str = ""
    """A field that names it too."""
    decides: str
    """The figure that tells whether a row got better."""
    title: str = ""
    """What the rows are called, in the plural; else as the list."""
    state: str = ""
    """The field that says whether a row is good."""
    judged: bool = False
    """The rows are gates: shown all in one table, in their order, with state and reason."""

    def group(self, result: Mapping[str, Any]) -> RowGroup:
        """The rows of a result: one that was made elsewhere may hold anything."""
        listed = result.get(self.name)
        rows = [row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, dict) and self.id in row]
        return RowGroup(
            kind=self.name, title=self.title or self.name, rows={self._name(row): row for row in rows},
            deciding=(self.decides,), state=self.state, judged=self.judged,
        )  # fmt: skip

    def _name(self, row: Mapping[str, Any]) -> str:
        also = row.get(self.also) if self.also else None
        return f"{row[self.id]} ({also})" if also else str(row[self.id])


class RowGroup(Struct, frozen=True, kw_only=True):
    """Rows of a result, by name, and what their comparison takes."""

    kind: str
    title: str
    """What the rows are called, in the plural."""
    rows: Mapping[str, Any]
    """By name; each is an object with figures."""
    deciding: tuple[str, ...]
    """The figures that tell whether a row got better."""
    or_all: bool = False
    """Where a row has none of these, all of its figures tell."""
    state: str = ""
    judged: bool = False


class NamedFile(Struct, frozen=True, kw_only=True):
    """A file that a document names, beside it: preflight looks whether it is there."""

    contract: str
    """Of the document."""
    field: str
    title: str
    """What is checked."""
    size_mb: str = ""
    """The field of the document that states its size in MB."""


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


class Wishes(Struct, frozen=True, kw_only=True):
    """What a caller asks of a track besides parameters of the protocol."""

    breakdown: bool = False
    """Say of each item or sample what became of it."""
    values: bool = False
    """What stands in records may be told."""
    plugin_errors: bool = False
    """The words of an exception in a user's own metric may be told: they may quote a record, and the truth."""
    options: Mapping[str, Any] = {}
    """What was given of the options that the track declares, as they were parsed, by name."""
    plugins: tuple[str, ...] = ()
    """Modules that worker processes load, too."""


NO_WISHES = Wishes()


class Track(ABC):
    """A track: what it reads, and how it counts."""

    id: ClassVar[str]
    result_contract: ClassVar[str]
    pairs: ClassVar[tuple[Pair[Any, Any], ...]]
    truths: ClassVar[tuple[str, ...]]
    """The contracts of its truth."""
    submissions: ClassVar[tuple[str, ...]]
    """The contracts that a submission may be of."""
    auxiliary: ClassVar[tuple[str, ...]] = ()
    """Contracts of files that a score uses where they are given."""
    organizers: ClassVar[tuple[str, ...]] = ()
    """Those of them that are one for all submissions of a ranking: they stand with the truth."""
    measured: ClassVar[tuple[str, ...]] = ()
    """Those of them that are about one submission: in a ranking the organizer can give them for each (`--measured`)."""
    identifying: ClassVar[tuple[str, ...]] = ()
    """Those of `measured` that name their team: beside the truth they are about no submission of a ranking."""
    in_rankings: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Parameters that are otherwise in a ranking, unless the caller gives them."""
    expecting: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(contract, contract of a truth): files that list the expected ids, for those who have no such truth."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Header fields that the result holds."""
    settable: ClassVar[tuple[str, ...]] = ()
    """Fields of the result that no file of a submission has, and that the caller may set."""
    keeps: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """What is kept of each record of an auxiliary collection, by contract."""
    ids_in: ClassVar[Mapping[str, Callable[[Any], Iterable[str]]]] = {}
    """The ids in an auxiliary file (a document, or what is kept of a collection) that rules refer to, by contract."""
    result_below_gate: ClassVar[bool] = False
    """There is a result below the processing gate, too."""
    images: ClassVar[tuple[str, str] | None] = None
    """(contract, field) of records that name image files."""
    named_files: ClassVar[tuple[NamedFile, ...]] = ()
    """Files that documents of a submission name."""
    rows: ClassVar[tuple[Rows, ...]] = ()
    """The lists of a result that are compared row by row, in the order in which they are shown."""
    options: ClassVar[tuple[Option, ...]] = ()
    """What callers can ask of this track only."""
    rescores: ClassVar[bool] = False
    """A result alone, made elsewhere, can be scored again (`rescore`)."""
    explains: ClassVar[bool] = False
    """It can say of each item or sample what became of it."""
    open_figures: ClassVar[bool] = False
    """A result may hold figures that the track does not know."""
    ranks_together: ClassVar[bool] = False
    """Figures depend on the other submissions of a ranking (`for_competition`)."""
    protocol: ClassVar[Protocol]
    figures: ClassVar[tuple[Figure, ...]]
    headline: ClassVar[str]
    """The name of the figure that submissions are ranked by."""
    second: ClassVar[str] = ""
    """The name of the figure that they are ranked by where none has that one."""

    @abstractmethod
    def count(self, answers: Answers) -> Counts: ...

    @abstractmethod
    def finish(self, counts: Counts, protocol: Protocol) -> Finished: ...

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        """The result without figures by class, case or document."""
        coarse = {figure.name for figure in self.figures if figure.by == "submission"}
        return {name: value for name, value in result.items() if name in coarse}

    def headline_of(self, result: Mapping[str, Any]) -> float | None:
        """The headline figure of a result that was written down."""
        value = result.get(self.headline)
        return value if isinstance(value, float) else None

    def tables(self, score: Score) -> Iterator[Table]:
        """The result as people read it: the figures, then finer ones. `score.result` is there."""
        yield figures_table(score)
        yield from failure_modes_table(score)

    def figures_in(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """The figures of the whole submission in a result that was written down; other keys may be among them."""
        return {name: value for name, value in result.items() if name != "metadata"}

    def row_groups(self, result: Mapping[str, Any]) -> Iterator[RowGroup]:
        """What of a result is compared row by row."""
        return (rows.group(result) for rows in self.rows)

    def about_comparison(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
        """Why some figures of two results cannot be compared."""
        return iter(())

    def under(self, protocol: Protocol, wishes: Wishes = NO_WISHES) -> Track:
        """The track as the protocol and the caller have it."""
        return self

    def among(self, contracts: Collection[str]) -> Track:
        """The track with the pairs that files of these contracts make. Raises `CallError`."""
        return self

    def decided(self, documents: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the organizer decided for all submissions besides the protocol."""
        return None

    def rescore(self, name: str, result: Any, documents: Mapping[str, Any], fields: Mapping[str, str]) -> Verdict:
        """A verdict on a result that was made elsewhere, a document of the result contract in a file of this name.

        `documents` are auxiliary files, by contract; `fields` are those of the result that the caller sets.
        """
        raise NotImplementedError

    def completed(self, protocol: Protocol, wishes: Wishes = NO_WISHES) -> Protocol:
        """The protocol with what follows from its parameters, and from what the caller asks for."""
        return protocol

    def check(self, protocol: Protocol) -> None:
        """Whether the parameters fit each other. Raises `CallError`."""
        return

    def expects(self, truth: str, record: Any) -> bool:
        """Whether a record of a list of expected ids stands for one of this truth."""
        return True

    def probe(self, record: Any) -> Any:
        """What can be measured of a record without a truth."""
        return True

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        protocol: Protocol,
        result: dict[str, Any] | None = None,
    ) -> Iterator[Limit]:
        """The limits of the track, on records that were probed; on a result too, where there is one."""
        return iter(())

    def mending(self, counts: Counts) -> Sequence[tuple[str, str, int]]:
        """(where, what, how often): what to mend first."""
        return ()

    def breakdown(self, counts: Counts) -> Sequence[Explanation]:
        """What became of items, one by one."""
        return ()

    def hints(self, counts: Counts) -> Iterable[str]:
        """What would help a person; they may hold values."""
        return ()

    def for_competition(self, protocol: Protocol, valid: Sequence[Counts]) -> Protocol:
        """The protocol with what only all valid submissions together say."""
        return protocol

    def about_competition(self, protocol: Protocol, valid: Sequence[tuple[str, Counts]]) -> Iterator[str]:
        """What looks strange when the valid submissions, by name, are put beside each other."""
        return iter(())


def refused_by_gate(track: Track, answers: Answers, protocol: Protocol) -> Verdict | None:
    """The verdict on a submission that processed too little, before anything is counted that takes time."""
    processed: dict[str, int] = {}
    for pairing in answers.pairings.values():
        for run, count in counts_of_sheets(pairing).items():
            processed[run] = processed.get(run, 0) + count
    expected = sum(len(pairing.expected.items) for pairing in answers.pairings.values())
    gate, run = gate_of(processed, expected, protocol)
    if gate.passed or track.result_below_gate:
        return None
    return Verdict(valid=False, processing=gate, reasons=(below_the_gate(gate, run),))


def counts_of_sheets(pairing: Pairing[Any, Any]) -> dict[str, int]:
    return {run: processed(sheet) for run, sheet in pairing.runs().items()}


def marks(pairing: Pairing[Any, Any], run: str) -> list[Any]:
    """For each expected item its mark, or None when it is not processed."""
    sheet = pairing.sheets.get(run, {})
    found = (sheet.get(number) for number in range(len(pairing.expected.items)))
    return [None if type(mark) is Unscored else mark for mark in found]


def judge_counts(track: Track, counts: Counts, protocol: Protocol) -> Verdict:
    """The gate first; above it, what was not processed counts as wrong."""
    gate, worst_run = gate_of(counts.processed, counts.expected, protocol)
    too_little = () if gate.passed else (below_the_gate(gate, worst_run),)
    if too_little and not track.result_below_gate:
        return Verdict(valid=False, processing=gate, reasons=too_little, warnings=counts.warnings)
    try:
        finished = track.finish(counts, protocol)
    except TooLarge:
        why = "a figure is too large for a double: check the numbers in the submission"
        return Verdict(valid=False, processing=gate, reasons=(why,), warnings=counts.warnings)
    return Verdict(
        valid=not finished.reasons and gate.passed,
        processing=gate,
        result=finished.result,
        headline=finished.headline,
        second=finished.second,
        headline_name=finished.headline_name,
        decision=finished.decision,
        reasons=too_little + finished.reasons,
        warnings=counts.warnings + finished.warnings,
    )


_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def shown_id(run: str) -> str:
    """The name of a run where it looks like one: anything else may be data."""
    return run if _PLAIN_ID.fullmatch(run) else "…"


def gate_of(processed: Mapping[str, int], expected: int, protocol: Protocol) -> tuple[Processing, str]:
    """The gate, and the worst run."""
    run, least = min(processed.items(), key=lambda item: (item[1], item[0]))
    return Processing(expected, least, protocol["min_processed"]), run


def below_the_gate(gate: Processing, run: str) -> str:
    more = f"{gate.needed:,} more record{'s' * (gate.needed != 1)} needed"
    where = f"run {shown_id(run)}: " if run else ""
    counted = f"{gate.processed:,} of {gate.expected:,}"
    return f"{where}{gate.share} processed ({counted}), at least {gate.asked} asked for: {more}"
