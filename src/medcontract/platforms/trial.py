"""Runs the bundle of a platform in its folder layout, for a rehearsal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from shutil import unpack_archive

from medcontract.evaluation.rehearsal import OnPlatform, PlatformOutcome
from medcontract.platforms import codabench, evalai, grand_challenge
from medcontract.platforms.bundle import Plan, files_of, zip_of

Files = Mapping[str, bytes]


def trial(plan: Plan, folder: Path) -> OnPlatform:
    """Write the bundle to a folder, and return what scores a submission with it, as the platform does."""
    bundle = _put(folder / "bundle", files_of(plan))
    run, number = _RUNS[plan.settings.platform], count()
    return lambda files: run(bundle, files, folder / f"sent-{next(number)}")


def _put(folder: Path, files: Files) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def _run(
    main: Callable[[str, list[str]], int], program: Path, given: Sequence[object], result: Path
) -> PlatformOutcome:
    """Run an entry point. What it writes to standard error is what participants read."""
    shown = io.StringIO()
    with redirect_stderr(shown), redirect_stdout(io.StringIO()):
        main(str(program), [str(each) for each in given])
    figures = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    return PlatformOutcome(figures.get("aggregates", figures), shown.getvalue().strip())


def _codabench(bundle: Path, files: Files, folder: Path) -> PlatformOutcome:
    unpack_archive(bundle / "competition/reference_data.zip", folder / "input/ref")
    _put(folder / "input/res", {**files, "metadata": b"exitCode: 0\n"})
    given = folder / "input", folder / "output"
    return _run(codabench.main, bundle / "scoring_program", given, folder / "output/scores.json")


def _grand_challenge(bundle: Path, files: Files, folder: Path) -> PlatformOutcome:
    unpack_archive(bundle / "ground_truth.tar.gz", folder / "truth", filter="data")
    _put(folder / "input", {**files, "inputs.json": b"[]"})
    given = "--input", folder / "input", "--ground-truth", folder / "truth", "--output", folder / "output"
    return _run(grand_challenge.main, bundle / "evaluation", given, folder / "output/metrics.json")


def _evalai(bundle: Path, files: Files, folder: Path) -> PlatformOutcome:
    sent = files if len(files) == 1 else {"sent.zip": zip_of(files)}
    program, truth, file = bundle / "evaluation_script", bundle / "annotations/truth.zip", folder / next(iter(sent))
    _put(folder, sent)
    try:
        found = evalai.evaluate(str(program), str(truth), str(file), "test")
    except evalai.SubmissionNotScored as error:
        return PlatformOutcome({}, str(error))
    return PlatformOutcome(next(iter(found["result"][0].values())))


_RUNS = {"codabench": _codabench, "grand-challenge": _grand_challenge, "evalai": _evalai}
