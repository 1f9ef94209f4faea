"""Which tests run without `--all`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import left_out


def case(nodeid: str, *marks: pytest.MarkDecorator) -> Any:
    return SimpleNamespace(
        nodeid=nodeid, get_closest_marker=lambda name: next((m.mark for m in marks if m.name == name), None)
    )


def test_slow_tests_and_most_cases_of_sampled_ones_are_left_out() -> None:
    """Of five cases every second stays, counted test by test; what has no mark stays."""
    sampled, slow = pytest.mark.sampled(2), pytest.mark.slow
    items = [case(f"test_a.py::test_x[{n}]", sampled) for n in range(5)]
    items += [case("test_a.py::test_y[0]", sampled), case("test_a.py::test_z"), case("test_b.py::test_x", slow)]
    items += [case("test_b.py::test_y", slow, sampled)]
    names = [item.nodeid for item in left_out(items)]
    assert names == ["test_a.py::test_x[1]", "test_a.py::test_x[3]", "test_b.py::test_x", "test_b.py::test_y"]
