"""Parquet files, files at addresses and files in archives give the bytes of one process, however they are divided."""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.fake_cluster import Cluster
from tests.random_files import CLASSES, Record, content, damage, lesion, lesions
from tests.remote_files import WebServer, forget_connections, forget_files, object_store, web_server

import medcontract
from medcontract.addresses import Address
from medcontract.errors import CallError
from medcontract.reading import chunks, remote
from medcontract.reading.chunks import Span, likely_row_end
from medcontract.reading.source import Source

pytest.importorskip("distributed", reason="needs the extra dask")
InChunks = Callable[..., Cluster]
GIVEN = TRUTH, SENT = "lesions/truth", "lesions/predictions"


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> InChunks:
    """Sets the minimum size of a chunk. Returns a cluster."""

    def set_up(workers: int = 2, smallest: int = 500, before: Callable[[int], object] = lambda number: None) -> Cluster:
        monkeypatch.setattr(chunks, "SMALLEST", smallest)
        return Cluster(workers, before)

    return set_up


def results(paths: Sequence[Path | str], **how: Any) -> list[str]:
    """The lines that are printed about a truth and a submission, or why not; without the folder."""
    given = [f"{contract}={path}" for contract, path in zip(GIVEN, paths, strict=True)]
    start = str(paths[1]).rpartition("/")[0]
    found = medcontract.validate_files(given, excerpts=True, **how).to_json(show_values=True)
    try:
        found += medcontract.score(*given, excerpts=True, **how).to_json(show_values=True)
    except medcontract.MedcontractError as error:
        found += str(error)
    return found.replace(f"{start}/", "").splitlines()


# --- Parquet ----------------------------------------------------------------------------------------------------------


def write_parquet(path: Path, rows: Sequence[Record], rng: random.Random, **options: Any) -> Path:
    """Rows in row groups of any sizes, some of them empty."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist(rows)
    at = 0
    with pq.ParquetWriter(path, table.schema, **options) as writer:
        while at < len(rows):
            size = rng.choice([0, 1, 2, 5, 20, 60])
            writer.write_table(table.slice(at, size))
            at += size
    return path


def as_row(record: Record) -> Record:
    values = dict(zip(CLASSES, record.get("probabilities") or (), strict=False))
    return {
        "image_id": record.get("image_id"),
        **{name: values.get(name) for name in CLASSES},
        "error": record.get("error"),
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
def test_row_groups(seed: int, tmp_path: Path, in_chunks: InChunks) -> None:
    """Any sizes of row groups, whatever is wrong with the rows or the bytes."""
    rng = random.Random(seed)
    _, truth, records = lesions(rng)
    rows = [as_row(record) for record in records]
    if rng.random() < 0.3:
        rng.choice(rows)["error"] = "x" * 3000
    if rng.random() < 0.2:
        rows = [{name.replace("image_id", "imageid"): cell for name, cell in row.items()} for row in rows]
    compression = rng.choice(["none", "snappy"])
    paths = [
        write_parquet(tmp_path / "truth.parquet", truth, rng),
        write_parquet(tmp_path / "sent.parquet", rows, rng, compression=compression, data_page_size=200),
    ]
    if rng.random() < 0.2:
        paths[1].write_bytes(damage(rng, paths[1].read_bytes()))
    limits = {"max_problems": rng.choice([3, 100]), "max_alike": rng.choice([None, 1, 3]),
              "max_record": rng.choice([None, 2000]), "max_unpacked": rng.choice([None, None, 20_000])}  # fmt: skip
    expected = results(paths, jobs=1, **limits)
    assert results(paths, client=in_chunks(rng.choice([2, 3, 4]), rng.choice([128, 500])), **limits) == expected


def test_row_groups_are_divided(tmp_path: Path, in_chunks: InChunks) -> None:
    """They are read by different workers, and problems have the number of their row in the file."""
    rows = [as_row(lesion(random.Random(1), number)) for number in range(200)]
    rows[150]["AK"] = 2.0
    path = write_parquet(tmp_path / "sent.parquet", rows, random.Random(3))
    cluster = in_chunks()
    report = medcontract.validate(path, SENT, client=cluster)
    assert (report.records, {problem.record for problem in report}) == (200, {150})
    assert cluster.tasks > 2


PROCESSES = """
import os, sys
import medcontract
from medcontract.parallel import cpus
from medcontract.reading import chunks
chunks.SMALLEST, cpus.WORTH_IT, cpus.allowed = 2000, 2000, lambda: 2
os.register_at_fork(after_in_parent=lambda: print("forked"))
report = medcontract.validate(sys.argv[1], "lesions/predictions", jobs=int(sys.argv[2]) or None)
print(report.records, len(report.problems))
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [2, 0])
def test_row_groups_in_worker_processes(jobs: int, tmp_path: Path) -> None:
    """The footer is read in another process, so that this one starts no threads, and workers can be forked."""
    rows = [as_row(lesion(random.Random(number), number)) for number in range(400)]
    rows[300]["image_id"] = "I-1"
    path = write_parquet(tmp_path / "sent.parquet", rows, random.Random(1))
    command = [sys.executable, "-c", PROCESSES, str(path), str(jobs)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout == "forked\n" * 2 + "400 1\n"


def test_one_row_group_is_not_divided(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"image_id": [str(n) for n in range(5000)]}), path)
    source = Source(path)
    source.prepare()
    assert spans_of(source, 3) == [Span(0, source.size)]


def spans_of(source: Source, workers: int) -> list[Span]:
    from medcontract.validation.dispatch import container_of

    return chunks.spans(source, container_of(source), "predictions", workers)


@pytest.mark.parametrize("chunked", [False, True])
def test_memory_for_parquet(chunked: bool, tmp_path: Path, in_chunks: InChunks) -> None:
    """It is bounded by a row group, in one process and in chunks."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = random.Random(1)
    ids = ["".join(rng.choices("abcdefgh", k=400)) for _ in range(2000)]
    path = tmp_path / "truth.parquet"
    with pq.ParquetWriter(path, pa.schema({"image_id": pa.string(), "label": pa.string()})) as writer:
        for number in range(20):
            names = [f"{number} {each}" for each in ids]
            writer.write_table(pa.table({"image_id": names, "label": ["NV"] * len(ids)}))
    how = {"client": in_chunks(4, 1 << 18)} if chunked else {"jobs": 1}
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counting)
    try:
        report = medcontract.validate(path, TRUTH, **how)
    finally:
        pa.set_memory_pool(before)
    assert (report.ok, report.records) == (True, 40_000)
    assert counting.max_memory() < path.stat().st_size / 2


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    with web_server() as server:
        yield server
    forget_connections()


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    with object_store() as client:
        client.create_bucket(Bucket="bucket")
        yield client


@pytest.fixture(autouse=True)
def _clean(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    if "web" in request.fixturenames:
        server = request.getfixturevalue("web")
        server.files.clear()
        server.requests.clear()
        server.password = server.signature = None
        server.drop_connections, server.before = 0, lambda: None
    forget_files()


def random_files(rng: random.Random, folder: Path) -> list[Path]:
    """A truth and a submission with something wrong, of any containers."""
    contract, truth, records = lesions(rng)
    paths = []
    for name, these in ((GIVEN[0], truth), (contract, records)):
        ending = rng.choice(["json", "jsonl", "csv", "parquet"])
        path = folder / f"{name.partition('/')[2]}.{ending}"
        if ending == "parquet":
            write_parquet(path, these if name == GIVEN[0] else [as_row(each) for each in these], rng)
        else:
            data = content(rng, name, these, ending)
            path.write_bytes(damage(rng, data) if name == contract else data)
        paths.append(path)
    return paths


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(24))
def test_chunks_of_a_web_server(
    seed: int, web: WebServer, tmp_path: Path, in_chunks: InChunks, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    paths = random_files(rng, tmp_path)
    expected = results(paths, jobs=1)
    for path in paths:
        web.files[f"/{path.name}"] = path.read_bytes()
    monkeypatch.setattr(remote, "BLOCK", rng.choice([500, 5000, 4 << 20]))
    monkeypatch.setattr(chunks, "_NEAR_BORDER", rng.choice([100, 400, 128 << 10]))
    cluster = in_chunks(rng.choice([2, 3]), rng.choice([200, 1000]))
    assert results([f"{web.address}/{path.name}" for path in paths], client=cluster) == expected


def jsonl(count: int = 400) -> bytes:
    return b"".join(json.dumps(lesion(random.Random(n), n)).encode() + b"\n" for n in range(count))


def truth_csv(folder: Path, count: int = 400) -> Path:
    path = folder / "truth.csv"
    path.write_text("image_id,label\n" + "".join(f"I-{n},NV\n" for n in range(count)))
    return path


def requested(server: WebServer) -> list[tuple[int, int]]:
    found = [each.removeprefix("bytes=").split("-") for each in server.requests]
    return [(int(start), int(end) + 1) for start, end in found if end != "0"]


def test_each_worker_requests_its_part(web: WebServer, in_chunks: InChunks, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is transferred about once: borders take small requests, and line breaks are counted on the way."""
    monkeypatch.setattr(chunks, "_NEAR_BORDER", 500)
    classes = ",".join(CLASSES)
    table = f"image_id,{classes}\n" + "".join(f"I-{n},1,0,0,0,0,0,0,0,0,0\n" for n in range(4000))
    web.files.update({"/a.jsonl": jsonl(1000), "/a.csv": table.encode()})
    cluster = in_chunks(2, 2000)
    for name, data in web.files.items():
        web.requests.clear()
        forget_files()
        assert medcontract.validate(web.address + name, SENT, client=cluster).ok
        sizes = [end - start for start, end in requested(web)]
        assert sum(size for size in sizes if size > 500) < 2.1 * len(data)  # this process reads the first block
        assert sum(len(data) / 7 < size < len(data) / 5 for size in sizes) == 6


@pytest.mark.slow
def test_object_store_in_chunks(store: Any, tmp_path: Path, in_chunks: InChunks) -> None:
    bad = jsonl().replace(b"I-300", b"I-3").replace(b"I-7", b"J-7")
    (tmp_path / "sent.jsonl").write_bytes(bad)
    paths = [truth_csv(tmp_path), tmp_path / "sent.jsonl"]
    expected = results(paths, jobs=1)
    for path in paths:
        store.put_object(Bucket="bucket", Key=path.name, Body=path.read_bytes())
    cluster = in_chunks()
    assert results([f"s3://bucket/{path.name}" for path in paths], client=cluster) == expected
    assert cluster.tasks > 15


@pytest.mark.slow
def test_worker_processes_open_the_address(web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawned processes, with credentials in the address; the web server counts what is requested."""
    monkeypatch.setattr(chunks, "SMALLEST", 8000)
    data = jsonl(1000).replace(b"I-3,", b"I-4,")
    web.files["/sent.jsonl"], web.password, web.signature = data, "MARKER1", "sig=MARKER2"
    (tmp_path / "sent.jsonl").write_bytes(data)
    expected = medcontract.score(truth_csv(tmp_path, 1000), tmp_path / "sent.jsonl", jobs=1)
    address = f"http://user:MARKER1@{web.address.removeprefix('http://')}/sent.jsonl?sig=MARKER2"
    found = medcontract.score(truth_csv(tmp_path, 1000), address, jobs=2)
    assert found.to_json() == expected.to_json()
    assert sum(10_000 < end - start < 30_000 for start, end in requested(web)) >= 4


def test_workers_without_a_package(monkeypatch: pytest.MonkeyPatch, web: WebServer, in_chunks: InChunks) -> None:
    """It is clear who lacks it; what Dask may log of a task, its arguments, has no credentials."""
    web.files["/a.jsonl"] = jsonl()
    address = web.address.replace("http://", "http://user:MARKER@")
    cluster = in_chunks(before=lambda number: monkeypatch.setitem(sys.modules, "aiohttp", None))
    with pytest.raises(CallError) as caught:
        medcontract.validate(f"{address}/a.jsonl", SENT, client=cluster)
    assert caught.value.message == f"a worker cannot read {web.address}/a.jsonl: aiohttp is not installed"
    assert caught.value.hint == "pip install 'medcontract[remote]'"
    assert f"{web.address}/a.jsonl" in cluster.log
    assert "MARKER" not in cluster.log


def test_a_file_that_changes(web: WebServer, in_chunks: InChunks, tmp_path: Path) -> None:
    """Between the first bytes and the chunks: never a mixture of both versions."""
    web.files["/a.jsonl"] = old = jsonl()
    new = old.replace(b"I-", b"J-")
    for number in (2, 4, 6, 9):
        forget_files()
        web.requests.clear()
        web.files["/a.jsonl"] = old

        def change(most: int = number) -> None:
            if len(web.requests) >= most:
                web.files["/a.jsonl"] = new

        web.before = change
        report = medcontract.validate(f"{web.address}/a.jsonl", SENT, client=in_chunks())
        web.before = lambda: None
        assert [problem.code for problem in report] == ["MC003"]
        assert "it changed while it was read" in report.problems[0].message
        assert not report.usage_error


def test_an_object_that_changes(store: Any, in_chunks: InChunks) -> None:
    store.put_object(Bucket="bucket", Key="a.jsonl", Body=jsonl())

    def change(number: int) -> None:
        if number == 2:
            store.put_object(Bucket="bucket", Key="a.jsonl", Body=jsonl().replace(b"I-", b"J-"))

    report = medcontract.validate("s3://bucket/a.jsonl", SENT, client=in_chunks(before=change))
    assert "it changed while it was read" in report.problems[0].message


@pytest.mark.parametrize(("status", "message"), [(401, "permission denied (status 401)"), (404, "no such file")])
def test_workers_that_may_not_read(
    status: int, message: str, web: WebServer, in_chunks: InChunks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nobody may any more, that is reported; if only the workers may not, this process reads the file."""
    monkeypatch.setattr(remote, "BLOCK", 2000)
    web.files["/a.jsonl"] = jsonl()

    def refuse() -> None:
        if len(web.requests) > 8:
            web.password = "other" if status == 401 else None
            web.files.pop("/a.jsonl" if status == 404 else "", None)

    web.before = refuse
    report = medcontract.validate(f"{web.address}/a.jsonl", SENT, client=in_chunks())
    assert [problem.code for problem in report] == ["MC003"]
    assert message in report.problems[0].message
    assert not report.usage_error


def test_workers_without_credentials(web: WebServer, in_chunks: InChunks) -> None:
    """This process has them, and reads the file."""
    web.files["/a.jsonl"] = jsonl()

    class Elsewhere(Cluster):
        def submit(self, *arguments: Any, **how: Any) -> Any:
            web.password = "other"  # noqa: S105  # of a test server
            forget_files()
            try:
                return super().submit(*arguments, **how)
            finally:
                web.password = None

    in_chunks()
    cluster = Elsewhere()
    assert medcontract.validate(f"{web.address}/a.jsonl", SENT, client=cluster).ok
    assert cluster.tasks


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lost", [3, 1000])
def test_connections_that_break(
    lost: int, web: WebServer, in_chunks: InChunks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "BLOCK", 2000)
    web.files["/a.jsonl"] = jsonl()
    web.before = lambda: setattr(web, "drop_connections", lost if len(web.requests) == 8 else web.drop_connections)
    report = medcontract.validate(f"{web.address}/a.jsonl", SENT, client=in_chunks())
    if lost == 3:
        assert report.ok
    else:
        assert [problem.code for problem in report] == ["MC003"]
        assert "the connection was lost" in report.problems[0].message


def test_without_range_requests(in_chunks: InChunks) -> None:
    """It is downloaded once, and not divided."""
    cluster = in_chunks()
    with web_server(ranges=False) as plain:
        plain.files["/a.jsonl"] = jsonl()
        assert medcontract.validate(f"{plain.address}/a.jsonl", SENT, client=cluster).ok
        assert len(plain.requests) == 2
    forget_connections()
    assert cluster.tasks == 0


def test_memory_is_not_shared(in_chunks: InChunks) -> None:
    fsspec = pytest.importorskip("fsspec")
    cluster = in_chunks()
    files = fsspec.filesystem("memory")
    files.pipe_file("/chunks/a.jsonl", jsonl())
    assert medcontract.validate("memory://chunks/a.jsonl", SENT, client=cluster).ok
    files.rm("/chunks", recursive=True)
    assert cluster.tasks == 0


@pytest.mark.parametrize(("text", "end"), [
    (b"3,x\n4,y\n5,z\n", 4),
    (b'b c",x\n4,"y, z"\n5,"a\nb"\n', 7),  # starts in a quoted cell
    (b'a\nb, c\n",x\n4,y\n5,"a\nb"\n6,z\n', 11),
    (b'"a\nb",x\n4,y\n', 8),
    (b"no end", 0),
    (b"", 0),
])  # fmt: skip
def test_likely_row_end(text: bytes, end: int) -> None:
    assert likely_row_end(text, 1) == end


def test_borders_of_a_remote_table_with_line_breaks(web: WebServer, in_chunks: InChunks, tmp_path: Path) -> None:
    """Rows with quoted line breaks and commas are recognized: no chunk is read twice."""
    errors = ['"time\nout, ""again"""', "", '"a,b"']
    head = f"image_id,{','.join(CLASSES)},error\n"
    rows = [
        f"I-{n},{',' * 9},{errors[n % 3]}\n" if n % 3 != 1 else f"I-{n},1,0,0,0,0,0,0,0,0,0,\n" for n in range(2000)
    ]
    (tmp_path / "a.csv").write_text(head + "".join(rows), newline="")
    web.files["/a.csv"] = (tmp_path / "a.csv").read_bytes()
    source = Source(Address(f"{web.address}/a.csv"))
    source.prepare()
    for workers in (2, 3, 5):
        found = spans_of(source, workers)
        texts = [web.files["/a.csv"][span.start : span.end] for span in found]
        assert len(found) == 1 or all(text.startswith(b"I-") and text.count(b'"') % 2 == 0 for text in texts[1:])
    expected = medcontract.validate(tmp_path / "a.csv", SENT, jobs=1)
    cluster = in_chunks(3)
    report = medcontract.validate(f"{web.address}/a.csv", SENT, client=cluster)
    assert (report.problems, report.records) == (expected.problems, 2000)
    assert cluster.tasks > 6


@pytest.mark.parametrize("lost", [1, 1000])
def test_chunks_that_are_read_again(lost: int, web: WebServer, in_chunks: InChunks) -> None:
    """To find repeated ids: if a worker cannot, this process does; if it cannot either, there is no report."""
    web.files["/a.jsonl"] = jsonl().replace(b"I-300", b"I-3")
    expected = medcontract.validate(f"{web.address}/a.jsonl", SENT, jobs=1)
    usual = in_chunks()
    assert medcontract.validate(f"{web.address}/a.jsonl", SENT, client=usual).problems == expected.problems
    second = usual.tasks // 2

    def fail(number: int) -> None:
        if number >= second:
            forget_files()
            web.password = "other" if number < second + lost else None

    report = medcontract.validate(f"{web.address}/a.jsonl", SENT, client=in_chunks(before=fail))
    assert [problem.code for problem in report] == ["MC201" if lost == 1 else "MC003"]
    if lost == 1:
        assert report.problems == expected.problems


# --- archives ---------------------------------------------------------------------------------------------------------


def zipped(method: int, **files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(f"sub/{name}.jsonl", data)
    return buffer.getvalue()


def tarred(mode: Any, **files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"sub/{name}.jsonl")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["stored.zip", "deflated.zip", "a.tar", "a.tar.gz"])
@pytest.mark.parametrize("where", ["local", "web"])
def test_files_in_archives(kind: str, where: str, web: WebServer, tmp_path: Path, in_chunks: InChunks) -> None:
    """Each file is read by one worker; ids that are repeated in two of them are found."""
    lines = jsonl().splitlines(keepends=True)
    members = {"a": b"".join(lines[:150]), "b": b"".join(lines[140:300]), "c": b"".join(lines[300:]) + b"{"}
    method = zipfile.ZIP_STORED if kind.startswith("stored") else zipfile.ZIP_DEFLATED
    if kind.endswith("zip"):
        data = zipped(method, **members)
    else:
        data = tarred("w:gz" if kind.endswith("gz") else "w", **members)
    (tmp_path / kind).write_bytes(data)
    web.files[f"/{kind}"] = data
    path = str(tmp_path / kind) if where == "local" else f"{web.address}/{kind}"
    truth = truth_csv(tmp_path)
    expected = medcontract.score(truth, tmp_path / kind, jobs=1)
    cluster = in_chunks()
    found = medcontract.score(truth, path, client=cluster)
    assert found.to_json() == expected.to_json()
    assert len(list(found)) > 10
    assert cluster.tasks >= 3


def test_gzipped_parts(tmp_path: Path, in_chunks: InChunks) -> None:
    lines = jsonl().splitlines(keepends=True)
    parts = [tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"]
    for path, some in zip(parts, (lines[:200], lines[190:]), strict=True):
        path.write_bytes(gzip.compress(b"".join(some)))
    truth = truth_csv(tmp_path)
    expected = medcontract.score(truth, *parts, jobs=1)
    cluster = in_chunks()
    assert medcontract.score(truth, *parts, client=cluster).to_json() == expected.to_json()
    assert cluster.tasks >= 2


def test_a_damaged_archive(tmp_path: Path, in_chunks: InChunks) -> None:
    """The checksum of a file in an archive is checked by the worker that reads it."""
    data = zipped(zipfile.ZIP_STORED, a=jsonl()[:4000], b=jsonl())
    path = tmp_path / "a.zip"
    path.write_bytes(data.replace(b"I-77", b"I-78"))
    truth = truth_csv(tmp_path)
    expected = medcontract.score(truth, path, jobs=1)
    assert medcontract.score(truth, path, client=in_chunks()).to_json() == expected.to_json()
    assert not expected.valid


def test_a_path_through_a_link(tmp_path: Path, in_chunks: InChunks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers open the same file as this process, also if `..` follows a link."""
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    (tmp_path / "a.jsonl").write_bytes(jsonl(300))
    (tmp_path / "real" / "a.jsonl").write_bytes(jsonl(200))
    monkeypatch.chdir(tmp_path)
    cluster = in_chunks()
    assert medcontract.validate("link/../a.jsonl", SENT, client=cluster).records == 200
    assert cluster.tasks
