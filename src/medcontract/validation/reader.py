"""What the containers have in common: a reader yields the records of a file, and says where in it they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from medcontract.contracts.fast_decoder import RowDecoders
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import NotRecognized
from medcontract.problems import Finding, Ref
from medcontract.reading.json_scanner import Broken
from medcontract.reading.located_records import Located, LocatedRecord, one_by_one
from medcontract.reading.source import Source
from medcontract.validation.problem_collector import ProblemCollector

Recognition = Recognized | Finding | NotRecognized
"""The contract of a file, why the file cannot be read, or why its contract is not clear."""


class RecordReader:
    """Base class for all containers."""

    depth = 0
    """The nesting depth of a record in this container."""
    is_json = False
    """Whether the bytes of a record are its JSON text."""
    has_parts = False
    """Whether a part of the file can be read (`between`)."""
    in_chunk = False
    """Whether the source is a chunk of a file, whose outcome is merged with that of the others."""
    may_end_with_total = False
    """Whether the last record may be a total, as below a table."""
    all_invalid = False
    """No record of the file can be valid."""
    header: Any = None
    """The header, if the container has one and it is valid; for documents, the document."""
    bad_header = False

    def __init__(self, source: Source, contract: CompiledContract, collector: ProblemCollector) -> None:
        self.source = source
        self.contract = contract
        self.collector = collector

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        """Recognize the contract of a file from its keys."""
        raise NotImplementedError

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        """Find out what is wrong with a file whose contract is not recognized."""
        return iter(())

    def begin(self) -> bool:
        """Check what precedes the records: the header of a table. False if the records cannot be read."""
        return True

    def records(self, decode: RowDecoders) -> Iterator[Located]:
        """Yield the records. A container may yield blocks of valid ones. May raise `Broken` or `TooLarge`."""
        raise NotImplementedError

    def between(self, start: int, end: int, decode: RowDecoders) -> Iterator[Located]:
        """Yield the records in a part of the file that starts and ends between two records (see `has_parts`)."""
        raise NotImplementedError

    def finish(self, records: int) -> bool:
        """Check what is left after the records: the header, if there is one. False if the file counts as broken."""
        return True

    def done(self, offset: int) -> int:
        """Return the progress of reading, in bytes of the file itself."""
        return self.source.done(offset)

    def ref(self, index: int, record: LocatedRecord) -> Ref:
        """Return the place of a record."""
        return Ref(record.offset, len(record.raw), index, self.prefix(index), record.line)

    def prefix(self, index: int) -> tuple[str | int, ...]:
        """Return the path of a record."""
        return ()

    def ref_of_earlier(self, ref: Ref) -> Ref:
        """Complete the place of an earlier record, of which no more than the index and the offset was kept."""
        return ref._replace(prefix=self.prefix(ref.record or 0))

    def explain(self, finding: Finding, ref: Ref) -> Finding | None:
        """Return a finding about a record in terms of this container; None if it is reported otherwise."""
        return finding

    def named(self, finding: Finding) -> Finding:
        """Return a finding that does not depend on a single record in terms of this container."""
        return finding

    def hint_for(self, raw: bytes) -> str | None:
        """Return the hint about an invalid record that is no record at all."""
        return None

    def syntax_error(self, broken: Broken, record: LocatedRecord) -> Finding:
        """Return the finding about a record with a syntax error, or raise it if the file ends there."""
        return broken_finding(broken, record.offset)

    def about_total(self, value: Any) -> Finding | None:
        """Return the warning about the last record, if it looks like a total (see `may_end_with_total`)."""
        return None

    def in_header(self, finding: Finding) -> Finding:
        """Return a finding about a header field with its place, or without one if there is no header."""
        return finding._replace(ref=None)

    def load(self) -> Any:
        """Return the content of a valid file: its records, or the whole model if the container has a header."""
        self.begin()
        adapter = self.contract.definition.record_adapter()
        undecoded = RowDecoders(lambda raw: None, lambda text: None)
        records = (record for item in self.records(undecoded) for record in one_by_one(item))
        return tuple(adapter.validate_python(msgspec.json.decode(record.raw)) for record in records)


def broken_finding(broken: Broken, base: int = 0, ref: Ref | None = None) -> Finding:
    """Return the finding about a syntax error in a text that starts at `base`."""
    return Finding(broken.code, broken.message, broken.hint, offset=base + broken.offset, ref=ref)
