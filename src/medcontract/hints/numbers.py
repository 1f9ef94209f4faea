"""Hints about wrong numbers: their spelling, a unit, a scale."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from medcontract.contracts.registry import schemas_at, value_at
from medcontract.contracts.wrong_values import decimal, quantity, unit_of
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Path

_LONGEST_NUMBER = 200
_DECIMAL_COMMA = lazy_pattern(r"\s*-?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?\s*")
_PLAIN_NUMBER = lazy_pattern(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_AMBIGUOUS = lazy_pattern(r"\s*-?[1-9][0-9]{0,2},[0-9]{3}\s*")
"""A decimal comma, or a thousands separator."""
_PERCENT = lazy_pattern(r"\s*[0-9]+([.,][0-9]+)?\s*(?:%|percent|per cent|pct|por ciento)\s*")
_CLOCK = lazy_pattern(r"\s*[0-9]+(:[0-9]{2}){1,2}([.,][0-9]+)?\s*")
_DATE_LIKE = lazy_pattern(r"\s*([0-9]{4}([-./])[0-9]{2}\2[0-9]{2}.*|[0-9]{1,2}([-./])[0-9]{1,2}\3[0-9]{4}.*)\s*")
_MONTH = (
    "(?:jan|feb|m[aä]r|apr|ma[iy]|june?|july?|aug|sept?|o[ck]t|nov|de[cz]|ene|abr|ago|dic)"
    "(?:uary|ruary|ch|il|ust|tember|ober|ember)?"
)
_APART = "[. /-]{1,2}"
_NUMBER_HINTS = (
    (lazy_pattern(r"-?[0-9]{1,3}([,.' ][0-9]{3})+([.,][0-9]+)?"), "write the number without thousands separators"),
    (lazy_pattern(r"nan|n/?a|null|none|#?n/?a!?|[-.?*]+|\\n|inf|infinity|#[a-z0-9/]+[!?]?", re.IGNORECASE),
     "write a number; if there is none, use null or an empty cell where that is allowed"),
    (lazy_pattern(r""), "write a number; it must not be empty"),
    (lazy_pattern(r"[A-Za-z_][\w.]*\((?:[^0-9]*)-?[0-9.]+(?:e-?[0-9]+)?\D.*\)|[A-Za-z_][\w.]*\(-?[0-9.]+(?:e-?[0-9]+)?\)"),
     "write the number alone, without the name of its type (in Python: value.item())"),
    (lazy_pattern(r"[\[(]+[^]),]*,?[\])]+"), "write the number itself, without brackets"),
    (lazy_pattern(r"-?P(?:[0-9]+D)?T[0-9.HMS]+|-?[0-9]+ days?,? [-+]?[0-9]+:[0-9]{2}(?::[0-9.]+)?"),
     "write a number{unit}, not a duration (in pandas: column.dt.total_seconds())"),
    (lazy_pattern(r"[0-9.,]+ *(?:-|–|to|a|bis) *[0-9.,]+"), "write one number, not a range"),
    (lazy_pattern(rf"[0-9]{{1,2}}{_APART}{_MONTH}\.?(?:{_APART}[0-9]{{2,4}})?|{_MONTH}\.?{_APART}[0-9]{{2,4}}",
                  re.IGNORECASE),
     "a spreadsheet made a date of the number: format the column as text, and export it again"),
    (lazy_pattern(r"(?!.*[0-9])[-+]?\d+(?:[.,٫]\d+)?"), "write the digits 0 to 9, with a dot before decimals"),
    (lazy_pattern(r"[IVXLC]{1,6}"), "write the number in digits: II is 2"),
    (lazy_pattern(r"(?:[<>≤≥~±]|[^\W\d_]{1,20}[ :.=]{1,2})? ?-?[0-9]+(?:[.,][0-9]+)?(?: ?[^-\w]?[^-\d_]{0,20})"),
     "write only the number"),
    (lazy_pattern(r"[^0-9]*[^\W\d_][^0-9]*"), "write a number, not a word"),
    (lazy_pattern(r"[0-9.,]+ ?[/x×*:±] ?[0-9.,]+.{0,20}"), "write one number"),
)  # fmt: skip
"""For strings that were meant as a number: the first pattern that matches."""
_NO_VALUE = frozenset((-1, -9, -99, -999, -9999, 999, 9999, 99999))
"""Numbers that say that there is none."""
_UNIX_TIMES = frozenset({"message_sent_time", "message_received_time"})
"""Fields in seconds since 1970."""
_RESCALE = "the scale is 0 to 1: divide percentages by 100, apply the sigmoid to logits, rescale other values"
_PERCENT_FROM = 10
"""Smaller single numbers may be of another scale, such as 1 to 5 or 0 to 10."""
_LOGITS = "if these are logits, apply softmax: expected numbers from 0 to 1"
_ROUNDED = 0.02
"""The relative difference of a sum that rounding explains."""


def number_hint(given: Any, in_table: bool = False, field: str = "", nodes: Sequence[Any] = ()) -> str | None:
    """Return how to write the value as a number. Cells of tables have no quotes."""
    if isinstance(given, float):
        return "round it to a whole number"
    if isinstance(given, list | dict):
        return "write one number" + (", without brackets" if isinstance(given, list) and len(given) == 1 else "")
    text = given.strip() if isinstance(given, str) else None
    if text is None or len(text) > _LONGEST_NUMBER:
        return None
    if _AMBIGUOUS.fullmatch(text):
        return "write the number with a dot before its decimals, and without thousands separators"
    if _DECIMAL_COMMA.fullmatch(text):
        comma = "write the number with a dot, not a comma: 0.5"
        return comma if in_table else "write the number without quotes and with a dot"
    if _PLAIN_NUMBER.fullmatch(text):
        return "write the number as in JSON, such as 0.5" if in_table else "write the number without quotes"
    if _PERCENT.fullmatch(text):
        if any(node.get("maximum") == 1 for node in nodes):
            return "write the share as a number from 0 to 1: 25 % is 0.25"
        known = unit_of(field) == "percent"
        return f"write the number without %{'' if known else '; where 0 to 1 is expected, 25 % is 0.25'}"
    if _CLOCK.fullmatch(text) or _DATE_LIKE.fullmatch(text):
        return _time_hint(field, is_clock=_CLOCK.fullmatch(text) is not None)
    hint = _unit_hint(text, field) or next((hint for pattern, hint in _NUMBER_HINTS if pattern.fullmatch(text)), None)
    unit = unit_of(field)
    return hint and hint.replace("{unit}", f" of {unit}" if unit else "")


def _time_hint(field: str, is_clock: bool) -> str:
    """Return the hint about a date or a time of day where a number is expected."""
    if field in _UNIX_TIMES:
        return "write the time as a number of seconds since 1970 (UNIX time)"
    unit = unit_of(field)
    if is_clock and unit in ("seconds", "milliseconds"):
        return f"write a number of {unit}: 00:01:30 is {90 if unit == 'seconds' else 90_000}"
    return "write a number, not a date or a time of day"


def _unit_hint(text: str, field: str) -> str | None:
    """Return the hint about a number with a unit: what one such unit is in the unit of the field."""
    found = quantity(text, field)
    if found is None:
        return None
    expected, factor = unit_of(field), found.factor
    if factor == 1:
        return "write only the number, without the unit" + (", and with a dot" if "," in found.number else "")
    if factor is None or expected is None:
        return (
            f"convert it to {expected}, and write only the number"
            if expected
            else "write only the number, without a unit"
        )
    small = decimal(factor)
    one = found.unit.removesuffix("s") if len(found.unit) > 2 else found.unit  # ms is not a plural
    relation = f"1 {one} is {small} {expected}"
    if small is None:
        relation = f"{decimal(1 / factor)} {found.unit} are 1 {expected.removesuffix('s')}"
    return f"write the number of {expected}, without a unit: {relation}"


def range_hint(path: Path, given: Any, schema: dict[str, Any], parsed: Any, no_answer: str) -> str | None:
    """Return the hint about a number outside its range. A unit or scale is named only if the values look like it."""
    nodes = [node for node in schemas_at(schema, path) if node and node.get("type") != "null"]
    items = value_at(parsed, path[:-1]) if isinstance(path[-1], int) else None
    from_0_to_1 = bool(nodes) and all(node.get("minimum") == 0 and node.get("maximum") == 1 for node in nodes)
    if isinstance(items, list) or not isinstance(given, int | float):
        return _scale_of(items) if from_0_to_1 and isinstance(items, list) else None
    if given in _NO_VALUE:
        return f"{no_answer}: -1 or 999 is read as a number"
    if from_0_to_1:
        if _PERCENT_FROM < given <= 100:
            return "if it is a percentage, divide it by 100: 25 % is 0.25"
        return _RESCALE
    if given == 0 and all(node.get("minimum") == 1 and node.get("type") == "integer" for node in nodes):
        return "if the numbers start from 0, add 1 to all of them"
    unit = unit_of(str(path[-1]))
    return f"check that all values are in {unit}" if unit else None


def _scale_of(items: list[Any]) -> str | None:
    """Return how to make probabilities of the numbers of a list; None if that is not clear."""
    numbers = [float(item) for item in items if isinstance(item, int | float) and not isinstance(item, bool)]
    if len(numbers) < max(2, len(items)) or len(set(numbers)) == 1:
        return None
    low, high = min(numbers), max(numbers)
    if low < 0:
        if high <= 0 and abs(math.fsum(map(math.exp, numbers)) - 1) < _ROUNDED:
            return "these are logarithms of probabilities: apply exp"
        is_whole = all(number.is_integer() for number in numbers)
        return None if is_whole or high - low <= 1 else _LOGITS
    total = math.fsum(numbers)
    if (summed := round(total)) in range(2, 50) and abs(total - summed) < _ROUNDED / 10 and any(n % 1 for n in numbers):
        return f"if these are sums over {summed} models, divide them by {summed}"
    if abs(total - 100) < 100 * _ROUNDED:
        return "these are percentages: divide them by 100"
    if all(number.is_integer() for number in numbers):
        return "if these are numbers of votes, divide each by their sum"
    return None
