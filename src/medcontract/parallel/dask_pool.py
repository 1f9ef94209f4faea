"""Runs work on a Dask cluster: the caller's, one at an address, or a local one. Needs the extra `dask`.

What all items share, such as the truth, is sent to the workers once.
"""

from __future__ import annotations

import logging
import pickle
import signal
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from medcontract.errors import (
    CallError,
    ConnectionLost,
    MedcontractError,
    PoolError,
    WorkKilled,
    option,
    report_plugin_errors,
    words,
)
from medcontract.extras import require
from medcontract.parallel.cpus import allowed
from medcontract.parallel.environment import Environment
from medcontract.parallel.pool import TRIES, Lost, Pool, PoolFailed, Running, Sent, Work
from medcontract.parallel.processes import safe_path
from medcontract.parallel.versions import result_versions

if TYPE_CHECKING:
    from distributed import Client

TIMEOUT = 10
"""Seconds to wait for a scheduler."""
_POLL = 5
"""Seconds after which to check whether there are still workers."""
PATIENCE = 60
"""Seconds to wait for a worker, if there are none."""


class DaskPool(Pool):
    """Runs work on a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stack = ExitStack()
        _check_workers(client)

    def __enter__(self) -> Self:
        """Load the plugins of this process on the workers. Raises `CallError` if one of them cannot."""
        environment = Environment.current()
        if environment.plugins:
            self._stack.enter_context(_loaded_plugins(self._client, environment))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def workers(self) -> int:  # type: ignore[override]  # it may change
        with _clear_errors(self._client):
            threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def gave_up(self) -> Exception:
        return WorkKilled("the Dask workers were terminated repeatedly while they read a file")

    @contextmanager
    def running(self, work: Work[Any, Any], shared: Any) -> Iterator[Running]:
        with _clear_errors(self._client):
            yield _Tasks(self._client, work, shared)


class _Tasks(Running):
    def __init__(self, client: Client, work: Work[Any, Any], shared: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._work = work, shared
        self.renew(())

    def renew(self, waiting: Iterable[Future[Any]]) -> None:
        """Send what tasks share to one worker; the others get it from there, once, with their first task.

        Without `broadcast`, which does not return if a worker ends meanwhile.
        """
        for future in waiting:
            future.cancel()
        shared = SharedWork(*self._work)
        for attempt in range(TRIES):
            try:
                self._common = self._client.scatter(shared, hash=False)
            except OSError:  # the worker that should get it ended
                if self._client.status != "running" or attempt == TRIES - 1:
                    raise
                self._wait_for_workers()
            else:
                return

    def _wait_for_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise PoolError(_NO_WORKERS) from None

    def submit(self, item: Any) -> Future[Any]:
        future: Future[Any] = self._executor.submit(SharedWork.run, self._common, item)
        return future

    def result(self, future: Future[Any]) -> Any:
        from distributed import KilledWorker

        try:
            return self._wait(future)
        except KilledWorker:
            raise Lost from None
        except (CancelledError, OSError):  # a worker ended, and with it what was sent
            if self._client.status != "running":
                raise
            raise Lost from None

    def _wait(self, future: Future[Any]) -> Any:
        """Wait for a result. Raises `PoolError` if there are none left."""
        alone_since: float | None = None
        while True:
            try:
                return future.result(timeout=_POLL)
            except TimeoutError:
                if getattr(self._common, "status", "") in ("lost", "cancelled"):
                    raise Lost from None
                now = time.monotonic()
                alone_since = None if self._client.nthreads() else alone_since or now
                if alone_since and now - alone_since > PATIENCE:
                    raise PoolError(_NO_WORKERS) from None

    @contextmanager
    def alone(self) -> Iterator[Running]:
        """Send everything again: it may have been lost, too."""
        self._wait_for_workers()
        yield _Tasks(self._client, *self._work)


_NO_WORKERS = "the Dask cluster has no workers any more"


class SharedWork:
    """A function and what its calls share: unpickled once per worker, where a task needs it first."""

    def __init__(self, work: Work[Any, Any], shared: Any) -> None:
        try:
            self.__setstate__(Sent(work, shared))  # workers in this process get it as it is
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise PoolFailed from error

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
            with report_plugin_errors():  # the process that asked does not get the traceback
                return work(shared, item)


@contextmanager
def _clear_errors(client: Client) -> Iterator[None]:
    """Say what happened to the cluster, instead of an exception of Dask."""
    from distributed.comm import CommClosedError

    try:
        yield
    except (MedcontractError, PoolFailed):
        raise
    except (CancelledError, OSError, TimeoutError, RuntimeError, ValueError) as error:
        if client.status == "running" and not isinstance(error, CommClosedError):  # it notices that a little later
            raise
        raise ConnectionLost("the connection to the Dask scheduler was lost", "is it still running?") from None


@contextmanager
def _loaded_plugins(client: Client, environment: Environment) -> Iterator[None]:
    """Load plugins on the workers, also on workers that start later. Raises `CallError` if one of them cannot.

    A worker must know the classes of a plugin before it receives values of them from another worker.
    """
    from distributed import WorkerPlugin

    class Loading(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
        name = f"medcontract-{uuid.uuid4()}"

        def setup(self, worker: Any) -> None:
            environment.load()

    try:
        with _clear_errors(client):
            client.register_plugin(Loading())
        yield
    finally:
        with suppress(OSError, TimeoutError, CancelledError):  # the scheduler may be lost
            if client.status == "running":
                client.unregister_worker_plugin(Loading.name)


def check_client(client: object) -> None:
    """Raise `CallError` for anything but a client that can be used here."""
    if not (hasattr(client, "submit") and hasattr(client, "nthreads")):
        raise CallError(f"client must be a distributed.Client, not {type(client).__name__}", 'or pass engine="dask"')
    if getattr(client, "asynchronous", False):
        raise CallError("the client is asynchronous", "pass one that was created with asynchronous=False")


def _check_workers(client: Client) -> None:
    """Raise `CallError` if the workers cannot do the work."""
    mine = result_versions()
    no_workers = CallError("the Dask cluster has no workers", "start at least one")
    with _clear_errors(client):
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)  # they may just be starting, also again
        except TimeoutError:
            raise no_workers from None
        theirs = client.run(result_versions, on_error="return")
    if not theirs:
        raise no_workers
    for address, versions in theirs.items():
        if isinstance(versions, OSError):  # it ends just now
            continue
        if isinstance(versions, BaseException):
            raise CallError(f"the Dask worker {address} cannot run medcontract: {versions}", "install it there, too")
        for name, version in versions.items():
            if version != mine.get(name):
                raise CallError(
                    f"the Dask worker {address} has {name} {version}, this process {mine.get(name)}",
                    "install the same versions everywhere",
                )


_ADDRESS = "pass its address, such as tcp://10.0.0.5:8786"


@contextmanager
def chosen_pool(engine: str | None, scheduler: str | None, client: Client | None, jobs: int | None) -> Iterator[Pool]:
    """Use the cluster that the caller chose. Raises `CallError`."""
    if engine not in (None, "dask"):
        raise CallError(f"unknown engine '{engine}'", "use dask")
    if scheduler is not None and client is not None:
        raise CallError("both a scheduler and a client are given", "pass only one of them")
    if scheduler is not None and engine is None:
        raise CallError(words(option("--scheduler"), " requires ", option("--engine", "dask")))
    require("distributed", "dask")
    if client is not None:
        check_client(client)
    elif scheduler is None:
        require("cryptography", "dask")  # for the certificate of a local cluster
    with nullcontext(client) if client is not None else connected(scheduler, jobs) as used, DaskPool(used) as pool:
        yield pool


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """Start a client of the scheduler at an address or, without one, of a local cluster. Raises `CallError`."""
    from distributed import Client

    with ExitStack() as stack:
        if scheduler is None:
            yield stack.enter_context(_local(workers or allowed()))
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

    Some of its modules have their own level, which the level of the package does not change.
    """
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    for name in (*names, "tornado.application"):
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
    """Start a cluster of processes on this machine, which ends with this context.

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
