"""Files checked with any JSON Schema, not with a contract of ours: `validate --schema FILE`.

::

    drafts      the drafts that are read, and where schemas stand inside schemas
    documents   one schema file: read, and blamed at its line and column
    library     all files that a schema refers to, tied together; nothing is ever fetched (references, loops)
    keywords    the few keywords that jsonschema tells too little about
    explain     from jsonschema's errors to findings with our codes (branches: anyOf, oneOf; words: phrases)
    checker     the schema, ready for use (room: with room for deep recursion)
    judging     the path of one file, as in `medcontract.judge`
"""

from medcontract.foreign.judging import judge_foreign
from medcontract.foreign.schema import Foreign

__all__ = ["Foreign", "judge_foreign"]
