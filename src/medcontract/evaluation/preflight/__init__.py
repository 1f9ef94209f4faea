"""Runs every check of a submission before it is handed in.

::

    checks        the checklist
    session       reads the files once, for all checks
    answers       what a submission answers: whether there is anything to score, and whether it can be right
    linked_files  images, and files that a document names
"""
