"""The registry of containers: one list, from which everything else follows."""

from __future__ import annotations

import ast
import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.support import ROOT, lesion

import medcontract
from medcontract import containers
from medcontract.containers import BY_ENDING, CONTAINERS, Container
from medcontract.contracts import registry
from medcontract.contracts.registry import contract
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.source import Source
from medcontract.validation.dispatch import _reader
from medcontract.validation.records import Recognition, RecordReader
from medcontract.validation.tables import CsvReader

PACKAGE = ROOT / "src" / "medcontract"
RECORDS = [lesion(1), lesion(2, label="MEL"), lesion(3, label="DF")]
BAD = [lesion(1), lesion(2, label="Naevus"), lesion(3)]

each_container = pytest.mark.parametrize("container", CONTAINERS, ids=[each.name for each in CONTAINERS])


def _content(container: Container, records: list[dict[str, str]]) -> bytes:
    """Records of `lesions/truth` in a container."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    if container.name == "json":
        return json.dumps({"labels": records}).encode()
    if container.name == "jsonl":
        return lines.encode()
    if container.name == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue().encode()
    if container.name == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(records), file)
        return file.getvalue()
    pytest.fail(f"write here how records are stored as .{container.name}")


# --- the list -------------------------------------------------------------------------------------


def _strings(layer: str) -> Iterator[tuple[str, str]]:
    for path in sorted((PACKAGE / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield str(path.relative_to(PACKAGE)), node.value


@pytest.mark.parametrize("layer", ["reading", "contracts", "validation", "jsonschema_files", "evaluation"])
def test_no_other_module_lists_containers(layer: str) -> None:
    """Names and extensions are only in the registry. (The name of `.json` also means an output format or a schema.)"""
    listed = {text for each in CONTAINERS[1:] for text in (each.name, *each.endings)}
    assert [(path, text) for path, text in _strings(layer) if text in listed] == []


def test_extensions() -> None:
    """In lower case, with a dot, without .gz, and each means one container."""
    endings = [ending for each in CONTAINERS for ending in each.endings]
    assert all(ending == ending.lower() and ending.startswith(".") and ending != ".gz" for ending in endings)
    assert sorted(endings) == sorted(BY_ENDING)
    assert len({each.name for each in CONTAINERS}) == len(CONTAINERS)
    assert all(f".{each.name}" in each.endings for each in CONTAINERS), "messages show the name as an extension"


@each_container
def test_readers(container: Container) -> None:
    """Each container names readers that exist; the reader of collections can recognize a contract."""
    for name in filter(None, (container.collections, container.documents)):
        assert issubclass(_reader(name), RecordReader)
    recognize = _reader(container.collections).recognize.__func__  # type: ignore[attr-defined]  # a class method
    assert recognize is not RecordReader.recognize.__func__  # type: ignore[attr-defined]


def test_containers_of_contracts() -> None:
    """A document is JSON, only flat records have a table form, and the compiled contracts agree."""
    assert contract("lesions/model").containers == ("json",)
    assert contract("triage/ground-truth").containers == ("json", "jsonl")
    assert contract("lesions/truth").containers == tuple(each.name for each in CONTAINERS)
    for compiled in registry.compiled().values():
        assert compiled.containers == compiled.definition.containers, "run script/generate"


# --- the same in each -----------------------------------------------------------------------------


@each_container
def test_the_same_records(container: Container) -> None:
    """A contract is recognized, and the same records are valid or invalid, whatever stores them."""
    for ending in container.endings:
        good = medcontract.validate(_content(container, RECORDS), name=f"x{ending}")
        assert (good.contract, good.ok, good.records) == ("lesions/truth", True, 3)
        bad = medcontract.validate(_content(container, BAD), name=f"x{ending}")
        assert [(problem.code, problem.record) for problem in bad.problems] == [("MC104", 1)]


@each_container
def test_load(container: Container) -> None:
    """The records that `load` returns; in a container with a header they are in its model."""
    value = medcontract.load(_content(container, RECORDS), name=f"x{container.endings[0]}").value
    records = value.labels if container.documents else value
    assert [record.model_dump() for record in records] == RECORDS


@each_container
def test_folders(container: Container, tmp_path: Path) -> None:
    """Each extension makes a file a data file of a folder."""
    for ending in container.endings:
        (tmp_path / f"x{ending}").write_bytes(_content(container, RECORDS))
    assert len(medcontract.validate_files([tmp_path]).files) == len(container.endings)


# --- a new one ------------------------------------------------------------------------------------


class _TabsReader(CsvReader):
    """Tabs instead of commas; cells contain neither."""

    def __init__(self, source: Source, *arguments: object) -> None:
        super().__init__(_with_commas(source), *arguments)  # type: ignore[arg-type]  # passed on

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        return super().recognize(_with_commas(source))


def _with_commas(source: Source) -> Source:
    found = Source(source.read(0, -1).replace(b"\t", b","), source.name)
    found.prepare()
    assert CsvFile(found).broken is None
    return found


def test_a_new_container_is_an_entry_and_a_class(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Validation, recognition, `load`, folders and contracts use it without another change."""
    tabs = Container("toy", (".toy", ".tabs"), "tabs:TabsReader", is_table=True)
    module = ModuleType("medcontract.validation.tabs")
    module.TabsReader = _TabsReader  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(containers, "CONTAINERS", (*CONTAINERS, tabs))
    for ending in tabs.endings:
        monkeypatch.setitem(BY_ENDING, ending, tabs)

    assert contract("lesions/truth").containers[-1] == "toy"
    assert "toy" not in contract("triage/ground-truth").containers
    path = tmp_path / "truth.tabs"
    path.write_bytes(_content(containers.CSV, RECORDS).replace(b",", b"\t"))
    refused = medcontract.validate(path)
    assert [problem.code for problem in refused.problems] == ["MC033"], "compiled.json does not have it yet"
    monkeypatch.setattr(registry.find("lesions/truth"), "containers", contract("lesions/truth").containers)
    (report,) = medcontract.validate_files([tmp_path]).files
    assert (report.contract, report.ok, report.records) == ("lesions/truth", True, 3)
    assert [record.label for record in medcontract.load(path).value] == ["NV", "MEL", "DF"]


# --- quick to start -------------------------------------------------------------------------------

_OWN = {
    "json": {"reading.json_stream", "validation.json_objects"},
    "jsonl": {"reading.jsonl", "validation.json_lines"},
    "csv": {"reading.csv_rows", "validation.tables"},
    "parquet": {"reading.parquet", "reading.parquet_pages", "validation.frames"},
}


@pytest.mark.parametrize(("name", "also"), [("json", set()), ("jsonl", {"json"}), ("csv", {"json"})])
def test_a_file_imports_only_its_container(name: str, also: set[str], tmp_path: Path) -> None:
    """A good file needs no model and no module of a container that its own is not built on."""
    path = tmp_path / f"x.{name}"
    path.write_bytes(_content(BY_ENDING[f".{name}"], RECORDS))
    code = "import sys; from medcontract.cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "validate", str(path)], capture_output=True, text=True, check=True
    )
    seen = set(done.stdout.split())
    assert {f"medcontract.{module}" for module in _OWN[name]} <= seen
    others = [each for each in _OWN if each != name and each not in also]
    foreign = {f"medcontract.{module}" for other in others for module in _OWN[other]}
    assert seen & (foreign | {"pydantic", "pandas", "pyarrow", "numpy"}) == set()
    unneeded = ("medcontract.hints", "medcontract.validation.slow_path", "medcontract.validation.slow_path")
    assert [module for module in seen if module.startswith(unneeded)] == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("records", [RECORDS, BAD], ids=["good", "bad"])
@pytest.mark.parametrize("name", ["json", "jsonl", "csv"])
def test_a_file_is_opened_twice(name: str, records: list[dict[str, str]], tmp_path: Path) -> None:
    """Once to recognize it, and once to check it and to find the lines of its problems."""
    path = tmp_path / f"x.{name}"
    path.write_bytes(_content(BY_ENDING[f".{name}"], records))
    code = """
import sys
opened = []
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" else None)
from medcontract.api import validate_files
report = validate_files([sys.argv[1]], excerpts=True)
print(report.ok, opened.count(sys.argv[1]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(records is RECORDS), "2"]
