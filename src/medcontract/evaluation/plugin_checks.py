"""Checks what the scorer of a plugin returns, before it becomes a result. Built-in scorers are tested instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

from medcontract.contracts import registry
from medcontract.contracts.custom_codes import require_code
from medcontract.errors import BrokenPlugin, CallError
from medcontract.problems import pointer
from medcontract.scoring.processing_gate import Verdict, verdict_on
from medcontract.scoring.scorer import Answers, Finished, Limit, Notes, Remark, Scorer, Tally
from medcontract.scoring.track import Track

Check = TypeVar("Check", Limit, Remark)
Kind = TypeVar("Kind")


def tally_of(track: Track, scorer: Scorer, answers: Answers) -> Tally:
    """The tally of a scorer. Raises `BrokenPlugin` if that is not usable."""
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
    """What the scorer says about a tally. Raises `BrokenPlugin` if that is not usable."""
    notes = scorer.notes(tally)
    if not _is_ours(scorer):
        _require(track, "notes", notes, Notes)
        _require_texts(track, "notes", notes, "warnings", "about_truth")
        notes.remarks = tuple(checked(track, scorer, notes.remarks, Remark))
    return notes


def verdict_of(track: Track, scorer: Scorer, tally: Tally) -> Verdict:
    """The verdict on a tally. Raises `BrokenPlugin` if the result is not a document of the track's result contract."""
    if _is_ours(scorer):
        return verdict_on(scorer, tally)
    return verdict_on(scorer, tally, lambda finished: _check_finished(track, finished))


def all_are(kind: type[Kind], track: Track, scorer: Scorer, function: str, found: Any) -> Iterator[Kind]:
    """What a function of a scorer returns. Raises `BrokenPlugin` unless all are of this type."""
    if not _is_ours(scorer):
        _require(track, function, found, Iterable)
    for each in found:
        if not _is_ours(scorer):
            _require(track, function, each, kind, "each")
        yield each


def for_participants(track: Track, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
    """The figures of a result that participants may see, not rounded. Raises `BrokenPlugin` if it is not a dict."""
    shown = track.for_participants(result, headline)
    _require(track, "for_participants", shown, dict)
    return shown


def checked(track: Track, scorer: Scorer, found: Iterable[Check], kind: type[Check]) -> Iterator[Check]:
    """The limits or remarks of a scorer. Raises `BrokenPlugin` for any other value, or an unknown code."""
    name = f"{kind.__name__.lower()}s"
    for each in all_are(kind, track, scorer, name, found):
        if not _is_ours(scorer):
            try:
                require_code(each.code, f"a {kind.__name__}")
            except CallError as error:
                raise _broken(track, name, error.as_options[0]) from None
        yield each


def check_result(track: Track, scorer: Scorer, verdict: Any) -> Verdict:
    """The verdict of a scorer that scores a result again (`Scorer.rescore`)."""
    if not _is_ours(scorer):
        _require(track, "rescore", verdict, Verdict)
        if verdict.result is not None:
            _check_document(track, "rescore", verdict.result)
        for name in ("headline", "second"):
            _check_figure(track, "rescore", name, getattr(verdict, name))
    checked: Verdict = verdict
    return checked


def _is_ours(scorer: Scorer) -> bool:
    return type(scorer).__module__.partition(".")[0] == __name__.partition(".")[0]


def _check_finished(track: Track, finished: Any) -> None:
    _require(track, "figures", finished, Finished)
    for name in ("headline", "second"):
        _check_figure(track, "figures", name, getattr(finished, name))
    _require_texts(track, "figures", finished, "warnings", "reasons")
    if finished.decision not in (None, "GO", "NO-GO"):
        raise _broken(track, "figures", "decision must be GO, NO-GO or None")
    _check_document(track, "figures", finished.result)


def _check_figure(track: Track, function: str, name: str, value: Any) -> None:
    if value is not None and type(value) is not Fraction:
        raise _broken(track, function, f"{name} must be a Fraction or None, not {type(value).__name__}")


def _check_document(track: Track, function: str, result: Any) -> None:
    """Only the location of what is wrong is reported: the result may contain ids of records."""
    from pydantic import ValidationError

    _require(track, function, result, dict, "result")
    contract = registry.contract(track.roles.result)
    try:
        contract.model.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = pointer(first["loc"], plain=True) or "its keys"
        raise _broken(
            track, function, f"the result is not a document of {contract.id}: see {where} ({first['type']})"
        ) from None


def _require(track: Track, function: str, value: Any, kind: type, what: str = "") -> None:
    if not isinstance(value, kind):
        name = f"{what} must be" if what else "it must return"
        raise _broken(track, function, f"{name} {kind.__name__}, not {type(value).__name__}")


def _require_texts(track: Track, function: str, value: Any, *names: str) -> None:
    for name in names:
        texts = getattr(value, name)
        if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
            raise _broken(track, function, f"{name} must be a tuple of strings")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _broken(track: Track, function: str, why: str) -> BrokenPlugin:
    return BrokenPlugin(f"the track '{track.id}' does not work: {function}: {why}")
