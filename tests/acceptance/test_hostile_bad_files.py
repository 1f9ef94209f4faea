"""Files of nothing but mistakes: what is found is the same, and it costs little."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support import Vector, assert_sound, property_settings, vectors

import medcontract
from medcontract.api import validate_files
from medcontract.contracts import pydantic_errors
from medcontract.reading import json_scanner
from medcontract.results.validation import FileReport
from medcontract.validation.slow_path import SlowPath


def _thorough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is looked at on its own, as if it were the first."""
    monkeypatch.setattr(SlowPath, "key", lambda self, parsed, faults: None)


# --- one record with very many faults ------------------------------------------------------------

_NANS = '{"report_id": [' + ", ".join(["NaN"] * 50) + '], "urgency": [[NaN], [NaN]], "a": 1, "a": 2, "a": 3}'


@pytest.mark.parametrize(
    ("name", "contract", "text"),
    [
        ("x.jsonl", "reports/truth", _NANS + "\n" + _NANS + "\n"),
        ("x.json", "reports/truth", '{"event": "x", "reports": [' + _NANS + "," + _NANS + "]}"),
        ("x.json", "reports/truth", '{"event": [' + "NaN, " * 50 + 'NaN], "reports": []}'),
        ("x.json", "lesions/model", '{"name": [' + "NaN, " * 50 + "NaN]}"),
    ],
)
def test_faults_beyond_a_number_are_counted(
    name: str, contract: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The totals stay the same; the first faults of a record are listed, the others are not."""
    before = medcontract.validate(text.encode(), contract, name=name)
    monkeypatch.setattr(json_scanner, "MOST_FAULTS", 20)
    after = medcontract.validate(text.encode(), contract, name=name)
    assert (after.errors, after.warnings, after.records) == (before.errors, before.warnings, before.records)
    assert set(after.problems) - set(before.problems) <= _with_other_counts(before, after)
    assert after.omitted > before.omitted == 0
    assert_sound(after)


def _with_other_counts(before: FileReport, after: FileReport) -> set[Any]:
    """The last problem of a sort says how many more there are."""
    listed = {replace(problem, _more=0, _more_are="record") for problem in before.problems}
    return {p for p in after.problems if replace(p, _more=0, _more_are="record") in listed}


def test_faults_of_any_schema_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.schema.json").write_text('{"type": "object"}')
    (tmp_path / "x.jsonl").write_text(_NANS + "\n")

    def judged() -> FileReport:
        return validate_files([tmp_path / "x.jsonl"], schema=tmp_path / "x.schema.json").files[0]

    before = judged()
    monkeypatch.setattr(json_scanner, "MOST_FAULTS", 20)
    after = judged()
    assert after.errors == before.errors
    assert 20 <= len(after.problems) < 35 < len(before.problems)


# --- files of bad records ------------------------------------------------------------------------

_COLUMNS = ("report_id", "specialty", "urgency", "follow_up")


def _rows(count: int) -> list[dict[str, Any]]:
    return [dict(zip(_COLUMNS, (f"r{number}", "Othr", " ", "maybe"), strict=True)) for number in range(count)]


def _in(container: str, rows: list[dict[str, Any]]) -> bytes:
    if container == "json":
        return json.dumps({"event": "x", "reports": rows}).encode()
    if container == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if container == "parquet":
        return pd.DataFrame(rows).to_parquet()
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


class _Calls:
    """Counts the calls of a function."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.count = 0
        self._original = getattr(module, name)
        monkeypatch.setattr(module, name, self)

    def __call__(self, *given: Any, **options: Any) -> Any:
        self.count += 1
        return self._original(*given, **options)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> _Calls:
    """Thorough looks at records and headers, which take far longer than all else."""
    return _Calls(monkeypatch, pydantic_errors, "check_structure")


@pytest.mark.parametrize("container", ["json", "jsonl", "csv", "parquet"])
def test_the_same_mistake_is_looked_at_once(container: str, looks: _Calls) -> None:
    """Not once for each record that has it, whatever their ids are."""
    report = medcontract.validate(_in(container, _rows(500)), "reports/truth", name=f"x.{container}")
    assert report.errors == 1500
    assert looks.count <= 2  # the header, and one record


def test_a_good_record_is_not_counted_with_bad_ones_like_it() -> None:
    """It differs from them in an unknown key alone, and in nothing else that its schema asks for."""
    case = {"image_id": "x", "image_path": "a.jpg", "age": 60.0, "gender": "m", "location": 3}
    bad = [{**case, f"k{number}": 1} for number in range(20)]
    good = [{**case, "image_id": f"i{number}", "age": 61.0} for number in range(5)]
    data = "".join(json.dumps(record) + "\n" for record in bad + good).encode()
    assert medcontract.validate(data, "lesions/cases", name="x.jsonl", max_problems=3).errors == 20


def test_empty_cells_are_told_from_wrong_ones() -> None:
    """Also in rows with a fault, and where they are only counted."""
    head = "run_id,kind,parse_success,valid_items,restarted,code_version,latency_sec\n"
    rows = [f"r{n},evaluation,{'x' if n % 2 else ''},{'' if n % 3 else 'y'},true,v,NaN\n" for n in range(60)]
    _assert_as_before((head + "".join(rows)).encode(), "extraction/runs", "x.csv")


_COLLECTIONS = [v for v in vectors() if v.verdict == "invalid"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(4))
def test_vectors_as_before(part: int) -> None:
    """With and without what is known from other records, a file gets the same report."""
    some = _COLLECTIONS[part::4]
    known = [_twice(vector) for vector in some]
    with pytest.MonkeyPatch.context() as patch:
        _thorough(patch)
        for vector, report in zip(some, known, strict=True):
            assert _twice(vector) == report, vector.name


def _twice(vector: Vector) -> FileReport:
    """Lines and rows are repeated, so that they are met again."""
    data = vector.path.read_bytes()
    name = vector.path.name
    if name.endswith((".jsonl", ".csv")) and data.endswith(b"\n"):
        head, _, rows = data.partition(b"\n") if name.endswith(".csv") else (b"", b"", data)
        data = (head + b"\n" if name.endswith(".csv") else b"") + rows * 3
    return medcontract.validate(data, vector.folder, name=name, max_problems=2)


_CELLS = st.sampled_from(
    [
        "",
        " ",
        "a",
        "A b",
        "NV",
        "Other",
        "true",
        "TRUE",
        "1",
        "01",
        "1e999",
        "-",
        "0.5",
        "NaN",
        "é",
        '"q"',
        "a,b",
        "inf",
    ]
)


@property_settings(60)
@given(st.lists(st.tuples(_CELLS, _CELLS, _CELLS, _CELLS), min_size=1, max_size=12), st.sampled_from(["csv", "jsonl"]))
def test_rows_as_before(rows: list[tuple[str, ...]], container: str) -> None:
    """Whatever the cells are."""
    data = _in(container, [dict(zip(_COLUMNS, row, strict=True)) for row in [*rows, *rows, *rows]])
    _assert_as_before(data, "reports/truth", f"x.{container}")


def _assert_as_before(data: bytes, contract: str, name: str) -> None:
    """Also where most problems are counted only."""
    for keep in (10_000, 3, 0):
        known = medcontract.validate(data, contract, name=name, max_problems=keep)
        with pytest.MonkeyPatch.context() as patch:
            _thorough(patch)
            assert medcontract.validate(data, contract, name=name, max_problems=keep) == known


_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 2), st.integers(), st.floats(), st.sampled_from(["a", "b", ""])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)),
    max_leaves=4,
)
_KEYS = st.sampled_from(
    ["report_id", "run_id", "specialty", "urgency", "follow_up", "processing_time_sec", "error", "x"]
)


@property_settings(60)
@given(st.lists(st.dictionaries(_KEYS, _VALUES, max_size=7), min_size=1, max_size=6))
def test_records_as_before(given_records: list[dict[str, Any]]) -> None:
    """Whatever the values are: 1, 1.0 and true are not the same."""
    again = [{**record, "report_id": f"r{number}"} for number, record in enumerate(given_records * 2)]
    more = [{**record, f"k{number}": number} for number, record in enumerate(given_records)]
    data = "".join(json.dumps(record) + "\n" for record in [*given_records * 3, *again, *more, *again]).encode()
    _assert_as_before(data, "reports/predictions", "x.jsonl")
