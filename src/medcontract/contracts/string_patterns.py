"""String formats as patterns, each with a description.

The patterns use only syntax that ECMA-262, Python, Rust and Java interpret in the same way. In some of them `$`
also matches before a trailing line break; a length or a second pattern closes that gap (see `base`).
"""

from __future__ import annotations

NON_BLANK = r"[^\x09-\x0d\x20\xa0]"
BLANKS = "\t\n\v\f\r \xa0"
"""The characters that count as blank: U+0009 to U+000D, U+0020, U+00A0."""
BLANK = r"^[\x09-\x0d\x20\xa0]*$"
DATE = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?)?$"
)
GUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_SEGMENT = r"(?:[^/\\.][^/\\]*|\.[^/\\.][^/\\]*|\.\.[^/\\]+)"
_FIRST_SEGMENT = r"(?:[A-Za-z](?:[^/\\:][^/\\]*)?|[^/\\.A-Za-z][^/\\]*|\.[^/\\.][^/\\]*|\.\.[^/\\]+)"
RELATIVE_PATH = rf"^(?:\./)?{_FIRST_SEGMENT}(?:/{_SEGMENT})*$"

PATTERN_DESCRIPTIONS = {
    NON_BLANK: "a string with at least one visible character",
    DATE: "a date: YYYY-MM-DD, or YYYY-MM-DDThh:mm:ss with an optional fraction and offset",
    GUID: "a GUID: 8-4-4-4-12 hexadecimal digits",
    RELATIVE_PATH: "a relative path: segments joined by '/' after at most one './', no '..', backslash or drive letter",
}
"""What each pattern requires, for messages."""

AS_DATE = "write the date as in 2026-05-31, not as a number of seconds or days"
"""The hint about a number where a date is expected."""


def without_anchors(pattern: str) -> str:
    """Return a pattern as it was written, without the anchors and the group that make it match completely."""
    if pattern.startswith("^(?:") and pattern.endswith(")$"):
        return pattern[4:-2]
    return pattern.removeprefix("^").removesuffix("$")


ANSWERED, FAILED = "form:answered", "form:failed"
"""The two variants of a record."""
