"""The mean Jaccard index of triage responses with orjson, without any checks.

score_triage.py TRUTH FILE
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

import orjson


def main() -> None:
    truth, response = (orjson.loads(Path(path).read_bytes()) for path in sys.argv[1:])
    predicted = {record["segment_id"]: set(record["model_predictions"]) for record in response["responses"]}
    right: defaultdict[str, set[str]] = defaultdict(set)
    named: defaultdict[str, set[str]] = defaultdict(set)
    for segment in truth["ground_truth"]:
        case, listed = segment["case_id"], {lsi["lsi_group"] for lsi in segment["gt_lsi_list"]}
        said = predicted.get(segment["segment_id"], set())
        right[case] |= listed & said
        named[case] |= listed | said
    indexes = [len(right[case]) / len(groups) if groups else 1 for case, groups in named.items()]
    print(orjson.dumps({"mean_jaccard_index": mean(indexes)}).decode())


if __name__ == "__main__":
    main()
