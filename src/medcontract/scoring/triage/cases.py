"""The metrics of one case: which interventions were predicted in which segment, and how early."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from medcontract.scoring.marks import Unscored
from medcontract.scoring.rational import ONE, difference, exact_sum, rounded
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import triage as contract

_TEXTS = {
    "missing": "no response for this segment",
    "repeated": "more than one response for this segment",
    "invalid": "the response violates its contract",
}


class Segment(NamedTuple):
    """The truth about a segment."""

    segment_id: str
    case_id: str
    end_of_case: bool
    segment_start_time_sec: float
    segment_stop_time_sec: float
    instances: frozenset[Instance]

    @property
    def groups(self) -> frozenset[str]:
        return frozenset(instance.group for instance in self.instances)


class Instance(NamedTuple):
    """An intervention, in the order in which they are listed."""

    elapsed: float
    """Seconds from the start of the case."""
    group: str
    description: str


Mark = frozenset[str] | Unscored | None
"""The groups that are predicted in a segment; None without a response."""


def segment_of(record: contract.Segment) -> Segment:
    listed = frozenset(
        Instance(lsi.elapsed_from_start, lsi.lsi_group, lsi.lsi_description) for lsi in record.gt_lsi_list
    )
    times = record.segment_start_time_sec, record.segment_stop_time_sec
    return Segment(record.segment_id, record.case_id, record.end_of_case, *times, listed)


def predicted_groups(truth: Segment, record: contract.SegmentResponse) -> frozenset[str]:
    return frozenset(record.model_predictions)


class ListedSegment(NamedTuple):
    """A segment of the inventory."""

    case_id: str
    segment_id: str


def listed_segment(record: contract.InventoryRow) -> ListedSegment:
    return ListedSegment(record.case_id, record.segment_id)


def in_order(marked: Sequence[tuple[Segment, Mark]], places: Mapping[ListedSegment, int]) -> list[tuple[Segment, Mark]]:
    """Return the segments of a case as in the inventory, if it lists all of them, otherwise by their times."""
    by_time = attrgetter("segment_stop_time_sec", "segment_start_time_sec", "segment_id")
    rows = {segment: ListedSegment(segment.case_id, segment.segment_id) for segment, _ in marked}
    if all(row in places for row in rows.values()):
        return sorted(marked, key=lambda each: places[rows[each[0]]])
    return sorted(marked, key=lambda each: by_time(each[0]))


def case_metrics(case_id: str, ordered: Sequence[tuple[Segment, Mark]]) -> tuple[Fraction, JsonObject]:
    """Return the exact Jaccard index of a case, and its metrics, from its segments in order and their marks."""
    answered = [(segment, _predicted_groups(mark)) for segment, mark in ordered]
    predicted = {group for _, groups in answered for group in groups}
    listed = {instance.group for segment, _ in ordered for instance in segment.instances}
    hits = [(segment, right) for segment, groups in answered if (right := segment.groups & groups)]
    correct = {group for _, groups in hits for group in groups}
    jaccard = Fraction(len(correct), len(listed | predicted)) if listed or predicted else ONE
    lead_times = _lead_times(hits)
    return jaccard, {
        "case_id": case_id,
        "jaccard_index": rounded(jaccard),
        "prediction_lead_time": rounded(exact_sum(lead_times[instance] for instance in _first_instances(hits))),
        "correct_predictions": [
            {"lsi_group": instance.group, "lead_time": rounded(lead)} for instance, lead in sorted(lead_times.items())
        ],
        "incorrect_predictions": {"false_positives": sorted(predicted - listed), "misses": sorted(listed - predicted)},
        "errors": [
            {"segment_id": segment.segment_id, "error": error} for segment, mark in ordered if (error := _error(mark))
        ],
    }


def _predicted_groups(mark: Mark) -> frozenset[str]:
    return mark if isinstance(mark, frozenset) else frozenset()


def _error(mark: Mark) -> str | None:
    """Return why the segment was not processed, if it was not."""
    if isinstance(mark, Unscored):
        return mark.error if mark.why == "failed" else _TEXTS[mark.why]
    return _TEXTS["missing"] if mark is None else None


def _lead_times(hits: Sequence[tuple[Segment, frozenset[str]]]) -> dict[Instance, Fraction]:
    """Every instance that some segment lists and predicts, with the lead time of the earliest such segment."""
    lead_times: dict[Instance, Fraction] = {}
    for segment, groups in hits:
        for instance in segment.instances:
            if instance.group in groups and instance not in lead_times:
                lead_times[instance] = difference(instance.elapsed, segment.segment_stop_time_sec)
    return lead_times


def _first_instances(hits: Sequence[tuple[Segment, frozenset[str]]]) -> Iterator[Instance]:
    """For each group, at its earliest segment with a correct prediction: the earliest instance listed there."""
    seen: set[str] = set()
    for segment, groups in hits:
        for new in groups - seen:
            yield min(instance for instance in segment.instances if instance.group == new)
        seen |= groups
