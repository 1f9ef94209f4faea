"""Scores the submissions of a ranking against one truth, in this process or in worker processes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.errors import (
    BrokenPlugin,
    CallError,
    InvalidData,
    MedcontractError,
    WrongWeights,
    internal_error,
    plugin_failure,
)
from medcontract.evaluation.inputs import Files, GivenFile, HeaderOverrides, Settings, gather
from medcontract.evaluation.loading import Truth, read_auxiliary, read_truth
from medcontract.evaluation.plugin_checks import for_participants
from medcontract.evaluation.score import Scored, protocol_for, score_against, track_of
from medcontract.evaluation.submissions import Submission, path_of
from medcontract.evaluation.unused_files import reason_for, skipped_problems, unused_problems
from medcontract.parallel import cpus
from medcontract.parallel.errors import PoolError, WorkKilled
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import FileReport
from medcontract.scoring import tracks
from medcontract.scoring.rational import rounded_or_none
from medcontract.scoring.scorer import Scorer, Tally
from medcontract.scoring.track import Track
from medcontract.validation.parts import base_name

if TYPE_CHECKING:
    from medcontract.parallel.pool import Pool

_WORKER_DIED = "scoring it terminated its process repeatedly: it ran out of memory or was killed"


class Job(Struct, kw_only=True):
    """What a worker process needs to score submissions."""

    truth: tuple[GivenFile, ...]
    parameters: tuple[tuple[str, str], ...]
    header: dict[str, str]
    settings: Settings
    complete: bool = False
    """Return complete scores, for reports, not only what a ranking needs."""
    digests: tuple[str, ...] = ()
    """The hashes of the truth files, for workers that read them again."""


class Refused(Struct, kw_only=True):
    """Why there is no score for a submission."""

    reason: str
    problems: tuple[FileProblem, ...] = ()
    """The problems of its files, if they are the reason."""
    notes: tuple[str, ...] = ()
    """Warnings about files that were not used."""
    wrong_call: bool = False
    """Wrong weights or a failing plugin: if all submissions fail so, the call is wrong."""
    failed: bool = False
    """Scoring it failed, which says nothing about the submission."""


class Contest:
    """A truth, which is read once, and the scorer for submissions."""

    def __init__(self, job: Job) -> None:
        self.job = job
        files = gather(job.truth, job.settings, role="truth")
        if files.unread:
            raise InvalidData(files.unread[0])
        self.track = track_of(files)
        self.roles, options = self.track.roles, job.settings.scoring
        protocol = protocol_for(self.track, for_rankings(self.track, job.parameters), job.settings)
        self.scorer = self.track.scorer(protocol, options, files.groups)
        _check_has_truth(self.track, files)
        names = [name for pair in self.scorer.pairs for name in (pair.truth, pair.submission)]
        HeaderOverrides(job.header).check_names([registry.find(name) for name in names])
        self.truth = read_truth(self.track, self.scorer, files, HeaderOverrides(job.header), job.settings.frozen)
        self.measured: Sequence[str] = self.roles.auxiliaries("submission")
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

    @classmethod
    def of(cls, job: Job, truth: Truth, measured: Sequence[str]) -> Contest:
        """A contest that only scores submissions, against a truth that another process read."""
        contest = cls.__new__(cls)
        contest.job, contest.truth, contest.measured = job, truth, measured
        contest.track, contest.scorer, contest.roles = truth.track, truth.scorer, truth.track.roles
        return contest

    def final_scorer(self, valid: Sequence[Tally]) -> Scorer:
        """The scorer for the protocol that results from all valid submissions."""
        if self.track.ranking.protocol is None:
            return self.scorer
        protocol = self.track.ranking.protocol(self.scorer.protocol, valid)
        return self.track.scorer(protocol, self.scorer.options, self.truth.expected)

    def _about_frozen(self) -> Iterator[str]:
        """A frozen protocol is used as it is, also where a ranking has another default."""
        frozen = self.job.settings.frozen
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

    def score(self, submission: Submission) -> Scored | Refused:
        """The score, or why there is none. An unexpected exception fails this submission, not the ranking."""
        try:
            scored = self._score(submission)
            return scored if self.job.complete else self._slim(scored)
        except WorkKilled:
            return worker_died()
        except MedcontractError:
            raise
        except Exception as error:  # noqa: BLE001  # any bug that a file triggers
            return _unexpected(error)

    def _score(self, submission: Submission) -> Scored | Refused:
        if submission.error:
            reason = "; ".join(filter(None, (submission.error, self._if_several(submission, Files()))))
            return Refused(reason=reason, problems=skipped_problems(submission.skipped))
        files = Files()
        try:
            files = gather(submission.files, self.job.settings, submission.paths, role="submission")
            files.skipped = submission.skipped
            if files.unrecognized and not submission.is_folder:
                return _unrecognized(files)
            files.ignore_broken(submission.paths if submission.is_folder else (), self.roles.submissions)
            found = track_of(files) if files.groups else self.track
            if found.id != self.track.id:
                return Refused(reason=f"expected files of the track {self.track.id}, got {found.id}")
            self._drop_organizers_files(files)
            self._use_measured(submission, files)
            given = HeaderOverrides(self.job.header, strict=False)
            return self._with_advice(score_against(self.truth, files, self.job.settings, given), submission, files)
        except PoolError:
            raise
        except MedcontractError as error:
            problems = _problems_of(error) or unused_problems(files)
            wrong_call = isinstance(error, BrokenPlugin | WrongWeights)
            advice = self._if_several(submission, files) if isinstance(error, CallError) else None
            reason = "; ".join(filter(None, (_error_text(error, submission), advice)))
            return Refused(reason=reason, problems=problems, notes=tuple(files.notes), wrong_call=wrong_call)

    def _with_advice(self, scored: Scored, submission: Submission, files: Files) -> Scored:
        advice = self._if_several(submission, files)
        if advice and not scored.valid:
            scored.verdict.reasons += (advice,)
        elif advice and any(file.is_archive for file in submission.skipped):
            scored.verdict.warnings += (advice,)
        return scored

    def _if_several(self, submission: Submission, files: Files) -> str | None:
        """What to do if a folder contains submissions, instead of being one: it has several files that may be one."""
        archives = sum(file.is_archive for file in submission.skipped)
        answers = max((len(files.groups.get(name, ())) for name in self.roles.submissions), default=0)
        if submission.is_archive or not submission.is_folder or archives + answers < 2:
            return None
        call = f"medcontract leaderboard TRUTH {shlex.quote(submission.name)}/*"
        return f"if each file or folder in it is a separate submission: {call}"

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
        paths = [path_of(file) for file in submission.measured]
        given = gather([(file, None) for file in submission.measured], self.job.settings, paths)
        files.unread += given.unread
        for name, parts in given.groups.items():
            if name in self.measured:
                files.groups[name] = parts
            else:
                files.notes += [
                    f"{part.name} ({name}) in --measured does not contain measurements: ignored" for part in parts
                ]
        files.notes += [
            f"{base_name(report.path)} in --measured is ignored: {reason_for(report)}" for report in given.unrecognized
        ]

    def slim(self, score: Scored | Refused) -> Scored | Refused:
        """The score with only what a ranking needs: there may be thousands."""
        try:
            return self._slim(score)
        except MedcontractError:
            raise
        except Exception as error:  # noqa: BLE001  # as in `score`
            return _unexpected(error)

    def _slim(self, score: Scored | Refused) -> Scored | Refused:
        if isinstance(score, Refused):
            return replace(score, problems=score.problems[:1])
        verdict = replace(score.verdict)
        if not self.job.settings.participant:
            verdict.warnings += score.private
        if verdict.result is not None:
            verdict.result = for_participants(self.track, verdict.result, rounded_or_none(verdict.headline))
        tally = score.tally if self.track.ranking.protocol else None
        first = () if score.valid else first_error(score.problems)
        return replace(
            score, verdict=verdict, problems=first, hints=(), remarks=(), remediation=(), breakdown=None, tally=tally
        )


def _unexpected(error: Exception) -> Refused:
    """The refusal for an exception in a plugin, or for a bug."""
    failure = plugin_failure(error)
    if failure is None:
        return Refused(reason=internal_error(error), failed=True)
    return Refused(reason=failure.as_options[0], wrong_call=True)


def first_error(problems: Sequence[FileProblem]) -> tuple[FileProblem, ...]:
    """The first error among the problems, if there is one."""
    return tuple(problem for problem in problems if problem.severity == "error")[:1]


def for_rankings(track: Track, parameters: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters of the call, and those with a different default in a ranking."""
    given = {name for name, _ in parameters}
    return [*((name, value) for name, value in track.ranking.parameters.items() if name not in given), *parameters]


def _unrecognized(files: Files) -> Refused:
    """The refusal of a submission that is a single file whose contract is not recognized."""
    problems = unused_problems(files)
    problem = problems[0]
    hint = f" ({problem.hint})" if problem.hint else ""
    return Refused(reason=f"{problem.file}: {problem.message}{hint}", problems=problems)


def _problems_of(error: MedcontractError) -> tuple[FileProblem, ...]:
    report: FileReport | None = getattr(error, "report", None)
    return tuple(in_file(base_name(report.path), problem) for problem in report.problems) if report else ()


def _error_text(error: MedcontractError, submission: Submission) -> str:
    """The error with base names instead of paths: do not expose paths."""
    message, hint = error.as_options if isinstance(error, CallError) else (str(error), None)
    text = f"{message}{f' ({hint})' if hint else ''}"
    for path in (*submission.paths, *map(path_of, submission.measured or ())):
        text = text.replace(path, base_name(path))
    return text


def _check_has_truth(track: Track, files: Files) -> None:
    if not any(name in files.groups for name in track.roles.truths):
        found = ", ".join(f"{part.name} is {part.contract.id}" for part in files.parts())
        raise CallError("the first argument contains no truth", f"are truth and submissions swapped? {found}")


def read_again(job: Job) -> Contest:
    """The contest in another process, which reads the truth once more, and checks that it is the same."""
    contest = Contest(job)
    for part, digest in zip(contest.parts, job.digests, strict=True):
        if part.source.sha256() != digest:
            raise part.source.changed()
    return contest


def scores(contest: Contest, submissions: Sequence[Submission], jobs: int | None) -> Iterator[Scored | Refused]:
    """The score of each submission, in order."""
    pool = _pool_for(contest, submissions, jobs)
    done = 0
    if pool:
        from medcontract.evaluation.sent_contest import scores_on
        from medcontract.parallel.pool import PoolFailed

        with suppress(PoolFailed):
            for outcome in scores_on(pool, contest, submissions):
                done += 1
                yield outcome
            return
    yield from map(contest.score, submissions[done:])


def _pool_for(contest: Contest, submissions: Sequence[Submission], jobs: int | None) -> Pool | None:
    """Choose what scores the submissions. None: this process, which alone knows a track that a call registered."""
    known = tracks.plugins_for_workers(contest.track.id, ()) is not None
    size = sum(_size(path) for submission in submissions for path in submission.paths)
    if len(submissions) < 2 or not known or jobs == 1:
        return None
    if contest.job.settings.pool:
        return contest.job.settings.pool
    if jobs is None and cpus.workers_for(None, size) < 2:
        return None
    from medcontract.parallel.pool import ProcessPool, pool_for  # slow to import

    return pool_for(None, size) if jobs is None else ProcessPool(min(jobs, len(submissions)), chosen=True)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):
        return 0


def worker_died() -> Refused:
    """The refusal of a submission that terminates its worker."""
    return Refused(reason=_WORKER_DIED, failed=True)
