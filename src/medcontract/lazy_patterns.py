"""Regular expressions that are compiled when they are first used.

Compiling the patterns of messages and hints, which a valid file never needs, takes a tenth of the start-up time.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, found)  # so that this is called once
        return found


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compile a pattern when it is first used. An invalid pattern is reported when it is used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
