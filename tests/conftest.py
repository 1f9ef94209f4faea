"""What many tests start from."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.commands import Call, caller


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return caller(capsys)


@pytest.fixture
def score(call: Call) -> Call:
    """`medcontract score`."""
    return partial(call, "score")
