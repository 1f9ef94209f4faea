"""A new challenge file: inferred from a truth table, or from a made-up one.

`read` reads the table; `columns` finds the types; `infer` chooses key, labels and metrics; `draft` writes the text;
`create` combines them.
"""
