"""`medcontract schema list|show|export|check|diff`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.rendering.json import dumps

if TYPE_CHECKING:
    from medcontract.results.schemas import Draft, SchemaCheck

Decorator = Callable[[Callable[..., int]], Callable[..., int]]

_draft: Decorator = click.option(
    "--draft", type=click.Choice(["2020-12", "draft-07"]), default="2020-12", show_default=True,
    help="The draft of JSON Schema.",
)  # fmt: skip
_base_url: Decorator = click.option(
    "--base-url", metavar="URL", help="Make each $id the address of its file below URL, instead of a URN."
)


@click.group("schema", short_help="The published JSON Schemas.")
def command() -> None:
    """The JSON Schemas of all contracts, for every other language.

    \b
    medcontract schema list
    medcontract schema show reports/truth --record
    medcontract schema export out --draft draft-07
    medcontract schema diff old-schemas new-schemas
    """


@command.command("list")
@options.plugins
@options.result("ContractList")
def list_contracts(chosen: str | None, out: str | None, no_color: bool) -> int:
    """All contracts: id, version, kind, containers, title, source."""
    printer = output.Printer("ContractList", chosen, out, no_color)
    printer.print(api.list_contracts())
    return 0


@command.command("show")
@options.plugins
@click.argument("contract_id", metavar="ID")
@click.option("--record", is_flag=True, help="The schema of one record of a collection.")
@_draft
@options.out
def show(contract_id: str, record: bool, draft: Draft, out: str | None) -> int:
    """The JSON Schema of one contract."""
    output.write(dumps(api.json_schema(contract_id, record=record, draft=draft)), out)
    return 0


@command.command("export")
@options.plugins
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_draft
@_base_url
def export(folder: str, ids: tuple[str, ...], draft: Draft, base_url: str | None) -> int:
    """Write the schemas of all contracts (or of these IDs) into DIR, with an index.

    The files are TRACK/NAME/v1.json and v1.record.json; in draft-07, v1.draft-07.json and v1.record.draft-07.json.
    index.json lists what was written, with hashes, and what an export of the same sort had written before.

    \b
    medcontract schema export schemas
    medcontract schema export public --base-url https://example.org/schemas reports/truth
    """
    done = api.export_schemas(folder, *ids, draft=draft, base_url=base_url)
    index = done.files[-1]
    click.echo(f"{len(done) - 1} schemas of {done.contracts} contracts and {index} written to {folder}", err=True)
    if done.index_replaced:
        click.echo(
            f"{index} listed an export in another draft or with another base URL: it lists this one now", err=True
        )
    return 0


@command.command("check")
@options.plugins
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@_base_url
def check(folder: str, base_url: str | None) -> int:
    """Are the schemas in DIR those of today's contracts, and valid themselves? Exit 1 when not.

    DIR/index.json says which contracts were exported, and in which draft. With --base-url: was it with this one?
    A .json file that is not in the index is reported too.
    """
    found = api.check_schemas(folder, base_url=base_url)
    output.Printer("SchemaCheck", None, None).print(found)
    if found:
        return 0
    files = len({fault.file for fault in found.faults})
    click.echo(f"Wrong files: {files}.", err=True)
    stray = [os.path.join(folder, fault.file) for fault in found.faults if fault.stray]
    if len(stray) < len(found.faults):
        click.echo(f"Update with: {_export_command(folder, found)}", err=True)
    if stray:
        click.echo(f"Remove what is not in the index: {shlex.join(['rm', '--', *stray])}", err=True)
    return 1


def _export_command(folder: str, found: SchemaCheck) -> str:
    """The command that writes this export again."""
    words = ["medcontract", "schema", "export", *options.plugin_arguments(), folder]
    words += found._ids or []
    words += ["--draft", found._draft] if found._draft != "2020-12" else []
    words += ["--base-url", found._base_url] if found._base_url else []
    unknown = ", ".join(found._unknown)
    remark = f" (with the --plugin that brings {unknown}; if it is gone, remove its files and index.json first)"
    return shlex.join(words) + (remark if unknown else "")


@command.command("diff")
@options.plugins
@click.argument("old", metavar="OLD", type=options.PathOrId())
@click.argument("new", metavar="NEW", type=options.PathOrId())
@click.option("--record", is_flag=True, help="An ID stands for the schema of one record.")
@options.result("SchemaDiff")
def diff(old: str, new: str, record: bool, chosen: str | None, out: str | None, no_color: bool) -> int:
    """What changed from OLD to NEW, and whom does it break? Exit 1 when it breaks anyone.

    OLD and NEW are files or folders, or IDs of contracts as they are today (./a/b is always a path).

    \b
    writers  what is valid by OLD may not be by NEW: those who write by OLD
    readers  what is valid by NEW may not be by OLD: those who read by OLD
    both     either, or it cannot be judged
    none     no one: what is accepted is the same

    \b
    medcontract schema diff v1.json v2.json
    medcontract schema diff schemas/reports/truth/v1.json reports/truth
    medcontract schema diff published-schemas schemas --format json
    """
    printer = output.Printer("SchemaDiff", chosen, out, no_color)
    found = api.diff_schemas(old, new, record=record)
    printer.print(found)
    return 0 if found else 1
