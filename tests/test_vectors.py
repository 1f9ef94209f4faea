"""Every file under `tests/vectors` is a test by being there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support import NOT_RECOGNISABLE, VECTORS, Vector, assert_sound, report_lines, vectors

import medcontract
from medcontract.definitions import between, registry
from medcontract.definitions.rules import Agrees, Apart, Covers, Equal, FilesRule, Reference, SameOrder
from medcontract.problems import Finding, Ref, pointer

_EXPECTED_LINE = re.compile(r'MC[0-5][0-9]{2} (error|warning) (-|[1-9][0-9]*) (-|[1-9][0-9]*) (-|[0-9]+) (""|/.*)')

each_vector = pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector.name)
each_recognised_vector = pytest.mark.parametrize(
    "vector", [v for v in vectors() if v.expected[0] != "contract -"], ids=lambda vector: vector.name
)


def _with_plain_line_feeds() -> list[Vector]:
    texts = [vector for vector in vectors() if vector.path.suffix != ".csv"]
    return [v for v in texts if b"\n" in (content := v.path.read_bytes()) and b"\r" not in content]


@each_vector
def test_vector(vector: Vector) -> None:
    """A file has exactly the problems that stand beside it, in that order and at those places."""
    report = medcontract.validate_files([vector.path], vector.given).files[0]
    assert report_lines(report) == vector.expected
    assert_sound(report)
    assert not report.wrong_call


def test_verdict_of_folders() -> None:
    """What is in `valid` has no errors, what is not has at least one, and each line beside a file is well formed."""
    assert len(vectors()) > 600
    for vector in vectors():
        lines = vector.expected[1:]
        assert [line for line in lines if not _EXPECTED_LINE.fullmatch(line)] == [], vector.name
        assert any(" error " in line for line in lines) == (vector.verdict != "valid"), vector.name
        assert vector.expected_file.exists() == bool(lines), vector.name


def test_no_expectation_without_a_file() -> None:
    """Every `.expected` belongs to a file."""
    orphans = [path for path in VECTORS.rglob("*.expected") if not path.with_name(path.stem).exists()]
    assert orphans == []


def test_few_vectors_need_their_contract_named() -> None:
    """The contract of every other vector is recognised from its content, or its syntax is broken."""
    need_it = {v.name for v in vectors() if medcontract.validate_files([v.path]).files[0].wrong_call}
    assert need_it == NOT_RECOGNISABLE


@each_recognised_vector
def test_named_contract_and_bytes(vector: Vector) -> None:
    """A file has the same problems when its contract is named, and when its content is given as bytes."""
    contract = vector.expected[0].removeprefix("contract ")
    named = medcontract.validate_files([vector.path], contract).files[0]
    as_bytes = medcontract.validate(vector.path.read_bytes(), vector.given, name=vector.path.name)
    assert report_lines(named) == vector.expected
    assert report_lines(as_bytes) == vector.expected


@pytest.mark.parametrize("vector", _with_plain_line_feeds(), ids=lambda vector: vector.name)
def test_line_ends(vector: Vector) -> None:
    """CRLF and CR for LF change neither lines nor columns."""
    content = vector.path.read_bytes()
    for line_end in (b"\r\n", b"\r"):
        report = medcontract.validate(content.replace(b"\n", line_end), vector.given, name=vector.path.name)
        assert report_lines(report) == vector.expected


# --- rules between files -------------------------------------------------------------------------

_STAND_IN = {
    "benchmark/references": "benchmark/cases",
    "lesions/truth": "lesions/cases",
    "reports/truth": "reports/cases",
}
"""The ids to be processed, for those who have no truth."""
_ITEMS = {"reports/telemetry": "runs"}
"""The list of a document that other files refer to."""


class Side(NamedTuple):
    """One file of a set, read whole."""

    name: str
    contract: medcontract.Contract[Any]
    value: Any

    @property
    def header(self) -> Any:
        """None for containers that have none."""
        return None if isinstance(self.value, tuple) else self.value

    def items(self, within: str | None = None) -> list[Any]:
        if isinstance(self.value, tuple):
            return list(self.value)
        return list(getattr(self.value, within or self.contract.list_key or _ITEMS[self.contract.id]))

    def located(self, within: str | None = None) -> list[between.Located]:
        return [between.Located(item, Ref(0, 0, index)) for index, item in enumerate(self.items(within))]


def _side(path: Path) -> Side:
    loaded = medcontract.load(path)
    return Side(path.name, registry.contract(loaded.contract), loaded.value)


def _run(rule: FilesRule, mine: Side, other: Side) -> Iterator[Finding]:
    if isinstance(rule, Equal):
        if mine.header is not None and other.header is not None:
            yield from between.equal(rule, between.Located(mine.header, Ref(0, 0)), other.header)
    elif isinstance(rule, Reference):
        known = [between.key_of(rule, item) for item in other.items()]
        yield from between.reference(rule, mine.located(rule.within), known)
    elif isinstance(rule, Apart):
        yield from between.apart(rule, mine.located(), [getattr(item, rule.field) for item in other.items()])
    elif isinstance(rule, Covers):
        answered, expected = ([between.key_of(rule, item) for item in side.items()] for side in (mine, other))
        yield from between.covers(rule, answered, expected)
    elif isinstance(rule, Agrees):
        yield from between.agrees(rule, mine.located(), {getattr(item, rule.key): item for item in other.items()})
    elif isinstance(rule, SameOrder):
        yield from between.same_order(rule, mine.located(), {getattr(item, rule.key): item for item in other.items()})
    else:
        pytest.fail(f"a kind without a function: {rule.kind}")


@pytest.mark.parametrize("folder", sorted((VECTORS / "between").iterdir()), ids=lambda folder: folder.name)
def test_between(folder: Path) -> None:
    """A set of files has exactly the problems that stand beside it: those of a file as a whole, then by record."""
    sides = [_side(path) for path in sorted(folder.iterdir()) if path.name != "expected"]
    by_id = {side.contract.id: side for side in sides}
    found: list[tuple[str, int, str]] = []
    for mine in sides:
        for rule in mine.contract.rules:
            if not isinstance(rule, FilesRule):
                continue
            other = by_id.get(rule.other) or by_id.get(_STAND_IN.get(rule.other, ""))
            for finding in _run(rule, mine, other) if other else ():
                record = finding.ref.record if finding.ref else None
                number = "-" if record is None else str(record)
                line = " ".join([finding.code, finding.severity, mine.name, number, pointer(finding.path) or '""'])
                found.append((mine.name, -1 if record is None else record, line))
    expected = (folder / "expected").read_text(encoding="utf-8").splitlines()
    assert [line for _, _, line in sorted(found)] == expected


def test_every_kind_of_rule_between_files_has_a_vector() -> None:
    """No code of a rule between files goes without a set of files that breaks it."""
    published = {rule.code for c in registry.contracts() for rule in c.rules if isinstance(rule, FilesRule)}
    seen = {
        line.split()[0]
        for path in (VECTORS / "between").glob("*/expected")
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    assert seen == published
