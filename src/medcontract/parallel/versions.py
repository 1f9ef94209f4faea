"""The versions that a result depends on: for the envelope, the cache, the check of Dask workers, and bundles."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from unicodedata import unidata_version

from medcontract._version import __version__

_MODULES = {
    "ahocorasick-rs": "ahocorasick_rs", "msgspec": "msgspec", "pyarrow": "pyarrow", "pydantic": "pydantic",
    "pydantic-core": "pydantic_core", "rapidfuzz": "rapidfuzz", "regex": "regex", "rfc8785": "rfc8785",
    "Unidecode": "unidecode",
}  # fmt: skip
"""Packages whose versions may change a result, and their modules."""


@cache
def result_versions() -> dict[str, str | None]:
    """Return the version of everything that a result depends on, by name; None for a package that is not installed."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = {name: _version_of(name, module) for name, module in _MODULES.items()}
    return {"medcontract": __version__, "Python": python, "Unicode": unidata_version, **packages}


def _version_of(name: str, module: str) -> str | None:
    """Take it from the name of its metadata folder: importing `importlib.metadata` would double the start-up time."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    start = f"{name.lower().replace('-', '_')}-"
    folders = _names_in(os.path.dirname(os.path.dirname(spec.origin)))
    found = [each for each in folders if each.lower().replace("-", "_", start.count("-") - 1).startswith(start)]
    versions = [each.removesuffix(".dist-info")[len(start) :] for each in found if each.endswith(".dist-info")]
    if len(versions) == 1:
        return versions[0]
    from importlib.metadata import version

    return version(name)


@cache
def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # a package in an archive
        return []
