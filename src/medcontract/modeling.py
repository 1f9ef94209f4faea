"""Everything that a contract and a track of your own are made of. `docs/your-own-contract.md` leads through it.

Models derive from `Document` (a file), `Strictest` (a record or object) or `Open` (a record with other keys);
fields have the types below; rules say what a schema cannot. A `Track` makes figures of what such files hold.
"""

from __future__ import annotations

from medcontract.definitions.base import (
    WHOLE,
    Count,
    Date,
    Document,
    Either,
    Guid,
    Many,
    Matching,
    NonNegative,
    Open,
    Position,
    Positive,
    RelativePath,
    Str,
    Strictest,
    Text,
    Unit,
    Yes,
    ZeroOrOne,
)  # fmt: skip
from medcontract.definitions.contract import Contract
from medcontract.definitions.plugins import register
from medcontract.definitions.rules import (
    Constant,
    Covers,
    Distinct,
    Empty,
    Exists,
    Flag,
    Limit,
    Order,
    Reference,
    Requires,
    Rising,
    SomeAbove,
    Something,
    Sum,
    Unique,
    Unlike,
)  # fmt: skip
from medcontract.scoring.comparison import Comparison, RowGroup, Rows
from medcontract.scoring.custom_metrics import register_metrics
from medcontract.scoring.pairing import Pair, marks
from medcontract.scoring.processing_gate import counts_of_sheets
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol
from medcontract.scoring.scorer import Answers, Counts, Finished, Scorer, ScoringOptions
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
    "MIN_PROCESSED", "WHOLE", "Answers", "Auxiliary", "Change", "Comparison", "Constant", "Contract", "Count", "Counts",
    "Covers", "Date", "Distinct", "Document", "Either", "Empty", "Exists", "ExpectedIds", "Figure", "Finished", "Flag",
    "Guid", "Limit", "LinkedFiles", "Many", "Matching", "NamedFile", "NonNegative", "Open", "Option", "Order", "Pair",
    "Parameter", "Position", "Positive", "Protocol", "Ranking", "Reference", "RelativePath", "Requires",
    "ResultFields", "Rising", "Roles", "RowGroup", "Rows", "Scorer", "ScoringOptions", "SomeAbove", "Something", "Str",
    "Strictest", "Sum", "Text", "Track", "TrackLimit", "Unique", "Unit", "Unlike", "Yes", "ZeroOrOne",
    "counts_of_sheets", "marks", "register", "register_metrics", "register_track",
]  # fmt: skip
