"""Untrusted patterns in user-supplied schemas: matching them must not take forever.

Engines that backtrack take twice as long for `^(a+)+$` with each letter. Patterns are therefore translated, from the
tree that `re` parses, for the engine in pydantic, which takes linear time. Patterns that it does not support
(lookaround, backreferences, flags), or that `re` does not know (`\\p{L}`), are left to `regex`, which gives up after a
second.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

SECONDS = 1.0
"""The time limit of one search. On a busy computer a shorter one would reject harmless patterns."""


class NoPattern(ValueError):
    """A pattern that cannot be compiled; the message says why."""


class TooSlow(Exception):
    """Matching the pattern takes too long."""


@lru_cache(maxsize=1024)
def read_pattern(pattern: str) -> Any:
    """Compile the pattern, without warnings. Raises `NoPattern`."""
    import regex

    try:
        if _compiled_size(_parsed(_KNOWN_TO_REGEX.sub(_in_re, pattern))) > _MOST_COMPILED:
            raise NoPattern("too large")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return regex.compile(pattern)
    except (re.error, regex.error) as error:
        raise NoPattern(error.msg) from None
    except (RecursionError, OverflowError):
        raise NoPattern("too large") from None


_MOST_COMPILED = 1_000_000
"""The maximum size of a compiled pattern, which takes about 100 MB."""
_KNOWN_TO_REGEX = re.compile(r"\\[pP](?:\{[^{}]*\}|[A-Z])|\(\?<(?=\w)|\\.", re.DOTALL)
"""Unicode properties and named groups, which `re` does not know or spells differently; and other escapes."""


def _in_re(found: re.Match[str]) -> str:
    """A syntax of the same size for `re`."""
    text = found.group()
    return r"\w" if text[:2] in (r"\p", r"\P") else "(?P<" if text == "(?<" else text


def _parsed(pattern: str) -> Any:
    """The tree of a pattern. Raises `re.error`."""
    from re import _parser  # type: ignore[attr-defined]  # the tree has no public name

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(pattern)


def _compiled_size(part: Any) -> int:
    """The size of a part of a tree if required repeats are copied, as `regex` does."""
    if not hasattr(part, "__len__"):
        return 1
    if isinstance(part, tuple) and str(part[0]).endswith("_REPEAT"):
        least: int = part[1][0]
        return max(1, least) * _compiled_size(part[1][2])
    if isinstance(part, tuple) and str(part[0]) == "IN":
        return len(part[1])
    return 1 + sum(map(_compiled_size, part))


def fits(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text. Raises `NoPattern`, and `TooSlow` after a second."""
    linear = _linear(pattern)
    if linear is None or linear.size * len(text) > _MOST_WORK or (linear.needs_ascii and not text.isascii()):
        try:
            return read_pattern(pattern).search(text, timeout=SECONDS) is not None
        except (TimeoutError, MemoryError):
            raise TooSlow from None
    found: bool = linear.validator.isinstance_python(text)
    return found


_MOST_WORK = 200_000_000
"""The maximum of text length times pattern length, to which time is proportional: beyond it takes many seconds."""


class _Linear(NamedTuple):
    """A pattern translated for the other engine."""

    validator: Any
    size: int
    """The size of the pattern after expanding repetitions."""
    needs_ascii: bool
    """Whether it is equivalent only for ASCII texts."""


@lru_cache(maxsize=1024)
def _linear(pattern: str) -> _Linear | None:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    read_pattern(pattern)
    try:
        translation = _Translation(pattern)
        validator = SchemaValidator(core_schema.str_schema(pattern=translation.text, strict=True))
    except (_Unknown, SchemaError, RecursionError, re.error):
        return None
    return _Linear(validator, translation.size, translation.needs_ascii)


class _Unknown(Exception):
    """Syntax that the other engine does not support."""


_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}"
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\p{Nd}", "CATEGORY_NOT_DIGIT": r"\P{Nd}",
    "CATEGORY_SPACE": _SPACE, "CATEGORY_NOT_SPACE": f"[^{_SPACE}]",
    "CATEGORY_WORD": r"\p{L}\p{N}_", "CATEGORY_NOT_WORD": r"[^\p{L}\p{N}_]",
}  # fmt: skip
"""Python's `\\d`, `\\s` and `\\w`; those of the other engine differ slightly."""
_PLACES = {
    "AT_BEGINNING": r"\A", "AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\z", "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}  # fmt: skip
_PLAIN_FLAGS = re.UNICODE.value


class _Translation:
    """Translate a pattern for Rust's `regex`. Raises `_Unknown`."""

    def __init__(self, pattern: str) -> None:
        tree = _parsed(pattern)
        if tree.state.flags != _PLAIN_FLAGS:
            raise _Unknown
        self.needs_ascii = False
        self.text, self.size = self._all(tree, last=True)

    def _all(self, nodes: Any, last: bool) -> tuple[str, int]:
        """A sequence of nodes; `last`: nothing follows them."""
        count = len(nodes)
        parts = [self._one(str(name), value, last and i == count - 1) for i, (name, value) in enumerate(nodes)]
        return "".join(text for text, _ in parts), 1 + sum(size for _, size in parts)

    def _one(self, name: str, value: Any, last: bool) -> tuple[str, int]:
        match name:
            case "LITERAL":
                return _literal(value), 1
            case "NOT_LITERAL":
                return f"[^{_literal(value)}]", 1
            case "ANY":
                return r"[^\n]", 1
            case "IN":
                return _class(value), 1
            case "AT":
                return self._place(str(value), last), 1
            case "BRANCH":
                branches = [self._all(branch, last) for branch in value[1]]
                return f"(?:{'|'.join(text for text, _ in branches)})", sum(size for _, size in branches)
            case "SUBPATTERN" if not value[1] and not value[2]:
                text, size = self._all(value[3], last)
                return f"(?:{text})", size
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(*value)
        raise _Unknown

    def _repeat(self, least: int, most: Any, nodes: Any) -> tuple[str, int]:
        text, size = self._all(nodes, last=False)
        endless = str(most) == "MAXREPEAT"
        return f"(?:{text}){{{least},{'' if endless else most}}}", size * max(1, least if endless else most)

    def _place(self, name: str, last: bool) -> str:
        if name == "AT_END":  # `$` also matches before a trailing line break, which only works if nothing follows
            if not last:
                raise _Unknown
            return r"\n?\z"
        if name not in _PLACES:
            raise _Unknown
        self.needs_ascii = self.needs_ascii or name in ("AT_BOUNDARY", "AT_NON_BOUNDARY")
        return _PLACES[name]


def _literal(code: int) -> str:
    return f"\\x{{{code:x}}}"


def _class(members: Any) -> str:
    parts: list[str] = []
    for name, value in members:
        match str(name):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(_literal(value))
            case "RANGE":
                parts.append(f"{_literal(value[0])}-{_literal(value[1])}")
            case "CATEGORY":
                parts.append(_CATEGORIES[str(value)])
            case _:
                raise _Unknown
    return f"[{''.join(parts)}]"
