"""docs/your-own-challenge.md: its files, commands and output, in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support import ROOT

from medcontract.cli.main import main

PAGE = ROOT / "docs" / "your-own-challenge.md"
_BLOCK = re.compile(r"(?ms)(?:`([\w./-]+)`:\n\n)?^```([a-z]*)\n(.*?)^```$")


class Step(NamedTuple):
    """A file to write, a command with its output, or Python code."""

    kind: str
    text: str
    """The name of the file, the command, or the code."""
    content: list[str]
    """The lines of the file, or of the output."""


def steps() -> Iterator[Step]:
    for name, language, body in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "console":
            first, *commands = re.split(r"(?m)^\$ ", body)
            assert first == ""
            for command in commands:
                line, *output = command.splitlines()
                yield Step("command", line, output)
        elif language == "python":
            yield Step("python", body, [])
        else:
            assert name, f"a block without the name of a file: {body[:40]}"
            yield Step("file", name, body.splitlines())


def assert_shown(shown: list[str], printed: list[str]) -> None:
    """The shown lines were printed, one after the other; `…` stands for any lines."""
    at, skip = 0, False
    for line in shown:
        if line == "…":
            skip = True
            continue
        found = printed.index(line, at) if skip and line in printed[at:] else at
        assert printed[found : found + 1] == [line]
        at, skip = found + 1, False
    assert skip or not shown or printed[at:] == []


def run_command(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    program, *arguments = shlex.split(command)
    if program == "export":
        name, _, value = arguments[0].partition("=")
        monkeypatch.setenv(name, value)
        return 0
    assert program == "medcontract"
    return main(arguments)


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command succeeds (or finds the mistakes that the page shows) and prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEDCONTRACT_CHALLENGE", raising=False)
    kinds = []
    for kind, text, content in steps():
        kinds.append(kind)
        if kind == "file":
            path = tmp_path / text
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(content) + "\n", encoding="utf-8")
        elif kind == "python":
            exec(text, {})  # noqa: S102  # the code of our own page
        else:
            code = run_command(text, monkeypatch)
            printed = capsys.readouterr()
            assert code == ("draft.csv" in text), (text, printed.err)
            assert_shown(content, printed.out.splitlines())
    assert kinds.count("command") >= 10
    assert kinds.count("file") >= 5
    assert "python" in kinds


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        (["a", "b", "c"], True), (["a", "…"], True), (["…", "b", "…"], True), (["…", "c"], True), ([], True),
        (["a", "b"], False), (["b", "c"], False), (["a", "c"], False), (["…", "x"], False),
        (["…", "c", "…", "b"], False),
    ],
)  # fmt: skip
def test_how_output_is_compared(shown: list[str], same: bool) -> None:
    printed = ["a", "b", "c"]
    if same:
        assert_shown(shown, printed)
    else:
        with pytest.raises(AssertionError):
            assert_shown(shown, printed)
