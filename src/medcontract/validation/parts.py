"""The files of a collection, once their contract is known."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from medcontract.contracts.registry import CompiledContract
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import validator_for
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import Progress, RecordsValidator


class Part:
    """One file whose contract is known."""

    def __init__(
        self, source: Source, contract: CompiledContract, collector: ProblemCollector, how: str | None = None
    ) -> None:
        self.source = source
        self.contract = contract
        self.collector = collector
        self.how = how
        """How the contract is known, such as `recognized by its columns`."""
        self.alias = ""
        """What is shown in place of its name, if that must not be shown."""
        self.progress: Progress | None = None
        """Gets the bytes of this file that were read, and its size."""
        self.validator: RecordsValidator | None = None
        self._report: FileReport | None = None

    @property
    def name(self) -> str:
        """The base name, as text: do not expose paths."""
        return self.alias or base_name(self.source.name)

    @property
    def report(self) -> FileReport:
        """Built on first access: until then, findings may be added to the collector."""
        if self._report is None:
            validator = self.validator or validator_for(self.source, self.contract, self.collector)
            self._report = replace(validator.report(), _how=self.how)
        return self._report


def base_name(path: str) -> str:
    return os.path.basename(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def report_read(parts: Sequence[Part], done: int | None = None) -> None:
    """Report that so many bytes of these files were read, from the first file on; without a number, all of them."""
    left = sum(part.source.size for part in parts) if done is None else done
    for part in parts:
        size = part.source.size
        if part.progress and left > 0:
            part.progress(min(left, size), size)
        left -= size
