"""The catalogue of codes is closed and alive: each code can occur, and nothing else does."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support import ROOT, VECTORS, lesion

import medcontract
from medcontract.catalogue import CATALOGUE
from medcontract.reading import json_file, limits

_CODE = re.compile(r"MC[0-9]{3}")


def _codes_of_vectors() -> set[str]:
    """All codes that stand beside a vector or a set of vectors."""
    files = [*VECTORS.rglob("*.expected"), *VECTORS.glob("between/*/expected")]
    return {
        line.split(" ")[0]
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("contract ")
    }


# --- codes that no file alone can show -----------------------------------------------------------

Case = Callable[[Path, pytest.MonkeyPatch], medcontract.FileReport]


def _no_such_file(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(folder / "no-such-file.json")


def _a_folder(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(folder)


def _no_permission(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    path = folder / "x.json"
    path.write_bytes(b"{}")

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    patch.setattr("builtins.open", refuse)
    return medcontract.validate(path)


def _no_permission_for_the_folder(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    real = os.stat

    def refuse(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if str(path).endswith("secret.json"):
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **options)

    patch.setattr(os, "stat", refuse)
    return medcontract.validate(folder / "secret.json")


def _a_socket(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.chdir(folder)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("x.json")
        return medcontract.validate("x.json")


def _a_device(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    path = folder / "x.json"
    path.write_bytes(b"{}")
    patch.setattr(os, "stat", lambda *arguments, **options: SimpleNamespace(st_mode=stat.S_IFCHR | 0o666))
    return medcontract.validate(path)


def _not_recognised(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b'{"colour": "green"}', name="x.json")


def _an_archive(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"PK\x03\x04\x14\x00", name="x.xlsx")


def _a_large_record(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.setattr(json_file, "BLOCK", 64)
    patch.setattr(json_file, "MAX_RECORD", 256)
    records = [lesion(1, image_id="I" * 1000)]
    return medcontract.validate(json.dumps({"labels": records}).encode(), "lesions/truth", name="x.json")


def _a_large_document(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.setattr("medcontract.judging.json.MAX_DOCUMENT", 100)
    document = {"team_name": "T" * 100, "model_size_mb": 1, "inference_time_ms": 1}
    content = json.dumps({**document, "uses_image": True, "uses_demographics": True}).encode()
    return medcontract.validate(content, "lesions/model", name="x.json")


def _a_document_as_lines(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"{}\n", "lesions/model", name="x.jsonl")


def _nested_records_as_a_table(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"case_id\nC-1\n", "triage/ground-truth", name="x.csv")


OWN: list[tuple[str, bool, Case]] = [
    ("MC001", True, _no_such_file),
    ("MC002", True, _a_folder),
    ("MC003", True, _no_permission),
    ("MC003", True, _no_permission_for_the_folder),
    ("MC003", True, _a_socket),
    ("MC003", True, _a_device),
    ("MC005", False, _an_archive),
    ("MC009", True, _not_recognised),
    ("MC020", False, _a_large_record),
    ("MC020", False, _a_large_document),
    ("MC033", True, _a_document_as_lines),
    ("MC033", True, _nested_records_as_a_table),
]
"""Code, whether the call is to blame and not the file, and how it comes about."""


@pytest.mark.parametrize(("code", "wrong_call", "case"), OWN, ids=[f"{code}{case.__name__}" for code, _, case in OWN])
def test_code_occurs(code: str, wrong_call: bool, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A code that no file alone can show comes about through the public functions."""
    with monkeypatch.context() as patch:
        report = case(tmp_path, patch)
    assert [problem.code for problem in report.problems] == [code]
    assert report.wrong_call == wrong_call
    assert not report.ok


@pytest.mark.parametrize(
    ("magic", "word"),
    [
        (b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "zip"), (b"PAR1", "Parquet"), (b"%PDF-1.7", "PDF"),
        (b"\x89PNG\r\n", "image"), (b"\xff\xd8\xff\xe0", "image"), (b"SQLite format 3\0", "database"),
    ],
)  # fmt: skip
def test_binary_files_are_named(magic: bytes, word: str) -> None:
    """A file that is no text is told as what it is, at its first character."""
    problem = medcontract.validate(magic + b"\0" * 100, "lesions/truth", name="x.json").problems[0]
    assert (problem.code, problem.line, problem.column) == ("MC005", 1, 1)
    assert word in problem.message


# --- the catalogue -------------------------------------------------------------------------------


def test_each_code_occurs() -> None:
    """Every code of the catalogue stands beside some vector, or has a test of its own here; and no other code does."""
    assert _codes_of_vectors() | {code for code, _, _ in OWN} == set(CATALOGUE)


def test_codes_of_the_source() -> None:
    """The codes that the package gives are those of the catalogue."""
    used: set[str] = set()
    for path in (ROOT / "src" / "medcontract").rglob("*.py"):
        if path.name not in ("catalogue.py", "group.py", "explain.py"):  # those have codes in examples
            used |= set(_CODE.findall(path.read_text(encoding="utf-8")))
    assert used == set(CATALOGUE)


@pytest.mark.parametrize("code", CATALOGUE)
def test_entry(code: str) -> None:
    """An entry says what its code means, shows a mistake and how it is mended, and its number is in a known range."""
    entry = CATALOGUE[code]
    assert entry.code == code
    assert re.fullmatch(r"MC[0-5][0-9]{2}", code)
    assert all(text.strip() == text != "" for text in entry)
    assert entry.mistake != entry.mending
    assert entry.meaning.endswith(".")


def test_entries_are_in_order() -> None:
    """The catalogue is sorted by code, and no two entries have the same title."""
    assert list(CATALOGUE) == sorted(CATALOGUE)
    assert len({entry.title for entry in CATALOGUE.values()}) == len(CATALOGUE)


def test_limits_in_words() -> None:
    """The sizes that the catalogue names are the limits that hold."""
    assert f"{limits.MAX_DEPTH} levels" in CATALOGUE["MC019"].meaning
    assert f"{limits.MAX_RECORD >> 20} MiB" in CATALOGUE["MC020"].meaning
    assert f"{limits.MAX_DOCUMENT >> 20} MiB" in CATALOGUE["MC020"].meaning


def test_page_of_codes_is_up_to_date() -> None:
    """`docs/codes.md` is what the catalogue gives today."""
    page: str = import_module("medcontract.docs").codes_page()
    assert (ROOT / "docs" / "codes.md").read_text(encoding="utf-8") == page
    assert [code for code in CATALOGUE if code not in page] == []
