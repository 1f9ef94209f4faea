"""Writes a bundle to a folder, without replacing files of somebody else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from medcontract.atomic_write import write_bytes
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import CallError

if TYPE_CHECKING:
    from medcontract.bundles.plan import Plan

PLATFORMS = {"codabench": "codabench", "grand-challenge": "grand_challenge", "evalai": "evalai"}
"""The platforms, and the module of each in this package."""


class Bundle(NamedTuple):
    """A bundle that was written."""

    files: tuple[Path, ...]
    figures: tuple[str, ...]
    """The names of the figures on the platform; submissions are ranked by the first."""
    warnings: tuple[str, ...]


def require_platform(platform: str) -> None:
    if platform not in PLATFORMS:
        guess = did_you_mean(str(platform), PLATFORMS)
        raise CallError(f"unknown platform '{platform}'", guess or f"use one of: {', '.join(PLATFORMS)}")


def write_bundle(plan: Plan, folder: Path, inputs: Iterable[str], force: bool) -> Bundle:
    """Write the files. Raises `CallError`, before anything is written, for a file that would be replaced.

    `inputs`: files that the bundle is made from, which are not replaced with `force` either.
    """
    files_of: Callable[[Plan], dict[str, bytes]]
    files_of = import_module(f"medcontract.bundles.{PLATFORMS[plan.settings.platform]}").files
    files = {folder / name: data for name, data in sorted(files_of(plan).items())}
    _refuse_inputs(files, inputs)
    if not force:
        _refuse_to_replace(folder, files)
    for path, data in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                path.unlink()
        except OSError as error:
            raise CallError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
        write_bytes(data, path)
    return Bundle(tuple(files), tuple(column.key for column in plan.columns), plan.warnings)


def check_folder(folder: Path, inputs: Iterable[str]) -> None:
    """Raise `CallError` if it is not a folder, or in a folder of the truth: the bundle would become a part of it."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise CallError(f"--out: {folder} is not a folder", "write it to another folder")
    target = os.path.join(os.path.realpath(folder), "")
    for name in inputs:
        if os.path.isdir(name) and target.startswith(os.path.join(os.path.realpath(name), "")):
            raise CallError(f"--out: {folder} is in {name}, the folder of the truth", "write it to another folder")


def _refuse_inputs(files: Mapping[Path, bytes], inputs: Iterable[str]) -> None:
    given = {os.path.realpath(name) for name in inputs}
    for path, data in files.items():
        if os.path.realpath(path) in given and not _is_free(path, data):
            raise CallError(f"--out: {path} is an input of this call", "write it to another folder")


def _refuse_to_replace(folder: Path, files: Mapping[Path, bytes]) -> None:
    different = [str(path.relative_to(folder)) for path, data in files.items() if not _is_free(path, data)]
    if different:
        shown = ", ".join(different[:3]) + (f" and {len(different) - 3} more" if len(different) > 3 else "")
        raise CallError(f"{folder} already has {shown}", "choose another folder, or pass --force to overwrite")


def _is_free(path: Path, data: bytes) -> bool:
    """Whether nothing is lost by writing the file: it does not exist, or it has this content already."""
    try:
        return not os.path.lexists(path) or (not path.is_symlink() and path.read_bytes() == data)
    except OSError:
        return False
