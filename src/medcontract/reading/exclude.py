"""Patterns for files and folders that are not read when a folder is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

_WILDCARDS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]")


class Exclude:
    """Glob patterns.

    One without a slash matches the name of a file or folder at any depth. One with a slash matches a path, relative to
    the folder or as shown in messages; `**` matches any number of folders. A trailing slash matches folders only.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(dict.fromkeys(patterns))
        self._paths = {each: _regex(each) for each in self._patterns if "/" in each.rstrip("/")}
        self._used: set[str] = set()

    def __call__(self, folder: str, path: str, is_folder: bool) -> bool:
        """Whether to skip an entry, whose path starts with that of the folder."""
        found = [each for each in self._patterns if self._matches(each, folder, path, is_folder)]
        self._used.update(found)
        return bool(found)

    def in_archive(self, archive: str, name: str) -> bool:
        """Whether to skip a file in an archive: because of its name, or of a folder that it is in."""
        *folders, _ = parts = name.split("/")
        paths = ["/".join((archive, *parts[:depth])) for depth in range(1, len(parts) + 1)]
        found = [self(archive, path, depth < len(folders)) for depth, path in enumerate(paths)]
        return any(found)

    def _matches(self, pattern: str, folder: str, path: str, is_folder: bool) -> bool:
        if pattern.endswith("/") and not is_folder:
            return False
        regex = self._paths.get(pattern)
        if regex is None:
            return fnmatchcase(os.path.basename(path), pattern.rstrip("/"))
        shown = (os.path.relpath(path, folder), os.path.normpath(path))
        return any(regex.fullmatch(each.replace(os.sep, "/")) for each in shown)

    @property
    def unused(self) -> list[str]:
        """The patterns that matched nothing."""
        return [pattern for pattern in self._patterns if pattern not in self._used]


def _regex(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern for paths."""
    pattern = re.sub(r"^(\./)+", "", pattern.rstrip("/"))
    parts, end = [], 0
    for match in _WILDCARDS.finditer(pattern):
        parts += [re.escape(pattern[end : match.start()]), _wildcard(match.group())]
        end = match.end()
    return re.compile("".join([*parts, re.escape(pattern[end:])]), re.DOTALL)


def _wildcard(glob: str) -> str:
    if glob in _SIMPLE:
        return _SIMPLE[glob]
    negated = glob.startswith("[!")
    inside = glob[2 if negated else 1 : -1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
    return f"[{'^/' if negated else ''}{inside.replace('^', chr(92) + '^')}]"


_SIMPLE = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
