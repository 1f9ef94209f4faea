"""The closed list of problem codes: what each means, the mistake, the mending.

`medcontract explain` and `docs/codes.md` come from here, and a test proves that each code can occur.
MC0xx file and syntax, MC1xx shape (what JSON Schema says), MC2xx rules within a file, MC3xx rules between
files, MC4xx gates, MC5xx advice.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    code: str
    title: str
    meaning: str
    mistake: str
    mending: str


_ENTRIES = (
    # --- files and syntax
    Entry(
        "MC001", "No such file",
        "Nothing stands at this path. The call is wrong, not the data: the exit code is 2.",
        "medcontract validate predicitons.json",
        "medcontract validate predictions.json",
    ),
    Entry(
        "MC002", "A folder where a file is asked for",
        "The path names a folder. `medcontract validate` walks folders by itself; other calls want a file.",
        'medcontract.load("submission/")',
        'medcontract.load("submission/predictions.json")',
    ),
    Entry(
        "MC003", "The file cannot be read",
        "The operating system refused: no permission, a device, a failing disk, a link that leads nowhere. The message "
        "says which. In a folder this holds for subfolders, too.",
        "-rw------- root predictions.json",
        "chmod a+r predictions.json",
    ),
    Entry(
        "MC004", "The file is empty",
        "There is nothing in it but white space. A program that was stopped before it wrote, or a full disk, leaves "
        "such files.",
        "(0 bytes)",
        '{"team_name": "Andes", "predictions": []}',
    ),
    Entry(
        "MC005", "Another format",
        "The first bytes are those of an archive, an image, a web page or another format than the name says. Contracts "
        "are read from .json, .jsonl, .csv (each may be gzipped, once) and .parquet (which is packed already).",
        "medcontract validate predictions.xlsx",
        "Export the sheet as CSV in UTF-8: medcontract validate predictions.csv",
    ),
    Entry(
        "MC006", "UTF-16 or UTF-32",
        "All text containers are in UTF-8, with or without a byte order mark. Some Windows programs write UTF-16.",
        "python predict.py > out.json      (in an old PowerShell: UTF-16)",
        "python predict.py | Out-File -Encoding utf8 out.json",
    ),
    Entry(
        "MC007", "Invalid UTF-8",
        "This byte cannot stand here in UTF-8. Most often the file is in Latin-1 or Windows-1252, where é is one byte.",
        'open("out.json", "w", encoding="latin-1")',
        'open("out.json", "w", encoding="utf-8")',
    ),
    Entry(
        "MC008", "A NUL byte",
        "A byte of value zero has no place in JSON or CSV. The file is damaged, was only partly written, or is binary.",
        '{"team_name": "Andes␀"}',
        '{"team_name": "Andes"}',
    ),
    Entry(
        "MC009", "Contract not recognised",
        "The file reads well, but its keys fit no contract, or several equally well. Say which one is meant; the exit "
        "code is 2.",
        "medcontract validate out.json",
        "medcontract validate triage/response=out.json",
    ),
    Entry(
        "MC010", "JSON syntax",
        "The text breaks the grammar of JSON here: a comma or colon is missing, a bracket closes the wrong thing, or "
        "something stands where a value should. A broken line of .jsonl spoils that record, a broken .json the file.",
        '{"urgency": "Urgent" "follow_up": true}',
        '{"urgency": "Urgent", "follow_up": true}',
    ),
    Entry(
        "MC011", "Cut off",
        "The text ends before the JSON value does. The writing program was stopped, or a download was.",
        '{"predictions": [{"report_id": "R-1", "urg',
        '{"predictions": [{"report_id": "R-1", "urgency": "Routine"}]}',
    ),
    Entry(
        "MC012", "Trailing comma",
        "JSON allows no comma before a closing bracket, unlike Python and JavaScript.",
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
        "A .json file holds one JSON value, and so does a line of .jsonl. Something follows it.",
        '{"report_id": "R-1"} {"report_id": "R-2"}',
        '{"report_id": "R-1"}\n{"report_id": "R-2"}      (in a .jsonl)',
    ),
    Entry(
        "MC015", "Repeated key or column",
        "A key stands twice in one object. Most programs keep one of the two in silence, and not all the same one.",
        '{"report_id": "R-1", "urgency": "Urgent", "urgency": "Routine"}',
        '{"report_id": "R-1", "urgency": "Urgent"}',
    ),
    Entry(
        "MC016", "Not a finite number",
        "NaN and Infinity are not JSON. Python's json module writes them unless told otherwise (allow_nan=False).",
        '{"processing_time_sec": NaN}',
        '{"processing_time_sec": 0.84}',
    ),
    Entry(
        "MC017", "Number beyond a double",
        "The number does not fit a double (about ±1.8e308), which is what programs read JSON numbers as.",
        '{"elapsed_from_start": 1e400}',
        '{"elapsed_from_start": 1e4}',
    ),
    Entry(
        "MC018", "Lone surrogate",
        "An escape such as \\ud83d is half of a character. Without its other half the string is no valid text.",
        '{"error": "\\ud83d"}',
        '{"error": "\\ud83d\\ude00"}',
    ),
    Entry(
        "MC019", "Nested too deep",
        "Lists and objects may be nested 100 levels deep. This is a limit of the tool, not of the contract.",
        '{"embeddings": {"a": [[[[ … 101 levels … ]]]]}}',
        '{"embeddings": {"a": [[0.1, 0.2]]}}',
    ),
    Entry(
        "MC020", "Record too large",
        "One record is larger than the limit of 16 MiB (a document: 128 MiB). This is a limit of the tool, not of the "
        "contract. Quotes or brackets that never close can cause it too.",
        '{"segment_id": "S-1", "raw_response": ["… 20 MB of text …"]}',
        '{"segment_id": "S-1", "raw_response": ["the first lines …"]}',
    ),
    Entry(
        "MC021", "Bad character in a string",
        "A JSON string holds no raw control characters (a line break, a tab), and a backslash starts one of the "
        "escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX.",
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
        "MC023", "Not a JSON word or quote",
        "JSON knows true, false and null, and strings in double quotes. Python's repr of a dict is not JSON.",
        "{'follow_up': True}",
        '{"follow_up": true}',
    ),
    Entry(
        "MC024", "Too much work for a schema",
        "Checking this value with the schema given by --schema would take too long: its references multiply, or one of "
        "its patterns tries again and again. Nothing more of the file is checked.",
        '{"pattern": "^(?=(a+)+$)"}',
        '{"pattern": "^a+$"}',
    ),
    Entry(
        "MC025", "Damaged gzip",
        "The file is gzipped, but what is packed cannot be unpacked from here on: bytes were changed, or something "
        "else follows the archive.",
        "gzip -t predictions.jsonl.gz      (crc error)",
        "gzip -k predictions.jsonl",
    ),
    Entry(
        "MC026", "Cut-off gzip",
        "The gzip archive ends before its data does. A copy or a download was stopped.",
        "head -c 1000 predictions.jsonl.gz > part.gz",
        "cp predictions.jsonl.gz part.gz",
    ),
    Entry(
        "MC027", "Unpacks to too much",
        "The archive, or the Parquet file, unpacks to more than the limit (--max-unpacked), or one page of a Parquet "
        "file to more than 128 MiB. Small files that unpack to very much are a known way to bring programs down.",
        "medcontract validate bomb.json.gz",
        "medcontract validate --max-unpacked 20G large.json.gz",
    ),
    Entry(
        "MC028", "A link that leads out of its folder",
        "A folder stands for the files in it. A link in it that leads to another place is not followed: who sends a "
        "folder could else have any file of the reader's machine read. A link that is named in the call is followed.",
        "submission/predictions.json -> /home/ana/out/predictions.json",
        "cp /home/ana/out/predictions.json submission/",
    ),
    Entry(
        "MC029", "Internal error",
        "medcontract itself failed with this file, in a way that nobody expected. The other files of the call are "
        "checked all the same. Please report it.",
        "internal error: KeyError (json.py, line 78)",
        "Report the message, with a small file that shows it and holds no patient's data.",
    ),
    Entry(
        "MC030", "Quote never closes (CSV)",
        "A cell that opens with a double quote ends at the next one. Here there is none: the rest of the file is one "
        "cell.",
        'R-1,"could not read page',
        'R-1,"could not read page"',
    ),
    Entry(
        "MC031", "Ragged row (CSV)",
        "Each row has as many cells as the header. A cell that holds a comma stands in double quotes.",
        "report_id,error\nR-1,timeout, no answer",
        'report_id,error\nR-1,"timeout, no answer"',
    ),
    Entry(
        "MC032", "Stray quote (CSV)",
        "A double quote may open and close a cell; inside a quoted cell it is doubled. Elsewhere it may not stand.",
        'R-1,lesion of 5" or so',
        'R-1,"lesion of 5"" or so"',
    ),
    Entry(
        "MC033", "Container cannot hold this contract",
        "Only flat records fit a table, only collections fit lines. `medcontract schema list` shows the containers.",
        "medcontract validate --contract reports/telemetry telemetry.csv",
        "medcontract validate --contract reports/telemetry telemetry.json",
    ),
    Entry(
        "MC034", "Damaged Parquet file",
        "The file is named .parquet, but its content is not, or is damaged.",
        "predictions.parquet, a CSV that was renamed",
        "predictions.csv",
    ),
    # --- shape
    Entry(
        "MC101", "Missing key",
        "A required key (or column) is absent. The place is the object that lacks it.",
        '{"report_id": "R-1", "urgency": "Urgent"}',
        '{"report_id": "R-1", "specialty": "Cardiology", "urgency": "Urgent", "follow_up": true}',
    ),
    Entry(
        "MC102", "Unknown key",
        "The contract has no such key (or column). Unknown keys are refused because a misspelt one would otherwise "
        "count as absent.",
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
        "The value is not one of those that the contract lists. Spelling, case and blanks count.",
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
        "The string is empty or holds nothing but blanks.",
        '{"team_name": " "}',
        '{"team_name": "Andes"}',
    ),
    Entry(
        "MC107", "Wrong form",
        "A date, a GUID or a relative path is not written as the contract asks.",
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
        "A record with an `error` is a failed one and holds no predictions: they must be absent or null.",
        '{"image_id": "I-1", "error": "unreadable", "probabilities": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]}',
        '{"image_id": "I-1", "error": "unreadable"}',
    ),
    Entry(
        "MC110", "Breaks the schema",
        "For files that are checked with --schema: the value breaks a keyword that has no code of its own (oneOf, not, "
        "uniqueItems, multipleOf, if/then, …). The message names it.",
        '{"items": [1, 1]}      (uniqueItems)',
        '{"items": [1, 2]}',
    ),
    # --- rules within a file
    Entry(
        "MC201", "Repeated id",
        "Two records have the same id, or the same pair of ids. The place is that of the later one.",
        "image_id,label\nI-1,MEL\nI-1,NV",
        "image_id,label\nI-1,MEL\nI-2,NV",
    ),
    Entry(
        "MC202", "Sum is off",
        "The correctly rounded sum of the probabilities lies outside [0.999, 1.001].",
        '{"probabilities": [0.3, 0.3, 0.3, 0, 0, 0, 0, 0, 0, 0]}',
        '{"probabilities": [0.34, 0.33, 0.33, 0, 0, 0, 0, 0, 0, 0]}',
    ),
    Entry(
        "MC203", "Wrong order",
        "One value must not be smaller than another: a segment stops before it starts, an answer arrives before its "
        "question was sent.",
        '{"segment_start_time_sec": 60, "segment_stop_time_sec": 30}',
        '{"segment_start_time_sec": 30, "segment_stop_time_sec": 60}',
    ),
    Entry(
        "MC204", "Date does not exist",
        "The date is well written, but no calendar has that day.",
        '{"evaluation_date": "2026-02-30"}',
        '{"evaluation_date": "2026-02-28"}',
    ),
    Entry(
        "MC205", "Start of case",
        "Each case has exactly one segment with `start_of_case`: its earliest, by start, then stop. A case without one "
        "is told at its first record, a surplus or misplaced one at its flag.",
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
        "one file a run",
    ),
    Entry(
        "MC210", "Raw response without error",
        "`raw_response` is meant for answers with an `error`. A warning.",
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
        "The competition asks for less than 150 MB; such a model gets no points for size. A warning.",
        '{"model_size_mb": 180}',
        '{"model_size_mb": 48.5}',
    ),
    Entry(
        "MC214", "Items of a failed run",
        "Items are listed though `parse_success` is false or there is an `exception`: such a run counts as failed, "
        "whatever it lists. A warning.",
        '{"parse_success": false, "medicamentos": [{"nombre_medicamento": "METFORMINA", …}]}',
        '{"parse_success": false, "medicamentos": []}',
    ),
    Entry(
        "MC215", "Reviewed by nobody",
        "`label_status` is reviewed, but no `reviewer` is named. A warning.",
        '{"label_status": "reviewed", "reviewer": ""}',
        '{"label_status": "reviewed", "reviewer": "annotator-2"}',
    ),
    Entry(
        "MC216", "Ambiguous thousands separator",
        "A value such as 100.000 may mean a hundred thousand or a hundred with three decimals. It is kept as printed "
        "and compared as a hundred. A warning.",
        '{"nombre_prueba": "PLAQUETAS", "valor": "250.000"}',
        '{"nombre_prueba": "PLAQUETAS", "valor": "250000"}      (if that is what is printed)',
    ),
    Entry(
        "MC217", "No weight",
        "All weights are 0, so there is nothing to combine.",
        '{"weights": {"diagnostics": 0, "safety": 0}}',
        '{"weights": {"diagnostics": 0.6, "safety": 0.4}}',
    ),
    Entry(
        "MC218", "Nothing to score",
        "A sample needs a reference answer, rationale or diagnosis that is not blank, reference entities (even empty), "
        "or, where reference and prediction stand in one record, scores.",
        '{"task_id": "T-1", "sample_id": "S-1", "reference": {"answer": ""}}',
        '{"task_id": "T-1", "sample_id": "S-1", "reference": {"answer": "Iron deficiency anaemia"}}',
    ),
    Entry(
        "MC219", "Term in two categories",
        "A term of a lexicon stands in two categories, so that nobody could tell what was found. Accents, case and "
        "punctuation make no difference. The place is that of the later category: diagnoses, treatments, medications, "
        "symptoms, labs.",
        '{"entities": {"diagnoses": ["edema"], "symptoms": ["Edema"]}}',
        '{"entities": {"symptoms": ["edema"]}}',
    ),
    Entry(
        "MC220", "Spelling of two names",
        "A spelling in the `synonyms` of a lexicon stands for two names: it is listed under both, or it is a name "
        "itself (an entity, or a key of `synonyms`). Accents, case and punctuation make no difference.",
        '{"synonyms": {"heart failure": ["HF"], "hydrogen fluoride": ["HF"]}}',
        '{"synonyms": {"heart failure": ["HF"], "hydrogen fluoride": ["hydrofluoric acid"]}}',
    ),
    # --- rules between files
    Entry(
        "MC301", "Event differs",
        "The `event` of the submission is not that of the truth. The score is refused.",
        'truth: {"event": "spring"}, submission: {"event": "autumn"}',
        "score the submission against the truth of its own event",
    ),
    Entry(
        "MC302", "Not answered",
        "An id of the truth has no record in the submission. It counts as not processed.",
        "truth: S-1 S-2 S-3, submission: S-1 S-3",
        'submission: S-1 S-2 S-3, S-2 with {"error": "timeout"} if need be',
    ),
    Entry(
        "MC303", "Unknown id",
        "The submission answers an id that the truth does not have. The record counts nowhere.",
        "truth: R-001, submission: r-1",
        "submission: R-001",
    ),
    Entry(
        "MC304", "Case differs",
        "The truth has this segment in another case. The record is not processed.",
        "truth: S-7 in case C-2, submission: S-7 in case C-3",
        "submission: S-7 in case C-2",
    ),
    Entry(
        "MC305", "End of case differs",
        "`end_of_case` is not what the truth says of this segment. The record is not processed.",
        "truth: S-7 ends its case, submission: end_of_case false",
        "submission: end_of_case true",
    ),
    Entry(
        "MC306", "Inventory out of order",
        "The inventory lists the segments of a case in another order than that of their stop times. A warning.",
        "S-2 (stops at 120 s) before S-1 (stops at 60 s)",
        "S-1 before S-2",
    ),
    Entry(
        "MC307", "Unknown run",
        "The record belongs to a run that the telemetry does not list. It counts nowhere.",
        'telemetry: runs "1" and "2", record: run_id "3"',
        'record: run_id "2"',
    ),
    Entry(
        "MC308", "Not in the manifest",
        "A labeled document does not stand in the manifest. A warning.",
        "labels: RX-014, manifest: RX-001 to RX-012",
        "add RX-014 to the manifest",
    ),
    Entry(
        "MC309", "Proof of an unknown document",
        "A proof names a document that the manifest does not have: it does not count. A warning.",
        '{"proofs": [{"doc_id": "RX-99", …}]}',
        '{"proofs": [{"doc_id": "RX-009", …}]}',
    ),
    Entry(
        "MC310", "Labeled as both kinds",
        "The same document has labels as a prescription and as a laboratory report.",
        "prescription labels: D-7, laboratory labels: D-7",
        "prescription labels: D-7",
    ),
    Entry(
        "MC311", "File of the model missing",
        "The model file names a `model_file` or an `inference_script` that does not stand in its folder. Preflight "
        "looks.",
        '{"model_file": "model/net.onnx"}      (there is only net.onnx)',
        '{"model_file": "net.onnx"}',
    ),
    Entry(
        "MC312", "Size of the model differs",
        "The file that `model_file` names has another size than `model_size_mb` says, by more than 1 %. A MB is "
        "1,000,000 bytes. Preflight looks.",
        '{"model_file": "net.onnx", "model_size_mb": 31.4}      (the file has 32,925,286 bytes)',
        '{"model_file": "net.onnx", "model_size_mb": 32.93}',
    ),
    Entry(
        "MC320", "Image missing",
        "No file stands at `image_path` in the folder of images, or it cannot be read.",
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
        "MC322", "Not RGB of 8 bits",
        "Images have three channels, red, green and blue, of 8 bits each, and no alpha channel. The source's pixel "
        "range of [0, 512] cannot be: 8 bits end at 255.",
        "a PNG with transparency, a grey JPEG, a PNG of 16 bits a channel",
        'Image.open("I-1.png").convert("RGB").save("I-1.png")',
    ),
    Entry(
        "MC323", "Image too small",
        "The shorter side has less than 512 pixels.",
        "480 x 640 pixels",
        "600 x 800 pixels",
    ),
    Entry(
        "MC324", "Damaged image",
        "The image is cut off or cannot be decoded to its end.",
        "a JPEG of which half was copied",
        "the whole JPEG",
    ),
    Entry(
        "MC325", "Image too large",
        "The header announces more than 100 megapixels, and the image is not decoded; or the file has more than "
        "200 MB, and is not read.",
        "20000 x 20000 pixels, or a PNG of 250 MB",
        "2000 x 2000 pixels, in a file of a few MB",
    ),
    # --- advice
    # --- gates
    Entry(
        "MC401", "Too little processed",
        "Less than 95 % of the expected items were processed: exactly one record each, which is valid and reports no "
        "error. There is no score then.",
        "20 reports expected, 18 processed",
        "20 reports expected, 19 processed",
    ),
    Entry(
        "MC402", "Beyond a limit",
        "The submission takes more time, memory or CPU than is allowed, has a model that is too large, one of its "
        "runs ended with an exception, or a gate of the decision is not passed.",
        '{"run_id": "1", "max_memory_mb": 1500, "avg_cpu_percent": 40}',
        '{"run_id": "1", "max_memory_mb": 900, "avg_cpu_percent": 40}',
    ),
    Entry(
        "MC501", "Model of 50 MB or more",
        "Models below 50 MB get all points for size. A warning.",
        '{"model_size_mb": 62}',
        '{"model_size_mb": 48.5}',
    ),
)  # fmt: skip

CATALOGUE: dict[str, Entry] = {entry.code: entry for entry in _ENTRIES}
