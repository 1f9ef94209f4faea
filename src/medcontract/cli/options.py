"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_PLUGINS = f"{__name__}.plugins"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A number of bytes, such as 500K, 64M or 2G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"([0-9]{1,12})([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        size = int(match.group(1)) * _UNITS[match.group(2).upper()] if match else 0
        if not size:
            self.fail(f"'{value}' is no size; write 500K, 64M or 2G", param, ctx)
        return size


def result(*formats: str) -> Callable[[F], F]:
    """How and where the result is written: --format, --out, --no-color."""
    wrappers = (
        click.option(
            "--format", "chosen", type=click.Choice(formats), help="Default: text, or by the ending of --out."
        ),
        click.option(
            "--out", metavar="FILE", type=click.Path(), help="Write the result there, not to standard output."
        ),
        click.option("--no-color", is_flag=True, help="No colour; NO_COLOR=1 does the same."),
    )

    def wrap(command: F) -> F:
        for wrapper in reversed(wrappers):
            command = wrapper(command)
        return command

    return wrap


def plugins(command: F) -> F:
    """--plugin MODULE: contracts of the user's own, loaded before anything else."""

    def load(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> None:
        ctx.meta[_PLUGINS] = names
        if names:
            from medcontract.definitions.plugins import load_module

            for name in names:
                load_module(name)

    return click.option(
        "--plugin", metavar="MODULE", multiple=True, expose_value=False, is_eager=True, callback=load,
        help="Contracts of your own: a module, or a .py file; may be repeated.",
    )(command)  # fmt: skip


def plugin_arguments() -> list[str]:
    """The --plugin options of this call, for a command that we tell the user to run."""
    return [word for name in click.get_current_context().meta[_PLUGINS] for word in ("--plugin", name)]


def complete_contract(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Contract ids for the shell."""
    from medcontract.definitions.registry import compiled

    return [contract_id for contract_id in compiled() if contract_id.startswith(incomplete)]
