"""Draw the images of this example and write its toy model. It needs only the standard library.

    python make_example.py

The lesions are fictitious: an ellipse on plain skin, whose color depends on the class in truth.csv. The model knows the
typical color of each class, and the age and the body location at which it is typical.
"""

from __future__ import annotations

import csv
import json
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).parent
SIDE = 512
"""Pixels; the smallest that the contract allows."""
BLOCK = 16
"""Images are drawn in squares of this side, so that the files are small."""

# Class: color of the lesion (red, green, blue), typical age, typical body location (see lesions/cases).
CLASSES = {
    "AK": ((205, 130, 110), 75, 5),
    "BCC": ((190, 150, 160), 70, 5),
    "SK": ((120, 95, 70), 60, 7),
    "SCC": ((195, 105, 90), 78, 4),
    "VASC": ((170, 30, 60), 15, 1),
    "DF": ((150, 100, 95), 40, 6),
    "NV": ((110, 70, 45), 25, 6),
    "NON": ((215, 160, 120), 30, 2),
    "MEL": ((45, 30, 30), 62, 7),
    "ON": ((175, 125, 60), 50, 5),
}
UNUSUAL = {"DRM-00230": (192, 104, 90), "DRM-00248": (113, 73, 48)}
"""Two lesions that look like another class: the model gets them wrong."""


def main() -> None:
    labels = {row["image_id"]: row["label"] for row in _rows("truth.csv")}
    for number, case in enumerate(_rows("cases.csv")):
        image_id = case["image_id"]
        color = UNUSUAL.get(image_id, CLASSES[labels[image_id]][0])
        path = HERE / case["image_path"]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png(draw(color, number)))
    model = {symbol: {"color": color, "age": age, "location": at} for symbol, (color, age, at) in CLASSES.items()}
    (HERE / "toy.model").write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def draw(lesion: tuple[int, int, int], number: int) -> list[bytes]:
    """Return the rows of an image: an ellipse on skin. The number of the case varies its shape and the skin."""
    skin = bytes((232 - 3 * number, 190 - 2 * number, 165 - 2 * number))
    width, height = 0.55 + 0.02 * number, 0.8 - 0.02 * number
    rows = []
    for top in range(0, SIDE, BLOCK):
        y = 2 * (top + BLOCK / 2) / SIDE - 1
        row = b"".join(
            (bytes(lesion) if (x / width) ** 2 + (y / height) ** 2 < 1 else skin) * BLOCK
            for x in (2 * (left + BLOCK / 2) / SIDE - 1 for left in range(0, SIDE, BLOCK))
        )
        rows += [row] * BLOCK
    return rows


def png(rows: list[bytes]) -> bytes:
    """Rows of RGB pixels as a PNG file, with 8 bits per channel."""
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    main()
