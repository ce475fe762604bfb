"""Normal equations from blocks are those of the rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_passes import cut_rows
from pairrank.blocks.catalog import describe
from pairrank.blocks.differences import prepare_differences
from pairrank.blocks.squares import SquareSums, square_sums
from pairrank.exceptions import PairrankError
from pairrank.losses import Square


def sums_by_definition(X, y, query, weight, *, mean_cost=False):
    """Sum pair by pair: w_i w_j/(2 n_q) or w_i w_j/m_q^2 times products of differences."""
    Z = np.column_stack((X, y))
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for q in np.unique(query):
        z, w = Z[query == q], weight[query == q]
        size = w.sum()
        if not size > 0:
            continue
        d = (z[:, None] - z[None]).reshape(-1, Z.shape[1])
        pairs = np.outer(w, w).ravel()
        total += (d.T * pairs) @ d / (size**2 if mean_cost else 2 * size)
    return total


def equations(X, y, ends, *, mean_cost=False, **aligned):
    passes = cut_rows(X, y, ends, **aligned)
    catalog = describe(passes)
    prepared = prepare_differences(passes, catalog, Square(), mean_cost=mean_cost)
    return prepared, passes.reduce(square_sums, None, SquareSums.merged)


@given(data=st.data())
def test_equations_are_the_sums_over_pairs(data):
    n = data.draw(st.integers(2, 24))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = rng.normal(size=(n, 3)).round(1)
    y = rng.integers(0, 4, n).astype(float)
    query = rng.integers(0, data.draw(st.integers(1, 4)), n)
    weight = rng.integers(0, 3, n).astype(float)
    ends = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=4)))
    aligned = {"qid": query}
    if data.draw(st.booleans()):
        aligned["sample_weight"] = weight
    else:
        weight = np.ones(n)
    mean_cost = data.draw(st.booleans())
    wanted = sums_by_definition(X, y, query, weight, mean_cost=mean_cost)
    if wanted[3, 3] == 0:
        with pytest.raises(PairrankError):
            equations(X, y, ends, mean_cost=mean_cost, **aligned)
        return
    prepared, found = equations(X, y, ends, mean_cost=mean_cost, **aligned)
    np.testing.assert_allclose(found.products, wanted, atol=1e-12 * max(1.0, wanted.max()))
    kept = weight > 0
    assert prepared.n_pairs == (np.bincount(query[kept]) ** 2).sum()
    assert prepared.size == pytest.approx(weight.sum() / np.unique(query[kept]).size)
    plain = sums_by_definition(X, y, query, weight)[3, 3]
    assert prepared.spread == pytest.approx(np.sqrt(plain / weight.sum()))


def test_an_offset_costs_no_digits():
    rng = np.random.default_rng(2)
    X, y = rng.integers(-512, 512, (400, 4)) / 64.0, rng.integers(0, 5, 400) * 1.0
    qid = np.repeat([0, 1, 2, 3], 100)
    plain = equations(X, y, [50, 130, 333], qid=qid)[1].products
    moved = equations(X + 2.0**24, y + 2.0**30, [50, 130, 333], qid=qid)[1].products
    # X + 2^24 is exact in float64. Means are rounded to 2^24 eps = 2^-28 and enter squared, or
    # times a sum of centred values that is itself rounding; 400 rows times (2^-28)^2 is far below.
    unit = np.finfo(float).eps * 400
    np.testing.assert_allclose(moved, plain, rtol=64 * unit, atol=400 * 8 * 2.0**-27)
