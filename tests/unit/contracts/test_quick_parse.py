"""`quick_parse`: texts without anything unusual, of any length, are parsed at the speed of msgspec."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from medcontract.contracts.fast_decoder import quick_parse


@pytest.mark.parametrize(
    "value",
    [
        1, "a:b", [], {}, [[]], {"a": {"b": [1, {"c": "x:y"}]}},
        {"documents": [{"id": str(n), "scores": [n, {"f1": 0.5}]} for n in range(1000)]},
    ],
)  # fmt: skip
def test_flat_values(value: Any) -> None:
    """The number of brackets does not matter, only how deep they are inside each other."""
    assert quick_parse(json.dumps(value).encode(), 5) == value


@pytest.mark.parametrize("levels", [1, 2, 5, 100])
@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
@pytest.mark.parametrize("beside", ["", "[1],"])
def test_depth(levels: int, pair: str, beside: str) -> None:
    """Exactly `levels` lists or objects may be inside each other, however many there are beside them."""
    opening, closing = pair[:-1], pair[-1]
    for depth, accepted in ((levels - 1, True), (levels, True), (levels + 1, False)):
        if depth < 2 and beside:
            continue
        text = opening * (depth - bool(beside)) + "1" + closing * (depth - bool(beside))
        text = f"[{beside * 150}{text}]" if beside else text
        found = quick_parse(text.encode(), levels)
        assert (found == json.loads(text)) if accepted else (found is UNSET)


@pytest.mark.parametrize(
    "text", [b'[{"a": 1, "a": 2}' + b", []" * 200 + b"]", b"[" * 100_000, b"[NaN" + b", []" * 200 + b"]",
             b"[" + b"9" * 400 + b", []" * 200 + b"]", b'{"a": [}', b""]
)  # fmt: skip
def test_unusual_texts(text: bytes) -> None:
    """Repeated keys, NaN, very large numbers and syntax errors are left to the scanner."""
    assert quick_parse(text, 100) is UNSET
