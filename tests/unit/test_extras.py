"""Without an extra, everything else works, and what needs it says what to install."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support import ROOT, lesions

import medcontract

FRAME = pd.DataFrame({"image_id": ["I-1"], "label": ["NV"]})
NEEDS_PANDAS: dict[str, Callable[[], Any]] = {
    "validate_frame": lambda: medcontract.validate_frame(FRAME, "lesions/truth"),
    "frame_schema": lambda: medcontract.frame_schema("lesions/truth"),
    "to_frame": lambda: medcontract.list_contracts().to_frame(),
}


@pytest.mark.parametrize("name", NEEDS_PANDAS)
def test_without_pandas(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function with DataFrames says which extra to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(medcontract.CallError) as caught:
        NEEDS_PANDAS[name]()
    assert (caught.value.message, caught.value.hint) == (
        "pandas is not installed", "pip install 'medcontract[pandas]'",
    )  # fmt: skip


def test_without_pandera(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `frame_schema` needs pandera, which the same extra installs."""
    monkeypatch.setitem(sys.modules, "pandera", None)
    assert medcontract.validate_frame(FRAME, "lesions/truth")
    with pytest.raises(medcontract.CallError) as caught:
        medcontract.frame_schema("lesions/truth")
    assert (caught.value.message, caught.value.hint) == (
        "pandera is not installed", "pip install 'medcontract[pandas]'",
    )  # fmt: skip


def test_files_need_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text files are checked and scored without any package of an extra."""
    for package in ("pandas", "pandera", "numpy", "pyarrow", "PIL"):
        monkeypatch.setitem(sys.modules, package, None)
    medcontract.init("reports", tmp_path / "reports")
    assert medcontract.validate_files([tmp_path / "reports"])
    assert medcontract.preflight(tmp_path / "reports")
    assert medcontract.score(tmp_path / "reports")
    assert medcontract.validate(lesions(3), "lesions/truth")


def test_intervals_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals need NumPy, and say so before anything is read; without them it is never imported."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    medcontract.init("lesions", tmp_path / "lesions")
    for asked in ({"intervals": True}, {"cluster": "label"}, {"parameters": {"level": 0.9}}):
        for function in (medcontract.score, medcontract.preflight):
            with pytest.raises(medcontract.CallError) as caught:
                function(tmp_path / "lesions", **asked)
            assert (caught.value.message, caught.value.hint) == (
                "numpy is not installed", "pip install 'medcontract[stats]'",
            )  # fmt: skip


def test_all_has_every_extra() -> None:
    """`all` installs every extra except object stores, which are large."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = ",".join(sorted(set(extras) - {"all", "azure", "gs", "s3"}))
    assert extras["all"] == [f"medcontract[{wanted}]"]
    core = {re.split(r"[<>=\[]", line)[0] for line in project["dependencies"]}
    assert not core & {"pandas", "pandera", "numpy", "pyarrow", "Pillow"}
