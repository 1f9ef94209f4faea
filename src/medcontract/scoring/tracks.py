"""The registry of tracks: built-in ones and tracks of plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

from medcontract.contracts import registry
from medcontract.errors import CallError, command, name_plugin, option, report_plugin_errors, words
from medcontract.plugins import loading
from medcontract.scoring.custom_metrics import register_metrics
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import NO_OPTIONS, ScoringOptions
from medcontract.scoring.track import Option, Track
from medcontract.scoring.track_checks import check_consistency, check_types

GROUP = loading.TRACKS_GROUP
_registered: dict[str, Track] = {}
_of_modules: set[str] = set()
"""The tracks that were registered by loading a module, which other processes can load, too."""


def names() -> tuple[str, ...]:
    """Return the names of all tracks; tracks of plugins come last."""
    _load_installed()
    return _names()


def _names() -> tuple[str, ...]:
    """Return the names of all tracks that are known without loading installed plugins, with the challenge in use."""
    challenge = registry.scope()
    own = () if challenge is None else (challenge.track.id,)
    return (*registry.TRACKS, *sorted({*_registered, *own}))


def every() -> Iterator[Track]:
    return map(track, names())


def listed() -> Iterator[Track]:
    """Yield all tracks; with a challenge, only its track."""
    challenge = registry.scope()
    return every() if challenge is None else iter((challenge.track,))


def find(name: str) -> Track | None:
    """Return the track with this name, if there is one."""
    challenge = registry.scope()
    if name not in registry.TRACKS and (challenge is None or challenge.track.id != name):
        _load_installed()
    return _known(name)


def _known(name: str) -> Track | None:
    challenge = registry.scope()
    if challenge is not None and challenge.track.id == name:
        found: Track = challenge.track
        return found
    return _built_in(name) if name in registry.TRACKS else _registered.get(name)


@cache
def _built_in(name: str) -> Track:
    found: Track = import_module(f"medcontract.scoring.{name}").TRACK
    return found


def track(name: str) -> Track:
    """Return the track with this name. Raises `CallError`."""
    found = find(name)
    if found is None:
        raise CallError(f"'{name}' cannot be scored", f"use one of: {', '.join(names())}")
    return found


def options() -> dict[str, tuple[Track, Option]]:
    """Return the options of all tracks, by name, with the track of each."""
    return {option.name: (found, option) for found in every() for option in found.options}


@report_plugin_errors()
def changed_protocol(
    track: Track, parameters: Sequence[tuple[str, str]], given: ScoringOptions = NO_OPTIONS
) -> Protocol:
    """Return the protocol of a track with the caller's parameters and options. Raises `CallError`."""
    own = {option.name for option in track.options}
    for name in given.options:
        if name not in own:
            raise _option_of_another_track(name, track)
    if given.breakdown and not track.explains:
        those = " and ".join(each.id for each in every() if each.explains)
        raise CallError(words(option("--breakdown", True), f" is an option of the tracks {those}, not of {track.id}"))
    protocol = track.protocol
    for name, value in parameters:
        if name not in protocol.values and name in options():
            raise _option_of_another_track(name, track)
        if name == "phase" and not any(each.name == name for each in protocol.parameters):
            raise CallError(f"{track.id} has no phases", "write [phases] and public = 0.3 in the file of a challenge")
        protocol = protocol.changed(name, value)
    return track.complete(protocol, given)


def _option_of_another_track(name: str, track: Track) -> CallError:
    owner, found = options()[name]
    show = command(f"protocol show {track.id}", f'get_protocol("{track.id}")')
    return CallError(
        words(found.wording, f" is an option of the track {owner.id}, not of {track.id}"),
        words("see the parameters: ", show) if found.parameter else None,
    )


def register(*tracks: Track) -> None:
    """Register tracks, so that every command knows them. Register their contracts first. Raises `CallError`."""
    for each in tracks:
        _check(each)
        name_plugin(each.scorer.__module__)
        _registered[each.id] = each


def _check(found: object) -> None:
    """Raises `CallError` for a track that could not work, with the reason."""
    if not isinstance(found, Track):
        name = getattr(found, "__name__", f"a value of type {type(found).__name__}")
        raise CallError(f"{name} is not a Track", "write TRACKS = (modeling.Track(id=…, …),)")
    check_types(found)
    if found.id in registry.TRACKS or _registered.get(found.id, found) is not found:
        raise CallError(f"{found.id}: another track already has this id", "choose another id")
    _check_options(found)
    _check_contracts(found)
    check_consistency(found)


def _check_contracts(found: Track) -> None:
    """Raises `CallError` if a contract of the track is unknown or belongs to another track."""
    for name in sorted(found.roles.all):
        if name not in registry.registered():
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
    taken = {each.name for other in others if other for each in other.options}
    for each in found.options:
        if each.name in taken:
            raise CallError(
                f"the track {found.id} has an option '{each.name}', which another track already has",
                "choose another name",
            )


def load_plugin(name: str) -> None:
    """Import a module, by name or as a `.py` file, and register its CODES, CONTRACTS, METRICS and TRACKS."""
    module = loading.load_module(name)
    metrics = getattr(module, "METRICS", None)
    if metrics is not None:
        register_metrics(metrics)
    _register_all(getattr(module, "TRACKS", ()))
    loaded_plugins.setdefault(loading.absolute(name), loading.digest(module))


loaded_plugins: dict[str, str] = {}
"""The plugins that were loaded by name, in this order, with the hashes of their code when they were loaded: worker
processes must load them, too."""


def _register_all(found: object) -> None:
    """Register the TRACKS of a module."""
    listed = found if isinstance(found, tuple | list) else (found,)
    register(*listed)
    _of_modules.update(each.id for each in listed)


def is_known_elsewhere(name: str) -> bool:
    """Return whether other processes can know a track: not if a call in this process registered it."""
    challenge = registry.scope()
    return name not in _registered or name in _of_modules or (challenge is not None and challenge.track.id == name)


@cache
def _load_installed() -> None:
    """Register the tracks of installed packages (entry points of the group `medcontract.tracks`)."""
    from importlib.metadata import entry_points

    entries = sorted(entry_points(group=GROUP))
    if entries:
        loading.load_installed()
    for entry in entries:
        try:
            loading.load_codes_of_entry(entry)
            value = entry.load()
            value = getattr(value, "TRACKS", value)
            _register_all(value)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # plugins may raise anything
            loading.report_broken(entry, error)
