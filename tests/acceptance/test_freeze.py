"""Frozen protocols: `protocol freeze`, `protocol check`, `--protocol` on score, preflight, leaderboard and compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import EXIT, SENT, TRACKS, TRUTH, Call, all_files, keeps, sent_file, truth_file
from tests.scoring_files import drug, read_rx, rx
from tests.unit.scoring.test_protocol import fingerprint

import medcontract
from medcontract.scoring.extraction.decision import remote_words_sha256
from medcontract.scoring.frozen_protocol import pinned_sha256

Edit = Callable[[Any], None]


@pytest.fixture
def freeze(call: Call, tmp_path: Path) -> Callable[..., Path]:
    """`medcontract protocol freeze`, and the file that it wrote."""

    def run(track: str, *arguments: object, name: str = "protocol.json") -> Path:
        out = tmp_path / name
        ran = call("protocol", "freeze", track, *arguments, "--out", out)
        assert (ran.code, ran.out) == (0, "")
        return out

    return run


def edited(path: Path, edit: Edit) -> Path:
    """A copy that was frozen by another medcontract: changed, with the hashes of what it contains now."""
    value = json.loads(path.read_text())
    edit(value)
    value["fingerprint"] = fingerprint(
        value["id"], value["version"], {each["name"]: each["value"] for each in value["parameters"]}
    )
    value["pinned_sha256"] = pinned_sha256(
        value["fingerprint"], {each["contract"]: each["content_sha256"] for each in value["truth"]}
    )
    copy = path.with_name("edited.json")
    copy.write_text(json.dumps(value))
    return copy


def set_parameter(name: str, value: Any) -> Edit:
    def edit(document: Any) -> None:
        (parameter,) = [each for each in document["parameters"] if each["name"] == name]
        parameter["value"] = value
        document["versions"].pop(name, None)

    return edit


@pytest.mark.parametrize("track", TRACKS)
def test_the_document(call: Call, freeze: Callable[..., Path], tmp_path: Path, track: str) -> None:
    """Everything of `protocol show`, the versions, the content of the truth as a score has it, and the note."""
    files = all_files(tmp_path, track)
    path = freeze(track, "--truth", files[0], "--note", "baseline of March")
    found = keeps(path.read_text(), "medcontract/protocol")
    shown = call("protocol", "show", track, "--format", "json").json
    assert found.pop("pinned_sha256") != shown.pop("pinned_sha256")  # it has no truth
    assert {name: found[name] for name in shown} == shown
    inputs = call("score", *files, "--format", "json").json["inputs"]
    assert found["truth"] == [
        {name: each[name] for name in ("contract", "content_sha256", "records")}
        for each in inputs
        if each["content_sha256"]
    ]
    assert found["note"] == "baseline of March"
    assert set(found["environment"]) == {"python", "unicode", "unidecode"}
    assert freeze(track, "--truth", files[0], "--note", "baseline of March", name="again.json").read_bytes() == (
        path.read_bytes()
    )


def test_versions(freeze: Callable[..., Path]) -> None:
    """Versions and hashes that nobody can choose; the list of look-alikes only where it is used."""
    exact = json.loads(freeze("extraction").read_text())["versions"]
    assert exact == {"normalization": "2", "pairing": "3", "remote_backends": remote_words_sha256()}
    fuzzy = json.loads(freeze("extraction", "--match", "fuzzy").read_text())["versions"]
    assert set(fuzzy) == {"normalization", "pairing", "remote_backends", "look_alikes"}
    assert set(json.loads(freeze("benchmark").read_text())["versions"]) >= {"normalization", "lexicon"}


@pytest.mark.parametrize("track", TRACKS)
def test_a_score_under_it_is_the_same(call: Call, freeze: Callable[..., Path], tmp_path: Path, track: str) -> None:
    """Byte for byte, in every command; and the check finds no difference."""
    files = all_files(tmp_path, track)
    path = freeze(track, "--truth", files[0])
    assert call("protocol", "check", path).code == 0
    for command in ("score", "leaderboard"):
        given = files if command == "score" else files[:2]
        plain = call(command, *given, "--format", "json")
        frozen = call(command, *given, "--format", "json", "--protocol", path)
        assert frozen.code == plain.code
        if track != "benchmark" or command == "score":  # there, a ranking changes a parameter by itself
            assert frozen.out == plain.out
    checked = call("preflight", *files, "--format", "json", "--protocol", path)
    assert checked.code == EXIT[track]
    (check,) = [each for each in checked.json["checks"] if each["id"] == "protocol"]
    assert check["status"] == "passed"


def test_its_parameters_are_used(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """As if they had been passed with --parameter, texts too."""
    labels, read = [rx("D", drug("Acetaminofen"))], [read_rx("D", drug("Acetaminofem"))]
    files = [truth_file(tmp_path, "extraction", labels), sent_file(tmp_path, "extraction", read)]
    changes = ("--parameter", "weight_name_recall=0.65", "--parameter", "min_processed=0", "--match", "fuzzy")
    path = freeze("extraction", *changes)
    frozen = call("score", *files, "--protocol", path, "--format", "json")
    assert frozen.json["result"]["documents"][0]["score"] == 0.95
    assert frozen.out == call("score", *files, *changes, "--format", "json").out


def test_a_custom_lexicon_must_be_given_again(call: Call, tmp_path: Path, freeze: Callable[..., Path]) -> None:
    """Its hash is frozen, not its terms."""
    lexicon = tmp_path / "lexicon.json"
    lexicon.write_text(json.dumps({"synonyms": {"asthma": ["wheezy disease"]}}))
    files = all_files(tmp_path, "benchmark")
    path = freeze("benchmark", "--lexicon", lexicon)
    assert call("score", *files, "--lexicon", lexicon, "--protocol", path).code == 0
    assert call("protocol", "check", path, "--lexicon", lexicon).code == 0
    ran = call("score", *files, "--protocol", path)
    assert ran.code == 1
    assert "the protocol is not the frozen one: lexicon: " in ran.out


DRIFT: dict[str, tuple[Edit, str]] = {
    "a step": (set_parameter("normalization", "1"), "normalization: 1 is frozen, this is 2"),
    "a fixed number": (set_parameter("goal_reliability", 6), "goal_reliability: 6 is frozen, this is 5"),
    "a number out of range": (set_parameter("goal_lab_accuracy", 101), "goal_lab_accuracy: 101 is frozen, this is 75"),
    "an unknown choice": (set_parameter("match", "phonetic"), "match: phonetic is frozen, this is exact"),
    "the formulas": (lambda document: document.update(version=1), "version 1 is frozen, this is version 3"),
    "a parameter that is gone": (
        lambda document: document["parameters"].append({"name": "old", "value": 1, "about": "x", "source": "x"}),
        "old: 1 is frozen, this is absent",
    ),
    "a new parameter": (
        lambda document: document["parameters"].pop(0), "min_processed: absent is frozen, this is 0.95",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "difference"), DRIFT.values(), ids=DRIFT)
def test_drift(call: Call, freeze: Callable[..., Path], tmp_path: Path, edit: Edit, difference: str) -> None:
    """`protocol check` reports it, and nothing is scored under it: every command says what differs."""
    files = all_files(tmp_path, "extraction")
    path = edited(freeze("extraction"), edit)
    ran = call("protocol", "check", path, "--format", "json")
    assert ran.code == 1
    found = keeps(ran.out, "medcontract/protocol-check")
    assert not found["ok"]
    first, *why = found["differences"]
    assert first == difference
    since = ["version 2: the source ignores", "version 3: "] if "version 1" in difference else []
    assert len(why) == len(since)
    assert all(map(str.startswith, why, since))
    assert difference in call("protocol", "check", path).out
    score = call("score", *files, "--protocol", path, "--format", "json")
    assert score.code == 1
    envelope = keeps(score.out, "medcontract/score")
    assert (envelope["valid"], envelope["result"], envelope["processing"]) == (False, None, None)
    assert envelope["reasons"] == [f"the protocol is not the frozen one: {'; '.join([difference, *why])}"]
    for given in (files, files[1:]):  # with and without the truth
        preflight = call("preflight", *given, "--protocol", path, "--format", "json")
        (check,) = [each for each in preflight.json["checks"] if each["id"] == "protocol"]
        assert (preflight.code, check["status"]) == (1, "failed")
        assert difference in check["detail"]
    board = call("leaderboard", *files[:2], "--protocol", path)
    assert (board.code, board.out) == (1, "")
    assert difference in board.err
    baseline = tmp_path / "baseline.json"
    baseline.write_text(call("score", *files, "--format", "json").out)
    compared = call("compare", baseline, baseline, "--protocol", path)
    assert (compared.code, compared.out) == (2, "")
    assert difference in compared.err


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("participant", [(), ("--participant",)])
def test_another_truth_is_refused(
    call: Call, freeze: Callable[..., Path], tmp_path: Path, track: str, participant: tuple[str, ...]
) -> None:
    """By its content: the order of its records does not matter. Participants see no hash of it."""
    files = all_files(tmp_path, track)
    path = freeze(track, "--truth", files[0])
    contract = json.loads(path.read_text())["truth"][0]["contract"]
    truth_file(tmp_path, track, list(reversed(TRUTH[track])))
    assert call("score", *files, "--protocol", path).code == EXIT[track]
    dropped = 2 if track == "triage" else 1
    truth_file(tmp_path, track, TRUTH[track][dropped:])
    sent_file(tmp_path, track, SENT[track][dropped:])
    reason = f"the truth is not the frozen one: the content of {contract} differs"
    score = call("score", *files, "--protocol", path, "--format", "json", *participant)
    assert (score.code, score.json["valid"], score.json["result"]) == (1, False, None)
    assert score.json["reasons"] == [reason]
    if participant:
        assert json.loads(path.read_text())["truth"][0]["content_sha256"][:8] not in score.out
    board = call("leaderboard", *files[:2], "--protocol", path, *participant)
    assert (board.code, board.out) == (1, "")
    assert reason in board.err
    assert call("preflight", *files, "--protocol", path, *participant).code == 1


def test_a_part_of_the_truth(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """Prescriptions frozen, laboratory reports scored, and the other way round."""
    example = Path(medcontract.__file__).parent / "examples" / "extraction"
    labels = example / "labels"
    both, one = freeze("extraction", "--truth", labels), labels / "prescriptions.jsonl"
    ran = call("score", one, example / "predictions", "--protocol", both)
    assert "the truth is not the frozen one: extraction/lab-labels is missing" in ran.out
    single = freeze("extraction", "--truth", one)
    ran = call("score", labels, example / "predictions", "--protocol", single)
    assert "the truth is not the frozen one: extraction/lab-labels was not frozen" in ran.out


def test_without_a_truth_any_is_allowed(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """Then only the protocol is frozen."""
    path = freeze("lesions")
    assert json.loads(path.read_text())["truth"] == []
    assert call("score", *all_files(tmp_path, "lesions"), "--protocol", path).code == 0


def test_what_protocol_show_prints_is_enough(call: Call, tmp_path: Path) -> None:
    """It has no versions besides the parameters, and no truth."""
    path = tmp_path / "shown.json"
    assert call("protocol", "show", "reports", "--out", path).code == 0
    assert call("protocol", "check", path).code == 0
    assert call("score", *all_files(tmp_path, "reports"), "--protocol", path).code == 0


@pytest.mark.parametrize("edit", [
    lambda document: document["parameters"][0].update(value=0.5),
    lambda document: document["versions"].update(normalization="1"),
    lambda document: document["parameters"].append(document["parameters"][0]),
    lambda document: document.update(fingerprint="0" * 64),
    lambda document: document.update(truth=[]),
    lambda document: document.pop("truth"),
    lambda document: [document.pop(name) for name in ("truth", "pinned_sha256")],
    lambda document: document.update(truth=[], pinned_sha256=None),
    lambda document: document["truth"][0].update(content_sha256="0" * 64),
    lambda document: document["truth"].append(document["truth"][0]),
])  # fmt: skip
def test_an_edited_file(call: Call, freeze: Callable[..., Path], tmp_path: Path, edit: Edit) -> None:
    """The fingerprint covers the parameters, including versions, and no truth can be removed."""
    path = freeze("extraction", "--truth", all_files(tmp_path, "extraction")[0])
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))
    ran = call("protocol", "check", path)
    assert ran.code == 1
    assert "the file was edited" in ran.out
    assert call("score", *all_files(tmp_path, "extraction"), "--protocol", path).code == 1


def test_compare(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """Both scores must be made under it, against its truth."""
    files = all_files(tmp_path, "lesions")
    baseline = tmp_path / "baseline.json"
    baseline.write_text(call("score", *files, "--format", "json").out)
    path = freeze("lesions", "--truth", files[0])
    plain = call("compare", baseline, baseline)
    assert call("compare", baseline, baseline, "--protocol", path) == plain
    truth_file(tmp_path, "lesions", TRUTH["lesions"][1:])
    another = freeze("lesions", "--truth", files[0])
    ran = call("compare", baseline, baseline, "--protocol", another)
    assert ran.code == 2
    assert "the truth of the scores is not the frozen one" in ran.err
    truth_file(tmp_path, "lesions")
    baseline.write_text(call("score", *files, "--format", "json", "--participant").out)
    ran = call("compare", baseline, baseline, "--protocol", freeze("lesions", "--truth", files[0]))
    assert ran.code == 2
    assert "do not say what their truth was" in ran.err
    ran = call("compare", baseline, baseline, "--protocol", freeze("reports"))
    assert (ran.code, "frozen for the track reports" in ran.err) == (2, True)


def test_another_environment_is_a_warning(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """Unidecode and Unicode data change texts, Python alone does not."""
    path = freeze("lesions")
    value = json.loads(path.read_text())
    value["environment"] |= {"unidecode": "0.1", "python": "3.0"}
    path.write_text(json.dumps(value))
    check = call("protocol", "check", path, "--format", "json")
    assert check.code == 0
    (warning,) = check.json["warnings"]
    assert warning.startswith("frozen with unidecode 0.1, this is ")
    files = all_files(tmp_path, "lesions")
    assert warning in call("score", *files, "--protocol", path, "--format", "json").json["warnings"]
    assert warning in call("leaderboard", *files[:2], "--protocol", path, "--format", "json").json["warnings"]


def test_usage_errors(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """Exit code 2, with what to do."""
    files = all_files(tmp_path, "extraction")
    path = freeze("extraction")
    for more in (("--parameter", "min_processed=0"), ("--match", "fuzzy")):
        ran = call("score", *files, "--protocol", path, *more)
        assert (ran.code, "the protocol is frozen" in ran.err) == (2, True)
    ran = call("score", *files, "--protocol", freeze("reports", name="other.json"))
    assert (ran.code, "frozen for the track reports, but the files are of extraction" in ran.err) == (2, True)
    assert call("score", *files, "--protocol", tmp_path / "absent.json").code == 2
    assert call("protocol", "freeze", "extraction", "--truth", files[0], "--out", files[0]).code == 2


@pytest.mark.parametrize(
    ("track", "arguments", "set_to"),
    [
        ("extraction", ("--match", "fuzzy"), {"match": "fuzzy"}),
        ("lesions", ("--t-min-ms", "12", "--t-max-ms", "80"), {"t_min_ms": 12, "t_max_ms": 80}),
    ],
)
def test_options_of_tracks(
    freeze: Callable[..., Path], track: str, arguments: tuple[str, ...], set_to: dict[str, object]
) -> None:
    """Options of a track that set parameters are frozen, as `--parameter` would be."""
    path = freeze(track, *arguments)
    found = {each["name"]: each["value"] for each in json.loads(path.read_text())["parameters"]}
    assert {name: found[name] for name in set_to} == set_to
    parameters = [word for name, value in set_to.items() for word in ("--parameter", f"{name}={value}")]
    assert freeze(track, *parameters, name="again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("option", "python"), [
    (("--weights", "nosuch=1"), {"weights": {"nosuch": 1}}),
    (("--keep-missing",), {"renormalize_missing": False}),
    (("--metric-name", "x"), {"metric_name": "x"}),
    (("--category", "x=accuracy"), {"categories": {"x": ["accuracy"]}}),
    (("--replace",), {"replace": True}),
])  # fmt: skip
def test_options_outside_of_a_protocol(
    call: Call, freeze: Callable[..., Path], tmp_path: Path, option: tuple[str, ...], python: dict[str, Any]
) -> None:
    """An option that a frozen protocol cannot contain is a usage error, and not offered."""
    path = freeze("benchmark")
    for arguments in (("freeze", "benchmark", "--out", tmp_path / "x.json"), ("check", path)):
        ran = call("protocol", *arguments, *option)
        assert (ran.code, f"{option[0]} is not part of a protocol" in ran.err) == (2, True)
        offered = call("protocol", arguments[0], "--help").out
        assert (option[0] in offered, "--lexicon" in offered, "--match" in offered) == (False, True, True)
    assert not (tmp_path / "x.json").exists()
    with pytest.raises(medcontract.CallError, match="is not part of a protocol"):
        medcontract.freeze_protocol("benchmark", **python)
    with pytest.raises(medcontract.CallError, match="is not part of a protocol"):
        medcontract.check_protocol(path, **python)


@pytest.mark.parametrize("command", ["score", "preflight", "leaderboard", "freeze"])
@pytest.mark.parametrize(("option", "owner"), [(("--match", "fuzzy"), "extraction"), (("--t-min-ms", "3"), "lesions")])
def test_an_option_of_another_track(
    call: Call, tmp_path: Path, command: str, option: tuple[str, ...], owner: str
) -> None:
    """An option that sets a parameter is reported like any other option of another track."""
    files: tuple[object, ...] = tuple(all_files(tmp_path, "reports"))
    words = (
        ("protocol", "freeze", "reports", "--out", tmp_path / "x.json") if command == "freeze" else (command, *files)
    )
    ran = call(*words, *option)
    assert ran.code == 2
    assert f"{option[0]} is an option of the track {owner}, not of reports" in ran.err


def test_wrong_files(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """A file that is not valid, and a truth with errors: exit code 1."""
    files = all_files(tmp_path, "extraction")
    broken = tmp_path / "broken.json"
    for text in ("{", "[]", '{"id": "extraction"}'):
        broken.write_text(text)
        assert call("protocol", "check", broken).code == 1
        assert call("score", *files, "--protocol", broken).code == 1
    truth_file(tmp_path, "extraction", [*TRUTH["extraction"], TRUTH["extraction"][0]])
    ran = call("protocol", "freeze", "extraction", "--truth", files[0], "--out", tmp_path / "x.json")
    assert (ran.code, (tmp_path / "x.json").exists()) == (1, False)
    assert "the truth has 1 error" in ran.err


def test_an_unknown_track(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """A protocol of a plugin that is not loaded is a difference."""
    path = edited(freeze("triage"), lambda document: document.update(id="elsewhere"))
    ran = call("protocol", "check", path)
    assert (ran.code, "this medcontract has no track elsewhere" in ran.out) == (1, True)


def test_a_report_made_elsewhere(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """It is scored again under a frozen protocol, unless that is about a truth, which nobody can compare."""
    files = all_files(tmp_path, "benchmark")
    report = tmp_path / "report.json"
    report.write_text(json.dumps(call("score", *files, "--result-only").json))
    given = ("score", report, "--weights", "clinical_accuracy=1")
    assert call(*given, "--protocol", freeze("benchmark")).code == 0
    ran = call(*given, "--protocol", freeze("benchmark", "--truth", files[0]))
    assert (ran.code, "benchmark/references is missing" in ran.err) == (2, True)


def test_workers(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """A ranking in two processes is the same as in one."""
    files = all_files(tmp_path, "extraction")
    path = freeze("extraction", "--truth", files[0], "--parameter", "weight_name_recall=0.6")
    second = sent_file(tmp_path / "b", "extraction", SENT["extraction"][:19])
    given = ("leaderboard", files[0], files[1], second, "--protocol", path, "--format", "json")
    assert call(*given, "--jobs", 2).out == call(*given).out


def test_defaults_of_a_ranking(call: Call, freeze: Callable[..., Path], tmp_path: Path) -> None:
    """A frozen protocol is used as it is: metrics that submissions bring along count, if it says so, with a warning."""
    files = all_files(tmp_path, "benchmark")[:2]
    warning = "given_scores is taken in the frozen protocol; without one it is ignored in a ranking"
    for changes, told in (((), True), (("--parameter", "given_scores=ignored"), False)):
        path = freeze("benchmark", *changes)
        board = call("leaderboard", *files, "--protocol", path, "--format", "json").json
        assert (warning in board["warnings"]) is told
        assert board["protocol"]["fingerprint"] == json.loads(path.read_text())["fingerprint"]


def test_python(tmp_path: Path) -> None:
    """The same functions, with a file or with what was frozen."""
    files = all_files(tmp_path, "reports")
    frozen = medcontract.freeze_protocol("reports", truth=[files[0]], parameters={"min_processed": 0.9}, note="why")
    assert medcontract.check_protocol(frozen)
    path = tmp_path / "protocol.json"
    path.write_text(frozen.to_json())
    for protocol in (frozen, path, str(path)):
        score = medcontract.score(*files, protocol=protocol)
        assert score.protocol.fingerprint == frozen.fingerprint
        assert medcontract.compare(score, score, protocol=protocol)
        assert medcontract.preflight(*files, protocol=protocol)
        assert medcontract.leaderboard(files[0], files[1], protocol=protocol)
    with pytest.raises(medcontract.CallError, match="the protocol is frozen"):
        medcontract.score(*files, protocol=frozen, parameters={"min_processed": 0.8})
    check = medcontract.check_protocol(path)
    assert repr(check) == "<ProtocolCheck reports v1, 0 differences>".replace("v1", f"v{frozen.version}")
    assert check.to_frame().empty


@pytest.mark.parametrize(
    ("content", "hint"),
    [({"something": "else"}, "specify CONTRACT=PATH"), ({"image-id": "a", "bed": "3", "x": "2"}, "=PATH")],
)
def test_hints_name_no_missing_option(call: Call, tmp_path: Path, content: dict[str, str], hint: str) -> None:
    """Commands without --contract do not suggest it for a file that is not recognized."""
    path = tmp_path / "unknown.json"
    path.write_text(json.dumps(content))
    for words in (
        ("score", path, path),
        ("preflight", path),
        ("leaderboard", path, path),
        ("protocol", "freeze", "reports", "--truth", path, "--out", tmp_path / "x.json"),
    ):
        ran = call(*words)
        assert (ran.code, hint in ran.err, "--contract" in ran.err) == (2, True, False), words
