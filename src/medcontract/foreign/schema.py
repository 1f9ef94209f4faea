"""A JSON Schema of somebody else's, ready to judge values."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from referencing.exceptions import Unresolvable

from medcontract.definitions.patterns import TooSlow
from medcontract.errors import CallError, internal_error
from medcontract.foreign.checker import Checker
from medcontract.foreign.documents import draft_of, read_document
from medcontract.foreign.keywords import TooMuchWork
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
    def load(cls, path: str | os.PathLike[str], allow_refs: Iterable[str | os.PathLike[str]] = ()) -> Foreign:
        """Read a schema file and all local files that it refers to. Raises `CallError`, which says what is wrong.

        Those files are below the schema's folder, or below one of the folders `allow_refs`.
        """
        folders = [os.path.dirname(os.path.abspath(path)), *(os.fspath(folder) for folder in allow_refs)]
        for folder in folders[1:]:
            if not os.path.isdir(folder):
                raise CallError(f"{folder}: no such folder, to allow references to", "check the spelling")
        document = read_document(os.fspath(path))
        library = Library(draft_of(document, document.contents), folders)
        return cls(document.name, library.draft.name, library.build(document))

    def findings(self, value: Any) -> list[Finding]:
        """What is wrong with a parsed value, by path; nothing when it keeps the schema."""
        try:
            return self._checker.findings(value)
        except (TooMuchWork, TooSlow) as reason:
            what = "a pattern" if isinstance(reason, TooSlow) else "the references"
            hint = "simplify it, or split the file into records (.jsonl); see docs/any-schema.md"
            return [Finding("MC024", f"{what} of this schema would take too long to check", hint)]
        except RecursionError:
            hint = f"values may be nested {MAX_DEPTH} levels deep, but this schema refers to itself too often in each"
            return [Finding("MC019", "nested too deep to be checked with this schema", hint)]
        except (Unresolvable, ArithmeticError, LookupError, TypeError, ValueError) as error:
            # the schema was checked and all references were followed: jsonschema itself is at a loss
            message = f"this schema cannot be applied here ({type(error).__name__} in jsonschema)"
            return [Finding("MC029", message, internal_error(error)[1])]
