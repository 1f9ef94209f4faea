"""Check that processing time grows linearly: slow texts, metrics, and how growth is measured.

`python -m fuzz.growth` measures every normalizer on every text, and every metric, which takes minutes.
"""

from __future__ import annotations

import csv
import gc
import gzip
import inspect
import io
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd

import medcontract
from medcontract.contracts import suggestions
from medcontract.hints import numbers, values
from medcontract.normalizers import folding, names, terms, text
from medcontract.scoring.extraction import differences
from medcontract.scoring.metrics import KINDS, MOST_CLASSES, FieldInfo, MetricKind, build
from medcontract.scoring.metrics.kinds import FieldType

MOST_GROWTH = 2.6
"""The maximum ratio of times if the input is doubled: linear, with some margin for noise."""
_WORTH_MEASURING = 0.04
"""Seconds. Shorter times at the larger size may be noise."""
_TRIES = 4
PASSES = 1 + 2 * _TRIES
"""How often an input is processed."""

_UNITS = {
    "combining marks in the wrong order": "\u0301\u0323",
    "combining marks of many classes": "\u0345\u0301\u0334\u0323\u093c\u3099\u094d\u05b0",
    "decomposed letters": "e\u0323\u0301",
    "letters that decompose": "\u1e69\u0390\uac01\ufb1d",
    "capital sigma and marks": "\u03a3\u0301\u0301",
    "digits": "1",
    "digits and points": "1.",
    "digits and commas": "1,",
    "digits and slashes": "1/",
    "digits and dashes": "1-",
    "dashes": "-",
    "points": ".",
    "commas": ",",
    "carets": "^",
    "blanks": " ",
    "blanks of other scripts": "\u2003\u00a0",
    "comparison signs": "<",
    "comparison signs and blanks": "< ",
    "comparison signs and dashes": "<-",
    "dashes and blanks": "- ",
    "slashes and blanks": "/ ",
    "superscripts": "1\u2079",
    "subscripts": "a\u2082",
    "nothing but subscripts": "\u2082",
    "micro signs": "\u00b5\u039c",
    "letters": "A",
    "words": "AB CD ",
    "letters of other scripts": "\u8840\u6db2\u0442\u0435",
    "lone surrogates": "\ud800",
    "quotes": "'\"",
    "typographic apostrophes": "\u2019",
    "words with apostrophes": "A\u2019B'",
    "abbreviations": "A.B-",
    "words of the lexicon": "chest pain myocardial infarction ",
}
TEXTS: Mapping[str, Callable[[int], str]] = {
    **{name: partial(lambda unit, size: unit * (size // len(unit)), unit) for name, unit in _UNITS.items()},
    **{
        f"one digit, then {name}": partial(lambda unit, size: "1" + unit * (size // len(unit)) + "x", unit)
        for name, unit in _UNITS.items()
    },
}
"""Functions that generate texts of about the given size."""


def _in_the_middle(size_text: str) -> str:
    return f"A{size_text}B"


NORMALIZERS: Mapping[str, Callable[[str], object]] = {
    **{f"text.{step.__name__}": step for step in text.STEPS},
    "text.normalize": text.normalize,
    "text.tight": text.tight,
    "text.equal": lambda given: text.equal(given, _in_the_middle(given)),
    "text.steps": text.steps,
    "text.number": text.number,
    "text.close": lambda given: text.close(given, given[1:], Fraction(1, 50)),
    "names.pair_exact": lambda given: names.pair_exact([given], [given]),
    "names.pair_rest": lambda given: names.pair_rest([given], [given], [None]),
    "names.pair_fuzzy": lambda given: names.pair_fuzzy([given], [_in_the_middle(given)], 90),
    "names.too_many_to_compare": lambda given: names.too_many_to_compare([given], [_in_the_middle(given)]),
    "names.too_many_of_one_name": lambda given: names.too_many_of_one_name(given.split(), given.split()),
    "names.near_misses": lambda given: names.near_misses([given], [_in_the_middle(given)], [None]),
    "folding.fold": folding.fold,
    "folding.fold_spaced": folding.fold_spaced,
    "terms.Terms.of": lambda given: terms.Terms.of({"synonyms": {"a": [f"b {given}"]}}),
    "terms.Terms.extended": lambda given: terms.Terms.of({}).extended({"synonyms": {"a": [f"b {given}"]}}),
    "terms.Terms.normalize": lambda given: terms.built_in_terms().normalize(given),
    "terms.Terms.normalize_spaced": lambda given: terms.built_in_terms().normalize_spaced(given),
    "terms.Terms.normalize_diagnosis": lambda given: terms.built_in_terms().normalize_diagnosis(given),
    "terms.Terms.with_long_forms": lambda given: terms.built_in_terms().with_long_forms(given, given),
    "terms.line_kinds": terms.line_kinds,
    "folding.spaced": folding.spaced,
    "terms.Terms.names": lambda given: terms.built_in_terms().names(given),
    "terms.Terms.entities_of": lambda given: terms.built_in_terms().entities_of(frozenset(given.split())),
    "terms.Terms.entities": lambda given: terms.built_in_terms().entities(given),
    "terms.Terms.markers": lambda given: terms.built_in_terms().markers(folding.fold(given)),
    "terms.Terms.facts": lambda given: terms.built_in_terms().facts(given),
    "terms.Terms.found": lambda given: terms.built_in_terms().found([given[1:], "pain"], given),
    "suggest.nearest": lambda given: suggestions.nearest(given, ("Urgent", "Routine")),
    "differences.difference": lambda given: differences.difference(given, _in_the_middle(given)),
    "words.number_hint": numbers.number_hint,
    "words.boolean_hint": values.boolean_hint,
}
"""All functions that process texts of the data, by module and name."""


def public_normalizers() -> set[str]:
    """The names of all public functions of the normalizers that take arguments."""
    found: set[str] = set()
    for module in (text, names, folding, terms):
        members = {name: member for name, member in vars(module).items() if not name.startswith("_")}
        found |= {f"{_short(module)}.{name}" for name, member in members.items() if _takes_text(member, module)}
    return found | {f"terms.Terms.{name}" for name in vars(terms.Terms) if _is_public_method(name)}


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _takes_text(member: object, module: ModuleType) -> bool:
    if not callable(member) or inspect.isclass(member):
        return False
    here = getattr(member, "__module__", None) == module.__name__
    return here and bool(inspect.signature(member).parameters)


def _is_public_method(name: str) -> bool:
    return not name.startswith("_") and callable(getattr(terms.Terms, name))


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """The ratio of times if the size is doubled; 0 if it is too fast to be measured.

    `work` creates an input of the given size, and returns the function to measure. Noise only adds time, so the
    minimum of several tries is used.
    """
    larger = work(2 * size)
    shortest = _seconds(larger)
    if shortest < _WORTH_MEASURING:
        return 0
    smaller = work(size)
    times = [(_seconds(smaller), _seconds(larger)) for _ in range(_TRIES)]
    return min(shortest, *(large for _, large in times)) / min(small for small, _ in times)


def _seconds(work: Callable[[], object]) -> float:
    """The CPU time, without collecting garbage: how long that takes depends on everything else in memory."""
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


def _normalizing(normalizer: Callable[[str], object], make: Callable[[int], str], size: int) -> Callable[[], object]:
    return partial(normalizer, make(size))


# --- metrics -----------------------------------------------------------------------------------

_FLAG = FieldInfo("flag", "boolean")
_VALUES: Mapping[str, Callable[[int], Any]] = {
    "text": lambda n: " ".join(f"w{k}" for k in range(n % 100)),
    "str": lambda n: f"s{n}",
    "integer": lambda n: n,
    "number": lambda n: n / 2**53,
    "boolean": lambda n: n % 2 == 0,
    "set": lambda n: tuple(f"e{k}" for k in range(n % 100)),
    "one_of": lambda n: f"c{n}",
}
"""As many different values as possible, by type of the field."""


def _field(kind: FieldType, size: int) -> FieldInfo:
    if kind == "one_of":
        return FieldInfo("value", kind, tuple(map(_VALUES[kind], range(size))))
    return FieldInfo("value", kind, low=0, high=size if kind == "integer" else 1)


def _settings(kind: MetricKind) -> Iterator[dict[str, Any]]:
    """Every combination of parameters that the table allows, each number with one value."""
    given: dict[str, Any] = {"number": Fraction(1, 3), "positive case": True}
    values: dict[str, Sequence[Any]] = {
        each.name: each.choices or (given.get(each.value, each.value),) for each in kind.parameters
    }
    for only in kind.exactly_one or ("",):
        keys = [name for name in values if name == only or name not in kind.exactly_one]
        yield from (dict(zip(keys, each, strict=True)) for each in product(*map(values.__getitem__, keys)))


def _measured(kind: MetricKind, field: FieldType, settings: Mapping[str, Any], size: int) -> Callable[[], object]:
    """Counts a metric, and computes its value. All answers differ; most are wrong, and some are unprocessed."""
    prediction = _field(field, size)
    timed = "time" in settings
    if "costs" in settings and field == "one_of":  # of so few classes that each pair may have a cost
        prediction = FieldInfo("value", field, prediction.classes[:MOST_CLASSES])
    truth = FieldInfo("time", "number") if timed else _FLAG if kind.positive_case else prediction
    first = truth.values[0] if truth.values else None
    choices: dict[str, Any] = {key: first if value == "class" else value for key, value in settings.items()}
    choices.pop("time", None)
    numbers = {key: choices.pop(key) for key, value in settings.items() if isinstance(value, Fraction)}
    if choices.get("weights") == "class weights":
        del choices["weights"]
        numbers |= {f"weights.{name}": Fraction(1) for name in truth.classes}
    if choices.pop("costs", None):
        numbers["costs.c0.c1"] = Fraction(1)
    event = _FLAG if timed else None
    metric = build("m", kind.name, prediction, truth, event=event, choices=choices, numbers=tuple(numbers))
    classes = len(prediction.classes) or size
    truths = [_VALUES[truth.type](number % classes) for number in range(size)]
    if timed:
        truths = [(time, number % 2 == 0) for number, time in enumerate(truths)]
    shuffled = random.Random(size).sample(range(size), size)
    predictions = [_VALUES[field](number % classes) if number % 20 else None for number in shuffled]
    return lambda: metric.figures(metric.counting(numbers).count(truths, predictions), numbers)


METRICS: Mapping[str, Callable[[int], Callable[[], object]]] = {
    " ".join([kind.name, field, *map(str, settings.values())]): partial(_measured, kind, field, settings)
    for kind in KINDS.values()
    if kind.name != "custom"  # a plugin has its formula
    for field in kind.types
    for settings in _settings(kind)
}
"""Every kind of metric, with every type of field and every choice: functions of the number of cases."""


# --- files -------------------------------------------------------------------------------------

_RECORDS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "good": lambda n: {"report_id": f"r{n}", "specialty": "Other", "urgency": "Routine", "follow_up": True},
    "repeated": lambda n: {"report_id": "r", "specialty": "Other", "urgency": "Routine", "follow_up": True},
    "wrong values": lambda n: {"report_id": f"r{n}", "specialty": "Othr", "urgency": " ", "follow_up": "maybe"},
    "wrong values, all different": lambda n: {
        "report_id": " ", "specialty": f"s{n}", "urgency": f"u{n}", "follow_up": f"f{n}"
    },
    "other scripts": lambda n: {
        "report_id": "e\u0301\u0323" * 9 + str(n), "specialty": "\u8840", "urgency": "\n", "follow_up": "\"q\""
    },
}  # fmt: skip
_EXTENSIONS = ("json", "jsonl", "csv", "parquet", "jsonl.gz")
_JSON_ONLY: Mapping[str, Callable[[int], bytes]] = {
    "one record of NaN": lambda n: b'{"report_id": [' + b"NaN, " * n + b"0]}\n",
    "one record of repeated keys": lambda n: b"{" + b'"a": 1, ' * n + b'"b": 1}\n',
    "one record of unknown keys": lambda n: b"{" + b", ".join(b'"a%d": 1' % k for k in range(n)) + b"}\n",
    "one record of objects": lambda n: b'{"a": [' + b'{"b": {}}, ' * n + b"0]}\n",
    "one long text": lambda n: b'{"report_id": "' + b"\\u0301\\u0323" * n + b'"}\n',
    "lines that break off": lambda n: b'{"report_id": \n' * n,
    "blank lines": lambda n: b" \n" * n,
}


class Work(NamedTuple):
    """Something to measure, and its initial size."""

    name: str
    of_size: Callable[[int], Callable[[], object]]
    size: int


def some_work(source: random.Random) -> Work:
    kind = source.choice(("text", "text", "metric", "file", "file", "line", "score"))
    if kind == "metric":
        metric = source.choice(sorted(METRICS))
        return Work(f"metric {metric}", METRICS[metric], source.choice((10_000, 30_000)))
    if kind == "text":
        normalizer, made_of = source.choice(sorted(NORMALIZERS)), source.choice(sorted(TEXTS))
        return Work(
            f"{normalizer}: {made_of}",
            lambda size: partial(NORMALIZERS[normalizer], TEXTS[made_of](size)), source.choice((10_000, 50_000)),
        )  # fmt: skip
    if kind == "file":
        made_of, ending = source.choice(sorted(_RECORDS)), source.choice(_EXTENSIONS)
        return Work(
            f"validate .{ending}: {made_of}", lambda size: _validation(_file(made_of, ending, size), ending), 3000
        )
    if kind == "line":
        made_of = source.choice(sorted(_JSON_ONLY))
        return Work(f"validate .jsonl: {made_of}", lambda size: _validation(_JSON_ONLY[made_of](size), "jsonl"), 20_000)
    made_of, match = source.choice(sorted(TEXTS)), source.choice(("exact", "fuzzy"))
    return Work(f"score --match {match}: {made_of}", lambda size: _scoring(TEXTS[made_of], size, match), 300)


def _validation(data: bytes, ending: str) -> Callable[[], object]:
    return lambda: medcontract.validate(data, "reports/truth", name=f"x.{ending}", max_problems=100)


def _file(made_of: str, ending: str, count: int) -> bytes:
    records = [_RECORDS[made_of](number) for number in range(count)]
    if ending == "json":
        return json.dumps({"event": "x", "reports": records}).encode()
    if ending == "parquet":
        return pd.DataFrame(records).astype(str).to_parquet()
    if ending == "csv":
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue().encode()
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    return gzip.compress(lines) if ending.endswith("gz") else lines


def _scoring(make: Callable[[int], str], count: int, match: str) -> Callable[[], object]:
    """Documents with a few items each: twice as many documents are twice the work."""
    text = make(300).encode(errors="replace").decode()
    labels, predictions = Path(f"labels-{count}.jsonl"), Path(f"predictions-{count}.jsonl")
    fields = ("dosis", "frecuencia", "duracion", "instrucciones")
    with labels.open("w") as truth, predictions.open("w") as read:
        for number in range(count):
            wanted, found = (
                [{"nombre_medicamento": f"x {text} {letter}{end}", **dict.fromkeys(fields, end)} for letter in "ab"]
                for end in (f"{number}", f"{number + 1}")
            )
            document = f"d{number}"
            truth.write(json.dumps({"doc_id": document, "doc_type": "prescription", "medications": wanted}) + "\n")
            read.write(json.dumps({"doc_id": document, "parse_success": True, "medicamentos": found}) + "\n")
    return lambda: medcontract.score(labels, predictions, parameters={"match": match})


def main() -> int:
    """Print what takes more than `MOST_GROWTH` times as long if it is doubled, at two sizes: one alone may be noise."""
    works: dict[str, Callable[[int], Callable[[], object]]] = {
        f"{name}: {made_of}": partial(_normalizing, normalizer, make)
        for name, normalizer in NORMALIZERS.items()
        for made_of, make in TEXTS.items()
    }
    works |= METRICS
    slow = [name for name, work in works.items() if all(growth(work, size) > MOST_GROWTH for size in (8_000, 16_000))]
    print("\n".join(slow) or f"The time of all {len(works)} grows linearly.")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
