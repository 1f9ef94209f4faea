"""Files checked against any JSON Schema: `validate --schema FILE`. A layer over `jsonschema` and `referencing`.

::

    drafts         the supported drafts, and where each has schemas inside schemas
    documents      one schema file: read, and blamed at its line and column
    references     all files that a schema refers to, in one registry; nothing is fetched
    keywords       the keywords that jsonschema does not locate, or not in bounded time
    alternatives   anyOf and oneOf: the errors of the schema that was probably meant
    errors         from jsonschema's errors to findings with our codes
    checker        a schema, ready for use
    validation     one data file, as in `medcontract.validation`
"""

from medcontract.jsonschema_files.checker import SchemaChecker
from medcontract.jsonschema_files.validation import validate_with_schema

__all__ = ["SchemaChecker", "validate_with_schema"]
