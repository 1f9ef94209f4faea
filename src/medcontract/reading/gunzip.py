"""A gzipped file as a stream of decompressed bytes, with limits on its size and on the work that it causes."""

from __future__ import annotations

import io
import os
import zlib
from typing import BinaryIO

from medcontract.problems import Finding
from medcontract.reading.limits import LINE_COST, MAX_RATIO, most_unpacked

MAGIC = b"\x1f\x8b"


class Unreadable(Exception):
    """The file cannot be read, or not any further; the finding says why."""

    def __init__(self, finding: Finding, wrong_call: bool = False) -> None:
        super().__init__(finding.message)
        self.finding, self.wrong_call = finding, wrong_call

    def __reduce__(self) -> tuple[type[Unreadable], tuple[Finding, bool]]:
        return Unreadable, (self.finding, self.wrong_call)


_FEED = 16 << 10
"""Compressed bytes per step. The bytes that follow a member are copied for each member, so not too many."""
MOST_EMPTY = 10_000
"""Consecutive empty members: each costs time, and an archive of twenty megabytes can contain a million."""


class _Damaged(Exception):
    """Not a gzip archive, or a damaged one."""


def too_compressed(what: str, too_large: bool = True) -> Unreadable:
    many = f"more than {MAX_RATIO} times its size" if too_large else "too many short lines or objects for its size"
    return Unreadable(Finding("MC027", f"{what} decompresses to {many}", "if this is expected, decompress it first"))


class Expansion:
    """Limits what decompressed data costs: its bytes, and its lines. Data that is read again counts once."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._at = self._lines = 0

    def add(self, at: int, data: bytes) -> None:
        """Count the data at an offset. Raises `Unreadable`."""
        if at != self._at:
            return
        self._at += len(data)
        self._lines += data.count(b"\n") + data.count(b"\r") + data.count(b"{")
        if self._at + LINE_COST * self._lines > self._most:
            raise too_compressed(self._what, too_large=self._at > LINE_COST * self._lines)


class Gunzip(io.RawIOBase):
    """Reads all members of an archive. Seeking forward decompresses, seeking backward starts again.

    `limit` is that of the call; `most` follows from the size of the archive, unless it is given.
    """

    def __init__(self, packed: BinaryIO, limit: int, most: int | None = None) -> None:
        super().__init__()
        self.packed = packed
        self._limit = limit
        most = most_unpacked(packed.seek(0, os.SEEK_END)) if most is None else most
        self._expansion = Expansion(most, "the archive")
        self._rewind()

    def _rewind(self) -> None:
        self.packed.seek(0)
        self._input = b""
        self._member: zlib._Decompress | None = None
        self._at = 0
        self._empty = 0
        """The number of consecutive empty members."""
        self._member_at = 0
        """The offset of the current member in the decompressed data."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._at
        if self._at > offset:
            self._rewind()
        while (gap := offset - self._at) > 0:
            if not self._read(min(gap, 1 << 20)):
                break
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self.packed.close()
        super().close()

    def _read(self, size: int) -> bytes:
        try:
            data = self._unpacked(size)
        except EOFError:
            raise Unreadable(Finding(
                "MC026", "the gzip archive is truncated", "check that it was copied or downloaded completely"
            )) from None  # fmt: skip
        except (_Damaged, zlib.error):
            raise Unreadable(Finding("MC025", "the gzip archive is damaged", "compress the file again")) from None
        self._at += len(data)
        if self._at > self._limit:
            raise Unreadable(Finding(
                "MC027", f"the archive decompresses to more than {size_text(self._limit)}",
                "if this is expected, raise the limit with --max-unpacked",
            ))  # fmt: skip
        self._expansion.add(self._at - len(data), data)
        return data

    def _unpacked(self, size: int) -> bytes:
        """At most `size` bytes; none at the end of the archive."""
        while size and (self._member or self._next_member()):
            member = self._member or zlib.decompressobj(zlib.MAX_WBITS | 16)
            data = member.decompress(self._input, size)
            self._input = member.unconsumed_tail
            if member.eof:
                self._end_member(member.unused_data, self._at + len(data))
            elif not data and not self._input and not self._feed():
                raise EOFError
            if data:
                return data
        return b""

    def _feed(self) -> bool:
        """Read more. False at the end of the file."""
        block = self.packed.read(_FEED)
        self._input += block
        return bool(block)

    def _next_member(self) -> bool:
        """Start the next member, if there is one; there may be zeros between members."""
        while len(self._input) < len(MAGIC) and self._feed():
            self._input = self._input.lstrip(b"\0")
        if not self._input:
            return False
        if not self._input.startswith(MAGIC):
            raise _Damaged
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return True

    def _end_member(self, rest: bytes, at: int) -> None:
        self._empty = self._empty + 1 if at == self._member_at else 0
        if self._empty > MOST_EMPTY:
            raise Unreadable(Finding(
                "MC025", f"the gzip archive has more than {MOST_EMPTY:,} empty members in a row",
                "compress the file again",
            ))  # fmt: skip
        self._member, self._member_at = None, at
        self._input = rest.lstrip(b"\0")


def size_text(size: int) -> str:
    """A size in bytes, formatted."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
