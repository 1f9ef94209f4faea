"""Archives (.zip, .tar, .tar.gz, .tgz) as folders of data files, such as `submission.zip!/predictions.csv`.

Nothing is extracted under a name: files are decompressed while they are read, a `.tar.gz` once, to memory or to a
temporary file without a name. What reads archives is imported only if there is one.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Collection
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO

from medcontract.addresses import SEPARATOR, Address, ending_of, member_path, split_member
from medcontract.containers import BY_ENDING, BY_MAGIC
from medcontract.problems import Finding, shorten
from medcontract.reading.limits import MAX_RATIO, PIECE, Limits, most_unpacked
from medcontract.reading.source import (
    GZIP,
    Source,
    Unreadable,
    Watched,
    check_path,
    open_file,
    state_of,
    unreadable,
)
from medcontract.reading.streams import Copy, Gunzip, too_compressed, too_large

if TYPE_CHECKING:
    from medcontract.reading.archive_formats import Member
    from medcontract.reading.folders import Exclude, Listing

_KEPT = 2
"""Archives whose directories are kept, with the copy of a .tar.gz: the truth and a submission."""


def open_archived(path: str, limits: Limits | None = None) -> Source:
    """Return the source of a file in an archive, or of an archive where a file is expected."""
    archive, member = split_member(path) or (path, None)
    return ArchivedFile(archive, member, limits)


def list_archive(
    path: str, endings: Collection[str], limits: Limits | None = None, exclude: Exclude | None = None
) -> Listing | None:
    """List the data files in an archive, and others; None if it cannot be read, which `open_source` explains."""
    from medcontract.reading.folders import listed

    try:
        archive = _open_archive(path, limits or Limits())
    except (Unreadable, OSError):
        return None
    return listed(path, archive.members, partial(member_path, path), endings, exclude)


def member_size(archive: str, name: str, limits: Limits) -> int | None:
    """Return the size of any file in an archive; None if there is no such file or it cannot be read."""
    try:
        member = _open_archive(archive, limits).members.get(name)
    except (Unreadable, OSError):
        return None
    return None if member is None or member.refused else member.size


class ArchivedFile(Source):
    """A file in an archive. Its bytes, size and hash describe the file itself, not the archive.

    Without a member, it is the archive, where a file is expected.
    """

    in_archive = True

    def __init__(self, archive: str, member: str | None, limits: Limits | None = None) -> None:
        super().__init__(archive, None if member is None else str(member_path(archive, member)), limits)
        self._is_whole = member is None
        self._member = member or ""
        self._copy: Copy | None = None
        """All its bytes, if they are not read in order."""

    def prepare(self) -> None:
        try:
            members = _open_archive(self._path, self.limits).members
        except OSError as error:
            raise unreadable(error) from None
        if self._is_whole:
            example = f"{os.path.basename(self._path)}{SEPARATOR}{shorten(min(members, default='predictions.csv'))}"
            finding = Finding("MC002", "this is an archive, not a file", f"specify a file in it: {example}")
            raise Unreadable(finding, usage_error=True)
        member = members.get(self._member)
        if member is None:
            raise Unreadable(Finding("MC001", "no such file in the archive", "check the name"), usage_error=True)
        if member.refused:
            raise Unreadable(member.refused)
        super().prepare()

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
            if member is None or (self._before and archive.identity != self._before):
                raise self.changed()
            self._most = archive.most_unpacked(member)
            if self.head[:4] in BY_MAGIC and self._copy is None:
                with io.BufferedReader(archive.open(member)) as stream:
                    self._copy = Copy(partial(stream.read1, PIECE), self.limits.unpacked)
            raw = archive.open(member) if self._copy is None else self._copy.open()
            return io.BufferedReader(Watched(raw, self))


class _Archive:
    """The files of an archive. Each can be opened repeatedly."""

    def __init__(self, path: str, identity: tuple[object, ...], limit: int) -> None:
        from medcontract.reading import archive_formats

        self._formats = archive_formats
        self._path = path
        self.identity = identity
        self._copy: Copy | None = None
        """What a gzipped archive decompresses to: its files are small parts of it, which are read in any order."""
        with self._open() as file:
            size = file.seek(0, os.SEEK_END)
            self._most = most_unpacked(size)
            file.seek(0)
            if path.lower().endswith(".zip"):
                members = archive_formats.read_zip(file, size)
            elif file.peek(len(GZIP)).startswith(GZIP):
                self._copy = Copy(partial(Gunzip(file, limit, self._most).read, PIECE), limit)
                members = archive_formats.read_tar(self._copy.open())
            else:
                members = archive_formats.read_tar(file)
        self.members = archive_formats.visible(members)
        self._data_size = sum(member.size for name, member in self.members.items() if ending_of(name) in BY_ENDING)
        if self._data_size > self._most:
            raise too_compressed("the archive")
        if self._data_size > limit:
            raise too_large(limit)

    def most_unpacked(self, member: Member) -> int:
        """Return the share of a file in what the archive may decompress to: it may be gzipped again."""
        packed_size = member.zipped.compress_size if member.zipped else 0
        return max(self._most * member.size // max(self._data_size, 1), MAX_RATIO * packed_size)

    def open(self, member: Member) -> io.RawIOBase:
        if self._copy is not None:
            return self._formats.TarMember(self._copy.open(), member)
        if member.zipped is None:
            return self._formats.TarMember(self._open(), member)
        return self._formats.ZipMember(self._open(), member.start, member.zipped, self.most_unpacked(member))

    def _open(self) -> io.BufferedReader[Any]:
        file = io.BufferedReader(open_file(self._path))
        info = getattr(file.raw, "info", None)  # of a file at an address
        if (info.state if info else state_of(os.fstat(file.fileno()))) != self.identity:
            file.close()
            raise OSError(errno.ESTALE, "it was replaced")
        return file


def _open_archive(path: str, limits: Limits) -> _Archive:
    """Return the archive at a path, which was kept if it was read recently. Raises `Unreadable` and `OSError`."""
    check_path(path)
    if isinstance(path, Address):
        from medcontract.reading.remote import recent_info

        info = recent_info(path)
        if info.is_folder:
            raise IsADirectoryError
        found = _kept(path, path.full, info.state, limits.unpacked)
    else:
        state = os.stat(path)
        if stat.S_ISDIR(state.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(state.st_mode):
            raise Unreadable(Finding("MC003", "an archive must be a file, not a pipe or a device"), usage_error=True)
        found = _kept(path, None, state_of(state), limits.unpacked)
    if isinstance(found, Finding):
        raise Unreadable(found)
    return found


@lru_cache(_KEPT)
def _kept(path: str, full: str | None, identity: tuple[object, ...], limit: int) -> _Archive | Finding:
    """`full`: an address with its credentials, which may be valid for a while only."""
    try:
        return _Archive(path, identity, limit)
    except Unreadable as error:
        return error.finding
