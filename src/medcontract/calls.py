"""What the public functions do with checked options: they find the files, read them, and make the result.

Each function imports what it uses, to start quickly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from medcontract import arguments
from medcontract.addresses import require_local
from medcontract.arguments import FileName, FileNames
from medcontract.checks import referenced_files
from medcontract.errors import CallError, InvalidData, command, option, words
from medcontract.extras import DataFrame
from medcontract.options import PROTOCOL, CallOptions, path_of_contract

if TYPE_CHECKING:
    from medcontract.contracts.contract import Validated
    from medcontract.reading.limits import Limits
    from medcontract.signatures import (
        Bundle,
        Comparison,
        Leaderboard,
        Preflight,
        Protocol,
        ProtocolCheck,
        Score,
        Verification,
    )

_SCORE = "medcontract/score"
_FIRST_KINDS = 20
"""In a ranking without reports: the kinds of problems of which the first is kept, to find the first error."""


def score(files: Sequence[FileName | DataFrame], options: CallOptions) -> Score:
    from medcontract.evaluation.score import score_files, score_result

    given = options.files(files)
    with options.running("scoring") as settings:
        result = score_result(score_files(given, settings))
    return result._failing_on_warnings() if options.strict else result


def preflight(files: Sequence[FileName | DataFrame], images: FileName | None, options: CallOptions) -> Preflight:
    from medcontract.evaluation.preflight.checks import preflight as run_checks

    given = options.files(files)
    settings = options.settings._replace(jobs=1, progress=options.stage("checking"))
    referenced = referenced_files(images, options)
    checklist = run_checks(given, settings, referenced)
    return checklist._failing_on_warnings() if options.strict else checklist


def leaderboard(
    truth: FileName,
    submissions: Sequence[FileName],
    measured: FileName | None,
    reports: FileName | None,
    report_as: tuple[str, Callable[[Score], str]] | None,
    options: CallOptions,
) -> Leaderboard:
    from msgspec.structs import replace

    from medcontract.evaluation.files import matching, split_known
    from medcontract.evaluation.ranking import leaderboard as rank
    from medcontract.evaluation.submissions import submissions_in, with_measured

    if not submissions:
        raise CallError("there are no submissions to rank", "pass each submission, a folder or a file, after the truth")
    settings = options.settings
    if reports is None:
        settings = settings._replace(keep=_FIRST_KINDS, alike=1)
    split = matching([split_known(each, options.contract) for each in arguments.paths(submissions)])
    found = submissions_in(split, options.limits, options.excluded)
    if measured is not None:
        found = with_measured(found, os.fspath(measured), options.limits)
    given = options.files([truth])
    inputs = [split_known(truth)[0], *([] if measured is None else [measured])]
    paths = [path for path, _ in split]
    extension, render = report_as or (".json", lambda score: score.to_json())
    folder = None
    if reports is not None:
        from medcontract.report_files import ReportFolder

        names = [submission.plain_name for submission in found.submissions]
        folder = ReportFolder(os.fspath(reports), names, extension, [os.fspath(each) for each in inputs], paths)
    with (
        options.running("scoring", settings) as running,
        options.kept_results([*inputs, *paths], beside=True) as results,
    ):
        feedback = None if folder is None else lambda number, score: folder.write(number, render(score))
        board = rank(given.files, found, running, feedback, results)
    return replace(board, _strict=options.strict)


def compare(baseline: FileName | Score, rerun: FileName | Score, options: CallOptions) -> Comparison:
    from msgspec.structs import replace

    from medcontract.evaluation import compare as comparing
    from medcontract.evaluation.files import stdin_once

    both = [path_of_contract(each, _SCORE, options.contract) for each in (baseline, rerun)]
    stdin_once([*both, options.protocol])
    names = [os.path.basename(each) for each in both if isinstance(each, str | os.PathLike)]
    first, second = (_validated_score(each, options.limits) for each in both)
    shown = ["standard input" if name == "-" else name for name in names]
    return replace(comparing.compare(first, second, shown, options.settings.frozen), _strict=options.strict)


def verify(score: FileName | Score, files: Sequence[FileName | DataFrame], options: CallOptions) -> Verification:
    from medcontract.evaluation.files import stdin_once
    from medcontract.evaluation.verify import verify as compute_again

    if not files:
        raise CallError("there are no files to compute the score from", "pass its files after the score")
    stated = path_of_contract(score, _SCORE)
    stdin_once([stated, *(each for each in files if isinstance(each, str))])
    value = _validated_score(stated, options.limits)
    given = options.files(files)
    with options.running("verifying") as settings:
        return compute_again(value, given, settings)


def _validated_score(given: FileName | Score, limits: Limits) -> Validated[Any]:
    """Load a score. Raises `CallError` if the file is a valid file of another contract."""
    from medcontract.validation.dispatch import load_source

    if not isinstance(given, str | os.PathLike):
        from medcontract.results.score import Score

        if not isinstance(given, Score):
            raise CallError(f"expected a path or a result of score, got {type(given).__name__}")
        return load_source(arguments.input_source(given.to_json().encode(), _SCORE, "score.json"), _SCORE)
    try:
        return load_source(arguments.source(os.fspath(given), limits), _SCORE)
    except InvalidData:
        from medcontract.api import validate

        other = validate(given).contract if given != "-" else None
        if other in (None, _SCORE):
            raise
        raise CallError(
            f"{os.fspath(given)}: expected a score, got {other}",
            words("pass the output of ", command("score --format json --out FILE", "score(…).to_json()")),
        ) from None


def freeze_protocol(track: str, truth: FileNames, note: str | None, options: CallOptions) -> Protocol:
    from medcontract.evaluation.protocols import freeze
    from medcontract.scoring import tracks

    options.require_protocol_options()
    given = options.files(arguments.paths(truth)).files
    return freeze(tracks.track(track), options.changes, given, options.settings, note)


def check_protocol(protocol: FileName | Protocol, options: CallOptions) -> ProtocolCheck:
    from medcontract.evaluation.protocols import check

    options.require_protocol_options()
    file = path_of_contract(protocol, PROTOCOL, options.contract)
    return check(options.frozen(file), options.settings)


def template(contract_id: str, cases: FileName, container: str, options: CallOptions) -> str:
    from medcontract.evaluation.template import template as fill

    given = options.files(arguments.paths(cases)).files
    if len(given) != 1:
        raise CallError("the cases must be one file", "pass the file in the folder that lists them")
    ((path, cases_contract),) = given
    filled = fill(contract_id, arguments.source(path, options.limits), cases_contract, container)
    if options.notice and filled.lacking:
        fields = ", ".join(filled.lacking)
        options.notice(f".{container} cannot contain the header ({fields}): pass it to score with --set NAME=VALUE")
    if options.notice and filled.is_valid:
        options.notice(
            "this file is valid as it is: its contract allows empty values in all fields that are not filled in"
        )
    return filled.text


def bundle(
    platform: str,
    truth: Iterable[FileName],
    out: FileName,
    rank_by: str | None,
    title: str | None,
    force: bool,
    options: CallOptions,
) -> Bundle:
    from pathlib import Path

    from medcontract.atomic_write import refuse_input_folder
    from medcontract.contracts import registry
    from medcontract.evaluation.contest import Contest
    from medcontract.evaluation.files import split_known
    from medcontract.evaluation.protocols import freeze
    from medcontract.evaluation.score import changes_for
    from medcontract.platforms.bundle import make_plan, write_bundle
    from medcontract.platforms.settings import require_platform

    require_platform(platform)
    require_local(out, "cannot write", "write to a local folder, and copy it")
    files = [split_known(path)[0] for path in truth]
    if not files:
        raise CallError("there is no truth", words("pass its files with ", option("--truth", "FILE")))
    if "-" in files:
        raise CallError("a bundle needs files, not standard input", "save the truth to a file")
    refuse_input_folder(out, files, "--out")
    given = options.files(truth)
    contest = Contest(tuple(given.files), options.settings)
    frozen = freeze(contest.track, changes_for(contest.track, options.settings, ranking=True), (), options.settings)
    challenge = registry.scope()
    if challenge is not None and title is None:
        title = challenge.definition.title
    plan = make_plan(
        platform, contest, protocol=f"{frozen.to_json()}\n".encode(), rank_by=rank_by, title=title,
        challenge=None if challenge is None else challenge.source,
    )  # fmt: skip
    protocol = options.protocol
    inputs = [*files, *([os.fspath(protocol)] if isinstance(protocol, str | os.PathLike) else [])]
    return write_bundle(plan, Path(out), inputs, force)
