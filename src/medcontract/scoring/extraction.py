"""Track `extraction`: prescriptions and laboratory results in Spanish, six gates, GO or NO-GO."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache, lru_cache, partial
from operator import attrgetter, itemgetter
from sys import intern
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct

from medcontract.definitions.forms import BLANKS
from medcontract.normalizers.names import look_alikes_sha256, near_misses, pair_exact, pair_fuzzy
from medcontract.normalizers.numbers import close
from medcontract.normalizers.text import VERSION, normalize
from medcontract.problems import shorten
from medcontract.scoring.engine import NO_WISHES, Answers, Counts, Explanation, Figure, Finished, Limit, Track, Wishes
from medcontract.scoring.exact import ZERO, exact_sum, mean, rounded, rounded_or_none
from medcontract.scoring.gate import Pair, Pairing, Unscored, processed
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol, parameters

MEDICATION_FIELDS = ("dosis", "frecuencia", "duracion", "instrucciones")
LAB_FIELDS = ("valor", "unidad", "rango_referencia", "estado")
_RELIABILITY_RUNS = 5
_MOST_HINTS = 5


class Kind(NamedTuple):
    """What prescriptions and laboratory reports have in common."""

    doc_type: str
    labels: str
    predictions: str
    labeled: str
    """The field of a label that lists its items."""
    predicted: str
    """The field of a prediction that lists its items."""
    name: str
    fields: tuple[str, ...]

    def items(self, records: Iterable[Any]) -> tuple[Item, ...]:
        return tuple(map(attrgetter(self.name, *self.fields), records))


PRESCRIPTION = Kind(
    "prescription", "extraction/prescription-labels", "extraction/prescription-predictions", "medications",
    "medicamentos", "nombre_medicamento", MEDICATION_FIELDS,
)  # fmt: skip
LAB = Kind(
    "lab", "extraction/lab-labels", "extraction/lab-predictions", "results", "resultados", "nombre_prueba", LAB_FIELDS
)
_PLACES = (1, 2, 3, 4)
"""Of the fields in an item."""
_RANGE = 1 + LAB_FIELDS.index("rango_referencia")


Item = tuple[str, ...]
"""A medication or a test as printed: its name, then its fields."""


class Label(NamedTuple):
    """What a document says."""

    doc_id: str
    items: tuple[Item, ...]
    names: tuple[str, ...]
    """Of the items, normalized."""
    counted: int
    """How many fields of its items count."""


class FieldMiss(NamedTuple):
    """A field of a paired item that is not right."""

    field: str
    how: str
    """What sort of difference it is."""
    expected: str
    got: str


class ItemReport(NamedTuple):
    """What became of one labeled item."""

    number: int
    """Its place in the label."""
    name: str
    paired: str | None
    """The name of its prediction."""
    nearest: tuple[str, float] | None
    """Of one that was not paired: the nearest prediction, and how near it is."""
    misses: tuple[FieldMiss, ...]


class DocMark(NamedTuple):
    """What scoring needs of one document's prediction."""

    matched: int
    correct: int
    total: int
    succeeded: bool
    """Its run did."""
    failed: bool
    """It was not parsed, or ended in an exception."""
    items: tuple[ItemReport, ...]
    """Those that are not wholly right, or whose name is written otherwise."""


_FAILED = DocMark(0, 0, 0, False, True, ())


class Options(NamedTuple):
    """What of the protocol decides which items belong together, and which fields are right."""

    tolerance: Fraction
    fuzzy: float | None
    """The threshold of fuzzy pairing; None: names are equal or they are not."""


def _label(kind: Kind, record: Any) -> Label:
    known = map(_KNOWN[kind.doc_type], kind.items(getattr(record, kind.labeled)))
    items, names, counted = zip(*known, strict=True)
    return Label(record.doc_id, items, names, sum(counted))


def _known(kind: Kind, item: Item) -> tuple[Item, str, int]:
    """An item, its normalized name, and how many of its fields count."""
    return tuple(map(intern, item)), normalize(item[0]), len(_counted(kind, item))


_KNOWN = {kind.doc_type: lru_cache(maxsize=1 << 16)(partial(_known, kind)) for kind in (PRESCRIPTION, LAB)}
"""Equal items of many labels are worked out, and kept, once."""


def _counted(kind: Kind, item: Item) -> tuple[int, ...]:
    """The places of the fields that count: a reference range does only where the label has one."""
    if kind.doc_type == LAB.doc_type and not normalize(item[_RANGE]):
        return tuple(place for place in _PLACES if place != _RANGE)
    return _PLACES


def _failed(record: Any) -> bool:
    return not record.parse_success or bool(record.exception and record.exception.strip(BLANKS))


def _measure(kind: Kind, options: Options, label: Label, record: Any) -> DocMark:
    if _failed(record):
        return _FAILED
    predicted = kind.items(getattr(record, kind.predicted))
    if predicted == label.items and "" not in label.names:
        return DocMark(len(predicted), label.counted, label.counted, True, False, ())
    names = [normalize(item[0]) for item in predicted]
    pairs = pair_exact(label.names, names) if options.fuzzy is None else pair_fuzzy(label.names, names, options.fuzzy)
    nearest = {i: (predicted[j][0], score) for i, j, score in near_misses(label.names, names, pairs)}
    correct = total = 0
    reports = []
    for number, (item, pair) in enumerate(zip(label.items, pairs, strict=True)):
        if pair is None:
            reports.append(ItemReport(number, item[0], None, nearest.get(number), ()))
            continue
        counted = _counted(kind, item)
        misses = _misses(kind, item, predicted[pair], counted, options.tolerance)
        total += len(counted)
        correct += len(counted) - len(misses)
        if misses or item[0] != predicted[pair][0]:
            reports.append(ItemReport(number, item[0], predicted[pair][0], None, misses))
    valid = any(item[0].strip(BLANKS) for item in predicted)
    return DocMark(len(pairs) - pairs.count(None), correct, total, valid, False, tuple(reports))


def _misses(kind: Kind, label: Item, found: Item, places: Iterable[int], tolerance: Fraction) -> tuple[FieldMiss, ...]:
    """The fields that are not right."""
    if label[1:] == found[1:]:
        return ()
    return tuple(
        FieldMiss(kind.fields[place - 1], difference(label[place], found[place]), label[place], found[place])
        for place in places
        if normalize(label[place]) != normalize(found[place])
        and not (kind.fields[place - 1] == "valor" and close(found[place], label[place], tolerance))
    )


def difference(expected: str, got: str) -> str:
    """What sort of difference it is between two texts that are not equal after normalization."""
    want, have = normalize(expected), normalize(got)
    if not have:
        return "missing"
    if not want:
        return "nothing was expected"
    if want.replace(" ", "") == have.replace(" ", ""):
        return "blanks only"
    numbers = _digits(want) != _digits(have)
    words = _letters(want) != _letters(have)
    if numbers and not words:
        return "number"
    if words and not numbers and _digits(want):
        units = set(_WORDS.findall(want)) ^ set(_WORDS.findall(have))
        return "another unit, same number" if units <= _UNITS else "words, same number"
    if not words and not numbers:
        return "comparison sign"
    if want in have or have in want:
        return "too much" if want in have else "too little"
    return "another text"


_WORDS = re.compile(r"[A-Z]+|%")
_UNITS = frozenset((
    "MG", "MCG", "UG", "NG", "PG", "KG", "G", "ML", "DL", "UL", "FL", "L", "UI", "IU", "U", "MEQ", "MMOL", "MM",
    "CM", "%",
))  # fmt: skip


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit() or c in ".-/:^")


def _letters(text: str) -> str:
    return "".join(c for c in text if c.isalpha() or c == "%")


PROTOCOL = Protocol(
    id="extraction",
    version=1,
    changes=(Change(1, "first version"),),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "extraction.md, Prescription accuracy metric",
            weight_name_recall=("0.70", "share of name_recall in a prescription's score"),
            weight_attribute_accuracy=("0.30", "share of attribute_accuracy in a prescription's score"),
            goal_prescription_accuracy=("85", "least prescription_accuracy for GO", {"high": 100}),
        ),
        *parameters(
            "extraction.md, Lab extraction accuracy metric",
            weight_test_recall=("0.60", "share of test_recall in a laboratory report's score"),
            weight_lab_field_accuracy=("0.40", "share of lab_field_accuracy in a laboratory report's score"),
            value_tolerance=("0.02", "share that a number may be off", {"high": 1}),
            goal_lab_accuracy=("75", "least lab_accuracy for GO", {"high": 100}),
        ),
        *parameters(
            "extraction.md, gates",
            goal_pipeline_success_rate=("90", "least pipeline_success_rate for GO", {"high": 100}),
            goal_reliability=("5", "successes among the last five reliability runs", {"high": _RELIABILITY_RUNS}),
            goal_offline_evidence=("1", "offline runs"),
            goal_standout_proofs=("2", "proofs of documents of the manifest"),
        ),
        Parameter(
            name="normalization", value=str(VERSION), about="version of the normalization of texts",
            source="SCORING.md, Normalization", choices=(str(VERSION),),
        ),
        Parameter(
            name="match", value="exact", about="how names find each other: exact or fuzzy (--match)",
            source="SCORING.md, Fuzzy names", choices=("exact", "fuzzy"),
        ),
        *parameters(
            "SCORING.md, Fuzzy names", fuzzy_threshold=("90", "least token_sort_ratio of a fuzzy pair", {"high": 100})
        ),
        Parameter(
            name="look_alikes", value=None, about="SHA-256 of the list of look-alike drugs, for fuzzy names",
            source="our own list", fixed=True,
        ),
    ),
)  # fmt: skip

_RATE: dict[str, Any] = {"high": 100, "unit": "%"}
_FIGURES = (
    Figure(
        name="prescription_accuracy", about="mean over labeled prescriptions of weight_name_recall·name_recall + "
        "weight_attribute_accuracy·attribute_accuracy, times 100", perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(
        name="lab_accuracy", about="mean over labeled laboratory reports of weight_test_recall·test_recall + "
        "weight_lab_field_accuracy·lab_field_accuracy, times 100", perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(
        name="pipeline_success_rate", about="successes / evaluation runs · 100; without such runs, over the labeled "
        "documents", **_RATE,
    ),
    Figure(
        name="mean_accuracy", about="mean of prescription_accuracy and lab_accuracy; what submissions are ranked by",
        perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(name="score", about="of one document", perfect=1, by="document"),
    Figure(name="recall", about="paired / labeled items of a document", perfect=1, by="document"),
    Figure(
        name="field_accuracy", about="right / counted fields of the pairs; 0 without any", perfect=1, by="document"
    ),
    Figure(name="matched", about="labeled items that were paired", high=None, by="document"),
    Figure(name="labeled", about="labeled items", high=None, by="document"),
    Figure(name="correct_fields", about="fields of the pairs that are right", high=None, by="document"),
    Figure(name="total_fields", about="fields of the pairs that count", high=None, by="document"),
    Figure(name="goal", about="what a gate asks for", high=None),
    Figure(name="measured", about="what was found; null without input", high=None),
)  # fmt: skip


class Run(NamedTuple):
    """What matters of one run of the pipeline."""

    kind: str
    succeeded: bool
    restarted: bool
    code_version: str
    started_at: str | None


def _run(record: Any) -> Run:
    succeeded = not _failed(record) and record.valid_items >= 1
    return Run(record.kind, succeeded, record.restarted, record.code_version, record.started_at)


def _doc_id(record: Any) -> str:
    doc_id: str = record.doc_id
    return doc_id


class _Document(NamedTuple):
    doc_type: str
    label: Label
    mark: DocMark | None


class _Data(Struct, kw_only=True):
    documents: list[_Document]
    runs: list[Run] | None
    offline_runs: int | None
    proofs: frozenset[tuple[str, str]] | None
    manifest: frozenset[str] | None
    kinds: frozenset[str]
    """Kinds of documents that have labels."""


class Gate(NamedTuple):
    """One gate of the decision."""

    name: str
    goal: Fraction
    measured: Fraction | None
    passed: bool | None
    reason: str


_NEEDED = {
    "prescription_accuracy": (PRESCRIPTION.predictions, f"labels ({PRESCRIPTION.labels})"),
    "lab_accuracy": (LAB.predictions, f"labels ({LAB.labels})"),
    "pipeline_success_rate": ("extraction/runs", "evaluation runs (extraction/runs), or labels"),
    "reliability": ("extraction/runs", "runs (extraction/runs)"),
    "offline_evidence": ("extraction/evidence", "evidence (extraction/evidence)"),
    "standout_proofs": (
        "extraction/evidence",
        "evidence (extraction/evidence) and a manifest (extraction/manifest)",
    ),
}
"""For each gate: the contract whose files fail, and what it takes to judge it."""


class Extraction(Track):
    id = "extraction"
    explains = True
    truths = (PRESCRIPTION.labels, LAB.labels)
    submissions = (PRESCRIPTION.predictions, LAB.predictions)
    result_contract = "extraction/decision"
    auxiliary = ("extraction/manifest", "extraction/runs", "extraction/evidence")
    keeps: ClassVar = {"extraction/manifest": _doc_id, "extraction/runs": _run}
    expecting = (
        ("extraction/manifest", PRESCRIPTION.labels),
        ("extraction/manifest", LAB.labels),
    )
    protocol = PROTOCOL
    figures = _FIGURES
    headline = "mean_accuracy"
    second = ""
    result_below_gate = True

    def __init__(self, protocol: Protocol = PROTOCOL) -> None:
        fuzzy = protocol.word("match") == "fuzzy"
        options = Options(protocol["value_tolerance"], float(protocol["fuzzy_threshold"]) if fuzzy else None)
        self.pairs = tuple(  # type: ignore[misc]  # bound to the protocol
            Pair(
                truth=kind.labels, submission=kind.predictions, key=("doc_id",), can_fail=False,
                item=partial(_label, kind), measure=partial(_measure, kind, options),
            )
            for kind in (PRESCRIPTION, LAB)
        )  # fmt: skip

    def under(self, protocol: Protocol, wishes: Wishes = NO_WISHES) -> Extraction:
        return Extraction(protocol)

    def completed(self, protocol: Protocol, wishes: Wishes = NO_WISHES) -> Protocol:
        """With fuzzy names, the list of look-alikes is part of the protocol."""
        if protocol.word("match") == "fuzzy":
            return protocol.following("look_alikes", look_alikes_sha256())
        return protocol

    def expects(self, truth: str, record: Any) -> bool:
        kind = PRESCRIPTION if truth == PRESCRIPTION.labels else LAB
        return bool(record.doc_type == kind.doc_type)

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        protocol: Protocol,
        result: dict[str, Any] | None = None,
    ) -> Iterator[Limit]:
        """The gates; without a result those that need no labels."""
        data = _beside(documents, [])
        runs = [run for run in data.runs or () if run.kind == "evaluation"]
        gates = _gates(data, None, None, _pipeline(data) if runs else None, protocol)
        rows = [(gate.name, gate.goal, gate.passed, gate.reason) for gate in gates]
        if result is not None:
            rows = [(gate["gate"], gate["goal"], gate["passed"], gate["reason"]) for gate in result["gates"]]
        for name, goal, passed, reason in rows:
            contract, needs = _NEEDED[name]
            yield Limit(
                id=name, title=f"Gate {name}: at least {float(goal):g}", contract=contract, passed=passed,
                detail=f"needs {needs}" if passed is None else reason,
                failure=("a gate is not passed", "the decision is NO-GO"),
            )  # fmt: skip

    def count(self, answers: Answers) -> Counts:
        documents = []
        counted = 0
        for kind in (PRESCRIPTION, LAB):
            pairing = answers.pairings.get(kind.labels)
            if pairing is None:
                continue
            sheet = pairing.runs()[""]
            counted += processed(sheet)
            for number, label in enumerate(pairing.expected.items):
                mark = sheet.get(number)
                documents.append(_Document(kind.doc_type, label, None if type(mark) is Unscored else mark))
        documents.sort(key=lambda document: (document.doc_type, document.label.doc_id))
        data = _beside(answers.documents, documents)
        return Counts(expected=len(documents), processed={"": counted}, data=data)

    def finish(self, counts: Counts, protocol: Protocol) -> Finished:
        data: _Data = counts.data
        figures = cache(partial(_figures, protocol))
        rows = [_row(document, figures) for document in data.documents]
        accuracies = {
            kind: _accuracy([row for row in rows if row["doc_type"] == kind], figures)
            for kind in (PRESCRIPTION.doc_type, LAB.doc_type)
        }
        pipeline = _pipeline(data)
        gates = _gates(data, accuracies[PRESCRIPTION.doc_type], accuracies[LAB.doc_type], pipeline, protocol)
        enough = Fraction(counts.processed[""], counts.expected) >= protocol["min_processed"]
        go = enough and all(gate.passed for gate in gates)
        result = {
            "prescription_accuracy": rounded_or_none(accuracies[PRESCRIPTION.doc_type]),
            "lab_accuracy": rounded_or_none(accuracies[LAB.doc_type]),
            "pipeline_success_rate": rounded_or_none(pipeline),
            "documents": rows,
            "gates": [
                {
                    "gate": gate.name,
                    "goal": rounded(gate.goal),
                    "measured": rounded_or_none(gate.measured),
                    "passed": gate.passed,
                    "reason": gate.reason,
                }
                for gate in gates
            ],
            "decision": "GO" if go else "NO-GO",
        }
        known = [accuracy for accuracy in accuracies.values() if accuracy is not None]
        return Finished(result=result, headline=mean(known) if known else None, decision=str(result["decision"]))

    def headline_of(self, result: Mapping[str, Any]) -> float | None:
        found = [result.get(name) for name in ("prescription_accuracy", "lab_accuracy")]
        known = [value for value in found if isinstance(value, float | int)]
        return rounded(exact_sum(map(float, known)) / len(known)) if known else None

    def mending(self, counts: Counts) -> list[tuple[str, str, int]]:
        return failure_modes(counts)

    def breakdown(self, counts: Counts) -> list[Explanation]:
        data: _Data = counts.data
        return [explanation for document in data.documents for explanation in _explained(document)]

    def hints(self, counts: Counts) -> Iterator[str]:
        """The names that were most often missed by little."""
        found: Counter[tuple[str, str, float]] = Counter()
        data: _Data = counts.data
        for document in data.documents:
            for item in document.mark.items if document.mark else ():
                if item.nearest:
                    found[(item.name, *item.nearest)] += 1
        ordered = sorted(found.items(), key=lambda row: (-row[1], row[0]))
        for (name, nearest, score), times in ordered[:_MOST_HINTS]:
            often = f" ({times:,} times)" if times > 1 else ""
            yield f"{shorten(name)!r} was not matched; nearest prediction {shorten(nearest)!r}, {score:.0f}{often}"
        if len(ordered) > _MOST_HINTS:
            yield f"{len(ordered) - _MOST_HINTS:,} more names were missed by little: --breakdown has them all"

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        return {**{name: value for name, value in result.items() if name != "documents"}, self.headline: headline}


def _beside(files: Mapping[str, Any], documents: list[_Document]) -> _Data:
    """What the auxiliary files say, beside the documents."""
    evidence, manifest = files.get("extraction/evidence"), files.get("extraction/manifest")
    return _Data(
        documents=documents,
        runs=files.get("extraction/runs"),
        offline_runs=None if evidence is None else len(evidence.offline_runs),
        proofs=None if evidence is None else frozenset((proof.doc_id, proof.kind) for proof in evidence.proofs),
        manifest=None if manifest is None else frozenset(manifest),
        kinds=frozenset(document.doc_type for document in documents),
    )


class _Figures(NamedTuple):
    """Of all documents with the same counts."""

    exact: Fraction
    score: float
    recall: float
    field_accuracy: float


def _figures(protocol: Protocol, doc_type: str, matched: int, labeled: int, correct: int, total: int) -> _Figures:
    recall = Fraction(matched, labeled)
    accuracy = Fraction(correct, total) if total else ZERO
    first, second = (
        ("weight_name_recall", "weight_attribute_accuracy")
        if doc_type == PRESCRIPTION.doc_type
        else ("weight_test_recall", "weight_lab_field_accuracy")
    )
    score = protocol[first] * recall + protocol[second] * accuracy
    return _Figures(score, rounded(score), rounded(recall), rounded(accuracy))


_COUNTS = ("doc_type", "matched", "labeled", "correct_fields", "total_fields")
"""What the figures of a document are made of."""


def _row(document: _Document, figures: Callable[..., _Figures]) -> dict[str, Any]:
    """The line of a document in the result."""
    mark = document.mark or _FAILED
    labeled = len(document.label.items)
    found = figures(document.doc_type, mark.matched, labeled, mark.correct, mark.total)
    return {
        "doc_id": document.label.doc_id,
        "doc_type": document.doc_type,
        "score": found.score,
        "recall": found.recall,
        "field_accuracy": found.field_accuracy,
        "matched": mark.matched,
        "labeled": labeled,
        "correct_fields": mark.correct,
        "total_fields": mark.total,
    }


def _accuracy(rows: Sequence[dict[str, Any]], figures: Callable[..., _Figures]) -> Fraction | None:
    """The mean of the exact scores, times 100. Documents with the same counts are added at once."""
    alike = Counter(map(itemgetter(*_COUNTS), rows))
    total = sum((figures(*counts).exact * times for counts, times in alike.items()), ZERO)
    return 100 * total / len(rows) if rows else None


def _pipeline(data: _Data) -> Fraction | None:
    """Successes / runs · 100: over evaluation runs, or over labeled documents where there are none."""
    runs = [run.succeeded for run in data.runs or () if run.kind == "evaluation"]
    runs = runs or [document.mark is not None and document.mark.succeeded for document in data.documents]
    return Fraction(100 * sum(runs), len(runs)) if runs else None


def _gates(
    data: _Data, prescriptions: Fraction | None, labs: Fraction | None, pipeline: Fraction | None, protocol: Protocol
) -> list[Gate]:
    return [
        _at_least("prescription_accuracy", prescriptions, protocol, "%", "no labels of prescriptions were given"),
        _at_least("lab_accuracy", labs, protocol, "%", "no labels of laboratory reports were given"),
        _at_least("pipeline_success_rate", pipeline, protocol, "%", "there is no run and no document"),
        _reliability(data.runs, protocol),
        _at_least(
            "offline_evidence", None if data.offline_runs is None else Fraction(data.offline_runs), protocol,
            "offline runs", "no file of extraction/evidence was given",
        ),
        _at_least(
            "standout_proofs", _proofs(data), protocol, "proofs",
            "no file of extraction/evidence was given" if data.proofs is None else "no manifest was given",
        ),
    ]  # fmt: skip


def _at_least(name: str, measured: Fraction | None, protocol: Protocol, unit: str, missing: str) -> Gate:
    goal = protocol[f"goal_{name}"]
    if measured is None:
        return Gate(name, goal, None, None, missing)
    passed = rounded(measured) >= rounded(goal)
    unit = unit.removesuffix("s") if measured == 1 else unit
    verb = ("reach" if passed else "stay below") if unit.endswith("s") else "reaches" if passed else "is below"
    return Gate(name, goal, measured, passed, f"{told(measured, goal)} {unit} {verb} the goal of {rounded(goal):.16g}")


def told(measured: Fraction, goal: Fraction) -> str:
    """With as many digits as it takes to see on which side of the goal it is."""
    texts = (f"{rounded(measured):.{digits}g}" for digits in range(6, 18))
    below = rounded(measured) < rounded(goal)
    return next((text for text in texts if (float(text) < rounded(goal)) == below), repr(rounded(measured)))


def _proofs(data: _Data) -> Fraction | None:
    """One for each document and kind of proof, if the manifest has the document."""
    if data.proofs is None or data.manifest is None:
        return None
    return Fraction(sum(doc_id in data.manifest for doc_id, _ in data.proofs))


def _reliability(runs: Sequence[Run] | None, protocol: Protocol) -> Gate:
    name, goal = "reliability", protocol["goal_reliability"]
    if runs is None:
        return Gate(name, goal, None, None, "no file of extraction/runs was given")
    last = _in_order([run for run in runs if run.kind == "reliability"])[-_RELIABILITY_RUNS:]
    successes = Fraction(sum(run.succeeded for run in last))
    faults = []
    if len(last) < _RELIABILITY_RUNS:
        faults.append(f"only {len(last)} of {_RELIABILITY_RUNS} runs")
    if successes < len(last):
        faults.append(f"{successes} of {len(last)} succeeded")
    if any(run.restarted for run in last[1:]):
        faults.append("one was restarted by hand")
    if len({run.code_version for run in last}) > 1:
        faults.append("the code changed between them")
    passed = not faults and successes >= goal
    return Gate(name, goal, successes, passed, "; ".join(faults) or f"the last {len(last)} runs succeeded")


def _in_order(runs: Sequence[Run]) -> list[Run]:
    """By the time when they started, where all of them say so with an offset; else as they stand in the file."""
    times = [_instant(run.started_at) for run in runs]
    known = [time for time in times if time is not None]
    if len(known) < len(runs):
        return list(runs)
    return [run for _, _, run in sorted(zip(known, range(len(runs)), runs, strict=True), key=lambda row: row[:2])]


_FRACTION = re.compile(r"[.,]([0-9]+)")


def _instant(text: str | None) -> tuple[datetime, Fraction] | None:
    """The second, and the fraction of it to its last digit; None for a time without an offset."""
    if text is None:
        return None
    try:
        second = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    except ValueError:  # a leap second
        return None
    found = _FRACTION.search(text)
    return (second, Fraction(f"0.{found[1]}") if found else ZERO) if second.tzinfo is not None else None


def _explained(document: _Document) -> Iterator[Explanation]:
    """What became of each item of a document."""
    mark = document.mark
    reports = {report.number: report for report in mark.items} if mark else {}
    for number, (name, *_) in enumerate(document.label.items):
        report = reports.get(number) or ItemReport(number, name, name, None, ())
        state: Any = "right"
        if mark is None or mark.failed:
            report = report._replace(paired=None)
            state = "no valid record" if mark is None else "document failed"
        elif report.paired is None or report.misses:
            state = "not matched" if report.paired is None else "wrong fields"
        yield Explanation(
            doc_type=document.doc_type, doc_id=document.label.doc_id, item=number, state=state, name=name,
            paired=report.paired, nearest=report.nearest,
            fields=tuple(
                (miss.field, miss.how, miss.expected, miss.got, normalize(miss.expected), normalize(miss.got))
                for miss in report.misses
            ),
        )  # fmt: skip


def failure_modes(counts: Counts) -> list[tuple[str, str, int]]:
    """(field, sort of difference, how often), the most frequent first: what to mend first."""
    found: Counter[tuple[str, str]] = Counter()
    data: _Data = counts.data
    for document in data.documents:
        if document.mark is None or document.mark.failed:
            what = "no valid record" if document.mark is None else "not parsed, or an exception"
            found[f"{document.doc_type} document", what] += 1
            continue
        name = PRESCRIPTION.name if document.doc_type == PRESCRIPTION.doc_type else LAB.name
        for item in document.mark.items:
            if item.paired is None:
                found[name, "not found, a near name was" if item.nearest else "not found"] += 1
            for miss in item.misses:
                found[miss.field, miss.how] += 1
    return [(field, how, times) for (field, how), times in sorted(found.items(), key=lambda row: (-row[1], row[0]))]


TRACK = Extraction()
