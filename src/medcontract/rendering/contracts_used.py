"""Which contracts a result is about, in one line: for scores, checklists, rankings and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from medcontract.rendering.shared import entry_label
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard, LeaderboardEntry
from medcontract.results.preflight import Preflight
from medcontract.results.score import InputFile, Score

_MOST_NAMES = 5
_NONE = "no contract recognized"


def of_score(score: Score) -> str:
    """The contracts of the files of a score."""
    return _line(file.contract for file in score.inputs)


def of_preflight(checklist: Preflight) -> str:
    """The contracts of the files that were checked."""
    return _line(checklist._contracts)


def of_comparison(comparison: Comparison) -> str:
    """The contracts of the files that the two scores were computed from."""
    before, after = (_joined(contracts) for contracts in comparison._contracts or ((), ()))
    return f"contracts: {before}" if before == after else f"contracts: {before} before, {after} after"


def of_leaderboard(board: Leaderboard) -> str:
    """The contracts of the truth and of the submissions."""
    truth = _line(file.contract for file in board.truth)
    return "; ".join([truth, *(f"{who}: {what}" for who, what in of_submissions(board, False))])


def of_submissions(board: Leaderboard, with_how: bool = True) -> Iterator[tuple[str, str]]:
    """The contracts of the submissions: once if they agree, otherwise also those of the ones that differ, by name."""
    groups: dict[tuple[str, ...], list[LeaderboardEntry]] = {}
    for entry in board.submissions:
        groups.setdefault(tuple(sorted({file.contract for file in entry.inputs})), []).append(entry)
    ordered = sorted(groups.items(), key=lambda group: (not group[0], -len(group[1]), group[0]))
    for position, (contracts, entries) in enumerate(ordered):
        files = [file for entry in entries for file in entry.inputs]
        text = ", ".join(_with_how(name, files) if with_how else name for name in contracts)
        yield _names(entries) if position else "submissions", text or _NONE


def _with_how(contract: str, files: Sequence[InputFile]) -> str:
    ways = sorted({file._how for file in files if file.contract == contract and file._how})
    ways[1:] = [way.removeprefix("recognized ") for way in ways[1:]]
    return f"{contract} ({' or '.join(ways)})" if ways else contract


def _names(entries: Sequence[LeaderboardEntry]) -> str:
    left = len(entries) - _MOST_NAMES
    return ", ".join(map(entry_label, entries[:_MOST_NAMES])) + (f" and {left:,} more" if left > 0 else "")


def _line(contracts: Iterable[str]) -> str:
    return f"contracts: {_joined(contracts)}"


def _joined(contracts: Iterable[str]) -> str:
    return ", ".join(sorted(set(contracts))) or _NONE
