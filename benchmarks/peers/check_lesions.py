"""A table of lesion predictions checked with pandas: numbers from 0 to 1 whose sum is 1, and no repeated ids.

check_lesions.py FILE; says whether it is valid, not what is wrong.
"""

from __future__ import annotations

import sys

import pandas as pd

CLASSES = ["AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON"]


def main() -> None:
    table = pd.read_csv(sys.argv[1], dtype={"image_id": str, **dict.fromkeys(CLASSES, float)})
    values = table[CLASSES]
    valid = (
        list(table.columns) == ["image_id", *CLASSES]
        and bool(table["image_id"].notna().all())
        and bool(table["image_id"].is_unique)
        and bool(((values >= 0) & (values <= 1)).all(axis=None))
        and bool(((values.sum(axis=1) - 1).abs() <= 1e-3).all())
    )
    sys.exit(0 if valid else 1)


if __name__ == "__main__":
    main()
