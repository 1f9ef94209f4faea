"""Engines: where the chunks of large files are read. All of them run the same functions and give the same results."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from medcontract.contracts.rules import KeyHashes, is_ascending
from medcontract.errors import CallError
from medcontract.evaluation.environment import Environment
from medcontract.evaluation.shared_memory import SharedMemory, shared_memory
from medcontract.reading import chunks
from medcontract.workers import WorkerDied, Workers, can_fork

if TYPE_CHECKING:
    from medcontract.evaluation.joining import KeptAt, KeptTruth

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[Any, T], R]
"""A module-level function of what all items share, and of one item."""


class EngineFailed(Exception):  # not an error: the work is done in this process instead
    """The workers cannot be started or were killed, or their results cannot be sent."""


class Engine(Protocol):
    """Runs a function on many items."""

    @property
    def workers(self) -> int:
        """The number of items that are processed at the same time."""
        ...

    stable: bool
    """Whether `hash` may differ between workers."""

    def is_ready(self) -> bool:
        """Whether work may be sent now. Called after files were opened, and before `stable` is used."""
        ...

    def map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        """The result for each item, in order. May raise `EngineFailed`."""
        ...

    def each(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R | WorkerDied]:
        """Like `map`, for long work. The result of an item that kills its worker is `WorkerDied`."""
        ...

    def repeated(self, keys: Sequence[Sequence[KeyHashes]]) -> list[set[int]]:
        """For each rule: the hashes of keys that occur in more than one chunk. `keys[chunk][rule]` are its keys."""
        ...

    def keeper(self, size: int) -> Callable[[Sequence[KeptAt]], KeptTruth] | None:
        """What divides a truth of so many bytes, which stays on the workers. None: it is sent to each of them."""
        ...

    def discarding(self) -> AbstractContextManager[None]:
        """A context at whose end workers discard what they keep of the files that were read in it."""
        ...


class SerialEngine:
    """Runs everything in this process."""

    workers = 1
    stable = False

    def is_ready(self) -> bool:
        return True

    def map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        return (work(shared, item) for item in items)

    @contextmanager
    def started(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[Iterator[R]]:
        """The results of `map`, for work that starts at once, before they are needed. May raise `EngineFailed`."""
        yield self.map(work, shared, items)

    def each(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R | WorkerDied]:
        return self.map(work, shared, items)

    def repeated(self, keys: Sequence[Sequence[KeyHashes]]) -> list[set[int]]:
        return [repeated_hashes(chunks) for chunks in zip(*keys, strict=True)]

    def keeper(self, size: int) -> None:
        """The workers, if there are any, share the memory of this process."""

    def discarding(self) -> AbstractContextManager[None]:
        """Workers keep nothing."""
        return nullcontext()


_FAILURES = (
    BrokenProcessPool, OSError, ImportError,  # no semaphores, no memory
    pickle.PicklingError, TypeError, AttributeError,  # something that cannot be sent
    CallError,  # a contract or a track that was registered by a call, which other processes do not know
)  # fmt: skip


class ProcessEngine(SerialEngine):
    """Runs work in worker processes. They are forked if possible, so that they share what was read."""

    def __init__(self, workers: int, to_spawn: Callable[[], int] | None = None) -> None:
        """`to_spawn`: how many workers pay off that cannot be forked. None: the caller wants `workers`."""
        self.workers = workers
        self.stable = not can_fork()
        self._to_spawn = to_spawn

    def is_ready(self) -> bool:
        """Opening an address starts threads: then workers cannot be forked any more."""
        self.stable = not can_fork()
        if self.stable and self._to_spawn:
            self.workers = min(self.workers, self._to_spawn())
        return self.workers > 1

    def map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        with self.started(work, shared, items) as results:
            yield from results

    @contextmanager
    def started(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[Iterator[R]]:
        global _work, _memory  # noqa: PLW0603  # forked workers inherit them
        _work = work, shared
        with ExitStack() as stack:
            stack.callback(_forget_work)
            memory = _memory = None if self.stable else stack.enter_context(shared_memory())
            with _failing():
                sent = Sent(work, shared) if self.stable else None
                count = min(self.workers, len(items))
                asked = self._to_spawn is None
                workers = stack.enter_context(Workers(count, _prepare, sent, fork=not self.stable, with_main=asked))
                futures = [workers.submit(_do, number, item) for number, item in enumerate(items)]
            yield _results(workers, futures, memory)


def _results(workers: Workers, futures: Iterable[Future[Any]], memory: SharedMemory | None) -> Iterator[Any]:
    for future in futures:
        with _failing():
            result = workers.result(future)
            if memory:
                result = memory.take(result)
        yield result


@contextmanager
def _failing() -> Iterator[None]:
    """Raises `EngineFailed` if workers fail."""
    try:
        yield
    except _FAILURES as error:
        raise EngineFailed from error


def _forget_work() -> None:
    global _work, _memory  # noqa: PLW0603  # as in `started`
    _work = _memory = None


_work: tuple[Work[Any, Any], Any] | None = None
"""The current function and what its calls share: in this process, and in the workers that were forked from it."""
_memory: SharedMemory | None = None
"""What large results are returned in, if workers were forked."""


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


def _prepare(sent: Sent | None) -> None:
    """Initialize a worker that was not forked."""
    global _work, _active  # noqa: PLW0603  # initializes a worker process
    if sent is None:
        raise OSError("the worker should have been forked")
    _active = sent.environment.active()
    _active.__enter__()
    _work = sent.open()
    gc.freeze()  # it is kept for the life of the process


def _do(number: int, item: Any) -> Any:
    """Process one item in a worker."""
    if _work is None:
        raise OSError("the worker was not prepared")
    work, shared = _work
    result = work(shared, item)
    return _memory.put(number, result) if _memory else result


def repeated_hashes(chunks: Sequence[KeyHashes]) -> set[int]:
    """The hashes that occur in more than one chunk."""
    found = [chunk for chunk in chunks if chunk]
    ends = [chunk.ends for chunk in found if chunk.ends]
    if len(ends) == len(found) and all(is_ascending([one[1], two[0]]) for one, two in pairwise(ends)):
        return set()  # all keys ascend, so none is repeated
    seen: set[int] = set()
    repeated: set[int] = set()
    for chunk in found:
        repeated |= seen.intersection(chunk.hashes)
        seen.update(chunk.hashes)
    return repeated


def engine_for(jobs: int | None, size: int, to_spawn: Callable[[], int]) -> Engine | None:
    """The engine for files of so many bytes with `jobs` processes; None means as many as pay off.

    `to_spawn`: how many pay off if they cannot be forked, since to start them takes longer.
    """
    count = chunks.workers_for(jobs, size) if jobs or can_fork() else to_spawn()
    return ProcessEngine(count, None if jobs else to_spawn) if count > 1 else None
