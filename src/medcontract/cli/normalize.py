"""`medcontract normalize`."""

from __future__ import annotations

import sys

import click

from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract normalize '5 µg' '(4,50 - 8,50)'
  medcontract normalize --format json 'x 10⁶/ul'
  medcontract normalize - < names.txt               a text a line
"""


@click.command("normalize", epilog=_EPILOG, short_help="What normalization does to a text, step by step.")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@options.result("text", "json")
def command(texts: tuple[str, ...], chosen: str | None, out: str | None, no_color: bool) -> int:
    """Show what normalization makes of each TEXT: texts are equal where the last line is. - reads lines from
    standard input; a text that starts with a dash comes after --.
    """
    from medcontract.normalizers.text import steps
    from medcontract.rendering import json, text

    found = [line for given in texts for line in (_lines() if given == "-" else [given])]
    worked = [(each, steps(each)) for each in found]
    if output.format_of(chosen, out, {".json": "json"}) == "json":
        rendered = json.normalization(worked)
    else:
        rendered = text.normalization(worked, output.style(no_color, out))
    output.write(rendered, out)
    return 0


def _lines() -> list[str]:
    return sys.stdin.buffer.read().decode(errors="replace").splitlines() if sys.stdin else []
