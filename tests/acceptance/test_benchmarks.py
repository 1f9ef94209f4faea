"""The scripts of benchmarks/ run on small files. How long they take is for people to look at."""

from __future__ import annotations

import json
import platform
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks import results, tables
from benchmarks.rows import ROWS, count_records
from tests.scoring_files import write
from tests.support import ROOT

import medcontract

SIZES = (
    "--embeddings-mb", "0.05", "--plain-mb", "0.05", "--lesions", "400", "--lesions-small", "40",
    "--prescriptions", "60", "--answers", "10", "--reports", "5", "--submissions", "3", "--submission-lesions", "200",
)  # fmt: skip
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks") / "data"
    written = _run(str(ROOT / "benchmarks" / "generate.py"), "--out", str(folder), *SIZES)
    assert {row.submission for row in ROWS} <= {line.partition(":")[0] for line in written.splitlines()}
    return folder


def test_every_file_is_compared_with_other_validators(data: Path) -> None:
    """Files with and without a truth are measured, and no command fails."""
    measured = _run("-m", "benchmarks.files", "--data", str(data), "--repeats", "1")
    titles = {line.removeprefix("### ").partition(",")[0] for line in measured.splitlines() if line.startswith("### ")}
    assert {"start-up", "triage_10mb.json", "triage_100mb.json", "lesions_1m.jsonl", "answers_20k.jsonl"} <= titles
    assert "challenge_1m.jsonl" in titles
    assert "| medcontract score, lesions_1m.jsonl |" in measured
    assert "exit code" not in measured


def test_a_row_is_measured_and_kept(data: Path, tmp_path: Path) -> None:
    """With all columns, and nothing that identifies the machine."""
    command = ("-m", "benchmarks.run", "--data", str(data), "--repeats", "1", "--out", str(tmp_path))
    page = _run(*command, "--rows", "validate-csv")
    (row,) = results.load(tmp_path).rows
    assert (row.id, row.records, row.files, row.same_output) == ("validate-csv", 40, 1, True)
    assert list(row.runs) == ["baseline", "one", "two", "default", "dask", "instead"]
    assert all(run.exit_code is None and run.repeats == 1 for run in row.runs.values())
    assert row.environment == results.environment()
    if sys.platform == "linux":
        assert all(run.peak_mb and run.peak_mb > 1 for run in row.runs.values())
        assert (row.runs["dask"].peak_mb or 0) > (row.cluster_mb or 0) > (row.runs["one"].peak_mb or 0)
    assert page.strip() == (tmp_path / tables.PAGE).read_text(encoding="utf-8").strip()
    kept = (tmp_path / "results.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in kept
    assert platform.node() not in kept


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_commands_of_each_row(row: Any, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They succeed on the generated files; the number of records is what medcontract counts."""
    from medcontract.cli.main import main

    one = next(command for command in row.commands(data, "") if command.label == "one")
    assert main([*one.argv[3:], "--format", "json"]) in row.success
    found = json.loads(capsys.readouterr().out)
    if row.command == "validate":
        assert sum(file["records"] for file in found["files"]) == count_records(row, data)
        return
    scores = found["submissions"] if row.command == "leaderboard" else [found]
    inputs = [file for score in scores for file in score["inputs"] if file["content_sha256"] is None]
    assert sum(file["records"] for file in inputs) == count_records(row, data)
    processed, expected = (sum(score["processing"][name] for score in scores) for name in ("processed", "expected"))
    assert 0.95 * expected <= processed <= expected
    assert row.as_sent or processed == expected


class TestPeers:
    """What a user would write instead computes the same figures where the definitions agree."""

    def test_lesions(self, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        files = [data / "lesions_1m_truth.csv", data / "lesions_1m.jsonl"]
        (found,) = _peer("score_lesions.py", files, monkeypatch, capsys)
        ours = medcontract.score(*files).result or {}
        assert found == pytest.approx({name: ours[name] for name in ("accuracy", "weighted_f1")})

    def test_a_leaderboard(
        self, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = [data / "leaderboard_100_truth.csv", *sorted((data / "leaderboard_100").iterdir())]
        found = _peer("score_lesions.py", files, monkeypatch, capsys)
        ranking = medcontract.leaderboard(*files).to_dict()["submissions"]
        ours = [{name: each["figures"][name] for name in ("accuracy", "weighted_f1")} for each in ranking]
        assert len(ours) == 3
        assert found == [pytest.approx(each) for each in ours]

    def test_triage(self, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        files = [data / "triage_gt.json", data / "triage_10mb.json"]
        (found,) = _peer("score_triage.py", files, monkeypatch, capsys)
        cases = [case["jaccard_index"] for case in (medcontract.score(*files).result or {})["metrics"]]
        assert found == {"mean_jaccard_index": pytest.approx(sum(cases) / len(cases))}

    def test_prescriptions(
        self, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = [data / "prescriptions_100k_labels.jsonl", data / "prescriptions_100k.jsonl"]
        (found,) = _peer("score_prescriptions.py", files, monkeypatch, capsys)
        ours = medcontract.score(*files).result or {}
        assert 50 < ours["prescription_accuracy"] < 100
        least = ours["prescription_accuracy"] - 0.2  # it pairs repeated names in order, not for the most correct fields
        assert least < found["prescription_accuracy"] <= ours["prescription_accuracy"]
        assert 0.5 < found["names_f1"] < 1

    def test_a_challenge(self, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        files = [data / "challenge_1m_truth.csv", data / "challenge_1m.jsonl"]
        (found,) = _peer("score_challenge.py", files, monkeypatch, capsys)
        score = medcontract.Challenge.load(data / "challenge_1m.toml").score(*files)
        assert found == pytest.approx((score.result or {})["metrics"])

    def test_intervals(self, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """With 200 cases, both kinds of resampling differ by less than an eighth of the width."""
        files = [data / "challenge_10k_truth.csv", data / "challenge_10k.jsonl"]
        (found,) = _peer("bootstrap_challenge.py", files, monkeypatch, capsys)
        score = medcontract.Challenge.load(data / "challenge_1m.toml").score(*files, intervals=True)
        for name, (low, high) in found.items():
            ours = score.interval_of("metrics", name)
            assert ours == pytest.approx((low, high), abs=(high - low) / 8)

    def test_answers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Words without accents and signs; ROUGE-L is 1, 4/6 and 0, the F1 of the rationales 1, 2/4 and 0."""
        texts = [
            ("stroke", "stroke", "CT shows it", "CT shows it"),
            ("a b c", "a x c", "p q", "q r"),
            ("a", "b", "a", "b"),
        ]
        ids = [{"task_id": "t", "sample_id": f"S-{number}"} for number in range(3)]
        truth = [{**ids[n], "reference": {"answer": each[0], "rationale": each[2]}} for n, each in enumerate(texts)]
        sent = [{**ids[n], "prediction": {"answer": each[1], "rationale": each[3]}} for n, each in enumerate(texts)]
        files = [
            write(tmp_path, "benchmark/references", truth, "jsonl"),
            write(tmp_path, "benchmark/predictions", sent, "jsonl"),
        ]
        (found,) = _peer("score_answers.py", files, monkeypatch, capsys)
        expected = {"exact_match": 1 / 3, "rouge_l": (1 + 4 / 6) / 3, "rationale_f1": (1 + 2 / 4) / 3}
        assert found == pytest.approx(expected)
        parameters = {"answer_metrics": "exact_match+rouge_l"}
        ours = medcontract.score(*files, header={"model_id": "m"}, parameters=parameters).result or {}
        assert {name: found[name] for name in ("exact_match", "rouge_l")} == pytest.approx(
            {name: ours["overall_scores"][name] for name in ("exact_match", "rouge_l")}
        )

    @pytest.mark.parametrize("row", [row for row in ROWS if row.reference], ids=lambda row: row.id)
    def test_references(
        self, row: Any, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The library calls read and hash the same bytes and the same records of the truth."""
        truth, sent = data / row.truth, row.submissions(data)
        found = _peer("references.py", [row.reference, truth, *sent], monkeypatch, capsys)
        assert len(found) == len(sent)
        for path, figures in zip(sent, found, strict=True):
            score = medcontract.score(truth, path, header={"model_id": "m"} if row.reference == "answers" else {})
            (expected,) = [each for each in score.inputs if each.content_sha256]
            (answers,) = [each for each in score.inputs if not each.content_sha256]
            hashes = {"truth": expected.sha256, "content": expected.content_sha256, "sha256": answers.sha256}
            assert {name: figures[name] for name in hashes} == hashes
            if row.reference == "lesions":
                assert figures["accuracy"] == (score.result or {})["accuracy"]

    def test_a_table(self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The check with pandas accepts the generated table, and rejects a repeated id as we do."""
        valid = data / "lesions_100k.csv"
        wrong = tmp_path / valid.name
        header, first, *rest = valid.read_text(encoding="utf-8").splitlines(keepends=True)
        wrong.write_text("".join([header, first, first, *rest]), encoding="utf-8")
        for path, code in ((valid, 0), (wrong, 1)):
            monkeypatch.setattr(sys, "argv", ["check_lesions.py", str(path)])
            with pytest.raises(SystemExit) as stopped:
                runpy.run_path(str(ROOT / "benchmarks" / "peers" / "check_lesions.py"), run_name="__main__")
            assert stopped.value.code == code
            assert bool(medcontract.validate(path)) == (code == 0)


def _peer(
    script: str, files: Sequence[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    """The figures that a peer prints, one line per submission."""
    monkeypatch.setattr(sys, "argv", [script, *map(str, files)])
    runpy.run_path(str(ROOT / "benchmarks" / "peers" / script), run_name="__main__")
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
