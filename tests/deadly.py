"""Parsers that crash, for tests that run them in other processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO


def read_blocks(stream: BinaryIO, *arguments: Any) -> Iterator[Any]:
    """Read a Parquet file, but crash if it contains a certain word."""
    from medcontract.reading import parquet

    _crash(stream)
    yield from parquet._read_blocks(stream, *arguments)


def examine(stream: BinaryIO) -> Iterator[Any]:
    """Decode an image, but crash if it contains a certain word."""
    from medcontract.images import check

    _crash(stream)
    yield from check.examine(stream)


def _crash(stream: BinaryIO) -> None:
    if b"CRASH" in stream.read():
        os.abort()
    stream.seek(0)


def run_out(_: BinaryIO) -> Iterator[Any]:
    """Run out of memory."""
    yield from (bytes(1 << 62) for _ in "1")


def main() -> int:
    """Run a command whose parsers crash, in this process and in its forks."""
    from tests import deadly

    from medcontract.cli.main import main
    from medcontract.images import check
    from medcontract.reading import parquet

    vars(parquet)["_read_blocks"], vars(check)["examine"] = deadly.read_blocks, deadly.examine
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
