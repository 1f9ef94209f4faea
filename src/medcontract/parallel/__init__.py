"""Runs work in other processes: the only package that knows about processes.

::

    cpus         the number of CPUs that this process may use
    pool         what runs a function on many items has in common: it repeats what a lost worker had
    processes    pools of worker processes, which always end with this process
    dask_pool    the same on a Dask cluster
    environment  the plugins and the challenge that other processes load
    versions     the versions that a result depends on
    chunk        reads one chunk of a file, and what happens to its records, in any process
    merge        reads large files in chunks, on any pool, and merges them to the result of one process
"""
