"""Checks and converts the arguments of the public functions in `api`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from medcontract.addresses import require_local
from medcontract.errors import LOAD_PLUGIN, CallError
from medcontract.extras import is_frame

if TYPE_CHECKING:
    from decimal import Decimal

    import pandas as pd

    from medcontract.reading.limits import Limits
    from medcontract.reading.source import Source

FileName = str | os.PathLike[str]
Number: TypeAlias = "str | int | float | Decimal"
FileNames: TypeAlias = FileName | Iterable[FileName]
Progress = Callable[[str, int, int], None]
Notice = Callable[[str], None]


def paths(given: Any) -> tuple[FileName, ...]:
    """A path, or an iterable of paths, as a tuple. Raises `CallError`."""
    if isinstance(given, str | os.PathLike):
        return (given,)
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise CallError(f"expected a path or a list of paths, got {type(given).__name__}")
    found = tuple(given)
    for each in found:
        if not isinstance(each, str | os.PathLike):
            hint = "pass each path as a separate argument" if isinstance(each, list | tuple) else None
            raise CallError(f"expected a path, got {type(each).__name__}", hint)
    return found


def mapping(given: Mapping[str, Any] | None, argument: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise CallError(f"'{argument}' must be a mapping, not {type(given).__name__}")
    return dict(given or {})


def require_strings(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            hint = "pass each string as a separate argument" if isinstance(value, list | tuple) else None
            raise CallError(f"expected a string, got {type(value).__name__}", hint)


def require_at_least(minimum: int, **numbers: Any) -> None:
    from numbers import Integral

    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise CallError(f"'{name}' must be an integer, not {type(number).__name__}")
        if number < minimum:
            raise CallError(f"'{name}' must be at least {minimum}, not {number}")


def require_draft(draft: str) -> None:
    from medcontract.schemas.publishing import DRAFTS

    if draft not in DRAFTS:
        raise CallError(f"unknown draft '{draft}'", f"use one of: {', '.join(DRAFTS)}")


def input_source(file: FileName | bytes | pd.DataFrame, contract: str | None, name: str | None) -> Source:
    if not is_frame(file):
        from medcontract.evaluation.files import input_file

        return input_file(cast("FileName | bytes", file), name)
    from medcontract.validation.frames import frame_source

    return frame_source(cast("pd.DataFrame", file), contract, name)


def source(path: str | Source, limits: Limits | None) -> Source:
    from medcontract.reading.source import Source, open_source

    return path if isinstance(path, Source) else open_source(path, limits)


def changes(parameters: Mapping[str, Number] | None) -> tuple[tuple[str, str], ...]:
    """Parameters as exact strings."""
    return tuple((name, _exact(name, value)) for name, value in mapping(parameters, "parameters").items())


def _exact(name: str, value: Any) -> str:
    from decimal import Decimal
    from numbers import Integral, Real

    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Decimal | Real):
        raise CallError(f"'{name}' must be a number or a string, not {type(value).__name__}")
    if isinstance(value, Decimal):
        return str(value)
    return str(int(value)) if isinstance(value, Integral) else repr(float(value))


def load_plugins(names: str | Iterable[str]) -> None:
    """Load plugins, given as a name or several."""
    for name in (names,) if isinstance(names, str) else names:
        from medcontract.scoring import tracks

        require_local(name, LOAD_PLUGIN, "download the plugin first, and read it")
        tracks.load_plugin(name)
