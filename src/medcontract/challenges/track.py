"""The track of a challenge: its protocol, its figures and how its results are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from medcontract.challenges.contracts import Ids
from medcontract.challenges.examples import imitation
from medcontract.challenges.model import Definition
from medcontract.challenges.scorer import ChallengeScorer
from medcontract.challenges.semantics import sign_problem
from medcontract.errors import CallError
from medcontract.results.score import Score
from medcontract.results.tables import (
    Bars,
    Matrix,
    Table,
    class_table,
    long_table,
    number,
    range_of,
    share_of,
)
from medcontract.scoring.canonical import canonical, sha256
from medcontract.scoring.metrics import Metric
from medcontract.scoring.phases import PARAMETERS as PHASE_PARAMETERS
from medcontract.scoring.protocol import MIN_PROCESSED, UNCERTAINTY, Change, Parameter, Protocol
from medcontract.scoring.scorer import ScoringOptions
from medcontract.scoring.track import Comparison, ExpectedIds, Figure, Result, Roles, Track
from medcontract.types import JsonObject

if TYPE_CHECKING:
    pass

_SOURCE = "challenge.toml"
_MOST_SHOWN = 20
"""Larger confusion matrices are not shown as text."""


# --- the protocol -----------------------------------------------------------------------------------------------------


def make_protocol(definition: Definition, metrics: tuple[Metric, ...]) -> Protocol:
    """Make every number of the file a parameter, and a hash of the rest."""
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
    """Yield the versions of text normalization, if a metric uses it."""
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
        scorer=partial(ChallengeScorer, definition, metrics),
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


def _for_participants(result: JsonObject, headline: float | None) -> JsonObject:
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


def _flat(result: Result) -> JsonObject:
    """Return the figures by name, sums and means first; the result may have been made elsewhere."""
    parts = (result.get("sums"), result.get("means"), result.get("metrics"))
    return {name: value for part in parts if isinstance(part, dict) for name, value in part.items()}


def _headline(result: Result) -> float | None:
    headline = result.get("headline")
    value = headline.get("value") if isinstance(headline, dict) else None
    return value if isinstance(value, float) else None
