"""A kernel that is not positive semidefinite, or not symmetric: every ranker refuses it alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from pairrank import (
    ConvexHullRanker,
    MPRank,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankSVM,
    RankSVMCV,
    SVRank,
)
from pairrank.exceptions import PairrankError

RANKERS = {
    "RankSVM": RankSVM(),
    "RankSVM, hinge": RankSVM(loss="hinge"),
    "RankNCG": RankNCG(),
    "RankNCG, probit": RankNCG(loss="probit"),
    "ConvexHullRanker": ConvexHullRanker(),
    "ConvexHullRanker, coefficients": ConvexHullRanker(regularizer="coefficients"),
    "RankRLS": RankRLS(),
    "RankRLS, cg": RankRLS(solver="cg"),
    "RankRLS, hybrid": RankRLS(regularization="hybrid"),
    "MPRank": MPRank(),
    "MPRank, cg": MPRank(solver="cg", C=100.0),
    "MPRank, n=1": MPRank(n=1),
    "SVRank": SVRank(),
    "SVRank, n=2": SVRank(n=2),
    "RankSVMCV": RankSVMCV(Cs=[1.0], cv=2),
    "RankNCGCV": RankNCGCV(alphas=[1.0], cv=2),
}
BY_PRODUCTS = ("RankRLS", "RankRLS, cg", "RankRLS, hybrid", "MPRank", "MPRank, cg")
"""They solve in the kernel itself, whose eigenvalues they do not know."""
MAPPED = [name for name in RANKERS if name not in BY_PRODUCTS and not name.endswith("CV")]


def with_eigenvalues(values, seed=0):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    matrix = (vectors * values) @ vectors.T
    return (matrix + matrix.T) / 2


def labels(n_rows):
    return np.arange(n_rows) % 4.0


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize(
    "eigenvalues",
    [-np.ones(30), np.append(np.linspace(0.1, 3, 29), -3.0)],
    ids=["negative", "one negative"],
)
def test_a_matrix_that_is_not_semidefinite_is_refused_with_the_remedy(name, eigenvalues):
    matrix = with_eigenvalues(eigenvalues)
    ranker = clone(RANKERS[name]).set_params(kernel="precomputed")
    with pytest.raises(PairrankError, match="not positive semidefinite") as caught:
        ranker.fit(matrix, labels(30))
    assert "another kernel, or add" in str(caught.value)
    assert "diagonal" in str(caught.value)
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize("name", MAPPED)
def test_the_message_tells_what_to_add(name):
    matrix = with_eigenvalues(np.append(np.linspace(0.1, 3, 29), -0.25))
    ranker = clone(RANKERS[name]).set_params(kernel="precomputed")
    with pytest.raises(PairrankError, match=r"from -0\.25 to 3; .* add at least 0\.25"):
        ranker.fit(matrix, labels(30))
    ranker.fit(matrix + 0.25001 * np.eye(30), labels(30))


@pytest.mark.parametrize("name", RANKERS)
def test_a_matrix_that_is_not_square_or_not_symmetric_is_refused(name):
    matrix = with_eigenvalues(np.linspace(0.1, 3, 30))
    ranker = clone(RANKERS[name]).set_params(kernel="precomputed")
    with pytest.raises(PairrankError, match="square kernel matrix"):
        ranker.fit(matrix[:, :20], labels(30))
    matrix[2, 7] += 0.5
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(PairrankError, match="not symmetric"):
            ranker.fit(form(matrix), labels(30))
