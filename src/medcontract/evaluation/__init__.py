"""Turns files into scores, rankings and checklists: connects reading and scoring.

The way of one submission: `given_files` finds files, `gather` their contracts (`Files`, with a `Part` for each),
`select_files` chooses files that count; `read_truth` and `read_submission` pair records with items (`Readings`), whose
`Answers` a scorer adds up to a `Tally` and turns into figures (`Finished`); `Scored` has these with what was found in
the files, and `score_result` makes the public `Score`.

::

    files         the file arguments of a call, and the contract of each file
    named_tables  tables in memory, and arguments with the name of a contract
    selection     which files count: the organizer's files take precedence; why others are not used
    settings      how files are read and scored; header fields that the caller sets or a result needs
    loading       reads a truth and a submission
    score         scores one submission against its truth, or an existing result again
    result        builds the public result
    subgroups     figures of groups of cases
    near_misses   ids and labels that differ only in spelling
    remarks       warnings about answers that are probably not intended
    submissions   finds the submissions of a ranking, and reads the table of teams
    contest       scores submissions against one truth, in this or other processes
    ranking       ranks them
    certainty     says how sure a ranking or a comparison is
    preflight     runs every check of a submission
    rehearsal     tries an evaluation with submissions that `imitating` makes from its truth
    revealing     finds answers in the ids of a truth, and in the order of its cases
    compare       compares two scores
    verify        computes a score again
    protocols     shows, freezes and checks protocols
    template      writes empty files for given cases
    cached        keeps results
"""
