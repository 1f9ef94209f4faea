"""Files checked with any JSON Schema: located problems, local references only, and messages for broken schemas."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import SCHEMAS, Vector, assert_sound, problem_line, property_settings, vectors

import medcontract
from medcontract.catalog import problem_codes
from medcontract.contracts import suggestions
from medcontract.errors import CallError
from medcontract.jsonschema_files import SchemaChecker, validate_with_schema
from medcontract.jsonschema_files.schema_files import SchemaSet
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport
from medcontract.validation.report import ProblemCollector

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
STOCK = {
    DRAFT_7: jsonschema.Draft7Validator,
    DRAFT_2019: jsonschema.Draft201909Validator,
    DRAFT_2020: jsonschema.Draft202012Validator,
}
each_draft = pytest.mark.parametrize("draft", STOCK, ids=["draft-07", "2019-09", "2020-12"])

Load = Callable[..., SchemaChecker]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes files, the first of which is the schema, and loads it."""

    def loaded(schema: Any, **others: Any) -> SchemaChecker:
        files = {"schema.json": schema, **{name.replace("__", "/") + ".json": text for name, text in others.items()}}
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=1).encode())
        return SchemaChecker.load(tmp_path / "schema.json")

    return loaded


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in this module may so much as open a socket."""

    def refuse(*arguments: Any, **more: Any) -> None:
        pytest.fail("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def judged(schema: SchemaChecker, data: Any, name: str = "data.json", keep: int = 1000) -> FileReport:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    report = validate_with_schema(Source(content, name), schema, ProblemCollector(keep))
    assert_sound(report)
    assert report.contract is None
    assert all(problem.code in problem_codes() for problem in report.problems)
    return report


def found(schema: SchemaChecker, data: Any, name: str = "data.json") -> list[str]:
    """The problems as `code line column record pointer`."""
    return [problem_line(problem).replace(" error", "") for problem in judged(schema, data, name).problems]


def brief(schema: SchemaChecker, data: Any) -> list[tuple[str, str]]:
    return [(problem.code, problem.pointer) for problem in judged(schema, data).problems]


def refused(load: Load, schema: Any, **others: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        load(schema, **others)
    return caught.value


# --- keywords --------------------------------------------------------------------------------------

KEYWORDS: list[tuple[dict[str, Any], Any, list[tuple[str, str, str]]]] = [
    ({"type": "integer"}, "3", [("MC103", "", "the value must be an integer, not a string")]),
    ({"type": ["string", "null"]}, 3, [("MC103", "", "the value must be a string or null, not a number")]),
    ({"properties": {"a": {"type": "boolean"}}}, {"a": None}, [("MC103", "/a", "'a' must be true or false, not null")]),
    ({"items": {"type": "number"}}, [1, True], [("MC103", "/1", "this value must be a number, not true")]),
    ({"required": ["a", "b"]}, {}, [("MC101", "", "'a' is missing"), ("MC101", "", "'b' is missing")]),
    ({"properties": {"label": {}}, "additionalProperties": False}, {"lable": 1, "x": 2},
     [("MC102", "/lable", "'lable' is not in the schema"), ("MC102", "/x", "'x' is not in the schema")]),
    ({"patternProperties": {"^x-": {}}, "additionalProperties": False}, {"x-1": 1, "Ana María": 2},
     [("MC102", "/Ana María", "this key is not in the schema")]),
    ({"additionalProperties": {"type": "null"}}, {"a": 1}, [("MC103", "/a", "'a' must be null, not a number")]),
    ({"enum": ["red", "green"]}, "gren", [("MC104", "", "the value must be one of red, green")]),
    ({"enum": [0, 1, None, ""]}, 2, [("MC104", "", 'the value must be one of 0, 1, null, ""')]),
    ({"const": {"a": 1}}, {"a": 2}, [("MC104", "", 'the value must be {"a":1}')]),
    ({"const": True}, 1, [("MC104", "", "the value must be true")]),
    ({"minimum": 1}, 0, [("MC105", "", "the value must be at least 1")]),
    ({"maximum": 1.5}, 2, [("MC105", "", "the value must be at most 1.5")]),
    ({"exclusiveMinimum": 123456789}, 1, [("MC105", "", "the value must be above 123456789")]),
    ({"exclusiveMaximum": 0}, 0, [("MC105", "", "the value must be below 0")]),
    ({"minLength": 1}, "", [("MC106", "", "the value must not be empty")]),
    ({"minLength": 3}, "  ", [("MC106", "", "the value must not be blank")]),
    ({"minLength": 3}, "ab", [("MC107", "", "the value must have at least 3 characters, not 2")]),
    ({"maxLength": 1}, "ab", [("MC107", "", "the value must have at most 1 character, not 2")]),
    ({"pattern": "^[A-Z]+-[0-9]+$"}, "x", [("MC107", "", "the value must be of the form ^[A-Z]+-[0-9]+$")]),
    ({"minItems": 2}, [1], [("MC108", "", "the value must have at least 2 items, not 1")]),
    ({"maxItems": 1}, [1, 2, 3], [("MC108", "", "the value must have at most 1 item, not 3")]),
    ({"minProperties": 1}, {}, [("MC108", "", "the value must have at least 1 key, not 0")]),
    ({"maxProperties": 0}, {"a": 1}, [("MC108", "", "the value must have at most 0 keys, not 1")]),
    ({"multipleOf": 0.5}, 0.7, [("MC110", "", "the value must be a multiple of 0.5 ('multipleOf')")]),
    ({"uniqueItems": True}, [{"a": 1}, 1, {"a": 1.0}],
     [("MC110", "", "the value must not have equal items ('uniqueItems'): items 0 and 2 are equal")]),
    ({"not": {"type": "null"}}, None, [("MC110", "", "the value must not match the schema of 'not'")]),
    ({"contains": {"const": 1}}, [2], [("MC110", "", "the value has no item that matches the schema of 'contains'")]),
    (
        {"propertyNames": {"maxLength": 2}},
        {"abc": 1, "a b c": 2},
        [
            ("MC110", "/abc", "'abc' is not allowed by 'propertyNames'"),
            ("MC110", "/a b c", "this key is not allowed by 'propertyNames'"),
        ],
    ),
    ({"properties": {"a": False}}, {"a": 1}, [("MC110", "/a", "'a' is not allowed here: the schema for it is false")]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, [("MC101", "", "'b' is missing")]),
    ({"if": {"type": "string"}, "else": {"minimum": 5}}, 1, [("MC105", "", "the value must be at least 5")]),
    ({"allOf": [{"required": ["a"]}, {"required": ["a"]}]}, {}, [("MC101", "", "'a' is missing")]),
    ({"oneOf": [{"minimum": 0}, {"maximum": 9}]}, 5,
     [("MC110", "", "the value matches more than one schema of 'oneOf', but exactly one is allowed")]),
]  # fmt: skip
SINCE_2019: list[tuple[dict[str, Any], Any, list[tuple[str, str, str]]]] = [
    ({"allOf": [{"properties": {"dose": {}}}], "unevaluatedProperties": False}, {"doze": 1, "dose": 1},
     [("MC102", "/doze", "'doze' is not in the schema")]),
    ({"unevaluatedProperties": {"type": "null"}}, {"a": 1}, [("MC103", "/a", "'a' must be null, not a number")]),
    ({"unevaluatedItems": False}, [1], [("MC110", "", "the value does not satisfy 'unevaluatedItems' of the schema")]),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1},
     [("MC110", "", "the value must have 'b', because it has 'a' ('dependentRequired')")]),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, [("MC101", "", "'b' is missing")]),
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, [1],
     [("MC110", "", "the value has too few items that match the schema of 'contains'")]),
    ({"contains": {"const": 1}, "maxContains": 1}, [1, 1],
     [("MC110", "", "the value has too many items that match the schema of 'contains'")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("draft", "schema", "data", "expected"),
    [(draft, *case) for draft in STOCK for case in (KEYWORDS if draft == DRAFT_7 else KEYWORDS + SINCE_2019)],
)
def test_keyword(load: Load, draft: str, schema: Any, data: Any, expected: Any) -> None:
    """Each keyword has its code, its place and its words, in each draft that knows it."""
    report = judged(load({"$schema": draft, **schema}), data)
    assert [(p.code, p.pointer, p.message) for p in report.problems] == expected


def nested(levels: int, inner: Any, key: str = "c") -> Any:
    for _ in range(levels):
        inner = {key: inner}
    return inner


TWO = [{"type": "string"}, {"type": "null"}]
NEEDED = {"a": ["b"], "c": {"required": ["d"]}}
SHORT = {"$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": {"type": "string"}}}
LARGE = 12345678901234567890123
TELLING = {"properties": {"a": {"type": "string", "enum": ["x"], "minLength": 1, "pattern": "^x"}}}
EITHER = {"anyOf": [{"properties": {"a": {"type": "null"}, "b": {}}}], "unevaluatedProperties": False}
KINDS = [{"properties": {"kind": {"const": "a"}, "x": {}}}, {"properties": {"kind": {"const": "b"}, "y": {}}}]
BASE = "https://example.org/s/"
NULL = {"type": "null"}
TREE = {"$id": "https://example.org/tree", "$dynamicAnchor": "node",
        "properties": {"kids": {"items": {"$dynamicRef": "#node"}}, "data": {}}}  # fmt: skip
DEEP: Any = NULL
for _ in range(48):
    DEEP = {"properties": {"c": DEEP}}
CASES: dict[str, tuple[Any, Any, list[tuple[str, str]]]] = {
    "tuple of 2020-12": ({"prefixItems": TWO, "items": False}, ["a", 1, 2], [("MC108", ""), ("MC103", "/1")]),
    "older tuple": ({"$schema": DRAFT_7, "items": TWO, "additionalItems": False}, ["a", 1, 2],
                    [("MC108", ""), ("MC103", "/1")]),
    "dependencies": ({"$schema": DRAFT_7, "dependencies": NEEDED}, {"a": 1, "c": 1}, [("MC110", ""), ("MC101", "")]),
    "beside a reference in draft-07": ({"$schema": DRAFT_7, **SHORT}, "ab", []),
    "beside a reference": (SHORT, "ab", [("MC107", "")]),
    "additionalItems of a list": ({"$schema": DRAFT_7, "items": True, "additionalItems": False}, [1], []),
    "no items": ({"$schema": DRAFT_7, "items": False}, [1], [("MC110", "/0")]),
    "true": (True, {"a": [1]}, []),
    "false": (False, 1, [("MC110", "")]),
    "1.0 is an integer": ({"type": "integer"}, b"1.0", []),
    "1e2 is an integer": ({"type": "integer"}, b"1e2", []),
    "beyond 64 bits": ({"const": LARGE}, LARGE, []),
    "the last digit beyond 64 bits": ({"const": LARGE}, LARGE + 1, [("MC104", "")]),
    "format is an annotation": ({"format": "date"}, "31.05.2026", []),
    "type before other keywords": (TELLING, {"a": 1}, [("MC103", "/a")]),
    "enum before other keywords": (TELLING, {"a": ""}, [("MC104", "/a")]),
    "several keywords of an object": ({"type": "object", "required": ["a", "b"], "minProperties": 3}, {},
                                      [("MC101", ""), ("MC101", ""), ("MC108", "")]),
    "unevaluated because of another fault": (EITHER, {"a": 1, "b": 2}, [("MC103", "/a")]),
    "unevaluated, too": (EITHER, {"a": 1, "b": 2, "c": 3}, [("MC103", "/a"), ("MC102", "/c")]),
    "unevaluated in the other form": ({"oneOf": KINDS, "unevaluatedProperties": False}, {"kind": "a", "y": 1},
                                      [("MC102", "/y")]),
    "absolute reference to a relative $id": (
        {"$id": f"{BASE}root.json", "$ref": f"{BASE}inner.json", "$defs": {"inner": {"$id": "inner.json", **NULL}}},
        1, [("MC103", "")]),
    "absolute reference to itself": (
        {"$id": f"{BASE}root.json", "items": {"$ref": f"{BASE}root.json#/$defs/a"}, "$defs": {"a": NULL}},
        [1], [("MC103", "/0")]),
    "absolute reference to where a local file is": (
        {"$id": f"{BASE}schema.json", "$ref": f"{BASE}sub/x.json#/$defs/y"}, 1, [("MC103", "")]),
    "anchors": ({"properties": {"a": {"$ref": "#x"}, "b": {"$ref": "part.json#y"}},
                 "$defs": {"d": {"$anchor": "x", **NULL}}}, {"a": 1, "b": 1}, [("MC103", "/a"), ("MC103", "/b")]),
    "$id that is a fragment": ({"$schema": DRAFT_7, "$ref": "#x", "definitions": {"d": {"$id": "#x", **NULL}}}, 1,
                               [("MC103", "")]),
    "$dynamicRef": ({"$id": "https://example.org/strict", "$dynamicAnchor": "node", "$ref": "tree.json",
                     "unevaluatedProperties": False}, {"kids": [{"dato": 1}]}, [("MC102", "/kids/0/dato")]),
    "$recursiveRef": ({"$schema": DRAFT_2019, "$recursiveAnchor": True, "properties": {"k": {"$recursiveRef": "#"}},
                       "required": ["v"]}, {"v": 1, "k": {}}, [("MC101", "/k")]),
    "20,000 different items": ({"uniqueItems": True}, [{"a": n} for n in range(20_000)], []),
    "1 is not true in lists": ({"uniqueItems": True}, [[1, 1], [True, 1], [1, 1]], [("MC110", "")]),
    "1 is not true": ({"uniqueItems": True}, [[1], [True], 1, True, "1", None, 0, False], []),
    "48 levels of a schema": (DEEP, nested(48, 1), [("MC103", "/c" * 48)]),
}  # fmt: skip
OTHERS = {"part": {"$defs": {"d": {"$anchor": "y", **NULL}}}, "sub__x": {"$defs": {"y": NULL}}, "tree": TREE}
"""The files next to these schemas."""


@pytest.mark.parametrize("name", CASES)
def test_cases(load: Load, name: str) -> None:
    """Each of these documents has just these problems."""
    schema, data, expected = CASES[name]
    assert brief(load(schema, **OTHERS), data) == expected


def test_dependencies_of_both_sorts(load: Load) -> None:
    """In draft-07 a key may depend on other keys or on a schema, whichever stands first, and may be referred to."""
    either = {"a": ["b"], "c": {"$id": "urn:c", "required": ["d"]}}
    for dependencies in (either, dict(reversed(either.items()))):
        schema = load({"$schema": DRAFT_7, "dependencies": dependencies, "properties": {"e": {"$ref": "urn:c"}}})
        told = sorted(brief(schema, {"a": 1, "c": 1, "e": {}}))
        assert told == [("MC101", ""), ("MC101", "/e"), ("MC110", "")]
        inside = load({"$schema": DRAFT_7, "dependencies": dependencies, "items": {"$ref": "#/dependencies/c"}})
        assert brief(inside, [{}]) == [("MC101", "/0")]


def test_hints(load: Load) -> None:
    """Unknown keys and values come with the nearest known ones, also through references."""
    schema = load(
        {
            "allOf": [{"$ref": "#/$defs/base"}],
            "unevaluatedProperties": False,
            "$defs": {"base": {"properties": {"urgency": {"enum": ["Urgent", "Routine"]}, "n": {"type": "number"}}}},
        }
    )
    hints = [problem.hint for problem in judged(schema, {"urgancy": 1, "n": "1,5"}).problems]
    assert hints == ["did you mean 'urgency'?", "write the number without quotes and with a dot"]
    assert judged(schema, {"urgency": "urgent"}).problems[0].hint == "did you mean 'Urgent'?"


# --- anyOf, oneOf ----------------------------------------------------------------------------------

SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
            "required": ["kind", "r"],
        },
        {"type": "object", "properties": {"kind": {"const": "box"}, "w": {"minimum": 0}}, "required": ["kind", "w"]},
    ]
}
CLOSED = {
    "anyOf": [
        {"properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": False},
        {"properties": {"error": {"type": "string"}}, "required": ["error"], "additionalProperties": False},
    ]
}
FORMS: list[tuple[dict[str, Any], Any, list[tuple[str, str]]]] = [
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, [("MC103", "")]),
    ({"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "null"}]}, "b", [("MC107", "")]),
    ({"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]}, "d", [("MC104", "")]),
    ({"anyOf": [{"minimum": 5}, {"maximum": 1}]}, 3, [("MC110", "")]),
    ({"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "number"}}]}, [1, 2, "a"], [("MC103", "/2")]),
    (SHAPES, {"kind": "circle", "r": "1"}, [("MC103", "/r")]),
    (SHAPES, {"kind": "box", "w": -1}, [("MC105", "/w")]),
    (SHAPES, {"kind": "crcle", "r": 1}, [("MC104", "/kind")]),
    (SHAPES, 5, [("MC103", "")]),
    (CLOSED, {"answer": 1}, [("MC103", "/answer")]),
    (CLOSED, {}, [("MC110", "")]),
    (CLOSED, {"answer": "a", "x": 1}, [("MC102", "/x")]),
    ({"anyOf": [SHAPES, {"type": "null"}]}, {"kind": "box", "w": -1}, [("MC105", "/w")]),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, [("MC110", "")]),
]


@each_draft
@pytest.mark.parametrize(("schema", "data", "expected"), FORMS)
def test_forms(load: Load, draft: str, schema: Any, data: Any, expected: Any) -> None:
    """Of several forms the one that was meant is told about, and never one problem for each."""
    assert brief(load({"$schema": draft, **schema}), data) == expected


def test_words_for_forms(load: Load) -> None:
    """What is said of a value that fits no form names what would fit."""
    types = judged(load({"anyOf": [{"type": "string"}, {"type": "null"}]}), {"a": 1}).problems[0]
    assert types.message == "the value must be a string or null, not an object"
    tag = judged(load(SHAPES), {"kind": "crcle"}).problems[0]
    assert (tag.message, tag.hint) == ("'kind' must be one of circle, box", "did you mean 'circle'?")
    merged = judged(load({"anyOf": [{"enum": [1, 1.0]}, {"oneOf": [{"const": True}, {"const": 2}]}]}), "x").problems[0]
    assert merged.message == "the value must be one of 1, true, 2"
    nested = {"anyOf": [{"type": "null"}, {"oneOf": [{"type": "string"}, {"type": "array"}]}]}
    assert judged(load(nested), 1).problems[0].message == "the value must be null or a string or a list, not a number"
    either = judged(load({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}), {}).problems[0]
    assert either.message == "the value must have 'a' or 'b' ('anyOf')"


# --- places, containers, syntax --------------------------------------------------------------------


def test_places(load: Load) -> None:
    """Lines and columns belong to the value, the unknown key, or the object that lacks a key; in file order."""
    schema = load(
        {
            "required": ["z"],
            "properties": {"é": {"items": {"type": "integer"}}, "a~/b": {"type": "null"}},
            "additionalProperties": False,
        }
    )
    text = '\ufeff\n {"é": [1,\n  "ü", 2.5], "x": 1,\r\n "a~/b": 1}'.encode()
    assert found(schema, text) == [
        'MC101 2 2 - ""', "MC103 3 3 - /é/1", "MC103 3 8 - /é/2", "MC102 3 14 - /x", "MC103 4 10 - /a~0~1b",
    ]  # fmt: skip


def test_lines(load: Load) -> None:
    """In JSON Lines each record is judged by itself; a bad line is one bad record and the others stand."""
    schema = load({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}})
    text = b'{"id": "a"}\n\n{"id": 1}\r\n{"id": \n{}\n{"id": "b", "id": "c"}\n[1]'
    report = judged(schema, text, "data.jsonl")
    assert report.records == 6
    assert found(schema, text, "data.ndjson") == [
        "MC103 3 8 1 /id", 'MC011 4 8 2 ""', 'MC101 5 1 3 ""', "MC015 6 13 4 /id", 'MC103 7 1 5 ""',
    ]  # fmt: skip


def test_lines_are_not_held(load: Load) -> None:
    """Memory does not grow with the number of records."""
    schema = load({"type": "object"})
    peaks = []
    for count in (200, 3000):
        source = Source(b'{"a": "' + b"x" * 500 + b'"}\n' + b'{"a": 1}\n' * count, "data.jsonl")
        tracemalloc.start()
        assert validate_with_schema(source, schema, ProblemCollector(10)).records == count + 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000


def test_progress(load: Load) -> None:
    """Progress is told in bytes done and bytes in all."""
    told: list[tuple[int, int]] = []
    validate_with_schema(
        Source(b"1\n2\n3\n", "x.jsonl"), load(True), ProblemCollector(1), lambda done, total: told.append((done, total))
    )
    assert told == [(0, 6), (2, 6), (4, 6)]


SYNTAX = [
    (b"", ['MC004 1 1 - ""']),
    (b" \n ", ['MC004 1 1 - ""']),
    (b'{"a": 1,}', ['MC012 1 9 - ""']),
    (b'{"a": 1', ['MC011 1 8 - ""']),
    (b'{"a": 1, "a": 2}', ["MC015 1 10 - /a"]),
    (b'{"a": NaN}', ["MC016 1 7 - /a"]),
    (b'{"a": 1e400}', ["MC017 1 7 - /a"]),
    (b'{"a": 1' + b"0" * 400 + b"}", ["MC017 1 7 - /a"]),
    (rb'{"a": "\ud800"}', ["MC018 1 7 - /a"]),
    (b'{"a": "\xff"}', ['MC007 1 8 - ""']),
    (b"[" * 101 + b"]" * 101, ['MC019 1 101 - ""']),
    ('{"a": 1}'.encode("utf-16"), ['MC006 1 1 - ""']),
    (b"PK\x03\x04", ['MC005 1 1 - ""']),
]


@pytest.mark.parametrize(("text", "expected"), SYNTAX)
def test_syntax(load: Load, text: bytes, expected: list[str]) -> None:
    """What is wrong below the schema has the same codes and places as for contracts."""
    assert found(load({"properties": {"a": {"type": "integer", "minimum": 1}}}), text) == expected


def test_faults_do_not_hide_the_rest(load: Load) -> None:
    """A fault spoils its own value only, and values are found behind a repeated key."""
    schema = load({"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}})
    text = b'{"a": NaN, "b": 1, "c": "x", "c": 2}'
    assert found(schema, text) == ["MC016 1 7 - /a", "MC103 1 17 - /b", "MC015 1 30 - /c", "MC103 1 35 - /c"]


def test_tables_are_usage_errors(load: Load, tmp_path: Path) -> None:
    """A table has no JSON structure without a contract."""
    report = judged(load(True), b"a,b\n1,2\n", "data.csv")
    assert report.usage_error
    assert "a table has no JSON structure" in report.problems[0].message
    assert validate_with_schema(Source(tmp_path / "none.json"), load(True), ProblemCollector(1)).usage_error


def test_container_without_an_ending(load: Load) -> None:
    """Any JSON value is a document where the name does not say what the file is."""
    assert brief(load({"type": "string"}), b'"text"') == []
    assert judged(load({"type": "string"}), b'"text"', "<stdin>").ok
    assert judged(load({"type": "object"}), b'{"a": 1}\n{"a": 2}\n', "<stdin>").records == 2


def test_cut_list_of_problems(load: Load) -> None:
    """Of very many problems the first in the file are kept, and the others are counted."""
    report = judged(load({"items": {"properties": {"b": {"type": "null"}, "a": {"type": "null"}}}}),
                    [{"a": 1, "b": 1}] * 500, keep=3)  # fmt: skip
    assert (report.errors, report.omitted) == (1000, 997)
    assert [problem.pointer for problem in report.problems] == ["/0/a", "/0/b", "/1/a"]


PATIENT = "Ana María Pérez 1961"


def test_values_stay_out_of_messages(load: Load) -> None:
    """No message, hint or shown key holds what the data holds."""
    for schema, data in [(s, d) for s, d, _ in [*KEYWORDS, *SINCE_2019, *FORMS]]:
        loaded = load(schema)
        for value in (PATIENT, [PATIENT, PATIENT], {PATIENT: PATIENT}, data):
            for problem in validate_with_schema(
                Source(json.dumps(value).encode(), "x.json"), loaded, ProblemCollector(100)
            ).problems:
                assert PATIENT not in f"{problem.message} {problem.hint}"


# --- references ------------------------------------------------------------------------------------


@each_draft
def test_references_to_files(load: Load, draft: str) -> None:
    """Files in other folders are found from where the reference stands, names percent-encoded or not."""
    schema = load(
        {
            "$schema": draft,
            "properties": {"a": {"$ref": "parts/a.json"}, "b": {"$ref": "parts/b%20c.json#/definitions/x"}},
        },
        parts__a={"properties": {"inner": {"$ref": "deep/d.json"}, "up": {"$ref": "../schema.json"}}},
        parts__deep__d={"$ref": "../b%20c.json#/definitions/x"},
        **{"parts__b c": {"definitions": {"x": {"type": "string"}}}},
    )
    assert brief(schema, {"a": {"inner": 1, "up": {"b": 2}}, "b": 3}) == [
        ("MC103", "/a/inner"), ("MC103", "/a/up/b"), ("MC103", "/b"),
    ]  # fmt: skip


@each_draft
@pytest.mark.parametrize("base", ["https://example.org/s/schema.json", "urn:example:schema", "other-name.json"])
def test_ids_do_not_hide_local_files(load: Load, draft: str, base: str) -> None:
    """With any `$id` the file beside the schema is found; what `$id` inside the files says is found first."""
    word = "definitions"
    schema = load(
        {
            "$schema": draft,
            "$id": base,
            "properties": {"a": {"$ref": "part.json"}, "b": {"$ref": "inner.json"}, "c": {"$ref": "#/definitions/n"}},
            word: {"i": {"$id": "inner.json", "type": "null"}, "n": {"type": "number"}},
        },
        part={
            "$id": "https://elsewhere.org/x/part.json",
            "properties": {"d": {"$ref": "more.json"}, "e": {"$ref": "#"}},
        },
        more={"type": "string"},
        inner={"type": "string"},
    )
    data = {"a": {"d": 1, "e": {"d": 2}}, "b": "x", "c": "x"}
    assert brief(schema, data) == [("MC103", "/a/d"), ("MC103", "/a/e/d"), ("MC103", "/b"), ("MC103", "/c")]


@each_draft
def test_meta_schemas_are_at_hand(load: Load, draft: str) -> None:
    """A reference to the meta-schema of the draft needs no network."""
    assert brief(load({"$schema": draft, "$ref": draft}), {"type": "strin"}) == [("MC104", "/type")]


def test_reference_into_unknown_keyword(load: Load) -> None:
    """A reference may lead where the draft knows of no schema; it is checked there like any other."""
    schema = {
        "$ref": "#/components/0/item",
        "components": [{"item": {"properties": {"a": {"$ref": "#/components/1"}}}}, {"type": "null"}],
    }
    assert brief(load(schema), {"a": 1}) == [("MC103", "/a")]
    schema["components"][1]["type"] = "nil"  # type: ignore[index]
    assert "(at /components/1/type)" in str(refused(load, schema))


def test_files_are_read_once(load: Load, tmp_path: Path) -> None:
    """After loading no file is opened: the schema is judged as it was."""
    schema = load({"$ref": "part.json"}, part={"type": "null"})
    (tmp_path / "part.json").unlink()
    assert brief(schema, 1) == [("MC103", "")]


# --- schemas that cannot be used -------------------------------------------------------------------

SUPPORTED = "draft-07, 2019-09, 2020-12"
BROKEN: list[tuple[Any, str, str | None]] = [
    (b"", r"schema\.json:1:1: not JSON: the text ends", None),
    (b'{"type":\n "string",}', r"schema\.json:2:11: not JSON: a comma", "remove the comma"),
    (b'{"type": "string", "type": "null"}', r":1:20: this key is repeated", "keep one"),
    (b'{"a": "\xe9"}', r":1:8: not JSON: this byte is not valid UTF-8", "UTF-8"),
    ('{"a": 1}'.encode("utf-16"), r"schema\.json: the file is in UTF-16", "UTF-8"),
    (b'{"maximum": 1e999}', r":1:13: a number too large", None),
    (b'{"not": ' * 120 + b"{}" + b"}" * 120, r"nested deeper than 100", None),
    (b"[]", r"expected an object, true or false", None),
    (b'"x"', r"expected an object, true or false", None),
    ({"$schema": "http://json-schema.org/draft-04/schema#"}, r"'\$schema' is not a supported draft", SUPPORTED),
    ({"$schema": "http://json-schema.org/draft-06/schema#"}, r"'\$schema' is not a supported draft", SUPPORTED),
    ({"$schema": "https://example.org/dialect"}, r"not a supported draft \(at /\$schema\)", SUPPORTED),
    ({"$schema": 7}, r"'\$schema' is not a supported draft", SUPPORTED),
    ({"type": "strin"}, r":2:10: not a valid schema of 2020-12: 'type' must be .*\(at /type\)", "'string'"),
    ({"properties": {"a": {"minLength": -1}}}, r"'minLength' must be at least 0 \(at /properties/a/minLength\)", None),
    ({"items": [{}]}, r"'items' must be an object or true or false, not a list", "read as 2020-12"),
    ({"required": True, "type": 3}, r"\(and 1 more problem\)", None),
    ({"pattern": "("}, r"not a regular expression: .*\(at /pattern\)", "for the syntax"),
    ({"pattern": "("*3000 + ")" * 3000}, r"not a regular expression", None),
    ({"patternProperties": {"[": {}}}, r"not a regular expression: .*\(at /patternProperties/\[\)", "for the syntax"),
    ({"pattern": r"\p{Q}"}, r"not a regular expression: unknown property", "for the syntax"),
    ({"$ref": "#/$defs/x"}, r"reference to '#/\$defs/x': it does not exist \(at /\$ref\)", "after"),
    ({"$ref": "#x"}, r"reference to '#x': it does not exist", None),
    ({"$ref": "#/required/x", "required": ["a"]}, r"it does not exist", None),
    ({"$ref": "#/required/0", "required": ["a"]}, r"not a schema", None),
    ({"$ref": "#/minimum/0", "minimum": 1}, r"it does not exist", None),
    ({"items": {"$ref": "none.json"}}, r"no such file: .*none\.json \(at /items/\$ref\)", "nothing is fetched"),
    ({"$id": "https://example.org/a/s.json", "$ref": "none.json"}, r"no such file: .*none\.json", "nothing is fetched"),
    ({"$ref": "."}, r"no such file", None),
    ({"$ref": "http://example.org/x.json"}, r"it is a remote schema, and nothing is fetched", "next to this one"),
    ({"$ref": "https://example.org/x.json#/a"}, r"it is a remote schema, and nothing is fetched", None),
    ({"$ref": "ftp://example.org/x.json"}, r"no schema has this \$id", None),
    ({"$ref": "file://server/x.json"}, r"no schema has this \$id", None),
    ({"$ref": "urn:example:x"}, r"no schema has this \$id", None),
    ({"$ref": "http://[x"}, r"not a URI reference", None),
    ({"$id": "http://[x"}, r"'\$id' is not a URI reference", None),
    ({"$ref": "a%00b"}, r"no such file", None),
    ({"$ref": "http://json-schema.org/draft-07/schema#"}, r"a remote schema, and nothing is fetched", None),
    ({"$defs": {"a": {"$schema": DRAFT_7}}}, r"draft-07, but .* 2020-12 \(at /\$defs/a/\$schema\)", "same draft"),
    ({"$ref": "#"}, r"refers to itself endlessly", "properties"),
    ({"$schema": DRAFT_7, "$ref": "#"}, r"refers to itself endlessly", "properties"),
    ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}, r"endlessly", None),
    ({"$dynamicAnchor": "x", "if": {"$dynamicRef": "#x"}}, r"endlessly", None),
    ({"$schema": DRAFT_2019, "anyOf": [{"$recursiveRef": "#"}]}, r"endlessly", None),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "message", "hint"), BROKEN)
def test_broken_schema(load: Load, schema: Any, message: str, hint: str | None) -> None:
    """A schema that cannot be used is a usage error, with what is wrong, where, and what to do."""
    error = refused(load, schema)
    assert re.search(message, str(error), re.DOTALL), str(error)
    assert hint is None or re.search(hint, error.hint or ""), error.hint
    assert len(str(error)) < 500


def test_broken_file_behind_a_reference(load: Load) -> None:
    """The file that is to blame is the one that is named."""
    assert "part.json:1:9: not JSON" in str(refused(load, {"$ref": "part.json"}, part=b'{"a": 1,}'))
    assert "part.json:2:10: not a valid schema" in str(refused(load, {"$ref": "part.json"}, part={"type": "x"}))
    mixed = refused(load, {"$schema": DRAFT_2020, "$ref": "part.json"}, part={"$schema": DRAFT_7})
    assert "part.json:2:13: this schema is draft-07" in str(mixed)
    loop = refused(load, {"$ref": "part.json"}, part={"$ref": "schema.json"})
    assert "endlessly" in str(loop)


def test_missing_schema(tmp_path: Path) -> None:
    """No file, a folder, no permission: a usage error each."""
    for path, message in [(str(tmp_path / "none.json"), "no such file"), (str(tmp_path), "folder"), ("a\0b", "name")]:
        with pytest.raises(CallError, match=message):
            SchemaChecker.load(path)


def test_byte_order_mark(load: Load) -> None:
    """A schema may start with a byte order mark, and its draft be written with http or https."""
    assert brief(load(b'\xef\xbb\xbf{"type": "null"}'), 1) == [("MC103", "")]
    assert load({"$schema": "https://json-schema.org/draft-07/schema"}).draft == "draft-07"
    assert load({"$schema": DRAFT_2019 + "#"}).draft == "2019-09"
    assert load({}).draft == "2020-12"


def test_too_large_schema(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a limit to the size of a schema."""
    monkeypatch.setattr("medcontract.jsonschema_files.schema_files.MAX_RECORD", 1000)
    assert "larger than" in str(refused(load, {"description": "x" * 2000}))


# --- deep and hostile ------------------------------------------------------------------------------


RECURSIVE = [
    {"$schema": DRAFT_7, "properties": {"c": {"$ref": "#"}, "v": {"type": "null"}}},
    {"$schema": DRAFT_2019, "$recursiveAnchor": True,
     "properties": {"c": {"$recursiveRef": "#"}, "v": {"type": "null"}}},
    {"$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}, "v": {"type": "null"}}},
    {"allOf": [{"anyOf": [{"$ref": "#/$defs/a"}]}],
     "$defs": {"a": {"$ref": "#/$defs/b"},
               "b": {"oneOf": [{"properties": {"c": {"$ref": "#"}, "v": {"type": "null"}}}]}}},
]  # fmt: skip


@pytest.mark.parametrize("schema", RECURSIVE[:3])
def test_deep_documents(load: Load, schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of 100 levels is judged with a recursive schema, without changes that other threads would notice."""
    monkeypatch.setattr(sys, "setrecursionlimit", None)
    monkeypatch.setattr(threading, "stack_size", None)
    loaded, threads = load(schema), threading.active_count()
    assert brief(loaded, nested(99, {"v": 1})) == [("MC103", "/c" * 99 + "/v")]
    assert brief(loaded, nested(99, {"v": None})) == []
    assert brief(loaded, nested(100, {"v": 1})) == [("MC019", "")]
    assert threading.active_count() == threads


def test_too_deep_for_the_stack(load: Load, capfd: pytest.CaptureFixture[str]) -> None:
    """A schema that recurses very often per level, or a caller with a deep stack: a problem, not a crash.

    Also where it is a look-up of a reference, in Rust, that has no stack left: it would panic.
    """
    assert brief(load(RECURSIVE[3]), nested(40, {"v": 1})) == [("MC103", "/c" * 40 + "/v")]
    assert brief(load(RECURSIVE[3]), nested(99, {"v": 1})) == [("MC019", "")]
    loaded = load(RECURSIVE[0])

    def below(levels: int) -> Any:
        return below(levels - 1) if levels else brief(loaded, nested(99, {"v": 1}))

    assert below(600) == [("MC019", "")]
    assert {below(levels)[0][0] for levels in range(250, 500)} == {"MC103", "MC019"}
    assert "panicked" not in capfd.readouterr().err


def test_hints_of_very_many_unknown_keys(load: Load) -> None:
    """The nearest key is looked for a hundred times in a value, not for each of thousands of unknown keys."""
    schema = load({"properties": {f"key{n}": {} for n in range(300)}, "additionalProperties": False})
    report = judged(schema, {f"kex{n}": 1 for n in range(300)})
    assert [problem.code for problem in report.problems] == ["MC102"] * 300
    assert [problem.hint is not None for problem in report.problems] == [True] * 100 + [False] * 200


def test_words_are_not_cached_by_the_thousand() -> None:
    """A long list of known words is not kept for each word that was looked for in it."""
    known = [f"key{n}" for n in range(5000)]
    before = suggestions._cached.cache_info().currsize
    assert [suggestions.nearest(f"kex{n}", known) for n in range(3)] == ["key0", "key1", "key2"]
    assert suggestions._cached.cache_info().currsize == before


def test_documents_are_registered_once(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """References to where no schema is looked for do not have the whole document read again, each of them."""
    registered = 0
    really_add = SchemaSet._add

    def counted(schemas: SchemaSet, file: Any) -> None:
        nonlocal registered
        registered += 1
        really_add(schemas, file)

    monkeypatch.setattr(SchemaSet, "_add", counted)
    schema = load({"x": [{"type": "string"}] * 200, "prefixItems": [{"$ref": f"#/x/{n}"} for n in range(200)]})
    assert brief(schema, ["a"] * 199 + [1]) == [("MC103", "/199")]
    assert registered == 1


def test_alternatives_do_not_multiply(load: Load) -> None:
    """Forms inside forms take time in proportion to the document, not twice as much for each level."""
    forms = [
        {"properties": {"op": {"const": op}, "arg": {"$ref": "#"}}, "required": ["op"]} for op in ("add", "neg", "mul")
    ]
    schema = load({"oneOf": forms})
    data: Any = {"op": "ad"}
    for _ in range(60):
        data = {"op": "mul", "arg": data}
    assert brief(schema, data) == [("MC104", "/arg" * 60 + "/op")]
    closed = load({"allOf": [{"properties": {"c": {"$ref": "#"}}}], "unevaluatedProperties": False})
    assert brief(closed, nested(90, {"x": 1})) == [("MC102", "/c" * 90 + "/x")]


@pytest.mark.slow
def test_many_problems_are_located_in_one_pass(load: Load) -> None:
    """Thousands of problems in one document do not mean thousands of passes over it."""
    text = json.dumps(list(range(20_000))).encode()
    report = validate_with_schema(Source(text, "x.json"), load({"items": {"type": "string"}}), ProblemCollector(10_000))
    assert (report.errors, len(report.problems)) == (20_000, 10_000)
    assert report.problems[-1].pointer == "/9999"


# --- laws ------------------------------------------------------------------------------------------

REAL: list[dict[str, Any]] = [
    {
        "$schema": DRAFT_7,
        "definitions": {
            "ref": {"type": "object", "properties": {"reference": {"type": "string"}}, "required": ["reference"]}
        },
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b", 0]},
            "a": {"$ref": "#/definitions/ref"},
            "b": {"type": "array", "items": {"$ref": "#"}, "uniqueItems": True, "maxItems": 2},
        },
        "additionalProperties": {"type": ["string", "null", "integer"]},
        "dependencies": {"a": ["kind"]},
    },
    {
        "$schema": DRAFT_2019,
        "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, {"type": ["null", "integer"]}],
        "$defs": {
            "a": {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"], "maxProperties": 2},
            "b": {"type": "array", "contains": {"$ref": "#"}, "unevaluatedItems": {"type": "string"}},
        },
    },
    {"$schema": DRAFT_2020, "$dynamicAnchor": "node", "type": ["object", "array", "number", "string"],
     "properties": {"a": {"$dynamicRef": "#node"}, "b": {"type": "string", "minLength": 1, "pattern": "^[a-z]"}},
     "patternProperties": {"^x": {"minimum": 0, "multipleOf": 0.5}}, "unevaluatedProperties": False,
     "prefixItems": [{"type": "string"}, {"not": {"type": "string"}}], "items": {"$ref": "#"},
     "if": {"required": ["a"]},
     "then": {"required": ["kind"], "properties": {"kind": {"anyOf": [{"const": "a"}, {"type": "null"}]}}}},
]  # fmt: skip

keys = st.sampled_from(["a", "b", "kind", "x1", "reference"]) | st.text(max_size=3)
scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["a", "b", "", " "]) | st.text(max_size=5)
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@cache
def _real(index: int, folder: str) -> SchemaChecker:
    path = Path(folder) / f"real-{index}.json"
    path.write_text(json.dumps(REAL[index]), encoding="utf-8")
    return SchemaChecker.load(path)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("index", range(len(REAL)))
def test_same_verdict_as_jsonschema(index: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the document, nothing is raised, and the verdict is the same as from jsonschema."""
    schema = _real(index, str(tmp_path_factory.mktemp("real")))
    stock = STOCK[REAL[index]["$schema"]](REAL[index])

    @property_settings(150)
    @given(st.lists(values, min_size=1, max_size=5))
    def law(documents: list[Any]) -> None:
        text = b"\n".join(json.dumps(document).encode() for document in documents)
        bad = {problem.record for problem in judged(schema, text, "x.jsonl").problems}
        assert bad == {index for index, document in enumerate(documents) if not stock.is_valid(document)}
        assert judged(schema, documents[0]).ok == stock.is_valid(documents[0])

    law()


def test_any_bytes(load: Load) -> None:
    """Whatever the bytes, there is a report."""
    schema = load(REAL[0])

    @property_settings(200)
    @given(st.binary(max_size=40) | st.text(alphabet='{}[]",:019.eE-\\un a\n', max_size=40).map(str.encode),
           st.sampled_from(["x.json", "x.jsonl", "x"]))  # fmt: skip
    def law(text: bytes, name: str) -> None:
        judged(schema, text, name)

    law()


def test_any_bytes_as_schema(tmp_path: Path) -> None:
    """Whatever the bytes of a schema, it is loaded or refused with a message."""
    path = tmp_path / "schema.json"
    words = st.sampled_from(
        ["$ref", "$id", "type", "properties", "items", "anyOf", "$defs", "pattern", "$schema", "#", "string"]
    )
    schemas: st.SearchStrategy[Any] = st.recursive(
        scalars | words | st.just({}),
        lambda s: st.lists(s, max_size=3) | st.dictionaries(words, s, max_size=4),
        max_leaves=12,
    )

    @property_settings(300)
    @given(st.dictionaries(words, schemas, max_size=4))
    def law(schema: Any) -> None:
        path.write_text(json.dumps(schema), encoding="utf-8")
        try:
            loaded = SchemaChecker.load(path)
        except CallError as error:
            assert error.message.startswith(f"schema {path}")  # noqa: PT017  # most of these schemas are not valid
        else:
            judged(loaded, {"string": {"type": 1}})

    law()


# --- our own schemas -------------------------------------------------------------------------------


def _with_schema() -> list[Vector]:
    def has_schema(vector: Vector) -> bool:
        file = "v1.json" if vector.path.suffix == ".json" else "v1.record.json"
        return vector.path.suffix in (".json", ".jsonl") and (SCHEMAS / vector.folder / file).exists()

    return [vector for vector in vectors() if has_schema(vector)]


@cache
def _published(vector_folder: str, file: str) -> SchemaChecker:
    return SchemaChecker.load(SCHEMAS / vector_folder / file)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("vector", _with_schema(), ids=lambda vector: vector.name)
def test_published_schema_gives_the_same_verdict(vector: Vector) -> None:
    """Our schemas used as anybody's say what the contracts say, rules aside: the same records are bad."""
    lines = vector.path.suffix == ".jsonl"
    schema = _published(vector.folder, "v1.record.json" if lines else "v1.json")
    ours = medcontract.validate(vector.path.read_bytes(), vector.folder, name=vector.path.name)
    shape = [problem for problem in ours.problems if not problem.code.startswith(("MC2", "MC5"))]
    report = judged(schema, vector.path.read_bytes(), vector.path.name)
    assert report.ok == (not shape)
    if lines:
        assert {p.record for p in report.problems} == {p.record for p in shape}


@pytest.mark.slow
def test_published_schemas_mostly_say_the_same() -> None:
    """For nearly all vectors even code and place are the same as with the contract."""
    same = total = 0
    for vector in _with_schema():
        schema = _published(vector.folder, "v1.record.json" if vector.path.suffix == ".jsonl" else "v1.json")
        ours = medcontract.validate(vector.path.read_bytes(), vector.folder, name=vector.path.name)
        shape = [(p.code, p.line, p.column) for p in ours.problems if not p.code.startswith(("MC2", "MC5"))]
        report = validate_with_schema(Source(vector.path), schema, ProblemCollector(1000))
        total += bool(shape)
        same += bool(shape) and shape == [(p.code, p.line, p.column) for p in report.problems]
    assert total > 100
    assert same / total > 0.95, (same, total)


@pytest.mark.skipif(os.name == "nt", reason="folders with backslashes")
def test_relative_path_of_the_schema(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema may be named relative to where one stands, in a folder with a blank or a sign in its name."""
    folder = tmp_path / "my schemas #1 %41"
    folder.mkdir()
    (folder / "s.json").write_text('{"$ref": "t.json"}', encoding="utf-8")
    (folder / "t.json").write_text('{"type": "null"}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert brief(SchemaChecker.load("my schemas #1 %41/s.json"), 1) == [("MC103", "")]


def test_documented_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example in `docs/any-schema.md` has the problems that stand there, and its Python runs."""
    text = (SCHEMAS.parent / "docs" / "any-schema.md").read_text(encoding="utf-8")
    schema, data = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (python,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("dose.schema.json").write_text(schema, encoding="utf-8")
    Path("answers.json").write_text(data, encoding="utf-8")
    rows = [
        f"| {p.line}:{p.column} `{p.pointer}` | {p.code} | {p.message} | {p.hint or ''} |".replace("|  |", "| |")
        for p in medcontract.validate("answers.json", schema="dose.schema.json").problems
    ]
    assert len(rows) == 3
    assert [row for row in rows if row not in text] == []
    exec(python, {})  # noqa: S102  # of our own documentation
    assert capsys.readouterr().out.startswith("1 16 MC106 'patient_id' must not be empty\n2 13 MC103")


def test_usage_errors_from_python(tmp_path: Path) -> None:
    """A schema beside a contract, and one that is not there, are usage errors."""
    with pytest.raises(CallError, match="both a schema and a contract"):
        medcontract.validate(b"{}", "lesions/model", schema=tmp_path / "x.json")
    with pytest.raises(CallError, match="no such file"):
        medcontract.validate(b"{}", schema=tmp_path / "x.json")
