"""The files of a .tar archive, from its headers."""

from __future__ import annotations

import re
from typing import BinaryIO, NamedTuple

from medcontract.problems import Finding
from medcontract.reading.archive_members import DEVICE, LINK, Member, check_count, refuse, safe_name
from medcontract.reading.gunzip import Unreadable
from medcontract.reading.random_access import damaged

_BLOCK = 512
_MOST_METADATA = 1 << 20
"""Bytes in a header that extends another: long names."""
_MOST_EXTENDED = 3
"""Such headers for each file: Python and macOS write one for each, in addition to those of long names."""
_MOST_OCTAL = 0o77777777777
"""The largest size that fits into a header."""
_FILES, _LINKS, _DEVICES = b"0\0007", b"12", b"346"
_FOLDER, _SPARSE, _LONG_NAME, _LONG_LINK, _FOR_NEXT, _FOR_ALL = b"5", b"S", b"L", b"K", b"xX", b"g"
_WITHOUT_DATA = _LINKS + _DEVICES + _FOLDER
_PAX_LENGTH = re.compile(rb"([0-9]{1,10}) ")
_SPARSE_FILE = Finding("MC003", "this is a sparse file, which is not supported", "create the archive without --sparse")


class _Header(NamedTuple):
    name: bytes
    size: int
    kind: bytes


class _Extra(NamedTuple):
    """What a header says about the next one, where that has no space for it."""

    name: bytes | None = None
    size: int | None = None
    is_sparse: bool = False


def read_headers(file: BinaryIO, size: int | None) -> list[Member]:
    """The files in the archive. `size`: that of the file, if it is not gzipped. Raises `Unreadable`."""
    members: list[Member] = []
    extra = _Extra()
    at = files = headers = 0
    while (header := _read_header(file, at)) is not None:
        if extra.size is not None and extra.size != header.size and extra.size <= _MOST_OCTAL:
            raise _ambiguous()
        data_at = at + _BLOCK
        length = header.size if extra.size is None or header.kind not in _FILES else extra.size
        at = data_at + (0 if header.kind in _WITHOUT_DATA else -(-length // _BLOCK) * _BLOCK)
        if size is not None and at > size:
            raise damaged("the archive is truncated")
        if header.kind in (_LONG_NAME, _LONG_LINK, _FOR_ALL) or header.kind in _FOR_NEXT:
            before, extra = extra, _extended(extra, header.kind, _metadata(file, data_at, length))
            if any(a not in (None, b) for a, b in zip(before[:2], extra[:2], strict=True)):
                raise _ambiguous()
            headers += 1
            check_count(headers // _MOST_EXTENDED)
            continue
        files += 1
        check_count(files)
        if member := _member(header, length, data_at, extra):
            members.append(member)
        extra = _Extra()
    while rest := file.read(1 << 20):  # all of it: the checksum of a gzipped archive is at its end
        if rest.strip(b"\0"):
            raise refuse("the archive continues after its end: programs would read different files")
    return members


def _ambiguous() -> Unreadable:
    return refuse("the archive states two names or sizes of a file: programs would read different files")


def _read_header(file: BinaryIO, at: int) -> _Header | None:
    """The next header; None at the end of the archive."""
    block = _read(file, at, _BLOCK)
    if block.count(0) == _BLOCK:
        return None
    kept = block[:148] + b" " * 8 + block[156:]
    if _number(block[148:156]) != sum(kept):
        what = "the archive is damaged" if at else "this is not a tar archive"
        raise damaged(f"{what}: a header is not valid")
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0]
    if prefix and block[257:263] != b"ustar\0":
        raise _ambiguous()
    name = prefix + b"/" + name if prefix else name
    return _Header(name, _number(block[124:136]), block[156:157])


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    data = b""
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    if len(data) < size:
        raise damaged("the archive is truncated, or not a tar archive")
    return data


def _number(field: bytes) -> int:
    """An octal number, or one in base 256 if it is large."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits:
        return 0
    if not re.fullmatch(rb"[0-7]+", digits):
        raise damaged("the archive is damaged, or not a tar archive: a header is not valid")
    return int(digits, 8)


def _metadata(file: BinaryIO, at: int, size: int) -> bytes:
    if size > _MOST_METADATA:
        raise refuse("a header in the archive is too large: a path is too long")
    return _read(file, at, size)


def _extended(extra: _Extra, kind: bytes, data: bytes) -> _Extra:
    if kind == _LONG_LINK:
        return extra
    if kind == _LONG_NAME:
        return extra._replace(name=data.partition(b"\0")[0])
    fields = _pax_fields(data)
    if kind == _FOR_ALL:
        if fields.keys() & {b"path", b"size"}:
            raise damaged("the archive is damaged: a header gives all files the same name or size")
        return extra
    size = fields.get(b"size")
    if size is not None and not re.fullmatch(rb"[0-9]{1,18}", size):
        raise damaged("the archive is damaged: a size is not a number")
    return _Extra(
        name=fields.get(b"path", extra.name),
        size=extra.size if size is None else int(size),
        is_sparse=extra.is_sparse or any(name.startswith(b"GNU.sparse.") for name in fields),
    )


def _pax_fields(data: bytes) -> dict[bytes, bytes]:
    """The fields of an extended header, each written as `LENGTH NAME=VALUE` and a line end."""
    fields: dict[bytes, bytes] = {}
    at = 0
    while at < len(data) and data[at]:
        match = _PAX_LENGTH.match(data, at)
        end = at + int(match.group(1)) if match else 0
        if match is None or not match.end() < end <= len(data) or data[end - 1 : end] != b"\n":
            raise damaged("the archive is damaged: an extended header is not valid")
        name, _, value = data[match.end() : end - 1].partition(b"=")
        fields[name] = value
        at = end
    return fields


def _member(header: _Header, size: int, start: int, extra: _Extra) -> Member | None:
    """A file; None for a folder. Raises `Unreadable` for what some programs take for a file, and others do not."""
    raw_name = (header.name if extra.name is None else extra.name).decode("utf-8", "surrogateescape")
    if header.kind == _SPARSE:
        raise refuse("the archive contains sparse files, which are not supported", "create it without --sparse")
    name = safe_name(raw_name)
    if header.kind in _LINKS:
        return Member(name, 0, start, refused=LINK)
    if header.kind in _DEVICES:
        return Member(name, 0, start, refused=DEVICE)
    if header.kind == _FOLDER or (header.kind in _FILES and raw_name.endswith("/") and not size):
        return None
    if header.kind not in _FILES or raw_name.endswith("/"):
        raise refuse("the archive contains an entry of unknown kind: programs would read different files")
    return Member(name, size, start, refused=_SPARSE_FILE if extra.is_sparse else None)
