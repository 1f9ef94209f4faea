"""Everything that a contract of your own is made of. `docs/your-own-contract.md` leads through it.

Models derive from `Document` (a file), `Strictest` (a record or object) or `Open` (a record with other keys);
fields have the types below; rules say what a schema cannot.
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
from medcontract.definitions.plugins import register, register_metrics
from medcontract.definitions.rules import (
    Constant,
    Distinct,
    Empty,
    Exists,
    Flag,
    Limit,
    Order,
    Requires,
    Rising,
    SomeAbove,
    Something,
    Sum,
    Unique,
    Unlike,
)  # fmt: skip

__all__ = [
    "WHOLE", "Constant", "Contract", "Count", "Date", "Distinct", "Document", "Either", "Empty", "Exists", "Flag",
    "Guid", "Limit", "Many", "Matching", "NonNegative", "Open", "Order", "Position", "Positive", "RelativePath",
    "Requires", "Rising", "SomeAbove", "Something", "Str", "Strictest", "Sum", "Text", "Unique", "Unit", "Unlike",
    "Yes", "ZeroOrOne", "register", "register_metrics",
]  # fmt: skip
