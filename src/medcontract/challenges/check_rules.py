"""Checks the rules of a challenge: kinds of rules that are published with the schemas, as data."""

from __future__ import annotations

from typing import Any, NamedTuple

from medcontract.catalog import problem_codes
from medcontract.challenges.check_fields import Fields
from medcontract.challenges.definition import Field, RuleEntry
from medcontract.challenges.findings import Findings
from medcontract.contracts.suggestions import did_you_mean
from medcontract.problems import Path

MOST = 100
RULE_CODE = "MC227"
LISTS = ("predictions", "truth")
_NUMBERS = ("number", "integer")
_COMMON = ("kind", "within", "code", "message", "hint", "severity")


class _Kind(NamedTuple):
    """A kind of rule: its keys, and the types of the fields that these refer to."""

    fields: dict[str, tuple[str, ...]]
    """The keys that name a field, and the allowed types; empty: all."""
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    several: int = 0
    """The number of names in `fields`; -1: one or more."""
    message: str = ""


KINDS = {
    "sum": _Kind({"field": ("list",)}, numbers=("minimum", "maximum"), message="the sum of '{0}' is out of range"),
    "order": _Kind({"fields": _NUMBERS}, several=2, message="'{1}' is less than '{0}'"),
    "limit": _Kind(
        {"field": _NUMBERS}, numbers=("minimum", "below"), optional=("below",), message="'{0}' exceeds the limit"
    ),
    "distinct": _Kind({"field": ("list",)}, message="an item of '{0}' is repeated"),
    "requires": _Kind(
        {"field": (), "requires": ()}, texts=("value",), optional=("value",), message="'{0}' requires '{1}'"
    ),
    "unique": _Kind({"fields": ()}, several=-1, message="{all} repeated"),
    "constant": _Kind({"field": ("str", "text", "one_of")}, message="'{0}' differs between records"),
    "monotonic": _Kind({"field": _NUMBERS, "by": _NUMBERS}, message="'{0}' decreases"),
}
"""The kinds that a challenge file may use. The others are about nested objects, or about other files."""


def check_rules(
    entries: list[Any], fields: dict[str, Fields], key: tuple[str, ...], findings: Findings
) -> tuple[RuleEntry, ...]:
    """The rules. `fields`: those of each list, by name, key fields included."""
    found = []
    for index, entry in enumerate(entries):
        path: Path = ("rule", index)
        if not isinstance(entry, dict):
            findings.wrong_type(path, "a table", entry, "write [[rule]]")
            continue
        rule = _Rule(entry, path, fields, key, findings).checked()
        if rule is not None:
            found.append(rule)
    return tuple(found)


class _Rule:
    def __init__(
        self, entry: dict[str, Any], path: Path, fields: dict[str, Fields], key: tuple[str, ...],
        findings: Findings,
    ) -> None:  # fmt: skip
        self.entry = entry
        self.key = key
        self.path = path
        self.fields = fields
        self.findings = findings

    def checked(self) -> RuleEntry | None:
        findings, path = self.findings, self.path
        name = findings.text(self.entry, "kind", path)
        if name is None or name not in KINDS:
            if "kind" not in self.entry:
                findings.missing((*path, "kind"), f"use one of: {', '.join(KINDS)}")
            elif name is not None:
                hint = did_you_mean(name, KINDS) or f"use one of: {', '.join(KINDS)}"
                findings.add("MC104", (*path, "kind"), "unknown kind of rule", hint)
            return None
        kind = KINDS[name]
        before = findings.errors
        findings.unknown_keys(self.entry, (*_COMMON, *kind.fields, *kind.numbers, *kind.texts), path)
        named = self._named_fields(kind)
        values: dict[str, Any] = {"kind": name}
        for key in kind.fields:
            values[key] = self.entry.get(key)
        values |= self._scalars(kind)
        values |= self._prose(kind, named)
        within = self._within(named)
        if findings.errors > before:
            return None
        self._check_types(name, kind, within)
        return RuleEntry(within=within, values=values) if findings.errors == before else None

    def _named_fields(self, kind: _Kind) -> list[str]:
        """The names of the fields that the rule refers to, in order."""
        named: list[str] = []
        for key in kind.fields:
            if key not in self.entry:
                self.findings.missing((*self.path, key))
            elif key == "fields":
                names = self.findings.strings(self.entry, key, self.path)
                if names is not None and (not names or (kind.several > 0 and len(names) != kind.several)):
                    wanted = f"{kind.several} names" if kind.several > 0 else "at least one name"
                    self.findings.add("MC108", (*self.path, key), f"expected {wanted}")
                named += names or ()
            else:
                name = self.findings.text(self.entry, key, self.path)
                named += [name] if name is not None else []
        return named

    def _scalars(self, kind: _Kind) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key in (*kind.numbers, *kind.texts):
            if key not in self.entry:
                if key not in kind.optional:
                    self.findings.missing((*self.path, key))
            elif key in kind.texts:
                values[key] = self.findings.text(self.entry, key, self.path)
            else:
                number = self.findings.number(self.entry, key, self.path)
                values[key] = None if number is None else float(number)
        return values

    def _prose(self, kind: _Kind, named: list[str]) -> dict[str, Any]:
        """Code, message, hint and severity."""
        findings, path = self.findings, self.path
        code = findings.text(self.entry, "code", path) or RULE_CODE
        if code not in problem_codes() or not code.startswith("MC2"):
            findings.add("MC104", (*path, "code"), "unknown code", "use a code of MC2xx, or remove it")
        severity = findings.text(self.entry, "severity", path) or "error"
        if severity not in ("error", "warning"):
            findings.add("MC104", (*path, "severity"), "unknown severity", "use error or warning")
        listed = f"{', '.join(map(repr, named))} {'is' if len(named) == 1 else 'are'}"
        default = kind.message.format(*[*named, "", ""], all=listed)
        return {
            "code": code,
            "message": findings.text(self.entry, "message", path) or default,
            "hint": findings.text(self.entry, "hint", path),
            "severity": severity,
        }

    def _within(self, named: list[str]) -> tuple[str, ...]:
        """The lists that the rule applies to: the given one, or those with all of its fields."""
        given = self.findings.text(self.entry, "within", self.path)
        if given is not None and given not in LISTS:
            self.findings.add("MC104", (*self.path, "within"), "unknown list", f"use one of: {', '.join(LISTS)}")
            return ()
        candidates = LISTS if given is None else (given,)
        found = tuple(name for name in candidates if all(each in self.fields[name] for each in named))
        if not found:
            known = {each for name in candidates for each in self.fields[name]}
            unknown = next((each for each in named if each not in known), None)
            if unknown is None:
                self.findings.add("MC221", self.path, "its fields are not all in one of the lists")
            else:
                self.findings.unknown_name(self.path, f"there is no field '{unknown}'", unknown, sorted(known))
        return found

    def _check_types(self, name: str, kind: _Kind, within: tuple[str, ...]) -> None:
        for each in within:
            for key, types in kind.fields.items():
                given = self.entry[key]
                for field_name in given if isinstance(given, list) else [given]:
                    field = self.fields[each][field_name]
                    if field is not None:
                        self._check_type(name, key, types, field)
        if name == "unique":
            for each in within:
                self._check_unique(each)
        low, high = self.entry.get("minimum"), self.entry.get("maximum" if name == "sum" else "below")
        if low is not None and high is not None and low > high:
            self.findings.add("MC105", (*self.path, "minimum"), "is larger than the upper bound")

    def _check_type(self, name: str, key: str, types: tuple[str, ...], field: Field) -> None:
        wrong_items = name == "sum" and (field.of is None or field.of.type not in _NUMBERS)
        if (types and field.type not in types) or wrong_items:
            wanted = "list of number" if name == "sum" else " or ".join(types)
            message = f"'{name}' needs a field of type {wanted}, not {field.type_text}"
            self.findings.add("MC223", (*self.path, key), message)
        elif name == "sum" and (field.of is None or field.of.min is None or field.of.min < 0):
            self.findings.add("MC223", (*self.path, key), "'sum' needs numbers with a min of at least 0")

    def _check_unique(self, within: str) -> None:
        """A key must be in every record: failed predictions have only the key fields."""
        for field_name in self.entry["fields"]:
            field = self.fields[within][field_name]
            if field is None:
                continue
            if field.nested or field.optional or (within == "predictions" and field_name not in self.key):
                message = f"'{field_name}' is not in every record of {within}"
                self.findings.add("MC223", (*self.path, "fields"), message, 'is within = "truth" meant?')
