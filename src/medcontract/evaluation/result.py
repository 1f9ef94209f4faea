"""Builds the public result of a submission, for participants without what reveals the truth."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from typing import Any, Literal
from unicodedata import unidata_version

from msgspec import Struct, convert
from msgspec.structs import replace

from medcontract._version import __version__
from medcontract.catalog import problem_codes
from medcontract.contracts import registry
from medcontract.contracts.contract import Validated
from medcontract.errors import BrokenPlugin, report_plugin_errors
from medcontract.evaluation.loading import LoadedTruth, Readings
from medcontract.parallel.versions import result_versions
from medcontract.problems import shorten
from medcontract.results.score import (
    Display,
    Environment,
    FailureMode,
    FileProblem,
    InputFile,
    Intervals,
    ItemBreakdown,
    Processing,
    ProtocolUsed,
    Score,
    Subgroup,
)
from medcontract.results.tables import Table, explained
from medcontract.results.validation import Problem
from medcontract.scoring import scorer as scorers
from medcontract.scoring import tracks
from medcontract.scoring.expected import validated
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import coarse, rounded_or_none
from medcontract.scoring.scorer import Finished, Tally
from medcontract.scoring.scorer_checks import for_participants
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import Part

_OCCASION = ("event", "evaluation_date")


class Scored(Struct, kw_only=True):
    """The outcome for one submission, with exact figures; `score_result` builds the public result from it."""

    track: str
    protocol: Protocol
    verdict: Finished
    participant: bool
    """Made for a participant: the output must not reveal the truth."""
    inputs: tuple[InputFile, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    """The first `MOST_PROBLEMS` problems."""
    found: int = 0
    """The total number of problems, listed or not."""
    errors: int = 0
    """The total number of errors, listed or not."""
    cross_file: tuple[tuple[str, int], ...] = ()
    """How often each rule across files was violated, by code."""
    private: tuple[str, ...] = ()
    """Warnings that participants do not see, since they reveal the truth."""
    hints: tuple[str, ...] = ()
    """Hints with ids, which are values of records."""
    misspelled: str = ""
    """What explains all unknown ids, if no id is right."""
    remarks: tuple[Problem, ...] = ()
    """What looks like a mistake. It is also among the warnings; participants do not see what reveals the truth."""
    costly: tuple[Problem, ...] = ()
    """The remarks that a ranking does not show, since finding them takes as long as the score."""
    team: str | None = None
    remediation: tuple[FailureMode, ...] = ()
    """What to fix first."""
    breakdown: tuple[ItemBreakdown, ...] = ()
    """Why items lost points, if requested."""
    occasion: str = ""
    """The event and the date, as the files say."""
    pictures: tuple[Table, ...] = ()
    """Tables and charts for pages, which participants do not see."""
    intervals: Intervals | None = None
    """How sure the figures are, if requested."""
    elsewhere: int | None = None
    """The number of cases of another phase that have a record."""
    sums: str = ""
    """In a ranking: a hash of what was counted over the cases."""
    by: tuple[str, ...] | None = None
    """The fields that cases are grouped by, if requested."""
    subgroups: tuple[Subgroup, ...] | None = None
    """The figures of groups of cases, if requested."""
    tally: Tally | None = None
    """What the figures were computed from; another protocol can be applied to it."""
    about_figures: tuple[str, ...] = ()
    """The warnings that the figures gave, which others under another protocol may not give."""
    failure: Literal["", "call", "scoring"] = ""
    """What failed in a ranking, if it is not the submission: the call (wrong weights, a plugin), or scoring it."""


def environment() -> Environment:
    """Return the versions that text normalization depends on."""
    unidecode = result_versions()["Unidecode"] or ""
    return Environment(python=platform.python_version(), unicode=unidata_version, unidecode=unidecode)


def versions() -> dict[str, Any]:
    """Return the versions that a result was made with; no time, no host."""
    return {"medcontract_version": __version__, "environment": environment()}


def title() -> str:
    """Return the title of the challenge in use, if any."""
    challenge = registry.scope()
    return "" if challenge is None else str(challenge.definition.title)


def processing(found: scorers.Processing | None, elsewhere: int | None = None) -> Processing | None:
    if found is None:
        return None
    return Processing(**found.describe(), elsewhere=elsewhere, _share=found.share, _asked=found.required)


@report_plugin_errors()
def score_result(scored: Scored) -> Score:
    """Build the result of a submission; for participants rounded, and without figures by class, case or document."""
    verdict, track = scored.verdict, tracks.track(scored.track)
    broken_rules = tuple(f"{code} {problem_codes()[code].title}: {times:,}" for code, times in scored.cross_file)
    result, headline, second = verdict.result, rounded_or_none(verdict.headline), rounded_or_none(verdict.second)
    if scored.participant:
        shown = None if result is None else for_participants(track, result, headline)
        result, headline, second = coarse(shown), coarse(headline), coarse(second)
    name = verdict.headline_name or track.headline
    headlines = {name: headline, **({track.second: second} if track.second else {})}
    score = Score(
        track=scored.track,
        participant=scored.participant or None,
        protocol=ProtocolUsed(**scored.protocol.describe()),
        inputs=scored.inputs,
        processing=processing(verdict.processing, scored.elsewhere),
        valid=verdict.valid,
        reasons=verdict.reasons,
        warnings=verdict.warnings + (broken_rules if scored.participant else scored.private),
        problems=scored.problems,
        result=result,
        intervals=scored.intervals and shown_intervals(scored.intervals, result, scored.participant),
        failure_modes=scored.remediation or None,
        breakdown=scored.breakdown or None,
        by=scored.by,
        subgroups=scored.subgroups,
        **versions(),
        _display=Display(
            headlines=headlines,
            units={figure.name: figure.unit for figure in track.figures if figure.name in headlines},
            lower_is_better=name in track.better_lower,
            decision=verdict.decision,
            gates=dict(verdict.gates),
            title=title(),
            occasion=scored.occasion,
            team=scored.team,
            entrant=track.entrant,
            problems=scored.found,
            errors=scored.errors,
            violations=broken_rules,
            hints=scored.hints,
            misspelled=scored.misspelled,
        ),
        _figures=track.figures,
    )
    pictures = () if scored.participant else scored.pictures
    return replace(score, _tables=() if result is None else (*_tables(track, score), *pictures), _figures=())


def _tables(track: Track, score: Score) -> Iterator[Table]:
    """Build the tables. A plugin may raise anything, also while they are iterated over."""
    with report_plugin_errors():
        tables: Any = track.tables(score)
        if not isinstance(tables, Iterable):
            raise BrokenPlugin(f"tables of the track '{track.id}' must return Tables, not {type(tables).__name__}")
        for table in tables:
            if not isinstance(table, Table):
                raise BrokenPlugin(f"the tables of the track '{track.id}' must be Tables, not {type(table).__name__}")
            yield explained(table, score)


def stated_score(score: Validated[Any]) -> Score:
    """Return a score that was read from a file, without what only renderers need."""
    return convert(validated(score).model_dump(), Score)


def shown_intervals(found: Intervals | None, result: dict[str, object] | None, participant: bool) -> Intervals | None:
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


def occasion(found: Readings | LoadedTruth) -> str:
    """Return the event and the date that headers name, in one line."""
    known: dict[str, str] = {}
    truth = found.truth if isinstance(found, Readings) else found
    for header in (*truth.headers.values(), *found.headers.values()):
        known |= {name: shorten(str(header[name])) for name in _OCCASION if header.get(name) and name not in known}
    return ", ".join(known[name] for name in _OCCASION if name in known)


def described_input(part: Part, truth: LoadedTruth) -> InputFile:
    return InputFile(
        contract=part.contract.id,
        name=part.name,
        sha256=part.source.sha256(),
        content_sha256=truth.content.get(part.contract.id),
        records=part.report.records,
        _how=part.how,
    )
