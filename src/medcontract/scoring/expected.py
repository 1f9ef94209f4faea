"""Reads the truth: the expected ids, and what scoring needs of each record."""

from __future__ import annotations

import marshal
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain, count, islice, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from medcontract.contracts.contract import Validated
from medcontract.contracts.rules import (
    Key,
    OtherFile,
    RecordCheck,
    Unique,
    is_ascending,
    run_checks,
)
from medcontract.problems import Finding
from medcontract.scoring.canonical import ContentHash
from medcontract.scoring.marks import NOT_EXPECTED

if TYPE_CHECKING:
    from medcontract.scoring.pairing import Pair


def validated(value: object) -> Any:
    """Return the wrapped value. Raises `TypeError` for any other: only data that passed its contract is scored."""
    if type(value) is not Validated:
        raise TypeError(f"expected validated data, got {type(value).__name__}")
    return value.value


class Expected:
    """A sink for the truth: collects the expected ids, and the item of each."""

    empty: ClassVar[str] = "the truth is empty"
    """Why nothing can be scored if it has no items."""

    def __init__(
        self,
        key: Sequence[str],
        item: Callable[[Any], Any],
        checks: Sequence[RecordCheck] = (),
        wanted: Callable[[Any], bool] | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        self.fields: dict[str, list[Any]] = {name: [] for name in fields}
        """For some fields of the truth, the value of each item."""
        self.key = tuple(key)
        self._item = item
        self.checks = checks
        """Checks of rules across files."""
        self._wanted = wanted
        """Selects records, if not all are expected."""
        self._content = ContentHash()
        self.items: list[Any] = []
        self.keys: list[Key] = []
        """The ids, in the order of the truth."""
        self._index: dict[Key, int] = {}
        self._repeated: list[Key] = []

    @classmethod
    def of(cls, pair: Pair, items: ExpectedItems) -> Expected:
        """Return the expected items that another process read."""
        expected = cls(pair.key, pair.item)
        expected.keys, expected.items, expected.fields = items.keys, items.items, dict(items.fields)
        if not items.ascending:
            expected._index.update(zip(items.keys, count()))
        return expected

    def export(self) -> ExpectedItems:
        """Return the items for another process."""
        return ExpectedItems(self.keys, self.items, not self._index, tuple(self.fields.items()))

    @property
    def total(self) -> int:
        """The number of expected items."""
        return len(self.items)

    def numbers_of(self, keys: list[Any], likely: int) -> Sequence[int]:
        """Return the index of the item of each id, a range if they have the order of the truth; or `NOT_EXPECTED`.

        `likely` is the index to expect for the first id. Ids that have the order of the truth are not looked up.
        """
        for start in (likely, self._place_of(keys[0])):
            if self.keys[start : start + len(keys)] == keys:
                return range(start, start + len(keys))
        return list(map(self.index.get, keys, repeat(NOT_EXPECTED)))

    def _place_of(self, key: Key) -> int:
        """Return the index of an expected item, or any other for an id that is not expected."""
        return self._index.get(key, 0) if self._index else bisect_left(self.keys, key)

    @property
    def index(self) -> dict[Key, int]:
        """The index of the item of each expected id. Only created if an id has to be looked up, to save memory."""
        known = len(self._index)
        if known < len(self.keys):
            self._index.update(zip(islice(self.keys, known, None), count(known)))
        return self._index

    def number_of(self, key: Key) -> int:
        """Return the index of an expected item, or `NOT_EXPECTED`."""
        return self.index.get(key, NOT_EXPECTED)

    def finds_repeated(self, rule: Unique) -> bool:
        """Return whether it finds the ids that the rule is about, if they are repeated (`KeyIndex`)."""
        return rule.fields == self.key and not rule.defaults and self._wanted is None

    def repeated_keys(self) -> Collection[Key]:
        return self._repeated

    def all_keys(self) -> Iterable[Key]:
        return chain(self.keys, self._repeated)

    def positions_of(self, keys: Collection[Key]) -> None:
        """Of a repeated id, only the first position is known."""

    def key_count(self) -> int:
        return len(self.keys) + len(self._repeated)

    def only(self, numbers: Sequence[int]) -> Expected:
        """Return a copy with some of the items, in this order."""
        other = copy(self)
        other.keys, other.items = [self.keys[n] for n in numbers], [self.items[n] for n in numbers]
        other.fields = {name: [values[n] for n in numbers] for name, values in self.fields.items()}
        other._index = {}
        return other

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[object]]) -> Sequence[tuple[int, Finding]]:
        rows = validated(records)
        positions: Sequence[int] = range(len(rows))
        if self._wanted:
            positions = [position for position in positions if self._wanted(rows[position])]
            rows = [rows[position] for position in positions]
        self._expect(rows)
        self._content.add(rows)
        if not self.checks:
            return ()
        checked = zip(positions, rows, strict=True)
        return [(position, finding) for position, record in checked for finding in run_checks(self.checks, record)]

    def _expect(self, rows: Sequence[object]) -> None:
        keys = list(map(attrgetter(*self.key), rows))
        if not self._index and is_ascending([*self.keys[-1:], *keys]):  # so none is repeated
            self._append(keys, rows)
            return
        index = self.index
        if len(set(keys)) < len(keys) or not index.keys().isdisjoint(keys):
            for key, row in zip(keys, rows, strict=True):  # of records with the same id, only the first counts
                known = len(self.items)
                self.add(key, self._item(row))
                self._append_fields([row] * (len(self.items) - known))
            return
        index.update(zip(keys, count(len(self.keys))))
        self._append(keys, rows)

    def _append(self, keys: Sequence[Key], rows: Sequence[object]) -> None:
        self.keys += keys
        self.items += map(self._item, rows)
        self._append_fields(rows)

    def _append_fields(self, rows: Sequence[object]) -> None:
        for name, values in self.fields.items():
            values += map(attrgetter(name), rows)

    def add(self, key: Key, item: object) -> int:
        """Expect an id, with this item if it is a new one. Returns the index of its item."""
        number = self.index.setdefault(key, len(self.items))
        if number == len(self.items):
            self.keys.append(key)
            self.items.append(item)
        else:
            self._repeated.append(key)
        return number

    def find(self, key: Key) -> Any:
        """Return the item of an expected id; None for an id that is not expected."""
        number = self.index.get(key)
        return None if number is None else self.items[number]

    def as_other_file(self, header: object = None) -> OtherFile:
        """Return the truth as rules of other files see it."""
        return OtherFile(ids=_Ids(self), find=self.find, header=header)

    def reject(self, parsed: object) -> Sequence[Finding]:
        """Nothing to do: a truth with errors is not used."""
        return ()

    def end(self, complete: bool) -> None:
        """Like `reject`."""

    def content_sha256(self) -> str:
        """Return the hash of the records. Can only be computed once: it drops them."""
        return self._content.sha256()


class _Ids(Collection[Key]):
    """The expected ids, for rules that look some of them up."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected

    def __contains__(self, key: object) -> bool:
        return key in self._expected.index

    def __iter__(self) -> Iterator[Key]:
        return iter(self._expected.index)

    def __len__(self) -> int:
        return len(self._expected.items)


class ExpectedItems(NamedTuple):
    """The expected ids and items, in a form that is quick to send."""

    keys: list[Key]
    items: list[Any]
    ascending: bool
    """Whether each key is larger than the one before it."""
    fields: tuple[tuple[str, list[Any]], ...] = ()
    """For some fields of the truth, the value of each item."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Send one block of bytes, which is far quicker than a million keys."""
        return _expected_items, (marshal.dumps(self.keys, 2), *self[1:])


def _expected_items(keys: bytes, *others: Any) -> ExpectedItems:
    return ExpectedItems(marshal.loads(keys), *others)  # noqa: S302  # made by `__reduce__`


class AnyId(Expected):
    """Accepts every id, if it is unknown which are expected."""

    def __init__(self, key: Sequence[str]) -> None:
        super().__init__(key, lambda record: None)

    def numbers_of(self, keys: list[Any], likely: int) -> Sequence[int]:
        return list(map(self.number_of, keys))

    def number_of(self, key: Key) -> int:
        return self.add(key, None)


def read_field(parsed: object, name: str) -> Any:
    """Return a field of an invalid record, if present."""
    return parsed.get(name) if isinstance(parsed, dict) else getattr(parsed, name, None)
