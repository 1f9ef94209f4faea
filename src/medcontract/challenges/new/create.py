"""Creates a challenge: its file, and example files that satisfy it."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from medcontract.challenges.examples import example_files
from medcontract.challenges.loading import load
from medcontract.challenges.model import Field
from medcontract.challenges.new.columns import InferredColumn
from medcontract.challenges.new.draft import draft
from medcontract.challenges.new.infer import Inferred, first_metrics, infer
from medcontract.challenges.new.read import load_table
from medcontract.challenges.values import LONGEST_NAME, is_id
from medcontract.contracts import registry
from medcontract.contracts.registry import TRACKS, Scope
from medcontract.errors import CallError, InvalidData, option, words
from medcontract.reading.source import Source
from medcontract.validation.dispatch import validate_source
from medcontract.validation.report import ProblemCollector, make_report

FILE = "challenge.toml"
EXAMPLES = "example"
_MOST_PROBLEMS = 100
_LABEL = InferredColumn("label", Field(one_of=("ischemic", "hemorrhagic", "none")), "the only values that are allowed")
_EXAMPLE = Inferred(("case_id",), (_LABEL,), (), first_metrics((_LABEL,))), None
"""A challenge to start from without a truth."""


def challenge_files(
    folder: Path, truth: Source | None, classes: Collection[str], key: tuple[str, ...], challenge_id: str | None
) -> dict[str, bytes]:
    """Return the content of the files of a new challenge, by name. Raises `CallError`, and `InvalidData` for the truth.

    `classes`: the columns of the truth whose values are listed; `key`: the columns that identify a case.
    """
    if (classes or key) and truth is None:
        raise CallError(
            words(option("--classes" if classes else "--key"), " names columns of a truth"),
            words("pass the table with ", option("--truth", "FILE")),
        )
    chosen = _chosen_id(folder, challenge_id)
    title = chosen.replace("-", " ").capitalize()
    inferred, rows = _EXAMPLE if truth is None else _read(truth, classes, key)
    text = draft(inferred, chosen, title, rows)
    scope = load(text.encode(), FILE)
    if truth is not None:
        _check_truth(truth, scope)
    examples = example_files(scope.definition)
    return {
        **{f"{EXAMPLES}/{name}": content for name, content in examples.items()},
        FILE: text.encode(),
    }


def _chosen_id(folder: Path, given: str | None) -> str:
    """Return the id of the challenge: the given one, or one that is derived from the name of the folder."""
    if given is not None:
        if not is_id(given):
            hint = "use lower-case letters, digits and -, starting with a letter"
            raise CallError(f"invalid id '{given[:LONGEST_NAME]}'", hint)
        if given in TRACKS:
            raise CallError(f"'{given}' is a built-in track", "choose another id")
        return given
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    name = name.lstrip("0123456789-")[: LONGEST_NAME - 10].rstrip("-") or "challenge"
    return f"{name}-challenge" if name in TRACKS else name


def _read(truth: Source, classes: Collection[str], key: tuple[str, ...]) -> tuple[Inferred, int | None]:
    """Return what a truth table says about the challenge, and the number of its rows."""
    collector = ProblemCollector(_MOST_PROBLEMS)
    table = load_table(truth, collector)
    inferred, findings = infer(table, classes, key)
    if inferred is not None:
        return inferred, table.rows
    for finding in findings:
        collector.add(finding)
    raise InvalidData(make_report(truth, None, None, collector))


def _check_truth(truth: Source, scope: Scope) -> None:
    """Check the table against the contract that was inferred from it: it may have repeated keys, NaN and so on."""
    with registry.using(scope):
        report = validate_source(truth, scope.truth, ProblemCollector(_MOST_PROBLEMS))
    if not report.ok:
        raise InvalidData(report)
