"""What a contract is: an id, a model, rules, and how its records lie in each container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from medcontract.definitions.rules import ObjectRule, Rule
from medcontract.problems import Finding

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel, TypeAdapter

Kind = Literal["collection", "document"]
Model = TypeVar("Model", bound="BaseModel", covariant=True)


class StandIn(Struct, frozen=True):
    """A truth whose ids are listed by files of another contract, for those who do not have the truth."""

    contract: str
    """The truth."""
    where: tuple[tuple[str, str], ...] = ()
    """Only records with these values in these fields are meant; none: all."""


class Contract(Struct, Generic[Model], frozen=True, kw_only=True, eq=False):
    """One contract. For a collection, `record` is the type of the items under `list_key`."""

    id: str
    model: type[Model]
    title: str
    record: Any = None
    list_key: str | None = None
    rules: tuple[Rule, ...] = ()
    """Rules about the whole file, its header and between files; and list rules."""
    record_rules: tuple[ObjectRule, ...] = ()
    """Rules about one record of a collection."""
    spread: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """In tables, a list field is spread over columns: (field, column names)."""
    flat: bool = False
    """Records fit a table row."""
    stands_in_for: tuple[StandIn, ...] = ()
    """The truths whose expected ids it lists: rules between files use it where the truth is not given."""
    reference_list: str | None = None
    """Of a document: the list whose objects a rule of another file refers to."""
    source: str | None = None
    """The document that the contract comes from."""
    output: bool = False
    """Written by medcontract itself."""
    result: bool = False
    """What a score of its track holds as `result`."""
    examples: tuple[Path, ...] = ()
    """Files that keep it, for `medcontract init`; the built-in tracks have folders of their own."""
    version: int = 1

    @property
    def kind(self) -> Kind:
        return "document" if self.list_key is None else "collection"

    @property
    def containers(self) -> tuple[str, ...]:
        if self.kind == "document":
            return ("json",)
        return ("json", "jsonl", "csv", "parquet") if self.flat else ("json", "jsonl")

    @property
    def urn(self) -> str:
        return "urn:medcontract:" + self.id.replace("/", ":") + f":v{self.version}"

    def record_adapter(self) -> TypeAdapter[Any]:
        """Validates one record of a collection."""
        from pydantic import TypeAdapter

        return TypeAdapter(self.record)


Value = TypeVar("Value", covariant=True)
_KEY = object()


class Validated(Generic[Value]):
    """A value that keeps its contract. Only the contract layer can make one; scorers take nothing else."""

    __slots__ = ("_contract", "_value")

    def __init__(self, key: object, value: Value, contract: str) -> None:
        if key is not _KEY:
            raise TypeError("Validated values come from medcontract.load(), not from a call")
        self._value = value
        self._contract = contract

    @property
    def value(self) -> Value:
        return self._value

    @property
    def contract(self) -> str:
        """The id of the contract that the value keeps."""
        return self._contract

    def __repr__(self) -> str:
        return f"<Validated {self._contract}>"


def vouch(value: Any, contract: str) -> Validated[Any]:
    """Wrap a value that this layer has just checked."""
    return Validated(_KEY, value, contract)


class Sink(Protocol):
    """Where the records of a collection go that keep their contract: to scoring. It takes what it needs of them."""

    def begin(self) -> None:
        """A file starts."""
        ...

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        """Records that follow each other. What is wrong with them beside other files, by position."""
        ...

    def lose(self, parsed: Any) -> Sequence[Finding]:
        """A record that breaks its contract, as it was read: JSON, a record, or None. What else is wrong with it."""
        ...

    def end(self, whole: bool) -> None:
        """The file ends. Not `whole`: it cannot be read to its end, and so has no records."""
        ...
