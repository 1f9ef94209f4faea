"""Objects with any content that are decoded only if they are read: the same verdicts and values as otherwise."""

from __future__ import annotations

import json
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.contracts import registry
from medcontract.contracts.fast_decoder import row_decoders
from medcontract.contracts.row_types import RowWithRawObjects, has_only_numbers
from medcontract.scoring.canonical import record_text

SCHEMA = registry.find("triage/response").record_schema
RECORD = {
    "message_sent_time": 1.0, "message_received_time": 2.0, "case_id": "c", "segment_id": "s",
    "model_predictions": ["a"], "cumulative_runtime_sec": 1.5, "end_of_case": False,
    "run_id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
}  # fmt: skip
_raw, _decoded = row_decoders(SCHEMA, raw_objects=True), row_decoders(SCHEMA)
_ANYTHING = msgspec.json.Decoder()


def with_embeddings(text: bytes) -> bytes:
    return json.dumps(RECORD).encode()[:-1] + b', "embeddings": ' + text + b"}"


def values(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in SCHEMA["properties"]}


def check_same(embeddings: bytes) -> None:
    """Both decoders accept the same records, one by one and by line, and give the same values."""
    assert _raw
    assert _decoded
    raw = with_embeddings(embeddings)
    one, other = _raw.one(raw), _decoded.one(raw)
    assert (one is None) == (other is None)
    if one is not None:
        assert isinstance(one, RowWithRawObjects)
        assert not isinstance(other, RowWithRawObjects)
        assert values(one) == values(other)
        assert record_text(one) == record_text(other)
        assert values(pickle.loads(pickle.dumps(one))) == values(other)  # noqa: S301  # made here
    lines, others = _raw.lines(raw + b"\n"), _decoded.lines(raw + b"\n")
    assert (lines is None) == (others is None)
    assert lines is None or others is None or list(map(values, lines)) == list(map(values, others))


DIGITS = b"9" * 308
TEXTS = [
    b"null", b"{}", b"[]", b"5", b'{"a": []}', b'{"a": [1, -0.5, 0, -0, 12.25], "b": [[1], [2, 3]]}', b'{"a": null}',
    b'{"a": [1e5, 2E-3]}', b'{"a": [1e400]}', b'{"a": [-1E999, 1]}', b'{"a": 1e-999}', b'{"a": [NaN]}',
    b'{"a": [-Infinity]}', b'{"a": [%b]}' % DIGITS, b'{"a": [%b9]}' % DIGITS, b'{"a": [1, -%b9, 2]}' % DIGITS,
    b'{"a": [0.%b%b]}' % (DIGITS, DIGITS),
    b'{"a": [01]}', b'{"a": [1.]}', b'{"a": [.5]}', b'{"a": [+1]}', b'{"a": [1,]}', b'{"a": [1 2]}', b'{"a": [tru]}',
    b'{"a": [{]}', b'{"a": [1}', b'{"a": [1', b'{"a": [1],}', b'{"a": [\x00]}', b'{"a": [1] /* b */}',
    b'{"a": 1, "a": 2}', b'{"a": 1, "\\u0061": 2}', b'{"a": {"b": 1, "b": 2}}', b'{"a": [{"b": 1, "b": 2}]}',
    b'{"a:b": [1]}', b'{"a": ["b:c"]}', b'{"a": {"b:c": ["d:e"]}}', b'{"a\\"b": [1]}', b'{"a": {}, "b": [{}, {}]}',
    b'{"a": ["\\ud800"]}', b'{"\\ud800": [1]}', b'{"a": ["\xff"]}', b'{"\xff": [1]}', '{"ñ": ["é"]}'.encode(),
    b'{"a": ["\x01"]}', b'{"a": [true, false, null, "x"]}', b'{"a": 123456789012345678901234567890}',
    b'{ "a" :\t[ 1 ,\r 2 ] }', b'{"a": [%b]}' % b", ".join([b"[1, 2]"] * 50),
    *(b'{"a": ' + b"[" * depth + b"]" * depth + b"}" for depth in (5, 6, 7, 8, 90, 5000)),
    *(b'{"a": [[], ' + b"[" * depth + b"1" + b"]" * depth + b"]}" for depth in (4, 5, 6)),
    *(b'{"a": ' + b"[" * depth + b"{}" + b"]" * depth + b"}" for depth in (4, 5, 6)),
    *(b'{"a": ' + b'{"b": ' * depth + b"1" + b"}" * depth + b"}" for depth in (5, 6, 7)),
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:24].decode(errors="replace"))
def test_unusual_values(text: bytes) -> None:
    """Whatever the parser does not check is checked all the same."""
    check_same(text)


_PIECES = st.sampled_from([
    b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b'"a"', b'"b:"', b'"a":', b'"b":', b"1", b"-0.25", b"1e5", b"null",
    b"true", b"9" * 200, b'"\\u0061":', b'"\xff"', b'"\\ud800"', b"[1, 2]", b'{"a": 1}', b"[[[", b"]]]",
])  # fmt: skip


@property_settings(500)
@given(st.lists(_PIECES, max_size=12).map(b"".join))
def test_any_text(text: bytes) -> None:
    """The same for texts that are mostly not JSON."""
    check_same(b'{"a": [' + text + b"]}")
    check_same(b'{"x": ' + text + b"}")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


@property_settings(300)
@given(st.dictionaries(st.text(max_size=2), _JSON, max_size=3), st.booleans())
def test_any_value(value: dict[str, Any], ascii_only: bool) -> None:
    """The same for any object."""
    check_same(json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))


_NUMBERS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.just({}) | st.integers(-(10**320), 10**320) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=20,
)


@property_settings(500)
@given(_NUMBERS, st.integers(0, 4))
def test_only_numbers(value: Any, levels: int) -> None:
    """Only values that have finite numbers, and are not nested too deeply."""
    text = json.dumps(value).encode()
    if has_only_numbers(text, levels):
        _ANYTHING.decode(text)
        assert _depth(value) <= levels
        assert all(abs(float(number)) < float("inf") for number in _leaves(value))


def test_usual_lists_are_not_decoded() -> None:
    """The shortcut is taken for what it is meant for."""
    assert has_only_numbers(json.dumps([[0.123456 * n for n in range(1, 200)]] * 20).encode(), 2)
    assert not has_only_numbers(b"[[[1]]]", 2)
    assert not has_only_numbers(b'["1"]', 2)


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list | dict) else 0


def _leaves(value: Any) -> list[float]:
    if isinstance(value, list | dict):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None else [value]
