"""Checks a challenge file: first with its model, then how its parts refer to each other."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from pydantic import TypeAdapter

from medcontract.challenges.findings import MISSING, Findings
from medcontract.challenges.model import (
    BOUNDS,
    MOST_METRICS,
    TYPES,
    Definition,
    Field,
    FieldItem,
    MetricEntry,
    PositiveCase,
    info,
)
from medcontract.challenges.patterns import check_pattern
from medcontract.challenges.rules import RULE_KINDS, RuleEntry
from medcontract.contracts.pydantic_errors import check_structure
from medcontract.errors import CallError, option, words
from medcontract.problems import Finding, Path
from medcontract.scoring.custom_metrics import custom_metrics
from medcontract.scoring.metrics import KINDS, MOST_CLASSES, field_problem
from medcontract.scoring.metrics.classes import cost_key
from medcontract.scoring.metrics.kinds import ParameterType
from medcontract.types import JsonObject

_LONGEST_PATTERN = 500
_STAND_INS: JsonObject = {"id": "x", "key": "x"}
"""Values instead of wrong ones, so that everything else is checked."""
_ADAPTER = TypeAdapter(Definition)
_ALL_BOUNDS = tuple(dict.fromkeys(key for keys in BOUNDS.values() for key in keys))
_CLASS_TYPES: dict[str, tuple[type, str]] = {"boolean": (bool, "true or false"), "integer": (int, "an integer")}
_NUMBERS = ("number", "integer")
_STRINGS = ("text", "str", "one_of", "date")
_PARTS = {"predictions": "prediction", "truth": "truth"}
"""The lists of records, and where their fields are in the file."""
_Part = TypeVar("_Part")


def check(values: JsonObject) -> tuple[Definition | None, list[tuple[Path, Finding]]]:
    """Return the definition in a parsed file, if it has no errors, and everything that is wrong, by path."""
    findings = Findings(values)
    checked = check_structure(_ADAPTER, values)
    for each in checked.findings:
        findings.add_structural(each, values)
    definition = checked.value
    if definition is None:  # one mistake must not hide another
        definition = check_structure(_ADAPTER, _without(values, findings.broken)).value
    if definition is not None:
        _Semantics(definition, values, findings).check()
    return None if findings.broken else definition, findings.found


def _without(values: JsonObject, broken: Collection[Path]) -> JsonObject:
    """Return the values without the parts that are wrong."""

    def remaining(value: object, path: Path) -> Any:
        if isinstance(value, dict):
            return {key: remaining(each, (*path, key)) for key, each in value.items() if (*path, key) not in broken}
        if isinstance(value, list):
            return [remaining(each, (*path, at)) for at, each in enumerate(value) if (*path, at) not in broken]
        return value

    found: JsonObject = remaining(values, ())
    return {**{key: value for key, value in _STAND_INS.items() if (key,) in broken}, **found}


def sign_problem(definition: Definition, name: str, weight: Decimal | Fraction) -> str | None:
    """Return why a metric or mean must not have this weight in a sum, or None if it may."""
    if weight < 0 or not definition.lower_is_better(name):
        return None
    return f"'{name}' is better when lower: it needs a negative weight in a sum"


class _Semantics:
    """Checks the parts that have the right structure. The names of other parts are known, but nothing else."""

    def __init__(self, definition: Definition, values: JsonObject, findings: Findings) -> None:
        self.definition = definition
        self.values = values
        self.findings = findings
        self.add = findings.add

    def check(self) -> None:
        definition = self.definition
        self.findings.not_distinct(definition.key, ("key",))
        for part, fields in (("prediction", definition.prediction), ("truth", definition.truth)):
            for name, field in fields.items():
                if name in definition.key:
                    hint = "key fields are added to both: remove it here"
                    self.add("MC225", (part, name), "this is a key field", hint)
                self._check_field(field, (part, name))
        for path, rule in self._kept("rule", definition.rules):
            self._check_rule(rule, path)
        seen: set[str] = set()
        metrics = [
            (path, each) for path, entry in self._kept("metric", definition.entries) for each in entry.expanded()
        ]
        for path, entry in self._kept("metric", definition.entries):
            for name in dict.fromkeys((entry.name, *(metric.name for metric in entry.expanded()))):
                if name in seen:
                    self.add("MC225", (*path, "name"), f"another metric is named {name}", "choose another name")
                seen.add(name)
            self._check_template(entry, path)
        for path, metric in metrics:
            self._check_metric(metric, path)
        if len(metrics) > MOST_METRICS:
            self.add("MC108", ("metric",), f"these are {len(metrics)} metrics, at most {MOST_METRICS} are allowed")
        self._check_score()
        self._check_cluster()
        if not self.findings.broken:
            self._warn(metrics)

    def _kept(self, name: str, parts: tuple[_Part, ...]) -> list[tuple[Path, _Part]]:
        """Return the metrics or rules with their paths in the file, where some may be wrong."""
        given = self.values.get(name, ()) if (name,) not in self.findings.broken else ()
        paths: list[Path] = [(name, at) for at in range(len(given)) if (name, at) not in self.findings.broken]
        return list(zip(paths, parts, strict=True))

    def _known(self, part: str, name: str, path: Path) -> Field | None:
        """Return a field of the prediction or of the truth. Adds a finding if there is none; None if it is wrong."""
        fields = self.definition.prediction if part == "prediction" else self.definition.truth
        self.findings.expect_name(path, f"the {part} has no field '{name}'", name, self.values[part])
        return fields.get(name) if (part, name) not in self.findings.broken else None

    # Fields.

    def _check_field(self, field: FieldItem, path: Path) -> None:
        if (field.type is None) == (field.one_of is None):
            message = "expected type or one_of" if field.type is None else "type and one_of exclude each other"
            self.add("MC224", path, message, f"use one of: {', '.join(TYPES)}; or one_of = […]")
            return
        for key in _ALL_BOUNDS:
            if getattr(field, key, None) is not None and key not in BOUNDS.get(field.kind, ()):
                self.add("MC109", (*path, key), f"not allowed for the type {field.kind}")
        for low, high in (("min", "max"), ("min_length", "max_length")):
            smallest, largest = getattr(field, low), getattr(field, high)
            if smallest is not None and largest is not None and smallest > largest:
                self.add("MC105", (*path, low), f"is larger than {high}")
        for key, bound in (("min", field.min), ("max", field.max)):
            if field.kind == "integer" and bound is not None and bound != bound.to_integral_value():
                self.add("MC105", (*path, key), "the bound of an integer must be an integer")
        self.findings.not_distinct(field.classes, (*path, "one_of"))
        if field.pattern is not None:
            self._check_pattern(field.pattern, (*path, "pattern"))
        if field.items is not None:
            self._check_field(field.items, (*path, "of"))
            self._check_separator(getattr(field, "separator", None), field.items, (*path, "separator"))
        elif field.kind in ("set", "list"):
            self.add("MC101", (*path, "of"), "missing", MISSING["of"])

    def _check_separator(self, separator: str | None, items: FieldItem, path: Path) -> None:
        if separator is None:
            return
        if items.kind not in _STRINGS:
            self.add("MC109", path, f"not allowed for items of the type {items.kind}")
        elif not separator.isprintable() or '"' in separator:
            self.add("MC107", path, "contains a quote, or a character that cannot be displayed")
        elif any(separator in each for each in items.classes):
            self.add("MC225", path, "occurs in one of the values", "choose another separator")

    def _check_pattern(self, pattern: str, path: Path) -> None:
        if len(pattern) > _LONGEST_PATTERN:
            self.add("MC107", path, f"longer than {_LONGEST_PATTERN} characters")
            return
        try:
            check_pattern(pattern)
        except CallError as error:
            self.add("MC107", path, *error.as_options)

    # Rules.

    def _check_rule(self, rule: RuleEntry, path: Path) -> None:
        names = rule.field_names
        known = {part: {*self.definition.key, *self.values[part]} for part in _PARTS.values()}
        lists = [name for name, part in _PARTS.items() if rule.within in (None, name) and known[part] >= set(names)]
        if not lists:
            anywhere = set().union(*(known[part] for name, part in _PARTS.items() if rule.within in (None, name)))
            if all(self.findings.expect_name(path, f"there is no field '{each}'", each, anywhere) for each in names):
                self.add("MC221", path, "its fields are not all in one of the lists")
        for key, fields in rule.fields_by_key.items():
            if len(fields) > 1:
                self.findings.not_distinct(fields, (*path, key))
            for field_name in fields:
                for records in lists:
                    field = self.definition.fields_of(records).get(field_name)
                    if field is not None and (_PARTS[records], field_name) not in self.findings.broken:
                        self._check_type(rule, key, field_name, field, records, path)
        low = getattr(rule, "minimum", None)
        high = getattr(rule, "maximum", getattr(rule, "below", None))
        if low is not None and high is not None and low > high:
            self.add("MC105", (*path, "minimum"), "is larger than the upper bound")

    def _check_type(self, rule: RuleEntry, key: str, name: str, field: Field, records: str, path: Path) -> None:
        types, path = RULE_KINDS[rule.kind].fields[key], (*path, key)
        items = field.of
        of_numbers = items is not None and items.kind in _NUMBERS
        if rule.kind == "sum" and not of_numbers:
            self.add("MC223", path, f"'sum' needs a field of type list of number, not {field.type_text}")
        elif types and field.kind not in types:
            self.add("MC223", path, f"'{rule.kind}' needs a field of type {' or '.join(types)}, not {field.type_text}")
        elif rule.kind == "sum" and items is not None and (items.min is None or items.min < 0):
            self.add("MC223", path, "'sum' needs numbers with a min of at least 0")
        elif rule.kind == "unique":  # failed predictions have only the key fields
            in_failed = records == "truth" or name in self.definition.key
            if field.nested or field.optional or not in_failed:
                message = f"'{name}' is not in every record of {records}"
                self.add("MC223", path, message, 'is within = "truth" meant?')

    # Metrics.

    def _check_template(self, entry: MetricEntry, path: Path) -> None:
        fields = [entry.field, entry.parameters.get("time", "")]
        fields += [value.field for value in entry.parameters.values() if isinstance(value, PositiveCase)]
        in_use = any("{}" in name for name in fields)
        if entry.for_ is None:
            if in_use:
                self.add("MC101", (*path, "for"), "missing", 'write for = ["…", "…"]: the names that replace {}')
            return
        if not entry.for_:
            self.add("MC108", (*path, "for"), "must have at least 1 item, not 0")
        elif not in_use:
            self.add(
                "MC221", (*path, "for"), "no field contains {}", 'write field = "{}", or a longer name with {} in it'
            )
        self.findings.not_distinct(entry.for_, (*path, "for"))

    def _check_metric(self, metric: MetricEntry, path: Path) -> None:
        kind = KINDS[metric.kind]
        given = [name for name in kind.exactly_one if name in metric.parameters]
        if kind.exactly_one and len(given) != 1:
            *most, last = kind.exactly_one
            got = f"got {' and '.join(given)}" if given else "got none"
            self.add("MC224", path, f"expected exactly one of {', '.join(most)} and {last}, {got}")
        field = self._known("prediction", metric.field, (*path, "field"))
        problem = field and field_problem(kind, info(metric.field, field))
        if problem:
            self.add("MC223", (*path, "field"), problem)
        elif field is not None and not kind.positive_case:
            self._compare(metric.field, field, (*path, "field"))
        for parameter in kind.parameters:
            value, where = metric.parameters.get(parameter.name), (*path, parameter.name)
            self._check_parameter(parameter.value, value, metric, field, where)

    def _check_parameter(
        self, expected: ParameterType, value: Any, metric: MetricEntry, field: Field | None, path: Path
    ) -> None:
        if expected == "function" and (name := value or metric.name) not in custom_metrics():
            hint = words("pass it with ", option("--plugin", "FILE"), " to compute scores")
            self.add("MC221", path[:-1], f"no plugin has the metric '{name}'", hint, severity="warning")
        elif value is None:
            return
        elif expected == "positive case":
            self._check_positive_case(value, path)
        elif expected == "class weights":
            self._check_weights(value, field, path)
        elif expected == "costs":
            self._check_costs(value, field, path)
        elif expected == "class" and field is not None:
            self._check_class(value, metric.field, field, path)
        elif expected == "time":
            time = self._known("truth", value, path)
            if time is not None and time.kind not in _NUMBERS:
                self.add("MC223", path, f"needs a field of type number or integer, not {time.type_text}")

    def _compare(self, name: str, field: Field, path: Path) -> None:
        """Check that the truth has the same field."""
        other = self._known("truth", name, path)
        if other is None or field.comparable == other.comparable:
            return
        one, two = field.items or field, other.items or other
        what = "the types differ"
        if one.kind == two.kind and one.classes:
            same = sorted(one.classes) == sorted(two.classes)
            what = "the values of one_of have another order" if same else "the values of one_of differ"
        message = f"'{name}' is {field.type_text} in the prediction and {other.type_text} in the truth: {what}"
        self.add("MC222", path, message, "write the same type, or the same values in the same order, in both")

    def _check_class(self, value: object, name: str, field: Field, path: Path) -> None:
        wanted, described = _CLASS_TYPES.get(field.kind, (str, "a string"))
        if type(value) is not wanted:
            self.add("MC103", path, f"must be {described}")
        elif wanted is int:
            number = Decimal(str(value))
            if (field.min is not None and number < field.min) or (field.max is not None and number > field.max):
                self.add("MC105", path, f"not between the min and max of '{name}'")
        elif isinstance(value, str):
            self.findings.expect_name(path, f"not one of the values of '{name}'", value, info(name, field).classes)

    def _check_weights(self, weights: dict[str, Decimal], field: Field | None, path: Path) -> None:
        classes = info("", field).classes if field is not None else tuple(weights)
        message = "not one of the values of the field"
        right = [self.findings.expect_name((*path, name), message, name, classes) for name in weights]
        if all(right) and not any(weights.values()):
            self.add("MC217", path, "all weights are 0", "give at least one class a weight above 0")

    def _check_costs(self, costs: dict[str, dict[str, Decimal]], field: Field | None, path: Path) -> None:
        known = info("", field).classes if field is not None else ()
        if len(known) > MOST_CLASSES:
            self.add("MC108", path, f"'cost' needs a field with at most {MOST_CLASSES} classes")
            return
        for true, by_class in costs.items():
            for name, at in ((true, (*path, true)), *((each, (*path, true, each)) for each in by_class)):
                if field is not None:
                    self.findings.expect_name(at, "not one of the values of the field", name, known)
            if true in by_class:
                self.add("MC109", (*path, true, true), "a right answer costs nothing", "remove it")
        if not any(cost for by_class in costs.values() for cost in by_class.values()):
            self.add("MC217", path, "all costs are 0", "give at least one mistake a cost above 0")
        keys = [cost_key(true, predicted) for true in known for predicted in known]
        if len(set(keys)) < len(keys):
            self.add("MC225", path, "the names of two costs are equal, because values contain a dot", "rename a value")

    def _check_positive_case(self, positive: PositiveCase, path: Path) -> None:
        field = self._known("truth", positive.field, (*path, "field"))
        if field is not None and field.kind not in ("one_of", "boolean", "integer"):
            self.add("MC223", (*path, "field"), f"needs a field of type one_of, boolean or integer, not {field.kind}")
        elif field is not None:
            self._check_class(positive.is_, positive.field, field, (*path, "is"))

    # The score.

    def _check_score(self) -> None:
        names = self._metric_names()
        for name, listed in self.definition.score.means.items():
            self._check_mean(name, listed, names)
        in_sums = {*names, *self._names_in_score("means")}
        for name, weights in self.definition.score.sums.items():
            path: Path = ("score", "sums", name)
            if name in in_sums:
                what = "metric" if name in names else "mean"
                self.add("MC225", path, f"a {what} is named {name}, too", "choose another name")
            for each, weight in weights.items():
                if self.findings.expect_name((*path, each), "no metric has this name", each, in_sums):
                    self._check_sign(each, weight, (*path, each))
            if not any(weights.values()):
                self.add("MC217", path, "all weights are 0", "give at least one metric a weight other than 0")
        headline = self.definition.score.headline
        known = {*in_sums, *self._names_in_score("sums")}
        missing = "no metric and no sum is named '{}'"
        self.findings.expect_name(("score", "headline"), missing.format(headline), headline, known)
        self.findings.not_distinct(self.definition.score.tie_breakers, ("score", "tie_breakers"))
        for index, name in enumerate(self.definition.score.tie_breakers):
            path = ("score", "tie_breakers", index)
            if name == headline:
                self.add("MC225", path, "this is the headline, which is compared first", "name other figures")
            else:
                self.findings.expect_name(path, missing.format(name), name, known)

    def _check_cluster(self) -> None:
        cluster, path = self.definition.uncertainty.cluster, ("uncertainty", "cluster")
        if cluster is not None and cluster not in self.definition.key:
            field = self._known("truth", cluster, path)
            if field is not None and field.nested:
                self.add("MC223", path, f"needs a field with one value, not {field.type_text}")

    def _check_mean(self, name: str, listed: tuple[str, ...], metrics: set[str]) -> None:
        path: Path = ("score", "means", name)
        if name in metrics:
            self.add("MC225", path, f"a metric is named {name}, too", "choose another name")
        self.findings.not_distinct(listed, path)
        for index, each in enumerate(listed):
            self.findings.expect_name((*path, index), f"no metric is named '{each}'", each, metrics)
        if len({kind.higher_is_better for kind in self.definition.kinds_of(name)}) > 1:
            self.add("MC226", path, "some of its metrics are better when higher, others when lower", "use a sum")

    def _metric_names(self) -> set[str]:
        """Return the names of all metrics in the file, and of their means, whether these are right or wrong."""
        found: set[str] = set()
        for entry in self.values["metric"]:
            name = entry.get("name") if isinstance(entry, dict) else None
            if isinstance(name, str):
                each = entry.get("for")
                found |= {name, *(f"{name}_{one}" for one in (each if isinstance(each, list) else ()))}
        return found

    def _names_in_score(self, key: str) -> tuple[str, ...]:
        named = self.values["score"].get(key, {})
        return tuple(named) if isinstance(named, dict) else ()

    def _check_sign(self, name: str, weight: Decimal, path: Path) -> None:
        problem = sign_problem(self.definition, name, weight)
        kinds = self.definition.kinds_of(name)
        if problem:
            self.add("MC226", path, problem, "write a negative weight")
        elif weight < 0 and kinds and not self.definition.lower_is_better(name):
            self.add("MC226", path, f"'{name}' is better when higher, but its weight is negative", severity="warning")

    def _warn(self, metrics: list[tuple[Path, MetricEntry]]) -> None:
        """Add warnings about metrics of a valid definition."""
        for path, metric in metrics:
            parameters = {name: Fraction(value) for name, value in self.definition.numbers_of(metric).items()}
            if "unprocessed" in parameters:
                path = (*path, "unprocessed")
            for message in self.definition.build(metric).warnings(parameters):
                self.add("MC505", path, message, severity="warning")
