"""`medcontract score`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from medcontract.cli import options, output

if TYPE_CHECKING:
    from medcontract.scoring.engine import Wishes

_EPILOG = """\b
Examples:
  medcontract score truth.json out.json telemetry.json
  medcontract score truth.csv submission/               every data file in the folder
  medcontract score truth.csv out.csv --format json --out score.json
  medcontract score truth.json out.jsonl --set team_name=Andes --set evaluation_date=2026-05-31 --result-only
  medcontract score truth.csv out.csv model.json --t-min-ms 12 --t-max-ms 80
  medcontract score truth.json out.json --parameter min_processed=0
  medcontract score labels/ predictions/ runs.jsonl evidence.json manifest.csv --breakdown
  medcontract score references.json predictions.json --weights diagnostics=0.6,reasoning_quality=0.4
  medcontract score report.json weights.json            add a combined score to a report
"""


@click.command("score", epilog=_EPILOG, short_help="Score a submission against its truth.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@options.pairs("--parameter", "parameters", "Change one parameter of the protocol, and with it the fingerprint.")
@click.option("--t-min-ms", metavar="MS", help="lesions: shortest inference time of the competition.")
@click.option("--t-max-ms", metavar="MS", help="lesions: longest inference time of the competition.")
@options.pairs("--set", "header", "A header field that the container lacks.")
@click.option("--match", type=click.Choice(["exact", "fuzzy"]), help="extraction: how names find each other.")
@options.benchmark
@click.option("--breakdown", is_flag=True, help="extraction, benchmark: explain each item or sample.")
@click.option("--result-only", is_flag=True, help="Print the result alone, as JSON.")
@options.jobs("Read large files in N processes.")
@options.participant
@options.plugins
@options.result("text", "json", "markdown")
@options.problems
@options.limits
def command(
    files: tuple[str, ...], parameters: dict[str, str], t_min_ms: str | None, t_max_ms: str | None,
    match: str | None, breakdown: bool, wishes: Wishes,
    header: dict[str, str], result_only: bool, jobs: int, participant: bool, chosen: str | None, out: str | None,
    no_color: bool, max_problems: int | None, show_values: bool, max_record: int | None, max_unpacked: int | None,
) -> int:  # fmt: skip
    """Score the submission among the FILEs against the truth among them, in any order.

    Files are recognised; CONTRACT=PATH says what one is. The exit code is 1 when the score does not count: below
    the processing gate, beyond a limit, NO-GO, or refused for another reason that the output gives.
    """
    from msgspec.structs import replace

    from medcontract.cli.files import found, inputs
    from medcontract.evaluation.score import score_files
    from medcontract.rendering import json, scores

    chosen = output.format_of(chosen, out, {".json": "json", ".md": "markdown"})
    values = show_values or (chosen == "text" and out is None and output.terminal())
    most = max_problems if max_problems is not None else 50 if chosen == "text" else 100
    may_hold_values = show_values or (values and not result_only)
    wishes = options.with_values(replace(wishes, breakdown=breakdown), may_hold_values, show_values, participant)
    with output.Progress() as progress:
        settings = options.settings(chosen, values, most, max_record, max_unpacked, progress.of("scoring"), jobs)
        score = score_files(
            inputs(files), found=found(files),
            settings=settings._replace(participant=participant, wishes=wishes),
            parameters=options.changes(parameters, t_min_ms=t_min_ms, t_max_ms=t_max_ms, match=match), header=header,
        )  # fmt: skip
    if result_only:
        rendered = json.dumps(score.shown)
    elif chosen == "json":
        rendered = json.score(score, show_values)
    elif chosen == "markdown":
        rendered = scores.markdown(score, show_values)
    else:
        rendered = scores.text(score, output.style(no_color, out), values, most)
    output.write(rendered, out)
    return 0 if score.verdict.good else 1
