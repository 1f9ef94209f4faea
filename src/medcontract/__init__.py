"""medcontract: typed contracts for everything that a medical-AI evaluation reads or writes.

>>> import medcontract
>>> report = medcontract.validate(b'{"image_id": "I-1", "label": "MEL"}', name="truth.jsonl")
>>> report.ok, report.contract, report.records
(True, 'lesions/truth', 1)
"""

from importlib import import_module

from medcontract._version import __version__

TYPE_CHECKING = False
"""With `python -m medcontract` this module runs while the current folder is first on `sys.path`: it imports nothing
of the standard library that is not loaded yet, because a file of that name in a folder of data would run."""
if TYPE_CHECKING:
    from typing import Any

    from medcontract.api import contracts, schema
    from medcontract.definitions.contract import Contract, Validated
    from medcontract.definitions.frames import frame_schema
    from medcontract.errors import CallError, InvalidData, MedcontractError, NotRecognised, UnknownContract
    from medcontract.evaluation.score import Score
    from medcontract.flow import load, score, validate
    from medcontract.problems import FileReport, Problem
    from medcontract.tables import validate_frame

_HOME = {
    "CallError": "errors",
    "Contract": "definitions.contract",
    "FileReport": "problems",
    "InvalidData": "errors",
    "MedcontractError": "errors",
    "NotRecognised": "errors",
    "Problem": "problems",
    "Score": "evaluation.score",
    "UnknownContract": "errors",
    "Validated": "definitions.contract",
    "contracts": "api",
    "frame_schema": "definitions.frames",
    "load": "flow",
    "schema": "api",
    "score": "flow",
    "validate": "flow",
    "validate_frame": "tables",
}
"""Public names are imported when they are used: `import medcontract` is quick."""

__all__ = [
    "CallError",
    "Contract",
    "FileReport",
    "InvalidData",
    "MedcontractError",
    "NotRecognised",
    "Problem",
    "Score",
    "UnknownContract",
    "Validated",
    "__version__",
    "contracts",
    "frame_schema",
    "load",
    "schema",
    "score",
    "validate",
    "validate_frame",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOME:
        raise AttributeError(f"module 'medcontract' has no attribute '{name}'")
    value = getattr(import_module(f"medcontract.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
