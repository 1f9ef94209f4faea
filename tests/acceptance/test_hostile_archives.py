"""Archives made by somebody else: false, damaged, dangerous or huge. Each ends as a problem, never otherwise."""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import struct
import sys
import tarfile
import tempfile
import threading
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.archive_files import Part, pack, tar_entry, zip64_records, zip_of
from tests.commands import Call, sent_file, truth_file

import medcontract
from medcontract.api import validate_files
from medcontract.errors import CallError, FileChanged
from medcontract.reading import limits, streams
from medcontract.reading.archives import list_archive
from medcontract.reading.source import open_source

ROW = b"image_id,label\nI-1,MEL\n"
GOOD = Part(b"truth.csv", ROW)


def tar_of(*entries: tuple[tarfile.TarInfo, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format_) as tar:
        for info, data in entries:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def one_in_tar(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    return tar_of((tar_entry(name, kind, target=target), b"" if target else ROW))


def zipped(name: str, **changes: int | bytes) -> bytes:
    return zip_of([Part(name.encode(), ROW, **changes)])


def zipped_before(*after: bytes, packed: slice = slice(None), **changes: int) -> bytes:
    """A zip with other bytes between the file and the directory, or with a part of the bytes of the file."""
    part = Part(b"truth.csv", ROW, **changes)
    part.packed = b"".join((part.packed[packed], *after))
    return zip_of([part])


def with_two_directories() -> bytes:
    """A zip whose comment is another directory with an end record, for the other of its two files."""
    other = Part(b"other.csv", ROW)
    body = GOOD.local_header() + GOOD.packed
    at = len(body) + len(other.local_header()) + len(other.packed)
    first = zip_of([GOOD])[len(body) : -22]
    second = other.entry(len(body))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(second), at + len(first) + 22, 0)
    return b"".join((
        body, other.local_header(), other.packed, first,
        struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(first), at, len(second + end)), second, end,
    ))  # fmt: skip


def by_the_library(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def changed_header(data: bytes, at: int, field: bytes) -> bytes:
    """A tar whose first header is changed, with a valid checksum."""
    block = bytearray(data[:512])
    block[at : at + len(field)] = field
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data[512:]


LEADING_OUT = [
    "../truth.csv",
    "a/../../truth.csv",
    "/etc/truth.csv",
    "C:/truth.csv",
    "c:truth.csv",
    "a\\..\\truth.csv",
    "..\\truth.csv",
    "\\\\host\\share\\truth.csv",
    "a/..",
    "../notes.txt",
    "a\x07.csv",
    "n" * 2000 + ".csv",
    "d/" * 51 + "truth.csv",
]
TAR = one_in_tar("truth.csv")
ZIP = zip_of([GOOD])

HOSTILE: dict[str, tuple[str, bytes, str, str]] = {
    **{f"path {name[:20]!r}": ("x.zip", zipped(name), "MC037", "a path in the archive") for name in LEADING_OUT},
    **{f"tar path {name[:20]!r}": ("x.tar", one_in_tar(name), "MC037", "a path in the") for name in LEADING_OUT},
    "path that is not UTF-8": ("x.zip", zip_of([Part(b"a\xe9.csv", ROW, flags=1 << 11)]), "MC037", "not valid UTF-8"),
    "NUL in a path": ("x.zip", zipped("truth.csv\0.txt"), "MC037", "control character"),
    "link in a zip": ("x.zip", zipped("truth.csv", mode=0o120777), "MC003", "this is a link"),
    "device in a zip": ("x.zip", zipped("truth.csv", mode=0o020666), "MC003", "a pipe or a device"),
    "symbolic link": ("x.tar", one_in_tar("truth.csv", tarfile.SYMTYPE, "/etc/passwd"), "MC003", "this is a link"),
    "hard link": ("x.tgz", gzip.compress(one_in_tar("truth.csv", tarfile.LNKTYPE, "a")), "MC003", "this is a link"),
    "device": ("x.tar", tar_of((tar_entry("truth.csv", tarfile.CHRTYPE), b"")), "MC003", "a pipe or a device"),
    "pipe": ("x.tar", tar_of((tar_entry("truth.csv", tarfile.FIFOTYPE), b"")), "MC003", "a pipe or a device"),
    "encrypted": ("x.zip", zipped("truth.csv", flags=1), "MC037", "encrypted"),
    "strongly encrypted": ("x.zip", zipped("truth.csv", flags=1 | 1 << 6), "MC037", "encrypted"),
    "bzip2": ("x.zip", zipped("truth.csv", method=12), "MC003", "bzip2 is not supported"),
    "unknown method": ("x.zip", zipped("truth.csv", method=77), "MC003", "number 77 is not supported"),
    "split": ("x.zip", zip_of([GOOD], disk=1), "MC037", "split into several files"),
    "same name twice": ("x.zip", zip_of([GOOD, Part(b"truth.csv", b"")]), "MC037", "two files named truth.csv"),
    "same path twice": ("x.zip", zip_of([GOOD, Part(b"./truth.csv", b"")]), "MC037", "two files named truth.csv"),
    "names that differ in case": ("x.zip", zip_of([GOOD, Part(b"Truth.CSV", ROW)]), "MC037", "truth.csv and Truth.CSV"),
    "names that differ in form": ("x.zip", zip_of([Part("é.csv".encode(), ROW), Part("e\u0301.csv".encode(), ROW)]),
        "MC037", "the archive contains"),
    "file and folder": ("x.zip", zip_of([GOOD, Part(b"truth.csv/x.csv", ROW)]), "MC037", "both a file and a folder"),
    "tar with the same name twice": ("x.tar", tar_of((tar_entry("truth.csv"), ROW), (tar_entry("truth.csv"), b"")),
        "MC037", "two files named"),
    "overlapping": ("x.zip", zip_of([GOOD, Part(b"truth.csv", ROW, start=0)]), "MC037", "overlap"),
    "file in the directory": ("x.zip", zipped("truth.csv", packed_size=90, local_packed_size=90), "MC037", "overlap"),
    "too many files": ("x.zip", zip_of([Part(b"%d" % n, b"") for n in range(10_001)]), "MC037",
        "more than 10,000 files"),
    "too many stated": ("x.zip", zip_of([GOOD], count=20_000), "MC037", "more than 10,000 files"),
    "too many in a tar": ("x.tgz", gzip.compress(tar_of(*((tar_entry(str(n)), b"") for n in range(10_001)))), "MC037",
        "more than 10,000"),
    "too long names": ("x.zip", zip_of([Part(b"%04d" % n + b"n" * 1000, b"") for n in range(2000)]), "MC037",
        "more than 2,000,000 characters together"),
    "hidden file": ("x.zip", zipped_before(zip_of([Part(b"b.csv", ROW)])[:-73]), "MC037", "not in its directory"),
    "hidden text": ("x.zip", zipped_before(b"hidden text"), "MC037", "not in its directory"),
    "false sizes after the data": ("x.zip", zipped_before(b"PK\7\x08" + bytes(12), flags=8), "MC037", "not in its"),
    "hidden start": ("x.zip",
        b"#!/bin/sh\n" + zip_of([Part(b"truth.csv", ROW, start=10)], directory_start=len(ZIP) - 22 - 55 + 10), "MC037",
        "not in its directory"),
    "two end records": ("x.zip", zip_of([GOOD], comment=b"PK\5\6 a comment"), "MC036", "truncated, or not"),
    "two directories": ("x.zip", with_two_directories(), "MC037", "not in its directory"),
    "one more stated": ("x.zip", zip_of([GOOD], count=2), "MC036", "damaged"),
    "one less stated": ("x.zip", zip_of([GOOD, Part(b"b.csv", ROW)], count=1), "MC036", "another size than stated"),
    "directory elsewhere": ("x.zip", zip_of([GOOD], directory_start=3), "MC036", "not where it is stated to be"),
    "directory too large": ("x.zip", zip_of([GOOD], directory_size=1 << 30), "MC036", "not where it is stated"),
    "larger than stated": ("x.zip", zipped("truth.csv", size=5), "MC036", "the checksum of this file differs"),
    "smaller than stated": ("x.zip", zipped("truth.csv", size=500), "MC036", "smaller than stated"),
    "much larger stated": ("x.zip", zipped("truth.csv", size=1 << 31), "MC036", "is not possible"),
    "truncated file": ("x.zip", zipped_before(packed=slice(10), packed_size=10), "MC036", "checksum"),
    "wrong checksum": ("x.zip", zipped("truth.csv", crc=7), "MC036", "the checksum of this file differs"),
    "not stored": ("x.zip", zipped("truth.csv", method=0), "MC036", "is not possible"),
    "wrong checksum, stored": ("x.zip", zipped("truth.csv", method=0, size=len(GOOD.packed), crc=7), "MC036",
        "checksum"),
    "other local name": ("x.zip", zip_of([Part(b"truth.csv", ROW, local_name=b"other.csv")]), "MC036",
        "truth.csv differ"),
    "other local method": ("x.zip", zipped("truth.csv", local_method=0), "MC036", "two statements"),
    "other local size": ("x.zip", zipped("truth.csv", local_size=1), "MC036", "two statements"),
    "other local size, written later": ("x.zip", zipped("truth.csv", flags=8, local_size=1), "MC036", "two statements"),
    "other local zip64 size": ("x.zip",
        zipped("truth.csv", local_size=0xFFFFFFFF, local_extra=struct.pack("<2HQ", 1, 8, 5)), "MC036",
        "two statements"),
    "zip64 size missing": ("x.zip", zipped("truth.csv", size=0xFFFFFFFF), "MC036", "is not possible"),
    "zip64 size false": ("x.zip",
        zip_of([Part(b"truth.csv", ROW, size=0xFFFFFFFF, extra=struct.pack("<2HQ", 1, 8, 1 << 60))]), "MC036",
        "is not possible"),
    "zip64 offset false": ("x.zip",
        zip_of([Part(b"truth.csv", ROW, start=0xFFFFFFFF, extra=struct.pack("<2HQ", 1, 8, (1 << 64) - 1))]), "MC036",
        "damaged"),
    "zip64 directory differs": ("x.zip", zip_of([GOOD], before_end=lambda *real: zip64_records(*real, count=2)),
        "MC036", "statements"),
    "zip64 directory false": ("x.zip",
        zip_of([GOOD], count=0xFFFF, before_end=lambda *real: zip64_records(*real, count=1 << 62)), "MC037",
        "more than 10,000"),
    "zip64 record elsewhere": ("x.zip",
        zip_of([GOOD], before_end=lambda *real: zip64_records(*real, record_at=1 << 62)), "MC036", "zip64 record"),
    "truncated zip": ("x.zip", ZIP[:-5], "MC036", "truncated, or not a zip archive"),
    "half a zip": ("x.zip", ZIP[: len(ZIP) // 2], "MC036", "truncated, or not a zip archive"),
    "empty": ("x.zip", b"", "MC036", "truncated, or not a zip archive"),
    "a table called zip": ("x.zip", ROW, "MC036", "not a zip archive"),
    "text after the end": ("x.zip", ZIP + b"x", "MC036", "truncated, or not a zip archive"),
    "text before the start": ("x.zip", b"#!/bin/sh\n" + ZIP, "MC036", "not where it is stated to be"),
    "truncated tar": ("x.tar", TAR[:700], "MC036", "truncated"),
    "tar without an end": ("x.tar", TAR[:1024], "MC036", "truncated"),
    "empty tar": ("x.tar", b"", "MC036", "not a tar archive"),
    "a table called tar": ("x.tar", ROW * 100, "MC036", "not a tar archive"),
    "a gzipped table called tar.gz": ("x.tar.gz", gzip.compress(ROW * 100), "MC036", "not a tar archive"),
    "truncated tar.gz": ("x.tar.gz", gzip.compress(TAR)[:-9], "MC026", "truncated"),
    "damaged tar.gz": ("x.tar.gz", gzip.compress(TAR)[:-8] + b"12345678", "MC025", "damaged"),
    "wrong checksum in a tar": ("x.tar", b"T" + TAR[1:], "MC036", "damaged, or not a tar archive"),
    "wrong checksum later in a tar": ("x.tar", TAR[:1024] + b"T" + TAR[1:], "MC036", "a header is not valid"),
    "negative size": ("x.tar", changed_header(TAR, 124, b"\xff" * 12), "MC036", "a header is not valid"),
    "huge size": ("x.tar", changed_header(TAR, 124, b"\x80" + b"\x7f" * 11), "MC036", "truncated"),
    "huge size, gzipped": ("x.tgz", gzip.compress(changed_header(TAR, 124, b"\x80" + b"\x7f" * 11)), "MC036",
        "truncated"),
    "huge name": ("x.tar", changed_header(changed_header(TAR, 156, b"L"), 124, b"00077777777\0") + bytes(20 << 20),
        "MC037", "too long"),
    "sparse": ("x.tar", changed_header(TAR, 156, b"S"), "MC037", "sparse"),
    "false pax length": ("x.tar",
        tar_of((tar_entry("x", tarfile.XHDTYPE), b"99 path=a\n"), (tar_entry("truth.csv"), ROW)), "MC036", "extended"),
    "long number in a pax header": ("x.tar",
        tar_of((tar_entry("x", tarfile.XHDTYPE), b"212 comment=" + b"1" * 199 + b"\n"), (tar_entry("t.csv"), ROW)),
        "MC036", "too long"),
    "global pax path": ("x.tar",
        tar_of((tar_entry("x", tarfile.XGLTYPE), b"14 path=b.csv\n"), (tar_entry("t.csv"), ROW)), "MC036",
        "gives all files the same name"),
    "sparse as in pax": ("x.tar",
        tar_of((tar_entry("x", tarfile.XHDTYPE), b"22 GNU.sparse.major=1\n"), (tar_entry("t.csv"), ROW)), "MC037",
        "sparse"),
    "huge directory": ("x.zip", zip_of([Part(b"%d.csv" % n, ROW, extra=bytes(60_000), local_extra=b"")
        for n in range(160)]), "MC037", "the directory of the archive is too large"),
    "pax path leads out": ("x.tar",
        tar_of((tar_entry("x", tarfile.XHDTYPE), b"15 path=../a.c\n"), (tar_entry("t.csv"), ROW)), "MC037", "a path"),
    "pax size": ("x.tar", tar_of((tar_entry("x", tarfile.XHDTYPE), b"13 size=9999\n"), (tar_entry("truth.csv"), ROW)),
        "MC037", "two names or sizes"),
    "two pax paths": ("x.tar",
        tar_of(*((tar_entry("x", tarfile.XHDTYPE), b"10 path=%b\n" % n) for n in (b"a", b"b")), (tar_entry("t"), ROW)),
        "MC037", "two names or sizes"),
    "huge pax size": ("x.tar",
        tar_of((tar_entry("x", tarfile.XHDTYPE), b"20 size=99999999999\n"), (tar_entry("truth.csv"), ROW)), "MC036",
        "trunc"),
    "prefix of another format": ("x.tar", changed_header(changed_header(TAR, 345, b"folder"), 257, b"ustar  "), "MC037",
        "two names or sizes"),
    "unknown kind": ("x.tar", one_in_tar("truth.csv", b"Z"), "MC037", "unknown kind"),
    "file with a slash": ("x.tar", changed_header(TAR, 0, b"truth.csv/"), "MC037", "unknown kind"),
    "tar after its end": ("x.tar", TAR + one_in_tar("b.csv"), "MC037", "continues after its end"),
    "tar.gz after its end": ("x.tgz", gzip.compress(TAR) + gzip.compress(TAR), "MC037", "continues after its end"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives(call: Call, tmp_path: Path, case: str) -> None:
    """Each is a problem with a clear message and exit code 1, in each command, and leaves nothing behind."""
    name, data, code, message = HOSTILE[case]
    path = tmp_path / "in" / name
    path.parent.mkdir()
    path.write_bytes(data)
    ran = call("validate", path, "--format", "json")
    (file,) = ran.json["files"]
    (problem,) = file["problems"]
    assert (ran.code, problem["code"], file["ok"]) == (1, code, False)
    assert message in problem["message"]
    assert len(problem["message"]) < 200
    truth = truth_file(tmp_path / "t", "lesions")
    assert call("score", truth, path).code == 1
    assert call("preflight", truth, path).code == 1
    board = call("leaderboard", truth, path, "--format", "json")
    assert (board.code, board.json["submissions"][0]["valid"]) == (1, False)
    assert str(tmp_path) not in board.out
    assert sorted(each.name for each in path.parent.iterdir()) == [name]


def test_names_in_other_encodings(tmp_path: Path) -> None:
    """UTF-8 with and without the mark, code page 437: all are read."""
    parts = [
        Part("año.csv".encode(), ROW, flags=1 << 11),
        Part("niño.csv".encode(), ROW),
        Part("señal.csv".encode("cp437"), ROW),
    ]
    path = tmp_path / "x.zip"
    path.write_bytes(zip_of(parts))
    report = validate_files(path)
    assert report.ok
    names = [file.path.partition("!/")[2] for file in report.files]
    assert names == ["año.csv", "niño.csv", "señal.csv"]
    assert report.to_json()


@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names(tmp_path: Path, format_: int) -> None:
    """The three ways in which a tar stores them."""
    name = f"{'d' * 90}/{'e' * 50}.csv"
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of((tar_entry(name), ROW), (tar_entry("b.csv"), ROW), format_=format_))
    assert [file.path.partition("!/")[2] for file in validate_files(path).files] == ["b.csv", name]


def test_zips_of_other_programs(tmp_path: Path) -> None:
    """Written without seeking (sizes after the data, in four forms), with zip64 fields, with a comment, by the library.

    Archives of Info-ZIP, 7-Zip, bsdtar and Java have these forms.
    """
    path = tmp_path / "x.zip"

    class Unseekable(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.data += bytes(data)
            return len(data)

    streamed = Unseekable()
    with zipfile.ZipFile(streamed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("truth.csv", ROW)
    large = io.BytesIO()
    with zipfile.ZipFile(large, "w") as archive, archive.open("truth.csv", "w", force_zip64=True) as member:
        member.write(ROW)
    extra = struct.pack("<2H2Q", 1, 16, len(ROW), len(GOOD.packed))
    stated = [struct.pack(f"<L2{size}", zlib.crc32(ROW), len(GOOD.packed), len(ROW)) for size in "LQ"]
    descriptors = [magic + each for magic in (b"", b"PK\7\x08") for each in stated]
    zip64 = Part(b"truth.csv", ROW, size=0xFFFFFFFF, packed_size=0xFFFFFFFF, extra=extra)
    for data in (
        streamed.data,
        large.getvalue(),
        zip_of([zip64], before_end=zip64_records),
        by_the_library(**{"truth.csv": ROW}),
        zip_of([GOOD], comment=b"PK a comment"),
        *(zipped_before(each, flags=8) for each in descriptors),
        zip_of([zip64], count=0xFFFF, before_end=zip64_records),
    ):
        path.write_bytes(data)
        report = validate_files(path)
        assert [(file.ok, file.records) for file in report.files] == [(True, 1)]


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
def test_bombs(call: Call, tmp_path: Path, name: str) -> None:
    """What decompresses to 200 times its size is refused, before it is decompressed."""
    path = pack(tmp_path / name, {"truth.jsonl": b" " * (32 << 20)})
    started = time.monotonic()
    ran = call("validate", path, "--format", "json")
    (problem,) = ran.json["files"][0]["problems"]
    assert (ran.code, problem["code"]) == (1, "MC027")
    assert "more than 200 times its size" in problem["message"]
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(("depth", "code"), [(500, "MC037"), (45, "MC004")])
def test_deep_paths(call: Call, tmp_path: Path, depth: int, code: str) -> None:
    """Names of some kilobytes do not take gigabytes of memory, and the other submissions are ranked."""
    folders = "/".join(["é" * max(360 // depth, 1)] * depth)
    path = pack(tmp_path / "deep.tar.gz", {f"{n}/{folders}/a.csv": b"" for n in range(1000)})
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path / "crane", "lesions")
    tracemalloc.start()
    list_archive(str(path), (".csv",))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000
    board = call("leaderboard", truth, path, sent, "--format", "json")
    ranked, refused = board.json["submissions"]
    assert (board.code, ranked["rank"], refused["problem"]["code"]) == (0, 1, code)


@pytest.mark.parametrize("name", ["x.zip", "x.stored.zip", "x.tar", "x.tar.gz"])
def test_the_size_limit_applies_to_all_files_together(call: Call, tmp_path: Path, name: str) -> None:
    """Files that are not read count only where they have to be decompressed."""
    rows = b"image_id,label\n" + b"".join(b"I-%d,MEL\n" % n for n in range(1000))
    path = pack(tmp_path / name, {"a.csv": rows, "b.csv": rows})
    refused = call("validate", path, "--max-unpacked", "15K", "--format", "json")
    (problem,) = refused.json["files"][0]["problems"]
    assert (refused.code, problem["code"]) == (1, "MC027")
    assert "15 KiB" in problem["message"]
    assert call("validate", path, "--max-unpacked", "60K").code == 0
    other = pack(tmp_path / f"other.{name}", {"a.csv": rows, "model.bin": b"x" * 40_000})
    assert call("validate", other, "--max-unpacked", "15K").code == (1 if name.endswith("gz") else 0)


def test_a_gzipped_file_in_an_archive_has_the_usual_limit(call: Call, tmp_path: Path) -> None:
    path = pack(tmp_path / "x.zip", {"truth.csv.gz": gzip.compress(ROW + b"I-2,MEL\n" * 10_000)})
    ran = call("validate", path, "--max-unpacked", "10K", "--format", "json")
    assert "MC027" in [problem["code"] for problem in ran.json["files"][0]["problems"]]


def test_very_many_empty_blocks(tmp_path: Path) -> None:
    """Deflated data that never produces anything takes linear time."""
    path = tmp_path / "x.zip"
    part = Part(b"truth.csv", ROW)
    part.packed = b"\0\0\0\xff\xff" * 500_000
    part.stated["packed_size"] = part.local["packed_size"] = len(part.packed)
    path.write_bytes(zip_of([part]))
    started = time.monotonic()
    (file,) = validate_files(path).files
    assert file.problems[0].code == "MC036"
    assert time.monotonic() - started < 5


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.zip", "x.stored.zip", "x.tar", "x.tar.gz"])
def test_seeking(tmp_path: Path, name: str) -> None:
    """Any part of a file can be read, in any order."""
    chooser = random.Random(3)
    data = chooser.randbytes(30_000) + bytes(90_000) + chooser.randbytes(30_000)
    path = pack(tmp_path / name, {"before.csv": ROW, "a.csv": data, "after.csv": ROW})
    source = open_source(f"{path}!/a.csv")
    source.prepare()
    with source.open() as stream:
        assert stream.seek(0, os.SEEK_END) == len(data)
        for _ in range(100):
            at, size = chooser.randrange(len(data)), chooser.randrange(1, 40_000)
            assert stream.seek(at) == at
            assert stream.read(size) == data[at : at + size]


def test_an_archive_that_changes(tmp_path: Path) -> None:
    """Between two reads: no score from bytes of two states."""
    path = pack(tmp_path / "x.zip", {"truth.csv": ROW})
    source = open_source(f"{path}!/truth.csv")
    source.watched = True
    source.prepare()
    pack(path, {"truth.csv": ROW.replace(b"MEL", b"NEV"), "b.csv": b""})
    with pytest.raises(FileChanged):
        source.read(0, 100)


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes as on Unix")
def test_a_pipe_called_like_an_archive(call: Call, tmp_path: Path) -> None:
    """Is not opened, so that it cannot block."""
    os.mkfifo(tmp_path / "x.zip")
    ran = call("validate", tmp_path / "x.zip")
    assert (ran.code, "MC003" in ran.out) == (2, True)
    assert threading.active_count() < 10


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed as on Linux")
@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz"])
def test_nothing_is_extracted(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A large .tar.gz is decompressed to a temporary file without a name, of which nothing remains after a kill."""
    made: list[str] = []
    temporary = tempfile.TemporaryFile

    def noting(*arguments: object, **options: object) -> object:
        made.append("file")
        assert not list((tmp_path / "temporary").iterdir())
        return temporary(dir=tmp_path / "temporary")

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "TemporaryFile", noting)
    rows = b"image_id,label\n" + b"".join(b"I-%d,MEL\n" % n for n in range(100_000))
    monkeypatch.setattr(streams, "_IN_MEMORY", 1 << 20)
    assert call("validate", pack(tmp_path / name, {"truth.csv": rows})).code == 0
    assert made == (["file"] if name == "x.tar.gz" else [])
    assert sorted(each.name for each in tmp_path.rglob("*")) == sorted(["temporary", name])


@pytest.mark.skipif(sys.platform == "win32", reason="forks, as on Unix")
def test_a_tar_gz_in_several_processes(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process reads the temporary file at its own position."""
    monkeypatch.setattr(streams, "_IN_MEMORY", 1000)
    rows = [b"image_id,label\n" + b"".join(b"I-%d-%d,MEL\n" % (k, n) for n in range(2000)) for k in range(8)]
    path = pack(tmp_path / "x.tar.gz", {f"{k}.csv": data for k, data in enumerate(rows)})
    one = call("validate", path, "--format", "json", "--jobs", "1")
    assert (one.code, len(one.json["files"])) == (0, 8)
    assert call("validate", path, "--format", "json", "--jobs", "2") == one


def test_a_bad_file_among_good_ones(call: Call, tmp_path: Path) -> None:
    """A damaged file next to the submission is reported by validate; a link may be part of it, so there is no score."""
    truth = truth_file(tmp_path, "lesions")
    sent = sent_file(tmp_path / "s", "lesions").read_bytes()
    path = tmp_path / "x.zip"
    path.write_bytes(zip_of([Part(b"sent.json", sent), Part(b"more.json", b"", mode=0o120777)]))
    ran = call("validate", path, "--format", "json").json
    assert [file["ok"] for file in ran["files"]] == [False, True]
    score = call("score", truth, path, "--format", "json")
    assert score.code == 1
    assert "more.json cannot be read (this is a link; links in archives are not followed)" in score.json["reasons"]


# --- random damage -------------------------------------------------------------------------------


def _damaged(data: bytes, chooser: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chooser.choice([1, 1, 2, 5])):
        at = chooser.choice([chooser.randrange(len(changed)), max(0, len(changed) - 1 - chooser.randrange(100))])
        action: Callable[[], None] = chooser.choice([
            lambda at=at: changed.__setitem__(at, chooser.randrange(256)),
            lambda at=at: changed.__setitem__(slice(at, at + 4), b"\xff\xff\xff\xff"),
            lambda at=at: changed.__delitem__(slice(at, at + chooser.choice([1, 16, 512]))),
            lambda at=at: changed.__setitem__(slice(at, at), changed[at : at + 64]),
            lambda at=at: changed.__delitem__(slice(max(at, 1), None)),
        ])  # fmt: skip
        action()
        if not changed:
            return b""
    return bytes(changed)


def _with_checksums(data: bytes) -> bytes:
    """A damaged tar whose headers have valid checksums again."""
    blocks = [data[at : at + 512] for at in range(0, len(data), 512)]
    return b"".join(changed_header(each, 0, each[:1]) if each[257:262] == b"ustar" else each for each in blocks)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz"])
@pytest.mark.parametrize("seed", range(3))
def test_random_damage(tmp_path: Path, name: str, seed: int) -> None:
    """Never an exception or an internal error: problems, or files that are read."""
    chooser = random.Random(f"{name} {seed}")
    files = {"t/truth.csv": ROW * 20, "t/b.jsonl": b'{"image_id": "I-1", "label": "MEL"}\n', "n" * 120 + ".csv": ROW}
    path = pack(tmp_path / name, files)
    original = path.read_bytes()
    plain = gzip.decompress(original) if name.endswith("gz") else original
    codes: set[str] = set()
    for _ in range(150):
        data = _damaged(plain, chooser)
        if ".tar" in name and chooser.random() < 0.8:
            data = _with_checksums(data)
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        try:
            codes |= {problem.code for file in validate_files(path).files for problem in file.problems}
        except CallError as error:
            codes.add(error.message.rpartition(": ")[2])
    assert "MC036" in codes
    assert "MC029" not in codes
    assert {code for code in codes if not code.startswith("MC")} <= {"no data files in this archive"}


def test_the_numbers_in_the_catalog() -> None:
    """The limits that texts for users mention."""
    assert limits.MAX_ARCHIVED == 10_000
    assert limits.MAX_RATIO == 200
    assert re.search(r"more than 10,000", medcontract.explain("MC037").to_json())
    assert re.search(r"200 times", medcontract.explain("MC027").to_json())
