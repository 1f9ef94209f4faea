"""Small valid documents of every contract, and thousands of systematic changes to them.

Everything is deterministic: the same files give the same documents in the same order.
Documents are never changed in place, because they share parts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from tests.support import ROOT, vectors

import medcontract
from medcontract.contracts.contract import Contract

Path = tuple[str | int, ...]

EXAMPLES = ROOT / "src" / "medcontract" / "examples"
SEED = 20260531

_GUID = "0f9619ff-8b86-d011-b42d-00c04fc964ff"

NUMBERS: tuple[Any, ...] = (
    0, -0.0, -1, 1, 1.0, -1.0, 2, 7, 7.0, 8, 10, 30, 30.5, 70, 70.5, 100, 1e2, 100.5, 0.1 + 0.2, 0.5, 120, 120.0, 121,
    120.5, 1.0000000001, 0.9999999999999999, 5e-324, -5e-324, 1e308, -1e308, 2**31, 2**53 + 1, 2**63, 2**64, 2**70,
    -(2**70), float(2**70), 1e22, 1e23, 10**308,
)  # fmt: skip

_DATES = (
    "2024-02-29", "2023-02-29", "0000-00-00", "2024-13-01", "2024-00-10", "2024-01-32", "2024-1-1", "24-01-01",
    "2024-01-01T00:00:00", "2024-01-01 00:00:00", "2024-01-01t00:00:00", "2024-01-01T00:00:00z",
    "2024-01-01T00:00:00Z", "2024-01-01T24:00:00", "2024-01-01T23:59:60", "2024-01-01T23:60:00", "2024-01-01T12:00",
    "2024-01-01T12:00:00.", "2024-01-01T12:00:00.123456789Z", "2024-01-01T12:00:00,5", "2024-01-01T12:00:00+24:00",
    "2024-01-01T12:00:00+0200", "2024-01-01T12:00:00-23:59", "2024-01-01T12:00:00\u221202:00", "2024-01-01\n",
    "2024-01-01T12:00:00Z\n", "2024-01-01\r\n", "\n2024-01-01", " 2024-01-01", "2024-01-01 ", "2024-01-01\x00",
    "2024-01-01\u2028", "2024-01-01T", "2024\u201101\u201101", "\u0662\u0660\u0662\u0664-\u0660\u0661-\u0660\u0661",
    "2024-01-0\u0661", "\uff12\uff10\uff12\uff14-01-01", "2024-01-01\u00a012:00:00", "x2024-01-01", "2024-01-01x",
    "2024-01-01\n2024-01-01",
)  # fmt: skip
_GUIDS = (
    _GUID, _GUID.upper(), _GUID + "\n", _GUID + "\r", "\n" + _GUID, "{" + _GUID + "}", _GUID.replace("-", ""),
    _GUID[:-1], _GUID + "0", _GUID[:-1] + "g", _GUID[:-1] + "\u0661", _GUID[:-1] + "\uff11", _GUID[:-1] + "\u0131",
    _GUID[:-1] + "\u212a", _GUID[:-1] + "\n", _GUID + "\x00", _GUID + " ", _GUID + "\u2029",
)  # fmt: skip
_PATHS = (
    "a", "a/b", "a//b", "/a", "a/", "./a", "../x", "a/./b", "a/../b", "a/..", "a/.", ".", "..", "...", ".a", "..a",
    "a/.b", "a/..b", "a/...", ".../a", "C:x", "C:", "C:/x", "c:\\x", "C", "C/x:y", "CC:x", "1:x", "\u00c9:x", ":x",
    "a\\b", "\\\\h\\s", "a/b\n", "a\n/b", "\n", "a/\n", "a/.\n", "a/..\n", "..\n", ".\n", "C:\n", "C\n:x", "a/b\r\n",
    "a b/c d", " ", "a/ ", "\u2028/a", "a/\u2028", "\U0001f600/\U0001f600", "\U0001f600:x", "\u00a0", "~/a",
    "file:///a", "http://h/a", "\x00", "a?b",
)  # fmt: skip
_BLANKS = (
    "", " ", "   ", "\t", "\n", "\r\n", "\x0b\x0c", "\u00a0", " \u00a0\t", "\u2003", "\u0085", "\u1680", "\u200b",
    "\u2028", "\u3000", "\ufeff", "\u180e", "\x00", "\x08", "\x0e", "\x1c", "\x1f", " x", "\u00a0x\u00a0",
    "\U0001f600", "\u0301",
)  # fmt: skip
_WORDS = (
    "x", "0", "1", "1.0", "true", "false", "null", "NaN", "m", "f", "M", "M\n", "m\n", "MEL", "mel", "MEL\n", "MEL ",
    "Other", "Urgent", "urgent", "Urgent\n", "Cardiology", "CARDIOLOGY", "error", "warning", "error\n", "collection",
    "MC101", "MC101\n", "MC601", "MC10\u0661", "mc101", "MC1011", "a:b", "\\u003a", '"', "\\", "\uff2d\uff25\uff2c",
)  # fmt: skip
_HASHES = ("0" * 64, "a" * 64, "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n", "0" * 63 + "\n", "0" * 63 + "\u0661")
STRINGS: tuple[str, ...] = tuple(dict.fromkeys(_DATES + _GUIDS + _PATHS + _BLANKS + _WORDS + _HASHES))
OTHERS: tuple[Any, ...] = (
    None, True, False, [], {}, [None], [[]], [{}], [0], [""], ["x"], [True], {"": None}, {"a": 1}, {"a": "1"},
    {"a": None}, {"a": True}, {"a": {"b": {"b": []}}}, [1, "a", None, {"k": [False]}],
)  # fmt: skip
KEYS = (
    "", " ", "x", "error", "$schema", "schema_", "$ref", "id", "__proto__", "constructor", "__class__", "model_config",
    "model_fields", "a:b", "\U0001f600", "\u00a0",
)  # fmt: skip
"""Keys to add."""


def encode(value: Any, escaped: bool = False) -> bytes:
    """The value as JSON text on one line; `escaped`: in ASCII."""
    return json.dumps(value, ensure_ascii=escaped, separators=(",", ":"), allow_nan=False).encode()


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """The paths of all values of a document; of a long list, the first two items and the last."""
    yield here
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*here, key))
    elif isinstance(value, list):
        for index in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from paths(value[index], (*here, index))


def at(value: Any, path: Path) -> Any:
    """The value at a path."""
    for token in path:
        value = value[token]
    return value


def put(value: Any, path: Path, new: Any) -> Any:
    """The document with another value at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def renamed_keys(key: str) -> tuple[str, ...]:
    """Keys that are similar to this one."""
    return key.upper(), key.capitalize(), key + " ", key + "\n", "\ufeff" + key, key.replace("_", "-") + "_", key[:-1]


def new_shapes(value: Any) -> Iterator[Any]:
    """Remove, add or rename a key of an object; remove or add an item of a list."""
    if isinstance(value, dict):
        for key in value:
            less = {k: v for k, v in value.items() if k != key}
            yield less
            for other in renamed_keys(key):
                if other not in value:
                    yield {**less, other: value[key]}
        for key in KEYS:
            if key not in value:
                yield {**value, key: None}
                yield {**value, key: "x"}
                yield {**value, key: 1}
    elif isinstance(value, list):
        yield from ([*value, value[-1]], value[:-1], value[1:], value * 2) if value else ()
        yield from ([*value, None], [*value, "x"], [*value, 0], [*value, {}])


def replacements(value: Any) -> tuple[Any, ...]:
    """Replacements for a value: all of its own type, some of each other type."""
    if isinstance(value, str):
        return OTHERS + NUMBERS[::4] + STRINGS
    if isinstance(value, int | float):
        return OTHERS + NUMBERS + STRINGS[::20]
    return OTHERS + NUMBERS[::4] + STRINGS[:: 4 if value is None else 20]


def changes(value: Any) -> Iterator[Any]:
    """Replacements for a value: another value, another structure, or a similar value."""
    yield from replacements(value)
    yield from new_shapes(value)
    if isinstance(value, str):
        yield from (
            value + "\n",
            value + " ",
            "\n" + value,
            value + "\x00",
            value + "\u2028",
            value.upper(),
            value.lower(),
        )
        yield [value]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (float(value), int(value), -value, value + 1, value - 1, value + 0.5, str(value), [value])


def mutants(bases: Iterable[Any], most: int, seed: int = SEED) -> list[Any]:
    """At most `most` distinct changed documents: a fair selection of single changes, and a quarter with two."""
    rng = random.Random(seed)
    singles = [(base, path, new) for base in bases for path in paths(base) for new in changes(at(base, path))]
    rng.shuffle(singles)
    found: dict[bytes, Any] = {}
    for single in singles:
        if len(found) >= most * 3 // 4:
            break
        changed = put(*single)
        found.setdefault(encode(changed), changed)
    while len(found) < most and len(singles) > 1:
        changed = put(*rng.choice(singles))
        path = rng.choice(list(paths(changed)))
        changed = put(changed, path, rng.choice(list(changes(at(changed, path)))))
        found.setdefault(encode(changed), changed)
    return list(found.values())


def _looks(value: Any) -> frozenset[tuple[object, ...]]:
    """The types of the values at all paths: a document without new ones is not worth changing."""
    return frozenset(
        (*("*" if isinstance(token, int) else token for token in path), type(at(value, path)).__name__)
        for path in paths(value)
    )


def _choose(values: Iterable[Any], most: int) -> list[Any]:
    """Small values that together cover everything, none so deep that a change could exceed a limit."""
    seen: frozenset[tuple[object, ...]] = frozenset()
    chosen: list[Any] = []
    for value in sorted(values, key=lambda v: len(encode(v))):
        looks = _looks(value)
        if looks - seen and len(chosen) < most and max(map(len, looks)) < 20:
            chosen.append(value)
            seen |= looks
    return chosen


@cache
def valid_files(contract_id: str) -> tuple[tuple[str, bytes], ...]:
    """The valid JSON files of a contract: name and content, without a byte order mark."""
    found = [v.path for v in vectors() if v.folder == contract_id and v.verdict == "valid"]
    found += [EXAMPLES / f"{contract_id}.{ending}" for ending in ("json", "jsonl")]
    return tuple(
        (path.name, path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        for path in found
        if path.exists() and path.suffix in (".json", ".jsonl")
    )


_STRINGS = ("a: b", "2026-05-31", "2026-05-31T23:59:59.5+02:00", _GUID, "a/b.png", "MC101", "0" * 64, " ")
_NUMBERS = (1, 0.5, 2, 10, 100)
_ANYTHING = {"a": {"b": [1, {"c": None, "d": "e:f"}]}, "g": []}


def made_up(node: dict[str, Any], root: dict[str, Any], full: bool) -> Any:
    """A value that is valid for a schema, with all optional keys or without any."""
    if "allOf" in node:
        return made_up(node["allOf"][0], root, full)
    if "$ref" in node:
        return made_up(root["$defs"][node["$ref"].rpartition("/")[2]], root, full)
    for word in ("oneOf", "anyOf", "enum"):
        if word in node:
            choice = node[word][0 if full else -1]
            return choice if word == "enum" else made_up(choice, root, full)
    kind = node.get("type")
    if kind == "object":
        return _made_up_object(node, root, full)
    if kind == "array":
        item = made_up(node.get("items", {}), root, full)
        return [item] * max(node.get("minItems", 0), int(full))
    if kind in ("string", "number", "integer"):
        accepts = Draft202012Validator(node).is_valid
        return next(value for value in (node.get("const"), *_STRINGS, *_NUMBERS, *STRINGS, *NUMBERS) if accepts(value))
    scalars: dict[Any, Any] = {"boolean": node.get("const", full), "null": None}
    return scalars.get(kind, _ANYTHING if full else None)


def _made_up_object(node: dict[str, Any], root: dict[str, Any], full: bool) -> dict[str, Any]:
    known = node.get("properties", {})
    keys = known if full else node.get("required", ())
    made = {key: made_up(known[key], root, full) for key in keys}
    other = node.get("additionalProperties", True)
    if full and other is not False:
        made |= {
            "a": made_up({} if other is True else other, root, full),
            "b:c": _ANYTHING if other is True else made_up(other, root, full),
        }
    while "if" in node:
        met = Draft202012Validator(node["if"]).is_valid(made)
        then = {**node["then"], "$defs": root.get("$defs", {})}
        if met and not Draft202012Validator(then).is_valid(made):
            made = {key: value for key, value in made.items() if key not in node["if"]["required"]}
        node = node.get("else", {})
    return made


SORTS: tuple[tuple[str, bool, Path], ...] = (
    ("benchmark/report", False, ("schema_version",)),
    ("extraction/decision", False, ("prescription_accuracy",)),
    ("extraction/runs", True, ("started_at",)),
    ("extraction/runs", True, ("valid_items",)),
    ("lesions/cases", True, ("age",)),
    ("lesions/cases", True, ("gender",)),
    ("lesions/cases", True, ("image_id",)),
    ("lesions/cases", True, ("image_path",)),
    ("lesions/cases", True, ("location",)),
    ("lesions/model", False, ("model_size_mb",)),
    ("lesions/model", False, ("uses_image",)),
    ("lesions/predictions", True, ("error",)),
    ("lesions/predictions", True, ("probabilities", 9)),
    ("medcontract/explanation", False, ("codes", 0, "code")),
    ("medcontract/index", False, ("schemas", 0, "sha256")),
    ("medcontract/validation", False, ("files", 0, "problems", 0, "line")),
    ("reports/predictions", True, ("processing_time_sec",)),
    ("reports/score", False, ("performance_score",)),
    ("triage/ground-truth", True, ("gt_lsi_list", 0, "in_hospital")),
    ("triage/response", False, ("evaluation_date",)),
    ("triage/response", True, ("end_of_case",)),
    ("triage/response", True, ("error",)),
    ("triage/response", True, ("message_sent_time",)),
    ("triage/response", True, ("run_id",)),
)
"""A location for each kind of value: the contract, whether it is in a record, and the path."""


def all_values_at(contract_id: str, record: bool, path: Path) -> list[Any]:
    """A valid document or record, with each value in turn at one location."""
    schema = medcontract.json_schema(contract_id, record=record)
    base = made_up(schema, schema, full=True)
    return [put(base, path, value) for value in OTHERS + NUMBERS + STRINGS]


def documents(contract: Contract[Any]) -> list[Any]:
    """A few small valid documents of a contract; collections have at most two records."""
    schema = medcontract.json_schema(contract.id)
    found = [made_up(schema, schema, full) for full in (True, False)]
    found += [json.loads(content) for name, content in valid_files(contract.id) if name.endswith(".json")]
    if contract.list_key:
        found = [{**value, contract.list_key: value[contract.list_key][:2]} for value in found]
    return _choose(found, 6)


def records(contract: Contract[Any]) -> list[Any]:
    """A few valid records of a collection."""
    if contract.list_key is None:
        return []
    schema = medcontract.json_schema(contract.id, record=True)
    found = [made_up(schema, schema, full) for full in (True, False)]
    for name, content in valid_files(contract.id):
        if name.endswith(".json"):
            found += json.loads(content)[contract.list_key]
        else:
            found += [json.loads(line) for line in content.splitlines() if line.strip()]
    return _choose(found, 8)
