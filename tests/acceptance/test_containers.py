"""Gzip, standard input, and tables: the same records get the same problems in every container."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.scoring_files import CLASSES
from tests.support import VECTORS

import medcontract
from medcontract.cli.main import main
from medcontract.contracts.pandera_schemas import frame_schema
from medcontract.reading import json_scanner, parquet
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source

TEXT_VECTORS = sorted(
    path for path in VECTORS.rglob("*") if path.suffix in (".json", ".jsonl", ".csv") and "between" not in path.parts
)


def _lines(report: medcontract.FileReport) -> list[Any]:
    return [(problem.to_dict(), problem.pointer) for problem in report.problems]


# --- gzip ----------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(8))
def test_gzipped_files_get_the_same_problems(part: int) -> None:
    """Packing a file changes nothing: not its contract, not its problems, not their places."""
    for path in TEXT_VECTORS[part::8]:
        data = path.read_bytes()
        plain = medcontract.validate(data, name=path.name)
        if any(problem.code in ("MC005", "MC006") for problem in plain.problems):
            continue
        packed = medcontract.validate(gzip.compress(data), name=path.name + ".gz")
        assert _lines(packed) == _lines(plain), path
        counts = [(each.contract, each.records, each.errors, each.warnings) for each in (packed, plain)]
        assert counts[0] == counts[1], path


def test_content_tells_that_a_file_is_packed() -> None:
    """A gzipped file without the ending .gz is unpacked all the same."""
    report = medcontract.validate(gzip.compress(b'{"image_id": "I-1", "label": "MEL"}\n'), name="truth.jsonl")
    assert (report.ok, report.contract) == (True, "lesions/truth")


@pytest.mark.parametrize("cut", [3, 9, 15, 30, -9, -5, -1])
def test_cut_off_archives(cut: int) -> None:
    """An archive that ends too early is one clear problem, wherever it ends."""
    data = gzip.compress(b'{"image_id": "I-1", "label": "MEL"}\n' * 50)[:cut]
    report = medcontract.validate(data, "lesions/truth", name="x.jsonl.gz")
    assert [problem.code for problem in report.problems] == ["MC026"]


def test_truncated_gzip_with_long_lines() -> None:
    """All but the last few records before the end are checked."""
    rng = random.Random(1)
    lines = [b'{"image_id": "%s", "label": 1}\n' % rng.randbytes(1500).hex().encode() for _ in range(200)]
    report = medcontract.validate(gzip.compress(b"".join(lines))[:-4000], "lesions/truth", name="x.jsonl.gz")
    assert sum(problem.code == "MC103" for problem in report.problems) > 150


@pytest.mark.parametrize("tail", [b"garbage", b"\x1f\x8b\xff", b"\0" * 4 + b"x"])
def test_what_follows_an_archive(tail: bytes) -> None:
    """Bytes after the last member that are no member are a problem; zeros alone are padding."""
    data = gzip.compress(b'{"image_id": "I-1", "label": "MEL"}\n')
    assert {p.code for p in medcontract.validate(data + tail, name="x.jsonl.gz").problems} <= {"MC025", "MC026"}
    assert not medcontract.validate(data + tail, name="x.jsonl.gz").ok
    assert medcontract.validate(data + b"\0" * 512, name="x.jsonl.gz").ok


def test_a_bomb_is_stopped() -> None:
    """What unpacks to more than the limit is refused when it is reached, in the middle of a file too."""
    line = b'{"image_id": "I-1", "label": "MEL"}\n'
    source = Source(gzip.compress(line * 100_000), "x.jsonl.gz", Limits(unpacked=1 << 20))
    from medcontract.validation.dispatch import validate_source
    from medcontract.validation.report import ProblemCollector

    report = validate_source(source, "lesions/truth", ProblemCollector(10))
    assert report.problems[0].code == "MC027"
    assert "1 MiB" in report.problems[0].message


# --- standard input ------------------------------------------------------------------------------


def _stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
@pytest.mark.parametrize("name", ["predictions.json", "truth.json", "cases.csv"])
def test_standard_input(
    name: str, pack: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard input is read as a file of the contract that is named."""
    example = Path(medcontract.__file__ or "").parent / "examples" / "reports" / name
    _stdin(monkeypatch, pack(example.read_bytes()))
    assert main(["validate", "--contract", f"reports/{name.split('.', maxsplit=1)[0]}", "-"]) == 0
    assert "<stdin>: ok" in capsys.readouterr().out


def test_one_line_of_standard_input_is_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single record without its file around it is JSON Lines."""
    _stdin(monkeypatch, b'{"image_id": "I-1", "label": "MEL"}')
    assert main(["validate", "--contract", "lesions/truth", "-"]) == 0


def test_standard_input_needs_a_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name there is nothing to go by: the call is wrong, and says what is missing."""
    assert main(["validate", "-"]) == 2
    assert "CONTRACT=-" in capsys.readouterr().err


@pytest.mark.parametrize(("size", "code"), [("100", 1), ("1k", 0), ("0", 2), ("many", 2), ("-5", 2)])
def test_size_of_a_record(size: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--max-record sets the limit of one record; nonsense is a usage error."""
    path = tmp_path / "truth.jsonl"
    path.write_text(json.dumps({"image_id": "I" * 200, "label": "MEL"}))
    assert main(["validate", "--max-record", size, str(path)]) == code
    assert ("MC020" in capsys.readouterr().out) == (code == 1)


# --- the same rows as CSV, JSONL, DataFrame and Parquet ------------------------------------------

_SPOILT: dict[str, list[Any]] = {
    "report_id": ["", " ", "R-0001", 'ä,"b"\n'],
    "specialty": ["cardiology", "Other ", "x"],
    "urgency": ["URGENT", "urgent", "?"],
    "follow_up": ["yes", "maybe"],
    "processing_time_sec": [-1, -0.5, "fast", 1e300],
    "image_id": ["", "I-0001", "\u00a0"],
    "label": ["mel", "MELANOMA"],
    "image_path": ["/abs.png", "a//b.png", "..\\x.png", "C:/x.png"],
    "age": [121, -1, 3.5, "old"],
    "gender": ["M", "female"],
    "location": [0, 8, 2.5],
    "doc_id": ["", "D-0001"],
    "doc_type": ["rx", "Lab"],
    "label_status": ["done", "reviewed"],
    "pii_checked": ["maybe"],
}


def _good(contract: str, n: int) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {
        "reports/truth": {"report_id": f"R-{n:04}", "specialty": "Other", "urgency": "Urgent", "follow_up": n % 2 == 0},
        "reports/predictions": {
            "report_id": f"R-{n:04}", "specialty": "Oncology", "urgency": "Routine", "follow_up": True,
            "processing_time_sec": 0.25 * n,
        },
        "lesions/truth": {"image_id": f"I-{n:04}", "label": "NV"},
        "lesions/cases": {
            "image_id": f"I-{n:04}", "image_path": f"img/{n}.png", "age": n % 90, "gender": "f", "location": 1 + n % 7,
        },
        "extraction/manifest": {
            "doc_id": f"D-{n:04}", "doc_type": "lab", "image_path": f"scans/{n}.jpg", "label_status": "labeled",
            "pii_checked": "yes",
        },
    }  # fmt: skip
    return rows[contract]


def _cell(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _row_problems(report: medcontract.FileReport) -> list[tuple[Any, ...]]:
    return [(p.code, p.severity, p.message, p.pointer, p.record) for p in report.problems]


def _without_places(report: medcontract.FileReport) -> list[tuple[Any, ...]]:
    """Problems, hints without the line of a first appearance: Parquet has no lines."""
    return sorted(_row_problems(report), key=repr)


@pytest.mark.parametrize("contract", ["reports/truth", "reports/predictions", "lesions/truth", "lesions/cases",
                                      "extraction/manifest"])  # fmt: skip
def test_same_rows_same_problems(contract: str, tmp_path: Path) -> None:
    """A CSV, the same rows as JSONL, as a DataFrame and as Parquet get the same problems."""
    source = random.Random(contract)
    rows = []
    for n in range(400):
        row = _good(contract, n)
        if source.random() < 0.3:
            field = source.choice(sorted(set(row) & set(_SPOILT)))
            row[field] = source.choice(_SPOILT[field])
        rows.append(row)
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    as_csv = medcontract.validate(table.getvalue().encode(), contract, name="x.csv")
    as_lines = medcontract.validate("\n".join(map(json.dumps, rows)).encode(), contract, name="x.jsonl")
    frame = pd.DataFrame(rows, dtype=object)
    as_frame = medcontract.validate_frame(frame, contract)
    assert as_csv.errors > 50
    assert _without_places(as_csv) == _without_places(as_lines) == _without_places(as_frame)
    assert as_csv.records == as_lines.records == as_frame.records == 400


def test_same_rows_as_parquet(tmp_path: Path) -> None:
    """Typed columns of a Parquet file get the problems of the same rows as JSONL."""
    pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    rows = [_good("lesions/cases", n) | {"age": n} for n in range(200)]
    rows[7]["image_id"] = "I-0003"
    rows[150]["gender"] = "x"
    path = tmp_path / "cases.parquet"
    pd.DataFrame(rows).to_parquet(path)
    as_parquet = medcontract.validate(path)
    as_lines = medcontract.validate("\n".join(map(json.dumps, rows)).encode(), "lesions/cases", name="x.jsonl")
    assert as_parquet.contract == "lesions/cases"
    assert _without_places(as_parquet) == _without_places(as_lines)
    assert all(problem.line is None for problem in as_parquet.problems)


def _wide(n: int, **changes: Any) -> dict[str, Any]:
    return {"image_id": f"I-{n}", **dict.fromkeys(CLASSES, 0.1), "error": None, **changes}


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, []),
    ({"NV": 0.2}, [("MC202", "AK")]),
    ({"NV": 1.2}, [("MC105", "NV")]),
    ({"NV": None}, [("MC103", "NV")]),
    ({"NV": float("inf")}, [("MC016", "NV")]),
    ({"NV": "0.1"}, [("MC103", "NV")]),
    ({"error": "broken"}, [("MC109", "AK")]),
    ({"image_id": 5}, [("MC103", "image_id")]),
    ({"image_id": None}, [("MC103", "image_id")]),
    ({"extra": 1}, [("MC102", "extra")]),
    ({"NV": Decimal("0.1"), "AK": Decimal("1E-1")}, []),  # what databases return
    ({**dict.fromkeys(CLASSES), "error": "unreadable"}, []),
])  # fmt: skip
def test_class_columns_of_a_frame(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """In a DataFrame the probabilities are columns, and problems name them."""
    report = medcontract.validate_frame(pd.DataFrame([_wide(1, **changes)]), "lesions/predictions")
    assert [(problem.code, problem.field) for problem in report.problems] == expected


def test_a_frame_without_a_column() -> None:
    """A missing column is told once."""
    frame = pd.DataFrame([_wide(n) for n in range(5)]).drop(columns=["MEL"])
    report = medcontract.validate_frame(frame, "lesions/predictions")
    assert [(p.code, p.field, p.record) for p in report.problems] == [("MC101", "MEL", None)]


def test_missing_values_are_null() -> None:
    """None, NaN, NA and NaT are all null."""
    frame = pd.DataFrame({"doc_id": ["a", "b", "c", "d"], "doc_type": "lab", "image_path": "x.png",
                          "label_status": "todo", "pii_checked": "no",
                          "notes": [None, float("nan"), pd.NA, pd.NaT]})  # fmt: skip
    assert medcontract.validate_frame(frame, "extraction/manifest").ok


def test_nested_contracts_do_not_fit_a_frame() -> None:
    """A contract that is not flat is a usage error, and the flat ones are named."""
    with pytest.raises(medcontract.CallError, match="has no table form"):
        medcontract.validate_frame(pd.DataFrame(), "triage/response")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("contract", ["reports/truth", "reports/predictions", "lesions/truth", "lesions/cases"])
def test_pandera_agrees(contract: str) -> None:
    """The pandera schema accepts a frame if and only if `validate_frame` does."""
    import pandera.errors

    source = random.Random(contract)
    schema = frame_schema(contract)
    verdicts = set()
    for _ in range(30):
        rows = [_good(contract, n) for n in range(4)]
        if source.random() < 0.6:
            field = source.choice(sorted(set(rows[0]) & set(_SPOILT)))
            rows[2][field] = source.choice(_SPOILT[field])
        frame = pd.DataFrame(rows, dtype=object)
        try:
            schema.validate(frame, lazy=True)
            accepted = True
        except (pandera.errors.SchemaError, pandera.errors.SchemaErrors):
            accepted = False
        assert accepted == medcontract.validate_frame(frame, contract).ok, rows
        verdicts.add(accepted)
    assert verdicts == {True, False}


def test_pandera_knows_forms_and_sums() -> None:
    """Forms of a record and sums are part of the pandera schema too."""
    import pandera.errors

    schema = frame_schema("lesions/predictions")
    schema.validate(pd.DataFrame([_wide(1), _wide(2)]))
    for changes in ({"NV": 0.2}, {"error": "x"}, {"NV": None}, {"image_id": "I-1"}):
        with pytest.raises((pandera.errors.SchemaError, pandera.errors.SchemaErrors)):
            schema.validate(pd.DataFrame([_wide(1), _wide(2, **changes)]), lazy=True)


def test_packed_twice() -> None:
    """A text is packed once, Parquet not at all."""
    for inside, what in (
        (gzip.compress(b'{"labels": []}'), "a gzip archive inside another"),
        (b"PAR1" + b"\0" * 20, "a gzipped Parquet file"),
    ):
        report = medcontract.validate(gzip.compress(inside), name="x.gz")
        assert [(p.code, p.message) for p in report.problems] == [("MC005", f"this is {what}, not a text file")]


def test_pandera_refuses_half_a_surrogate_pair() -> None:
    """As `validate_frame` does; in other columns of a contract that allows them, too."""
    import pandera.errors

    for contract, row in (
        ("lesions/truth", {"image_id": "I-\ud800", "label": "NV"}),
        ("reports/cases", {"report_id": "R-1", "note": "\udfff"}),
    ):
        frame = pd.DataFrame([row], dtype=object)
        assert [problem.code for problem in medcontract.validate_frame(frame, contract).problems] == ["MC018"]
        with pytest.raises(pandera.errors.SchemaErrors, match="MC018"):
            frame_schema(contract).validate(frame, lazy=True)


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pyarrow is not installed, the call says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setattr(parquet, "run_isolated", lambda parse, *arguments: parse(*arguments))
    with pytest.raises(medcontract.CallError, match="pyarrow") as caught:
        medcontract.validate(b"PAR1" + b"\0" * 20, "lesions/truth", name="x.parquet")
    assert "medcontract[parquet]" in (caught.value.hint or "")


def test_a_time_beyond_the_calendar(tmp_path: Path) -> None:
    """A time that no calendar has is one odd cell, not a damaged file."""
    pa = pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    from pyarrow import parquet

    table = pa.table({"report_id": ["R-1"], "received_at": pa.array([2**62], pa.timestamp("ms"))})
    parquet.write_table(table, tmp_path / "cases.parquet")
    report = medcontract.validate(tmp_path / "cases.parquet", "reports/cases")
    assert (report.contract, report.records, report.problems) == ("reports/cases", 1, ())
    assert medcontract.load(tmp_path / "cases.parquet").value[0].report_id == "R-1"


def test_load_a_parquet_file(tmp_path: Path) -> None:
    """A valid Parquet file can be loaded, as any other container."""
    pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    rows = [_good("lesions/cases", n) for n in range(3)]
    pd.DataFrame(rows, index=[5, 7, 9]).to_parquet(tmp_path / "cases.parquet")
    loaded = medcontract.load(tmp_path / "cases.parquet")
    assert [record.image_id for record in loaded.value] == ["I-0000", "I-0001", "I-0002"]


def test_a_repeated_column(tmp_path: Path) -> None:
    """A column that is there twice is told, in Parquet as in a DataFrame and a CSV."""
    pa = pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    from pyarrow import parquet

    names, cells = ["image_id", "label", "label"], ["I-1", "MEL", "NV"]
    stream = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays([pa.array([cell]) for cell in cells], names=names), stream)
    reports = [
        medcontract.validate(stream.getvalue(), "lesions/truth", name="x.parquet"),
        medcontract.validate(f"{','.join(names)}\n{','.join(cells)}\n".encode(), "lesions/truth", name="x.csv"),
        medcontract.validate_frame(pd.DataFrame([cells], columns=names), "lesions/truth"),
    ]
    for report in reports:
        assert [(p.code, p.field, p.record) for p in report.problems] == [("MC015", "label", None)]
        assert report.records == 1


def test_odd_cells_of_a_frame() -> None:
    """Cells that JSON has nothing for are problems of their column, never a crash."""
    loop: list[Any] = []
    loop.append(loop)
    for cell in (10**5000, loop, object(), b"x", {"a": loop}):
        frame = pd.DataFrame({"image_id": pd.Series([cell], dtype=object), "label": "MEL"})
        report = medcontract.validate_frame(frame, "lesions/truth")
        assert [problem.field for problem in report.problems] == ["image_id"]
    with pytest.raises(medcontract.CallError, match="DataFrame"):
        medcontract.validate_frame([1], "lesions/truth")  # type: ignore[list-item]


def test_many_wrong_items_in_one_record() -> None:
    """A record of very many wrong items is told by its first ones."""
    data = json.dumps({"offline_runs": [1] * 50_000, "proofs": []}).encode()
    report = medcontract.validate(data, "extraction/evidence", name="x.json")
    assert report.errors == 1000
    assert report.problems[-1].pointer == "/offline_runs/999"
    too_many = medcontract.validate(
        json.dumps({"image_id": "a", "probabilities": [0.0] * 5000}).encode(), "lesions/predictions", name="x.jsonl"
    )
    messages = [problem.message for problem in too_many.problems]
    assert messages == ["'probabilities' must have at most 10 items, not 5000"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_small_document_takes_little_memory(pack: Any, tmp_path: Path) -> None:
    """The limit on documents is not what reading one takes: a small one is read into a small room."""
    path = tmp_path / "model.json"
    path.write_bytes(pack(b'{"team_name": "a"}'))
    medcontract.validate(path, "lesions/model")
    tracemalloc.start()
    try:
        medcontract.validate(path, "lesions/model")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_blank_lines_without_end() -> None:
    """Blank lines cost next to nothing and count as nothing, in lines and in tables."""
    line = b'{"image_id": "I-1", "label": "MEL"}'
    blank = b"\n" * 3_000_000
    report = medcontract.validate(blank + line + blank + line[:-1] + b"\n", "lesions/truth", name="x.jsonl")
    assert [(p.code, p.line, p.record) for p in report.problems] == [("MC011", 6_000_001, 1)]
    table = medcontract.validate(b"image_id,label\n" + blank + b"I-1,mel\n", "lesions/truth", name="x.csv")
    assert [(p.code, p.line, p.record) for p in table.problems] == [("MC104", 3_000_002, 0)]


def test_many_problems_of_one_record_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for all wrong items of a list steps over each of its items once."""
    steps = 0
    really_next = json_scanner._next

    def counted(raw: bytes, position: int) -> int:
        nonlocal steps
        steps += 1
        return really_next(raw, position)

    monkeypatch.setattr(json_scanner, "_next", counted)
    data = json.dumps({"offline_runs": [1] * 900, "proofs": []}).encode()
    assert medcontract.validate(data, "extraction/evidence", name="x.json").errors == 900
    assert steps <= 1000


@pytest.mark.parametrize("name", ["año", "a\\b", "a\\g<1>", 'say ""so""', "\\u0041", "µ"])
def test_any_name_of_another_column(name: str) -> None:
    """Columns that an open contract allows may be called anything."""
    rows = "".join(f"R-{number},x\n" for number in range(3))
    cell = f'"{name}"' if '"' in name else name
    report = medcontract.validate(f"report_id,{cell}\n{rows}".encode(), "reports/cases", name="x.csv")
    assert (report.ok, report.records) == (True, 3)
