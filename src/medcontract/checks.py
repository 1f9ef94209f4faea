"""Check files against their contracts or a schema: what `validate` and `validate_files` do with checked options."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from medcontract import arguments
from medcontract.addresses import require_local
from medcontract.arguments import FileName, FileNames, Progress
from medcontract.errors import CallError, option, words
from medcontract.extras import DataFrame, is_frame
from medcontract.options import CallOptions

if TYPE_CHECKING:
    from medcontract.cache import ResultCache
    from medcontract.parallel.pool import Pool
    from medcontract.reading.source import Source
    from medcontract.results.validation import FileReport, Validation
    from medcontract.validation.records import RecordsValidator
    from medcontract.validation.referenced_files import ReferencedFiles
    from medcontract.validation.report import ProblemCollector


def validate(
    file: FileName | bytes | DataFrame,
    name: str | None,
    schema: FileName | None,
    allow_refs: FileNames,
    images: FileName | None,
    options: CallOptions,
) -> FileReport:
    from medcontract.contracts import registry
    from medcontract.results.validation import Validation
    from medcontract.validation.dispatch import unchanged
    from medcontract.validation.report import ProblemCollector

    contract = options.contract
    if contract is not None:
        registry.find(contract)
        if schema is not None:
            raise CallError("both a schema and a contract are given", "pass only one of them")
    referenced = referenced_files(images, options)
    if schema is not None and is_frame(file):
        raise CallError("a DataFrame is checked against a contract, not a schema", "pass contract=…")
    with options.pool() as pool:
        check = _check_for(schema, referenced, allow_refs, options.jobs, pool)
        source = arguments.input_source(file, contract, name)
        report = unchanged(check, source, contract, ProblemCollector(options.max_problems), None)
    report = _require_image_references(Validation.of((report,)), referenced).files[0]
    return report._failing_on_warnings() if options.strict else report


def validate_files(
    files: Sequence[FileName],
    schema: FileName | None,
    allow_refs: FileNames,
    images: FileName | None,
    options: CallOptions,
) -> Validation:
    from medcontract.contracts.recognition import is_truth_or_submission, other_role
    from medcontract.results.validation import SkippedFile, Validation
    from medcontract.validation.dispatch import guarded
    from medcontract.validation.report import ProblemCollector

    given = options.files(files, schema=schema)
    if not given.files:
        raise CallError("there are no files to check", "pass the paths of files or folders")
    referenced = referenced_files(images, options)
    if options.cache is not None and (schema is not None or images is not None):
        raise CallError(
            words(option("--cache"), " cannot be used with ", option("--schema"), " or ", option("--images")),
            "pass only one of them",
        )
    checking = _FileProgress(options.progress, [path for path, _ in given.files])
    settings = (options.max_problems, options.max_alike, options.excerpts)

    def check(path: str | Source, contract_id: str | None, results: ResultCache | None) -> FileReport:
        advance = checking.start(path)

        def checked() -> FileReport:
            source = arguments.source(path, options.limits)
            return guarded(validator, source, contract_id, ProblemCollector(*settings), advance)

        if results is None:
            return checked()
        from medcontract.evaluation.cached import cached_report

        return cached_report(results, path, contract_id, options.limits, settings, checked)

    with options.pool() as pool, options.kept_results(files) as results:
        validator = _check_for(schema, referenced, allow_refs, options.jobs, pool)
        reports = [check(path, contract_id, results) for path, contract_id in given.files]
        decided = other_role({report.contract for report in reports if report.contract})
        if decided is not None:
            reports = [
                check(path, decided, results) if is_truth_or_submission(report._candidates) else report
                for (path, _), report in zip(given.files, reports, strict=True)
            ]
    folder = None if images is None else os.path.join(os.path.realpath(images), "")
    skipped = tuple(
        SkippedFile(path=file.path, reason=file.reason)
        for file in given.skipped
        if folder is None or not os.path.realpath(file.path).startswith(folder)
    )
    report = _require_image_references(Validation.of(tuple(reports), skipped), referenced)
    return report._failing_on_warnings() if options.strict else report


def _require_image_references(report: Validation, referenced: ReferencedFiles | None) -> Validation:
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


Advance = Callable[[int, int], None] | None
"""Called with the number of bytes of a file that were read, and its size."""


class _FileProgress:
    """Reports the progress of reading several files as bytes of all of them."""

    def __init__(self, progress: Progress | None, paths: Sequence[str | Source]) -> None:
        self._progress = progress
        self._left = sum(map(_size, paths))
        self._done = 0

    def start(self, path: str | Source) -> Advance:
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


def _contract_check(
    referenced: ReferencedFiles | None, jobs: int | None, pool: Pool | None
) -> Callable[[Source, str | None, ProblemCollector, Advance], FileReport]:
    """Return the function that checks files by contract. It reads large files in several processes."""
    from medcontract.validation import dispatch

    def check(source: Source, contract_id: str | None, collector: ProblemCollector, advance: Advance) -> FileReport:
        identified = dispatch.identify(source, contract_id, collector)
        if not isinstance(identified, dispatch.Identified):
            return identified
        with source.kept_open():
            validator = dispatch.validator_for(source, identified.contract, collector, advance)
            return identified.report(_run(validator, jobs, pool), referenced)

    return check


def _run(validator: RecordsValidator, jobs: int | None, pool: Pool | None) -> RecordsValidator:
    """Check a file, in several processes if it is large. Return the validator that has the findings."""
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


def _check_for(
    schema: FileName | None,
    referenced: ReferencedFiles | None,
    allow_refs: FileNames,
    jobs: int | None,
    pool: Pool | None,
) -> Callable[..., FileReport]:
    """The function that checks files, by contract or by schema. Raises `CallError` if the schema is not valid.

    `jobs` is the number of processes that check a large file, unless a pool does.
    """
    allowed = arguments.paths(allow_refs)
    if allowed and schema is None:
        raise CallError(
            "references are allowed, but no schema is given", words("pass it with ", option("--schema", "FILE"))
        )
    if schema is None:
        return _contract_check(referenced, jobs, pool)
    require_local(schema, option("--schema"), "download the schema first")
    if referenced is not None:
        wanted = " or ".join(referenced.contracts())
        raise CallError(f"images are checked for {wanted}, not for a schema", "pass only one of them")
    from medcontract.jsonschema_files import SchemaChecker, validate_with_schema

    checker = SchemaChecker.load(schema, allowed)
    return lambda source, contract_id, collector, progress: validate_with_schema(source, checker, collector, progress)


def referenced_files(images: FileName | None, options: CallOptions) -> ReferencedFiles | None:
    """Prepare the check of the images in a folder."""
    if images is None:
        return None
    require_local(images, option("--images"), "download the images first")
    from medcontract.evaluation.preflight.linked_files import images_named_by

    return images_named_by(images, options.jobs, options.stage("checking images"))
