"""The public functions. The command line calls these and the renderers, nothing deeper.

Files are paths; a folder stands for the data files in it, `"triage/response=out.json"` names the contract of a file,
and `"-"` is standard input. What is wrong in a file is returned; `CallError` is raised for a call that is wrong.

Some arguments are the same in several functions:

- `parameters` changes parameters of the protocol: numbers (a float means its shortest decimal) or texts, by name
- `protocol` is a frozen protocol, a file or the result of `freeze_protocol`: its parameters are used, and the score is
  refused if its versions or its truth differ
- `header` gives header fields that the containers lack, by name
- `participant` keeps only what participants may see
- `show_values` allows texts of records in the result itself: terms of a breakdown
- `plugin_errors` allows the messages of exceptions that your own metrics raise, which may quote a record
- `max_problems` is how many problems are kept of each file, `max_alike` how many of the same sort; all are counted
- `excerpts` keeps the source lines of problems, for the text format
- `max_record` and `max_unpacked` are limits in bytes
- `plugins` are modules with contracts or metrics of your own, loaded in worker processes too
- `progress` is called with what is being done, how much is done, and how much there is
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from medcontract.errors import CallError, FileChanged, InvalidData, MedcontractError, NotRecognised, internal_error

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    import pandas as pd
    import pandera.pandas as pa

    from medcontract.contracts.contract import Contract, Validated
    from medcontract.evaluation.frozen import FrozenProtocol
    from medcontract.evaluation.inputs import Settings
    from medcontract.problems import Finding
    from medcontract.reading.limits import Limits
    from medcontract.reading.source import Source
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

FileName = str | os.PathLike[str]
Number: TypeAlias = "str | int | float | Decimal"
Progress = Callable[[str, int, int], None]


# --- files against their contracts ------------------------------------------------------------------------------------


def validate(
    file: FileName | bytes,
    contract: str | None = None,
    *,
    schema: FileName | None = None,
    allow_refs: Iterable[FileName] = (),
    name: str | None = None,
    max_problems: int = MAX_PROBLEMS,
    images: FileName | None = None,
    jobs: int | None = None,
) -> FileReport:
    """Check one file, given as a path or as bytes.

    `contract` is an id such as "triage/response"; without it the contract is recognised from the content.
    `schema` is a file with any JSON Schema, to check against instead; it may refer to files below its own folder, and
    below the folders `allow_refs`.
    For bytes, `name` gives the container by its ending (".jsonl", ".csv"); without it a look at the text does.
    `images` is the folder of the images that a file of lesions/cases names: they are checked too, in `jobs` processes
    (see `medcontract.images`), and their problems are problems of the file; `report.images` counts them.
    Problems are returned, not raised; a wrong `contract` raises `UnknownContract`, a wrong `schema`, and images that
    nothing names or that cannot be checked, raise `CallError`.
    """
    from medcontract.contracts import registry
    from medcontract.reading.source import Source
    from medcontract.results.validation import Validation
    from medcontract.validation.problem_collector import ProblemCollector

    if contract is not None:
        registry.find(contract)
        if schema is not None:
            raise CallError("a schema and a contract were both given", "say which of the two is meant")
    referenced = _beside(images, jobs)
    validator = _validator_for(schema, referenced, allow_refs)
    report = _still_there(validator, Source(file, name), contract, ProblemCollector(max_problems), None)
    return _images_were_named(Validation.of((report,)), referenced).files[0]


def validate_files(
    files: Iterable[FileName],
    contract: str | None = None,
    *,
    schema: FileName | None = None,
    allow_refs: Iterable[FileName] = (),
    max_problems: int = MAX_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    images: FileName | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Check several files and folders. `contract`, `schema`, `images` and `jobs` are as for `validate`.

    A mistake of medcontract itself with one file is a problem of that file: the others are checked all the same.
    """
    from medcontract.evaluation.arguments import given_files
    from medcontract.results.validation import Validation
    from medcontract.validation.problem_collector import ProblemCollector

    given = given_files(files, contract, schema).files
    limits = _limits(max_record, max_unpacked)
    referenced = _beside(images, jobs, _stage(progress, "checking images"))
    validator = _validator_for(schema, referenced, allow_refs)
    checking = _stage(progress, "checking")
    reports = [
        _validated(
            validator, _source(path, limits), contract_id, ProblemCollector(max_problems, max_alike, excerpts), checking
        )
        for path, contract_id in given
    ]
    return _images_were_named(Validation.of(tuple(reports)), referenced)


def validate_frame(frame: pd.DataFrame, contract: str, *, max_problems: int = MAX_PROBLEMS) -> FileReport:
    """Check the rows of a DataFrame against a flat contract.

    `record` of a problem is the position of its row, `field` its column. Missing values (None, NaN, NaT, NA) are
    null. The index is ignored.
    """
    from medcontract.validation import frames

    return frames.validate_frame(frame, contract, max_problems=max_problems)


def frame_schema(contract: str) -> pa.DataFrameSchema:
    """The pandera schema of a flat contract's table."""
    from medcontract.contracts import pandera_schemas

    return pandera_schemas.frame_schema(contract)


def load(file: FileName | bytes, contract: str | None = None, *, name: str | None = None) -> Validated[Any]:
    """Read one file whole, as a validated value: the model of its contract.

    Raises `InvalidData`, which carries the report, when the file breaks its contract, and `CallError` when it
    cannot be judged. A collection without a header of its own (.jsonl, .csv) gives a tuple of records.
    """
    from medcontract.contracts import registry
    from medcontract.contracts.contract import mark_validated
    from medcontract.reading.source import Source
    from medcontract.validation.dispatch import validate_source
    from medcontract.validation.problem_collector import ProblemCollector

    source = Source(file, name)
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
    source.sha256()  # the same bytes were judged and read
    return mark_validated(value, report.contract)


# --- submissions ------------------------------------------------------------------------------------------------------


def score(
    *files: FileName,
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
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
    **track_options: Any,
) -> Score:
    """Score a submission against its truth: all of their files, in any order.

    Raises `CallError` when the files do not belong together. A submission that is not valid is no error: the score
    is false, `valid` says so, and `reasons` why. `jobs` is the number of worker processes for large files.

    `breakdown` explains each item (`breakdown` of the score, extraction) or sample (`detailed_results` of the result,
    benchmark). Tracks have arguments of their own, which are the options of the command: for benchmark `weights` (a
    mapping), `metric_name`, `renormalize_missing`, `replace` and `lexicon` (a file), for lesions `t_min_ms` and
    `t_max_ms`, for extraction `match`.
    """
    from medcontract.evaluation.arguments import given_files
    from medcontract.evaluation.build_results import score_result
    from medcontract.evaluation.score import score_files

    _load_plugins(plugins)
    given = given_files(files, others=[*_files_in(track_options), protocol])
    options, changes = _options(score, track_options, parameters)
    frozen = _frozen(protocol, changes)
    settings = _settings(
        max_problems, max_alike, excerpts, max_record, max_unpacked, participant, plugins,
        breakdown=breakdown, values=show_values, plugin_errors=plugin_errors, options=options,
    )._replace(jobs=jobs, progress=_stage(progress, "scoring"), frozen=frozen)  # fmt: skip
    scored = score_files(given.files, found=given.found, settings=settings, parameters=changes, header=header)
    return score_result(scored)


def preflight(
    *files: FileName,
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
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
    **track_options: Any,
) -> Preflight:
    """Run every check that the files allow: a submission, and whatever else is there.

    Each check is passed, failed, or skipped with what is missing; the preflight is true when none failed. `images` is
    a folder, `jobs` the number of processes that check images. Options of a track are those of `score`.
    """
    from medcontract.evaluation.arguments import given_files
    from medcontract.evaluation.preflight import preflight as run_checks

    _load_plugins(plugins)
    given = given_files(files, others=[*_files_in(track_options), protocol])
    options, changes = _options(preflight, track_options, parameters)
    frozen = _frozen(protocol, changes)
    referenced = _beside(images, jobs, _stage(progress, "checking images"))
    settings = _settings(
        max_problems, max_alike, excerpts, max_record, max_unpacked, participant, plugins,
        values=show_values, plugin_errors=plugin_errors, options=options,
    )._replace(progress=_stage(progress, "checking"), frozen=frozen)  # fmt: skip
    return run_checks(
        given.files, found=given.found, images=referenced, settings=settings, parameters=changes, header=header,
    )  # fmt: skip


def leaderboard(
    truth: FileName,
    *submissions: FileName,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    measured: FileName | None = None,
    participant: bool = False,
    plugin_errors: bool = True,
    jobs: int = 1,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
    **track_options: Any,
) -> Leaderboard:
    """Score each submission (a folder, or a file by itself) against the truth (a file or a folder), and rank them.

    Submissions that are not valid come last, with reasons; the leaderboard is true when at least one is valid. `jobs`
    is the number of worker processes. `measured` is a folder with what you measured of each submission (telemetry,
    model file, runs, evidence), as `NAME/` or `NAME.json`; what submissions say of themselves is then ignored.
    Options of a track are those of `score`.
    """
    from medcontract.evaluation.arguments import given_files, walk
    from medcontract.evaluation.leaderboard import leaderboard as rank
    from medcontract.evaluation.leaderboard import measured_in, submissions_in

    _load_plugins(plugins)
    options, changes = _options(leaderboard, track_options, parameters)
    frozen = _frozen(protocol, changes)
    settings = _settings(
        1, None, False, max_record, max_unpacked, participant, plugins, plugin_errors=plugin_errors, options=options,
    )._replace(frozen=frozen)  # fmt: skip
    found = submissions_in([os.fspath(each) for each in submissions], lambda path: walk([path]))
    referenced = None if measured is None else measured_in(os.fspath(measured), lambda path: walk([path]))
    return rank(
        given_files([truth]).files, found, settings=settings, parameters=changes, header=header,
        jobs=jobs, progress=_stage(progress, "scoring"), measured=referenced,
    )  # fmt: skip


def compare(
    baseline: FileName | Score, rerun: FileName | Score, *, protocol: FileName | Protocol | None = None
) -> Comparison:
    """What changed from one score to another: scores, or files that `medcontract score --format json` wrote.

    Raises `CallError`, with the exact difference, when the two are not comparable, or were not made under `protocol`.
    """
    from medcontract.evaluation import compare as comparing
    from medcontract.evaluation.arguments import stdin_once

    stdin_once([baseline, rerun, protocol])
    names = [_shown_name(each) for each in (baseline, rerun)]
    return comparing.compare(
        _validated_score(baseline), _validated_score(rerun), [name for name in names if name is not None],
        _frozen(protocol),
    )  # fmt: skip


def _shown_name(given: FileName | Score) -> str | None:
    if not isinstance(given, str | os.PathLike):
        return None
    return "standard input" if given == "-" else os.path.basename(given)


def _validated_score(given: FileName | Score) -> Validated[Any]:
    """Raises `CallError` for a valid file of something else."""
    if not isinstance(given, str | os.PathLike):
        return load(given.to_json().encode(), "medcontract/score", name="score.json")
    try:
        return load(given, "medcontract/score")
    except InvalidData:
        other = validate(given).contract if given != "-" else None
        if other in (None, "medcontract/score"):
            raise
        raise CallError(
            f"{os.fspath(given)}: this is {other}, not a score",
            "give what medcontract score --format json --out FILE wrote",
        ) from None


# --- reference ----------------------------------------------------------------------------------------------------


def normalize(*texts: str) -> Normalization:
    """The normalized form of each text, step by step, and its tight form: two texts are equal if one of these is."""
    from medcontract.normalizers.text import steps, tight
    from medcontract.results.reference import Normalization, NormalizationStep, NormalizedText

    def worked(text: str) -> NormalizedText:
        taken = tuple(NormalizationStep(step=step.name, text=step.text, _about=step.about) for step in steps(text))
        return NormalizedText(text=text, normalized=taken[-1].text, tight=tight(text), steps=taken)

    return Normalization(texts=tuple(map(worked, texts)))


def explain(*codes: str) -> Explanation:
    """What problem codes such as "MC104" mean, with a mistake and its fix. Without a code: all of them."""
    from medcontract.catalog import CATALOGUE
    from medcontract.contracts.suggestions import did_you_mean
    from medcontract.results.reference import ExplainedCode, Explanation

    wanted = []
    for code in codes:
        name = code.upper() if code.upper().startswith("MC") else f"MC{code}"
        if name not in CATALOGUE:
            raise CallError(f"no problem has the code '{code}'", did_you_mean(name, CATALOGUE))
        wanted.append(name)
    found = (ExplainedCode(**CATALOGUE[name]._asdict()) for name in wanted or CATALOGUE)
    return Explanation(codes=tuple(found), _all=not codes)


def init(track: str, folder: FileName, *, force: bool = False) -> tuple[Path, ...]:
    """Write a small, valid set of made-up files of a track into a folder, and return their paths."""
    from pathlib import Path

    from medcontract.example_files import copy_examples

    return copy_examples(track, Path(folder), force)


def list_contracts() -> ContractList:
    """All contracts, those of installed plugins included, sorted by id."""
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
    """The parameters of a track, the formulas in words, and where each number comes from."""
    from medcontract.evaluation.freeze import document
    from medcontract.evaluation.score import changed_protocol
    from medcontract.scoring import tracks

    found = tracks.track(track)
    return document(found, changed_protocol(found, _changes(parameters)))


def freeze_protocol(
    track: str,
    *,
    truth: Iterable[FileName] = (),
    parameters: Mapping[str, Number] | None = None,
    note: str | None = None,
    **track_options: Any,
) -> Protocol:
    """The protocol of a track with the versions of everything that changes a score, to be kept as a file.

    With `truth`, files or folders, only scores against truths with the same content are made under it. `note` says why
    it was frozen. Options of a track are those of `score`. Raises `MedcontractError` for a truth with errors.
    """
    from medcontract.evaluation.arguments import given_files
    from medcontract.evaluation.freeze import freeze
    from medcontract.scoring import tracks

    given = given_files(truth, others=_files_in(track_options)).files
    options, changes = _options(freeze_protocol, track_options, parameters)
    settings = _settings(1, None, False, None, None, False, (), options=options)
    return freeze(tracks.track(track), changes, given, settings, note)


def check_protocol(protocol: FileName | Protocol, **track_options: Any) -> ProtocolCheck:
    """Whether this medcontract scores under a frozen protocol, with every difference. True if it does.

    Options of a track are those of `score`: a custom lexicon that was frozen must be given again.
    """
    from medcontract.evaluation.freeze import check

    options, changes = _options(check_protocol, track_options, None)
    return check(_read_frozen(protocol, changes), _settings(1, None, False, None, None, False, (), options=options))


# --- published schemas --------------------------------------------------------------------------------------------


def json_schema(contract_id: str, *, record: bool = False, draft: Draft = "2020-12") -> dict[str, Any]:
    """The JSON Schema of a contract, or of one record of a collection."""
    from copy import deepcopy

    from medcontract.schemas.files import schema_of

    return deepcopy(schema_of(contract_id, record, draft))


def export_schemas(
    folder: FileName, *contract_ids: str, draft: Draft = "2020-12", base_url: str | None = None
) -> SchemaExport:
    """Write the schemas of these contracts, or of all, into a folder, with an index of them.

    `base_url` makes each `$id` the address of its file below that URL, instead of a URN.
    """
    from medcontract.schemas.files import export

    return export(folder, contract_ids, draft, base_url)


def check_schemas(folder: FileName, *, base_url: str | None = None) -> SchemaCheck:
    """Are the schemas in a folder those of today's contracts, and valid themselves? True when they are."""
    from medcontract.schemas.files import check

    return check(folder, base_url)


def diff_schemas(old: FileName, new: FileName, *, record: bool = False) -> SchemaDiff:
    """What changed, and whom it breaks: two files, two folders, or ids of contracts as they are today.

    True when it breaks no one. `record`: an id stands for the schema of one record.
    """
    from medcontract.schemas.files import diff

    return diff(old, new, record)


# --- plugins ------------------------------------------------------------------------------------------------------


def load_plugin(name: str) -> None:
    """Make contracts, metrics and tracks of your own known: a module, or a .py file. Raises `CallError`."""
    from medcontract.scoring import tracks

    tracks.load_plugin(name)


def broken_plugins() -> tuple[str, ...]:
    """Installed plugins that could not be loaded, and why; none before they are looked for."""
    import sys

    plugins = sys.modules.get("medcontract.contracts.plugins")
    return tuple(plugins.broken) if plugins else ()


def contract_ids() -> tuple[str, ...]:
    """The ids of the contracts that are known without loading plugins or models."""
    from medcontract.contracts import registry

    return tuple(registry.compiled())


def path_of(name: str) -> str:
    """The path in an argument that may be `CONTRACT=PATH`."""
    from medcontract.evaluation.arguments import split

    return split(name)[0]


def example_tracks() -> tuple[str, ...]:
    """The tracks that `init` knows without plugins."""
    from medcontract.example_files import shipped_tracks

    return shipped_tracks()


def list_track_options() -> tuple[tuple[str, Option], ...]:
    """What only some track knows, and the id of the track: arguments here, options on the command line."""
    from medcontract.scoring import tracks

    return tuple((track.id, option) for track, option in tracks.options().values())


def write_file(text: str, path: FileName) -> None:
    """Write a text to a file that is whole at any time: written beside, then renamed. Raises `CallError`."""
    from medcontract import atomic_write

    atomic_write.write_file(text, path)


# --- what these functions share -----------------------------------------------------------------------------------


def _beside(
    images: FileName | None, jobs: int | None, progress: Callable[[int, int], None] | None = None
) -> ReferencedFiles | None:
    if images is None:
        return None
    from medcontract.evaluation.image_refs import images_named_by

    return images_named_by(images, jobs, progress)


def _images_were_named(report: Validation, referenced: ReferencedFiles | None) -> Validation:
    """The report, unless a folder was given in vain: silence would look as if the images had been checked."""
    if referenced is None:
        return report
    if not any(file.contract is None or referenced.field(file.contract) for file in report.files):
        contracts = referenced.contracts()
        raise CallError(
            f"images were given, but no file of {' or '.join(contracts)}, which names them",
            f"if one of the files is, say so: {contracts[0]}=FILE",
        )
    return report


def _source(path: str | Source, limits: Limits | None) -> Source:
    from medcontract.reading.source import Source

    return path if isinstance(path, Source) else Source(path, limits=limits)


def _validated(
    validator: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """The report of one file, whatever happens to it: the reports of the other files must not be lost."""
    from medcontract.problems import Finding
    from medcontract.reading.source import unreadable

    try:
        return _still_there(validator, source, contract_id, *settings)
    except MedcontractError:
        raise
    except OSError as error:  # after it was opened: the disk, or the file is gone
        return _only(unreadable(error).finding, source, contract_id, wrong_call=True)
    except Exception as error:  # noqa: BLE001  # whatever a file brings about
        return _only(Finding("MC029", internal_error(error)), source, contract_id)


def _still_there(
    validator: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """The report of one file; that it was taken away while it was read is a problem of it."""
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
    schema: FileName | None, referenced: ReferencedFiles | None, allow_refs: Iterable[FileName]
) -> Callable[..., FileReport]:
    """What judges a file: its contract, or a schema that is read once. Raises `CallError` for one that is none."""
    allowed = tuple(allow_refs)
    if allowed and schema is None:
        raise CallError("references were allowed, but there is no schema", "give it: --schema FILE")
    if schema is None:
        from medcontract.validation.dispatch import validate_source

        return partial(validate_source, referenced=referenced)
    if referenced is not None:
        wanted = " or ".join(referenced.contracts())
        raise CallError(f"images are checked for {wanted}, not for a schema", "give the one or the other")
    from medcontract.jsonschema_files import SchemaChecker, validate_with_schema

    checker = SchemaChecker.load(schema, allowed)
    return lambda source, contract_id, collector, progress: validate_with_schema(source, checker, collector, progress)


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, name)


def _limits(max_record: int | None, max_unpacked: int | None) -> Any:
    from medcontract.reading.limits import Limits

    return Limits(*(given or default for given, default in zip((max_record, max_unpacked), Limits(), strict=True)))


def _changes(parameters: Mapping[str, Number] | None) -> tuple[tuple[str, str], ...]:
    """Parameters as texts that say exactly what is meant."""
    return tuple((name, _written(name, value)) for name, value in (parameters or {}).items())


def _written(name: str, value: Any) -> str:
    from decimal import Decimal
    from numbers import Integral, Real

    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Decimal | Real):
        raise CallError(f"'{name}' must be a number or a text, not {type(value).__name__}")
    if isinstance(value, Decimal):
        return str(value)
    return str(int(value)) if isinstance(value, Integral) else repr(float(value))


def _frozen(protocol: FileName | Protocol | None, changes: Sequence[tuple[str, str]] = ()) -> FrozenProtocol | None:
    return None if protocol is None else _read_frozen(protocol, changes)


def _read_frozen(protocol: FileName | Protocol, changes: Sequence[tuple[str, str]]) -> FrozenProtocol:
    """A frozen protocol. Raises `InvalidData` and `CallError`, as `load` does, and for a call that changes it."""
    from medcontract.evaluation.frozen import FrozenProtocol, check_not_changed

    contract = "medcontract/protocol"
    if isinstance(protocol, str | os.PathLike):
        loaded = load(protocol, contract)
    else:
        loaded = load(protocol.to_json().encode(), contract, name="protocol.json")
    frozen = FrozenProtocol.of(loaded.value.model_dump())
    check_not_changed(frozen, changes)
    return frozen


def _load_plugins(names: Iterable[str]) -> None:
    for name in names:
        load_plugin(name)


def _settings(
    max_problems: int, max_alike: int | None, excerpts: bool, max_record: int | None, max_unpacked: int | None,
    participant: bool, plugins: Sequence[str], *, breakdown: bool = False, values: bool = False,
    plugin_errors: bool = False, options: Mapping[str, Any],
) -> Settings:  # fmt: skip
    """How files are read for a score, and what is asked of the track."""
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
    """The options of a track that name a file."""
    known = {option.name: option for _, option in list_track_options()} if track_options else {}
    return [value for name, value in track_options.items() if name in known and known[name].contract]


def _options(
    function: Callable[..., Any], given: Mapping[str, Any], parameters: Mapping[str, Number] | None
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Options that only some track knows, parsed, and the parameters with those that options set."""
    changed = dict(parameters or {})
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
            found[name] = _parsed(option, value)
        elif name in changed:
            raise CallError(f"'{name}' was given twice: --parameter {name}=… and {option.on_command_line}")
        else:
            changed[name] = value
    return found, _changes(changed)


def _unknown_option(name: str, known: Iterable[str]) -> CallError:
    from medcontract.contracts.suggestions import did_you_mean

    return CallError(f"no track has an option '{name}'", did_you_mean(name, sorted(known)))


def _parsed(option: Option, value: Any) -> Any:
    """What an option of a track says. Raises `InvalidData` and `CallError` for a file, as `load` does."""
    if option.contract:
        return load(value, option.contract).value.model_dump(exclude_none=True)
    return option.parse(value) if option.parse else value
