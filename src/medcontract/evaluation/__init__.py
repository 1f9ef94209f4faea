"""From files to scores, rankings and checklists: where reading and scoring meet.

::

    inputs       which file is what; several files of one contract as one collection
    score        one submission against its truth
    leaderboard  many submissions against one truth
    preflight    everything that can be checked of a submission
"""
