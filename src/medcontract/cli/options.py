"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from medcontract import api, rendering
from medcontract.cli import output
from medcontract.errors import CallError

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


class PathOrId(click.Path):
    """A path, or the id of a contract; whoever reads it says what is wrong with it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


def result(name: str) -> Callable[[F], F]:
    """How and where a result, named by its class, is written: --format, --out, --no-color."""
    wrappers = (
        click.option(
            "--format", "chosen", type=click.Choice(rendering.formats_of(name)),
            help="Default: text, or by the ending of --out.",
        ),
        out,
        click.option("--no-color", is_flag=True, help="No colour; NO_COLOR=1 does the same."),
    )  # fmt: skip

    def wrap(command: F) -> F:
        for wrapper in reversed(wrappers):
            command = wrapper(command)
        return command

    return wrap


def out(command: F) -> F:
    """--out FILE, which may be no file that the call reads."""

    @wraps(command)
    def checked(*arguments: Any, **values: Any) -> Any:
        target = click.get_current_context().params["out"]
        if target is not None:
            output.refuse_input(target, _given_paths())
        return command(*arguments, **values)

    wrapped: Any = click.option(
        "--out", metavar="FILE", type=click.Path(), help="Write the result there, not to standard output."
    )(checked)
    return cast(F, wrapped)


def _given_paths() -> list[str]:
    """The files and folders that the call names: all that is a path but --out."""
    context = click.get_current_context()
    given = list(context.meta.get(_PLUGINS, ()))
    for parameter in context.command.params:
        if isinstance(parameter.type, click.Path) and parameter.name != "out":
            value = context.params.get(parameter.name or "")
            given += value if isinstance(value, tuple) else [value] * (value is not None)
    return [api.path_of(name) for name in given]


def problems(command: F) -> F:
    """--max-problems, --show-values."""
    command = click.option(
        "--show-values", is_flag=True, help="Show offending values even where the output may be shared."
    )(command)
    return click.option(
        "--max-problems", type=click.IntRange(min=0), metavar="N", help="List at most N problems a file (text: 50)."
    )(command)


def limits(command: F) -> F:
    """--max-record, --max-unpacked."""
    command = click.option(
        "--max-unpacked", type=Size(), metavar="SIZE", help="Most that .gz may unpack to (default 4G)."
    )(command)
    return click.option("--max-record", type=Size(), metavar="SIZE", help="Largest record (default 16M).")(command)


def jobs(about: str) -> Callable[[F], F]:
    """--jobs N: worker processes."""
    return click.option("--jobs", type=click.IntRange(min=1), metavar="N", default=1, help=f"{about} Default: 1.")


def participant(command: F) -> F:
    return click.option(
        "--participant",
        is_flag=True,
        help="Only what participants may see: no figures by class or case.",
    )(command)


def pairs(flag: str, name: str, about: str) -> Callable[[F], F]:
    """An option of the form name=value that may be repeated; its value is a dict."""

    def parse(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for item in given:
            key, equals, value = item.partition("=")
            if not equals or not key.strip():
                raise click.BadParameter(f"'{item}' is not of the form name=value", ctx, param)
            if key.strip() in found:
                raise click.BadParameter(f"'{key.strip()}' was given twice", ctx, param)
            found[key.strip()] = value
        return found

    return click.option(flag, name, metavar="NAME=VALUE", multiple=True, callback=parse, help=about)


def changes(parameters: dict[str, str], **others: str | None) -> dict[str, str]:
    """Changed parameters, those that have an option of their own too."""
    given = {name: value for name, value in others.items() if value is not None}
    twice = given.keys() & parameters.keys()
    if twice:
        name = min(twice)
        raise CallError(f"'{name}' was given twice: --parameter {name}=… and --{name.replace('_', '-')}")
    return {**parameters, **given}


def track(command: F) -> F:
    """What only some tracks know: weights of a combined score, and terms. They come as `track_options`."""
    names = ("weights", "metric_name", "keep_missing", "replace", "lexicon")

    @wraps(command)
    def gathered(**values: Any) -> Any:
        given = {name: values.pop(name) for name in names}
        given["renormalize_missing"] = False if given.pop("keep_missing") else None
        given["plugins"] = tuple(click.get_current_context().meta.get(_PLUGINS, ()))
        return command(track_options=given, **values)

    chain = [
        click.option("--weights", metavar="NAME=W,...", help="benchmark: weights of the combined score."),
        click.option("--metric-name", metavar="NAME", help="benchmark: the combined score's name."),
        click.option("--keep-missing", is_flag=True, help="benchmark: what a task lacks counts 0, with its weight."),
        click.option("--replace", is_flag=True, help="benchmark: replace a metric of the combined score's name."),
        click.option("--lexicon", metavar="FILE", type=click.Path(), help="benchmark: terms of your own."),
    ]
    wrapped: Any = gathered
    for option in reversed(chain):
        wrapped = option(wrapped)
    return cast(F, wrapped)


def plugins(command: F) -> F:
    """--plugin MODULE: contracts of the user's own, loaded before anything else."""

    def load(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> None:
        ctx.meta[_PLUGINS] = names
        if names:
            for name in names:
                api.load_plugin(name)

    return click.option(
        "--plugin", metavar="MODULE", multiple=True, expose_value=False, is_eager=True, callback=load,
        help="Contracts or metrics of your own: a module, or a .py file; may be repeated.",
    )(command)  # fmt: skip


def plugin_arguments() -> list[str]:
    """The --plugin options of this call, for a command that we tell the user to run."""
    return [word for name in click.get_current_context().meta[_PLUGINS] for word in ("--plugin", name)]


def complete_contract(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Contract ids for the shell."""
    return [contract_id for contract_id in api.contract_ids() if contract_id.startswith(incomplete)]
