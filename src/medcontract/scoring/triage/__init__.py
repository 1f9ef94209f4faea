"""Track `triage`: life-saving interventions (LSI) over the segments of a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.problems import Finding, is_plain, plural
from medcontract.results.score import Score
from medcontract.results.tables import Distribution, Table, figures_table, long_table, number
from medcontract.scoring.pairing import Pair, Pairing, Vocabulary
from medcontract.scoring.plausibility import Watch, implausible
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Protocol
from medcontract.scoring.rational import exact_sum, mean, rounded
from medcontract.scoring.scorer import Answers, Documents, Finished, Remark, Scorer, Tally, processed_counts
from medcontract.scoring.track import (
    Auxiliary,
    Comparison,
    ExpectedIds,
    Figure,
    Imitation,
    Result,
    ResultFields,
    Roles,
    Rows,
    Track,
)
from medcontract.scoring.triage.cases import (
    ListedSegment,
    Mark,
    Segment,
    case_metrics,
    in_order,
    listed_segment,
    predicted_groups,
    segment_of,
)
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import triage as contract
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling

PROTOCOL = Protocol(
    id="triage",
    version=3,
    changes=(
        Change(1, "first version"),
        Change(
            2,
            "below the processing gate the metrics are computed all the same, because they list the errors; "
            "the score is not valid",
        ),
        Change(
            3,
            "the description is part of an instance: two interventions of one group at the same time are two; the "
            "organizer's inventory gives the order of the segments of a case, if it lists all of them",
        ),
    ),
    parameters=(MIN_PROCESSED,),
)

_FIGURES = (
    Figure(
        name="jaccard_index",
        about="groups predicted in a segment that lists them / groups predicted or listed in any segment; "
        "1 if there are none",
        perfect=1,
        leaving_out="a right one never helps",
        by="case",
    ),
    Figure(
        name="prediction_lead_time",
        about="sum over groups: at the group's earliest segment with a correct prediction, the earliest instance "
        "listed there − segment_stop_time_sec",
        low=None,
        high=None,
        by="case",
        unit="s",
    ),
    Figure(
        name="correct_predictions.lead_time",
        about="elapsed_from_start − segment_stop_time_sec of the earliest segment that lists the instance and "
        "predicts its group",
        low=None,
        high=None,
        by="case",
        unit="s",
    ),
    Figure(
        name="mean_jaccard_index",
        about="mean of jaccard_index over cases; submissions are ranked by it",
        perfect=1,
        leaving_out="a right one never helps",
    ),
)


_HEADER = ("team_name", "event", "evaluation_date")


def _mean_jaccard_index(result: Result) -> float | None:
    """Return the headline figure of a result, which contains only the figures of its cases."""
    cases = result.get("metrics")
    listed = cases if isinstance(cases, list) else []  # a score read from a file may contain anything
    values = [case.get("jaccard_index") for case in listed if isinstance(case, dict)]
    numbers = [value for value in values if isinstance(value, float | int)]
    if numbers:
        return rounded(exact_sum(map(float, numbers)) / len(numbers))
    mean_index = result.get("mean_jaccard_index")
    return mean_index if isinstance(mean_index, float) else None


_PREDICTIONS = attrgetter("model_predictions")
_GROUPS = Vocabulary(name="groups", expected=attrgetter("groups"), predicted=_PREDICTIONS, kept=frozenset)


class _Probe(NamedTuple):
    """What `preflight` needs of a response."""

    ends: bool
    sent: float
    received: float
    runtime: float


_DAY = 86_400
_ABOUT_A_THOUSAND = (200, 5_000)
"""Times the time between the first and the last message: a runtime within these bounds is in milliseconds."""


def _milliseconds(pairing: Pairing) -> Iterator[Remark]:
    """Times that are too long for seconds. (Times of messages are checked by a rule of the contract.)"""
    lengths = sorted(
        each.segment_stop_time_sec - each.segment_start_time_sec
        for each in pairing.expected.items
        if type(each) is Segment
    )
    if lengths and lengths[len(lengths) // 2] >= _DAY:
        yield Remark(
            contract="triage/ground-truth",
            message="most segments are longer than a day",
            hint="write times in seconds: if they are in milliseconds, divide them by 1000",
        )
    probes = [mark for marks in pairing.marks_by_run.values() for mark in marks.values() if type(mark) is _Probe]
    if not probes:
        return
    longest = max(probe.runtime for probe in probes)
    span = max(probe.received for probe in probes) - min(probe.sent for probe in probes)
    low, high = _ABOUT_A_THOUSAND
    if low * span < longest < high * span:
        yield Remark(
            contract="triage/response",
            message="'cumulative_runtime_sec' is about 1000 times as long as the time between the messages",
            hint="write it in seconds: if it is in milliseconds, divide it by 1000",
        )


_EARLIEST = 1_000_000_000
"""September 2001, as UNIX time."""


_CONFIDENT = 0.5


def _check(record: contract.SegmentResponse) -> Iterator[Finding]:
    """Times that are no UNIX times, and confidences that are none."""
    if record.message_sent_time < _EARLIEST:
        hint = "write UNIX time in seconds, such as time.time() in Python"
        yield implausible(("message_sent_time",), "is too small for seconds since 1970", hint)
    confidences = record.lsi_confidence_scores
    if confidences and any(not 0 <= value <= 1 for value in confidences.values()):
        yield implausible(("lsi_confidence_scores",), "has a value outside 0 to 1", "write confidences from 0 to 1")
    if confidences and not record.model_predictions and max(confidences.values()) >= _CONFIDENT:
        message = f"is empty, though a confidence is {_CONFIDENT} or more"
        yield implausible(("model_predictions",), message, "list the groups above the threshold")


_WATCH = Watch(track="triage", columns={"'model_predictions'": _PREDICTIONS}, check=_check)


class _Context(NamedTuple):
    """What figures need besides the segments."""

    fields: JsonObject
    """The header of the result."""
    inventory: Sequence[ListedSegment]


class TriageScorer(Scorer):
    pairs = (
        Pair(
            truth="triage/ground-truth", submission="triage/response", key=("segment_id",), item=segment_of,
            measure=predicted_groups, vocabularies=(_GROUPS,), watch=_WATCH,
        ),
    )  # fmt: skip
    result_below_gate = True

    def tally(self, answers: Answers) -> Tally:
        """Segments with their marks, since the figures of a case depend on all of them."""
        pairing = answers.pairing()
        segments = pairing.expected.items
        sources = (answers.headers["triage/response"], answers.headers["triage/ground-truth"])
        header = {name: next((h[name] for h in sources if h.get(name) is not None), None) for name in _HEADER}
        names = ", ".join(answers.names["triage/response"])
        return Tally(
            expected=len(segments),
            processed=processed_counts(pairing),
            data=Counter(zip(segments, pairing.runs()[""].listed(len(segments)), strict=True)),
            context=_Context({**header, "response_file_name": names}, answers.documents.get("triage/inventory") or ()),
        )

    def figures(self, tally: Tally) -> Finished:
        """Count a case as often as it has segments."""
        context: _Context = tally.context
        places = {row: place for place, row in reversed(list(enumerate(context.inventory)))}
        cases: dict[tuple[str, int], list[tuple[Segment, Mark]]] = {}
        for (segment, mark), times in tally.data.items():
            cases.setdefault((segment.case_id, times), []).append((segment, mark))
        found = [
            case
            for (case_id, times), marked in sorted(cases.items())
            for case in [case_metrics(case_id, in_order(marked, places))] * times
        ]
        return Finished(
            result={**context.fields, "metrics": [metrics for _, metrics in found]},
            headline=mean(jaccard for jaccard, _ in found),
        )

    def constant(self, items: Sequence[Segment]) -> frozenset[str] | None:
        groups = Counter(group for segment in items for group in segment.groups)
        return frozenset(group for group, _ in groups.most_common(1))

    def resampled(self, answers: Answers, samples: Samples, result: Result) -> Resampling:
        """Compute the mean Jaccard index in every replicate: a case counts with its first segment."""
        import numpy as np

        from medcontract.uncertainty.figures import Resampled, Resampling, quotient

        indexes = {case["case_id"]: case["jaccard_index"] for case in result["metrics"]}
        firsts = {each.case_id: place for place, each in reversed(list(enumerate(answers.pairing().expected.items)))}
        cases, values = np.zeros(samples.whole.cases, bool), np.zeros(samples.whole.cases)
        for case_id, place in firsts.items():
            cases[place], values[place] = True, indexes[case_id]
        (drawn,) = samples.whole.count((np.where(cases, 0, -1), 1))
        mean_index = Resampled(values=quotient(samples.whole.total(values), drawn[:, 0]), cases=cases)
        return Resampling(figures={}, headline=mean_index)

    def probe(self, record: contract.SegmentResponse) -> _Probe:
        return _Probe(
            record.end_of_case, record.message_sent_time, record.message_received_time, record.cumulative_runtime_sec
        )

    def remarks(self, pairings: Mapping[str, Pairing], documents: Documents) -> Iterator[Remark]:
        """Cases of the inventory that are answered completely, but end nowhere or in every record; units of time."""
        (pairing,) = pairings.values()
        yield from _milliseconds(pairing)
        cases: dict[str, list[Any]] = {}
        for segment in documents.get("triage/inventory") or ():
            cases.setdefault(segment.case_id, []).append(pairing.mark_of(segment.segment_id))
        answered = [marks for marks in cases.values() if all(type(mark) is _Probe for mark in marks)]
        endless = sum(not any(mark.ends for mark in marks) for marks in answered)
        if endless:
            yield Remark(
                contract="triage/response",
                message=f"{endless:,} of {plural(len(answered), 'case')} of the inventory "
                f"{'have' if endless > 1 else 'has'} no record with 'end_of_case' true",
                hint="set it for the last segment of each case: records that differ from the truth do not count",
            )
        ended = [marks for marks in answered if len(marks) > 1 and all(mark.ends for mark in marks)]
        if ended:
            yield Remark(
                contract="triage/response",
                message=f"'end_of_case' is true in every record of {plural(len(ended), 'case')}",
                hint="set it only for the last segment of each case: records that differ from the truth do not count",
            )


def _tables(score: Score) -> Iterator[Table]:
    yield figures_table(score)
    if score.result and "metrics" in score.result:
        yield _cases_table(score.result["metrics"])
        yield from _group_tables(score.result["metrics"])


def _for_participants(result: JsonObject, headline: float | None) -> JsonObject:
    header = {name: result[name] for name in (*_HEADER, "response_file_name")}
    return {**header, "mean_jaccard_index": headline}


def _right_answers(records: Sequence[JsonObject]) -> list[JsonObject]:
    return [{"model_predictions": sorted({lsi["lsi_group"] for lsi in r["gt_lsi_list"]})} for r in records]


def _sent(record: JsonObject) -> JsonObject:
    """Return what a server adds to an answer."""
    return {
        "case_id": record["case_id"], "message_sent_time": 0, "message_received_time": 1, "cumulative_runtime_sec": 1,
        "run_id": "00000000-0000-4000-8000-000000000000", "end_of_case": record["end_of_case"],
    }  # fmt: skip


TRACK = Track(
    id="triage",
    roles=Roles(
        truths=("triage/ground-truth",),
        submissions=("triage/response",),
        result="triage/metrics",
        auxiliary=(
            Auxiliary(contract="triage/inventory", about="competition", only_organizers=True, keep=listed_segment),
        ),
        expected_ids=(ExpectedIds(contract="triage/inventory", truth="triage/ground-truth", item=listed_segment),),
    ),
    protocol=PROTOCOL,
    figures=_FIGURES,
    headline="mean_jaccard_index",
    imitations=(
        Imitation(
            truth="triage/ground-truth",
            submission="triage/response",
            answers=_right_answers,
            fixed=_sent,
            failed={"model_predictions": [], "error": "no answer"},
            header={"team_name": "rehearsal", "evaluation_date": "2000-01-01"},
        ),
    ),
    scorer=TriageScorer,
    unit=("case_id",),
    result_fields=ResultFields(needed=_HEADER),
    comparison=Comparison(
        rows=(Rows(name="metrics", title="cases", id="case_id", decides="jaccard_index"),), headline=_mean_jaccard_index
    ),
    tables=_tables,
    for_participants=_for_participants,
)


def _group_tables(cases: Sequence[JsonObject]) -> Iterator[Table]:
    """Figures by intervention, and the distribution of lead times. A name that may be data is a number."""
    times: dict[str, list[float]] = {}
    for case in cases:
        for hit in case["correct_predictions"]:
            times.setdefault(hit["lsi_group"], []).append(hit["lead_time"])
    wrong, missed = (
        Counter(group for case in cases for group in case["incorrect_predictions"][name])
        for name in ("false_positives", "misses")
    )
    groups = sorted({*times, *wrong, *missed})
    hidden = {group: f"intervention {n}" for n, group in enumerate(groups, 1) if not is_plain(group)}
    rows = [
        (
            hidden.get(group, group),
            number(len(times.get(group, ()))),
            number(sum(times[group]) / len(times[group]) if group in times else None, "s"),
            number(min(times[group]) if group in times else None, "s"),
            number(missed[group]),
            number(wrong[group]),
        )
        for group in groups
    ]
    head = ("intervention", "found", "mean lead time", "shortest", "cases that miss it", "false positives")
    yield Table("Interventions", head, rows, pages_only=True)
    every = [each for listed in times.values() for each in listed]
    if every and min(every) < max(every):
        low, high = min(0.0, *every), max(every)
        chart = Distribution("interventions", "lead time in seconds", every, low, high)
        row = (number(low, "s"), number(high, "s"), number(len(every)))
        yield Table("Lead times", ("lowest", "highest", "interventions"), [row], chart=chart, text_columns=0,
                    pages_only=True)  # fmt: skip


def _cases_table(cases: Sequence[JsonObject]) -> Table:
    head = ("case", "jaccard", "lead time", "correct", "false positives", "misses", "errors")
    rows = [
        (
            case["case_id"],
            number(case["jaccard_index"]),
            number(case["prediction_lead_time"] if case["correct_predictions"] else None, "s"),
            number(len(case["correct_predictions"])),
            number(len(case["incorrect_predictions"]["false_positives"])),
            number(len(case["incorrect_predictions"]["misses"])),
            number(len(case["errors"])),
        )
        for case in sorted(cases, key=lambda case: (case["jaccard_index"], case["case_id"]))
    ]
    chart = Distribution("cases", "Jaccard index", [case["jaccard_index"] for case in cases])
    return long_table(Table("Cases, lowest Jaccard index first", head, rows, chart=chart))
