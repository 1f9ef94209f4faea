"""Metrics of users' own: by --plugin, in worker processes, from installed packages, and what can go wrong with one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Ran, keeps, put
from tests.scoring_files import Record, document, reference, repeats, says, weights, write
from tests.support import ROOT

REFERENCES, PREDICTIONS = "benchmark/references", "benchmark/predictions"
COMMAND = """
import sys
from medcontract.cli.main import main
from medcontract.reading import chunks
chunks.SMALLEST = 4096
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
"""The command line, for which files of a few kilobytes are large enough for workers."""
BREVITY = '''
def brevity(reference, prediction):
    """Nothing where there is no answer, else 1 for a short one; half a point off for a long one."""
    if prediction.answer is None:
        return None
    return 1 if len(prediction.answer) <= len(reference.answer) else 0.5


METRICS = {"brevity": brevity}
'''

Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line in a process of its own: what a plugin registers is gone after it."""
    (tmp_path / "command.py").write_text(COMMAND)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}

    def call(*arguments: object, path: Sequence[Path] = ()) -> Ran:
        done = subprocess.run(
            [sys.executable, "command.py", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True,
            check=False, env={**environment, "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "src", *path]))},
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


def samples(count: int) -> tuple[list[Record], list[Record]]:
    """References, and predictions of which every fourth is long and every fifth has no answer."""
    truth = [reference(f"S-{n:03}", answer="gout") for n in range(count)]
    sent = [repeats(true) for true in truth]
    for number, record in enumerate(sent):
        if number % 4 == 0:
            record["prediction"] = {"answer": "gout, I am afraid"}
        if number % 5 == 0:
            record["prediction"] = {"diagnosis": "gout"}
    return truth, sent


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Forty of them, with one that failed."""
    truth, sent = samples(40)
    sent[1]["error"] = "time out"
    return [write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)]


# Of 40, 8 have no answer (0, 5, … 35) and no brevity. Of the other 32, 8 are long (multiples of 4 that are none of 20:
# 4, 8, 12, 16, 24, 28, 32, 36), and number 1 failed: it is 0 in what others have. (23·1 + 8·0.5 + 0) / 32 = 27/32.
VALUE = 27 / 32


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["brevity_metric.py", "./brevity_metric.py"])
def test_a_plugin(run: Run, tmp_path: Path, files: list[Path], name: str) -> None:
    """A file of the current folder: its metrics are means like any other, and can be weighed."""
    (tmp_path / "brevity_metric.py").write_text(BREVITY)
    ran = run("score", *files, "--plugin", name, "--weights", "brevity=1", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    result = keeps(ran.out, "medcontract/score")["result"]
    assert result["overall_scores"]["brevity"] == result["overall_scores"]["combined_score"] == VALUE
    assert "brevity" not in run("score", *files).out


def test_given_scores_win(run: Run, tmp_path: Path) -> None:
    """Over a metric of users' own, too."""
    (tmp_path / "brevity_metric.py").write_text(BREVITY)
    paths = [
        write(tmp_path, REFERENCES, [reference("S", answer="gout")]),
        write(tmp_path, PREDICTIONS, [says("S", "qa", {"brevity": 0.25}, answer="gout")]),
    ]
    result = run("score", *paths, "--plugin", "brevity_metric.py", "--result-only").json
    assert result["overall_scores"]["brevity"] == 0.25


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["brevity_metric.py", "./brevity_metric.py"])
def test_workers(run: Run, tmp_path: Path, name: str) -> None:
    """One process and two print the same bytes."""
    (tmp_path / "brevity_metric.py").write_text(BREVITY)
    truth, sent = samples(400)
    paths = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)
    arguments = ("score", *paths, "--plugin", name, "--breakdown", "--format", "json")
    alone = run(*arguments)
    assert alone.code == 0
    assert "brevity" in alone.json["result"]["overall_scores"]
    assert run(*arguments, "--jobs", "2") == alone


def test_rankings(run: Run, tmp_path: Path) -> None:
    """A ranking by such a metric, in one process and in two."""
    (tmp_path / "brevity_metric.py").write_text(BREVITY)
    truth, sent = samples(40)
    organizer = tmp_path / "truth"
    put(organizer / "references.json", REFERENCES, truth)
    document(organizer, "weights", weights(brevity=1))
    for name, records in (("good", [repeats(true) for true in truth]), ("fair", sent)):
        put(tmp_path / name / "sent.json", PREDICTIONS, records, model_id=name)
    arguments = ("leaderboard", organizer, "fair", "good", "--plugin", "brevity_metric.py", "--format", "json")
    alone = run(*arguments)
    assert (alone.code, alone.err) == (0, "")
    found = keeps(alone.out, "medcontract/leaderboard")["submissions"]
    assert [(each["name"], each["headline"]) for each in found] == [("good", 1.0), ("fair", 0.875)]
    assert run(*arguments, "--jobs", "2") == alone


def test_other_commands(run: Run, tmp_path: Path, files: list[Path]) -> None:
    """A module that has metrics alone is a plugin for every command that takes one."""
    (tmp_path / "brevity_metric.py").write_text(BREVITY)
    for command in ("validate", "preflight"):
        assert run(command, *files, "--plugin", "brevity_metric.py").code == 0


VIEW = """
def view(reference, prediction):
    sides = [[one.answer, one.rationale, one.diagnosis] for one in (reference, prediction)]
    given = [one.entities and list(one.entities.labs or ()) for one in (reference, prediction)]
    return 1 if sides == [["gout", None, None]] * 2 and given == [["urate"], ["urate"]] else 0


METRICS = {"view": view}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("clean", [True, False])
def test_what_a_metric_sees(run: Run, tmp_path: Path, ending: str, clean: bool) -> None:
    """The fields of both sides as attributes, None where absent or null, also in a file with bad records."""
    (tmp_path / "plugin.py").write_text(VIEW)
    said: Record = {"answer": "gout", "entities": {"labs": ["urate"]}, "rationale": None}
    truth = [reference(f"{n}", **said) for n in range(20)]
    sent: list[Record] = [repeats(true) for true in truth]
    if not clean:
        sent[7]["strange"] = 1
    paths = write(tmp_path, REFERENCES, truth, ending), write(tmp_path, PREDICTIONS, sent, ending)
    extra = ("--set", "model_id=m") if ending == "jsonl" else ()
    ran = run("score", *paths, "--plugin", "plugin.py", "--result-only", *extra)
    assert ran.json["overall_scores"]["view"] == (1 if clean else 0.95)


# --- what can go wrong ---------------------------------------------------------------------------


def metric(body: str, name: str = "odd") -> str:
    return f"def function(reference, prediction):\n    {body}\n\n\nMETRICS = {{{name!r}: function}}\n"


BAD: list[Any] = [
    pytest.param(metric("raise ValueError('no good')"), ["'odd'", "ValueError", "--show-values"], id="exception"),
    pytest.param(metric("return 1 / 0"), ["'odd'", "ZeroDivisionError"], id="division"),
    pytest.param(metric("return reference.nonsense"), ["'odd'", "AttributeError"], id="attribute"),
    pytest.param(metric("return 1.5"), ["'odd'", "--show-values", "0 and 1"], id="above 1"),
    pytest.param(metric("return -0.1"), ["'odd'", "--show-values", "0 and 1"], id="below 0"),
    pytest.param(metric("return float('nan')"), ["'odd'", "nan", "0 and 1"], id="NaN"),
    pytest.param(metric("return float('inf')"), ["'odd'", "inf", "0 and 1"], id="infinite"),
    pytest.param(metric("return 'good'"), ["'odd'"], id="text"),
    pytest.param(metric("return [1]"), ["'odd'"], id="list"),
    pytest.param("def f(x):\n    return 1\n\n\nMETRICS = {'odd': f}\n", ["'odd'", "TypeError"], id="one argument"),
    pytest.param("METRICS = {'odd': 7}\n", ["'odd'", "not a function"], id="not callable"),
    pytest.param("METRICS = ['odd']\n", ["METRICS"], id="no dict"),
    pytest.param("METRICS = {7: len}\n", ["'7'", "name"], id="no text for a name"),
    pytest.param("METRICS = {'': len}\n", ["name"], id="empty name"),
    pytest.param("METRICS = {'a b': len}\n", ["'a b'", "name"], id="blank in a name"),
    pytest.param("raise RuntimeError('broken')\n", ["plugin.py", "broken"], id="cannot be imported"),
    pytest.param("x = 1\n", ["plugin.py", "METRICS"], id="nothing in it"),
    pytest.param(metric("return 1", "clinical_accuracy"), ["clinical_accuracy"], id="a computed metric"),
    pytest.param(metric("return 1", "reasoning_quality"), ["reasoning_quality"], id="another"),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_metrics(run: Run, tmp_path: Path, files: list[Path], text: str, words: list[str]) -> None:
    """A clear message on standard error, nothing on standard output, no traceback."""
    (tmp_path / "plugin.py").write_text(text)
    ran = run("score", *files, "--plugin", "plugin.py")
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert [word for word in words if word not in ran.err] == []


def test_a_name_of_two_plugins(run: Run, tmp_path: Path, files: list[Path]) -> None:
    """One of them would be lost."""
    (tmp_path / "one.py").write_text(metric("return 0"))
    (tmp_path / "two.py").write_text(metric("return 1"))
    ran = run("score", *files, "--plugin", "one.py", "--plugin", "two.py")
    assert (ran.code, ran.out) == (2, "")
    assert "'odd'" in ran.err


def test_the_same_plugin_twice(run: Run, tmp_path: Path, files: list[Path]) -> None:
    """It is one."""
    (tmp_path / "plugin.py").write_text(metric("return 1"))
    assert run("score", *files, "--plugin", "plugin.py", "--plugin", "./plugin.py").code == 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("body", ["raise ValueError('no good')", "return 2", "return float('nan')"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_bad_metrics_in_workers(run: Run, tmp_path: Path, body: str, jobs: str) -> None:
    """The same message, with the name of the metric, from a worker, also in a ranking."""
    (tmp_path / "plugin.py").write_text(metric(body))
    truth, sent = samples(400)
    paths = [write(tmp_path, REFERENCES, truth)]
    paths += [put(tmp_path / name / "sent.json", PREDICTIONS, sent).parent for name in ("a", "b")]
    ran = run("score", *paths[:2], "--plugin", "plugin.py", "--jobs", jobs)
    assert ran.code in (1, 2)
    assert "'odd'" in ran.err
    ran = run("leaderboard", *paths, "--plugin", "plugin.py", "--jobs", jobs)
    assert "'odd'" in ran.err + ran.out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_metric_that_fails_for_one_submission(run: Run, tmp_path: Path, jobs: str) -> None:
    """It refuses that submission: an answer that a metric cannot take does not end the ranking."""
    (tmp_path / "plugin.py").write_text(metric("return 1 / (prediction.answer != 'boom')"))
    truth, sent = samples(40)
    paths = [write(tmp_path, REFERENCES, truth)]
    paths += [put(tmp_path / name / "sent.json", PREDICTIONS, sent).parent for name in ("a", "b")]
    bad = [{**sent[0], "prediction": {"answer": "boom"}}, *sent[1:]]
    paths.append(put(tmp_path / "c" / "sent.json", PREDICTIONS, bad).parent)
    ran = run("leaderboard", *paths, "--plugin", "plugin.py", "--jobs", jobs, "--format", "json")
    assert ran.code == 0
    entries = {each["name"]: each for each in ran.json["submissions"]}
    assert [entries[name]["valid"] for name in "abc"] == [True, True, False]
    assert "the metric 'odd' failed" in entries["c"]["reasons"][0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("body", ["return float('nan')", "return 1 / 0", "return int(prediction.answer)"])
def test_a_sample_that_is_somebodys(run: Run, tmp_path: Path, body: str) -> None:
    """The message holds no value of a record, off a terminal: neither its id nor what an exception quotes."""
    (tmp_path / "plugin.py").write_text(metric(body))
    truth = [reference("Juan Pérez 1948", answer="gout of Juan Pérez")]
    paths = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, [repeats(true) for true in truth])
    assert "Pérez" not in run("score", *paths, "--plugin", "plugin.py").err


# --- installed packages --------------------------------------------------------------------------


def install(folder: Path, text: str, entries: str) -> Path:
    """A package as pip would leave it."""
    folder.mkdir()
    (folder / "brevity_metric.py").write_text(text)
    info = folder / "brevity_metric-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity-metric\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[medcontract.metrics]\n{entries}\n")
    return folder


@pytest.mark.slow
def test_an_installed_metric(run: Run, tmp_path: Path, files: list[Path]) -> None:
    """An entry point of the group `medcontract.metrics` is a metric by its name, also in workers."""
    site = install(tmp_path / "site", BREVITY, "brevity = brevity_metric:brevity")
    ran = run("score", *files, "--format", "json", path=[site])
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["result"]["overall_scores"]["brevity"] == VALUE
    truth, sent = samples(400)
    paths = write(tmp_path, REFERENCES, truth, name="many"), write(tmp_path, PREDICTIONS, sent, name="sent")
    alone = run("score", *paths, "--format", "json", path=[site])
    assert run("score", *paths, "--format", "json", "--jobs", "2", path=[site]) == alone


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "entries", ["brevity = brevity_metric:nothing", "brevity = no_such_module:x", "brevity = brevity_metric:METRICS"]
)
def test_an_installed_metric_that_is_broken(run: Run, tmp_path: Path, files: list[Path], entries: str) -> None:
    """It is told of, and the score is made without it."""
    site = install(tmp_path / "site", BREVITY, entries)
    ran = run("score", *files, "--format", "json", path=[site])
    assert ran.code == 0
    assert "brevity" not in ran.json["result"]["overall_scores"]
    assert "brevity_metric" in ran.err or "no_such_module" in ran.err


# --- challenges -------------------------------------------------------------------------------------------------------

CHALLENGE = """
id = "age"
key = "case_id"
[prediction]
bone = { type = "number", min = 0, max = 20 }
teeth = { type = "number", min = 0, max = 20 }
[truth]
bone = { type = "number", min = 0, max = 20, optional = true }
teeth = { type = "number", min = 0, max = 20 }
[[metric]]
name = "nearness"
kind = "custom"
for = ["bone", "teeth"]
field = "{}"
[[metric]]
name = "again"
kind = "custom"
function = "nearness"
field = "bone"
[score]
headline = "nearness"
"""
NEARNESS = """
def nearness(truth, prediction):
    return max(0.0, 1 - abs(truth - prediction) / 2)

METRICS = {"nearness": nearness}
"""


@pytest.fixture
def ages(tmp_path: Path) -> Path:
    """Near, far, failed, and one without a true value. By hand: (0.75 + 0 + 0) / 3, (1 + 0 + 0 + 0.5) / 4."""
    (tmp_path / "challenge.toml").write_text(CHALLENGE)
    (tmp_path / "nearness.py").write_text(NEARNESS)
    (tmp_path / "truth.csv").write_text("case_id,bone,teeth\na,5,5\nb,5,5\nc,5,5\nd,,5\n")
    (tmp_path / "sent.csv").write_text("case_id,bone,teeth,error\na,5.5,5,\nb,9,9,\nc,,,lost\nd,5,4,\n")
    return tmp_path


SCORE = ("score", "truth.csv", "sent.csv", "--challenge", "challenge.toml", "--parameter", "min_processed=0")


def test_a_challenge_names_a_metric(run: Run, ages: Path) -> None:
    ran = run(*SCORE, "--plugin", "nearness.py", "--format", "json")
    assert ran.code == 0, ran.err
    result = keeps(ran.out, "medcontract/score")["result"]
    assert result["metrics"] == {"nearness_bone": 0.25, "nearness_teeth": 0.375, "again": 0.25}
    assert result["headline"] == {"name": "nearness", "value": 0.3125}
    assert result["left_out"] == {"nearness_bone": 1, "again": 1}
    two = run(*SCORE, "--plugin", "nearness.py", "--format", "json", "--jobs", "2")
    assert two.json["result"] == result
    with_intervals = run(*SCORE, "--plugin", "nearness.py", "--format", "json", "--intervals").json
    assert "/metrics/nearness_bone" in with_intervals["intervals"]["figures"]


def test_without_the_plugin(run: Run, ages: Path) -> None:
    """Files can be checked; a score says what is missing, and so does the check of the challenge."""
    ran = run("challenge", "check", "challenge.toml")
    assert (ran.code, "warning MC221 metric.nearness: no plugin has the metric 'nearness'" in ran.out) == (0, True)
    ran = run("challenge", "check", "challenge.toml", "--plugin", "nearness.py")
    assert (ran.code, "MC221" in ran.out) == (0, False)
    assert run("validate", "age/predictions=sent.csv", "--challenge", "challenge.toml").code == 0
    ran = run(*SCORE)
    assert (ran.code, "no plugin has the metric 'nearness'" in ran.err) == (2, True)


@pytest.mark.parametrize(("body", "message"), [
    ("return 2", "the metric 'nearness' returned a number that is not between 0 and 1"),
    ("return None", "the metric 'nearness' failed for a case: TypeError"),
    ("raise ValueError('a secret')", "the metric 'nearness' failed for a case: ValueError"),
    ("return float('nan')", "the metric 'nearness' returned a number that is not between 0 and 1"),
])  # fmt: skip
def test_a_broken_metric_of_a_challenge(run: Run, ages: Path, body: str, message: str) -> None:
    """It is the fault of the plugin; nothing of a record is shown."""
    (ages / "nearness.py").write_text(
        f"def nearness(truth, prediction):\n    {body}\nMETRICS = {{'nearness': nearness}}\n"
    )
    ran = run(*SCORE, "--plugin", "nearness.py")
    assert (ran.code, message in ran.err, "secret" in ran.err) == (2, True, False)
