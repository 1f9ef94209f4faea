"""The pages of the tracks: every source leads to a page of the repository, and what a page shows is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.acceptance.test_docs import _anchors
from tests.commands import Call
from tests.support import ROOT

import medcontract
from medcontract.contracts import registry
from medcontract.scoring import tracks

PAGES = {path.stem: path for path in sorted((ROOT / "docs" / "tracks").glob("*.md"))}
EXAMPLE = re.compile(r"(?m)^`([a-z]+/[a-z-]+)`(?:.+\n)+\n```(json|csv)\n((?:.*\n)*?)```")
TITLES = {
    "benchmark": "Metrics Overview",
    "extraction": "Evaluation Scoring Protocol",
    "lesions": "Competition: Skin Lesion Classification Based on Images",
    "reports": "Evaluation Metrics",
    "triage": "Metrics Guide",
}


def examples(track: str) -> list[tuple[str, str, str]]:
    """(contract, extension, content) of each example file."""
    return EXAMPLE.findall(PAGES[track].read_text(encoding="utf-8"))


def leads_somewhere(source: str) -> bool:
    path, _, anchor = source.partition("#")
    target = ROOT / path
    return path.startswith("docs/") and target.is_file() and (not anchor or anchor in _anchors(target))


def test_every_track_has_a_page() -> None:
    """With the title of the public document that it comes from."""
    assert PAGES.keys() == TITLES.keys() == {track.id for track in tracks.every()}
    for track, title in TITLES.items():
        assert f'"{title}"' in " ".join(PAGES[track].read_text(encoding="utf-8").split())


@pytest.mark.parametrize("track", TITLES)
def test_sources_of_parameters(call: Call, track: str) -> None:
    """Each parameter of a protocol names a page and a heading of it, also where it is shown."""
    parameters = tracks.track(track).protocol.parameters
    assert [p.name for p in parameters if not leads_somewhere(p.source)] == []
    shown = re.findall("^from (.*)$", call("protocol", "show", track).out, re.MULTILINE)
    assert shown
    assert [source for source in shown if not leads_somewhere(source)] == []


def test_sources_of_contracts(call: Call) -> None:
    """So does each contract of a track, in the list and in the dictionaries."""
    listed = {entry["id"]: entry["source"] for entry in call("schema", "list", "--format", "json").json["contracts"]}
    for contract in registry.contracts():
        track = contract.id.partition("/")[0]
        assert listed[contract.id] == contract.source == (f"docs/tracks/{track}.md" if track in TITLES else None)
        if contract.source:
            assert leads_somewhere(contract.source)
            dictionary = call("schema", "show", contract.id, "--format", "markdown").out
            assert f"Source: {contract.source}" in dictionary.replace("\\", "")


@pytest.mark.parametrize("track", TITLES)
def test_examples_are_valid(track: str) -> None:
    """A page has a minimal example of each file that people write."""
    found = examples(track)
    needed = {c.id for c in registry.contracts() if c.id.startswith(f"{track}/") and not c.output}
    assert {contract for contract, _, _ in found} == needed - {"benchmark/report"}
    for contract, extension, content in found:
        report = medcontract.validate(content.encode(), contract, name=f"x.{extension}")
        assert (report.ok, report.warnings) == (True, 0), report.problems


@pytest.mark.parametrize("track", TITLES)
def test_numbers_are_those_of_the_protocol(track: str) -> None:
    """Every number of a protocol is on the page of its track, as a decimal or in percent."""
    page = PAGES[track].read_text(encoding="utf-8") + (ROOT / "docs" / "uncertainty.md").read_text(encoding="utf-8")
    known = set(re.findall(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?", page))
    known |= {text.rstrip("0").rstrip(".") for text in known if "." in text}
    percent = {f"{int(text) / 100:g}" for text in re.findall(r"(?<![\w.])([0-9]+) %", page)}
    others = {"fuzzy_threshold", "share_of_facts"}  # on another page; ⌊n/2⌋
    named = {p.name: p for p in tracks.track(track).protocol.parameters}
    wanted = {name: p.text for name, p in named.items() if not isinstance(p.value, str | None) and name not in others}
    assert {name: text for name, text in wanted.items() if text not in known | percent} == {}


def test_the_example_of_triage(tmp_path: Path) -> None:
    """Its files are scored as the page says: a lead time of 400 s, a Jaccard index of 1."""
    paths = []
    for contract, extension, content in examples("triage"):
        paths.append(tmp_path / f"{contract.partition('/')[2]}.{extension}")
        paths[-1].write_text(content, encoding="utf-8")
    result = medcontract.score(*paths).result
    assert result is not None
    assert result["metrics"][0]["prediction_lead_time"] == 400
    assert result["metrics"][0]["jaccard_index"] == 1
