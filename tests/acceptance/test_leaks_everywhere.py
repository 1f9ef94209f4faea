"""Files full of markers through every entrance: commands and formats, functions, exceptions, notebooks, archives.

Without `--show-values` no output contains a marker, except `result`, which contains what its contract requires, and the
path of a file where a path is shown. With `--participant` no output contains a marker of the truth, not even with
`--show-values`. The last tests prove that the markers are where they could leak.

Three commands write what they are given, on purpose: `normalize` texts, `template` ids, and `challenge new` the classes
of the truth that it describes, but no other values.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.archive_files import pack_folder
from tests.commands import Call, Ran
from tests.leak_files import CASES, OF_FOLDER, OF_SUBMISSION, OF_TRUTH, Case, bad_truth, marked
from tests.platform_runs import RUNS

import medcontract
from medcontract.benchmark import BenchmarkReport, ClinicalAccuracyMetric, ReasoningQualityMetric
from medcontract.cli import main, output
from medcontract.rendering import QUIET, formats_of, render
from medcontract.rendering.page import View
from medcontract.results.base import Result, ResultItem
from medcontract.results.preflight import Fix
from medcontract.results.validation import Validation
from medcontract.testing import assert_valid

COMMANDS = {"validate": "Validation", "preflight": "Preflight", "score": "Score", "leaderboard": "Leaderboard"}
"""Commands that read records, and their results."""
ALL = (OF_TRUTH, OF_SUBMISSION)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return CASES[request.param](tmp_path / "data")


def found(text: str, *markers: str) -> list[str]:
    """Where markers come out: for the message of a test that fails."""
    places = [(text.find(marker), marker) for marker in markers]
    return [text[max(0, at - 200) : at + 60] for at, _ in places if at >= 0]


def without_results(value: Any) -> Any:
    """The output except `result`."""
    if isinstance(value, dict):
        return {key: without_results(each) for key, each in value.items() if key != "result"}
    return [without_results(each) for each in value] if isinstance(value, list) else value


def printed(ran: Ran, format_: str) -> str:
    """Everything that was printed, except `result`."""
    assert "internal error" not in ran.err
    assert ran.code in (0, 1), ran.err
    text = json.dumps(without_results(ran.json), ensure_ascii=False) if format_ == "json" and ran.out else ran.out
    return text + ran.err


# --- commands


def test_every_command_is_here() -> None:
    """Or reads no records."""
    without_records = {"cache", "conformance", "explain", "init", "schema"}
    others = {"bundle", "challenge", "compare", "fix", "normalize", "protocol", "rehearse", "template", "verify"}
    assert {*COMMANDS, *others, *without_records} == set(main.COMMANDS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str, case: Case, call: Call) -> None:
    """Every format of every command, with a valid and an invalid truth, for organizers and participants."""
    for given in (case, bad_truth(case)):
        arguments = (command, given.truth, given.submission, *given.options)
        for format_ in formats_of(COMMANDS[command]):
            ran = call(*arguments, "--format", format_)
            assert found(printed(ran, format_), *ALL) == [], format_
            if command in ("score", "leaderboard"):  # base names only
                assert found(ran.out, OF_FOLDER) == [], format_
            if command == "validate":
                continue
            mine = call(*arguments, "--format", format_, "--participant")
            assert found(printed(mine, format_), *ALL) == [], format_
            if command != "leaderboard":
                shown = call(*arguments, "--format", format_, "--participant", "--show-values")
                assert found(shown.out + shown.err, OF_TRUTH) == [], format_


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_pipes_of_a_terminal(command: str, case: Case, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is a terminal, standard output is not; and the other way round for a file (`--out`)."""
    monkeypatch.setattr(output, "error_terminal", lambda: True)
    ran = call(command, case.truth, case.submission, *case.options, "--quiet")
    assert found(ran.out + ran.err, *ALL) == []
    monkeypatch.setattr(output, "terminal", lambda: True)
    for extension in ("txt", "html", "md"):
        call(command, case.truth, case.submission, *case.options, "--out", f"out.{extension}")
        assert found(Path(f"out.{extension}").read_text(encoding="utf-8"), *ALL) == []


@pytest.mark.sampled(3)
def test_archives(case: Case, call: Call) -> None:
    archive = pack_folder(case.submission.with_suffix(".zip"), case.submission)
    for command, result in COMMANDS.items():
        for format_ in formats_of(result):
            ran = call(command, case.truth, archive, *case.options, "--format", format_)
            assert found(printed(ran, format_), *ALL) == [], (command, format_)


def test_reports_for_participants(case: Case, call: Call) -> None:
    """`leaderboard --reports`: a file for each submission, which is sent to its team."""
    for format_ in formats_of("Score"):
        for extra in ((), ("--participant",)):
            folder = Path(f"reports-{format_}{len(extra)}")
            ran = call(
                "leaderboard",
                case.truth,
                case.submission,
                *case.options,
                *extra,
                "--reports",
                folder,
                "--format",
                format_,
            )
            assert ran.code == 0, ran.err
            (report,) = [path for path in folder.iterdir() if not path.name.startswith(".")]
            text = report.read_text(encoding="utf-8")
            text = json.dumps(without_results(json.loads(text)), ensure_ascii=False) if format_ == "json" else text
            assert found(text, *ALL, OF_FOLDER) == [], format_
            if extra:
                assert found(report.read_text(encoding="utf-8"), OF_TRUTH) == [], format_


def test_compare_and_breakdown(case: Case, call: Call) -> None:
    arguments = (case.truth, case.submission, *case.options)
    for name in ("before.json", "after.json"):
        call("score", *arguments, "--format", "json", "--out", name)
    for format_ in formats_of("Comparison"):
        ran = call("compare", "before.json", "after.json", *case.options, "--format", format_)
        assert found(printed(ran, format_), *ALL) + found(ran.out, OF_FOLDER) == [], format_
    if case.contracts[0].startswith("extraction"):
        for format_ in formats_of("Score"):
            assert found(printed(call("score", *arguments, "--breakdown", "--format", format_), format_), *ALL) == []


def test_fix_and_template(case: Case, call: Call) -> None:
    """Repairs are described without values; a template has the ids of a truth, and a frozen protocol its hash."""
    (sent,) = case.submission.iterdir()
    ran = call("fix", sent, *case.options, "--contract", case.contracts[1])
    assert found(ran.out + ran.err, *ALL) == []
    ran = call("template", case.contracts[1], "--cases", case.truth, *case.options)
    assert found(ran.out + ran.err, *ALL) == []
    track = case.contracts[0].partition("/")[0]
    ran = call("protocol", "freeze", track, "--truth", case.truth, "--out", "protocol.json", *case.options)
    assert ran.code == 0, ran.err
    assert found(ran.out + ran.err + Path("protocol.json").read_text(encoding="utf-8"), *ALL) == []


def test_a_new_challenge(call: Call, tmp_path: Path) -> None:
    """Classes are copied from the truth, comments are not."""
    rows = [f"C-{n},{'yes' if n % 2 else 'no'},{marked(OF_TRUTH).replace(',', '')} {n}\n" for n in range(40)]
    (tmp_path / "truth.csv").write_text("case_id,label,comment\n" + "".join(rows), encoding="utf-8")
    ran = call("challenge", "new", "mine", "--truth", "truth.csv")
    assert ran.code == 0, ran.err
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "mine").rglob("*") if path.is_file())
    assert "yes" in written
    assert found(ran.out + ran.err + written, OF_TRUTH) == []


@pytest.mark.parametrize("platform", RUNS)
@pytest.mark.parametrize("name", ["challenge", "extraction", "reports", "triage"])
def test_platforms(platform: str, name: str, call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a participant of a challenge platform sees."""
    case = CASES[name](tmp_path / "data")
    ran = call("bundle", platform, "--truth", case.truth, *case.options, "--out", "bundle")
    assert ran.code == 0, ran.err
    assert found(ran.out + ran.err, *ALL) == []
    files = {path.name: path.read_bytes() for path in case.submission.iterdir()}
    (tmp_path / "run").mkdir()
    outcome = RUNS[platform](tmp_path / "bundle", tmp_path / "run", files, capsys)
    assert outcome.seen.strip()
    assert found(outcome.seen.replace(str(tmp_path), ""), *ALL) == []


def test_any_json_schema(call: Call, tmp_path: Path) -> None:
    """Messages of JSON Schema usually quote the value."""
    properties = {
        "const": {"const": 1}, "enum": {"enum": [1]}, "type": {"type": "integer"}, "pattern": {"pattern": "^x$"},
        "short": {"maxLength": 1}, "unique": {"uniqueItems": True}, "not": {"not": {"type": "string"}},
        "format": {"format": "date"}, "one": {"oneOf": [{"type": "null"}, {"type": "array"}]},
    }  # fmt: skip
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    record = {**dict.fromkeys(properties, marked(OF_SUBMISSION)), "unique": [marked(OF_SUBMISSION)] * 2}
    (tmp_path / "data.json").write_text(json.dumps({**record, marked(OF_SUBMISSION): 1}))
    for format_ in formats_of("Validation"):
        ran = call("validate", "--schema", "s.json", "data.json", "--format", format_)
        assert ran.code == 1
        assert found(ran.out + ran.err, OF_SUBMISSION) == [], format_
        shown = call("validate", "--schema", "s.json", "data.json", "--format", format_, "--show-values")
        assert found(shown.out, OF_SUBMISSION), format_


def test_names_of_images(call: Call, tmp_path: Path) -> None:
    """The name of an image is a value of a record."""
    (tmp_path / "photos").mkdir()
    name = f"{marked(OF_SUBMISSION)}.png".replace(",", "")
    text = f"image_id,image_path,age,sex,anatomical_site\ni1,{name},50,female,torso\n"
    (tmp_path / "cases.csv").write_text(text, encoding="utf-8")
    (tmp_path / "photos" / name).write_text("not an image")
    for format_ in formats_of("Validation"):
        ran = call("validate", "lesions/cases=cases.csv", "--images", "photos", "--jobs", 1, "--format", format_)
        assert ran.code == 1
        assert found(ran.out + ran.err, OF_SUBMISSION) == [], format_


@pytest.mark.parametrize("command", ["preflight", "score", "leaderboard"])
def test_the_name_of_a_truth(command: str, case: Case, call: Call) -> None:
    """Participants do not see it, unless the file is so damaged that it is not known to be a truth."""
    for given in (case, *([] if case.truth.suffix == ".jsonl" else [bad_truth(case)])):
        truth = given.truth.rename(given.truth.with_name(f"{OF_TRUTH}{given.truth.suffix}"))
        for format_ in formats_of(COMMANDS[command]):
            arguments = (command, truth, given.submission, *given.options, "--format", format_)
            assert found(call(*arguments, "--participant").out, OF_TRUTH) == [], format_
        if command == "preflight":
            assert found(call(*arguments).out, OF_TRUTH)


# --- functions


def entrances(result: Any, show_values: bool = False) -> Iterator[tuple[str, str]]:
    """Every text that a result can become, by name."""
    yield "repr", repr(result)
    yield "str", f"{result} {result!s}"
    if isinstance(result, ResultItem):
        yield "to_dict", json.dumps(without_results(result.to_dict(show_values)), ensure_ascii=False)
    if not isinstance(result, Result):
        return
    yield "to_json", json.dumps(without_results(json.loads(result.to_json(show_values))), ensure_ascii=False)
    if type(result) is not Fix:
        yield "to_html", result.to_html(show_values)
        yield "to_markdown", result.to_markdown(show_values)
    frame = result.to_frame(show_values)
    yield "to_frame", frame.to_csv() + repr(frame) + str(frame._repr_html_())
    yield "notebook", result._repr_html_()
    name = type(result).__name__
    for format_ in formats_of(name):
        if format_ != "json":
            yield format_, render(result, format_, View(show_values=show_values))
    if name in QUIET:
        yield "quiet", render(result, "text", View(show_values=show_values, quiet=True))
    for each in result if hasattr(result, "__iter__") else ():
        yield "item", f"{each!r} {each}"


def results(case: Case, **options: Any) -> Iterator[tuple[str, Any]]:
    """The result of every function that reads records."""
    api, truth, folder = case.api, case.truth, case.submission
    (sent,) = folder.iterdir()
    if not options:
        report = api.validate(sent, case.contracts[1])
        yield "validate", report
        yield "validation of one", Validation.of((report,))
        yield "validate_files", api.validate_files([truth, folder])
        yield "bytes", api.validate(sent.read_bytes(), case.contracts[1], name=sent.name)
        yield "fix", api.fix(sent, case.contracts[1])
    yield "preflight", api.preflight(truth, folder, **options)
    score = api.score(truth, folder, **options)
    yield "score", score
    yield "leaderboard", api.leaderboard(truth, folder, **options)
    yield "compare", api.compare(score, score)


@pytest.mark.sampled(2)
def test_functions(case: Case) -> None:
    """`repr`, `str`, dicts, JSON, frames, pages and notebooks of all results; and for participants."""
    for options, markers in (({}, ALL), ({"participant": True}, ALL)):
        for name, result in results(case, **options):
            for entrance, text in entrances(result):
                assert found(text, *markers) == [], (name, entrance)
    for name, result in results(case, participant=True):
        for entrance, text in entrances(result, show_values=True):
            assert found(text, OF_TRUTH) == [], (name, entrance)


def test_progress_and_notices(case: Case) -> None:
    """What callbacks receive: steps and file names."""
    seen: list[str] = []
    options: dict[str, Any] = {"progress": lambda *step: seen.append(str(step)), "notice": seen.append}
    case.api.validate_files([case.truth, case.submission], **options)
    case.api.score(case.truth, case.submission, **options)
    case.api.leaderboard(case.truth, case.submission, **options)
    assert found(" ".join(seen), *ALL) == []


@pytest.mark.parametrize(
    ("contract", "key", "label"), [("reports/truth", "report_id", "urgency"), ("lesions/truth", "image_id", "label")]
)
def test_frames(contract: str, key: str, label: str) -> None:
    """The same data in memory: DataFrames of flat records."""
    pandas = pytest.importorskip("pandas")
    text = marked(OF_TRUTH)
    report = medcontract.validate(pandas.DataFrame({key: [text, text], label: [text, None], text: [1, 2]}), contract)
    assert report.errors > 1
    for entrance, shown in entrances(report):
        assert found(shown, OF_TRUTH) == [], entrance
    assert found(report.to_json(show_values=True), OF_TRUTH)


# --- exceptions


def _raised(function: Callable[[], object]) -> BaseException:
    with pytest.raises((medcontract.MedcontractError, AssertionError)) as caught:
        function()
    return caught.value


def _all_of(error: BaseException) -> str:
    """The message, the `repr`, and the traceback with all causes."""
    return f"{error} {error!r} {''.join(traceback.format_exception(error))}"


def test_exceptions(case: Case) -> None:
    (sent,) = case.submission.iterdir()
    bad = bad_truth(case)
    raising: list[Callable[[], object]] = [
        lambda: medcontract.load(sent, case.contracts[1]),
        lambda: medcontract.load(bad.truth, case.contracts[0]),
        lambda: medcontract.leaderboard(bad.truth, bad.submission),
        lambda: medcontract.template(case.contracts[1], sent),
        lambda: medcontract.compare(sent, case.truth),
        lambda: medcontract.check_protocol(sent),
        lambda: assert_valid(sent, case.contracts[1]),
    ]
    with nullcontext() if case.api is medcontract else case.api:
        for function in raising:
            assert found(_all_of(_raised(function)), *ALL) == []


@pytest.mark.parametrize("metric", [ClinicalAccuracyMetric, ReasoningQualityMetric])
@pytest.mark.parametrize(
    "answer", [{"answer": [1]}, {"answer": marked(OF_TRUTH), marked(OF_TRUTH): 1}, {"diagnosis": 1}]
)
def test_exceptions_of_metrics(metric: type[ClinicalAccuracyMetric], answer: dict[str, Any]) -> None:
    error = _raised(lambda: metric().calculate({**answer, "entities": marked(OF_TRUTH)}, marked(OF_SUBMISSION)))
    assert found(_all_of(error), *ALL) == []


def test_a_report_of_a_model() -> None:
    broken = {"model_id": "m", "overall_scores": {marked(OF_TRUTH): marked(OF_TRUTH)}, "task_scores": {}}
    assert found(_all_of(_raised(lambda: BenchmarkReport(broken))), OF_TRUTH) == []


# --- the tests above can fail


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", ["validate", "preflight", "score"])
def test_markers_come_out_on_request(command: str, case: Case, call: Call) -> None:
    """With `--show-values` every format shows markers of the submission, and of a truth that is not valid."""
    bad = bad_truth(case)
    for format_ in formats_of(COMMANDS[command]):
        ran = call(command, case.truth, case.submission, *case.options, "--format", format_, "--show-values")
        assert found(ran.out, OF_SUBMISSION), format_
    if not bad.truth.name.endswith(".jsonl"):  # that one is too damaged to be recognized
        ran = call(command, bad.truth, bad.submission, *bad.options, "--format", "json", "--show-values")
        assert found(json.dumps(without_results(ran.json), ensure_ascii=False), OF_TRUTH)


def test_markers_come_out_of_functions_on_request(case: Case) -> None:
    for name, result in results(case):
        shown = dict(entrances(result, show_values=True))
        if name in {"validate", "validation of one", "validate_files", "bytes", "preflight", "score"}:
            for entrance in ("to_json", "to_html", "to_markdown"):
                assert found(shown[entrance], OF_SUBMISSION), (name, entrance)
        assert not found(shown["repr"] + shown["notebook"], *ALL)


def test_the_files_contain_markers(case: Case) -> None:
    """Labels of a valid truth are markers wherever its contract allows any text; a truth that is not valid has more."""
    (sent,) = case.submission.iterdir()
    assert sent.read_text(encoding="utf-8").count(OF_SUBMISSION) > 5
    assert bad_truth(case).truth.read_text(encoding="utf-8").count(OF_TRUTH) > 5
    fixed = ("reports/truth", "lesions/truth")
    assert case.contracts[0] in fixed or OF_TRUTH in case.truth.read_text(encoding="utf-8")
