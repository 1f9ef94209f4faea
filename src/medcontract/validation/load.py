"""Loads a valid file as one value, for callers that want the data; everything else streams."""

from __future__ import annotations

from typing import Any

from medcontract.contracts.registry import CompiledContract
from medcontract.reading.source import Source
from medcontract.validation.dispatch import validator_for
from medcontract.validation.problem_collector import ProblemCollector


def read_whole(source: Source, contract: CompiledContract) -> Any:
    """The model of a `.json`; the tuple of records of a container without header."""
    return validator_for(source, contract, ProblemCollector(0)).load()
