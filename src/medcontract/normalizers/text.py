"""Normalization: two texts are equal if `normalize` or `tight` returns the same string for both.

`normalize` consists of small steps; `steps` shows what each of them does to a text. `tight` takes the same steps, but
deletes punctuation inside words and abbreviations instead of replacing it by a space. Both are total and idempotent;
their results are ASCII in upper case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sized
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeVar
from unicodedata import category
from unicodedata import normalize as unicode_form

from unidecode import unidecode

VERSION = 2
"""Incremented when a step changes; part of the protocols that use it."""

_MU = "\u03bc"
_UPPER_CASE_MICRO = re.compile("[\u039c\U0001d6b3\U0001d6ed\U0001d727\U0001d761\U0001d79b](?=[A-Za-z])")
"""A Greek capital mu before a Latin letter is not a Greek word, but µg in upper case."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_POWER = re.compile("(?<=[0-9])([⁺⁻]?)([⁰¹²³⁴-⁹]+)")
_INDEX = re.compile("(?<=[0-9])(?=[₀-₉])")
_SIGNS = {"％": "%", "﹪": "%", "٪": "%", "٫": ",", "‰": " PERMIL "}

_APOSTROPHE = "\u2019"
_INSIDE_WORD = re.compile(r"(?<=[A-Z])[.'-](?=[A-Z])")
_ABBREVIATION_DOT = re.compile(r"(?<=[A-Z])(?<![A-Z]{2})\.(?![0-9-])")
_DELETED_WHEN_TIGHT = re.compile(f"{_INSIDE_WORD.pattern}|{_ABBREVIATION_DOT.pattern}")

_DECIMAL_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")
_BARE_POINT = re.compile(r"(?<![0-9A-Z.,])[.,](?=[0-9])")
_AROUND_DASH = re.compile(r"(?<=[0-9])\s*-\s*(?=-?[0-9])")
_AROUND_SLASH = re.compile(r"(?<=[0-9])\s*([/:])\s*(?=[0-9])")
_AROUND_SIGN = re.compile(r"(?<=[<>=])\s+|(?<!\s)\s+(?=[<>=])")
_PUNCTUATION = re.compile(
    r"(?<=[0-9])[./:](?=[0-9])"  # stays
    r"|(?<![A-Z])-(?=[0-9])"  # stays: a sign, or a range
    r"|(?<=[0-9])-(?=-[0-9])"  # stays: a range up to a negative number
    r"""|([!"#&'()*,\-./:;?@\[\\\]_{}])"""
)


def micro_signs(text: str) -> str:
    """Micro signs become u: upper case would turn them into a Greek M, and 5 µg into 5 mg."""
    if text.isascii():
        return text
    return _UPPER_CASE_MICRO.sub("u", _replace_each(text, _micro))


@lru_cache(maxsize=1 << 14)
def _micro(char: str) -> str:
    return "u" if char == "\u00b5" or unicode_form("NFKC", char) == _MU else char


_ASCII = frozenset(map(chr, range(128)))
_FEW = 8


def _replace_each(text: str, replacement: Callable[[str], str]) -> str:
    """Replaces each character that is not ASCII: most texts have only a few different ones, which is much faster."""
    others = set(text) - _ASCII
    if len(others) > _FEW:
        return "".join(map(replacement, text))
    for char in others:
        text = text.replace(char, replacement(char))
    return text


def powers(text: str) -> str:
    """Superscripts after a digit become a power: 10⁶ is 10^6, not 106. Subscripts after one become separate words."""
    if text.isascii():
        return text
    raised = _POWER.sub(lambda m: f"^{'-' * (m[1] == '⁻')}{m[2].translate(_SUPERSCRIPTS)}", text)
    return _INDEX.sub(" ", raised)


def punctuation_of_other_scripts(text: str) -> str:
    """Non-ASCII punctuation becomes a space; dashes, percent signs and the Arabic decimal separator stay."""
    return text if text.isascii() else _replace_each(text, _sign)


@lru_cache(maxsize=1 << 14)
def _sign(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    kind = category(char)
    if char.isascii() or not kind.startswith("P"):
        return char
    return "-" if kind == "Pd" else " "


def latin_upper_case(text: str) -> str:
    """Letters of any script become ASCII in upper case; characters without an equivalent become a space."""
    return (text if text.isascii() else _replace_each(text, _latin)).upper()


@lru_cache(maxsize=1 << 14)
def _latin(char: str) -> str:
    if char.isascii():
        return char
    found = "" if category(char) == "Cs" else unidecode(char, errors="ignore")  # a lone surrogate is not a character
    return found if found or category(char) in ("Mn", "Cf") else " "


def decimal_points(text: str) -> str:
    """5,0 is 5.0; .5 and ,5 are 0.5."""
    return _BARE_POINT.sub("0.", _DECIMAL_COMMA.sub(".", text))


def joined(text: str) -> str:
    """Spaces inside ranges, fractions and comparisons are removed: 4.5 - 8.5 is 4.5-8.5, > 100 is >100."""
    text = _AROUND_DASH.sub("-", text)
    text = _AROUND_SLASH.sub(r"\1", text)
    return _AROUND_SIGN.sub("", text)


def punctuation(text: str) -> str:
    """Punctuation becomes a space, except in numbers, ranges and fractions, and except %."""
    return _PUNCTUATION.sub(lambda m: " " if m[1] else m[0], text)


def single_blanks(text: str) -> str:
    """Joins the words with single spaces."""
    return " ".join(joined(text).split())


STEPS: tuple[Callable[[str], str], ...] = (
    micro_signs,
    powers,
    punctuation_of_other_scripts,
    latin_upper_case,
    decimal_points,
    joined,
    punctuation,
    single_blanks,
)


Result = TypeVar("Result", bound=Sized)
_MOST_CACHED = 12_000_000
_OF_ENTRY = 200
"""About the bytes that an entry takes besides its characters."""


class TextCache(dict[str, Result]):
    """The results of a function by text: `cache[text]` calls it if necessary. When the cache is full, it is emptied.

    Its size is limited in bytes, not in entries as in `lru_cache`: texts may be long, and are about patients.
    """

    def __init__(self, function: Callable[[str], Result], longest: int = 1000) -> None:
        """Results of texts with more than `longest` characters are not kept."""
        super().__init__()
        self._function = function
        self._longest = longest
        self._left = _MOST_CACHED

    def __call__(self, text: str) -> Result:
        return self[text]

    def __missing__(self, text: str) -> Result:
        result = self._function(text)
        if len(text) <= self._longest:
            left = self._left - len(text) - len(result) - _OF_ENTRY
            if left < 0:
                self.clear()
                left = _MOST_CACHED
            self._left = left
            self[text] = result
        return result


def normalize(text: str) -> str:
    """Return the normalized text. Results are cached, except for very long texts."""
    return _normalized[text]


def tight(text: str) -> str:
    """Return the normalized text without punctuation inside words: T.S.H. is TSH, co-trimoxazol is COTRIMOXAZOL.

    Slashes are never deleted (U/L is not UL), nor is a dot before a digit (B.12 is not B12).
    """
    return _tightened[text]


def equal(one: str, other: str) -> bool:
    """Return whether two texts are equal after normalization: their normalized or their tight forms are the same."""
    return one == other or normalize(one) == normalize(other) or tight(one) == tight(other)


def _normalize(text: str) -> str:
    text = _apply(_CHARACTER_STEPS, _apply(_FIRST_STEPS, text))
    words = text.split()
    if all(map(str.isalnum, words)):  # the other steps change only punctuation and signs
        return " ".join(words)
    return _apply(_LAST_STEPS, text)


def _tight(text: str) -> str:
    pieces = _apply(_FIRST_STEPS, text).split(_APOSTROPHE)
    whole = _join_words(_apply(_CHARACTER_STEPS, piece) for piece in pieces)
    tightened = _DELETED_WHEN_TIGHT.sub("", whole)
    if len(pieces) == 1 and tightened == whole:  # only steps of `normalize`, whose result is most often known
        return normalize(text)
    return _apply(_LAST_STEPS, tightened)


def _apply(steps: Iterable[Callable[[str], str]], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


def _join_words(pieces: Iterable[str]) -> str:
    """Join the pieces around typographic apostrophes: inside a word with a plain one, otherwise with a space.

    An ASCII apostrophe everywhere would keep `5’ - 3` from being joined to a range.
    """
    parts: list[str] = []
    last = ""
    for number, piece in enumerate(pieces):
        if number:
            parts.append("'" if _is_letter(last) and _is_letter(piece[:1]) else " ")
        parts.append(piece)
        last = piece[-1:]
    return "".join(parts)


def _is_letter(char: str) -> bool:
    return "A" <= char <= "Z"


_FIRST_STEPS, _CHARACTER_STEPS, _LAST_STEPS = STEPS[:2], STEPS[2:4], STEPS[4:]
"""Before, in and after the steps that replace each character independently."""
_normalized, _tightened = TextCache(_normalize), TextCache(_tight)


class Step(NamedTuple):
    """The text after one step."""

    name: str
    about: str
    text: str


def steps(text: str) -> list[Step]:
    """Return the text after each step, in order."""
    found = []
    for step in STEPS:
        text = step(text)
        found.append(Step(step.__name__, (step.__doc__ or "").strip(), text))
    return found


_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def number(text: str) -> Decimal | None:
    """Return the number in a text, if its normalization is just a number."""
    found = normalize(text)
    return Decimal(found) if _DECIMAL.fullmatch(found) else None


def close(predicted: str, labeled: str, tolerance: Fraction) -> bool:
    """Check whether both are numbers and differ by at most a share of the second. Exact: 1.02 is within 2 % of 1.00."""
    p, g = number(predicted), number(labeled)
    if p is None or g is None:
        return False
    share, whole = Decimal(tolerance.numerator), Decimal(tolerance.denominator)
    digits = len(normalize(predicted)) + len(normalize(labeled)) + len(f"{share}{whole}")
    exact = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)  # enough for all digits of the result
    return exact.multiply(exact.subtract(p, g).copy_abs(), whole) <= exact.multiply(g.copy_abs(), share)
