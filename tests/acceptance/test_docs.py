"""The pages of the documentation: their links lead somewhere, and the commands and functions that they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support import ROOT

import medcontract
from medcontract.cli.main import main

PAGES = sorted(path for pattern in ("*.md", "docs/**/*.md", "schemas/*.md") for path in ROOT.glob(pattern))
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"(?m)^#+ (.*)$")
_BLOCK = re.compile(r"(?ms)^```[a-z]*\n(.*?)^```")
_COMMAND = re.compile(r"(?m)^(?:\$ )?medcontract ([a-z]+)(?: ([a-z]+)\b)?")
_FUNCTION = re.compile(r"\bmedcontract\.([a-z_]+)\(")
_GROUPS = ("cache", "challenge", "protocol", "schema")


def _commands(page: Path) -> set[tuple[str, str]]:
    """The commands in code blocks, with their subcommands."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return {found for block in blocks for found in _COMMAND.findall(block)}


def _anchors(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_links(page: Path) -> None:
    """A relative link leads to a file of the repository, and to a heading of it."""
    wrong = []
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            wrong.append(link)
    assert wrong == []


@each_page
def test_commands(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command in a code block exists."""
    for command, sub in _commands(page):
        assert main([command, *([sub] if command in _GROUPS and sub else []), "--help"]) == 0, f"{command} {sub}"
    capsys.readouterr()


@each_page
def test_functions(page: Path) -> None:
    """A function of the package that is called in an example exists."""
    if page.name != "CHANGELOG.md":
        assert {
            name for name in _FUNCTION.findall(page.read_text(encoding="utf-8")) if not hasattr(medcontract, name)
        } == set()


def test_all_examples_are_listed() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in (ROOT / "examples").iterdir()} - {"README.md"}
    assert sorted(name for name in names if f"[{name}](" not in text) == []


def test_something_is_found() -> None:
    """The patterns match what a page has."""
    page = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")
    assert len(_LINK.findall(page)) > 5
    assert len(_commands(ROOT / "docs" / "scoring.md")) > 5
    assert len(_FUNCTION.findall(page)) > 5
