"""The commands in the documentation, with the output that is shown.

A code block that starts with `$ ` is run, line by line, in a folder per page, which starts with a copy of `examples/`.
A block after a file name in backticks is written to that file. Comments, which readers do not see, say the rest:

    <!-- setup: COMMANDS -->   run by a shell before the first block
    <!-- exit: 1 1 0 -->       the exit codes of the commands of the next block, 0 by default
    <!-- not run: WHY -->      the next block is not run
    <!-- terminal -->          commands of the page see a terminal, so that values are shown

`…` in the output matches any lines. `python -m tests.documented` rewrites output without `…` that is out of date.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(
    r"(?ms)(?:^<!-- (?P<note>exit|not run): (?P<value>[^\n]*?) -->\n)?"
    r"(?:`(?P<name>[\w./-]+)`[^\n`]*:\n\n)?^```(?P<language>[a-z]*)\n(?P<body>.*?)^```$"
)
_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
_SETUP = re.compile(r"(?s)<!-- setup: (.*?) -->")


class Step(NamedTuple):
    """A file to write, a command with its output, or Python code."""

    kind: str
    text: str
    """The name of the file, the command, or the code."""
    content: list[str]
    """The lines of the file, or of the output."""
    exit_code: int = 0


def steps(page: str) -> Iterator[Step]:
    for setup in _SETUP.findall(page):
        yield Step("setup", setup, [])
    for found in _BLOCK.finditer(page):
        body = found["body"]
        if found["note"] == "not run":
            continue
        if body.startswith("$ "):
            codes = map(int, (found["value"] or "").split())
            for command in re.split(r"(?m)^\$ ", body)[1:]:
                line, *output = command.splitlines()
                yield Step("command", line, output, next(codes, 0))
        elif found["name"]:
            yield Step("file", found["name"], body.splitlines())
        elif found["language"] == "python" and "<!-- setup" in page:
            yield Step("python", body, [])


def differs(shown: list[str], printed: list[str]) -> bool:
    """Check whether the shown lines were not printed, one after the other; `…` matches any lines."""
    at, skip = 0, False
    for line in shown:
        if line == "…":
            skip = True
            continue
        found = printed.index(line, at) if skip and line in printed[at:] else at
        if printed[found : found + 1] != [line]:
            return True
        at, skip = found + 1, False
    return not skip and bool(shown) and printed[at:] != []


class Session:
    """A folder in which the commands of a page are run."""

    def __init__(self, page: str, folder: Path) -> None:
        """`medcontract` is this one, and settings of the caller do not count."""
        shutil.copytree(ROOT / "examples", folder / "examples")
        unset = ("MEDCONTRACT_", "COLUMNS", "FORCE_COLOR", "PYTHON")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
        self.environment |= {"PATH": path, "NO_COLOR": "1"}
        self.folder = folder
        self.terminal = "<!-- terminal -->" in page

    def run(self, step: Step) -> tuple[int, list[str], str]:
        """Run a step. Returns the exit code, the lines of the output, and what was printed to standard error."""
        if step.kind == "file":
            path = self.folder / step.text
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(step.content) + "\n", encoding="utf-8")
            return 0, [], ""
        word, _, rest = step.text.partition(" ")
        if word == "export":
            name, _, value = shlex.split(rest)[0].partition("=")
            self.environment[name] = value
            return 0, [], ""
        if word == "cd":
            self.folder /= rest
            return 0, [], ""
        command = [sys.executable, "-c", step.text] if step.kind == "python" else ["sh", "-euc", step.text]
        environment = self.environment
        if self.terminal:
            command, environment = [sys.executable, "-c", _TERMINAL, *command], {**environment, "COLUMNS": "120"}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )
        return done.returncode, done.stdout.splitlines(), done.stderr


def main() -> None:
    """Rewrite the output in all pages, where it has no `…`."""
    for path in PAGES:
        page = changed = path.read_text(encoding="utf-8")
        if not re.search(r"(?m)^\$ medcontract", page):
            continue
        with tempfile.TemporaryDirectory() as name:
            session = Session(page, Path(name))
            for step in steps(page):
                _, printed, _ = session.run(step)
                if step.kind == "command" and step.content and differs(step.content, printed):
                    if "…" in step.content:
                        sys.stdout.write(
                            f"{path.relative_to(ROOT)}: edit by hand: {step.text}\n" + "\n".join([*printed, ""])
                        )
                        continue
                    old, new = ("\n".join([f"$ {step.text}", *lines]) for lines in (step.content, printed))
                    changed = changed.replace(old, new.rstrip(), 1)
        if changed != page:
            path.write_text(changed, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}: rewritten\n")


if __name__ == "__main__":
    main()
