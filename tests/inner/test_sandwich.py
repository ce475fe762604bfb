"""Sandwich covariances of arrays: against loops over pairs of comparisons, and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.estimators.covariance import (
    contrast_errors,
    flat_directions,
    inverse_hessian,
    sandwich,
    scatter_of_totals,
)
from pairrank.exceptions import PairrankError

pytestmark = pytest.mark.numeric


def totals(g, clusters):
    return np.array([g[clusters == c].sum(axis=0) for c in range(clusters.max() + 1)])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_scatter_by_clusters_is_a_sum_over_comparisons_of_one_cluster(form):
    rng = np.random.default_rng(0)
    g, clusters = rng.normal(size=(40, 3)), np.arange(40) % 6
    wanted = -np.outer(g.sum(axis=0), g.sum(axis=0)) / 6
    for k in range(len(g)):
        for other in np.flatnonzero(clusters == clusters[k]):
            wanted += np.outer(g[k], g[other])
    summed = totals(g, clusters)
    blocks = [form(summed[:2]), form(summed[2:])]
    np.testing.assert_allclose(scatter_of_totals(blocks), wanted * 6 / 5, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_weight_is_the_number_of_equal_clusters(form):
    g, weight = np.random.default_rng(0).normal(size=(6, 3)), np.array([1, 3, 2, 1, 4, 2])
    wanted = scatter_of_totals([np.repeat(g, weight, axis=0)])
    summed = form(g * weight[:, None])
    found = scatter_of_totals([summed[:4], summed[4:]], weight.astype(float))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def laplacian(n_rows, ends, weight):
    matrix = np.zeros((n_rows, n_rows))
    for (i, j), w in zip(ends, weight, strict=True):
        x = np.eye(n_rows)[i] - np.eye(n_rows)[j]
        matrix += w * np.outer(x, x)
    return matrix


def test_flat_directions_of_players_are_their_components():
    ends = [(0, 1), (1, 2), (0, 2), (4, 5), (6, 7), (7, 8)]
    matrix = laplacian(9, ends, [1e-6, 2.0, 1.0, 1e5, 1.0, 3.0])
    flat = flat_directions(matrix)
    components = np.zeros((4, 9))
    for place, members in enumerate(([0, 1, 2], [3], [4, 5], [6, 7, 8])):
        components[place, members] = 1 / np.sqrt(len(members))
    assert flat.shape == (4, 9)
    np.testing.assert_allclose(flat.T @ flat, components.T @ components, atol=1e-9)
    assert flat_directions(matrix + np.eye(9)).shape == (0, 9)


@given(seed=st.integers(0, 1000), n_flat=st.integers(0, 3), spread=st.floats(0, 2))
def test_flat_directions_are_found_whatever_the_units_of_features(seed, n_flat, spread):
    """Units differ by 1e4 at most, so that 1e-16 of a direction is 1e-12 of its scores."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** (spread * rng.uniform(-1, 1, 6))
    X = rng.normal(size=(50, 6))
    X[:, 6 - n_flat :] = X[:, : 6 - n_flat] @ rng.normal(size=(6 - n_flat, n_flat))
    X /= units
    flat = flat_directions(X.T @ X)
    assert flat.shape == (n_flat, 6)
    np.testing.assert_allclose(flat @ flat.T, np.eye(n_flat), atol=1e-12)
    sizes = np.abs(flat) @ np.abs(X).T
    assert (np.abs(flat @ X.T) <= 1e-6 * sizes.max(axis=1, initial=0.0, keepdims=True)).all()


def test_no_curvature_at_all_is_flat_and_infinite_curvature_is_refused():
    flat = flat_directions(np.zeros((3, 3)))
    np.testing.assert_allclose(flat.T @ flat, np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(inverse_hessian(np.eye(3), flat), np.zeros((3, 3)))
    with pytest.raises(PairrankError, match="not finite"):
        flat_directions(np.full((2, 2), np.nan))


def test_the_inverse_is_that_of_the_other_directions():
    matrix = laplacian(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)], [1.0, 2.0, 3.0, 4.0, 5.0])
    flat = flat_directions(matrix)
    wanted = np.linalg.pinv(matrix, rcond=1e-10)
    np.testing.assert_allclose(inverse_hessian(matrix, flat), wanted, atol=1e-12)
    penalised = matrix + 0.3 * np.eye(6)
    wanted = np.linalg.pinv(matrix @ wanted @ penalised @ wanted @ matrix, rcond=1e-10)
    np.testing.assert_allclose(inverse_hessian(penalised, flat), wanted, atol=1e-12)
    np.testing.assert_allclose(inverse_hessian(penalised), np.linalg.inv(penalised), atol=1e-12)
    with pytest.raises(PairrankError, match="not positive definite"):
        inverse_hessian(matrix - np.eye(6))
    with pytest.raises(PairrankError, match="not positive definite"):
        inverse_hessian(np.full((2, 2), np.nan))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_contrasts_between_components_are_not_determined(form):
    matrix = laplacian(5, [(0, 1), (0, 2), (3, 4)], [1.0, 1.0, 1.0])
    flat = flat_directions(matrix)
    covariance = inverse_hessian(matrix, flat)
    contrasts = np.array([[1, -1, 0, 0, 0], [1, 0, -1, 0, 0], [0, 0, 0, 1, -1], [1, 0, 0, -1, 0]])
    found = contrast_errors(form(contrasts.astype(float)), covariance, flat)
    np.testing.assert_allclose(found, [1.0, 1.0, 1.0, np.inf], rtol=1e-12)
    about_means = contrast_errors(form(np.eye(5)), covariance)
    np.testing.assert_allclose(about_means[:3] ** 2, [2 / 9, 5 / 9, 5 / 9], rtol=1e-12)


def fitted(n_players=6, n=400):
    """Return a design of differences without intercept, outcomes and voters."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_players, 2))
    first = rng.integers(0, n_players, n)
    second = (first + rng.integers(1, n_players, n)) % n_players
    Z = X[first] - X[second]
    voter = rng.integers(0, 25, n)
    odds = Z @ [0.8, -0.5] + rng.normal(size=25)[voter] * Z[:, 0]
    return Z, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float), voter


def test_sandwiches_equal_those_of_statsmodels():
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    from statsmodels.stats.sandwich_covariance import cov_cluster

    Z, y, voter = fitted()
    model = api.Logit(y, Z).fit(disp=0, tol=1e-14, maxiter=100)
    p = model.predict()
    g = (p - y)[:, None] * Z
    inverse = inverse_hessian(Z.T @ (Z * (p * (1 - p))[:, None]))
    options = {"use_correction": False}
    found = sandwich(inverse, scatter_of_totals([totals(g, voter)]))
    wanted = cov_cluster(model, voter, **options) * 25 / 24
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    robust = cov_cluster(model, np.arange(y.size), **options)
    found = sandwich(inverse, scatter_of_totals([g], np.ones(y.size)))
    np.testing.assert_allclose(found, robust * y.size / (y.size - 1), rtol=1e-8)
