"""Turns files into scores, rankings and checklists: connects reading and scoring.

::

    arguments      the file arguments of a call
    inputs         the contract of each file; several files of one contract as one collection
    ownership      which files count: those of the organizer take precedence
    loading        reads a truth and a submission
    image_refs     checks the images that cases refer to
    score          scores one submission against its truth
    rescore        scores an existing result again, without a truth
    leaderboard    scores and ranks many submissions against one truth
    preflight      runs every check of a submission
    compare        compares two scores
    sent_contest   scores the submissions of a ranking in other processes
    build_results  builds the public results
"""
