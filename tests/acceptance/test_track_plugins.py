"""A challenge as a plugin, `examples/ecg`: every command with it, by --plugin and as an installed package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.acceptance.test_metric_plugins import COMMAND
from tests.commands import Call, Ran, keeps
from tests.support import ROOT

import medcontract
from medcontract import rendering
from medcontract.cli.main import main
from medcontract.rendering.page import View

ECG = ROOT / "examples" / "ecg"
MODULE = ECG / "ecg_challenge.py"
PLUGIN = ("--plugin", str(MODULE))
PAGE = ROOT / "docs" / "your-own-track.md"


@pytest.fixture
def started(call: Call) -> Call:
    """A folder `demo` with the example files."""
    ran = call("init", *PLUGIN, "ecg", "demo")
    assert ran.code == 0
    assert {path.name for path in Path("demo").iterdir()} == {
        "hardware.json", "predictions.json", "recordings.csv", "truth.csv",
    }  # fmt: skip
    return call


def _predictions(change: Callable[[dict[str, Any]], Any] = lambda record: record) -> None:
    """Rewrite `demo/predictions.json`. A record is dropped where the change returns None."""
    path = Path("demo/predictions.json")
    content = json.loads(path.read_text())
    changed = [change(record) for record in content["predictions"]]
    content["predictions"] = [record for record in changed if record is not None]
    path.write_text(json.dumps(content))


# --- figures, computed by hand ---------------------------------------------------------------------------------------


def test_figures(started: Call) -> None:
    """Heron misses one of two flutters in one run, and one of two others in the other run."""
    result = started("score", *PLUGIN, "demo", "--format", "json").json["result"]
    assert {name: result[name] for name in result if name not in ("runs", "confusion")} == {
        "robust_accuracy": (1 + 1 + 1 / 2 + 1) / 4, "mean_accuracy": 0.875, "worst_accuracy": 0.875,
        "consistency": 10 / 12, "onset_error_s": 0.25,
    }  # fmt: skip
    assert result["confusion"]["flutter"] == {"sinus": 0, "fibrillation": 1, "flutter": 3, "other": 0, "unprocessed": 0}


def test_figures_of_unequal_runs(started: Call) -> None:
    """Crane's runs have a balanced accuracy of 11/12 and 5/8; the option weights the worse one."""
    for option, robust in (((), 67 / 96), (("--worst-weight", "0"), 37 / 48), (("--worst-weight", "1"), 5 / 8)):
        ran = started("score", *PLUGIN, ECG / "submissions" / "crane", "demo/truth.csv", *option, "--format", "json")
        assert ran.json["result"]["robust_accuracy"] == pytest.approx(robust, abs=1e-15)
        assert ran.json["result"]["consistency"] == 8 / 12


def test_unprocessed_recordings(started: Call) -> None:
    """A recording without a record, or with an error, is missed: one of five sinus rhythms in one run."""

    def drop(record: dict[str, Any]) -> dict[str, Any] | None:
        return None if (record["run"], record["recording_id"]) == ("seed-1", "E-01") else record

    def fail(record: dict[str, Any]) -> dict[str, Any]:
        kept = {name: record[name] for name in ("run", "recording_id")}
        return {**kept, "error": "none"} if drop(record) is None else record

    shutil.copy("demo/predictions.json", "all.json")
    found = []
    for change in (drop, fail):
        shutil.copy("all.json", "demo/predictions.json")
        _predictions(change)
        refused = started("score", *PLUGIN, "demo", "--format", "json")
        assert (refused.code, refused.json["result"]) == (1, None)
        ran = started("score", *PLUGIN, "demo", "--parameter", "min_processed=0.9", "--format", "json")
        found.append(ran.json["result"])
    assert found[0] == found[1]
    assert found[0]["worst_accuracy"] == pytest.approx((4 / 5 + 1 + 1 / 2 + 1) / 4, abs=1e-15)
    assert found[0]["consistency"] == 9 / 12
    assert found[0]["confusion"]["sinus"]["unprocessed"] == 1


# --- every command ---------------------------------------------------------------------------------------------------


def test_validate(started: Call) -> None:
    """The files are recognized; a rule of a kind and code of the plugin is reported in every format."""
    ran = started("validate", *PLUGIN, "demo", "--format", "json")
    assert [file["contract"] for file in ran.json["files"]] == [
        "ecg/hardware", "ecg/predictions", "ecg/recordings", "ecg/truth",
    ]  # fmt: skip
    bad = (*PLUGIN, ECG / "bad-predictions.json")
    ran = started("validate", *bad, "--format", "json")
    keeps(ran.out, "medcontract/validation")
    assert [(p["code"], p["line"], p["pointer"]) for p in ran.json["files"][0]["problems"]] == [
        ("ECG201", 18, "/predictions/14/onset_s")
    ]
    for name in rendering.formats_of("Validation"):
        assert "ECG201" in started("validate", *bad, "--format", name).out, name
    (rule,) = started("validate", *bad, "--format", "sarif").json["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "Sinus rhythm with an onset"
    assert '"rhythm": "sinus", "onset_s": 3.5' in rule["help"]["text"]


def test_preflight_without_the_truth(started: Call) -> None:
    """The rule across files uses the list of recordings, and the limits of the plugin have its codes."""
    ran = started("preflight", *PLUGIN, ECG / "bad-predictions.json", "demo/recordings.csv", "--format", "json")
    keeps(ran.out, "medcontract/preflight")
    checks = {check["id"]: check for check in ran.json["checks"]}
    assert [(p["code"], p["line"]) for p in checks["between-files"]["problems"]] == [("ECG301", 5), ("ECG301", 17)]
    assert [checks[name]["status"] for name in ("runs", "speed", "coverage")] == ["passed", "skipped", "passed"]
    Path("demo/hardware.json").write_text('{"device": "an abacus", "seconds_per_recording": 12}')
    _predictions(lambda record: record if record["run"] == "seed-1" else None)
    ran = started("preflight", *PLUGIN, "demo/predictions.json", "demo/hardware.json", "--format", "json")
    checks = {check["id"]: check for check in ran.json["checks"]}
    assert [[p["code"] for p in checks[name]["problems"]] for name in ("runs", "speed")] == [["ECG401"], ["ECG402"]]
    ran = started("score", *PLUGIN, "demo", "--format", "json")
    assert ran.json["reasons"] == ["1 run, at least 2 required", "12 s per recording, at most 5 allowed"]


def test_remarks(started: Call) -> None:
    """The same answer for all recordings is a warning with the code of the plugin."""
    kept = ("run", "recording_id")
    _predictions(lambda record: {**{name: record[name] for name in kept}, "rhythm": "sinus"})
    ran = started("preflight", *PLUGIN, "demo")
    assert ran.code == 0
    assert ran.out.count("warning ECG501 all records of a run have the same rhythm") == 1
    assert "predictions: 2 warnings" in ran.out


def test_participants_see_nothing_of_the_truth(started: Call) -> None:
    """Problems of the plugin's rule across files are counted by title; figures by run or class are hidden."""
    bad = (*PLUGIN, ECG / "bad-predictions.json", "demo/truth.csv", "--participant")
    ran = started("score", *bad, "--parameter", "min_processed=0", "--format", "json")
    assert {problem["code"] for problem in ran.json["problems"]} == {"ECG201"}
    assert "ECG301 Onset after the end of the recording: 2" in ran.json["warnings"]
    assert set(ran.json["result"]) == {
        "robust_accuracy", "mean_accuracy", "worst_accuracy", "consistency", "onset_error_s",
    }  # fmt: skip
    for name in rendering.formats_of("Preflight"):
        assert "is after the end" not in started("preflight", *bad, "--format", name).out, name
    assert "is after the end" in started("preflight", *bad[:-1]).out


def test_tables_and_charts(started: Call) -> None:
    """All formats show the tables of the plugin, HTML its charts; the JSON is a document of the published schema."""
    for name in rendering.formats_of("Score"):
        ran = started("score", *PLUGIN, "demo", "--format", name)
        assert ran.code == 0
        assert "fibrillation" in ran.out or name == "csv", name
        if name == "json":
            keeps(ran.out, "medcontract/score")
        if name == "html":
            assert ran.out.count("<svg") == 2
    text = started("score", *PLUGIN, "demo").out
    assert re.search(r"What to fix first\n.*\n +flutter +predicted fibrillation +1\n", text)


@pytest.mark.slow
def test_leaderboard(started: Call, tmp_path: Path) -> None:
    """In one process and in two, with reports."""
    boards = []
    for jobs in ("1", "2"):
        ran = started(
            "leaderboard", *PLUGIN, "demo/truth.csv", *sorted((ECG / "submissions").iterdir()), "--jobs", jobs,
            "--reports", tmp_path / f"reports-{jobs}", "--format", "json",
        )  # fmt: skip
        keeps(ran.out, "medcontract/leaderboard")
        boards.append([(entry["team_name"], entry["headline"]) for entry in ran.json["submissions"]])
        assert len(list((tmp_path / f"reports-{jobs}").iterdir())) >= 2
    assert boards[0] == boards[1]
    assert [name for name, _ in boards[0]] == ["Heron", "Crane"]


def test_compare(started: Call) -> None:
    """Figures, and runs one by one."""
    started("score", *PLUGIN, "demo", "--out", "before.json")
    started("score", *PLUGIN, ECG / "submissions" / "crane", "demo/truth.csv", "--out", "after.json")
    ran = started("compare", *PLUGIN, "before.json", "after.json", "--format", "json")
    assert sorted((row["kind"], row["id"]) for row in ran.json["rows"]) == [("runs", "seed-1"), ("runs", "seed-2")]


def test_schemas(started: Call) -> None:
    """Listed, shown, exported with rules of its own kinds, checked, compared."""
    assert started("schema", "list", *PLUGIN).out.count("\necg/") == 5
    rules = started("schema", "show", *PLUGIN, "ecg/predictions").json["x-medcontract-rules"]
    (rule,) = (rule for rule in rules if rule["code"] == "ECG301")
    assert {name: value for name, value in rule.items() if name not in ("message", "hint")} == {
        "kind": "onset-inside",
        "scope": "files",
        "code": "ECG301",
        "severity": "error",
        "other": "ecg/truth",
    }
    assert started("schema", "export", *PLUGIN, "out", "ecg/truth", "ecg/predictions", "ecg/score").code == 0
    assert started("schema", "check", *PLUGIN, "out").code == 0
    assert started("schema", "diff", *PLUGIN, "out/ecg/predictions/v1.json", "ecg/predictions").code == 0


def test_protocols(started: Call) -> None:
    """Listed, shown, frozen with the option of the track, checked and used."""
    assert "\necg " in started("protocol", "list", *PLUGIN).out
    assert "worst_weight" in started("protocol", "show", *PLUGIN, "ecg").out
    freeze = ("protocol", "freeze", *PLUGIN, "ecg", "--truth", "demo/truth.csv", "--worst-weight", "0.25")
    assert started(*freeze, "--out", "protocol.json").code == 0
    assert started("protocol", "check", *PLUGIN, "protocol.json").code == 0
    ran = started("score", *PLUGIN, "demo", "--protocol", "protocol.json", "--format", "json")
    assert ran.json["protocol"]["parameters"]["worst_weight"] == 0.25


def test_explain(call: Call) -> None:
    """Codes of the plugin, in any case; all codes list them last. Unknown ones are a usage error."""
    ran = call("explain", *PLUGIN, "ecg301", "104", "--format", "json")
    keeps(ran.out, "medcontract/explanation")
    assert [each["code"] for each in ran.json["codes"]] == ["ECG301", "MC104"]
    listed = [line.split()[0] for line in call("explain", *PLUGIN).out.splitlines()]
    assert listed[-5:] == ["ECG201", "ECG301", "ECG401", "ECG402", "ECG501"]
    ran = call("explain", *PLUGIN, "ECG303")
    assert (ran.code, "did you mean 'ECG301'" in ran.err) == (2, True)
    ran = call("explain", "STROKE101")
    assert (ran.code, "the prefix STROKE may belong to a plugin: pass --plugin" in ran.err) == (2, True)
    ran = call("explain", "MC140")
    assert (ran.code, "did you mean 'MC" in ran.err) == (2, True)


def test_in_python(started: Call) -> None:
    """Functions, DataFrames and pandera schemas; worker processes load a plugin that was loaded before."""
    medcontract.load_plugin(str(MODULE))
    truth = pd.read_csv("demo/truth.csv")
    rows = json.loads(Path("demo/predictions.json").read_text())["predictions"]
    score = medcontract.score(truth=truth, predictions=pd.DataFrame(rows), header={"team_name": "x"}, worst_weight=1)
    assert (score.result or {})["robust_accuracy"] == 0.875
    assert "robust_accuracy" in score.to_html()
    schema = medcontract.frame_schema("ecg/predictions")
    assert "ECG201" in {check.name for check in schema.checks}
    report = medcontract.validate(pd.DataFrame([{**rows[0], "onset_s": 1.0}]), "ecg/predictions")
    assert [problem.code for problem in report] == ["ECG201"]
    board = medcontract.leaderboard("demo/truth.csv", *sorted((ECG / "submissions").iterdir()), jobs=2)
    assert [entry.team_name for entry in board.submissions] == ["Heron", "Crane"]
    (code,) = medcontract.explain("ECG401")
    assert code.title == "Too few runs"


def test_renderers_know_the_codes(started: Call) -> None:
    """A result that is rendered in Python shows the titles of the plugin's codes."""
    medcontract.load_plugin(str(MODULE))
    result = medcontract.validate_files([ECG / "bad-predictions.json"])
    assert "Sinus rhythm with an onset" in rendering.render(result, "html", View())


# --- worker processes and installed packages -------------------------------------------------------------------------


def _run(folder: Path, *arguments: object, path: tuple[Path, ...] = ()) -> Ran:
    """The command line in a separate process, for which small files are large enough for workers."""
    (folder / "command.py").write_text(COMMAND)
    places = os.pathsep.join(map(str, [ROOT / "src", *path]))
    done = subprocess.run(
        [sys.executable, "command.py", *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": places},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def _many(folder: Path, count: int) -> tuple[str, str]:
    """A truth and predictions in two runs, as tables."""
    rhythms = ("sinus", "fibrillation", "flutter", "other")
    labels = [rhythms[number % 4] for number in range(count)]
    onsets = ["" if label == "sinus" else "1.5" for label in labels]
    truth = [f"B-{n},10,{label},{onset}" for n, (label, onset) in enumerate(zip(labels, onsets, strict=True))]
    sent = [
        f"{run},B-{n},{label},{onset},"
        for run in "ab"
        for n, (label, onset) in enumerate(zip(labels, onsets, strict=True))
    ]
    (folder / "truth.csv").write_text("\n".join(["recording_id,duration_s,rhythm,onset_s", *truth, ""]))
    (folder / "sent.csv").write_text("\n".join(["run,recording_id,rhythm,onset_s,error", *sent, ""]))
    return "truth.csv", "sent.csv"


def test_large_files_in_workers(tmp_path: Path) -> None:
    """Types of the plugin, also of rules, get to worker processes: the same bytes as in one process."""
    files = _many(tmp_path, 400)
    ran = [
        _run(tmp_path, "score", *PLUGIN, *files, "--set", "team_name=x", "--format", "json", "--jobs", jobs)
        for jobs in (1, 2)
    ]
    assert ran[0] == ran[1]
    assert ran[0].json["result"]["robust_accuracy"] == 1


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of the example, as an installer leaves it."""
    folder = tmp_path_factory.mktemp("site-packages")
    shutil.copy(MODULE, folder)
    shutil.copytree(ECG / "ecg_data", folder / "ecg_data")
    project = (ECG / "pyproject.toml").read_text()
    (group, name, value), *_ = re.findall(r'entry-points\."([\w.]+)"\]\n(\w+) = "(\w+)"', project)
    info = folder / "ecg_challenge-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ecg-challenge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    return folder


@pytest.mark.slow
def test_an_installed_package(installed: Path, tmp_path: Path) -> None:
    """Its entry point brings codes, contracts and the track: no command needs --plugin."""

    def run(*arguments: object) -> Ran:
        ran = _run(tmp_path, *arguments, path=(installed,))
        assert (ran.code, ran.err.replace("Next: medcontract validate demo\n", "")) == (0, "")
        return ran

    run("init", "ecg", "demo")
    assert "ecg/truth, 12 records" in run("validate", "demo").out
    assert run("preflight", "demo").out.endswith("READY.\n")
    assert run("score", "demo", "--worst-weight", "0.1", "--format", "json").json["result"]["worst_accuracy"] == 0.875
    board = run("leaderboard", "demo/truth.csv", *sorted((ECG / "submissions").iterdir()), "--jobs", "2").out
    assert "1. Heron" in board
    assert "Onset after the end" in run("explain", "ECG301").out
    assert run("explain").out.endswith("ECG501  The same answer for all recordings\n")


@pytest.mark.parametrize("value", ["ecg_challenge:TRACKS", "ecg_challenge:EcgScorer"])
def test_an_entry_point_of_a_value(installed: Path, tmp_path: Path, value: str) -> None:
    """The codes and contracts of its module are registered, too. A class is not a track."""
    folder = tmp_path / "other"
    shutil.copytree(installed, folder)
    (folder / "ecg_challenge-1.0.dist-info" / "entry_points.txt").write_text(f"[medcontract.tracks]\necg = {value}\n")
    ran = _run(tmp_path, "score", ECG / "ecg_data", path=(folder,))
    if value.endswith("Scorer"):
        assert (
            ran.code,
            "'ecg_challenge:EcgScorer' cannot be loaded: CallError: EcgScorer is not a Track" in ran.err,
        ) == (2, True)
    else:
        assert (ran.code, ran.err) == (0, "")


def test_an_installed_package_that_is_broken(installed: Path, tmp_path: Path) -> None:
    """It is reported once; everything else works."""
    folder = tmp_path / "broken"
    shutil.copytree(installed, folder)
    (folder / "ecg_challenge.py").write_text("raise RuntimeError('boom')")
    _run(tmp_path, "init", "lesions", "demo")
    ran = _run(tmp_path, "explain", path=(folder,))
    assert ran.code == 0
    assert ran.err == "medcontract: the plugin 'ecg_challenge' cannot be loaded: RuntimeError: boom\n"
    assert _run(tmp_path, "score", "demo", path=(folder,)).code == 0


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them work as they stand, one after the other."""
    shutil.copytree(ECG, tmp_path / "examples" / "ecg")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    assert len(commands) == 10
    assert commands[0] == "cd examples/ecg"
    monkeypatch.chdir(commands[0].removeprefix("cd "))
    assert {command: main(command.split()[1:]) for command in commands[1:]} == dict.fromkeys(commands[1:], 0)


def test_the_code_of_the_page() -> None:
    """It is the score of the example."""

    def tokens(text: str) -> str:
        return re.sub(r"\s+", "", re.sub(r",\s*(?=[)\]])", "", text)).removeprefix("CODES=(").removesuffix(")")

    example = tokens(MODULE.read_text(encoding="utf-8"))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    assert [block for block in blocks if tokens(block) not in example] == []
    entry = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert all(block in (ECG / "pyproject.toml").read_text(encoding="utf-8") for block in entry)
