"""Benchmark through the whole command: bad input, rankings, breakdowns, what participants and machines are told."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_leaderboard import entry, names, only, wrong
from tests.acceptance.test_preflight import one, statuses
from tests.commands import SENT, TRUTH, Call, all_files, keeps, on_a_terminal, put, truth_file
from tests.scoring_files import Record, document, guess, reference, repeats, says, weights, write

import medcontract

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"


@pytest.fixture
def board(call: Call) -> Call:
    """`medcontract leaderboard` as JSON."""
    return partial(call, "leaderboard", "--format", "json")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Twenty references, and predictions that are right."""
    return all_files(tmp_path, "benchmark")


# --- bad input -----------------------------------------------------------------------------------

WRONG: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "all zero": (["--weights", "safety=0,diagnostics=0.0"], ["all weights are 0"]),
    "negative": (["--weights", "safety=-1,diagnostics=1"], ["safety"]),
    "nan": (["--weights", "safety=NaN"], ["safety"]),
    "infinite": (["--weights", "safety=inf"], ["safety"]),
    "no number": (["--weights", "safety=much"], ["safety", "much"]),
    "no name": (["--weights", "=1"], ["name=weight"]),
    "no weight": (["--weights", "safety"], ["name=weight", "safety"]),
    "nothing": (["--weights", ""], ["name=weight"]),
    "twice": (["--weights", "safety=1,diagnostics=1,safety=2"], ["safety", "twice"]),
    "nothing present": (["--weights", "safety=1,rouge1=2"], ["safety, rouge1", "clinical_accuracy", "diagnostics"]),
    "unknown": (["--weights", "clinical_acuracy=1"], ["clinical_acuracy", "clinical_accuracy"]),
    "a name alone": (["--metric-name", "index"], ["--metric-name", "weights"]),
    "a blank name": (["--weights", "diagnostics=1", "--metric-name", " "], ["--metric-name"]),
    "replacing alone": (["--replace"], ["--replace", "weights"]),
    "keeping alone": (["--keep-missing"], ["--keep-missing", "weights"]),
    "a name that is taken": (
        ["--weights", "diagnostics=1", "--metric-name", "clinical_accuracy"], ["clinical_accuracy", "--replace"],
    ),
    "no such lexicon": (["--lexicon", "none.json"], ["none.json"]),
    "times": (["--t-min-ms", "1", "--t-max-ms", "2"], ["--t-min-ms", "lesions"]),
    "matching": (["--match", "fuzzy"], ["match"]),
    "an unknown parameter": (["--parameter", "weight_diagnosis=1"], ["weight_diagnosis", "weight_diagnoses"]),
    "a fixed parameter": (["--parameter", "lexicon=0"], ["lexicon"]),
    "another word": (["--parameter", "given_scores=maybe"], ["given_scores", "ignored"]),
    "no markers": (["--parameter", "markers_for_full=0"], ["markers_for_full"]),
    "an unknown header": (["--set", "team_name=x"], ["team_name"]),
    "a header that is there": (["--set", "model_id=x"], ["model_id"]),
}  # fmt: skip


@pytest.mark.parametrize("how", WRONG)
def test_usage_errors(score: Call, files: list[Path], how: str) -> None:
    """Exit 2, said on standard error with the names that matter, nothing on standard output."""
    arguments, words = WRONG[how]
    code, out, err = score(*files, *arguments)
    assert (code, out) == (2, "")
    assert [word for word in words if word not in err] == []
    assert err.startswith(("medcontract: ", "Usage: "))


@pytest.mark.parametrize("track", ["reports", "triage", "lesions", "extraction"])
@pytest.mark.parametrize(
    "arguments",
    [["--weights", "a=1"], ["--metric-name", "x"], ["--keep-missing"], ["--replace"], ["--lexicon", "lexicon.json"]],
    ids=" ".join,
)  # fmt: skip
def test_options_that_other_tracks_do_not_know(call: Call, tmp_path: Path, track: str, arguments: list[str]) -> None:
    """A usage error that names the option, for every command that has it."""
    document(tmp_path, "lexicon", {"entities": {"labs": ["x"]}})
    (tmp_path / "sub").mkdir()
    truth, *submission = all_files(tmp_path, track)
    for path in submission:
        shutil.move(path, tmp_path / "sub" / path.name)
    for command in ("score", "leaderboard", "preflight"):
        code, out, err = call(command, truth, "sub", *arguments)
        assert (code, out) == (2, "")
        assert arguments[0] in err


def test_a_breakdown_of_another_track(score: Call, tmp_path: Path) -> None:
    """There is none of lesions."""
    code, out, err = score(*all_files(tmp_path, "lesions"), "--breakdown")
    assert (code, out) == (2, "")
    assert "--breakdown" in err


def test_weights_of_another_track(score: Call, tmp_path: Path) -> None:
    """A weights file among files of lesions is told to be of another track."""
    code, out, err = score(*all_files(tmp_path, "lesions"), *document(tmp_path, "weights", weights(safety=1)))
    assert (code, out) == (2, "")
    assert "weights.json is benchmark/weights" in err


def test_one_unknown_weight(score: Call, files: list[Path]) -> None:
    """Beside one that finds something it is a warning, with the name that may be meant."""
    ran = score(*files, "--weights", "diagnostics=1,clinical_acuracy=1,safety=1", "--format", "json")
    assert ran.code == 0
    assert ran.json["result"]["overall_scores"]["combined_score"] == 1.0
    told = [warning for warning in ran.json["warnings"] if "weight" in warning]
    assert any("'clinical_acuracy'" in warning and "did you mean 'clinical_accuracy'" in warning for warning in told)
    assert any("'safety'" in warning and "did you mean" not in warning for warning in told)


BAD_WEIGHTS: dict[str, tuple[str, str]] = {
    "all zero": ('{"weights": {"safety": 0}}', "MC217"),
    "none": ('{"weights": {}}', "MC217"),
    "negative": ('{"weights": {"safety": -1, "x": 1}}', "MC1"),
    "nan": ('{"weights": {"safety": NaN, "x": 1}}', "MC0"),
    "infinite": ('{"weights": {"safety": 1e999, "x": 1}}', "MC0"),
    "twice": ('{"weights": {"safety": 1, "safety": 2}}', "MC0"),
    "text": ('{"weights": {"safety": "1"}}', "MC1"),
    "unknown key": ('{"weights": {"safety": 1}, "name": "x"}', "MC1"),
    "blank name": ('{"weights": {"safety": 1}, "metric_name": " "}', "MC1"),
}


@pytest.mark.parametrize("how", BAD_WEIGHTS)
@pytest.mark.parametrize("against", ["references", "report"])
def test_bad_weights_in_a_file(score: Call, tmp_path: Path, files: list[Path], how: str, against: str) -> None:
    """An auxiliary file with errors refuses the score: exit 1, the problem in that file, no processing."""
    text, code = BAD_WEIGHTS[how]
    path = tmp_path / "weights.json"
    path.write_text(text)
    if against == "report":
        files = document(tmp_path, "report", {"model_id": "m", "overall_scores": {}, "task_scores": {"a": {"x": 1}}})
    ran = score(*files, f"benchmark/weights={path}", "--format", "json")
    assert ran.code == 1
    envelope = keeps(ran.out, "medcontract/score")
    assert (envelope["valid"], envelope["result"], envelope["processing"]) == (False, None, None)
    assert any("weights.json" in reason for reason in envelope["reasons"])
    assert [p["code"][: len(code)] for p in envelope["problems"] if p["file"] == "weights.json"][:1] == [code]


def test_weights_in_a_file_and_an_option(score: Call, tmp_path: Path, files: list[Path]) -> None:
    """One of them, not both."""
    code, out, err = score(*files, *document(tmp_path, "weights", weights(safety=1)), "--weights", "safety=1")
    assert (code, out) == (2, "")
    assert "--weights" in err


def test_two_weights_files(score: Call, tmp_path: Path, files: list[Path]) -> None:
    """Nobody can tell which is meant."""
    both = [*document(tmp_path, "one", weights(safety=1)), *document(tmp_path, "two", weights(safety=1))]
    code, out, err = score(*files, *both)
    assert (code, out) == (2, "")
    assert "benchmark/weights" in err


def test_samples_and_predictions(score: Call, tmp_path: Path, files: list[Path]) -> None:
    """A submission is one or the other."""
    samples = [{**repeats(true), "reference": true["reference"]} for true in TRUTH["benchmark"]]
    for given in ([*files, write(tmp_path, SAMPLES, samples)], [files[1], write(tmp_path, SAMPLES, samples)]):
        code, out, err = score(*given)
        assert (code, out) == (2, "")
        assert PREDICTIONS in err
        assert SAMPLES in err


def test_a_report_beside_references(score: Call, tmp_path: Path, files: list[Path]) -> None:
    """It is no input of a score, and is said not to be."""
    report = document(tmp_path, "report", {"model_id": "m", "overall_scores": {}, "task_scores": {}})
    ran = score(*files, *report, "--format", "json")
    assert ran.code == 0
    assert any("report.json" in warning for warning in ran.json["warnings"])


BAD_LEXICONS: dict[str, tuple[str, Sequence[str]]] = {
    "two categories": ('{"entities": {"diagnoses": ["x"], "labs": ["X!"]}}', ["MC219"]),
    "two names": ('{"synonyms": {"a": ["x"], "b": ["x"]}}', ["MC220"]),
    "no terms": ('{"entities": {"labs": ["+"]}}', ["letter"]),
    "no lexicon": ('{"weights": {"safety": 1}}', ["MC1"]),
    "an unknown category": ('{"entities": {"drugs": ["x"]}}', ["MC1"]),
    "a list": ("[]", ["lexicon.json"]),
    "broken": ('{"entities": ', ["lexicon.json", "MC0"]),
    "no text": ("\x00", ["lexicon.json"]),
}


@pytest.mark.parametrize("how", BAD_LEXICONS)
def test_bad_lexicons(call: Call, tmp_path: Path, files: list[Path], how: str) -> None:
    """Told, never a traceback, in every command that takes one."""
    text, words = BAD_LEXICONS[how]
    (tmp_path / "lexicon.json").write_text(text)
    for command in ("score", "leaderboard", "preflight"):
        code, out, err = call(command, *files, "--lexicon", "lexicon.json")
        assert code in (1, 2)
        assert err.startswith(("medcontract: ", "Usage: "))
        assert [word for word in words if word not in out + err] == []


def test_a_lexicon_against_the_shipped_one(score: Call, tmp_path: Path, files: list[Path]) -> None:
    """A new name for shipped terms of two categories is told when it is put to use: exit 2."""
    (path,) = document(tmp_path, "lexicon", {"synonyms": {"thing": ["asthma", "metformin"]}})
    code, out, err = score(*files, "--lexicon", path)
    assert (code, out) == (2, "")
    assert "two categories" in err


@pytest.mark.parametrize("said", [{"answer": " "}, {}, {"rationale": "\n", "diagnosis": "\u00a0"}, {"entities": None}])
def test_blank_references(score: Call, tmp_path: Path, said: Record) -> None:
    """A reference that holds nothing to score is an error of the truth, which refuses the score."""
    truth = put(tmp_path / "truth.json", REFERENCES, [reference("S", **said)])
    ran = score(truth, write(tmp_path, PREDICTIONS, [says("S", answer="x")]), "--format", "json")
    assert ran.code == 1
    assert [p["code"] for p in ran.json["problems"] if p["file"] == "truth.json"] == ["MC218"]
    assert (ran.json["processing"], ran.json["result"]) == (None, None)


def test_blank_predictions(score: Call, tmp_path: Path) -> None:
    """They are processed, and score 0."""
    truth = [reference("S", answer="gout", rationale="w", diagnosis="gout")]
    sent = [says("S", answer="", rationale=" ", diagnosis="\t")]
    ran = score(write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent), "--format", "json")
    assert ran.json["processing"]["processed"] == 1
    assert set(ran.json["result"]["overall_scores"].values()) == {0}


def test_no_model_id(score: Call, tmp_path: Path, files: list[Path]) -> None:
    """The report needs it, and a container of lines cannot hold it: a usage error that says so, and it can be set."""
    sent = write(tmp_path, PREDICTIONS, SENT["benchmark"], "jsonl")
    code, out, err = score(files[0], sent)
    assert (code, out) == (2, "")
    assert "model_id" in err
    assert score(files[0], sent, "--set", "model_id=Ñ", "--result-only").json["model_id"] == "Ñ"


# --- rankings ------------------------------------------------------------------------------------

HALF: list[Record] = [{**record, "prediction": {"answer": "asthma"}} for record in SENT["benchmark"]]
"""clinical_accuracy 1, diagnostic_accuracy 0."""


def organizer(folder: Path, value: Record | None) -> Path:
    """A folder with references and maybe weights."""
    truth_file(folder, "benchmark")
    document(folder, "weights", value)
    return folder


def test_weights_beside_the_references(board: Call, tmp_path: Path) -> None:
    """They are the organizer's: everybody is ranked by the combined score."""
    folders = [entry(tmp_path / "half", "benchmark", HALF), entry(tmp_path / "whole", "benchmark")]
    truth = organizer(tmp_path / "truth", weights(diagnostic_accuracy=0.75, clinical_accuracy=0.25))
    envelope = keeps(board(truth, *folders).out, "medcontract/leaderboard")
    assert envelope["headline"] == "combined_score"
    assert [(found["name"], found["headline"]) for found in envelope["submissions"]] == [("whole", 1.0), ("half", 0.25)]


def test_a_ranking_lists_its_weights(board: Call, tmp_path: Path) -> None:
    """Every result carries the hash of each input (principle 5)."""
    truth = organizer(tmp_path / "truth", weights(diagnostics=1))
    assert "benchmark/weights" in board(truth, entry(tmp_path / "a", "benchmark")).out


@pytest.mark.parametrize("how", ["option", "file"])
def test_the_name_of_the_headline(call: Call, tmp_path: Path, how: str) -> None:
    """The combined score has the name that it was given, by an option or in the weights file, wherever it is told."""
    value = weights(None, "index" if how == "file" else None, diagnostics=1)
    truth = organizer(tmp_path / "truth", value)
    folder = entry(tmp_path / "a", "benchmark")
    extra = ("--metric-name", "index") if how == "option" else ()
    assert call("score", truth, folder, *extra).out.splitlines()[0].endswith("index 1.0000")
    envelope = call("leaderboard", truth, folder, *extra, "--format", "json").json
    assert (envelope["headline"], only(envelope)["headline"]) == ("index", 1.0)


def test_the_headline_is_among_the_figures(board: Call, tmp_path: Path) -> None:
    """As `combined_score` is where it has no other name."""
    truth, folder = organizer(tmp_path / "truth", weights(diagnostics=1)), entry(tmp_path / "a", "benchmark")
    assert only(board(truth, folder).json)["figures"]["combined_score"] == 1.0
    assert only(board(truth, folder, "--metric-name", "index").json)["figures"].get("index") == 1.0


def test_weights_of_a_submission(board: Call, tmp_path: Path) -> None:
    """They do not count, and that is said: neither beside the organizer's nor alone."""
    half = entry(tmp_path / "half", "benchmark", HALF)
    document(half, "weights", weights(clinical_accuracy=1))
    alone = only(board(organizer(tmp_path / "bare", None), half).json)
    assert "combined_score" not in alone["figures"]
    assert any("weights.json" in warning for warning in alone["warnings"])
    referenced = board(organizer(tmp_path / "truth", weights(diagnostic_accuracy=1)), half).json
    assert (referenced["headline"], only(referenced)["headline"]) == ("combined_score", 0.0)
    assert all(file["name"] != "weights.json" for file in only(referenced)["inputs"])


@pytest.mark.parametrize("kind", ["predictions", "samples"])
def test_references_of_a_submission(board: Call, tmp_path: Path, kind: str) -> None:
    """They do not count, whether they stand in a file of their own or in the samples."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    sent = wrong("benchmark", 99)
    if kind == "samples":
        put(folder / "sent.json", SAMPLES, [{**record, "reference": record["prediction"]} for record in sent])
    else:
        entry(folder, "benchmark", sent)
        mine = [{**true, "reference": one["prediction"]} for true, one in zip(TRUTH["benchmark"], sent, strict=True)]
        put(folder / "mine.json", REFERENCES, mine)
    envelope = board(truth_file(tmp_path, "benchmark"), folder).json
    found = only(envelope)
    assert found["headline"] == 0.1  # 2 of 20 are right
    assert found["processing"]["expected"] == 20
    if kind == "predictions":
        assert any("mine.json" in warning for warning in found["warnings"])


def test_ties(board: Call, tmp_path: Path) -> None:
    """Equal figures are ranked by the model's name, in any order of the call."""
    folders = [entry(tmp_path / name, "benchmark", team=team) for name, team in (("1", "Z"), ("2", "A"), ("3", "M"))]
    for order in (folders, folders[::-1]):
        assert [name for _, name in names(board(truth_file(tmp_path, "benchmark"), *order).json)] == ["2", "3", "1"]


def test_ties_are_exact(board: Call, tmp_path: Path) -> None:
    """Combined scores that are one double but two numbers are no tie."""
    truth = truth_file(tmp_path, "benchmark", [reference("1", answer="gout"), reference("2", answer="gout")])
    folders = []
    for name, least in (("a", 0.0), ("b", 5e-324)):
        sent = [says("1", "qa", {"safety": 1.0}, answer="gout"), says("2", "qa", {"safety": least}, answer="gout")]
        folders.append(entry(tmp_path / name, "benchmark", sent))
    envelope = board(truth, *folders, "--weights", "safety=1", "--parameter", "given_scores=taken").json
    assert names(envelope) == [(1, "b"), (2, "a")]
    assert {found["headline"] for found in envelope["submissions"]} == {0.5}


@pytest.mark.parametrize("how", ["nothing to weigh", "a name that is taken"])
def test_one_submission_does_not_stop_the_ranking(board: Call, tmp_path: Path, how: str) -> None:
    """What is wrong with one submission is its own reason; the others are ranked."""
    good = [{**record, "scores": {"safety": 1}} for record in SENT["benchmark"]]
    bad = SENT["benchmark"]
    if how == "a name that is taken":
        bad = [{**record, "scores": {"safety": 1, "combined_score": 1}} for record in SENT["benchmark"]]
    folders = [entry(tmp_path / "good", "benchmark", good), entry(tmp_path / "bad", "benchmark", bad)]
    taken = ("--parameter", "given_scores=taken")
    ran = board(truth_file(tmp_path, "benchmark"), *folders, "--weights", "safety=1", *taken)
    assert (ran.code, ran.err) == (0, "")
    envelope = keeps(ran.out, "medcontract/leaderboard")
    assert names(envelope)[0] == (1, "good")
    assert names(envelope)[1] == (None, "bad")
    assert envelope["submissions"][1]["reasons"]


def test_samples_are_no_truth_of_a_ranking(board: Call, tmp_path: Path) -> None:
    """Weights of one model do not say what is right for the others: a usage error."""
    samples = [{**repeats(true), "reference": true["reference"]} for true in TRUTH["benchmark"]]
    ran = board(write(tmp_path, SAMPLES, samples), entry(tmp_path / "a", "benchmark"))
    assert (ran.code, ran.out) == (2, "")
    assert SAMPLES in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("extra", [(), ("--participant",)])
def test_rankings_in_workers(call: Call, tmp_path: Path, extra: tuple[str, ...]) -> None:
    """One process and two print the same bytes, with weights, a lexicon and another name."""
    (lexicon,) = document(tmp_path, "lexicon", {"synonyms": {"asthma": ["gout"]}})
    folders = [entry(tmp_path / f"s{n}", "benchmark", wrong("benchmark", 3 * n)) for n in range(4)]
    truth = organizer(tmp_path / "truth", weights(diagnostics=0.3))
    extra = ("--metric-name", "index", *extra)
    for format_ in ("json", "text", "markdown"):
        run = partial(call, "leaderboard", truth, *folders, "--lexicon", lexicon, "--format", format_, *extra)
        alone = run()
        assert alone.code == 0
        assert run("--jobs", "2") == alone
        assert "index" in alone.out


@pytest.mark.parametrize(
    "arguments",
    [["--weights", "safety=0"], ["--weights", "x"], ["--weights", "a=NaN"], ["--metric-name", "x"], ["--replace"]],
    ids=" ".join,
)
def test_wrong_weights_of_a_ranking(board: Call, tmp_path: Path, arguments: list[str]) -> None:
    """They are the caller's mistake, not a mistake of each submission: a usage error."""
    code, out, _ = board(truth_file(tmp_path, "benchmark"), entry(tmp_path / "a", "benchmark"), *arguments)
    assert (code, out) == (2, "")


def test_two_sorts_of_weights_in_a_ranking(board: Call, tmp_path: Path) -> None:
    """So are weights beside the references and in an option."""
    truth, folder = organizer(tmp_path / "truth", weights(safety=1)), entry(tmp_path / "a", "benchmark")
    ran = board(truth, folder, "--weights", "diagnostics=1")
    assert (ran.code, ran.out) == (2, "")


def test_bad_weights_beside_the_references(board: Call, tmp_path: Path) -> None:
    """Nothing can be ranked."""
    ran = board(organizer(tmp_path / "truth", weights(safety=0)), entry(tmp_path / "a", "benchmark"))
    assert (ran.code, ran.out) == (1, "")
    assert "weights.json" in ran.err


# --- preflight -----------------------------------------------------------------------------------


def test_preflight_of_samples(call: Call, tmp_path: Path) -> None:
    """Samples alone are scored against themselves; against a list of cases what is missing is found."""
    samples = [{**repeats(true), "reference": true["reference"]} for true in TRUTH["benchmark"]]
    path = write(tmp_path, SAMPLES, samples[:10])
    check: Callable[..., Any] = partial(call, "preflight", "--format", "json")
    assert "failed" not in statuses(check(path)).values()
    (tmp_path / "cases.csv").write_text("task_id,sample_id\n" + "".join(f"qa,B-{n:02}\n" for n in range(20)))
    ran = check(path, "cases.csv")
    assert statuses(ran)["coverage"] == "failed"
    assert "10 without a record" in one(ran, "coverage")["detail"]


def test_preflight_with_weights(call: Call, tmp_path: Path, files: list[Path]) -> None:
    """The score in it is the same as from `score` with the same options."""
    extra = ("--weights", "diagnostics=1", "--format", "json")
    ran = call("preflight", *files, *extra)
    assert ran.json["score"] == call("score", *files, *extra).json
    assert "combined_score" in one(ran, "score")["detail"]


@pytest.mark.parametrize("arguments", [["--weights", "x"], ["--weights", "a=0"], ["--metric-name", "x"]], ids=" ".join)
def test_preflight_with_wrong_weights(call: Call, files: list[Path], arguments: list[str]) -> None:
    """The call is wrong, not the submission: exit 2."""
    code, out, _ = call("preflight", *files, *arguments)
    assert (code, out) == (2, "")


def test_preflight_pairs(call: Call, tmp_path: Path) -> None:
    """A case is a pair: the same sample of another task does not answer it."""
    (tmp_path / "cases.csv").write_text("task_id,sample_id\nqa,1\nrx,1\n")
    sent = write(tmp_path, PREDICTIONS, [says("1", "qa", answer="x"), says("1", "zz", answer="x")])
    detail = one(call("preflight", "--format", "json", sent, "cases.csv"), "coverage")["detail"]
    assert "1 without a record" in detail
    assert "1 record with other ids" in detail


# --- breakdowns ----------------------------------------------------------------------------------

SECRETS = ("rebound tenderness", "metformin", "wallaby", "everyone knows that", "appendicitis", "because", "kookaburra")


@pytest.fixture
def secret(tmp_path: Path) -> list[Path]:
    """Samples full of terms, one of them failed and one of them given."""
    truth = [
        reference(
            f"S-{n:02}", answer="appendicitis, rebound tenderness", rationale="wallaby, because of leukocytosis",
            diagnosis="appendicitis",
        )
        for n in range(20)
    ]  # fmt: skip
    sent: list[Record] = [repeats(true) for true in truth]
    sent[1]["prediction"] = {"answer": "metformin, appendicitis", "rationale": "everyone knows that, because"}
    sent[2]["error"] = "kookaburra"
    sent[3]["scores"] = {"clinical_accuracy": 0.25, "safety": 1}
    return [write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)]


def test_breakdown(score: Call, secret: list[Path]) -> None:
    """Every expected sample, sorted: its scores and what they are made of, as numbers of terms."""
    envelope = keeps(score(*secret, "--breakdown", "--format", "json").out, "medcontract/score")
    rows = envelope["result"]["detailed_results"]
    assert [row["sample_id"] for row in rows] == [f"S-{n:02}" for n in range(20)]
    assert {tuple(row) for row in rows} == {("task_id", "sample_id", "scores", "breakdown")}
    # diagnoses: appendicitis 3 in both; symptoms: 1 is missing; medications: 2 are surplus: 3/6
    assert rows[1]["scores"]["clinical_accuracy"] == 0.5
    assert rows[1]["breakdown"]["clinical_accuracy"]["entities"] == {
        "diagnoses": {"matched": 1, "missing": 0, "surplus": 0},
        "medications": {"matched": 0, "missing": 0, "surplus": 1},
        "symptoms": {"matched": 0, "missing": 1, "surplus": 0},
    }
    assert rows[1]["breakdown"]["reasoning_quality"]["fallacies"] == 1
    assert set(rows[2]["scores"].values()) == {0}
    assert rows[2]["breakdown"] == {"unprocessed": "failed"}
    assert rows[3]["scores"]["clinical_accuracy"] == 0.25
    assert "clinical_accuracy" not in rows[3]["breakdown"]
    assert "detailed_results" not in score(*secret, "--format", "json").json["result"]


@pytest.mark.parametrize("form", ["--format=json", "--format=markdown", "--format=text", "--result-only"])
def test_a_breakdown_tells_no_terms(score: Call, secret: list[Path], form: str) -> None:
    """What may be shared has numbers of terms only; with --show-values, the terms."""
    out = score(*secret, "--breakdown", form).out
    assert [word for word in SECRETS if word in out] == []


@pytest.mark.parametrize("form", ["--format=json", "--result-only"])
def test_terms_when_asked_for(score: Call, secret: list[Path], form: str) -> None:
    """Lists, sorted."""
    shown = score(*secret, "--breakdown", form, "--show-values").json
    rows = shown.get("result", shown)["detailed_results"]
    assert rows[1]["breakdown"]["clinical_accuracy"]["entities"]["symptoms"]["missing"] == ["rebound tenderness"]
    assert rows[1]["breakdown"]["reasoning_quality"]["fallacies"] == ["everyone knows that"]
    assert rows[1]["breakdown"]["reasoning_quality"]["structure_markers"] == ["because"]


@pytest.mark.parametrize("form", ["--format=json", "--format=markdown", "--result-only"])
def test_json_on_a_terminal_tells_no_terms(
    score: Call, secret: list[Path], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values on a terminal are for text; a format made for machines has none."""
    on_a_terminal(monkeypatch)
    out = score(*secret, "--breakdown", form, "--no-color").out
    assert [word for word in SECRETS if word in out] == []


@pytest.mark.parametrize("form", ["--format=json", "--format=markdown", "--format=text", "--result-only"])
@pytest.mark.parametrize("extra", [(), ("--show-values",)])
def test_participants_get_no_breakdown(score: Call, secret: list[Path], form: str, extra: tuple[str, ...]) -> None:
    """It would tell the references: neither samples nor terms nor tasks are there."""
    out = score(*secret, "--breakdown", form, "--participant", *extra).out
    words = [word for word in SECRETS if word != "kookaburra"]
    assert [word for word in (*words, "S-00", "matched", "detailed_results", "task_scores") if word in out] == []
    assert "clinical_accuracy" in out.replace("\\_", "_")


def test_a_breakdown_keeps_the_scores(score: Call, secret: list[Path]) -> None:
    """Nothing else changes by asking for it."""
    plain, detailed = (score(*secret, *extra, "--format", "json").json for extra in ((), ("--breakdown",)))
    detailed["result"].pop("detailed_results")
    assert detailed == plain


@pytest.mark.slow
def test_long_texts(score: Call, tmp_path: Path) -> None:
    """Texts of a megabyte, of one word over and over, are scored."""
    long = "because chest pain " * 50_000
    truth = [reference("S", answer=long, rationale=long, diagnosis=long)]
    paths = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, [repeats(true) for true in truth])
    result = score(*paths, "--result-only").json
    assert result["overall_scores"]["diagnostic_accuracy"] == 1.0


def test_pages_with_one_metric(score: Call, tmp_path: Path) -> None:
    """The heading Overall is there on pages, too; on a terminal the only metric is in the first line."""
    said = {"answer": "Asthma"}
    path = write(tmp_path, SAMPLES, [{**reference("1", **said), "prediction": said}])
    assert "\n## Overall\n" in score(path, "--format", "markdown").out
    assert "<h2>Overall</h2>" in score(path, "--format", "html").out
    assert "Overall" not in score(path, "--format", "text").out


def test_names_that_are_strange(score: Call, tmp_path: Path) -> None:
    """Names of tasks and metrics are data: they stay where they are in JSON, and break no other format."""
    task, metric = "a|b\n# <c> `d`\x1b[2J", "m|n\n<o>"
    samples = [{"task_id": task, "sample_id": "1", "reference": {}, "prediction": {}, "scores": {metric: 1}}]
    path = write(tmp_path, SAMPLES, samples)
    assert score(path, "--result-only").json["task_scores"] == {task: {metric: 1.0}}
    for format_ in ("text", "markdown"):
        out = score(path, "--format", format_).out
        assert "\x1b" not in out
        assert "\n# <c>" not in out
        assert "<o>" not in out.replace("\\<o", "") or format_ == "text"


def test_another_track_of_the_same_shape(score: Call, tmp_path: Path) -> None:
    """References and predictions of lesions are told apart."""
    paths = (
        write(tmp_path, REFERENCES, TRUTH["benchmark"]),
        write(tmp_path, "lesions/predictions", [guess("I", "NV")]),
    )
    code, out, err = score(*paths)
    assert (code, out) == (2, "")
    assert "lesions/predictions" in err


# --- names and files that somebody chose to break it ----------------------------------------------

NO_SAMPLES = {
    "empty": b'{"model_id": "m", "samples": []}',
    "no record": b'{"model_id": "m", "samples": [5]}',
    "no ids": b'{"model_id": "m", "samples": [{"reference": {}, "prediction": {}}]}',
    "cut off": b'{"model_id": "m", "samples": [{"task_id": "t", "sample_id": "s", "refer',
    "bad bytes": b'{"model_id": "m\xff", "samples": []}',
}


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("what", NO_SAMPLES)
def test_samples_without_any(call: Call, tmp_path: Path, command: str, what: str) -> None:
    """Nothing is expected, so that nothing can be scored: refused, in every format, for everybody."""
    path = tmp_path / "samples.json"
    path.write_bytes(NO_SAMPLES[what])
    for extra in ((), ("--format", "json"), ("--participant",), ("--parameter", "min_processed=0")):
        assert call(command, f"{SAMPLES}={path}", *extra).code == 1


ESC = "\x1b[31mred|x\ny"


def test_hostile_names(score: Call, files: list[Path], tmp_path: Path) -> None:
    """Names of metrics, tasks and models add nothing that a terminal obeys, no line of their own, no megabyte."""
    truth, sent = files
    given = [{**record, "scores": {ESC: 1, "x" * 100_000: 1}} for record in SENT["benchmark"]]
    odd = put(tmp_path / "odd" / "sent.json", PREDICTIONS, given, model_id=ESC)
    (weighing,) = document(tmp_path / "odd", "weights", weights(None, ESC, diagnostics=1))
    for extra in ((), ("--format", "markdown"), ("--participant",), ("--breakdown",)):
        for paths in ((truth, odd), (truth, sent, weighing)):
            ran = score(*paths, *extra)
            assert ran.code == 0
            assert "\x1b" not in ran.out
            assert max(map(len, ran.out.splitlines())) < 2_000
    for usage_error in (("--weights", "nothing=1"), ("--weights", "diagnostics=1", "--metric-name", ESC)):
        ran = score(truth, odd, *usage_error)
        assert ran.code == 2
        assert "\x1b" not in ran.err
        assert len(ran.err) < 10_000


@pytest.mark.parametrize("name", ["overall_scores", "model_id", "metadata", "task_scores"])
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_metrics_named_like_fields(score: Call, files: list[Path], tmp_path: Path, name: str, form: str) -> None:
    """A metric that has the name of a field of the report is a metric."""
    given = [{**record, "scores": {name: 0.5}} for record in SENT["benchmark"]]
    odd = put(tmp_path / "odd" / "sent.json", PREDICTIONS, given)
    for extra in ((), ("--participant",)):
        ran = score(files[0], odd, "--format", form, *extra)
        assert ran.code == 0
        assert name.replace("_", "\\_" if form == "markdown" else "_") in ran.out
        if form == "json":
            assert ran.json["result"]["overall_scores"][name] == 0.5
            assert isinstance(ran.json["result"]["model_id"], str)


def test_replacing_a_metric(score: Call, files: list[Path]) -> None:
    """What is replaced is weighed before it goes, and that it goes is said."""
    ran = score(
        *files, "--weights", "diagnostics=1", "--metric-name", "clinical_accuracy", "--replace", "--format", "json"
    )
    assert ran.code == 0
    assert ran.json["result"]["overall_scores"]["clinical_accuracy"] == 1
    assert [warning for warning in ran.json["warnings"] if "replaced" in warning]


def test_two_combined_scores(score: Call, files: list[Path], tmp_path: Path) -> None:
    """A second one leaves the first, and its weights, as they are; what another tool wrote stays, too."""
    first = score(*files, "--weights", "diagnostics=1", "--result-only").json
    first["metadata"]["combined"] = "of another tool"
    (report,) = document(tmp_path, "report", first)
    second = score(report, "--weights", "diagnostic_accuracy=2", "--metric-name", "second", "--result-only").json
    assert second["overall_scores"].keys() >= {"combined_score", "second"}
    assert second["metadata"]["combined"] == "of another tool"
    assert second["metadata"]["combined_scores"] == {
        "combined_score": {"weights": {"diagnostics": 1.0}, "renormalize_missing": True},
        "second": {"weights": {"diagnostic_accuracy": 2.0}, "renormalize_missing": True},
    }


def test_a_date(score: Call, files: list[Path], tmp_path: Path) -> None:
    """A report has one where the caller gives it; one that is there cannot be set."""
    dated = score(*files, "--set", "timestamp=2026-03-14", "--result-only").json
    assert dated["timestamp"] == "2026-03-14"
    assert "timestamp" not in score(*files, "--result-only").json
    assert score(*files, "--set", "timestamp=yesterday").code == 2
    (report,) = document(tmp_path, "report", dated)
    ran = score(report, "--weights", "diagnostics=1", "--set", "timestamp=2026-03-15")
    assert ran.code == 2
    assert "cannot be set" in ran.err


def test_options_that_change_nothing(score: Call, files: list[Path], tmp_path: Path) -> None:
    """A report that is already made cannot be explained."""
    (report,) = document(tmp_path, "report", score(*files, "--result-only").json)
    out = score(report, "--weights", "diagnostics=1", "--breakdown").out
    assert "--breakdown has no effect" in out
    assert "--parameter has no effect" in score(report, "--weights", "diagnostics=1", "--parameter", "penalty=0").out


def test_a_lexicon_with_errors(score: Call, files: list[Path], tmp_path: Path) -> None:
    """Where it is wrong is told as for any other file."""
    path = tmp_path / "lexicon.json"
    path.write_text('{"entities": {\n"diagnoses": ["gout"],\n"labs": ["Gout"]}}', encoding="utf-8")
    ran = score(*files, "--lexicon", path)
    assert (ran.code, ran.out) == (1, "")
    assert "lexicon.json:3:" in ran.err
    assert "MC219" in ran.err


def test_a_plugin_changes_the_fingerprint(score: Call, files: list[Path], tmp_path: Path) -> None:
    """So that scores with it and without it are not compared."""
    (tmp_path / "tiny_metric.py").write_text(
        'METRICS = {"tiny": lambda reference, prediction: 0.5}\n', encoding="utf-8"
    )
    plain = score(*files, "--format", "json").json["protocol"]
    with_it = score(*files, "--plugin", "tiny_metric.py", "--format", "json").json["protocol"]
    assert (plain["parameters"]["own_metrics"], with_it["parameters"]["own_metrics"]) == (None, "tiny")
    assert plain["fingerprint"] != with_it["fingerprint"]


@pytest.mark.parametrize(
    "extra", [["--weights", "foo=1"], ["--weights", "diagnostics=1", "--metric-name", "clinical_accuracy"]]
)
def test_weights_that_fit_nobody(call: Call, board: Call, files: list[Path], tmp_path: Path, extra: list[str]) -> None:
    """Where they fit no submission at all, they are to blame: a usage error."""
    folders = [entry(tmp_path / name, "benchmark") for name in ("a", "b")]
    assert board(files[0], *folders, *extra).code == 2
    assert call("preflight", *files, *extra).code == 2


def test_weights_that_fit_some(board: Call, tmp_path: Path) -> None:
    """Who lacks all that is weighed is not ranked; the others are."""
    truth = truth_file(tmp_path, "benchmark")
    given = [{**record, "scores": {"safety": 1}} for record in SENT["benchmark"]]
    rich, poor = put(tmp_path / "rich" / "sent.json", PREDICTIONS, given).parent, entry(tmp_path / "poor", "benchmark")
    taken = ("--parameter", "given_scores=taken")
    found = board(truth, rich, poor, "--weights", "safety=1", *taken).json["submissions"]
    assert [each["rank"] for each in found] == [1, None]


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_ranking_for_participants(call: Call, tmp_path: Path, form: str) -> None:
    """It does not tell the hash of the truth, against which guesses could be tried."""
    truth, folder = truth_file(tmp_path, "benchmark"), entry(tmp_path / "a", "benchmark")
    whole = call("leaderboard", truth, folder, "--format", "json").json["truth"][0]["content_sha256"]
    assert whole[:16] in call("leaderboard", truth, folder, "--format", form).out
    assert whole[:16] not in call("leaderboard", truth, folder, "--format", form, "--participant").out


def test_a_blank_name_from_python(files: list[Path]) -> None:
    """It is refused there, too, and not taken for none."""
    for name in ("", " "):
        with pytest.raises(medcontract.CallError, match="blank"):
            medcontract.score(*files, weights={"diagnostics": 1}, metric_name=name)
