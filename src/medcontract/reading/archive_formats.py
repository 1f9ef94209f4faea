"""The files in an archive: its directory or headers, as `zipfile` and `tarfile` read them, after checks of our own.

An archive must mean the same to all programs, so what is stated twice must agree, and nothing may be hidden. What the
libraries would allocate or repeat without limit is checked before they see it.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

from medcontract.problems import Finding, shorten
from medcontract.reading.limits import (
    MAX_ARCHIVED,
    MAX_DEFLATED,
    MAX_FOLDERS,
    MAX_HEADER,
    MAX_NAME,
    MAX_NAMES,
    most_unpacked,
)
from medcontract.reading.source import SeekableStream, Unreadable
from medcontract.reading.streams import Decompressed, too_compressed

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_OF_SYSTEMS = "__MACOSX"
"""A folder that macOS adds to archives."""
_LINK = Finding("MC003", "this is a link; links in archives are not followed", "replace it with the file")
_DEVICE = Finding("MC003", "this is a pipe or a device, not a file", "remove it from the archive")


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    """Its path in the archive."""
    size: int
    """Its decompressed size, as stated: checked when it is read."""
    start: int
    """The offset of its bytes in the archive; for a gzipped one, after decompression."""
    refused: Finding | None = None
    """Why it cannot be read."""
    zipped: zipfile.ZipInfo | None = None
    """Its entry, in a .zip."""


def damaged(message: str) -> Unreadable:
    return Unreadable(Finding("MC036", message, "create the archive again, and check that it was copied completely"))


def _refuse(message: str, hint: str = "create the archive again from the folder with the files") -> Unreadable:
    return Unreadable(Finding("MC037", message, hint))


def _check_count(count: int) -> None:
    if count > MAX_ARCHIVED:
        raise _refuse(f"the archive contains more than {MAX_ARCHIVED:,} files", "remove files that are not needed")


def safe_name(name: str) -> str:
    """Return the path of a file without empty parts and `.`. Raises `Unreadable` if it leads out of the archive."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    why = None
    if len(name) > MAX_NAME:
        why = f"is longer than {MAX_NAME:,} characters"
    elif len(parts) > MAX_FOLDERS + 1:
        why = f"is in more than {MAX_FOLDERS} nested folders"
    elif name.startswith("/"):
        why = "is absolute"
    elif ".." in parts:
        why = "leads out of the archive"
    elif "\\" in name:
        why = "contains a backslash"
    elif any(map(_DRIVE.match, parts)):
        why = "contains a drive letter"
    elif _CONTROL.search(name):
        why = "contains a control character"
    if why:
        raise _refuse(f"a path in the archive {why}: {shorten(name)}", "create it again with relative paths (a/b.csv)")
    return "/".join(parts)


def is_hidden(name: str) -> bool:
    """Check whether a file is ignored: hidden, or added by the operating system."""
    return any(part.startswith(".") or part == _OF_SYSTEMS for part in name.split("/"))


def visible(members: Sequence[Member]) -> dict[str, Member]:
    """Return the files that count, by path. Raises `Unreadable` if two would be the same file on some system.

    Memory is proportional to the names, whose total length is limited: a few compressed bytes can contain many.
    """
    if sum(len(member.name) for member in members) > MAX_NAMES:
        hint = "use shorter names, or remove files that are not needed"
        raise _refuse(f"the paths in the archive have more than {MAX_NAMES:,} characters together", hint)
    found: dict[str, Member] = {}
    seen: dict[str, str] = {}
    for member in members:
        if not member.name or is_hidden(member.name):
            continue
        # equal for names that are the same on a system that ignores case or the composition of characters
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", member.name).casefold())
        if key in seen:
            first, second = shorten(seen[key]), shorten(member.name)
            same = "contains two files named" if first == second else f"contains {first} and"
            raise _refuse(f"the archive {same} {second}", "remove one of them; names must differ in more than case")
        seen[key] = member.name
        found[member.name] = member
    # a file precedes what is in a folder of the same name: a slash is sorted before all characters of names
    for file, following in pairwise(sorted(seen, key=lambda key: key.replace("/", "\0"))):
        if following.startswith(f"{file}/"):
            raise _refuse(f"{shorten(seen[file])} is both a file and a folder in the archive")
    return found


# --- .zip -------------------------------------------------------------------------------------------------------------

_METHODS = {1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd"}
_ENCRYPTED, _STREAMED, _UTF8 = 1 | 1 << 6 | 1 << 13, 1 << 3, 1 << 11
_IN_ZIP64 = 0xFFFF_FFFF
"""Stated instead of a size that does not fit: the real one is in a zip64 field."""
_MOST_COMMENT = 0xFFFF
_MOST_DESCRIPTOR = 24
"""Bytes that may follow a file."""
_END, _LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sLQL")
_END_64, _LOCAL = struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4s5H3L2H")
_TRUNCATED_ZIP = "the archive is truncated, or not a zip archive"


def read_zip(file: BinaryIO, size: int) -> list[Member]:
    """Return the files in the archive, in the order of the directory. Raises `Unreadable`.

    They must be all that is in the archive, one after the other: programs that read it from its start, or that search
    for another directory, would otherwise find other files.
    """
    count, directory = _find_directory(file, size)
    try:
        entries = zipfile.ZipFile(file).infolist()
        if len(entries) != count:
            raise damaged("the archive is damaged: its directory has another size than stated")
        if any(entry.header_offset > directory for entry in entries):
            raise damaged("the archive is damaged: a file is not where it is stated to be")
        starts: dict[int, int] = {}
        end, allowed = 0, {b""}
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            _check_gap(file, end, entry.header_offset, allowed)
            starts[entry.header_offset] = start = _data_start(file, entry)
            end, allowed = start + entry.compress_size, _descriptors(entry)
        _check_gap(file, end, directory, allowed)
    except UnicodeDecodeError:
        raise _refuse("a path in the archive is not valid UTF-8") from None
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error):
        raise damaged("the archive is truncated or damaged") from None
    members = [_zip_member(entry, starts[entry.header_offset]) for entry in entries]
    return [member for member in members if member is not None]


def _find_directory(file: BinaryIO, size: int) -> tuple[int, int]:
    """Return the number of files and the offset of the directory, before `zipfile` reads it as a whole."""
    tail_at = max(size - _END.size - _MOST_COMMENT, 0)
    file.seek(tail_at)
    tail = file.read(size - tail_at)
    at = tail.rfind(b"PK\5\6")
    if not 0 <= at <= len(tail) - _END.size:
        raise damaged(_TRUNCATED_ZIP)
    _, disk, first_disk, here, *stated, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        raise damaged(_TRUNCATED_ZIP)
    if disk or first_disk or here != stated[0]:
        raise _refuse("the archive is split into several files", "create a single archive")
    end = tail_at + at
    file.seek(max(end - _END_64.size - _LOCATOR.size, 0))
    before = file.read(_END_64.size + _LOCATOR.size)
    if before[_END_64.size :].startswith(b"PK\6\7"):
        end -= len(before)
        _, _, record_at, _ = _LOCATOR.unpack_from(before, _END_64.size)
        magic, *_, count, directory_size, start = _END_64.unpack_from(before)
        if magic != b"PK\6\6" or record_at != end:
            raise damaged("the archive is damaged: its zip64 record is not valid")
        found = [count, directory_size, start]
        limits = (0xFFFF, _IN_ZIP64, _IN_ZIP64)
        if any(a not in (b, most) for a, b, most in zip(stated, found, limits, strict=True)):
            raise damaged("the archive is damaged: two statements about its directory differ")
        stated = found
    _check_count(stated[0])
    if sum(stated[1:]) != end:
        raise damaged("the archive is damaged: its directory is not where it is stated to be")
    if stated[1] > MAX_HEADER + 4 * MAX_NAMES:
        raise _refuse("the directory of the archive is too large")
    return stated[0], stated[2]


def _data_start(file: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Return the offset of the bytes of a file, whose local header must agree with the directory."""
    file.seek(entry.header_offset)
    magic, _, flags, method, _, _, *found, name_size, extra_size = _LOCAL.unpack(file.read(_LOCAL.size))
    name, extra = file.read(name_size), file.read(extra_size)
    same = magic == b"PK\3\4" and method == entry.compress_type and name == _raw_name(entry)
    for stated, real in zip(found, (entry.CRC, entry.compress_size, entry.file_size), strict=True):
        later = flags & _STREAMED and stated in (0, _IN_ZIP64)
        same &= bool(stated == real or later or (stated == _IN_ZIP64 and struct.pack("<Q", real) in extra))
    if not same:
        raise damaged(f"the archive is damaged: two statements about {shorten(_decoded_name(entry))} differ")
    return file.tell()


def _check_gap(file: BinaryIO, start: int, end: int, allowed: Collection[bytes]) -> None:
    """Raise `Unreadable` if files share bytes, or if there is anything else between them.

    Files that share bytes make small archives of very large files possible.
    """
    if start > end:
        raise _refuse("files in the archive overlap")
    file.seek(start)
    if file.read(min(end - start, _MOST_DESCRIPTOR + 1)) not in allowed:
        raise _refuse("the archive contains data that is not in its directory: programs would read different files")


def _descriptors(entry: zipfile.ZipInfo) -> set[bytes]:
    """Return what may follow the bytes of a file: if it was written without seeking, its checksum and sizes."""
    found = {b""}
    if entry.flag_bits & _STREAMED:
        for sizes in ("2L", "2Q") if max(entry.file_size, entry.compress_size) < _IN_ZIP64 else ("2Q",):
            stated = struct.pack(f"<L{sizes}", entry.CRC, entry.compress_size, entry.file_size)
            found |= {stated, b"PK\7\x08" + stated}
    return found


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8 else "cp437")


def _decoded_name(entry: zipfile.ZipInfo) -> str:
    try:
        return _raw_name(entry).decode("utf-8")  # not marked as such by macOS
    except UnicodeDecodeError:
        return entry.orig_filename


def _zip_member(entry: zipfile.ZipInfo, start: int) -> Member | None:
    """Return a file of the archive; None for a folder. Raises `Unreadable` if the archive must not be read."""
    raw_name, mode = _decoded_name(entry), entry.external_attr >> 16
    name = safe_name(raw_name)
    if raw_name.endswith("/") or stat.S_ISDIR(mode):
        return None
    if entry.flag_bits & _ENCRYPTED:
        raise _refuse("the archive is encrypted", "create it again without a password")
    is_deflated = entry.compress_type == zipfile.ZIP_DEFLATED
    refused = None
    if stat.S_ISLNK(mode):
        refused = _LINK
    elif stat.S_IFMT(mode) and not stat.S_ISREG(mode):  # some programs do not store the kind
        refused = _DEVICE
    elif not is_deflated and entry.compress_type != zipfile.ZIP_STORED:
        method = _METHODS.get(entry.compress_type, f"number {entry.compress_type}")
        refused = Finding("MC003", f"the compression method {method} is not supported", "use Deflate, or a .tar.gz")
    elif entry.file_size > MAX_DEFLATED * (entry.compress_size + 1) or (
        not is_deflated and entry.file_size != entry.compress_size
    ):
        raise damaged(f"the archive is damaged: the stated size of {shorten(raw_name)} is not possible")
    elif entry.file_size > most_unpacked(entry.compress_size):
        raise too_compressed(shorten(raw_name))
    return Member(name, entry.file_size, start, refused, entry)


class ZipMember(Decompressed):
    """A file in a .zip. Its size and checksum are checked at its end."""

    def __init__(self, file: BinaryIO, start: int, entry: zipfile.ZipInfo, most: int) -> None:
        file.seek(start)
        super().__init__(zipfile.ZipExtFile(file, "r", entry), file, most, "the file", entry.file_size)

    def _decompress(self, size: int) -> bytes:
        data = super()._decompress(size)
        if size and not data and self._position < (self._size or 0):
            raise damaged("the archive is damaged: a file is smaller than stated")
        return data

    def _failure(self, error: Exception) -> Unreadable | None:
        if isinstance(error, zipfile.BadZipFile):
            return damaged("the archive is damaged: the checksum of this file differs")
        if isinstance(error, zlib.error | EOFError):
            return damaged("the archive is damaged: a file cannot be decompressed")
        return None


# --- .tar -------------------------------------------------------------------------------------------------------------

_MOST_OCTAL = 0o77777777777
"""The largest size that fits into a header."""
_MOST_HEADERS = 8
"""Headers that extend the header of one file: Python and macOS write one for each, besides headers of long names."""
_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_NAMING = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME)
_EXTENDING = (*_PAX, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_PAX_FIELD = re.compile(rb"([0-9]{1,10}) ([^=]+)=")
_LONG_NUMBER = re.compile(rb"[0-9]{100}")
_SPARSE = "the archive contains sparse files, which are not supported"
_AMBIGUOUS = "the archive states two names or sizes of a file: programs would read different files"
_UNKNOWN_KIND = "the archive contains an entry of unknown kind: programs would read different files"


def read_tar(file: BinaryIO | io.RawIOBase) -> list[Member]:
    """Return the files in the archive. Raises `Unreadable`."""
    members: list[Member] = []
    try:
        tar = _Tar(file)
        for count, header in enumerate(tar, 1):
            _check_count(count)
            if header.size != tar.stated_size and header.size <= _MOST_OCTAL:
                raise _refuse(_AMBIGUOUS)
            if member := _tar_member(header):
                members.append(member)
    except (tarfile.TarError, ValueError, OverflowError):
        raise damaged("the archive is truncated or damaged, or not a tar archive") from None
    file.seek(tar.offset)
    if (block := file.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
        what = "a header is not valid" if block else "its end is missing"
        raise damaged(f"the archive is truncated or damaged: {what}")
    while rest := file.read(1 << 20):
        if rest.strip(b"\0"):
            raise _refuse("the archive continues after its end: programs would read different files")
    return members


class _Tar(tarfile.TarFile):
    encoding = "utf-8"

    def __init__(self, file: Any) -> None:
        self.extended: list[bytes] = []
        """The kinds of the headers that extend the next one."""
        self.stated_size = 0
        """The size in the last header of a file, which others may have extended."""
        super().__init__(fileobj=file, tarinfo=_Header)


class _Header(tarfile.TarInfo):
    """A header, which is checked before `tarfile` acts on it."""

    @classmethod
    def fromtarfile(cls, tar: Any) -> _Header:
        at = tar.fileobj.tell()
        block = tar.fileobj.read(tarfile.BLOCKSIZE)
        header = cls.frombuf(block, tar.encoding, tar.errors)
        if header.size < 0:
            raise damaged("the archive is damaged: a header is not valid")
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise _refuse(_SPARSE, "create it without --sparse")
        if block[345:346] != b"\0" and block[257:263] != b"ustar\0":
            raise _refuse(_AMBIGUOUS)
        if block[156:157] == tarfile.AREGTYPE and header.isdir() and header.size:
            raise _refuse(_UNKNOWN_KIND)
        if header.type in _EXTENDING:
            tar.extended.append(header.type)
            cls._check_extension(header, tar)
        else:
            tar.extended.clear()
            tar.stated_size = header.size
        tar.fileobj.seek(at)
        return super().fromtarfile(tar)

    @classmethod
    def _check_extension(cls, header: tarfile.TarInfo, tar: Any) -> None:
        if header.size > MAX_HEADER:
            raise _refuse("a header in the archive is too large: a path is too long")
        if len(tar.extended) > _MOST_HEADERS:
            raise _refuse(f"a file in the archive has more than {_MOST_HEADERS} headers")
        if sum(kind in _NAMING for kind in tar.extended) > 1:
            raise _refuse(_AMBIGUOUS)
        if header.type in _PAX:
            _check_pax(tar.fileobj.read(header.size), header.type == tarfile.XGLTYPE)


def _check_pax(data: bytes, is_global: bool) -> None:
    """Check the fields of an extended header, each written as `LENGTH NAME=VALUE` and a line end."""
    names: set[bytes] = set()
    at = 0
    while at < len(data) and data[at]:
        match = _PAX_FIELD.match(data, at)
        end = at + int(match.group(1)) if match else 0
        if match is None or not match.end() < end <= len(data) or data[end - 1 : end] != b"\n":
            raise damaged("the archive is damaged: an extended header is not valid")
        names.add(match.group(2))
        at = end
    if any(name.startswith(b"GNU.sparse.") for name in names):
        raise _refuse(_SPARSE, "create it without --sparse")
    if is_global and names & {b"path", b"size"}:
        raise damaged("the archive is damaged: a header gives all files the same name or size")
    if _LONG_NUMBER.search(data):  # Python 3.11.9 takes quadratic time for it
        raise damaged("the archive is damaged: a number in a header is too long")


def _tar_member(header: tarfile.TarInfo) -> Member | None:
    """Return a file; None for a folder. Raises `Unreadable` for what some programs take for a file, others not."""
    name = safe_name(header.name)
    if header.isdir():
        return None
    if header.issym() or header.islnk():
        return Member(name, 0, 0, _LINK)
    if header.isdev():
        return Member(name, 0, 0, _DEVICE)
    if not header.isreg() or header.name.endswith("/"):
        raise _refuse(_UNKNOWN_KIND)
    return Member(name, header.size, header.offset_data)


class TarMember(SeekableStream):
    """A file in a .tar, which is a part of it."""

    def __init__(self, file: BinaryIO | io.RawIOBase, member: Member) -> None:
        super().__init__(member.size)
        self._file = file
        self._start = member.start
        self._end = member.size

    def fileno(self) -> int:
        return self._file.fileno()

    def _next(self, size: int) -> bytes:
        count = min(size, self._end - self._at)
        if count <= 0:
            return b""
        self._file.seek(self._start + self._at, os.SEEK_SET)
        data: bytes = self._file.read(count) or b""
        if not data:
            raise damaged("the archive is truncated")
        return data

    def close(self) -> None:
        self._file.close()
        super().close()
