"""Resampling and intervals, with numbers worked out by hand or by other means, from the specification alone."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any

import numpy as np
import pytest

from medcontract.uncertainty.figures import Resampled, combined, kept, quotient
from medcontract.uncertainty.intervals import NoInterval, interval, percentiles, shown, wilson, without_spread
from medcontract.uncertainty.sample import MOST_GROUPS, Sample
from medcontract.uncertainty.units import key_text

LEVEL = Fraction(95, 100)


def poisson_weights(key: str, resamples: int) -> list[int]:
    """The weights of a group, as UNCERTAINTY.md defines them."""
    stream = hashlib.shake_128(b"medcontract/resample/1\n" + key.encode()).digest(2 * resamples)
    thresholds = [24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535]
    numbers = [256 * stream[2 * b] + stream[2 * b + 1] for b in range(resamples)]
    return [sum(threshold <= u for threshold in thresholds) for u in numbers]


@pytest.mark.parametrize(
    ("unit", "key"),
    [
        (("P-7",), '["P-7"]'),
        (("triage-qa", "12"), '["triage-qa","12"]'),
        ((None, "P-7"), '[null,"P-7"]'),
        (('a"\\\n\u001f/é',), '["a\\"\\\\\\n\\u001f/é"]'),
        ((3.0,), "[3]"),
        ((True, 1e21), "[true,1e+21]"),
    ],
)
def test_a_key_is_canonical_json(unit: tuple[object, ...], key: str) -> None:
    """The key of a unit is the RFC 8785 text of the list of its values."""
    assert key_text(unit).decode() == key


def test_weights_follow_from_the_key_alone() -> None:
    """Replicate b of a unit draws it as often as the 16-bit number at 2b of the SHAKE-128 of its key says."""
    sample = Sample([("P-7",), ("triage-qa", "12"), ("P-7",)], 500)
    assert sample.units == sample.groups == 2
    for case, key in enumerate(['["P-7"]', '["triage-qa","12"]', '["P-7"]']):
        drawn = [int(sample.weights_by_case(row)[case]) for row in range(501)]
        assert drawn == [1, *poisson_weights(key, 500)]


def test_weights_have_the_poisson_distribution() -> None:
    """The thresholds belong to a Poisson variable with mean 1, of which 24109 / 65536 = 0.3679 are 0."""
    sample = Sample([(f"c{n}",) for n in range(1000)], 100)
    weights = np.stack([sample.weights_by_case(row) for row in range(1, 101)])
    assert weights.mean() == pytest.approx(1, abs=0.02)
    assert weights.var() == pytest.approx(1, abs=0.03)
    assert (weights == 0).mean() == pytest.approx(24109 / 65536, abs=0.01)


def test_many_units_share_groups() -> None:
    """Above 10,000 units, the first 8 bytes of the SHA-256 of the key, modulo 10,000, are the group."""
    units = [(f"case {number}",) for number in range(MOST_GROUPS + 1)]
    sample = Sample(units, 100)
    expected = []
    for (name,) in units[:50]:
        digest = hashlib.sha256(json.dumps([name], separators=(",", ":")).encode()).digest()
        group = int.from_bytes(digest[:8], "big") % 10_000
        expected.append([1, *poisson_weights(f"[{group}]", 100)])
    found = [[int(sample.weights_by_case(row)[case]) for row in range(101)] for case in range(50)]
    assert found == expected
    hashes = {hashlib.sha256(key_text(unit)).digest()[:8] for unit in units}
    assert sample.groups == len({int.from_bytes(each, "big") % 10_000 for each in hashes}) < MOST_GROUPS
    assert sample.units == MOST_GROUPS + 1


@pytest.mark.parametrize("size", [3, 300])
def test_codes_are_counted_by_weight(size: int) -> None:
    """Few and many codes are counted in different ways, with the same result."""
    random = Random(size)
    codes = [random.randrange(-1, size) for _ in range(500)]
    sample = Sample([(str(number % 200),) for number in range(500)], 100)
    (table,) = sample.count((np.array(codes), size))
    for row in (0, 1, 100):
        weights = sample.weights_by_case(row)
        expected = [sum(int(w) for w, code in zip(weights, codes, strict=True) if code == each) for each in range(size)]
        assert table[row].tolist() == expected


def test_real_numbers_are_added_as_integers() -> None:
    """Terms are multiples of 2⁻⁴⁰ of the largest, so their sum does not depend on their order."""
    values = np.array([0.1, 0.2, 0.7, 1 / 3])
    units = [("a",), ("b",), ("c",), ("d",)]
    forward = Sample(units, 200).total(values)
    backward = Sample(units[::-1], 200).total(values[::-1])
    assert forward.tolist() == backward.tolist()
    assert forward[0] == sum(round(value * 2**40) for value in values.tolist()) / 2**40
    weights = [poisson_weights(f'["{name}"]', 200)[7] for name in "abcd"]
    terms = [round(value * 2**40) * weight for value, weight in zip(values.tolist(), weights, strict=True)]
    assert forward[8] == sum(terms) / 2**40
    large = Sample(units, 200).total(values * 64, largest=64.0)
    assert large.tolist() == (forward * 64).tolist()


def test_the_interval_is_the_kth_smallest_and_largest() -> None:
    """Of 1,000 values, k = ⌈1000 · 0.05 / 2⌉ = 25; of 20, k = max(1, ⌈0.5⌉) = 1; an exact level does not round up."""
    values = np.array(Random(1).sample(range(1000), 1000), float)
    assert percentiles(values, LEVEL) == (24, 975)
    assert percentiles(values[:20], LEVEL) == (values[:20].min(), values[:20].max())
    assert percentiles(values, Fraction(8, 10)) == (99, 900)


def test_wilson() -> None:
    """19 of 20: (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n) with z = 1.959964."""
    z, p, n = 1.959963984540054, 0.95, 20
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    expected = [(p + z * z / (2 * n) + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    assert wilson(p, n, LEVEL) == pytest.approx(expected)
    assert wilson(p, n, LEVEL) == pytest.approx((0.763869, 0.991119), abs=1e-6)
    assert wilson(1.0, 20, LEVEL) == pytest.approx((0.838875, 1), abs=1e-6)


def test_equal_replicates_have_an_interval() -> None:
    """20 of 20: e = z² / (n + z²) = 3.841459 / 23.841459 = 0.161125 of the way to each end of the scale."""
    assert without_spread(1.0, (0, 1), 20, LEVEL) == pytest.approx((0.838875, 1), abs=1e-6)
    assert without_spread(0.0, (-1, 1), 20, LEVEL) == pytest.approx((-0.161125, 0.161125), abs=1e-6)


def test_bounds_are_rounded() -> None:
    """To 6 decimals, ties to even; without a scale, to 9 significant digits."""
    assert [shown(value, (0, 1)) for value in (0.0078125, 0.0234375, 0.1234567)] == [0.007812, 0.023438, 0.123457]
    assert [shown(value, None) for value in (123456.78949, 0.000123456789499)] == [123456.789, 0.000123456789]


def of(values: list[float], **more: Any) -> Resampled:
    return Resampled(**{"values": np.array(values), "cases": np.ones(4, bool), **more})


UNITS = [("a",), ("b",), ("c",), ("d",)]


def test_figures_without_an_interval() -> None:
    """More than 5 % undefined, no case, or the same everywhere without a scale: null with a reason."""
    sample = Sample(UNITS, 100)
    varying = [0.5, *(0.01 * number for number in range(100))]
    assert interval(of(varying), sample, LEVEL) == (0.02, 0.97)
    some_undefined = [0.5, *[float("nan")] * 5, *varying[6:]]
    assert interval(of(some_undefined), sample, LEVEL) == (0.07, 0.97)
    many_undefined = [0.5, *[float("nan")] * 6, *varying[7:]]
    assert interval(of(many_undefined), sample, LEVEL) == NoInterval("undefined in 6 of 100 resamples")
    nothing = interval(of([0.0] * 101, cases=np.zeros(4, bool)), sample, LEVEL)
    assert nothing == NoInterval("there is no case")
    constant = interval(of([2.5] * 101, scale=None), sample, LEVEL)
    assert constant == NoInterval("it is the same in all resamples, and has no scale")
    assert interval(of([1.0] * 101, counted=0), sample, LEVEL) == NoInterval("no case counts in its denominator")


def test_clusters_have_no_binomial_interval() -> None:
    """The cases of a cluster are not independent, so Wilson's formula does not hold for them."""
    varying = of([0.5, *(0.01 * number for number in range(100))], counted=4)
    assert interval(varying, Sample(UNITS, 100), LEVEL) == pytest.approx(wilson(0.5, 4, LEVEL), abs=1e-6)
    assert interval(varying, Sample(UNITS, 100, clustered=True), LEVEL) == (0.02, 0.97)
    same = of([1.0] * 101, counted=4)
    two = Sample([("a",), ("a",), ("b",), ("b",)], 100, clustered=True)
    low, high = interval(same, two, LEVEL)  # type: ignore[misc]
    assert (low, high) == (pytest.approx(1 - 3.841459 / 5.841459, abs=1e-6), 1)


def test_a_class_without_a_case_keeps_its_value() -> None:
    """So it enters means, as in the full data; an undefined part makes the whole undefined."""
    recalls = kept(quotient(np.array([1.0, 0, 2]), np.array([2.0, 0, 2]), empty=0.0), np.array([2, 0, 2]))
    assert recalls.tolist() == [0.5, 0.5, 1]
    nan = float("nan")
    total = combined([(0.5, of([0.5, 0.5, 1])), (-2, of([1, nan, 0], scale=(0, 10)))], constant=1)
    assert total.values.tolist()[0] == -0.75
    assert np.isnan(total.values[1])
    assert total.scale == (-19, 1.5)


def test_the_scale_of_a_sum() -> None:
    """A part without a scale adds its value if it does not vary; otherwise the sum has none."""
    assert combined([(1, of([0.5, 1])), (2, of([3.0, 3.0], scale=None))]).scale == (6, 7)
    assert combined([(1, of([0.5, 1])), (2, of([3.0, 4.0], scale=None))]).scale is None
    assert combined([(2, of([3.0, 3.0], scale=None))]).scale is None
