"""ConvexHullRanker on blocks against the optimum in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from memory_passes import cut_rows
from pairrank import ConvexHullRanker
from pairrank.blocks.hull import HullAsked, HullLayout, hull_sums, smoothed_rows
from pairrank.estimators._blocks import fit_on_passes


def rows_of(seed, n_rows=600, n_queries=12, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    scores = X @ rng.normal(size=4) + noise * rng.normal(size=n_rows)
    y = np.searchsorted(np.quantile(scores, [0.25, 0.5, 0.75]), scores).astype(float)
    return X, y, np.sort(rng.integers(0, n_queries, n_rows))


def assert_within_gaps(found, wanted):
    gaps = [each.objective_ - each.lower_bound_ for each in (found, wanted)]
    assert abs(found.objective_ - wanted.objective_) <= sum(gaps)
    assert gaps[0] <= found.tol * found.objective_
    assert found.status_ == "converged"
    for name in ("n_pairs_", "n_edges_", "n_rows_", "n_queries_", "n_ties_"):
        assert getattr(found, name) == getattr(wanted, name), name


def test_a_cost_whose_square_underflows_has_true_bounds():
    X, y, _ = rows_of(1)
    found = fit_on_passes(ConvexHullRanker(nu=1e-160), cut_rows(X, y, [100, 300]))
    wanted = ConvexHullRanker(nu=1e-160).fit(X, y)
    for each in (found, wanted):
        assert each.lower_bound_ <= each.objective_
    assert_within_gaps(found, wanted)


@example(below=0.0, above=75.0, power=-12, swapped=False)
@given(
    below=st.one_of(st.floats(-1e3, 1e3), st.just(-np.inf)),
    above=st.floats(-1e3, 1e3),
    power=st.integers(-12, 0),
    swapped=st.booleans(),
)
def test_smoothed_rows_balance_slack_and_multipliers(below, above, power, swapped):
    if swapped:
        below, above = above, below
    width = 10.0**power
    found = smoothed_rows(np.array([below]), np.array([above]), width)
    multipliers = found.multipliers[:, 0]
    slack = 0.5 * multipliers.sum()
    for distance, multiplier in zip((below, above), multipliers, strict=True):
        if np.isinf(distance):
            assert multiplier == 0
        else:
            # margin = width/multiplier and slack - distance agree to the rounding of both
            size = max(abs(distance), slack)
            assert abs(width / multiplier - (slack - distance)) <= 1e-13 * size
    # The slack is the quotient of the width and a margin: the two have at most 16 roundings.
    assert slack >= max(below, above, 0.0) * (1.0 - 8.0 * np.finfo(float).eps)


@given(
    below=st.floats(-3, 3),
    above=st.one_of(st.floats(-3, 3), st.just(-np.inf)),
    width=st.sampled_from([1e-3, 0.1, 1.0]),
)
def test_derivatives_of_smoothed_rows_are_those_of_differences(below, above, width):
    step = 1e-5 * width
    # Values and multipliers below 20 are rounded to 20 eps; differences are divided by the step.
    off = 1e-5 + 4 * 20 * np.finfo(float).eps / step

    def at(b=0.0, a=0.0, w=0.0):
        return smoothed_rows(np.array([below + b]), np.array([above + a]), width + w)

    here, two = at(), 2.0 * step
    by_below = (at(b=step).value - at(b=-step).value) / two
    assert by_below[0] == pytest.approx(here.multipliers[0, 0], rel=1e-5, abs=off)
    bent = (at(b=step).multipliers - at(b=-step).multipliers)[:, 0] / two
    assert bent[0] == pytest.approx(here.sides[0, 0] + here.cross[0], rel=1e-5, abs=off)
    assert bent[1] == pytest.approx(-here.cross[0], rel=1e-5, abs=off)
    drift = (at(w=step).multipliers - at(w=-step).multipliers)[:, 0] / two
    np.testing.assert_allclose(drift, here.drift[:, 0], rtol=1e-5, atol=off)


@pytest.mark.parametrize("kind", ["dense", "columns", "sparse"])
def test_sums_are_the_same_for_any_parts_of_a_block(kind, monkeypatch):
    rng = np.random.default_rng(6)
    group = np.sort(rng.integers(0, 5, 60))
    X = rng.normal(size=(80, 3))
    limits = np.sort(rng.normal(size=(2, 5)), axis=0)[::-1]
    limits[0, 0], limits[1, 4] = -np.inf, np.inf
    rows, weight = rng.permutation(80)[:60].astype(np.int32), rng.random(60)
    layout = HullLayout(rows, group, weight)
    asked = HullAsked(rng.normal(size=3), limits, 0.1, 0.3, None)
    given = {"dense": X, "columns": np.asfortranarray(X), "sparse": sparse.csr_array(X)}[kind]
    monkeypatch.setattr("pairrank.blocks.hull._ROWS", 7)
    found = hull_sums(0, given, layout, asked)

    scores = X[rows] @ asked.weights
    each = smoothed_rows(limits[0, group] - scores, scores - limits[1, group], 0.1)
    cost = 0.3 * weight
    low, high = each.multipliers
    of_rows = [*(cost * (each.sides + 2.0 * each.cross)), cost * low, cost * high]
    totals = [
        *(cost * each.sides), cost * each.cross, cost * low, cost * high, 0.25 * cost * low**2,
        0.5 * cost * low * high, 0.25 * cost * high**2, *(cost * each.drift),
    ]  # fmt: skip
    columns = [*(values[:, None] * X[rows] for values in of_rows), np.column_stack(totals)]
    wanted = np.array([np.hstack(columns)[group == own].sum(axis=0) for own in range(5)])
    np.testing.assert_allclose(found.by_group, wanted, rtol=1e-12, atol=1e-13)
    inner = of_rows[0] + of_rows[1]
    np.testing.assert_allclose(found.gram, (X[rows].T * inner) @ X[rows], rtol=1e-12, atol=1e-13)
    assert found.scalars[1] == pytest.approx(cost @ each.value, rel=1e-12)
