"""How two results of a track are compared: how rows are matched, and which figures show an improvement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

Result = Mapping[str, Any]
"""A result read from a file. It may have been made elsewhere, and contain anything."""


class Rows(Struct, frozen=True, kw_only=True):
    """A list of a result whose rows are compared one by one."""

    name: str
    """The key of the list in the result."""
    id: str
    """The field that identifies a row."""
    also: str = ""
    """A second field that identifies it, shown in parentheses."""
    decides: str
    """The figure that shows whether a row improved."""
    title: str = ""
    """The name of the rows, in the plural; by default the name of the list."""
    state: str = ""
    """The boolean field that says whether a row passed."""
    judged: bool = False
    """The rows are gates: all are shown in one table, in their order, with state and reason."""

    def group(self, result: Result) -> RowGroup:
        """The rows of a result."""
        listed = result.get(self.name)
        rows = [row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, dict) and self.id in row]
        return RowGroup(
            kind=self.name, title=self.title or self.name, rows={self._name(row): row for row in rows},
            deciding=(self.decides,), state=self.state, judged=self.judged,
        )  # fmt: skip

    def _name(self, row: Mapping[str, Any]) -> str:
        also = row.get(self.also) if self.also else None
        return f"{row[self.id]} ({also})" if also else str(row[self.id])


class RowGroup(Struct, frozen=True, kw_only=True):
    """Rows of a result, by name, and how they are compared."""

    kind: str
    title: str
    """The name of the rows, in the plural."""
    rows: Mapping[str, Any]
    """By name; each is an object with figures."""
    deciding: tuple[str, ...]
    """The figures that show whether a row improved."""
    or_all: bool = False
    """If a row has none of the deciding figures, all of its figures are used."""
    state: str = ""
    judged: bool = False


class Comparison(Struct, frozen=True, kw_only=True):
    """What `compare` reads from a result, and the figures for `leaderboard`. Most tracks need only `rows`."""

    rows: tuple[Rows, ...] = ()
    """The lists of a result that are compared row by row, in the order in which they are shown."""
    groups: Callable[[Result], Iterable[RowGroup]] | None = None
    """Used instead of `rows` if the rows are not in lists."""
    figures: Callable[[Result], Mapping[str, Any]] | None = None
    """The figures of the whole submission, if the track does not know their names in advance."""
    headline: Callable[[Result], float | None] | None = None
    """The headline figure, if it is not a key of the result."""
    warnings: Callable[[Result, Result], Iterable[str]] | None = None
    """Why some figures of two results cannot be compared."""

    def row_groups(self, result: Result) -> Iterator[RowGroup]:
        """The rows of a result that are compared."""
        return iter(self.groups(result)) if self.groups else (rows.group(result) for rows in self.rows)

    def figures_in(self, result: Result) -> Mapping[str, Any]:
        """The figures of the whole submission, possibly with other keys."""
        return self.figures(result) if self.figures else without_metadata(result)


def without_metadata(result: Result) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "metadata"}
