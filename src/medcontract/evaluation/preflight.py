"""Runs every check of a submission before it is handed in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.errors import BrokenPlugin, CallError, WrongWeights, report_plugin_errors
from medcontract.evaluation.build_results import score_result
from medcontract.evaluation.inputs import Files, GivenFile, Settings, gather, header_fields, set_options
from medcontract.evaluation.loading import no_submission
from medcontract.evaluation.plugin_checks import checked
from medcontract.evaluation.preflight_answers import (
    answers_check,
    explained,
    labels_check,
    near_ids,
    other_teams,
    remarks_on,
    unreadable,
)
from medcontract.evaluation.preflight_files import (
    check_images,
    count_of,
    image_checks,
    in_files,
    named_file_checks,
    problems_of,
)
from medcontract.evaluation.preflight_session import Session
from medcontract.evaluation.remarks import error
from medcontract.evaluation.score import (
    Scored,
    protocol_for,
    score_files,
    select_files,
    track_of,
)
from medcontract.evaluation.unused_files import SkippedFile, describe_unused
from medcontract.problems import is_cross_file, plain_name, plural, reveals_truth
from medcontract.results.preflight import Check, Preflight, Status
from medcontract.results.score import FileProblem, in_file
from medcontract.scoring.processing_gate import Processing, below_the_gate, gate_of, processed_by_run
from medcontract.scoring.scorer import Limit
from medcontract.scoring.track import Track
from medcontract.validation.parts import Part, base_name
from medcontract.validation.referenced_files import ReferencedFiles

_FEW_FILES = 4
_COVERAGE = ("MC302", "MC303")


@report_plugin_errors()
def preflight(
    given: Sequence[GivenFile],
    *,
    found: Mapping[str, str] = MappingProxyType({}),
    skipped: Sequence[SkippedFile] = (),
    images: ReferencedFiles | None = None,
    settings: Settings,
    parameters: Sequence[tuple[str, str]] = (),
    header: Mapping[str, str] | None = None,
) -> Preflight:
    """Run every check that the files allow. `found`: files that were found in a folder, not named in the call.

    `skipped`: other files in these folders. Raises `CallError` if the files do not belong together.
    """
    files = gather(given, settings, lenient=found)
    files.skipped = skipped
    if not files.groups and files.unread:
        return Preflight.of((_files_check(files, None),))
    track = track_of(files)
    select_files(track, files, found, settings)
    protocol = protocol_for(track, parameters, settings)
    scorer = track.scorer(protocol, settings.scoring, files.groups)
    session = Session(files, track, scorer, settings, header)
    if images is not None and track.linked_files.images is None:
        raise CallError(f"images can be checked only for {' or '.join(images.contracts())}, not for {track.id}")
    image_counts = check_images(session, images)
    checks = [_files_check(files, track), *_contract_checks(session), *image_checks(session, images, image_counts)]
    checks += _header_check(session)
    checks += _protocol_check(session)
    checks += [_cross_file_check(session), answers_check(session), _coverage_check(session), _gate_check(session)]
    checks += labels_check(session)
    reported = {problem.code for check in checks for problem in check.problems}
    score, check = _score_check(session, parameters, header, reported)
    checks += _track_checks(session, score)
    checks += named_file_checks(session, found)
    checklist = Preflight.of((*checks, check), None if score is None else score_result(score))
    return replace(checklist, _contracts=tuple(files.groups))


def _protocol_check(session: Session) -> Iterator[Check]:
    """Whether a frozen protocol, if there is one, is that of this medcontract and of the truth."""
    frozen = session.settings.frozen
    if frozen is None:
        return
    reasons = frozen.reasons(session.scorer.protocol, session.truth.content if session.has_truth else None)
    detail = (*(reasons or (f"fingerprint {frozen.fingerprint}",)), *frozen.warnings())
    yield Check(
        id="protocol", title="The protocol is the frozen one", status="failed" if reasons else "passed",
        detail="; ".join(detail),
    )  # fmt: skip


def _files_check(files: Files, track: Track | None) -> Check:
    problems = tuple(in_file(base_name(r.path), p, r.path) for r in files.unread for p in r.problems)
    missing = track is not None and not any(pair.submission in files.groups for pair in track.pairs(files.groups))
    detail = _describe(files)
    if track is not None and missing and not files.unread:
        message, hint = no_submission(track.roles, files).as_options
        detail = "; ".join([message, hint or "", *files.notes])
    if files.unread:
        names = ", ".join(base_name(report.path) for report in files.unread)
        detail = f"cannot be read: {names}" + (f"; {detail}" if detail else "")
    bad = missing or bool(files.unread)
    return Check(
        id="files", title="The submission is present and readable", status="failed" if bad else "passed", detail=detail,
        problems=problems, _found=sum(report.errors + report.warnings for report in files.unread),
    )  # fmt: skip


def _how(part: Part) -> str:
    return f" ({part.how.removeprefix('recognized ')})" if part.how else ""


def _few(names: Sequence[str]) -> tuple[str, str]:
    return (names[0], "is") if len(names) == 1 else (plural(len(names), "file"), "are")


def _describe(files: Files) -> str:
    parts = files.parts()
    text = ", ".join(f"{part.name} is {part.contract.id}{_how(part)}" for part in parts)
    if len(parts) > _FEW_FILES:
        kinds: dict[str, list[str]] = {}
        for part in parts:
            kinds.setdefault(f"{part.contract.id}{_how(part)}", []).append(part.name)
        text = ", ".join(f"{' '.join(_few(names))} {kind}" for kind, names in kinds.items())
    return "; ".join([*([text] if text else []), *describe_unused(files), *files.notes])


def _is_cross_file(code: str) -> bool:
    return reveals_truth(code) and code not in _COVERAGE


def _contract_checks(session: Session) -> Iterator[Check]:
    """Check syntax, contract and rules of each file."""
    for contract_id, parts in sorted(session.files.groups.items()):
        if not parts[0].validator:
            continue
        errors, warnings = (
            sum(part.collector.count(severity, _of_the_file) for part in parts) for severity in ("error", "warning")
        )
        remarks = remarks_on(session, parts)
        warnings += sum(remark.severity == "warning" for remark in remarks)
        errors += sum(remark.severity == "error" for remark in remarks)
        records = sum((part.validator.records if part.validator else 0) or 0 for part in parts)
        hidden = session.participant and parts[0] in session.truth.parts and session.has_truth
        counted = [plural(errors, "error")] * bool(errors) + [plural(warnings, "warning")] * bool(warnings)
        counted += [plural(records, "record")] * (parts[0].contract.kind == "collection")
        yield Check(
            id=contract_id,
            title=f"{', '.join(part.name for part in parts)} {'satisfy' if parts[1:] else 'satisfies'} {contract_id}",
            status="failed" if errors else "passed",
            detail=", ".join(counted),
            problems=() if hidden else (*problems_of(parts, _of_the_file), *remarks),
            _found=0 if hidden else count_of(parts, _of_the_file) + len(remarks),
        )


def _of_the_file(code: str) -> bool:
    return not is_cross_file(code)


def _header_check(session: Session) -> Iterator[Check]:
    """Check that the submission contains the header fields that the result needs."""
    needed = session.track.result_fields.needed
    if not needed:
        return
    title = "The header fields of the result are present"
    if not session.submissions():
        yield Check(id="header", title=title, status="skipped", detail="needs a submission")
        return
    headers = [*session.headers.values(), *session.truth.headers.values()]
    present = {name for header in headers for name, value in header.items() if value is not None}
    wanted = [name for name in needed if session.has_truth or name not in _truth_fields(session.track)]
    lacking = [name for name in wanted if name not in present]
    if lacking and any(part.validator and part.validator.bad_header for part in session.submissions()):
        yield Check(id="header", title=title, status="skipped", detail="needs a header without errors")
        return
    detail = f"{', '.join(lacking)} missing (pass {set_options(lacking)})" if lacking else ", ".join(wanted)
    yield Check(
        id="header", title=title, status="failed" if lacking else "passed",
        detail=detail,
    )  # fmt: skip


def _truth_fields(track: Track) -> set[str]:
    """The header fields that a truth may contain."""
    return {name for truth in track.roles.truths for name in header_fields(registry.find(truth))}


def _cross_file_check(session: Session) -> Check:
    title = "The files are consistent with each other"
    parts = [part for part in session.files.parts() if part.validator]
    errors = sum(part.collector.count("error", _is_cross_file) for part in parts)
    compared = any(rule.other in session.documents for part in parts for rule in part.contract.file_rules)
    teams = other_teams(session)
    if not errors and not teams and not session.has_truth and not compared:
        wanted = " or ".join(session.track.roles.truths)
        return Check(id="between-files", title=title, status="skipped", detail=f"needs a truth ({wanted})")
    broken = unreadable(session)
    if broken and not errors and not teams:
        return Check(id="between-files", title=title, status="skipped", detail=broken)
    done = "" if session.has_truth else "only rules that need no truth"
    return Check(
        id="between-files",
        title=title,
        status="failed" if errors else "passed",
        detail=plural(errors, "error") if errors else done,
        problems=(*problems_of(parts, _is_cross_file), *teams),
        _found=count_of(parts, _is_cross_file) + len(teams),
    )


def _lacks(session: Session) -> str | None:
    """Why the submission cannot be compared with the expected ids, if it cannot."""
    if not session.submissions():
        return "needs a submission"
    if session.id_files:
        return None
    roles = session.track.roles
    return "needs the expected ids: " + " or ".join(dict.fromkeys((*roles.truths, *roles.id_lists)))


def _coverage_check(session: Session) -> Check:
    title = "Every expected id is answered, and no others"
    lacking = _lacks(session)
    if lacking:
        return Check(id="coverage", title=title, status="skipped", detail=lacking)
    pairings = list(session.pairings.values())
    missing = sum(len(pairing.missing()) for pairing in pairings)
    unknown = sum(pairing.unknown_count for pairing in pairings)
    expected = sum(len(pairing.expected.items) for pairing in pairings)
    near = near_ids(session)
    problems = problems_of(session.submissions(), lambda code: code in _COVERAGE)
    return Check(
        id="coverage",
        title=title,
        status="failed" if missing or unknown or not expected else "passed",
        detail=_coverage(session, expected, missing, unknown),
        problems=(*near, *(explained(session, problems) if near else problems)),
        _found=count_of(session.submissions(), lambda code: code in _COVERAGE) + len(near),
    )


def _coverage(session: Session, expected: int, missing: int, unknown: int) -> str:
    """The numbers of expected, missing and unknown ids."""
    pairings = session.pairings.values()
    detail = f"{plural(expected, 'id')} in {', '.join(part.name for part in session.id_files)}"
    detail += f", {missing:,} without a record" if missing else ""
    detail += f", {plural(unknown, 'record')} with other ids" if unknown else ""
    if unknown and not any(marks for pairing in pairings for marks in pairing.marks_by_run.values()):
        detail += "; none of the ids is expected: check how they are written, and that this is the right list"
    return detail


def _gate_check(session: Session) -> Check:
    protocol = session.scorer.protocol
    title = f"At least {Processing(1, 1, protocol['min_processed']).required} are processed"
    expected = sum(len(pairing.expected.items) for pairing in session.pairings.values())
    lacking = _lacks(session) or (None if expected else "there are no expected ids")
    if lacking:
        return Check(id="gate", title=title, status="skipped", detail=lacking)
    gate, run = gate_of(processed_by_run(session.pairings.values()), expected, protocol)
    if gate.passed:
        detail = f"{gate.share}: {gate.processed:,} of {gate.expected:,}"
        return Check(id="gate", title=title, status="passed", detail=detail)
    why = below_the_gate(gate, run)
    problem = error("MC401", "too few items are processed", "fix the failed records, or add the missing ones")
    found = in_files(session.submissions(), problem)
    return Check(id="gate", title=title, status="failed", detail=why, problems=(found,))


def _track_checks(session: Session, score: Scored | None) -> Iterator[Check]:
    """Check the limits of the track, such as time, memory, CPU and size, and its gates."""
    result = score.result if score else None
    limits = session.scorer.limits(session.pairings, session.documents, result)
    for limit in checked(session.track, session.scorer, limits, Limit):
        problems: tuple[FileProblem, ...] = ()
        if limit.passed is False:
            parts = session.files.groups.get(limit.contract, [])
            problem = error(limit.code, *limit.failure)
            problems = tuple(in_file(part.name, problem, part.source.name) for part in parts)
        status: Status = "skipped" if limit.passed is None else "passed" if limit.passed else "failed"
        yield Check(id=limit.id, title=limit.title, status=status, detail=limit.detail, problems=problems)


def _score_check(
    session: Session,
    parameters: Sequence[tuple[str, str]],
    header: Mapping[str, str] | None,
    reported: Collection[str],
) -> tuple[Scored | None, Check]:
    """Score the submission. Remarks with codes that other checks `reported` are not repeated."""
    title = "The submission can be scored"
    if not session.has_truth and not any(
        pair.own_truth and pair.truth in session.files.groups for pair in session.scorer.pairs
    ):
        wanted = " and ".join(session.track.roles.truths)
        return None, Check(id="score", title=title, status="skipped", detail=f"needs a truth ({wanted})")
    if not session.submissions():
        return None, Check(id="score", title=title, status="skipped", detail="needs a submission")
    try:
        score = session.score() if session.has_truth else _score_by_itself(session, parameters, header)
    except (WrongWeights, BrokenPlugin):
        raise
    except CallError as error:
        return None, Check(id="score", title=title, status="failed", detail="; ".join(map(str, error.as_options)))
    status: Status = "passed" if score.verdict.good else "failed"
    parts = session.submissions()
    problems = tuple(in_files(parts, remark) for remark in score.remarks if remark.code not in reported)
    return score, Check(
        id="score", title=title, status=status, detail=_outcome(score), problems=problems, _found=len(problems)
    )


def _outcome(score: Scored) -> str:
    """The decision and the gates that were not passed, then the headline, or why the score is not valid."""
    detail = "; ".join(score.reasons) if not score.valid else _headline(score)
    if not score.verdict.decision:
        return detail
    gates = [name for name, passed in score.verdict.gates if not passed]
    because = f": {', '.join(gates)}" if gates else ""
    return f"{score.verdict.decision}{because}; {detail}"


def _score_by_itself(
    session: Session, parameters: Sequence[tuple[str, str]], header: Mapping[str, str] | None
) -> Scored:
    """Score a submission that is its own truth. It was read against a list of expected ids, so it is read again."""
    files = session.files
    again: list[GivenFile] = [(part.source, part.contract.id) for part in files.parts()]
    again += [(files.unread_sources[report.path], None) for report in files.unread]
    refused = {report.path: "" for report in files.unread if report.wrong_call}
    score = score_files(again, found=refused, settings=session.settings, parameters=parameters, header=header)
    score.verdict.warnings += session.selection_notes
    return score


def _headline(score: Scored) -> str:
    """The headline, or the second figure, rounded for display."""
    for name, exact in ((score.headline, score.verdict.headline), (score.second, score.verdict.second)):
        if (value := score.shown_figure(exact)) is not None:
            return f"{plain_name(name)} {value:.6g}"
    return ""
