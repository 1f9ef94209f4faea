"""`medcontract challenge`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.cli.group import SuggestingGroup
from medcontract.cli.rehearse import arguments
from medcontract.cli.rehearse import rehearse as run_rehearsal
from medcontract.rendering.page import clean

_EPILOG = """\b
Examples:
  medcontract challenge new stroke --truth truth.csv
  medcontract challenge check challenge.toml
  medcontract challenge rehearse challenge.toml --truth truth.csv --out rehearsal.html
  medcontract init stroke demo --challenge challenge.toml
  medcontract score truth.csv predictions.csv --challenge challenge.toml
"""


@click.group("challenge", cls=SuggestingGroup, epilog=_EPILOG)
def command() -> None:
    """Challenges: tracks that are defined by a file. Other commands use them with --challenge FILE."""


@command.command("new", short_help="Create a challenge file to start from.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--truth", metavar="FILE", type=click.Path(allow_dash=True),
    help="Infer fields, key and first metrics from this truth table (CSV, JSON, JSONL, Parquet, also gzipped).",
)  # fmt: skip
@click.option(
    "--classes", metavar="COLUMN", multiple=True,
    help="List the values of this column of the truth as the only allowed ones. May be repeated.",
)  # fmt: skip
@click.option(
    "--key", metavar="COLUMN", multiple=True,
    help="The column of the truth that identifies a case; repeat it if several do so together. Default: it is found.",
)  # fmt: skip
@click.option("--id", "challenge_id", metavar="ID", help="The id of the challenge. Default: the name of DIR.")
@click.option(
    "--phase-key", metavar="FILE", type=click.Path(),
    help="Write a new secret key to FILE, which divides the cases into phases. Keep it to yourself.",
)  # fmt: skip
@options.force
def new(
    folder: str, truth: str | None, classes: tuple[str, ...], key: tuple[str, ...], challenge_id: str | None,
    phase_key: str | None, force: bool,
) -> int:  # fmt: skip
    """Create a challenge file in DIR, with comments that explain it, and made-up example files that satisfy it.

    Values of the truth are not copied, except for classes: those of --classes, and columns with at most 12 values that
    all occur five times.
    """
    challenge, *examples = api.new_challenge(
        folder, truth=truth, classes=classes, key=key, challenge_id=challenge_id, phase_key=phase_key, force=force
    )
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


@command.command("check", short_help="Check a challenge file.")
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "--truth", metavar="FILE", type=click.Path(allow_dash=True),
    help="Check the truth, too: undefined metrics, classes in no case or fewer than 10, cases per cluster.",
)  # fmt: skip
@options.plugin
@options.problems
@options.result("Validation")
def check(file: str, truth: str | None, printer: output.Printer) -> int:
    """Check the challenge in FILE, and show every problem with its place. The exit code is 1 if there are errors."""
    report = api.check_challenge(file, truth=truth, **printer.problem_settings(api.MAX_PROBLEMS))
    printer.print(report)
    if any(each.wrong_call for each in report.files):
        return 2
    return 0 if report else 1


@command.command("rehearse", short_help="Try a challenge before it opens.", cls=options.TrackCommand)
@click.argument("file", metavar="FILE", type=click.Path())
@click.option(
    "--truth",
    metavar="PATH",
    multiple=True,
    required=True,
    type=click.Path(),
    help="The truth, and other files of the organizer. May be repeated.",
)
@options.plugin
@arguments
def rehearse(file: str, truth: tuple[str, ...], printer: output.Printer, **given: Any) -> int:
    """Try the challenge in FILE before it opens: make submissions from the truth, and run each through preflight and
    score.

    They are perfect, inverted, constant, drawn at random, shuffled, incomplete, failed, and have the mistakes that
    people make. The exit code is 1 if one of them is treated wrongly.
    """
    click.echo(f"challenge: {clean(api.use_challenge(file))}", err=True)
    return run_rehearsal(truth, printer, **given)
