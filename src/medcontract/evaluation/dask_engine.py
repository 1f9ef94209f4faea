"""Reads chunks on a Dask cluster: that of the caller, one at an address, or a local one. Needs the extra `dask`.

What all chunks share, such as the truth, is sent to the workers once. The hashes of ids stay on the workers: they are
divided into partitions there, and each partition is searched for repeated ones by one task.
"""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from medcontract._version import __version__
from medcontract.contracts.rules import KeyHashes, is_ascending
from medcontract.errors import CallError, MedcontractError
from medcontract.evaluation.chunk_work import Outcome
from medcontract.evaluation.engine import EngineFailed, Sent, Work, repeated_hashes
from medcontract.workers import processors, safe_path

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")
TIMEOUT = 10
"""Seconds to wait for a scheduler."""
_TRIES = 3
"""How often work is sent again if the data that it needs was lost with a worker."""
_PARTITIONS = 4
"""Partitions of the ids, for each worker."""


class DaskEngine:
    """Runs work on a Dask cluster."""

    stable = True

    def __init__(self, client: Client) -> None:
        self._client = client
        self._outcomes: dict[str, Any] = {}
        """Futures of outcomes, whose hashes stay on the workers."""
        _check_workers(client)

    @property
    def workers(self) -> int:
        with _clear_errors(self._client):
            threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        with _clear_errors(self._client):
            yield from self._map(work, shared, items)

    def _map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        from distributed import CancelledError

        left, tries = list(items), 0
        while left:
            tries += 1
            try:
                for result in self._send(work, shared, left):
                    yield result
                    left.pop(0)
            except (CancelledError, OSError):  # a worker ended, and with it what was sent
                if tries == _TRIES or self._client.status != "running":
                    raise

    def _send(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        client = self._client
        common = client.scatter(_Work(work, shared), broadcast=True, hash=False)
        done = [client.submit(_run, common, item, pure=False) for item in items]
        light = [client.submit(_without_hashes, each, each.key, pure=False) for each in done]
        self._outcomes.update({each.key: each for each in done})
        for each in light:
            yield each.result()

    def repeated(self, keys: Sequence[Sequence[KeyHashes]]) -> list[set[int]]:
        from distributed import CancelledError

        with _clear_errors(self._client):
            try:
                return [self._repeated(rule, chunks) for rule, chunks in enumerate(zip(*keys, strict=True))]
            except (CancelledError, OSError) as error:  # a worker ended, and with it the hashes
                if self._client.status != "running":
                    raise
                raise EngineFailed from error

    def _repeated(self, rule: int, chunks: Sequence[KeyHashes]) -> set[int]:
        """The hashes that occur in more than one chunk: each partition of them is searched by one task."""
        ends = [chunk.ends for chunk in chunks if chunk.ends]
        if len(ends) == len(chunks) and all(is_ascending([one[1], two[0]]) for one, two in pairwise(ends)):
            return set()
        count = _PARTITIONS * self.workers
        submit = self._client.submit
        divided = [
            submit(_divided, self._outcomes[chunk.origin], rule, count, pure=False) if chunk.origin else chunk
            for chunk in chunks
        ]
        groups = [
            submit(_search, [submit(_partition, each, number, pure=False) for each in divided], pure=False)
            for number in range(count)
        ]
        return set().union(*self._client.gather(groups))


class _Work:
    """A function and what its calls share: unpickled once per worker, where a task needs it first."""

    def __init__(self, work: Work[Any, Any], shared: Any) -> None:
        try:
            self._sent = Sent(work, shared)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise EngineFailed from error

    def __getstate__(self) -> Sent:
        return self._sent

    def __setstate__(self, sent: Sent) -> None:
        self._sent = sent
        self._lock = threading.Lock()
        self._opened: tuple[Work[Any, Any], Any] | None = None

    def run(self, item: Any) -> Any:
        with self._sent.environment.active():
            with self._lock:
                self._opened = self._opened or self._sent.open()
            work, shared = self._opened
            return work(shared, item)


def _run(work: _Work, item: Any) -> Any:
    return work.run(item)


def _without_hashes(outcome: Any, key: str) -> Any:
    """An outcome without the hashes of ids; `key` says where they are."""
    if not isinstance(outcome, Outcome):
        return outcome
    return outcome._replace(keys=[KeyHashes(array("q"), each.ends, key) for each in outcome.keys])


def _divided(outcome: Outcome, rule: int, count: int) -> list[array[int]]:
    """The hashes of a rule by partition."""
    found: list[array[int]] = [array("q") for _ in range(count)]
    for code in outcome.keys[rule].hashes:
        found[code % count].append(code)
    return found


def _partition(divided: list[array[int]], number: int) -> array[int]:
    return divided[number]


def _search(chunks: Sequence[array[int]]) -> set[int]:
    return repeated_hashes([KeyHashes(hashes, None) for hashes in chunks])


@contextmanager
def _clear_errors(client: Client) -> Iterator[None]:
    """Say what happened to the cluster, instead of an exception of Dask."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except (MedcontractError, EngineFailed):
        raise
    except KilledWorker as error:
        raise MedcontractError(f"the Dask workers were terminated repeatedly while they read a file: {error}") from None
    except (CancelledError, OSError, TimeoutError, RuntimeError, ValueError) as error:
        if client.status == "running" and not isinstance(error, CommClosedError):  # it notices that a little later
            raise
        raise CallError("the connection to the Dask scheduler was lost", "is it still running?") from None


def _check_workers(client: Client) -> None:
    """Raises `CallError` if the workers cannot do the work."""
    mine = _versions()
    no_workers = CallError("the Dask cluster has no workers", "start at least one")
    with _clear_errors(client):
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)  # they may just be starting, also again
        except TimeoutError:
            raise no_workers from None
        theirs = client.run(_versions, on_error="return")
    if not theirs:
        raise no_workers
    for address, versions in theirs.items():
        if isinstance(versions, OSError):  # it ends just now
            continue
        if isinstance(versions, BaseException):
            raise CallError(f"the Dask worker {address} cannot run medcontract: {versions}", "install it there, too")
        for name, version in versions.items():
            if version != mine[name]:
                raise CallError(
                    f"the Dask worker {address} has {name} {version}, this process {mine[name]}",
                    "install the same versions everywhere",
                )


def _versions() -> dict[str, str]:
    """Versions that results depend on."""
    import platform
    from importlib.metadata import version

    names = ("msgspec", "pydantic", "distributed")
    python = ".".join(platform.python_version_tuple()[:2])
    return {"medcontract": __version__, "Python": python, **{name: version(name) for name in names}}


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """A client of the scheduler at an address or, without one, of a local cluster. Raises `CallError`."""
    from distributed import Client

    with ExitStack() as stack:
        if scheduler is None:
            yield stack.enter_context(_local(workers or processors()))
            return
        _silence()
        try:
            client = stack.enter_context(Client(scheduler, timeout=TIMEOUT))
        except (OSError, TimeoutError, ValueError, TypeError, ImportError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CallError(f"cannot connect to the Dask scheduler {scheduler}: {reason}", "is it running?") from None
        yield client


def _silence() -> None:
    """Hide log messages of Dask, some with tracebacks: what goes wrong is reported by exceptions.

    Some of its modules have a level of their own, which that of the package does not change.
    """
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _local(workers: int) -> Iterator[Client]:
    """A cluster of processes on this machine, which ends with this context."""
    from distributed import Client, LocalCluster

    _silence()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            with safe_path():  # workers import nothing from the current folder
                cluster = LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL, local_directory=os.path.join(folder, "dask"),
                )  # fmt: skip
        except RuntimeError:
            raise CallError(
                "the local Dask cluster cannot be started: its workers ended at once",
                'in a script, move the code under `if __name__ == "__main__":`',
            ) from None
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, timeout=TIMEOUT))
