"""Every command that a page shows with its output is run, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.documented import PAGES, ROOT, Session, differs, steps

_SHOWN = [path for path in PAGES if re.search(r"(?m)^\$ medcontract", path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", _SHOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page(path: Path, tmp_path: Path) -> None:
    """The files, commands and Python code of a page, in order."""
    page = path.read_text(encoding="utf-8")
    session = Session(page, tmp_path)
    for step in steps(page):
        code, printed, errors = session.run(step)
        assert code == step.exit_code, f"{step.text}\n{errors}"
        if step.kind == "command":
            assert not differs(step.content, printed), "\n".join([step.text, *printed])


def test_something_is_run() -> None:
    """The pattern finds commands, and the challenge tutorial has files and code, too."""
    assert len(_SHOWN) > 5
    found = [step.kind for step in steps((ROOT / "docs/your-own-challenge.md").read_text(encoding="utf-8"))]
    assert (found.count("command") >= 10, found.count("file") >= 5, "python" in found) == (True, True, True)


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        (["a", "b", "c"], True), (["a", "…"], True), (["…", "b", "…"], True), (["…", "c"], True), ([], True),
        (["a", "b"], False), (["b", "c"], False), (["a", "c"], False), (["…", "x"], False),
        (["…", "c", "…", "b"], False),
    ],
)  # fmt: skip
def test_how_output_is_compared(shown: list[str], same: bool) -> None:
    assert differs(shown, ["a", "b", "c"]) is not same
