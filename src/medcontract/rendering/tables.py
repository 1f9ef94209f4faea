"""The headline and the tables of a score, for text and Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from medcontract.problems import plain_name
from medcontract.results.score import Score
from medcontract.results.tables import Table, number


def headline(score: Score) -> tuple[str, str]:
    """The name and value of the most important figure."""
    units = {figure.name: figure.unit for figure in score._figures}
    for name, value in (score._headline, score._second):
        if value is not None:
            return plain_name(name), number(value, units.get(name, ""))
    return plain_name(score._headline[0]), number(None)


def tables(score: Score) -> Iterable[Table]:
    """The tables that the track defines, starting with the figures of the submission."""
    return () if score.result is None or score._tables is None else score._tables(score)
