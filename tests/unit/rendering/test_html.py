"""Pages of HTML: well-formed, without scripts and downloads, and with nothing that a name could break."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.html_pages import EXAMPLES, HOSTILE, TRACKS, Parsed, examples

import medcontract
from medcontract.benchmark import BenchmarkReport
from medcontract.errors import CallError
from medcontract.rendering.html import charts
from medcontract.results.base import Result
from medcontract.results.tables import Bars, Distribution, Table

_ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "h3", "div",
    "p", "strong", "span", "ul", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "figure", "svg", "rect", "circle", "text", "details", "summary", "pre",
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
        levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-3]", tag)]
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
    places = [page.index(text) for text in (">Valid<", "final_score", "Processed 12 of 12", "<table")]
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
    places = [page.index(text) for text in ("0.6250", "Weights of combined_score", "Tasks, the worst first")]
    assert places == sorted(places)
    assert "<html" not in report._repr_html_()


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
    cells = re.findall(r"--share:(\d+)", results["score-lesions"].to_html())
    assert len(cells) == 10 * 11
    rows = [list(map(int, cells[start : start + 11])) for start in range(0, 110, 11)]
    assert all(Fraction(sum(row)) == 100 for row in rows)
