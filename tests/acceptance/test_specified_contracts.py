"""`CONTRACT=PATH` and `--contract ID` in every command that reads data files, and in Python."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.commands import SENT, TRUTH, Call, all_files, sent_file, truth_file
from tests.scoring_files import write

import medcontract

EMPTY = '{"team_name": "Andes", "predictions": []}'
"""Matches two contracts equally well."""


def test_score_and_preflight(call: Call, tmp_path: Path) -> None:
    """--contract is the contract of every file that is not passed as CONTRACT=PATH, which takes precedence."""
    truth, *_ = all_files(tmp_path, "lesions")
    Path("out.json").write_text(EMPTY)
    for command in ("score", "preflight"):
        ran = call(command, truth, "out.json")
        assert ran.code == 2
        assert "lesions/predictions=PATH" in ran.err
        ran = call(command, f"lesions/truth={truth}", "lesions/predictions=out.json")
        assert (ran.code, ran.err) == (1, "")
        again = call(command, f"lesions/truth={truth}", "out.json", "--contract", "lesions/predictions")
        assert again == ran


def test_leaderboard(call: Call, tmp_path: Path) -> None:
    """In a ranking, the contract of a folder applies to all its files; --contract applies to all submissions."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "a", "lesions")
    Path("b").mkdir()
    Path("b", "out.json").write_text(EMPTY)

    def names_and_reasons(*arguments: str) -> dict[str, list[str]]:
        ran = call("leaderboard", *arguments, "--format", "json")
        assert ran.code == 0, ran.err
        return {each["name"]: each["reasons"] for each in ran.json["submissions"]}

    said = names_and_reasons(str(truth), "a", "lesions/predictions=b")
    assert (said["a"], said["b"][0][:13]) == ([], "0 % processed")
    assert names_and_reasons(f"lesions/truth={truth}", "a", "b", "--contract", "lesions/predictions") == said
    wrong = call("leaderboard", truth, "lesions/prediction=b")
    assert (wrong.code, "did you mean 'lesions/predictions'" in wrong.err) == (2, True)


def test_compare_and_protocol_check(call: Call, tmp_path: Path) -> None:
    """Where only one contract is possible, it may be specified; another one is a usage error."""
    files = all_files(tmp_path, "lesions")
    assert call("score", *files, "--out", "score.json").code == 0
    assert call("protocol", "freeze", "lesions", "--out", "frozen.json").code == 0
    name = "medcontract/score"
    same = call("compare", "score.json", "score.json")
    assert call("compare", f"{name}=score.json", "score.json") == same
    assert call("compare", "score.json", "score.json", "--contract", name) == same
    assert call("protocol", "check", "medcontract/protocol=frozen.json").code == 0
    assert call("protocol", "check", "frozen.json", "--contract", "medcontract/protocol").code == 0
    assert call("score", *files, "--protocol", "medcontract/protocol=frozen.json").code == 0
    for wrong in (
        ("compare", "lesions/score=score.json", "score.json"),
        ("compare", "score.json", "score.json", "--contract", "lesions/score"),
        ("protocol", "check", "lesions/score=frozen.json"),
    ):
        ran = call(*wrong)
        assert (ran.code, "expected a file of medcontract/" in ran.err) == (2, True)


def test_freeze(call: Call, tmp_path: Path) -> None:
    """A truth that is frozen may have its contract specified, in both ways."""
    truth = truth_file(tmp_path, "lesions")
    arguments = ("protocol", "freeze", "lesions", "--out")
    assert call(*arguments, "1.json", "--truth", f"lesions/truth={truth}").code == 0
    assert call(*arguments, "2.json", "--truth", truth, "--contract", "lesions/truth").code == 0
    assert Path("1.json").read_bytes() == Path("2.json").read_bytes()
    assert call(*arguments, "3.json", "--truth", truth, "--contract", "lesions/model").code != 0


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions have the same argument."""
    monkeypatch.chdir(tmp_path)
    truth = truth_file(tmp_path, "lesions")
    Path("out.json").write_text(EMPTY)
    specified = f"lesions/truth={truth}"
    for function in (medcontract.score, medcontract.preflight):
        assert not function(specified, "out.json", contract="lesions/predictions")
        with pytest.raises(medcontract.CallError, match="lesions/predictions=PATH"):
            function(specified, "out.json")
    assert not medcontract.leaderboard(specified, "out.json", contract="lesions/predictions")
    assert medcontract.freeze_protocol("lesions", truth=truth, contract="lesions/truth").truth


# --- refusals and header fields --------------------------------------------------------------------


@pytest.mark.parametrize("track", ["lesions", "triage"])
def test_the_reason_of_a_result_only(call: Call, tmp_path: Path, track: str) -> None:
    """With --result-only the result is on standard output, and why it does not count on standard error."""
    files = truth_file(tmp_path, track), sent_file(tmp_path, track, SENT[track][:5])
    ran = call("score", *files, "--result-only")
    assert ran.code == 1
    assert (json.loads(ran.out) is None) == (track == "lesions")
    assert ran.err == (
        "medcontract: not valid: 25 % processed (5 of 20), at least 95 % required: 14 more records needed\n"
    )
    assert call("score", *all_files(tmp_path, track), "--result-only").err == ""


def test_fields_that_no_file_can_contain(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without a header cannot contain what the result needs: this is reported before anything is read."""
    files = truth_file(tmp_path, "benchmark"), write(tmp_path, "benchmark/predictions", SENT["benchmark"], "jsonl")
    monkeypatch.setattr("medcontract.evaluation.files.run_parts", lambda parts: pytest.fail("it was read"))
    ran = call("score", *files)
    assert (ran.code, ran.out) == (2, "")
    assert "the result needs model_id, which the files do not contain" in ran.err
    assert "pass --set model_id=…" in ran.err
    with pytest.raises(medcontract.CallError, match=re.escape('pass header={"model_id": …}')):
        medcontract.score(*files)
    monkeypatch.undo()
    assert call("score", *files, "--set", "model_id=x").code == 0


def test_fields_of_a_ranking(call: Call, tmp_path: Path) -> None:
    """In a ranking the submission is refused with the same words."""
    truth = truth_file(tmp_path, "triage")
    Path("a").mkdir()
    write(tmp_path / "a", "triage/response", SENT["triage"], "jsonl")
    (found,) = call("leaderboard", truth, "a", "--format", "json").json["submissions"]
    (reason,) = found["reasons"]
    assert reason.startswith("the result needs team_name, evaluation_date, which the files do not contain")
    assert "--set team_name=… --set evaluation_date=…" in reason


# --- references to invalid records -----------------------------------------------------------------


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("broken", ["row", "file"])
def test_a_document_whose_row_is_invalid(call: Call, tmp_path: Path, command: str, broken: str) -> None:
    """A label whose row of the manifest is invalid is in the manifest; in a broken file it is unknown."""
    truth = truth_file(tmp_path, "extraction", TRUTH["extraction"][:2])
    sent = sent_file(tmp_path, "extraction", SENT["extraction"][:2])
    rows = ["doc_id,doc_type,image_path,label_status,pii_checked", "P-00,prescription,a.png,labelled,yes"]
    rows.append("P-01,prescription,b.png,labeled,yes" if broken == "row" else 'P-09,prescription,"b.png')
    Path("manifest.csv").write_text("\n".join(rows) + "\n")
    out = call(command, truth, sent, "extraction/manifest=manifest.csv", "--format", "json").out
    assert "MC104" in out or broken == "file"
    assert "MC308" not in out
    Path("manifest.csv").write_text("\n".join([rows[0], "P-09,prescription,a.png,labeled,yes"]) + "\n")
    assert "MC308" in call(command, truth, sent, "manifest.csv", "--format", "json").out
