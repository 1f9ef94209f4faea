"""A new challenge file: inferred from a truth table, or from a made-up one.

`read` reads the table; `infer` chooses key, types, labels and metrics; `draft` writes the text; `create` combines them.
"""
