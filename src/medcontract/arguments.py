"""Checks and converts the arguments of the public functions in `api.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from medcontract.addresses import require_local
from medcontract.errors import LOAD_PLUGIN, CallError, option, words
from medcontract.extras import is_frame, require

if TYPE_CHECKING:
    from decimal import Decimal

    import pandas as pd

    from medcontract.cache import ResultCache
    from medcontract.parallel.pool import Pool
    from medcontract.reading.folders import Exclude
    from medcontract.reading.limits import Limits
    from medcontract.reading.source import Source
    from medcontract.results.validation import FileReport, Validation
    from medcontract.validation.records import RecordsValidator
    from medcontract.validation.referenced_files import ReferencedFiles

MAX_SCORE_PROBLEMS = 100

FileName = str | os.PathLike[str]
Number: TypeAlias = "str | int | float | Decimal"
FileNames: TypeAlias = FileName | Iterable[FileName]
Progress = Callable[[str, int, int], None]
Notice = Callable[[str], None]


def paths(given: Any) -> tuple[FileName, ...]:
    """A path, or an iterable of paths, as a tuple. Raises `CallError`."""
    if isinstance(given, str | os.PathLike):
        return (given,)
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise CallError(f"expected a path or a list of paths, got {type(given).__name__}")
    found = tuple(given)
    for each in found:
        if not isinstance(each, str | os.PathLike):
            hint = "pass each path as a separate argument" if isinstance(each, list | tuple) else None
            raise CallError(f"expected a path, got {type(each).__name__}", hint)
    return found


def mapping(given: Mapping[str, Any] | None, argument: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise CallError(f"'{argument}' must be a mapping, not {type(given).__name__}")
    return dict(given or {})


def require_strings(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            hint = "pass each string as a separate argument" if isinstance(value, list | tuple) else None
            raise CallError(f"expected a string, got {type(value).__name__}", hint)


def exclusion(patterns: str | Iterable[str]) -> Exclude | None:
    """The patterns of files to skip in folders, or None if there are none."""
    patterns = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    require_strings(patterns)
    if not all(pattern.strip("/") for pattern in patterns):
        raise CallError("an exclude pattern is empty")
    if not patterns:
        return None
    import re

    from medcontract.reading.folders import Exclude

    try:
        return Exclude(patterns)
    except re.error as error:
        raise CallError(f"an exclude pattern is not valid: {error}") from None


def notify_unused(exclude: Exclude | None, notice: Notice | None) -> None:
    """Report patterns that matched nothing: they may be misspelled."""
    for pattern in exclude.unused if exclude and notice else ():
        notice(f"--exclude {pattern}: matches no file in the given folders")  # type: ignore[misc]


def require_contract(contract: str | None) -> None:
    if contract is not None:
        require_strings([contract])


def require_at_least(minimum: int, **numbers: Any) -> None:
    from numbers import Integral

    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise CallError(f"'{name}' must be an integer, not {type(number).__name__}")
        if number < minimum:
            raise CallError(f"'{name}' must be at least {minimum}, not {number}")


def require_draft(draft: str) -> None:
    from medcontract.schemas.publishing import DRAFTS

    if draft not in DRAFTS:
        raise CallError(f"unknown draft '{draft}'", f"use one of: {', '.join(DRAFTS)}")


def referenced_files(
    images: FileName | None, jobs: int | None, progress: Callable[[int, int], None] | None = None
) -> ReferencedFiles | None:
    if images is None:
        return None
    require_local(images, option("--images"), "download the images first")
    from medcontract.evaluation.preflight.linked_files import images_named_by

    return images_named_by(images, jobs, progress)


def require_image_references(report: Validation, referenced: ReferencedFiles | None) -> Validation:
    """Raise `CallError` if no file refers to images: otherwise it would look as if they had been checked."""
    if referenced is None:
        return report
    if not any(file.contract is None or referenced.field(file.contract) for file in report.files):
        contracts = referenced.contracts()
        raise CallError(
            f"images are given, but no file of {' or '.join(contracts)}, which refers to them",
            f"if one of the files is, specify it as {contracts[0]}=FILE",
        )
    return report


def input_source(file: FileName | bytes | pd.DataFrame, contract: str | None, name: str | None) -> Source:
    if not is_frame(file):
        from medcontract.evaluation.files import input_file

        return input_file(cast("FileName | bytes", file), name)
    from medcontract.validation.frames import frame_source

    return frame_source(cast("pd.DataFrame", file), contract, name)


def source(path: str | Source, limits: Limits | None) -> Source:
    from medcontract.reading.archives import open_source
    from medcontract.reading.source import Source

    return path if isinstance(path, Source) else open_source(path, limits)


def validator_for(
    schema: FileName | None,
    referenced: ReferencedFiles | None,
    allow_refs: FileNames,
    jobs: int | None = None,
    pool: Pool | None = None,
) -> Callable[..., FileReport]:
    """The function that checks files, by contract or by schema. Raises `CallError` if the schema is not valid.

    `jobs` is the number of processes that check a large file, unless a pool does.
    """
    allowed = paths(allow_refs)
    if allowed and schema is None:
        raise CallError(
            "references are allowed, but no schema is given", words("pass it with ", option("--schema", "FILE"))
        )
    if schema is None:
        from medcontract.validation import dispatch

        def run(validator: RecordsValidator) -> RecordsValidator:
            return _run_validator(validator, jobs, pool)

        return lambda source, contract_id, collector, progress: dispatch.validate_source(
            source, contract_id, collector, progress, referenced, run
        )
    require_local(schema, option("--schema"), "download the schema first")
    if referenced is not None:
        wanted = " or ".join(referenced.contracts())
        raise CallError(f"images are checked for {wanted}, not for a schema", "pass only one of them")
    from medcontract.jsonschema_files import SchemaChecker, validate_with_schema

    checker = SchemaChecker.load(schema, allowed)
    return lambda source, contract_id, collector, progress: validate_with_schema(source, checker, collector, progress)


@contextmanager
def result_cache(
    folder: FileName | None, inputs: Iterable[FileName], notice: Notice | None, beside: bool = False
) -> Iterator[ResultCache | None]:
    """The cache in a folder, or None. Raises `CallError` if it would become an input of this call or of the next one.

    `beside`: whether it must not be in the same folder as an input.
    """
    if folder is None:
        yield None
        return
    from medcontract.atomic_write import refuse_input_folder
    from medcontract.cache import ResultCache
    from medcontract.evaluation.files import split

    if not isinstance(folder, str | os.PathLike):
        raise CallError(f"'cache' must be a path, not {type(folder).__name__}")
    paths = [split(name)[0] for name in inputs]
    refuse_input_folder(folder, paths, "--cache", beside=paths if beside else ())
    with ResultCache(folder, notice) as cache:
        yield cache


class FileProgress:
    """Reports the progress of reading several files as bytes of all of them."""

    def __init__(self, progress: Progress | None, paths: Sequence[str | Source]) -> None:
        self._progress = progress
        self._left = sum(map(_size, paths))
        self._done = 0

    def start(self, path: str | Source) -> Callable[[int, int], None] | None:
        """The function that gets the progress within the next file; None if there is no need to call it."""
        expected = _size(path)
        self._left = max(self._left - expected, 0)  # a file may be checked twice
        done_before = self._done
        self._done += expected
        if self._progress is None:
            return None
        progress = self._progress

        def report(done: int, total: int) -> None:
            self._done = max(self._done, done_before + total)  # the size of a file at an address is not known before
            progress("checking", done_before + done, self._done + self._left)

        report(0, expected)
        return report


def _size(path: str | Source) -> int:
    is_file = isinstance(path, str) and os.path.isfile(path)
    return os.path.getsize(path) if is_file else 0  # type: ignore[arg-type]  # a str


@contextmanager
def engine(name: str | None, scheduler: str | None, client: Any, jobs: int | None) -> Iterator[Pool | None]:
    """What reads large files, if the caller chose it. Raises `CallError`."""
    if name not in (None, "dask"):
        raise CallError(f"unknown engine '{name}'", "use dask")
    if scheduler is not None and client is not None:
        raise CallError("both a scheduler and a client are given", "pass only one of them")
    if scheduler is not None and name is None:
        raise CallError(words(option("--scheduler"), " requires ", option("--engine", "dask")))
    if name is None and client is None:
        yield None
        return
    require("distributed", "dask")
    if scheduler is None and client is None:
        require("cryptography", "dask")  # for the certificate of a local cluster
    from medcontract.parallel.dask_pool import DaskPool, check_client, connected

    if client is not None:
        check_client(client)
    connection = nullcontext(client) if client is not None else connected(scheduler, jobs)
    with connection as its_client, DaskPool(its_client) as found:
        yield found


def _run_validator(validator: RecordsValidator, jobs: int | None, pool: Pool | None) -> RecordsValidator:
    """Check a file, in several processes if it is large."""
    from medcontract.parallel.cpus import workers_for
    from medcontract.reading import chunks

    size = validator.source.size
    if size >= 2 * chunks.SMALLEST and (pool or workers_for(jobs, size) > 1):
        from medcontract.parallel.merge import run_validator
        from medcontract.parallel.pool import pool_for

        pool = pool or pool_for(jobs, size)
        if pool:
            return run_validator(validator, pool)
    validator.run()
    return validator


def stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, name)


def limits(max_record: int | None, max_unpacked: int | None) -> Limits:
    from medcontract.reading.limits import Limits

    require_at_least(1, max_record=max_record, max_unpacked=max_unpacked)
    return Limits(*(given or default for given, default in zip((max_record, max_unpacked), Limits(), strict=True)))


def changes(parameters: Mapping[str, Number] | None) -> tuple[tuple[str, str], ...]:
    """Parameters as exact strings."""
    return tuple((name, _exact(name, value)) for name, value in mapping(parameters, "parameters").items())


def _exact(name: str, value: Any) -> str:
    from decimal import Decimal
    from numbers import Integral, Real

    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Decimal | Real):
        raise CallError(f"'{name}' must be a number or a string, not {type(value).__name__}")
    if isinstance(value, Decimal):
        return str(value)
    return str(int(value)) if isinstance(value, Integral) else repr(float(value))


def load_plugins(names: str | Iterable[str]) -> None:
    """Load plugins, given as a name or several."""
    from medcontract.scoring import tracks

    for name in (names,) if isinstance(names, str) else names:
        require_local(name, LOAD_PLUGIN, "download the plugin first, and read it")
        tracks.load_plugin(name)
