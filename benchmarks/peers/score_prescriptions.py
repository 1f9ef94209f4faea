"""Recall, F1 and field accuracy of extracted prescriptions with orjson, without any checks.

score_prescriptions.py LABELS FILE

Texts are equal if they only differ in case, accents and punctuation. Each item is compared with the first label of the
same name that is left.
"""

from __future__ import annotations

import string
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson

FIELDS = ("dosis", "frecuencia", "duracion", "instrucciones")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in letters if not unicodedata.combining(each)).translate(PUNCTUATION).strip()


def by_name(items: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for item in items:
        found[plain(item["nombre_medicamento"])].append(item)
    return found


def main() -> None:
    with Path(sys.argv[1]).open("rb") as lines:
        labels = {(record := orjson.loads(line))["doc_id"]: record["medications"] for line in lines}
    matched = predicted = 0
    total = 0.0
    with Path(sys.argv[2]).open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            sent, true = by_name(record["medicamentos"]), labels[record["doc_id"]]
            pairs = [(item, sent[name].pop(0)) for item in true if sent[name := plain(item["nombre_medicamento"])]]
            right = sum(plain(one[field]) == plain(two[field]) for one, two in pairs for field in FIELDS)
            recall = len(pairs) / len(true) if true else 1
            accuracy = right / (len(FIELDS) * len(pairs)) if pairs else 0
            total += 70 * recall + 30 * accuracy
            matched += len(pairs)
            predicted += len(record["medicamentos"])
    expected = sum(map(len, labels.values()))
    figures = {"prescription_accuracy": total / len(labels), "names_f1": 2 * matched / (predicted + expected)}
    print(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()
