"""Phases of a challenge: --phase and --phase-key on score, preflight and leaderboard."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.support import ROOT

from medcontract import Challenge

FALLS = ROOT / "examples/falls"
BOTH = ("public", "private")


@pytest.fixture
def falls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, as the current folder."""
    folder = tmp_path / "falls"
    shutil.copytree(FALLS, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEDCONTRACT_CHALLENGE", "challenge.toml")
    return folder


def _in(phase: str) -> tuple[str, ...]:
    return ("--phase", phase, "--phase-key", "phase.key")


def _score(call: Call, phase: str, *more: str) -> Any:
    return call("score", "truth.csv", "submissions/heron", *_in(phase), "--format", "json", *more).json


def test_the_phases_divide_the_cases(call: Call, falls: Path) -> None:
    """Every case is in one phase, and all stays of a patient are in the same one."""
    found = {phase: _score(call, phase)["processing"] for phase in BOTH}
    assert [found[phase]["expected"] for phase in BOTH] == [43, 61]
    assert [found[phase]["elsewhere"] for phase in BOTH] == [61, 43]
    whole = call("score", "truth.csv", "submissions/heron", "--format", "json").json
    assert "elsewhere" not in whole["processing"]
    assert whole["processing"]["failed"] == sum(found[phase]["failed"] for phase in BOTH) == 2


def test_a_submission_for_one_phase_only(call: Call, falls: Path) -> None:
    """Cases of the other phase need no record; existing ones are neither unknown nor missing."""
    lines = Path("submissions/heron/predictions.csv").read_text().splitlines()
    kept = [
        line for line in lines[1:]
        if _valid(call, [lines[0], line], "public")
    ]  # fmt: skip
    assert len(kept) == 43
    Path("one.csv").write_text("\n".join([lines[0], *kept]) + "\n")
    one = call("score", "truth.csv", "one.csv", *_in("public"), "--format", "json").json
    both = _score(call, "public")
    assert (one["result"], one["processing"]["elsewhere"], one["problems"]) == (both["result"], 0, [])


def _valid(call: Call, lines: list[str], phase: str) -> bool:
    Path("line.csv").write_text("\n".join(lines) + "\n")
    ran = call("score", "truth.csv", "line.csv", *_in(phase), "--parameter", "min_processed=0", "--format", "json")
    return bool(ran.json["processing"]["elsewhere"] == 0)


def test_problems_of_the_other_phase(call: Call, falls: Path) -> None:
    """Records of the other phase are validated; an id that is in no phase is unknown."""
    path = Path("submissions/heron/predictions.csv")
    lines = path.read_text().splitlines()
    broken = [lines[0], *(line.replace(",none,", ",nothing,") for line in lines[1:]), "X-1,0.5,none,"]
    path.write_text("\n".join(broken) + "\n")
    found = {phase: _score(call, phase, "--parameter", "min_processed=0")["problems"] for phase in BOTH}
    codes = [sorted({problem["code"] for problem in found[phase]}) for phase in BOTH]
    assert codes == [["MC104", "MC303"]] * 2


def test_the_phase_is_in_the_fingerprint(call: Call, falls: Path) -> None:
    prints = {_score(call, phase)["protocol"]["fingerprint"] for phase in BOTH}
    Path("phase.key").write_bytes(b"another key of sixteen bytes")
    prints |= {_score(call, "public")["protocol"]["fingerprint"]}
    prints |= {Challenge.load("challenge.toml").fingerprint}
    text = Path("challenge.toml").read_text()
    Path("challenge.toml").write_text(text.replace("public = 0.4", "public = 0.5"))
    prints |= {Challenge.load("challenge.toml").fingerprint}
    assert len(prints) == 5


@pytest.mark.parametrize("command", ["score", "preflight", "leaderboard"])
def test_the_key_is_never_shown(call: Call, falls: Path, command: str) -> None:
    """Only its hash is, in the protocol."""
    secret = Path("phase.key").read_bytes()
    for format_ in ("text", "json", "markdown", "html"):
        ran = call(command, "truth.csv", "submissions/heron", *_in("public"), "--format", format_)
        assert ran.code == 0
        assert secret.decode() not in ran.out + ran.err
        if format_ == "json":
            assert hashlib.sha256(secret).hexdigest() in ran.out


def test_preflight_and_leaderboard(call: Call, falls: Path) -> None:
    """They restrict the expected cases in the same way, in one process and in several."""
    ready = call("preflight", "truth.csv", "submissions/heron", *_in("private"), "--format", "json").json
    assert ready["ready"]
    assert ready["score"]["result"] == _score(call, "private")["result"]
    arguments = (
        "leaderboard",
        "truth.csv",
        "submissions/heron",
        "submissions/crane",
        *_in("private"),
        "--format",
        "json",
    )
    board = call(*arguments).json
    assert [each["processing"]["expected"] for each in board["submissions"]] == [61, 61]
    assert [each["processing"]["elsewhere"] for each in board["submissions"]] == [43, 43]
    heron = next(each for each in board["submissions"] if each["name"] == "heron")
    assert heron["figures"]["auroc"] == _score(call, "private")["result"]["metrics"]["auroc"]
    assert call(*arguments, "--jobs", "2").json == board


def test_a_missing_case_of_the_phase(call: Call, falls: Path) -> None:
    """Only cases of the phase can be missing."""
    path = Path("submissions/heron/predictions.csv")
    path.write_text("\n".join(path.read_text().splitlines()[:-20]) + "\n")
    lacking = [
        len([p for p in _score(call, phase, "--parameter", "min_processed=0")["problems"] if p["code"] == "MC302"])
        for phase in BOTH
    ]
    assert min(lacking) > 0
    assert sum(lacking) == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--phase", "public"), "--phase requires --phase-key FILE"),
        (("--phase-key", "phase.key"), "--phase-key requires --phase"),
        (("--phase", "public", "--phase-key", "no.key"), "cannot read no.key: no such file"),
        (("--phase", "public", "--phase-key", "short.key"), "the key has 15 bytes"),
        (("--phase", "secret", "--phase-key", "phase.key"), "'secret' is not one of 'public', 'private'"),
        (("--parameter", "phase=public"), "pass its --phase-key FILE"),
    ],
)
def test_usage_errors(call: Call, falls: Path, arguments: tuple[str, ...], words: str) -> None:
    Path("short.key").write_bytes(b"x" * 15)
    ran = call("score", "truth.csv", "submissions/heron", *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_tracks_without_phases(call: Call, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"x" * 16)
    example = ROOT / "src/medcontract/examples/lesions"
    given = (example / "truth.csv", example / "predictions.csv")
    ran = call("score", *given, "--phase", "public", "--phase-key", tmp_path / "key")
    assert (ran.code, "lesions has no phases" in ran.err) == (2, True)


def test_a_frozen_phase(call: Call, falls: Path) -> None:
    """A protocol can be frozen for a phase; then its key is enough, and another one is refused."""
    digest = hashlib.sha256(Path("phase.key").read_bytes()).hexdigest()
    frozen = ("protocol", "freeze", "falls", "--truth", "truth.csv", "--out", "p.json")
    assert call(*frozen, "--parameter", "phase=private", "--parameter", f"phase_key={digest}").code == 0
    given = ("score", "truth.csv", "submissions/heron", "--protocol", "p.json")
    ran = call(*given, "--phase-key", "phase.key", "--format", "json")
    assert ran.json["result"] == _score(call, "private")["result"]
    Path("other.key").write_bytes(b"another key of sixteen bytes")
    assert "differs from the key of the protocol" in call(*given, "--phase-key", "other.key").err


def test_a_phase_without_cases(call: Call, falls: Path) -> None:
    Path("few.csv").write_text("\n".join(Path("truth.csv").read_text().splitlines()[:2]) + "\n")
    outcomes = [call("score", "few.csv", "submissions/heron", *_in(phase)) for phase in BOTH]
    assert sorted("no case belongs to the phase" in ran.out for ran in outcomes) == [False, True]


def test_a_case_without_a_cluster(call: Call, falls: Path) -> None:
    """It is a unit of its own: null, then its key."""
    import hmac

    text = Path("challenge.toml").read_text()
    Path("challenge.toml").write_text(
        text.replace('patient_id = { type = "str", ', 'patient_id = { type = "str", optional = true, ')
    )
    lines = Path("truth.csv").read_text().splitlines()
    bare = [lines[0], *(",".join([line.split(",")[0], "", *line.split(",")[2:]]) for line in lines[1:])]
    Path("truth.csv").write_text("\n".join(bare) + "\n")
    secret = Path("phase.key").read_bytes()
    units = (json.dumps([None, line.split(",")[0]], separators=(",", ":")).encode() for line in bare[1:])
    public = sum(int.from_bytes(hmac.digest(secret, unit, "sha256")[:8]) * 5 < 2 * 2**64 for unit in units)
    assert _score(call, "public")["processing"]["expected"] == public


def test_a_new_key(call: Call, tmp_path: Path) -> None:
    """`challenge new` makes one, which nobody else can read, and never replaces it."""
    key = tmp_path / "secret.key"
    assert call("challenge", "new", tmp_path / "c", "--phase-key", key).code == 0
    first = key.read_bytes()
    assert (len(first), key.stat().st_mode & 0o077) == (64, 0)
    ran = call("challenge", "new", tmp_path / "c", "--phase-key", key, "--force")
    assert (ran.code, "already exists" in ran.err, key.read_bytes()) == (2, True, first)


@pytest.mark.parametrize("share", ["0", "1", "1.5", '"0.3"'])
def test_wrong_shares(call: Call, falls: Path, share: str) -> None:
    Path("bad.toml").write_text(Path("challenge.toml").read_text().replace("public = 0.4", f"public = {share}"))
    ran = call("challenge", "check", "bad.toml", "--format", "json")
    assert ran.code == 1
    assert "phases.public: " in ran.json["files"][0]["problems"][0]["message"]


def test_a_score_of_a_phase_is_verified(call: Call, falls: Path) -> None:
    """With the key of the organizer only, which the score does not contain."""
    Path("score.json").write_text(json.dumps(_score(call, "public", "--by", "injury"), indent=1))
    files = ("score.json", "truth.csv", "submissions/heron")
    assert call("verify", *files, "--phase-key", "phase.key").code == 0
    ran = call("verify", *files)
    assert ran.code == 2
    assert "--phase-key FILE" in ran.err
