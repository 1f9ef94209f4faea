"""Commands to look things up: `schema`, `explain`, `normalize`, `init` and `cache`."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.cli.group import SuggestingGroup

if TYPE_CHECKING:
    from medcontract.results.schemas import Draft, SchemaCheck

_EXPLAIN = """\b
Examples:
  medcontract explain MC104
  medcontract explain 104 203 --format json
  medcontract explain                               list all codes
  medcontract explain --plugin ./stroke.py STROKE301
"""
_NORMALIZE = """\b
Examples:
  medcontract normalize '5 µg' '(4,50 - 8,50)'
  medcontract normalize --format json 'x 10⁶/ul'
  medcontract normalize - < names.txt               one text per line
"""
_INIT = f"""\b
Tracks: {", ".join(api.example_tracks())}, and tracks of plugins.

\b
Examples:
  medcontract init reports demo
  medcontract init triage demo && medcontract validate demo
  medcontract init --plugin ./my_challenge.py mine demo
"""
_CACHE = """\b
Examples:
  medcontract leaderboard truth.csv submissions/* --cache .cache
  medcontract cache info .cache
  medcontract cache clear .cache
"""


# --- schemas

_draft = click.option(
    "--draft", type=click.Choice(["2020-12", "draft-07"]), default="2020-12", show_default=True,
    help="The JSON Schema draft.",
)  # fmt: skip
_base_url = options.option("--base-url URL", "Use URLs below URL as $id, instead of URNs.")


@click.group("schema", cls=SuggestingGroup)
def schema() -> None:
    """The JSON Schemas of all contracts, for use from other languages.

    \b
    medcontract schema list
    medcontract schema show reports/truth --record
    medcontract schema show reports/truth --format markdown
    medcontract schema export out --draft draft-07
    medcontract schema diff old-schemas new-schemas
    """


@schema.command("list", short_help="List all contracts.")
@options.plugins
@options.result("ContractList")
def list_contracts(printer: output.Printer) -> int:
    """List all contracts, with version, kind, containers, title and source."""
    return printer.print(api.list_contracts())


@schema.command("show", short_help="Show the JSON Schema of a contract, or its data dictionary.")
@options.plugins
@click.argument("contract_id", metavar="ID", shell_complete=options.complete_contract)
@options.option("--record", "Show the schema of one record of a collection.")
@_draft
@options.result("ContractSchema")
def show(contract_id: str, record: bool, draft: Draft, printer: output.Printer) -> int:
    """Show the JSON Schema of a contract, or its data dictionary: fields, allowed values, rules and an example."""
    return printer.print(api.show_schema(contract_id, record=record, draft=draft))


@schema.command("export", short_help="Write schemas to a folder.")
@options.plugins
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=options.complete_contract)
@_draft
@_base_url
@options.quiet
def export(folder: str, ids: tuple[str, ...], draft: Draft, base_url: str | None) -> int:
    """Write the schemas of all contracts, or of the given IDs, to DIR, with an index.

    The files are TRACK/NAME/v1.json and v1.record.json; in draft-07, v1.draft-07.json and v1.record.draft-07.json.
    index.json lists them with hashes, also from earlier exports with the same draft and base URL.

    \b
    medcontract schema export schemas
    medcontract schema export public --base-url https://example.org/schemas reports/truth
    """
    done = api.export_schemas(folder, *ids, draft=draft, base_url=base_url)
    if output.is_quiet():
        return 0
    index = done.files[-1]
    counts = f"schemas: {len(done) - 1}, contracts: {done.contracts}"
    click.echo(f"Wrote {os.path.join(folder, index)} ({counts}).", err=True)
    if done.index_replaced:
        click.echo(f"{index} replaced, because it listed an export with another draft or base URL", err=True)
    return 0


@schema.command("check", short_help="Check that exported schemas are valid and up to date.")
@options.plugins
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@_base_url
@options.quiet
def check(folder: str, base_url: str | None) -> int:
    """Check that the schemas in DIR are valid and up to date. The exit code is 1 if they are not.

    Contracts and draft are those in DIR/index.json. With --base-url, also check that it was used for the export.
    A .json file that is not in the index is reported, too.
    """
    found = api.check_schemas(folder, base_url=base_url)
    output.Printer("SchemaCheck", None, None).print(found)
    if found or output.is_quiet():
        return 0 if found else 1
    files = len({fault.file for fault in found.faults})
    click.echo(f"Files with problems: {files}.", err=True)
    stray = [os.path.join(folder, fault.file) for fault in found.faults if fault.stray]
    if len(stray) < len(found.faults):
        click.echo(f"Update with: {_export_command(folder, found)}", err=True)
    if stray:
        click.echo(f"Remove files that are not in the index: {shlex.join(['rm', '--', *stray])}", err=True)
    return 1


def _export_command(folder: str, found: SchemaCheck) -> str:
    """Return the command that repeats the export."""
    words = ["medcontract", "schema", "export", *options.plugin_arguments(), folder]
    words += found._ids or []
    words += ["--draft", found._draft] if found._draft != "2020-12" else []
    words += ["--base-url", found._base_url] if found._base_url else []
    unknown = ", ".join(found._unknown)
    remark = (
        f" (with the --plugin that defines {unknown}; if it no longer exists, remove its files and index.json first)"
    )
    return shlex.join(words) + (remark if unknown else "")


@schema.command("diff", short_help="Show changes between schemas, and whom they break.")
@options.plugins
@click.argument("old", metavar="OLD", type=options.PathOrId())
@click.argument("new", metavar="NEW", type=options.PathOrId())
@options.option("--record", "Use the record schemas of IDs.")
@options.result("SchemaDiff")
def diff(old: str, new: str, record: bool, printer: output.Printer) -> int:
    """Show what changed from OLD to NEW, and whom it breaks. The exit code is 1 if a change is breaking.

    OLD and NEW are files, folders, or IDs of current contracts (./a/b is always a path).

    \b
    writers  data that is valid for OLD may be invalid for NEW
    readers  data that is valid for NEW may be invalid for OLD
    both     both, or the change cannot be judged
    none     the same data is valid

    \b
    medcontract schema diff v1.json v2.json
    medcontract schema diff schemas/reports/truth/v1.json reports/truth
    medcontract schema diff published-schemas schemas --format json
    """
    return printer.print(api.diff_schemas(old, new, record=record))


# --- codes, texts, examples and the cache


@click.command("explain", epilog=_EXPLAIN)
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=options.complete_code)
@options.plugins
@options.result("Explanation")
def explain(codes: tuple[str, ...], printer: output.Printer) -> int:
    """Explain problem codes such as MC104, with an example of the mistake and its fix. Without CODE, list all codes."""
    return printer.print(api.explain(*codes))


class _TakesNumbers(click.Command):
    """Accepts negative numbers such as -2,5 as texts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(re.match(r"-\s*[.,]?[0-9]", each) for each in args)
        return super().parse_args(ctx, args)


@click.command("normalize", epilog=_NORMALIZE, cls=_TakesNumbers)
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@options.result("Normalization")
def normalize(texts: tuple[str, ...], printer: output.Printer) -> int:
    """Show how each TEXT is normalized, and its tight form. Two texts are equal if one of these forms is the same.

    Use - to read lines from standard input. Put -- before a text that starts with a dash and a letter.
    """
    lines = (line for given in texts for line in (_lines() if given == "-" else [given]))
    return printer.print(api.normalize(*lines))


def _lines() -> list[str]:
    text = sys.stdin.buffer.read().decode(errors="replace") if sys.stdin else ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


@click.command("init", epilog=_INIT)
@options.plugins
@click.argument("track", shell_complete=options.complete_example)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@options.quiet
@options.force
def init(track: str, folder: str, force: bool) -> int:
    """Create a small, valid set of example files of TRACK in DIR. All data in them is fictitious."""
    written = api.init(track, folder, force=force)
    if output.is_quiet():
        return 0
    for path in written:
        click.echo(str(path))
    click.echo("Next: " + shlex.join(["medcontract", "validate", *options.plugin_arguments(), folder]), err=True)
    return 0


@click.group("cache", cls=SuggestingGroup, epilog=_CACHE)
def cache() -> None:
    """The results that validate and leaderboard keep in a folder with --cache DIR."""


@cache.command("info", short_help="Show how many results a cache contains.")
@click.argument("folder", metavar="DIR", type=click.Path())
@options.result("CacheInfo")
def info(folder: str, printer: output.Printer) -> int:
    """Show how many results are kept in DIR, their size, and the versions that made them."""
    return printer.print(api.cache_info(folder))


@cache.command("clear", short_help="Remove all results from a cache.")
@click.argument("folder", metavar="DIR", type=click.Path())
@options.result("CacheInfo")
def clear(folder: str, printer: output.Printer) -> int:
    """Remove all kept results from DIR. Other files in DIR are not touched."""
    return printer.print(api.clear_cache(folder))
