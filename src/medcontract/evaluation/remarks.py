"""Warnings about answers that satisfy their contract, but are probably not intended: the same in `score`, `preflight`
and rankings. They are computed from what is kept of each record, so they do not depend on the engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace

from medcontract.evaluation.near_misses import damage_of, near_pairs, only_in_spelling
from medcontract.problems import plain_name, plural, shorten
from medcontract.results.validation import Problem
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair, Pairing, Vocabulary
from medcontract.scoring.rational import coarse
from medcontract.scoring.scorer import Answers, Finished, Remark, Scorer
from medcontract.scoring.track import Track


def error(code: str, message: str, hint: str | None = None, value: str | None = None) -> Problem:
    return Problem(code=code, severity="error", message=message, hint=hint, _value=value)


def warning(code: str, message: str, hint: str | None = None, value: str | None = None) -> Problem:
    return Problem(code=code, severity="warning", message=message, hint=hint, _value=value)


_MOST_KEPT = 1000
_EXAMPLES = 3


class LabelTally:
    """The predicted labels of one vocabulary. Only the first labels that are not in the truth are kept."""

    def __init__(self, pair: Pair, vocabulary: Vocabulary) -> None:
        self.pair = pair
        self.vocabulary = vocabulary
        self.total = 0
        """All predicted labels, including repeated ones."""
        self.matched = 0
        """Labels that occur in the truth."""
        self.unknown: dict[str, None] = {}
        """The first labels that do not, in order."""
        self.expected: dict[str, None] = {}
        """The labels of the truth; empty without one."""
        self._forms: set[str] = set()

    def expect(self, items: Iterable[Any]) -> None:
        """Collect the labels of the truth, sorted: a track may list the labels of an item as a set."""
        self.expected = dict.fromkeys(sorted({label for item in items for label in self.vocabulary.expected(item)}))
        self._forms = {form for label in self.expected for form in self.vocabulary.forms(label)}

    def count(self, labels: Iterable[str]) -> None:
        """Count predicted labels."""
        for label in labels:
            self.total += 1
            if not self._forms.isdisjoint(self.vocabulary.forms(label)):
                self.matched += 1
            elif len(self.unknown) < _MOST_KEPT:
                self.unknown[label] = None


def as_problem(remark: Remark) -> Problem:
    return Problem(code=remark.code, severity=remark.severity, message=remark.message, hint=remark.hint)


def as_warning(remark: Problem) -> str:
    return f"{remark.code} {remark.message}{f': {remark.hint}' if remark.hint else ''}"


def on_impressions(pairings: Iterable[Pairing]) -> Iterator[Problem]:
    """Find what all answers have in common, and should not."""
    for pairing in pairings:
        if pairing.pair.watch:
            yield from (warning(*each) for each in pairing.impression.remarks(pairing.pair.watch))


def on_answers(pairings: Iterable[Pairing], participant: bool) -> Iterator[Problem]:
    """Find what looks wrong in the ids and the labels of a submission that was paired with a truth."""
    for pairing in pairings:
        yield from on_ids(pairing)
        for vocabulary in pairing.pair.vocabularies:
            if vocabulary.kept:
                tally = LabelTally(pairing.pair, vocabulary)
                tally.expect(pairing.expected.items)
                marks = {mark for run in pairing.marks_by_run.values() for mark in run.values()}
                kept = (vocabulary.kept(mark) for mark in marks if type(mark) is not Unscored)
                tally.count(sorted(set[str]().union(*kept)))
                yield from on_labels(tally, participant) if tally.expected and tally.total else ()
                yield from on_empty_labels(tally)


def on_labels(tally: LabelTally, participant: bool) -> Iterator[Problem]:
    """Report if no label is known, and if labels only differ in spelling, which participants do not see."""
    name = tally.vocabulary.name
    near = [] if participant else near_pairs(tally.unknown, tally.expected)
    if not tally.matched:
        message = f"none of the predicted {name} occurs in the truth"
        shown = None if participant else _examples(tally.unknown, tally.expected)
        yield error("MC404", message, "check how they are written", shown)
    if near:
        message = f"{plural(len(near), 'label')} among the {name} {only_in_spelling(near, 'the truth')}"
        mine, true = zip(*near, strict=True)
        yield warning("MC502", message, "write them as in the truth", _examples(mine, true))


_NO_LABEL = (
    r"(?:none|nothing|no|n/?a|nan|null|nil|ninguno|ninguna|nada|-"
    r"|no (?:\w+ ){0,2}(?:interventions?|findings?|actions?|groups?|labels?|entit(?:y|ies))(?: \w+)?)\.?"
)


def on_empty_labels(tally: LabelTally) -> Iterator[Problem]:
    """Warn of labels that say that there is none. It depends on the submission only, but for the names of the truth."""
    found = [label for label in tally.unknown if re.fullmatch(_NO_LABEL, label.strip(), re.IGNORECASE)]
    if found:
        message = f"a label among the {tally.vocabulary.name} says that there is none, and counts as one"
        yield warning("MC508", message, "leave the list empty", _examples(found, tally.expected))


def _examples(mine: Iterable[str], true: Iterable[str]) -> str:
    few = [", ".join(repr(shorten(label)) for label in islice(labels, _EXAMPLES)) for labels in (mine, true)]
    return "; in the truth: ".join(few)


def on_ids(pairing: Pairing) -> Iterator[Problem]:
    """Find unknown ids that are damaged. It depends on the submission only, so participants see it."""
    if pairing.unknown_count and (found := damage_of(pairing.unknown)):
        damage, times = found
        least = "at least " if len(pairing.unknown) < pairing.unknown_count else ""
        yield warning("MC503", f"{least}{plural(times, 'unknown id')} {damage.says}", damage.hint)


def on_figures(track: Track, verdict: Finished) -> Iterator[Problem]:
    """Warn if a figure of the submission is 0 or less, or shows that the answers are inverted. Participants see both.

    Not if 0 is nothing special: if lower is better, or if the figure has no bounds.
    """
    if not verdict.valid:
        return
    unbounded = {figure.name for figure in track.figures if figure.low is None and figure.high is None}
    figures = {verdict.headline_name or track.headline: verdict.headline, track.second: verdict.second}
    low = [
        (name, coarse(float(value)))  # participants see it
        for name, value in figures.items()
        if value is not None and value <= 0 and name not in unbounded | track.better_lower
    ]
    zero: list[str] = []
    others = track.comparison.figures_in(verdict.result or {})
    for figure in track.figures:
        value = others.get(figure.name)
        if figure.by != "submission" or not isinstance(value, float) or figures.get(figure.name) is not None:
            continue
        if value == 0 == figure.low and figure.perfect and not figure.lower_is_better:
            zero.append(plain_name(figure.name))
        elif figure.inverted_below is not None and value < figure.inverted_below:
            message = f"{plain_name(figure.name)} is {coarse(value):g}: worse than chance"
            yield warning("MC508", message, "are the answers inverted, such as the probability of the other class?")
    messages = [f"{plain_name(name)} is {shown:g}" for name, shown in low]
    if zero and not messages:
        messages = [f"{', '.join(zero)} {'are' if zero[1:] else 'is'} 0"]
    yield from (warning("MC504", message, "check that answers and truth belong together") for message in messages)


_MOST_COMPARED = 20_000
"""With more expected items, the same answer for all of them is not scored, which takes as long as the submission."""


def on_constant_answer(track: Track, scorer: Scorer, answers: Answers, verdict: Finished) -> Iterator[Remark]:
    """Warn if the same answer for all items would be better: it reveals something about the labels."""
    expected = sum(pairing.expected.total for pairing in answers.pairings.values())
    if not verdict.valid or not verdict.result or expected > _MOST_COMPARED:
        return
    mine, constant = (track.comparison.figures_in(each) for each in (verdict.result, _constant(scorer, answers)))
    worse = []
    for figure in track.figures:
        value, best = mine.get(figure.name), constant.get(figure.name)
        if figure.perfect is None or figure.rewards_constant or figure.by != "submission":
            continue
        if type(value) is not float or type(best) is not float:
            continue
        reported = value == 0 if figure.inverted_below is None else value < figure.inverted_below
        if value > best if figure.lower_is_better else value < best and not reported:
            worse.append(plain_name(figure.name))
    if worse:
        left = len(worse) - _EXAMPLES
        names = ", ".join(worse[:_EXAMPLES]) + (f" and {plural(left, 'other')}" if left > 0 else "")
        yield Remark(
            contract=scorer.pairs[0].submission, code="MC508", reveals_truth=True,
            message=f"the same answer for all items would be better: {names}",
            hint="check the order of the answers, their unit, and that they belong to this truth",
        )  # fmt: skip


def _first_of(mark: Any, _: Any) -> Any:
    return mark


def _constant(scorer: Scorer, answers: Answers) -> Mapping[str, Any]:
    """Return the result of the same answer for all processed items; nothing if the track does not say which."""
    pairings = {}
    for truth, pairing in answers.pairings.items():
        mark = scorer.constant(pairing.expected.items) if pairing.expected.items else None
        if mark is None:
            return {}
        pairings[truth] = pairing.changed(partial(_first_of, mark))
    return scorer.figures(scorer.tally(replace(answers, pairings=pairings))).result or {}


_FIRST_YEAR, _LAST_YEAR = 2000, 2099
_DATE = "evaluation_date"
_NAMES = {"team_name": "name of the team", "model_id": "name of the model"}
_PLACEHOLDER = (
    r"\{\{.*\}\}|\$\{.*\}|<.*>|\[.*\]|%\w+%|todo|tbd|xxx+|string|example|placeholder"
    r"|(?:(?:your|my|the)[ _-]?)?(?:team|model)[ _-]?(?:name|id)(?:[ _-]?here)?"
    r"|(?:nombre[ _-]de(?:l|[ _-]su)[ _-])?equipo"
)


def on_headers(headers: Iterable[Mapping[str, Any]], documents: Iterable[Any]) -> Iterator[Problem]:
    """Warn of names and dates that cannot be right. The date of today does not count: results do not depend on it."""
    every = list(headers)
    for name, what in _NAMES.items():
        if any(
            isinstance(text := each.get(name), str) and re.fullmatch(_PLACEHOLDER, text.strip(), re.IGNORECASE)
            for each in every
        ):
            yield warning("MC508", f"'{name}' is a placeholder", f"write the {what}")
    dates = [header.get(_DATE) for header in every] + [getattr(each, _DATE, None) for each in documents]
    years = [int(date[:4]) for date in dates if isinstance(date, str)]
    if any(not _FIRST_YEAR <= year <= _LAST_YEAR for year in years):
        yield warning("MC508", f"'{_DATE}' is not between {_FIRST_YEAR} and {_LAST_YEAR}", "check the year")
    elif years and max(years) - min(years) > 1:
        yield warning("MC508", f"the files name years of '{_DATE}' that are far apart", "check the years")
