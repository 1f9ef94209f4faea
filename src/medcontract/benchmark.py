"""The track `benchmark` in Python, with the names of its source document: metrics of answers, and reports.

These are thin wrappers around the scorer: the same figures as `medcontract.score`, and only valid data is scored.

>>> from medcontract.benchmark import BenchmarkReport, ClinicalAccuracyMetric
>>> metric = ClinicalAccuracyMetric()
>>> metric.calculate({"answer": "asthma"}, {"answer": "asthma with cough"})
0.75
>>> metric.get_last_breakdown()[0]["entities"]["symptoms"]["surplus"]
['cough']
>>> report = BenchmarkReport(
...     {"model_id": "m", "overall_scores": {}, "task_scores": {"qa": {"safety": 0.5, "rouge1": 1}}}
... )
>>> report.add_combined_score({"safety": 3, "summarization": 1})
>>> report.overall_scores
{'combined_score': 0.625}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from medcontract.errors import CallError
from medcontract.results.base import dumps
from medcontract.results.score import Score
from medcontract.scoring.benchmark import PREDICTIONS, REFERENCES, TRACK, terms_of
from medcontract.scoring.benchmark.combining import COMBINED, Weighting, parse_categories, parse_weights
from medcontract.scoring.benchmark.comparing import table_in
from medcontract.scoring.benchmark.metrics import (
    CLINICAL,
    REASONING,
    Settings,
    measured,
    required_metrics,
    side_of,
)
from medcontract.scoring.benchmark.rescoring import add_combined
from medcontract.scoring.benchmark.samples import shown_parts
from medcontract.scoring.benchmark.tables import report_tables
from medcontract.scoring.rational import mean, rounded
from medcontract.scoring.scorer import ScoringOptions
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.options import FileName
    from medcontract.rendering.page import Page

__all__ = ["BenchmarkReport", "ClinicalAccuracyMetric", "ReasoningQualityMetric"]

Answer = str | Mapping[str, Any]
"""An answer as in a record (`answer`, `rationale`, `diagnosis`, `entities`), or only the text that is measured."""


class _Metric:
    """A metric of the protocol, for answers in memory."""

    name: ClassVar[str]
    text_field: ClassVar[str]
    """The field that a plain text is the value of."""

    def __init__(
        self, *, parameters: Mapping[str, object] | None = None, lexicon: FileName | bytes | None = None
    ) -> None:
        """`parameters` of the protocol and a custom `lexicon`, as for `medcontract.score`. Raises `CallError`."""
        self._terms = terms_of(ScoringOptions(options={} if lexicon is None else {"lexicon": _lexicon(lexicon)}))
        protocol = TRACK.protocol
        for name, value in (parameters or {}).items():
            protocol = protocol.changed(name, str(value))
        self._settings = Settings.of(protocol)
        self._breakdown: list[JsonObject] = []

    def calculate(self, expected: Answer | Sequence[Answer], predicted: Answer | Sequence[Answer]) -> float:
        """Return the metric of a prediction, or the mean over several samples whose reference requires it.

        Raises `InvalidData` for answers that violate their contract, and `CallError` if there is nothing to compute.
        """
        self._breakdown = []
        references, predictions = self._validated(expected, predicted)
        values: list[Fraction] = []
        for reference, prediction in zip(references, predictions, strict=True):
            known = side_of(self._terms, self._settings, reference.reference, markers=False)
            said = side_of(self._terms, self._settings, prediction.prediction, markers=True)
            required = required_metrics(self._settings, reference.reference)
            found = measured(self._terms, self._settings, required, known, said).get(self.name)
            if found is None:
                self._breakdown.append({"score": None})
                continue
            values.append(found.value)
            self._breakdown.append({"score": rounded(found.value), **shown_parts(found.parts, values=True)})
        if not values:
            raise CallError(f"no reference requires {self.name}", f"give one of them '{self.text_field}'")
        return rounded(mean(values))

    def get_last_breakdown(self) -> list[JsonObject]:
        """For each sample of the last `calculate`, its `score` (None if not required) and its components."""
        return self._breakdown

    def _validated(
        self, expected: Answer | Sequence[Answer], predicted: Answer | Sequence[Answer]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        one, other = self._listed(expected), self._listed(predicted)
        if not one or len(one) != len(other):
            raise CallError(f"there are {len(one)} expected and {len(other)} predicted answers", "pass one per sample")
        ids = [{"task_id": "task", "sample_id": str(number)} for number in range(1, len(one) + 1)]
        references = [{**each, "reference": said} for each, said in zip(ids, one, strict=True)]
        predictions = [{**each, "prediction": said} for each, said in zip(ids, other, strict=True)]
        return (
            _load({"references": references}, REFERENCES, "expected").references,
            _load({"model_id": "model", "predictions": predictions}, PREDICTIONS, "predicted").predictions,
        )

    def _listed(self, answers: Answer | Sequence[Answer]) -> list[Any]:
        several = [answers] if isinstance(answers, str | Mapping) else list(answers)
        return [{self.text_field: each} if isinstance(each, str) else each for each in several]


class ClinicalAccuracyMetric(_Metric):
    """Whether both answers have the same clinical entities. A plain text is the `answer`."""

    name = CLINICAL
    text_field = "answer"


class ReasoningQualityMetric(_Metric):
    """Overlap, structure, evidence and facts of a rationale. A plain text is the `rationale`."""

    name = REASONING
    text_field = "rationale"


class BenchmarkReport:
    """A report on a model (`benchmark/report`), to which combined scores can be added."""

    def __init__(self, report: Score | Mapping[str, Any] | FileName | bytes) -> None:
        """From the result of `medcontract.score`, from a mapping, or from a file.

        Raises `InvalidData` if it violates its contract, and `CallError` for a score without a report.
        """
        if isinstance(report, Score):
            if report.track != TRACK.id or report.result is None or report.participant:
                raise CallError("the score has no report", f"pass a score of the track {TRACK.id} that has a result")
            report = report.result
        self._load(report)

    def _load(self, report: Mapping[str, Any] | FileName | bytes) -> None:
        self._model = _load(report, TRACK.roles.result, "report")
        dumped = self._model.model_dump(by_alias=True)
        self._report: JsonObject = {name: value for name, value in dumped.items() if value is not None}
        self._report.pop("$schema", None)

    @property
    def model_id(self) -> str:
        return str(self._report["model_id"])

    @property
    def overall_scores(self) -> dict[str, float]:
        """The value of each metric over all tasks."""
        return dict(self._report["overall_scores"])

    @property
    def task_scores(self) -> dict[str, dict[str, float]]:
        """The value of each metric, by task."""
        return {task: dict(metrics) for task, metrics in self._report["task_scores"].items()}

    @property
    def metadata(self) -> JsonObject:
        """Other information, such as the weights of combined scores."""
        return dict(self._report.get("metadata") or {})

    def add_combined_score(
        self,
        weights: Mapping[str, float],
        metric_name: str = COMBINED,
        *,
        renormalize_missing: bool = True,
        categories: Mapping[str, Sequence[str]] | None = None,
        replace: bool = False,
    ) -> None:
        """Add the weighted mean of metrics and categories to each task and to the overall scores.

        Raises `CallError` if no weight matches anything, or if a metric of that name exists (unless `replace`).
        """
        if not metric_name.strip():
            raise CallError("metric_name is blank", "give the combined score a name")
        custom = tuple(parse_categories(categories or {}).items())
        weighting = Weighting(parse_weights(weights), metric_name, renormalize_missing, custom)
        found = add_combined(self._model, weighting, replace, {})
        self._load(found.result or {})

    def to_dict(self) -> JsonObject:
        """As plain dicts and lists."""
        copied: JsonObject = json.loads(json.dumps(self._report))
        return copied

    def to_json(self) -> str:
        """Return the document that `medcontract score --result-only` prints."""
        return dumps(self._report)

    def to_markdown(self) -> str:
        """Return a page: the combined score and its weights first, then the other metrics and the tasks."""
        from medcontract.rendering import markdown

        return markdown.write(self._page())

    def to_html(self) -> str:
        """Return a page of HTML: the combined score and its weights first, then the other metrics and the tasks."""
        from medcontract.rendering import html

        return html.write(self._page())

    def _repr_html_(self) -> str:
        from medcontract.rendering import html

        return html.fragment(self._page())

    def _page(self) -> Page:
        from medcontract.rendering.pages.score import report

        headline = self._headline()
        tables = report_tables(self._report, headline, counted_here=False)
        return report(f"Report: {TRACK.id}", self.model_id, headline, self.overall_scores.get(headline), tables)

    def _headline(self) -> str:
        """Return the first combined score with known weights; a report of another tool may contain anything there."""
        known = table_in(self._report.get("metadata") or {}, "combined_scores")
        return next((name for name in self.overall_scores if _is_weighting(known.get(name))), "")

    def __repr__(self) -> str:
        tasks = len(self._report["task_scores"])
        return f"<{type(self).__name__} of {tasks} task{'s' * (tasks != 1)}>"


def _is_weighting(value: Any) -> bool:
    """Return whether this describes a combined score as medcontract does."""
    if not isinstance(value, dict) or not isinstance(value.get("renormalize_missing"), bool):
        return False
    weights, categories = value.get("weights"), value.get("categories", {})
    return (
        isinstance(weights, dict)
        and all(isinstance(weight, int | float) for weight in weights.values())
        and isinstance(categories, dict)
        and all(isinstance(each, list) and all(isinstance(m, str) for m in each) for each in categories.values())
    )


def _load(data: Any, contract: str, name: str) -> Any:
    """Return the validated value of a mapping or a file. Raises `InvalidData` and `CallError`."""
    from medcontract.api import load

    if not isinstance(data, Mapping):
        return load(data, contract).value
    try:
        text = json.dumps(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallError(f"the {name} data cannot be written as JSON", "pass texts, numbers, lists and dicts") from error
    return load(text.encode(), contract, name=f"{name}.json").value


def _lexicon(file: FileName | bytes) -> JsonObject:
    found: JsonObject = _load(file, "benchmark/lexicon", "lexicon").model_dump(exclude_none=True)
    return found
