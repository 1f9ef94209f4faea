"""The whole path on one screen: from files to reports, from files to validated values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from medcontract.definitions import registry
from medcontract.definitions.contract import Validated, vouch
from medcontract.errors import CallError, FileChanged, InvalidData, MedcontractError, NotRecognised, internal_error
from medcontract.evaluation.beside import NAMES_IMAGES, images_beside
from medcontract.judging.beside import Beside
from medcontract.judging.records import Progress
from medcontract.judging.report import make_report
from medcontract.judging.start import CONTAINERS, judge
from medcontract.problems import FileReport, Finding, Report
from medcontract.reading.folders import data_files
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source, unreadable
from medcontract.tally import Tally

if TYPE_CHECKING:
    from medcontract.evaluation.score import Score

KEEP = 10_000

Input = str | os.PathLike[str] | bytes
Folder = str | os.PathLike[str]


def validate(
    origin: Input,
    contract: str | None = None,
    *,
    schema: str | os.PathLike[str] | None = None,
    allow_refs: Iterable[Folder] = (),
    name: str | None = None,
    max_problems: int = KEEP,
    images: Folder | None = None,
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
    if contract is not None:
        registry.find(contract)
        if schema is not None:
            raise CallError("a schema and a contract were both given", "say which of the two is meant")
    beside = None if images is None else images_beside(images, jobs)
    judge_one = _judge_for(schema, beside, allow_refs)
    report = _still_there(judge_one, Source(origin, name), contract, Tally(max_problems), None)
    return _with_images(Report((report,)), beside).files[0]


def load(origin: Input, contract: str | None = None, *, name: str | None = None) -> Validated[Any]:
    """Read one file whole, as a validated value: the model of its contract.

    Raises `InvalidData`, which carries the report, when the file breaks its contract, and `CallError` when it
    cannot be judged. A collection without a header of its own (.jsonl, .csv) gives a tuple of records.
    """
    source = Source(origin, name)
    source.watched = True
    report = judge(source, contract, Tally(KEEP))
    if report.wrong_call:
        problem = report.problems[0]
        kind = NotRecognised if problem.code == "MC009" else CallError
        raise kind(f"{report.path}: {problem.message}", problem.hint)
    if not report.ok or report.contract is None:
        raise InvalidData(report)
    from medcontract.whole import read_whole

    value = read_whole(source, registry.find(report.contract))
    source.sha256()  # the same bytes were judged and read
    return vouch(value, report.contract)


def validate_files(
    files: Iterable[tuple[str | Source, str | None]],
    *,
    keep: int = KEEP,
    alike: int | None = None,
    excerpts: bool = False,
    limits: Limits | None = None,
    schema: str | os.PathLike[str] | None = None,
    allow_refs: Iterable[Folder] = (),
    progress: Progress | None = None,
    images: Folder | None = None,
    jobs: int | None = None,
    image_progress: Progress | None = None,
) -> Report:
    """Check several files, each with the contract that the caller names, or None; or all with the schema in a file.

    At most `keep` problems a file are kept, `alike` of each sort where that is given. `images` as for `validate`.
    A mistake of medcontract itself with one file is a problem of that file: the others are checked all the same.
    """
    beside = None if images is None else images_beside(images, jobs, image_progress)
    judge_one = _judge_for(schema, beside, allow_refs)
    report = Report(
        tuple(
            _judged(judge_one, _source(path, limits), contract_id, Tally(keep, alike, excerpts), progress)
            for path, contract_id in files
        )
    )
    return _with_images(report, beside)


def _source(path: str | Source, limits: Limits | None) -> Source:
    return path if isinstance(path, Source) else Source(path, limits=limits)


def _judged(
    judge_one: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """The report of one file, whatever happens to it: the reports of the other files must not be lost."""
    try:
        return _still_there(judge_one, source, contract_id, *settings)
    except MedcontractError:
        raise
    except OSError as error:  # after it was opened: the disk, or the file is gone
        return _only(unreadable(error).finding, source, contract_id, wrong_call=True)
    except Exception as error:  # noqa: BLE001  # whatever a file brings about
        return _only(Finding("MC029", internal_error(error)), source, contract_id)


def _still_there(
    judge_one: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any
) -> FileReport:
    """The report of one file; that it was taken away while it was read is a problem of it."""
    try:
        return judge_one(source, contract_id, *settings)
    except FileChanged as error:
        return _only(Finding("MC003", str(error).removeprefix(f"{source.name}: ")), source, contract_id)


def _only(finding: Finding, source: Source, contract_id: str | None, wrong_call: bool = False) -> FileReport:
    tally = Tally(1)
    tally.add(finding)
    report = make_report(source, contract_id, None, tally)
    return report._replace(wrong_call=wrong_call)


def _with_images(report: Report, beside: Beside | None) -> Report:
    """The report, unless a folder was given in vain: silence would look as if the images had been checked."""
    told = (file.contract in (None, NAMES_IMAGES) for file in report.files)
    if beside and not any(told):
        raise CallError(
            f"images were given, but no file of {NAMES_IMAGES}, which names them",
            f"if one of the files is, say so: {NAMES_IMAGES}=FILE",
        )
    return report


def score(
    *files: str | os.PathLike[str],
    parameters: Mapping[str, str] | None = None,
    header: Mapping[str, str] | None = None,
    jobs: int = 1,
    breakdown: bool = False,
    weights: Mapping[str, float | Decimal | str] | None = None,
    metric_name: str | None = None,
    renormalize_missing: bool | None = None,
    replace: bool = False,
    lexicon: str | os.PathLike[str] | None = None,
) -> Score:
    """Score a submission against its truth: all of their files, in any order; a folder stands for its data files.

    `parameters` changes parameters of the protocol, as decimals in text; `header` gives header fields that the
    containers lack; `jobs` is the number of worker processes for large files. Raises `CallError` when the files do
    not belong together. A submission that is not valid is no error: `Score.valid` says so, and `Score.reasons` why.

    `breakdown` explains each item (`Score.breakdown`, extraction) or sample (`detailed_results` of the result,
    benchmark). `weights`, `metric_name`, `renormalize_missing`, `replace` and `lexicon` are for benchmark
    (docs/benchmark.md).
    """
    from medcontract.evaluation.inputs import Settings
    from medcontract.evaluation.score import score_files
    from medcontract.scoring.combining import checked
    from medcontract.scoring.engine import Wishes

    names = [os.fspath(file) for file in files]
    given: list[tuple[str | Source, str | None]] = [(path, None) for path in walk(names)]
    changes = tuple((parameters or {}).items())
    wishes = Wishes(
        breakdown=breakdown, values=True, plugin_errors=True,
        weights=None if weights is None else checked(weights), metric_name=metric_name,
        renormalize=renormalize_missing, replace=replace, lexicon=None if lexicon is None else load_lexicon(lexicon),
    )  # fmt: skip
    settings = Settings(jobs=jobs, wishes=wishes)
    return score_files(given, found=found_in_folders(names), settings=settings, parameters=changes, header=header)


def load_lexicon(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Terms of one's own, as data. Raises `InvalidData` and `CallError`, as `load` does."""
    terms: dict[str, Any] = load(path, "benchmark/lexicon").value.model_dump(exclude_none=True)
    return terms


def found_in_folders(names: Iterable[str]) -> dict[str, str]:
    """The files that nobody named, and the folder that each stands in."""
    names = list(names)
    named = {os.path.realpath(name) for name in names if not os.path.isdir(name)}
    found = {
        path.name if isinstance(path, Source) else path: name
        for name in names
        if os.path.isdir(name)
        for path in walk([name])
    }
    return {path: name for path, name in found.items() if os.path.realpath(path) not in named}


def _judge_for(
    schema: str | os.PathLike[str] | None, beside: Beside | None, allow_refs: Iterable[Folder]
) -> Callable[..., FileReport]:
    """What judges a file: its contract, or a schema that is read once. Raises `CallError` for one that is none."""
    allowed = tuple(allow_refs)
    if allowed and schema is None:
        raise CallError("references were allowed, but there is no schema", "give it: --schema FILE (in Python: schema)")
    if schema is None:
        return partial(judge, beside=beside)
    if beside:
        raise CallError(f"images are checked for {NAMES_IMAGES}, not for a schema", "give the one or the other")
    from medcontract.foreign import Foreign, judge_foreign

    foreign = Foreign.load(schema, allowed)
    return lambda source, contract_id, tally, progress: judge_foreign(source, foreign, tally, progress)


def walk(paths: Iterable[str]) -> list[str | Source]:
    """Files as they are, folders as the data files in them, sorted. Raises `CallError` for a folder without any.

    What stands in a folder and is not read is there too, as a source that says why.
    """
    found: list[str | Source] = []
    for path in paths:
        if os.path.isdir(path):
            inside = data_files(path, CONTAINERS)
            if not inside:
                endings = ", ".join(CONTAINERS)
                raise CallError(f"{path}: no data files in this folder", f"looked for {endings}")
            found += [Source(file, refused=refused) if refused else file for file, refused in inside]
        else:
            found.append(path)
    return found
