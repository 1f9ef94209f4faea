"""Large results of forked workers in shared memory: to send them through a pipe takes several times as long.

The memory is a file without a name, which exists until no process has it open. So nothing is left behind, however the
processes end.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import Any, NamedTuple

LARGE = 1 << 16
"""Bytes. Smaller results are sent through the pipe, which has room for them."""
_APART = 1 << 40
"""Bytes between the places of two results. What is not written takes no memory."""


class Stored(NamedTuple):
    """Where a result is: the sizes of the texts that it consists of, which are next to each other."""

    start: int
    sizes: tuple[int, ...]


class SharedMemory:
    """Memory that this process shares with workers that are forked later."""

    def __init__(self, file: int) -> None:
        """`file` is its descriptor."""
        self._file = file

    def put(self, number: int, result: Any) -> Any:
        """Store the result of an item in a worker. Returns what is sent instead: the result itself if it is not large.

        Also if there is not enough memory, or if it cannot be sent, which whoever sends it reports.
        """
        with suppress(Exception):
            buffers: list[pickle.PickleBuffer] = []
            head = pickle.dumps(result, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
            texts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
            if sum(map(len, texts)) >= LARGE:
                at = start = number * _APART
                for text in texts:
                    at = self._write(text, at)
                return Stored(start, tuple(map(len, texts)))
        return result

    def _write(self, text: memoryview, at: int) -> int:
        """Write all of a text. Returns where it ends."""
        while text:
            written = os.pwrite(self._file, text, at)
            text, at = text[written:], at + written
        return at

    def take(self, sent: Any) -> Any:
        """The result, from what a worker sent. Large texts in it are not copied: they stay in the memory."""
        if not isinstance(sent, Stored):
            return sent
        size, flags = sum(sent.sizes), mmap.MAP_SHARED | mmap.MAP_POPULATE
        memory = mmap.mmap(self._file, size, flags, offset=sent.start)
        everything = memoryview(memory)
        ends = accumulate(sent.sizes)
        head, *texts = (everything[end - size : end] for size, end in zip(sent.sizes, ends, strict=True))
        result = pickle.loads(head, buffers=texts)  # noqa: S301  # from a process that was forked from this one
        if not texts:
            with suppress(OSError):  # not every system can: then it is released at the end
                memory.madvise(mmap.MADV_REMOVE)
        return result


@contextmanager
def shared_memory() -> Iterator[SharedMemory | None]:
    """Memory for workers that are forked in this context. None if the system has none."""
    file = None
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # some builds of Python do not have it
            file = os.memfd_create("medcontract")
    try:
        yield None if file is None else SharedMemory(file)
    finally:
        if file is not None:
            os.close(file)
