"""Scores one untrusted submission alone: for challenge platforms, which score each one when it is sent.

Files of the submission can neither extend nor replace those of the organizer (`Contest`). What a ranking derives from
all submissions, such as the range of inference times, has to be in the protocol.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from medcontract.evaluation.arguments import Expanded, no_data_files
from medcontract.evaluation.contest import Contest, Job, for_rankings
from medcontract.evaluation.inputs import GivenFile, Settings, has_data_extension
from medcontract.evaluation.leaderboard import feedback_on
from medcontract.evaluation.submissions import Submission, submission_at
from medcontract.reading.archive_paths import is_archive
from medcontract.reading.limits import Limits
from medcontract.results.score import Score
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track


def open_contest(truth: Sequence[GivenFile], settings: Settings, parameters: Sequence[tuple[str, str]] = ()) -> Contest:
    """Read the truth. Raises `MedcontractError` if it has errors, `CallError` if nothing can be scored against it."""
    job = Job(truth=tuple(truth), parameters=tuple(parameters), header={}, settings=settings, complete=True)
    return Contest(job)


def parameters_for(contest: Contest) -> list[tuple[str, str]]:
    """The changed parameters of its protocol, to freeze it: those of the call, and those of a ranking."""
    frozen = contest.job.settings.frozen
    if frozen is not None:
        return frozen.changes(contest.track)
    return for_rankings(contest.track, contest.job.parameters)


def score_alone(contest: Contest, submission: Submission) -> Score:
    """The score of a submission, which is not valid if it is refused. Never raises because of the submission."""
    return feedback_on(contest.score(submission), contest, contest.scorer)


def rankable_figures(contest: Contest) -> tuple[str, ...]:
    """The names of the figures that submissions can be ranked by, the usual one first."""
    track, first = contest.track, contest.track.headline
    if type(contest.scorer).combined is not Scorer.combined:
        first = next(iter(contest.combined)) if contest.combined else ""
    return tuple(name for name in (first, track.second) if name)


def figures_of(track: Track, score: Score) -> dict[str, float]:
    """The defined figures of the whole submission, by name; the headline first."""
    coarse = score.result or {}
    known = {figure.name for figure in track.figures if figure.by == "submission"}
    found = track.comparison.figures(coarse) if track.comparison.figures else coarse
    figures = {name: value for name, value in found.items() if name in known or track.comparison.figures}
    figures = {**dict([score._headline, score._second]), **figures}
    return {name: value for name, value in figures.items() if name and _is_number(value)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_submission(path: str, ignored: Collection[str] = (), limits: Limits | None = None) -> Submission:
    """The submission in a folder, or a file or an archive.

    `ignored`: names of files that the platform adds to the folder. If there is only one data file or archive besides
    them, it is the submission.
    """
    if not os.path.isdir(path):
        return submission_at(path, limits=limits)
    others = [name for name in os.listdir(path) if name not in ignored and not name.startswith(".")]
    only = os.path.join(path, others[0]) if len(others) == 1 else ""
    if os.path.isfile(only) and not os.path.islink(only) and (has_data_extension(only) or is_archive(only)):
        return submission_at(only, limits=limits)
    return _without(submission_at(path, limits=limits), {os.path.join(path, name) for name in ignored})


def _without(submission: Submission, ignored: Collection[str]) -> Submission:
    files = tuple(given for given in submission.files if given[0] not in ignored)
    skipped = tuple(file for file in submission.skipped if file.path not in ignored)
    error = submission.error if files else no_data_files(Expanded([], skipped))
    return replace(submission, files=files, skipped=skipped, error=error)
