"""What a wrong value certainly means, for hints and repairs alike: booleans, no error, units."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

from medcontract.contracts.rules.record import ForbidPattern
from medcontract.lazy_patterns import lazy_pattern

LOCAL_BOOLEANS = {
    "verdadero": "true", "verdadeiro": "true", "vrai": "true", "vero": "true", "wahr": "true",
    "falso": "false", "faux": "false", "falsch": "false",
}  # fmt: skip
"""What spreadsheets in other languages write for true and false."""
_BOOLEANS = {
    "true": "true", "yes": "true", "y": "true", "t": "true", "1": "true", "sí": "true", "si": "true", "s": "true",
    "false": "false", "no": "false", "n": "false", "f": "false", "0": "false", **LOCAL_BOOLEANS,
}  # fmt: skip


def meant_boolean(given: Any) -> str | None:
    """Return `true` or `false` if the value can mean nothing else where a boolean is expected."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    text = str(given)[:20].strip().lower()
    return _BOOLEANS.get(text if isinstance(given, str) else text.removesuffix(".0"))


PRINTED_NUMBERS = frozenset({"valor", "dosis", "frecuencia", "duracion"})
"""Texts that are often printed as a number alone, so that a number is this text without quotes."""

# --- no error

LEAVE_EMPTY = "leave it empty (in JSON: null)"
ERROR_FIELDS = frozenset({"error", "exception"})
"""Fields whose text says why there is no answer."""
_NO_ERROR = (
    "nan", "none", "(none)", "na", "n/a", "n.a", "<na>", "nat", "null", "nil", "undefined", "0", "0.0", "false", "no",
    "-", "--", "[]", "{}", "ok", "okay", "200", "200 ok", "success", "no error", "no errors", "0 errors", "no_error",
    "no exception", "ninguno", "ninguna", "sin error", "sin errores",
)  # fmt: skip
"""Texts in `error` that say that there was no error."""


def _in_any_case(char: str) -> str:
    if char.isalpha():
        return f"[{char}{char.upper()}]"
    return char if char.isalnum() or char in " /_-" else f"\\x{ord(char):02x}"


_NO_ERROR_PATTERN = f"^(?:{'|'.join(''.join(map(_in_any_case, text)) for text in _NO_ERROR)})[.\\x21]?$"


def means_no_error(given: Any) -> bool:
    """Return whether the value of an error field says that there was none. Null and blank texts are right already."""
    if isinstance(given, str):
        return len(given) < 40 and re.search(_NO_ERROR_PATTERN, given.strip()) is not None
    return given is not None and (not given or (given == 200 and given is not True))  # 0, false, an empty list


def no_error_rule(
    field: str, items: str | None = None, but: str = "but counts as one", hint: str = LEAVE_EMPTY
) -> ForbidPattern:
    """Return the warning about an error field whose text says that there was none; the record counts as failed."""
    return ForbidPattern(
        items=items, field=field, pattern=_NO_ERROR_PATTERN, code="MC503", severity="warning",
        message=f"the text in '{field}' means that there was none, {but}", hint=hint,
    )  # fmt: skip


def no_reason_rule() -> ForbidPattern:
    """Return the same for contracts whose records have either an answer or an error."""
    return no_error_rule("error", but="but there is no answer", hint="write why there is no answer")


# --- units

_SIZES: dict[str, tuple[str, Fraction]] = {
    **{name: ("time", Fraction(1)) for name in ("s", "sec", "secs", "second", "seconds", "seg", "segundo", "segundos")},
    **{name: ("time", Fraction(1, 1000)) for name in ("ms", "msec", "millisecond", "milliseconds", "milisegundos")},
    **{name: ("time", Fraction(1, 10**6)) for name in ("us", "µs", "μs", "microseconds")},
    **{name: ("time", Fraction(60)) for name in ("min", "mins", "minute", "minutes", "minutos")},
    **{name: ("time", Fraction(3600)) for name in ("h", "hr", "hrs", "hour", "hours", "horas")},
    **{name: ("time", Fraction(86400)) for name in ("d", "day", "days", "dia", "dias", "días")},
    **{name: ("size", Fraction(1)) for name in ("b", "byte", "bytes")},
    **{f"{letter}b": ("size", Fraction(1000**power)) for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": ("size", Fraction(1024**power)) for power, letter in enumerate("kmgt", 1)},
    **{name: ("mass", Fraction(size)) for name, size in
       (("mcg", "0.001"), ("ug", "0.001"), ("µg", "0.001"), ("μg", "0.001"), ("mg", 1), ("g", 1000), ("kg", 10**6))},
    **{name: ("length", Fraction(size)) for name, size in (("mm", 1), ("cm", 10), ("m", 1000))},
    **{name: ("area", Fraction(size)) for name, size in (("mm2", 1), ("mm²", 1), ("cm2", 100), ("cm²", 100))},
    **{name: ("volume", Fraction(size)) for name, size in (("ul", "0.001"), ("µl", "0.001"), ("ml", 1), ("l", 1000))},
    "%": ("share", Fraction(1)), "percent": ("share", Fraction(1)), "pct": ("share", Fraction(1)),
}  # fmt: skip
"""What a unit measures, and its size."""
_FIELD_UNITS = {
    **dict.fromkeys(("sec", "secs", "seconds", "seg", "segundos"), "seconds"),
    **dict.fromkeys(("ms", "msec", "milliseconds"), "milliseconds"),
    **{unit: unit for unit in ("minutes", "hours", "days", "percent")},
    **{unit: unit.upper() for unit in ("kb", "mb", "gb")},
    **{unit: unit for unit in ("mg", "kg", "mm", "cm", "ml")},
    "mm2": "mm²",
    "cm2": "cm²",
}
"""Words at the end of a field's name that are its unit."""
_WITH_UNIT = lazy_pattern(r"\s*(-?[0-9]+(?:[.,][0-9]+)?)\s*([a-zA-Zµμí%]{1,12}[²2]?)\.?\s*")


class Quantity(NamedTuple):
    """A number with a unit, where the field expects the number in its own unit."""

    number: str
    unit: str
    """As written."""
    factor: Fraction | None
    """What the number has to be multiplied with; None if one of the units is not known."""


def unit_of(field: str) -> str | None:
    """Return the unit that the name of a field ends with."""
    return _FIELD_UNITS.get(field.rpartition("_")[2].lower())


def quantity(text: str, field: str) -> Quantity | None:
    """Return the number and the unit of a text such as `38 MB`."""
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        return None
    mine, expected = _SIZES.get(match[2].lower()), _SIZES.get((unit_of(field) or "").lower())
    same_kind = mine is not None and expected is not None and mine[0] == expected[0]
    return Quantity(match[1], match[2], mine[1] / expected[1] if same_kind and mine and expected else None)


def decimal(value: Fraction) -> str | None:
    """Return the exact decimal number, without an exponent; None if it has no end or is very long."""
    for digits in range(10):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            text = str(abs(scaled.numerator)).rjust(digits + 1, "0")
            whole = text[: len(text) - digits] + ("." + text[len(text) - digits :] if digits else "")
            return f"-{whole}" if value < 0 else whole
    return None
