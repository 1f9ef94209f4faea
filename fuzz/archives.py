"""Archives with hostile directories: random headers, names and sizes, whose checksums are often valid."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import resource
import struct
import tarfile
import warnings
import zipfile

from tests.scoring_files import guess

from fuzz.calling import Trial, call
from fuzz.material import edited
from medcontract.reading.archive_formats import is_hidden, safe_name
from medcontract.reading.archives import list_archive

_ROWS = b"image_id,label\nI-1,MEL\n"
_SENT = json.dumps({"team_name": "crane", "predictions": [guess("I-1", "MEL")]}).encode()
_PARTS = (
    "a",
    "b.csv",
    "B.csv",
    "truth.csv",
    "..",
    ".",
    "",
    "C:",
    "é",
    "e\u0301",
    "\0",
    "\\",
    "n" * 300,
    "__MACOSX",
    ".x",
)
_NUMBERS = (0, 1, 2, 22, 46, 511, 512, 0xFFFF, 0xFFFF_FFFE, 0xFFFF_FFFF)
_SIGNATURES = re.compile(b"PK(\1\2|\3\4|\5\6|\6\6|\6\7|\7\x08)")
_MEMORY = 100_000
"""Kilobytes by which an archive may raise the peak of the process: the first one loads all modules."""


def archive(source: random.Random) -> Trial:
    """A ranking of an archive and a valid submission, which is ranked; the archive takes bounded memory."""
    ending = source.choice(("zip", "tar", "tar.gz"))
    data = _zip(source) if ending == "zip" else _tar(source)
    if ending == "tar.gz":
        data = gzip.compress(data, 1)
    if source.random() < 0.2:
        data = edited(data, source)
    path = f"hostile.{ending}"
    return Trial(lambda: _wrong_outcome(path), {"truth.csv": _ROWS, "crane.json": _SENT, path: data}, passes=2)


def _wrong_outcome(path: str) -> str | None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = call(["leaderboard", "--format", "json", "truth.csv", path, "crane.json"])
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if more > _MEMORY:
        return f"{more:,} kB of memory"
    if ran.code or "internal error" in ran.out + ran.err:
        return f"exit code {ran.code}: {ran.out[-500:]}{ran.err[-500:]}"
    (crane,) = (each for each in json.loads(ran.out)["submissions"] if each["name"] == "crane.json")
    if not crane["valid"]:
        return f"the other submission is refused: {crane['reasons']}"
    listed = list_archive(path, (".csv",))
    if listed is None:
        return None
    ours = {name.partition("!/")[2] for name in (*(entry.path for entry in listed.data), *listed.others)}
    try:
        theirs = _by_the_library(path)
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError):  # it is stricter in what does not matter here
        return None
    return None if ours == theirs else f"the library reads other files: {ours ^ theirs}"


def _by_the_library(path: str) -> set[str]:
    """The files that `zipfile` or `tarfile` find, without hidden ones."""
    if path.endswith(".zip"):
        with zipfile.ZipFile(path) as packed:
            infos = packed.infolist()
            names = [_name_of(info) for info in infos if info.filename[-1:] != "/" and info.external_attr >> 28 != 4]
    else:
        with tarfile.open(path) as tar:
            names = [info.name for info in tar if not info.isdir() and (info.size or info.name[-1:] != "/")]
    return {safe_name(name) for name in names if safe_name(name) and not is_hidden(safe_name(name))}


def _name_of(info: zipfile.ZipInfo) -> str:
    """The name as UTF-8 if it is valid: some programs do not mark it as such."""
    try:
        return info.filename if info.flag_bits & 1 << 11 else info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _name(source: random.Random) -> str:
    if source.random() < 0.1:
        return "/".join([source.choice(("d", "é", "dd"))] * source.choice((49, 51, 300)))[:1100] + "/a.csv"
    return "/".join(source.choices(_PARTS, k=source.choice((1, 1, 2, 3))))


def _content(source: random.Random) -> bytes:
    return source.choice((_ROWS, b"", _SENT, b"\n" * 2000, gzip.compress(_ROWS), b"PK\5\6" + bytes(18)))


def _count(source: random.Random) -> int:
    return source.choice((0, 1, 2, 5, 5, 300)) if source.random() > 0.02 else 4000


def _zip(source: random.Random) -> bytes:
    """A zip in which some fields of some headers have other values, and which may have data between its parts."""
    stream = io.BytesIO()
    method = source.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w", method) as packed:
        for number in range(_count(source)):
            name = _name(source) if source.random() < 0.5 else f"{number}.csv"
            info = zipfile.ZipInfo(name.replace("\0", "_"))
            info.external_attr = source.choice((0o100644, 0o120777, 0o040755, 0)) << 16
            packed.writestr(info, _content(source))
        packed.comment = source.choice((b"", b"", b"a comment", b"PK\5\6" + bytes(18)))
    data = bytearray(stream.getvalue())
    for _ in range(source.choice((0, 1, 1, 2, 4))):
        header = source.choice(list(_SIGNATURES.finditer(data)))
        at = header.start() + source.randrange(4, 46)
        form, most = source.choice((("<H", 0xFFFF), ("<L", 0xFFFF_FFFF), ("<Q", 1 << 62)))
        number = source.choice((*_NUMBERS, len(data), header.start(), source.randrange(1 << 16)))
        data[at : at + struct.calcsize(form)] = struct.pack(form, min(number, most))
    if source.random() < 0.2:
        header = source.choice(list(_SIGNATURES.finditer(data)))
        data[header.start() : header.start()] = source.choice(
            (b"x", bytes(12), bytes(data[:200]), b"PK\7\x08" + bytes(12))
        )
    return bytes(data)


def _tar(source: random.Random) -> bytes:
    """A tar of any entries, in which some fields of some headers have other values."""
    stream = io.BytesIO()
    form = source.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=stream, mode="w", format=form) as packed:
        for number in range(_count(source)):
            name = _name(source) if source.random() < 0.5 else f"{number}.csv"
            info = tarfile.TarInfo(name.replace("\0", "_"))
            info.type = source.choice((*([tarfile.REGTYPE] * 6), *(bytes([kind]) for kind in b"1234567LKxgSZ")))
            content = source.choice((_content(source), b"13 size=9999\n", b"9 path=a\n", b"99 path=a\n", b"n" * 3000))
            info.size = len(content)
            try:
                packed.addfile(info, io.BytesIO(content))
            except ValueError:  # too long for this format
                continue
    data = bytearray(stream.getvalue())
    for _ in range(source.choice((0, 1, 1, 2, 4))):
        at = 512 * source.randrange(len(data) // 512)
        field, size = source.choice(((0, 100), (124, 12), (156, 1), (257, 8), (345, 155)))
        value = source.choice(
            (b"\x80" + b"\x7f" * 11, b"\xff" * 12, b"00000000777\0", b"77777777777\0", b"../x\0", b"L", b"x", b"g")
        )
        data[at + field : at + field + min(size, len(value))] = value[:size]
        block = bytearray(data[at : at + 512])
        block[148:156] = b" " * 8
        data[at + 148 : at + 156] = b"%06o\0 " % sum(block)
    return bytes(data) + (bytes(data) if source.random() < 0.05 else b"")
