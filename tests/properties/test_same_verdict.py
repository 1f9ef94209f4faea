"""For one parsed document, Pydantic, the exported schema and `validate` agree; the fast path never accepts too much."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, TypeAdapter, ValidationError
from tests.mutations import EXAMPLES, SORTS, Path, all_values_at, at, documents, encode, mutants, paths, put, records
from tests.support import ROOT, property_settings, vectors

import medcontract
from medcontract.contracts import registry
from medcontract.contracts.contract import Contract
from medcontract.contracts.fast_decoder import row_decoders
from medcontract.results.validation import FileReport

pytestmark = pytest.mark.sampled(6)

T = TypeVar("T")

CONTRACTS = registry.contracts()
COLLECTIONS = tuple(contract for contract in CONTRACTS if contract.list_key)
RECORD_MUTANTS = 600
DOCUMENT_MUTANTS = {"collection": 100, "document": 200}

each_contract = pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.id)
each_form = pytest.mark.parametrize(
    ("contract", "record"),
    [(contract, False) for contract in CONTRACTS] + [(contract, True) for contract in COLLECTIONS],
    ids=lambda value: value.id if isinstance(value, Contract) else "record" if value else "document",
)
each_collection = pytest.mark.parametrize("contract", COLLECTIONS, ids=lambda contract: contract.id)


class Form(NamedTuple):
    """A contract's documents or its records: whatever judges them, built once."""

    adapter: TypeAdapter[Any]
    schema: Draft202012Validator
    decode: Callable[[bytes], Any] | None
    """The fast path, where there is one."""


@cache
def form(contract: Contract[Any], record: bool = False) -> Form:
    adapter: TypeAdapter[Any] = contract.record_adapter() if record else TypeAdapter(contract.model)
    schema = medcontract.json_schema(contract.id, record=record)
    decoders = row_decoders(schema)
    return Form(adapter, Draft202012Validator(schema), decoders.one if decoders else None)


@cache
def changed_documents(contract: Contract[Any]) -> list[Any]:
    return mutants(documents(contract), DOCUMENT_MUTANTS[contract.kind])


@cache
def changed_records(contract: Contract[Any]) -> list[Any]:
    return mutants(records(contract), RECORD_MUTANTS)


def bases_of(contract: Contract[Any], record: bool) -> list[Any]:
    return records(contract) if record else documents(contract)


def some(items: list[T], most: int) -> list[T]:
    """At most this many of the items, evenly spread; the step is a prime, so that no pattern in them is missed."""
    return items[:: next(step for step in (1, 7, 11, 23, 47, 97, 193, 389, 769, 1543) if len(items) <= most * step)]


def accepts(adapter: TypeAdapter[Any], value: Any) -> bool:
    """Whether Pydantic takes the value."""
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True


def check(text: bytes, contract: Contract[Any], name: str) -> FileReport:
    """What `validate` says, with every problem."""
    report = medcontract.validate(text, contract.id, name=name, max_problems=1_000_000)
    assert report.omitted == 0
    assert not report.usage_error
    return report


NOT_OF_SHAPE = ("MC2", "MC5", "MC019", "MC020")
"""Rules and advice, and the limits on depth and size, which are no part of a contract."""


def misshapen(report: FileReport) -> set[int | None]:
    """The records that have problems of shape or worse; None means the file itself."""
    return {problem.record for problem in report.problems if not problem.code.startswith(NOT_OF_SHAPE)}


class Verdicts(NamedTuple):
    """What each of the three says of one document."""

    pydantic: bool
    schema: bool
    validate: bool
    text: bytes

    def __repr__(self) -> str:
        said = ", ".join(
            f"{name} {'accepts' if verdict else 'refuses'}"
            for name, verdict in self._asdict().items()
            if name != "text"
        )
        return f"{said}: {self.text[:400]!r}"


def disagreements(verdicts: list[Verdicts]) -> list[Verdicts]:
    """The shortest ones, to be looked at."""
    found = [v for v in verdicts if not v.pydantic == v.schema == v.validate]
    return sorted(found, key=lambda v: len(v.text))[:10]


def bad_records(texts: list[bytes], contract: Contract[Any]) -> set[int | None]:
    """The records that `validate` refuses, each on its line of one file; in the list of a document it says the same."""
    header = encode({**documents(contract)[0], contract.list_key: []})
    assert header.count(b"[]") == 1
    lines = check(b"\n".join(texts), contract, "x.jsonl")
    items = check(header.replace(b"[]", b"[" + b",\n".join(texts) + b"]"), contract, "x.json")
    assert lines.records == items.records == len(texts)
    bad = misshapen(lines)
    assert None not in bad
    assert {texts[index or 0] for index in bad ^ misshapen(items)} == set()
    return bad


def record_verdicts(texts: list[bytes], contract: Contract[Any]) -> list[Verdicts]:
    """What is said of many records."""
    bad = bad_records(texts, contract)
    judges = form(contract, record=True)
    values = [json.loads(text) for text in texts]
    return [
        Verdicts(accepts(judges.adapter, value), judges.schema.is_valid(value), index not in bad, text)
        for index, (text, value) in enumerate(zip(texts, values, strict=True))
    ]


def document_verdicts(text: bytes, contract: Contract[Any]) -> Verdicts:
    judges = form(contract)
    value = json.loads(text.decode("utf-8-sig"))
    report = check(text, contract, "x.json")
    return Verdicts(accepts(judges.adapter, value), judges.schema.is_valid(value), not misshapen(report), text)


def texts_of(values: list[Any]) -> list[bytes]:
    """As JSON texts, every other one in ASCII."""
    return [encode(value, escaped=index % 2 == 1) for index, value in enumerate(values)]


def json_files(contract: Contract[Any]) -> Iterator[tuple[str, bytes]]:
    """All JSON files that there are of a contract, valid or not: name and content."""
    for vector in vectors():
        if vector.folder == contract.id and vector.path.suffix in (".json", ".jsonl"):
            yield vector.name, vector.path.read_bytes()
    track, _, name = contract.id.partition("/")
    for path in sorted((EXAMPLES / track).glob(f"{name}.json*")):
        yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def sound_lines(content: bytes, contract: Contract[Any]) -> list[bytes]:
    """The lines that are JSON without any oddity."""
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    report = check(content, contract, "x.jsonl")
    broken = {problem.record for problem in report.problems if problem.code.startswith("MC0")}
    return [line for index, line in enumerate(lines) if index not in broken]


# --- the same verdict ----------------------------------------------------------------------------


@pytest.mark.slow
def test_enough_is_compared() -> None:
    """More than 10 000 changed documents and records are compared."""
    count = sum(len(changed_documents(contract)) for contract in CONTRACTS)
    count += sum(len(changed_records(contract)) for contract in COLLECTIONS)
    count += sum(len(all_values_at(*place)) for place in SORTS)
    assert count > 10_000


@each_contract
def test_bases_are_valid(contract: Contract[Any]) -> None:
    """What is changed was valid before, and there is some of it for every contract."""
    assert documents(contract)
    for value in documents(contract):
        assert document_verdicts(encode(value), contract)[:3] == (True, True, True)
    for value in records(contract):
        assert record_verdicts([encode(value)], contract)[0][:3] == (True, True, True)


@each_contract
def test_files(contract: Contract[Any]) -> None:
    """All agree on every vector and example, as a document or line by line."""
    verdicts: list[Verdicts] = []
    for name, content in json_files(contract):
        if name.endswith(".jsonl"):
            lines = sound_lines(content, contract)
            verdicts += record_verdicts(lines, contract) if lines else []
        elif not any(p.code.startswith("MC0") for p in check(content, contract, "x.json").problems):
            verdicts.append(document_verdicts(content, contract))
    assert disagreements(verdicts) == []


@pytest.mark.sampled(4)
@each_contract
def test_changed_documents(contract: Contract[Any]) -> None:
    """All agree on every changed document, some of which are valid and some not."""
    verdicts = [document_verdicts(text, contract) for text in texts_of(changed_documents(contract))]
    assert disagreements(verdicts) == []
    assert {v.schema for v in verdicts} == {True, False}


@pytest.mark.sampled(4)
@each_collection
def test_changed_records(contract: Contract[Any]) -> None:
    """All agree on every changed record, on a line or in a list, some of which are valid and some not."""
    verdicts = record_verdicts(texts_of(changed_records(contract)), contract)
    assert disagreements(verdicts) == []
    assert {v.schema for v in verdicts} == {True, False}


@pytest.mark.parametrize(("contract_id", "record", "path"), SORTS)
def test_every_value_at_every_sort_of_place(contract_id: str, record: bool, path: Path) -> None:
    """All agree on every value that was thought of, at a place of each sort; some are valid there and some not."""
    contract = registry.contract(contract_id)
    texts = texts_of(all_values_at(contract_id, record, path))
    verdicts = record_verdicts(texts, contract) if record else [document_verdicts(text, contract) for text in texts]
    assert disagreements(verdicts) == []
    assert {v.schema for v in verdicts} == {True, False}
    assert [reason for text in texts if (reason := wrongly_accepted(text, form(contract, record)))] == []


# --- the fast path -------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A decoded or a validated value as objects, lists and scalars, numbers as doubles."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Oddity(Exception):
    """A text that a parser may take, but that no contract allows."""


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Oddity("repeated key")
    return found


def _no_constant(name: str) -> Any:
    raise Oddity(name)


def _finite(text: str) -> float:
    if abs(number := float(text)) == float("inf"):
        raise Oddity("beyond a double")
    return number


def _finite_integer(text: str) -> int:
    _finite(text)
    return int(text)


def parse(text: bytes) -> Any:
    """The value of a JSON text; raises `Oddity`, or `ValueError` when it is no JSON at all."""
    value = json.loads(
        text.decode(),
        object_pairs_hook=_no_repeats, parse_constant=_no_constant, parse_float=_finite, parse_int=_finite_integer,
    )  # fmt: skip
    json.dumps(value, ensure_ascii=False).encode()  # raises UnicodeEncodeError, a ValueError, for half a surrogate pair
    return value


def wrongly_accepted(text: bytes, judges: Form) -> str | None:
    """Why the fast path should not have taken this text as it did, or None."""
    fast = judges.decode(text) if judges.decode else None
    if fast is None:
        return None
    try:
        model = judges.adapter.validate_python(parse(text))
    except ValidationError:
        return f"Pydantic refuses it: {text[:400]!r}"
    except (Oddity, ValueError) as reason:
        return f"{reason}: {text[:400]!r}"
    return None if plain(fast) == plain(model) else f"another value: {text[:400]!r}"


@each_form
def test_fast_path_is_sound(contract: Contract[Any], record: bool) -> None:
    """What the fast path takes, Pydantic takes too, with the same values in its attributes."""
    judges = form(contract, record)
    changed = changed_records(contract) if record else changed_documents(contract)
    texts = texts_of([*bases_of(contract, record), *changed])
    assert [reason for text in texts if (reason := wrongly_accepted(text, judges))] == []
    if judges.decode:
        assert any(judges.decode(text) is not None for text in texts)


def spellings(key: str) -> tuple[str, ...]:
    """A key as JSON strings that all mean the same."""
    codes = [f"\\u{ord(c):04x}" for c in key]
    return (
        json.dumps(key),
        f'"{codes[0]}{key[1:]}"',
        f'"{key[:-1]}{codes[-1].upper().replace("U", "u")}"',
        f'"{"".join(codes)}"',
    )


def write(value: Any, place: Path = (), members: dict[Path, list[str]] | None = None) -> str:
    """JSON text; `members` are written, as they are, at the end of the objects at these paths."""
    if isinstance(value, dict):
        inside = [f"{json.dumps(key)}: {write(item, (*place, key), members)}" for key, item in value.items()]
        return "{" + ", ".join(inside + (members or {}).get(place, [])) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write(item, (*place, index), members) for index, item in enumerate(value)) + "]"
    return json.dumps(value)


def repetitions(value: Any) -> Iterator[tuple[Path, str]]:
    """Members that repeat a key of an object: alike or with escapes, with the same value or another."""
    for path in paths(value):
        if isinstance(here := at(value, path), dict):
            for key in (key for key in here if key):
                for spelling in spellings(key):
                    for again in (write(here[key]), "null", '"a:b"', '"\\u003a"', "{}", '{"a": {"b": []}}'):
                        yield path, f"{spelling}: {again}"


def with_colons(value: Any) -> Any:
    """The document with colons in its strings, where the contract lets them stand."""
    for path in paths(value):
        here = at(value, path)
        if isinstance(here, str) and path and path[-1] in ("case_id", "image_id", "report_id", "error", "team_name"):
            value = put(value, path, here + ":::")
    return value


@pytest.mark.sampled(6)
@each_form
def test_repeated_keys(contract: Contract[Any], record: bool) -> None:
    """A repeated key, however it is written and wherever it stands, is never accepted."""
    judges = form(contract, record)
    bases = bases_of(contract, record)
    added = [(base, *member) for base in [*bases, *map(with_colons, bases)] for member in repetitions(base)]
    texts = [write(base, (), {path: [member]}) for base, path, member in some(added, 3000)]
    if judges.decode:
        assert [text for text in texts if judges.decode(text.encode()) is not None] == []
    for escaped_colon in (text.replace(":::", "\\u003a:\\u003A") for text in texts if ":::" in text):
        assert judges.decode is None or judges.decode(escaped_colon.encode()) is None
    if record and texts:
        few = some(texts, 400)
        report = check("\n".join(few).encode(), contract, "x.jsonl")
        assert {p.record for p in report.problems if p.code == "MC015"} == set(range(len(few)))
    for text in () if record else some(texts, 40):
        assert "MC015" in {p.code for p in check(text.encode(), contract, "x.json").problems}, text


FAULTS = (
    b"NaN", b"Infinity", b"-Infinity", b"nan", b"1e309", b"-1e400", b"1" + b"0" * 400, b"1" + b"0" * 400 + b".5",
    b"01", b"-01", b"+1", b".5", b"1.", b"1e", b"1e+", b"0x1", b"1_0", b"--1", b"True", b"None", b"undefined", b"'a'",
    b'"\\ud800"', b'"\\udc00"', b'"\\udc00\\ud800"', b'"\\ud800\\u0041"', b'"\\ud83d\\ud83d\\ude00"',
    b'"\xed\xa0\x80"', b'"\xff"', b'"\xc0\xaf"', b'"\xe2\x82"', b'"a\tb"', b'"a\nb"', b'"\x00"', b'"\x1f"', b'"\\x41"',
    b'"\\u12"', b'"\\u 123"', b'"\\a"', b'"a', b"[1,]", b"[,1]", b"[1 2]", b'{"a":1,}', b'{"a" 1}', b"{a:1}",
    b'{"\\ud800":1}', b'{"a":1,"\\u0061":1}', b'{"a":NaN}', b'[{"a":1e999}]', b"1 // one", b"\xef\xbb\xbf1", b"1]",
    b"1}", b"\xc2\xa01",
)  # fmt: skip
"""What no JSON value is, or none that a contract allows, wherever it stands."""


@each_form
def test_faulty_text(contract: Contract[Any], record: bool) -> None:
    """Text that is not JSON, or that holds what no contract allows, is accepted by nothing, wherever it stands."""
    judges = form(contract, record)
    texts: list[bytes] = []
    for base in bases_of(contract, record)[:3]:
        for path in list(paths(base))[1:]:
            before, _, after = write(put(base, path, "?fault?")).encode().partition(b'"?fault?"')
            texts += [before + fault + after for fault in FAULTS]
    for text in some(texts, 2000):
        with pytest.raises((Oddity, ValueError)):
            parse(text)
        assert judges.decode is None or judges.decode(text) is None, text
    if record:
        lines = some([text for text in texts if b"\n" not in text], 400)
        report = check(b"\n".join(lines), contract, "x.jsonl")
        assert {p.record for p in report.problems if p.code.startswith("MC0")} == set(range(len(lines)))
    for text in () if record else some(texts, 50):
        assert any(p.code.startswith("MC0") for p in check(text, contract, "x.json").problems), text


def json_texts(keys: list[str]) -> st.SearchStrategy[str]:
    """JSON texts of any shape, with keys that are often repeated."""
    scalars = st.sampled_from(
        [
            "null",
            "true",
            "0",
            "-0.0",
            "1",
            "1.0",
            "1e2",
            "0.5",
            "9007199254740993",
            "1e400",
            '""',
            '" "',
            '":"',
            '"\\u003a"',
            '"x"',
        ]
    )
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
            st.lists(st.tuples(st.sampled_from(keys), inner), max_size=3).map(object_text),
        ),
        max_leaves=12,
    )


def object_text(members: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key} : {value}" for key, value in members) + "}"


@pytest.mark.parametrize(
    "contract", [c for c in COLLECTIONS if form(c, record=True).decode], ids=lambda contract: contract.id
)
@property_settings(40)
@given(data=st.data())
def test_random_texts(contract: Contract[Any], data: st.DataObject) -> None:
    """Whatever is made of a record's keys and values: what the fast path takes, Pydantic takes, as the same value."""
    base = data.draw(st.sampled_from(records(contract)))
    known = sorted({key for record in records(contract) for key in record})
    anything = json_texts(['"a"', '"\\u0061"', '"a:"', '":"', *(spellings(known[0]))])
    members: list[tuple[str, str]] = []
    for key, value in base.items():
        spelling = data.draw(st.sampled_from(spellings(key)))
        free = key in ("embeddings", "lsi_confidence_scores") or data.draw(st.integers(0, 19)) == 0
        members.append((spelling, data.draw(anything) if free else write(value)))
    if data.draw(st.booleans()):
        again = data.draw(st.sampled_from(known).flatmap(lambda key: st.sampled_from(spellings(key))))
        members.append((again, data.draw(anything)))
    text = object_text(data.draw(st.permutations(members))).encode()
    assert wrongly_accepted(text, form(contract, record=True)) is None


@pytest.mark.slow
def test_blank_string_in_a_record_of_a_million_keys() -> None:
    """However many keys a record has, none of them makes up for a blank string."""
    contract = registry.contract("triage/response")
    few = encode({**records(contract)[0], "model_predictions": [" "], "embeddings": {"many": 0}})
    text = few.replace(b'"many":0', ",".join(f'"{number}":0' for number in range(1_000_001)).encode())
    decode = form(contract, record=True).decode
    accepted = decode is not None and decode(text) is not None
    assert not accepted


@pytest.mark.parametrize("key", ["form:answered", "form:failed"])
def test_key_named_like_a_form(key: str) -> None:
    """A key that is spelled like a name inside medcontract is a key like any other."""
    for contract in COLLECTIONS:
        texts = [encode({**record, key: value}) for record in records(contract) for value in (None, "x", {key: 1})]
        assert disagreements(record_verdicts(texts, contract)) == []
