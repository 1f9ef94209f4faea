"""The files of one call of `preflight`, read once for all checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from medcontract.contracts.contract import Validated
from medcontract.evaluation.inputs import Files, HeaderOverrides, Settings, read, report_progress
from medcontract.evaluation.loading import InvalidIds, Truth, read_truth
from medcontract.evaluation.plugin_checks import checked
from medcontract.evaluation.protocols import FrozenProtocol
from medcontract.evaluation.remarks import LabelTally
from medcontract.evaluation.score import Scored, read_files, score_readings
from medcontract.problems import Finding
from medcontract.scoring.expected import AnyId, Expected, read_field, validated
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair
from medcontract.scoring.scorer import Remark, Scorer
from medcontract.scoring.track import ExpectedIds, Track
from medcontract.validation.parts import Part


class _Probed(NamedTuple):
    """The measurements of a record, taken in one pass."""

    probe: Any
    """The measurement that needs no truth."""
    mark: Any
    """The measurement for scoring."""


class Session:
    """The files of one call, read once, and what the checks need."""

    def __init__(
        self, files: Files, track: Track, scorer: Scorer, settings: Settings, header: Mapping[str, str] | None
    ) -> None:
        self.files = files
        self.settings = settings
        self.participant = settings.participant
        self.track = track
        self.scorer = scorer
        self.selection_notes = tuple(files.notes)
        """Notes about files that were ignored before reading."""
        given = HeaderOverrides(header)
        report_progress(settings.progress, [part for part in files.parts() if _is_input_of(track, part)])
        self.tallies: list[LabelTally] = []
        """The predicted labels, for each vocabulary of the track."""
        self.truth = _truth_or_id_list(track, scorer, files, given, settings.frozen, self.tallies)
        self.readings = read_files(self.truth, files, settings, given)
        self.readings.set_fields(given)
        self.documents, self.headers = self.readings.documents, self.readings.headers
        scorer.combined(self.documents)  # raises for a wrong call, which is not a failed check of the submission
        self.pairings = {
            name: pairing.changed(lambda probed: probed.probe) for name, pairing in self.readings.pairings.items()
        }
        self.remarks = tuple(checked(self.track, scorer, scorer.remarks(self.pairings, self.documents), Remark))
        """What looks like a mistake to the track."""
        for parts in files.groups.values():
            if not parts[0].validator and _is_input_of(track, parts[0]):
                for group in [parts] if parts[0].contract.kind == "collection" else [[part] for part in parts]:
                    read(group)

    def score(self) -> Scored:
        """Score what was read. Notes from before reading come last."""
        files = self.files.take(self.files.groups)
        files.unread, files.notes = self.files.unread, self.files.notes[len(self.selection_notes) :]
        marks = {name: each.changed(lambda probed: probed.mark) for name, each in self.readings.pairings.items()}
        score = score_readings(replace(self.readings, files=files, pairings=marks), self.settings)
        score.verdict.warnings += self.selection_notes
        return score

    @property
    def has_truth(self) -> bool:
        return bool(self.truth.content)

    @property
    def id_files(self) -> list[Part]:
        """The files with the expected ids: a truth or a list of cases."""
        return self.truth.parts

    def submissions(self) -> list[Part]:
        return [part for pair in self.scorer.pairs for part in self.files.groups.get(pair.submission, [])]


def _is_input_of(track: Track, part: Part) -> bool:
    return part.contract.id.partition("/")[0] == track.id and not part.contract.definition.output


def _with_probe(scorer: Scorer, pair: Pair[Any, Any], scored: bool, tallies: list[LabelTally]) -> Pair[Any, Any]:
    """The pair with `_Probed` in place of marks; it contains a mark only if `scored`. Labels are counted as well."""
    own = [LabelTally(pair, vocabulary) for vocabulary in pair.vocabularies]
    tallies += own

    def measure(item: Any, record: Any) -> Any:
        for tally in own:
            tally.add(record)
        mark = pair.measure(item, record) if scored else None
        return mark if type(mark) is Unscored else _Probed(scorer.probe(record), mark)

    return replace(pair, measure=measure, measure_all=None)


def _truth_or_id_list(
    track: Track,
    scorer: Scorer,
    files: Files,
    given: HeaderOverrides,
    frozen: FrozenProtocol | None,
    tallies: list[LabelTally],
) -> Truth:
    """The truth; without one, a list of expected ids; without that, every id is accepted."""
    listed = any(name in files.groups for name in track.roles.id_lists)
    if any(pair.truth in files.groups and not (pair.own_truth and listed) for pair in scorer.pairs):
        truth = read_truth(track, scorer, files, given, frozen)
        truth.pairs = tuple(_with_probe(scorer, pair, True, tallies) for pair in scorer.pairs)
        for tally in tallies:
            if tally.pair.truth in truth.expected and not truth.reasons:
                tally.expect(truth.expected[tally.pair.truth].items)
        return truth
    probing = tuple(_with_probe(scorer, pair, False, tallies) for pair in scorer.pairs)
    truth = Truth(track=track, scorer=scorer, parts=[], expected={}, headers={}, content={}, pairs=probing)
    lists: dict[str, list[Expected[Any]]] = {}
    for pair in scorer.pairs:
        truth.expected[pair.truth] = AnyId(pair.key)
        truth.headers[pair.truth] = {}
        id_list = _id_list_for(pair, track, files)
        if id_list:
            truth.expected[pair.truth] = _ListedIds(pair, id_list)
            lists.setdefault(id_list.contract, []).append(truth.expected[pair.truth])
    for name, sinks in lists.items():
        _read_id_list(name, sinks, files, truth)
    return truth


def _id_list_for(pair: Pair[Any, Any], track: Track, files: Files) -> ExpectedIds | None:
    """The list of expected ids that can replace a truth, if it was passed."""
    lists = (each for each in track.roles.expected_ids if each.truth == pair.truth)
    return next((each for each in lists if each.contract in files.groups), None)


def _read_id_list(contract: str, sinks: Sequence[Expected[Any]], files: Files, truth: Truth) -> None:
    """Read a list of expected ids, for each truth that it replaces."""
    role = truth.track.roles.find_auxiliary(contract)
    keep = role.keep if role else None
    invalid = truth.invalid_ids[contract] = InvalidIds(role.id_field if role else "")
    fan_out = _FanOut(sinks, keep, invalid)
    read(files.groups[contract], fan_out)
    invalid.finish(files.groups[contract])
    truth.parts += files.groups[contract]
    if keep:
        truth.documents[contract] = fan_out.kept


class _ListedIds(Expected[Any]):
    """The ids of a list. Those of invalid records are expected, too: else their answers would seem to be wrong."""

    def __init__(self, pair: Pair[Any, Any], id_list: ExpectedIds) -> None:
        super().__init__(pair.key, id_list.item, wanted=id_list.only)
        self._names = pair.key
        self._only = id_list.only

    def reject(self, parsed: Any) -> Sequence[Finding]:
        ids = tuple(read_field(parsed, name) for name in self._names)
        if not all(isinstance(each, str) for each in ids) or (self._only and not self._only(_Fields(parsed))):
            return ()
        self.add(ids if len(ids) > 1 else ids[0], None)
        return ()


class _Fields:
    """An invalid record, whose fields may be absent."""

    def __init__(self, parsed: Any) -> None:
        self._parsed = parsed

    def __getattr__(self, name: str) -> Any:
        return read_field(self._parsed, name)


class _FanOut:
    """A sink that passes records on to several sinks: one list of ids may replace several truths."""

    def __init__(self, sinks: Sequence[Expected[Any]], keep: Callable[[Any], Any] | None, invalid: InvalidIds) -> None:
        self._sinks = sinks
        self._keep = keep
        self._invalid = invalid
        self.kept: list[Any] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        self._invalid.pass_over(validated(records))
        if self._keep:
            self.kept += map(self._keep, validated(records))
        return [finding for sink in self._sinks for finding in sink.take(records)]

    def reject(self, parsed: Any) -> Sequence[Finding]:
        self._invalid.add(parsed)
        return [finding for sink in self._sinks for finding in sink.reject(parsed)]

    def end(self, complete: bool) -> None:
        """Nothing to do."""
