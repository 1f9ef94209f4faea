"""Rules between files: published here, run by `medcontract.definitions.between`."""

from __future__ import annotations

from typing import ClassVar

from medcontract.definitions.rules.base import Rule


class FilesRule(Rule, frozen=True, kw_only=True):
    """A rule about this file and one of another contract."""

    scope: ClassVar = "files"
    other: str


class Equal(FilesRule, frozen=True, kw_only=True):
    """A header field is the same in both files, where both have it."""

    kind: ClassVar = "equal"
    field: str


class Reference(FilesRule, frozen=True, kw_only=True):
    """The value of `field` (with that of `with_field`, the pair) stands in the other file too."""

    kind: ClassVar = "reference"
    field: str
    with_field: str | None = None
    within: str | None = None
    """The list of a document whose items are meant."""
    default: str | None = None
    """What an absent or null `field` stands for."""


class Apart(FilesRule, frozen=True, kw_only=True):
    """The value of `field` does not stand in the other file."""

    kind: ClassVar = "apart"
    field: str


class Covers(FilesRule, frozen=True, kw_only=True):
    """Every value of `field` (with that of `with_field`, every pair) in the other file stands in this one."""

    kind: ClassVar = "covers"
    field: str
    with_field: str | None = None


class Agrees(FilesRule, frozen=True, kw_only=True):
    """The record of the other file with the same `key` has the same value in `field`."""

    kind: ClassVar = "agrees"
    key: str
    field: str


class SameOrder(FilesRule, frozen=True, kw_only=True):
    """Within each group, this file's records stand in the order that `by` gives them in the other."""

    kind: ClassVar = "same-order"
    key: str
    group: str
    by: tuple[str, ...]
