"""A track owns what is special about it: nothing outside its own modules names it."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from collections.abc import Container, Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests import commands, scoring_files
from tests.commands import Call
from tests.properties import test_scoring_properties as properties
from tests.support import OWN_VECTORS, ROOT
from tests.unit.scoring import test_processing as processing

import medcontract
from medcontract.contracts import registry
from medcontract.contracts.registry import TRACKS
from medcontract.errors import CallError
from medcontract.modeling import Option, Roles, Scorer, Track, register_track
from medcontract.plugins import loading
from medcontract.scoring import tracks

PACKAGE = ROOT / "src" / "medcontract"
REGISTRY = PACKAGE / "contracts" / "registry.py"


def _is_own(path: Path) -> bool:
    """A module of a track: TRACK.py, contracts/TRACK.py, scoring/TRACK.py, or one of the package scoring/TRACK/."""
    folder, *rest = path.relative_to(PACKAGE).with_suffix("").parts
    return folder in TRACKS or (folder in ("contracts", "scoring") and bool(rest) and rest[0] in TRACKS)


def _names_a_track(text: str) -> bool:
    return any(text == track or text.startswith(f"{track}/") for track in TRACKS)


def _literals(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _listed_once(path: Path) -> set[int]:
    """The lines of the one list of tracks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "TRACKS"]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def test_no_other_module_names_a_track() -> None:
    """No string outside a track's own modules and the one list is the id of a track, or of a contract of one."""
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not _is_own(path) and path.relative_to(PACKAGE).parts[0] != "examples"
        for line, text in _literals(path)
        if _names_a_track(text) and not (path == REGISTRY and line in _listed_once(path))
    ]
    assert found == []


def test_the_walk_sees_names() -> None:
    """The walk over literals finds known literals."""
    assert any(_names_a_track(text) for _, text in _literals(PACKAGE / "scoring" / "lesions" / "__init__.py"))
    assert {text for line, text in _literals(REGISTRY) if line in _listed_once(REGISTRY)} >= set(TRACKS)


# --- a track of a plugin ----------------------------------------------------------------------------------------------

TOY = ROOT / "tests" / "toy_track.py"
PLUGIN = ("--plugin", str(TOY))


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """What a test registers is gone after it."""
    contracts, known, path = dict(registry.compiled()), dict(tracks._registered), list(sys.path)
    yield
    registry.registered().clear()
    registry.registered().update(contracts)
    tracks._registered.clear()
    tracks._registered.update(known)
    sys.path[:] = path
    sys.modules.pop("toy_track", None)


@pytest.fixture
def started(call: Call) -> Call:
    """A folder `demo` with the examples of the toy track."""
    assert call("init", *PLUGIN, "toy", "demo").code == 0
    return call


def test_a_track_of_a_plugin_is_validated(started: Call) -> None:
    """`init` writes its examples, and `validate` recognizes them."""
    ran = started("validate", *PLUGIN, "demo", "--format", "json")
    assert ran.code == 0
    assert [file["contract"] for file in ran.json["files"]] == ["toy/answers", "toy/truth"]


def test_a_track_of_a_plugin_is_scored(started: Call) -> None:
    """`score` gives its figures, with its option, and tables; the result keeps its contract."""
    ran = started("score", *PLUGIN, "demo", "--format", "json")
    assert (ran.code, ran.json["result"]["share_right"]) == (0, 0.75)
    folded = started("score", "demo", "--case", "ignored", *PLUGIN, "--format", "json").json
    assert (folded["result"]["share_right"], folded["protocol"]["parameters"]["case"]) == (1.0, "ignored")
    text = started("score", *PLUGIN, "demo").out
    assert "VALID  toy, Andes  share_right 0.7500" in text
    participant = started("score", *PLUGIN, "demo", "--participant", "--format", "json").json
    assert participant["result"] == {"share_right": 0.75}


def test_a_track_of_a_plugin_in_python(started: Call) -> None:
    """The same in Python; an argument that no track has is a usage error with a suggestion."""
    medcontract.load_plugin(str(TOY))
    assert medcontract.score("demo", case="ignored").result == {
        "share_right": 1.0, "items": [{"item": name, "right": 1.0} for name in "abcd"],
    }  # fmt: skip
    assert "toy" in {protocol.id for protocol in medcontract.list_protocols().protocols}
    for wrong, right in (("cas", "case"), ("wieghts", "weights"), ("job", "jobs")):
        with pytest.raises(CallError, match=f"did you mean '{right}'"):
            medcontract.score("demo", **dict[str, Any]({wrong: "1"}))


_AS_LOWER = 'Figure(name="right", about="of an item", by="case", lower_is_better=True), Figure('
"""The figure of items, for which lower is better, before the figure of all items."""


def test_a_ranking_a_bundle_and_a_comparison_agree_on_the_direction(call: Call, tmp_path: Path) -> None:
    """If the figure of a plugin says that lower is better."""
    text = TOY.read_text()
    changes = {"figures=(Figure(": f"figures=({_AS_LOWER}", "perfect=1": "perfect=1, lower_is_better=True"}
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "toy_track.py").write_text(text)
    shutil.copytree(TOY.parent / "toy", tmp_path / "toy")
    plugin = ("--plugin", str(tmp_path / "toy_track.py"))
    assert call("init", *plugin, "toy", "demo").code == 0
    high = json.loads(Path("demo/answers.json").read_text())["answers"]
    Path("low.json").write_text(json.dumps({"answers": [{**each, "said": "x"} for each in high]}))
    files = {"high": "demo/answers.json", "low": "low.json"}
    board = call("leaderboard", *plugin, "demo/truth.json", *files.values(), "--format", "json").json
    assert [entry["headline"] for entry in board["submissions"]] == [0.0, 0.75]
    medcontract.bundle("codabench", "demo/truth.json", "bundle")
    assert "sorting: asc" in Path("bundle/competition/competition.yaml").read_text()
    for name, file in files.items():
        call("score", *plugin, "demo/truth.json", file, "--out", f"{name}-score.json")
    compare = ("compare", *plugin, "high-score.json", "low-score.json")
    compared = call(*compare).out
    assert "Items that improved" in compared
    assert "worsened" not in compared
    assert "Items that worsened" in call("compare", *plugin, "low-score.json", "high-score.json").out
    page = call(*compare, "--format", "html").out
    assert ">Better<" in page
    assert "share_right (lower is better)" in page


def test_a_track_of_a_plugin_has_a_preflight(started: Call) -> None:
    """The general checks run; the score is made."""
    ran = started("preflight", *PLUGIN, "demo", "--format", "json")
    assert ran.code == 0
    states = {check["id"]: check["status"] for check in ran.json["checks"]}
    assert {states[name] for name in ("files", "toy/answers", "coverage", "gate", "score")} == {"passed"}


def test_preflight_uses_what_a_plugin_describes(started: Call) -> None:
    """The labels and the remarks of a track in a plugin are checked like in built-in tracks."""

    def checks(*said: str) -> dict[str, Any]:
        answers = [{"item": item, "said": word} for item, word in zip("abcd", said, strict=False)]
        Path("answers.json").write_text(json.dumps({"answers": answers}))
        ran = started("preflight", *PLUGIN, "toy/answers=answers.json", "demo/truth.json", "--format", "json")
        return {each["id"]: each for each in ran.json["checks"]}

    found = checks("yes", "no", "YES", "no")["labels"]
    assert (found["status"], found["detail"]) == ("passed", "3 of 4 words")
    assert [each["message"] for each in found["problems"]] == [
        "1 label among the words differs from the truth only in case"
    ]
    assert checks("oui", "non", "oui", "non")["labels"]["status"] == "failed"
    assert checks()["answers"]["status"] == "failed"
    Path("demo", "truth.json").unlink()
    Path("answers.json").write_text('{"answers": [{"item": "a", "said": "yes"}]}')
    ran = started("preflight", *PLUGIN, "answers.json")
    assert "warning MC503 there is only one item" in ran.out


def test_a_track_of_a_plugin_is_ranked(started: Call, tmp_path: Path) -> None:
    """In one process and in two, which load the plugin too."""
    answers = (tmp_path / "demo" / "answers.json").read_text(encoding="utf-8")
    for name, text in (("one", answers), ("two", answers.replace("YES", "yes").replace("Andes", "Best"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "answers.json").write_text(text, encoding="utf-8")
    for jobs in ("1", "2"):
        ran = started("leaderboard", *PLUGIN, "demo/truth.json", "one", "two", "--jobs", jobs, "--format", "json")
        ranks = [(entry["team_name"], entry["headline"]) for entry in ran.json["submissions"]]
        assert ranks == [("Best", 1.0), ("Andes", 0.75)]


def test_a_track_of_a_plugin_is_compared(started: Call) -> None:
    """Row by row, as the track says."""
    started("score", *PLUGIN, "demo", "--out", "before.json")
    answers = Path("demo/answers.json")
    answers.write_text(answers.read_text(encoding="utf-8").replace("YES", "yes"), encoding="utf-8")
    started("score", *PLUGIN, "demo", "--out", "after.json")
    ran = started("compare", *PLUGIN, "before.json", "after.json", "--format", "json")
    assert next((row["kind"], row["id"]) for row in ran.json["rows"]) == ("items", "c")
    assert "Items that improved" in started("compare", *PLUGIN, "before.json", "after.json").out


def test_a_score_of_a_plugin_is_verified(started: Call) -> None:
    """Without code of its own, with its option as a parameter."""
    started("score", *PLUGIN, "demo", "--case", "ignored", "--out", "score.json")
    assert started("verify", *PLUGIN, "score.json", "demo").code == 0
    answers = Path("demo/answers.json")
    answers.write_text(answers.read_text(encoding="utf-8").replace("YES", "no"), encoding="utf-8")
    assert started("verify", *PLUGIN, "score.json", "demo").code == 1


def test_help_lists_the_options_of_tracks(call: Call) -> None:
    """Grouped by track, also for plugins."""
    for command in ("score", "preflight", "leaderboard"):
        text = call(command, *PLUGIN, "--help").out
        assert [text.index(f"Options of {name}:") for name in ("benchmark", "extraction", "lesions", "toy")]
        assert "--case" in text


def test_tracks_that_cannot_work_are_refused(started: Call) -> None:
    """An id that is taken, a contract that is not there, and what is no track."""
    medcontract.load_plugin(str(TOY))
    toy: Any = tracks.track("toy")
    lost = replace(toy.roles, truths=("lost/nothing",))
    wrongs: list[tuple[Any, str]] = [
        (object(), "not a Track"),
        (replace(toy), "another track already has this id"),
        (replace(toy, id="other", options=()), "a contract of another track"),
        (replace(toy, id="lost", options=(), roles=lost), "unknown contract"),
        (replace(toy, id="new", tables=()), "'tables' must be a function"),
    ]
    for wrong, why in wrongs:
        with pytest.raises(CallError, match=why):
            register_track(wrong)


def test_messages_name_arguments_as_tracks_declare_them(started: Call) -> None:
    """An option of a track is the argument that it declares, also where it has another name or sets a value."""
    truth = str(ROOT / "src" / "medcontract" / "examples" / "lesions")
    with pytest.raises(CallError, match=r"^renormalize_missing=False is an option of the track benchmark") as caught:
        medcontract.score(truth, renormalize_missing=False)
    assert caught.value.as_options[0].startswith("--keep-missing is an option of the track benchmark")
    medcontract.load_plugin(str(TOY))
    toy: Any = tracks.track("toy")
    tracks._registered.clear()
    loose = Option(name="strict_words", flag="--loose", sets=False, help="Accept any word.")
    register_track(replace(toy, options=(loose,)))
    with pytest.raises(CallError, match=r"^strict_words=False is an option of the track toy") as caught:
        medcontract.score(truth, strict_words=False)
    assert caught.value.as_options[0].startswith("--loose is")


def test_contributing_lists_what_a_track_can_have() -> None:
    """Every attribute and method of `Track` and `Scorer` is named in the steps for a track."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = text.partition("## Adding a track")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(?:Roles\.)?([a-z_]+)`", steps))
    members = {name for kind in (Track, Scorer) for name in (*kind.__annotations__, *vars(kind)) if name[0] != "_"}
    assert members - named == set()
    assert set(Roles.__struct_fields__) - named == {"truths", "submissions", "result"}


def test_each_track_is_tested() -> None:
    """The tests that are parametrized over all tracks have records of each one."""
    tables: dict[str, Container[str]] = {
        "TRUTH in tests/commands.py": commands.TRUTH,
        "SENT in tests/commands.py": commands.SENT,
        "AUXILIARY in tests/commands.py": commands.AUXILIARY,
        "KEYS in tests/commands.py": commands.KEYS,
        "EXIT in tests/commands.py": commands.EXIT,
        "HEADLINES in tests/commands.py": commands.HEADLINES,
        "CONTRACTS in tests/scoring_files.py": scoring_files.CONTRACTS,
        "RESULTS in tests/scoring_files.py": scoring_files.RESULTS,
        "KEYS in tests/unit/scoring/test_processing.py": processing.KEYS,
        "MAKERS in tests/properties/test_scoring_properties.py": properties.MAKERS,
        "KEYS in tests/properties/test_scoring_properties.py": properties.KEYS,
    }
    missing = [f"add {track!r} to {table}" for track in TRACKS for table, known in tables.items() if track not in known]
    for track in TRACKS:
        roles = tracks.track(track).roles
        for contract in (roles.truths[0], roles.submissions[0]):
            for table, known in (("LIST_KEYS", scoring_files.LIST_KEYS), ("HEADERS", scoring_files.HEADERS)):
                if contract not in known:
                    missing.append(f"add {contract!r} to {table} in tests/scoring_files.py")
        if not (ROOT / "src" / "medcontract" / "examples" / track).is_dir():
            missing.append(f"add files to src/medcontract/examples/{track}")
        if not list((OWN_VECTORS / "scores").glob(f"{track}-*")):
            missing.append(f"add scores computed by hand to tests/vectors/scores/{track}-…")
    assert not missing, "\n".join(missing)


def test_tracks_of_installed_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points bring tracks, after their contracts; one that cannot be loaded is reported, and the others work."""
    groups = ("medcontract.contracts", "medcontract.tracks")
    entries = [EntryPoint("toy", "toy_track", group) for group in groups]
    entries.append(EntryPoint("bad", "nowhere_at_all", "medcontract.tracks"))
    monkeypatch.syspath_prepend(TOY.parent)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints(entries).select(group=group))
    broken: list[str] = []
    monkeypatch.setattr("medcontract.plugins.loading.broken_plugins", broken)
    caches = (tracks._load_installed, loading.load_installed)
    for cached in caches:
        cached.cache_clear()
    try:
        assert tracks.names() == (*TRACKS, "toy")
        assert len(broken) == 1
        assert "nowhere_at_all" in broken[0]
    finally:
        for cached in caches:
            cached.cache_clear()


def test_an_option_means_one_thing(started: Call) -> None:
    """A track that has an option of another one is refused."""
    medcontract.load_plugin(str(TOY))
    toy: Any = tracks.track("toy")
    tracks._registered.clear()
    clash = Option(name="weights", help="of something else")
    with pytest.raises(CallError, match="an option 'weights', which another track already has"):
        register_track(replace(toy, options=(clash,)))


def test_options_that_set_parameters(call: Call) -> None:
    """They are arguments in Python, options of every command that scores, and not given besides --parameter."""
    call("init", "lesions", "demo")
    given = medcontract.score("demo", t_min_ms=1, t_max_ms=99.5).protocol.parameters
    assert (given["t_min_ms"], given["t_max_ms"]) == (1, 99.5)
    ran = call("preflight", "demo", "--t-min-ms", "1", "--t-max-ms", "99.5", "--format", "json")
    assert ran.json["score"]["protocol"]["parameters"] == given
    with pytest.raises(CallError, match="'t_min_ms' is given twice"):
        medcontract.score("demo", t_min_ms=1, parameters={"t_min_ms": 2})


@pytest.mark.parametrize("command", ["score", "preflight"])
def test_an_option_of_another_track(command: str, call: Call) -> None:
    """It is a usage error, which says whose option it is."""
    call("init", "lesions", "demo")
    ran = call(command, "demo", "--keep-missing")
    assert ran.code == 2
    assert "--keep-missing is an option of the track benchmark, not of lesions" in ran.err
