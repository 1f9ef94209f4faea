"""What users probably meant: hints about files that are not as their contract requires.

    json_arrangements   records in a `.json` file that are not a list under its key
    table_arrangements  tables that are not one row per record
    csv_formats         the text of a `.csv` file: another delimiter, lines above the header, no header
    lines               `.jsonl` files that are not one record per line
    keys                missing and unknown keys of a record
    values              wrong values

Nothing here is needed for a file without problems.
"""
