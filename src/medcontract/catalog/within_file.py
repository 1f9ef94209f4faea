"""MC2xx: rules within a file."""

from __future__ import annotations

from medcontract.catalog.entry import Entry

ENTRIES = (
    Entry(
        "MC201", "Repeated id",
        "Two records have the same id, or the same pair of ids. Reported at the later one.",
        "image_id,label\nI-1,MEL\nI-1,NV",
        "image_id,label\nI-1,MEL\nI-2,NV",
    ),
    Entry(
        "MC202", "Wrong sum",
        "The correctly rounded sum of the probabilities is outside [0.999, 1.001].",
        '{"probabilities": [0.3, 0.3, 0.3, 0, 0, 0, 0, 0, 0, 0]}',
        '{"probabilities": [0.34, 0.33, 0.33, 0, 0, 0, 0, 0, 0, 0]}',
    ),
    Entry(
        "MC203", "Wrong order",
        "One value must not be less than another: a segment stops before it starts, or an answer is received before "
        "its message was sent.",
        '{"segment_start_time_sec": 60, "segment_stop_time_sec": 30}',
        '{"segment_start_time_sec": 30, "segment_stop_time_sec": 60}',
    ),
    Entry(
        "MC204", "Date does not exist",
        "The format of the date is correct, but there is no such day in the calendar.",
        '{"evaluation_date": "2026-02-30"}',
        '{"evaluation_date": "2026-02-28"}',
    ),
    Entry(
        "MC205", "Start of case",
        "Each case has exactly one segment with `start_of_case`: its earliest, by start, then stop. A case without one "
        "is reported at its first record, an extra or misplaced flag at the flag.",
        "two segments of a case with start_of_case true",
        "start_of_case true on the earliest segment only",
    ),
    Entry(
        "MC206", "End of case",
        "Each case has exactly one segment with `end_of_case`: its latest, by start, then stop.",
        "no segment of a case with end_of_case true",
        "end_of_case true on the latest segment",
    ),
    Entry(
        "MC207", "Several admissions",
        "At most one segment of a case has `at_admission`.",
        "two segments of a case with at_admission true",
        "at_admission true on the segment that includes the admission",
    ),
    Entry(
        "MC208", "Cumulative runtime falls",
        "In the order in which messages were sent, `cumulative_runtime_sec` should never fall. A warning.",
        "sent 100.0: runtime 8.5; sent 101.0: runtime 3.1",
        "sent 100.0: runtime 8.5; sent 101.0: runtime 9.2",
    ),
    Entry(
        "MC209", "Several runs in one file",
        "The records have more than one `run_id`. A warning, at the first that differs.",
        "records of two evaluation runs in one response file",
        "one file per run",
    ),
    Entry(
        "MC210", "Raw response without error",
        "`raw_response` is intended for answers with an `error`. A warning.",
        '{"raw_response": ["Airway"], "error": null}',
        '{"raw_response": null, "error": null}',
    ),
    Entry(
        "MC211", "Group listed twice",
        "One prediction lists the same group twice. It counts once. A warning.",
        '{"model_predictions": ["Airway", "Airway"]}',
        '{"model_predictions": ["Airway"]}',
    ),
    Entry(
        "MC212", "Model of 150 MB or more",
        "The competition requires less than 150 MB; a larger model gets no points for size. A warning.",
        '{"model_size_mb": 180}',
        '{"model_size_mb": 48.5}',
    ),
    Entry(
        "MC214", "Items of a failed run",
        "Items are listed although `parse_success` is false or an `exception` is given. The run counts as failed, "
        "regardless of its items. A warning.",
        '{"parse_success": false, "medicamentos": [{"nombre_medicamento": "METFORMINA", …}]}',
        '{"parse_success": false, "medicamentos": []}',
    ),
    Entry(
        "MC215", "No reviewer",
        "`label_status` is `reviewed`, but `reviewer` is empty. A warning.",
        '{"label_status": "reviewed", "reviewer": ""}',
        '{"label_status": "reviewed", "reviewer": "annotator-2"}',
    ),
    Entry(
        "MC216", "Ambiguous thousands separator",
        "A value such as 100.000 may mean one hundred thousand, or one hundred with three decimals. It is kept as "
        "printed and compared as one hundred. A warning.",
        '{"nombre_prueba": "PLAQUETAS", "valor": "250.000"}',
        '{"nombre_prueba": "PLAQUETAS", "valor": "250000"}      (if that is what is printed)',
    ),
    Entry(
        "MC217", "All weights are zero",
        "All weights are 0, so there is nothing to combine.",
        '{"weights": {"diagnostics": 0, "safety": 0}}',
        '{"weights": {"diagnostics": 0.6, "safety": 0.4}}',
    ),
    Entry(
        "MC218", "Nothing to score",
        "A sample needs a non-blank reference answer, rationale or diagnosis, reference entities (even if empty), or, "
        "if reference and prediction are in the same record, scores.",
        '{"task_id": "T-1", "sample_id": "S-1", "reference": {"answer": ""}}',
        '{"task_id": "T-1", "sample_id": "S-1", "reference": {"answer": "Iron deficiency anaemia"}}',
    ),
    Entry(
        "MC219", "Term in two categories",
        "A term of a lexicon is listed in two categories, which makes it ambiguous. Accents, case and punctuation are "
        "ignored. Reported in the later category, in the order diagnoses, treatments, medications, symptoms, labs.",
        '{"entities": {"diagnoses": ["edema"], "symptoms": ["Edema"]}}',
        '{"entities": {"symptoms": ["edema"]}}',
    ),
    Entry(
        "MC220", "Ambiguous synonym",
        "A spelling in the `synonyms` of a lexicon belongs to two names: it is listed under both, or it is itself a "
        "name (an entity, or a key of `synonyms`). The same applies to `abbreviations` and its keys. Accents, case and "
        "punctuation are ignored.",
        '{"synonyms": {"heart failure": ["HF"], "hydrogen fluoride": ["HF"]}}',
        '{"synonyms": {"heart failure": ["HF"], "hydrogen fluoride": ["hydrofluoric acid"]}}',
    ),
    Entry(
        "MC221", "Unknown name in a challenge",
        "A metric, a weight, a rule or the headline of a challenge file refers to a field, a value, a metric or a sum "
        "that does not exist.",
        '[score]\nheadline = "macro_f"',
        '[score]\nheadline = "macro_f1"',
    ),
    Entry(
        "MC222", "Fields of prediction and truth differ",
        "A metric compares a field of the prediction with the field of the same name of the truth. Both must have the "
        "same type, and the same values in the same order.",
        '[prediction]\nlabel = { one_of = ["yes", "no"] }\n[truth]\nlabel = { type = "boolean" }',
        '[prediction]\nlabel = { type = "boolean" }\n[truth]\nlabel = { type = "boolean" }',
    ),
    Entry(
        "MC223", "Field does not suit its use",
        "A metric or a rule of a challenge file needs a field of another type, or with bounds.",
        'kind = "auroc"\nfield = "label"            (one_of)',
        'kind = "auroc"\nfield = "probability"      (number)',
    ),
    Entry(
        "MC224", "Not exactly one of several keys",
        "Of some keys of a challenge file, exactly one must be given: `average`, `weights` and `positive` of a metric, "
        "`absolute` and `relative`, `type` and `one_of` of a field.",
        'kind = "f1"\nfield = "label"',
        'kind = "f1"\nfield = "label"\naverage = "macro"',
    ),
    Entry(
        "MC225", "Name or value taken",
        "A name of a challenge file is reserved or used twice, or a list contains a value twice. Names of metrics and "
        "sums are unique together; the id of a challenge is not that of a built-in track.",
        '[[metric]]\nname = "f1"\n[score.sums]\nf1 = { accuracy = 1 }',
        '[[metric]]\nname = "f1"\n[score.sums]\ntotal = { accuracy = 1 }',
    ),
    Entry(
        "MC226", "Wrong sign of a weight",
        "In a sum, metrics that are better when lower (brier, mae, mse, rmse) need negative weights, so that a higher "
        "sum is better. A negative weight of another metric is a warning.",
        "total = { accuracy = 1, brier = 0.5 }",
        "total = { accuracy = 1, brier = -0.5 }",
    ),
    Entry(
        "MC227", "Rule of the challenge violated",
        "The record, or the list, violates a rule of the challenge file. The message says which.",
        '{"case_id": "C-1", "first_day": 5, "last_day": 3}      (order: first_day, last_day)',
        '{"case_id": "C-1", "first_day": 3, "last_day": 5}',
    ),
    Entry(
        "MC228", "Repeated item of a set",
        "The field is a set: a list without repetition.",
        '{"case_id": "C-1", "findings": ["edema", "edema"]}',
        '{"case_id": "C-1", "findings": ["edema"]}',
    ),
)  # fmt: skip
