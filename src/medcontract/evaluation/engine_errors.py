"""What is raised if an engine fails. A separate module, because engines are slow to import."""

from __future__ import annotations

from medcontract.errors import CallError, MedcontractError


class EngineError(MedcontractError):
    """The engine failed, whatever the files are."""


class WorkKilled(EngineError):
    """Work terminated its workers repeatedly."""


class TruthLost(EngineError):
    """Workers ended, and with them a truth that stays on workers: it has to be read again."""


class NoWorkers(EngineError):
    """There are no workers any more."""


class ConnectionLost(CallError, EngineError):
    """The workers cannot be reached any more."""
