"""medcontract from Python: signatures that can be read, tables of any library, results that print what they are."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from tests.scoring_files import CLASSES

import medcontract
from medcontract import CallError
from medcontract.testing import assert_ready, assert_valid

LABELS = ["NV", "MEL", "AK"]
ROWS = [
    {"image_id": f"I-{number}", **{name: float(name == label) for name in CLASSES}}
    for number, label in enumerate(LABELS)
]
NESTED = [
    {"image_id": f"I-{number}", "probabilities": [float(name == label) for name in CLASSES]}
    for number, label in enumerate(LABELS)
]
FRAME = pd.DataFrame(ROWS)


class OnlyArrow:
    """A table of some library: it has the Arrow interface and nothing else."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._table = pa.Table.from_pylist(rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "pandas": pd.DataFrame, "pyarrow": pa.Table.from_pylist, "another library": OnlyArrow, "rows": list,
}  # fmt: skip
each_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.csv"
    path.write_text("image_id,label\n" + "".join(f"I-{n},{label}\n" for n, label in enumerate(LABELS)))
    return path


def _public() -> list[tuple[str, Any]]:
    """Every public name, and the public methods of classes."""
    found = [(name, getattr(medcontract, name)) for name in medcontract.__all__ if not name.startswith("_")]
    for name, value in list(found):
        if inspect.isclass(value):
            methods = inspect.getmembers(value, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
            found += [(f"{name}.{method}", member) for method, member in methods if not method.startswith("_")]
    return found


@pytest.mark.parametrize(("name", "value"), [pytest.param(*each, id=each[0]) for each in _public()])
def test_signatures_can_be_read(name: str, value: Any) -> None:
    """`help`, editors and type checkers resolve every annotation of a public name."""
    assert inspect.signature(value) is not None
    assert isinstance(typing.get_type_hints(value), dict)
    assert inspect.getdoc(value) or "." in name, f"{name} has no docstring"


@each_table
def test_tables_are_files(table: Callable[[list[dict[str, Any]]], Any], truth: Path) -> None:
    """A table of any library has the same verdict, problems, hash and figures."""
    report = medcontract.validate(table(ROWS))
    assert (report.contract, report.ok, report.records) == ("lesions/predictions", True, 3)
    score = medcontract.score(truth=truth, predictions=table(ROWS))
    assert score.result == medcontract.score(truth, FRAME).result
    expected = medcontract.score(truth, FRAME).inputs[0].sha256
    assert [each.sha256 for each in score.inputs if each.contract == "lesions/predictions"] == [expected]
    assert len(medcontract.load(table(ROWS), "lesions/predictions").value) == 3
    assert medcontract.preflight(truth, table(ROWS))
    wrong = [{**row, "NV": 1.5} for row in ROWS]
    problems = medcontract.validate(table(wrong), "lesions/predictions").problems
    assert problems == medcontract.validate(pd.DataFrame(wrong), "lesions/predictions").problems
    assert {problem.code for problem in problems} == {"MC105"}


def test_rows_with_nested_values_are_records(truth: Path) -> None:
    score = medcontract.score(truth=truth, predictions=NESTED)
    assert score.result == medcontract.score(truth, FRAME).result
    problem = medcontract.validate([{**NESTED[0], "probabilities": [2.0, *[0.0] * 9]}], "lesions/predictions").problems[
        0
    ]
    assert (problem.code, problem.record, problem.pointer) == ("MC105", 0, "/probabilities/0")


def test_missing_values() -> None:
    """None is missing everywhere; NaN is in pandas and in rows, but Arrow has null for that."""
    rows: list[dict[str, Any]] = [{"image_id": "I-0", "label": None}, {"image_id": "I-1", "label": "NV"}]
    for make in TABLES.values():
        assert [problem.code for problem in medcontract.validate(make(rows), "lesions/truth")] == ["MC103"]
    numbers: list[dict[str, Any]] = [{**ROWS[0], "NV": float("nan")}]
    found = {name: {each.code for each in medcontract.validate(make(numbers))} for name, make in TABLES.items()}
    assert found["pandas"] == found["rows"] == {"MC103"}
    assert found["pyarrow"] == found["another library"] == {"MC016"}


def test_a_leaderboard_of_tables(truth: Path, tmp_path: Path) -> None:
    worse = [{**row, "image_id": row["image_id"]} for row in ROWS]
    worse[0] = {**worse[0], "NV": 0.0, "MEL": 1.0}
    FRAME.to_csv(tmp_path / "crane.csv", index=False)
    labels = pd.read_csv(truth)
    board = medcontract.leaderboard(labels, {"heron": worse, "crane": tmp_path / "crane.csv"}, pa.table(FRAME))
    ranks = [(entry.rank, entry.name) for entry in board.submissions]
    assert ranks == [(1, "crane"), (1, "submission 2"), (3, "heron")]
    with pytest.raises(CallError, match="repeated"):
        medcontract.leaderboard(labels, {"heron": worse}, {"heron": FRAME})
    with pytest.raises(CallError, match="not kept in a cache"):
        medcontract.leaderboard(labels, {"heron": worse}, cache=tmp_path / "cache")


@pytest.mark.parametrize("value", [5, {"image_id": "I-0"}, [1, 2], object(), {1}])
def test_other_values(value: Any, truth: Path) -> None:
    """Anything else says what to pass instead."""
    for call in (
        lambda: medcontract.validate(value), lambda: medcontract.load(value, "lesions/truth"),
        lambda: medcontract.score(truth, value), lambda: medcontract.score(truth=truth, predictions=value),
        lambda: medcontract.leaderboard(truth, value), lambda: medcontract.validate_frame(value, "lesions/truth"),
    ):  # fmt: skip
        with pytest.raises(CallError) as raised:
            call()
        assert raised.value.hint


def test_a_wrong_keyword_gets_a_suggestion(truth: Path) -> None:
    with pytest.raises(CallError, match="did you mean 'predictions'"):
        medcontract.score(truth=truth, prediction=FRAME)
    with pytest.raises(CallError, match="did you mean 'parameters'"):
        medcontract.score(truth, FRAME, parametres={})


def test_problems_are_texts(tmp_path: Path) -> None:
    """`str` of a problem is its place and message, without the value."""
    path = tmp_path / "t.csv"
    path.write_text("image_id,label\nI-0,SECRET\n")
    (problem,) = medcontract.validate(path)
    assert str(problem) == "2: error MC104 'label' must be one of AK, BCC, SK, SCC, VASC, DF, NV, NON, MEL, ON"
    (problem,) = medcontract.score(path, FRAME).problems[:1]
    assert str(problem).startswith("t.csv:2: error MC104")


def test_results_have_texts_and_figures(truth: Path) -> None:
    score = medcontract.score(truth, FRAME)
    assert (score.figures["accuracy"], score.figures["f1_by_class.MEL"]) == (1.0, 1.0)
    assert score.to_text().startswith("VALID  lesions")
    assert "accuracy" in score.to_text()
    for result in (medcontract.validate(truth), medcontract.preflight(truth), medcontract.list_contracts()):
        assert result.to_text().strip()
    checks = medcontract.preflight(truth, FRAME).to_frame()
    assert {"check", "status", "detail"} <= set(checks.columns)
    assert {"passed", "skipped"} <= set(checks["status"])


def test_assertions(tmp_path: Path, truth: Path) -> None:
    """A folder is checked as a whole, the same mistake in many records is counted, and values are not shown."""
    folder = tmp_path / "submission"
    folder.mkdir()
    FRAME.to_csv(folder / "predictions.csv", index=False)
    assert_valid(folder)
    assert_valid(ROWS, "lesions/predictions")
    assert_ready(folder, truth)
    (folder / "other.csv").write_text("image_id,label\n" + "".join(f"I-{n},SECRET\n" for n in range(50)))
    with pytest.raises(AssertionError) as raised:
        assert_valid(folder)
    assert "and 49 more records like this" in str(raised.value)
    assert len(str(raised.value).splitlines()) < 20
    assert "SECRET" not in str(raised.value)
    with pytest.raises(AssertionError, match="NOT READY"):
        assert_ready(ROWS[:1], truth)
