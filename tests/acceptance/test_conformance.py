"""The conformance suite, run against medcontract and against commands that answer differently."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from script.generate import conformance_version
from script.suite import check_archive, write_archive
from tests.commands import Call
from tests.support import CONFORMANCE, SCHEMAS, cases

from medcontract.conformance import LEVELS

SERVE = [sys.executable, "-P", "-m", "medcontract", "conformance", "serve"]


def _command(folder: Path, body: str) -> list[str]:
    """A command that runs `body` for each request, as `asked`."""
    script = folder / "command.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    script.write_text(f"import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n{lines}")
    return [sys.executable, str(script)]


def test_medcontract_agrees_with_itself(call: Call) -> None:
    """Through the protocol: the levels that are quick."""
    levels = ("tables", "files", "normalize", "score")
    ran = call("conformance", "run", *(f"--level={level}" for level in levels), "--", *SERVE)
    assert ran.code == 0, ran.out
    expected = [f"{level:<10}{len(cases(level))} of {len(cases(level))} agree" for level in levels]
    assert ran.out.splitlines() == expected


@pytest.mark.slow
def test_medcontract_agrees_on_all_cases(call: Call) -> None:
    ran = call("conformance", "run", "--", *SERVE)
    assert ran.code == 0, ran.out
    assert len(ran.out.splitlines()) == 7


def test_differences_are_printed(call: Call, tmp_path: Path) -> None:
    """A command that accepts everything: right for valid files, and all differences count."""
    command = _command(tmp_path, "print(json.dumps({'id': asked['id'], 'ok': True, 'problems': []}))")
    ran = call("conformance", "run", "--level", "tables", "--", *command)
    valid = sum(case["expect"] == {"ok": True, "problems": []} for case in cases("tables"))
    assert ran.code == 1
    assert ran.out.startswith(f"tables    {valid} of {len(cases('tables'))} agree\n")
    assert ran.out.count("answered [true, []]") == 10
    assert f"… and {len(cases('tables')) - valid - 10} more differences." in ran.out


def test_verdicts_alone_and_all_differences(call: Call, tmp_path: Path) -> None:
    """A command that refuses everything without a place is right about each invalid file."""
    command = _command(tmp_path, "print(json.dumps({'id': asked['id'], 'ok': False}))")
    accepted = sum(case["expect"]["ok"] for case in cases("tables"))
    count = len(cases("tables"))
    assert 10 < accepted < count
    summary = f"tables    {count - accepted} of {count} agree\n"
    run = ("conformance", "run", "--level", "tables", "--verdicts")
    ran = call(*run, "--max-differences", 0, "--", *command)
    assert (ran.code, ran.out) == (1, summary)
    ran = call(*run, "--max-differences", count, "--", *command)
    assert ran.out.count("  expected true\n  answered false\n") == accepted
    assert "more differences" not in ran.out


def test_problems_of_the_schema_are_marked_in_cases_of_syntax() -> None:
    for case in cases("syntax"):
        codes = {problem["code"] for problem in case["expect"]["problems"]}
        assert case["about"] or not codes, case["id"]
        if any(code.startswith("MC1") for code in codes):
            assert any(sentence.startswith("S") for sentence in case["about"]), case["id"]


def test_skipped_cases_are_no_differences(call: Call, tmp_path: Path) -> None:
    command = _command(tmp_path, "print(json.dumps({'id': asked['id'], 'skipped': 'no tables'}))")
    ran = call("conformance", "run", "--level", "tables", "--", *command)
    count = len(cases("tables"))
    assert (ran.code, ran.out) == (0, f"tables    0 of {count} agree, {count} skipped\n")


def test_a_command_that_stops_has_no_answers(call: Call, tmp_path: Path) -> None:
    ran = call("conformance", "run", "--level", "files", "--", *_command(tmp_path, "sys.exit()"))
    assert ran.code == 1
    assert "answered no answer" in ran.out


@pytest.mark.parametrize("answer", ["print('hello')", "print('[1]')", "print('{}')"])
def test_lines_that_are_no_answers(call: Call, tmp_path: Path, answer: str) -> None:
    ran = call("conformance", "run", "--level", "files", "--", *_command(tmp_path, answer))
    assert ran.code == 2
    assert "wrote a line that is not an answer" in ran.err


def test_requests_that_are_none() -> None:
    done = subprocess.run(SERVE, input=b"{}\n", capture_output=True, check=False)
    assert done.returncode == 2
    assert b"not a request" in done.stderr


def test_every_sentence_has_a_case() -> None:
    """Each id of a sentence, such as [T7], is there once, and in `about` of a case, and there are no others."""
    text = (SCHEMAS / "README.md").read_text(encoding="utf-8")
    defined = re.findall(r"(?:^\| |^- |^[0-9]\. |\. )\[([A-Z][0-9]+)\]", text, re.MULTILINE)
    assert len(defined) == len(set(defined)) > 80
    used = {sentence for level in LEVELS for case in cases(level) for sentence in case["about"]}
    assert sorted(set(defined) - used) == [], "these sentences have no case"
    assert sorted(used - set(defined)) == [], "there are no such sentences"


def test_version() -> None:
    """Counts and hashes match the manifests and files: script/generate writes them."""
    assert json.loads((CONFORMANCE / "version.json").read_bytes()) == conformance_version()


def test_cases_have_different_ids() -> None:
    ids = [case["id"] for level in LEVELS for case in cases(level)]
    assert len(ids) == len(set(ids)) > 1000


def test_the_archive_of_a_release(tmp_path: Path) -> None:
    """It has the suite with its hashes, and the same content has the same bytes."""
    archive = write_archive(tmp_path)
    assert check_archive(archive, tmp_path / "unpacked") is None
    digest, name = archive.with_name(f"{archive.name}.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(archive.read_bytes()).hexdigest(), archive.name)
    (tmp_path / "again").mkdir()
    assert write_archive(tmp_path / "again").read_bytes() == archive.read_bytes()


def _keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _keywords(each)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            if key in ("properties", "$defs"):
                yield from _keywords(list(value.values()))
            elif key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "not"):
                yield from _keywords(value)


def test_keywords_of_the_schemas() -> None:
    """The specification lists all keywords that another implementation meets."""
    text = (SCHEMAS / "README.md").read_text(encoding="utf-8")
    sentence = text[text.index("Besides annotations") : text.index("which has a description beside it")]
    paths = [SCHEMAS / each["path"] for each in json.loads((SCHEMAS / "index.json").read_bytes())["schemas"]]
    written = [path for path in paths if "medcontract/" not in path.relative_to(SCHEMAS).as_posix()]
    used = {keyword for path in written for keyword in _keywords(json.loads(path.read_bytes()))}
    annotations = {"$schema", "$id", "$defs", "title", "description", "default", "examples", "x-medcontract-rules"}
    assert used - annotations == set(re.findall("`([^`]+)`", sentence))


def test_long_lists_of_problems_are_shown_without_what_agrees(call: Call, tmp_path: Path) -> None:
    """A command that drops the first problem: the difference shows that problem alone."""
    case = next(each for each in cases("schema") if len(each["expect"]["problems"]) > 8)
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "schema.jsonl").write_text(json.dumps({**case, "input": str(CONFORMANCE / case["input"])}) + "\n")
    (suite / "version.json").write_text('{"withdrawn": []}')
    first, *others = case["expect"]["problems"]
    command = _command(tmp_path, f"print(json.dumps({{'id': asked['id'], 'ok': False, 'problems': {others!r}}}))")
    ran = call("conformance", "run", "--suite", suite, "--level", "schema", "--", *command)
    assert f'expected [false, [["{first["code"]}", ' in ran.out
    assert ran.out.count('"MC') == 1
    assert "answered [false, []]" in ran.out
