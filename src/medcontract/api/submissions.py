"""Submissions: checked, scored, ranked and compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from medcontract.api.validation import referenced_files, validate
from medcontract.errors import CallError, InvalidData, command, option, words
from medcontract.extras import TableLike
from medcontract.options import (
    SCORE,
    CallOptions,
    FileName,
    Notice,
    Number,
    Progress,
    as_paths,
    path_of_contract,
    require_strings,
    result_source,
)

if TYPE_CHECKING:
    from medcontract.reading.limits import Limits
    from medcontract.signatures import Comparison, Leaderboard, Preflight, Protocol, Score, Validated, Verification

__all__ = ["MAX_SCORE_PROBLEMS", "compare", "leaderboard", "preflight", "score", "verify"]

MAX_SCORE_PROBLEMS = CallOptions.max_problems
_FIRST_KINDS = 20
"""In a ranking without reports: the kinds of problems of which the first is kept, to find the first error."""


def score(
    *files: FileName | TableLike,
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    phase: Literal["public", "private"] | None = None,
    phase_key: FileName | None = None,
    intervals: bool = False,
    cluster: str | None = None,
    by: str | Iterable[str] = (),
    groups: FileName | None = None,
    breakdown: bool = False,
    participant: bool = False,
    show_values: bool = False,
    plugin_errors: bool = True,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: object = None,
    max_problems: int = MAX_SCORE_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    **track_options: object,
) -> Score:
    """Score a submission against its truth. `files` are the files of both, in any order.

    A file may be a table with the columns of its contract: a pandas DataFrame, an Arrow table (polars, pyarrow, DuckDB)
    or a list of dicts. Files and tables may be passed by the name of their contract: `score(truth="t.csv",
    predictions=frame)`.

    Raises `CallError` if the files do not belong together. A submission that is not valid does not raise: its score is
    falsy, `valid` is False, and `reasons` explains why.

    `intervals` adds an interval to every figure that depends on cases, which needs NumPy (the extra `stats`). `cluster`
    names a field of the truth, such as the id of the patient, whose cases are not independent of each other; it implies
    `intervals`. See docs/uncertainty.md.

    `by` names fields of the truth or of a file that lists the cases, or columns of the table `groups`, which has the
    key of each case: the score then has `subgroups`, with the figures for the cases of each value. A number needs
    bands, as in `by="age=0,40,65"`. Groups of fewer than 10 cases are hidden.

    `phase` scores only the cases of one phase of a challenge, which the key in the file `phase_key` selects.

    `breakdown` explains each item (in extraction, `breakdown` of the score) or sample (in benchmark,
    `detailed_results` of the result). Tracks have additional arguments, which are also options of the command:
    `weights` and `categories` (mappings), `metric_name`, `renormalize_missing`, `replace` and `lexicon` (a file) for
    benchmark, `t_min_ms` and `t_max_ms` for lesions, `match` for extraction.
    """
    options = CallOptions.of(locals())
    from medcontract.evaluation.result import score_result
    from medcontract.evaluation.score import score_files

    given = options.files(files)
    with options.running("scoring") as settings:
        result = score_result(score_files(given, settings))
    return result._failing_on_warnings() if options.strict else result


def preflight(
    *files: FileName | TableLike,
    contract: str | None = None,
    images: FileName | None = None,
    jobs: int = 1,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    phase: Literal["public", "private"] | None = None,
    phase_key: FileName | None = None,
    intervals: bool = False,
    cluster: str | None = None,
    participant: bool = False,
    show_values: bool = False,
    plugin_errors: bool = True,
    max_problems: int = MAX_SCORE_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    **track_options: object,
) -> Preflight:
    """Check a submission. More files, such as cases or the truth, allow more checks.

    Files may be tables, as in `score`.

    A check passes, fails, or is skipped if files for it are missing; the result is truthy if no check fails. `images`
    is a folder, `jobs` the number of processes that check images. `intervals`, `cluster` and options of tracks: as in
    `score`.
    """
    options = CallOptions.of(locals())
    from medcontract.evaluation.preflight.checks import preflight as run_checks

    given = options.files(files)
    settings = options.settings._replace(jobs=1, progress=options.stage("checking"))
    referenced = referenced_files(images, options)
    checklist = run_checks(given, settings, referenced)
    return checklist._failing_on_warnings() if options.strict else checklist


def leaderboard(
    truth: FileName | TableLike,
    *submissions: FileName | TableLike | Mapping[str, FileName | TableLike],
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    phase: Literal["public", "private"] | None = None,
    phase_key: FileName | None = None,
    measured: FileName | None = None,
    intervals: bool = False,
    cluster: str | None = None,
    participant: bool = False,
    plugin_errors: bool = True,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: object = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    cache: FileName | None = None,
    teams: FileName | None = None,
    attempts: Literal["best", "last", "all"] = "all",
    columns: str | Iterable[str] = (),
    blind: bool = False,
    reports: FileName | None = None,
    report_as: tuple[str, Callable[[Score], str]] | None = None,
    page: FileName | None = None,
    max_alike: int | None = None,
    **track_options: object,
) -> Leaderboard:
    """Score each submission (a folder, an archive or a file) against the truth (likewise), and rank them.

    The truth and submissions may be tables, as in `score`. A dict has submissions by name, which may also be files:
    `leaderboard("truth.csv", {"heron": frame, "crane": "crane.csv"})`.

    Submissions that are not valid are last, with reasons; the result is truthy if at least one is valid, and with
    `strict` only if there are no warnings. A link out of its folder or to another submission, a pipe and a device are
    not read, and not valid. A file that is not a data file, such as a readme, is not a submission: it is ignored with
    a warning. `measured` is a folder with
    your own measurements of each submission (telemetry, model file, runs, evidence), as `NAME/` or `NAME.json`; those
    of the submissions are then ignored. Options of tracks: as in `score`.

    `reports` is a folder for one file per submission with its result, as `score` returns it: JSON by default, or what
    `report_as`, a file extension and a function of the score, makes of it. It is created if it does not exist. A file
    in it that was not written as a report, or was changed since, is never replaced: that raises `CallError` before
    anything is scored. `max_alike` limits the similar problems in each report. `page` is the file that you will write
    the ranking to: reports link to it, and it links to them.

    What is equal shares a rank. `teams` is a table with the columns `submission`, a path as in the call or a name, and
    `team`: it comes before names in the files. With `attempts`, only the best or the last (in the order of the table)
    submission of each team is ranked. `columns` are names of figures: pages show these, in this order. With `blind`
    there are no ranks and figures, and reports have no rank.

    `intervals` adds an interval to each headline, a range to each rank, and says which submissions can be told apart.
    `cluster`: as in `score`.

    `cache` is a folder that scores are kept in: a submission that was already scored is not scored again if neither it
    nor the truth, the protocol, the settings or the versions have changed.
    """
    options = CallOptions.of(locals())
    from msgspec.structs import replace

    from medcontract.evaluation.files import matching, split_known
    from medcontract.evaluation.ranking import leaderboard as rank
    from medcontract.evaluation.submissions import named_submissions, read_teams, submissions_in, with_measured

    if not submissions:
        raise CallError("there are no submissions to rank", "pass each submission, a folder or a file, after the truth")
    settings = options.settings
    if reports is None:
        settings = settings._replace(keep=_FIRST_KINDS, alike=1)
    tables, files = named_submissions(submissions)
    split = matching([split_known(each, options.contract) for each in as_paths(files)])
    found = submissions_in(split, options.limits, options.excluded, tables)
    if tables and cache is not None:
        raise CallError("scores of tables, and of submissions with a name, are not kept in a cache", "pass files")
    if measured is not None:
        found = with_measured(found, os.fspath(measured), options.limits)
    listed = read_teams(None if teams is None else os.fspath(teams), attempts, found.submissions, options.limits)
    given = options.files([truth])
    inputs = [
        *([split_known(truth)[0]] if isinstance(truth, str | os.PathLike) else []),
        *(each for each in (measured, teams) if each),
    ]
    paths = [path for path, _ in split]
    extension, render = report_as or (".json", lambda score: score.to_json())
    folder, to_page, to_reports = None, "", list[str]()
    if reports is not None:
        from medcontract.report_files import ReportFolder

        names = [submission.plain_name for submission in found.submissions]
        folder = ReportFolder(os.fspath(reports), names, extension, [os.fspath(each) for each in inputs], paths)
        if page is not None and extension in (".html", ".md"):
            to_page, to_reports = folder.links(os.fspath(page))
    with (
        options.running("scoring", settings) as running,
        options.kept_results([*inputs, *paths], beside=True) as results,
    ):

        def write_report(number: int, score: Score) -> None:
            if folder is not None:
                display = replace(score._display, board=to_page)
                folder.write(number, render(replace(score, _display=display)))

        feedback = None if folder is None else write_report
        board = rank(given.files, found, running, feedback, results, listed, blind)
    entries = board.submissions
    if to_reports:
        entries = tuple(replace(entry, _report=to_reports[entry._number]) for entry in entries)
    return replace(board, submissions=entries, _strict=options.strict, _shown=_shown(board, columns))


def _shown(board: Leaderboard, columns: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of the figures that pages show. Raises `CallError` for an unknown one."""
    names = columns.split(",") if isinstance(columns, str) else list(columns)
    require_strings(names)
    names = [name.strip() for name in names if name.strip()]
    known = dict.fromkeys(figure.name for figure in board._figures if figure.by == "submission")
    known |= dict.fromkeys(name for entry in board.submissions for name in entry.figures)
    for name in names:
        if name not in known:
            from medcontract.contracts.suggestions import did_you_mean

            hint = did_you_mean(name, list(known)) or f"figures: {', '.join(known)}"
            raise CallError(words(option("--columns"), f": there is no figure '{name}'"), hint)
    return tuple(dict.fromkeys(names))


def compare(
    baseline: FileName | Score,
    rerun: FileName | Score,
    *,
    contract: str | None = None,
    protocol: FileName | Protocol | None = None,
    strict: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
) -> Comparison:
    """Compare two scores: results of `score`, or files written by `medcontract score --format json`.

    `contract` can only be "medcontract/score". Raises `CallError`, with the exact difference, if they are not
    comparable, or were not made under `protocol`. With `strict`, the result is falsy if there are warnings.
    """
    options = CallOptions.of(locals())
    from msgspec.structs import replace

    from medcontract.evaluation import compare as comparing
    from medcontract.evaluation.files import stdin_once

    both = [path_of_contract(each, SCORE, options.contract) for each in (baseline, rerun)]
    stdin_once([*both, options.protocol])
    names = [os.path.basename(each) for each in both if isinstance(each, str | os.PathLike)]
    first, second = (_validated_score(each, options.limits) for each in both)
    shown = ["standard input" if name == "-" else name for name in names]
    return replace(comparing.compare(first, second, shown, options.settings.frozen), _strict=options.strict)


def verify(
    score: FileName | Score,
    *files: FileName | TableLike,
    contract: str | None = None,
    phase_key: FileName | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: object = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    notice: Notice | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Compute a score again from its files, with the protocol and the options that it states.

    The result is truthy if the files have the stated hashes and give the stated score; otherwise it says what differs.
    `files` are in any order, and may have other names. A custom lexicon of the score has to be among them. A score of
    one phase needs its `phase_key`. Raises `CallError` for another file than a score, and for an unknown track.
    """
    options = CallOptions.of(locals())
    from dataclasses import replace

    from medcontract.evaluation.files import stdin_once
    from medcontract.evaluation.verify import verify as compute_again

    if not files:
        raise CallError("there are no files to compute the score from", "pass its files after the score")
    stated = path_of_contract(score, SCORE)
    stdin_once([stated, *(each for each in files if isinstance(each, str))])
    value = _validated_score(stated, options.limits)
    phase = value.value.protocol.parameters.get("phase")
    options = replace(options, phase=phase or None, phase_key=phase_key if phase else None) if phase_key else options
    given = options.files(files)
    with options.running("verifying") as settings:
        return compute_again(value, given, settings)


def _validated_score(given: FileName | Score, limits: Limits) -> Validated[Any]:
    """Load a score. Raises `CallError` if the file is a valid file of another contract."""
    from medcontract.validation.dispatch import load_source

    source = result_source(given, SCORE, limits)
    try:
        return load_source(source, SCORE)
    except InvalidData:
        if not isinstance(given, str | os.PathLike) or given == "-":
            raise
        other = validate(given).contract
        if other in (None, SCORE):
            raise
        raise CallError(
            f"{os.fspath(given)}: expected a score, got {other}",
            words(
                "pass the output of ",
                command("score --format json --out FILE", "score(…).to_json()"),
                "; of a ranking, verify its reports",
            ),
        ) from None
