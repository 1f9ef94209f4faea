"""The page of a score, and the parts of it that other pages have, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import asdict

from medcontract.problems import plain_name, plural, shorten
from medcontract.rendering.grouping import fix_first
from medcontract.rendering.page import (
    Bullets,
    Fact,
    FigureName,
    FileProblems,
    Gauge,
    Line,
    Link,
    Page,
    Pairs,
    Paragraph,
    Problems,
    Section,
    Styled,
    View,
)
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.rehearsal import Rehearsal
from medcontract.results.score import FieldDifference, InputFile, Intervals, ItemBreakdown, ProtocolUsed, Score
from medcontract.results.tables import MOST_ROWS, Table, long_table, number, parameter_text
from medcontract.results.verification import Verification

_OF_IDS = ("MC302", "MC303")
"""What follows if all ids are written in another way than in the truth."""
_WHOLE_DOCUMENT = ("document failed", "no valid record")
"""States that all items of a document share."""


def score(score: Score, view: View) -> Page:
    """Show the outcome and the headline, the tables, the problems, and what is needed to verify the score."""
    word = "Valid" if score.valid else "Not valid" if score.result is not None else "Refused"
    reasons = _decision_reasons(score)
    return Page(
        title=f"{score._display.title}: score" if score._display.title else f"Score: {score.track}",
        subtitle=score._display.occasion,
        verdict=score.decision if score.decision and score.valid else word,
        role="good" if score else "bad",
        lines=list(_outcome(score, word, "; ".join(reasons))),
        about=[
            *([f"{word}."] if score.decision and score.valid else []),
            *([f"{_entrant(shorten(score.team_name), score._display.entrant)}."] if score.team_name else []),
            *([f"Rank {score._display.rank}."] if score._display.rank else []),
            *([Link.to(score._display.board, "Leaderboard")] if score._display.board else []),
        ],
        facts=facts(score),
        advice="" if score.valid else _advice(score),
        reasons=[*reasons, *score.reasons],
        sections=sections(score, view),
        contracts=contracts_line(file.contract for file in score.inputs),
        version=versions(score),
    )


def _outcome(score: Score, word: str, why: str) -> Iterator[Line]:
    """Yield the decision, then whether the score counts, with reasons, and the processing gate."""
    if score.decision:
        yield [Styled(f"{score.decision}{f': {why}' if why else ''}", "good" if score else "error")]
    subject = f"  {score.track}{f', {shorten(score.team_name)}' if score.team_name else ''}"
    subject += f", rank {score._display.rank}" if score._display.rank else ""
    name, value = _headline(score)
    figure: Line = ["  ", Styled(f"{shorten(name)} {value}", "strong")] if score.valid and value != number(None) else []
    yield [Styled(word.upper(), "good" if score.valid else "error"), subject, *figure]
    yield from reason_lines(() if score.valid else score.reasons)
    gate = score.processing
    if gate is not None and gate.passed:  # otherwise it is a reason
        counts = f"processed {gate.processed:,} of {gate.expected:,}"
        yield ["  ", Styled(f"{counts}, {gate._share}; at least {gate._asked} required", "good")]


def _advice(score: Score) -> str:
    if score._display.misspelled:
        return f"Fix this first: {score._display.misspelled}"
    return fix_first([(problem.file, problem) for problem in score.problems], score._display.errors)


def reason_lines(reasons: Sequence[str]) -> Iterator[Line]:
    for reason in reasons:
        yield ["  ", Styled("reason:", "error"), f" {reason}"]


def _decision_reasons(score: Score) -> list[str]:
    """Return the gates that a decision failed, and the gates that could not be checked."""
    if not score.decision:
        return []
    gates, words = score._display.gates, {False: "failed", None: "not checked"}
    lacking = {word: [name for name in gates if gates[name] is state] for state, word in words.items()}
    return [f"{word} {', '.join(names)}" for word, names in lacking.items() if names]


def _entrant(name: str, kind: str) -> str:
    """Return the name, after the word for what it is unless it starts with it: Team Nordlicht."""
    return name if name.casefold().split()[:1] == [kind] else f"{kind.capitalize()} {name}"


def facts(score: Score) -> list[Fact]:
    """Return the headline, and the processing gate."""
    name, value = _headline(score, with_interval=False)
    interval = _headline(score)[1].removeprefix(f"{value.partition(' ')[0]} ")
    note = f"{_level(score.intervals)}: {interval}" if score.intervals and score.intervals._headline else ""
    found = [Fact(with_direction(name, score._display.lower_is_better), value, note)] if value != number(None) else []
    gate = score.processing
    if gate is not None:
        outcome = "passed" if gate.passed else "not passed"
        note = f"{gate._share}, at least {gate._asked} required: {outcome}"
        gauge = Gauge(gate.success_rate, gate.minimum, gate.passed)
        found.append(Fact("processed", f"{gate.processed:,} of {gate.expected:,}", note, gauge))
    return found


def _headline(score: Score, with_interval: bool = True) -> tuple[str, str]:
    """Return the name and value of the most important figure."""
    for name, value in score._display.headlines.items():
        if value is not None:
            interval = score.intervals._headline if score.intervals and with_interval else None
            return plain_name(name), number(value, score._display.units.get(name, ""), interval)
    return plain_name(score.headline[0]), number(None)


def with_direction(name: str, lower_is_better: bool) -> str:
    """Return the name of a headline, with the direction if it is not the usual one."""
    return f"{name} (lower is better)" if lower_is_better else FigureName(name)


def sections(score: Score, view: View, problems: bool = True) -> list[Section]:
    """Show what follows the outcome. `problems`: they are not on the page yet."""
    repeated = [_headline(score)] if score.valid else []  # it is in the outcome
    found = []
    note = "" if score.intervals is None else about_intervals(score.intervals)
    for table in score._tables:
        if note and table.rows and list(table.rows) != repeated:
            table, note = table._replace(note="; ".join(filter(None, [note, table.note]))), ""
        if list(table.rows) not in ([], repeated):
            found.append(Section(table.title or "Figures", [table], on="pages" if table.pages_only else "everything"))
        elif table.rows and table.title:  # pages keep a heading such as Overall
            found.append(Section(table.title, [table], on="pages"))
    found += [Section(table.title, [table]) for table in _subgroups(score)]
    if note:
        found.append(Section("Intervals", [Paragraph([note], note=True)]))
    if score.breakdown:
        found.append(Section("Breakdown", [_breakdown(score.breakdown, view.show_values)], most=MOST_ROWS))
    if score.problems and problems:
        shown = [p for p in score.problems if not (score._display.misspelled and p.code in _OF_IDS)]
        found_ = score._display.problems if len(shown) == len(score.problems) else len(shown)
        listed = FileProblems([(problem.file, problem) for problem in shown], found_)
        found.append(Section("Problems", [Problems([listed], () if score.participant else score._display.violations)]))
    found.append(warnings(score.warnings))
    if view.show_values and not score.participant:
        found.append(Section("Hints", [Bullets([[each] for each in score._display.hints], "hint")]))
    return [*found, *inputs("Inputs", score.inputs), *protocol(score.protocol)]


def _subgroups(score: Score) -> Iterator[Table]:
    """Yield a table for each field that cases are grouped by."""
    name, _ = _headline(score)
    unit = score._display.units.get(name, "")
    for field in dict.fromkeys(group.field for group in score.subgroups or ()):
        groups = [group for group in score.subgroups or () if group.field == field]
        hidden = any(group.cases is None for group in groups)
        rows = [
            (
                "missing" if group.value is None else shorten(group.value) if isinstance(group.value, str)
                else number(group.value),
                number(group.cases) if group.cases is not None else "hidden",
                number(group.headline, unit, group._headline),
                number(group.gap, unit) if group.gap is None or group.gap <= 0 else f"+{number(group.gap, unit)}",
            )
            for group in groups
        ]  # fmt: skip
        why = "Groups with few cases are hidden, and others from which they could be computed. " if hidden else ""
        note = f"{why}gap: the difference from all other cases."
        yield long_table(Table(f"By {plain_name(field)}", (plain_name(field), "cases", name, "gap"), rows, note))


def about_intervals(found: Intervals) -> str:
    """Say what the numbers in brackets are."""
    units = f"{plural(found.units, 'unit')} ({', '.join(found.unit)})"
    without = f"; {len(found.undefined):,} of {plural(len(found.figures), 'figure')} without" if found.undefined else ""
    return f"in brackets: {_level(found)}s, from {found.resamples:,} resamples of {units}{without}"


def _level(found: Intervals) -> str:
    return f"{found.level * 100:g} % interval"


def _breakdown(items: Sequence[ItemBreakdown], show_values: bool) -> Table:
    """Return a row for each wrong field, for each item without a prediction, and for each document without any."""
    lost = Counter((item.doc_id, item.doc_type, item.state) for item in items if item.state in _WHOLE_DOCUMENT)
    rows: list[tuple[str, ...]] = []
    rows += [(doc, kind, plural(count, "item"), "", state) for (doc, kind, state), count in lost.items()]
    for item in items:
        if item.state in _WHOLE_DOCUMENT:
            continue
        name = f" {shorten(item.name or '')}" if show_values else ""
        place = (item.doc_id, item.doc_type, f"{item.item + 1}{name}")
        rows += [
            (*place, field.field, f"{field.difference}{_values(field) if show_values else ''}") for field in item.fields
        ]
        if item.state == "not matched":
            nearest = f" {shorten(item.nearest_name or '')!r}" if show_values else ""
            closest = "" if item.nearest is None else f"; closest prediction{nearest} has similarity {item.nearest:.0f}"
            rows.append((*place, "", f"not matched{closest}"))
    right = sum(item.state == "right" for item in items)
    note = f"{right:,} of {len(items):,} items are correct."
    head = ("document", "type", "item", "field", "difference")
    return long_table(Table("Breakdown", head, rows, note, numeric=False))


def _values(field: FieldDifference) -> str:
    """Both values, and their normalized forms if these differ."""
    expected, got = field.expected or "", field.got or ""
    want, have = field.expected_normalized or "", field.got_normalized or ""
    shown = f": expected {shorten(expected)!r}, got {shorten(got)!r}"
    return shown if (want, have) == (expected, got) else f"{shown} (compared: {shorten(want)!r}, {shorten(have)!r})"


def warnings(texts: Iterable[str]) -> Section:
    """Show the warnings of a result; a section without any is not shown."""
    return Section("Warnings", [Bullets([[each] for each in texts], "warning")])


# --- what is needed to verify a result


def inputs(title: str, files: Sequence[InputFile]) -> Iterator[Section]:
    """Show the files that a result was computed from, with their hashes."""
    if files:
        yield Section(title, [Bullets([_input(file) for file in files])], folded=True)


def _input(file: InputFile) -> Line:
    how = f" ({file._how})" if file._how else ""
    content: Line = [", content ", Styled(file.content_sha256, "digest")] if file.content_sha256 else []
    records = [] if file.records is None else [f", {plural(file.records, 'record')}"]
    return [f"{file.name}: {file.contract}{how}, sha256 ", Styled(file.sha256, "digest"), *content, *records]


def protocol(used: ProtocolUsed) -> Iterator[Section]:
    version = f"{used.id} v{used.version}, fingerprint "
    yield Section("Protocol", [Paragraph([f"protocol {version}", Styled(used.fingerprint, "digest")])], folded=True)
    values = [(name, parameter_text(value)) for name, value in used.parameters.items()]
    yield Section("Parameters", [Pairs(("parameter", "value"), values)], on="pages", folded=True)


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def versions(result: Score | Leaderboard | Comparison | Rehearsal | Verification) -> str:
    """Show the versions that the result was computed with."""
    others = ", ".join(f"{name} {version}" for name, version in asdict(result.environment).items())
    return f"medcontract {result.medcontract_version}, {others}"


def contracts_line(contracts: Iterable[str]) -> str:
    """Show the contracts that a result is about."""
    return f"contracts: {contract_names(contracts)}"


def contract_names(contracts: Iterable[str]) -> str:
    return ", ".join(sorted(set(contracts))) or "no contract recognized"


def report(title: str, subject: str, headline: str, value: float | None, tables: Iterable[Table]) -> Page:
    """Show the page of a report that is not a score, such as one of another tool; the headline is not repeated."""
    name, text = plain_name(headline), number(value)
    shown = [table for table in tables if table.rows and list(table.rows) != [(name, text)]]
    return Page(
        title=title,
        verdict=subject,
        facts=[] if value is None else [Fact(name, text)],
        sections=[Section(table.title, [table]) for table in shown],
    )
