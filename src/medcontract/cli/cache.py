"""`medcontract cache`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.cli.group import SuggestingGroup

_EPILOG = """\b
Examples:
  medcontract leaderboard truth.csv submissions/* --cache .cache
  medcontract cache info .cache
  medcontract cache clear .cache
"""


@click.group("cache", cls=SuggestingGroup, epilog=_EPILOG)
def command() -> None:
    """The results that validate and leaderboard keep in a folder with --cache DIR."""


@command.command("info", short_help="Show how many results a cache contains.")
@click.argument("folder", metavar="DIR", type=click.Path())
@options.result("CacheInfo")
def info(folder: str, printer: output.Printer) -> int:
    """Show how many results are kept in DIR, their size, and the versions that made them."""
    printer.print(api.cache_info(folder))
    return 0


@command.command("clear", short_help="Remove all results from a cache.")
@click.argument("folder", metavar="DIR", type=click.Path())
@options.result("CacheInfo")
def clear(folder: str, printer: output.Printer) -> int:
    """Remove all kept results from DIR. Other files in DIR are not touched."""
    printer.print(api.clear_cache(folder))
    return 0
