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

import medcontract
from medcontract.results.validation import FileReport, Problem

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
CONFORMANCE = ROOT / "conformance"
VECTORS = CONFORMANCE / "files"
OWN_VECTORS = ROOT / "tests" / "vectors"
"""Files whose problems depend on recognition or on limits, which is why they are not in the conformance suite."""
SCHEMAS = ROOT / "schemas"

NOT_RECOGNISABLE = frozenset(
    {
        "lesions/model/invalid/top-level-string.json",
        "reports/cases/invalid/list-is-object.json",
        "reports/cases/invalid/report-id-column-missing.csv",
    }
)
"""Vectors whose content matches no contract: only for these, the contract must be specified."""

MANIFEST = OWN_VECTORS / "expected.txt"
_MANIFEST_LINE = re.compile(r"(?P<id>\S+?)(?: \[(?P<contract>\S+)\])?: (?P<problem>.+)")
LEVELS_OF_FILES = ("syntax", "schema", "rules", "tables")


@cache
def cases(level: str) -> tuple[dict[str, Any], ...]:
    """Read a manifest of the conformance suite."""
    return tuple(map(json.loads, (CONFORMANCE / f"{level}.jsonl").read_bytes().splitlines()))


class Vector(NamedTuple):
    """A file that is a test case."""

    path: Path
    name: str
    """The path relative to the folder of vectors, with slashes: the id of the case."""
    contract: str
    """The contract that is recognized, or "-"."""
    problems: list[str]
    """The expected problems, as `problem_line` writes them, if the contract is not named."""

    @property
    def folder(self) -> str:
        """The contract whose folder it is in, or "syntax" for files with syntax errors."""
        return "syntax" if self.name.startswith("syntax/") else "/".join(self.name.split("/")[:2])

    @property
    def verdict(self) -> str:
        """The name of the folder: valid, invalid, or syntax."""
        return "syntax" if self.folder == "syntax" else self.name.split("/")[2]

    @property
    def given(self) -> str | None:
        """The contract that must be specified for this file, if any."""
        return self.folder if self.name in NOT_RECOGNISABLE else None

    @property
    def expected(self) -> list[str]:
        """The expected result of `report_lines`."""
        return [f"contract {self.contract}", *self.problems]


@cache
def vectors() -> tuple[Vector, ...]:
    """All files that are checked alone: the conformance suite, and our own."""
    found = {
        case["id"]: Vector(
            VECTORS / case["id"],
            case["id"],
            case["contract"] or "-",
            list(map(expected_line, case["expect"]["problems"])),
        )
        for level in LEVELS_OF_FILES
        for case in cases(level)
    }
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        parts = _MANIFEST_LINE.fullmatch(line)
        assert parts, f"{MANIFEST}: {line!r} is not 'ID [contract]: CODE severity ...'"
        name = parts["id"]
        vector = found.setdefault(name, Vector(OWN_VECTORS / name, name, parts["contract"] or "-", []))
        vector.problems.append(parts["problem"])
        vector.problems.sort(key=_file_order)
    return tuple(found[name] for name in sorted(found))


def _file_order(line: str) -> tuple[int, int, bool]:
    code, _, number, column, *_ = line.split(" ")
    return int(number), 0 if column == "-" else int(column), code != "MC510"


def expected_line(problem: dict[str, Any]) -> str:
    """A problem of a case as `problem_line` writes it."""
    numbers = ("-" if problem[key] is None else str(problem[key]) for key in ("line", "column", "record"))
    return " ".join([problem["code"], problem["severity"], *numbers, problem["pointer"] or '""'])


def problem_line(problem: Problem) -> str:
    """A problem in the format of the manifests."""
    numbers = ("-" if n is None else str(n) for n in (problem.line, problem.column, problem.record))
    return " ".join([problem.code, problem.severity, *numbers, problem.pointer or '""'])


def report_lines(report: FileReport) -> list[str]:
    """A report in the format of `Vector.expected`."""
    return [f"contract {report.contract or '-'}", *map(problem_line, report.problems)]


def new_case(vector: Vector) -> str:
    """Return the line of a manifest for a vector, to be checked and added by hand."""
    container = vector.path.suffix[1:]
    report = medcontract.validate(vector.path, vector.given or (None if vector.contract == "-" else vector.contract))
    keys = ("code", "severity", "line", "column", "record", "pointer", *(["field"] if container == "csv" else []))
    problems = [{key: getattr(problem, key) for key in keys} for problem in report.problems if problem.code != "MC510"]
    level = "tables" if container == "csv" else "rules" if any(p["code"][2] == "2" for p in problems) else "schema"
    return json.dumps({
        "id": vector.name, "level": "syntax" if vector.folder == "syntax" else level, "contract": report.contract,
        "container": container, "input": f"files/{vector.name}",
        "expect": {"ok": report.ok, "problems": problems}, "about": [],
    }, ensure_ascii=False)  # fmt: skip


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
