"""The checklist of a submission."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.errors import BrokenPlugin, CallError, WrongWeights, report_plugin_errors
from medcontract.evaluation.files import Files, GivenFile, GivenFiles, gather
from medcontract.evaluation.loading import no_submission
from medcontract.evaluation.preflight.answers import (
    answers_check,
    coverage_check,
    labels_check,
    unreadable,
    without_expected_ids,
)
from medcontract.evaluation.preflight.linked_files import image_checks, named_file_check
from medcontract.evaluation.preflight.session import Session, in_files, is_about_one_file
from medcontract.evaluation.remarks import as_problem, error, warning
from medcontract.evaluation.result import Scored, environment, score_result, title
from medcontract.evaluation.score import protocol_for, score_selected, teams_of, track_of
from medcontract.evaluation.selection import FROM_SUBMISSION, describe_unused, ignored_data, select_files
from medcontract.evaluation.settings import Settings, header_fields, set_options
from medcontract.problems import plain_name, plural, reveals_truth, shorten
from medcontract.results.preflight import Check, Preflight, Status
from medcontract.results.score import FileProblem, Score, in_file
from medcontract.results.tables import number
from medcontract.scoring.scorer import Limit, Processing, Scorer, below_the_gate, gate_of, processed_by_run
from medcontract.scoring.scorer_checks import checked
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import Part, base_name
from medcontract.validation.referenced_files import ReferencedFiles

_FEW_FILES = 4
_NOT_BETWEEN_FILES = ("MC302", "MC303")
"""Codes that reveal the truth and are part of the check of coverage."""


@report_plugin_errors()
def preflight(given: GivenFiles, settings: Settings, images: ReferencedFiles | None = None) -> Preflight:
    """Run every check that the files allow. Raises `CallError` if they do not belong together."""
    files = gather(given.files, settings, given.found)
    files.skipped = given.skipped
    if not files.groups and files.unread:
        return Preflight.of((_files_check(files), *_unused_checks(files)))
    track = track_of(files)
    select_files(track, files, given.found, settings)
    protocol = protocol_for(track, settings)
    settings.wants_intervals(track, protocol)  # fails before anything is read
    scorer = track.scorer(protocol, settings.scoring, files.groups)
    session = Session(files, track, scorer, settings)
    if images is not None and track.linked_files.images is None:
        raise CallError(f"images can be checked only for {' or '.join(images.contracts())}, not for {track.id}")
    about_images = list(image_checks(session, images))
    checks = [_files_check(files, track, scorer), *_unused_checks(files), *_contract_checks(session), *about_images]
    checks += _header_check(session)
    checks += _protocol_check(session)
    checks += [_cross_file_check(session), answers_check(session), coverage_check(session), _gate_check(session)]
    checks += labels_check(session)
    reported = {problem.code for check in checks for problem in check.problems}
    scored, score, check = _score_check(session, reported)
    checks += _track_checks(session, scored)
    checks += [named_file_check(each, session, given.found) for each in track.linked_files.named]
    shared = tuple(name for name, times in Counter(part.name for part in files.parts()).items() if times > 1)
    return replace(Preflight.of((*checks, check), score), _contracts=tuple(files.groups), _shared=shared,
                   _title=title() or track.id)  # fmt: skip


def _files_check(files: Files, track: Track | None = None, scorer: Scorer | None = None) -> Check:
    problems = tuple(in_file(base_name(r.path), p, r.path) for r in files.unread for p in r.problems)
    missing = scorer is not None and not any(pair.submission in files.groups for pair in scorer.pairs)
    detail = _describe(files)
    if track is not None and missing and not files.unread:
        message, hint = no_submission(track.roles, files).as_options
        detail = "; ".join(filter(None, [message, hint]))
    if files.unread:
        names = ", ".join(base_name(report.path) for report in files.unread)
        detail = f"cannot be read: {names}" + (f"; {detail}" if detail else "")
    status: Status = "failed" if missing or files.unread else "passed"
    return Check(
        id="files", title="The submission is present and readable", status=status, detail=detail,
        problems=problems, _found=sum(report.errors + report.warnings for report in files.unread),
    )  # fmt: skip


def _describe(files: Files) -> str:
    """List the files with their contracts, or only how many there are of each."""
    kinds: dict[str, list[str]] = {}
    each_file = []
    for part, name in zip(files.parts(), _names(files.parts()), strict=True):
        kind = part.contract.id + (f" ({part.how.removeprefix('recognized ')})" if part.how else "")
        kinds.setdefault(kind, []).append(name)
        each_file.append(f"{name} is {kind}")
    text = ", ".join(each_file)
    if len(each_file) > _FEW_FILES:
        counts = ((f"{plural(len(names), 'file')} are" if names[1:] else f"{names[0]} is") for names in kinds.values())
        text = ", ".join(f"{count} {kind}" for count, kind in zip(counts, kinds, strict=True))
    others = describe_unused(files)[len(ignored_data(files)) :]
    used = [note for note in files.notes if note.endswith(FROM_SUBMISSION)]
    return "; ".join(filter(None, [text, *others, *used]))


def _unused_checks(files: Files) -> Iterator[Check]:
    """Say which data files are ignored, and which parts are missing: each in a line of its own."""
    others = [note for note in files.notes if not note.endswith(FROM_SUBMISSION)]
    for nth, note in enumerate([*ignored_data(files), *others], 1):
        which = "unused" if nth == 1 else f"unused-{nth}"
        yield Check(
            id=which, title="All files are used, and none is missing", status="passed", detail=note, _noted=True
        )


def _names(parts: Sequence[Part]) -> list[str]:
    """Return the names of files, with their folders where two have the same name."""
    times = Counter(part.name for part in parts)
    return [base_name(os.path.dirname(part.source.name)) + "/" + part.name
            if times[part.name] > 1 and not part.alias and os.path.dirname(part.source.name) else part.name
            for part in parts]  # fmt: skip


def _contract_checks(session: Session) -> Iterator[Check]:
    """Check syntax, contract and rules of each file."""
    for contract_id, parts in sorted(session.files.groups.items()):
        if not parts[0].validator:
            continue
        remarks = tuple(  # those on missing answers are for `answers_check`
            in_files(parts, as_problem(remark))
            for remark in session.remarks
            if remark.contract == contract_id and remark.code != "MC403"
        )
        wanted = _is_not_about_columns if contract_id in session.confirmed_lists else is_about_one_file
        errors, warnings = (
            sum(part.collector.count(severity, wanted) for part in parts)
            + sum(remark.severity == severity for remark in remarks)
            for severity in ("error", "warning")
        )
        records = sum((part.validator.records if part.validator else 0) or 0 for part in parts)
        counted = [plural(errors, "error")] * bool(errors) + [plural(warnings, "warning")] * bool(warnings)
        counted += [plural(records, "record")] * (parts[0].contract.kind == "collection")
        follows = errors and session.misspelled and parts[0] in session.submissions
        counted += ["repeated ids may follow from how they are written"] * bool(
            follows and any(part.collector.codes(_is_repeated) for part in parts)
        )
        problems, found = session.problems_in(parts, partial(_is_wanted, wanted, bool(follows)))
        hidden = session.participant and parts[0] in session.truth.parts and session.has_truth
        yield Check(
            id=contract_id,
            title=f"{', '.join(_names(parts))} {'satisfy' if parts[1:] else 'satisfies'} {contract_id}",
            status="failed" if errors else "passed",
            detail=", ".join(counted),
            problems=() if hidden else (*problems, *remarks),
            _found=0 if hidden else found + len(remarks),
        )


def _is_wanted(wanted: Callable[[str], bool], follows: bool, code: str) -> bool:
    return wanted(code) and not (follows and _is_repeated(code))


def _is_repeated(code: str) -> bool:
    return code == "MC201"


def _is_not_about_columns(code: str) -> bool:
    """Ignore other columns of a list of expected ids where the answers fit."""
    return code != "MC510" and is_about_one_file(code)


def _header_check(session: Session) -> Iterator[Check]:
    """Check that the submission contains the header fields that the result needs."""
    needed = session.track.result_fields.needed
    if not needed:
        return
    check = Check(id="header", title="The header fields of the result are present", status="skipped")
    headers = [*session.headers.values(), *session.truth.headers.values()]
    present = {name for header in headers for name, value in header.items() if value is not None}
    truths = map(registry.find, session.track.roles.truths)
    in_truth = set() if session.has_truth else {name for truth in truths for name in header_fields(truth)}
    wanted = [name for name in needed if name not in in_truth]
    lacking = [name for name in wanted if name not in present]
    if not session.submissions:
        yield replace(check, detail="needs a submission")
    elif lacking and (broken := unreadable(session)):
        yield replace(check, detail=broken)
    elif lacking and any(part.has_bad_header for part in session.submissions):
        yield replace(check, detail="needs a header without errors")
    elif lacking:
        yield replace(check, status="failed", detail=f"{', '.join(lacking)} missing (pass {set_options(lacking)})")
    else:
        yield replace(check, status="passed", detail=", ".join(wanted))


def _protocol_check(session: Session) -> Iterator[Check]:
    """Check that a frozen protocol, if there is one, matches this medcontract and the truth."""
    frozen = session.settings.frozen
    if frozen is None:
        return
    reasons = frozen.reasons(session.scorer.protocol, session.truth.content if session.has_truth else None)
    detail = (*(reasons or (f"fingerprint {frozen.fingerprint}",)), *frozen.warnings(environment()))
    yield Check(
        id="protocol", title="The protocol is the frozen one", status="failed" if reasons else "passed",
        detail="; ".join(detail),
    )  # fmt: skip


def _cross_file_check(session: Session) -> Check:
    check = Check(id="between-files", title="The files are consistent with each other", status="skipped")
    parts = [part for part in session.files.parts() if part.validator]
    errors = sum(part.collector.count("error", _is_between_files) for part in parts)
    teams = _other_teams(session)
    if not errors and not teams:
        compared = any(rule.other in session.documents for part in parts for rule in part.contract.file_rules)
        if not session.has_truth and not compared:
            return replace(check, detail=f"needs a truth ({' or '.join(session.track.roles.truths)})")
        if broken := unreadable(session):
            return replace(check, detail=broken)
    problems, found = session.problems_in(parts, _is_between_files)
    return replace(
        check,
        status="failed" if errors else "passed",
        detail=plural(errors, "error") if errors else "" if session.has_truth else "only rules that need no truth",
        problems=(*problems, *teams),
        _found=found + len(teams),
    )


def _is_between_files(code: str) -> bool:
    return reveals_truth(code) and code not in _NOT_BETWEEN_FILES


def _other_teams(session: Session) -> list[FileProblem]:
    """Warn if the files of a submission name different teams or models: one may belong to another submission."""
    teams = dict.fromkeys(teams_of(session.headers, session.documents))
    if len(teams) < 2:
        return []
    roles = session.track.roles
    named = (*roles.submissions, *(each.contract for each in roles.auxiliary if each.names_team))
    message = f"the files name different {session.track.entrant}s"
    shown = ", ".join(repr(shorten(team)) for team in teams)
    problem = warning("MC503", message, "check that all of them belong to this submission", shown)
    return [in_files(session.files.take(named).parts(), problem)]


def _gate_check(session: Session) -> Check:
    protocol, pairings = session.scorer.protocol, session.pairings.values()
    title = f"At least {Processing(1, 1, protocol['min_processed']).required} are processed"
    check = Check(id="gate", title=title, status="skipped")
    expected = sum(len(pairing.expected.items) for pairing in pairings)
    lacking = without_expected_ids(session) or (None if expected else "there are no expected ids")
    lacking = lacking or session.blocked or session.misspelled
    if lacking:
        return replace(check, detail=lacking)
    gate, run = gate_of(processed_by_run(pairings), expected, protocol)
    if gate.passed:
        return replace(check, status="passed", detail=f"{gate.share}: {gate.processed:,} of {gate.expected:,}")
    problem = error("MC401", "too few items are processed", "fix the failed records, or add the missing ones")
    found = in_files(session.submissions, problem)
    return replace(check, status="failed", detail=below_the_gate(gate, run), problems=(found,))


def _score_check(session: Session, reported: Collection[str]) -> tuple[Scored | None, Score | None, Check]:
    """Score the submission. Remarks with codes that other checks `reported` are not repeated."""
    check = Check(id="score", title="The submission can be scored", status="skipped")
    files = session.files
    if not session.has_truth and not any(p.own_truth and p.truth in files.groups for p in session.scorer.pairs):
        return None, None, replace(check, detail=f"needs a truth ({' and '.join(session.track.roles.truths)})")
    if not session.submissions:
        return None, None, replace(check, detail="needs a submission")
    try:
        scored = session.score() if session.has_truth else _score_by_itself(session)
    except (WrongWeights, BrokenPlugin):
        raise
    except CallError as error:
        return None, None, replace(check, status="failed", detail="; ".join(map(str, error.as_options)))
    score, parts = score_result(scored), session.submissions
    if (
        scored.verdict.result is None
        and (reason := session.blocked or session.misspelled)
        and not session.truth.reasons
    ):
        return scored, score, replace(check, detail=reason)
    problems = tuple(in_files(parts, remark) for remark in scored.remarks if remark.code not in reported)
    status = "passed" if scored.verdict.valid and scored.verdict.decision != "NO-GO" else "failed"
    return scored, score, replace(check, status=status, detail=_outcome(score), problems=problems, _found=len(problems))


def _score_by_itself(session: Session) -> Scored:
    """Score a submission that is its own truth. It was read against a list of expected ids, so it is read again."""
    files, settings = session.files, session.settings
    again: list[GivenFile] = [(part.source, part.contract.id) for part in files.parts()]
    again += [(files.unread_sources[report.path], None) for report in files.unread]
    refused = [report.path for report in files.unread if report.usage_error]
    scored = score_selected(session.track, session.scorer, gather(again, settings, refused), settings)
    scored.verdict.warnings += session.selection_notes
    return scored


def _outcome(score: Score) -> str:
    """Return the decision and the gates that were not passed, then the headline, or why the score is not valid."""
    interval = score.intervals._headline if score.intervals else None
    figures = [
        f"{plain_name(name)} {number(value, score._display.units.get(name, ''), interval)}"
        for name, value in score._display.headlines.items()
        if value is not None
    ]
    detail = "; ".join(score.reasons) if not score.valid else "".join(figures[:1])
    if not score.decision:
        return detail
    gates = [name for name, passed in score._display.gates.items() if not passed]
    because = f": {', '.join(gates)}" if gates else ""
    return f"{score.decision}{because}; {detail}"


def _track_checks(session: Session, scored: Scored | None) -> Iterator[Check]:
    """Check the limits of the track, such as time, memory, CPU and size, and its gates."""
    result = scored.verdict.result if scored else None
    limits = session.scorer.limits(session.pairings, session.documents, result)
    for limit in checked(session.track, limits, Limit):
        problems: tuple[FileProblem, ...] = ()
        if limit.passed is False:
            parts: list[Part] = session.files.groups.get(limit.contract, [])
            problem = error(limit.code, *limit.failure)
            problems = tuple(in_file(part.name, problem, part.source.name) for part in parts)
        status: Status = "skipped" if limit.passed is None else "passed" if limit.passed else "failed"
        yield Check(id=limit.id, title=limit.title, status=status, detail=limit.detail, problems=problems)
