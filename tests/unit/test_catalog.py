"""The catalog of codes is closed and alive: each code can occur, and nothing else does."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import stat
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from script.doc_pages import codes_page
from tests.acceptance.test_preflight import PREFLIGHT_CODES
from tests.acceptance.test_preflight_answers import ANSWER_CODES
from tests.archive_files import pack
from tests.support import ROOT, cases, lesion, vectors
from tests.unit.challenges import test_challenge_file

import medcontract
from medcontract.catalog import problem_codes
from medcontract.images import check_image
from medcontract.reading import json_stream, limits
from medcontract.reading.limits import Limits

_CODE = re.compile(r"MC[0-9]{3}")


def _codes_of_vectors() -> set[str]:
    """All codes in the manifests of vectors."""
    between = {problem["code"] for case in cases("files") for problem in case["expect"]["problems"]}
    return between | {problem.split(" ")[0] for vector in vectors() for problem in vector.problems if problem != "ok"}


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


def _not_recognized(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b'{"colour": "green"}', name="x.json")


def _an_archive(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"PK\x03\x04\x14\x00", name="x.xlsx")


def _a_large_record(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.setattr(json_stream, "BLOCK", 64)
    patch.setattr("medcontract.reading.source.Limits", lambda: Limits(record=256))
    records = [lesion(1, image_id="I" * 1000)]
    return medcontract.validate(json.dumps({"labels": records}).encode(), "lesions/truth", name="x.json")


def _a_large_document(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.setattr("medcontract.validation.json_objects.MAX_DOCUMENT", 100)
    document = {"team_name": "T" * 100, "model_size_mb": 1, "inference_time_ms": 1}
    content = json.dumps({**document, "uses_image": True, "uses_demographics": True}).encode()
    return medcontract.validate(content, "lesions/model", name="x.json")


def _a_document_as_lines(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"{}\n", "lesions/model", name="x.jsonl")


def _nested_records_as_a_table(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"case_id\nC-1\n", "triage/ground-truth", name="x.csv")


_PACKED = gzip.compress(b'{"labels": []}\n' * 100)


def _a_damaged_archive(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(_PACKED[:-6] + b"??????", "lesions/truth", name="x.json.gz")


def _half_an_archive(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(_PACKED[:20], "lesions/truth", name="x.json.gz")


def _an_archive_of_too_much(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.setattr("medcontract.reading.source.Limits", lambda: Limits(unpacked=1000))
    return medcontract.validate(_PACKED, "lesions/truth", name="x.json.gz")


def _half_a_zip(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    path = pack(folder / "x.zip", {"truth.csv": b"image_id,label\nI-1,MEL\n"})
    path.write_bytes(path.read_bytes()[:60])
    return medcontract.validate(path)


def _a_path_out_of_a_zip(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(pack(folder / "x.zip", {"../truth.csv": b"image_id,label\nI-1,MEL\n"}))


def _no_parquet(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    return medcontract.validate(b"image_id,label\nI-1,MEL\n", "lesions/truth", name="x.parquet")


def _against_a_schema(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    (folder / "schema.json").write_text('{"type": "array", "uniqueItems": true}')
    (folder / "x.json").write_text("[1, 1]")
    return medcontract.validate_files([folder / "x.json"], schema=folder / "schema.json").files[0]


def _a_link_out_of_the_folder(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    (folder / "x").mkdir()
    (folder / "x" / "x.json").symlink_to(folder / "elsewhere.json")
    return medcontract.validate_files([folder / "x"]).files[0]


def _an_internal_error(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    patch.setattr("medcontract.validation.dispatch.identify", int)
    return medcontract.validate_files(["x.json"]).files[0]


def _a_slow_pattern(folder: Path, patch: pytest.MonkeyPatch) -> medcontract.FileReport:
    (folder / "schema.json").write_text('{"pattern": "^(?=(a|aa)+$)"}')
    return medcontract.validate(b'"%s!"' % (b"a" * 50), schema=folder / "schema.json", name="x.json")


OWN: list[tuple[str, bool, Case]] = [
    ("MC024", False, _a_slow_pattern),
    ("MC028", True, _a_link_out_of_the_folder),
    ("MC029", False, _an_internal_error),
    ("MC025", False, _a_damaged_archive),
    ("MC026", False, _half_an_archive),
    ("MC027", False, _an_archive_of_too_much),
    ("MC034", False, _no_parquet),
    ("MC036", False, _half_a_zip),
    ("MC037", False, _a_path_out_of_a_zip),
    ("MC110", False, _against_a_schema),
    ("MC001", True, _no_such_file),
    ("MC002", True, _a_folder),
    ("MC003", True, _no_permission),
    ("MC003", True, _no_permission_for_the_folder),
    ("MC003", True, _a_socket),
    ("MC003", True, _a_device),
    ("MC005", False, _an_archive),
    ("MC009", True, _not_recognized),
    ("MC020", False, _a_large_record),
    ("MC020", False, _a_large_document),
    ("MC033", True, _a_document_as_lines),
    ("MC033", True, _nested_records_as_a_table),
]
"""Code, whether the call is to blame and not the file, and how it comes about."""


@pytest.mark.parametrize(("code", "usage_error", "case"), OWN, ids=[f"{code}{case.__name__}" for code, _, case in OWN])
def test_code_occurs(code: str, usage_error: bool, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A code that no file alone can show comes about through the public functions."""
    with monkeypatch.context() as patch:
        report = case(tmp_path, patch)
    assert [problem.code for problem in report.problems] == [code]
    assert report.usage_error == usage_error
    assert not report.ok


@pytest.mark.parametrize(
    ("magic", "word"),
    [
        (b"PK\x03\x04", "zip"), (b"%PDF-1.7", "PDF"),
        (b"\x89PNG\r\n", "image"), (b"\xff\xd8\xff\xe0", "image"), (b"SQLite format 3\0", "database"),
    ],
)  # fmt: skip
def test_binary_files_are_named(magic: bytes, word: str) -> None:
    """A file that is no text is told as what it is, at its first character."""
    problem = medcontract.validate(magic + b"\0" * 100, "lesions/truth", name="x.json").problems[0]
    assert (problem.code, problem.line, problem.column) == ("MC005", 1, 1)
    assert word in problem.message


def _png(width: int, height: int, color: int) -> bytes:
    """The beginning of a PNG: it announces a size and a kind of color, and ends where the pixels start."""
    announced = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    header = struct.pack(">I", 13) + announced + struct.pack(">I", zlib.crc32(announced))
    return b"\x89PNG\r\n\x1a\n" + header + struct.pack(">I", 100) + b"IDAT"


IMAGES: dict[str, bytes | None] = {
    "MC320": None,
    "MC321": b"GIF89a" + bytes(100),
    "MC322": _png(600, 600, 0),
    "MC323": _png(600, 511, 2),
    "MC324": _png(600, 600, 2),
    "MC325": _png(10_001, 10_000, 2),
}
"""What a file holds that gives a code when it is checked as an image; None: nothing is there."""


@pytest.mark.parametrize(("code", "content"), IMAGES.items(), ids=IMAGES)
def test_code_of_an_image_occurs(code: str, content: bytes | None, tmp_path: Path) -> None:
    """A code about images comes about when a file is checked as one."""
    if content is not None:
        (tmp_path / "x.png").write_bytes(content)
    problem = check_image(tmp_path / "x.png")
    assert problem is not None
    assert problem.code == code


# --- the catalog -------------------------------------------------------------------------------


def test_each_code_occurs() -> None:
    """Every code of the catalog stands beside some vector, or has a test of its own; and no other code does."""
    own = {code for code, _, _ in OWN} | test_challenge_file.CODES
    proven = own | set(IMAGES) | set(PREFLIGHT_CODES) | set(ANSWER_CODES)
    assert _codes_of_vectors() | proven == set(problem_codes()), "add a vector for each code: see CONTRIBUTING.md"


def test_codes_of_the_source() -> None:
    """The codes that the package gives are in the catalog."""
    used: set[str] = set()
    for path in (ROOT / "src" / "medcontract").rglob("*.py"):
        if path.name not in ("group.py", "explain.py"):  # which have them in examples
            used |= set(_CODE.findall(path.read_text(encoding="utf-8")))
    assert used == set(problem_codes()), "each code needs an entry in codes.toml: see CONTRIBUTING.md"


@pytest.mark.parametrize("code", problem_codes())
def test_entry(code: str) -> None:
    """An entry says what its code means, shows a mistake and how it is mended, and its number is in a known range."""
    entry = problem_codes()[code]
    assert entry.code == code
    assert re.fullmatch(r"MC[0-5][0-9]{2}", code)
    assert all(text.strip() == text != "" for text in entry)
    assert entry.mistake != entry.fix
    assert entry.meaning.endswith(".")


def test_entries_are_in_order() -> None:
    """The catalog is sorted by code, and no two entries have the same title."""
    assert list(problem_codes()) == sorted(problem_codes())
    assert len({entry.title for entry in problem_codes().values()}) == len(problem_codes())


def test_limits_in_words() -> None:
    """The sizes that the catalog names are the limits that hold."""
    assert f"{limits.MAX_DEPTH} levels" in problem_codes()["MC019"].meaning
    assert f"{limits.MAX_RECORD >> 20} MiB" in problem_codes()["MC020"].meaning
    assert f"{limits.MAX_DOCUMENT >> 20} MiB" in problem_codes()["MC020"].meaning


def test_page_of_codes_is_up_to_date() -> None:
    """`docs/codes.md` is what the catalog gives today."""
    page = codes_page()
    assert (ROOT / "docs" / "codes.md").read_text(encoding="utf-8") == page
    assert [code for code in problem_codes() if code not in page] == []
