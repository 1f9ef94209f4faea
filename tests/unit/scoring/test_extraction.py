"""The track `extraction`, with numbers worked out by hand: documents, gates, decision."""

from __future__ import annotations

import json
from fractions import Fraction
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests import naive
from tests.scoring_files import Record, drug, lab, labs, read_labs, read_rx, rx

import medcontract
from medcontract.cli.main import main
from medcontract.scoring.canonical import canonical
from medcontract.scoring.extraction import documents
from medcontract.scoring.extraction.differences import difference
from medcontract.scoring.extraction.remote_backends import remote_words, remote_words_in


def lines(folder: Path, name: str, records: list[Record]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


NAMES = {
    "rx": "extraction/prescription-labels", "rx_read": "extraction/prescription-predictions",
    "lab": "extraction/lab-labels", "lab_read": "extraction/lab-predictions", "runs": "extraction/runs",
}  # fmt: skip


def score(folder: Path, *, evidence: Record | None = None, manifest: list[str] | None = None, parameters: Any = None,
          **records: list[Record]) -> medcontract.Score:  # fmt: skip
    from medcontract.evaluation.files import GivenFiles
    from medcontract.evaluation.result import score_result
    from medcontract.evaluation.score import score_files
    from medcontract.evaluation.settings import Settings

    given: list[tuple[Any, str | None]] = [
        (str(lines(folder, f"{name}.jsonl", found)), NAMES[name]) for name, found in records.items()
    ]
    if evidence is not None:
        (folder / "evidence.json").write_text(json.dumps(evidence))
        given.append((str(folder / "evidence.json"), None))
    if manifest is not None:
        rows = [f"{doc_id},prescription,{doc_id}.png,labeled,yes" for doc_id in manifest]
        text = "\n".join(["doc_id,doc_type,image_path,label_status,pii_checked", *rows]) + "\n"
        (folder / "manifest.csv").write_text(text)
        given.append((str(folder / "manifest.csv"), None))
    return score_result(score_files(GivenFiles(given), Settings(parameters=tuple((parameters or {}).items()))))


def document(found: medcontract.Score, number: int = 0) -> Record:
    assert found.result is not None
    row: Record = found.result["documents"][number]
    return row


def gates(found: medcontract.Score) -> dict[str, Record]:
    assert found.result is not None
    return {gate["gate"]: gate for gate in found.result["gates"]}


def test_a_prescription(tmp_path: Path) -> None:
    """2 of 3 paired; of 8 fields 7 right: 0.7·2/3 + 0.3·7/8 = 7/15 + 21/80 = 175/240 = 35/48."""
    labels = [
        rx("D", drug("Losartán", "50 mg", "cada 12 horas", "30 días", "en ayunas"), drug("Metformina", "850 mg"),
           drug("Omeprazol")),
    ]  # fmt: skip
    read = [
        read_rx("D", drug("METFORMINA", "850 MG."), drug("losartan", "50mg", "CADA 12 HORAS", "30 dias", "En ayunas"))
    ]
    found = document(score(tmp_path, rx=labels, rx_read=read))
    assert (found["matched"], found["labeled"], found["correct_fields"], found["total_fields"]) == (2, 3, 7, 8)
    assert found["recall"] == float(Fraction(2, 3))
    assert found["field_accuracy"] == 0.875
    assert found["score"] == float(Fraction(35, 48))


def test_names_at_the_same_place_without_letters(tmp_path: Path) -> None:
    """A name that is empty after normalization is never paired, not even with itself: 1 of 2, 4 of 4 fields."""
    drugs = (drug("...", "1"), drug("Losartán", "50 mg"))
    found = document(score(tmp_path, rx=[rx("D", *drugs)], rx_read=[read_rx("D", *drugs)]))
    assert (found["matched"], found["labeled"], found["correct_fields"], found["total_fields"]) == (1, 2, 4, 4)


def test_many_different_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known items are forgotten if there are too many; an item without a name is never paired even then."""
    monkeypatch.setattr(documents, "_MOST_KNOWN", 2)
    drugs = (drug("A", "1"), drug("...", "2"), drug("B", "3"), drug("C", "4"))
    labels, read = [rx(f"D{n}", *drugs) for n in range(3)], [read_rx(f"D{n}", *drugs) for n in range(3)]
    found = score(tmp_path, rx=labels, rx_read=read)
    assert [(document(found, n)["matched"], document(found, n)["total_fields"]) for n in range(3)] == [(3, 12)] * 3


def test_repeated_names_at_the_same_places(tmp_path: Path) -> None:
    """Equal names are paired in their order, also if a field differs: 3 of 3; of 12 fields 11 right."""
    labels = [rx("D", drug("A", "1"), drug("B", "1"), drug("A", "2"))]
    read = [read_rx("D", drug("A", "1"), drug("B", "1"), drug("A", "3"))]
    found = document(score(tmp_path, rx=labels, rx_read=read))
    assert (found["matched"], found["labeled"], found["correct_fields"], found["total_fields"]) == (3, 3, 11, 12)


def test_a_range_without_label_does_not_count_at_the_same_place(tmp_path: Path) -> None:
    """2 of 2 paired by place; 3 + 4 fields count, of which the unit of the first is wrong: 6 of 7."""
    labels = [labs("L", lab("TSH", "1", "u", ""), lab("LDL", "2", "u", "1-3"))]
    read = [read_labs("L", lab("TSH", "1", "v", "0-9"), lab("LDL", "2", "u", "1-3"))]
    found = document(score(tmp_path, lab=labels, lab_read=read))
    assert (found["matched"], found["labeled"], found["correct_fields"], found["total_fields"]) == (2, 2, 6, 7)


def test_a_laboratory_report(tmp_path: Path) -> None:
    """All paired; 102 is within 2 % of 100, 1.0201 not of 1; a blank range does not count: 6 of 7 fields.

    0.6·1 + 0.4·6/7 = 33/35.
    """
    labels = [labs("D", lab("Glucosa", "100", rango="70 - 110"), lab("Creatinina", "1,00"))]
    read = [read_labs("D", lab("GLUCOSA", "102", rango="70-110"), lab("creatinina", "1.0201", rango="0.5-1.2"))]
    found = document(score(tmp_path, lab=labels, lab_read=read))
    assert (found["correct_fields"], found["total_fields"]) == (6, 7)
    assert found["score"] == float(Fraction(33, 35))


TAPER = tuple(
    drug("Prednisona", f"{dose} mg", "cada mañana", f"{days} días") for dose, days in ((40, 5), (20, 5), (10, 3))
)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_taper_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Three lines of one drug: in whatever order they are read, all 12 fields are right."""
    read = [read_rx("D", *(TAPER[place] for place in order))]
    found = document(score(tmp_path, rx=[rx("D", *TAPER)], rx_read=read))
    assert (found["matched"], found["correct_fields"], found["total_fields"], found["score"]) == (3, 12, 12, 1.0)


def test_a_taper_with_a_missing_line(tmp_path: Path) -> None:
    """The line that is missing is the one that stays unpaired: 2 of 3 paired, 8 of 8 fields right.

    In order of appearance, 40 mg would be paired with 20 mg and 20 mg with 10 mg: 3 + 2 of 8 fields.
    0.7·2/3 + 0.3·1 = 23/30.
    """
    found = document(score(tmp_path, rx=[rx("D", *TAPER)], rx_read=[read_rx("D", *TAPER[1:])]))
    assert (found["matched"], found["correct_fields"], found["total_fields"]) == (2, 8, 8)
    assert found["score"] == float(Fraction(23, 30))


def test_repeated_tight_names(tmp_path: Path) -> None:
    """Items of one tight name are paired for the most correct fields, too: of 4 + 4 fields, all 8."""
    labels = [labs("L", lab("T.S.H.", "6"), lab("T-S-H", "2"))]
    read = [read_labs("L", lab("TSH", "2"), lab("TSH", "6"))]
    found = document(score(tmp_path, lab=labels, lab_read=read))
    assert (found["matched"], found["correct_fields"], found["total_fields"]) == (2, 6, 6)


def test_of_equally_good_pairings_the_first(tmp_path: Path) -> None:
    """10 UI is wrong in both orders, so the first is paired with the first: its wrong dose is 30 UI, not 40 UI."""
    labels = [rx("D", drug("Insulina", "10 UI"), drug("Insulina", "20 UI"))]
    read = [read_rx("D", drug("Insulina", "30 UI"), drug("Insulina", "40 UI"))]
    found = medcontract.score(lines(tmp_path, "l.jsonl", labels), lines(tmp_path, "r.jsonl", read), breakdown=True)
    assert [item.fields[0].got for item in found.breakdown or ()] == ["30 UI", "40 UI"]


def test_a_hostile_document(tmp_path: Path) -> None:
    """Thousands of items of one name are paired in order of appearance, with a warning."""
    many = [drug("A", str(number)) for number in range(3000)]
    found = score(tmp_path, rx=[rx("D", *many)], rx_read=[read_rx("D", *reversed(many))])
    assert document(found)["correct_fields"] == 3000 * 3
    assert "1 document has too many items of one name: they were paired in order of appearance there" in found.warnings
    few = score(tmp_path, rx=[rx("D", *many[:50])], rx_read=[read_rx("D", *reversed(many[:50]))])
    assert document(few)["correct_fields"] == 50 * 4


@pytest.mark.parametrize("nothing", [{}, {"dosis": None, "frecuencia": None, "duracion": None, "instrucciones": None}])
def test_absent_fields_are_empty(tmp_path: Path, nothing: Record) -> None:
    """An item without fields costs those that are labeled: dose and duration are wrong, the two others are empty.

    0.7·1 + 0.3·2/4 = 17/20. An item without a name is never paired, and not a valid one.
    """
    labels = [rx("D", drug("Losartán", "50 mg", "", "30 días")), rx("E", drug("Losartán"))]
    read = [read_rx("D", {"nombre_medicamento": "Losartan", **nothing}), read_rx("E", {"dosis": "1"}, {"dosis": None})]
    found = score(tmp_path, rx=labels, rx_read=read)
    assert (document(found)["correct_fields"], document(found)["total_fields"]) == (2, 4)
    assert document(found)["score"] == 0.85
    assert document(found, 1)["matched"] == 0
    assert gates(found)["pipeline_success_rate"]["measured"] == 50


def test_absent_fields_of_a_test(tmp_path: Path) -> None:
    """No reference range is labeled, so three fields count, of which two are absent: 0.6 + 0.4·1/3 = 11/15."""
    labels, read = [labs("L", lab("TSH", "6"))], [read_labs("L", {"nombre_prueba": "TSH", "valor": "6"})]
    found = document(score(tmp_path, lab=labels, lab_read=read))
    assert (found["correct_fields"], found["total_fields"], found["score"]) == (1, 3, float(Fraction(11, 15)))


@pytest.mark.parametrize(("failed", "told"), [(1, False), (2, True)])
def test_a_warning_for_documents_that_were_not_parsed(tmp_path: Path, failed: int, told: bool) -> None:
    """1 of 20 is 5 %, and not above it."""
    labels = [rx(f"D{number}", drug("A")) for number in range(20)]
    ways: list[Record] = [{"parse_success": False}, {"exception": "x"}]
    read = [read_rx(f"D{n}", **(ways[n] if n < failed else {})) for n in range(20)]
    warnings = score(tmp_path, rx=labels, rx_read=read).warnings
    message = "2 of 20 labeled documents were not parsed or have an 'exception': more than 5 %"
    assert (message in warnings) is told
    assert any("not parsed" in warning for warning in warnings) is told


@pytest.mark.parametrize("more", [{"parse_success": False}, {"exception": "out of memory"}])
def test_a_failed_run_has_no_items(tmp_path: Path, more: Record) -> None:
    """It is processed, scores 0, and failed for the pipeline."""
    labels = [rx("D", drug("Losartan"))]
    found = score(tmp_path, rx=labels, rx_read=[read_rx("D", drug("Losartan"), **more)])
    assert document(found)["score"] == 0
    assert found.processing is not None
    assert found.processing.processed == 1
    assert gates(found)["pipeline_success_rate"]["measured"] == 0


def test_accuracies_are_means(tmp_path: Path) -> None:
    """20 documents, one without a prediction: 95 % processed, mean 95; the missing one scores 0."""
    labels = [rx(f"D-{number:02d}", drug("Losartan", "50 mg")) for number in range(20)]
    read = [read_rx(label["doc_id"], *label["medications"]) for label in labels[1:]]
    found = score(tmp_path, rx=labels, rx_read=read)
    assert found.valid
    assert found.result is not None
    assert found.result["prescription_accuracy"] == 95
    assert found.result["lab_accuracy"] is None
    assert found.result["pipeline_success_rate"] == 95
    assert document(found)["score"] == 0


def test_below_the_processing_gate(tmp_path: Path) -> None:
    """A result is there all the same, with NO-GO, and the score is not valid."""
    labels = [rx(f"D-{number:02d}", drug("Losartan")) for number in range(20)]
    read = [read_rx(label["doc_id"], *label["medications"]) for label in labels[2:]]
    found = score(tmp_path, rx=labels, rx_read=read)
    assert not found.valid
    assert found.result is not None
    assert found.result["decision"] == "NO-GO"
    report = medcontract.validate(json.dumps(found.result).encode(), "extraction/decision", name="x.json")
    assert report.ok


def run(number: int, kind: str = "reliability", **changes: Any) -> Record:
    return {
        "run_id": f"R-{number}", "kind": kind, "parse_success": True, "valid_items": 2, "restarted": number == 0,
        "code_version": "1", **changes,
    }  # fmt: skip


RIGHT: dict[str, Any] = {
    "rx": [rx("D", drug("Losartan", "50 mg"))], "rx_read": [read_rx("D", drug("Losartan", "50 mg"))],
    "lab": [labs("L", lab("Glucosa", "100"))], "lab_read": [read_labs("L", lab("Glucosa", "100"))],
}  # fmt: skip
EVIDENCE: Record = {
    "offline_runs": [{"backend": "transformers", "command": "run", "hardware": "cpu", "latency_sec": 3}],
    "proofs": [
        {"doc_id": "D", "kind": "measured", "evidence": "e", "interpretation": "i"},
        {"doc_id": "D", "kind": "before_after", "evidence": "e", "interpretation": "i"},
        {"doc_id": "elsewhere", "kind": "measured", "evidence": "e", "interpretation": "i"},
    ],
}


def test_go(tmp_path: Path) -> None:
    """All six gates are passed; a proof of a document that the manifest lacks is told and does not count."""
    runs = [run(number) for number in range(5)] + [run(9, "evaluation")]
    found = score(tmp_path, evidence=EVIDENCE, manifest=["D", "L"], runs=runs, **RIGHT)
    assert found.result is not None
    assert found.result["decision"] == "GO"
    assert [gate["measured"] for gate in found.result["gates"]] == [100, 100, 100, 5, 1, 2]
    assert "MC309" in [each.code for each in found.problems]


@pytest.mark.parametrize(("changes", "measured", "words"), [
    ({0: {"parse_success": False}}, 4, "4 of 5 succeeded"),
    ({2: {"restarted": True}}, 5, "restarted"),
    ({4: {"code_version": "2"}}, 5, "code changed"),
    ({1: {"valid_items": 0}}, 4, "4 of 5"),
    ({3: {"exception": "x"}}, 4, "4 of 5"),
])  # fmt: skip
def test_reliability(tmp_path: Path, changes: dict[int, Record], measured: int, words: str) -> None:
    """Five runs, all succeed, no restart from the second on, one version of the code."""
    runs = [run(number, **changes.get(number, {})) for number in range(5)]
    gate = gates(score(tmp_path, runs=runs, **RIGHT))["reliability"]
    assert (gate["measured"], gate["passed"]) == (measured, False)
    assert words in gate["reason"]


FAILS = {"parse_success": False}
DAYS = [f"2026-05-{day:02d}" for day in range(1, 7)]
ORDERS: dict[str, tuple[list[str | None], bool]] = {
    "all with an offset": ([f"{day}T10:00:00+00:00" for day in DAYS], True),
    "all without an offset": ([f"{day}T10:00:00" for day in DAYS], True),
    "dates and times without an offset": ([*DAYS[:3], *(f"{day} 00:00:01" for day in DAYS[3:])], True),
    "some with and some without an offset": (["2026-05-01T10:00:00Z", *(f"{day}T10:00:00" for day in DAYS[1:])], False),
    "a date has no offset": ([DAYS[0], *(f"{day}T10:00:00Z" for day in DAYS[1:])], False),
    "one without a time": ([DAYS[0], *DAYS[1:5], None], False),
    # 23:30-05:00 is 04:30Z of the next day: the first of the list is the latest run
    "by the instant, not by the digits": (
        ["2026-05-01T23:30:00-05:00", *(f"2026-05-02T0{hour}:00:00Z" for hour in range(5))], False,
    ),
    # 0.1 s is before 0.19 s and 0.2 s
    "fractions of a second": (
        ["2026-05-01T10:00:00.1Z", *(f"2026-05-01T10:00:00.{digits}Z" for digits in ("19", "2", "20001", "3", "4"))],
        True,
    ),
    "a date is before the first second of the day": (
        ["2026-05-01", *(f"2026-05-01T00:00:0{second}" for second in range(1, 6))], True,
    ),
    "equal times stay in file order": (["2026-05-01"] * 6, False),
    "midnight and the date are equal: file order": (["2026-05-01", *["2026-05-01T00:00:00.000"] * 5], False),
}  # fmt: skip
"""The start of the failed run, which is the last of the file, and of five that succeed; whether the gate is passed:
whether the failed run is not among the last five."""


@pytest.mark.parametrize(("times", "passed"), ORDERS.values(), ids=ORDERS)
def test_the_last_five_runs(tmp_path: Path, times: list[str | None], passed: bool) -> None:
    """By start time where all have it, and all with or all without an offset; otherwise in file order."""
    runs = [run(number, restarted=False, started_at=time) for number, time in enumerate(times)]
    late = [*runs[1:], runs[0] | FAILS]
    gate = gates(score(tmp_path, runs=late, **RIGHT))["reliability"]
    assert (gate["measured"], gate["passed"]) == ((5, True) if passed else (4, False))
    assert naive.reliability(late) == (gate["measured"], gate["passed"])


def test_times_of_other_runs_do_not_matter(tmp_path: Path) -> None:
    """Only reliability runs must have a time."""
    runs = [run(number, restarted=False, started_at=f"{DAYS[number]}T10:00:00Z") for number in range(6)]
    late = [*runs[1:], runs[0] | FAILS, run(9, "evaluation")]
    assert gates(score(tmp_path, runs=late, **RIGHT))["reliability"]["passed"]


def test_tight_names_and_fields(tmp_path: Path) -> None:
    """By normalized names TSH pairs with TSH; by tight names T.S.H. pairs with T S H (no), co-trimoxazol with one word.

    Labels: Co-trimoxazol, T.S.H., Vitamina B.12. Read: cotrimoxazol, TSH, Vitamina B12. Tight: COTRIMOXAZOL, TSH and
    VITAMINA B 12, VITAMINA B12: 2 of 3 paired. Of 8 fields, `V.O.` and `VO` are equal, `5 U/L` and `5 UL` are not: 7.
    0.7·2/3 + 0.3·7/8 = 35/48.
    """
    labels = [
        rx("D", drug("Co-trimoxazol", "5 U/L", "c/8 h.", "", "V.O."), drug("T.S.H."), drug("Vitamina B.12")),
    ]  # fmt: skip
    read = [read_rx("D", drug("Vitamina B12"), drug("TSH"), drug("cotrimoxazol", "5 UL", "c/8 h", "", "vo"))]
    found = document(score(tmp_path, rx=labels, rx_read=read))
    assert (found["matched"], found["correct_fields"], found["total_fields"]) == (2, 7, 8)
    assert found["score"] == float(Fraction(35, 48))


def test_normalized_names_are_paired_before_tight_ones(tmp_path: Path) -> None:
    """The first label would take the second prediction, if both passes were one.

    Labels: T.S.H. (T S H, tight TSH), then TSH; read: TSH, then T S H (tight T S H). First pass: T.S.H. with the second
    (both T S H), TSH with the first: all 8 fields of the doses are right.
    """
    labels = [rx("D", drug("T.S.H.", "1 mg"), drug("TSH", "2 mg"))]
    read = [read_rx("D", drug("TSH", "2 mg"), drug("T S H", "1 mg"))]
    found = document(score(tmp_path, rx=labels, rx_read=read))
    assert (found["matched"], found["correct_fields"]) == (2, 8)


def test_tight_values_and_units(tmp_path: Path) -> None:
    """`mg/dl` is not `mgdl`, `U.I.` is `UI`, and a value that is no number is compared by its tight form, too.

    2 paired, fields: TSH valor, unidad, estado (3 right); Glucosa valor right, unidad wrong, estado right: 5 of 6.
    0.6 + 0.4·5/6 = 14/15.
    """
    labels = [labs("D", lab("T.S.H.", "N.D.", unidad="U.I."), lab("Glucosa", "100", unidad="mg/dl"))]
    read = [read_labs("D", lab("TSH", "ND", unidad="UI"), lab("Glucosa", "102", unidad="mgdl"))]
    found = document(score(tmp_path, lab=labels, lab_read=read))
    assert (found["matched"], found["correct_fields"], found["total_fields"]) == (2, 5, 6)
    assert found["score"] == float(Fraction(14, 15))


def test_fuzzy_pairing_comes_after_tight_names(tmp_path: Path) -> None:
    """`co-trimoxazol` takes the only `cotrimoxazol`; the misspelt label stays unpaired."""
    labels = [rx("D", drug("Cotrimoxazole"), drug("Co-trimoxazol"))]
    found = score(tmp_path, rx=labels, rx_read=[read_rx("D", drug("Cotrimoxazol"))], parameters={"match": "fuzzy"})
    assert document(found)["matched"] == 1


def manifest_rows(folder: Path, *rows: tuple[str, str]) -> Path:
    lines = [f"D{number},prescription,{number}.png,{status},{pii}" for number, (status, pii) in enumerate(rows)]
    path = folder / "manifest.csv"
    path.write_text("\n".join(["doc_id,doc_type,image_path,label_status,pii_checked", *lines]) + "\n")
    return path


def test_rows_of_the_manifest_that_are_not_ready(tmp_path: Path) -> None:
    """Counted by status; a row without a check for personal data is not ready either."""
    rows = [("labeled", "yes"), ("todo", "yes"), ("needs_fix", "no"), ("reviewed", "no"), ("todo", "no")]
    given = [lines(tmp_path, "rx.jsonl", RIGHT["rx"]), lines(tmp_path, "read.jsonl", RIGHT["rx_read"])]
    warnings = medcontract.score(*given, manifest_rows(tmp_path, *rows)).warnings
    assert [warning for warning in warnings if "manifest" in warning] == [
        "4 documents of the manifest are not ready (label_status needs_fix: 1, label_status todo: 2, pii_checked no: 3)"
    ]
    one = medcontract.score(*given, manifest_rows(tmp_path, ("reviewed", "yes"), ("needs_fix", "yes"))).warnings
    assert "1 document of the manifest is not ready (label_status needs_fix: 1)" in one
    ready = medcontract.score(*given, manifest_rows(tmp_path, ("reviewed", "yes"), ("labeled", "yes"))).warnings
    assert not [warning for warning in ready if "not ready" in warning]


@pytest.mark.parametrize(
    ("backends", "count", "named"),
    [
        (["transformers"], 0, None), (["INFERENCE_BACKEND=transformers", "llama.cpp, cpu"], 0, None),
        (["rapid local"], 0, None), (["hf transformers", "modality"], 0, None),
        (["INFERENCE_BACKEND=openai"], 1, "… openai"),
        (["Azure OpenAI", "transformers", "https://api.example.org/v1"], 2, "… azure openai, … api"),
        (["en la nube"], 1, "… nube"), (["modal"], 1, "modal"), (["hf_inference"], 1, "hf_inference"),
        (["HF-Inference", "Modal", "Modal"], 3, "HF-Inference, Modal"),
    ],
)  # fmt: skip
def test_offline_runs_with_a_remote_backend(tmp_path: Path, backends: list[str], count: int, named: str | None) -> None:
    """Whole words of the built-in list, in any case: such runs do not count, and the reason names them."""
    offline = [{"backend": name, "command": "run", "hardware": "cpu", "latency_sec": 3} for name in backends]
    found = score(tmp_path, evidence={**EVIDENCE, "offline_runs": offline}, manifest=["D"], **RIGHT)
    told = ["1 offline run names a remote or hosted backend, and so does not count"]
    if count != 1:
        told = [f"{count} offline runs name a remote or hosted backend, and so do not count"] * (count > 0)
    assert [warning for warning in found.warnings if "backend" in warning] == told
    gate = gates(found)["offline_evidence"]
    assert gate["measured"] == len(backends) - count
    assert gate["passed"] is (len(backends) > count)
    if named is None:
        assert "not counted" not in gate["reason"]
    else:
        assert gate["reason"].endswith(f"; not counted, remote or hosted: {named}")


def test_words_for_remote_backends() -> None:
    """Each word of the list can be found: lower case, letters and digits."""
    assert all(
        word in remote_words_in(word) and word in remote_words_in(f"x_{word.upper()}-1") for word in remote_words()
    )
    assert {"modal", "hf_inference"} < remote_words()


def test_only_identical_proofs_are_counted_once(tmp_path: Path) -> None:
    """Two proofs of one document and kind are two, if their evidence or interpretation differs."""
    proof = {"doc_id": "D", "kind": "measured", "evidence": "e", "interpretation": "i"}
    for other, measured in ((proof, 1), ({**proof, "evidence": "f"}, 2), ({**proof, "interpretation": "j"}, 2)):
        found = score(tmp_path, evidence={**EVIDENCE, "proofs": [proof, other]}, manifest=["D"], **RIGHT)
        assert gates(found)["standout_proofs"]["measured"] == measured


def test_gates_without_input(tmp_path: Path) -> None:
    """What was not given is null, not failed; but there is no GO without it."""
    found = score(tmp_path, **RIGHT)
    assert [gate["passed"] for gate in gates(found).values()] == [True, True, True, None, None, None]
    assert found.result is not None
    assert found.result["decision"] == "NO-GO"
    few = gates(score(tmp_path, runs=[run(9, "evaluation")], evidence=EVIDENCE, **RIGHT))
    assert (few["reliability"]["measured"], few["reliability"]["passed"]) == (0, False)
    assert (few["standout_proofs"]["measured"], few["standout_proofs"]["passed"]) == (None, None)


def test_a_document_of_both_kinds(tmp_path: Path) -> None:
    """Labels of both kinds for one document are an error of the truth: refused."""
    records = {**RIGHT, "lab": [labs("D", lab("Glucosa", "100"))]}
    found = score(tmp_path, **records)
    assert not found.valid
    assert found.result is None
    assert "MC310" in [each.code for each in found.problems]


def test_fuzzy_is_another_protocol(tmp_path: Path) -> None:
    """A misspelt name is paired, under another fingerprint."""
    records: dict[str, Any] = {
        "rx": [rx("D", drug("Acetaminofen"))], "rx_read": [read_rx("D", drug("Acetaminofem"))],
    }  # fmt: skip
    exact, fuzzy = score(tmp_path, **records), score(tmp_path, parameters={"match": "fuzzy"}, **records)
    assert (document(exact)["matched"], document(fuzzy)["matched"]) == (0, 1)
    assert exact.protocol.fingerprint != fuzzy.protocol.fingerprint


@pytest.mark.parametrize(
    ("expected", "got", "how"),
    [
        ("50 mg", "", "missing"), ("", "50 mg", "expected to be empty"), ("50 mg", "50mg", "spaces only"),
        ("50 mg", "5 mg", "number"), ("50 mg", "50 g", "different unit, same number"),
        ("en ayunas", "en ayunas siempre", "too much"), ("en ayunas", "ayunas", "too little"),
        ("cada día", "nunca", "different text"),
    ],
)  # fmt: skip
def test_sorts_of_differences(expected: str, got: str, how: str) -> None:
    """What a team has to mend."""
    assert difference(expected, got) == how


def test_values_are_shown_where_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A breakdown in JSON names fields and sorts of differences; what is printed only with --show-values."""
    files = [
        lines(tmp_path, "a.jsonl", [rx("D", drug("Losartán potásico", "SECRETA 50"))]),
        lines(tmp_path, "b.jsonl", [read_rx("D", drug("Losartán potásico", "OTRA 50"))]),
    ]
    call = ["score", *map(str, files), "--breakdown", "--format", "json"]
    assert main(call) == 1
    plain = capsys.readouterr().out
    fields = json.loads(plain)["breakdown"][0]["fields"]
    assert fields == [{"field": "dosis", "difference": "different words, same number"}]
    assert "SECRETA" not in plain
    assert "OTRA" not in plain
    main([*call, "--show-values"])
    assert "SECRETA" in capsys.readouterr().out
    assert medcontract.validate(plain.encode(), "medcontract/score", name="x.json").ok


def test_examples_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files of init: GO, worked out by hand when they were written (93.2, 75.7, 91.7)."""
    assert main(["init", "extraction", str(tmp_path / "demo")]) == 0
    capsys.readouterr()
    assert main(["score", str(tmp_path / "demo"), "--result-only"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = ("prescription_accuracy", "lab_accuracy", "pipeline_success_rate")
    assert [round(found[name], 1) for name in names] == [93.2, 75.7, 91.7]
    assert main(["preflight", str(tmp_path / "demo")]) == 0
    assert "GO" in capsys.readouterr().out


def test_content_of_labels(tmp_path: Path) -> None:
    """The hash is over canonical records: sorted keys, no nulls, nothing escaped that need not be."""
    full = rx("RX-2", drug("ÁCIDO fólico \u2028 \x7f", "5 µg", '"1"')) | {
        "notes": "ñ", "annotator": None, "image_paths": ["a/b.jpg", "ü.jpg"], "label_status": "reviewed",
    }  # fmt: skip
    plain = rx("RX-1", drug("A"))
    made = score(tmp_path, rx=[full, plain], rx_read=[read_rx("RX-1", drug("A")), read_rx("RX-2", drug("B"))])
    texts = sorted(canonical({k: v for k, v in record.items() if v is not None}).encode() for record in (full, plain))
    expected = sha256(b"".join(text + b"\n" for text in texts)).hexdigest()
    assert [file.content_sha256 for file in made.inputs if file.content_sha256] == [expected]
