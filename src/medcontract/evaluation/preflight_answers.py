"""Checks of what a submission answers: whether there is anything to score, and whether it can be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from medcontract.evaluation.near_misses import differences, near_pairs, shown_key
from medcontract.evaluation.preflight_files import in_files
from medcontract.evaluation.preflight_session import Session
from medcontract.evaluation.remarks import LabelTally, as_problem, error, on_ids, on_labels, warning
from medcontract.evaluation.score import teams_of
from medcontract.problems import plural, shorten
from medcontract.results.preflight import Check, Status
from medcontract.results.score import FileProblem
from medcontract.results.validation import Problem
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.validation.parts import Part

_EXAMPLES = 3


def answers_check(session: Session) -> Check:
    """Check that the files of the submission contain answers: without any, nothing else needs to be checked."""
    title = "The submission contains answers"
    if not session.submissions():
        return Check(id="answers", title=title, status="skipped", detail="needs a submission")
    if not _records(session.submissions()) and (broken := unreadable(session)):
        return Check(id="answers", title=title, status="skipped", detail=broken)
    problems = [problem for pair in session.scorer.pairs for problem in _no_answers(session, pair)]
    status: Status = "failed" if any(problem.severity == "error" for problem in problems) else "passed"
    return Check(
        id="answers", title=title, status=status, detail=plural(_records(session.submissions()), "record"),
        problems=tuple(problems), _found=len(problems),
    )  # fmt: skip


def unreadable(session: Session) -> str | None:
    """That files of the submission cannot be read, as the reason why a check is skipped."""
    names = [part.name for part in session.submissions() if part.validator and part.validator.broken]
    return f"needs a readable submission, unlike {', '.join(names)}" if names else None


def _no_answers(session: Session, pair: Pair[Any, Any]) -> Iterator[FileProblem]:
    """Why the files of one kind contain no answers."""
    parts = session.files.groups.get(pair.submission, [])
    pairing = session.pairings.get(pair.truth)
    if not parts or pairing is None or (session.id_files and not pairing.expected.items):  # none is expected
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
                yield in_files(parts, _no_labels(tally))


def _records(parts: Iterable[Part]) -> int:
    return sum((part.validator.records if part.validator else 0) or 0 for part in parts)


def _no_labels(tally: LabelTally) -> Problem:
    make = error if tally.vocabulary.required else warning
    message = f"no record predicts any {tally.vocabulary.name}"
    return make("MC403", message, "check that the predictions were written into the records")


def labels_check(session: Session) -> Iterator[Check]:
    """Check that some of the predicted labels, if no contract lists them, occur in the truth."""
    if not session.tallies:
        return
    names = " and ".join(dict.fromkeys(tally.vocabulary.name for tally in session.tallies))
    title = f"The submission and the truth have {names} in common"
    tallies = [tally for tally in session.tallies if tally.expected and tally.total]
    if not tallies:
        yield Check(id="labels", title=title, status="skipped", detail=_no_comparison(session, names))
        return
    parts = session.files.groups
    problems = [
        in_files(parts.get(tally.pair.submission, []), problem)
        for tally in tallies
        for problem in on_labels(tally, session.participant)
    ]
    status: Status = "failed" if any(problem.severity == "error" for problem in problems) else "passed"
    counts = [f"{tally.matched:,} of {tally.total:,} {tally.vocabulary.name}" for tally in tallies]
    yield Check(
        id="labels", title=title, status=status, detail="" if session.participant else ", ".join(counts),
        problems=tuple(problems), _found=len(problems),
    )  # fmt: skip


def _no_comparison(session: Session, names: str) -> str:
    """Why no labels can be compared."""
    if not session.submissions():
        return "needs a submission"
    if not session.has_truth:
        return f"needs a truth ({' or '.join(session.track.roles.truths)})"
    if session.truth.reasons:
        return "needs a truth without errors"
    of = "submission" if any(tally.expected for tally in session.tallies) else "truth"
    return f"needs {names} in the {of}"


def near_ids(session: Session) -> tuple[FileProblem, ...]:
    """Unknown ids that differ from an expected one only in spelling. Those of a truth are not shown to participants."""
    hidden = session.participant and session.has_truth
    found = []
    for pairing in session.pairings.values():
        parts = session.files.groups.get(pairing.pair.submission, [])
        found += [in_files(parts, problem) for problem in on_ids(pairing)]
        near = [] if hidden else near_pairs(pairing.unknown, pairing.similar_to())
        if near:
            differ = "differ" if len(near) > 1 else "differs"
            message = f"{_of_unknown(pairing, len(near))} {differ} from an expected one only in {differences(near)}"
            pairs = "; ".join(f"{shown_key(mine)}, expected {shown_key(true)}" for mine, true in near[:_EXAMPLES])
            found.append(in_files(parts, warning("MC502", message, "write the ids as in the list or the truth", pairs)))
    return tuple(found)


def _of_unknown(pairing: Pairing[Any, Any], near: int) -> str:
    """The number of ids that are similar to an expected one, among those that MC303 reports one by one."""
    total = pairing.unknown_count
    if near == total:
        return f"all {total:,} unknown ids (MC303)" if total > 1 else "the unknown id (MC303)"
    least = "at least " if len(pairing.unknown) < total else ""
    return f"{least}{near:,} of {total:,} unknown ids (MC303)"


_SIMILAR = {
    "MC303": "see MC502: only the spelling of the id differs",
    "MC302": "see MC502: it may be answered under an id with another spelling",
}


def explained(session: Session, problems: Sequence[FileProblem]) -> tuple[FileProblem, ...]:
    """Problems of coverage; their hints refer to MC502 if all unknown ids are similar to expected ones."""
    for pairing in session.pairings.values():
        if len(near_pairs(pairing.unknown, pairing.similar_to())) < pairing.unknown_count:
            return tuple(problems)
    return tuple(replace(each, hint=_SIMILAR[each.code]) if _is_general(each) else each for each in problems)


def _is_general(problem: FileProblem) -> bool:
    """Whether the hint is the one of the rule, not one about this id."""
    return problem.code in _SIMILAR and (problem.hint or "").startswith(("check ", "write "))


def remarks_on(session: Session, parts: Sequence[Part]) -> tuple[FileProblem, ...]:
    """What the track finds suspicious in files of one contract."""
    return tuple(
        in_files(parts, as_problem(remark))
        for remark in session.remarks
        if remark.contract == parts[0].contract.id and remark.code != "MC403"  # that is for `answers_check`
    )


def other_teams(session: Session) -> tuple[FileProblem, ...]:
    """A warning if the files of a submission name different teams or models: one may belong to another submission."""
    teams = dict.fromkeys(teams_of(session.headers, session.documents))
    if len(teams) < 2:
        return ()
    roles = session.track.roles
    named = (*roles.submissions, *(each.contract for each in roles.auxiliary if each.names_team))
    parts = [part for name in named for part in session.files.groups.get(name, ())]
    message, hint = (
        f"the files name different {session.track.entrant}s",
        "check that all of them belong to this submission",
    )
    return (in_files(parts, warning("MC503", message, hint, ", ".join(repr(shorten(team)) for team in teams))),)
