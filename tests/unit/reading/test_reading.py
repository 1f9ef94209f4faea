"""Laws of the reading layer: any text, cut into blocks of any size, gives the same values at the same places."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import assert_sound, lesion, lesions, property_settings, report_lines, vectors

import medcontract
from medcontract.contracts import registry
from medcontract.reading import csv_rows, excerpts, json_stream, jsonl
from medcontract.reading import source as source_module
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.json_scanner import Scanned, find, scan
from medcontract.reading.json_stream import JsonFile
from medcontract.reading.limits import Limits
from medcontract.reading.located_records import Broken, one_by_one
from medcontract.reading.source import Source
from medcontract.types import Column

# --- JSON text with known places -----------------------------------------------------------------

Path_ = tuple[str | int, ...]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['}, {"id"', "]", "{", '"', "\\", "é\u2028", "a:b", "🙂", "\\u0041", "/*", "NaN"]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
randoms = st.integers(0, 2**32 - 1).map(random.Random)


class Text:
    """A JSON value as text, with white space at random, and where each value and key stands in it."""

    def __init__(
        self, value: Any, chance: random.Random, spacing: tuple[str, ...] = ("", "", " ", "\n", "\t", "\r\n ")
    ):
        self.data = b""
        self.at: dict[Path_, tuple[int, int]] = {}
        self._chance = chance
        self._spacing = spacing
        self._space()
        self._write(value, (), None)
        self._space()

    def _space(self) -> None:
        self._put(self._chance.choice(self._spacing))

    def _put(self, text: str) -> None:
        self.data += text.encode()

    def _string(self, text: str) -> None:
        self._put(json.dumps(text, ensure_ascii=self._chance.random() < 0.3))

    def _write(self, value: Any, path: Path_, key_at: int | None) -> None:
        start = len(self.data)
        self.at[path] = start, start if key_at is None else key_at
        if isinstance(value, dict):
            self._members("{", "}", list(value.items()), path)
        elif isinstance(value, list):
            self._members("[", "]", list(enumerate(value)), path)
        elif isinstance(value, str):
            self._string(value)
        else:
            self._put(json.dumps(value))

    def _members(self, opening: str, closing: str, members: list[tuple[Any, Any]], path: Path_) -> None:
        self._put(opening)
        self._space()
        for number, (key, value) in enumerate(members):
            if number:
                self._put(",")
                self._space()
            key_at = len(self.data) if opening == "{" else None
            if opening == "{":
                self._string(key)
                self._space()
                self._put(":")
                self._space()
            self._write(value, (*path, key), key_at)
            self._space()
        self._put(closing)


json_texts = st.builds(Text, json_values, randoms)


def outcome(data: bytes) -> Scanned | Broken:
    """What a scan returns, or raises."""
    try:
        return scan(data)
    except Broken as broken:
        return broken


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down: 1 is not 1.0, and 0.0 is not -0.0."""
    return repr(one) == repr(other)


@property_settings(300)
@given(json_texts)
def test_scan_reads_what_json_reads(text: Text) -> None:
    """Valid JSON gives the value that Python's json module gives, without faults, and ends where the value ends."""
    scanned = scan(text.data)
    assert scanned.faults == []
    assert same(scanned.value, json.loads(text.data))
    assert text.data[scanned.end :].strip() == b""


@property_settings(300)
@given(json_texts, st.data())
def test_truncated_text_is_cut_off_at_its_end(text: Text, data: st.DataObject) -> None:
    """A valid document that is cut anywhere gives MC011 at its end, unless what is left is a whole number."""
    whole = text.data.decode().rstrip()
    cut = whole[: data.draw(st.integers(0, max(0, len(whole) - 1)))].encode()
    broken = outcome(cut)
    if isinstance(broken, Broken):
        assert (broken.code, broken.offset) == ("MC011", len(cut))
    else:
        assert type(broken.value) in (int, float)


@pytest.mark.parametrize("text", ["[0.1234567890123e", "[-12345678901234.", '{"a": 1.7477280001234567e+'])
def test_a_long_number_may_be_cut_off_too(text: str) -> None:
    """A number of many digits that is cut within is cut off, as a short one is, and not malformed."""
    with pytest.raises(Broken) as caught:
        scan(text.encode())
    assert (caught.value.code, caught.value.offset) == ("MC011", len(text))


def mutate(data: bytes, chance: random.Random) -> bytes:
    """One byte more, less or other."""
    at = chance.randrange(len(data) + 1)
    likely = b'{}[]",:\\\n\r\t 0129.eE+-#/*tfnN\0\x80\xc3\xff\xed\xa0'
    byte = bytes([chance.choice(likely) if chance.random() < 0.7 else chance.randrange(256)])
    return [data[:at] + data[at + 1 :], data[:at] + byte + data[at:], data[:at] + byte + data[at + 1 :]][
        chance.randrange(3)
    ]


@property_settings(500)
@given(json_texts, randoms)
def test_one_wrong_byte_breaks_at_a_place_within(text: Text, chance: random.Random) -> None:
    """Text with one byte changed is read, or breaks within the text: exactly when Python's json module refuses it."""
    data = mutate(text.data, chance)
    try:
        json.loads(data.decode())
        readable = True
    except ValueError:
        readable = False
    found = outcome(data)
    assert readable == isinstance(found, Scanned)
    assert isinstance(found, Scanned) or 0 <= found.offset <= len(data)


@property_settings(300)
@given(json_texts, st.data())
def test_find(text: Text, data: st.DataObject) -> None:
    """A path leads to the first byte of its value and to the opening quote of its key; as far as there are values."""
    path = data.draw(st.sampled_from(sorted(text.at, key=repr)))
    assert find(text.data, path) == text.at[path]
    step: str | int = data.draw(st.just("no such key: \ufffe") | st.just(10_000))
    assert find(text.data, (*path, step)) == text.at[path]


# --- lines and columns ---------------------------------------------------------------------------


@contextmanager
def blocks_of(size: int, largest: int | None = None) -> Iterator[None]:
    """Files are read in blocks of this many bytes; with `largest`, that is the limit of a record."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (excerpts, json_stream, jsonl, csv_rows):
            patch.setattr(module, "BLOCK" if hasattr(module, "BLOCK") else "LINES_BLOCK", size)
        if largest is not None:
            patch.setattr(source_module, "Limits", lambda: Limits(record=largest))
        yield


def source_of(data: bytes, name: str = "x.json") -> Source:
    source = Source(data, name)
    source.prepare()
    return source


def naive_place(text: str, position: int) -> tuple[int, int]:
    """Line and column of a character, one character at a time. The LF of a CRLF belongs to the line that it ends."""
    line, column = 1, 1
    for number in range(position):
        ends = text[number] == "\n" or (text[number] == "\r" and text[number + 1 : number + 2] != "\n")
        line, column = (line + 1, 1) if ends else (line, column + 1)
    return line, column


def naive_excerpt(text: str, position: int) -> tuple[str, int]:
    """The line around a character, and where the character is in it."""
    left, right = re.split(r"[\r\n]", text[:position])[-1], re.split(r"[\r\n]", text[position:])[0]
    return re.sub(r"[\x0b\u2028]", "·", left + right), len(left)


@property_settings(300)
@given(
    st.lists(st.sampled_from(["\n", "\r\n", "\r", "a", "bc", "é", "🙂", "\u2028", "\x0b", "{", " "]), max_size=40),
    st.booleans(),
    st.integers(1, 20),
    st.data(),
)
def test_places(pieces: list[str], mark: bool, block: int, data: st.DataObject) -> None:
    """Lines, columns and excerpts are as found by hand, for any line ends, with or without BOM, for any blocks."""
    text = "x" + "".join(pieces)
    start = 3 if mark else 0
    drawn = data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=6))
    offsets = {start + len(text[:position].encode()): position for position in drawn}
    placed = data.draw(st.sets(st.sampled_from(sorted(offsets))))
    with blocks_of(block):
        source = source_of(b"\xef\xbb\xbf" * mark + text.encode())
        places, texts = excerpts.find_positions(source, placed, offsets)
    assert places == {offset: naive_place(text, offsets[offset]) for offset in placed}
    assert texts == {offset: naive_excerpt(text, position) for offset, position in offsets.items()}


# --- records in blocks of any size ---------------------------------------------------------------

record_values = st.dictionaries(st.sampled_from(["id", "label", "x"]), json_values, min_size=1, max_size=3)
look_alikes: list[Any] = [
    {"id": '}, {"id"', "x": [{"id": 1}, {"id": 2}]},
    {"id": {"id": {"id": [{"id": {}}, {"id": "}"}]}}},
    {"id": '"}, {"id": "', "x": "\\"},
    {"id": {"a": {"b": {"c": {"d": {"e": "}, {"}}}}}},
    {},
    [],
    "}, {",
    7,
    None,
]
records_lists = st.lists(record_values | st.sampled_from(look_alikes), max_size=6)
spacings = st.sampled_from([("",), (" ",), ("\n  ",), ("", " ", "\r\n", "\t")])


def decode_object(raw: bytes) -> Any:
    """What a decoder of records does: the value of a whole JSON object, or None."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None


@property_settings(300)
@given(records_lists, spacings, randoms, st.integers(7, 64), st.booleans())
def test_json_collection_in_blocks(
    records: list[Any], spacing: tuple[str, ...], chance: random.Random, block: int, list_first: bool
) -> None:
    """The records of a `.json` are cut out as they are, whatever they hold and however the file is laid out."""
    header = {"team": "}]", "extra": {"items": [{"id": 1}]}}
    whole: dict[str, Any] = {"items": records, **header} if list_first else {**header, "items": records}
    text = Text(whole, chance, spacing)
    with blocks_of(block):
        file = JsonFile(source_of(text.data), "items", decode_object)
        cuts = list(file.records())
    assert [json.loads(cut.raw) for cut in cuts] == records
    assert [cut.offset for cut in cuts] == [text.at["items", number][0] for number in range(len(records))]
    assert all(text.data[cut.offset :].startswith(cut.raw) for cut in cuts)
    assert all(cut.value is None or cut.value == record for cut, record in zip(cuts, records, strict=True))
    assert {member.key: json.loads(member.raw) for member in file.header} == {**header, "items": []}
    assert {m.key: (m.offset, m.key_offset) for m in file.header} == {key: text.at[key,] for key in whole}


line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


@property_settings(200)
@given(st.lists(record_values | st.none(), max_size=8), st.data(), st.integers(1, 64), st.booleans())
def test_lines_in_blocks(records: list[Any], data: st.DataObject, block: int, mark: bool) -> None:
    """The records of a `.jsonl` are its lines that are not blank, for any line ends and any size of blocks."""
    text, expected = b"\xef\xbb\xbf" * mark, []
    for record in records:
        line = b" \t" if record is None else json.dumps(record).encode()
        if record is not None:
            expected.append((line, len(text)))
        text += line + data.draw(st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]))
    if data.draw(st.booleans()):
        text = text.rstrip(b"\r\n")
    with blocks_of(block):
        found = [(each.raw, each.offset) for each in jsonl.records(source_of(text, "x.jsonl"), lambda raw: None)]
    assert found == expected


@property_settings(300)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from([b"", b"x", b"xyz"]), line_ends), max_size=6),
    st.integers(1, 64),
    st.integers(1, 30),
)
def test_long_lines_in_blocks(lines: list[tuple[int, bytes, bytes]], block: int, limit: int) -> None:
    """A line beyond the limit is found at its start, however many blanks it starts with, for any size of blocks."""
    text, expected = b"", []
    for blanks, content, end in lines:
        line = b" " * blanks + content
        if len(line) > limit:
            expected.append((b"", len(text)))
        elif content:
            expected.append((line, len(text)))
        text += line + end
    with blocks_of(block, limit):
        found = [(each.raw, each.offset) for each in jsonl.records(source_of(text, "x.jsonl"), lambda raw: None)]
    assert found == expected


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6) | st.sampled_from(
    ['"', '""', ",", "\n", "\r\n", "\r", "a,b", " x ", "", "é🙂"]
)


@property_settings(300)
@given(
    st.lists(st.lists(cells, min_size=3, max_size=3).filter(lambda row: "".join(row).strip()), max_size=6),
    st.sampled_from(["\r\n", "\n", "\r"]),
    st.booleans(),
    st.integers(1, 64),
)
def test_rows_come_back_with_equal_cells(rows: list[list[str]], line_end: str, mark: bool, block: int) -> None:
    """What Python's csv module writes is read with equal cells, and each row starts on the line where it stands."""
    names = ["a", "b", "c"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end, quoting=csv.QUOTE_ALL)
    starts = []
    for row in [names, *rows]:
        starts.append(naive_place(out.getvalue() + "\ufeff", len(out.getvalue()))[0])
        writer.writerow(row)
    columns = [Column(name, "text", False, (name,)) for name in names]
    with blocks_of(block):
        file = CsvFile(source_of(b"\xef\xbb\xbf" * mark + out.getvalue().encode(), "x.csv"))
        items = file.rows_in_blocks(columns, False, lambda raw: None, lambda text: None)
        found = [record for item in items for record in one_by_one(item)]
    assert file.header == names
    assert [row.finding for row in found] == [None] * len(rows)
    assert [list(json.loads(row.raw).values()) for row in found] == rows
    assert [row.line for row in found] == starts[1:]


@property_settings(100)
@given(st.sampled_from([v for v in vectors() if v.path.stat().st_size < 4000]), st.integers(7, 64))
def test_vectors_in_blocks(vector: Any, block: int) -> None:
    """The size of the blocks in which a file is read changes no problem."""
    with blocks_of(block):
        report = medcontract.validate(vector.path.read_bytes(), vector.given, name=vector.path.name)
    assert report_lines(report) == vector.expected


# --- limits --------------------------------------------------------------------------------------


def _codes(report: medcontract.FileReport) -> list[tuple[str, int | None, int | None]]:
    return [(problem.code, problem.record, problem.line) for problem in report.problems]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("block", [16, 50, 64])
def test_a_line_beyond_the_limit_is_one_bad_record(line_end: bytes, block: int) -> None:
    """In a `.jsonl`, a line that is too large is MC020, and the records after it are checked."""
    huge = json.dumps(lesion(1, label="NV" + "x" * 3000)).encode()
    content = line_end.join([json.dumps(lesion(0)).encode(), huge, b"", json.dumps(lesion(2, label="XX")).encode()])
    with blocks_of(block, largest=200):
        report = medcontract.validate(content, "lesions/truth", name="x.jsonl")
    assert _codes(report) == [("MC020", 1, 2), ("MC104", 2, 4)]
    assert report.records == 3


LARGE = b"x" * 3000
SWALLOWED = b'{"labels": [{"image_id": "I-1, "label": "NV"}, ' + b'{"image_id": "I-2", "label": "NV"}, ' * 100


@pytest.mark.parametrize(("name", "content", "code", "line", "column"), [
    ("x.json", b'{"labels": [{"image_id": "I-1", "label": "NV"}, {"image_id": "%b"}]}' % LARGE, "MC020", 1, 49),
    ("x.json", b'{"event": "%b", "labels": []}' % LARGE, "MC020", 1, 11),
    ("x.json", SWALLOWED, "MC010", 1, SWALLOWED.index(b'label": "NV"}') + 1),  # not too large: a string is not closed
    ("x.csv", b'image_id,label\nI-1,NV\nI-2,"%b"\nI-3,NV\n' % LARGE, "MC020", 3, None),
    ("x.csv", b"image_id,label%b\nI-1,NV\n" % LARGE, "MC020", 1, None),
])  # fmt: skip
def test_beyond_the_limit(name: str, content: bytes, code: str, line: int, column: int | None) -> None:
    """Records, header values and rows that are too large are problems where they start."""
    with blocks_of(32, largest=200):
        report = medcontract.validate(content, "lesions/truth", name=name)
    assert [(p.code, p.line, p.column) for p in report.problems] == [(code, line, column)]


@pytest.mark.parametrize("size", [199, 201, 202, 399, 401, 1000])
def test_the_limit_does_not_depend_on_where_blocks_end(size: int) -> None:
    """A line of a given size is either always beyond the limit or never, wherever it stands in the file."""
    verdicts = set()
    for before in range(0, 64, 7):
        padding = json.dumps(lesion(0, image_id="I" * (before + 1))).encode() + b"\n"
        line = json.dumps(lesion(1, image_id="J" * (size - len(json.dumps(lesion(1, image_id="")))))).encode()
        assert len(line) == size
        with blocks_of(64, largest=200):
            verdicts.add(medcontract.validate(padding + line + b"\n", "lesions/truth", name="x.jsonl").ok)
    assert verdicts == {size <= 200}


# --- sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole_opens", range(8))
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv"])
@pytest.mark.parametrize("left", [0, 1, 40, 100])
def test_files_that_shrink_while_they_are_read(
    name: str, whole_opens: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is cut short between two passes gives a report, whatever it may say, and no crash."""
    records = [lesion(0), lesion(1, label="XX"), lesion(0), lesion(3)]
    content = {
        "x.json": json.dumps({"event": "spring", "labels": records, "extra": 1}).encode(),
        "x.jsonl": b"\n".join(json.dumps(record).encode() for record in records),
        "x.csv": b"image_id,label\n" + b"\n".join(f"{r['image_id']},{r['label']}".encode() for r in records),
    }[name]
    opened = 0

    def shrinking(self: Source) -> BinaryIO:
        nonlocal opened
        opened += 1
        return io.BytesIO(content if opened <= whole_opens else content[:left])

    monkeypatch.setattr(Source, "open", shrinking)
    assert_sound(medcontract.validate(b"", "lesions/truth", name=name))


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x"])
def test_a_named_pipe_is_read_like_a_file(name: str, tmp_path: Path) -> None:
    """What comes through a FIFO, which can be read once only, has the problems of the same file."""
    content = {
        "x.json": json.dumps({"labels": [lesion(0), lesion(1, label="XX"), lesion(0)]}).encode(),
        "x.csv": b"image_id,label\nI-1,NV\nI-2,XX\nI-1,NV\n",
    }.get(name, lesions(1) + lesions(1, label="XX") + lesions(1))
    expected = medcontract.validate(content, name=name)
    pipe = tmp_path / name
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    report = medcontract.validate(pipe)
    writer.join()
    assert report.contract == "lesions/truth"
    assert report.problems == expected.problems
    assert report.errors == 2


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Of a record nothing stays but a place in an index: at most 100 bytes."""
    path = tmp_path / "x.jsonl"
    count = 200_000
    with path.open("wb") as stream:
        stream.writelines(b'{"image_id": "ISLA-%07d", "label": "NV"}\n' % number for number in range(count))
    medcontract.validate(path, max_problems=0)  # what is loaded once does not count
    tracemalloc.start()
    try:
        report = medcontract.validate(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (report.ok, report.records) == (True, count)
    assert peak < 40_000_000 + 100 * count


# --- never a traceback ---------------------------------------------------------------------------

contract_ids = st.none() | st.sampled_from([contract.id for contract in registry.contracts()])
limits = st.sampled_from([(10_000, None), (2, None), (50, 3)])
"""Problems kept in all, and of one sort."""
names = st.sampled_from(["x.json", "x.jsonl", "x.csv", "x"])
words = (
    b'{ } [ ] " , : \n \r \\ \\u \\ud800 \0 \xff \xc3 "labels" "predictions" "image_id" "label" "error" "NV" '
    b'NaN 1e999 - 0 null // # image_id,label\n {"labels":[ {"image_id":"I","label":"NV"} true'
).split(b" ")
soup = st.lists(st.sampled_from([*words, b" ", b"1" * 400]) | st.binary(max_size=5), max_size=30).map(b"".join)


def spoil(data: bytes, chance: random.Random) -> bytes:
    """Change a text in a few ways: bytes, slices repeated, taken away or swapped."""
    for _ in range(chance.randrange(1, 4)):
        one, two = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        kind = chance.randrange(6)
        if kind == 0:
            data = data[:one] + data[two:]
        elif kind == 1:
            data = data[:two] + data[one:]
        elif kind == 2:
            data = data[:two]
        else:
            data = mutate(data, chance)
    return data


@contextmanager
def steps_at_most(limit: int) -> Iterator[None]:
    """A loop that never ends fails the test instead of stopping it."""
    pass_space, steps = json_stream.Window.space, 0

    def counted(window: json_stream.Window) -> bytes:
        nonlocal steps
        steps += 1
        assert steps <= limit, "an endless loop"
        return pass_space(window)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream.Window, "space", counted)
        yield


@pytest.mark.parametrize("contract", [None, "lesions/truth", "lesions/model"])
@pytest.mark.parametrize(
    "text",
    [
        '{"x": [1}', '{"x": [1}]', '{"labels": [{"image_id": "I", "label": "NV"}}', '{"x": [1:2]}', '{"x": [}',
        '{"labels": [{"image_id": "I", "label": "NV"}}, 1]}', '{"x": [1 2]}', '{"x": [1', '[}', '[1}', '[1:', '{"x": }',
        '{"x": 1]', '{"x": ["a"]]}', '{"x": [{"y": [1}]}]}', "[[1}", '{"x": ["', "[,]", '{"x": [,]}', '{"x": [1,,2]}',
    ],
)  # fmt: skip
def test_the_wrong_bracket_ends(text: str, contract: str | None) -> None:
    """A bracket of the wrong kind, or one too few, is one problem of syntax, found in a few steps."""
    with steps_at_most(1_000):
        report = medcontract.validate(text.encode(), contract, name="x.json")
    assert_sound(report)
    assert [p.code for p in report.problems] in (["MC010"], ["MC011"], ["MC012"], ["MC014"])


@pytest.mark.parametrize("contract", [None, "lesions/truth", "lesions/model"])
@pytest.mark.parametrize(
    ("text", "column"),
    [
        (b'{"a\xed": 1}', 4), (b'{"\xff": 1, "labels": []}', 3), (b'{"a\\n\xe9": 1}', 6), (b'{"a": "\xe9"}', 8),
        (b'{"labels": [{"\xe9": 1}]}', 15), (b'{"labels": [], "event": "\xe9"}', 26), (b'["\xe9"]', 3), (b'"\xe9"', 2),
        (b'{"labels": [\xe9]}', 13), (b"\xe9", 1), (b'{"a": 1 \xe9', 9), (b'{"a" \xe9', 6),
    ],
)  # fmt: skip
def test_wrong_utf_8_anywhere(text: bytes, column: int, contract: str | None) -> None:
    """A byte that is no UTF-8 is told where it stands: in a key, a value, or between them."""
    report = medcontract.validate(text, contract, name="x.json")
    assert [(p.code, p.line, p.column) for p in report.problems] == [("MC007", 1, column)]


@pytest.mark.parametrize("contract", [None, "lesions/truth", "lesions/model"])
@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ('[{"image_id" "I"}]', "MC010", 14), ("[yes]", "MC023", 2), ("[1, 01]", "MC022", 5), ("[[1 2]]", "MC010", 5),
        ('[{"a": [1,]}]', "MC012", 11), ("['a']", "MC023", 2), ('{"x": [{"a": 01}]}', "MC022", 14),
    ],
)  # fmt: skip
def test_broken_syntax_deep_in_a_list(text: str, code: str, column: int, contract: str | None) -> None:
    """A file whose syntax is broken is told so, however deep, also when it is a list where an object should stand."""
    report = medcontract.validate(text.encode(), contract, name="x.json")
    assert [(p.code, p.line, p.column) for p in report.problems] == [(code, 1, column)]
    assert not report.usage_error


def _check_one(data: bytes, name: str, contract: str | None, folder: Path, keep: int, alike: int | None) -> None:
    path = folder / name
    path.write_bytes(data)
    with steps_at_most(1_000 + 20 * len(data)):
        files = medcontract.validate_files(
            [path], contract, max_problems=keep, max_alike=alike, excerpts=alike is not None
        ).files
    report = files[0]
    assert_sound(report)
    assert len(report.problems) <= keep


@property_settings(300)
@given(soup, names, contract_ids, limits)
def test_no_traceback_for_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str, contract: str | None, limit: Any
) -> None:
    """Whatever bytes a file holds, there is a report, and it is sound."""
    _check_one(data, name, contract, tmp_path_factory.getbasetemp(), *limit)


@property_settings(500)
@given(
    st.sampled_from(vectors()),
    randoms,
    st.booleans(),
    st.sampled_from([(10_000, None), (2, None), (50, 3)]),
    contract_ids,
)
def test_no_traceback_for_spoilt_vectors(
    tmp_path_factory: pytest.TempPathFactory,
    vector: Any,
    chance: random.Random,
    own_name: bool,
    limit: Any,
    contract: str | None,
) -> None:
    """Whatever becomes of a file on its way, there is a report, and it is sound."""
    data = spoil(vector.path.read_bytes(), chance)
    name = vector.path.name if own_name else chance.choice(["x.json", "x.jsonl", "x.csv", "x"])
    if chance.random() < 0.6:
        contract = vector.given
    _check_one(data, f"x{Path(name).suffix}", contract, tmp_path_factory.getbasetemp(), *limit)


# --- files of no contract -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "near"),
    [
        (b"Age,Sexo\n50,f\n", "x.csv", "lesions/cases"),
        (b'{"Model-Size-MB": 1, "hardwear": "laptop"}', "x.json", "lesions/model"),
        (b'{"doc-type": "lab", "anotador": "a", "Notes": ""}', "x.jsonl", "extraction/"),
        (b'{"something": "else"}', "x.json", None),
    ],
)
def test_nearest_contracts(content: bytes, name: str, near: str | None) -> None:
    """A file that no contract fits is told the nearest ones: other case and misspelt keys count too."""
    problem = medcontract.validate(content, name=name).problems[0]
    assert problem.code == "MC009"
    assert (problem.hint or "").startswith(f"closest: {near}" if near else "specify --contract")


_RECORD = {"foo": 1, "bar": "x" * 20, "baz": [1, [2, {"deep": []}]]}


_NO_CONTRACT = {
    "list.json": json.dumps({"stuff": [_RECORD] * 2_000}),
    "bare.json": json.dumps([_RECORD] * 2_000),
    "nested.json": json.dumps({"stuff": {"inner": [_RECORD] * 2_000}}),
    "lists.json": json.dumps({"stuff": [[1, 2, [3]]] * 8_000}),
    "numbers.json": json.dumps({"stuff": list(range(15_000))}),
    "lines.jsonl": "\n".join([json.dumps(_RECORD)] * 2_000),
}


@pytest.mark.parametrize("name", _NO_CONTRACT)
def test_a_file_of_no_contract(name: str) -> None:
    """JSON that fits no contract is reported once, whatever its shape."""
    report = medcontract.validate(_NO_CONTRACT[name].encode(), name=name)
    assert [problem.code for problem in report.problems] == ["MC009"]
    assert report.usage_error
