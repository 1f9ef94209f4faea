"""Archives of very many members, and submissions of very many parts."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

import medcontract
from medcontract.api import validate_files
from medcontract.contracts.contract import Contract
from medcontract.reading import gunzip
from medcontract.reading.gunzip import Gunzip, Unreadable

_RECORD = b'{"image_id": "I-1", "label": "MEL"}\n'
_EMPTY = gzip.compress(b"")


def _unpacked(packed: bytes, size: int = -1) -> bytes | str:
    stream = io.BufferedReader(Gunzip(io.BytesIO(packed), 1 << 30))
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
    stream = Gunzip(io.BytesIO(gzip.compress(data[:5000]) + _EMPTY + gzip.compress(data[5000:])), 1 << 30)
    for place in (6000, 100, 5000, 12_799):
        assert stream.seek(place) == place
        assert stream.read(1) == data[place : place + 1]
    assert stream.seek(1 << 20) == len(data)


def test_very_many_empty_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some do no harm; a million of them would take long, for nothing."""
    monkeypatch.setattr(gunzip, "MOST_EMPTY", 50)
    some = (_EMPTY * 50 + gzip.compress(_RECORD)) * 3
    assert medcontract.validate(some, "lesions/truth", name="x.jsonl.gz").records == 3
    (problem,) = medcontract.validate(_EMPTY * 51 + gzip.compress(_RECORD), "lesions/truth", name="x.jsonl.gz").problems
    assert problem.code == "MC025"
    assert problem.message == "the gzip archive has more than 50 empty members in a row"
    report = medcontract.validate(gzip.compress(_RECORD) + _EMPTY * 51, "lesions/truth", name="x.jsonl.gz")
    assert [problem.code for problem in report.problems] == ["MC025"]


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
