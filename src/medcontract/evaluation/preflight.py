"""Runs every check of a submission before it is handed in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.contracts.contract import Validated
from medcontract.errors import BrokenPlugin, CallError, WrongWeights
from medcontract.evaluation.build_results import score_result
from medcontract.evaluation.frozen import FrozenProtocol
from medcontract.evaluation.inputs import (
    Files,
    GivenFile,
    HeaderOverrides,
    Part,
    Settings,
    base_name,
    gather,
    header_fields,
    read,
)
from medcontract.evaluation.loading import (
    Truth,
    no_submission,
    read_truth,
)
from medcontract.evaluation.score import (
    Scored,
    near_misses,
    protocol_for,
    read_files,
    score_files,
    score_readings,
    select_files,
    track_of,
)
from medcontract.evaluation.skipped_files import SkippedFile
from medcontract.evaluation.unused_files import describe_unused
from medcontract.problems import Finding, plain_name, plural, reveals_truth
from medcontract.reading.folders import leads_out_of
from medcontract.results.preflight import Check, Preflight, Status
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import NamedFiles, Problem
from medcontract.scoring.pairing import AnyId, Expected, Pair, Unscored, validated
from medcontract.scoring.processing_gate import Processing, below_the_gate, gate_of, processed_by_run
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import ExpectedIds, NamedFile, Track
from medcontract.validation.referenced_files import ReferencedFiles, check_referenced_files

_MB = 1_000_000
_FEW_FILES = 4
_COVERAGE = ("MC302", "MC303")


class _Probed(NamedTuple):
    """The measurements of a record, taken in one pass."""

    probe: Any
    """The measurement that needs no truth."""
    mark: Any
    """The measurement for scoring."""


class _Session:
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
        self.truth = _truth_or_id_list(track, scorer, files, given, settings.frozen)
        self.readings = read_files(self.truth, files, settings, given)
        self.readings.set_fields(given)
        self.documents, self.headers = self.readings.documents, self.readings.headers
        scorer.combined(self.documents)  # raises for a wrong call, which is not a failed check of the submission
        self.pairings = {
            name: pairing.changed(lambda probed: probed.probe) for name, pairing in self.readings.pairings.items()
        }
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


def _with_probe(scorer: Scorer, pair: Pair[Any, Any], scored: bool) -> Pair[Any, Any]:
    """The pair with `_Probed` in place of marks; it contains a mark only if `scored`."""

    def measure(item: Any, record: Any) -> Any:
        mark = pair.measure(item, record) if scored else None
        return mark if type(mark) is Unscored else _Probed(scorer.probe(record), mark)

    return replace(pair, measure=measure)


def _truth_or_id_list(
    track: Track, scorer: Scorer, files: Files, given: HeaderOverrides, frozen: FrozenProtocol | None
) -> Truth:
    """The truth; without one, a list of expected ids; without that, every id is accepted."""
    listed = any(name in files.groups for name in track.roles.id_lists)
    if any(pair.truth in files.groups and not (pair.own_truth and listed) for pair in scorer.pairs):
        truth = read_truth(track, scorer, files, given, frozen)
        truth.pairs = tuple(_with_probe(scorer, pair, True) for pair in scorer.pairs)
        return truth
    probing = tuple(_with_probe(scorer, pair, False) for pair in scorer.pairs)
    truth = Truth(track=track, scorer=scorer, parts=[], expected={}, headers={}, content={}, pairs=probing)
    lists: dict[str, list[Expected[Any]]] = {}
    for pair in scorer.pairs:
        truth.expected[pair.truth] = AnyId(pair.key)
        truth.headers[pair.truth] = {}
        id_list = _id_list_for(pair, track, files)
        if id_list:
            truth.expected[pair.truth] = Expected(pair.key, lambda record: None, wanted=id_list.only)
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
    fan_out = _FanOut(sinks, keep)
    read(files.groups[contract], fan_out)
    truth.parts += files.groups[contract]
    if keep:
        truth.documents[contract] = fan_out.kept


class _FanOut:
    """A sink that passes records on to several sinks: one list of ids may replace several truths."""

    def __init__(self, sinks: Sequence[Expected[Any]], keep: Callable[[Any], Any] | None) -> None:
        self._sinks = sinks
        self._keep = keep
        self.kept: list[Any] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        if self._keep:
            self.kept += map(self._keep, validated(records))
        return [finding for sink in self._sinks for finding in sink.take(records)]

    def reject(self, parsed: Any) -> Sequence[Finding]:
        return ()

    def end(self, complete: bool) -> None:
        """Nothing to do."""


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
    session = _Session(files, track, scorer, settings, header)
    if images is not None and track.linked_files.images is None:
        raise CallError(f"images can be checked only for {' or '.join(images.contracts())}, not for {track.id}")
    image_counts = _check_images(session, images)
    checks = [_files_check(files, track), *_contract_checks(session), *_image_checks(session, images, image_counts)]
    checks += _header_check(session)
    checks += _protocol_check(session)
    checks += [_cross_file_check(session), _coverage_check(session), _gate_check(session)]
    score, check = _score_check(session, parameters, header)
    checks += _track_checks(session, score)
    checks += _named_file_checks(session, found)
    return Preflight.of((*checks, check), None if score is None else score_result(score))


def _protocol_check(session: _Session) -> Iterator[Check]:
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
    problems = tuple(in_file(base_name(r.path), p) for r in files.unread for p in r.problems)
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


def _describe(files: Files) -> str:
    parts = files.parts()
    text = ", ".join(f"{part.name} is {part.contract.id}" for part in parts)
    text = text if len(parts) <= _FEW_FILES else plural(len(parts), "file")
    return "; ".join([*([text] if text else []), *describe_unused(files), *files.notes])


def _problems(parts: Iterable[Part], wanted: Callable[[str], bool]) -> tuple[FileProblem, ...]:
    return tuple(
        in_file(part.name, problem) for part in parts for problem in part.report.problems if wanted(problem.code)
    )


def _count(parts: Iterable[Part], wanted: Callable[[str], bool]) -> int:
    """The number of problems with a wanted code that may be shown."""
    return sum(
        times
        for part in parts
        for code, times in part.collector.codes(wanted).items()
        if not (part.collector.for_participants and reveals_truth(code))
    )


def _is_cross_file(code: str) -> bool:
    return reveals_truth(code) and code not in _COVERAGE


def _is_image(code: str) -> bool:
    return code.startswith("MC32")


def _contract_checks(session: _Session) -> Iterator[Check]:
    """Check syntax, contract and rules of each file."""
    for contract_id, parts in sorted(session.files.groups.items()):
        if not parts[0].validator:
            continue
        errors, warnings = (
            sum(part.collector.count(severity, _of_the_file) for part in parts) for severity in ("error", "warning")
        )
        records = sum((part.validator.records if part.validator else 0) or 0 for part in parts)
        hidden = session.participant and parts[0] in session.truth.parts and session.has_truth
        counted = [plural(errors, "error")] * bool(errors) + [plural(warnings, "warning")] * bool(warnings)
        counted += [plural(records, "record")] * (parts[0].contract.kind == "collection")
        yield Check(
            id=contract_id,
            title=f"{', '.join(part.name for part in parts)} {'satisfy' if parts[1:] else 'satisfies'} {contract_id}",
            status="failed" if errors else "passed",
            detail=", ".join(counted),
            problems=() if hidden else _problems(parts, _of_the_file),
            _found=0 if hidden else _count(parts, _of_the_file),
        )


def _of_the_file(code: str) -> bool:
    return not code.startswith("MC3")


def _check_images(session: _Session, images: ReferencedFiles | None) -> list[NamedFiles]:
    """Check the images. Must run before the report of the cases is built, which contains the findings."""
    named = session.track.linked_files.images
    if images is None or named is None:
        return []
    return [
        check_referenced_files(part.validator, named[1], images) for part in _image_lists(session) if part.validator
    ]


def _image_lists(session: _Session) -> list[Part]:
    """The files whose records refer to images."""
    images = session.track.linked_files.images
    return session.files.groups.get(images[0], []) if images else []


def _image_checks(session: _Session, images: ReferencedFiles | None, counts: Sequence[NamedFiles]) -> Iterator[Check]:
    named = session.track.linked_files.images
    if named is None:
        return
    title = "The images are valid"
    cases = _image_lists(session)
    if images is None or not cases:
        wanted = f"a file of {named[0]}, which lists the images"
        missing = "--images DIR" if images is None else wanted
        yield Check(id="images", title=title, status="skipped", detail=f"needs {missing}")
        return
    checked, bad = sum(each.checked for each in counts), sum(each.bad for each in counts)
    yield Check(
        id="images",
        title=title,
        status="failed" if bad else "passed",
        detail=f"{plural(checked, 'image')} checked" + (f", {bad:,} invalid" if bad else ""),
        problems=_problems(cases, _is_image),
        _found=_count(cases, _is_image),
    )


def _header_check(session: _Session) -> Iterator[Check]:
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
    detail = f"{', '.join(lacking)} missing (pass --set {lacking[0]}=…)" if lacking else ", ".join(wanted)
    yield Check(
        id="header", title=title, status="failed" if lacking else "passed",
        detail=detail,
    )  # fmt: skip


def _truth_fields(track: Track) -> set[str]:
    """The header fields that a truth may contain."""
    return {name for truth in track.roles.truths for name in header_fields(registry.find(truth))}


def _cross_file_check(session: _Session) -> Check:
    title = "The files are consistent with each other"
    parts = [part for part in session.files.parts() if part.validator]
    errors = sum(part.collector.count("error", _is_cross_file) for part in parts)
    compared = any(rule.other in session.documents for part in parts for rule in part.contract.file_rules)
    if not errors and not session.has_truth and not compared:
        wanted = " or ".join(session.track.roles.truths)
        return Check(id="between-files", title=title, status="skipped", detail=f"needs a truth ({wanted})")
    done = "" if session.has_truth else "only rules that need no truth"
    return Check(
        id="between-files",
        title=title,
        status="failed" if errors else "passed",
        detail=plural(errors, "error") if errors else done,
        problems=_problems(parts, _is_cross_file),
        _found=_count(parts, _is_cross_file),
    )


def _lacks(session: _Session) -> str | None:
    """Why the submission cannot be compared with the expected ids, if it cannot."""
    if not session.submissions():
        return "needs a submission"
    if session.id_files:
        return None
    roles = session.track.roles
    return "needs the expected ids: " + " or ".join(dict.fromkeys((*roles.truths, *roles.id_lists)))


def _coverage_check(session: _Session) -> Check:
    title = "Every expected id is answered, and no others"
    lacking = _lacks(session)
    if lacking:
        return Check(id="coverage", title=title, status="skipped", detail=lacking)
    pairings = list(session.pairings.values())
    missing = sum(len(pairing.missing()) for pairing in pairings)
    unknown = sum(pairing.unknown_count for pairing in pairings)
    expected = sum(len(pairing.expected.items) for pairing in pairings)
    return Check(
        id="coverage",
        title=title,
        status="failed" if missing or unknown or not expected else "passed",
        detail=_coverage(session, expected, missing, unknown),
        problems=_problems(session.submissions(), lambda code: code in _COVERAGE),
        _found=_count(session.submissions(), lambda code: code in _COVERAGE),
    )


def _coverage(session: _Session, expected: int, missing: int, unknown: int) -> str:
    """The numbers of expected, missing and unknown ids."""
    pairings = session.pairings.values()
    detail = f"{plural(expected, 'id')} in {', '.join(part.name for part in session.id_files)}"
    detail += f", {missing:,} without a record" if missing else ""
    detail += f", {plural(unknown, 'record')} with other ids" if unknown else ""
    if not (session.participant and session.has_truth):
        detail += "".join(f"; {note}" for note in near_misses(pairings)[0])
    if unknown and not any(marks for pairing in pairings for marks in pairing.marks_by_run.values()):
        detail += "; none of the ids is expected: is this the right list?"
    return detail


def _gate_check(session: _Session) -> Check:
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
    problem = _error("MC401", "too few items are processed", "fix the failed records, or add the missing ones")
    names = ", ".join(part.name for part in session.submissions())
    return Check(id="gate", title=title, status="failed", detail=why, problems=(in_file(names, problem),))


def _error(code: str, message: str, hint: str) -> Problem:
    return Problem(code=code, severity="error", message=message, hint=hint)


def _track_checks(session: _Session, score: Scored | None) -> Iterator[Check]:
    """Check the limits of the track, such as time, memory, CPU and size, and its gates."""
    result = score.result if score else None
    for limit in session.scorer.limits(session.pairings, session.documents, result):
        problems: tuple[FileProblem, ...] = ()
        if limit.passed is False:
            parts = session.files.groups.get(limit.contract, [])
            problem = _error("MC402", *limit.failure)
            problems = tuple(in_file(part.name, problem) for part in parts)
        status: Status = "skipped" if limit.passed is None else "passed" if limit.passed else "failed"
        yield Check(id=limit.id, title=limit.title, status=status, detail=limit.detail, problems=problems)


def _named_file_checks(session: _Session, found: Mapping[str, str]) -> Iterator[Check]:
    """Check the files that documents of the submission refer to, such as a model."""
    for wanted in session.track.linked_files.named:
        check_id = wanted.field.replace("_", "-")
        document = session.documents.get(wanted.contract)
        parts = session.files.groups.get(wanted.contract, [])
        named = getattr(document, wanted.field, None)
        if named is None:
            yield _unnamed_file_check(wanted, check_id, parts[0].name if document is not None else None)
            continue
        part = parts[0]
        stated = getattr(document, wanted.size_mb, None) if wanted.size_mb else None
        folder = found.get(part.source.name) or os.path.dirname(part.source.name)
        problem = _named_file_problem(part, named, stated, folder)
        yield Check(
            id=check_id,
            title=wanted.title,
            status="failed" if problem else "passed",
            detail=named,
            problems=(in_file(part.name, problem),) if problem else (),
        )


def _unnamed_file_check(wanted: NamedFile, check_id: str, document: str | None) -> Check:
    """The check of a file that no document names."""
    if document is None:
        detail = f"needs a valid file of {wanted.contract}"
        return Check(id=check_id, title=wanted.title, status="skipped", detail=detail)
    detail = f"{document} has no '{wanted.field}'"
    if not wanted.required:
        return Check(id=check_id, title=wanted.title, status="skipped", detail=detail)
    problem = _error("MC311", detail, f"add '{wanted.field}': the path of the file, relative to {document}")
    problems = (in_file(document, problem),)
    return Check(id=check_id, title=wanted.title, status="failed", detail=detail, problems=problems)


def _named_file_problem(part: Part, named: str, stated_mb: float | None, folder: str) -> Problem | None:
    path = os.path.join(os.path.dirname(part.source.name), *named.split("/"))
    if leads_out_of(folder, path):
        message = f"{named} is a link that leads out of its folder and is not followed"
        return _error("MC028", message, "replace it by the file")
    if not os.path.isfile(path):
        return _error(
            "MC311",
            f"{part.name} refers to {named}, which does not exist",
            "paths are relative to the folder of the file",
        )
    if stated_mb is None:
        return None
    size = os.path.getsize(path)
    if abs(Fraction(size, _MB) - Fraction(stated_mb)) <= Fraction(stated_mb) / 100:
        return None
    hint = f"state {size / _MB:.4g}"
    if abs(size / (1 << 20) - stated_mb) <= stated_mb / 100:
        hint += "; 1 MB is 1,000,000 bytes, not 1,048,576"
    return _error("MC312", f"the size of {named} is {size / _MB:.4g} MB, not {stated_mb:g} MB", hint)


def _score_check(
    session: _Session,
    parameters: Sequence[tuple[str, str]],
    header: Mapping[str, str] | None,
) -> tuple[Scored | None, Check]:
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
    return score, Check(id="score", title=title, status=status, detail=_outcome(score))


def _outcome(score: Scored) -> str:
    """The decision and the gates that were not passed, then the headline, or why the score is not valid."""
    detail = "; ".join(score.reasons) if not score.valid else _headline(score)
    if not score.verdict.decision:
        return detail
    gates = [name for name, passed in score.verdict.gates if not passed]
    because = f": {', '.join(gates)}" if gates else ""
    return f"{score.verdict.decision}{because}; {detail}"


def _score_by_itself(
    session: _Session, parameters: Sequence[tuple[str, str]], header: Mapping[str, str] | None
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
    for name, value in ((score.headline, score.verdict.headline), (score.second, score.verdict.second)):
        if value is not None:
            return f"{plain_name(name)} {float(value):.6g}"
    return ""
