"""A Dask cluster gives the bytes of one process; only the call that started it can use it. Faults: test_faults.py."""

from __future__ import annotations

import json
import os
import random
import socket
import ssl
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.acceptance.test_metric_plugins import BREVITY, PREDICTIONS, REFERENCES, samples
from tests.commands import Call
from tests.random_files import MAKERS, write_files
from tests.remote_files import forget_connections, web_server
from tests.scoring_files import write
from tests.unit.evaluation.test_chunks import lesions
from tests.unit.evaluation.test_chunks_of_containers import as_row, write_parquet, zipped

import medcontract
from medcontract.errors import CallError
from medcontract.parallel import dask_pool, versions
from medcontract.reading import chunks
from medcontract.scoring import custom_metrics, tracks

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
psutil = pytest.importorskip("psutil", reason="needs the extra dask")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as on Linux"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


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


@pytest.mark.parametrize("track", MAKERS)
def test_same_bytes(track: str, tmp_path: Path, client: Any) -> None:
    """Of `validate`, and of `score`."""
    given = write_files(random.Random(f"{track} 0"), track, tmp_path)
    assert score(given, client=client) == score(given, jobs=1)
    validation = medcontract.validate_files(given, jobs=1).to_json(show_values=True)
    assert medcontract.validate_files(given, client=client).to_json(show_values=True) == validation


def test_other_containers(tmp_path: Path, client: Any) -> None:
    """Row groups, files in an archive, and the same at addresses, whose credentials no worker logs."""
    truth, sent = lesions(tmp_path)
    lines = sent.read_bytes().splitlines(keepends=True)
    rows = [as_row(json.loads(line)) for line in lines]
    paths = [sent, write_parquet(tmp_path / "sent.parquet", rows, random.Random(1)), tmp_path / "sent.zip"]
    paths[2].write_bytes(zipped(zipfile.ZIP_DEFLATED, a=b"".join(lines[:150]), b=b"".join(lines[150:])))
    with web_server() as web:
        web.password = "MARKER"  # noqa: S105  # of a test server
        start = f"http://user:MARKER@{web.address.removeprefix('http://')}"
        for path in paths:
            web.files[f"/{path.name}"] = path.read_bytes()
            expected = medcontract.score(truth, path, jobs=1).to_json()
            assert medcontract.score(truth, path, client=client).to_json() == expected
            assert medcontract.score(truth, f"{start}/{path.name}", client=client).to_json() == expected
    forget_connections()
    assert "MARKER" not in f"{client.get_worker_logs()}{client.get_scheduler_logs()}"


def test_metrics_reach_the_workers(tmp_path: Path, client: Any) -> None:
    """Contracts of a plugin that was loaded earlier; a plugin that a worker cannot load is an error."""
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


def test_a_local_cluster_refuses_others(client: Any, tmp_path: Path) -> None:
    """Clients of its ports without its certificate can neither run code nor read a page."""
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

    given = lesions(tmp_path)
    keys = client.security
    names = {"ca-file": keys.tls_ca_file, "client.key": keys.tls_client_key, "client.cert": keys.tls_client_cert}
    options = ("--engine", "dask", "--scheduler", client.scheduler.address)
    with dask.config.set({f"distributed.comm.tls.{name}": value for name, value in names.items()}):
        assert call("score", *given, *options) == call("score", *given)
    assert call("score", *given, *options).code == 2


@pytest.mark.parametrize(("given", "said"), [
    (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"], "is it running?"),
    (["--engine", "dask", "--scheduler", "nowhere"], "cannot connect to the Dask scheduler 'nowhere'"),
    (["--engine", "dask", "--scheduler", ""], "pass its address, such as tcp://10.0.0.5:8786"),
    (["--engine", "dask", "--scheduler", "http://a:1"], "pass its address, such as tcp://10.0.0.5:8786"),
    (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler requires --engine dask"),
])  # fmt: skip
def test_no_scheduler(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str) -> None:
    monkeypatch.setattr(dask_pool, "TIMEOUT", 1)
    _, sent = lesions(tmp_path)
    ran = call("validate", sent, *given)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_no_client(client: Any, tmp_path: Path) -> None:
    _, sent = lesions(tmp_path)
    with pytest.raises(CallError, match=r"client must be a distributed\.Client, not str"):
        medcontract.validate(sent, client="tcp://127.0.0.1:9")
    with pytest.raises(CallError, match="both a scheduler and a client are given"):
        medcontract.validate(sent, client=client, engine="dask", scheduler="tcp://127.0.0.1:9")
    other = SimpleNamespace(submit=None, nthreads=None, asynchronous=True)
    with pytest.raises(CallError, match="the client is asynchronous"):
        medcontract.validate(sent, client=other)


def test_other_versions(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sent = lesions(tmp_path)
    mine = versions.result_versions()
    for name in ("medcontract", "Unidecode"):
        monkeypatch.setattr(client, "run", lambda *_, name=name, **__: {"tcp://b:1": {**mine, name: "0.0.1"}})
        with pytest.raises(CallError, match=rf"the Dask worker tcp://b:1 has {name} 0\.0\.1, this process"):
            medcontract.validate(sent, client=client)


@pytest.mark.parametrize("package", ["distributed", "cryptography"])
def test_without_the_extra(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    _, sent = lesions(tmp_path)
    with pytest.raises(CallError, match=r"pip install 'medcontract\[dask\]'"):
        medcontract.validate(sent, engine="dask")
