"""Files that change, or go, while they are read: a score never has the hash of other bytes than it was made of."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.commands import Call
from tests.scoring_files import CLASSES, guess, image, write

import medcontract
from medcontract.containers import BY_ENDING
from medcontract.errors import FileChanged
from medcontract.reading import chunks
from medcontract.reading.source import Source
from medcontract.scoring.lesions import LesionsScorer
from medcontract.validation import dispatch

COUNT = 200
RIGHT = [guess(f"I-{n:03}", CLASSES[n % 10]) for n in range(COUNT)]
WRONG = [guess(f"I-{n:03}", CLASSES[(n + 1) % 10]) for n in range(COUNT)]
SENT = "lesions/predictions"


def truth(folder: Path) -> Path:
    return write(folder, "lesions/truth", [image(f"I-{n:03}", CLASSES[n % 10]) for n in range(COUNT)])


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def then(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, change: Callable[[], Any]) -> None:
    """Change something after a function was called, the first time only."""
    real = getattr(owner, name)
    left = [change]

    def both(*given: Any, **named: Any) -> Any:
        result = real(*given, **named)
        if left:
            left.pop()()
        return result

    monkeypatch.setattr(owner, name, both)


def told_hash(score: medcontract.Score) -> str:
    return next(file.sha256 for file in score.inputs if file.contract == SENT)


def accuracy(score: medcontract.Score) -> Any:
    assert score.result is not None
    return score.result["accuracy"]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "json.gz", "csv.gz", "workers.jsonl"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_hash_is_that_of_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, mark: bytes
) -> None:
    """A file that changes after it was read, also by workers, has the hash of the bytes that the score was made of."""
    monkeypatch.setattr(chunks, "SMALLEST", 4096)
    workers, _, ending = ending.rpartition("workers.")
    sent = write(tmp_path, SENT, RIGHT, ending)
    if not ending.endswith("gz"):
        sent.write_bytes(mark + sent.read_bytes())
    before = sha256(sent)
    then(monkeypatch, LesionsScorer, "tally", lambda: write(tmp_path, SENT, WRONG, ending))
    score = medcontract.score(truth(tmp_path), sent, jobs=2 if workers else 1)
    assert (accuracy(score), told_hash(score)) == (1.0, before)
    assert sha256(sent) != before


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet is not read from start to end: a file that changed meanwhile is refused."""
    frames = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "sent.parquet"

    def save(records: Sequence[dict[str, Any]]) -> None:
        rows = [{"image_id": r["image_id"], **dict(zip(CLASSES, r["probabilities"], strict=True))} for r in records]
        frames.DataFrame(rows).to_parquet(path)

    save(RIGHT)
    organizer = truth(tmp_path)
    assert told_hash(medcontract.score(organizer, path)) == sha256(path)
    then(monkeypatch, LesionsScorer, "tally", lambda: save(WRONG))
    with pytest.raises(FileChanged, match="changed while it was being read"):
        medcontract.score(organizer, path)


def test_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded is what was checked."""
    sent = write(tmp_path, SENT, RIGHT)
    assert len(medcontract.load(sent).value.predictions) == COUNT
    then(monkeypatch, dispatch, "validate_source", lambda: write(tmp_path, SENT, WRONG))
    with pytest.raises(FileChanged, match="changed while it was being read"):
        medcontract.load(sent)


def _opened(path: Path) -> tuple[Source, BinaryIO]:
    os.utime(path, (1, 1))
    source = Source(path)
    source.prepare()
    source.watched = True
    stream = source.open()
    assert stream.read(1000)
    return source, stream


def test_written_to_while_it_is_read(tmp_path: Path) -> None:
    """What was read is half of the one and half of the other: no file ever had that hash."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a" * 4_000_000)
    source, stream = _opened(path)
    with path.open("r+b") as same_file:
        same_file.write(b"b" * 4_000_000)
    with stream:
        stream.read()
    with pytest.raises(FileChanged, match="changed while it was being read"):
        source.sha256()


def test_replaced_while_it_is_read(tmp_path: Path) -> None:
    """What was read is the file as it was before."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a" * 4_000_000)
    before = sha256(path)
    source, stream = _opened(path)
    (tmp_path / "new").write_bytes(b"b")
    (tmp_path / "new").replace(path)
    with stream:
        stream.read()
    assert source.sha256() == before


def test_files_are_not_read_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash is made while a file is read, not by reading it again."""

    def fail(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(hashlib, "file_digest", fail)
    for ending in ("json", "jsonl", "csv", "csv.gz"):
        sent = write(tmp_path, SENT, RIGHT, ending)
        assert told_hash(medcontract.score(truth(tmp_path), sent)) == sha256(sent)


def same_slices(path: Path, cuts: Sequence[chunks.Span], digests: Sequence[str]) -> bool:
    with path.open("rb") as stream:
        found = chunks.hash_slices(stream, cuts)
    return found is not None and found[1] == digests


@pytest.mark.parametrize(("ending", "list_key"), [("json", "predictions"), ("jsonl", None), ("csv", None)])
def test_slices_are_those_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, list_key: str | None
) -> None:
    """Slices that were read are compared with the file, to the byte; its hash is known then."""
    monkeypatch.setattr(chunks, "SMALLEST", 4096)
    path = write(tmp_path, SENT, RIGHT, ending)
    path.write_bytes(path.read_bytes().replace(b"\r", b"") + b" " * 4096)
    source = Source(path)
    source.prepare()
    cuts = chunks.spans(source, BY_ENDING[f".{ending}"], list_key, 3)
    assert len(cuts) > 2
    digests = []
    for span in cuts:
        each = chunks.Slice(str(path), path.name, span, source.limits)
        each.watched = True
        each.prepare()
        with each.open() as stream:
            stream.read()
        digests.append(each.sha256())
    with path.open("rb") as stream:
        assert chunks.hash_slices(stream, cuts) == (sha256(path), digests)
    data = bytearray(path.read_bytes())
    for place in (0, len(data) // 2, cuts[1].start - 1, cuts[1].start, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert not same_slices(path, cuts, digests)
    for other in (data[:-1], data + b" ", b""):
        path.write_bytes(other)
        assert not same_slices(path, cuts, digests)


# --- files that go --------------------------------------------------------------------------------


@pytest.fixture
def vanishing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Take a file away once it is known what it is."""

    def arrange(path: Path) -> None:
        real = dispatch.identify

        def identify(source: Source, *more: Any) -> Any:
            result = real(source, *more)
            if source.name == path.name:
                path.unlink()
            return result

        for module in ("validation.dispatch", "evaluation.files"):
            monkeypatch.setattr(f"medcontract.{module}.identify", identify)

    return arrange


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "json.gz"])
@pytest.mark.parametrize("command", ["score", "preflight"])
def test_a_file_that_goes(
    call: Call, tmp_path: Path, vanishing: Callable[[Path], None], ending: str, command: str
) -> None:
    """The message is about reading, and names the file."""
    sent = write(tmp_path, SENT, RIGHT, ending)
    organizer = truth(tmp_path)
    vanishing(sent)
    ran = call(command, organizer, sent.name)
    assert (ran.code, ran.out) == (1, "")
    assert f"{sent.name}: the file can no longer be read: no such file" in ran.err


def test_one_of_many_that_goes(call: Call, tmp_path: Path, vanishing: Callable[[Path], None]) -> None:
    """In `validate` it is a problem of that file; the others are reported. In Python, too."""
    for name in ("a", "b", "c"):
        write(tmp_path, SENT, RIGHT, "jsonl", name)
    vanishing(tmp_path / "b.jsonl")
    ran = call("validate", "a.jsonl", "b.jsonl", "c.jsonl", "--format", "json")
    assert ran.code == 1
    assert [file["ok"] for file in ran.json["files"]] == [True, False, True]
    assert [p["code"] for p in ran.json["files"][1]["problems"]] == ["MC003"]
    write(tmp_path, SENT, RIGHT, "jsonl", "b")
    assert [p.code for p in medcontract.validate("b.jsonl").problems] == ["MC003"]


def test_a_ranking_with_a_file_that_goes(call: Call, tmp_path: Path, vanishing: Callable[[Path], None]) -> None:
    """A refusal of that submission."""
    organizer = truth(tmp_path)
    for name in ("a", "b"):
        write(tmp_path, SENT, RIGHT, name=name)
    vanishing(tmp_path / "a.json")
    ran = call("leaderboard", organizer, "a.json", "b.json", "--format", "json")
    assert ran.code == 0
    found = {entry["name"]: (entry["rank"], " ".join(entry["reasons"])) for entry in ran.json["submissions"]}
    assert found["b.json"] == (1, "")
    assert found["a.json"][0] is None
    assert found["a.json"][1].startswith("a.json: the file can no longer be read")


def test_watched_archives(tmp_path: Path) -> None:
    """The hash of an archive is the hash of its packed bytes."""
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(image("I-1", "NV")).encode()))
    source = Source(path)
    source.watched = True
    source.prepare()
    with source.open() as stream:
        stream.read()
    assert source.sha256() == sha256(path)


def test_closed_after_its_file(tmp_path: Path) -> None:
    """At the end of a process the file may be closed before the stream that hashes it: no message about that."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a" * 1000)
    source, stream = _opened(path)
    raw = stream.raw  # type: ignore[attr-defined]  # a BufferedReader
    raw._raw.close()
    raw.close()
    with pytest.raises(ValueError, match="closed"):
        stream.read()
    assert len(source.sha256()) == 64
