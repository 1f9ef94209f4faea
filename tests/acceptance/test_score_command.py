"""`medcontract score`: verdict, formats, what is refused, what is a usage error, and what is never shown."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.commands import (
    AUXILIARY,
    EXIT,
    HEADLINES,
    KEYS,
    RESULT_BELOW_GATE,
    SENT,
    TRACKS,
    TRUTH,
    Call,
    Ran,
    all_files,
    as_below_gate,
    beside_files,
    coarse,
    codes,
    keeps,
    on_a_terminal,
    put,
    sent_file,
    truth_file,
)
from tests.scoring_files import (
    CONTRACTS,
    RESULTS,
    Record,
    as_json,
    document,
    guess,
    image,
    model,
    telemetry,
    write,
)
from tests.scoring_files import run as run_of

import medcontract
from medcontract.scoring.canonical import canonical

# --- the verdict ---------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_valid(score: Call, tmp_path: Path, track: str) -> None:
    """A perfect submission: exit 0, the verdict and the headline on the first line, nothing on standard error."""
    code, out, err = score(*all_files(tmp_path, track))
    assert (code, err) == (EXIT[track], "")
    lines = out.splitlines()
    if track == "extraction":
        assert lines.pop(0).startswith("NO-GO: not checked lab_accuracy, ")
    first, second = lines[:2]
    assert first.startswith(f"VALID  {track}")
    assert first.endswith(HEADLINES[track][0])
    assert "20 of 20" in second


@pytest.mark.parametrize("track", TRACKS)
def test_the_table_comes_next(score: Call, tmp_path: Path, track: str) -> None:
    """After the verdict come the figures, then what defends them."""
    lines = score(*all_files(tmp_path, track)).out.splitlines()
    words = (HEADLINES[track][0].split()[0], "C-0", "P-00")
    row = next(n for n, line in enumerate(lines) if n > 1 and any(word in line for word in words))
    last = next(n for n, line in enumerate(lines) if re.match(rf"protocol {track} v\d+, fingerprint ", line))
    assert 2 < row < last


@pytest.mark.parametrize("track", TRACKS)
def test_a_few_bad_records(score: Call, tmp_path: Path, track: str) -> None:
    """19 of 20 pass the gate: exit as usual, though one record breaks its contract and is told."""
    truth, sent = (
        truth_file(tmp_path, track),
        sent_file(tmp_path, track, [*SENT[track][1:], {**SENT[track][0], "x": 1}]),
    )
    ran = score(truth, sent, "--format", "json")
    assert ran.code == EXIT[track]
    assert ran.json["valid"] is True
    assert (ran.json["processing"]["processed"], ran.json["processing"]["failed"]) == (19, 1)
    assert codes(ran.json) == ["MC102"]
    assert ran.json["problems"][0]["file"] == "sent.json"


@pytest.mark.parametrize("track", TRACKS)
def test_below_the_gate(score: Call, tmp_path: Path, track: str) -> None:
    """17 of 20: exit 1, no figure anywhere (except in extraction and triage), and the text says by how much."""
    files = truth_file(tmp_path, track), sent_file(tmp_path, track, SENT[track][:17])
    ran = score(*files)
    assert ran.code == 1
    lines = ran.out.splitlines()[track == "extraction" :]
    assert lines[0].startswith(f"NOT VALID  {track}" if track in RESULT_BELOW_GATE else f"REFUSED  {track}")
    assert "85 % processed" in ran.out
    assert "2 more records needed" in ran.out
    envelope = score(*files, "--format", "json").json
    assert not envelope["valid"]
    assert as_below_gate(track, envelope["result"])
    assert envelope["processing"] == {
        "expected": 20, "processed": 17, "failed": 3, "success_rate": 0.85, "minimum": 0.95, "passed": False,
    }  # fmt: skip


def test_the_metrics_alone_below_the_gate(score: Call, tmp_path: Path) -> None:
    """`--result-only` prints the triage/metrics document below the gate, with its errors; the exit code is 1."""
    files = truth_file(tmp_path, "triage"), sent_file(tmp_path, "triage", SENT["triage"][:17])
    ran = score(*files, "--result-only")
    assert ran.code == 1
    metrics = keeps(ran.out, "triage/metrics")
    missing = {record["segment_id"] for record in SENT["triage"][17:]}
    assert {error["segment_id"] for case in metrics["metrics"] for error in case["errors"]} == missing


@pytest.mark.parametrize("track", TRACKS)
def test_ids_of_one_side_only(score: Call, tmp_path: Path, track: str) -> None:
    """What is missing, and what is unknown, is told for each id."""
    sent = [*SENT[track][:17], {**SENT[track][18], KEYS[track]: "nobody"}]
    envelope = score(truth_file(tmp_path, track), sent_file(tmp_path, track, sent), "--format", "json").json
    assert sorted(codes(envelope)) == ["MC302"] * 3 + ["MC303"]


def test_a_share_just_below_the_border(score: Call, tmp_path: Path) -> None:
    """94.99 % is not shown as 95 %."""
    truth = [image(f"I-{n}", "NV") for n in range(10_000)]
    sent = [guess(true["image_id"], "NV") for true in truth[:9499]]
    files = write(tmp_path, "lesions/truth", truth, "csv"), write(tmp_path, "lesions/predictions", sent, "jsonl")
    out = score(*files).out
    assert "94.99 % processed" in out
    assert ": 1 more record needed" in out


def test_the_gate_can_be_opened(score: Call, tmp_path: Path) -> None:
    """With min_processed=0 the figures are shown all the same, under another fingerprint."""
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", SENT["lesions"][:10])
    frozen = score(*files, "--format", "json").json
    ran = score(*files, "--format", "json", "--parameter", "min_processed=0")
    assert (ran.code, ran.json["valid"], ran.json["result"]["accuracy"]) == (0, True, 0.5)
    assert ran.json["protocol"]["parameters"]["min_processed"] == 0
    assert ran.json["protocol"]["fingerprint"] != frozen["protocol"]["fingerprint"]


def test_beyond_a_limit(score: Call, tmp_path: Path) -> None:
    """A run beyond a limit: exit 1, not valid, figures there but no total."""
    files = [truth_file(tmp_path, "reports"), sent_file(tmp_path, "reports")]
    files += document(tmp_path, "telemetry", telemetry(run_of("1", memory=1500)))
    ran = score(*files)
    assert ran.code == 1
    assert ran.out.startswith("NOT VALID  reports, Kranich\n  reason: run 1: 1500 MB of memory, at most 1024")
    envelope = keeps(score(*files, "--format", "json").out, "medcontract/score")
    assert (envelope["valid"], envelope["result"]["total_score"], envelope["result"]["accuracy_score"]) == (
        False, None, 70.0,
    )  # fmt: skip
    assert envelope["processing"]["passed"] is True


@pytest.mark.parametrize(("track", "missing"), [("reports", "telemetry"), ("lesions", "model")])
def test_without_the_auxiliary_file(score: Call, tmp_path: Path, track: str, missing: str) -> None:
    """Valid, with the second figure as headline, and a warning that says which file is missing."""
    ran = score(truth_file(tmp_path, track), sent_file(tmp_path, track))
    assert ran.code == 0
    assert ran.out.splitlines()[0].endswith(
        {"reports": "accuracy_score 70.00 points", "lesions": "prediction_score 1.0000"}[track]
    )
    assert f"{track}/{missing}" in ran.out


# --- json ----------------------------------------------------------------------------------------

ENVELOPE = [
    "track", "protocol", "inputs", "processing", "valid", "reasons", "warnings", "problems", "result",
    "medcontract_version", "environment",
]  # fmt: skip


@pytest.mark.parametrize("track", TRACKS)
def test_envelope(score: Call, tmp_path: Path, track: str) -> None:
    """The JSON has the keys of the spec and keeps its contract, as its result keeps the track's."""
    ran = score(*all_files(tmp_path, track), "--format", "json")
    assert (ran.code, ran.err) == (EXIT[track], "")
    envelope = keeps(ran.out, "medcontract/score")
    assert list(envelope) == ENVELOPE
    assert (envelope["track"], envelope["valid"], envelope["reasons"], envelope["problems"]) == (track, True, [], [])
    assert list(envelope["protocol"]) == ["id", "version", "fingerprint", "parameters"]
    assert set(envelope["environment"]) == {"python", "unicode", "unidecode"}
    assert envelope["medcontract_version"] == medcontract.__version__
    checked = medcontract.validate(json.dumps(envelope["result"]).encode(), RESULTS[track])
    assert checked.problems == ()


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("extra", [(), ("--participant",), ("--show-values",)], ids=" ".join)
def test_every_envelope_keeps_its_contract(score: Call, tmp_path: Path, track: str, extra: tuple[str, ...]) -> None:
    """So does the JSON of what is below the gate and full of problems, for participants and with values."""
    key = KEYS[track]
    sent = [{**SENT[track][0], "x": 1}, SENT[track][1], SENT[track][1], {**SENT[track][2], key: "nobody"}]
    ran = score(truth_file(tmp_path, track), sent_file(tmp_path, track, sent), "--format", "json", *extra)
    assert ran.code == 1
    envelope = keeps(ran.out, "medcontract/score")
    assert envelope["processing"]["processed"] == 0
    assert as_below_gate(track, envelope["result"], "--participant" in extra)


@pytest.mark.parametrize("track", TRACKS)
def test_inputs(score: Call, tmp_path: Path, track: str) -> None:
    """Each file by contract, base name, hash of its bytes and number of records; of the truth, of its content too."""
    files = all_files(tmp_path, track)
    inputs = score(*files, "--format", "json").json["inputs"]
    assert inputs == sorted(inputs, key=lambda file: (file["contract"], file["name"]))
    assert {file["name"]: file["sha256"] for file in inputs} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    texts = sorted(canonical(_without_absent(record)) for record in TRUTH[track])
    content = hashlib.sha256("".join(f"{text}\n" for text in texts).encode()).hexdigest()
    assert {file["name"]: (file["records"], file["content_sha256"]) for file in inputs} == {
        "truth.json": (20, content), "sent.json": (20, None),
        **({f"{CONTRACTS[track][2]}.json": (None, None)} if AUXILIARY[track] else {}),
    }  # fmt: skip


def _without_absent(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def _contents(score: Call, *files: Path) -> set[str]:
    inputs = score(*files, "--format", "json").json["inputs"]
    return {file["content_sha256"] for file in inputs if file["content_sha256"]}


def test_content_of_a_truth(score: Call, tmp_path: Path) -> None:
    """The content is the same for any container, order, split and spelling of numbers; another truth has another."""
    sent = sent_file(tmp_path, "reports")
    records = TRUTH["reports"]
    found = _contents(score, truth_file(tmp_path, "reports"), sent)
    for ending in ("json", "jsonl", "csv", "json.gz", "jsonl.gz", "csv.gz"):
        found |= _contents(score, write(tmp_path, "reports/truth", records[::-1], ending, "reversed"), sent)
    parts = [
        write(tmp_path, "reports/truth", some, ending, f"part-{ending}")
        for some, ending in ((records[5:], "json"), (records[:5], "csv"))
    ]
    found |= _contents(score, *parts, sent)
    assert len(found) == 1
    assert len(_contents(score, truth_file(tmp_path, "reports", records[1:]), sent) | found) == 2


def test_content_does_not_depend_on_spelling(score: Call, tmp_path: Path) -> None:
    """30, 30.0 and 3e1 are one number, and the order of keys says nothing."""
    sent = sent_file(tmp_path, "triage")
    text = as_json("triage/ground-truth", [dict(reversed(record.items())) for record in TRUTH["triage"]])
    other = tmp_path / "other.json"
    other.write_bytes(text.replace(b": 30,", b": 3e1,").replace(b": 60,", b": 60.0,"))
    assert b"3e1" in other.read_bytes()
    assert _contents(score, other, sent) == _contents(score, truth_file(tmp_path, "triage"), sent)


# --- the same bytes ------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_same_bytes(score: Call, tmp_path: Path, track: str, format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files give the same bytes at any time, from any folder, by any path, in any order."""
    files = all_files(tmp_path, track)
    first = score(*files, "--format", format_)
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    copies = [elsewhere / path.name for path in files]
    for path, copy in zip(files, copies, strict=True):
        copy.write_bytes(path.read_bytes())
        os.utime(copy, (0, 0))
    assert score("--format", format_, *reversed(copies)) == first
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert score(".", "--format", format_) == first
    assert str(tmp_path) not in first.out


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_same_bytes_of_parts(score: Call, tmp_path: Path, format_: str) -> None:
    """Parts in any order give the same bytes, also when ids are missing, repeated over parts, or unknown."""
    records = [*SENT["lesions"][:19], SENT["lesions"][4], {**SENT["lesions"][0], "image_id": "nobody"}]
    parts = [
        sent_file(tmp_path, "lesions", some, f"part-{n}.json")
        for n, some in enumerate((records[:8], records[8:14], records[14:]))
    ]
    truth = truth_file(tmp_path, "lesions")
    first = score(truth, *parts, "--format", format_)
    assert score(*reversed(parts), truth, "--format", format_).out == first.out
    assert score(parts[1], truth, parts[0], parts[2], "--format", format_).out == first.out
    assert str(tmp_path) not in first.out


def test_same_bytes_of_parts_of_one_name(score: Call, tmp_path: Path) -> None:
    """Parts whose base names are equal are told apart by their content, not by their order in the call."""
    parts = [
        sent_file(tmp_path / folder, "lesions", some)
        for folder, some in (("a", SENT["lesions"][:10]), ("b", SENT["lesions"][10:]))
    ]
    truth = truth_file(tmp_path, "lesions")
    assert score(truth, *parts, "--format", "json").out == score(truth, *reversed(parts), "--format", "json").out


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_result_only(score: Call, tmp_path: Path, track: str) -> None:
    """--result-only prints the result alone, a document of the track's contract."""
    files = all_files(tmp_path, track)
    ran = score(*files, "--result-only")
    assert (ran.code, ran.err) == (EXIT[track], "")
    assert keeps(ran.out, RESULTS[track]) == score(*files, "--format", "json").json["result"]


def test_result_only_of_nothing(score: Call, tmp_path: Path) -> None:
    """Where the score is refused there is no result: null, exit 1."""
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", SENT["lesions"][:1])
    ran = score(*files, "--result-only")
    assert (ran.code, ran.json) == (1, None)


@pytest.mark.parametrize("track", TRACKS)
def test_markdown(score: Call, tmp_path: Path, track: str) -> None:
    """Markdown has the verdict and the headline on top, tables of equal width, and what defends the score."""
    files = all_files(tmp_path, track)
    ran = score(*files, "--format", "markdown")
    assert ran.code == EXIT[track]
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"# Score: {track}")
    verdict = next(line for line in lines if line.startswith("**"))  # after the event and the date, if files have them
    assert verdict.startswith("**NO-GO**. Valid." if track == "extraction" else "**Valid**")
    assert lines.index(verdict) in (2, 4)
    for head, rule, row in zip(lines, lines[1:], lines[2:], strict=False):
        if rule.startswith("|---"):
            assert head.count("|") == rule.count("|") == row.replace("\\|", "").count("|")
    fingerprint = score(*files, "--format", "json").json["protocol"]["fingerprint"]
    assert fingerprint in ran.out
    assert [path for path in files if hashlib.sha256(path.read_bytes()).hexdigest() not in ran.out] == []


def test_markdown_of_a_refusal(score: Call, tmp_path: Path) -> None:
    """A refusal is said on top, with its reason, and the problems are a table."""
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", SENT["lesions"][:15])
    ran = score(*files, "--format", "markdown")
    assert ran.code == 1
    assert "**Refused**" in ran.out.splitlines()[2]
    assert "75 % processed" in ran.out
    assert ran.out.count("| MC302 |") == 1
    assert "an expected image has no record (and 4 more problems like this)" in ran.out


def test_names_do_not_break_the_markdown(score: Call, tmp_path: Path) -> None:
    """A team may be called what it likes: it stays text."""
    sent = sent_file(tmp_path, "lesions", team_name="a|b <script> [x](y)\n# `c`")
    out = score(truth_file(tmp_path, "lesions"), sent, "--format", "markdown").out
    assert "\n# `c`" not in out
    assert "\\# \\`c\\`" in out
    assert "<script>" not in out.replace("\\<script", "")


def test_a_name_that_is_no_text(score: Call, tmp_path: Path) -> None:
    """A file whose name is no UTF-8 is listed, and the JSON is still valid."""
    truth = Path(os.fsdecode(os.fsencode(tmp_path) + b"/tr\xffth.json"))
    truth.write_bytes(as_json("lesions/truth", TRUTH["lesions"]))
    ran = score(truth, sent_file(tmp_path, "lesions"), "--format", "json")
    assert ran.code == 0
    envelope = keeps(ran.out, "medcontract/score")
    assert [file["name"] for file in envelope["inputs"]] == ["sent.json", "tr\ufffdth.json"]


def test_a_real_terminal(tmp_path: Path) -> None:
    """A process on a terminal shows color and the offending value, with NO_COLOR the value only."""
    sent = [guess("Juan", "NV"), *SENT["lesions"][1:]]
    files = [str(truth_file(tmp_path, "lesions")), str(sent_file(tmp_path, "lesions", sent))]
    for extra, colored in (({}, True), ({"NO_COLOR": "1"}, False)):
        master, slave = os.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | extra
        done = subprocess.run(
            [sys.executable, "-m", "medcontract", "score", *files],
            stdout=slave, stderr=subprocess.PIPE, check=False, env=environment,
        )  # fmt: skip
        os.close(slave)
        shown = os.read(master, 65536)
        os.close(master)
        assert (done.returncode, done.stderr) == (0, b"")
        assert (b"\x1b[" in shown) == colored
        assert b"Juan" in shown


def test_what_was_cut_is_counted(score: Call, tmp_path: Path) -> None:
    """With --max-problems, the problems that are not listed are counted."""
    wrong: list[dict[str, Any]] = [
        {"x0": 1},
        {"x1": 1},
        {"image_id": 1},
        {"probabilities": "a"},
        {"probabilities": [2.0] * 10},
    ]
    sent = [{**record, **change} for record, change in zip(SENT["lesions"], wrong, strict=False)] + SENT["lesions"][5:]
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", sent)
    out = score(*files).out
    assert re.findall("error (MC1..)", out) == ["MC102", "MC103", "MC103", "MC105"]
    assert "the same for 'x1': 2 problems in all" in out
    out = score(*files, "--max-problems", "2").out
    assert re.findall("error (MC1..)", out) == ["MC102", "MC103"]
    assert " more problems" in out


def test_like_problems_are_counted(score: Call, tmp_path: Path) -> None:
    """In text the same problem in many records is shown once and counted."""
    sent = [{**record, "x": 1} for record in SENT["lesions"]]
    out = score(truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", sent)).out
    assert out.count("error MC102") == 1
    assert "and 19 more records like this" in out


# --- participants --------------------------------------------------------------------------------

FINE = {
    "reports": ("urgency_f1_by_class", "Emergency"),
    "triage": ("metrics", "C-0"),
    "lesions": ("f1_by_class", "confusion_matrix", "f1_malignant", "f1_medium", "f1_benign", "BCC"),
    "extraction": ("documents", "P-00"),
    "benchmark": ("task_scores", "qa"),
}
"""Of figures by class, case and document: names, and something in them."""


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("form", ["--format=text", "--format=json", "--format=markdown", "--result-only"])
def test_participants_see_no_fine_figures(score: Call, tmp_path: Path, track: str, form: str) -> None:
    """With --participant figures by class and case and matrices are gone, the headline figures stay."""
    files = all_files(tmp_path, track)
    ran = score(*files, form, "--participant")
    assert ran.code == EXIT[track]
    assert [name for name in FINE[track] if name in ran.out] == []
    assert [name for name in FINE[track] if name in score(*files, form).out]
    assert HEADLINES[track][0].split()[0] in ran.out.replace("\\_", "_")
    if form == "--format=json":
        envelope = keeps(ran.out, "medcontract/score")
        assert HEADLINES[track][1] in coarse(envelope["result"]).values()
        assert envelope["processing"]["processed"] == 20


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_participants_see_counts_only(score: Call, tmp_path: Path, track: str, format_: str) -> None:
    """Of rules between files only counts remain; problems of the submission's own files stay; no near misses."""
    key = KEYS[track]
    sent = [dict(record) for record in SENT[track]]
    sent[0]["x"] = 1
    sent[1][key] = f" {sent[1][key].lower()}"
    sent[2][key] = "nobody"
    files = truth_file(tmp_path, track), sent_file(tmp_path, track, sent)
    whole = score(*files, "--format", format_).out
    ran = score(*files, "--format", format_, "--participant")
    assert ran.code == 1
    assert "from an id of the truth only in case or whitespace" in whole
    assert "only in" not in ran.out
    assert "85 % processed" in ran.out
    assert ran.out.count("MC102") == whole.count("MC102")
    if format_ == "json":
        assert set(codes(ran.json)) == {"MC102"}
        assert any(warning.startswith("MC303") and "2" in warning for warning in ran.json["warnings"])
    assert "unknown" not in ran.out.lower().replace("unknown field", "").replace("mc303 unknown id", "")
    lines = [line for line in ran.out.splitlines() if "MC303" in line]
    assert len(lines) == 1, "how many there are is told, once"
    assert "2" in lines[0].replace("MC303", "")


def test_participants_see_no_ids_on_a_terminal(score: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal too, nothing of the truth is shown to a participant."""
    on_a_terminal(monkeypatch)
    sent = [{**record, "image_id": f"X{record['image_id']}"} for record in SENT["lesions"]]
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", sent)
    assert "'I-00'" in score(*files).out
    assert "I-00" not in score(*files, "--participant", "--no-color").out.replace("XI-00", "")


def test_participants_see_all_of_their_own_problems(score: Call, tmp_path: Path) -> None:
    """Many problems between files do not crowd out the submission's own."""
    strangers = [guess(f"X-{n:03}", "NV") for n in range(150)]
    sent = sent_file(tmp_path, "lesions", [*strangers, *SENT["lesions"], {**SENT["lesions"][0], "x": 1}])
    ran = score(truth_file(tmp_path, "lesions"), sent, "--format", "json", "--participant")
    assert "MC102" in codes(ran.json)


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_participants_see_no_problems_of_the_truth(
    score: Call, tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the truth has errors is said, but not which and where: only problems of their own files are shown."""
    on_a_terminal(monkeypatch)
    truth = truth_file(tmp_path, "lesions", [{**TRUTH["lesions"][0], "label": "SECRET"}, *TRUTH["lesions"][1:]])
    ran = score(truth, sent_file(tmp_path, "lesions"), "--format", format_, "--participant")
    assert ran.code == 1
    assert "the truth has 1 error" in ran.out
    assert "MC104" not in ran.out
    assert "SECRET" not in ran.out
    assert "MC104" in score(truth, sent_file(tmp_path, "lesions"), "--format", format_).out


# --- header fields -------------------------------------------------------------------------------

_SETS = {"team_name": "Nordlicht", "event": "Abendstern", "evaluation_date": "2025-05-20"}


def _lines(folder: Path, truth_ending: str = "jsonl") -> list[Path]:
    """Files of triage that have no header."""
    return [
        write(folder, "triage/ground-truth", TRUTH["triage"], truth_ending, "truth"),
        write(folder, "triage/response", SENT["triage"], "jsonl", "sent"),
    ]


def _set(values: Mapping[str, str]) -> list[str]:
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def test_set(score: Call, tmp_path: Path) -> None:
    """Header fields that the containers lack can be given, and stand in the result."""
    ran = score(*_lines(tmp_path), *_set(_SETS), "--result-only")
    assert ran.code == 0
    assert {name: ran.json[name] for name in _SETS} == _SETS
    assert ran.json["response_file_name"] == "sent.jsonl"


@pytest.mark.parametrize("lacking", _SETS)
def test_a_field_that_nobody_gives(score: Call, tmp_path: Path, lacking: str) -> None:
    """A field that the result needs and nobody says is a usage error that names it."""
    given = {name: value for name, value in _SETS.items() if name != lacking}
    code, out, err = score(*_lines(tmp_path), *_set(given))
    assert (code, out) == (2, "")
    assert lacking in err
    assert "--set" in err
    assert not [name for name in given if name in err]


def test_all_fields_that_nobody_gives(score: Call, tmp_path: Path) -> None:
    """All of them are named at once."""
    err = score(*_lines(tmp_path)).err
    assert [name for name in _SETS if name not in err] == []


@pytest.mark.parametrize(("given", "words"), [
    ("team_name=Other", "the files already contain it"),
    ("evaluation_date=2025-05-20", "the files already contain it"),
    ("teem_name=Other", "did you mean 'team_name'?"),
    ("colour=green", "team_name"),
    ("responses=x", "team_name"),
    ("team_name", "NAME=VALUE"),
    ("=x", "NAME=VALUE"),
])  # fmt: skip
def test_wrong_sets(score: Call, tmp_path: Path, given: str, words: str) -> None:
    """A field that the file has, or that nothing has, is a usage error with a hint."""
    code, out, err = score(*all_files(tmp_path, "triage"), "--set", given)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    "given", ["evaluation_date=yesterday", "evaluation_date=2025-02-30", "evaluation_date=", "team_name= ", "event="]
)
def test_sets_that_break_the_contract(score: Call, tmp_path: Path, given: str) -> None:
    """A value that a file could not hold either is a usage error that names the field."""
    name = given.partition("=")[0]
    others = {key: value for key, value in _SETS.items() if key != name}
    code, out, err = score(*_lines(tmp_path), *_set(others), "--set", given)
    assert (code, out) == (2, "")
    assert name in err


def test_a_field_that_is_set_twice(score: Call, tmp_path: Path) -> None:
    """Twice the same field is a usage error."""
    code, _, err = score(*_lines(tmp_path), *_set(_SETS), "--set", "event=Other")
    assert code == 2
    assert "event" in err


# --- refused -------------------------------------------------------------------------------------


def refused(ran: Ran) -> Any:
    """Exit 1, and an envelope without result and processing that says why."""
    envelope = keeps(ran.out, "medcontract/score")
    assert (ran.code, ran.err) == (1, "")
    assert (envelope["valid"], envelope["result"], envelope["processing"]) == (False, None, None)
    assert envelope["reasons"]
    return envelope


@pytest.mark.parametrize("track", ["reports", "triage"])
def test_event_differs(score: Call, tmp_path: Path, track: str) -> None:
    """Another event than in the truth is refused, with the place of its value."""
    truth, sent = truth_file(tmp_path, track), sent_file(tmp_path, track, event="Frühling")
    envelope = refused(score(truth, sent, "--format", "json"))
    problem = next(problem for problem in envelope["problems"] if problem["code"] == "MC301")
    column = sent.read_text(encoding="utf-8").index('"Frühling"') + 1
    assert (problem["file"], problem["pointer"], problem["line"], problem["column"]) == (
        "sent.json", "/event", 1, column,
    )  # fmt: skip
    assert "event" in " ".join(envelope["reasons"])
    assert "REFUSED" in score(truth, sent).out.splitlines()[0]


def test_a_set_event_that_differs(score: Call, tmp_path: Path) -> None:
    """The same for one that was given with --set."""
    envelope = refused(score(*_lines(tmp_path, "json"), *_set({**_SETS, "event": "Other"}), "--format", "json"))
    assert codes(envelope) == ["MC301"]
    assert "Other" not in json.dumps(envelope)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("team", [None, "", 7])
def test_wrong_header(score: Call, tmp_path: Path, track: str, team: Any) -> None:
    """A submission whose header breaks its contract is refused."""
    path = sent_file(tmp_path, track)
    value = {**json.loads(path.read_bytes()), "team_name": team}
    path.write_text(json.dumps(value))
    envelope = refused(score(truth_file(tmp_path, track), path, "--format", "json"))
    assert "header" in envelope["reasons"][0]


@pytest.mark.parametrize("track", TRACKS)
def test_a_truth_with_errors(score: Call, tmp_path: Path, track: str) -> None:
    """A score against a broken truth means nothing: refused, though only one record is bad."""
    truth = truth_file(tmp_path, track, [*TRUTH[track][:-1], {**TRUTH[track][-1], "x": 1}])
    envelope = refused(score(truth, sent_file(tmp_path, track), "--format", "json"))
    assert "truth.json" in envelope["reasons"][0]
    assert "MC102" in codes(envelope)


@pytest.mark.parametrize("track", TRACKS)
def test_an_empty_truth(score: Call, tmp_path: Path, track: str) -> None:
    """An empty truth is refused, and said to be empty."""
    truth = f"{CONTRACTS[track][0]}={truth_file(tmp_path, track, [])}"
    envelope = refused(score(truth, sent_file(tmp_path, track), "--format", "json"))
    assert "empty" in envelope["reasons"][0]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_empty_truth_of_lines(score: Call, tmp_path: Path, ending: str) -> None:
    """So is one without a line."""
    truth = write(tmp_path, "lesions/truth", [], ending, "truth")
    refused(score(f"lesions/truth={truth}", sent_file(tmp_path, "lesions"), "--format", "json"))


@pytest.mark.parametrize(("track", "auxiliary"), [
    ("reports", {**telemetry(), "x": 1}),
    ("reports", telemetry(run_of("1"), run_of("1"))),
    ("reports", {**telemetry(), "runs": []}),
    ("lesions", {**model(), "model_size_mb": -1}),
    ("lesions", {**model(), "uses_image": False}),
])  # fmt: skip
def test_an_auxiliary_file_with_errors(score: Call, tmp_path: Path, track: str, auxiliary: Record) -> None:
    """Telemetry or a model file with errors is refused, by name."""
    files = [truth_file(tmp_path, track), sent_file(tmp_path, track), *document(tmp_path, "beside", auxiliary)]
    envelope = refused(score(*files, "--format", "json"))
    assert "beside.json" in envelope["reasons"][0]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("cut", [-1, -50])
def test_a_broken_submission(score: Call, tmp_path: Path, track: str, cut: int) -> None:
    """A .json that cannot be read to its end has no records: 0 of 20, exit 1. It has no header, which triage needs."""
    sent = sent_file(tmp_path, track)
    sent.write_bytes(sent.read_bytes()[:cut])
    ran = score(truth_file(tmp_path, track), sent, "--format", "json")
    assert ran.code == 1
    envelope = keeps(ran.out, "medcontract/score")
    assert (envelope["processing"]["processed"], envelope["processing"]["expected"]) == (0, 20)
    assert envelope["result"] is None if track == "triage" else as_below_gate(track, envelope["result"])
    located = [problem for problem in envelope["problems"] if problem["code"].startswith("MC0")]
    assert located[0]["file"] == "sent.json"
    assert located[0]["line"] == 1


@pytest.mark.parametrize("content", [b"{", b'{"a": }', b"\xff\xfe\xfd", b""])
def test_a_file_that_nobody_can_tell(score: Call, tmp_path: Path, content: bytes) -> None:
    """Broken syntax is wrong data (1), also when the contract of the file cannot be told."""
    broken = tmp_path / "broken.json"
    broken.write_bytes(content)
    for files in ([truth_file(tmp_path, "lesions"), broken], [*all_files(tmp_path, "lesions"), broken]):
        ran = score(*files, "--format", "json")
        assert ran.code == 1
        envelope = keeps(ran.out, "medcontract/score")
        assert (envelope["valid"], envelope["result"]) == (False, None)
        assert any("broken.json" in reason for reason in envelope["reasons"])
        assert [p["file"] for p in envelope["problems"] if p["code"].startswith("MC0")] == ["broken.json"]


def test_a_truth_that_nobody_can_tell(score: Call, tmp_path: Path) -> None:
    """The same for a truth: its syntax is broken, so it is wrong data, not a usage error."""
    broken = tmp_path / "truth.json"
    broken.write_bytes(b"{")
    ran = score(broken, sent_file(tmp_path, "lesions"))
    assert ran.code == 1
    assert "truth.json" in ran.out + ran.err


def test_nothing_that_can_be_told(score: Call, tmp_path: Path) -> None:
    """And where every file is broken."""
    (tmp_path / "broken.json").write_bytes(b"{")
    ran = score("broken.json")
    assert ran.code == 1
    assert "broken.json" in ran.out + ran.err


def test_a_truth_cut_in_half(score: Call, tmp_path: Path) -> None:
    """A truth that is recognized and broken is refused."""
    truth = truth_file(tmp_path, "lesions")
    truth.write_bytes(truth.read_bytes()[:-30])
    refused(score(truth, sent_file(tmp_path, "lesions"), "--format", "json"))


# --- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_parts_are_one_collection(score: Call, tmp_path: Path, track: str) -> None:
    """Several files with equal headers are one collection, on both sides."""
    whole = score(*all_files(tmp_path, track), "--format", "json").json
    truth_id, sent_id, _ = CONTRACTS[track]
    parts = [put(tmp_path / f"t{n}.json", truth_id, TRUTH[track][n::3]) for n in range(3)]
    parts += [put(tmp_path / f"s{n}.json", sent_id, SENT[track][n::2]) for n in range(2)]
    ran = score(*parts, *beside_files(tmp_path, track), "--format", "json")
    assert (ran.code, ran.json["problems"], ran.json["processing"]) == (EXIT[track], [], whole["processing"])
    changed = {"response_file_name": "s0.json, s1.json"} if track == "triage" else {}
    assert ran.json["result"] == {**whole["result"], **changed}


def test_a_case_that_is_spread_over_files(score: Call, tmp_path: Path) -> None:
    """Rules about the list see all parts: a case has its start in one file and its end in the other."""
    truth = TRUTH["triage"]
    starts = put(tmp_path / "starts.json", "triage/ground-truth", truth[::2])
    ends = put(tmp_path / "ends.json", "triage/ground-truth", truth[1::2])
    assert not medcontract.validate(starts).ok
    for files in ((starts, ends), (ends, starts)):
        ran = score(*files, sent_file(tmp_path, "triage"), "--format", "json")
        assert (ran.code, ran.json["problems"]) == (0, [])


def test_a_case_with_two_starts_over_files(score: Call, tmp_path: Path) -> None:
    """And they find what only both parts together break."""
    wrong = [{**record, "start_of_case": True} for record in TRUTH["triage"][1::2]]
    files = [
        put(tmp_path / "a.json", "triage/ground-truth", TRUTH["triage"][::2]),
        put(tmp_path / "b.json", "triage/ground-truth", wrong),
    ]
    envelope = refused(score(*files, sent_file(tmp_path, "triage"), "--format", "json"))
    assert {problem["code"][:3] for problem in envelope["problems"]} == {"MC2"}


@pytest.mark.parametrize("track", TRACKS)
def test_an_id_in_two_parts(score: Call, tmp_path: Path, track: str) -> None:
    """An id in two parts is told, with the base name of the other part, and not processed."""
    parts = [
        sent_file(tmp_path, track, SENT[track][:11], "a.json"),
        sent_file(tmp_path, track, SENT[track][10:], "b.json"),
    ]
    ran = score(truth_file(tmp_path, track), *parts, "--format", "json")
    assert ran.code == EXIT[track]
    assert ran.json["processing"]["processed"] == 19
    (problem,) = ran.json["problems"]
    assert (problem["code"], problem["file"], problem["record"]) == ("MC201", "b.json", 0)
    assert "a.json" in problem["hint"]
    assert str(tmp_path) not in ran.out


@pytest.mark.parametrize("track", TRACKS)
def test_two_versions_of_one_file(score: Call, tmp_path: Path, track: str) -> None:
    """A folder with two predictions files that answer the same ids: nothing is processed, and the text asks why."""
    folder = tmp_path / "submission"
    for name in ("final.json", "final2.json"):
        sent_file(folder, track, name=name)
    ran = score(truth_file(tmp_path, track), folder)
    assert ran.code == 1
    assert "final.json, final2.json" in ran.out
    assert "versions of one file" in ran.out


@pytest.mark.parametrize(
    ("track", "side", "field"), [("reports", 1, "team_name"), ("triage", 1, "evaluation_date"), ("triage", 0, "event")]
)
def test_parts_with_different_headers(score: Call, tmp_path: Path, track: str, side: int, field: str) -> None:
    """Two files of one contract whose headers differ are a usage error that names the field and both files."""
    contract = CONTRACTS[track][side]
    records = (TRUTH, SENT)[side][track]
    put(tmp_path / "a.json", contract, records[:10])
    put(tmp_path / "b.json", contract, records[10:], **{field: "2025-05-21"})
    other = sent_file(tmp_path, track) if side == 0 else truth_file(tmp_path, track)
    code, out, err = score("a.json", "b.json", other)
    assert (code, out) == (2, "")
    assert field in err
    assert "a.json" in err
    assert "b.json" in err


def test_parts_with_and_without_a_header(score: Call, tmp_path: Path) -> None:
    """A part whose container holds no header goes with one that has it."""
    sent_file(tmp_path, "triage", SENT["triage"][:10], "a.json")
    write(tmp_path, "triage/response", SENT["triage"][10:], "jsonl", "b")
    assert score(truth_file(tmp_path, "triage"), "a.json", "b.jsonl").code == 0


@pytest.mark.parametrize(("track", "what"), [("reports", "telemetry"), ("lesions", "model")])
def test_two_documents_of_one_contract(score: Call, tmp_path: Path, track: str, what: str) -> None:
    """Two telemetry files, or two model files, are a usage error, even when they are equal."""
    files = [*all_files(tmp_path, track), *document(tmp_path, "second", AUXILIARY[track])]
    code, out, err = score(*files)
    assert (code, out) == (2, "")
    assert f"{track}/{what}" in err
    assert "second.json" in err


# --- bad input -----------------------------------------------------------------------------------


def test_order_does_not_matter(score: Call, tmp_path: Path) -> None:
    """Truth and submission swapped in the call are told apart by their content."""
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")
    assert score(sent, truth) == score(truth, sent)


def test_swapped_by_name(score: Call, tmp_path: Path) -> None:
    """A submission that is called a truth by the caller is refused as one with errors."""
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")
    ran = score(f"lesions/truth={sent}", f"lesions/predictions={truth}")
    assert ran.code == 1
    assert ran.out.startswith("REFUSED")
    assert "the truth has" in ran.out


@pytest.mark.parametrize("track", TRACKS)
def test_no_truth(score: Call, tmp_path: Path, track: str) -> None:
    """A submission alone is a usage error that says what is asked for and what is there."""
    code, out, err = score(sent_file(tmp_path, track))
    assert (code, out) == (2, "")
    assert CONTRACTS[track][0] in err
    assert f"sent.json is {CONTRACTS[track][1]}" in err


@pytest.mark.parametrize("track", TRACKS)
def test_no_submission(score: Call, tmp_path: Path, track: str) -> None:
    """So is a truth alone."""
    code, out, err = score(truth_file(tmp_path, track))
    assert (code, out) == (2, "")
    assert CONTRACTS[track][1] in err
    assert f"truth.json is {CONTRACTS[track][0]}" in err


def test_files_of_different_tracks(score: Call, tmp_path: Path) -> None:
    """Files of different tracks are a usage error that says which is which."""
    code, out, err = score(truth_file(tmp_path, "lesions"), sent_file(tmp_path, "triage"))
    assert (code, out) == (2, "")
    assert "truth.json is lesions/truth" in err
    assert "sent.json is triage/response" in err


@pytest.mark.parametrize("track", TRACKS)
def test_no_id_in_common(score: Call, tmp_path: Path, track: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no id stands in both files that is said, and a person sees examples of both."""
    key = KEYS[track]
    sent = [{**record, key: f"other-{n}"} for n, record in enumerate(SENT[track])]
    files = truth_file(tmp_path, track), sent_file(tmp_path, track, sent)
    ran = score(*files)
    assert ran.code == 1
    assert "no id of the submission is in the truth" in ran.out
    assert "other-" not in ran.out
    on_a_terminal(monkeypatch)
    hint = next(line for line in score(*files, "--no-color").out.splitlines() if line.startswith("hint:"))
    assert "'other-0'" in hint
    assert repr(TRUTH[track][0][key]) in hint
    assert "other-0" in score(*files, "--show-values").out


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("change", [str.lower, lambda text: f" {text}", lambda text: text.replace("-", "- ")])
def test_ids_that_differ_in_case_or_blanks(
    score: Call, tmp_path: Path, track: str, change: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids that differ in case or blanks only are not joined, but hinted at."""
    key = KEYS[track]
    sent = [{**record, key: change(record[key])} for record in SENT[track]]
    files = truth_file(tmp_path, track), sent_file(tmp_path, track, sent)
    ran = score(*files, "--format", "json")
    assert (ran.code, ran.json["processing"]["processed"]) == (1, 0)
    only = "case" if change is str.lower else "whitespace"
    assert any(warning.endswith(f"from an id of the truth only in {only}") for warning in ran.json["warnings"])
    on_a_terminal(monkeypatch)
    out = score(*files, "--no-color").out
    true = TRUTH[track][0][key]
    task = "'qa' " if track == "benchmark" else ""
    assert f"{task}{change(true)!r} (truth: {task}{true!r})" in out


def test_times_of_the_competition(score: Call, tmp_path: Path) -> None:
    """--t-min-ms and --t-max-ms are parameters: T = 118.25 in [100, 200] loses 18.25 % of half of a tenth."""
    files = all_files(tmp_path, "lesions")
    ran = score(*files, "--t-min-ms", "100", "--t-max-ms", "200", "--format", "json")
    assert ran.json["result"]["efficiency_score"] == 1 - 0.1825 / 2
    parameters = ran.json["protocol"]["parameters"]
    assert (parameters["t_min_ms"], parameters["t_max_ms"]) == (100, 200)
    same = score(*files, "--parameter", "t_min_ms=100", "--parameter", "t_max_ms=200.0", "--format", "json")
    assert same.out == ran.out


def test_a_named_contract(score: Call, tmp_path: Path) -> None:
    """CONTRACT=PATH says what a file is: one without a record, whose content does not tell."""
    (tmp_path / "none.jsonl").write_bytes(b"")
    ran = score(truth_file(tmp_path, "lesions"), "lesions/predictions=none.jsonl", "--format", "json")
    assert (ran.code, ran.json["processing"]["processed"]) == (1, 0)


def test_files_that_a_score_has_no_use_for(score: Call, tmp_path: Path) -> None:
    """The list of cases is no input of a score, which is reported if the caller names it; a folder may contain one."""
    folder = tmp_path / "all"
    files = all_files(folder, "reports")
    cases = folder / "cases.csv"
    cases.write_text("report_id\nR-00\n")
    for arguments, warned in (([*files, cases], True), ([folder], False)):
        ran = score(*arguments, "--format", "json")
        assert ran.code == 0
        assert "cases.csv" not in [file["name"] for file in ran.json["inputs"]]
        assert any("cases.csv" in warning for warning in ran.json["warnings"]) == warned


@pytest.mark.parametrize("ending", ["jsonl", "csv", "jsonl.gz", "csv.gz", "json.gz"])
def test_containers(score: Call, tmp_path: Path, ending: str) -> None:
    """A submission in any container has the same result."""
    truth, sent = truth_file(tmp_path, "lesions"), write(tmp_path, "lesions/predictions", SENT["lesions"], ending)
    others = beside_files(tmp_path, "lesions")
    whole = score(*all_files(tmp_path, "lesions"), "--result-only")
    assert score(truth, sent, *others, "--result-only") == whole


def test_other_teams(score: Call, tmp_path: Path) -> None:
    """A model file of another team is a warning."""
    sent = sent_file(tmp_path, "lesions", team_name="Other")
    ran = score(truth_file(tmp_path, "lesions"), sent, *beside_files(tmp_path, "lesions"), "--format", "json")
    assert ran.code == 0
    assert any("team" in warning for warning in ran.json["warnings"])
