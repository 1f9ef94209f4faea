"""Scores of submissions that were kept from an earlier ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from medcontract.cache import ResultCache
from medcontract.evaluation.cached import FileContent, Uncacheable, hashed, key_of
from medcontract.evaluation.contest import Contest, Refused, scores
from medcontract.evaluation.score import Scored
from medcontract.evaluation.submissions import Submission
from medcontract.scoring.scorer import Tally
from medcontract.validation.parts import base_name

KIND = "leaderboard"


class _Known(Struct):
    """A submission whose score can be kept."""

    key: str
    files: tuple[FileContent, ...]


def cached_scores(
    cache: ResultCache, contest: Contest, submissions: Sequence[Submission], jobs: int | None
) -> Iterator[Scored | Refused]:
    """The score of each submission, in order: kept ones from the cache, the others computed and then kept."""
    known = list(_known(contest, submissions))
    missing = [s for s, each in zip(submissions, known, strict=True) if each is None or not cache.has(each.key)]
    waiting = {id(each) for each in missing}
    computed = scores(contest, missing, jobs)
    for submission, each in zip(submissions, known, strict=True):
        outcome = None
        if each is not None and id(submission) not in waiting:
            outcome = _complete(cache.get(each.key), contest)
            if outcome is None:  # damaged
                outcome = contest.score(submission)
                _keep(cache, contest, each, outcome)
        else:
            outcome = next(computed)
            _keep(cache, contest, each, outcome)
        yield outcome


def _known(contest: Contest, submissions: Iterable[Submission]) -> Iterator[_Known | None]:
    """The key of each submission; None if its score cannot be kept."""
    job = contest.job
    settings = job.settings._replace(progress=None, jobs=1, pool=None)
    truth = [(part.contract.id, part.name, part.source.sha256()) for part in contest.parts]
    common = (contest.track.id, contest.scorer.protocol.fingerprint, truth, job.parameters, job.header, job.complete)
    for submission in submissions:
        try:
            files = [(hashed(path, settings.limits), contract_id) for path, contract_id in submission.files]
            measured = [hashed(path, settings.limits) for path in submission.measured or ()]
            key = key_of(
                KIND, *common, tuple(settings), submission.name, submission.error, submission.is_folder,
                submission.is_archive, [(file.name, file.reason) for file in submission.skipped],
                [(base_name(file.path), file.sha256, contract_id) for file, contract_id in files],
                None if submission.measured is None else [(base_name(file.path), file.sha256) for file in measured],
            )  # fmt: skip
        except Uncacheable:
            yield None
        else:
            yield _Known(key, (*(file for file, _ in files), *measured))


def _keep(cache: ResultCache, contest: Contest, known: _Known | None, outcome: Scored | Refused) -> None:
    """Keep a score, unless a file changed meanwhile, or it says nothing about the submission."""
    if known is None or (isinstance(outcome, Refused) and (outcome.wrong_call or outcome.failed)):
        return
    if all(file.unchanged for file in known.files):
        cache.put(known.key, KIND, _reduced(outcome, contest))


def _reduced(outcome: Scored | Refused, contest: Contest) -> Scored | Refused:
    """The outcome without what the track knows, and without a tally that is not needed any more."""
    if isinstance(outcome, Refused):
        return outcome
    tally = outcome.tally
    if tally is not None and contest.track.ranking.protocol is None:
        tally = Tally(expected=tally.expected, processed=tally.processed, data=None)
    return replace(outcome, figures=(), tally=tally)


def _complete(found: object, contest: Contest) -> Scored | Refused | None:
    if isinstance(found, Scored):
        return replace(found, figures=contest.track.figures)
    return found if isinstance(found, Refused) else None
