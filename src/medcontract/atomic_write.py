"""Atomic writing of files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from medcontract.addresses import require_local
from medcontract.errors import CallError


def write_file(text: str, out: str | os.PathLike[str]) -> None:
    """Write to a temporary file and rename it, so that a crash cannot leave a partial file. Raises `CallError`."""
    write_bytes(text.encode("utf-8", "backslashreplace"), out)


def write_bytes(data: bytes, out: str | os.PathLike[str]) -> None:
    """`write_file` for bytes."""
    require_local(out, "cannot write", "write to a local file, and copy it")
    target = Path(out)
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        if target.exists() and not target.is_file():  # a pipe or a device
            target.write_bytes(data)
            return
        target = target.resolve() if target.is_symlink() else target
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CallError(f"cannot write {os.fspath(out)}: {(error.strerror or str(error)).lower()}") from None


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
