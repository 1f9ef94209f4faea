"""Pools: run a function on many items, on an executor. All of them give the same results.

What a lost worker had is repeated in a worker of its own: an item that kills its worker again and again is not repeated
in this process, which it might kill, too.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from itertools import islice
from typing import Any, TypeVar

from medcontract.errors import UnknownContract
from medcontract.parallel.environment import Environment

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[Any, T], R]
"""A module-level function of what all items share, and of one item."""
AHEAD = 3
"""Items per worker that are submitted in advance."""
TRIES = 3
"""How often work is tried whose worker was lost."""


class PoolFailed(Exception):  # not an error: the work is done in this process instead
    """The workers cannot be started or were killed, or their results cannot be sent."""


class Lost(Exception):
    """The worker that had an item is gone."""


class WorkerDied:
    """Returned instead of a result: the work killed its worker, even when it was repeated in a separate one."""


class Running(ABC):
    """Workers that know a function and what its calls share."""

    @abstractmethod
    def submit(self, item: Any) -> Future[Any]:
        """Start to process an item."""

    @abstractmethod
    def result(self, future: Future[Any]) -> Any:
        """Wait for a result. Raises `Lost`."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[Running]:
        """Start workers that process nothing else."""

    def renew(self, waiting: Iterable[Future[Any]]) -> None:
        """Prepare for new items after a worker was lost, perhaps with what it knew: items in `waiting` are repeated."""
        return


class Pool(ABC):
    """Runs a function on many items."""

    workers: int
    """The number of items that are processed at the same time."""

    def is_ready(self) -> bool:
        """Return whether work may be sent now. Called after files were opened."""
        return True

    failures: tuple[type[Exception], ...] = (pickle.PicklingError, TypeError, AttributeError, UnknownContract)
    """Raised if something cannot be sent, or is not known in other processes: then this process does the work."""

    @abstractmethod
    def running(self, work: Work[Any, Any], shared: Any) -> AbstractContextManager[Running]:
        """Start workers."""

    def gave_up(self) -> Exception:
        """Return what `map` raises if an item kills its workers."""
        return PoolFailed()

    def map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        """Yield the result for each item, in order. May raise `PoolFailed`."""
        found = self.each(work, shared, items)
        while True:
            try:
                result = next(found)
            except StopIteration:
                return
            except self.failures as error:
                raise PoolFailed from error
            if isinstance(result, WorkerDied):
                raise self.gave_up()
            yield result

    def each(self, work: Work[T, R], shared: Any, items: Iterable[T]) -> Iterator[R | WorkerDied]:
        """Yield the result for each item, in order; `WorkerDied` for one that kills its worker. Items are read lazily.

        Few items are submitted at a time, so that little is lost if this process ends.
        """
        remaining, waiting = iter(items), deque[tuple[T, Future[R]]]()
        with self.running(work, shared) as running:
            while True:
                for item in islice(remaining, max(0, AHEAD * self.workers - len(waiting))):
                    waiting.append((item, running.submit(item)))
                if not waiting:
                    return
                item, future = waiting.popleft()
                try:
                    outcome: R | WorkerDied = running.result(future)
                except Lost:  # because of this item, or of another one
                    outcome = _repeated(running, item)
                    running.renew([other for _, other in waiting])
                    waiting = deque((each, running.submit(each)) for each, _ in waiting)
                yield outcome


def _repeated(running: Running, item: Any) -> Any:
    """Return the result of an item that was in progress when a worker was lost."""
    for _ in range(TRIES - 1):
        with suppress(Lost), running.alone() as alone:
            return alone.result(alone.submit(item))
    return WorkerDied()


class Sent:
    """A function and what its calls share, for another process, with all that they need there."""

    def __init__(self, work: Work[Any, Any], shared: Any) -> None:
        self.environment = Environment.current()
        self._pickled = pickle.dumps((work, shared), pickle.HIGHEST_PROTOCOL)

    def open(self) -> tuple[Work[Any, Any], Any]:
        """Call it in the environment."""
        opened: tuple[Work[Any, Any], Any] = pickle.loads(self._pickled)  # noqa: S301  # from the process that sent it
        return opened
