"""Track `lesions`: ten classes of skin lesions, and the size and speed of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from medcontract.contracts.lesion_classes import CLASSES, LESION_CLASSES
from medcontract.errors import CallError
from medcontract.results.score import Score
from medcontract.results.tables import Table, by_class_table, class_table, figures_table, matrix_table
from medcontract.scoring.lesions.protocol import FIGURES, GROUPS, PROTOCOL
from medcontract.scoring.pairing import Pair, Pairing, marks_as_bytes
from medcontract.scoring.plausibility import VALUE_CODE, Watch
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ONE, ZERO, clamped, f1, mean, rounded, rounded_or_none
from medcontract.scoring.scorer import (
    Answers,
    Documents,
    Finished,
    Limit,
    Notes,
    Remark,
    Scorer,
    ScoringOptions,
    Tally,
    processed_counts,
)
from medcontract.scoring.track import (
    Auxiliary,
    ExpectedIds,
    Imitation,
    LinkedFiles,
    NamedFile,
    Option,
    Ranking,
    Result,
    Roles,
    Track,
)
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import lesions as contract
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling

_INDEX = {symbol: index for index, symbol in enumerate(CLASSES)}


_UNPROCESSED = len(CLASSES)
"""Replaces the predicted class of an image that is not processed."""
_CLASS_OR_NONE = (*range(len(CLASSES)), None)
"""The predicted classes; None for an image that is not processed."""
_COLUMNS = (*CLASSES, "unprocessed")


def _true_class(record: contract.TruthRecord) -> int:
    return _INDEX[record.label]


def _measure(truth: int, record: contract.Prediction) -> int:
    """Return the class with the largest probability, the first on ties."""
    return record.probabilities.index(max(record.probabilities))


def _measure_all(truths: Iterable[int], records: Sequence[contract.Prediction]) -> bytes:
    """Like `_measure`. Comparing local variables takes less than half the time of `max` and `index`."""
    found = []
    for record in records:
        largest, b, c, d, e, f, g, h, i, j = record.probabilities
        index = 0
        if b > largest:
            largest, index = b, 1
        if c > largest:
            largest, index = c, 2
        if d > largest:
            largest, index = d, 3
        if e > largest:
            largest, index = e, 4
        if f > largest:
            largest, index = f, 5
        if g > largest:
            largest, index = g, 6
        if h > largest:
            largest, index = h, 7
        if i > largest:
            largest, index = i, 8
        if j > largest:
            index = 9
        found.append(index)
    return bytes(found)


_OUTLIER = 2
"""An inference time of more than this many times the next longest is an outlier."""
_ALONE = (
    "t_min_ms and t_max_ms come from a single submission: its part for time is 1, whatever its time "
    "(--t-min-ms and --t-max-ms set the range)"
)
_MIN_TIMES = 3
"""With only two submissions, one is always the fastest and one the slowest."""


class _Measured(NamedTuple):
    """What counts of a model file, in a form that a cache can keep."""

    model_size_mb: float
    inference_time_ms: float
    gpu: bool


def _model_of(answers: Answers) -> _Measured | None:
    model: contract.Model | None = answers.documents.get("lesions/model")
    return None if model is None else _Measured(model.model_size_mb, model.inference_time_ms, bool(model.gpu))


def _counted_times(valid: Iterable[Tally]) -> list[Fraction]:
    """Return the inference times that count: not measured with a GPU."""
    models = [tally.context for tally in valid]
    return [Fraction(model.inference_time_ms) for model in models if model and not model.gpu]


def _protocol_of_competition(protocol: Protocol, valid: Sequence[Tally]) -> Protocol:
    """Return the protocol with the shortest and longest inference time, unless the caller has set them."""
    times = _counted_times(valid)
    if not times or protocol.get("t_min_ms") is not None:
        return protocol
    return protocol.measured(t_min_ms=rounded(min(times)), t_max_ms=rounded(max(times)))


def _about_competition(protocol: Protocol, valid: Sequence[tuple[str, Tally]]) -> Iterator[str]:
    """Yield a warning if a single slow submission makes all others look fast, or there is nothing to compare with."""
    times = sorted((time, name) for name, tally in valid for time in _counted_times([tally]))
    if len(times) == 1 and protocol.get("t_max_ms") is None:
        yield _ALONE
    if len(times) < _MIN_TIMES or protocol.get("t_max_ms") is not None:
        return
    (next_longest, _), (longest, name) = times[-2:]
    if longest > _OUTLIER * next_longest:
        yield (
            f"{name} alone sets t_max_ms: its inference time, {float(longest):g} ms, is more than {_OUTLIER} times the "
            f"next longest, {float(next_longest):g} ms (--t-min-ms and --t-max-ms set the range)"
        )


_PROBABILITIES = {"the list of probabilities": attrgetter("probabilities")}
_WATCH = Watch(track="lesions", columns=_PROBABILITIES, probabilities=_PROBABILITIES)
_FASTEST_MS = 1
"""Decoding an image of the required size alone takes longer."""


class LesionsScorer(Scorer):
    pairs = (
        Pair(
            truth="lesions/truth", submission="lesions/predictions", key=("image_id",),
            item=_true_class, measure=_measure, measure_all=_measure_all, watch=_WATCH,
        ),
    )  # fmt: skip

    def limits(self, pairings: Mapping[str, Pairing], documents: Documents, result: Result | None) -> Iterator[Limit]:
        model, limit = documents.get("lesions/model"), self.protocol["size_max_mb"]
        detail = "needs a valid file of lesions/model" if model is None else f"{model.model_size_mb:g} MB"
        yield Limit(
            id="model-size", title=f"The model is smaller than {float(limit):g} MB", contract="lesions/model",
            passed=None if model is None else Fraction(model.model_size_mb) < limit, detail=detail,
        )  # fmt: skip

    def oddities(self, documents: Documents) -> Iterator[Remark]:
        model = documents.get("lesions/model")
        if model is not None and model.inference_time_ms < _FASTEST_MS:
            yield Remark(
                contract="lesions/model", code=VALUE_CODE,
                message=f"'inference_time_ms' is below {_FASTEST_MS}: no image can be read in that time",
                hint="write milliseconds for each image: 0.12 s are 120",
            )  # fmt: skip

    def constant(self, items: Sequence[int]) -> int:
        return Counter(items).most_common(1)[0][0]

    def tally(self, answers: Answers) -> Tally:
        """Count how often each predicted class occurs with each true class; the context is the model."""
        pairing = answers.pairing()
        true = bytes(pairing.expected.items)
        return Tally(
            expected=len(true),
            processed=processed_counts(pairing),
            data=_confusion(true, marks_as_bytes(pairing, "", _UNPROCESSED)),
            context=_model_of(answers),
        )

    def notes(self, tally: Tally) -> Notes:
        present = {true for true, _ in tally.data}
        model: _Measured | None = tally.context
        lacking = None if model else "no model file (lesions/model)"
        if model and model.gpu:
            lacking = "the inference time was measured with a GPU"
        return Notes(
            warnings=(f"{lacking}, so no efficiency_score, final_score and points",) if lacking else (),
            about_truth=tuple(
                f"the truth has no image of class {symbol}: its F1 is 0 for everybody"
                for index, symbol in enumerate(CLASSES)
                if index not in present
            ),
        )

    def figures(self, tally: Tally) -> Finished:
        protocol = self.protocol
        rows = _rows(tally.data)
        by_class = {symbol: _f1_of(rows, index) for index, symbol in enumerate(CLASSES)}
        accuracy = Fraction(sum(row[index] for index, row in enumerate(rows)), tally.expected)
        groups = {name: mean(by_class[symbol] for symbol in symbols) for name, symbols in GROUPS.items()}
        weights = {name: protocol[f"weight_{name}"] for name in GROUPS}
        weighted = sum((weights[name] * groups[name] for name in GROUPS), ZERO) / sum(weights.values())
        prediction = protocol["weight_accuracy"] * accuracy + protocol["weight_weighted_f1"] * weighted
        efficiency = _efficiency(tally.context, protocol)
        final = None
        if efficiency is not None:
            final = protocol["weight_prediction"] * prediction + protocol["weight_efficiency"] * efficiency
        result = {
            "accuracy": rounded(accuracy),
            "f1_by_class": {name: rounded(value) for name, value in by_class.items()},
            **{f"f1_{name}": rounded(value) for name, value in groups.items()},
            "weighted_f1": rounded(weighted),
            "prediction_score": rounded(prediction),
            "efficiency_score": rounded_or_none(efficiency),
            "final_score": rounded_or_none(final),
            "points": rounded_or_none(None if final is None else 100 * final),
            "confusion_matrix": {
                true: dict(zip(_COLUMNS, row, strict=True)) for true, row in zip(CLASSES, rows, strict=True)
            },
        }
        alone = final is not None and protocol.get("t_min_ms") is None
        return Finished(result=result, headline=final, second=prediction, warnings=(_ALONE,) if alone else ())

    def resampled(self, answers: Answers, samples: Samples, result: Result) -> Resampling:
        import numpy as np

        from medcontract.uncertainty.figures import Resampled, Resampling, combined, kept, mean, quotient

        pairing, protocol, size = answers.pairing(), self.protocol, len(CLASSES)
        true = np.frombuffer(bytes(pairing.expected.items), np.uint8).astype(np.int8)
        said = np.frombuffer(marks_as_bytes(pairing, "", _UNPROCESSED), np.uint8).astype(np.int8)
        said, right = np.where(said == _UNPROCESSED, -1, said), np.where(said == true, true, -1)
        actual, predicted, hits = samples.whole.count((true, size), (said, size), (right, size))
        f1s = kept(quotient(2 * hits, actual + predicted, empty=0.0), actual)
        by_class = {name: Resampled(values=f1s[:, index], cases=true == index) for index, name in enumerate(CLASSES)}
        cases = np.ones(len(true), bool)
        accuracy = Resampled(
            values=quotient(hits.sum(axis=1), actual.sum(axis=1)), cases=cases, counted=len(true),
        )  # fmt: skip
        groups = {name: mean(by_class[symbol] for symbol in symbols) for name, symbols in GROUPS.items()}
        weights = {name: float(protocol[f"weight_{name}"]) for name in GROUPS}
        weighted = combined([(weights[name], each) for name, each in groups.items()], divisor=sum(weights.values()))
        parts = (float(protocol["weight_accuracy"]), accuracy), (float(protocol["weight_weighted_f1"]), weighted)
        prediction = headline = combined(parts)
        figures = {
            "/accuracy": accuracy, **{f"/f1_by_class/{name}": each for name, each in by_class.items()},
            **{f"/f1_{name}": each for name, each in groups.items()},
            "/weighted_f1": weighted, "/prediction_score": prediction,
        }  # fmt: skip
        efficiency = _efficiency(_model_of(answers), protocol)
        if efficiency is not None:
            constant = float(protocol["weight_efficiency"] * efficiency)
            headline = combined([(float(protocol["weight_prediction"]), prediction)], constant)
            figures |= {"/final_score": headline, "/points": headline.times(100)}
        counts = {name: int(actual[0, index]) for index, name in enumerate(CLASSES)}
        return Resampling(figures=figures, headline=headline, classes=counts)


def _complete(protocol: Protocol, options: ScoringOptions) -> Protocol:
    fastest, slowest = protocol.get("t_min_ms"), protocol.get("t_max_ms")
    if (fastest is None) != (slowest is None):
        raise CallError("t_min_ms and t_max_ms must be set together", "pass both or none")
    if fastest is not None and slowest is not None and fastest > slowest:
        raise CallError("t_min_ms is larger than t_max_ms")
    if protocol["size_min_mb"] > protocol["size_max_mb"]:
        raise CallError("size_min_mb is larger than size_max_mb")
    return protocol


def _tables(score: Score) -> Iterator[Table]:
    result = score.result or {}
    yield figures_table(score)
    if "f1_by_class" in result:
        yield by_class_table("Classes", score, "f1_by_class")
    if "confusion_matrix" in result:
        matrix = {
            true: {"none" if name == "unprocessed" else name: times for name, times in row.items()}
            for true, row in result["confusion_matrix"].items()
        }
        yield matrix_table("Confusion matrix", matrix)._replace(note="none: not processed", pages_only=False)
        meanings = {symbol: name for _, symbol, name, _ in LESION_CLASSES}
        yield class_table("Precision, recall and images ", result["confusion_matrix"], meanings)


def _right_answers(records: Sequence[JsonObject]) -> list[JsonObject]:
    return [{"probabilities": [float(symbol == record["label"]) for symbol in CLASSES]} for record in records]


TRACK = Track(
    id="lesions",
    roles=Roles(
        truths=("lesions/truth",),
        submissions=("lesions/predictions",),
        result="lesions/score",
        auxiliary=(Auxiliary(contract="lesions/model", about="submission", names_team=True),),
        expected_ids=(ExpectedIds(contract="lesions/cases", truth="lesions/truth"),),
    ),
    protocol=PROTOCOL,
    figures=FIGURES,
    headline="final_score",
    scorer=LesionsScorer,
    classes=LESION_CLASSES,
    second="prediction_score",
    imitations=(
        Imitation(
            truth="lesions/truth",
            submission="lesions/predictions",
            answers=_right_answers,
            describe=lambda probabilities: CLASSES[probabilities.index(1)],
        ),
    ),
    options=(
        Option(
            name="t_min_ms",
            metavar="MS",
            parameter=True,
            help="Shortest inference time of the competition; by default of the valid submissions in a ranking.",
        ),
        Option(name="t_max_ms", metavar="MS", parameter=True, help="Longest inference time of the competition."),
    ),
    linked_files=LinkedFiles(
        images=("lesions/cases", "image_path"),
        named=(
            NamedFile(
                contract="lesions/model",
                field="model_file",
                size_mb="model_size_mb",
                title="The model file exists and has the stated size",
            ),
            NamedFile(
                contract="lesions/model", field="inference_script", required=True, title="The inference script exists"
            ),
        ),
    ),
    ranking=Ranking(protocol=_protocol_of_competition, warnings=_about_competition),
    complete=_complete,
    tables=_tables,
)


def _confusion(true: bytes, predicted: bytes) -> Counter[tuple[int, int | None]]:
    """Count how often each predicted class occurs with each true class. None: not processed.

    Both classes of an image are put into one byte, since bytes are counted much faster than tuples.
    """
    pairs = int.from_bytes(true) << 4 | int.from_bytes(predicted)
    counted = Counter(pairs.to_bytes(len(true)))
    return Counter({(pair >> 4, _CLASS_OR_NONE[pair & 15]): times for pair, times in counted.items()})


def _rows(confusion: Counter[tuple[int, int | None]]) -> list[list[int]]:
    """Return the confusion matrix: a row for each true class, with a last column for images that are not processed."""
    return [[confusion.get((true, answer), 0) for answer in _CLASS_OR_NONE] for true in range(len(CLASSES))]


def _f1_of(rows: Sequence[Sequence[int]], index: int) -> Fraction:
    hits = rows[index][index]
    predicted = sum([row[index] for row in rows])
    return f1(hits, predicted - hits, sum(rows[index]) - hits)


def _efficiency(model: _Measured | None, protocol: Protocol) -> Fraction | None:
    if model is None or model.gpu:
        return None
    low, high = protocol["size_min_mb"], protocol["size_max_mb"]
    megabytes = Fraction(model.model_size_mb)
    size = ONE if megabytes < protocol["size_full_below_mb"] else _part(megabytes, low, high)
    fastest, slowest = protocol.get("t_min_ms"), protocol.get("t_max_ms")
    time = ONE if fastest is None or slowest is None else _part(Fraction(model.inference_time_ms), fastest, slowest)
    return protocol["weight_size"] * size + protocol["weight_time"] * time


def _part(value: Fraction, best: Fraction, worst: Fraction) -> Fraction:
    """1 for the best value, 0 for the worst; 1 if the two are equal."""
    return ONE if best == worst else clamped(1 - (value - best) / (worst - best))
