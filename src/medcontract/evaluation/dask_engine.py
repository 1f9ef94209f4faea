"""Reads chunks on a Dask cluster: that of the caller, one at an address, or a local one. Needs the extra `dask`.

What all chunks share, such as the truth, is sent to the workers once; a larger truth stays on them (`joining`). The
hashes of ids stay on the workers: they are divided into partitions there, and each partition is searched for repeated
ones by one task.
"""

from __future__ import annotations

import logging
import pickle
import signal
import tempfile
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice, pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from medcontract._version import __version__
from medcontract.contracts.rules import KeyHashes, is_ascending
from medcontract.errors import CallError, UnknownContract
from medcontract.evaluation.chunk_work import Chunk, Outcome
from medcontract.evaluation.dask_join import LOST, DaskTruth
from medcontract.evaluation.dask_tasks import KILLED, SharedWork, clear_errors, run_task
from medcontract.evaluation.engine import EngineFailed, Work, repeated_hashes
from medcontract.evaluation.engine_errors import NoWorkers, TruthLost, WorkKilled
from medcontract.evaluation.environment import Environment
from medcontract.evaluation.joining import JoiningSinks, Kept, KeptAt, do_joined, ids_of
from medcontract.workers import AHEAD, WorkerDied, processors, safe_path

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")
TIMEOUT = 10
"""Seconds to wait for a scheduler."""
_TRIES = 3
"""How often work is sent again if the data that it needs was lost with a worker."""
_POLL = 5
"""Seconds after which to check whether there are still workers."""
PATIENCE = 60
"""Seconds to wait for a worker, if there are none."""
_DONE_HERE = (
    pickle.PicklingError, TypeError, AttributeError,  # a result that cannot be sent
    UnknownContract,  # one that was registered by a call, which workers do not know
)  # fmt: skip
_NO_WORKERS = "the Dask cluster has no workers any more"
_LOST: Any = object()
"""The result of a task that was lost with its worker."""
_KILLED: Any = object()
"""The result of a task that several workers died with."""
_PARTITIONS = 4
"""Partitions of the ids, for each worker."""


class DaskEngine:
    """Runs work on a Dask cluster."""

    stable = True

    def __init__(self, client: Client, broadcast_limit: int | None = None) -> None:
        """`broadcast_limit`: the maximum size, in bytes, of a truth that is sent to each worker."""
        self._client = client
        self._limit = broadcast_limit
        self._outcomes: dict[str, Any] = {}
        """Futures of outcomes, whose hashes stay on the workers."""
        self._common: list[Any] = []
        """Futures of what they were computed from: if a worker is lost, its outcomes are computed again."""
        self._stack = ExitStack()
        _check_workers(client)

    def __enter__(self) -> Self:
        """Load the plugins of this process on the workers. Raises `CallError` if one of them cannot."""
        environment = Environment.current()
        if environment.plugins:
            from medcontract.evaluation.dask_plugins import loaded_plugins

            self._stack.enter_context(loaded_plugins(self._client, environment))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def workers(self) -> int:
        with clear_errors(self._client):
            threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def is_ready(self) -> bool:
        return True

    def map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        with clear_errors(self._client):
            yield from self._map(work, shared, items)

    def _map(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        from distributed import CancelledError
        from distributed.comm import CommClosedError

        left, tries = list(items), 0
        while left:
            tries += 1
            try:
                for result in self._send(work, shared, left):
                    yield result
                    left.pop(0)
            except (CancelledError, OSError, TruthLost) as error:  # a worker ended, and with it what was sent
                is_last = tries == _TRIES
                if self._client.status != "running" or (is_last and isinstance(error, CommClosedError)):
                    raise
                if is_last:
                    raise (TruthLost(LOST) if isinstance(shared, JoiningSinks) else WorkKilled(KILLED)) from error
            except _DONE_HERE as error:
                raise EngineFailed from error

    def _send(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R]:
        submit = self._client.submit
        if isinstance(shared, JoiningSinks):
            done = self._join(shared, items)
        else:
            common = self._share(work, shared)
            done = [submit(run_task, common, item, pure=False) for item in items]
        light = [submit(_light, each, each.key, pure=False) for each in done]
        self._outcomes.update({each.key: each for each in done})
        for each in light:
            yield self._result(each)

    def _share(self, work: Work[Any, Any], shared: Any) -> Any:
        """Send what tasks share to the workers. Returns its future."""
        common = self._scatter(work, shared)
        self._common.append(common)
        return common

    def _scatter(self, work: Work[Any, Any], shared: Any) -> Any:
        """Send it to one worker; the others get it from there, once, with their first task.

        Without `broadcast`, which does not return if a worker ends meanwhile.
        """
        return self._client.scatter(SharedWork(work, shared), hash=False)

    def _result(self, task: Any) -> Any:
        """The result of a task. Raises `NoWorkers` if there are none left."""
        alone_since: float | None = None
        while True:
            try:
                return task.result(timeout=_POLL)
            except TimeoutError:
                now = time.monotonic()
                alone_since = None if self._client.nthreads() else alone_since or now
                if alone_since and now - alone_since > PATIENCE:
                    raise NoWorkers(_NO_WORKERS) from None

    def each(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R | WorkerDied]:
        with clear_errors(self._client):
            yield from self._each(work, shared, items)

    def _each(self, work: Work[T, R], shared: Any, items: Sequence[T]) -> Iterator[R | WorkerDied]:
        """Few tasks at a time, so that little is lost if this process ends."""
        remaining, waiting = iter(items), deque[tuple[T, Any]]()
        common = self._scatter(work, shared)
        while True:
            for item in islice(remaining, max(0, AHEAD * self.workers - len(waiting))):
                waiting.append((item, self._client.submit(run_task, common, item, pure=False)))
            if not waiting:
                return
            item, task = waiting.popleft()
            outcome = self._result_unless_lost(task)
            if outcome is _LOST or outcome is _KILLED:  # by this item, or by another one
                self._client.cancel([each for _, each in waiting])
                outcome = self._alone(work, shared, item)
                common = self._scatter(work, shared)
                waiting = deque(
                    (each, self._client.submit(run_task, common, each, pure=False)) for each, _ in waiting
                )  # fmt: skip
            yield outcome

    def _alone(self, work: Work[T, R], shared: Any, item: T) -> R | WorkerDied:
        """The result for an item that was in progress when a worker died, while no other item is."""
        for _ in range(_TRIES):
            self._wait_for_workers()
            outcome = self._result_unless_lost(
                self._client.submit(run_task, self._scatter(work, shared), item, pure=False)
            )
            if outcome is _KILLED:
                break
            if outcome is not _LOST:
                result: R = outcome
                return result
        return WorkerDied()

    def _wait_for_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise NoWorkers(_NO_WORKERS) from None

    def _result_unless_lost(self, task: Any) -> Any:
        from distributed import CancelledError, KilledWorker

        try:
            return self._result(task)
        except KilledWorker:
            return _KILLED
        except (CancelledError, OSError):
            if self._client.status != "running":
                raise
            return _LOST

    def _join(self, sinks: JoiningSinks, items: Sequence[Any]) -> list[Any]:
        """Tasks that read chunks, each with the part of the truth that it refers to."""
        kept: Any = sinks.kept
        chunks = [item for item in items if isinstance(item, Chunk)]
        parts = iter(kept.parts(self._share(ids_of, (sinks.ids, kept.partitions)), chunks))
        common = self._share(do_joined, sinks)
        return [
            self._client.submit(run_task, common, item, *([next(parts)] if isinstance(item, Chunk) else ()), pure=False)
            for item in items
        ]

    def keeper(self, size: int) -> Callable[[Sequence[KeptAt]], DaskTruth] | None:
        return self._keep if self._limit is not None and size > self._limit else None

    def _keep(self, chunks: Sequence[KeptAt]) -> DaskTruth:
        found = {chunk.origin: self._outcomes[chunk.origin] for chunk in chunks}
        return DaskTruth(self._client, chunks, found, _PARTITIONS * self.workers)

    @contextmanager
    def discarding(self) -> Iterator[None]:
        outcomes, common = dict(self._outcomes), list(self._common)
        try:
            yield
        finally:
            self._outcomes, self._common = outcomes, common

    def repeated(self, keys: Sequence[Sequence[KeyHashes]]) -> list[set[int]]:
        from distributed import CancelledError

        with clear_errors(self._client):
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


def _light(outcome: Any, key: str) -> Any:
    """An outcome without the hashes of ids and without a truth that is kept; `key` says where they are."""
    if not isinstance(outcome, Outcome):
        return outcome
    sink = outcome.sink.at(key) if isinstance(outcome.sink, Kept) else outcome.sink
    return outcome._replace(sink=sink, keys=[KeyHashes(array("q"), each.ends, key) for each in outcome.keys])


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


def check_client(client: object) -> None:
    """Raises `CallError` for anything but a client that can be used here."""
    if not (hasattr(client, "submit") and hasattr(client, "nthreads")):
        raise CallError(f"client must be a distributed.Client, not {type(client).__name__}", 'or pass engine="dask"')
    if getattr(client, "asynchronous", False):
        raise CallError("the client is asynchronous", "pass one that was created with asynchronous=False")


def _check_workers(client: Client) -> None:
    """Raises `CallError` if the workers cannot do the work."""
    mine = _versions()
    no_workers = CallError("the Dask cluster has no workers", "start at least one")
    with clear_errors(client):
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


_ADDRESS = "pass its address, such as tcp://10.0.0.5:8786"


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
            hint = "is it running?" if isinstance(error, OSError | TimeoutError) else _ADDRESS
            raise CallError(f"cannot connect to the Dask scheduler '{scheduler}': {reason}", hint) from None
        yield client


def _silence() -> None:
    """Hide log messages of Dask, some with tracebacks: what goes wrong is reported by exceptions.

    Some of its modules have a level of their own, which that of the package does not change.
    """
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _ignoring_ctrl_c() -> Iterator[None]:
    """Processes that start in this context ignore Ctrl-C: this process ends them. Meanwhile, it ignores it, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


_NO_PAGES: dict[str, Any] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}


@contextmanager
def _local(workers: int) -> Iterator[Client]:
    """A cluster of processes on this machine, which ends with this context.

    It listens on ports that every user of the machine can reach, and runs what it is sent: so it only answers clients
    with the certificate, which is made for this call and kept in memory. Its HTTP servers, which do not ask for one,
    have no pages.
    """
    import dask
    from distributed import Client, LocalCluster

    _silence()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            # Workers import nothing from the current folder. All files of the cluster are in the temporary one.
            with safe_path(), dask.config.set({"temporary_directory": folder, **_NO_PAGES}), _ignoring_ctrl_c():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL, security=True, scheduler_kwargs={"dashboard": False},
                    )
                )  # fmt: skip
        except RuntimeError:
            raise CallError(
                "the local Dask cluster cannot be started: its workers ended at once",
                'in a script, move the code under `if __name__ == "__main__":`',
            ) from None
        yield stack.enter_context(Client(cluster, timeout=TIMEOUT))
