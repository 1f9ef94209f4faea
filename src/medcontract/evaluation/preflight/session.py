"""The files of one call of `preflight`, read once for all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from medcontract.errors import CallError, option, words
from medcontract.evaluation.files import Files, read, report_progress
from medcontract.evaluation.loading import LoadedTruth, read_collection, read_submission, read_truth
from medcontract.evaluation.near_misses import misspelled
from medcontract.evaluation.remarks import LabelTally
from medcontract.evaluation.result import Scored
from medcontract.evaluation.score import score_readings
from medcontract.evaluation.settings import HeaderOverrides, Settings
from medcontract.problems import Finding, is_cross_file, reveals_truth
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import Problem
from medcontract.scoring.expected import AnyId, Expected, read_field
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair
from medcontract.scoring.scorer import Remark, Scorer
from medcontract.scoring.scorer_checks import checked
from medcontract.scoring.track import ExpectedIds, Track
from medcontract.validation.dispatch import Part


class _Probed(NamedTuple):
    """The measurements of a record, taken in one pass."""

    probe: Any
    """The measurement that needs no truth."""
    mark: Any
    """The measurement for scoring."""


class Session:
    """The files of one call, read once, and what the checks need."""

    def __init__(self, files: Files, track: Track, scorer: Scorer, settings: Settings) -> None:
        self.files = files
        self.settings = settings
        self.participant = settings.participant
        self.track = track
        self.scorer = scorer
        self.selection_notes = tuple(files.notes)
        """Notes about files that were ignored before reading."""
        given = HeaderOverrides(settings.header)
        report_progress(settings.progress, [part for part in files.parts() if self._is_input(part)])
        self.tallies: list[LabelTally] = []
        """The predicted labels, for each vocabulary of the track."""
        self.truth = self._read_truth_or_ids(given)
        """The files with the expected ids are its parts: a truth or a list of cases."""
        self.has_truth = bool(self.truth.content)
        self.readings = read_submission(self.truth, files, settings, given)
        self.readings.set_fields(given)
        self.documents, self.headers = self.readings.documents, self.readings.headers
        self.submissions = self.readings.submissions()
        scorer.combined(self.documents)  # raises for a usage error, which is not a failed check of the submission
        self.pairings = {
            name: pairing.changed(lambda probed: probed.probe) for name, pairing in self.readings.pairings.items()
        }
        found = (*scorer.remarks(self.pairings, self.documents), *scorer.oddities(self.documents))
        self.remarks = tuple(checked(track, found, Remark))
        """What looks like a mistake to the track."""
        for parts in files.groups.values():
            if not parts[0].validator and self._is_input(parts[0]):
                for group in [parts] if parts[0].contract.kind == "collection" else [[part] for part in parts]:
                    read(group)

    @cached_property
    def blocked(self) -> str | None:
        """Why ids and the processing gate cannot be judged: files that break off, or without a valid record."""
        parts = self.submissions
        names = [part.name for part in parts if part.validator and part.validator.broken]
        marks = [mark for each in self.pairings.values() for run in each.marks_by_run.values() for mark in run.values()]
        expected = sum(each.expected.total for each in self.pairings.values())
        few = 0 < 2 * len(marks) < expected
        invalid = not few and all(type(mark) is Unscored and mark.why == "invalid" for mark in marks)
        if not names and invalid and not any(each.unknown_count for each in self.pairings.values()):
            names = [part.name for part in parts if part.collector.count("error", is_about_one_file)]
        return f"not possible until {', '.join(names)} {'are' if names[1:] else 'is'} fixed" if names else None

    @cached_property
    def misspelled(self) -> str | None:
        """Why the processing gate cannot be judged: no id is right, but only the spelling of all of them is wrong."""
        hidden = self.participant and self.has_truth
        wrong = not hidden and misspelled(list(self.pairings.values()))
        return "not possible until the ids are written as expected" if wrong else None

    @cached_property
    def confirmed_lists(self) -> frozenset[str]:
        """The lists of expected ids that have the ids of all answers: they are certainly meant as such."""
        states = self.pairings.values()
        if any(each.unknown_count for each in states) or not any(each.marks_by_run for each in states):
            return frozenset()
        return frozenset(part.contract.id for part in self.truth.parts) & frozenset(self.track.roles.id_lists)

    def _is_input(self, part: Part) -> bool:
        return part.contract.id.partition("/")[0] == self.track.id and not part.contract.definition.output

    def _read_truth_or_ids(self, given: HeaderOverrides) -> LoadedTruth:
        """Read the truth; without one, lists of expected ids; without those, every id is accepted."""
        track, scorer, files = self.track, self.scorer, self.files
        listed = any(name in files.groups for name in track.roles.id_lists)
        if any(pair.truth in files.groups and not (pair.own_truth and listed) for pair in scorer.pairs):
            truth = read_truth(track, scorer, files, self.settings, given)
            truth.pairs = tuple(self._with_probe(pair, scored=True) for pair in scorer.pairs)
            for tally in self.tallies:
                if tally.pair.truth in truth.expected and not truth.reasons:
                    tally.expect(truth.expected[tally.pair.truth].items)
            return truth
        if scorer.protocol.values.get("phase"):
            raise CallError(words(option("--phase"), " needs the truth"), "pass it, too")
        pairs = tuple(self._with_probe(pair, scored=False) for pair in scorer.pairs)
        truth = LoadedTruth(track=track, scorer=scorer, pairs=pairs)
        lists: dict[str, list[Expected]] = {}
        for pair in scorer.pairs:
            truth.expected[pair.truth] = AnyId(pair.key)
            truth.headers[pair.truth] = {}
            replacing = [each for each in track.roles.expected_ids if each.truth == pair.truth]
            id_list = next((each for each in replacing if each.contract in files.groups), None)
            if id_list:
                truth.expected[pair.truth] = _ListedIds(pair, id_list)
                lists.setdefault(id_list.contract, []).append(truth.expected[pair.truth])
        for name, sinks in lists.items():
            kept = read_collection(files.groups[name], truth, id_sinks=sinks)
            truth.parts += files.groups[name]
            if kept is not None:
                truth.documents[name] = kept
        return truth

    def _with_probe(self, pair: Pair, scored: bool) -> Pair:
        """Return the pair with `_Probed` in place of marks; only if `scored`, with a mark. Labels are counted, too."""
        own = [LabelTally(pair, vocabulary) for vocabulary in pair.vocabularies]
        self.tallies += own
        key_of, seen = attrgetter(*pair.key), set[Any]()

        def measure(item: Any, record: Any) -> Any:
            if own and (key := key_of(record)) not in seen:  # of repeated records, the first counts
                seen.add(key)
                for tally in own:
                    tally.count(tally.vocabulary.predicted(record))
            mark = pair.measure(item, record) if scored else None
            return mark if type(mark) is Unscored else _Probed(self.scorer.probe(record), mark)

        return replace(pair, measure=measure, measure_all=None)

    def score(self) -> Scored:
        """Score what was read. Notes from before reading come last."""
        files = self.files.take(self.files.groups)
        files.unread, files.notes = self.files.unread, self.files.notes[len(self.selection_notes) :]
        marks = {name: each.changed(lambda probed: probed.mark) for name, each in self.readings.pairings.items()}
        score = score_readings(replace(self.readings, files=files, pairings=marks), self.settings)
        score.verdict.warnings += self.selection_notes
        return score

    def problems_in(self, parts: Iterable[Part], wanted: Callable[[str], bool]) -> tuple[tuple[FileProblem, ...], int]:
        """Return the listed problems of the files with a wanted code, and how many there are that may be shown."""
        parts = list(parts)
        problems = tuple(
            in_file(part.name, problem, part.source.name)
            for part in parts
            for problem in part.report.problems
            if wanted(problem.code)
        )
        counts = [item for part in parts for item in part.collector.codes(wanted).items()]
        return problems, sum(times for code, times in counts if not (self.participant and reveals_truth(code)))


def in_files(parts: Sequence[Part], problem: Problem) -> FileProblem:
    """Return a problem of several files together, with the path of the first."""
    return in_file(", ".join(part.name for part in parts), problem, parts[0].source.name if parts else None)


def is_about_one_file(code: str) -> bool:
    return not is_cross_file(code)


class _ListedIds(Expected):
    """The ids of a list. Ids of invalid records are expected, too: else their answers would seem to be wrong."""

    def __init__(self, pair: Pair, id_list: ExpectedIds) -> None:
        super().__init__(pair.key, id_list.item, wanted=id_list.only)
        self._only = id_list.only

    def reject(self, parsed: Any) -> Sequence[Finding]:
        ids = tuple(read_field(parsed, name) for name in self.key)
        if all(isinstance(each, str) for each in ids) and (not self._only or self._only(_Fields(parsed))):
            self.add(ids if len(ids) > 1 else ids[0], None)
        return ()


class _Fields:
    """An invalid record, whose fields may be absent."""

    def __init__(self, parsed: Any) -> None:
        self._parsed = parsed

    def __getattr__(self, name: str) -> Any:
        return read_field(self._parsed, name)
