"""Shared by all entry points: trials, and commands that run in this process."""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from jsonschema import Draft202012Validator

from fuzz.material import ROOT
from medcontract.cli.main import main


class Trial(NamedTuple):
    """One input and what is done with it, in a separate folder."""

    run: Callable[[], str | None]
    files: Mapping[str, bytes] = {}
    """The files in the folder. Inputs that are not files are included as text, for inspection."""
    passes: int = 1
    """How often the input is processed, for comparison: the time limit is multiplied by it."""


Entrance = Callable[[random.Random], Trial]


class Ran(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str = ""


def call(arguments: list[str], stdin: bytes = b"") -> Ran:
    """Run a command in this process."""
    buffer = io.BytesIO()
    out = io.TextIOWrapper(buffer, encoding="utf-8", write_through=True)
    errors = io.StringIO()
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = main(arguments)
    finally:
        sys.stdin = before
    return Ran(code, buffer.getvalue().decode(), errors.getvalue())


@cache
def published(contract: str) -> Draft202012Validator:
    """A validator for the output of a command."""
    return Draft202012Validator(json.loads((ROOT / "schemas" / contract / "v1.json").read_bytes()))
