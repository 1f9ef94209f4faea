"""Finds the changes between two published JSON Schemas, and whom they break."""

from medcontract.schemas.diff.compare import compare
from medcontract.schemas.diff.files import FileChange, compare_files, parse, refusal
from medcontract.schemas.diff.nodes import Change

__all__ = ["Change", "FileChange", "compare", "compare_files", "parse", "refusal"]
