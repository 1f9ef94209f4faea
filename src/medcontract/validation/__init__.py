"""Validates one file: what is wrong with it, and where.

::

    start      determines container and contract
    records    checks one record, in the same way for every container
    json       .json and .jsonl: collections and documents
    table      .csv, and what all tables have in common
    beside     files that the records refer to, such as images
    report     line and column of each finding
"""
