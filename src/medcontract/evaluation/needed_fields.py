"""The header fields that a result needs, and that the files may lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medcontract.errors import CallError
from medcontract.evaluation.inputs import Files, Header, HeaderOverrides, header_fields, may_have_header, set_options
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track


def check_possible_fields(
    track: Track, scorer: Scorer, files: Files, given: HeaderOverrides, known: Mapping[str, Header] | None = None
) -> None:
    """Raise `CallError`, before anything is read, if the result needs a header field that no file can contain.

    `known`: the headers of a truth that was already read.
    """
    needed = track.result_fields.needed
    parts = [
        part for pair in scorer.pairs for name in {pair.truth, pair.submission} for part in files.groups.get(name, [])
    ]
    if not needed or not any(pair.submission in files.groups for pair in scorer.pairs):
        return
    possible = {name for part in parts if may_have_header(part) for name in header_fields(part.contract)}
    possible |= given.names | {
        name for header in (known or {}).values() for name, value in header.items() if value is not None
    }
    lacking = [name for name in needed if name not in possible]
    if lacking:
        raise lacks_fields(lacking)


def lacks_fields(names: Sequence[str]) -> CallError:
    message = f"the result needs {', '.join(names)}, which the files do not contain"
    return CallError(message, f"pass {set_options(names)}")


def lacking_fields(track: Track, headers: Mapping[str, Header]) -> list[str]:
    """The header fields that the result needs and that no file has."""
    known = {name for header in headers.values() for name, value in header.items() if value is not None}
    return [name for name in track.result_fields.needed if name not in known]
