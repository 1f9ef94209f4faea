"""CONTRIBUTING names files and folders that exist."""

from __future__ import annotations

import re

from tests.support import ROOT

_NAME = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|jsonl?|toml|txt)|(?:[\w.-]+/)+(?=[`<]))")
"""A file, a folder, or the folder of a placeholder such as `<track>.py`."""
_FOLDERS = (
    "src/medcontract",
    "conformance",
    "tests",
    "schemas",
    "docs",
    "script",
    "fuzz",
    "benchmarks",
    "examples",
    "js",
)
_CREATED = {"dist", "fuzz/findings"}
_PLACEHOLDERS = {"valid", "invalid"}
"""Names in every folder of vectors."""


def test_names_exist() -> None:
    """Each file or folder in backticks is the end of a path in the repository."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {name.rstrip("/") for name in _NAME.findall(text)} - _CREATED - _PLACEHOLDERS
    inside = [path for folder in _FOLDERS for path in ((ROOT / folder), *(ROOT / folder).rglob("*"))]
    paths = [f"/{path.relative_to(ROOT).as_posix()}" for path in (*ROOT.glob("*.*"), *inside)]
    assert len(named) > 40
    assert sorted(name for name in named if not any(path.endswith(f"/{name}") for path in paths)) == []
