"""The file arguments of a call: paths, `CONTRACT=PATH`, folders, standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from medcontract.addresses import Address, as_address, real_path
from medcontract.containers import BY_ENDING
from medcontract.contracts import registry
from medcontract.errors import CallError, NotRecognised
from medcontract.reading.archive_paths import is_archive, open_source
from medcontract.reading.exclude import Exclude
from medcontract.reading.source import STDIN, Source

if TYPE_CHECKING:
    import pandas as pd

    from medcontract.evaluation.unused_files import SkippedFile
    from medcontract.reading.folders import Listing
    from medcontract.reading.limits import Limits

FileName = str | os.PathLike[str]
_NAMED = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", re.DOTALL)


class GivenFiles(NamedTuple):
    """The files of a call, with folders and archives replaced by the data files in them."""

    files: list[tuple[str | Source, str | None]]
    """Paths, each with the contract given in the call."""
    found: dict[str, str]
    """The files that were found in a folder or archive, not named in the call, and the folder or archive of each."""
    skipped: tuple[SkippedFile, ...] = ()
    """The files in these folders that are not read, because of their names."""


class Expanded(NamedTuple):
    """A path of a call: a file, or the data files in a folder or an archive."""

    files: list[str | Source]
    """Entries of a folder that cannot be read are included, as a source with the reason."""
    skipped: tuple[SkippedFile, ...] = ()
    is_archive: bool = False


def given_files(
    names: Iterable[FileName],
    contract: str | None = None,
    schema: FileName | None = None,
    others: Iterable[object] = (),
    limits: Limits | None = None,
    exclude: Exclude | None = None,
) -> GivenFiles:
    """The files of a call. Raises `CallError` for an unknown contract, and for standard input without one.

    `others`: other files that the call reads. `limits`: for archives. `exclude`: files in folders that are not read.
    """
    wanted = matching([split(name, contract) for name in names])
    stdin_once([*(path for path, _ in wanted), schema, *others])
    for path, contract_id in wanted:
        if contract_id and schema:
            raise CallError("--schema and a contract cannot be used together", "pass one of the two")
        if contract_id:
            registry.find(contract_id)
        elif path == STDIN and not schema:
            raise CallError(
                "standard input needs a contract",
                "pass CONTRACT=- instead of -; for the ids see: medcontract schema list",
            )
    expanded = [(path, contract_id, expand(path, limits, exclude)) for path, contract_id in wanted]
    walked = [(path, contract_id, inside.files) for path, contract_id, inside in expanded]
    found = _found_in_folders(walked)
    named = {real_path(path) for path, _, files in walked if files == [path]}
    skipped = {file.path: file for _, _, inside in expanded for file in inside.skipped}
    return GivenFiles(
        files=[(inside, contract_id) for _, contract_id, paths in walked for inside in paths],
        found=found,
        skipped=tuple(file for file in skipped.values() if real_path(file.path) not in named),
    )


def given_frames(frames: Iterable[pd.DataFrame], named: Mapping[str, pd.DataFrame]) -> list[tuple[Source, str | None]]:
    """The DataFrames of a call, each with its contract.

    `named`: by the name of their contract, such as `truth`, or by its id. The contract of the others is recognized from
    their columns. Raises `CallError` for a frame of another contract than its name says.
    """
    from medcontract.validation.frames import frame_source

    found: list[tuple[Source, str | None]] = []
    for frame in frames:
        contract_id = _recognized(frame)
        found.append((frame_source(frame, contract_id, contract_id and contract_id.partition("/")[2]), contract_id))
    for name, frame in named.items():
        contract_id = _contract_named(name, frame)
        found.append((frame_source(frame, contract_id, name), contract_id))
    return found


def contracts_named(name: str) -> list[str]:
    """The ids of the contracts that an argument can mean: `lab_labels` is the name of extraction/lab-labels."""
    name = name.replace("_", "-")
    known = (each.id for track in registry.tracks().values() for each in track)
    return [each for each in known if name in (each, each.partition("/")[2])]


def _contract_named(name: str, frame: pd.DataFrame) -> str | None:
    """The contract of a frame that is given by name; None if its columns match no contract."""
    candidates = contracts_named(name)
    flat = [each for each in candidates if registry.find(each).columns]
    if len(flat) < 2:
        return (flat or candidates)[0]
    recognized = _recognized(frame)
    if recognized is None or recognized in flat:
        return recognized
    raise CallError(f"'{name}' has the columns of {recognized}", f"expected a DataFrame of {' or '.join(flat)}")


def _recognized(frame: pd.DataFrame) -> str | None:
    from medcontract.contracts import recognition

    try:
        return recognition.of_columns(frozenset(map(str, frame.columns))).contract_id
    except NotRecognised:
        return None


def _found_in_folders(walked: Iterable[tuple[str, str | None, list[str | Source]]]) -> dict[str, str]:
    """The files that were found in a folder or archive, not named in the call, and the folder or archive of each."""
    walked = list(walked)
    named = {real_path(path) for path, _, files in walked if files == [path]}
    inside = (
        (file.name if isinstance(file, Source) else file, path)
        for path, _, files in walked
        if files != [path]
        for file in files
    )
    return {file: path for file, path in inside if real_path(file) not in named}


def split(name: FileName, contract: str | None = None) -> tuple[str, str | None]:
    """Splits `CONTRACT=PATH`, unless it is a `Path` or there is a file with exactly that name."""
    match = _NAMED.fullmatch(name) if isinstance(name, str) else None
    if match and not os.path.lexists(name):
        return as_address(match.group(2)), match.group(1)
    return as_address(os.fspath(name)), contract


def matching(given: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """The paths of a call, with patterns in addresses replaced by what they match: no shell did so.

    Raises `CallError` if nothing matches.
    """
    found: list[tuple[str, str | None]] = []
    for path, contract_id in given:
        if isinstance(path, Address):
            from medcontract.reading.remote_folders import matches

            found += [(each, contract_id) for each in matches(path)]
        else:
            found.append((path, contract_id))
    return found


def split_known(name: FileName, contract: str | None = None) -> tuple[str, str | None]:
    """Like `split`. Raises `CallError` for an unknown contract."""
    path, contract_id = split(name, contract)
    if contract_id is not None:
        registry.find(contract_id)
    return path, contract_id


def stdin_once(names: Iterable[object]) -> None:
    """Raises `CallError` if more than one file is standard input."""
    if list(names).count(STDIN) > 1:
        raise CallError("standard input was given twice", "save one of the two to a file")


def expand(path: str, limits: Limits | None = None, exclude: Exclude | None = None) -> Expanded:
    """A file as it is, a folder or an archive as the data files in it. Raises `CallError` if there are none."""
    inside = list_path(path, limits, exclude)
    if not inside.files and exclude and list_path(path, limits).files:
        raise CallError(f"{path}: all data files in this folder are excluded", "pass fewer --exclude patterns")
    if not inside.files:
        raise CallError(f"{path}: {no_data_files(inside)}", f"expected files with {', '.join(BY_ENDING)}")
    return inside


def list_path(path: str, limits: Limits | None = None, exclude: Exclude | None = None) -> Expanded:
    """A file as it is, a folder or an archive as the data files in it, sorted, which may be none.

    An archive that cannot be read is a file.
    """
    inside = _list_folder(path, limits, exclude)
    if inside is None:
        return Expanded([path])
    from medcontract.evaluation.unused_files import skipped

    files = [Source(file, refused=refused) if refused else file for file, refused in inside.data]
    return Expanded(files, tuple(map(skipped, inside.others)), is_archive(path))


def _list_folder(path: str, limits: Limits | None, exclude: Exclude | None) -> Listing | None:
    if isinstance(path, Address) and not path.split_member() and not is_archive(path):
        from medcontract.reading.remote_folders import list_remote

        return list_remote(path, BY_ENDING, exclude)
    if os.path.isdir(path):
        from medcontract.reading.folders import list_files

        return list_files(path, BY_ENDING, exclude)
    if is_archive(path):
        from medcontract.reading.archives import list_archive

        return list_archive(path, BY_ENDING, limits, exclude)
    return None


def input_file(file: FileName | bytes, name: str | None) -> Source:
    """A file or bytes, with the name that messages show."""
    if isinstance(file, bytes):
        return Source(file, name)
    source = single_file(file)
    source.name = source.name if name is None else name
    return source


def single_file(path: FileName) -> Source:
    """A file; an archive means the only data file in it. Raises `CallError` if it contains none."""
    path = as_address(os.fspath(path))
    files = expand(path).files if is_archive(path) else [path]
    only = files[0]
    return only if isinstance(only, Source) else open_source(path if len(files) > 1 else only)


def no_data_files(inside: Expanded) -> str:
    """The message for a folder or an archive without data files, with what it contains instead."""
    from medcontract.evaluation.unused_files import describe_skipped

    others = describe_skipped(inside.skipped)
    return f"no data files in this {'archive' if inside.is_archive else 'folder'}{f' ({others})' if others else ''}"
