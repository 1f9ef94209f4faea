"""Results: what the API returns is what the commands print, and it is pleasant and safe to handle in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.commands import Call
from tests.scoring_files import as_json, drug, read, rx
from tests.support import published

import medcontract
from medcontract.contracts.registry import TRACKS
from medcontract.results.base import Result, ResultItem, public_fields

EXAMPLES = Path(medcontract.__file__).parent / "examples"
MARKER = "Zzyx"
"""Stands in records where only values of data stand."""


@cache
def _example(track: str) -> medcontract.Score:
    return medcontract.score(EXAMPLES / track)


def _folder(track: str) -> str:
    return str(EXAMPLES / track)


# --- the same bytes -------------------------------------------------------------------------------

Same = tuple[list[str], Callable[[], Result], str | None]
SAME: dict[str, Same] = {
    "validate": (["validate", _folder("triage"), "bad.jsonl"],
        lambda: medcontract.validate_files([_folder("triage"), "bad.jsonl"]), "medcontract/validation"),
    "validate one": (["validate", "bad.jsonl"], lambda: medcontract.validate("bad.jsonl"), "medcontract/validation"),
    "validate named": (["validate", "lesions/truth=bad.jsonl"],
        lambda: medcontract.validate_files(["lesions/truth=bad.jsonl"]), "medcontract/validation"),
    **{
        f"score {track}": (["score", _folder(track)], partial(_example, track), "medcontract/score")
        for track in TRACKS
    },
    "score explained": (["score", _folder("extraction"), "--breakdown", "--parameter", "min_processed=0.9"],
        lambda: medcontract.score(_folder("extraction"), breakdown=True, parameters={"min_processed": 0.9}),
        "medcontract/score"),
    "score for participants": (["score", _folder("lesions"), "--participant"],
        lambda: medcontract.score(_folder("lesions"), participant=True), "medcontract/score"),
    **{
        f"preflight {track}": (
            ["preflight", _folder(track)], partial(medcontract.preflight, _folder(track)),
            "medcontract/preflight",
        )
        for track in TRACKS
    },
    **{
        f"leaderboard {track}": (
            ["leaderboard", _folder(track), _folder(track)],
            partial(medcontract.leaderboard, _folder(track), _folder(track)), "medcontract/leaderboard",
        )
        for track in TRACKS
    },
    "leaderboard weighed": (
        ["leaderboard", f"{_folder('benchmark')}/references.json", f"{_folder('benchmark')}/predictions.json",
         "--weights", "diagnostics=0.6,communication=0.4"],
        lambda: medcontract.leaderboard(
            f"{_folder('benchmark')}/references.json", f"{_folder('benchmark')}/predictions.json",
            weights={"diagnostics": 0.6, "communication": 0.4},
        ), "medcontract/leaderboard",
    ),
    "compare": (["compare", "a.json", "a.json"], lambda: medcontract.compare("a.json", "a.json"),
        "medcontract/comparison"),
    "verify": (["verify", "a.json", _folder("reports")], lambda: medcontract.verify("a.json", _folder("reports")),
        "medcontract/verification"),
    "explain": (["explain", "MC104", "203"], lambda: medcontract.explain("MC104", "203"), "medcontract/explanation"),
    "explain all": (["explain"], medcontract.explain, "medcontract/explanation"),
    "schema list": (["schema", "list"], medcontract.list_contracts, "medcontract/listing"),
    "schema diff": (["schema", "diff", "lesions/truth", "lesions/cases"],
        lambda: medcontract.diff_schemas("lesions/truth", "lesions/cases"), "medcontract/schema-diff"),
    "protocol list": (["protocol", "list"], medcontract.list_protocols, "medcontract/protocols"),
    "protocol show": (["protocol", "show", "lesions", "--parameter", "t_min_ms=12", "--parameter", "t_max_ms=80.5"],
        lambda: medcontract.get_protocol("lesions", parameters={"t_min_ms": 12, "t_max_ms": 80.5}),
        "medcontract/protocol"),
    "normalize": (["normalize", "5 µg", "x 10⁶/ul"], lambda: medcontract.normalize("5 µg", "x 10⁶/ul"), None),
}  # fmt: skip
"""By name: a command, the call that does the same, and the contract of what both give."""


@pytest.mark.parametrize("name", SAME)
def test_the_api_returns_what_the_command_prints(name: str, call: Call) -> None:
    """`to_json` gives the bytes of `--format json`, and `to_dict` the document of the published schema."""
    arguments, function, contract = SAME[name]
    Path("bad.jsonl").write_text(json.dumps({"image_id": "I-1", "label": MARKER, f"{MARKER} x": 1}) + "\n")
    Path("a.json").write_text(_example("reports").to_json())
    result = function()
    for show_values in (False, True):
        more = ["--show-values"] if show_values else []
        if show_values and arguments[0] not in ("validate", "preflight", "score"):
            continue
        ran = call(*arguments, "--format", "json", *more)
        assert result.to_json(show_values) == ran.out, ran.err
        assert result.to_dict(show_values) == ran.json
        if contract:
            published(contract).validate(result.to_dict(show_values))
    assert MARKER not in result.to_json()


@pytest.mark.parametrize("name", [name for name, (_, _, contract) in SAME.items() if contract])
def test_what_the_json_holds_keeps_its_contract(name: str, call: Call) -> None:
    """The output of each command is a valid file of its contract for our own validator, too."""
    Path("bad.jsonl").write_text("{}\n")
    Path("a.json").write_text(_example("reports").to_json())
    _, function, contract = SAME[name]
    report = medcontract.validate(function().to_json().encode(), contract, name="x.json")
    assert report, [problem.message for problem in report]


# --- what a result says of data -------------------------------------------------------------------


def _items(value: Any) -> Iterator[ResultItem]:
    """A result, and all that is in it, private fields included."""
    if isinstance(value, ResultItem):
        yield value
        for name in value.__struct_fields__:
            yield from _items(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            yield from _items(each)


def _marked(folder: Path) -> list[Result]:
    """Results of data whose values are all marked, as far as a contract lets them."""
    labels = [rx(f"{MARKER}-1", drug(f"{MARKER}ina", "5 mg")), rx(f"{MARKER}-2", drug(f"{MARKER}ol", "1 g"))]
    sent = [read(labels[0]), read(rx(f"{MARKER}-2", drug(f"{MARKER}ax", "1 g"))), read(rx(f"{MARKER}-9"))]
    files = [folder / "labels.json", folder / "sent.json"]
    files[0].write_bytes(as_json("extraction/prescription-labels", labels))
    files[1].write_bytes(as_json("extraction/prescription-predictions", sent))
    bad = folder / "bad.jsonl"
    bad.write_text(json.dumps({"image_id": MARKER, "label": MARKER, f"{MARKER} name": MARKER}))
    score = medcontract.score(*files, breakdown=True, show_values=True, parameters={"min_processed": 0})
    return [
        medcontract.validate_files([bad], excerpts=True),
        score,
        medcontract.preflight(*files, show_values=True, excerpts=True),
        medcontract.leaderboard(files[0], files[1]),
        medcontract.compare(score, score),
        medcontract.normalize(MARKER),
    ]


def test_repr_is_one_short_line_without_values(tmp_path: Path) -> None:
    """The `repr` of a result, and of everything in it, is a short line that holds nothing of the data."""
    results = _marked(tmp_path)
    items = [item for result in results for item in _items(result)]
    assert len(items) > 40
    for item in items:
        assert MARKER.lower() not in repr(item).lower(), type(item)
        assert "\n" not in repr(item)
        assert len(repr(item)) <= 120
    held = [str(msgspec.structs.asdict(item)) for item in items]
    assert sum(MARKER in text for text in held) > 10, "the data is there, but not shown"
    assert [repr(result) for result in results[:2]] == [
        "<Validation not ok: 1 file, 2 errors>",
        "<Score extraction: valid, NO-GO, 1 problem listed>",
    ]


def test_values_are_kept_out_unless_asked_for(tmp_path: Path) -> None:
    """Values of problems and of a breakdown are in the output with `show_values` only."""
    validation, score, *_ = _marked(tmp_path)
    for result in (validation, score):
        problems = json.dumps([problem.to_dict() for problem in result.problems])  # type: ignore[attr-defined]
        assert MARKER not in problems
        assert MARKER in result.to_json(show_values=True)
    assert f"{MARKER}ol" not in score.to_json()
    assert f"{MARKER}ol" in score.to_json(show_values=True)


def test_internals_are_no_public_fields() -> None:
    """What a result has besides the published document starts with an underscore."""
    properties = set(medcontract.json_schema("medcontract/score")["properties"]) - {"$schema"}
    assert set(public_fields(medcontract.Score)) == properties
    problem = medcontract.json_schema("medcontract/validation")["$defs"]["MedcontractProblem"]["properties"]
    assert set(public_fields(medcontract.Problem)) == set(problem)
    assert not [name for name in dir(medcontract.Score) if "verdict" in name or name == "counts"]


# --- verdicts, iteration, frames ------------------------------------------------------------------


def test_bool_is_the_verdict(tmp_path: Path) -> None:
    """True: no errors, ready, valid and not NO-GO, comparable, at least one valid; whatever else was found."""
    good = medcontract.validate(b'{"image_id": "I-1", "label": "MEL"}', name="x.jsonl")
    bad = medcontract.validate(b'{"image_id": "I-1", "label": "x"}', name="x.jsonl")
    assert (bool(good), len(good), bool(bad), len(bad)) == (True, 0, False, 1)
    warned = medcontract.validate(Path("conformance/files/lesions/model/valid/warn-size-150.json").resolve())
    assert warned
    assert len(warned) == 1
    assert medcontract.validate_files([EXAMPLES / "lesions"])
    assert medcontract.score(EXAMPLES / "extraction")
    no_go = _marked(tmp_path)[1]
    assert (no_go.valid, no_go.decision, bool(no_go)) == (True, "NO-GO", False)  # type: ignore[attr-defined]
    lesions = EXAMPLES / "lesions"
    assert not medcontract.score(lesions / "truth.csv", _few(tmp_path))
    assert medcontract.preflight(lesions)
    assert not medcontract.preflight(lesions / "truth.csv", _few(tmp_path))
    assert medcontract.compare(_example("lesions"), _example("lesions"))
    assert medcontract.leaderboard(lesions / "truth.csv", lesions)
    assert not medcontract.leaderboard(lesions / "truth.csv", _few(tmp_path))


def _few(folder: Path) -> Path:
    """A submission that answers too little."""
    text = (EXAMPLES / "lesions" / "predictions.csv").read_text(encoding="utf-8").splitlines()
    path = folder / "few.csv"
    path.write_text("\n".join(text[:2]) + "\n", encoding="utf-8")
    return path


def test_iterating_gives_problems(tmp_path: Path) -> None:
    """A report, a validation, a score and a preflight are what is wrong, one problem after the other."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"image_id": "I-1", "label": "x"}\n{"image_id": "I-2", "label": "y"}\n')
    assert [problem.code for problem in medcontract.validate(bad)] == ["MC104", "MC104"]
    assert [problem.line for problem in medcontract.validate_files([bad, bad])] == [1, 2, 1, 2]
    truth = EXAMPLES / "lesions" / "truth.csv"
    for result in (medcontract.score(truth, _few(tmp_path)), medcontract.preflight(truth, _few(tmp_path))):
        found = list(result)
        assert found == list(result.problems)
        assert len(found) == len(result) > 0
        assert {problem.file for problem in found} == {"few.csv"}


def test_frames(tmp_path: Path) -> None:
    """`to_frame` holds problems, figures, rows or submissions, one a row, without values of records."""
    results = _marked(tmp_path)
    frames = [result.to_frame() for result in results]
    assert all(isinstance(frame, pd.DataFrame) for frame in frames)
    problems, figures, checks, ranking, changes, texts = frames
    assert list(problems["code"]) == ["MC104", "MC102"]
    assert list(problems.columns[:3]) == ["file", "code", "severity"]
    assert MARKER not in problems.drop(columns="file").to_csv()
    assert figures.set_index("figure")["value"]["mean_accuracy"] == pytest.approx(50)
    assert list(checks.columns[:4]) == ["check", "status", "detail", "file"]
    assert "coverage" in set(checks["check"])
    assert {"passed", "skipped"} <= set(checks["status"])
    assert (list(ranking["valid"]), list(ranking["rank"]), "mean_accuracy" in ranking) == ([True], [1], True)
    assert list(changes.columns) == ["kind", "id", "figure", "before", "after", "delta"]
    assert set(changes["kind"]) >= {"submission", "documents", "gates"}
    assert list(texts["normalized"]) == ["ZZYX"]
    empty = medcontract.validate(b'{"labels": []}').to_frame()
    assert (len(empty), list(empty.columns)) == (0, list(problems.columns))
    assert "MC104" in list(medcontract.explain().to_frame()["code"])
    assert "lesions/truth" in list(medcontract.list_contracts().to_frame()["id"])
    assert list(medcontract.get_protocol("lesions").to_frame().columns) == ["name", "value", "about", "source"]


def test_results_are_frozen() -> None:
    """A result is what was found: it cannot be changed afterwards."""
    report = medcontract.validate(b'{"labels": []}')
    with pytest.raises(AttributeError):
        report.ok = False  # type: ignore[misc]


def test_scores_are_compared_as_objects_and_as_files(tmp_path: Path) -> None:
    """`compare` takes scores and files, with the same outcome."""
    path = tmp_path / "a.json"
    path.write_text(_example("triage").to_json(), encoding="utf-8")
    assert medcontract.compare(path, path).to_json() == medcontract.compare(_example("triage"), path).to_json()


# --- numbers as parameters ------------------------------------------------------------------------


def test_parameters_take_numbers() -> None:
    """A parameter is a number of any sort or a text; a float means its shortest decimal."""
    from decimal import Decimal

    import numpy as np

    given: list[Any] = [0.9, "0.9", Decimal("0.9"), np.float64(0.9)]
    prints = {medcontract.get_protocol("lesions", parameters={"min_processed": value}).fingerprint for value in given}
    assert len(prints) == 1
    whole: list[Any] = [1, "1", 1.0, Decimal(1), np.int64(1)]
    prints = {medcontract.get_protocol("lesions", parameters={"min_processed": value}).fingerprint for value in whole}
    assert len(prints) == 1
    score = medcontract.score(EXAMPLES / "lesions", parameters={"t_min_ms": 12, "t_max_ms": 80.5})
    assert (score.protocol.parameters["t_min_ms"], score.protocol.parameters["t_max_ms"]) == (12, 80.5)


@pytest.mark.parametrize("value", [True, None, [0.9], float("nan"), float("inf"), 2, -0.1])
def test_parameters_that_are_no_numbers(value: Any) -> None:
    """Anything else is a usage error that names the parameter."""
    with pytest.raises(medcontract.CallError, match="min_processed"):
        medcontract.score(EXAMPLES / "lesions", parameters={"min_processed": value})
