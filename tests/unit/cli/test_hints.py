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
from medcontract.errors import Wording, command, in_python, option, words

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
    error = CallError("it is wrong", words("try ", option("--max-record")), flag="--header")
    assert str(error) == "header: it is wrong (hint: try max_record)"
    assert (error.message, error.hint) == ("header: it is wrong", "try max_record")
    assert error.as_options == ("--header: it is wrong", "try --max-record")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (str(again), again.as_options) == (str(error), error.as_options)
    assert str(CallError("it is wrong")) == "it is wrong"


WORDINGS: dict[Wording, tuple[str, str]] = {
    option("--max-record"): ("--max-record", "max_record"),
    option("--contract", "ID"): ("--contract ID", "contract=…"),
    option("--contract", "lesions/truth"): ("--contract lesions/truth", 'contract="lesions/truth"'),
    option("--force", True): ("--force", "force=True"),
    command("schema list", "list_contracts()"): ("medcontract schema list", "medcontract.list_contracts()"),
    words("a ", words(option("--out"), " b")): ("a --out b", "a out b"),
}


@pytest.mark.parametrize("wording", WORDINGS)
def test_wordings(wording: Wording) -> None:
    """An option or a command has one text for the command line and one for Python; joining texts keeps both."""
    assert (str(wording), in_python(wording)) == WORDINGS[wording]
    assert in_python("a --plain text") == "a --plain text"


def test_a_report_has_plain_strings() -> None:
    """The hint of a problem may be a `Wording`; the output contains the text of the command line."""
    report = medcontract.validate(b'{"x": 1}', name="any.json")
    hint = report.to_dict()["files"][0]["problems"][0]["hint"]
    assert type(hint) is str
    assert "--contract" in hint


def _raised_texts() -> Iterator[tuple[str, str]]:
    """The literal texts of errors that are raised below the command line, with placeholders filled in."""
    for path in sorted((ROOT / "src" / "medcontract").rglob("*.py")):
        if "cli" in path.relative_to(ROOT / "src" / "medcontract").parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in {"CallError", "NotRecognized", "UnknownContract", "WrongWeights"}:
                continue
            for text in node.args:
                if isinstance(text, ast.Constant):
                    yield f"{path.name}:{node.lineno}", str(text.value)
                elif isinstance(text, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "name" for part in text.values)
                    yield f"{path.name}:{node.lineno}", "".join(map(str, parts))


def test_no_error_has_options_in_plain_text() -> None:
    """What names an option or a command is a `Wording`, which Python users see as an argument or a function."""
    texts = list(_raised_texts())
    assert len(texts) > 100
    assert [(place, text) for place, text in texts if _OPTION.search(text)] == []


def test_errors_of_the_data_name_no_value() -> None:
    """What is raised for wrong data says which code is first, and nothing that stands in the file."""
    with pytest.raises(medcontract.InvalidData) as caught:
        medcontract.load(b'{"image_id": "I-1", "label": "Zzyx"}', name="x.jsonl")
    assert "Zzyx" not in str(caught.value) + repr(caught.value) + repr(caught.value.report)
