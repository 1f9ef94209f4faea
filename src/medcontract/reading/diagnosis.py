"""Guesses which habit is behind broken text, to give one hint that fixes it. Only used for text that has a problem."""

from __future__ import annotations

import re
from typing import NamedTuple

from medcontract.lazy_patterns import lazy_pattern

MOST_BYTES = 1 << 16
"""The part of a file that a guess is based on."""

# --- encodings

_ENCODINGS = (("Windows-1252", "cp1252"), ("Mac Roman", "mac_roman"), ("the DOS code page 850", "cp850"))
"""The most common one first: it wins ties."""
_LETTERS = frozenset("áéíóúüñÁÉÍÓÚÜÑçÇàèòêôõãäöß¿¡ºª“”‘’–—…€µ°")
_UTF8_START = lazy_pattern(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xf4][\x80-\xbf]")
_CONTEXT = 200
"""Bytes around an invalid one that are compared."""


class Encoding(NamedTuple):
    name: str
    codec: str
    """Its name in Python."""


def encoding_of(data: bytes, offset: int) -> Encoding | None:
    """The likely encoding of text with a byte that is not valid UTF-8; None if it may just be damaged."""
    if _UTF8_START.match(data, offset):
        return None
    near = data[max(0, offset - _CONTEXT) : offset + _CONTEXT]
    rated = [(_rate(near, codec), -number) for number, (_, codec) in enumerate(_ENCODINGS)]
    score, number = max(rated)
    return Encoding(*_ENCODINGS[-number]) if score > 0 else None


def _rate(data: bytes, codec: str) -> int:
    """How many of the other characters are usual letters in this encoding, minus those that are not."""
    text = data.decode(codec, "replace")
    return sum(1 if char in _LETTERS else -1 for char in text if not char.isascii())


def not_utf8_hint(data: bytes, offset: int) -> str:
    """How to convert text with a byte that is not valid UTF-8."""
    found = encoding_of(data, offset)
    if found is None:
        return "save the file as UTF-8"
    return (
        f"the file seems to be in {found.name}: save it as UTF-8 (in Excel: Save As, CSV UTF-8; "
        f"in Python: read it with open(path, encoding='{found.codec}'), write it with encoding='utf-8')"
    )


# --- text around JSON

FENCE = b"```"
FENCE_MESSAGE = "a Markdown code fence"
ONLY_JSON = "keep only the JSON: remove the ``` lines and all other text around it"


class Around(NamedTuple):
    """What precedes a JSON value."""

    pattern: re.Pattern[bytes]
    message: str
    hint: str


_NO_PREFIX = "keep only the JSON: remove the text before the first '{' or '[', and what belongs to it at the end"
CSV = Around(lazy_pattern(rb"(?:[A-Za-z_][\w ]*[,;\t]){1,}[A-Za-z_][\w ]*\n[^{\[]"),
             "this looks like CSV, not JSON", "name the file .csv, or convert it to JSON")  # fmt: skip
_BEFORE_JSON = (
    Around(lazy_pattern(rb"(?=```)"), FENCE_MESSAGE, ONLY_JSON),
    Around(lazy_pattern(rb"[^{\[]{1,2000}^[ \t]*```", re.MULTILINE), "text before the JSON value", ONLY_JSON),
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
    """What precedes the JSON in a text that does not start with a JSON value."""
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return next((around for around in _BEFORE_JSON if around.pattern.match(lines)), None)


def after_json_hint(rest: bytes) -> str | None:
    """How to fix text that follows a JSON value and does not start with a bracket or a comma."""
    if rest.startswith(FENCE):
        return ONLY_JSON
    if rest.startswith((b";", b")")):
        return "keep only the JSON: remove what follows it"
    return "keep only the JSON: remove the text after it" if re.match(rb"[A-Za-z*_>\x80-\xff-]", rest) else None


# --- the index of a DataFrame

_INDEX_NAME = lazy_pattern(r"(?:index|level_[0-9]+|__index_level_[0-9]+__|Unnamed: ?[0-9]+(?:_level_[0-9]+)?)?\Z")


def index_hint(name: str, how: str = "write it with index=False") -> str | None:
    """The hint for an unknown column or key that has the name of the index of a DataFrame, or no name."""
    if not _INDEX_NAME.match(name):
        return None
    return f"remove it: it looks like the index of a DataFrame (in pandas: {how})"


# --- rows of totals

_TOTAL = lazy_pattern(
    r"\s*(?:(?:grand |sub-?)?total(?:es|s)?|suma?|mean|media|average|avg|promedio|median|mediana|count|std)"
    r"\s*[:=]?\s*[0-9.,]*\s*\Z|\s*\(?[0-9]+ (?:rows?|records?|filas?|registros?)\b[ \w]{0,20}\)?\s*\Z",
    re.IGNORECASE,
)
TOTAL_HINT = "remove this row: it is a total, not a record"


def is_total(cell: str) -> bool:
    """Whether the first cell of a row says that it is a total, a mean or a count of the rows above."""
    return len(cell) < 40 and _TOTAL.match(cell) is not None
