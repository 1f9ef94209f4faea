"""What a cached result depends on, and reports of files that were kept from an earlier validation."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import Address
from medcontract.cache import ResultCache
from medcontract.containers import BY_ENDING
from medcontract.contracts import registry
from medcontract.errors import FileChanged, plugin_modules
from medcontract.evaluation.build_results import versions
from medcontract.parallel.versions import result_versions
from medcontract.reading.archive_paths import open_source, split_member
from medcontract.reading.limits import Limits
from medcontract.reading.source import STDIN, Source, Unreadable, file_state
from medcontract.results.validation import FileReport
from medcontract.validation.parts import base_name

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

State = tuple[object, ...]

_DATA_OF_MODULES = (".py", *BY_ENDING, ".txt")
"""Extensions of files that a result may depend on."""


class Uncacheable(Exception):
    """The result depends on something that cannot be hashed."""


class FileContent(Struct, frozen=True):
    """A file as it was when it was hashed."""

    path: str
    sha256: str
    state: State

    @property
    def unchanged(self) -> bool:
        """Whether the file is still the same: only then a result belongs to the hash."""
        try:
            return _state(self.path) == self.state
        except OSError:
            return False


def key_of(kind: str, *values: object) -> str:
    """The key of a result. Raises `Uncacheable`."""
    challenge = registry.scope()
    known = None if challenge is None else (challenge.name, challenge.source)
    text = json.dumps([kind, environment(), _plugins(), _plain(known), _plain(values)], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hashed(path: str | Source, limits: Limits | None) -> FileContent:
    """The hash of a file that can be read again. Raises `Uncacheable`."""
    if isinstance(path, Source) or path == STDIN:
        raise Uncacheable("it cannot be read again")
    try:
        before = _state(path)
        source = open_source(path, limits)
        try:
            source.prepare()
        except Unreadable as error:  # not a text: also a result that can be kept
            if error.wrong_call:
                raise Uncacheable("it cannot be read") from None
        found = FileContent(path, source.sha256(), before)
    except (OSError, ValueError, FileChanged, Unreadable):
        raise Uncacheable("it cannot be read") from None
    if not found.unchanged:
        raise Uncacheable("it changed")
    return found


def _state(path: str) -> State:
    member = split_member(path)
    file = member[0] if member else path
    if not isinstance(file, Address) and not stat.S_ISREG(os.stat(file).st_mode):
        raise OSError("a pipe cannot be read again")
    return file_state(file)


@cache
def environment() -> dict[str, Any]:
    """The versions of everything that takes part, and a hash of our own code, which changes during development."""
    files = (os.path.join(folder, name) for folder, _, names in os.walk(_HOME) for name in names)
    own = sorted(file for file in files if file.endswith(_DATA_OF_MODULES))
    return {**result_versions(), "environment": versions()["environment"].to_dict(), "code": _hash_files(own)}


def _plugins() -> list[tuple[str, str]]:
    """The modules of plugins, with a hash of their code and of that of modules beside them."""
    modules = {module for module in _plugin_modules() if not f"{module}.".startswith("medcontract.")}
    return [(name, _hash_module(name)) for name in sorted(modules)]


def _plugin_modules() -> Iterator[str]:
    from medcontract.scoring import custom_metrics, tracks

    tracks.names()  # loads installed plugins
    yield from plugin_modules()
    metrics = custom_metrics.custom_metrics().values()
    yield from (each.contract.model.__module__ for each in registry.registered().values() if each.contract is not None)
    yield from (type(each).__module__ for each in tracks.every())
    yield from (getattr(each, "__module__", None) or type(each).__module__ for each in metrics)


def _hash_module(name: str) -> str:
    top = sys.modules.get(name.partition(".")[0])
    file = getattr(top, "__file__", None)
    if top is None or file is None or not os.path.isfile(file):
        raise Uncacheable(f"the code of {name} is not in a file")
    return _hash_files(sorted(_files_of(top, file)))


def _files_of(module: ModuleType, file: str) -> set[str]:
    """The files of a package; for a single module also the modules in its folder, which it may import."""
    folder = os.path.dirname(os.path.realpath(file))
    if hasattr(module, "__path__"):
        inside = ((place, each) for place, _, names in os.walk(folder) for each in names)
        return {os.path.join(place, each) for place, each in inside if each.endswith(_DATA_OF_MODULES)}
    loaded = (getattr(each, "__file__", None) for each in list(sys.modules.values()))
    beside = {os.path.realpath(each) for each in loaded if each and each.endswith(".py")}
    return {os.path.realpath(file), *(each for each in beside if os.path.dirname(each) == folder)}


def _hash_files(paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """A value as JSON, equal for equal values. Raises `Uncacheable`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return ["bytes", hashlib.sha256(value).hexdigest()]
    if isinstance(value, Decimal | Fraction):
        return [type(value).__name__, str(value)]
    if isinstance(value, dict):
        return {f"{_plain(key)}": _plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_plain(each), sort_keys=True) for each in value)
    if isinstance(value, Struct):
        return [type(value).__name__, [_plain(getattr(value, name)) for name in value.__struct_fields__]]
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, FunctionType) and "<" not in value.__qualname__:
        return f"{value.__module__}.{value.__qualname__}"
    raise Uncacheable(f"a value of {type(value).__name__} cannot be hashed")


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
