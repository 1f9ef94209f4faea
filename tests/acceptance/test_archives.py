"""Archives as submissions: every command reads them like the folder that they were made from."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.archive_files import FORMATS, pack, pack_folder, tar_entry
from tests.commands import SENT, TRACKS, Call, beside_files, sent_file, truth_file
from tests.scoring_files import document, model, write
from tests.support import lesion

import medcontract
from medcontract.api import validate_files
from medcontract.reading import streams
from medcontract.reading.streams import Decompressed

ROW = b"image_id,label\nI-1,MEL\n"
BAD_ROW = b"image_id,label\nI-1,MEL\nI-2,melanoma\n"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("inside", ["", "team/", "a/b/"])
@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.sampled(3)
def test_a_score_is_that_of_the_folder(call: Call, tmp_path: Path, track: str, inside: str, format_: str) -> None:
    """Byte for byte, with the names and hashes of the files; also for preflight and for participants."""
    truth, folder = truth_file(tmp_path, track), tmp_path / "sub"
    bad = [*SENT[track][1:], {**SENT[track][0], "unknown_key": 1}]
    sent_file(folder, track, bad)
    beside_files(folder, track)
    archive = pack_folder(tmp_path / f"sub.{format_}", folder, inside)
    for command in ("score", "preflight"):
        for options in ((), ("--participant",)):
            expected = call(command, truth, folder, "--format", "json", *options)
            assert call(command, truth, archive, "--format", "json", *options) == expected
            assert "sent.json" in expected.out


@pytest.mark.parametrize("format_", FORMATS)
def test_problems_are_located_in_the_archive(call: Call, tmp_path: Path, format_: str) -> None:
    """As `submission.zip!/predictions.csv:3`."""
    archive = pack(tmp_path / f"sub.{format_}", {"team/truth.csv": BAD_ROW, "team/notes.txt": b"x"})
    ran = call("validate", archive)
    assert ran.code == 1
    assert ran.out.startswith(f"{archive}!/team/truth.csv:3: error MC104")
    report = call("validate", archive, "--format", "json").json
    assert [(file["path"], file["contract"]) for file in report["files"]] == [
        (f"{archive}!/team/truth.csv", "lesions/truth")
    ]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet", "csv.gz", "jsonl.gz"])
def test_every_container(tmp_path: Path, format_: str, ending: str) -> None:
    """The report is the same as for the plain file, apart from its path."""
    plain = ending.removesuffix(".gz")
    records = [{**lesion(n), "label": "MEL" if n else "melanoma"} for n in range(40)]
    if plain == "parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        path = tmp_path / "truth.parquet"
        pandas.DataFrame(records).to_parquet(path)
    else:
        path = write(tmp_path, "lesions/truth", records, plain)
    if ending != plain:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path = path.with_name(path.name + ".gz")
    archive = pack(tmp_path / f"sub.{format_}", {path.name: path.read_bytes()})
    expected, found = medcontract.validate(path), medcontract.validate(f"{archive}!/{path.name}")
    assert expected.errors == 1
    assert found == replace(expected, path=f"{archive}!/{path.name}")


def test_what_systems_add_is_ignored(call: Call, tmp_path: Path) -> None:
    """`__MACOSX`, hidden files, Thumbs.db, and files that are not data."""
    names = ["__MACOSX/._truth.csv", "t/__MACOSX/truth.csv", "._truth.csv", ".git/x.json", "t/.x.csv", "Thumbs.db"]
    archive = pack(tmp_path / "sub.zip", {"t/": b"", "t/truth.csv": ROW, **dict.fromkeys(names, b"\0\5\26\7")})
    report = call("validate", archive, "--format", "json").json
    assert [file["path"] for file in report["files"]] == [f"{archive}!/t/truth.csv"]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_in_an_archive_as_argument(call: Call, tmp_path: Path, format_: str) -> None:
    """Also with its contract; a file that is named is not also found."""
    archive = pack(tmp_path / f"sub.{format_}", {"a.csv": ROW, "b.csv": BAD_ROW})
    assert call("validate", f"{archive}!/a.csv").code == 0
    assert call("validate", f"lesions/truth={archive}!/b.csv").code == 1
    missing = call("validate", f"{archive}!/c.csv", "--format", "json")
    assert (missing.code, missing.json["files"][0]["problems"][0]["code"]) == (2, "MC001")
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path / "sub", "lesions")
    both = pack(tmp_path / f"both.{format_}", {"sent.json": sent.read_bytes(), "other.json": b"{}"})
    expected = call("score", truth, sent, "--format", "json")
    assert call("score", truth, f"{both}!/sent.json", "--format", "json") == expected
    assert call("score", truth, f"lesions/predictions={both}!/sent.json", both, "--format", "json").code == 0


def test_an_archive_that_is_given_twice_counts_once(call: Call, tmp_path: Path) -> None:
    """As a folder does, and as a file in it that is also an argument."""
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path / "sub", "lesions")
    archive = pack_folder(tmp_path / "sub.zip", sent.parent)
    once = call("score", truth, archive, "--format", "json")
    assert once.code == 0
    assert call("score", truth, archive, archive, f"{archive}!/sent.json", "--format", "json") == once


def test_a_folder_with_the_name_of_an_archive(call: Call, tmp_path: Path) -> None:
    """Is a folder; and a file whose path looks like one in an archive is that file."""
    (tmp_path / "sub.zip!").mkdir()
    (tmp_path / "sub.zip!" / "truth.csv").write_bytes(ROW)
    (tmp_path / "sub.zip").mkdir()
    (tmp_path / "sub.zip" / "truth.csv").write_bytes(BAD_ROW)
    assert call("validate", tmp_path / "sub.zip!/truth.csv").code == 0
    assert call("validate", tmp_path / "sub.zip").code == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_ranking_of_archives_folders_and_files(call: Call, tmp_path: Path, jobs: str) -> None:
    """One archive per team, mixed with folders and files; a broken one has a reason, and does not affect the others."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "folder", "lesions", team_name="Folder")
    single = sent_file(tmp_path, "lesions", name="single.json", team_name="Single")
    archives = []
    for format_ in ("zip", "tar.gz"):
        sent_file(tmp_path / format_, "lesions", team_name=format_.upper())
        archives.append(pack_folder(tmp_path / f"team.{format_}", tmp_path / format_))
    broken = tmp_path / "broken.zip"
    broken.write_bytes(archives[0].read_bytes()[:-30])
    empty = pack(tmp_path / "empty.tgz", {"README.md": b"nothing", "inner.zip": archives[0].read_bytes()})
    ran = call("leaderboard", truth, tmp_path / "folder", single, *archives, broken, empty, "--jobs", jobs,
               "--format", "json")  # fmt: skip
    assert ran.code == 0
    entries = {each["name"]: each for each in ran.json["submissions"]}
    assert {name for name, each in entries.items() if each["valid"]} == {
        "folder",
        "single.json",
        "team.zip",
        "team.tar.gz",
    }
    assert entries["broken.zip"]["reasons"] == [
        "broken.zip cannot be read (the archive is truncated, or not a zip archive)"
    ]
    (reason,) = entries["empty.tgz"]["reasons"]
    assert reason.startswith("no data files in this archive (inner.zip is ignored: an archive in a folder is not read")
    assert len({json.dumps(each["headline"]) for each in entries.values() if each["valid"]}) == 1
    assert entries["team.zip"]["inputs"][0]["name"] == "sent.json"


def test_measurements_for_an_archive(call: Call, tmp_path: Path) -> None:
    """`--measured DIR` has them under the name of the archive without its extension, also in an archive."""
    truth = truth_file(tmp_path, "lesions")
    sent_file(tmp_path / "a", "lesions")
    archives = [pack_folder(tmp_path / name, tmp_path / "a") for name in ("a.tar.gz", "b.zip")]
    document(tmp_path / "measured" / "a", "model", model())
    document(tmp_path / "m", "model", model())
    pack_folder(tmp_path / "measured" / "b.zip", tmp_path / "m")
    ran = call("leaderboard", truth, *archives, "--measured", tmp_path / "measured", "--format", "json")
    assert ran.code == 0
    (warning,) = ran.json["warnings"]
    assert warning.endswith("their predictions are identical, record by record")
    for each in ran.json["submissions"]:
        assert "model.json" in [file["name"] for file in each["inputs"]]


def test_a_truth_in_an_archive(call: Call, tmp_path: Path) -> None:
    """Works, but a truth in the archive of a submission does not replace the organizer's truth."""
    truth, sent = truth_file(tmp_path / "t", "lesions"), sent_file(tmp_path / "s", "lesions")
    packed_truth = pack_folder(tmp_path / "truth.zip", truth.parent)
    expected = call("score", truth.parent, sent, "--format", "json")
    assert call("score", packed_truth, sent, "--format", "json") == expected
    truth_file(tmp_path / "s", "lesions", [])
    packed = pack_folder(tmp_path / "sub.zip", sent.parent)
    ran = call("score", truth, packed, "--format", "json").json
    assert ran["valid"]
    assert "truth.json (lesions/truth) in a folder is ignored: the call names another one" in ran["warnings"]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("start", ["", "./"])
def test_files_that_a_model_file_refers_to(call: Call, tmp_path: Path, format_: str, start: str) -> None:
    """Are looked up in the archive; their path may start with one './'."""
    folder = tmp_path / "sub"
    sent_file(folder, "lesions")
    beside_files(folder, "lesions", model_file=f"{start}weights/m.bin", model_size_mb=1.0)
    (folder / "weights").mkdir()
    for size, failed in ((1_000_000, []), (500_000, ["MC312"]), (None, ["MC311"])):
        if size:
            (folder / "weights" / "m.bin").write_bytes(os.urandom(1000) * (size // 1000))
        else:
            (folder / "weights" / "m.bin").unlink()
        archive = pack_folder(tmp_path / f"sub.{format_}", folder)
        runs = [call("preflight", each, "--format", "json") for each in (folder, archive)]
        assert runs[0] == runs[1]
        problems = [problem["code"] for check in runs[1].json["checks"] for problem in check["problems"]]
        assert [code for code in problems if code.startswith("MC31")] == failed


def test_python(tmp_path: Path) -> None:
    """`load` and `validate` accept a file in an archive, and an archive with a single data file."""
    one = pack(tmp_path / "one.zip", {"t/truth.csv": ROW, "README": b""})
    two = pack(tmp_path / "two.tgz", {"a.csv": ROW, "b.csv": ROW})
    assert medcontract.load(one).contract == "lesions/truth"
    assert medcontract.validate(one).path == f"{one}!/t/truth.csv"
    assert len(medcontract.load(f"{two}!/a.csv").value) == 1
    assert [report.ok for report in validate_files(two).files] == [True, True]
    with pytest.raises(medcontract.CallError, match=r"this is an archive, not a file \(hint: .*two.tgz!/a.csv"):
        medcontract.load(two)
    with pytest.raises(medcontract.CallError, match="no data files in this archive"):
        medcontract.load(pack(tmp_path / "none.zip", {"README": b""}))


def test_archives_in_archives_are_not_opened(call: Call, tmp_path: Path) -> None:
    inner = pack(tmp_path / "inner.zip", {"truth.csv": ROW})
    outer = pack(tmp_path / "outer.zip", {"a/inner.zip": inner.read_bytes()})
    ran = call("validate", outer)
    assert (ran.code, ran.out) == (2, "")
    assert "no data files in this archive" in ran.err
    assert "inner.zip is ignored: an archive in a folder is not read" in ran.err


def test_files_that_are_not_read_are_listed(call: Call, tmp_path: Path) -> None:
    """As in a folder; but participants do not see what is in the archive of the truth."""
    truth, sent = truth_file(tmp_path / "t", "lesions"), sent_file(tmp_path / "s", "lesions")
    (tmp_path / "t" / "secret.xlsx").write_bytes(b"x")
    (tmp_path / "s" / "more.xlsx").write_bytes(b"x")
    packed_truth, packed = (pack_folder(tmp_path / f"{each.stem}.zip", each.parent) for each in (truth, sent))
    report = call("validate", packed, "--format", "json").json
    assert [file["path"] for file in report["skipped"]] == [f"{packed}!/more.xlsx"]
    for command in ("score", "preflight"):
        for options in ((), ("--participant",)):
            ran = call(command, packed_truth, packed, "--format", "json", *options)
            assert ran == call(command, truth.parent, sent.parent, "--format", "json", *options)
            assert "more.xlsx" in ran.out
            assert ("secret.xlsx" in ran.out) == (not options)


def test_images_must_be_extracted(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    cases = tmp_path / "cases.csv"
    cases.write_bytes(b"image_id,image_path\nI-1,a.png\n")
    images = pack(tmp_path / "images.zip", {"a.png": b""})
    ran = call("validate", cases, "--images", images)
    assert ran.code == 2
    assert "extract an archive first" in ran.err


def test_out_does_not_replace_an_archive(call: Call, tmp_path: Path) -> None:
    """Neither for the archive nor for a file in it."""
    archive = pack(tmp_path / "sub.zip", {"truth.csv": ROW})
    for name in (str(archive), f"{archive}!/truth.csv", f"lesions/truth={archive}!/truth.csv"):
        ran = call("validate", name, "--format", "json", "--out", archive)
        assert (ran.code, "is an input of this call" in ran.err) == (2, True)


def test_links_within_a_tar_are_not_needed(call: Call, tmp_path: Path) -> None:
    """A link that is not called like a data file is ignored."""
    path = tmp_path / "sub.tar"
    pack(path, {"truth.csv": ROW})
    with tarfile.open(path, "a") as tar:
        tar.addfile(tar_entry("bin/python", tarfile.SYMTYPE, target="/usr/bin/python3"))
    assert call("validate", path).code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted as on Linux")
@pytest.mark.parametrize("name", ["folder", "x.zip", "x.tar.gz"])
def test_very_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each is closed after it was read, not only when garbage is collected."""
    files = {f"{n}.csv": ROW for n in range(100)}
    if name == "folder":
        (tmp_path / name).mkdir()
        for file, data in files.items():
            (tmp_path / name / file).write_bytes(data)
    else:
        pack(tmp_path / name, files)
    before = len(os.listdir("/proc/self/fd"))
    gc.disable()
    try:
        assert validate_files(tmp_path / name).ok
        assert len(os.listdir("/proc/self/fd")) < before + 10
    finally:
        gc.enable()


@pytest.mark.slow
def test_headers_of_a_tar_are_not_files(call: Call, tmp_path: Path) -> None:
    """Python adds one to each file, for the exact time: 6,000 files are not more than 10,000. Many more are refused."""
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(6000):
            file = tarfile.TarInfo(f"{number}.txt")
            file.mtime = number + 0.5
            archive.addfile(file)
        file = tarfile.TarInfo("x.csv")
        file.size = len(ROW)
        archive.addfile(file, io.BytesIO(ROW))
    assert call("validate", tmp_path / "x.tar").code == 0
    header = tar_entry("x", kind=tarfile.XGLTYPE).tobuf()
    (tmp_path / "y.tar").write_bytes(header * 40_000 + bytes(1024))
    assert "MC037 a file in the archive has more than 8 headers" in call("validate", tmp_path / "y.tar").out


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many bytes are decompressed."""
    sizes: list[int] = []
    decompress = Decompressed._decompress

    def counting(self: Decompressed, size: int) -> bytes:
        data = decompress(self, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(Decompressed, "_decompress", counting)
    return sizes


def test_a_large_tar_is_decompressed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each file in it: what it decompresses to is kept."""
    path = pack(tmp_path / "x.tar.gz", {f"{n}.csv": ROW + os.urandom(500).hex().encode() for n in range(200)})
    sizes = counted(monkeypatch)
    assert len(validate_files(path).files) == 200
    assert sum(sizes) == len(gzip.decompress(path.read_bytes()))


def test_a_file_in_a_zip_is_decompressed_once_for_each_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to find its size, or its contract."""
    rows = b"image_id,label\n" + b"".join(b"I-%d,MEL\n" % n for n in range(100_000))
    path = pack(tmp_path / "x.zip", {"truth.csv": rows})
    sizes = counted(monkeypatch)
    assert validate_files(path).ok
    assert sum(sizes) < 1.5 * len(rows)


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted as on Linux")
def test_few_archives_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many large .tar.gz, two stay in temporary files."""
    monkeypatch.setattr(streams, "_IN_MEMORY", 10)
    before = len(os.listdir("/proc/self/fd"))
    for n in range(10):
        assert validate_files(pack(tmp_path / f"{n}.tar.gz", {"truth.csv": ROW})).ok
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the module resource exists on Unix only")
@pytest.mark.parametrize("format_", ["zip", "tar.gz"])
def test_large_files_stream(tmp_path: Path, format_: str) -> None:
    """A file of 60 MB in an archive takes less memory than that, including the index of its ids."""
    line = json.dumps(lesion(1)).encode()
    path = tmp_path / f"big.{format_}"
    body = b"\n".join(line.replace(b"1", b"%d" % n, 1) for n in range(60_000_000 // len(line)))
    pack(path, {"truth.jsonl": body})
    program = (
        "import resource, sys; from medcontract.cli.main import main\n"
        "code = main(['validate', sys.argv[1]]); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    del body
    peaks = []
    for name in (str(path), f"{pack(tmp_path / f'small.{format_}', {'truth.csv': ROW})}"):
        ran = subprocess.run([sys.executable, "-c", program, name], capture_output=True, text=True, check=True)
        peaks.append(int(ran.stdout.splitlines()[-1]))
    assert peaks[0] - peaks[1] < 60_000
