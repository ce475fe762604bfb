"""RankRLS, MPRank and SVRank on blocks against the same fits in memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from memory_passes import cut_rows
from pairrank import MPRank, RankRLS, RankSVM, SVRank
from pairrank.estimators._blocks import fit_on_passes

SMOOTH = {
    "RankRLS": RankRLS(alpha=2.0, tol=1e-8),
    "RankRLS cg": RankRLS(alpha=2.0, tol=1e-10, solver="cg"),
    "MPRank": MPRank(tol=1e-8),
    "SVRank": SVRank(n=2, tol=1e-8),
}


def rows_of(seed=0, n_rows=1200, n_queries=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=n_rows)
    return X, y, np.sort(rng.integers(0, n_queries, n_rows))


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


OUTLIERS = {
    "SVRank 2": SVRank(n=2, tol=1e-8),
    "SVRank 1": SVRank(tol=1e-3),
    "RankSVM": RankSVM(tol=1e-8),
    "hinge": RankSVM(loss="hinge", tol=1e-3),
}


@pytest.mark.parametrize(("name", "size"), [*zip(OUTLIERS, (2, 100, 100, 2), strict=True)])
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
