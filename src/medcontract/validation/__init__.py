"""Validates one file: what is wrong with it, and where.

::

    dispatch           determines container and contract
    records            checks one record, in the same way for every container
    json_file          .json: collections and documents
    jsonl_file         .jsonl
    csv_file           .csv, and what all tables have in common
    frames             .parquet, and pandas DataFrames
    referenced_files   files that the records refer to, such as images
    report             line and column of each finding
"""
