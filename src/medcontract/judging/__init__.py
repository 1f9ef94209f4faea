"""Judging one file: what is wrong with it, and where.

::

    start      which container, which contract
    records    the path of one record, the same in every container
    json       .json and .jsonl: collections and documents
    table      .csv, and what all tables share
    beside     the files that the records name
    report     line and column of what was found
"""
