"""Checks what the scorer of a plugin returns, before it becomes a result. Built-in scorers are tested instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.errors import BrokenPlugin, CallError
from medcontract.plugins.registration import require_code
from medcontract.problems import pointer
from medcontract.scoring.rational import FigureTooLarge
from medcontract.scoring.scorer import (
    Answers,
    Finished,
    Limit,
    Notes,
    Remark,
    Scorer,
    Tally,
    below_the_gate,
    gate_of,
    processed_by_run,
)
from medcontract.scoring.track import Track
from medcontract.types import JsonObject

Check = TypeVar("Check", Limit, Remark)
Kind = TypeVar("Kind")


def tally_of(track: Track, scorer: Scorer, answers: Answers) -> Tally:
    """Return the tally of a scorer. Raises `BrokenPlugin` if that is not usable."""
    tally = scorer.tally(answers)
    if _is_ours(scorer):
        return tally
    _require(track, "tally", tally, Tally)
    processed: Any = tally.processed
    good = isinstance(processed, dict) and processed and all(map(_is_count, processed.values()))
    if not good or not _is_count(tally.expected) or tally.expected < 1:
        raise _broken(track, "tally", "expected and processed (by run) must be counts, and expected above 0")
    if any(number > tally.expected for number in tally.processed.values()):
        raise _broken(track, "tally", "more items are processed than expected")
    try:
        tally.times(1)
    except TypeError as error:
        raise _broken(track, "tally", f"data: {error}") from None
    return tally


def notes_of(track: Track, scorer: Scorer, tally: Tally) -> Notes:
    """Return what the scorer says about a tally. Raises `BrokenPlugin` if that is not usable."""
    notes = scorer.notes(tally)
    _require(track, "notes", notes, Notes)
    _require_texts(track, "notes", notes, "warnings", "about_truth")
    notes.remarks = tuple(checked(track, notes.remarks, Remark))
    return notes


def refused_by_gate(scorer: Scorer, answers: Answers) -> Finished | None:
    """Refuse a submission that does not pass the processing gate, before the expensive tally."""
    pairings = answers.pairings.values()
    expected = sum(pairing.expected.total for pairing in pairings)
    return _refused(scorer, processed_by_run(pairings), expected)


def _refused(scorer: Scorer, processed: Mapping[str, int], expected: int) -> Finished | None:
    gate, run = gate_of(processed, expected, scorer.protocol)
    if gate.passed or scorer.result_below_gate:
        return None
    return Finished(result=None, headline=None, processing=gate, reasons=(below_the_gate(gate, run),))


def figures_of(track: Track, scorer: Scorer, tally: Tally) -> Finished:
    """Return the figures of a tally, if it passes the gate: items that are not processed count as wrong.

    Raises `BrokenPlugin` if the result does not satisfy the result contract.
    """
    refused = _refused(scorer, tally.processed, tally.expected)
    if refused:
        return refused
    gate, worst_run = gate_of(tally.processed, tally.expected, scorer.protocol)
    try:
        finished = scorer.figures(tally)
        if not _is_ours(scorer):
            _require(track, "figures", finished, Finished)
            _require_figures(track, "figures", finished)
            _require_texts(track, "figures", finished, "warnings", "reasons")
            if finished.decision not in (None, "GO", "NO-GO"):
                raise _broken(track, "figures", "decision must be GO, NO-GO or None")
            _require_document(track, "figures", finished.result)
    except FigureTooLarge:
        reason = "a figure is too large for a double: check the numbers in the submission"
        return Finished(result=None, headline=None, processing=gate, reasons=(reason,))
    below = () if gate.passed else (below_the_gate(gate, worst_run),)
    return replace(finished, processing=gate, reasons=below + finished.reasons)


def check_result(track: Track, scorer: Scorer, finished: Finished) -> Finished:
    """Return the outcome of a scorer that scores a result again (`Scorer.rescore`)."""
    if not _is_ours(scorer):
        _require(track, "rescore", finished, Finished)
        if finished.result is not None:
            _require_document(track, "rescore", finished.result)
        _require_figures(track, "rescore", finished)
    return finished


def for_participants(track: Track, result: JsonObject, headline: float | None) -> JsonObject:
    """Return the figures that participants may see, not rounded. Raises `BrokenPlugin` if it is not a dict."""
    if track.for_participants is None:
        coarse = {figure.name for figure in track.figures if figure.by == "submission"}
        return {name: value for name, value in result.items() if name in coarse}
    shown = track.for_participants(result, headline)
    _require(track, "for_participants", shown, dict)
    return shown


def all_are(kind: type[Kind], track: Track, function: str, found: Any) -> Iterator[Kind]:
    """Return what a function of a scorer returns. Raises `BrokenPlugin` unless all are of this type."""
    _require(track, function, found, Iterable)
    for each in found:
        _require(track, function, each, kind, "each")
        yield each


def checked(track: Track, found: Iterable[Check], kind: type[Check]) -> Iterator[Check]:
    """Return the limits or remarks of a scorer. Raises `BrokenPlugin` for any other value, or an unknown code."""
    name = f"{kind.__name__.lower()}s"
    for each in all_are(kind, track, name, found):
        try:
            require_code(each.code, f"a {kind.__name__}")
        except CallError as error:
            raise _broken(track, name, error.as_options[0]) from None
        yield each


def _is_ours(scorer: Scorer) -> bool:
    return type(scorer).__module__.partition(".")[0] == __name__.partition(".")[0]


def _require_figures(track: Track, function: str, found: object) -> None:
    for name in ("headline", "second"):
        value = getattr(found, name)
        if value is not None and type(value) is not Fraction:
            raise _broken(track, function, f"{name} must be a Fraction or None, not {type(value).__name__}")


def _require_document(track: Track, function: str, result: object) -> None:
    """Report only the location of what is wrong: the result may contain ids of records."""
    from pydantic import ValidationError

    _require(track, function, result, dict, "result")
    contract = registry.contract(track.roles.result)
    try:
        contract.model.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = f"see {pointer(first['loc'], plain=True) or 'its keys'} ({first['type']})"
        raise _broken(track, function, f"the result is not a document of {contract.id}: {place}") from None


def _require(track: Track, function: str, value: object, kind: type, what: str = "") -> None:
    if not isinstance(value, kind):
        name = f"{what} must be" if what else "it must return"
        raise _broken(track, function, f"{name} {kind.__name__}, not {type(value).__name__}")


def _require_texts(track: Track, function: str, value: object, *names: str) -> None:
    for name in names:
        texts = getattr(value, name)
        if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
            raise _broken(track, function, f"{name} must be a tuple of strings")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _broken(track: Track, function: str, why: str) -> BrokenPlugin:
    return BrokenPlugin(f"the track '{track.id}' does not work: {function}: {why}")
