"""Write all generated files: compiled contracts, published schemas, the names of their types, docs/codes.md and
docs/challenge-reference.md."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from script.doc_pages import codes_page, reference_page
from script.suite import hashes

import medcontract
from medcontract.conformance import LEVELS
from medcontract.contracts import registry
from medcontract.contracts.messages import exported
from medcontract.platforms.page import exported_tracks
from medcontract.schemas.json_schema import build_index, text, type_names
from medcontract.schemas.publishing import export, published

ROOT = Path(__file__).parent.parent


def main() -> None:
    index = msgspec.json.format(msgspec.json.encode(build_index()), indent=1)
    Path(registry.COMPILED).write_bytes(index + b"\n")
    registry.registered.cache_clear()
    for name, content in export(registry.contracts()).items():
        path = ROOT / "schemas" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (ROOT / "conformance" / "messages.json").write_text(text(exported()), encoding="utf-8")
    tracks = {"tracks": exported_tracks(registry.compiled().values())}
    (ROOT / "conformance" / "tracks.json").write_text(text(tracks), encoding="utf-8")
    names = {name: type_names(json.loads(content)) for name, content in published(registry.contracts()).items()}
    (ROOT / "tests" / "type-names.json").write_text(text(names), encoding="utf-8")
    (ROOT / "conformance" / "version.json").write_text(text(conformance_version()), encoding="utf-8")
    (ROOT / "docs").mkdir(exist_ok=True)
    (ROOT / "docs" / "codes.md").write_text(codes_page(), encoding="utf-8")
    (ROOT / "docs" / "challenge-reference.md").write_text(reference_page(), encoding="utf-8")
    page = medcontract.check_page()
    (ROOT / "docs" / "check.html").write_text(page, encoding="utf-8")
    pages = "docs/check.html, docs/codes.md and docs/challenge-reference.md"
    print(f"compiled.json, schemas/, conformance/version.json, tests/type-names.json, {pages} are up to date")


def conformance_version() -> dict[str, object]:
    """Return the version of the conformance suite, which is written by hand, with its counts and hashes."""
    folder = ROOT / "conformance"
    kept = json.loads((folder / "version.json").read_bytes())
    manifests = {f"{level}.jsonl": (folder / f"{level}.jsonl").read_bytes() for level in LEVELS}
    return {
        "version": kept["version"],
        "cases": {level: manifests[f"{level}.jsonl"].count(b"\n") for level in LEVELS},
        "sha256": hashes(folder, manifests),
        "withdrawn": kept["withdrawn"],
    }


if __name__ == "__main__":
    main()
