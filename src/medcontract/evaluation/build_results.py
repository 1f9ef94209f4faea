"""Builds the public results from what evaluation computes with (fractions, counts)."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any
from unicodedata import unidata_version

from medcontract._version import __version__
from medcontract.catalog import CATALOGUE
from medcontract.errors import BrokenPlugin, report_plugin_errors
from medcontract.parallel.versions import result_versions
from medcontract.results.score import (
    Environment,
    Processing,
    ProtocolUsed,
    Score,
)
from medcontract.results.tables import Table
from medcontract.scoring import processing_gate, tracks
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.track import Track


def protocol_used(protocol: Protocol) -> ProtocolUsed:
    return ProtocolUsed(**protocol.describe())


def processing(found: processing_gate.Processing | None) -> Processing | None:
    return None if found is None else Processing(**found.describe(), _share=found.share, _asked=found.required)


def versions() -> dict[str, Any]:
    """The versions that a result was made with; no time, no host."""
    return {
        "medcontract_version": __version__,
        "environment": Environment(
            python=platform.python_version(), unicode=unidata_version, unidecode=result_versions()["Unidecode"] or ""
        ),
    }


@report_plugin_errors()
def score_result(scored: Any) -> Score:
    """The result of a scored submission (`evaluation.score.Scored`)."""
    verdict, track = scored.verdict, tracks.track(scored.track)
    broken_rules = _broken_rules(scored.cross_file)
    return Score(
        track=scored.track,
        participant=scored.participant or None,
        protocol=protocol_used(scored.protocol),
        inputs=scored.inputs,
        processing=processing(verdict.processing),
        valid=verdict.valid,
        reasons=verdict.reasons,
        warnings=(*scored.warnings, *(broken_rules if scored.participant else ())),
        problems=scored.problems,
        result=scored.shown,
        failure_modes=scored.remediation or None,
        breakdown=scored.breakdown or None,
        **versions(),
        _decision=verdict.decision,
        _gates=verdict.gates,
        _team=scored.team,
        _found=scored.found,
        _errors=scored.errors,
        _broken_rules=broken_rules,
        _hints=scored.hints,
        _figures=scored.figures,
        _headline=(scored.headline, scored.shown_figure(verdict.headline)),
        _second=(scored.second, scored.shown_figure(verdict.second)),
        _tables=_tables_of(track),
        _lower_is_better=scored.headline in track.better_lower,
        _entrant=track.entrant,
        _counted_here=scored.tally is not None,
    )


@cache
def _tables_of(track: Track) -> Callable[[Score], Iterator[Table]]:
    """The function that builds the tables of a score; one object per track, so that equal scores compare equal."""
    return partial(_tables, track)


def _tables(track: Track, score: Score) -> Iterator[Table]:
    """The tables. A plugin may raise anything, also while they are iterated over."""
    with report_plugin_errors():
        tables: Any = track.tables(score)
        if not isinstance(tables, Iterable):
            raise BrokenPlugin(f"tables of the track '{track.id}' must return Tables, not {type(tables).__name__}")
        for table in tables:
            if not isinstance(table, Table):
                raise BrokenPlugin(f"the tables of the track '{track.id}' must be Tables, not {type(table).__name__}")
            yield table


def _broken_rules(counted: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """How often each rule across files was violated, by code; participants may see no more than that."""
    return tuple(f"{code} {CATALOGUE[code].title}: {times:,}" for code, times in counted)
