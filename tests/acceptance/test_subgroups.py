"""Figures of subgroups (`--by`), and that nothing is known of small ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from tests.commands import TRUTH, Call, all_files, keeps, sent_file, truth_file
from tests.scoring_files import answer, guess, image, report

import medcontract
from medcontract.contracts import registry
from medcontract.evaluation.subgroups import hidden
from medcontract.schemas import publishing

CELL = 10


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = Path(name)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def lesions(sites: Sequence[str], wrong: frozenset[int] = frozenset()) -> tuple[Path, Path, Path]:
    """Images of one class, each with a site; some are predicted wrongly."""
    truth = [image(f"I-{n:03}", "NV") for n in range(len(sites))]
    sent = [guess(each["image_id"], "MEL" if n in wrong else "NV") for n, each in enumerate(truth)]
    rows = [{"image_id": f"I-{n:03}", "site": site} for n, site in enumerate(sites)]
    files = truth_file(Path(), "lesions", truth), sent_file(Path(), "lesions", sent)
    return (*files, table("groups.csv", rows))


def grouped(call: Call, *arguments: object) -> list[Any]:
    ran = call("score", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    groups: list[Any] = keeps(ran.out, "medcontract/score")["subgroups"]
    return groups


# --- figures


def test_figures_of_each_group(call: Call) -> None:
    """Site A has 9 of 12 right, site B 24 of 24.

    With one class, its F1 is 2·TP / (2·TP + FN); weighted_f1 is 2 · F1/5 / 6, as NV is one of five benign classes.
    """
    truth, sent, groups = lesions(["A"] * 12 + ["B"] * 24, frozenset({0, 1, 2}))
    first, second = grouped(call, truth, sent, "--by", "site", "--groups", groups)
    assert [(each["field"], each["value"], each["cases"]) for each in (first, second)] == [
        ("site", "A", 12), ("site", "B", 24),
    ]  # fmt: skip
    assert first["figures"]["/accuracy"] == 0.75
    assert first["figures"]["/f1_by_class/NV"] == pytest.approx(18 / 21)
    headlines = [0.5 * 0.75 + 0.5 * (18 / 21) / 5 / 6, 0.5 + 0.5 / 5 / 6]
    assert [each["headline"] for each in (first, second)] == pytest.approx(headlines)
    gaps = [headlines[0] - headlines[1], headlines[1] - headlines[0]]
    assert [each["gap"] for each in (first, second)] == pytest.approx(gaps), "of two groups, each is the others"


def test_figures_are_those_of_the_cases_alone(call: Call) -> None:
    """The same figures as in a score of these files only."""
    sites = ["A" if n % 3 else "B" for n in range(60)]
    truth, sent, groups = lesions(sites, frozenset(range(0, 60, 7)))
    for group in grouped(call, truth, sent, "--by", "site", "--groups", groups):
        chosen = [n for n, site in enumerate(sites) if site == group["value"]]
        alone_truth = truth_file(Path("alone"), "lesions", [image(f"I-{n:03}", "NV") for n in chosen])
        marks = [guess(f"I-{n:03}", "MEL" if n % 7 == 0 else "NV") for n in chosen]
        result = medcontract.score(alone_truth, sent_file(Path("alone"), "lesions", marks)).result
        assert result is not None
        for place, value in group["figures"].items():
            found: Any = result
            for key in place.split("/")[1:]:
                found = found[key]
            assert found == value, place


def test_what_is_measured_apart_is_left_out(call: Call) -> None:
    """Memory does not depend on the cases; counts and single cases are no figures of a group."""
    files = all_files(Path("data"), "reports")
    groups = table("groups.csv", [{"report_id": f"R-{n:02}", "site": "AB"[n % 2]} for n in range(20)])
    for group in grouped(call, *files, "--by", "site", "--groups", groups):
        assert "/specialty_accuracy" in group["figures"]
        assert "/total_score" in group["figures"]
        assert not {"/max_memory_usage", "/cpu_penalty", "/avg_processing_time"} & group["figures"].keys()


@pytest.mark.parametrize("track", ["reports", "triage", "lesions", "extraction", "benchmark"])
def test_every_track(track: str, call: Call) -> None:
    """A perfect submission has the same headline in each of its groups; a case of triage has several segments."""
    files = all_files(Path("data"), track)
    key = {"reports": "report_id", "triage": "segment_id", "lesions": "image_id", "extraction": "doc_id"}
    ids = [(each.get("task_id"), each[key.get(track, "sample_id")]) for each in TRUTH[track]]
    rows = [{"task_id": task, key.get(track, "sample_id"): name, "half": "xy"[n >= len(ids) // 2]}
            for n, (task, name) in enumerate(ids)]  # fmt: skip
    ran = call("score", *files, "--by", "half", "--groups", table("groups.csv", rows), "--parameter", "min_cell=5",
               "--format", "json")  # fmt: skip
    first, second = ran.json["subgroups"]
    cases = len({each.get("case_id", n) for n, each in enumerate(TRUTH[track])}) if track == "triage" else len(ids)
    assert first["cases"] + second["cases"] == cases
    assert first["gap"] == second["gap"] == 0


# --- where the values come from


def test_a_field_of_the_truth(call: Call) -> None:
    """Also a truth value, which is one in the output."""
    truth = [report(f"R-{n:02}", "Oncology", "Urgent", n % 3 == 0) for n in range(60)]
    files = truth_file(Path(), "reports", truth), sent_file(Path(), "reports", [answer(each) for each in truth])
    groups = grouped(call, *files, "--by", "follow_up", "--by", "urgency")
    assert [(each["field"], each["value"], each["cases"]) for each in groups] == [
        ("follow_up", False, 40), ("follow_up", True, 20), ("urgency", "Urgent", 60),
    ]  # fmt: skip
    assert groups[-1]["gap"] is None, "there are no other cases"


def test_a_field_of_the_list_of_cases(call: Call) -> None:
    """It becomes an input of the score, and its errors refuse it, like errors of an auxiliary file."""
    truth, sent, _ = lesions(["A"] * 60)
    ages = [3] * 12 + [40] * 15 + [64] * 13 + [65] * 11 + [90] * 9
    rows = [
        {"image_id": f"I-{n:03}", "image_path": f"{n}.jpg", "age": age, "gender": "f", "location": 1}
        for n, age in enumerate(ages)
    ]
    cases = Path("cases.json")
    cases.write_text(json.dumps({"cases": rows}), encoding="utf-8")
    ran = call("score", truth, sent, cases, "--by", "age=0,40,65", "--by", "gender", "--format", "json")
    found = [(each["value"], each["cases"]) for each in ran.json["subgroups"]]
    assert found == [("0 to below 40", 12), ("40 to below 65", 28), ("from 65", 20), ("f", 60)]
    assert "lesions/cases" in [each["contract"] for each in ran.json["inputs"]]
    assert not any("cases.json" in warning for warning in ran.json["warnings"])
    cases.write_text(json.dumps({"cases": [{**row, "gender": "x"} for row in rows]}), encoding="utf-8")
    refused = call("score", truth, sent, cases, "--by", "gender", "--format", "json")
    assert (refused.code, refused.json["reasons"]) == (1, ["lesions/cases has 60 errors (cases.json)"])


def test_bands(call: Call) -> None:
    """Values below the first bound are a group of their own; bounds belong to the band that they start."""
    ages = ["-1"] * 10 + ["0"] * 10 + ["39.999"] * 5 + ["40"] * 10 + ["65"] * 10 + ["1e2"] * 5 + [""] * 10
    truth, sent, _ = lesions(["A"] * len(ages))
    groups = table("ages.csv", [{"image_id": f"I-{n:03}", "age": age} for n, age in enumerate(ages)])
    found = grouped(call, truth, sent, "--by", "age=0,40,65", "--groups", groups)
    assert [(each["value"], each["cases"]) for each in found] == [
        ("below 0", 10), ("0 to below 40", 15), ("40 to below 65", 10), ("from 65", 15), (None, 10),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["groups.csv", "groups.jsonl", "groups.json"])
def test_containers_of_a_table(name: str, call: Call) -> None:
    """A table of groups may be in any container, in any order, and have more cases than the truth."""
    truth, sent, _ = lesions(["A"] * 20)
    rows = [{"image_id": f"I-{n:03}", "site": "AB"[n % 2]} for n in range(30)][::-1]
    if name == "groups.csv":
        table(name, rows)
    elif name == "groups.json":
        Path(name).write_text(json.dumps({"groups": rows}), encoding="utf-8")
    else:
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    found = grouped(call, truth, sent, "--by", "site", "--groups", name)
    assert [(each["value"], each["cases"]) for each in found] == [("A", 10), ("B", 10)]


WRONG = {
    "no such field": (["--by", "sitee", "--groups", "groups.csv"], 2, "did you mean 'site'?"),
    "not passed": (["--by", "gender"], 2, "pass the file of lesions/cases that has it"),
    "a number": (["--by", "age", "--groups", "ages.jsonl"], 2, "as in age=0,40,65"),
    "no numbers": (["--by", "site=1,2", "--groups", "groups.csv"], 2, "values that are not numbers"),
    "bounds": (["--by", "site=3,2", "--groups", "groups.csv"], 2, "write ascending numbers"),
    "not bounds": (["--by", "site=x", "--groups", "groups.csv"], 2, "write ascending numbers"),
    "twice": (["--by", "site", "--by", "site=1", "--groups", "groups.csv"], 2, "group by a field once"),
    "no field": (["--by", "", "--groups", "groups.csv"], 2, "names no field"),
    "groups alone": (["--groups", "groups.csv"], 2, "--groups needs --by FIELD"),
    "no file": (["--by", "site", "--groups", "gone.csv"], 2, "gone.csv"),
    "no key": (["--by", "site", "--groups", "other.csv"], 1, "no column 'image_id'"),
    "a case twice": (["--by", "site", "--groups", "double.csv"], 1, "a case is in more than one row"),
    "broken": (["--by", "site", "--groups", "broken.csv"], 1, "broken.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_usage_errors_and_bad_tables(name: str, call: Call) -> None:
    truth, sent, _ = lesions(["A"] * 20)
    Path("ages.jsonl").write_text('{"image_id": "I-000", "age": 3}\n', encoding="utf-8")
    table("other.csv", [{"case": "I-000", "site": "A"}])
    table("double.csv", [{"image_id": "I-000", "site": site} for site in "AB"])
    Path("broken.csv").write_text('image_id,site\nI-000,"A\n', encoding="utf-8")
    options, code, text = WRONG[name]
    ran = call("score", truth, sent, *options)
    assert ran.code == code, ran.out + ran.err
    assert text in ran.err


# --- small cells


def test_small_groups_are_hidden_by_the_rule() -> None:
    """By hand, with a minimum of 10."""
    assert hidden({"a": 10, "b": 10}, CELL) == set()
    assert hidden({"a": 3, "b": 50, "c": 20}, CELL) == {"a", "c"}, "one could be computed from the others"
    assert hidden({"a": 3, "b": 4, "c": 50, "d": 20}, CELL) == {"a", "b", "d"}, "7 cases are still too few"
    assert hidden({"a": 6, "b": 4, "c": 50}, CELL) == {"a", "b"}
    assert hidden({"a": 6, "c": 20, "b": 20}, CELL) == {"a", "b"}, "of equal ones, the first by its value"
    assert hidden({"a": 6, None: 20, "b": 20}, CELL) == {"a", "b"}
    assert hidden({"a": 9}, CELL) == {"a"}
    assert hidden({"a": 9, "b": 100}, CELL) == {"a", "b"}


def test_nothing_can_be_subtracted() -> None:
    """For all sizes of up to 4 groups: from the whole and the shown groups, no set of fewer cases can be computed."""
    np = pytest.importorskip("numpy")
    least = 3
    for count in range(1, 5):
        for counts in product(range(1, 6), repeat=count):
            sizes: dict[Any, int] = dict(zip("abcd", counts, strict=False))
            gone = hidden(sizes, least)
            assert {name for name in sizes if sizes[name] < least} <= gone
            names = list(sizes)
            known = [[1] * count, *([float(name == each) for each in names] for name in names if name not in gone)]
            rank = np.linalg.matrix_rank(known)
            for length in range(1, count + 1):
                for some in combinations(names, length):
                    few = sum(sizes[name] for name in some) < least
                    target = [float(name in some) for name in names]
                    computable = np.linalg.matrix_rank([*known, target]) == rank
                    assert not (computable and few) or length == count, (sizes, gone, some)


def test_a_hidden_group_has_no_numbers(call: Call) -> None:
    truth, sent, groups = lesions(["A"] * 50 + ["B"] * 3 + ["C"] * 20 + [""] * 12)
    found = grouped(call, truth, sent, "--by", "site", "--groups", groups)
    assert [(each["value"], each["cases"]) for each in found] == [("A", 50), ("B", None), ("C", 20), (None, None)]
    for group in found:
        if group["cases"] is None:
            assert (group["headline"], group["gap"], group["figures"]) == (None, None, {})
    shown = grouped(call, truth, sent, "--by", "site", "--groups", groups, "--parameter", "min_cell=3")
    assert [each["cases"] for each in shown] == [50, 3, 20, 12]


def test_participants_see_none(call: Call) -> None:
    """Neither the groups nor the table."""
    truth, sent, groups = lesions(["A"] * 20 + ["B"] * 20)
    ran = call("score", truth, sent, "--by", "site", "--groups", groups, "--participant", "--format", "json")
    value = keeps(ran.out, "medcontract/score")
    assert "subgroups" not in value
    assert "by" not in value
    assert "groups" not in [each["contract"] for each in value["inputs"]]
    assert "subgroups are omitted for participants: they would reveal the truth" in value["warnings"]


def test_the_contract_of_a_score_enforces_it(call: Call) -> None:
    """In the model and in the schema. What depends on other groups or on `min_cell` is up to `score`."""
    truth, sent, groups = lesions(["A"] * 50 + ["B"] * 3 + ["C"] * 20 + ["D"] * 30)
    value = call("score", truth, sent, "--by", "site", "--groups", groups, "--format", "json").json
    shown, hidden, *_ = value["subgroups"]
    assert shown["cases"]
    assert hidden["cases"] is None
    figure = next(name for name, number in shown["figures"].items() if number is not None)
    no_figures = "a hidden subgroup has no figures"
    for_participants = "participants do not see subgroups"
    edits: list[tuple[dict[str, Any], dict[str, Any], str | None]] = [
        ({}, {}, None),
        ({"participant": False}, {}, None),
        ({"participant": None}, {"intervals": None}, None),
        ({}, {"intervals": {}}, None),
        ({"participant": True}, {}, for_participants),
        ({"participant": True, "track": "other", "result": {}}, {}, for_participants),
        ({"participant": True, "subgroups": []}, {}, None),
        ({"participant": True, "subgroups": None}, {}, None),
        ({}, {"figures": {figure: 0.5}}, no_figures),
        ({}, {"figures": {figure: None}}, no_figures),
        ({}, {"headline": 0.0}, no_figures),
        ({}, {"gap": -0.5}, no_figures),
        ({}, {"intervals": {figure: [0.0, 1.0]}}, no_figures),
        ({"track": "other", "result": {}}, {"gap": 0}, no_figures),
    ]
    contract = registry.contract("medcontract/score")
    schemas = [Draft202012Validator(publishing.schema_of(contract)),
               Draft7Validator(publishing.schema_of(contract, draft="draft-07"))]  # fmt: skip
    for of_score, of_hidden, message in edits:
        other = {**value, "subgroups": [shown, {**hidden, **of_hidden}], **of_score}
        problems = medcontract.validate(json.dumps(other).encode(), "medcontract/score").problems
        assert [problem.message for problem in problems] == [f"'subgroups': {message}"] * bool(message)
        assert [schema.is_valid(other) for schema in schemas] == [message is None] * 2, (of_score, of_hidden)


# --- beside other options


def test_without_the_option_nothing_changes(call: Call) -> None:
    truth, sent, _ = lesions(["A"] * 20)
    value = call("score", truth, sent, "--format", "json").json
    assert not {"by", "subgroups"} & value.keys()
    assert "min_cell" not in value["protocol"]["parameters"]


def test_intervals_of_groups(call: Call) -> None:
    """Accuracy 9 of 12: Wilson's interval, by hand (0.75 + 0.160 ± 1.96 · 0.1548) / 1.3201."""
    pytest.importorskip("numpy")
    truth, sent, groups = lesions(["A"] * 12 + ["B"] * 24, frozenset({0, 1, 2}))
    first, second = grouped(call, truth, sent, "--by", "site", "--groups", groups, "--intervals")
    assert first["intervals"]["/accuracy"] == pytest.approx([0.467695, 0.911058], abs=2e-6)
    assert second["intervals"]["/accuracy"][1] == 1
    assert "] " in next(line for line in call("score", truth, sent, "--by", "site", "--groups", groups, "--intervals")
                        .out.splitlines() if line.startswith("  A "))  # fmt: skip
    assert first["intervals"].keys() == {place for place, value in first["figures"].items() if value is not None}


def test_verify_and_other_formats(call: Call) -> None:
    """A score with groups is verified with its table; the page has a table for each field."""
    truth, sent, groups = lesions(["A"] * 50 + ["B"] * 3 + ["C"] * 20)
    arguments = (truth, sent, "--by", "site", "--groups", groups)
    Path("score.json").write_text(call("score", *arguments, "--format", "json").out, encoding="utf-8")
    assert call("verify", "score.json", truth, sent, groups).code == 0
    assert call("verify", "score.json", truth, sent).code == 1
    value = json.loads(Path("score.json").read_text(encoding="utf-8"))
    value["subgroups"][0]["gap"] = 0.5
    Path("score.json").write_text(json.dumps(value), encoding="utf-8")
    assert "/subgroups/0/gap" in call("verify", "score.json", truth, sent, groups).out
    text = call("score", *arguments).out
    assert "By site" in text
    assert "  B     hidden" in text
    for format_ in ("markdown", "html"):
        assert "By site" in call("score", *arguments, "--format", format_).out
