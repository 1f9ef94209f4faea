"""Before and after: two scores of one track, refused when they cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from medcontract.definitions.contract import Validated
from medcontract.definitions.forms import BLANKS
from medcontract.errors import CallError
from medcontract.evaluation.published import versions
from medcontract.judging.start import judge
from medcontract.problems import plain_name
from medcontract.reading.source import Source
from medcontract.results.comparison import ComparedRow, Comparison, Delta, Kind
from medcontract.scoring import tracks
from medcontract.scoring.gate import validated
from medcontract.tally import Tally


class _Kind(NamedTuple):
    """A list of a result."""

    id: str
    """What its rows are named by."""
    main: str
    """The figure that tells whether a row got better."""
    state: str = ""
    """The field that says whether a row is good."""


_KINDS: dict[Kind, _Kind] = {
    "documents": _Kind("doc_id", "score"),
    "metrics": _Kind("case_id", "jaccard_index"),
    "runs": _Kind("run_id", "total_score", "valid"),
    "gates": _Kind("gate", "measured", "passed"),
}
_ORDER = ("documents", "metrics", "tasks", "samples", "runs", "gates")
_STATES = {True: "passed", False: "not passed", None: "not judged"}


def compare(baseline: Validated[Any], rerun: Validated[Any], names: Sequence[str] = ()) -> Comparison:
    """What changed. Raises `CallError`, with the exact difference, when the two are not comparable.

    `names` are those of the two files, for a person to read.
    """
    before, after = validated(baseline), validated(rerun)
    _comparable(before, after)
    left, right = before.result or {}, after.result or {}
    sides = ((before, "baseline"), (after, "rerun"))
    broken = [warning for score, word in sides for warning in _broken_contract(score, word)]
    return Comparison(
        track=before.track,
        fingerprint=before.protocol.fingerprint,
        figures=tuple(_deltas(_figures(before.track, left), _figures(before.track, right))),
        rows=tuple(sorted(_rows(left, right), key=_largest_first)) if left and right else (),
        before=_state(before),
        after=_state(after),
        reasons=tuple(f"the {word}: {reason}" for score, word in sides for reason in score.reasons),
        warnings=(*broken, *_warnings(before, after)),
        _names=tuple(names),
        **versions(),
    )


def _broken_contract(score: Any, word: str) -> Iterator[str]:
    """A warning of a result that medcontract did not write like this. Participants' results have no contract."""
    track = tracks.find(score.track)
    if score.result is None or track is None or not _truths(score):
        return
    contract = track.result_contract
    text = json.dumps(score.result, ensure_ascii=False).encode()
    errors = judge(Source(text, "result.json"), contract, Tally(1)).errors
    if errors:
        many = f"{errors:,} error{'s' * (errors != 1)}"
        yield f"the result of the {word} breaks {contract} ({many}): it is compared as far as it goes"


def _state(score: Any) -> str:
    decision = (score.result or {}).get("decision")
    if decision in ("GO", "NO-GO"):
        return str(decision)
    return "valid" if score.valid else "not valid" if score.result is not None else "refused"


def _comparable(before: Any, after: Any) -> None:
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
                "one of the scores does not tell what its truth was, so they cannot be compared",
                "it was made for a participant, from a report, or was refused: make both in the same way",
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
            f"version {version}: {reasons.get(version, 'this medcontract does not know it')}"
            for version in versions[:10]
        )
    names = [*old.parameters, *(name for name in new.parameters if name not in old.parameters)]
    for name in names:
        mine, other = (_shown(each.parameters.get(name, "absent")) for each in (old, new))
        if mine != other:
            yield f"{name}: {mine} and {other}"


def _shown(value: Any) -> str:
    """A number to its last digit."""
    return f"{value:.17g}" if isinstance(value, float) and value.is_integer() else str(value)


def _warnings(before: Any, after: Any) -> Iterator[str]:
    for name in ("unicode", "unidecode"):
        old, new = getattr(before.environment, name), getattr(after.environment, name)
        if old != new:
            yield f"made with different versions of {name}: {old} and {new}; texts may have been compared differently"
    if not _truths(before):
        yield "neither score tells what its truth was: they can be compared only if it was the same"
    old, new = (_combined(score.result or {}) for score in (before, after))
    for name in old.keys() & new.keys():
        if old[name] != new[name]:
            told = " and ".join(_weights(_table(each, name)) for each in (old, new))
            yield f"'{plain_name(name)}' was weighed differently ({told}): it cannot be compared"
    for score, word in ((before, "baseline"), (after, "rerun")):
        if score.result is None:
            yield f"the {word} was refused: it has no figures"


def _weights(how: Mapping[str, Any]) -> str:
    shares = ", ".join(f"{plain_name(metric)} {_share(weight)}" for metric, weight in _table(how, "weights").items())
    return f"{shares}{'' if how.get('renormalize_missing', True) else ', missing ones kept'}"


def _share(weight: Any) -> str:
    return str(weight) if _is_figure(weight) else "…"


def _figures(track: str, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of the submission, the one that it is ranked by first."""
    if not result:
        return {}
    figures = _table(result, "overall_scores") or {k: v for k, v in result.items() if k != "metadata"}
    found = tracks.find(track)
    if found is None or found.headline in figures:
        return figures
    headline = found.headline_of(result)
    return figures if headline is None else {found.headline: headline, **figures}


def _table(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What stands under a name, if it is an object: a result made elsewhere may hold anything."""
    found = mapping.get(name)
    return found if isinstance(found, dict) else {}


def _listed(result: Mapping[str, Any], kind: str, *keys: str) -> list[dict[str, Any]]:
    """The rows of a list that have these keys."""
    rows = result.get(kind)
    return [row for row in rows if isinstance(row, dict) and row.keys() >= {*keys}] if isinstance(rows, list) else []


def _deltas(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> Iterator[Delta]:
    """Every figure, those by class too."""
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        shown = prefix + plain_name(name)
        if isinstance(old, dict) or isinstance(new, dict):
            yield from _deltas(_table(before, name), _table(after, name), f"{shown}.")
        elif _is_figure(old) or _is_figure(new):
            yield Delta.of(shown, _number(old), _number(new))


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return value if _is_figure(value) else None


def _rows(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ComparedRow]:
    for name, kind in _KINDS.items():
        old, new = ({_id(row, kind.id): row for row in _listed(result, name, kind.id)} for result in (before, after))
        for each in [*old, *(each for each in new if each not in old)]:
            figures = tuple(_deltas(old.get(each, {}), new.get(each, {})))
            main = next((figure for figure in figures if figure.name == kind.main), Delta.of(kind.main))
            reason = new.get(each, {}).get("reason")
            said = reason if isinstance(reason, str) and reason.strip(BLANKS) else None
            yield ComparedRow(
                kind=name, id=each, figures=figures, before=_passed(old.get(each), kind),
                after=_passed(new.get(each), kind), reason=said, _main=main, _trend=_sign(main),
            )  # fmt: skip
    combined = _combined(before).keys() & _combined(after).keys()
    yield from _metric_rows("tasks", _table(before, "task_scores"), _table(after, "task_scores"), combined)
    yield from _metric_rows("samples", _samples(before), _samples(after), combined)


def _sign(delta: Delta) -> int:
    change = delta.delta or 0
    return (change > 0) - (change < 0)


def _combined(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The combined scores of a benchmark report, and how they were weighed."""
    return _table(_table(result, "metadata"), "combined_scores")


def _id(row: Mapping[str, Any], key: str) -> str:
    kind = row.get("doc_type")
    return f"{row[key]} ({kind})" if kind else str(row[key])


def _passed(row: Mapping[str, Any] | None, kind: _Kind) -> str | None:
    if not kind.state or row is None:
        return None
    state = row.get(kind.state)
    return _STATES[state] if state is None or isinstance(state, bool) else None


def _samples(result: Mapping[str, Any]) -> dict[str, Any]:
    """The samples of a benchmark report that was made with a breakdown."""
    rows = _listed(result, "detailed_results", "task_id", "sample_id", "scores")
    return {f"{row['task_id']} {row['sample_id']}": _table(row, "scores") for row in rows}


def _metric_rows(
    kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any], combined: Collection[str]
) -> Iterator[ComparedRow]:
    """Tasks or samples. They got better when a combined score did, or else when metrics rose and none fell."""
    for name in [*before, *(name for name in after if name not in before)]:
        figures = tuple(_deltas(_table(before, name), _table(after, name)))
        weighed = [figure for figure in figures if figure.name in combined]
        signs = {_sign(figure) for figure in weighed or figures} - {0}
        largest = max(weighed or figures, key=lambda figure: abs(figure.delta or 0), default=Delta.of(""))
        trend = signs.pop() if len(signs) == 1 else 0
        yield ComparedRow(kind=kind, id=name, figures=figures, _main=largest, _trend=trend)


def _largest_first(row: ComparedRow) -> tuple[int, bool, float, str]:
    change = row._main.delta if row._main else None
    if row.kind == "gates":  # in the order of the protocol
        return len(_ORDER), False, 0.0, ""
    return _ORDER.index(row.kind), not row.changed, -abs(change) if change is not None else 0.0, row.id
