"""The distribution sort: numpy's stable order on every kind of scores, hard ones too."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.compiled.sorting import CELL, sort_segments, sorted_segments
from strategies import KINDS, scores_of


def sort_whole(values: np.ndarray, segments: list | None = None) -> tuple[np.ndarray, np.ndarray]:
    n = values.size
    ranges = np.array([[0, n]] if segments is None else segments, dtype=np.int64)
    row_of = np.random.default_rng(1).permutation(n).astype(np.int32)
    scores, rows = np.full(n, np.nan), np.full(n, -1, dtype=np.int32)
    longest = int(np.ptp(ranges, 1).max())
    spare = np.empty(longest), np.empty(longest, np.int32)
    sort_segments(values, row_of, ranges, scores, rows, *spare)
    for low, high in ranges:
        order = np.argsort(values[row_of[low:high]], kind="stable")
        assert (rows[low:high] == row_of[low:high][order]).all()
        assert (scores[low:high] == values[rows[low:high]]).all()
    return scores, rows


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


@pytest.mark.parametrize("n", [1, 2, 24, 25, 300, 5 * CELL, 40 * CELL])
@pytest.mark.parametrize("kind", [*KINDS, *HARD])
def test_order_is_stable_and_complete(kind, n):
    generator = np.random.default_rng(n)
    make = HARD.get(kind, lambda n, g: scores_of(kind, n, g))
    sort_whole(np.asarray(make(n, generator), dtype=np.float64))


def test_segments_are_sorted_apart_and_the_rest_is_left_alone():
    values = np.random.default_rng(0).normal(size=100)
    scores, rows = sort_whole(values, [[10, 11], [20, 60], [60, 90]])
    outside = [*range(10), *range(11, 20), *range(90, 100)]
    assert np.isnan(scores[outside]).all()
    assert (rows[outside] == -1).all()


@pytest.mark.parametrize("lengths", [[], [0], [5], [3, 0, 1, 40], [2 * CELL, 7]])
def test_sorted_segments_are_those_of_a_stable_sort(lengths):
    starts = np.cumsum([0, *lengths])
    values = np.random.default_rng(0).integers(0, 9, starts[-1]).astype(float)
    segment = np.repeat(np.arange(len(lengths)), lengths)
    ordered, places = sorted_segments(values, starts)
    assert (places == np.lexsort((values, segment))).all()
    assert (ordered == values[places]).all()
