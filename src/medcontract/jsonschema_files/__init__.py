"""Check files against any JSON Schema: `validate --schema FILE`. A layer over `jsonschema` and `referencing`.

::

    schema_files   drafts, reading schemas, and all files that they refer to; nothing is fetched
    keywords       keywords that jsonschema does not locate precisely, or not in bounded time, and patterns
    errors         conversion of jsonschema's errors to findings
    checker        a schema, ready for use, and the check of one data file
"""

from medcontract.jsonschema_files.checker import SchemaChecker, validate_with_schema

__all__ = ["SchemaChecker", "validate_with_schema"]
