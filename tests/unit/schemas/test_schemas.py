"""The published schemas: where they are, what they contain, and that they match the current models."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support import SCHEMAS

import medcontract
from medcontract.catalog import problem_codes
from medcontract.contracts import registry, rules
from medcontract.contracts.registry import subschemas
from medcontract.schemas.json_schema import build_index

Schema = dict[str, Any]


@cache
def published() -> dict[str, Schema]:
    """All schemas in `schemas/`, by path; `index.json` lists them and is none."""
    found = sorted(set(SCHEMAS.rglob("*.json")) - {SCHEMAS / "index.json"})
    return {path.relative_to(SCHEMAS).as_posix(): json.loads(path.read_bytes()) for path in found}


each_schema = pytest.mark.parametrize("name", sorted(published()))


def rule_kinds(base: type[rules.Rule] = rules.Rule) -> Iterator[type[rules.Rule]]:
    """All kinds of rules."""
    for kind in base.__subclasses__():
        yield from rule_kinds(kind)
        if "kind" in vars(kind):
            yield kind


def test_files_are_not_stale() -> None:
    """`medcontract schema check` finds nothing."""
    command = [sys.executable, "-m", "medcontract", "schema", "check", str(SCHEMAS)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_compiled_contracts_are_not_stale() -> None:
    """What the package holds of its contracts in compiled form is what the models give."""
    assert json.loads(Path(registry.COMPILED).read_bytes()) == json.loads(json.dumps(build_index()))


@each_schema
def test_meta_schema(name: str) -> None:
    """A schema keeps the meta-schema of draft 2020-12, and says so."""
    schema = published()[name]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@each_schema
def test_id(name: str) -> None:
    """A schema's `$id` is made of its path."""
    track, contract, file = name.split("/")
    version, *record = file.removesuffix(".json").split(".")
    assert published()[name]["$id"] == ":".join(["urn:medcontract", track, contract, version, *record])


@each_schema
def test_self_contained(name: str) -> None:
    """A schema refers to nothing but its own definitions, and to each of them."""
    schema = published()[name]
    used = {node["$ref"] for node in subschemas(schema) if "$ref" in node}
    assert used == {f"#/$defs/{key}" for key in schema.get("$defs", {})}
    assert "$dynamicRef" not in json.dumps(schema)


_LITERAL = r"[A-Za-z0-9 :/_-]"
_ESCAPE = r"\\(?:[.\\]|x[0-9a-f]{2})"
_CLASS = rf"\[\^?(?:(?!--)(?:[A-Za-z0-9 :/_.,+-]|{_ESCAPE}))+\]"
_REPEAT = r"(?:[*+?]|\{[0-9]+(?:,[0-9]+)?\})(?![*+?])"
_PORTABLE = re.compile(rf"(?:\^|\$|\||\(\?:|\)|{_LITERAL}|{_ESCAPE}|{_CLASS}|{_REPEAT})+")
"""Literals, classes of plain characters, groups without a number, plain repetition: the same in ECMA-262, Python, Rust
and Java. No lookaround, no names, no `.`, no `\\d`, `\\w` or `\\s`, no `\\A` or `\\Z`, nothing lazy or possessive."""


@pytest.mark.parametrize(
    "pattern",
    [r"\d", r"\w+", r"\s", r"a.b", r"\Aa\Z", r"(?=a)", r"(?!a)", r"(?<=a)b", r"(?P<n>a)", r"(?<n>a)", r"(a)", r"a*?",
     r"a++", r"(?i:a)", r"[[a]]", r"[a&&b]", r"[a--b]", r"\p{L}", r"\u0041", r"[^\d]", r"\bx", r"a{2,}?", r"\cA"],
)  # fmt: skip
def test_not_portable(pattern: str) -> None:
    """What other languages read otherwise, or not at all, is not taken for portable."""
    assert not _PORTABLE.fullmatch(pattern)


@each_schema
def test_patterns_are_portable(name: str) -> None:
    """Each pattern compiles and means the same in every language, and nothing relies on `format`."""
    schema = published()[name]
    for node in subschemas(schema):
        assert not {"format", "patternProperties"} & set(node)
        assert ("pattern" in node) <= (node.get("type") == "string")
    patterns = [
        found["pattern"]
        for found in [*subschemas(schema), *schema.get("x-medcontract-rules", [])]
        if "pattern" in found
    ]
    for pattern in patterns:
        assert _PORTABLE.fullmatch(pattern), pattern
        re.compile(pattern)


@each_schema
def test_objects_are_closed(name: str) -> None:
    """An object with known keys refuses others, unless its description says that it does not.

    A condition (`if`, `then`) has no `type`: it only adds to what an object is.
    """
    for node in subschemas(published()[name]):
        if node.get("type") == "object" and "properties" in node and node["additionalProperties"] is not False:
            assert node["additionalProperties"] is True
            assert "Other columns are allowed" in node["description"]


@each_schema
def test_rules_are_complete(name: str) -> None:
    """A published rule has a known kind, a scope, a code of the catalog, a severity and a message."""
    kinds = {kind.kind: kind for kind in rule_kinds()}
    ids = {contract.id for contract in registry.contracts()}
    for rule in published()[name].get("x-medcontract-rules", []):
        assert rule["scope"] == kinds[rule["kind"]].scope
        assert rule["code"] in problem_codes()
        assert rule["severity"] in ("error", "warning")
        assert rule["message"].strip()
        assert ("within" in rule) >= (rule["scope"] == "list")
        assert ("other" in rule) == (rule["scope"] == "files")
        assert rule.get("other", "lesions/truth") in ids


def forms(node: Schema, root: Schema) -> list[Schema]:
    """What a schema may mean: references followed, alternatives apart."""
    if "allOf" in node:
        return forms(node["allOf"][0], root)
    if "$ref" in node:
        return forms(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    choices = node.get("oneOf", node.get("anyOf"))
    return [node] if choices is None else [form for choice in choices for form in forms(choice, root)]


def is_there(path: list[str], root: Schema) -> bool:
    """Whether keys lead to something, lists on the way being passed through."""
    found = forms(root, root)
    for key in path:
        lists = [form for node in found if "items" in node for form in forms(node["items"], root)]
        steps = [node["properties"][key] for node in found + lists if key in node.get("properties", {})]
        found = [form for step in steps for form in forms(step, root)]
    return bool(found)


def named_fields(rule: Schema) -> Iterator[list[str]]:
    """The fields that a rule about one file names, as keys from the top."""
    start = [rule["within"]] if "within" in rule else []
    for word in ("field", "fields", "requires", "group", "by", "flag", "text", "items", "texts", "present", "filled"):
        names = rule.get(word, [])
        inside = [rule["items"]] if "items" in rule and word == "field" else []
        for name in [names] if isinstance(names, str) else names:
            yield [*start, *inside, *name.split(".")]


@each_schema
def test_rules_name_fields_that_are_there(name: str) -> None:
    """The fields that a rule about one file names are fields of the objects that it is about."""
    schema = published()[name]
    for rule in schema.get("x-medcontract-rules", []):
        if rule["scope"] != "files":
            named = list(named_fields(rule))
            assert named
            assert [path for path in named if not is_there(path, schema)] == []


def test_record_rules_are_in_both_schemas() -> None:
    """The rules about a record are in the schema of the record, and with `within` in the schema of the file."""
    for contract in registry.contracts():
        if contract.list_key:
            whole = published()[f"{contract.id}/v1.json"].get("x-medcontract-rules", [])
            record = published()[f"{contract.id}/v1.record.json"].get("x-medcontract-rules", [])
            within = [rule for rule in whole if rule["scope"] == "object" and "within" in rule]
            assert within == [{**rule, "within": contract.list_key} for rule in record]


def test_readme_tells_every_kind() -> None:
    """`schemas/README.md` has a row for each kind of rule, with each of its fields, and for nothing else."""
    text = (SCHEMAS / "README.md").read_text(encoding="utf-8").partition("## Kinds")[2]
    rows = dict(re.findall(r"^\| \[[A-Z]+[0-9]+\] `([a-z-]+)` \| (.*)$", text, re.MULTILINE))
    common = {"code", "message", "hint", "severity", "within", "other"}
    fields = {kind.kind: set(kind.__struct_fields__) - common for kind in rule_kinds()}
    assert set(rows) == set(fields)
    for kind, names in fields.items():
        assert {name for name in names if f"`{name}`" not in rows[kind]} == set(), kind


def _example(contract_id: str) -> Any:
    (example,) = published()[f"{contract_id}/v1.json"]["examples"]
    return example


@pytest.mark.parametrize(
    ("contract_id", "key"), [("medcontract/listing", "contracts"), ("medcontract/index", "schemas")]
)
def test_examples_have_the_titles_of_contracts(contract_id: str, key: str) -> None:
    for entry in _example(contract_id)[key]:
        contract = registry.contract(entry["id"])
        assert (entry["version"], entry["kind"], entry["title"]) == (contract.version, contract.kind, contract.title)


def test_examples_have_the_explanations_of_codes() -> None:
    for entry in _example("medcontract/explanation")["codes"]:
        assert medcontract.explain(entry["code"]).to_dict() == {"codes": [entry]}


@pytest.mark.parametrize(
    "protocols",
    [
        _example("medcontract/protocols")["protocols"],
        [_example("medcontract/protocol")],
        [_example("medcontract/score")["protocol"]],
        [_example("medcontract/leaderboard")["protocol"]],
        [_example("medcontract/preflight")["score"]["protocol"]],
    ],
    ids=["protocols", "protocol", "score", "leaderboard", "preflight"],
)
def test_examples_have_the_current_protocols(protocols: list[dict[str, Any]]) -> None:
    current = {entry["id"]: entry for entry in medcontract.list_protocols().to_dict()["protocols"]}
    for entry in protocols:
        assert {key: entry[key] for key in ("id", "version", "fingerprint")} == current[entry["id"]]
