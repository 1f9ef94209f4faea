"""Decoding: UTF-8, or Windows-1252 if that is certain."""

from __future__ import annotations

import re

_WESTERN = re.compile("[\t\n\r -~áéíóúüÁÉÍÓÚÜäöÄÖß°–—‘’“”…€]|[ñÑ](?=[aeiouáéíóúüAEIOUÁÉÍÓÚÜ])|(?<=[0-9 ])µ(?=[glmU])")


def decoded(raw: bytes) -> tuple[str, bool] | None:
    """The text, and whether it was Windows-1252; None if the encoding is unknown.

    A byte means different letters in different encodings. It is certain only for letters that the Western and Central
    European ones share, for ñ before a vowel, and for µ in a unit.
    """
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError:
        pass
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return (text, True) if not _WESTERN.sub("", text) else None
