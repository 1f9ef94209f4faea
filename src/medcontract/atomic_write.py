"""Writing files: atomically, without replacing files of others, and never the inputs of the same call."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from medcontract.addresses import require_local
from medcontract.errors import TO_OVERWRITE, CallError


def write_file(text: str, out: str | os.PathLike[str]) -> None:
    """Write to a temporary file and rename it, so that a crash cannot leave a partial file. Raises `CallError`."""
    write_bytes(text.encode("utf-8", "backslashreplace"), out)


def write_bytes(data: bytes, out: str | os.PathLike[str]) -> None:
    """`write_file` for bytes."""
    require_local(out, "cannot write", "write to a local file, and copy it")
    try:
        replace_file(Path(out), data)
    except OSError as error:
        raise CallError(f"cannot write {os.fspath(out)}: {(error.strerror or str(error)).lower()}") from None


def replace_file(target: Path, data: bytes) -> None:
    """`write_bytes` with exceptions of the operating system."""
    if target.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    if target.exists() and not target.is_file():  # a pipe or a device
        target.write_bytes(data)
        return
    target = target.resolve() if target.is_symlink() else target
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:  # its name is known before it exists, so that a signal at any moment leaves nothing
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        with os.fdopen(create(temporary, 0o666 if mode is None else 0o600), "wb") as stream:
            stream.write(data)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_new_files(folder: str | os.PathLike[str], files: Mapping[str, bytes], force: bool) -> tuple[Path, ...]:
    """Write files to a folder, by relative path. Returns their paths. Raises `CallError`.

    Nothing is written if a file would be replaced by another content, unless `force`. Links are replaced, not followed.
    """
    paths = {Path(folder, name): data for name, data in files.items()}
    different = [str(path.relative_to(folder)) for path, data in paths.items() if not is_free(path, data)]
    if different and not force:
        shown = ", ".join(different[:3]) + (f" and {len(different) - 3} more" if len(different) > 3 else "")
        raise CallError(f"{os.fspath(folder)} already has {shown}", TO_OVERWRITE)
    for path, data in paths.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                path.unlink()
        except OSError as error:
            raise CallError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
        write_bytes(data, path)
    return tuple(paths)


def is_free(path: Path, data: bytes) -> bool:
    """Return whether nothing is lost by writing a file: it does not exist, or it has this content already."""
    try:
        return not os.path.lexists(path) or (not path.is_symlink() and path.read_bytes() == data)
    except OSError:
        return False


def refuse_input(out: str | os.PathLike[str], inputs: Iterable[str], flag: str = "--out") -> None:
    """Raise `CallError` if an output file is an input of the call, however its path is spelled."""
    try:
        there = os.stat(out)
    except (OSError, ValueError):
        return  # nothing to overwrite
    if not stat.S_ISREG(there.st_mode):
        return
    for name in inputs:
        try:
            same = _is_input(os.fspath(out), there, name)
        except (OSError, ValueError):  # reported when it is read
            continue
        if same:
            _refuse(out, name, flag, os.path.isdir(name), "write the result to another file")


def refuse_input_folder(
    folder: str | os.PathLike[str], inputs: Iterable[str], flag: str, beside: Iterable[str] = ()
) -> None:
    """Raise `CallError` if an output folder is an input or in one: its files would be inputs of the next call.

    `beside`: inputs that must not be in the folder, since the next call may name them all by a pattern.
    """
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise CallError(f"{os.fspath(folder)} is not a folder", "choose another folder", flag=flag)
    target = _real_folder(folder)
    for name in inputs:
        if os.path.isdir(name) and target.startswith(_real_folder(name)):
            _refuse(folder, name, flag, target != _real_folder(name), "choose another folder")
    if any(target == _real_folder(os.path.dirname(os.path.abspath(name))) for name in beside):
        raise CallError(f"{os.fspath(folder)} contains inputs of this call", "choose another folder", flag=flag)


def _refuse(out: str | os.PathLike[str], name: str, flag: str, inside: bool, hint: str) -> None:
    where = f"is in {name}, which is" if inside else "is"
    raise CallError(f"{os.fspath(out)} {where} an input of this call", hint, flag=flag)


def _real_folder(name: str | os.PathLike[str]) -> str:
    return os.path.join(os.path.realpath(name), "")


def _is_input(out: str, there: os.stat_result, name: str) -> bool:
    if name == "-":
        return sys.stdin is not None and os.path.samestat(os.fstat(sys.stdin.fileno()), there)
    if not os.path.isdir(name):
        return os.path.samestat(os.stat(name), there)
    root = _real_folder(name)
    spelled = os.path.join(os.path.realpath(os.path.dirname(out)), os.path.basename(out))
    if spelled.startswith(root) or os.path.realpath(out).startswith(root):
        return True
    if there.st_nlink < 2:
        return False
    files = (os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files)
    return any(os.path.samestat(os.stat(file), there) for file in files if os.path.exists(file))


def create(path: Path, mode: int) -> int:
    """Create a file, with what the umask leaves of the mode, and open it. Raises `OSError`, also if it exists."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
