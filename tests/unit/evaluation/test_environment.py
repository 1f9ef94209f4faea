"""Plugins reach other processes; what cannot be the same there is an error, never another score."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tests.acceptance.test_metric_plugins import BREVITY

import medcontract
from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.parallel.environment import Environment
from medcontract.scoring import custom_metrics, tracks

CONTRACT = """
from medcontract.modeling import Contract, Document, ListOf, Str, StrictModel

class Row(StrictModel):
    row_id: Str

class Rows(Document):
    rows: ListOf[Row]

CONTRACTS = (Contract(id="other-test/rows", title="Rows", model=Rows, record=Row, list_key="rows", flat=True),)
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "brevity_of_environment.py"
    path.write_text(BREVITY)
    return path


def forget() -> None:
    """As in another process."""
    tracks.loaded_plugins.clear()
    custom_metrics._metrics.clear()


def test_metrics_reach_other_processes(plugin: Path) -> None:
    medcontract.load_plugin(str(plugin))
    sent = pickle.loads(pickle.dumps(Environment.current()))  # noqa: S301  # written a moment ago
    forget()
    with sent.active():
        assert list(custom_metrics.custom_metrics()) == ["brevity"]


def test_a_plugin_that_is_not_there(plugin: Path) -> None:
    medcontract.load_plugin(str(plugin))
    sent = Environment.current()
    forget()
    plugin.unlink()
    with pytest.raises(CallError, match=r"a worker cannot load a plugin: .* is not a Python file"), sent.active():
        pass


def test_another_version(plugin: Path) -> None:
    """A worker that loaded the plugin before it was changed still has the old code."""
    medcontract.load_plugin(str(plugin))
    sent = Environment(((str(plugin), "0" * 64),), frozenset(), frozenset(), None)
    with pytest.raises(CallError, match="a worker has another version of the plugin"), sent.active():
        pass


def test_a_metric_without_a_plugin(plugin: Path) -> None:
    custom_metrics.register_metrics({"tiny": lambda reference, prediction: 0.5})
    sent = Environment.current()
    forget()
    with pytest.raises(CallError, match="a worker does not have the metric 'tiny'"), sent.active():
        pass


def test_plugins_of_other_calls(plugin: Path, tmp_path: Path) -> None:
    """They are not used, although the worker has loaded them."""
    sent = Environment.current()
    (tmp_path / "contract_of_environment.py").write_text(CONTRACT)
    medcontract.load_plugin(str(plugin))
    medcontract.load_plugin(str(tmp_path / "contract_of_environment.py"))
    assert "other-test/rows" in registry.candidates()
    with sent.active():
        assert custom_metrics.custom_metrics() == {}
        assert "other-test/rows" not in registry.candidates()
    assert "other-test/rows" in registry.candidates()


def _sum(shared: int, item: int) -> int:
    return shared + item


def test_work_for_workers_in_this_process() -> None:
    """A cluster with `processes=False` gets it without pickling."""
    pytest.importorskip("distributed")
    from medcontract.parallel.dask_pool import SharedWork

    assert SharedWork(_sum, 1).run(2) == 3
