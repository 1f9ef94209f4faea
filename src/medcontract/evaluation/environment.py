"""What other processes have to load before they can do the work of this one: plugins and the challenge in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct

from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.scoring import tracks


class Environment(Struct, frozen=True):
    """Plugins, by name or path, and the name and content of a challenge."""

    plugins: tuple[str, ...]
    challenge: tuple[str, bytes] | None

    @classmethod
    def current(cls) -> Environment:
        challenge = registry.scope()
        content = None if challenge is None else (challenge.name, challenge.source)
        return cls(tuple(tracks.loaded_plugins), content)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Use them, in this thread. A plugin that cannot be loaded here need not be used by this work."""
        for name in self.plugins:
            if name not in tracks.loaded_plugins:
                with suppress(CallError):
                    tracks.load_plugin(name)
        if self.challenge is None:
            yield
            return
        from medcontract.challenges.loading import load

        name, content = self.challenge
        with registry.using(load(content, name)):
            yield
