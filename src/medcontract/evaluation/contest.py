"""Scores submissions against one truth, which is read once: in this process, or in others that it is sent to."""

from __future__ import annotations

import os
import pickle
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import Address
from medcontract.contracts import registry
from medcontract.errors import (
    BrokenPlugin,
    CallError,
    InvalidData,
    MedcontractError,
    PoolError,
    WorkKilled,
    WrongWeights,
    internal_error,
    plugin_failure,
)
from medcontract.evaluation.files import Files, GivenFile, gather, path_of
from medcontract.evaluation.loading import LoadedTruth, read_auxiliary, read_truth
from medcontract.evaluation.remarks import as_warning
from medcontract.evaluation.result import Scored, environment
from medcontract.evaluation.score import protocol_for, score_against, track_of
from medcontract.evaluation.selection import reason_for, skipped_problems, unused_problems
from medcontract.evaluation.settings import HeaderOverrides, Settings, require_possible_fields
from medcontract.evaluation.submissions import Submission
from medcontract.parallel import cpus
from medcontract.reading.source import Source
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import FileReport
from medcontract.scoring import tracks
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import rounded_or_none
from medcontract.scoring.scorer import Finished, Scorer, Tally
from medcontract.scoring.scorer_checks import for_participants
from medcontract.scoring.sums import digest
from medcontract.validation.dispatch import Part, base_name
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.parallel.pool import Pool

FLAGS = frozenset({"MC506"})
"""Codes of remarks that mark a submission in a ranking."""
_WORKER_DIED = "scoring it terminated its process repeatedly: it ran out of memory or was killed"
_MOST_COLUMNS = 12
"""Named when there are no data files."""


class Contest:
    """A truth, which is read once, and the scorer for submissions. Can be pickled, for other processes."""

    def __init__(self, truth: Sequence[GivenFile], settings: Settings, complete: bool = True) -> None:
        """Read the truth. Raises `MedcontractError` if it has errors, `CallError` for a usage error.

        `complete`: scores are complete, for reports, and not only what a ranking needs.
        """
        self.settings, self.complete = settings._replace(complete=complete), complete
        files = gather(truth, settings, role="truth")
        if files.unread:
            raise InvalidData(files.unread[0])
        self.track = track_of(files)
        roles = self.track.roles
        protocol = protocol_for(self.track, settings, ranking=True)
        self.intervals = settings.wants_intervals(self.track, protocol)
        self.scorer = self.track.scorer(protocol, settings.scoring, files.groups)
        self._scorers: dict[frozenset[str], Scorer] = {}
        if not any(name in files.groups for name in roles.truths):
            hint = f"are truth and submissions swapped? {files.describe()}"
            raise CallError("the first argument contains no truth", hint)
        names = [name for pair in self.scorer.pairs for name in (pair.truth, pair.submission)]
        given = HeaderOverrides(settings.header)
        given.check_names([registry.find(name) for name in names])
        self.truth = read_truth(self.track, self.scorer, files, settings, given)
        named = [each.contract for each in roles.auxiliary if each.names_team]
        shared = [name for name in roles.auxiliaries("submission") if name not in named and name in files.groups]
        self.truth.documents, wrong = read_auxiliary(self.truth, files.take(shared))
        self.truth.reasons += tuple(wrong)
        self.parts = [*self.truth.parts, *files.take((*roles.auxiliaries("competition"), *shared)).parts()]
        self.combined = self.scorer.combined(self.truth.documents)
        unused = sorted(files.groups.keys() - {*self.truth.expected, *self.truth.documents, *named})
        notes = {
            "was passed with the truth: ignored, since it belongs to a submission (see --measured)": named,
            "was passed with the truth: used for all submissions without one in --measured": shared,
            "was not used": unused,
        }
        self.notes = [
            f"{part.name} ({part.contract.id}) {note}" for note in notes for part in files.take(notes[note]).parts()
        ]
        self.notes += self._about_frozen()
        if self.truth.reasons:
            raise MedcontractError(f"{'; '.join(self.truth.reasons)}; nothing can be scored against it")
        if self.intervals:
            self.truth.drawn()  # before it is sent to other processes

    def _about_frozen(self) -> Iterator[str]:
        """Warn that a frozen protocol is used as it is, also where a ranking has another default."""
        frozen = self.settings.frozen
        if frozen is None:
            return
        yield from frozen.warnings(environment())
        for name, default in self.track.ranking.parameters.items():
            value = frozen.parameters.get(name)
            if value != default:
                yield f"{name} is {value} in the frozen protocol; without one it is {default} in a ranking"

    def use_final_protocol(self, valid: Sequence[Tally]) -> bool:
        """Use the protocol that results from all valid submissions. Returns whether it is another one."""
        protocol = self.scorer.protocol
        if self.track.ranking.protocol is not None:
            protocol = self.track.ranking.protocol(protocol, valid)
        if protocol == self.scorer.protocol:
            return False
        self.scorer, self._scorers = self.track.scorer(protocol, self.scorer.options, self.truth.expected), {}
        self.truth = replace(self.truth, scorer=self.scorer)
        return True

    def _scorer_for(self, files: Files) -> Scorer:
        """Return the scorer for a submission: one for all of them, unless some have other kinds of files.

        Raises `CallError` if its files do not form a submission.
        """
        given = {name for name in self.track.roles.submissions if name in files.groups}
        if given <= {pair.submission for pair in self.scorer.pairs}:
            return self.scorer
        contracts = frozenset((*files.groups, *self.truth.expected))
        if contracts not in self._scorers:
            self._scorers[contracts] = self.track.scorer(self.scorer.protocol, self.scorer.options, contracts)
        return self._scorers[contracts]

    def score(self, submission: Submission) -> Scored:
        """Score a submission, or say why there is no score. An unexpected exception does not fail the ranking."""
        try:
            scored = self._score(submission)
        except WorkKilled:
            return self.refused(_WORKER_DIED, failure="scoring")
        except MedcontractError:
            raise
        except Exception as error:  # noqa: BLE001  # any bug that a file triggers
            return self._unexpected(error)
        if scored.tally is not None:
            scored.sums = digest(scored.tally.data)
        return scored if self.complete else self.slim(scored)

    def refused(
        self,
        reason: str,
        problems: tuple[FileProblem, ...] = (),
        notes: Sequence[str] = (),
        failure: Literal["", "call", "scoring"] = "",
    ) -> Scored:
        """Return the outcome for a submission that is not scored. `problems`: of its files, if they are the reason."""
        return Scored(
            track=self.track.id, protocol=self.scorer.protocol, participant=self.settings.participant,
            verdict=Finished(result=None, headline=None, reasons=(reason,), warnings=tuple(notes)), problems=problems,
            found=len(problems), errors=sum(problem.severity == "error" for problem in problems), failure=failure,
        )  # fmt: skip

    def _unexpected(self, error: Exception) -> Scored:
        """Refuse a submission because of an exception in a plugin, or of a bug."""
        failure = plugin_failure(error)
        if failure is None:
            return self.refused(internal_error(error), failure="scoring")
        return self.refused(failure.as_options[0], failure="call")

    def _expecting(self, error: str) -> str:
        """Add what a submission without data files should contain."""
        expected = []
        for name in self.track.roles.submissions:
            entry = registry.find(name)
            columns = [column.name for column in entry.columns]
            shown = ", ".join(columns[:_MOST_COLUMNS]) + (", …" if len(columns) > _MOST_COLUMNS else "")
            endings = ", ".join(f".{each}" for each in entry.definition.containers)
            expected.append(f"{name} ({endings}{f'; columns of a table: {shown}' if shown else ''})")
        return f"{error}: expected a file of {' or '.join(expected)}"

    def _score(self, submission: Submission) -> Scored:
        if submission.error:
            error = submission.error
            error = self._expecting(error) if error.startswith("no data files") else error
            reason = "; ".join(filter(None, (error, self._if_several(submission, Files()))))
            return self.refused(reason, skipped_problems(submission.skipped))
        files, settings = Files(), self.settings
        try:
            files = gather(submission.files, settings, submission.paths, role="submission")
            files.skipped = submission.skipped
            if files.unrecognized and not submission.is_folder:
                first, *_ = problems = unused_problems(files)
                hint = f" ({first.hint})" if first.hint else ""
                return self.refused(f"{first.file}: {first.message}{hint}", problems)
            files.ignore_broken(submission.paths if submission.is_folder else (), self.track.roles.submissions)
            found = track_of(files) if files.groups else self.track
            if found.id != self.track.id:
                return self.refused(f"expected files of the track {self.track.id}, got {found.id}")
            truth = replace(self.truth, scorer=self._scorer_for(files))
            self._drop_organizers_files(files)
            self._use_measured(submission, files)
            given = HeaderOverrides(settings.header, strict=False)
            require_possible_fields(self.track, truth.scorer, files, given, truth.headers.values())
            scored = score_against(truth, files, settings, given)
        except PoolError:
            raise
        except MedcontractError as error:
            advice = self._if_several(submission, files) if isinstance(error, CallError) else None
            reason = "; ".join(filter(None, (_error_text(error, submission), advice)))
            report: FileReport | None = getattr(error, "report", None)
            problems = tuple(in_file(base_name(report.path), each) for each in report.problems) if report else ()
            is_call = isinstance(error, BrokenPlugin | WrongWeights)
            return self.refused(reason, problems or unused_problems(files), files.notes, "call" if is_call else "")
        advice = self._if_several(submission, files)
        if advice and not scored.verdict.valid:
            scored.verdict.reasons += (advice,)
        elif advice and any(file.is_archive for file in submission.skipped):
            scored.verdict.warnings += (advice,)
        return scored

    def _if_several(self, submission: Submission, files: Files) -> str | None:
        """Say what to do if a folder contains submissions, instead of being one: several files may be one."""
        archives = sum(file.is_archive for file in submission.skipped)
        answers = max((len(files.groups.get(name, ())) for name in self.track.roles.submissions), default=0)
        if submission.is_archive or not submission.is_folder or archives + answers < 2:
            return None
        call = f"medcontract leaderboard TRUTH {shlex.quote(submission.name)}/*"
        return f"if each file or folder in it is a separate submission: {call}"

    def _drop_organizers_files(self, files: Files) -> None:
        """Ignore files that only the organizer may provide, and files that were passed with the truth."""
        roles = self.track.roles
        theirs = (*roles.truths, *roles.auxiliaries("competition"), *roles.id_lists, *self.truth.documents)
        for name in dict.fromkeys(theirs):
            for part in files.groups.pop(name, []):
                files.notes.append(f"{part.name} ({name}) is ignored: only the organizer's file counts")

    def _use_measured(self, submission: Submission, files: Files) -> None:
        """Use the organizer's measurements if there are any; otherwise those in the submission, with a warning."""
        measured = self.track.roles.auxiliaries("submission")
        own = [name for name in measured if name in files.groups]
        if submission.measured is None:
            files.notes += [f"{name} comes from the submission: self-reported (see --measured)" for name in own]
            return
        for name in own:
            for part in files.groups.pop(name):
                files.notes.append(f"{part.name} ({name}) is ignored: --measured replaces it")
        if not submission.measured:
            files.notes.append("--measured contains nothing for this submission")
            return
        paths = [path_of(file) for file in submission.measured]
        given = gather([(file, None) for file in submission.measured], self.settings, paths)
        files.unread += given.unread
        files.groups |= given.take(measured).groups
        for part in given.parts():
            if part.contract.id not in measured:
                ignored = "in --measured does not contain measurements: ignored"
                files.notes.append(f"{part.name} ({part.contract.id}) {ignored}")
        for report in given.unrecognized:
            files.notes.append(f"{base_name(report.path)} in --measured is ignored: {reason_for(report)}")

    def slim(self, scored: Scored) -> Scored:
        """Return the score with only what a ranking needs: there may be thousands."""
        verdict, costly = replace(scored.verdict), set(map(as_warning, scored.costly))
        verdict.warnings = tuple(text for text in verdict.warnings if text not in costly)
        if not scored.participant:
            verdict.warnings += scored.private
        if verdict.result is not None:
            try:
                verdict.result = for_participants(self.track, verdict.result, rounded_or_none(verdict.headline))
            except MedcontractError:
                raise
            except Exception as error:  # noqa: BLE001  # as in `score`
                return self._unexpected(error)
        return replace(
            scored, verdict=verdict, problems=() if verdict.valid else first_error(scored.problems), private=(),
            hints=(), remarks=tuple(each for each in scored.remarks if each.code in FLAGS), costly=(), remediation=(),
            breakdown=(), pictures=(), tally=scored.tally if self.track.ranking.protocol else None,
            intervals=scored.intervals and replace(scored.intervals, figures={}, undefined={}, replicates=None),
        )  # fmt: skip

    def __getstate__(self) -> _SentTruth:
        """Return what another process needs. Raises `PicklingError` if it cannot be sent."""
        truth = self.truth
        if truth.whole or truth.pairs or any(type(each) is not Expected for each in truth.expected.values()):
            raise pickle.PicklingError("the pairs of this process cannot be sent")
        return _SentTruth(
            settings=self.settings._replace(pool=None, jobs=1),
            complete=self.complete,
            track=self.track.id,
            protocol=self.scorer.protocol,
            files=[(p.contract.id, p.name, p.how, p.source.sha256(), p.report, p.collector) for p in truth.parts],
            expected={name: each.export() for name, each in truth.expected.items()},
            plain={name: getattr(truth, name) for name in ("headers", "content", "documents", "invalid_ids")},
        )

    def __setstate__(self, sent: _SentTruth) -> None:
        self.settings, self.complete, self.truth = sent.settings, sent.complete, sent.open()
        self.track, self.scorer, self._scorers = self.truth.track, self.truth.scorer, {}


class _SentTruth(Struct, kw_only=True):
    """Everything that another process needs to score submissions."""

    settings: Settings
    complete: bool
    track: str
    protocol: Protocol
    files: list[tuple[str, str, str | None, str, FileReport, ProblemCollector]]
    expected: dict[str, ExpectedItems]
    plain: dict[str, Any]
    """What can be sent as it is, by field of the truth."""

    def open(self) -> LoadedTruth:
        track = tracks.track(self.track)
        scorer = track.scorer(self.protocol, self.settings.scoring, self.expected)
        pairs = {pair.truth: pair for pair in scorer.pairs}
        truth = LoadedTruth(track=track, scorer=scorer, **self.plain)
        truth.expected = {name: Expected.of(pairs[name], each) for name, each in self.expected.items()}
        for contract, name, how, sha256, report, collector in self.files:
            source = Source(b"", name)
            source.note_digest(sha256)
            part = Part(source, registry.find(contract), collector, how)
            part.alias, part._report = name, report
            truth.parts.append(part)
        return truth


def first_error(problems: Sequence[FileProblem]) -> tuple[FileProblem, ...]:
    """Return the first error among the problems, if there is one."""
    return tuple(problem for problem in problems if problem.severity == "error")[:1]


def _error_text(error: MedcontractError, submission: Submission) -> str:
    """Return the error with base names instead of paths: do not expose paths."""
    message, hint = error.as_options if isinstance(error, CallError) else (str(error), None)
    text = f"{message}{f' ({hint})' if hint else ''}"
    for path in (*submission.paths, *map(path_of, submission.measured or ())):
        text = text.replace(path, base_name(path))
    return text


def scores(contest: Contest, submissions: Sequence[Submission], jobs: int | None) -> Iterator[Scored]:
    """Score each submission, in order."""
    pool = _pool_for(contest, submissions, jobs)
    done = 0
    if pool:
        from medcontract.parallel.pool import PoolFailed, WorkerDied

        with suppress(PoolFailed, *pool.failures):  # then this process scores the others
            for outcome in pool.each(Contest.score, contest, [_anywhere(each) for each in submissions]):
                done += 1
                yield contest.refused(_WORKER_DIED, failure="scoring") if isinstance(outcome, WorkerDied) else outcome
            return
    yield from map(contest.score, submissions[done:])


def _anywhere(submission: Submission) -> Submission:
    """Return the submission with paths that do not depend on the current folder."""

    def absolute(path: str | Source) -> str | Source:
        return path if isinstance(path, Address | Source) else os.path.abspath(path)

    files = tuple((absolute(path), name) for path, name in submission.files)
    measured = None if submission.measured is None else tuple(map(absolute, submission.measured))
    return replace(submission, files=files, measured=measured)


def _pool_for(contest: Contest, submissions: Sequence[Submission], jobs: int | None) -> Pool | None:
    """Choose what scores the submissions. None: this process, which alone knows a track that a call registered."""
    known = tracks.is_known_elsewhere(contest.track.id)
    size = sum(_size(path) for submission in submissions for path in submission.paths)
    if len(submissions) < 2 or not known or jobs == 1:
        return None
    if contest.settings.pool:
        return contest.settings.pool
    if jobs is None and cpus.workers_for(None, size) < 2:
        return None
    from medcontract.parallel.processes import ProcessPool, pool_for  # slow to import

    return pool_for(None, size) if jobs is None else ProcessPool(min(jobs, len(submissions)), chosen=True)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):
        return 0
