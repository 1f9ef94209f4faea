"""Resampling: how sure a figure is. A function of the files alone, without clock, random state or order.

::

    units       the keys of what is drawn together; without NumPy
    sample      which cases are drawn together, and how often in each replicate; exact sums over the cases
    figures     a figure in the full data and in every replicate, and what is computed from several figures
    intervals   the interval of a figure

A case is drawn with its unit, a unit with its group. Sums over cases are sums of integers in every replicate, so no
order matters; elementary floating-point steps follow. Row 0 of every array is the full data, the others are the
replicates.

It needs NumPy (the extra `stats`), and knows no track: `scoring` computes figures with it.
"""
