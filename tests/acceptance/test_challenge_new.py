"""`challenge new`: what it writes works at once, says what was inferred, and contains no data of the truth."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import Call, caller
from tests.support import property_settings

import medcontract
from medcontract import Challenge
from medcontract.challenges import model
from medcontract.challenges.rules import RULES
from medcontract.scoring.metrics import KINDS

Rows = list[dict[str, Any]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(capsys)


def truth_file(folder: Path, rows: Rows, name: str = "truth.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def cases(rows: int = 12, /, **columns: Any) -> Rows:
    """Records with a key and these values, repeated."""
    return [
        {"case_id": f"C-{n:03}", **{name: values[n % len(values)] for name, values in columns.items()}}
        for n in range(rows)
    ]


def inferred(folder: Path, rows: Rows) -> dict[str, Any]:
    """The parsed challenge file for a table."""
    path, *_ = medcontract.new_challenge(folder / "new", truth=truth_file(folder, rows))
    return tomllib.loads(path.read_text(encoding="utf-8"))


def works(folder: Path, truth: Path | None = None) -> None:
    """Every command succeeds on the files of a new challenge, and on the truth that it was inferred from."""
    challenge = folder / "challenge.toml"
    report = medcontract.check_challenge(challenge)
    assert (bool(report), report.files[0].problems) == (True, ())
    loaded = Challenge.load(challenge)
    example = folder / "example"
    assert loaded.validate_files(example)
    assert loaded.preflight(example / "predictions.json", example / "cases.json")
    assert loaded.preflight(example)
    score = loaded.score(example / "truth.json", example / "predictions.json")
    assert score, score.reasons
    assert score.result is not None
    assert score.result["headline"]["value"] is not None
    assert loaded.leaderboard(example / "truth.json", example / "predictions.json").submissions[0].rank == 1
    if truth is not None:
        assert loaded.validate(truth, f"{loaded.id}/truth").problems == ()


# --- without a truth --------------------------------------------------------------------------------------------------


def test_commands(call: Call, tmp_path: Path) -> None:
    """Without a truth, a made-up challenge is written, and the suggested commands succeed."""
    ran = call("challenge", "new", "demo")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "demo/challenge.toml", "demo/example/truth.json", "demo/example/predictions.json", "demo/example/cases.json",
    ]  # fmt: skip
    suggested = [line.removeprefix("Next: medcontract ").split() for line in ran.err.splitlines()]
    assert [words[0] for words in suggested] == ["challenge", "preflight", "score"]
    for words in suggested:
        assert call(*words).code == 0
    works(tmp_path / "demo")
    assert Challenge.load("demo/challenge.toml").id == "demo"


def test_every_option_is_shown(call: Call) -> None:
    """With all options that are commented out, the file is still valid; together they are all that exist."""
    call("challenge", "new", "demo")
    text = Path("demo/challenge.toml").read_text(encoding="utf-8")
    complete = re.sub(r"(?m)^#(?=[\[a-z])", "", text)
    assert complete.count("\n#") > 20  # explanations
    values = tomllib.loads(complete)
    report = medcontract.check_challenge(complete.encode())
    assert [(each.code, each.message) for each in report.files[0].problems] == []
    assert set(values) == {field.alias or name for name, field in model.Definition.model_fields.items()}
    used = [field for part in ("prediction", "truth") for field in values[part].values()]
    assert {key for field in used for key in field} >= set(model.Field.model_fields) - {"min_length"}
    assert {field["type"] for field in used if "type" in field} == set(model.TYPES)
    assert all(re.search(rf"(?m)^#   {kind} ", text) for kind in KINDS)
    assert all(re.search(rf"\b{kind}\b", text) for kind in RULES)
    assert [rule["kind"] for rule in values["rule"]] == ["order"]


def test_nothing_is_overwritten(call: Call, tmp_path: Path) -> None:
    """Existing files are kept, unless --force is given, and no other file is written."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "challenge.toml").write_text("mine")
    ran = call("challenge", "new", "demo")
    assert ran.code == 2
    assert "demo already has challenge.toml" in ran.err
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["challenge.toml"]
    assert (tmp_path / "demo" / "challenge.toml").read_text() == "mine"
    assert call("challenge", "new", "demo", "--force").code == 0
    works(tmp_path / "demo")
    assert call("challenge", "new", "demo/challenge.toml").code == 2
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "example").write_text("a file")
    assert call("challenge", "new", "locked").code == 2


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("Stroke 2026!",), "stroke-2026"),
        (("2026",), "challenge"),
        (("lesions",), "lesions-challenge"),
        (("demo", "--id", "ct-stroke"), "ct-stroke"),
    ],
)
def test_id(call: Call, arguments: tuple[str, ...], found: str) -> None:
    assert call("challenge", "new", *arguments).code == 0
    assert Challenge.load(f"{arguments[0]}/challenge.toml").id == found


@pytest.mark.parametrize("wrong", ["Stroke", "a_b", "", "reports", "x" * 100])
def test_wrong_id(call: Call, wrong: str) -> None:
    assert call("challenge", "new", "demo", "--id", wrong).code == 2
    assert not Path("demo").exists()


# --- what is inferred -------------------------------------------------------------------------------------------------

TYPES: list[tuple[str, list[Any], dict[str, Any], dict[str, Any]]] = [
    # name, values, field, metric
    ("label", ["b", "a", "c"], {"one_of": ["a", "b", "c"]}, {"kind": "f1", "average": "macro"}),
    ("label", ["x"], {"one_of": ["x"]}, {"kind": "f1", "average": "macro"}),
    ("kind", ["b", "B", "a"], {"one_of": ["a", "B", "b"]}, {"kind": "f1", "average": "macro"}),
    ("specialty", ["Internal Medicine", "Emergency Medicine"], {"one_of": ["Emergency Medicine", "Internal Medicine"]},
     {"kind": "f1", "average": "macro"}),
    ("sepsis", [True, False], {"type": "boolean"}, {"kind": "f1", "positive": True}),
    ("covid", [True, False], {"type": "boolean"}, {"kind": "f1", "positive": True}),
    ("patient_outcome", ["died", "alive"], {"one_of": ["alive", "died"]}, {"kind": "f1", "average": "macro"}),
    ("grade", [0, 1, 2, 3], {"type": "integer", "min": 0, "max": 3}, {"kind": "kappa", "weights": "quadratic"}),
    ("stay", [3, 17, 140], {"type": "integer", "min": 0, "max": 200}, {"kind": "mae", "unprocessed": 200}),
    ("risk", [0.25, 0.5], {"type": "number", "min": 0, "max": 1}, {"kind": "mae", "unprocessed": 1}),
    ("change", [-3.5, 12.25], {"type": "number", "min": -20, "max": 20}, {"kind": "mae", "unprocessed": 40}),
    ("loss", [-30.5, -1.0], {"type": "number", "min": -50, "max": 0}, {"kind": "mae", "unprocessed": 50}),
    ("findings", [["edema"], [], ["shift", "edema"]],
     {"type": "set", "of": {"one_of": ["edema", "shift"]}}, {"kind": "set_f1", "average": "cases"}),
    ("codes", [[f"I{n}"] for n in range(13)], {"type": "set", "of": {"type": "str"}},
     {"kind": "set_f1", "average": "cases"}),
    ("answer", [f"Number {n}." for n in range(13)], {"type": "str"}, {"kind": "token_f1", "normalize": "clinical"}),
    ("answer", [f"First line {n}\nSecond line" for n in range(12)], {"type": "text"},
     {"kind": "token_f1", "normalize": "clinical"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "field", "metric"), TYPES)
def test_types(tmp_path: Path, name: str, values: list[Any], field: dict[str, Any], metric: dict[str, Any]) -> None:
    """Each type is inferred, with its bounds or values and a metric, and what was written works."""
    found = inferred(tmp_path, cases(60, **{name: values}))
    assert found["key"] == "case_id"
    assert found["prediction"] == found["truth"] == {name: field}
    assert found["metric"] == [{"name": metric["kind"], "field": name, **metric}]
    assert found["score"] == {"headline": metric["kind"]}
    works(tmp_path / "new", tmp_path / "truth.jsonl")


def test_several_labels_in_a_cell(tmp_path: Path) -> None:
    """Labels that are separated within a cell are one string; a comment says how to write them as a set."""
    inferred(tmp_path, cases(findings=["edema;shift", "edema", "shift;edema"]))
    assert "# several labels per cell? Write them as lists" in (tmp_path / "new" / "challenge.toml").read_text()
    works(tmp_path / "new", tmp_path / "truth.jsonl")


def test_null(tmp_path: Path) -> None:
    """A value that is missing in some cases is optional in the truth, not in the prediction."""
    rows = cases(18, label=["a", "b", None])
    del rows[0]["label"]
    found = inferred(tmp_path, rows)
    assert found["truth"]["label"] == {"one_of": ["a", "b"], "optional": True}
    assert found["prediction"]["label"] == {"one_of": ["a", "b"]}
    works(tmp_path / "new", tmp_path / "truth.jsonl")


def test_labels_and_others(tmp_path: Path) -> None:
    """Columns that are named like labels are predicted; the others are only in the truth."""
    rows = cases(label=["a", "b"], grade=[0, 1, 2], age=[40, 51], seen=["2026-01-01"], remarks=["ok", "ok"])
    found = inferred(tmp_path, rows)
    assert list(found["prediction"]) == ["label", "grade"]
    assert list(found["truth"]) == ["label", "grade", "age", "seen", "remarks"]
    assert found["truth"]["seen"] == {"type": "date"}
    assert [metric["name"] for metric in found["metric"]] == ["label_f1", "grade_kappa"]
    assert found["score"] == {"headline": "total", "sums": {"total": {"label_f1": 0.5, "grade_kappa": 0.5}}}
    works(tmp_path / "new", tmp_path / "truth.jsonl")


def test_weights_of_three(tmp_path: Path) -> None:
    """If equal weights are no short decimals, they are 1; metrics that are better when lower are not added."""
    found = inferred(tmp_path, cases(a=["x", "y"], b=["x", "y"], c=[True, False], d=[1.5, 30.0]))
    assert found["score"]["sums"] == {"total": {"a_f1": 1, "b_f1": 1, "c_f1": 1}}
    works(tmp_path / "new")


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (("accession", "label"), "accession"), (("label", "id", "study_id"), "id"), (("item", "label"), "item"),
        (("label", "patient"), "patient"), (("label", "filename"), "filename"), (("label", "ImageID"), "ImageID"),
        (("ward", "caseID", "label"), "caseID"), (("label", "Aufnahme"), "Aufnahme"),
    ],
)  # fmt: skip
def test_key_by_name(tmp_path: Path, columns: tuple[str, ...], key: str) -> None:
    rows = [{name: "ab"[n % 2] if name == "label" else f"{name}{n}" for name in columns} for n in range(8)]
    assert inferred(tmp_path, rows)["key"] == key


def test_columns_keep_their_names(call: Call, tmp_path: Path) -> None:
    """Also names that TOML puts in quotes. Metrics are called in lower case, and 0 and 1 in a CSV are booleans."""
    rows = [f"images/{n}.png,{n % 2},{'ab'[n % 2]}" for n in range(12)]
    (tmp_path / "truth.csv").write_text("\n".join(["Filename,Diagnóstico,Label", *rows, ""]), encoding="utf-8")
    assert call("challenge", "new", "new", "--truth", "truth.csv").code == 0
    found = tomllib.loads((tmp_path / "new" / "challenge.toml").read_text(encoding="utf-8"))
    assert found["key"] == "Filename"
    assert found["truth"] == {"Diagnóstico": {"type": "boolean"}, "Label": {"one_of": ["a", "b"]}}
    metrics = [(metric["name"], metric["field"]) for metric in found["metric"]]
    assert metrics == [("diagnostico_f1", "Diagnóstico"), ("label_f1", "Label")]
    works(tmp_path / "new", tmp_path / "truth.csv")


def test_the_key_is_given(call: Call, tmp_path: Path) -> None:
    """One column or several; it must exist, and identify each case."""
    rows = [f"{n},P{n // 2},{n % 2},{'ab'[n % 2]}" for n in range(8)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,patient,eye,label", *rows, ""]))
    for names in (("id",), ("patient", "eye"), ("eye", "id")):
        options = [option for name in names for option in ("--key", name)]
        assert call("challenge", "new", "new", "--truth", "truth.csv", "--force", *options).code == 0
        found = tomllib.loads((tmp_path / "new" / "challenge.toml").read_text())
        assert found["key"] == (names[0] if len(names) == 1 else list(names))
        works(tmp_path / "new", tmp_path / "truth.csv")
    ran = call("challenge", "new", "other", "--truth", "truth.csv", "--key", "patient")
    assert (ran.code, "the key does not identify each case; in 'patient', 4 values repeated" in ran.err) == (1, True)
    ran = call("challenge", "new", "other", "--truth", "truth.csv", "--key", "patent")
    assert (ran.code, "did you mean 'patient'?" in ran.err) == (2, True)
    ran = call("challenge", "new", "other", "--key", "id")
    assert (ran.code, "--key names columns of a truth" in ran.err) == (2, True)
    assert medcontract.new_challenge(tmp_path / "python", truth="truth.csv", key="id")
    assert not (tmp_path / "other").exists()


# --- containers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["t.csv", "t.json", "t.jsonl", "t.ndjson", "t.parquet", "t.csv.gz", "t.json.gz", "t.jsonl.gz", "table"]
)
def test_containers(tmp_path: Path, name: str) -> None:
    """A table in any container, also gzipped, gives the same challenge."""
    frame = pd.DataFrame(cases(label=["a", "b"], days=[1.5, 20.25], sepsis=[True, False, None]))
    rows = json.loads(frame.to_json(orient="records"))
    contents = {
        ".csv": frame.to_csv(index=False, lineterminator="\n").encode(),
        ".json": json.dumps({"truth": rows}).encode(),
        ".parquet": frame.to_parquet(),
    }
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    content = contents.get(Path(name.removesuffix(".gz")).suffix, lines)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    medcontract.new_challenge(tmp_path / "new", truth=path)
    written = (tmp_path / "new" / "challenge.toml").read_text(encoding="utf-8")
    medcontract.new_challenge(tmp_path / "again" / "new", truth=truth_file(tmp_path, rows))
    assert written == (tmp_path / "again" / "new" / "challenge.toml").read_text(encoding="utf-8")
    works(tmp_path / "new", path)


def test_cells_of_a_csv(tmp_path: Path) -> None:
    """Ids are strings even if they look like numbers; codes with leading zeros are not numbers."""
    path = tmp_path / "truth.csv"
    rows = [f"{1000 + n},{n % 3},00{n % 2},{'TRUE' if n % 2 else 'False'}" for n in range(12)]
    path.write_text("\n".join(["case_id,grade,code,sepsis", *rows]) + "\n")
    medcontract.new_challenge(tmp_path / "new", truth=path)
    truth = tomllib.loads((tmp_path / "new" / "challenge.toml").read_text())["truth"]
    assert truth == {
        "grade": {"type": "integer", "min": 0, "max": 2},
        "code": {"one_of": ["000", "001"]},
        "sepsis": {"type": "boolean"},
    }
    works(tmp_path / "new", path)


# --- privacy ----------------------------------------------------------------------------------------------------------

_PEOPLE = ["Maria Lopez", "John Smith", "Ana Ruiz"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "values"), [
    ("patient_name", _PEOPLE),
    ("patient_id", ["P-1", "P-2", "P-3"]),
    ("patient_code", ["XA", "XB", "XC"]),
    ("subjectid", ["XA", "XB", "XC"]),
    ("diagnosis", ["see Lopez", "call Smith", "ask Ruiz"]),
    ("physician", ["Lopez", "Smith", "Ruiz"]),
    ("who", _PEOPLE),
    ("signed_by", ["Dr. Lopez", "Dr. Smith"]),
    ("phone", ["555-123-456", "555-123-457"]),
    ("reach", ["lopez@x.org", "smith@x.org"]),
    ("comment", ["see Lopez", "call Smith"]),
    ("rare", ["none"] * 11 + ["Lopez"]),
    ("words", ["a text of more than five words here", "another text of more than five words"]),
    ("unique", [f"value{n}" for n in range(12)]),
])  # fmt: skip
@pytest.mark.parametrize("column", ["name", "items"])
def test_no_values_of_other_columns(tmp_path: Path, name: str, values: list[str], column: str) -> None:
    """Ids, values of columns that are not predicted, rare values and long texts are not listed."""
    given_values: list[Any] = values if column == "name" else [[value] for value in values]
    medcontract.new_challenge(
        tmp_path / "new", truth=truth_file(tmp_path, cases(label=["a", "b"], **{name: given_values}))
    )
    text = "".join(path.read_text() for path in (tmp_path / "new").rglob("*.*"))
    assert not [value for value in values if value in text and value != "none"]
    works(tmp_path / "new", tmp_path / "truth.jsonl")


def test_classes(call: Call, tmp_path: Path) -> None:
    """With --classes, the values of a column are listed, however rare they are; also of lists, and digits."""
    rows = ["case_id,stage,triage,note", *(f"{n},Stage {n},{n % 3},x{n}" for n in range(1, 5))]
    (tmp_path / "truth.csv").write_text("\n".join(rows) + "\n")
    new = ("challenge", "new", "demo", "--truth", "truth.csv")
    assert call(*new, "--classes", "stage", "--classes", "triage").code == 0
    truth = tomllib.loads(Path("demo/challenge.toml").read_text())["truth"]
    assert truth["stage"] == {"one_of": ["Stage 1", "Stage 2", "Stage 3", "Stage 4"]}
    assert truth["triage"] == {"one_of": ["0", "1", "2"]}
    assert truth["note"] == {"type": "str"}
    works(tmp_path / "demo", tmp_path / "truth.csv")
    lists = truth_file(tmp_path, cases(3, findings=[["edema"], [], ["shift"]]))
    medcontract.new_challenge("lists", truth=lists, classes=["findings"])
    found = tomllib.loads(Path("lists/challenge.toml").read_text())["truth"]
    assert found == {"findings": {"type": "set", "of": {"one_of": ["edema", "shift"]}}}
    works(tmp_path / "lists", lists)


@pytest.mark.parametrize(("classes", "message"), [
    ("labl", "the table has no column 'labl'\n  hint: did you mean 'label'?"),
    ("risk", "--classes: 'risk' cannot be an enumeration"),
    ("note", "--classes: 'note' cannot be an enumeration"),
])  # fmt: skip
def test_wrong_classes(call: Call, tmp_path: Path, classes: str, message: str) -> None:
    truth_file(tmp_path, cases(label=["a"], risk=[0.5], note=["a\nb"]))
    ran = call("challenge", "new", "demo", "--truth", "truth.jsonl", "--classes", classes)
    assert (ran.code, message in ran.err) == (2, True), ran.err
    assert "pass the table with --truth" in call("challenge", "new", "demo", "--classes", classes).err
    assert not Path("demo").exists()


def test_no_data_of_the_truth(tmp_path: Path) -> None:
    """Except for classes, no value of the truth is in any file: no id, no text, no number."""
    rows = [
        {
            "case_id": f"XID{n}",
            "label": "ab"[n % 2],
            "risk_score": 17.123 + n,
            "stay": 1234 + 37 * n,
            "note": f"XTXT{n}",
        }
        for n in range(12)
    ]
    medcontract.new_challenge(tmp_path / "new", truth=truth_file(tmp_path, rows))
    text = "".join(path.read_text() for path in (tmp_path / "new").rglob("*.*"))
    for row in rows:
        assert not [value for name, value in row.items() if name != "label" and str(value) in text]


# --- tables that cannot be used ---------------------------------------------------------------------------------------

USELESS: list[tuple[str, str, str]] = [
    # name, content, part of the message
    ("t.csv", "", "MC004 the file is empty"),
    ("t.csv", "case_id,label\n", "MC108 the table has no records"),
    ("t.csv", "case_id\n1\n2\n", "MC108 the table has a single column"),
    ("t.csv", "case_id;label\n1;a\n", "separate columns by commas"),
    ("t.csv", "label,sex\na,f\na,m\nb,f\nb,f\n", "MC201 no column identifies each case"),
    ("t.csv", "patient_id,visit,label\n1,v1,a\n1,v2,a\n2,v1,b\n", "several that are unique together: --key COLUMN"),
    ("t.csv", "case_id,label\n1,a\n1,b\n,b\n", "in 'case_id', 1 value missing and 1 value repeated"),
    ("t.csv", ",".join(["case_id", *(f"f{n}" for n in range(500))]) + "\n1" + ",1" * 500, "501 columns, at most"),
    ("t.csv", f"{','.join(f'f{n}' for n in range(3000))}\n{',' * 2999}\n", "MC108 the table has more than 2,000 col"),
    ("t.csv", "Case ID,Diagnóstico\n1,a\n", "rename it, for example to 'case_id'"),
    ("t.csv", "case-ID,label\n1,a\n", "column 1, 'case-ID', has an invalid name"),
    ("t.csv", "case_id,Überlebt?\n1,a\n", "rename it, for example to 'uberlebt'"),
    ("t.csv", "case_id,1st,error\n1,a,b\n", "rename it, for example to 'column_1st'"),
    ("t.csv", "case_id,1st,error\n1,a,b\n", "column 3, 'error', has a reserved name"),
    ("t.csv", "case_id,label,Label?\n1,a,b\n", "rename it, for example to 'label_2'"),
    ("t.csv", "case_id,label,label\n1,a,b\n", "MC015 column 'label' is repeated"),
    ("t.csv", "P-0001,ischemic,1234567\nP-0002,ischemic,1234568\n", "does the table have a header?"),
    ("t.csv", "case_id,label\n1,a,b\n", "MC031"),
    ("t.csv", 'case_id,label\n1,"a\n', "MC030"),
    ("t.csv", "case_id,seen\n1,2026-01-01\n2,2026-01-02\n", "MC223 no column can be compared by a metric"),
    ("t.json", "[]", "expected an object, got a list"),
    ("t.json", '{"cases": []}', "'truth' is missing"),
    ("t.json", '{"truth": []}', "MC108 the table has no records"),
    ("t.json", '{"truth": [1]}', "MC103 expected an object"),
    ("t.json", '{"truth": [{"case_id": "1", }]}', "MC012"),
    ("t.json", '{"event": 1, "truth": [{"case_id": "1", "label": "a"}]}', "MC102"),
    ("t.json", '{"truth": [{"case_id": 1, "label": "a"}]}', "MC103 'case_id' must be a string"),
    ("t.jsonl", '{"case_id": "1", "label": "a"}\n{"case_id"', "MC011"),
    ("t.jsonl", '{"case_id": "1", "label": "a"}\n3\n', "MC103 expected an object"),
    ("t.jsonl", '{"case_id": "1", "label": "a"}\n{"case_id": "2", "label": 3}\n', "the values have different types"),
    ("t.jsonl", '{"case_id": "1", "label": {"a": 1}}\n', "objects cannot be fields"),
    ("t.jsonl", '{"case_id": "1", "label": [1, "a"]}\n', "the items of the lists have different types"),
    ("t.jsonl", '{"case_id": "1", "label": [[]]}\n', "the items of the lists have different types"),
    ("t.jsonl", '{"case_id": "1", "risk": NaN}\n', "MC"),
    ("t.jsonl", '{"case_id": "1", "label": "a", "label": "b"}\n', "MC015"),
    ("t.parquet", "PAR1 no", "MC"),
    ("t.csv", "<html><body>", "a web page"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), USELESS)
def test_useless_tables(call: Call, name: str, content: str, message: str) -> None:
    """A table that cannot be a truth ends in a clear message, with exit code 1, and nothing is written."""
    Path(name).write_text(content, encoding="utf-8")
    ran = call("challenge", "new", "demo", "--truth", name)
    assert ran.code == 1
    assert message in ran.err
    assert ran.out == ""
    assert not Path("demo").exists()


def test_a_usage_error(call: Call, tmp_path: Path) -> None:
    assert call("challenge", "new", "demo", "--truth", str(tmp_path)).code == 2
    with pytest.raises(medcontract.CallError):
        medcontract.new_challenge(tmp_path / "x", challenge_id=3)  # type: ignore[arg-type]


# --- any table --------------------------------------------------------------------------------------------------------

_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_STRINGS = st.text(max_size=12) | st.sampled_from(["a", "b", "low", "high", "2026-01-01", "true", "1", "", " "])
_VALUES: tuple[st.SearchStrategy[Any], ...] = (
    st.booleans(), st.integers(-5, 5), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _STRINGS,
    st.lists(_STRINGS, max_size=3), st.lists(st.sampled_from("abc"), unique=True, max_size=3),
    st.lists(st.integers(0, 9), max_size=2), st.sampled_from(["mild", "severe", "moderate"]),
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    count = draw(st.integers(1, 20))
    columns = {
        name: draw(st.lists(draw(st.sampled_from(_VALUES)) | st.none(), min_size=count, max_size=count))
        for name in draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))
        if name != "case_id"
    }
    return cases(count, **columns)


@pytest.mark.slow
@property_settings(150)
@given(rows=tables())
def test_any_table(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the table, it is either rejected with a report, or what is written works."""
    folder = tmp_path_factory.mktemp("any")
    truth = truth_file(folder, rows)
    try:
        medcontract.new_challenge(folder / "new", truth=truth)
    except medcontract.InvalidData as invalid:
        assert invalid.report.errors  # noqa: PT017
        assert not (folder / "new").exists()
        return
    works(folder / "new", truth)
