"""Many submissions against one truth, ranked."""

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
from medcontract.evaluation.inputs import Files, Given, GivenFile, Settings, base_name, gather, without_endings
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
from medcontract.scoring import tracks
from medcontract.scoring.processing_gate import Verdict, judge_counts
from medcontract.scoring.rational import rounded
from medcontract.scoring.scorer import Counts, Scorer
from medcontract.scoring.track import Track
from medcontract.workers import WorkerDied, Workers

Progress = Callable[[int, int], None]


class Submission(Struct, frozen=True, kw_only=True):
    """The files of one participant, and the name of their folder."""

    name: str
    files: tuple[GivenFile, ...]
    trouble: str | None = None
    """Why there are no files."""
    is_folder: bool = True
    measured: tuple[str, ...] | None = None
    """What the organizer measured of it; None where nothing was measured of anybody."""

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.name if isinstance(file, Source) else file for file, _ in self.files)

    @property
    def strangers(self) -> frozenset[str]:
        """Files that may be of no contract: nobody named them."""
        return self.paths if self.is_folder else frozenset()


class Measured(Struct, frozen=True, kw_only=True):
    """What the organizer measured of submissions (`--measured`): files, by the name of a submission."""

    files: dict[str, tuple[str, ...]]

    def given_to(self, submissions: Sequence[Submission]) -> list[Submission]:
        """The submissions with what was measured of each. Raises `CallError` where two have one name."""
        names = [_plain_name(submission) for submission in submissions]
        for name in self.files:
            if names.count(name) > 1:
                raise CallError(f"two submissions are called {name}: --measured cannot tell them apart")
        return [
            replace(submission, measured=self.files.get(name, ()))
            for submission, name in zip(submissions, names, strict=True)
        ]

    def unknown(self, submissions: Sequence[Submission]) -> list[str]:
        """What was measured of nobody who takes part."""
        names = {_plain_name(submission) for submission in submissions}
        return [f"--measured has {name}, which is no submission: ignored" for name in sorted(self.files.keys() - names)]


def _plain_name(submission: Submission) -> str:
    return submission.name if submission.is_folder else without_endings(submission.name)


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
    digests: tuple[str, ...] = ()
    """The hashes of the truth as it was read, for workers that read it again."""


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

    `measured`: what the organizer measured of each submission, in place of what submissions say of themselves.
    """
    submissions = measured.given_to(submissions) if measured else submissions
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
    by = _ranked_by(entries)
    ranked = _ranked(entries, by)
    warnings = (
        *contest.unused,
        *(measured.unknown(submissions) if measured else ()),
        *(track.ranking.warnings(contest.scorer.protocol, competing) if track.ranking.warnings else ()),
        *_shared_warnings(ranked),
    )
    headline = (ranked[0].verdict.headline_name if by == "headline" else None) or getattr(track, by)
    names = _shown_names(ranked, headline)
    return Leaderboard(
        track=track.id,
        protocol=protocol_used(scorer.protocol),
        truth=() if settings.participant else tuple(input_file(part, contest.truth) for part in contest.told),
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
    """The score of each submission, or why there is none. Raises `CallError` where the call is to blame for all."""
    scored = []
    for number, outcome in enumerate(_scores(contest, submissions, jobs), 1):
        scored.append(outcome)
        if progress:
            progress(number, len(submissions))
    if scored and all(isinstance(outcome, _Blamed) for outcome in scored):
        raise CallError(str(scored[0]))
    return scored


def _competing(submissions: Sequence[Submission], scored: Sequence[Scored | str]) -> list[tuple[str, Counts]]:
    """The valid submissions by name, and what their figures are made of."""
    return [
        (submission.name, score.counts)
        for submission, score in zip(submissions, scored, strict=True)
        if isinstance(score, Scored) and score.valid and score.counts
    ]


def _shown_names(entries: Sequence[Candidate], headline: str) -> dict[str, str]:
    """The figures of all entries: what may be more than the name of a metric has a number instead."""
    names = dict.fromkeys(name for entry in entries for name in entry.figures)
    strange = sorted(name for name in names if not is_plain(name) and name != headline)
    return {**dict(zip(names, names, strict=True)), **{name: f"…{n}" for n, name in enumerate(strange, 1)}}


def _result(entry: Candidate, names: Mapping[str, str]) -> LeaderboardEntry:
    verdict = entry.verdict
    decision: Any = verdict.decision or None
    return LeaderboardEntry(
        rank=entry.rank, name=entry.name, team_name=entry.team, valid=verdict.valid, headline=entry.headline,
        decision=decision, figures={names[name]: value for name, value in entry.figures.items()},
        processing=processing(verdict.processing),
        reasons=verdict.reasons, warnings=verdict.warnings, inputs=entry.inputs,
    )  # fmt: skip


class _Blamed(str):
    """Why there is no score: the weights do not fit, or a plugin fails. If that is so of all, the call is to blame."""

    __slots__ = ()


class _Contest:
    """One truth, which is read once, and what scores submissions against it."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        files = gather(job.truth, job.settings)
        if files.unread:
            raise InvalidData(files.unread[0])
        self.track = track_of(files)
        self.roles, options = self.track.roles, job.settings.scoring
        protocol = protocol_for(self.track, _for_rankings(self.track, job.parameters), job.settings)
        self.scorer = self.track.scorer(protocol, options, files.groups)
        _not_swapped(self.track, files)
        names = [name for pair in self.scorer.pairs for name in (pair.truth, pair.submission)]
        Given(job.header).check_names([registry.find(name) for name in names])
        self.truth: Truth = read_truth(self.track, self.scorer, files, Given(job.header), job.settings.frozen)
        self.measured = self.roles.auxiliaries("submission")
        self.identifying = [each.contract for each in self.roles.auxiliary if each.names_team]
        shared = [name for name in self.measured if name not in self.identifying and name in files.groups]
        self.truth.documents, wrong = read_auxiliary(self.truth, files.take(shared))
        self.truth.reasons += tuple(wrong)
        for_all = (*self.roles.auxiliaries("competition"), *shared)
        self.told = [*self.truth.parts, *(part for name in for_all for part in files.groups.get(name, []))]
        self.combined = self.scorer.combined(self.truth.documents)
        self.unused = list(self._about_files(files, shared))
        self.unused += self._about_frozen()
        if self.truth.reasons:
            raise MedcontractError(f"{'; '.join(self.truth.reasons)}: nothing can be scored against it")

    def final_scorer(self, valid: Sequence[Counts]) -> Scorer:
        """The scorer under the protocol that the valid submissions make together."""
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

    def _about_files(self, files: Files, shared: Sequence[str]) -> Iterator[str]:
        """What becomes of the files beside the truth."""
        read = {*self.truth.expected, *self.truth.documents, *self.identifying}
        fates = {
            "is beside the truth: it is about no submission, and ignored (see --measured)": self.identifying,
            "is beside the truth: it counts for all, except where --measured gives another": shared,
            "was not used": sorted(files.groups.keys() - read),
        }
        for fate, names in fates.items():
            for name in names:
                yield from (f"{part.name} ({name}) {fate}" for part in files.groups.get(name, []))

    def score(self, submission: Submission) -> Scored | str:
        """The score, or why there is none. What nobody expected is the end of this submission, not of the ranking."""
        try:
            return self._score(submission)
        except MedcontractError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a file brings about
            return internal_error(error)

    def _score(self, submission: Submission) -> Scored | str:
        if submission.trouble:
            return submission.trouble
        try:
            files = gather(submission.files, self._job.settings, lenient=submission.strangers)
            files.pass_over_broken(submission.strangers, self.roles.submissions)
            found = track_of(files) if files.groups else self.track
            if found.id != self.track.id:
                return f"these are files of the track {found.id}, not of {self.track.id}"
            self._drop_organizers_files(files)
            self._take_measured(submission, files)
            given = Given(self._job.header, strict=False)
            score = score_against(self.truth, files, self._job.settings, given)
        except (BrokenPlugin, WrongWeights) as error:
            return _Blamed(_told(error, submission))
        except MedcontractError as error:
            return _told(error, submission)
        if not self._job.settings.participant:
            score.verdict.warnings += score.private
        return self._slim(score)

    def _drop_organizers_files(self, files: Files) -> None:
        """A submission has no truth and nothing else that is the same for all; what stands beside the truth wins."""
        theirs = (*self.roles.truths, *self.roles.auxiliaries("competition"), *self.roles.id_lists)
        for name in dict.fromkeys((*theirs, *self.truth.documents)):
            for part in files.groups.pop(name, []):
                files.notes.append(f"{part.name} ({name}) is the organizer's to give: ignored")

    def _take_measured(self, submission: Submission, files: Files) -> None:
        """What the organizer measured, in place of what the submission says of itself; else that, with a warning."""
        if submission.measured is None:
            own = [name for name in self.measured if name in files.groups]
            files.notes += [f"its own {name} counts: it is self-reported (--measured gives another)" for name in own]
            return
        for name in self.measured:
            for part in files.groups.pop(name, []):
                files.notes.append(f"{part.name} ({name}) is the submission's own: ignored, for --measured was given")
        if not submission.measured:
            files.notes.append("--measured has nothing of this submission")
            return
        given = gather([(path, None) for path in submission.measured], self._job.settings, submission.measured)
        files.unread += given.unread
        for name, parts in given.groups.items():
            if name in self.measured:
                files.groups[name] = parts
            else:
                files.notes += [
                    f"{part.name} ({name}) of --measured is nothing that is measured: ignored" for part in parts
                ]
        files.notes += [
            f"{base_name(report.path)} of --measured is of no contract: ignored" for report in given.strangers
        ]

    def _slim(self, score: Scored) -> Scored:
        """Only what a ranking needs: there may be thousands."""
        if score.result is not None:
            score.verdict.result = self.track.for_participants(score.result, _double(score.verdict.headline))
        counts = score.counts if self.track.ranking.protocol else None
        return replace(score, problems=(), hints=(), remediation=(), counts=counts)


def _for_rankings(track: Track, parameters: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters of the call, and those that are otherwise in a ranking."""
    given = {name for name, _ in parameters}
    return [*((name, value) for name, value in track.ranking.parameters.items() if name not in given), *parameters]


def _told(error: MedcontractError, submission: Submission) -> str:
    """The error with base names: paths are nobody's business."""
    message, hint = error.as_options if isinstance(error, CallError) else (str(error), None)
    text = f"{message}{f' ({hint})' if hint else ''}"
    for path in (*submission.paths, *(submission.measured or ())):
        text = text.replace(path, base_name(path))
    return text


def _not_swapped(track: Track, files: Files) -> None:
    if not any(name in files.groups for name in track.roles.truths):
        there = ", ".join(f"{part.name} is {part.contract.id}" for part in files.parts())
        raise CallError("the first argument holds no truth", f"are truth and submissions swapped? {there}")


_FELL = "scoring it brought its process down again and again: it ran out of memory or was killed"
_here: _Contest | None = None
"""In a worker process."""


def _prepare(job: _Job) -> None:
    global _here  # noqa: PLW0603  # what a worker process is for
    for plugin in job.settings.scoring.plugins:
        tracks.load_plugin(plugin)
    contest = _Contest(job)
    for part, digest in zip(contest.told, job.digests, strict=True):
        if part.source.sha256() != digest:
            raise part.source.changed()
    _here = contest


def _score_there(submission: Submission) -> Scored | str:
    if _here is None:
        raise RuntimeError("the worker was not prepared")
    return _here.score(submission)


def _scores(contest: _Contest, submissions: Sequence[Submission], jobs: int) -> Iterator[Scored | str]:
    count = min(jobs, len(submissions))
    if count < 2:
        yield from map(contest.score, submissions)
        return
    try:
        digests = tuple(part.source.sha256() for part in contest.told)
        workers = Workers(count, _prepare, replace(contest._job, digests=digests))
    except (BrokenProcessPool, OSError, ImportError):  # no semaphores, no memory: one process may do
        yield from map(contest.score, submissions)
        return
    with workers:
        for _, outcome in workers.each(_score_there, submissions):
            yield _FELL if isinstance(outcome, WorkerDied) else outcome


def _entry_or_error(submission: Submission, outcome: Scored | str, track: Track, scorer: Scorer) -> Candidate:
    try:
        return _entry(submission, outcome, track, scorer)
    except MedcontractError:
        raise
    except Exception as error:  # noqa: BLE001  # as while it was scored
        return _entry(submission, internal_error(error), track, scorer)


def _entry(submission: Submission, outcome: Scored | str, track: Track, scorer: Scorer) -> Candidate:
    if isinstance(outcome, str):
        return Candidate(
            name=submission.name, team=None, verdict=Verdict(valid=False, processing=None, reasons=(outcome,))
        )
    verdict = outcome.verdict
    coarse: dict[str, Any] = verdict.result or {}
    if outcome.counts is not None and verdict.result is not None:
        again = judge_counts(scorer, outcome.counts)
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


def measured_in(folder: str, data_files: Callable[[str], Sequence[str | Source]]) -> Measured:
    """`folder/NAME/` and `folder/NAME.json` hold what was measured of the submission NAME. Raises `CallError`."""
    if not os.path.isdir(folder):
        raise CallError(f"{folder}: no such folder", "--measured names a folder with an entry for each submission")
    found: dict[str, tuple[str, ...]] = {}
    for entry in sorted(name for name in os.listdir(folder) if not name.startswith(".")):
        path = os.path.join(folder, entry)
        name = base_name(entry) if os.path.isdir(path) else without_endings(base_name(entry))
        files = (file.name if isinstance(file, Source) else file for file in data_files(path))
        found[name] = (*found.get(name, ()), *files)
    return Measured(files=found)


def submissions_in(paths: Sequence[str], data_files: Callable[[str], Sequence[str | Source]]) -> list[Submission]:
    """A folder, or a file by itself, is one submission. `data_files` lists what is in a folder."""
    found = []
    unique = {os.path.realpath(path): path for path in reversed(paths)}
    for path in reversed(unique.values()):
        if not os.path.lexists(path):
            raise CallError(f"{path}: no such file or folder", "check the spelling")
        name = base_name(os.path.abspath(path))
        try:
            files = tuple((file, None) for file in data_files(path))
            found.append(Submission(name=name, files=files, is_folder=os.path.isdir(path)))
        except CallError as error:
            found.append(Submission(name=name, files=(), trouble=error.as_options[0].removeprefix(f"{path}: ")))
    return found
