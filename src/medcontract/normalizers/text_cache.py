"""A cache for functions of texts whose size is limited: texts may be long, and are those of patients."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import TypeVar

Result = TypeVar("Result", bound=Sized)
_MOST = 12_000_000
_OF_ENTRY = 200
"""About the bytes that an entry takes besides its characters."""


class TextCache(dict[str, Result]):
    """The results of a function by text: `cache[text]` calls it if necessary. When the cache is full, it is emptied."""

    def __init__(self, function: Callable[[str], Result], longest: int = 1000) -> None:
        """Results of texts with more than `longest` characters are not kept."""
        super().__init__()
        self._function = function
        self._longest = longest
        self._left = _MOST

    def __call__(self, text: str) -> Result:
        return self[text]

    def __missing__(self, text: str) -> Result:
        result = self._function(text)
        if len(text) <= self._longest:
            left = self._left - len(text) - len(result) - _OF_ENTRY
            if left < 0:
                self.clear()
                left = _MOST
            self._left = left
            self[text] = result
        return result
