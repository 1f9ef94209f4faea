"""JSON with indentation: the bytes of the standard library, whatever the values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.results.base import dumps

_STRINGS = st.sampled_from(["", "a", "é", "\n},\n{", "\x00\x1f", '"\\/', "\U0001f600", "\ud800", "[", ": "])
_NUMBERS = st.sampled_from([
    0, -1, 1 << 70, 0.0, -0.0, 0.5, 0.1 + 0.2, 1e-4, 9.99e-5, 5e-324, 1e15, 999999999999999.9, 1e16, 1e300,
    float("nan"), float("inf"),
])  # fmt: skip
_SCALARS = st.none() | st.booleans() | _STRINGS | _NUMBERS | st.floats()
_DATA: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_STRINGS, inner, max_size=3),
    max_leaves=20,
)


@property_settings(400)
@given(_DATA)
def test_the_text_is_that_of_the_standard_library(data: Any) -> None:
    """Also with numbers that are written with an exponent, and with lone surrogates."""
    assert dumps(data) == json.dumps(data, ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize(
    ("text", "written"), [("\x7f", "\\u007f"), ("\u202e", "\\u202e"), ("##[group]", "#\\u0023[group]")]
)
def test_what_a_terminal_or_a_log_may_act_on_is_escaped(text: str, written: str) -> None:
    """The value stays the same for readers of the JSON."""
    assert dumps([text]) == f'[\n  "{written}"\n]\n'
    assert json.loads(dumps([text])) == [text]
