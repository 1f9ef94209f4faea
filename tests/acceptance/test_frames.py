"""DataFrames in place of files: the same problems, figures and checks as for the same rows in a file."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pandera.errors
import pytest
from tests.mutations import EXAMPLES
from tests.scoring_files import CLASSES, guess, image
from tests.support import ROOT

import medcontract
from medcontract import CallError, NotRecognized
from medcontract.contracts import registry

Row = dict[str, Any]
FLAT = sorted(entry.id for entry in registry.compiled().values() if entry.columns)
HEADER = {"reports": {"event": "e", "team_name": "t", "evaluation_date": "2026-01-01"}}
TRUTH = pd.DataFrame([image("I-1", "NV"), image("I-2", "MEL"), image("I-3", "AK")])


def _flat(record: Row) -> Row:
    probabilities = record.pop("probabilities", None) or []
    return {**record, **dict(zip(CLASSES, probabilities, strict=False))}


PREDICTIONS = pd.DataFrame([_flat(guess("I-1", "NV")), _flat(guess("I-2", "MEL")), _flat(guess("I-3", "SK"))])


@cache
def _contract_of(path: Path) -> str:
    contract = medcontract.validate(path).contract
    assert contract
    return contract


@cache
def _example_files(track: str) -> tuple[Path, ...]:
    return tuple(sorted(path for path in (EXAMPLES / track).rglob("*") if path.suffix in (".json", ".jsonl", ".csv")))


def _split(contract: str) -> tuple[list[Row], list[Path]]:
    """The rows of the example file of a contract, and the other example files of its track."""
    files = _example_files(contract.partition("/")[0])
    mine = next(path for path in files if _contract_of(path) == contract)
    value = medcontract.load(mine, contract).value
    list_key = registry.find(contract).list_key
    records = value if isinstance(value, tuple) else getattr(value, str(list_key))
    rows = [_flat(record.model_dump(mode="json", exclude_none=True)) for record in records]
    return rows, [path for path in files if path != mine]


def _changed(rows: list[Row], contract: str, source: random.Random) -> list[Row]:
    """Rows with random changes: values of other rows, invalid values, missing, repeated and shuffled rows."""
    rows = [dict(row) for row in rows for _ in range(1 + (source.random() < 0.1)) if source.random() < 0.95]
    source.shuffle(rows)
    columns = registry.find(contract).columns
    for row in rows:
        if source.random() < 0.3:
            column = source.choice(columns)
            other = source.choice(rows).get(column.name)
            invalid = -1 if column.kind == "number" else " "  # in a CSV, -1 is also a text
            value = source.choice([other, other, "x?", invalid])
            if value is not None:
                row[column.name] = value
            elif column.nullable:
                row.pop(column.name, None)
    return rows


def _write(path: Path, rows: list[Row], names: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return path


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _outcome(call: Callable[[], Any]) -> Any:
    """The result without what can only be told from a file: its extension, its hash, and lines."""
    try:
        data = call().to_dict()
    except CallError as error:
        return str(error).replace(".csv", "")
    return _without_places(json.loads(json.dumps(data).replace(".csv", "")))


def _without_places(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_places(each) for each in value]
    if isinstance(value, dict):
        return {
            k: _without_places(v) for k, v in value.items() if k not in ("sha256", "line", "column", "hint", "path")
        }
    return value


@pytest.mark.sampled(4)
@pytest.mark.parametrize("contract", FLAT)
def test_a_frame_is_like_a_file(contract: str, tmp_path: Path) -> None:
    """`validate`, `score` and `preflight` return the same for a DataFrame as for the same rows in a file."""
    rows, others = _split(contract)
    source = random.Random(contract)
    track, _, name = contract.partition("/")
    names = [column.name for column in registry.find(contract).columns]
    with_errors = 0
    for attempt in range(8):
        some = _changed(rows, contract, source) if attempt else rows
        file = _write(tmp_path / f"{name}.csv", some, names)
        frame = pd.DataFrame(some, columns=names, dtype=None if attempt % 2 else object)
        keyword: Any = {name: frame}
        header = HEADER.get(track) if name in ("truth", "predictions") else None
        as_file = medcontract.validate(file, contract)
        with_errors += not as_file
        assert _outcome(lambda: medcontract.validate(frame, contract)) == _outcome(lambda: as_file)  # noqa: B023
        for function in (medcontract.score, medcontract.preflight):
            expected = _outcome(lambda: function(*others, f"{contract}={file}", header=header))  # noqa: B023
            given = _outcome(lambda: function(*others, header=header, **keyword))  # noqa: B023
            assert given == expected
    assert with_errors


def test_both_as_frames(tmp_path: Path) -> None:
    """A truth and predictions, by name, by position or by id, give the score of the same files."""
    files = [tmp_path / "truth.csv", tmp_path / "predictions.csv"]
    TRUTH.to_csv(files[0], index=False)
    PREDICTIONS.to_csv(files[1], index=False)
    of_files = medcontract.score(*files)
    by_id: Any = {"lesions/truth": TRUTH, "lesions/predictions": PREDICTIONS}
    scores = [
        medcontract.score(truth=TRUTH, predictions=PREDICTIONS),
        medcontract.score(PREDICTIONS, TRUTH),
        medcontract.score(files[0], predictions=PREDICTIONS),
        medcontract.score(**by_id),
    ]
    for score in scores:
        assert score.result == of_files.result
        assert score.valid
        assert [each.content_sha256 for each in score.inputs] == [each.content_sha256 for each in of_files.inputs]
    assert (
        [each.name for each in scores[0].inputs] == [each.name for each in scores[1].inputs] == ["predictions", "truth"]
    )
    assert scores[0].to_frame().equals(of_files.to_frame())
    assert medcontract.compare(of_files, scores[0])
    assert medcontract.preflight(TRUTH, predictions=PREDICTIONS)


@pytest.mark.parametrize(
    "cells",
    [[1, 0, 1], [1.0, 0.0, 1.0], [np.int8(1), np.bool_(False), 1], [True, 0, True]],
    ids=["integers", "floats", "numpy", "mixed"],
)
def test_zero_and_one_are_booleans(cells: list[Any], tmp_path: Path) -> None:
    """In tables 0 and 1 are booleans: the records are those with false and true."""
    rows = {"report_id": ["a", "b", "c"], "specialty": ["Other"] * 3, "urgency": ["Urgent"] * 3}
    frame = pd.DataFrame(
        {**rows, "follow_up": pd.Series(cells, dtype=None if len({*map(type, cells)}) < 2 else object)}
    )
    expected = pd.DataFrame({**rows, "follow_up": [True, False, True]})
    assert medcontract.validate_frame(frame, "reports/truth").ok
    schema = medcontract.frame_schema("reports/truth")
    schema.validate(frame)
    frame["follow_up"] = [int(cell) for cell in cells]
    frame.to_csv(tmp_path / "zero.csv", index=False)
    frame.to_parquet(tmp_path / "zero.parquet")
    expected.to_csv(tmp_path / "false.csv", index=False)
    loaded = [
        medcontract.load(tmp_path / name, "reports/truth").value for name in ("zero.csv", "zero.parquet", "false.csv")
    ]
    assert loaded[0] == loaded[1] == loaded[2]
    assert [record.follow_up for record in loaded[0]] == [True, False, True]


@pytest.mark.parametrize(("cell", "ok"), [
    *((cell, True) for cell in ("1", "0", "true", "False", "TRUE")),  # as in a CSV, from which texts were read
    *((cell, False) for cell in (2, -1, 0.5, "yes", "2", "")),
])  # fmt: skip
def test_other_booleans(cell: Any, ok: bool) -> None:
    """Only 0 and 1, true and false are booleans."""
    frame = pd.DataFrame({"report_id": ["a"], "specialty": ["Other"], "urgency": ["Urgent"], "follow_up": [cell]})
    problems = medcontract.validate(frame, "reports/truth").problems
    assert [(problem.code, problem.pointer) for problem in problems] == ([] if ok else [("MC103", "/follow_up")])
    with nullcontext() if ok else pytest.raises(pandera.errors.SchemaError):
        medcontract.frame_schema("reports/truth").validate(frame)


def test_zero_and_one_in_every_contract() -> None:
    """Every boolean column of every contract takes them."""
    found = 0
    for contract in FLAT:
        booleans = [column.name for column in registry.find(contract).columns if column.kind == "boolean"]
        if not booleans:
            continue
        rows, _ = _split(contract)
        frame = pd.DataFrame([{**row, **{name: int(row[name]) for name in booleans if name in row}} for row in rows])
        assert medcontract.validate(frame, contract).ok, contract
        text = frame.astype(dict.fromkeys(booleans, "Int64")).to_csv(index=False)
        assert medcontract.validate(text.encode(), contract, name="x.csv").errors == 0, contract
        found += len(booleans)
    assert found >= 4


def test_parts_of_a_collection() -> None:
    """Two frames of a contract are parts of one collection, in any order."""
    first, second = PREDICTIONS[:1], PREDICTIONS[1:]
    expected = medcontract.score(TRUTH, first, second)
    assert expected.result == medcontract.score(TRUTH, PREDICTIONS).result
    assert expected.to_json() == medcontract.score(second, TRUTH, first).to_json()


def test_hash_of_a_frame() -> None:
    """The hash of an input is the hash of its rows as JSON Lines; index and column order do not matter."""
    lines = b'{"image_id":"I-1","label":"NV"}\n{"image_id":"I-2","label":"MEL"}\n{"image_id":"I-3","label":"AK"}\n'
    expected = hashlib.sha256(lines).hexdigest()
    for frame in (TRUTH, TRUTH[["label", "image_id"]], TRUTH.set_index(pd.Index([7, 8, 9]))):
        assert medcontract.score(truth=frame, predictions=PREDICTIONS).inputs[1].sha256 == expected
    other = medcontract.score(truth=TRUTH[::-1], predictions=PREDICTIONS).inputs[1]
    assert other.sha256 != expected


def test_problems_of_frames() -> None:
    """Problems have the name of the frame, the position of the row and the column."""
    bad = TRUTH.assign(label=["NV", "mel", "AK"])
    score = medcontract.score(truth=bad, predictions=PREDICTIONS)
    assert not score
    assert [(p.file, p.code, p.record, p.field, p.line) for p in score.problems if p.code == "MC104"] == [
        ("truth", "MC104", 1, "label", None)
    ]
    report = medcontract.validate(bad, name="my truth")
    assert (report.path, report.contract, report.errors) == ("my truth", "lesions/truth", 1)
    assert (
        medcontract.validate(bad, "lesions/truth").to_json()
        == medcontract.validate_frame(bad, "lesions/truth").to_json()
    )


def test_participants_see_no_truth() -> None:
    """A frame with the truth is as secret as a file."""
    bad = TRUTH.assign(image_id=["Zzyx-1", "Zzyx-1", "I-3"], label=["NV", "Qqzz", "AK"])
    score = medcontract.score(truth=bad, predictions=PREDICTIONS, participant=True)
    text = score.to_json(show_values=True)
    assert not score
    assert "Zzyx" not in text
    assert "Qqzz" not in text


def test_progress_of_a_frame() -> None:
    """Progress is counted in rows, of truth and submission."""
    seen: list[tuple[str, int, int]] = []
    medcontract.score(TRUTH, PREDICTIONS, progress=lambda *step: seen.append(step))
    assert seen
    assert all(0 <= done <= total == 6 for _, done, total in seen)


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: medcontract.score(truth=PREDICTIONS, predictions=TRUTH), CallError, "'truth' has the columns of"),
    (lambda: medcontract.score(TRUTH.set_axis(["a", "b"], axis=1)), NotRecognized, "<frame>: no contract matches"),
    (lambda: medcontract.score(truth=TRUTH.set_axis(["a", "b"], axis=1)), NotRecognized, "truth: no contract"),
    (lambda: medcontract.score(TRUTH, response=PREDICTIONS), CallError, "triage/response has no table form"),
    (lambda: medcontract.score(TRUTH, sent=PREDICTIONS), CallError, "unknown option 'sent'"),
    (lambda: medcontract.validate(TRUTH, "triage/response"), CallError, "triage/response has no table form"),
    (lambda: medcontract.validate(TRUTH, schema=EXAMPLES / "no.json"), CallError, "a contract, not a schema"),
    (lambda: medcontract.score(TRUTH), CallError, "no submission"),
])  # fmt: skip
def test_usage_errors(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    """A frame that does not fit is a usage error, with a message that names it."""
    with pytest.raises(kind, match=message):
        call()


def test_the_documented_pipeline() -> None:
    """The code of docs/dataframes.md runs, and pandera refuses what does not fit."""
    text = (ROOT / "docs" / "dataframes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/dataframes.md", "exec"), names)  # noqa: S102
    assert names["report"].ok
    assert names["problems"].empty
    assert names["score"].result["accuracy"] == 0.5
    assert names["failed"].to_dict("records") == [{"column": "age", "check": "number", "index": 1}]
    with pytest.raises(pandera.errors.SchemaErrors):
        names["predict"](names["cases"].assign(image_id="I-1"))
    names["CLASSES"].remove("MEL")
    with pytest.raises(pandera.errors.SchemaErrors):
        names["predict"](names["cases"])


def test_a_column_is_no_table() -> None:
    """A column alone has the interface of tables, too."""
    column: Any = pd.Series(["NV"])
    with pytest.raises(CallError, match="table, got Series"):
        medcontract.validate(column, "lesions/truth")
