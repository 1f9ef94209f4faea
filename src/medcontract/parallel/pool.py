"""Pools: run a function on many items, on an executor. All of them give the same results.

What a lost worker had is repeated in a worker of its own: an item that kills its worker again and again is not repeated
in this process, which it might kill, too.
"""

from __future__ import annotations

import gc
import pickle
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from medcontract.errors import CallError, UnknownContract
from medcontract.parallel.cpus import workers_for
from medcontract.parallel.environment import Environment
from medcontract.parallel.processes import Workers, can_fork

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
        """Prepare for new items after a worker was lost, perhaps with what it knew: those of `waiting` are repeated."""
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


class ProcessPool(Pool):
    """Runs work in worker processes. They are forked if possible, so that they share what was read."""

    failures = (*Pool.failures, OSError, CallError)

    def __init__(self, workers: int, chosen: bool) -> None:
        """`chosen`: the caller wants this number of workers."""
        self.workers = workers
        self.forks = can_fork()
        self._chosen = chosen

    def is_ready(self) -> bool:
        """Opening an address starts threads: then workers cannot be forked any more."""
        self.forks = can_fork()
        return self._chosen or self.forks

    @contextmanager
    def running(self, work: Work[Any, Any], shared: Any) -> Iterator[Running]:
        global _work  # noqa: PLW0603  # forked workers inherit it
        _work, before = (work, shared), _work
        try:
            with _processes(self.workers, cache(lambda: Sent(work, shared)), fork=self.forks) as processes:
                yield processes
        finally:
            _work = before


class _Processes(Running):
    def __init__(self, workers: Workers, sent: Callable[[], Sent]) -> None:
        self._workers = workers
        self._sent = sent

    def submit(self, item: Any) -> Future[Any]:
        return self._workers.submit(_do, item)

    def result(self, future: Future[Any]) -> Any:
        try:
            return self._workers.result(future)
        except BrokenProcessPool:
            raise Lost from None

    def alone(self) -> AbstractContextManager[Running]:
        return _processes(1, self._sent, fork=False)


@contextmanager
def _processes(count: int, sent: Callable[[], Sent], fork: bool) -> Iterator[Running]:
    try:
        workers = Workers(count, _prepare, sent, fork=fork)
    except (BrokenProcessPool, OSError, ImportError) as error:  # no semaphores, no memory
        raise PoolFailed from error
    with workers:
        yield _Processes(workers, sent)


_work: tuple[Work[Any, Any], Any] | None = None
"""The current function and what its calls share: in this process, and in the workers that were forked from it."""


class Sent:
    """A function and what its calls share, for another process, with all that they need there."""

    def __init__(self, work: Work[Any, Any], shared: Any) -> None:
        self.environment = Environment.current()
        self._pickled = pickle.dumps((work, shared), pickle.HIGHEST_PROTOCOL)

    def open(self) -> tuple[Work[Any, Any], Any]:
        """Call it in the environment."""
        opened: tuple[Work[Any, Any], Any] = pickle.loads(self._pickled)  # noqa: S301  # from the process that sent it
        return opened


_active: Any = None
"""In a worker that was not forked: its environment, until it ends."""


def _prepare(sent: Sent) -> None:
    """Initialize a worker that was not forked."""
    global _work, _active  # noqa: PLW0603  # initializes a worker process
    _active = sent.environment.active()
    _active.__enter__()
    _work = sent.open()
    gc.freeze()  # it is kept for the life of the process


def _do(item: Any) -> Any:
    """Process one item in a worker."""
    if _work is None:
        raise OSError("the worker was not prepared")
    work, shared = _work
    return work(shared, item)


def pool_for(jobs: int | None, size: int) -> Pool | None:
    """Choose the pool for files of `size` bytes; without `jobs`, only forked workers pay off. None: one process."""
    count = workers_for(jobs, size) if jobs or can_fork() else 1
    return ProcessPool(count, chosen=jobs is not None) if count > 1 else None
