"""The whole path on one screen: from files to reports, from files to validated values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from medcontract.definitions import registry
from medcontract.definitions.contract import Validated, vouch
from medcontract.errors import CallError, InvalidData, NotRecognised
from medcontract.judging.records import Progress
from medcontract.judging.start import CONTAINERS, judge
from medcontract.problems import FileReport, Report
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source
from medcontract.tally import Tally

KEEP = 10_000

Input = str | os.PathLike[str] | bytes


def validate(
    origin: Input,
    contract: str | None = None,
    *,
    schema: str | os.PathLike[str] | None = None,
    name: str | None = None,
    max_problems: int = KEEP,
) -> FileReport:
    """Check one file, given as a path or as bytes.

    `contract` is an id such as "triage/response"; without it the contract is recognised from the content.
    `schema` is a file with any JSON Schema, to check against instead.
    For bytes, `name` gives the container by its ending (".jsonl", ".csv"); without it a look at the text does.
    Problems are returned, not raised; a wrong `contract` raises `UnknownContract`, a wrong `schema` `CallError`.
    """
    if contract is not None:
        registry.find(contract)
        if schema is not None:
            raise CallError("a schema and a contract were both given", "say which of the two is meant")
    return _judge_for(schema)(Source(origin, name), contract, Tally(max_problems), None)


def load(origin: Input, contract: str | None = None, *, name: str | None = None) -> Validated[Any]:
    """Read one file whole, as a validated value: the model of its contract.

    Raises `InvalidData`, which carries the report, when the file breaks its contract, and `CallError` when it
    cannot be judged. A collection without a header of its own (.jsonl, .csv) gives a tuple of records.
    """
    source = Source(origin, name)
    report = judge(source, contract, Tally(KEEP))
    if report.wrong_call:
        problem = report.problems[0]
        kind = NotRecognised if problem.code == "MC009" else CallError
        raise kind(f"{report.path}: {problem.message}", problem.hint)
    if not report.ok or report.contract is None:
        raise InvalidData(report)
    from medcontract.whole import read_whole

    return vouch(read_whole(source, registry.find(report.contract)), report.contract)


def validate_files(
    files: Iterable[tuple[str, str | None]],
    *,
    keep: int = KEEP,
    alike: int | None = None,
    excerpts: bool = False,
    limits: Limits | None = None,
    schema: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check several files, each with the contract that the caller names, or None; or all with the schema in a file.

    At most `keep` problems a file are kept, `alike` of each sort where that is given.
    """
    judge_one = _judge_for(schema)
    return Report(
        tuple(
            judge_one(Source(path, limits=limits), contract_id, Tally(keep, alike, excerpts), progress)
            for path, contract_id in files
        )
    )


def _judge_for(schema: str | os.PathLike[str] | None) -> Callable[..., FileReport]:
    """What judges a file: its contract, or a schema that is read once. Raises `CallError` for one that is none."""
    if schema is None:
        return judge
    from medcontract.foreign import Foreign, judge_foreign

    foreign = Foreign.load(schema)
    return lambda source, contract_id, tally, progress: judge_foreign(source, foreign, tally, progress)


def walk(paths: Iterable[str]) -> list[str]:
    """Files as they are, folders as the data files in them, sorted. Raises `CallError` for a folder without any."""
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = sorted(_data_files(path))
            if not inside:
                endings = ", ".join(CONTAINERS)
                raise CallError(f"{path}: no data files in this folder", f"looked for {endings}")
            found += inside
        else:
            found.append(path)
    return found


def _data_files(folder: str) -> Iterable[str]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and os.path.splitext(name.lower().removesuffix(".gz"))[1] in CONTAINERS:
                path = os.path.join(root, name)
                if os.path.isfile(path):  # no pipes: nobody may ever write to them
                    yield path
