"""The list of problem codes: what each means, an example of the mistake, and its fix.

`medcontract explain` and `docs/codes.md` are generated from it, and a test proves that each code can occur. Plugins can
add codes with another prefix (`contracts.custom_codes`).
MC0xx: file and syntax, MC1xx: structure (what JSON Schema can express), MC2xx: rules within a file,
MC3xx: rules across files, MC4xx: gates, MC5xx: advice.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A problem code."""

    code: str
    title: str
    meaning: str
    mistake: str
    """An example of the mistake."""
    fix: str
    """The same example without the mistake."""


_ENTRIES = (
    # --- files and syntax
    Entry(
        "MC001", "No such file",
        "The path does not exist. The call is wrong, not the data: the exit code is 2.",
        "medcontract validate predicitons.json",
        "medcontract validate predictions.json",
    ),
    Entry(
        "MC002", "Expected a file, got a folder",
        "The path is a folder or an archive. `medcontract validate` checks the files in it; other calls expect a file.",
        'medcontract.load("submission/")',
        'medcontract.load("submission/predictions.json")',
    ),
    Entry(
        "MC003", "The file cannot be read",
        "The operating system could not open or read it: no permission, a device, a failing disk, a broken link. The "
        "message says which. Also reported for subfolders that cannot be read, and for links and devices in archives.",
        "-rw------- root predictions.json",
        "chmod a+r predictions.json",
    ),
    Entry(
        "MC004", "The file is empty",
        "The file contains nothing but whitespace. Typical causes: a program that was stopped before it wrote "
        "anything, or a full disk.",
        "(0 bytes)",
        '{"team_name": "Andes", "predictions": []}',
    ),
    Entry(
        "MC005", "Wrong file format",
        "The content is an archive, an image, a web page or some other format that does not match the file name: JSON "
        "in a .jsonl, or a .csv without commas or without a header row. Supported: .json, .jsonl, .csv (each may be "
        "gzipped, once) and .parquet (which is compressed already), also in a .zip or .tar.gz archive.",
        "medcontract validate predictions.xlsx",
        "Export the sheet as CSV in UTF-8: medcontract validate predictions.csv",
    ),
    Entry(
        "MC006", "UTF-16 or UTF-32",
        "Text files must be encoded in UTF-8, with or without a byte order mark. Some Windows programs write UTF-16.",
        "python predict.py > out.json      (in an old PowerShell: UTF-16)",
        "python predict.py | Out-File -Encoding utf8 out.json",
    ),
    Entry(
        "MC007", "Invalid UTF-8",
        "This byte is not valid UTF-8. Most often the file is in Windows-1252 (or Latin-1), where é is one byte. "
        "The hint has the most likely encoding.",
        'open("out.json", "w", encoding="latin-1")',
        'open("out.json", "w", encoding="utf-8")',
    ),
    Entry(
        "MC008", "NUL byte",
        "JSON and CSV files do not contain NUL bytes. The file is damaged, was only partly written, or is binary.",
        '{"team_name": "Andes␀"}',
        '{"team_name": "Andes"}',
    ),
    Entry(
        "MC009", "Contract not recognized",
        "The file can be read, but its keys match no contract, or several equally well. Specify the contract. The "
        "exit code is 2.",
        "medcontract validate out.json",
        "medcontract validate triage/response=out.json",
    ),
    Entry(
        "MC010", "JSON syntax error",
        "The text is not valid JSON: a comma or colon is missing, brackets do not match, or a value was expected. "
        "In a .jsonl file the error affects one record, in a .json file the rest of the file.",
        '{"urgency": "Urgent" "follow_up": true}',
        '{"urgency": "Urgent", "follow_up": true}',
    ),
    Entry(
        "MC011", "Truncated JSON",
        "The text ends before the JSON value does. The program that wrote it, or a download, was interrupted.",
        '{"predictions": [{"report_id": "R-1", "urg',
        '{"predictions": [{"report_id": "R-1", "urgency": "Routine"}]}',
    ),
    Entry(
        "MC012", "Trailing comma",
        "Unlike Python and JavaScript, JSON does not allow a comma before a closing bracket.",
        '{"labels": ["MEL", "NV",]}',
        '{"labels": ["MEL", "NV"]}',
    ),
    Entry(
        "MC013", "Comment",
        "JSON has no comments.",
        '{"event": "spring"  // second run\n}',
        '{"event": "spring"}',
    ),
    Entry(
        "MC014", "Text after the end",
        "A .json file contains exactly one JSON value, and so does each line of a .jsonl file. More text follows.",
        '{"report_id": "R-1"} {"report_id": "R-2"}',
        '{"report_id": "R-1"}\n{"report_id": "R-2"}      (in a .jsonl)',
    ),
    Entry(
        "MC015", "Repeated key or column",
        "The same key occurs twice in an object. Most parsers silently keep one of the two values, but not all of them "
        "the same one.",
        '{"report_id": "R-1", "urgency": "Urgent", "urgency": "Routine"}',
        '{"report_id": "R-1", "urgency": "Urgent"}',
    ),
    Entry(
        "MC016", "Not a finite number",
        "NaN and Infinity are not JSON. Python's json module writes them unless called with allow_nan=False.",
        '{"processing_time_sec": NaN}',
        '{"processing_time_sec": 0.84}',
    ),
    Entry(
        "MC017", "Number too large",
        "The number does not fit into a double (about ±1.8e308), the type that most programs read JSON numbers into.",
        '{"elapsed_from_start": 1e400}',
        '{"elapsed_from_start": 1e4}',
    ),
    Entry(
        "MC018", "Lone surrogate",
        "An escape such as \\ud83d is one half of a surrogate pair. Without the other half the string is not valid "
        "Unicode.",
        '{"error": "\\ud83d"}',
        '{"error": "\\ud83d\\ude00"}',
    ),
    Entry(
        "MC019", "Nested too deeply",
        "Lists and objects may be nested at most 100 levels deep. This is a limit of the tool, not of the contract.",
        '{"embeddings": {"a": [[[[ … 101 levels … ]]]]}}',
        '{"embeddings": {"a": [[0.1, 0.2]]}}',
    ),
    Entry(
        "MC020", "Record too large",
        "One record is larger than the limit of 16 MiB (a document: 128 MiB). This is a limit of the tool, not of the "
        "contract. A missing closing quote or bracket can also cause it.",
        '{"segment_id": "S-1", "raw_response": ["… 20 MB of text …"]}',
        '{"segment_id": "S-1", "raw_response": ["the first lines …"]}',
    ),
    Entry(
        "MC021", "Invalid character in a string",
        "A JSON string must not contain raw control characters (such as a line break or a tab), and a backslash must "
        "start one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX.",
        '{"image_path": "img\\case1.png"}',
        '{"image_path": "img/case1.png"}',
    ),
    Entry(
        "MC022", "Malformed number",
        "JSON numbers have no leading zeros, no plus sign, and digits on both sides of the dot.",
        '{"age": 042, "score": .5}',
        '{"age": 42, "score": 0.5}',
    ),
    Entry(
        "MC023", "Not a JSON literal or quote",
        "The literals of JSON are true, false and null, and its strings are in double quotes. The repr of a Python "
        "dict is not JSON.",
        "{'follow_up': True}",
        '{"follow_up": true}',
    ),
    Entry(
        "MC024", "Schema too expensive to check",
        "Checking this value against the schema given with --schema would take too long: its references multiply, or "
        "one of its patterns backtracks excessively. The rest of the file is not checked.",
        '{"pattern": "^(?=(a+)+$)"}',
        '{"pattern": "^a+$"}',
    ),
    Entry(
        "MC025", "Damaged gzip",
        "The gzip data cannot be decompressed from here on: bytes were changed, or something else follows the archive.",
        "gzip -t predictions.jsonl.gz      (crc error)",
        "gzip -k predictions.jsonl",
    ),
    Entry(
        "MC026", "Truncated gzip",
        "The gzip archive is incomplete. A copy or a download was interrupted.",
        "head -c 1000 predictions.jsonl.gz > part.gz",
        "cp predictions.jsonl.gz part.gz",
    ),
    Entry(
        "MC027", "Decompressed size too large",
        "The gzip archive, the files of a .zip or .tar archive together, or the Parquet file decompress to more than "
        "the limit (--max-unpacked), one page of a Parquet file to more than 128 MiB, or a file in an archive to more "
        "than 200 times its compressed size. The limits protect against decompression bombs.",
        "medcontract validate bomb.json.gz",
        "medcontract validate --max-unpacked 20G large.json.gz",
    ),
    Entry(
        "MC028", "Link leads out of its folder",
        "Links in a folder that lead out of it are not followed: otherwise a submitted folder could have any file on "
        "your machine read. A link that is itself an argument of the call is followed.",
        "submission/predictions.json -> /home/ana/out/predictions.json",
        "cp /home/ana/out/predictions.json submission/",
    ),
    Entry(
        "MC029", "Internal error",
        "medcontract itself failed on this file. This is a bug; please report it. The other files of the call are "
        "still checked.",
        "internal error: KeyError (json.py, line 78)",
        "Report the message with a small file that reproduces it and contains no patient data.",
    ),
    Entry(
        "MC030", "Unclosed quote (CSV)",
        "A cell that starts with a double quote has no closing one, so the rest of the file is read as one cell.",
        'R-1,"could not read page',
        'R-1,"could not read page"',
    ),
    Entry(
        "MC031", "Ragged row (CSV)",
        "Each row must have as many cells as the header. A cell that contains a comma must be in double quotes.",
        "report_id,error\nR-1,timeout, no answer",
        'report_id,error\nR-1,"timeout, no answer"',
    ),
    Entry(
        "MC032", "Stray quote (CSV)",
        "A double quote may only open or close a cell; inside a quoted cell it must be doubled.",
        'R-1,lesion of 5" or so',
        'R-1,"lesion of 5"" or so"',
    ),
    Entry(
        "MC033", "Container does not support this contract",
        "Tables support only flat records, and .jsonl only collections. `medcontract schema list` shows the "
        "containers of each contract.",
        "medcontract validate --contract reports/telemetry telemetry.csv",
        "medcontract validate --contract reports/telemetry telemetry.json",
    ),
    Entry(
        "MC034", "Damaged Parquet file",
        "The file name ends in .parquet, but the content is damaged or not Parquet.",
        "predictions.parquet, a CSV that was renamed",
        "predictions.csv",
    ),
    Entry(
        "MC035", "TOML syntax error",
        "A challenge file is not valid TOML. The message says what was expected, and where.",
        "title = Stroke type from CT reports",
        'title = "Stroke type from CT reports"',
    ),
    Entry(
        "MC036", "Damaged archive",
        "The .zip or .tar archive cannot be read, or only a part of it: it is truncated, bytes were changed, or what "
        "it states about its files (position, size, checksum) is not true.",
        "head -c 1000 submission.zip > part.zip",
        "cp submission.zip part.zip",
    ),
    Entry(
        "MC037", "Archive refused",
        "The archive is not read, for safety or because it is ambiguous: a path leads out of it or is not portable, "
        "two files have the same name (or names that differ in case only), files overlap, there are more than 10,000, "
        "or it is encrypted, split or sparse.",
        "zip -P secret submission.zip predictions.csv",
        "zip submission.zip predictions.csv",
    ),
    # --- structure
    Entry(
        "MC101", "Missing key",
        "A required key (or column) is missing. The position is that of the object that lacks it.",
        '{"report_id": "R-1", "urgency": "Urgent"}',
        '{"report_id": "R-1", "specialty": "Cardiology", "urgency": "Urgent", "follow_up": true}',
    ),
    Entry(
        "MC102", "Unknown key",
        "The contract has no such key (or column). Unknown keys are errors because a misspelled key would otherwise "
        "be treated as absent.",
        '{"image_id": "I-1", "lable": "MEL"}',
        '{"image_id": "I-1", "label": "MEL"}',
    ),
    Entry(
        "MC103", "Wrong type",
        'Types are strict: no "1" for 1, no 1 for true, no null for a required value. 1.0 is accepted for the '
        "integer 1.",
        '{"processing_time_sec": "0.84"}',
        '{"processing_time_sec": 0.84}',
    ),
    Entry(
        "MC104", "Unknown value",
        "The value is not one of those that the contract lists. Spelling, case and spaces matter.",
        '{"urgency": "urgent"}',
        '{"urgency": "Urgent"}',
    ),
    Entry(
        "MC105", "Number out of range",
        "The number is below or above what the contract allows.",
        '{"age": 430}',
        '{"age": 43}',
    ),
    Entry(
        "MC106", "Blank string",
        "The string is empty or contains only whitespace.",
        '{"team_name": " "}',
        '{"team_name": "Andes"}',
    ),
    Entry(
        "MC107", "Wrong string format",
        "A date, a GUID or a relative path does not have the required format.",
        '{"evaluation_date": "31.05.2026"}',
        '{"evaluation_date": "2026-05-31"}',
    ),
    Entry(
        "MC108", "Wrong number of items",
        "The list has too few or too many items.",
        '{"probabilities": [0.5, 0.5]}',
        '{"probabilities": [0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0]}',
    ),
    Entry(
        "MC109", "Not allowed here",
        "A record with an `error` must not contain predictions: they must be absent or null.",
        '{"image_id": "I-1", "error": "unreadable", "probabilities": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]}',
        '{"image_id": "I-1", "error": "unreadable"}',
    ),
    Entry(
        "MC110", "Schema keyword violated",
        "For files checked with --schema: the value violates a keyword that has no specific code (oneOf, not, "
        "uniqueItems, multipleOf, if/then, …). The message names it.",
        '{"items": [1, 1]}      (uniqueItems)',
        '{"items": [1, 2]}',
    ),
    # --- rules within a file
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
    # --- rules across files
    Entry(
        "MC301", "Event differs",
        "The `event` of the submission differs from that of the truth. The submission is refused.",
        'truth: {"event": "spring"}, submission: {"event": "autumn"}',
        "score the submission against the truth of the same event",
    ),
    Entry(
        "MC302", "Missing record",
        "The submission has no record for an id of the truth. The item counts as not processed.",
        "truth: S-1 S-2 S-3, submission: S-1 S-3",
        'submission: S-1 S-2 S-3, S-2 with {"error": "timeout"} if it failed',
    ),
    Entry(
        "MC303", "Unknown id",
        "The submission has a record for an id that is not in the truth. The record is ignored.",
        "truth: R-001, submission: r-1",
        "submission: R-001",
    ),
    Entry(
        "MC304", "Case differs",
        "The segment belongs to a different case in the truth. The record counts as not processed.",
        "truth: S-7 in case C-2, submission: S-7 in case C-3",
        "submission: S-7 in case C-2",
    ),
    Entry(
        "MC305", "End of case differs",
        "`end_of_case` differs from the truth for this segment. The record counts as not processed.",
        "truth: S-7 ends its case, submission: end_of_case false",
        "submission: end_of_case true",
    ),
    Entry(
        "MC306", "Inventory out of order",
        "The inventory does not list the segments of a case in the order of their stop times. A warning.",
        "S-2 (stops at 120 s) before S-1 (stops at 60 s)",
        "S-1 before S-2",
    ),
    Entry(
        "MC307", "Unknown run",
        "The record belongs to a run that is not in the telemetry. The record is ignored.",
        'telemetry: runs "1" and "2", record: run_id "3"',
        'record: run_id "2"',
    ),
    Entry(
        "MC308", "Not in the manifest",
        "A labeled document is missing from the manifest. A warning.",
        "labels: RX-014, manifest: RX-001 to RX-012",
        "add RX-014 to the manifest",
    ),
    Entry(
        "MC309", "Proof of an unknown document",
        "A proof refers to a document that is not in the manifest, so it does not count. A warning.",
        '{"proofs": [{"doc_id": "RX-99", …}]}',
        '{"proofs": [{"doc_id": "RX-009", …}]}',
    ),
    Entry(
        "MC310", "Labeled as both kinds",
        "The same document is labeled both as a prescription and as a laboratory report.",
        "prescription labels: D-7, laboratory labels: D-7",
        "prescription labels: D-7",
    ),
    Entry(
        "MC311", "Model file missing",
        "The file named by `model_file` or `inference_script` does not exist in the folder of the submission, or the "
        "model file names no `inference_script`. Checked by `preflight`.",
        '{"model_file": "model/net.onnx"}      (there is only net.onnx)',
        '{"model_file": "net.onnx"}',
    ),
    Entry(
        "MC312", "Model size differs",
        "The size of the file named by `model_file` differs from `model_size_mb` by more than 1 %. 1 MB is 1,000,000 "
        "bytes. Checked by `preflight`.",
        '{"model_file": "net.onnx", "model_size_mb": 31.4}      (the file has 32,925,286 bytes)',
        '{"model_file": "net.onnx", "model_size_mb": 32.93}',
    ),
    Entry(
        "MC320", "Image missing",
        "The file named by `image_path` does not exist in the image folder, or cannot be read.",
        '{"image_id": "I-1", "image_path": "img/I-1.jpeg"}      (the file is img/I-1.jpg)',
        '{"image_id": "I-1", "image_path": "img/I-1.jpg"}',
    ),
    Entry(
        "MC321", "Not a JPEG or PNG",
        "The content of the file is neither JPEG nor PNG, whatever its name says.",
        "I-1.png, a WebP file that was renamed",
        "I-1.png, saved as PNG",
    ),
    Entry(
        "MC322", "Not 8-bit RGB",
        "Images must have three channels (red, green, blue) of 8 bits each, and no alpha channel. The pixel range "
        "[0, 512] given in the source document is impossible: 8-bit values end at 255.",
        "a PNG with transparency, a grayscale JPEG, a PNG with 16 bits per channel",
        'Image.open("I-1.png").convert("RGB").save("I-1.png")',
    ),
    Entry(
        "MC323", "Image too small",
        "The shorter side is less than 512 pixels.",
        "480 x 640 pixels",
        "600 x 800 pixels",
    ),
    Entry(
        "MC324", "Damaged image",
        "The image is truncated or cannot be decoded completely.",
        "a JPEG of which only half was copied",
        "the complete JPEG",
    ),
    Entry(
        "MC325", "Image too large",
        "The header declares more than 100 megapixels, so the image is not decoded; or the file is larger than 200 MB, "
        "so it is not read.",
        "20000 x 20000 pixels, or a PNG of 250 MB",
        "2000 x 2000 pixels, a file of a few MB",
    ),
    # --- gates and advice
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
        "anything. Checked by `preflight`.",
        '{"team_name": "Andes", "predictions": []}',
        '{"team_name": "Andes", "predictions": [{"image_id": "I-1", "probabilities": [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]}]}',
    ),
    Entry(
        "MC404", "No label occurs in the truth",
        "None of the predicted labels, such as groups of interventions or names of medications, occurs anywhere in the "
        "truth, so that no answer can be right. Checked by `preflight`.",
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
        "or in a prefix or suffix that all of them have or lack, so that they do not count. A warning of `preflight`.",
        'expected: "R-007"; in the submission: "r-7"',
        'expected: "R-007"; in the submission: "R-007"',
    ),
    Entry(
        "MC503", "Probably a mistake",
        "The files are valid, but something in them is probably not intended: no case has an end, documents of the "
        "manifest are not ready, an offline run names a hosted service, the files name different teams, times seem to "
        "be in milliseconds. A warning, in most cases of `preflight`, or an error if nothing can be scored because no "
        "record contains an answer.",
        '{"backend": "https://api.example.com"}',
        '{"backend": "llama.cpp"}',
    ),
    Entry(
        "MC504", "Headline figure of 0",
        "The submission can be scored, but the figure that submissions are ranked by is 0 or less. A warning of "
        "`preflight`.",
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

CATALOGUE: dict[str, Entry] = {entry.code: entry for entry in _ENTRIES}
