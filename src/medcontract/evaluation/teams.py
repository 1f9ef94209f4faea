"""The organizer's table of teams: who sent which submission, and which of several attempts count."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

from medcontract.errors import CallError, option, words
from medcontract.evaluation.submissions import Submission
from medcontract.reading.limits import Limits
from medcontract.reading.source import open_source
from medcontract.validation.report import ProblemCollector

Attempts = Literal["best", "last", "all"]
ATTEMPTS: tuple[Attempts, ...] = get_args(Attempts)
_COLUMNS = ("submission", "team")
T = TypeVar("T")


class Teams(NamedTuple):
    """What the organizer's table says about the submissions of a ranking."""

    listed: Sequence[tuple[int, str] | None]
    """For each submission its row and its team, or None if the table does not list it."""
    notes: Sequence[str] = ()
    attempts: Attempts = "all"

    def of(self, number: int) -> str | None:
        """The team of a submission, by its number in the call."""
        listed = self.listed[number] if self.listed else None
        return listed and listed[1]

    def counted(self, ranked: Sequence[T], number: Callable[[T], int]) -> list[T]:
        """Keep one attempt of each team: the first of `ranked`, or the one that the table lists last."""
        if self.attempts == "all":
            return list(ranked)
        kept: dict[str | int, tuple[int, T]] = {}
        for place, each in enumerate(ranked):
            row, team = self.listed[number(each)] or (0, number(each))
            order = row if self.attempts == "last" else -place
            if team not in kept or kept[team][0] < order:
                kept[team] = order, each
        chosen = {id(each) for _, each in kept.values()}
        return [each for each in ranked if id(each) in chosen]


def read_teams(file: str | None, attempts: Attempts, submissions: Sequence[Submission], limits: Limits) -> Teams:
    """Read the table. Raises `CallError` for a table that does not say clearly which submission is meant."""
    if attempts not in ATTEMPTS:
        raise CallError(f"unknown attempts '{attempts}'", f"use one of: {', '.join(ATTEMPTS)}")
    if file is None:
        if attempts != "all":
            raise CallError(
                words(option("--attempts", attempts), " requires ", option("--teams", "FILE")),
                "a name in a submission is only its own claim, which must not remove another submission",
            )
        return Teams(())
    listed: list[tuple[int, str] | None] = [None] * len(submissions)
    notes: list[str] = []
    for row, (name, team) in enumerate(_rows(file, limits), 1):
        found = _meant(name, submissions)
        if not found:
            notes.append(f"--teams: there is no submission {name}: ignored")
        elif len(found) > 1:
            raise CallError(f"{file}: {len(found)} submissions are named {name}", "write them as in the call")
        elif listed[found[0]] is not None:
            raise CallError(f"{file}: {name} is listed twice", "list each submission once")
        else:
            listed[found[0]] = row, team
    unlisted = [submission.name for submission, its in zip(submissions, listed, strict=True) if its is None]
    notes += [f"--teams does not list {name}" for name in unlisted]
    return Teams(listed, notes, attempts)


def _rows(file: str, limits: Limits) -> list[tuple[str, str]]:
    from medcontract.challenges.new.read import load_table

    table = load_table(open_source(file, limits), ProblemCollector(10))
    lacking = [name for name in _COLUMNS if name not in table.columns]
    if lacking:
        got = ", ".join(table.columns) or "none"
        raise CallError(f"{file}: there is no column '{lacking[0]}'", f"columns: {', '.join(_COLUMNS)}; got {got}")
    rows = list(zip(*(table.columns[name] for name in _COLUMNS), strict=True))
    for number, row in enumerate(rows, 1):
        if not all(isinstance(cell, str) and cell.strip() for cell in row):
            raise CallError(f"{file}: row {number} has no submission or no team", "fill in both, as text")
    return rows


def _meant(name: str, submissions: Sequence[Submission]) -> list[int]:
    """Find the submissions that a name means: a path as in the call, else a base name, else one without extension."""
    ways: list[Callable[[Submission], str]] = [
        lambda each: os.path.normpath(each.given), lambda each: each.name, lambda each: each.plain_name,
    ]  # fmt: skip
    for way, wanted in zip(ways, (os.path.normpath(name), name, name), strict=True):
        found = [number for number, each in enumerate(submissions) if way(each) == wanted]
        if found:
            return found
    return []
