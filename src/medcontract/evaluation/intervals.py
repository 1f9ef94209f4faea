"""Intervals of a score: what is drawn, and what participants and rankings see of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from medcontract.evaluation.loading import Truth
from medcontract.results.score import Intervals
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.rational import coarse
from medcontract.scoring.scorer import Answers, Finished, Scorer

if TYPE_CHECKING:
    from medcontract.evaluation.score import Scored
    from medcontract.scoring.resampling import Samples


def drawn(truth: Truth) -> Samples:
    """Return what is drawn for intervals, which all submissions share."""
    from medcontract.scoring.resampling import samples_of

    scorer = truth.scorer
    key = tuple(truth.expected), *(scorer.protocol.values.get(name) for name in ("resamples", "cluster"))
    if key not in truth.samples:
        truth.samples[key] = samples_of(truth.track, scorer.pairs, truth.expected, scorer.protocol)
    found: Samples = truth.samples[key]
    return found


def shown_intervals(found: Intervals | None, result: dict[str, Any] | None, participant: bool) -> Intervals | None:
    """Return the intervals; for participants rounded, and only of the figures that they see, without replicates."""
    if found is None or result is None:
        return None
    if not participant:
        return found
    from medcontract.scoring.resampling import value_at

    visible = {place for place in found.figures if value_at(result, place) is not None}
    figures = {place: _coarse(bounds) for place, bounds in found.figures.items() if place in visible}
    undefined = {place: reason for place, reason in found.undefined.items() if place in visible}
    return replace(found, figures=figures, undefined=undefined, replicates=None, _headline=_coarse(found._headline))


def _coarse(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    return bounds and (coarse(bounds[0]), coarse(bounds[1]))


# --- rankings, whose protocol may depend on all submissions


class KeptDocument(NamedTuple):
    """An auxiliary file, by field, in a form that can be kept and sent."""

    fields: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None


class KeptAnswers(Struct, kw_only=True):
    """Answers without the truth, in a form that can be kept and sent."""

    marks: dict[str, dict[str, list[Any]]]
    """By the contract of the truth, then by run: the mark of each item."""
    documents: dict[str, Any]
    headers: dict[str, dict[str, Any]]
    names: dict[str, tuple[str, ...]]
    settings: dict[str, str]

    @classmethod
    def of(cls, answers: Answers) -> KeptAnswers:
        documents = {
            name: KeptDocument(asdict(each)) if isinstance(each, Struct) else each
            for name, each in answers.documents.items()
        }
        marks = {
            truth: {run: marks.listed(pairing.expected.total) for run, marks in pairing.runs().items()}
            for truth, pairing in answers.pairings.items()
        }
        return cls(
            marks=marks, documents=documents, headers=answers.headers, names=answers.names, settings=answers.settings
        )

    def with_truth(self, truth: Truth) -> Answers:
        pairings = {}
        for pair in truth.scorer.pairs:
            if pair.truth in self.marks:
                pairings[pair.truth] = pairing = Pairing(pair, truth.expected[pair.truth])
                for run, listed in self.marks[pair.truth].items():
                    pairing.named.add(run)
                    marked = [number for number, mark in enumerate(listed) if mark is not None]
                    pairing.marks_of(run).add(marked, [listed[number] for number in marked])
        return Answers(
            pairings=pairings, documents=self.documents, headers=self.headers, names=self.names, settings=self.settings
        )


def final_intervals(scored: Scored, verdict: Finished, truth: Truth, scorer: Scorer) -> Intervals | None:
    """Return the intervals under the final protocol of a ranking, which may not be that of the score."""
    if scored.intervals is None or verdict.result is None or scored.answers is None:
        return None if verdict.result is None else scored.intervals
    if scored.protocol == scorer.protocol:
        return scored.intervals
    from medcontract.scoring.resampling import intervals_of

    answers, few = scored.answers.with_truth(truth), not scored.intervals.figures
    return intervals_of(truth.track, scorer, answers, verdict, drawn(truth), only_ranked=few).intervals
