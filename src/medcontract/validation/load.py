"""Loads a valid file as one value, for callers that want the data; everything else streams."""

from __future__ import annotations

from typing import Any

from medcontract.contracts import registry
from medcontract.contracts.contract import Validated, mark_validated
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import CallError, InvalidData, NotRecognized, report_plugin_errors
from medcontract.reading.source import Source
from medcontract.validation.dispatch import validate_source, validator_for
from medcontract.validation.problem_collector import ProblemCollector

_MAX_PROBLEMS = 10_000


@report_plugin_errors()
def load_source(source: Source, contract: str | None) -> Validated[Any]:
    """The validated value of a whole file. Raises `InvalidData` and `CallError`."""
    source.watched = True
    report = validate_source(source, contract, ProblemCollector(_MAX_PROBLEMS))
    if report.wrong_call:
        problem = report.problems[0]
        kind = NotRecognized if problem.code == "MC009" else CallError
        raise kind(f"{report.path}: {problem.message}", problem.hint)
    if not report.ok or report.contract is None:
        raise InvalidData(report)
    value = read_whole(source, registry.find(report.contract))
    source.sha256()  # the bytes that were read are those that were checked
    return mark_validated(value, report.contract)


def read_whole(source: Source, contract: CompiledContract) -> Any:
    """The model of a `.json`; the tuple of records of a container without header."""
    return validator_for(source, contract, ProblemCollector(0)).load()
