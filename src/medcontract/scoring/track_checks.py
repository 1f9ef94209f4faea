"""Checks the definition of a track when it is registered, so that mistakes are found before anything is scored."""

from __future__ import annotations

import re
from typing import Any

from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.scoring.pairing import Pair
from medcontract.scoring.protocol import MIN_PROCESSED, Protocol
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Comparison, Figure, LinkedFiles, Option, Ranking, ResultFields, Roles, Track

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TYPES: dict[str, type] = {
    "id": str, "roles": Roles, "protocol": Protocol, "headline": str, "second": str, "result_fields": ResultFields,
    "linked_files": LinkedFiles, "comparison": Comparison, "ranking": Ranking,
}  # fmt: skip
_RENAMED = {"tally": "count", "figures": "finish"}
_FUNCTIONS = ("complete", "tables", "for_participants")
_LISTS: dict[str, type] = {"figures": Figure, "options": Option}


def check_types(track: Track) -> None:
    """Raises `CallError` for attributes that cannot be right."""
    for name, kind in _TYPES.items():
        value = getattr(track, name)
        if not isinstance(value, kind):
            raise _wrong(track, f"'{name}' must be {kind.__name__}, not {type(value).__name__}")
    for name, kind in _LISTS.items():
        values = getattr(track, name)
        if not isinstance(values, tuple) or not all(isinstance(value, kind) for value in values):
            raise _wrong(track, f"'{name}' must be a tuple of {kind.__name__}", f"write {name} = ({kind.__name__}(…),)")
    for name in _FUNCTIONS:
        value = getattr(track, name)
        if not (callable(value) or (value is None and name == "for_participants")):
            raise _wrong(track, f"'{name}' must be a function")
    if not _ID.fullmatch(track.id):
        raise _wrong(track, f"invalid id '{track.id}'", "use lower-case letters, digits and '-', such as 'stroke'")
    scorer: Any = track.scorer
    if not (isinstance(scorer, type) and issubclass(scorer, Scorer)):
        raise _wrong(track, "'scorer' must be a subclass of Scorer", "write the class, not an instance of it")
    missing = sorted(getattr(scorer, "__abstractmethods__", ()))
    if missing:
        name, old = missing[0], _RENAMED.get(missing[0], "")
        renamed = f"'{old}' is now called '{name}': " if hasattr(scorer, old) else ""
        raise _wrong(track, f"{scorer.__name__} has no '{name}'", f"{renamed}see docs/your-own-track.md")


def check_consistency(track: Track) -> None:
    """Raises `CallError` if parts of the track do not fit together. Its contracts are registered."""
    _check_protocol(track)
    known = {figure.name for figure in track.figures}
    for name in (track.headline, track.second):
        if name and name not in known and track.comparison.headline is None:
            raise _wrong(track, f"there is no figure '{name}'", "headline and second are names of figures")
    _check_pairs(track)


def _check_protocol(track: Track) -> None:
    protocol = track.protocol
    if protocol.id != track.id:
        raise _wrong(track, f"its protocol has another id, '{protocol.id}'", f'write Protocol(id="{track.id}", …)')
    if MIN_PROCESSED.name not in protocol.values:
        raise _wrong(
            track, f"its protocol has no parameter '{MIN_PROCESSED.name}'", "add MIN_PROCESSED to its parameters"
        )


def _check_pairs(track: Track) -> None:
    """Check the contracts and fields that pairs refer to, unless they depend on the files of a submission."""
    pairs: Any = getattr(track.scorer, "pairs", None)
    if not isinstance(pairs, tuple):  # computed for the files of a submission
        return
    if not pairs or not all(isinstance(pair, Pair) for pair in pairs):
        raise _wrong(track, "'pairs' of its scorer must be a tuple of Pair", "write pairs = (Pair(…),)")
    for pair in pairs:
        for name in (pair.truth, pair.submission):
            if name not in track.roles.all:
                raise _wrong(track, f"a Pair refers to {name}, which is not in its roles", "add it to Roles(…)")
            fields = registry.find(name).record
            wanted = (*pair.key, pair.run) if name == pair.submission and pair.run else pair.key
            missing = [field for field in wanted if field not in fields]
            if missing:
                raise _wrong(track, f"a Pair refers to '{missing[0]}', which records of {name} do not have")
        if pair.can_fail and "error" not in registry.find(pair.submission).record:
            raise _wrong(
                track, f"records of {pair.submission} have no 'error'", "write can_fail=False in the Pair, or add it"
            )


def _wrong(track: Track, message: str, hint: str | None = None) -> CallError:
    return CallError(f"the track '{track.id}': {message}", hint)
