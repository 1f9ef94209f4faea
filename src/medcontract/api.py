"""The public functions. The command line only calls these and the renderers.

Files are paths. A folder or an archive (.zip, .tar.gz) means all data files in it, `"sub.zip!/out.json"` is a file in
an archive, `"triage/response=out.json"` specifies the contract of a file, and `"-"` is standard input. Problems in
files are returned; a wrong call raises `CallError`.

Several functions share these arguments:

- `contract`: the contract of all files that are not passed as `"CONTRACT=PATH"`
- `parameters`: changed parameters of the protocol, by name: strings or numbers (a float means its shortest decimal)
- `protocol`: a frozen protocol, a file or the result of `freeze_protocol`: its parameters are used, and the score is
  refused if its versions or its truth differ
- `header`: header fields that the files do not contain, by name
- `participant`: whether to return only what participants may see
- `show_values`: whether the result itself may contain values of records, such as the terms of a breakdown
- `plugin_errors`: whether to include messages of exceptions in custom metrics, which may quote a record
- `max_problems`, `max_alike`: how many problems to keep per file, and of each kind; all are counted
- `excerpts`: whether to keep the source lines of problems, for the text format
- `max_record`, `max_unpacked`: the maximum size of a record, and of a decompressed file, in bytes
- `plugins`: modules with custom contracts or metrics, also loaded in worker processes
- `exclude`: glob patterns of files and folders that are skipped when a folder is read; files that are named are read
- `strict`: whether warnings count as failures
- `jobs`: the number of worker processes for large files, submissions and images; by default as many as pay off. The
  result is the same for any number
- `engine`, `scheduler`, `client`: `engine="dask"` reads large files on the Dask cluster of a scheduler, given by its
  address, or on a local one; `client` is a `distributed.Client` of your own. The result is the same. Needs the extra
  `dask`
- `notice`: a function that is called with messages about the call, such as an `exclude` pattern that matches nothing
- `progress`: a function that is called with the current step, the work done, and the total work
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medcontract import addresses, arguments, calls, checks
from medcontract.arguments import FileName, FileNames, Notice, Number, Progress
from medcontract.errors import CallError, report_plugin_errors
from medcontract.extras import DataFrame, DataFrameSchema
from medcontract.options import CallOptions

if TYPE_CHECKING:
    from medcontract.results.schemas import ContractSchema
    from medcontract.scoring.track import Option
    from medcontract.signatures import (
        Bundle,
        CacheInfo,
        Comparison,
        Contract,
        ContractList,
        DataDictionary,
        Draft,
        Explanation,
        FileReport,
        Fix,
        Leaderboard,
        Normalization,
        Path,
        Preflight,
        Protocol,
        ProtocolCheck,
        ProtocolList,
        SchemaCheck,
        SchemaDiff,
        SchemaExport,
        Score,
        Validated,
        Validation,
        Verification,
    )

MAX_PROBLEMS = 10_000
MAX_SCORE_PROBLEMS = CallOptions.max_problems
TEMPLATE_FORMATS = ("json", "jsonl", "csv")


# --- files against their contracts ------------------------------------------------------------------------------------


def validate(
    file: FileName | bytes | DataFrame,
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
    client: Any = None,
    strict: bool = False,
) -> FileReport:
    """Check one file, given as a path or as bytes, or a pandas DataFrame as `validate_frame` does.

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
    return checks.validate(file, name, schema, allow_refs, images, CallOptions.of(locals()))


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
    client: Any = None,
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    cache: FileName | None = None,
    notice: Notice | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Check files and folders, or a single one. `contract`, `schema`, `images` and `jobs` are those of `validate`.

    An internal error while checking a file is reported as a problem of that file; the others are still checked.
    `skipped` of the result lists files in folders that were not read, because they are not data files. `cache` is a
    folder that reports are kept in: a file that was already checked with the same settings is not checked again.
    """
    return checks.validate_files(arguments.paths(files), schema, allow_refs, images, CallOptions.of(locals()))


@report_plugin_errors()
def validate_frame(frame: DataFrame, contract: str, *, max_problems: int = MAX_PROBLEMS) -> FileReport:
    """Check the rows of a DataFrame against a flat contract.

    The `record` of a problem is the position of its row, its `field` is the column. Missing values (None, NaN, NaT,
    NA) are null. The index is ignored. Needs the extra `pandas`.
    """
    from medcontract.validation import frames

    return frames.validate_frame(frame, contract, max_problems=max_problems)


def frame_schema(contract: str) -> DataFrameSchema:
    """The pandera schema of a flat contract. Needs the extra `pandas`."""
    from medcontract.contracts import pandera_schemas

    return pandera_schemas.frame_schema(contract)


def fix(file: FileName, contract: str | None = None, *, write: bool = False) -> Fix:
    """Repair what has exactly one right repair in a .json, .jsonl or .csv file, and check the result.

    The result is truthy if the repaired file is valid; `diff()` shows the changes. With `write`, the file is replaced.
    Raises `CallError` if the file cannot be read or written.
    """
    from medcontract.atomic_write import write_file
    from medcontract.evaluation.files import split
    from medcontract.fixing import fix_file
    from medcontract.reading.folders import leads_out_of
    from medcontract.results.preflight import Fix, RepairMade

    files = arguments.paths(file)
    if len(files) != 1:
        raise CallError(f"expected one file, got {len(files)}", "call fix for each file")
    path, contract_id = split(files[0], contract)
    fixed = fix_file(path, contract_id)
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


def load(file: FileName | bytes, contract: str | None = None, *, name: str | None = None) -> Validated[Any]:
    """Read a whole file as a validated value: an instance of the model of its contract.

    Raises `InvalidData`, which carries the report, if the file violates its contract, and `CallError` if it cannot be
    checked. The value of a collection without a header (.jsonl, .csv) is a tuple of records.
    """
    from medcontract.validation.dispatch import load_source

    return load_source(arguments.input_source(file, contract, name), contract)


# --- submissions ------------------------------------------------------------------------------------------------------


def score(
    *files: FileName | DataFrame,
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    breakdown: bool = False,
    participant: bool = False,
    show_values: bool = False,
    plugin_errors: bool = True,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: Any = None,
    max_problems: int = MAX_SCORE_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    **track_options: Any,
) -> Score:
    """Score a submission against its truth. `files` are the files of both, in any order.

    A file may be a pandas DataFrame with the columns of its contract, also by the name of the contract:
    `score(truth=frame, predictions=frame)`. Such a name, or the id of a contract, takes DataFrames only.

    Raises `CallError` if the files do not belong together. A submission that is not valid does not raise: its score is
    falsy, `valid` is False, and `reasons` explains why.

    `breakdown` explains each item (in extraction, `breakdown` of the score) or sample (in benchmark,
    `detailed_results` of the result). Tracks have additional arguments, which are also options of the command:
    `weights` and `categories` (mappings), `metric_name`, `renormalize_missing`, `replace` and `lexicon` (a file) for
    benchmark, `t_min_ms` and `t_max_ms` for lesions, `match` for extraction.
    """
    return calls.score(files, CallOptions.of(locals()))


def preflight(
    *files: FileName | DataFrame,
    contract: str | None = None,
    images: FileName | None = None,
    jobs: int = 1,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    participant: bool = False,
    show_values: bool = False,
    plugin_errors: bool = True,
    max_problems: int = MAX_SCORE_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    **track_options: Any,
) -> Preflight:
    """Check a submission. More files, such as cases or the truth, allow more checks.

    Files may be DataFrames, as in `score`.

    A check passes, fails, or is skipped if files for it are missing; the result is truthy if no check fails. `images`
    is a folder, `jobs` the number of processes that check images. Options of tracks are those of `score`.
    """
    return calls.preflight(files, images, CallOptions.of(locals()))


def leaderboard(
    truth: FileName,
    *submissions: FileName,
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    measured: FileName | None = None,
    participant: bool = False,
    plugin_errors: bool = True,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: Any = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    cache: FileName | None = None,
    reports: FileName | None = None,
    report_as: tuple[str, Callable[[Score], str]] | None = None,
    max_alike: int | None = None,
    **track_options: Any,
) -> Leaderboard:
    """Score each submission (a folder, an archive or a file) against the truth (likewise), and rank them.

    Submissions that are not valid are last, with reasons; the result is truthy if at least one is valid, and with
    `strict` only if there are no warnings. A link out of its folder or to another submission, a pipe and a device are
    not read, and not valid. A file that is not a data file, such as a readme, is not a submission: it is ignored with
    a warning. `measured` is a folder with
    your own measurements of each submission (telemetry, model file, runs, evidence), as `NAME/` or `NAME.json`; those
    of the submissions are then ignored. Options of tracks are those of `score`.

    `reports` is a folder for one file per submission with its result, as `score` returns it: JSON by default, or what
    `report_as`, a file extension and a function of the score, makes of it. It is created if it does not exist. A file
    in it that was not written as a report, or was changed since, is never replaced: that raises `CallError` before
    anything is scored. `max_alike` limits the similar problems in each report.

    `cache` is a folder that scores are kept in: a submission that was already scored is not scored again if neither it
    nor the truth, the protocol, the settings or the versions have changed.
    """
    return calls.leaderboard(truth, submissions, measured, reports, report_as, CallOptions.of(locals()))


def compare(
    baseline: FileName | Score,
    rerun: FileName | Score,
    *,
    contract: str | None = None,
    protocol: FileName | Protocol | None = None,
    strict: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
) -> Comparison:
    """Compare two scores: results of `score`, or files written by `medcontract score --format json`.

    `contract` can only be "medcontract/score". Raises `CallError`, with the exact difference, if they are not
    comparable, or were not made under `protocol`. With `strict`, the result is falsy if there are warnings.
    """
    return calls.compare(baseline, rerun, CallOptions.of(locals()))


def verify(
    score: FileName | Score,
    *files: FileName | DataFrame,
    contract: str | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    client: Any = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    notice: Notice | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Compute a score again from its files, with the protocol and the options that it states.

    The result is truthy if the files have the stated hashes and give the stated score; otherwise it says what differs.
    `files` are in any order, and may have other names. A custom lexicon of the score has to be among them. Raises
    `CallError` if the first argument is not a score, or one of an unknown track.
    """
    return calls.verify(score, files, CallOptions.of(locals()))


# --- the cache --------------------------------------------------------------------------------------------------------


def cache_info(folder: FileName) -> CacheInfo:
    """What the cache in a folder contains. Raises `CallError` if there is none."""
    from medcontract.cache import content
    from medcontract.results.reference import CacheInfo

    return CacheInfo.of(os.fspath(folder), content(folder))


def clear_cache(folder: FileName) -> CacheInfo:
    """Remove all results from the cache in a folder, and nothing else. Returns what was removed."""
    from medcontract.cache import clear
    from medcontract.results.reference import CacheInfo

    return CacheInfo.of(os.fspath(folder), clear(folder), cleared=True)


# --- reference ----------------------------------------------------------------------------------------------------


def normalize(*texts: str) -> Normalization:
    """Normalize texts, step by step. Two texts are equal if their normalized or their tight forms are equal."""
    from medcontract.normalizers.text import steps, tight
    from medcontract.results.reference import Normalization, NormalizationStep, NormalizedText

    arguments.require_strings(texts)

    def normalized(text: str) -> NormalizedText:
        applied = tuple(NormalizationStep(step=step.name, text=step.text, _about=step.about) for step in steps(text))
        return NormalizedText(text=text, normalized=applied[-1].text, tight=tight(text), steps=applied)

    return Normalization(texts=tuple(map(normalized, texts)))


def explain(*codes: str) -> Explanation:
    """Explain problem codes such as "MC104", with an example of the mistake and its fix; all codes if none is given."""
    from medcontract.catalog import problem_codes
    from medcontract.contracts.registry import load_installed
    from medcontract.plugins.codes import unknown_code
    from medcontract.results.reference import ExplainedCode, Explanation

    arguments.require_strings(codes)
    wanted = [f"MC{code}" if code[:1].isdecimal() else code.upper() for code in codes]
    if not codes or not all(name in problem_codes() for name in wanted):
        load_installed()
    for code, name in zip(codes, wanted, strict=True):
        if name not in problem_codes():
            raise unknown_code(code, name)
    found = (ExplainedCode(**problem_codes()[name]._asdict()) for name in wanted or problem_codes())
    return Explanation(codes=tuple(found), _all=not codes)


def init(track: str, folder: FileName, *, force: bool = False) -> tuple[Path, ...]:
    """Create a small, valid set of example files of a track in a folder. Returns their paths."""
    from pathlib import Path

    from medcontract.contracts import registry
    from medcontract.example_files import copy_examples

    addresses.require_local(folder, "cannot write", "write to a local folder, and copy it")
    scope = registry.scope()
    if scope is not None and scope.track.id == track:
        from medcontract.atomic_write import write_new_files
        from medcontract.challenges.examples import example_files

        return write_new_files(folder, example_files(scope.definition), force)
    return copy_examples(track, Path(folder), force)


def template(
    contract_id: str,
    cases: FileName,
    *,
    format: str = "json",  # noqa: A002  # as on the command line
    max_record: int | None = None,
    max_unpacked: int | None = None,
    notice: Notice | None = None,
) -> str:
    """The text of an empty file of a contract, with one record for each case: an unfinished submission.

    `cases` is a file with the expected ids, such as reports/cases or a truth. Only ids are copied, in the same order.
    What must be filled in is null, or an empty cell, which is not valid. `format` is "json", "jsonl" or "csv".
    Raises `CallError` if the contract does not belong to the cases, and `InvalidData` if these are not valid.
    """
    arguments.require_strings([contract_id, format])
    if format not in TEMPLATE_FORMATS:
        raise CallError(f"unknown format '{format}'", f"use one of {', '.join(TEMPLATE_FORMATS)}")
    return calls.template(contract_id, cases, format, CallOptions.of(locals()))


def template_format(out: str) -> str:
    """The format of `template` for the extension of a file. Raises `CallError`."""
    from medcontract.evaluation.template import format_for

    return format_for(out)


def list_contracts() -> ContractList:
    """All contracts, including those of installed plugins, sorted by id."""
    from medcontract.contracts import registry
    from medcontract.results.reference import ContractInfo, ContractList

    names = ("id", "version", "kind", "containers", "title", "source")
    found = registry.contracts()
    return ContractList(
        contracts=tuple(ContractInfo(**{name: getattr(each, name) for name in names}) for each in found)
    )


def get_contract(contract_id: str) -> Contract[Any]:
    """A contract with its models and rules. Raises `UnknownContract`."""
    from medcontract.contracts import registry

    arguments.require_strings([contract_id])
    return registry.contract(contract_id)


def list_protocols() -> ProtocolList:
    """The protocols of all tracks, with version and fingerprint; with a challenge, only that of it."""
    from medcontract.results.reference import ProtocolInfo, ProtocolList
    from medcontract.scoring import tracks

    found = (track.protocol for track in tracks.listed())
    return ProtocolList(
        protocols=tuple(ProtocolInfo(id=p.id, version=p.version, fingerprint=p.fingerprint) for p in found)
    )


def get_protocol(track: str, *, parameters: Mapping[str, Number] | None = None) -> Protocol:
    """The protocol of a track: its parameters with their sources, and the formulas in words."""
    from medcontract.evaluation.protocols import document
    from medcontract.scoring import tracks

    found = tracks.track(track)
    return document(found, tracks.changed_protocol(found, CallOptions(parameters=parameters).changes))


def freeze_protocol(
    track: str,
    *,
    truth: FileNames = (),
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    note: str | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    **track_options: Any,
) -> Protocol:
    """The protocol of a track with the versions of everything that changes a score, to be kept as a file.

    With `truth`, files or folders, only scores against truths with the same content are made under it. `note` says why
    it was frozen. Options of a track are those of `score` that are part of its protocol (`lexicon`, `match`,
    `t_min_ms`, `t_max_ms`). Others raise `CallError`. Raises `MedcontractError` for a truth with errors.
    """
    return calls.freeze_protocol(track, truth, note, CallOptions.of(locals()))


def check_protocol(
    protocol: FileName | Protocol,
    *,
    contract: str | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    **track_options: Any,
) -> ProtocolCheck:
    """Whether this medcontract scores under a frozen protocol, with every difference. True if it does.

    `contract` can only be "medcontract/protocol". Options of a track are those of `freeze_protocol`: a custom lexicon
    that was frozen must be given again.
    """
    return calls.check_protocol(
        protocol,
        CallOptions(contract=contract, max_record=max_record, max_unpacked=max_unpacked, track_options=track_options),
    )


# --- published schemas --------------------------------------------------------------------------------------------


def json_schema(contract_id: str, *, record: bool = False, draft: Draft = "2020-12") -> dict[str, Any]:
    """The JSON Schema of a contract, or of one record of a collection."""
    from copy import deepcopy

    from medcontract.schemas.files import schema_of

    arguments.require_strings([contract_id])
    arguments.require_draft(draft)
    return deepcopy(schema_of(contract_id, record, draft))


def show_schema(contract_id: str, *, record: bool = False, draft: Draft = "2020-12") -> ContractSchema:
    """What `medcontract schema show` prints: the JSON Schema of `json_schema`, or the `data_dictionary` as Markdown."""
    from medcontract.results.schemas import ContractSchema

    schema = json_schema(contract_id, record=record, draft=draft)
    return ContractSchema(_schema=schema, _dictionary=data_dictionary(contract_id, record=record))


def data_dictionary(contract_id: str, *, record: bool = False) -> DataDictionary:
    """A contract, or one record of a collection, as tables: fields, types, allowed values, rules and examples."""
    from medcontract.schemas import dictionary

    arguments.require_strings([contract_id])
    return dictionary.data_dictionary(contract_id, record)


def export_schemas(
    folder: FileName, *contract_ids: str, draft: Draft = "2020-12", base_url: str | None = None
) -> SchemaExport:
    """Write the schemas of the given contracts, or of all, to a folder, with an index.

    With `base_url`, each `$id` is a URL below it, instead of a URN.
    """
    from medcontract.schemas.files import export

    arguments.require_strings(contract_ids)
    arguments.require_draft(draft)
    return export(folder, contract_ids, draft, base_url)


def check_schemas(folder: FileName, *, base_url: str | None = None) -> SchemaCheck:
    """Check that the schemas in a folder are valid and up to date. The result is truthy if they are."""
    from medcontract.schemas.files import check

    return check(folder, base_url)


def diff_schemas(old: FileName, new: FileName, *, record: bool = False) -> SchemaDiff:
    """Compare two schema files, two folders of them, or ids of current contracts.

    The result is truthy if no change is breaking. With `record`, an id means the schema of one record.
    """
    from medcontract.schemas.files import diff

    return diff(old, new, record)


# --- challenges ---------------------------------------------------------------------------------------------------


def check_challenge(
    file: FileName | bytes,
    *,
    name: str | None = None,
    max_problems: int = MAX_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
) -> Validation:
    """Check a challenge file, given as a path or as bytes. Problems are returned, not raised."""
    from medcontract.challenges.loading import check_file
    from medcontract.reading.source import Source, open_source
    from medcontract.results.validation import Validation
    from medcontract.validation.report import ProblemCollector

    arguments.require_at_least(0, max_problems=max_problems, max_alike=max_alike)
    source = Source(file, name) if isinstance(file, bytes) else open_source(file)
    source.name = source.name if name is None else name
    report, _ = check_file(source, ProblemCollector(max_problems, max_alike, excerpts))
    return Validation.of((report,))


def new_challenge(
    folder: FileName,
    *,
    truth: FileName | None = None,
    classes: Sequence[str] = (),
    challenge_id: str | None = None,
    force: bool = False,
) -> tuple[Path, ...]:
    """Create a challenge file to start from in a folder, and example files in its folder `example`.

    Fields, key and first metrics are inferred from the table `truth`, if it is given. Its values are not copied, except
    for classes: those of the columns `classes`, and of columns with at most 12 values that all occur five times. The
    default of `challenge_id` is the name of the folder.
    Returns the paths, the challenge file first. Existing files are overwritten only with `force`. Raises `CallError`,
    and `InvalidData` if the table cannot be the truth of a challenge: the report says why.
    """
    from pathlib import Path

    from medcontract.atomic_write import write_new_files
    from medcontract.challenges.new.create import challenge_files
    from medcontract.reading.source import open_source

    addresses.require_local(folder, "cannot write", "write to a local folder, and copy it")
    arguments.require_strings([*classes, *([] if challenge_id is None else [challenge_id])])
    files = challenge_files(Path(folder), None if truth is None else open_source(truth), classes, challenge_id)
    *examples, challenge = write_new_files(folder, files, force)
    return (challenge, *examples)


def use_challenge(file: FileName) -> str:
    """Use a challenge for all calls in the current context (see `contextvars`). Returns its id, version and file.

    In Python, use the methods of `medcontract.Challenge` instead. Raises `CallError` and `InvalidData`.
    """
    from medcontract.challenges.loading import load
    from medcontract.contracts import registry

    scope = load(file)
    registry.use(scope)
    return f"{scope.track.id} v{scope.track.protocol.version} ({scope.name})"


# --- challenge platforms ------------------------------------------------------------------------------------------


def bundle(
    platform: str,
    truth: FileNames,
    out: FileName,
    *,
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    rank_by: str | None = None,
    title: str | None = None,
    force: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
) -> Bundle:
    """Write what a challenge platform ("codabench", "grand-challenge", "evalai") needs to score with medcontract.

    `truth`: the files or folders of the organizer, `out`: the folder to write to. The protocol is frozen, with
    `parameters` changed, or that of a file. Submissions are ranked by the headline of the track, or by `rank_by`. A
    file in `out` with another content is replaced only with `force`. The same arguments give the same bytes. Raises
    `MedcontractError` for a truth with errors.
    """
    return calls.bundle(platform, arguments.paths(truth), out, rank_by, title, force, CallOptions.of(locals()))


def platforms() -> tuple[str, ...]:
    """The challenge platforms that `bundle` supports."""
    from medcontract.platforms.settings import PLATFORMS

    return tuple(PLATFORMS)


# --- plugins ------------------------------------------------------------------------------------------------------


def load_plugin(name: str) -> None:
    """Load custom contracts, metrics and tracks from a module or a .py file. Raises `CallError`."""
    arguments.load_plugins(name)


def broken_plugins() -> tuple[str, ...]:
    """Messages about installed plugins that could not be loaded; empty before plugins are loaded."""
    import sys

    plugins = sys.modules.get("medcontract.plugins.loading")
    return tuple(plugins.broken) if plugins else ()


def contract_ids() -> tuple[str, ...]:
    """The ids of the built-in contracts, without loading plugins or models."""
    from medcontract.contracts import registry

    return tuple(registry.compiled())


def path_of(name: str) -> str:
    """The path in an argument that may be `CONTRACT=PATH`; of the archive, if it is that of a file in one."""
    from medcontract.addresses import split_member
    from medcontract.evaluation.files import split

    path, _ = split(name)
    member = split_member(path)
    return member[0] if member else path


def example_tracks() -> tuple[str, ...]:
    """The built-in tracks that `init` supports."""
    from medcontract.example_files import built_in_tracks

    return built_in_tracks()


def list_track_options() -> tuple[tuple[str, Option], ...]:
    """The options of tracks, each with the id of its track. They are arguments of functions and options of commands."""
    from medcontract.scoring import tracks

    return tuple((track.id, option) for track, option in tracks.options().values())
