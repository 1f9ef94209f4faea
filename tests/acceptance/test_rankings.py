"""Rankings: ties and tie-breakers, identical submissions, teams and attempts, columns, blind phases, links."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.challenge_files import SMALL
from tests.commands import SENT, Call, sent_file, truth_file
from tests.support import published

TIED = SMALL.replace(
    """[score]
headline = "accuracy"
""",
    """[[metric]]
name = "days"
kind = "mae"
field = "days"
unprocessed = 10
[score]
headline = "accuracy"
tie_breakers = ["days"]
""",
).replace(
    'label = { one_of = ["yes", "no"] }',
    'label = { one_of = ["yes", "no"] }\ndays = { type = "integer", min = 0, max = 10 }',
)
LABELS = ("yes", "no", "yes", "no")


@pytest.fixture
def board(call: Call) -> Call:
    return partial(call, "leaderboard", "--format", "json")


@pytest.fixture
def risk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a challenge and its truth, as the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(TIED)
    _table("truth.csv", LABELS, (1, 2, 3, 4))
    return tmp_path


def _table(name: str, labels: Sequence[str], days: Sequence[int]) -> None:
    rows = [f"K{n},{label},{day}" for n, (label, day) in enumerate(zip(labels, days, strict=True))]
    Path(name).write_text("\n".join(["case_id,label,days", *rows]) + "\n")


USE = ("--challenge", "c.toml")


def _ranks(envelope: Any) -> list[tuple[int | None, str]]:
    return [(each["rank"], each["name"]) for each in envelope["submissions"]]


@pytest.mark.parametrize("track", SENT)
def test_ties_share_a_rank(board: Call, tmp_path: Path, track: str) -> None:
    """Two that are equal are both first, the next is third; the name only orders the rows."""
    truth = truth_file(tmp_path, track)
    for name in "bac":
        sent_file(tmp_path / name, track)
    folder = tmp_path / "c"
    left = SENT[track][:-1]
    sent_file(folder, track, left)
    envelope = board(truth, *(tmp_path / name for name in "bac")).json
    assert _ranks(envelope) == [(1, "a"), (1, "b"), (3, "c")]


def test_tie_breakers_come_before_the_name(board: Call, risk: Path) -> None:
    """The error in days decides between equal accuracies, lower first; what is equal in both shares a rank."""
    _table("a.csv", LABELS, (1, 2, 3, 8))
    _table("b.csv", LABELS, (1, 2, 3, 5))
    _table("c.csv", LABELS, (2, 2, 3, 4))
    _table("d.csv", ("no", *LABELS[1:]), (1, 2, 3, 4))
    envelope = board("truth.csv", "a.csv", "b.csv", "c.csv", "d.csv", *USE).json
    assert _ranks(envelope) == [(1, "b.csv"), (1, "c.csv"), (3, "a.csv"), (4, "d.csv")]
    assert not [warning for warning in envelope["warnings"] if "identical" in warning]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ('["day"]', "score.tie_breakers[0]: no metric and no sum is named 'day'"),
        ('["accuracy"]', "score.tie_breakers[0]: this is the headline, which is compared first"),
        ('["days", "days"]', "score.tie_breakers[1]: repeats an earlier value"),
        ('"days"', "score.tie_breakers: "),
    ],
)
def test_wrong_tie_breakers(call: Call, risk: Path, given: str, problem: str) -> None:
    Path("bad.toml").write_text(TIED.replace('["days"]', given))
    ran = call("challenge", "check", "bad.toml", "--format", "json")
    assert ran.code == 1
    assert [each["message"] for each in ran.json["files"][0]["problems"] if each["message"].startswith(problem)]


def test_tie_breakers_are_in_the_fingerprint(risk: Path) -> None:
    from medcontract import Challenge

    with_, without = (Challenge.load(text.encode()).fingerprint for text in (TIED, TIED.replace('["days"]', "[]")))
    assert with_ != without


def test_identical_predictions_are_named(board: Call, risk: Path) -> None:
    """In another order and container they are the same; with one different record they are not, at equal figures."""
    _table("a.csv", ("no", *LABELS[1:]), (1, 2, 3, 4))
    rows = [line.split(",") for line in Path("a.csv").read_text().splitlines()[:0:-1]]
    records = [{"case_id": key, "label": label, "days": int(day)} for key, label, day in rows]
    Path("b.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    _table("c.csv", ("yes", "yes", "yes", "no"), (1, 2, 3, 4))
    envelope = board("truth.csv", "a.csv", "b.jsonl", "c.csv", *USE).json
    assert [each["rank"] for each in envelope["submissions"]] == [1, 1, 1]
    named = [warning for warning in envelope["warnings"] if "identical" in warning]
    assert named == ["a.csv, b.jsonl: their predictions are identical, record by record"]


@pytest.mark.parametrize("track", SENT)
def test_identical_predictions_of_all_tracks(board: Call, tmp_path: Path, track: str) -> None:
    """With another team name in the header, too."""
    truth = truth_file(tmp_path, track)
    for name in "ab":
        header: dict[str, Any] = {"extraction": {}, "benchmark": {"model_id": name}}.get(track, {"team_name": name})
        sent_file(tmp_path / name, track, **header)
    envelope = board(truth, tmp_path / "a", tmp_path / "b").json
    assert [warning for warning in envelope["warnings"] if "identical, record by record" in warning]
    alone = board(truth, tmp_path / "a").json
    assert not [warning for warning in alone["warnings"] if "identical" in warning]


# --- teams and attempts


@pytest.fixture
def attempts(risk: Path) -> Path:
    """Two attempts of each of two teams; the last one of Ibis is worse."""
    _table("i1.csv", LABELS, (1, 2, 3, 4))
    _table("i2.csv", ("no", "yes", "yes", "no"), (1, 2, 3, 4))
    _table("k1.csv", ("no", "yes", "no", "yes"), (1, 2, 3, 4))
    _table("k2.csv", ("no", *LABELS[1:]), (1, 2, 3, 4))
    Path("teams.csv").write_text("submission,team\ni1.csv,Ibis\nk1,Kite\n./i2.csv,Ibis\nk2.csv,Kite\n")
    return risk


FOUR = ("truth.csv", "i1.csv", "i2.csv", "k1.csv", "k2.csv", *USE)


@pytest.mark.parametrize(
    ("which", "ranks"),
    [
        ("best", [(1, "Ibis", "i1.csv"), (2, "Kite", "k2.csv")]),
        ("last", [(1, "Kite", "k2.csv"), (2, "Ibis", "i2.csv")]),
        ("all", [(1, "Ibis", "i1.csv"), (2, "Kite", "k2.csv"), (3, "Ibis", "i2.csv"), (4, "Kite", "k1.csv")]),
    ],
)
def test_attempts(board: Call, attempts: Path, which: str, ranks: list[tuple[int, str, str]]) -> None:
    """One row for each team: its best submission, or the one that the table lists last."""
    envelope = board(*FOUR, "--teams", "teams.csv", "--attempts", which).json
    published("medcontract/leaderboard").validate(envelope)
    assert [(each["rank"], each["team_name"], each["name"]) for each in envelope["submissions"]] == ranks
    said = f"2 other attempts of the teams not ranked (--attempts {which})"
    assert (said in envelope["warnings"]) == (which != "all")


def test_the_table_comes_before_the_files(board: Call, tmp_path: Path) -> None:
    """A file that names another team than the organizer gets a warning, and does not change the rows of others."""
    truth = truth_file(tmp_path, "reports")
    for name in ("a", "b"):
        sent_file(tmp_path / name, "reports", team_name="Ibis")
    table = tmp_path / "teams.csv"
    table.write_text("submission,team\na,Ibis\nb,Kite\n")
    rows = board(truth, tmp_path / "a", tmp_path / "b", "--teams", table, "--attempts", "best").json["submissions"]
    assert [(each["name"], each["team_name"]) for each in rows] == [("a", "Ibis"), ("b", "Kite")]
    warned = ["--teams names another team" in " ".join(each["warnings"]) for each in rows]
    assert warned == [False, True]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("submission,group\ni1.csv,Ibis\n", "there is no column 'team'"),
        ("submission,team\ni1.csv,\n", "row 1 has no submission or no team"),
        ("submission,team\ni1.csv,Ibis\ni1,Ibis\n", "i1 is listed twice"),
        (None, "no such file"),
    ],
)
def test_wrong_tables(call: Call, attempts: Path, table: str | None, words: str) -> None:
    Path("teams.csv").unlink()
    if table is not None:
        Path("teams.csv").write_text(table)
    ran = call("leaderboard", *FOUR, "--teams", "teams.csv")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_broken_table_is_wrong_data(call: Call, attempts: Path) -> None:
    Path("teams.csv").write_text('submission,team\n"i1.csv,Ibis\n')
    ran = call("leaderboard", *FOUR, "--teams", "teams.csv")
    assert (ran.code, ran.out) == (1, "")
    assert "teams.csv:2" in ran.err


def test_attempts_need_a_table(call: Call, attempts: Path) -> None:
    """Otherwise a submission could remove another one by claiming its team."""
    ran = call("leaderboard", *FOUR, "--attempts", "best")
    assert ran.code == 2
    assert "--attempts best requires --teams FILE" in ran.err


def test_unknown_and_unlisted_submissions(board: Call, attempts: Path) -> None:
    Path("teams.csv").write_text("submission,team\ni1.csv,Ibis\nx.csv,Ibis\n")
    envelope = board("truth.csv", "i1.csv", "k1.csv", *USE, "--teams", "teams.csv").json
    assert "--teams: there is no submission x.csv: ignored" in envelope["warnings"]
    assert "--teams does not list k1.csv" in envelope["warnings"]


# --- what is shown


def test_columns(call: Call, attempts: Path) -> None:
    """Pages show the figures that are asked for, in that order, after the one they are ranked by."""
    text = call("leaderboard", *FOUR, "--columns", "days", "--format", "markdown").out
    assert "| team | accuracy | days ↓ |" in text
    text = call("leaderboard", *FOUR, "--columns", "days,accuracy", "--format", "markdown").out
    assert "| team | days ↓ | accuracy |" in text
    ran = call("leaderboard", *FOUR, "--columns", "day")
    assert (ran.code, "did you mean 'days'?" in ran.err) == (2, True)


def test_blind(call: Call, board: Call, attempts: Path) -> None:
    """Who is in, by name, and whether it is valid; no rank and no figure, in any format."""
    Path("z.csv").write_text("case_id,label,days\nK0,yes,1\n")
    envelope = board(*FOUR, "z.csv", "--blind").json
    published("medcontract/leaderboard").validate(envelope)
    assert envelope["blind"] is True
    assert _ranks(envelope) == [(None, name) for name in ("i1.csv", "i2.csv", "k1.csv", "k2.csv", "z.csv")]
    assert {(each["headline"], json.dumps(each["figures"])) for each in envelope["submissions"]} == {(None, "{}")}
    for format_ in ("text", "markdown", "html", "csv"):
        ran = call("leaderboard", *FOUR, "z.csv", "--blind", "--format", format_)
        assert ran.code == 0
        assert "k2.csv" in ran.out
        shown = re.sub(r"(?s)<style>.*?</style>|fingerprint.*|Parameters.*", "", ran.out)
        assert not re.search(r"0\.[257]5|\b1\.0", shown)


def test_pages_link_to_each_other(call: Call, attempts: Path) -> None:
    """The board links to the report of each submission, and each report to the board, with its rank and team."""
    given = (*FOUR, "--teams", "teams.csv", "--reports", "feed back", "--format", "html", "--out", "board.html")
    assert call("leaderboard", *given).code == 0
    page = Path("board.html").read_text()
    assert "Risk" not in page
    assert '<a href="feed%20back/k2.html">' in page
    report = Path("feed back/k2.html").read_text()
    assert '<a href="../board.html">Leaderboard</a>' in report
    assert "Team Kite." in report
    assert "Rank 2." in report
    assert call("leaderboard", *given, "--blind", "--participant").code == 0
    assert "Rank" not in Path("feed back/k2.html").read_text()
    assert "Team Kite." in Path("feed back/k2.html").read_text()


def test_markdown_links(call: Call, attempts: Path) -> None:
    assert call("leaderboard", *FOUR, "--reports", "feedback", "--out", "board.md").code == 0
    assert "[1. i1.csv](feedback/i1.md)" in Path("board.md").read_text()
    assert "[Leaderboard](../board.md)" in Path("feedback/i1.md").read_text()


def test_the_title_of_the_challenge(call: Call, risk: Path) -> None:
    Path("c.toml").write_text(TIED.replace('id = "risk"', 'id = "risk"\ntitle = "Risk of a fall"'))
    _table("a.csv", LABELS, (1, 2, 3, 4))
    page = call("leaderboard", "truth.csv", "a.csv", *USE, "--format", "html").out
    assert "<h1>Risk of a fall: leaderboard</h1>" in page
    page = call("score", "truth.csv", "risk/predictions=a.csv", *USE, "--format", "markdown").out
    assert page.startswith("# Risk of a fall: score\n")
