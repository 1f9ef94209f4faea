"""Where results go: standard output or a file, in colour or not."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import click

from medcontract.errors import CallError
from medcontract.rendering.text import Style, plain

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


def format_of(chosen: str | None, out: str | None, endings: Mapping[str, str], default: str = "text") -> str:
    """The format that was asked for, or that the ending of the output file stands for."""
    if chosen:
        return chosen
    if out and Path(out).suffix.lower() in (".html", ".htm"):
        others = ", ".join(sorted(endings))
        raise CallError(f"{out}: there is no HTML yet", f"these endings are known: {others}; --format says it, too")
    return endings.get(Path(out).suffix.lower(), default) if out else default


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
    """To standard output, or to a file that is whole at any time: written beside, then renamed."""
    if out is None:
        click.echo(text, nl=False)
        return
    target = Path(out)
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        if target.exists() and not target.is_file():  # a pipe or a device: nothing to keep whole
            target.write_text(text, encoding="utf-8", errors="backslashreplace")
            return
        target = target.resolve() if target.is_symlink() else target
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n", errors="backslashreplace") as stream:
                stream.write(text)
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CallError(f"cannot write {out}: {(error.strerror or str(error)).lower()}") from None


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


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

    def of(self, name: str) -> Callable[[int, int], None] | None:
        """What shows how far one part of the work is; None where nobody would see it."""
        return partial(self._show, name) if sys.stderr.isatty() else None

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
