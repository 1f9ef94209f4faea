"""Tries an evaluation before it opens: makes submissions from its truth, and checks what becomes of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from medcontract.addresses import is_table
from medcontract.errors import CallError, report_plugin_errors
from medcontract.evaluation.contest import Contest
from medcontract.evaluation.files import GivenFile, GivenFiles, Kept, read
from medcontract.evaluation.imitating import Made, Sheet, half_right, made, without
from medcontract.evaluation.preflight.checks import preflight
from medcontract.evaluation.ranking import feedback_on, figures_of_submission, leaderboard
from medcontract.evaluation.result import described_input, title, versions
from medcontract.evaluation.revealing import in_ids, in_order
from medcontract.evaluation.settings import Settings
from medcontract.evaluation.submissions import FoundSubmissions, Submission
from medcontract.problems import plain_name, plural
from medcontract.reading.source import Source
from medcontract.results.rehearsal import Rehearsal, RehearsalCheck, Rehearsed, Status
from medcontract.results.score import ProtocolUsed, Score
from medcontract.results.tables import number
from medcontract.scoring.canonical import record_text
from medcontract.scoring.rational import coarse
from medcontract.validation.dispatch import Part
from medcontract.validation.report import ProblemCollector

OnPlatform = Callable[[Mapping[str, bytes]], "PlatformOutcome"]
StartPlatform = Callable[[Contest, str], OnPlatform]
_MISTAKES = {
    "half": ("Half of the answers are refused, or reported in a warning", ("MC302", "MC401")),
    "failed": ("A submission that only failed is refused, or reported in a warning", ("MC4", "MC504")),
    "renamed": ("A misspelled column is named", ("MC009", "MC101", "MC102")),
    "truncated": ("A file that is cut off is named", ("MC0", "MC302", "MC401")),
    "swapped": ("Exchanged columns are refused", ("MC1", "MC2", "MC3")),
}
"""The heading of the check of each mistake, and the codes, or their beginnings, that name the right cause."""
_MOST_LEFT_OUT, _MOST_RECORDS = 25, 200_000


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
    rehearsal = _Rehearsal(contest, plain, on_platform)
    tried = [(each.name, rehearsal.score_of(each)) for each in baselines]
    rehearsal.check(tried)
    wanted = settings.wants_intervals(contest.track, contest.scorer.protocol)
    detectable = rehearsal.check_detectable() if wanted else None
    track, headline = contest.track, rehearsal.headline
    return Rehearsal(
        ok=not any(check.status == "failed" for check in rehearsal.checks),
        track=track.id,
        protocol=ProtocolUsed(**contest.scorer.protocol.describe()),
        truth=tuple(described_input(part, contest.truth) for part in contest.parts),
        platform=platform,
        headline=headline,
        submissions=(
            *(rehearsed for _, rehearsed in rehearsal.scored),
            *(rehearsal.rehearsed("baseline", name, score, score.valid) for name, score in tried),
        ),
        checks=tuple(rehearsal.checks),
        detectable=detectable,
        **versions(),
        _title=title(),
        _figures=track.figures,
        _lower_is_better=headline in track.better_lower,
    )


class _Rehearsal:
    """The submissions that were made, what became of each, and what was checked."""

    def __init__(self, contest: Contest, settings: Settings, on_platform: StartPlatform | None) -> None:
        self.contest, self.settings = contest, settings
        self.sheets = _sheets(contest)
        self.checks: list[RehearsalCheck] = []
        self.scored: list[tuple[Made, Rehearsed]] = []
        self.differing: list[str] = []
        """Submissions that the platform treats differently."""
        submissions = list(made(self.sheets))
        headlines = self.score_of(_submission(submissions[0].files))._display.headlines.items()
        self.headline = next((name for name, value in headlines if value is not None), contest.track.headline)
        self.on_platform = on_platform and on_platform(contest, self.headline)
        for done, each in enumerate(submissions, 1):
            self.scored.append((each, self._try(each)))
            if settings.progress:
                settings.progress(done, len(submissions))
        self.perfect, self.inverted, self.drawn, self.shuffled = (
            self._of(name)[0] for name in ("perfect", "inverted", "prior", "shuffled")
        )

    # What becomes of a submission.

    def _try(self, each: Made) -> Rehearsed:
        score = self.score_of(_submission(each.files, each.name))
        contracts = {sheet.name: sheet.contract.id for sheet in self.sheets}
        given = [*self._truth_again(), *((Source(data, name), contracts[name]) for name, data in each.files.items())]
        checklist = preflight(GivenFiles(given), self.settings._replace(progress=None))
        codes = {problem.code for problem in (*checklist.problems, *score.problems)}
        codes |= {warning[:5] for warning in score.warnings if warning.startswith("MC")}
        platform = None
        if self.on_platform:
            outcome = self.on_platform(each.files)
            platform = "scored" if outcome.figures else outcome.reason or "no figures and no reason"
            value, shown = _headline(score), next(iter(outcome.figures.values()), None)
            same = shown == coarse(value) if outcome.figures else value is None and outcome.reason
            if not same:
                shown_there = number(shown) if outcome.figures else f"{number(shown)} ({platform})"
                self.differing.append(f"{each.name} ({each.about}): {number(value)}, on the platform {shown_there}")
        ready = checklist.ready or (score.valid and score.decision == "NO-GO")
        return self.rehearsed(each.name, each.about, score, ready, codes, platform)

    def rehearsed(
        self, name: str, about: str, score: Score, ready: bool, codes: Iterable[str] = (), platform: str | None = None
    ) -> Rehearsed:
        return Rehearsed(
            name=name, about=about, ready=ready, valid=score.valid, headline=_headline(score),
            figures=figures_of_submission(self.contest.track, score.result), reasons=score.reasons,
            codes=tuple(sorted(codes)), platform=platform,
        )  # fmt: skip

    def score_of(self, submission: Submission, contest: Contest | None = None) -> Score:
        contest = contest or self.contest
        return feedback_on(contest.score(submission), contest)

    # The checks.

    def check(self, baselines: Sequence[tuple[str, Score]]) -> None:
        """Make all checks except the one that needs intervals."""
        self._check_perfect()
        wrong = self._better(self.inverted.headline, self.drawn.headline)
        detail = f"inverted {number(self.inverted.headline)}, drawn at random {number(self.drawn.headline)}"
        self._add("inverted", "Inverted answers are not better than chance", not wrong, detail)
        constants = self._of("constant")
        best = constants[0]
        for each in constants[1:]:
            best = each if self._better(each.headline, best.headline) else best
        worse = best.headline is None or self._better(self.perfect.headline, best.headline)
        detail = f"the best of {len(constants)}: {best.about}, {number(best.headline)}"
        self._add("constant", "One answer for all cases is worse than the right answers", worse, detail)
        self._check_leaving_out()
        for name, (heading, causes) in _MISTAKES.items():
            self._check_refused(name, heading, causes)
        certain = [message for sheet in self.sheets for message in in_ids(sheet)]
        found = [*certain, *(message for sheet in self.sheets for message in in_order(sheet))]
        self._add("ids", "The ids do not reveal the answers", not certain, "; ".join(found), warn=bool(found))
        self._check_baselines(baselines)
        if self.on_platform:
            detail = "; ".join(self.differing[:3]) or f"{plural(len(self.scored), 'submission')} compared"
            heading = "The bundle gives the same scores and refusals"
            self._add("platform", heading, not self.differing, detail)

    def _add(self, id_: str, heading: str, good: bool | None, detail: str = "", warn: bool = False) -> None:
        """Add a check. None: it is skipped. `warn`: what is good needs a look."""
        status: Status = "skipped" if good is None else "failed" if not good else "warning" if warn else "passed"
        self.checks.append(RehearsalCheck(id=id_, title=heading, status=status, detail=detail))

    def _of(self, name: str) -> list[Rehearsed]:
        return [rehearsed for each, rehearsed in self.scored if each.name == name]

    def _better(self, one: float | None, other: float | None, name: str = "") -> bool:
        """Return whether a figure, by default the headline, is better than another; any is better than none."""
        if one is None or other is None:
            return one is not None
        return one < other if (name or self.headline) in self.contest.track.better_lower else one > other

    def _check_perfect(self) -> None:
        perfect, shown = self.perfect, plain_name(self.headline)
        good = perfect.valid and perfect.ready
        detail = "; ".join(perfect.reasons) or f"preflight found {', '.join(perfect.codes)}"
        if good and perfect.headline is None:
            good, detail = False, f"{shown} is undefined: nobody has a rank"
        elif good:
            lacking = [plain_name(name) for name, value in perfect.figures.items() if value is None]
            more = f"; without a value: {', '.join(lacking)}" if lacking else ""
            detail = f"{shown} {number(perfect.headline)}{more}"
        self._add("perfect-valid", "The right answers are accepted", good, detail)
        better = [(each, r) for each, r in self.scored if self._better(r.headline, perfect.headline)]
        names = "; ".join(f"{each.name} ({each.about}): {number(r.headline)}" for each, r in better[:3])
        self._add("perfect-best", "Nothing is better than the right answers", not better, names)

    def _check_leaving_out(self) -> None:
        """Leave right records out of answers of which about half are right, and compare all figures."""
        heading = "Leaving out a right record raises no figure"
        if self.settings.frozen:
            self._add("leaving-out", heading, None, "the protocol is frozen, and so is its gate")
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
        detail = detail or f"{plural(len(right), 'record')} left out, one at a time"
        self._add("leaving-out", heading, not broken, detail, warn=bool(raised))

    def _truth_again(self) -> tuple[GivenFile, ...]:
        return tuple((part.source, part.contract.id) for part in self.contest.parts)

    def _figures(self, files: dict[str, bytes], contest: Contest) -> dict[str, float | None]:
        score = self.score_of(_submission(files), contest)
        return {**figures_of_submission(contest.track, score.result), **score._display.headlines}

    def _check_refused(self, name: str, heading: str, causes: tuple[str, ...]) -> None:
        found = [(each, rehearsed) for each, rehearsed in self.scored if each.name == name]
        if all(each.unnoticed for each, _ in found):
            why = "there are no two columns of different types" if name == "swapped" else "no record can fail"
            self._add(name, heading, None, why)
        for each, rehearsed in found:
            if each.unnoticed:
                shown = f"{each.about}: {number(rehearsed.headline)}; both have the same type, so no check can see it"
                self._add("swapped-alike", "Columns of one type that are exchanged", good=True, detail=shown, warn=True)
                continue
            right = [code for code in rehearsed.codes if code.startswith(causes)]
            is_noticed = not rehearsed.valid or not rehearsed.ready or name in ("half", "failed")
            detail = f"{'; '.join(rehearsed.reasons) or 'valid'} ({', '.join(right) or 'no right cause'})"
            self._add(name, heading, bool(right) and is_noticed, f"{each.about}: {detail}")

    def _check_baselines(self, tried: Sequence[tuple[str, Score]]) -> None:
        for name, score in tried:
            value = score._display.headlines.get(self.headline) if score.valid else None
            by_chance = self.drawn.headline, self.shuffled.headline
            detail = f"{number(value)}; drawn at random {number(by_chance[0])}, shuffled {number(by_chance[1])}"
            good = all(self._better(value, each) for each in by_chance)
            if not score.valid:
                detail = "; ".join(score.reasons)
            elif not good:
                detail += ": are labels inverted, or rows shifted?"
            self._add("baseline", f"The baseline {plain_name(name)} is better than chance", good, detail)

    def check_detectable(self) -> float | None:
        """Return from which difference on two submissions can be told apart that are right in about half of the cases.

        They agree only by chance, so others that agree more can be told apart at smaller differences.
        """
        files = [
            {sheet.name: sheet.file(half_right(sheet, which)) for sheet in self.sheets} for which in ("", " again")
        ]
        submissions = [_submission(each, f"half right {n}") for n, each in enumerate(files, 1)]
        settings = self.settings._replace(intervals=True, progress=None, jobs=1)
        board = leaderboard(self._truth_again(), FoundSubmissions(submissions, []), settings)
        heading, headline, found, sure = (
            "Submissions can be told apart",
            self.headline,
            board.detectable,
            board.intervals,
        )
        if not found or sure is None or board.headline != headline:
            known = [*(sure.undefined.values() if sure else ()), *(why for e in board.submissions for why in e.reasons)]
            why = next(iter(known), f"{plain_name(headline)} of half-right submissions is undefined or always the same")
            detail = f"it is not known which differences this truth can show: {why}"
            self._add("detectable", heading, good=True, detail=detail, warn=True)
            return None
        best, chance = self.perfect.headline, self.drawn.headline
        few = best is not None and chance is not None and abs(best - chance) < found
        detail = (
            f"differences of {plain_name(headline)} below about {number(found)} may be chance "
            f"({plural(sure.units, 'cluster' if sure._clustered else 'case')}, level {sure.level * 100:g} %)"
            f"{', also the difference between right and random answers' if few else ''}"
        )
        self._add("detectable", heading, good=True, detail=detail, warn=few)
        return found


def _headline(score: Score) -> float | None:
    """Return the figure that a submission is ranked by, or the one that takes over if it is undefined."""
    return next((value for value in score._display.headlines.values() if value is not None and score.valid), None)


def _submission(files: Mapping[str, bytes], name: str = "") -> Submission:
    return Submission(name=name, files=tuple((Source(content, file), None) for file, content in files.items()))


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
