"""RankRLS, MPRank and SVRank on blocks against the same fits in memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from memory_passes import cut_rows
from pairrank import MPRank, RankRLS, RankSVM, SVRank
from pairrank.estimators._blocks import fit_on_passes
from pairrank.exceptions import PairrankError
from pairrank.objective import Quadratic

SMOOTH = {
    "RankRLS": RankRLS(alpha=2.0, tol=1e-8),
    "RankRLS cg": RankRLS(alpha=2.0, tol=1e-10, solver="cg"),
    "MPRank": MPRank(tol=1e-8),
    "SVRank": SVRank(n=2, tol=1e-8),
}
GAPS = {"MPRank 1": MPRank(n=1, tol=1e-4), "SVRank 1": SVRank(tol=1e-4)}
LAYOUTS = ["whole", "split", "one query", "single blocks"]


def rows_of(seed=0, n_rows=1200, n_targets=1, n_queries=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    Y = X @ rng.normal(size=(5, n_targets)) + rng.normal(size=(n_rows, n_targets))
    qid = np.sort(rng.integers(0, n_queries, n_rows))
    return X, Y[:, 0] if n_targets == 1 else Y, qid


def laid_out(layout, qid):
    if layout == "whole":
        return {"qid": qid}, np.searchsorted(qid, [8, 9, 22])
    if layout == "split":
        return {"qid": np.random.default_rng(1).permutation(qid)}, [100, 101, 700]
    if layout == "one query":
        return {}, [100, 101, 700]
    return {"qid": qid}, []


def both(ranker, X, y, borders, **aligned):
    found = fit_on_passes(clone(ranker), cut_rows(X, y, borders, **aligned))
    return found, clone(ranker).fit(X, y, **aligned)


def assert_same(found, wanted, tol=1e-6):
    assert np.abs(found.coef_ - wanted.coef_).max() <= tol * np.abs(wanted.coef_).max()
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-8)
    for name in ("n_pairs_", "n_rows_", "n_queries_", "status_"):
        assert getattr(found, name) == getattr(wanted, name), name
    for name in ("C_", "epsilon_"):
        if hasattr(wanted, name):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-12)


def test_an_offset_of_1e12_costs_normal_equations_of_crossing_queries_no_digits():
    X, y, qid = rows_of(5)
    X = np.round(1024 * X) / 1024
    borders, qid = [100, 101, 700], np.random.default_rng(1).permutation(qid)
    near, far = (
        fit_on_passes(RankRLS(alpha=2.0), cut_rows(X + offset, y, borders, qid=qid))
        for offset in (0.0, 1e12)
    )
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("ranker", SMOOTH.values(), ids=SMOOTH)
def test_smooth_losses_have_the_coefficients_of_a_fit_in_memory(ranker, layout, weighted):
    X, y, qid = rows_of()
    aligned, borders = laid_out(layout, qid)
    if weighted:
        weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
        aligned["sample_weight"] = weight
    assert_same(*both(ranker, X, y, borders, **aligned))


def test_a_block_of_one_row_does_not_widen_the_cells_of_a_large_query():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3))
    y = np.clip(np.round(X @ [1.0, 0.5, -0.5] + rng.normal(size=30_000)), -2, 2)
    found, wanted = both(SVRank(tol=1e-3), X, y, [10_000, 10_001])
    assert found.status_ == "gap_closed"
    assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_


@pytest.mark.parametrize("ranker", [SVRank(n=2, tol=1e-8), SVRank(tol=1e-3)], ids=["n=2", "n=1"])
def test_a_row_far_away_in_a_small_block_does_not_widen_the_cells_of_a_large_query(ranker):
    X, y, _ = rows_of(2, n_rows=20_000)
    y[10_001] += 1e6
    found, wanted = both(ranker, X, y, [10_000, 10_003])
    if ranker.n == 2:
        assert_same(found, wanted)
        return
    assert found.status_ == wanted.status_ == "gap_closed"
    assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_


OUTLIERS = {
    "SVRank 2": SVRank(n=2, tol=1e-8),
    "SVRank 1": SVRank(tol=1e-3),
    "RankSVM": RankSVM(tol=1e-8),
    "hinge": RankSVM(loss="hinge", tol=1e-3),
}


@pytest.mark.parametrize("size", [1, 2, 7, 100, 400])
@pytest.mark.parametrize("name", OUTLIERS)
def test_moments_of_blocks_of_any_size_reach_the_optimum_with_a_row_far_away(name, size):
    ranker = OUTLIERS[name]
    X, y, _ = rows_of(3, n_rows=400)
    if isinstance(ranker, SVRank):
        y[201] += 1e4
    else:
        y, X[201, 0] = np.digitize(y, [-1.0, 1.0]).astype(float), 1e4
    found, wanted = both(ranker, X, y, range(size, 400, size))
    if name in ("SVRank 2", "RankSVM"):
        assert np.abs(found.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()
    else:
        assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_
        assert found.status_ == wanted.status_ == "gap_closed"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ranker", GAPS.values(), ids=GAPS)
def test_kinked_losses_are_within_the_sum_of_the_gaps(ranker, layout):
    X, y, qid = rows_of(3, n_rows=400)
    aligned, borders = laid_out(layout, qid)
    borders = [border for border in borders if border < 400]
    found, wanted = both(ranker, X, y, borders, **aligned)
    assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_
    assert pytest.approx(wanted.C_, rel=1e-12) == found.C_


@pytest.mark.parametrize("ranker", SMOOTH.values(), ids=SMOOTH)
def test_several_targets_share_the_blocks(ranker):
    X, Y, qid = rows_of(4, n_targets=3)
    aligned, borders = laid_out("split", qid)
    assert_same(*both(ranker, X, Y, borders, **aligned))


@pytest.mark.parametrize("ranker", [SMOOTH["RankRLS"], SMOOTH["MPRank"], SMOOTH["SVRank"]])
def test_offsets_of_features_and_labels_cost_no_digits(ranker):
    X, y, qid = rows_of(5)
    X = np.round(X * 2**20) / 2**20  # so that X + 2^24 is exact
    aligned, borders = laid_out("split", qid)
    found = fit_on_passes(clone(ranker), cut_rows(X + 2.0**24, y, borders, **aligned))
    assert_same(found, clone(ranker).fit(X, y, **aligned))


@pytest.mark.parametrize("ranker", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize("layout", ["whole", "split"])
def test_wide_sparse_rows_take_iterations_by_passes(ranker, layout):
    rng = np.random.default_rng(6)
    X = sparse.random_array((600, 1500), density=0.01, format="csr", random_state=rng)
    y = X @ rng.normal(size=1500) + 0.1 * rng.normal(size=600)
    qid = np.sort(rng.integers(0, 20, 600))
    aligned, borders = laid_out(layout, qid)
    borders = [border for border in borders if border < 600]
    assert_same(*both(ranker, X, y, borders, **aligned))


def test_normal_equations_take_one_pass():
    X, Y, qid = rows_of(7, n_targets=2)
    passes = cut_rows(X, Y, [100, 600], qid=qid)
    fit_on_passes(RankRLS(), passes)
    assert (passes.n_described, passes.n_reduced) == (1, 1)


@pytest.mark.parametrize("regularization", ["iteration", "hybrid"])
def test_regularisation_by_iteration_keeps_the_best_iterate_on_validation_blocks(regularization):
    X, y, qid = rows_of(8, n_rows=300)
    val = rows_of(9, n_rows=200)
    ranker = RankRLS(regularization=regularization, alpha=1.0, patience=3)
    held = cut_rows(val[0], val[1], [50], qid=val[2])
    found = fit_on_passes(clone(ranker), cut_rows(X, y, [100, 150], qid=qid), held=held)
    wanted = clone(ranker).fit(X, y, qid=qid, X_val=val[0], y_val=val[1], qid_val=val[2])
    assert found.best_iteration_ == wanted.best_iteration_
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-6)
    np.testing.assert_allclose(found.validation_scores_, wanted.validation_scores_)


def test_iteration_on_blocks_needs_validation_rows():
    X, y, qid = rows_of(10, n_rows=60)
    with pytest.raises(PairrankError, match=r'"iteration" stops .* take regularization="tikhonov"'):
        fit_on_passes(RankRLS(regularization="iteration"), cut_rows(X, y, [20], qid=qid))


def test_text_labels_are_refused():
    X, _, _ = rows_of(11, n_rows=60)
    with pytest.raises(PairrankError, match="y holds text"):
        fit_on_passes(RankRLS(), cut_rows(X, np.array(list("abc") * 20), [20]))


def test_labels_whose_squares_overflow_are_refused():
    X, y, _ = rows_of(12, n_rows=60)
    with pytest.raises(PairrankError, match="the squares of y overflow"):
        fit_on_passes(MPRank(), cut_rows(X, y * 1e160, [20]))


def test_an_interrupt_in_the_solution_for_squares_ends_the_fit(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    X, y, qid = rows_of(13, n_rows=60)
    monkeypatch.setattr(Quadratic, "at", interrupted)
    passes = cut_rows(X, y, [20, 40], qid=qid)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        assert fit_on_passes(SVRank(), passes).status_ == "interrupted"


def test_a_direct_solution_of_too_many_features_is_refused():
    X = sparse.random_array((20, 6000), density=0.01, format="csr", random_state=0)
    ranker = RankRLS(solver="direct")
    with pytest.raises(PairrankError, match=r'6000 x 6000 .* use solver="cg"'):
        fit_on_passes(ranker, cut_rows(X, np.arange(20.0), [10]))
