"""A second scorer for all tracks, written only from the text of SCORING.md, with plain lists, loops and fractions.

It shares nothing with `medcontract.scoring`, and is simple rather than fast: tests require identical results of both.
(It uses the same normalization and term matching, which have separate tests.)
Records are passed as `Sent`: the record in the file, and whether it is valid by itself, which its creator knows.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

from medcontract.normalizers.terms import LEXICON, Terms, built_in_terms
from medcontract.normalizers.text import latin_upper_case, micro_signs, normalize, powers, punctuation_of_other_scripts
from medcontract.scoring.extraction.decision import WORDS

Record = dict[str, Any]

GATE = Fraction(95, 100)
REMOTE_WORDS: dict[str, list[str]] = json.loads(WORDS.read_text(encoding="utf-8"))["words"]
"""The built-in list of words for remote backends."""

URGENCY_WEIGHTS = {"Emergency": Fraction(40, 100), "Urgent": Fraction(35, 100), "Routine": Fraction(25, 100)}

CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
MALIGNANT = ("BCC", "SCC", "MEL")
MEDIUM = ("SK", "VASC")
BENIGN = ("AK", "DF", "NV", "NON", "ON")


class Sent(NamedTuple):
    """A record of a submission."""

    record: Record
    valid: bool = True
    """Whether it is valid by itself."""


class Outcome(NamedTuple):
    """The result of scoring."""

    valid: bool
    result: Record | None
    expected: int
    processed: int
    """The number of processed items, in the worst run if there are several."""
    slow: int = 0
    """Processed records above 5 s, for the warning of `reports`."""


def number(value: float) -> Fraction:
    """A JSON number: the exact value of the nearest double."""
    return Fraction(float(value))


def rounded(value: Fraction | None) -> float | None:
    """The nearest double."""
    return None if value is None else value.numerator / value.denominator


def mean(values: Sequence[Fraction]) -> Fraction:
    """The sum divided by the count."""
    return sum(values, Fraction(0)) / len(values)


def f1(true_positives: int, false_positives: int, false_negatives: int) -> Fraction:
    """Principle 6."""
    denominator = 2 * true_positives + false_positives + false_negatives
    return Fraction(2 * true_positives, denominator) if denominator else Fraction(0)


def blank(text: Any) -> bool:
    """Absent, null and blank mean that there is no error."""
    return text is None or text.strip("\t\n\v\f\r \u00a0") == ""


def state(records: Sequence[Sent]) -> str:
    """The state of an expected item, given all records with its id (principle 2)."""
    if not records:
        return "missing"
    if len(records) > 1:
        return "repeated"
    if not records[0].valid:
        return "invalid"
    return "processed" if blank(records[0].record.get("error")) else "failed"


def of_class(pairs: Iterable[tuple[Any, Any]], wanted: Any) -> Fraction:
    """F1 of a class over (true, predicted); predicted is None for items that were not processed."""
    pairs = list(pairs)
    hits = sum(1 for true, predicted in pairs if true == wanted and predicted == wanted)
    alarms = sum(1 for true, predicted in pairs if true != wanted and predicted == wanted)
    misses = sum(1 for true, predicted in pairs if true == wanted and predicted != wanted)
    return f1(hits, alarms, misses)


# --- reports -------------------------------------------------------------------------------------


def run_of(sent: Sent) -> Any:
    """An absent run is "1"."""
    run = sent.record.get("run_id")
    return "1" if run is None else run


def reports_run(truth: Sequence[Record], sent: Sequence[Sent], used: Record | None) -> tuple[Record, int]:
    """The exact figures of one run, given its records and its telemetry, and how many reports it processed."""
    answers = {}
    for true in truth:
        mine = [one for one in sent if one.record.get("report_id") == true["report_id"]]
        answers[true["report_id"]] = mine[0].record if state(mine) == "processed" else None

    def pairs(field: str) -> list[tuple[Any, Any]]:
        listed = []
        for true in truth:
            answer = answers[true["report_id"]]
            listed.append((true[field], None if answer is None else answer[field]))
        return listed

    processed = [answer for answer in answers.values() if answer is not None]
    figures: Record = {}
    right = sum(1 for true, predicted in pairs("specialty") if true == predicted)
    figures["specialty_accuracy"] = Fraction(right, len(truth))
    by_class = {name: of_class(pairs("urgency"), name) for name in URGENCY_WEIGHTS}
    figures["urgency_f1"] = sum((weight * by_class[name] for name, weight in URGENCY_WEIGHTS.items()), Fraction(0))
    figures["urgency_f1_by_class"] = by_class
    figures["follow_up_f1"] = of_class(pairs("follow_up"), True)

    if not processed:
        time = None
    elif used is not None and used.get("avg_processing_time_sec") is not None:
        time = number(used["avg_processing_time_sec"])
    else:
        time = mean([number(answer["processing_time_sec"]) for answer in processed])
    memory = None if used is None else number(used["max_memory_mb"])
    cpu = None if used is None else number(used["avg_cpu_percent"])
    figures["avg_processing_time"] = time
    figures["max_memory_usage"] = memory
    figures["avg_cpu_usage"] = cpu
    figures["time_penalty"] = None if time is None else max(Fraction(0), time - 1) * 2
    figures["memory_penalty"] = None if memory is None else max(Fraction(0), (memory - 512) / 50)
    figures["cpu_penalty"] = None if cpu is None else max(Fraction(0), (cpu - 50) / 5)
    figures["accuracy_score"] = 100 * (
        Fraction(30, 100) * figures["specialty_accuracy"]
        + Fraction(25, 100) * figures["urgency_f1"]
        + Fraction(15, 100) * figures["follow_up_f1"]
    )
    figures["performance_score"] = None
    figures["total_score"] = None
    penalties = [figures["time_penalty"], figures["memory_penalty"], figures["cpu_penalty"]]
    if None not in penalties:
        figures["performance_score"] = 30 - sum(penalties)
        figures["total_score"] = figures["accuracy_score"] + figures["performance_score"]

    too_slow = time is not None and float(time) > 5
    too_busy = cpu is not None and float(cpu) > 90
    too_big = memory is not None and float(memory) > 1024
    died = used is not None and not blank(used.get("exception"))
    figures["valid"] = not (too_slow or too_busy or too_big or died)
    if not figures["valid"]:
        figures["total_score"] = None
    figures["success_rate"] = Fraction(len(processed), len(truth))
    figures["slow"] = sum(1 for answer in processed if float(answer["processing_time_sec"]) > 5)
    return figures, len(processed)


REPORT_FIGURES = (
    "specialty_accuracy",
    "urgency_f1",
    "follow_up_f1",
    "avg_processing_time",
    "max_memory_usage",
    "avg_cpu_usage",
    "time_penalty",
    "memory_penalty",
    "cpu_penalty",
    "accuracy_score",
    "performance_score",
    "total_score",
)


def reports(
    truth: Sequence[Record], sent: Sequence[Sent], telemetry: Record | None, minimum: Fraction = GATE
) -> Outcome:
    """The track `reports`. The result has no `reasons` of runs, because their wording is not specified."""
    if telemetry is not None:
        use = {run["run_id"]: run for run in telemetry["runs"]}
        names = sorted(use)
    else:
        use = {}
        known = {
            true["report_id"] for true in truth
        }  # an unknown id violates a rule across files: not a valid prediction
        names = sorted({run_of(one) for one in sent if one.valid and one.record["report_id"] in known}) or ["1"]
    runs = {}
    counts = []
    for name in names:
        mine = [one for one in sent if run_of(one) == name]
        runs[name], count = reports_run(truth, mine, use.get(name))
        counts.append(count)
    worst = min(counts)
    if Fraction(worst, len(truth)) < minimum:
        return Outcome(False, None, len(truth), worst)

    result: Record = {}
    for figure in REPORT_FIGURES:
        values = [run[figure] for run in runs.values()]
        result[figure] = rounded(None if None in values else mean(values))
    result["urgency_f1_by_class"] = {
        name: rounded(mean([run["urgency_f1_by_class"][name] for run in runs.values()])) for name in URGENCY_WEIGHTS
    }
    result["runs"] = []
    for name, run in runs.items():
        shown: Record = {figure: rounded(run[figure]) for figure in REPORT_FIGURES}
        shown["urgency_f1_by_class"] = {key: rounded(value) for key, value in run["urgency_f1_by_class"].items()}
        shown["run_id"] = name
        shown["success_rate"] = rounded(run["success_rate"])
        shown["valid"] = run["valid"]
        result["runs"].append(shown)
    slow = sum(run["slow"] for run in runs.values())
    return Outcome(all(run["valid"] for run in runs.values()), result, len(truth), worst, slow)


# --- triage --------------------------------------------------------------------------------------


def triage_case(
    case: str, truth: Sequence[Record], answers: dict[str, tuple[str, Record | None]], inventory: Sequence[Record]
) -> Record:
    """The figures of one case; of errors other than server errors, only the state is reported."""
    mine = [segment for segment in truth if segment["case_id"] == case]
    mine.sort(
        key=lambda one: (float(one["segment_stop_time_sec"]), float(one["segment_start_time_sec"]), one["segment_id"])
    )
    rows = [row["segment_id"] for row in inventory if row["case_id"] == case]
    if all(segment["segment_id"] in rows for segment in mine):
        mine.sort(key=lambda one: rows.index(one["segment_id"]))
    stops, listed, predicted, errors = [], [], [], []
    for segment in mine:
        stops.append(number(segment["segment_stop_time_sec"]))
        listed.append(
            [
                (lsi["lsi_group"], number(lsi["elapsed_from_start"]), lsi["lsi_description"])
                for lsi in segment["gt_lsi_list"]
            ]
        )
        became, answer = answers[segment["segment_id"]]
        predicted.append(set(answer["model_predictions"]) if became == "processed" and answer else set())
        if became == "failed" and answer:
            errors.append({"segment_id": segment["segment_id"], "error": answer["error"]})
        elif became != "processed":
            errors.append({"segment_id": segment["segment_id"], "state": became})

    both: set[str] = set()
    either: set[str] = set()
    occurred: set[str] = set()
    guessed: set[str] = set()
    for instances, groups in zip(listed, predicted, strict=True):
        here = {group for group, _, _ in instances}
        both |= here & groups
        either |= here | groups
        occurred |= here
        guessed |= groups
    jaccard = Fraction(len(both), len(either)) if either else Fraction(1)

    correct = []
    every = {one for instances in listed for one in instances}
    for group, elapsed, description in sorted(every, key=lambda one: (one[1], one[0], one[2])):
        for stop, instances, groups in zip(stops, listed, predicted, strict=True):
            if (group, elapsed, description) in instances and group in groups:
                correct.append({"lsi_group": group, "lead_time": rounded(elapsed - stop)})
                break

    lead = Fraction(0)
    for group in both:
        for stop, instances, groups in zip(stops, listed, predicted, strict=True):
            here_at = [elapsed for name, elapsed, _ in instances if name == group]
            if here_at and group in groups:
                lead += min(here_at) - stop
                break
    return {
        "case_id": case,
        "jaccard_index": rounded(jaccard),
        "prediction_lead_time": rounded(lead),
        "correct_predictions": correct,
        "incorrect_predictions": {"false_positives": sorted(guessed - occurred), "misses": sorted(occurred - guessed)},
        "errors": errors,
    }


def triage(
    truth: Sequence[Record],
    sent: Sequence[Sent],
    header: Record,
    inventory: Sequence[Record] = (),
    minimum: Fraction = GATE,
) -> Outcome:
    """The track `triage`; `header` has the fields of the response that the result repeats."""
    answers: dict[str, tuple[str, Record | None]] = {}
    for segment in truth:
        mine = []
        for one in sent:
            if one.record.get("segment_id") == segment["segment_id"]:
                agrees = (
                    one.record.get("case_id") == segment["case_id"]
                    and one.record.get("end_of_case") == segment["end_of_case"]
                )
                mine.append(Sent(one.record, one.valid and agrees))
        answers[segment["segment_id"]] = (state(mine), mine[0].record if mine else None)
    processed = sum(1 for became, _ in answers.values() if became == "processed")
    passed = Fraction(processed, len(truth)) >= minimum  # below, the result stays: the metrics list errors
    cases = sorted({segment["case_id"] for segment in truth})
    result = {**header, "metrics": [triage_case(case, truth, answers, inventory) for case in cases]}
    return Outcome(passed, result, len(truth), processed)


# --- lesions -------------------------------------------------------------------------------------


def largest(probabilities: Sequence[float]) -> str:
    """The class of the largest probability, the first on ties."""
    best = 0
    for index, value in enumerate(probabilities):
        if float(value) > float(probabilities[best]):
            best = index
    return CLASSES[best]


def within_unit(value: Fraction) -> Fraction:
    """Clamped to [0, 1]."""
    return min(Fraction(1), max(Fraction(0), value))


def lesions(
    truth: Sequence[Record],
    sent: Sequence[Sent],
    model: Record | None,
    times: tuple[str, str] | None = None,
    minimum: Fraction = GATE,
) -> Outcome:
    """The track `lesions`; `times` are the shortest and the longest of the competition, as decimals."""
    pairs: list[tuple[str, str | None]] = []
    for true in truth:
        mine = [one for one in sent if one.record.get("image_id") == true["image_id"]]
        done = state(mine) == "processed"
        pairs.append((true["label"], largest(mine[0].record["probabilities"]) if done else None))
    processed = sum(1 for _, predicted in pairs if predicted is not None)
    if Fraction(processed, len(truth)) < minimum:
        return Outcome(False, None, len(truth), processed)

    accuracy = Fraction(sum(1 for true, predicted in pairs if true == predicted), len(truth))
    by_class = {name: of_class(pairs, name) for name in CLASSES}
    malignant = mean([by_class[name] for name in MALIGNANT])
    medium = mean([by_class[name] for name in MEDIUM])
    benign = mean([by_class[name] for name in BENIGN])
    weighted = (3 * malignant + 2 * medium + benign) / 6
    prediction = Fraction(1, 2) * accuracy + Fraction(1, 2) * weighted
    efficiency = final = points = None
    if model is not None and not model.get("gpu"):
        size = number(model["model_size_mb"])
        time = number(model["inference_time_ms"])
        shortest, longest = (Fraction(times[0]), Fraction(times[1])) if times else (time, time)
        size_part = Fraction(1) if size < 50 else within_unit(1 - (size - 20) / Fraction(150 - 20))
        time_part = Fraction(1)
        if longest != shortest:
            time_part = within_unit(1 - (time - shortest) / (longest - shortest))
        efficiency = Fraction(1, 2) * size_part + Fraction(1, 2) * time_part
        final = Fraction(9, 10) * prediction + Fraction(1, 10) * efficiency
        points = 100 * final
    matrix = {}
    for row in CLASSES:
        matrix[row] = {column: sum(1 for pair in pairs if pair == (row, column)) for column in CLASSES}
        matrix[row]["unprocessed"] = sum(1 for pair in pairs if pair == (row, None))
    result = {
        "accuracy": rounded(accuracy),
        "f1_by_class": {name: rounded(value) for name, value in by_class.items()},
        "f1_malignant": rounded(malignant),
        "f1_medium": rounded(medium),
        "f1_benign": rounded(benign),
        "weighted_f1": rounded(weighted),
        "prediction_score": rounded(prediction),
        "efficiency_score": rounded(efficiency),
        "final_score": rounded(final),
        "points": rounded(points),
        "confusion_matrix": matrix,
    }
    return Outcome(True, result, len(truth), processed)


# --- extraction ----------------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of document, and how it is scored."""

    doc_type: str
    name: str
    """The field that names an item."""
    fields: tuple[str, ...]
    labeled: str
    """The list of items in a label."""
    read: str
    """The list of items in a prediction."""
    recall_weight: Fraction
    field_weight: Fraction


PRESCRIPTION = Kind(
    "prescription",
    "nombre_medicamento",
    ("dosis", "frecuencia", "duracion", "instrucciones"),
    "medications",
    "medicamentos",
    Fraction(70, 100),
    Fraction(30, 100),
)
LAB = Kind(
    "lab",
    "nombre_prueba",
    ("valor", "unidad", "estado", "rango_referencia"),
    "results",
    "resultados",
    Fraction(60, 100),
    Fraction(40, 100),
)


def is_letter(char: str) -> bool:
    """A letter of the normalization, ASCII A-Z."""
    return len(char) == 1 and char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def tight(text: str) -> str:
    """The tight form, character by character: steps 1 to 3, the deletion, and the other steps."""
    chars: list[str] = []
    for char in powers(micro_signs(text)):
        chars += ["’"] if char == "’" else list(latin_upper_case(punctuation_of_other_scripts(char)))
    left = []
    for place, char in enumerate(chars):
        before = chars[place - 1] if place > 0 else ""
        two_before = chars[place - 2] if place > 1 else ""
        after = chars[place + 1] if place + 1 < len(chars) else ""
        between_letters = char in (".", "-", "'", "’") and is_letter(before) and is_letter(after)
        alone = is_letter(before) and not is_letter(two_before)
        abbreviation = char == "." and alone and not (after.isdigit() or after == "-")
        if not between_letters and not abbreviation:
            left.append(" " if char == "’" else char)
    return normalize("".join(left))


def same(one: str, other: str) -> bool:
    """Equal after normalization."""
    return normalize(one) == normalize(other) or tight(one) == tight(other)


def is_number(text: str) -> bool:
    """Whether the 2 % rule treats a text as a number."""
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", normalize(text)) is not None


def field_is_right(field: str, label: str, read: str) -> bool:
    """Whether they are equal after normalization; values may also be within 2 % of the label, in decimal."""
    if same(label, read):
        return True
    if field != "valor" or not is_number(label) or not is_number(read):
        return False
    wanted, got = Fraction(Decimal(normalize(label))), Fraction(Decimal(normalize(read)))
    return abs(got - wanted) <= Fraction(2, 100) * abs(wanted)


def text_of(item: Record, field: str) -> str:
    """A field of an item; in predictions, absent and null mean the empty text."""
    return item.get(field) or ""


def right_fields(kind: Kind, item: Record, read: Record) -> list[bool]:
    """Of each field that counts, whether it is right."""
    counted = [field for field in kind.fields if field != "rango_referencia" or normalize(item[field]) != ""]
    return [field_is_right(field, item[field], text_of(read, field)) for field in counted]


def best_choice(points: list[list[int]]) -> list[int | None]:
    """Every way to pair as many as possible is tried, the lexicographically smallest first; the first best one wins."""
    read = len(points[0])
    unpaired = max(0, len(points) - read)
    best: tuple[int, list[int | None]] | None = None
    for choice in sorted(set(permutations([*range(read), *[read] * unpaired], len(points)))):
        total = sum(row[place] for row, place in zip(points, choice, strict=True) if place < read)
        if best is None or total > best[0]:
            best = total, [place if place < read else None for place in choice]
    assert best is not None
    return best[1]


def paired_items(kind: Kind, labeled: Sequence[Record], read: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Equal normalized names, then equal tight ones; never empty ones, one to one, with the most correct fields."""
    pairs = []
    wanted, left = list(labeled), list(read)
    for form in (normalize, tight):
        for name in {form(item[kind.name]) for item in wanted} - {""}:
            mine = [item for item in wanted if form(item[kind.name]) == name]
            theirs = [candidate for candidate in left if form(text_of(candidate, kind.name)) == name]
            if not theirs:
                continue
            points = [[sum(right_fields(kind, item, candidate)) for candidate in theirs] for item in mine]
            for item, place in zip(mine, best_choice(points), strict=True):
                if place is not None:
                    pairs.append((item, theirs[place]))
        wanted = [item for item in wanted if all(item is not one for one, _ in pairs)]
        left = [candidate for candidate in left if all(candidate is not one for _, one in pairs)]
    return pairs


def extraction_document(kind: Kind, label: Record, answer: Record | None) -> tuple[Record, Fraction]:
    """A row of the result, and its exact score."""
    labeled = label[kind.labeled]
    works = answer is not None and answer["parse_success"] and blank(answer.get("exception"))
    pairs = paired_items(kind, labeled, answer[kind.read]) if answer is not None and works else []
    correct = total = 0
    for item, read in pairs:
        found = right_fields(kind, item, read)
        total += len(found)
        correct += sum(found)
    recall = Fraction(len(pairs), len(labeled))
    accuracy = Fraction(correct, total) if total else Fraction(0)
    score = kind.recall_weight * recall + kind.field_weight * accuracy
    row = {
        "doc_id": label["doc_id"],
        "doc_type": kind.doc_type,
        "score": rounded(score),
        "recall": rounded(recall),
        "field_accuracy": rounded(accuracy),
        "matched": len(pairs),
        "labeled": len(labeled),
        "correct_fields": correct,
        "total_fields": total,
    }
    return row, score


def document_succeeded(kind: Kind, answer: Record | None) -> bool:
    """Whether a labeled document counts as a successful run."""
    if answer is None or not answer["parse_success"] or not blank(answer.get("exception")):
        return False
    return any(not blank(item.get(kind.name)) for item in answer[kind.read])


def run_succeeded(run: Record) -> bool:
    """Whether a run of `extraction/runs` succeeded."""
    return bool(run["parse_success"] and blank(run.get("exception")) and run["valid_items"] >= 1)


def moment(text: str) -> tuple[Fraction, bool]:
    """A date or a date with time, as seconds, and whether it has an offset. A date is its midnight."""
    if len(text) == 10:
        text += "T00:00:00"
    found = re.fullmatch(r"(.{10}).([0-9:]{8})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?", text)
    assert found is not None
    offset = {None: "+00:00", "Z": "+00:00"}.get(found[4], found[4])
    whole = datetime.fromisoformat(f"{found[1]}T{found[2]}{offset}") - datetime.fromisoformat("1970-01-01T00:00+00:00")
    seconds = Fraction(whole.days * 86400 + whole.seconds) + Fraction(Decimal(f"0{found[3] or '.0'}"))
    return seconds, found[4] is not None


def is_remote(backend: str) -> bool:
    """Whether a backend has a word of the list, as a whole word, in any case; `_` and `-` separate words, too."""
    spaced = " " + re.sub("[^a-z0-9]+", " ", backend.lower()) + " "
    listed = [word for group in REMOTE_WORDS.values() for word in group]
    return any(" " + word.replace("_", " ") + " " in spaced for word in listed)


def reliability(runs: Sequence[Record]) -> tuple[int, bool]:
    """The value of the gate, and whether it passed."""
    mine = [run for run in runs if run["kind"] == "reliability"]
    times = [moment(run["started_at"]) for run in mine if run.get("started_at") is not None]
    if len(times) == len(mine) and len({has_offset for _, has_offset in times}) <= 1:
        mine.sort(key=lambda run: moment(run["started_at"])[0])
    last = mine[-5:]
    successes = sum(1 for run in last if run_succeeded(run))
    no_restart = not any(run["restarted"] for run in last[1:])
    one_version = len({run["code_version"] for run in last}) == 1
    return successes, len(last) == 5 and successes == 5 and no_restart and one_version


def extraction(
    truth: Sequence[Record],
    sent: Sequence[Sent],
    runs: Sequence[Record] | None = None,
    evidence: Record | None = None,
    manifest: Sequence[Record] | None = None,
    minimum: Fraction = GATE,
) -> Outcome:
    """The track `extraction`; labels and predictions of both kinds are one list each. Without reasons of gates."""
    rows, successes, processed = [], 0, 0
    scores: dict[str, list[Fraction]] = {"prescription": [], "lab": []}
    for label in truth:
        kind = PRESCRIPTION if label["doc_type"] == "prescription" else LAB
        mine = [one for one in sent if kind.read in one.record and one.record.get("doc_id") == label["doc_id"]]
        answer = mine[0].record if len(mine) == 1 and mine[0].valid else None
        processed += answer is not None
        successes += document_succeeded(kind, answer)
        row, score = extraction_document(kind, label, answer)
        rows.append(row)
        scores[kind.doc_type].append(score)
    rows.sort(key=lambda row: (row["doc_type"], row["doc_id"]))

    prescriptions = 100 * mean(scores["prescription"]) if scores["prescription"] else None
    labs = 100 * mean(scores["lab"]) if scores["lab"] else None
    evaluations = [run for run in runs or [] if run["kind"] == "evaluation"]
    if evaluations:
        pipeline = 100 * Fraction(sum(1 for run in evaluations if run_succeeded(run)), len(evaluations))
    else:
        pipeline = 100 * Fraction(successes, len(truth))

    gates: list[tuple[str, int, float | None, bool | None]] = []
    for name, goal, figure in (
        ("prescription_accuracy", 85, prescriptions),
        ("lab_accuracy", 75, labs),
        ("pipeline_success_rate", 90, pipeline),
    ):
        value = rounded(figure)
        gates.append((name, goal, value, None if value is None else value >= goal))
    successes_in_a_row, reliable = (None, None) if runs is None else reliability(runs)
    gates.append(("reliability", 5, successes_in_a_row, reliable))
    offline = None
    if evidence is not None:
        offline = sum(1 for run in evidence["offline_runs"] if not is_remote(run["backend"]))
    gates.append(("offline_evidence", 1, offline, None if offline is None else offline >= 1))
    proofs = None
    if evidence is not None and manifest is not None:
        known = [document["doc_id"] for document in manifest]
        counted: list[Record] = []
        for proof in evidence["proofs"]:
            if proof["doc_id"] in known and proof not in counted:
                counted.append(proof)
        proofs = len(counted)
    gates.append(("standout_proofs", 2, proofs, None if proofs is None else proofs >= 2))

    enough = Fraction(processed, len(truth)) >= minimum
    result = {
        "prescription_accuracy": rounded(prescriptions),
        "lab_accuracy": rounded(labs),
        "pipeline_success_rate": rounded(pipeline),
        "documents": rows,
        "gates": [
            {
                "gate": name,
                "goal": float(goal),
                "measured": None if measured is None else float(measured),
                "passed": passed,
            }
            for name, goal, measured, passed in gates
        ],
        "decision": "GO" if enough and all(passed for _, _, _, passed in gates) else "NO-GO",
    }
    return Outcome(enough, result, len(truth), processed)


# --- benchmark -----------------------------------------------------------------------------------


class UsageError(Exception):
    """The call is wrong, so that there is no score."""


ENTITY_WEIGHTS = {"diagnoses": 3, "treatments": 2, "medications": 2, "symptoms": 1, "labs": 1}
ABBREVIATIONS: dict[str, list[str]] = json.loads(LEXICON.read_text(encoding="utf-8"))["abbreviations"]
"""The table of ambiguous abbreviations, of the built-in lexicon."""
METRIC_CATEGORIES = {
    "diagnostics": ("clinical_accuracy", "diagnostic_accuracy", "final_answer_correct", "exact_match"),
    "safety": ("safety", "harm_avoidance", "toxicity_reduction", "factuality_safety"),
    "communication": ("communication", "coherence", "helpfulness", "instruction_following"),
    "summarization": ("summarization", "summary_quality", "rouge_l", "rouge1", "rouge2", "bertscore"),
}


def searched_answer(side: Record, terms: Terms) -> str:
    """The normalized answer in which terms are searched.

    Abbreviations of the table count as their names, in capitals or as the whole answer.
    """
    answer = unicodedata.normalize("NFC", side.get("answer") or "")
    names = {short.upper(): name for name, shorts in ABBREVIATIONS.items() for short in shorts}
    if terms is not built_in_terms():
        names = {}
    whole = terms.normalize(answer).upper()
    if whole in names:
        return terms.normalize(names[whole])
    pieces = re.split(r"([^\W_]+)", answer)
    return terms.normalize("".join(f" {names[piece]} " if piece in names else piece for piece in pieces))


def side_entities(side: Record, terms: Terms) -> dict[str, set[str]]:
    """The entities of one side: as given, even if empty; otherwise extracted from its answer."""
    found: dict[str, set[str]] = {}
    given = side.get("entities")
    for category in ENTITY_WEIGHTS:
        if given is not None:
            found[category] = {terms.normalize(name) for name in given.get(category, [])}
        else:
            found[category] = set(terms.entities(searched_answer(side, terms))[category])
    return found


def clinical_accuracy(reference: Record, prediction: Record, terms: Terms) -> Fraction | None:
    """Weighted Jaccard index of the entities; if there are none, whether the answers are equal."""
    if blank(reference.get("answer")) and reference.get("entities") is None:
        return None
    true, predicted = side_entities(reference, terms), side_entities(prediction, terms)
    both = either = 0
    for category, weight in ENTITY_WEIGHTS.items():
        both += weight * len(true[category] & predicted[category])
        either += weight * len(true[category] | predicted[category])
    if either == 0:
        answers = [terms.normalize(side.get("answer") or "") for side in (reference, prediction)]
        return Fraction(1) if answers[0] == answers[1] else Fraction(0)
    return Fraction(both, either)


def token_f1(first: Sequence[str], second: Sequence[str]) -> Fraction:
    """Of two multisets of words."""
    left = list(second)
    common = 0
    for word in first:
        if word in left:
            left.remove(word)
            common += 1
    return f1(common, len(second) - common, len(first) - common)


def longest_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """By the table over all pairs of tokens, row by row."""
    above = [0] * (len(second) + 1)
    for word in first:
        row = [0]
        for column, other in enumerate(second):
            row.append(above[column] + 1 if word == other else max(above[column + 1], row[column]))
        above = row
    return above[-1]


def exact_match(reference: Record, prediction: Record, terms: Terms) -> Fraction | None:
    """Whether the normalized answers are equal."""
    if blank(reference.get("answer")):
        return None
    equal = terms.normalize(reference["answer"]) == terms.normalize(prediction.get("answer") or "")
    return Fraction(1) if equal else Fraction(0)


def rouge_l(reference: Record, prediction: Record, terms: Terms) -> Fraction | None:
    """The F-measure of precision and recall of the longest common subsequence, beta 1."""
    if blank(reference.get("answer")):
        return None
    wanted, said = (terms.normalize(side.get("answer") or "").split() for side in (reference, prediction))
    common = longest_common_subsequence(wanted, said)
    if common == 0:
        return Fraction(0)
    precision, recall = Fraction(common, len(said)), Fraction(common, len(wanted))
    return 2 * precision * recall / (precision + recall)


LIST_SIGNS = "-*+•"


def listed_lines(text: str) -> set[str]:
    """Whether some line is numbered, and whether some line has a bullet."""
    kinds = set()
    for line in text.split("\n"):
        start, space, rest = line.strip(" ").partition(" ")
        if not space or not rest.strip():
            continue
        if start in LIST_SIGNS:
            kinds.add("bulleted")
        digits = start.lstrip("(").rstrip(".)")
        if digits.isdigit() and len(digits) <= 2 and start[-1] in ".)":
            kinds.add("numbered")
    return kinds


def reasoning_quality(reference: Record, prediction: Record, terms: Terms) -> Fraction | None:
    """Overlap, structure, evidence and facts, minus fallacies."""
    if blank(reference.get("rationale")):
        return None
    if blank(prediction.get("rationale")):
        return Fraction(0)
    wanted, said = terms.normalize(reference["rationale"]), terms.normalize(prediction["rationale"])
    overlap = token_f1(wanted.split(), said.split())
    markers = len(terms.markers(said).structure) + len(listed_lines(prediction["rationale"]))
    structure = min(Fraction(1), Fraction(markers, 3))
    evidence = min(Fraction(1), Fraction(len(terms.markers(said).evidence), 3))
    if blank(reference.get("diagnosis")):
        facts = terms.facts(searched_answer(reference, terms))
    else:
        facts = terms.facts(normal_diagnosis(reference["diagnosis"], terms))
    factual = evidence
    if facts:
        factual = min(Fraction(1), Fraction(len(terms.found(facts, said)), max(1, len(facts) // 2)))
    penalty = min(Fraction(40, 100), Fraction(15, 100) * len(terms.markers(said).fallacies))
    return within_unit(
        Fraction(40, 100) * overlap
        + Fraction(15, 100) * structure
        + Fraction(20, 100) * evidence
        + Fraction(25, 100) * factual
        - penalty
    )


def normal_diagnosis(diagnosis: str, terms: Terms) -> str:
    """A diagnosis that as a whole is a known abbreviation means its long form."""
    found = terms.normalize(diagnosis)
    for name, abbreviations in ABBREVIATIONS.items():
        if terms is built_in_terms() and found in [terms.normalize(short) for short in abbreviations]:
            return name
    return found


def diagnostic_accuracy(reference: Record, prediction: Record, terms: Terms) -> Fraction | None:
    """Whether the diagnoses are equal."""
    if blank(reference.get("diagnosis")):
        return None
    wanted, said = (normal_diagnosis(side.get("diagnosis") or "", terms) for side in (reference, prediction))
    equal = wanted == said
    return Fraction(1) if equal else Fraction(0)


def asked(reference: Record, more: Sequence[str] = ()) -> list[str]:
    """The metrics that apply to a reference. `more`: named by the parameter `answer_metrics`."""
    found = []
    if not blank(reference.get("answer")) or reference.get("entities") is not None:
        found.append("clinical_accuracy")
    if not blank(reference.get("rationale")):
        found.append("reasoning_quality")
    if not blank(reference.get("diagnosis")):
        found.append("diagnostic_accuracy")
    if not blank(reference.get("answer")):
        found += more
    return found


def is_answer(value: Any) -> bool:
    """Whether a reference is valid by itself: CONTRACTS.md, track `benchmark`."""
    if not isinstance(value, dict) or not value.keys() <= {"answer", "rationale", "diagnosis", "entities"}:
        return False
    if not all(isinstance(value.get(name), str | None) for name in ("answer", "rationale", "diagnosis")):
        return False
    entities = value.get("entities")
    if entities is None:
        return True
    return isinstance(entities, dict) and all(
        category in ENTITY_WEIGHTS
        and isinstance(names, list)
        and all(isinstance(n, str) and not blank(n) for n in names)
        for category, names in entities.items()
    )


def sample_scores(reference: Record, record: Record, terms: Terms, more: Sequence[str] = ()) -> dict[str, Fraction]:
    """All metrics of a processed sample; given ones take precedence."""
    found = {}
    for name, metric in (
        ("clinical_accuracy", clinical_accuracy),
        ("reasoning_quality", reasoning_quality),
        ("diagnostic_accuracy", diagnostic_accuracy),
        ("exact_match", exact_match),
        ("rouge_l", rouge_l),
    ):
        if name in ("exact_match", "rouge_l") and name not in more:
            continue
        value = metric(reference, record["prediction"], terms)
        if value is not None:
            found[name] = value
    for name, given in (record.get("scores") or {}).items():
        found[name] = number(given)
    return found


def weighed(key: str, scores: dict[str, Fraction], changed: Record) -> Fraction | None:
    """The value in a task that the weight of this name applies to, if any. `changed`: custom categories."""
    if key in scores:
        return scores[key]
    members = changed[key] if key in changed else METRIC_CATEGORIES.get(key, ())
    present = [scores[name] for name in members if name in scores]
    return mean(present) if present else None


def combined(scores: dict[str, Fraction], weights: Record) -> Fraction | None:
    """The combined score of a task. A weight is the shortest decimal of its double."""
    exact = {name: Fraction(repr(float(weight))) for name, weight in weights["weights"].items()}
    total = all_weights = Fraction(0)
    value = Fraction(0)
    some = False
    for name, weight in exact.items():
        all_weights += weight
        present = weighed(name, scores, weights.get("categories") or {})
        if present is not None:
            some = True
            total += weight
            value += weight * present
    if weights.get("renormalize_missing") is False:
        total = all_weights
    return value / total if some and total != 0 else None


def add_combined(tasks: dict[str, dict[str, Fraction]], weights: Record, replace: bool = False) -> None:
    """The combined score, in each task that has one."""
    name = weights.get("metric_name") or "combined_score"
    if not replace and any(name in scores for scores in tasks.values()):
        raise UsageError("the metric exists")
    for scores in tasks.values():
        scores.pop(name, None)
    values = {task: combined(scores, weights) for task, scores in tasks.items()}
    if not any(value is not None for value in values.values()):
        raise UsageError("nothing to combine")
    for task, value in values.items():
        if value is not None:
            tasks[task][name] = value


def pair_of(record: Record) -> tuple[str, str]:
    """The key of a sample."""
    return record["task_id"], record["sample_id"]


def means(found: Iterable[dict[str, Fraction]]) -> dict[str, Fraction]:
    """For each metric, the mean over the samples that have it."""
    values: dict[str, list[Fraction]] = {}
    for scores in found:
        for name, value in scores.items():
            values.setdefault(name, []).append(value)
    return {name: mean(each) for name, each in values.items()}


def shown(scores: dict[str, Fraction]) -> Record:
    """Each value as the nearest double."""
    return {name: rounded(value) for name, value in scores.items()}


def benchmark(
    references: Sequence[Record] | None,
    sent: Sequence[Sent],
    model_id: str,
    weights: Record | None = None,
    minimum: Fraction = GATE,
    terms: Terms | None = None,
    more: Sequence[str] = (),
) -> Outcome:
    """The track `benchmark`; without references, the submission consists of samples, which define what is expected.

    `detailed_results` are always there, without breakdowns. Raises `UsageError`.
    """
    terms = terms or built_in_terms()
    expected = sorted({pair_of(one.record) for one in sent} if references is None else set(map(pair_of, references)))
    processed: dict[tuple[str, str], dict[str, Fraction]] = {}
    wanted: dict[tuple[str, str], set[str]] = {}
    for ids in expected:
        mine = [one for one in sent if pair_of(one.record) == ids]
        if references is None:
            right = [one.record["reference"] for one in mine if one.valid or is_answer(one.record.get("reference"))]
        else:
            right = [one["reference"] for one in references if pair_of(one) == ids]
        wanted[ids] = {name for reference in right for name in asked(reference, more)}
        if state(mine) == "processed":
            processed[ids] = sample_scores(right[0], mine[0].record, terms, more)
    if Fraction(len(processed), len(expected)) < minimum:
        return Outcome(False, None, len(expected), len(processed))

    samples: dict[tuple[str, str], dict[str, Fraction]] = {}
    for task, sample in expected:
        if (task, sample) in processed:
            samples[task, sample] = processed[task, sample]
        else:
            others = {name for ids, scores in processed.items() if ids[0] == task for name in scores}
            samples[task, sample] = dict.fromkeys(wanted[task, sample] | others, Fraction(0))
    tasks = {}
    for task in sorted({task for task, _ in expected}):
        tasks[task] = means(scores for ids, scores in samples.items() if ids[0] == task)
    if weights is not None:
        add_combined(tasks, weights)
    result = {
        "model_id": model_id,
        "overall_scores": shown(means(tasks.values())),
        "task_scores": {task: shown(scores) for task, scores in tasks.items()},
        "detailed_results": [
            {"task_id": task, "sample_id": sample, "scores": shown(scores)}
            for (task, sample), scores in samples.items()
        ],
    }
    return Outcome(True, result, len(expected), len(processed))
