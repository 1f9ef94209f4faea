"""Compares two scores of one track; refused if they are not comparable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from medcontract.contracts.contract import Validated
from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import CallError, report_plugin_errors
from medcontract.evaluation.protocols import FrozenProtocol
from medcontract.evaluation.score import versions
from medcontract.problems import plain_name, plural
from medcontract.reading.source import Source
from medcontract.results.comparison import ComparedRow, Comparison, Delta, RowKind
from medcontract.scoring import tracks
from medcontract.scoring.comparison import RowGroup, without_metadata
from medcontract.scoring.expected import validated
from medcontract.scoring.protocol import fingerprint_of
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import validate_source
from medcontract.validation.problem_collector import ProblemCollector

_STATES = {True: "passed", False: "not passed", None: "not judged"}


@report_plugin_errors()
def compare(
    baseline: Validated[Any],
    rerun: Validated[Any],
    names: Sequence[str] = (),
    frozen: FrozenProtocol | None = None,
) -> Comparison:
    """What changed. Raises `CallError`, with the exact difference, if the two are not comparable.

    `names` are those of the two files, for display. `frozen` is the protocol that both must be made under.
    """
    before, after = validated(baseline), validated(rerun)
    _comparable(before, after)
    if frozen is not None:
        _made_under(frozen, before)  # and so the other, which has the same protocol and truth
    left, right = before.result or {}, after.result or {}
    sides = ((before, "baseline"), (after, "rerun"))
    track = tracks.find(before.track)
    lower = track.better_lower if track else frozenset()
    groups = _row_groups(track, left, right)
    invalid = [warning for score, side in sides for warning in _invalid_result(score, side)]
    return Comparison(
        track=before.track,
        fingerprint=before.protocol.fingerprint,
        figures=tuple(_deltas(_figures(before.track, left), _figures(before.track, right))),
        rows=tuple(row for pair in groups for row in _rows(*pair, lower)),
        before=_state(before),
        after=_state(after),
        reasons=tuple(f"{side}: {reason}" for score, side in sides for reason in score.reasons),
        warnings=(*invalid, *_warnings(before, after)),
        _names=tuple(names),
        _contracts=tuple(tuple(file.contract for file in score.inputs) for score, _ in sides),
        _kinds=tuple(RowKind(old.kind, old.title, old.judged) for old, _ in groups),
        _figures=track.figures if track else (),
        _lower=lower,
        **versions(),
    )


def _invalid_result(score: Any, side: str) -> Iterator[str]:
    """A warning about a result that violates its contract. Results for participants have no contract."""
    track = tracks.find(score.track)
    if score.result is None or track is None or not _truths(score):
        return
    contract = track.roles.result
    text = json.dumps(score.result, ensure_ascii=False).encode()
    errors = validate_source(Source(text, "result.json"), contract, ProblemCollector(1)).errors
    if errors:
        count = plural(errors, "error")
        yield f"the result of the {side} violates {contract} ({count}); only its valid parts are compared"


def _state(score: Any) -> str:
    decision = (score.result or {}).get("decision")
    if decision in ("GO", "NO-GO"):
        return str(decision)
    return "valid" if score.valid else "not valid" if score.result is not None else "refused"


def _comparable(before: Any, after: Any) -> None:
    for score, side in ((before, "baseline"), (after, "rerun")):
        used = score.protocol
        if used.fingerprint != fingerprint_of(score.track, used.version, used.parameters):
            raise CallError(
                f"the fingerprint of the {side} does not follow from its parameters, so it cannot be compared",
                "the file was edited after it was written: score the submission again",
            )
    if before.track != after.track:
        raise CallError(f"the scores are of different tracks: {before.track} and {after.track}")
    if before.protocol.fingerprint != after.protocol.fingerprint:
        raise CallError(
            "the protocols differ, so the figures cannot be compared", "; ".join(_protocol_changes(before, after))
        )
    contents = [_truths(score) for score in (before, after)]
    if contents[0] != contents[1]:
        if not all(contents):
            raise CallError(
                "one of the scores does not identify its truth, so they cannot be compared",
                "it was made for a participant or from a report, or was refused; make both in the same way",
            )
        names = sorted(set(contents[0]) | set(contents[1]))
        differing = [
            f"{name}: {(contents[0].get(name) or 'absent')[:16]} and {(contents[1].get(name) or 'absent')[:16]}"
            for name in names
            if contents[0].get(name) != contents[1].get(name)
        ]
        raise CallError(
            "the truths differ, so the figures cannot be compared", "content_sha256 of " + "; ".join(differing)
        )


def _made_under(frozen: FrozenProtocol, score: Any) -> None:
    if score.track != frozen.id:
        raise CallError(f"the protocol is frozen for the track {frozen.id}, but the scores are of {score.track}")
    found = list(frozen.differences(score.protocol.version, score.protocol.parameters))
    if found:
        raise CallError("the scores were not made under the frozen protocol", "; ".join(found))
    if frozen.truth and not _truths(score):
        raise CallError(
            "the scores do not say what their truth was, so it cannot be compared with the frozen one",
            "they were made for a participant, from a report, or were refused",
        )
    truths = list(frozen.truth_differences(_truths(score)))
    if truths:
        raise CallError("the truth of the scores is not the frozen one", "; ".join(truths))


def _truths(score: Any) -> dict[str, str]:
    return {file.contract: file.content_sha256 for file in score.inputs if file.content_sha256}


def _protocol_changes(before: Any, after: Any) -> Iterator[str]:
    old, new = before.protocol, after.protocol
    if old.version != new.version:
        yield f"version {old.version} and {new.version}"
        track = tracks.find(before.track)
        known = track.protocol.changes if track else ()
        versions = range(min(old.version, new.version) + 1, max(old.version, new.version) + 1)
        reasons = {change.version: change.reason for change in known}
        yield from (
            f"version {version}: {reasons.get(version, 'unknown to this version of medcontract')}"
            for version in versions[:10]
        )
    names = [*old.parameters, *(name for name in new.parameters if name not in old.parameters)]
    for name in names:
        mine, other = (_shown(each.parameters.get(name, "absent")) for each in (old, new))
        if mine != other:
            yield f"{name}: {mine} and {other}"


def _shown(value: Any) -> str:
    """A parameter with all its digits."""
    return f"{value:.17g}" if isinstance(value, float) and value.is_integer() else str(value)


def _warnings(before: Any, after: Any) -> Iterator[str]:
    for name in ("unicode", "unidecode"):
        old, new = getattr(before.environment, name), getattr(after.environment, name)
        if old != new:
            yield f"made with different versions of {name}: {old} and {new}; text comparison may differ"
    if not _truths(before):
        yield "neither score identifies its truth: they are comparable only if it was the same"
    track = tracks.find(before.track)
    if track is not None and track.comparison.warnings:
        yield from track.comparison.warnings(before.result or {}, after.result or {})
    for score, side in ((before, "baseline"), (after, "rerun")):
        if score.result is None:
            yield f"the {side} was refused: it has no figures"


def _figures(track: str, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of the submission, the headline first."""
    if not result:
        return {}
    found = tracks.find(track)
    if found is None:
        return without_metadata(result)
    figures = found.comparison.figures_in(result)
    if found.headline in figures:
        return {found.headline: figures[found.headline], **figures}
    headline = _headline(found, result)
    return figures if headline is None else {found.headline: headline, **figures}


def _headline(track: Track, result: Mapping[str, Any]) -> float | None:
    if track.comparison.headline:
        return track.comparison.headline(result)
    value = result.get(track.headline)
    return value if isinstance(value, float) else None


def _table(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The value of a key if it is an object: a result made elsewhere may contain anything."""
    found = mapping.get(name)
    return found if isinstance(found, dict) else {}


def _deltas(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> Iterator[Delta]:
    """Every figure, including those by class."""
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        shown = prefix + _plain_name(name)
        if isinstance(old, dict) or isinstance(new, dict):
            yield from _deltas(_table(before, name), _table(after, name), f"{shown}.")
        elif _is_figure(old) or _is_figure(new):
            yield Delta.of(shown, _number(old), _number(new))


_plain_name = lru_cache(1024)(plain_name)
"""All rows have the same figures."""


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return value if _is_figure(value) else None


def _row_groups(
    track: Track | None, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[RowGroup, RowGroup]]:
    """The row groups of both sides; none if a side has no result."""
    if track is None or not before or not after:
        return []
    return list(zip(track.comparison.row_groups(before), track.comparison.row_groups(after), strict=True))


def _rows(old: RowGroup, new: RowGroup, lower: frozenset[str]) -> list[ComparedRow]:
    """The compared rows, those that changed most first; gates in the order of the protocol."""
    names = [*old.rows, *(name for name in new.rows if name not in old.rows)]
    found = [_row(name, old, new, lower) for name in names]
    return found if old.judged else sorted(found, key=_largest_first)


def _row(name: str, old: RowGroup, new: RowGroup, lower: frozenset[str]) -> ComparedRow:
    before, after = _table(old.rows, name), _table(new.rows, name)
    figures = tuple(_deltas(before, after))
    named = [figure for figure in figures if figure.name in old.deciding and figure.name in new.deciding]
    deciding = figures if old.or_all and not named else named
    signs = {_sign(figure, lower) for figure in deciding} - {0}
    reason = after.get("reason")
    return ComparedRow(
        kind=old.kind, id=name, figures=figures,
        before=_passed(before, old.state) if name in old.rows else None,
        after=_passed(after, old.state) if name in new.rows else None,
        reason=reason if isinstance(reason, str) and reason.strip(BLANKS) else None,
        _main=max(deciding, key=lambda figure: abs(figure.delta or 0), default=Delta.of("")),
        _trend=signs.pop() if len(signs) == 1 else 0,
    )  # fmt: skip


def _sign(delta: Delta, lower: frozenset[str]) -> int:
    """1 if the figure is better now, -1 if it is worse."""
    change = delta.delta or 0
    sign = (change > 0) - (change < 0)
    return -sign if delta.name in lower else sign


def _passed(row: Mapping[str, Any], field: str) -> str | None:
    state = row.get(field) if field else ""
    return _STATES[state] if state is None or isinstance(state, bool) else None


def _largest_first(row: ComparedRow) -> tuple[bool, float, str]:
    change = row._main.delta if row._main else None
    return not row.changed, -abs(change) if change is not None else 0.0, row.id
