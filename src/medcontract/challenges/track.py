"""The track of a challenge: its protocol, its scorer and how its results are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from medcontract.challenges.contracts import Ids
from medcontract.challenges.imitation import imitation
from medcontract.challenges.model import Definition, Field
from medcontract.challenges.semantics import sign_problem
from medcontract.errors import CallError
from medcontract.problems import Path, pointer
from medcontract.results.score import Score
from medcontract.results.tables import (
    Bars,
    Matrix,
    Table,
    class_table,
    curves,
    long_table,
    number,
    range_of,
    share_of,
)
from medcontract.scoring.canonical import canonical, sha256
from medcontract.scoring.metrics import Metric, columns, confusion_matrix, count_all
from medcontract.scoring.pairing import Pair, marks
from medcontract.scoring.phases import PARAMETERS as PHASE_PARAMETERS
from medcontract.scoring.plausibility import Texts, Watch
from medcontract.scoring.protocol import MIN_PROCESSED, UNCERTAINTY, Change, Parameter, Protocol
from medcontract.scoring.rational import ZERO, mean, rounded, rounded_or_none
from medcontract.scoring.scorer import Answers, Finished, Notes, Scorer, ScoringOptions, Tally, processed_counts
from medcontract.scoring.track import Comparison, ExpectedIds, Figure, Roles, Track

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling

_SOURCE = "challenge.toml"
_MOST_SHOWN = 20
"""Larger confusion matrices are not shown as text."""


# --- the protocol -----------------------------------------------------------------------------------------------------


def make_protocol(definition: Definition, metrics: tuple[Metric, ...]) -> Protocol:
    """Every number of the file is a parameter; a hash stands for the rest."""
    found = [replace(MIN_PROCESSED, value=definition.gate.min_processed, source=_SOURCE)]
    for metric, entry in zip(metrics, definition.metrics, strict=True):
        for name, value in definition.numbers_of(entry).items():
            found.append(_number(metric, name, value))
    for name, weights in definition.score.sums.items():
        for metric_name, weight in weights.items():
            about = f"weight of {metric_name} in {name}"
            full_name = f"sums.{name}.{metric_name}"
            found.append(Parameter(name=full_name, value=weight, about=about, source=_SOURCE, low=None))
    found += _versions(metrics)
    cluster = definition.uncertainty.cluster or ""
    found += [replace(each, value=cluster) if each.name == "cluster" else each for each in UNCERTAINTY]
    if definition.phases is not None:
        about = "share of the cases, or of the clusters, that are public"
        found.append(Parameter(name="phases.public", value=definition.phases.public, about=about, source=_SOURCE))
        found += PHASE_PARAMETERS
    found.append(
        Parameter(
            name="definition", value=sha256(canonical(definition.data())), source=_SOURCE, fixed=True,
            about="SHA-256 of the fields, rules, metrics and the headline of the challenge, without their numbers",
        )
    )  # fmt: skip
    return Protocol(
        id=definition.id, version=definition.version, parameters=tuple(found),
        changes=(Change(definition.version, "as defined by the challenge file"),),
    )  # fmt: skip


def _number(metric: Metric, name: str, value: Decimal) -> Parameter:
    kind, _, of_class = name.partition(".")
    parameter = metric.kind.parameter(kind)
    about = parameter.about if parameter else name
    if of_class:
        about = f"cost in {metric.name}" if kind == "costs" else f"weight of {of_class} in {metric.name}"
    between = parameter.between if parameter else None
    low, high = between or (Decimal(0), None)
    return Parameter(
        name=f"metric.{metric.name}.{name}", value=value, about=about, source=_SOURCE, low=low, high=high,
        above=between is not None, below=high is not None,
    )  # fmt: skip


def _versions(metrics: tuple[Metric, ...]) -> Iterator[Parameter]:
    """The versions of text normalization, if a metric uses it."""
    used = {metric.choices.get("normalize") for metric in metrics}
    if "clinical" in used:
        from medcontract.normalizers import text

        yield _version("normalization", str(text.VERSION), "version of the normalization 'clinical'")
    if "fold" in used:
        from medcontract.normalizers.terms import VERSION, built_in_terms

        yield _version("folding", str(VERSION), "version of the normalization 'fold'")
        yield _version("lexicon", built_in_terms().sha256, "SHA-256 of the lexicon that 'fold' uses")


def _version(name: str, value: str, about: str) -> Parameter:
    return Parameter(name=name, value=value, about=about, source="the version of medcontract", fixed=True)


# --- scoring ----------------------------------------------------------------------------------------------------------


class ChallengeScorer(Scorer):
    """The scorer of one challenge is a subclass with its definition."""

    definition: ClassVar[Definition]
    metrics: ClassVar[tuple[Metric, ...]]
    truth_fields: ClassVar[tuple[str, ...]]
    """The fields of the truth that metrics read."""
    prediction_fields: ClassVar[tuple[str, ...]]

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        super().__init__(protocol, options, contracts)
        self._parameters = {
            metric.name: {key: protocol[f"metric.{metric.name}.{key}"] for key in metric.numbers}
            for metric in self.metrics
        }
        self._counting = {metric.name: metric.counting(self._parameters[metric.name]) for metric in self.metrics}

    def tally(self, answers: Answers) -> Tally:
        """The counts of all metrics; those that count the same share them."""
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
        """The median of numbers, and the most frequent of other values."""
        truths = _columns(list(items), self.truth_fields)
        by_field = {metric.prediction.name: metric for metric in self.metrics}
        best = [_most_likely(by_field[name], truths[by_field[name].truth.name]) for name in self.prediction_fields]
        return None if None in best else best[0] if len(best) == 1 else tuple(best)

    def _counts(self, tally: Tally, metric: Metric) -> Any:
        return tally.data[self._counting[metric.name]]

    def _matrices(self, tally: Tally) -> dict[str, Any]:
        """By field."""
        found: dict[str, Any] = {}
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
        """How well each probability or score tells cases apart, and whether probabilities are right."""
        shown = set()
        for metric in self.metrics:
            if self._counting[metric.name].what == "ranks":
                counts, name = self._counts(tally, metric), metric.prediction.name
                title = f"{name}: {metric.truth.name} is {metric.choices['positive']}"
                if title not in shown:  # several metrics may be about the same probability
                    yield from curves(title, counts.positives, counts.negatives, is_share=_is_share(metric))
                shown.add(title)

    def resampled(self, answers: Answers, samples: Samples, result: Mapping[str, Any]) -> Resampling:
        from medcontract.scoring.metrics.resampled import Cases
        from medcontract.uncertainty.figures import Resampling, combined
        from medcontract.uncertainty.figures import mean as resampled_mean

        pairing, score = answers.pairing(), self.definition.score
        truths = _columns(pairing.expected.items, self.truth_fields)
        cases = Cases(samples.whole, truths, _columns(marks(pairing, ""), self.prediction_fields))
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
        """What is questionable about metrics with changed parameters; `challenge check` reports it of the others."""
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


def _make_scorer(definition: Definition, metrics: tuple[Metric, ...]) -> type[ChallengeScorer]:
    ids = Ids.of(definition.id)
    fields = (field for metric in metrics for field in (metric.truth, metric.event) if field is not None)
    truth_fields = tuple(dict.fromkeys(field.name for field in fields))
    prediction_fields = tuple(dict.fromkeys(metric.prediction.name for metric in metrics))
    read = attrgetter(*prediction_fields)

    def measure(item: Any, record: Any) -> Any:
        return read(record)

    def measure_all(items: Iterable[Any], records: Sequence[Any]) -> list[Any]:
        return list(map(read, records))

    pair = Pair(
        truth=ids.truth, submission=ids.predictions, key=definition.key, item=attrgetter(*truth_fields),
        measure=measure, measure_all=measure_all, watch=_watch(definition, metrics),
    )  # fmt: skip
    return type(
        "Scorer",
        (ChallengeScorer,),
        {
            "definition": definition, "metrics": metrics, "truth_fields": truth_fields,
            "prediction_fields": prediction_fields, "pairs": (pair,),
        },
    )  # fmt: skip


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
    def texts(record: Any) -> Iterator[tuple[Path, str]]:
        return (((name,), text) for name in names if (text := getattr(record, name)))

    return texts


# --- the track --------------------------------------------------------------------------------------------------------


def challenge_track(definition: Definition) -> Track:
    """Return the track of a challenge."""
    ids = Ids.of(definition.id)
    metrics = tuple(map(definition.build, definition.metrics))
    figures = (*_figures_of_several(definition), *map(_figure, metrics))
    return Track(
        id=definition.id,
        roles=Roles(
            truths=(ids.truth,), submissions=(ids.predictions,), result=ids.score,
            expected_ids=(ExpectedIds(contract=ids.cases, truth=ids.truth),),
        ),
        protocol=make_protocol(definition, metrics),
        figures=figures,
        headline=definition.score.headline,
        intervals=definition.uncertainty.intervals,
        scorer=_make_scorer(definition, metrics),
        comparison=Comparison(figures=_flat, headline=_headline),
        complete=partial(_check_weights, definition),
        imitations=(imitation(definition),),
        tables=partial(_tables, figures),
        for_participants=_for_participants,
    )  # fmt: skip


def _check_weights(definition: Definition, protocol: Protocol, options: ScoringOptions) -> Protocol:
    for entry in definition.metrics:
        weights = [
            protocol[f"metric.{entry.name}.{key}"] for key in definition.numbers_of(entry) if key.startswith("weights.")
        ]
        if weights and not any(weights):
            raise CallError(f"all weights of '{entry.name}' are 0", "give at least one class a weight above 0")
    for name, weights_of in definition.score.sums.items():
        found = {metric: protocol[f"sums.{name}.{metric}"] for metric in weights_of}
        if not any(found.values()):
            raise CallError(f"all weights of '{name}' are 0", "give at least one metric another weight")
        for metric, weight in found.items():
            problem = sign_problem(definition, metric, weight)
            if problem:
                raise CallError(f"sums.{name}.{metric}: {problem}")
    return protocol


def _for_participants(result: dict[str, Any], headline: float | None) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("by_class", "confusion_matrix")}


def _tables(figures: Sequence[Figure], score: Score) -> Iterator[Table]:
    result = score.result or {}
    undefined = result.get("undefined", {})
    flat = _flat(result)
    intervals = {name: score.interval_of("sums", name) or score.interval_of("metrics", name) for name in flat}
    rows = [(name, number(value, "", intervals[name]), undefined.get(name, "")) for name, value in flat.items()]
    if undefined:
        yield Table("", ("figure", "value", "undefined because"), rows, numeric=False)
    else:
        by_name = {figure.name: figure for figure in figures}
        shares = [share_of(by_name[name], value) if name in by_name else None for name, value in flat.items()]
        ranges = [range_of(by_name[name], intervals[name]) if name in by_name else None for name in flat]
        yield Table("", ("figure", "value"), [row[:2] for row in rows], shares=shares, ranges=ranges)
    left_out = result.get("left_out", {})
    if left_out:
        counts = [(name, number(count)) for name, count in left_out.items()]
        yield Table("Cases without a true value", ("metric", "left out"), counts)
    for name, by_class in result.get("by_class", {}).items():
        found = [score.interval_of("by_class", name, label) for label in by_class]
        rows_of = [(label, number(each, "", its)) for (label, each), its in zip(by_class.items(), found, strict=True)]
        bars = Bars.of(list(by_class), list(by_class.values()), found)
        yield long_table(Table(f"{name} by class", ("class", "value"), rows_of, chart=bars))
    for field, matrix in result.get("confusion_matrix", {}).items():
        if len(matrix) <= _MOST_SHOWN:
            yield _matrix_table(field, matrix)
        yield class_table(f"Precision, recall and cases of {field} ", matrix)


def _matrix_table(field: str, matrix: dict[str, dict[str, int]]) -> Table:
    head = ("true \\ predicted", *next(iter(matrix.values())))
    rows = [(true, *(str(times or "·") for times in row.values())) for true, row in matrix.items()]
    chart = Matrix(list(matrix), head[1:], [list(row.values()) for row in matrix.values()])
    return Table(f"Confusion matrix of {field}", head, rows, chart=chart)


def _figure(metric: Metric) -> Figure:
    kind, described = metric.kind, [f"{key}: {value}" for key, value in metric.choices.items()]
    if metric.event is not None:
        described = [f"time: {metric.truth.name}, event: {metric.event.name} is {metric.choices['event']}"]
    elif kind.positive_case:
        described = [f"positive: {metric.truth.name} is {metric.choices['positive']}"]
    choices = f" ({', '.join(described)})" if described else ""
    return Figure(
        name=metric.name, about=f"{kind.name} of {metric.prediction.name}{choices}: {kind.about}", low=kind.low,
        high=kind.high, perfect=kind.perfect, leaving_out=kind.leaving_out, lower_is_better=not kind.higher_is_better,
        inverted_below=kind.inverted_below, rewards_constant=kind.rewards_constant,
    )  # fmt: skip


def _figures_of_several(definition: Definition) -> Iterator[Figure]:
    """Describe sums and means."""
    for name, weights in definition.score.sums.items():
        about = " + ".join(f"sums.{name}.{part}·{part}" for part in weights)
        positive = all(
            weight >= 0 and all(kind.low == 0 for kind in definition.kinds_of(part)) for part, weight in weights.items()
        )
        yield Figure(name=name, about=about, low=0 if positive else None, high=None)
    for name, parts in definition.means.items():
        (first, *others) = definition.kinds_of(name)
        low, high, perfect, leaving_out = (
            value if all(getattr(other, key) == value for other in others) else None
            for key in ("low", "high", "perfect", "leaving_out")
            for value in [getattr(first, key)]
        )
        yield Figure(
            name=name, about=f"mean of {', '.join(parts)}", low=low, high=high, perfect=perfect,
            leaving_out=leaving_out, lower_is_better=definition.lower_is_better(name),
            rewards_constant=any(kind.rewards_constant for kind in (first, *others)),
        )  # fmt: skip


def _flat(result: Mapping[str, Any]) -> dict[str, Any]:
    """The figures by name, sums and means first; the result may have been made elsewhere."""
    parts = (result.get("sums"), result.get("means"), result.get("metrics"))
    return {name: value for part in parts if isinstance(part, dict) for name, value in part.items()}


def _headline(result: Mapping[str, Any]) -> float | None:
    headline = result.get("headline")
    value = headline.get("value") if isinstance(headline, dict) else None
    return value if isinstance(value, float) else None
