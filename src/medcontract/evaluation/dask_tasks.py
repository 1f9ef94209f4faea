"""Tasks of a Dask cluster: what they share, and what their failures mean."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from medcontract.errors import MedcontractError, report_plugin_errors
from medcontract.evaluation.engine import EngineFailed, Sent, Work
from medcontract.evaluation.engine_errors import ConnectionLost, WorkKilled

if TYPE_CHECKING:
    from distributed import Client

KILLED = "the Dask workers were terminated repeatedly while they read a file"


class SharedWork:
    """A function and what its calls share: unpickled once per worker, where a task needs it first."""

    def __init__(self, work: Work[Any, Any], shared: Any) -> None:
        try:
            self.__setstate__(Sent(work, shared))  # workers in this process get it as it is
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise EngineFailed from error

    def __getstate__(self) -> Sent:
        return self._sent

    def __setstate__(self, sent: Sent) -> None:
        self._sent = sent
        self._lock = threading.Lock()
        self._opened: tuple[Work[Any, Any], Any] | None = None

    def run(self, item: Any, *more: Any) -> Any:
        with self._sent.environment.active():
            with self._lock:
                self._opened = self._opened or self._sent.open()
            work, shared = self._opened
            with report_plugin_errors():  # the process that asked does not get the traceback
                return work(shared, item, *more)


def run_task(work: SharedWork, item: Any, *more: Any) -> Any:
    """Process one item on a worker."""
    return work.run(item, *more)


@contextmanager
def clear_errors(client: Client) -> Iterator[None]:
    """Say what happened to the cluster, instead of an exception of Dask."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except (MedcontractError, EngineFailed):
        raise
    except KilledWorker as error:
        raise WorkKilled(f"{KILLED}: {error}") from None
    except (CancelledError, OSError, TimeoutError, RuntimeError, ValueError) as error:
        if client.status == "running" and not isinstance(error, CommClosedError):  # it notices that a little later
            raise
        raise ConnectionLost("the connection to the Dask scheduler was lost", "is it still running?") from None
