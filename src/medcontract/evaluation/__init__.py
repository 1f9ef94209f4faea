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
    engine         runs work in this process or in worker processes
    shared_memory  what workers return large results in
    environment    the plugins that other processes load
    dask_engine    runs work on a Dask cluster
    joining        pairs chunks with a truth that stays on the workers of a cluster
    cluster_scores scores the submissions of a ranking on a cluster
    chunk_work     reads one chunk of a file
    parallel       reads large files in chunks, on any engine, and merges them
    sinks          what happens to the records of a chunk, in any process
    build_results  builds the public results
"""
