"""Problems as a code quality report of GitLab, which shows them in merge requests."""

from __future__ import annotations

from typing import Any

from medcontract.rendering.annotations import Annotation, Reviewed, annotated
from medcontract.rendering.view import View
from medcontract.results.base import dumps, printable

_SEVERITIES = {"error": "major", "warning": "minor"}


def document(result: Reviewed, view: View) -> str:
    return dumps([_issue(each) for each in annotated(result, view.show_values)])


def _issue(each: Annotation) -> dict[str, Any]:
    return {
        "description": f"{each.code} {each.text}",
        "check_name": each.code,
        "fingerprint": each.key,
        "severity": _SEVERITIES[each.level],
        "location": {"path": printable(each.path or "."), "lines": {"begin": each.line or 1}},
    }
