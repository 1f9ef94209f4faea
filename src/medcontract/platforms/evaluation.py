"""Scores one submission with the settings of a bundle: figures for the platform, or the reason why there are none."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextvars import copy_context
from typing import NamedTuple

from msgspec.structs import replace

from medcontract import rendering
from medcontract.atomic_write import write_file
from medcontract.challenges.loading import load
from medcontract.contracts import registry
from medcontract.errors import DEBUG, CallError, MedcontractError, internal_error
from medcontract.evaluation.contest import Contest
from medcontract.evaluation.ranking import score_alone
from medcontract.evaluation.submissions import find_submission
from medcontract.options import CallOptions
from medcontract.platforms.settings import CHALLENGE, PROTOCOL, BundleSettings, read_settings
from medcontract.rendering.page import clean
from medcontract.results.score import FileProblem, Score

REFUSED, MISCONFIGURED = 1, 2
"""Exit codes of entry points."""
_MOST_CHARACTERS = 600
_NOT_YOURS = "this is not a problem of the submission, please tell the organizers"
_NOT_HERE = (
    (re.compile(r"specify CONTRACT=PATH; see: medcontract schema list"), "expected {expected}"),
    (re.compile(r" \(see --measured\)"), ""),
)
"""Hints for the command line that do not apply on a platform, and what participants read instead."""


class Evaluation(NamedTuple):
    """The outcome for one submission: figures, or a reason in one line."""

    figures: dict[str, float]
    """By the names of the platform, the headline first; empty if there is a reason."""
    reason: str = ""
    """Why the submission is not scored. Participants may read it."""
    exit_code: int = 0
    score: Score | None = None
    """The score for participants; None if the bundle is misconfigured."""
    split: str = ""

    def page(self) -> str:
        """Return the outcome as an HTML page."""
        if self.score is not None:
            return rendering.render(self.score, "html")
        text = self.reason.replace("&", "&amp;").replace("<", "&lt;")
        return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Not scored</title><p>{text}</p></html>\n'


def run(
    program: str, truth: str, sent: str, output: str, result: str, *, ignored: Sequence[str], page: str = "",
    key: str = "",
) -> int:  # fmt: skip
    """Score a submission, and write what a platform reads to the folder `output`. Returns the exit code.

    `result`: the file for the figures, which does not exist if there are none; `key`: where they are in it. `page`: the
    file for the outcome as a page. Whatever goes wrong is one line on standard error, without details.
    """
    scores = os.path.join(output, result)
    try:
        if os.path.lexists(scores):
            os.remove(scores)
        found = evaluate_submission(program, truth, sent, ignored)
        os.makedirs(output, exist_ok=True)
        if page:
            write_file(found.page(), os.path.join(output, page))
        if not found.reason:
            write_file(json.dumps({key: found.figures} if key else found.figures, indent=2) + "\n", scores)
    except (OSError, MedcontractError) as error:  # the folder for the output
        _print_if_debugging(error)
        found = _misconfigured("cannot write the result")
    except Exception as error:  # noqa: BLE001  # any bug
        found = _misconfigured(internal_error(error))
    if found.reason:
        sys.stderr.write(f"{found.reason}\n")
    return found.exit_code


def evaluate_submission(program: str, truth: str, submission: str, ignored: Sequence[str] = ()) -> Evaluation:
    """Score a submission, a folder or a file, with the settings in the folder of the entry point.

    `truth`: the folder or archive with the truth. `ignored`: files that the platform adds to the submission. Never
    raises: whatever goes wrong is a reason.
    """
    try:
        return copy_context().run(_evaluate, program, truth, submission, ignored)  # a challenge is used here only
    except MedcontractError as error:
        _print_if_debugging(error)
        return _misconfigured("the bundle, its protocol or its truth cannot be used")  # details may reveal the truth
    except Exception as error:  # noqa: BLE001  # any bug
        return _misconfigured(internal_error(error))


def _evaluate(program: str, truth: str, submission: str, ignored: Sequence[str]) -> Evaluation:
    settings = read_settings(program)
    if settings.challenge:
        registry.use(load(os.path.join(program, CHALLENGE)))
    options = CallOptions(participant=True, protocol=os.path.join(program, PROTOCOL))
    contest = Contest(tuple(_truth_files(settings, truth)), options.settings)
    score, figures = score_alone(contest, find_submission(submission, ignored))
    score = _for_platform(score, settings)
    headline = settings.headline.figure
    if score.valid and figures.get(headline) is None:
        score = replace(
            score, valid=False, reasons=(_no_headline(score, headline, contest.track.roles.auxiliaries("submission")),)
        )
    if not score.valid:
        return Evaluation({}, f"Submission not scored: {_reason(score)}", REFUSED, score, settings.split)
    named = {column.key: figures[column.figure] for column in settings.columns if column.figure in figures}
    return Evaluation(named, score=score, split=settings.split)


def _truth_files(settings: BundleSettings, truth: str) -> list[tuple[str, str]]:
    """Return the files that the bundle was made with, and no others. Raises `CallError` if one is missing."""
    if not os.path.exists(truth):
        raise CallError("the truth is missing")
    inside = truth + "/" if os.path.isdir(truth) else truth + "!/"
    return [(inside + file.name, file.contract) for file in settings.truth]


def _for_platform(score: Score, settings: BundleSettings) -> Score:
    """Return the score with hints that apply on a platform."""
    expected = f"a file of {' or '.join(settings.submission)}"

    def adapted(text: str) -> str:
        for pattern, instead in _NOT_HERE:
            text = pattern.sub(instead.format(expected=expected), text)
        return text

    return replace(
        score,
        reasons=tuple(map(adapted, score.reasons)),
        warnings=tuple(map(adapted, score.warnings)),
        problems=tuple(replace(each, hint=each.hint and adapted(each.hint)) for each in score.problems),
    )


def _no_headline(score: Score, headline: str, auxiliaries: Sequence[str]) -> str:
    why = "; ".join(warning for warning in score.warnings if headline in warning)
    missing = " and ".join(name for name in auxiliaries if f"({name})" in why)
    todo = f"; submit a file of {missing}, too" if missing else ""
    return f"it cannot be ranked, because it has no {headline}{f' ({why})' if why else ''}{todo}"


def _reason(score: Score) -> str:
    """Return all reasons and the first error, in one line without values of records."""
    found = list(score.reasons)
    first = next((problem for problem in score.problems if problem.severity == "error"), None)
    if first is not None and not any(first.message in reason for reason in found):
        count = f"{score.errors:,} errors, the first" if score.errors > 1 else "error"
        found.append(f"{count} in {_describe(first)}")
    return _one_line("; ".join(found))


def _describe(problem: FileProblem) -> str:
    place = "".join(
        f", {name} {value}" for name, value in (("line", problem.line), ("column", problem.column)) if value is not None
    )
    shown = problem.to_dict()
    hint = f" ({shown['hint']})" if shown["hint"] else ""
    return f"{shown['file']}{place}: {shown['code']} {shown['message']}{hint}"


def _one_line(text: str) -> str:
    shown = clean(text)
    return shown if len(shown) <= _MOST_CHARACTERS else f"{shown[:_MOST_CHARACTERS]}…"


def _misconfigured(what: str) -> Evaluation:
    reason = _one_line(f"Submission not scored: the evaluation failed ({what}); {_NOT_YOURS}")
    return Evaluation({}, reason, MISCONFIGURED)


def _print_if_debugging(error: Exception) -> None:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
