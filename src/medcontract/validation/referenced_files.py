"""Checks files that records refer to, such as images. Problems are reported at the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from medcontract.problems import Finding
from medcontract.reading.located_records import Broken, TooLarge, one_by_one
from medcontract.reading.source import Unreadable
from medcontract.results.validation import NamedFiles
from medcontract.validation.records import RecordsValidator

Check = Callable[[Iterator[tuple[int, str]], int], Iterator[Finding]]
"""Takes the indexes of records with the file names in them, and the total number of records; yields findings in that
order. Their references contain only the index of the record, as `Ref(UNKNOWN, UNKNOWN, number)`."""


class ReferencedFiles(NamedTuple):
    """A check of the files that records of some contracts refer to."""

    field: Callable[[str], str | None]
    """The field with the file name, by contract; None if the records of a contract refer to no file."""
    contracts: Callable[[], tuple[str, ...]]
    """All contracts whose records refer to files."""
    check: Check


def check_referenced_files(validator: RecordsValidator, field: str, referenced: ReferencedFiles) -> NamedFiles:
    """Check the files that a field of the records refers to, after the file itself was checked.

    Findings go to the validator's collector.

    File names are read lazily; the positions of their records are looked up afterwards, only for findings.
    """
    if not validator.records:  # no records, or an unknown number because the file is broken
        return NamedFiles(0, 0)
    checked = bad = 0

    def counted() -> Iterator[tuple[int, str]]:
        nonlocal checked
        for named in _names(validator, field):
            checked += 1
            yield named

    validator.collector.new_series()
    for finding in referenced.check(counted(), validator.records):
        bad += 1
        validator.collector.defer(validator.reader.named(finding))
    if bad:
        from medcontract.validation.slow_path import second_pass

        second_pass(validator)
    return NamedFiles(checked, bad)


def _names(validator: RecordsValidator, field: str) -> Iterator[tuple[int, str]]:
    items = validator.reader.records(validator.decoders)
    try:
        for number, record in enumerate(record for item in items for record in one_by_one(item)):
            in_doubt = record.value is None
            name = _name_in_doubt(validator, record.raw, field) if in_doubt else getattr(record.value, field)
            if name is not None:
                yield number, name
    except (Broken, TooLarge, Unreadable):
        return  # the file changed between the two passes: keep the findings


def _name_in_doubt(validator: RecordsValidator, raw: bytes, field: str) -> str | None:
    """Return the file name in a record that may be invalid. None if the name itself is, which was already reported."""
    try:
        examined = validator.slow_path.examine(raw) if raw else None
    except Broken:
        return None
    if examined is None or not isinstance(examined.parsed, dict):
        return None
    name = examined.parsed.get(field)
    is_bad = any(finding.path[:1] == (field,) for finding in examined.findings)
    return name if isinstance(name, str) and not is_bad else None
