"""Problems in SARIF 2.1.0, which editors and code scanning services open at line and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from medcontract import _version
from medcontract.catalog import problem_codes
from medcontract.problems import plural
from medcontract.rendering.annotations import Annotation, Reviewed, annotated, codes, not_listed
from medcontract.rendering.view import View
from medcontract.results.base import dumps, printable
from medcontract.results.preflight import Preflight

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def document(result: Reviewed, view: View) -> str:
    found = annotated(result, view.show_values)
    names = codes(found)
    left = not_listed(result)
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if left:
        text = f"{plural(left, 'more problem')} not listed"
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    driver = {"name": "medcontract", "version": _version.__version__, "rules": _rules(names, result)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(each, names) for each in found],
    }
    return dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rules(names: Sequence[str], result: Reviewed) -> list[dict[str, Any]]:
    titles = {check.id: check.title for check in result.checks} if isinstance(result, Preflight) else {}
    return [_rule(name, titles.get(name, name)) for name in names]


def _rule(code: str, title: str) -> dict[str, Any]:
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


def _result(each: Annotation, names: Sequence[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": each.code,
        "ruleIndex": names.index(each.code),
        "level": each.level,
        "message": {"text": each.placed},
        "partialFingerprints": {"medcontract/v1": each.key},
        **({"occurrenceCount": each.times} if each.times > 1 else {}),
    }
    if each.path is not None:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(each.path)}}
        if each.line is not None:
            region = {"startLine": each.line, "startColumn": each.column}
            place["region"] = {name: value for name, value in region.items() if value is not None}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(path: str) -> str:
    """A path as given, as a URI: relative ones stay relative."""
    path = printable(path).replace("\\", "/")
    encoded = quote(path, safe="/!$&'()*+,;=@~")
    if path.startswith("/"):
        return f"file://{encoded}"
    return f"./{encoded}" if "%3A" in encoded.split("/")[0] else encoded
