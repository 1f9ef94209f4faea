"""A small custom challenge: early warning of sepsis on a ward.

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
    """The correct labels of one stay."""

    stay_id: Str
    """The id of the stay; unique in the file."""
    ward: Literal["medical", "surgical", "intensive"]
    """The ward of the patient."""
    hours: Annotated[float, Field(gt=0, le=2400)]
    """The length of the stay, in hours."""
    onset_hour: NonNegative | None = None
    """The onset of sepsis, in hours from admission; absent or null if there was none."""
    criteria: Str | None = None
    """The criteria that determined the onset."""


class Truth(Document):
    """The ground truth of all stays."""

    event: Str
    """Name of the challenge."""
    stays: ListOf[Patient]
    """One record per stay."""


class Alarm(StrictModel):
    """The first alarm of a stay."""

    stay_id: Str
    """The id of the stay, as in the truth."""
    risk: Unit
    """The highest risk that the model predicted."""
    raised_hour: NonNegative
    """When the alarm was raised, in hours from admission."""
    cleared_hour: NonNegative
    """When the alarm was cleared, in hours from admission."""


class Alarms(Document):
    """The submission of one team."""

    team_name: Str
    """Name of the team."""
    alarms: ListOf[Alarm]
    """At most one record per stay."""


TRUTH = Contract(
    id="sepsis/truth", model=Truth, record=Patient, list_key="stays", flat=True, title="Ground truth of sepsis alarms",
    examples=(DATA / "truth.json",),
    record_rules=(
        Requires(field="onset_hour", requires="criteria", code="MC215", severity="warning",
                 message="'onset_hour' without 'criteria'", hint="add the criteria that determined the onset"),
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
                  hint="only keep the first alarm of each stay"),),
)  # fmt: skip

CONTRACTS = (TRUTH, ALARMS)
