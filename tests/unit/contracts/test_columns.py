"""Fields of many records are read like those of each record."""

from __future__ import annotations

from operator import attrgetter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medcontract.contracts.columns import reader

_NAMES = st.sampled_from(["image_id", "_x", "__x", "class", "a b", "0", "", "ﬁeld", "field", "record", "é"]) | st.text()
_FIELDS = st.lists(_NAMES.filter(lambda name: "." not in name), min_size=1, max_size=3)


@given(_FIELDS, st.integers(0, 3))
def test_fields_of_many_records(fields: list[str], count: int) -> None:
    records = [SimpleNamespace(**{name: (name, number) for name in fields}) for number in range(count)]
    assert reader(*fields)(records) == list(map(attrgetter(*fields), records))


@pytest.mark.parametrize("fields", [("a",), ("a", "b"), ("a b",), ("é",)])
def test_a_field_that_is_absent(fields: tuple[str, ...]) -> None:
    with pytest.raises(AttributeError):
        reader(*fields)([SimpleNamespace(c=1)])
