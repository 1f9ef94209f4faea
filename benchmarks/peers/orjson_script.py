"""The baseline: parse the file with orjson, without any checks."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import orjson


def main() -> None:
    path = Path(sys.argv[1])
    if ".jsonl" in path.suffixes:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for line in lines:
                orjson.loads(line)
    else:
        orjson.loads(path.read_bytes())


if __name__ == "__main__":
    main()
