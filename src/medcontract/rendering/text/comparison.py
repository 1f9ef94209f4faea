"""Comparisons as text."""

from __future__ import annotations

from medcontract.problems import shorten
from medcontract.rendering import contracts_used
from medcontract.rendering.shared import comparison_tables
from medcontract.rendering.text.score import aligned
from medcontract.rendering.view import View, clean
from medcontract.results.comparison import Comparison


def comparison(comparison: Comparison, view: View) -> str:
    style, names = view.style, comparison._names
    lines = [style(f"{comparison.track}: {comparison.before} before, {comparison.after} after", "strong")]
    lines += [style(f"  from {' to '.join(shorten(name) for name in names)}", "dim")] if names else []
    lines += [f"  {style('reason:', 'error')} {clean(reason)}" for reason in comparison.reasons]
    lines.append("")
    for table in comparison_tables(comparison):
        if table.rows:
            lines += [*aligned(table, style), ""]
    lines += [f"{style('warning:', 'warning')} {clean(warning)}" for warning in comparison.warnings]
    lines.append(style(contracts_used.of_comparison(comparison), "dim"))
    lines.append(style(f"protocol fingerprint {comparison.fingerprint[:16]} in both", "dim"))
    return "\n".join(lines) + "\n"
