"""The public classes, and the types in signatures of public functions.

Modules import them for type checkers only, to start quickly. `medcontract.__getattr__` adds them to the module of a
public name, so that `typing.get_type_hints` and `help` can resolve them.
"""

from decimal import Decimal
from pathlib import Path

from medcontract.contracts.contract import Contract, Validated
from medcontract.errors import CallError, InvalidData, MedcontractError, NotRecognized, UnknownContract
from medcontract.platforms.settings import Bundle
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Fix, Preflight
from medcontract.results.reference import (
    CacheInfo,
    ContractList,
    Explanation,
    Normalization,
    Protocol,
    ProtocolCheck,
    ProtocolList,
)
from medcontract.results.rehearsal import Rehearsal
from medcontract.results.schemas import DataDictionary, Draft, SchemaCheck, SchemaDiff, SchemaExport
from medcontract.results.score import Score
from medcontract.results.validation import FileReport, Problem, Validation
from medcontract.results.verification import Verification

__all__ = [
    "Bundle", "CacheInfo", "CallError", "Comparison", "Contract", "ContractList", "DataDictionary", "Decimal", "Draft",
    "Explanation", "FileReport", "Fix", "InvalidData", "Leaderboard", "MedcontractError", "Normalization",
    "NotRecognized", "Path", "Preflight", "Problem", "Protocol", "ProtocolCheck", "ProtocolList", "Rehearsal",
    "SchemaCheck",
    "SchemaDiff", "SchemaExport", "Score", "UnknownContract", "Validated", "Validation",
    "Verification",
]  # fmt: skip
