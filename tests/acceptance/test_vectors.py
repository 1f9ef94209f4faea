"""Every file under `tests/vectors` is a test by being there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.support import (
    MANIFEST,
    NOT_LISTED,
    NOT_RECOGNISABLE,
    VECTORS,
    Vector,
    assert_sound,
    expectations,
    manifest_advice,
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
    [v for v in vectors() if v.expected[0] not in ("contract -", f"contract {NOT_LISTED.contract}")],
    ids=lambda vector: vector.name,
)


def _with_plain_line_feeds() -> list[Vector]:
    texts = [vector for vector in vectors() if vector.path.suffix not in (".csv", ".gz")]
    return [v for v in texts if b"\n" in (content := v.path.read_bytes()) and b"\r" not in content]


@each_vector
def test_vector(vector: Vector) -> None:
    """A file has exactly the problems that its manifest lists, in that order and at those places."""
    report = medcontract.validate_files([vector.path], vector.given).files[0]
    contract, *problems = report_lines(report)
    name = f"{vector.file} [{contract.removeprefix('contract ')}]" if vector.folder == "syntax" else vector.file
    assert [contract, *problems] == vector.expected, manifest_advice(vector.folder, name, problems)
    assert_sound(report)
    assert not report.wrong_call


def test_verdict_of_folders() -> None:
    """What is in `valid` has no errors, what is not has at least one, and each line of a manifest is well formed."""
    assert len(vectors()) > 600
    for vector in vectors():
        lines = vector.expected[1:]
        assert [line for line in lines if not _EXPECTED_LINE.fullmatch(line)] == [], vector.name
        assert any(" error " in line for line in lines) == (vector.verdict != "valid"), vector.name


@pytest.mark.parametrize("folder", [*sorted({v.folder for v in vectors()}), "between"])
def test_manifest(folder: str) -> None:
    """Every vector has its lines in the manifest of its folder, sorted by name, and every line its vector."""
    if folder == "between":
        names = [path.name for path in _SETS]
    else:
        names = [v.name.removeprefix(f"{folder}/") for v in vectors() if v.folder == folder]
    assert list(expectations(folder)) == sorted(names)
    lines = (VECTORS / folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.endswith(": ok")] == [
        f"{name}: ok" for name, expected in expectations(folder).items() if not expected.problems
    ]


def test_every_contract_has_vectors() -> None:
    """Each contract of files that people write has valid and invalid ones."""
    there = {(v.folder, v.verdict) for v in vectors()}
    missing = [
        f"add files to tests/vectors/{contract.id}/{verdict}"
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
    contract = vector.expected[0].removeprefix("contract ")
    named = medcontract.validate_files([vector.path], contract).files[0]
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

_SETS = sorted(path for path in (VECTORS / "between").iterdir() if path.is_dir())
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

each_set = pytest.mark.parametrize("folder", _SETS, ids=lambda folder: folder.name)


def _files_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _expected(folder: Path) -> list[str]:
    return expectations("between").get(folder.name, NOT_LISTED).problems


def _between(problems: Iterable[dict[str, Any]]) -> list[str]:
    """Problems of rules between files as the lines of the manifest: those of a file as a whole, then by record."""
    found = []
    for problem in problems:
        if problem["code"].startswith("MC3"):
            number = problem["record"]
            where = [problem["file"], "-" if number is None else str(number), problem["pointer"] or '""']
            line = " ".join([problem["code"], problem["severity"], *where])
            found.append((problem["file"], -1 if number is None else number, line))
    return [line for _, _, line in sorted(found)]


@each_set
def test_between(folder: Path, call: Call) -> None:
    """`preflight` finds exactly the problems that the manifest lists for a set of files."""
    checks = call("preflight", "--format", "json", *_files_of(folder)).json["checks"]
    found = _between(problem for check in checks for problem in check["problems"])
    assert found == _expected(folder), manifest_advice("between", folder.name, found)


@each_set
def test_between_scored(folder: Path, call: Call) -> None:
    """`score` finds the same problems, where there is something to score."""
    ran = call("score", "--format", "json", *_files_of(folder))
    assert (ran.code == 2) == (folder.name in _NOT_SCORED)
    if ran.code != 2:
        assert _between(ran.json["problems"]) == _expected(folder)


def test_every_kind_of_rule_between_files_has_a_vector() -> None:
    """No code of a rule between files goes without a set of files that breaks it, and that `score` sees."""
    published = {rule.code for c in registry.contracts() for rule in c.rules if isinstance(rule, CrossFileRule)}
    scored = [folder for folder in _SETS if folder.name not in _NOT_SCORED]
    for folders in (_SETS, scored):
        lines = [line for folder in folders for line in _expected(folder)]
        assert {line.split()[0] for line in lines} == published, "each code needs a folder in tests/vectors/between"
