"""Collectors of chunks, merged, know what one collector knows."""

from __future__ import annotations

from medcontract.problems import Finding, Ref
from medcontract.validation.report import ProblemCollector


def test_two_similar_findings_of_one_record() -> None:
    """Also if the second one is added after the chunks were merged, as for repeated ids."""
    finding = Finding("MC201", "'segment_id' is repeated")
    one, merged, chunk = ProblemCollector(9, 3), ProblemCollector(9, 3), ProblemCollector(9, 3)
    one.add(finding, Ref(0, 1, 12))
    chunk.add(finding, Ref(0, 1, 2))

    def move(found: Finding) -> Finding:
        return found._replace(ref=found.ref and found.ref._replace(record=10 + (found.ref.record or 0)))

    merged.absorb(chunk, move)
    for collector in (one, merged):
        collector.add(finding, Ref(5, 1, 12))
    assert merged.several == one.several != set()
