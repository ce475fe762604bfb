"""The stability bound: its formula, its limits, and rows drawn many times that it holds for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from pairrank import Kernel, MPRank, Pairs, SVRank, stability_bound
from pairrank.exceptions import PairrankError, ZeroWeightsWarning

pytestmark = pytest.mark.numeric


def true_corollary(C, kappa, M, m, n, delta):
    """Put the price of a replaced row, twice that of one left out, into Theorem 1's proof."""
    sigma, largest = (1.0, 2 * M) if n == 1 else (4 * M, 4 * M**2)
    replaced = 2 * 4 * C * sigma**2 * kappa**2 / m
    bias = 2 * replaced + largest / m
    a_row = 2 * replaced + 2 * largest / m
    return bias + a_row * np.sqrt(m * np.log(2 / delta) / 2)


@pytest.mark.parametrize("n", [1, 2])
def test_the_formula_is_that_of_mcdiarmid_and_the_printed_one_that_of_the_paper(n):
    C, kappa, M, m, delta = 0.7, 1.3, 2.1, 500, 0.1
    bound = stability_bound(C, kappa, M, m, n, delta)
    assert bound.excess == pytest.approx(true_corollary(C, kappa, M, m, n, delta))
    root = np.sqrt(2 / m * np.log(2 / delta))
    if n == 1:
        printed = 8 * kappa**2 * C / m + 2 * (2 * kappa**2 * C + M) * root
    else:
        printed = 128 * kappa**2 * C * M**2 / m + 4 * M**2 * (16 * kappa**2 * C + 1) * root
    assert bound.as_printed == pytest.approx(printed)
    assert bound.beta == pytest.approx(4 * C * (1, 4 * M)[n - 1] ** 2 * kappa**2 / m)
    assert (bound.kappa, bound.M, bound.largest_cost) == (kappa, M, pytest.approx((2 * M) ** n))


def test_limits_too_large_to_square_make_a_vacuous_bound():
    assert stability_bound(C=1.0, kappa=0.0, M=1e200, m=100, n=2).is_vacuous


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": -1.0}, "C must be at least 0"),
        ({"kappa": np.nan}, "kappa must be"),
        ({"M": -0.1}, "M must be"),
        ({"m": 0}, "m must be at least 1"),
        ({"n": 3}, r"n must be one of 1, 2 \(got 3\)"),
        ({"delta": 0.0}, "delta must be greater than 0"),
    ],
)
def test_a_wrong_argument_is_named(change, message):
    arguments = {"C": 1.0, "kappa": 1.0, "M": 1.0, "m": 10, "n": 2, "delta": 0.05}
    with pytest.raises(PairrankError, match=message):
        stability_bound(**(arguments | change))


def test_an_estimator_fills_in_its_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.uniform(1, 5, 50)
    for form in (np.asarray, sparse.csr_array):
        bound = MPRank(2.0).fit(form(X), y).stability_bound(form(X), y, delta=0.1)
        kappa = np.linalg.norm(X, axis=1).max()
        about_mean = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
        assert bound.kappa == pytest.approx(min(kappa, about_mean))
        width = np.ptp(y)
        assert pytest.approx(width / 2 + bound.kappa * np.sqrt(2.0 * width**2 / 2)) == bound.M
        assert bound == stability_bound(2.0, bound.kappa, bound.M, 50, 2, 0.1)
    far = MPRank(2.0).fit(X + 1e3, y + 1e6).stability_bound(X + 1e3, y + 1e6, delta=0.1)
    assert far.excess == pytest.approx(
        stability_bound(2.0, about_mean, width / 2 + about_mean * width, 50, 2, 0.1).excess,
        rel=1e-6,
    )
    tube = SVRank(2.0, 0.5).fit(X, y).stability_bound(X, y)
    assert pytest.approx(width / 2 + tube.kappa * np.sqrt(width - 0.5)) == tube.M
    with pytest.warns(ZeroWeightsWarning, match="lower epsilon"):
        wide = SVRank(2.0, 10.0).fit(X, y).stability_bound(X, y)
    assert pytest.approx(width / 2) == wide.M


def test_a_kernel_s_rows_are_as_far_as_its_matrix_says():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.uniform(1, 5, 40)
    K = rbf_kernel(X, gamma=0.1)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    kappa = np.sqrt(min(K.diagonal().max(), centred.diagonal().max()))
    by_name = MPRank(kernel=Kernel("rbf", gamma=0.1)).fit(X, y).stability_bound(X, y)
    squares = MPRank(kernel="precomputed").fit(K, y)
    tube = SVRank(kernel="precomputed").fit(K, y)
    for bound in (by_name, squares.stability_bound(K, y), tube.stability_bound(K, y)):
        assert bound.kappa == pytest.approx(kappa, rel=1e-6)
    assert squares.stability_bound(sparse.csr_array(K), y).kappa == pytest.approx(kappa, rel=1e-9)
    with pytest.raises(PairrankError, match="square kernel matrix"):
        squares.stability_bound(K[:20], y[:20])


def test_what_the_bound_does_not_cover_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    ranker = MPRank()
    with pytest.raises(ValueError, match="not fitted"):
        ranker.stability_bound(X, y)
    ranker.fit(X, y)
    with pytest.raises(PairrankError, match="Pairs are not"):
        ranker.stability_bound(X, Pairs([0], [1], n_rows=40))
    with pytest.raises(PairrankError, match="2 targets"):
        ranker.stability_bound(X, np.column_stack((y, y)))
    with pytest.raises(PairrankError, match="y has 39 entries"):
        ranker.stability_bound(X, y[1:])
