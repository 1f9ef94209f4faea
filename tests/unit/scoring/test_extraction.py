"""The track `extraction`, with numbers worked out by hand: documents, gates, decision."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests import naive
from tests.scoring_files import Record, drug, lab, labs, read_labs, read_rx, rx

import medcontract
from medcontract.cli.main import main
from medcontract.scoring.canonical import canonical
from medcontract.scoring.extraction.decision import remote_words, remote_words_in
from medcontract.scoring.extraction.differences import difference


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
    given = [f"{NAMES[name]}={lines(folder, f'{name}.jsonl', found)}" for name, found in records.items()]
    if evidence is not None:
        (folder / "evidence.json").write_text(json.dumps(evidence))
        given.append(str(folder / "evidence.json"))
    if manifest is not None:
        rows = [f"{doc_id},prescription,{doc_id}.png,labeled,yes" for doc_id in manifest]
        text = "\n".join(["doc_id,doc_type,image_path,label_status,pii_checked", *rows]) + "\n"
        (folder / "manifest.csv").write_text(text)
        given.append(str(folder / "manifest.csv"))
    return medcontract.score(*given, parameters=parameters)


def document(found: medcontract.Score, number: int = 0) -> Record:
    assert found.result is not None
    row: Record = found.result["documents"][number]
    return row


def gates(found: medcontract.Score) -> dict[str, Record]:
    assert found.result is not None
    return {gate["gate"]: gate for gate in found.result["gates"]}


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
