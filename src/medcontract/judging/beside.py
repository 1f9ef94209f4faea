"""The files that the records of a file name, such as images: checked beside it, told at the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from medcontract.judging.examining import examine
from medcontract.judging.records import RecordsJudge
from medcontract.problems import Finding
from medcontract.reading.json_file import TooLarge
from medcontract.reading.scan import Broken, scan
from medcontract.reading.source import Unreadable
from medcontract.results.validation import NamedFiles

Check = Callable[[Iterator[tuple[int, str]], int], Iterator[Finding]]
"""From the numbers of records and the names in them, and the number of all records, to findings in that order. Their
references know the number of the record only, as `Ref(UNKNOWN, UNKNOWN, number)`."""


class Beside(NamedTuple):
    """What is to be checked beside the files of some contracts."""

    field: Callable[[str], str | None]
    """Where the records of a contract name a file; None: nowhere."""
    contracts: Callable[[], tuple[str, ...]]
    """All contracts whose records name files."""
    check: Check


def look_beside(judge: RecordsJudge, field: str, beside: Beside) -> NamedFiles:
    """Check what the records name in a field, after the file itself: its judge has run. Findings go to its tally.

    Names are read as they are needed; where their records stand is looked up afterwards, for what is wrong only.
    """
    if not judge.records:  # none, or not known because the file is broken
        return NamedFiles(0, 0)
    checked = bad = 0

    def counted() -> Iterator[tuple[int, str]]:
        nonlocal checked
        for named in _names(judge, field):
            checked += 1
            yield named

    judge.tally.new_room()
    for finding in beside.check(counted(), judge.records):
        bad += 1
        judge.tally.defer(judge.named(finding))
    judge.second_look()
    return NamedFiles(checked, bad)


def _names(judge: RecordsJudge, field: str) -> Iterator[tuple[int, str]]:
    try:
        for number, (raw, _, value) in enumerate(judge.cuts()):
            name = _name_in_doubt(judge, raw, field) if value is None else getattr(value, field)
            if name is not None:
                yield number, name
    except (Broken, TooLarge, Unreadable):
        return  # the file changed between two looks: what was found stands


def _name_in_doubt(judge: RecordsJudge, raw: bytes, field: str) -> str | None:
    """The name in a record that may be bad. None when the name itself is: that was told already."""
    if not raw:
        return None
    try:
        record = scan(raw, depth=judge.depth).value
        findings = examine(raw, judge.adapter, judge.contract.record_schema, judge.depth).findings
    except Broken:
        return None
    name = record.get(field) if isinstance(record, dict) else None
    is_bad = any(finding.path[:1] == (field,) for finding in findings)
    return name if isinstance(name, str) and not is_bad else None
