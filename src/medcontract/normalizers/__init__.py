"""Pure functions that compare texts independently of spelling.

::

    text     normalization, step by step, and decimal numbers
    names    pairing of names
    folding  comparing words regardless of case, accents and punctuation, and searching many phrases in a text at once
    terms    clinical terms in text, by `folding`
"""
