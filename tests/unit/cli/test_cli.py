"""The command line: exit codes, streams, formats, and what it never shows."""

from __future__ import annotations

import errno
import gc
import hashlib
import io
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from tests.commands import Call
from tests.faults import as_usual
from tests.support import SCHEMAS, VECTORS, lesion, lesions, published

import medcontract
from medcontract import _version, api, atomic_write
from medcontract.catalog import problem_codes
from medcontract.cli import output
from medcontract.cli.main import COMMANDS, main
from medcontract.contracts.registry import TRACKS
from medcontract.rendering import data as json_format

GOOD = lesions(3)
BAD = lesions(2) + json.dumps(lesion(2, label="XX")).encode() + b"\n"
COMMAND = [sys.executable, "-m", "medcontract"]


@pytest.fixture
def run(call: Call) -> Call:
    """The command line in an empty folder."""
    return call


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.jsonl"
    path.write_bytes(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(BAD)
    return path


def process(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, **options)


# --- exit codes and streams ----------------------------------------------------------------------


def test_validate_a_good_file(run: Call, good: Path) -> None:
    """All is well: exit 0, the result on standard output, nothing on standard error."""
    assert run("validate", good) == (
        0,
        f"{good}: ok  lesions/truth, 3 records (recognized by its keys)\nNo problems found in 1 file, 3 records.\n",
        "",
    )


def test_validate_a_bad_file(run: Call, bad: Path) -> None:
    """The data breaks a contract: exit 1, each problem like a compiler's, the count on the last line."""
    code, out, err = run("validate", bad)
    assert (code, err) == (1, "")
    assert out.startswith(f"{bad}:3:37: error MC104 'label' must be one of AK, BCC")
    assert out.endswith("\n1 error in 1 of 1 file, 3 records.\n")


def test_warnings_are_well(run: Call) -> None:
    """Warnings are told and leave the exit code at 0."""
    code, out, err = run("validate", VECTORS / "lesions" / "model" / "valid" / "warn-size-150.json")
    assert (code, err) == (0, "")
    assert "warning MC212" in out
    assert out.endswith("\n1 warning in 1 file.\n")


def test_worst_of_several_files(run: Call, good: Path, bad: Path) -> None:
    """Of several files the worst decides: a usage error before wrong data before none, and all are judged."""
    assert run("validate", good, bad).code == 1
    ran = run("validate", "--format", "json", good, "no-such-file.json", bad)
    assert ran.code == 2
    assert [file["ok"] for file in ran.json["files"]] == [True, False, False]


def test_broken_syntax_of_no_contract(run: Call) -> None:
    """A file whose syntax is broken is wrong data (1), also when its contract cannot be told."""
    Path("x.json").write_bytes(b'{"a": }')
    ran = run("validate", "--format", "json", "x.json")
    assert ran.code == 1
    assert [(file["contract"], file["problems"][0]["code"]) for file in ran.json["files"]] == [(None, "MC010")]


@pytest.mark.parametrize("track", TRACKS)
def test_fingerprint_as_described(run: Call, track: str) -> None:
    """It is the SHA-256 of the canonical JSON of id, version and parameters, as `protocol show` says."""
    shown = run("protocol", "show", track, "--format", "json").json
    parameters = {each["name"]: each["value"] for each in shown["parameters"]}
    text = rfc8785.dumps({"id": track, "version": shown["version"], "parameters": parameters})
    assert hashlib.sha256(text).hexdigest() == shown["fingerprint"]
    assert (
        "SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters" in run("protocol", "show", track).out
    )


def test_interrupt(run: Call, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and a word, not with a traceback."""

    def interrupt(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "validate_files", interrupt)
    code, out, err = run("validate", good)
    assert (code, out, err.strip()) == (130, "", "Interrupted.")


FRAME = re.compile(rf'File "{re.escape(str(Path(medcontract.__file__).parent))}/.*", line (?![01],)')
"""A line of ours in a traceback, but not the first one of a module: a signal may arrive before it runs."""


@pytest.mark.slow
@pytest.mark.parametrize("milliseconds", [*range(0, 60, 4), *range(60, 201, 20)])
@pytest.mark.parametrize("arguments", [["validate", "-"], ["--help"], ["no-such-command"]])
def test_interrupt_at_any_moment(milliseconds: int, arguments: list[str]) -> None:
    """Also while it starts: no code of ours shows a traceback. Until it runs, Python does.

    A signal between two of our first instructions cannot be handled, so that a traceback counts if it comes thrice.
    """
    assert any(_ends_well(milliseconds, arguments) for _ in range(3))


def _ends_well(milliseconds: int, arguments: list[str]) -> bool:
    with subprocess.Popen(
        [sys.executable, "-m", "medcontract", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=as_usual,
    ) as starting:  # fmt: skip
        time.sleep(milliseconds / 1000)
        starting.send_signal(signal.SIGINT)
        _, err = starting.communicate(timeout=60)
    if "Interrupted." in err:  # perhaps after the message of a command that was about to end
        return (starting.returncode, err.splitlines()[-1], "Traceback" in err) == (130, "Interrupted.", False)
    return not FRAME.findall(err) and starting.returncode in (-signal.SIGINT, 0, 1, 2)


def test_interrupt_of_an_import(tmp_path: Path) -> None:
    """Whatever is imported before the command runs."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nopen('went-on', 'w')\n")
    script = "import sys; from medcontract.cli.main import main; sys.path.insert(0, '.'); sys.exit(main())"
    for arguments in ([], ["validate", "-"]):
        ran = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, check=False,
            preexec_fn=as_usual,
        )  # fmt: skip
        assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"Interrupted.\n")
    assert not (tmp_path / "went-on").exists()


def test_interrupt_of_an_import_in_another_program(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """It goes on: only the call ends."""

    class Interrupting:
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setitem(sys.modules, "medcontract.cli.group", Interrupting())
    assert main(["validate", "-"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("arguments", [[], ["--help"], ["no-such-command"], ["explain", "MC104"]])
def test_the_handler_of_the_caller_is_restored(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if no command runs."""
    monkeypatch.setattr(sys, "argv", ["medcontract", *arguments])
    before = signal.getsignal(signal.SIGINT)
    main()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_program_in_a_thread(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the main thread handles signals."""
    monkeypatch.setattr(sys, "argv", ["medcontract", "explain", "MC104"])
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main()))
    thread.start()
    thread.join()
    assert codes == [0]


def test_interrupt_of_a_process(tmp_path: Path) -> None:
    """A process that waits for data and gets SIGINT ends with 130 and leaves nothing behind."""
    pipe = tmp_path / "x.jsonl"
    os.mkfifo(pipe)
    arguments = [*COMMAND, "validate", str(pipe)]
    with (
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=as_usual) as waiting,
        pipe.open("wb"),  # returns when the other end is open
    ):
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out, err.strip()) == (130, b"", b"Interrupted.")


@pytest.mark.parametrize(
    "command", [[], *([name] for name in COMMANDS), ["schema", "list"], ["schema", "check"]], ids=" ".join
)
def test_help(run: Call, command: list[str]) -> None:
    """Every command has a page of help, on standard output."""
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("Usage: medcontract")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(run: Call, command: str) -> None:
    """The help of each command shows how it is called."""
    assert f"  medcontract {command} " in run(command, "--help").out.split("\n", 1)[1]


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(run: Call, option: str) -> None:
    """The version is printed, and nothing else."""
    assert run(option) == (0, f"medcontract {_version.__version__}\n", "")


def test_as_a_module() -> None:
    """`python -m medcontract` is the command."""
    done = process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"medcontract {_version.__version__}\n".encode(), b"")


# --- json ----------------------------------------------------------------------------------------


def test_validate_json(run: Call, good: Path, bad: Path) -> None:
    """The JSON of `validate` keeps its published schema, and says of each file what was found."""
    ran = run("validate", "--format", "json", bad, good)
    published("medcontract/validation").validate(ran.json)
    assert ran.code == 1
    assert ran.json["ok"] is False
    first, second = ran.json["files"]
    assert second == {
        "path": str(good), "contract": "lesions/truth", "ok": True, "records": 3,
        "errors": 0, "warnings": 0, "omitted": 0, "problems": [],
    }  # fmt: skip
    assert (first["ok"], first["errors"], len(first["problems"])) == (False, 1, 1)
    assert first["problems"][0] == {
        "code": "MC104", "severity": "error",
        "message": "'label' must be one of AK, BCC, SK, SCC, VASC, DF, NV, NON, MEL, ON", "hint": None,
        "pointer": "/label", "record": 2, "line": 3, "column": 37, "field": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "contract"),
    [
        (["validate", "good.jsonl", "bad.jsonl", "no-such-file"], "medcontract/validation"),
        (["explain", "MC104", "MC201"], "medcontract/explanation"),
        (["explain"], "medcontract/explanation"),
        (["schema", "list"], "medcontract/listing"),
    ],
)
def test_own_output_is_recognized(run: Call, good: Path, bad: Path, arguments: list[str], contract: str) -> None:
    """What is printed as JSON keeps its published schema, and medcontract itself recognizes and accepts it."""
    ran = run(*arguments, "--format", "json")
    published(contract).validate(ran.json)
    report = medcontract.validate(ran.out.encode(), name="out.json")
    assert (report.contract, report.problems) == (contract, ())


def test_schema_list(run: Call) -> None:
    """The list has every contract, in text and in JSON."""
    listed = run("schema", "list", "--format", "json").json["contracts"]
    text = run("schema", "list").out
    ids = [item["id"] for item in listed]
    assert ids == sorted(ids)
    assert [line.split()[0] for line in text.splitlines()[1:]] == ids
    assert set(listed[0]) == {"id", "version", "kind", "containers", "title", "source"}


# --- values do not leak --------------------------------------------------------------------------

SECRETS = ["Juan", "Pérez", "555-1234", "María", "19481103", "4711", "Lopez", "Ana"]


def _spoilt_files(folder: Path) -> list[Path]:
    """Files whose every mistake holds something of a patient."""
    records = [
        lesion(1, label="Juan Pérez"),
        lesion(2, **{"Juan Pérez": "555-1234"}),
        lesion(3, **{"19481103": "María"}),
        lesion(4, **{"4711 Lopez": 1}),
        {"image_id": "Juan", "label": "NV"},
        {"image_id": "Juan", "label": "NV"},
        {"image_id": 4711, "label": ["María"]},
        {"image_id": "\ud800Juan", "label": "NV"},
    ]
    response = {
        "message_sent_time": 2, "message_received_time": 1, "case_id": "Juan", "segment_id": "Pérez",
        "model_predictions": ["María", "María"], "cumulative_runtime_sec": "4711", "run_id": "555-1234",
        "end_of_case": "Ana", "lsi_confidence_scores": {"Juan Pérez": "María", "María/Ana~": None},
        "embeddings": {"Juan Pérez": {"María 4711": [float("nan"), 1]}},
    }  # fmt: skip
    files = {
        "a.jsonl": "\n".join(map(json.dumps, records)),
        "b.json": json.dumps({"labels": records, "Juan Pérez": 1, "event": ["María"]}),
        "c.csv": 'image_id,label,Ana Lopez,Ana Lopez\nJuan,María,Pérez,x\nI-2,"Juan Pérez",4711,x\nJuan,NV,Ana,x\n',
        "d.json": json.dumps({"team_name": "T", "event": "E", "evaluation_date": "María", "responses": [response]}),
        "e.json": '{"labels": [{"image_id": "Juan" Pérez}]}',
        "f.json": '{"Juan Pérez": {"María": 4711}, "Ana": 1}',
        "g.jsonl": '{"image_id": "Juan", "label": "NV", "Ana Lopez": 1, "Ana Lopez": 2}',
        "h.csv": "Juan Pérez,Ana\nMaría,4711\n",
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in files]


@pytest.mark.parametrize("format_", ["json", "text"])
def test_no_value_leaks(run: Call, tmp_path: Path, format_: str) -> None:
    """Where output may be shared, neither values nor keys that may be data are shown."""
    folder = tmp_path / "files"
    folder.mkdir()
    files = _spoilt_files(folder)
    code, out, err = run("validate", "--format", format_, *files)
    assert code in (1, 2)
    assert out.count("MC") > (20 if format_ == "json" else 15)
    assert [secret for secret in SECRETS if secret in out.replace(str(tmp_path), "") + err] == []


def test_a_key_of_digits_is_a_value(run: Call) -> None:
    """A key that is a number is no plain identifier, but may well be a patient's."""
    Path("x.jsonl").write_text(json.dumps(lesion(1, **{"4711230815": 1})), encoding="utf-8")
    for format_ in ("json", "text"):
        assert "4711230815" not in run("validate", "--format", format_, "x.jsonl").out
    assert "4711230815" in run("validate", "--format", "json", "--show-values", "x.jsonl").out


def test_plain_keys_are_shown(run: Call) -> None:
    """A key that looks like a plain identifier of up to 64 characters is shown, as the misspelling that it is."""
    Path("x.jsonl").write_text(json.dumps(lesion(1, lable=1, **{"x" * 64: 1, "y" * 65: 1})), encoding="utf-8")
    problems = run("validate", "--format", "json", "x.jsonl").json["files"][0]["problems"]
    assert [problem["pointer"] for problem in problems] == ["/lable", "/" + "x" * 64, "/…"]


@pytest.mark.parametrize(
    ("format_", "shown"),
    [("json", ["Juan Pérez", "María", "19481103", "Ana Lopez", "4711"]), ("text", ["Juan Pérez", "María", "19481103"])],
)
def test_values_are_shown_when_asked_for(run: Call, tmp_path: Path, format_: str, shown: list[str]) -> None:
    """With --show-values the offending values and keys are there."""
    files = _spoilt_files(tmp_path)
    out = run("validate", "--show-values", "--format", format_, *files).out
    if format_ == "text":  # the same problem in several files is shown in the first one
        out = "".join(run("validate", "--show-values", file).out for file in files)
    assert [value for value in shown if value not in out] == []
    if format_ == "json":
        published("medcontract/validation").validate(json.loads(out))
        assert '"pointer": "/Juan Pérez"' in out


def test_values_on_a_terminal(run: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, text shows the source line with a caret below the value; JSON shows no values there either."""
    monkeypatch.setattr(output, "terminal", lambda: True)
    out = run("validate", "--no-color", bad).out
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(" 3 |"))  # the message may be wrapped
    line, caret = lines[at : at + 2]
    assert line == ' 3 | {"image_id": "ISLA-00002", "label": "XX"}'
    assert caret.index("^") == line.index('"XX"')
    assert "XX" not in run("validate", "--format", "json", bad).out


def test_values_in_a_file(run: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that goes to a file shows no values, though a person sits at the terminal."""
    monkeypatch.setattr(output, "terminal", lambda: True)
    run("validate", "--out", "out.txt", bad)
    assert "XX" not in Path("out.txt").read_text(encoding="utf-8")


# --- color --------------------------------------------------------------------------------------


def test_color_on_a_real_terminal(bad: Path) -> None:
    """A process whose standard output is a terminal writes color, and none with NO_COLOR."""
    for extra, colored in (({}, True), ({"NO_COLOR": "1"}, False)):
        master, slave = os.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | extra
        done = subprocess.run(
            [*COMMAND, "validate", str(bad)], stdout=slave, stderr=subprocess.PIPE, check=False, env=environment
        )
        os.close(slave)
        shown = os.read(master, 65536)
        os.close(master)
        assert (done.returncode, done.stderr) == (1, b"")
        assert (b"\x1b[" in shown) == colored
        assert b'"XX"' in shown


def test_a_program_ends_without_another_search_for_garbage() -> None:
    """Only a program: the objects of another program that calls `main` with arguments are still collected."""
    for call, frozen in (("main()", True), ("main(['explain', 'MC001'])", False)):
        code = f"import gc; from medcontract.cli.main import main; {call}; print(gc.get_freeze_count() > 0)"
        done = subprocess.run(
            [sys.executable, "-c", code, "explain", "MC001"], capture_output=True, check=True, text=True
        )
        assert done.stdout.endswith(f"{frozen}\n")


def test_the_thresholds_of_a_calling_program_are_restored() -> None:
    """How often its garbage is collected does not change with a call of `main`."""
    before = gc.get_threshold()
    assert main(["explain", "MC001"]) == 0
    assert gc.get_threshold() == before


# --- how much is shown ---------------------------------------------------------------------------


def _many(path: Path) -> Path:
    """500 bad records: 400 of one sort, 99 of a second, 1 of a third."""
    lines = [json.dumps(lesion(n, label="XX")) for n in range(400)]
    lines += [json.dumps(lesion(n, image_id=n)) for n in range(400, 499)]
    lines.insert(450, json.dumps(lesion(999, colour=1)))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_same_mistake_is_shown_a_few_times_and_counted(run: Call, tmp_path: Path) -> None:
    """In text, each sort of mistake is shown once; the others are counted exactly, with the first places."""
    code, out, _ = run("validate", _many(tmp_path / "x.jsonl"))
    assert code == 1
    assert out.count("error MC104") == 1
    assert out.count("error MC103") == 1
    assert out.count("error MC102") == 1
    assert "… and 399 more records like this (lines 2, 3, …)" in out
    assert "… and 98 more records like this (lines 402, 403, …)" in out
    assert out.count("like this") == 2
    assert "of other kinds" not in out
    assert out.endswith("\n500 errors in 1 of 1 file, 500 records.\n")


@pytest.mark.parametrize(
    ("limit", "shown", "alike", "others"),
    [(1, 1, [399], 100), (2, 2, [399, 98], 1), (0, 0, [], 500)],
)
def test_what_is_cut_is_counted_and_said(
    run: Call, tmp_path: Path, limit: int, shown: int, alike: list[int], others: int
) -> None:
    """With --max-problems in text, shown and counted problems add up to all that were found."""
    out = run("validate", "--max-problems", limit, _many(tmp_path / "x.jsonl")).out
    assert out.count(": error MC") == shown
    for number in alike:
        assert f"… and {number} more record" in out
    plural = "s" * (others != 1)
    assert (f"… and {others} more problem{plural} of other kinds" if shown else f": {others} problem{plural} (") in out
    assert shown + sum(alike) + others == 500


def test_one_more_record_like_this(run: Call, tmp_path: Path) -> None:
    """The count of one is in the singular."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lesions(2, label="XX"))
    assert "… and 1 more record like this (line 2)\n" in run("validate", path).out


@pytest.mark.parametrize(("limit", "listed"), [(None, 500), (3, 3), (0, 0), (1000, 500)])
def test_max_problems_in_json(run: Call, tmp_path: Path, limit: int | None, listed: int) -> None:
    """In JSON all problems are listed, or as many as asked for; `omitted` says how many are not."""
    options = [] if limit is None else ["--max-problems", limit]
    file = run("validate", "--format", "json", *options, _many(tmp_path / "x.jsonl")).json["files"][0]
    assert (len(file["problems"]), file["omitted"], file["errors"]) == (listed, 500 - listed, 500)
    assert [p["record"] for p in file["problems"]] == list(range(listed))


def test_no_more_than_ten_thousand(run: Call, tmp_path: Path) -> None:
    """However many are asked for, JSON lists at most 10,000 problems a file, and counts the others."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"image_id": 1, "label": 2}\n' * 6_000)
    file = run("validate", "--format", "json", "--max-problems", 20_000, path).json["files"][0]
    assert (len(file["problems"]), file["omitted"], file["errors"]) == (10_000, 2_000, 12_000)


# --- which files ---------------------------------------------------------------------------------


def test_folders_are_walked(run: Call, tmp_path: Path) -> None:
    """A folder means the data files in it and below, sorted; hidden ones and others are left out."""
    folder = tmp_path / "folder"
    names = [
        "b.jsonl",
        "a.JSONL",
        "sub/c.ndjson",
        "sub/deep/d.jsonl",
        ".hidden.jsonl",
        ".git/e.jsonl",
        "notes.txt",
        "x.py",
    ]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(GOOD)
    ran = run("validate", "--format", "json", "folder")
    assert ran.code == 0
    walked = ["folder/a.JSONL", "folder/b.jsonl", "folder/sub/c.ndjson", "folder/sub/deep/d.jsonl"]
    assert [file["path"] for file in ran.json["files"]] == walked


def test_a_hidden_file_may_be_named(run: Call) -> None:
    """A hidden file that is named is judged."""
    Path(".x.jsonl").write_bytes(GOOD)
    assert run("validate", ".x.jsonl").code == 0


@pytest.mark.parametrize("inside", [[], [".hidden.jsonl"], ["readme.txt"]])
def test_a_folder_without_data(run: Call, inside: list[str]) -> None:
    """A folder without data files is a usage error: silence would look like success."""
    Path("folder").mkdir()
    for name in inside:
        (Path("folder") / name).write_bytes(GOOD)
    code, out, err = run("validate", "folder")
    assert (code, out) == (2, "")
    assert "folder: no data files" in err


def test_a_named_contract(run: Call) -> None:
    """`CONTRACT=PATH` and --contract say what a file is; a folder's files get it all."""
    Path("x").mkdir()
    Path("x/one.jsonl").write_bytes(b'{"image_id": "I-1"}')
    for arguments in (
        ["lesions/truth=x/one.jsonl"],
        ["--contract", "lesions/truth", "x/one.jsonl"],
        ["lesions/truth=x"],
    ):
        ran = run("validate", "--format", "json", *arguments)
        assert ran.code == 1
        assert [(f["contract"], f["path"]) for f in ran.json["files"]] == [("lesions/truth", "x/one.jsonl")]


def test_the_nearer_name_wins(run: Call, good: Path) -> None:
    """A contract named with a path goes before the one named for all."""
    ran = run("validate", "--format", "json", "--contract", "lesions/cases", f"lesions/truth={good}", good)
    assert [file["contract"] for file in ran.json["files"]] == ["lesions/truth", "lesions/cases"]


def test_a_file_with_an_equals_sign(run: Call) -> None:
    """A file that is really called so is judged as itself."""
    Path("lesions").mkdir()
    Path("lesions/truth=x.jsonl").write_bytes(GOOD)
    ran = run("validate", "--format", "json", "lesions/truth=x.jsonl")
    assert [(f["path"], f["ok"]) for f in ran.json["files"]] == [("lesions/truth=x.jsonl", True)]


def test_unknown_contract_has_a_suggestion(run: Call, good: Path) -> None:
    """A misspelt contract comes with the nearest one."""
    assert "did you mean 'lesions/truth'?" in run("validate", f"lesions/truht={good}").err


def test_not_recognized_says_how_to_say_it(run: Call) -> None:
    """A file of no contract: the problem says how to name one."""
    Path("x.json").write_bytes(b'{"colour": "green"}')
    ran = run("validate", "--format", "json", "x.json")
    assert ran.code == 2
    assert "--contract" in ran.json["files"][0]["problems"][0]["hint"]


def test_file_names_that_are_no_utf_8(run: Call, tmp_path: Path) -> None:
    """A name of any bytes is read and shown as valid text, given by itself or found in a folder."""
    folder = os.fsencode(tmp_path) + b"/f\xff"
    os.mkdir(folder)
    path = os.fsdecode(folder + b"/caf\xe9.jsonl")
    Path(path).write_bytes(BAD)
    for argument in (path, os.fsdecode(folder)):
        ran = run("validate", "--format", "json", argument)
        assert ran.code == 1
        assert ran.json["files"][0]["path"].endswith("/f\ufffd/caf\ufffd.jsonl")
        assert "/f\ufffd/caf\ufffd.jsonl:3:37: error" in run("validate", argument).out
    done = process("validate", "--format", "json", path)
    assert (done.returncode, done.stderr) == (1, b"")
    assert run("validate", path + "x").code == 2
    assert run("validate", f"no/such={path}").code == 2


def test_out_to_a_name_that_is_no_utf_8(run: Call, good: Path, tmp_path: Path) -> None:
    """The output may have such a name, too, and a failure to write it is told."""
    name = os.fsdecode(b"\xff.json")
    assert run("validate", "--out", name, good).code == 0
    assert json.loads(Path(name).read_bytes())["ok"] is True
    assert run("validate", "--out", f"{name}/x.json", good).code == 2


# --- --out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["validate", "good.jsonl"], ["explain", "MC104"], ["schema", "list"]], ids=" ".join
)
def test_out(run: Call, good: Path, arguments: list[str]) -> None:
    """A file gets what standard output would; its ending sets the format, unless --format does."""
    text, as_json = run(*arguments).out, run(*arguments, "--format", "json").out
    for name, options, expected in [
        ("x.txt", [], text), ("x.json", [], as_json), ("x.JSON", [], as_json), ("x", [], text),
        ("y.json", ["--format", "text"], text), ("y.txt", ["--format", "json"], as_json),
    ]:  # fmt: skip
        assert run(*arguments, "--out", name, *options) == (0, "", "")
        assert Path(name).read_text(encoding="utf-8") == expected


def test_schema_show(run: Call) -> None:
    """A schema is the published one, in a file as well as on standard output."""
    shown = run("schema", "show", "lesions/truth").out
    assert run("schema", "show", "lesions/truth", "--out", "x.json") == (0, "", "")
    assert Path("x.json").read_text(encoding="utf-8") == shown
    assert shown == (SCHEMAS / "lesions" / "truth" / "v1.json").read_text(encoding="utf-8")
    record = run("schema", "show", "--record", "lesions/truth").out
    assert record == (SCHEMAS / "lesions" / "truth" / "v1.record.json").read_text(encoding="utf-8")


def test_exit_code_with_out(run: Call, bad: Path) -> None:
    """The exit code tells of the data, wherever the result goes."""
    assert run("validate", "--out", "x.json", bad) == (1, "", "")


class _FullDisk(io.BytesIO):
    def write(self, data: Any) -> int:
        super().write(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")


def _full_disk(handle: int, *arguments: Any, **options: Any) -> Any:
    os.close(handle)
    return _FullDisk()


def _refuse(*arguments: Any, **options: Any) -> Any:
    raise PermissionError(errno.EACCES, "Permission denied")


def _crash(*arguments: Any, **options: Any) -> Any:
    raise RuntimeError("a mistake in a renderer")


@pytest.mark.parametrize(
    ("module", "name", "failure"),
    [(os, "fdopen", _full_disk), (atomic_write, "create", _refuse), (Path, "replace", _refuse)],
    ids=["full disk", "read-only folder", "rename refused"],
)
def test_out_that_fails_leaves_the_old_file_whole(
    run: Call, good: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, failure: Any
) -> None:
    """When the result cannot be written, the old file is whole, nothing is left beside it, and the call is wrong."""
    Path("out").mkdir()
    Path("out/x.json").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(module, name, failure)
        code, out, err = run("validate", "--out", "out/x.json", good)
    assert (code, out) == (2, "")
    assert "cannot write out/x.json" in err
    assert Path("out/x.json").read_bytes() == b"old"
    assert os.listdir("out") == ["x.json"]


def test_a_crash_leaves_the_old_file_whole(run: Call, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When rendering crashes, the old file is whole."""
    Path("x.json").write_bytes(b"old")
    monkeypatch.setattr(json_format, "json_document", _crash)
    code, _, err = run("validate", "--out", "x.json", good)
    assert code == 1
    assert "internal error (RuntimeError" in err
    assert Path("x.json").read_bytes() == b"old"
    assert sorted(os.listdir()) == ["good.jsonl", "x.json"]


def test_permissions_of_the_output(run: Call, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was there keeps its permissions; a new one follows the umask, which nothing changes."""
    Path("old.json").write_bytes(b"")
    Path("old.json").chmod(0o604)
    set_umask = os.umask
    changed: list[int] = []  # also affects other threads, which may create files at that moment
    monkeypatch.setattr(os, "umask", changed.append)
    mask = set_umask(0o027)
    try:
        run("validate", "--out", "old.json", good)
        run("validate", "--out", "new.json", good)
    finally:
        set_umask(mask)
    assert changed == []
    assert stat.S_IMODE(os.stat("old.json").st_mode) == 0o604
    assert stat.S_IMODE(os.stat("new.json").st_mode) == 0o640


def test_out_through_a_link(run: Call, good: Path) -> None:
    """A symbolic link stays one: the file that it points at is written."""
    Path("real").mkdir()
    Path("real/x.json").write_bytes(b"old")
    Path("link.json").symlink_to("real/x.json")
    assert run("validate", "--out", "link.json", good).code == 0
    assert Path("link.json").is_symlink()
    assert json.loads(Path("real/x.json").read_bytes())["ok"] is True


def test_out_to_what_is_no_file(run: Call, good: Path) -> None:
    """A pipe or a device (/dev/null, /dev/stdout) is written to, never replaced by a file."""
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        code = run("validate", "--format", "json", "--out", "pipe", good).code
        written = os.read(reader, 65536)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert code == 0
    assert json.loads(written)["ok"] is True


# --- quick to start ------------------------------------------------------------------------------


def _imported(*arguments: str) -> set[str]:
    """The top-level modules that a call imports."""
    code = (
        "import sys; from medcontract.cli.main import main; main(sys.argv[1:]);"
        "sys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_version_imports_nothing() -> None:
    """`--version` imports neither click nor pydantic nor msgspec."""
    assert _imported("--version") & {"click", "pydantic", "msgspec", "pandas", "jsonschema", "rapidfuzz"} == set()


def test_help_imports_no_models() -> None:
    """The list of commands needs no contract."""
    assert _imported("--help") & {"pydantic", "msgspec", "pandas", "pandera", "jsonschema", "rapidfuzz"} == set()


@pytest.mark.parametrize("example", ["reports/predictions.json", "lesions/predictions.csv", "triage/response.json"])
def test_validate_imports_no_more_than_it_needs(example: str) -> None:
    """To judge a good file takes neither pandas nor pandera nor jsonschema nor unidecode."""
    path = Path(medcontract.__file__).parent / "examples" / example
    seen = _imported("validate", str(path))
    assert "click" in seen
    assert seen & {"pandas", "pandera", "numpy", "jsonschema", "unidecode", "rapidfuzz"} == set()


def test_validate_imports_no_slow_part_of_the_standard_library() -> None:
    """What only some calls need is imported by those: temporary files, hashes, paths, JSON output."""
    path = Path(medcontract.__file__).parent / "examples" / "reports" / "truth.json"
    seen = _imported("validate", str(path)) - _imported("--version")
    assert "msgspec" in seen
    assert seen & {"hashlib", "pathlib", "pydantic", "shutil", "tempfile", "urllib"} == set()


def test_images_import_only_the_track_of_their_file(tmp_path: Path) -> None:
    """`validate --images` looks the track up by the contract of the file, and imports no other."""
    path = Path(medcontract.__file__).parent / "examples" / "lesions" / "cases.csv"
    code = (
        "import sys, medcontract; medcontract.validate(sys.argv[1], images=sys.argv[2]);"
        "print(*(name for name in sys.modules if name.startswith('medcontract.scoring.')))"
    )
    call = [sys.executable, "-c", code, str(path), str(tmp_path)]
    seen = subprocess.run(call, capture_output=True, text=True, check=True).stdout.replace("medcontract.scoring.", "")
    assert set(seen.split()) & set(TRACKS) == {"lesions"}


def test_import_of_the_package_is_quick() -> None:
    """`import medcontract` imports what it needs when it is needed."""
    code = "import sys, medcontract; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {"pydantic", "msgspec", "click", "pandas"} == set()


# --- pipes ---------------------------------------------------------------------------------------


def test_broken_pipe(tmp_path: Path) -> None:
    """A reader that goes away (`| head -1`) is no reason for a traceback."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lesions(5_000, label="XX"))
    arguments = [*COMMAND, "validate", "--format", "json", str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        assert writing.stderr is not None
        assert writing.stdout.readline() == b"{\n"
        writing.stdout.close()
        assert writing.stderr.read() == b""
    assert writing.returncode not in (0, 2)


def test_broken_pipe_of_little_output(tmp_path: Path) -> None:
    """A pipe that is closed before a short output is written gives no traceback either."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*COMMAND, "explain"], stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert done.stderr == b""


def test_output_that_the_terminal_cannot_write(bad: Path) -> None:
    """A terminal without UTF-8 gets escapes instead of a traceback."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for arguments in (["explain"], ["explain", "MC008"], ["validate", str(bad), str(bad)], ["schema", "list"]):
        done = process(*arguments, env=environment)
        assert done.returncode in (0, 1)
        assert done.stderr == b""


# --- init ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_init(run: Call, track: str) -> None:
    """A new folder holds a valid set of files of the track, and its paths are printed."""
    code, out, err = run("init", track, "a/demo")
    assert code == 0
    assert out.splitlines() == sorted(str(path) for path in Path("a/demo").rglob("*") if path.is_file())
    assert err == "Next: medcontract validate a/demo\n"
    ran = run("validate", "--format", "json", "a/demo")
    assert ran.code == 0
    data = [name for name in out.splitlines() if Path(name).suffix in (".json", ".jsonl", ".csv")]
    assert sorted(file["path"] for file in ran.json["files"]) == data
    assert [file["problems"] for file in ran.json["files"]] == [[]] * len(data)
    assert {file["contract"].split("/")[0] for file in ran.json["files"]} == {track}


ABOUT_ONE_SUBMISSION = {
    "extraction": ["1 of 12 labeled documents were not parsed or have an 'exception': more than 5 %"],
    "lesions": ["t_min_ms and t_max_ms come from a single submission: its part for time is 1, whatever its time"],
    "reports": ["there is a single run: the source averages several"],
}
"""What scores of the example files warn of, on purpose."""


@pytest.mark.parametrize("track", TRACKS)
def test_warnings_about_examples(run: Call, track: str) -> None:
    """Neither validate nor preflight nor score has another warning about the files of `init`."""
    run("init", track, "demo")
    images = ("--images", "demo") if track == "lesions" else ()  # as in its README
    for call in (("validate", "demo"), ("preflight", "demo", *images), ("score", "demo")):
        ran = run(*call)
        assert ran.code == 0
        assert "skip  " not in ran.out
        assert ("pass  " in ran.out) == (call[0] == "preflight")
        warned = [line.removeprefix("warning: ") for line in ran.out.splitlines() if "warning" in line]
        expected = ABOUT_ONE_SUBMISSION.get(track, []) if call[0] == "score" else []
        assert [line.split(" (--")[0] for line in warned] == expected
        assert (run(*call, "--strict") == ran) is (track not in ABOUT_ONE_SUBMISSION or call[0] == "validate")


def test_init_copies_no_bytecode(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip compiles the scripts of an example when it installs the package; that is not part of the example."""
    home = tmp_path / "examples" / "lesions"
    (home / "__pycache__").mkdir(parents=True)
    (home / "__pycache__" / "run_inference.cpython-311.pyc").write_bytes(b"")
    (home / "run_inference.py").write_bytes(b"")
    monkeypatch.setattr("medcontract.example_files.EXAMPLES", home.parent)
    assert run("init", "lesions", "demo").out.splitlines() == [str(Path("demo/run_inference.py"))]


def test_init_refuses_to_overwrite(run: Call) -> None:
    """What is there is not overwritten, and then nothing at all is written; --force overwrites."""
    Path("demo").mkdir()
    Path("demo/truth.json").write_bytes(b"mine")
    code, out, err = run("init", "reports", "demo")
    assert (code, out) == (2, "")
    assert "truth.json" in err
    assert "--force" in err
    assert os.listdir("demo") == ["truth.json"]
    assert Path("demo/truth.json").read_bytes() == b"mine"
    assert run("init", "--force", "reports", "demo").code == 0
    assert run("validate", "demo").code == 0


def test_init_into_a_folder_with_other_files(run: Call) -> None:
    """Files of other names stay where they are."""
    Path("notes.txt").write_bytes(b"mine")
    assert run("init", "lesions", ".").code == 0
    assert Path("notes.txt").read_bytes() == b"mine"


# --- explain -------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["MC104", "mc104", "104", "Mc104"])
def test_explain(run: Call, spelling: str) -> None:
    """A code may be written in any case, or as its number."""
    code, out, err = run("explain", spelling)
    assert (code, err) == (0, "")
    assert out.startswith("MC104  Unknown value\n")


def test_explain_all(run: Call) -> None:
    """Without a code, all are listed."""
    assert [line.split()[0] for line in run("explain").out.splitlines()] == list(problem_codes())


@pytest.mark.parametrize("code", ["MC999", "mc1044", "MC14", "1040"])
def test_explain_an_unknown_code(run: Call, code: str) -> None:
    """An unknown code is a usage error, with the nearest known one."""
    ran = run("explain", code)
    assert (ran.code, ran.out) == (2, "")
    assert f"unknown problem code '{code}'" in ran.err
    assert "did you mean 'MC" in ran.err


# --- schema --------------------------------------------------------------------------------------


def test_schema_export_and_check(run: Call) -> None:
    """What is exported is up to date; a stale, unsound, unreadable, missing or surplus file is told: exit 1."""
    ran = run("schema", "export", "out")
    assert (ran.code, ran.out) == (0, "")
    assert run("schema", "check", "out").code == 0
    whole = Path("out/lesions/truth/v1.json").read_text(encoding="utf-8")
    Path("out/lesions/truth/v1.json").write_text(whole + " ", encoding="utf-8")
    Path("out/lesions/truth/v1.record.json").write_text("{", encoding="utf-8")
    Path("out/lesions/cases/v1.json").write_text(whole.replace('"object"', '"objekt"', 1), encoding="utf-8")
    Path("out/lesions/model/v1.json").write_bytes(b"\xff")
    Path("out/reports/truth/v1.json").unlink()
    Path("out/lesions/truth/v2.json").write_text(whole, encoding="utf-8")
    code, out, _ = run("schema", "check", "out")
    told = [line.split(": ", 1) for line in out.splitlines()]
    assert code == 1
    for name, words in {
        "out/lesions/truth/v1.json": "stale", "out/lesions/truth/v1.record.json": "not JSON",
        "out/lesions/cases/v1.json": "meta-schema", "out/lesions/model/v1.json": "cannot be read",
        "out/reports/truth/v1.json": "missing", "out/lesions/truth/v2.json": "not in the index",
    }.items():  # fmt: skip
        assert any(words in line[1] for line in told if line[0] == name), name
    assert len({line[0] for line in told}) == 6


def test_schema_check_of_the_published(run: Call) -> None:
    """The schemas in this repository match the current models."""
    assert run("schema", "check", SCHEMAS).code == 0


def test_schema_check_of_another_folder(run: Call) -> None:
    """A folder that was not exported is a usage error: its files are not schemas to remove."""
    assert run("init", "reports", "reports").code == 0
    code, out, err = run("schema", "check", "reports")
    assert (code, out) == (2, "")
    assert "no index.json: not a folder of exported schemas" in err
    assert "rm " not in err


def test_schema_export_of_some(run: Call) -> None:
    """Only the contracts that are named are exported."""
    assert run("schema", "export", "out", "lesions/model", "reports/truth").code == 0
    written = sorted(str(path) for path in Path("out").rglob("*.json"))
    assert {path for path in written if "index" not in path} == {
        "out/lesions/model/v1.json", "out/reports/truth/v1.json", "out/reports/truth/v1.record.json",
    }  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [["--version"], ["explain", "MC104"], ["schema", "list"]])
def test_a_full_disk(arguments: list[str]) -> None:
    """Where standard output cannot be written the call fails with 2, without a traceback."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-"])
def test_closed_streams(closing: str, tmp_path: Path) -> None:
    """A stream that the caller closed is no reason for a traceback."""
    (tmp_path / "x.jsonl").write_text('{"image_id": "I-1", "label": "MEL"}')
    command = f"{shlex.join(COMMAND)} validate {shlex.quote(str(tmp_path / 'x.jsonl'))} {closing}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602  # for its redirections
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_pipes_in_a_folder_are_not_opened(run: Call, tmp_path: Path) -> None:
    """Walking a folder never waits for somebody to write to a pipe in it; it is named."""
    os.mkfifo(tmp_path / "a.json")
    (tmp_path / "x.jsonl").write_text('{"image_id": "I-1", "label": "MEL"}')
    ran = run("validate", tmp_path)
    assert ran.code == 2
    assert "a.json: error MC003" in ran.out
    assert "x.jsonl: ok" in ran.out
