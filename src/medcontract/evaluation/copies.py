"""Finds submissions whose predictions are identical, record by record, whatever their containers and order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from medcontract.errors import MedcontractError
from medcontract.evaluation.contest import Contest
from medcontract.evaluation.files import gather, read
from medcontract.evaluation.result import Scored
from medcontract.evaluation.submissions import Submission
from medcontract.scoring.expected import Expected
from medcontract.scoring.pairing import Pair


def copies(contest: Contest, submissions: Sequence[Submission], scored: Sequence[Scored]) -> Iterator[list[int]]:
    """Return the numbers of submissions with identical predictions, by group. Files are read only if sums agree."""
    alike: dict[str, list[int]] = {}
    for number, each in enumerate(scored):
        if each.sums:
            alike.setdefault(each.sums, []).append(number)
    answers = {pair.submission: pair for pair in contest.scorer.pairs}
    for numbers in alike.values():
        if len(numbers) < 2:
            continue
        known: dict[Hashable, Hashable] = {}
        same: dict[Hashable, list[int]] = {}
        for number in numbers:
            files = tuple((f.contract, f.sha256) for f in scored[number].inputs if f.contract in answers)
            if files not in known:
                content = _content(contest, submissions[number], answers)
                known[files] = files if content is None else content
            same.setdefault(known[files], []).append(number)
        yield from (group for group in same.values() if len(group) > 1)


def _content(contest: Contest, submission: Submission, answers: dict[str, Pair]) -> Hashable:
    """Hash the records of a submission; None if some are not valid, or if it cannot be read again."""
    hashes = []
    try:
        groups = gather(submission.files, contest.settings, submission.paths, role="submission").groups
        for contract_id, parts in sorted(groups.items()):
            if contract_id in answers:
                records = Expected(answers[contract_id].key, lambda record: None)
                read(parts, records)
                if any(part.collector.errors for part in parts):
                    return None
                hashes.append((contract_id, records.content_sha256()))
    except MedcontractError:
        return None
    return tuple(hashes)
