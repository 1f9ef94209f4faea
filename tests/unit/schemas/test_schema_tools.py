"""Schemas in other drafts, under other addresses, with an index; and what changed between two of them."""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator
from tests.commands import Call
from tests.mutations import documents, mutants, records
from tests.support import ROOT, SCHEMAS, property_settings, published

import medcontract
from medcontract._version import __version__
from medcontract.contracts import recognition, registry
from medcontract.contracts.contract import Contract
from medcontract.contracts.registry import subschemas
from medcontract.contracts.rules import Covers, Excludes, Reference
from medcontract.contracts.string_patterns import BLANK, NON_BLANK, RELATIVE_PATH
from medcontract.errors import CallError
from medcontract.results.schemas import Draft, SchemaChange
from medcontract.schemas import publishing
from medcontract.schemas.diff import compare, compare_files
from medcontract.schemas.diff_nodes import parse, refusal
from medcontract.scoring import tracks

CONTRACTS = registry.contracts()
BASELINE = ROOT / "tests" / "published" / "v1"
BASE = "https://example.org/schemas"

each_form = pytest.mark.parametrize(
    ("contract", "record"),
    [(c, False) for c in CONTRACTS] + [(c, True) for c in CONTRACTS if c.list_key],
    ids=lambda value: value.id if isinstance(value, Contract) else "record" if value else "document",
)

Schema = dict[str, Any]


@pytest.fixture
def run(call: Call) -> Call:
    """Call `medcontract schema` in an empty folder."""
    return partial(call, "schema")


def write(name: str, value: Any) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@cache
def values(contract: Contract[Any], record: bool, most: int = 120) -> list[Any]:
    """Valid values of a contract, and changed ones of which most are not."""
    bases = records(contract) if record else documents(contract)
    return bases + mutants(bases, most)


# --- draft-07 ------------------------------------------------------------------------------------


@each_form
def test_draft07_is_draft07(contract: Contract[Any], record: bool) -> None:
    """The variant keeps its meta-schema, names its draft, has an id of its own, and nothing stands beside `$ref`."""
    schema = publishing.schema_of(contract, record, "draft-07")
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["$id"] == contract.urn + (":record" if record else "") + ":draft-07"
    assert "$defs" not in json.dumps(schema)
    later = {"prefixItems", "$anchor", "$dynamicRef", "dependentRequired", "dependentSchemas", "deprecated"}
    for node in subschemas(schema):
        assert not later & node.keys()
        assert "$ref" not in node or set(node) == {"$ref"}


@pytest.mark.sampled(4)
@each_form
def test_draft07_has_the_same_verdict(contract: Contract[Any], record: bool) -> None:
    """Both drafts accept and refuse the same values."""
    new = Draft202012Validator(publishing.schema_of(contract, record))
    old = Draft7Validator(publishing.schema_of(contract, record, "draft-07"))
    verdicts = [(new.is_valid(value), old.is_valid(value)) for value in values(contract, record)]
    assert [value for value, (a, b) in zip(values(contract, record), verdicts, strict=True) if a != b] == []
    assert {a for a, _ in verdicts} == {True, False}


@each_form
def test_draft07_is_no_change(contract: Contract[Any], record: bool) -> None:
    """`diff` reads both drafts, and sees that they say the same."""
    one, other = publishing.schema_of(contract, record), publishing.schema_of(contract, record, "draft-07")
    assert {change.pointer for change in compare(one, other)} == {"/$schema", "/$id"}
    assert all(change.breaks == "none" for change in compare(one, other) + compare(other, one))


def test_show_in_a_draft(run: Call) -> None:
    """`show` gives the schema in the draft that is asked for, of the file and of a record."""
    assert json.loads(run("show", "reports/truth").out) == medcontract.json_schema("reports/truth")
    for record, ending in (([], "v1:draft-07"), (["--record"], "v1:record:draft-07")):
        shown = json.loads(run("show", "reports/truth", "--draft", "draft-07", *record).out)
        assert shown["$id"] == "urn:medcontract:reports:truth:" + ending
    assert run("show", "reports/truth", "--draft", "draft-04").code == 2
    assert run("show", "lesions/model", "--record", "--draft", "draft-07").code == 2


# --- export, index, check ------------------------------------------------------------------------


@pytest.mark.slow
def test_both_drafts_live_in_one_folder(run: Call) -> None:
    """An export in one draft overwrites nothing of the other but the index; `check` takes both."""
    assert run("export", "out").code == 0
    first = {path: path.read_bytes() for path in Path("out").rglob("v*.json")}
    assert run("export", "out", "--draft", "draft-07").code == 0
    assert {path: path.read_bytes() for path in first} == first
    assert Path("out/reports/truth/v1.record.draft-07.json").exists()
    assert Path("out/lesions/model/v1.draft-07.json").exists()
    assert len(list(Path("out").rglob("v*.json"))) == 2 * len(first)
    assert run("check", "out").code == 0
    assert run("export", "out").code == 0
    assert run("check", "out").code == 0


def test_check_of_draft07_alone(run: Call) -> None:
    """A folder in draft-07 needs no files of 2020-12; one of its own that is stale or missing is told."""
    assert run("export", "out", "--draft", "draft-07").code == 0
    assert run("check", "out").code == 0
    path = Path("out/reports/truth/v1.draft-07.json")
    path.write_text(path.read_text(encoding="utf-8").replace('"object"', '"objekt"'), encoding="utf-8")
    Path("out/lesions/truth/v1.draft-07.json").unlink()
    code, out, _ = run("check", "out")
    assert code == 1
    assert "out/reports/truth/v1.draft-07.json: stale" in out
    assert "out/reports/truth/v1.draft-07.json: not valid under its meta-schema" in out
    assert "out/lesions/truth/v1.draft-07.json: missing" in out
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize("draft", publishing.DRAFTS)
def test_index(run: Call, draft: Draft) -> None:
    """The index keeps its contract, is recognized, lists every contract by id, and has the hashes of the files."""
    assert run("export", "out", "--draft", draft).code == 0
    content = Path("out/index.json").read_bytes()
    index = json.loads(content)
    published("medcontract/index").validate(index)
    report = medcontract.validate(content, name="x.json")
    assert (report.contract, report.problems) == ("medcontract/index", ())
    assert (index["medcontract_version"], index["draft"]) == (__version__, draft)
    assert [entry["id"] for entry in index["schemas"]] == [contract.id for contract in CONTRACTS]
    for entry, contract in zip(index["schemas"], CONTRACTS, strict=True):
        assert (entry["version"], entry["kind"], entry["title"]) == (contract.version, contract.kind, contract.title)
        assert tuple(entry["containers"]) == contract.containers
        assert (entry["record_path"] is None) == (entry["record_sha256"] is None) == (contract.list_key is None)
        for path, digest in (("path", "sha256"), ("record_path", "record_sha256")):
            if entry[path]:
                assert hashlib.sha256(Path("out", entry[path]).read_bytes()).hexdigest() == entry[digest]


def test_index_of_some(run: Call) -> None:
    """The index of an export of some contracts lists those, each once and sorted, whatever order they are named in."""
    assert run("export", "a", "reports/truth", "lesions/model", "reports/truth").code == 0
    assert run("export", "b", "lesions/model", "reports/truth").code == 0
    content = Path("a/index.json").read_bytes()
    assert content == Path("b/index.json").read_bytes()
    assert [entry["id"] for entry in json.loads(content)["schemas"]] == ["lesions/model", "reports/truth"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_text("{", encoding="utf-8"), "stale"),
        (lambda path: path.write_bytes(b"\xff"), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")), "stale"),
    ],
)
def test_check_of_the_index(run: Call, spoil: Callable[[Path], object], told: str) -> None:
    """An index that is stale or unreadable is reported."""
    run("export", "out")
    spoil(Path("out/index.json"))
    code, out, _ = run("check", "out")
    assert code == 1
    assert [line.split(": ")[0] for line in out.splitlines()] == ["out/index.json"]
    assert told in out


def test_check_without_an_index(run: Call) -> None:
    """Without its index a folder is not an export: a usage error."""
    run("export", "out")
    Path("out/index.json").unlink()
    code, out, err = run("check", "out")
    assert (code, out) == (2, "")
    assert "out: no index.json: not a folder of exported schemas" in err


def test_check_of_some(run: Call) -> None:
    """The index says what was exported: an export of some contracts is checked as such, and mended as such."""
    run("export", "out", "reports/truth", "lesions/model", "--draft", "draft-07")
    assert run("check", "out") == (0, "All 3 schemas are up to date and valid.\n", "")
    Path("out/reports/truth/v1.record.draft-07.json").unlink()
    Path("out/lesions/cases").mkdir()
    shutil.copy("out/lesions/model/v1.draft-07.json", "out/lesions/cases/v1.draft-07.json")
    code, out, err = run("check", "out")
    assert code == 1
    assert out.splitlines() == [
        "out/reports/truth/v1.record.draft-07.json: missing",
        "out/lesions/cases/v1.draft-07.json: not in the index",
    ]
    command = "medcontract schema export out lesions/model reports/truth --draft draft-07"
    remove = "rm -- out/lesions/cases/v1.draft-07.json"
    assert err == f"Files with problems: 2.\nUpdate with: {command}\nRemove files that are not in the index: {remove}\n"
    assert run(*command.split()[2:]).code == 0
    assert run("check", "out").err == f"Files with problems: 1.\nRemove files that are not in the index: {remove}\n"
    subprocess.run(remove.split(), check=True)
    assert run("check", "out").code == 0


@pytest.mark.parametrize(
    "name", ["notes.json", "reports/truth/v1.old.json", "reports/gone/v1.json", "v1.json", "a/b.json"]
)
def test_check_of_stray_files(run: Call, name: str) -> None:
    """A JSON file that is not in the index is reported, whatever its name; removing it is all that is needed."""
    run("export", "out", "reports/truth", "--base-url", BASE)
    stray = Path("out", name)
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("{}", encoding="utf-8")
    Path("out/README.md").write_text("not a schema", encoding="utf-8")
    removal = f"Files with problems: 1.\nRemove files that are not in the index: rm -- out/{name}\n"
    assert run("check", "out") == (1, f"out/{name}: not in the index\n", removal)
    stray.unlink()
    assert run("check", "out").code == 0


def test_a_second_export_joins_the_first(run: Call) -> None:
    """Exports of one sort share an index; one in another draft or with another base replaces it, and says so."""
    run("export", "out", "reports/truth")
    assert "listed" not in run("export", "out", "lesions/model").err
    ids = [entry["id"] for entry in json.loads(Path("out/index.json").read_bytes())["schemas"]]
    assert ids == ["lesions/model", "reports/truth"]
    assert run("check", "out").code == 0
    for more in (["--draft", "draft-07"], ["--base-url", BASE]):
        assert (
            "index.json replaced, because it listed an export with another draft"
            in run("export", "out", "lesions/model", *more).err
        )
        ids = [entry["id"] for entry in json.loads(Path("out/index.json").read_bytes())["schemas"]]
        assert ids == ["lesions/model"]
    shutil.rmtree("out/reports")
    run("export", "out", "lesions/truth", "--base-url", BASE)
    assert run("check", "out").code == 1  # the draft-07 file has no such base
    Path("out/lesions/model/v1.draft-07.json").unlink()
    assert run("check", "out").code == 0


@pytest.mark.slow
def test_a_plugin_and_the_check(run: Call) -> None:
    """A plugin does not make an export without it stale; an export with it can be checked, with the plugin only."""
    plugin = ["--plugin", str(ROOT / "examples" / "sepsis" / "sepsis_challenge.py")]
    known = dict(registry.compiled())
    try:
        assert run("check", str(SCHEMAS), *plugin).code == 0
        assert run("export", "out", "sepsis/truth", "lesions/model", *plugin).code == 0
        assert run("check", "out", *plugin).code == 0
        Path("out/sepsis/truth/v1.json").unlink()
        assert "export " + " ".join(plugin) + " out lesions/model sepsis/truth" in run("check", "out", *plugin).err
    finally:
        registry.registered().clear()
        registry.registered().update(known)
        sys.modules.pop("sepsis_challenge", None)
    code, out, err = run("check", "out")
    assert (code, out) == (1, "out/sepsis/truth/v1.json: belongs to the unknown contract sepsis/truth\n")
    assert (
        "(with the --plugin that defines sepsis/truth; if it no longer exists, remove its files and index.json first)"
        in err
    )


def test_committed_index() -> None:
    """`schemas/` has the 2020-12 files, the index of them, and no other."""
    files = publishing.export(CONTRACTS)
    assert {path.relative_to(SCHEMAS).as_posix() for path in SCHEMAS.rglob("*.json")} == set(files)
    assert (SCHEMAS / "index.json").read_text(encoding="utf-8") == files["index.json"]


def entries() -> dict[str, dict[str, Any]]:
    """The entries of the committed index, by id."""
    return {entry["id"]: entry for entry in json.loads((SCHEMAS / "index.json").read_bytes())["schemas"]}


def example_records(contract_id: str) -> list[dict[str, Any]]:
    """The records of the example in a published schema."""
    schema = json.loads((SCHEMAS / entries()[contract_id]["record_path"]).read_bytes())
    return list(schema["examples"])


def test_index_says_where_records_are() -> None:
    """The list key leads to a list whose items are the records; a document has none."""
    for contract in CONTRACTS:
        entry = entries()[contract.id]
        assert entry["list_key"] == contract.list_key
        if entry["list_key"]:
            schema = json.loads((SCHEMAS / entry["path"]).read_bytes())
            assert schema["properties"][entry["list_key"]]["type"] == "array"


def test_index_says_what_stands_in_for_a_truth() -> None:
    """What preflight takes for a truth that is not given stands in the index, with the records that it takes."""
    listed = {(e["id"], s["contract"]): s["where"] for e in entries().values() for s in e["stands_in_for"]}
    known = [ids for track in tracks.every() for ids in track.roles.expected_ids]
    assert set(listed) == {(ids.contract, ids.truth) for ids in known}
    for ids in known:
        for example in example_records(ids.contract):
            taken = all(example[field] == value for field, value in listed[ids.contract, ids.truth].items())
            assert taken == (ids.only is None or ids.only(SimpleNamespace(**example)))


def test_index_says_which_list_of_a_document_is_meant() -> None:
    """A rule that refers to a document means the objects of one list of it, which the index names."""
    for contract in CONTRACTS:
        for rule in contract.rules:
            if isinstance(rule, Excludes | Covers | Reference) and not entries()[rule.other]["list_key"]:
                schema = json.loads((SCHEMAS / rule.other / "v1.json").read_bytes())
                items = schema["properties"][entries()[rule.other]["reference_list"]]["items"]
                assert rule.field in schema["$defs"][items["$ref"].rpartition("/")[2]]["properties"]


@pytest.mark.parametrize("contract", [c for c in CONTRACTS if c.flat], ids=lambda contract: contract.id)
def test_index_maps_columns_to_records(contract: Contract[Any]) -> None:
    """A row of a table becomes a record by what the index says of the columns, and `load` makes the same of it."""
    columns = entries()[contract.id]["columns"]
    for record in example_records(contract.id):
        cells = []
        for column in columns:
            name, *place = column["pointer"].split("/")[1:]
            value = record.get(name)
            value = value[int(place[0])] if place and value else value
            cells.append("" if value is None else value if isinstance(value, str) else json.dumps(value))
        table = io.StringIO()
        csv.writer(table).writerows([[column["column"] for column in columns], cells])
        (loaded,) = medcontract.load(table.getvalue().encode(), contract.id, name="x.csv").value
        mapped = {column["pointer"].split("/")[1] for column in columns}
        assert loaded.model_dump(exclude_none=True) == {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in record.items()
            if key in mapped and value is not None
        }


@pytest.mark.parametrize("contract", [c for c in CONTRACTS if not c.flat], ids=lambda contract: contract.id)
def test_index_has_no_columns_where_there_is_no_table(contract: Contract[Any]) -> None:
    """Contracts whose records do not fit a row have no columns."""
    assert entries()[contract.id]["columns"] is None


# --- base URL ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize("url", [BASE, BASE + "/", "http://localhost:8000", "file:///srv/schemas", "https://a.b/c%20d"])
def test_base_url(run: Call, url: str) -> None:
    """`$id` is the address of the file below the base, with one slash between."""
    assert run("export", "out", "--base-url", url).code == 0
    for path in Path("out").rglob("v*.json"):
        name = path.relative_to("out").as_posix()
        assert json.loads(path.read_bytes())["$id"] == f"{url.rstrip('/')}/{name}"
    assert run("check", "out", "--base-url", url).code == 0
    assert run("check", "out").code == 0
    code, _, err = run("check", "out", "--base-url", "https://example.org/elsewhere")
    assert code == 1
    assert err.endswith("Update with: medcontract schema export out --base-url https://example.org/elsewhere\n")


def test_one_file_with_another_base(run: Call) -> None:
    """The base is the one that most files have; the others are told."""
    run("export", "out", "reports/truth", "lesions/model", "--base-url", BASE)
    path = Path("out/lesions/model/v1.json")
    path.write_text(path.read_text(encoding="utf-8").replace(BASE, "https://example.com"), encoding="utf-8")
    code, out, err = run("check", "out")
    assert (code, out) == (1, "out/lesions/model/v1.json: stale (differs from the current models)\n")
    assert f"Update with: medcontract schema export out lesions/model reports/truth --base-url {BASE}\n" in err


@pytest.mark.parametrize(
    "url",
    ["", " ", "example.org/schemas", "/schemas", "//example.org", "https://", "https:///x", "https:example.org",
     "https://example.org/?q", "https://example.org/a?b=c", "https://example.org/#", "https://example.org/a#b",
     "https://example.org/a b", " https://example.org", "https://example.org\n", "https://example.org/\u00e9",
     "https://example.org/%zz", "https://[::1/x", "https://example.org:port/x", "https://example.org:99999/x",
     "https://me:secret@example.org/x", "https://example.org/a/../b", "https://example.org/./b", "urn:x:y",
     "https://example.org/{id}", "https://example.org\\x"],
)  # fmt: skip
@pytest.mark.parametrize("command", ["export", "check"])
def test_bad_base_url(run: Call, command: str, url: str) -> None:
    """A URL that file names cannot be put after is a usage error, and nothing is written."""
    Path("out").mkdir()
    code, out, err = run(command, "out", "--base-url", url)
    assert (code, out) == (2, "")
    assert "base URL" in err
    assert list(Path("out").iterdir()) == []


@pytest.mark.parametrize("base", [BASE, BASE + "/", "http://localhost:8000"])
def test_recognized_by_address(base: str) -> None:
    """A file whose `$schema` is such an address is recognized by it."""
    for contract in CONTRACTS:
        schema = publishing.schema_of(contract, base_url=base)
        assert recognition.by_schema(schema["$id"]) == contract.id
    named = publishing.schema_of(registry.contract("reports/cases"), base_url=base)["$id"]
    report = medcontract.validate(json.dumps({"$schema": named, "cases": []}).encode(), name="x.json")
    assert report.contract == "reports/cases"


def test_addresses_lead_to_themselves() -> None:
    """With a base URL, a schema still refers to its own definitions only, and validators find them."""
    contract = registry.contract("lesions/predictions")
    for draft, validator in (("2020-12", Draft202012Validator), ("draft-07", Draft7Validator)):
        schema = publishing.schema_of(contract, False, draft, BASE)  # type: ignore[arg-type]  # a tuple of literals
        found = [validator(schema).is_valid(value) for value in values(contract, False, 40)]
        assert {True, False} == set(found)


# --- diff: what breaks whom ----------------------------------------------------------------------


def closed(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


STRING, NULL = {"type": "string"}, {"type": "null"}
RULE = {"kind": "unique", "scope": "list", "code": "MC201", "message": "m", "severity": "error", "within": "a",
        "fields": ["b"]}  # fmt: skip
SUM = {"kind": "sum", "scope": "object", "code": "MC202", "message": "m", "severity": "error", "field": "p",
       "minimum": 0.9, "maximum": 1.1}  # fmt: skip
LIMIT = {"kind": "limit", "scope": "object", "code": "MC501", "message": "m", "severity": "error", "field": "p",
         "minimum": 50, "below": 150}  # fmt: skip


def rules(*found: Any) -> Schema:
    return {"x-medcontract-rules": list(found)}


TIGHTER: dict[str, tuple[Any, Any]] = {
    "type narrowed": ({"type": ["string", "null"]}, STRING),
    "type stated": ({}, STRING),
    "number to integer": ({"type": "number"}, {"type": "integer"}),
    "required": ({"type": "object"}, {"type": "object", "required": ["a"]}),
    "property gone": (closed(a=STRING, b=STRING), closed(a=STRING)),
    "property constrained": ({"type": "object"}, {"type": "object", "properties": {"a": STRING}}),
    "enum value gone": ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    "enum stated": (STRING, {**STRING, "enum": ["a"]}),
    "enum to const": ({"enum": ["a", "b"]}, {"const": "b"}),
    "minimum raised": ({"minimum": 0}, {"minimum": 1}),
    "minimum excluded": ({"minimum": 0}, {"exclusiveMinimum": 0}),
    "maximum lowered": ({"maximum": 2}, {"maximum": 1.5}),
    "maximum stated": ({"type": "number"}, {"type": "number", "maximum": 1}),
    "minLength": ({"minLength": 1}, {"minLength": 2}),
    "maxLength": ({"maxLength": 3}, {"maxLength": 2}),
    "minItems": ({"minItems": 1}, {"minItems": 2}),
    "maxItems": ({}, {"maxItems": 2}),
    "minProperties": ({}, {"minProperties": 1}),
    "pattern stated": (STRING, {**STRING, "pattern": "a"}),
    "items": ({"items": {"minimum": 0}}, {"items": {"minimum": 1}}),
    "closed": ({"type": "object"}, closed()),
    "other keys": ({"additionalProperties": True}, {"additionalProperties": STRING}),
    "branch gone": ({"anyOf": [STRING, NULL]}, {"anyOf": [STRING]}),
    "null gone": ({"anyOf": [{**STRING, "pattern": "a"}, NULL]}, {**STRING, "pattern": "a"}),
    "branch narrowed": ({"anyOf": [STRING, NULL]}, {"anyOf": [NULL, {**STRING, "maxLength": 2}]}),
    "form gone": ({"oneOf": [STRING, NULL]}, {"oneOf": [NULL]}),
    "not stated": (STRING, {**STRING, "not": {"pattern": "a"}}),
    "nothing at all": (STRING, False),
    "behind a reference": ({"$ref": "#/$defs/A", "$defs": {"A": STRING}},
                           {"$ref": "#/$defs/A", "$defs": {"A": {**STRING, "maxLength": 2}}}),
    "new rule": (rules(), rules(RULE)),
    "warning to error": (rules({**RULE, "severity": "warning"}), rules(RULE)),
    "sum: minimum": (rules(SUM), rules({**SUM, "minimum": 0.95})),
    "sum: maximum": (rules(SUM), rules({**SUM, "maximum": 1})),
    "limit: minimum": (rules(LIMIT), rules({**LIMIT, "minimum": 40})),
    "limit: below": (rules(LIMIT), rules({k: v for k, v in LIMIT.items() if k != "below"})),
    "second limit": (rules(LIMIT), rules({**LIMIT, "minimum": 150, "below": 200}, LIMIT)),
}  # fmt: skip
"""The other way round, each of them is looser."""

UNJUDGED: dict[str, tuple[Any, Any]] = {
    "not widened": ({"not": {"enum": [1]}}, {"not": {"enum": [1, 2]}}),
    "type": (STRING, {"type": "number"}),
    "pattern": ({"pattern": "a"}, {"pattern": "b"}),
    "only blanks, and more": ({"pattern": BLANK}, {"not": {"type": "string", "pattern": "[^a]"}}),
    "enum": ({"enum": ["a"]}, {"enum": ["b"]}),
    "condition": ({"if": STRING, "then": {"minLength": 1}}, {"if": NULL, "then": {"minLength": 1}}),
    "overlapping forms": ({"oneOf": [{"minimum": 0}, {"maximum": 9}]}, {"oneOf": [{"minimum": 1}, {"maximum": 9}]}),
    "renamed": (closed(a=STRING), closed(b=STRING)),
    "another rule": (rules(RULE), rules({**RULE, "fields": ["c"]})),
    "no rules": ({"x-medcontract-rules": 1}, {"x-medcontract-rules": 2}),
    "odd bounds": (rules({**SUM, "minimum": "a"}), rules({**SUM, "minimum": None})),
}  # fmt: skip

REFUSED: dict[str, tuple[Schema, str]] = {
    "items of a tuple": ({"$schema": "http://json-schema.org/draft-07/schema", "items": [STRING]}, "'items' with a"),
    "first items": ({"type": "array", "prefixItems": [STRING]}, "it uses prefixItems"),
    "unique items": ({"properties": {"a": {"uniqueItems": True}}}, "it uses uniqueItems"),
    "several": ({"type": "string", "multipleOf": 2, "format": "date"}, "it uses format, multipleOf"),
    "pattern properties": ({"items": {"patternProperties": {"^a": {}}}}, "it uses patternProperties"),
    "what is left over": ({"properties": {"a": {}}, "unevaluatedProperties": False}, "it uses unevaluatedProperties"),
    "all of several": ({"allOf": [STRING, {"maxLength": 2}]}, "'allOf' with several"),
    "next to all of one": ({"allOf": [STRING], "maxLength": 2}, "next to other keywords"),
    "next to a reference": ({"$ref": "#/$defs/A", "maxLength": 2, "$defs": {"A": STRING}}, "next to other keywords"),
    "unknown keyword": ({"type": "string", "frobnicate": 1}, "it uses frobnicate"),
    "another file": ({"$ref": "https://example.org/a"}, "not to a definition of this schema"),
    "inside a definition": ({"$ref": "#/$defs/A/items", "$defs": {"A": {"items": {}}}}, "not to a definition"),
    "inside a condition": ({"if": {"contains": STRING}, "then": {}}, "it uses contains"),
}  # fmt: skip

HARMLESS: dict[str, tuple[Any, Any]] = {
    "prose": ({**STRING, "title": "a", "examples": [1]}, {**STRING, "title": "c", "default": "b", "x-mine": {"a": 1}}),
    "order": ({"type": ["string", "null"], "required": ["a", "b"], "enum": [1, 2]},
              {"enum": [2, 1], "required": ["b", "a"], "type": ["null", "string"]}),
    "order of branches": ({"anyOf": [closed(a=STRING), NULL]}, {"anyOf": [NULL, closed(a=STRING)]}),
    "const for enum": ({"const": 1}, {"enum": [1.0]}),
    "reference or not": ({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": STRING}}, {"items": STRING}),
    "renamed definition": ({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": STRING}},
                           {"items": {"$ref": "#/$defs/B"}, "$defs": {"B": STRING}}),
    "list of types": ({"type": ["string", "null"], "maxLength": 2}, {"anyOf": [{**STRING, "maxLength": 2}, NULL]}),
    "anyOf for oneOf": ({"oneOf": [STRING, NULL]}, {"anyOf": [STRING, NULL]}),
    "anyOf of one": ({"anyOf": [STRING]}, STRING),
    "allOf of one": ({"allOf": [STRING]}, STRING),
    "limits that are none": ({}, {"minLength": 0, "minItems": 0, "additionalProperties": True}),
    "not for that type": ({**STRING, "minimum": 1}, {**STRING, "maximum": 1}),
    "true": (True, {}),
    "circle": ({"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}, "title": "t"}),
    "circle of references": ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},) * 2,
    "warning": (rules(), rules({**RULE, "severity": "warning"})),
    "words of a rule": (rules(RULE), rules({**RULE, "message": "n", "hint": "h", "code": "MC209"})),
    "order of rules": (rules(RULE, LIMIT, {**LIMIT, "minimum": 9}), rules({**LIMIT, "minimum": 9}, LIMIT, RULE)),
    "only blanks": ({**STRING, "pattern": BLANK}, {**STRING, "not": {**STRING, "pattern": NON_BLANK}}),
}  # fmt: skip


def verdict(old: Any, new: Any) -> tuple[bool, bool]:
    """Whether anything is tighter, and whether anything is looser."""
    changes = compare(old, new)
    return any(c.tighter for c in changes), any(c.looser for c in changes)


@pytest.mark.parametrize("name", TIGHTER)
def test_tighter_breaks_writers(name: str) -> None:
    """What refuses more breaks writers and no one else; the other way round, it breaks readers and no one else."""
    old, new = TIGHTER[name]
    assert verdict(old, new) == (True, False)
    assert verdict(new, old) == (False, True)


@pytest.mark.parametrize("name", UNJUDGED)
def test_both(name: str) -> None:
    """What changes to and fro, or cannot be judged, breaks both."""
    old, new = UNJUDGED[name]
    assert verdict(old, new) == verdict(new, old) == (True, True)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """What `schema export` does not write is refused, with what it is: a change there could not be judged."""
    schema, told = REFUSED[name]
    with pytest.raises(CallError, match=re.escape(told)):
        parse(json.dumps(schema).encode(), "x.json")


@pytest.mark.parametrize("name", [*TIGHTER, *UNJUDGED, *HARMLESS])
def test_not_refused(name: str) -> None:
    """These are schemas as `schema export` writes them."""
    assert [refusal(schema) for schema in {**TIGHTER, **UNJUDGED, **HARMLESS}[name]] == [None, None]


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless(name: str) -> None:
    """Another way to say the same breaks no one."""
    old, new = HARMLESS[name]
    assert verdict(old, new) == verdict(new, old) == (False, False)


@pytest.mark.parametrize("name", [*TIGHTER, *UNJUDGED, *HARMLESS])
def test_the_same_is_no_change(name: str) -> None:
    """A schema has no change from itself, and none from a copy."""
    for schema in {**TIGHTER, **UNJUDGED, **HARMLESS}[name]:
        assert compare(schema, copy.deepcopy(schema)) == []


@pytest.mark.parametrize(("old", "new", "told"), [
    ({"enum": ["a"]}, {"enum": ["a", "Elective"]},
     ("readers", "/properties/urgency/enum", "'urgency' now also accepts Elective")),
    ({"enum": ["a", 1, "", None]}, {"enum": ["a"]},
     ("writers", "/properties/urgency/enum", "'urgency' no longer accepts 1, \"\", null")),
    (STRING, {"anyOf": [STRING, NULL]},
     ("readers", "/properties/urgency/anyOf/1/type", "'urgency' may now also be null")),
    ({"type": "number", "minimum": 0}, {"type": "number", "exclusiveMinimum": 1},
     ("writers", "/properties/urgency/exclusiveMinimum",
      "'urgency' must now be more than 1; before, it had to be at least 0")),
    (STRING, {"type": "integer"}, ("both", "/properties/urgency/type",
                                   "'urgency' must now be an integer; it was a string")),
    ({**STRING, "minLength": 2}, STRING,
     ("readers", "/properties/urgency/minLength", "'urgency' no longer has to have at least 2 characters")),
    ({"items": STRING}, {"items": {"type": ["string", "null"]}},
     ("readers", "/properties/urgency/items/type", "an item of 'urgency' may now also be null")),
])  # fmt: skip
def test_sentences(old: Schema, new: Schema, told: tuple[str, str, str]) -> None:
    """A change says whom it breaks, where, and what it is."""
    (change,) = compare(closed(urgency=old), closed(urgency=new))
    assert (change.breaks, change.pointer, change.message) == told


@pytest.mark.parametrize(("old", "new", "pointer"), [
    ({"$defs": {"A": STRING}, "items": {"$ref": "#/$defs/A"}},
     {"$defs": {"A": {**STRING, "maxLength": 1}}, "items": {"$ref": "#/$defs/A"}}, "/$defs/A/maxLength"),
    (closed(**{"a/b~c": STRING}), closed(), "/properties/a~1b~0c"),
    (closed(), closed(**{"a/b~c": STRING}), "/properties/a~1b~0c"),
])  # fmt: skip
def test_pointers(old: Schema, new: Schema, pointer: str) -> None:
    """A pointer leads to where the change is written, through references."""
    assert [change.pointer for change in compare(old, new)] == [pointer]


def test_definition_used_twice_is_told_once() -> None:
    """A change in a definition is one change, however often it is used."""
    old = {**closed(a={"$ref": "#/$defs/A"}, b={"$ref": "#/$defs/A"}), "$defs": {"A": STRING}}
    new = {**old, "$defs": {"A": {**STRING, "maxLength": 1}}}
    assert len(compare(old, new)) == 1


# --- diff: a law ---------------------------------------------------------------------------------

Edit = Callable[[random.Random, Schema], None]


def _edit_enum(rng: random.Random, node: Schema) -> None:
    if "enum" in node and rng.random() < 0.8:
        node["enum"] = rng.choice([[*node["enum"], "x", None], node["enum"][1:] or [0]])
    else:
        node["enum"] = ["x", "Urgent", "MEL", None, 0, 1, True, "m"]


def _edit_required(rng: random.Random, node: Schema) -> None:
    names = list(node.get("properties", {"x": {}}))
    node["required"] = rng.sample(names, rng.randint(0, len(names)))


def _edit_properties(rng: random.Random, node: Schema) -> None:
    found = node.setdefault("properties", {})
    if found and rng.random() < 0.5:
        del found[rng.choice(list(found))]
    else:
        found[rng.choice(["x", "error", "id", ""])] = rng.choice([{}, {"type": "string"}, {"type": "null"}, False])


def _edit_branches(rng: random.Random, node: Schema) -> None:
    word = next((word for word in ("anyOf", "oneOf") if word in node), None)
    if word is None:
        inner = dict(node)
        node.clear()
        more: list[Schema] = rng.choice([[], [{"type": "null"}], [{"minimum": 1}]])
        node[rng.choice(["anyOf", "oneOf"])] = [inner, *more]
    elif rng.random() < 0.4 and len(node[word]) > 1:
        node[word].pop(rng.randrange(len(node[word])))
    elif rng.random() < 0.5:
        node[word].append(rng.choice([{"type": "null"}, {"type": "boolean"}, {"maxLength": 1}, {"type": "string"}]))
    else:
        node["oneOf" if word == "anyOf" else "anyOf"] = node.pop(word)


def _edit_not(rng: random.Random, node: Schema) -> None:
    if "not" in node and rng.random() < 0.5:
        del node["not"]
    else:
        node["not"] = rng.choice([{"type": "null"}, {"enum": ["x", 1]}, {"maxLength": 1}, {"required": ["x"]}])


def _edit_away(rng: random.Random, node: Schema) -> None:
    if node:
        del node[rng.choice(list(node))]


JSON_TYPES = ["string", "number", "integer", "null", "object", "array", "boolean"]
SETTINGS: list[tuple[list[str], list[Any]]] = [
    (["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], [0, 0.5, 1, 2, 10, 100]),
    (["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"], [0, 1, 2, 3, 10]),
    (["type"], [*JSON_TYPES, *map(list, combinations(JSON_TYPES, 2))]),
    (["additionalProperties"], [True, False, {"type": "string"}, {"type": ["integer", "null"]}]),
    (["pattern"], ["^[a-z]", "x", "^.{2}$"]),
    (["items"], [{"type": "string"}, {"minimum": 0.5}, True]),
    (["description", "const"], ["new", "x"]),
]
"""Keywords, and values that any of them may be set to."""


def _edit_keyword(rng: random.Random, node: Schema) -> None:
    words, found = rng.choice(SETTINGS)
    node[rng.choice(words)] = rng.choice(found)


def _edit_condition(rng: random.Random, node: Schema) -> None:
    node.update({"if": {"type": "string"}, "then": {"minLength": 2}})


EDITS: tuple[Edit, ...] = (
    *[_edit_keyword] * len(SETTINGS), _edit_enum, _edit_required, _edit_properties, _edit_branches, _edit_not,
    _edit_condition, _edit_away, _edit_away,
)  # fmt: skip


def edited(schema: Schema, rng: random.Random, count: int) -> Schema:
    """The schema with a few changes; definitions stay where they are, so that references lead somewhere."""
    new = {word: value for word, value in copy.deepcopy(schema).items() if word not in ("$id", "$schema")}
    definitions = new.pop("$defs", {})
    for _ in range(count):
        rng.choice(EDITS)(rng, rng.choice([node for part in (new, *definitions.values()) for node in subschemas(part)]))
    if definitions:
        new["$defs"] = definitions
    return new


FORMS = [(c, False) for c in CONTRACTS] + [(c, True) for c in CONTRACTS if c.list_key]


@given(form=st.sampled_from(FORMS), seed=st.integers(0, 2**32), before=st.integers(0, 2), after=st.integers(1, 3))
@property_settings(40)
def test_a_breaking_change_is_never_called_harmless(
    form: tuple[Contract[Any], bool], seed: int, before: int, after: int
) -> None:
    """A value that OLD accepts and NEW refuses breaks writers, one that NEW accepts and OLD refuses breaks readers."""
    rng = random.Random(seed)
    old = edited(publishing.schema_of(*form), rng, before)
    new = edited(old, rng, after)
    for schema in (old, new):
        Draft202012Validator.check_schema(schema)
        assume(not refusal(schema))
    by_old, by_new = Draft202012Validator(old), Draft202012Validator(new)
    tighter, looser = verdict(old, new)
    assert verdict(new, old) == (looser, tighter)
    instances = values(*form, 400)
    for value in rng.sample(instances, min(50, len(instances))) + instances[:3]:
        accepted = by_old.is_valid(value), by_new.is_valid(value)
        assert accepted != (True, False) or tighter, value
        assert accepted != (False, True) or looser, value


ATOMS: list[Any] = [None, True, False, 0, 0.5, 1, 2, 2.5, 10, -1, "", "x", "xy", "abc", "m", "Urgent"]
SMALL: list[Any] = [
    *ATOMS, [], *([atom] for atom in ATOMS), [1, "x"], [1, 1], ["x", 1], [1, 2, 3], ["x", "y", None], {},
    *({key: atom} for key in ("x", "error", "") for atom in ATOMS), *({"x": [atom]} for atom in ATOMS),
    *({"x": atom, "error": "x"} for atom in ATOMS), {"x": {"x": 1}}, {"x": {}, "error": None}, {"longer name": 1},
    {"x": 1, "error": 2, "": 3}, {"xx": 1}, {"xx": "x", "x": "x"}, [{}], [{"x": 1}], [{"x": "x", "error": 1}],
]  # fmt: skip
"""Values of every type, small enough for any of them to matter to a small schema."""


def small_schema(rng: random.Random, depth: int = 2) -> Any:
    """A schema made by a few edits of nothing, with others inside."""
    node: Schema = {}
    for _ in range(rng.randint(0, 3)):
        rng.choice(EDITS)(rng, node)
    if depth and rng.random() < 0.6:
        inside = [small_schema(rng, depth - 1) for _ in range(2)]
        word = rng.choice(["properties", "items", "anyOf", "oneOf", "not", "additionalProperties"])
        listed, one = word.endswith("Of"), inside[0]
        node[word] = {"x": one, "error": inside[1]} if word == "properties" else inside if listed else one
    return node


@given(seed=st.integers(0, 2**32))
@property_settings(600)
def test_no_small_change_is_called_harmless(seed: int) -> None:
    """The same for small schemas, where nearly every change shows in some small value."""
    rng = random.Random(seed)
    old = small_schema(rng)
    if rng.random() < 0.2:
        old = {"$defs": {"A": old}, "type": rng.choice(["object", "array"]), "items": {"$ref": "#/$defs/A"},
               "properties": {"x": {"$ref": "#/$defs/A"}, "error": {"$ref": "#"}}}  # fmt: skip
    new = edited(old, rng, 1)
    assume(not refusal(old) and not refusal(new))
    by_old, by_new = Draft202012Validator(old), Draft202012Validator(new)
    tighter, looser = verdict(old, new)
    for value in SMALL:
        accepted = by_old.is_valid(value), by_new.is_valid(value)
        assert accepted != (True, False) or tighter, (old, new, value)
        assert accepted != (False, True) or looser, (old, new, value)


# --- diff: the command ---------------------------------------------------------------------------


def test_diff_of_files(run: Call) -> None:
    """Changes are told as text and as JSON that keeps its contract; exit 1 only when someone is broken."""
    one = write("one.json", closed(a={**STRING, "title": "t"}))
    two = write("two.json", closed(a={**STRING, "title": "u"}, b=STRING))
    code, out, err = run("diff", one, two)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "two.json",
        "  none     /properties/a/title  title of 'a' changed",
        "  readers  /properties/b        'b' is now allowed",
        "",
        "2 changes: 1 breaks readers.",
    ]
    code, out, err = run("diff", one, two, "--format", "json")
    assert (code, err) == (1, "")
    published("medcontract/schema-diff").validate(json.loads(out))
    report = medcontract.validate(out.encode(), name="out.json")
    assert (report.contract, report.problems) == ("medcontract/schema-diff", ())
    assert json.loads(out) == {
        "breaking": True,
        "changes": [
            {"path": "two.json", "pointer": "/properties/a/title", "message": "title of 'a' changed", "breaks": "none"},
            {"path": "two.json", "pointer": "/properties/b", "message": "'b' is now allowed", "breaks": "readers"},
        ],
    }
    assert run("diff", one, one) == (0, "No changes.\n", "")
    write("three.json", closed(a=STRING))
    assert run("diff", one, "three.json").code == 0
    assert run("diff", one, two, "--out", "x.json") == (1, "", "")
    assert json.loads(Path("x.json").read_bytes()) == json.loads(out)


def test_diff_with_ids(run: Call) -> None:
    """An id means the schema of the current model, of the file or of a record."""
    whole, record = SCHEMAS / "reports/truth/v1.json", SCHEMAS / "reports/truth/v1.record.json"
    assert run("diff", whole, "reports/truth").code == 0
    assert run("diff", "--record", record, "reports/truth").code == 0
    assert run("diff", record, "reports/truth").code == 1
    out = run("diff", "reports/cases", "reports/truth", "--format", "json").out
    assert {change["path"] for change in json.loads(out)["changes"]} == {"reports/truth"}


def test_id_or_folder(run: Call) -> None:
    """What is an id is taken for one; with `./` it is a path."""
    write("reports/truth/v1.json", {"type": "object"})
    assert run("diff", "reports/truth", "reports/truth").out == "No changes.\n"
    code, _, err = run("diff", "./reports/truth", "reports/truth")
    assert (code, "folder" in err) == (2, True)
    assert run("diff", "./reports/truth", "./reports/truth").code == 0


def test_diff_of_folders(run: Call) -> None:
    """Files are matched by their path below the folder: one more breaks no one, one less its writers."""
    for folder in ("a", "b"):
        write(f"{folder}/x/v1.json", STRING)
        write(f"{folder}/index.json", {"schemas": folder})
    write("a/gone/v1.json", STRING)
    write("b/new/v1.json", STRING)
    code, out, _ = run("diff", "a", "b", "--format", "json")
    assert code == 1
    assert [(c["path"], c["breaks"]) for c in json.loads(out)["changes"]] == [
        ("gone/v1.json", "writers"), ("new/v1.json", "none"),
    ]  # fmt: skip
    Path("a/gone/v1.json").unlink()
    assert run("diff", "a", "b").code == 0


@pytest.mark.parametrize(("content", "told"), [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff\xfe", "not JSON"),
    (b'{"minimum": NaN}', "not JSON"),
    (b"[" * 100_000, "not JSON"),
    (b'{"minimum": 1' + b"0" * 5000 + b"}", "not JSON"),
    (b"[]", "not a JSON Schema"),
    (b'"x"', "not a JSON Schema"),
    (b"null", "not a JSON Schema"),
    (b'{"reports": []}', "not a JSON Schema"),
    (b'{"$schema": "https://json-schema.org/draft/2020-12/schema", "reports": []}', "not a JSON Schema"),
    (b'{"type": "objekt"}', "meta-schema"),
    (b'{"properties": []}', "meta-schema"),
    (b'{"pattern": "("}', "meta-schema"),
    (b'{"pattern": "a{99999999999}"}', "meta-schema"),
    (b'{"$schema": [], "type": "object"}', "$schema"),
    (b'{"$ref": "#/x", "x": {"properties": 5}}', "it uses x"),
    (b'{"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}', "draft"),
    (b'{"$schema": "urn:medcontract:reports:truth:v1", "reports": []}', "draft"),
    (b'{"$ref": "#/$defs/A", "type": "object"}', "is not to a definition"),
    (b'{"$ref": "#a", "$defs": {"A": {}}}', "is not to a definition"),
    (b'{"$ref": "#/allOf/' + b"9" * 5000 + b'", "allOf": [{}]}', "is not to a definition"),
    (b'{"properties": {"default": {"$ref": "#a"}}, "$defs": {"A": {}}}', "is not to a definition"),
    (b'{"properties": {"x-mine": {"$dynamicRef": "#a"}}}', "$dynamicRef"),
    (b'{"items": {"$id": "https://example.org/a", "$ref": "#"}}', "$id"),
    (b'{"items": {"$dynamicRef": "#a"}}', "$dynamicRef"),
    (b'{"not":' * 300 + b"{}" + b"}" * 300, "too deep"),
])  # fmt: skip
def test_diff_of_no_schema(run: Call, content: bytes, told: str) -> None:
    """What is no JSON Schema is a usage error, on either side and in a folder."""
    Path("bad").mkdir()
    Path("bad/x.json").write_bytes(content)
    for arguments in (["bad/x.json", "reports/truth"], ["reports/truth", "bad/x.json"], ["bad", "bad"]):
        code, out, err = run("diff", *arguments)
        assert (code, out) == (2, "")
        assert told in err
        assert "bad/x.json" in err


@pytest.mark.slow
@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_very_many_alternatives(word: str) -> None:
    """Of thousands of alternatives the same ones are paired, in any order."""
    old = {word: [{"minimum": n} for n in range(3000)]}
    new = {word: [{"minimum": n} for n in reversed(range(1000, 4000))]}
    assert verdict(old, new)[0]
    assert verdict(new, old)[1]


def test_alternatives_in_another_order() -> None:
    """The order of alternatives does not matter: equal ones are paired."""
    old = {"anyOf": [{"type": "number", "minimum": n} for n in range(300)]}
    assert verdict(old, {"anyOf": old["anyOf"][::-1]}) == (False, False)
    assert verdict(old, {"anyOf": old["anyOf"][:0:-1]}) == (True, False)


def test_diff_of_odd_patterns(run: Call) -> None:
    """What Python's `re` warns of in a pattern is nobody's concern here; a warning would fail this test."""
    Path("old.json").write_text('{"pattern": "[[a]", "properties": {"b": {}}}', encoding="utf-8")
    Path("new.json").write_text('{"pattern": "[[a]", "properties": {"a": {}}}', encoding="utf-8")
    assert run("diff", "old.json", "new.json").err == ""


def test_parse_takes_a_byte_order_mark() -> None:
    """A byte order mark is no mistake, as in all files."""
    assert parse(b'\xef\xbb\xbf{"type": "null"}', "x.json") == NULL


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "object", "#", "#/$defs/a", "^a", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf",
        "oneOf", "allOf", "not", "$ref", "$defs", "a", "minimum", "maxLength", "x-medcontract-rules", "kind", "if",
        "then", "contains", "patternProperties", "dependentSchemas", "unevaluatedProperties", "$schema", "$id",
    ]), inner, max_size=4), max_leaves=12,
).flatmap(lambda value: st.tuples(st.just(value), st.just(value) | st.booleans())))  # fmt: skip
@property_settings(200)
def test_never_a_traceback(pair: tuple[Any, Any]) -> None:
    """Whatever is taken for a schema can be compared."""
    try:
        old, new = (parse(json.dumps(value).encode(), "x") for value in pair)
    except CallError as error:
        assert error.message.startswith("x: ")  # noqa: PT017  # most of these are no schemas
    else:
        for other in (new, {"type": "object", "properties": {"a": old}, "items": {"$ref": "#"}}):
            assert isinstance(compare_files({"x": old}, {"x": other}), list)


# --- the promise ---------------------------------------------------------------------------------


def test_todays_models_do_not_break_the_published_schemas() -> None:
    """Readers and writers that follow the schemas of v1 as published still work."""
    old = {path.relative_to(BASELINE).as_posix(): json.loads(path.read_bytes()) for path in BASELINE.rglob("v*.json")}
    new = {name: json.loads(content) for name, content in publishing.published(CONTRACTS).items()}
    assert len(old) >= 26
    breaking = [change for change in compare_files(old, new) if change.breaks != "none"]
    accepted = (
        _widens_codes,
        _widens_paths,
        _widens_predicted_items,
        _warns_of_admissions,
        _adds_to_output,
        _widens_entities,
        _hides_subgroups,
    )
    assert [change for change in breaking if not any(test(change, new) for test in accepted)] == [], (
        "see 'Compatibility' in docs/schemas.md"
    )


def _widens_codes(change: SchemaChange, new: dict[str, Any]) -> bool:
    """Codes of problems may have the prefix of a plugin. The codes of v1 are still valid."""
    place, _, keyword = change.pointer.rpartition("/")
    if not place.endswith("/properties/code") or keyword not in ("pattern", "maxLength", "not"):
        return False
    schema = _node(new[change.path], place)
    return (schema["pattern"], schema["maxLength"]) == ("^[A-Z]{2,12}[0-5][0-9][0-9]$", 15)


def _widens_paths(change: SchemaChange, new: dict[str, Any]) -> bool:
    """A relative path may start with one './'. The paths of v1 are still valid."""
    return change.pointer.endswith("/pattern") and _node(new[change.path], change.pointer) == RELATIVE_PATH


def _widens_predicted_items(change: SchemaChange, new: dict[str, Any]) -> bool:
    """The fields of an item that a model read may be absent or null. The predictions of v1 are still valid."""
    files = ("extraction/prescription-predictions/", "extraction/lab-predictions/")
    return change.path.startswith(files) and change.breaks == "readers" and "Predicted" in change.pointer


def _warns_of_admissions(change: SchemaChange, new: dict[str, Any]) -> bool:
    """A second 'at_admission' is a warning. The truths of v1 are still valid."""
    truth = change.path == "triage/ground-truth/v1.json"
    return truth and change.breaks == "readers" and "flag of at_admission" in change.message


def _widens_entities(change: SchemaChange, new: dict[str, Any]) -> bool:
    """A list of entities may be null, as every optional field may. The answers of v1 are still valid."""
    return (
        change.path.startswith("benchmark/") and change.breaks == "readers" and "Entities/properties/" in change.pointer
    )


def _adds_to_output(change: SchemaChange, new: dict[str, Any]) -> bool:
    """Output of medcontract may have a new field, which only a new option adds. The output of v1 is still valid."""
    found = re.fullmatch(r"(.*)/properties/([^/]+)(/anyOf/\d+)?", change.pointer)
    if not found or not change.path.startswith("medcontract/") or change.breaks != "readers":
        return False
    required = _node(new[change.path], found[1]).get("required", ())
    return change.message == f"'{found[2]}' is now allowed" and found[2] not in required


def _hides_subgroups(change: SchemaChange, new: dict[str, Any]) -> bool:
    """Scores for participants have no subgroups. The scores of v1 never have any."""
    place, _, keyword = change.pointer.rpartition("/")
    if not place.endswith("/else") or keyword not in ("if", "then"):
        return False
    node = _node(new[change.path], place)
    return list(node) == ["if", "then"] and list(node["then"]["properties"]) == ["subgroups"]


def _node(schema: Any, pointer: str) -> Any:
    for key in pointer.split("/")[1:]:
        schema = schema[int(key) if isinstance(schema, list) else key]
    return schema


def test_conditions() -> None:
    """What `then` and `else` say is judged where `if` did not change; else it cannot be judged."""
    old = {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"c": {"type": "null"}}}}
    assert compare(old, old) == []
    stricter = {**old, "then": {"required": ["b", "d"]}}
    assert [change.breaks for change in compare(old, stricter)] == ["writers"]
    assert [change.breaks for change in compare(stricter, old)] == ["readers"]
    other = {**old, "else": {"properties": {"c": {"type": "string"}}}}
    assert [(change.pointer, change.breaks) for change in compare(old, other)] == [("/else/properties/c/type", "both")]
    assert {change.breaks for change in compare(old, {**old, "if": {"required": ["x"]}})} == {"both"}


def test_the_promise_can_be_broken() -> None:
    """A change of a model that breaks someone is seen."""
    name = "reports/truth/v1.json"
    old = {name: json.loads((BASELINE / name).read_bytes())}
    new = copy.deepcopy(old)
    new[name]["properties"]["event"]["maxLength"] = 5
    assert [change.breaks for change in compare_files(old, new)] == ["writers"]
