"""Runs the entry points of bundles in the folder layout of their platforms, in this process."""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
import tarfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest
from tests.archive_files import pack

Files = Mapping[str, bytes]


class Outcome(NamedTuple):
    """What a platform gets."""

    code: int
    figures: dict[str, Any] | None
    """What it ranks by; None if there is nothing."""
    message: str
    """What it shows to a participant whose submission failed."""
    seen: str
    """Everything that a participant may see."""


Run = Callable[[Path, Path, Files], Outcome]


def unzip(path: Path, folder: Path) -> Path:
    with ZipFile(path) as archive:
        archive.extractall(folder)  # noqa: S202  # of a bundle
    return folder


def put_all(folder: Path, files: Files) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run_script(script: Path, arguments: list[Path | str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    before = sys.argv
    capsys.readouterr()
    sys.argv = [str(script), *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stopped:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = before
    return int(stopped.value.code or 0), *capsys.readouterr()


def codabench(bundle: Path, folder: Path, files: Files, capsys: pytest.CaptureFixture[str]) -> Outcome:
    """`competition.zip` as the platform unpacks it, with the status file that it adds to a submission."""
    competition = unzip(bundle / "competition.zip", folder / "competition")
    program = unzip(competition / "scoring_program.zip", folder / "app/program")
    unzip(competition / "reference_data.zip", folder / "app/input/ref")
    put_all(folder / "app/input/res", {**files, "metadata": b"exitCode: 0\nelapsedTime: 0.1\n"})
    output = folder / "app/output"
    output.mkdir()
    code, out, err = _run_script(program / "scoring.py", [folder / "app/input", output], capsys)
    scores = output / "scores.json"
    page = (output / "detailed_results.html").read_text(encoding="utf-8")
    figures = json.loads(scores.read_text()) if scores.exists() else None
    return Outcome(code, figures, err.rstrip("\n"), f"{out}\n{err}\n{page}\n{json.dumps(figures)}")


def grand_challenge(bundle: Path, folder: Path, files: Files, capsys: pytest.CaptureFixture[str]) -> Outcome:
    """The submission extracted to the input folder, with the description that the platform adds to it."""
    truth = folder / "opt/ml/input/data/ground_truth"
    with tarfile.open(bundle / "ground_truth.tar.gz") as archive:
        archive.extractall(truth, filter="data")
    sent = put_all(folder / "input", {**files, "inputs.json": b'[{"socket": {"slug": "predictions-zip-file"}}]'})
    output = folder / "output"
    output.mkdir()
    arguments: list[Path | str] = ["--input", sent, "--ground-truth", truth, "--output", output]
    code, out, err = _run_script(bundle / "evaluation/evaluate.py", arguments, capsys)
    metrics = output / "metrics.json"
    figures = json.loads(metrics.read_text())["aggregates"] if metrics.exists() else None
    lines = [line for line in err.splitlines() if line.strip()]
    return Outcome(code, figures, lines[-1] if lines else "", f"{out}\n{err}\n{json.dumps(figures)}")


def evalai(bundle: Path, folder: Path, files: Files, capsys: pytest.CaptureFixture[str]) -> Outcome:
    """The submission as one file: a .zip, unless it is a single file."""
    config = unzip(bundle / "challenge_config.zip", folder / "config")
    script = unzip(config / "evaluation_script.zip", folder / "compute/challenge_1")
    spec = importlib.util.spec_from_file_location("challenge_1", script / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [only] = files if len(files) == 1 else [""]
    sent = put_all(folder / "sent", files) / only if only else pack(folder / "sent.zip", files)
    capsys.readouterr()
    try:
        found = module.evaluate(
            str(config / "annotations/truth.zip"), str(sent), "test", submission_metadata={"id": 1, "status": "running"}
        )
    except Exception as error:  # noqa: BLE001  # as the platform does
        shown = traceback.format_exc() + "".join(capsys.readouterr())
        return Outcome(1, None, str(error), shown)
    [(split, figures)] = found["result"][0].items()
    assert (len(found["result"]), split) == (1, "test_split")
    return Outcome(0, figures, "", json.dumps(found) + "".join(capsys.readouterr()))


RUNS = {"codabench": codabench, "grand-challenge": grand_challenge, "evalai": evalai}
