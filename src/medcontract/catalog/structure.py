"""MC1xx: structure, which JSON Schema can express."""

from __future__ import annotations

from medcontract.catalog.entry import Entry

ENTRIES = (
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
)  # fmt: skip
