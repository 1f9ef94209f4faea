"""Files that are read in chunks give the bytes of one process, wherever they are cut and whatever is in them."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fake_cluster import Cluster
from tests.faults import ACCIDENTS, emptied
from tests.random_files import MAKERS, write_files
from tests.scoring_files import as_json, guess, image, write

import medcontract
from medcontract.containers import BY_ENDING
from medcontract.reading import chunks
from medcontract.reading.chunks import Slice, Span
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source

pytest.importorskip("distributed", reason="needs the extra dask")
COUNT = 300
TRUTH, SENT = "lesions/truth", "lesions/predictions"


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 1000)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("track", MAKERS)
def test_same_result(track: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random files, with anything that may be wrong with them."""
    rng = random.Random(f"{track} {seed}")
    given = write_files(rng, track, tmp_path)
    limits: dict[str, Any] = {"max_problems": rng.choice([3, 100]), "max_alike": rng.choice([None, 1, 3])}
    participant = rng.random() < 0.2
    explained = track in ("extraction", "benchmark") and not participant

    def results(**how: Any) -> list[str]:
        found = [medcontract.validate_files(given, excerpts=True, **limits, **how).to_json(show_values=True)]
        try:
            score = medcontract.score(
                *given,
                participant=participant,
                excerpts=True,
                breakdown=explained,
                show_values=explained,
                **limits,
                **how,
            )
        except medcontract.MedcontractError as error:
            return [*found, str(error)]
        return [*found, score.to_json(show_values=not participant)]

    monkeypatch.setattr(chunks, "SMALLEST", rng.choice([128, 300, 1000]))
    expected = results(jobs=1)
    for mine, theirs in zip(results(client=Cluster(rng.choice([2, 3, 4]))), expected, strict=True):
        assert mine.splitlines() == theirs.splitlines()


@pytest.mark.parametrize("track", MAKERS)
def test_every_track_is_read_in_chunks(track: str, tmp_path: Path) -> None:
    cluster = Cluster()
    for seed in range(6):
        with contextlib.suppress(medcontract.MedcontractError):
            medcontract.score(*write_files(random.Random(seed), track, tmp_path), client=cluster)
    assert cluster.tasks > 10


def lesions(folder: Path, ending: str = "jsonl") -> tuple[Path, Path]:
    """A truth and a submission, not sorted, with an id that is repeated far away."""
    sent = [guess(f"I-{n:04}", "NV") for n in range(COUNT)]
    random.Random(1).shuffle(sent)
    sent[-1] = dict(sent[0])
    truth = write(folder, TRUTH, [image(f"I-{n:04}", "NV") for n in range(COUNT)], "csv")
    return truth, write(folder, SENT, sent, ending)


def scored(*files: Path, **how: Any) -> list[str]:
    return medcontract.score(*files, **how).to_json(show_values=True).splitlines()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("place", [0, 0.5, 0.892])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
def test_a_byte_that_is_not_utf8(ending: str, place: float, packed: bool, tmp_path: Path) -> None:
    """It is the problem, also in a chunk that nobody reads to its end."""
    truth, sent = lesions(tmp_path, ending)
    data = sent.read_bytes()
    if not packed:
        end, blank = (b"}, {", b" ") if ending == "json" else (b"\n", b"\n" if ending == "csv" else b" ")
        data = data.replace(end, blank * (2_000 if ending == "csv" else 9_000) + end)  # more than is read at a time
    at = data.index(b"I-", int(len(data) * place))
    data = data[:at] + b"\xff" + data[at + 1 :]
    if packed:
        sent = tmp_path / f"{sent.name}.gz"
        data = gzip.compress(data, 1)
    sent.write_bytes(data)
    alone = scored(truth, sent, jobs=1)
    assert '"code": "MC007"' in "".join(alone)
    for workers in (2, 3):
        assert scored(truth, sent, client=Cluster(workers)) == alone


@pytest.mark.parametrize("repeated", [False, True])
def test_several_files_of_one_collection(repeated: bool, tmp_path: Path) -> None:
    """Each is large enough to be cut; an id in two of them is found as by one process."""
    truth, sent = lesions(tmp_path)
    lines = sent.read_text().splitlines(keepends=True)[:-1]
    parts = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    parts[0].write_text("".join(lines[:200]))
    parts[1].write_text("".join(lines[200:]) + (lines[0] if repeated else ""))
    cluster = Cluster()
    alone = scored(truth, *parts, jobs=1)
    assert scored(truth, *parts, client=cluster) == alone
    assert ('"code": "MC201"' in "".join(alone)) == repeated
    assert cluster.tasks > 8


def test_a_header_after_the_records(tmp_path: Path) -> None:
    """It is in the last chunk, and what is wrong with it has its place there."""
    truth, sent = lesions(tmp_path, "json")
    value = json.loads(as_json(SENT, [guess(f"I-{n:04}", "NV") for n in range(COUNT)]))
    sent.write_text(json.dumps({"predictions": value.pop("predictions"), **value, "team_name": 7}))
    alone = scored(truth, sent, jobs=1)
    assert '"pointer": "/team_name"' in "".join(alone)
    assert scored(truth, sent, client=Cluster()) == alone


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_a_file_that_changes(accident: Callable[[Path], None], ending: str, tmp_path: Path) -> None:
    """Before any chunk, between any two, and while repeated ids are located: no score of a new version."""
    files = lesions(tmp_path, ending)
    data = files[1].read_bytes()
    old = medcontract.score(*files, jobs=1).to_json()
    usual = Cluster()
    assert medcontract.score(*files, client=usual).to_json() == old
    refused = moment = 0

    def strike(number: int) -> None:
        if number == moment:
            accident(files[1])

    for moment in {0, 1, usual.tasks // 2, usual.tasks - 1}:
        if files[1].is_dir():
            files[1].rmdir()
        files[1].write_bytes(data)
        cluster = Cluster(before=strike)
        try:
            found = medcontract.score(*files, client=cluster)
        except medcontract.MedcontractError as error:
            assert "the file changed" in str(error) or "the file can no longer be read" in str(error)  # noqa: PT017
            refused += 1
        else:
            assert found.to_json() == old or (accident is emptied and not found)
        assert cluster.tasks > moment
    assert refused


# --- where files are cut -------------------------------------------------------------------------


def test_a_slice_reads_as_a_file(tmp_path: Path) -> None:
    """What stands around a slice is read with it, from any place."""
    path = tmp_path / "x.json"
    path.write_bytes(b"0123456789")
    source = Slice(str(path), "x.json", Span(3, 6, b"ab", b"yz"), Limits())
    with source.open() as stream:
        assert stream.read() == b"ab345yz"
        stream.seek(1)
        assert stream.read(3) == b"b34"
        assert stream.seek(0, 2) == 7


def spans(path: Path, content: bytes, list_key: str | None, workers: int) -> list[Span]:
    path.write_bytes(content)
    source = Source(str(path))
    source.prepare()
    return list(chunks.spans(source, BY_ENDING[path.suffix], list_key, workers))


@pytest.mark.parametrize(("megabytes", "workers", "count"), [
    (7, 2, 1), (8, 2, 2), (15, 2, 2), (16, 2, 4), (100, 2, 6), (100, 4, 12), (1000, 2, 16), (9, 4, 2),
])  # fmt: skip
def test_each_worker_gets_as_many_slices(
    megabytes: int, workers: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices of at least 4 and at most about 64 MB, several for each worker (here, a kB is an MB)."""
    monkeypatch.setattr(chunks, "SMALLEST", 4 << 10)
    monkeypatch.setattr(chunks, "LARGEST", 64 << 10)
    assert len(spans(tmp_path / "x.jsonl", b'{"a":1}\n' * (megabytes << 7), None, workers)) == count


@pytest.mark.parametrize(("text", "container", "cut"), [
    (b"a,b\n" + b"x,y\n" * 5000, "csv", True),
    (b"a,b\n" + b'"x",y\n' * 5000, "csv", True),
    (b"a,b\r\n" + b"x,y\r\n" * 5000, "csv", True),
    (b'"a",b\n' + b"x,y\n" * 5000, "csv", False),
    (b"a,b\r" + b"x,y\r" * 5000, "csv", False),
    (b'{"a": 1}\n' * 3000, "jsonl", True),
    (b'{"list": [' + b'{"a": 1},' * 3000 + b'{"a": 1}]}', "json", True),
    (b'{"list": [' + b"1," * 9000 + b"1]}", "json", False),
    (b'{"list": [', "json", False),
])  # fmt: skip
def test_where_a_file_is_cut(text: bytes, container: str, cut: bool, tmp_path: Path) -> None:
    """Only where a record certainly ends, and the slices hold all bytes between borders."""
    found = spans(tmp_path / f"x.{container}", text, "list", 3)
    assert (len(found) > 1) == cut
    assert found[0].start == 0
    assert found[-1].end == len(text)
