"""A new challenge file: inferred from a truth table, or from a made-up one.

`truth_table` reads the table; `profile` finds the type of each column, `vocabulary` what names and values suggest;
`inference` chooses key, labels and metrics; `draft` writes the text; `create` combines them.
"""
