"""Loads in other processes what they need to do the work of this one: plugins and the challenge in use.

A worker of a cluster may run work of several calls with different plugins. It only uses plugins of its call, and
refuses to work with another version of one of them: a result never depends on where it was computed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.scoring import custom_metrics, tracks

_loading = threading.Lock()
"""A worker may have several threads."""


class Environment(Struct, frozen=True):
    """Plugins, by name or path, with the hashes of their code, and the name and content of a challenge."""

    plugins: tuple[tuple[str, str], ...]
    contracts: frozenset[str]
    """The ids of all contracts."""
    metrics: frozenset[str]
    """The names of all custom metrics."""
    challenge: tuple[str, bytes] | None

    @classmethod
    def current(cls) -> Environment:
        challenge = registry.scope()
        return cls(
            plugins=tuple(tracks.loaded_plugins.items()),
            contracts=frozenset(registry.registered()),
            metrics=custom_metrics.registered(),
            challenge=None if challenge is None else (challenge.name, challenge.source),
        )

    def load(self) -> None:
        """Load the plugins. Raises `CallError` if one cannot be loaded, or is another version."""
        for name, digest in self.plugins:
            _load(name)
            if tracks.loaded_plugins[name] != digest:
                message = f"a worker has another version of the plugin '{name}'"
                raise CallError(message, "restart the workers, or update the file there")
        missing = sorted(self.metrics.difference(custom_metrics.custom_metrics())) if self.metrics else ()
        if missing:
            raise CallError(
                f"a worker does not have the metric '{missing[0]}'", "load it as a plugin, or install it there, too"
            )

    @contextmanager
    def active(self) -> Iterator[None]:
        """Use these plugins and this challenge, in this thread. Raises `CallError` like `load`."""
        self.load()
        with ExitStack() as stack:
            stack.enter_context(registry.showing_only(self.contracts))
            stack.enter_context(custom_metrics.showing_only(self.metrics))
            if self.challenge is not None:
                from medcontract.challenges.loading import load

                name, content = self.challenge
                stack.enter_context(registry.using(load(content, name)))
            yield


def _load(name: str) -> None:
    with _loading:
        if name in tracks.loaded_plugins:
            return
        try:
            tracks.load_plugin(name)
        except CallError as error:
            message, hint = error.as_options
            raise CallError(f"a worker cannot load a plugin: {message}", hint) from None
