"""How two results of a track are compared: which rows are the same, and which figures tell what got better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

Result = Mapping[str, Any]
"""A result that was written down. It may have been made elsewhere, and hold anything."""


class Rows(Struct, frozen=True, kw_only=True):
    """A list of a result whose rows are compared one by one."""

    name: str
    """The key of the list in the result."""
    id: str
    """The field that names a row."""
    also: str = ""
    """A field that names it too."""
    decides: str
    """The figure that tells whether a row got better."""
    title: str = ""
    """What the rows are called, in the plural; else as the list."""
    state: str = ""
    """The field that says whether a row is good."""
    judged: bool = False
    """The rows are gates: shown all in one table, in their order, with state and reason."""

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
    """Rows of a result, by name, and what their comparison takes."""

    kind: str
    title: str
    """What the rows are called, in the plural."""
    rows: Mapping[str, Any]
    """By name; each is an object with figures."""
    deciding: tuple[str, ...]
    """The figures that tell whether a row got better."""
    or_all: bool = False
    """Where a row has none of these, all of its figures tell."""
    state: str = ""
    judged: bool = False


class Comparison(Struct, frozen=True, kw_only=True):
    """What `compare` takes from a result, and `leaderboard` its figures. `rows` is enough for most tracks."""

    rows: tuple[Rows, ...] = ()
    """The lists of a result that are compared row by row, in the order in which they are shown."""
    groups: Callable[[Result], Iterable[RowGroup]] | None = None
    """Instead of `rows`, where rows are no list."""
    figures: Callable[[Result], Mapping[str, Any]] | None = None
    """The figures of the whole submission, where the track cannot know their names beforehand."""
    headline: Callable[[Result], float | None] | None = None
    """The headline figure, where a result does not hold it under its name."""
    warnings: Callable[[Result, Result], Iterable[str]] | None = None
    """Why some figures of two results cannot be compared."""

    def row_groups(self, result: Result) -> Iterator[RowGroup]:
        """What of a result is compared row by row."""
        return iter(self.groups(result)) if self.groups else (rows.group(result) for rows in self.rows)

    def figures_in(self, result: Result) -> Mapping[str, Any]:
        """The figures of the whole submission; other keys may be among them."""
        return self.figures(result) if self.figures else without_metadata(result)


def without_metadata(result: Result) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "metadata"}
