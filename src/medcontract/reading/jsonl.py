"""A `.jsonl` file as a stream of records: one per line, blank lines ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from medcontract.reading.limits import LINES_BLOCK
from medcontract.reading.located_records import (
    Decode,
    DecodeLines,
    Located,
    LocatedRecord,
    RecordBlock,
    one_by_one,
    too_large,
)
from medcontract.reading.source import Source

_LINE_BREAK = re.compile(rb"[\r\n]")


def records(source: Source, decode: Decode) -> Iterator[LocatedRecord]:
    """Yield every non-blank line; without its line ending if `decode` leaves it."""
    items = records_in_blocks(texts(source), source.limits.record, decode, lambda text: None)
    return (record for item in items for record in one_by_one(item))


def records_in_blocks(
    texts: Iterable[tuple[bytes | None, int]], limit: int, decode: Decode, decode_lines: DecodeLines
) -> Iterator[Located]:
    """Yield the records of texts that consist of complete lines, with their offsets; many at a time where possible."""
    for text, offset in texts:
        if text is None:
            yield _too_long(limit, offset)
        elif values := decode_lines(text):
            yield RecordBlock(text, offset, values)
        else:
            yield from _between_doubts(text, offset, decode)


def _too_long(limit: int, offset: int) -> LocatedRecord:
    return LocatedRecord(b"", offset, None, finding=too_large(limit, None))


def _between_doubts(text: bytes, offset: int, decode: Decode) -> Iterator[Located]:
    """Yield the lines of a text that cannot be decoded at once, those between two doubtful ones as a block."""
    lines = text.splitlines(keepends=True)
    values = list(map(decode, lines))
    start = 0
    for end in [*(place for place, value in enumerate(values) if value is None), len(lines)]:
        if start < end:
            block = b"".join(lines[start:end])
            yield RecordBlock(block, offset, values[start:end])
            offset += len(block)
        for line in lines[end : end + 1]:
            bare = line.rstrip(b"\r\n")
            if bare.strip(b" \t"):
                yield LocatedRecord(bare, offset, None)
            offset += len(line)
        start = end + 1


def texts(source: Source) -> Iterator[tuple[bytes | None, int]]:
    """Yield complete lines with their endings (LF, CRLF or CR), many at a time, and the offset of the first.

    None for a line beyond the size limit.
    """
    limit = source.limits.record
    with source.open() as stream:
        stream.seek(source.start)
        offset = source.start
        rest = b""
        skipping = False
        while block := stream.read(max(LINES_BLOCK, len(rest))):
            if skipping:
                end = _LINE_BREAK.search(block)
                passed = end.start() if end else len(block)
                offset += passed
                block = block[passed:]
                skipping = end is None
            text = rest + block
            end_of_lines = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1  # a CR at the end may be half of a CRLF
            text, rest = text[:end_of_lines], text[end_of_lines:]
            is_blank = text.isspace() and not text.strip(b" \t\r\n")
            if len(text) > limit or not is_blank:  # millions of blank lines take long one by one
                yield from without_long_lines(text, offset, limit)
            offset += len(text)
            if len(rest) > limit and not rest.endswith(b"\r"):
                yield None, offset
                offset += len(rest)
                rest, skipping = b"", True
        yield from without_long_lines(rest, offset, limit)


def without_long_lines(text: bytes, offset: int, limit: int) -> Iterator[tuple[bytes | None, int]]:
    """Yield the complete lines of a text and their offsets, many at a time; None for one beyond the size limit."""
    if len(text) <= limit:
        if text:
            yield text, offset
        return
    for line in text.splitlines(keepends=True):
        too_long = len(line.rstrip(b"\r\n")) > limit
        yield (None if too_long else line), offset
        offset += len(line)
