"""The directory of a .zip file. Nothing in it is trusted: what is stated twice must agree.

The files in the directory are all that is in the archive, one after the other: programs that read it from its start, or
that search for another directory, would otherwise find other files.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from typing import BinaryIO, NamedTuple

from medcontract.problems import Finding, shorten
from medcontract.reading.archive_members import Member, check_count, kind_refused, refuse, safe_name
from medcontract.reading.gunzip import too_compressed
from medcontract.reading.limits import most_unpacked
from medcontract.reading.random_access import damaged

STORED, DEFLATED = 0, 8
_METHODS = {1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd"}
_MOST_DEFLATED = 1032
"""Bytes that one deflated byte can decompress to."""
_ENCRYPTED = 1 | 1 << 6 | 1 << 13
_STREAMED, _UTF8 = 1 << 3, 1 << 11
_IN_ZIP64 = 0xFFFF_FFFF
"""Stated instead of a size that does not fit: the real one is in a zip64 field."""
_MOST_COMMENT = 0xFFFF
_MOST_DESCRIPTOR = 24
"""Bytes that may follow a file."""

_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")


class _Directory(NamedTuple):
    entries: int
    size: int
    start: int


class _Entry(NamedTuple):
    """An entry of the directory."""

    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed_size: int
    size: int
    mode: int
    start: int
    """The offset of the local header."""

    @property
    def name(self) -> str:
        if self.flags & _UTF8:
            return self.raw_name.decode("utf-8", "surrogateescape")
        try:
            return self.raw_name.decode("utf-8")  # not marked as such by macOS
        except UnicodeDecodeError:
            return self.raw_name.decode("cp437")


def read_directory(file: BinaryIO, size: int) -> list[Member]:
    """The files in the archive, in the order of the directory. Raises `Unreadable`."""
    try:
        directory = _find_directory(file, size)
        check_count(directory.entries)
        file.seek(directory.start)
        entries = [_read_entry(file) for _ in range(directory.entries)]
        if file.tell() != directory.start + directory.size:
            raise damaged("the archive is damaged: its directory has another size than stated")
        if any(entry.start > directory.start for entry in entries):
            raise damaged("the archive is damaged: a file is not where it is stated to be")
        starts = [_data_start(file, entry) for entry in entries]
        _check_gaps(file, entries, starts, directory.start)
    except struct.error:
        raise damaged("the archive is truncated or damaged") from None
    members = [_member(entry, start) for entry, start in zip(entries, starts, strict=True)]
    return [member for member in members if member is not None]


def _find_directory(file: BinaryIO, size: int) -> _Directory:
    tail_at = max(size - _END.size - _MOST_COMMENT, 0)
    file.seek(tail_at)
    tail = file.read(size - tail_at)
    at = len(tail)
    while (at := tail.rfind(b"PK\5\6", 0, at)) >= 0:
        if len(tail) - at < _END.size:
            continue
        _, disk, first_disk, here, count, directory_size, start, comment = _END.unpack_from(tail, at)
        if at + _END.size + comment == len(tail):
            break
    else:
        raise damaged("the archive is truncated, or not a zip archive")
    if tail.find(b"PK\5\6", at + 1) >= 0:
        raise refuse("the archive has two end records: programs would read different files")
    if disk or first_disk or here != count:
        raise refuse("the archive is split into several files", "create a single archive")
    stated = _Directory(count, directory_size, start)
    end = tail_at + at
    zip64 = _zip64_directory(file, end)
    if zip64:
        found, end = zip64
        limits = (0xFFFF, _IN_ZIP64, _IN_ZIP64)
        if any(a not in (b, most) for a, b, most in zip(stated, found, limits, strict=True)):
            raise damaged("the archive is damaged: two statements about its directory differ")
        stated = found
    if stated.start + stated.size != end:
        raise damaged("the archive is damaged: its directory is not where it is stated to be")
    return stated


def _zip64_directory(file: BinaryIO, end: int) -> tuple[_Directory, int] | None:
    """The directory according to a zip64 record, and the offset of the record; None if there is none."""
    at = end - _LOCATOR.size
    if at < 0:
        return None
    file.seek(at)
    magic, disk, record_at, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
    if magic != b"PK\6\7":
        return None
    if disk or record_at > at - _END_64.size:
        raise damaged("the archive is damaged: its zip64 record is not where it is stated to be")
    file.seek(record_at)
    magic, size, _, _, disk, first_disk, here, count, directory_size, start = _END_64.unpack(file.read(_END_64.size))
    if magic != b"PK\6\6" or disk or first_disk or here != count or record_at + 12 + size != at:
        raise damaged("the archive is damaged: its zip64 record is not valid")
    return _Directory(count, directory_size, start), record_at


def _read_entry(file: BinaryIO) -> _Entry:
    (
        magic, _, _, flags, method, _, _, crc, packed_size, size, name_size, extra_size, comment_size, disk, _,
        attributes, start,
    ) = _ENTRY.unpack(file.read(_ENTRY.size))  # fmt: skip
    name, extra, comment = (file.read(each) for each in (name_size, extra_size, comment_size))
    if magic != b"PK\1\2" or disk or len(comment) != comment_size:
        raise damaged("the archive is damaged: its directory is not valid")
    size, packed_size, start = _real_sizes(extra, size, packed_size, start)
    return _Entry(name, flags, method, crc, packed_size, size, attributes >> 16, start)


def _real_sizes(extra: bytes, *stated: int) -> Sequence[int]:
    """The sizes and offsets, from the zip64 field where they do not fit."""
    if _IN_ZIP64 not in stated:
        return stated
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            wanted = stated.count(_IN_ZIP64)
            if length < 8 * wanted:
                break
            real = iter(struct.unpack_from(f"<{wanted}Q", extra, at + 4))
            return [next(real) if each == _IN_ZIP64 else each for each in stated]
        at += 4 + length
    raise damaged("the archive is damaged: a zip64 size is missing")


def _data_start(file: BinaryIO, entry: _Entry) -> int:
    """The offset of the bytes of a file, whose local header must agree with the directory."""
    file.seek(entry.start)
    magic, _, flags, method, _, _, crc, packed_size, size, name_size, extra_size = _LOCAL.unpack(file.read(_LOCAL.size))
    name, extra = file.read(name_size), file.read(extra_size)
    pairs = zip((crc, *_real_sizes(extra, size, packed_size)), (entry.crc, entry.size, entry.packed_size), strict=True)
    same_sizes = all(mine == theirs or (flags & _STREAMED and not mine) for mine, theirs in pairs)
    if magic != b"PK\3\4" or name != entry.raw_name or method != entry.method or not same_sizes:
        raise damaged(f"the archive is damaged: two statements about {shorten(entry.name)} differ")
    return file.tell()


def _check_gaps(file: BinaryIO, entries: Sequence[_Entry], starts: Sequence[int], directory: int) -> None:
    """Raise `Unreadable` if files share bytes, which makes small archives of very large files possible, or if there is
    anything else between them.
    """
    end, descriptors = 0, {b""}
    for entry, start in sorted(zip(entries, starts, strict=True), key=lambda pair: pair[1]):
        _check_gap(file, end, entry.start, descriptors)
        end, descriptors = start + entry.packed_size, _descriptors(entry)
    _check_gap(file, end, directory, descriptors)


def _check_gap(file: BinaryIO, start: int, end: int, allowed: Collection[bytes]) -> None:
    if start > end:
        raise refuse("files in the archive overlap")
    file.seek(start)
    if file.read(min(end - start, _MOST_DESCRIPTOR + 1)) not in allowed:
        raise refuse("the archive contains data that is not in its directory: programs would read different files")


def _descriptors(entry: _Entry) -> set[bytes]:
    """What may follow the bytes of a file: if it was written without seeking, its checksum and sizes."""
    found = {b""}
    if entry.flags & _STREAMED:
        for sizes in ("2L", "2Q") if max(entry.size, entry.packed_size) < _IN_ZIP64 else ("2Q",):
            stated = struct.pack(f"<L{sizes}", entry.crc, entry.packed_size, entry.size)
            found |= {stated, b"PK\7\x08" + stated}
    return found


def _member(entry: _Entry, start: int) -> Member | None:
    """A file of the archive; None for a folder. Raises `Unreadable` if the archive must not be read."""
    name = safe_name(entry.name)
    if entry.name.endswith("/") or entry.mode & 0o170000 == 0o040000:
        return None
    if entry.flags & _ENCRYPTED:
        raise refuse("the archive is encrypted", "create it again without a password")
    refused = kind_refused(entry.mode)
    if refused is None and entry.method not in (STORED, DEFLATED):
        method = _METHODS.get(entry.method, f"number {entry.method}")
        refused = Finding("MC003", f"the compression method {method} is not supported", "use Deflate, or a .tar.gz")
    if refused is None:
        _check_sizes(entry)
    return Member(name, entry.size, start, entry.packed_size, entry.method, entry.crc, refused)


def _check_sizes(entry: _Entry) -> None:
    most = entry.packed_size if entry.method == STORED else _MOST_DEFLATED * (entry.packed_size + 1)
    if entry.size > most or (entry.method == STORED and entry.size != entry.packed_size):
        raise damaged(f"the archive is damaged: the stated size of {shorten(entry.name)} is not possible")
    if entry.size > most_unpacked(entry.packed_size):
        raise too_compressed(shorten(entry.name))
