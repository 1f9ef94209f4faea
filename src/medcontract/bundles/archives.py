"""Archives and images with the same bytes for the same content: fixed dates, owners and order."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping

_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest date of a .zip."""
_MODE = 0o644


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """A .zip of these files, by path."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = (0o100000 | _MODE) << 16
            archive.writestr(entry, data)
    return target.getvalue()


def tar_gz_of(files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz of these files, by path."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), _MODE
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(tar.getvalue(), mtime=0)


def logo() -> bytes:
    """A plain .png, since platforms require a logo; to be replaced."""
    size, color = 256, bytes((31, 78, 121))
    rows = (b"\0" + color * size) * size
    header = struct.pack(">2L5B", size, size, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data)) for kind, data in chunks
    )
