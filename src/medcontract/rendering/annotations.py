"""Problems as the annotations of a code review: what the formats for CI systems have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Literal, NamedTuple

from medcontract.catalog import problem_codes
from medcontract.problems import plural
from medcontract.rendering.view import clean
from medcontract.results.preflight import Preflight
from medcontract.results.score import FileProblem
from medcontract.results.validation import Problem, Validation

Reviewed = Validation | Preflight


class Annotation(NamedTuple):
    """A problem in a file, or a check that failed without one."""

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


def annotated(result: Reviewed, show_values: bool) -> list[Annotation]:
    """All problems that the result lists, and failed checks without problems."""
    found = _merged(
        _of_validation(result, show_values) if isinstance(result, Validation) else _of_checks(result, show_values)
    )
    seen: Counter[str] = Counter()
    for position, each in enumerate(found):
        seen[each.key] += 1
        text = f"{each.key}\n{seen[each.key]}"
        found[position] = each._replace(key=sha256(text.encode("utf-8", "replace")).hexdigest())
    return found


def _merged(found: Iterable[Annotation]) -> list[Annotation]:
    """Problems that read the same at the same place, once."""
    same: dict[tuple[object, ...], Annotation] = {}
    for each in found:
        identity = (each.path, each.line, each.column, each.code, each.message)
        first = same.setdefault(identity, each._replace(times=0))
        same[identity] = first._replace(times=first.times + 1)
    return list(same.values())


def not_listed(result: Reviewed) -> int:
    """The number of problems that are counted but not listed."""
    if isinstance(result, Validation):
        return sum(file.omitted for file in result.files)
    return sum(max(0, check._found - len(check.problems)) for check in result.checks)


def verdict(result: Reviewed) -> str:
    """The outcome in one line."""
    if isinstance(result, Preflight):
        failed = sum(check.status == "failed" for check in result.checks)
        return f"NOT READY: {plural(failed, 'check')} failed" if failed else "READY"
    errors = sum(file.errors for file in result.files)
    warnings = sum(file.warnings for file in result.files)
    return f"{plural(errors, 'error')}, {plural(warnings, 'warning')} in {plural(len(result.files), 'file')}"


def _of_validation(result: Validation, show_values: bool) -> Iterator[Annotation]:
    for file in result.files:
        for problem in file.problems:
            yield _of_problem(file.path, problem, show_values)


def _of_checks(result: Preflight, show_values: bool) -> Iterator[Annotation]:
    for check in result.checks:
        yield from (_of_problem(_path(problem), problem, show_values) for problem in check.problems)
        if check.status == "failed" and not check.problems:
            title = clean(check.title)
            yield Annotation("error", check.id, title, clean(check.detail) or title, None, None, None, None, check.id)


def _path(problem: FileProblem) -> str:
    return problem._path or problem.file


def _of_problem(path: str, problem: Problem, show_values: bool) -> Annotation:
    message = problem.message_with_value if show_values else problem.message
    entry = problem_codes().get(problem.code)
    return Annotation(
        level=problem.severity,
        code=problem.code,
        title=entry.title if entry else problem.code,
        message=clean(f"{message} (hint: {problem.hint})" if problem.hint else message),
        path=path,
        line=problem.line,
        column=problem.column,
        record=problem.record if problem.line is None else None,
        key="\n".join((path, problem.code, problem._plain_pointer, str(problem.record), problem.message)),
    )


def codes(found: Iterable[Annotation]) -> list[str]:
    """The codes that occur, in order."""
    return sorted({each.code for each in found})
