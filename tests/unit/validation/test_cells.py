"""Rows of Parquet files and DataFrames that are decoded many at a time: the same problems as one by one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.scoring_files import image, sure
from tests.support import property_settings

import medcontract
from medcontract.contracts.lesion_classes import CLASSES
from medcontract.contracts.registry import find
from medcontract.reading import cells
from medcontract.reading.cells import cell_json, cells_json
from medcontract.reading.csv_rows import Layout
from medcontract.types import Column
from medcontract.validation import frames
from medcontract.validation.records import RecordsValidator

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

_CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**400]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["\ud800", "a\nb", "\u2028", '"', "\0", "1e-05"]),
    st.just(b"bytes"),
    st.lists(st.integers(), max_size=2),
)


@property_settings(300)
@given(st.lists(_CELLS, max_size=6), st.booleans())
def test_cells_of_a_column(cells: list[Any], missing: bool) -> None:
    """All cells have the value that each has by itself, or none is written."""
    found = cells_json(cells, missing)
    assume(found is not None)
    assert found is not None
    assert len(found) == len(cells)
    for text, cell in zip(found, cells, strict=True):
        assert _value(text.decode()) == _value(cell_json(cell, missing))


def _value(text: str) -> tuple[type, Any]:
    value = json.loads(text)
    return type(value), math.copysign(1, value) if value == 0 and isinstance(value, float) else value


@pytest.mark.parametrize("cell", [math.inf, -math.inf, 2**64, "\ud800", b"x", [1], {}, pd.NaT, pd.Timestamp(0)])
def test_unusual_cells(cell: Any) -> None:
    """Rows with them are written one by one."""
    assert cells_json(["a", cell], missing=True) is None


def test_nan() -> None:
    """It is a missing value in pandas, but an error in Parquet."""
    assert cells_json([0.5, math.nan], missing=True) == [b"0.5", b"null"]
    assert cells_json([0.5, math.nan], missing=False) is None


def test_lines_of_a_layout() -> None:
    """Names are escaped, and columns of a list are one field; with other columns, rows are written one by one."""
    columns = [
        Column("50 %", "text", False, ("50 %",)),
        *(Column(n, "number", False, ("p", i)) for i, n in enumerate("ab")),
    ]
    cells = [[b'"%b"', b'"y"'], [b"3", b"4"], [b"1", b"null"]]
    layout = Layout(columns, ["50 %", "a", "b"], open_record=False)
    assert layout.lines(cells) == b'{"50 %":"%b","p":[3,1]}\n{"50 %":"y","p":[4,null]}\n'
    for names in (["b", "50 %", "a"], ["b", "x", "50 %", "a"], ["50 %", "a"], ["x"]):
        assert Layout(columns, names, open_record=False).lines([[b"1"]] * len(names)) is None


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the blocks that are decoded at once, unless 0 is added: then there are none."""
    sizes: list[int] = []
    real = frames.CellsReader._decoded

    def decoded(self: Any, columns: list[list[Any]], decode_lines: Any) -> list[Any] | None:
        values = None if 0 in sizes else real(self, columns, decode_lines)
        sizes.extend([len(values)] if values else [])
        return values

    monkeypatch.setattr(frames.CellsReader, "_decoded", decoded)
    monkeypatch.setattr(cells, "_BATCH", 16)
    return sizes


def table(rows: int = 100) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"image_id": [f"I-{number:03}" for number in range(rows)]}
    return columns | {name: [sure("NV")[place]] * rows for place, name in enumerate(CLASSES)}


SPOILED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a sum": {"MEL": 0.5},
    "a repeated id": {"image_id": "I-003"},
    "an empty id": {"image_id": ""},
    "no id": {"image_id": None},
    "no probability": {"MEL": None},
    "a negative probability": {"MEL": -1e-05},
    "not a number": {"MEL": math.nan},
    "infinity": {"MEL": math.inf},
    "a blank id": {"image_id": "\u2003"},
}


@pytest.mark.parametrize("kind", ["parquet", "frame"])
@pytest.mark.parametrize("name", SPOILED)
def test_the_same_problems(name: str, kind: str, tmp_path: Path, one_by_one: list[int]) -> None:
    """Whether rows are decoded many at a time or one by one; also the unknown ids that a score reports."""
    columns = table()
    for column, value in SPOILED[name].items():
        columns[column][40] = value
    columns["image_id"][90] = "unknown"
    frame = pd.DataFrame(columns)
    given: Any = frame if kind == "frame" else tmp_path / "sent.parquet"
    if kind == "parquet":
        pq.write_table(pa.table(columns), given, row_group_size=30)
    truth = pd.DataFrame([image(f"I-{number:03}", "NV") for number in range(100)])
    found = []
    for _ in range(2):
        report = medcontract.validate(given, "lesions/predictions")
        files = {"truth": truth, "predictions": given} if kind == "frame" else {}
        score = medcontract.score(**files) if files else None
        found.append((report.to_json(show_values=True), score and score.to_json(show_values=True)))
        assert any(one_by_one)
        one_by_one.append(0)
    assert found[0] == found[1]


def test_sizes_of_rows(tmp_path: Path, one_by_one: list[int]) -> None:
    """Limits apply to rows that are decoded many at a time, too."""
    path = tmp_path / "sent.parquet"
    pq.write_table(pa.table(table()), path, row_group_size=30)
    assert medcontract.validate(path, "lesions/predictions")
    assert not medcontract.validate_files([path], contract="lesions/predictions", max_record=50)
    assert one_by_one
    sizes = []
    for _ in range(2):
        reader = frames.ParquetReader(medcontract_source(path), find("lesions/predictions"), collector())
        RecordsValidator(reader).run()
        sizes.append(reader.size)
        one_by_one.append(0)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.5)


def medcontract_source(path: Path) -> Any:
    from medcontract.reading.limits import Limits
    from medcontract.reading.source import open_source

    return open_source(str(path), Limits())


def collector() -> Any:
    from medcontract.validation.report import ProblemCollector

    return ProblemCollector(10)


def test_windows_line_ends_make_no_difference() -> None:
    """Rows that are converted in blocks, with some wrong ones among them, give the same problems."""
    rows = ["image_id,label", *(f"I-{number},{'mel' if number % 50 == 7 else 'MEL'}" for number in range(1000)), ""]
    reports = [medcontract.validate(end.join(rows).encode(), "lesions/truth", name="x.csv") for end in ("\n", "\r\n")]
    unix, windows = ([(each.code, each.line, each.column) for each in report.problems] for report in reports)
    assert unix == windows
    assert [report.errors for report in reports] == [20, 20]
    assert [report.records for report in reports] == [1000, 1000]
