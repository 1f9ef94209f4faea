"""A Dask cluster gives the bytes of one process, also if a worker is killed; what goes wrong is said clearly."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.acceptance.test_metric_plugins import BREVITY, PREDICTIONS, REFERENCES, samples
from tests.challenge_files import SMALL
from tests.challenge_files import write as write_challenge
from tests.commands import Call
from tests.random_files import MAKERS, spoiled, write_files
from tests.remote_files import forget_connections, web_server
from tests.scoring_files import repeats, write
from tests.unit.evaluation.test_chunks_of_containers import as_row, write_parquet, zipped

import medcontract
from medcontract.errors import CallError
from medcontract.modeling import Contract, Document, ListOf, Str, StrictModel, register
from medcontract.parallel import dask_pool, versions
from medcontract.parallel import merge as parallel
from medcontract.reading import chunks
from medcontract.scoring import custom_metrics, tracks

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
    with dask_pool.connected(None, 2) as connection:
        yield connection


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 700)


def score(given: list[str], **how: Any) -> list[str]:
    try:
        return medcontract.score(*given, excerpts=True, **how).to_json(show_values=True).splitlines()
    except medcontract.MedcontractError as error:
        return [str(error)]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("track", MAKERS)
def test_same_bytes(track: str, seed: int, tmp_path: Path, client: Any) -> None:
    """Of `validate`, and of `score`."""
    given = write_files(random.Random(f"{track} {seed}"), track, tmp_path)
    assert score(given, client=client) == score(given, jobs=1)
    validation = medcontract.validate_files(given, jobs=1).to_json(show_values=True)
    assert medcontract.validate_files(given, client=client).to_json(show_values=True) == validation


def test_a_challenge(tmp_path: Path, client: Any) -> None:
    rng = random.Random(1)
    truth = [{"case_id": f"D-{n:04}", "label": rng.choice(["yes", "no"])} for n in range(80)]
    paths = [tmp_path / "truth.csv", tmp_path / "sent.jsonl"]
    write_challenge(paths[0], truth)
    write_challenge(paths[1], spoiled(rng, truth, "case_id", {"label": "perhaps"}))
    given = [f"risk/truth={paths[0]}", f"risk/predictions={paths[1]}"]
    challenge = medcontract.Challenge.load(SMALL.encode())
    expected = challenge.score(*given, jobs=1).to_json()
    assert challenge.score(*given, client=client).to_json() == expected
    board = challenge.leaderboard(paths[0], paths[1], paths[1], jobs=1).to_json()
    assert challenge.leaderboard(paths[0], paths[1], paths[1], client=client).to_json() == board


def lesions(folder: Path, count: int = 3000, repeated: bool = True) -> tuple[Path, Path]:
    """A truth and a submission, not sorted, with an id that is repeated far away."""
    truth = [{"image_id": f"I-{n}", "label": "NV"} for n in range(count)]
    sent = [{"image_id": f"I-{n}", "probabilities": [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]} for n in range(count)]
    random.Random(1).shuffle(sent)
    if repeated:
        sent[-1] = dict(sent[0])
    return write(folder, "lesions/truth", truth, "csv"), write(folder, "lesions/predictions", sent, "jsonl")


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
    assert read == [True] * 6
    assert "MARKER" not in f"{client.get_worker_logs()}{client.get_scheduler_logs()}"


def test_a_ranking(call: Call, tmp_path: Path, client: Any) -> None:
    truth, sent = lesions(tmp_path, 200)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    data = sent.read_bytes()
    (tmp_path / "a" / "sent.jsonl").write_bytes(data)
    (tmp_path / "b" / "sent.jsonl").write_bytes(data.replace(b"0, 1", b"1, 0"))
    teams = tmp_path / "a", tmp_path / "b"
    for participant in (False, True):
        alone = medcontract.leaderboard(truth, *teams, jobs=1, participant=participant)
        board = medcontract.leaderboard(
            truth, *teams, client=client, participant=participant, cache=tmp_path / "kept", reports=tmp_path / "reports"
        )
        assert board.to_json() == alone.to_json()
    assert medcontract.cache_info(tmp_path / "kept").count == 4


POISON = """
import os

def poison(reference, prediction):
    if prediction.answer == "poison":
        os.kill(os.getpid(), 9)
    return 1

METRICS = {"poison": poison}
"""


def test_a_poisoned_submission(tmp_path: Path) -> None:
    """It kills its worker each time, and is refused; the others are ranked as always."""
    import dask

    (tmp_path / "poison_metric.py").write_text(POISON)
    truth, sent = samples(40)
    submissions = [
        write(tmp_path, PREDICTIONS, records, name=name)
        for name, records in (("fair", sent), ("good", [repeats(true) for true in truth]), ("other", sent))
    ]
    given = (write(tmp_path, REFERENCES, truth), *submissions)
    alone = medcontract.leaderboard(*given, jobs=1, plugins=str(tmp_path / "poison_metric.py"))
    assert all("poison" in entry.figures for entry in alone.submissions)
    submissions[1].write_bytes(submissions[1].read_bytes().replace(b'"gout"', b'"poison"'))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        dask_pool.connected(None, 2) as client,
    ):
        board = medcontract.leaderboard(*given, client=client)
    entries = {entry.name: entry for entry in board.submissions}
    assert entries.pop(submissions[1].name).reasons == (
        "scoring it terminated its process repeatedly: it ran out of memory or was killed",
    )
    assert {name: entry.figures for name, entry in entries.items()} == {
        entry.name: entry.figures for entry in alone.submissions if entry.name != submissions[1].name
    }


def test_metrics_reach_the_workers(tmp_path: Path, client: Any) -> None:
    """Those of a plugin that was loaded earlier; a plugin that a worker cannot load is an error."""
    plugin = tmp_path / "brevity_on_dask.py"
    plugin.write_text(BREVITY)
    truth, sent = samples(60)
    given = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)
    without = medcontract.score(*given, jobs=1).to_json()
    medcontract.load_plugin(str(plugin))
    alone = medcontract.score(*given, jobs=1)
    assert alone.result
    assert "brevity" in alone.result["overall_scores"]
    assert medcontract.score(*given, client=client).to_json() == alone.to_json()
    tracks.loaded_plugins.clear()  # as in another process, which has not loaded it
    custom_metrics._metrics.clear()
    assert medcontract.score(*given, client=client).to_json() == without
    tracks.loaded_plugins[str(tmp_path / "gone.py")] = ""
    with pytest.raises(CallError, match=r"a worker cannot load a plugin: .*gone"):
        medcontract.score(*given, client=client)


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


class _Row(StrictModel):
    row_id: Str


class _Rows(Document):
    rows: ListOf[_Row]


def test_a_contract_that_workers_cannot_know(tmp_path: Path, client: Any) -> None:
    """This process reads the file."""
    register(Contract(id="by-call/rows", title="Rows", model=_Rows, record=_Row, list_key="rows", flat=True))
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"row_id": f"{n}" if n % 7 else n}) for n in range(300)))
    alone = medcontract.validate(rows, "by-call/rows", jobs=1)
    assert alone.errors == 43
    assert medcontract.validate(rows, "by-call/rows", client=client).to_json() == alone.to_json()


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_worker_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay: float) -> None:
    """Others do its work, and the result has the same bytes."""
    given = [str(path) for path in lesions(tmp_path, 12_000)]
    expected = medcontract.score(*given, jobs=1).to_json()
    monkeypatch.setattr(chunks, "SMALLEST", 20_000)
    monkeypatch.setattr(chunks, "LARGEST", 40_000)
    real = dask_pool.DaskPool.map
    with dask_pool.connected(None, 2) as client:
        victims = list(client.run(os.getpid).values())
        killer = threading.Timer(delay, os.kill, (victims[0], signal.SIGKILL))

        def then_kill(*arguments: Any) -> Any:
            if not killer.is_alive() and not killer.finished.is_set():
                killer.start()
            return real(*arguments)

        monkeypatch.setattr(dask_pool.DaskPool, "map", then_kill)
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


def test_a_local_cluster_refuses_others(client: Any, tmp_path: Path) -> None:
    """Whoever reaches its ports, without its certificate or with another one, can neither run code nor read a page."""
    other = distributed.security.Security.temporary()
    (tmp_path / "other.pem").write_text(other.tls_client_key + other.tls_client_cert)
    anonymous, stranger = (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(2))
    stranger.load_cert_chain(tmp_path / "other.pem")
    mine = psutil.Process()
    processes = (mine, *mine.children(recursive=True))
    listening = {each.laddr for process in processes for each in process.net_connections() if each.status == "LISTEN"}
    assert {host for host, _ in listening} == {"127.0.0.1"}
    assert len(listening) >= 8  # a scheduler, two nannies and two workers; HTTP servers of three of them
    for host, port in listening:
        with pytest.raises(OSError, match=r"reset|404|closed connection") as caught:
            urllib.request.urlopen(f"http://{host}:{port}/info/main/workers.html", timeout=10).close()
        if isinstance(caught.value, urllib.error.HTTPError):  # a server without pages
            continue
        for context in (anonymous, stranger):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with (
                socket.create_connection((host, port), timeout=10) as plain,
                pytest.raises((ssl.SSLError, ConnectionResetError)),
                context.wrap_socket(plain) as encrypted,
            ):
                encrypted.recv(1)
    with pytest.raises(OSError, match=r"(?i)timed out|reset|closed"):
        distributed.Client(client.scheduler.address.replace("tls", "tcp"), timeout=2)
    with distributed.Client(client.scheduler.address, security=client.security, set_as_default=False) as same:
        assert same.submit(os.getpid).result() != os.getpid()


def test_a_scheduler_with_tls(call: Call, tmp_path: Path, client: Any) -> None:
    """Its certificate is in the configuration of Dask."""
    import dask

    given = lesions(tmp_path, 300)
    keys = client.security
    names = {"ca-file": keys.tls_ca_file, "client.key": keys.tls_client_key, "client.cert": keys.tls_client_cert}
    options = ("--engine", "dask", "--scheduler", client.scheduler.address)
    with dask.config.set({f"distributed.comm.tls.{name}": value for name, value in names.items()}):
        assert call("score", *given, *options) == call("score", *given)
    assert call("score", *given, *options).code == 2


def test_a_scheduler_that_goes(
    call: Call, tmp_path: Path, scheduler: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the work: a clear error, and no hang."""
    import dask

    truth, sent = lesions(tmp_path, 30_000)
    monkeypatch.setattr(chunks, "SMALLEST", 20_000)
    monkeypatch.setattr(chunks, "LARGEST", 20_000)
    address, running = scheduler
    real = dask_pool.DaskPool.map

    def gone(*arguments: Any) -> Any:
        running.kill()
        running.wait()
        return real(*arguments)

    monkeypatch.setattr(dask_pool.DaskPool, "map", gone)
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        ran = call("score", truth, sent, "--engine", "dask", "--scheduler", address)
    assert (ran.code, ran.out) == (2, "")
    assert "the connection to the Dask scheduler was lost" in ran.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"], "is it running?"),
        (["--engine", "dask", "--scheduler", "nowhere"], "cannot connect to the Dask scheduler 'nowhere'"),
        (["--engine", "dask", "--scheduler", ""], "pass its address, such as tcp://10.0.0.5:8786"),
        (["--engine", "dask", "--scheduler", "http://a:1"], "pass its address, such as tcp://10.0.0.5:8786"),
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler requires --engine dask"),
    ],
)
def test_no_scheduler(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str) -> None:
    monkeypatch.setattr(dask_pool, "TIMEOUT", 1)
    _, sent = lesions(tmp_path, 10)
    ran = call("validate", sent, *given)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_no_client(client: Any, tmp_path: Path) -> None:
    _, sent = lesions(tmp_path, 10)
    with pytest.raises(CallError, match=r"client must be a distributed\.Client, not str"):
        medcontract.validate(sent, client="tcp://127.0.0.1:9")
    with pytest.raises(CallError, match="both a scheduler and a client are given"):
        medcontract.validate(sent, client=client, engine="dask", scheduler="tcp://127.0.0.1:9")
    other = SimpleNamespace(submit=None, nthreads=None, asynchronous=True)
    with pytest.raises(CallError, match="the client is asynchronous"):
        medcontract.validate(sent, client=other)


def test_other_versions(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sent = lesions(tmp_path, 10)
    mine = versions.result_versions()
    for name in ("medcontract", "Unidecode"):
        monkeypatch.setattr(dask_pool, "_mine", lambda name=name: {**mine, name: "0.0.1"})
        with pytest.raises(CallError, match=rf"has {name} .*, this process 0\.0\.1"):
            medcontract.validate(sent, client=client)


@pytest.mark.parametrize("package", ["distributed", "cryptography"])
def test_without_the_extra(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    _, sent = lesions(tmp_path, 10)
    with pytest.raises(CallError, match=r"pip install 'medcontract\[dask\]'"):
        medcontract.validate(sent, engine="dask")


def test_a_chunk_that_cannot_be_read(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem of the file."""
    from medcontract.parallel import merge as parallel

    _, sent = lesions(tmp_path, 300)
    real = parallel._begin

    def then_gone(*arguments: Any) -> Any:
        begun = real(*arguments)
        sent.unlink()
        return begun

    monkeypatch.setattr(parallel, "_begin", then_gone)
    report = medcontract.validate_files([sent], client=client)
    assert [problem.code for problem in report] == ["MC003"]


def test_a_terminated_call_leaves_no_processes(tmp_path: Path) -> None:
    _, sent = lesions(tmp_path, 40_000)
    sent.write_bytes(sent.read_bytes() * 4)
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "validate", str(sent), "--engine", "dask", "--jobs", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    ) as running:  # fmt: skip
        deadline = time.monotonic() + 60
        while len(children := psutil.Process(running.pid).children(recursive=True)) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        running.terminate()
        assert running.wait(60) == 143
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


WAITING = """
import time
from medcontract.parallel import dask_pool
if __name__ == "__main__":
    try:
        with dask_pool.connected(None, 1):
            print("ready", flush=True)
            time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_workers_ignore_ctrl_c(tmp_path: Path) -> None:
    """A terminal sends it to them, too: they print nothing, and leave no files behind."""
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:  # fmt: skip
        assert running.stdout
        assert running.stdout.readline() == b"ready\n"
        os.killpg(running.pid, signal.SIGINT)
        assert running.communicate(timeout=60) == (b"interrupted\n", b"")
    assert list((tmp_path / "temporary").iterdir()) == []
