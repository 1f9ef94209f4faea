"""Pure functions that compare texts independently of spelling.

::

    text     normalization, step by step
    numbers  decimal numbers
    names    pairing of names
    terms    clinical terms in text
"""
