"""Writes the screenshots of the documentation. Run with `script/screenshots`."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.acceptance.test_browser import FLAGS, chromium
from tests.scoring_files import CLASSES, document, model
from tests.support import ROOT

import medcontract

IMAGES = ROOT / "docs" / "images"
TEAMS = {"Andes": 0.93, "Nordlicht": 0.88, "Kranich": 0.86, "Zespół Żuraw": 0.79, "Abendstern": 0.61}


def _submissions(folder: Path) -> tuple[Path, Path]:
    """A made-up truth of 400 images, and teams that are right as often as `TEAMS` says; one answers half."""
    chance = random.Random(7)
    weights = [3, 8, 6, 4, 2, 2, 30, 1, 9, 5]
    labels = {f"img-{n:04}": chance.choices(CLASSES, weights)[0] for n in range(400)}
    truth = folder / "truth.csv"
    truth.write_text("image_id,label\n" + "".join(f"{name},{label}\n" for name, label in labels.items()))
    teams = folder / "teams"
    for team, share in {**TEAMS, "Half done": 0.9}.items():
        records = []
        for name, label in list(labels.items())[: 200 if team == "Half done" else 400]:
            guess = label if chance.random() < share else chance.choices(CLASSES, weights)[0]
            records.append({"image_id": name, "probabilities": [0.91 if each == guess else 0.01 for each in CLASSES]})
        (teams / team).mkdir(parents=True)
        sent = {"team_name": team, "predictions": records}
        (teams / team / "predictions.json").write_text(json.dumps(sent), encoding="utf-8")
        document(teams / team, "model", {**model(chance.uniform(10, 120), chance.uniform(50, 300)), "team_name": team})
    return truth, teams


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        folder = Path(name)
        truth, teams = _submissions(folder)
        pages = {
            "score": medcontract.score(truth, teams / "Kranich"),
            "leaderboard": medcontract.leaderboard(truth, *sorted(teams.iterdir())),
        }
        browser = started.chromium.launch(executable_path=chromium(), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1000, "height": 900})
        for page, result in pages.items():
            file = folder / f"{page}.html"
            file.write_text(result.to_html(), encoding="utf-8")
            tab.goto(file.as_uri())
            tab.screenshot(path=IMAGES / f"{page}.png")
        tab.goto((ROOT / "docs" / "check.html").as_uri())
        tab.set_input_files("#files", ROOT / "examples" / "bad" / "predictions.json")
        tab.wait_for_selector(".verdict")
        tab.screenshot(path=IMAGES / "check.png")
        browser.close()


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    main()
