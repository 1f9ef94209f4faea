"""Many submissions against one truth, ranked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from medcontract.definitions import registry
from medcontract.definitions.plugins import load_module
from medcontract.errors import BrokenPlugin, CallError, InvalidData, MedcontractError, WrongWeights
from medcontract.evaluation.inputs import Files, Given, GivenFile, Settings, base_name, gather
from medcontract.evaluation.published import processing, protocol_used, versions
from medcontract.evaluation.reading import Truth, read_truth
from medcontract.evaluation.score import (
    Scored,
    changed_protocol,
    input_file,
    score_against,
    track_of,
    used_contracts,
)
from medcontract.results.leaderboard import CombinedScore, Leaderboard, LeaderboardEntry
from medcontract.results.score import InputFile
from medcontract.scoring.engine import Track, Verdict, judge_counts
from medcontract.scoring.exact import rounded
from medcontract.scoring.protocol import Protocol
from medcontract.workers import Workers

Progress = Callable[[int, int], None]


class Submission(Struct, frozen=True, kw_only=True):
    """The files of one participant, and the name of their folder."""

    name: str
    files: tuple[tuple[str, str | None], ...]
    trouble: str | None = None
    """Why there are no files."""
    is_folder: bool = True
    folder: str = ""

    def inside(self) -> tuple[list[GivenFile], list[str]]:
        """The files that really are in the folder, and the names of those that only link to others."""
        if not self.is_folder or not self.folder:
            return list(self.files), []
        root = os.path.join(os.path.realpath(self.folder), "")
        good = [(path, contract) for path, contract in self.files if os.path.realpath(path).startswith(root)]
        return list(good), [base_name(path) for path, _ in self.files if not os.path.realpath(path).startswith(root)]

    @property
    def strangers(self) -> frozenset[str]:
        """Files that may be of no contract: nobody named them."""
        return frozenset(path for path, _ in self.files) if self.is_folder else frozenset()


class Candidate(Struct, kw_only=True):
    """One submission while the ranking is made: its verdict is exact."""

    name: str
    team: str | None
    verdict: Verdict
    inputs: tuple[InputFile, ...] = ()
    rank: int | None = None
    figures: dict[str, float | None] = {}
    """Those of the whole submission."""

    headline: float | None = None
    """What it is ranked by."""


class _Job(Struct, kw_only=True):
    """What a worker needs to score any submission."""

    truth: tuple[GivenFile, ...]
    parameters: tuple[tuple[str, str], ...]
    header: dict[str, str]
    settings: Settings


def leaderboard(
    truth: Sequence[GivenFile],
    submissions: Sequence[Submission],
    *,
    settings: Settings,
    parameters: Sequence[tuple[str, str]] = (),
    header: Mapping[str, str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Leaderboard:
    """Score and rank submissions. Raises `CallError` for a wrong call, `MedcontractError` for a truth with errors."""
    job = _Job(
        truth=tuple(truth),
        parameters=tuple(parameters),
        header=dict(header or {}),
        settings=settings._replace(progress=None),
    )
    scorer = _Scorer(job)
    scored = []
    for number, outcome in enumerate(_scores(scorer, submissions, jobs), 1):
        scored.append(outcome)
        if progress:
            progress(number, len(submissions))
    if scored and all(isinstance(outcome, _Weightless) for outcome in scored):
        raise CallError(str(scored[0]))
    protocol = scorer.track.for_competition(
        scorer.protocol,
        [score.counts for score in scored if isinstance(score, Scored) and score.valid and score.counts],
    )
    entries = [
        _entry(submission, outcome, scorer.track, protocol)
        for submission, outcome in zip(submissions, scored, strict=True)
    ]
    by = _ranked_by(entries)
    ranked = _ranked(entries, by)
    warnings = (*scorer.unused, *_shared_warnings(ranked))
    return Leaderboard(
        track=scorer.track.id,
        protocol=protocol_used(protocol),
        truth=() if settings.participant else tuple(input_file(part, scorer.truth) for part in scorer.told),
        combined=_combined(scorer.combined),
        headline=(ranked[0].verdict.headline_name if by == "headline" else None) or getattr(scorer.track, by),
        warnings=warnings,
        submissions=tuple(map(_result, ranked)),
        **versions(),
        _figures=scorer.track.figures,
    )


def _result(entry: Candidate) -> LeaderboardEntry:
    verdict = entry.verdict
    decision: Any = verdict.decision or None
    return LeaderboardEntry(
        rank=entry.rank, name=entry.name, team_name=entry.team, valid=verdict.valid, headline=entry.headline,
        decision=decision, figures=entry.figures, processing=processing(verdict.processing),
        reasons=verdict.reasons, warnings=verdict.warnings, inputs=entry.inputs,
    )  # fmt: skip


def _combined(found: dict[str, Any] | None) -> dict[str, CombinedScore] | None:
    return {name: CombinedScore(**how) for name, how in found.items()} if found else None


class _Weightless(str):
    """Why there is no score: the weights do not fit. Where that is so of all, they are to blame."""

    __slots__ = ()


class _Scorer:
    """Scores submissions against one truth, which is read once."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        files = gather(job.truth, job.settings)
        if files.unread:
            raise InvalidData(files.unread[0])
        self.track = track_of(files)
        self.protocol = changed_protocol(self.track, job.parameters, job.settings.wishes)
        _not_swapped(self.track, files)
        names = [name for pair in self.track.pairs for name in (pair.truth, pair.submission)]
        Given(job.header).check_names([registry.find(name) for name in names])
        self.track = self.track.under(self.protocol, job.settings.wishes)
        self.truth: Truth = read_truth(self.track, files, Given(job.header))
        self.unused = [
            f"{part.name} ({name}) stands with the truth: in a ranking each submission has its own"
            for name in self.track.auxiliary
            for part in files.groups.get(name, [])
            if name not in self.truth.documents
        ]
        theirs = [part for name in self.track.organizers for part in files.groups.get(name, [])]
        self.told = [*self.truth.parts, *theirs]
        self.combined = self.track.decided(self.truth.documents)
        others = sorted(files.groups.keys() - used_contracts(self.track))
        self.unused += [f"{part.name} ({name}) was not used" for name in others for part in files.groups[name]]
        if self.truth.reasons:
            raise MedcontractError(f"{'; '.join(self.truth.reasons)}: nothing can be scored against it")

    def score(self, submission: Submission) -> Scored | str:
        """The score, or why there is none."""
        if submission.trouble:
            return submission.trouble
        inside, outside = submission.inside()
        try:
            files = gather(inside, self._job.settings, lenient=submission.strangers)
            files.notes += [f"{name} leads out of the folder: it was not looked at" for name in outside]
            files.pass_over_broken(submission.strangers, self.track.submissions)
            ignored = [part.name for name in self.track.truths for part in files.groups.pop(name, [])]
            theirs = [part.name for name in self.track.organizers for part in files.groups.pop(name, [])]
            found = track_of(files) if files.groups else self.track
            if found.id != self.track.id:
                return f"these are files of the track {found.id}, not of {self.track.id}"
            given = Given(self._job.header, strict=False)
            score = score_against(self.truth, files, self.protocol, self._job.settings, given)
        except BrokenPlugin:
            raise
        except WrongWeights as error:
            return _Weightless(_told(error, submission))
        except CallError as error:
            return _told(error, submission)
        if not self._job.settings.participant:
            score.verdict.warnings += score.private
        for name in theirs:
            score.verdict.warnings += (f"{name} is not for a submission to say, so it was not looked at",)
        for name in ignored:
            score.verdict.warnings += (f"{name} is a truth: a submission has none, so it was not looked at",)
        return self._slim(score)

    def _slim(self, score: Scored) -> Scored:
        """Only what a ranking needs: there may be thousands."""
        if score.result is not None:
            score.verdict.result = self.track.for_participants(score.result, _double(score.verdict.headline))
        return replace(
            score, problems=(), hints=(), mending=(), counts=score.counts if self.track.ranks_together else None
        )


def _told(error: CallError, submission: Submission) -> str:
    """The error with base names: paths are nobody's business."""
    message, hint = error.as_options
    text = f"{message}{f' ({hint})' if hint else ''}"
    for path, _ in submission.files:
        text = text.replace(path, base_name(path))
    return text


def _not_swapped(track: Track, files: Files) -> None:
    if not any(name in files.groups for name in track.truths):
        there = ", ".join(f"{part.name} is {part.contract.id}" for part in files.parts())
        raise CallError("the first argument holds no truth", f"are truth and submissions swapped? {there}")


_here: _Scorer | None = None
"""In a worker process: its scorer."""


def _prepare(job: _Job) -> None:
    global _here  # noqa: PLW0603  # what a worker process is for
    for plugin in job.settings.wishes.plugins:
        load_module(plugin)
    _here = _Scorer(job)


def _score_there(submission: Submission) -> Scored | str:
    if _here is None:
        raise RuntimeError("the worker was not prepared")
    return _here.score(submission)


def _scores(scorer: _Scorer, submissions: Sequence[Submission], jobs: int) -> Iterator[Scored | str]:
    count = min(jobs, len(submissions))
    if count < 2:
        yield from map(scorer.score, submissions)
        return
    with Workers(count, _prepare, scorer._job) as workers:
        futures = [workers.submit(_score_there, submission) for submission in submissions]
        for future in futures:
            yield future.result()


def _entry(submission: Submission, outcome: Scored | str, track: Track, protocol: Protocol) -> Candidate:
    if isinstance(outcome, str):
        return Candidate(
            name=submission.name, team=None, verdict=Verdict(valid=False, processing=None, reasons=(outcome,))
        )
    verdict = outcome.verdict
    coarse: dict[str, Any] = verdict.result or {}
    if outcome.counts is not None and verdict.result is not None:
        again = judge_counts(track, outcome.counts, protocol)
        verdict = replace(again, warnings=verdict.warnings, reasons=verdict.reasons)
        coarse = track.for_participants(again.result or {}, _double(again.headline))
    known = {figure.name for figure in track.figures}
    figures = (
        coarse["overall_scores"] if track.open_figures and coarse else {n: coarse[n] for n in coarse if n in known}
    )
    own = tuple(file for file in outcome.inputs if file.content_sha256 is None)
    return Candidate(name=submission.name, team=outcome.team, verdict=verdict, inputs=own, figures=figures)


def _double(value: Fraction | None) -> float | None:
    return None if value is None else rounded(value)


def _ranked_by(entries: Sequence[Candidate]) -> Literal["headline", "second"]:
    """One ranking compares one figure: the second, where most valid submissions lack the first.

    So that nobody can throw the others out by bringing a file of their own, nor change the ranking by leaving one out.
    """
    valid = [entry.verdict for entry in entries if entry.verdict.valid]
    having = sum(verdict.headline is not None for verdict in valid)
    return "second" if 2 * having < len(valid) else "headline"


def _ranked(entries: Sequence[Candidate], by: Literal["headline", "second"]) -> list[Candidate]:
    """By the exact figure, ties by team name; those that are not valid last, by name."""
    values = {id(entry): getattr(entry.verdict, by) for entry in entries if entry.verdict.valid}
    good = [entry for entry in entries if values.get(id(entry)) is not None]
    good.sort(key=lambda entry: (-values[id(entry)], *_by_name(entry)))
    for rank, entry in enumerate(good, 1):
        entry.rank, entry.headline = rank, rounded(values[id(entry)])
    rest = sorted(
        (entry for entry in entries if entry.rank is None),
        key=lambda entry: (not entry.verdict.valid, *_by_name(entry)),
    )
    return good + rest


def _by_name(entry: Candidate) -> tuple[str, str, list[str]]:
    """An order that does not depend on that of the call: by team, folder and what is in it."""
    return entry.team or entry.name, entry.name, [file.sha256 for file in entry.inputs]


def _shared_warnings(entries: Sequence[Candidate]) -> list[str]:
    """What all scored submissions are warned of is said once; it is taken from each."""
    scored = [entry for entry in entries if entry.verdict.processing is not None]
    if len(scored) < 2:
        return []
    shared = [w for w in scored[0].verdict.warnings if all(w in entry.verdict.warnings for entry in scored)]
    for entry in scored:
        entry.verdict.warnings = tuple(w for w in entry.verdict.warnings if w not in shared)
    return shared


def submissions_in(paths: Sequence[str], data_files: Callable[[str], Sequence[str]]) -> list[Submission]:
    """A folder, or a file by itself, is one submission. `data_files` lists what is in a folder."""
    found = []
    unique = {os.path.realpath(path): path for path in reversed(paths)}
    for path in reversed(unique.values()):
        if not os.path.lexists(path):
            raise CallError(f"{path}: no such file or folder", "check the spelling")
        name = base_name(os.path.abspath(path))
        try:
            files = tuple((file, None) for file in data_files(path))
            found.append(Submission(name=name, files=files, is_folder=os.path.isdir(path), folder=path))
        except CallError as error:
            found.append(Submission(name=name, files=(), trouble=error.as_options[0].removeprefix(f"{path}: ")))
    return found
