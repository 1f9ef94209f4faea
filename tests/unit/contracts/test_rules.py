"""Each kind of rule, with numbers worked out by hand."""

from __future__ import annotations

import functools
import itertools
import json
import math
import operator
import pickle
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import assert_sound, lesion, problem_line, property_settings

import medcontract
from medcontract import api
from medcontract.contracts import registry
from medcontract.contracts.rules import CalendarDate, Distinct, EmptyWhenFailed, Limit, Order, Requires, Sum, Unique
from medcontract.reading.source import Source
from medcontract.validation.dispatch import validate_source
from medcontract.validation.report import ProblemCollector

# --- one object ----------------------------------------------------------------------------------

_SUM = Sum(field="p", minimum=0.999, maximum=1.001, code="MC202", message="the sum is off")
_BORDERS = {
    "exactly the lower bound, though a plain sum falls short of it": (
        [0.18, 0.006, 0.005, 0.108, 0.188, 0.076, 0.043, 0.084, 0.006, 0.303], 0.999, True,
    ),
    "exactly the upper bound, though a plain sum goes beyond it": (
        [0.006, 0.167, 0.087, 0.152, 0.0, 0.089, 0.144, 0.046, 0.189, 0.121], 1.001, True,
    ),
    "below the lower bound, though a plain sum reaches it": (
        [0.173, 0.176, 0.144, 0.013, 0.124, 0.173, 0.052, 0.03, 0.012, 0.102], 0.999, False,
    ),
    "beyond the upper bound, though a plain sum stays within it": (
        [0.151, 0.05, 0.022, 0.125, 0.069, 0.014, 0.032, 0.105, 0.034, 0.399], 1.001, False,
    ),
}  # fmt: skip


def _lesion_lines(*lists: list[float]) -> bytes:
    return b"\n".join(
        json.dumps({"image_id": f"I-{n}", "probabilities": numbers}).encode() for n, numbers in enumerate(lists)
    )


_FAILED = EmptyWhenFailed(field="items", flag="ok", text="error", code="MC214", message="not empty")
_REVIEWED = Requires(field="status", value="reviewed", requires="reviewer", code="MC215", message="without a reviewer")
_ANY = Requires(field="status", requires="reviewer", code="MC215", message="without a reviewer")
_OBJECTS = st.builds(
    SimpleNamespace, items=st.sampled_from([[], ["x"]]), ok=st.booleans(),
    error=st.sampled_from([None, "", " ", "boom"]), status=st.sampled_from([None, "", "todo", "reviewed"]),
    reviewer=st.sampled_from([None, " ", "me"]),
)  # fmt: skip


@property_settings(200)
@given(st.sampled_from([_FAILED, _REVIEWED, _ANY]), st.lists(_OBJECTS, max_size=3))
def test_many_objects_pass_if_each_does(rule: EmptyWhenFailed | Requires, values: list[Any]) -> None:
    """The check of many objects is only faster."""
    assert rule.all_pass(values) == (not any(rule.check(value) for value in values))


@pytest.mark.parametrize(("numbers", "bound", "kept"), _BORDERS.values(), ids=_BORDERS.keys())
def test_sum_is_rounded_once(numbers: list[float], bound: float, kept: bool) -> None:
    """What counts is the correctly rounded sum, where the sum of one number after the other lies on the other side."""
    naive, exact = functools.reduce(operator.add, numbers), math.fsum(numbers)
    assert (naive == bound) != (exact == bound)
    assert bool(_SUM.check(SimpleNamespace(p=numbers))) != kept
    report = medcontract.validate(_lesion_lines(numbers), name="x.jsonl")
    assert [p.code for p in report.problems] == ([] if kept else ["MC202"])


@pytest.mark.parametrize(
    ("total", "kept"),
    [
        (0.999, True), (math.nextafter(0.999, 0), False), (1.001, True), (math.nextafter(1.001, 2), False),
        (1.0, True), (0.0, False), (0.9990005, True), (1.0009995, True), (0.9, False), (1.1, False),
    ],
)  # fmt: skip
def test_sum_bounds_are_inclusive_doubles(total: float, kept: bool) -> None:
    """The bounds are the doubles nearest to 0.999 and 1.001, and belong to what is allowed."""
    assert bool(_SUM.check(SimpleNamespace(p=[total, 0.0]))) != kept


@property_settings(200)
@given(st.lists(st.floats(0, 1), min_size=10, max_size=10), st.sampled_from([0.999, 1.001, 1.0]))
def test_sum_agrees_with_exact_arithmetic(numbers: list[float], target: float) -> None:
    """A record, alone or among others, keeps the rule exactly when its correctly rounded sum lies within the bounds."""
    scaled = [number / max(sum(numbers), 1e-300) * target for number in numbers]
    numbers = scaled if all(0 <= number <= 1 for number in scaled) else numbers
    kept = 0.999 <= math.fsum(numbers) <= 1.001
    good = [1.0] + [0.0] * 9
    report = medcontract.validate(_lesion_lines(good, numbers, good), name="x.jsonl")
    assert [(p.code, p.record) for p in report.problems] == ([] if kept else [("MC202", 1)])


def test_sum_of_nothing() -> None:
    """A failed record has no numbers, and keeps the rule."""
    assert not _SUM.check(SimpleNamespace(p=None))


@pytest.mark.parametrize(
    ("start", "stop", "kept"), [(1, 1, True), (1, 2, True), (2, 1, False), (0.1 + 0.2, 0.3, False)]
)
def test_order(start: float, stop: float, kept: bool) -> None:
    """The second value may equal the first, but not be smaller; the place is at the second."""
    rule = Order(fields=("start", "stop"), code="MC203", message="stops before it starts")
    findings = rule.check(SimpleNamespace(start=start, stop=stop))
    assert [finding.path for finding in findings] == ([] if kept else [("stop",)])


@pytest.mark.parametrize(
    ("date", "kept"),
    [
        ("1900-02-29", False), ("2000-02-29", True), ("2024-02-29", True), ("2023-02-29", False), ("2100-02-29", False),
        ("2024-02-30", False), ("2023-04-31", False), ("2023-12-31", True), ("0000-01-01", False), ("0001-01-01", True),
        ("9999-12-31T23:59:59Z", True), ("2023-06-31 10:00:00", False), (None, True),
    ],
)  # fmt: skip
def test_exists(date: str | None, kept: bool) -> None:
    """A day exists in the Gregorian calendar, years 1 to 9999."""
    rule = CalendarDate(field="date", code="MC204", message="this day does not exist")
    assert bool(rule.check(SimpleNamespace(date=date))) != kept


@pytest.mark.parametrize(
    ("size", "codes"), [(49.999, []), (50, ["MC501"]), (149.999, ["MC501"]), (150, ["MC212"]), (1e300, ["MC212"])]
)
def test_limit(size: float, codes: list[str]) -> None:
    """A limit holds from its minimum on, and below the next: a large model has one warning."""
    found = [
        finding.code
        for rule in registry.contract("lesions/model").rules
        if isinstance(rule, Limit)
        for finding in rule.check(SimpleNamespace(model_size_mb=size))
    ]
    assert found == codes


@pytest.mark.parametrize(("groups", "repeated"), [
    ([], []),
    (["a"], []),
    (["a", "b"], []),
    (["a", "a"], [1]),
    (["a", "b", "a", "b", "a"], [2, 3, 4]),
    (["a", "A"], []),
])  # fmt: skip
def test_distinct(groups: list[str], repeated: list[int]) -> None:
    """Each item that stood before is told, at its own place; upper and lower case differ."""
    rule = Distinct(field="groups", code="MC211", message="listed twice")
    assert [finding.path for finding in rule.check(SimpleNamespace(groups=groups))] == [("groups", n) for n in repeated]


@pytest.mark.parametrize(
    ("raw", "error", "kept"),
    [
        (None, None, True), ([], None, True), (["x"], None, False), (["x"], "", False), (["x"], " \t\xa0", False),
        (["x"], "timeout", True), (["x"], "\u2003", True), ([""], None, False), (None, "timeout", True),
    ],
)  # fmt: skip
def test_requires(raw: list[str] | None, error: str | None, kept: bool) -> None:
    """A blank error is none: blank means nothing but U+0009 to U+000D, U+0020 and U+00A0."""
    rule = Requires(field="raw", requires="error", code="MC210", message="without error")
    assert bool(rule.check(SimpleNamespace(raw=raw, error=error))) != kept


# --- all records ---------------------------------------------------------------------------------


def _response(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "message_sent_time": number, "message_received_time": number + 0.5, "case_id": "C-1",
        "segment_id": f"S-{number}", "model_predictions": [], "cumulative_runtime_sec": number,
        "run_id": "3f2b8c1e-7a4d-4e0b-9c55-0d1e2f3a4b5c", "end_of_case": False,
    } | changes  # fmt: skip


def _segment(number: int, start: float, stop: float, flags: str = "", **changes: Any) -> dict[str, Any]:
    """A segment of the truth; in `flags`, s, a and e mean start, admission and end."""
    return {
        "case_id": "C-1", "segment_id": f"S-{number}", "segment_start_time_sec": start, "segment_stop_time_sec": stop,
        "start_of_case": "s" in flags, "at_admission": "a" in flags, "end_of_case": "e" in flags, "gt_lsi_list": [],
        "ehr_file_name": "e.csv", "vs_file_name": "v.csv", "gt_file_name": "g.json",
    } | changes  # fmt: skip


def _problems(contract: str, records: list[dict[str, Any]]) -> list[tuple[str, int | None, str]]:
    """Code, record and pointer in the record; the same from lines and from a `.json`."""
    content = "\n".join(map(json.dumps, records)).encode()
    report = medcontract.validate(content, contract, name="x.jsonl")
    assert_sound(report)
    found = [(p.code, p.record, p.pointer) for p in report.problems]
    header = {"event": "E", "team_name": "T", "evaluation_date": "2026-05-31"}
    list_key = registry.contract(contract).list_key
    if list_key == "ground_truth":
        header = {"event": "E"}
    whole = medcontract.validate(json.dumps({**header, list_key: records}).encode(), contract, name="x.json")
    assert [(p.code, p.record, p.pointer) for p in whole.problems] == [
        (code, record, f"/{list_key}/{record}{pointer}") for code, record, pointer in found
    ]
    return found


_FLAGS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, int, str]]]] = {
    "one start and one end, at the edges": ([_segment(1, 0, 5, "s"), _segment(2, 5, 9, "a"), _segment(3, 9, 12, "e")],
        []),
    "one segment is both": ([_segment(1, 0, 5, "se")], []),
    "the file need not be in order": ([_segment(3, 9, 12, "e"), _segment(1, 0, 5, "s"), _segment(2, 5, 9)], []),
    "no start: at the first record of the case": ([_segment(2, 5, 9, "e"), _segment(1, 0, 5)], [("MC205", 0, "")]),
    "no end: at the first record of the case": ([_segment(1, 0, 5, "s"), _segment(2, 5, 9)], [("MC206", 0, "")]),
    "a second start: at its flag": ([_segment(1, 0, 5, "s"), _segment(2, 5, 9, "se")],
        [("MC205", 1, "/start_of_case")]),
    "a second start that comes first in the file: the surplus one is that which is not the earliest": (
        [_segment(2, 5, 9, "se"), _segment(1, 0, 5, "s")], [("MC205", 0, "/start_of_case")]
    ),
    "a second end that comes first in the file: the surplus one is that which is not the latest": (
        [_segment(1, 0, 5, "se"), _segment(2, 5, 9, "e")], [("MC206", 0, "/end_of_case")]
    ),
    "a start that is not on the earliest: at its flag": ([_segment(1, 0, 5), _segment(2, 5, 9, "se")],
        [("MC205", 1, "/start_of_case")]),
    "the earliest by start, then stop": ([_segment(1, 0, 5, "s"), _segment(2, 0, 3), _segment(3, 0, 9, "e")],
        [("MC205", 0, "/start_of_case")]),
    "the latest by start, then stop: not simply the last to stop": ([_segment(1, 0, 50, "s"), _segment(2, 5, 9, "e")],
        []),
    "equal times: either may be the first and the last": ([_segment(1, 0, 5, "e"), _segment(2, 0, 5, "s")], []),
    "no admission is allowed, and one anywhere": (
        [_segment(1, 0, 5, "sa"), _segment(2, 5, 9, "e"), _segment(3, 0, 1, "se", case_id="C-2")], []
    ),
    "a second and a third admission: at their flags": (
        [_segment(1, 0, 5, "sa"), _segment(2, 5, 9, "a"), _segment(3, 9, 10, "ae")],
        [("MC207", 1, "/at_admission"), ("MC207", 2, "/at_admission")],
    ),
    "each case by itself, in any mixture": (
        [_segment(1, 0, 5, "s"), _segment(2, 0, 5, case_id="C-2"), _segment(3, 5, 9, "e"),
         _segment(4, 5, 9, "e", case_id="C-2")],
        [("MC205", 1, "")],
    ),
    "cases differ by upper and lower case": ([_segment(1, 0, 5, "se"), _segment(2, 5, 9, case_id="c-1")],
        [("MC205", 1, ""), ("MC206", 1, "")]),
}  # fmt: skip


@pytest.mark.parametrize(("records", "expected"), _FLAGS.values(), ids=_FLAGS.keys())
def test_flag(records: list[dict[str, Any]], expected: list[tuple[str, int, str]]) -> None:
    """A case has exactly one start, its earliest segment, exactly one end, its latest, and at most one admission."""
    assert _problems("triage/ground-truth", records) == expected


def test_a_bad_record_is_not_missed() -> None:
    """A case whose start stands in a record of wrong shape is not told to have no start: one mistake, one problem."""
    records = [_segment(1, 0, 5, "s", ehr_file_name=7), _segment(2, 5, 9, "e")]
    assert _problems("triage/ground-truth", records) == [("MC103", 0, "/ehr_file_name")]


_RUNTIME = "/cumulative_runtime_sec"
_RISING: dict[str, tuple[list[dict[str, Any]], list[int]]] = {
    "equal values do not fall": ([_response(1), _response(2, cumulative_runtime_sec=1)], []),
    "a fall is told where it is": ([_response(1), _response(2, cumulative_runtime_sec=0.5)], [1]),
    "compared with the one before, not with the highest": (
        [_response(1, cumulative_runtime_sec=9), _response(2, cumulative_runtime_sec=3), _response(3)], [1]
    ),
    "in sending order, not in file order": ([_response(3), _response(1), _response(2)], []),
    "a fall out of file order": (
        [_response(3, cumulative_runtime_sec=1), _response(1, cumulative_runtime_sec=2), _response(2)], [0]
    ),
    "two falls come in file order": (
        [_response(4, cumulative_runtime_sec=1), _response(1, cumulative_runtime_sec=9),
         _response(2, cumulative_runtime_sec=5), _response(3, cumulative_runtime_sec=6)],
        [0, 2],
    ),
    "ties keep the order of the file": (
        [_response(1, message_sent_time=7, message_received_time=8),
         _response(2, message_sent_time=7, message_received_time=8, cumulative_runtime_sec=0)],
        [1],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("records", "fallen"), _RISING.values(), ids=_RISING.keys())
def test_rising(records: list[dict[str, Any]], fallen: list[int]) -> None:
    """In sending order the cumulative runtime never falls."""
    assert _problems("triage/response", records) == [("MC208", record, _RUNTIME) for record in fallen]


@pytest.mark.parametrize("bad", [1, 2, 3, 4, 10, 300])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_rising_with_bad_records_between(bad: int, before: int) -> None:
    """However many records of wrong shape stand between, a fall is told at the record that falls."""
    good = [_response(number) for number in range(before)]
    spoilt = [_response(1000 + number, case_id=7) for number in range(bad)]
    last = _response(2000, cumulative_runtime_sec=-1)
    records = [*good, _response(500, cumulative_runtime_sec=600), *spoilt, last, _response(2001)]
    found = [p for p in _problems("triage/response", records) if p[0] != "MC103"]
    assert found == [("MC208", before + 1 + bad, _RUNTIME)]


@property_settings(100)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=12))
def test_rising_agrees_with_a_plain_sort(rows: list[tuple[int, int, bool]]) -> None:
    """Any mixture of order, ties and bad records gives the falls that a stable sort of the good records shows."""
    records = [
        _response(n, message_sent_time=by, message_received_time=by, cumulative_runtime_sec=value)
        | ({} if good else {"case_id": 7})
        for n, (by, value, good) in enumerate(rows)
    ]
    order = sorted((n for n, row in enumerate(rows) if row[2]), key=lambda n: rows[n][0])
    fallen = sorted(b for a, b in itertools.pairwise(order) if rows[b][1] < rows[a][1])
    report = medcontract.validate(
        "\n".join(map(json.dumps, records)).encode() or b"\n", "triage/response", name="x.jsonl"
    )
    assert [p.record for p in report.problems if p.code == "MC208"] == fallen


_RUN, _OTHER = "3f2b8c1e-7a4d-4e0b-9c55-0d1e2f3a4b5c", "00000000-7a4d-4e0b-9c55-0d1e2f3a4b5c"


@pytest.mark.parametrize(
    ("runs", "told"),
    [([_RUN], []), ([_RUN, _RUN.upper(), _RUN], []), ([_RUN, _OTHER, _OTHER, _RUN], [1]), ([_RUN, _RUN, _OTHER], [2])],
)
def test_constant(runs: list[str], told: list[int]) -> None:
    """A second run_id is told once, at the first record that differs; upper and lower case are the same."""
    records = [_response(number, run_id=run) for number, run in enumerate(runs)]
    assert _problems("triage/response", records) == [("MC209", record, "/run_id") for record in told]


def _report(number: str, run: Any = ...) -> dict[str, Any]:
    record = {
        "report_id": number,
        "specialty": "Other",
        "urgency": "Urgent",
        "follow_up": True,
        "processing_time_sec": 1,
    }
    return record if run is ... else {**record, "run_id": run}


@pytest.mark.parametrize(("records", "told"), [
    ([_report("R"), _report("R", "1")], [1]),
    ([_report("R", None), _report("R")], [1]),
    ([_report("R", "1"), _report("R", "2"), _report("R", None)], [2]),
    ([_report("R"), _report("r"), _report("R ")], []),
    ([_report("1", "R"), _report("R", "1")], []),
    ([_report("R"), {"report_id": "R", "error": "timeout"}], [1]),
    ([{"report_id": "R", "error": "timeout"}, {"report_id": "R", "error": "timeout", "run_id": "1"}], [1]),
])  # fmt: skip
def test_unique_pair_with_a_default(records: list[dict[str, Any]], told: list[int]) -> None:
    """An absent run_id is "1"; a repeated pair is told at the last of its fields in the later record."""
    report = medcontract.validate("\n".join(map(json.dumps, records)).encode(), "reports/predictions", name="x.jsonl")
    assert [(p.code, p.record, p.pointer) for p in report.problems] == [("MC201", n, "/report_id") for n in told]


def test_a_bad_record_takes_no_id() -> None:
    """Rules are checked where the shape is right: the id of a bad record is not there to be repeated."""
    content = json.dumps(lesion(0, label="XX")) + "\n" + json.dumps(lesion(0))
    report = medcontract.validate(content.encode(), name="x.jsonl")
    assert [p.code for p in report.problems] == ["MC104"]


def test_every_repetition_names_the_first() -> None:
    """Each later record with the same id is told where the id stood first."""
    records = [lesion(0), lesion(1), lesion(0), lesion(0), lesion(1)]
    report = medcontract.validate("\n".join(map(json.dumps, records)).encode(), name="x.jsonl")
    firsts = [(p.record, (p.hint or "").partition(";")[0]) for p in report.problems]
    assert firsts == [
        (2, "first used in record 0, line 1"),
        (3, "first used in record 0, line 1"),
        (4, "first used in record 1, line 2"),
    ]


_IDS = [0, 1, 2, 1, 3, 0, 1, 4, 5, 5, 6]


def _content(container: str) -> bytes:
    records = [lesion(number, label="XX" if n == 4 else "NV") for n, number in enumerate(_IDS)]
    if container == "json":
        return json.dumps({"labels": records}, indent=1).encode()
    if container == "jsonl":
        return "\n".join(map(json.dumps, records)).encode()
    return "\n".join(["image_id,label", *(f"{r['image_id']},{r['label']}" for r in records)]).encode()


@pytest.mark.parametrize("container", ["json", "jsonl", "csv"])
@pytest.mark.parametrize(("keep", "alike"), [(api.MAX_PROBLEMS, None), (50, 3), (50, 1), (2, None), (1, 1), (0, None)])
def test_hashes_that_collide_change_nothing(
    container: str, keep: int, alike: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if all ids had the same hash, the same ids are told as repeated, as many, at the same places."""

    def run() -> tuple[Any, ...]:
        report = validate_source(
            Source(_content(container), f"x.{container}"), "lesions/truth", ProblemCollector(keep, alike)
        )
        assert_sound(report)
        told = [(problem_line(p), p._more) for p in report.problems]
        return report.errors, report.warnings, report.omitted, report.records, told

    exact = run()
    monkeypatch.setattr("medcontract.contracts.rules.collection.hash", lambda key: 0, raising=False)
    assert run() == exact
    assert exact[0] == 5


@property_settings(60)
@given(st.lists(st.sampled_from(["a", "b", "c", "d", "A", "a "]), max_size=12), st.booleans())
def test_unique_agrees_with_a_set(ids: list[str], collide: bool) -> None:
    """An id is repeated exactly when it stood before, whether hashes collide or not."""
    content = "\n".join(json.dumps({"image_id": name, "label": "NV"}) for name in ids).encode() or b"\n"
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr("medcontract.contracts.rules.collection.hash", len, raising=False)
        report = medcontract.validate(content, "lesions/truth", name="x.jsonl")
    assert [p.record for p in report.problems if p.code == "MC201"] == [
        n for n, name in enumerate(ids) if name in ids[:n]
    ]


class _Named(NamedTuple):
    image_id: str | None


@property_settings(100)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "d\ne", "d", "e", None]), max_size=5), max_size=4))
def test_repeated_keys_are_found_in_any_order(blocks: list[list[str | None]]) -> None:
    """Keys may be absent, in any order, and seen in blocks of any size."""
    index = Unique(code="MC201", within="images", fields=("image_id",), message="repeated").begin()
    for block in blocks:
        index.see_all([_Named(name) for name in block])
    names = [name for block in blocks for name in block]
    assert set(index.suspects) == {name for name in names if names.count(name) > 1}
    positions = index.suspicious_positions()
    assert positions == [place for place, name in enumerate(names) if names.count(name) > 1]


@property_settings(100)
@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=5), st.booleans())
def test_chunks_of_keys(chunks: list[list[str]], sent: bool) -> None:
    """Keys that were read in chunks are known like keys that were read at once, also if they were sent."""
    rule = Unique(code="MC201", within="images", fields=("image_id",), message="repeated")
    merged, whole = rule.begin(), rule.begin()
    for chunk in chunks:
        one = rule.begin()
        for index in (one, whole):
            index.see_all([_Named(name) for name in chunk])
        merged.absorb(pickle.loads(pickle.dumps(one)) if sent else one, lambda ref: ref)  # noqa: S301  # its own output
    assert merged.suspects == whole.suspects
    assert merged.key_count() == whole.key_count()
    assert merged.suspicious_positions() == whole.suspicious_positions()


# --- rules as data -------------------------------------------------------------------------------


def test_published_rules_are_plain_json() -> None:
    """A rule is published with its kind, scope, code, severity and message, as JSON and nothing else."""
    published = [rule.publish() for c in registry.contracts() for rule in (*c.rules, *c.record_rules)]
    assert len(published) > 20
    for rule in published:
        assert json.loads(json.dumps(rule)) == rule
        assert {"kind", "scope", "code", "severity", "message"} <= set(rule)
