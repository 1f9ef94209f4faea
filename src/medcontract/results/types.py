"""The field types of results.

Each marker is the name of a field type in `contracts.base`, which defines the valid values. `schemas.result_models`
derives models and published schemas from the Structs, so that Pydantic is not imported here.
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
"""The code of a problem, such as MC104; those of plugins have another prefix."""
Sha256 = Annotated[str, "Sha256"]
TrackResult = Annotated[dict[str, Any], "TrackResult"]
"""A document of the result contract of the track in the field `track`."""
