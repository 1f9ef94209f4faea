"""The definitions of the specification, written down case by case and pair by pair, give the same values."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from random import Random

import pytest
from tests.metric_cases import VARIANTS, random_columns
from tests.metric_definitions import DEFINITIONS, root
from tests.support import sample

SEEDS = range(400)
NAMES = [name for name, each in VARIANTS.items() if each.metric.kind.name in DEFINITIONS]


@pytest.mark.parametrize("name", NAMES)
def test_definition(name: str) -> None:
    """On random cases, many of them unprocessed."""
    each = VARIANTS[name]
    definition = DEFINITIONS[each.metric.kind.name]
    for seed in sample(SEEDS, 10):
        random = Random(f"{name} {seed}")
        truths, predictions = random_columns(each.metric, random, random.randint(1, 12))
        rows = [(y, p) for y, p in zip(truths, predictions, strict=True) if y is not None]
        if rows:
            found, expected = each.value(truths, predictions).value, definition(each, rows)
            if each.metric.kind.name in ("log_loss", "spearman") and found is not None and expected is not None:
                assert abs(found - expected) < Fraction(1, 10**40)
                assert float(found) == float(expected)
            else:
                assert found == expected, (truths, predictions)


def test_root_of_the_definition() -> None:
    assert root(Fraction(2)) == Fraction(sqrt(2))
