"""What the formats for people have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from medcontract.problems import plain_name, plural, shorten
from medcontract.rendering.view import clean
from medcontract.results.comparison import ComparedRow, Comparison, Delta
from medcontract.results.leaderboard import CombinedScore, Leaderboard, LeaderboardEntry
from medcontract.results.score import FieldDifference, InputFile, ItemBreakdown, Processing, ProtocolUsed, Score
from medcontract.results.tables import MOST_CASES, MOST_ROWS, Table, long_table, more_rows, number
from medcontract.results.validation import FileReport, SkippedFile, Validation

WHOLE_DOCUMENT = ("document failed", "no valid record")
"""States that all items of a document share."""
_MOST_REASONS = 3
_MOST_OTHERS = 4
"""The number of metrics in the table that are not defined by the track."""
_LONGEST_NAME, _LONGEST_CELL = 80, 1000


# --- validation


def files_table(files: Sequence[FileReport]) -> Table:
    """Files that are not valid first; images and how a contract was chosen only if that is known of a file."""
    shown = sorted(files, key=lambda file: file.ok)[:MOST_ROWS]
    with_images = any(file.images is not None for file in files)
    with_how = any(file._how for file in files)
    rows = [
        (
            file.path, _verdict(file), f"{file.errors:,}", f"{file.warnings:,}", _count(file.records),
            *([_count(file.images and file.images.checked)] if with_images else []), _contract(file),
            *([file._how or "–"] if with_how else []),
        )
        for file in shown
    ]  # fmt: skip
    numbers = ("errors", "warnings", "records", *(["images"] if with_images else []))
    head = ("file", "verdict", *numbers, "contract", *(["how"] if with_how else []))
    return Table("", head, rows, text_columns=2, last_columns=2 if with_how else 1, total=len(files))


def _verdict(file: FileReport) -> str:
    return "valid" if file.ok else "not checked" if file.wrong_call else "not valid"


def _contract(file: FileReport) -> str:
    return file.contract or ("JSON Schema" if file.ok or not file.wrong_call else "not known")


def _count(number_of: int | None) -> str:
    return "–" if number_of is None else f"{number_of:,}"


def skipped_table(files: Sequence[SkippedFile]) -> Table:
    """The files in folders that were not read."""
    rows = [(file.path, file.reason) for file in files]
    return long_table(Table("Skipped files", ("file", "reason"), rows, numeric=False))


def only_warnings_fail(report: Validation) -> bool:
    """Whether a file is not valid only because of its warnings (`--strict`)."""
    return any(not file.ok and not file.errors and file.warnings for file in report.files)


# --- scores


def with_direction(name: str, lower_is_better: bool) -> str:
    """The name of a headline, with the direction if it is not the usual one."""
    return f"{name} (lower is better)" if lower_is_better else name


def decision_reasons(score: Score) -> list[str]:
    """The gates that a decision failed, and those that could not be checked."""
    if not score.decision:
        return []
    words = {False: "failed", None: "not checked"}
    lacking = {word: [name for name, passed in score._gates if passed is state] for state, word in words.items()}
    return [f"{word} {', '.join(names)}" for word, names in lacking.items() if names]


def values_of(field: FieldDifference) -> str:
    """Both values, and their normalized forms if these differ."""
    expected, got = field.expected or "", field.got or ""
    want, have = field.expected_normalized or "", field.got_normalized or ""
    shown = f": expected {shorten(expected)!r}, got {shorten(got)!r}"
    return shown if (want, have) == (expected, got) else f"{shown} (compared: {shorten(want)!r}, {shorten(have)!r})"


def item_outcome(item: ItemBreakdown, show_values: bool) -> str:
    """How an item was scored, in a few words."""
    if item.state in WHOLE_DOCUMENT:
        return item.state
    if item.paired_name is not None:
        return plural(len(item.fields), "wrong field")
    if item.nearest is None:
        return "not matched"
    name = f" {shorten(item.nearest_name or '')!r}" if show_values else ""
    return f"not matched; closest prediction{name} has similarity {item.nearest:.0f}"


def processed(gate: Processing) -> str:
    """How many items were processed, with enough digits to see on which side of the minimum it is."""
    return f"processed {gate.processed:,} of {gate.expected:,}, {gate._share}; at least {gate._asked} required"


def clipped(cells: Sequence[Any]) -> list[str]:
    """Truncate long cells, except the last, so that a hostile name cannot pad every row of a table."""
    texts = [str(cell) for cell in cells]
    limits = [_LONGEST_NAME] * (len(texts) - 1) + [_LONGEST_CELL]
    return [text if len(text) <= most else f"{text[: most - 1]}…" for text, most in zip(texts, limits, strict=True)]


def breakdown_table(items: Sequence[ItemBreakdown], show_values: bool) -> Table:
    """One row for each wrong field, and for each item without a prediction."""
    rows = []
    for item in items:
        name = f" {shorten(item.name or '')}"
        place = (item.doc_id, item.doc_type, f"{item.item + 1}{name if show_values else ''}")
        rows += [
            (*place, field.field, f"{field.difference}{values_of(field) if show_values else ''}")
            for field in item.fields
        ]
        if item.paired_name is None:
            rows.append((*place, "", item_outcome(item, show_values)))
    right = sum(item.state == "right" for item in items)
    note = f"{right:,} of {len(items):,} items are correct."
    head = ("document", "type", "item", "field", "difference")
    return long_table(Table("Breakdown", head, rows, note, numeric=False))


def inputs_table(inputs: Sequence[InputFile]) -> Table:
    """Every file with its hash; the hash of the content and how a contract was chosen only if a file has it."""
    with_content = any(file.content_sha256 for file in inputs)
    with_how = any(file._how for file in inputs)
    rows = [
        (
            file.name, _count(file.records), file.contract, *([file._how or "–"] if with_how else []), file.sha256,
            *([file.content_sha256 or "–"] if with_content else []),
        )
        for file in inputs
    ]  # fmt: skip
    hashes = ("SHA-256", *(["SHA-256 of the content"] if with_content else []))
    head = ("file", "records", "contract", *(["how"] if with_how else []), *hashes)
    return Table("Inputs", head, rows, last_columns=len(head) - 2)


def parameters_table(protocol: ProtocolUsed) -> Table:
    values = [(name, parameter_value(value)) for name, value in protocol.parameters.items()]
    return Table("Protocol", ("parameter", "value"), values)


def versions(result: Score | Leaderboard | Comparison) -> str:
    """The versions that the result was computed with."""
    others = ", ".join(f"{name} {version}" for name, version in result.environment.to_dict().items())
    return f"medcontract {result.medcontract_version}, {others}"


def parameter_value(value: float | str | None) -> str:
    """A parameter as a decimal, with all digits."""
    if value is None or isinstance(value, str):
        return value or "null"
    return f"{Decimal(repr(value)).normalize():f}" if abs(value) < 10**15 else repr(float(value))


# --- rankings


def ranking_warnings(board: Leaderboard) -> list[str]:
    own = [f"{entry_label(entry)}: {clean(warning)}" for entry in board.submissions for warning in entry.warnings]
    return own + [clean(warning) for warning in board.warnings]


def ranked(board: Leaderboard) -> list[LeaderboardEntry]:
    return [entry for entry in board.submissions if entry.rank is not None]


def not_ranked(board: Leaderboard) -> list[LeaderboardEntry]:
    return [entry for entry in board.submissions if entry.rank is None]


def reasons_of(entry: LeaderboardEntry) -> list[str]:
    if entry.valid:
        return ["it does not have the figure that submissions are ranked by"]
    reasons = [clean(reason) for reason in entry.reasons]
    left = len(reasons) - _MOST_REASONS
    return reasons[:_MOST_REASONS] + ([f"… and {left} more reasons"] if left > 0 else [])


def first_problem(entry: LeaderboardEntry) -> list[str]:
    """The first problem of a submission that is not valid, if it has one: one line, without values of records."""
    if entry.problem is None:
        return []
    data = entry.problem.to_dict()
    hint = f" ({data['hint']})" if data["hint"] else ""
    return [clean(f"first problem: {data['file']}{entry.problem._place}: {data['code']} {data['message']}{hint}")]


def entry_label(entry: LeaderboardEntry) -> str:
    """The team and the name of a submission."""
    name = clean(entry.name)
    return f"{clean(entry.team_name)} ({name})" if entry.team_name and entry.team_name != entry.name else name


def row_label(entry: LeaderboardEntry) -> str:
    """The label of a submission in a ranking, with the codes that mark it."""
    return entry_label(entry) + "".join(f" [{code}]" for code in entry._flags)


def ranking(board: Leaderboard) -> Table:
    """Rank, team, the headline, then the other figures."""
    units = {figure.name: figure.unit for figure in board._figures}
    others = _other_figures(board)
    decided = any(entry.decision for entry in board.submissions)
    rows = [
        (
            f"{entry.rank}. {row_label(entry)}",
            *([entry.decision or "–"] if decided else []),
            number(entry.headline, units.get(board.headline, "")),
            *(number(entry.figures.get(name), units.get(name, "")) for name in others),
        )
        for entry in ranked(board)
    ]
    head = (board._entrant, *(["decision"] if decided else []), board.headline, *map(plain_name, others))
    return Table("Ranking", head, rows, text_columns=2 if decided else 1)


def _other_figures(board: Leaderboard) -> list[str]:
    """The other figures of the submissions, then the first few that the track does not define."""
    there = {name for entry in board.submissions for name in entry.figures}
    own = [f.name for f in board._figures if f.by == "submission" and f.name != board.headline and f.name in there]
    known = {board.headline, *(figure.name for figure in board._figures)}
    return own + sorted(there - known)[:_MOST_OTHERS]


def weights(combined: dict[str, CombinedScore]) -> str:
    """How metrics are combined into the headline."""
    ((name, how),) = combined.items()
    shares = ", ".join(f"{shorten(metric)} {weight:g}" for metric, weight in how.weights.items())
    kept = "" if how.renormalize_missing else "; missing metrics count as 0"
    own = "".join(f"; {shorten(n)} of {', '.join(map(shorten, m))}" for n, m in (how.categories or {}).items())
    return f"{shorten(name)}: {shares}{kept}{own}"


# --- comparisons


def _figure(value: float | None, sign: bool = False) -> str:
    if value is None:
        return "–"
    return f"{value:+.6g}" if sign else f"{value:.6g}"


def _cells(delta: Delta) -> tuple[str, ...]:
    return _figure(delta.before), _figure(delta.after), _figure(delta.delta, sign=True)


def comparison_tables(comparison: Comparison, most: int = MOST_CASES) -> Iterator[Table]:
    """What changed, starting with the figures of the submission; unchanged rows are counted."""
    changed = [delta for delta in comparison.figures[:1] if delta.changed]  # the headline
    changed += _largest_first(delta for delta in comparison.figures[1:] if delta.changed)
    same = len(comparison.figures) - len(changed)
    rows = [(delta.name, *_cells(delta)) for delta in changed]
    yield _changes("Figures", "figure", rows, _unchanged("figures", same))
    for kind in comparison._kinds:
        own = [row for row in comparison.rows if row.kind == kind.kind]
        yield from [gate_rows(kind.title, own)] if kind.judged else _compared_rows(kind.title, own, most)


def _compared_rows(title: str, rows: Sequence[ComparedRow], most: int) -> Iterator[Table]:
    moved = [row for row in rows if row.changed]
    for word, some in (
        ("improved", [row for row in moved if row._trend > 0]),
        ("worsened", [row for row in moved if row._trend < 0]),
        ("changed in other ways", [row for row in moved if not row._trend]),
    ):
        lines = [line for row in some[:most] for line in _lines(row)]
        yield _changes(f"{title.capitalize()} that {word}", title[:-1], lines, more_rows(len(some), most))
    yield Table("", ("",), [(note,)] if (note := _unchanged(title, len(rows) - len(moved))) else [])


def gate_rows(title: str, rows: Sequence[ComparedRow]) -> Table:
    return Table(
        title.capitalize(), (title[:-1], "before", "after", "change", "state before", "state after", "reason"),
        [
            (row.id, *_cells(row._main or Delta.of("")), row.before or "–", row.after or "–", row.reason or "")
            for row in rows
        ],
        numeric=False,
    )  # fmt: skip


def _changes(title: str, what: str, rows: list[tuple[str, ...]], note: str) -> Table:
    if not rows and note:
        return Table("", ("",), [(note,)])
    return Table(title, (what, "before", "after", "change"), rows, note)


def _largest_first(deltas: Iterable[Delta]) -> list[Delta]:
    """Sorted by the size of the change; those without a number last."""
    return sorted(deltas, key=lambda delta: -abs(delta.delta) if delta.delta is not None else 0.0)


def _unchanged(what: str, count: int) -> str:
    return f"unchanged {what}: {count:,}" if count else ""


def _lines(row: ComparedRow) -> Iterator[tuple[str, ...]]:
    """Each figure that changed: the one that rows are sorted by, then the largest change first; and the state."""
    main = [figure for figure in row.figures if figure == row._main]
    for figure in [*main, *_largest_first(figure for figure in row.figures if figure not in main)]:
        if figure.changed:
            yield (f"{row.id} {figure.name}", *_cells(figure))
    if row.before != row.after:
        yield f"{row.id} valid", row.before or "–", row.after or "–", ""
