"""`Challenge`: a challenge of your own, for the functions of the API."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, Self

import medcontract
from medcontract import api
from medcontract.challenges.loading import load as load_scope
from medcontract.contracts import registry
from medcontract.contracts.registry import Scope
from medcontract.options import FileName

_OF_ITS_TRACK = ("freeze_protocol", "get_protocol", "init")
"""Functions whose first argument is a track."""
_outer: ContextVar[tuple[Scope | None, ...]] = ContextVar("medcontract challenges", default=())
"""What was used before each `with` block that was entered."""


class Challenge:
    """A challenge that is defined by a file, `challenge.toml`.

    >>> with Challenge.load("challenge.toml"):  # doctest: +SKIP
    ...     medcontract.score("truth.csv", "predictions.csv").result["headline"]

    In the block, the functions of `medcontract` know only the contracts and the track of this challenge. Nothing
    changes outside of it, and in other threads: several challenges can be used side by side, even if they have the same
    id. For a single call, the functions are also methods: `challenge.score("truth.csv", "predictions.csv")`. Methods of
    a track use the one of the challenge: `challenge.init("demo")`.
    """

    def __init__(self, scope: Scope) -> None:
        """Use `Challenge.load`."""
        self._scope = scope

    @classmethod
    def load(cls, file: FileName | bytes, *, name: str | None = None) -> Challenge:
        """Load a challenge file: a path, or bytes.

        Raises `CallError` if it cannot be read, and `InvalidData` if it has errors.
        """
        return cls(load_scope(file, name))

    def __enter__(self) -> Self:
        _outer.set((*_outer.get(), registry.scope()))
        registry.use(self._scope)
        return self

    def __exit__(self, *_: object) -> None:
        *others, before = _outer.get()
        _outer.set(tuple(others))
        registry.use(before)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function of `medcontract` that uses this challenge."""
        if name not in medcontract.__all__ or not name.islower():
            raise AttributeError(f"a challenge has no '{name}'")
        function = getattr(api, name)
        if name in _OF_ITS_TRACK:
            function = partial(function, self.id)

        @wraps(function)
        def method(*arguments: object, **named: object) -> object:
            with self:
                return function(*arguments, **named)

        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.islower, medcontract.__all__)})

    def __repr__(self) -> str:
        return f"<Challenge {self.id} v{self.version}>"

    @property
    def id(self) -> str:
        """The id of the challenge and of its track."""
        return str(self._scope.track.id)

    @property
    def title(self) -> str:
        """The title."""
        return str(self._scope.definition.title)

    @property
    def version(self) -> int:
        """The version."""
        return int(self._scope.track.protocol.version)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its protocol."""
        return str(self._scope.track.protocol.fingerprint)
