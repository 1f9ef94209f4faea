"""Writing results to standard output or a file, with or without colors."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar

import click

from medcontract import addresses, rendering
from medcontract.errors import CallError
from medcontract.rendering.page import Style, View, clean, plain

if TYPE_CHECKING:
    from medcontract.results.base import Result

T = TypeVar("T")
MAX_ALIKE = 3
"""The number of similar problems that are kept for text, which shows the first and the places of the others."""
_COLORS = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "hint": {"fg": "cyan"},
    "dim": {"dim": True},
    "strong": {"bold": True},
    "good": {"fg": "green"},
}


def _colored(text: str, role: str) -> str:
    return click.style(text, **_COLORS[role])  # type: ignore[arg-type]  # fg is a str, bold a bool


def terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def error_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr.isatty()


_QUIET = f"{__name__}.quiet"
_FORMAT = "MEDCONTRACT_FORMAT"


def set_quiet(quiet: bool | None) -> None:
    """Set whether --quiet or --no-quiet was given, or $MEDCONTRACT_QUIET."""
    click.get_current_context().meta[_QUIET] = quiet


def is_quiet() -> bool:
    """Return whether to show only the outcome: --quiet."""
    return bool(click.get_current_context().meta.get(_QUIET))


def notice(message: str) -> None:
    """Print a message about the call to standard error, except with --quiet."""
    if not is_quiet():
        click.echo(f"medcontract: {clean(addresses.hide_credentials(message))}", err=True)


def style(no_color: bool, out: str | None = None) -> Style:
    return _colored if out is None and not no_color and _wants_color() else plain


def _wants_color() -> bool:
    """Return the environment, then whether the terminal has colors."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced not in ("0", "false")
    return terminal() and not dumb_terminal()


def dumb_terminal() -> bool:
    """Return whether the terminal cannot interpret escape sequences."""
    return os.environ.get("TERM") == "dumb"


def format_of(result: str, chosen: str | None, out: str | None) -> str:
    """Return the chosen format, or from the extension of the output file, or $MEDCONTRACT_FORMAT, or the default.

    A format that only other commands have is ignored. Raises `CallError` for an unknown format or extension.
    """
    addresses.require_local(out, "--out", "write to a local file, and copy it")
    if chosen:
        return chosen
    if not out:
        default, formats = os.environ.get(_FORMAT), rendering.formats_of(result)
        if default and default not in rendering.all_formats():
            from medcontract.contracts.suggestions import did_you_mean  # slow to import

            raise CallError(f"{_FORMAT}: unknown format '{default}'", did_you_mean(default, rendering.all_formats()))
        return default if default in formats else formats[0]
    extensions = rendering.extensions_of(result)
    from pathlib import Path  # slow to import, and not needed without --out

    extension = Path(out).suffix.lower()
    if extension not in extensions:
        known = ", ".join(f"{name} ({_extensions(extensions, name)})" for name in rendering.formats_of(result))
        raise CallError(f"{out}: no format has the extension '{extension}'", f"use one of {known}, or pass --format")
    return extensions[extension]


def _extensions(extensions: Mapping[str, str], format_name: str) -> str:
    return " or ".join(extension or "no extension" for extension, name in extensions.items() if name == format_name)


def write(text: str, out: str | None, color: bool | None = None) -> None:
    """Write to standard output, or atomically to a file. `color`: keep colors even if it is not a terminal."""
    if out is None:
        click.echo(text, nl=False, color=color)
    else:
        from medcontract.atomic_write import write_file  # slow to import

        write_file(text, out)


def _width() -> int | None:
    """Return the width of the terminal, or what COLUMNS says."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit():
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None


class ProblemSettings(TypedDict):
    """How many problems are kept, and how."""

    max_problems: int
    max_alike: int | None
    excerpts: bool


class Printer:
    """Prints a result according to --format, --out, --no-color and --show-values."""

    def __init__(
        self, result: str, chosen: str | None = None, out: str | None = None, no_color: bool = False,
        show_values: bool = False, max_problems: int | None = None, also: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.format = format_of(result, chosen, out)
        self._also = [(format_of(result, None, name), name) for name in also]
        if len({*also, out}) <= len(also):
            raise CallError("--out and --also name the same file twice", "give each file once")
        self.chosen, self.out, self.values_asked = chosen, out, show_values
        self.as_text = self.format == "text"
        self._most, self._shown = max_problems, 50
        self._style = style(no_color, out)
        self.show_values = show_values or (self.as_text and out is None and terminal())
        """Values of records are shown on a terminal, otherwise only with --show-values."""
        self.plugin_errors = show_values or (self.show_values and error_terminal())
        """The same for the messages of exceptions in plugins, which go to standard error."""

    def print(self, result: Result) -> int:
        """Print a result. Return the exit code: 1 if it is falsy."""
        width = _width() if self.as_text and self.out is None and terminal() else None
        view = View(self._style, self.show_values, self._shown, is_quiet(), width)
        colored = self.as_text and self._style is not plain
        write(rendering.render(result, self.format, view), self.out, colored or None)
        for name, path in self._also:
            plain_view = View(plain, self.values_asked, self._shown, is_quiet())
            write(rendering.render(result, name, plain_view), path)
        return 0 if result else 1

    def show(self, function: Callable[..., Result], *arguments: object, **given: object) -> int:
        """Call a function of the API, and print its result. Return the exit code."""
        return self.print(function(*arguments, **given))

    def problem_settings(self, most: int) -> ProblemSettings:
        """Return how many problems to keep: for text the first of each kind, with excerpts if values are shown."""
        self._shown = min(self._most if self._most is not None else 50 if self.as_text else most, most)
        return {
            "max_problems": min(self._shown * MAX_ALIKE, most) if self.as_text else self._shown,
            "max_alike": MAX_ALIKE if self.as_text else None,
            "excerpts": self.show_values and self.format in rendering.WITH_EXCERPTS,
        }


def call(unit: str, function: Callable[..., T], /, *arguments: object, **given: object) -> T:
    """Call a function of the API with notices and a progress bar, which counts `unit`."""
    with Progress(unit) as progress:
        return function(*arguments, notice=notice, progress=progress.show, **given)


class Progress:
    """A progress bar on standard error with rate and time left, shown after a second, on a terminal only.

    It is removed at the end of the `with` block. `unit`: what is counted, unless a step counts something else.
    """

    def __init__(self, unit: str = "bytes") -> None:
        self._unit = unit
        self._started = time.monotonic()
        self._step = ("", 0.0, 0)
        """The current step, when it began, and the work that was done then."""
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
        """A function that updates the bar; None if standard error is not a terminal."""
        return self._show if sys.stderr.isatty() and not dumb_terminal() and not is_quiet() else None

    def _show(self, name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if name != self._step[0]:
            self._step = (name, now, done)
        if now - self._started > 1 and (self._shown is None or now - self._shown > 0.1):
            self._shown = now
            share = done / total if total else 1
            bar = ("#" * round(30 * share)).ljust(30)
            self._write(f"[{bar}] {share:4.0%} {name}{self._speed(now, done, total)}")

    def _speed(self, now: float, done: int, total: int) -> str:
        name, began, before = self._step
        rate = (done - before) / (now - began) if now > began else 0
        if rate <= 0:
            return ""
        left = round(max(total - done, 0) / rate)
        clock = (
            f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}" if left >= 3600 else f"{left // 60}:{left % 60:02}"
        )
        return f", {_rate(rate, 'images' if name == _IMAGES else self._unit)}, {clock} left"

    @staticmethod
    def _write(line: str) -> None:
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()


_IMAGES = "checking images"


def _rate(rate: float, unit: str) -> str:
    if unit == "bytes":
        return f"{rate / 1e6:.1f} MB/s"
    return f"{rate:.1f} {unit}/s" if rate < 100 else f"{rate:,.0f} {unit}/s"
