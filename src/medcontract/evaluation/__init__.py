"""Turns files into scores, rankings and checklists: connects reading and scoring.

::

    files        the file arguments of a call, and the contract of each file
    selection    which files count: those of the organizer take precedence; why others are not used
    settings     how files are read and scored
    headers      header fields: of files, set by the caller, needed by a result
    loading      reads a truth and a submission
    score        scores one submission against its truth, or an existing result again
    near_misses  ids and labels that differ only in spelling
    remarks      warnings about answers that are probably not intended
    contest      scores submissions against one truth, in this or other processes
    ranking      ranks them
    submissions  finds the submissions of a ranking
    preflight    runs every check of a submission
    compare      compares two scores
    protocols    shows, freezes and checks protocols
    template     writes empty files for given cases
    cached       keeps results
"""
