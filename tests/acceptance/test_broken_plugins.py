"""A plugin that does not work ends in a clear message and exit code 2, without a traceback and without data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_track_plugins import ECG, MODULE, _many, _run
from tests.commands import Call, Ran

import medcontract
from medcontract.errors import BrokenPlugin, CallError, internal_error, name_plugin, plugin_failure
from medcontract.modeling import ProblemCode, register_codes

SOURCE = MODULE.read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the example."""
    shutil.copytree(ECG, tmp_path / "ecg")
    return tmp_path / "ecg"


def _break(folder: Path, old: str, new: str) -> tuple[str, str]:
    """Change the plugin. Returns the option."""
    assert SOURCE.count(old) == 1, f"the example has changed: {old}"
    (folder / "ecg_challenge.py").write_text(SOURCE.replace(old, new), encoding="utf-8")
    return "--plugin", str(folder / "ecg_challenge.py")


def _assert_clear(ran: Ran, message: str) -> None:
    assert ran.code == 2
    assert message in ran.err
    assert "bug in medcontract" not in ran.err
    assert "E-0" not in ran.err


TRACKS = "TRACKS = (ECG,)"
TALLIED = "        return Tally(expected=len(items), processed=processed_counts(pairing), data=data, context=seconds)"
REASONS = "    def _reasons("
NOTES = "    def notes(self, tally):\n        from medcontract.modeling import Notes\n\n"
AT_LOADING = {
    "raises": (TRACKS, f"{TRACKS}\nraise RuntimeError('boom')", "cannot be imported: RuntimeError: boom"),
    "class": (TRACKS, "TRACKS = (EcgScorer,)", "EcgScorer is not a Track"),
    "text": (TRACKS, "TRACKS = 'ecg'", "a value of type str is not a Track"),
    "twice": (TRACKS, "from msgspec.structs import replace\nTRACKS = (ECG, replace(ECG))",
        "another track already has this id"),
    "subclass": (TRACKS, "class Old(Track):\n    id = 'ecg'\nTRACKS = (Old(),)",
        "Old is a subclass of Track, which is no longer a base class"),
    "built-in id": ('ECG = Track(\n    id="ecg",\n', 'ECG = Track(\n    id="lesions",\n',
        "another track already has this id"),
    "wrong id": ('ECG = Track(\n    id="ecg",\n', 'ECG = Track(\n    id="Ecg!",\n', "invalid id 'Ecg!'"),
    "no scorer": ("    scorer=EcgScorer,\n", "", "Missing required argument 'scorer'"),
    "scorer": ("    scorer=EcgScorer,\n", "    scorer=3,\n", "'scorer' must be a subclass of Scorer"),
    "no figures": ("    def figures(self", "    def finished(self", "EcgScorer has no 'figures'"),
    "count": ("    def tally(self", "    def count(self", "'count' is now called 'tally': see docs/your-own-track.md"),
    "finish": ("    def figures(self", "    def finish(self",
        "'finish' is now called 'figures': see docs/your-own-track.md"),
    "Counts": ("Table, Tally,", "Table, Counts,",
        "Counts is now Tally, and 'count' and 'finish' are 'tally' and 'figures'"),
    "roles": ("    roles=Roles(", "    roles=dict(", "'roles' must be Roles, not dict"),
    "figures": ("    figures=(", "    figures=3 or (", "'figures' must be a tuple of Figure"),
    "headline": ('headline="robust_accuracy"', 'headline="robust"', "there is no figure 'robust'"),
    "gate": ("            MIN_PROCESSED,\n", "", "no parameter 'min_processed'"),
    "protocol": ('        id="ecg",\n', '        id="other",\n', "its protocol has another id, 'other'"),
    "option": ('name="worst_weight", parameter', 'name="weights", parameter', "an option 'weights', which another"),
    "pairs": ("    pairs = (\n", "    pairs = 3, (\n", "'pairs' of its scorer must be a tuple of Pair"),
    "key": ('key=("recording_id",)', 'key=("record",)', "'record', which records of ecg/truth do not have"),
    "run": (', run="run",', ', run="seed",', "'seed', which records of ecg/predictions do not have"),
    "truth": ('truth="ecg/truth", submission', 'truth="ecg/t", submission', "ecg/t, which is not in its roles"),
    "contract": ('        truths=("ecg/truth",)', '        truths=("ecg/t",)', "the unknown contract ecg/t"),
    "codes": ("CODES = (\n", "CODES = {}\n_ = (\n", "CODES is not a tuple of codes"),
    "one code": ("CODES = (\n", 'CODES = ProblemCode("EC101", "a", "b", "c", "d")\n_ = (\n', "CODES is not a tuple"),
    "no code": ("CODES = (\n", "CODES = (3,\n", "a problem code must be a ProblemCode, not int"),
    "our prefix": ('code="ECG201", title', 'code="MC201", title', "MC201: the prefix MC is reserved"),
    "no prefix": ('code="ECG201", title', 'code="201", title', "invalid problem code '201'"),
    "range": ('code="ECG201", title', 'code="ECG601", title', "invalid problem code 'ECG601'"),
    "blank": ('title="Too slow"', 'title=" "', "the problem code ECG402 has no title"),
    "same code": ('code="ECG402", title', 'code="ECG401", title', "ECG401 is already registered"),
    "unknown code": ('code="ECG301", message', 'code="ECG399", message', "the unknown code ECG399"),
    "across files": ('code="ECG301", message', 'code="ECG201", message', "rules across files have 3xx codes"),
    "kind": ('"onset-inside"', '"unique"', "OnsetInside has the kind of a built-in rule, 'unique'"),
    "no kind": ('    kind: ClassVar = "onset-inside"\n', "", "the rule OnsetInside has no kind"),
    "rule": ("record_rules=(NO_ONSET,),\n        rules=(Unique", "record_rules=('x',),\n        rules=(Unique",
        "expected a rule"),
}  # fmt: skip


@pytest.mark.parametrize("case", AT_LOADING)
def test_a_wrong_definition(case: str, folder: Path, call: Call) -> None:
    """It is reported when the plugin is loaded, by every command."""
    old, new, message = AT_LOADING[case]
    _assert_clear(call("schema", "list", *_break(folder, old, new)), message)


WHEN_SCORING = {
    "item": ("    return Item(record.duration_s, record.rhythm, record.onset_s)",
        "    raise ValueError(record.recording_id)", "the plugin 'ecg_challenge' failed in _expected, line"),
    "measure": ("    return Mark(record.rhythm, record.onset_s)", "    raise ValueError(record.recording_id)",
        "the plugin 'ecg_challenge' failed in _measure, line"),
    "exit": ("    return Mark(record.rhythm, record.onset_s)", "    raise SystemExit(0)", "_measure, line"),
    "not a function": ("measure=_measure", "measure=len", "a function of a plugin for records or rules failed"),
    "tally": ("        items = pairing.expected.items\n", "        1 / 0\n", "in tally, line"),
    "tally returns": (TALLIED, "        return None", "tally: it must return Tally, not NoneType"),
    "tally of floats": ("expected=len(items)", "expected=float(len(items))", "tally: expected and processed"),
    "tally of nothing": ("processed=processed_counts(pairing)", "processed={}", "tally: expected and processed"),
    "tally of too many": ("expected=len(items)", "expected=1", "tally: more items are processed than expected"),
    "a float": ("data=data, ", "data=(1.5,), ", "tally: data: values of type float do not add up exactly"),
    "notes return": (REASONS, f"{NOTES}        return ()\n\n{REASONS}", "notes: it must return Notes, not tuple"),
    "warnings": (REASONS, f"{NOTES}        return Notes(warnings='none')\n\n{REASONS}",
        "notes: warnings must be a tuple of strings"),
    "remarks": (REASONS, f"{NOTES}        return Notes(remarks=('slow',))\n\n{REASONS}",
        "remarks: each must be Remark, not str"),
    "figures": ("        weight = self.protocol", "        raise KeyError('E-01')\n        weight = ",
        "in figures, line"),
    "figures return": ("        return Finished(", "        return dict(",
        "figures: it must return Finished, not dict"),
    "NaN": ('"consistency": rounded(Fraction(same, tally.expected))', '"consistency": float("nan")',
        "figures: the result is not a document of ecg/score: see /consistency (finite_number)"),
    "out of range": ('"worst_accuracy": rounded(worst)', '"worst_accuracy": 7.0', "see /worst_accuracy"),
    "another key": ('"mean_accuracy": rounded(mean)', '"mean_accuracy": 0.5, "E 0": 1', "see /… (extra_forbidden)"),
    "no result": ("Finished(result=result", "Finished(result=None", "figures: result must be dict, not NoneType"),
    "NaN as headline": ("headline=robust", "headline=float('nan')", "headline must be a Fraction or None, not float"),
    "decision": ("headline=robust", "headline=robust, decision='MAYBE'", "decision must be GO, NO-GO or None"),
    "remediation": ("        return [\n            Fail", "        return ['x'] or [\n            Fail",
        "remediation: each"),
    "scorer": ("    pairs = (\n", "    def __init__(self, *a):\n        1 / 0\n\n    pairs = (\n", "in __init__, line"),
    "rule": ("            recording = find(", "            1 / 0\n            recording = find(", "in check, line"),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", WHEN_SCORING)
def test_a_scorer_that_fails(case: str, folder: Path, call: Call) -> None:
    """By `score`, `preflight` and `leaderboard`, if all submissions fail."""
    old, new, message = WHEN_SCORING[case]
    plugin = _break(folder, old, new)
    truth, sent = folder / "ecg_data" / "truth.csv", folder / "submissions" / "heron"
    for command in (("score", truth, sent), ("preflight", truth, sent), ("leaderboard", truth, sent)):
        _assert_clear(call(*command, *plugin), message)


OTHERS = {
    "tables": ("score", "    yield figures_table(score)\n", "    1 / 0\n    yield\n", "in _tables, line"),
    "tables return": ("score", "    tables=_tables", "    tables=lambda score: 3",
        "tables of the track 'ecg' must return Tables, not int"),
    "no tables": ("score", "    yield figures_table(score)\n", "    yield 'x'\n", "must be Tables, not str"),
    "limits": ("preflight", "        runs, wanted = len(", "        1 / 0\n        runs, wanted = len(", "in limits"),
    "limits return": ("preflight", "    def limits(\n", "    def limits(self, *a):\n        return 3\n\n    def t(\n",
        "limits: it must return Iterable, not int"),
    "limit code": ("preflight", 'code="ECG401", failure', 'code="ECG499", failure',
        "a Limit has the unknown code ECG499"),
    "remarks": ("preflight", "        for run in pairing.runs():\n            rhythms",
        "        yield 3\n        for run in ():\n            rhythms", "remarks: each must be Remark, not int"),
    "probe": ("preflight", "        rhythm: str = record.rhythm", "        rhythm = 1 / 0", "in probe, line"),
    "record rule": ("validate", '        if getattr(value, "rhythm", None) !=', "        if 1 / 0 !=",
        "in check, line"),
    "record rule returns": ("validate", '        if getattr(value, "rhythm", None) !=',
        "        return None\n        if 1 !=", "returned a wrong value: TypeError"),
    "participants": ("score --participant", "    tables=_tables",
        "    for_participants=lambda result, headline: 3, tables=_tables",
        "for_participants: it must return dict, not int"),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_functions_that_fail(case: str, folder: Path, call: Call) -> None:
    """Only the commands that call them fail."""
    command, old, new, message = OTHERS[case]
    plugin = _break(folder, old, new)
    _assert_clear(call(*command.split(), folder / "ecg_data", *plugin), message)


@pytest.mark.slow
def test_one_of_several_submissions(folder: Path, call: Call) -> None:
    """Only the submission that makes a scorer fail is refused."""
    plugin = _break(folder, TALLIED, f"        1 / (len(set(found)) - 1)\n{TALLIED}")
    one = folder / "submissions" / "one"
    one.mkdir()
    sent = json.loads((folder / "ecg_data" / "predictions.json").read_text())
    sent["predictions"] = [record for record in sent["predictions"] if record["run"] == "seed-1"]
    (one / "predictions.json").write_text(json.dumps(sent))
    for jobs in ("1", "2"):
        submissions = sorted((folder / "submissions").iterdir())
        ran = call(
            "leaderboard", *plugin, folder / "ecg_data" / "truth.csv", *submissions, "--jobs", jobs, "--format", "json"
        )
        assert ran.code == 0
        reasons = {entry["name"]: entry["reasons"] for entry in ran.json["submissions"]}
        assert (reasons["heron"], reasons["crane"]) == ([], [])
        (reason,) = reasons["one"]
        assert reason.startswith("the plugin 'ecg_challenge' failed in tally, line ")
        assert reason.endswith(": ZeroDivisionError")


@pytest.mark.slow
def test_in_workers(folder: Path, tmp_path: Path) -> None:
    """An exception in a worker process is reported as in one process."""
    plugin = _break(
        folder, "    return Mark(record.rhythm, record.onset_s)", "    raise ValueError(record.recording_id)"
    )
    files = _many(tmp_path, 400)
    for jobs in (1, 2):
        ran = _run(tmp_path, "score", *plugin, *files, "--set", "team_name=x", "--jobs", jobs)
        _assert_clear(ran, "the plugin 'ecg_challenge' failed in _measure, line")
        assert "B-" not in ran.err
        assert "B-" in (tmp_path / files[0]).read_text(encoding="utf-8")


def test_in_python(folder: Path) -> None:
    """`BrokenPlugin`, which does not refer to the exception with its data."""
    medcontract.load_plugin(
        _break(folder, "        items = pairing.expected.items\n", "        raise ValueError('E-01')\n")[1]
    )
    with pytest.raises(BrokenPlugin, match="failed in tally") as caught:
        medcontract.score(folder / "ecg_data")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "E-01" not in str(caught.value)


def test_the_traceback_on_demand(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDCONTRACT_DEBUG", "1")
    ran = call(
        "score", folder / "ecg_data", *_break(folder, "        items = pairing.expected.items\n", "        1 / 0\n")
    )
    assert ran.code == 2
    assert "Traceback" in ran.err


def test_a_bug_of_ours_is_not_blamed_on_a_plugin() -> None:
    """An exception without a frame of a plugin stays an internal error, and so do errors of the system."""
    name_plugin("medcontract.contracts.base", "json.decoder", "pathlib")
    calls: list[tuple[Callable[[], Any], bool]] = [
        (lambda: 1 / 0, False), (lambda: json.loads("x"), True), (lambda: Path("/nowhere").read_text(), False),
    ]  # fmt: skip
    for function, blamed in calls:
        with pytest.raises((ArithmeticError, ValueError, OSError)) as caught:
            function()
        assert (plugin_failure(caught.value) is not None) == blamed
        assert "bug in medcontract" in internal_error(caught.value)


def test_a_registered_track_without_a_plugin_needs_no_workers(folder: Path) -> None:
    """Workers cannot know a track that was registered by a call: one process does the work."""
    from medcontract.modeling import register_track
    from medcontract.plugins import loading

    module: Any = loading.load_module(str(folder / "ecg_challenge.py"))
    register_track(*module.TRACKS)
    submissions = [folder / "submissions" / name for name in ("heron", "crane")]
    board = medcontract.leaderboard(folder / "ecg_data" / "truth.csv", *submissions, jobs=2)
    assert [entry.team_name for entry in board.submissions] == ["Heron", "Crane"]


def test_codes_can_be_registered_again() -> None:
    """The same code twice is accepted, another one with the same name is not."""
    code = ProblemCode(code="XYZ100", title="a", meaning="b", mistake="c", fix="d")
    register_codes(code, code)
    with pytest.raises(CallError, match="XYZ100 is already registered"):
        register_codes(code._replace(fix="e"))
