"""Scores, from validated data only.

::

    exact      fractions in, one rounding out
    canonical  RFC 8785, for fingerprints and content hashes
    protocol   frozen parameters
    gate       which expected items were processed; the 95 % rule
    engine     what a track is; from answers to a verdict
    reports, triage, lesions
    extraction  with documents (how items differ) and decision (gates)
    benchmark   with metrics (of one sample) and combining (weights, categories)
"""
