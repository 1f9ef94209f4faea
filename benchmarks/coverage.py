"""Measures how often 95 % intervals contain the true figure: simulated challenges whose true figures are known.

`script/coverage` writes the table in docs/uncertainty.md. It takes about three minutes of one CPU.

A case has one of three classes, a predicted class, a score for the last class, and the score of a document. Without
clusters, cases are independent. With clusters of 1 to 5 cases, a case is a copy of the prototype of its cluster with
probability 1/2, which leaves the distribution of a single case, and so the true figures, unchanged.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from medcontract.scoring.metrics import FieldInfo, build
from medcontract.scoring.metrics.resampled import ResampledCases
from medcontract.uncertainty.figures import Resampled, combined, quotient
from medcontract.uncertainty.intervals import NoInterval, interval
from medcontract.uncertainty.sample import Sample

PAGE = Path(__file__).resolve().parent.parent / "docs" / "uncertainty.md"
LEVEL, RESAMPLES = Fraction(95, 100), 1000
SIZES = (50, 200, 1000)

CLASSES = ("a", "b", "c")
_SHARES = np.array([0.5, 0.3, 0.2])
_PREDICTED = np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
"""The probability of each predicted class, by true class."""
_SHIFT = 1.2
"""How much higher the scores of the last class are on average, in standard deviations."""
_DOCUMENTS = ((0.0, 0.1), (0.55, 0.1), (0.7, 0.15), (0.85, 0.15), (1.0, 0.5))
"""Scores of documents, and how frequent they are."""
_LABEL, _SCORE = FieldInfo("label", "one_of", CLASSES), FieldInfo("score", "number")
_METRICS = {
    "accuracy": build("accuracy", "accuracy", _LABEL),
    "macro F1": build("macro F1", "f1", _LABEL, choices={"average": "macro"}),
    "AUROC": build("AUROC", "auroc", _SCORE, _LABEL, choices={"positive": "c"}),
    "kappa": build("kappa", "kappa", _LABEL, choices={"weights": "none"}),
}
_SUM, _DOCUMENT = "sum of macro F1 and AUROC", "mean score of documents"
FIGURES = (*_METRICS, _SUM, _DOCUMENT)


def true_figures() -> dict[str, float]:
    """Return the figures of infinitely many cases."""
    joint = _SHARES[:, None] * _PREDICTED
    right, predicted = np.diag(joint), joint.sum(axis=0)
    f1 = float((2 * right / (_SHARES + predicted)).mean())
    chance = float(_SHARES @ predicted)
    auroc = NormalDist().cdf(_SHIFT / 2**0.5)
    return {
        "accuracy": float(right.sum()),
        "macro F1": f1,
        "AUROC": auroc,
        "kappa": (float(right.sum()) - chance) / (1 - chance),
        _SUM: (f1 + auroc) / 2,
        _DOCUMENT: sum(score * share for score, share in _DOCUMENTS),
    }


class Drawn(NamedTuple):
    """Cases."""

    true: NDArray[Any]
    said: NDArray[Any]
    scores: NDArray[Any]
    documents: NDArray[Any]


def draw(random: Generator, cases: int) -> Drawn:
    """Draw independent cases."""
    true = random.choice(3, cases, p=_SHARES)
    said = (random.random(cases)[:, None] > _PREDICTED.cumsum(axis=1)[true]).sum(axis=1).clip(max=2)
    scores = random.normal(size=cases) + _SHIFT * (true == 2)
    values, shares = zip(*_DOCUMENTS, strict=True)
    return Drawn(true, said, scores, random.choice(values, cases, p=shares))


def clusters_of(random: Generator, cases: int) -> NDArray[Any]:
    """Return the number of the cluster of each case."""
    sizes = random.integers(1, 6, cases)
    return np.repeat(np.arange(cases), sizes)[:cases]


def copied(random: Generator, drawn: Drawn, clusters: NDArray[Any]) -> Drawn:
    """Replace half of the cases by the prototype of their cluster."""
    prototypes = draw(random, int(clusters[-1]) + 1)
    copies = random.random(len(clusters)) < 0.5
    columns = (np.where(copies, new[clusters], old) for old, new in zip(drawn, prototypes, strict=True))
    return Drawn(*columns)


def figures_of(sample: Sample, drawn: Drawn) -> dict[str, Resampled]:
    """Compute all figures in every replicate, as a score does."""
    labels = {"label": [CLASSES[code] for code in drawn.true]}
    said = {"label": [CLASSES[code] for code in drawn.said], "score": drawn.scores.tolist()}
    cases = ResampledCases(sample, labels, said)
    found = {name: cases.resampled(metric, {}).figure for name, metric in _METRICS.items()}
    found[_SUM] = combined([(0.5, found["macro F1"]), (0.5, found["AUROC"])])
    counts = sample.sum(np.ones(sample.cases))
    everything = np.ones(sample.cases, bool)
    found[_DOCUMENT] = Resampled(values=quotient(sample.total(drawn.documents), counts), cases=everything)
    return found


class Coverage(NamedTuple):
    """How often an interval contains the true figure."""

    cases: int
    how: str
    shares: Mapping[str, float]


def simulate(challenges: int) -> Iterator[Coverage]:
    """Simulate challenges of each size, with independent cases and with clusters, which are declared or not."""
    truth = true_figures()
    for cases in SIZES:
        hits = {how: dict.fromkeys(FIGURES, 0) for how in ("no clusters", "clusters", "clusters that are not declared")}
        for number in range(challenges):
            random = np.random.default_rng([cases, number])
            single = draw(random, cases)
            clusters = clusters_of(random, cases)
            alike = copied(random, single, clusters)
            units = [f"{cases}-{number}-{case}" for case in range(cases)]
            alone = Sample(units, RESAMPLES, distinct=True)
            together = Sample([f"{cases}-{number}-{each}" for each in clusters], RESAMPLES, clustered=True)
            tries = zip(hits, ((alone, single), (together, alike), (alone, alike)), strict=True)
            for how, (sample, drawn) in tries:
                for name, figure in figures_of(sample, drawn).items():
                    found = interval(figure, sample, LEVEL)
                    hits[how][name] += not isinstance(found, NoInterval) and found[0] <= truth[name] <= found[1]
        yield from (
            Coverage(cases, how, {name: count / challenges for name, count in counts.items()})
            for how, counts in hits.items()
        )


def table(found: list[Coverage]) -> str:
    """Return the shares as a Markdown table."""
    lines = [f"| cases | | {' | '.join(FIGURES)} |", f"|---:|---|{'---:|' * len(FIGURES)}"]
    for each in found:
        shares = (f"{100 * each.shares[name]:.1f} %" for name in FIGURES)
        lines.append(f"| {each.cases:,} | {each.how} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="script/coverage")
    parser.add_argument("--challenges", type=int, default=2000, help="simulated challenges of each kind")
    arguments = parser.parse_args()
    shown = table(list(simulate(arguments.challenges)))
    print(shown)  # a script
    page = PAGE.read_text(encoding="utf-8")
    text = f"<!-- coverage: {arguments.challenges:,} challenges -->\n\n{shown}\n\n<!-- end -->"
    PAGE.write_text(re.sub(r"<!-- coverage: .*?<!-- end -->", lambda _: text, page, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
