"""The registry of tracks: built-in ones and those of plugins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from medcontract.contracts import plugins, registry
from medcontract.errors import CallError, name_argument
from medcontract.scoring.custom_metrics import register_metrics
from medcontract.scoring.track import Option, Track

GROUP = "medcontract.tracks"
_registered: dict[str, Track] = {}


def names() -> tuple[str, ...]:
    """The names of all tracks; those of plugins come last."""
    _load_installed()
    return _names()


def _names() -> tuple[str, ...]:
    """The names of built-in and registered tracks, without loading installed plugins."""
    return (*registry.TRACKS, *sorted(_registered))


def every() -> Iterator[Track]:
    return map(track, names())


def find(name: str) -> Track | None:
    """The track with this name, if there is one."""
    if name not in registry.TRACKS:
        _load_installed()
    return _known(name)


def _known(name: str) -> Track | None:
    return _built_in(name) if name in registry.TRACKS else _registered.get(name)


@cache
def _built_in(name: str) -> Track:
    found: Track = import_module(f"medcontract.scoring.{name}").TRACK
    _name_arguments(found)
    return found


def _name_arguments(found: Track) -> None:
    """Let messages in Python mention arguments instead of command-line options."""
    for option in found.options:
        name_argument(option.on_command_line, option.in_python)


def track(name: str) -> Track:
    """The track with this name. Raises `CallError`."""
    found = find(name)
    if found is None:
        raise CallError(f"'{name}' cannot be scored", f"use one of: {', '.join(names())}")
    return found


def options() -> dict[str, tuple[Track, Option]]:
    """The options of all tracks, by name, with the track of each."""
    return {option.name: (found, option) for found in every() for option in found.options}


def register(*tracks: Track) -> None:
    """Register tracks, so that every command knows them. Register their contracts first. Raises `CallError`."""
    for each in tracks:
        _check(each)
        _registered[each.id] = each
        _name_arguments(each)


def _check(found: Any) -> None:
    """Raises `CallError` for a track that could not work, with the reason."""
    if not isinstance(found, Track):
        raise CallError(
            f"{found!r} is not a Track", "derive a class from medcontract.modeling.Track, and register an instance"
        )
    missing = [name for name in Track.__annotations__ if not hasattr(found, name)]
    if missing:
        raise CallError(f"the track {type(found).__name__} has no '{missing[0]}'", "see CONTRIBUTING, Adding a track")
    if found.id in registry.TRACKS or _registered.get(found.id, found) is not found:
        raise CallError(f"{found.id}: another track already has this id", "choose another id")
    _check_options(found)
    for name in sorted(found.roles.all):
        if name not in registry.compiled():
            raise CallError(
                f"the track {found.id} refers to the unknown contract {name}", "register its contracts first"
            )
        if name.partition("/")[0] != found.id:
            raise CallError(
                f"the track {found.id} refers to {name}, a contract of another track", f"name the contract {found.id}/…"
            )


def _check_options(found: Track) -> None:
    """Raises `CallError` if another track has an option with the same name."""
    others = [_known(name) for name in _names() if found.options and name != found.id]
    taken = {option.name for other in others if other for option in other.options}
    for option in found.options:
        if option.name in taken:
            raise CallError(
                f"the track {found.id} has an option '{option.name}', which another track already has",
                "choose another name",
            )


def load_plugin(name: str) -> None:
    """Import a module, by name or as a `.py` file, and register its CONTRACTS, METRICS and TRACKS."""
    module = plugins.load_module(name)
    metrics = getattr(module, "METRICS", None)
    if metrics is not None:
        register_metrics(metrics)
    found = getattr(module, "TRACKS", ())
    register(*(found if isinstance(found, tuple | list) else (found,)))
    loaded_plugins[os.path.abspath(name) if name.endswith(".py") else name] = None


loaded_plugins: dict[str, None] = {}
"""The plugins that were loaded by name, in this order: worker processes must load them, too."""


@cache
def _load_installed() -> None:
    """Register the tracks of installed packages (entry points of the group `medcontract.tracks`)."""
    from importlib.metadata import entry_points

    entries = sorted(entry_points(group=GROUP))
    if entries:
        plugins.load_installed()
    for entry in entries:
        try:
            value = entry.load()
            value = getattr(value, "TRACKS", value)
            register(*(value if isinstance(value, tuple | list) else (value,)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # plugins may raise anything
            plugins.broken.append(f"the track '{entry.value}' cannot be loaded: {plugins.error_text(error)}")
