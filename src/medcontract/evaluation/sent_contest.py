"""Scores the submissions of a ranking in other processes.

The truth is read once, and sent to the workers: each submission is scored by one of them.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import Address
from medcontract.contracts import registry
from medcontract.evaluation.contest import Contest, Job, Refused, read_again, worker_died
from medcontract.evaluation.inputs import GivenFile
from medcontract.evaluation.loading import InvalidIds, Truth
from medcontract.evaluation.score import Scored
from medcontract.evaluation.submissions import Submission
from medcontract.parallel.pool import Pool, WorkerDied
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport
from medcontract.scoring import tracks
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.protocol import Protocol
from medcontract.validation.parts import Part
from medcontract.validation.problem_collector import ProblemCollector

_NOT_SENDABLE = (pickle.PicklingError, TypeError, AttributeError)


class _SentFile(Struct):
    """A file of the truth that was read."""

    contract: str
    name: str
    how: str | None
    sha256: str
    report: FileReport
    collector: ProblemCollector

    @classmethod
    def of(cls, part: Part) -> _SentFile:
        return cls(
            contract=part.contract.id, name=part.name, how=part.how, sha256=part.source.sha256(), report=part.report,
            collector=part.collector,
        )  # fmt: skip

    def open(self) -> Part:
        return _ReadPart(self)


class _ReadPart(Part):
    """A file that another process read."""

    def __init__(self, sent: _SentFile) -> None:
        source = Source(b"", sent.name)
        source.note_digest(sent.sha256)
        super().__init__(source, registry.find(sent.contract), sent.collector, sent.how)
        self.alias = sent.name
        self._sent = sent

    @property
    def report(self) -> FileReport:
        return self._sent.report


class _SentContest(Struct):
    """Everything that another process needs to score submissions."""

    job: Job
    track: str
    protocol: Protocol
    contracts: tuple[str, ...]
    expected: dict[str, ExpectedItems]
    files: list[_SentFile]
    headers: dict[str, dict[str, Any]]
    content: dict[str, str]
    documents: dict[str, Any]
    invalid_ids: dict[str, InvalidIds]
    measured: Sequence[str]

    @classmethod
    def of(cls, contest: Contest) -> _SentContest | None:
        """None if the truth is not one that any process can have."""
        truth = contest.truth
        if any(type(each) is not Expected for each in truth.expected.values()) or truth.pairs:
            return None
        expected = {name: each.export() for name, each in truth.expected.items()}
        return cls(
            job=_for_worker(contest), track=contest.track.id, protocol=contest.scorer.protocol,
            contracts=tuple(truth.expected), expected=expected,
            files=[_SentFile.of(part) for part in truth.parts], headers=truth.headers, content=truth.content,
            documents=truth.documents, invalid_ids=truth.invalid_ids, measured=contest.measured,
        )  # fmt: skip

    def open(self) -> Contest:
        track = tracks.track(self.track)
        scorer = track.scorer(self.protocol, self.job.settings.scoring, self.contracts)
        pairs = {pair.truth: pair for pair in scorer.pairs}
        expected = {name: Expected.of(pairs[name], each) for name, each in self.expected.items()}
        truth = Truth(
            track=track, scorer=scorer, parts=[file.open() for file in self.files], expected=expected,
            headers=self.headers, content=self.content, documents=self.documents, invalid_ids=self.invalid_ids,
        )  # fmt: skip
        return Contest.of(self.job, truth, self.measured)


def _for_worker(contest: Contest) -> Job:
    job = contest.job
    settings = job.settings._replace(pool=None, jobs=1)
    digests = tuple(part.source.sha256() for part in contest.parts)
    return replace(job, truth=_absolute(job.truth), digests=digests, settings=settings)


class _Shared:
    """A contest for pools. Another process gets the truth or, if it cannot be sent, reads it once more."""

    def __init__(self, contest: Contest) -> None:
        self.contest = contest

    def __getstate__(self) -> bytes | Job:
        try:
            sent = _SentContest.of(self.contest)
            return pickle.dumps(sent) if sent else _for_worker(self.contest)
        except _NOT_SENDABLE:
            return _for_worker(self.contest)

    def __setstate__(self, state: bytes | Job) -> None:
        if isinstance(state, Job):
            self.contest = read_again(state)
        else:
            sent: _SentContest = pickle.loads(state)  # noqa: S301  # from the process that sent it
            self.contest = sent.open()


def _score_with(shared: _Shared, submission: Submission) -> Scored | Refused:
    return shared.contest.score(submission)


def _absolute(files: Sequence[GivenFile]) -> tuple[GivenFile, ...]:
    return tuple((_absolute_path(path), name) for path, name in files)


def _absolute_path(path: str | Source) -> str | Source:
    return path if isinstance(path, Address | Source) else os.path.abspath(path)


def _anywhere(submission: Submission) -> Submission:
    """The submission with paths that do not depend on the current folder."""
    measured = submission.measured
    return replace(
        submission,
        files=_absolute(submission.files),
        measured=None if measured is None else tuple(map(_absolute_path, measured)),
    )


def scores_on(pool: Pool, contest: Contest, submissions: Sequence[Submission]) -> Iterator[Scored | Refused]:
    """The score of each submission, in order."""
    for outcome in pool.each(_score_with, _Shared(contest), [_anywhere(each) for each in submissions]):
        yield worker_died() if isinstance(outcome, WorkerDied) else outcome
