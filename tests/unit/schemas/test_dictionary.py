"""Data dictionaries: `schema show ID --format markdown`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.support import ROOT

import medcontract
from medcontract.contracts import registry


def _objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for node in (schema, *schema.get("$defs", {}).values()) if "properties" in node]


@pytest.mark.parametrize("contract_id", registry.compiled())
def test_every_contract(call: Call, contract_id: str) -> None:
    """All fields with descriptions, allowed values, rules and an example, of every contract."""
    page = call("schema", "show", contract_id, "--format", "markdown").out
    schema = medcontract.json_schema(contract_id)
    plain = page.replace("\\", "")
    assert page.startswith(f"# {contract_id}, version 1\n")
    for node in _objects(schema):
        for name, field in node["properties"].items():
            assert (f"| `{name}` |" in page) == (name != "$schema")
            assert name == "$schema" or field["description"].replace("\\", "").replace("\n", " ") in plain
            for value in field.get("enum", ()):
                assert str(value) in plain
    for rule in schema.get("x-medcontract-rules", ()):
        assert f"| {rule['code']} | {rule['severity']} | {rule['message']} |" in plain
    example = page.split("```json\n")[1].split("```")[0]
    assert json.loads(example) == schema["examples"][0]
    for line in page.split("```")[0].splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 6


def test_types_and_bounds(call: Call) -> None:
    """Types, sizes and bounds in words."""
    page = call("schema", "show", "lesions/predictions", "--format", "markdown").out
    assert "| `probabilities` | list of number | yes | exactly 10 items, each at least 0, at most 1 |" in page
    assert "| `error` | blank string or null | no |" in page
    assert "sum: field probabilities, minimum 0.999, maximum 1.001" in page
    assert "Columns of a table: `image_id`, `AK`, `BCC`," in page
    assert "pattern ^(?:" in page
    assert max(map(len, page.split("```")[0].splitlines())) < 600, "long patterns are cut"
    page = call("schema", "show", "extraction/manifest", "--format", "markdown").out
    assert "one of prescription, lab" in page


def test_open_records(call: Call) -> None:
    """Whether a record may have other fields."""
    assert "Other fields are allowed." in call("schema", "show", "reports/cases", "--format", "markdown").out
    assert "Other fields are allowed." not in call("schema", "show", "reports/truth", "--format", "markdown").out


def test_one_record(call: Call) -> None:
    """--record: without the header."""
    page = call("schema", "show", "reports/predictions", "--record", "--format", "markdown").out
    assert "ReportsFailedPrediction" in page
    assert "team_name" not in page
    assert "team_name" in call("schema", "show", "reports/predictions", "--format", "markdown").out


def test_extension_of_out(call: Call) -> None:
    """A file .md is a data dictionary, any other file the schema, unless --format says otherwise."""
    call("schema", "show", "reports/truth", "--out", "truth.md")
    assert Path("truth.md").read_text(encoding="utf-8").startswith("# reports/truth")
    call("schema", "show", "reports/truth", "--out", "truth.json")
    assert json.loads(Path("truth.json").read_bytes()) == medcontract.json_schema("reports/truth")
    call("schema", "show", "reports/truth", "--out", "truth.md", "--format", "json")
    assert json.loads(Path("truth.md").read_bytes())["title"] == "ReportsTruth"


def test_plugins_and_python(call: Call) -> None:
    """Contracts of plugins have a data dictionary, too; a function returns it as data."""
    plugin = ROOT / "tests" / "toy_track.py"
    assert "| `said` |" in call("schema", "show", "toy/answers", "--plugin", plugin, "--format", "markdown").out
    found = medcontract.data_dictionary("reports/truth").to_dict()
    assert found["list_key"] == "reports"
    assert [field["name"] for field in found["sections"][1]["fields"]] == [
        "report_id", "specialty", "urgency", "follow_up",
    ]  # fmt: skip
    with pytest.raises(medcontract.UnknownContract):
        medcontract.data_dictionary("reports/nothing")
