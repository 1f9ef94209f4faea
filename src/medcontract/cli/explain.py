"""`medcontract explain`."""

from __future__ import annotations

import click

from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract explain MC104
  medcontract explain 104 203 --format json
  medcontract explain                               all codes
"""


@click.command("explain", epilog=_EPILOG, short_help="What a problem means and how to mend it.")
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@options.result("text", "json")
def command(codes: tuple[str, ...], chosen: str | None, out: str | None, no_color: bool) -> int:
    """Explain problem codes such as MC104: what they mean, a mistake, its mending. Without CODE: list them all."""
    from medcontract.catalogue import CATALOGUE, Entry
    from medcontract.definitions.suggest import nearest
    from medcontract.errors import CallError
    from medcontract.rendering import json, text

    chosen = output.format_of(chosen, out, {".json": "json"})
    found: list[Entry] = []
    for code in codes:
        wanted = code.upper() if code.upper().startswith("MC") else f"MC{code}"
        if wanted not in CATALOGUE:
            guess = nearest(wanted, CATALOGUE)
            raise CallError(f"no problem has the code '{code}'", f"did you mean {guess}?" if guess else None)
        found.append(CATALOGUE[wanted])
    style = output.style(no_color, out)
    if chosen == "json":
        rendered = json.explanation(found or CATALOGUE.values())
    elif found:
        rendered = text.explanation(found, style)
    else:
        rendered = text.codes(CATALOGUE.values(), style)
    output.write(rendered, out)
    return 0
