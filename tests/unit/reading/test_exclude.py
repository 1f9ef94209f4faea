"""Patterns of `--exclude`."""

from __future__ import annotations

import pytest

from medcontract.reading.folders import Exclude


@pytest.mark.parametrize(("pattern", "path", "is_folder", "expected"), [
    ("draft.csv", "sub/a/draft.csv", False, True),
    ("draft*", "sub/drafts", True, True),
    ("draft*", "sub/my-draft.csv", False, False),
    ("old/", "sub/a/old", True, True),
    ("old/", "sub/a/old", False, False),
    ("a/*.csv", "sub/a/x.csv", False, True),
    ("a/*.csv", "sub/a/b/x.csv", False, False),
    ("a/**", "sub/a/b/x.csv", False, True),
    ("**/x.csv", "sub/x.csv", False, True),
    ("**/x.csv", "sub/a/b/x.csv", False, True),
    ("./a/x.csv", "sub/a/x.csv", False, True),
    ("sub/a/x.csv", "sub/a/x.csv", False, True),
    ("a/[xy].csv", "sub/a/y.csv", False, True),
    ("a/[!xy].csv", "sub/a/y.csv", False, False),
    ("a/[!xy].csv", "sub/a/z.csv", False, True),
    ("a/?.csv", "sub/a/x.csv", False, True),
    ("a/x(1).csv", "sub/a/x(1).csv", False, True),
    ("A/x.csv", "sub/a/x.csv", False, False),
])  # fmt: skip
def test_patterns(pattern: str, path: str, is_folder: bool, expected: bool) -> None:
    """A name matches at any depth, a path from the folder or as it is shown."""
    exclude = Exclude([pattern])
    assert exclude("sub", path, is_folder) == expected
    assert exclude.unused == ([] if expected else [pattern])
