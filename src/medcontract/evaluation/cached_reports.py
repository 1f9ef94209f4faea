"""Reports of files that were kept from an earlier validation."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from medcontract.cache import ResultCache
from medcontract.evaluation.cache_keys import Uncacheable, hashed, key_of
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport
from medcontract.validation.parts import base_name

KIND = "validate"
_NOT_KEPT = ("MC003", "MC029")
"""The file could not be read, or checking it failed: it may work the next time."""


def cached_report(
    cache: ResultCache, path: str | Source, contract_id: str | None, limits: Limits, settings: tuple[object, ...],
    check: Callable[[], FileReport],
) -> FileReport:  # fmt: skip
    """The report of a file from the cache, or that of `check`, which is then kept. `settings`: what else it depends on.

    Reports do not depend on the folder of the file.
    """
    try:
        file = hashed(path, limits)
        key = key_of(KIND, base_name(file.path), file.sha256, contract_id, tuple(limits), settings)
    except Uncacheable:
        return check()
    found = cache.get(key)
    if isinstance(found, FileReport):
        return replace(found, path=str(file.path))
    report = check()
    if file.unchanged and not any(problem.code in _NOT_KEPT for problem in report.problems):
        cache.put(key, KIND, report)
    return report
