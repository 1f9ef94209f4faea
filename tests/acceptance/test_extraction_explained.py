"""Why a document lost points: item by item, the table of what to mend first, and what is never shown."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call, caller, keeps, on_a_terminal
from tests.scoring_files import CONTRACTS, LABS, Record, drug, lab, labs, read_labs, read_rx, rx, write

FORMATS = ("text", "json", "markdown")


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`medcontract score --breakdown`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return partial(caller(capsys), "score", "--breakdown")


def files(folder: Path, *records: Record) -> list[Path]:
    """Labels and predictions of either kind, each in its file."""
    kinds = {
        CONTRACTS["extraction"][0]: "medications",
        CONTRACTS["extraction"][1]: "medicamentos",
        LABS[0]: "results",
        LABS[1]: "resultados",
    }
    found = []
    for contract, key in kinds.items():
        mine = [record for record in records if key in record]
        if mine:
            found.append(write(folder, contract, mine, "jsonl"))
    return found


KNOWN = (
    rx("D1", drug("Losartán", "50 mg", "cada 12 horas", "30 días", "en ayunas"), drug("Acetaminofén tableta", "500 mg"),
        drug("Insulina", "10 UI"), drug("Insulina", "20 UI"), drug("Omeprazol")),
    read_rx("D1", drug("losartan", "50mg", "cada 8 horas", "30 semanas"), drug("Insulina", "10 UI"),
        drug("INSULINA", "20UI", "", "", "diario"), drug("Acetaminofen tabletas", "500 mg")),
    labs("L1", lab("Glucosa", "100", rango="70 - 110"), lab("Creatinina", "1,00"), lab("Sodio", "140", "mEq/L"),
        lab("Potasio", "4,0")),
    read_labs("L1", lab("glucosa", "102", "g/L", "70-111"), lab("Creatinina", "1.0200001"),
        lab("Sodio", "142", "mEq/L", "135-145", "alto")),
)  # fmt: skip
"""One of each sort of failure. 102 and 142 are within 2 %; the label of sodium has no range, so that none counts."""

PLAIN = """\
Breakdown
  document  type          item  field             difference
  L1        lab           1     unidad            different text
  L1        lab           1     rango_referencia  number
  L1        lab           2     valor             number
  L1        lab           3     estado            different text
  L1        lab           4                       not matched
  D1        prescription  1     dosis             spaces only
  D1        prescription  1     frecuencia        number
  D1        prescription  1     duracion          different words, same number
  D1        prescription  1     instrucciones     missing
  D1        prescription  2                       not matched; closest prediction has similarity 98
  D1        prescription  4     dosis             spaces only
  D1        prescription  4     instrucciones     expected to be empty
  D1        prescription  5                       not matched
  1 of 9 items are correct.

"""
WITH_VALUES = [
    ("1 Glucosa", "unidad", "different text: expected 'mg/dL', got 'g/L' (compared: 'MG DL', 'G L')"),
    ("1 Glucosa", "rango_referencia", "number: expected '70 - 110', got '70-111' (compared: '70-110', '70-111')"),
    ("2 Creatinina", "valor", "number: expected '1,00', got '1.0200001' (compared: '1.00', '1.0200001')"),
    ("3 Sodio", "estado", "different text: expected 'normal', got 'alto' (compared: 'NORMAL', 'ALTO')"),
    ("4 Potasio", "", "not matched"),
    ("1 Losartán", "dosis", "spaces only: expected '50 mg', got '50mg' (compared: '50 MG', '50MG')"),
    (
        "1 Losartán",
        "frecuencia",
        "number: expected 'cada 12 horas', got 'cada 8 horas' (compared: 'CADA 12 HORAS', 'CADA 8 HORAS')",
    ),
    (
        "1 Losartán",
        "duracion",
        "different words, same number: expected '30 días', got '30 semanas' (compared: '30 DIAS', '30 SEMANAS')",
    ),
    ("1 Losartán", "instrucciones", "missing: expected 'en ayunas', got '' (compared: 'EN AYUNAS', '')"),
    ("2 Acetaminofén tableta", "", "not matched; closest prediction 'Acetaminofen tabletas' has similarity 98"),
    ("4 Insulina", "dosis", "spaces only: expected '20 UI', got '20UI'"),
    ("4 Insulina", "instrucciones", "expected to be empty: expected '', got 'diario' (compared: '', 'DIARIO')"),
    ("5 Omeprazol", "", "not matched"),
]
MODES = (
    ("dosis", "spaces only", 2),
    ("duracion", "different words, same number", 1),
    ("estado", "different text", 1),
    ("frecuencia", "number", 1),
    ("instrucciones", "expected to be empty", 1),
    ("instrucciones", "missing", 1),
    ("nombre_medicamento", "not matched", 1),
    ("nombre_medicamento", "not matched, similar name predicted", 1),
    ("nombre_prueba", "not matched", 1),
    ("rango_referencia", "number", 1),
    ("unidad", "different text", 1),
    ("valor", "number", 1),
)
"""The most frequent first, then by field and sort."""
NEAR = 100 * 2 * 20 / 41
"""One letter of 41 is too many."""


def test_text(explain: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item that lost points, in the order of the result; values for a person at a terminal, or on demand."""
    given = files(tmp_path, *KNOWN)
    ran = explain(*given)
    assert (ran.code, ran.err) == (1, "")
    assert PLAIN in ran.out
    shown = explain(*given, "--show-values").out
    lines = shown[shown.index("Breakdown") :].splitlines()[2:]
    for line, (item, field, difference) in zip(lines, WITH_VALUES, strict=False):
        assert re.fullmatch(f"  [LD]1 +[a-z]+ +{item} +{field} *  {re.escape(difference)}", line)
    on_a_terminal(monkeypatch)
    assert explain(*given, "--no-color").out.splitlines()[-20:-10] == shown.splitlines()[-20:-10]


def test_what_to_mend_first(explain: Call, tmp_path: Path) -> None:
    """The same table in text and in Markdown, with or without a breakdown; it holds no values."""
    given = files(tmp_path, *KNOWN)
    out = explain(*given).out
    rows = out[out.index("What to fix first") :].split("\n\n")[0].splitlines()[2:]
    assert [tuple(row.rsplit(maxsplit=1)) for row in rows] == [
        (f"  {field.ljust(18)}  {how}", str(times)) for field, how, times in MODES
    ]
    page = explain(*given, "--format", "markdown").out
    table = page[page.index("## What to fix first") :].split("\n\n")[1].splitlines()[2:]
    assert [row.replace("\\_", "_") for row in table] == [
        f"| {field} | {how} | {times} |" for field, how, times in MODES
    ]


def test_the_figures_behind_it(explain: Call, tmp_path: Path) -> None:
    """3 of 5 and 6 of 12: 0.7·3/5 + 0.3·6/12 = 0.57. 3 of 4 and 6 of 10: 0.6·3/4 + 0.4·6/10 = 0.69."""
    result = explain(*files(tmp_path, *KNOWN), "--format", "json").json["result"]
    names = ("doc_id", "score", "matched", "labeled", "correct_fields", "total_fields")
    assert [[row[name] for name in names] for row in result["documents"]] == [
        ["L1", 0.69, 3, 4, 6, 10], ["D1", 0.57, 3, 5, 6, 12],
    ]  # fmt: skip


def one(
    doc_id: str, item: int, *fields: tuple[str, str], near: float | None = None, state: str = "not matched"
) -> Record:
    """An item of the breakdown, without values."""
    return {
        "doc_type": "lab" if doc_id == "L1" else "prescription",
        "doc_id": doc_id,
        "item": item,
        "state": "wrong fields" if fields else state,
        "nearest": near,
        "fields": [{"field": field, "difference": how} for field, how in fields],
    }


EXPLAINED = [
    one("L1", 0, ("unidad", "different text"), ("rango_referencia", "number")),
    one("L1", 1, ("valor", "number")),
    one("L1", 2, ("estado", "different text")),
    one("L1", 3),
    one("D1", 0, ("dosis", "spaces only"), ("frecuencia", "number"), ("duracion", "different words, same number"),
        ("instrucciones", "missing")),
    one("D1", 1, near=NEAR),
    one("D1", 2, state="right"),
    one("D1", 3, ("dosis", "spaces only"), ("instrucciones", "expected to be empty")),
    one("D1", 4),
]  # fmt: skip


def test_json(explain: Call, tmp_path: Path) -> None:
    """Numbers and sorts, no values; `item` counts from 0."""
    envelope = keeps(explain(*files(tmp_path, *KNOWN), "--format", "json").out, "medcontract/score")
    assert envelope["breakdown"] == EXPLAINED


def test_json_with_values(explain: Call, tmp_path: Path) -> None:
    """As written and as normalized, and the name that was nearest."""
    ran = explain(*files(tmp_path, *KNOWN), "--format", "json", "--show-values")
    envelope = keeps(ran.out, "medcontract/score")
    found = {(item["doc_id"], item["item"]): item for item in envelope["breakdown"]}
    assert [item["name"] for item in found.values()] == [
        "Glucosa", "Creatinina", "Sodio", "Potasio", "Losartán", "Acetaminofén tableta", "Insulina", "Insulina",
        "Omeprazol",
    ]  # fmt: skip
    near = found["D1", 1]
    assert (near["nearest_name"], near["nearest"]) == ("Acetaminofen tabletas", NEAR)
    assert near["paired_name"] is None
    assert found["D1", 4]["nearest_name"] is None
    assert found["D1", 0]["paired_name"] == "losartan"
    assert found["D1", 0]["fields"][0] == {
        "field": "dosis", "difference": "spaces only", "expected": "50 mg", "got": "50mg",
        "expected_normalized": "50 MG", "got_normalized": "50MG",
    }  # fmt: skip
    without: Any = json.loads(json.dumps(envelope["breakdown"]))
    for item in without:
        item.pop("name")
        item.pop("nearest_name")
        item.pop("paired_name")
        item["fields"] = [{name: field[name] for name in ("field", "difference")} for field in item["fields"]]
    assert without == EXPLAINED


def test_markdown(explain: Call, tmp_path: Path) -> None:
    """Markdown explains as text does, with values only on demand."""
    given = files(tmp_path, *KNOWN)
    plain = explain(*given, "--format", "markdown").out
    assert "Breakdown" in plain
    assert "cada 8 horas" not in plain
    assert "cada 8 horas" in explain(*given, "--format", "markdown", "--show-values").out


def test_nothing_to_explain(explain: Call, tmp_path: Path) -> None:
    """Where everything is right there is nothing to mend and no item is listed."""
    given = files(tmp_path, rx("D", drug("Losartán", "50 mg")), read_rx("D", drug("losartan", "50 MG.")))
    out = explain(*given).out
    assert "What to fix first" not in out
    assert "Breakdown" not in out
    (tmp_path / "wrong").mkdir()
    other = files(tmp_path / "wrong", rx("D", drug("Losartán", "50 mg")), read_rx("D", drug("losartan", "5 mg")))
    wrong = explain(*other).out
    assert "Breakdown" in wrong
    (found,) = explain(*given, "--format", "json", "--show-values").json["breakdown"]
    assert (found["state"], found["name"], found["paired_name"]) == ("right", "Losartán", "losartan")


@pytest.mark.parametrize("more", [{"parse_success": False}, {"exception": "killed"}])
def test_a_failed_run(explain: Call, tmp_path: Path, more: Record) -> None:
    """Its items count for nothing, however near; the table counts the document once."""
    given = files(tmp_path, rx("D", drug("Losartán"), drug("Insulina")), read_rx("D", drug("Losartán"), **more))
    envelope = explain(*given, "--format", "json").json
    assert [(item["item"], item["state"], item["nearest"]) for item in envelope["breakdown"]] == [
        (0, "document failed", None), (1, "document failed", None),
    ]  # fmt: skip
    assert envelope["failure_modes"] == [
        {"field": "prescription document", "difference": "not parsed, or exception", "count": 1}
    ]
    assert re.search("D +prescription +2 items +document failed", explain(*given).out)


def test_a_document_that_is_missing(explain: Call, tmp_path: Path) -> None:
    """Each labeled item is explained, also in a document without a valid record."""
    given = files(tmp_path, rx("D", drug("Losartán")), rx("E", drug("Losartán")), read_rx("D", drug("Losartán")))
    found = explain(*given, "--format", "json").json["breakdown"]
    assert [(item["doc_id"], item["item"], item["state"]) for item in found] == [
        ("D", 0, "right"), ("E", 0, "no valid record"),
    ]  # fmt: skip


def test_only_where_asked_for(explain: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --breakdown there is none; the rest is the same."""
    given = files(tmp_path, *KNOWN)
    bare = caller(capsys)("score", *given, "--format", "json").json
    with_it = explain(*given, "--format", "json").json
    assert "breakdown" not in bare
    assert with_it.pop("breakdown")
    assert with_it == bare


@pytest.mark.parametrize("format_", FORMATS)
def test_not_for_participants(explain: Call, tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which items and fields are wrong tells of the truth: a participant sees none of it, with values neither."""
    on_a_terminal(monkeypatch)
    ran = explain(*files(tmp_path, *KNOWN), "--format", format_, "--participant", "--show-values")
    assert ran.code == 1
    words = (
        "fix first",
        "Breakdown",
        '"breakdown"',
        "spaces only",
        "D1",
        "L1",
        "dosis",
        "Losart",
        "nearest",
        "closest",
    )
    assert [word for word in words if word in ran.out.replace(str(tmp_path), "")] == []


SECRETS = ("SECRETO", "OCULTO", "PRIVADO", "CALLADO")


@pytest.mark.parametrize("format_", FORMATS)
def test_no_value_leaks(explain: Call, tmp_path: Path, format_: str) -> None:
    """Names and fields of both sides stay out of what may be shared: as written, as normalized, as hints."""
    given = files(
        tmp_path,
        rx("D", drug("Secreto uno", "oculto"), drug("privado")),
        read_rx("D", drug("SECRETO UNO", "callado"), drug("privados")),
        labs("L", lab("secreto", "oculto 1", "oculto", "oculto", "oculto")),
        read_labs("L", lab("secreto", "callado 1", "callado", "callado", "callado")),
    )
    plain = explain(*given, "--format", format_).out.upper()
    assert [word for word in SECRETS if word in plain] == []
    shown = explain(*given, "--format", format_, "--show-values").out.upper()
    assert format_ == "markdown" or [word for word in SECRETS if word not in shown] == []


NASTY = "x\x1b[2J\r\nVALID  extraction\u202e\u2028|a` <b> # _c_ \x00\x7f\x9b31m"


def nasty(folder: Path) -> list[Path]:
    """Names, near misses and fields with everything that a terminal or Markdown would act on."""
    return files(
        folder,
        rx("D" + NASTY, drug("A" + NASTY, NASTY), drug(f"acetaminofen {NASTY}")),
        read_rx("D" + NASTY, drug("A" + NASTY, f"y{NASTY}y"), drug(f"acetaminofen {NASTY} s")),
    )


def unprintable(text: str) -> list[str]:
    return [c for c in text if not c.isprintable() and c != "\n"]


def test_nothing_reaches_the_terminal_raw(explain: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No control character of a value is printed, and no value makes a line of its own."""
    on_a_terminal(monkeypatch)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *arguments: False)
    out = explain(*nasty(tmp_path), "--no-color", "--show-values").out
    assert unprintable(out) == []
    assert sum(line.startswith("VALID") for line in out.splitlines()) == 1


def test_nothing_raw_without_values(explain: Call, tmp_path: Path) -> None:
    """Nor of an id."""
    out = explain(*nasty(tmp_path)).out
    assert unprintable(out) == []
    assert sum(line.startswith("VALID") for line in out.splitlines()) == 1


def test_nothing_breaks_the_markdown(explain: Call, tmp_path: Path) -> None:
    """Rows stay rows, and text stays text."""
    out = explain(*nasty(tmp_path), "--format", "markdown", "--show-values").out
    assert unprintable(out) == []
    assert "<b>" not in out.replace("\\<b", "")
    lines = out.splitlines()
    row = next(line for line in lines if line.startswith("| Dx"))
    assert row.replace("\\|", "").count("|") == 7


def test_values_in_json_are_whole(explain: Call, tmp_path: Path) -> None:
    """JSON escapes by itself: what was written comes back as it was."""
    ran = explain(*nasty(tmp_path), "--format", "json", "--show-values")
    assert [c for c in unprintable(ran.out) if c < " "] == []
    first, second = keeps(ran.out, "medcontract/score")["breakdown"]
    assert (first["name"], first["fields"][0]["got"]) == ("A" + NASTY, f"y{NASTY}y")
    assert second["nearest_name"] == f"acetaminofen {NASTY} s"


def test_long_values_are_shortened(explain: Call, tmp_path: Path) -> None:
    """A value of a hundred thousand letters does not flood a terminal."""
    given = files(tmp_path, rx("D", drug("Losartán", "a" * 100_000)), read_rx("D", drug("Losartán", "b" * 100_000)))
    assert len(explain(*given, "--show-values").out) < 10_000


def test_long_names(explain: Call, tmp_path: Path) -> None:
    """Names of a hundred thousand letters are compared for equality only: a hint must not cost more than the score."""
    given = files(tmp_path, rx("D", drug("a" * 100_000)), read_rx("D", drug("a" * 99_999 + "b")))
    (item,) = explain(*given, "--format", "json").json["breakdown"]
    assert (item["state"], item["nearest"]) == ("not matched", None)


def test_the_worst_come_first(explain: Call, tmp_path: Path) -> None:
    """In text the documents with the lowest scores stand on top of their table; the result is sorted by id."""
    labels = [rx(f"D-{n}", drug("Losartán"), drug("Insulina"), drug("Omeprazol")) for n in range(3)]
    sent = [read_rx(f"D-{n}", *label["medications"][:found]) for n, (label, found) in
            enumerate(zip(labels, (3, 1, 2), strict=True))]  # fmt: skip
    out = explain(*files(tmp_path, *labels, *sent)).out
    table = out[out.index("Documents, lowest score first") :].split("\n\n")[0]
    rows = [line.split()[0] for line in table.splitlines() if line.startswith("  D-")]
    assert rows == ["D-1", "D-2", "D-0"]


def test_the_order_of_records_does_not_show(explain: Call, tmp_path: Path) -> None:
    """Documents in another order give the same explanations."""
    labels = [rx(f"D-{n}", drug("Losartán", "50 mg"), drug(f"Insulina {n}")) for n in range(4)]
    sent = [read_rx(f"D-{n}", drug("losartan", f"{n} mg"), drug("Insulina 9")) for n in range(4)]
    there = explain(*files(tmp_path, *labels, *sent), "--format", "json", "--show-values").json
    back = explain(*files(tmp_path, *labels[::-1], *sent[::-1]), "--format", "json", "--show-values").json
    assert there["breakdown"] == back["breakdown"]
    assert there["result"] == back["result"]


TWENTY = [rx(f"DOC-{number:02}", drug("Losartan", "50 mg")) for number in range(20)]


def test_documents_without_a_valid_record_are_named_on_a_terminal(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing ones and ones with an invalid record; never in a pipe, nor for participants."""
    sent = [read_rx(label["doc_id"], *label["medications"]) for label in TWENTY[2:]]
    sent[0]["parse_success"] = "yes"
    given = files(tmp_path, *TWENTY, *sent)
    named = "hint: documents without a valid record: DOC-00, DOC-01, DOC-02\n"
    assert "DOC-00, DOC-01" not in call("score", *given).out
    assert named in call("score", *given, "--show-values").out
    on_a_terminal(monkeypatch)
    assert named in call("score", *given, "--no-color").out
    assert "without a valid record" not in call("score", *given, "--no-color", "--participant").out


def test_many_documents_without_a_record_are_counted(call: Call, tmp_path: Path) -> None:
    """The first twenty are named."""
    labels = [rx(f"DOC-{number:02}", drug("Losartan")) for number in range(25)]
    out = call("score", *files(tmp_path, *labels, read_rx("DOC-24", drug("Losartan"))), "--show-values").out
    assert "DOC-18, DOC-19, and 4 more\n" in out
    assert "DOC-20," not in out


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_the_processing_gate_is_a_row_above_the_six(call: Call, tmp_path: Path, style: str) -> None:
    """18 of 20 documents are 90 %: NO-GO; 19 of 20 pass. The gates in JSON stay six."""
    for missing, measured, word in ((2, "90", "NO"), (1, "95", "yes")):
        sent = [read_rx(label["doc_id"], *label["medications"]) for label in TWENTY[missing:]]
        given = files(tmp_path, *TWENTY, *sent)
        out = call("score", *given, "--format", style).out
        lines = [line.replace("\\_", "_").replace("|", " ").split() for line in out.splitlines()]
        row = next(number for number, cells in enumerate(lines) if cells[:1] == ["processing"])
        assert lines[row][:4] == ["processing", "95", measured, word]
        assert " ".join(lines[row][4:]) == (f"{20 - missing} of 20 have one valid record, at least 95 % required")
        assert lines[row + 1][:2] == ["prescription_accuracy", "85"]
        found = call("score", *given, "--format", "json").json["result"]
        assert [gate["gate"] for gate in found["gates"]] == [
            "prescription_accuracy", "lab_accuracy", "pipeline_success_rate", "reliability", "offline_evidence",
            "standout_proofs",
        ]  # fmt: skip


def test_no_go_below_the_gate_names_the_gate(call: Call, tmp_path: Path) -> None:
    """Of the gates that were checked, only processing is not passed: 18 of 20."""
    sent = [read_rx(label["doc_id"], *label["medications"]) for label in TWENTY[2:]]
    out = call("score", *files(tmp_path, *TWENTY, *sent)).out
    assert out.startswith("NO-GO: failed processing; not checked lab_accuracy, reliability")


@pytest.mark.parametrize(("documents", "left"), [(200, 0), (201, 1), (250, 50)])
def test_long_breakdown_in_markdown(explain: Call, tmp_path: Path, documents: int, left: int) -> None:
    """It is limited like on a page; a line says how many rows are left out, and JSON has all."""
    labels = [rx(f"P-{n:03}", drug("Losartán", "50 mg")) for n in range(documents)]
    truth = write(tmp_path, "extraction/prescription-labels", labels, "jsonl")
    sent = [read_rx(f"P-{n:03}", drug("Losartán", "5 mg")) for n in range(documents)]
    files = (truth, write(tmp_path, "extraction/prescription-predictions", sent, "jsonl"))
    text = explain(*files, "--format", "markdown").out.partition("## Breakdown")[2].partition("\n## ")[0]
    assert sum(line.startswith("| P-") for line in text.splitlines()) == documents - left
    assert text.rstrip().endswith(f"0 of {documents} items are correct.")
    assert (f"and {left} more (--format json lists all); 0 of" in text) == bool(left)
    page = explain(*files, "--format", "html").out
    assert (f"and {left} more (--format json lists all); 0 of" in page) == bool(left)
    assert len(explain(*files, "--format", "json").json["breakdown"]) == documents
