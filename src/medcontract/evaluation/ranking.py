"""Ranks many submissions against one truth, or scores a single one as in a ranking."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.errors import CallError, MedcontractError, report_plugin_errors, unexpected
from medcontract.evaluation.contest import FLAGS, Contest, first_error, scores
from medcontract.evaluation.files import GivenFile, gather, read
from medcontract.evaluation.result import Scored, described_input, occasion, processing, score_result, title, versions
from medcontract.evaluation.settings import Settings
from medcontract.evaluation.submissions import FoundSubmissions, Submission, Teams
from medcontract.problems import is_plain, plural, shorten
from medcontract.results.leaderboard import Leaderboard, LeaderboardEntry
from medcontract.results.score import ProtocolUsed, Score
from medcontract.scoring import tracks
from medcontract.scoring.expected import Expected
from medcontract.scoring.pairing import Pair
from medcontract.scoring.rational import coarse, rounded_or_none
from medcontract.scoring.scorer import Finished, Scorer
from medcontract.scoring.scorer_checks import figures_of, for_participants
from medcontract.scoring.track import Track

if TYPE_CHECKING:
    from medcontract.cache import ResultCache

NO_TEAMS = Teams(())
_MOST_COPIES = 5


@report_plugin_errors()
def leaderboard(
    truth: Sequence[GivenFile],
    found: FoundSubmissions,
    settings: Settings,
    feedback: Callable[[int, Score], object] | None = None,
    cache: ResultCache | None = None,
    teams: Teams = NO_TEAMS,
    blind: bool = False,
) -> Leaderboard:
    """Score and rank submissions. Raises `CallError` for a usage error, `MedcontractError` for a truth with errors.

    `feedback` is called with the index of each submission, and its result, when all are scored. `cache`: scores that
    are kept from an earlier ranking. `blind`: leave out ranks and figures.
    """
    submissions = found.submissions
    one = settings._replace(progress=None, jobs=settings.jobs if len(submissions) == 1 else 1)
    contest = Contest(tuple(truth), one, complete=feedback is not None)
    with ExitStack() as stack:
        store = None
        if feedback:
            import tempfile  # slow to import, and only needed for reports

            store = stack.enter_context(tempfile.TemporaryFile(prefix="medcontract-"))
        scored = _all_scores(contest, submissions, settings, store, cache)
        named = [(submission.name, each) for submission, each in zip(submissions, scored, strict=True)]
        competing = [(name, each.tally) for name, each in named if each.verdict.valid and each.tally]
        compare = contest.track.ranking.warnings
        compared = tuple(compare(contest.scorer.protocol, competing)) if compare and not blind else ()
        if contest.use_final_protocol([tally for _, tally in competing]) and contest.intervals:
            scored = _all_scores(contest, submissions, settings, store, cache)
        for number, each in enumerate(scored):
            _set_team(each, teams.of(number))
        candidates = [
            _candidate(number, submission.name, each, contest)
            for number, (submission, each) in enumerate(zip(submissions, scored, strict=True))
        ]
        notes = [*found.notes, *teams.notes]
        if not blind:
            notes += sorted(_copied([candidates[n] for n in group]) for group in _copies(contest, submissions, scored))
        board = _board(contest, candidates, compared, notes, teams, blind)
        if feedback and store:
            store.seek(0)
            for number in range(len(scored)):
                outcome: Scored = pickle.load(store)  # noqa: S301  # written by this process
                _set_team(outcome, teams.of(number))
                feedback(number, feedback_on(outcome, contest, None if blind else candidates[number].rank))
    return board


def _all_scores(
    contest: Contest,
    submissions: Sequence[Submission],
    settings: Settings,
    store: IO[bytes] | None,
    cache: ResultCache | None,
) -> list[Scored]:
    """Return what a ranking needs of each score. Raises `CallError` if all fail because of the call.

    `store` gets the complete scores, which may not fit in memory. They are needed when all submissions are scored,
    since the protocol may depend on all of them.
    """
    if store:
        store.seek(0)
        store.truncate()
    outcomes = scores(contest, submissions, settings.jobs)
    if cache:
        from medcontract.evaluation.cached import cached_scores

        outcomes = cached_scores(cache, contest, submissions, settings.jobs)
    scored: list[Scored] = []
    for number, outcome in enumerate(outcomes, 1):
        if store:
            pickle.dump(outcome, store)
        scored.append(contest.slim(outcome) if store else outcome)
        if settings.progress:
            settings.progress(number, len(submissions))
    if scored and all(each.failure == "call" for each in scored):
        raise CallError(scored[0].verdict.reasons[0])
    return scored


def _set_team(scored: Scored, team: str | None) -> None:
    """Use the team of the organizer's table, and say so if the submission names another one."""
    if team is not None and scored.team not in (None, team):
        scored.verdict.warnings += (f"its files name {shorten(scored.team or '')}, but --teams names another team",)
    scored.team = team or scored.team


def _copied(group: Sequence[_Candidate]) -> str:
    names = sorted(each.name if each.scored.team is None else f"{each.scored.team} ({each.name})" for each in group)
    more = f" and {len(names) - _MOST_COPIES:,} more" if len(names) > _MOST_COPIES else ""
    return f"{', '.join(map(shorten, names[:_MOST_COPIES]))}{more}: their predictions are identical, record by record"


def _copies(contest: Contest, submissions: Sequence[Submission], scored: Sequence[Scored]) -> Iterator[list[int]]:
    """Return the numbers of submissions with identical predictions, by group. Files are read only if sums agree."""
    alike: dict[str, list[int]] = {}
    for number, each in enumerate(scored):
        if each.sums:
            alike.setdefault(each.sums, []).append(number)
    answers = {pair.submission: pair for pair in contest.scorer.pairs}
    for numbers in alike.values():
        if len(numbers) < 2:
            continue
        known: dict[Hashable, Hashable] = {}
        same: dict[Hashable, list[int]] = {}
        for number in numbers:
            files = tuple((f.contract, f.sha256) for f in scored[number].inputs if f.contract in answers)
            if files not in known:
                content = _content_of(contest, submissions[number], answers)
                known[files] = files if content is None else content
            same.setdefault(known[files], []).append(number)
        yield from (group for group in same.values() if len(group) > 1)


def _content_of(contest: Contest, submission: Submission, answers: dict[str, Pair]) -> Hashable:
    """Hash the records of a submission; None if some are not valid, or if it cannot be read again."""
    hashes = []
    try:
        groups = gather(submission.files, contest.settings, submission.paths, role="submission").groups
        for contract_id, parts in sorted(groups.items()):
            if contract_id in answers:
                records = Expected(answers[contract_id].key, lambda record: None)
                read(parts, records)
                if any(part.collector.errors for part in parts):
                    return None
                hashes.append((contract_id, records.content_sha256()))
    except MedcontractError:
        return None
    return tuple(hashes)


def feedback_on(scored: Scored, contest: Contest, rank: int | None = None) -> Score:
    """Return the result of a submission. It agrees with its entry in the ranking."""
    try:
        verdict = _final_verdict(scored, contest.scorer)
        score = score_result(replace(scored, verdict=verdict, protocol=contest.scorer.protocol))
        return replace(score, _display=replace(score._display, rank=rank))
    except MedcontractError:
        raise
    except Exception as error:  # noqa: BLE001  # as in the ranking
        return score_result(contest.refused(unexpected(error)))


def _final_verdict(scored: Scored, scorer: Scorer) -> Finished:
    """Return the verdict under the protocol that results from all valid submissions, if it depends on them.

    Warnings about figures refer to the final figures.
    """
    if scored.tally is None or scored.verdict.result is None or scored.protocol == scorer.protocol:
        return scored.verdict
    again = figures_of(tracks.track(scored.track), scorer, scored.tally)
    others = tuple(each for each in scored.verdict.warnings if each not in scored.about_figures)
    new = tuple(each for each in again.reasons if each not in scored.verdict.reasons)
    return replace(again, warnings=again.warnings + others, reasons=scored.verdict.reasons + new)


class _Candidate(Struct, kw_only=True):
    """A submission during ranking, with exact figures in its verdict."""

    number: int
    """Its place in the call."""
    name: str
    scored: Scored
    verdict: Finished
    figures: dict[str, float | None]
    """The figures of the whole submission."""
    rank: int | None = None
    headline: float | None = None
    """The figure that it is ranked by."""
    order: tuple[Fraction, ...] = ()
    """The exact figure and the tie-breakers, the best first; empty if it is not ranked."""

    @property
    def by_name(self) -> tuple[str, str, list[str]]:
        """A sort key that does not depend on the order of the call: team, folder and content."""
        return self.scored.team or self.name, self.name, [each.sha256 for each in self.scored.inputs]


def _candidate(number: int, name: str, scored: Scored, contest: Contest) -> _Candidate:
    track = contest.track
    try:
        verdict = _final_verdict(scored, contest.scorer)
        result = verdict.result or {}
        if verdict is not scored.verdict:
            result = for_participants(track, result, rounded_or_none(verdict.headline))
        figures = figures_of_submission(track, result)
    except MedcontractError:
        raise
    except Exception as error:  # noqa: BLE001  # like in `Contest.score`
        return _candidate(number, name, contest.refused(unexpected(error)), contest)
    own = tuple(file for file in scored.inputs if file.content_sha256 is None)
    scored = replace(scored, inputs=own)
    return _Candidate(number=number, name=name, scored=scored, verdict=verdict, figures=figures)


def _board(
    contest: Contest,
    candidates: Sequence[_Candidate],
    compared: Sequence[str],
    notes: Sequence[str],
    teams: Teams,
    blind: bool,
) -> Leaderboard:
    """Return the ranking. Warnings: `compared` about the submissions as a whole, `notes` about other files."""
    track, participant = contest.track, contest.settings.participant
    valid = [each.verdict for each in candidates if each.verdict.valid]
    having = sum(verdict.headline is not None for verdict in valid)
    # So a single submission can neither exclude the others by adding a file nor change the ranking by omitting one.
    by = "second" if track.second and 2 * having < len(valid) else "headline"
    lower_is_better = getattr(track, by) in track.better_lower
    ranked = teams.counted(_ranked(candidates, by, lower_is_better), attrgetter("number"))
    left_out = len(candidates) - len(ranked)
    others = [f"{plural(left_out, 'other attempt')} of the teams not ranked (--attempts {teams.attempts})"]
    ranked = _ranked(ranked, by, lower_is_better)
    warnings = (*contest.notes, *notes, *(others if left_out else ()), *compared, *_shared_warnings(ranked))
    headline = (ranked[0].verdict.headline_name if by == "headline" else None) or getattr(track, by)
    board = Leaderboard(
        track=track.id,
        protocol=ProtocolUsed(**contest.scorer.protocol.describe()),
        truth=tuple(described_input(part, contest.truth) for part in ([] if participant else contest.parts)),
        combined=contest.combined,
        headline=headline,
        warnings=warnings,
        submissions=tuple(_entries(ranked, headline, participant, blind)),
        blind=blind or None,
        **versions(),
        _title=title(),
        _occasion=occasion(contest.truth),
        _figures=track.figures,
        _lower_is_better=headline in track.better_lower,
        _entrant=track.entrant,
    )
    if blind or not contest.intervals:
        return board
    from medcontract.evaluation.certainty import RankedRow, with_intervals

    rows = []
    for each in ranked:
        if each.rank is not None:
            its = each.scored.intervals
            rows.append(RankedRow(getattr(each.verdict, by), its, its._ranked_by.get(by) if its else None))
    clustered = bool(contest.scorer.protocol.word("cluster"))
    return with_intervals(board, rows, lower_is_better, clustered, *([coarse] if participant else []))


def _ranked(candidates: Sequence[_Candidate], by: str, lower_is_better: bool) -> list[_Candidate]:
    """Sort by the exact figure, then by tie-breakers; what is equal shares a rank, and is sorted by team name.

    Candidates that are not valid are last, by name.
    """
    sign = 1 if lower_is_better else -1
    for each in candidates:
        value = getattr(each.verdict, by) if each.verdict.valid else None
        each.rank, each.headline = None, rounded_or_none(value)
        each.order = () if value is None else (sign * value, *(-other for other in each.verdict.tie_breakers))
    good = sorted((each for each in candidates if each.order), key=lambda each: (each.order, *each.by_name))
    for place, each in enumerate(good):
        is_tied = place > 0 and each.order == good[place - 1].order
        each.rank = good[place - 1].rank if is_tied else place + 1
    rest = [each for each in candidates if not each.order]
    return good + sorted(rest, key=lambda each: (not each.verdict.valid, *each.by_name))


def _shared_warnings(candidates: Sequence[_Candidate]) -> list[str]:
    """Return the warnings that all scored submissions have; they are removed from each."""
    verdicts = [each.verdict for each in candidates if each.verdict.processing is not None]
    if len(verdicts) < 2:
        return []
    shared = [text for text in verdicts[0].warnings if all(text in verdict.warnings for verdict in verdicts)]
    for verdict in verdicts:
        verdict.warnings = tuple(text for text in verdict.warnings if text not in shared)
    return shared


def _entries(ranked: Sequence[_Candidate], headline: str, participant: bool, blind: bool) -> Iterator[LeaderboardEntry]:
    """Return the entries. A name of a figure that may contain data is replaced by a number.

    `blind`: without ranks and figures, by name.
    """
    if blind:
        ranked = sorted(ranked, key=lambda each: (not each.verdict.valid, *each.by_name))
    names = dict.fromkeys(name for each in ranked for name in each.figures)
    hidden = sorted(name for name in names if not is_plain(name) and name != headline)
    shown_names = {**{name: name for name in names}, **{name: f"…{n}" for n, name in enumerate(hidden, 1)}}
    shown = coarse if participant else lambda value: value
    for each in ranked:
        verdict, scored = each.verdict, each.scored
        decision: Any = verdict.decision or None
        yield LeaderboardEntry(
            rank=None if blind else each.rank,
            name=each.name,
            team_name=scored.team,
            valid=verdict.valid,
            headline=None if blind else shown(each.headline),
            decision=None if blind else decision,
            figures={} if blind else shown({shown_names[name]: value for name, value in each.figures.items()}),
            processing=processing(verdict.processing, scored.elsewhere),
            reasons=verdict.reasons,
            problem=None if verdict.valid else next(iter(first_error(scored.problems)), None),
            warnings=verdict.warnings,
            inputs=scored.inputs,
            _number=each.number,
            _flags=tuple(sorted({remark.code for remark in scored.remarks} & FLAGS)),
        )


def score_alone(contest: Contest, submission: Submission) -> tuple[Score, dict[str, float]]:
    """Return the score of an untrusted submission, and its defined figures by name, the headline first.

    Never raises because of the submission. What a ranking derives from all submissions has to be in the protocol.
    """
    score = feedback_on(contest.score(submission), contest)
    figures = {**score._display.headlines, **figures_of_submission(contest.track, score.result)}
    return score, {
        name: value
        for name, value in figures.items()
        if name and isinstance(value, int | float) and not isinstance(value, bool)
    }


def figures_of_submission(track: Track, result: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the figures of the whole submission in a result, by name."""
    if not result:
        return {}
    if track.comparison.figures:
        return dict(track.comparison.figures(result))
    known = {figure.name for figure in track.figures if figure.by == "submission"}
    return {name: value for name, value in result.items() if name in known}


def rankable_figures(contest: Contest) -> tuple[str, ...]:
    """Return the names of the figures that submissions can be ranked by, the usual one first."""
    track, first = contest.track, contest.track.headline
    if type(contest.scorer).combined is not Scorer.combined:
        first = next(iter(contest.combined)) if contest.combined else ""
    return tuple(name for name in (first, track.second) if name)
