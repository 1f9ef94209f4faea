"""`medcontract verify`: a score is computed again from its files, and every difference is found."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.challenge_files import STROKE, stroke_predictions, stroke_truth, write
from tests.commands import TRACKS, TRUTH, Call, all_files, keeps, sent_file
from tests.scoring_files import guess

import medcontract

LEXICON = {"entities": {"diagnoses": ["asthma", "frozen thumb"]}}
WEIGHTS = {"weights": {"diagnostics": 0.6, "clinical_accuracy": 0.4}}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def scored(call: Call, *arguments: object, plus: Callable[[Any], None] | None = None) -> str:
    """Write the score of a call to a file, possibly edited."""
    ran = call("score", *arguments, "--format", "json")
    assert ran.out, ran.err
    value = ran.json
    if plus:
        plus(value)
    Path("score.json").write_text(json.dumps(value), encoding="utf-8")
    return "score.json"


def verified(call: Call, *arguments: object, code: int) -> Any:
    ran = call("verify", *arguments, "--format", "json")
    assert ran.code == code, ran.out + ran.err
    return keeps(ran.out, "medcontract/verification")


def states(found: Any) -> dict[str, str]:
    return {file["name"]: file["state"] for file in found["files"]}


@pytest.mark.parametrize("track", TRACKS)
def test_a_score_follows_from_its_files(track: str, call: Call, tmp_path: Path) -> None:
    """In any order, from a folder, and for participants; other files of the folder are named."""
    files = all_files(tmp_path / "data", track)
    for participant in ([], ["--participant"]):
        score = scored(call, *files, *participant)
        shutil.copy(score, tmp_path / "data" / "old-score.json")
        for given in (files, files[::-1], [tmp_path / "data"]):
            found = verified(call, score, *given, code=0)
            assert (found["ok"], found["differences"], found["reasons"]) == (True, [], [])
        assert found["ignored"] == ["old-score.json"]
        assert set(states(found).values()) == {"same"}
    assert call("verify", score, *files).out.startswith(f"VERIFIED  {track}: the files have the stated hashes")
    result = medcontract.verify(score, *files)
    assert result
    assert repr(result) == f"<Verification {track}: verified>"


def test_renamed_files(call: Call, tmp_path: Path) -> None:
    """Files are found by their hashes, not by their names."""
    files = all_files(tmp_path, "lesions")
    score = scored(call, *files)
    moved = [shutil.copy(path, tmp_path / f"renamed-{n}.json") for n, path in enumerate(files)]
    assert verified(call, score, *moved, code=0)["ok"]


def test_a_changed_file(call: Call, tmp_path: Path) -> None:
    """Its state is `differs`, and the figures that it changes are listed with both values."""
    truth, sent, *others = all_files(tmp_path, "lesions")
    score = scored(call, truth, sent, *others)
    wrong = [guess(each["image_id"], "BCC" if each["label"] == "NV" else each["label"]) for each in TRUTH["lesions"]]
    sent_file(tmp_path, "lesions", wrong)
    found = verified(call, score, truth, sent, *others, code=1)
    assert states(found)["sent.json"] == "differs"
    (accuracy,) = [each for each in found["differences"] if each["pointer"] == "/result/accuracy"]
    assert accuracy == {"pointer": "/result/accuracy", "kind": "value", "stated": 1.0, "computed": 0.9}
    text = call("verify", score, truth, sent, *others)
    assert "NOT VERIFIED  lesions: 1 file differs, " in text.out
    assert text.code == 1


def test_the_same_content_in_another_container(call: Call, tmp_path: Path) -> None:
    """The hash differs, which is exit code 1, but the files still give the score."""
    truth, sent, *others = all_files(tmp_path, "lesions")
    score = scored(call, truth, sent, *others)
    packed = tmp_path / "truth.json.gz"
    packed.write_bytes(gzip.compress(truth.read_bytes()))
    found = verified(call, score, packed, sent, *others, code=1)
    assert states(found)["truth.json"] == "differs"
    assert (found["computed"], found["differences"]) == (True, [])
    assert "1 file differs, the files give the stated score" in call("verify", score, packed, sent, *others).out


def test_a_missing_file(call: Call, tmp_path: Path) -> None:
    """The score is not computed without one of its files."""
    truth, sent, model = all_files(tmp_path, "lesions")
    score = scored(call, truth, sent, model)
    found = verified(call, score, truth, sent, code=1)
    assert states(found)[model.name] == "missing"
    assert (found["computed"], found["reasons"]) == (False, [f"these files are missing: {model.name}"])


def test_an_extra_file_is_not_used(call: Call, tmp_path: Path) -> None:
    """A model file that the score was made without cannot add figures to it."""
    truth, sent, model = all_files(tmp_path, "lesions")
    score = scored(call, truth, sent)
    found = verified(call, score, truth, sent, model, code=0)
    assert found["ignored"] == [model.name]


EDITS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a figure": (lambda score: score["result"].update(accuracy=0.95), "/result/accuracy"),
    "a class": (lambda score: score["result"]["f1_by_class"].update(MEL=0.5), "/result/f1_by_class/MEL"),
    "a count": (lambda score: score["processing"].update(processed=19), "/processing/processed"),
    "records": (lambda score: score["inputs"][0].update(records=7), "/inputs/0/records"),
    "content": (lambda score: score["inputs"][-1].update(content_sha256="0" * 64), "/inputs/2/content_sha256"),
    "valid": (lambda score: score.update(valid=False), "/valid"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_score(edit: str, call: Call, tmp_path: Path) -> None:
    """Every figure, count and hash of a score is compared."""
    files = all_files(tmp_path, "lesions")
    change, pointer = EDITS[edit]
    found = verified(call, scored(call, *files, plus=change), *files, code=1)
    assert [each["pointer"] for each in found["differences"]] == [pointer]
    assert set(states(found).values()) == {"same"}


def test_edited_parameters(call: Call, tmp_path: Path) -> None:
    """A fingerprint that does not follow from the parameters shows that they were edited."""
    files = all_files(tmp_path, "lesions")
    score = scored(call, *files, plus=lambda score: score["protocol"]["parameters"].update(min_processed=0.5))
    found = verified(call, score, *files, code=1)
    assert found["reasons"] == ["the fingerprint does not follow from the parameters: the score was edited"]


OPTIONS: dict[str, tuple[str, list[str]]] = {
    "match": ("extraction", ["--match", "fuzzy"]),
    "times": ("lesions", ["--t-min-ms", "12.5", "--t-max-ms", "1000"]),
    "parameter": ("lesions", ["--parameter", "weight_accuracy=0.3", "--parameter", "min_processed=0"]),
    "weights": ("benchmark", ["--weights", "diagnostics=0.6,clinical_accuracy=0.4", "--metric-name", "mine",
                              "--category", "mix=clinical_accuracy,exact_match", "--keep-missing",
                              "--parameter", "answer_metrics=exact_match+rouge_l"]),
    "timestamp": ("benchmark", ["--set", "timestamp=2026-03-01"]),
    "breakdown": ("benchmark", ["--breakdown"]),
    "breakdown with values": ("benchmark", ["--breakdown", "--show-values"]),
    "strict": ("reports", ["--strict"]),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_those_of_the_score(name: str, call: Call, tmp_path: Path) -> None:
    """Parameters, weights, header fields and breakdowns are read from the score itself."""
    track, options = OPTIONS[name]
    files = all_files(tmp_path, track)
    verified(call, scored(call, *files, *options), *files, code=0)


def test_a_breakdown_does_not_hide_a_difference(call: Call, tmp_path: Path) -> None:
    """Only the edited value of a score with a breakdown is reported."""
    files = all_files(tmp_path, "benchmark")

    def edit(score: Any) -> None:
        score["result"]["overall_scores"]["clinical_accuracy"] = 0.5

    score = scored(call, *files, "--breakdown", plus=edit)
    found = verified(call, score, *files, code=1)
    assert [each["pointer"] for each in found["differences"]] == ["/result/overall_scores/clinical_accuracy"]


def test_header_fields_of_a_table(call: Call, tmp_path: Path) -> None:
    """`--set` of a header that a .jsonl file cannot contain is read from the result."""
    truth, sent = all_files(tmp_path, "triage")
    value = json.loads(sent.read_text(encoding="utf-8"))
    (records,) = (each for each in value.values() if isinstance(each, list))
    lines = tmp_path / "sent.jsonl"
    lines.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    fields = [f"{key}={each}" for key, each in value.items() if isinstance(each, str)]
    setting = [word for field in fields for word in ("--set", field)]
    verified(call, scored(call, truth, lines, *setting), truth, lines, code=0)


def test_a_lexicon_and_weights(call: Call, tmp_path: Path) -> None:
    """The file of a custom lexicon has to be given: the protocol states its hash only."""
    files = all_files(tmp_path, "benchmark")
    lexicon, weights = (write_json(tmp_path / name, value) for name, value in
                        (("lexicon.json", LEXICON), ("weights.json", WEIGHTS)))  # fmt: skip
    score = scored(call, *files, weights, "--lexicon", lexicon)
    verified(call, score, *files, weights, lexicon, code=0)
    found = verified(call, score, *files, weights, code=1)
    assert found["reasons"][0].startswith("its protocol differs from the protocol of this call: lexicon: ")


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_report_that_was_combined_anew(call: Call, tmp_path: Path) -> None:
    """The inputs of such a score are a report and weights; its own weights count."""
    files = all_files(tmp_path, "benchmark")
    ran = call("score", *files, "--weights", "diagnostics=1", "--result-only")
    report = tmp_path / "report.json"
    report.write_text(ran.out, encoding="utf-8")
    score = scored(call, report, "--weights", "clinical_accuracy=2,diagnostics=1", "--metric-name", "second")
    verified(call, score, report, code=0)


def test_scores_of_a_challenge(call: Call, tmp_path: Path) -> None:
    """The challenge is passed as for `score`; without it, the track is unknown."""
    Path("challenge.toml").write_text(STROKE, encoding="utf-8")
    files, use = (tmp_path / "truth.json", tmp_path / "sent.json"), ("--challenge", "challenge.toml")
    write(files[0], {"truth": stroke_truth()})
    write(files[1], {"team_name": "Andes", "predictions": stroke_predictions()})
    score = scored(call, *files, *use)
    verified(call, score, *files, *use, code=0)
    assert medcontract.Challenge.load("challenge.toml").verify(score, *files)
    ran = call("verify", score, *files)
    assert ran.code == 2
    assert "--challenge FILE" in ran.err


def test_scores_of_a_ranking(call: Call, tmp_path: Path) -> None:
    """Reports of `leaderboard` state what the ranking derived from all submissions."""
    truth, sent, model = all_files(tmp_path / "data", "lesions")
    for number in (1, 2):
        (tmp_path / f"team-{number}").mkdir()
        shutil.copy(sent, tmp_path / f"team-{number}")
        value = json.loads(model.read_text(encoding="utf-8"))
        write_json(tmp_path / f"team-{number}" / "model.json", {**value, "inference_time_ms": 10.0 * number})
    teams = [tmp_path / "team-1", tmp_path / "team-2"]
    assert call("leaderboard", truth, *teams, "--reports", "reports", "--format", "json").code == 0
    for team in teams:
        verified(call, f"reports/{team.name}.json", truth, team, code=0)


def test_a_refused_score(call: Call, tmp_path: Path) -> None:
    """A score without a result is verified, too: the files give none."""
    truth, sent, *others = all_files(tmp_path, "lesions")
    value = json.loads(sent.read_text(encoding="utf-8"))
    value["predictions"] = value["predictions"][:5]
    sent.write_text(json.dumps(value), encoding="utf-8")
    score = scored(call, truth, sent, *others)
    assert json.loads(Path(score).read_text())["result"] is None
    verified(call, score, truth, sent, *others, code=0)


def test_other_versions_are_warnings(call: Call, tmp_path: Path) -> None:
    files = all_files(tmp_path, "reports")

    def edit(score: Any) -> None:
        score["medcontract_version"], score["environment"]["unidecode"] = "0.0.1", "1.0.0"

    found = verified(call, scored(call, *files, plus=edit), *files, code=0)
    assert [warning.split(",")[0] for warning in found["warnings"]] == [
        "made with medcontract 0.0.1", "made with unidecode 1.0.0",
    ]  # fmt: skip


def test_another_version_of_the_protocol(call: Call, tmp_path: Path) -> None:
    """The score cannot be computed again under a version that this medcontract does not have."""
    from medcontract.scoring.protocol import fingerprint_of

    files = all_files(tmp_path, "lesions")

    def edit(score: Any) -> None:
        used = score["protocol"]
        used["version"] = 1
        used["fingerprint"] = fingerprint_of(used["id"], 1, used["parameters"])

    found = verified(call, scored(call, *files, plus=edit), *files, code=1)
    assert found["reasons"][0].startswith("its protocol differs from the protocol of this call: version 1 and 2; ")
    assert not found["computed"]


def test_usage_errors(call: Call, tmp_path: Path) -> None:
    files = all_files(tmp_path, "reports")
    score = scored(call, *files)
    assert call("verify", score, "no-such-file.json").code == 2
    Path("broken.json").write_text('{"track": ', encoding="utf-8")
    assert call("verify", "broken.json", *files).code == 1
    mine = scored(call, *files, "--participant")
    assert call("verify", mine, *files[1:]).code == 2, "a participant does not have the truth"


def test_a_broken_file_is_one_that_differs(call: Call, tmp_path: Path) -> None:
    truth, sent, *others = all_files(tmp_path, "reports")
    score = scored(call, truth, sent, *others)
    sent.write_text('{"predictions": [', encoding="utf-8")
    found = verified(call, score, truth, sent, *others, code=1)
    assert states(found)["sent.json"] == "differs"


def test_texts_are_not_shown(call: Call, tmp_path: Path) -> None:
    """A text that differs may be one of a record: neither value is in any format."""
    truth, sent = all_files(tmp_path, "triage")
    score = scored(call, truth, sent, plus=lambda score: score["result"]["metrics"][0].update(case_id="Jane Roe"))
    for format_ in ("text", "json", "markdown", "html"):
        ran = call("verify", score, truth, sent, "--format", format_)
        assert ran.code == 1
        assert "/result/metrics/0/case" in ran.out.replace("<wbr>", "")
        assert "Jane Roe" not in ran.out + ran.err
