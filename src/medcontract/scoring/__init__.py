"""Scores, from validated data only.

::

    exact      fractions in, one rounding out
    canonical  RFC 8785, for fingerprints and content hashes
    protocol   frozen parameters
    pairing    how records of a submission find their expected items
    processing_gate  whether enough was processed; the verdict
    track      what a track is: what it must describe, and what it may
    scorer     how a track scores a submission
    comparison how two results of a track are compared
    tracks     the registry of tracks
    custom_metrics  metrics of plugins, for scorers that take them
    reports, triage, lesions
    extraction  with documents (how items differ) and decision (gates)
    benchmark   with metrics (of one sample) and combining (weights, categories)
"""
