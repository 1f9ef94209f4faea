"""Validates one file: what is wrong with it, and where.

::

    dispatch           determines container and contract
    records            checks records, in the same way for every container
    record_errors      the slow path: what is wrong with a record
    json_file          .json: collections and documents
    jsonl_file         .jsonl
    csv_file           .csv, and what all tables have in common
    frames             .parquet, and pandas DataFrames
    referenced_files   files that records refer to, such as images
    problem_collector  counts problems, and keeps the first ones
    report             line and column of each problem
    load               a valid file as one value
"""
