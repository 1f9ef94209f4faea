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
    "number for a boolean": _changed(follow_up=1),
    "decimal for a boolean": _changed(follow_up=1.0),
    "yes in Spanish": _changed(follow_up="Sí"),
    "decimal comma": _changed(processing_time_sec="0,5"),
    "unit of the field": _changed(processing_time_sec="0.5 s"),
    "comments": TEXT.replace('"predictions"', '/* one\nrun */ "predictions"').replace("}]", "}] // end\n"),
    "translated key": TEXT.replace('"specialty"', '"especialidad"'),
    "no error": _changed(error="NaN"),
    "no error in words": _changed(error="200 OK"),
    "no error as a value": _changed(error=False),
    "no error as a list": _changed(error=[]),
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
    fixed = json.loads(written.removeprefix("\ufeff"))
    assert fixed["predictions"][0].pop("error", None) is None
    assert fixed == json.loads(TEXT)
    assert call("fix", path).out.startswith("Nothing to fix.")


TABLES = {
    "semicolons": LESIONS.replace(".", "·").replace(",", ";").replace("·", ","),
    "points and semicolons": LESIONS.replace(",", ";"),
    "index": "".join(f"{start}{line}\n" for start, line in zip((",", "0,"), LESIONS.splitlines(), strict=True)),
    "lower case": LESIONS.lower().replace("i-1", "I-1"),
    "percent": LESIONS.replace("0.1,", "10%,", 1),
    "tabs": LESIONS.replace(",", "\t"),
    "line for a spreadsheet": "sep=;\n" + LESIONS.replace(".", "·").replace(",", ";").replace("·", ","),
    "quoted decimal commas": LESIONS.replace("0.1", '"0,1"'),
    "comments": f"# model: a, seed 3\n{LESIONS}# end\n",
    "empty rows": LESIONS.replace("I-1", ",,,,,,,,,,\nI-1") + " ,,,,,,,,,,\n",
    "repeated header": LESIONS + LESIONS.partition("\n")[0] + "\n",
    "commas at the end": LESIONS.replace("\n", ",\n"),
    "comma in the header": LESIONS.replace("ON\n", "ON,,\n"),
    "prefix of all classes": LESIONS.replace(CLASSES, "p_" + CLASSES.replace(",", ",p_")),
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


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_wide_encodings(call: Call, codec: str) -> None:
    """UTF-16 becomes UTF-8; without its mark, it is not certain."""
    path = Path("sent.json")
    path.write_bytes(TEXT.encode(codec))
    assert call("fix", path, "--write").code == (0 if codec == "utf-16" else 1)
    assert path.read_bytes() == TEXT.encode("utf-8" if codec == "utf-16" else codec)


def test_paths(call: Call) -> None:
    """Backslashes become slashes, but only in relative paths."""
    head, rows = "image_id,image_path,age,gender,location\n", "I-1,images\\a.png,61,f,7\nI-2,C:\\b.png,34,m,6\n"
    Path("cases.csv").write_text(head + rows, encoding="utf-8")
    assert call("fix", "lesions/cases=cases.csv", "--write").code == 1
    assert Path("cases.csv").read_text(encoding="utf-8") == head + rows.replace("images\\", "images/")


def test_class_numbers_are_not_booleans(call: Call) -> None:
    """0 and 1 are booleans only if no other number is there."""
    records = [{**PREDICTION, "report_id": f"R-{number}", "follow_up": number} for number in (0, 1, 2)]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    Path("sent.jsonl").write_text(text, encoding="utf-8")
    assert call("fix", "sent.jsonl", "--write").code == 1
    assert Path("sent.jsonl").read_text(encoding="utf-8") == text


IDS: dict[str, tuple[list[Any], list[str]]] = {
    "numbers": ([7, 12], ["R-007", "R-012"]),
    "lost zeros": (["7", "12"], ["007", "012"]),
    "blanks": (["R-1 ", " R-2"], ["R-1", "R-2"]),
    "case": (["r-1", "r-2"], ["R-1", "R-2"]),
    "prefix": (["images/R-1", "images/R-2"], ["R-1", "R-2"]),
}


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv"])
@pytest.mark.parametrize("name", IDS)
def test_ids(call: Call, name: str, suffix: str) -> None:
    """Ids that can only mean one of the expected ones are written as there, and only if these are given."""
    given, expected = IDS[name]
    Path("cases.csv").write_text("\n".join(["report_id", *expected, "S-9"]), encoding="utf-8")
    records = [{**PREDICTION, "report_id": each} for each in given]
    lines = [json.dumps(record) for record in records]
    texts = {"json": f'{{"team_name": "A", "predictions": [{", ".join(lines)}]}}', "jsonl": "\n".join(lines)}
    rows = [",".join(map(str, record.values())).replace("True", "true") for record in records]
    path = Path(f"sent.{suffix}")
    text = texts.get(suffix, "\n".join([",".join(PREDICTION), *rows]))
    path.write_text(text, encoding="utf-8")
    call("fix", path, "--write")
    assert path.read_text(encoding="utf-8") == text
    ran = call("fix", path, "--write", "--cases", "reports/cases=cases.csv")
    assert ran.code == 0
    assert "wrote 'report_id' as it is expected (2 times)" in ran.out
    loaded = medcontract.load(path, "reports/predictions").value
    records_found: Any = loaded.predictions if suffix == "json" else loaded
    found = [record.report_id for record in records_found]
    assert found == expected


@pytest.mark.parametrize(("given", "expected"), [
    (["7"], ["07", "007"]),
    (["7", "007"], ["07"]),
    (["r-1", "R-1"], ["R-1"]),
    (["x/R-1", "x/R-2", "Q"], ["R-1", "R-2", "S"]),
])  # fmt: skip
def test_ids_that_may_mean_several(call: Call, given: list[str], expected: list[str]) -> None:
    """Two expected ids for one, two ids for an expected one, and a prefix that not all have: a warning."""
    Path("cases.csv").write_text("\n".join(["report_id", *expected]), encoding="utf-8")
    text = "".join(f"{json.dumps({**PREDICTION, 'report_id': each})}\n" for each in given)
    Path("sent.jsonl").write_text(text, encoding="utf-8")
    ran = call("fix", "sent.jsonl", "--write", "--cases", "cases.csv")
    assert ran.code == 0
    assert ran.out.startswith("Nothing to fix.")
    assert f"MC303 this id is not among the {len(expected)} expected ones" in ran.out
    assert "No problems found" not in ran.out
    assert Path("sent.jsonl").read_text(encoding="utf-8") == text


def test_several_files(call: Call) -> None:
    """Each file is repaired by itself, and a folder is explained."""
    for name, text in {"a.json": JSON_REPAIRS["case"], "b.json": TEXT[:-2]}.items():
        Path(name).write_text(text, encoding="utf-8")
    ran = call("fix", "--write", "--contract", "reports/predictions", "a.json", "b.json")
    assert ran.code == 1
    assert "a.json: ok" in ran.out
    assert "b.json: not ok" in ran.out
    assert Path("a.json").read_text(encoding="utf-8") == TEXT
    ran = call("fix", ".", "--write")
    assert (ran.code, ran.out) == (2, "")
    assert "pass the files in it: fix takes several" in ran.err


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
    """The digits as written are put in quotes where a number is often printed alone; ids, names and states stay."""
    item = {"nombre_prueba": "7", "valor": 5.0, "unidad": "", "estado": None}
    record = {"doc_id": "L-1", "parse_success": True, "resultados": [item, {"valor": "1,50"}]}
    path = Path(f"sent.{suffix}")
    text = json.dumps(record if suffix == "jsonl" else {"documents": [record]}, indent=indent)
    path.write_text(text, encoding="utf-8")
    ran = call("fix", f"extraction/lab-predictions={path}", "--write")
    assert ran.code == 0, ran.out
    right = text.replace(": 5.0,", ': "5.0",')
    assert path.read_text(encoding="utf-8") == right
    for field, value in (("doc_id", 7), ("resultados", [{"estado": 1}]), ("resultados", [{"nombre_prueba": 2}])):
        text = json.dumps({"documents": [{**record, "resultados": [], field: value}]})
        path = Path("other.json")
        path.write_text(text, encoding="utf-8")
        assert call("fix", f"extraction/lab-predictions={path}", "--write").code == 1
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("text", "code"), [
    (_changed(specialty="Heart"), "MC104"),
    (_changed(follow_up=2), "MC103"),
    (_changed(specialty=3), "MC103"),
    (_changed(report_id=7), "MC103"),
    (_changed(processing_time_sec="1,500"), "MC103"),
    (_changed(processing_time_sec="500 ms"), "MC103"),
    (TEXT.replace("processing_time_sec", "processing_time_ms"), "MC102"),
    (TEXT.replace("processing_time_sec", "processing_time"), "MC102"),
    (TEXT.replace('"specialty"', '"true_specialty"'), "MC102"),
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


def test_there_are_never_more_errors(call: Call) -> None:
    """Rules are only checked for records with the right structure: the repaired copy of a segment would break two."""
    segment: dict[str, Any] = {
        "case_id": "C-1", "segment_id": "C-1-00", "segment_start_time_sec": 0.0, "segment_stop_time_sec": 300.0,
        "start_of_case": True, "at_admission": False, "end_of_case": True, "ehr_file_name": "e.csv",
        "gt_lsi_list": [{"lsi_group": "Airway", "lsi_description": "IV", "in_hospital": 0, "elapsed_from_start": 9.5}],
        "vs_file_name": "v.csv", "gt_file_name": "g.json",
    }  # fmt: skip
    copy = json.loads(json.dumps(segment))
    copy["gt_lsi_list"][0]["in_hospital"] = True
    other = {**segment, "case_id": "C-2", "segment_id": "C-2-00", "at_admission": "no"}
    lines = [json.dumps(each) for each in (segment, copy, other)]
    Path("truth.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert medcontract.validate("truth.jsonl", "triage/ground-truth").errors == 2
    fixed = medcontract.fix("truth.jsonl", "triage/ground-truth", write=True)
    assert fixed.remaining.errors == 1
    lines[2] = lines[2].replace('"no"', "false")  # a repair of another kind, which does no harm
    assert Path("truth.jsonl").read_text(encoding="utf-8") == "\n".join(lines)


def test_a_wrong_column_is_wrong_in_every_row(call: Call) -> None:
    """Its right name is written even if that shows repeated ids; a wrong cell that hides them stays."""
    header, row = LESIONS.splitlines()
    name = header.replace("image_id", "Image-ID")
    Path("names.csv").write_text("\n".join([name, *[row] * 5]), encoding="utf-8")
    assert medcontract.fix("names.csv", write=True).remaining.errors == 4
    assert Path("names.csv").read_text(encoding="utf-8").startswith(header)
    text = "\n".join([header, row, row.replace("0.1", "60 %", 1)])
    Path("cells.csv").write_text(text, encoding="utf-8")
    assert medcontract.fix("cells.csv", write=True).remaining.errors == 1
    assert Path("cells.csv").read_text(encoding="utf-8") == text  # as 0.6 the sum would be wrong, too


def test_an_error_without_answer_stays(call: Call) -> None:
    """Where there is no answer, an 'error' that means none is not removed: the record would lack everything."""
    Path("sent.json").write_text(_changed(error="NaN", specialty=..., urgency=..., follow_up=...), encoding="utf-8")
    Path("sent.csv").write_text(f"image_id,{CLASSES},error\nI-1,,,,,,,,,,,nan\n", encoding="utf-8")
    ran = call("fix", "sent.json", "lesions/predictions=sent.csv")
    assert ran.code == 0
    assert ran.out.count("Nothing to fix.") == 2
    assert ran.out.count("hint: write why there is no answer") == 2


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
    if before.usage_error:
        pytest.skip("not a file of a contract")
    fixed = medcontract.fix(vector.path, contract)
    assert not (before.ok and not before.warnings and fixed.changed)
    assert not fixed.changed or fixed.remaining.errors <= before.errors or before.contract is None


@property_settings(100)
@given(st.text(alphabet="{}[]'\",:;`\\\nTrueNone0 ñ\r", max_size=40), st.sampled_from([".json", ".jsonl", ".csv"]))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str, extension: str) -> None:
    """Never an exception, whatever the text."""
    path = tmp_path_factory.getbasetemp() / f"any{extension}"
    path.write_text(text, encoding="utf-8", newline="")
    for contract in ("reports/predictions", None):
        medcontract.fix(path, contract)


JUNK: dict[str, list[Any]] = {
    "report_id": ["R-1", " R-2", 7, ""],
    "specialty": ["Oncology", "oncology ", 3, None, "Heart"],
    "urgency": ["Urgent", "URGENT", "0"],
    "follow_up": [True, 0, 1, 2, "no", "Sí", "maybe"],
    "processing_time_sec": [0.5, "0,5", "1,500", "0.5 s", "12 %", "nan", -1],
    "error": [..., None, "", "nan", 0, False, "timeout"],
    "run_id": [..., "1", 1],
    "Urgency": [..., ..., "Routine"],
}


@property_settings(200)
@given(st.lists(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in JUNK.items()}), max_size=4))
def test_only_what_is_wrong(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> None:
    """No value without a problem changes, none is lost, errors become fewer, and a second repair finds nothing."""
    path = tmp_path_factory.getbasetemp() / "junk.json"
    sent = [{name: value for name, value in record.items() if value is not ...} for record in records]
    path.write_text(json.dumps({"team_name": "A", "predictions": sent}), encoding="utf-8")
    before = medcontract.validate(path, "reports/predictions")
    without = [
        {**record, "error": None if record.get("error") in ("nan", 0) else record.get("error")} for record in sent
    ]
    answered = json.dumps({"team_name": "A", "predictions": without}).encode()
    hidden = medcontract.validate(answered, "reports/predictions").problems  # by an error that means none
    wrong = {problem.pointer for problem in (*before.problems, *hidden)}
    fixed = medcontract.fix(path, "reports/predictions", write=True)
    after = json.loads(path.read_text(encoding="utf-8"))["predictions"]
    assert len(after) == len(sent)
    for number, (old, new) in enumerate(zip(sent, after, strict=True)):
        kept = {name for name in old if f"/predictions/{number}/{name}" not in wrong}
        assert {name: old[name] for name in kept} == {name: new[name] for name in kept}
        assert len(old) == len(new)
    shape = [sum(each.code < "MC2" for each in report.problems) for report in (before, fixed.remaining)]
    assert shape[1] < shape[0] or not fixed.changed or before.warnings
    assert not medcontract.fix(path, "reports/predictions").changed


CELLS: dict[str, list[str]] = {
    "report_id": ["R-1", " R-2", "7", ""],
    "specialty": ["Oncology", "oncology ", "3", "Heart", ""],
    "urgency": ["Urgent", "URGENT", "#N/A"],
    "follow_up": ["true", "1", "no", "Sí", "maybe", ""],
    "processing_time_sec": ["0.5", '"0,5"', '"1,500"', "0.5 s", "nan", "-1", " 0.5"],
    "error": ["", "nan", "0", "200 OK", "timeout"],
}


@property_settings(100)
@given(
    st.lists(st.tuples(*map(st.sampled_from, CELLS.values())), max_size=5),
    st.sampled_from(["", "# note\n", "sep=,\n"]),
    st.sampled_from(["", ",,,,,\n", f"{','.join(CELLS)}\n"]),
)
def test_only_what_is_wrong_in_tables(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], start: str, end: str
) -> None:
    """No row with content is lost, no row without a problem changes, and a second repair finds nothing."""
    path = tmp_path_factory.getbasetemp() / "junk.csv"
    text = start + ",".join(CELLS) + "\n" + "".join(f"{','.join(row)}\n" for row in rows)
    path.write_text(text + end, encoding="utf-8", newline="")
    table = text.removeprefix(start).encode()
    before = medcontract.validate(table, "reports/predictions", name="table.csv")
    fixed = medcontract.fix(path, "reports/predictions", write=True)
    after = path.read_text(encoding="utf-8").splitlines()
    assert len(after) - len(rows) in (1, 2, 3)  # the header, and what may be left around the table
    numbers = {problem.line for problem in before.problems}
    assert all(number in numbers or line in after for number, line in enumerate(table.decode().splitlines(), 1))
    assert not fixed.changed or not medcontract.fix(path, "reports/predictions").changed
