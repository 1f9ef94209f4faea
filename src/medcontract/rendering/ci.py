"""Problems for CI systems: annotations of GitHub and GitLab, SARIF, and tests in JUnit XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple
from urllib.parse import quote

from medcontract import _version
from medcontract.catalog import problem_codes
from medcontract.problems import plural, printable
from medcontract.rendering.grouping import grouped, merged
from medcontract.rendering.page import FileProblems, View, clean
from medcontract.results.base import Data, dumps
from medcontract.results.preflight import Preflight
from medcontract.results.validation import Problem, Validation

Reviewed = Validation | Preflight


class Annotation(NamedTuple):
    """A problem in a file, or a check that failed without one, as in a code review."""

    level: Literal["error", "warning"]
    code: str
    """The code of the problem, or the id of the check."""
    title: str
    message: str
    """With the hint, on one line."""
    path: str | None
    line: int | None
    column: int | None
    record: int | None
    """The first record with the problem, if there are no lines."""
    key: str
    """Identifies the problem among all of the result, and stays the same when lines move."""
    times: int = 1
    """How often the same problem occurs at the same place, such as records that are missing from a file."""

    @property
    def text(self) -> str:
        """The message, with the number of occurrences."""
        return self.placed if self.times == 1 else f"{self.placed} ({self.times:,} times)"

    @property
    def placed(self) -> str:
        """The message, with the record: these formats have a place for lines only."""
        if self.record is None:
            return self.message
        return f"{'record' if self.times == 1 else 'first in record'} {self.record}: {self.message}"


def _annotations(result: Reviewed, show_values: bool, together: bool = False) -> list[Annotation]:
    """Return the problems that the result lists, and failed checks without problems; what reads the same only once.

    `together`: the same problem in several places is one annotation, at the first of them.
    """
    same: dict[tuple[object, ...], Annotation] = {}
    for each in _found(result, show_values, together):
        identity = (each.path, each.line, each.column, each.code, each.message)
        first = same.setdefault(identity, each._replace(times=0))
        same[identity] = first._replace(times=first.times + 1)
    seen: Counter[str] = Counter()
    annotations = []
    for each in same.values():
        seen[each.key] += 1
        text = f"{each.key}\n{seen[each.key]}"
        annotations.append(each._replace(key=sha256(text.encode("utf-8", "replace")).hexdigest()))
    return annotations


class _Part(NamedTuple):
    """A file, or a check of `preflight`."""

    name: str
    group: str
    listed: Sequence[tuple[str, Problem]]
    left: int
    """How many problems are counted but not listed."""
    state: Literal["passed", "failed", "skipped"]
    message: str
    """Why it failed, or was skipped."""
    code: str
    """Of its first problem, or its own."""
    detail: str = ""
    records: int | None = None


def _parts(result: Reviewed) -> Iterator[_Part]:
    for file in result.files if isinstance(result, Validation) else ():
        code = next((problem.code for problem in file.problems if problem.severity == "error"), "invalid")
        yield _Part(
            file.path, file.contract or "not recognized", [(file.path, each) for each in file.problems], file.omitted,
            "passed" if file.ok else "failed", f"{plural(file.errors, 'error')}, {plural(file.warnings, 'warning')}",
            code, records=file.records,
        )  # fmt: skip
    for check in result.checks if isinstance(result, Preflight) else ():
        listed = [(each._path or each.file, each) for each in check.problems]
        code = next((problem.code for problem in check.problems), check.id)
        message = check.detail or ("not possible" if check.status == "skipped" else check.title)
        left = max(0, check._found - len(listed))
        yield _Part(check.title, f"preflight.{check.id}", listed, left, check.status, message, code, check.detail)


def _found(result: Reviewed, show_values: bool, together: bool) -> Iterator[Annotation]:
    parts = list(_parts(result))
    if together:
        for groups in grouped([FileProblems(part.listed, 0, records=part.records) for part in parts], show_values):
            yield from (_annotation(each.file, each.problem, show_values, each.others) for each in groups)
    else:
        yield from (_annotation(file, each, show_values) for part in parts for file, each in part.listed)
    for part in parts if isinstance(result, Preflight) else ():
        if part.state == "failed" and not part.listed:
            message = clean(part.message)
            yield Annotation("error", part.code, clean(part.name), message, None, None, None, None, part.code)


def _annotation(path: str, problem: Problem, show_values: bool, others: str = "") -> Annotation:
    entry = problem_codes().get(problem.code)
    return Annotation(
        level=problem.severity,
        code=problem.code,
        title=entry.title if entry else problem.code,
        message=clean(_message(problem, show_values) + (f"; {others}" if others else "")),
        path=path,
        line=problem.line,
        column=problem.column,
        record=problem.record if problem.line is None else None,
        key="\n".join((path, problem.code, problem._plain_pointer, str(problem.record), problem.message)),
    )


def _message(problem: Problem, show_values: bool) -> str:
    message = problem.message_with_value if show_values else problem.message
    return f"{message} (hint: {problem.hint})" if problem.hint else message


def _not_listed(result: Reviewed) -> str:
    left = sum(part.left for part in _parts(result))
    return f"{plural(left, 'more problem')} not listed" if left else ""


# --- GitHub: workflow commands, which it shows in the changed files


def github(result: Reviewed, view: View) -> str:
    lines = [_command(each) for each in _annotations(result, view.show_values, together=True)]
    left = _not_listed(result)
    lines += [f"::notice::{_escaped(left)}"] if left else []
    if isinstance(result, Preflight):
        failed = sum(check.status == "failed" for check in result.checks)
        verdict = f"NOT READY: {plural(failed, 'check')} failed" if failed else "READY"
    else:
        errors = sum(file.errors - merged(file.problems) for file in result.files)
        warnings = sum(file.warnings for file in result.files)
        verdict = f"{plural(errors, 'error')}, {plural(warnings, 'warning')} in {plural(len(result.files), 'file')}"
    lines.append(f"::{'notice' if result else 'error'} title=medcontract::{_escaped(verdict)}")
    return "\n".join(lines) + "\n"


def _command(each: Annotation) -> str:
    properties = {
        "file": each.path,
        "line": each.line,
        "col": each.column,
        "title": f"{each.code} {each.title}" if each.code != each.title else each.code,
    }
    given = {name: _escaped(str(value)) for name, value in properties.items() if value is not None}
    pairs = (f"{name}={text.replace(':', '%3A').replace(',', '%2C')}" for name, text in given.items())
    return f"::{each.level} {','.join(pairs)}::{_escaped(each.text)}"


def _escaped(text: str) -> str:
    """Escape the message of a command. Other control characters are removed: a log would run escape sequences."""
    shown = "".join(char if char.isprintable() or char in "\r\n" else "·" for char in text)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# --- GitLab: a code quality report, which it shows in merge requests


def gitlab(result: Reviewed, view: View) -> str:
    issues: list[Data] = [
        {
            "description": f"{each.code} {each.text}",
            "check_name": each.code,
            "fingerprint": each.key,
            "severity": "major" if each.level == "error" else "minor",
            "location": {"path": printable(each.path or "."), "lines": {"begin": each.line or 1}},
        }
        for each in _annotations(result, view.show_values)
    ]
    return dumps(issues)


# --- SARIF 2.1.0, which editors and code scanning services open at line and column


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(result: Reviewed, view: View) -> str:
    found = _annotations(result, view.show_values)
    codes = sorted({each.code for each in found})
    left = _not_listed(result)
    invocation: dict[str, Data] = {"executionSuccessful": True}
    if left:
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": left}}]
    titles = {check.id: check.title for check in result.checks} if isinstance(result, Preflight) else {}
    rules: list[Data] = [_sarif_rule(code, titles.get(code, code)) for code in codes]
    run: dict[str, Data] = {
        "tool": {"driver": {"name": "medcontract", "version": _version.__version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_sarif_result(each, codes) for each in found],
    }
    return dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_rule(code: str, title: str) -> dict[str, Data]:
    entry = problem_codes().get(code)
    if entry is None:
        return {"id": code, "shortDescription": {"text": printable(title)}}
    text = f"{entry.meaning}\n\nWrong:\n{entry.mistake}\n\nRight:\n{entry.fix}"
    markdown = f"{entry.meaning}\n\nWrong:\n\n```\n{entry.mistake}\n```\n\nRight:\n\n```\n{entry.fix}\n```\n"
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": text, "markdown": markdown},
    }


def _sarif_result(each: Annotation, codes: Sequence[str]) -> dict[str, Data]:
    result: dict[str, Data] = {
        "ruleId": each.code,
        "ruleIndex": codes.index(each.code),
        "level": each.level,
        "message": {"text": each.placed},
        "partialFingerprints": {"medcontract/v1": each.key},
        **({"occurrenceCount": each.times} if each.times > 1 else {}),
    }
    if each.path is not None:
        place: dict[str, Data] = {"artifactLocation": {"uri": _uri(each.path)}}
        if each.line is not None:
            column: dict[str, Data] = {} if each.column is None else {"startColumn": each.column}
            place["region"] = {"startLine": each.line, **column}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(path: str) -> str:
    """Return a path as given as a URI: relative ones stay relative."""
    path = printable(path).replace("\\", "/")
    encoded = quote(path, safe="/!$&'()*+,;=@~")
    if path.startswith("/"):
        return f"file://{encoded}"
    return f"./{encoded}" if "%3A" in encoded.split("/")[0] else encoded


# --- JUnit: a test per file, or per check


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(result: Reviewed, view: View) -> str:
    cases = [_case(part, view) for part in _parts(result)]
    name = f"medcontract {'validate' if isinstance(result, Validation) else 'preflight'}"
    failures, skipped = (sum(case.find(tag) is not None for case in cases) for tag in ("failure", "skipped"))
    suite = _element("testsuite", "", *cases, name=name, tests=len(cases), failures=failures, errors=0, skipped=skipped)
    root = _element("testsuites", "", suite, name="medcontract", tests=len(cases), failures=failures, errors=0)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(part: _Part, view: View) -> ET.Element:
    lines = [clean(part.detail)] if part.detail else []
    for path, problem in part.listed:
        message = _message(problem, view.show_values)
        lines.append(clean(f"{path}{problem._place}: {problem.severity} {problem.code} {message}"))
    text = "\n".join([*lines, *([f"… and {plural(part.left, 'more problem')}"] if part.left else [])])
    outcome = []
    if part.state == "failed":
        outcome.append(_element("failure", text, message=part.message, type=part.code))
    elif part.state == "skipped":
        outcome.append(_element("skipped", message=part.message))
    elif text:
        outcome.append(_element("system-out", text))
    return _element("testcase", "", *outcome, name=part.name, classname=part.group)


def _element(tag: str, text: str = "", *children: ET.Element, **attributes: str | int) -> ET.Element:
    """Create an element without characters that XML does not allow."""
    element = ET.Element(tag, {name: _NOT_XML.sub("·", clean(str(value))) for name, value in attributes.items()})
    element.text = _NOT_XML.sub("·", text)
    element.extend(children)
    return element
