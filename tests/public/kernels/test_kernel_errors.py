"""What kernels refuse, and rankers with them: wrong parameters, matrices of no kernel, overflow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from kernel_definitions import rbf, rows_of
from pairrank import (
    ConvexHullRanker,
    Kernel,
    MPRank,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankSVM,
    RankSVMCV,
    SVRank,
)
from pairrank.exceptions import PairrankError


@pytest.mark.parametrize(
    "change",
    [
        {"projection": None},
        {"landmarks": None},
        {"landmarks": np.zeros((20, 3))},
        {"landmarks": np.zeros((19, 4))},
        {"landmarks": np.arange(20)},
        {"eigenvalues": np.ones(2)},
        {"projection": np.ones(20)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(change):
    features = Kernel("rbf").fit(rows_of(20))
    arrays = {**features.arrays(), **change}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(PairrankError, match="not the arrays of a Kernel"):
        Kernel.from_arrays(features.saved_params(), arrays)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"function": "gaussian"}, "kernel .* must be one of 'rbf', 'poly', 'precomputed'"),
        ({"function": "linear"}, "use kernel=None"),
        ({"function": None}, "kernel .* must be one of"),
        ({"function": ["rbf"]}, "kernel .* must be one of"),
        ({"function": "rbf", "gamma": 0.0}, "gamma must be greater than 0"),
        ({"function": "rbf", "gamma": -1.0}, "gamma must be"),
        ({"function": "rbf", "gamma": np.nan}, "gamma must be"),
        ({"function": "rbf", "gamma": "wide"}, 'a number, "scale" or None'),
        ({"function": "poly", "degree": 0}, "degree must be at least 1"),
        ({"function": "poly", "degree": 1.5}, "degree must be"),
        ({"function": "poly", "coef0": -1.0}, "coef0 must be"),
        ({"function": "rbf", "method": "fourier"}, "method must be one of"),
        ({"function": "rbf", "n_components": 0}, "n_components must be"),
        ({"function": "rbf", "n_components": 2.5}, "n_components must be"),
        ({"function": "rbf", "n_components": 5, "method": "exact"}, "leave it None"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(PairrankError, match=message):
        Kernel(**parameters).fit(rows_of(20))


def far_rows():
    X = rows_of(6)
    X[4, 1] = 1e200
    return X


def returning(value):
    """Return a kernel of the same value between all rows."""
    return Kernel(lambda X, Y: np.full((X.shape[0], Y.shape[0]), value))


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Kernel("rbf", method="nystroem", n_components=21), rows_of(20), "than the 20 training"),
        (Kernel(lambda X, Y: -np.abs(X[:, :1] - Y[:, :1].T)), rows_of(300), "not positive semi"),
        (Kernel("poly", coef0=0.0), np.zeros((5, 3)), "zero between all rows"),
        (Kernel("poly"), far_rows(), r"kernel of row \d with landmark \d is -?inf"),
        (Kernel("poly"), sparse.csr_array(far_rows()), r"row \d with landmark \d is -?inf"),
        (Kernel("rbf"), sparse.csr_array(far_rows()), r"row \d with landmark \d is (-?inf|nan)"),
        (Kernel(lambda X, Y: X[:, :2]), rows_of(20), r"returned float64 of shape \(64, 2\)"),
        (Kernel(lambda X, Y: 1.0), rows_of(20), r"shape \(\)"),
        (returning("a"), rows_of(20), "returned <U1"),
        (returning(np.nan), rows_of(20), "row 0 with landmark 0 is nan"),
    ],
)
def test_what_has_no_kernel_is_refused(kernel, X, message):
    with pytest.raises(PairrankError, match=message):
        kernel.fit(X)


def test_rows_with_other_features_are_refused():
    features = Kernel("rbf").fit(rows_of(20))
    with pytest.raises(PairrankError, match=r"X has 3 features, but .* have 4"):
        features.transform(rows_of(5, 3))


def test_rounding_below_zero_is_forgiven_and_dropped():
    features = Kernel("precomputed").fit(np.diag([1.0, 1e-9, -2e-9]))
    assert features.n_components_ == 1
    assert features.tolerance_ == pytest.approx(2e-9)
    matrix = rbf(rows_of(50), rows_of(50)).astype(np.float32)
    Z = Kernel("precomputed").fit_transform(matrix)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z @ Z.T, matrix, atol=1e-4)


@pytest.mark.parametrize("at", [(3, 7), (299, 1), (280, 299)])
def test_a_matrix_that_is_not_symmetric_is_refused(at):
    matrix = np.eye(300)
    matrix[at] = 0.5
    with pytest.raises(PairrankError, match="not symmetric") as caught:
        Kernel("precomputed").fit(matrix)
    low, high = sorted(at)
    assert f"row {low}" in str(caught.value)
    assert f"row {high}" in str(caught.value)


def test_features_that_overflow_float32_are_refused():
    X = rows_of(10).astype(np.float32)
    features = Kernel("poly").fit(X)
    X[7] = 1e15
    with pytest.raises(PairrankError, match="row 7 overflow float32"):
        features.transform(X)
    assert np.isfinite(features.transform(X.astype(np.float64))).all()


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


LABELS = np.arange(30) % 4.0


def with_eigenvalues(values):
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    matrix = (vectors * values) @ vectors.T
    return (matrix + matrix.T) / 2


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
        ranker.fit(matrix, LABELS)
    assert "another kernel, or add" in str(caught.value)
    assert "diagonal" in str(caught.value)
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize("name", MAPPED)
def test_the_message_tells_what_to_add(name):
    matrix = with_eigenvalues(np.append(np.linspace(0.1, 3, 29), -0.25))
    ranker = clone(RANKERS[name]).set_params(kernel="precomputed")
    with pytest.raises(PairrankError, match=r"from -0\.25 to 3; .* add at least 0\.25"):
        ranker.fit(matrix, LABELS)
    ranker.fit(matrix + 0.25001 * np.eye(30), LABELS)


@pytest.mark.parametrize("name", RANKERS)
def test_a_matrix_that_is_not_square_or_not_symmetric_is_refused(name):
    matrix = with_eigenvalues(np.linspace(0.1, 3, 30))
    ranker = clone(RANKERS[name]).set_params(kernel="precomputed")
    with pytest.raises(PairrankError, match="square kernel matrix"):
        ranker.fit(matrix[:, :20], LABELS)
    matrix[2, 7] += 0.5
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(PairrankError, match="not symmetric"):
            ranker.fit(form(matrix), LABELS)
