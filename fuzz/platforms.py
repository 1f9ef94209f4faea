"""The scoring program of a challenge platform: a damaged submission gets figures or a reason, and learns nothing."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random

import medcontract
from fuzz.calling import Trial
from fuzz.scoring import MARKER, TRACKS, folder_of, marked, sent_of, truth_of
from medcontract.platforms import codabench

_WITHOUT_MARKERS = ("extraction/manifest", "extraction/lab-labels")
"""The first does not list the id that is a marker, the second would have it, too."""


def on_platform(source: random.Random) -> Trial:
    """A submission with one damaged file, on Codabench. The truth has markers that nobody may see."""
    track = source.choice(TRACKS)
    parts = [part for part in truth_of(track) if part.contract not in _WITHOUT_MARKERS]
    truth = {f"input/ref/{n}.json": marked(part).data() for n, part in enumerate(parts)}
    sent = sent_of(track)
    files = folder_of(sent, "input/res", source, source.randrange(len(sent)))
    return Trial(_wrong_outcome, {**truth, **files}, passes=2)


def _wrong_outcome() -> str | None:
    medcontract.bundle("codabench", "input/ref", "bundle")
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = codabench.main("bundle/scoring_program", ["input", "output"])
    message = errors.getvalue()
    with open("output/detailed_results.html", encoding="utf-8") as stream:
        page = stream.read()
    if MARKER in message + page:
        return f"a value of the truth is printed: {message[-500:]}"
    if "internal error" in message or code not in (0, 1):
        return f"exit code {code}: {message[-500:]}"
    if code == 1:
        lines = message.splitlines()
        return None if len(lines) == 1 and not os.path.exists("output/scores.json") else f"a refusal with {lines}"
    with open("output/scores.json", encoding="utf-8") as stream:
        scores = json.load(stream)
    if (
        message
        or not scores
        or not all(type(value) in (int, float) and math.isfinite(value) for value in scores.values())
    ):
        return f"wrong scores: {scores}, {message}"
    return None
