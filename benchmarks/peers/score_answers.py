"""Exact match, ROUGE-L and the F1 of words of answers and rationales with orjson and rapidfuzz, without any checks.

score_answers.py REFERENCES FILE
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean

import orjson
from rapidfuzz.distance import LCSseq

WORDS = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    return WORDS.findall(text.lower())


def rouge_l(true: list[str], said: list[str]) -> float:
    return 2 * LCSseq.similarity(true, said) / (len(true) + len(said)) if true or said else 0


def words_f1(true: list[str], said: list[str]) -> float:
    return 2 * (Counter(true) & Counter(said)).total() / (len(true) + len(said)) if true or said else 0


def main() -> None:
    with Path(sys.argv[1]).open("rb") as lines:
        references = {(record := orjson.loads(line))["sample_id"]: record["reference"] for line in lines}
    equal, rouge, common = [], [], []
    with Path(sys.argv[2]).open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            said, true = record["prediction"], references[record["sample_id"]]
            equal.append(said["answer"] == true["answer"])
            rouge.append(rouge_l(words_of(true["answer"]), words_of(said["answer"])))
            common.append(words_f1(words_of(true["rationale"]), words_of(said["rationale"])))
    figures = {"exact_match": fmean(equal), "rouge_l": fmean(rouge), "rationale_f1": fmean(common)}
    print(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()
