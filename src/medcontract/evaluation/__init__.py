"""From files to scores, rankings and checklists: where reading and scoring meet.

::

    inputs       which file is what; several files of one contract as one collection
    reading      a truth, and a submission past it
    score        one submission against its truth
    rescore      a result that was made elsewhere, scored again
    leaderboard  many submissions against one truth
    preflight    everything that can be checked of a submission
    compare      two scores, before and after
    parallel     large files in worker processes
"""
