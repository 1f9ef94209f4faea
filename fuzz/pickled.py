"""A pool that runs work in this process, as if it were done in others: everything is pickled on its way."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from medcontract.parallel.pool import Pool, Running, Work


class Pickled(Pool):
    def __init__(self, workers: int) -> None:
        self.workers = workers

    @contextmanager
    def running(self, work: Work[Any, Any], shared: Any) -> Iterator[Running]:
        yield _Here(work, shared)


class _Here(Running):
    def __init__(self, work: Work[Any, Any], shared: Any) -> None:
        self._work = work, shared

    def submit(self, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        work, shared = self._work
        try:
            future.set_result(sent(work(*sent((shared, item)))))
        except Exception as error:  # noqa: BLE001  # raised where the result is needed
            future.set_exception(error)
        return future

    def result(self, future: Future[Any]) -> Any:
        return future.result()

    def alone(self) -> AbstractContextManager[Running]:
        return nullcontext(self)


def sent(value: Any) -> Any:
    """Return the value as another process gets it."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # written a moment ago
