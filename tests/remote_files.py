"""Servers for tests of addresses: a web server with or without range requests, and an object store."""

from __future__ import annotations

import base64
import re
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class WebServer(ThreadingHTTPServer):
    """Serves bytes by path."""

    daemon_threads = True

    def __init__(self, ranges: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.ranges = ranges
        self.password: str | None = None
        """Required from the user `user`."""
        self.signature: str | None = None
        """Required as the query."""
        self.allows_head = True
        """Whether HEAD is allowed: a presigned URL of an object store is for GET only."""
        self.requests: list[str] = []
        """The ranges that were requested with GET."""
        self.sent = 0
        self.drop_connections = 0
        """How many of the next responses stop in the middle."""
        self.failures = 0
        """How many of the next responses have the status 500."""
        self.before: Callable[[], object] = lambda: None
        """Called before each response."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing if a client is gone: workers are killed with their connections."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: WebServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it delays each response by 40 ms

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in the base class
        """Print nothing."""

    def do_HEAD(self) -> None:
        if self.server.allows_head:
            self.do_GET()
        else:
            self._respond(403, b"")

    def do_GET(self) -> None:
        server = self.server
        server.before()
        if server.failures:
            server.failures -= 1
            return self._respond(500, b"")
        path, _, query = self.path.partition("?")
        login = base64.b64encode(f"user:{server.password}".encode()).decode()
        if server.password and self.headers.get("Authorization") != f"Basic {login}":
            return self._respond(401, b"")
        if server.signature and query != server.signature:
            return self._respond(403, b"")
        data = server.files.get(path)
        if data is None:
            return self._respond(404, b"")
        if self.command == "HEAD":
            return self._respond(200, data, whole=data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        server.requests.append(self.headers.get("Range", ""))
        if not wanted or not server.ranges:
            return self._respond(200, data, whole=data)
        start, end = int(wanted[1]), min(int(wanted[2]) + 1, len(data))
        if start >= len(data):
            return self._respond(416, b"", f"bytes */{len(data)}")
        return self._respond(206, data[start:end], f"bytes {start}-{end - 1}/{len(data)}", data)

    def _respond(self, status: int, body: bytes, content_range: str = "", whole: bytes | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if content_range:
            self.send_header("Content-Range", content_range)
        if whole is not None:
            self.send_header("ETag", f'"{zlib.crc32(whole):x}"')
        self.end_headers()
        if self.command == "HEAD":
            return
        self.server.sent += len(body)
        if self.server.drop_connections and body:
            self.server.drop_connections -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)


@contextmanager
def web_server(ranges: bool = True) -> Iterator[WebServer]:
    """A running web server."""
    with WebServer(ranges) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def object_store() -> Iterator[Any]:
    """A running object store, as a boto3 client; its environment variables are set meanwhile."""
    pytest.importorskip("moto", reason="moto is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    pytest.importorskip("flask_cors", reason="flask-cors is not installed")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ACCESS_KEY_ID": "AKIAMARKER0SECRET", "AWS_SECRET_ACCESS_KEY": "MARKER1SECRET",
        "AWS_SESSION_TOKEN": "MARKER2SECRET", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        forget_connections()
        try:
            yield boto3.client("s3", config=boto3.session.Config(s3={"addressing_style": "path"}))
        finally:
            forget_connections()
            server.stop()


def forget_files() -> None:
    """Forget what is known of files at addresses, as a new process does."""
    from medcontract.reading import remote

    remote._info_at.cache_clear()
    remote._sends_parts.cache_clear()
    remote._opened.cache_clear()


def forget_connections() -> None:
    """Forget filesystems, which keep the environment variables of their first use, and what was read."""
    import fsspec

    from medcontract.reading import remote

    forget_files()
    remote._filesystem.cache_clear()
    for name in ("s3", "http", "memory"):
        fsspec.get_filesystem_class(name).clear_instance_cache()
