"""Protocols: the frozen parameters of a track as data, with a version, a fingerprint and a history."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from numbers import Integral, Real
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.errors import CallError, command, words
from medcontract.lazy_patterns import lazy_pattern
from medcontract.results.score import MIN_CELL
from medcontract.scoring.canonical import canonical, sha256
from medcontract.types import JsonObject

_PLAIN_NUMBER = lazy_pattern(r"[+-]?(?:[0-9]*\.?[0-9]*(?:e[+-]?[0-9]{1,4})?|s?nan|inf(?:inity)?)", re.IGNORECASE)


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a protocol, its source, and the values that it allows."""

    name: str
    value: Decimal | str | None
    about: str
    source: str
    """The page and section that say where the value comes from."""
    low: Decimal | None = Decimal(0)
    high: Decimal | None = None
    above: bool = False
    """The value must be above `low`, not equal to it."""
    below: bool = False
    """The value must be below `high`, not equal to it."""
    choices: tuple[str, ...] = ()
    """The allowed values, if it is not a number."""
    fixed: bool = False
    """It is derived from something else, and cannot be changed."""
    whole: bool = False
    """It is a whole number."""
    any_text: bool = False
    """It is a text that nobody lists."""
    silent_at: Decimal | str | None = None
    """With this value it is not part of the protocol, so that fingerprints from before there was the parameter stay."""

    @property
    def is_silent(self) -> bool:
        return self.silent_at is not None and self.value == self.silent_at

    @property
    def number(self) -> int | float | str | None:
        """The value as JSON: a number is the double whose shortest decimal representation is the value."""
        if self.value is None or isinstance(self.value, str):
            return self.value
        return int(self.value) if self.value == self.value.to_integral_value() else float(self.value)

    @property
    def text(self) -> str:
        """The value as a decimal with all digits."""
        if self.value is None or isinstance(self.value, str):
            return self.value or "null"
        return f"{self.value.normalize():f}" if abs(self.value) < 10**15 else repr(float(self.value))


class Change(Struct, frozen=True):
    """Why a version differs from the previous one."""

    version: int
    reason: str


class Protocol(Struct, frozen=True, kw_only=True, dict=True):
    """The parameters that a score depends on."""

    id: str
    version: int
    parameters: tuple[Parameter, ...]
    changes: tuple[Change, ...]

    @cached_property
    def _values(self) -> dict[str, Fraction | None]:
        return {p.name: Fraction(p.value) if isinstance(p.value, Decimal) else None for p in self.parameters}

    def __getitem__(self, name: str) -> Fraction:
        """Return the exact value of a numeric parameter. Raises `KeyError` if it is null."""
        value = self._values[name]
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str) -> Fraction | None:
        """Return the exact value of a numeric parameter that may be null."""
        return self._values[name]

    def word(self, name: str) -> str | None:
        """Return the value of a parameter that is not a number."""
        value = next(parameter.value for parameter in self.parameters if parameter.name == name)
        return value if isinstance(value, str) else None

    @property
    def values(self) -> dict[str, int | float | str | None]:
        """All parameters as JSON, without silent ones."""
        return {parameter.name: parameter.number for parameter in self.parameters if not parameter.is_silent}

    @property
    def versions(self) -> dict[str, str]:
        """The parameters that nobody can choose: versions of steps, and hashes of the lists that they use."""
        return {
            parameter.name: parameter.value
            for parameter in self.parameters
            if isinstance(parameter.value, str) and (parameter.fixed or len(parameter.choices) == 1)
        }

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(self.id, self.version, self.values)

    def describe(self) -> JsonObject:
        """Return the protocol as included in every result."""
        return {
            "id": self.id,
            "version": self.version,
            "fingerprint": self.fingerprint,
            "parameters": self.values,
        }

    def changed(self, name: str, text: str) -> Protocol:
        """Return the protocol with one parameter changed, and so another fingerprint. Raises `CallError`."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if name not in known:
            from medcontract.contracts.suggestions import did_you_mean

            show = command(f"protocol show {self.id}", f'get_protocol("{self.id}")')
            see = words(_listed(known), "; see: ", show)
            guess = did_you_mean(name, known)
            raise CallError(
                f"the protocol of '{self.id}' has no parameter '{name}'", words(guess, " ", see) if guess else see
            )
        parameter = known[name]
        if parameter.fixed:
            raise CallError(f"'{name}' cannot be changed: {parameter.about}")
        if parameter.any_text:
            return self._with({name: text})
        if parameter.choices:
            if text not in parameter.choices:
                raise CallError(f"'{name}' must be {' or '.join(parameter.choices)}, not '{text}'")
            return self._with({name: text})
        bounds = parameter.low, parameter.high, parameter.above, parameter.below
        value = decimal(f"'{name}'", text, *bounds)
        if parameter.whole and value != value.to_integral_value():
            raise CallError(f"'{name}' must be a whole number, not {text.strip()}")
        return self._with({name: value})

    def following(self, name: str, value: str) -> Protocol:
        """Return the protocol with a parameter that is derived from something else, such as a file."""
        return self._with({name: value})

    def measured(self, **values: float) -> Protocol:
        """Return the protocol with parameters that were measured, as exact doubles."""
        return self._with({name: Decimal(value) for name, value in values.items()})

    def _with(self, values: Mapping[str, Decimal | str]) -> Protocol:
        parameters = tuple(replace(p, value=values.get(p.name, p.value)) for p in self.parameters)
        return replace(self, parameters=parameters)


def fingerprint_of(protocol_id: str, version: int, parameters: Mapping[str, int | float | str | None]) -> str:
    """SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters."""
    return sha256(canonical({"id": protocol_id, "version": version, "parameters": dict(parameters)}))


_MOST_LISTED = 12


def _listed(known: Mapping[str, Parameter]) -> str:
    """Return the parameters that can be changed."""
    names = [name for name, parameter in known.items() if not parameter.fixed and len(parameter.choices) != 1]
    left = len(names) - _MOST_LISTED
    return f"the parameters are {', '.join(names[:_MOST_LISTED])}" + (f" and {left} more" if left > 0 else "")


def decimal(
    what: str,
    text: str,
    low: Decimal | None = None,
    high: Decimal | None = None,
    above: bool = False,
    below: bool = False,
) -> Decimal:
    """Return the exact number in a text that a user entered for `what`. Raises `CallError`."""
    try:
        value = Decimal(text.strip() if _PLAIN_NUMBER.fullmatch(text.strip()) else "not a number")
    except InvalidOperation:
        raise CallError(f"{what} must be a number, not '{text}'", "write a decimal such as 0.95") from None
    too_low = value.is_finite() and low is not None and (value <= low if above else value < low)
    too_high = value.is_finite() and high is not None and (value >= high if below else value > high)
    if not value.is_finite() or too_low or too_high:
        raise CallError(f"{what} must be {_described(low, high, above, below)}, not {text.strip()}")
    if Decimal(repr(float(value))) != value:
        raise CallError(
            f"'{text}' has more digits than a double can represent",
            "use fewer digits: the fingerprint contains the parameter as a double",
        )
    return value


def _described(low: Decimal | None, high: Decimal | None, above: bool, below: bool) -> str:
    bounds = [f"above {low}" if above else f"at least {low}"] if low is not None else []
    bounds += [f"below {high}" if below else f"at most {high}"] if high is not None else []
    return " and ".join(bounds) or "a number"


def parameters(
    source: str, **rows: tuple[str | None, str] | tuple[str | None, str, dict[str, Any]]
) -> tuple[Parameter, ...]:
    """Parameters of one source, by name: (value, description) and optionally other fields of `Parameter`."""
    found = []
    for name, (value, about, *rest) in rows.items():
        more: dict[str, Any] = dict(rest[0]) if rest else {}
        more |= {name: Decimal(more[name]) for name in ("low", "high") if name in more}
        decimal = None if value is None else Decimal(value)
        found.append(Parameter(name=name, value=decimal, about=about, **{"source": source, **more}))
    return tuple(found)


def version_parameter(name: str, version: int, about: str, source: str) -> Parameter:
    """Return the version of a step that changes scores; part of the fingerprint, and cannot be changed."""
    return Parameter(name=name, value=str(version), about=about, source=source, choices=(str(version),))


MIN_PROCESSED = Parameter(
    name="min_processed",
    value=Decimal("0.95"),
    about="share of the expected items that must be processed for a score",
    source="docs/tracks/reports.md#gates",
    high=Decimal(1),
)

_UNCERTAINTY: dict[str, Any] = {"source": "docs/uncertainty.md#parameters"}
UNCERTAINTY = (
    Parameter(
        name="resamples", value=Decimal(1000), silent_at=Decimal(1000), low=Decimal(100), high=Decimal(10_000),
        whole=True, about="number of resamples for intervals; part of the protocol only if it is another one",
        **_UNCERTAINTY,
    ),
    Parameter(
        name="level", value=Decimal("0.95"), silent_at=Decimal("0.95"), low=Decimal("0.5"), high=Decimal("0.999"),
        about="level of intervals; part of the protocol only if it is another one", **_UNCERTAINTY,
    ),
    Parameter(
        name="cluster", value="", silent_at="", any_text=True, **_UNCERTAINTY,
        about="field whose cases are drawn together for intervals; part of the protocol only if there is one",
    ),
)  # fmt: skip
"""Of every protocol: with them, figures are the same, but not their intervals."""
SUBGROUPS = Parameter(
    name="min_cell", value=Decimal(MIN_CELL), silent_at=Decimal(MIN_CELL), low=Decimal(1), whole=True,
    about="cases that a subgroup must have, or it is hidden; part of the protocol only if it is another number",
    source="docs/uncertainty.md#subgroups",
)  # fmt: skip
INTERVAL_PARAMETERS = (*(parameter.name for parameter in UNCERTAINTY), "gates_on")
"""The parameters that need intervals if they are changed."""


def exact_text(name: str, value: object) -> str:
    """Return the value of a parameter as a string that keeps all its digits. Raises `CallError`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Decimal | Real):
        raise CallError(f"'{name}' must be a number or a string, not {type(value).__name__}")
    if isinstance(value, Decimal):
        return str(value)
    return str(int(value)) if isinstance(value, Integral) else repr(float(value))
