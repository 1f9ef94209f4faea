"""Computes scores, from validated data only.

::

    rational         exact arithmetic with fractions, rounded once
    canonical        RFC 8785, for fingerprints and content hashes
    protocol         frozen parameters
    pairing          pairs records of a submission with their expected items
    track            the description of a track, and how two of its results are compared
    scorer           how a track scores a submission, and whether enough items were processed
    tracks           the registry of tracks
    custom_metrics   metrics of plugins, for scorers that support them
    folding          when two folded texts are equal
    metrics          the metrics of challenges
    reports, triage, lesions, extraction, benchmark
                     the built-in tracks
"""
