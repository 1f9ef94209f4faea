"""Errors print their hint: in terms of Python to a caller, with options on the command line."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.support import ROOT

import medcontract
from medcontract import CallError
from medcontract.errors import in_python

EXAMPLES = Path(medcontract.__file__).parent / "examples"
LESIONS, TRIAGE = str(EXAMPLES / "lesions"), str(EXAMPLES / "triage")
_OPTION = re.compile(r"(?<![\w-])--[a-z]|\bmedcontract [a-z]+ ")
_PYTHON = re.compile(r"\w+=\{|\b(?:contract|images)=…|\bmedcontract\.\w+\(|=True\b|=False\b")

Both = tuple[Callable[[], Any], tuple[str, ...], str, str]
BOTH: dict[str, Both] = {
    "header": (lambda: medcontract.score(TRIAGE + "/ground-truth.json", "lines.jsonl"),
        ("score", TRIAGE + "/ground-truth.json", "lines.jsonl"), 'header={"team_name": …, "evaluation_date": …}',
        "--set team_name=… --set evaluation_date=…"),
    "parameter": (lambda: medcontract.score(LESIONS, parameters={"min_procesed": 1}),
        ("score", LESIONS, "--parameter", "min_procesed=1"), 'medcontract.get_protocol("lesions")',
        "medcontract protocol show lesions"),
    "contract": (lambda: medcontract.load("any.json"), ("compare", "any.json", "any.json"), "contract=…", ""),
    "unknown contract": (lambda: medcontract.validate_files(["any.json"], "zzz/zzz"),
        ("validate", "--contract", "zzz/zzz", "any.json"), "medcontract.list_contracts()", "medcontract schema list"),
    "weights": (lambda: medcontract.score(LESIONS, weights={"a": 1}), ("score", LESIONS, "--weights", "a=1"),
        "weights is an option of the track benchmark", "--weights is an option of the track benchmark"),
    "breakdown": (lambda: medcontract.score(LESIONS, breakdown=True), ("score", LESIONS, "--breakdown"),
        "breakdown=True is an option of", "--breakdown is an option of"),
    "force": (lambda: medcontract.init("lesions", "."), ("init", "lesions", "."), "force=True", "--force"),
    "track": (lambda: medcontract.init("unknown", "x"), ("init", "unknown", "x"), "medcontract.load_plugin()",
        "--plugin"),
    "score": (lambda: medcontract.compare("index.json", "index.json"), ("compare", "index.json", "index.json"),
        "medcontract.score(…).to_json()", "medcontract score --format json --out FILE"),
}  # fmt: skip
"""By name: a call in Python, the same command, and what the hint says in each."""


@pytest.mark.parametrize("name", BOTH)
def test_hints_speak_the_language_of_the_caller(name: str, call: Call) -> None:
    """Python is told of arguments and functions, the command line of options and commands."""
    function, arguments, python, options = BOTH[name]
    Path("any.json").write_text('{"x": 1}')
    Path("model.json").write_text("{}")
    Path("index.json").write_bytes((ROOT / "schemas" / "index.json").read_bytes())
    text = (EXAMPLES / "triage" / "response.json").read_text(encoding="utf-8")
    records = json.loads(text)["responses"]
    Path("lines.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(CallError) as caught:
        function()
    assert python in str(caught.value)
    assert not _OPTION.search(str(caught.value))
    if options:
        ran = call(*arguments)
        assert ran.code == 2
        assert options in ran.err
        assert not _PYTHON.search(ran.err)


def test_an_error_prints_its_hint() -> None:
    """`str` of an error holds the hint; it survives a worker process."""
    error = CallError("it is wrong", "try --set name=…")
    assert str(error) == 'it is wrong (hint: try header={"name": …})'
    assert (error.message, error.hint) == ("it is wrong", 'try header={"name": …}')
    assert error.as_options == ("it is wrong", "try --set name=…")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (str(again), again.as_options) == (str(error), error.as_options)
    assert str(CallError("it is wrong")) == "it is wrong"


def _texts_of_errors() -> Iterator[tuple[str, str]]:
    """Every text that an error is raised with below the command line, placeholders filled in."""
    for path in sorted((ROOT / "src" / "medcontract").rglob("*.py")):
        if "cli" in path.relative_to(ROOT / "src" / "medcontract").parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.name}:{node.lineno}", node.value
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "name" for part in node.values)
                yield f"{path.name}:{node.lineno}", "".join(map(str, parts))


def test_no_option_is_left_in_python() -> None:
    """Whatever text with options stands in the package below the command line, none of them is left in Python."""
    texts = [(place, text) for place, text in _texts_of_errors() if _OPTION.search(text)]
    assert len(texts) > 15
    left = [(place, in_python(text)) for place, text in texts if re.search(r"(?<![\w-])--[a-z]", in_python(text))]
    assert left == []
    assert in_python("a--b, a -- b, x---y, medcontract") == "a--b, a -- b, x---y, medcontract"


def test_errors_of_the_data_name_no_value() -> None:
    """What is raised for wrong data says which code is first, and nothing that stands in the file."""
    with pytest.raises(medcontract.InvalidData) as caught:
        medcontract.load(b'{"image_id": "I-1", "label": "Zzyx"}', name="x.jsonl")
    assert "Zzyx" not in str(caught.value) + repr(caught.value) + repr(caught.value.report)
