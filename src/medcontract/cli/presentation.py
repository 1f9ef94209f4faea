"""Presentation defaults from `medcontract.toml` or `[tool.medcontract]` in `pyproject.toml`.

Such a file may come with someone else's data. So it can only set how results are shown, never what is checked, with
which parameters or plugins, or whether values of records are shown.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from medcontract.errors import CallError

_OWN, _SHARED = "medcontract.toml", "pyproject.toml"
_MOST_BYTES = 1 << 20
_COLORS = ("auto", "always", "never")
_NOT_HERE = {
    "show-values": "a file cannot make values of records visible",
    "strict": "it changes the result",
    "exclude": "it changes what is checked",
    "contract": "it changes what is checked",
    "schema": "it changes what is checked",
    "plugin": "it runs code",
    "challenge": "it changes what is checked",
    "parameter": "it changes the score",
    "protocol": "it changes the score",
    "participant": "it changes the result",
}
"""Options that are not for presentation, and why."""


class Defaults(NamedTuple):
    """The settings of a file; None for those that it does not set."""

    path: str | None = None
    format: str | None = None
    color: str | None = None
    quiet: bool | None = None
    max_problems: int | None = None


def find_defaults(formats: tuple[str, ...]) -> Defaults:
    """The settings of the first file in the current folder and its parents, up to the root of the repository.

    Without a repository, only the current folder counts. Raises `CallError` for a wrong setting.
    """
    for folder in folders():
        for name in (_OWN, _SHARED):
            path = os.path.join(folder, name)
            table = _table(path, name)
            if table is not None:
                return _checked(path, table, formats)
    return Defaults()


def folders() -> Iterator[str]:
    """The current folder and its parents, up to the root of the repository; without one, only the current folder."""
    try:
        here = os.getcwd()
    except OSError:  # the folder was removed
        return
    parents = [here]
    while not os.path.lexists(os.path.join(parents[-1], ".git")):
        above = os.path.dirname(parents[-1])
        if above == parents[-1]:
            yield here
            return
        parents.append(above)
    yield from parents


def _table(path: str, name: str) -> dict[str, Any] | None:
    """The settings in a file, or None if there are none."""
    content = _content(path)
    if content is None or (name == _SHARED and b"medcontract" not in content):
        return None
    import tomllib

    try:
        table: Any = tomllib.loads(content.decode())
    except RecursionError:
        raise CallError(f"{path}: nested too deeply") from None
    except ValueError as error:  # not TOML, not UTF-8, or a number that is too long
        if name == _SHARED and b"tool.medcontract" not in content:
            return None  # another tool will report it
        raise CallError(f"{path}: not valid TOML: {error}") from None
    for key in ("tool", "medcontract") if name == _SHARED else ():
        table = table.get(key) if isinstance(table, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise CallError(f"{path}: tool.medcontract must be a table, as in [tool.medcontract]")
    return table


def _content(path: str) -> bytes | None:
    """The bytes of a regular file, or None if there is none that can be read."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > _MOST_BYTES:
            raise CallError(f"{path}: larger than {_MOST_BYTES:,} bytes")
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None


def _checked(path: str, table: dict[str, Any], formats: tuple[str, ...]) -> Defaults:
    known = [name.replace("_", "-") for name in Defaults._fields[1:]]
    for key in table:
        if key not in known:
            raise _unknown(path, key, known)
    color = _one_of(path, "color", table.get("color"), _COLORS)
    form = _one_of(path, "format", table.get("format"), formats)
    quiet, most = table.get("quiet"), table.get("max-problems")
    if not isinstance(quiet, bool | None):
        raise CallError(f"{path}: 'quiet' must be true or false")
    if isinstance(most, bool) or not isinstance(most, int | None) or (most is not None and most < 0):
        raise CallError(f"{path}: 'max-problems' must be an integer that is at least 0")
    return Defaults(path, form, color, quiet, most)


def _unknown(path: str, key: str, known: list[str]) -> CallError:
    name = key.replace("_", "-")
    if name in known:
        return CallError(f"{path}: unknown setting '{key}'", f"did you mean '{name}'?")
    why = _NOT_HERE.get(name)
    if why:
        return CallError(f"{path}: '{key}' cannot be set in a file: {why}", f"pass --{name} in each call")
    from medcontract.contracts.suggestions import did_you_mean  # slow to import

    listed = f"the settings are {', '.join(known)}"
    return CallError(f"{path}: unknown setting '{key}'", did_you_mean(key, known) or listed)


def _one_of(path: str, key: str, value: object, allowed: tuple[str, ...]) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and value in allowed:
        return value
    from medcontract.contracts.suggestions import did_you_mean

    raise CallError(
        f"{path}: '{key}' must be one of {', '.join(allowed)}",
        did_you_mean(value, allowed) if isinstance(value, str) else None,
    )
