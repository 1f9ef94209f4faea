"""Every case of the conformance suite that is a file or a set of files, and every file in `tests/vectors`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.support import (
    CONFORMANCE,
    LEVELS_OF_FILES,
    NOT_RECOGNISABLE,
    OWN_VECTORS,
    VECTORS,
    Vector,
    assert_sound,
    cases,
    new_case,
    report_lines,
    vectors,
)

import medcontract
from medcontract.contracts import registry
from medcontract.contracts.rules import CrossFileRule

_EXPECTED_LINE = re.compile(r'MC[0-5][0-9]{2} (error|warning) (-|[1-9][0-9]*) (-|[1-9][0-9]*) (-|[0-9]+) (""|/.*)')

each_vector = pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector.name)
each_recognized_vector = pytest.mark.parametrize(
    "vector",
    [v for v in vectors() if v.contract != "-"],
    ids=lambda vector: vector.name,
)


def _with_plain_line_feeds() -> list[Vector]:
    texts = [vector for vector in vectors() if vector.path.suffix not in (".csv", ".gz")]
    return [v for v in texts if b"\n" in (content := v.path.read_bytes()) and b"\r" not in content]


@each_vector
def test_vector(vector: Vector) -> None:
    """A file has exactly the problems of its case, in that order and at those places."""
    report = medcontract.validate_files([vector.path], vector.given).files[0]
    assert report_lines(report) == vector.expected, f"if the problems are correct, write this case:\n{new_case(vector)}"
    assert_sound(report)
    assert not report.usage_error


def test_verdict_of_folders() -> None:
    """What is in `valid` has no errors, what is not has at least one, and each expected problem is well formed."""
    assert len(vectors()) > 600
    for vector in vectors():
        assert [line for line in vector.problems if not _EXPECTED_LINE.fullmatch(line)] == [], vector.name
        assert any(" error " in line for line in vector.problems) == (vector.verdict != "valid"), vector.name


def test_every_file_has_a_case() -> None:
    """Each file of the suite and of `tests/vectors`, except `scores`, is the input of a case; there are no others."""
    inputs = {case["input"] for level in LEVELS_OF_FILES for case in cases(level)}
    inputs |= {
        file["input"]
        for level in ("files", "score")
        for case in cases(level)
        for file in case["files"]
        if "input" in file
    }
    there = {path.relative_to(CONFORMANCE).as_posix(): path for path in VECTORS.rglob("*") if path.is_file()}
    assert inputs - set(there) == set()
    without = sorted(set(there) - inputs)
    assert without == [], "\n".join(
        new_case(Vector(there[name], name.removeprefix("files/"), "-", [])) for name in without if "between" not in name
    )
    scores = OWN_VECTORS / "scores"  # files of calls: tests/unit/scoring/test_scoring_golden.py
    files = [path for path in OWN_VECTORS.rglob("*.*") if path.suffix != ".txt" and scores not in path.parents]
    own = {path.relative_to(OWN_VECTORS).as_posix() for path in files}
    assert own == {vector.name for vector in vectors() if OWN_VECTORS in vector.path.parents}


def test_every_contract_has_vectors() -> None:
    """Each contract of files that people write has valid and invalid ones."""
    there = {(v.folder, v.verdict) for v in vectors()}
    missing = [
        f"add files to conformance/files/{contract.id}/{verdict}"
        for contract in registry.contracts()
        for verdict in ("valid", "invalid")
        if not contract.output and (contract.id, verdict) not in there
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.slow
def test_few_vectors_need_their_contract_named() -> None:
    """The contract of every other vector of a track is recognized from its content."""
    tracks = [vector for vector in vectors() if vector.folder != "syntax"]
    need_it = {v.name for v in tracks if medcontract.validate_files([v.path]).files[0].contract is None}
    assert need_it == NOT_RECOGNISABLE


@pytest.mark.sampled(4)
@each_recognized_vector
def test_named_contract_and_bytes(vector: Vector) -> None:
    """A file has the same problems when its content is given as bytes, and when its contract is named.

    Except for the warning that the contract, if it was recognized, allows any other keys.
    """
    named = medcontract.validate_files([vector.path], vector.contract).files[0]
    as_bytes = medcontract.validate(vector.path.read_bytes(), vector.given, name=vector.path.name)
    assert report_lines(named) == [line for line in vector.expected if not line.startswith("MC510")]
    assert report_lines(as_bytes) == vector.expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize("vector", _with_plain_line_feeds(), ids=lambda vector: vector.name)
def test_line_ends(vector: Vector) -> None:
    """CRLF and CR for LF change neither lines nor columns."""
    content = vector.path.read_bytes()
    for line_end in (b"\r\n", b"\r"):
        report = medcontract.validate(content.replace(b"\n", line_end), vector.given, name=vector.path.name)
        assert report_lines(report) == vector.expected


# --- rules between files -------------------------------------------------------------------------

_SETS = cases("files")
_NOT_SCORED = {
    "benchmark-cases-not-all-answered",
    "extraction-all-right",
    "extraction-both-kinds-and-not-in-manifest",
    "extraction-labeled-as-both-kinds",
    "extraction-labels-not-in-manifest",
    "extraction-proof-not-in-manifest",
    "lesions-cases-not-all-answered",
    "reports-cases-not-all-answered",
    "triage-end-of-case-differs",
    "triage-lines-have-no-event",
}
"""Sets without a truth, without a submission, or without a header field that the result needs."""

each_set = pytest.mark.parametrize("case", _SETS, ids=lambda case: case["id"])


def _files_of(case: dict[str, Any]) -> list[Path]:
    return [CONFORMANCE / file["input"] for file in case["files"]]


def _expected(case: dict[str, Any]) -> list[str]:
    return [
        " ".join(
            [
                p["code"],
                p["severity"],
                p["file"],
                "-" if p["record"] is None else str(p["record"]),
                p["pointer"] or '""',
            ]
        )
        for p in case["expect"]["problems"]
    ]


def _between(problems: Iterable[dict[str, Any]]) -> list[str]:
    """Problems of rules between files as lines: of a file as a whole, then by record."""
    found = []
    for problem in problems:
        if problem["code"].startswith("MC3"):
            number = problem["record"]
            where = [problem["file"], "-" if number is None else str(number), problem["pointer"] or '""']
            line = " ".join([problem["code"], problem["severity"], *where])
            found.append((problem["file"], -1 if number is None else number, line))
    return [line for _, _, line in sorted(found)]


@each_set
def test_between(case: dict[str, Any], call: Call) -> None:
    """`preflight` finds exactly the problems of the case of a set of files."""
    checks = call("preflight", "--format", "json", *_files_of(case)).json["checks"]
    assert _between(problem for check in checks for problem in check["problems"]) == _expected(case)


@each_set
def test_between_scored(case: dict[str, Any], call: Call) -> None:
    """`score` finds the same problems, where there is something to score."""
    ran = call("score", "--format", "json", *_files_of(case))
    assert (ran.code == 2) == (_name(case) in _NOT_SCORED)
    if ran.code != 2:
        assert _between(ran.json["problems"]) == _expected(case)


def _name(case: dict[str, Any]) -> str:
    return str(case["id"]).removeprefix("between/")


def test_every_kind_of_rule_between_files_has_a_vector() -> None:
    """No code of a rule between files goes without a set of files that breaks it, and that `score` sees."""
    published = {rule.code for c in registry.contracts() for rule in c.rules if isinstance(rule, CrossFileRule)}
    scored = [case for case in _SETS if _name(case) not in _NOT_SCORED]
    for sets in (_SETS, scored):
        found = {problem["code"] for case in sets for problem in case["expect"]["problems"]}
        assert found == published, "each code needs a case of the level files"
