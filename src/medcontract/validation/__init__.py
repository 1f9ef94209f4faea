"""Validates one file: what is wrong with it, and where.

::

    dispatch           determines container and contract, and checks or loads the file
    reader             what the readers of all containers have in common
    json_objects       .json: collections and documents
    json_lines         .jsonl
    tables             .csv, and what all tables have in common
    frames             .parquet, and pandas DataFrames
    records            checks the records that a reader yields
    slow_path          what is wrong with a record; only if the fast path is in doubt
    second_pass        where repeated keys are; only if there may be some
    referenced_files   files that records refer to, such as images
    problem_collector  counts problems, and keeps the first ones
    report             line and column of each problem
    parts              the files of a collection
"""
