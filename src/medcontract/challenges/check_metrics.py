"""Checks metrics, sums and the headline."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from medcontract.challenges.check_fields import Fields, reserved_names
from medcontract.challenges.definition import Field, MetricEntry
from medcontract.challenges.findings import Findings
from medcontract.contracts.suggestions import did_you_mean
from medcontract.problems import Path
from medcontract.scoring.metrics import KINDS, MetricKind, MetricParameter, field_problem

MOST = 200
_COMMON = ("name", "kind", "field", "about")


def check_metrics(entries: list[Any], prediction: Fields, truth: Fields, findings: Findings) -> tuple[MetricEntry, ...]:
    """The metrics; those with errors are omitted."""
    found: dict[str, MetricEntry] = {}
    names: set[str] = set()
    for index, entry in enumerate(entries):
        path: Path = ("metric", index)
        if not isinstance(entry, dict):
            findings.wrong_type(path, "a table", entry, "write [[metric]]")
            continue
        name = check_new_name(entry, path, names, findings)
        metric = _check_metric(entry, name or "", path, prediction, truth, findings)
        if name is not None and metric is not None:
            found[name] = metric
    return tuple(found.values())


def check_new_name(entry: dict[str, Any], path: Path, names: set[str], findings: Findings) -> str | None:
    """The name of a metric; None if it is missing, wrong or taken."""
    if "name" not in entry:
        findings.missing((*path, "name"))
        return None
    name = findings.text(entry, "name", path)
    if name is None or not _valid_name(name, (*path, "name"), findings):
        return None
    if name in names:
        findings.add("MC225", (*path, "name"), f"another metric is named {name}", "choose another name")
        return None
    names.add(name)
    findings.name(path, name)
    return name


def _valid_name(name: str, path: Path, findings: Findings) -> bool:
    if not findings.valid_name(name, path):
        return False
    if name in reserved_names():
        findings.add("MC225", path, f"'{name}' is a reserved name", "choose another name")
        return False
    return True


def _check_metric(
    entry: dict[str, Any], name: str, path: Path, prediction: Fields, truth: Fields, findings: Findings
) -> MetricEntry | None:
    kind = _check_kind(entry, path, findings)
    if kind is None:
        return None
    before = findings.errors
    findings.unknown_keys(entry, (*_COMMON, *(each.name for each in kind.parameters)), path)
    field = _check_metric_field(entry, kind, path, prediction, truth, findings)
    found = _Parameters(entry, kind, path, field, truth, findings)
    found.check()
    about = findings.text(entry, "about", path)
    if field is None or findings.errors > before:
        return None
    return MetricEntry(
        name=name, kind=kind.name, field=field.name, truth_field=found.truth_field or field.name,
        choices=found.choices, numbers=found.numbers, about=about,
    )  # fmt: skip


def _check_kind(entry: dict[str, Any], path: Path, findings: Findings) -> MetricKind | None:
    if "kind" not in entry:
        findings.missing((*path, "kind"), f"use one of: {', '.join(KINDS)}")
        return None
    kind = findings.text(entry, "kind", path)
    if kind is not None and kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"use one of: {', '.join(KINDS)}"
        findings.add("MC104", (*path, "kind"), "unknown kind of metric", hint)
    return KINDS.get(kind or "")


def _check_metric_field(
    entry: dict[str, Any], kind: MetricKind, path: Path, prediction: Fields, truth: Fields, findings: Findings
) -> Field | None:
    """The field of the prediction that a metric reads."""
    if "field" not in entry:
        findings.missing((*path, "field"), "name a field of the prediction")
        return None
    name = findings.text(entry, "field", path)
    if name is None:
        return None
    path = (*path, "field")
    if name not in prediction:
        findings.unknown_name(path, f"the prediction has no field '{name}'", name, prediction)
        return None
    field = prediction[name]
    if field is None:
        return None
    problem = field_problem(kind, field.info())
    if problem:
        findings.add("MC223", path, problem)
        return None
    if kind.positive_case:
        return field
    if name not in truth:
        findings.unknown_name(path, f"the truth has no field '{name}'", name, truth)
        return None
    other = truth[name]
    if other is not None and field.comparable != other.comparable:
        what = _difference(field.of or field, other.of or other)
        message = f"'{name}' is {field.type_text} in the prediction and {other.type_text} in the truth: {what}"
        findings.add("MC222", path, message, "write the same type, or the same values in the same order, in both")
        return None
    return field


def _difference(one: Field, other: Field) -> str:
    if one.type != other.type or not one.one_of:
        return "the types differ"
    same = sorted(one.one_of) == sorted(other.one_of)
    return "the values of one_of have another order" if same else "the values of one_of differ"


class _Parameters:
    """The parameters of one metric."""

    def __init__(
        self, entry: dict[str, Any], kind: MetricKind, path: Path, field: Field | None, truth: Fields,
        findings: Findings,
    ) -> None:  # fmt: skip
        self.entry = entry
        self.kind = kind
        self.path = path
        self.field = field
        self.truth = truth
        self.findings = findings
        self.choices: dict[str, str | bool] = {}
        self.numbers: dict[str, Decimal] = {}
        self.truth_field = ""

    def check(self) -> None:
        given = [name for name in self.kind.exactly_one if name in self.entry]
        if self.kind.exactly_one and len(given) != 1:
            *most, last = self.kind.exactly_one
            got = f"got {' and '.join(given)}" if given else "got none"
            self.findings.add("MC224", self.path, f"expected exactly one of {', '.join(most)} and {last}, {got}")
        for parameter in self.kind.parameters:
            if parameter.name in self.entry:
                self._check(parameter)
            elif parameter.required:
                self.findings.missing((*self.path, parameter.name), parameter.about)
            elif parameter.default is not None:
                self.choices[parameter.name] = parameter.default

    def _check(self, parameter: MetricParameter) -> None:
        path = (*self.path, parameter.name)
        value = self.entry[parameter.name]
        if parameter.value == "choice":
            self._check_choice(parameter, value, path)
        elif parameter.value == "number":
            number = self.findings.number(self.entry, parameter.name, self.path, low=parameter.low)
            if number is not None:
                self.numbers[parameter.name] = number
        elif parameter.value == "class":
            if self.field is not None:
                self._check_class(value, self.field, path)
        elif parameter.value == "class weights":
            self._check_weights(value, path)
        else:
            self._check_positive_case(value, path)

    def _check_choice(self, parameter: MetricParameter, value: Any, path: Path) -> None:
        if not isinstance(value, str):
            self.findings.wrong_type(path, "a string", value, f"use one of: {', '.join(parameter.choices)}")
        elif value not in parameter.choices:
            hint = did_you_mean(value, parameter.choices) or f"use one of: {', '.join(parameter.choices)}"
            self.findings.add("MC104", path, f"'{self.kind.name}' does not know this value", hint)
        else:
            self.choices[parameter.name] = value

    def _check_class(self, value: Any, field: Field, path: Path) -> None:
        info = field.info()
        if field.type == "boolean" and not isinstance(value, bool):
            self.findings.wrong_type(path, "true or false", value)
        elif field.type != "boolean" and not isinstance(value, str):
            self.findings.wrong_type(path, "a string", value)
        elif value not in info.values:
            message = f"not one of the values of '{field.name}'"
            self.findings.unknown_name(path, message, str(value), info.classes)
        else:
            self.choices["positive"] = value

    def _check_weights(self, value: Any, path: Path) -> None:
        if not isinstance(value, dict):
            self.findings.wrong_type(path, "a table", value, "write weights = { CLASS = 1, … }")
            return
        classes = self.field.info().classes if self.field is not None else tuple(value)
        found = {}
        before = self.findings.errors
        for name in value:
            if name not in classes:
                message = "not one of the values of the field"
                self.findings.unknown_name((*path, name), message, name, classes)
                continue
            weight = self.findings.number(value, name, path, low=0)
            if weight is not None:
                found[name] = weight
        if self.findings.errors == before and not any(found.values()):
            self.findings.add("MC217", path, "all weights are 0", "give at least one class a weight above 0")
        self.numbers |= {f"weights.{name}": found.get(name, Decimal(0)) for name in classes}

    def _check_positive_case(self, value: Any, path: Path) -> None:
        if not isinstance(value, dict):
            hint = 'write positive = { field = "label", is = "…" }'
            self.findings.wrong_type(path, "a table", value, hint)
            return
        self.findings.unknown_keys(value, ("field", "is"), path)
        for key in ("field", "is"):
            if key not in value:
                self.findings.missing((*path, key))
        name = self.findings.text(value, "field", path)
        if name is None:
            return
        field = self.truth.get(name)
        if name not in self.truth:
            message = f"the truth has no field '{name}'"
            self.findings.unknown_name((*path, "field"), message, name, self.truth)
        elif field is None:
            return
        elif field.type not in ("one_of", "boolean"):
            message = f"needs a field of type one_of or boolean, not {field.type}"
            self.findings.add("MC223", (*path, "field"), message)
        else:
            self.truth_field = name
            if "is" in value:
                self._check_class(value["is"], field, (*path, "is"))


def check_sums(
    table: dict[str, Any], metrics: dict[str, MetricEntry], names: set[str], findings: Findings
) -> dict[str, dict[str, Decimal]]:
    """The sums of `[score.sums]`. `names` are those of all metrics, also of those with errors."""
    found: dict[str, dict[str, Decimal]] = {}
    for name, weights in table.items():
        path: Path = ("score", "sums", name)
        if not _valid_name(name, path, findings):
            continue
        if name in names:
            findings.add("MC225", path, f"a metric is named {name}, too", "choose another name")
            continue
        if not isinstance(weights, dict):
            findings.wrong_type(path, "a table", weights, f"write {name} = {{ METRIC = 1, … }}")
            continue
        found[name] = _check_sum(weights, path, metrics, names, findings)
    return found


def _check_sum(
    weights: dict[str, Any], path: Path, metrics: dict[str, MetricEntry], names: set[str], findings: Findings
) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    before = findings.errors
    for name in weights:
        if name not in names:
            findings.unknown_name((*path, name), "no metric has this name", name, sorted(names))
            continue
        weight = findings.number(weights, name, path)
        if weight is None:
            continue
        found[name] = weight
        problem = sign_problem(metrics[name].kind, weight) if name in metrics else None
        if problem:
            findings.add("MC226", (*path, name), problem, "write a negative weight")
        elif name in metrics and weight < 0 and KINDS[metrics[name].kind].higher_is_better:
            message = f"'{metrics[name].kind}' is better when higher, but its weight is negative"
            findings.add("MC226", (*path, name), message, severity="warning")
    if findings.errors == before and not any(found.values()):
        findings.add("MC217", path, "all weights are 0", "give at least one metric a weight other than 0")
    return found


def sign_problem(kind: str, weight: Decimal | Fraction) -> str | None:
    """Why a metric of this kind must not have this weight in a sum."""
    if KINDS[kind].higher_is_better or weight < 0:
        return None
    return f"'{kind}' is better when lower: it needs a negative weight in a sum"
