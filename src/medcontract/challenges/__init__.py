"""Challenges: tracks that are defined by a file, `challenge.toml`, instead of Python code.

`positions` reads the file and finds the place of each key; `model` (with `rules` and `values`) says what it may
contain, `semantics` how its parts must fit together, and `findings` collects what is wrong; `contracts`, `scorer` and
`track` turn it into contracts and a track; `loading` combines them.
"""
