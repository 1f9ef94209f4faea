"""A gzipped file as a stream of its unpacked bytes, with a limit and problems of its own."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import BinaryIO

from medcontract.problems import Finding

MAGIC = b"\x1f\x8b"


class Unreadable(Exception):
    """There is nothing to read here, or no more; the finding says why."""

    def __init__(self, finding: Finding, wrong_call: bool = False) -> None:
        super().__init__(finding.message)
        self.finding, self.wrong_call = finding, wrong_call


class Gunzip(io.RawIOBase):
    """Reads all members of an archive. Seeking forward unpacks, seeking back starts anew."""

    def __init__(self, packed: BinaryIO, limit: int) -> None:
        super().__init__()
        self.packed = packed
        self._limit = limit
        self._file = gzip.GzipFile(fileobj=packed, mode="rb")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        data = self._guard(lambda: self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self.tell()
        if self._file.tell() > offset:
            self._file.rewind()
        while (gap := offset - self._file.tell()) > 0:
            if not self._guard(lambda: self._file.read(min(gap, 1 << 20))):  # called at once
                break
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        self.packed.close()
        super().close()

    def _guard(self, read: Callable[[], bytes]) -> bytes:
        try:
            data = read()
        except EOFError:
            raise Unreadable(Finding(
                "MC026", "the gzip archive is cut off", "was it copied or downloaded to the end?"
            )) from None  # fmt: skip
        except (gzip.BadGzipFile, zlib.error):
            raise Unreadable(Finding("MC025", "the gzip archive is damaged", "pack it anew")) from None
        if self._file.tell() > self._limit:
            raise Unreadable(Finding(
                "MC027", f"the archive unpacks to more than {size_text(self._limit)}",
                "if that is as it should be, raise the limit: --max-unpacked",
            ))  # fmt: skip
        return data


def size_text(size: int) -> str:
    """A number of bytes for people."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
