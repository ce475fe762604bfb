"""Products and scores depend on the row alone, to the bit: not on its place or its neighbours."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from pairrank import ConvexHullRanker, RankNCGCV, RankRLS, RankSVM

FORMS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "CSR": sparse.csr_array,
}
DTYPES = (np.float64, np.float32)
N_FEATURES = 5


def linear_callable(X, Y):
    return X @ Y.T


RANKERS = {
    "RankSVM": RankSVM(),
    "RankRLS, several targets": RankRLS(),
    "ConvexHullRanker": ConvexHullRanker(),
    "RankNCGCV": RankNCGCV(alphas=[0.1, 1.0], cv=2),
}
KERNELS = (None, "rbf", "poly", "precomputed", linear_callable)


def name_of(kernel):
    return "callable" if callable(kernel) else str(kernel)


def rows_of(n_rows, n_features=N_FEATURES, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)).astype(dtype)


def training_rows(kernel):
    X = rows_of(40, seed=1)
    return np.exp(-0.1 * np.square(X[:, None] - X).sum(axis=2)) if kernel == "precomputed" else X


@functools.cache
def fitted(name, kernel):
    X = training_rows(kernel)
    y = np.arange(40) % 3.0
    if name.endswith("targets"):
        y = np.column_stack([y, rows_of(40, 1, seed=2)[:, 0]])
    return clone(RANKERS[name]).set_params(kernel=kernel).fit(X, y)


@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_scores_a_row_by_itself(name, kernel):
    ranker = fitted(name, kernel)
    width = training_rows(kernel).shape[1]

    @given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.sampled_from(sorted(FORMS)))
    def check(seed, dtype, form):
        rng = np.random.default_rng(seed)
        least = 2 if form == "Fortran" else 1  # a single row is in C order too
        X = rows_of(int(rng.integers(least, 90)), width, seed, dtype)
        order, some = rng.permutation(len(X)), rng.integers(0, len(X), int(rng.integers(least, 40)))
        whole = ranker.predict(FORMS[form](X))
        np.testing.assert_array_equal(ranker.predict(FORMS[form](X[order])), whole[order])
        np.testing.assert_array_equal(ranker.predict(FORMS[form](X[some])), whole[some])
        equal = ranker.predict(FORMS[form](np.repeat(X[:1], int(rng.integers(2, 80)), axis=0)))
        np.testing.assert_array_equal(equal, np.broadcast_to(whole[0], equal.shape))
        if equal.ndim == 1:  # equal rows rank in the order of rows
            same = ranker.rank(np.repeat(X[:1], 7, axis=0))
            np.testing.assert_array_equal(same, np.arange(1, 8))

    check()
