"""A notebook that displays the result of every function, executed by a real kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.html_pages import EXAMPLES, HOSTILE, Parsed
from tests.leak_files import OF_SUBMISSION, OF_TRUTH, built_in

import medcontract

CELLS = {
    "validate": "medcontract.validate(SENT)",
    "validate_files": "medcontract.validate_files([TRUTH, FOLDER])",
    "preflight": "medcontract.preflight(TRUTH, FOLDER)",
    "score": "score = medcontract.score(TRUTH, FOLDER); score",
    "participant": "medcontract.score(TRUTH, FOLDER, participant=True)",
    "leaderboard": "medcontract.leaderboard(TRUTH, FOLDER, HOSTILE)",
    "compare": "medcontract.compare(score, score)",
    "verify": "medcontract.verify(score, TRUTH, FOLDER)",
    "rehearse": "medcontract.rehearse(TRUTH)",
    "fix": "medcontract.fix(SENT)",
    "explain": "medcontract.explain('MC104')",
    "normalize": "medcontract.normalize('5 µg')",
    "list_contracts": "medcontract.list_contracts()",
    "data_dictionary": "medcontract.data_dictionary('reports/truth')",
    "list_protocols": "medcontract.list_protocols()",
    "get_protocol": "medcontract.get_protocol('lesions')",
    "freeze_protocol": "frozen = medcontract.freeze_protocol('lesions'); frozen",
    "check_protocol": "medcontract.check_protocol(frozen)",
    "export_schemas": "medcontract.export_schemas('schemas')",
    "check_schemas": "medcontract.check_schemas('schemas')",
    "diff_schemas": "medcontract.diff_schemas('reports/truth', 'reports/truth')",
    "check_challenge": "medcontract.check_challenge(b'id = \"x\"', name='c.toml')",
    "benchmark": "from medcontract.benchmark import BenchmarkReport; BenchmarkReport(medcontract.score(BENCHMARK))",
}
"""The last line of a cell is displayed."""
_NOT_DISPLAYED = {
    "bundle", "cache_info", "check_page", "clear_cache",
    "frame_schema", "get_contract", "init", "json_schema", "load", "load_plugin", "new_challenge", "template",
    "validate_frame",
}  # fmt: skip
"""Functions that return no result: values, texts, schemas and paths; `validate_frame` is like `validate`."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The output of each cell, by type."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (pip install nbclient ipykernel)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (pip install nbclient ipykernel)")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (pip install nbclient ipykernel)")
    folder = tmp_path_factory.mktemp("notebook")
    case = built_in("lesions", folder)
    (sent,) = case.submission.iterdir()
    hostile = folder / "hostile.json"
    hostile.write_text(json.dumps({"team_name": HOSTILE, "predictions": _right_answers(case.truth)}), encoding="utf-8")
    names = {
        "TRUTH": case.truth, "FOLDER": case.submission, "SENT": sent, "HOSTILE": hostile,
        "BENCHMARK": EXAMPLES / "benchmark",
    }  # fmt: skip
    setup = "\n".join(["import medcontract", *(f"{name} = {str(path)!r}" for name, path in names.items())])
    notebook: Any = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (setup, *CELLS.values())]
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return dict(zip(CELLS, map(_displayed, notebook.cells[1:]), strict=True))


def _displayed(cell: Any) -> dict[str, str]:
    (result,) = [each for each in cell.outputs if each.output_type == "execute_result"]
    assert len(cell.outputs) == 1, cell.outputs  # nothing is printed
    return dict(result.data)


def _right_answers(truth: Path) -> list[dict[str, Any]]:
    records = json.loads(truth.read_text(encoding="utf-8"))["labels"]
    return [{"image_id": record["image_id"], "probabilities": [1.0, *[0.0] * 9]} for record in records]


pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the packages of the notebook
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def test_every_function_has_a_cell() -> None:
    functions = {name for name in medcontract.__all__ if name[0].islower() and not name.startswith("__")}
    assert functions - set(CELLS) == _NOT_DISPLAYED


def test_every_result_is_displayed(shown: dict[str, dict[str, str]]) -> None:
    """As HTML that is well-formed, without scripts and without anything to download."""
    for name, data in shown.items():
        parsed = Parsed(data["text/html"])
        tags = {tag for tag, _ in parsed.tags}
        assert not tags & {"script", "img", "iframe", "link", "a", "html", "body"}, name
        assert "onerror" not in {attribute for _, own in parsed.tags for attribute in own}, name
        assert parsed.text.strip(), name
        assert data["text/plain"].startswith("<"), name


def test_hostile_names_are_text(shown: dict[str, dict[str, str]]) -> None:
    html = shown["leaderboard"]["text/html"]
    assert "<script" not in html
    assert "&lt;script&gt;document" in html


def test_no_values_are_displayed(shown: dict[str, dict[str, str]]) -> None:
    for name, data in shown.items():
        for text in data.values():
            assert OF_SUBMISSION not in text, name
            assert OF_TRUTH not in text, name


def test_pages_of_a_notebook_share_no_styles_with_it(shown: dict[str, dict[str, str]]) -> None:
    """Every rule of the style sheet applies inside of the result only."""
    html = shown["score"]["text/html"]
    style = html[html.index("<style>") + 7 : html.index("</style>")]
    selectors = [line.partition("{")[0].strip() for line in style.splitlines() if "{" in line and "@media" not in line]
    assert selectors
    assert all(part.strip().startswith(".mc") for selector in selectors for part in selector.split(","))
