"""Loads plugins on the workers of a Dask cluster, also on those that are started later.

A worker must know the classes of a plugin before it receives values of them from another worker.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin

from medcontract.evaluation.dask_tasks import clear_errors
from medcontract.evaluation.environment import Environment

if TYPE_CHECKING:
    from distributed import Client


class _Loading(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    def __init__(self, environment: Environment) -> None:
        self.name = f"medcontract-{uuid.uuid4()}"
        self._environment = environment

    def setup(self, worker: Any) -> None:
        self._environment.load()


@contextmanager
def loaded_plugins(client: Client, environment: Environment) -> Iterator[None]:
    """The workers have loaded the plugins. Raises `CallError` if one of them cannot."""
    plugin = _Loading(environment)
    try:
        with clear_errors(client):
            client.register_plugin(plugin)
        yield
    finally:
        if client.status == "running":
            client.unregister_worker_plugin(plugin.name)
