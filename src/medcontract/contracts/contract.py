"""The definition of a contract: id, model, rules, and how its records are stored in each container."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from medcontract.containers import names_for
from medcontract.contracts.rules import RecordRule, Rule
from medcontract.problems import Finding

if TYPE_CHECKING:
    from pydantic import BaseModel

Kind = Literal["collection", "document"]
Model = TypeVar("Model", bound="BaseModel", covariant=True)


class StandIn(Struct, frozen=True):
    """A truth whose ids are listed by files of another contract, for users who do not have the truth."""

    contract: str
    """The truth."""
    where: tuple[tuple[str, str], ...] = ()
    """Only records with these values in these fields count; if empty, all."""


class Contract(Struct, Generic[Model], frozen=True, kw_only=True, eq=False):
    """One contract. For a collection, `record` is the type of the items under `list_key`."""

    id: str
    model: type[Model]
    title: str
    record: Any = None
    list_key: str | None = None
    rules: tuple[Rule, ...] = ()
    """Rules about the document or header, about all records, and across files."""
    record_rules: tuple[RecordRule, ...] = ()
    """Rules about one record of a collection."""
    spread: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """List fields that are spread over several columns in tables: (field, column names)."""
    separators: tuple[tuple[str, str], ...] = ()
    """List fields that are one cell in tables, and what separates the items there."""
    texts: frozenset[str] = frozenset()
    """Text fields of which an empty cell of a CSV is the empty text, unless the record has an `error`."""
    flat: bool = False
    """Whether a record fits into a table row."""
    stands_in_for: tuple[StandIn, ...] = ()
    """The truths whose expected ids it lists: rules across files use it if the truth is not given."""
    reference_list: str | None = None
    """For documents: the list whose objects the rules of other files refer to."""
    source: str | None = None
    """The source document that the contract is based on."""
    output: bool = False
    """Whether medcontract itself writes such files."""
    result: bool = False
    """Whether it is the contract of `result` in a score of its track."""
    examples: tuple[PathLike[str], ...] = ()
    """Valid example files for `medcontract init`; the built-in tracks have separate folders."""
    version: int = 1

    @property
    def kind(self) -> Kind:
        return "document" if self.list_key is None else "collection"

    @property
    def containers(self) -> tuple[str, ...]:
        return names_for(self.kind == "document", self.flat)

    @property
    def urn(self) -> str:
        return "urn:medcontract:" + self.id.replace("/", ":") + f":v{self.version}"

    def record_adapter(self) -> Any:
        """Return a `TypeAdapter` of pydantic, which validates one record of a collection."""
        from pydantic import TypeAdapter

        return TypeAdapter(self.record)


AnyContract: TypeAlias = "Contract[BaseModel]"

Value = TypeVar("Value", covariant=True)
T = TypeVar("T")
_KEY = object()


class Validated(Generic[Value]):
    """A value that satisfies its contract. Only the contract layer can create one; scorers accept nothing else."""

    __slots__ = ("_contract", "_value")

    def __init__(self, key: object, value: Value, contract: str) -> None:
        if key is not _KEY:
            raise TypeError("Validated cannot be instantiated directly; use medcontract.load()")
        self._value = value
        self._contract = contract

    @property
    def value(self) -> Value:
        return self._value

    @property
    def contract(self) -> str:
        """Return the id of the contract that the value satisfies."""
        return self._contract

    def __repr__(self) -> str:
        return f"<Validated {self._contract}>"


def mark_validated(value: T, contract: str) -> Validated[T]:
    """Wrap a value that this layer has just checked."""
    return Validated(_KEY, value, contract)


class RecordSink(Protocol):
    """Receives the valid records of a collection, for scoring, and keeps what it needs of them."""

    def begin(self) -> None:
        """Start a file."""
        ...

    def take(self, records: Validated[Sequence[object]]) -> Sequence[tuple[int, Finding]]:
        """Consecutive valid records. Returns what is wrong with them across files, by position."""
        ...

    def reject(self, parsed: object) -> Sequence[Finding]:
        """Take an invalid record, as it was read: JSON, a record, or None. Returns what else is wrong with it."""
        ...

    def end(self, complete: bool) -> None:
        """End the file. If it is not `complete`, it could not be read to the end, and counts as having no records."""
        ...
