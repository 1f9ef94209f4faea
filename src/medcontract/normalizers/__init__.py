"""Pure functions on text: what two spellings have in common.

::

    text     normalization, step by step
    numbers  numbers in decimal
    names    which names belong together
    terms    clinical terms in text
"""
