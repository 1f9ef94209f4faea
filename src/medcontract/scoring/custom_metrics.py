"""Custom metrics: functions of a reference and a prediction that plugins register, by name.

This module knows no tracks: a scorer that supports custom metrics calls `custom_metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from medcontract.contracts import plugins
from medcontract.errors import CallError

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


def custom_metrics() -> dict[str, Callable[..., Any]]:
    """Metrics of plugins and of installed packages (entry points of the group `medcontract.metrics`), by name."""
    _load_installed()
    return dict(sorted(_metrics.items()))


@cache
def _load_installed() -> None:
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP)):
        try:
            register_metrics({entry.name: entry.load()})
        except (Exception, SystemExit) as error:  # noqa: BLE001  # plugins may raise anything
            plugins.broken.append(f"the metric '{entry.value}' cannot be loaded: {plugins.error_text(error)}")
