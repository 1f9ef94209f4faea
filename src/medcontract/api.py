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
- `progress`: a function that is called with the current step, the work done, and the total work
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from medcontract.errors import CallError, FileChanged, InvalidData, MedcontractError, NotRecognised, internal_error
from medcontract.extras import is_frame

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    import pandas as pd
    import pandera.pandas as pa

    from medcontract.bundles.writing import Bundle
    from medcontract.contracts.contract import Contract, Validated
    from medcontract.evaluation.arguments import GivenFiles
    from medcontract.evaluation.frozen import FrozenProtocol
    from medcontract.evaluation.inputs import Settings
    from medcontract.problems import Finding
    from medcontract.reading.limits import Limits
    from medcontract.reading.source import Source
    from medcontract.report_files import ReportFolder
    from medcontract.results.comparison import Comparison
    from medcontract.results.leaderboard import Leaderboard
    from medcontract.results.preflight import Preflight
    from medcontract.results.reference import (
        ContractList,
        Explanation,
        Normalization,
        Protocol,
        ProtocolCheck,
        ProtocolList,
    )
    from medcontract.results.schemas import Draft, SchemaCheck, SchemaDiff, SchemaExport
    from medcontract.results.score import Score
    from medcontract.results.validation import FileReport, Validation
    from medcontract.scoring.track import Option
    from medcontract.validation.referenced_files import ReferencedFiles

MAX_PROBLEMS = 10_000
MAX_SCORE_PROBLEMS = 100
_FIRST_KINDS = 20
"""In a ranking without reports: the kinds of problems of which the first is kept, to find the first error."""

FileName = str | os.PathLike[str]
Number: TypeAlias = "str | int | float | Decimal"
FileNames: TypeAlias = FileName | Iterable[FileName]
Progress = Callable[[str, int, int], None]


# --- files against their contracts ------------------------------------------------------------------------------------


def validate(
    file: FileName | bytes | pd.DataFrame,
    contract: str | None = None,
    *,
    schema: FileName | None = None,
    allow_refs: FileNames = (),
    name: str | None = None,
    max_problems: int = MAX_PROBLEMS,
    images: FileName | None = None,
    jobs: int | None = None,
) -> FileReport:
    """Check one file, given as a path or as bytes, or a pandas DataFrame as `validate_frame` does.

    The path of an archive means the only data file in it.

    `contract` is an id such as "triage/response"; without it, the contract is recognized from the content.
    `schema` is a JSON Schema file to check against instead. It may refer to files in its own folder and in the folders
    `allow_refs`.
    For bytes, the extension of `name` (".jsonl", ".csv") determines the container; without it, the content does.
    `images` is the folder of the images that a lesions/cases file refers to: they are checked in `jobs` processes (see
    `medcontract.images`), their problems are reported as problems of the file, and `report.images` counts them.
    Problems are returned, not raised. An unknown `contract` raises `UnknownContract`. An invalid `schema`, and images
    that no file refers to or that cannot be checked, raise `CallError`.
    """
    from medcontract.contracts import registry
    from medcontract.results.validation import Validation
    from medcontract.validation.problem_collector import ProblemCollector

    _require_at_least(0, max_problems=max_problems)
    _require_at_least(1, jobs=jobs)
    if contract is not None:
        _require_strings([contract])
        registry.find(contract)
        if schema is not None:
            raise CallError("both a schema and a contract are given", "pass only one of them")
    referenced = _referenced_files(images, jobs)
    validator = _validator_for(schema, referenced, allow_refs)
    if schema is not None and is_frame(file):
        raise CallError("a DataFrame is checked against a contract, not a schema", "pass contract=…")
    report = _check_unchanged(validator, _input(file, contract, name), contract, ProblemCollector(max_problems), None)
    return _require_image_references(Validation.of((report,)), referenced).files[0]


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
    progress: Progress | None = None,
) -> Validation:
    """Check files and folders, or a single one. `contract`, `schema`, `images` and `jobs` are those of `validate`.

    An internal error while checking a file is reported as a problem of that file; the others are still checked.
    `skipped` of the result lists files in folders that were not read, because they are not data files.
    """
    from medcontract.evaluation.arguments import given_files
    from medcontract.results.validation import SkippedFile, Validation
    from medcontract.validation.problem_collector import ProblemCollector

    _require_at_least(0, max_problems=max_problems, max_alike=max_alike)
    _require_at_least(1, jobs=jobs)
    _require_contract(contract)
    limits = _limits(max_record, max_unpacked)
    given = given_files(_paths(files), contract, schema, limits=limits)
    if not given.files:
        raise CallError("there are no files to check", "pass the paths of files or folders")
    referenced = _referenced_files(images, jobs, _stage(progress, "checking images"))
    validator = _validator_for(schema, referenced, allow_refs)
    checking = _stage(progress, "checking")
    reports = [
        _validated(
            validator, _source(path, limits), contract_id, ProblemCollector(max_problems, max_alike, excerpts), checking
        )
        for path, contract_id in given.files
    ]
    folder = None if images is None else os.path.join(os.path.realpath(images), "")
    skipped = tuple(
        SkippedFile(path=file.path, reason=file.reason)
        for file in given.skipped
        if folder is None or not os.path.realpath(file.path).startswith(folder)
    )
    return _require_image_references(Validation.of(tuple(reports), skipped), referenced)


def validate_frame(frame: pd.DataFrame, contract: str, *, max_problems: int = MAX_PROBLEMS) -> FileReport:
    """Check the rows of a DataFrame against a flat contract.

    The `record` of a problem is the position of its row, its `field` is the column. Missing values (None, NaN, NaT,
    NA) are null. The index is ignored. Needs the extra `pandas`.
    """
    from medcontract.validation import frames

    return frames.validate_frame(frame, contract, max_problems=max_problems)


def frame_schema(contract: str) -> pa.DataFrameSchema:
    """The pandera schema of a flat contract. Needs the extra `pandas`."""
    from medcontract.contracts import pandera_schemas

    return pandera_schemas.frame_schema(contract)


def load(file: FileName | bytes, contract: str | None = None, *, name: str | None = None) -> Validated[Any]:
    """Read a whole file as a validated value: an instance of the model of its contract.

    Raises `InvalidData`, which carries the report, if the file violates its contract, and `CallError` if it cannot be
    checked. The value of a collection without a header (.jsonl, .csv) is a tuple of records.
    """
    return _load(_input(file, contract, name), contract)


def _load(source: Source, contract: str | None) -> Validated[Any]:
    from medcontract.contracts import registry
    from medcontract.contracts.contract import mark_validated
    from medcontract.validation.dispatch import validate_source
    from medcontract.validation.problem_collector import ProblemCollector

    source.watched = True
    report = validate_source(source, contract, ProblemCollector(MAX_PROBLEMS))
    if report.wrong_call:
        problem = report.problems[0]
        kind = NotRecognised if problem.code == "MC009" else CallError
        raise kind(f"{report.path}: {problem.message}", problem.hint)
    if not report.ok or report.contract is None:
        raise InvalidData(report)
    from medcontract.validation.load import read_whole

    value = read_whole(source, registry.find(report.contract))
    source.sha256()  # the bytes that were read are those that were checked
    return mark_validated(value, report.contract)


# --- submissions ------------------------------------------------------------------------------------------------------


def score(
    *files: FileName | pd.DataFrame,
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    breakdown: bool = False,
    participant: bool = False,
    show_values: bool = False,
    plugin_errors: bool = True,
    jobs: int = 1,
    max_problems: int = MAX_SCORE_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    progress: Progress | None = None,
    **track_options: Any,
) -> Score:
    """Score a submission against its truth. `files` are the files of both, in any order.

    A file may be a pandas DataFrame with the columns of its contract, also by the name of the contract:
    `score(truth=frame, predictions=frame)`. Such a name, or the id of a contract, takes DataFrames only.

    Raises `CallError` if the files do not belong together. A submission that is not valid does not raise: its score is
    falsy, `valid` is False, and `reasons` explains why. `jobs` is the number of worker processes for large files.

    `breakdown` explains each item (in extraction, `breakdown` of the score) or sample (in benchmark,
    `detailed_results` of the result). Tracks have additional arguments, which are also options of the command:
    `weights` and `categories` (mappings), `metric_name`, `renormalize_missing`, `replace` and `lexicon` (a file) for
    benchmark, `t_min_ms` and `t_max_ms` for lesions, `match` for extraction.
    """
    from medcontract.evaluation.build_results import score_result
    from medcontract.evaluation.score import score_files

    _require_at_least(1, jobs=jobs)
    plugins = _load_plugins(plugins)
    frames, track_options = _named_frames(track_options)
    limits = _limits(max_record, max_unpacked)
    given = _given(files, frames, [*_files_in(track_options), protocol], contract, limits)
    options, changes = _options(score, track_options, parameters, limits)
    frozen = _frozen(protocol, changes, limits)
    settings = _settings(
        max_problems, max_alike, excerpts, max_record, max_unpacked, participant, plugins,
        breakdown=breakdown, values=show_values, plugin_errors=plugin_errors, options=options,
    )._replace(jobs=jobs, progress=_stage(progress, "scoring"), frozen=frozen)  # fmt: skip
    scored = score_files(
        given.files, found=given.found, skipped=given.skipped, settings=settings, parameters=changes,
        header=_mapping(header, "header"),
    )  # fmt: skip
    return score_result(scored)


def preflight(
    *files: FileName | pd.DataFrame,
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
    progress: Progress | None = None,
    **track_options: Any,
) -> Preflight:
    """Check a submission. More files, such as cases or the truth, allow more checks.

    Files may be DataFrames, as in `score`.

    A check passes, fails, or is skipped if files for it are missing; the result is truthy if no check fails. `images`
    is a folder, `jobs` the number of processes that check images. Options of tracks are those of `score`.
    """
    from medcontract.evaluation.preflight import preflight as run_checks

    _require_at_least(1, jobs=jobs)
    plugins = _load_plugins(plugins)
    frames, track_options = _named_frames(track_options)
    limits = _limits(max_record, max_unpacked)
    given = _given(files, frames, [*_files_in(track_options), protocol], contract, limits)
    options, changes = _options(preflight, track_options, parameters, limits)
    frozen = _frozen(protocol, changes, limits)
    referenced = _referenced_files(images, jobs, _stage(progress, "checking images"))
    settings = _settings(
        max_problems, max_alike, excerpts, max_record, max_unpacked, participant, plugins,
        values=show_values, plugin_errors=plugin_errors, options=options,
    )._replace(progress=_stage(progress, "checking"), frozen=frozen)  # fmt: skip
    return run_checks(
        given.files, found=given.found, skipped=given.skipped, images=referenced, settings=settings, parameters=changes,
        header=_mapping(header, "header"),
    )  # fmt: skip


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
    jobs: int = 1,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    progress: Progress | None = None,
    reports: FileName | None = None,
    report_as: tuple[str, Callable[[Score], str]] | None = None,
    max_alike: int | None = None,
    **track_options: Any,
) -> Leaderboard:
    """Score each submission (a folder, an archive or a file) against the truth (likewise), and rank them.

    Submissions that are not valid are last, with reasons; the result is truthy if at least one is valid. A file that is
    not a data file, such as a readme, is not a submission: it is ignored with a warning. `jobs` is the number of worker
    processes. `measured` is a folder with your own measurements of each submission (telemetry, model file, runs,
    evidence), as `NAME/` or `NAME.json`; those of the submissions are then ignored. Options of tracks are those of
    `score`.

    `reports` is a folder for one file per submission with its result, as `score` returns it: JSON by default, or what
    `report_as`, a file extension and a function of the score, makes of it. It is created if it does not exist. A file
    in it that was not written as a report, or was changed since, is never replaced: that raises `CallError` before
    anything is scored. `max_alike` limits the similar problems in each report.
    """
    from medcontract.evaluation.arguments import given_files, split_known
    from medcontract.evaluation.leaderboard import leaderboard as rank
    from medcontract.evaluation.submissions import measured_in, submissions_in

    _require_at_least(1, jobs=jobs)
    _require_contract(contract)
    if not submissions:
        raise CallError("there are no submissions to rank", "pass each submission, a folder or a file, after the truth")
    plugins = _load_plugins(plugins)
    limits = _limits(max_record, max_unpacked)
    options, changes = _options(leaderboard, track_options, parameters, limits)
    frozen = _frozen(protocol, changes, limits)
    keep = (_FIRST_KINDS, 1) if reports is None else (MAX_SCORE_PROBLEMS, max_alike)
    settings = _settings(
        *keep, False, max_record, max_unpacked, participant, plugins, plugin_errors=plugin_errors, options=options,
    )._replace(frozen=frozen)  # fmt: skip
    split = [split_known(each, contract) for each in _paths(submissions)]
    found = submissions_in(split, limits)
    referenced = None if measured is None else measured_in(os.fspath(measured), limits)
    extension, render = report_as or (".json", _as_json)
    given = given_files(_paths([truth]), contract, limits=limits)
    names = [submission.plain_name for submission in found.submissions]
    inputs = [split_known(truth)[0], *([] if measured is None else [measured])]
    paths = [path for path, _ in split]
    folder = None if reports is None else _report_folder(reports, names, extension, inputs, paths)
    board = rank(
        given.files, found.submissions, settings=settings, parameters=changes, header=_mapping(header, "header"),
        jobs=jobs, progress=_stage(progress, "scoring"), measured=referenced, notes=found.notes,
        feedback=None if folder is None else lambda number, score: folder.write(number, render(score)),
    )  # fmt: skip
    if folder is not None:
        folder.finish()
    return board


def _as_json(score: Score) -> str:
    return score.to_json()


def _report_folder(
    reports: FileName, names: Sequence[str], extension: str, inputs: Sequence[FileName], submissions: Sequence[FileName]
) -> ReportFolder:
    from medcontract.report_files import ReportFolder

    paths = [[os.fspath(path) for path in _paths(given)] for given in (inputs, submissions)]
    return ReportFolder(os.fspath(reports), names, extension, *paths)


def score_submission(
    submission: FileName,
    *,
    truth: Sequence[tuple[FileName, str]],
    protocol: FileName,
    ignored: Sequence[str] = (),
) -> tuple[Score, dict[str, float]]:
    """Score one submission that is not trusted: what the entry points of bundles call.

    `truth`: the files of the organizer, each with its contract. `ignored`: names of files in the submission's folder
    that a platform adds. Returns the score for participants, and its defined figures, the headline first. Raises
    `MedcontractError` if the truth or the protocol cannot be used, never because of the submission.
    """
    from medcontract.evaluation.single_submission import figures_of, find_submission, open_contest, score_alone

    settings = _settings(MAX_SCORE_PROBLEMS, None, False, None, None, True, (), options={})
    files = [(os.fspath(path), contract) for path, contract in truth]
    contest = open_contest(files, settings._replace(frozen=_read_frozen(protocol, ())))
    score = score_alone(contest, find_submission(os.fspath(submission), ignored))
    return score, figures_of(contest.track, score)


def compare(
    baseline: FileName | Score,
    rerun: FileName | Score,
    *,
    contract: str | None = None,
    protocol: FileName | Protocol | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
) -> Comparison:
    """Compare two scores: results of `score`, or files written by `medcontract score --format json`.

    `contract` can only be "medcontract/score". Raises `CallError`, with the exact difference, if they are not
    comparable, or were not made under `protocol`.
    """
    from medcontract.evaluation import compare as comparing
    from medcontract.evaluation.arguments import stdin_once

    limits = _limits(max_record, max_unpacked)
    both = [_path_of_contract(each, _SCORE, contract) for each in (baseline, rerun)]
    stdin_once([*both, protocol])
    names = [_shown_name(each) for each in both]
    return comparing.compare(
        _validated_score(both[0], limits), _validated_score(both[1], limits),
        [name for name in names if name is not None], _frozen(protocol, limits=limits),
    )  # fmt: skip


_SCORE = "medcontract/score"


def _path_of_contract(given: Any, wanted: str, contract: str | None = None) -> Any:
    """The path of a file that can have one contract only, which may be specified. Other values are unchanged."""
    from medcontract.evaluation.arguments import split_known

    _require_contract(contract)
    if not isinstance(given, str | os.PathLike):
        return given
    path, specified = split_known(given, contract)
    if specified not in (None, wanted):
        raise CallError(f"{path}: expected a file of {wanted}, not of {specified}")
    return path


def _shown_name(given: FileName | Score) -> str | None:
    if not isinstance(given, str | os.PathLike):
        return None
    return "standard input" if given == "-" else os.path.basename(given)


def _validated_score(given: FileName | Score, limits: Limits) -> Validated[Any]:
    """Load a score. Raises `CallError` if the file is a valid file of another contract."""
    if not isinstance(given, str | os.PathLike):
        from medcontract.results.score import Score

        if not isinstance(given, Score):
            raise CallError(f"expected a path or a result of score, got {type(given).__name__}")
        return load(given.to_json().encode(), _SCORE, name="score.json")
    try:
        return _load(_source(os.fspath(given), limits), _SCORE)
    except InvalidData:
        other = validate(given).contract if given != "-" else None
        if other in (None, _SCORE):
            raise
        raise CallError(
            f"{os.fspath(given)}: expected a score, got {other}",
            "pass the output of medcontract score --format json --out FILE",
        ) from None


# --- reference ----------------------------------------------------------------------------------------------------


def normalize(*texts: str) -> Normalization:
    """Normalize texts, step by step. Two texts are equal if their normalized or their tight forms are equal."""
    from medcontract.normalizers.text import steps, tight
    from medcontract.results.reference import Normalization, NormalizationStep, NormalizedText

    _require_strings(texts)

    def normalized(text: str) -> NormalizedText:
        applied = tuple(NormalizationStep(step=step.name, text=step.text, _about=step.about) for step in steps(text))
        return NormalizedText(text=text, normalized=applied[-1].text, tight=tight(text), steps=applied)

    return Normalization(texts=tuple(map(normalized, texts)))


def explain(*codes: str) -> Explanation:
    """Explain problem codes such as "MC104", with an example of the mistake and its fix; all codes if none is given."""
    from medcontract.catalog import CATALOGUE
    from medcontract.contracts.suggestions import did_you_mean
    from medcontract.results.reference import ExplainedCode, Explanation

    _require_strings(codes)
    wanted = []
    for code in codes:
        name = code.upper() if code.upper().startswith("MC") else f"MC{code}"
        if name not in CATALOGUE:
            raise CallError(f"unknown problem code '{code}'", did_you_mean(name, CATALOGUE))
        wanted.append(name)
    found = (ExplainedCode(**CATALOGUE[name]._asdict()) for name in wanted or CATALOGUE)
    return Explanation(codes=tuple(found), _all=not codes)


def init(track: str, folder: FileName, *, force: bool = False) -> tuple[Path, ...]:
    """Create a small, valid set of example files of a track in a folder. Returns their paths."""
    from pathlib import Path

    from medcontract.example_files import copy_examples

    return copy_examples(track, Path(folder), force)


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

    _require_strings([contract_id])
    return registry.contract(contract_id)


def list_protocols() -> ProtocolList:
    """The protocols of all tracks, with version and fingerprint."""
    from medcontract.results.reference import ProtocolInfo, ProtocolList
    from medcontract.scoring import tracks

    found = (track.protocol for track in tracks.every())
    return ProtocolList(
        protocols=tuple(ProtocolInfo(id=p.id, version=p.version, fingerprint=p.fingerprint) for p in found)
    )


def get_protocol(track: str, *, parameters: Mapping[str, Number] | None = None) -> Protocol:
    """The protocol of a track: its parameters with their sources, and the formulas in words."""
    from medcontract.evaluation.freeze import document
    from medcontract.evaluation.score import changed_protocol
    from medcontract.scoring import tracks

    found = tracks.track(track)
    return document(found, changed_protocol(found, _changes(parameters)))


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
    from medcontract.evaluation.arguments import given_files
    from medcontract.evaluation.freeze import freeze
    from medcontract.scoring import tracks

    _require_protocol_options(track_options)
    _require_contract(contract)
    given = given_files(_paths(truth), contract, others=_files_in(track_options)).files
    limits = _limits(max_record, max_unpacked)
    options, changes = _options(freeze_protocol, track_options, parameters, limits)
    settings = _settings(1, None, False, max_record, max_unpacked, False, (), options=options)
    return freeze(tracks.track(track), changes, given, settings, note)


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
    from medcontract.evaluation.freeze import check

    _require_protocol_options(track_options)
    limits = _limits(max_record, max_unpacked)
    options, changes = _options(check_protocol, track_options, None, limits)
    file = _path_of_contract(protocol, _PROTOCOL, contract)
    return check(_read_frozen(file, changes, limits), _settings(1, None, False, None, None, False, (), options=options))


# --- published schemas --------------------------------------------------------------------------------------------


def json_schema(contract_id: str, *, record: bool = False, draft: Draft = "2020-12") -> dict[str, Any]:
    """The JSON Schema of a contract, or of one record of a collection."""
    from copy import deepcopy

    from medcontract.schemas.files import schema_of

    _require_strings([contract_id])
    _require_draft(draft)
    return deepcopy(schema_of(contract_id, record, draft))


def export_schemas(
    folder: FileName, *contract_ids: str, draft: Draft = "2020-12", base_url: str | None = None
) -> SchemaExport:
    """Write the schemas of the given contracts, or of all, to a folder, with an index.

    With `base_url`, each `$id` is a URL below it, instead of a URN.
    """
    from medcontract.schemas.files import export

    _require_strings(contract_ids)
    _require_draft(draft)
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
    from pathlib import Path

    from medcontract.bundles.plan import make_plan
    from medcontract.bundles.writing import refuse_inputs, require_platform, write_bundle
    from medcontract.evaluation.arguments import given_files, split_known
    from medcontract.evaluation.freeze import freeze
    from medcontract.evaluation.single_submission import open_contest, parameters_for

    require_platform(platform)
    _require_contract(contract)
    paths = _paths(truth)
    if not paths:
        raise CallError("there is no truth", "pass its files with --truth FILE")
    if "-" in [split_known(path)[0] for path in paths]:
        raise CallError("a bundle needs files, not standard input", "save the truth to a file")
    refuse_inputs(Path(out), [split_known(path)[0] for path in paths])
    limits = _limits(max_record, max_unpacked)
    changes = _changes(parameters)
    frozen = _frozen(protocol, changes, limits)
    settings = _settings(MAX_SCORE_PROBLEMS, None, False, max_record, max_unpacked, False, (), options={})
    given = given_files(paths, contract, others=[protocol], limits=limits)
    contest = open_contest(given.files, settings._replace(frozen=frozen), changes)
    if protocol is None:
        protocol = freeze(contest.track, parameters_for(contest), (), settings)
    plan = make_plan(
        platform, contest, protocol=_protocol_bytes(protocol), rank_by=rank_by, title=title, challenge=None
    )
    return write_bundle(plan, Path(out), force)


def _protocol_bytes(protocol: FileName | Protocol) -> bytes:
    if isinstance(protocol, str | os.PathLike):
        return _source(_path_of_contract(protocol, _PROTOCOL), None).content()
    return f"{protocol.to_json()}\n".encode()


def platforms() -> tuple[str, ...]:
    """The challenge platforms that `bundle` supports."""
    from medcontract.bundles.writing import PLATFORMS

    return tuple(PLATFORMS)


# --- plugins ------------------------------------------------------------------------------------------------------


def load_plugin(name: str) -> None:
    """Load custom contracts, metrics and tracks from a module or a .py file. Raises `CallError`."""
    from medcontract.scoring import tracks

    tracks.load_plugin(name)


def broken_plugins() -> tuple[str, ...]:
    """Messages about installed plugins that could not be loaded; empty before plugins are loaded."""
    import sys

    plugins = sys.modules.get("medcontract.contracts.plugins")
    return tuple(plugins.broken) if plugins else ()


def contract_ids() -> tuple[str, ...]:
    """The ids of the built-in contracts, without loading plugins or models."""
    from medcontract.contracts import registry

    return tuple(registry.compiled())


def path_of(name: str) -> str:
    """The path in an argument that may be `CONTRACT=PATH`; of the archive, if it is that of a file in one."""
    from medcontract.evaluation.arguments import split
    from medcontract.reading.archive_paths import split_member

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


def write_file(text: str, path: FileName) -> None:
    """Write a text to a file atomically. Raises `CallError`."""
    from medcontract import atomic_write

    atomic_write.write_file(text, path)


# --- helpers ----------------------------------------------------------------------------------------------------


def _paths(given: Any) -> tuple[FileName, ...]:
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


def _mapping(given: Mapping[str, Any] | None, argument: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise CallError(f"'{argument}' must be a mapping, not {type(given).__name__}")
    return dict(given or {})


def _require_strings(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            hint = "pass each string as a separate argument" if isinstance(value, list | tuple) else None
            raise CallError(f"expected a string, got {type(value).__name__}", hint)


def _require_contract(contract: str | None) -> None:
    if contract is not None:
        _require_strings([contract])


def _require_at_least(minimum: int, **numbers: Any) -> None:
    from numbers import Integral

    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise CallError(f"'{name}' must be an integer, not {type(number).__name__}")
        if number < minimum:
            raise CallError(f"'{name}' must be at least {minimum}, not {number}")


def _require_draft(draft: str) -> None:
    from medcontract.schemas.publishing import DRAFTS

    if draft not in DRAFTS:
        raise CallError(f"unknown draft '{draft}'", f"use one of: {', '.join(DRAFTS)}")


def _referenced_files(
    images: FileName | None, jobs: int | None, progress: Callable[[int, int], None] | None = None
) -> ReferencedFiles | None:
    if images is None:
        return None
    from medcontract.evaluation.image_refs import images_named_by

    return images_named_by(images, jobs, progress)


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


def _input(file: FileName | bytes | pd.DataFrame, contract: str | None, name: str | None) -> Source:
    from medcontract.evaluation.arguments import single_file
    from medcontract.reading.source import Source

    if isinstance(file, bytes):
        return Source(file, name)
    if not is_frame(file):
        source = single_file(cast("FileName", file))
        source.name = source.name if name is None else name
        return source
    from medcontract.validation.frames import frame_source

    return frame_source(cast("pd.DataFrame", file), contract, name)


def _named_frames(given: Mapping[str, Any]) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """The DataFrames among the arguments that have the name of a contract, and the other arguments."""
    from medcontract.evaluation.arguments import contracts_named

    frames = {name: value for name, value in given.items() if is_frame(value) and contracts_named(name)}
    return frames, {name: value for name, value in given.items() if name not in frames}


def _given(
    files: Iterable[FileName | pd.DataFrame],
    named: Mapping[str, pd.DataFrame],
    others: Iterable[object],
    contract: str | None,
    limits: Limits,
) -> GivenFiles:
    """The files and DataFrames of a call."""
    from medcontract.evaluation.arguments import given_files, given_frames

    _require_contract(contract)
    files = list(files)
    given = given_files(_paths(file for file in files if not is_frame(file)), contract, others=others, limits=limits)
    frames = [cast("pd.DataFrame", file) for file in files if is_frame(file)]
    return given._replace(files=[*given.files, *given_frames(frames, named)]) if frames or named else given


def _source(path: str | Source, limits: Limits | None) -> Source:
    from medcontract.reading.archive_paths import open_source
    from medcontract.reading.source import Source

    return path if isinstance(path, Source) else open_source(path, limits)


def _validated(
    validator: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """Check one file. Unexpected errors become problems, so that the reports of other files are not lost."""
    from medcontract.problems import Finding
    from medcontract.reading.source import unreadable

    try:
        return _check_unchanged(validator, source, contract_id, *settings)
    except MedcontractError:
        raise
    except OSError as error:  # after it was opened, such as a disk error
        return _only(unreadable(error).finding, source, contract_id, wrong_call=True)
    except Exception as error:  # noqa: BLE001  # any bug
        return _only(Finding("MC029", internal_error(error)), source, contract_id)


def _check_unchanged(
    validator: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """Check one file. It is a problem of the file if it changes while it is read."""
    from medcontract.problems import Finding

    try:
        return validator(source, contract_id, *settings)
    except FileChanged as error:
        return _only(Finding("MC003", str(error).removeprefix(f"{source.name}: ")), source, contract_id)


def _only(finding: Finding, source: Source, contract_id: str | None, wrong_call: bool = False) -> FileReport:
    from medcontract.validation.problem_collector import ProblemCollector
    from medcontract.validation.report import make_report

    collector = ProblemCollector(1)
    collector.add(finding)
    return make_report(source, contract_id, None, collector, wrong_call)


def _validator_for(
    schema: FileName | None, referenced: ReferencedFiles | None, allow_refs: FileNames
) -> Callable[..., FileReport]:
    """The function that checks files, by contract or by schema. Raises `CallError` if the schema is not valid."""
    allowed = _paths(allow_refs)
    if allowed and schema is None:
        raise CallError("references are allowed, but no schema is given", "pass it with --schema FILE")
    if schema is None:
        from medcontract.validation.dispatch import validate_source

        return partial(validate_source, referenced=referenced)
    if referenced is not None:
        wanted = " or ".join(referenced.contracts())
        raise CallError(f"images are checked for {wanted}, not for a schema", "pass only one of them")
    from medcontract.jsonschema_files import SchemaChecker, validate_with_schema

    checker = SchemaChecker.load(schema, allowed)
    return lambda source, contract_id, collector, progress: validate_with_schema(source, checker, collector, progress)


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, name)


def _limits(max_record: int | None, max_unpacked: int | None) -> Any:
    from medcontract.reading.limits import Limits

    _require_at_least(1, max_record=max_record, max_unpacked=max_unpacked)
    return Limits(*(given or default for given, default in zip((max_record, max_unpacked), Limits(), strict=True)))


def _changes(parameters: Mapping[str, Number] | None) -> tuple[tuple[str, str], ...]:
    """Parameters as exact strings."""
    return tuple((name, _exact(name, value)) for name, value in _mapping(parameters, "parameters").items())


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


_PROTOCOL = "medcontract/protocol"


def _frozen(
    protocol: FileName | Protocol | None, changes: Sequence[tuple[str, str]] = (), limits: Limits | None = None
) -> FrozenProtocol | None:
    return None if protocol is None else _read_frozen(protocol, changes, limits)


def _read_frozen(
    protocol: FileName | Protocol, changes: Sequence[tuple[str, str]], limits: Limits | None = None
) -> FrozenProtocol:
    """A frozen protocol. Raises `InvalidData` and `CallError`, as `load` does, and for a call that changes it."""
    from medcontract.evaluation.frozen import FrozenProtocol, check_not_changed

    if isinstance(protocol, str | os.PathLike):
        loaded = _load(_source(_path_of_contract(protocol, _PROTOCOL), limits), _PROTOCOL)
    else:
        from medcontract.results.reference import Protocol

        if not isinstance(protocol, Protocol):
            raise CallError(f"expected a path or a result of freeze_protocol, got {type(protocol).__name__}")
        loaded = load(protocol.to_json().encode(), _PROTOCOL, name="protocol.json")
    frozen = FrozenProtocol.of(loaded.value.model_dump())
    check_not_changed(frozen, changes)
    return frozen


def _load_plugins(names: str | Iterable[str]) -> tuple[str, ...]:
    """Load plugins, given as a name or several. Returns their names."""
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        load_plugin(name)
    return names


def _settings(
    max_problems: int, max_alike: int | None, excerpts: bool, max_record: int | None, max_unpacked: int | None,
    participant: bool, plugins: Sequence[str], *, breakdown: bool = False, values: bool = False,
    plugin_errors: bool = False, options: Mapping[str, Any],
) -> Settings:  # fmt: skip
    """The settings for reading and scoring files."""
    _require_at_least(0, max_problems=max_problems, max_alike=max_alike)
    from medcontract.evaluation.inputs import Settings
    from medcontract.scoring.scorer import ScoringOptions

    return Settings(
        keep=min(max_problems, MAX_SCORE_PROBLEMS), alike=max_alike, excerpts=excerpts,
        limits=_limits(max_record, max_unpacked), participant=participant,
        scoring=ScoringOptions(
            breakdown=breakdown, values=values, plugin_errors=plugin_errors and not participant, options=options,
            plugins=tuple(plugins),
        ),
    )  # fmt: skip


def _files_in(track_options: Mapping[str, Any]) -> list[Any]:
    """The given options of tracks whose values are files."""
    known = {option.name: option for _, option in list_track_options()} if track_options else {}
    return [value for name, value in track_options.items() if name in known and known[name].contract]


def _options(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    parameters: Mapping[str, Number] | None,
    limits: Limits | None = None,
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Parse the options of tracks. Returns them, and the parameters including those set by options."""
    changed = _mapping(parameters, "parameters")
    found: dict[str, Any] = {}
    known = {option.name: option for _, option in list_track_options()} if given else {}
    for name in given:
        if name not in known:
            raise _unknown_option(name, {*known, *(function.__kwdefaults__ or {})})
    for name, option in known.items():
        value = given.get(name)
        if value is None or (option.sets and not value):
            continue
        if not option.parameter:
            found[name] = _parsed(option, value, limits)
        elif name in changed:
            raise CallError(f"'{name}' is given twice, as --parameter {name}=… and as {option.on_command_line}")
        else:
            changed[name] = value
    return found, _changes(changed)


def _require_protocol_options(given: Mapping[str, Any]) -> None:
    """Raise `CallError` for options of tracks that are not part of a protocol: freezing would ignore them."""
    for _, option in list_track_options() if given else ():
        if given.get(option.name) is not None and not option.in_protocol:
            raise CallError(
                f"{option.on_command_line} is not part of a protocol",
                "pass it to the commands that score, together with the frozen protocol",
            )


def _unknown_option(name: str, known: Iterable[str]) -> CallError:
    from medcontract.contracts.suggestions import did_you_mean

    return CallError(f"unknown option '{name}'", did_you_mean(name, sorted(known)))


def _parsed(option: Option, value: Any, limits: Limits | None) -> Any:
    """The value of an option of a track. Raises `InvalidData` or `CallError` for a file, like `load`."""
    if option.contract:
        file = _path_of_contract(value, option.contract)
        if not isinstance(file, str | os.PathLike | bytes):
            raise CallError(f"'{option.name}' must be a path, not {type(file).__name__}")
        if isinstance(file, bytes):
            loaded = load(file, option.contract)
        else:
            loaded = _load(_source(os.fspath(file), limits), option.contract)
        return loaded.value.model_dump(exclude_none=True)
    return option.parse(value) if option.parse else value
