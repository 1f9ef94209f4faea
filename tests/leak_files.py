"""Files full of markers, for tests that look for leaks: in values, labels, ids, unknown keys, and names of folders.

A case is a truth and a submission of one track: built-in, of a challenge, or of a plugin. Most records are valid, so
that there is a score; some are wrong in every way, with markers where the contract expects something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.challenge_files import STROKE, stroke_predictions, stroke_truth
from tests.commands import KEYS, SENT, TRACKS, TRUTH
from tests.scoring_files import CONTRACTS, HEADERS, LIST_KEYS, Record
from tests.support import ROOT

import medcontract

OF_TRUTH, OF_SUBMISSION, OF_FOLDER = "Ttt7731", "Sss8842", "Fff9953"
TOY = ROOT / "tests" / "toy_track.py"


def marked(marker: str) -> str:
    """A text that looks like data about a patient, not like an identifier."""
    return f"{marker} Añez Núñez, 63"


class Case(NamedTuple):
    """A truth and a submission of one track."""

    truth: Path
    submission: Path
    """A folder."""
    options: tuple[str, ...] = ()
    """What the command line needs to know the track."""
    api: Any = medcontract
    """The module, or the challenge, whose functions know the track."""
    contracts: tuple[str, str] = ("", "")
    key: str = "case_id"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [leaf for key, each in members for leaf in leaves(each, (*path, key))] or [path]


def changed(record: Mapping[str, Any], path: Sequence[Any], value: Any) -> Record:
    copy: Record = json.loads(json.dumps(record))
    holder: Any = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copy


def wrong_records(record: Mapping[str, Any], key: str, marker: str) -> list[Record]:
    """The record with a marker in each place, as an unknown key, as the id, and twice with the same id."""
    text = marked(marker)
    found = [changed(record, path, text) for path in leaves(record) if path != (key,)]
    found += [{**record, text: text}, {**record, "error": text}, {**record, "note": {text: [text]}}]
    named = [{**each, key: f"{text} {number}"} for number, each in enumerate(found)]
    return [*named, named[0], {**record, key: [text]}]


def _collection(path: Path, header: Mapping[str, Any], list_key: str, records: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**header, list_key: list(records)}, ensure_ascii=False), encoding="utf-8")
    return path


def _lines(path: Path, records: Sequence[Any], marker: str) -> Path:
    """One record per line, and lines that are not JSON."""
    key = json.dumps(marked(marker), ensure_ascii=False)
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    lines += [f"{{{key}: 1, {key}: 2}}", f"{{{key} 1}}", f'{{"a": {key}', marked(marker), f"[{key}]", f"{{{key}: NaN}}"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def built_in(track: str, folder: Path) -> Case:
    """Twenty items: a valid truth with labels that are markers where any text is allowed, and a partly wrong answer."""
    folder = folder / OF_FOLDER
    truth_id, sent_id = CONTRACTS[track][:2]
    truth = _with_labels(truth_id, TRUTH[track], KEYS[track], OF_TRUTH)
    sent = _with_labels(sent_id, SENT[track], KEYS[track], OF_SUBMISSION)
    sent += wrong_records(SENT[track][0], KEYS[track], OF_SUBMISSION)
    where = folder / "sub" / "sent.json"
    _collection(folder / "truth.json", HEADERS[truth_id], LIST_KEYS[truth_id], truth)
    _collection(where, HEADERS[sent_id], LIST_KEYS[sent_id], sent)
    return Case(folder / "truth.json", where.parent, contracts=(truth_id, sent_id), key=KEYS[track])


def _with_labels(contract: str, records: Sequence[Record], key: str, marker: str) -> list[Record]:
    """The records with a marker in every text that may be any text, except ids."""
    free = [path for path in leaves(records[0]) if path[-1] not in {key, "case_id", "task_id"}]
    found = list(records)
    for path in free:
        candidates = [changed(record, path, marked(marker)) for record in found]
        text = "\n".join(map(json.dumps, candidates))
        found = candidates if medcontract.validate(text.encode(), contract, name="x.jsonl").ok else found
    return found


def of_challenge(folder: Path) -> Case:
    folder = folder / OF_FOLDER
    folder.mkdir(parents=True)
    (folder / "challenge.toml").write_text(_stroke_with_text(), encoding="utf-8")
    truth = [{**record, "comment": marked(OF_TRUTH)} for record in stroke_truth()]
    sent: list[Record] = [{**record, "comment": marked(OF_SUBMISSION)} for record in stroke_predictions()]
    sent += wrong_records({**sent[0], "findings": ["edema"]}, "case_id", OF_SUBMISSION)
    _lines(folder / "sub" / "sent.jsonl", sent, OF_SUBMISSION)
    (folder / "truth.jsonl").write_text("".join(json.dumps(each) + "\n" for each in truth), encoding="utf-8")
    return Case(
        folder / "truth.jsonl", folder / "sub", ("--challenge", str(folder / "challenge.toml")),
        medcontract.Challenge.load(folder / "challenge.toml"), ("stroke/truth", "stroke/predictions"),
    )  # fmt: skip


def _stroke_with_text() -> str:
    """The challenge of the specification, with a comment and a metric of it: an exact match of texts."""
    text = STROKE.replace("[truth]\n", 'comment = { type = "text" }\n[truth]\ncomment = { type = "text" }\n')
    metric = '[[metric]]\nname = "comments"\nkind = "exact_match"\nfield = "comment"\n\n[score]\n'
    return text.replace("[score]\n", metric, 1).replace("min_processed = 0.95", "min_processed = 0.5")


def of_plugin(folder: Path) -> Case:
    """The track of a plugin, whose labels are words."""
    folder = folder / OF_FOLDER
    medcontract.load_plugin(str(TOY))
    truth = [{"item": f"I-{n}", "word": marked(OF_TRUTH)} for n in range(20)]
    sent: list[Record] = [{"item": f"I-{n}", "said": marked(OF_SUBMISSION)} for n in range(20)]
    sent += wrong_records(sent[0], "item", OF_SUBMISSION)
    _collection(folder / "truth.json", {}, "truth", truth)
    _collection(folder / "sub" / "sent.json", {"team_name": "T"}, "answers", sent)
    contracts = ("toy/truth", "toy/answers")
    return Case(folder / "truth.json", folder / "sub", ("--plugin", str(TOY)), medcontract, contracts, "item")


CASES: dict[str, Callable[[Path], Case]] = {
    **{track: partial(built_in, track) for track in TRACKS},
    "challenge": of_challenge,
    "plugin": of_plugin,
}


def bad_truth(case: Case) -> Case:
    """The same with a truth that is wrong in every way, too."""
    text = case.truth.read_text(encoding="utf-8")
    path = case.truth.with_name(f"bad-{case.truth.name}")
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in text.splitlines()]
        return case._replace(truth=_lines(path, [*records, *wrong_records(records[0], case.key, OF_TRUTH)], OF_TRUTH))
    value = json.loads(text)
    (list_key,) = [name for name, each in value.items() if isinstance(each, list)]
    records = value.pop(list_key)
    wrong = [*records, *wrong_records(records[0], case.key, OF_TRUTH)]
    return case._replace(truth=_collection(path, value, list_key, wrong))
