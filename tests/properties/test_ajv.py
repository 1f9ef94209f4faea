"""A second opinion on the published schemas, in another language: ajv in strict mode."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import TypeAdapter
from tests.mutations import SORTS, all_values_at
from tests.properties.test_same_verdict import (
    accepts,
    bad_records,
    changed_documents,
    changed_records,
    check,
    json_files,
    misshapen,
    sound_lines,
)
from tests.support import ROOT, SCHEMAS

from medcontract.contracts import registry
from medcontract.contracts.contract import Contract

NODE = ROOT / "tests" / "node"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (NODE / "node_modules" / "ajv" / "dist" / "2020.js").exists(),
    reason="no node, or no ajv: npm install --no-save --no-package-lock --prefix tests/node ajv@8",
)


class Case(NamedTuple):
    """Values of one schema, with our verdicts on them."""

    schema: str
    """Its `$id`."""
    values: list[Any]
    verdicts: list[bool]


def ask_ajv(cases: list[Case], folder: Path) -> list[list[bool]]:
    """What ajv says of all values, in one process."""
    question = folder / "question.json"
    paths = sorted(str(path) for path in SCHEMAS.rglob("v*.json"))
    asked = {"schemas": paths, "cases": [{"schema": case.schema, "values": case.values} for case in cases]}
    question.write_text(json.dumps(asked, allow_nan=False), encoding="utf-8")
    done = subprocess.run(
        ["node", str(NODE / "verdicts.mjs"), str(question)], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer: list[list[bool]] = json.loads(done.stdout)
    return answer


def disagreements(cases: list[Case], folder: Path) -> list[str]:
    """Where ajv says something else, the shortest first."""
    found: list[str] = []
    for case, answers in zip(cases, ask_ajv(cases, folder), strict=True):
        for value, ours, theirs in zip(case.values, case.verdicts, answers, strict=True):
            if ours != theirs:
                found.append(f"{case.schema}: ajv {'accepts' if theirs else 'refuses'} {json.dumps(value)}")
    return sorted(found, key=len)[:10]


def judged(contract: Contract[Any], record: bool, values: list[Any]) -> Case:
    """Documents or records, judged by the model."""
    adapter: TypeAdapter[Any] = contract.record_adapter() if record else TypeAdapter(contract.model)
    return Case(contract.urn + (":record" if record else ""), values, [accepts(adapter, value) for value in values])


def files(contract: Contract[Any]) -> list[Case]:
    """Vectors and examples, judged by `validate`; without files whose parsed value does not show the mistake."""
    whole = Case(contract.urn, [], [])
    lines = Case(contract.urn + ":record", [], [])
    for name, content in json_files(contract):
        if name.endswith(".jsonl"):
            sound = sound_lines(content, contract)
            bad = bad_records(sound, contract) if sound else set()
            lines.values.extend(map(json.loads, sound))
            lines.verdicts.extend(index not in bad for index in range(len(sound)))
        else:
            report = check(content, contract, name)
            if not any(problem.code.startswith("MC0") for problem in report.problems):
                whole.values.append(json.loads(content.decode("utf-8-sig")))
                whole.verdicts.append(not misshapen(report))
    return [case for case in (whole, lines) if case.values]


def test_files(tmp_path: Path) -> None:
    """ajv compiles every schema and agrees on every vector and example."""
    cases = [case for contract in registry.contracts() for case in files(contract)]
    assert sum(len(case.values) for case in cases) > 300
    assert disagreements(cases, tmp_path) == []


def test_changed_documents_and_records(tmp_path: Path) -> None:
    """ajv agrees on thousands of changed documents and records, and on every value at a place of each sort."""
    everything = registry.contracts()
    cases = [judged(c, record=False, values=changed_documents(c)) for c in everything]
    cases += [judged(c, record=True, values=changed_records(c)) for c in everything if c.list_key]
    for contract_id, record, path in SORTS:
        cases.append(judged(registry.contract(contract_id), record, all_values_at(contract_id, record, path)))
    assert sum(len(case.values) for case in cases) > 5_000
    assert disagreements(cases, tmp_path) == []


def test_files_that_are_no_schemas_are_refused(tmp_path: Path) -> None:
    """Strict mode is on: ajv does not load a schema with an unknown keyword."""
    bad = tmp_path / "bad.json"
    bad.write_text('{"type": "object", "x-unknown": []}', encoding="utf-8")
    question = tmp_path / "question.json"
    question.write_text(json.dumps({"schemas": [str(bad)], "cases": []}), encoding="utf-8")
    done = subprocess.run(["node", str(NODE / "verdicts.mjs"), str(question)], capture_output=True, check=False)
    assert done.returncode != 0
    assert b"x-unknown" in done.stderr
