"""Scores one submission against its truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.errors import CallError, InvalidData, report_plugin_errors
from medcontract.evaluation.inputs import (
    DEFAULT,
    Files,
    GivenFile,
    Header,
    HeaderOverrides,
    Settings,
    gather,
    report_progress,
)
from medcontract.evaluation.loading import (
    Truth,
    check_possible_fields,
    lacking_fields,
    lacks_fields,
    no_submission,
    no_truth,
    read_auxiliary,
    read_submission,
    read_truth,
)
from medcontract.evaluation.near_misses import near_misses
from medcontract.evaluation.ownership import keep_organizers_files
from medcontract.evaluation.plugin_checks import all_are, for_participants, notes_of, tally_of, verdict_of
from medcontract.evaluation.remarks import as_problem, on_answers, on_headline, text_of
from medcontract.evaluation.unused_files import SkippedFile, describe_unused, hide_organizers_files, notes_on_files
from medcontract.problems import is_cross_file, plural
from medcontract.results.score import FailureMode, FileProblem, InputFile, ItemBreakdown, in_file
from medcontract.results.validation import FileReport, Problem
from medcontract.scoring import tracks
from medcontract.scoring.marks import REPEATED
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.processing_gate import Processing, Verdict, refused_by_gate
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import coarse, rounded_or_none
from medcontract.scoring.scorer import NO_OPTIONS, Answers, Notes, Remark, Scorer, ScoringOptions, Tally
from medcontract.scoring.track import Figure, Roles, Track
from medcontract.validation.parts import Part, base_name

MOST_PROBLEMS = 100
_FLAGS = {"MC506"}
"""Codes that mark a submission in a ranking."""


class Scored(Struct, kw_only=True):
    """The outcome for one submission, with exact figures; `score_result` builds the public result from it."""

    track: str
    protocol: Protocol
    inputs: tuple[InputFile, ...]
    verdict: Verdict
    problems: tuple[FileProblem, ...]
    """The first `MOST_PROBLEMS` problems."""
    found: int
    """The total number of problems, listed or not."""
    errors: int
    """The total number of errors, listed or not."""
    participant: bool = False
    """Made for a participant: the output must not reveal the truth."""
    cross_file: tuple[tuple[str, int], ...] = ()
    """How often each rule across files was violated, by code."""
    private: tuple[str, ...] = ()
    """Warnings that participants do not see, since they reveal the truth."""
    hints: tuple[str, ...] = ()
    """Hints with ids, which are values of records."""
    remarks: tuple[Problem, ...] = ()
    """What looks like a mistake. It is also among the warnings; participants do not see what reveals the truth."""
    flags: tuple[str, ...] = ()
    """Codes of remarks that mark the submission in a ranking."""
    team: str | None = None
    figures: tuple[Figure, ...] = ()
    """Descriptions of the figures of the result."""
    headline: str = ""
    """The name of the figure that submissions are ranked by."""
    second: str = ""
    """The name of the figure used if there is no headline."""
    remediation: tuple[FailureMode, ...] = ()
    """What to fix first."""
    breakdown: tuple[ItemBreakdown, ...] | None = None
    """Why items lost points, if requested."""
    tally: Tally | None = None
    """What the figures were computed from; another protocol can be applied to it."""

    @property
    def shown(self) -> dict[str, Any] | None:
        """The result; for participants rounded, and without figures by class, case or document."""
        if self.verdict.result is None or not self.participant:
            return self.verdict.result
        track, headline = tracks.track(self.track), rounded_or_none(self.verdict.headline)
        shown: dict[str, Any] = coarse(for_participants(track, self.verdict.result, headline))
        return shown

    def shown_figure(self, value: Fraction | None) -> float | None:
        """The double nearest to a figure; for participants rounded."""
        shown: float | None = coarse(rounded_or_none(value)) if self.participant else rounded_or_none(value)
        return shown

    @property
    def valid(self) -> bool:
        return self.verdict.valid

    @property
    def result(self) -> dict[str, Any] | None:
        """A document of the track's result contract, or None if the score is refused."""
        return self.verdict.result

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not valid."""
        return self.verdict.reasons

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks that do not make the score invalid."""
        return self.verdict.warnings if self.participant else self.verdict.warnings + self.private


@report_plugin_errors()
def score_files(
    given: Iterable[GivenFile],
    *,
    found: Mapping[str, str] = MappingProxyType({}),
    skipped: Sequence[SkippedFile] = (),
    settings: Settings = DEFAULT,
    parameters: Sequence[tuple[str, str]] = (),
    header: Mapping[str, str] | None = None,
) -> Scored:
    """Score the submission among the files against the truth among them. Raises `CallError` for a wrong call.

    `found`: files that were found in a folder, not named in the call, and the folder of each. They need not match a
    contract, and those in a submission's folder cannot extend or replace files of the organizer (`ownership`).
    `skipped`: other files in these folders. Raises `InvalidData` if a file is so broken that its contract cannot be
    recognized.
    """
    files = gather(given, settings, lenient=found)
    files.skipped = skipped
    track = _track_or_broken(files)
    select_files(track, files, found, settings)
    protocol = protocol_for(track, parameters, settings)
    scorer = track.scorer(protocol, settings.scoring, files.groups)
    given_header = HeaderOverrides(header)
    if settings.frozen:
        files.notes += settings.frozen.warnings()
    if is_result_alone(track, files):
        from medcontract.evaluation.rescore import rescore

        reasons = settings.frozen.reasons(protocol, {}) if settings.frozen else ()
        if reasons:
            raise CallError("; ".join(reasons))
        return rescore(track, scorer, files, settings, given_header)
    check_possible_fields(track, scorer, files, given_header)
    report_progress(settings.progress, files.take(sorted(used_contracts(track.roles, scorer))).parts())
    truth = read_truth(track, scorer, files, given_header, settings.frozen)
    return score_against(truth, files, settings, given_header)


def select_files(track: Track, files: Files, found: Mapping[str, str], settings: Settings) -> None:
    """Remove files that the organizer provides elsewhere, and broken files in the folder of a submission."""
    by_option = [option.stands_for for option in track.options if option.name in settings.scoring.options]
    if settings.participant:
        truths = [name for name in track.roles.truths if name not in track.roles.submissions]
        hide_organizers_files(truths, files, found)
    folders = keep_organizers_files(track.roles, files, found, by_option)
    files.ignore_broken([path for path, folder in found.items() if folder in folders], track.roles.submissions)


def is_result_alone(track: Track, files: Files) -> bool:
    """Whether the files contain a result to score again, without truth and submission."""
    if not track.scorer.rescores or track.roles.result not in files.groups:
        return False
    needed = (name for pair in track.pairs(files.groups) for name in (pair.truth, pair.submission))
    return not any(name in files.groups for name in needed)


def _track_or_broken(files: Files) -> Track:
    try:
        track = track_of(files)
        has_truth = any(pair.truth in files.groups for pair in track.pairs(files.groups))
        if not has_truth and not is_result_alone(track, files):
            raise no_truth(track.roles, files)
    except CallError:
        if files.unread:
            raise InvalidData(files.unread[0]) from None
        raise
    return track


def protocol_for(track: Track, parameters: Sequence[tuple[str, str]], settings: Settings) -> Protocol:
    """The protocol that the caller wants: frozen, or with changed parameters. Raises `CallError`."""
    changes = settings.frozen.changes(track) if settings.frozen else parameters
    return changed_protocol(track, changes, settings.scoring)


@report_plugin_errors()
def changed_protocol(
    track: Track, parameters: Sequence[tuple[str, str]], options: ScoringOptions = NO_OPTIONS
) -> Protocol:
    """The protocol with the caller's changes. Raises `CallError`."""
    own = {option.name for option in track.options}
    for name in options.options:
        if name not in own:
            raise _option_of_another_track(name, track)
    if options.breakdown and not track.scorer.explains:
        those = " and ".join(each.id for each in tracks.every() if each.scorer.explains)
        raise CallError(f"--breakdown is an option of the tracks {those}, not of {track.id}")
    protocol = track.protocol
    for name, value in parameters:
        if name not in protocol.values and name in tracks.options():
            raise _option_of_another_track(name, track)
        protocol = protocol.changed(name, value)
    return track.completed(protocol, options)


def _option_of_another_track(name: str, track: Track) -> CallError:
    owner, option = tracks.options()[name]
    message = f"{option.on_command_line} is an option of the track {owner.id}, not of {track.id}"
    return CallError(message, f"see the parameters: medcontract protocol show {track.id}" if option.parameter else None)


def track_of(files: Files) -> Track:
    """The track that all files belong to, apart from output of medcontract.

    Raises `CallError` if there is none or more than one, and if its files do not form a submission.
    """
    by_track: dict[str, Part] = {}
    for contract_id, parts in files.groups.items():
        name = contract_id.partition("/")[0]
        if name != "medcontract":
            by_track.setdefault(name, parts[0])
    if not by_track:
        hint = "; ".join(["pass a truth and a submission", *describe_unused(files)])
        raise CallError("there is nothing to score among these files", hint)
    if len(by_track) > 1:
        what = "; ".join(f"{part.name} is {part.contract.id}" for part in by_track.values())
        raise CallError("the files belong to different tracks", what)
    found = tracks.track(next(iter(by_track)))
    found.pairs(files.groups)
    return found


class Readings(Struct, kw_only=True):
    """What was read for a score, before counting."""

    truth: Truth
    files: Files
    documents: dict[str, Any]
    pairings: dict[str, Pairing[Any, Any]]
    headers: dict[str, Header]
    reasons: tuple[str, ...]
    """Why the files of the submission cannot be scored."""
    fields: dict[str, str] = {}
    """Fields of the result that the caller sets."""

    def set_fields(self, given: HeaderOverrides) -> None:
        """Set the caller's fields of the result. Raises `CallError` for a header field that is not used."""
        self.fields = set_by_caller(self.truth.track, given)
        given.check()

    def answers(self) -> Answers:
        """What a scorer needs of it."""
        groups = self.files.groups
        names = {
            pair.submission: tuple(sorted(part.name for part in groups.get(pair.submission, [])))
            for pair in self.truth.scorer.pairs
        }
        return Answers(
            pairings=self.pairings, documents=self.documents, headers={**self.truth.headers, **self.headers},
            names=names, settings=self.fields,
        )  # fmt: skip


def read_files(truth: Truth, files: Files, settings: Settings, given: HeaderOverrides) -> Readings:
    """Read the submission and the auxiliary files."""
    documents, aux_reasons = read_auxiliary(truth, files)
    pairings, headers, header_reasons = read_submission(truth, files, documents, settings, given)
    return Readings(
        truth=truth, files=files, documents=documents, pairings=pairings, headers=headers,
        reasons=(*aux_reasons, *header_reasons),
    )  # fmt: skip


def score_against(
    truth: Truth, files: Files, settings: Settings = DEFAULT, given: HeaderOverrides | None = None
) -> Scored:
    """Score the submission among the files, with a scorer for their contracts."""
    protocol, options = truth.scorer.protocol, truth.scorer.options
    truth = replace(truth, scorer=truth.track.scorer(protocol, options, {*files.groups, *truth.expected}))
    given = given or HeaderOverrides()
    check_possible_fields(truth.track, truth.scorer, files, given, truth.headers)
    readings = read_files(truth, files, settings, given)
    if not any(files.groups.get(pair.submission) for pair in truth.scorer.pairs) and not files.unread:
        raise no_submission(truth.track.roles, files)
    readings.set_fields(given)
    return score_readings(readings, settings)


def score_readings(readings: Readings, settings: Settings) -> Scored:
    """Score what was read."""
    truth, files, pairings = readings.truth, readings.files, readings.pairings
    tally, counted = None, Notes()
    reasons = (*truth.reasons, *map(_unread, files.unread), *readings.reasons)
    if reasons:
        verdict = Verdict(valid=False, processing=_nothing(truth, files), reasons=reasons)
    else:
        verdict, tally, counted = _verdict(readings)
    teams = teams_of(readings.headers, readings.documents)
    notes = notes_on_files(files, used_contracts(truth.track.roles, truth.scorer), truth.track)
    verdict.warnings = (*verdict.warnings, *notes, *_remarks(teams, truth.track, settings))
    if not truth.reasons:
        verdict.reasons = (*verdict.reasons, *_wrong_files(verdict, pairings, files))
    score = _assemble(truth, files, verdict, tally, teams, settings.participant)
    private, hints = near_misses(pairings.values())
    score.private, score.hints = (*counted.about_truth, *private), tuple(hints)
    if tally is not None and not settings.participant:
        _explain(score, truth, tally, settings)
    _add_remarks(score, truth, pairings, counted.remarks)
    return score


def _add_remarks(
    score: Scored, truth: Truth, pairings: Mapping[str, Pairing[Any, Any]], remarks: Sequence[Remark]
) -> None:
    """Add what looks like a mistake: warnings, with examples as hints, and marks in a ranking."""
    counted = [as_problem(remark) for remark in remarks if not (score.participant and remark.reveals_truth)]
    answers = () if truth.reasons else on_answers(pairings.values(), score.participant)
    score.remarks = (
        *answers,
        *counted,
        *on_headline(truth.track, score.verdict, {"headline": score.headline, "second": score.second}),
    )
    score.verdict.warnings += tuple(map(text_of, score.remarks))
    score.hints += tuple(f"{each.message}: {each._value}" for each in score.remarks if each._value)
    score.flags = tuple(sorted({each.code for each in score.remarks} & _FLAGS))


def _verdict(readings: Readings) -> tuple[Verdict, Tally | None, Notes]:
    """The verdict on answers that can be scored, the tally that it is based on, and what is to be said about it."""
    truth, answers = readings.truth, readings.answers()
    refused = refused_by_gate(truth.scorer, answers)
    if refused:
        return refused, None, Notes()
    tally = tally_of(truth.track, truth.scorer, answers)
    notes = notes_of(truth.track, truth.scorer, tally)
    verdict = verdict_of(truth.track, truth.scorer, tally)
    verdict.warnings = notes.warnings + verdict.warnings
    if verdict.result is not None:
        lacking = lacking_fields(truth.track, answers.headers)
        if lacking and not verdict.valid and _has_broken_file(readings):
            verdict.result = None  # the header cannot be read: wrong data, not a wrong call
        elif lacking:
            raise lacks_fields(lacking)
    return verdict, tally, notes


def _has_broken_file(readings: Readings) -> bool:
    """Whether a file of the submission cannot be read completely, and so has no header."""
    groups = readings.files.groups
    parts = [part for pair in readings.truth.scorer.pairs for part in groups.get(pair.submission, [])]
    return any(part.validator is not None and part.validator.broken for part in parts)


def _remarks(teams: Sequence[str], track: Track, settings: Settings) -> Iterator[str]:
    if len(set(teams)) > 1:
        yield f"the files name different {track.entrant}s"
    if settings.participant and settings.scoring.breakdown:
        yield "the breakdown is omitted for participants: it would reveal the truth"


def _explain(score: Scored, truth: Truth, tally: Tally, settings: Settings) -> None:
    """Add explanations beyond the figures, which participants do not get."""
    track, scorer = truth.track, truth.scorer
    score.remediation = tuple(all_are(FailureMode, track, scorer, "remediation", scorer.remediation(tally)))
    score.hints = (*score.hints, *all_are(str, track, scorer, "hints", scorer.hints(tally)))
    if settings.scoring.breakdown:
        score.breakdown = tuple(all_are(ItemBreakdown, track, scorer, "breakdown", scorer.breakdown(tally)))


def set_by_caller(track: Track, given: HeaderOverrides, known: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Fields of the result that the caller may set; `known` are values that a result already has."""
    settable = track.result_fields.settable
    if not settable:
        return {}
    fields = {**dict.fromkeys(settable), **(known or {})}
    completed = given.complete(fields, registry.find(track.roles.result), set(settable))
    return {name: value for name, value in completed.items() if value is not None}


def _nothing(truth: Truth, files: Files) -> Processing | None:
    """The gate for a submission that cannot be read: nothing is processed."""
    expected = sum(each.total for each in truth.expected.values())
    there = any(pair.submission in files.groups for pair in truth.scorer.pairs)
    if truth.reasons or there or not expected:
        return None
    return Processing(expected, 0, truth.scorer.protocol["min_processed"])


def _unread(report: FileReport) -> str:
    problem = report.problems[0] if report.problems else None
    where = f"line {problem.line}: " if problem and problem.line else ""
    return f"{base_name(report.path)} cannot be read" + (f" ({where}{problem.message})" if problem else "")


def used_contracts(roles: Roles, scorer: Scorer) -> set[str]:
    """The contracts of files that a score uses."""
    return {name for pair in scorer.pairs for name in (pair.truth, pair.submission)} | set(roles.auxiliaries())


def teams_of(headers: Mapping[str, Header], documents: Mapping[str, Any]) -> list[str]:
    """The team names in the files; that of the answers comes before those of telemetry or a model file."""
    named = [header.get("team_name") or header.get("model_id") for header in headers.values()]
    named += [getattr(document, "team_name", None) for document in documents.values()]
    return [name for name in named if name]


def _wrong_files(verdict: Verdict, pairings: Mapping[str, Pairing[Any, Any]], files: Files) -> list[str]:
    """Reasons to think that the wrong files were passed: another truth, or two versions of one file."""
    if verdict.valid:
        return []
    reasons: list[str] = []
    for pairing in pairings.values():
        if pairing.unknown_count and not any(pairing.marks_by_run.values()):
            reasons.append(
                "no id of the submission is in the truth: check how they are written, and that it is the right truth"
            )
        parts = files.groups.get(pairing.pair.submission, [])
        repeated = sum(why == REPEATED for marks in pairing.marks_by_run.values() for why in marks.unscored.values())
        if len(parts) > 1 and repeated:
            names = ", ".join(part.name for part in parts)
            are = "are" if repeated > 1 else "is"
            reasons.append(
                f"{plural(repeated, 'id')} {are} answered more than once in {names}: "
                "are these versions of one file, or of several teams?"
            )
    return reasons


def _assemble(
    truth: Truth,
    files: Files,
    verdict: Verdict,
    tally: Tally | None,
    teams: Sequence[str],
    participant: bool,
) -> Scored:
    used = sorted(used_contracts(truth.track.roles, truth.scorer))
    own = [part for part in files.take(used).parts() if part not in truth.parts]
    listed = own if participant else [*truth.parts, *own]  # errors of the truth explain those of the submission
    parts = sorted(listed, key=lambda part: (part.contract.id, part.name))
    reports = [(part.name, part.report) for part in listed]
    reports += [(base_name(report.path), report) for report in files.unread]
    problems = [in_file(name, problem) for name, report in reports for problem in report.problems]
    unread = sum(report.errors + report.warnings for report in files.unread)
    return Scored(
        track=truth.track.id,
        protocol=truth.scorer.protocol,
        inputs=tuple(input_file(part, truth) for part in parts),
        verdict=verdict,
        problems=tuple(problems[:MOST_PROBLEMS]),
        found=unread + sum(part.collector.visible for part in listed),
        errors=sum(report.errors for _, report in reports),
        participant=participant,
        cross_file=_cross_file_codes(own),
        team=next(iter(teams), None),
        figures=truth.track.figures,
        headline=verdict.headline_name or truth.track.headline,
        second=truth.track.second,
        tally=tally,
    )


def _cross_file_codes(parts: Sequence[Part]) -> tuple[tuple[str, int], ...]:
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(part.collector.codes(is_cross_file))
    return tuple(sorted(counted.items()))


def input_file(part: Part, truth: Truth) -> InputFile:
    is_truth = part.contract.id in truth.content
    return InputFile(
        contract=part.contract.id,
        name=part.name,
        sha256=part.source.sha256(),
        content_sha256=truth.content[part.contract.id] if is_truth else None,
        records=part.report.records,
        _how=part.how,
    )
