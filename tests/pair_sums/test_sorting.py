"""Sorted places: ascending on every kind of scores, hard ones too."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.compiled.sorting import SHORT, sort_segments, sorted_segments
from strategies import KINDS, scores_of


def sort_whole(values: np.ndarray, segments: list | None = None) -> np.ndarray:
    ranges = np.array([[0, values.size]] if segments is None else segments, dtype=np.int64)
    places = np.full(values.size, -1, dtype=np.int32)
    sort_segments(values, ranges, places)
    for low, high in ranges:
        assert (np.sort(places[low:high]) == np.arange(low, high)).all()
        assert (values[places[low:high]] == np.sort(values[low:high])).all()
    return places


HARD = {
    "exponents": lambda n, g: np.exp(50 * g.normal(size=n)),
    "two far": lambda n, g: np.where(g.random(n) < 1e-3, 1e300, -1e300),
    "widest": lambda n, g: g.choice([-1.7e308, 1.7e308, 0.0], n) + g.normal(size=n),
    "last bits": lambda n, g: 1.0 + g.integers(0, 50, n) * 2.0**-52,
    "denormal": lambda n, g: 5e-324 * g.integers(0, 9, n),
    "cauchy": lambda n, g: g.standard_cauchy(n),
    "rising": lambda n, g: np.arange(n, dtype=float),
    "falling": lambda n, g: -np.arange(n, dtype=float),
    "signed zero": lambda n, g: np.where(g.random(n) < 0.5, 0.0, -0.0),
    "mostly zero": lambda n, g: np.where(g.random(n) < 0.99, 0.0, g.normal(size=n)),
    "one huge": lambda n, g: np.append(g.normal(size=n - 1), 1e308),
}


@pytest.mark.parametrize("n", [1, 2, 24, SHORT, SHORT + 1, 300, 40_000, 300_000])
@pytest.mark.parametrize("kind", [*KINDS, *HARD])
def test_order_is_ascending_and_complete(kind, n):
    generator = np.random.default_rng(n)
    make = HARD.get(kind, lambda n, g: scores_of(kind, n, g))
    sort_whole(np.asarray(make(n, generator), dtype=np.float64))


def test_segments_are_sorted_apart_and_the_rest_is_left_alone():
    values = np.random.default_rng(0).normal(size=100)
    places = sort_whole(values, [[10, 11], [20, 60], [60, 90]])
    outside = [*range(10), *range(11, 20), *range(90, 100)]
    assert (places[outside] == -1).all()


def test_hard_scores_are_not_quadratic():
    """One comparison per pair would take hours here."""
    generator = np.random.default_rng(2)
    for kind in ("exponents", "last bits", "falling", "one huge", "mostly zero"):
        sort_whole(np.asarray(HARD[kind](1_000_000, generator)))


@pytest.mark.parametrize("lengths", [[], [0], [5], [3, 0, 1, 40], [20_000, 7]])
def test_sorted_segments_are_ascending_and_complete(lengths):
    starts = np.cumsum([0, *lengths])
    values = np.random.default_rng(0).integers(0, 9, starts[-1]).astype(float)
    segment = np.repeat(np.arange(len(lengths)), lengths)
    ordered, places = sorted_segments(values, starts)
    assert (np.sort(places) == np.arange(values.size)).all()
    assert (ordered == values[np.lexsort((values, segment))]).all()
    assert (ordered == values[places]).all()
