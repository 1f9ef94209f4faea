"""Before and after: two scores of one track, refused when they cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.definitions.contract import Validated
from medcontract.errors import CallError
from medcontract.scoring import tracks
from medcontract.scoring.gate import validated

_IDS = {"runs": "run_id", "metrics": "case_id", "documents": "doc_id", "gates": "gate"}
"""Lists of a result, and what their rows are named by."""
_MAIN = {"runs": "total_score", "metrics": "jaccard_index", "documents": "score", "gates": "measured"}
"""The figure that tells whether a row got better."""


class Delta(NamedTuple):
    """One figure before and after."""

    name: str
    before: float | None
    after: float | None

    @property
    def delta(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


class Row(NamedTuple):
    """One run, case or document before and after."""

    kind: str
    id: str
    figures: tuple[Delta, ...]
    main: Delta
    """What tells whether it got better."""


class Comparison(Struct, kw_only=True):
    """What changed from one score to another."""

    track: str
    fingerprint: str
    figures: tuple[Delta, ...]
    rows: tuple[Row, ...]
    """Those that changed most first; those that did not change last."""
    before: str | None
    """The decision, or whether it was valid."""
    after: str | None
    warnings: tuple[str, ...] = ()


def compare(baseline: Validated[Any], rerun: Validated[Any]) -> Comparison:
    """What changed. Raises `CallError`, with the exact difference, when the two are not comparable."""
    before, after = validated(baseline), validated(rerun)
    _comparable(before, after)
    left, right = before.result or {}, after.result or {}
    return Comparison(
        track=before.track,
        fingerprint=before.protocol.fingerprint,
        figures=tuple(_deltas(_figures(left), _figures(right))),
        rows=tuple(sorted(_rows(left, right), key=_largest_first)),
        before=_state(before),
        after=_state(after),
        warnings=tuple(_warnings(before, after)),
    )


def _state(score: Any) -> str:
    decision = (score.result or {}).get("decision")
    return decision or ("valid" if score.valid else "not valid" if score.result is not None else "refused")


def _comparable(before: Any, after: Any) -> None:
    if before.track != after.track:
        raise CallError(f"the scores are of different tracks: {before.track} and {after.track}")
    if before.protocol.fingerprint != after.protocol.fingerprint:
        raise CallError(
            "the protocols differ, so the figures cannot be compared", "; ".join(_protocol_changes(before, after))
        )
    contents = [_truths(score) for score in (before, after)]
    if contents[0] != contents[1]:
        names = sorted(set(contents[0]) | set(contents[1]))
        differing = [
            f"{name}: {(contents[0].get(name) or 'absent')[:16]} and {(contents[1].get(name) or 'absent')[:16]}"
            for name in names
            if contents[0].get(name) != contents[1].get(name)
        ]
        raise CallError(
            "the truths differ, so the figures cannot be compared", "content_sha256 of " + "; ".join(differing)
        )


def _truths(score: Any) -> dict[str, str]:
    return {file.contract: file.content_sha256 for file in score.inputs if file.content_sha256}


def _protocol_changes(before: Any, after: Any) -> Iterator[str]:
    old, new = before.protocol, after.protocol
    if old.version != new.version:
        yield f"version {old.version} and {new.version}"
        if before.track in tracks.NAMES:
            versions = range(min(old.version, new.version) + 1, max(old.version, new.version) + 1)
            changes = tracks.track(before.track).protocol.changes
            yield from (
                f"version {change.version}: {change.reason}" for change in changes if change.version in versions
            )
    names = [*old.parameters, *(name for name in new.parameters if name not in old.parameters)]
    for name in names:
        mine, other = (_shown(each.parameters, name) for each in (old, new))
        if mine != other:
            yield f"{name}: {mine} and {other}"


def _shown(parameters: Mapping[str, Any], name: str) -> str:
    if name not in parameters:
        return "absent"
    value = parameters[name]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _warnings(before: Any, after: Any) -> Iterator[str]:
    for name in ("unicode", "unidecode"):
        old, new = getattr(before.environment, name), getattr(after.environment, name)
        if old != new:
            yield f"made with different versions of {name}: {old} and {new}; texts may have been compared differently"
    weights = [_table(_table(score.result or {}, "metadata"), "combined") for score in (before, after)]
    if weights[0] != weights[1] and all(weights):
        told = " and ".join(_weights(each) for each in weights)
        yield f"the combined scores were weighed differently ({told}): they cannot be compared"
    for score, word in ((before, "baseline"), (after, "rerun")):
        if score.result is None:
            yield f"the {word} was refused: it has no figures"


def _weights(combined: Mapping[str, Any]) -> str:
    weights = _table(combined, "weights")
    shares = ", ".join(f"{name} {weight}" for name, weight in weights.items())
    return f"{shares}{'' if combined.get('renormalize_missing', True) else ', missing ones kept'}"


def _figures(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of the submission. A benchmark report has them in a place of their own."""
    return _table(result, "overall_scores") or result


def _table(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What stands under a name, if it is an object: a result made elsewhere may hold anything."""
    found = mapping.get(name)
    return found if isinstance(found, dict) else {}


def _deltas(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> Iterator[Delta]:
    """Every figure of the submission, those by class too."""
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) or isinstance(new, dict):
            yield from _deltas(_table(before, name), _table(after, name), f"{prefix}{name}.")
        elif _is_figure(old) or _is_figure(new):
            yield Delta(prefix + name, _number(old), _number(new))


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return value if _is_figure(value) else None


def _rows(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Row]:
    for kind, key in _IDS.items():
        old, new = ({_id(row, key): row for row in _listed(result, kind, key)} for result in (before, after))
        for name in [*old, *(name for name in new if name not in old)]:
            figures = tuple(_deltas(old.get(name, {}), new.get(name, {})))
            main = next((each for each in figures if each.name == _MAIN[kind]), Delta(_MAIN[kind], None, None))
            yield Row(kind, name, figures, main)
    yield from _metric_rows("tasks", *(_table(result, "task_scores") for result in (before, after)))
    yield from _metric_rows("samples", *map(_samples, (before, after)))


def _listed(result: Mapping[str, Any], kind: str, *keys: str) -> list[dict[str, Any]]:
    """The rows of a list that have these keys."""
    rows = result.get(kind)
    return [row for row in rows if isinstance(row, dict) and row.keys() >= {*keys}] if isinstance(rows, list) else []


def _samples(result: Mapping[str, Any]) -> dict[str, Any]:
    """The samples of a benchmark report that was made with a breakdown."""
    rows = _listed(result, "detailed_results", "task_id", "sample_id", "scores")
    return {f"{row['task_id']} {row['sample_id']}": _table(row, "scores") for row in rows}


def _metric_rows(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Row]:
    """Tasks or samples. Their first metric tells whether they got better: the combined score, where there is one."""
    for name in [*before, *(name for name in after if name not in before)]:
        figures = tuple(_deltas(_table(before, name), _table(after, name)))
        yield Row(kind, name, figures, figures[0] if figures else Delta("", None, None))


def _id(row: Mapping[str, Any], key: str) -> str:
    kind = row.get("doc_type")
    return f"{row[key]} ({kind})" if kind else str(row[key])


def _largest_first(row: Row) -> tuple[bool, float, str, str]:
    """Gates last: they are of other units."""
    change = row.main.delta
    return row.kind == "gates", -abs(change) if change is not None else 0.0, row.kind, row.id
