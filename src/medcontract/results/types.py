"""The kinds of fields that results have.

Each marker names the field type of `definitions.base` that says what such a field may hold: the published schema is
derived from these Structs by `definitions.derived`, without Pydantic being imported here.
"""

from __future__ import annotations

from typing import Annotated, Any

Str = Annotated[str, "Str"]
"""Not blank."""
Count = Annotated[int, "Count"]
Position = Annotated[int, "Position"]
"""1-based."""
NonNegative = Annotated[float, "NonNegative"]
Unit = Annotated[float, "Unit"]
"""From 0 to 1."""
RelativePath = Annotated[str, "RelativePath"]
Code = Annotated[str, "Code"]
"""Of a problem, such as MC104."""
Sha256 = Annotated[str, "Sha256"]
TrackResult = Annotated[dict[str, Any], "TrackResult"]
"""A document of the result contract of the track that the field `track` names."""
