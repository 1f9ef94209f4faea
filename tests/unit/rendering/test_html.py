"""Pages of HTML: well-formed, without scripts and downloads, and with nothing that a name could break."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests import scoring_files
from tests.challenge_files import write
from tests.html_pages import EXAMPLES, HOSTILE, TRACKS, Parsed, examples
from tests.scoring_files import case, response

import medcontract
from medcontract.benchmark import BenchmarkReport
from medcontract.catalog import problem_codes
from medcontract.errors import CallError
from medcontract.rendering import html
from medcontract.rendering.html import charts
from medcontract.rendering.page import Page, Section
from medcontract.results.base import Result
from medcontract.results.tables import Bars, Distribution, Table
from medcontract.results.validation import Validation

_ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "h3", "h4",
    "div", "p", "strong", "span", "ul", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "figure", "svg", "rect", "circle", "polyline", "text", "details", "summary", "pre", "code", "wbr",
}  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return examples(tmp_path_factory.mktemp("pages"))


def test_pages_are_well_formed_and_need_nothing(results: dict[str, Result]) -> None:
    """Every element is closed, is of a known kind, and refers to nothing outside of the page."""
    for name, result in results.items():
        page = result.to_html()
        parsed = Parsed(page)
        tags = {tag for tag, _ in parsed.tags}
        assert tags <= _ALLOWED, name
        attributes = {attribute for _, own in parsed.tags for attribute in own}
        assert not {a for a in attributes if a.startswith("on")} | attributes & {"src", "href", "action"}, name
        assert "default-src 'none'" in page
        assert not re.findall(r"https?:|url\(", page), name


def test_pages_can_be_navigated(results: dict[str, Result]) -> None:
    """Landmarks, one main heading, headings without gaps, and headers for all rows and columns of tables."""
    for name, result in results.items():
        parsed = Parsed(result.to_html())
        for tag in ("header", "main", "footer", "h1"):
            assert parsed.count(tag) == 1, (name, tag)
        assert parsed.count("table") == parsed.count("thead"), name
        assert all("scope" in own for tag, own in parsed.tags if tag == "th"), name
        levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-4]", tag)]
        assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), (name, levels)
        assert all(own.get("aria-label") for tag, own in parsed.tags if tag == "svg"), name


def test_a_team_called_script_is_only_a_name(results: dict[str, Result]) -> None:
    for name in ("hostile", "refused"):
        parsed = Parsed(results[name].to_html())
        assert not parsed.count("script")
        assert not parsed.count("img")
        assert not parsed.count("b")
        assert "<script>document" in parsed.text


def test_the_verdict_comes_first(results: dict[str, Result]) -> None:
    """Verdict, headline and gate precede all tables."""
    page = results["score-lesions"].to_html()
    places = [
        page.index(text) for text in (">Valid<", "final_score", "12 of 12", "at least 95 % required: passed", "<table")
    ]
    assert places == sorted(places)
    refused = results["refused"].to_html()
    assert ">Refused<" in refused
    assert "50 %" in refused


def test_participants_see_no_classes(results: dict[str, Result]) -> None:
    assert "Confusion matrix" in results["score-lesions"].to_html()
    assert "Confusion matrix" not in results["participant-lesions"].to_html()


@pytest.mark.parametrize("track", TRACKS)
def test_a_score_file_is_the_page(track: str, tmp_path: Path) -> None:
    """--out with the extension writes what `to_html` returns."""
    from medcontract.cli.main import main

    out = tmp_path / "score.html"
    assert main(["score", str(EXAMPLES / track), "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == medcontract.score(str(EXAMPLES / track)).to_html()


def test_values_are_shown_only_on_request(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    file.write_text("image_id,label\ni1,Geheimnis\n")
    report = medcontract.validate(file)
    assert "Geheimnis" not in report._repr_html_()
    validation = medcontract.validate_files([file])
    assert "Geheimnis" not in validation.to_html()
    assert "Geheimnis" in validation.to_html(show_values=True)


def test_notebooks_show_every_result(results: dict[str, Result]) -> None:
    """A fragment, without the elements of a whole page; results without a page are shown as text."""
    for result in results.values():
        shown = result._repr_html_()
        assert "<html" not in shown
        assert '<div class="mc">' in shown
    assert medcontract.explain("MC104")._repr_html_().startswith("<pre>")
    with pytest.raises(CallError, match="has no format html"):
        medcontract.explain("MC104").to_html()


def test_a_benchmark_report_starts_with_its_combined_score() -> None:
    report = BenchmarkReport(
        {"model_id": HOSTILE, "overall_scores": {}, "task_scores": {"qa": {"safety": 0.5, "rouge1": 1}}}
    )
    report.add_combined_score({"safety": 3, "summarization": 1})
    page = report.to_html()
    assert not Parsed(page).count("script")
    places = [page.index(text) for text in ("0.6250", "<h2>Overall", "weight of safety", "Tasks, the worst first")]
    assert places == sorted(places)
    assert "<html" not in report._repr_html_()


# --- what each page shows


def _sections(page: str) -> list[str]:
    return re.findall("<h2>(.*?)</h2>", page)


def test_a_problem_in_many_places_is_shown_once(results: dict[str, Result]) -> None:
    """500 of 1,000 rows have the label nv: one line with the first places, and the number of all."""
    page = results["invalid"].to_html()
    assert page.count("&#39;label&#39; must be one of") == 1
    assert 'truth.csv<span class="place">:3</span></code>' in page
    assert "and 499 more records like this (lines 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, …)" in page


def test_a_validation_shows_contracts_and_skipped_files(results: dict[str, Result]) -> None:
    for page in (results["invalid"].to_html(), results["invalid"].to_markdown()):
        assert "recognized by its columns" in page
        assert "notes.docx" in page
        assert "not a data file" in page


def test_warnings_that_fail_are_explained() -> None:
    model = {"team_name": "T", "model_size_mb": 500, "inference_time_ms": 1, "uses_image": True, "uses_demographics": 1}
    text = json.dumps({**model, "uses_demographics": True}).encode()
    report = Validation.of((medcontract.validate(text, "lesions/model", name="m.json"),))
    assert "Valid, with warnings" in report.to_html()
    for page in (report._failing_on_warnings().to_html(), report._failing_on_warnings().to_markdown()):
        assert "Warnings fail, because of --strict." in page
        assert "Not valid" in page


def test_checks_that_failed_come_first(results: dict[str, Result]) -> None:
    page = results["not-ready"].to_html()
    assert _sections(page)[:3] == ["Failed checks", "Passed checks", "Not checked"]
    assert "Not ready" in page
    assert "an expected image has no record" in page
    assert "and 9 more problems like this" in page
    markdown = results["not-ready"].to_markdown()
    assert "## Not checked" in markdown
    assert "an expected image has no record (and 9 more problems like this)" in markdown


def test_a_ready_submission_with_warnings_says_so(tmp_path: Path) -> None:
    """A warning needs a look before the submission is sent."""
    truth = write(tmp_path / "truth.csv", [{"image_id": f"i{n}", "label": "NV"} for n in range(3)])
    answers = [{"image_id": f"i{n}", "probabilities": [0] * 6 + [1] + [0] * 3} for n in range(3)]
    sent = write(tmp_path / "p.json", {"team_name": "T", "predictions": answers})
    model = {"team_name": "T", "model_size_mb": 149, "inference_time_ms": 1, "uses_image": True}
    big = write(tmp_path / "model.json", {**model, "model_size_mb": 150, "uses_demographics": True})
    checklist = medcontract.preflight(truth, sent, big)
    assert checklist.warnings
    page = checklist.to_html()
    assert "Checks with warnings" in _sections(page)
    assert f"{checklist.warnings} warning" in page
    assert "## Checks with warnings" in checklist.to_markdown()


def test_a_decision_names_its_gates(tmp_path: Path) -> None:
    files = EXAMPLES / "extraction"
    score = medcontract.score(
        *[path for path in sorted(files.iterdir()) if path.suffix != ".py" and "evid" not in path.name]
    )
    assert score.decision == "NO-GO"
    for page in (score.to_html(), score.to_markdown()):
        assert re.search(r"not checked offline.evidence, standout.proofs", page.replace("\\", ""))


def test_formulas_have_the_values_of_the_parameters(results: dict[str, Result]) -> None:
    page = results["score-lesions"].to_html()
    assert "0.9·prediction_score + 0.1·efficiency_score" in page
    assert "0.7·macro_f1 + 0.3·auroc" in results["score-challenge"].to_html()


def test_a_challenge_has_bars_and_a_heat_map(results: dict[str, Result]) -> None:
    page = results["score-challenge"].to_html()
    assert _sections(page)[:3] == ["Figures", "macro_f1 by class", "Confusion matrix of label"]
    assert page.count('class="bar"') == 3
    assert 'class="heat"' in page


def test_a_headline_says_if_lower_is_better(results: dict[str, Result]) -> None:
    for name in ("score-lower", "leaderboard-lower", "compare-lower"):
        assert "mae (lower is better)" in results[name].to_html()
    for name in ("score-lower", "leaderboard-lower"):
        assert "mae (lower is better)" in results[name].to_markdown()
    assert "lower is better" not in results["score-challenge"].to_html()


def test_a_comparison_knows_which_direction_is_better(results: dict[str, Result]) -> None:
    """The error fell from 8 to 1."""
    page = results["compare-lower"].to_html()
    assert ">Better<" in page
    assert 'class="number good">▼ −7<' in page


def test_a_longer_time_is_worse() -> None:
    """Each figure has its own direction, whatever the headline."""
    before = medcontract.score(*((EXAMPLES / "reports").glob("*.*")))
    assert before.result is not None
    after = structs.replace(before, result={**before.result, "avg_processing_time": 4.0})
    assert re.search(r'class="number bad">▲ \+[0-9.]+ s<', medcontract.compare(before, after).to_html())


def test_counts_have_no_good_direction_and_no_scale() -> None:
    """Cells of a confusion matrix are a table of their changes, without colors."""
    files = [EXAMPLES / "lesions" / name for name in ("truth.csv", "predictions.csv", "model.json")]
    before = medcontract.score(*files)
    assert before.result is not None
    matrix = {**before.result["confusion_matrix"], "NV": {**before.result["confusion_matrix"]["NV"], "NV": 1, "MEL": 1}}
    after = structs.replace(before, result={**before.result, "confusion_matrix": matrix, "accuracy": 0.5})
    page = medcontract.compare(before, after).to_html()
    assert _sections(page)[:2] == ["Figures", "confusion_matrix"]
    part = page[page.index("confusion_matrix") :]
    assert "<svg" not in part
    assert 'class="number">-1</td>' in part
    assert 'class="number bad">▼ ' in page[: page.index("confusion_matrix")]


def test_a_ranking_compares_headlines(results: dict[str, Result]) -> None:
    """Ranks 1 and 2, and bars over the range of the board: the lowest figure has a tenth of the width."""
    page = results["leaderboard-lower"].to_html()
    assert [int(share) for share in re.findall(r"--share:(\d+)", page)][:2] == [10, 100]
    assert re.findall(r'<th scope="row">(.*?)</th>', page) == ["1. close.csv", "2. far.csv"]


def test_who_is_scored(results: dict[str, Result], tmp_path: Path) -> None:
    """A team whose name starts with the word is not called a team twice, and a model is not called a team."""
    for name, shown in (
        ("triage", "Team Nordlicht"),
        ("lesions", "Team Zespół Żuraw"),
        ("benchmark", "Model ejemplo-7b-instruct"),
    ):
        assert f"<p>{shown}.</p>" in results[f"score-{name}"].to_html()
    assert '<th scope="col">team</th>' in results["leaderboard-lesions"].to_html().replace(' class="long"', "")
    for page in (results["leaderboard-benchmark"].to_html(), results["leaderboard-benchmark"].to_markdown()):
        assert "model" in page
        assert "team" not in page.lower().replace("template", "")


def test_a_case_without_a_lead_time(tmp_path: Path) -> None:
    """Nothing was predicted correctly: there is no lead time, which 0 seconds would be."""
    segments = [*case("C-1", ("S-1", 0, 30, [("airway", 50.0)])), *case("C-2", ("S-2", 0, 30, [("airway", 30.0)]))]
    answers = [response(segments[0], "bleeding"), response(segments[1], "airway")]
    files = (
        scoring_files.write(tmp_path, "triage/ground-truth", segments),
        scoring_files.write(tmp_path, "triage/response", answers),
    )
    score = medcontract.score(*files)
    assert score.result is not None
    assert [each["prediction_lead_time"] for each in score.result["metrics"]] == [0, 0]
    times = re.findall(r'data-label="lead time" class="number">(.*?)</td>', score.to_html())
    assert times == ["–", "0.00 s"]


def test_names_in_explanations_are_code() -> None:
    """Of every problem code."""
    report = medcontract.validate(b'{"x": 1}', "lesions/model", name="x.json")
    for code, entry in problem_codes().items():
        problem = structs.replace(report.problems[0], code=code)
        page = Validation.of((structs.replace(report, problems=(problem,)),)).to_html()
        assert "&lt;code&gt;" not in page, code
        assert page.count("<code>") == entry.meaning.count("`") // 2 + 1, code  # and the place


def test_a_warning_about_many_submissions_is_one_line(tmp_path: Path) -> None:
    """And figures that no submission has are no columns."""
    truth = write(tmp_path / "truth.csv", [{"image_id": "i1", "label": "NV"}])
    right = {"image_id": "i1", "probabilities": [0] * 6 + [1] + [0] * 3}
    files = [write(tmp_path / f"t{n}.json", {"team_name": f"T{n}", "predictions": [right]}) for n in range(7)]
    files.append(tmp_path / "broken.json")  # without this warning
    files[-1].write_text('{"predictions": [1,]}')
    page = medcontract.leaderboard(truth, *files).to_html()
    names = ", ".join(f"T{n} (t{n}.json)" for n in range(5))
    assert f"<li>{names} and 2 more: no model file (lesions/model)" in page
    assert ">accuracy</th>" in page
    assert ">points</th>" not in page


def test_long_tables_are_folded() -> None:
    """The first 20 of 40 rows are visible, the others are unfolded by the reader."""
    rows = [(f"c{n}", "1") for n in range(40)]
    for shown, visible in ((rows, 20), (rows[:30], 30)):
        page = html.write(Page("T", sections=[Section("T", [Table("T", ("a", "b"), shown)], most=40)]))
        first, _, rest = page.partition("<details>")
        assert (first.count("<tr><th"), rest.count("<tr><th")) == (visible, len(shown) - visible)
        assert ("<summary>20 more rows</summary>" in page) == bool(rest)


# --- charts


def test_a_missing_value_is_a_dash_and_not_a_bar() -> None:
    svg = str(charts.bars(Bars(["a", "b"], [None, 0.25]), "Title"))
    assert svg.count('class="bar"') == 1
    assert 'width="25.0%"' in svg
    assert "–" in svg


def test_bars_of_negative_or_no_values() -> None:
    assert Bars.of(["a"], [-0.5]) is None
    assert Bars.of(["a"], [None]) is None
    large = Bars.of(["a", "b"], [3.0, None])
    assert large is not None
    assert large.high == 3


@pytest.mark.parametrize(
    ("high", "expected"),
    [(1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (100, [0, 20, 40, 60, 80, 100]), (7, [0, 2, 4, 6]), (0, [0])],
)
def test_ticks_are_round_numbers(high: float, expected: list[float]) -> None:
    assert charts.ticks(high) == pytest.approx(expected)


@given(st.floats(1e-6, 1e12))
def test_ticks_start_at_zero_and_end_within_the_axis(high: float) -> None:
    found = charts.ticks(high)
    assert found[0] == 0
    assert 3 <= len(found) <= 6
    assert found[-1] <= high * (1 + 1e-9)


def test_a_histogram_counts_both_ends() -> None:
    """0 is in the first of 20 bins, 1 and 0.99 are in the last, 0.05 starts the second."""
    svg = str(charts.distribution(Distribution("cases", "score", [0, 0.05, 0.99, 1])))
    assert re.findall(r"<title>(\d+) cases from ([\d.]+) to ([\d.]+)", svg) == [
        ("1", "0", "0.05"), ("1", "0.05", "0.1"), ("2", "0.95", "1"),
    ]  # fmt: skip


def test_a_long_table_counts_what_it_omits() -> None:
    rows = [(str(n), "1") for n in range(25)]
    table = Table("T", ("a", "b"), rows, "note", total=300)
    assert table.first(20).note == "and 280 more (--format json lists all); note"
    assert table.first(500).note == "and 275 more (--format json lists all); note"
    assert Table("T", ("a", "b"), rows).first(20).rows == rows


def test_shares_of_a_heat_map_are_those_of_its_row(results: dict[str, Result]) -> None:
    """NV is predicted correctly 2 of 2 times: 100 %; a class that is never right has 0 % on the diagonal."""
    page = results["score-lesions"].to_html()
    cells = re.findall(r"--share:(\d+)", page[page.index('class="heat"') :])
    assert len(cells) == 10 * 11
    rows = [list(map(int, cells[start : start + 11])) for start in range(0, 110, 11)]
    assert all(Fraction(sum(row)) == 100 for row in rows)
