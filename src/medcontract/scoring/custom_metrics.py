"""Custom metrics: functions of a reference and a prediction that plugins register, by name.

This module knows no tracks: a scorer that supports custom metrics calls `custom_metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from medcontract.errors import CallError, broken_plugins
from medcontract.plugins.registration import error_text

GROUP = "medcontract.metrics"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_metrics: dict[str, Callable[..., Any]] = {}


def register_metrics(metrics: Mapping[str, Callable[..., Any]]) -> None:
    """Register metrics: functions of a reference and a prediction, by name. Raises `CallError`."""
    if not isinstance(metrics, Mapping):
        raise CallError("METRICS must be a dict", 'write METRICS = {"my_metric": my_function}')
    for name, function in metrics.items():
        if not _NAME.fullmatch(str(name)):
            raise CallError(f"invalid metric name '{name}'", "use letters, digits and _, such as 'brevity'")
        if not callable(function):
            raise CallError(
                f"the metric '{name}' is not a function", "register a function of a reference and a prediction"
            )
        if _metrics.setdefault(name, function) is not function:
            raise CallError(f"the metric '{name}' is already registered", "choose another name")


def registered() -> frozenset[str]:
    """Return the names of all metrics so far, without loading installed ones."""
    return frozenset(_metrics)


def custom_metrics() -> dict[str, Callable[..., Any]]:
    """Metrics of plugins and of installed packages (entry points of the group `medcontract.metrics`), by name."""
    _load_installed()
    shown = _shown.get()
    return {name: each for name, each in sorted(_metrics.items()) if shown is None or name in shown}


_shown: ContextVar[frozenset[str] | None] = ContextVar("medcontract metrics", default=None)
"""The only metrics that exist for the work at hand, in a worker that also has metrics of other calls."""


@contextmanager
def showing_only(names: frozenset[str]) -> Iterator[None]:
    """Use only these metrics, in this thread."""
    token = _shown.set(names)
    try:
        yield
    finally:
        _shown.reset(token)


@cache
def _load_installed() -> None:
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP)):
        try:
            register_metrics({entry.name: entry.load()})
        except (Exception, SystemExit) as error:  # noqa: BLE001  # plugins may raise anything
            broken_plugins.append(f"the metric '{entry.value}' cannot be loaded: {error_text(error)}")
