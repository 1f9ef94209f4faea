"""Protocols as frozen data: canonical JSON, fingerprints, `protocol list|show`, `--parameter`."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.commands import TRACKS, Call, all_files, keeps
from tests.support import ROOT

import medcontract
from medcontract.scoring import tracks
from medcontract.scoring.canonical import canonical


@pytest.fixture
def show(call: Call) -> Call:
    """`medcontract protocol show`, as JSON."""
    return partial(call, "protocol", "show", "--format", "json")


def fingerprint(track_id: str, version: int, parameters: dict[str, Any]) -> str:
    """The fingerprint by the spec, made without any code of medcontract.

    For plain ASCII keys and numbers below 1e16 with few digits, Python writes JSON as RFC 8785 asks for, once 1.0 is 1.
    """
    numbers = {name: value for name, value in parameters.items() if isinstance(value, int | float)}
    assert all(1e-4 <= abs(value) < 1e16 or value == 0 for value in numbers.values())
    assert all(value is None or (isinstance(value, str) and value.isascii())
               for name, value in parameters.items() if name not in numbers)  # fmt: skip
    plain = parameters | {name: int(value) for name, value in numbers.items() if value == int(value)}
    value = {"id": track_id, "version": version, "parameters": plain}
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# --- canonical JSON (RFC 8785) -------------------------------------------------------------------


@pytest.mark.parametrize(("number", "text"), [
    (333333333.33333329, "333333333.3333333"), (1e30, "1e+30"), (4.50, "4.5"), (2e-3, "0.002"),
    (0.000000000000000000000000001, "1e-27"), (0.0, "0"), (-0.0, "0"), (0, "0"), (1e21, "1e+21"),
    (1e20, "100000000000000000000"), (5e-324, "5e-324"), (-5e-324, "-5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"), (-1.7976931348623157e308, "-1.7976931348623157e+308"),
    (9007199254740992.0, "9007199254740992"), (-9007199254740992.0, "-9007199254740992"),
    (9007199254740992, "9007199254740992"), (9007199254740993, "9007199254740992"),
    (295147905179352830000.0, "295147905179352830000"), (9.999999999999997e22, "9.999999999999997e+22"),
    (1e23, "1e+23"), (1.0000000000000001e23, "1.0000000000000001e+23"),
    (999999999999999700000.0, "999999999999999700000"), (999999999999999900000.0, "999999999999999900000"),
    (333333333.3333332, "333333333.3333332"), (333333333.33333325, "333333333.33333325"), (0.000001, "0.000001"),
    (0.0000001, "1e-7"), (1.5e-7, "1.5e-7"), (-0.0000033333333333333333, "-0.0000033333333333333333"),
    (1424953923781206.2, "1424953923781206.2"), (1.0, "1"), (1, "1"), (100, "100"), (0.95, "0.95"), (-2.5, "-2.5"),
])  # fmt: skip
def test_numbers(number: float, text: str) -> None:
    """Numbers are written as in the vectors of RFC 8785, appendix B."""
    assert canonical(number) == text
    assert float(text) == float(number)


def test_example_of_the_rfc() -> None:
    """The example of RFC 8785, section 3.2: literals, numbers, escapes."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical(value) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_utf_16() -> None:
    """The order of RFC 8785, section 3.2.3: a letter beyond the basic plane comes before U+FB33."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    ordered = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(keys)))) == ordered


def test_a_bool_is_no_number() -> None:
    """True is not 1."""
    assert canonical([True, 1, False, 0]) == "[true,1,false,0]"


# --- list and show -------------------------------------------------------------------------------


def test_list(call: Call) -> None:
    """All protocols with version and fingerprint, in text and in JSON."""
    ran = call("protocol", "list", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    listed = keeps(ran.out, "medcontract/protocols")["protocols"]
    assert [item["id"] for item in listed] == sorted(TRACKS)
    text = call("protocol", "list")
    assert (text.code, text.err) == (0, "")
    for item in listed:
        assert set(item) == {"id", "version", "fingerprint"}
        assert [line for line in text.out.splitlines() if line.startswith(item["id"]) and item["fingerprint"] in line]


@pytest.mark.parametrize("track", TRACKS)
def test_show(show: Call, call: Call, track: str) -> None:
    """A protocol keeps its contract, and every number says what it does and where it comes from."""
    ran = show(track)
    assert (ran.code, ran.err) == (0, "")
    page = keeps(ran.out, "medcontract/protocol")
    classes = ["classes"] if track == "lesions" else []
    assert list(page) == ["id", "version", "fingerprint", "pinned_sha256", "parameters", "figures", *classes, "changes"]
    assert page["id"] == track
    assert [change["version"] for change in page["changes"]] == list(range(1, page["version"] + 1))
    text = call("protocol", "show", track).out
    for parameter in page["parameters"]:
        assert [line for line in text.splitlines() if line.split()[:1] == [parameter["name"]]]
        assert parameter["source"] in text
    for figure in page["figures"]:
        assert figure["name"] in text
    assert page["fingerprint"] in text


SOURCE_CLASSES = [
    (1, "AK", "actinic keratosis", "benign"),
    (2, "BCC", "basal cell carcinoma", "malignant"),
    (3, "SK", "seborrheic keratosis", "medium risk"),
    (4, "SCC", "squamous cell carcinoma", "malignant"),
    (5, "VASC", "vascular lesion", "medium risk"),
    (6, "DF", "dermatofibroma", "benign"),
    (7, "NV", "benign nevus", "benign"),
    (8, "NON", "other non-neoplastic", "benign"),
    (9, "MEL", "melanoma", "malignant"),
    (10, "ON", "other neoplastic / benign", "benign"),
]
"""As in the source document: number, symbol, name, clinical type."""


def test_classes_of_lesions(show: Call, call: Call) -> None:
    """They are shown as the source lists them, and the groups of the score follow from their types."""
    page = show("lesions").json
    assert [tuple(each.values()) for each in page["classes"]] == SOURCE_CLASSES
    lines = call("protocol", "show", "lesions").out.splitlines()
    for number, symbol, name, kind in SOURCE_CLASSES:
        assert [line for line in lines if line.split() == [str(number), symbol, *name.split(), *kind.split()]]
    about = {figure["name"]: figure["about"] for figure in page["figures"]}
    assert about["f1_malignant"] == "mean F1 of BCC, SCC, MEL"
    assert about["f1_medium"] == "mean F1 of SK, VASC"
    assert about["f1_benign"] == "mean F1 of AK, DF, NV, NON, ON"


def test_classes_in_schemas_and_docs() -> None:
    """The descriptions of labels, probabilities and figures, and the page about images, name every class."""
    truth = medcontract.json_schema("lesions/truth", record=True)["properties"]["label"]
    sent = medcontract.json_schema("lesions/predictions", record=True)["$defs"]["LesionsPrediction"]
    score = medcontract.json_schema("lesions/score")["$defs"]
    docs = (ROOT / "docs" / "images.md").read_text(encoding="utf-8")
    assert truth["enum"] == [symbol for _, symbol, *_ in SOURCE_CLASSES]
    for number, symbol, name, kind in SOURCE_CLASSES:
        text = f"{symbol} ({number}: {name}, {kind})"
        assert text in truth["description"]
        assert text in sent["properties"]["probabilities"]["description"]
        for model in ("LesionsByClass", "LesionsMatrixRow", "LesionsMatrix"):
            assert text in score[model]["properties"][symbol]["description"]
        assert f"| {number} | {symbol} | {name} | {kind} |" in docs


@pytest.mark.parametrize(
    ("track", "version", "reason"),
    [
        ("reports", 2, "measured by the organizer"),
        ("triage", 3, "the description is part of an instance"),
        ("lesions", 2, "measured with a GPU"),
        ("extraction", 3, "may be absent or null"),
        ("benchmark", 3, "abbreviations are also found in answers"),
    ],
)
def test_versions(show: Call, track: str, version: int, reason: str) -> None:
    """A formula that changed has a new version, and its reason is documented."""
    page = show(track).json
    assert page["version"] == version
    assert reason in page["changes"][-1]["reason"]


@pytest.mark.parametrize("track", TRACKS)
def test_scores_carry_the_protocol(show: Call, call: Call, tmp_path: Path, track: str) -> None:
    """A score has the protocol that `protocol show` prints: id, version, fingerprint, parameters."""
    page = show(track).json
    carried = call("score", *all_files(tmp_path, track), "--format", "json").json["protocol"]
    assert carried == {
        "id": track, "version": page["version"], "fingerprint": page["fingerprint"],
        "parameters": {parameter["name"]: parameter["value"] for parameter in page["parameters"]},
    }  # fmt: skip
    assert fingerprint(carried["id"], carried["version"], carried["parameters"]) == carried["fingerprint"]


def test_numbers_of_the_sources(show: Call) -> None:
    """The frozen numbers are the numbers of the scoring page."""
    values = {p["name"]: p["value"] for track in TRACKS for p in show(track).json["parameters"]}
    assert {name: values[name] for name in values if name.startswith("weight_")} == {
        "weight_specialty": 0.3, "weight_urgency": 0.25, "weight_follow_up": 0.15,
        "weight_emergency": 0.4, "weight_urgent": 0.35, "weight_routine": 0.25,
        "weight_malignant": 3, "weight_medium": 2, "weight_benign": 1,
        "weight_accuracy": 0.5, "weight_weighted_f1": 0.5, "weight_size": 0.5, "weight_time": 0.5,
        "weight_prediction": 0.9, "weight_efficiency": 0.1,
        "weight_name_recall": 0.7, "weight_attribute_accuracy": 0.3,
        "weight_test_recall": 0.6, "weight_lab_field_accuracy": 0.4,
        "weight_diagnoses": 3, "weight_treatments": 2, "weight_medications": 2, "weight_symptoms": 1, "weight_labs": 1,
        "weight_overlap": 0.4, "weight_structure": 0.15, "weight_evidence": 0.2, "weight_factual": 0.25,
    }  # fmt: skip
    goals = ("prescription_accuracy", "lab_accuracy", "pipeline_success_rate", "reliability", "offline_evidence",
             "standout_proofs")  # fmt: skip
    assert [values[f"goal_{name}"] for name in goals] == [85, 75, 90, 5, 1, 2]
    assert (values["value_tolerance"], values["match"], values["fuzzy_threshold"]) == (0.02, "exact", 90)
    reasoning = ("markers_for_full", "share_of_facts", "penalty", "penalty_most")
    assert [values[name] for name in reasoning] == [3, 0.5, 0.15, 0.4]
    limits = ("time_limit_sec", "memory_limit_mb", "cpu_limit_percent", "size_full_below_mb", "min_processed")
    assert [values[name] for name in limits] == [5, 1024, 90, 50, 0.95]
    assert (values["t_min_ms"], values["t_max_ms"]) == (None, None)


def test_protocols_are_frozen() -> None:
    """Nothing can be assigned to a protocol or a parameter, and a change gives another protocol."""
    protocol = tracks.track("lesions").protocol
    with pytest.raises(AttributeError):
        protocol.version = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        protocol.parameters[0].value = None  # type: ignore[misc]
    before = protocol.fingerprint
    assert protocol.changed("min_processed", "0.5").fingerprint != before
    assert protocol.fingerprint == before == tracks.track("lesions").protocol.fingerprint


# --- --parameter ---------------------------------------------------------------------------------


def test_a_changed_parameter(show: Call) -> None:
    """A changed parameter changes the value that is shown and the fingerprint, and nothing else."""
    frozen, changed = show("reports").json, show("reports", "--parameter", "weight_urgent=0.36").json
    assert changed["fingerprint"] != frozen["fingerprint"]
    values = {parameter["name"]: parameter["value"] for parameter in changed["parameters"]}
    assert values["weight_urgent"] == 0.36
    assert changed["fingerprint"] == fingerprint("reports", changed["version"], values)
    differing = [a["name"] for a, b in zip(changed["parameters"], frozen["parameters"], strict=True) if a != b]
    assert differing == ["weight_urgent"]


@pytest.mark.parametrize("track", TRACKS)
def test_every_parameter_counts(show: Call, track: str) -> None:
    """Each parameter can be changed by its name, each change gives another fingerprint."""
    page = show(track).json
    found = {page["fingerprint"]}
    values = {parameter["name"]: parameter["value"] for parameter in page["parameters"]}
    changed = {name: value * 0.875 for name, value in values.items() if isinstance(value, int | float)}
    changed.pop("goal_reliability", None)  # five runs, all of them: nothing to change
    words = {"extraction": {"match": "fuzzy"}, "benchmark": {"given_scores": "ignored"}}.get(track, {})
    names = [*changed, *words]
    for name, value in {**changed, **words}.items():
        ran = show(track, "--parameter", f"{name}={value}")
        assert ran.code == 0
        found.add(ran.json["fingerprint"])
    assert len(found) == len(names) + 1


@pytest.mark.parametrize("spelling", ["0.95", "0.950", "95e-2", "+0.95", "00.95", " 0.95 ", ".95", "9.5E-1"])
def test_equal_decimals(show: Call, spelling: str) -> None:
    """The same number is the same parameter, however it is written."""
    assert show("triage", "--parameter", f"min_processed={spelling}").out == show("triage").out


def test_several_parameters(show: Call) -> None:
    """Their order does not matter."""
    pair = ("--parameter", "min_processed=0.5", "--parameter", "weight_time=0.25")
    swapped = ("--parameter", "weight_time=0.25", "--parameter", "min_processed=0.5")
    assert show("lesions", *pair) == show("lesions", *swapped)


@pytest.mark.parametrize(("given", "words"), [
    ("min_proccessed=0.9", "did you mean 'min_processed'?"),
    ("nonsense=1", "medcontract protocol show reports"),
    ("t_min_ms=1", "medcontract protocol show reports"),
    ("Min_Processed=0.9", "min_processed"),
    ("min_processed=NaN", "at least 0 and at most 1"),
    ("min_processed=sNaN", "at least 0 and at most 1"),
    ("min_processed=inf", "at least 0 and at most 1"),
    ("min_processed=-Infinity", "at least 0 and at most 1"),
    ("min_processed=-0.1", "at least 0 and at most 1"),
    ("min_processed=1.0001", "at least 0 and at most 1"),
    ("min_processed=95", "at least 0 and at most 1"),
    ("weight_urgent=-1", "at least 0"),
    ("weight_urgent=NaN", "at least 0"),
    ("memory_mb_per_point=0", "above 0"),
    ("memory_mb_per_point=-1", "above 0"),
    ("min_processed=0.9500000000000000000001", "digits"),
    ("min_processed=0.12345678901234567890", "digits"),
    ("memory_limit_mb=1e400", "digits"),
    ("memory_limit_mb=1e-400", "digits"),
    ("memory_limit_mb=1e999999999999999999999", "memory_limit_mb"),
    ("min_processed=", "0.95"),
    ("min_processed=much", "0.95"),
    ("min_processed=95 %", "0.95"),
    ("min_processed=1/2", "0.95"),
    ("min_processed=0,95", "0.95"),
    ("min_processed=0x1", "0.95"),
    ("min_processed", "NAME=VALUE"),
    ("=0.9", "NAME=VALUE"),
    ("min_processed=0.5 min_processed=0.6", "twice"),
    ("lesions: t_min_ms=5", "t_min_ms"),  # both times or none, the smaller one first
    ("lesions: t_max_ms=5", "t_max_ms"),
    ("lesions: t_min_ms=6 t_max_ms=5", "t_min_ms"),
    ("lesions: size_min_mb=151", "size_min_mb"),
])  # fmt: skip
def test_wrong_parameters(call: Call, given: str, words: str) -> None:
    """An unknown parameter, or a wrong value, is a usage error that says what is allowed."""
    track, _, pairs = given.rpartition(": ")
    parts = [pairs] if "%" in pairs else pairs.split()
    arguments = [part for pair in parts for part in ("--parameter", pair)]
    code, out, err = call("protocol", "show", track or "reports", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith(("medcontract: ", "Usage: "))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_processed", "0.9499999999"), ("min_processed", "0.123456789"), ("min_processed", "1e-9"),
        ("memory_limit_mb", "1234567"),
    ],
)  # fmt: skip
def test_values_are_shown_in_full(call: Call, name: str, value: str) -> None:
    """Text shows the number that holds, not one that is near it."""
    text = call("protocol", "show", "reports", "--parameter", f"{name}={value}").out
    line = next(line for line in text.splitlines() if line.split()[:1] == [name])
    assert float(line.split()[1].replace(",", "")) == float(value)


def test_an_unknown_track(call: Call) -> None:
    """The existing ones are named."""
    err = call("protocol", "show", "lesion").err
    assert [track for track in TRACKS if track not in err] == []
