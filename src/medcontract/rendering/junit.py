"""Validation and preflight as JUnit XML, which CI systems show as tests: one per file, or one per check."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Any

from medcontract.problems import plural
from medcontract.rendering.annotations import Reviewed
from medcontract.rendering.view import View, clean
from medcontract.results.preflight import Preflight
from medcontract.results.validation import Problem, Validation

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(result: Reviewed, view: View) -> str:
    cases = _files(result, view) if isinstance(result, Validation) else _checks(result, view)
    name = "medcontract validate" if isinstance(result, Validation) else "medcontract preflight"
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    counts = {"tests": len(cases), "failures": failures, "errors": 0}
    root = _element("testsuites", name="medcontract", **counts)
    suite = ET.SubElement(root, "testsuite", _texts(name=name, **counts, skipped=skipped))
    suite.extend(cases)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _files(report: Validation, view: View) -> list[ET.Element]:
    cases = []
    for file in report.files:
        case = _element("testcase", name=file.path, classname=file.contract or "not recognized")
        text = _listed(file.path, file.problems, file.omitted, view)
        if not file.ok:
            message = f"{plural(file.errors, 'error')}, {plural(file.warnings, 'warning')}"
            first = next((problem.code for problem in file.problems if problem.severity == "error"), "invalid")
            _add(case, "failure", text, message=message, type=first)
        elif text:
            _add(case, "system-out", text)
        cases.append(case)
    return cases


def _checks(checklist: Preflight, view: View) -> list[ET.Element]:
    cases = []
    for check in checklist.checks:
        case = _element("testcase", name=check.title, classname=f"preflight.{check.id}")
        left = check._found - len(check.problems)
        lines = [_line(problem._path or problem.file, problem, view) for problem in check.problems]
        text = "\n".join([*filter(None, [clean(check.detail)]), *lines, *_more(left)])
        if check.status == "failed":
            first = next((problem.code for problem in check.problems), check.id)
            _add(case, "failure", text, message=check.detail or check.title, type=first)
        elif check.status == "skipped":
            _add(case, "skipped", "", message=check.detail or "not possible")
        elif text:
            _add(case, "system-out", text)
        cases.append(case)
    return cases


def _listed(path: str, problems: Iterable[Problem], omitted: int, view: View) -> str:
    return "\n".join([*(_line(path, problem, view) for problem in problems), *_more(omitted)])


def _more(left: int) -> list[str]:
    return [f"… and {plural(left, 'more problem')}"] if left > 0 else []


def _line(path: str, problem: Problem, view: View) -> str:
    message = problem.message_with_value if view.show_values else problem.message
    hint = f" (hint: {problem.hint})" if problem.hint else ""
    return clean(f"{path}{problem._place}: {problem.severity} {problem.code} {message}{hint}")


def _element(tag: str, **attributes: Any) -> ET.Element:
    return ET.Element(tag, _texts(**attributes))


def _add(parent: ET.Element, tag: str, text: str, **attributes: Any) -> None:
    child = ET.SubElement(parent, tag, _texts(**attributes))
    child.text = _valid(text)


def _texts(**attributes: Any) -> dict[str, str]:
    return {name: _valid(clean(str(value))) for name, value in attributes.items()}


def _valid(text: str) -> str:
    """Without characters that XML does not allow."""
    return _NOT_XML.sub("·", text)
