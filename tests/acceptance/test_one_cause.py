"""One cause is shown instead of what follows from it, and text says what to fix first, or to do next."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from tests.commands import KEYS, SENT, TRUTH, Call, caller, put, sent_file, truth_file
from tests.scoring_files import Record


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def _swapped(record: Record) -> Record:
    return {**record, "task_id": record["sample_id"], "sample_id": record["task_id"]}


def _changed(change: Callable[[str], str], track: str) -> list[Record]:
    return [{**record, KEYS[track]: change(record[KEYS[track]])} for record in SENT[track]]


CHANGES: dict[str, tuple[str, list[Record]]] = {
    "dashes": ("lesions", _changed(lambda key: key.replace("-", "\u2011"), "lesions")),
    "a '.0' at the end or a missing prefix": ("lesions", _changed(lambda key: f"{int(key[2:])}.0", "lesions")),
    "a suffix": ("reports", _changed(lambda key: f"{key}.txt", "reports")),
    "a prefix or a suffix": ("lesions", _changed(lambda key: f"data/test/{key}.png", "lesions")),
    "separators": ("triage", _changed(lambda key: key.replace("-", "_"), "triage")),
    "the order of their parts": ("benchmark", [_swapped(record) for record in SENT["benchmark"]]),
}


def _numbered(track: str, key: str) -> list[Record]:
    return [{**record, key: str(number)} for number, record in enumerate(SENT[track], 1)]


DAMAGED: dict[str, tuple[str, list[Record]]] = {
    "with the number of a row": ("reports", _numbered("reports", "report_id")),
    "with a hash instead of the id": ("reports", _changed(lambda key: sha256(key.encode()).hexdigest(), "reports")),
    "with an error of a spreadsheet, such as #NAME?": ("lesions", _changed(lambda key: "#NAME?", "lesions")),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_ids_that_are_damaged(call: Call, tmp_path: Path, damage: str) -> None:
    """What happened to all ids is the only error; ids that are the same because of it are not listed."""
    track, sent = DAMAGED[damage]
    ran = call("preflight", sent_file(tmp_path, track, sent), truth_file(tmp_path, track))
    assert f"error MC503 20 unknown ids {damage}" in ran.out
    assert "error MC30" not in ran.out
    assert "error MC201" not in ran.out


@pytest.mark.parametrize("difference", CHANGES)
def test_ids_that_are_all_written_in_another_way(call: Call, tmp_path: Path, difference: str) -> None:
    """The difference is the only error; unknown and missing ids are counted. `score` says it, too."""
    track, sent = CHANGES[difference]
    files = sent_file(tmp_path, track, sent), truth_file(tmp_path, track)
    ran = call("preflight", *files)
    assert ran.code == 1
    assert f"error MC502 all 20 unknown ids (MC303) differ from an expected one only in {difference}" in ran.out
    assert "20 without a record, 20 records with other ids" in ran.out
    assert "error MC30" not in ran.out
    assert "not possible until the ids are written as expected" in ran.out
    assert ran.out.count("Fix this first") <= 1
    scored = call("score", *files)
    assert scored.code == 1
    last = scored.out.splitlines()[-1]
    assert last == f"Fix this first: write the ids as in the truth: all unknown ids differ from it only in {difference}"
    hidden = call("score", *files, "--participant").out
    assert "write the ids as in the truth" not in hidden


def test_one_right_id_needs_all_problems(call: Call, tmp_path: Path) -> None:
    sent = [SENT["lesions"][0], *CHANGES["dashes"][1][1:]]
    ran = call("preflight", sent_file(tmp_path, "lesions", sent), truth_file(tmp_path, "lesions"))
    assert "warning MC502 all 19 unknown ids" in ran.out
    assert "error MC303" in ran.out
    assert "FAIL  At least 95 % are processed" in ran.out


def test_a_missing_column(call: Call, tmp_path: Path) -> None:
    """No record is valid, and no id is known: coverage is not judged."""
    path = tmp_path / "sent.csv"
    rows = [f"{r['report_id']},Other,Urgent,true\n" for r in SENT["reports"]]
    path.write_text("".join(["report_id,specialty,urgency,follow_up\n", *rows]), encoding="utf-8")
    ran = call("preflight", f"reports/predictions={path}", truth_file(tmp_path, "reports"))
    assert ran.code == 1
    assert "column 'processing_time_sec' is missing" in ran.out
    assert "Every expected id is answered, and no others: not possible until sent.csv is fixed" in ran.out
    assert "MC302" not in ran.out
    assert "NOT READY: 1 check failed" in ran.out.splitlines()[-1]


def test_what_to_fix_first(call: Call, tmp_path: Path) -> None:
    """An error of the syntax, wherever it is, before one of a value."""
    lines = ['{"image_id": "I", "label": "x"}', '{"image_id": "J", "label": }']
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    *_, first, count = call("validate", f"lesions/truth={tmp_path / 'a.jsonl'}").out.splitlines()
    assert first.startswith("Fix this first: ")
    assert "a.jsonl:2:28: a value is missing before '}'" in first
    assert count.startswith("2 errors")
    (tmp_path / "a.jsonl").write_text(lines[0], encoding="utf-8")
    assert "Fix this first" not in call("validate", f"lesions/truth={tmp_path / 'a.jsonl'}").out


def test_the_next_step(call: Call, tmp_path: Path) -> None:
    sent = sent_file(tmp_path, "triage")
    assert f"Next: medcontract preflight {sent} inventory.csv\n" in call("validate", sent).out
    assert "Next" not in call("validate", sent, "--quiet").out
    assert "Next" not in call("validate", truth_file(tmp_path, "triage")).out
    bad = put(tmp_path / "bad.json", "lesions/truth", [*TRUTH["lesions"], TRUTH["lesions"][0]])
    assert "Next" not in call("validate", sent, bad).out


def test_files_of_the_same_name(call: Call, tmp_path: Path) -> None:
    """Problems show the paths where two files have the same name, and only there."""
    first, second = (
        sent_file(tmp_path / folder, "lesions", SENT["lesions"][n : n + 10]) for folder, n in (("a", 0), ("b", 9))
    )
    ran = call("preflight", first, second)
    assert "a/sent.json is lesions/predictions" in ran.out
    assert "b/sent.json is lesions/predictions" in ran.out
    assert f"      {second}:1:" in ran.out or f"      {first}:1:" in ran.out
    assert str(second) not in call("preflight", second, "--format", "json").out
