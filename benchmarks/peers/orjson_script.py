"""The yardstick: parse the file with orjson and check nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson


def main() -> None:
    path = Path(sys.argv[1])
    if path.suffix == ".jsonl":
        with path.open("rb") as lines:
            for line in lines:
                orjson.loads(line)
    else:
        orjson.loads(path.read_bytes())


if __name__ == "__main__":
    main()
