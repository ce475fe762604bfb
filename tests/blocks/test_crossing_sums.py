"""Sums over queries that cross blocks against every pair, for any split of the rows.

X has the scores and one column per row, so that sums at (1, 0, ..., 0) have a gradient per row.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy import sparse

from definitions import preferences_of
from loss_table import weights_of
from memory_passes import cut_rows
from pairrank.blocks._contracts import CrossingRows
from pairrank.blocks.catalog import describe
from pairrank.blocks.crossing import merged
from pairrank.blocks.crossing_cells import CrossingCells
from pairrank.blocks.differences import prepare_differences
from pairrank.blocks.groups import CrossingQueries
from pairrank.blocks.layouts import prepare
from pairrank.blocks.problem import BlockProblem
from pairrank.exceptions import NoPairsError
from pairrank.losses import (
    Hinge,
    HuberisedHinge,
    Logistic,
    ModifiedHuber,
    Probit,
    Raykar,
    Square,
    SquaredHinge,
    Tube,
)
from pairrank.pair_sums import bind
from pairrank.pair_sums.cells import windowed_grid
from pairrank.preferences import Differences
from strategies import Problem, problems, problems_with_roles, scores_of
from sum_table import levels_of, scale_of_rows

pytestmark = [
    pytest.mark.numeric,
    pytest.mark.filterwarnings("ignore:the order graph names labels"),
    pytest.mark.filterwarnings("ignore:feature 0 is as large as"),  # of scores that hardly differ
]

HINGES = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "margin 0.7": SquaredHinge(0.7),
    "no margin": Hinge(0.0),
    "Huberised hinge": HuberisedHinge(0.5),
    "modified Huber": ModifiedHuber(),
}
TUBES = {"n = 1": Tube(0.1, 1), "n = 2": Tube(0.1, 2), "no epsilon": Tube(0.0, 1)}
SIGMOIDS = {"logistic": Logistic(), "probit": Probit(), "raykar": Raykar()}
LOSSES = {**HINGES, **TUBES, **SIGMOIDS, "square": Square()}
FITS = 2.0**40
"""Scores up to this fit every grid of these losses."""
UNIT = float(np.finfo(float).eps)
seeds = st.integers(0, 2**32 - 1)


def of_differences(loss):
    return isinstance(loss, Tube | Square)


class EveryPair:
    """Every pair of a problem, one by one: its rows, weight, and scores less what is wanted."""

    def __init__(self, loss, problem):
        self.n_rows, self.largest = problem.y.size, float(np.abs(problem.scores).max())
        if of_differences(loss):
            y, weight = problem.y, weights_of(problem._replace(winner=None, loser=None))[0]
            qid = np.zeros(y.size) if problem.qid is None else problem.qid
            self.i, self.j = np.nonzero(qid[:, None] == qid)
            total = np.array([weight[qid == own].sum() for own in qid])
            halves = np.where(total > 0.0, 2.0 * total, 1.0)[self.i]
            self.weight = weight[self.i] * weight[self.j] / halves
            self.wanted = y[self.i] - y[self.j]
            self.largest += float(np.abs(y).max())
        else:
            pairs = preferences_of(problem.y, problem.qid, problem.graph)
            self.i, self.j = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            winner, loser = weights_of(problem)
            scale = scale_of_rows(levels_of(problem, "query"))[self.i]
            self.weight, self.wanted = winner[self.i] * loser[self.j] * scale, 0.0
        self.d = problem.scores[self.i] - problem.scores[self.j]

    def value(self, loss):
        return float((self.weight * loss.phi(self.d, self.wanted)).sum())

    def gradient(self, loss):
        return self.at_ends(self.weight * loss.phi(self.d, self.wanted, order=1))

    def product(self, loss, v):
        bent = loss.phi(self.d, self.wanted, order=2) * (v[self.i] - v[self.j])
        return self.at_ends(self.weight * bent)

    def at_ends(self, values):
        n = self.n_rows
        return np.bincount(self.i, values, n) - np.bincount(self.j, values, n)

    def terms(self, loss):
        """Return what each pair adds to the hinges of a loss, and their powers and factors."""
        if of_differences(loss):
            return [(np.abs(self.wanted - self.d) - loss.epsilon, loss.n, 1.0)]
        return [(margin - self.d, power, c) for margin, power, c in loss.family.terms]

    def sizes(self, loss, off):
        """Return the sums of absolute contributions to the value and to the gradients.

        Margins are known to `off`: so much more, times the slopes, and at kinks by the weight.
        """
        value = slope = kinks = 0.0
        for excess, power, c in self.terms(loss):
            over = np.maximum(excess + off, 0.0)
            slopes = 2.0 * over if power == 2 else (over > 0.0) * 1.0
            value += abs(c) * float((self.weight * (over**power + slopes * off / UNIT)).sum())
            slope += abs(c) * float((self.weight * slopes).sum())
            near = 2.0 * off if power == 2 else (np.abs(excess) <= off) * 1.0
            kinks += abs(c) * float((self.weight * near).sum())
        return value, 2.0 * slope, 4.0 * kinks


def kept_of(loss, problem):
    """Return the problem without rows that weigh nothing, and without roles for differences."""
    if of_differences(loss):
        problem = problem._replace(winner=None, loser=None)
    winner, loser = weights_of(problem)
    kept = np.flatnonzero((winner > 0) | (loser > 0))
    return Problem(*(each[kept] if isinstance(each, np.ndarray) else each for each in problem))


def wide(parts):
    return sparse.hstack(parts, format="csr")


class Crossed:
    """The sums of a problem over blocks that begin anywhere."""

    def __init__(self, loss, problem, seed, eps=1e-9, n_blocks=None):
        rng, n = np.random.default_rng(seed), problem.y.size
        n_ends = min(n, n_blocks or int(rng.integers(1, 7))) - 1
        ends = np.sort(rng.choice(np.arange(1, n), n_ends, replace=False)) if n_ends else []
        stack, eye = (np.column_stack, np.eye(n)) if n <= 100 else (wide, sparse.eye_array(n))
        X = stack([problem.scores[:, None], eye])
        aligned = {name: each for name, each in problem.aligned.items() if each is not None}
        if problem.qid is not None and seed % 3:
            names = [f"q{query}" if seed % 3 == 1 else ("q", query) for query in problem.qid]
            aligned["qid"] = np.array([*names, None], dtype=object)[:-1]
        self.passes = cut_rows(X, problem.y, ends, **aligned)
        catalog = self.catalog = describe(self.passes)
        vars(catalog)["origin"] = None
        if of_differences(loss):
            prepared = prepare_differences(self.passes, catalog, loss)
        else:
            options = {"graph": problem.graph, "reduction": "query"}
            prepared = prepare(self.passes, catalog, loss, **options)
        self.prepared = prepared
        self.problem = BlockProblem(self.passes, prepared, loss, penalty=0.0, eps=eps)
        self.sums, self.w = self.problem.sums(), np.eye(1, n + 1)[0]

    def at(self):
        """Return the sums, and the gradient by row; the error is that of all rows together."""
        point = self.sums.at(self.w)
        by_rows = point.gradient_error and point.gradient_error / (0.5 * self.sums._absolute_share)
        return point._replace(gradient_error=by_rows), point.gradient[1:]

    def product(self, v):
        return self.sums.at(self.w).hessian().matvec(np.append(0.0, v))[1:]


def crossed(loss, problem, *arguments, **options):
    try:
        return Crossed(loss, problem, *arguments, **options)
    except NoPairsError:
        reject()


@given(problem=st.one_of(problems(), problems_with_roles()), seed=seeds)
def test_blocks_are_counted_as_rows_in_memory(problem, seed):
    """Of identifiers that are numbers, text or objects; many rows weigh nothing, never all."""
    weight = np.random.default_rng(seed).integers(0, 3, problem.y.size) / 2.0
    problem = problem._replace(weight=weight)
    levels = levels_of(problem) if problem.y.size else reject()
    found = crossed(Hinge(), problem, seed) if levels.row_of.size else reject()
    assert (found.catalog.n_rows, found.catalog.n_kept) == (problem.y.size, levels.row_of.size)
    assert found.catalog.n_queries == levels.n_queries
    assert found.prepared.n_pairs == levels.n_pairs


@pytest.mark.parametrize("name", [*HINGES, *TUBES])
@given(problem=st.one_of(problems(), problems_with_roles()), seed=seeds)
def test_stated_errors_of_cells_hold_for_every_problem(name, problem, seed):
    loss = LOSSES[name]
    problem = kept_of(loss, problem)
    found, gradient = ((problem.y.size and crossed(loss, problem, seed)) or reject()).at()
    if not np.isfinite(found.value):
        assert np.abs(problem.scores).max() > FITS
        return
    every = EveryPair(loss, problem)
    # Scores are rounded, differences also less labels, by which every margin may be off.
    off = 8.0 * UNIT * every.largest
    value_size, slope_size, kinks = every.sizes(loss, off)
    rounding = 4.0 * (9 * every.n_rows + 4096) * UNIT
    assert abs(found.value - every.value(loss)) <= found.value_error + rounding * value_size
    missed = np.abs(gradient - every.gradient(loss)).sum()
    assert missed <= found.gradient_error + rounding * slope_size + kinks


@pytest.mark.parametrize("eps", [1e-4, 1e-13])
@pytest.mark.parametrize("name", SIGMOIDS)
@given(problem=st.one_of(problems(), problems_with_roles()), seed=seeds)
def test_stated_errors_of_boxes_hold_for_every_problem(name, eps, problem, seed):
    loss = LOSSES[name]
    problem = kept_of(loss, problem)
    found, gradient = ((problem.y.size and crossed(loss, problem, seed, eps)) or reject()).at()
    every = EveryPair(loss, problem)
    weight = float(every.weight.sum())
    # Rounding: 1e-13 of the weights, and of the terms, which grow with the margins.
    allowed = found.value_error + 1e-13 * (weight + float((every.weight * abs(every.d)).sum()))
    assert abs(found.value - every.value(loss)) <= allowed
    assert found.value_error <= eps * weight * (1.0 + 1e-12)
    off = np.abs(gradient - every.gradient(loss)).sum()
    assert off <= found.gradient_error + 2e-13 * weight * max(1, every.n_rows)


@given(problem=problems(), seed=seeds)
def test_squares_are_those_of_the_sum_in_memory(problem, seed):
    problem = kept_of(Square(), problem)
    sums = (problem.y.size and crossed(Square(), problem, seed)) or reject()
    differences = Differences.build(problem.y, problem.qid, sample_weight=problem.weight)
    wanted, (found, gradient) = bind(Square(), differences).at(problem.scores), sums.at()
    if not np.isfinite(wanted.value):
        assert not np.isfinite(found.value)
        return
    assert (found.value_error, found.gradient_error) == (0.0, 0.0)
    # Of the scores' size, to which means are rounded; offsets of features are subtracted before.
    weight = np.ones(problem.y.size) if problem.weight is None else problem.weight
    size = max(float(np.abs(problem.scores).max()), float(np.abs(problem.y).max()), 1e-140)
    allowed = 100.0 * UNIT * size
    assert (abs(gradient - wanted.gradient) <= np.maximum(2.0 * weight * allowed, 1e-290)).all()
    assert abs(found.value - wanted.value) <= max(weight.sum() * allowed * size, 1e-280)


@pytest.mark.parametrize("name", ["squared hinge", "n = 2", "logistic"])
def test_products_with_the_hessian_are_changes_of_the_gradient(name):
    """Of many rows: pairs near a margin may be counted in or not."""
    loss, problem = LOSSES[name], large(1000, LOSSES[name])
    sums, every = Crossed(loss, problem, 0, n_blocks=3), EveryPair(loss, problem)
    v = np.random.default_rng(1).normal(size=1000)
    wanted = every.product(loss, v)
    assert np.linalg.norm(sums.product(v) - wanted) <= 0.05 * np.linalg.norm(wanted)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e306])
@pytest.mark.parametrize("name", ["squared hinge", "hinge", "logistic", "n = 2"])
def test_scores_that_no_table_fits_give_infinity(name, bad):
    scores = np.random.default_rng(0).normal(size=90)
    scores[50] = bad
    problem = Problem(np.arange(90.0) % 3, None, "full", None, scores, np.ones(90))
    found, gradient = Crossed(LOSSES[name], problem, 2, n_blocks=3).at()
    assert found.value == np.inf
    assert np.isnan(gradient).all()


def large(n_rows, loss):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n_rows) if of_differences(loss) else rng.integers(0, 5, n_rows) * 1.0
    return Problem(y, None, "full", None, rng.normal(size=n_rows) + 0.3 * y, y)


@pytest.mark.parametrize(
    ("name", "least"),
    [("squared hinge", 1e-9), ("Huberised hinge", 2e-9), ("n = 2", 1e-9), ("logistic", 1e-12)],
)
def test_sharpened_sums_state_a_small_relative_error(name, least):
    """Of two terms that cancel, the rounding of both counts."""
    loss = LOSSES[name]
    problem = large(5000, loss)
    if of_differences(loss):
        preferences, how = Differences.build(problem.y), "sorted"
    else:
        preferences, how = levels_of(problem, "query"), "direct"
    wanted = bind(loss, preferences, pair_sum=how).at(problem.scores)
    sums, size = Crossed(loss, problem, 3, 1e-3, n_blocks=3), np.abs(wanted.gradient).sum()
    errors = []
    while True:
        found, gradient = sums.at()
        errors.append(found.gradient_error / size)
        assert np.abs(gradient - wanted.gradient).sum() <= (errors[-1] + 1e-11) * size
        assert abs(found.value - wanted.value) <= found.value_error + 1e-12 * wanted.value
        if not sums.sums.sharpen():
            break
    assert errors[-1] <= least
    assert all(later <= 0.05 * earlier for earlier, later in list(pairwise(errors))[:2])


@pytest.mark.parametrize("name", ["squared hinge", "no margin", "logistic", "square", "n = 1"])
def test_merges_are_associative_and_one_order_gives_the_same_bits(name):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    y = rng.integers(0, 3, 90) * 1.0
    problem = Problem(y, None, "full", None, scores_of("clusters", 90, rng), y)
    sums, values = Crossed(loss, problem, 1, n_blocks=8), []
    for order in (None, None, [*range(8)], [*range(7, -1, -1)], [3, 1, 4, 0, 5, 7, 2, 6]):
        sums.passes.order = order
        values.append(sums.at()[0].value)
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    assert values[0] == values[1]


def rows_of(scores, level):
    """Return rows of one query and level."""
    n, one = scores.size, np.zeros(1, np.int32)
    levels = np.full(n, level, np.int32)
    start, none = np.array([0, n]), np.empty((0, n))
    return CrossingRows(np.arange(n), one, start, none, levels, np.empty(0), scores)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("cells_beyond", [0, 1, 2])
def test_a_score_just_beyond_the_window_has_a_cell(side, cells_beyond):
    """The window follows from quantiles, which one far score does not move."""
    scores = np.random.default_rng(0).normal(size=2000)
    scores[7] = side * 100.0
    window = windowed_grid(scores, scores.min(), scores.max(), 64.0, 1 << 20)
    border = window.position[window.last if side > 0.0 else window.first]
    scores[7] = (border + side * (1 + cells_beyond)) / window.per_h
    grid = windowed_grid(scores, scores.min(), scores.max(), 64.0, 1 << 20)
    assert grid.position[grid.last if side > 0.0 else grid.first] == border
    assert set(np.floor(scores * grid.per_h).astype(np.int64)) <= set(grid.position)


@pytest.mark.parametrize("least", [-5e-324, -1e-300, -1e-3])
def test_scores_just_below_zero_read_their_gradient_from_wide_cells(least):
    """In units of wide cells they may be -0.0.

    The losers score just below 0, the winners far below, so every pair counts in.
    """
    n = 40
    queries = CrossingQueries(np.array([0, 2]), None, np.ones(1), 1.0 * n**2)
    blocks = [
        rows_of(scores, level)
        for level, scores in enumerate((np.full(n, least), np.linspace(-1e16, -9e15, n)))
    ]
    scores = np.concatenate([rows.scores for rows in blocks])
    part = CrossingCells(((0.0, 1, 1.0),), queries, 0, scores)
    assert part.per_h[0] < 1.0
    first, second = map(part.summary, blocks)
    (value, error, gradient_error), table = part.finish(merged(first, second))
    assert gradient_error <= 1e-10 * n**2
    losers, winners = (part.entries(rows, table) for rows in blocks)
    np.testing.assert_allclose(losers, n, rtol=1e-13)
    np.testing.assert_allclose(winners, -n, rtol=1e-13)
    assert abs(value + n * (blocks[1].scores - least).sum()) <= error
