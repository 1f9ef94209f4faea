"""`medcontract schema list|show|export|check|diff`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.cli.group import SuggestingGroup

if TYPE_CHECKING:
    from medcontract.results.schemas import Draft, SchemaCheck

Decorator = Callable[[Callable[..., int]], Callable[..., int]]

_draft: Decorator = click.option(
    "--draft", type=click.Choice(["2020-12", "draft-07"]), default="2020-12", show_default=True,
    help="The JSON Schema draft.",
)  # fmt: skip
_base_url: Decorator = click.option("--base-url", metavar="URL", help="Use URLs below URL as $id, instead of URNs.")


@click.group("schema", cls=SuggestingGroup)
def command() -> None:
    """The JSON Schemas of all contracts, for use from other languages.

    \b
    medcontract schema list
    medcontract schema show reports/truth --record
    medcontract schema show reports/truth --format markdown
    medcontract schema export out --draft draft-07
    medcontract schema diff old-schemas new-schemas
    """


@command.command("list", short_help="List all contracts.")
@options.plugins
@options.result("ContractList")
def list_contracts(printer: output.Printer) -> int:
    """List all contracts, with version, kind, containers, title and source."""
    printer.print(api.list_contracts())
    return 0


@command.command("show", short_help="Show the JSON Schema of a contract, or its data dictionary.")
@options.plugins
@click.argument("contract_id", metavar="ID", shell_complete=options.complete_contract)
@click.option("--record", is_flag=True, help="Show the schema of one record of a collection.")
@_draft
@options.result("ContractSchema")
def show(contract_id: str, record: bool, draft: Draft, printer: output.Printer) -> int:
    """Show the JSON Schema of a contract, or its data dictionary: fields, allowed values, rules and an example."""
    printer.print(api.show_schema(contract_id, record=record, draft=draft))
    return 0


@command.command("export", short_help="Write schemas to a folder.")
@options.plugins
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=options.complete_contract)
@_draft
@_base_url
@options.quiet
def export(folder: str, ids: tuple[str, ...], draft: Draft, base_url: str | None) -> int:
    """Write the schemas of all contracts, or of the given IDs, to DIR, with an index.

    The files are TRACK/NAME/v1.json and v1.record.json; in draft-07, v1.draft-07.json and v1.record.draft-07.json.
    index.json lists them with hashes, including those of earlier exports with the same draft and base URL.

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


@command.command("check", short_help="Check that exported schemas are valid and up to date.")
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
    """The command that repeats the export."""
    words = ["medcontract", "schema", "export", *options.plugin_arguments(), folder]
    words += found._ids or []
    words += ["--draft", found._draft] if found._draft != "2020-12" else []
    words += ["--base-url", found._base_url] if found._base_url else []
    unknown = ", ".join(found._unknown)
    remark = (
        f" (with the --plugin that defines {unknown}; if it no longer exists, remove its files and index.json first)"
    )
    return shlex.join(words) + (remark if unknown else "")


@command.command("diff", short_help="Show changes between schemas, and whom they break.")
@options.plugins
@click.argument("old", metavar="OLD", type=options.PathOrId())
@click.argument("new", metavar="NEW", type=options.PathOrId())
@click.option("--record", is_flag=True, help="Use the record schemas of IDs.")
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
    found = api.diff_schemas(old, new, record=record)
    printer.print(found)
    return 0 if found else 1
