"""Nothing in a folder of data runs, whatever its files are called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import CLASSES, guess, image

from medcontract.cli.main import main
from medcontract.errors import CallError
from medcontract.parallel.pool import Sent
from medcontract.parallel.processes import Workers
from medcontract.plugins.loading import load_module

SCRIPT = Path(sys.executable).with_name("medcontract")
PACKAGES = (
    "PIL", "click", "medcontract", "msgspec", "numpy", "orjson", "pandas", "pandera", "pyarrow", "pydantic",
    "pydantic_core", "rapidfuzz", "sitecustomize", "unidecode", "usercustomize",
)  # fmt: skip
BLANK = b"\n" * (9 << 20)
"""Makes a file large enough for workers."""
HOSTILE = """
import os
open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "RAN-" + __name__), "w").close()
raise SystemExit("this ran")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of `lesions`, and modules that leave a mark when they are imported."""
    labels = [image(f"I-{number}", CLASSES[number]) for number in range(10)]
    lines = "".join(json.dumps(guess(f"I-{number}", CLASSES[number])) + "\n" for number in range(10)).encode()
    (tmp_path / "truth.json").write_text(json.dumps({"labels": labels}))
    (tmp_path / "cases.csv").write_text("image_id,image_path,age,gender,location\nI-0,a.jpg,61,f,7\nI-1,b.jpg,34,m,6\n")
    (tmp_path / "sent.jsonl").write_bytes(lines + BLANK)
    (tmp_path / "img").mkdir()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sent.jsonl").write_bytes(lines)
    names = {*sys.stdlib_module_names, *PACKAGES}
    for name in names - set(sys.builtin_module_names):
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    for name in ("encodings", "multiprocessing"):
        (tmp_path / f"{name}.py").unlink()
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(HOSTILE.replace("abspath(__file__)", "dirname(__file__)"))
    evil = tmp_path / "evil-1.0.dist-info"
    evil.mkdir()
    (evil / "entry_points.txt").write_text("[medcontract.contracts]\nevil = this\n[medcontract.metrics]\nevil = this\n")
    (evil / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    return tmp_path


COMMANDS = {
    "validate": (["validate", "--images", "img", "--jobs", "2", "cases.csv"], 1),
    "preflight": (["preflight", "--images", "img", "--jobs", "2", "sent.jsonl", "cases.csv"], 1),
    "leaderboard": (["leaderboard", "truth.json", "a", "b", "--jobs", "2"], 0),
    "score": (["score", "truth.json", "sent.jsonl", "--jobs", "2"], 0),
}


def check(folder: Path, program: list[str], command: str) -> None:
    arguments, code = COMMANDS[command]
    done = subprocess.run([*program, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    assert sorted(path.name for path in folder.glob("RAN-*")) == []
    assert (done.returncode, done.stderr) == (code, "")
    assert ("MC3" in done.stdout) == ("--images" in arguments)  # no image is there: workers looked


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_command(folder: Path, command: str) -> None:
    """The installed command and its workers import nothing from the current folder."""
    check(folder, [str(SCRIPT)], command)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["validate", "leaderboard"])
def test_the_module(folder: Path, command: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nor does `python -m medcontract`, but for what `python -m` needs to run a line of anything."""
    empty = tmp_path_factory.mktemp("empty")
    (empty / "nothing.py").write_text("import sys; print(*sys.modules)")
    done = subprocess.run([sys.executable, "-m", "nothing"], cwd=empty, capture_output=True, text=True, check=True)
    for name in ("medcontract", *done.stdout.split()):
        (folder / f"{name}.py").unlink(missing_ok=True)
    check(folder, [sys.executable, "-m", "medcontract"], command)


@pytest.mark.slow
def test_a_script_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A script that scores in workers finds its own modules, and its workers take nothing from the folder of data."""
    home = tmp_path_factory.mktemp("script")
    (home / "mine.py").write_text("FILES = ['truth.json', 'sent.jsonl']\n")
    (home / "script.py").write_text(
        "import medcontract, mine\n"
        "if __name__ == '__main__':\n    print(medcontract.score(*mine.FILES, jobs=2).valid)\n"
    )
    done = subprocess.run(
        [sys.executable, home / "script.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert list(folder.glob("RAN-*")) == []


def test_workers_of_an_interactive_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the current folder is on `sys.path`, as at a prompt, it is not for workers; what was set is set again."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend("")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    before = list(sys.path)
    source = "(*map(__import__, ('colorsys', 'sys', 'os')),)"
    source = f"[(sys.path, os.environ.get('PYTHONSAFEPATH')) for _, sys, os in [{source}]][0]"
    with Workers(1, lambda: Sent(eval, source)) as workers:
        path, safe = workers.submit({}).result()
    assert "" not in path
    assert str(folder) not in path
    assert safe is None
    assert sys.path == before
    assert list(folder.glob("RAN-*")) == []


@pytest.mark.parametrize("name", ["this", "antigravity", "evil_plugin"])
def test_a_plugin_of_the_current_folder(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module name never means a file of the current folder; a path does."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a plugin's folder stays there
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the folder of a plugin stays there
    (folder / "evil_plugin.py").write_text(HOSTILE)
    assert main(["validate", "--plugin", name, "cases.csv"]) == 2
    assert list(folder.glob("RAN-*")) == []
    error = capsys.readouterr().err
    if name == "evil_plugin":
        assert "pass a path, ./evil_plugin.py" in error
        assert main(["validate", "--plugin", "./evil_plugin.py", "cases.csv"]) == 2
        assert (folder / "RAN-medcontract_plugin_evil_plugin").exists()


def test_what_a_plugin_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the module that is not there; a package gets a hint that works for packages."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_package").mkdir()
    with pytest.raises(CallError, match="no module named 'my_package'") as caught:
        load_module("my_package.contracts")
    assert "PYTHONPATH=." in (caught.value.hint or "")
    with pytest.raises(CallError, match="no module named 'nowhere_at_all'") as caught:
        load_module("nowhere_at_all")
    assert "install it" in (caught.value.hint or "")
    (tmp_path / "needy_plugin.py").write_text("import nowhere_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CallError, match="cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'"):
        load_module("needy_plugin")


UNGUARDED = """
import sys
import threading

import medcontract
from medcontract.parallel import cpus
from medcontract.parallel import processes as workers
from medcontract.reading import chunks

print("started")
cpus.allowed = lambda: 2
chunks.SMALLEST, chunks.WORTH_IT = 1000, 1000
real, count = workers._SafeProcess.start, 0


def start(process):
    global count
    count += 1
    real(process)


workers._SafeProcess.start = start
threading.Thread(target=threading.Event().wait, daemon=True).start()  # so that workers cannot be forked
truth, sent = sys.argv[1:]
results = [(medcontract.validate(sent, jobs=jobs), medcontract.score(truth, sent, jobs=jobs)) for jobs in (None, 1)]
assert [each.to_json() for each in results[0]] == [each.to_json() for each in results[1]]
print(count, *map(bool, results[0]))
"""


def test_workers_by_default_do_not_run_a_script_again(tmp_path: Path) -> None:
    """None is spawned: a script may have no `if __name__ == "__main__"`."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    sent: dict[str, list[Any]] = {"image_id": [f"I-{n}" for n in range(200)]}
    sent |= {name: [float(name == "NV")] * 200 for name in CLASSES}
    pq.write_table(pa.table(sent), tmp_path / "sent.parquet", row_group_size=50)
    (tmp_path / "truth.csv").write_text("image_id,label\n" + "".join(f"I-{n},NV\n" for n in range(200)))
    (tmp_path / "script.py").write_text(UNGUARDED)
    ran = subprocess.run(
        [sys.executable, "script.py", "truth.csv", "sent.parquet"], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("started\n0 True True\n", "")
