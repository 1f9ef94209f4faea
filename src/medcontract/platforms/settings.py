"""The platforms, and the settings of a bundle: a file next to its entry point, which is read on the platform."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import CallError

PLATFORMS = {"codabench": "codabench", "grand-challenge": "grand_challenge", "evalai": "evalai"}
"""The platforms, and the module of each in this package."""

SETTINGS = "medcontract-bundle.json"
PROTOCOL = "protocol.json"
CHALLENGE = "challenge.toml"
"""The names of files next to the entry point."""
FORMAT = 1
SPLIT = "test_split"


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


class BoardColumn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure on the leaderboard of the platform."""

    key: str
    """Its name on the platform."""
    figure: str
    """Its name in a score."""
    lower_is_better: bool = False


class TruthFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of the truth."""

    name: str
    contract: str


class BundleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the entry point needs to know. It contains nothing of the truth except names of files."""

    format: int = FORMAT
    platform: str
    medcontract_version: str
    track: str
    submission: tuple[str, ...]
    """The contracts of the files of a submission."""
    columns: tuple[BoardColumn, ...]
    """The figures; submissions are ranked by the first."""
    truth: tuple[TruthFile, ...]
    challenge: bool = False
    """Whether a challenge file is next to the entry point."""
    split: str = SPLIT
    """For EvalAI: the codename of the dataset split."""

    @property
    def headline(self) -> BoardColumn:
        return self.columns[0]

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def read_settings(folder: str) -> BundleSettings:
    """Return the settings in the folder of an entry point. Raises `CallError`."""
    path = os.path.join(folder, SETTINGS)
    try:
        with open(path, "rb") as stream:
            found = msgspec.json.decode(stream.read(), type=BundleSettings)
    except OSError as error:
        raise CallError(f"cannot read {SETTINGS}: {(error.strerror or str(error)).lower()}") from None
    except msgspec.DecodeError as error:
        raise CallError(f"{SETTINGS} is not valid: {error}") from None
    if found.format != FORMAT or not found.columns or not found.truth:
        raise CallError(f"{SETTINGS} is not valid", "write the bundle again with this medcontract")
    return found
