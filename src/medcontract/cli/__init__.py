"""The command line: parse options, call `api.py`, render the result, return an exit code."""
