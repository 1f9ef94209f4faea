"""A `.jsonl` file as a stream of records: one a line, blank lines ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator

from medcontract.reading.json_file import Cut, Decode
from medcontract.reading.limits import BLOCK, MAX_RECORD
from medcontract.reading.source import Source

_LINE_BREAK = re.compile(rb"[\r\n]")


def records(source: Source, decode: Decode) -> Iterator[Cut]:
    """Every line that is not blank, without its line ending. One beyond the size limit has `raw` empty."""
    for line, offset in lines(source):
        if line is None:
            yield Cut(b"", offset, None)
            continue
        value = decode(line)
        if value is None:
            line = line.rstrip(b"\r\n")
            if not line.strip(b" \t"):
                continue
        yield Cut(line, offset, value)


def lines(source: Source) -> Iterator[tuple[bytes | None, int]]:
    """Lines with their endings (LF, CRLF or CR) and offsets; None for a line beyond the size limit."""
    with source.open() as stream:
        stream.seek(source.start)
        offset = source.start
        rest = b""
        skipping = False
        while block := stream.read(max(BLOCK, len(rest))):
            if skipping:
                end = _LINE_BREAK.search(block)
                passed = end.start() if end else len(block)
                offset += passed
                block = block[passed:]
                skipping = end is None
            pieces = (rest + block).splitlines(keepends=True)
            rest = b"" if not pieces or pieces[-1].endswith(b"\n") else pieces.pop()
            for line in pieces:
                yield line, offset
                offset += len(line)
            if len(rest) > MAX_RECORD:
                yield None, offset
                offset += len(rest)
                rest, skipping = b"", True
        for line in rest.splitlines(keepends=True):
            yield line, offset
            offset += len(line)
