"""A schema with everything that it refers to, ready to check values."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from referencing.exceptions import Unresolvable

from medcontract.errors import CallError, internal_error
from medcontract.jsonschema_files.errors import explain
from medcontract.jsonschema_files.keywords import Checked, validator_class
from medcontract.jsonschema_files.patterns import TooSlow
from medcontract.jsonschema_files.schema_files import Draft, SchemaFile, SchemaSet, draft_of, read_schema
from medcontract.problems import Finding, Path, plural
from medcontract.reading.limits import MAX_DEPTH


class SchemaChecker:
    """A checked schema with all references resolved. See `SchemaChecker.load`."""

    def __init__(self, draft: Draft, schema: Any, schemas: SchemaSet) -> None:
        self.draft = draft.name
        self._schemas = schemas
        self._checked: Checked = {}
        root = {"not": {}} if schema is False else schema
        made = validator_class(draft.validator, None if schemas.dynamic else self._checked)
        self._validator = made(root, registry=schemas.registry)

    @classmethod
    def load(cls, path: str | os.PathLike[str], allow_refs: Iterable[str | os.PathLike[str]] = ()) -> SchemaChecker:
        """Read a schema file and all local files that it refers to. Raises `CallError` if something is wrong.

        These files must be in the schema's folder, or in one of the folders `allow_refs`.
        """
        folders = [os.path.dirname(os.path.abspath(path)), *(os.fspath(folder) for folder in allow_refs)]
        for folder in folders[1:]:
            if not os.path.isdir(folder):
                raise CallError(f"no such folder: {folder}", "check the spelling", flag="--allow-refs")
        file = read_schema(os.fspath(path))
        draft = draft_of(file, file.contents)
        schemas = SchemaSet(draft, _check_schema, folders)
        schemas.load(file)
        return cls(draft, file.contents, schemas)

    def findings(self, value: Any) -> list[Finding]:
        """Return the problems of a parsed value; empty if it matches the schema."""
        try:
            return explain(self._validator.iter_errors(value), self._schemas.known_keys)
        except TooSlow:
            hint = "simplify it, or split the file into records (.jsonl); see docs/any-schema.md"
            return [Finding("MC024", "a pattern of this schema would take too long to check", hint)]
        except RecursionError:
            hint = f"values may be nested {MAX_DEPTH} levels deep, but this schema recurses too often per level"
            return [Finding("MC019", "nested too deeply to be checked with this schema", hint)]
        except (Unresolvable, ArithmeticError, LookupError, TypeError, ValueError) as error:
            # a limit of jsonschema: the schema was checked, and all references were resolved
            message = f"this schema cannot be applied to this value ({type(error).__name__} in jsonschema)"
            return [Finding("MC029", message, internal_error(error))]
        finally:
            self._checked.clear()


@cache
def _meta_checker(draft: Draft) -> SchemaChecker:
    schemas = SchemaSet(draft, _check_schema, ())
    schemas.dynamic = True
    return SchemaChecker(draft, schemas.registry.contents(draft.uri.rstrip("#")), schemas)


def _check_schema(draft: Draft, file: SchemaFile, schema: Any, path: Path) -> None:
    """Check a schema against the meta-schema of its draft. Raises `CallError`."""
    findings = _meta_checker(draft).findings(schema)
    if not findings:
        return
    first, more = findings[0], f" (and {plural(len(findings) - 1, 'more problem')})" * (len(findings) > 1)
    undeclared = not path and "$schema" not in schema
    hint = first.hint or (f"a schema without '$schema' is read as {draft.name}" if undeclared else None)
    raise file.error((*path, *first.path), f"not a valid schema of {draft.name}: {first.message}{more}", hint)
