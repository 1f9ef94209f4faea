"""Renderers by result and format, and what the ending of --out means."""

from __future__ import annotations

import ast
import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.commands import Call
from tests.support import ROOT

import medcontract
from medcontract import rendering
from medcontract.cli.main import main
from medcontract.contracts import registry
from medcontract.contracts.lesion_classes import CLASSES
from medcontract.rendering import markdown, text
from medcontract.rendering.page import View, plain
from medcontract.results.base import Result
from medcontract.results.score import Score
from medcontract.results.tables import Table

EXAMPLES = Path(medcontract.__file__).parent / "examples"
LESIONS = str(EXAMPLES / "lesions")
"""The result of each command that has --format and --out."""


# --- the table of renderers -----------------------------------------------------------------------


def _results() -> dict[str, type[Result]]:
    found: dict[str, type[Result]] = {}
    for path in sorted((ROOT / "src" / "medcontract" / "results").glob("*.py")):
        module = import_module(f"medcontract.results.{path.stem}") if path.stem != "__init__" else None
        own = vars(module).values() if module else ()
        found |= {kind.__name__: kind for kind in own if inspect.isclass(kind) and issubclass(kind, Result)}
    return found


@pytest.mark.parametrize(("result", "format_name"), rendering.RENDERERS)
def test_every_renderer_is_there(result: str, format_name: str) -> None:
    """Each line of the table names a result and a function that takes it and a view."""
    assert result in _results()
    where = rendering.RENDERERS[result, format_name]
    assert isinstance(where, str)
    module, _, name = where.partition(":")
    function = getattr(import_module(f"medcontract.rendering.{module}"), name)
    assert len(inspect.signature(function).parameters) == 2


def test_every_format_has_an_ending() -> None:
    """Only the formats of two CI systems, which read standard output or any file, are reached by --format alone."""
    formats = {format_name for _, format_name in rendering.RENDERERS}
    assert set(rendering.EXTENSIONS.values()) == formats - {"github", "gitlab"}


def test_a_new_format_is_a_function_and_a_line(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renderer that is registered is used, without a change in any command."""

    def shouted(result: Any, view: View) -> str:
        return f"{type(result).__name__}!\n"

    monkeypatch.setitem(rendering.RENDERERS, ("Explanation", "shout"), shouted)
    monkeypatch.setitem(rendering.EXTENSIONS, ".shout", "shout")
    assert rendering.formats_of("Explanation") == ["text", "json", "shout"]
    assert rendering.render(medcontract.explain("MC104"), "shout") == "Explanation!\n"
    assert call("explain", "MC104", "--out", "x.shout").code == 0
    assert Path("x.shout").read_text() == "Explanation!\n"


def test_no_format_is_named_in_a_command() -> None:
    """Commands ask the table: no string of theirs is a format, but for the default."""
    formats = {format_name for _, format_name in rendering.RENDERERS} - {"text"}
    for path in (ROOT / "src" / "medcontract" / "cli").glob("*.py"):
        words = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        assert not formats & {word for word in words if isinstance(word, str)}, path.name


# --- the ending of --out --------------------------------------------------------------------------


def test_text_columns_are_aligned_left() -> None:
    """Only the columns after the text columns are numbers, in Markdown and on a terminal."""
    table = Table(
        "Documents", ("id", "type", "score"), [("a", "lab", "0.5"), ("b", "prescription", "1")], text_columns=2
    )
    assert "|---|---|---:|" in list(markdown.table_lines(table))
    lines = list(text.table_lines(table, plain))
    assert lines[2:] == ["  a   lab             0.5", "  b   prescription      1"]


@pytest.mark.parametrize("track", registry.TRACKS)
def test_markdown_has_no_double_blank_lines(track: str, tmp_path: Path) -> None:
    medcontract.init(track, tmp_path / track)
    out = tmp_path / "score.md"
    assert main(["score", str(tmp_path / track), "--out", str(out)]) == 0
    assert "\n\n\n" not in out.read_text(encoding="utf-8")


# --- where a problem is ---------------------------------------------------------------------------


@pytest.fixture
def parquet() -> Path:
    """A Parquet file whose record 2 has a number that is too large, and record 3 a wrong sum."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [{"image_id": f"I{n}", **dict.fromkeys(CLASSES, 0.1)} for n in range(5)]
    rows[2]["AK"], rows[3]["AK"] = 1.5, 0.7
    path = Path("sent.parquet")
    pandas.DataFrame(rows).to_parquet(path)
    return path


@pytest.mark.parametrize(("form", "wanted"), [
    ("text", "sent.parquet, record 2: error MC105 'AK' must be at most 1\n"),
    ("text", "sent.parquet, record 3: error MC202 the probabilities do not sum to 1 (column 'AK')\n"),
    ("markdown", "| sent.parquet | record 2 | MC105 |"),
    ("html", ", record 2"),
    ("junit", "sent.parquet, record 2: error MC105 'AK' must be at most 1"),
    ("github", "::record 2: 'AK' must be at most 1"),
    ("gitlab", '"description": "MC105 record 2: \'AK\' must be at most 1'),
    ("sarif", "record 2: 'AK' must be at most 1"),
])  # fmt: skip
def test_a_problem_in_a_file_without_lines_names_its_record(call: Call, parquet: Path, form: str, wanted: str) -> None:
    """In every format that people read: a row of a Parquet file cannot be found otherwise."""
    assert wanted in call("validate", str(parquet), "--format", form).out


def test_a_ranking_names_the_record_of_the_first_problem(call: Call, parquet: Path) -> None:
    """Also in a file without lines."""
    out = call("leaderboard", f"{LESIONS}/truth.csv", str(parquet)).out
    assert "first problem: sent.parquet, record 0: MC303" in out


def test_the_same_problem_in_many_records_is_one_annotation(call: Call) -> None:
    """Also in a file without lines: CI systems show only a few annotations."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [{"image_id": f"I{n}", **dict.fromkeys(CLASSES, 0.1)} for n in range(30)]
    for row in rows[3:]:
        row["AK"] = 1.5
    pandas.DataFrame(rows).to_parquet("sent.parquet")
    github = call("validate", "sent.parquet", "--format", "github").out.splitlines()
    assert len(github) == 2
    assert "::record 3: 'AK' must be at most 1" in github[0]
    assert github[0].endswith("; and 26 more records like this (records 4, 5, …)")
    sarif = json.loads(call("validate", "sent.parquet", "--format", "sarif").out)
    (result,) = sarif["runs"][0]["results"]
    assert result["occurrenceCount"] == 27
    assert result["message"]["text"].startswith("first in record 3: 'AK'")


# --- scores are plain data ------------------------------------------------------------------------


@pytest.mark.parametrize("show_values", [False, True])
@pytest.mark.parametrize("participant", [False, True])
@pytest.mark.parametrize("track", registry.TRACKS)
def test_a_score_from_its_own_json_reads_the_same(track: str, participant: bool, show_values: bool) -> None:
    """All that its pages show is data, tables included: nothing calls the track back."""
    explained = track == "extraction" and not participant
    score = medcontract.score(EXAMPLES / track, participant=participant, breakdown=explained)
    _assert_same_pages(score, show_values)


@pytest.mark.parametrize("show_values", [False, True])
def test_a_refusal_from_its_own_json_reads_the_same(tmp_path: Path, show_values: bool) -> None:
    """With more problems than are listed, in cells of a CSV file."""
    rows = "".join(f"X{n},{'nv' if n % 2 else 'NV'}\n" for n in range(50))
    truth = tmp_path / "truth.csv"
    truth.write_text(f"image_id,label\n{rows}", encoding="utf-8")
    score = medcontract.score(truth, f"{LESIONS}/predictions.csv", max_problems=7)
    assert (score.valid, len(score.problems), score.errors) == (False, 14, 62)
    assert "(column B)" in rendering.render(score, "text")
    _assert_same_pages(score, show_values)


def _assert_same_pages(score: Score, show_values: bool) -> None:
    back = msgspec.json.decode(msgspec.json.encode(score), type=Score)
    assert back.to_dict(show_values) == score.to_dict(show_values)
    for name in ("text", "markdown", "html"):
        view = View(show_values=show_values)
        assert rendering.render(back, name, view) == rendering.render(score, name, view), name
