"""docs/security.md names a test for each promise: the tests exist."""

from __future__ import annotations

import re

import pytest
from tests.support import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_promise_has_its_test(file: str, test: str) -> None:
    """The file is there, and the test in it."""
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {test or 'test_'}" in text


def test_every_row_of_a_table_names_a_test() -> None:
    """A promise without a test is no promise."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 20
    assert [row for row in rows if not re.search(r"`(\w+/)*test_\w+\.py", row)] == []
