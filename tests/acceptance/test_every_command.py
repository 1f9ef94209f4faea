"""What holds for every command, as tables: usage errors, --out, colors, and names on a terminal."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.commands import SENT, TRUTH, Call, all_files, on_a_terminal, sent_file, truth_file
from tests.scoring_files import answer, document, guess, model
from tests.support import lesions

import medcontract
from medcontract import rendering
from medcontract.cli.main import COMMANDS

LESIONS = str(Path(medcontract.__file__).parent / "examples" / "lesions")

# --- usage errors

USAGE_ERRORS = """
 | Usage: medcontract
--nothing | No such option
nothing | No such command 'nothing'

validate | Missing argument 'FILE...'
validate --nothing x | No such option
validate nothing.json | no such file
validate --contract no/such good.jsonl | unknown contract 'no/such'
validate no/such=good.jsonl | unknown contract 'no/such'
validate --format yaml good.jsonl | 'yaml'
validate --max-problems -1 good.jsonl | -1
validate --max-problems many good.jsonl | many
validate --contract lesions/model good.jsonl | lesions/model
validate unknown.json | MC009
validate --out . good.jsonl | is a folder
validate --out no-folder/x.json good.jsonl | no-folder

fix nothing.json | no such file
fix x.json.gz | compressed
fix empty | is a folder
fix - | standard input
fix x.parquet | x.parquet

template reports/predictions | --cases
template reports/prediction --cases cases.csv | did you mean 'reports/predictions'?
template reports/telemetry --cases cases.csv | no template
template medcontract/score --cases cases.csv | no template
template lesions/predictions --cases cases.csv | pass a file of lesions/truth or lesions/cases
template reports/predictions --cases nothing.csv | nothing.csv
template reports/predictions --cases none.csv | there are no cases
template reports/predictions --cases cases.csv --out x.xlsx | no format has this extension
template reports/predictions --cases cases.csv --out cases.csv | an input of this call
template reports/predictions --cases - | standard input needs a contract

score | FILE
score nothing.json | no such file
score truth.json unknown.json | unknown.json
score truth.json empty | no data files
score truth.json sent.json --t-min-ms 5 | t_max_ms
score truth.json sent.json --t-max-ms 5 | t_min_ms
score truth.json sent.json --t-min-ms 6 --t-max-ms 5 | larger
score truth.json sent.json --t-min-ms soon --t-max-ms 5 | soon
score truth.json sent.json --t-min-ms 1 --t-max-ms 2 --parameter t_min_ms=3 | is given twice
score truth.json sent.json --match fuzzy | --match is an option of the track extraction, not of lesions
score truth.json sent.json --parameter nonsense=1 | nonsense
score truth.json sent.json --parameter min_processed | NAME=VALUE
score truth.json sent.json --format yaml | yaml
score truth.json sent.json --out no-folder/x.json | no-folder
score truth.json sent.json --nothing | No such option
score truth.json sent.json --max-problems -1 | -1
score truth.json - | standard input
score no/such=truth.json sent.json | no/such

preflight nothing.json | no such file
preflight empty | no data files
preflight unknown | nothing to score
preflight sent.json other.json | different tracks
preflight sent.json second.json | team_name
preflight sent.json model.json model2.json | lesions/model
preflight sent.json --images no-folder | no-folder
preflight sent.json --parameter nonsense=1 | nonsense
preflight sent.json --parameter min_processed=NaN | at most 1
preflight sent.json --set nonsense=1 | nonsense
preflight sent.json --set team_name=Other | team_name
preflight sent.json truth.json --set nonsense=1 | nonsense
preflight sent.json truth.json --set team_name=Other | team_name
preflight sent.json --format docx | docx
preflight sent.json --out no-folder/x | no-folder
preflight - | standard input

leaderboard | TRUTH
leaderboard truth.json | DIR
leaderboard nothing.json sent.json | no such file
leaderboard unknown.json sent.json | unknown.json
leaderboard truth.json sent.json --parameter nonsense=1 | nonsense
leaderboard truth.json sent.json --parameter min_processed=2 | at most 1
leaderboard truth.json sent.json --t-min-ms 1 | t_max_ms
leaderboard truth.json sent.json --set nonsense=1 | nonsense
leaderboard truth.json sent.json --jobs 0 | 0
leaderboard truth.json sent.json --format yaml | yaml
leaderboard truth.json sent.json --out no-folder/x | no-folder

compare truth.json truth.json | expected a score, got lesions/truth
verify truth.json | FILE
verify truth.json truth.json sent.json | expected a score, got lesions/truth
verify nothing.json truth.json sent.json | no such file

rehearse - | standard input
rehearse nothing.csv | no such file
rehearse truth.json --platform x | --platform
rehearse sent.json | contains no truth

protocol show | TRACK
protocol show nonsense | 'nonsense' cannot be scored
protocol show reports lesions | unexpected extra argument
protocol show reports --format yaml | yaml
protocol list reports | unexpected extra argument
protocol list --out no-folder/x | no-folder
protocol nothing | No such command 'nothing'
protocol freeze lesions | --out
protocol freeze nothing --out x.json | 'nothing' cannot be scored
protocol freeze lesions --note ' ' --out x.json | note
protocol freeze lesions --parameter x=1 --out x.json | 'x'
protocol freeze reports --truth truth.json --out x.json | lesions
protocol freeze lesions --truth sent.json --out x.json | truth
protocol check nothing.json | no such file

challenge new | DIR
challenge new demo --truth nothing.csv | no such file
challenge check nothing.toml | nothing.toml
challenge rehearse nothing.toml --truth truth.json | nothing.toml

bundle kaggle --truth truth.json --out new | kaggle
bundle evalai --out new | Missing option '--truth'
bundle evalai --truth truth.json | Missing option '--out'
bundle codabench --truth - --out new | a bundle needs files, not standard input
bundle codabench --truth nothing.csv --out new | nothing.csv
bundle codabench --truth truth.json --rank-by auroc --out new | use one of: final_score
bundle codabench --truth truth.json --title ' ' --out new | the title is blank
bundle codabench --truth sent.json --out new | contains no truth
bundle codabench --truth truth.json --parameter x=1 --out new | 'x'
bundle codabench --truth truth.json --out truth.json | is not a folder
bundle page --contract lesions/nothing | unknown contract
bundle page --cases unknown.json | unknown.json
bundle page --contract triage/response --cases cases.csv | triage/response

conformance run -- ./nothing | cannot start ./nothing
conformance run --suite empty -- true | there is no conformance suite in

schema show | ID
schema show no/such | unknown contract 'no/such'
schema show --record lesions/model | lesions/model
schema export good.jsonl | good.jsonl
schema export new no/such | unknown contract 'no/such'
schema check no-folder | no-folder
schema nothing | No such command 'nothing'
schema diff | OLD
schema diff reports/truth | NEW
schema diff nothing.json reports/truth | nothing.json
schema diff reports/truth no/such | no/such
schema diff empty empty | empty
schema diff lesions/model lesions/model --record | lesions/model
schema diff reports/truth reports/truth --format html | html

explain MC999 | MC999
explain nonsense | nonsense
explain --out no-folder/x.json | no-folder
normalize | TEXT
init | TRACK
init nothing new | unknown track 'nothing'
init reports | DIR
init reports good.jsonl | good.jsonl
init reports good.jsonl/x | good.jsonl
cache info empty | no cache
cache clear no-folder | no-folder
"""
ERRORS = [tuple(map(str.strip, line.split("|"))) for line in USAGE_ERRORS.splitlines() if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A truth, submissions, cases, and files that are neither."""
    all_files(tmp_path, "lesions")
    sent_file(tmp_path, "triage", name="other.json")
    sent_file(tmp_path, "lesions", name="second.json", team_name="Other")
    document(tmp_path, "model2", model())
    for name in ("empty", "unknown"):
        (tmp_path / name).mkdir()
    files = {
        "unknown.json": '{"colour": "green"}', "unknown/x.json": '{"colour": "green"}',
        "good.jsonl": lesions(3).decode(),
        "cases.csv": "report_id,content\nR-1,x\n", "none.csv": "report_id,content\n",
        "x.json.gz": "\x1f", "x.parquet": "PAR1" + "\0" * 20,
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("line", "words"), ERRORS, ids=[line for line, _ in ERRORS])
def test_usage_errors(call: Call, folder: Path, line: str, words: str) -> None:
    """Exit code 2, nothing is written, and one stream says what is wrong: the report, if `validate` made one."""
    before = sorted(folder.rglob("*"))
    code, out, err = call(*shlex.split(line))
    assert code == 2
    assert words in (out or err)
    if line.startswith(("validate", "challenge check")) and out:
        assert err == ""
    else:
        assert (out, err.startswith(("medcontract: ", "Usage: medcontract"))) == ("", True)
    assert sorted(folder.rglob("*")) == before


def test_every_command_has_a_usage_error() -> None:
    """A new command gets lines in the table."""
    assert set(COMMANDS) <= {line.partition(" ")[0] for line, _ in ERRORS}


# --- --out and colors

RESULTS: dict[str, list[str]] = {
    "Validation": ["validate", LESIONS],
    "Preflight": ["preflight", LESIONS],
    "Score": ["score", LESIONS],
    "Leaderboard": ["leaderboard", LESIONS, LESIONS],
    "Comparison": ["compare", "a.json", "a.json"],
    "Verification": ["verify", "a.json", LESIONS],
    "Explanation": ["explain", "MC104"],
    "ContractList": ["schema", "list"],
    "SchemaDiff": ["schema", "diff", "lesions/truth", "lesions/truth"],
    "Normalization": ["normalize", "5 µg"],
    "Protocol": ["protocol", "show", "lesions"],
    "ProtocolList": ["protocol", "list"],
    "ProtocolCheck": ["protocol", "check", "p.json"],
}
"""A command for each kind of result that has --format and --out."""
ENDINGS = {".json": "json", ".JSON": "json", ".txt": "text", "": "text", ".md": "markdown", ".html": "html"}


@pytest.fixture
def ready(call: Call) -> Call:
    """The command line in a folder that has a score and a frozen protocol."""
    Path("a.json").write_text(medcontract.score(LESIONS).to_json(), encoding="utf-8")
    Path("p.json").write_text(medcontract.freeze_protocol("lesions").to_json(), encoding="utf-8")
    return call


@pytest.mark.parametrize("result", RESULTS)
def test_out(result: str, ready: Call) -> None:
    """A file gets what standard output would in the format of --format, or else of its extension."""
    arguments, formats = RESULTS[result], rendering.formats_of(result)
    printed = {format_: ready(*arguments, "--format", format_) for format_ in formats}
    for format_, ran in printed.items():
        assert ready(*arguments, "--format", format_, "--out", "x.csv") == (ran.code, "", ran.err)
        assert Path("x.csv").read_text(encoding="utf-8") == ran.out
    for ending, format_ in ENDINGS.items():
        if format_ in formats:
            assert ready(*arguments, "--out", f"y{ending}").out == ""
            assert Path(f"y{ending}").read_text(encoding="utf-8") == printed[format_].out


@pytest.mark.parametrize("result", RESULTS)
def test_an_unknown_extension(result: str, ready: Call) -> None:
    """It is a usage error that lists the formats with their extensions, and nothing is written."""
    formats = rendering.formats_of(result)
    for ending in (".xlsx", ".htm", ".json.gz", *(ending for ending, each in ENDINGS.items() if each not in formats)):
        ran = ready(*RESULTS[result], "--out", f"x{ending}")
        assert (ran.code, ran.out) == (2, "")
        assert "no format has the extension" in ran.err
        assert "text (.txt or no extension), json (.json)" in ran.err
        assert ("markdown (.md)" in ran.err) == ("markdown" in formats)
        assert not Path(f"x{ending}").exists()


@pytest.mark.parametrize("result", RESULTS)
def test_colors(result: str, ready: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text on a terminal has colors; --no-color, NO_COLOR, other formats and files have the same text without."""
    on_a_terminal(monkeypatch)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *arguments: False)
    arguments = RESULTS[result]
    colored = ready(*arguments).out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert plain != colored
    assert ready(*arguments, "--no-color").out == plain
    ready(*arguments, "--out", "x.txt")
    assert Path("x.txt").read_text(encoding="utf-8") == plain
    for format_ in {*rendering.formats_of(result)} - {"text"}:
        ran = ready(*arguments, "--format", format_)
        assert ("\x1b" in ran.out, bool(ran.out)) == (False, True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert ready(*arguments).out == plain


# --- names on a terminal

RAW = "x\x1b[2J\nVALID  1. READY"


@pytest.mark.parametrize("command", ["validate", "preflight", "score", "leaderboard"])
def test_names_do_not_reach_the_terminal_raw(command: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control characters in the name of a team, of a run or in a value are replaced, and begin no line."""
    on_a_terminal(monkeypatch)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *arguments: False)
    here = Path()
    guesses = [{**guess(RAW, "NV"), RAW: 1}, *SENT["lesions"]]
    runs = [answer(true, 9, run=RAW) for true in TRUTH["reports"]]
    shown = ""
    for files in (
        [truth_file(here, "lesions"), sent_file(here, "lesions", guesses, team_name=RAW)],
        [truth_file(here / "r", "reports"), sent_file(here / "r", "reports", runs)],
    ):
        out = call(command, *files, "--no-color").out
        assert [character for character in out if not character.isprintable() and character != "\n"] == []
        assert sum(line.startswith(("VALID", "1. READY")) for line in out.splitlines()) <= 1
        shown += out
    assert "[2J" in shown
