"""Schemas that somebody else wrote, with --schema: what they may read, and how long they may take."""

from __future__ import annotations

import json
import os
import random
import re
import warnings
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter
from tests.commands import Call

import medcontract
from medcontract.jsonschema_files import SchemaChecker
from medcontract.jsonschema_files.keywords import TooSlow, compile_pattern, matches
from medcontract.modeling import Matching

# --- which files are read ------------------------------------------------------------------------


def _outside(tmp_path: Path, how: str) -> Path:
    """A schema that refers to a file outside of its folder; the file allows nothing."""
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.json").write_text('{"not": {}}')
    target = tmp_path / "secret.json"
    reference = {
        "relative": "../secret.json",
        "absolute": str(target),
        "file URL": target.as_uri(),
        "file URL of this host": f"file://localhost{target}",
        "escaped": "%2e%2e/secret.json",
        "link": "link.json",
        "link to a folder": "folder/secret.json",
    }[how]
    (tmp_path / "own" / "link.json").symlink_to(target)
    (tmp_path / "own" / "folder").symlink_to(tmp_path)
    schema = tmp_path / "own" / "schema.json"
    schema.write_text(json.dumps({"$ref": reference}))
    return schema


OUTSIDE = (
    "relative", "absolute", "file URL", "file URL of this host", "escaped", "link", "link to a folder",
)  # fmt: skip


@pytest.mark.parametrize("how", OUTSIDE)
def test_references_out_of_the_folder(call: Call, tmp_path: Path, how: str) -> None:
    """A schema reads files below its own folder only, unless the caller allows another one."""
    schema = _outside(tmp_path, how)
    (tmp_path / "x.json").write_text("{}")
    ran = call("validate", "--schema", schema, tmp_path / "x.json")
    assert ran.code == 2
    assert "it is outside the schema's folder" in ran.err
    assert "--allow-refs DIR" in ran.err
    allowed = call("validate", "--schema", schema, "--allow-refs", os.devnull, tmp_path / "x.json")
    assert (allowed.code, "no such folder" in allowed.err) == (2, True)
    allowed = call(
        "validate", "--schema", schema, "--allow-refs", tmp_path / "own", "--allow-refs", tmp_path, tmp_path / "x.json"
    )
    assert (allowed.code, allowed.err) == (1, "")
    assert not medcontract.validate(b"{}", schema=schema, allow_refs=[tmp_path], name="x.json").ok


def test_whether_a_file_is_there_is_not_said(tmp_path: Path) -> None:
    """The message is the same whether or not there is such a file outside."""
    messages = set()
    for name in ("there.json", "nowhere.json"):
        schema = tmp_path / "own" / "schema.json"
        schema.parent.mkdir(exist_ok=True)
        (tmp_path / "there.json").write_text("{}")
        schema.write_text(json.dumps({"$ref": f"../{name}"}))
        with pytest.raises(medcontract.CallError) as raised:
            SchemaChecker.load(schema)
        messages.add(str(raised.value).replace(name, "x"))
    assert len(messages) == 1


def test_references_of_references(tmp_path: Path) -> None:
    """What a file refers to that was itself referred to is held to the folder of the first schema."""
    (tmp_path / "own" / "parts").mkdir(parents=True)
    (tmp_path / "own" / "schema.json").write_text('{"$ref": "parts/a.json"}')
    (tmp_path / "own" / "b.json").write_text('{"type": "object"}')
    (tmp_path / "own" / "parts" / "a.json").write_text('{"$ref": "../b.json"}')
    assert medcontract.validate(b"{}", schema=tmp_path / "own" / "schema.json", name="x.json").ok
    (tmp_path / "own" / "b.json").write_text('{"$ref": "../c.json"}')
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(medcontract.CallError, match="is outside the schema's folder"):
        SchemaChecker.load(tmp_path / "own" / "schema.json")


def test_allowing_without_a_schema(call: Call, tmp_path: Path) -> None:
    """--allow-refs is about a schema: without one the call is wrong."""
    assert call("validate", "--allow-refs", tmp_path, "x.json").code == 2
    with pytest.raises(medcontract.CallError, match="no schema is given"):
        medcontract.validate(b"{}", allow_refs=[tmp_path])


# --- many references ---------------------------------------------------------------------------


def _load(tmp_path: Path, schema: Any) -> SchemaChecker:
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    return SchemaChecker.load(tmp_path / "schema.json")


def test_many_references_without_doubling(tmp_path: Path) -> None:
    """A large value that follows very many references, each once, is checked to its end."""
    schema = {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "integer"}}}
    findings = _load(tmp_path, schema).findings([*range(20_000), "x"])
    assert [finding.path for finding in findings] == [(20_000,)]


# --- patterns ------------------------------------------------------------------------------------

PATTERNS = [
    "a", "^a", "a$", "^a$", "^$", "", "a|b", "^a$|^b$", "^(a|b$)", "(^a)|b", "[a-c]", "[^a-c]", "[^a]", "a.c", "^.$",
    r"\d", r"^\d+$", r"\w", r"^\w+$", r"\W", r"\s", r"^\S+$", r"\D", r"[\d\s]", r"[^\w]", r"[\W]", r"[^\S\n]", "a*b",
    "^(?:ab)+$", "^a{2}$", "^a{2,}$", "^a{,2}$", "^a{1,3}b?$", "a{", "a{x}", "^[a-z]+@[a-z]+[.][a-z]{2,}$", r"\.",
    r"[\]\[]", r"[[]", r"[a&&b]", r"[~~a]", r"[+--]", r"\-", r"[-a]", r"[\^a]", "é", "[à-ÿ]", r"\u00e9", r"\x41",
    r"\Aa\Z",
    "(?P<n>a)b", "(?:)", "(a|)b", "a+?b", r"\ba\b", r"\Ba", "^(a+)+$", "(a*)*b", "(a|a)*b", "^(?:a?){20}a{20}$", r"\/",
    r"^[^\s@]+$", "\n", r"\n$", "^a\nb$", r"[\s\S]", "x{0}a", "^\t", "[\u0000-\u001f]",
    r"(?=a)a", r"^(?!a)", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?i)a", r"(?s)a.c", r"(?m)^b$", "a$\n", "(a$)+", "(?>a)b",
    "(?a:\\w)", "a++b",
]  # fmt: skip
ALPHABET = "aabbcx1_- .@\n\t\x85é漢~[]^{}/A"
"""Characters that are letters or spaces to both `re` and `regex`, or to neither."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_to_python(pattern: str) -> None:
    """A pattern is found where `re.search` finds it."""
    source = random.Random(pattern)
    texts = ["", "a", "b", "a\n", "\n", "ab\n", "aa", "a\nb", "a\n\n", "a" * 15]
    texts += ["".join(source.choices(ALPHABET, k=source.randrange(6))) for _ in range(400)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        python = re.compile(pattern)
    for text in texts:
        assert matches(pattern, text) == (python.search(text) is not None), text


@pytest.mark.parametrize(("pattern", "good", "bad"), [
    (r"^\p{L}+$", "añoΩ", "año1"),
    (r"^[\p{Lu}\d]+$", "É1", "é1"),
    (r"^\P{L}$", "1", "a"),
    (r"^\p{Script=Greek}+$", "αβ", "ab"),
    (r"^(?<year>[0-9]{4})$", "2026", "26"),
])  # fmt: skip
def test_patterns_that_only_regex_knows(call: Call, tmp_path: Path, pattern: str, good: str, bad: str) -> None:
    """JSON Schema takes its patterns from ECMA-262, which has Unicode properties and names groups without P."""
    (tmp_path / "schema.json").write_text(json.dumps({"items": {"pattern": pattern}}))
    (tmp_path / "x.json").write_text(json.dumps([good, bad]))
    ran = call("validate", "--schema", "schema.json", "x.json", "--format", "json")
    assert [(problem["code"], problem["pointer"]) for problem in ran.json["files"][0]["problems"]] == [("MC107", "/1")]


BACKTRACKING = [
    ("^(a+)+$", "a" * 50 + "!"), ("(a|a)*b", "a" * 50), ("(a*)*b", "a" * 50), ("^(?:a?){50}a{50}$", "a" * 49),
    ("[a-z]+@", "a" * 200_000),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text"), BACKTRACKING, ids=[pattern for pattern, _ in BACKTRACKING])
def test_patterns_that_backtrack_in_other_engines(pattern: str, text: str) -> None:
    """The usual patterns for which `re` takes forever are answered at once."""
    assert not matches(pattern, text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pattern", [r"^(?=(a|aa)+$)", r"^(a|aa)+\1$", r"^(?:\p{L}|aa)+$", "^(?:a|aa)+$"])
def test_patterns_that_are_stopped(call: Call, tmp_path: Path, pattern: str) -> None:
    """A search that takes longer than a second is given up: the value has a problem, other files are checked."""
    with pytest.raises(TooSlow):
        matches(pattern, "a" * 50 + "!")
    (tmp_path / "schema.json").write_text(json.dumps({"items": {"pattern": pattern}}))
    (tmp_path / "bad.json").write_text(json.dumps(["a" * 50 + "!"] * 100))
    (tmp_path / "good.json").write_text('["aa", 1]')
    ran = call("validate", "--schema", tmp_path / "schema.json", "bad.json", "good.json", "--format", "json")
    bad, good = ran.json["files"]
    assert [problem["code"] for problem in bad["problems"]] == ["MC024"]
    assert (good["ok"], ran.code) == (True, 1)


@pytest.mark.parametrize("pattern", [
    "((a{500}){500}){500}", r"(?=((\p{L}{500}){500}){500})", "(?<n>(a{500,}){500}){500}",
    "(?x)((a{500} # (\n){500}){500}", r"\p{L}(?|((a{500}){500}){500})",
])  # fmt: skip
def test_patterns_that_would_be_huge(call: Call, tmp_path: Path, pattern: str) -> None:
    """Repeats of repeats are copied when they are compiled: 20 characters would take gigabytes."""
    (tmp_path / "schema.json").write_text(json.dumps({"items": {"pattern": pattern}}))
    (tmp_path / "x.json").write_text('["a"]')
    ran = call("validate", "--schema", tmp_path / "schema.json", "x.json")
    assert ran.code == 2
    assert "not a regular expression: " in ran.err
    assert matches(r"^(?:[a-z]{4}){500}$", "abcd" * 500)


def test_pattern_properties_that_backtrack(tmp_path: Path) -> None:
    """Patterns of keys are no other: beside `additionalProperties` and `unevaluatedProperties`, too."""
    key = "a" * 60 + "!"
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        schema = _load(tmp_path, {"patternProperties": {"^(a+)+$": {"type": "null"}}, keyword: False})
        assert [finding.code for finding in schema.findings({key: 1})] == ["MC102"]
        assert [finding.code for finding in schema.findings({"aaa": 1})] == ["MC103"]
        assert not schema.findings({"aaa": None})
    schema = _load(tmp_path, {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": {"type": "null"}})
    assert [finding.code for finding in schema.findings({key: 1})] == ["MC103"]
    assert [finding.code for finding in _load(tmp_path, {"propertyNames": {"pattern": "^(a+)+$"}}).findings({key: 1})]


def test_patterns_of_own_contracts() -> None:
    """`Matching`, the pattern of a plugin's contract, does not backtrack either."""
    adapter = TypeAdapter(Annotated[str, Matching("(?:a+)+b")])
    with pytest.raises(ValueError, match="pattern"):
        adapter.validate_python("a" * 100_000)


@pytest.mark.parametrize(
    "text", ["a" * 50, "a" * 50 + "\n", "/" * 60, "2026-01-01T" + "0" * 60, " " * 60 + "x", "a/" * 60]
)
def test_patterns_of_contracts(text: str) -> None:
    """Nor do the patterns of the contracts that come with medcontract, with long texts."""
    for contract in medcontract.list_contracts().contracts:
        for pattern in set(re.findall(r"'pattern': '(.*?)(?<!\\)'", repr(medcontract.json_schema(contract.id)))):
            found = pattern.encode().decode("unicode_escape")
            compile_pattern(found).search(text * 200, timeout=1)  # raises TimeoutError
