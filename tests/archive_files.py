"""Archives for tests: valid ones, and zips whose fields do not agree with each other."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

FORMATS = ("zip", "stored.zip", "tar", "tar.gz", "tgz")
Content = Mapping[str, bytes]


def pack(path: Path, files: Content) -> Path:
    """Write an archive, of the format that its name says."""
    if path.name.endswith(".zip"):
        method = zipfile.ZIP_STORED if path.name.endswith("stored.zip") else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path
    with tarfile.open(path, "w" if path.name.endswith(".tar") else "w:gz") as tar:
        for name, data in files.items():
            tar.addfile(tar_entry(name, size=len(data)), io.BytesIO(data))
    return path


def tar_entry(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    return info


def pack_folder(path: Path, folder: Path, inside: str = "") -> Path:
    """Write an archive of all files in a folder."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return pack(path, {inside + each.relative_to(folder).as_posix(): each.read_bytes() for each in files})


class Part:
    """A file in a hand-made zip. Each field of its headers can be false."""

    def __init__(self, name: bytes, data: bytes, **changes: int | bytes) -> None:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        self.packed = deflate.compress(data) + deflate.flush()
        values: dict[str, int | bytes] = {
            "flags": 0, "method": 8, "crc": zlib.crc32(data), "packed_size": len(self.packed), "size": len(data),
            "name": name, "extra": b"", "mode": 0o100644,
        }  # fmt: skip
        stated = {name: value for name, value in changes.items() if not name.startswith("local_")}
        local = {name.removeprefix("local_"): value for name, value in changes.items() if name.startswith("local_")}
        self.stated = {**values, **stated}
        self.local = {**values, **stated, **local}

    def local_header(self) -> bytes:
        v = self.local
        sizes = struct.pack("<3L", v["crc"], v["packed_size"], v["size"])
        lengths = struct.pack("<2H", len(bytes(v["name"])), len(bytes(v["extra"])))
        start = struct.pack("<4s5H", b"PK\3\4", 20, v["flags"], v["method"], 0, 0x5921)
        return start + sizes + lengths + bytes(v["name"]) + bytes(v["extra"])

    def entry(self, start: int) -> bytes:
        v = self.stated
        head = struct.pack("<4s6H", b"PK\1\2", 0x031E, 20, v["flags"], v["method"], 0, 0x5921)
        sizes = struct.pack("<3L", v["crc"], v["packed_size"], v["size"])
        lengths = struct.pack("<5H", len(bytes(v["name"])), len(bytes(v["extra"])), 0, 0, 0)
        place = struct.pack("<2L", int(v["mode"]) << 16, int(v.get("start", start)))
        return head + sizes + lengths + place + bytes(v["name"]) + bytes(v["extra"])


def zip_of(
    parts: Iterable[Part],
    *,
    count: int | None = None,
    directory_size: int | None = None,
    directory_start: int | None = None,
    before_end: Callable[[int, int, int], bytes] = lambda count, size, start: b"",
    comment: bytes = b"",
    disk: int = 0,
) -> bytes:
    """A zip of these parts. `before_end` makes what is between the directory and the end record."""
    body, directory, number = b"", b"", 0
    for part in parts:
        directory += part.entry(len(body))
        body += part.local_header() + part.packed
        number += 1
    real = (number, len(directory), len(body))
    n, size, start = (
        a if b is None else b for a, b in zip(real, (count, directory_size, directory_start), strict=True)
    )
    end = struct.pack("<4s4H2LH", b"PK\5\6", disk, disk, n, n, size, start, len(comment))
    return body + directory + before_end(*real) + end + comment


def zip64_records(count: int, size: int, start: int, /, **changes: int) -> bytes:
    """The zip64 record and its locator, for an archive with this directory."""
    record_at = changes.get("record_at", start + size)
    values = [changes.get(name, value) for name, value in (("count", count), ("size", size), ("start", start))]
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, values[0], *values)
    return record + struct.pack("<4sLQL", b"PK\6\7", 0, record_at, 1)
