"""The page of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medcontract.problems import plain_name, plural, shorten
from medcontract.rendering.page import Bullets, Fact, Line, Link, Outcome, Outcomes, Page, Paragraph, Section, View
from medcontract.rendering.pages.score import (
    contract_names,
    contracts_line,
    inputs,
    protocol,
    versions,
    with_direction,
)
from medcontract.results.leaderboard import CombinedScore, Leaderboard, LeaderboardEntry
from medcontract.results.score import InputFile
from medcontract.results.tables import Table, number

_MOST_REASONS = 3
_MOST_NAMES = 5
_SHORTEST = 0.1
"""The length of the bar of the lowest figure."""
_MOST_OTHERS = 4
"""The number of metrics in the table that are not defined by the track."""


def leaderboard(board: Leaderboard, view: View) -> Page:
    """The ranking, the submissions that are not ranked, and what is needed to verify it."""
    ranked = [entry for entry in board.submissions if entry.rank is not None]
    rest = [entry for entry in board.submissions if entry.rank is None]
    valid = sum(entry.valid for entry in board.submissions)
    name = with_direction(plain_name(board.headline), board._lower_is_better)
    facts = [Fact("submissions", f"{len(board.submissions):,}"), Fact("valid", f"{valid:,}")]
    sections = []
    if board.blind:
        listed, rest = [entry for entry in rest if entry.valid], [entry for entry in rest if not entry.valid]
        rows = [(_name(entry), f"{entry.processing.processed:,}" if entry.processing else "–") for entry in listed]
        table = Table("Valid submissions", (board._entrant, "processed"), rows)
        sections += [Section("Valid submissions", [table], outcome=True)] if rows else []
    if ranked:
        best = number(ranked[0].headline, _units(board).get(board.headline, ""))
        facts.insert(0, Fact(f"best {plain_name(board.headline)}", best, _label(ranked[0])))
        sections.append(Section(f"Ranking by {name}", [_ranking(board, ranked)], outcome=True))
    if board.combined:
        sections.append(Section("Combined score", [Paragraph([_weights(board.combined)])]))
    if rest:
        sections.append(
            Section("Not ranked", [Outcomes((board._entrant, "reasons"), list(map(_item, rest)))], outcome=True)
        )
    warnings = [*_warnings(board), *board.warnings]
    if warnings:
        sections.append(Section("Warnings", [Bullets([[each] for each in warnings], "warning")]))
    groups = list(_contracts(board))
    named: list[Line] = [[f"{who}: {', '.join(_with_how(each, files) for each in names) or contract_names(())}"]
                         for who, names, files in groups]  # fmt: skip
    truth = contracts_line(file.contract for file in board.truth)
    return Page(
        title=f"{board._title}: leaderboard" if board._title else f"Leaderboard: {board.track}",
        verdict=_verdict(board, len(ranked), valid),
        role="good" if ranked or (board.blind and valid) else "bad",
        lines=[[f"{plural(len(board.submissions), 'submission')}, {valid} valid, {_how(board)}."]],
        last=True,
        facts=facts,
        sections=[
            *sections,
            *inputs("Truth", board.truth),
            Section("Contracts", [Bullets(named)]),
            *protocol(board.protocol),
        ],
        contracts="; ".join([truth, *(f"{who}: {contract_names(names)}" for who, names, _ in groups)]),
        version=versions(board),
    )


def _verdict(board: Leaderboard, ranked: int, valid: int) -> str:
    if board.blind:
        return f"{plural(valid, 'valid submission')}" if valid else "No valid submission"
    return f"{plural(ranked, 'submission')} ranked" if ranked else "No submission ranked"


def _how(board: Leaderboard) -> str:
    return "without ranks and figures (--blind)" if board.blind else f"ranked by {shorten(board.headline)}"


def _units(board: Leaderboard) -> dict[str, str]:
    return {figure.name: figure.unit for figure in board._figures}


def _label(entry: LeaderboardEntry) -> str:
    """The team and the name of a submission."""
    return f"{entry.team_name} ({entry.name})" if entry.team_name and entry.team_name != entry.name else entry.name


def _name(entry: LeaderboardEntry, before: str = "", *after: str) -> str:
    """The name of a submission, with a link to its report."""
    return Link.to(entry._report, " ".join(filter(None, [before, _label(entry), *after])))


def _ranking(board: Leaderboard, ranked: Sequence[LeaderboardEntry]) -> Table:
    """Rank, team, the headline, then the other figures; without columns that are empty. Bars compare headlines."""
    units, shown = _units(board), _figures(board)
    decided = any(entry.decision for entry in ranked)
    rows = [
        (
            _name(entry, f"{entry.rank}.", *(f"[{code}]" for code in entry._flags)),
            *([entry.decision or "–"] * decided),
            *(number(_value(board, entry, name), units.get(name, "")) for name in shown),
        )
        for entry in ranked
    ]
    head = (board._entrant, *["decision"] * decided, *map(plain_name, shown))
    used = [n for n in range(len(head)) if any(row[n] != number(None) for row in rows)]
    return Table(
        "Ranking",
        tuple(head[n] for n in used),
        [tuple(row[n] for n in used) for row in rows],
        text_columns=2 if decided else 1,
        shares=_shares([_value(board, entry, shown[0]) for entry in ranked]),
    )


def _shares(values: Sequence[float | None]) -> list[float | None]:
    """Lengths of bars over the range of the board: figures that are close to each other stay apart."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    return [
        None if v is None else 1 if low == high else _SHORTEST + (1 - _SHORTEST) * (v - low) / (high - low)
        for v in values
    ]


def _value(board: Leaderboard, entry: LeaderboardEntry, name: str) -> float | None:
    return entry.headline if name == board.headline else entry.figures.get(name)


def _figures(board: Leaderboard) -> list[str]:
    """The headline, then the figures that are asked for, or those of the track and the first few others."""
    if board._shown:
        return list(board._shown if board.headline in board._shown else (board.headline, *board._shown))
    there = {name for entry in board.submissions for name in entry.figures}
    own = [f.name for f in board._figures if f.by == "submission" and f.name != board.headline and f.name in there]
    known = {board.headline, *(figure.name for figure in board._figures)}
    return [board.headline, *own, *sorted(there - known)[:_MOST_OTHERS]]


def _item(entry: LeaderboardEntry) -> Outcome:
    """A submission that is not ranked: its first reasons and its first problem, without values of records."""
    reasons = [f"reason: {reason}" for reason in entry.reasons[:_MOST_REASONS]]
    if entry.valid:
        reasons = ["reason: it does not have the figure that submissions are ranked by"]
    elif len(entry.reasons) > _MOST_REASONS:
        reasons.append(f"… and {len(entry.reasons) - _MOST_REASONS} more reasons")
    if entry.problem is not None:
        data = entry.problem.to_dict()
        hint = f" ({data['hint']})" if data["hint"] else ""
        place = f"{data['file']}{entry.problem._place}"
        reasons.append(f"first problem: {place}: {data['code']} {data['message']}{hint}")
    word = "not ranked" if entry.valid else "not valid"
    return Outcome(word, "warning" if entry.valid else "bad", _name(entry), reasons=reasons)


def _warnings(board: Leaderboard) -> list[str]:
    """The warnings about submissions; what concerns several is one line."""
    concerned: dict[str, list[LeaderboardEntry]] = {}
    for entry in board.submissions:
        for warning in dict.fromkeys(entry.warnings):
            concerned.setdefault(warning, []).append(entry)
    return [f"{_names(entries)}: {warning}" for warning, entries in concerned.items()]


def _names(entries: Sequence[LeaderboardEntry]) -> str:
    left = len(entries) - _MOST_NAMES
    return ", ".join(map(_label, entries[:_MOST_NAMES])) + (f" and {left:,} more" if left > 0 else "")


def _contracts(board: Leaderboard) -> Iterator[tuple[str, tuple[str, ...], list[InputFile]]]:
    """The contracts of the submissions: once if they agree, otherwise also those of the ones that differ, by name."""
    groups: dict[tuple[str, ...], list[LeaderboardEntry]] = {}
    for entry in board.submissions:
        groups.setdefault(tuple(sorted({file.contract for file in entry.inputs})), []).append(entry)
    ordered = sorted(groups.items(), key=lambda group: (not group[0], -len(group[1]), group[0]))
    for position, (contracts, entries) in enumerate(ordered):
        files = [file for entry in entries for file in entry.inputs]
        yield _names(entries) if position else "submissions", contracts, files


def _with_how(contract: str, files: Sequence[InputFile]) -> str:
    ways = sorted({file._how for file in files if file.contract == contract and file._how})
    ways[1:] = [way.removeprefix("recognized ") for way in ways[1:]]
    return f"{contract} ({' or '.join(ways)})" if ways else contract


def _weights(combined: dict[str, CombinedScore]) -> str:
    """How metrics are combined into the headline."""
    ((name, how),) = combined.items()
    shares = ", ".join(f"{shorten(metric)} {weight:g}" for metric, weight in how.weights.items())
    kept = "" if how.renormalize_missing else "; missing metrics count as 0"
    own = "".join(f"; {shorten(n)} of {', '.join(map(shorten, m))}" for n, m in (how.categories or {}).items())
    return f"{shorten(name)}: {shares}{kept}{own}"
