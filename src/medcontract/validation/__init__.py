"""Validates one file: what is wrong with it, and where.

::

    dispatch          determines container and contract, and checks or loads the file
    records           reads the records of a file, and checks them; what all containers have in common
    json_objects      .json: collections and documents
    json_lines        .jsonl
    tables            .csv, and what all tables have in common
    frames            .parquet, and pandas DataFrames
    slow_path         what is wrong with records that the fast path rejected, and which of them repeat a key
    referenced_files  files that records refer to, such as images
    report            counts problems, keeps the first ones, and finds their lines and columns
"""
