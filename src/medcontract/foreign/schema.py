"""A JSON Schema of somebody else's, ready to judge values."""

from __future__ import annotations

import os
from typing import Any

from referencing.exceptions import Unresolvable

from medcontract.errors import CallError
from medcontract.foreign.checker import Checker
from medcontract.foreign.documents import draft_of, read_document
from medcontract.foreign.library import Library
from medcontract.problems import Finding
from medcontract.reading.limits import MAX_DEPTH


class Foreign:
    """A schema that was read, checked, and whose references were all followed. See `Foreign.load`."""

    def __init__(self, name: str, draft: str, checker: Checker) -> None:
        self.name = name
        self.draft = draft
        self._checker = checker

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Foreign:
        """Read a schema file and all local files that it refers to. Raises `CallError`, which says what is wrong."""
        document = read_document(os.fspath(path))
        library = Library(draft_of(document, document.contents))
        return cls(document.name, library.draft.name, library.build(document))

    def findings(self, value: Any) -> list[Finding]:
        """What is wrong with a parsed value, by path; nothing when it keeps the schema."""
        try:
            return self._checker.findings(value)
        except RecursionError:
            hint = f"values may be nested {MAX_DEPTH} levels deep, but this schema refers to itself too often in each"
            return [Finding("MC019", "nested too deep to be checked with this schema", hint)]
        except (Unresolvable, ArithmeticError, LookupError, TypeError, ValueError) as error:
            # the schema was checked and all references were followed: jsonschema itself is at a loss
            raise CallError(
                f"schema {self.name}: it cannot be applied ({type(error).__name__} in jsonschema)"
            ) from error
