"""A small Parquet file may decompress to gigabytes: both limits hold, and memory stays small."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support import ROOT

import medcontract
from medcontract import isolated
from medcontract.api import validate_files
from medcontract.reading import parquet
from medcontract.reading.parquet import page_sizes
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport

_MIB = 1 << 20


def _table(ids: list[Any]) -> pa.Table:
    return pa.table({"image_id": ids, "label": ["NV"] * len(ids)})


def _written(path: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, path, compression="zstd", **options)
    return path


def _judged(path: Path, record: int | None = None, unpacked: int | None = None) -> FileReport:
    (report,) = validate_files([path], "lesions/truth", max_record=record, max_unpacked=unpacked).files
    return report


def _codes(report: FileReport) -> list[str]:
    return [problem.code for problem in report.problems]


@contextmanager
def _counted() -> Iterator[pa.MemoryPool]:
    """Counts what pyarrow takes meanwhile."""
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counting)
    try:
        yield counting
    finally:
        pa.set_memory_pool(before)


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    """A text of a quarter of a megabyte in 400 rows: some kilobytes, since it stands in a dictionary once."""
    path = _written(tmp_path / "x.parquet", _table(["a" * (_MIB // 4)] * 400))
    assert path.stat().st_size < 10_000
    return path


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are parsed in this process."""
    monkeypatch.setattr(parquet, "run_isolated", lambda parse, *arguments: parse(*arguments))


@pytest.mark.usefixtures("_here")
def test_a_repeated_text_takes_little_memory(repeated: Path) -> None:
    """It is read as a dictionary, and written out a few rows at a time."""
    source = Source(repeated)
    source.prepare()
    with _counted() as pool:
        assert sum(1 for _ in parquet.rows(source)) == 400
    assert _MIB < pool.max_memory() < 30 * _MIB


@pytest.mark.slow
def test_a_repeated_text_counts_as_often_as_it_is_there(repeated: Path) -> None:
    assert _codes(_judged(repeated, unpacked=10 * _MIB)) == ["MC027"]
    assert _judged(repeated, unpacked=101 * _MIB).records == 400


def test_the_limit_of_a_record_holds(tmp_path: Path) -> None:
    """A row that is too large is one bad record, in its place, and is never written out."""
    path = _written(tmp_path / "x.parquet", _table(["a", "b" * 5000, "c", "d" * 100]))
    report = _judged(path, record=1000)
    assert [(p.code, p.record) for p in report.problems] == [("MC020", 1)]
    assert report.records == 4


def test_the_limit_of_a_record_counts_what_is_written(tmp_path: Path) -> None:
    """Also where escapes make a record larger than its cells."""
    path = _written(tmp_path / "x.parquet", _table(["\x01" * 300]))
    assert _codes(_judged(path, record=1000)) == ["MC020"]
    assert _codes(_judged(path, record=3000)) == []


@pytest.mark.usefixtures("_here")
def test_pages_are_sized_before_they_are_unpacked(tmp_path: Path) -> None:
    """A file that is refused for its size is not unpacked."""
    path = _written(tmp_path / "x.parquet", _table(["a" * _MIB] * 40), use_dictionary=False)
    with _counted() as pool:
        assert _codes(_judged(path, unpacked=20 * _MIB)) == ["MC027"]
    assert pool.max_memory() < _MIB


@pytest.mark.usefixtures("_here")
def test_one_huge_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be unpacked as a whole, so it is refused, whatever the limit of the file is."""
    path = _written(tmp_path / "x.parquet", _table(["a" * _MIB] * 10), use_dictionary=False)
    assert _codes(_judged(path))[:1] == ["MC201"]
    monkeypatch.setattr(parquet, "MAX_DOCUMENT", 5 * _MIB)
    (problem,) = _judged(path).problems
    assert (problem.code, problem.message) == ("MC027", "a page of the file decompresses to more than 5 MiB")


def test_very_many_rows_are_refused_at_once(tmp_path: Path) -> None:
    """A million rows in some kilobytes: the footer says so."""
    path = _written(tmp_path / "x.parquet", _table(["a"] * 1_000_000))
    assert path.stat().st_size < 20_000
    assert _codes(_judged(path, unpacked=_MIB)) == ["MC027"]


def test_a_footer_that_lies(tmp_path: Path) -> None:
    """Rows that the footer does not announce count where they are read."""
    path = _written(tmp_path / "x.parquet", _table([f"{number:09}" for number in range(1000)]))
    assert _codes(_judged(path, unpacked=30_000)) == ["MC027"]


def test_damaged_page_headers(tmp_path: Path) -> None:
    """Whatever stands where a header should, there is a problem, and no crash."""
    data = _written(tmp_path / "x.parquet", _table(["a", "b"])).read_bytes()
    for at in range(4, 60):
        for byte in (0x00, 0x0B, 0x15, 0x19, 0xFF):
            medcontract.validate(data[:at] + bytes([byte]) + data[at + 1 :], "lesions/truth", name="x.parquet")


@pytest.mark.parametrize(("version", "dictionary", "rest"), list(product(("1.0", "2.0"), (True, False), (True, False))))
def test_the_sizes_of_pages(version: str, dictionary: bool, rest: bool) -> None:
    """All pages are found: with their headers, they are what the footer says of the columns."""
    table = pa.table({"a": [f"{number % 7}" for number in range(5000)], "b": range(5000), "c": [[1, 2]] * 5000})
    stream = io.BytesIO()
    pq.write_table(
        table, stream, data_page_version=version, use_dictionary=dictionary, data_page_size=1000, row_group_size=2000,
        write_page_checksum=rest, write_page_index=rest, compression="gzip",
    )  # fmt: skip
    metadata = pq.ParquetFile(stream).metadata
    sizes = list(page_sizes(stream, metadata, len(stream.getvalue())))
    chunks = [metadata.row_group(g).column(c) for g in range(3) for c in range(3)]
    headers = sum(chunk.total_uncompressed_size for chunk in chunks) - sum(sizes)
    assert len(sizes) * 10 < headers < len(sizes) * 120


def test_all_types_are_read_as_before() -> None:
    """Reading texts as dictionaries changes no value."""
    table = pa.table({
        "text": ["a", None, "é" * 50], "large": pa.array(["a", None, "b"], pa.large_string()), "number": [1, 2, None],
        "bytes": [b"a", None, b""], "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)), "list": [["a"], [], None],
        "category": pa.array(["x", "y", None]).dictionary_encode(), "object": [{"a": "b"}, None, {"a": None}],
    })  # fmt: skip
    stream = io.BytesIO()
    pq.write_table(table, stream)
    source = Source(stream.getvalue(), "x.parquet")
    source.prepare()
    assert list(parquet.rows(source)) == [tuple(row.values()) for row in pq.read_table(stream).to_pylist()]


@pytest.mark.slow
def test_lists_of_very_many_equal_values_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """A list of millions of equal values is a few hundred bytes in a file, and gigabytes in memory."""
    many = 30 * _MIB
    values = pa.nulls(many, pa.int8()).fill_null(1)
    ids = pa.ListArray.from_arrays(pa.array([0, many], pa.int32()), values)
    path = _written(tmp_path / "x.parquet", pa.table({"image_id": ids, "label": ["NV"]}))
    assert path.stat().st_size < 10_000
    assert _codes(_judged(path)) == ["MC027"]


def test_a_table_without_rows() -> None:
    """It has a row group whose columns have no pages of data, and is not damaged."""
    frame = pd.DataFrame({"image_id": pd.Series([], dtype=str), "label": pd.Series([], dtype=str)})
    report = medcontract.validate(frame.to_parquet(), "lesions/truth", name="x.parquet")
    assert (report.ok, report.records, [problem.code for problem in report.problems]) == (True, 0, ["MC511"])


# --- files that crash the parser --------------------------------------------------------------------------------------


def _crash_by_a_word(path: Path, table: pa.Table) -> None:
    """`tests.deadly` crashes on it."""
    ids = pa.array(["CRASH", *table["image_id"].to_pylist()[1:]])
    pq.write_table(table.set_column(0, "image_id", ids), path, compression="none", use_dictionary=False)


def _crash_by_a_level(path: Path, table: pa.Table) -> None:
    """Columns that must have values, with statistics about missing ones: pyarrow 25 crashes on it."""
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes().replace(b"\x25\x02\x18", b"\x25\x00\x18"))


_COMMANDS = {
    "validate": (1, "{bad} {good}"),
    "score": (1, "truth.csv {bad}"),
    "preflight": (1, "truth.csv {bad}"),
    "leaderboard": (0, "truth.csv {good} {bad} third.parquet --jobs 1"),
    "leaderboard in workers": (0, "truth.csv {good} {bad} third.parquet --jobs 2"),
    "leaderboard with a cache": (0, "truth.csv {good} {bad} third.parquet --jobs 1 --cache cache"),
    "template": (1, "lesions/predictions --cases lesions/truth={bad}"),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("write", [_crash_by_a_word, _crash_by_a_level])
@pytest.mark.parametrize("command", _COMMANDS)
def test_a_file_that_crashes_the_parser(command: str, write: Callable[..., None], tmp_path: Path) -> None:
    """It is a problem of that file, in every command, and of no other file."""
    classes = ["AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON"]
    ids = [f"I-{number}" for number in range(20)]
    (tmp_path / "truth.csv").write_text("image_id,label\n" + "".join(f"{each},NV\n" for each in ids))
    sent = pa.table({"image_id": ids, **{name: [float(name == "NV")] * 20 for name in classes}})
    bad = _table(ids) if command == "template" else sent
    write(tmp_path / "bad.parquet", bad)
    for name in ("good.parquet", "third.parquet"):
        _written(tmp_path / name, sent)
    code, arguments = _COMMANDS[command]
    done = subprocess.run(
        [sys.executable, "-m", "tests.deadly", command.partition(" ")[0],
         *arguments.format(bad="bad.parquet", good="good.parquet").split()],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done
    assert "MC034" in done.stdout + done.stderr
    if write is _crash_by_a_word:
        assert "the Parquet reader crashed on this file" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if "leaderboard" in command:
        assert "3 submissions, 2 valid" in done.stdout


def test_a_crash_is_not_the_fault_of_the_next_file() -> None:
    """A parser that dies while it reads the second file, because of the first one, is started again."""
    data = io.BytesIO()
    pq.write_table(_table(["a", "b"]), data)
    assert medcontract.validate(data.getvalue(), "lesions/truth", name="x.parquet").ok
    ((process,),) = [each for each in isolated._idle.values() if each]
    os.kill(process._popen.pid, 9)
    assert medcontract.validate(data.getvalue(), "lesions/truth", name="x.parquet").ok


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("count", "code"), [(98, "MC102"), (9_999, "MC020"), (40_000, "MC020")])
def test_the_columns_of_a_table_are_limited(count: int, code: str, tmp_path: Path) -> None:
    """To 10,000 in each container: explaining each of them takes long."""
    wide = {"image_id": ["a"], "label": ["NV"], **{f"x{number}": [0] for number in range(count)}}
    path = _written(tmp_path / "x.parquet", pa.table(wide))
    (tmp_path / "x.csv").write_text(",".join(wide) + "\n" + "a,NV" + ",0" * count + "\n")
    for each in (path, tmp_path / "x.csv", pd.DataFrame(wide)):
        for contract in ("lesions/truth", None):
            assert medcontract.validate(each, contract).problems[0].code == code
