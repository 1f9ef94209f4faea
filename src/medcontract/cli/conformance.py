"""`medcontract conformance`."""

from __future__ import annotations

import sys

import click

from medcontract import conformance as suites
from medcontract.cli import options
from medcontract.cli.group import SuggestingGroup
from medcontract.rendering.page import clean

_EPILOG = """\b
Examples:
  medcontract conformance run -- node my-checker.mjs
  medcontract conformance run --level syntax --level schema -- ./my-checker
  medcontract conformance run -- medcontract conformance serve
"""
_LONGEST = 300


@click.group("conformance", cls=SuggestingGroup, epilog=_EPILOG)
def conformance() -> None:
    """Test an implementation in another language: see docs/another-language.md."""


@conformance.command("run", epilog=_EPILOG)
@click.option("--level", "levels", multiple=True, type=click.Choice(list(suites.LEVELS)),
              help="Only this level. The option can be repeated.")  # fmt: skip
@options.option("--suite DIR", "The folder of the suite, if not here.", type=click.Path(file_okay=False))
@options.option("--verdicts", "Compare only `ok`: whether a file is accepted, not its problems.")
@click.option("--max-differences", type=click.IntRange(min=0), default=10, show_default=True, metavar="N",
              help="How many differences are shown.")  # fmt: skip
@click.argument("arguments", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
def run(
    levels: tuple[str, ...], suite: str | None, verdicts: bool, max_differences: int, arguments: tuple[str, ...]
) -> int:
    """Start COMMAND, ask it about all cases of the suite, and print how often it agrees."""
    folder = suites.suite_folder(suite)
    found = suites.run(arguments, folder, levels or tuple(suites.LEVELS), verdicts=verdicts)
    wrong = [difference.level for difference in found.differences]
    for level, count in found.cases.items():
        skipped = found.skipped[level]
        also = f", {skipped} skipped" if skipped else ""
        click.echo(f"{level:<10}{count - wrong.count(level) - skipped} of {count} agree{also}")
    for difference in found.differences[:max_differences]:
        click.echo(f"\n{difference.level}: {clean(difference.case)}")
        click.echo(f"  expected {_short(difference.expected)}\n  answered {_short(difference.answer)}")
    if len(wrong) > max_differences > 0:
        click.echo(f"\n… and {len(wrong) - max_differences} more differences.")
    return 0 if found else 1


@conformance.command("serve")
def serve() -> int:
    """Answer requests on standard input, as an implementation does that `run` can test."""
    for answer in suites.answers(sys.stdin.buffer):
        click.echo(answer)
        sys.stdout.flush()
    return 0


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
