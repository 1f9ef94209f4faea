"""The pandera schema of a contract accepts what `validate_frame` accepts."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pandera.errors
import pytest
from tests.mutations import SEED, mutants, records

import medcontract
from medcontract.contracts import registry
from medcontract.contracts.registry import CompiledContract

Row = dict[str, Any]
FLAT = sorted(entry.id for entry in registry.compiled().values() if entry.columns)


def _flat(record: Row, contract: CompiledContract) -> Row:
    """A record as a row of a table."""
    row = dict(record)
    for name, columns in contract.spread.items():
        row.update(zip(columns, row.pop(name, None) or (), strict=False))
    return row


@pytest.mark.sampled(8)
@pytest.mark.parametrize("contract_id", FLAT)
def test_pandera_agrees_on_mutated_rows(contract_id: str) -> None:
    """`frame_schema` and `validate_frame` give the same verdict, for mixed and for inferred column types."""
    contract = registry.find(contract_id)
    schema = medcontract.frame_schema(contract_id)
    valid = [_flat(record, contract) for record in records(contract.definition)]
    rng = random.Random(SEED)
    verdicts = set()
    for row in mutants(valid, 150):
        if not isinstance(row, dict):
            continue
        rows = rng.choice([[row], [valid[0], row], [row, rng.choice(valid)], [row, row]])
        frame = pd.DataFrame(rows, dtype=rng.choice([object, None]))
        expected = medcontract.validate_frame(frame, contract_id).ok
        assert _accepts(schema, frame) == expected, rows
        verdicts.add(expected)
    assert verdicts == {True, False}


def _accepts(schema: Any, frame: pd.DataFrame) -> bool:
    try:
        schema.validate(frame, lazy=True)
    except (pandera.errors.SchemaError, pandera.errors.SchemaErrors):
        return False
    return True
