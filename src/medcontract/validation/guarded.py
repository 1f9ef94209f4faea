"""Checks one file so that neither a bug nor a file that changes loses the reports of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from medcontract.errors import FileChanged, MedcontractError, internal_error, plugin_failure
from medcontract.problems import Finding
from medcontract.reading.source import Source, unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.report import make_report


def check_guarded(
    validator: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """Check one file. Unexpected errors become problems, so that the reports of other files are not lost."""
    try:
        return check_unchanged(validator, source, contract_id, *settings)
    except MedcontractError:
        raise
    except OSError as error:  # after it was opened, such as a disk error
        return _only(unreadable(error).finding, source, contract_id, wrong_call=True)
    except Exception as error:  # noqa: BLE001  # any bug
        failure = plugin_failure(error)
        if failure is not None:
            raise failure from None
        return _only(Finding("MC029", internal_error(error)), source, contract_id)


def check_unchanged(
    validator: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """Check one file. It is a problem of the file if it changes while it is read."""
    try:
        return validator(source, contract_id, *settings)
    except FileChanged as error:
        return _only(Finding("MC003", str(error).removeprefix(f"{source.name}: ")), source, contract_id)


def _only(finding: Finding, source: Source, contract_id: str | None, wrong_call: bool = False) -> FileReport:
    collector = ProblemCollector(1)
    collector.add(finding)
    return make_report(source, contract_id, None, collector, wrong_call)
