"""Atomic writing of files."""

from __future__ import annotations

import os
import secrets
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
    except OSError as error:
        raise CallError(f"cannot write {os.fspath(out)}: {(error.strerror or str(error)).lower()}") from None


def create(path: Path, mode: int) -> int:
    """Create a file, with what the umask leaves of the mode, and open it. Raises `OSError`, also if it exists."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
