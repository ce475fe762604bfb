"""The Hessian of binned scores: the double loop over pairs, and the exact Hessian near it."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

from pairrank import OrderGraph, losses
from pairrank.objective.binned_pairs import BinnedPairs
from pairrank.pair_sums import bind
from pairrank.preferences import Levels

LOSSES = [
    losses.SquaredHinge(),
    losses.HuberisedHinge(width=0.05),
    losses.Logistic(),
    losses.Probit(),
]
WEIGHTS = [{}, {"sample_weight"}, {"winner_weight", "loser_weight"}]


def made(seed, n_rows, n_queries, weights, graph="full"):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    y = generator.integers(0, 4, n_rows).astype(float)
    qid = generator.integers(0, n_queries, n_rows)
    given_weights = {name: generator.uniform(0.5, 2.0, n_rows) for name in sorted(weights)}
    levels = Levels.build(y, qid, graph=graph, **given_weights).reduced("query")
    return X, levels, generator.normal(size=n_rows)


def slow(X, levels, loss, scores, width):
    """Every pair of rows, with the second difference of the loss at the distance of their bins."""
    result = np.zeros((X.shape[1],) * 2)
    layout, own = scores[levels.row_of], X[levels.row_of]
    ones = np.ones(layout.size)
    won, lost = (ones if side is None else side for side in levels.sides)
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    start, groups = levels.group_start, levels.query_group
    for query in range(levels.n_queries):
        low = layout[slice(*levels.query_start[query : query + 2])].min()
        inside = range(groups[query], groups[query + 1])
        joined = [(a, b) for b in inside for a in inside if a < b]
        if levels.edges is not None:
            joined = [edge for edge in levels.edges.tolist() if edge[0] in inside]
        for a, b in joined:
            for i in range(start[b], start[b + 1]):
                for j in range(start[a], start[a + 1]):
                    bins = [np.floor((layout[k] - low) / width) for k in (i, j)]
                    d = width * (bins[0] - bins[1] + np.array([-1.0, 0.0, 1.0]))
                    second = np.diff(loss.phi(d), 2)[0] / width**2
                    gap = own[i] - own[j]
                    result += scale[query] * won[i] * lost[j] * second * np.outer(gap, gap)
    return result


@given(
    st.integers(0, 2**31),
    st.sampled_from(LOSSES),
    st.sampled_from(WEIGHTS),
    st.sampled_from(["full", OrderGraph([(0, 2), (1, 3), (0, 3)])]),
)
def test_the_matrix_is_that_of_every_pair_of_bins(seed, loss, weights, graph):
    X, levels, scores = made(seed, 60, 2, weights, graph)
    wide = np.hstack((X, np.zeros((len(X), 1000))))  # leaves room for a table of bins
    found = BinnedPairs(wide, levels, loss).at(scores)
    assert found is not None
    wanted = slow(X, levels, loss, scores, 0.125)
    off = np.abs(found[:4, :4] - wanted)
    # The second difference loses digits of values of at most (1 + 10)^2.
    rounding = 200.0 * np.finfo(float).eps / 0.125**2
    size = np.abs(X).max() ** 2 * levels.total_weight * 4.0
    assert (off <= 10.0 * rounding * size + 1e-12 * np.abs(wanted).max()).all()
    np.testing.assert_array_equal(found[4:], 0.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_queries", [1, 3])
def test_the_matrix_is_near_the_exact_hessian(loss, weights, n_queries):
    X, levels, _ = made(0, 3000, n_queries, weights)
    scores = X @ np.array([0.5, -0.5, 0.25, 1.0])
    scores += 0.5 * levels.wins_plus(-1.0) / np.abs(levels.wins_plus(-1.0)).max()
    wide = np.hstack((X, np.zeros((len(X), 20))))
    found = BinnedPairs(wide, levels, loss).at(scores)[:4, :4]
    curvature = bind(loss, levels, pair_sum="direct").at(scores).curvature()
    exact = curvature.matmat(np.ascontiguousarray(X.T)) @ X
    low, *_, high = eigh(found, exact, eigvals_only=True)
    assert 0.9 < low <= high < 1.1


def test_a_matrix_has_no_negative_eigenvalue():
    X, levels, scores = made(1, 500, 1, {"sample_weight"})
    X = np.hstack((X, X[:, :1], np.zeros((len(X), 20))))
    found = BinnedPairs(X, levels, losses.SquaredHinge()).at(scores)
    least, *_, largest = np.linalg.eigvalsh(found)
    assert least >= -1e-12 * largest


def test_too_many_bins_or_queries_give_none():
    X, levels, scores = made(2, 200, 1, {})
    binned = BinnedPairs(np.hstack((X, np.zeros((200, 96)))), levels, losses.SquaredHinge())
    assert binned.at(scores) is not None
    assert binned.at(1e3 * scores) is None
    assert binned.at(np.where(np.arange(200) == 7, np.inf, scores)) is None
    assert binned.at(np.where(np.arange(200) == 7, np.nan, scores)) is None
    X, levels, scores = made(2, 2000, 40, {})
    assert BinnedPairs(X, levels, losses.SquaredHinge()).at(scores) is None


@pytest.mark.parametrize("graph", ["full", OrderGraph([(k, k + 1) for k in range(899)])])
def test_many_levels_take_no_table_of_levels_by_levels(graph):
    n_levels, n_rows = 900, 2000
    generator = np.random.default_rng(4)
    X, y = generator.normal(size=(n_rows, 3)), np.arange(n_rows) % n_levels
    levels = Levels.build(y.astype(float), graph=graph)
    binned = BinnedPairs(X, levels, losses.SquaredHinge())
    tracemalloc.start()
    found = binned.at(np.zeros(n_rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_levels**2 * 4
    curvature = bind(losses.SquaredHinge(), levels, pair_sum="direct").at(np.zeros(n_rows))
    exact = curvature.curvature().matmat(np.ascontiguousarray(X.T)) @ X
    # At one bin, the second difference at 0 of a square is that square's second derivative.
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-8 * np.abs(exact).max())


def test_sums_that_take_as_much_memory_as_X_give_none():
    X, y = np.zeros((1100, 1000)), np.arange(1100.0)
    levels, scores = Levels.build(y), np.zeros(1100)
    assert BinnedPairs(X, levels, losses.SquaredHinge()).at(scores) is None
    few = Levels.build(y // 3.0)
    assert BinnedPairs(X, few, losses.SquaredHinge()).at(scores) is not None
