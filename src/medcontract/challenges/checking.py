"""Checks a challenge file as a whole, and builds its definition."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from medcontract.challenges import check_metrics, check_rules
from medcontract.challenges.check_fields import Fields, check_fields, check_name
from medcontract.challenges.definition import Definition, Field, MetricEntry
from medcontract.challenges.findings import LONGEST_NAME, Findings
from medcontract.challenges.metrics import built
from medcontract.contracts.registry import TRACKS
from medcontract.problems import Path

KEYS = ("id", "title", "version", "about", "key", "prediction", "truth", "rule", "metric", "score", "gate")
MIN_PROCESSED = Decimal("0.95")
_ID = re.compile(r"[a-z][a-z0-9-]*")
_MOST_KEYS = 8


def check(values: dict[str, Any]) -> tuple[Definition | None, Findings]:
    """The definition in a challenge file, if it has no errors, and everything that is wrong with it."""
    findings = Findings()
    findings.unknown_keys(values, KEYS)
    challenge_id = _check_id(values, findings)
    key = _check_key(values, findings)
    prediction = check_fields(_part(values, "prediction", findings), "prediction", key, findings)
    truth = check_fields(_part(values, "truth", findings), "truth", key, findings)
    keys: Fields = {name: Field(name=name, type="str") for name in key}
    in_lists = {"predictions": keys | prediction, "truth": keys | truth}
    rules = check_rules.check_rules(_tables(values, "rule", check_rules.MOST, findings), in_lists, key, findings)
    entries = _tables(values, "metric", check_metrics.MOST, findings)
    if "metric" not in values:
        findings.missing(("metric",), "write at least one [[metric]]")
    metrics = check_metrics.check_metrics(entries, prediction, truth, findings)
    names = {entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
    sums, headline = _check_score(values, {metric.name: metric for metric in metrics}, names, findings)
    min_processed = _check_gate(values, findings)
    title = findings.text(values, "title")
    version = findings.count(values, "version", low=1)
    about = findings.text(values, "about")
    if findings.errors:
        return None, findings
    definition = Definition(
        id=challenge_id, title=title or challenge_id, version=version or 1, key=key,
        prediction=_all(prediction), truth=_all(truth), rules=rules, metrics=metrics, sums=sums,
        headline=headline, min_processed=min_processed, about=about,
    )  # fmt: skip
    _warn(definition, entries, findings)
    return definition, findings


def _check_id(values: dict[str, Any], findings: Findings) -> str:
    if "id" not in values:
        findings.missing(("id",), 'write id = "…", the name of the track')
    found = findings.text(values, "id") or ""
    if found and (not _ID.fullmatch(found) or len(found) > LONGEST_NAME):
        findings.add("MC107", ("id",), "invalid id", "use lower-case letters, digits and -, starting with a letter")
    elif found in (*TRACKS, "medcontract"):
        findings.add("MC225", ("id",), f"'{found}' is a built-in track", "choose another id")
    return found


def _check_key(values: dict[str, Any], findings: Findings) -> tuple[str, ...]:
    """The key fields; empty if they are wrong."""
    if "key" not in values:
        findings.missing(("key",), 'write key = "…", the field that identifies a case')
        return ()
    given = values["key"]
    if isinstance(given, list):
        key = findings.strings(values, "key")
    else:
        name = findings.text(values, "key")
        key = None if name is None else (name,)
    if key is None:
        return ()
    if not 1 <= len(key) <= _MOST_KEYS:
        findings.add("MC108", ("key",), f"expected 1 to {_MOST_KEYS} names")
        return ()
    wrong = [name for name in key if not check_name(name, ("key",), findings)]
    return () if wrong else key


def _part(values: dict[str, Any], part: str, findings: Findings) -> dict[str, Any] | None:
    if part not in values:
        findings.missing((part,), f"write [{part}] and its fields")
        return None
    return findings.table(values, part)


def _all(fields: Fields) -> tuple[Field, ...]:
    return tuple(field for field in fields.values() if field is not None)


def _tables(values: dict[str, Any], name: str, most: int, findings: Findings) -> list[Any]:
    """The tables of `[[name]]`."""
    found = values.get(name, [])
    if not isinstance(found, list):
        findings.wrong_type((name,), "a list of tables", found, f"write [[{name}]]")
        return []
    if len(found) > most or (name in values and not found):
        findings.add("MC108", (name,), f"expected 1 to {most} tables")
        return []
    return found


def _check_score(
    values: dict[str, Any], metrics: dict[str, MetricEntry], names: set[str], findings: Findings
) -> tuple[dict[str, dict[str, Decimal]], str]:
    score = findings.table(values, "score") or {}
    findings.unknown_keys(score, ("headline", "sums"), ("score",))
    table = findings.table(score, "sums", ("score",)) or {}
    if len(table) > check_metrics.MOST:
        findings.add("MC108", ("score", "sums"), f"expected at most {check_metrics.MOST} sums")
        table = {}
    sums = check_metrics.check_sums(table, metrics, names, findings)
    if "headline" not in score:
        findings.missing(("score", "headline"), "name the metric or the sum that submissions are ranked by")
    headline = findings.text(score, "headline", ("score",)) or ""
    known = {*names, *table}
    if headline and headline not in known:
        findings.unknown_name(
            ("score", "headline"), f"no metric and no sum is named '{headline}'", headline, sorted(known)
        )
    return sums, headline


def _check_gate(values: dict[str, Any], findings: Findings) -> Decimal:
    gate = findings.table(values, "gate") or {}
    findings.unknown_keys(gate, ("min_processed",), ("gate",))
    found = findings.number(gate, "min_processed", ("gate",), low=0, high=1)
    return MIN_PROCESSED if found is None else found


def _warn(definition: Definition, entries: list[Any], findings: Findings) -> None:
    """Add warnings about metrics of a valid definition."""
    positions = {entry["name"]: index for index, entry in enumerate(entries)}
    for metric, entry in zip(built(definition), definition.metrics, strict=True):
        parameters = {name: Fraction(value) for name, value in entry.numbers.items()}
        path: Path = ("metric", positions[entry.name])
        if "unprocessed" in entry.numbers:
            path = (*path, "unprocessed")
        for message in metric.warnings(parameters):
            findings.add("MC505", path, message, severity="warning")
