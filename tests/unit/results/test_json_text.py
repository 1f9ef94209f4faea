"""JSON with indentation: the bytes of the standard library, whatever the values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.results import json_text
from medcontract.results.json_text import indented

_STRINGS = st.sampled_from(["", "a", "é", "\n},\n{", "\x00\x1f\x7f\u2028", '"\\/', "\U0001f600", "\ud800", "[", ": "])
_NUMBERS = st.sampled_from([
    0, -1, 1 << 70, 0.0, -0.0, 0.5, 0.1 + 0.2, 1e-4, 9.99e-5, 5e-324, 1e15, 999999999999999.9, 1e16, 1e300,
    float("nan"), float("inf"),
])  # fmt: skip
_SCALARS = st.none() | st.booleans() | _STRINGS | _NUMBERS | st.floats()
_ROWS = st.lists(st.dictionaries(st.sampled_from(["id", "ñ", 'a"\n']), _SCALARS, max_size=3), max_size=5)
_KEYS = _STRINGS | st.sampled_from([1, 2.5, True, None])
_DATA: st.SearchStrategy[Any] = st.recursive(
    _SCALARS | _ROWS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)


def expected(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


@property_settings(400)
@given(_DATA, st.sampled_from([1, 2, 10_000]))
def test_the_text_is_that_of_the_standard_library(data: Any, rows: int) -> None:
    """Also with lists that are encoded in pieces, with numbers that msgspec writes differently, and lone surrogates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "_ROWS", rows)
        assert indented(data) == expected(data)


def test_many_rows() -> None:
    """More than one piece, at some depth."""
    rows = [{"doc_id": f"D-{number}", "score": number / 7, "passed": None} for number in range(25_000)]
    data = {"result": {"documents": rows, "gates": []}, "valid": True}
    assert indented(data) == expected(data)
