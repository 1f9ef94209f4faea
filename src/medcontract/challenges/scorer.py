"""How a submission to a challenge is scored: its metrics, means and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from medcontract.challenges.contracts import Ids
from medcontract.challenges.model import Definition, Field
from medcontract.problems import Path, pointer
from medcontract.results.tables import Table, curves
from medcontract.scoring.metrics import Metric, columns, confusion_matrix, count_all
from medcontract.scoring.pairing import Pair, marks
from medcontract.scoring.plausibility import Texts, Watch
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, mean, rounded, rounded_or_none
from medcontract.scoring.scorer import Answers, Finished, Notes, Scorer, ScoringOptions, Tally, processed_counts
from medcontract.scoring.track import Result

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling

Matrices = dict[str, dict[str, dict[str, int]]]
"""By field, true class and predicted class."""


class ChallengeScorer(Scorer):
    """Scores the submissions to a challenge."""

    def __init__(
        self, definition: Definition, metrics: tuple[Metric, ...], protocol: Protocol, options: ScoringOptions,
        contracts: Collection[str],
    ) -> None:  # fmt: skip
        super().__init__(protocol, options, contracts)
        self.definition, self.metrics = definition, metrics
        fields = (field for metric in metrics for field in (metric.truth, metric.event) if field is not None)
        self.truth_fields = tuple(dict.fromkeys(field.name for field in fields))
        """The fields of the truth that metrics read."""
        self.prediction_fields = tuple(dict.fromkeys(metric.prediction.name for metric in metrics))
        ids, read = Ids.of(definition.id), attrgetter(*self.prediction_fields)
        self.pairs = (
            Pair(
                truth=ids.truth, submission=ids.predictions, key=definition.key, item=attrgetter(*self.truth_fields),
                measure=lambda item, record: read(record), measure_all=lambda items, records: list(map(read, records)),
                watch=_watch(definition, metrics),
            ),
        )  # fmt: skip
        self._parameters = {
            metric.name: {key: protocol[f"metric.{metric.name}.{key}"] for key in metric.numbers}
            for metric in self.metrics
        }
        self._counting = {metric.name: metric.counting(self._parameters[metric.name]) for metric in self.metrics}

    def tally(self, answers: Answers) -> Tally:
        """Return the counts of all metrics; metrics that count the same share them."""
        pairing = answers.pairing()
        truths = _columns(pairing.expected.items, self.truth_fields)
        predictions = _columns(marks(pairing, ""), self.prediction_fields)
        return Tally(
            expected=len(pairing.expected.items),
            processed=processed_counts(pairing),
            data=count_all(self._counting.values(), truths, predictions),
        )

    def notes(self, tally: Tally) -> Notes:
        warnings = (
            warning
            for metric in self.metrics
            for warning in metric.about_truth(self._counts(tally, metric), self._parameters[metric.name])
        )
        return Notes(about_truth=tuple(dict.fromkeys(warnings)))

    def constant(self, items: Sequence[Any]) -> Any:
        """Return the median of numbers, and the most frequent of other values."""
        truths = _columns(list(items), self.truth_fields)
        by_field = {metric.prediction.name: metric for metric in self.metrics}
        best = [_most_likely(by_field[name], truths[by_field[name].truth.name]) for name in self.prediction_fields]
        return None if None in best else best[0] if len(best) == 1 else tuple(best)

    def _counts(self, tally: Tally, metric: Metric) -> Any:
        return tally.data[self._counting[metric.name]]

    def _matrices(self, tally: Tally) -> Matrices:
        """By field."""
        found: Matrices = {}
        for metric in self.metrics:
            if self._counting[metric.name].what == "classes" and metric.prediction.name not in found:
                matrix = confusion_matrix(metric.prediction, self._counts(tally, metric))
                if matrix is not None:
                    found[metric.prediction.name] = matrix
        return found

    def figures(self, tally: Tally) -> Finished:
        values = {
            metric.name: metric.figures(self._counts(tally, metric), self._parameters[metric.name])
            for metric in self.metrics
        }
        exact: dict[str, Fraction | None] = {name: value.value for name, value in values.items()}
        undefined = {name: value.reason or "undefined" for name, value in values.items() if value.value is None}
        score, means = self.definition.score, self.definition.means
        for name, parts in (means | score.sums).items():  # means first: sums may need them
            lacking = [part for part in parts if exact[part] is None]
            if lacking:
                undefined[name] = f"{', '.join(lacking)} undefined"
                exact[name] = None
            else:
                exact[name] = mean(exact[part] or ZERO for part in parts) if name in means else self._sum(name, exact)
        headline = score.headline
        value = exact[headline]
        figures = {name: rounded_or_none(each) for name, each in exact.items()}
        result = {
            "metrics": {name: figures[name] for name in values},
            **({"means": {name: figures[name] for name in means}} if means else {}),
            "sums": {name: figures[name] for name in score.sums},
            "headline": {"name": headline, "value": rounded_or_none(value)},
            "undefined": undefined,
            "left_out": {name: each.left_out for name, each in values.items() if each.left_out},
            "by_class": {
                name: {label: rounded(figure) for label, figure in each.by_class.items()}
                for name, each in values.items()
                if each.by_class is not None
            },
            "confusion_matrix": self._matrices(tally),
        }
        warnings = list(self._about_changed_parameters())
        if value is None:
            warnings.append(f"{headline} is undefined, so there is no rank: {undefined[headline]}")
        ties = [(exact[name] or ZERO) * (-1 if self.definition.lower_is_better(name) else 1)
                for name in score.tie_breakers]  # fmt: skip
        return Finished(
            result=result, headline=value, warnings=tuple(warnings),
            tie_breakers=tuple(ties),
        )  # fmt: skip

    def pictures(self, tally: Tally) -> Iterator[Table]:
        """Yield how well each probability or score tells cases apart, and whether probabilities are right."""
        shown = set()
        for metric in self.metrics:
            if self._counting[metric.name].what == "ranks":
                counts, name = self._counts(tally, metric), metric.prediction.name
                title = f"{name}: {metric.truth.name} is {metric.choices['positive']}"
                if title not in shown:  # several metrics may be about the same probability
                    yield from curves(title, counts.positives, counts.negatives, is_share=_is_share(metric))
                shown.add(title)

    def resampled(self, answers: Answers, samples: Samples, result: Result) -> Resampling:
        from medcontract.scoring.metrics.resampled import ResampledCases
        from medcontract.uncertainty.figures import Resampling, combined
        from medcontract.uncertainty.figures import mean as resampled_mean

        pairing, score = answers.pairing(), self.definition.score
        truths = _columns(pairing.expected.items, self.truth_fields)
        cases = ResampledCases(samples.whole, truths, _columns(marks(pairing, ""), self.prediction_fields))
        found = {
            metric.name: cases.resampled(metric, self._parameters[metric.name])
            for metric in self.metrics
            if result["metrics"][metric.name] is not None
        }
        named = {name: each.figure for name, each in found.items()}
        figures = {f"/metrics/{name}": each for name, each in named.items()}
        for name, parts in self.definition.means.items():
            if named.keys() >= set(parts):
                figures[f"/means/{name}"] = named[name] = resampled_mean(named[part] for part in parts)
        for name, weights in score.sums.items():
            if named.keys() >= weights.keys():
                weighted = [(float(self.protocol[f"sums.{name}.{part}"]), named[part]) for part in weights]
                figures[f"/sums/{name}"] = named[name] = combined(weighted)
        headline = named.get(score.headline)
        if headline is not None:
            figures["/headline/value"] = headline
        for name, each in found.items():
            figures |= {pointer(("by_class", name, label)): figure for label, figure in each.by_class.items()}
        return Resampling(figures=figures, headline=headline, classes=cases.classes)

    def _about_changed_parameters(self) -> Iterator[str]:
        """Yield what is questionable about changed parameters; `challenge check` reports it of the file."""
        for metric, entry in zip(self.metrics, self.definition.metrics, strict=True):
            parameters = self._parameters[metric.name]
            if parameters != {name: Fraction(value) for name, value in self.definition.numbers_of(entry).items()}:
                yield from metric.warnings(parameters)

    def _sum(self, name: str, exact: Mapping[str, Fraction | None]) -> Fraction:
        weights = self.definition.score.sums[name]
        return sum((self.protocol[f"sums.{name}.{metric}"] * (exact[metric] or ZERO) for metric in weights), ZERO)


def _is_share(metric: Metric) -> bool:
    low, high = metric.prediction.low, metric.prediction.high
    return low is not None and high is not None and low >= 0 and high <= 1


def _most_likely(metric: Metric, truths: Sequence[Any]) -> Any:
    known = [value for value in truths if value is not None]
    if not known or metric.prediction.type in ("text", "str"):
        return None
    if metric.kind.positive_case:
        return known.count(metric.positive) / len(known)
    if metric.prediction.type in ("number", "integer"):
        return sorted(known)[len(known) // 2]
    return Counter(known if metric.prediction.classes else map(tuple, known)).most_common(1)[0][0]


def _columns(values: list[Any], fields: tuple[str, ...]) -> Mapping[str, Any]:
    """Values of one field, or rows of several, as columns by field."""
    return {fields[0]: values} if len(fields) == 1 else columns(values, fields)


def _watch(definition: Definition, metrics: tuple[Metric, ...]) -> Watch:
    """Texts, other columns, and the scores of positive cases if they are probabilities."""
    fields = {name: field.kind for name, field in definition.prediction.items()}
    ranked = {metric.prediction.name for metric in metrics if metric.kind.positive_case}
    bounded = [name for name in ranked if _is_probability(definition.prediction[name])]
    texts = [name for name, kind in fields.items() if kind in ("text", "str")]
    return Watch(
        track=definition.id,
        texts=_texts_of(texts) if texts else None,
        columns={f"'{name}'": attrgetter(name) for name in fields if name not in texts},
        probabilities={f"'{name}'": attrgetter(name) for name in sorted(bounded)},
    )


def _is_probability(field: Field) -> bool:
    return field.min is not None and field.min == 0 and field.max is not None and field.max == 1


def _texts_of(names: Sequence[str]) -> Texts:
    def texts(record: object) -> Iterator[tuple[Path, str]]:
        return (((name,), text) for name in names if (text := getattr(record, name)))

    return texts
