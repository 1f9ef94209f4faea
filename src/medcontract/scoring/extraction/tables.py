"""The result of the track as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from medcontract.results.tables import MOST_ROWS, Distribution, Table, failure_modes_table, figures_table, number

if TYPE_CHECKING:
    from medcontract.results.score import Processing, Score

PROCESSING_GATE = "processing"
"""The name of the processing gate, which is not among the six of the result."""


def tables(score: Score) -> Iterator[Table]:
    result = score.result or {}
    yield figures_table(score)
    if "gates" in result:
        yield _gates(score, result["gates"])
    if "documents" in result:
        yield _documents(result["documents"])
    yield from failure_modes_table(score)


def _gates(score: Score, gates: Sequence[dict[str, Any]]) -> Table:
    """Return the processing gate, which also decides, then the six gates of the result."""
    words = {True: "yes", False: "NO", None: "–"}
    rows = [_processing_row(score.processing, words)] if score.processing else []
    for place, gate in enumerate(gates):
        measured = "–" if gate["measured"] is None else f"{gate['measured']:.6g}"
        bounds = score.interval_of("gates", place, "measured")
        measured += f" [{bounds[0]:.6g}, {bounds[1]:.6g}]" if bounds else ""
        rows.append((gate["gate"], f"{gate['goal']:g}", measured, words[gate["passed"]], gate["reason"]))
    return Table("Gates", ("gate", "goal", "measured", "passed", "reason"), rows, numeric=False)


def _processing_row(gate: Processing, words: Mapping[bool | None, str]) -> tuple[str, ...]:
    reason = f"{gate.processed:,} of {gate.expected:,} have one valid record, at least {gate._asked} required"
    return PROCESSING_GATE, gate._asked.removesuffix(" %"), gate._share.removesuffix(" %"), words[gate.passed], reason


_score = itemgetter("score")
_order = itemgetter("score", "doc_type", "doc_id")


def lowest(documents: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the documents with the lowest scores. Other keys are needed only up to the last of these scores."""
    last = max(nsmallest(most, map(_score, documents)), default=0)
    return nsmallest(most, [document for document in documents if document["score"] <= last], _order)


def _documents(documents: Sequence[dict[str, Any]]) -> Table:
    """Lowest scores first: these are what a team needs to look at."""
    head = ("document", "type", "score", "recall", "items", "fields")

    rows = [
        (
            document["doc_id"],
            document["doc_type"],
            number(document["score"]),
            number(document["recall"]),
            f"{document['matched']} of {document['labeled']}",
            f"{document['correct_fields']} of {document['total_fields']}",
        )
        for document in lowest(documents, MOST_ROWS)
    ]
    chart = Distribution("documents", "score", list(map(_score, documents)))
    return Table(
        "Documents, lowest score first", head, rows, text_columns=2, total=len(documents), chart=chart
    )  # fmt: skip
