"""Runs the bundle of a platform in its folder layout, for a rehearsal."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from zipfile import ZipFile

from medcontract.evaluation.rehearsal import OnPlatform, Outcome
from medcontract.platforms import codabench, evalai, grand_challenge
from medcontract.platforms.bundle import Plan, zip_of

Files = Mapping[str, bytes]


def trial(plan: Plan, folder: Path) -> OnPlatform:
    """Unpack the bundle in a folder, and return what scores a submission with it, as the platform does."""
    start = _STARTS[plan.settings.platform]
    run, number = start(plan, folder), count()

    def score(files: Files) -> Outcome:
        sent = folder / f"sent-{next(number)}"
        sent.mkdir()
        return run(files, sent)

    return score


def _unzip(content: bytes, folder: Path) -> Path:
    with ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)  # noqa: S202  # made here
    return folder


def _put(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _run(main: Callable[[], int], result: Path) -> Outcome:
    """Run an entry point. What it writes to standard error is what participants read."""
    shown = io.StringIO()
    with redirect_stderr(shown), redirect_stdout(io.StringIO()):
        main()
    figures = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    return Outcome(figures.get("aggregates", figures), shown.getvalue().strip())


def _codabench(plan: Plan, folder: Path) -> Callable[[Files, Path], Outcome]:
    competition = _unzip(codabench.files(plan)["competition.zip"], folder / "competition")
    program = _unzip((competition / "scoring_program.zip").read_bytes(), folder / "program")
    reference = (competition / "reference_data.zip").read_bytes()

    def run(files: Files, sent: Path) -> Outcome:
        _unzip(reference, sent / "input/ref")
        _put(sent / "input/res", {**files, "metadata": b"exitCode: 0\n"})
        arguments = [str(sent / "input"), str(sent / "output")]
        return _run(lambda: codabench.main(str(program), arguments), sent / "output/scores.json")

    return run


def _grand_challenge(plan: Plan, folder: Path) -> Callable[[Files, Path], Outcome]:
    content = grand_challenge.files(plan)
    program = _put(folder / "program", {
        name.removeprefix("evaluation/"): data for name, data in content.items()
        if name.startswith("evaluation/") and name.count("/") == 1
    })  # fmt: skip
    truth = folder / "ground_truth"
    with tarfile.open(fileobj=io.BytesIO(content["ground_truth.tar.gz"])) as archive:
        archive.extractall(truth, filter="data")

    def run(files: Files, sent: Path) -> Outcome:
        _put(sent / "input", {**files, "inputs.json": b"[]"})
        arguments = ["--input", sent / "input", "--ground-truth", truth, "--output", sent / "output"]
        main = grand_challenge.main
        return _run(lambda: main(str(program), [str(each) for each in arguments]), sent / "output/metrics.json")

    return run


def _evalai(plan: Plan, folder: Path) -> Callable[[Files, Path], Outcome]:
    config = _unzip(evalai.files(plan)["challenge_config.zip"], folder / "config")
    program = _unzip((config / "evaluation_script.zip").read_bytes(), folder / "script")

    def run(files: Files, sent: Path) -> Outcome:
        single = next(iter(files)) if len(files) == 1 else "sent.zip"
        _put(sent, {single: files[single] if len(files) == 1 else zip_of(files)})
        try:
            found = evalai.evaluate(str(program), str(config / "annotations/truth.zip"), str(sent / single), "test")
        except evalai.SubmissionNotScored as error:
            return Outcome({}, str(error))
        return Outcome(next(iter(found["result"][0].values())))

    return run


_STARTS = {"codabench": _codabench, "grand-challenge": _grand_challenge, "evalai": _evalai}
