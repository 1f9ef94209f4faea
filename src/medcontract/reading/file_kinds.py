"""Recognizes files that are not text, or not data, by their first bytes: only to say what they are."""

from __future__ import annotations

import re
from typing import NamedTuple

from medcontract.containers import PARQUET
from medcontract.problems import Finding
from medcontract.reading.streams import GZIP

_EXTRACT = "extract the files and pass them"
_EXPORT = "export the sheet as CSV in UTF-8 (in Excel: Save As, CSV UTF-8)"
_TO_CSV = "write it as CSV (in pandas: df.to_csv(path, index=False))"
_EXPORT_TEXT = "export the data as .csv, .json or .jsonl"


class _Kind(NamedTuple):
    """A file format, recognized by the bytes at an offset."""

    magic: bytes
    name: str
    hint: str | None = None
    offset: int = 0


_KINDS = (
    _Kind(b"%PDF", "a PDF document", _EXPORT_TEXT),
    _Kind(b"\x89PNG", "an image"),
    _Kind(b"\xff\xd8\xff", "an image"),
    _Kind(b"SQLite format 3", "a database", _EXPORT_TEXT),
    _Kind(b"ustar", "a tar archive", _EXTRACT, offset=257),
    _Kind(b"7z\xbc\xaf\x27\x1c", "a 7z archive", _EXTRACT),
    _Kind(b"Rar!\x1a\x07", "a rar archive", _EXTRACT),
    _Kind(b"\xfd7zXZ\x00", "an xz archive", "decompress it with unxz, or use gzip"),
    _Kind(b"\x28\xb5\x2f\xfd", "a zstd archive", "decompress it with unzstd, or use gzip"),
    _Kind(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, such as .xls", _EXPORT),
    _Kind(b"{\\rtf", "an RTF document", "save it as plain text in UTF-8"),
    _Kind(b"\x89HDF\r\n\x1a\n", "an HDF5 file", _TO_CSV),
    _Kind(b"\x93NUMPY", "a NumPy array", _TO_CSV),
    _Kind(b"ARROW1\x00\x00", "an Arrow or Feather file", _TO_CSV),
    _Kind(b"version https://git-lfs.github.com/", "a Git LFS pointer", "download the file itself: git lfs pull"),
)
_IN_GZIP = (
    _Kind(GZIP, "a gzip archive inside another", "decompress it once with gunzip"),
    _Kind(PARQUET.magic, "a gzipped Parquet file", "decompress it with gunzip; Parquet is compressed already"),
    _Kind(b"ustar", "a .tar.gz archive", "extract the files with tar -xzf, and pass them", offset=257),
)
_ZIP = b"PK\x03\x04"
_IN_ZIP = (
    (b"xl/", _Kind(_ZIP, "an Excel file (.xlsx)", _EXPORT)),
    (b"opendocument.spreadsheet", _Kind(_ZIP, "a LibreOffice sheet (.ods)", _EXPORT)),
    (b"word/", _Kind(_ZIP, "a Word document", _EXPORT_TEXT)),
    (b"[Content_Types].xml", _Kind(_ZIP, "an Office file, such as .xlsx", _EXPORT)),
    (b".npy", _Kind(_ZIP, "a file of NumPy arrays", _TO_CSV)),
)
"""What the first bytes of a zip archive reveal about its content, most specific first."""
_ANY_ZIP = _Kind(_ZIP, "a zip archive", _EXTRACT)
_BY_PATTERN = (
    (re.compile(rb"\x80[\x02-\x05](?:\x95|[}\]c(])"),
     _Kind(b"", "a Python pickle", "write the data with json.dump or df.to_csv instead")),
    (re.compile(rb"BZh[1-9]1AY&SY"), _Kind(b"", "a bzip2 archive", "decompress it with bunzip2, or use gzip")),
)  # fmt: skip
_MARKUP = re.compile(rb"\s*<(!doctype\s+html|html|head|body|table|\?xml)\b", re.IGNORECASE)


def not_a_data_file(head: bytes, start: int, packed: bool) -> Finding | None:
    """Return the finding about a file of another kind or encoding, from its first bytes; the text starts at `start`."""
    wide = _wide_encoding(head)
    if wide:
        return Finding(
            "MC006", f"the file is in {wide}, not in UTF-8",
            "save it as UTF-8 (in Excel: Save As, CSV UTF-8; in PowerShell: Out-File -Encoding utf8; "
            "in Python: open(path, 'w', encoding='utf-8'))", offset=0,
        )  # fmt: skip
    kind = _kind(head, packed)
    if kind:
        return Finding("MC005", f"this is {kind.name}, not a text file", kind.hint, offset=0)
    markup = _MARKUP.match(head, start)
    if markup:
        name = "an XML document" if markup.group(1).endswith(b"xml") else "a web page (HTML)"
        hint = "check whether a login or error page was saved instead of the file"
        return Finding("MC005", f"this is {name}, not a data file", hint, offset=0)
    return None


def _wide_encoding(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    if head[:4].count(0) == 3 and head[4:8].count(0) == 3:
        return "UTF-32"
    pair = head[:4]
    if len(pair) == 4 and (pair[0::2] == b"\0\0") != (pair[1::2] == b"\0\0"):
        return "UTF-16"
    return None


def _kind(head: bytes, packed: bool) -> _Kind | None:
    if head.startswith(_ZIP):
        return next((kind for part, kind in _IN_ZIP if part in head), _ANY_ZIP)
    kinds = _IN_GZIP + _KINDS if packed else _KINDS
    by_magic = (kind for kind in kinds if head.startswith(kind.magic, kind.offset))
    return next(by_magic, None) or next((kind for pattern, kind in _BY_PATTERN if pattern.match(head)), None)
