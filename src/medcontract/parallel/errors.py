"""What is raised if a pool fails. A separate module, because pools are slow to import."""

from __future__ import annotations

from medcontract.errors import CallError, MedcontractError


class PoolError(MedcontractError):
    """The pool failed, whatever the files are."""


class WorkKilled(PoolError):
    """Work terminated its workers repeatedly."""


class NoWorkers(PoolError):
    """There are no workers any more."""


class ConnectionLost(CallError, PoolError):
    """The workers cannot be reached any more."""
