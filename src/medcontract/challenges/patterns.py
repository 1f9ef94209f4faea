"""Patterns of challenge files: portable across languages, and never slow."""

from __future__ import annotations

from dataclasses import dataclass
from re import _constants, _parser  # type: ignore[attr-defined]  # the only way to the parsed form of a pattern
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import PydanticCustomError, SchemaError, core_schema

from medcontract.contracts.base import Matching
from medcontract.contracts.string_patterns import BLANK, BLANKS
from medcontract.errors import CallError
from medcontract.types import JsonObject

_MOST_WAYS = 100


@dataclass(frozen=True)
class BoundedMatching(Matching):
    """A single-line string that matches a pattern, with bounds on its length; not blank unless `blank`."""

    min_length: int | None = None
    max_length: int | None = None
    blank: bool = True

    def one_line(self, value: str) -> str:
        if not self.blank and not value.strip(BLANKS):
            raise PydanticCustomError("string_pattern_mismatch", "blank", {"pattern": self.anchored})
        return super().one_line(value)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        text = core_schema.str_schema(pattern=self.anchored, min_length=self.min_length, max_length=self.max_length)
        return core_schema.no_info_after_validator_function(self.one_line, text)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> JsonObject:
        found = super().__get_pydantic_json_schema__(schema, handler)
        if not self.blank:
            found["not"] = {"type": "string", "pattern": f"{found['not']['pattern']}|{BLANK}"}
        lengths = {"minLength": self.min_length, "maxLength": self.max_length}
        return {**found, **{word: length for word, length in lengths.items() if length is not None}}


def check_pattern(pattern: str) -> None:
    """Raises `CallError` for a pattern that is not portable, not valid, or too large."""
    try:
        TypeAdapter(Annotated[str, BoundedMatching(pattern)])
        is_fast(pattern)
    except SchemaError:
        raise CallError("the compiled pattern is too large", "use smaller numbers in {…}") from None
    except (RecursionError, OverflowError):
        raise CallError("the pattern is nested too deeply") from None


def is_fast(pattern: str) -> bool:
    """Return whether a backtracking engine, such as Python has, matches it in linear time, for certain.

    Other patterns are only matched by Pydantic, whose engine does not backtrack.
    """
    unbounded, ways = _ways(_parser.parse(pattern))
    return unbounded <= 1 and ways <= _MOST_WAYS


def _ways(parsed: Any) -> tuple[int, int]:
    """Return the number of unbounded repetitions, and in how many ways the rest can match; large numbers if nested."""
    unbounded, ways = 0, 1
    for operation, argument in parsed:
        if operation is _constants.MAX_REPEAT:
            low, high, inner = argument
            found = _repeated(low, high, *_ways(inner))
        elif operation is _constants.BRANCH:
            inside = [_ways(branch) for branch in argument[1]]
            found = sum(each[0] for each in inside), sum(each[1] for each in inside)
        elif operation is _constants.SUBPATTERN:
            found = _ways(argument[3])
        else:
            found = 0, 1
        unbounded, ways = unbounded + found[0], min(ways * found[1], 2 * _MOST_WAYS)
    return unbounded, ways


def _repeated(low: int, high: Any, unbounded: int, ways: int) -> tuple[int, int]:
    if unbounded or ways > 1:  # repeated choices multiply
        return (unbounded, ways + 1) if (low, high) == (0, 1) else (2, 1)
    return (1, 1) if high is _constants.MAXREPEAT else (0, high - low + 1)
