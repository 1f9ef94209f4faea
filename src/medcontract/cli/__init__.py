"""The command line: parse options, call `api`, render the result, return an exit code."""
