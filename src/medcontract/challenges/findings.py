"""Collects what is wrong with a challenge file. Every message starts with the dotted path of the key."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from medcontract.challenges.model import METRICS, model_at
from medcontract.challenges.rules import RULES
from medcontract.challenges.values import LONGEST_NAME, is_name
from medcontract.contracts.suggestions import did_you_mean
from medcontract.problems import Finding, Path, Severity, shorten
from medcontract.types import JsonObject

_LONGEST_MESSAGE = 1000
_MOST_LISTED = 20
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""A key that TOML allows without quotes."""
MISSING = {
    "id": 'write id = "…", the name of the track',
    "key": 'write key = "…", the field that identifies a case',
    "prediction": "write [prediction] and its fields",
    "truth": "write [truth] and its fields",
    "metric": "write at least one [[metric]]",
    "rule": "write [[rule]]",
    "score": 'write [score] and headline = "…", the metric or the sum that submissions are ranked by',
    "headline": "name the metric or the sum that submissions are ranked by",
    "tie_breakers": "list the metrics or sums that decide between equal headlines",
    "means": 'write [score.means] and NAME = ["METRIC", …]',
    "for": 'write for = ["…", "…"]: the names that replace {}',
    "sums": "write [score.sums] and NAME = { METRIC = 1, … }",
    "field": "name a field",
    "of": 'write of = { type = "str" } or of = { one_of = […] }',
    "weights": "write weights = { CLASS = 1, … }",
    "positive": 'write positive = { field = "label", is = "…" }',
    "costs": "write costs = { TRUE = { PREDICTED = 1, … }, … }",
    "time": 'write time = "…", a number of the truth',
    "event": 'write event = { field = "…", is = true }',
    "at": "write the least value of the other one, such as at = 0.9",
    "threshold": "write the probability at which people would act, such as threshold = 0.2",
    "beta": "write how many times as much recall counts as precision, such as beta = 2",
    "unprocessed": "write the error that an unprocessed case counts",
}
"""Hints about keys that are missing or have the wrong type."""


class Findings:
    """Findings about keys, by path."""

    def __init__(self, values: JsonObject) -> None:
        self.found: list[tuple[Path, Finding]] = []
        self.broken: set[Path] = set()
        """Fields, metrics, rules, sums and other parts with errors."""
        self._names: dict[int, str] = {}
        """Of metrics that have a name that no other metric before them has."""
        metrics = values.get("metric")
        for index, metric in enumerate(metrics if isinstance(metrics, list) else ()):
            name = metric.get("name") if isinstance(metric, dict) else None
            if isinstance(name, str) and is_name(name) and name not in self._names.values():
                self._names[index] = name

    def dotted(self, path: Path) -> str:
        """Return a path as in TOML, with names of metrics instead of their numbers."""
        text = ""
        for at, token in enumerate(path):
            if isinstance(token, int):
                name = self._names.get(token) if path[:at] == ("metric",) else None
                text += f".{name}" if name and path[at + 1 :] != ("name",) else f"[{token}]"
            else:
                text += f".{token}" if _BARE_KEY.fullmatch(token) else f'."{token[:LONGEST_NAME]}"'
        return text.removeprefix(".")

    def add(self, code: str, path: Path, message: str, hint: str | None = None, severity: Severity = "error") -> None:
        shown = shorten(f"{self.dotted(path)}: {message}", _LONGEST_MESSAGE)
        finding = path, Finding(code, shown, hint and shorten(hint, _LONGEST_MESSAGE), severity, path)
        if finding not in self.found:  # one mistake of several metrics that are written as one
            self.found.append(finding)
        if severity == "error":
            self.broken.add(part_of(path))

    def expect_name(self, path: Path, message: str, name: str, known: Collection[str]) -> bool:
        """Return whether something exists. If not, add that, with what does exist; names in a set are sorted."""
        if name in known:
            return True
        names = sorted(known) if isinstance(known, set) else tuple(known)
        listed = f"use one of: {', '.join(names[:_MOST_LISTED])}" if names else None
        self.add("MC221", path, message, did_you_mean(name, names) or listed)
        return False

    def not_distinct(self, values: Iterable[str], path: Path) -> None:
        """Add the first value of a list that repeats an earlier one."""
        seen: set[str] = set()
        for index, value in enumerate(values):
            if value in seen:
                self.add("MC225", (*path, index), "repeats an earlier value", "list each value once")
                return
            seen.add(value)

    def add_structural(self, finding: Finding, values: JsonObject) -> None:
        """Add what the model finds, in the words of TOML."""
        inside = finding.path[:-1] if finding.code == "MC102" else finding.path
        path = _in_file(finding.path, values)
        hint = finding.hint
        key = finding.field or next((token for token in reversed(path) if isinstance(token, str)), "")
        if finding.code == "MC102":
            known = tuple(field.alias or name for name, field in model_at(inside).model_fields.items())
            hint = did_you_mean(str(path[-1]), known) or f"known keys: {', '.join(known)}"
            message = "unknown key"
        elif finding.field is not None:
            path = (*path, finding.field)
            message = "missing"
        else:
            got = {"object": "a table", "something else": "a date or time"}.get(finding.got, finding.got)
            expected = tuple("a table" if each == "object" else each for each in finding.expected)
            message = finding._replace(expected=expected, got=got).statement
        self.add(finding.code, path, message, _hint(finding, path, key) or hint)


_PERCENT = re.compile(r'"?(?:[1-9][0-9]?(?:\.[0-9]+)?|100(?:\.0+)?)"?')
"""A number from 1 to 100."""


def _hint(finding: Finding, path: Path, key: str) -> str | None:
    if finding.code == "MC105" and finding.message == "must be at most 1" and _PERCENT.fullmatch(finding.value or ""):
        return "if it is a percentage, divide it by 100: 25 % is 0.25"
    if key == "type" and finding.value in ('"enum"', '"one_of"'):
        return "write one_of = […] instead of type"
    if finding.code not in ("MC101", "MC103") or finding.hint:
        return None
    if path[0] in ("prediction", "truth") and len(path) == 2:
        return 'write { type = "…" } or { one_of = […] }'
    if key == "kind":
        return f"use one of: {', '.join(METRICS if path[0] == 'metric' else RULES)}"
    return MISSING.get(key)


def part_of(path: Path) -> Path:
    """Return the path of the smallest part of a file that can be left out: a field, a metric, a rule, a sum, a key."""
    if path[:2] in (("score", "sums"), ("score", "means")):
        return path[:3]
    parts = ("prediction", "truth", "metric", "rule", "score", "gate", "phases", "uncertainty")
    return path[:2] if path[0] in parts else path[:1]


def _in_file(path: Path, values: JsonObject) -> Path:
    """Return the path without what models add: the kind of a metric or rule, and the index of a key that is alone."""
    if path[:1] in (("metric",), ("rule",)) and path[2:3] not in ((), ("kind",)):
        return path[:2] + path[3:]
    return path[:1] if path[:1] == ("key",) and isinstance(values["key"], str) else path
