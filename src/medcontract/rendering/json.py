"""Reports as JSON, each with a published schema (`medcontract/*`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from medcontract.catalogue import CATALOGUE, Entry
from medcontract.problems import FileReport, Problem, Report, is_plain

if TYPE_CHECKING:
    from medcontract.definitions.contract import Contract
    from medcontract.definitions.diff import FileChange
    from medcontract.evaluation.leaderboard import Entry as Ranked
    from medcontract.evaluation.leaderboard import Leaderboard
    from medcontract.evaluation.score import FileProblem, Score
    from medcontract.normalizers.text import Step
    from medcontract.scoring.engine import Explanation, Figure
    from medcontract.scoring.protocol import Protocol


_UNPRINTABLE = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""What JSON may hold as it is, but a terminal may obey: control characters, signs that turn the direction of text."""


def validation(report: Report, show_values: bool = False) -> str:
    """`medcontract/validation`."""
    return dumps({"ok": report.ok, "files": [_file(file, show_values) for file in report.files]})


def explanation(entries: Iterable[Entry]) -> str:
    """`medcontract/explanation`."""
    return dumps({"codes": [entry._asdict() for entry in entries]})


def listing(contracts: Iterable[Contract[Any]]) -> str:
    """`medcontract/listing`."""
    names = ("id", "version", "kind", "containers", "title", "source")
    return dumps({"contracts": [{name: getattr(contract, name) for name in names} for contract in contracts]})


def schema_diff(changes: Sequence[FileChange]) -> str:
    """`medcontract/schema-diff`."""
    listed = [{**change._asdict(), "path": printable(change.path)} for change in changes]
    return dumps({"breaking": any(change.breaks != "none" for change in changes), "changes": listed})


def score(score: Score, show_values: bool = False) -> str:
    """`medcontract/score`."""
    return dumps(envelope(score, show_values))


def envelope(score: Score, show_values: bool = False) -> dict[str, Any]:
    """A score, and all that defends it."""
    verdict = score.verdict
    return {
        "track": score.track,
        "protocol": score.protocol.describe(),
        "inputs": [struct_fields(file) for file in score.inputs],
        "processing": verdict.processing.describe() if verdict.processing else None,
        "valid": verdict.valid,
        "reasons": list(verdict.reasons),
        "warnings": [*warnings_of(score), *_cut(score)],
        "problems": [file_problem(problem, show_values) for problem in score.problems],
        "result": score.shown,
        **_explained(score, show_values),
        **versions(),
    }


def _explained(score: Score, show_values: bool) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if score.mending:
        names = ("field", "difference", "count")
        data["failure_modes"] = [dict(zip(names, row, strict=True)) for row in score.mending]
    if score.breakdown:
        data["breakdown"] = [_explained_item(item, show_values) for item in score.breakdown]
    return data


def _explained_item(item: Explanation, show_values: bool) -> dict[str, Any]:
    """What became of an item; what is printed in the document only where that was asked for."""
    data: dict[str, Any] = {
        "doc_type": item.doc_type,
        "doc_id": item.doc_id,
        "item": item.item,
        "state": item.state,
        "nearest": None if item.nearest is None else item.nearest[1],
        "fields": [{"field": field[0], "difference": field[1]} for field in item.fields],
    }
    if show_values:
        data["name"] = item.name
        data["paired_name"] = item.paired
        data["nearest_name"] = item.nearest[0] if item.nearest else None
        names = ("expected", "got", "expected_normalized", "got_normalized")
        for shown, field in zip(data["fields"], item.fields, strict=True):
            shown |= dict(zip(names, field[2:], strict=True))
    return data


def leaderboard(board: Leaderboard) -> str:
    """`medcontract/leaderboard`."""
    data = {
        "track": board.track,
        "protocol": board.protocol.describe(),
        "truth": [struct_fields(file) for file in board.truth],
        "headline": board.headline,
        **({"combined": board.combined} if board.combined else {}),
        "submissions": [_entry(entry, _shown_names(board)) for entry in board.entries],
        "warnings": list(board.warnings),
        **versions(),
    }
    return dumps(data)


def _shown_names(board: Leaderboard) -> dict[str, str]:
    """The figures of all entries: what may be more than the name of a metric has a number instead."""
    names = dict.fromkeys(name for entry in board.entries for name in entry.figures)
    strange = sorted(name for name in names if not is_plain(name) and name != board.headline)
    return {**dict(zip(names, names, strict=True)), **{name: f"…{n}" for n, name in enumerate(strange, 1)}}


def _entry(entry: Ranked, names: dict[str, str]) -> dict[str, Any]:
    verdict = entry.verdict
    return {
        "rank": entry.rank,
        "name": printable(entry.name),
        "team_name": entry.team,
        "valid": verdict.valid,
        "headline": entry.headline,
        **({"decision": verdict.decision} if verdict.decision else {}),
        "figures": {names[name]: value for name, value in entry.figures.items()},
        "processing": verdict.processing.describe() if verdict.processing else None,
        "reasons": list(verdict.reasons),
        "warnings": list(verdict.warnings),
        "inputs": [struct_fields(file) for file in entry.inputs],
    }


def normalization(worked: Iterable[tuple[str, Sequence[Step]]]) -> str:
    """What each step makes of each text."""
    data = [
        {
            "text": printable(text),
            "normalized": steps[-1].text,
            "steps": [{"step": step.name, "text": printable(step.text)} for step in steps],
        }
        for text, steps in worked
    ]
    return dumps(data)


def protocols(protocols: Iterable[Protocol]) -> str:
    """`medcontract/protocols`."""
    listed = [{"id": p.id, "version": p.version, "fingerprint": p.fingerprint} for p in protocols]
    return dumps({"protocols": listed})


def protocol(protocol: Protocol, figures: Iterable[Figure]) -> str:
    """`medcontract/protocol`."""
    data = {
        "id": protocol.id,
        "version": protocol.version,
        "fingerprint": protocol.fingerprint,
        "parameters": [
            {"name": p.name, "value": p.number, "about": p.about, "source": p.source} for p in protocol.parameters
        ],
        "figures": [{"name": figure.name, "about": figure.about} for figure in figures],
        "changes": [struct_fields(change) for change in protocol.changes],
    }
    return dumps(data)


def warnings_of(score: Score) -> list[str]:
    """All warnings. Participants are told how often rules between files were broken, not where."""
    return [*score.warnings, *(between(score) if score.participant else ())]


def _cut(score: Score) -> list[str]:
    listed = len(score.problems)
    return [f"{score.found:,} problems in all, of which {listed} are listed"] if score.found > listed else []


def between(score: Score) -> list[str]:
    """How often each rule between files was broken."""
    return [f"{code} {CATALOGUE[code].title}: {times:,}" for code, times in score.between]


def file_problem(problem: FileProblem, show_values: bool) -> dict[str, Any]:
    return {**_problem(problem.problem, show_values), "file": printable(problem.file)}


def struct_fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def versions() -> dict[str, Any]:
    """What it was made with: no clock, no host."""
    import platform
    from importlib.metadata import version
    from unicodedata import unidata_version

    return {
        "medcontract_version": version("medcontract"),
        "environment": {
            "python": platform.python_version(),
            "unicode": unidata_version,
            "unidecode": version("Unidecode"),
        },
    }


def dumps(data: Any) -> str:
    """Characters that a terminal obeys, or that nobody sees, are escaped."""
    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    plain = text.isascii() and "\x7f" not in text
    return text if plain else _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def printable(path: str) -> str:
    """A path as valid text: bytes that are no UTF-8 become a replacement character."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _file(file: FileReport, show_values: bool) -> dict[str, Any]:
    return {
        "path": printable(file.path),
        "contract": file.contract,
        "ok": file.ok,
        "records": file.records,
        "errors": file.errors,
        "warnings": file.warnings,
        "omitted": file.omitted,
        "problems": [_problem(problem, show_values) for problem in file.problems],
    }


def with_value(problem: Problem) -> str:
    """The message and the value that it is about."""
    if not problem.value:
        return problem.message
    got = "" if problem.code == "MC302" else "got "  # what is missing was not got
    return f"{problem.message} ({got}{problem.value})"


def _problem(problem: Problem, show_values: bool) -> dict[str, Any]:
    message, pointer, field = problem.message, problem.pointer, problem.field
    if show_values:
        message = with_value(problem)
    else:
        pointer = problem.plain_pointer
        field = field if field is None or is_plain(field) else "…"
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": message,
        "hint": problem.hint,
        "pointer": pointer,
        "record": problem.record,
        "line": problem.line,
        "column": problem.column,
        "field": field,
    }
