"""Worker processes that end when they should, whatever happens to this one."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from medcontract.errors import CallError

P = ParamSpec("P")
T = TypeVar("T")
_MOST_WORKERS = 61
"""Windows allows no more."""


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """A pool of processes that is replaced when one of them dies.

    They are spawned, not forked: a fork of a process with threads, which pandas and this pool have, may hang. All hold
    the one end of a pipe; when the other is closed, on purpose or because this process is gone, they end at once.
    `prepare` is called in each of them before anything else. May raise `OSError` or `ImportError` where there are no
    semaphores, as in some sandboxes.
    """

    def __init__(self, count: int, prepare: Callable[..., None] | None = None, *arguments: Any) -> None:
        self.count = min(count, _MOST_WORKERS)
        self._prepare = prepare, arguments
        self._context = multiprocessing.get_context("spawn")
        self._theirs, self._mine = self._context.Pipe(duplex=False)
        self._pool = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # nobody waits for what they are at
            self._mine.close()
        self._pool.shutdown(cancel_futures=True)
        self._mine.close()
        self._theirs.close()

    def submit(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        with _no_interrupt():
            try:
                return self._pool.submit(function, *arguments, **named)
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._start()
                return self._pool.submit(function, *arguments, **named)

    def _start(self) -> ProcessPoolExecutor:
        """A pool that is known to work: what breaks it later is what it works on."""
        pool = ProcessPoolExecutor(self.count, self._context, _begin_worker, (self._theirs, *self._prepare))
        try:
            with _no_interrupt():
                first = pool.submit(os.getpid)
            first.result()
        except (BrokenProcessPool, RuntimeError):
            pool.shutdown()
            raise CallError(
                "the worker processes do not start",
                'put the code of the script under `if __name__ == "__main__":`, or use jobs=1',
            ) from None
        return pool


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """A worker inherits what is blocked while it is started: Ctrl-C does not hit it before it can ignore that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(pipe: Connection, prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Ctrl-C is for the process that asked, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000, 20, 50)  # records come and go by the million, none in cycles
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    if prepare:
        prepare(*arguments)


def _end_with(pipe: Connection) -> None:
    """Nothing ever comes through the pipe but its end."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)
