"""A Dask cluster that is none: tasks run in this process, at once, and are pickled on their way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


class Task:
    """A task that has already run."""

    def __init__(self, value: Any, key: str) -> None:
        self._pickled = pickle.dumps(value)
        self.key = key

    def cancel(self) -> None:
        """It has already run."""

    def result(self, timeout: float) -> Any:
        return pickle.loads(self._pickled)  # noqa: S301  # written a moment ago


class Cluster:
    """Has the methods of a Dask client that the engine uses, and runs tasks at once, in this process."""

    status = "running"

    def __init__(self) -> None:
        self._count = 0

    def nthreads(self) -> dict[str, int]:
        return {"here": 2}

    def run(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> dict[str, Any]:
        return {"here": function(*arguments)}

    def scatter(self, value: Any, **how: Any) -> Task:
        return self._task(value)

    def submit(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Task:
        return self._task(function(*map(_opened, arguments)))

    def get_executor(self, **how: Any) -> Cluster:
        return self

    def wait_for_workers(self, count: int, timeout: float) -> None:
        """There is always one."""

    def _task(self, value: Any) -> Task:
        self._count += 1
        return Task(value, f"task {self._count}")


def _opened(value: Any) -> Any:
    if isinstance(value, Task):
        return value.result(0)
    return [_opened(each) for each in value] if isinstance(value, list) else value
