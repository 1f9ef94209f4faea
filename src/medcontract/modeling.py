"""Everything for custom contracts and tracks; `docs/your-own-contract.md` and `docs/your-own-track.md` explain it.

Models derive from `Document` (a file), `StrictModel` (a record or object) or `OpenModel` (a record with other keys);
fields have the types below; rules express what a schema cannot. A `Track` computes figures from such files.
"""
# ruff: noqa: I001  # would write one line for each name

from __future__ import annotations

from typing import Any

from medcontract.catalog import ProblemCode
from medcontract.contracts.base import (
    AcceptIntegral, AlwaysTrue, Count, Date, Document, Either, Guid, ListOf, Matching, NonNegative, OpenModel, Position,
    Positive, RelativePath, Str, StrictModel, Text, Unit, ZeroOrOne,
)  # fmt: skip
from medcontract.contracts.contract import Contract, StandIn
from medcontract.contracts.rules import (
    AnyAbove, CalendarDate, CollectionRule, Constant, Covers, CrossFileRule, Disjoint, Distinct, EmptyWhenFailed, Equal,
    Excludes, Flag, ForbidPattern, ForbidValue, Limit, Monotonic, Order, OtherFile, RecordRule, Reference, RequireAny,
    Requires, SameOrder, SameValue, Sum, Unique,
)  # fmt: skip
from medcontract.plugins.registration import register, register_codes
from medcontract.problems import Finding
from medcontract.results.score import FailureMode, ItemBreakdown
from medcontract.results.tables import (
    Bars, Distribution, Matrix, Table, failure_modes_table, figures_table, long_table, number,
)  # fmt: skip
from medcontract.scoring.track import Comparison, RowGroup, Rows
from medcontract.scoring.custom_metrics import register_metrics
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pair, Pairing, Vocabulary, marks
from medcontract.scoring.scorer import processed_counts
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol
from medcontract.scoring.rational import rounded
from medcontract.scoring.scorer import Answers, Finished, Notes, Remark, Scorer, ScoringOptions, Tally
from medcontract.scoring.scorer import Limit as TrackLimit
from medcontract.scoring.track import (
    Auxiliary, ExpectedIds, Figure, Imitation, LinkedFiles, NamedFile, Option, Ranking, ResultFields, Roles, Track,
)  # fmt: skip
from medcontract.scoring.tracks import register as register_track

__all__ = [
    "MIN_PROCESSED", "AcceptIntegral", "AlwaysTrue", "Answers", "AnyAbove", "Auxiliary", "Bars", "CalendarDate",
    "Change", "CollectionRule", "Comparison", "Constant", "Contract", "Count", "Covers", "CrossFileRule", "Date",
    "Disjoint", "Distinct", "Distribution", "Document", "Either", "EmptyWhenFailed", "Equal", "Excludes", "ExpectedIds",
    "FailureMode", "Figure", "Finding", "Finished", "Flag", "ForbidPattern", "ForbidValue", "Guid", "Imitation",
    "ItemBreakdown",
    "Limit", "LinkedFiles", "ListOf", "Matching", "Matrix", "Monotonic", "NamedFile", "NonNegative", "Notes",
    "OpenModel", "Option", "Order", "OtherFile", "Pair", "Pairing", "Parameter", "Position", "Positive", "ProblemCode",
    "Protocol", "Ranking", "RecordRule", "Reference", "RelativePath", "Remark", "RequireAny", "Requires",
    "ResultFields", "Roles", "RowGroup", "Rows", "SameOrder", "SameValue", "Scorer", "ScoringOptions", "StandIn", "Str",
    "StrictModel", "Sum", "Table", "Tally", "Text", "Track", "TrackLimit", "Unique", "Unit", "Unscored", "Vocabulary",
    "ZeroOrOne", "failure_modes_table", "figures_table", "long_table", "marks", "number", "processed_counts",
    "register", "register_codes", "register_metrics", "register_track", "rounded",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "Counts":
        raise ImportError("Counts is now Tally, and 'count' and 'finish' are 'tally' and 'figures'")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
