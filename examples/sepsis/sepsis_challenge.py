"""A small challenge of our own: early warning of sepsis on a ward.

Organizers write `sepsis/truth`, participants `sepsis/alarms`. Try it:

    medcontract validate --plugin ./sepsis_challenge.py sepsis_data/
    medcontract init --plugin ./sepsis_challenge.py sepsis demo
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from medcontract.modeling import (
    Contract,
    Document,
    Limit,
    ListOf,
    NonNegative,
    Order,
    Requires,
    Str,
    StrictModel,
    Unique,
    Unit,
)  # fmt: skip

DATA = Path(__file__).with_name("sepsis_data")


class Patient(StrictModel):
    """What is true of one stay."""

    stay_id: Str
    """Unique in the file."""
    ward: Literal["medical", "surgical", "intensive"]
    """Where the patient lay."""
    hours: Annotated[float, Field(gt=0, le=2400)]
    """How long the stay was."""
    onset_hour: NonNegative | None = None
    """When sepsis began, in hours from admission; absent or null: never."""
    criteria: Str | None = None
    """By which criteria the onset was found."""


class Truth(Document):
    """The ground truth of all stays."""

    event: Str
    """Name of the challenge."""
    stays: ListOf[Patient]
    """One record a stay."""


class Alarm(StrictModel):
    """The first alarm of a stay, if there was one."""

    stay_id: Str
    """The stay's id in the truth."""
    risk: Unit
    """The highest risk that the model saw."""
    raised_hour: NonNegative
    """When the alarm was raised."""
    cleared_hour: NonNegative
    """When it was cleared."""


class Alarms(Document):
    """A submission."""

    team_name: Str
    """The team that made it."""
    alarms: ListOf[Alarm]
    """At most one record a stay."""


TRUTH = Contract(
    id="sepsis/truth", model=Truth, record=Patient, list_key="stays", flat=True, title="Ground truth of sepsis alarms",
    examples=(DATA / "truth.json",),
    record_rules=(
        Requires(field="onset_hour", requires="criteria", code="MC215", severity="warning",
                 message="'onset_hour' without 'criteria'", hint="say by which criteria the onset was found"),
    ),
    rules=(Unique(within="stays", fields=("stay_id",), code="MC201", message="'stay_id' is repeated"),),
)  # fmt: skip
ALARMS = Contract(
    id="sepsis/alarms", model=Alarms, record=Alarm, list_key="alarms", flat=True, title="Alarms of a model",
    examples=(DATA / "alarms.csv",),
    record_rules=(
        Order(fields=("raised_hour", "cleared_hour"), code="MC203",
              message="the alarm was cleared before it was raised", hint="are the two hours swapped?"),
        Limit(field="raised_hour", minimum=2400, code="MC501", severity="warning",
              message="an alarm after 100 days", hint="hours count from admission"),
    ),
    rules=(Unique(within="alarms", fields=("stay_id",), code="MC201", message="'stay_id' is repeated",
                  hint="one alarm a stay: the first"),),
)  # fmt: skip

CONTRACTS = (TRUTH, ALARMS)
