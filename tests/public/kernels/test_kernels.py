"""Kernel features: their inner products are the kernel's values, or an error says why not."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from kernel_definitions import KERNELS, NAMED, assert_gram, rbf, rows_of
from pairrank import Kernel

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("name", KERNELS)
def test_exact_features_have_the_kernel_as_inner_products(name):
    parameters, kernel = KERNELS[name]
    X, others = rows_of(70), rows_of(25, seed=1)
    features = Kernel(**parameters, method="exact").fit(X)
    assert features.method_ == "exact"
    assert_gram(features.transform(X), features.transform(X), kernel(X, X))
    assert_gram(features.transform(others), features.transform(X), kernel(others, X))


POWER_OF_SUM = 48 * np.finfo(float).eps
"""What two ways to a kernel's diagonal may differ by: a power up to 3 of up to 8 positive terms,
rounded once each, two ways."""


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 5), st.sampled_from(NAMED))
def test_exact_features_hold_with_equal_rows_and_few_features(seed, n_rows, n_features, name):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))[generator.integers(0, n_rows, n_rows)]
    parameters, kernel = KERNELS[name]
    features = Kernel(**parameters, method="exact")
    Z = features.fit_transform(X)
    assert_gram(Z, Z, kernel(X, X))
    assert Z.shape == (n_rows, features.n_components_)
    assert features.n_components_ <= np.unique(X, axis=0).shape[0]
    assert (np.diff(features.eigenvalues_) <= 0).all()
    assert features.eigenvalues_[-1] > features.tolerance_
    largest = kernel(X, X).diagonal().max()
    assert features.tolerance_ >= 1e-12 * largest * (1 - POWER_OF_SUM)
    assert features.tolerance_ >= 3e-15 * features.eigenvalues_[0]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("how", ["exact", "nystroem"])
def test_fitting_and_transforming_at_once_gives_the_same(name, how):
    X = rows_of(60)
    features = Kernel(**KERNELS[name][0], method=how)
    np.testing.assert_allclose(features.fit_transform(X), features.transform(X), atol=1e-9)


def test_singular_kernels_lose_the_directions_that_are_nothing():
    X = np.repeat(rows_of(8), 5, axis=0)
    assert Kernel("rbf", gamma=0.3).fit(X).n_components_ == 8
    quadratic_rank = 15  # of the products of 4 features and a constant, two by two
    features = Kernel(**KERNELS["poly"][0]).fit(rows_of(100))
    assert features.n_components_ == quadratic_rank


def test_nystroem_is_exact_between_landmarks():
    X = rows_of(300)
    features = Kernel("rbf", gamma=0.3, method="nystroem", n_components=40).fit(X)
    chosen = features.landmarks_
    assert chosen.shape == (40, 4)
    assert np.unique(chosen, axis=0).shape[0] == 40
    Z = features.transform(chosen)
    assert_gram(Z, Z, rbf(chosen, chosen))
    assert_gram(features.transform(X), Z, rbf(X, chosen))


def test_a_kernel_of_low_rank_is_exact_from_few_landmarks():
    X = rows_of(500)
    parameters, kernel = KERNELS["poly"]
    features = Kernel(**parameters, method="nystroem", n_components=40)
    Z = features.fit_transform(X)
    assert features.n_components_ == 15
    assert_gram(Z, Z, kernel(X, X))


def test_landmarks_are_seeded():
    X = rows_of(100)

    def chosen(seed):
        features = Kernel("rbf", method="nystroem", n_components=10, random_state=seed)
        return features.fit(X).landmarks_

    np.testing.assert_array_equal(chosen(None), chosen(None))
    np.testing.assert_array_equal(chosen(1), chosen(np.random.RandomState(1)))
    assert (chosen(1) != chosen(2)).any()


@pytest.mark.parametrize("how", ["exact", "nystroem"])
def test_a_precomputed_matrix_serves_as_rows_do(how):
    X, others = rows_of(60), rows_of(20, seed=1)
    wanted = None if how == "exact" else 25
    given = Kernel("precomputed", method=how, n_components=wanted)
    named = Kernel("rbf", gamma=0.3, method=how, n_components=wanted).fit(X)
    Z = given.fit_transform(rbf(X, X))
    assert_gram(Z, Z, named.transform(X) @ named.transform(X).T)
    assert_gram(given.transform(rbf(others, X)), Z, named.transform(others) @ named.transform(X).T)
    np.testing.assert_allclose(
        given.transform(sparse.csr_array(rbf(others, X))), given.transform(rbf(others, X))
    )


def test_a_callable_sees_sparse_rows_and_may_return_a_sparse_matrix():
    X = sparse.random_array((40, 10), density=0.3, random_state=0, format="csr")
    features = Kernel(lambda A, B: A @ B.T, method="exact")
    Z = features.fit_transform(X)
    assert_gram(Z, Z, (X @ X.T).toarray())


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("how", ["exact", "nystroem"])
def test_float32_rows_give_float32_features(name, how):
    X = rows_of(90).astype(np.float32)
    parameters, kernel = KERNELS[name]
    features = Kernel(**parameters, method=how)
    Z = features.fit_transform(X)
    assert Z.dtype == features.transform(X).dtype == features.landmarks_.dtype == np.float32
    assert_gram(Z.astype(np.float64), Z.astype(np.float64), kernel(X, X), 1e-5)
    if name in NAMED:  # computed in float64
        wide = Kernel(**parameters, method=how).fit(X.astype(np.float64))
        assert features.tolerance_ == wide.tolerance_


def test_an_offset_costs_rbf_no_digits():
    X = rows_of(60)
    plain = Kernel("rbf", gamma=0.3).fit(X)
    offset = Kernel("rbf", gamma=0.3).fit(X + 2.0**30)
    moved = (X + 2.0**30) - 2.0**30
    Z = offset.transform(X + 2.0**30)
    assert_gram(Z, Z, rbf(moved, moved))
    assert plain.n_components_ == offset.n_components_


@pytest.mark.parametrize("name", KERNELS)
def test_scores_are_those_of_the_features(name):
    X = rows_of(300)
    features = Kernel(**KERNELS[name][0], method="nystroem", n_components=50).fit(X)
    coef = features.projection_.T @ np.random.default_rng(4).normal(size=50)
    scores = features.transform(X) @ coef
    np.testing.assert_allclose(features.scores(X, coef), scores, atol=1e-9 * np.abs(scores).max())


def test_a_transform_needs_little_memory_beside_its_result():
    X = np.zeros((100_000, 2), dtype=np.float32)
    X[:, 0] = np.arange(100_000) / 1e4
    features = Kernel("rbf", gamma=50.0, n_components=100).fit(X)
    tracemalloc.start()
    Z = features.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - Z.nbytes < 100e6
    assert Z.shape == (100_000, features.n_components_)


def test_empty_input_gives_no_features():
    features = Kernel("rbf").fit(rows_of(10))
    assert features.transform(np.empty((0, 4))).shape == (0, features.n_components_)


def test_kernels_stay_what_they_are_when_rows_change_later():
    X = rows_of(20)
    features = Kernel("rbf").fit(X)
    others = rows_of(5, seed=1)
    before = features.transform(others)
    X[:] = 0.0
    np.testing.assert_array_equal(features.transform(others), before)
