"""`medcontract score`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.rendering.data import dumps
from medcontract.rendering.page import clean

_EPILOG = """\b
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


@click.command("score", cls=options.TrackCommand, epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@options.scoring
@options.intervals
@click.option(
    "--by",
    metavar="FIELD",
    multiple=True,
    help="Also score the cases of each value of FIELD, a field of the truth, of the list of cases or of --groups. A "
    "number needs bands: age=0,40,65. May be repeated.",
)
@click.option(
    "--groups", metavar="FILE", type=click.Path(), help="A table with fields for --by, and the key of each case."
)
@click.option("--breakdown", is_flag=True, help="Explain the score of each item or sample, in tracks that support it.")
@click.option("--result-only", is_flag=True, help="Print only the result, as JSON.")
@options.jobs("Read large files in N processes.")
@options.engine
@options.problems
@options.result("Score")
def command(files: tuple[str, ...], printer: output.Printer, result_only: bool, **given: Any) -> int:
    """Score a submission against its truth. FILEs are the files of both, in any order.

    The contract of each file is recognized, or specified as CONTRACT=PATH. The exit code is 1 if the score does not
    count: below the processing gate, over a limit, NO-GO, or refused for another reason, which is reported.
    """
    values = printer.values_asked if result_only else printer.show_values
    settings = printer.problem_settings(api.MAX_SCORE_PROBLEMS)
    with output.Progress() as progress:
        score = api.score(
            *files, show_values=values, plugin_errors=printer.plugin_errors, notice=output.notice,
            progress=progress.show, **settings, **given,
        )  # fmt: skip
    if result_only:
        output.write(dumps(score.result), printer.out)
        for reason in score.reasons:  # the result alone does not contain them
            click.echo(f"medcontract: not valid: {clean(reason)}", err=True)
    else:
        printer.print(score)
    return 0 if score else 1
