"""Options that are shared by several commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from medcontract import api, rendering
from medcontract.cli import output
from medcontract.cli.group import before_dashes
from medcontract.rendering.page import clean

if TYPE_CHECKING:
    from medcontract.scoring.track import Option

F = TypeVar("F", bound=Callable[..., object])
_PLUGINS = f"{__name__}.plugins"
_CHALLENGE = f"{__name__}.challenge"
_CHALLENGE_FILE = "challenge.toml"
_TRACK_OPTIONS = f"{__name__}.track_options"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A number of bytes, such as 500K, 64M or 2G."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"([0-9]{1,12})([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        size = int(match.group(1)) * _UNITS[match.group(2).upper()] if match else 0
        if not size:
            self.fail(f"'{value}' is not a valid size; use 500K, 64M or 2G", param, ctx)
        return size


class PathOrId(click.Path):
    """A path or a contract id. It is checked when it is read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


class OutputFolder(click.Path):
    """A folder that the command writes to."""


def option(declared: str, about: str, name: str = "", **settings: Any) -> Callable[[F], F]:
    """Declare an option as `--flag METAVAR`, or a flag. FILE, DIR and PATH are paths. `name`: if it is another."""
    flag, _, metavar = declared.partition(" ")
    if metavar in ("FILE", "DIR", "PATH"):
        settings = {"type": click.Path(), **settings}
    settings |= {"metavar": metavar} if metavar else {"is_flag": True}
    return click.option(flag, *filter(None, [name]), help=about, **settings)


def together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Declare several options of a command as one; --help lists them in this order."""

    def wrap(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return wrap


def refuse_inputs(command: F) -> F:
    """Raise `CallError` if --out or --also is an input of the call."""

    @wraps(command)
    def checked(*arguments: object, **values: object) -> object:
        given = click.get_current_context().params
        targets = [(given["out"], "--out")] if given["out"] is not None else []
        for target, flag in [*targets, *((name, "--also") for name in given.get("also", ()))]:
            from medcontract.atomic_write import refuse_input  # slow to import

            refuse_input(target, _given_paths(), flag)
        return command(*arguments, **values)

    return cast(F, checked)


def _given_paths() -> list[str]:
    """Return the files and folders in the arguments: all paths except of outputs."""
    context = click.get_current_context()
    given = [*context.meta.get(_PLUGINS, ()), *context.meta.get(_CHALLENGE, ())]
    for parameter in context.command.get_params(context):
        if (
            isinstance(parameter.type, click.Path)
            and parameter.name not in ("out", "also")
            and not isinstance(parameter.type, OutputFolder)
        ):
            value = context.params.get(parameter.name or "")
            given += value if isinstance(value, tuple) else [value] * (value is not None)
    return [api.path_of(name) for name in given]


def result(name: str) -> Callable[[F], F]:
    """--format, --out and --no-color, for a class of results. The command gets a `printer` instead of them."""
    formats = rendering.formats_of(name)

    def with_printer(command: F) -> F:
        @wraps(command)
        def run(
            chosen: str | None, out: str | None, no_color: bool, show_values: bool = False,
            max_problems: int | None = None, also: tuple[str, ...] = (), **given: object,
        ) -> object:  # fmt: skip
            printer = output.Printer(name, chosen, out, no_color, show_values, max_problems, also)
            return command(printer=printer, **given)

        return cast(F, run)

    return together(
        click.option(
            "--format", "chosen", type=click.Choice(formats),
            help=f"Output format. Default: {formats[0]}, or according to the extension of --out.",
        ),
        *([also] if name in rendering.QUIET else []), out, no_color,
        *([quiet] if name in rendering.QUIET else []), with_printer,
    )  # fmt: skip


def pairs(flag: str, name: str, about: str) -> Callable[[F], F]:
    """Create an option NAME=VALUE that may be repeated. Its value is a dict."""
    # the name of a parameter may contain the name of a class, with any characters; its value never contains '='
    split = str.rpartition if flag == "--parameter" else str.partition

    def parse(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for item in given:
            key, equals, value = split(item, "=")
            if not equals or not key.strip():
                raise click.BadParameter(f"'{item}' is not of the form NAME=VALUE", ctx, param)
            if key.strip() in found:
                raise click.BadParameter(f"'{key.strip()}' is given twice", ctx, param)
            found[key.strip()] = value
        return found

    return click.option(
        flag, name, metavar="NAME=VALUE", multiple=True, callback=parse, help=f"{about} May be repeated.",
        shell_complete=complete_parameter if flag == "--parameter" else None,
    )  # fmt: skip


_LARGE = ("max_record", "max_unpacked", "jobs", "engine", "scheduler", "cache")
_OUTPUT = (
    "breakdown", "result_only", "max_problems", "show_values", "chosen", "also", "out", "no_color", "quiet", "help",
)  # fmt: skip
_SECTIONS = {**dict.fromkeys(_LARGE, "Large files"), **dict.fromkeys(_OUTPUT, "Output")}
"""The sections of options in the help of a command with many, by name."""


class TrackCommand(click.Command):
    """A command that accepts the options of all tracks, including plugins.

    They are loaded only for --help, or if the call has an option that the command itself does not define: loading
    every track takes longer than scoring a small file.
    """

    only_protocol = False
    """Whether it only offers options that are part of a protocol. Others are parsed, for a message that says so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in super().get_params(ctx) for name in parameter.opts}
        given = {word.partition("=")[0] for word in before_dashes(args) if word.startswith("-") and word != "-"}
        if ctx.resilient_parsing or not given <= own or given & set(ctx.help_option_names):
            for name in _plugins_in(args):
                api.load_plugin(name)
            ctx.meta[_TRACK_OPTIONS] = [
                (track, _click_option(option, hidden=self.only_protocol and not option.in_protocol))
                for track, option in api.list_track_options()
            ]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, last = super().get_params(ctx)  # the last is --help
        return [*own, *(option for _, option in ctx.meta.get(_TRACK_OPTIONS, ())), last]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show common options, then options of each track, of large files and of the output."""
        tracks = {id(option): track for track, option in ctx.meta.get(_TRACK_OPTIONS, ())}
        last = dict.fromkeys(_SECTIONS.values())
        titles = ["Options", *(f"Options of {track}" for track in dict.fromkeys(tracks.values())), *last]
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in titles}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                track = tracks.get(id(parameter))
                title = f"Options of {track}" if track else _SECTIONS.get(parameter.name or "", "Options")
                sections[title].append(record)
        for title, records in ((title, records) for title, records in sections.items() if records):
            with formatter.section(title):
                formatter.write_dl(records)


class ProtocolCommand(TrackCommand):
    """A command for a protocol, not for a score."""

    only_protocol = True


def _plugins_in(args: list[str]) -> Iterator[str]:
    """Yield the values of --plugin, which are needed before the options can be parsed."""
    for word, following in pairwise([*before_dashes(args), ""]):
        if word == "--plugin" and following:
            yield following
        elif word.startswith("--plugin="):
            yield word.partition("=")[2]


def _click_option(option: Option, hidden: bool) -> click.Option:
    """Convert an option of a track (`scoring.track.Option`)."""
    names = [option.on_command_line, option.name]
    if option.sets is not None:

        def flag_value(ctx: click.Context, param: click.Parameter, given: bool) -> bool | None:
            return option.sets if given else None

        return click.Option(names, is_flag=True, callback=flag_value, help=option.help, hidden=hidden)
    kind: object = click.Choice(option.choices) if option.choices else click.Path() if option.contract else str
    return click.Option(
        names, metavar=option.metavar or None, type=kind, multiple=option.multiple, help=option.help, hidden=hidden,
        callback=lambda ctx, param, given: None if given == () else given,
    )  # fmt: skip


def _load_plugins(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> None:
    ctx.meta[_PLUGINS] = names
    for name in names:
        api.load_plugin(name)


def _use_challenge(ctx: click.Context, param: click.Parameter, name: str | None) -> None:
    if ctx.resilient_parsing:
        return
    if name is None:
        _mention_unused_challenge()
        return
    ctx.meta[_CHALLENGE] = (name,)
    click.echo(f"challenge: {clean(api.use_challenge(name))}", err=True)


def _mention_unused_challenge() -> None:
    """A challenge is used only if it is named: without a notice, forgetting that would cause puzzling messages."""
    if os.path.isfile(_CHALLENGE_FILE):
        click.echo(f"challenge: none ({_CHALLENGE_FILE} is not used without --challenge {_CHALLENGE_FILE})", err=True)


def plugin_arguments() -> list[str]:
    """Return the --plugin and --challenge options of this call, for commands that are suggested to the user."""
    meta = click.get_current_context().meta
    challenge = [word for name in meta.get(_CHALLENGE, ()) for word in ("--challenge", name)]
    return [word for name in meta[_PLUGINS] for word in ("--plugin", name)] + challenge


def _complete(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Complete one of these names in a shell."""
    return lambda ctx, param, incomplete: _starting(incomplete, names())


complete_contract = _complete(api.contract_ids)
complete_track = _complete(lambda: [each.id for each in api.list_protocols()])
complete_example = _complete(api.example_tracks)


def complete_code(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Problem codes for the shell, with their titles."""
    return [
        CompletionItem(code.code, help=code.title) for code in api.explain() if code.code.startswith(incomplete.upper())
    ]


def complete_parameter(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """NAME= of a parameter of a protocol: of the track in the call, or of any."""
    given = ctx.params.get("track")
    ids = [each.id for each in api.list_protocols() if given in (None, each.id)]
    names = [parameter.name for each in ids for parameter in api.get_protocol(each).parameters]
    return _starting(incomplete, [f"{name}=" for name in dict.fromkeys(names)])


def _starting(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


# The options, each declared once. They have the names of the arguments in Python.

out = together(option("--out FILE", "Write the result to FILE instead of standard output."), refuse_inputs)
also = option(
    "--also FILE", "Write the same result to FILE, too, in the format of its extension. May be repeated.", multiple=True
)
no_color = option("--no-color", "Disable colors, like NO_COLOR=1 or TERM=dumb.")
quiet = click.option(
    "--quiet/--no-quiet", "-q", default=None, expose_value=False, is_eager=True, envvar="MEDCONTRACT_QUIET",
    callback=lambda ctx, param, given: output.set_quiet(given),
    help="Only show the outcome, without details and notices. The exit code stays the same.",
)  # fmt: skip
force = option("--force", "Overwrite existing files.")
strict = option("--strict", "Fail if there are warnings: the exit code is 1.")
exclude = option(
    "--exclude GLOB",
    "Skip files and folders in folders that match GLOB, such as 'draft*' or 'old/**'. May be repeated.",
    multiple=True,
)
show_values = option("--show-values", "Show offending values even if the output is not a terminal.")
problems = together(
    option("--max-problems N", "List at most N problems per file (default for text: 50).",
           type=click.IntRange(min=0), envvar="MEDCONTRACT_MAX_PROBLEMS"),
    show_values,
)  # fmt: skip
limits = together(
    option("--max-record SIZE", "Maximum size of a record (default: 16M).", type=Size()),
    option("--max-unpacked SIZE", "Maximum decompressed size of a .gz file or an archive (default: 4G).", type=Size()),
)
engine = together(
    click.option("--engine", type=click.Choice(["dask"]),
                 help="Read large files on a Dask cluster, with the same results."),
    option("--scheduler ADDRESS", "The address of a Dask scheduler. Default: start a local cluster."),
)  # fmt: skip
cache = option("--cache DIR", "Keep results in DIR, and do not repeat work that is finished (see medcontract cache).")
images = option("--images DIR", "Also check the images of lesions/cases, in DIR.")
protocol = option(
    "--protocol FILE",
    "Use this frozen protocol (medcontract protocol freeze); refused if versions or the truth differ.",
)
parameters = pairs("--parameter", "parameters", "Change a parameter of the protocol, and with it the fingerprint.")
header = pairs("--set", "header", "Set a header field that the files do not contain.")
challenge = option(
    "--challenge FILE", "Use the challenge that FILE defines. Default: $MEDCONTRACT_CHALLENGE.",
    envvar="MEDCONTRACT_CHALLENGE", expose_value=False, is_eager=True, callback=_use_challenge,
)  # fmt: skip
plugin = option(
    "--plugin MODULE", "Load custom contracts, metrics or tracks from a module or a .py file. May be repeated.",
    multiple=True, expose_value=False, is_eager=True, callback=_load_plugins,
)  # fmt: skip
plugins = together(plugin, challenge)
files = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
track = click.argument("track", metavar="TRACK", shell_complete=complete_track)


def contract(about: str = "The contract of all files that are not passed as CONTRACT=PATH.") -> Callable[[F], F]:
    return option("--contract ID", about, shell_complete=complete_contract)


def jobs(about: str, default: int | None = None) -> Callable[[F], F]:
    """Create the option for the number of worker processes."""
    about = f"{about} Default: {default or 'as many as pay off'}."
    return option("--jobs N", about, type=click.IntRange(min=1), default=default)


cluster = option(
    "--cluster FIELD", "Draw the cases with the same value of FIELD, such as a patient, together. Implies --intervals."
)
intervals = together(option("--intervals", "Show how sure the figures are: intervals from resamples."), cluster)
scoring = together(
    contract(), parameters, protocol, header,
    click.option("--phase", type=click.Choice(["public", "private"]),
                 help="Score only the cases of this phase of a challenge."),
    option("--phase-key FILE", "The organizer's secret key, which divides the cases into phases."),
    option("--participant", "Only show what participants may see: no figures by class or case."),
    plugins, exclude, strict, limits,
)  # fmt: skip
"""The options of score, preflight and leaderboard. Each command passes them on by name."""
