"""`medcontract schema list|show|export|check|diff`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from medcontract._version import __version__
from medcontract.cli import options, output
from medcontract.errors import CallError

if TYPE_CHECKING:
    from medcontract.definitions.publishing import Draft, Export

Decorator = Callable[[Callable[..., int]], Callable[..., int]]

_format: Decorator = click.option(
    "--format", "chosen", type=click.Choice(["text", "json"]), help="Default: text, or by the ending of --out."
)
_out: Decorator = click.option(
    "--out", metavar="FILE", type=click.Path(), help="Write the result there instead of standard output."
)
_no_color: Decorator = click.option("--no-color", is_flag=True, help="No colour; NO_COLOR=1 does the same.")
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
@_format
@_out
@_no_color
def list_contracts(chosen: str | None, out: str | None, no_color: bool) -> int:
    """All contracts: id, version, kind, containers, title, source."""
    from medcontract.definitions.registry import contracts
    from medcontract.rendering import json, text

    found = contracts()
    if output.format_of(chosen, out, {".json": "json"}) == "json":
        rendered = json.listing(found)
    else:
        rows = [("ID", "VERSION", "KIND", "CONTAINERS", "TITLE", "SOURCE")]
        rows += [(c.id, str(c.version), c.kind, " ".join(c.containers), c.title, c.source or "-") for c in found]
        rendered = text.table(rows, output.style(no_color, out))
    output.write(rendered, out)
    return 0


@command.command("show")
@options.plugins
@click.argument("contract_id", metavar="ID")
@click.option("--record", is_flag=True, help="The schema of one record of a collection.")
@_draft
@_out
def show(contract_id: str, record: bool, draft: Draft, out: str | None) -> int:
    """The JSON Schema of one contract."""
    from medcontract.definitions import json_schema

    output.write(json_schema.text(_of_contract(contract_id, record, draft)), out)
    return 0


def _of_contract(contract_id: str, record: bool, draft: Draft = "2020-12") -> dict[str, Any]:
    from medcontract.definitions.publishing import schema_of
    from medcontract.definitions.registry import contract

    found = contract(contract_id)
    if record and found.list_key is None:
        raise CallError(f"{contract_id} is a document: it has no records")
    return schema_of(found, record, draft)


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
    from medcontract.definitions import publishing
    from medcontract.definitions.registry import contract, contracts

    chosen = {contract_id: contract(contract_id) for contract_id in ids}.values() if ids else contracts()
    there = _files(Path(folder))
    before = publishing.found_export(there)
    alike = (before.draft, before.base_url) == (draft, base_url and publishing.sound_base(base_url))
    kept = [entry for entry in before.entries.values() if alike and entry and entry["path"] in there]
    files = publishing.export(chosen, __version__, draft, base_url, others=kept)
    for name, content in files.items():
        target = Path(folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.ClickException(f"cannot make {target.parent}: {error.strerror}") from None
        output.write(content, str(target))
    count = len(files) - 1
    click.echo(f"{count} schemas of {len(chosen)} contracts and {publishing.INDEX} written to {folder}", err=True)
    if publishing.INDEX in there and not alike:
        click.echo(
            f"{publishing.INDEX} listed an export in another draft or with another base URL: it lists this one now",
            err=True,
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
    from medcontract.definitions.publishing import found_export, wrong_files

    there = _files(Path(folder))
    export_there = found_export(there, base_url)
    wrong = wrong_files(there, export_there, __version__)
    for fault in wrong:
        click.echo(f"{Path(folder, fault.name)}: {fault.reason}")
    if wrong:
        files = len({fault.name for fault in wrong})
        click.echo(f"{files} file{'s' * (files != 1)} wrong.", err=True)
        stray = [str(Path(folder, fault.name)) for fault in wrong if fault.stray]
        if len(stray) < len(wrong):
            click.echo(f"Update with: {_export_command(folder, export_there)}", err=True)
        if stray:
            click.echo(f"Remove what is not in the index: {shlex.join(['rm', '--', *stray])}", err=True)
        return 1
    click.echo(f"All {len(there) - 1} schemas are up to date and valid.")
    return 0


def _export_command(folder: str, export_there: Export) -> str:
    """The command that writes this export again."""
    from medcontract.definitions.publishing import INDEX
    from medcontract.definitions.registry import compiled

    draft, base_url, entries = export_there
    words = ["medcontract", "schema", "export", *options.plugin_arguments(), folder]
    words += [] if entries.keys() == compiled().keys() else sorted(entries)
    words += ["--draft", draft] if draft != "2020-12" else []
    words += ["--base-url", base_url] if base_url else []
    unknown = sorted(entries.keys() - compiled().keys())
    remark = f" (with the --plugin that brings {', '.join(unknown)}; if it is gone, remove its files and {INDEX} first)"
    return shlex.join(words) + (remark if unknown else "")


def _files(root: Path) -> dict[str, str | None]:
    """The JSON files in a folder: schemas, their index, and what else there is."""
    return {path.relative_to(root).as_posix(): _text(path) for path in root.rglob("*.json") if not path.is_dir()}


def _text(path: Path) -> str | None:
    """What a file holds, to the byte; None when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


@command.command("diff")
@options.plugins
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--record", is_flag=True, help="An ID stands for the schema of one record.")
@_format
@_out
@_no_color
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
    from medcontract.definitions.diff import compare_files
    from medcontract.rendering import json, text

    before, now = _schemas(old, record), _schemas(new, record)
    if isinstance(before, dict) != isinstance(now, dict):
        raise CallError("one is a folder and the other is not", "compare two folders, or two schemas")
    changes = compare_files(
        before if isinstance(before, dict) else {new: before[0]}, now if isinstance(now, dict) else {new: now[0]}
    )
    if output.format_of(chosen, out, {".json": "json"}) == "json":
        rendered = json.schema_diff(changes)
    else:
        rendered = text.schema_diff(changes, output.style(no_color, out))
    output.write(rendered, out)
    return int(any(change.breaks != "none" for change in changes))


def _schemas(given: str, record: bool) -> dict[str, Any] | tuple[Any]:
    """The schemas of a folder by name, or the one that a file or an id stands for."""
    from medcontract.definitions.plugins import load_installed
    from medcontract.definitions.publishing import INDEX
    from medcontract.definitions.registry import compiled

    if given not in compiled() and not Path(given).exists():
        load_installed()
    if given in compiled():
        return (_of_contract(given, record),)
    path = Path(given)
    if not path.is_dir():
        return (_parsed(path, given),)
    found = sorted(inner for inner in path.rglob("*.json") if inner != path / INDEX)
    if not found:
        raise CallError(f"{given}: no schemas in this folder")
    return {inner.relative_to(path).as_posix(): _parsed(inner, str(inner)) for inner in found}


def _parsed(path: Path, given: str) -> Any:
    from medcontract.definitions.diff import parse

    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CallError(f"{given}: no such file, and no contract has that id", "see: medcontract schema list") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{given}: cannot be read: {reason.lower()}") from None
    return parse(content, given)
