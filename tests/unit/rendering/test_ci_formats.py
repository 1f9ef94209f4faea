"""Formats for CI systems and spreadsheets: github, gitlab, sarif, junit and csv."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from junitparser import Failure, JUnitXml, Skipped
from tests.commands import Call
from tests.support import ROOT

import medcontract
from medcontract.results.base import Result
from medcontract.results.validation import Validation

BAD = ROOT / "examples" / "bad" / "predictions.json"
EXAMPLES = Path(medcontract.__file__).parent / "examples"
SARIF_SCHEMA = ROOT / "tests/node/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A file whose name and content would break formats that do not escape."""
    file = tmp_path / "a, b%::warning file=x::y<&>é.csv"
    file.write_text('image_id,label\n"=cmd()",NV\n"x]]>","<script>"\n', encoding="utf-8")
    return file


def _results(file: Path) -> list[Result]:
    truth = str(EXAMPLES / "lesions" / "truth.csv")
    return [
        medcontract.validate_files([str(BAD), str(file), "missing.json", truth]),
        medcontract.preflight(str(EXAMPLES / "lesions")),
        medcontract.preflight(str(BAD), str(EXAMPLES / "reports" / "truth.json")),
    ]


def _render(result: Result, format_name: str) -> str:
    from medcontract.rendering import render

    return render(result, format_name)


# --- github


def test_github_commands(call: Call) -> None:
    ran = call("validate", BAD, "--format", "github")
    first, *_, last = ran.out.splitlines()
    assert ran.code == 1
    assert first == (
        f"::error file={BAD},line=16,col=18,title=MC104 Unknown value::'urgency' must be one of Emergency, Urgent, "
        "Routine (hint: did you mean 'Urgent'?)"
    )
    assert last == "::error title=medcontract::5 errors, 0 warnings in 1 file"


def test_github_names_cannot_add_commands(hostile: Path) -> None:
    """Every line is one command, and its file is the whole name."""
    for result in _results(hostile):
        for line in _render(result, "github").splitlines():
            assert re.fullmatch(r"::(error|warning|notice)( [a-z]+=[^,:]*(,[a-z]+=[^,:]*)*)?::.*", line), line
    named = [line for line in _render(_results(hostile)[0], "github").splitlines() if "%25" in line]
    assert named
    assert "a%2C b%25%3A%3Awarning file=x%3A%3Ay<&>é.csv" in named[0]


# --- gitlab


def test_gitlab_issues_are_unique_and_complete(hostile: Path) -> None:
    for result in _results(hostile):
        issues = json.loads(_render(result, "gitlab"))
        for issue in issues:
            assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
            assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
            assert issue["location"]["lines"]["begin"] >= 1
        prints = [issue["fingerprint"] for issue in issues]
        assert len(prints) == len(set(prints))


def test_gitlab_fingerprints_survive_moved_lines(tmp_path: Path) -> None:
    """A blank line before the data changes the line, but not the identity of a problem."""
    file = tmp_path / "p.json"
    file.write_text(BAD.read_text())
    before = json.loads(_render(medcontract.validate_files([file]), "gitlab"))
    file.write_text("\n\n" + BAD.read_text())
    after = json.loads(_render(medcontract.validate_files([file]), "gitlab"))
    assert before[0]["location"]["lines"]["begin"] + 2 == after[0]["location"]["lines"]["begin"]
    same = [issue["fingerprint"] for issue in after]
    assert [issue["fingerprint"] for issue in before] == same


# --- sarif


def test_sarif_opens_at_line_and_column(call: Call) -> None:
    run = call("validate", BAD, "--format", "sarif").json["runs"][0]
    first = run["results"][0]
    assert run["columnKind"] == "unicodeCodePoints"
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 16, "startColumn": 18}
    rule = run["tool"]["driver"]["rules"][first["ruleIndex"]]
    assert rule["id"] == first["ruleId"] == "MC104"
    assert "Right:" in rule["help"]["text"]


def test_sarif_locations_are_uris(hostile: Path) -> None:
    run = json.loads(_render(medcontract.validate_files([hostile]), "sarif"))["runs"][0]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("a,%20b%25%3A%3Awarning%20file=x%3A%3Ay%3C&%3E%C3%A9.csv")


def test_sarif_counts_what_is_not_listed(call: Call) -> None:
    run = call("validate", BAD, "--format", "sarif", "--max-problems", 2).json["runs"][0]
    assert len(run["results"]) == 2
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"] == "4 more problems not listed"


def test_sarif_follows_its_schema(hostile: Path) -> None:
    """The official schema, from an npm package that contains it."""
    if not SARIF_SCHEMA.exists():
        pytest.skip("the npm package @microsoft/jest-sarif is not installed (.ci/run installs it)")
    schema = json.loads(SARIF_SCHEMA.read_text(encoding="utf-8-sig"))
    validator = Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)
    for result in _results(hostile):
        document = json.loads(_render(result, "sarif"))
        assert [error.message for error in validator.iter_errors(document)] == []
    document["runs"][0]["columnKind"] = "letters"
    assert list(validator.iter_errors(document)), "the schema must reject something"


# --- junit


def _suites(result: Result) -> list[Any]:
    (suite,) = JUnitXml.fromstring(_render(result, "junit").encode())
    return list(suite)


def test_junit_has_a_test_per_file(hostile: Path) -> None:
    """A real consumer reads names, failures and counts."""
    bad, odd, missing, good = _suites(_results(hostile)[0])
    assert bad.classname == "reports/predictions"
    (failure,) = bad.result
    assert isinstance(failure, Failure)
    assert failure.message == "6 errors, 0 warnings"
    assert failure.text.count("error MC") == 6
    assert odd.name == str(hostile)
    assert not odd.is_passed
    assert not missing.is_passed
    assert good.is_passed


def test_junit_has_a_test_per_check() -> None:
    checks = _suites(medcontract.preflight(str(EXAMPLES / "lesions")))
    assert sum(isinstance(result, Skipped) for check in checks for result in check.result) == 1
    assert all(check.is_passed or check.is_skipped for check in checks)
    refused = _suites(medcontract.preflight(str(BAD), str(EXAMPLES / "reports" / "truth.json")))
    assert any(isinstance(result, Failure) for check in refused for result in check.result)


def test_junit_counts_are_those_of_its_tests(hostile: Path) -> None:
    for result in _results(hostile):
        text = _render(result, "junit")
        (suite,) = JUnitXml.fromstring(text.encode())
        stated = (suite.tests, suite.failures, suite.skipped)
        suite.update_statistics()  # type: ignore[no-untyped-call]
        assert stated == (suite.tests, suite.failures, suite.skipped)


# --- csv


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_csv_of_a_validation(call: Call) -> None:
    ran = call("validate", BAD, "--format", "csv")
    rows = _rows(ran.out)
    assert [row["code"] for row in rows] == ["MC104", "MC101", "MC102", "MC103", "MC103", "MC201"]
    assert (rows[0]["line"], rows[0]["column"], rows[0]["field"]) == ("16", "18", "")


def test_csv_of_a_leaderboard_and_a_comparison(call: Call) -> None:
    files = EXAMPLES / "lesions"
    (row,) = _rows(call("leaderboard", files, files, "--format", "csv").out)
    assert (row["rank"], row["valid"]) == ("1", "true")
    assert float(row["headline"]) == pytest.approx(0.867, abs=1e-3)
    score = call("score", files, "--format", "json", "--out", "a.json")
    assert score.code == 0
    rows = _rows(call("compare", "a.json", "a.json", "--format", "csv").out)
    assert {row["delta"] for row in rows if row["kind"] == "submission"} <= {"0.0", "0", ""}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝"])
def test_csv_cells_are_not_formulas(start: str, tmp_path: Path) -> None:
    """A file called =HYPERLINK(...) is a text in a spreadsheet; numbers stay numbers."""
    name = f"{start}HYPERLINK(1)"
    report = medcontract.validate(b'{"x": 1}', "lesions/model", name=f"{name}.json")
    rows = _rows(_render(Validation.of((report,)), "csv"))
    assert rows[0]["file"] == f"'{name}.json"
    assert rows[0]["line"] == "1"


@pytest.mark.parametrize(("text", "expected"), [
    (" =1+1", " '=1+1"),
    ("a;=1+1", "a;'=1+1"),
    ("a; @x;b", "a; '@x;b"),
    ("-", "'-"),
    ("\t=1", "·=1"),
    ("a\r=1", "a·=1"),
])  # fmt: skip
def test_csv_formulas_after_spaces_and_semicolons(text: str, expected: str) -> None:
    report = medcontract.validate(b'{"x": 1}', "lesions/model", name=text)
    assert _rows(_render(Validation.of((report,)), "csv"))[0]["file"] == expected


def test_csv_of_a_ranking_defuses_the_names_of_teams(call: Call, tmp_path: Path) -> None:
    truth, answers = tmp_path / "truth.csv", tmp_path / "out.json"
    truth.write_text("image_id,label\ni1,NV\n")
    records = [{"image_id": "i1", "probabilities": [0] * 6 + [1] + [0] * 3}]
    answers.write_text(json.dumps({"team_name": "=cmd|' /C calc'!A0", "predictions": records}))
    (row,) = _rows(call("leaderboard", truth, answers, "--format", "csv").out)
    assert row["team_name"] == "'=cmd|' /C calc'!A0"
    assert float(row["headline"]) > 0


# --- paths of preflight, and problems that read the same


@pytest.fixture
def unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A submission in a folder, with an invalid record and two missing ones."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "team" / "one"
    folder.mkdir(parents=True)
    (tmp_path / "truth.csv").write_text("image_id,label\ni1,NV\ni2,NV\ni3,NV\n")
    records = [{"image_id": "i1", "probabilities": [0.5] * 10}]
    (folder / "out.json").write_text(json.dumps({"team_name": "T", "predictions": records}))
    return ["truth.csv", "team/one"]


def test_preflight_refers_to_files_as_given(call: Call, unready: list[str]) -> None:
    """Other formats show base names: a result does not depend on folders."""
    path = "team/one/out.json"
    github = call("preflight", *unready, "--format", "github").out
    assert f"::error file={path},line=1," in github
    assert "file=out.json" not in github
    issues = call("preflight", *unready, "--format", "gitlab").json
    assert {issue["location"]["path"] for issue in issues} == {path, "."}  # checks without a file
    results = call("preflight", *unready, "--format", "sarif").json["runs"][0]["results"]
    places = [place["physicalLocation"] for each in results for place in each.get("locations", ())]
    assert {place["artifactLocation"]["uri"] for place in places} == {path}
    assert f"{path}:1:" in call("preflight", *unready, "--format", "junit").out
    for name in ("json", "text", "csv"):
        assert path not in call("preflight", *unready, "--format", name).out


def test_problems_that_read_the_same_are_one_annotation(call: Call, unready: list[str]) -> None:
    github = call("preflight", *unready, "--format", "github").out
    assert github.count("an expected image has no record") == 1
    assert "if it could not be processed); and 1 more problem like this" in github
    run = call("preflight", *unready, "--format", "sarif").json["runs"][0]
    (missing,) = [each for each in run["results"] if each["ruleId"] == "MC302"]
    assert missing["occurrenceCount"] == 2
    (issue,) = [
        each for each in call("preflight", *unready, "--format", "gitlab").json if each["check_name"] == "MC302"
    ]
    assert issue["description"].endswith("(2 times)")
