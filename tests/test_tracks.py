"""A track owns what is special about it: nothing outside its own modules names it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT

from medcontract.definitions.registry import TRACKS

PACKAGE = ROOT / "src" / "medcontract"
REGISTRY = PACKAGE / "definitions" / "registry.py"


def _is_own(path: Path) -> bool:
    """A module of a track: definitions/TRACK.py, scoring/TRACK.py, or a module of the package scoring/TRACK/."""
    folder, *rest = path.relative_to(PACKAGE).with_suffix("").parts
    return folder in ("definitions", "scoring") and bool(rest) and rest[0] in TRACKS


def _names_a_track(text: str) -> bool:
    return any(text == track or text.startswith(f"{track}/") for track in TRACKS)


def _literals(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _listed_once(path: Path) -> set[int]:
    """The lines of the one list of tracks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "TRACKS"]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def test_no_other_module_names_a_track() -> None:
    """No string outside a track's own modules and the one list is the id of a track, or of a contract of one."""
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not _is_own(path) and path.relative_to(PACKAGE).parts[0] != "examples"
        for line, text in _literals(path)
        if _names_a_track(text) and not (path == REGISTRY and line in _listed_once(path))
    ]
    assert found == []


def test_the_walk_sees_names() -> None:
    """The walk over literals finds those that are known to be there."""
    assert any(_names_a_track(text) for _, text in _literals(PACKAGE / "scoring" / "lesions.py"))
    assert {text for line, text in _literals(REGISTRY) if line in _listed_once(REGISTRY)} >= set(TRACKS)
