"""The archives of bundles, and the names of columns."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from medcontract.platforms.bundle import _key, logo, tar_gz_of, zip_of

FILES = {"b/x.json": b"{}" * 1000, "a.csv": b"a\n", "é.txt": b""}


def test_zip() -> None:
    """Files are sorted and have a fixed date and mode; the order of the call does not matter."""
    data = zip_of(FILES)
    assert data == zip_of(dict(reversed(FILES.items())))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {entry.filename: archive.read(entry) for entry in archive.infolist()} == FILES
        assert [entry.filename for entry in archive.infolist()] == sorted(FILES)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}


def test_tar() -> None:
    """The same for .tar.gz, without an owner."""
    data = tar_gz_of(FILES)
    assert data == tar_gz_of(dict(reversed(FILES.items())))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {entry.name: (entry.mtime, entry.uid, entry.uname, entry.mode) for entry in archive}
        assert found == dict.fromkeys(sorted(FILES), (0, 0, "", 0o644))
        stream = archive.extractfile("b/x.json")
        assert stream
        assert stream.read() == FILES["b/x.json"]


def test_logo() -> None:
    """The logo is a valid image."""
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(logo()))
    image.load()
    assert (image.format, image.size, image.mode) == ("PNG", (256, 256), "RGB")


def test_column_names() -> None:
    """Names that platforms do not accept are changed, and stay different."""
    used: set[str] = set()
    names = ["My score (100 %)", "My score [100 %]", "x" * 40, "x" * 50, "«»", "f1"]
    assert [_key(name, used) for name in names] == [
        "My_score_100", "My_score_100_2", "x" * 36, "x" * 32 + "_2", "figure", "f1",
    ]  # fmt: skip
