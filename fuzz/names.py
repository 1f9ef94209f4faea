"""Hostile names of files, teams, metrics and challenges, through every command and format."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from tests.challenge_files import SMALL
from tests.html_pages import Parsed

import medcontract
from fuzz.calling import Trial, call
from fuzz.scoring import TRACKS, Part, sent_of, truth_of
from medcontract.rendering import formats_of, render
from medcontract.rendering.page import View
from medcontract.results.base import Result

_PARTS = (
    "::error title=x::y", "::", ":", "##[error]z", "##", "[", "\n", "\r", "\r\n", "\t", "=cmd|' /C calc'!A0", "+1",
    "-1", "@x", ";=1", " ", "\x1b[31m", "\x9b2J", "\x07", "\x7f", "\x85", "\u2028", "\u202e", "<img src=x>",
    "<script>alert(1)</script>", "' onclick='x", '" onclick="x', "&lt;", "|", "`", "*", "]]>", "%0A::error::", ",", '"',
    "\\", "é", "x", "--out", "\ud800", "{{7*7}}",
)  # fmt: skip
_IN_A_FILE = ("team_name", "model_id", "id_team")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_GITHUB = re.compile(r"::(error|warning|notice)( [a-z]+=[^,:]*(,[a-z]+=[^,:]*)*)?::.*")
_FORMULA = re.compile(r"\s*[=+\-@\t\r]")


def a_name(source: random.Random) -> str:
    return "".join(source.choices(_PARTS, k=source.choice((1, 1, 2, 2, 3, 5))))


def _file_name(source: random.Random) -> str:
    """A name that a file can have; a lone surrogate is a byte that is not UTF-8."""
    return a_name(source).replace("/", "_").replace("\ud800", "\udcff") + source.choice(("", "n"))


def _named(part: Part, metric: str, source: random.Random) -> bytes:
    """The part with hostile names in its header; of `benchmark`, also with a metric of that name."""
    whole = json.loads(part.data())
    for key in _IN_A_FILE:
        if key in whole:
            whole[key] = a_name(source)
    if part.contract == "benchmark/weights":
        whole["metric_name"] = a_name(source)
        whole["weights"][metric] = 1
    if part.contract == "benchmark/predictions":
        for record in whole["predictions"]:
            record["scores"] = {metric: 0.5}
    return json.dumps(whole).encode()


def _of_challenge(truth: str, sent: list[str], source: random.Random) -> dict[str, bytes]:
    """A challenge whose title, classes and metric have hostile names, and files for it."""
    one, other, metric = (_displayable(source) for _ in range(3))
    text = SMALL.replace('e = "accuracy"', f"e = {_quoted(metric)}")  # name and headline, not the kind
    text = text.replace('"yes"', _quoted(one)).replace('"no"', _quoted(f"{other}o"))
    text = f"title = {_quoted(_displayable(source))}\n{text}"
    records = [{"case_id": f"{n}", "label": one if n % 2 else f"{other}o"} for n in range(4)]
    files = {"challenge.toml": text.encode()}
    files[f"{truth}/{_file_name(source)}.json"] = json.dumps({"truth": records}).encode()
    for number, folder in enumerate(sent):
        files[f"{folder}/{_file_name(source)}.json"] = json.dumps({"predictions": records[number:]}).encode()
    return files


def _displayable(source: random.Random) -> str:
    """A name that a challenge file may contain, mostly."""
    name = a_name(source)
    return name if source.random() < 0.1 else "".join(c for c in name if c.isprintable()).strip() or "x"


def _quoted(name: str) -> str:
    return json.dumps(name).replace("\x7f", "\\u007f")


def names(source: random.Random) -> Trial:
    """No name is a command, a row, a formula or a tag in any format, and none ends a command."""
    track = source.choice((*TRACKS, "risk"))
    truth, sent = f"{_file_name(source)}t", [f"{_file_name(source)}s{number}" for number in range(2)]
    files = _of_challenge(truth, sent, source) if track == "risk" else {}
    metric = a_name(source)
    if not files:
        for folder, parts in ((truth, truth_of(track)), *((name, sent_of(track)) for name in sent)):
            for part in parts:
                name = f"{_file_name(source)}{part.contract.partition('/')[2]}.json"
                files[f"{folder}/{name}"] = _named(part, metric, source)
    if source.random() < 0.5:
        damaged = source.choice(list(files))
        files[damaged] = files[damaged].replace(b"0", b"x", 3)
    schema, field = f"{_file_name(source)}.json", a_name(source)
    files[f"old/{schema}"] = json.dumps({"type": "object", "properties": {field: {"enum": [a_name(source)]}}}).encode()
    files[f"new/{schema}"] = b'{"type": "object"}'
    show = source.random() < 0.3

    def run() -> str | None:
        try:
            of: Any = medcontract.Challenge.load("challenge.toml") if track == "risk" else medcontract
        except medcontract.InvalidData:
            return _wrong_commands(truth, sent, schema, True)
        scored: list[Result] = []
        makers: list[Callable[[], Result]] = [
            lambda: of.validate_files([truth, *sent]), lambda: of.score(truth, sent[0]),
            lambda: of.compare(scored[-1], scored[-1]), lambda: of.preflight(truth, sent[0]),
            lambda: of.leaderboard(truth, *sent),
        ]  # fmt: skip
        for make in makers:
            try:
                scored.append(make())
            except medcontract.MedcontractError:
                continue
            wrong = _wrong_rendering(scored[-1], show)
            if wrong:
                return wrong
        return _wrong_commands(truth, sent, schema, track == "risk")

    return Trial(run, files, passes=2)


def _wrong_rendering(result: Result, show: bool) -> str | None:
    for name in formats_of(type(result).__name__):
        text = render(result, name, View(show_values=show))
        wrong = _wrong_text(text, name) or (_CHECKS[name](text, result) if name in _CHECKS else None)
        if wrong:
            return f"{type(result).__name__} as {name}: {wrong}"
    return None


def _wrong_text(text: str, name: str) -> str | None:
    """What a terminal or a log would act on."""
    found = _CONTROL.search(text)
    if found:
        return f"a control character: {text[max(0, found.start() - 60) : found.end() + 60]!r}"
    for line in text.split("\n"):
        if name == "github":
            if line and not _GITHUB.fullmatch(line):
                return f"not a command: {line!r}"
        elif line.lstrip().startswith("::") or "##[" in line:
            return f"a command: {line!r}"
    return None


def _wrong_table(text: str, result: Result) -> str | None:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if len(rows) != len(result.to_frame()) + 1 or len(rows) != text.count("\n"):
        return f"{len(rows)} rows"
    return next(
        (f"a formula: {cell!r}" for row in rows for cell in row if _FORMULA.match(cell) and not _number(cell)), None
    )


def _number(cell: str) -> bool:
    return re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", cell) is not None


def _wrong_page(text: str, result: Result) -> str | None:
    for tag, attributes in Parsed(text).tags:
        if tag in ("script", "img") or any(name.startswith("on") for name in attributes):
            return f"a tag: {tag} {attributes}"
    return None


def _parsed(parse: Callable[[str], object]) -> Callable[[str, Result], None]:
    return lambda text, result: (parse(text), None)[1]


_CHECKS: dict[str, Callable[[str, Result], str | None]] = {
    "csv": _wrong_table, "html": _wrong_page, "junit": _parsed(ET.fromstring),
    "json": _parsed(json.loads), "sarif": _parsed(json.loads), "gitlab": _parsed(json.loads),
}  # fmt: skip


def _wrong_commands(truth: str, sent: list[str], schema: str, with_challenge: bool) -> str | None:
    """The same for what commands print besides results: notices, messages and references."""
    options = ["--challenge", "challenge.toml"] if with_challenge else []
    calls = [
        ["score", *options, "--", truth, sent[0]],
        ["leaderboard", *options, "-q", "--", truth, *sent],
        ["validate", *options, "--", *sent, f"{sent[0]}n"],
        ["schema", "diff", "old", "new"],
        ["schema", "check", "old"],
        ["validate", "--schema", "no-schema.json", "old", "new"],
        ["validate", "--schema", f"old/{schema}", "--", "new", *sent],
        ["fix", *options, "--", truth],
        ["protocol", "show", "risk", *options],
        ["protocol", "list", *options],
        ["schema", "list", *options],
        ["schema", "show", "risk/truth", "--format", "markdown", *options],
        ["challenge", "check", "challenge.toml"],
        ["init", "risk", "made", *options],
        ["template", "risk/predictions", "--cases", truth, *options],
    ]
    for arguments in calls:
        ran = call(arguments)
        if ran.code not in (0, 1, 2) or "internal error" in ran.out + ran.err:
            return f"{arguments}: exit code {ran.code}: {ran.err[-500:]}"
        is_data = arguments[0] == "template"
        wrong = (None if is_data else _wrong_text(ran.out, "text")) or _wrong_text(ran.err, "text")
        if wrong:
            return f"{arguments}: {wrong}"
    return None
