"""medcontract inside other tools: pytest, pre-commit, GitHub Actions, notebooks and shells."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.shell_completion import get_completion_class
from tests.support import ROOT

import medcontract
from medcontract.cli.group import group
from medcontract.cli.main import main
from medcontract.errors import CallError
from medcontract.testing import assert_valid

BAD = ROOT / "examples" / "bad" / "predictions.json"
EXAMPLES = Path(medcontract.__file__).parent / "examples"
GOOD = EXAMPLES / "lesions" / "truth.csv"
BIN = Path(sys.executable).parent


# --- pytest


def test_assert_valid_passes_for_valid_data() -> None:
    assert_valid(GOOD)
    assert_valid(GOOD, "lesions/truth")
    assert_valid(GOOD.read_bytes(), name="truth.csv")


def test_assert_valid_reports_every_problem_without_values() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_valid(BAD)
    text = str(caught.value)
    assert text.startswith("the data violates reports/predictions\n")
    assert text.count("error MC") == 5
    assert "predictions.json:16:18: error MC104" in text
    assert '"urgent"' not in text
    with pytest.raises(AssertionError, match='"urgent"'):
        assert_valid(BAD, show_values=True)


def test_assert_valid_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"image_id": ["i1"], "label": ["NV"]})
    assert_valid(frame, "lesions/truth")
    with pytest.raises(AssertionError, match="MC104"):
        assert_valid(frame.assign(label="nv"), "lesions/truth")


def test_assert_valid_of_what_cannot_be_checked() -> None:
    with pytest.raises(CallError):
        assert_valid("missing.json")
    with pytest.raises(CallError):
        assert_valid(GOOD, "lesions/nonsense")


@pytest.mark.slow
def test_assert_valid_in_a_test_run(tmp_path: Path) -> None:
    """pytest shows the line of the test, and the problems."""
    test = tmp_path / "test_out.py"
    test.write_text(f"from medcontract.testing import assert_valid\n\ndef test_it():\n    assert_valid({str(BAD)!r})\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "test_out.py:4: AssertionError" in ran.stdout
    assert "src/medcontract/testing.py" not in ran.stdout


# --- pre-commit


def test_the_hooks_are_declared() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["medcontract-validate", "medcontract-schemas"]
    assert not any(re.search(hooks[0]["files"], name) for name in ("a/out.json", "package.json", "t.csv"))


@pytest.mark.slow
def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    """A repository with a valid and an invalid file: pre-commit installs medcontract and reports the invalid one."""
    if not os.environ.get("MEDCONTRACT_TEST_NETWORK"):
        pytest.skip("pre-commit installs packages: set MEDCONTRACT_TEST_NETWORK=1 to allow it, as .ci/run does")
    if not (BIN / "pre-commit").exists():
        pytest.skip("pre-commit is not installed")
    hooks = tmp_path / "hooks"
    shutil.copytree(ROOT, hooks, ignore=shutil.ignore_patterns(".venv", ".git", "node_modules", "data", "__pycache__"))
    repository = tmp_path / "repository"
    repository.mkdir()
    shutil.copy(GOOD, repository / "truth.csv")
    shutil.copy(BAD, repository / "predictions.json")
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for folder in (hooks, repository):
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "files"]):
            subprocess.run([*git, *command], cwd=folder, check=True)
    revision = subprocess.run([*git, "rev-parse", "HEAD"], cwd=hooks, check=True, capture_output=True, text=True).stdout
    hook = {"id": "medcontract-validate", "files": r"\.(json|csv)$"}
    config = {"repos": [{"repo": str(hooks), "rev": revision.strip(), "hooks": [hook]}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(
        [BIN / "pre-commit", "run", "--all-files"],
        cwd=repository, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "predictions.json:16:18: error MC104" in ran.stdout
    assert "5 errors in 1 of 2 files" in ran.stdout


# --- GitHub Actions


def _action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return found


def _step(name: str, inputs: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as the runner does: inputs reach it through its environment."""
    action = _action()
    (step,) = [each for each in action["runs"]["steps"] if each.get("id") == name]
    known = {key: each.get("default", "") for key, each in action["inputs"].items()} | inputs
    filled = {
        key: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: known[match[1]], value)
        for key, value in step["env"].items()
    }
    files = {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    (folder / "medcontract").mkdir(exist_ok=True)
    (folder / "medcontract" / "bin").symlink_to(BIN)
    environment = {**os.environ, "RUNNER_TEMP": str(folder), **filled, **files}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_action_annotates_and_fails(tmp_path: Path) -> None:
    ran = _step(
        "check", {"files": f"{GOOD}\n{BAD}\n", "sarif": "out.sarif", "arguments": "--max-problems\n2"}, tmp_path
    )
    assert ran.returncode == 1
    assert ran.stdout.startswith(f"::error file={BAD},line=16,col=18,title=MC104")
    assert (tmp_path / "output").read_text() == "exit-code=1\n"
    assert "**Not valid**" in (tmp_path / "summary").read_text()
    assert len(json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]) == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_action_passes_for_valid_files(tmp_path: Path) -> None:
    ran = _step("check", {"files": str(EXAMPLES / "lesions"), "command": "preflight"}, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "READY" in ran.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("files", ["$(touch run)", "; touch run", "`touch run`", "--plugin\n./x.py", "a b"])
def test_inputs_of_the_action_are_not_run(files: str, tmp_path: Path) -> None:
    ran = _step("check", {"files": files}, tmp_path)
    assert ran.returncode == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_command_of_the_action_is_one_of_two(tmp_path: Path) -> None:
    assert _step("check", {"files": "x", "command": "score; touch run"}, tmp_path).returncode == 2
    assert not (tmp_path / "run").exists()


def test_the_action_keeps_the_python_of_other_steps() -> None:
    (python,) = [step for step in _action()["runs"]["steps"] if step.get("id") == "python"]
    assert python["with"]["update-environment"] is False


# --- several formats at once


def test_also(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One pass over the data writes several formats, each as if it had been asked for alone."""
    monkeypatch.chdir(tmp_path)
    assert main(["validate", str(BAD), "--format", "json", "--also", "a.sarif", "--also", "b.html"]) == 1
    printed = capsys.readouterr().out
    for name, asked in (("a.sarif", "sarif"), ("b.html", "html"), (None, "json")):
        assert main(["validate", str(BAD), "--format", asked]) == 1
        alone = capsys.readouterr().out
        assert alone == ((tmp_path / name).read_text(encoding="utf-8") if name else printed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--also", "x.docx"], "no format has the extension '.docx'"),
        (["--also", "a.sarif", "--also", "a.sarif"], "name the same file twice"),
        (["--out", "a.json", "--also", "a.json"], "name the same file twice"),
        (["--also", "in.json"], "--also"),
    ],
)
def test_also_is_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    shutil.copy(BAD, "in.json")
    before = Path("in.json").read_bytes()
    assert main(["validate", "in.json", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert (sorted(path.name for path in tmp_path.iterdir()), Path("in.json").read_bytes()) == (["in.json"], before)


# --- shells


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    """Each shell gets a script, and the script gets the names of commands and options."""
    program = [sys.executable, "-m", "medcontract"]
    script = _completed(program, f"{shell}_source")
    assert "_MEDCONTRACT_COMPLETE" in script
    words = {"COMP_WORDS": "medcontract val", "COMP_CWORD": "val" if shell == "fish" else "1"}
    assert "validate" in _completed(program, f"{shell}_complete", **words)
    words = {"COMP_WORDS": "medcontract validate --max-", "COMP_CWORD": "--max-" if shell == "fish" else "2"}
    assert "--max-problems" in _completed(program, f"{shell}_complete", **words)


_VALUES = [
    ("explain MC10", "MC104"),
    ("schema show les", "lesions/truth"),
    ("schema export out tri", "triage/response"),
    ("validate --contract rep", "reports/predictions"),
    ("template ben", "benchmark/predictions"),
    ("protocol show ext", "extraction"),
    ("protocol freeze ext", "extraction"),
    ("init re", "reports"),
    ("validate --format sa", "sarif"),
    ("score --parameter min_", "min_processed="),
    ("protocol show lesions --parameter size_", "size_min_mb="),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("typed", "expected"), _VALUES)
def test_completion_of_values(shell: str, typed: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contracts, tracks, codes, formats and parameters. The shell passes what was typed in its environment."""
    words = f"medcontract {typed}"
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", typed.rsplit(maxsplit=1)[-1] if shell == "fish" else str(len(words.split()) - 1))
    complete = get_completion_class(shell)
    assert complete is not None
    made = complete(group, {}, "medcontract", "_MEDCONTRACT_COMPLETE")
    assert expected in {item.value for item in made.get_completions(*made.get_completion_args())}


def _completed(program: list[str], what: str, **words: str) -> str:
    environment = {**os.environ, **words, "_MEDCONTRACT_COMPLETE": what}
    return subprocess.run(program, env=environment, capture_output=True, text=True, check=False).stdout
