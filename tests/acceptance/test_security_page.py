"""Every guarantee in docs/security.md has tests, which exist."""

from __future__ import annotations

import re

import pytest
from tests.support import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_the_tests_of_a_guarantee_exist(file: str, test: str) -> None:
    """The file and the test exist."""
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {test or 'test_'}" in text


def test_every_guarantee_has_a_test() -> None:
    """Every row of a table refers to a test, except in tables of figures."""
    tables = [each.splitlines() for each in PAGE.split("\n\n") if each.startswith("| ")]
    rows = [row for head, _, *body in tables for row in body if not head.startswith("| figure ")]
    assert len(rows) > 20
    assert [row for row in rows if not re.search(r"`(\w+/)*test_\w+\.py", row)] == []
