"""Files at addresses: object stores, web servers and memory give the results of local files."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, TRUTH, Call, all_files, beside_files, sent_file, truth_file
from tests.remote_files import WebServer, forget_connections, forget_files, object_store, web_server

import medcontract
from medcontract.addresses import Address, hide_credentials
from medcontract.errors import CallError, FileChanged
from medcontract.reading import chunks, remote
from medcontract.reading.source import open_source

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")

LINES = "".join(json.dumps(record) + "\n" for record in SENT["lesions"]).encode()
LONG = LINES.replace(b"\n", b" " * 500 + b"\n")
"""More than the first bytes, which are read before the contract is known."""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with web_server() as server:
        yield server
    forget_connections()


@pytest.fixture
def plain_web() -> Iterator[WebServer]:
    """A web server without range requests."""
    with web_server(ranges=False) as server:
        yield server
    forget_connections()


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    with object_store() as client:
        client.create_bucket(Bucket="bucket")
        yield client


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    forget_files()


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int = 256) -> None:
    monkeypatch.setattr(remote, "BLOCK", size)


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return buffer.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


# --- what can be read -------------------------------------------------------------------------------------------------


def test_kinds_of_files(web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain, gzipped and archived files are read in blocks, with the same report as a local file."""
    small_blocks(monkeypatch)
    broken = LINES.replace(b'"I-07"', b'"I-06"')
    kinds = {
        "a.jsonl": broken, "a.jsonl.gz": gzip.compress(broken), "z.zip": zipped(sub__a_jsonl=broken),
        "t.tar.gz": tarred("sub/a.jsonl", broken),
    }  # fmt: skip
    for name, data in kinds.items():
        (tmp_path / name).write_bytes(data)
        web.files[f"/{name}"] = data
        inside = "!/sub/a.jsonl" if name[0] in "zt" else ""
        local = medcontract.validate(f"{tmp_path / name}{inside}")
        there = medcontract.validate(f"{web.address}/{name}{inside}")
        assert there.path == f"{web.address}/{name}{inside}"
        assert there.problems == local.problems != ()
        assert medcontract.validate_files(f"{web.address}/{name}").files[0].problems == local.problems
    assert max(len(kinds[name]) for name in kinds) > 1000
    assert all(int(each.split("-")[1]) - int(each.split("=")[1].split("-")[0]) < 512 for each in web.requests)


def test_parquet(web: WebServer, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from medcontract.contracts.lesion_classes import CLASSES

    rows = [{"image_id": r["image_id"], **dict(zip(CLASSES, r["probabilities"], strict=True))} for r in SENT["lesions"]]
    path = tmp_path / "sent.parquet"
    pandas.DataFrame(rows).to_parquet(path)
    web.files["/sent.parquet"] = path.read_bytes()
    local, there = medcontract.validate(path), medcontract.validate(f"{web.address}/sent.parquet")
    assert (there.records, there.ok, there.problems) == (local.records, local.ok, local.problems) == (20, True, ())


@pytest.mark.parametrize("track", TRUTH)
def test_score(track: str, memory: Any, tmp_path: Path, call: Call) -> None:
    """A score of addresses is the same as of local files, byte for byte: names of files are base names."""
    paths = all_files(tmp_path, track)
    for path in paths:
        memory.pipe_file(f"/data/{path.name}", path.read_bytes())
    local = call("score", *paths, "--format", "json")
    assert call("score", *(f"memory://data/{path.name}" for path in paths), "--format", "json") == local
    assert call("score", "memory://data/", "--format", "json") == local


def test_options(memory: Any, tmp_path: Path, call: Call) -> None:
    """Files of options, and CONTRACT=ADDRESS."""
    truth, sent, model = all_files(tmp_path, "lesions")
    assert call("protocol", "freeze", "lesions", "--out", tmp_path / "p.json").code == 0
    for name in ("truth.json", "sent.json", model.name, "p.json"):
        memory.pipe_file(f"/{name}", (tmp_path / name).read_bytes())
    wanted = call("score", truth, sent, model, "--protocol", tmp_path / "p.json", "--format", "json")
    found = call(
        "score", "lesions/truth=memory://truth.json", "lesions/predictions=memory://sent.json", f"memory://{model.name}",
        "--protocol", "memory://p.json", "--format", "json",
    )  # fmt: skip
    assert found == wanted
    memory.pipe_file("/score.json", wanted.out.encode())
    (tmp_path / "score.json").write_text(wanted.out, encoding="utf-8")
    assert call("compare", "memory://score.json", "memory://score.json").code == 0
    assert call("validate", "medcontract/score=memory://score.json").code == 0
    assert len(medcontract.load("memory://truth.json").value.labels) == 20
    assert call("template", "lesions/predictions", "--cases", "memory://truth.json").code == 0


def test_challenge(memory: Any, call: Call) -> None:
    assert call("challenge", "new", "demo").code == 0
    for path in Path("demo").rglob("*"):
        if path.is_file():
            memory.pipe_file(f"/{path.as_posix()}", path.read_bytes())
    file = next(Path("demo").glob("*.toml"))
    example = next(path for path in Path("demo").iterdir() if path.is_dir())
    local = call("validate", example, "--challenge", file, "--format", "json")
    found = call("validate", f"memory://{example}", "--challenge", f"memory://{file}", "--format", "json")
    assert (found.code, found.out.replace("memory://", "")) == (local.code, local.out)
    assert call("challenge", "check", f"memory://{file}").code == 0


@pytest.mark.slow
def test_leaderboard(store: Any, tmp_path: Path, call: Call) -> None:
    """Submissions in an object store: by pattern, as folders, archives and files, with measurements, in workers."""
    truth = truth_file(tmp_path, "lesions")
    for team in ("heron", "crane"):
        folder = tmp_path / "teams" / team
        sent_file(folder, "lesions", name="out.json")
        beside_files(folder, "lesions")
        beside_files(tmp_path / "measured" / team, "lesions", team_name=team)
    (tmp_path / "teams" / "stork.zip").write_bytes(
        zipped(out_json=(tmp_path / "teams" / "heron" / "out.json").read_bytes())
    )
    (tmp_path / "teams" / "README.md").write_text("hello", encoding="utf-8")
    for path in [truth, *tmp_path.glob("teams/**/*"), *tmp_path.glob("measured/**/*")]:
        if path.is_file():
            store.put_object(Bucket="bucket", Key=path.relative_to(tmp_path).as_posix(), Body=path.read_bytes())
    store.put_object(Bucket="bucket", Key="teams/.hidden/out.json", Body=b"{}")
    local = sorted((tmp_path / "teams").iterdir())
    options = ("--format", "json", "--measured")
    wanted = call("leaderboard", truth, *local, *options, tmp_path / "measured")
    assert wanted.code == 0
    assert len(wanted.json["submissions"]) == 3
    for jobs in ((), ("--jobs", 2)):
        address = "s3://bucket/teams/*"
        found = call("leaderboard", "s3://bucket/truth.json", address, *options, "s3://bucket/measured", *jobs)
        assert found == wanted
    excluded = call("leaderboard", truth, "s3://bucket/teams/heron", "--exclude", "out*", "--format", "json")
    assert "excluded" not in excluded.err
    assert excluded.code == 1


def test_preflight(store: Any, tmp_path: Path, call: Call) -> None:
    """Also the files that a document names are found in the object store."""
    for path in [*all_files(tmp_path, "lesions"), tmp_path / "infer.py"]:
        store.put_object(Bucket="bucket", Key=f"sub/{path.name}", Body=path.read_bytes())
    (tmp_path / "s").mkdir()
    found, local = call("preflight", "s3://bucket/sub/", "--format", "json"), call("preflight", tmp_path)
    assert (found.code, local.code) == (0, 0)
    assert {"id": "inference-script", "status": "passed"}.items() <= next(
        check for check in found.json["checks"] if check["id"] == "inference-script"
    ).items()
    store.delete_object(Bucket="bucket", Key="sub/infer.py")
    found = call("preflight", "s3://bucket/sub/", "--format", "json")
    assert (found.code, "MC311" in found.out) == (1, True)


def test_patterns(store: Any, call: Call) -> None:
    for name in ("p/a1.jsonl", "p/a2.jsonl", "p/b.jsonl", "p/deep/a3.jsonl"):
        store.put_object(Bucket="bucket", Key=name, Body=LINES)

    def paths(pattern: str) -> list[str]:
        ran = call("validate", pattern, "--contract", "lesions/predictions", "--format", "json")
        assert ran.code == 0
        return [file["path"].removeprefix("s3://bucket/p/") for file in ran.json["files"]]

    assert paths("s3://bucket/p/a?.jsonl") == ["a1.jsonl", "a2.jsonl"]
    assert paths("s3://bucket/p/**/a*.jsonl") == ["a1.jsonl", "a2.jsonl", "deep/a3.jsonl"]
    assert paths("s3://bucket/p/*") == ["a1.jsonl", "a2.jsonl", "b.jsonl", "deep/a3.jsonl"]
    assert paths("s3://bucket/p") == paths("s3://bucket/p/") == ["a1.jsonl", "a2.jsonl", "b.jsonl", "deep/a3.jsonl"]
    ran = call("validate", "s3://bucket/p/x*")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2, "medcontract: s3://bucket/p/x*: no file or folder matches this pattern"
    )  # fmt: skip
    assert "in archives" in call("validate", "s3://bucket/p/*.zip!/a.json").err


def test_without_range_requests(plain_web: WebServer, tmp_path: Path) -> None:
    """The file is downloaded once; an archive is refused with the reason."""
    plain_web.files.update({"/a.jsonl": LINES, "/a.jsonl.gz": gzip.compress(LINES), "/a.zip": zipped(a_jsonl=LINES)})
    for name in ("a.jsonl", "a.jsonl.gz"):
        plain_web.requests.clear()
        assert medcontract.validate(f"{plain_web.address}/{name}", "lesions/predictions").records == 20
        assert len(plain_web.requests) == 2  # the first asks for a range
    problem = medcontract.validate_files(f"{plain_web.address}/a.zip").problems[0]
    assert (problem.code, problem.hint) == ("MC003", "download it, and pass the file")
    assert "cannot send parts" in problem.message


def test_presigned_urls(web: WebServer) -> None:
    """A presigned URL is for GET only: a server that refuses HEAD is asked with GET."""
    web.allows_head, web.signature = False, "X-Amz-Signature=right"
    web.files.update({"/a.jsonl": LINES, "/a.zip": zipped(a_jsonl=LINES), "/a.jsonl.gz": gzip.compress(LONG)})
    for name in ("a.jsonl", "a.zip", "a.jsonl.gz"):
        report = medcontract.validate_files(f"{web.address}/{name}?X-Amz-Signature=right")
        assert (report.ok, report.files[0].records) == (True, 20)
    assert problem_of(f"{web.address}/a.jsonl?X-Amz-Signature=wrong") == (
        "MC003", "the file cannot be read: permission denied (status 403)", True
    )  # fmt: skip
    assert problem_of(f"{web.address}/b.jsonl?X-Amz-Signature=right") == ("MC001", "no such file", True)


def test_empty_file(web: WebServer) -> None:
    web.files["/a.jsonl"] = b""
    assert [p.code for p in medcontract.validate(f"{web.address}/a.jsonl", "lesions/predictions")] == ["MC004"]


def test_reopened_in_another_process(memory: Any) -> None:
    """An address survives pickling with its credentials, and a source can be opened again from it."""
    address = Address("https://user:SECRET@host/s.zip?sig=SECRET!/a.csv")
    copy = pickle.loads(pickle.dumps(address))  # noqa: S301  # written above
    assert (copy, copy.full, type(copy)) == (address, address.full, Address)
    memory.pipe_file("/a.jsonl", LINES)
    source = open_source("memory://a.jsonl")
    assert source.address is not None
    again = open_source(source.address)
    again.prepare()
    assert (again.read(0, 10), again.location) == (LINES[:10], None)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc")
def test_memory_use(web: WebServer, tmp_path: Path) -> None:
    """Validating 100 MB from a web server takes a few blocks of memory, not the size of the file."""
    code = """
import pathlib, sys
import medcontract
report = medcontract.validate(sys.argv[1], "lesions/predictions")
status = pathlib.Path("/proc/self/status").read_text()  # ru_maxrss may belong to the parent process
print(report.records, report.errors, int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""

    def megabytes(count: int, size: int) -> int:
        texts = (json.dumps({**SENT["lesions"][0], "image_id": f"I-{n}"}) for n in range(count))
        web.files["/a.jsonl"] = b"".join(text.encode().ljust(size) + b"\n" for text in texts)
        command = [sys.executable, "-c", code, f"{web.address}/a.jsonl"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        records, errors, used = map(int, ran.stdout.split())
        assert (records, errors) == (count, 0)
        return used

    assert megabytes(1000, 100_000) - megabytes(10, 0) < 60


# --- what goes wrong --------------------------------------------------------------------------------------------------


def problem_of(address: str) -> tuple[str, str, bool]:
    report = medcontract.validate(address)
    return report.problems[0].code, report.problems[0].message, report.usage_error


def test_errors(store: Any, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read is reported like a local file, with a reason."""
    assert problem_of("s3://bucket/nothing.json") == ("MC001", "no such file", True)
    assert problem_of("s3://no-such-bucket/a.json") == ("MC001", "no such file", True)
    store.put_object(Bucket="bucket", Key="folder/a.json", Body=b"{}")
    assert problem_of("s3://bucket/folder") == ("MC002", "this is a folder, not a file", True)
    assert problem_of(f"{web.address}/nothing.json") == ("MC001", "no such file", True)
    web.password = "right"  # noqa: S105  # of a test server
    assert problem_of(f"{web.address}/a.json") == (
        "MC003", "the file cannot be read: permission denied (status 401)", True
    )  # fmt: skip
    assert problem_of("http://127.0.0.1:1/a.json") == (
        "MC003", "the file cannot be read: the server cannot be reached", True
    )  # fmt: skip
    with pytest.raises(CallError, match="ftp:// is not supported"):
        medcontract.validate_files("ftp://host/a.json")


@pytest.mark.parametrize(
    ("status", "message"),
    [(403, "permission denied (status 403)"), (404, "no such file"), (503, "the server failed (status 503)"),
     (400, "the storage failed (AzureError)"), (None, "the storage failed (AzureError)")],
)  # fmt: skip
def test_status_of_an_exception(status: int | None, message: str) -> None:
    """Exceptions of Azure have the status of the server."""

    class AzureError(Exception):
        status_code = status

    def fail() -> None:
        raise AzureError("https://host/?sig=MARKER")

    with pytest.raises(OSError, match=re.escape(message)) as caught:
        remote.ask_storage(fail)
    assert "MARKER" not in f"{caught.value}{caught.value.__context__}"


def test_call_errors(web: WebServer, tmp_path: Path, call: Call) -> None:
    truth = truth_file(tmp_path, "lesions")
    ran = call("leaderboard", truth, f"{web.address}/nothing.json")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2, f"medcontract: {web.address}/nothing.json: no such file or folder"
    )  # fmt: skip
    assert call("leaderboard", truth, truth, "--measured", "memory://nothing").code == 2
    assert call("score", truth, f"{web.address}/nothing.json").code == 2
    assert call("validate", f"{web.address}/nothing.json").code == 2


@pytest.mark.parametrize("arguments", [
    ("validate", "{truth}", "--out", "s3://bucket/out.json"),
    ("score", "{truth}", "{truth}", "--format", "json", "--out", "https://host/out.json?sig=MARKER"),
    ("leaderboard", "{truth}", "{truth}", "--reports", "s3://bucket/reports"),
    ("init", "lesions", "s3://bucket/demo"),
    ("schema", "export", "s3://bucket/schemas"),
    ("validate", "{truth}", "--images", "s3://bucket/images"),
    ("validate", "{truth}", "--schema", "s3://bucket/schema.json"),
    ("fix", "s3://bucket/a.json"),
    ("challenge", "new", "s3://bucket/demo"),
    ("bundle", "codabench", "--truth", "{truth}", "--out", "s3://bucket/out"),
    ("validate", "{truth}", "--plugin", "https://user:MARKER@host/plugin.py"),
])  # fmt: skip
def test_not_supported(arguments: tuple[str, ...], tmp_path: Path, call: Call) -> None:
    """Where only a path is supported, an address is a usage error, and nothing is created."""
    truth = truth_file(tmp_path / "in", "lesions")
    ran = call(*(each.format(truth=truth) for each in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert "an address is not supported" in ran.err
    assert "MARKER" not in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [("s3://b/a.json", "s3fs", "s3"), ("gs://b/a.json", "gcsfs", "gs"), ("abfs://b/a.json", "adlfs", "azure"),
     ("https://h/a.json", "aiohttp", "remote"), ("memory://a.json", "fsspec", "remote")],
)  # fmt: skip
def test_missing_package(address: str, package: str, extra: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    ran = call("validate", address)
    assert (ran.code, ran.err) == (
        2, f"medcontract: {package} is not installed\n  hint: pip install 'medcontract[{extra}]'\n"
    )  # fmt: skip


def test_connection_lost(web: WebServer) -> None:
    """A response that stops in the middle is requested again, a few times."""
    web.files["/a.jsonl"] = LINES
    web.drop_connections = 2
    assert medcontract.validate(f"{web.address}/a.jsonl", "lesions/predictions").ok
    forget_files()
    web.drop_connections = 100
    assert problem_of(f"{web.address}/a.jsonl")[1] == "the file cannot be read: the connection was lost"


def fail_after(web: WebServer, requests: int, failures: int) -> None:
    """Let the server fail this many times, once it has answered some requests."""
    last = len(web.requests) + requests

    def before() -> None:
        if len(web.requests) == last:
            web.failures, web.before = failures, lambda: None

    web.before = before


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("requests", [12, 20])
def test_server_failure_in_the_middle(
    requests: int, jobs: int, web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that the server fails to answer is sent again, a few times; then the file cannot be read."""
    small_blocks(monkeypatch)
    monkeypatch.setattr(chunks, "SMALLEST", 2000)
    monkeypatch.setattr(remote, "_PAUSES", (0.0, 0.0))
    truth, address = truth_file(tmp_path, "lesions"), f"lesions/predictions={web.address}/a.jsonl"
    web.files["/a.jsonl"] = LONG

    def score(jobs: int) -> str:
        forget_files()
        return medcontract.score(truth, address, header={"team_name": "x"}, jobs=jobs).to_json()

    expected = score(1)
    fail_after(web, requests, 2)
    assert score(jobs) == expected
    fail_after(web, requests, 10_000)
    with pytest.raises(medcontract.MedcontractError, match=r"server failed \(status 500\)"):
        score(jobs)


def test_changed_on_a_web_server(web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    web.files["/a.jsonl"] = LONG
    web.before = lambda: web.files.update({"/a.jsonl": LONG + b"\n"}) if len(web.requests) > 20 else None
    code, message, usage_error = problem_of(f"{web.address}/a.jsonl")
    assert (code, usage_error) == ("MC003", False)
    assert "it changed while it was read" in message


def test_changed_in_an_object_store(store: Any, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found when the end of the file is reached: refused as for local files."""
    small_blocks(monkeypatch, 2048)
    truth, model = truth_file(tmp_path, "lesions"), beside_files(tmp_path, "lesions")
    store.put_object(Bucket="bucket", Key="changing.jsonl", Body=LONG)
    read = remote.RemoteFile.readinto

    def change(self: remote.RemoteFile, buffer: bytearray) -> int:
        if self.tell() > 6000:
            store.put_object(Bucket="bucket", Key="changing.jsonl", Body=LONG.replace(b"I-00", b"I-99"))
        return read(self, buffer)

    monkeypatch.setattr(remote.RemoteFile, "readinto", change)
    ran = call("validate", "s3://bucket/changing.jsonl")
    assert ran.code == 1
    assert "it changed while it was read" in ran.out
    store.put_object(Bucket="bucket", Key="changing.jsonl", Body=LONG)
    with pytest.raises(FileChanged, match="it changed while it was read"):
        medcontract.score(truth, "s3://bucket/changing.jsonl", *model, header={"team_name": "x"})


# --- credentials ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("full", "shown"), [
    ("https://user:MARKER@host/a.json?sig=MARKER#MARKER", "https://host/a.json"),
    ("https://MARKER@host:80/a.json", "https://host:80/a.json"),
    ("https://user:MAR/KER@host/a.json", "https://host/a.json"),
    ("https://user:MAR?KER@host/a.json", "https://host/a.json"),
    ("HTTPS://user:MAR@KER@host/a.json", "HTTPS://host/a.json"),
    ("https://[::1]:80/@team/a.json", "https://[::1]:80/@team/a.json"),
    ("https://host:8080/@team/a.json", "https://host:8080/@team/a.json"),
    ("s3://key:MARKER@bucket/a?.json", "s3://bucket/a?.json"),
    ("abfs://container@account.dfs.core.windows.net/a", "abfs://container@account.dfs.core.windows.net/a"),
    ("abfs://container/a.json?sv=1&sig=MARKER", "abfs://container/a.json"),
    ("https://host/s.zip?sig=MARKER!/a.csv", "https://host/s.zip!/a.csv"),
])  # fmt: skip
def test_shown_address(full: str, shown: str) -> None:
    assert (Address(full), repr(Address(full)), f"{Address(full)}") == (shown, repr(shown), shown)
    assert hide_credentials(f"see '{full}': x") == f"see '{shown}': x"


FORMATS = ("text", "json", "markdown", "html", "csv", "github", "gitlab", "sarif", "junit")


@pytest.mark.parametrize("form", FORMATS)
def test_credentials_are_never_printed(form: str, web: WebServer, tmp_path: Path, call: Call) -> None:
    """Neither in results nor in messages, whether the file is read or not."""
    web.files["/a.jsonl"], web.files["/bad.jsonl"] = LINES, LINES[:-50]
    web.password, web.signature = "MARKER1", "X-Amz-Signature=MARKER2"
    start = f"http://user:MARKER1@{web.address.removeprefix('http://')}"
    right, wrong = "?X-Amz-Signature=MARKER2", "?X-Amz-Signature=MARKER3"
    for name in ("a.jsonl", "bad.jsonl", "nothing.jsonl", "b.zip", "a.zip!/b.csv", "*.json"):
        for query in (right, wrong):
            inside = name.replace("!", f"{query}!") if "!" in name else name + query
            ran = call("validate", f"{start}/{inside}", "--format", form, "--show-values")
            assert "MARKER" not in ran.out + ran.err
            read = {"a.jsonl": 0, "bad.jsonl": 1} if query == right else {}
            assert ran.code == read.get(name, 2)


@pytest.mark.parametrize(
    "command", ["score", "preflight", "leaderboard", "compare", "template", "protocol", "nonsense"]
)
def test_credentials_in_other_commands(
    command: str, web: WebServer, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDCONTRACT_DEBUG", "1")
    truth = truth_file(tmp_path, "lesions")
    web.files["/a.jsonl"] = LINES
    web.password = "MARKER1"  # noqa: S105  # of a test server
    for password in ("MARKER1", "MARKER9"):
        address = f"http://user:{password}@{web.address.removeprefix('http://')}/a.jsonl?sig=MARKER2"
        calls: dict[str, list[tuple[object, ...]]] = {
            "score": [("score", truth, address), ("score", address), ("score", truth, truth, "--protocol", address)],
            "preflight": [("preflight", address), ("preflight", f"lesions/predictions={address}", truth)],
            "leaderboard": [("leaderboard", truth, address, address.replace("a.jsonl", "nothing.csv")),
                            ("leaderboard", address, truth), ("leaderboard", truth, truth, "--measured", address)],
            "compare": [("compare", address, address)],
            "template": [("template", "lesions/predictions", "--cases", address)],
            "protocol": [("protocol", "check", address)],
            "nonsense": [(address,), ("validate", "--jobs", address), ("validate", truth, "--contract", address)],
        }  # fmt: skip
        for arguments in calls[command]:
            ran = call(*arguments)
            assert "MARKER" not in ran.out + ran.err, arguments


def test_credentials_in_python(web: WebServer, store: Any) -> None:
    """Neither in exceptions nor in what they were caused by."""
    import traceback

    for address in (f"{web.address}/a.json?sig=MARKER", "http://user:MARKER@127.0.0.1:1/a.json", "s3://MARKER:x@b/a"):
        with pytest.raises(CallError) as caught:
            medcontract.load(address)
        found: BaseException | None = caught.value
        assert "MARKER" not in "".join(traceback.format_exception(caught.value)[-3:])
        while found is not None:
            assert "MARKER" not in f"{found!r}{found}"
            found = found.__context__


def test_environment_is_never_printed(store: Any, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are in environment variables; a server that rejects them quotes them in its answer."""
    monkeypatch.setenv("MEDCONTRACT_DEBUG", "1")
    store.put_object(Bucket="bucket", Key="a.jsonl", Body=LINES)
    for address in ("s3://bucket/a.jsonl", "s3://bucket/no.jsonl", "s3://no-such-bucket/a.jsonl", "s3:///", "s3://"):
        ran = call("validate", address)
        assert "SECRET" not in ran.out + ran.err


def test_rejected_by_an_object_store(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as refusing:
        refusing.signature = "never"
        monkeypatch.setenv("AWS_ENDPOINT_URL", refusing.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "MARKER1")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "MARKER2")
        pytest.importorskip("s3fs", reason="s3fs is not installed")
        forget_connections()
        ran = call("validate", "s3://bucket/a.json")
    forget_connections()
    assert ran.code == 2
    assert "permission denied" in ran.out or "the storage failed" in ran.out
    assert "MARKER" not in ran.out + ran.err
