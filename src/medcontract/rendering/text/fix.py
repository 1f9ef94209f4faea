"""Repairs as text: a unified diff where values may be shown, otherwise a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from io import StringIO

from medcontract.problems import plural
from medcontract.rendering.text.validation import validation
from medcontract.rendering.view import Style, View, clean
from medcontract.results.fix import Fix
from medcontract.results.validation import Validation

_ROLES = {"+": "good", "-": "error", "@": "hint"}


def fix(fixed: Fix, view: View) -> str:
    lines = list(_diff(fixed, view.style)) if view.show_values else []
    lines += [f"{each} ({plural(times, 'time')})" for each, times in Counter(r.what for r in fixed.repairs).items()]
    lines += ["", outcome(fixed), ""]
    return "\n".join(lines[not fixed.changed :]) + "\n" + validation(Validation.of((fixed.remaining,)), view)


def outcome(fixed: Fix) -> str:
    """Whether anything was repaired, and whether it was written."""
    if not fixed.changed:
        return "Nothing was fixed: no problem has exactly one right repair." if not fixed else "Nothing to fix."
    done = "written" if fixed.written else "not written; use --write to replace the file"
    return f"{plural(len(fixed.repairs), 'repair')}, {done}. The result:"


def _diff(fixed: Fix, style: Style) -> Iterator[str]:
    for line in StringIO(fixed.diff(), newline=None):
        line = line.rstrip("\n")
        role = _ROLES.get(line[:1])
        yield style(clean(line), role) if role else clean(line)
