"""Files against their contracts or a schema: `validate` and what belongs to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from medcontract.addresses import require_local
from medcontract.errors import CallError, option, report_plugin_errors, words
from medcontract.extras import TABLES, DataFrameSchema, TableLike, is_table
from medcontract.options import (
    CallOptions,
    FileName,
    FileNames,
    Notice,
    Progress,
    as_paths,
    file_source,
    input_source,
)

if TYPE_CHECKING:
    from medcontract.parallel.pool import Pool
    from medcontract.reading.source import Source
    from medcontract.signatures import FileReport, Fix, Validated, Validation
    from medcontract.validation.records import RecordsValidator
    from medcontract.validation.referenced_files import ReferencedFiles
    from medcontract.validation.report import ProblemCollector

    Check = Callable[[Source, str | None, ProblemCollector, Callable[[int, int], None] | None], FileReport]

__all__ = ["MAX_PROBLEMS", "fix", "frame_schema", "load", "validate", "validate_files", "validate_frame"]

MAX_PROBLEMS = 10_000
Advance = Callable[[int, int], None] | None
"""Called with the number of bytes of a file that were read, and its size."""


def validate(
    file: FileName | bytes | TableLike,
    contract: str | None = None,
    *,
    schema: FileName | None = None,
    allow_refs: FileNames = (),
    name: str | None = None,
    max_problems: int = MAX_PROBLEMS,
    images: FileName | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: object = None,
    strict: bool = False,
) -> FileReport:
    """Check one file, given as a path or as bytes, or a table, as `validate_frame` does.

    The path of an archive means the only data file in it.

    `contract` is an id such as "triage/response"; without it, the contract is recognized from the content.
    `schema` is a JSON Schema file to check against instead. It may refer to files in its own folder and in the folders
    `allow_refs`.
    For bytes, the extension of `name` (".jsonl", ".csv") determines the container; without it, the content does.
    `images` is the folder of the images that a lesions/cases file refers to: they are checked (see
    `medcontract.images`), their problems are reported as problems of the file, and `report.images` counts them.
    Problems are returned, not raised. An unknown `contract` raises `UnknownContract`. An invalid `schema`, and images
    that no file refers to or that cannot be checked, raise `CallError`.
    """
    options = CallOptions.of(locals())
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
    if schema is not None and is_table(file):
        raise CallError("a table is checked against a contract, not a schema", "pass contract=…")
    with options.pool() as pool:
        check = _check_for(schema, referenced, allow_refs, options.jobs, pool)
        source = input_source(file, contract, name)
        report = unchanged(check, source, contract, ProblemCollector(options.max_problems), None)
    report = _require_image_references(Validation.of((report,)), referenced).files[0]
    return report._failing_on_warnings() if options.strict else report


def validate_files(
    files: FileNames,
    contract: str | None = None,
    *,
    schema: FileName | None = None,
    allow_refs: FileNames = (),
    max_problems: int = MAX_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    images: FileName | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: object = None,
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    cache: FileName | None = None,
    notice: Notice | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Check files and folders, or a single one. `contract`, `schema`, `images` and `jobs`: as in `validate`.

    An internal error while checking a file is reported as a problem of that file; the others are still checked.
    `skipped` of the result lists files in folders that were not read, because they are not data files. `cache` is a
    folder that reports are kept in: a file that was already checked with the same settings is not checked again.
    """
    options = CallOptions.of(locals())
    from msgspec.structs import replace

    from medcontract.contracts.recognition import is_truth_or_submission, other_role
    from medcontract.results.validation import SkippedFile, Validation
    from medcontract.validation.dispatch import guarded
    from medcontract.validation.report import ProblemCollector

    paths = as_paths(files)
    given = options.files(paths, schema=schema)
    if not given.files:
        raise CallError("there are no files to check", "pass the paths of files or folders")
    referenced = referenced_files(images, options)
    if options.cache is not None and (schema is not None or images is not None):
        raise CallError(
            words(option("--cache"), " cannot be used with ", option("--schema"), " or ", option("--images")),
            "pass only one of them",
        )
    progress_of = _progress_of_files(options.progress, [path for path, _ in given.files])
    settings = (options.max_problems, options.max_alike, options.excerpts)

    def check(position: int, contract_id: str | None) -> FileReport:
        path, _ = given.files[position]

        def checked() -> FileReport:
            collector = ProblemCollector(*settings)
            return guarded(validator, file_source(path, options.limits), contract_id, collector, progress_of(position))

        if results is None:
            return checked()
        from medcontract.evaluation.cached import cached_report

        return cached_report(results, path, contract_id, options.limits, settings, checked)

    with options.pool() as pool, options.kept_results(paths) as results:
        validator = _check_for(schema, referenced, allow_refs, options.jobs, pool)
        reports = [check(position, contract_id) for position, (_, contract_id) in enumerate(given.files)]
        decided = other_role({report.contract for report in reports if report.contract})
        if decided is not None:
            reports = [
                check(position, decided) if is_truth_or_submission(report._candidates) else report
                for position, report in enumerate(reports)
            ]
    folder = None if images is None else os.path.join(os.path.realpath(images), "")
    skipped = tuple(
        SkippedFile(path=file.path, reason=file.reason)
        for file in given.skipped
        if folder is None or not os.path.realpath(file.path).startswith(folder)
    )
    report = _require_image_references(Validation.of(tuple(reports), skipped), referenced)
    report = replace(report, _next=_next_step(reports))
    return report._failing_on_warnings() if options.strict else report


_MOST_NAMED = 2
_LISTS = ("cases", "inventory", "manifest")
"""Contracts of files that list the expected ids."""


def _next_step(reports: Sequence[FileReport]) -> str:
    """Say how to check a valid submission further; nothing if other files are not valid, or there are many."""
    from medcontract.contracts.registry import compiled, scope

    known = compiled()
    mine = [known[report.contract] for report in reports if report.ok and report.contract and report.contract in known]
    sent = [each for each in mine if any(rule.get("kind") == "covers" for rule in each.published_rules)]
    tracks = {each.id.partition("/")[0] for each in mine}
    if len(mine) < len(reports) or not sent or len(reports) > _MOST_NAMED or len(tracks) > 1:
        return ""
    lists = [f"{name}.csv" for name in _LISTS for track in tracks if f"{track}/{name}" in known][:1]
    beside = [os.path.join(os.path.dirname(reports[0].path), name) for name in lists]
    files = map(
        shlex.quote, [*(report.path for report in reports), *(beside if any(map(os.path.isfile, beside)) else lists)]
    )
    challenge = "--challenge FILE " if scope() else ""
    return f"Next: medcontract preflight {challenge}{' '.join(files)}"


@report_plugin_errors()
def validate_frame(frame: TableLike, contract: str, *, max_problems: int = MAX_PROBLEMS) -> FileReport:
    """Check the rows of a table: a pandas DataFrame, an Arrow table (polars, pyarrow, DuckDB), or a list of dicts.

    The `record` of a problem is the position of its row, its `field` is the column. Missing values (None, NaN, NaT,
    NA; in Arrow null) are null. The index is ignored. Needs the extra `pandas`, or for Arrow `parquet`.
    """
    if not is_table(frame):
        raise CallError(f"expected a table, got {type(frame).__name__}", TABLES)
    return validate(frame, contract, max_problems=max_problems)


def frame_schema(contract: str) -> DataFrameSchema:
    """Return the pandera schema of a flat contract. Needs the extra `pandas`."""
    from medcontract.contracts import pandera_schemas

    return pandera_schemas.frame_schema(contract)


def fix(file: FileName, contract: str | None = None, *, cases: FileName | None = None, write: bool = False) -> Fix:
    """Repair what has exactly one right repair in a .json, .jsonl or .csv file, and check the result.

    The result is truthy if the repaired file is valid; `diff()` shows the changes. With `write`, the file is replaced.
    `cases` is a file with the expected ids, such as the cases or the truth: ids that can only mean one of them are
    written as there. Raises `CallError` if the file cannot be read or written, and `InvalidData` if `cases` is invalid.
    """
    from medcontract.atomic_write import write_file
    from medcontract.evaluation.files import split
    from medcontract.fixing import fix_file
    from medcontract.reading.folders import leads_out_of
    from medcontract.results.preflight import Fix, RepairMade

    files = as_paths(file)
    if len(files) != 1:
        raise CallError(f"expected one file, got {len(files)}", "call fix for each file")
    path, contract_id = split(files[0], contract)
    fixed = fix_file(path, contract_id, None if cases is None else split(cases))
    changed = bool(fixed.repairs)
    if write and changed:
        if leads_out_of(os.path.dirname(path) or ".", path):
            raise CallError(f"{path}: this link leads out of its folder and is not followed", "pass the file itself")
        write_file(fixed.after, path)
    return Fix(
        path=path, changed=changed, written=write and changed,
        repairs=tuple(RepairMade(what=each.what, line=each.line) for each in fixed.repairs),
        remaining=fixed.report, _before=fixed.before, _after=fixed.after,
    )  # fmt: skip


def load(file: FileName | bytes | TableLike, contract: str | None = None, *, name: str | None = None) -> Validated[Any]:
    """Read a whole file as a validated value: an instance of the model of its contract.

    Raises `InvalidData`, which carries the report, if the file violates its contract, and `CallError` if it cannot be
    checked. The value of a collection without a header (.jsonl, .csv, a table) is a tuple of records.
    """
    from medcontract.validation.dispatch import load_source

    return load_source(input_source(file, contract, name), contract)


def _check_for(
    schema: FileName | None,
    referenced: ReferencedFiles | None,
    allow_refs: FileNames,
    jobs: int | None,
    pool: Pool | None,
) -> Check:
    """Return the function that checks files, by contract or by schema. Raises `CallError` for an invalid schema.

    `jobs` is the number of processes that check a large file, unless a pool does.
    """
    allowed = as_paths(allow_refs)
    if schema is not None:
        require_local(schema, option("--schema"), "download the schema first")
        if referenced is not None:
            wanted = " or ".join(referenced.contracts())
            raise CallError(f"images are checked for {wanted}, not for a schema", "pass only one of them")
        from medcontract.jsonschema_files import SchemaChecker, validate_with_schema

        checker = SchemaChecker.load(schema, allowed)
        return lambda source, _, collector, progress: validate_with_schema(source, checker, collector, progress)
    if allowed:
        hint = words("pass it with ", option("--schema", "FILE"))
        raise CallError("references are allowed, but no schema is given", hint)
    from medcontract.validation import dispatch

    def check(source: Source, contract_id: str | None, collector: ProblemCollector, progress: Advance) -> FileReport:
        identified = dispatch.identify(source, contract_id, collector)
        if not isinstance(identified, dispatch.Identified):
            return identified
        with source.kept_open():
            validator = dispatch.validator_for(source, identified.contract, collector, progress)
            return identified.report(_run(validator, jobs, pool), referenced)

    return check


def _run(validator: RecordsValidator, jobs: int | None, pool: Pool | None) -> RecordsValidator:
    """Check a file, in several processes if it is large. Return the validator that has the findings."""
    from medcontract.parallel.cpus import workers_for
    from medcontract.reading import chunks

    size = validator.source.size
    if size >= 2 * chunks.SMALLEST and (pool or workers_for(jobs, size) > 1):
        from medcontract.parallel.merge import run_validator
        from medcontract.parallel.processes import pool_for

        pool = pool or pool_for(jobs, size)
        if pool:
            return run_validator(validator, pool)
    validator.run()
    return validator


def referenced_files(images: FileName | None, options: CallOptions) -> ReferencedFiles | None:
    """Prepare the check of the images in a folder."""
    if images is None:
        return None
    require_local(images, option("--images"), "download the images first")
    from medcontract.evaluation.preflight.linked_files import images_named_by

    return images_named_by(images, options.jobs, options.stage("checking images"))


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


def _progress_of_files(progress: Progress | None, paths: Sequence[str | Source]) -> Callable[[int], Advance]:
    """Return the progress within each file, by position, as bytes of all of them."""
    sizes = [os.path.getsize(path) if isinstance(path, str) and os.path.isfile(path) else 0 for path in paths]
    before = list(accumulate(sizes, initial=0))

    def of_file(position: int) -> Advance:
        if progress is None:
            return None

        def report(done: int, total: int) -> None:  # the size of a file at an address is not known before
            progress("checking", before[position] + done, before[-1] - sizes[position] + total)

        report(0, sizes[position])
        return report

    return of_file
