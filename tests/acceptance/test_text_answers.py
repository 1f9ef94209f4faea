"""Warnings about answers that are valid, but probably none: texts, constant columns, improbable values."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.commands import SENT, TRUTH, Call, caller, sent_file, truth_file
from tests.scoring_files import Record, answer, drug, model, read_rx, run, says, telemetry
from tests.support import ROOT

import medcontract
from medcontract.scoring.plausibility import Impression, Watch

PATTERNS = json.loads((ROOT / "src/medcontract/scoring/text_patterns.json").read_text(encoding="utf-8"))
EXAMPLES = {
    "refusal": [
        "I'm sorry, but I cannot give a diagnosis.",
        "Lo siento, pero no puedo ayudar con eso.",
        "As an AI, no.",
    ],
    "reasoning": ["<think>The MCV is low.</think> Thalassemia", "Gout </reasoning>"],
    "special token": ["Gout<|eot_id|>", "Gout</s>", "[/INST] Gout"],
    "prompt": ["### Instruction: answer. Gout", "Answer: gout", "Respuesta: gota", "Gout\nUser: and now?"],
    "fence": ["```json\n{}\n```", '{"answer": "gout"}'],
    "API error": [
        "429",
        "Error code: 500 - overloaded",
        "Traceback (most recent call last): File",
        "rate limit exceeded",
    ],
    "placeholder": ["N/A", "TODO", "None", "lorem ipsum dolor", "[answer]", "[ilegible]"],
    "mojibake": ["Infecci├│n", "losart├ín", "InfecciÃ³n", "38 Â°C", "donâ€™t"],
    "replacement": ["Infecci\ufffdn"],
    "escape": ["Infecci\\u00f3n", "38 \\xb0C", "Gout\\n\\nBecause"],
    "Python object": ["b'gout'", "<generator object generate at 0x7fbb8deb7e>", "<app.Answer object at 0x7f00>"],
    "LaTeX": ["\\boxed{gout}"],
    "quoted-printable": ["Infecci=C3=B3n"],
    "HTML": ["Infecci&oacute;n", "Gout<br>", "5 &gt; 4"],
}
CLINICAL = [
    "Infección de vías urinarias; tomar todo el tratamiento.", "TSH < 0,1 mUI/L y T4 > 2; [K+] 3,5 & Na 140",
    "No puedo dormir, refiere el paciente.", "Patient says: I'm sorry I missed it", "p<0.05, 5 µg/kg/min, 38 °C ± 0,5",
    "Nan et al. described it.", "Type N/A antigen was not tested.", "Ninguna", "null cell lymphoma", "429 mg/dL",
    "AND\\OR", "C:\\temp", "{glucose}", "Ñandú — «¿qué?»", "São João: prescrição", "test de Coombs", "s/p TODO test",
    "The answer is unclear", "System review: normal", "errores innatos", "Timeout before incision was done",
]  # fmt: skip


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def _found(*texts: str) -> list[str]:
    """What is said about the answers, in order."""
    rows = [SimpleNamespace(text=text) for text in texts]
    watch = Watch(track="benchmark", texts=lambda row: [(("text",), row.text)])
    return [finding.text for _, finding in Impression().see(watch, rows)]


@pytest.mark.parametrize("kind", PATTERNS)
def test_kinds(kind: str) -> None:
    """Each example is of its kind; each pattern says what it mistakes and misses, and is documented."""
    data = PATTERNS[kind]
    for text in EXAMPLES[kind]:
        assert f"'text' {data['says']}" in _found(text)
    assert data["false_alarms"]
    assert data["misses"]
    assert f"| {kind} |" in (ROOT / "docs/text-answers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", CLINICAL)
def test_clinical_text(text: str) -> None:
    assert _found(text) == []


def test_printed_placeholders() -> None:
    """A document may print N/A; no document prints None."""
    watch = Watch(track="extraction", texts=lambda row: [(("text",), row)])
    assert not Impression().see(watch, ["N/A", "..."])
    assert Impression().see(watch, ["None"])


def test_examples_have_no_such_text() -> None:
    folder = ROOT / "src/medcontract/examples"
    for track in ("reports", "extraction", "triage", "benchmark", "lesions"):
        checklist = medcontract.preflight(folder / track)
        assert not {problem.code for problem in checklist} & {"MC507", "MC508"}
    for name in ("stroke", "chest"):
        submissions = (ROOT / "examples" / name / "submissions").iterdir()
        truth = next((ROOT / "examples" / name).glob("truth.*"))
        for each in submissions:
            challenge = medcontract.Challenge.load(ROOT / "examples" / name / "challenge.toml")
            assert not {problem.code for problem in challenge.preflight(truth, each)} & {"MC507", "MC508"}


def test_a_place_and_a_count(call: Call, tmp_path: Path) -> None:
    """The first texts have a place; the score is the same, and `validate` says nothing."""
    refused = [says(true["sample_id"], answer="As an AI, I cannot.") for true in SENT["benchmark"][:6]]
    sent = sent_file(tmp_path, "benchmark", [*refused, *SENT["benchmark"][6:]])
    ran = call("preflight", sent)
    assert "sent.json:1:" in ran.out
    assert "warning MC507 'answer' looks like a refusal of the model" in ran.out
    assert "READY, " in ran.out
    assert ran.code == 0
    scored = call("score", sent, truth_file(tmp_path, "benchmark"), "--format", "json")
    assert [problem["record"] for problem in scored.json["problems"]] == list(range(6))
    assert "MC507" not in call("validate", sent).out


def test_failed_records_do_not_count(call: Call, tmp_path: Path) -> None:
    sent = [{**each, "prediction": {"answer": "N/A"}, "error": "timeout"} for each in SENT["benchmark"]]
    assert "MC507" not in call("preflight", sent_file(tmp_path, "benchmark", sent)).out


def _problems(call: Call, *files: Any) -> list[str]:
    checks = call("preflight", *files, "--format", "json").json["checks"]
    return [f"{each['code']} {each['message']}" for check in checks for each in check["problems"]]


def _preflight(call: Call, folder: Path, track: str, sent: list[Record], *more: Path) -> list[str]:
    return [each for each in _problems(call, sent_file(folder, track, sent), *more) if each[:5] in ("MC507", "MC508")]


def test_what_all_answers_share(call: Call, tmp_path: Path) -> None:
    said = [says(each["sample_id"], answer="Community-acquired pneumonia") for each in SENT["benchmark"]]
    assert _preflight(call, tmp_path, "benchmark", said) == ["MC507 'answer' is the same text in all 20 answers"]
    said = [says(each["sample_id"], answer=f"You read a note. Diagnosis? {n} gout") for n, each in enumerate(said)]
    (found,) = _preflight(
        call,
        tmp_path,
        "benchmark",
        [{**a, "sample_id": b["sample_id"]} for a, b in zip(said, SENT["benchmark"], strict=True)],
    )
    assert found.startswith("MC507 'answer' starts with the same 28 characters")


def test_texts_that_were_cut_off(call: Call, tmp_path: Path) -> None:
    texts = [f"{n} patients with gout" for n in range(20)]
    said = [says(each["sample_id"], answer=text[:12]) for each, text in zip(SENT["benchmark"], texts, strict=True)]
    (found,) = _preflight(call, tmp_path, "benchmark", said)
    assert found.startswith("MC507 'answer' has exactly 12 characters")
    codes = [says(each["sample_id"], answer=f"I21.{n:08}") for n, each in enumerate(SENT["benchmark"])]
    assert _preflight(call, tmp_path, "benchmark", codes) == []


def test_a_looping_model(call: Call, tmp_path: Path) -> None:
    sent = [
        read_rx(true["doc_id"], *[drug("Losartán")] * (10 if n else 9))
        for n, true in enumerate(TRUTH["extraction"][:2])
    ]
    assert "MC507 'medicamentos' has the same item 10 times" in _preflight(call, tmp_path, "extraction", sent)


def test_numbers(call: Call, tmp_path: Path) -> None:
    """Constant labels, hard probabilities, times that are 0, other units."""
    same = [
        {**each, "specialty": "Oncology", "urgency": "Urgent", "processing_time_sec": 0} for each in SENT["reports"]
    ]
    assert _preflight(call, tmp_path, "reports", same) == [
        "MC508 'specialty', 'urgency' are the same in all 20 answers",
        "MC508 'processing_time_sec' is 0 in all 20 answers",
    ]
    hard = [{**each, "probabilities": [round(p) for p in each["probabilities"]]} for each in SENT["lesions"]]
    assert _preflight(call, tmp_path, "lesions", hard) == [
        "MC508 the list of probabilities is only 0 and 1 in all 20 answers"
    ]
    odd = [{**each, "message_sent_time": 12.5, "lsi_confidence_scores": {"airway": 92}} for each in SENT["triage"][:1]]
    found = _preflight(call, tmp_path, "triage", [*odd, *SENT["triage"][1:]])
    assert found == [
        "MC508 'message_sent_time' is too small for seconds since 1970",
        "MC508 'lsi_confidence_scores' has a value outside 0 to 1",
    ]
    (tmp_path / "t.json").write_text(json.dumps(telemetry(run(memory=0.5, cpu=0.48))), encoding="utf-8")
    assert _preflight(call, tmp_path, "reports", SENT["reports"], tmp_path / "t.json") == [
        "MC508 'max_memory_mb' is below 5", "MC508 'avg_cpu_percent' is at most 1",
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(telemetry(run(memory=5e8, cpu=48))), encoding="utf-8")
    assert "MC508 'max_memory_mb' is more than 1 TB" in _preflight(
        call, tmp_path, "reports", SENT["reports"], tmp_path / "t.json"
    )
    (tmp_path / "m.json").write_text(json.dumps(model(time=0.118)), encoding="utf-8")
    assert _preflight(call, tmp_path, "lesions", SENT["lesions"], tmp_path / "m.json") == [
        "MC508 'inference_time_ms' is below 1: no image can be read in that time"
    ]


def test_years(call: Call, tmp_path: Path) -> None:
    for year, found in ((2205, ["MC508 'evaluation_date' is not between 2000 and 2099"]), (2026, [])):
        sent = sent_file(tmp_path, "reports", evaluation_date=f"{year}-03-10")
        assert [each for each in _problems(call, sent) if each[:5] == "MC508"] == found


def test_a_constant_answer_would_be_better(call: Call, tmp_path: Path) -> None:
    """All but two answers are wrong, and differ. Participants do not learn it: it depends on the labels.

    A ranking is the same with and without reports, which show it, too.
    """
    truth = [{**each, "specialty": "Oncology" if n < 12 else "Neurology"} for n, each in enumerate(TRUTH["reports"])]
    wrong = [answer({**each, "specialty": "Other" if n % 10 else each["specialty"]}) for n, each in enumerate(truth)]
    files = truth_file(tmp_path, "reports", truth), sent_file(tmp_path, "reports", wrong)
    message = "MC508 the same answer for all items would be better: specialty_accuracy"
    assert any(each.startswith(message) for each in call("score", *files, "--format", "json").json["warnings"])
    assert message not in call("score", *files, "--format", "json", "--participant").out
    boards = [
        call("leaderboard", *files, "--format", "json", *options).json
        for options in ((), ("--reports", tmp_path / "reports"))
    ]
    assert boards[0] == boards[1]
    assert boards[0]["submissions"][0]["valid"] is True
    assert [path for path in (tmp_path / "reports").iterdir() if message in path.read_text(encoding="utf-8")]


def test_inverted_scores(call: Call, tmp_path: Path) -> None:
    stroke = ROOT / "examples/stroke"
    sent = json.loads((stroke / "submissions/heron/predictions.json").read_text(encoding="utf-8"))
    for record in sent["predictions"]:
        if record.get("probability") is not None:
            record["probability"] = round(1 - record["probability"], 3)
    (tmp_path / "p.json").write_text(json.dumps(sent), encoding="utf-8")
    ran = call("score", "--challenge", stroke / "challenge.toml", stroke / "truth.csv", tmp_path / "p.json")
    assert "MC508 auroc is 0.0108: worse than chance" in ran.out


@pytest.mark.parametrize("team", ["crane", "heron"])
def test_calibration_is_not_compared_with_a_constant_answer(team: str, call: Call) -> None:
    """The same answer for all cases has a calibration error of 0, however good a submission is."""
    findings = ROOT / "examples/findings"
    sent = findings / "submissions" / team
    ran = call("score", "--challenge", findings / "challenge.toml", findings / "truth.csv", sent)
    assert ran.code == 0
    assert "MC508" not in ran.out


def test_curves_are_shown_once(call: Call) -> None:
    """Three metrics are about the same probability: one ROC curve and one plot of its calibration."""
    findings = ROOT / "examples/findings"
    sent = findings / "submissions/crane"
    files = "--challenge", findings / "challenge.toml", findings / "truth.csv", sent
    page = call("score", *files, "--format", "html").out
    for name in ("Edema", "Effusion", "Nodule"):
        for plot in ("ROC", "Calibration"):
            assert len(re.findall(rf"<h2[^>]*>{plot} of {name}: {name} is 1<", page)) == 1


_TEXTS = st.lists(
    st.sampled_from(["gout", "gout and more words here", "gout and more words", "N/A", "asthma", ""]), max_size=12
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS, _TEXTS, st.integers(0, 1))
def test_chunks_give_the_same_impression(first: list[str], second: list[str], value: int) -> None:
    """What two chunks have in common is what the whole file has in common."""
    watch = Watch(
        track="x", texts=lambda row: [(("text",), row)], columns={"length": len}, amounts={"zero": lambda row: value},
        probabilities={"hard": lambda row: len(row) % 2 / (1 + value)},
    )  # fmt: skip
    whole, left, right = Impression(), Impression(), Impression()
    whole.see(watch, first + second)
    left.see(watch, first)
    right.see(watch, second)
    left.absorb(right)
    assert list(left.remarks(watch)) == list(whole.remarks(watch))


def test_loop() -> None:
    """A text that repeats itself is long; a short one may be a list."""
    assert _found("take one tablet with water " * 12) == ["'text' repeats itself"]
    assert _found("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "take one tablet with water, then rest. " * 3) == []


def test_base64_of_short_texts() -> None:
    words = ["Gout", "Asthma", "Measles", "Anemia", "aPTT", "Sepsis", "Malaria", "Scurvy"]
    watch = Watch(track="benchmark", texts=lambda row: [(("text",), row)])
    encoded = [b64encode(word.encode()).decode() for word in words]
    for texts, expected in ((encoded, ["'text' looks like Base64 in all 8 answers"]), (words, [])):
        impression = Impression()
        impression.see(watch, texts)
        assert [message for _, message, _ in impression.remarks(watch)] == expected


def test_same_object() -> None:
    """That all answers start in the same way is no prompt."""
    watch = Watch(track="benchmark", texts=lambda row: [(("text",), row)])
    impression = Impression()
    found = list(impression.see(watch, [f"<generator object generate at 0x7fbb8deb{at}>" for at in range(8)]))
    assert len(found) == 8
    assert not list(impression.remarks(watch))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model_predictions": [], "lsi_confidence_scores": {"Airway": 0.9}},
            "MC508 'model_predictions' is empty, though a confidence is 0.5 or more",
        ),
        ({"model_predictions": [], "lsi_confidence_scores": {"Airway": 0.1}}, ""),
    ],
)
def test_no_groups(changes: Record, message: str, call: Call, tmp_path: Path) -> None:
    """A list is empty if there is none, but not if a group is likely."""
    found = _preflight(call, tmp_path, "triage", [{**SENT["triage"][0], **changes}, *SENT["triage"][1:]])
    assert found == ([message] if message else [])


@pytest.mark.parametrize(("step", "counts"), [(2.0, True), (0.0, False)])
def test_times_since_the_start(step: float, counts: bool, call: Call, tmp_path: Path) -> None:
    """Times that count up are no milliseconds."""
    sent = [{**each, "processing_time_sec": 9.0 + step * at} for at, each in enumerate(SENT["reports"])]
    output = call("preflight", sent_file(tmp_path, "reports", sent), "--format", "json").out
    assert ("the times count up: write the time of each report alone" in output) == counts
    assert ("divide it by 1000" in output) != counts


def test_names_of_entities(call: Call, tmp_path: Path) -> None:
    said = [
        {**each, "prediction": {**each["prediction"], "entities": {"labs": ["sodio", "├│rea"]}}}
        for each in SENT["benchmark"]
    ]
    assert _preflight(call, tmp_path, "benchmark", said[:1])[0].startswith(
        "MC507 an item of 'labs' has wrongly decoded"
    )
