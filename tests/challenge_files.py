"""The challenge of the specification, and changed versions of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STROKE = """\
id = "stroke"
title = "Stroke type from CT reports"
version = 1
key = "case_id"

[prediction]
label = { one_of = ["ischemic", "hemorrhagic", "none"] }
probability = { type = "number", min = 0, max = 1, optional = true, about = "of hemorrhagic" }
findings = { type = "set", of = { one_of = ["edema", "shift", "midline"] }, optional = true }

[truth]
label = { one_of = ["ischemic", "hemorrhagic", "none"] }
findings = { type = "set", of = { one_of = ["edema", "shift", "midline"] } }

[[metric]]
name = "macro_f1"
kind = "f1"
field = "label"
average = "macro"

[[metric]]
name = "auroc"
kind = "auroc"
field = "probability"
positive = { field = "label", is = "hemorrhagic" }

[score]
headline = "total"
[score.sums]
total = { macro_f1 = 0.7, auroc = 0.3 }

[gate]
min_processed = 0.95
"""
"""The example of CHALLENGES.md, without rules and comments."""

SMALL = """\
id = "risk"
key = "case_id"
[prediction]
label = { one_of = ["yes", "no"] }
[truth]
label = { one_of = ["yes", "no"] }
[[metric]]
name = "accuracy"
kind = "accuracy"
field = "label"
[score]
headline = "accuracy"
"""
"""A challenge whose truth and predictions may have the same columns."""

REGRESSION = """\
id = "risk"
key = "case_id"
[prediction]
days = { type = "number", min = 0, max = 100 }
[truth]
days = { type = "number", min = 0, max = 100 }
[[metric]]
name = "mae"
kind = "mae"
field = "days"
unprocessed = 100
[score]
headline = "mae"
"""

TRUE_LABELS = ("ischemic", "hemorrhagic", "none", "hemorrhagic")
PREDICTED = (("ischemic", 0.2), ("hemorrhagic", 0.9), ("ischemic", 0.3), ("hemorrhagic", 0.25))


def changed(text: str, old: str, new: str) -> str:
    """The text with one part replaced, which must occur."""
    assert old in text
    return text.replace(old, new, 1)


def stroke_truth() -> list[dict[str, Any]]:
    return [{"case_id": f"C-{n}", "label": label, "findings": []} for n, label in enumerate(TRUE_LABELS)]


def stroke_predictions() -> list[dict[str, Any]]:
    return [{"case_id": f"C-{n}", "label": label, "probability": p} for n, (label, p) in enumerate(PREDICTED)]


def write(path: Path, records: Any) -> Path:
    """Write records to .jsonl or .csv, or a document to .json."""
    if path.suffix == ".csv":
        columns = list(records[0])
        lines = [",".join(columns), *(",".join(str(record.get(name, "")) for name in columns) for record in records)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    else:
        path.write_text(json.dumps(records), encoding="utf-8")
    return path
