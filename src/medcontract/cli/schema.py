"""`medcontract schema list|show|export|check`."""

from __future__ import annotations

from pathlib import Path

import click

from medcontract.cli import output


@click.group("schema", short_help="The published JSON Schemas.")
def command() -> None:
    """The JSON Schemas of all contracts (draft 2020-12), for every other language."""


@command.command("list")
@click.option(
    "--format", "chosen", type=click.Choice(["text", "json"]), help="Default: text, or by the ending of --out."
)
@click.option("--out", metavar="FILE", type=click.Path(), help="Write the result there instead of standard output.")
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR=1 does the same.")
def list_contracts(chosen: str | None, out: str | None, no_color: bool) -> int:
    """All contracts: id, version, kind, containers, title, source."""
    from medcontract.contracts.registry import contracts
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
@click.argument("contract_id", metavar="ID")
@click.option("--record", is_flag=True, help="The schema of one record of a collection.")
@click.option("--out", metavar="FILE", type=click.Path(), help="Write the result there instead of standard output.")
def show(contract_id: str, record: bool, out: str | None) -> int:
    """The JSON Schema of one contract."""
    from medcontract.contracts import json_schema
    from medcontract.contracts.registry import contract
    from medcontract.errors import CallError

    found = contract(contract_id)
    if record and found.list_key is None:
        raise CallError(f"{contract_id} is a document: it has no records")
    schema = json_schema.record_schema(found) if record else json_schema.contract_schema(found)
    output.write(json_schema.text(schema), out)
    return 0


@command.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.argument("ids", nargs=-1, metavar="[ID]...")
def export(folder: str, ids: tuple[str, ...]) -> int:
    """Write the schemas of all contracts (or of these IDs) into DIR, as TRACK/NAME/v1.json."""
    from medcontract.contracts.json_schema import published
    from medcontract.contracts.registry import contract, contracts

    chosen = [contract(contract_id) for contract_id in ids] if ids else contracts()
    files = published(chosen)
    for name, content in files.items():
        target = Path(folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.ClickException(f"cannot make {target.parent}: {error.strerror}") from None
        output.write(content, str(target))
    click.echo(f"{len(files)} schemas of {len(chosen)} contracts written to {folder}", err=True)
    return 0


@command.command("check")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
def check(folder: str) -> int:
    """Are the schemas in DIR those of today's contracts, and valid themselves? Exit 1 when not."""
    from medcontract.contracts.json_schema import published, unsound
    from medcontract.contracts.registry import contracts

    files = published(contracts())
    wrong: list[str] = []
    for name, content in files.items():
        path = Path(folder) / name
        try:
            there = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            wrong.append(f"{path}: missing")
            continue
        except (OSError, UnicodeDecodeError):
            wrong.append(f"{path}: cannot be read")
            continue
        if there != content:
            wrong.append(f"{path}: stale, not what today's models give")
        reason = unsound(there)
        if reason:
            wrong.append(f"{path}: {reason}")
    known = {Path(folder) / name for name in files}
    wrong += [f"{path}: of no contract" for path in sorted(Path(folder).rglob("v*.json")) if path not in known]
    for line in wrong:
        click.echo(line)
    if wrong:
        click.echo(
            f"{len(wrong)} of {len(files)} schemas are wrong; mend: medcontract schema export {folder}", err=True
        )
        return 1
    click.echo(f"All {len(files)} schemas are up to date and valid.")
    return 0
