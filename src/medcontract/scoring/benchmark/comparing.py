"""The comparison of two reports: tasks, samples, and whether combined scores have the same weights."""

from __future__ import annotations

from collections.abc import Iterator

from medcontract.problems import plain_name
from medcontract.scoring.track import Result, RowGroup, without_metadata
from medcontract.types import JsonObject


def table_in(mapping: Result, name: str) -> Result:
    """Return the object with this name, or an empty one: a report of another tool may contain anything."""
    found = mapping.get(name)
    return found if isinstance(found, dict) else {}


def figures_in(report: Result) -> Result:
    """Return the metrics over all tasks, including given and combined ones."""
    return table_in(report, "overall_scores") or without_metadata(report)


def row_groups(report: Result) -> Iterator[RowGroup]:
    """Tasks and samples. They improved if a combined score did, or else if some metric rose and none fell."""
    combined = tuple(_combined(report))
    tasks, samples = table_in(report, "task_scores"), _samples(report)
    yield RowGroup(kind="tasks", title="tasks", rows=tasks, deciding=combined, or_all=True)
    yield RowGroup(kind="samples", title="samples", rows=samples, deciding=combined, or_all=True)


def warn_different_weights(before: Result, after: Result) -> Iterator[str]:
    """Warnings about combined scores of the same name with different weights or categories."""
    old, new = _combined(before), _combined(after)
    for name in old.keys() & new.keys():
        if old[name] != new[name]:
            both = " and ".join(_weights(table_in(each, name)) for each in (old, new))
            yield f"'{plain_name(name)}' has different weights ({both}): it cannot be compared"


def _combined(report: Result) -> Result:
    """Return the combined scores with their weights."""
    return table_in(table_in(report, "metadata"), "combined_scores")


def _samples(report: Result) -> JsonObject:
    """Return the samples of a report with a breakdown."""
    listed = report.get("detailed_results")
    rows = [row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, dict)]
    keys = {"task_id", "sample_id", "scores"}
    return {f"{row['task_id']} {row['sample_id']}": table_in(row, "scores") for row in rows if row.keys() >= keys}


def _weights(how: Result) -> str:
    weights = table_in(how, "weights")
    shares = ", ".join(f"{plain_name(metric)} {_share(weight)}" for metric, weight in weights.items())
    missing = "" if how.get("renormalize_missing", True) else ", missing ones kept"
    return f"{shares}{missing}{''.join(_categories(table_in(how, 'categories')))}"


def _categories(categories: Result) -> Iterator[str]:
    for name, metrics in categories.items():
        members = [str(metric) for metric in metrics] if isinstance(metrics, list) else ["…"]
        yield f", {plain_name(name)} of {' + '.join(map(plain_name, members))}"


def _share(weight: object) -> str:
    return str(weight) if isinstance(weight, int | float) and not isinstance(weight, bool) else "…"
