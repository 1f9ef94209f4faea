"""The images of lesion cases: each code, hostile files, and many images at a time."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile
from tests import deadly
from tests.faults import as_usual, processes_of, wait_for
from tests.support import ROOT, assert_sound, property_settings, published

import medcontract
from medcontract.catalog import problem_codes
from medcontract.cli.main import main
from medcontract.errors import CallError
from medcontract.images import MAX_PIXELS, CaseProblem, ImageProblem, batch, check_image, check_images
from medcontract.images import check as checking
from medcontract.parallel import processes
from medcontract.parallel.pool import AHEAD
from medcontract.problems import Finding, Ref
from medcontract.results.validation import FileReport

COMMAND = [sys.executable, "-m", "medcontract"]
PNG = b"\x89PNG\r\n\x1a\n"
needs_fifo = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill so")

# --- pictures ------------------------------------------------------------------------------------


def picture(width: int = 512, height: int = 512, mode: str = "RGB") -> Image.Image:
    """A picture of blurred noise: the same each time, and small when compressed."""
    noise = Image.frombytes("L", (32, 32), random.Random(width).randbytes(1024))
    return noise.resize((width, height), Image.Resampling.BILINEAR).convert(mode)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


JPEG_FILE = saved(picture(), "JPEG")
PROGRESSIVE_FILE = saved(picture(), "JPEG", progressive=True)
PNG_FILE = saved(picture(), "PNG")


def chunk(kind: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_header(width: int = 512, height: int = 512, bits: int = 8, color: int = 2, interlace: int = 0) -> bytes:
    return PNG + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlace))


def png(pixels: bytes, *extra: bytes, **header: int) -> bytes:
    """A PNG of these unpacked rows, with extra chunks before them."""
    return png_header(**header) + b"".join(extra) + chunk(b"IDAT", zlib.compress(pixels, 1)) + chunk(b"IEND")


ROWS = (b"\0" + bytes(3 * 512)) * 512
"""A black picture, unpacked."""
PACKED = zlib.compress(ROWS)


def bomb(megabytes: int) -> bytes:
    """That many zeros, compressed."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(megabytes)) + packer.flush()


def with_segment(jpeg: bytes, marker: int, content: bytes) -> bytes:
    """A JPEG with a segment more, right at its start."""
    return jpeg[:2] + bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content + jpeg[2:]


def with_frame(jpeg: bytes, **changes: int) -> bytes:
    """A JPEG whose frame header says something else."""
    at = next(at for at in range(len(jpeg)) if jpeg[at] == 0xFF and jpeg[at + 1] in (0xC0, 0xC2))
    frame = dict(zip(("bits", "height", "width"), struct.unpack_from(">BHH", jpeg, at + 4), strict=True)) | changes
    marker = bytes([frame.pop("marker", jpeg[at + 1])])
    return jpeg[: at + 1] + marker + jpeg[at + 2 : at + 4] + struct.pack(">BHH", *frame.values()) + jpeg[at + 9 :]


@pytest.fixture
def check(tmp_path: Path) -> Callable[[bytes], ImageProblem | None]:
    """Checks content that stands in a file without an ending."""

    def run(content: bytes) -> ImageProblem | None:
        (tmp_path / "image").write_bytes(content)
        return check_image("image", tmp_path)

    return run


Check = Callable[[bytes], ImageProblem | None]

# --- good images ---------------------------------------------------------------------------------

Make = Callable[[], bytes]
TURNED = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
SECOND = bytes([8, 4, 0, 4, 0, 3, *range(9)])
WILD = b"MM\0*" + b"\xff" * 40


def in_pieces(*pieces: bytes) -> bytes:
    """A PNG of these chunks of pixels and others."""
    return png_header() + b"".join(pieces) + chunk(b"IEND")


def with_thumbnail() -> bytes:
    """A JPEG with another JPEG in its Exif data."""
    return with_segment(JPEG_FILE, 0xE1, b"Exif\0\0" + saved(picture(64, 64), "JPEG"))


GOOD: dict[str, Make] = {
    "jpeg": lambda: JPEG_FILE,
    "progressive": lambda: PROGRESSIVE_FILE,
    "restart-markers": lambda: saved(picture(), "JPEG", restart_marker_blocks=7),
    "no-subsampling": lambda: saved(picture(600, 800), "JPEG", subsampling=0),
    "jpeg-turned": lambda: saved(picture(512, 700), "JPEG", exif=TURNED),
    "jpeg-thumbnail": with_thumbnail,
    "jpeg-broken-exif": lambda: with_segment(JPEG_FILE, 0xE1, b"Exif\0\0" + WILD),
    "jpeg-broken-multi-picture": lambda: with_segment(JPEG_FILE, 0xE2, b"MPF\0" + WILD),
    "jpeg-bytes-behind-the-end": lambda: JPEG_FILE + b"\0" * 5000 + b"\xff\xd8\xff",
    "jpeg-fill-bytes": lambda: JPEG_FILE[:2] + b"\xff\xff\xff" + JPEG_FILE[2:],
    "png": lambda: PNG_FILE,
    "png-interlaced": lambda: interlaced(515, 521),
    "png-many-pieces": lambda: in_pieces(*(chunk(b"IDAT", bytes([byte])) for byte in PACKED), chunk(b"IDAT")),
    "png-bytes-behind-the-end": lambda: PNG_FILE + b"more",
    "png-animated": lambda: saved(picture(), "PNG", save_all=True, append_images=[picture().rotate(90)]),
    "png-more-pixels-than-declared": lambda: png_header() + chunk(b"IDAT", bomb(64)) + chunk(b"IEND"),
    "jpeg-flood-of-comments": lambda: JPEG_FILE[:2] + b"\xff\xfe\0\2" * 200_000 + JPEG_FILE[2:],
    "png-broken-animation": lambda: png(ROWS, chunk(b"acTL", bytes(8))),
}


def interlaced(width: int, height: int) -> bytes:
    """A black interlaced PNG."""
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b"".join(
        (b"\1" + bytes(3 * len(range(left, width, across)))) * len(range(top, height, down))
        for left, top, across, down in passes
    )
    return png(rows, width=width, height=height, interlace=1)


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str, check: Check) -> None:
    """A whole image that keeps the contract has no problem, whatever else is in its file."""
    assert check(GOOD[name]()) is None


# --- each code -----------------------------------------------------------------------------------

SMALL_JPEG = saved(picture(480, 640), "JPEG")
BAD: dict[str, tuple[Make, str, str]] = {
    "empty": (lambda: b"", "MC321", "the file is empty"),
    "one-byte": (lambda: b"\xff", "MC321", "neither JPEG nor PNG"),
    "text": (lambda: b"image_id,label\n", "MC321", "neither JPEG nor PNG"),
    "webp": (lambda: saved(picture(), "WEBP"), "MC321", "this is a WebP image"),
    "gif": (lambda: saved(picture(), "GIF"), "MC321", "this is a GIF image"),
    "bmp": (lambda: saved(picture(), "BMP"), "MC321", "this is a BMP image"),
    "tiff": (lambda: saved(picture(), "TIFF"), "MC321", "this is a TIFF image"),
    "png-huge": (lambda: png(b"", width=100_000, height=100_000), "MC325", "100000 x 100000 pixels: images"),
    "png-largest": (lambda: png(b"", width=2**32 - 1, height=2**32 - 1), "MC325", "4294967295 x 4294967295 pixels"),
    "png-just-too-large": (lambda: png(b"", width=MAX_PIXELS // 1000 + 1, height=1000), "MC325", "more than 100 mega"),
    "png-huge-and-gray": (lambda: png(b"", width=100_000, height=100_000, color=0), "MC325", "more than 100 mega"),
    "jpeg-huge": (lambda: with_frame(PROGRESSIVE_FILE, width=65_500, height=65_500), "MC325", "65500 x 65500 pixels"),
    "jpeg-gray": (lambda: saved(picture(mode="L"), "JPEG"), "MC322", "grayscale"),
    "jpeg-cmyk": (lambda: saved(picture(mode="CMYK"), "JPEG"), "MC322", "CMYK"),
    "jpeg-12-bits": (lambda: with_frame(JPEG_FILE, bits=12), "MC324", "header of the JPEG"),
    "png-gray": (lambda: saved(picture(mode="L"), "PNG"), "MC322", "grayscale"),
    "png-black-and-white": (lambda: saved(picture(mode="1"), "PNG"), "MC322", "grayscale"),
    "png-palette": (lambda: saved(picture(mode="P"), "PNG"), "MC322", "palette"),
    "png-gray-alpha": (lambda: saved(picture(mode="LA"), "PNG"), "MC322", "grayscale with an alpha channel"),
    "png-alpha": (lambda: saved(picture(mode="RGBA"), "PNG"), "MC322", "RGB with alpha"),
    "png-transparent-color": (lambda: saved(picture(), "PNG", transparency=(1, 2, 3)), "MC322", "tRNS"),
    "png-16-bits": (lambda: png((b"\0" + bytes(6 * 512)) * 512, bits=16), "MC322", "16 bits per channel"),
    "png-unknown-color": (lambda: png(ROWS, color=5), "MC324", "header of the PNG"),
    "gray-and-small": (lambda: saved(picture(10, 10, "L"), "JPEG"), "MC322", "grayscale"),
    "png-text-bomb": (lambda: png(ROWS, chunk(b"zTXt", b"A\0\0" + bomb(16))), "MC324", "header of the PNG"),
    "png-profile-bomb": (lambda: png(ROWS, chunk(b"iCCP", b"profile\0\0" + bomb(16))), "MC324", "header of the PNG"),
    "jpeg-small": (lambda: SMALL_JPEG, "MC323", "480 x 640 pixels: the shorter side must be at least 512"),
    "jpeg-small-and-cut": (lambda: SMALL_JPEG[:-100], "MC323", "480 x 640 pixels"),
    "png-small": (lambda: saved(picture(640, 511), "PNG"), "MC323", "640 x 511 pixels"),
    "jpeg-no-end": (lambda: JPEG_FILE[:-2], "MC324", "its end is missing"),
    "jpeg-half": (lambda: JPEG_FILE[: len(JPEG_FILE) // 2], "MC324", "its end is missing"),
    "jpeg-filled-up-with-zeros": (lambda: JPEG_FILE[:-500] + bytes(500), "MC324", "its end is missing"),
    "jpeg-end-of-thumbnail-only": (lambda: with_thumbnail()[:-1000], "MC324", "its end is missing"),
    "jpeg-nothing-but-magic": (lambda: b"\xff\xd8\xff", "MC324", "header of the JPEG"),
    "jpeg-ends-at-once": (lambda: b"\xff\xd8\xff\xd9", "MC324", "header of the JPEG"),
    "jpeg-no-pixels": (lambda: JPEG_FILE[: JPEG_FILE.index(b"\xff\xda")] + b"\xff\xd9", "MC324", "its end is missing"),
    "jpeg-no-height": (lambda: with_frame(JPEG_FILE, height=0), "MC324", "header of the JPEG"),
    "jpeg-lossless": (lambda: with_frame(JPEG_FILE, marker=0xC3), "MC324", "cannot be decoded completely"),
    "jpeg-without-tables": (lambda: JPEG_FILE.replace(b"\xff\xdb", b"\xff\xfe"), "MC324", "cannot be decoded"),
    "jpeg-two-headers": (lambda: with_segment(JPEG_FILE, 0xC0, SECOND), "MC324", "cannot be decoded completely"),
    "png-nothing-but-magic": (lambda: PNG, "MC324", "header of the PNG"),
    "png-no-width": (lambda: png_header(width=0) + chunk(b"IEND"), "MC324", "header of the PNG"),
    "png-header-damaged": (lambda: PNG_FILE[:20] + b"\1" + PNG_FILE[21:], "MC324", "header of the PNG"),
    "png-two-headers": (lambda: png(ROWS, png_header(200_000, 512)[8:]), "MC325", "200000 x 512 pixels"),
    "png-no-end": (lambda: PNG_FILE[:-12], "MC324", "cannot be decoded completely"),
    "png-half": (lambda: PNG_FILE[: len(PNG_FILE) // 2], "MC324", "cannot be decoded completely"),
    "png-no-pixels": (lambda: png_header() + chunk(b"IEND"), "MC324", "cannot be decoded"),
    "png-unknown-filter": (lambda: png(ROWS[:-1537] + b"\5" + bytes(1536)), "MC324", "cannot be decoded completely"),
    "png-not-compressed": (lambda: png_header() + chunk(b"IDAT", ROWS) + chunk(b"IEND"), "MC324", "cannot be decoded"),
    "png-in-two-pieces": (
        lambda: in_pieces(chunk(b"IDAT", PACKED[:99]), chunk(b"tEXt", b"a\0b"), chunk(b"IDAT", PACKED[99:])),
        "MC324", "cannot be decoded completely",
    ),
    "png-interlaced-short": (lambda: png(ROWS, interlace=1), "MC324", "cannot be decoded completely"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str, check: Check) -> None:
    """What is wrong is told, the most basic thing first."""
    make, code, words = BAD[name]
    problem = check(make())
    assert problem is not None
    assert (problem.code, words in problem.message) == (code, True), problem
    assert problem.code in problem_codes()
    assert problem.hint


def test_flipped_bit_in_pixels(check: Check) -> None:
    """A PNG whose pixels do not match their checksum is damaged, even if they could be unpacked."""
    at = PNG_FILE.index(b"IDAT") + 2000
    problem = check(PNG_FILE[:at] + bytes([PNG_FILE[at] ^ 1]) + PNG_FILE[at + 1 :])
    assert problem is not None
    assert problem.message == "the PNG is truncated or damaged: it cannot be decoded completely"


def test_exactly_100_megapixels_are_allowed(check: Check) -> None:
    """The limit belongs to what is allowed: here the pixels are looked for, and are not there."""
    problem = check(png_header(10_000, 10_000) + chunk(b"IEND"))
    assert problem is not None
    assert problem.code == "MC324"


@pytest.mark.parametrize(("side", "most"), [(1000, 100), (9000, 24)])
def test_many_scans(side: int, most: int, check: Check) -> None:
    """A JPEG of many empty scans is refused before a decoder goes over the image for each; a large one of fewer."""
    first = PROGRESSIVE_FILE.index(b"\xff\xda")
    length = int.from_bytes(PROGRESSIVE_FILE[first + 2 : first + 4])
    scan = PROGRESSIVE_FILE[first : first + 2 + length]
    large = with_frame(PROGRESSIVE_FILE, width=side, height=side)
    assert check(large[:first] + scan * most + b"\xff\xd9") is None
    problem = check(large[:first] + scan * (most + 1) + b"\xff\xd9")
    assert problem is not None
    assert problem.message == f"the JPEG has more than {most} scans"


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("whole", [JPEG_FILE, PROGRESSIVE_FILE, PNG_FILE], ids=["jpeg", "progressive", "png"])
def test_truncated_at_every_byte(whole: bytes, check: Check) -> None:
    """However an image is cut, it is refused: near its ends at each byte, between them at some.

    Except within the last four bytes of a PNG, which are the checksum of its empty last chunk.
    """
    end = len(whole) - 4 if whole is PNG_FILE else len(whole)
    cuts = [*range(700), *range(700, len(whole) - 100, 997), *range(len(whole) - 100, end)]
    for cut in cuts:
        problem = check(whole[:cut])
        assert problem is not None, cut
        assert problem.code in ("MC321", "MC324")
    assert check(whole) is None


CHANGES = st.lists(
    st.tuples(st.integers(0, 1000) | st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=4
)


@given(st.sampled_from([JPEG_FILE, PROGRESSIVE_FILE, PNG_FILE]), CHANGES)
@property_settings(100)
def test_what_is_accepted_can_be_opened(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, changes: list[tuple[int, int]]
) -> None:
    """A file with some bytes changed is refused, or Pillow decodes it whole, as RGB, in the size that it announces."""
    content = bytearray(whole)
    for at, byte in changes:
        content[at % len(whole)] = byte
    path = tmp_path_factory.getbasetemp() / "changed"
    path.write_bytes(content)
    if check_image(path) is None:
        with warnings.catch_warnings(), Image.open(path, formats=("JPEG", "PNG")) as image:
            warnings.simplefilter("ignore")
            image.load()
            assert image.mode == "RGB"
            assert min(image.size) >= 512


@given(
    st.sampled_from(
        [b"", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0\0\x04", PNG, png_header(), PNG_FILE[:200], JPEG_FILE[:700]]
    ),
    st.binary(),
)
@property_settings(200)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, start: bytes, rest: bytes) -> None:
    """Noise, with or without a good beginning, is refused and raises nothing."""
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(start + rest)
    problem = check_image(path)
    assert problem is not None
    assert problem.code in ("MC321", "MC322", "MC323", "MC324", "MC325")


# --- what stands at a path -----------------------------------------------------------------------


def refused(path: str | os.PathLike[str], folder: Path | None = None) -> str:
    """The message of a file that cannot be had."""
    problem = check_image(path, folder)
    assert problem is not None
    assert problem.code == "MC320"
    return problem.message


def test_missing(tmp_path: Path) -> None:
    """A missing file is told; one of the same name with another ending is a hint, which does not tell the name."""
    assert refused("garcia.jpeg", tmp_path) == "no such file in the image folder"
    (tmp_path / "garcia.png").write_bytes(PNG_FILE)
    assert check_image("garcia.jpeg", tmp_path) == ImageProblem(
        "MC320", "no such file in the image folder", "there is a file of this name with the extension .png"
    )


@pytest.mark.parametrize("path", ["nul\0.jpg", "lone\ud800.jpg", "a" * 5000, "x/" * 5000, "file/below.jpg", "", "."])
def test_impossible_names(path: str, tmp_path: Path) -> None:
    """A name that no file can have is told as any other missing file."""
    (tmp_path / "file").write_bytes(PNG_FILE)
    refused(path, tmp_path)


def test_folder(tmp_path: Path) -> None:
    """A folder is no image."""
    (tmp_path / "x.jpg").mkdir()
    assert refused("x.jpg", tmp_path) == "this is a folder, not an image"
    assert refused(tmp_path / "x.jpg") == "this is a folder, not an image"


@needs_fifo
def test_fifo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe without a writer does not block, even if it replaces a file at the last moment."""
    os.mkfifo(tmp_path / "x.jpg")
    assert "pipe" in refused("x.jpg", tmp_path)
    file_stat = os.stat(__file__)
    monkeypatch.setattr(os, "stat", lambda *arguments, **options: file_stat)
    assert "pipe" in refused("x.jpg", tmp_path)


def test_socket_and_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets and devices are not opened."""
    if os.path.exists("/dev/zero"):
        assert "device" in refused("/dev/zero")
    if hasattr(socket, "AF_UNIX"):
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("x.jpg")
            assert "socket" in refused("x.jpg", tmp_path)


def test_links(tmp_path: Path) -> None:
    """A link may lead to another image of the folder, but not in circles, nowhere or out of the folder."""
    folder = tmp_path / "images"
    (folder / "below").mkdir(parents=True)
    (folder / "a.png").write_bytes(PNG_FILE)
    (tmp_path / "secret.png").write_bytes(PNG_FILE)
    (folder / "inside.png").symlink_to("a.png")
    (folder / "below" / "up.png").symlink_to("../a.png")
    (folder / "loop.png").symlink_to("loop.png")
    (folder / "nowhere.png").symlink_to("missing.png")
    (folder / "outside.png").symlink_to("../secret.png")
    (folder / "parent").symlink_to("..")
    assert check_image("inside.png", folder) is None
    assert check_image("below/up.png", folder) is None
    assert "the file cannot be read" in refused("loop.png", folder)
    assert "no such file" in refused("nowhere.png", folder)
    outside = ["outside.png", "parent/secret.png", "../secret.png", "../missing.png", str(tmp_path / "secret.png")]
    for path in outside:
        assert refused(path, folder) == "the path leads out of the image folder"
    (tmp_path / "entry").symlink_to("images")
    assert check_image("inside.png", tmp_path / "entry") is None


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is told with the reason, not with its path."""
    (tmp_path / "x.png").write_bytes(PNG_FILE)

    def refuse(*arguments: Any, **options: Any) -> int:
        raise PermissionError(13, "Permission denied", "x.png")

    monkeypatch.setattr(os, "open", refuse)
    assert refused("x.png", tmp_path) == "the file cannot be read: permission denied"


def test_too_many_bytes(tmp_path: Path) -> None:
    """A file of more than 200 MB is not read; what it is comes first."""
    with open(tmp_path / "x.png", "wb") as stream:
        stream.write(PNG_FILE)
        stream.truncate(200_000_001)
    assert check_image("x.png", tmp_path) == ImageProblem(
        "MC325", "files of more than 200 MB are not read", "compress the image"
    )
    with open(tmp_path / "x.png", "r+b") as stream:
        stream.write(b"text")
    problem = check_image("x.png", tmp_path)
    assert problem is not None
    assert problem.code == "MC321"


def test_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is still being written is not called damaged."""
    path = tmp_path / "x.png"
    path.write_bytes(PNG_FILE[:1000])
    sniff = checking._sniff

    def write_meanwhile(head: bytes) -> None:
        sniff(head)
        path.write_bytes(PNG_FILE)

    monkeypatch.setattr(checking, "_sniff", write_meanwhile)
    assert refused(path) == "the file changed while it was being read"


def test_file_that_is_replaced(tmp_path: Path) -> None:
    """While another program replaces a file again and again, each check sees one version or says that it changed."""
    path = tmp_path / "x.png"
    path.write_bytes(PNG_FILE)
    stop = threading.Event()

    def replace() -> None:
        for number in range(10**9):
            if stop.is_set():
                return
            (tmp_path / "new").write_bytes([PNG_FILE, JPEG_FILE, b"text"][number % 3])
            os.replace(tmp_path / "new", path)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(60):
            problem = check_image("x.png", tmp_path)
            assert problem is None or problem.code in ("MC320", "MC321"), problem
    finally:
        stop.set()
        writer.join()


# --- Pillow --------------------------------------------------------------------------------------


def test_settings_of_pillow_do_not_matter(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is the same when the program has told Pillow to be lenient, or stricter; and its settings stay."""
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert check(JPEG_FILE) is None
    for name in ("jpeg-without-tables", "jpeg-half", "png-half"):
        problem = check(BAD[name][0]())
        assert problem is not None
        assert problem.code == "MC324"
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True
    assert Image.MAX_IMAGE_PIXELS == 10


def test_an_image_that_crashes_the_decoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem of that image only."""
    (folder / "deadly.jpg").write_bytes(JPEG_FILE[:-2] + b"CRASH" + JPEG_FILE[-2:])
    cases = [(number, "I", name) for number, name in enumerate(("good.jpg", "deadly.jpg", "good.jpg"))]
    assert finish(check_images(cases, folder, jobs=1)) == ([], 3)
    monkeypatch.setattr(checking, "examine", deadly.examine)
    (problem,), count = finish(check_images(cases, folder, jobs=1))
    assert (problem.record, problem.finding.code, count) == (1, "MC324", 3)
    assert problem.finding.message == "the decoder crashed on this image"


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the call is wrong, at once, and the message says what to install."""
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(CallError, match=r"pip install 'medcontract\[images\]'"):
        check_image(tmp_path / "x.png")
    with pytest.raises(CallError, match=r"pip install 'medcontract\[images\]'"):
        check_images([], tmp_path)


def test_pillow_is_imported_late() -> None:
    """Importing the package, or this part of it, does not import Pillow."""
    code = "import sys, medcontract, medcontract.images; sys.exit('PIL' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_memory(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """When memory runs out, it is told."""
    monkeypatch.setattr(checking, "examine", deadly.run_out)
    assert check(JPEG_FILE) == ImageProblem("MC324", "there is not enough memory to decode the image")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as on Linux")
def test_memory_for_a_bomb(tmp_path: Path) -> None:
    """A PNG of 100 megapixels takes little memory in this process, since another one decodes it."""
    row = zlib.compressobj(1)
    rows = b"".join(row.compress((b"\0" + bytes(30_000)) * 100) for _ in range(100)) + row.flush()
    (tmp_path / "x.png").write_bytes(png_header(10_000, 10_000) + chunk(b"IDAT", rows) + chunk(b"IEND"))
    code = (
        "import re, sys; from medcontract.images import check_image; assert check_image(sys.argv[1]) is None;"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "x.png"], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 100_000


# --- many ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some images, good and bad."""
    (tmp_path / "good.jpg").write_bytes(JPEG_FILE)
    (tmp_path / "good.png").write_bytes(PNG_FILE)
    (tmp_path / "small.jpg").write_bytes(SMALL_JPEG)
    (tmp_path / "cut.jpg").write_bytes(JPEG_FILE[:-100])
    (tmp_path / "alpha.png").write_bytes(BAD["png-alpha"][0]())
    return tmp_path


NAMES = ("good.jpg", "small.jpg", "good.png", "cut.jpg", "missing.jpg", "alpha.png", "good.jpg")
CODES = (None, "MC323", None, "MC324", "MC320", "MC322", None)


def some_cases(count: int) -> Iterator[tuple[int, str, str]]:
    for number in range(count):
        yield number, f"I-{number}", NAMES[number % len(NAMES)]


def finish(problems: Iterator[CaseProblem]) -> tuple[list[CaseProblem], int]:
    """All problems, and what the generator returns at its end."""
    found: list[CaseProblem] = []
    while True:
        try:
            found.append(next(problems))
        except StopIteration as end:
            return found, end.value


def test_findings(folder: Path) -> None:
    """A problem is a finding at `image_path`, with the number of its record, what was found, and what to do."""
    problems, count = finish(check_images(some_cases(2), folder))
    assert count == 2
    assert problems == [
        CaseProblem(1, "I-1", Finding(
            "MC323", "480 x 640 pixels: the shorter side must be at least 512",
            "export the image in its original size; do not scale it up",
            path=("image_path",), ref=Ref(-1, -1, 1), value="small.jpg",
        ))
    ]  # fmt: skip


def test_many_in_order(folder: Path) -> None:
    """Workers give what one process gives: the same problems in the order of the cases, and the same count."""
    alone, count = finish(check_images(some_cases(300), folder, jobs=1))
    assert count == 300
    assert [(p.record, p.finding.code) for p in alone] == [
        (number, code) for number in range(300) if (code := CODES[number % len(CODES)])
    ]
    assert finish(check_images(some_cases(300), folder, jobs=2)) == (alone, 300)


@pytest.mark.parametrize("jobs", [1, 2])
def test_cases_are_not_held(jobs: int, folder: Path) -> None:
    """No more cases are taken than the workers need; what is left when the caller stops is never taken."""
    taken = 0

    def endless() -> Iterator[tuple[int, str, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield taken, "I", "missing.jpg"

    problems = check_images(endless(), folder, jobs=jobs)
    for wanted in range(1, 301):
        assert next(problems).record == wanted
        assert taken - wanted <= max(batch.FEW + 1, batch.CHUNK * AHEAD * jobs)
    problems.close()


def test_progress(folder: Path) -> None:
    """Progress counts images, and knows their number when the cases do."""
    calls: list[tuple[int, int | None]] = []
    finish(check_images(list(some_cases(3)), folder, progress=lambda *call: calls.append(call)))
    finish(check_images(some_cases(2), folder, progress=lambda *call: calls.append(call)))
    assert calls == [(1, 3), (2, 3), (3, 3), (1, None), (2, None)]


def test_workers_only_for_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cases are checked in this process, many in as many as there are processors."""
    started: list[int] = []

    def start(count: int, *arguments: object, **named: object) -> None:
        started.append(count)
        raise OSError

    monkeypatch.setattr(processes, "Workers", start)
    monkeypatch.setattr(batch, "allowed", lambda: 7)
    assert finish(check_images(some_cases(batch.FEW), folder))[1] == batch.FEW
    assert started == []
    assert finish(check_images(some_cases(batch.FEW + 1), folder))[1] == batch.FEW + 1
    assert started == [7]
    with pytest.raises(CallError, match="cannot be started here"):
        next(check_images(some_cases(1), folder, jobs=2))
    assert started == [7, 2]


def test_usage_errors(tmp_path: Path) -> None:
    """A folder that is not there and a wrong number of jobs are told at once."""
    with pytest.raises(CallError, match="no such image folder"):
        check_images([], tmp_path / "missing")
    with pytest.raises(CallError, match="at least 1"):
        check_images([], tmp_path, jobs=0)
    assert finish(check_images([], tmp_path)) == ([], 0)


DEADLY = """
import os, signal
from medcontract.images import check_image

def check_chunk(root, paths):
    if "deadly.jpg" in paths:
        os.kill(os.getpid(), signal.SIGKILL)
    return [check_image(path, root) for path in paths]
"""
"""What a worker does, except that one image kills it; a module of its own, which workers import quickly."""


@pytest.mark.slow
@needs_kill
def test_worker_that_dies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that kills its worker is told as damaged; all others are judged as ever."""
    cases = list(some_cases(120))
    expected, _ = finish(check_images(cases, folder, jobs=1))
    fatal = {20, 100}
    cases = [(number, name, "deadly.jpg" if number in fatal else path) for number, name, path in cases]
    (folder / "deadly_worker.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(batch, "check_chunk", import_module("deadly_worker").check_chunk)
    problems, count = finish(check_images(cases, folder, jobs=2))
    assert count == 120
    assert [p for p in problems if p.record not in fatal] == [p for p in expected if p.record not in fatal]
    assert {p.record: p.finding.code for p in problems if p.record in fatal} == dict.fromkeys(fatal, "MC324")
    assert "crashed the worker process" in next(p for p in problems if p.record == 20).finding.message


ENDLESS = """
import itertools
from medcontract.images import check_images

def tell(done, total):
    if done == 100:
        print("100", flush=True)

if __name__ == "__main__":
    cases = ((number, "I", "good.jpg") for number in itertools.count())
    list(check_images(cases, ".", jobs=2, progress=tell))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up as on Linux")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_no_worker_is_left(how: str, folder: Path) -> None:
    """Workers end with the process that asked, be it interrupted or killed."""
    (folder / "script.py").write_text(ENDLESS)
    with subprocess.Popen(
        [sys.executable, "script.py"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=as_usual, start_new_session=True,
    ) as asking:  # fmt: skip
        assert asking.stdout
        assert asking.stdout.readline() == "100\n"
        assert len(processes_of(asking.pid)) >= 3
        asking.send_signal(getattr(signal, how))
    wait_for(lambda: not processes_of(asking.pid))


def test_script_without_a_guard(folder: Path) -> None:
    """One that its own workers run again, since threads prevent forking, gets a clear error: no image is blamed."""
    script = folder / "script.py"
    script.write_text(
        "import threading\nfrom medcontract.images import check_images\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print(list(check_images([(0, 'I', 'good.jpg')], '.', jobs=2)))\n"
    )
    done = subprocess.run(
        [sys.executable, script.name], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "CallError: the worker processes cannot be started" in done.stderr


def test_documented_example(folder: Path) -> None:
    """The example of the page on images runs."""
    page = (ROOT / "docs" / "images.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    (folder / "images").mkdir()
    (folder / "images" / "I-2.jpg").write_bytes(SMALL_JPEG)
    (folder / "script.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[0].startswith("0 MC320")
    assert done.stdout.splitlines()[1].startswith("1 MC323 480 x 640 pixels")


# --- the images of a file of cases ---------------------------------------------------------------


def a_case(number: int, path: object, **changes: object) -> dict[str, object]:
    return {"image_id": f"I-{number}", "image_path": path, "age": 61, "gender": "f", "location": 7, **changes}


def as_lines(cases: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(case) + "\n" for case in cases).encode()


def as_table(cases: Iterable[dict[str, object]]) -> bytes:
    header = b"image_id,image_path,age,gender,location\n"
    return header + "".join(",".join(map(str, case.values())) + "\n" for case in cases).encode()


def as_parquet(cases: list[dict[str, object]]) -> bytes:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(cases), stream)
    return stream.getvalue()


PLACED = [a_case(number, path) for number, path in enumerate(NAMES[:5])]
WRITTEN: dict[str, tuple[bytes, list[tuple[object, ...]]]] = {
    "x.json": (
        b'{"event": "\xc3\xa9", "cases": [\n'
        + b",\r\n".join(json.dumps(case, indent=1).encode() for case in PLACED)
        + b"\n]}",
        [
            ("MC323", 11, 16, "/cases/1/image_path", 1, None),
            ("MC324", 25, 16, "/cases/3/image_path", 3, None),
            ("MC320", 32, 16, "/cases/4/image_path", 4, None),
        ],
    ),
    "x.jsonl": (
        b"\xef\xbb\xbf" + as_lines(PLACED[:1]) + b"\n" + as_lines(PLACED[1:]).replace(b"I-3", "Señal".encode()),
        [
            ("MC323", 3, 35, "/image_path", 1, None),
            ("MC324", 5, 37, "/image_path", 3, None),
            ("MC320", 6, 35, "/image_path", 4, None),
        ],
    ),
    "x.csv": (
        as_table(PLACED).replace(b"I-2", b'"I\r\n2"'),
        [
            ("MC323", 3, None, "/image_path", 1, "image_path"),
            ("MC324", 6, None, "/image_path", 3, "image_path"),
            ("MC320", 7, None, "/image_path", 4, "image_path"),
        ],
    ),
    "x.parquet": (
        as_parquet(PLACED),
        [
            ("MC323", None, None, "/image_path", 1, "image_path"),
            ("MC324", None, None, "/image_path", 3, "image_path"),
            ("MC320", None, None, "/image_path", 4, "image_path"),
        ],
    ),
}
"""Containers of the same cases, with what moves lines and columns, and where the problems of the images are."""


def placed(report: FileReport) -> list[tuple[object, ...]]:
    assert_sound(report)
    return [(p.code, p.line, p.column, p.pointer, p.record, p.field) for p in report.problems]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", [*WRITTEN, "x.json.gz", "x.jsonl.gz", "x.csv.gz"])
def test_places(name: str, jobs: int, folder: Path) -> None:
    """A problem of an image stands at `image_path` of its record, in every container, gzipped or not."""
    content, expected = WRITTEN[name.removesuffix(".gz")]
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    report = medcontract.validate(path, images=folder, jobs=jobs)
    assert placed(report) == expected
    assert (report.records, report.errors, report.images) == (5, 3, (5, 3))


MIXED = [
    a_case(0, "small.jpg"),
    a_case(1, "small.jpg", age=300),
    a_case(2, "../good.jpg"),
    a_case(3, "alpha.png", gender=None, location="x"),
    a_case(4, "good.jpg"),
    a_case(4, "cut.jpg"),
    a_case(4, "good.jpg"),
    a_case(7, 5),
    a_case(8, "missing.jpg", colour=float("nan")),
]
ALL_OF_MIXED = [
    (0, "MC323"), (1, "MC323"), (1, "MC105"), (2, "MC107"), (3, "MC322"), (3, "MC103"), (3, "MC103"), (5, "MC201"),
    (5, "MC324"), (6, "MC201"), (7, "MC103"), (8, "MC320"), (8, "MC016"),
]  # fmt: skip


@pytest.mark.parametrize("keep", [0, 1, 2, 5, 9, 10_000])
def test_in_order_with_other_problems(keep: int, folder: Path) -> None:
    """Problems of images stand among the others in file order, and the first ones of all are kept.

    A record that is bad elsewhere has its image checked; a bad path is one problem, not two.
    """
    report = medcontract.validate(as_lines(MIXED), name="x.jsonl", images=folder, max_problems=keep)
    assert [(problem.record, problem.code) for problem in report.problems] == ALL_OF_MIXED[:keep]
    assert (report.errors, report.images) == (len(ALL_OF_MIXED), (7, 5))
    assert_sound(report)


def test_columns_that_are_missing(folder: Path) -> None:
    """A table without the ages still names its images; one without the images names none."""
    table = as_table(PLACED)
    report = medcontract.validate(table.replace(b",age", b"").replace(b",61", b""), "lesions/cases", images=folder)
    assert [problem.code for problem in report.problems] == ["MC101", "MC323", "MC324", "MC320"]
    report = medcontract.validate(table.replace(b"image_path", b"picture"), "lesions/cases", images=folder)
    assert [problem.code for problem in report.problems] == ["MC101", "MC102"]
    assert report.images == (0, 0)


def test_broken_file(folder: Path) -> None:
    """A file whose syntax is broken has no records, and so no images."""
    report = medcontract.validate(WRITTEN["x.json"][0][:-3], "lesions/cases", name="x.json", images=folder)
    assert (report.records, report.images) == (0, (0, 0))
    assert [problem.code for problem in report.problems] == ["MC011"]


def test_without_a_folder(folder: Path) -> None:
    """Without a folder no image is looked at."""
    report = medcontract.validate(as_lines(PLACED), name="x.jsonl")
    assert (report.ok, report.images) == (True, None)


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv"])
def test_file_that_changes_meanwhile(name: str, folder: Path) -> None:
    """When the file is emptied while its images are checked, what was found is told, wherever it may stand now."""
    path = folder / name
    path.write_bytes(WRITTEN[name][0])

    def after_reading(stage: str, done: int, total: int) -> None:
        if stage == "checking images":
            path.write_bytes(b"")

    report = medcontract.validate_files([path], images=folder, progress=after_reading)
    assert [(problem.code, problem.record) for problem in report.files[0].problems] == [
        ("MC323", 1), ("MC324", 3), ("MC320", 4)
    ]  # fmt: skip


def test_hostile_files_of_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands where an image should be is one problem of its record; the others are judged as ever."""
    inside = folder / "images"
    inside.mkdir()
    (folder / "secret.png").write_bytes(PNG_FILE)
    (inside / "a.jpg").write_bytes(PNG_FILE)  # what the name says does not matter
    (inside / "folder.jpg").mkdir()
    (inside / "outside.png").symlink_to("../secret.png")
    (inside / "loop.png").symlink_to("loop.png")
    (inside / "text.png").write_text("no picture")
    (inside / "huge.png").write_bytes(BAD["png-huge"][0]())
    (inside / "bomb.png").write_bytes(BAD["png-text-bomb"][0]())
    (inside / "half.jpg").write_bytes(BAD["jpeg-half"][0]())
    (inside / "locked.png").write_bytes(PNG_FILE)
    really_open = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith("locked.png"):
            raise PermissionError(13, "Permission denied")
        return really_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    expected = {
        "a.jpg": None, "folder.jpg": "MC320", "outside.png": "MC320", "loop.png": "MC320", "text.png": "MC321",
        "huge.png": "MC325", "bomb.png": "MC324", "half.jpg": "MC324", "locked.png": "MC320", "images/a.jpg": "MC320",
        "x\0.png": "MC320", "../secret.png": "MC107", str(folder / "secret.png"): "MC107", "a" * 5000: "MC320",
    }  # fmt: skip
    cases = as_lines(a_case(number, path) for number, path in enumerate(expected))
    report = medcontract.validate(cases, name="x.jsonl", images=inside)
    assert {problem.record: problem.code for problem in report.problems} == {
        number: code for number, code in enumerate(expected.values()) if code
    }
    assert report.images == (12, 11)
    hints = {problem.record: problem.hint for problem in report.problems}
    assert hints[9] == "the path starts with the image folder itself: pass its parent folder"


# --- medcontract validate --images ---------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `medcontract validate` in the folder, where there are files of cases."""
    monkeypatch.chdir(folder)
    (folder / "good.csv").write_bytes(as_table(a_case(number, "good.jpg") for number in range(3)))
    (folder / "bad.csv").write_bytes(as_table(PLACED))
    (folder / "truth.csv").write_text("image_id,label\nI-0,NV\n")
    (folder / "broken.json").write_text('{"cases": [')

    def call(*arguments: str) -> tuple[int, str, str]:
        return main(["validate", *arguments]), *capsys.readouterr()

    return call


def test_good_images(run: Run) -> None:
    """All is well: exit 0, and the images are counted. Other files may stand beside the cases."""
    ok = "good.csv: ok  lesions/cases, 3 records, 3 images (recognized by its columns)\n"
    assert run("--images", ".", "good.csv") == (0, f"{ok}No problems found in 1 file, 3 records.\n", "")
    assert run("--images", ".", "--jobs", "1", "truth.csv", "good.csv")[0] == 0


def test_bad_images(run: Run) -> None:
    """Images break the contract: exit 1, each problem at its line, and no path, which may be a patient's name."""
    code, out, err = run("--images", ".", "bad.csv")
    assert (code, err) == (1, "")
    assert out.startswith("bad.csv:3: error MC323 480 x 640 pixels: the shorter side must be at least 512 (column B)\n")
    assert "bad.csv:5: error MC324 the JPEG is truncated: its end is missing (column B)\n" in out
    assert "bad.csv:6: error MC320 no such file in the image folder (column B)\n" in out
    assert out.endswith("\n3 errors in 1 of 1 file, 5 records.\n")
    assert [name for name in NAMES if name in out] == []
    assert "small.jpg" in run("--images", ".", "--show-values", "bad.csv")[1]


def test_bad_images_as_json(run: Run) -> None:
    """The JSON keeps its published schema, and --max-problems holds for images too."""
    code, out, err = run("--images", ".", "--format", "json", "--max-problems", "1", "bad.csv")
    published("medcontract/validation").validate(json.loads(out))
    file = json.loads(out)["files"][0]
    assert (code, err, file["errors"], file["omitted"]) == (1, "", 3, 2)
    assert file["problems"] == [{
        "code": "MC323", "severity": "error", "message": "480 x 640 pixels: the shorter side must be at least 512",
        "hint": "export the image in its original size; do not scale it up",
        "pointer": "/image_path", "record": 1, "line": 3, "column": None, "field": "image_path",
    }]  # fmt: skip


def test_many_bad_images(run: Run, folder: Path) -> None:
    """Of the same problem in many images one is shown and the others counted, whatever their sizes."""
    (folder / "smaller.jpg").write_bytes(saved(picture(64, 64), "JPEG"))
    names = ["small.jpg", "smaller.jpg"] * 50
    (folder / "many.csv").write_bytes(as_table(a_case(number, name) for number, name in enumerate(names)))
    code, out, _ = run("--images", ".", "many.csv")
    assert (code, out.count("error MC323")) == (1, 1)
    assert "… and 99 more records like this (lines 3, 4, …)" in out


@pytest.mark.parametrize(("arguments", "words"), [
    (["--images", "nowhere", "good.csv"], "nowhere: no such image folder"),
    (["--images", "", "good.csv"], "no such image folder"),
    (["--images", "good.jpg", "good.csv"], "good.jpg: expected an image folder, got a file"),
    (["--images", ".", "truth.csv"], "images are given, but no file of lesions/cases, which refers to them"),
    (["--images", ".", "--schema", "truth.csv", "good.csv"], "images are checked for lesions/cases"),
    (["--images", ".", "--jobs", "0", "good.csv"], "--jobs"),
    (["--images", ".", "--jobs", "many", "good.csv"], "--jobs"),
])  # fmt: skip
def test_usage_errors_of_the_command(run: Run, arguments: list[str], words: str) -> None:
    """A call that cannot check any image is wrong: exit 2, no result, and what to do."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_unclear_files_come_first(run: Run) -> None:
    """A file that may well name the images, but cannot be read, is what the caller has to hear of."""
    code, out, err = run("--images", ".", "no-such-file.csv")
    assert (code, err) == (2, "")
    assert "no such file" in out
    assert run("--images", ".", "broken.json")[0] == 1


def test_images_without_pillow(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the call is wrong, before any file is read, and the message says what to install."""
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    code, out, err = run("--images", ".", "good.csv")
    assert (code, out) == (2, "")
    assert "pip install 'medcontract[images]'" in err


def test_cases_from_standard_input(folder: Path) -> None:
    """Cases may be piped in: they are read again to find the places."""
    done = subprocess.run(
        [*COMMAND, "validate", "--images", ".", "--contract", "lesions/cases", "--format", "json", "-"],
        input=as_lines(PLACED), cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")
    problems = json.loads(done.stdout)["files"][0]["problems"]
    assert [(problem["line"], problem["column"]) for problem in problems] == [(2, 35), (4, 35), (5, 35)]


SLOW = """
import itertools, sys
from medcontract.cli import output
from medcontract.cli.main import main

class Clock:
    ticks = itertools.count()
    monotonic = classmethod(lambda self: next(self.ticks) * float(sys.argv[1]))

output.time = Clock
sys.exit(main(sys.argv[2:]))
"""
"""The command with a clock of its own, on which each look takes as many seconds as the first argument says."""


def on_a_terminal(seconds: str, *arguments: str, cwd: Path) -> bytes:
    """What the command writes to standard error, which is a terminal."""
    master, slave = os.openpty()
    try:
        command = [sys.executable, "-c", SLOW, seconds, "validate", *arguments]
        subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=slave, check=True)
        os.write(slave, b"END")
        shown = b""
        while not shown.endswith(b"END"):
            shown += os.read(master, 65536)
    finally:
        os.close(slave)
        os.close(master)
    return shown.removesuffix(b"END")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
@pytest.mark.usefixtures("run")
def test_bar(folder: Path) -> None:
    """Slow work has a bar on a terminal, which counts images and is gone at the end; quick work leaves no trace."""
    shown = on_a_terminal("2", "--images", ".", "good.csv", cwd=folder)
    bars = [line.strip() for line in re.sub(rb"\x1b\[K", b"", shown).split(b"\r")]
    assert [line.partition(b"]")[2].strip().partition(b",")[0] for line in bars if b"images" in line] == [
        b"33% checking images", b"67% checking images", b"100% checking images"
    ]  # fmt: skip
    assert b"[##########                    ]" in shown
    assert shown.endswith(b"\r\x1b[K")
    assert on_a_terminal("0.001", "--images", ".", "good.csv", cwd=folder) == b""
    assert re.search(rb" checking[^\r]*\x1b\[K\r\x1b\[K\Z", on_a_terminal("2", "good.csv", "truth.csv", cwd=folder))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up as on Linux")
def test_interrupt(folder: Path) -> None:
    """Ctrl-C, which all processes of the terminal get, ends with 130 and one word, and no worker is left."""
    (folder / "x.jsonl").write_bytes(as_lines(a_case(number, "good.jpg") for number in range(50_000)))
    master, slave = os.openpty()
    with subprocess.Popen(
        [*COMMAND, "validate", "--images", ".", "--jobs", "2", "x.jsonl"], cwd=folder, stdout=subprocess.PIPE,
        stderr=slave, start_new_session=True, preexec_fn=as_usual,
    ) as asking:  # fmt: skip
        shown = b""
        while b"checking images" not in shown:
            shown += os.read(master, 65536)
        assert len(processes_of(asking.pid)) >= 3
        os.killpg(asking.pid, signal.SIGINT)
        out, _ = asking.communicate(timeout=60)
    os.write(slave, b"END")
    while not shown.endswith(b"END"):
        shown += os.read(master, 65536)
    os.close(slave)
    os.close(master)
    assert (asking.returncode, out) == (130, b"")
    assert shown.rpartition(b"\x1b[K")[2].replace(b"END", b"").strip() == b"Interrupted."
    wait_for(lambda: not processes_of(asking.pid))
