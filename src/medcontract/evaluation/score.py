"""Scores one submission against its truth, or an existing result again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from medcontract.errors import CallError, InvalidData, report_plugin_errors
from medcontract.evaluation.files import Files, GivenFiles, gather, read, report_progress
from medcontract.evaluation.loading import (
    LoadedTruth,
    Readings,
    fields_of,
    no_submission,
    no_truth,
    read_submission,
    read_truth,
)
from medcontract.evaluation.near_misses import misspelled, near_misses
from medcontract.evaluation.remarks import (
    as_problem,
    as_warning,
    on_answers,
    on_constant_answer,
    on_figures,
    on_headers,
    on_impressions,
)
from medcontract.evaluation.result import Scored, described_input, environment, occasion
from medcontract.evaluation.selection import describe_unused, notes_on_files, select_files
from medcontract.evaluation.settings import (
    DEFAULT,
    Header,
    HeaderOverrides,
    Settings,
    lacking_fields,
    require_fields,
    require_possible_fields,
)
from medcontract.problems import is_cross_file, plural
from medcontract.results.score import FailureMode, Intervals, ItemBreakdown, in_file
from medcontract.results.tables import Table
from medcontract.results.validation import FileReport, Problem
from medcontract.scoring import scorer as scorers
from medcontract.scoring import tracks
from medcontract.scoring.marks import REPEATED
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import Finished, Notes, Remark, Scorer, Tally
from medcontract.scoring.scorer_checks import (
    all_are,
    check_result,
    checked,
    figures_of,
    notes_of,
    refused_by_gate,
    tally_of,
)
from medcontract.scoring.track import Roles, Track
from medcontract.validation.dispatch import Part, base_name

if TYPE_CHECKING:
    from medcontract.evaluation.subgroups import Column

MOST_PROBLEMS = 100


def track_of(files: Files) -> Track:
    """Return the track that all files belong to, apart from output of medcontract.

    Raises `CallError` if there is none or more than one.
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
    return tracks.track(next(iter(by_track)))


def protocol_for(track: Track, settings: Settings, ranking: bool = False) -> Protocol:
    """Return the protocol that the caller wants: frozen, or with changed parameters. Raises `CallError`."""
    return tracks.changed_protocol(track, changes_for(track, settings, ranking), settings.scoring)


def changes_for(track: Track, settings: Settings, ranking: bool = False) -> list[tuple[str, str]]:
    """Return the changed parameters: frozen, or passed with the call, or with another default in a ranking."""
    if settings.frozen:
        return settings.frozen.changes(track)
    defaults = track.ranking.parameters if ranking else {}
    given = dict(settings.parameters)
    return [*((name, value) for name, value in defaults.items() if name not in given), *settings.parameters]


@report_plugin_errors()
def score_files(given: GivenFiles, settings: Settings = DEFAULT) -> Scored:
    """Score the submission among the files against the truth among them. Raises `CallError` for a usage error.

    Files that were found in a folder need not match a contract, and those in a submission's folder cannot extend or
    replace files of the organizer (`select_files`). Raises `InvalidData` if a file is so broken that its contract
    cannot be recognized.
    """
    files = gather(given.files, settings, given.found)
    files.skipped = given.skipped
    with _broken_files_first(files):
        track = track_of(files)
    protocol = protocol_for(track, settings)
    settings.wants_intervals(track, protocol)  # fails before anything is read
    with _broken_files_first(files):
        scorer = track.scorer(protocol, settings.scoring, files.groups)
        if not any(pair.truth in files.groups for pair in scorer.pairs) and not _is_result_alone(track, scorer, files):
            raise no_truth(track.roles, files)
    select_files(track, files, given.found, settings)
    return score_selected(track, scorer, files, settings)


@contextmanager
def _broken_files_first(files: Files) -> Iterator[None]:
    """Raise `InvalidData` instead of `CallError` if a file is broken: it may be the one that is missing."""
    try:
        yield
    except CallError:
        if files.unread:
            raise InvalidData(files.unread[0]) from None
        raise


def score_selected(track: Track, scorer: Scorer, files: Files, settings: Settings) -> Scored:
    """Read the files that count, and score the submission among them."""
    given = HeaderOverrides(settings.header, strict=not settings.header_if_absent)
    if settings.frozen:
        files.notes += settings.frozen.warnings(environment())
    if _is_result_alone(track, scorer, files):
        reasons = settings.frozen.reasons(scorer.protocol, {}) if settings.frozen else ()
        if reasons:
            raise CallError("; ".join(reasons))
        return _rescore(track, scorer, files, settings, given)
    require_possible_fields(track, scorer, files, given)
    report_progress(settings.progress, files.take(sorted(used_contracts(track.roles, scorer))).parts())
    return score_against(read_truth(track, scorer, files, settings, given), files, settings, given)


def _is_result_alone(track: Track, scorer: Scorer, files: Files) -> bool:
    """Check whether the files contain a result to score again, without truth and submission."""
    needed = {name for pair in scorer.pairs for name in (pair.truth, pair.submission)}
    return scorer.rescores and track.roles.result in files.groups and needed.isdisjoint(files.groups)


def used_contracts(roles: Roles, scorer: Scorer) -> set[str]:
    """Return the contracts of files that a score uses."""
    return {name for pair in scorer.pairs for name in (pair.truth, pair.submission)} | set(roles.auxiliaries())


def score_against(truth: LoadedTruth, files: Files, settings: Settings, given: HeaderOverrides) -> Scored:
    """Score the submission among the files."""
    readings = read_submission(truth, files, settings, given)
    if not any(files.groups.get(pair.submission) for pair in truth.scorer.pairs) and not files.unread:
        raise no_submission(truth.track.roles, files)
    readings.set_fields(given)
    return score_readings(readings, settings)


def score_readings(readings: Readings, settings: Settings) -> Scored:
    """Score what was read."""
    truth, files, pairings = readings.truth, readings.files, readings.pairings.values()
    track, scorer, participant = truth.track, truth.scorer, settings.participant
    columns = _columns(readings, settings)
    reasons = [*truth.reasons]
    for report in files.unread:
        problem = report.problems[0] if report.problems else None
        where = f"line {problem.line}: " if problem and problem.line else ""
        why = f" ({where}{problem.message})" if problem else ""
        reasons.append(f"{base_name(report.path)} cannot be read{why}")
    reasons += readings.reasons
    tally, notes, intervals = None, Notes(), None
    if reasons:
        verdict = Finished(result=None, headline=None, reasons=tuple(reasons))
        expected = sum(each.total for each in truth.expected.values())
        if expected and not truth.reasons and not readings.submissions():  # nothing is processed
            verdict.processing = scorers.Processing(expected, 0, scorer.protocol["min_processed"])
    else:
        verdict, tally, notes, intervals = _verdict(readings, settings)
    about_figures = verdict.warnings
    verdict.warnings = notes.warnings + verdict.warnings
    used = used_contracts(track.roles, scorer) | _lists_with(truth, settings)
    teams = teams_of(readings.headers, readings.documents)
    verdict.warnings += tuple(notes_on_files(files, used, track))
    if len(set(teams)) > 1:
        verdict.warnings += (f"the files name different {track.entrant}s",)
    if participant and settings.scoring.breakdown:
        verdict.warnings += ("the breakdown is omitted for participants: it would reveal the truth",)
    if not truth.reasons and not verdict.valid:
        verdict.reasons += tuple(_wrong_files(pairings, files, track))
    own = [part for part in files.take(sorted(used)).parts() if part not in truth.parts]
    listed = own if participant else [*truth.parts, *own]  # errors of the truth explain errors of the submission
    scored = _assembled(truth, verdict, listed, files.unread, participant)
    scored.team, scored.tally, scored.about_figures = next(iter(teams), None), tally, about_figures
    scored.intervals, scored.elsewhere, scored.occasion = intervals, readings.elsewhere, occasion(readings)
    _add_subgroups(scored, readings, columns, settings)
    counted = sum((Counter(part.collector.codes(is_cross_file)) for part in own), Counter[str]())
    scored.cross_file = tuple(sorted(counted.items()))
    odd = [pairing for pairing in pairings if pairing.unknown_count]
    private, hints = near_misses(odd) if odd else ([], [])
    scored.misspelled = misspelled(odd) if len(odd) == len(pairings) and not participant else ""
    scored.private = (*notes.about_truth, *private)
    if tally is not None and not participant:
        scored.remediation, scored.pictures = (
            tuple(all_are(FailureMode, track, "remediation", scorer.remediation(tally))),
            tuple(all_are(Table, track, "pictures", scorer.pictures(tally))),
        )
        hints += all_are(str, track, "hints", scorer.hints(tally))
        if settings.scoring.breakdown:
            scored.breakdown = tuple(all_are(ItemBreakdown, track, "breakdown", scorer.breakdown(tally)))
    scored.costly = tuple(map(as_problem, notes.costly))
    scored.remarks = tuple(_remarks(readings, verdict, notes, participant))
    verdict.warnings += tuple(map(as_warning, scored.remarks))
    scored.hints = (*hints, *(f"{each.message}: {each._value}" for each in scored.remarks if each._value))
    return scored


def _remarks(readings: Readings, verdict: Finished, notes: Notes, participant: bool) -> Iterator[Problem]:
    """Find what looks like a mistake."""
    truth, pairings = readings.truth, readings.pairings.values()
    yield from () if truth.reasons else on_answers(pairings, participant)
    yield from (as_problem(r) for r in (*notes.remarks, *notes.costly) if not (participant and r.reveals_truth))
    yield from on_impressions(pairings)
    yield from map(as_problem, checked(truth.track, truth.scorer.oddities(readings.documents), Remark))
    yield from on_headers(readings.headers.values(), readings.documents.values())
    yield from on_figures(truth.track, verdict)


def _columns(readings: Readings, settings: Settings) -> list[Column] | None:
    """Return the groups of the cases. None: the caller does not want them, or must not see them."""
    if not settings.by or settings.participant or readings.truth.reasons:
        return None
    from medcontract.evaluation.subgroups import columns_of

    return columns_of(readings, settings.by, settings.groups)


def _add_subgroups(scored: Scored, readings: Readings, columns: list[Column] | None, settings: Settings) -> None:
    """Add the figures of the groups, and the table that they come from."""
    if settings.by and settings.participant:
        scored.verdict.warnings += ("subgroups are omitted for participants: they would reveal the truth",)
    if columns is None:
        return
    scored.by = tuple(by.text for by in settings.by)
    if scored.tally is not None:
        from medcontract.evaluation.subgroups import subgroups_of

        intervals = scored.intervals is not None
        scored.subgroups = subgroups_of(readings, scored.verdict, settings.by, columns, intervals)
    if settings.groups:
        scored.inputs = tuple(sorted((*scored.inputs, settings.groups.described()), key=lambda i: (i.contract, i.name)))


def _lists_with(truth: LoadedTruth, settings: Settings) -> set[str]:
    """Return the contracts of lists of cases with a field to group by, or whose cases are drawn together."""
    fields = {by.field for by in settings.by if not settings.participant}
    if not any(truth.scorer.protocol.word("cluster") in fields_of(name) for name in truth.expected):
        fields.add(truth.scorer.protocol.word("cluster") or "")
    return {name for name in truth.track.roles.id_lists if not fields.isdisjoint(fields_of(name))}


def _verdict(readings: Readings, settings: Settings) -> tuple[Finished, Tally | None, Notes, Intervals | None]:
    """Judge answers that can be scored. Also returns the tally that this is based on, and what else it shows."""
    track, scorer = readings.truth.track, readings.truth.scorer
    answers = readings.answers
    refused = refused_by_gate(scorer, answers)
    if refused:
        return refused, None, Notes(), None
    tally = tally_of(track, scorer, answers)
    notes = notes_of(track, scorer, tally)
    verdict = figures_of(track, scorer, tally)
    if verdict.result is not None:
        broken = any(part.validator and part.validator.broken for part in readings.submissions())
        if broken and not verdict.valid and lacking_fields(track, answers.headers.values()):
            verdict.result = None  # the header cannot be read: wrong data, not a usage error
        else:
            require_fields(track, answers.headers.values())
    if settings.complete and not settings.participant:
        notes.costly = tuple(on_constant_answer(track, scorer, answers, verdict))
    intervals = None
    if verdict.result is not None and settings.wants_intervals(track, scorer.protocol):
        from medcontract.scoring.resampling import intervals_of

        needed = settings.complete or type(scorer).judged is not Scorer.judged
        found = intervals_of(track, scorer, answers, verdict, readings.truth.drawn(), only_ranked=not needed)
        intervals = found.intervals
        verdict = scorer.judged(verdict, intervals.figures)
        notes.warnings += found.warnings
        notes.about_truth += found.about_truth
    return verdict, tally, notes, intervals


def teams_of(headers: Mapping[str, Header], documents: Mapping[str, object]) -> list[str]:
    """Return the team names in the files: first from answers, then from telemetry or a model file."""
    named = [header.get("team_name") or header.get("model_id") for header in headers.values()]
    named += [getattr(document, "team_name", None) for document in documents.values()]
    return [name for name in named if name]


def _wrong_files(pairings: Iterable[Pairing], files: Files, track: Track) -> Iterator[str]:
    """Return reasons to think that the wrong files were passed: another truth, or two versions of one file."""
    for pairing in pairings:
        if pairing.unknown_count and not any(pairing.marks_by_run.values()):
            yield "no id of the submission is in the truth: check how they are written, and that it is the right truth"
        parts = files.groups.get(pairing.pair.submission, [])
        repeated = sum(why == REPEATED for marks in pairing.marks_by_run.values() for why in marks.unscored.values())
        if len(parts) > 1 and repeated:
            names = ", ".join(part.name for part in parts)
            are = "are" if repeated > 1 else "is"
            yield (
                f"{plural(repeated, 'id')} {are} answered more than once in {names}: "
                f"are these versions of one file, or of several {track.entrant}s?"
            )


def _assembled(
    truth: LoadedTruth, verdict: Finished, parts: Sequence[Part], unread: Sequence[FileReport], participant: bool
) -> Scored:
    """Return the outcome with the files and their problems."""
    reports = [(part.name, part.report) for part in parts]
    reports += [(base_name(report.path), report) for report in unread]
    problems = [in_file(name, problem) for name, report in reports for problem in report.problems]
    in_order = sorted(parts, key=lambda part: (part.contract.id, part.name))
    return Scored(
        track=truth.track.id,
        protocol=truth.scorer.protocol,
        verdict=verdict,
        participant=participant,
        inputs=tuple(described_input(part, truth) for part in in_order),
        problems=tuple(problems[:MOST_PROBLEMS]),
        found=sum(part.collector.visible for part in parts) + sum(each.errors + each.warnings for each in unread),
        errors=sum(report.errors for _, report in reports),
    )


def _rescore(track: Track, scorer: Scorer, files: Files, settings: Settings, given: HeaderOverrides) -> Scored:
    """Score the result among the files again, without a truth, as the scorer defines it. Raises `CallError`."""
    used = files.take((track.roles.result, *track.roles.auxiliaries()))
    parts, documents = used.parts(), dict[str, object]()
    for name, group in used.groups.items():
        read(group)
        documents[name] = group[0].header
    result = documents.pop(track.roles.result)
    reasons = [f"{part.name} has {plural(part.collector.errors, 'error')}" for part in parts if part.collector.errors]
    reasons += [f"{base_name(report.path)} cannot be read" for report in files.unread]
    verdict = Finished(result=None, headline=None, reasons=tuple(reasons))
    if not reasons:
        fields = given.result_fields(track, {name: getattr(result, name) for name in track.result_fields.settable})
        verdict = check_result(track, scorer, scorer.rescore(parts[0].name, result, documents, fields))
    given.check()
    others = [part for part in files.parts() if part.contract.id not in used.groups]
    idle = ["--breakdown"] if scorer.options.breakdown else []  # options that need records
    idle += ["--by"] if settings.by else []
    idle += ["--intervals"] if settings.wants_intervals(track, scorer.protocol) else []
    idle += [each.on_command_line for each in track.options if each.measuring and each.name in scorer.options.options]
    if not idle and scorer.protocol.fingerprint != track.protocol.fingerprint:
        idle = ["--parameter"]
    verdict.warnings += (
        *(f"{name} has no effect on an existing result" for name in idle),
        *(f"{part.name} ({part.contract.id}) is not needed" for part in others),
        *files.notes,
    )
    scored = _assembled(LoadedTruth(track=track, scorer=scorer), verdict, parts, files.unread, settings.participant)
    header = {name: getattr(result, name, None) for name in ("team_name", "model_id")}
    scored.team = next(iter(teams_of({track.roles.result: header}, {})), None)
    return scored
