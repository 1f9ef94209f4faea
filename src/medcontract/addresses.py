"""How files are named: addresses such as `s3://bucket/truth.csv`, files in archives, `submission.zip!/truth.csv`, and
their extensions.

An address may contain credentials: `https://user:password@host/…`, or the signature of a presigned URL. Therefore the
text of an `Address` is what may be shown, without them, and only `full` has everything. Whatever prints, compares or
sorts paths can treat it like one.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import Self, TypeGuard

from medcontract.containers import BY_ENDING
from medcontract.errors import CallError, words
from medcontract.lazy_patterns import lazy_pattern

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_USER = lazy_pattern(r"(?<=://)[^/?#\s]*@")
_UNESCAPED_USER = lazy_pattern(r"(?<=://)[^/?#@:\[\]]*:(?![0-9]*(?:[/?#]|$)).*@", re.DOTALL)
"""A password with characters that should have been escaped, such as a slash."""
_QUERY = lazy_pattern(r"[?#].*", re.DOTALL)
_IN_TEXT = lazy_pattern(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
SEPARATOR = "!/"
"""What separates an archive from a file in it."""


class Address(str):
    """An address without its credentials. `full` is the address with them."""

    full: str

    __slots__ = ("full",)

    def __new__(cls, full: str) -> Self:
        archive, separator, member = full.partition(SEPARATOR)
        address = super().__new__(cls, f"{_shown(archive)}{separator}{member}")
        address.full = full
        return address

    def __getnewargs__(self) -> tuple[str]:
        """Return the argument of `__new__`: with pickle, another process can open it, too."""
        return (self.full,)

    def __getstate__(self) -> None:
        """Return nothing: everything is in the argument of `__new__`."""
        return

    @property
    def scheme(self) -> str:
        return self.full.partition("://")[0].lower()

    @property
    def is_web(self) -> bool:
        """Check whether it is the URL of a web server, which can neither list folders nor match patterns."""
        return self.scheme in ("http", "https")

    @property
    def is_in_memory(self) -> bool:
        """Check whether only this process can read it."""
        return self.scheme == "memory"

    def split_member(self) -> tuple[Address, str] | None:
        """Return the archive, and the path of the file in it; None if there is none."""
        archive, separator, member = self.full.partition(SEPARATOR)
        return (Address(archive), member) if separator else None

    def inside(self, name: str) -> Address:
        """Return the address of a file in this folder."""
        return Address(f"{self.full.rstrip('/')}/{name}")

    def beside(self, name: str) -> Address:
        """Return the address of a file, relative to the folder of this one."""
        path = self.full if SEPARATOR in self.full else _QUERY.sub("", self.full) if self.is_web else self.full
        return Address(f"{posixpath.dirname(path)}/{name}")

    def member(self, name: str) -> Address:
        """Return the address of a file in this archive."""
        return Address(f"{self.full}{SEPARATOR}{name}")


def is_address(name: object) -> TypeGuard[str]:
    """Check whether a name has the form of an address. A `Path` never has."""
    return isinstance(name, str) and _SCHEME.match(name) is not None


def as_address(name: str) -> str:
    """Return an address as an `Address`, and any other path unchanged."""
    return Address(name) if is_address(name) and not isinstance(name, Address) else name


def real_path(path: str) -> str:
    """Return a text that is the same for two paths of one file, with links followed, or for two equal addresses.

    It may contain credentials: only compare it.
    """
    return path.full if isinstance(path, Address) else os.path.realpath(path)


def is_archive(path: str) -> bool:
    """Check whether a path is named like an archive. Whether it is one is found when it is read."""
    return path.lower().endswith(ARCHIVES) and not os.path.isdir(path)


def split_member(path: str) -> tuple[str, str] | None:
    """Return the path of an archive and the path in it of a file; None if the file is in no archive."""
    if isinstance(path, Address):
        return path.split_member()
    at = path.find(SEPARATOR)
    while at >= 0:
        if is_archive(path[:at]):
            return None if os.path.lexists(path) else (path[:at], path[at + len(SEPARATOR) :])
        at = path.find(SEPARATOR, at + 1)
    return None


def member_path(archive: str, name: str) -> str:
    """Return the path or address of a file in an archive."""
    return archive.member(name) if isinstance(archive, Address) else f"{archive}{SEPARATOR}{name}"


def ending_of(name: str) -> str:
    """Return the extension that determines the container: .json for a.json and for a.JSON.gz."""
    return os.path.splitext(name.lower().removesuffix(".gz"))[1]


def is_table(path: str) -> bool:
    """Check whether a file has the extension of a table, gzipped or not."""
    ending = ending_of(path)
    return ending in BY_ENDING and BY_ENDING[ending].is_table


def require_local(path: object, what: str, hint: str) -> None:
    """Raise `CallError` for an address where only a path is supported."""
    if is_address(path):
        raise CallError(words(what, f": an address is not supported: {as_address(path)}"), hint)


def hide_credentials(text: str) -> str:
    """Remove the credentials of the addresses in a text."""
    return _IN_TEXT.sub(lambda match: str(Address(match[0])), text) if "://" in text else text


def _shown(address: str) -> str:
    """Remove the user, who may have a password, and the query, which may be a signature."""
    scheme = (match := _SCHEME.match(address)) and match[1].lower()
    user = _USER.search(address) or _UNESCAPED_USER.search(address)
    if user and (scheme in ("http", "https") or ":" in user[0]):  # abfs://container@account is not a secret
        address = address[: user.start()] + address[user.end() :]
    if scheme in ("http", "https") or "=" in address.partition("?")[2]:  # elsewhere, ? is a pattern
        return _QUERY.sub("", address)
    return address
