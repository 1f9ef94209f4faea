"""Archives (.zip, .tar, .tar.gz, .tgz) as folders of data files.

Their files are decompressed while they are read: nothing is written to a disk.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Collection
from functools import lru_cache
from typing import Any, BinaryIO

from medcontract.addresses import Address
from medcontract.containers import BY_ENDING
from medcontract.problems import Finding, shorten
from medcontract.reading import tar_archive, zip_archive
from medcontract.reading.archive_members import Member, visible
from medcontract.reading.archive_paths import SEPARATOR, member_path
from medcontract.reading.exclude import Exclude
from medcontract.reading.folders import Entry, Listing, has_ending
from medcontract.reading.gunzip import MAGIC, Unreadable, size_text, too_compressed
from medcontract.reading.limits import MAX_RATIO, Limits, most_unpacked
from medcontract.reading.random_access import IndexedGunzip, Inflate, Segments, Window
from medcontract.reading.source import Source, Watched, open_file, unreadable

_KEPT = 4
"""Archives whose directories and states of decompression are kept."""

Identity = tuple[object, ...]


def list_archive(
    path: str, endings: Collection[str], limits: Limits | None = None, exclude: Exclude | None = None
) -> Listing | None:
    """The data files in an archive, and its other files; None if it cannot be read, which `open_source` explains."""
    try:
        archive = _open_archive(path, limits or Limits())
    except (Unreadable, OSError, ValueError):
        return None
    found = Listing([], [])
    for name in sorted(archive.members):
        inside = member_path(path, name)
        if exclude and exclude.in_archive(path, name):
            continue
        if has_ending(name, endings):
            found.data.append(Entry(inside))
        else:
            found.others.append(inside)
    return found


def member_size(archive: str, name: str, limits: Limits) -> int | None:
    """The size of any file in an archive; None if there is no such file or it cannot be read."""
    try:
        member = _open_archive(archive, limits).members.get(name)
    except (Unreadable, OSError, ValueError):
        return None
    return None if member is None or member.refused else member.size


class ArchivedFile(Source):
    """A file in an archive. Its bytes, its size and its hash are those of the file itself."""

    in_archive = True

    def __init__(self, archive: str, member: str, limits: Limits | None = None) -> None:
        super().__init__(archive, str(member_path(archive, member)), limits)
        self._member = member

    def prepare(self) -> None:
        try:
            member = _open_archive(self._path, self.limits).members.get(self._member)
        except OSError as error:
            raise unreadable(error) from None
        except ValueError:  # a NUL byte in the path
            raise Unreadable(Finding("MC001", "invalid file name"), wrong_call=True) from None
        if member is None:
            raise Unreadable(Finding("MC001", "no such file in the archive", "check the name"), wrong_call=True)
        if member.refused:
            raise Unreadable(member.refused)
        super().prepare()

    @property
    def path(self) -> str | None:
        """None: other processes cannot read a part of it."""
        return None

    @property
    def address(self) -> Address | None:
        return self._path.member(self._member) if isinstance(self._path, Address) else None

    @property
    def location(self) -> str | None:
        archive = super().location
        return None if archive is None else self.address or member_path(archive, self._member)

    def _as_it_is(self) -> BinaryIO:
        with self.reading():
            archive = _open_archive(self._path, self.limits)
            member = archive.members.get(self._member)
            self._most = archive.most_unpacked(member) if member else None
            if member is None or (self._before and archive.identity != self._before):
                raise self.changed()
            return io.BufferedReader(Watched(archive.open(member), self))


class WholeArchive(Source):
    """An archive where a file is expected, or one that cannot be read."""

    def prepare(self) -> None:
        try:
            archive = _open_archive(self._path, self.limits)
        except OSError as error:
            raise unreadable(error) from None
        except ValueError:  # a NUL byte in the path
            raise Unreadable(Finding("MC001", "invalid file name"), wrong_call=True) from None
        example = next(iter(sorted(archive.members)), "predictions.csv")
        raise Unreadable(
            Finding("MC002", "this is an archive, not a file",
                    f"specify a file in it: {os.path.basename(self._path)}{SEPARATOR}{shorten(example)}"),
            wrong_call=True,
        )  # fmt: skip


class Archive:
    """The files of an archive. Each can be opened repeatedly."""

    def __init__(self, path: str, identity: Identity, limit: int) -> None:
        self._path = path
        self.identity = identity
        self._limit = limit
        self._states: dict[str, list[Any]] = {}
        """The states of decompression, by file; that of a gzipped archive has no name."""
        self._segments: dict[int, bytes] = {}
        """Decompressed parts of a gzipped archive that were read last."""
        with self._open() as file:
            self._is_zip = path.lower().endswith(".zip")
            self._is_gzipped = not self._is_zip and file.read(len(MAGIC)) == MAGIC
            size = file.seek(0, os.SEEK_END)
            members = zip_archive.read_directory(file, size) if self._is_zip else self._read_tar(file, size)
        self.members = visible(members)
        self._most = most_unpacked(size)
        self._data_size = sum(member.size for name, member in self.members.items() if has_ending(name, BY_ENDING))

    def check_size(self) -> None:
        """Raise `Unreadable` if the data files are larger than the limit, or than the archive allows, all together."""
        if self._data_size > self._most:
            raise too_compressed("the archive")
        if self._data_size > self._limit:
            raise Unreadable(Finding(
                "MC027", f"the archive decompresses to more than {size_text(self._limit)}",
                "if this is expected, raise the limit with --max-unpacked",
            ))  # fmt: skip

    def most_unpacked(self, member: Member) -> int:
        """The share of a file in what the archive may decompress to: it may be one of thousands, and gzipped again."""
        return max(self._most * member.size // max(self._data_size, 1), MAX_RATIO * member.packed_size)

    def open(self, member: Member) -> io.RawIOBase:
        file = self._open()
        if self._is_gzipped:
            return Segments(self._gunzip(file), member.start, member.size, self._segments)
        if not self._is_zip or member.method == zip_archive.STORED:
            return Window(file, member.start, member.size, member.crc)
        states = self._states.setdefault(member.name, [])
        most = self.most_unpacked(member)
        return Inflate(file, member.start, member.packed_size, member.size, member.crc or 0, states, most)

    def _read_tar(self, file: BinaryIO, size: int) -> list[Member]:
        if not self._is_gzipped:
            return tar_archive.read_headers(file, size)
        return tar_archive.read_headers(self._gunzip(file), None)

    def _gunzip(self, file: BinaryIO) -> Any:
        return IndexedGunzip(file, self._limit, self._states.setdefault("", []))

    def _open(self) -> BinaryIO:
        file = io.BufferedReader(open_file(self._path))
        if _identity_of_open(file.raw) != self.identity:
            file.close()
            raise OSError(errno.ESTALE, "it was replaced")
        return file


def _open_archive(path: str, limits: Limits) -> Archive:
    """The archive at a path, from the cache if it was read before. Raises `Unreadable` and `OSError`."""
    signature = path.full if isinstance(path, Address) else None
    found = _cached(path, signature, _check_kind(path), limits.unpacked)
    if isinstance(found, Finding):
        raise Unreadable(found)
    return found


def _check_kind(path: str) -> Identity:
    """The identity of a file. Raises `OSError` or `Unreadable` if it is not a file."""
    if isinstance(path, Address):
        from medcontract.reading.remote import recent_info

        info = recent_info(path)
        if info.is_folder:
            raise IsADirectoryError
        return info.state
    state = os.stat(path)
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(state.st_mode):
        raise Unreadable(Finding("MC003", "an archive must be a file, not a pipe or a device"), wrong_call=True)
    return _identity(state)


@lru_cache(_KEPT)
def _cached(path: str, signature: str | None, identity: Identity, limit: int) -> Archive | Finding:
    """`signature`: an address with its credentials, which may be valid for a while only."""
    try:
        archive = Archive(path, identity, limit)
        archive.check_size()
    except Unreadable as error:
        return error.finding
    return archive


def _identity_of_open(file: io.RawIOBase) -> Identity:
    info = getattr(file, "info", None)  # of a file at an address
    state: Identity = info.state if info else _identity(os.fstat(file.fileno()))
    return state


def _identity(state: os.stat_result) -> Identity:
    """A value that changes if the file is changed or replaced."""
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
