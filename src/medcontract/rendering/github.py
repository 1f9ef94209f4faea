"""Problems as workflow commands of GitHub Actions, which shows them in the changed files."""

from __future__ import annotations

from medcontract.problems import plural
from medcontract.rendering.annotations import Annotation, Reviewed, annotated, not_listed, verdict
from medcontract.rendering.view import View


def document(result: Reviewed, view: View) -> str:
    lines = [_command(each) for each in annotated(result, view.show_values)]
    left = not_listed(result)
    if left:
        lines.append(f"::notice::{_data(plural(left, 'more problem'))} not listed")
    level = "notice" if result else "error"
    lines.append(f"::{level} title=medcontract::{_data(verdict(result))}")
    return "\n".join(lines) + "\n"


def _command(each: Annotation) -> str:
    properties = {
        "file": each.path,
        "line": each.line,
        "col": each.column,
        "title": f"{each.code} {each.title}" if each.code != each.title else each.code,
    }
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None)
    return f"::{each.level} {given}::{_data(each.text)}"


def _data(text: str) -> str:
    """Escape the message of a command. Other control characters are removed: a log would run escape sequences."""
    shown = "".join(char if char.isprintable() or char in "\r\n" else "·" for char in text)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property of a command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
