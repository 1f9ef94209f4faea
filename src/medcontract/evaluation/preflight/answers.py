"""Checks of what a submission answers: whether there is anything to score, and whether it can be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from medcontract.evaluation.near_misses import differences, near_pairs, only_in_spelling, shown_key
from medcontract.evaluation.preflight.session import Session, in_files
from medcontract.evaluation.remarks import (
    as_problem,
    error,
    on_empty_labels,
    on_headers,
    on_ids,
    on_impressions,
    on_labels,
    warning,
)
from medcontract.problems import plural
from medcontract.results.preflight import Check
from medcontract.results.score import FileProblem
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair
from medcontract.validation.dispatch import Part

_EXAMPLES = 3
_CODES = ("MC302", "MC303")
_ANSWERED = "see MC502: it may be answered under an id with another spelling"
_UNLIKE = "compare it with the expected ids, and check that these are the answers to these cases"


def answers_check(session: Session) -> Check:
    """Check that the files of the submission contain answers: without any, nothing else needs to be checked."""
    check = Check(id="answers", title="The submission contains answers", status="skipped")
    records = _records(session.submissions)
    if not session.submissions:
        return replace(check, detail="needs a submission")
    if not records and (broken := unreadable(session)):
        return replace(check, detail=broken)
    problems = tuple(problem for pair in session.scorer.pairs for problem in _no_answers(session, pair))
    problems += tuple(
        in_files(session.files.groups.get(pairing.pair.submission, []), problem)
        for pairing in session.pairings.values()
        for problem in on_impressions([pairing])
    )
    problems += tuple(
        in_files(session.files.groups.get(tally.pair.submission, []), problem)
        for tally in session.tallies
        for problem in on_empty_labels(tally)
    )
    dates = on_headers(session.headers.values(), session.documents.values())
    problems += tuple(in_files(session.submissions, problem) for problem in dates)
    return replace(
        check, status=status_of(problems), detail=plural(records, "record"), problems=problems, _found=len(problems)
    )


def status_of(problems: Iterable[FileProblem]) -> str:
    return "failed" if any(problem.severity == "error" for problem in problems) else "passed"


def unreadable(session: Session) -> str | None:
    """Say that files of the submission cannot be read, as the reason why a check is skipped."""
    names = [part.name for part in session.submissions if part.validator and part.validator.broken]
    return f"needs a readable submission, unlike {', '.join(names)}" if names else None


def _no_answers(session: Session, pair: Pair) -> Iterator[FileProblem]:
    """Say why the files of one kind contain no answers."""
    parts = session.files.groups.get(pair.submission, [])
    pairing = session.pairings.get(pair.truth)
    if not parts or pairing is None or (session.truth.parts and not pairing.expected.items):  # none is expected
        return
    if not _records(parts):
        if not any(part.validator and part.validator.broken for part in parts):
            yield in_files(parts, error("MC403", "there are no records", "check that the predictions were written"))
        return
    marks = [mark for by_item in pairing.marks_by_run.values() for mark in by_item.values()]
    if marks and all(type(mark) is Unscored and mark.why == "failed" for mark in marks):
        yield in_files(parts, error("MC403", "every record reports an error", "check the log of the model"))
    elif any(type(mark) is not Unscored for mark in marks):
        named = [remark for remark in session.remarks if remark.code == "MC403" and remark.contract == pair.submission]
        yield from (in_files(parts, as_problem(remark)) for remark in named)
        for tally in session.tallies:
            if tally.pair.truth == pair.truth and not tally.total and not named:
                make = error if tally.vocabulary.required else warning
                message = f"no record predicts any {tally.vocabulary.name}"
                yield in_files(
                    parts, make("MC403", message, "check that the predictions were written into the records")
                )


def _records(parts: Iterable[Part]) -> int:
    return sum((part.validator.records if part.validator else 0) or 0 for part in parts)


def labels_check(session: Session) -> Iterator[Check]:
    """Check that some of the predicted labels, if no contract lists them, occur in the truth."""
    if not session.tallies:
        return
    names = " and ".join(dict.fromkeys(tally.vocabulary.name for tally in session.tallies))
    check = Check(id="labels", title=f"The submission and the truth have {names} in common", status="skipped")
    tallies = [tally for tally in session.tallies if tally.expected and tally.total]
    if not tallies:
        yield replace(check, detail=_no_comparison(session, names))
        return
    problems = tuple(
        in_files(session.files.groups.get(tally.pair.submission, []), problem)
        for tally in tallies
        for problem in on_labels(tally, session.participant)
    )
    counts = [f"{tally.matched:,} of {tally.total:,} {tally.vocabulary.name}" for tally in tallies]
    detail = "" if session.participant else ", ".join(counts)
    yield replace(check, status=status_of(problems), detail=detail, problems=problems, _found=len(problems))


def _no_comparison(session: Session, names: str) -> str:
    """Say why no labels can be compared."""
    if not session.submissions:
        return "needs a submission"
    if not session.has_truth:
        return f"needs a truth ({' or '.join(session.track.roles.truths)})"
    if session.truth.reasons:
        return "needs a truth without errors"
    of = "submission" if any(tally.expected for tally in session.tallies) else "truth"
    return f"needs {names} in the {of}"


def without_expected_ids(session: Session) -> str | None:
    """Say why the submission cannot be compared with the expected ids, if it cannot."""
    if not session.submissions:
        return "needs a submission"
    if session.truth.parts:
        return None
    roles = session.track.roles
    return "needs the expected ids: " + " or ".join(dict.fromkeys((*roles.truths, *roles.id_lists)))


def coverage_check(session: Session) -> Check:
    """Check that there are answers for the expected ids, and for no others."""
    check = Check(id="coverage", title="Every expected id is answered, and no others", status="skipped")
    lacking = without_expected_ids(session) or session.blocked
    if lacking:
        return replace(check, detail=lacking)
    pairings = session.pairings.values()
    missing = sum(len(pairing.missing()) for pairing in pairings)
    unknown = sum(pairing.unknown_count for pairing in pairings)
    expected = sum(len(pairing.expected.items) for pairing in pairings)
    detail = f"{plural(expected, 'id')} in {', '.join(part.name for part in session.truth.parts)}"
    detail += f", {missing:,} without a record" if missing else ""
    detail += f", {plural(unknown, 'record')} with other ids" if unknown else ""
    if unknown and not any(marks for pairing in pairings for marks in pairing.marks_by_run.values()):
        detail += "; none of the ids is expected"
        detail += "" if session.misspelled else ": check how they are written, and that this is the right list"
    problems, found = session.problems_in(session.submissions, lambda code: code in _CODES)
    near, spelling = _near_ids(session)
    if near and session.misspelled:  # what follows from it is in the detail
        first, *others = near
        near, problems, found = [replace(first, severity="error"), *others], (), 0
    elif not near:
        problems = tuple(replace(each, hint=_UNLIKE) if each.code == "MC303" else each for each in problems)
    elif spelling:  # hints of rules, not those about a single id
        hints = {"MC303": f"write it as in the list or the truth: only {spelling} is different", "MC302": _ANSWERED}
        of_rule = ("check ", "write ")
        problems = tuple(
            replace(each, hint=hints[each.code]) if (each.hint or "").startswith(of_rule) else each for each in problems
        )
    return replace(
        check, status="failed" if missing or unknown or not expected else "passed", detail=detail,
        problems=(*near, *problems), _found=found + len(near),
    )  # fmt: skip


def _near_ids(session: Session) -> tuple[list[FileProblem], str]:
    """Find unknown ids that differ from an expected one only in spelling. Also returns in what, if all of them do.

    Problems of a truth are not shown to participants.
    """
    hidden = session.participant and session.has_truth
    found: list[FileProblem] = []
    every: list[tuple[Any, Any]] = []
    left = 0
    for pairing in session.pairings.values():
        parts, total = session.files.groups.get(pairing.pair.submission, []), pairing.unknown_count
        near = near_pairs(pairing.unknown, pairing.similar_to())
        if len(near) < total:
            found += [in_files(parts, problem) for problem in on_ids(pairing)]
        every, left = every + near, left + total - len(near)
        if near and not hidden:
            which = f"{len(near):,} of {total:,} unknown ids (MC303)"
            if len(near) == total:
                which = f"all {total:,} unknown ids (MC303)" if total > 1 else "the unknown id (MC303)"
            elif len(pairing.unknown) < total:
                which = f"at least {which}"
            message = f"{which} {only_in_spelling(near, 'an expected one')}"
            pairs = "; ".join(f"{shown_key(mine)}, expected {shown_key(true)}" for mine, true in near[:_EXAMPLES])
            found.append(in_files(parts, warning("MC502", message, "write the ids as in the list or the truth", pairs)))
    return found, differences(every) if every and not left else ""
