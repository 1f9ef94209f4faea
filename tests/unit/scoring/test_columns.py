"""What is kept of many records: the ids and items of a truth, its content hash, and the marks of a submission."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct, to_builtins
from tests.support import property_settings

from medcontract.contracts.contract import mark_validated
from medcontract.scoring.canonical import ContentHash, canonical, record_lines, record_text
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.marks import INVALID, REPEATED, Marks, Unscored
from medcontract.scoring.pairing import Pair, Pairing, marks


class Row(Struct):
    id: str
    label: str | None = None
    error: str | None = None


class ShortRow(Row, omit_defaults=True):
    """msgspec omits its null fields by itself."""


PAIR: Pair = Pair(
    truth="t", submission="s", key=("id",), item=lambda row: f"item {row.id}", measure=lambda item, row: (item, row.id)
)
_IDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=4)
_BLOCKS = st.lists(_IDS.flatmap(lambda ids: st.sampled_from([ids, sorted(set(ids))])), max_size=4)


def read(blocks: Sequence[Sequence[str]]) -> Expected:
    expected: Expected = Expected(PAIR.key, PAIR.item)
    for block in blocks:
        expected.take(mark_validated([Row(name) for name in block], "t"))
    return expected


@property_settings(200)
@given(_BLOCKS)
def test_of_repeated_ids_the_first_counts(blocks: list[list[str]]) -> None:
    """Whatever the order of the ids, and however they are divided into blocks."""
    expected = read(blocks)
    ids = list(dict.fromkeys(name for block in blocks for name in block))
    assert expected.keys == ids
    assert expected.items == [f"item {name}" for name in ids]
    assert expected.index == {name: number for number, name in enumerate(ids)}


@pytest.mark.parametrize("ids", [[], ["a"], ["a", "b"], ["a\nb", "c"], [("a", "b"), ("c", "d")]])
def test_expected_ids_are_sent_as_they_are(ids: list[Any]) -> None:
    """Also ids that cannot be sent as one text."""
    state = ExpectedItems(ids, [1] * len(ids), True)
    assert pickle.loads(pickle.dumps(state)) == state  # noqa: S301  # its own output


_ENTRIES = st.lists(st.tuples(st.sampled_from("abcdefx"), st.sampled_from(["ok", "ok", "ok", "failed", "invalid"])))


@property_settings(300)
@given(st.permutations("abcdef"), _ENTRIES, st.integers(1, 4), st.booleans())
@example(list("abcdef"), [("a", "ok"), ("e", "invalid"), ("c", "ok"), ("d", "ok"), ("e", "ok")], 3, False)
@example(list("abcdef"), [("a", "ok"), ("b", "ok"), ("c", "ok"), ("e", "ok")], 2, False)
def test_marks_do_not_depend_on_the_order(
    truth: list[str], entries: list[tuple[str, str]], size: int, in_order: bool
) -> None:
    """Records in the order of the truth are paired without looking up their ids, but get the same marks."""
    if in_order:
        entries = sorted(entries, key=lambda entry: truth.index(entry[0]) if entry[0] in truth else -1)
    pairing = Pairing(PAIR, read([truth]))
    block: list[Row] = []
    for name, state in [*entries, ("", "")]:
        if block and (len(block) == size or state in ("", "invalid")):
            pairing.take(mark_validated(block, "s"))
            block = []
        if state == "invalid":
            pairing.reject({"id": name})
        elif state:
            block.append(Row(name, error="out of memory" if state == "failed" else None))
    wanted: dict[int, Any] = {}
    for name, state in entries:
        if name in truth:
            mark = {"ok": (f"item {name}", name), "failed": Unscored("failed", "out of memory"), "invalid": INVALID}[
                state
            ]
            wanted[truth.index(name)] = REPEATED if truth.index(name) in wanted else mark
    found = pairing.marks_by_run.get("", Marks()).listed(len(truth))
    assert {number: mark for number, mark in enumerate(found) if mark is not None} == wanted
    assert pairing.missing() == [name for number, name in enumerate(truth) if number not in wanted]
    processed = {number: mark for number, mark in wanted.items() if type(mark) is not Unscored}
    assert marks(pairing, "") == [processed.get(number) for number in range(len(truth))]


_TEXTS = st.sampled_from(
    ["", "a", "b", "é", '"', "\\", "\n", ":null", ',"label":null', '{"error":null,', "\u2028", "null"]
)
_ROWS = st.lists(st.builds(Row, id=_TEXTS, label=st.none() | _TEXTS, error=st.none() | _TEXTS), min_size=1, max_size=5)


@property_settings(200)
@given(st.lists(_ROWS, max_size=4))
def test_the_content_hash_is_that_of_sorted_canonical_lines(blocks: list[list[Row]]) -> None:
    """Each record without its null fields, keys sorted, as RFC 8785 writes strings."""
    content = ContentHash()
    lines = []
    for rows in blocks:
        content.add(rows)
        assert record_lines(rows * 65) == b"".join(record_text(row) + b"\n" for row in rows) * 65
        for row in rows:
            fields = {"error": row.error, "id": row.id, "label": row.label}
            there = {name: value for name, value in fields.items() if value is not None}
            lines.append(json.dumps(there, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    state = content.state()
    content.add([Row(id="dropped"), Row(id="")])
    content.restore(state)
    assert content.sha256() == hashlib.sha256(b"".join(sorted(lines))).hexdigest()


@property_settings(100)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 1300), _TEXTS), max_size=8))
def test_the_content_hash_of_long_lines(parts: list[tuple[str, int, str]]) -> None:
    """Long lines, many of which have the same start, among short ones."""
    rows = [Row(id=char * times + text) for char, times, text in parts]
    content = ContentHash()
    for row in rows:
        content.add([row])
    lines = sorted(record_text(row) + b"\n" for row in rows)
    assert content.sha256() == hashlib.sha256(b"".join(lines)).hexdigest()


class Inner(Struct):
    name: str
    at: float
    times: int = 0
    other: Any = None


class Outer(Struct, rename={"schema_": "$schema"}):
    id: str
    start: float
    inner: list[Inner]
    one: Inner | None = None
    values: list[float] | None = None
    free: dict[str, Any] | None = None
    schema_: str | None = None


_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e-5, 1e-7, 1e20, 1e21, 123456789.25, 9007199254740993.0, -2.0])
_INNER = st.builds(Inner, _TEXTS, _NUMBERS, st.sampled_from([0, 7, 2**53 + 1]), st.none() | _NUMBERS | _TEXTS)
_OUTER = st.builds(
    Outer, _TEXTS, _NUMBERS, st.lists(_INNER, max_size=2), st.none() | _INNER, st.none() | st.lists(_NUMBERS),
    st.none() | st.dictionaries(st.sampled_from(["a", "b", "é", "€", "\U0001f600"]), _NUMBERS | st.none()),
    st.none() | _TEXTS,
)  # fmt: skip


@property_settings(200)
@given(_OUTER)
def test_records_with_numbers_have_canonical_text(record: Outer) -> None:
    """The same text as of the plain value, without what is null."""
    assert record_text(record).decode() == canonical(_without_null(to_builtins(record)))


def test_no_rows_and_rows_of_several_types() -> None:
    """There is no text without rows, and rows of another type have the same text."""
    rows = [Row("a", "x"), ShortRow("a", "x")]
    assert record_lines([]) == b""
    assert record_lines(rows) == record_lines(rows[:1]) + record_lines(rows[1:]) == 2 * record_lines(rows[:1])


class Part(Struct):
    name: str | None = None
    tags: list[str] | None = None


class Nested(Struct):
    id: str
    part: Part
    label: str | None = None
    parts: list[Part] | None = None


_PARTS = st.builds(Part, name=st.none() | _TEXTS, tags=st.none() | st.lists(_TEXTS, max_size=2))
_NESTED = st.builds(
    Nested, id=_TEXTS, part=_PARTS, label=st.none() | _TEXTS, parts=st.none() | st.lists(_PARTS, max_size=2)
)


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in sorted(value.items()) if each is not None}
    return list(map(_without_null, value)) if isinstance(value, list) else value


@property_settings(200)
@given(st.lists(_NESTED, min_size=1, max_size=4))
@example([Nested("x", Part("y", [",", ":null"]))])
@example([Nested("x", Part()), Nested("x", Part("y"), "z", [Part(), Part(tags=[])])])
def test_lines_of_nested_records(rows: list[Nested]) -> None:
    """The same as record by record: without null at any level, keys sorted."""
    lines = record_lines(rows)
    assert lines == b"".join(record_text(row) + b"\n" for row in rows)
    plain = [json.dumps(_without_null(to_builtins(row)), separators=(",", ":"), ensure_ascii=False) for row in rows]
    assert lines.decode() == "".join(f"{line}\n" for line in plain)


class Renamed(Struct, rename={"class_": "class"}):
    class_: str
    part: Part


def test_lines_of_records_with_other_names() -> None:
    """Names that differ from those in the file make no difference to the lines."""
    rows = [Renamed("x", Part("y")), Renamed("z", Part(tags=[]))]
    assert record_lines(rows) == b"".join(record_text(row) + b"\n" for row in rows)


def test_rows_in_order_are_hashed_like_others() -> None:
    """Lines that are already sorted need not be sorted, which makes no difference."""
    rows = [Row(f"{number:03}", "x") for number in range(200)]
    one, other = ContentHash(), ContentHash()
    one.add(rows[:100])
    one.add(rows[100:])
    other.add(rows[100:])
    other.add(rows[99::-1])
    assert one.sha256() == other.sha256()
