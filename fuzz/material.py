"""Generation of inputs: existing files and values, changed in many ways, and sometimes blown up."""

from __future__ import annotations

import gzip
import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutations import NUMBERS, OTHERS, STRINGS, at, changes, documents, paths, put, records

from medcontract.contracts import registry

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "examples" / "sepsis"
EXTENSIONS = (".json", ".jsonl", ".csv", ".json.gz", ".jsonl.gz", ".csv.gz", ".parquet", "", ".txt")
BLOWN_UP = 0.004
"""The share of inputs with a blown-up part: such an input takes as long as a thousand others."""
_LARGEST = 3 << 19
_TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"'", b"\\", b"\n", b"\r", b"\r\n", b"\0", b"\t", b" ", b"//", b"#",
    b"null", b"true", b"NaN", b"-Infinity", b"1e400", b"-", b"0", b"01", b"1.0", b'""', b'"\\ud800"', b"\\u003a",
    b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xa8", b"9" * 400, b"[" * 120, b'{"a":' * 120,
    b'"error":null', b'"image_id":', b'{"', b'"}', b"},{", b"]}", b'"a":1,"a":2', b";", b"|", b'""""', b",,,",
]  # fmt: skip
_PIECES = tuple(map(re.compile, (
    rb"\{[^{}]*\}\s*,?", rb'"[^"\n]*"\s*:\s*[^,\n{}\[\]]*,', rb"[^\n]*\n", rb'"[^"\n]*",?', rb",[^,\n]*", rb"[^,\s]+",
)))  # fmt: skip
"""A record, a member, a line, a string, a cell, a word."""
_BRICKS = (
    b"[", b'{"a":', b"\n", b"\r", b" ", b"x", b"9", b",", b"\\\\", b'"', b"[],", b"{},", b'"a":1,', b"\0", b"\xff",
    b"\xc3\xa4", b"0.1,", b"true,", b'"a",', b"-", b"{}\n", b"1\n", b'""', b",\n", b'"k%d":1,', b",c%d", b'"%d",',
    b"%d\n",
)  # fmt: skip
"""Pieces that may not be in the text; %d is replaced by an increasing number."""


class Text(NamedTuple):
    """The bytes of a file, its extension, and the contract that is specified, if any."""

    data: bytes
    ending: str
    contract: str | None = None

    @property
    def name(self) -> str:
        return "x" + self.ending


@cache
def seeds() -> tuple[Text, ...]:
    """The files to change: vectors, examples and files of the plugin, each with the contract of its folder."""
    found = []
    vectors = (ROOT / "conformance" / "files", ROOT / "tests" / "vectors")
    for folder in (*vectors, ROOT / "src" / "medcontract" / "examples", PLUGIN):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".json", ".jsonl", ".csv") and path.stat().st_size < 20_000:
                track = "/".join(path.relative_to(folder).parts[:2])
                contract = track.partition(".")[0] if track.partition(".")[0] in registry.compiled() else None
                found.append(Text(path.read_bytes(), path.suffix, contract))
    return tuple(found)


@cache
def contract_ids() -> tuple[str, ...]:
    return tuple(registry.compiled())


def a_text(source: random.Random) -> Text:
    """A changed file or random bytes, sometimes compressed, sometimes with a specified contract."""
    contract = source.choice(contract_ids()) if source.random() < 0.1 else None
    if source.random() < 0.03:
        return Text(source.randbytes(source.randrange(400)), source.choice(EXTENSIONS), contract)
    if source.random() < 0.25:
        return packed(written(source), source)
    seed = source.choice(seeds())
    if source.random() < 0.2:
        contract = seed.contract
    return packed(changed_text(seed._replace(contract=contract), source), source)


@cache
def valid_values(contract_id: str) -> tuple[list[Any], list[Any]]:
    """Valid documents and records of a contract."""
    contract = registry.contract(contract_id)
    return documents(contract), records(contract)


def written(source: random.Random) -> Text:
    """A file with correct JSON syntax, in which some values are wrong."""
    contract_id = source.choice(contract_ids())
    whole, lines = valid_values(contract_id)
    contract = source.choice((None, contract_id))
    if not lines or source.random() < 0.5:
        return Text(as_json(changed_value(source.choice(whole), source), source), ".json", contract)
    some = source.choices(lines, k=source.randrange(1, 6))
    some = [changed_value(line, source) if source.random() < 0.4 else line for line in some]
    return Text("\n".join(json.dumps(line) for line in some).encode(), ".jsonl", contract)


def changed_text(text: Text, source: random.Random) -> Text:
    """A few random edits, and sometimes a wrong extension."""
    data = blown_up(text.data, source) if source.random() < BLOWN_UP else text.data
    if data is text.data or source.random() < 0.3:
        data = edited(data, source)
    return text._replace(data=data, ending=source.choice(EXTENSIONS) if source.random() < 0.1 else text.ending)


def packed(text: Text, source: random.Random) -> Text:
    """Sometimes compress the text, and sometimes damage the result."""
    if source.random() > 0.08 or text.ending.endswith(".gz"):
        return text
    data = gzip.compress(text.data, 1)
    return text._replace(data=edited(data, source) if source.random() < 0.7 else data, ending=text.ending + ".gz")


def edited(data: bytes, source: random.Random) -> bytes:
    """Remove, insert or replace some bytes."""
    text = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
        start = source.randrange(len(text) + 1)
        stop = min(len(text), start + source.choice((0, 1, 1, 2, 8, 40)))
        edit = source.randrange(8)
        if edit == 0:
            del text[start:stop]
        elif edit == 1:
            text[start:start] = source.choice(_TOKENS)
        elif edit == 2:
            text[start:stop] = source.choice(_TOKENS)
        elif edit == 3 and start < len(text):
            text[start] ^= 1 << source.randrange(8)
        elif edit == 4:
            text[start:start] = _slice(text, source, 200)
        elif edit == 5:
            del text[start:]
        elif edit == 6:
            text[start:start] = _slice(source.choice(seeds()).data, source, 300)
        else:
            text[start:start] = source.randbytes(source.randrange(1, 6))
    return bytes(text)


def _slice(data: bytes | bytearray, source: random.Random, most: int) -> bytes:
    start = source.randrange(len(data) + 1)
    return bytes(data[start : start + source.randrange(most)])


def blown_up(data: bytes, source: random.Random) -> bytes:
    """Repeat one piece many times: a record, a key, a cell, brackets, blank lines."""
    pieces = list(source.choice(_PIECES).finditer(data))
    if pieces and source.random() < 0.6:
        match = source.choice(pieces)
        piece, place = match.group(), match.end()
    else:
        piece, place = source.choice(_BRICKS), source.randrange(len(data) + 1)
    most = 50_000 if len(piece) > 1 else 1_000_000
    times = min(source.choice((1_000, 20_000, most)), _LARGEST // len(piece))
    many = b"".join(piece % n for n in range(times)) if b"%d" in piece and piece in _BRICKS else piece * times
    return data[:place] + many + data[place:]


def changed_value(value: Any, source: random.Random) -> Any:
    """The value with one to three places changed."""
    for _ in range(source.choice((1, 1, 2, 3))):
        path = source.choice(list(paths(value)))
        value = put(value, path, source.choice(list(changes(at(value, path)))))
    return value


def a_value(source: random.Random, depth: int = 4) -> Any:
    """Any JSON value."""
    kind = source.randrange(8 if depth else 5)
    if kind < 2:
        return source.choice(OTHERS)
    if kind == 2:
        return source.choice(NUMBERS)
    if kind < 5:
        return source.choice(STRINGS)
    count = source.randrange(5)
    if kind == 5:
        return [a_value(source, depth - 1) for _ in range(count)]
    return {source.choice(KEYS): a_value(source, depth - 1) for _ in range(count)}


KEYS = ("a", "b", "c", "kind", "items", "$ref", "", "ä", "1", "image_id")
"""Keys of values and of generated schemas: only a few, so that they match."""


def as_json(value: Any, source: random.Random) -> bytes:
    """The value as JSON in one of several layouts. It may contain NaN."""
    indent = source.choice((None, None, 1))
    return json.dumps(value, ensure_ascii=source.random() < 0.5, indent=indent).encode(errors="surrogatepass")
