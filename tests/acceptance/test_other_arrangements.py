"""Tables in other arrangements get the same explanation in JSON, JSON Lines, Parquet and DataFrames as in CSV."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.scoring_files import CLASSES

import medcontract
from medcontract.results.validation import FileReport

Check = Callable[[pd.DataFrame, Path], FileReport]


def _jsonl(frame: pd.DataFrame, folder: Path) -> FileReport:
    frame.to_json(folder / "x.jsonl", orient="records", lines=True)
    return medcontract.validate(folder / "x.jsonl")


def _json(frame: pd.DataFrame, folder: Path) -> FileReport:
    frame.to_json(folder / "x.json", orient="records")
    return medcontract.validate(folder / "x.json")


def _json_with_header(frame: pd.DataFrame, folder: Path) -> FileReport:
    content = {"team_name": "a", "predictions": json.loads(frame.to_json(orient="records"))}
    return medcontract.validate(json.dumps(content).encode(), name="x.json")


def _parquet(frame: pd.DataFrame, folder: Path) -> FileReport:
    frame.to_parquet(folder / "x.parquet")
    return medcontract.validate(folder / "x.parquet")


def _frame(frame: pd.DataFrame, folder: Path) -> FileReport:
    return medcontract.validate(frame)


RECORDS = [_jsonl, _json, _json_with_header]
TABLES = [_parquet, _frame]
REPORTS = pd.DataFrame(
    [
        {"report_id": f"R-{n}", "specialty": "Other", "urgency": "Urgent", "follow_up": "true",
         "processing_time_sec": "0.5"}
        for n in range(4)
    ]
)  # fmt: skip
LESIONS = pd.DataFrame([{"image_id": f"I-{n}", **dict.fromkeys(CLASSES, 0.1)} for n in range(4)])
LONG = REPORTS.melt(id_vars="report_id")
TRANSPOSED = REPORTS.set_index("report_id").T.rename_axis(columns=None).reset_index()
NUMBERED = LESIONS.rename(columns={name: f"class_{n}" for n, name in enumerate(CLASSES)})
ONE_COLUMN = pd.DataFrame({";".join(REPORTS.columns): [";".join(row) for row in REPORTS.to_numpy().tolist()]})


@pytest.mark.parametrize(("frame", "checks", "message", "hint"), [
    (LONG, RECORDS, "the values of 'variable' are keys of reports/predictions",
     "df.pivot(index='report_id', columns='variable', values='value').reset_index()"),
    (LONG, TABLES, "the cells of column 'variable' are column names of reports/predictions",
     "df.pivot(index='report_id', columns='variable', values='value').reset_index()"),
    (TRANSPOSED, RECORDS, "the values of 'index' are keys of reports/predictions", "df.set_index('index').T"),
    (TRANSPOSED, TABLES, "the cells of the first column are column names of reports/predictions",
     "df.set_index('index').T"),
    (NUMBERED, RECORDS, "10 keys have other names than in lesions/predictions",
     f"write a list under 'probabilities', in this order: {', '.join(CLASSES)}"),
    (NUMBERED, TABLES, "10 columns have other names than in lesions/predictions",
     f"name each of them after its class: {', '.join(CLASSES)}"),
])  # fmt: skip
def test_arrangement(frame: pd.DataFrame, checks: list[Check], message: str, hint: str, tmp_path: Path) -> None:
    """One problem, with one hint; never valid as a contract that allows other keys."""
    for check in checks:
        report = check(frame, tmp_path)
        (problem,) = report.problems
        assert (report.contract, problem.code, problem.message) == (None, "MC005", message), check
        assert hint in (problem.hint or "")
        assert "R-1" not in f"{problem.message}{problem.hint}"


@pytest.mark.parametrize("check", [*RECORDS, *TABLES])
def test_all_columns_in_one(check: Check, tmp_path: Path) -> None:
    """A table that was read with another delimiter than it has is never valid as a contract that allows any key."""
    report = check(ONE_COLUMN, tmp_path)
    assert not report.ok
    assert all("R-1" not in f"{problem.message}{problem.hint}" for problem in report.problems)


@pytest.mark.parametrize("check", [*RECORDS, *TABLES])
def test_usual_arrangement(check: Check, tmp_path: Path) -> None:
    """Records whose values are names of fields by chance are recognized."""
    frame = REPORTS.assign(follow_up=True, processing_time_sec=0.5, run_id=["specialty", "urgency", "error", "x"])
    assert check(frame, tmp_path).contract == "reports/predictions"


@pytest.mark.parametrize("orient", ["split", "index", "columns", "values", "table"])
@pytest.mark.parametrize("contract", [None, "reports/predictions"])
def test_other_orientations_in_lines(orient: Any, contract: str | None) -> None:
    """One line with the whole table, as `to_json` writes it without `lines=True`."""
    content = f"{REPORTS.to_json(orient=orient)}\n".encode()
    (problem,) = medcontract.validate(content, contract, name="x.jsonl").problems
    assert problem.code == "MC005"
    assert "df.to_json(path, orient='records', lines=True)" in (problem.hint or "")


def test_rows_without_names_below_a_header() -> None:
    content = {"team_name": "a", "predictions": REPORTS.to_numpy().tolist()}
    (problem,) = medcontract.validate(json.dumps(content).encode(), name="x.json").problems
    assert problem.message == "'predictions' must be a list of records, not of rows without column names"
    assert problem.hint == "write a list of records: df.to_dict('records')"


def test_split_table_with_ids_as_its_index() -> None:
    """The hint keeps them."""
    content = REPORTS.set_index("report_id").to_json(orient="split").encode()
    (problem,) = medcontract.validate(content, name="x.json").problems
    assert "df.reset_index().to_dict('records')" in (problem.hint or "")


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", "__index_level_0__", "level_0"])
@pytest.mark.parametrize("check", [_jsonl, _json_with_header, *TABLES])
def test_index_column(name: str, check: Check, tmp_path: Path) -> None:
    frame = REPORTS.assign(follow_up=True, processing_time_sec=0.5)
    frame.insert(0, name, range(4))
    report = check(frame, tmp_path)
    assert report.contract == "reports/predictions"
    if check is _parquet and name == "__index_level_0__":  # how Parquet files store an index, which is ignored
        assert report.ok
        return
    assert {problem.code for problem in report.problems} == {"MC102"}
    assert all("it looks like the index of a DataFrame" in (problem.hint or "") for problem in report.problems)


@pytest.mark.parametrize("check", RECORDS[:1] + RECORDS[2:])
def test_classes_as_keys(check: Check, tmp_path: Path) -> None:
    """The columns of a table as keys of records: clearly predictions, not a truth."""
    report = check(LESIONS, tmp_path)
    assert report.contract == "lesions/predictions"
    hints = {problem.hint for problem in report.problems}
    assert all(f"in this order: {', '.join(CLASSES)}" in (hint or "") for hint in hints)


class _Odd:
    def __str__(self) -> str:
        raise RuntimeError("never called")


def test_odd_objects_in_a_frame() -> None:
    """Cells that are no plain values are not converted to text."""
    cells: Any = [_Odd(), *LONG["value"].tolist()[1:]]
    assert medcontract.validate(LONG.assign(value=cells)).problems[0].code == "MC005"
