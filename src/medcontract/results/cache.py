"""The result of `cache info` and `cache clear`."""

from __future__ import annotations

from typing import Any

from medcontract.problems import plural
from medcontract.results.base import Item, Result, Row
from medcontract.results.types import Count, Position, Str


class CachedResults(Item, frozen=True, kw_only=True):
    """Results of one kind, made by one version of medcontract."""

    kind: Str
    """The command that kept them."""
    medcontract_version: Str
    """The version that made them."""
    count: Position
    """The number of results."""


class CacheInfo(Result, frozen=True, kw_only=True):
    """The output of `medcontract cache info`; for `cache clear`, what was removed."""

    folder: str
    """The folder as given."""
    count: Count
    """The number of results."""
    size: Count
    """The size of its files in bytes."""
    results: tuple[CachedResults, ...]
    """The results, by kind and version."""

    _cleared: bool = False
    """Whether they were removed."""

    @classmethod
    def of(cls, folder: str, content: Any, cleared: bool = False) -> CacheInfo:
        """From what `medcontract.cache` found."""
        counts = content.counts
        results = tuple(CachedResults(kind=kind, medcontract_version=v, count=count) for kind, v, count in counts)
        total = sum(each.count for each in results)
        return cls(folder=folder, count=total, size=content.size, results=results, _cleared=cleared)

    def _columns(self) -> tuple[str, ...]:
        return CachedResults.__struct_fields__

    def _rows(self, show_values: bool) -> list[Row]:
        return [each.to_dict(show_values) for each in self.results]

    def _summary(self) -> str:
        return plural(self.count, "result")
