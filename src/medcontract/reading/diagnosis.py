"""Explains what is wrong with a file or its text: another kind of file, another encoding, text that is not JSON.

Nothing here is needed for a good file. Each guess is about the habit behind a mistake, to give one hint that fixes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from medcontract.containers import PARQUET
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding
from medcontract.reading.located_records import Broken
from medcontract.reading.source import GZIP

MOST_BYTES = 1 << 16
"""The part of a file that a guess is based on."""

# --- other kinds of files, by their first bytes

_EXTRACT = "extract the files and pass them"
_EXPORT = "export the sheet as CSV in UTF-8 (in Excel: Save As, CSV UTF-8)"
_FROM_MATLAB = "write it as CSV (in MATLAB: writetable(t, path))"
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
    _Kind(b"MATLAB 5.0 MAT-file", "a MATLAB file (.mat)", _FROM_MATLAB),
    _Kind(b"MATLAB 7.3 MAT-file", "a MATLAB file (.mat)", _FROM_MATLAB),
    _Kind(b"RDX3\n", "an R file (.RData)", "write it with write.csv(x, path, row.names = FALSE)"),
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
    (b"data.pkl", _Kind(_ZIP, "a PyTorch file", _TO_CSV)),
    (b".npy", _Kind(_ZIP, "a file of NumPy arrays", _TO_CSV)),
)
"""What the first bytes of a zip archive reveal about its content, most specific first."""
_ANY_ZIP = _Kind(_ZIP, "a zip archive", _EXTRACT)
_BY_PATTERN = (
    (lazy_pattern(rb"\x80[\x02-\x05](?:\x95|[}\]c(])"),
     _Kind(b"", "a Python pickle", "write the data with json.dump or df.to_csv instead")),
    (lazy_pattern(rb"(?:\(?[dl]p?[0-9]*\n|c[a-z_][\w.]*\n[A-Za-z_]\w*\n)[^{]"),
     _Kind(b"", "a Python pickle", "write the data with json.dump or df.to_csv instead")),
    (lazy_pattern(rb"BZh[1-9]1AY&SY"), _Kind(b"", "a bzip2 archive", "decompress it with bunzip2, or use gzip")),
)  # fmt: skip
_MARKUP = lazy_pattern(rb"\s*<(!doctype\s+html|html|head|body|table|\?xml)\b", re.IGNORECASE)


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


# --- encodings

_ENCODINGS = (("Windows-1252", "cp1252"), ("Mac Roman", "mac_roman"), ("the DOS code page 850", "cp850"))
"""The most common one first: it wins ties."""
_LETTERS = frozenset("áéíóúüñÁÉÍÓÚÜÑçÇàèòêôõãäöß¿¡ºª“”‘’–—…€µ°")
_OTHERS = lazy_pattern(r"[^\x00-\x7f]")
_WITHIN_WORD = lazy_pattern(r"(?<=[^\W\d_])(?:[“”‘–—…€µ°¡¿]|’(?!(?:[tsdm]|re|ve|ll)\b))(?=[^\W\d_])")
"""Marks between two letters: í and ó of Mac Roman, read as Windows-1252."""
_UTF8_START = lazy_pattern(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xf4][\x80-\xbf]")
_CONTEXT = 2000
"""Bytes around an invalid one that are compared."""


class Encoding(NamedTuple):
    name: str
    codec: str
    """Its name in Python."""


def encoding_of(data: bytes, offset: int) -> Encoding | None:
    """Guess the encoding of text with a byte that is not valid UTF-8; None if it may just be damaged."""
    if _UTF8_START.match(data, offset):
        return None
    near = data[max(0, offset - _CONTEXT) : offset + _CONTEXT]
    rated = [(_rate(near, codec), -number) for number, (_, codec) in enumerate(_ENCODINGS)]
    score, number = max(rated)
    found = Encoding(*_ENCODINGS[-number])
    is_odd = number == 0 and _WITHIN_WORD.search(near.decode(found.codec, "replace"))
    return found if score > 0 and not is_odd else None


def _rate(data: bytes, codec: str) -> int:
    """Count the other characters: usual letters in this encoding minus all others."""
    text = data.decode(codec, "replace")
    return sum(1 if char in _LETTERS else -1 for char in _OTHERS.findall(text))


def _not_utf8_hint(data: bytes, offset: int) -> str:
    """Say how to convert text with a byte that is not valid UTF-8."""
    found = encoding_of(data, offset)
    if found is None:
        return "save the file as UTF-8"
    return (
        f"the file seems to be in {found.name}: save it as UTF-8 (in Excel: Save As, CSV UTF-8; "
        f"in Python: read it with open(path, encoding='{found.codec}'), write it with encoding='utf-8')"
    )


# --- what is not valid JSON

WORD = re.compile(rb"-?[A-Za-z_$][A-Za-z0-9_$]*+")
_LIKE_NUMBER = lazy_pattern(rb"[-+]?\.?[0-9]|[-+]\.?")
_STRING_START = lazy_pattern(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_CUT_OFF = lazy_pattern(
    rb"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|N(?:a)?|-?I(?:n(?:f(?:i(?:n(?:it?)?)?)?)?)?"
)
_CUT_HINT = "the file may be truncated; check that it was written completely"
_QUOTES = (b"`", "\u2018".encode(), "\u2019".encode(), "\u201c".encode(), "\u201d".encode())
_BOM = "\ufeff".encode()
_FROM_PYTHON = "if it is Python data, write it with json.dump(data, file), not with str(data)"
_WORD_HINTS = {
    b"True": f"write true; {_FROM_PYTHON}", b"False": f"write false; {_FROM_PYTHON}",
    b"None": f"write null; {_FROM_PYTHON}", b"undefined": "write null",
    b"nan": "omit the value, or write null where that is allowed", b"inf": "write a finite number",
}  # fmt: skip
_BREAK_IN_STRING = ("a line break", r"close the string, or write \n for a line break in it")
_SEVERAL = (
    "keep one JSON value; for several records, write one per line and name the file .jsonl, or put them into a list"
)
_SEVERAL_LINES = "each line is a JSON value of its own: name the file .jsonl, or put the values into a list"
_LONGEST_LINE = 1 << 16
LATE_MARK_HINT = "remove it: it is only allowed at the start of a file; were files concatenated?"


def not_utf8(data: bytes, offset: int) -> Broken:
    """Explain the invalid byte at an offset in the data."""
    return Broken("MC007", offset, "this byte is not valid UTF-8", _not_utf8_hint(data, offset))


def first_error(data: bytes, start: int, explain: Callable[[bytes], Broken]) -> Broken:
    """Return the error in the data from `start`, or the first invalid byte if the text only breaks off there."""
    try:
        data[start:].decode()
    except UnicodeDecodeError as error:
        bad = start + error.start
        broken = explain(data[:bad])
        return broken if broken.offset < bad else not_utf8(data, bad)
    return explain(data)


def after_end(data: bytes, offset: int) -> Broken:
    """Explain text after the end of a JSON value."""
    first = data[offset : offset + 1]
    if first == b"\0":
        return _nul(offset)
    if first in (b"/", b"#"):
        return _comment(offset)
    if data.startswith(_BOM, offset):
        return _late_mark("MC014", offset)
    if first >= b"\x80" and _is_not_utf8(data[offset : offset + 4]):
        return not_utf8(data, offset)
    if first in (b"}", b"]"):
        hint: str | None = "remove the extra closing bracket"
    elif first in (b"{", b"["):
        hint = _SEVERAL_LINES if _one_per_line(data, offset) else _SEVERAL
    elif first == b",":
        hint = "remove the comma"
    else:
        hint = _after_json_hint(data[offset : offset + 16])
    return Broken("MC014", offset, "text after the end of the JSON value", hint)


def bad_string(data: bytes, offset: int) -> Broken:
    """Explain the string that opens at an offset, and is not valid."""
    stop = _STRING_START.match(data, offset).end()  # type: ignore[union-attr]  # there is a quote at offset
    if stop >= len(data):
        return _truncated(data, "inside a string")
    char = data[stop]
    if char == 0:
        return _nul(stop, " in a string")
    if char == 0x5C:
        if len(data) - stop < 6 and re.fullmatch(rb"\\(?:u[0-9a-fA-F]*)?", data[stop:]):
            return _truncated(data, "inside a string")
        return Broken("MC021", stop, "an invalid escape", r"write \\ for a backslash")
    name, hint = {0x09: ("a tab", r"write \t"), 0x0A: _BREAK_IN_STRING, 0x0D: _BREAK_IN_STRING}.get(
        char, (f"the control character U+{char:04X}", f"remove it or write \\u{char:04x}")
    )
    return Broken("MC021", stop, f"{name} in a string", hint)


def no_value(data: bytes, at: int, is_first: bool = False) -> Broken:
    """Explain what is there instead of a value."""
    if at >= len(data):
        return _truncated(data, "before the first value" if is_first else "where a value is expected")
    char = data[at : at + 1]
    if char in (b"}", b"]", b",", b":"):
        return Broken("MC010", at, f"a value is missing before '{char.decode()}'")
    hint = "omit leading zeros and '+', and write digits on both sides of the dot"
    number = Broken("MC022", at, "not a JSON number", hint)
    found = WORD.match(data, at)
    word = Broken("MC023", at, "expected a value, got a bare word", _WORD_HINTS.get(found.group())) if found else None
    return _unexpected(data, at, "expected a value", number, word)


def no_key(data: bytes, at: int) -> Broken:
    """Explain what is there instead of a key."""
    if at >= len(data):
        return _truncated(data, "where a key is expected")
    expected = "expected a key in double quotes"
    after_digit = re.search(rb"[0-9],\Z", data[:at][-2:]) and data[at : at + 1].isdigit()
    hint = "write decimal numbers with a dot, not a comma" if after_digit else None
    word = Broken("MC023", at, f"{expected}, got a bare word", "put the key in double quotes")
    return _unexpected(data, at, expected, Broken("MC010", at, expected, hint), word)


def no_colon(data: bytes, at: int) -> Broken:
    """Explain what is there instead of a colon."""
    if at >= len(data):
        return _truncated(data, "after a key")
    return _unexpected(data, at, "expected ':' after the key")


def no_comma(data: bytes, at: int, closing: bytes) -> Broken:
    """Explain what is there instead of a comma or a closing bracket."""
    if at >= len(data):
        return _truncated(data, f"before the closing '{closing.decode()}'")
    char = data[at : at + 1]
    if char in (b"}", b"]"):
        return Broken("MC010", at, f"expected '{closing.decode()}', got '{char.decode()}'")
    return _unexpected(data, at, "expected ',' or the end, got ':'" if char == b":" else "expected ','")


def trailing_comma(data: bytes, at: int) -> Broken:
    return Broken("MC012", at, "a comma before the closing bracket", "remove the comma")


def _unexpected(
    data: bytes, at: int, expected: str, number: Broken | None = None, word: Broken | None = None
) -> Broken:
    """Return the most specific error for an unexpected character. `number`, `word`: the error if there is one."""
    rest = data[at : at + 32]
    if never_right := _wrong_anywhere(data, at, rest):
        return never_right
    if _LIKE_NUMBER.match(rest):
        return number or Broken("MC010", at, expected)
    if word and WORD.match(rest):
        return word
    if rest[:1] >= b"\x80" and _is_not_utf8(rest):
        return not_utf8(data, at)
    hint = "replace the no-break space (U+00A0) with a plain space" if rest.startswith(b"\xc2\xa0") else None
    return Broken("MC010", at, expected, hint)


def _wrong_anywhere(data: bytes, at: int, rest: bytes) -> Broken | None:
    """Return the error for text that is never valid JSON."""
    if _CUT_OFF.fullmatch(data, at):
        return _truncated(data, "inside a value")
    if rest[:1] == b"\0":
        return _nul(at)
    if rest[:2] in (b"//", b"/*") or rest[:1] == b"#":
        return _comment(at)
    if rest.startswith(_BOM):
        return _late_mark("MC010", at)
    if rest.startswith(FENCE):
        return Broken("MC010", at, _FENCE_MESSAGE, _ONLY_JSON)
    if rest.startswith(b"'"):
        return Broken("MC023", at, "JSON strings need double quotes", f'write "…"; {_FROM_PYTHON}')
    if rest.startswith(_QUOTES):
        return Broken("MC023", at, "JSON strings need double quotes", 'write "…" with straight quotes')
    return None


def _truncated(data: bytes, where: str) -> Broken:
    return Broken("MC011", len(data), f"the text ends {where}", _CUT_HINT)


def _nul(offset: int, where: str = "") -> Broken:
    return Broken("MC008", offset, f"a NUL byte{where}", "remove it; the file may be damaged or binary")


def _comment(offset: int) -> Broken:
    return Broken("MC013", offset, "JSON does not allow comments", "remove all comments")


def _late_mark(code: str, offset: int) -> Broken:
    return Broken(code, offset, "a byte order mark (U+FEFF) in the middle of the file", LATE_MARK_HINT)


def _one_per_line(data: bytes, offset: int) -> bool:
    """Check whether the values before and after an offset, the start of a value, are on one line each."""
    before = data[:offset].rstrip(b"\r\n")
    if before == data[:offset]:
        return False
    line = before[max(before.rfind(b"\n"), before.rfind(b"\r")) + 1 :].strip()
    after = data[offset : offset + _LONGEST_LINE].splitlines()[0].rstrip()
    return line.startswith((b"{", b"[")) and line.endswith((b"}", b"]")) and after.endswith((b"}", b"]"))


def _is_not_utf8(data: bytes) -> bool:
    """Check whether the first character of the text is not valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start == 0
    return False


# --- text around JSON

FENCE = b"```"
_FENCE_MESSAGE = "a Markdown code fence"
_ONLY_JSON = "keep only the JSON: remove the ``` lines and all other text around it"


class Around(NamedTuple):
    """What precedes a JSON value."""

    pattern: re.Pattern[bytes]
    message: str
    hint: str


_NO_PREFIX = "keep only the JSON: remove the text before the first '{' or '[', and what belongs to it at the end"
CSV = Around(lazy_pattern(rb"(?:[A-Za-z_][\w ]*[,;\t]){1,}[A-Za-z_][\w ]*\n[^{\[]"),
             "this looks like CSV, not JSON", "name the file .csv, or convert it to JSON")  # fmt: skip
_BEFORE_JSON = (
    Around(lazy_pattern(rb"(?=```)"), _FENCE_MESSAGE, _ONLY_JSON),
    Around(lazy_pattern(rb"[^{\[]{1,2000}^[ \t]*```", re.MULTILINE), "text before the JSON value", _ONLY_JSON),
    Around(lazy_pattern(rb"(?:(?:var|let|const)\s+)?[A-Za-z_$][\w.$]*\s*=\s*[{\[]"), "an assignment", _NO_PREFIX),
    Around(lazy_pattern(rb"[A-Za-z_$][\w.$]*\(\s*[{\[]"), "a function call", _NO_PREFIX),
    Around(lazy_pattern(rb"(?:---\s+)?[A-Za-z_][\w-]*:[ \t]*(?:[^\n{\[]*)\n(?:[ \t]*-[ \t]|[ \t]*[A-Za-z_][\w-]*:)"),
           "this looks like YAML, not JSON", "convert it: json.dump(yaml.safe_load(text), file)"),
    CSV,
    Around(lazy_pattern(rb"[^{\[]{1,4000}(?:^|:)[ \t]*[{\[]", re.MULTILINE), "text before the JSON value",
           "keep only the JSON: remove the text before it, and any text after it"),
)  # fmt: skip
"""In this order: the first that matches the start of the text."""


def before_json(text: bytes) -> Around | None:
    """Return what precedes the JSON in a text that does not start with a JSON value."""
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return next((around for around in _BEFORE_JSON if around.pattern.match(lines)), None)


def _after_json_hint(rest: bytes) -> str | None:
    """Say how to fix text that follows a JSON value and does not start with a bracket or a comma."""
    if rest.startswith(FENCE):
        return _ONLY_JSON
    if rest.startswith((b";", b")")):
        return "keep only the JSON: remove what follows it"
    return "keep only the JSON: remove the text after it" if re.match(rb"[A-Za-z*_>\x80-\xff-]", rest) else None


# --- the index of a DataFrame

_INDEX_NAME = lazy_pattern(r"(?:index|level_[0-9]+|__index_level_[0-9]+__|Unnamed: ?[0-9]+(?:_level_[0-9]+)?)?\Z")


def index_hint(name: str, how: str = "write it with index=False") -> str | None:
    """Return the hint for an unknown column or key that has the name of the index of a DataFrame, or no name."""
    if not _INDEX_NAME.match(name):
        return None
    return f"remove it: it looks like the index of a DataFrame (in pandas: {how})"
