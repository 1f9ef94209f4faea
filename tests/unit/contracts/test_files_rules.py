"""Each kind of rule between files, on what is known of the other file, with outcomes worked out by hand."""

from __future__ import annotations

from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from medcontract.catalog import problem_codes
from medcontract.contracts.contract import mark_validated
from medcontract.contracts.registry import contracts, find
from medcontract.contracts.rules import (
    Covers,
    CrossFileRule,
    Equal,
    Excludes,
    OtherFile,
    Reference,
    SameOrder,
    SameValue,
    record_checks,
    run_checks,
)
from medcontract.problems import reveals_truth
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.marks import INVALID
from medcontract.scoring.pairing import Pair, Pairing

_WORDS: dict[str, Any] = {"other": "x/truth", "code": "MC303", "message": "wrong"}


def _record(**fields: Any) -> Any:
    return SimpleNamespace(**fields)


def _found(rule: CrossFileRule, other: OtherFile, *records: Any) -> list[tuple[int, tuple[Any, ...], str | None]]:
    """(number of the record, path, value) of each finding."""
    checks = record_checks([rule], {rule.other: other})
    return [(n, f.path, f.value) for n, record in enumerate(records) for f in run_checks(checks, record)]


def test_reference() -> None:
    """An id that the other file does not have is reported with its value."""
    rule = Reference(field="id", **_WORDS)
    records = [_record(id=name) for name in ("a", "A", "b")]
    assert _found(rule, OtherFile(ids={"a", "b"}), *records) == [(1, ("id",), "A")]


def test_reference_of_a_pair() -> None:
    """Two fields are one id; they are not joined."""
    rule = Reference(field="id", with_field="task", **_WORDS)
    records = [_record(task="t", id="1"), _record(task="t1", id=""), _record(task="1", id="t")]
    assert _found(rule, OtherFile(ids={("t", "1")}), *records) == [(1, ("id",), "t1 "), (2, ("id",), "1 t")]


@pytest.mark.parametrize("with_field", [None, "task"])
def test_reference_with_a_default(with_field: str | None) -> None:
    """An absent value means the default, alone and in a pair."""
    rule = Reference(field="run", default="1", with_field=with_field, **_WORDS)
    record = _record(run=None, task="t")
    with_the_default, without = ({"1"}, {"2"}) if with_field is None else ({("t", "1")}, {("t", "2")})
    assert _found(rule, OtherFile(ids=with_the_default), record) == []
    assert _found(rule, OtherFile(ids=without), record) == [(0, ("run",), "1" if with_field is None else "t 1")]


def test_reference_that_is_absent() -> None:
    """Without a default an absent value matches no record; there is no value to show."""
    assert _found(Reference(field="id", **_WORDS), OtherFile(ids={"a"}), _record(id=None)) == [(0, ("id",), None)]


def test_apart() -> None:
    """An id that the other file has too is reported."""
    records = [_record(id=name) for name in ("a", "b", "c")]
    assert _found(Excludes(field="id", **_WORDS), OtherFile(ids={"b": 0}), *records) == [(1, ("id",), None)]


def test_covers() -> None:
    """Each id without a record is reported, in the order given; a pair with both parts."""
    rule = Covers(field="id", **_WORDS)
    assert [(f.path, f.value) for f in rule.check_missing(["b", "a", ("t", "1")])] == [
        ((), "b"),
        ((), "a"),
        ((), "t 1"),
    ]
    assert list(rule.check_missing([])) == []


def test_agrees() -> None:
    """A record is compared with the other file's record of the same key, where there is one."""
    theirs: dict[Any, Any] = {"s1": _record(case="A"), "s2": _record(case="B")}
    records = [_record(key=key, case="A") for key in ("s1", "s2", "s3")]
    rule = SameValue(key="key", field="case", **_WORDS)
    assert _found(rule, OtherFile(find=theirs.get), *records) == [(1, ("case",), None)]


def test_same_order() -> None:
    """The first record of a group that stands after a later one is reported; once a group, unknown records aside."""
    theirs: dict[Any, Any] = {key: _record(group=key[0], time=int(key[1])) for key in ("a1", "a2", "a3", "b1", "b2")}
    rule = SameOrder(key="key", group="group", by=("time",), **_WORDS)
    order = ["a1", "b2", "a3", "zz", "a2", "b1", "a1"]
    records = [_record(key=key) for key in order]
    assert _found(rule, OtherFile(find=theirs.get), *records) == [(4, ("key",), None), (5, ("key",), None)]


def test_equal() -> None:
    """Header fields are compared where both files have them."""
    rule = Equal(field="event", **_WORDS)

    def finds(mine: Any, theirs: Any) -> bool:
        return rule.check_header(mine, OtherFile(header=theirs)) is not None

    assert finds(_record(event="A"), _record(event="B"))
    assert not finds(_record(event="A"), _record(event="A"))
    assert not any([finds(_record(event=None), _record(event="B")), finds(_record(event="A"), _record()), finds(1, 2)])


def test_in_a_document() -> None:
    """A rule about a list of a document says which item; one about the document itself says the field."""
    document = _record(id="a", event="A", proofs=[_record(id="a"), _record(id="b")])
    other = OtherFile(ids={"a"}, header=_record(event="B"))
    inside = Reference(field="id", within="proofs", **_WORDS)
    assert [finding.path for finding in inside.check_document(document, other)] == [("proofs", 1, "id")]
    assert [f.path for f in Reference(field="id", **_WORDS).check_document(document, other)] == []
    assert [f.path for f in Excludes(field="id", **_WORDS).check_document(document, other)] == [("id",)]
    assert [f.path for f in Equal(field="event", **_WORDS).check_document(document, other)] == [("event",)]


def test_what_is_not_known_is_not_checked() -> None:
    """No rule finds anything where nothing is known of the other file, or there is none."""
    rules = [rule for contract in contracts() for rule in contract.rules if isinstance(rule, CrossFileRule)]
    assert rules
    for rule in rules:
        assert rule.record_check(OtherFile()) is None
        assert rule.check_header(_record(), OtherFile()) is None
        assert record_checks([rule], {}) == []


def test_what_is_compared_with_other_files_is_not_for_participants() -> None:
    """Every code of a rule between files, and the next free one; not the codes of models and images."""
    codes = {rule.code for contract in contracts() for rule in contract.rules if isinstance(rule, CrossFileRule)}
    assert all(map(reveals_truth, (*codes, "MC313", "MC314")))
    named = {code for code in problem_codes() if code.startswith("MC3")} - codes - {"MC313"}
    assert named == {"MC311", "MC312", *(f"MC32{digit}" for digit in range(6))}
    assert not any(map(reveals_truth, (*named, "MC201", "MC401")))


_PAIR: Pair = Pair(
    truth="x/truth", submission="x/answers", key=("id",), item=lambda record: record, can_fail=False,
    measure=lambda item, record: "mark",
)  # fmt: skip


def _expected() -> Expected:
    expected: Expected = Expected.of(_PAIR, ExpectedItems([], [], ascending=False))
    for number, name in enumerate("abc"):
        expected.index[name] = number
        expected.items.append(_record(id=name, case="A"))
    return expected


@pytest.mark.parametrize("rules", [(), (SameValue(key="id", field="case", **_WORDS),)], ids=["quick", "each"])
def test_pairing_reports_the_same_either_way(rules: tuple[CrossFileRule, ...]) -> None:
    """Records that are checked at once and one by one get the same findings."""
    expected = _expected()
    rules = (Reference(field="id", **_WORDS), Covers(field="id", **_WORDS), *rules)
    for ids in ("ab", "abz", "ba"):
        pairing = Pairing(_PAIR, expected, rules, {"x/truth": expected.as_other_file()})
        found = pairing.take(mark_validated([_record(id=name, case="A") for name in ids], "x/answers"))
        assert [position for position, _ in found] == ([2] if "z" in ids else [])
        assert pairing.runs()[""].listed(3) == ["mark", "mark", None]
        assert pairing.unknown == (["z"] if "z" in ids else [])


@pytest.mark.parametrize("submission", ["lesions/predictions", "extraction/lab-predictions", "benchmark/predictions"])
def test_many_good_records_are_paired_at_once(submission: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No record is looked at alone where all answer something expected for the first time."""
    rules = find(submission).file_rules
    (key,) = {rule.id_fields for rule in rules if isinstance(rule, Reference)}
    pair = replace(_PAIR, truth=rules[0].other, submission=submission, key=key)
    expected: Expected = Expected.of(pair, ExpectedItems([], [], ascending=False))
    rows = [_record(**dict.fromkeys(key, str(number))) for number in range(3)]
    for number, row in enumerate(rows):
        expected.index[attrgetter(*key)(row)] = number
        expected.items.append(row)
    pairing = Pairing(pair, expected, rules, {pair.truth: expected.as_other_file()})
    monkeypatch.setattr(Pairing, "_take_each", lambda *_: pytest.fail("one by one"))
    assert pairing.take(mark_validated(rows, submission)) == ()
    assert len(pairing.runs()[""]) == 3


@pytest.mark.parametrize(("severity", "mark"), [("error", INVALID), ("warning", "mark")])
def test_a_record_that_breaks_a_rule_about_another_file_is_not_processed(severity: Any, mark: Any) -> None:
    """Whichever rule it is, as long as it is an error; the file may be another one than the truth."""
    expected = _expected()
    others = {"x/truth": expected.as_other_file(), "x/list": OtherFile(ids={"a"})}
    listed = Reference(other="x/list", field="id", code="MC308", message="wrong", severity=severity)
    pairing = Pairing(_PAIR, expected, [listed], others)
    found = pairing.take(mark_validated([_record(id="a"), _record(id="b")], "x/answers"))
    assert [(position, finding.code) for position, finding in found] == [(1, "MC308")]
    assert pairing.runs()[""].listed(2) == ["mark", mark]
