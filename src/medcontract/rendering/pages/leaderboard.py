"""The page of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medcontract.problems import plain_name, plural, shorten
from medcontract.rendering.page import (
    Bullets,
    Fact,
    FigureName,
    Line,
    Link,
    Outcome,
    Outcomes,
    Page,
    Paragraph,
    Section,
    Styled,
    View,
)
from medcontract.rendering.pages.score import (
    contract_names,
    contracts_line,
    inputs,
    p_value,
    protocol,
    versions,
    warnings,
    with_direction,
)
from medcontract.results.leaderboard import CombinedScore, Leaderboard, LeaderboardEntry
from medcontract.results.score import InputFile
from medcontract.results.tables import Matrix, Ranges, Table, long_table, number

_MOST_REASONS = 3
_MOST_NAMES = 5
_SHORTEST = 0.1
"""The length of the bar of the lowest figure."""
_LOWER = " ↓"
_MOST_WORDS = 8
"""Marks figures that are better when lower, in the head of a table: words would make it too wide."""
_FEWEST = 3
"""With fewer submissions, ranges of ranks and pairs say no more than the ranking."""
_MOST_OTHERS = 4
"""The number of metrics in the table that are not defined by the track."""


def leaderboard(board: Leaderboard, view: View) -> Page:
    """Show the ranking, the submissions that are not ranked, and what is needed to verify it."""
    ranked = [entry for entry in board.submissions if entry.rank is not None]
    rest = [entry for entry in board.submissions if entry.rank is None]
    valid = sum(entry.valid for entry in board.submissions)
    name = with_direction(plain_name(board.headline), board._lower_is_better)
    facts = [Fact("submissions", f"{len(board.submissions):,}"), Fact("valid", f"{valid:,}")]
    sections = []
    conclusion = _conclusion(board, ranked)
    if board.blind:
        listed, rest = [entry for entry in rest if entry.valid], [entry for entry in rest if not entry.valid]
        rows = [(_name(entry), f"{entry.processing.processed:,}" if entry.processing else "–") for entry in listed]
        table = Table("Valid submissions", (board._entrant, "processed"), rows)
        sections.append(Section("Valid submissions", [table], outcome=True))
    if ranked:
        best = number(ranked[0].headline, _units(board).get(board.headline, ""))
        facts.insert(0, Fact(f"best {plain_name(board.headline)}", best, _label(ranked[0])))
        sections.append(Section(f"Ranking by {name}", [_ranking(board, ranked)], outcome=True))
        sections += _certainty(board, ranked)
    if board.combined:
        sections.append(Section("Combined score", [Paragraph([_weights(board.combined)])]))
    if rest:
        refused = Outcomes((board._entrant, "reasons"), list(map(_item, rest)))
        sections.append(Section("Not ranked", [refused], outcome=True))
    sections.append(warnings([*_warnings(board), *board.warnings]))
    how, count, what, shown = f"ranked by {shorten(board.headline)}", len(ranked), "submission", " ranked"
    if board.blind:
        how, count, what, shown = "without ranks and figures (--blind)", valid, "valid submission", ""
    groups = list(_contracts(board))
    named: list[Line] = [[f"{who}: {', '.join(_with_how(each, files) for each in names) or contract_names(())}"]
                         for who, names, files in groups]  # fmt: skip
    truth = contracts_line(file.contract for file in board.truth)
    return Page(
        title=f"{board._title}: leaderboard" if board._title else f"Leaderboard: {board.track}",
        subtitle=board._occasion,
        verdict=f"{plural(count, what)}{shown}" if count else f"No {what}{shown}",
        role="good" if ranked or (board.blind and valid) else "bad",
        lines=[
            [f"{plural(len(board.submissions), 'submission')}, {valid} valid, {how}."],
            *([[Styled(conclusion, "strong")]] if conclusion else []),
        ],
        about=[conclusion] if conclusion else [],
        last=True,
        facts=facts,
        sections=[
            *sections,
            *inputs("Truth", board.truth),
            Section("Contracts", [Bullets(named)], folded=True),
            *protocol(board.protocol),
        ],
        contracts="; ".join([truth, *(f"{who}: {contract_names(names)}" for who, names, _ in groups)]),
        version=versions(board),
    )


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _conclusion(board: Leaderboard, ranked: Sequence[LeaderboardEntry]) -> str:
    """Say what can be concluded from the ranking, in one sentence."""
    if board.intervals is None or len(ranked) < 2:
        return ""
    found = board.intervals
    level = f"{found.level * 100:g} %"
    if board.neighbours is None:
        return "It is not known which submissions can be told apart."
    cases = f"{'these ' if found.units > 1 else 'this '}{plural(found.units, 'case')}"
    if found._clustered:
        cases = f"{'these ' if found.units > 1 else 'this '}{plural(found.units, 'cluster')} of cases"
    tied = [bool(entry.tied_with_first) for entry in ranked]
    count, most = sum(tied), len(ranked) - 1
    if count == 1:
        return f"The first can be told apart from all others on {cases} (level {level})."
    if count > most > 1:
        return f"None of the other {_number(most)} can be told apart from the first on {cases} (level {level})."
    together = all(pair.p_holm > 1 - found.level for pair in board.neighbours[: count - 1])
    if all(tied[:count]) and together:
        return f"The {'first ' * (count <= most)}{_number(count)} cannot be told apart on {cases} (level {level})."
    others = f"{count - 1:,} of the {plural(most, 'other')}"
    return f"{others} cannot be told apart from the first on {cases} (level {level})."


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"


def _certainty(board: Leaderboard, ranked: Sequence[LeaderboardEntry]) -> Iterator[Section]:
    """Yield an explanation of intervals, ranges of ranks, neighbors, and how often one submission beats another."""
    found, unit = board.intervals, _units(board).get(board.headline, "")
    if found is None:
        return
    drawn = f"{found.resamples:,} resamples of {plural(found.units, 'unit')} ({', '.join(found.unit)})"
    about = [f"In brackets: {found.level * 100:g} % intervals, from {drawn}, which all submissions share."]
    first = ranked[0].headline or 0
    tied = [abs(first - (entry.headline or 0)) for entry in ranked if entry.tied_with_first]
    if board.detectable is not None and max(tied, default=0) <= board.detectable:  # others may vary more than the two
        least = number(board.detectable, unit)
        about.append(f"Between the first and the second, a difference of about {least} would be significant.")
    yield Section("How sure the ranking is", [Paragraph([" ".join(about)], note=True)], on="pages")
    if board.neighbours is None or len(ranked) < _FEWEST:
        return
    labels = _labels(ranked)
    rows = [(label, _range(entry.rank_interval)) for label, entry in zip(labels, ranked, strict=True)]
    plot = Ranges(
        labels, [entry.rank or 0 for entry in ranked], [entry.rank_interval for entry in ranked],
        [text for _, text in rows], _tied(ranked), whole=True,
    )  # fmt: skip
    yield Section(
        "Ranges of ranks", [long_table(Table("Ranks", (board._entrant, "rank"), rows, chart=plot))], on="pages"
    )
    pairs = [
        (f"{above} and {below}", number(pair.difference, unit, pair.interval), p_value(pair.p), p_value(pair.p_holm))
        for above, below, pair in zip(labels, labels[1:], board.neighbours, strict=False)
    ]
    note = "p (Holm): corrected for the number of neighbors"
    table = long_table(Table("Neighbors", ("neighbors", "difference", "p", "p (Holm)"), pairs, note))
    yield Section("Neighbors", [table], on="pages")
    if board._better:
        shares = [[round(100 * share) for share in row] for row in board._better]
        columns = [f"{n}." for n in range(1, len(shares) + 1)]
        matrix = Matrix(labels, columns, shares, "better", "than", "Percent of the resamples; ties count half.", True)
        percent = [
            (label, *("–" if column == n else str(share) for column, share in enumerate(shares[n])))
            for n, label in enumerate(labels)
        ]
        table = Table("Pairs", ("percent of the resamples", *columns), percent, chart=matrix)
        yield Section("How often each is better than another", [table], on="pages")


def _labels(ranked: Sequence[LeaderboardEntry]) -> list[str]:
    return [f"{entry.rank}. {_label(entry)}" for entry in ranked]


def share_text(share: float | None) -> str:
    return number(None) if share is None else f"{share:.0%}".replace("%", " %")


def _range(bounds: tuple[int, int] | None) -> str:
    if bounds is None:
        return number(None)
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}–{bounds[1]}"


def _tied(ranked: Sequence[LeaderboardEntry]) -> int:
    """Return the number of rows down to the last one that is tied with the first."""
    return max((n for n, entry in enumerate(ranked, 1) if entry.tied_with_first), default=0)


def _units(board: Leaderboard) -> dict[str, str]:
    return {figure.name: figure.unit for figure in board._figures}


def _label(entry: LeaderboardEntry) -> str:
    """Return the team and the name of a submission."""
    return f"{entry.team_name} ({entry.name})" if entry.team_name and entry.team_name != entry.name else entry.name


def _name(entry: LeaderboardEntry, before: str = "", *after: str) -> str:
    """Return the name of a submission, with a link to its report."""
    return Link.to(entry._report, " ".join(filter(None, [before, _label(entry), *after])))


def _ranking(board: Leaderboard, ranked: Sequence[LeaderboardEntry]) -> Table:
    """Rank, team, the headline, then the other figures; without columns that are empty. Bars compare headlines."""
    units, shown = _units(board), _figures(board)
    lower = {figure.name for figure in board._figures if figure.lower_is_better}
    lower |= {board.headline} if board._lower_is_better else set()
    kind = FigureName if len(shown) <= _MOST_WORDS else str  # two names for each figure would not fit
    entrants = [_name(entry, f"{entry.rank}.", *(f"[{code}]" for code in entry._flags)) for entry in ranked]
    columns = [(board._entrant, entrants)]
    for name in shown:
        with_interval = name == board.headline == shown[0]
        cells = [
            number(_value(board, entry, name), units.get(name, ""), entry.interval if with_interval else None)
            for entry in ranked
        ]
        columns.append((kind(f"{plain_name(name)}{_LOWER * (name in lower)}"), cells))
    chart = None
    if board.intervals is not None:
        texts = [number(entry.headline, units.get(board.headline, ""), entry.interval) for entry in ranked]
        values = [entry.headline or 0 for entry in ranked]
        chart = Ranges(_labels(ranked), values, [entry.interval for entry in ranked], texts, _tied(ranked))
        columns[2:2] = [("ranks", [_range(entry.rank_interval) for entry in ranked]),
                        ("first", [share_text(entry.first_share) for entry in ranked])]  # fmt: skip
    decided = any(entry.decision for entry in ranked)
    columns += [("decision", [entry.decision or "–" for entry in ranked])] * decided
    columns = [(name, cells) for name, cells in columns if set(cells) != {number(None)}]
    head, *rows = zip(*((name, *cells) for name, cells in columns), strict=True)
    return Table(
        "Ranking", head, rows, "↓: lower is better" if any(name.endswith(_LOWER) for name in head) else "",
        last_columns=int(decided), chart=chart, line_after=_tied(ranked),
        shares=[] if chart else _shares([_value(board, entry, shown[0]) for entry in ranked]),
    )  # fmt: skip


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
    """Return the headline, then the requested figures, or the figures of the track and the first few others."""
    if board._shown:
        return list(board._shown if board.headline in board._shown else (board.headline, *board._shown))
    there = {name for entry in board.submissions for name in entry.figures}
    own = [f.name for f in board._figures if f.by == "submission" and f.name != board.headline and f.name in there]
    known = {board.headline, *(figure.name for figure in board._figures)}
    return [board.headline, *own, *sorted(there - known)[:_MOST_OTHERS]]


def _item(entry: LeaderboardEntry) -> Outcome:
    """Show a submission that is not ranked: its first reasons and its first problem, without values of records."""
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
    """Return the warnings about submissions; what concerns several is one line."""
    concerned: dict[str, list[LeaderboardEntry]] = {}
    for entry in board.submissions:
        for warning in dict.fromkeys(entry.warnings):
            concerned.setdefault(warning, []).append(entry)
    return [f"{_names(entries)}: {warning}" for warning, entries in concerned.items()]


def _names(entries: Sequence[LeaderboardEntry]) -> str:
    left = len(entries) - _MOST_NAMES
    return ", ".join(map(_label, entries[:_MOST_NAMES])) + (f" and {left:,} more" if left > 0 else "")


def _contracts(board: Leaderboard) -> Iterator[tuple[str, tuple[str, ...], list[InputFile]]]:
    """Yield the contracts of the submissions: once if they agree, otherwise also by name where they differ."""
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
    """Return how metrics are combined into the headline."""
    ((name, how),) = combined.items()
    shares = ", ".join(f"{shorten(metric)} {weight:g}" for metric, weight in how.weights.items())
    kept = "" if how.renormalize_missing else "; missing metrics count as 0"
    own = "".join(f"; {shorten(n)} of {', '.join(map(shorten, m))}" for n, m in (how.categories or {}).items())
    return f"{shorten(name)}: {shares}{kept}{own}"
