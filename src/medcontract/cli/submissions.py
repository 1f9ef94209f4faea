"""Commands about submissions: `score`, `preflight`, `leaderboard`, `compare` and `verify`."""

from __future__ import annotations

import os
from functools import partial

import click

from medcontract import api, rendering
from medcontract.cli import options, output
from medcontract.errors import CallError
from medcontract.rendering.data import dumps
from medcontract.rendering.page import View, clean

_SCORE = """\b
Examples:
  medcontract score truth.json out.json telemetry.json
  medcontract score truth.csv submission/               all data files in the folder, or in submission.zip
  medcontract score truth.csv out.csv --format json --out score.json
  medcontract score truth.json out.jsonl --set team_name=Andes --set evaluation_date=2026-05-31 --result-only
  medcontract score truth.csv out.csv model.json --t-min-ms 12 --t-max-ms 80
  medcontract score truth.json out.json --parameter min_processed=0
  medcontract score labels/ predictions/ runs.jsonl evidence.json manifest.csv --breakdown
  medcontract score references.json predictions.json --weights diagnostics=0.6,reasoning_quality=0.4
  medcontract score report.json weights.json            add a combined score to a report
"""
_PREFLIGHT = """\b
Examples:
  medcontract preflight submission/
  medcontract preflight submission/ cases.csv           also check that all cases are answered
  medcontract preflight submission/ truth.json          also compute the score
  medcontract preflight submission/ --images images/    also check the images
"""
_LEADERBOARD = """\b
Examples:
  medcontract leaderboard truth.csv submissions/*
  medcontract leaderboard truth/ submissions/* --format markdown --out ranking.md
  medcontract leaderboard truth.csv submissions/* --jobs 8
  medcontract leaderboard reports/truth=truth.csv submissions/* --contract reports/predictions
  medcontract leaderboard truth.csv submissions/* --measured measured/      measured/NAME/ or measured/NAME.json
  medcontract leaderboard truth.csv submissions/* --participant --reports feedback/     one report per submission
  medcontract leaderboard truth.csv submissions/* --teams teams.csv --attempts best     one row per team
  medcontract leaderboard truth.csv submissions/* --blind                   who is in, without ranks and figures
  medcontract leaderboard truth.csv submissions/* --cache .cache            score only what is new
"""
_COMPARE = """\b
Examples:
  medcontract score truth.csv old.csv --format json --out baseline.json
  medcontract score truth.csv new.csv --format json --out rerun.json
  medcontract compare baseline.json rerun.json
"""
_VERIFY = """\b
Examples:
  medcontract score truth.csv out.csv --format json --out score.json
  medcontract verify score.json truth.csv out.csv
  medcontract verify score.json data/ --challenge challenge.toml
"""


@click.command("score", cls=options.TrackCommand, epilog=_SCORE)
@options.files
@options.scoring
@options.intervals
@options.option(
    "--by FIELD",
    "Also score the cases of each value of FIELD, a field of the truth, of the list of cases or of --groups. A "
    "number needs bands: age=0,40,65. May be repeated.",
    multiple=True,
)
@options.option("--groups FILE", "A table with fields for --by, and the key of each case.")
@options.option("--breakdown", "Explain the score of each item or sample, in tracks that support it.")
@options.option("--result-only", "Print only the result, as JSON.")
@options.jobs("Read large files in N processes.")
@options.engine
@options.problems
@options.result("Score")
def score(files: tuple[str, ...], printer: output.Printer, result_only: bool, **given: object) -> int:
    """Score a submission against its truth. FILEs are the files of both, in any order.

    The contract of each file is recognized, or specified as CONTRACT=PATH. The exit code is 1 if the score does not
    count: below the processing gate, over a limit, NO-GO, or refused for another reason, which is reported.
    """
    given["show_values"] = printer.values_asked if result_only else printer.show_values
    settings = printer.problem_settings(api.MAX_SCORE_PROBLEMS)
    found = output.call("bytes", api.score, *files, plugin_errors=printer.plugin_errors, **settings, **given)
    if not result_only:
        return printer.print(found)
    output.write(dumps(found.result), printer.out)
    for reason in found.reasons:  # the result alone does not contain them
        click.echo(f"medcontract: not valid: {clean(reason)}", err=True)
    return 0 if found else 1


@click.command("preflight", cls=options.TrackCommand, epilog=_PREFLIGHT)
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(allow_dash=True))
@options.scoring
@options.intervals
@options.images
@options.jobs("Check images in N processes.", default=1)
@options.problems
@options.result("Preflight")
def preflight(files: tuple[str, ...], printer: output.Printer, **given: object) -> int:
    """Check a submission. More files, such as cases or the truth, allow more checks.

    A submission may be a folder or an archive (.zip, .tar.gz). A check passes, fails, or is skipped if files for it are
    missing. The exit code is 1 if any check fails.
    """
    given |= {"show_values": printer.show_values, "plugin_errors": printer.plugin_errors}
    settings = printer.problem_settings(api.MAX_SCORE_PROBLEMS)
    return printer.print(output.call("bytes", api.preflight, *files, **settings, **given))


@click.command("leaderboard", cls=options.TrackCommand, epilog=_LEADERBOARD)
@click.argument("truth", metavar="TRUTH", type=click.Path())
@click.argument("submissions", nargs=-1, required=True, metavar="DIR...", type=click.Path())
@options.scoring
@options.intervals
@options.option(
    "--measured DIR",
    "Use your own measurements of each submission (telemetry, model file, runs, evidence) from DIR/NAME/ or "
    "DIR/NAME.json, and ignore the submissions' own.",
)
@options.option(
    "--reports DIR",
    "Write a report for each submission to DIR: what score would print, as Markdown or according to --format.",
    type=options.OutputFolder(),
)
@options.option("--teams FILE", "Take the names of teams from a table with the columns submission and team.")
@click.option(
    "--attempts",
    type=click.Choice(["best", "last", "all"]),
    default="all",
    show_default=True,
    help="Rank only the best or the last submission of each team, in the order of the table of --teams.",
)
@options.option("--columns NAME,...", "Show these figures, in this order.", default="")
@options.option("--blind", "Omit ranks and the figures of others, as in a blind phase.")
@options.jobs("Score in N processes.")
@options.cache
@options.engine
@options.result("Leaderboard")
def leaderboard(
    truth: str, submissions: tuple[str, ...], reports: str | None, printer: output.Printer, **given: object
) -> int:
    """Score each DIR (a folder, an archive or a single file) against TRUTH (also one of these), and rank them.

    The contract of each file is recognized, or specified as CONTRACT=PATH; for a folder, it applies to all files in it.
    Submissions that are not valid are listed last, with reasons. The exit code is 1 if none is valid, and with --strict
    also if there are warnings.
    """
    out, chosen = printer.out, printer.chosen
    if out and reports and os.path.realpath(os.path.dirname(out)) == os.path.realpath(reports):
        raise CallError(f"--out: {out} is in the folder of --reports", "write the ranking to another folder")
    report_format = chosen if chosen in rendering.formats_of("Score") else rendering.REPORT_FORMAT
    extension = next(each for each, name in rendering.EXTENSIONS.items() if name == report_format and each)
    board = output.call(
        "submissions", api.leaderboard, truth, *submissions, reports=reports, page=out,
        report_as=(extension, partial(rendering.render, format_name=report_format, view=View())),
        max_alike=output.MAX_ALIKE if report_format == "text" else None,
        plugin_errors=printer.plugin_errors and not reports, **given,
    )  # fmt: skip
    return printer.print(board)


@click.command("compare", epilog=_COMPARE)
@click.argument("baseline", metavar="BASELINE", type=click.Path())
@click.argument("rerun", metavar="RERUN", type=click.Path())
@options.contract("The contract of both files. Only scores can be compared: medcontract/score.")
@options.protocol
@options.plugins
@options.strict
@options.limits
@options.result("Comparison")
def compare(baseline: str, rerun: str, printer: output.Printer, **given: object) -> int:
    """Compare two outputs of `medcontract score --format json`, and show what changed: the headline, then the other
    figures and rows, the largest changes first.

    If the protocols or the truths differ, the scores are not comparable: the exit code is 2, and the exact difference
    is reported.
    """
    return printer.show(api.compare, baseline, rerun, **given)


@click.command("verify", epilog=_VERIFY)
@click.argument("score", metavar="SCORE", type=click.Path(allow_dash=True))
@options.files
@options.contract("The contract of all FILEs that are not passed as CONTRACT=PATH.")
@options.option("--phase-key FILE", "The organizer's secret key, if the score is one of a phase.")
@options.plugins
@options.exclude
@options.limits
@options.jobs("Read large files in N processes.")
@options.engine
@options.result("Verification")
def verify(score: str, files: tuple[str, ...], printer: output.Printer, **given: object) -> int:
    """Check whether SCORE, an output of `medcontract score --format json`, follows from its FILEs, in any order.

    The score is computed again with the protocol and the options that it states. The exit code is 1 if a file is
    missing or has another hash, or if the score differs.
    """
    return printer.print(output.call("bytes", api.verify, score, *files, **given))
