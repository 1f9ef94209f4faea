"""Worker processes that end when they should, whatever happens to this one."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from medcontract.errors import CallError

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
AHEAD = 3
"""Items per worker that are handed out ahead."""
_MOST_WORKERS = 61
"""Windows allows no more."""
_TRIES = 3
"""How often what was killed is started again."""
_SAFE_PATH = "PYTHONSAFEPATH"
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that medcontract is imported from."""


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerDied:
    """In place of a result: the work killed its worker, and did so again when it was done alone."""


class Workers:
    """A pool of processes that is replaced when one of them dies.

    They are spawned, not forked: a fork of a process with threads, which pandas and this pool have, may hang. All hold
    the one end of a pipe; when the other is closed, on purpose or because this process is gone, they end at once.
    They import nothing from the current folder. `prepare` is called in each of them before anything else; what it
    raises is raised here. May raise `OSError` or `ImportError` where there are no semaphores, as in some sandboxes,
    and `BrokenProcessPool` where the system kills all workers.
    """

    def __init__(self, count: int, prepare: Callable[..., object] | None = None, *arguments: Any) -> None:
        if sys.flags.ignore_environment and not sys.flags.safe_path:
            raise OSError("workers of python -E would import modules of the current folder: use python -I")
        self.count = min(count, _MOST_WORKERS)
        self._prepare = prepare, arguments
        self._context = _Context()
        self._theirs, self._mine = self._context.Pipe(duplex=False)
        self._alone: Workers | None = None
        try:
            self._pool = self._start()
        except BaseException:
            self._theirs.close()
            self._mine.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # nobody waits for what they are at
            self._mine.close()
        if self._alone:
            self._alone.__exit__(kind, error, trace)
        self._pool.shutdown(cancel_futures=True)
        self._mine.close()
        self._theirs.close()

    def submit(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        with _no_interrupt():
            try:
                return self._pool.submit(_call, function, *arguments, **named)
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._start()
                return self._pool.submit(_call, function, *arguments, **named)

    def each(self, function: Callable[[A], T], items: Iterable[A]) -> Iterator[tuple[A, T | WorkerDied]]:
        """Every item with its result, in the order of the items, which are taken as they are needed.

        What was under way when a worker died is done again, one by one in a worker of its own, so that only the
        culprit is blamed: its result is `WorkerDied`.
        """
        left = iter(items)
        waiting: deque[tuple[A, Future[T]]] = deque()
        while True:
            while len(waiting) < AHEAD * self.count:
                try:
                    item = next(left)
                except StopIteration:
                    break
                waiting.append((item, self.submit(function, item)))
            if not waiting:
                return
            item, future = waiting.popleft()
            try:
                outcome: T | WorkerDied = future.result()
            except BrokenProcessPool:
                outcome = self.alone(function, item)
            yield item, outcome

    def alone(self, function: Callable[[A], T], item: A) -> T | WorkerDied:
        """The result for an item that a worker died with, or beside."""
        for _ in range(_TRIES - 1):
            self._alone = self._alone or Workers(1, self._prepare[0], *self._prepare[1])
            with suppress(BrokenProcessPool):
                return self._alone.submit(function, item).result()
        return WorkerDied()

    def _start(self) -> ProcessPoolExecutor:
        """A pool that is known to work: what breaks it later is what it works on."""
        for attempt in range(_TRIES):
            self._context.started.clear()
            pool = self._new_pool()
            try:
                with _no_interrupt():
                    first = pool.submit(_call, os.getpid)
                first.result()
            except RuntimeError as error:  # that of a broken pool is one, too
                pool.shutdown()
                killed = isinstance(error, BrokenProcessPool) and self._context.were_killed()
                if killed and attempt < _TRIES - 1:
                    continue
                if killed:
                    raise
                raise CallError(
                    "the worker processes do not start",
                    'put the code of the script under `if __name__ == "__main__":`, or use jobs=1',
                ) from None
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            return pool
        raise AssertionError("unreachable")

    def _new_pool(self) -> ProcessPoolExecutor:
        arguments = (self._theirs, os.environ.get(_SAFE_PATH), *self._prepare)
        with _safe_path():  # the process that keeps track of semaphores may be started here
            return ProcessPoolExecutor(self.count, self._context, _begin_worker, arguments)


class _SafeProcess(SpawnProcess):
    """A worker that imports nothing from the current folder, which holds data."""

    def start(self) -> None:
        with _safe_path():
            super().start()


class _Context(SpawnContext):
    def __init__(self) -> None:
        self.started: list[_SafeProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> _SafeProcess:  # type: ignore[override]  # noqa: N802
        process = _SafeProcess(*arguments, **named)
        self.started.append(process)
        return process

    def were_killed(self) -> bool:
        """Whether the workers were ended by a signal and none ended by itself."""
        codes = [process.exitcode for process in self.started]
        return any(code is not None and code < 0 for code in codes) and all(code is None or code < 0 for code in codes)


_starting = threading.RLock()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Python processes that are started here do not look for modules in the current folder.

    They would by themselves, as `python -c` does, and because they get the `sys.path` of this process.
    """
    with _starting:
        before, path = os.environ.get(_SAFE_PATH), sys.path
        os.environ[_SAFE_PATH] = "1"
        if "" in path:
            others = [entry for entry in path if entry]
            sys.path = others if _HOME in others else [*others, _HOME]
        try:
            yield
        finally:
            sys.path = path
            _restore(before)


def _restore(safe_path: str | None) -> None:
    if safe_path is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = safe_path


_SIGNALS = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """A worker inherits what is blocked while it is started: Ctrl-C does not hit it before it can ignore that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_failed: Exception | None = None
"""In a worker process: why it could not be prepared."""


def _begin_worker(
    pipe: Connection, safe_path: str | None, prepare: Callable[..., object] | None, arguments: tuple[Any, ...]
) -> None:
    """Ctrl-C is for the process that asked, which ends its workers."""
    global _failed  # noqa: PLW0603  # what a worker process is for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _restore(safe_path)
    gc.set_threshold(50_000, 20, 50)  # records come and go by the million, none in cycles
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    try:
        if prepare:
            prepare(*arguments)
    except Exception as error:  # noqa: BLE001  # raised by each call, in the process that asked
        _failed = error


def _call(function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
    """What a worker does."""
    if _failed:
        raise _failed
    return function(*arguments, **named)


def _end_with(pipe: Connection) -> None:
    """Nothing ever comes through the pipe but its end."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)
