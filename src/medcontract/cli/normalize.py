"""`medcontract normalize`."""

from __future__ import annotations

import re
import sys

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract normalize '5 µg' '(4,50 - 8,50)'
  medcontract normalize --format json 'x 10⁶/ul'
  medcontract normalize - < names.txt               one text per line
"""


class _TakesNumbers(click.Command):
    """Accepts negative numbers such as -2,5 as texts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(re.match(r"-\s*[.,]?[0-9]", each) for each in args)
        return super().parse_args(ctx, args)


@click.command("normalize", epilog=_EPILOG, cls=_TakesNumbers)
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@options.result("Normalization")
def command(texts: tuple[str, ...], printer: output.Printer) -> int:
    """Show how each TEXT is normalized, and its tight form. Two texts are equal if one of these forms is the same.

    Use - to read lines from standard input. Put -- before a text that starts with a dash and a letter.
    """
    printer.print(api.normalize(*(line for given in texts for line in (_lines() if given == "-" else [given]))))
    return 0


def _lines() -> list[str]:
    text = sys.stdin.buffer.read().decode(errors="replace") if sys.stdin else ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines
