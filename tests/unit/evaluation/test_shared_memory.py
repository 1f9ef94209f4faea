"""Large results of workers in shared memory: the same results, and nothing that is left behind."""

from __future__ import annotations

import mmap
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from medcontract.evaluation import shared_memory
from medcontract.evaluation.shared_memory import LARGE, SharedMemory, Stored
from medcontract.scoring.canonical import ContentHash

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    with shared_memory.shared_memory() as found:
        assert found
        yield found


def large(number: int) -> list[Any]:
    return [number, "é" * LARGE]


def content(number: int) -> ContentHash:
    found = ContentHash()
    found._texts = [b"%d\n" % number * LARGE, b"", b"last\n"]
    return found


def test_results_are_what_was_stored(memory: SharedMemory) -> None:
    """In any order; each has its place."""
    sent = [memory.put(number, large(number)) for number in range(3)]
    assert all(isinstance(each, Stored) for each in sent)
    assert [memory.take(sent[number]) for number in (2, 0, 1)] == [large(2), large(0), large(1)]


def test_texts_are_not_copied(memory: SharedMemory) -> None:
    """They remain when the memory is closed, as long as they are used."""
    first, second = (memory.take(memory.put(number, content(number))) for number in (1, 2))
    assert all(isinstance(text, memoryview) for text in first._texts)
    assert first.lines() == content(1).lines()
    assert second.sha256() == content(2).sha256()


def test_small_results_are_sent_as_they_are(memory: SharedMemory) -> None:
    """A pipe has room for them."""
    result = ["x"]
    assert memory.put(0, result) is result
    assert memory.take(result) is result


def test_memory_of_results_is_released(memory: SharedMemory) -> None:
    """As soon as they were read."""
    size = os.fstat(memory._file).st_blocks
    sent = memory.put(7, large(7))
    assert os.fstat(memory._file).st_blocks > size
    memory.take(sent)
    assert os.fstat(memory._file).st_blocks == size


def test_memory_that_cannot_be_released(memory: SharedMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result counts all the same: some systems cannot release a part of a file."""

    class Unsupported(mmap.mmap):
        def madvise(self, *_: object) -> None:
            raise OSError(38, "Function not implemented")

    monkeypatch.setattr(mmap, "mmap", Unsupported)
    assert memory.take(memory.put(1, large(1))) == large(1)


def test_values_that_can_be_changed(memory: SharedMemory) -> None:
    """They still can be, as after a pipe: those of plugins, such as arrays."""
    found = memory.take(memory.put(1, [Changeable(bytearray(LARGE)), Changeable(bytes(LARGE))]))
    assert [memoryview(each.data).readonly for each in found] == [False, True]


class Changeable:
    """A value that leaves its data to whoever sends it."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Changeable, (pickle.PickleBuffer(self.data),)


def test_memory_that_is_written_in_pieces(memory: SharedMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may write less than it is given."""
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, text, at: real(file, text[:1000], at))
    assert memory.take(memory.put(1, large(1))) == large(1)


def test_full_memory(memory: SharedMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then results are sent through the pipe."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    result = large(1)
    assert memory.put(1, result) is result


def test_results_that_cannot_be_sent(memory: SharedMemory) -> None:
    """Whoever sends them reports it."""
    result = [lambda: None]
    assert memory.put(1, result) is result


_SCRIPT = """
import os
from pathlib import Path
from medcontract.evaluation import engine
from medcontract.evaluation.shared_memory import Stored, SharedMemory

taken = []
real = SharedMemory.take
def take(self, sent):
    taken.append(isinstance(sent, Stored))
    return real(self, sent)
SharedMemory.take = take

def large(shared, item):
    return [shared, item, "é" * 100_000]

def die(shared, item):
    return os.kill(os.getpid(), 9) if item else large(shared, item)

def without_memory(name):
    raise OSError(38, "Function not implemented")

{body}
open_files = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
assert engine._memory is None and not [name for name in open_files if "memfd" in name]
"""
_SAME = "assert list(engine.ProcessEngine(2).map(large, 1, range(5))) == [large(1, item) for item in range(5)]"
_BODIES = {
    "large results": f"{_SAME}\nassert taken == [True] * 5",
    "no shared memory": f"os.memfd_create = without_memory\n{_SAME}\nassert not taken",
    "no function for shared memory": f"del os.memfd_create\n{_SAME}\nassert not taken",
    "killed workers": """
try:
    list(engine.ProcessEngine(2).map(die, 1, range(3)))
    raise AssertionError
except engine.EngineFailed:
    pass
""",
}


@pytest.mark.parametrize("name", _BODIES)
def test_engine(name: str) -> None:
    """The same results, and no open memory. In a process of its own, which may be forked."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.replace("{body}", _BODIES[name])], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
