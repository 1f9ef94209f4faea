"""What metrics count: mergeable, exact, independent of order, and picklable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from medcontract.scoring.metrics.metric import Metric


class Tally(Struct, frozen=True, kw_only=True):
    """What is counted for a metric. Hashable: metrics with equal tallies share their counts."""

    counting: Literal["classes", "matches", "within", "texts", "sets", "tokens", "ranks", "squares", "errors"]
    truth: str
    """The name of the field of the truth."""
    prediction: str
    positive: Any = None
    normalize: str = ""
    power: int = 0
    tolerance: Fraction | None = None
    relative: bool = False

    def count(self, truths: Sequence[Any], predictions: Sequence[Any]) -> Any:
        """The counts of some cases; those of several parts of the data are added with `+`.

        Both have one value per expected case, as validated records have them (class names, not indexes). A null truth
        is None; a prediction is None if the case is unprocessed or its field is null.
        """
        raise NotImplementedError


def columns(rows: Sequence[Sequence[Any] | None], fields: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Rows of values, None for an unprocessed case, as columns by field."""
    raise NotImplementedError


def count_all(
    tallies: Iterable[Tally], truths: Mapping[str, Sequence[Any]], predictions: Mapping[str, Sequence[Any]]
) -> dict[Tally, Any]:
    """The counts of each tally, once for equal ones, from columns by field."""
    raise NotImplementedError


def confusion_matrix(metric: Metric, counts: Any) -> dict[str, dict[str, int]] | None:
    """How often each class was predicted, by true class, zeros and `unprocessed` included.

    None if the metric has no classes, or more than 50.
    """
    raise NotImplementedError
