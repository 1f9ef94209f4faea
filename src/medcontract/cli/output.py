"""Where results go: standard output or a file, in colour or not."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from medcontract import api, rendering
from medcontract.errors import CallError
from medcontract.rendering.view import Style, View, plain

if TYPE_CHECKING:
    from medcontract.results.base import Result

_COLOURS = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "hint": {"fg": "cyan"},
    "dim": {"dim": True},
    "strong": {"bold": True},
    "good": {"fg": "green"},
}


def _coloured(text: str, role: str) -> str:
    return click.style(text, **_COLOURS[role])  # type: ignore[arg-type]  # fg is a str, bold a bool


def terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty()


def error_terminal() -> bool:
    """Whether a person is looking at standard error."""
    return sys.stderr.isatty()


def style(no_color: bool, out: str | None = None) -> Style:
    quiet = no_color or out is not None or bool(os.environ.get("NO_COLOR")) or not terminal()
    return plain if quiet else _coloured


def format_of(result: str, chosen: str | None, out: str | None) -> str:
    """The format that was asked for, or that the ending of the output file means. Raises `CallError` for no such."""
    if chosen or not out:
        return chosen or "text"
    endings = rendering.endings_of(result)
    from pathlib import Path  # slow to import, and not needed without --out

    ending = Path(out).suffix.lower()
    if ending not in endings:
        known = ", ".join(f"{name} ({_endings(endings, name)})" for name in rendering.formats_of(result))
        raise CallError(f"{out}: '{ending}' means no format", f"there are {known}; with --format any ending will do")
    return endings[ending]


def _endings(endings: Mapping[str, str], format_name: str) -> str:
    return " or ".join(ending or "no ending" for ending, name in endings.items() if name == format_name)


def refuse_input(out: str, given: Iterable[str]) -> None:
    """What a call reads is not to be replaced by its result, however the path is spelled. Raises `CallError`."""
    try:
        there = os.stat(out)
    except (OSError, ValueError):
        return  # nothing there that could be lost
    if not stat.S_ISREG(there.st_mode):
        return
    for name in given:
        try:
            same = _is_input(out, there, name)
        except (OSError, ValueError):  # whoever reads it says what is wrong
            continue
        if same:
            where = f"is in {name}, which is" if os.path.isdir(name) else "is"
            raise CallError(f"--out: {out} {where} an input of this call", "write the result to another file")


def _is_input(out: str, there: os.stat_result, name: str) -> bool:
    if name == "-":
        return sys.stdin is not None and os.path.samestat(os.fstat(sys.stdin.fileno()), there)
    if not os.path.isdir(name):
        return os.path.samestat(os.stat(name), there)
    root = os.path.join(os.path.realpath(name), "")
    spelled = os.path.join(os.path.realpath(os.path.dirname(out)), os.path.basename(out))
    if spelled.startswith(root) or os.path.realpath(out).startswith(root):
        return True
    if there.st_nlink < 2:
        return False
    files = (os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files)
    return any(os.path.samestat(os.stat(file), there) for file in files if os.path.exists(file))


def write(text: str, out: str | None) -> None:
    """To standard output, or to a file that is whole at any time."""
    if out is None:
        click.echo(text, nl=False)
    else:
        api.write_file(text, out)


class Printer:
    """Where one result goes, and how: --format, --out, --no-color, --show-values."""

    def __init__(
        self, result: str, chosen: str | None, out: str | None, no_color: bool = False, show_values: bool = False
    ) -> None:
        self.format = format_of(result, chosen, out)
        self.as_text = self.format == "text"
        self._out = out
        self._style = style(no_color, out)
        self.show_values = show_values or (self.as_text and out is None and terminal())
        """Values of records are shown on a terminal, else only where that was asked for."""
        self.plugin_errors = show_values or (self.show_values and error_terminal())
        """The same for messages of plugins' exceptions: they go to standard error, which may be a log."""

    def print(self, result: Result, max_problems: int = 50) -> None:
        view = View(self._style, self.show_values, max_problems)
        write(rendering.render(result, self.format, view), self._out)

    def problem_settings(self, max_problems: int | None, most: int) -> dict[str, Any]:
        """Which problems are kept: in text the first of each sort, with their lines where values are shown."""
        limit = max_problems if max_problems is not None else 50 if self.as_text else most
        return {
            "max_problems": limit,
            "max_alike": 3 if self.as_text else None,
            "excerpts": self.as_text and self.show_values,
        }


class Progress:
    """A line on standard error that shows how far the work is, on a terminal and after a second only.

    It is gone at the end of the `with` block.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._write("")

    @property
    def show(self) -> Callable[[str, int, int], None] | None:
        """What shows how far one part of the work is; None where nobody would see it."""
        return self._show if sys.stderr.isatty() else None

    def _show(self, name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._started > 1 and (self._shown is None or now - self._shown > 0.1):
            self._shown = now
            share = done / total if total else 1
            bar = ("#" * round(30 * share)).ljust(30)
            self._write(f"[{bar}] {share:4.0%} {name}")

    @staticmethod
    def _write(line: str) -> None:
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()
