"""MC0xx: files and syntax."""

from __future__ import annotations

from medcontract.catalog.entry import Entry

ENTRIES = (
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
        "message says which. Also reported for subfolders that cannot be read, for links and devices in archives, and "
        "for a pipe, a socket or a device in a folder or among the submissions of a ranking, which is never opened.",
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
        "One record is larger than the limit of 16 MiB (a document: 128 MiB), or a table has more than 10,000 columns. "
        "This is a limit of the tool, not of the contract. A missing closing quote or bracket can also cause it.",
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
        '{"pattern": "^(?=(a|aa)+$)"}',
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
        "the limit (--max-unpacked), or one page of a Parquet file to more than 128 MiB. Or a gzip archive, an archive "
        "or a file in one decompresses to more than 16 MiB and 200 times its compressed size, where each line and each "
        "JSON object counts as 16 bytes more: decompress such a file first. The limits protect against decompression "
        "bombs.",
        "medcontract validate bomb.json.gz",
        "medcontract validate --max-unpacked 20G large.json.gz",
    ),
    Entry(
        "MC028", "Link leads out of its folder",
        "Links in a folder that lead out of it are not followed: otherwise a submitted folder could have any file on "
        "your machine read. A link that is itself an argument of the call is followed, unless it is a submission of a "
        "ranking: such a link must stay in its folder, and must not lead to another submission.",
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
        "The file name ends in .parquet, but the content is damaged or not Parquet, or it crashes the program that "
        "reads it.",
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
        "their paths are nested too deep or too long together, it is encrypted, split or sparse, or other programs "
        "would read other files in it: there is data before, between or after those in its directory, it has two "
        "end records, or states two names or sizes of a file.",
        "zip -P secret submission.zip predictions.csv",
        "zip submission.zip predictions.csv",
    ),
)  # fmt: skip
