"""The result of each submission of a ranking, for its participants: what `score` would return."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from medcontract.errors import MedcontractError, unexpected
from medcontract.evaluation.build_results import score_result
from medcontract.evaluation.contest import Contest, Refused
from medcontract.evaluation.plugin_checks import verdict_of
from medcontract.evaluation.score import Scored
from medcontract.results.score import Score
from medcontract.scoring import tracks
from medcontract.scoring.processing_gate import Verdict
from medcontract.scoring.scorer import Scorer


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
