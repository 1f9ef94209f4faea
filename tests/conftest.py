"""Shared fixtures, and the option `--all`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call, caller
from tests.support import TEST_ALL

from medcontract import errors
from medcontract.catalog import problem_codes
from medcontract.contracts import registry
from medcontract.problems import CODES_OF_MISSING_VALUES
from medcontract.scoring import custom_metrics, tracks

PROPERTIES = Path(__file__).parent / "properties"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help="also run slow tests, all cases of sampled ones, and more examples of each property",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set the variable for modules that choose their cases when they are imported."""
    os.environ[TEST_ALL] = "1" if config.getoption("--all") else ""


def pytest_report_header(config: pytest.Config) -> str:
    return "all tests" if config.getoption("--all") else "without slow tests (use --all to run them)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect slow tests and most cases of sampled ones, unless selected with --all, -m or their file."""
    for item in items:
        if item.path.is_relative_to(PROPERTIES) and not item.get_closest_marker("sampled"):
            item.add_marker("slow")
    if config.getoption("--all") or config.option.markexpr or any(".py" in argument for argument in config.args):
        return
    skipped = left_out(items)
    if skipped:
        config.hook.pytest_deselected(items=skipped)
        gone = set(skipped)
        items[:] = [item for item in items if item not in gone]


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Slow tests, and all cases of sampled tests except every n-th."""
    found = []
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        sampled = item.get_closest_marker("sampled")
        if item.get_closest_marker("slow") or (sampled and cases[test] % sampled.args[0]):
            found.append(item)
        cases[test] += 1
    return found


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return caller(capsys)


@pytest.fixture(autouse=True)
def forget_plugins() -> Iterator[None]:
    """What a test registers is gone after it: contracts, tracks, codes and modules."""
    tables: list[Any] = [
        registry.registered(), tracks._registered, tracks._of_modules, tracks.loaded_plugins, problem_codes(),
        CODES_OF_MISSING_VALUES, custom_metrics._metrics, errors._plugin_modules,
    ]  # fmt: skip
    kept, modules, path = [table.copy() for table in tables], set(sys.modules), list(sys.path)
    yield
    loaded = errors.plugin_modules() - modules
    for table, before in zip(tables, kept, strict=True):
        table.clear()
        table.update(before)
    sys.path[:] = path
    for name in [name for name, module in sys.modules.items() if getattr(module, "__name__", None) in loaded]:
        del sys.modules[name]


@pytest.fixture
def score(call: Call) -> Call:
    """`medcontract score`."""
    return partial(call, "score")
