"""Scores and ranks many submissions against one truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.errors import BrokenPlugin, CallError, InvalidData, MedcontractError, WrongWeights, internal_error
from medcontract.evaluation.build_results import processing, protocol_used, versions
from medcontract.evaluation.inputs import (
    Files,
    GivenFile,
    HeaderOverrides,
    Settings,
    base_name,
    gather,
    without_extensions,
)
from medcontract.evaluation.loading import Truth, read_auxiliary, read_truth
from medcontract.evaluation.score import (
    Scored,
    input_file,
    protocol_for,
    score_against,
    track_of,
)
from medcontract.problems import is_plain
from medcontract.reading.source import Source
from medcontract.results.leaderboard import Leaderboard, LeaderboardEntry
from medcontract.results.score import InputFile
from medcontract.scoring.processing_gate import Verdict, verdict_on
from medcontract.scoring.rational import rounded
from medcontract.scoring.scorer import Counts, Scorer
from medcontract.scoring.track import Track
from medcontract.workers import WorkerDied, Workers

Progress = Callable[[int, int], None]


class Submission(Struct, frozen=True, kw_only=True):
    """The files of one participant, and the name of the folder."""

    name: str
    files: tuple[GivenFile, ...]
    error: str | None = None
    """Why there are no files."""
    is_folder: bool = True
    measured: tuple[str, ...] | None = None
    """Files with measurements by the organizer; None if there are none for any submission."""

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.name if isinstance(file, Source) else file for file, _ in self.files)

    @property
    def lenient(self) -> frozenset[str]:
        """Files that need not match a contract, since they were found in a folder."""
        return self.paths if self.is_folder else frozenset()


class Measured(Struct, frozen=True, kw_only=True):
    """Measurements by the organizer (`--measured`): files, by name of the submission."""

    files: dict[str, tuple[str, ...]]

    def assigned_to(self, submissions: Sequence[Submission]) -> list[Submission]:
        """The submissions with their measurements. Raises `CallError` if two have the same name."""
        names = [_plain_name(submission) for submission in submissions]
        for name in self.files:
            if names.count(name) > 1:
                raise CallError(f"two submissions are named {name}, so --measured is ambiguous")
        return [
            replace(submission, measured=self.files.get(name, ()))
            for submission, name in zip(submissions, names, strict=True)
        ]

    def unknown(self, submissions: Sequence[Submission]) -> list[str]:
        """Warnings about measurements without a submission."""
        names = {_plain_name(submission) for submission in submissions}
        return [f"--measured: there is no submission {name}: ignored" for name in sorted(self.files.keys() - names)]


def _plain_name(submission: Submission) -> str:
    return submission.name if submission.is_folder else without_extensions(submission.name)


class Candidate(Struct, kw_only=True):
    """A submission during ranking, with exact figures in its verdict."""

    name: str
    team: str | None
    verdict: Verdict
    inputs: tuple[InputFile, ...] = ()
    rank: int | None = None
    figures: dict[str, float | None] = {}
    """The figures of the whole submission."""

    headline: float | None = None
    """The figure that it is ranked by."""


class _Job(Struct, kw_only=True):
    """What a worker process needs to score submissions."""

    truth: tuple[GivenFile, ...]
    parameters: tuple[tuple[str, str], ...]
    header: dict[str, str]
    settings: Settings
    digests: tuple[str, ...] = ()
    """The hashes of the truth files, for workers, which read them again."""


def leaderboard(
    truth: Sequence[GivenFile],
    submissions: Sequence[Submission],
    *,
    settings: Settings,
    parameters: Sequence[tuple[str, str]] = (),
    header: Mapping[str, str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    measured: Measured | None = None,
) -> Leaderboard:
    """Score and rank submissions. Raises `CallError` for a wrong call, `MedcontractError` for a truth with errors.

    `measured`: measurements by the organizer, which replace those in the submissions.
    """
    submissions = measured.assigned_to(submissions) if measured else submissions
    job = _Job(
        truth=tuple(truth),
        parameters=tuple(parameters),
        header=dict(header or {}),
        settings=settings._replace(progress=None),
    )
    contest = _Contest(job)
    track = contest.track
    scored = _all_scores(contest, submissions, jobs, progress)
    competing = _competing(submissions, scored)
    scorer = contest.final_scorer([counts for _, counts in competing])
    entries = [
        _entry_or_error(submission, outcome, track, scorer)
        for submission, outcome in zip(submissions, scored, strict=True)
    ]
    by = _ranked_by(entries) if track.second else "headline"
    ranked = _ranked(entries, by, track.lower_is_better)
    warnings = (
        *contest.notes,
        *(measured.unknown(submissions) if measured else ()),
        *(track.ranking.warnings(contest.scorer.protocol, competing) if track.ranking.warnings else ()),
        *_shared_warnings(ranked),
    )
    headline = (ranked[0].verdict.headline_name if by == "headline" else None) or getattr(track, by)
    names = _shown_names(ranked, headline)
    return Leaderboard(
        track=track.id,
        protocol=protocol_used(scorer.protocol),
        truth=() if settings.participant else tuple(input_file(part, contest.truth) for part in contest.parts),
        combined=contest.combined,
        headline=headline,
        warnings=warnings,
        submissions=tuple(_result(entry, names) for entry in ranked),
        **versions(),
        _figures=track.figures,
    )


def _all_scores(
    contest: _Contest, submissions: Sequence[Submission], jobs: int, progress: Progress | None
) -> list[Scored | str]:
    """The score of each submission, or why there is none. Raises `CallError` if all fail because of the call."""
    scored = []
    for number, outcome in enumerate(_scores(contest, submissions, jobs), 1):
        scored.append(outcome)
        if progress:
            progress(number, len(submissions))
    if scored and all(isinstance(outcome, _CallFailure) for outcome in scored):
        raise CallError(str(scored[0]))
    return scored


def _competing(submissions: Sequence[Submission], scored: Sequence[Scored | str]) -> list[tuple[str, Counts]]:
    """The valid submissions, as names and counts."""
    return [
        (submission.name, score.counts)
        for submission, score in zip(submissions, scored, strict=True)
        if isinstance(score, Scored) and score.valid and score.counts
    ]


def _shown_names(entries: Sequence[Candidate], headline: str) -> dict[str, str]:
    """The names of all figures for display; a name that may contain data is replaced by a number."""
    names = dict.fromkeys(name for entry in entries for name in entry.figures)
    hidden = sorted(name for name in names if not is_plain(name) and name != headline)
    return {**dict(zip(names, names, strict=True)), **{name: f"…{n}" for n, name in enumerate(hidden, 1)}}


def _result(entry: Candidate, names: Mapping[str, str]) -> LeaderboardEntry:
    verdict = entry.verdict
    decision: Any = verdict.decision or None
    return LeaderboardEntry(
        rank=entry.rank, name=entry.name, team_name=entry.team, valid=verdict.valid, headline=entry.headline,
        decision=decision, figures={names[name]: value for name, value in entry.figures.items()},
        processing=processing(verdict.processing),
        reasons=verdict.reasons, warnings=verdict.warnings, inputs=entry.inputs,
    )  # fmt: skip


class _CallFailure(str):
    """Why there is no score: wrong weights or a failing plugin. If all submissions fail so, the call is wrong."""

    __slots__ = ()


class _Contest:
    """A truth, which is read once, and the scorer for submissions."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        files = gather(job.truth, job.settings, role="truth")
        if files.unread:
            raise InvalidData(files.unread[0])
        self.track = track_of(files)
        self.roles, options = self.track.roles, job.settings.scoring
        protocol = protocol_for(self.track, _for_rankings(self.track, job.parameters), job.settings)
        self.scorer = self.track.scorer(protocol, options, files.groups)
        _check_has_truth(self.track, files)
        names = [name for pair in self.scorer.pairs for name in (pair.truth, pair.submission)]
        HeaderOverrides(job.header).check_names([registry.find(name) for name in names])
        self.truth: Truth = read_truth(self.track, self.scorer, files, HeaderOverrides(job.header), job.settings.frozen)
        self.measured = self.roles.auxiliaries("submission")
        self.identifying = [each.contract for each in self.roles.auxiliary if each.names_team]
        shared = [name for name in self.measured if name not in self.identifying and name in files.groups]
        self.truth.documents, wrong = read_auxiliary(self.truth, files.take(shared))
        self.truth.reasons += tuple(wrong)
        for_all = (*self.roles.auxiliaries("competition"), *shared)
        self.parts = [*self.truth.parts, *(part for name in for_all for part in files.groups.get(name, []))]
        self.combined = self.scorer.combined(self.truth.documents)
        self.notes = list(self._file_notes(files, shared))
        self.notes += self._about_frozen()
        if self.truth.reasons:
            raise MedcontractError(f"{'; '.join(self.truth.reasons)}; nothing can be scored against it")

    def final_scorer(self, valid: Sequence[Counts]) -> Scorer:
        """The scorer for the protocol that results from all valid submissions."""
        if self.track.ranking.protocol is None:
            return self.scorer
        protocol = self.track.ranking.protocol(self.scorer.protocol, valid)
        return self.track.scorer(protocol, self.scorer.options, self.truth.expected)

    def _about_frozen(self) -> Iterator[str]:
        """A frozen protocol is used as it is, also where a ranking has another default."""
        frozen = self._job.settings.frozen
        if frozen is None:
            return
        yield from frozen.warnings()
        for name, default in self.track.ranking.parameters.items():
            if frozen.parameters.get(name) != default:
                value = frozen.parameters.get(name)
                yield f"{name} is {value} in the frozen protocol; without one it is {default} in a ranking"

    def _file_notes(self, files: Files, shared: Sequence[str]) -> Iterator[str]:
        """Warnings about other files that were passed with the truth."""
        read = {*self.truth.expected, *self.truth.documents, *self.identifying}
        notes = {
            "was passed with the truth: ignored, since it belongs to a submission (see --measured)": self.identifying,
            "was passed with the truth: used for all submissions without one in --measured": shared,
            "was not used": sorted(files.groups.keys() - read),
        }
        for note, names in notes.items():
            for name in names:
                yield from (f"{part.name} ({name}) {note}" for part in files.groups.get(name, []))

    def score(self, submission: Submission) -> Scored | str:
        """The score, or why there is none. An unexpected exception fails this submission, not the ranking."""
        try:
            return self._score(submission)
        except MedcontractError:
            raise
        except Exception as error:  # noqa: BLE001  # any bug that a file triggers
            return internal_error(error)

    def _score(self, submission: Submission) -> Scored | str:
        if submission.error:
            return submission.error
        try:
            files = gather(submission.files, self._job.settings, submission.lenient, role="submission")
            files.ignore_broken(submission.lenient, self.roles.submissions)
            found = track_of(files) if files.groups else self.track
            if found.id != self.track.id:
                return f"expected files of the track {self.track.id}, got {found.id}"
            self._drop_organizers_files(files)
            self._use_measured(submission, files)
            given = HeaderOverrides(self._job.header, strict=False)
            score = score_against(self.truth, files, self._job.settings, given)
        except (BrokenPlugin, WrongWeights) as error:
            return _CallFailure(_error_text(error, submission))
        except MedcontractError as error:
            return _error_text(error, submission)
        if not self._job.settings.participant:
            score.verdict.warnings += score.private
        return self._slim(score)

    def _drop_organizers_files(self, files: Files) -> None:
        """Ignore files that only the organizer may provide, and those that were passed with the truth."""
        theirs = (*self.roles.truths, *self.roles.auxiliaries("competition"), *self.roles.id_lists)
        for name in dict.fromkeys((*theirs, *self.truth.documents)):
            for part in files.groups.pop(name, []):
                files.notes.append(f"{part.name} ({name}) is ignored: only the organizer's file counts")

    def _use_measured(self, submission: Submission, files: Files) -> None:
        """Use the organizer's measurements if there are any; otherwise those in the submission, with a warning."""
        if submission.measured is None:
            own = [name for name in self.measured if name in files.groups]
            files.notes += [f"{name} comes from the submission: self-reported (see --measured)" for name in own]
            return
        for name in self.measured:
            for part in files.groups.pop(name, []):
                files.notes.append(f"{part.name} ({name}) is ignored: --measured replaces it")
        if not submission.measured:
            files.notes.append("--measured contains nothing for this submission")
            return
        given = gather([(path, None) for path in submission.measured], self._job.settings, submission.measured)
        files.unread += given.unread
        for name, parts in given.groups.items():
            if name in self.measured:
                files.groups[name] = parts
            else:
                files.notes += [
                    f"{part.name} ({name}) in --measured does not contain measurements: ignored" for part in parts
                ]
        files.notes += [
            f"{base_name(report.path)} in --measured matches no contract: ignored" for report in given.unrecognized
        ]

    def _slim(self, score: Scored) -> Scored:
        """The score with only what a ranking needs: there may be thousands."""
        if score.result is not None:
            score.verdict.result = self.track.for_participants(score.result, _double(score.verdict.headline))
        counts = score.counts if self.track.ranking.protocol else None
        return replace(score, problems=(), hints=(), remediation=(), counts=counts)


def _for_rankings(track: Track, parameters: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters of the call, and those with a different default in a ranking."""
    given = {name for name, _ in parameters}
    return [*((name, value) for name, value in track.ranking.parameters.items() if name not in given), *parameters]


def _error_text(error: MedcontractError, submission: Submission) -> str:
    """The error with base names instead of paths: do not expose paths."""
    message, hint = error.as_options if isinstance(error, CallError) else (str(error), None)
    text = f"{message}{f' ({hint})' if hint else ''}"
    for path in (*submission.paths, *(submission.measured or ())):
        text = text.replace(path, base_name(path))
    return text


def _check_has_truth(track: Track, files: Files) -> None:
    if not any(name in files.groups for name in track.roles.truths):
        found = ", ".join(f"{part.name} is {part.contract.id}" for part in files.parts())
        raise CallError("the first argument contains no truth", f"are truth and submissions swapped? {found}")


_WORKER_DIED = "scoring it terminated its process repeatedly: it ran out of memory or was killed"
_contest: _Contest | None = None
"""Set in worker processes."""


def _prepare(job: _Job) -> None:
    global _contest  # noqa: PLW0603  # initializes a worker process
    from medcontract.challenges.loading import prepare_worker

    prepare_worker(job.settings.scoring)
    contest = _Contest(job)
    for part, digest in zip(contest.parts, job.digests, strict=True):
        if part.source.sha256() != digest:
            raise part.source.changed()
    _contest = contest


def _score_in_worker(submission: Submission) -> Scored | str:
    if _contest is None:
        raise RuntimeError("the worker was not prepared")
    return _contest.score(submission)


def _scores(contest: _Contest, submissions: Sequence[Submission], jobs: int) -> Iterator[Scored | str]:
    count = min(jobs, len(submissions))
    if count < 2:
        yield from map(contest.score, submissions)
        return
    try:
        digests = tuple(part.source.sha256() for part in contest.parts)
        workers = Workers(count, _prepare, replace(contest._job, digests=digests))
    except (BrokenProcessPool, OSError, ImportError):  # no semaphores, no memory: try with one process
        yield from map(contest.score, submissions)
        return
    with workers:
        for _, outcome in workers.each(_score_in_worker, submissions):
            yield _WORKER_DIED if isinstance(outcome, WorkerDied) else outcome


def _entry_or_error(submission: Submission, outcome: Scored | str, track: Track, scorer: Scorer) -> Candidate:
    try:
        return _entry(submission, outcome, track, scorer)
    except MedcontractError:
        raise
    except Exception as error:  # noqa: BLE001  # like in `_Contest.score`
        return _entry(submission, internal_error(error), track, scorer)


def _entry(submission: Submission, outcome: Scored | str, track: Track, scorer: Scorer) -> Candidate:
    if isinstance(outcome, str):
        return Candidate(
            name=submission.name, team=None, verdict=Verdict(valid=False, processing=None, reasons=(outcome,))
        )
    verdict = outcome.verdict
    coarse: dict[str, Any] = verdict.result or {}
    if outcome.counts is not None and verdict.result is not None:
        again = verdict_on(scorer, outcome.counts)
        verdict = replace(again, warnings=verdict.warnings, reasons=verdict.reasons)
        coarse = track.for_participants(again.result or {}, _double(again.headline))
    known = {figure.name for figure in track.figures}
    figures = {name: value for name, value in coarse.items() if name in known}
    if track.comparison.figures:
        figures = dict(track.comparison.figures(coarse))
    own = tuple(file for file in outcome.inputs if file.content_sha256 is None)
    return Candidate(name=submission.name, team=outcome.team, verdict=verdict, inputs=own, figures=figures)


def _double(value: Fraction | None) -> float | None:
    return None if value is None else rounded(value)


def _ranked_by(entries: Sequence[Candidate]) -> Literal["headline", "second"]:
    """The figure that submissions are ranked by: the second if most valid submissions lack the headline.

    So a single submission can neither exclude the others by adding a file nor change the ranking by omitting one.
    """
    valid = [entry.verdict for entry in entries if entry.verdict.valid]
    having = sum(verdict.headline is not None for verdict in valid)
    return "second" if 2 * having < len(valid) else "headline"


def _ranked(
    entries: Sequence[Candidate], by: Literal["headline", "second"], lower_is_better: bool = False
) -> list[Candidate]:
    """Sorted by the exact figure, ties by team name; entries that are not valid last, by name."""
    values = {id(entry): getattr(entry.verdict, by) for entry in entries if entry.verdict.valid}
    good = [entry for entry in entries if values.get(id(entry)) is not None]
    sign = 1 if lower_is_better else -1
    good.sort(key=lambda entry: (sign * values[id(entry)], *_by_name(entry)))
    for rank, entry in enumerate(good, 1):
        entry.rank, entry.headline = rank, rounded(values[id(entry)])
    rest = sorted(
        (entry for entry in entries if entry.rank is None),
        key=lambda entry: (not entry.verdict.valid, *_by_name(entry)),
    )
    return good + rest


def _by_name(entry: Candidate) -> tuple[str, str, list[str]]:
    """A sort key that does not depend on the order of the call: team, folder and content."""
    return entry.team or entry.name, entry.name, [file.sha256 for file in entry.inputs]


def _shared_warnings(entries: Sequence[Candidate]) -> list[str]:
    """The warnings that all scored submissions have; they are removed from each."""
    scored = [entry for entry in entries if entry.verdict.processing is not None]
    if len(scored) < 2:
        return []
    shared = [w for w in scored[0].verdict.warnings if all(w in entry.verdict.warnings for entry in scored)]
    for entry in scored:
        entry.verdict.warnings = tuple(w for w in entry.verdict.warnings if w not in shared)
    return shared


def measured_in(folder: str, data_files: Callable[[str], Sequence[str | Source]]) -> Measured:
    """`folder/NAME/` and `folder/NAME.json` contain measurements of the submission NAME. Raises `CallError`."""
    if not os.path.isdir(folder):
        raise CallError(f"{folder}: no such folder", "pass to --measured a folder with an entry for each submission")
    found: dict[str, tuple[str, ...]] = {}
    for entry in sorted(name for name in os.listdir(folder) if not name.startswith(".")):
        path = os.path.join(folder, entry)
        name = base_name(entry) if os.path.isdir(path) else without_extensions(base_name(entry))
        files = (file.name if isinstance(file, Source) else file for file in data_files(path))
        found[name] = (*found.get(name, ()), *files)
    return Measured(files=found)


def submissions_in(paths: Sequence[str], data_files: Callable[[str], Sequence[str | Source]]) -> list[Submission]:
    """Each folder or single file is a submission. `data_files` lists the files in a folder."""
    found = []
    unique = {os.path.realpath(path): path for path in reversed(paths)}
    for path in reversed(unique.values()):
        if not os.path.lexists(path):
            raise CallError(f"{path}: no such file or folder", "check the path")
        name = base_name(os.path.abspath(path))
        try:
            files = tuple((file, None) for file in data_files(path))
            found.append(Submission(name=name, files=files, is_folder=os.path.isdir(path)))
        except CallError as error:
            found.append(Submission(name=name, files=(), error=error.as_options[0].removeprefix(f"{path}: ")))
    return found
