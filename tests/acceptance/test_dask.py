"""A Dask cluster gives the bytes of one process, also if a worker is killed; what goes wrong is said clearly."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.remote_files import forget_connections, web_server
from tests.scoring_files import write
from tests.unit.evaluation.test_chunks import TRACKS, TRUTHS, content, damage
from tests.unit.evaluation.test_chunks_of_containers import as_row, write_parquet, zipped

import medcontract
from medcontract.errors import CallError
from medcontract.evaluation import dask_engine, parallel
from medcontract.reading import chunks

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
psutil = pytest.importorskip("psutil", reason="needs the extra dask")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as on Linux"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]
MAIN = "import sys; from medcontract.cli.main import main; sys.exit(main())"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with dask_engine.connected(None, 2) as connection:
        yield connection


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 700)


def files(folder: Path, track: str, seed: int) -> list[str]:
    rng = random.Random(f"{track} {seed}")
    make, endings = TRACKS[track]
    contract, truth, sent = make(rng)
    paths = [folder / f"truth.{rng.choice(endings)}", folder / f"sent.{rng.choice(endings)}"]
    paths[0].write_bytes(content(rng, TRUTHS[contract], truth, paths[0].suffix[1:]))
    paths[1].write_bytes(damage(rng, content(rng, contract, sent, paths[1].suffix[1:])))
    return [f"{TRUTHS[contract]}={paths[0]}", f"{contract}={paths[1]}"]


def results(given: list[str], **how: Any) -> list[str]:
    found = [medcontract.validate_files(given, **how).to_json(show_values=True)]
    try:
        found.append(medcontract.score(*given, **how).to_json(show_values=True))
    except medcontract.MedcontractError as error:
        found.append(str(error))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("track", TRACKS)
def test_same_bytes(track: str, seed: int, tmp_path: Path, client: Any) -> None:
    given = files(tmp_path, track, seed)
    assert results(given, client=client) == results(given, jobs=1)


def lesions(folder: Path, count: int = 3000, repeated: bool = True) -> tuple[Path, Path]:
    """A truth and a submission, not sorted, with an id that is repeated far away."""
    truth = [{"image_id": f"I-{n}", "label": "NV"} for n in range(count)]
    sent = [{"image_id": f"I-{n}", "probabilities": [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]} for n in range(count)]
    random.Random(1).shuffle(sent)
    if repeated:
        sent[-1] = dict(sent[0])
    return write(folder, "lesions/truth", truth, "csv"), write(folder, "lesions/predictions", sent, "jsonl")


def test_repeated_ids_are_found_by_the_workers(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By partition: this process never gets the hashes of all ids."""
    _, sent = lesions(tmp_path)
    expected = medcontract.validate(sent, jobs=1)
    monkeypatch.setattr(dask_engine, "repeated_hashes", None)
    assert medcontract.validate(sent, client=client).to_json() == expected.to_json()
    assert [problem.record for problem in expected] == [2999]


def test_other_containers(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups, files in an archive, and the same at addresses, whose credentials no worker logs."""
    truth, sent = lesions(tmp_path, 400)
    lines = sent.read_bytes().splitlines(keepends=True)
    rows = [as_row(json.loads(line)) for line in lines]
    paths = [sent, write_parquet(tmp_path / "sent.parquet", rows, random.Random(1)), tmp_path / "sent.zip"]
    paths[2].write_bytes(zipped(zipfile.ZIP_DEFLATED, a=b"".join(lines[:200]), b=b"".join(lines[200:])))
    read: list[bool] = []
    real = parallel.read_in_chunks

    def noted(*arguments: Any) -> bool:
        read.append(real(*arguments))
        return read[-1]

    monkeypatch.setattr(parallel, "read_in_chunks", noted)
    with web_server() as web:
        web.password = "MARKER"  # noqa: S105  # of a test server
        start = f"http://user:MARKER@{web.address.removeprefix('http://')}"
        for path in paths:
            web.files[f"/{path.name}"] = path.read_bytes()
            expected = medcontract.score(truth, path, jobs=1).to_json()
            assert medcontract.score(truth, path, client=client).to_json() == expected
            assert medcontract.score(truth, f"{start}/{path.name}", client=client).to_json() == expected
    forget_connections()
    assert read == [True] * 12
    assert "MARKER" not in f"{client.get_worker_logs()}{client.get_scheduler_logs()}"


def test_a_ranking(call: Call, tmp_path: Path, client: Any) -> None:
    truth, sent = lesions(tmp_path, 200)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    data = sent.read_bytes()
    (tmp_path / "a" / "sent.jsonl").write_bytes(data)
    (tmp_path / "b" / "sent.jsonl").write_bytes(data.replace(b"0, 1", b"1, 0"))
    alone = medcontract.leaderboard(truth, tmp_path / "a", tmp_path / "b", jobs=1)
    assert medcontract.leaderboard(truth, tmp_path / "a", tmp_path / "b", client=client).to_json() == alone.to_json()


PLUGIN = """
from medcontract.modeling import Contract, Document, ListOf, Str, StrictModel, Unique

class Row(StrictModel):
    row_id: Str

class Rows(Document):
    rows: ListOf[Row]

CONTRACTS = (Contract(id="dask-test/rows", title="Rows", model=Rows, record=Row, list_key="rows", flat=True, rules=(
    Unique(within="rows", fields=("row_id",), code="MC201", message="repeated", hint=None),)),)
"""


def test_a_plugin_reaches_the_workers(call: Call, tmp_path: Path, scheduler: tuple[str, Any]) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    rows = [{"row_id": f"{n}"} for n in [*range(3000), 7]]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = ("dask-test/rows=rows.jsonl", "--plugin", "./plugin.py", "--format", "json")
    alone = call("validate", *files, "--jobs", "1")
    assert call("validate", *files, "--engine", "dask", "--scheduler", scheduler[0]) == alone
    assert alone.json["files"][0]["errors"] == 1


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.6])
def test_a_worker_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay: float) -> None:
    """Others do its work, and the result has the same bytes."""
    given = [str(path) for path in lesions(tmp_path, 30_000)]
    expected = medcontract.score(*given, jobs=1).to_json()
    monkeypatch.setattr(chunks, "SMALLEST", 20_000)
    monkeypatch.setattr(chunks, "LARGEST", 40_000)
    real = dask_engine.DaskEngine.map
    with dask_engine.connected(None, 2) as client:
        victims = list(client.run(os.getpid).values())
        killer = threading.Timer(delay, os.kill, (victims[0], signal.SIGKILL))

        def then_kill(*arguments: Any) -> Any:
            if not killer.is_alive() and not killer.finished.is_set():
                killer.start()
            return real(*arguments)

        monkeypatch.setattr(dask_engine.DaskEngine, "map", then_kill)
        assert medcontract.score(*given, client=client).to_json() == expected
        killer.join()
        assert victims[0] not in client.run(os.getpid, on_error="ignore").values()


CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp://") as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(120)
"""


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """The address of a scheduler, and its process."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        yield running.stdout.readline().strip(), running
        running.kill()


def test_a_scheduler_by_its_address(call: Call, tmp_path: Path, scheduler: tuple[str, Any]) -> None:
    truth, sent = lesions(tmp_path, 300)
    alone = call("score", truth, sent, "--format", "json", "--jobs", "1")
    assert call("score", truth, sent, "--format", "json", "--engine", "dask", "--scheduler", scheduler[0]) == alone


def test_a_scheduler_that_goes(
    call: Call, tmp_path: Path, scheduler: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the work: a clear error, and no hang."""
    import dask

    truth, sent = lesions(tmp_path, 30_000)
    monkeypatch.setattr(chunks, "SMALLEST", 20_000)
    monkeypatch.setattr(chunks, "LARGEST", 20_000)
    address, running = scheduler
    real = dask_engine.DaskEngine.map

    def gone(*arguments: Any) -> Any:
        running.kill()
        running.wait()
        return real(*arguments)

    monkeypatch.setattr(dask_engine.DaskEngine, "map", gone)
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        ran = call("score", truth, sent, "--engine", "dask", "--scheduler", address)
    assert (ran.code, ran.out) == (2, "")
    assert "the connection to the Dask scheduler was lost" in ran.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"], "cannot connect to the Dask scheduler tcp"),
        (["--engine", "dask", "--scheduler", "nowhere"], "cannot connect to the Dask scheduler nowhere"),
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler requires --engine dask"),
    ],
)
def test_no_scheduler(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str) -> None:
    monkeypatch.setattr(dask_engine, "TIMEOUT", 1)
    _, sent = lesions(tmp_path, 10)
    ran = call("validate", sent, *given)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_other_versions(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sent = lesions(tmp_path, 10)
    monkeypatch.setattr(dask_engine, "__version__", "0.0.1")
    with pytest.raises(CallError, match=r"has medcontract .*, this process 0\.0\.1"):
        medcontract.validate(sent, client=client)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    _, sent = lesions(tmp_path, 10)
    with pytest.raises(CallError, match=r"pip install 'medcontract\[dask\]'"):
        medcontract.validate(sent, engine="dask")


def test_a_chunk_that_cannot_be_read(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem of the file."""
    from medcontract.evaluation import parallel

    _, sent = lesions(tmp_path, 300)
    real = parallel._begin

    def then_gone(*arguments: Any) -> Any:
        begun = real(*arguments)
        sent.unlink()
        return begun

    monkeypatch.setattr(parallel, "_begin", then_gone)
    report = medcontract.validate_files([sent], client=client)
    assert [problem.code for problem in report] == ["MC003"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_call_leaves_no_processes(tmp_path: Path, number: signal.Signals) -> None:
    _, sent = lesions(tmp_path, 40_000)
    sent.write_bytes(sent.read_bytes() * 4)
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "validate", str(sent), "--engine", "dask", "--jobs", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGINT)],
    ) as running:  # fmt: skip
        deadline = time.monotonic() + 60
        while len(children := psutil.Process(running.pid).children(recursive=True)) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(number)
        assert running.wait(60) == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
