"""Runs parsers in C or C++ on files of others in another process: a file that crashes its parser crashes only that.

The other process is started when it is needed, and kept. It reads the file through this process, wherever the bytes
come from, and sends back what the parser yields. If it dies after it has read other files, a new one tries again: the
death may be the fault of another file.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any, BinaryIO

from medcontract.errors import CallError
from medcontract.reading.source import SeekableStream

Parser = Callable[..., Iterator[Any]]
"""A module-level generator function of a stream and other arguments."""
_READ, _VALUE, _ERROR, _END = range(4)
"""Messages of the other process."""
_BUFFER = 1 << 16
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Crashed(Exception):
    """The other process died."""


def run_isolated(parse: Parser, stream: BinaryIO, *arguments: Any) -> Iterator[Any]:
    """Yield what `parse` yields in another process. Raises what it raises, or `Crashed`."""
    if sys.platform == "emscripten":  # a browser, which has no processes
        yield from parse(stream, *arguments)
        return
    idle = _idle.setdefault(os.getpid(), [])  # a forked process cannot use its parent's
    done = 0
    while True:
        process = idle.pop() if idle else _Process()
        try:
            with closing(process.run(parse, stream, arguments)) as values:
                for value in islice(values, done, None):
                    yield value
                    done += 1
        except Crashed:
            if process.is_new:
                raise
        else:
            return
        finally:
            process.is_new = False
            if process.is_alive():
                idle.append(process)


class _Process:
    """The other process, as seen from this one."""

    def __init__(self) -> None:
        import subprocess  # slow to import

        self.is_new = True
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # like multiprocessing
        path = [*filter(None, sys.path), _HOME]  # nothing is imported from the current folder
        code = f"import sys; sys.path[:] = {path!r}; from medcontract.isolated import serve; serve()"
        try:
            self._popen = subprocess.Popen(  # noqa: S603  # this package
                [sys.executable, *flags, "-P", "-c", code],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,  # without Ctrl-C: it ends with this process
            )  # fmt: skip
            self._receive()
        except (OSError, Crashed):
            raise CallError("the process that reads Parquet files and images cannot be started") from None

    def run(self, parse: Parser, stream: BinaryIO, arguments: tuple[Any, ...]) -> Generator[Any, None, None]:
        kind = _VALUE
        try:
            self._send((parse, stream.seek(0, os.SEEK_END), arguments))
            while kind != _END:
                kind, value = self._receive()
                if kind == _READ:
                    stream.seek(value[0])
                    self._send(stream.read(value[1]))
                elif kind == _VALUE:
                    yield value
                elif kind == _ERROR:
                    raise value
        finally:
            with suppress(Crashed):
                if kind in (_READ, _VALUE):  # the rest is not needed
                    self._send(None)
                while kind in (_READ, _VALUE):
                    kind, _ = self._receive()

    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def _send(self, message: Any) -> None:
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._sound() as popen:
            popen.stdin.write(data)
            popen.stdin.flush()

    def _receive(self) -> tuple[int, Any]:
        with self._sound() as popen:
            message: tuple[int, Any] = pickle.load(popen.stdout)  # noqa: S301  # from the process that was started here
            return message

    @contextmanager
    def _sound(self) -> Iterator[Any]:
        """End the process if a message is not complete, also because of Ctrl-C. Raises `Crashed`."""
        try:
            yield self._popen
        except BaseException as error:
            self.end()
            if isinstance(error, Exception):
                raise Crashed from None
            raise

    def end(self) -> None:
        self._popen.kill()
        with suppress(OSError, ValueError):  # bytes that were not sent, or it has ended already
            self._popen.communicate()


_idle: dict[int, list[_Process]] = {}
"""Processes that wait for work, by the id of the process that started them."""


@atexit.register
def _end_all() -> None:
    for process in _idle.get(os.getpid(), ()):
        process.end()


def serve() -> None:
    """Run parsers, in the other process, until the input ends."""
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no copy of the data
    inbox: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_fill, args=(inbox,), daemon=True).start()
    _answer(_END)
    while True:
        job = inbox.get()
        if job is None:  # the end of a job that had ended already
            continue
        parse, size, arguments = job
        try:
            for value in parse(io.BufferedReader(_Stream(size, inbox), _BUFFER), *arguments):
                if not inbox.empty():  # nobody needs the rest
                    break
                _answer(_VALUE, value)
            _answer(_END)
        except Exception as error:  # noqa: BLE001  # raised in the process that has the file
            _answer(_ERROR, error)


def _fill(inbox: SimpleQueue[Any]) -> None:
    """Receive messages, also while a parser runs: if there are no more, this process ends."""
    try:
        while True:
            inbox.put(pickle.load(sys.stdin.buffer))  # noqa: S301  # from the process that started this one
    finally:
        os._exit(0)


def _answer(kind: int, value: Any = None) -> None:
    sys.stdout.buffer.write(pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL))
    sys.stdout.buffer.flush()


class _Stream(SeekableStream):
    """A file that the process that started this one reads."""

    def __init__(self, size: int, inbox: SimpleQueue[Any]) -> None:
        super().__init__(size)
        self._end = size
        self._inbox = inbox

    def _next(self, size: int) -> bytes:
        _answer(_READ, (self._at, max(0, min(size, self._end - self._at))))
        data: bytes | None = self._inbox.get()
        if data is None:
            raise EOFError("nobody needs the rest")
        return data
