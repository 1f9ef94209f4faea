"""No hint names an option that the command lacks, or a command that does not work.

Every command runs on many bad inputs. Each option, command and `CONTRACT=PATH` in its output is tried on the command
that printed it.
"""

from __future__ import annotations

import gzip
import inspect
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from tests.commands import Call, Ran
from tests.support import ROOT

import medcontract
from medcontract.cli.group import group
from medcontract.cli.main import COMMANDS
from medcontract.reading.limits import Limits

EXAMPLES = ROOT / "src" / "medcontract" / "examples"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_COMMAND = re.compile(rf"\bmedcontract (?:{'|'.join(COMMANDS)})\b[^;:,'\"()\n]*")
_CONTRACT = re.compile(r"\b([a-z0-9-]+/[a-z0-9-]+)=(?:PATH|FILE)\b")

LONG = "x" * 3000
BAD: dict[str, bytes] = {
    "unknown.json": b'{"colour": "green"}',
    "unknown.csv": b"epoch,loss\n1,0.5\n",
    "ambiguous.json": b'{"documents": []}',
    "ambiguous.jsonl": b'{"doc_id": "1", "doc_type": "lab"}\n',
    "near.csv": b"Image_Id,AK,BCC\nI-1,1,0\n",
    "near.json": b'{"team": "x", "event": "y", "responses_": [{"segment": 1}]}',
    "title-case.csv": b"Report_Id,Specialty,Urgency,Follow_Up\nR-1,Oncology,Urgent,true\n",
    "empty.json": b"",
    "broken.json": b'{"predictions": [{"image_id": "I-1",',
    "latin.csv": "image_id,label\nÑ,NV\n".encode("latin-1"),
    "utf-16.csv": "image_id,label\nI-1,NV\n".encode("utf-16"),
    "table.xlsx": b"PK\x03\x04 not a table",
    "wrong-container.csv": b"team_name,evaluation_date,runs\nx,2026-01-01,1\n",
    "large-record.jsonl": b'{"image_id": "%s", "label": "NV"}\n' % LONG.encode(),
    "large-record.json": b'{"labels": [{"image_id": "%s", "label": "NV"}]}' % LONG.encode(),
    "large-cell.csv": b'image_id,label\n"%s,NV\n' % LONG.encode(),
    "bomb.json.gz": gzip.compress(b'{"labels": [' + b'{"image_id": "1", "label": "NV"},\n' * 3000 + b"]}"),
    "bomb.jsonl.gz": gzip.compress(b'{"image_id": "1", "label": "NV"}\n' * 3000),
    "no-header.jsonl": b'{"task_id": "t", "sample_id": "1", "prediction": {"answer": "x"}}\n',
    "lines.jsonl": b"",  # the triage responses, without their header
    "score.json": b'{"track": "lesions"}',
    "protocol.json": b'{"id": "lesions", "version": 1}',
    "lexicon.json": b'{"terms": 5}',
    "report.json": b'{"model_id": "m", "overall_scores": {"x": 1}, "task_scores": {"t": {"x": 1}}}',
    "schema.json": b'{"$ref": "other/folder.json"}',
    "many.jsonl": b"".join(b'{"image_id": "1", "label": "NV", "x%d": 1}\n' % n for n in range(60)),
}
TRUTHS = {
    "lesions": "truth.csv", "reports": "truth.json", "triage": "ground-truth.json", "benchmark": "references.json",
}  # fmt: skip
CALLS: tuple[tuple[str, ...], ...] = (
    ("validate", "{bad}"),
    ("validate", "folder"),
    ("validate", "-"),
    ("validate", "--contract", "reports/telemetri", "{bad}"),
    ("validate", "--schema", "{bad}", "lesions/truth.csv"),
    ("validate", "--allow-refs", ".", "{bad}"),
    ("validate", "--jobs", "2", "{bad}"),
    ("validate", "--images", ".", "{bad}"),
    ("preflight", "{bad}"),
    ("preflight", "{bad}", "{truth}"),
    ("preflight", "folder"),
    ("preflight", "folder", "{truth}", "--participant"),
    ("score", "{bad}"),
    ("score", "{truth}", "{bad}"),
    ("score", "{truth}", "folder"),
    ("score", "{truth}", "{bad}", "--breakdown"),
    ("score", "{bad}", "--weights", "x=1", "--metric-name", "x"),
    ("score", "lesions", "--protocol", "{bad}"),
    ("score", "benchmark", "--lexicon", "{bad}"),
    ("score", "benchmark", "--weights", "nothing=1"),
    ("score", "lesions", "--weights", "a=1"),
    ("score", "lesions", "--match", "fuzzy"),
    ("score", "lesions", "--parameter", "min_procesed=1"),
    ("score", "lesions", "--set", "team=x"),
    ("score", "lesions", "--set", "team_name= "),
    ("score", "lesions", "-"),
    ("leaderboard", "{truth}", "{bad}"),
    ("leaderboard", "{truth}", "folder", "--participant"),
    ("leaderboard", "{bad}", "folder"),
    ("leaderboard", "lesions/truth.csv", "lesions", "--measured", "{bad}"),
    ("leaderboard", "lesions/truth.csv", "lesions"),
    ("leaderboard", "benchmark/references.json", "benchmark"),
    ("compare", "{bad}", "{bad}"),
    ("compare", "lesions/truth.csv", "{bad}"),
    ("protocol", "freeze", "lesions", "--truth", "{bad}", "--out", "frozen.json"),
    ("protocol", "freeze", "lesions", "--note", " ", "--out", "frozen.json"),
    ("protocol", "freeze", "lesion", "--out", "frozen.json"),
    ("protocol", "freeze", "lesions", "--weights", "a=1", "--out", "frozen.json"),
    ("protocol", "check", "{bad}"),
    ("protocol", "show", "lesion"),
    ("schema", "show", "lesions/trut"),
    ("schema", "diff", "{bad}", "lesions/truth"),
    ("schema", "check", "folder"),
    ("explain", "MC999"),
    ("init", "lesion", "demo"),
    ("init", "reports", "lesions"),
    ("normalize",),
)
"""`{bad}` is each bad file, `{truth}` the truth of each track."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples, the bad files and a folder with all of them. Limits are so small that they are exceeded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Limits.__new__, "__defaults__", (2500, 50_000))
    for track in ("lesions", "reports", "triage", "benchmark", "extraction"):
        shutil.copytree(EXAMPLES / track, track)
    for name, content in BAD.items():
        Path(name).write_bytes(content)
    records = json.loads(Path("triage/response.json").read_text(encoding="utf-8"))["responses"]
    Path("lines.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    Path("other").mkdir()
    Path("other", "truth.csv").write_text("not an example")
    Path("folder").mkdir()
    for name in BAD:
        shutil.copy(name, Path("folder", name))


def _calls() -> Iterator[tuple[str, ...]]:
    for call in CALLS:
        truths = [f"{track}/{name}" for track, name in TRUTHS.items()] if "{truth}" in call else [""]
        for bad in BAD if "{bad}" in call else [""]:
            for truth in truths:
                yield tuple(word.format(bad=bad, truth=truth) for word in call)


def _command(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """The command that a call runs, and the remaining words."""
    found: click.Command | None = group
    rest = list(words)
    while isinstance(found, click.Group):
        found = found.get_command(click.Context(found), rest.pop(0)) if rest else None
    assert found is not None, f"there is no such command: {words}"
    return found, rest


def _options(command: click.Command) -> set[str]:
    """All options of a command, also of tracks."""
    context = click.Context(command, info_name=command.name, resilient_parsing=True)
    command.parse_args(context, [])
    return {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}


def _suggested(words: Sequence[str]) -> None:
    """Check a command in a hint: it exists, has these options, and takes this many arguments."""
    command, rest = _command(words)
    wrong = {word.partition("=")[0] for word in rest if word.startswith("--")} - _options(command)
    assert not wrong, f"{' '.join(words)}: no such option: {wrong}"
    context = click.Context(command)
    arguments: list[Any] = [each for each in command.get_params(context) if isinstance(each, click.Argument)]
    most = 99 if any(each.nargs == -1 for each in arguments) else len(arguments)
    positional = [word for word in rest if not word.startswith("-")]
    assert len(positional) <= most + len([word for word in rest if word.startswith("-")])


@pytest.mark.slow
def test_every_hint_works(files: None, call: Call) -> None:
    """Each option in the output of a call exists in its command; each suggested command can be parsed."""
    seen: set[tuple[str, str]] = set()
    for words in _calls():
        ran = call(*words)
        text = f"{ran.out}\n{ran.err}"
        assert "internal error" not in text, words
        command, _ = _command(words)
        for suggestion in _COMMAND.findall(text):
            _suggested(shlex.split(suggestion)[1:])
            seen.add((command.name or "", suggestion))
        own = set(_OPTION.findall(_COMMAND.sub("", text)))
        assert own <= _options(command), f"{' '.join(words)}: {own - _options(command)}\n{text}"
        seen |= {(command.name or "", option) for option in own}
    commands = {command for command, _ in seen}
    assert commands >= {"validate", "preflight", "score", "leaderboard", "compare", "freeze", "check", "init"}
    assert {option for _, option in seen} >= {
        "--contract", "--set", "--max-record", "--max-unpacked", "--images", "--weights", "--force",
        "medcontract schema list", "medcontract protocol show lesions",
    }  # fmt: skip


@pytest.mark.parametrize("bad", [name for name in BAD if name.startswith(("unknown", "ambiguous", "near"))])
def test_the_suggested_contract_can_be_specified(files: None, call: Call, bad: str) -> None:
    """`CONTRACT=PATH` in a hint, and --contract, work in the command that printed it."""

    def said(ran: Ran) -> str:
        return f"{ran.out}\n{ran.err}"

    for words in CALLS:
        plain = tuple(word.format(bad=bad, truth="lesions/truth.csv") for word in words)
        if "{bad}" not in words or "--contract" in words or "--schema" in words:
            continue
        first = said(call(*plain))
        for contract in set(_CONTRACT.findall(first)) | set(re.findall(r"--contract ([a-z0-9-]+/[a-z0-9-]+)", first)):
            again = [word.replace("{bad}", f"{contract}={bad}").format(truth="lesions/truth.csv") for word in words]
            text = said(call(*again))
            assert "no such file" not in text, again
            assert not re.search(rf"{re.escape(bad)}: [^\n]*(no contract matches|equally well)", text), again


RAISED = (
    ("validate", "bomb.json.gz"),
    ("preflight", "bomb.json.gz"),
    ("score", "bomb.json.gz", "lesions/predictions.csv"),
    ("score", "lesions", "--protocol", "bomb.json.gz"),
    ("score", "benchmark", "--lexicon", "bomb.json.gz"),
    ("leaderboard", "bomb.json.gz", "lesions/predictions.csv"),
    ("compare", "bomb.json.gz", "bomb.json.gz"),
    ("protocol", "freeze", "lesions", "--truth", "bomb.json.gz", "--out", "frozen.json"),
    ("protocol", "check", "bomb.json.gz"),
)


@pytest.mark.parametrize("words", RAISED, ids=" ".join)
def test_the_limit_can_be_raised(files: None, call: Call, words: tuple[str, ...]) -> None:
    """The limits of a command apply to every file that it reads, also to files in its options."""
    before, after = call(*words), call(*words, "--max-unpacked", "10M", "--max-record", "10M")
    assert "decompresses to more than" in before.out + before.err
    assert "decompresses to more than" not in after.out + after.err


IN_PYTHON: dict[str, Callable[[str], object]] = {
    "load": medcontract.load,
    "score": lambda bad: medcontract.score("lesions/truth.csv", bad),
    "preflight": lambda bad: medcontract.preflight(bad, "triage/ground-truth.json"),
    "leaderboard": lambda bad: medcontract.leaderboard(bad, "lesions"),
    "compare": lambda bad: medcontract.compare(bad, bad),
    "freeze_protocol": lambda bad: medcontract.freeze_protocol("lesions", truth=bad),
    "check_protocol": medcontract.check_protocol,
    "validate_files": lambda bad: medcontract.validate_files(bad, images="."),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", IN_PYTHON)
def test_errors_in_python_name_arguments(files: None, name: str) -> None:
    """Arguments in an error exist in the function that raised it, functions in the package."""
    known = {*inspect.signature(getattr(medcontract, name)).parameters, "contract"}
    raised = 0
    for bad in BAD:
        try:
            IN_PYTHON[name](bad)
        except medcontract.MedcontractError as error:
            raised += 1
            text = str(error)
            assert not _OPTION.search(text), text
            assert not _COMMAND.search(text), text
            assert set(re.findall(r"\b([a-z_]+)=(?:…|\{|\"|True)", text)) <= known, text
            assert all(hasattr(medcontract, each) for each in re.findall(r"\bmedcontract\.([a-z_]+)\(", text)), text
    assert raised > 5


TAKING_FILES = ("validate", "preflight", "score", "leaderboard", "compare", "verify", "protocol freeze",
                "protocol check")  # fmt: skip


@pytest.mark.parametrize("name", TAKING_FILES)
def test_every_command_that_reads_files_has_contract(name: str) -> None:
    """--contract and the limits exist wherever data files are read."""
    command, _ = _command(name.split())
    assert {"--contract", "--max-record", "--max-unpacked"} <= _options(command)
