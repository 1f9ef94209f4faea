"""Records that are decoded many at a time: the same values as one by one, or none at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict
from tests.support import property_settings

import medcontract
from medcontract.contracts import registry
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.located_records import LocatedRecord
from medcontract.reading.source import Source
from medcontract.scoring.canonical import record_lines, record_text

GOOD = b'{"image_id": "a", "label": "NV"}'
OTHER = b'{"label": "MEL", "image_id": "b"}'


def decoded(text: bytes) -> list[dict[str, Any]] | None:
    values = registry.find("lesions/truth").decode_lines(text)
    return None if values is None else list(map(asdict, values))


def test_one_record_per_line() -> None:
    """The values of all records, in their order."""
    assert decoded(GOOD + b"\n" + OTHER + b"\n") == [
        {"image_id": "a", "label": "NV"}, {"image_id": "b", "label": "MEL"},
    ]  # fmt: skip


@pytest.mark.parametrize("present", [(False, False), (True, False), (False, True), (True, True)])
def test_optional_fields_may_be_absent(present: tuple[bool, ...]) -> None:
    """An absent field is null, whether other records have it or not."""
    records = [{"image_id": f"{n}", "probabilities": [0.1] * 10, "error": None} for n in range(len(present))]
    text = b""
    for record, has_error in zip(records, present, strict=True):
        kept = {name: value for name, value in record.items() if has_error or name != "error"}
        text += json.dumps(kept).encode() + b"\n"
    values = registry.find("lesions/predictions").decode_lines(text)
    assert values is not None
    assert list(map(asdict, values)) == records


@pytest.mark.parametrize("text", [
    GOOD,
    GOOD + b"\n\n",
    b"\n" + GOOD + b"\n",
    GOOD + OTHER + b"\n",
    GOOD + b" " + OTHER + b"\n\n",
    GOOD + OTHER + b"\n" + GOOD.replace(b", ", b",\n") + b"\n",
    GOOD.replace(b", ", b",\n") + b"\n",
    GOOD.replace(b", ", b",\r") + b"\n",
    GOOD + b"\r\n" + OTHER + b"\r\n",
    GOOD + b"\n" + GOOD.replace(b"{", b'{"image_id": "c", ') + b"\n",
    GOOD.replace(b"NV", b"XX") + b"\n",
    GOOD.replace(b'"a"', b'" "') + b"\n",
    GOOD.replace(b'"a"', b'"\xff"') + b"\n",
    b"[" + GOOD + b"]\n",
])  # fmt: skip
def test_anything_else_is_left_to_one_by_one(text: bytes) -> None:
    """No values for lines without exactly one certainly valid record each, in particular with a repeated key."""
    assert decoded(text) is None


_PIECES = st.sampled_from([
    b"{", b"}", b"[", b"]", b"\n", b"\r", b",", b" ", b'"image_id":"a"', b'"label":"NV"', b'"error":null',
    GOOD, OTHER, b"}\n{", b'{"image_id":"x","label":"NV","image_id":"x"}',
])  # fmt: skip


@property_settings(300)
@given(st.lists(_PIECES, max_size=14).map(b"".join))
def test_the_same_values_as_one_by_one(text: bytes) -> None:
    """Whatever the text: if it is decoded at once, each of its lines is decoded to the same value."""
    contract = registry.find("lesions/truth")
    at_once = decoded(text)
    if at_once is not None:
        each = [contract.decode_record(line) for line in text.splitlines()]
        assert [value and asdict(value) for value in each] == at_once


_DRUG = '{"nombre_medicamento":"%s","dosis":"","frecuencia":"","duracion":"","instrucciones":""}'


def label(more: str = "", name: str = "a") -> bytes:
    return b'{"doc_id":"d","doc_type":"prescription","medications":[%b]%b}\n' % ((_DRUG % name).encode(), more.encode())


@pytest.mark.parametrize("order", [(0, 1, 0, 0), (1, 0, 1), (1, 1, 2, 0), (2, 1, 0, 1)])
def test_optional_fields_may_be_absent_or_null(order: tuple[int, ...]) -> None:
    """Blocks with and without null, in any order, are decoded at once: null is the same as absent."""
    contract = registry.find("extraction/prescription-labels")
    texts = [
        label() + label(',"notes":"n"'),
        label(',"notes":null') * 2,
        label() + label(',"notes":null,"reviewer":"r"'),
    ]
    for number in order:
        values = contract.decode_lines(texts[number])
        each = [contract.decode_record(line) for line in texts[number].splitlines()]
        assert values is not None
        assert list(map(asdict, values)) == list(map(asdict, each))
        assert record_lines(values) == b"".join(record_text(value) + b"\n" for value in each)


@pytest.mark.parametrize("text", [
    label(',"notes":null,"notes":null'),
    label(',"notes":"n","notes":null'),
    label(',"image_paths":[null]'),
    label(name=" "),
    label().replace(b'"dosis":""', b'"dosis":"","dosis":""'),
    label().replace(b'"dosis":"",', b""),
])  # fmt: skip
def test_doubtful_objects_in_lists_and_optional_fields(text: bytes) -> None:
    """A repeated key, a blank name or a missing field: no values, whichever decoder was used before."""
    contract = registry.find("extraction/prescription-labels")
    for before in (label(), label(',"notes":null')):
        assert contract.decode_lines(before) is not None
        assert contract.decode_lines(text) is None
        assert contract.decode_lines(before + text) is None


_CELLS = st.sampled_from([
    "", "a", "b c", " a", "a ", "0.5", "1", "-0", "+1", "1e-1", "01", ".5", "1_0", "nan", "null", "true", "True", "(x)",
    "Cardiology", "Urgent", "Routine",
])  # fmt: skip
_ROWS = st.lists(st.lists(_CELLS, min_size=1, max_size=6).map(",".join), min_size=2, max_size=4)
_REPORT = "report_id,specialty,urgency,follow_up,processing_time_sec"
_TABLES = (
    ("reports/predictions", _REPORT, "r1,Cardiology,Urgent,true,0.5"),
    ("reports/predictions", f"{_REPORT},error", "r1,Other,Routine,false,1,"),
    ("lesions/truth", "image_id,label", "a b,NV"),
    ("lesions/truth", "label,image_id", "NV,a"),
    ("lesions/predictions", "image_id,AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON", "a,1,0,0,0,0,0,0,0,0,0"),
    ("lesions/predictions", "AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON,image_id,error", "1,0,0,0,0,0,0,0,0,0,a,"),
    ("lesions/predictions", "image_id,BCC,AK,SK,SCC,VASC,DF,NV,NON,MEL,ON", "a,1,0,0,0,0,0,0,0,0,0"),
)  # fmt: skip


def rows_of(contract_id: str, text: str, in_blocks: bool) -> list[Any]:
    contract = registry.find(contract_id)
    table = CsvFile(Source(text.encode(), "x.csv"))
    one = contract.decode_record
    lines = contract.decode_lines if in_blocks else lambda text: None
    found: list[Any] = []
    for rows in table.rows_in_blocks(contract.columns, contract.open, one, lines):
        found += [rows.value and asdict(rows.value)] if isinstance(rows, LocatedRecord) else map(asdict, rows.values)
    return found


@property_settings(300)
@given(st.sampled_from(_TABLES), st.data())
def test_rows_in_blocks_have_the_same_values(table: tuple[str, str, str], data: st.DataObject) -> None:
    """Rows of plain cells, some of them replaced by anything else, have the same values many at a time."""
    contract_id, header, good = table
    rows = []
    for row in data.draw(st.lists(st.just(good), min_size=2, max_size=5)):
        cells = row.split(",")
        for place in data.draw(st.lists(st.integers(0, len(cells) - 1), max_size=2)):
            cells[place] = data.draw(_CELLS)
        rows.append(",".join(cells))
    if data.draw(st.integers(0, 9)) == 0:
        rows = data.draw(_ROWS)
    text = "\n".join([header, *rows, ""])
    assert rows_of(contract_id, text, in_blocks=True) == rows_of(contract_id, text, in_blocks=False)


@pytest.mark.parametrize(("contract_id", "header", "good"), _TABLES[:-1])
def test_plain_tables_are_read_in_blocks(contract_id: str, header: str, good: str) -> None:
    """Rows without quotes are read many at a time, also with empty optional cells: that is why it is fast."""
    contract = registry.find(contract_id)
    table = CsvFile(Source(f"{header}\n{good}\n{good}\n".encode(), "x.csv"))
    (block,) = table.rows_in_blocks(contract.columns, contract.open, contract.decode_record, contract.decode_lines)
    assert not isinstance(block, LocatedRecord)
    assert len(block.values) == len(block.raw.splitlines()) == 2


def test_a_carriage_return_ends_the_line_of_a_failed_record() -> None:
    """As everywhere else, also where lines are decoded around it."""
    good = '{"image_id": "I-1", "probabilities": [0,1,0,0,0,0,0,0,0,0]}\n'
    text = good + '{"image_id": "I-2",\r "error": "x"}\n{"image_id": "I-3", "error": "x"}\n'
    report = medcontract.validate(text.encode(), "lesions/predictions", name="p.jsonl")
    assert [(problem.code, problem.line) for problem in report.problems] == [("MC011", 2), ("MC014", 3)]
    assert medcontract.validate(text.replace("\r", "").encode(), "lesions/predictions", name="p.jsonl").ok


def test_too_long_lines_are_not_records_in_the_second_pass(tmp_path: Path) -> None:
    """A repeated id in one of them is not reported."""
    failed = '{"image_id": "I-1", "error": "x"}\n'
    text = failed + '{"image_id": "I-1", "probabilities": [0.0,0.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0]}\n' + failed
    (tmp_path / "p.jsonl").write_text(text)
    (report,) = medcontract.validate_files([tmp_path / "p.jsonl"], "lesions/predictions", max_record=50).files
    assert [(problem.code, problem.line) for problem in report.problems] == [("MC020", 2), ("MC201", 3)]
