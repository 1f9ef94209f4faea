"""Classify the images of a file of cases with the toy model, and write predictions. It needs Pillow.

    python run_inference.py --cases cases.csv --images . --model toy.model --out predictions.csv

Replace `load_model` and `classify` with your own model: the rest reads the files of `lesions/cases` and writes files of
`lesions/predictions`. An image that cannot be read becomes a record with an `error`.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from pathlib import Path
from typing import Any

from PIL import Image

CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
"""The order of the probabilities."""


def load_model(path: Path) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return model


def classify(
    model: dict[str, Any], color: tuple[float, float, float], age: int, gender: str, location: int
) -> list[float]:
    """Return one probability per class: the larger, the closer color, age and location are to its typical values.

    (The toy model has no use for the gender.)
    """
    scores = []
    for symbol in CLASSES:
        typical = model[symbol]
        distance = math.dist(color, typical["color"]) / 16
        distance += abs(age - typical["age"]) / 40 + (location != typical["location"]) / 2
        scores.append(-distance)
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    return [power / sum(powers) for power in powers]


def color_of_lesion(path: Path) -> tuple[float, float, float]:
    """Return the mean color in the middle of an image."""
    with Image.open(path) as image:
        width, height = image.size
        middle = image.convert("RGB").crop((width * 3 // 8, height * 3 // 8, width * 5 // 8, height * 5 // 8))
    pixels = middle.resize((1, 1), Image.Resampling.BOX).tobytes()
    return pixels[0], pixels[1], pixels[2]


def predict(model: dict[str, Any], case: dict[str, str], images: Path) -> dict[str, str]:
    """Return the row of predictions.csv for one case."""
    try:
        color = color_of_lesion(images / case["image_path"])
    except OSError as error:
        return {"image_id": case["image_id"], "error": f"the image cannot be read: {type(error).__name__}"}
    shares = classify(model, color, int(case["age"]), case["gender"], int(case["location"]))
    return {"image_id": case["image_id"], **{name: f"{share:.6f}" for name, share in zip(CLASSES, shares, strict=True)}}


def main() -> int:
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description="Classify skin lesions.")
    parser.add_argument("--cases", type=Path, default=here / "cases.csv")
    parser.add_argument("--images", type=Path, default=here, help="the folder that the paths in the cases start from")
    parser.add_argument("--model", type=Path, default=here / "toy.model")
    parser.add_argument("--out", type=Path, default=here / "predictions.csv")
    arguments = parser.parse_args()
    model = load_model(arguments.model)
    with arguments.cases.open(encoding="utf-8", newline="") as file:
        rows = [predict(model, case, arguments.images) for case in csv.DictReader(file)]
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["image_id", *CLASSES, "error"], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    failed = sum("error" in row for row in rows)
    print(f"{len(rows)} images, {failed} failed: {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
