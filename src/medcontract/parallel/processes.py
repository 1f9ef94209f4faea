"""A pool of worker processes, which always end with this process, however it ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self

from medcontract.errors import CallError, plugin_failure, report_plugin_errors
from medcontract.parallel.cpus import workers_for
from medcontract.parallel.pool import TRIES, Lost, Pool, PoolFailed, Running, Sent, Work

_MOST_WORKERS = 61
"""The maximum on Windows."""
_PATROL = 1.0
"""Seconds between two looks for workers that were killed."""
_PATIENCE = 10
"""Milliseconds to wait for threads to end."""
_GC_THRESHOLDS = 500_000, 20, 50
"""Workers create millions of records and marks, none of them in cycles."""
_SAFE_PATH = "PYTHONSAFEPATH"
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder that medcontract is imported from."""


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
            with _started(self.workers, cache(lambda: Sent(work, shared)), fork=self.forks) as workers:
                yield workers
        finally:
            _work = before


def pool_for(jobs: int | None, size: int) -> Pool | None:
    """Choose the pool for files of `size` bytes; without `jobs`, only forked workers pay off. None: one process."""
    count = workers_for(jobs, size) if jobs or can_fork() else 1
    return ProcessPool(count, chosen=jobs is not None) if count > 1 else None


@contextmanager
def _started(count: int, sent: Callable[[], Sent], fork: bool) -> Iterator[Running]:
    try:
        workers = Workers(count, sent, fork)
    except (BrokenProcessPool, OSError, ImportError) as error:  # no semaphores, no memory
        raise PoolFailed from error
    with workers:
        yield workers


class Workers(Running):
    """Processes that are replaced if one of them dies.

    They are spawned: forking a process with threads, which pandas and the executor use, may hang. With `fork`, they are
    forked if this process has one thread only, and inherit the work that others are `sent`. Forked workers start at
    once, and share the memory of this process.

    All share one end of a pipe; when the other end is closed, on purpose or because this process has died, they exit
    at once. They import nothing from the current folder. May raise `OSError` or `ImportError` if there are no
    semaphores, as in some sandboxes, `BrokenProcessPool` if the system kills all workers, and what opening the work
    raises in them.
    """

    def __init__(self, count: int, sent: Callable[[], Sent], fork: bool = False) -> None:
        if sys.flags.ignore_environment and not sys.flags.safe_path:
            raise OSError("with python -E, workers would import modules from the current folder; use python -I")
        self._count = min(count, _MOST_WORKERS)
        self._sent = sent
        self._fork = fork
        self._context: Any = _Spawning()
        self._theirs, self._mine = self._context.Pipe(duplex=False)
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
        if kind is not None:  # their results are not needed any more
            self._mine.close()
            self._end()
        self._pool.shutdown(cancel_futures=True)
        self._mine.close()
        self._theirs.close()

    def submit(self, item: Any) -> Future[Any]:
        with _no_interrupt():
            try:
                return self._pool.submit(_do, item)
            except BrokenProcessPool:
                self._end()  # one that is just starting does not hear SIGTERM
                self._pool.shutdown()
                self._pool = self._start()
                return self._pool.submit(_do, item)

    def result(self, future: Future[Any]) -> Any:
        """Wait for a result, also if a worker was killed while it was sending one."""
        is_lost = False
        while not wait([future], timeout=_PATROL).done:
            if is_lost:
                self._end()
            is_lost = bool(wait_for([process.sentinel for process in self._context.started], 0))
        try:
            return future.result()
        except BrokenProcessPool:
            raise Lost from None

    def alone(self) -> AbstractContextManager[Running]:
        return _started(1, self._sent, fork=False)

    def _end(self) -> None:
        """End all workers, and the thread that waits for them.

        A worker that ends while it is sending a result leaves a part of it in the pipe of all results. The pool waits
        for the rest until the pipe is closed: by all workers, and by this process.
        """
        for process in self._context.started:
            with suppress(AttributeError):  # it was interrupted before it started
                process.kill()
        with suppress(AttributeError):  # another version of Python
            self._pool._result_queue._writer.close()  # type: ignore[attr-defined]

    def _start(self) -> ProcessPoolExecutor:
        """Return a pool that is known to work, so that later failures are caused by the work itself."""
        for attempt in range(TRIES):
            pool = self._new_pool()
            try:
                with _no_interrupt():
                    first = pool.submit(_check_begun)
                first.result()
            except RuntimeError as error:  # `BrokenProcessPool` is one, too
                pool.shutdown()
                killed = isinstance(error, BrokenProcessPool) and self._context.were_killed()
                if killed and attempt < TRIES - 1:
                    continue
                if killed:
                    raise
                raise CallError(
                    "the worker processes cannot be started",
                    'move the code of the script under `if __name__ == "__main__":`, or use jobs=1',
                ) from None
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            return pool
        raise AssertionError("unreachable")

    def _new_pool(self) -> ProcessPoolExecutor:
        if sys.platform != "win32" and self._fork and can_fork():
            self._context = _Forking()
            return ProcessPoolExecutor(self._count, self._context, _begin_forked, (self._theirs, self._mine))
        self._context = _Spawning()
        arguments = (self._theirs, os.environ.get(_SAFE_PATH), self._sent())
        with safe_path():  # this may start the resource tracker process
            return ProcessPoolExecutor(self._count, self._context, _begin_worker, arguments)


class _SafeProcess(SpawnProcess):
    """A worker that imports nothing from the current folder, which contains data."""

    def start(self) -> None:
        with safe_path():
            super().start()


class _Started:
    """The processes of a pool."""

    def __init__(self) -> None:
        self.started: list[BaseProcess] = []

    def were_killed(self) -> bool:
        """Check whether all workers that have ended were terminated by a signal."""
        codes = [process.exitcode for process in self.started]
        return any(code is not None and code < 0 for code in codes) and all(code is None or code < 0 for code in codes)


class _Spawning(_Started, SpawnContext):
    def Process(self, *arguments: Any, **named: Any) -> _SafeProcess:  # type: ignore[override]  # noqa: N802
        process = _SafeProcess(*arguments, **named)
        self.started.append(process)
        return process


if sys.platform != "win32":
    from multiprocessing.context import ForkContext, ForkProcess

    class _Forking(_Started, ForkContext):
        def Process(self, *arguments: Any, **named: Any) -> ForkProcess:  # type: ignore[override]  # noqa: N802
            process = ForkProcess(*arguments, **named)
            self.started.append(process)
            return process


def can_fork() -> bool:
    """Check whether this process may be forked: it has one thread, also counting threads that Python did not start."""
    try:
        for _ in range(_PATIENCE):
            if len(os.listdir("/proc/self/task")) == 1:
                return True
            if threading.active_count() > 1:
                return False
            time.sleep(0.001)  # a thread that was joined may still be about to end; threads of numpy do not
    except OSError:  # not Linux
        pass
    return False


_starting = threading.RLock()


@contextmanager
def safe_path() -> Iterator[None]:
    """Python processes that are started in this context do not import modules from the current folder.

    By default they would, like `python -c`, and because they inherit the `sys.path` of this process.
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
    """Block signals while a worker starts. It inherits this, so that Ctrl-C cannot kill it before it ignores Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in workers

_work: tuple[Work[Any, Any], Any] | None = None
"""The current function and what its calls share: in this process, and in its workers."""
_active: Any = None
"""In a worker that was not forked: its environment, until it ends."""
_failed: BaseException | None = None
"""The exception that opening the work raised."""


def _begin_worker(pipe: Connection, safe_path: str | None, sent: Sent) -> None:
    """Initialize a worker. It ignores Ctrl-C: the parent process handles it, and terminates its workers."""
    global _work, _active, _failed  # noqa: PLW0603  # initializes a worker process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _restore(safe_path)
    _begin(pipe)
    try:
        _active = sent.environment.active()
        _active.__enter__()
        _work = sent.open()
    except (Exception, SystemExit) as error:  # noqa: BLE001  # raised by each call, in the parent process
        _failed = plugin_failure(error) or error
    gc.freeze()  # it is kept for the life of the process


def _begin_forked(pipe: Connection, mine: Connection) -> None:
    """Initialize a forked worker, like `_begin_worker`."""
    mine.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):  # the command line handles them, to clean up
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    gc.freeze()  # so that less of the shared memory is copied
    _begin(pipe)


def _begin(pipe: Connection) -> None:
    gc.set_threshold(*_GC_THRESHOLDS)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()


def _check_begun() -> None:
    if _failed:
        raise _failed


def _do(item: Any) -> Any:
    """Process one item."""
    _check_begun()
    if _work is None:
        raise OSError("the worker was not prepared")
    work, shared = _work
    with report_plugin_errors():  # the parent process does not get the traceback
        return work(shared, item)


def _end_with(pipe: Connection) -> None:
    """Exit when the pipe is closed; nothing is ever sent through it."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)
