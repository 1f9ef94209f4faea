"""Everything for custom contracts and tracks. `docs/your-own-contract.md` is a tutorial.

Models derive from `Document` (a file), `StrictModel` (a record or object) or `OpenModel` (a record with other keys);
fields have the types below; rules express what a schema cannot. A `Track` computes figures from such files.
"""

from __future__ import annotations

from medcontract.contracts.base import (
    AcceptIntegral,
    AlwaysTrue,
    Count,
    Date,
    Document,
    Either,
    Guid,
    ListOf,
    Matching,
    NonNegative,
    OpenModel,
    Position,
    Positive,
    RelativePath,
    Str,
    StrictModel,
    Text,
    Unit,
    ZeroOrOne,
)  # fmt: skip
from medcontract.contracts.contract import Contract
from medcontract.contracts.plugins import register
from medcontract.contracts.rules import (
    AnyAbove,
    CalendarDate,
    Constant,
    Covers,
    Distinct,
    EmptyWhenFailed,
    Flag,
    ForbidPattern,
    Limit,
    Monotonic,
    Order,
    Reference,
    RequireAny,
    Requires,
    Sum,
    Unique,
)  # fmt: skip
from medcontract.scoring.comparison import Comparison, RowGroup, Rows
from medcontract.scoring.custom_metrics import register_metrics
from medcontract.scoring.pairing import Pair, Vocabulary, marks
from medcontract.scoring.processing_gate import processed_counts
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol
from medcontract.scoring.scorer import Answers, Counts, Finished, Remark, Scorer, ScoringOptions
from medcontract.scoring.scorer import Limit as TrackLimit
from medcontract.scoring.track import (
    Auxiliary,
    ExpectedIds,
    Figure,
    LinkedFiles,
    NamedFile,
    Option,
    Ranking,
    ResultFields,
    Roles,
    Track,
)
from medcontract.scoring.tracks import register as register_track

__all__ = [
    "MIN_PROCESSED",
    "AcceptIntegral",
    "AlwaysTrue",
    "Answers",
    "AnyAbove",
    "Auxiliary",
    "CalendarDate",
    "Change",
    "Comparison",
    "Constant",
    "Contract",
    "Count",
    "Counts",
    "Covers",
    "Date",
    "Distinct",
    "Document",
    "Either",
    "EmptyWhenFailed",
    "ExpectedIds",
    "Figure",
    "Finished",
    "Flag",
    "ForbidPattern",
    "Guid",
    "Limit",
    "LinkedFiles",
    "ListOf",
    "Matching",
    "Monotonic",
    "NamedFile",
    "NonNegative",
    "OpenModel",
    "Option",
    "Order",
    "Pair",
    "Parameter",
    "Position",
    "Positive",
    "Protocol",
    "Ranking",
    "Reference",
    "RelativePath",
    "Remark",
    "RequireAny",
    "Requires",
    "ResultFields",
    "Roles",
    "RowGroup",
    "Rows",
    "Scorer",
    "ScoringOptions",
    "Str",
    "StrictModel",
    "Sum",
    "Text",
    "Track",
    "TrackLimit",
    "Unique",
    "Unit",
    "Vocabulary",
    "ZeroOrOne",
    "marks",
    "processed_counts",
    "register",
    "register_metrics",
    "register_track",
]  # fmt: skip
