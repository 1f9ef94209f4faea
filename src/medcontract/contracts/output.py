"""The contracts of what medcontract itself prints as JSON."""

from __future__ import annotations

from medcontract.contracts.contract import Contract
from medcontract.contracts.result_models import model_of
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Preflight
from medcontract.results.reference import ContractList, Explanation, Protocol, ProtocolCheck, ProtocolList
from medcontract.results.schemas import SchemaDiff, SchemaIndex
from medcontract.results.score import Score
from medcontract.results.validation import Validation

VALIDATION = Contract(
    id="medcontract/validation", model=model_of(Validation), title="Result of a validation", output=True
)
LISTING = Contract(id="medcontract/listing", model=model_of(ContractList), title="List of contracts", output=True)
EXPLANATION = Contract(
    id="medcontract/explanation", model=model_of(Explanation), title="Problem codes explained", output=True
)
INDEX = Contract(id="medcontract/index", model=model_of(SchemaIndex), title="Index of published schemas", output=True)
SCHEMA_DIFF = Contract(
    id="medcontract/schema-diff", model=model_of(SchemaDiff), title="Changes between schemas", output=True
)
SCORE = Contract(
    id="medcontract/score", model=model_of(Score), title="Score with its inputs, protocol and processing", output=True
)
LEADERBOARD = Contract(
    id="medcontract/leaderboard", model=model_of(Leaderboard), title="Ranking of submissions", output=True
)
COMPARISON = Contract(
    id="medcontract/comparison", model=model_of(Comparison), title="Comparison of two results", output=True
)
PREFLIGHT = Contract(
    id="medcontract/preflight", model=model_of(Preflight), title="Preflight checklist of a submission", output=True
)
PROTOCOL = Contract(id="medcontract/protocol", model=model_of(Protocol), title="Protocol of a track", output=True)
PROTOCOL_CHECK = Contract(
    id="medcontract/protocol-check", model=model_of(ProtocolCheck), title="Check of a frozen protocol", output=True
)
PROTOCOLS = Contract(id="medcontract/protocols", model=model_of(ProtocolList), title="List of protocols", output=True)

CONTRACTS = (
    COMPARISON, EXPLANATION, INDEX, LEADERBOARD, LISTING, PREFLIGHT, PROTOCOL, PROTOCOL_CHECK, PROTOCOLS, SCHEMA_DIFF,
    SCORE, VALIDATION,
)  # fmt: skip
