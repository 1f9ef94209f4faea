"""Helpers for tests of HTML pages: a parser that finds the parts of a page, and results with hostile names."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from tests.challenge_files import REGRESSION, STROKE, stroke_predictions, stroke_truth, write
from tests.scoring_files import CLASSES
from tests.support import ROOT

import medcontract
from medcontract import Challenge
from medcontract.results.base import Result
from medcontract.results.score import Score

EXAMPLES = Path(medcontract.__file__).parent / "examples"
TRACKS = ("benchmark", "extraction", "lesions", "reports", "triage")
HOSTILE = "<script>document.title='run'</script><img src=x onerror=alert(1)>\"'&"
_VOID = {"meta", "br", "wbr", "hr", "img", "input", "link"}


class Parsed(HTMLParser):
    """The elements of a page. Fails if a tag is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert [tag] == self._open[-1:], f"</{tag}> closes another element"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def examples(folder: Path) -> dict[str, Result]:
    """A result of every command, of all tracks."""
    results: dict[str, Result] = {}
    for track in TRACKS:
        files = str(EXAMPLES / track)
        scored = medcontract.score(files)
        results[f"score-{track}"] = scored
        results[f"participant-{track}"] = medcontract.score(files, participant=True)
        results[f"preflight-{track}"] = medcontract.preflight(files)
        results[f"validate-{track}"] = medcontract.validate_files([files])
        results[f"compare-{track}"] = medcontract.compare(scored, scored)
        results[f"leaderboard-{track}"] = medcontract.leaderboard(files, files)
    results["compare-worse"] = medcontract.compare(medcontract.score(EXAMPLES / "reports"), worse_reports(folder))
    results["refused"] = medcontract.score(*refused(folder))
    results["hostile"] = hostile_board(folder)
    results["invalid"] = medcontract.validate_files([invalid(folder / "invalid")])
    results["not-ready"] = medcontract.preflight(*refused(folder))
    results |= of_challenges(folder)
    return results


def worse_reports(folder: Path) -> Score:
    """The score of the example of reports, with one specialty in all predictions."""
    example = EXAMPLES / "reports"
    sent = json.loads((example / "predictions.json").read_text())
    for record in sent["predictions"]:
        record["specialty"] = "Oncology"
    folder.mkdir(exist_ok=True)
    (folder / "worse.json").write_text(json.dumps(sent))
    return medcontract.score(example / "truth.json", example / "telemetry.json", folder / "worse.json")


def invalid(folder: Path) -> Path:
    """A folder with a file with many problems, a file with few, and one that is not data."""
    folder.mkdir(parents=True)
    rows = [f"i{n % 900},{'nv' if n % 2 else 'NV'}" for n in range(1000)]
    (folder / "truth.csv").write_text("image_id,label\n" + "\n".join(rows) + "\n")
    (folder / "predictions.json").write_text((ROOT / "examples" / "bad" / "predictions.json").read_text())
    (folder / "notes.docx").write_text("not data")
    return folder


def of_challenges(folder: Path) -> dict[str, Result]:
    """Results of a challenge with classes, and of one whose headline is better if it is lower."""
    stroke, risk = (Challenge.load(text.encode()) for text in (STROKE, REGRESSION))
    truth = write(folder / "stroke-truth.jsonl", stroke_truth())
    mine = write(folder / "stroke-predictions.jsonl", stroke_predictions())
    days = write(folder / "risk-truth.csv", [{"case_id": f"C-{n}", "days": 10 * n} for n in range(10)])
    close, far = (
        write(folder / f"{name}.csv", [{"case_id": f"C-{n}", "days": min(100, 10 * n + error)} for n in range(10)])
        for name, error in (("close", 1), ("far", 8))
    )
    of_risk = [f"risk/predictions={file}" for file in (far, close)]
    before, after = (risk.score(f"risk/truth={days}", file) for file in of_risk)
    return {
        "score-challenge": stroke.score(truth, mine),
        "preflight-challenge": stroke.preflight(truth, mine),
        "leaderboard-challenge": stroke.leaderboard(truth, mine),
        "score-lower": after,
        "compare-lower": risk.compare(before, after),
        "leaderboard-lower": risk.leaderboard(f"risk/truth={days}", *of_risk),
    }


def refused(folder: Path) -> list[str]:
    """A truth of 20 images, and predictions of half of them."""
    folder.mkdir(exist_ok=True)
    truth, answers = folder / "truth.csv", folder / "half.json"
    truth.write_text("image_id,label\n" + "".join(f"i{n},NV\n" for n in range(20)))
    records = [{"image_id": f"i{n}", "probabilities": [1 - n / 100, n / 100, *[0] * 8]} for n in range(10)]
    answers.write_text(json.dumps({"team_name": HOSTILE, "predictions": records}))
    return [str(truth), str(answers)]


def hostile_board(folder: Path) -> Result:
    """A ranking with a team and a file that are named like scripts."""
    truth, _ = refused(folder)
    teams = folder / "teams"
    teams.mkdir(exist_ok=True)
    rows = "".join(f"i{n},{','.join('0' if c != 'NV' else '1' for c in CLASSES)}\n" for n in range(20))
    (teams / "<b>bold<_b>.csv").write_text(f"image_id,{','.join(CLASSES)}\n{rows}")
    records = [{"image_id": f"i{n}", "probabilities": [0] * 6 + [1] + [0] * 3} for n in range(20)]
    (teams / "named.json").write_text(json.dumps({"team_name": HOSTILE, "predictions": records}))
    return medcontract.leaderboard(truth, *sorted(teams.iterdir()))
