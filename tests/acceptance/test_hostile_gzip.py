"""Archives of very many members, and submissions of very many parts."""

from __future__ import annotations

import gzip
import io
import json
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archive_files import pack
from tests.commands import Call
from tests.support import property_settings

import medcontract
from medcontract.api import validate_files
from medcontract.contracts.contract import Contract
from medcontract.reading.source import Source, Unreadable
from medcontract.reading.streams import Gunzip

_RECORD = b'{"image_id": "I-1", "label": "MEL"}\n'
_EMPTY = gzip.compress(b"")


def _unpacked(packed: bytes, size: int = -1) -> bytes | str:
    stream = io.BufferedReader(Gunzip(io.BytesIO(packed), 1 << 30, 1 << 30))
    try:
        if size < 0:
            return stream.read()
        return b"".join(iter(lambda: stream.read(size), b""))
    except Unreadable as unreadable:
        return unreadable.finding.code


def _by_the_library(packed: bytes) -> bytes | str:
    try:
        return gzip.decompress(packed) if packed else b""
    except EOFError:
        return "MC026"
    except (gzip.BadGzipFile, zlib.error):
        return "MC025"


_MEMBERS = st.lists(st.binary(max_size=300).map(gzip.compress), min_size=1, max_size=4).map(b"".join)


@property_settings(100)
@given(_MEMBERS, st.integers(0, 3), st.sampled_from([-1, 1, 7, 100_000]))
def test_all_members_are_read(packed: bytes, zeros: int, size: int) -> None:
    """As the library of Python reads them, and zeros behind them."""
    padded = packed + b"\0" * zeros
    assert _unpacked(padded, size) == _by_the_library(padded)


@property_settings(300)
@given(
    _MEMBERS, st.integers(2, 400), st.sampled_from([b"", b"\0", b"\x1f", b"\x1f\x8b", b"x", b"\xff\xff"]), st.booleans()
)
def test_damaged_archives(packed: bytes, at: int, other: bytes, cut: bool) -> None:
    """What is cut off or changed is refused by both, or by neither; which of the two it is may be a matter of taste."""
    damaged = packed[:at] + other + (b"" if cut else packed[at + len(other) :])
    ours, theirs = _unpacked(damaged), _by_the_library(damaged)
    assert ours == theirs or (isinstance(ours, str) and isinstance(theirs, str))


def test_a_large_member_is_read_in_pieces() -> None:
    data = b"a" * 5_000_000 + bytes(range(256)) * 1000
    assert _unpacked(gzip.compress(data), 1000) == data


def test_seeking() -> None:
    data = bytes(range(256)) * 50
    packed = gzip.compress(data[:5000]) + _EMPTY + gzip.compress(data[5000:])
    stream = Gunzip(io.BytesIO(packed), 1 << 30, 1 << 30)
    for place in (6000, 100, 5000, 12_799):
        assert stream.seek(place) == place
        assert stream.read(1) == data[place : place + 1]
    stream.seek(1 << 20)
    assert stream.read(1) == b""


def test_very_many_empty_members() -> None:
    """They take time in proportion to their size, and change nothing."""
    some = (_EMPTY * 1000 + gzip.compress(_RECORD)) * 3 + _EMPTY * 10_000
    started = time.monotonic()
    assert medcontract.validate(some, "lesions/truth", name="x.jsonl.gz").records == 3
    assert time.monotonic() - started < 5


def _rows(*, count: int) -> bytes:
    return b"".join(b'{"image_id": "I-%06d", "label": "NV"}\n' % number for number in range(count))


def _blanks(size: int) -> bytes:
    return b'{"labels": []' + b" " * size + b"}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "data", "message"), [
    ("x.json.gz", _blanks(15 << 20), None),
    ("x.json.gz", _blanks(32 << 20), "more than 200 times its size"),
    ("x.jsonl.gz", _rows(count=300_000), None),
    ("x.jsonl.gz", _RECORD + b"\n" * 1_100_000, "too many short lines"),
    ("x.json.gz", b'{"labels": [], "a": [' + b"{}," * 1_100_000 + b"{}]}", "too many short lines"),
    ("x.csv.gz", b"image_id,label\r" + b"\r" * 1_100_000, "too many short lines"),
])  # fmt: skip
@pytest.mark.parametrize("folder", ["", "x.zip", "x.tar.gz"])
def test_work_in_proportion_to_the_size(
    call: Call, tmp_path: Path, folder: str, name: str, data: bytes, message: str | None
) -> None:
    """Records that differ are read; 200 times the size, or very many short lines, are refused: they take hours."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(data))
    if folder:
        path = pack(tmp_path / folder, {name.removesuffix(".gz"): data})
    ran = call("validate", path, "--contract", "lesions/truth", "--format", "json")
    (file,) = ran.json["files"]
    found = [problem["message"] for problem in file["problems"] if problem["code"] == "MC027"]
    assert ([message in each for each in found], file["ok"]) == (([True], False) if message else ([], True))


@pytest.mark.parametrize("ending", [".zip", ".tar"])
def test_many_files_that_decompress_to_much(call: Call, tmp_path: Path, ending: str) -> None:
    """What is harmless once is not so a thousand times: the files of an archive share what it may decompress to."""
    one = gzip.compress(_blanks(15 << 20))
    for count, code in ((1, []), (8, ["MC027"])):
        packed = pack(tmp_path / f"packed{count}{ending}", {f"{n}.json.gz": one for n in range(count)})
        ran = call("validate", packed, "--contract", "lesions/truth", "--format", "json")
        assert [[problem["code"] for problem in file["problems"]] for file in ran.json["files"]] == [code] * count
    plain = pack(tmp_path / "plain.zip", {f"{n}.json": _blanks(15 << 20) for n in range(2)})
    (file,) = call("validate", plain, "--format", "json").json["files"]
    assert "the archive decompresses to more than 200 times its size" in file["problems"][0]["message"]


def test_a_gzipped_file_beside_a_repetitive_one(call: Call, tmp_path: Path) -> None:
    """It may decompress as if it were alone: the other file does not use up its share."""
    rows = b"".join(b'{"image_id": "%d", "label": "NV"}\n' % (n * 7919**3 % 10**12) for n in range(50_000))
    files = {"a.jsonl.gz": gzip.compress(rows), "b.json": _blanks(14 << 20)}
    packed = pack(tmp_path / "packed.zip", files)
    found = call("validate", packed, "--contract", "lesions/truth", "--format", "json").json["files"]
    assert [(file["ok"], file["problems"]) for file in found] == [(True, [])] * 2


def test_excerpts_of_many_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read in one pass: an archive is not decompressed again for each of them."""
    wrong = b"".join(b'{"image_id": "W-%d", "label": "NV", "k%d": 1}\n' % (n, n) for n in range(300))
    (tmp_path / "x.jsonl").write_bytes(_rows(count=3000) + wrong)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress((tmp_path / "x.jsonl").read_bytes()))
    opened = 0
    original = Source.open

    def counting(source: Source) -> Any:
        nonlocal opened
        opened += 1
        return original(source)

    monkeypatch.setattr(Source, "open", counting)
    plain, packed = validate_files(sorted(tmp_path.iterdir()), excerpts=True, max_problems=1000).files
    assert opened < 30
    assert [p._excerpt for p in packed.problems] == [p._excerpt for p in plain.problems]
    assert [p._excerpt for p in packed.problems] == wrong.decode().splitlines()


def test_many_bad_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes to say what is wrong is made once, not for each part."""
    made = 0
    original = Contract.record_adapter

    def counting(contract: Contract[Any]) -> Any:
        nonlocal made
        made += 1
        return original(contract)

    monkeypatch.setattr(Contract, "record_adapter", counting)
    for number in range(50):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"image_id": f"I-{number}", "label": 1}) + "\n")
    report = validate_files(sorted(tmp_path.iterdir()))
    assert sum(file.errors for file in report.files) == 50
    assert made <= 1
