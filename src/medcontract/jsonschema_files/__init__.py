"""Check files against any JSON Schema: `validate --schema FILE`. A layer over `jsonschema` and `referencing`.

::

    drafts         the supported drafts, and where each has schemas inside schemas
    documents      one schema file: reading it, and errors at its lines and columns
    references     all files that a schema refers to, in one registry; nothing is fetched
    keywords       keywords that jsonschema does not locate precisely, or not in bounded time
    alternatives   anyOf and oneOf: the errors of the schema that was probably intended
    errors         conversion of jsonschema's errors to findings
    checker        a schema, ready for use
    validation     checking one data file
"""

from medcontract.jsonschema_files.checker import SchemaChecker
from medcontract.jsonschema_files.validation import validate_with_schema

__all__ = ["SchemaChecker", "validate_with_schema"]
