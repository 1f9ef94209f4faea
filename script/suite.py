"""The conformance suite as a release archive: the cases, the schemas and their specification."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
_CONTENT = ("conformance", "schemas", "docs/another-language.md", "LICENSE")


def write_archive(folder: Path) -> Path:
    """Write the archive, whose bytes depend only on its content, and its SHA-256 beside it."""
    version = json.loads((ROOT / "conformance" / "version.json").read_bytes())["version"]
    path = folder / f"medcontract-conformance-{version}.tar.gz"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in _files():
            entry = tarfile.TarInfo(f"medcontract-conformance-{version}/{file.relative_to(ROOT).as_posix()}")
            entry.size = file.stat().st_size
            with file.open("rb") as stream:
                archive.addfile(entry, stream)
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=0))
    path.with_name(f"{path.name}.sha256").write_text(f"{_sha256(path)}  {path.name}\n", encoding="utf-8")
    return path


def check_archive(path: Path, folder: Path) -> str | None:
    """Unpack the archive in `folder`, and return how its hashes differ from those in its `version.json`."""
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    suite = folder / path.name.removesuffix(".tar.gz") / "conformance"
    expected = json.loads((suite / "version.json").read_bytes())["sha256"]
    found = hashes(suite, [name for name in expected if name != "files"])
    different = [name for name in expected if found[name] != expected[name]]
    return f"the archive of the suite has other {', '.join(different)}" if different else None


def hashes(suite: Path, manifests: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each manifest, and one of all input files with their names."""
    files = sorted(path for path in (suite / "files").rglob("*") if path.is_file())
    listed = "".join(f"{_sha256(path)}  {path.relative_to(suite).as_posix()}\n" for path in files)
    of_files = hashlib.sha256(listed.encode()).hexdigest()
    return {name: _sha256(suite / name) for name in manifests} | {"files": of_files}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files() -> list[Path]:
    found = [ROOT / name for name in _CONTENT if (ROOT / name).is_file()]
    found += [path for name in _CONTENT for path in (ROOT / name).rglob("*") if path.is_file()]
    return sorted(found)


if __name__ == "__main__":
    written = write_archive(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as unpacked:
        wrong = check_archive(written, Path(unpacked))
    print(f"conformance suite: {written.name}, {written.stat().st_size / 1e6:.1f} MB")
    sys.exit(wrong)
