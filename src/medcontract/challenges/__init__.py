"""Challenges: tracks that are defined by a file, `challenge.toml`, instead of Python code.

`toml_file` reads the file and finds the place of each key; `checking` and its neighbors check it and build a
`definition`; `contracts` and `track` turn that into contracts and a track; `challenge` loads and uses it.
"""
