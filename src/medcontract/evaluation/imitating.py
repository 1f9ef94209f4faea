"""Makes submissions from a truth: good ones, bad ones, and ones with the mistakes that people make."""

from __future__ import annotations

import csv
import hmac
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

from medcontract.containers import CSV, JSON
from medcontract.contracts import registry
from medcontract.contracts.registry import CompiledContract, schemas_at, variants_of
from medcontract.scoring.track import Imitation

Record = dict[str, Any]
Schema = dict[str, Any]
_HASH_KEY = b"medcontract/rehearsal/1"
_MOST_VALUES = 20
"""The number of values of a field for which a constant submission is made."""


class Made(NamedTuple):
    """A submission that was made."""

    name: str
    about: str
    files: dict[str, bytes]
    unnoticed: bool = False
    """Nothing in the file shows that it is wrong."""


class Sheet:
    """The cases of one truth, with the right answers, and a file of a submission made from them."""

    def __init__(
        self, imitation: Imitation, key: tuple[str, ...], truth: Sequence[Record], header: Record, is_table: bool
    ) -> None:
        """`header`: of the truth."""
        self.imitation, self.key = imitation, key
        self.contract: CompiledContract = registry.find(imitation.submission)
        known = {**header, **imitation.header}
        self.header = {name: v for name, v in known.items() if name in self.contract.header and v is not None}
        self.keys = [{name: record[name] for name in self.key} for record in truth]
        self.answers = imitation.answers(truth)
        self.fixed = [imitation.fixed(record) for record in truth]
        flat = all(not isinstance(value, list | dict) for answer in self.answers for value in answer.values())
        self.is_table = is_table and imitation.tables and flat and CSV.name in self.contract.containers
        self.fields = tuple(dict.fromkeys(name for answer in self.answers for name in answer))
        self.columns = {name: [record.get(name) for record in truth] for name in imitation.labels}
        """What must not be revealed, by field: labels of the truth, and answers."""
        for name in self.fields:
            self.columns.setdefault(name, [answer.get(name) for answer in self.answers])

    @property
    def name(self) -> str:
        return f"{self.imitation.submission.replace('/', '-')}.{(CSV if self.is_table else JSON).name}"

    def record(self, case: int, answer: Record) -> Record:
        return {**self.keys[case], **self.fixed[case], **answer}

    def right(self) -> list[Record]:
        return [self.record(case, answer) for case, answer in enumerate(self.answers)]

    def file(self, records: Sequence[Record]) -> bytes:
        """Write records as a file."""
        if not self.is_table:
            content = {**self.header, str(self.contract.list_key): list(records)}
            return f"{json.dumps(content, ensure_ascii=False, indent=1)}\n".encode()
        columns = list(dict.fromkeys(name for record in records for name in record))
        stream = io.StringIO()
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows([[_cell(record.get(name)) for name in columns] for record in records])
        return stream.getvalue().encode()

    def nodes(self, field: str) -> list[Schema]:
        return schemas_at(self.contract.record_schema, (field,))

    def variants(self, nodes: Iterable[Schema | None]) -> list[Schema]:
        return [each for node in nodes if node is not None for each in variants_of(node, self.contract.record_schema)]

    def order(self, purpose: str) -> list[int]:
        """Return the cases in an order that depends on their keys only."""
        return sorted(range(len(self.keys)), key=lambda case: self.hash(case, purpose))

    def hash(self, case: int, purpose: str) -> int:
        text = json.dumps([purpose, *self.keys[case].values()], ensure_ascii=False).encode("utf-8", "surrogatepass")
        return int.from_bytes(hmac.digest(_HASH_KEY, text, "sha256")[:8])


def _cell(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


# --- the submissions --------------------------------------------------------------------------------------------------


def made(sheets: Sequence[Sheet]) -> Iterator[Made]:
    """Return all submissions, the perfect one first."""

    def of(name: str, about: str, records: Callable[[Sheet], Sequence[Record]]) -> Made:
        return Made(name, about, {sheet.name: sheet.file(records(sheet)) for sheet in sheets})

    perfect = of("perfect", "the truth", Sheet.right)
    yield perfect
    yield of("inverted", "of each answer the least alike", _inverted)
    yield of("constant", "the most frequent answer for every case", _constant)
    for sheet in sheets:
        for about, changed in _constants(sheet):
            files = {each.name: each.file(_constant(each, changed if each is sheet else {})) for each in sheets}
            yield Made("constant", about, files)
    yield of("prior", "answers drawn from the truth", prior)
    yield of("shuffled", "the answers of other cases", _shuffled)
    yield of("half", "every second case left out", lambda sheet: sheet.right()[::2])
    if all(sheet.imitation.failed for sheet in sheets):
        yield of("failed", "an error for every case", _failed)
    field = next((name for sheet in sheets for name in _required(sheet) if name in sheet.fields), sheets[0].fields[0])
    wrong = f"{field[:-1]}_{field[-1]}"
    yield of("renamed", f"the column {field} is called {wrong}", lambda sheet: [
        {wrong if name == field else name: value for name, value in record.items()} for record in sheet.right()
    ])  # fmt: skip
    halves = {name: content[: len(content) // 2] for name, content in perfect.files.items()}
    yield Made("truncated", "a file that is cut in the middle", halves)
    yield from _swapped(sheets)


def without(sheets: Sequence[Sheet], records: Sequence[Sequence[Record]], left: tuple[int, int]) -> dict[str, bytes]:
    """Return the files of a submission without one record: the number of its sheet, and its number there."""
    return {
        sheet.name: sheet.file([r for n, r in enumerate(rows) if (number, n) != left])
        for number, (sheet, rows) in enumerate(zip(sheets, records, strict=True))
    }


def prior(sheet: Sheet, which: str = "") -> list[Record]:
    """Return a record for each case, with the answer of a case that a hash chooses."""
    count = len(sheet.answers)
    return [sheet.record(case, sheet.answers[sheet.hash(case, f"prior{which}") % count]) for case in range(count)]


def half_right(sheet: Sheet, which: str = "") -> list[Record]:
    """Return right answers for about half of the cases, and drawn ones for the others.

    `which`: another name gives other cases and draws.
    """
    drawn, right = prior(sheet, which), sheet.right()
    return [right[case] if sheet.hash(case, f"right{which}") % 2 else drawn[case] for case in range(len(right))]


def _shuffled(sheet: Sheet) -> list[Record]:
    order = sheet.order("shuffled")
    other = dict(zip(order, [*order[1:], *order[:1]], strict=True))
    return [sheet.record(case, sheet.answers[other[case]]) for case in range(len(order))]


def _inverted(sheet: Sheet) -> list[Record]:
    nodes = {name: sheet.nodes(name) for name in sheet.fields}
    lists = {name: [a[name] for a in sheet.answers if isinstance(a.get(name), list)] for name in sheet.fields}
    known = {
        name: sorted({item for value in values for item in value if isinstance(item, str)})
        for name, values in lists.items()
    }
    return [
        sheet.record(case, {name: opposite(value, nodes[name], known[name], sheet) for name, value in answer.items()})
        for case, answer in enumerate(sheet.answers)
    ]


def opposite(value: Any, nodes: Sequence[Schema], known: Sequence[str], sheet: Sheet) -> Any:
    """Return what is least like a value: the farthest class, 1 − p, the negated number, the other items of a set."""
    classes = next((node["enum"] for node in nodes if "enum" in node), None)
    if value is None or isinstance(value, bool):
        return None if value is None else not value
    if classes is not None:
        at = classes.index(value)
        return classes[0] if at >= len(classes) / 2 else classes[-1]
    if isinstance(value, int | float):
        low, high = (next((n[word] for n in nodes if word in n), None) for word in ("minimum", "maximum"))
        if low is not None and high is not None:
            return low + high - value
        least = -value if low is None else max(low, -value)
        return least if high is None else min(least, high)
    if isinstance(value, str):
        return "1900-01-01" if any(node.get("format") == "date" for node in nodes) else "other"
    if isinstance(value, dict):
        known_names = [name for node in nodes for name in node.get("properties", {})]
        value = value or {name: [] for name in known_names[:1]}
        inner = {name: sheet.variants([node.get("properties", {}).get(name) for node in nodes]) for name in value}
        return {name: opposite(each, inner[name], (), sheet) for name, each in value.items()}
    if value and all(isinstance(item, int | float) for item in value):
        return value[::-1]
    items = sheet.variants([node.get("items") for node in nodes])
    listed = next((item["enum"] for item in items if "enum" in item), known)
    others = [item for item in listed if item not in value] if all(isinstance(item, str) for item in value) else []
    return others or ([] if value else ["other"])


def _constant(sheet: Sheet, changed: Mapping[str, object] = MappingProxyType({})) -> list[Record]:
    """Return the most frequent answer for every case, with some fields changed."""
    answer = {**_most_frequent(sheet), **changed}
    return [sheet.record(case, answer) for case in range(len(sheet.answers))]


def _most_frequent(sheet: Sheet) -> Record:
    counted = Counter(map(_text, sheet.answers))
    answer: Record = json.loads(max(counted, key=lambda text: (counted[text], text)))
    return answer


def _constants(sheet: Sheet) -> Iterator[tuple[str, Record]]:
    """Return a description and the change for each class or value of each field. Only names of classes are shown."""
    frequent = _most_frequent(sheet)
    for name in sheet.fields:
        values = Counter(_text(answer[name]) for answer in sheet.answers if name in answer)
        classes = next((node["enum"] for node in sheet.nodes(name) if "enum" in node), None)
        texts = [text for text, _ in sorted(values.items(), key=lambda item: (-item[1], item[0]))]
        if classes is not None:
            texts = sorted(texts, key=lambda text: classes.index(json.loads(text)))
        share = _share(sheet, name)
        for number, text in enumerate(texts[:_MOST_VALUES], 1):
            value = json.loads(text)
            if value == frequent.get(name):
                continue
            shown = f"value {number} of {len(texts):,}"
            if classes is not None or isinstance(value, bool):
                shown = text
            elif share is not None and value in (0, 1):
                shown = f"{value:g}"
            if sheet.imitation.describe:
                shown = sheet.imitation.describe(value)
            yield f"{name} is {shown} for every case", {name: value}
        if share is not None:
            yield f"{name} is the share of positive cases for every case", {name: share}


def _share(sheet: Sheet, name: str) -> float | None:
    """Return the share of positive cases if a field is a probability of a class: its right values are 0 and 1."""
    if not any(
        n.get("type") == "number" and n.get("minimum") == 0 and n.get("maximum") == 1 for n in sheet.nodes(name)
    ):
        return None
    values = [answer.get(name) for answer in sheet.answers]
    zeros, ones = values.count(0), values.count(1)
    return ones / (zeros + ones) if zeros and ones and zeros + ones > len(values) / 2 else None


def _failed(sheet: Sheet) -> list[Record]:
    needs_all = len(variants_of(sheet.contract.record_schema)) == 1  # also what an answered record needs
    return [
        {**key, **(fixed if needs_all else {}), **sheet.imitation.failed}
        for key, fixed in zip(sheet.keys, sheet.fixed, strict=True)
    ]


def _required(sheet: Sheet) -> list[str]:
    return max((v.get("required", []) for v in variants_of(sheet.contract.record_schema)), key=len)


def _swapped(sheets: Sequence[Sheet]) -> Iterator[Made]:
    """Exchange two columns: of different types if possible, and two of the same type, which nothing notices."""
    pairs = [(sheet, one, other) for sheet in sheets for one, other in combinations(_columns(sheet), 2)]
    for unnoticed in (False, True):
        for sheet, one, other in [pair for pair in pairs if _alike(*pair) == unnoticed][:1]:
            records = [{**r, one: r.get(other), other: r.get(one)} for r in sheet.right()]
            files = {each.name: each.file(records if each is sheet else each.right()) for each in sheets}
            yield Made("swapped", f"the columns {one} and {other} are exchanged", files, unnoticed)


def _columns(sheet: Sheet) -> list[str]:
    """Return the columns with one value in a cell, answers first."""
    answers = [
        name for name in sheet.fields if all(type(a.get(name)) in (str, int, float, bool) for a in sheet.answers)
    ]
    others = [name for name, value in sheet.fixed[0].items() if isinstance(value, str)]
    return [*answers, *sheet.key, *others]


def _alike(sheet: Sheet, one: str, other: str) -> bool:
    """Return whether two columns can be exchanged unnoticed. An id in the place of another is unknown."""
    if {one, other} - set(sheet.fields):
        return False
    shapes = [[{k: v for k, v in n.items() if k != "description"} for n in sheet.nodes(name)] for name in (one, other)]
    return shapes[0] == shapes[1]
