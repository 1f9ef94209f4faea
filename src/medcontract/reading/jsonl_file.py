"""A `.jsonl` file as a stream of records: one per line, blank lines ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator

from medcontract.reading.json_file import Block, Cut, Decode
from medcontract.reading.limits import BLOCK
from medcontract.reading.source import Source

_LINE_BREAK = re.compile(rb"[\r\n]")


def records(source: Source, decode: Decode) -> Iterator[Cut]:
    """Every non-blank line, without its line ending. `raw` is empty for a line beyond the size limit."""
    for raw, offset, value in records_in_blocks(source, decode):
        if isinstance(raw, bytes):
            yield raw, offset, value
        else:
            for line, one in zip(raw, value, strict=True):
                yield line, offset, one
                offset += len(line)


def records_in_blocks(source: Source, decode: Decode) -> Iterator[Cut | Block]:
    """Like `records`, but many at a time where possible."""
    for block, offset in blocks(source):
        if block is None:
            yield b"", offset, None
            continue
        values = list(map(decode, block))
        if all(values):
            yield block, offset, values
            continue
        for line, value in zip(block, values, strict=True):
            if value is not None:
                yield line, offset, value
            else:
                text = line.rstrip(b"\r\n")
                if text.strip(b" \t"):
                    yield text, offset, None
            offset += len(line)


def blocks(source: Source) -> Iterator[tuple[list[bytes] | None, int]]:
    """Lines with their endings (LF, CRLF or CR), many at a time, and the offset of the first.

    None for a line beyond the size limit.
    """
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
            text = rest + block
            if text.isspace() and not text.strip(b" \t\r\n"):  # only blank lines
                keep = text[-1:] if text.endswith(b"\r") else b""
                offset += len(text) - len(keep)
                rest = keep
                continue
            pieces = text.splitlines(keepends=True)
            rest = b"" if not pieces or pieces[-1].endswith(b"\n") else pieces.pop()
            limit = source.limits.record
            if len(text) > limit and pieces and len(max(pieces, key=len)) > limit:
                yield from _without_long_lines(pieces, offset, limit)
            else:
                yield pieces, offset
            offset += len(text) - len(rest)
            if len(rest) > source.limits.record:
                yield None, offset
                offset += len(rest)
                rest, skipping = b"", True
        yield from _without_long_lines(rest.splitlines(keepends=True), offset, source.limits.record)


def _without_long_lines(pieces: list[bytes], offset: int, limit: int) -> Iterator[tuple[list[bytes] | None, int]]:
    for line in pieces:
        too_long = len(line.rstrip(b"\r\n")) > limit
        yield (None if too_long else [line]), offset
        offset += len(line)
