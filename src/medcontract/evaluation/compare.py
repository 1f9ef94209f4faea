"""Compares two scores of one track; refused if they are not comparable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from msgspec.structs import replace

from medcontract.contracts.contract import Validated
from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import CallError, report_plugin_errors
from medcontract.evaluation.result import stated_score, versions
from medcontract.extras import require
from medcontract.problems import plain_name, plural
from medcontract.reading.source import Source
from medcontract.results.comparison import ComparedRow, Comparison, Delta, RowKind
from medcontract.results.score import ProtocolUsed, Score
from medcontract.scoring import tracks
from medcontract.scoring.frozen_protocol import FrozenProtocol
from medcontract.scoring.protocol import fingerprint_of
from medcontract.scoring.track import Figure, RowGroup, Track, without_metadata
from medcontract.validation.dispatch import validate_source
from medcontract.validation.report import ProblemCollector

_STATES = {True: "passed", False: "not passed", None: "not judged"}


@report_plugin_errors()
def compare(
    baseline: Validated[Any], rerun: Validated[Any], names: Sequence[str] = (), frozen: FrozenProtocol | None = None
) -> Comparison:
    """Say what changed. Raises `CallError`, with the exact difference, if the two are not comparable.

    `names`: of the two files, for display. `frozen`: the protocol that both must be made under.
    """
    before, after = stated_score(baseline), stated_score(rerun)
    track = tracks.find(before.track)
    _require_comparable(before, after, track)
    if frozen is not None:
        _require_made_under(frozen, before)  # and so the other, which has the same protocol and truth
    left, right = before.result or {}, after.result or {}
    lower = track.better_lower if track else frozenset()
    groups: list[tuple[RowGroup, RowGroup]] = []
    if track and left and right:
        groups = list(zip(track.comparison.row_groups(left), track.comparison.row_groups(right), strict=True))
    figures = tuple(_deltas(_figures(track, left), _figures(track, right)))
    figures, unsure = _with_intervals(before, after, figures, lower, track.figures if track else ())
    return Comparison(
        track=before.track,
        fingerprint=before.protocol.fingerprint,
        figures=figures,
        rows=tuple(row for old, new in groups for row in _rows(old, new, lower)),
        before=_state(before),
        after=_state(after),
        reasons=tuple(f"{side}: {why}" for side, score in _sides(before, after) for why in score.reasons),
        warnings=(*_warnings(before, after, track), *unsure),
        _names=tuple(names),
        _contracts=tuple(tuple(file.contract for file in score.inputs) for score in (before, after)),
        _kinds=tuple(RowKind(old.kind, old.title, old.judged) for old, _ in groups),
        _figures=track.figures if track else (),
        _lower=lower,
        **versions(),
    )


def _sides(before: Score, after: Score) -> tuple[tuple[str, Score], tuple[str, Score]]:
    return ("baseline", before), ("rerun", after)


def _with_intervals(
    before: Score, after: Score, figures: tuple[Delta, ...], lower: frozenset[str], described: Sequence[Figure]
) -> tuple[tuple[Delta, ...], list[str]]:
    """Add the interval of the change of the headline, if both scores have replicates, or say why there is none.

    Raises `CallError` for replicates of other cases.
    """
    both = [(side, score.intervals) for side, score in _sides(before, after) if score.intervals]
    if len(both) < 2:
        return figures, [f"only the {side} has intervals: the change has none" for side, _ in both]
    (_, old), (_, new) = both
    for name in ("unit", "units", "groups", "resamples", "level"):
        one, other = getattr(old, name), getattr(new, name)
        if one != other:
            shown = " and ".join(", ".join(each) if isinstance(each, tuple) else str(each) for each in (one, other))
            raise CallError(f"the intervals are computed from other {name}, so they cannot be compared", shown)
    if old.replicates is None or new.replicates is None:
        return figures, ["scores for participants have no replicates: the change has no interval"]
    name, other = old.replicates.figure, new.replicates.figure
    place = next((n for n, delta in enumerate(figures) if delta.name == _plain_name(name)), None)
    if name != other or place is None or figures[place].delta is None:
        return figures, ["the scores are ranked by different figures: the change has no interval"]
    values = old.replicates.values, new.replicates.values
    if len(values[0]) != old.resamples or len(values[1]) != old.resamples:
        raise CallError("the numbers of replicates and resamples differ", "the file was edited: score it again")
    require("numpy", "stats")
    from medcontract.evaluation.certainty import of_change

    scaled = not any(figure.name == name and None in (figure.low, figure.high) for figure in described)
    found, why = of_change(figures[place], old.level, *values, lower_is_better=name in lower, scaled=scaled)
    sure = replace(figures[place], **found)
    return (*figures[:place], sure, *figures[place + 1 :]), [f"the change has no interval: {why}"] if why else []


def _state(score: Score) -> str:
    decision = (score.result or {}).get("decision")
    if decision in ("GO", "NO-GO"):
        return str(decision)
    return "valid" if score.valid else "not valid" if score.result is not None else "refused"


def _truths(score: Score) -> dict[str, str]:
    return {file.contract: file.content_sha256 for file in score.inputs if file.content_sha256}


def _require_comparable(before: Score, after: Score, track: Track | None) -> None:
    for side, score in _sides(before, after):
        used = score.protocol
        if used.fingerprint != fingerprint_of(score.track, used.version, used.parameters):
            raise CallError(
                f"the fingerprint of the {side} does not follow from its parameters, so it cannot be compared",
                "the file was edited after it was written: score the submission again",
            )
    if before.track != after.track:
        raise CallError(f"the scores are of different tracks: {before.track} and {after.track}")
    if before.protocol.fingerprint != after.protocol.fingerprint:
        changes = "; ".join(protocol_changes(before.protocol, after.protocol, track))
        raise CallError("the protocols differ, so the figures cannot be compared", changes)
    old, new = _truths(before), _truths(after)
    if old != new and not (old and new):
        raise CallError(
            "one of the scores does not identify its truth, so they cannot be compared",
            "it was made for a participant or from a report, or was refused; make both in the same way",
        )
    differing = [
        f"{name}: {old.get(name, 'absent')[:16]} and {new.get(name, 'absent')[:16]}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
    if differing:
        hashes = "content_sha256 of " + "; ".join(differing)
        raise CallError("the truths differ, so the figures cannot be compared", hashes)


def _require_made_under(frozen: FrozenProtocol, score: Score) -> None:
    if score.track != frozen.id:
        raise CallError(f"the protocol is frozen for the track {frozen.id}, but the scores are of {score.track}")
    found = "; ".join(frozen.differences(score.protocol.version, score.protocol.parameters))
    if found:
        raise CallError("the scores were not made under the frozen protocol", found)
    if frozen.truth and not _truths(score):
        raise CallError(
            "the scores do not say what their truth was, so it cannot be compared with the frozen one",
            "they were made for a participant, from a report, or were refused",
        )
    truths = "; ".join(frozen.truth_differences(_truths(score)))
    if truths:
        raise CallError("the truth of the scores is not the frozen one", truths)


def protocol_changes(old: ProtocolUsed, new: ProtocolUsed, track: Track | None) -> Iterator[str]:
    """Say how two protocols of a track differ, and why its version changed."""
    if old.version != new.version:
        yield f"version {old.version} and {new.version}"
        reasons = {change.version: change.reason for change in (track.protocol.changes if track else ())}
        between = range(min(old.version, new.version) + 1, max(old.version, new.version) + 1)
        for version in between[:10]:
            yield f"version {version}: {reasons.get(version, 'unknown to this version of medcontract')}"
    for name in dict.fromkeys((*old.parameters, *new.parameters)):
        mine, other = (_shown(each.parameters.get(name, "absent")) for each in (old, new))
        if mine != other:
            yield f"{name}: {mine} and {other}"


def _shown(value: object) -> str:
    """Return a parameter with all its digits."""
    return f"{value:.17g}" if isinstance(value, float) and value.is_integer() else str(value)


def _warnings(before: Score, after: Score, track: Track | None) -> Iterator[str]:
    for side, score in _sides(before, after):
        if score.result is None or track is None or not _truths(score):  # results for participants have no contract
            continue
        contract, text = track.roles.result, json.dumps(score.result, ensure_ascii=False).encode()
        errors = validate_source(Source(text, "result.json"), contract, ProblemCollector(1)).errors
        if errors:
            count = plural(errors, "error")
            yield f"the result of the {side} violates {contract} ({count}); only its valid parts are compared"
    for name in ("unicode", "unidecode"):
        old, new = getattr(before.environment, name), getattr(after.environment, name)
        if old != new:
            yield f"made with different versions of {name}: {old} and {new}; text comparison may differ"
    if not _truths(before):
        yield "neither score identifies its truth: they are comparable only if it was the same"
    if track is not None and track.comparison.warnings:
        yield from track.comparison.warnings(before.result or {}, after.result or {})
    for side, score in _sides(before, after):
        if score.result is None:
            yield f"the {side} was refused: it has no figures"


def _figures(track: Track | None, result: Mapping[str, object]) -> Mapping[str, object]:
    """Return the figures of the submission, the headline first."""
    if track is None or not result:
        return without_metadata(result)
    figures = track.comparison.figures_in(result)
    if track.headline in figures:
        return {track.headline: figures[track.headline], **figures}
    headline = track.comparison.headline(result) if track.comparison.headline else result.get(track.headline)
    return figures if not _is_figure(headline) else {track.headline: headline, **figures}


def _deltas(before: Mapping[str, object], after: Mapping[str, object], prefix: str = "") -> Iterator[Delta]:
    """Return every figure, including those by class."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        shown = prefix + _plain_name(name)
        if isinstance(old, dict) or isinstance(new, dict):
            yield from _deltas(_table(before, name), _table(after, name), f"{shown}.")
        elif _is_figure(old) or _is_figure(new):
            yield Delta.of(shown, old if _is_figure(old) else None, new if _is_figure(new) else None)


_plain_name = lru_cache(1024)(plain_name)
"""All rows have the same figures."""


def _table(mapping: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the value of a key if it is an object."""
    found = mapping.get(name)
    return found if isinstance(found, dict) else {}


def _is_figure(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rows(old: RowGroup, new: RowGroup, lower: frozenset[str]) -> list[ComparedRow]:
    """Return the compared rows, the largest changes first; gates in the order of the protocol."""
    found = [_row(name, old, new, lower) for name in dict.fromkeys((*old.rows, *new.rows))]
    largest = {row.id: abs((row._main and row._main.delta) or 0) for row in found}
    return found if old.judged else sorted(found, key=lambda row: (not row.changed, -largest[row.id], row.id))


def _row(name: str, old: RowGroup, new: RowGroup, lower: frozenset[str]) -> ComparedRow:
    before, after = _table(old.rows, name), _table(new.rows, name)
    figures = tuple(_deltas(before, after))
    named = [figure for figure in figures if figure.name in old.deciding and figure.name in new.deciding]
    deciding = figures if old.or_all and not named else named
    better = [-(figure.delta or 0) if figure.name in lower else figure.delta or 0 for figure in deciding]
    signs = {(change > 0) - (change < 0) for change in better} - {0}
    reason = after.get("reason")
    return ComparedRow(
        kind=old.kind, id=name, figures=figures,
        before=_passed(before, old.state) if name in old.rows else None,
        after=_passed(after, old.state) if name in new.rows else None,
        reason=reason if isinstance(reason, str) and reason.strip(BLANKS) else None,
        _main=max(deciding, key=lambda figure: abs(figure.delta or 0), default=Delta.of("")),
        _trend=signs.pop() if len(signs) == 1 else 0,
    )  # fmt: skip


def _passed(row: Mapping[str, object], field: str) -> str | None:
    state = row.get(field) if field else ""
    return _STATES[state] if state is None or isinstance(state, bool) else None
