"""Files in Google Cloud Storage: an emulator gives the results of local files.

Needs `pip install 'medcontract[gs]' gcp-storage-emulator`, which is not a part of the extra `dev`.
"""

from __future__ import annotations

import json
import socket
import socketserver
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, Call, all_files
from tests.fake_cluster import Cluster
from tests.remote_files import forget_connections

import medcontract
from medcontract.reading import chunks

emulator = pytest.importorskip("gcp_storage_emulator.server", reason="gcp-storage-emulator is not installed")
LINES = "".join(json.dumps({**SENT["lesions"][0], "image_id": f"I-{n}"}) + "\n" for n in range(1000)).encode()


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """The filesystem of a running emulator; environment variables are set meanwhile, as a user would."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        patch.setenv("FSSPEC_GS_TOKEN", "anon")
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it asks for the kind of bucket, with gRPC
        gcsfs = pytest.importorskip("gcsfs", reason="gcsfs is not installed")
        patch.setattr(socketserver.BaseServer, "handle_error", lambda *arguments: None)  # it would print them
        server = emulator.create_server("127.0.0.1", port, in_memory=True, default_bucket="bucket")
        server.start()
        forget_connections()
        try:
            yield gcsfs.GCSFileSystem(token="anon", endpoint_url=f"http://127.0.0.1:{port}")  # noqa: S106  # no password
        finally:
            server.stop()
            gcsfs.GCSFileSystem.clear_instance_cache()
            forget_connections()


def test_score(store: Any, tmp_path: Path, call: Call) -> None:
    paths = all_files(tmp_path, "lesions")
    for path in paths:
        store.pipe_file(f"bucket/data/{path.name}", path.read_bytes())
    local = call("score", *paths, "--format", "json")
    assert call("score", *(f"gs://bucket/data/{path.name}" for path in paths), "--format", "json") == local
    assert call("score", "gs://bucket/data/", "--format", "json") == local


def test_patterns(store: Any, call: Call) -> None:
    for name in ("p/a1.jsonl", "p/a2.jsonl", "p/deep/a3.jsonl"):
        store.pipe_file(f"bucket/{name}", LINES)

    def paths(pattern: str) -> list[str]:
        ran = call("validate", pattern, "--contract", "lesions/predictions", "--format", "json")
        return [file["path"].removeprefix("gs://bucket/p/") for file in ran.json["files"]]

    assert paths("gs://bucket/p/a?.jsonl") == ["a1.jsonl", "a2.jsonl"]
    assert paths("gs://bucket/p/**/a*.jsonl") == ["a1.jsonl", "a2.jsonl", "deep/a3.jsonl"]
    assert paths("gs://bucket/p/") == ["a1.jsonl", "a2.jsonl", "deep/a3.jsonl"]


def test_chunks(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers request parts of a file."""
    monkeypatch.setattr(chunks, "SMALLEST", 8000)
    store.pipe_file("bucket/large.jsonl", LINES)
    cluster = Cluster()
    report = medcontract.validate("gs://bucket/large.jsonl", "lesions/predictions", client=cluster)
    assert (report.ok, report.records, cluster.tasks > 2) == (True, 1000, True)


def test_errors(store: Any) -> None:
    for address, code in (
        ("gs://bucket/nothing.json", "MC001"),
        ("gs://none/a.json", "MC001"),
        ("gs://bucket/p", "MC002"),
    ):
        store.pipe_file("bucket/p/a.jsonl", LINES)
        assert [problem.code for problem in medcontract.validate(address)] == [code]
