"""Worker processes that always end with this process."""

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
"""Items per worker that are submitted ahead."""
_MOST_WORKERS = 61
"""The limit on Windows."""
_TRIES = 3
"""How often workers that were killed are started."""
_SAFE_PATH = "PYTHONSAFEPATH"
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that medcontract is imported from."""


def processors() -> int:
    """The number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerDied:
    """Returned instead of a result if an item killed its worker, also when it was processed alone."""


class Workers:
    """A pool of processes that is replaced when one of them dies.

    They are spawned, not forked, because forking a process with threads, such as those of pandas and of this pool, may
    hang. Each holds one end of a pipe; when the other end is closed, intentionally or because this process ended, they
    exit at once. They import nothing from the current folder. `prepare` is called first in each of them; its exceptions
    are raised here. Raises `OSError` or `ImportError` on systems without semaphores, such as some sandboxes, and
    `BrokenProcessPool` if the system kills all workers.
    """

    def __init__(self, count: int, prepare: Callable[..., object] | None = None, *arguments: Any) -> None:
        if sys.flags.ignore_environment and not sys.flags.safe_path:
            raise OSError("workers of python -E would import modules from the current folder: use python -I")
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
        if kind is not None:  # their results are not needed
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
        """Yield each item with its result, in order. Items are consumed lazily.

        If a worker dies, all items in progress are repeated one by one in a separate worker, so that only the item
        that killed it gets the result `WorkerDied`.
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
        """Process an item again that was in progress when a worker died."""
        for _ in range(_TRIES - 1):
            self._alone = self._alone or Workers(1, self._prepare[0], *self._prepare[1])
            with suppress(BrokenProcessPool):
                return self._alone.submit(function, item).result()
        return WorkerDied()

    def _start(self) -> ProcessPoolExecutor:
        """Start a pool and check that it works, so that later failures are caused by the items."""
        for attempt in range(_TRIES):
            self._context.started.clear()
            pool = self._new_pool()
            try:
                with _no_interrupt():
                    first = pool.submit(_call, os.getpid)
                first.result()
            except RuntimeError as error:  # includes BrokenProcessPool
                pool.shutdown()
                killed = isinstance(error, BrokenProcessPool) and self._context.were_killed()
                if killed and attempt < _TRIES - 1:
                    continue
                if killed:
                    raise
                raise CallError(
                    "the worker processes could not be started",
                    'move the code of the script into `if __name__ == "__main__":`, or use jobs=1',
                ) from None
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            return pool
        raise AssertionError("unreachable")

    def _new_pool(self) -> ProcessPoolExecutor:
        arguments = (self._theirs, os.environ.get(_SAFE_PATH), *self._prepare)
        with _safe_path():  # may start the resource tracker
            return ProcessPoolExecutor(self.count, self._context, _begin_worker, arguments)


class _SafeProcess(SpawnProcess):
    """A worker that imports nothing from the current folder, which may contain untrusted files."""

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
        """Whether workers were killed by a signal and none exited by itself."""
        codes = [process.exitcode for process in self.started]
        return any(code is not None and code < 0 for code in codes) and all(code is None or code < 0 for code in codes)


_starting = threading.RLock()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Prevent Python processes that are started here from importing modules from the current folder.

    Otherwise they would, like `python -c`, and because they inherit the `sys.path` of this process.
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
    """Block signals while a worker is started, which inherits this: Ctrl-C must not hit it before it ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_failed: Exception | None = None
"""In a worker process: the exception of `prepare`."""


def _begin_worker(
    pipe: Connection, safe_path: str | None, prepare: Callable[..., object] | None, arguments: tuple[Any, ...]
) -> None:
    """Initialize a worker. It ignores Ctrl-C, because the parent process ends its workers."""
    global _failed  # noqa: PLW0603  # one per worker process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _restore(safe_path)
    gc.set_threshold(50_000, 20, 50)  # millions of short-lived records, none of them in cycles
    threading.Thread(target=_exit_with, args=(pipe,), daemon=True).start()
    try:
        if prepare:
            prepare(*arguments)
    except Exception as error:  # noqa: BLE001  # raised by each call, in the parent process
        _failed = error


def _call(function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
    """Run a function in a worker."""
    if _failed:
        raise _failed
    return function(*arguments, **named)


def _exit_with(pipe: Connection) -> None:
    """Exit when the pipe is closed; nothing is ever sent through it."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)
