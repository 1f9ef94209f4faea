"""Tries an evaluation before it opens: makes submissions from its truth, and checks what becomes of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

from medcontract.containers import is_table
from medcontract.errors import CallError, report_plugin_errors
from medcontract.evaluation.contest import Contest
from medcontract.evaluation.files import GivenFile, GivenFiles, Kept, read
from medcontract.evaluation.imitating import Made, Sheet, half_right, made, without
from medcontract.evaluation.preflight.checks import preflight
from medcontract.evaluation.ranking import feedback_on, leaderboard
from medcontract.evaluation.result import described_input, title, versions
from medcontract.evaluation.settings import Settings
from medcontract.evaluation.submissions import FoundSubmissions, Submission
from medcontract.problems import plain_name, plural
from medcontract.reading.source import Source
from medcontract.results.rehearsal import Rehearsal, RehearsalCheck, Rehearsed
from medcontract.results.score import ProtocolUsed, Score
from medcontract.results.tables import number
from medcontract.scoring.canonical import record_text
from medcontract.scoring.rational import coarse
from medcontract.validation.dispatch import Part
from medcontract.validation.report import ProblemCollector

OnPlatform = Callable[[Mapping[str, bytes]], "PlatformOutcome"]
StartPlatform = Callable[[Contest, str], OnPlatform]
_CAUSES = {
    "half": ("MC302", "MC401"), "failed": ("MC4", "MC504"), "renamed": ("MC009", "MC101", "MC102"),
    "truncated": ("MC0", "MC302", "MC401"), "swapped": ("MC1", "MC2", "MC3"),
}  # fmt: skip
"""The codes, or their beginnings, that name the right cause."""
_MOST_LEFT_OUT, _MOST_RECORDS = 25, 200_000
_STANDARD_ERRORS = 5
"""From how many standard errors on neighboring answers are no longer alike by chance."""


class PlatformOutcome(NamedTuple):
    """What a platform makes of a submission: figures by name, the headline first, or the reason why there are none."""

    figures: Mapping[str, float]
    reason: str = ""


@report_plugin_errors()
def rehearse(
    truth: Sequence[GivenFile],
    baselines: Sequence[Submission],
    settings: Settings,
    platform: str | None = None,
    on_platform: StartPlatform | None = None,
) -> Rehearsal:
    """Rehearse. Raises `CallError` for a truth that no submission can be made from, `MedcontractError` for a wrong one.

    `baselines` are submissions that are known to be better than chance. `on_platform` returns what scores a submission
    through the bundle of a platform, ranked by a headline.
    """
    plain = settings._replace(intervals=False)  # of two submissions only, at the end
    contest = Contest(tuple(truth), plain._replace(progress=None, jobs=1))
    wanted = settings.wants_intervals(contest.track, contest.scorer.protocol)
    return _Rehearsal(contest, plain, wanted).run(baselines, platform, on_platform)


class _Rehearsal:
    def __init__(self, contest: Contest, settings: Settings, intervals: bool) -> None:
        self.contest, self.settings, self.intervals = contest, settings, intervals
        self.on_platform: OnPlatform | None = None
        self.sheets = _sheets(contest)
        self.checks: list[RehearsalCheck] = []
        self.scored: list[tuple[Made, Rehearsed]] = []
        self.differing: list[str] = []
        """Submissions that the platform treats differently."""

    def run(
        self, baselines: Sequence[Submission], platform: str | None, on_platform: StartPlatform | None
    ) -> Rehearsal:
        submissions = list(made(self.sheets))
        headline = self._headline_name(submissions[0])
        self.on_platform = None if on_platform is None else on_platform(self.contest, headline)
        for done, each in enumerate(submissions, 1):
            self.scored.append((each, self._try(each)))
            if self.settings.progress:
                self.settings.progress(done, len(submissions))
        tried = [(each.name, self._score_of(each)) for each in baselines]
        self._check_perfect(headline)
        self._check_inverted(headline)
        self._check_constants(headline)
        self._check_leaving_out()
        for name in _CAUSES:
            self._check_refused(name)
        self._check_ids()
        self._check_baselines(tried, headline)
        if self.on_platform:
            self._check_platform(headline)
        detectable = self._check_detectable(headline) if self.intervals else None
        track = self.contest.track
        return Rehearsal(
            ok=not any(check.status == "failed" for check in self.checks),
            track=track.id,
            protocol=ProtocolUsed(**self.contest.scorer.protocol.describe()),
            truth=tuple(described_input(part, self.contest.truth) for part in self.contest.parts),
            platform=platform,
            headline=headline,
            submissions=(
                *(rehearsed for _, rehearsed in self.scored),
                *(self._rehearsed("baseline", name, score, score.valid, ()) for name, score in tried),
            ),
            checks=tuple(self.checks),
            detectable=detectable,
            **versions(),
            _title=title(),
            _figures=track.figures,
            _lower_is_better=headline in track.better_lower,
        )

    # What becomes of a submission.

    def _try(self, each: Made) -> Rehearsed:
        score = self._score_of(_submission(each))
        given: list[GivenFile] = [(part.source, part.contract.id) for part in self.contest.parts]
        contracts = {sheet.name: sheet.contract.id for sheet in self.sheets}
        given += [(Source(content, name), contracts[name]) for name, content in each.files.items()]
        checklist = preflight(GivenFiles(given), self.settings._replace(progress=None))
        codes = {problem.code for check in checklist.checks for problem in check.problems}
        codes |= {problem.code for problem in score.problems} | {w[:5] for w in score.warnings if w.startswith("MC")}
        platform = None
        if self.on_platform:
            outcome = self.on_platform(each.files)
            platform = "scored" if outcome.figures else outcome.reason or "no figures and no reason"
            self._compare(each, score, outcome)
        ready = checklist.ready or (score.valid and score.decision == "NO-GO")
        return self._rehearsed(each.name, each.about, score, ready, codes, platform)

    def _rehearsed(
        self, name: str, about: str, score: Score, ready: bool, codes: Iterable[str], platform: str | None = None
    ) -> Rehearsed:
        known = {figure.name for figure in self.contest.track.figures if figure.by == "submission"}
        result, comparison = score.result or {}, self.contest.track.comparison
        figures = dict(comparison.figures(result) if comparison.figures and score.result else result)
        headlines = score._display.headlines if score.valid else {}
        return Rehearsed(
            name=name, about=about, ready=ready, valid=score.valid,
            headline=next((value for value in headlines.values() if value is not None), None),
            figures={name: value for name, value in figures.items() if name in known or comparison.figures},
            reasons=score.reasons, codes=tuple(sorted(codes)), platform=platform,
        )  # fmt: skip

    def _score_of(self, submission: Submission, contest: Contest | None = None) -> Score:
        contest = contest or self.contest
        return feedback_on(contest.score(submission), contest)

    # The checks.

    def _add(self, id_: str, heading: str, status: Any, detail: str = "") -> None:
        self.checks.append(RehearsalCheck(id=id_, title=heading, status=status, detail=detail))

    def _headline_name(self, perfect: Made) -> str:
        score = self._score_of(_submission(perfect))
        defined = (name for name, value in score._display.headlines.items() if value is not None)
        return next(defined, self.contest.track.headline)

    def _of(self, name: str) -> list[Rehearsed]:
        return [rehearsed for each, rehearsed in self.scored if each.name == name]

    def _better(self, one: float | None, other: float | None, headline: str) -> bool:
        """Return whether a headline is better than another; any is better than none."""
        if one is None or other is None:
            return one is not None
        return one < other if headline in self.contest.track.better_lower else one > other

    def _check_perfect(self, headline: str) -> None:
        (perfect,) = self._of("perfect")
        heading = "The right answers are accepted"
        if not perfect.valid or not perfect.ready:
            why = "; ".join(perfect.reasons) or f"preflight found {', '.join(perfect.codes)}"
            self._add("perfect-valid", heading, "failed", why)
        else:
            lacking = [name for name, value in perfect.figures.items() if value is None]
            detail = f"{plain_name(headline)} {number(perfect.headline)}"
            if perfect.headline is None:
                self._add("perfect-valid", heading, "failed", f"{plain_name(headline)} is undefined: nobody has a rank")
            else:
                more = f"; without a value: {', '.join(map(plain_name, lacking))}" if lacking else ""
                self._add("perfect-valid", heading, "passed", detail + more)
        better = [(each, r) for each, r in self.scored if self._better(r.headline, perfect.headline, headline)]
        names = "; ".join(f"{each.name} ({each.about}): {number(r.headline)}" for each, r in better[:3])
        self._add("perfect-best", "Nothing is better than the right answers", "failed" if better else "passed", names)

    def _check_inverted(self, headline: str) -> None:
        (inverted,), (drawn,) = self._of("inverted"), self._of("prior")
        wrong = self._better(inverted.headline, drawn.headline, headline)
        detail = f"inverted {number(inverted.headline)}, drawn at random {number(drawn.headline)}"
        self._add("inverted", "Inverted answers are not better than chance", "failed" if wrong else "passed", detail)

    def _check_constants(self, headline: str) -> None:
        (perfect,) = self._of("perfect")
        constants = self._of("constant")
        best = constants[0]
        for each in constants[1:]:
            best = each if self._better(each.headline, best.headline, headline) else best
        good = best.headline is not None and not self._better(perfect.headline, best.headline, headline)
        self._add(
            "constant", "One answer for all cases is worse than the right answers", "failed" if good else "passed",
            f"the best of {len(constants)}: {best.about}, {number(best.headline)}",
        )  # fmt: skip

    def _check_leaving_out(self) -> None:
        """Leave right records out of answers of which about half are right, and compare all figures."""
        heading = "Leaving out a right record raises no figure"
        if self.settings.frozen:
            self._add("leaving-out", heading, "skipped", "the protocol is frozen, and so is its gate")
            return
        records = [half_right(sheet) for sheet in self.sheets]
        right = [
            (number, case)
            for number, (sheet, drawn) in enumerate(zip(self.sheets, records, strict=True))
            for case in sheet.order("left out")
            if drawn[case] == sheet.record(case, sheet.answers[case])
        ]
        total = sum(map(len, records))
        right = right[: max(3, min(_MOST_LEFT_OUT, _MOST_RECORDS // max(total, 1)))]
        ungated = Contest(self._truth_again(), self.settings._replace(
            progress=None, jobs=1, parameters=(*self.settings.parameters, ("min_processed", "0"))
        ))  # fmt: skip
        before = self._figures(without(self.sheets, records, (-1, -1)), ungated)
        promised = {f.name: f.leaving_out is not None for f in self.contest.track.figures if f.by == "submission"}
        raised = Counter[str]()
        for left in right:
            after = self._figures(without(self.sheets, records, left), ungated)
            raised.update(n for n, v in after.items() if n in promised and self._better(v, before.get(n), n))
        broken = [name for name in raised if promised[name] or name == self.contest.track.headline]
        detail = ", ".join(f"{plain_name(name)} ({times} of {len(right)})" for name, times in raised.items())
        status = "failed" if broken else "warning" if raised else "passed"
        self._add("leaving-out", heading, status, detail or f"{plural(len(right), 'record')} left out, one at a time")

    def _truth_again(self) -> tuple[GivenFile, ...]:
        return tuple((part.source, part.contract.id) for part in self.contest.parts)

    def _figures(self, files: dict[str, bytes], contest: Contest) -> dict[str, float | None]:
        score = self._score_of(_submission(Made("", "", files)), contest)
        found = self._rehearsed("x", "x", score, True, ()).figures
        return {**found, **score._display.headlines}

    def _check_refused(self, name: str) -> None:
        heading = {
            "half": "Half of the answers are refused, or warned of",
            "failed": "A submission that only failed is refused, or warned of",
            "renamed": "A misspelled column is named", "truncated": "A file that is cut off is named",
            "swapped": "Exchanged columns are refused",
        }[name]  # fmt: skip
        found = [(each, rehearsed) for each, rehearsed in self.scored if each.name == name]
        noticed = [(each, rehearsed) for each, rehearsed in found if not each.unnoticed]
        if not noticed:
            why = "there are no two columns of different types" if name == "swapped" else "no record can fail"
            self._add(name, heading, "skipped", why)
        for each, rehearsed in noticed:
            right = [code for code in rehearsed.codes if code.startswith(_CAUSES[name])]
            is_noticed = bool(right) and (not rehearsed.valid or not rehearsed.ready or name in ("half", "failed"))
            detail = f"{'; '.join(rehearsed.reasons) or 'valid'} ({', '.join(right) or 'no right cause'})"
            self._add(name, heading, "passed" if is_noticed else "failed", f"{each.about}: {detail}")
        for each, rehearsed in found:
            if each.unnoticed:
                shown = f"{each.about}: {number(rehearsed.headline)}; both have the same type, so no check can see it"
                self._add("swapped-alike", "Columns of one type that are exchanged", "warning", shown)

    def _check_ids(self) -> None:
        """Check that neither the ids nor their order reveal the answers."""
        heading = "The ids do not reveal the answers"
        found = [message for sheet in self.sheets for message in _revealing(sheet)]
        status = "failed" if any(m.startswith("ids contain") for m in found) else "warning" if found else "passed"
        self._add("ids", heading, status, "; ".join(found))

    def _check_baselines(self, tried: Sequence[tuple[str, Score]], headline: str) -> None:
        (drawn,), (shuffled,) = self._of("prior"), self._of("shuffled")
        for name, score in tried:
            value = score._display.headlines.get(headline) if score.valid else None
            detail = f"{number(value)}; drawn at random {number(drawn.headline)}, shuffled {number(shuffled.headline)}"
            good = self._better(value, drawn.headline, headline) and self._better(value, shuffled.headline, headline)
            if not score.valid:
                detail = "; ".join(score.reasons)
            elif not good:
                detail += ": are labels inverted, or rows shifted?"
            status = "passed" if good else "failed"
            self._add("baseline", f"The baseline {plain_name(name)} is better than chance", status, detail)

    def _check_detectable(self, headline: str) -> float | None:
        """Return from which difference on two submissions can be told apart that are right in about half of the cases.

        They agree only by chance, so others that agree more can be told apart at smaller differences.
        """
        files = [
            {sheet.name: sheet.file(half_right(sheet, which)) for sheet in self.sheets} for which in ("", " again")
        ]
        submissions = [_submission(Made(f"half right {n}", "", each)) for n, each in enumerate(files, 1)]
        settings = self.settings._replace(intervals=True, progress=None, jobs=1)
        board = leaderboard(self._truth_again(), FoundSubmissions(submissions, []), settings)
        heading, found, sure = "Submissions can be told apart", board.detectable, board.intervals
        if not found or sure is None or board.headline != headline:
            known = [*(sure.undefined.values() if sure else ()), *(why for e in board.submissions for why in e.reasons)]
            why = next(iter(known), f"{plain_name(headline)} of half-right submissions is undefined or always the same")
            self._add("detectable", heading, "warning", f"it is not known which differences this truth can show: {why}")
            return None
        (perfect,), (drawn,) = self._of("perfect"), self._of("prior")
        detail = (
            f"differences of {plain_name(headline)} below about {number(found)} may be chance "
            f"({plural(sure.units, 'cluster' if sure._clustered else 'case')}, level {sure.level * 100:g} %)"
        )
        few = perfect.headline is not None and drawn.headline is not None
        few = few and abs((perfect.headline or 0) - (drawn.headline or 0)) < found
        detail += ", also that of the right answers from those drawn at random" if few else ""
        self._add("detectable", heading, "warning" if few else "passed", detail)
        return found

    # The platform.

    def _compare(self, each: Made, score: Score, outcome: PlatformOutcome) -> None:
        """Note a submission that the platform treats differently."""
        value = next((v for v in score._display.headlines.values() if v is not None), None) if score.valid else None
        shown = next(iter(outcome.figures.values()), None)
        same = (value is None) == (not outcome.figures) and (value is None or shown == coarse(value))
        if value is None and not outcome.reason:
            same = False
        if not same:
            self.differing.append(f"{each.name} ({each.about}): {number(value)}, on the platform {number(shown)}")

    def _check_platform(self, headline: str) -> None:
        heading = "The bundle gives the same scores and refusals"
        detail = "; ".join(self.differing[:3]) or f"{plural(len(self.scored), 'submission')} compared"
        self._add("platform", heading, "failed" if self.differing else "passed", detail)


def _submission(each: Made) -> Submission:
    files = tuple((Source(content, name), None) for name, content in each.files.items())
    return Submission(name=each.name, files=files)


def _sheets(contest: Contest) -> list[Sheet]:
    """Return the cases of each truth. Raises `CallError` for a track that cannot be rehearsed."""
    parts: dict[str, list[Part]] = {}
    for part in contest.truth.parts:
        parts.setdefault(part.contract.id, []).append(part)
    known = {each.truth: each for each in contest.track.imitations}
    found = []
    for pair in contest.scorer.pairs:
        if pair.truth not in parts or pair.truth not in known:
            continue
        sink = Kept(lambda record: json.loads(record_text(record)))
        read([Part(part.source, part.contract, ProblemCollector(0)) for part in parts[pair.truth]], sink)
        are_tables = all(is_table(part.source.name) for part in parts[pair.truth])
        header = contest.truth.headers[pair.truth]
        found.append(Sheet(known[pair.truth], pair.key, sink.found, header, are_tables))
    if not found:
        raise CallError(f"no submission can be made from this truth of {contest.track.id}")
    return found


def _revealing(sheet: Sheet) -> Iterator[str]:
    """Yield what ids or their order say about answers."""
    texts = [json.dumps(answer, sort_keys=True) for answer in sheet.answers]
    keys = [" ".join(map(str, key.values())) for key in sheet.keys]
    for name in sheet.fields:
        values = [answer.get(name) for answer in sheet.answers]
        named = {value for value in values if isinstance(value, str) and len(value) > 1}
        if 1 < len(named) <= len(values) / 2:
            told = sum(isinstance(v, str) and v.casefold() in k.casefold() for v, k in zip(values, keys, strict=True))
            if told > len(values) / 2:
                yield f"ids contain {name} ({told:,} of {len(values):,})"
    count, shares = len(texts), Counter(texts)
    if count < 3 or len(shares) < 2:
        return
    chance = sum(times * (times - 1) for times in shares.values()) / (count * (count - 1))
    error = sqrt(chance * (1 - chance) / (count - 1))
    orders = {"in the order of their ids": sorted(range(count), key=keys.__getitem__), "in the truth": range(count)}
    for what, order in orders.items():
        listed = [texts[case] for case in order]
        alike = sum(one == other for one, other in pairwise(listed)) / (count - 1)
        if error and alike > chance + _STANDARD_ERRORS * error:
            yield f"cases next to each other {what} have the same answer in {alike:.0%}, by chance in {chance:.0%}"
