"""MC4xx and MC5xx: gates and advice."""

from __future__ import annotations

from medcontract.catalog.entry import Entry

ENTRIES = (
    Entry(
        "MC401", "Too few items processed",
        "Less than 95 % of the expected items were processed (exactly one record, valid and without an error). The "
        "submission is refused.",
        "20 reports expected, 18 processed",
        "20 reports expected, 19 processed",
    ),
    Entry(
        "MC402", "Limit exceeded",
        "The submission uses more time, memory or CPU than allowed, its model is too large, one of its runs ended "
        "with an exception, or a gate of the decision is not passed.",
        '{"run_id": "1", "max_memory_mb": 1500, "avg_cpu_percent": 40}',
        '{"run_id": "1", "max_memory_mb": 900, "avg_cpu_percent": 40}',
    ),
    Entry(
        "MC403", "No answers",
        "The files of the submission contain no records, every record reports an error, or no record predicts "
        "anything, or no document was parsed. Checked by `preflight`; `score` and `leaderboard` warn of the last.",
        '{"team_name": "Andes", "predictions": []}',
        '{"team_name": "Andes", "predictions": [{"image_id": "I-1", "probabilities": [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]}]}',
    ),
    Entry(
        "MC404", "No label occurs in the truth",
        "None of the predicted labels, such as groups of interventions or names of medications, occurs anywhere in the "
        "truth, or no predicted item is labeled in its document, so that no answer can be right. An error in "
        "`preflight`, a warning in `score` and `leaderboard`.",
        'truth: "Airway"; predicted: "Vía aérea"',
        'truth: "Airway"; predicted: "Airway"',
    ),
    Entry(
        "MC501", "Model of 50 MB or more",
        "Models below 50 MB get all points for size. A warning.",
        '{"model_size_mb": 62}',
        '{"model_size_mb": 48.5}',
    ),
    Entry(
        "MC502", "Differs only in spelling",
        "Ids or labels differ from the expected ones only in case, accents, whitespace, leading zeros or separators, "
        "or in a prefix or suffix that all of them have or lack, so that they do not count. A warning.",
        'expected: "R-007"; in the submission: "r-7"',
        'expected: "R-007"; in the submission: "R-007"',
    ),
    Entry(
        "MC503", "Probably a mistake",
        "The files are valid, but something in them is probably not intended: no case has an end, documents of the "
        "manifest are not ready, an offline run names a hosted service, the files name different teams, times seem to "
        "be in milliseconds, ids are in scientific notation. A warning, in most cases of `preflight`, or an error if "
        "nothing can be scored because no record contains an answer.",
        '{"backend": "https://api.example.com"}',
        '{"backend": "llama.cpp"}',
    ),
    Entry(
        "MC504", "Headline figure of 0",
        "The submission can be scored, but the figure that submissions are ranked by is 0 or less. A "
        "warning.",
        "mean_jaccard_index 0",
        "mean_jaccard_index 0.54",
    ),
    Entry(
        "MC505", "Leaving out cases may pay",
        "A regression metric of a challenge file counts less for an unprocessed case than for the largest possible "
        "error, or the errors have no limit. Participants could improve their score by leaving out the worst cases.",
        'risk = { type = "number", min = 0, max = 100 }\nunprocessed = 10',
        'risk = { type = "number", min = 0, max = 100 }\nunprocessed = 100',
    ),
    Entry(
        "MC506", "Answers may be made for the metric",
        "The answers contain what the metric counts, whatever the case: one rationale for many samples, rationales "
        "that consist of markers to an improbable extent, or far more predicted than labeled items. The figures stay "
        "the same. A warning, which marks the submission in a ranking.",
        "first second third therefore based on laboratory imaging blood pressure … (for every sample)",
        "Because of recent hip surgery and a swollen calf, deep vein thrombosis is likely.",
    ),
    Entry(
        "MC510", "Keys not in the contract",
        "The contract, which was recognized from the content, allows other columns or keys, and the file has some, "
        "which are ignored. A warning, because the file may be meant as something else. Not given if the contract is "
        "specified.",
        "report_id,ward                     (recognized as reports/cases)",
        "medcontract validate reports/cases=cases.csv",
    ),
    Entry(
        "MC511", "No rows",
        "The table has a header row, but no other rows. A warning: it is valid, but probably not complete.",
        "report_id,specialty,urgency,follow_up",
        "report_id,specialty,urgency,follow_up\nR-1,Oncology,Urgent,true",
    ),
)  # fmt: skip
