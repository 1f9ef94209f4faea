"""Loads challenge files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from medcontract.challenges import positions
from medcontract.challenges.model import Definition
from medcontract.challenges.semantics import check
from medcontract.contracts import registry
from medcontract.contracts.registry import Scope
from medcontract.errors import CallError, InvalidData
from medcontract.problems import Finding, Path
from medcontract.reading.source import Source, Unreadable, open_source
from medcontract.results.validation import FileReport
from medcontract.validation.report import ProblemCollector, make_report

CONTRACT = "challenge"
"""The contract in reports about challenge files."""


def check_file(
    source: Source, collector: ProblemCollector, more: Iterable[tuple[Path, Finding]] = ()
) -> tuple[FileReport, Definition | None]:
    """Return everything that is wrong with a challenge file, and its definition if there are no errors.

    `more` is what else was found, by path in the file.
    """
    try:
        source.prepare()
        found = positions.read(source)
    except Unreadable as unreadable:
        collector.add(unreadable.finding)
        return make_report(source, CONTRACT, None, collector, usage_error=unreadable.usage_error), None
    if isinstance(found, Finding):
        collector.add(found)
        return make_report(source, CONTRACT, None, collector), None
    definition, findings = check(found.values)
    for path, finding in (*findings, *more):
        collector.add(finding._replace(offset=found.offset(path)))
    return make_report(source, CONTRACT, None, collector), definition


def load(file: str | os.PathLike[str] | bytes, name: str | None = None) -> Scope:
    """Return the contracts and the track of a challenge.

    Raises `CallError` if the file cannot be read, and `InvalidData` if it has errors.
    """
    source = Source(file, name) if isinstance(file, bytes) else open_source(file)
    source.name = source.name if name is None else name
    report, definition = check_file(source, ProblemCollector(100))
    if report.usage_error:
        problem = report.problems[0]
        raise CallError(f"{report.path}: {problem.message}", problem.hint)
    if definition is None:
        raise InvalidData(report)
    with source.open() as stream:
        stream.seek(source.start)
        content = stream.read()
    return _scope(content, source.name)


def check_with_truth(
    source: Source, truth: Source, collector: ProblemCollector, truth_collector: ProblemCollector
) -> tuple[FileReport, ...]:
    """Check a challenge file, its truth, and what the truth says about the challenge."""
    from medcontract.challenges.truth import about_truth
    from medcontract.validation.dispatch import load_source, validate_source

    _, definition = check_file(source, ProblemCollector(0))
    if definition is None:
        return (check_file(source, collector)[0],)
    with source.open() as stream:
        stream.seek(source.start)
        scope = _scope(stream.read(), source.name)
    with registry.using(scope):
        of_truth = validate_source(truth, scope.truth, truth_collector)
        if not of_truth.ok:
            return check_file(source, collector)[0], of_truth
        value = load_source(truth, scope.truth).value
    records = value if isinstance(value, tuple) else value.truth
    fields = (*definition.key, *definition.truth)
    columns = {field: [getattr(record, field) for record in records] for field in fields}
    return check_file(source, collector, about_truth(definition, columns))[0], of_truth


@lru_cache(maxsize=16)
def _scope(content: bytes, name: str) -> Scope:
    """Return what a challenge adds to the contracts and tracks. Cached, because models and schemas stay in memory."""
    from medcontract.challenges.contracts import Ids, compiled_contracts
    from medcontract.challenges.track import challenge_track

    report, definition = check_file(Source(content, name), ProblemCollector(1))
    if definition is None:
        raise InvalidData(report)  # the file was changed in the meantime
    ids = Ids.of(definition.id)
    return Scope(
        name=name, source=content, contracts=compiled_contracts(definition), track=challenge_track(definition),
        definition=definition, truth=ids.truth, submission=ids.predictions,
    )  # fmt: skip
