"""Commands of organizers: `protocol`, `rehearse`, `challenge` and `bundle`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.cli.group import SuggestingGroup
from medcontract.rendering.page import clean

_PROTOCOL = """\b
Examples:
  medcontract protocol list
  medcontract protocol show lesions
  medcontract protocol show reports --format json
  medcontract protocol freeze extraction --truth labels/ --note 'baseline of March' --out protocol.json
  medcontract protocol check protocol.json
  medcontract score labels/ predictions/ --protocol protocol.json
"""
_REHEARSE = """\b
Examples:
  medcontract rehearse truth.csv
  medcontract rehearse truth.csv --platform codabench --out rehearsal.html
  medcontract rehearse truth.csv --baseline our-model.csv
  medcontract rehearse truth.csv --intervals                     is it large enough?
"""
_CHALLENGE = """\b
Examples:
  medcontract challenge new stroke --truth truth.csv
  medcontract challenge check challenge.toml
  medcontract challenge rehearse challenge.toml --truth truth.csv --out rehearsal.html
  medcontract init stroke demo --challenge challenge.toml
  medcontract score truth.csv predictions.csv --challenge challenge.toml
"""
_BUNDLE = """\b
Examples:
  medcontract bundle codabench --truth truth.csv --out bundle/
  medcontract bundle grand-challenge --truth labels/ --title 'Prescriptions 2027' --out bundle/
  medcontract bundle evalai --truth references.json weights.json --out bundle/
  medcontract bundle codabench --truth truth.csv --parameter t_min_ms=20 --parameter t_max_ms=500 --out bundle/
  medcontract bundle codabench --truth truth.json --rank-by accuracy_score --out bundle/
  medcontract bundle codabench --truth truth.csv --challenge challenge.toml --out bundle/
  medcontract bundle page --cases cases.csv --out check.html      a page that checks files in the browser
"""
_PAGE = """\b
Examples:
  medcontract bundle page --out check.html
  medcontract bundle page --contract lesions/predictions --contract lesions/model --cases cases.csv --out check.html
  medcontract bundle page --challenge challenge.toml --cases cases.csv --out check.html
"""


# --- protocols


@click.group("protocol", cls=SuggestingGroup, epilog=_PROTOCOL)
def protocol() -> None:
    """The frozen parameters that scores depend on, with formulas and sources."""


@protocol.command("list", short_help="List all protocols.")
@options.plugins
@options.result("ProtocolList")
def list_protocols(printer: output.Printer) -> int:
    """List the protocols of all tracks, with version and fingerprint."""
    return printer.print(api.list_protocols())


@protocol.command("show", short_help="Show a protocol.")
@options.track
@options.pairs("--parameter", "parameters", "Show the protocol with a changed parameter.")
@options.plugins
@options.result("Protocol")
def show(track: str, parameters: dict[str, str], printer: output.Printer) -> int:
    """Show the parameters of TRACK with their sources, and the formulas in words."""
    return printer.print(api.get_protocol(track, parameters=parameters))


@protocol.command("freeze", cls=options.ProtocolCommand, short_help="Write a protocol to a file, with all versions.")
@options.track
@options.pairs("--parameter", "parameters", "Freeze it with one parameter changed.")
@options.option(
    "--truth FILE", "Freeze the content of this truth, too: a file or a folder; may be repeated.", multiple=True
)
@options.contract("The contract of all files of the truth that are not passed as CONTRACT=PATH.")
@options.option("--note WHY", "Why it is frozen.")
@options.plugins
@options.out
@options.quiet
@options.limits
def freeze(track: str, out: str | None, **given: Any) -> int:
    """Write the protocol of a TRACK to the file --out, as JSON: parameters, the version of every step that changes a
    score, and the content of the truth. Pass it to other commands with --protocol.
    """
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    frozen = api.freeze_protocol(track, **given)
    output.write(frozen.to_json(), out)
    if not output.is_quiet():
        click.echo(f"{frozen.id} v{frozen.version}, fingerprint {frozen.fingerprint}", err=True)
    return 0


@protocol.command(
    "check", cls=options.ProtocolCommand, short_help="Check whether this medcontract scores under a frozen protocol."
)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@options.contract("The contract of the file. Only frozen protocols can be checked: medcontract/protocol.")
@options.plugins
@options.limits
@options.result("ProtocolCheck")
def check(file: str, printer: output.Printer, **given: object) -> int:
    """Compare the frozen protocol in FILE with this medcontract. The exit code is 1 if anything differs."""
    return printer.show(api.check_protocol, file, **given)


# --- rehearsals and challenges


_rehearsal = options.together(
    options.option(
        "--platform NAME", f"Also score through the bundle for this platform: {', '.join(api.platforms())}.",
        type=click.Choice(api.platforms()),
    ),
    options.option(
        "--baseline PATH", "A submission that is known to be better than chance: finds inverted labels and shifted "
        "rows. May be repeated.", name="baselines", multiple=True,
    ),
    options.contract(), options.parameters, options.protocol, options.header,
    options.option("--intervals", "Show which differences between submissions this truth can show."),
    options.cluster, options.exclude, options.strict, options.limits, options.result("Rehearsal"),
)  # fmt: skip
"""The options of both rehearsals."""


@click.command("rehearse", cls=options.TrackCommand, epilog=_REHEARSE)
@click.argument("truth", nargs=-1, required=True, metavar="TRUTH...", type=click.Path())
@options.plugins
@_rehearsal
def rehearse(truth: tuple[str, ...], printer: output.Printer, **given: object) -> int:
    """Try an evaluation before it opens: make submissions from TRUTH, and run each through preflight and score.

    They are perfect, inverted, constant, drawn at random, shuffled, incomplete, failed, and have the mistakes that
    people make. The exit code is 1 if one of them is treated wrongly.
    """
    return printer.print(output.call("submissions", api.rehearse, *truth, **given))


@click.group("challenge", cls=SuggestingGroup, epilog=_CHALLENGE)
def challenge() -> None:
    """Challenges: tracks that are defined by a file. Other commands use them with --challenge FILE."""


@challenge.command("new", short_help="Create a challenge file to start from.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@options.option(
    "--truth FILE",
    "Infer fields, key and first metrics from this truth table (CSV, JSON, JSONL, Parquet, also gzipped).",
)
@options.option(
    "--classes COLUMN", "List the values of this column of the truth as the only allowed ones. May be repeated.",
    multiple=True,
)  # fmt: skip
@options.option(
    "--key COLUMN", "The column of the truth that identifies a case; repeat it if several do so together. Default: it "
    "is found.", multiple=True,
)  # fmt: skip
@options.option("--id ID", "The id of the challenge. Default: the name of DIR.", name="challenge_id")
@options.option(
    "--phase-key FILE", "Write a new secret key to FILE, which divides the cases into phases. Keep it to yourself."
)
@options.force
def new(folder: str, **given: Any) -> int:
    """Create a challenge file in DIR, with comments that explain it, and made-up example files that satisfy it.

    Values of the truth are not copied, except for classes: in --classes, and in columns with at most 12 values that
    all occur five times.
    """
    challenge, *examples = api.new_challenge(folder, **given)
    for path in (challenge, *examples):
        click.echo(str(path))
    use = ["--challenge", str(challenge)]
    for words in (
        ["challenge", "check", str(challenge)],
        ["preflight", *_named(examples, "predictions", "cases"), *use],
        ["score", *_named(examples, "truth", "predictions"), *use],
    ):
        click.echo("Next: " + shlex.join(["medcontract", *words]), err=True)
    return 0


def _named(paths: list[Path], *names: str) -> list[str]:
    return [str(path) for name in names for path in paths if path.stem == name]


@challenge.command("check", short_help="Check a challenge file.")
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@options.option(
    "--truth FILE", "Check the truth, too: undefined metrics, classes in no case or fewer than 10, cases per cluster."
)
@options.plugin
@options.problems
@options.result("Validation")
def check_file(file: str, truth: str | None, printer: output.Printer) -> int:
    """Check the challenge in FILE, and show every problem with its place. The exit code is 1 if there are errors."""
    report = api.check_challenge(file, truth=truth, **printer.problem_settings(api.MAX_PROBLEMS))
    return max(printer.print(report), 2 if any(each.usage_error for each in report.files) else 0)


@challenge.command("rehearse", short_help="Try a challenge before it opens.", cls=options.TrackCommand)
@click.argument("file", metavar="FILE", type=click.Path())
@options.option(
    "--truth PATH", "The truth, and other files of the organizer. May be repeated.", multiple=True, required=True
)
@options.plugin
@_rehearsal
def rehearse_file(file: str, truth: tuple[str, ...], printer: output.Printer, **given: object) -> int:
    """Try the challenge in FILE before it opens: make submissions from the truth, and run each through preflight and
    score.

    They are perfect, inverted, constant, drawn at random, shuffled, incomplete, failed, and have the mistakes that
    people make. The exit code is 1 if one of them is treated wrongly.
    """
    click.echo(f"challenge: {clean(api.use_challenge(file))}", err=True)
    return printer.print(output.call("submissions", api.rehearse, *truth, **given))


# --- bundles


@click.command("page", epilog=_PAGE)
@options.option(
    "--contract ID", "Check files of this contract. The option can be repeated.", name="contracts", multiple=True,
    shell_complete=options.complete_contract,
)  # fmt: skip
@options.option("--cases FILE", "The expected ids: cases, or a truth, of which only the ids are used.")
@options.challenge
@options.option("--title TEXT", "The title of the page.")
@options.option("--out FILE", "The file to write, instead of standard output.", type=click.Path(dir_okay=False))
@options.limits
def page(contracts: tuple[str, ...], out: str | None, **given: Any) -> int:
    """Write a page that checks files in the browser: participants need to install nothing, and to upload nothing.

    It works from a disk or any web server, without a network, and contains nothing of the truth.
    """
    output.write(api.check_page(*contracts, **given), out)
    return 0


class _Bundle(click.Command):
    """`bundle page` has other options than the bundles that score."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["page"]:
            return page.make_context(f"{info_name} page", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("bundle", cls=_Bundle, epilog=_BUNDLE)
@click.argument("platform", type=click.Choice(api.platforms()), metavar="PLATFORM")
@options.option(
    "--truth FILE...", "The files or folders of the truth. More of them may follow, or the option is repeated.",
    type=click.Path(), multiple=True,
)  # fmt: skip
@click.argument("more", nargs=-1, type=click.Path(), metavar="")
@options.challenge
@options.contract("The contract of all files of the truth that are not passed as CONTRACT=PATH.")
@options.pairs("--parameter", "parameters", "Change a parameter of the protocol.")
@options.protocol
@options.option("--rank-by FIGURE", "Rank by this figure, if not by the headline of the track.")
@options.option("--title TEXT", "The title of the challenge.")
@options.option("--wheel FILE", "Copy this wheel of medcontract to the bundle, if it is not in the package index.")
@options.option("--out DIR", "The folder to write to.", required=True, type=options.OutputFolder())
@options.force
@options.quiet
@options.limits
def bundle(platform: str, truth: tuple[str, ...], more: tuple[str, ...], out: str, **given: Any) -> int:
    """Write what PLATFORM (codabench, grand-challenge, evalai) needs to score submissions with medcontract.

    The README of the bundle says what to upload, and what has to stay secret. Submissions are validated and scored one
    by one, as in a leaderboard; one that is refused gets a reason and no rank. See docs/platforms.md.
    For a page that checks files in the browser, see medcontract bundle page --help.
    """
    if not truth:
        raise click.UsageError("Missing option '--truth'.")
    written = api.bundle(platform, (*truth, *more), out, **given)
    if not output.is_quiet():
        for path in written.files:
            click.echo(str(path))
    for warning in written.warnings:
        click.echo(f"medcontract: warning: {clean(warning)}", err=True)
    if not output.is_quiet():
        readme = written.files[0].parent / "README.md"
        click.echo(f"Submissions are ranked by {written.figures[0]}. Next: read {readme}", err=True)
    return 0
