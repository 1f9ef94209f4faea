"""Scores and ranks many submissions against one truth."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from medcontract.errors import CallError, MedcontractError, report_plugin_errors, unexpected
from medcontract.evaluation.build_results import processing, protocol_used, score_result, versions
from medcontract.evaluation.contest import Contest, Job, Refused, first_error, scores
from medcontract.evaluation.inputs import GivenFile, Settings
from medcontract.evaluation.plugin_checks import for_participants, verdict_of
from medcontract.evaluation.score import Scored, input_file
from medcontract.evaluation.submissions import Measured, Submission
from medcontract.problems import is_plain
from medcontract.results.leaderboard import Leaderboard, LeaderboardEntry
from medcontract.results.score import FileProblem, InputFile, Score
from medcontract.scoring import tracks
from medcontract.scoring.processing_gate import Verdict
from medcontract.scoring.rational import coarse, rounded, rounded_or_none
from medcontract.scoring.scorer import Scorer, Tally
from medcontract.scoring.track import Track

if TYPE_CHECKING:
    from medcontract.cache import ResultCache


class ScoreStore:
    """Complete scores in a temporary file: those of thousands of submissions may not fit in memory.

    They are needed when all submissions are scored, since the protocol may depend on all of them.
    """

    def __init__(self) -> None:
        import tempfile  # slow to import, and only needed for reports

        self._file = tempfile.TemporaryFile(prefix="medcontract-")  # noqa: SIM115  # closed by `__exit__`
        self._offsets: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, outcome: Scored | Refused) -> None:
        self._offsets.append(self._file.tell())
        pickle.dump(outcome, self._file)

    def __iter__(self) -> Iterator[Scored | Refused]:
        """Every outcome, in the order in which they were added; one at a time is in memory."""
        for offset in self._offsets:
            self._file.seek(offset)
            outcome: Scored | Refused = pickle.load(self._file)  # noqa: S301  # written by this process
            yield outcome


def final_verdict(score: Scored, scorer: Scorer) -> Verdict:
    """The verdict under the protocol that results from all valid submissions, if it depends on them."""
    if score.tally is None or score.verdict.result is None or score.protocol == scorer.protocol:
        return score.verdict
    again = verdict_of(tracks.track(score.track), scorer, score.tally)
    return replace(again, warnings=score.verdict.warnings, reasons=score.verdict.reasons)


def feedback_on(outcome: Scored | Refused, contest: Contest, scorer: Scorer) -> Score:
    """The result of a submission. It agrees with its entry in the ranking."""
    try:
        return _feedback_on(outcome, contest, scorer)
    except MedcontractError:
        raise
    except Exception as error:  # noqa: BLE001  # as in the ranking
        return _feedback_on(Refused(reason=unexpected(error)), contest, scorer)


def _feedback_on(outcome: Scored | Refused, contest: Contest, scorer: Scorer) -> Score:
    if isinstance(outcome, Refused):
        return score_result(_refused(outcome, contest, scorer))
    if contest.track.ranking.protocol is None:
        return score_result(outcome)
    return score_result(replace(outcome, verdict=final_verdict(outcome, scorer), protocol=scorer.protocol))


def _refused(outcome: Refused, contest: Contest, scorer: Scorer) -> Scored:
    verdict = Verdict(valid=False, processing=None, reasons=(outcome.reason,), warnings=outcome.notes)
    track = contest.track
    return Scored(
        track=track.id, protocol=scorer.protocol, inputs=(), verdict=verdict, problems=outcome.problems,
        found=len(outcome.problems), errors=sum(problem.severity == "error" for problem in outcome.problems),
        participant=contest.job.settings.participant, figures=track.figures, headline=track.headline,
        second=track.second,
    )  # fmt: skip


Progress = Callable[[int, int], None]
Feedback = Callable[[int, Score], object]
"""Receives the index of a submission, and its result."""


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
    problem: FileProblem | None = None
    """The first error in its files, if it is not valid."""
    flags: tuple[str, ...] = ()
    """Codes that mark it in the ranking."""


@report_plugin_errors()
def leaderboard(
    truth: Sequence[GivenFile],
    submissions: Sequence[Submission],
    *,
    settings: Settings,
    parameters: Sequence[tuple[str, str]] = (),
    header: Mapping[str, str] | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    measured: Measured | None = None,
    notes: Sequence[str] = (),
    feedback: Feedback | None = None,
    cache: ResultCache | None = None,
) -> Leaderboard:
    """Score and rank submissions. Raises `CallError` for a wrong call, `MedcontractError` for a truth with errors.

    `measured`: measurements by the organizer, which replace those in the submissions. `notes`: warnings about files
    that are not submissions. `feedback` is called for each submission when all are scored. `cache`: scores that are
    kept from an earlier ranking.
    """
    submissions = measured.assigned_to(submissions) if measured else submissions
    job = Job(
        truth=tuple(truth),
        parameters=tuple(parameters),
        header=dict(header or {}),
        settings=settings._replace(progress=None, jobs=jobs if len(submissions) == 1 else 1),
        complete=feedback is not None,
    )
    contest = Contest(job)
    with ExitStack() as stack:
        store = stack.enter_context(ScoreStore()) if feedback else None
        scored = _all_scores(contest, submissions, jobs, progress, store, cache)
        competing = _competing(submissions, scored)
        scorer = contest.final_scorer([tally for _, tally in competing])
        board = _board(contest, submissions, scored, scorer, [*notes, *_measured_notes(measured, submissions)])
        if feedback and store:
            for number, outcome in enumerate(store):
                feedback(number, feedback_on(outcome, contest, scorer))
    return board


def _measured_notes(measured: Measured | None, submissions: Sequence[Submission]) -> list[str]:
    return measured.unknown(submissions) if measured else []


def _board(
    contest: Contest,
    submissions: Sequence[Submission],
    scored: Sequence[Scored | Refused],
    scorer: Scorer,
    notes: Sequence[str],
) -> Leaderboard:
    """The ranking. `notes`: warnings about other files."""
    track, competing = contest.track, _competing(submissions, scored)
    entries = [
        _entry_or_error(submission, outcome, track, scorer)
        for submission, outcome in zip(submissions, scored, strict=True)
    ]
    by = _ranked_by(entries) if track.second else "headline"
    ranked = _ranked(entries, by, getattr(track, by) in track.better_lower)
    warnings = (
        *contest.notes,
        *notes,
        *(track.ranking.warnings(contest.scorer.protocol, competing) if track.ranking.warnings else ()),
        *_shared_warnings(ranked),
    )
    headline = (ranked[0].verdict.headline_name if by == "headline" else None) or getattr(track, by)
    names = _shown_names(ranked, headline)
    participant = contest.job.settings.participant
    return Leaderboard(
        track=track.id,
        protocol=protocol_used(scorer.protocol),
        truth=tuple(input_file(part, contest.truth) for part in ([] if participant else contest.parts)),
        combined=contest.combined,
        headline=headline,
        warnings=warnings,
        submissions=tuple(_result(entry, names, participant) for entry in ranked),
        **versions(),
        _figures=track.figures,
        _lower_is_better=headline in track.better_lower,
        _entrant=track.entrant,
    )


def _all_scores(
    contest: Contest,
    submissions: Sequence[Submission],
    jobs: int | None,
    progress: Progress | None,
    store: ScoreStore | None,
    cache: ResultCache | None,
) -> list[Scored | Refused]:
    """What a ranking needs of each score, or why there is none; `store` gets the complete ones.

    Raises `CallError` if all fail because of the call.
    """
    scored: list[Scored | Refused] = []
    for number, outcome in enumerate(_outcomes(contest, submissions, jobs, cache), 1):
        if store:
            store.add(outcome)
        scored.append(contest.slim(outcome) if store else outcome)
        if progress:
            progress(number, len(submissions))
    refused = [outcome for outcome in scored if isinstance(outcome, Refused) and outcome.wrong_call]
    if refused and len(refused) == len(scored):
        raise CallError(refused[0].reason)
    return scored


def _outcomes(
    contest: Contest, submissions: Sequence[Submission], jobs: int | None, cache: ResultCache | None
) -> Iterator[Scored | Refused]:
    if cache is None:
        return scores(contest, submissions, jobs)
    from medcontract.evaluation.cached_scores import cached_scores

    return cached_scores(cache, contest, submissions, jobs)


def _competing(submissions: Sequence[Submission], scored: Sequence[Scored | Refused]) -> list[tuple[str, Tally]]:
    """The valid submissions, as names and tallies."""
    return [
        (submission.name, score.tally)
        for submission, score in zip(submissions, scored, strict=True)
        if isinstance(score, Scored) and score.valid and score.tally
    ]


def _shown_names(entries: Sequence[Candidate], headline: str) -> dict[str, str]:
    """The names of all figures for display; a name that may contain data is replaced by a number."""
    names = dict.fromkeys(name for entry in entries for name in entry.figures)
    hidden = sorted(name for name in names if not is_plain(name) and name != headline)
    return {**dict(zip(names, names, strict=True)), **{name: f"…{n}" for n, name in enumerate(hidden, 1)}}


def _result(entry: Candidate, names: Mapping[str, str], participant: bool) -> LeaderboardEntry:
    verdict, shown = entry.verdict, coarse if participant else lambda value: value
    decision: Any = verdict.decision or None
    return LeaderboardEntry(
        rank=entry.rank, name=entry.name, team_name=entry.team, valid=verdict.valid, headline=shown(entry.headline),
        decision=decision, figures=shown({names[name]: value for name, value in entry.figures.items()}),
        processing=processing(verdict.processing),
        reasons=verdict.reasons, problem=entry.problem, warnings=verdict.warnings, inputs=entry.inputs,
        _flags=entry.flags,
    )  # fmt: skip


def _entry_or_error(submission: Submission, outcome: Scored | Refused, track: Track, scorer: Scorer) -> Candidate:
    try:
        return _entry(submission, outcome, track, scorer)
    except MedcontractError:
        raise
    except Exception as error:  # noqa: BLE001  # like in `Contest.score`
        return _entry(submission, Refused(reason=unexpected(error)), track, scorer)


def _entry(submission: Submission, outcome: Scored | Refused, track: Track, scorer: Scorer) -> Candidate:
    problem = next(iter(first_error(outcome.problems)), None)
    if isinstance(outcome, Refused):
        verdict = Verdict(valid=False, processing=None, reasons=(outcome.reason,), warnings=outcome.notes)
        return Candidate(name=submission.name, team=None, verdict=verdict, problem=problem)
    verdict = final_verdict(outcome, scorer)
    coarse: dict[str, Any] = verdict.result or {}
    if verdict is not outcome.verdict:
        coarse = for_participants(track, coarse, rounded_or_none(verdict.headline))
    known = {figure.name for figure in track.figures}
    figures = {name: value for name, value in coarse.items() if name in known}
    if track.comparison.figures:
        figures = dict(track.comparison.figures(coarse))
    own = tuple(file for file in outcome.inputs if file.content_sha256 is None)
    return Candidate(
        name=submission.name, team=outcome.team, verdict=verdict, inputs=own, figures=figures,
        problem=None if verdict.valid else problem, flags=outcome.flags,
    )  # fmt: skip


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
