"""Shared helpers: the vectors on disk, and assertions about reports."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hypothesis import HealthCheck, settings
from jsonschema import Draft202012Validator

from medcontract.results.validation import FileReport, Problem

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
VECTORS = ROOT / "tests" / "vectors"
SCHEMAS = ROOT / "schemas"

NOT_RECOGNISABLE = frozenset(
    {
        "lesions/model/invalid/top-level-string.json",
        "reports/cases/invalid/list-is-object.json",
        "reports/cases/invalid/report-id-column-missing.csv",
    }
)
"""Vectors whose content matches no contract: only for these, the contract must be specified."""

MANIFEST = "expected.txt"
_MANIFEST_LINE = re.compile(r"(?P<name>\S+?)(?: \[(?P<contract>\S+)\])?: (?P<problem>ok|MC.+)")


class Expected(NamedTuple):
    """The expectation for one vector."""

    contract: str | None
    """The recognized contract, "-" for none; None for that of the folder."""
    problems: list[str]


NOT_LISTED = Expected("not listed", ["not listed"])
"""Instead of an exception, so that only the tests of a vector fail that is not in its manifest."""


@cache
def expectations(folder: str) -> dict[str, Expected]:
    """Read the manifest of a folder of vectors: the name of a file, then a problem or `ok`, on each line."""
    found: dict[str, Expected] = {}
    for line in (VECTORS / folder / MANIFEST).read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        parts = _MANIFEST_LINE.fullmatch(line)
        if not parts:
            raise ValueError(f"{folder}/{MANIFEST}: {line!r} is not 'NAME: ok' or 'NAME: CODE severity ...'")
        expected = found.setdefault(parts["name"], Expected(parts["contract"], []))
        if parts["problem"] != "ok":
            expected.problems.append(parts["problem"])
    return found


class Vector(NamedTuple):
    """A file that is a test case."""

    path: Path
    name: str
    """The path relative to the folder of vectors, with slashes."""
    folder: str
    """The contract whose folder it is in, or "syntax" for files with syntax errors."""
    verdict: str
    """valid, invalid, or syntax."""

    @property
    def given(self) -> str | None:
        """The contract that must be specified for this file, if any."""
        return self.folder if self.name in NOT_RECOGNISABLE else None

    @property
    def expected(self) -> list[str]:
        """The expected result of `report_lines`."""
        contract, problems = expectations(self.folder).get(self.file, NOT_LISTED)
        return [f"contract {contract or self.folder}", *problems]

    @property
    def file(self) -> str:
        """The name of the file in the manifest."""
        return self.name.removeprefix(f"{self.folder}/")


@cache
def vectors() -> tuple[Vector, ...]:
    """All vectors that are checked alone."""
    found: list[Vector] = []
    for path in sorted(VECTORS.rglob("*")):
        parts = path.relative_to(VECTORS).parts
        if not path.is_file() or path.name == MANIFEST or parts[0] == "between":
            continue
        folder, verdict = ("syntax", "syntax") if parts[0] == "syntax" else ("/".join(parts[:2]), parts[2])
        found.append(Vector(path, "/".join(parts), folder, verdict))
    return tuple(found)


def problem_line(problem: Problem) -> str:
    """A problem in the format of the manifests."""
    numbers = ("-" if n is None else str(n) for n in (problem.line, problem.column, problem.record))
    return " ".join([problem.code, problem.severity, *numbers, problem.pointer or '""'])


def report_lines(report: FileReport) -> list[str]:
    """A report in the format of `Vector.expected`."""
    return [f"contract {report.contract or '-'}", *map(problem_line, report.problems)]


def manifest_advice(folder: str, name: str, problems: Sequence[str]) -> str:
    """What to do if the problems of a vector differ from its manifest, whose lines start with `name`."""
    lines = "\n".join(f"{name}: {problem}" for problem in problems or ["ok"])
    return f"If these problems are correct, write them to tests/vectors/{folder}/{MANIFEST}, sorted by name:\n{lines}"


@cache
def published(contract_id: str) -> Draft202012Validator:
    """A validator for the published schema of a contract."""
    return Draft202012Validator(json.loads((SCHEMAS / contract_id / "v1.json").read_bytes()))


def assert_sound(report: FileReport) -> None:
    """Assert the invariants of every report."""
    assert report.errors + report.warnings == len(report.problems) + report.omitted
    assert report.omitted >= 0
    assert report.ok == (report.errors == 0)
    kept = [problem.severity for problem in report.problems]
    assert kept.count("error") <= report.errors
    assert kept.count("warning") <= report.warnings
    for problem in report.problems:
        assert problem.line is None or problem.line >= 1
        assert problem.column is None or problem.column >= 1
        assert problem.record is None or problem.record >= 0
        assert problem.line is not None or problem.column is None
    places = [(problem.line or 0, problem.column or 0) for problem in report.problems]
    assert places == sorted(places)
    for show_values in (False, True):
        rendered = json.loads(report.to_json(show_values))
        published("medcontract/validation").validate(rendered)


def lesion(number: int, **changes: Any) -> dict[str, Any]:
    """A valid record of `lesions/truth`, or one with changes (None removes a key)."""
    record: dict[str, Any] = {"image_id": f"ISLA-{number:05}", "label": "NV", **changes}
    return {key: value for key, value in record.items() if value is not None}


def lesions(count: int, **changes: Any) -> bytes:
    """Lines of `lesions/truth`."""
    return "".join(json.dumps(lesion(number, **changes)) + "\n" for number in range(count)).encode()


TEST_ALL = "MEDCONTRACT_TEST_ALL"
"""Set by the pytest option --all."""


def sample(values: Sequence[T], every: int) -> Sequence[T]:
    """All values with --all, otherwise every n-th: for tests that loop over very many."""
    return values if os.environ.get(TEST_ALL) else values[::every]


def property_settings(examples: int) -> settings:
    """Settings for property tests, which use the same examples each time, and a quarter of them without --all.

    With `MEDCONTRACT_EXPLORE=20` they use 20 times as many random examples.
    """
    explore = int(os.environ.get("MEDCONTRACT_EXPLORE", "0"))
    if not os.environ.get(TEST_ALL) and not explore:
        examples = max(examples // 4, min(examples, 10))
    return settings(
        max_examples=examples * (explore or 1),
        derandomize=not explore,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
