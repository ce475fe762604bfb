"""Estimators inside: held rows, the watch, interrupts, memory, docstrings, clustered errors."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pairrank import (
    Pairs,
    PairwiseRanker,
    RankNCG,
    RankRLS,
    RankSVM,
    RankSVMCV,
)
from pairrank._protocols import Step
from pairrank.estimators import covariance
from pairrank.estimators._docstrings import entries
from pairrank.estimators._rows import Rows, Watch, draw_held_rows
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic, SquaredHinge
from pairrank.metrics import pairwise_accuracy
from pairrank.objective import PairObjective, Problem
from pairrank.pair_sums import bind
from pairrank.preferences import Levels
from pairrank.solvers import bundle
from pairrank.solvers.direct import dual_inverse, primal_inverse


def test_a_pivot_is_singular_by_its_size_and_not_by_its_sign():
    unit = np.finfo(np.float64).eps
    for pivot, is_solved in ((unit, False), (-unit, False), (0.0, False), (64 * unit, True)):
        matrix = np.array([[1.0, 1.0], [1.0, 1.0 + pivot]])
        assert (primal_inverse(matrix, 1e-300) is not None) == is_solved
    assert primal_inverse(np.array([[1.0, 1.0], [1.0, 1.0 + 64 * unit]]), 1e-300, 10_000) is None
    assert dual_inverse(np.eye(2), 0.5 * unit) is None
    assert dual_inverse(np.eye(2), 2 * unit) is not None


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_by_clusters_it_is_what_comparisons_define(grouped, sparse_rows, monkeypatch):
    monkeypatch.setattr(covariance, "_BLOCK_ENTRIES", 70)
    rng = np.random.default_rng(0)
    X = 1e3 + rng.normal(size=(30, 3))
    i, j = rng.integers(0, 30, (2, 200))
    i, j = i[i != j], j[i != j]
    weight, tie = rng.exponential(size=i.size), rng.random(i.size) < 0.3
    voter = rng.integers(0, 8, i.size)
    pairs = Pairs(i, j, weight, np.where(tie, 0.0, 1.0), groups=voter if grouped else None,
                  n_rows=30)  # fmt: skip
    ranker = RankNCG(0.3, covariance="clusters", tol=1e-9)
    ranker.fit(sparse.csr_array(X) if sparse_rows else X, pairs)
    assert ranker.n_pairs_ == i.size
    x = X[i] - X[j]
    d = x @ ranker.coef_
    phi = Logistic().phi
    slope = np.where(tie, 0.5 * (phi(d, order=1) - phi(-d, order=1)), phi(d, order=1))
    gradients = (weight * slope)[:, None] * x
    if grouped:
        gradients = np.array([gradients[voter == v].sum(axis=0) for v in np.unique(voter)])
    centred = gradients - gradients.mean(axis=0)
    spread = centred.T @ centred * len(centred) / (len(centred) - 1)
    bread = np.linalg.inv(0.3 * np.eye(3) + x.T @ (x * (weight * phi(d, order=2))[:, None]))
    wanted = bread @ spread @ bread
    np.testing.assert_allclose(ranker.coef_cov_, wanted, rtol=1e-7, atol=1e-9 * wanted.max())


pytestmark = pytest.mark.numeric


def kept_back(y, qid=None, weight=None, fraction=0.2, seed=0):
    """Return the rows to learn from, and those held out."""
    return draw_held_rows(Rows(None, y, qid, weight), fraction, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(2))
def test_whole_queries_are_drawn_of_those_that_hold_a_preference(seed):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.array(list("abcdefghijkl")), 5))
    y = np.where(np.isin(qid, ["a", "b"]), 3.0, rng.normal(size=60))
    learnt, held = kept_back(y, qid, seed=seed)
    drawn = set(qid[held.places])
    assert len(drawn) == 2
    assert not drawn & {"a", "b"}
    np.testing.assert_array_equal(held.places, np.flatnonzero(np.isin(qid, list(drawn))))
    np.testing.assert_array_equal(learnt.sample_weight, ~np.isin(qid, list(drawn)))
    np.testing.assert_array_equal(held.y, y[held.places])
    np.testing.assert_array_equal(held.qid, qid[held.places])


@pytest.mark.parametrize("seed", range(2))
def test_of_one_query_rows_are_drawn_along_their_labels(seed):
    y = np.zeros(200)
    y[[7, 90, 101]] = 1.0
    weight = np.where(np.arange(200) % 2, 2.0, 0.0)
    weight[90] = 1.0
    for qid in (None, np.full(200, "q")):
        learnt, held = kept_back(y, qid, weight, seed=seed)
        assert held.places.size == 20
        assert (weight[held.places] > 0).all()
        assert set(held.y) == {0.0, 1.0}
        assert set(y[learnt.sample_weight > 0]) == {0.0, 1.0}
        assert not learnt.sample_weight[held.places].any()


def test_of_comparisons_those_of_whole_queries_or_some_are_drawn():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(10), 4)
    i = np.arange(40)
    j = 4 * (i // 4) + (i + 1) % 4
    pairs = Pairs(i, j, rng.exponential(size=40), np.where(qid >= 2, 1.0, 0.0))
    held = kept_back(pairs, qid)[1]
    assert len(set(held.qid)) == 2
    assert set(held.qid) <= set(range(2, 10))
    assert held.y.n_pairs == 8
    left, tested = (part.y for part in kept_back(pairs))
    assert tested.n_pairs == round(0.2 * 32)
    assert left.n_pairs + tested.n_pairs == 40
    assert tested.magnitude.all()
    both = {(a, b) for one in (left, tested) for a, b in zip(one.i, one.j, strict=True)}
    assert both == set(zip(pairs.i, pairs.j, strict=True))


def test_of_comparisons_with_groups_whole_groups_are_drawn():
    i, voter = np.arange(40), np.arange(40) % 10
    magnitude = np.where(voter >= 5, 1.0, 0.0)
    pairs = Pairs(i, (i + 1) % 40, magnitude=magnitude, groups=voter)
    for qid in (None, np.zeros(40)):
        left, tested = (part.y for part in kept_back(pairs, qid))
        assert len(set(tested.groups)) == 1
        assert set(tested.groups) <= set(range(5, 10))
        assert not set(tested.groups) & set(left.groups)
        assert left.n_pairs + tested.n_pairs == 40
    alone = Pairs([0, 1], [1, 2], groups=["a", "a"])
    with pytest.raises(PairrankError, match="1 of the groups has"):
        kept_back(alone)


@pytest.mark.parametrize(
    ("y", "qid", "weight", "message"),
    [
        (np.zeros(10), None, None, "samples of one class"),
        (np.zeros(1), None, None, "1 sample"),
        (np.arange(3.0), None, None, "from 3 samples"),
        (np.arange(10.0), None, np.arange(10.0) < 3, "from 3 samples"),
        (np.append(np.zeros(9), 1.0), None, None, "nearly all labels are equal"),
        (np.arange(10.0), np.arange(10), None, "0 of the queries have"),
        (np.arange(10.0) % 5, np.arange(10) // 2 * (np.arange(10) < 4), None, "pass X_val"),
        (Pairs([0], [1]), None, None, "1 of the comparisons has"),
        (Pairs([0, 1], [1, 2], magnitude=[0.0, 1.0]), None, None, "1 of the comparisons has"),
        (Pairs([0], [1], n_rows=4), np.array([0, 0, 1, 1]), None, "1 of the queries has"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(y, qid, weight, message):
    if message == "pass X_val":
        y = np.where(qid > 0, 1.0, y)
    weight = None if weight is None else weight.astype(float)
    with pytest.raises(PairrankError, match=message):
        kept_back(y, qid, weight)
    X = np.ones((len(y), 2))
    with pytest.raises(PairrankError, match=message):
        RankRLS(regularization="iteration").fit(X, y, qid=qid, sample_weight=weight)


def test_of_equal_scores_the_first_iterate_is_kept_and_zero_weights_never():
    watch = Watch(lambda s: pairwise_accuracy(np.arange(3.0), s), lambda w: w, patience=2)
    zero, wrong, tied = np.zeros(3), np.array([3.0, 2.0, 1.0]), np.ones(3)
    told = [
        watch(Step(at, 0.0, 0.0, w, 0.0, 0, 0)) for at, w in enumerate((zero, wrong, tied, tied))
    ]
    assert told == [False] * 4
    assert watch.curve == [0.5, 0.0, 0.5, 0.5]
    assert watch.best_iteration == 2
    assert not watch(Step(4, 0.0, 0.0, 2 * tied, 0.0, 0, 0))
    assert watch(Step(5, 0.0, 0.0, 3 * tied, 0.0, 0, 0))


def test_iterations_that_leave_the_weights_unchanged_do_not_wear_patience_out():
    calls = []
    watch = Watch(lambda scores: calls.append(scores) or -float(scores[0]), lambda w: w, patience=1)
    moves = [np.array([value]) for value in (0.0, 0.0, 1.0, 1.0, 1.0)]
    assert not any(watch(Step(at, 0.0, 0.0, w, 0.0, 0, 0)) for at, w in enumerate(moves))
    assert watch.curve == [0.0, 0.0, -1.0, -1.0, -1.0]
    assert len(calls) == 2
    assert watch(Step(5, 0.0, 0.0, np.array([2.0]), 0.0, 0, 0))
    assert watch.best_iteration == 2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_drawn_fit_is_the_fit_on_the_rest_with_what_was_drawn_given(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 50)) * np.logspace(0, -1, 50)
    y, qid = np.round(X[:, 0] + 1.5 * rng.normal(size=400), 1), np.repeat(np.arange(40), 10)
    weight = rng.exponential(size=400)
    ranker = RankRLS(regularization="iteration", validation_fraction=0.25)
    drawn = ranker.fit(form(X), y, qid=qid, sample_weight=weight)
    curve, coef = drawn.validation_scores_, drawn.coef_
    held = kept_back(y, qid, weight, fraction=0.25)[1].places
    rest = np.delete(np.arange(400), held)
    names = "X", "y", "qid", "sample_weight"
    parts = dict(zip(names, (X, y, qid, weight), strict=True))
    given = {name: part[rest] for name, part in parts.items()}
    given |= {f"{name}_val": part[held] for name, part in parts.items()}
    by_hand = ranker.fit(**given)
    np.testing.assert_allclose(curve, by_hand.validation_scores_)
    np.testing.assert_allclose(coef, by_hand.coef_, rtol=1e-8)


def test_a_factorisation_that_solves_nothing_gives_way_to_iterations(monkeypatch):
    solves_nothing = "pairrank.estimators._differences.dual_inverse"
    monkeypatch.setattr(solves_nothing, lambda matrix, penalty: np.zeros_like)
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.choice([0.0, 1.0], size=(10, 40)))
    y, qid = rng.integers(0, 3, 10), np.repeat([0, 1], 5)
    held = {"X_val": X, "y_val": y}
    iterated = RankRLS(1e-3, solver="cg").fit(X, y, qid=qid, **held)
    chosen = RankRLS(1e-3).fit(X, y, qid=qid, **held)
    assert chosen.n_iter_ == iterated.n_iter_ > 1
    np.testing.assert_array_equal(chosen.coef_, iterated.coef_)
    np.testing.assert_array_equal(chosen.validation_scores_, iterated.validation_scores_)
    with pytest.raises(PairrankError, match="singular at this precision"):
        RankRLS(1e-3, solver="direct").fit(X, y, qid=qid)


def test_an_interrupt_within_the_sample_is_the_fit_s(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150_000, 3))
    y = (X[:, 0] + rng.normal(size=150_000) > 0).astype(float)

    def interrupt(self, w):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairrank.objective.SampledModel.matrix", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fitted = RankSVM(1.0).fit(X, y)
    assert fitted.status_ == "interrupted"
    assert fitted.objective_ == pytest.approx(150_000)  # every pair at w = 0, normalised by rows


@pytest.mark.parametrize("steepest", [bundle._STEEPEST, np.inf])
def test_one_very_steep_plane_holds_up_no_descent(steepest, monkeypatch):
    monkeypatch.setattr(bundle, "_STEEPEST", steepest)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])
    ranker = PairwiseRanker("exponential", C=1.0, solver="bundle", max_iter=40)
    if steepest == np.inf:
        with pytest.warns(ConvergenceWarning):
            ranker.fit(X, y)
        return
    least = PairwiseRanker("exponential", C=1.0, tol=1e-8).fit(X, y).objective_
    assert ranker.fit(X, y).status_ == "gap_closed"
    assert least * (1 - 1e-9) <= ranker.objective_ <= least * (1 + ranker.tol)


def test_an_objective_is_freed_without_the_garbage_collector():
    X, y = np.eye(4), np.arange(4.0)
    gc.disable()
    try:
        objective = PairObjective(Problem(X, Levels.build(y), SquaredHinge()))
        objective.at(np.zeros(4)), objective.at(np.ones(4))
        known = weakref.ref(objective)
        del objective
        assert known() is None
    finally:
        gc.enable()


def test_a_curvature_asked_for_after_sharpening_is_that_of_its_own_evaluation():
    y = np.random.default_rng(0).integers(0, 3, 30_000)
    qid = np.repeat([0, 1], [25_000, 5_000])  # the small query is summed exactly, beside the cells
    total = bind(SquaredHinge(), Levels.build(y, qid), pair_sum="cells")
    scores = y + np.random.default_rng(1).standard_normal(y.size)
    v = np.random.default_rng(2).standard_normal(y.size)
    expected = total.at(scores).curvature().matvec(v)
    found = total.at(scores)
    while total.sharpen():
        pass
    np.testing.assert_array_equal(found.curvature().matvec(v), expected)


def test_a_subclass_of_an_estimator_may_have_no_docstring_or_its_own_parameters():
    class Plain(RankSVMCV):
        pass

    class Longer(RankSVM):
        """A longer RankSVM.

        Parameters
        ----------
        length : int
            Its length.
        """

        def __init__(self, length=1, *, tol=3, unknown=None):
            self.length, self.tol, self.unknown = length, tol, unknown

    assert Plain([2.0]).get_params() == RankSVMCV([2.0]).get_params()
    assert Plain.__doc__ is None
    assert list(entries(Longer.__doc__.partition("-\n")[2])) == ["length", "tol"]
