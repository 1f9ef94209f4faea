"""The command line: parse options, call the flow, hand to a renderer, return an exit code."""
