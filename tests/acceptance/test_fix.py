"""`medcontract fix`: repairs what has exactly one right repair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import Call, on_a_terminal
from tests.support import property_settings, vectors

import medcontract

PREDICTION: dict[str, Any] = {
    "report_id": "R-1", "specialty": "Cardiology", "urgency": "Urgent", "follow_up": True, "processing_time_sec": 0.5,
}  # fmt: skip
TEXT = json.dumps({"team_name": "Ñandú", "predictions": [PREDICTION]}, ensure_ascii=False)
CLASSES = "AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON"
LESIONS = f"image_id,{CLASSES}\nI-1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1\n"


def _changed(**changes: Any) -> str:
    record = {key: value for key, value in {**PREDICTION, **changes}.items() if value is not ...}
    return json.dumps({"team_name": "Ñandú", "predictions": [record]}, ensure_ascii=False)


JSON_REPAIRS = {
    "trailing commas": TEXT.replace("}]", ",},]"),
    "python literals": TEXT.replace("true", "True"),
    "single quotes": TEXT.replace('"', "'"),
    "fence": f"```json\n{TEXT}\n```\n",
    "case": _changed(specialty="cardiology"),
    "accents and spaces": _changed(urgency=" Úrgent "),
    "number as string": _changed(processing_time_sec="0.5"),
    "boolean as string": _changed(follow_up="True"),
    "case of a key": TEXT.replace('"specialty"', '"Specialty"'),
    "separators of a key": TEXT.replace("processing_time_sec", "processing-time-sec"),
    "misspelled key": TEXT.replace('"specialty"', '"speciality"'),
    "misspelled header": TEXT.replace('"team_name"', '"teamName"'),
}


@pytest.mark.parametrize(
    ("name", "mark"), [(name, mark) for name in JSON_REPAIRS for mark in ("", "\ufeff") if name != "fence" or not mark]
)
def test_json(call: Call, name: str, mark: str) -> None:
    """Each mistake is repaired, and the file then equals the correct one."""
    path = Path("sent.json")
    path.write_text(mark + JSON_REPAIRS[name], encoding="utf-8")
    ran = call("fix", "--contract", "reports/predictions", path)
    assert ran.code == 0
    assert path.read_text(encoding="utf-8") == mark + JSON_REPAIRS[name]
    assert call("fix", "--contract", "reports/predictions", path, "--write").code == 0
    written = path.read_text(encoding="utf-8")
    assert written.startswith(mark)
    assert json.loads(written.removeprefix("\ufeff")) == json.loads(TEXT)
    assert call("fix", path).out.startswith("Nothing to fix.")


TABLES = {
    "semicolons": LESIONS.replace(".", "·").replace(",", ";").replace("·", ","),
    "points and semicolons": LESIONS.replace(",", ";"),
    "index": "".join(f"{start}{line}\n" for start, line in zip((",", "0,"), LESIONS.splitlines(), strict=True)),
    "lower case": LESIONS.lower().replace("i-1", "I-1"),
    "percent": LESIONS.replace("0.1,", "10%,", 1),
    "spaces": LESIONS.replace("0.1,", " 0.1 ,"),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables(call: Call, name: str, end: str) -> None:
    """Each mistake is repaired; line ends stay."""
    path = Path("sent.csv")
    path.write_bytes(TABLES[name].replace("\n", end).encode())
    assert call("fix", f"lesions/predictions={path}", "--write").code == 0
    assert path.read_bytes().decode().replace("0.10", "0.1") == LESIONS.replace("\n", end)


def test_booleans_of_a_spreadsheet(call: Call) -> None:
    """VERDADERO and FALSO."""
    head = "report_id;specialty;urgency;follow_up\n"
    Path("truth.csv").write_text(f"{head}R-1;cardiology;Urgent;VERDADERO\n", encoding="utf-8")
    assert call("fix", "reports/truth=truth.csv", "--write").code == 0
    assert Path("truth.csv").read_text(encoding="utf-8").endswith("R-1,Cardiology,Urgent,true\n")


def test_lines(call: Call) -> None:
    """A record per line: only the lines with mistakes change."""
    good = json.dumps(PREDICTION)
    Path("x.jsonl").write_text(
        f"{good}\r\n{good.replace('R-1', 'R-2').replace('true', 'True')}\r\n", encoding="utf-8", newline=""
    )
    assert call("fix", "x.jsonl", "--write").code == 0
    assert Path("x.jsonl").read_bytes().decode() == f"{good}\r\n{good.replace('R-1', 'R-2')}\r\n"


@pytest.mark.parametrize(
    ("text", "certain"),
    [("Año del riñón: 5 µg", True), ("Ñandú", True), ("¿Qué?", False), ("Toruñ", False), ("x³", False)],
)
def test_encoding(call: Call, text: str, certain: bool) -> None:
    """Windows-1252 is converted if every letter is certain."""
    path = Path("sent.json")
    raw = TEXT.replace("Ñandú", text).encode("cp1252")
    path.write_bytes(raw)
    ran = call("fix", path, "--write")
    assert ran.code == (0 if certain else 1)
    assert path.read_bytes() == (TEXT.replace("Ñandú", text).encode() if certain else raw)


@pytest.mark.parametrize(("suffix", "indent"), [("json", None), ("json", 2), ("jsonl", None)])
def test_numbers_for_texts(call: Call, suffix: str, indent: int | None) -> None:
    """The digits as written are put in quotes; an id and an exception stay."""
    item = {"nombre_prueba": 7, "valor": 5.0, "unidad": -0.5, "estado": None}
    record = {"doc_id": "L-1", "parse_success": True, "resultados": [item, {"valor": "1,50"}]}
    path = Path(f"sent.{suffix}")
    text = json.dumps(record if suffix == "jsonl" else {"documents": [record]}, indent=indent)
    path.write_text(text, encoding="utf-8")
    ran = call("fix", f"extraction/lab-predictions={path}", "--write")
    assert ran.code == 0, ran.out
    right = text.replace(": 7,", ': "7",').replace(": 5.0,", ': "5.0",').replace(": -0.5,", ': "-0.5",')
    assert path.read_text(encoding="utf-8") == right
    for field, value in (("doc_id", 7), ("exception", 0)):
        text = json.dumps({"documents": [{**record, "resultados": [], field: value}]})
        path = Path("other.json")
        path.write_text(text, encoding="utf-8")
        assert call("fix", f"extraction/lab-predictions={path}", "--write").code == 1
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("text", "code"), [
    (_changed(specialty="Heart"), "MC104"),
    (_changed(follow_up=1), "MC103"),
    (_changed(report_id=7), "MC103"),
    (_changed(processing_time_sec="0,5"), "MC103"),
    (_changed(processing_time_sec="NaN"), "MC103"),
    (TEXT.replace('"specialty"', '"Specialty": "Oncology", "SPECIALTY"'), "MC102"),
    (_changed(Specialty="Oncology"), "MC102"),
    (TEXT[:-2], "MC011"),
    (TEXT + TEXT, "MC014"),
    ("", "MC004"),
])  # fmt: skip
def test_nothing_is_guessed(call: Call, text: str, code: str) -> None:
    """A mistake with several possible repairs, or none, stays and is reported."""
    path = Path("sent.json")
    path.write_text(text, encoding="utf-8")
    ran = call("fix", "--contract", "reports/predictions", path, "--write")
    assert ran.code == 1
    assert code in ran.out
    assert "Nothing was fixed" in ran.out
    assert path.read_text(encoding="utf-8") == text


def test_values_do_not_leak(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The diff is shown on a terminal or with --show-values."""
    Path("sent.json").write_text(_changed(report_id="Secreto", specialty="cardiology"), encoding="utf-8")
    assert "Secreto" not in call("fix", "sent.json").out
    assert "cardiology" not in call("fix", "sent.json").out
    shown = call("fix", "sent.json", "--show-values").out
    assert "-{" in shown
    assert "Secreto" in shown
    assert "Secreto" not in call("fix", "sent.json", "--quiet").out
    on_a_terminal(monkeypatch)
    assert "Secreto" in call("fix", "sent.json").out


@pytest.mark.parametrize("name", ["missing.json", "x.json.gz", "folder", "-", "x.parquet"])
def test_wrong_calls(call: Call, name: str) -> None:
    """What cannot be repaired is a wrong call."""
    Path("x.json.gz").write_bytes(b"\x1f\x8b")
    Path("x.parquet").write_bytes(b"PAR1" + b"\0" * 20)
    Path("folder").mkdir()
    code, out, err = call("fix", name)
    assert (code, out) == (2, "")
    assert err.startswith("medcontract: ")


@pytest.mark.parametrize("target", ["../elsewhere/file.json", "file.json"])
@pytest.mark.parametrize("given", ["sub/link.json", "folder/link.json"])
def test_links(call: Call, target: str, given: str) -> None:
    """A link out of its folder is not followed when the repaired file is written; one that stays inside is."""
    Path("sub").mkdir()
    Path("elsewhere").mkdir()
    Path("folder").symlink_to("sub")  # as the caller names it
    file = Path("sub", target)
    file.write_text(JSON_REPAIRS["case"], encoding="utf-8")
    Path("sub", "link.json").symlink_to(target)
    ran = call("fix", given, "--write")
    inside = target == "file.json"
    assert ran.code == (0 if inside else 2)
    assert "this link leads out of its folder and is not followed" in ran.err or inside
    assert file.read_text(encoding="utf-8") == (TEXT if inside else JSON_REPAIRS["case"])
    assert Path(given).is_symlink()


def test_python(tmp_path: Path) -> None:
    """The same as a function."""
    path = tmp_path / "sent.json"
    path.write_text(_changed(specialty="cardiology"), encoding="utf-8")
    fixed = medcontract.fix(path)
    assert fixed
    assert (fixed.changed, fixed.written) == (True, False)
    assert '"Cardiology"' in fixed.diff()
    assert "Cardiology" not in repr(fixed)
    assert medcontract.fix(path, write=True).written
    assert medcontract.validate(path)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_of_the_diff(line_end: str, call: Call) -> None:
    """Only LF, CRLF and CR end a line, not the U+2028 in a text."""
    lines = ["report_id,specialty,urgency,follow_up,processing_time_sec", "R\u20281,other,Urgent,true,0.5", ""]
    Path("sent.csv").write_text(line_end.join(lines), encoding="utf-8", newline="")
    fixed = medcontract.fix("sent.csv")
    assert [line[0] for line in fixed.diff().split("\n")[2:-1]] == ["@", " ", "-", "+"]
    assert call("fix", "sent.csv", "--show-values").out.count("1,other,Urgent") == 1


FIXABLE = [vector for vector in vectors() if vector.path.suffix in (".json", ".jsonl", ".csv")]


@pytest.mark.parametrize("vector", FIXABLE, ids=lambda vector: vector.name)
@pytest.mark.sampled(20)
def test_vectors(tmp_path: Path, vector: Any) -> None:
    """A valid file is not changed, and a repair never adds errors or breaks a file."""
    contract = vector.folder if vector.verdict != "syntax" else None
    before = medcontract.validate(vector.path, contract)
    if before.wrong_call:
        pytest.skip("not a file of a contract")
    fixed = medcontract.fix(vector.path, contract)
    assert not (before.ok and fixed.changed)
    assert not fixed.changed or fixed.remaining.errors <= before.errors or before.contract is None


@property_settings(100)
@given(st.text(alphabet="{}[]'\",:;`\\\nTrueNone0 ñ\r", max_size=40), st.sampled_from([".json", ".jsonl", ".csv"]))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str, extension: str) -> None:
    """Never an exception, whatever the text."""
    path = tmp_path_factory.getbasetemp() / f"any{extension}"
    path.write_text(text, encoding="utf-8", newline="")
    for contract in ("reports/predictions", None):
        medcontract.fix(path, contract)
