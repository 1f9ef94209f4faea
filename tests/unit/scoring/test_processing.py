"""What is processed, what is refused, and what a score takes from headers and other files.

The figures are in `tests/vectors/scores`; see test_scoring_golden.py.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import (
    CONTRACTS,
    HEADERS,
    OFF,
    Record,
    answer,
    as_jsonl,
    assert_keeps_contract,
    case,
    document,
    drug,
    guess,
    image,
    model,
    read,
    reference,
    repeats,
    report,
    response,
    result_of,
    run,
    rx,
    score_of,
    telemetry,
    write,
)

import medcontract
from medcontract.contracts.contract import Validated
from medcontract.scoring.expected import Expected, validated
from medcontract.scoring.pairing import Pair, Pairing

THREE = [report("E", urgency="Emergency"), report("U", urgency="Urgent"), report("R", follow_up=True)]
RIGHT = [answer(true) for true in THREE]


def codes(score: medcontract.Score) -> list[str]:
    """The codes of all problems that a score lists."""
    return [one.code for one in score.problems]


def processing(score: medcontract.Score) -> tuple[int, int]:
    """(processed, expected)."""
    assert score.processing is not None, score.reasons
    return score.processing.processed, score.processing.expected


def refused(score: medcontract.Score) -> bool:
    """No result, and a reason for it."""
    return not score.valid and score.result is None and bool(score.reasons)


def many(track: str, count: int) -> tuple[list[Record], list[Record]]:
    """A truth of that many items, and right answers to all."""
    if track == "reports":
        truth = [report(f"R-{n}") for n in range(count)]
        return truth, [answer(true) for true in truth]
    if track == "lesions":
        return [image(f"I-{n}", "NV") for n in range(count)], [guess(f"I-{n}", "NV") for n in range(count)]
    if track == "extraction":
        truth = [rx(f"P-{n}", drug("Losartán", "50 mg"), drug("Insulina")) for n in range(count)]
        return truth, [read(true) for true in truth]
    if track == "benchmark":
        truth = [reference(f"B-{n}", answer="gout") for n in range(count)]
        return truth, [repeats(true) for true in truth]
    truth = [segment for n in range(count) for segment in case(f"C-{n}", (f"S-{n}", 0, 1, [("Airway", 2)]))]
    return truth, [response(segment, "Airway") for segment in truth]


KEYS = {
    "reports": "report_id", "lesions": "image_id", "triage": "segment_id", "extraction": "doc_id",
    "benchmark": "sample_id",
}  # fmt: skip


TRACKS = sorted(KEYS)


FAILING = ("benchmark", "lesions", "reports", "triage")
"""Whose records can say that they failed. (In extraction, such a record is processed.)"""


def spoilt(track: str, record: Record) -> Record:
    """The record with a value that breaks its contract."""
    if track == "reports":
        return {**record, "urgency": "urgent"}
    if track == "lesions":
        return {**record, "probabilities": [0.5] * 10}
    if track == "extraction":
        return {**record, "medicamentos": [{"nombre_medicamento": 7}]}
    if track == "benchmark":
        return {**record, "scores": {"safety": 2}}
    return {**record, "run_id": "7"}


def failed(track: str, record: Record) -> Record:
    """The record as one that reports an error."""
    if track in ("benchmark", "triage"):
        return {**record, "error": "time out"}
    if track == "extraction":
        return {**record, "exception": "time out"}
    return {KEYS[track]: record[KEYS[track]], "error": "time out"}


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize(("there", "expected", "passes"), [(20, 20, True), (19, 20, True), (18, 20, False)])
def test_the_gate_is_exact(track: str, there: int, expected: int, passes: bool, tmp_path: Path) -> None:
    """19 of 20 are 95 % and pass; 18 do not: no result (except NO-GO and the metrics of triage), and a reason."""
    truth, sent = many(track, expected)
    score = score_of(tmp_path, track, truth, sent[:there])
    assert processing(score) == (there, expected)
    assert score.processing is not None
    assert score.processing.passed == passes
    assert score.valid == passes
    if track == "extraction":
        assert score.result is not None
        assert (score.result["decision"], bool(score.reasons)) == ("NO-GO", not passes)
    elif track == "triage":
        assert score.result is not None
        assert bool(score.reasons) == (not passes)
    else:
        assert refused(score) != passes


@pytest.mark.parametrize(("there", "passes"), [(9499, False), (9500, True)])
def test_the_gate_at_ten_thousand(there: int, passes: bool, tmp_path: Path) -> None:
    """94.99 % do not pass, though they are 95.0 % to people; 95 % do."""
    truth, sent = many("lesions", 10_000)
    score = score_of(tmp_path, "lesions", truth, sent[:there])
    assert processing(score) == (there, 10_000)
    assert (score.valid, score.result is not None) == (passes, passes)


@pytest.mark.parametrize(
    ("minimum", "there", "passes"),
    [("0.9", 9, True), ("0.9", 8, False), ("1", 9, False), ("1", 10, True), ("0.30", 3, True), ("0", 1, True)],
)
def test_another_minimum(minimum: str, there: int, passes: bool, tmp_path: Path) -> None:
    """A parameter is a decimal: 0.9 is 9/10 (as a double it would be more, and 3 of 10 would miss 0.3)."""
    truth, sent = many("lesions", 10)
    parameters = {"min_processed": minimum}
    score = score_of(tmp_path, "lesions", truth, sent[:there], model(), parameters)
    assert (score.valid, score.result is not None) == (passes, passes)
    usual = score_of(tmp_path, "lesions", truth, sent, model())
    assert score.protocol.fingerprint != usual.protocol.fingerprint


@pytest.mark.parametrize("track", TRACKS)
def test_unknown_ids_do_not_change_the_rate(track: str, tmp_path: Path) -> None:
    """18 of 20 and two strangers do not pass; 19 of 20 and two strangers do; the strangers are problems."""
    truth, sent = many(track, 20)
    strangers = [{**sent[0], KEYS[track]: f"X-{n}"} for n in range(2)]
    few = score_of(tmp_path, track, truth, sent[:18] + strangers)
    assert (processing(few), few.valid) == ((18, 20), False)
    enough = score_of(tmp_path, track, truth, sent[:19] + strangers)
    assert (processing(enough), enough.valid) == ((19, 20), True)
    if track != "extraction":  # there it is a bug: test_ids_of_one_side_only
        assert codes(enough).count("MC303") == 2
    assert enough.result == score_of(tmp_path, track, truth, sent[:19]).result


UNPROCESSED = ("failed", "invalid", "repeated", "with an invalid one", "with a failed one")


@pytest.mark.parametrize(
    ("track", "kind"), [(track, kind) for track in TRACKS for kind in UNPROCESSED[track not in FAILING :]]
)
def test_what_is_not_processed(track: str, kind: str, tmp_path: Path) -> None:
    """One of 20 items is not processed, for each reason that there is; the rate is 19/20."""
    truth, sent = many(track, 20)
    first = {
        "failed": [failed(track, sent[0])],
        "invalid": [spoilt(track, sent[0])],
        "repeated": [sent[0], sent[0]],
        "with an invalid one": [sent[0], spoilt(track, sent[0])],
        "with a failed one": [sent[0], failed(track, sent[0])],
    }[kind]
    for records in (first + sent[1:], [*first[1:], *sent[1:], first[0]]):
        score = score_of(tmp_path, track, truth, records)
        assert processing(score) == (19, 20)
        assert score.valid
        assert score.result is not None
        assert_keeps_contract(track, score.result)
        assert bool(score.errors) == (kind != "failed")


@pytest.mark.parametrize("track", TRACKS)
def test_repeated_twice_over(track: str, tmp_path: Path) -> None:
    """Three records for one item, and two invalid ones for another: both are not processed."""
    truth, sent = many(track, 40)
    bad = spoilt(track, sent[1])
    score = score_of(tmp_path, track, truth, [sent[0], bad, *sent[2:], sent[0], bad, sent[0]])
    assert processing(score) == (38, 40)


@pytest.mark.parametrize("track", TRACKS)
def test_a_blank_error_is_none(track: str, tmp_path: Path) -> None:
    """Absent, null and blank all mean: no error."""
    truth, sent = many(track, 3)
    name = "exception" if track == "extraction" else "error"
    records = [{**record, name: error} for record, error in zip(sent, (None, "", " \t\u00a0"), strict=True)]
    score = score_of(tmp_path, track, truth, records)
    assert processing(score) == (3, 3)
    if track == "extraction":
        assert score.result is not None
        assert (score.result["prescription_accuracy"], score.result["pipeline_success_rate"]) == (100, 100)


@pytest.mark.parametrize("track", ["lesions", "reports"])
def test_an_error_beside_an_answer_is_invalid(track: str, tmp_path: Path) -> None:
    """A record that both answers and failed breaks its contract: not processed, and a problem."""
    truth, sent = many(track, 20)
    score = score_of(tmp_path, track, truth, [{**sent[0], "error": "time out"}, *sent[1:]])
    assert processing(score) == (19, 20)
    assert score.errors


@pytest.mark.parametrize("fault", ["NaN", "1e999", "repeated key", "surrogate"])
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_fault_of_one_record(fault: str, ending: str, tmp_path: Path) -> None:
    """Such a fault is one of the record that holds it, and that record is a second one for its report."""
    truth, sent = many("reports", 20)
    line = json.dumps(sent[3])
    spoils = {
        "NaN": line.replace("0.5", "NaN"),
        "1e999": line.replace("0.5", "1e999"),
        "repeated key": line.replace('"follow_up": false', '"follow_up": false, "follow_up": false'),
        "surrogate": line.replace('"Other"', '"\\ud800"'),
    }
    assert spoils[fault] != line
    path = write(tmp_path, "reports/predictions", sent, ending)
    text = path.read_text()
    path.write_text(text.replace(line, f"{line}, {spoils[fault]}" if ending == "json" else f"{line}\n{spoils[fault]}"))
    score = medcontract.score(write(tmp_path, "reports/truth", truth), path)
    assert processing(score) == (19, 20)
    assert sorted(code[:3] for code in codes(score)) == ["MC0", "MC2"]


def test_a_record_that_is_too_deep_is_a_record(tmp_path: Path) -> None:
    """A response nested beyond the limit is invalid, not missing; beside a good one it makes it repeated."""
    (segment,) = case("C", ("S", 0, 10, [("Airway", 20)]))
    deep: Record = {}
    for _ in range(150):
        deep = {"a": deep}
    too_deep = response(segment, "Airway", embeddings=deep)
    both = score_of(tmp_path, "triage", [segment], [response(segment, "Airway"), too_deep], None, OFF)
    assert processing(both) == (0, 1)
    alone = result_of(tmp_path, "triage", [segment], [too_deep], None, OFF)
    assert alone["metrics"][0]["errors"][0]["error"] == "the response violates its contract"


def test_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    """It is one bad record; the others stand."""
    truth, sent = many("reports", 20)
    path = write(tmp_path, "reports/predictions", sent[1:], "jsonl")
    path.write_text(path.read_text() + json.dumps(sent[0])[:-9] + "\n")
    score = medcontract.score(write(tmp_path, "reports/truth", truth), path)
    assert (processing(score), score.valid) == ((19, 20), True)
    assert score.errors


def test_a_part_that_cannot_be_read(tmp_path: Path) -> None:
    """A `.json` whose syntax breaks has no records: those before the break do not count either."""
    truth, sent = many("reports", 20)
    good = write(tmp_path, "reports/predictions", sent[:19], "json", "a")
    bad = write(tmp_path, "reports/predictions", sent[19:], "json", "b")
    bad.write_text(bad.read_text()[:-1])
    truth_file = write(tmp_path, "reports/truth", truth)
    for files in ([good, bad, truth_file], [bad, truth_file, good]):
        score = medcontract.score(*files)
        assert (processing(score), score.valid, bool(score.errors)) == ((19, 20), True, True)


@pytest.mark.parametrize("track", TRACKS)
def test_a_truth_with_errors(track: str, tmp_path: Path) -> None:
    """A repeated id in the truth, or a record that breaks its contract: nothing is scored."""
    truth, sent = many(track, 3)
    score = score_of(tmp_path, track, [*truth, truth[0]], sent)
    assert refused(score)
    assert score.processing is None


@pytest.mark.parametrize("track", TRACKS)
def test_an_empty_truth(track: str, tmp_path: Path) -> None:
    """There is nothing that could be right."""
    _, sent = many(track, 1)
    truth_id, sent_id, _ = CONTRACTS[track]
    files = [
        f"{contract}={write(tmp_path, contract, records)}" for contract, records in ((truth_id, []), (sent_id, sent))
    ]
    score = medcontract.score(*files)
    assert refused(score)
    assert score.processing is None


@pytest.mark.parametrize("runs", [[run("1"), run("1")], [run("1", memory=-1.0)], []])
def test_telemetry_with_errors(runs: list[Record], tmp_path: Path) -> None:
    """A bad auxiliary file is never ignored."""
    score = score_of(tmp_path, "reports", THREE, RIGHT, {**telemetry(), "runs": runs})
    assert refused(score)
    assert score.processing is None


def test_a_model_file_with_errors(tmp_path: Path) -> None:
    """As telemetry."""
    truth, sent = many("lesions", 3)
    score = score_of(tmp_path, "lesions", truth, sent, {**model(), "uses_image": False})
    assert refused(score)
    assert score.processing is None


@pytest.mark.parametrize("track", ["reports", "triage"])
@pytest.mark.parametrize("change", [{"event": "Frühling"}, {"team_name": " "}, {"evaluation_date": "2025-02-30"}])
def test_headers_that_are_wrong(track: str, change: Record, tmp_path: Path) -> None:
    """Another event, a header that breaks its contract: nothing is scored."""
    truth, sent = many(track, 3)
    contract = {"reports": "reports/predictions", "triage": "triage/response"}[track]
    truth_file = write(tmp_path, {"reports": "reports/truth", "triage": "triage/ground-truth"}[track], truth)
    path = write(tmp_path, contract, sent)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    score = medcontract.score(truth_file, path)
    assert refused(score)
    assert score.processing is None


def test_figures_beyond_all_doubles(tmp_path: Path) -> None:
    """A penalty that no double holds is a reason, never a crash."""
    score = score_of(tmp_path, "reports", THREE, [answer(true, 1.7e308) for true in THREE], telemetry())
    assert not score.valid
    assert score.reasons
    truth = case("C", ("S", 0, 1, [("Airway", 1.7e308), ("Breathing", 1.7e308)]))
    assert not score_of(tmp_path, "triage", truth, [response(truth[0], "Airway", "Breathing")]).valid


LISTED = case("C", ("s1", 0, 10, [("Airway", 50)]), ("s2", 10, 20, [("Airway", 50)]))


IN_EITHER = [response(segment, "Airway") for segment in LISTED]


def test_only_the_organizers_inventory(tmp_path: Path) -> None:
    """One in the submission's folder never gives the order; one beside the truth does, in rankings, too."""
    truth, sent = tmp_path / "truth", tmp_path / "sent"
    for folder in (truth, sent):
        folder.mkdir()
    write(truth, "triage/ground-truth", LISTED)
    write(sent, "triage/response", IN_EITHER)
    rows = "case_id,segment_id\nC,s2\nC,s1\n"

    def lead_times() -> tuple[float, float]:
        scored = medcontract.score(truth, sent)
        medcontract.leaderboard(truth, sent, reports=tmp_path / "reports")
        assert scored.result is not None
        (one,) = scored.result["metrics"]
        (other,) = json.loads((tmp_path / "reports" / "sent.json").read_text())["result"]["metrics"]
        return one["prediction_lead_time"], other["prediction_lead_time"]

    (sent / "inventory.csv").write_text(rows)
    assert lead_times() == (40.0, 40.0)
    ignored = "inventory.csv (triage/inventory) is ignored: only the organizer's file counts"
    assert ignored in medcontract.score(truth, sent).warnings
    (truth / "inventory.csv").write_text(rows)
    assert lead_times() == (30.0, 30.0)
    (sent / "inventory.csv").unlink()
    assert lead_times() == (30.0, 30.0)


@pytest.mark.parametrize("there", [1, 0])
def test_a_missing_header_field_below_the_gate(there: int, tmp_path: Path) -> None:
    """The metrics need it there, too: a usage error that says which."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth), write(tmp_path, "triage/response", sent[:there], "jsonl")]
    header = {"team_name": "Nordlicht"}
    with pytest.raises(medcontract.CallError, match="evaluation_date"):
        medcontract.score(files[0], f"triage/response={files[1]}", header=header)


@pytest.mark.parametrize("truth_ending", ["json", "jsonl"])
def test_a_header_that_the_caller_gives(truth_ending: str, tmp_path: Path) -> None:
    """JSON Lines have no header: `header` gives it, and it stands in the result."""
    truth, sent = many("triage", 2)
    files = [
        write(tmp_path, "triage/ground-truth", truth, truth_ending),
        write(tmp_path, "triage/response", sent, "jsonl"),
    ]
    score = medcontract.score(*files, header=HEADERS["triage/response"])
    assert score.result is not None
    assert_keeps_contract("triage", score.result)
    assert {name: score.result[name] for name in HEADERS["triage/response"]} == HEADERS["triage/response"]
    assert score.result["response_file_name"] == "triage-response.jsonl"


@pytest.mark.parametrize("lacking", ["team_name", "evaluation_date", "event"])
def test_a_header_field_that_nobody_gives(lacking: str, tmp_path: Path) -> None:
    """The call is wrong, and the message says which field is lacking."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth, "jsonl"), write(tmp_path, "triage/response", sent, "jsonl")]
    header = {name: value for name, value in HEADERS["triage/response"].items() if name != lacking}
    with pytest.raises(medcontract.CallError, match=lacking):
        medcontract.score(*files, header=header)


def test_an_event_that_only_the_truth_has(tmp_path: Path) -> None:
    """The result is a `triage/metrics` document all the same: with the truth's event (never null), or no result."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth), write(tmp_path, "triage/response", sent, "jsonl")]
    header = {name: value for name, value in HEADERS["triage/response"].items() if name != "event"}
    score = medcontract.score(*files, header=header)
    assert score.result is not None
    assert score.result["event"] == "Abendstern"
    assert_keeps_contract("triage", score.result)


def test_a_given_event_that_differs(tmp_path: Path) -> None:
    """A header field that the caller gives is compared as any other."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth), write(tmp_path, "triage/response", sent, "jsonl")]
    assert refused(medcontract.score(*files, header={**HEADERS["triage/response"], "event": "Morgenstern"}))


def test_names_of_several_parts(tmp_path: Path) -> None:
    """`response_file_name` of several parts: base names, sorted, joined by a comma and a blank."""
    truth, sent = many("triage", 3)
    files = [write(tmp_path, "triage/ground-truth", truth)]
    files += [write(tmp_path, "triage/response", [sent[n]], "json", name) for n, name in enumerate(("b", "c", "a"))]
    score = medcontract.score(*files)
    assert score.result is not None
    assert score.result["response_file_name"] == "a.json, b.json, c.json"


IMAGES = [image(f"I-{n}", "NV") for n in range(20)]
GUESSES = [guess(f"I-{n}", "NV") for n in range(20)]


@pytest.mark.parametrize(
    ("times", "gpu", "alone"), [((100.0, 300.0), False, False), ((100.0,), False, True), ((100.0, 300.0), True, True)]
)
def test_the_times_of_a_ranking(tmp_path: Path, times: tuple[float, ...], gpu: bool, alone: bool) -> None:
    """The warning that one submission sets the range of times is about the ranking, not about an entry."""
    truth = write(tmp_path, "lesions/truth", IMAGES)
    folders = [tmp_path / f"team-{time:g}" for time in times]
    for folder, time in zip(folders, times, strict=True):
        folder.mkdir()
        write(folder, "lesions/predictions", GUESSES)
        document(folder, "model", {**model(time=time), "gpu": gpu and time == 300})
    board = medcontract.leaderboard(truth, *folders)

    def is_about_one(warnings: tuple[str, ...]) -> bool:
        return any(warning.startswith("t_min_ms and t_max_ms come from a single submission") for warning in warnings)

    assert is_about_one(board.warnings) is alone
    assert not any(is_about_one(entry.warnings) for entry in board.submissions)


@pytest.mark.parametrize(
    "parameters", [{"t_min_ms": "1"}, {"t_max_ms": "1"}, {"t_min_ms": "2", "t_max_ms": "1"}, {"t_mean_ms": "1"}]
)
def test_times_that_do_not_fit(parameters: dict[str, str], tmp_path: Path) -> None:
    """Both or none, the shorter first; an unknown parameter is a usage error."""
    with pytest.raises(medcontract.CallError):
        score_of(tmp_path, "lesions", IMAGES, GUESSES, model(), parameters)


@pytest.mark.parametrize("track", TRACKS)
def test_the_content_of_a_truth(track: str, tmp_path: Path) -> None:
    """`content_sha256` hashes the records: the same for any order, spelling and container, not for other content."""
    truth, sent = many(track, 3)
    contract, submission, _ = CONTRACTS[track]
    sent_file = write(tmp_path, submission, sent)
    spelled = as_jsonl(contract, [dict(reversed(record.items())) for record in truth[::-1]]).decode()
    spelled = spelled.replace(" 0,", " 0.0,").replace(" 2}", " 0.2e1}").replace('"R-', '"\\u0052-')

    def content(*files: Path) -> set[str | None]:
        inputs = medcontract.score(*files, sent_file, header=given(files)).inputs
        assert [one.content_sha256 for one in inputs if one.contract == submission] == [None]
        return {one.content_sha256 for one in inputs if one.contract == contract}

    def given(files: tuple[Path, ...]) -> dict[str, str]:
        has_header = any(path.suffix == ".json" for path in files)
        return {} if has_header else HEADERS[contract]

    usual = content(write(tmp_path, contract, truth))
    assert len(usual) == 1
    other = tmp_path / "other.jsonl"
    other.write_text(spelled)
    assert content(other) == usual
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(spelled.encode()))
    assert content(packed) == usual
    assert content(*(write(tmp_path, contract, [true], "json", f"part{n}") for n, true in enumerate(truth))) == usual
    assert content(write(tmp_path, contract, truth[1:])) != usual


def _anything(*_: Any) -> str:
    return ""


def test_plain_data_is_refused() -> None:
    """A dict, a list, a model that nobody vouched for: a type error, not a score."""
    plain_values: tuple[Any, ...] = ({}, [], [THREE[0]], (), None, "reports")
    for plain in plain_values:
        with pytest.raises(TypeError, match="validated"):
            validated(plain)


def test_a_truth_of_plain_records_is_refused() -> None:
    """The ignored type error is the proof that a type checker refuses it too: an unused ignore fails the build."""
    expected: Expected = Expected(("report_id",), _anything)
    with pytest.raises(TypeError):
        expected.take([THREE[0]])  # type: ignore[arg-type]
    assert not expected.items


def test_a_submission_of_plain_records_is_refused() -> None:
    """As for a truth."""
    pair: Pair = Pair(
        truth="reports/truth", submission="reports/predictions", key=("report_id",), item=_anything, measure=_anything
    )
    pairing = Pairing(pair, Expected(("report_id",), _anything))
    with pytest.raises(TypeError):
        pairing.take([RIGHT[0]])  # type: ignore[arg-type]
    assert not pairing.marks_by_run


def test_nobody_else_can_vouch() -> None:
    """A validated value cannot be made by a call, nor changed, nor passed off by a subclass."""
    with pytest.raises(TypeError):
        Validated(object(), [THREE[0]], "reports/truth")
    value = medcontract.load(as_jsonl("reports/truth", THREE), name="truth.jsonl")
    assert len(validated(value)) == 3
    with pytest.raises(AttributeError):
        value.value = []  # type: ignore[misc]

    class Mine(Validated[Any]):
        def __init__(self) -> None:
            self._value = [THREE[0]]

    with pytest.raises(TypeError):
        validated(Mine())


def test_score_takes_files_and_tables_only(tmp_path: Path) -> None:
    """The public function validates what it is given: a record or a whole document is neither a file nor a table."""
    with pytest.raises(medcontract.CallError, match="expected a path, got dict"):
        medcontract.score(THREE[0], RIGHT[0])  # type: ignore[arg-type]
    with pytest.raises(medcontract.CallError):
        medcontract.score(*document(tmp_path, "telemetry", telemetry()))
