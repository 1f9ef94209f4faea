"""Recognizes records that are in a `.json` file in another arrangement than a list under its key.

For example by column, as `DataFrame.to_json()` writes them by default, or a single record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from medcontract.contracts import recognition
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract, compiled, find
from medcontract.errors import NotRecognized
from medcontract.hints import foreign_files
from medcontract.hints.table_arrangements import in_records, records_match_exactly
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, is_plain
from medcontract.reading.diagnosis import MOST_BYTES
from medcontract.reading.json_scanner import find as find_value
from medcontract.reading.json_stream import Member, is_json
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.located_records import Broken
from medcontract.reading.source import Source
from medcontract.types import Outline

_MOST_CHECKED = 20
"""Members of an object that are checked."""
RECORDS = "df.to_dict('records')"
_INDEXED = "df.reset_index().to_dict('records')"
"""If the index has ids."""


class Shape(NamedTuple):
    """How the records are arranged."""

    what: str
    """Completes "expected a list of records, got …"."""
    keys: frozenset[str]
    """The keys of a record, if they are known."""
    how: str
    """Completes "write …": the list of records."""


def by_column(value: Mapping[str, Any]) -> bool:
    """Return whether each member is a column: an object with row numbers as keys."""
    return _all(value, lambda column: isinstance(column, dict) and _all_numbered(column))


def _all(value: Mapping[str, Any], check: Callable[[Any], bool]) -> bool:
    some = list(value.values())[:_MOST_CHECKED]
    return bool(some) and all(map(check, some))


def _all_numbered(value: Mapping[str, Any]) -> bool:
    return bool(value) and all(key.isdigit() for key in list(value)[:_MOST_CHECKED])


def _columns(value: Mapping[str, Any]) -> Shape | None:
    keys = frozenset(value)
    what = "an object with the columns, as df.to_json() writes it"
    if by_column(value) and _mostly_fields(keys):
        return Shape(what, keys, RECORDS)
    first = next(iter(value.values()))
    by_id = isinstance(first, dict) and not _mostly_fields(frozenset(first)) and _same_keys(value, frozenset(first))
    return Shape(what, keys, _INDEXED) if by_id and len(first) > 1 and keys <= _fields() else None


def _split(value: Mapping[str, Any]) -> Shape | None:
    names = value.get("columns")
    if not isinstance(names, list) or not isinstance(value.get("data"), list):
        return None
    keys = frozenset(name for name in names if isinstance(name, str))
    index = value.get("index")
    has_names = isinstance(index, list) and any(isinstance(name, str) for name in index[:1])
    return Shape("a table with orient='split'", keys, _INDEXED if has_names else RECORDS)


def _table(value: Mapping[str, Any]) -> Shape | None:
    schema, data = value.get("schema"), value.get("data")
    if not isinstance(schema, dict) or "fields" not in schema or not isinstance(data, list):
        return None
    first = data[0] if _is_list_of_records(data) else {}
    return Shape("a table with orient='table'", frozenset(first) - {"index"}, RECORDS)


def _lists(value: Mapping[str, Any]) -> Shape | None:
    """Recognize a list for each column, as `df.to_dict('list')`."""
    are_lists = _all(value, lambda column: isinstance(column, list))
    objects = [isinstance(item, dict) for column in value.values() for item in column[:1]] if are_lists else []
    same_length = are_lists and len({len(column) for column in value.values()}) == 1
    is_column = not any(objects) or (same_length and not all(objects))
    keys = frozenset(value)
    if not are_lists or not is_column or len(keys) < 2 or _record_contract(keys) is None:
        return None
    return Shape("an object with a list for each column", keys, RECORDS)


def _by_index(value: Mapping[str, Any]) -> Shape | None:
    """Recognize a record for each key: a row number, or an id."""
    if not _all(value, lambda record: isinstance(record, dict)):
        return None
    first = next(iter(value.values()))
    keys = frozenset(first)
    if not _mostly_fields(keys) or not (_all_numbered(value) or _same_keys(value, keys)):
        return None
    return Shape("an object with a record for each key", keys, _values_with_id(keys))


def _values_with_id(keys: frozenset[str]) -> str:
    """Return the values as a list in Python, with their keys as the one field that they lack."""
    contract = _record_contract(keys)
    lacking = min((form - keys for form in contract.forms), key=len) if contract else frozenset()
    if len(lacking) != 1:
        return "list(data.values())"
    return f"[{{'{min(lacking)}': key, **record}} for key, record in data.items()]"


def _same_keys(value: Mapping[str, Any], keys: frozenset[str]) -> bool:
    return _all(value, lambda record: isinstance(record, dict) and frozenset(record) == keys)


def _single(value: Mapping[str, Any]) -> Shape | None:
    if _record_contract(frozenset(value)) is None:
        return None
    return Shape("a single record", frozenset(value), "[record]")


def _is_list_of_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


_SHAPES = (_columns, _split, _table, _lists, _by_index, _single)
"""In this order: the first that matches."""


def _record_contract(keys: frozenset[str]) -> CompiledContract | None:
    """Return the contract whose record has these keys, if there is one with a list of records.

    One that allows other keys must know all of them: almost anything resembles it otherwise.
    """
    found = recognition.of_record(keys)
    if isinstance(found, NotRecognized):
        return None
    contract = find(found.contract_id)
    return contract if contract.list_key and (not contract.open or keys <= contract.record) else None


def _mostly_fields(keys: frozenset[str]) -> bool:
    """Return whether most of the keys are fields of the records of one contract."""
    return any(entry.list_key and 2 * len(keys & entry.record) > len(keys) for entry in compiled().values())


def _fields() -> frozenset[str]:
    """Return all fields of records of any contract."""
    return frozenset[str]().union(*(entry.record for entry in compiled().values() if entry.list_key))


_DEEPEST = 4
_LONGEST_TEXT = 1 << 16


class _Path(NamedTuple):
    """How to get from a value to the records in it."""

    how: str
    """In Python, with `{}` for the value."""
    keys: frozenset[str]
    """The members of a record."""
    is_list: bool

    def of(self, name: str) -> str:
        return self.how.replace("{}", name)

    def from_member(self, key: str) -> _Path:
        return self._replace(how=self.of(f"{{}}['{key}']"))

    def from_items(self, items: str = "{}") -> _Path:
        """Return the way from a list of such values."""
        each = self.of("each")
        if not self.is_list:
            return self._replace(how=f"[{each} for each in {items}]" if each != "each" else items, is_list=True)
        return self._replace(how=f"[record for each in {items} for record in {each}]")


def _records_in(value: Any, depth: int = _DEEPEST) -> _Path | None:
    """Find the only records that are inside a value: under other keys, in lists of lists, in texts."""
    if isinstance(value, str) and len(value) < _LONGEST_TEXT and value.lstrip().startswith(("{", "[")):
        inner = _records_in(parsed(value.encode()), depth - 1) if depth else None
        return inner and inner._replace(how=inner.of("json.loads({})"))
    if isinstance(value, list):
        inner = _records_in(value[0], depth - 1) if value and depth else None
        return inner and inner.from_items()
    if not isinstance(value, dict) or not value:
        return None
    keys = frozenset(value)
    if any(entry.list_key and not entry.open and any(form <= keys for form in entry.forms)
           and 2 * len(keys & entry.record) > len(keys) for entry in compiled().values()):  # fmt: skip
        return _Path("{}", keys, is_list=False)
    if depth and (shape := _split(value)):
        return _Path(shape.how, shape.keys, is_list=True)
    members = list(value.items())[:_MOST_CHECKED] if depth else []
    found = [(key, inner) for key, member in members if (inner := _records_in(member, depth - 1))]
    if len(found) > 1 and len(found) == len(members) and all(inner.is_list for _, inner in found):
        return found[0][1].from_items("{}.values()")
    if len(found) != 1 or not is_plain(found[0][0]):
        return None
    key, inner = found[0]
    shared = inner.is_list and depth < _DEEPEST and not keys.isdisjoint(_fields() - {key})  # their group is a field
    return None if shared else inner.from_member(key)


def shape_of(value: Any) -> Shape | None:
    """Explain how records are arranged in an object where a list of records is expected."""
    if not isinstance(value, dict) or not value:
        return None
    return next((shape for recognize in _SHAPES if (shape := recognize(value))), None)


def wrong_shape(value: Any, offset: int, contract: CompiledContract | None = None) -> Finding | None:
    """Return the finding about a complete `.json` file whose records are not in the list of their contract."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        hint = "write it once: json.dump(data, file), not json.dump(json.dumps(data), file)"
        return Finding("MC103", "expected an object, got a string with JSON in it", hint, offset=offset)
    shape = None if _inner_file(value) else _rows_of(value) or shape_of(value)
    if shape is None:
        return _wrapped(value, offset)
    known = contract or _record_contract(shape.keys)
    return Finding("MC103", f"expected an object with a list of records, got {shape.what}", _wrap(shape.how, known),
                   offset=offset)  # fmt: skip


def _rows_of(value: Any) -> Shape | None:
    """Recognize a list of rows without names, as `orient='values'`."""
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return None
    if not any(isinstance(cell, str) for cell in value[0]):
        return None  # a matrix
    return Shape("a list of rows without column names", frozenset(), RECORDS)


def _wrapped(value: Any, offset: int) -> Finding | None:
    """Recognize a complete file inside a list, or as a member of an object."""
    if found := _inner_file(value):
        key, contract_id = found
        where = f"under '{key}'" if is_plain(key) else "in another object"
        message = f"expected {f'the keys of {contract_id}' if contract_id else 'a list of records'}, got them {where}"
        return Finding("MC103", message, "write the inner object itself, without the outer one", offset=offset)
    is_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)
    if is_one and any(isinstance(value[0].get(key), list) for key in list_keys()):
        return Finding("MC103", "expected an object, got a list", "remove the outer brackets [ ]", offset=offset)
    return None


def _records_inside(value: Any, offset: int, contract: CompiledContract | None = None) -> Finding | None:
    """Return the finding about records that are deeper in a file than they should be."""
    path = _records_in(value)
    if path is None or not path.is_list or path.how == "{}":
        return None
    if contract and isinstance(value, dict) and any(_is_list_of_records(member) for member in value.values()):
        return None  # the list has another name: one key is missing, and one is unknown
    hint = _wrap(path.of("data"), contract or _record_contract(path.keys))
    return Finding("MC103", "expected an object with a list of records, got other objects around them", hint,
                   offset=offset)  # fmt: skip


def _inner_file(value: Any) -> tuple[str, str] | None:
    """Return the key of the only member that is a file of a contract, and its id, which is empty if uncertain."""
    members = list(value.items())[:_MOST_CHECKED] if isinstance(value, dict) else []
    inside = [(key, inner) for key, inner in members if isinstance(inner, dict)]
    found = [(key, contract_id) for key, inner in inside if (contract_id := recognition.exact(_outline(inner)))]
    if not found and len(members) == 1:
        found = [(key, "") for key, inner in inside if any(isinstance(inner.get(name), list) for name in list_keys())]
    return found[0] if len(found) == 1 else None


def _outline(value: Mapping[str, Any]) -> Outline:
    items = {key: frozenset(each[0]) for key, each in value.items() if _is_list_of_records(each)}
    return Outline(frozenset(value), items, None, "object")


def list_keys() -> frozenset[str]:
    return frozenset(entry.list_key for entry in compiled().values() if entry.list_key)


def _wrap(how: str, contract: CompiledContract | None) -> str:
    """Explain how to write a file with the list of records that `how` creates."""
    content = _file(contract, how) if contract else how
    return f"write a list of records, in Python: json.dump({content}, file)"


def _file(contract: CompiledContract, records: str) -> str:
    header = sorted(contract.header_required - {contract.list_key})
    return "{" + "".join(f'"{name}": "…", ' for name in header) + f'"{contract.list_key}": {records}' + "}"


def list_hint(value: Any) -> str | None:
    """Explain how to turn a value that contains records into a list of them."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        return "write the list itself, not a string: do not call json.dumps on a part of the data"
    shape = shape_of(value)
    path = _records_in(value) if shape is None else None
    how = shape.how if shape else path.of("data") if path and path.is_list and path.how != "{}" else None
    return f"write a list of records: {how}" if how else None


def explain(source: Source, found: Recognized | NotRecognized) -> Finding | None:
    """Say how the records of a file that matches no contract exactly are arranged, if that is clear."""
    raw, value, start = _start_of_file(source)
    if foreign := foreign_files.of_value(value, start):
        return foreign if is_json(source) else None
    if isinstance(found, Recognized):
        finding = _rows_of_a_table(value, start, found.renames, find(found.contract_id))
    else:
        finding = wrong_shape(value, start) or _not_a_list(value, raw, source.start) or _rows_of_a_table(value, start)
        finding = finding or _records_inside(value, start)
    return finding if finding and is_json(source) else None


def explain_structure(source: Source, contract: CompiledContract, outer: Member | None) -> Finding | None:
    """Say what is wrong with a file of a contract without its list of records; `outer` is its value, if no object."""
    raw, value, start = _start_of_file(source)
    found = wrong_shape(value, start, contract) or _not_a_list(value, raw, source.start)
    found = found or _records_inside(value, start, contract)
    if found or outer is None:
        return found
    is_list = outer.raw == b"[]"
    hint = f"wrap it: {_file(contract, '[…]')}" if is_list else None
    return Finding("MC103", f"expected an object, got {'a list' if is_list else 'this'}", hint, offset=outer.offset)


def _start_of_file(source: Source) -> tuple[bytes, Any, int]:
    """Return the first bytes of a file, their value if they are JSON, or were before they were cut, and its offset."""
    raw = source.read(source.start, MOST_BYTES + 1)
    value = parsed(raw if len(raw) <= MOST_BYTES else start_of(raw))
    return raw, value, source.start + len(raw) - len(raw.lstrip())


def _rows_of_a_table(
    value: Any, offset: int, renamed: Collection[str] = (), contract: CompiledContract | None = None
) -> Finding | None:
    """Explain records that are the rows of a table in another arrangement than in their contract, if known."""
    lists = [value] if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    for records in lists[:_MOST_CHECKED]:
        is_right = _is_list_of_records(records) and contract and records_match_exactly(records[0], contract)
        finding = in_records(records, renamed) if isinstance(records, list) and not is_right else None
        if finding:
            return finding._replace(offset=offset)
    return None


def parsed(raw: bytes) -> Any:
    """Return the value of a JSON text; None if it is not one."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _not_a_list(value: Any, raw: bytes, base: int) -> Finding | None:
    """Explain a header whose records are not in a list, but otherwise arranged."""
    for key in list_keys() & frozenset(value) if isinstance(value, dict) else ():
        if _rows_of(value[key]):
            hint: str | None = f"write a list of records: {RECORDS}"
            message = f"'{key}' must be a list of records, not of rows without column names"
        else:
            hint = list_hint(value[key])
            message = f"'{key}' must be a list, not {'an object' if isinstance(value[key], dict) else 'a string'}"
        if hint:
            return Finding("MC103", message, hint, path=(key,), offset=base + _place(raw, key))
    return None


def _place(raw: bytes, key: str) -> int:
    try:
        return find_value(raw, (key,))[0]
    except Broken:  # the text is only the start of the file
        return 0


_CLOSING = {ord("{"): b"}", ord("["): b"]"}
_TOKENS = lazy_pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],]', re.DOTALL)


def start_of(raw: bytes) -> bytes:
    """Return the members of a truncated text that are complete, with its brackets closed; empty if there are none."""
    stack: list[int] = []
    end, closing = 0, b""
    for match in _TOKENS.finditer(raw):
        token = match.group()
        if token in (b"{", b"["):
            stack.append(token[0])
        elif token in (b"}", b"]") and stack:
            stack.pop()
        elif token == b",":
            end, closing = match.start(), b"".join(_CLOSING[opening] for opening in reversed(stack))
        if len(stack) > MAX_DEPTH:
            break
    return raw[:end] + closing
