"""The content of a cache as text."""

from __future__ import annotations

from medcontract.problems import plural
from medcontract.rendering.view import View, clean
from medcontract.results.cache import CacheInfo


def cache_info(found: CacheInfo, view: View) -> str:
    lines = [outcome(found)]
    lines += [f"  {each.kind}, medcontract {each.medcontract_version}: {each.count:,}" for each in found.results]
    return "\n".join(lines) + "\n"


def outcome(found: CacheInfo) -> str:
    """How much there is, or was."""
    what = f"{plural(found.count, 'result')}, {found.size / 1e6:.1f} MB"
    return f"{clean(found.folder)}: {f'removed {what}' if found._cleared else what}"
