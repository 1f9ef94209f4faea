"""Files full of markers through every command: none of them comes out where it must not.

A marker stands in every text that may be any text, and in records that are wrong in every field, as a value and as a
key. Without --show-values no output that is piped holds one, `result` aside, which holds what its contract requires.
With --participant nothing holds one of the truth, --show-values or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.commands import KEYS, SENT, TRACKS, TRUTH, Call
from tests.scoring_files import (
    CONTRACTS,
    HEADERS,
    LIST_KEYS,
    Record,
    document,
    evidence,
    listed,
    model,
    pipeline_run,
    run,
    telemetry,
    weights,
    write,
)

import medcontract
from medcontract.rendering import formats_of

OF_TRUTH, OF_SUBMISSION = "Ttt7731", "Sss8842"
COMMANDS = {"score": "Score", "preflight": "Preflight", "leaderboard": "Leaderboard"}
"""And their results."""


def marked(marker: str) -> str:
    """A text that looks like a patient, not like an identifier."""
    return f"{marker} Añez Núñez"


# --- records that hold markers -------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not members:
        yield path
    for key, each in members:
        yield from leaves(each, (*path, key))


def changed(record: Record, path: Sequence[Any], value: Any) -> Record:
    copy: Record = json.loads(json.dumps(record))
    *way, last = path
    holder: Any = copy
    for key in way:
        holder = holder[key]
    holder[last] = value
    return copy


def is_valid(contract: str, record: Record) -> bool:
    return medcontract.validate(json.dumps(record).encode(), contract, name="x.jsonl").ok


@cache
def free_paths(contract: str, track: str) -> tuple[tuple[Any, ...], ...]:
    """Where any text may stand, ids aside: a result may hold these."""
    (record, *_) = TRUTH[track] if contract == CONTRACTS[track][0] else SENT[track]
    ids = {KEYS[track], "case_id", "task_id"}
    return tuple(
        path
        for path in leaves(record)
        if path[-1] not in ids and is_valid(contract, changed(record, path, marked("x")))
    )


def filled(contract: str, track: str, records: Sequence[Record], marker: str) -> list[Record]:
    """The records with a marker in every text that may be any text."""
    found = []
    for number, record in enumerate(records):
        for path in free_paths(contract, track):
            record = changed(record, path, f"{marked(marker)} {number % 5}")
        if track == "benchmark":
            record = with_more(record, marker)
        found.append(record)
    return found


def with_more(record: Record, marker: str) -> Record:
    """A sample with a rationale, entities and, of a submission, metrics of its own."""
    side = "reference" if "reference" in record else "prediction"
    said = {"rationale": f"{marked(marker)}, because of {marked(marker)}", "entities": {"symptoms": [marked(marker)]}}
    scores = {"scores": {marked(marker): 0.5, "safety": 1.0}} if side == "prediction" else {}
    return {**record, side: {**record[side], **said}, **scores}


def broken(contract: str, track: str, record: Record, marker: str) -> list[Record]:
    """Records of unknown ids, each with a marker in a place where it is wrong, or as a key."""
    found = [changed(record, path, marked(marker)) for path in leaves(record)]
    found.append({**record, marked(marker): marked(marker)})
    found += [{key: value for key, value in record.items() if key != name} for name in record]
    found += [{**record, "error": marked(marker)}, {**record, "run_id": marked(marker)}]
    named = [{**each, KEYS[track]: f"{marked(marker)} {number}"} for number, each in enumerate(found)]
    return [*named, named[0]]


def lines(contract: str, records: Sequence[Record], marker: str, syntax: bool) -> bytes:
    """JSON lines; with `syntax`, some of them are no JSON."""
    text = [json.dumps(record, ensure_ascii=False) for record in records]
    if syntax:
        key = json.dumps(marked(marker))
        text += [
            f"{{{key}: 1, {key}: 2}}",
            f"{{{key} 1}}",
            f'{{"a": {key}',
            marked(marker),
            f"[{key}]",
            f'{{"a": NaN, {key}: 1}}',
        ]
    return "\n".join(text).encode()


def collection(path: Path, contract: str, records: Sequence[Record], **header: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {**HEADERS[contract], **header, LIST_KEYS[contract]: list(records)}
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def auxiliary(folder: Path, track: str, marker: str, good: bool = True) -> None:
    """What a submission says of itself, with markers."""
    text = marked(marker)
    if track == "reports":
        value = telemetry(run(exception=text), run(text, memory=2000.0)) if good else telemetry(run(memory=text))  # type: ignore[arg-type]
        document(folder, "telemetry", value)
    if track == "lesions":
        document(folder, "model", model() if good else {**model(), "model_size_mb": text, text: text})
    if track == "extraction":
        write(
            folder, "extraction/runs", [pipeline_run(n, exception=text, code_version=text) for n in range(5)], "jsonl"
        )
        document(folder, "evidence", evidence(1, (text, "measured"), (text, "measured")))
        write(folder, "extraction/manifest", [listed(text)], "csv")
    if track == "benchmark":
        document(
            folder,
            "weights",
            {**weights(clinical_accuracy=1), "metric_name": text} if good else {"weights": {text: text}},
        )


KINDS = ("bad submission", "bad truth", "broken syntax", "marked ids", "auxiliary", "bad auxiliary")


def files(folder: Path, track: str, kind: str) -> tuple[Path, Path]:
    """A truth and the folder of a submission."""
    truth_id, sent_id = CONTRACTS[track][:2]
    truth = filled(truth_id, track, TRUTH[track], OF_TRUTH)
    sent = filled(sent_id, track, SENT[track], OF_SUBMISSION)
    if kind in ("bad submission", "broken syntax"):
        sent += broken(sent_id, track, SENT[track][0], OF_SUBMISSION)
    if kind == "bad truth":
        truth += broken(truth_id, track, TRUTH[track][0], OF_TRUTH)
    if kind == "marked ids":
        truth = [{**record, KEYS[track]: f"{marked(OF_TRUTH)} {n}"} for n, record in enumerate(truth)]
        sent = [{**record, KEYS[track]: f"{marked(OF_SUBMISSION)} {n}"} for n, record in enumerate(sent)]
    where = folder / "sub" / "sent.jsonl"
    if kind == "broken syntax":
        where.parent.mkdir(parents=True)
        where.write_bytes(lines(sent_id, sent, OF_SUBMISSION, syntax=True))
        (folder / "truth.jsonl").write_bytes(lines(truth_id, truth, OF_TRUTH, syntax=True))
        return folder / "truth.jsonl", where.parent
    collection(where.with_suffix(".json"), sent_id, sent)
    if "auxiliary" in kind:
        auxiliary(where.parent, track, OF_SUBMISSION, good=kind == "auxiliary")
    header = {"event": marked(OF_TRUTH)} if kind == "bad truth" and "event" in HEADERS[truth_id] else {}
    return collection(folder / "truth.json", truth_id, truth, **header), where.parent


def without_results(value: Any) -> Any:
    """The output less what the contract of a result requires."""
    if isinstance(value, dict):
        return {key: without_results(each) for key, each in value.items() if key != "result"}
    return [without_results(each) for each in value] if isinstance(value, list) else value


def output_of(ran: Any, format_: str, exempt: bool) -> str:
    """All that was printed."""
    assert "internal error" not in ran.err
    if format_ == "json" and ran.out and exempt:
        return json.dumps(without_results(ran.json), ensure_ascii=False) + str(ran.err)
    return str(ran.out + ran.err)


def around(text: str, marker: str) -> str:
    """Where a marker came out: for the message of a test that fails."""
    at = text.find(marker)
    return "" if at < 0 else text[max(0, at - 300) : at + 100]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("track", TRACKS)
def test_nothing_leaks(call: Call, tmp_path: Path, track: str, kind: str) -> None:
    """Scores, checklists and rankings in every format."""
    truth, folder = files(tmp_path, track, kind)
    header = (
        ("--set", "team_name=T", "--set", "evaluation_date=2026-05-31")
        if kind == "broken syntax" and track == "triage"
        else ()
    )
    for command, result in COMMANDS.items():
        formats = formats_of(result)
        for format_ in formats if kind == "bad submission" else formats[:2]:
            arguments = (command, truth, folder, "--format", format_, *header)
            if kind != "marked ids" or format_ == "json":  # tables of a result name what they are about
                text = output_of(call(*arguments), format_, exempt=True)
                assert (around(text, OF_TRUTH), around(text, OF_SUBMISSION)) == ("", "")
            mine = output_of(call(*arguments, "--participant"), format_, exempt=True)
            assert (around(mine, OF_TRUTH), around(mine, OF_SUBMISSION)) == ("", "")
            if command == "preflight" or (command == "score" and format_ == "text"):
                shown = output_of(call(*arguments, "--participant", "--show-values"), format_, exempt=False)
                assert around(shown, OF_TRUTH) == ""


@pytest.mark.parametrize("track", TRACKS)
def test_the_markers_are_where_they_could_leak(call: Call, tmp_path: Path, track: str) -> None:
    """With --show-values they come out: the files of these tests are what they are meant to be."""
    for kind, marker in (("bad submission", OF_SUBMISSION), ("bad truth", OF_TRUTH)):
        for command in ("score", "preflight"):
            ran = call(command, *files(tmp_path / kind, track, kind), "--show-values", "--format", "json")
            assert marker in json.dumps(without_results(ran.json), ensure_ascii=False)


@pytest.mark.parametrize("kind", ["bad submission", "bad truth", "broken syntax"])
@pytest.mark.parametrize("track", TRACKS)
def test_validate(call: Call, tmp_path: Path, track: str, kind: str) -> None:
    """Each file by itself."""
    truth, folder = files(tmp_path, track, kind)
    for format_ in formats_of("Validation"):
        ran = call("validate", truth, folder, "--format", format_)
        assert ran.out
        text = output_of(ran, format_, exempt=False)
        assert (around(text, OF_TRUTH), around(text, OF_SUBMISSION)) == ("", "")


@pytest.mark.parametrize("extra", [(), ("--participant",)])
@pytest.mark.parametrize("track", TRACKS)
def test_compare(call: Call, tmp_path: Path, track: str, extra: tuple[str, ...]) -> None:
    """Two scores of one submission, before and after it grew worse."""
    truth, folder = files(tmp_path, track, "good")
    call("score", truth, folder, "--format", "json", "--out", "before.json", *extra)
    sent = filled(CONTRACTS[track][1], track, SENT[track][1:], OF_SUBMISSION)
    collection(folder / "sent.json", CONTRACTS[track][1], sent)
    call("score", truth, folder, "--format", "json", "--out", "after.json", *extra)
    for format_ in formats_of("Comparison"):
        ran = call("compare", "before.json", "after.json", "--format", format_)
        assert ran.out
        text = ran.out + ran.err
        assert (around(text, OF_TRUTH), around(text, OF_SUBMISSION)) == ("", "")


@pytest.mark.parametrize("track", ["extraction", "benchmark"])
def test_breakdown(call: Call, tmp_path: Path, track: str) -> None:
    """What an item is made of is no part of what a contract requires."""
    truth, folder = files(tmp_path, track, "good")
    for format_ in formats_of("Score"):
        ran = call("score", truth, folder, "--format", format_, "--breakdown")
        text = output_of(ran, format_, exempt=True)
        if format_ == "json" and track == "benchmark":
            parts = [row["breakdown"] for row in ran.json["result"]["detailed_results"]]
            assert parts
            text += json.dumps(parts, ensure_ascii=False)
        assert (around(text, OF_TRUTH), around(text, OF_SUBMISSION)) == ("", "")
