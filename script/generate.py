"""Write all generated files: the compiled contracts, the published schemas, the page of codes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from medcontract._version import __version__
from medcontract.definitions import registry
from medcontract.definitions.publishing import export
from medcontract.docs import codes_page

ROOT = Path(__file__).parent.parent


def main() -> None:
    index = msgspec.json.format(msgspec.json.encode(registry.build_index()), indent=1)
    registry.COMPILED.write_bytes(index + b"\n")
    registry.compiled.cache_clear()
    for name, content in export(registry.contracts(), __version__).items():
        path = ROOT / "schemas" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (ROOT / "docs").mkdir(exist_ok=True)
    (ROOT / "docs" / "codes.md").write_text(codes_page(), encoding="utf-8")
    print("compiled.json, schemas/ and docs/codes.md are up to date")


if __name__ == "__main__":
    main()
